"""Gradients of gradients of printed kernels, beside those of what is printed for torch; run in a process of its own, in
which triton interprets kernels. Prints what was compared for each function, and whether it is the same."""

from __future__ import annotations

import contextlib
import json
import sys
from functools import cache

import torch

import symgrad as sg
from symgrad import library
from symgrad.backends.python_names import module_from

SHAPES = {
    "gelu": [(2, 3)],
    "swiglu": [(2, 3)],
    "softmax": [(2, 3)],
    "standardize": [(2, 3)],
    "rms_norm": [(2, 3), (3,)],
    "linear": [(2, 3), (4, 3), (4,)],
    "mlp": [(2, 3), (4, 3), (4,), (2, 4), (2,)],
    "causal_attention": [(3, 2), (4, 2), (4, 2)],
    "cross_entropy": [(3, 4), [0, 3, 1]],
}
CLOSE = {torch.float64: 1e-10, torch.float16: 16 * 2.0**-10}  # of the largest element: products of products, rounded


@cache
def function(name, to):
    ((path, text),) = sg.generate(getattr(library, name), to=to, check=False).items()
    module = module_from(f"second_{path}", text)
    sys.modules[module.__name__] = module  # torch.compile looks for it there
    call = getattr(module, name)
    return (lambda x: call(x, x.sin())) if name == "swiglu" else call  # one input is made of another


def inputs(name, kind):
    torch.manual_seed(7)
    given = [torch.tensor(s) if isinstance(s, list) else torch.randn(s, dtype=torch.float64) for s in SHAPES[name]]
    return [(t / 2).to(kind).requires_grad_() if t.is_floating_point() else t for t in given]


def weighted(tensors):
    """A number that is made of all elements, of which none counts as another."""
    return sum((t.sin() * torch.linspace(0.5, 1.5, t.numel(), dtype=t.dtype).reshape(t.shape)).sum() for t in tensors)


def orders(call, given, cast=False):
    """The gradients, those of a number made of them, and so once more."""
    reals = [t for t in given if t.is_floating_point()]
    found = []
    with torch.autocast("cpu", dtype=torch.float16) if cast else contextlib.nullcontext():
        values = [call(*given)]
        for _ in range(3):
            values = torch.autograd.grad(weighted(values), reals, create_graph=True)
            found.append(values)
    return found


def same(name, kind, cast=False):
    """Whether two orders in this precision are of the type of the inputs, and those of torch up to its rounding."""
    found = orders(function(name, "triton"), inputs(name, kind), cast)
    exact = orders(function(name, "torch"), inputs(name, torch.float64))
    count, close = (3, CLOSE[kind]) if kind == torch.float64 else (2, CLOSE[torch.float16])
    pairs = [(a, b) for some in zip(found[:count], exact, strict=False) for a, b in zip(*some, strict=True)]
    return all(a.dtype == kind and bool(((a - b).abs() <= close * (1 + b.abs().max())).all()) for a, b in pairs)


def checked(name):
    call, own = function(name, "triton"), inputs(name, torch.float64)
    found = {
        "gradgradcheck": torch.autograd.gradgradcheck(call, own, raise_exception=False, fast_mode=True),
        "three orders": same(name, torch.float64),
        "half precision": same(name, torch.float16),
        "autocast": same(name, torch.float32, cast=True),
    }
    both = call, torch.compile(call, fullgraph=True, backend="aot_eager")
    reals = [t for t in own if t.is_floating_point()]
    first = [torch.autograd.grad(weighted([f(*own)]), reals) for f in both]
    return {**found, "compiled": all(map(torch.equal, *first))}


if __name__ == "__main__":
    print(json.dumps({name: checked(name) for name in SHAPES}))
