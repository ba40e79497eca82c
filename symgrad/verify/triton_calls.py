"""What torch and GPUs do with a printed file for triton, beside calling it: its operators are registered as they must
be, half precision is float32 rounded once, and its kernels compile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..ir import Function
from .cases import Case

TARGETS = (80, 90)  # architectures of GPUs: A100, H100
HERE = "symgrad.verify.triton_calls"
HALVES = {"float16": 2.0**-10, "bfloat16": 2.0**-7}  # a unit in the last place
ROUNDED = 4  # units: the interpreter cuts, a GPU rounds; and an output that backward reads is rounded already
Fault = tuple[str, str]  # the place, and what is wrong there


def triton_faults(function: Function, artefact: Any, case: Case, empty: Case | None, seed: int) -> Iterator[Fault]:
    """What is wrong at a case where all of its results are numbers."""
    inputs = [case.inputs.get(n) for n in function.inputs]
    reals = [function.table[n].dtype == "real" for n in function.inputs]
    yield from artefact.asked(HERE, "faults_of_operators", inputs, reals, dict(case.options), function.name)
    yield from artefact.compiled(TARGETS)


def faults_of_operators(
    artefact: Any, inputs: Sequence[Any], reals: Sequence[bool], options: Mapping[str, Any], name: str
) -> list[Fault]:
    """What is wrong with the operators, and with half precision; asked where kernels are interpreted."""
    import torch

    tensors = [None if v is None else torch.from_numpy(v.copy() if v.ndim else v) for v in inputs]

    def given(dtype: Any, of: Sequence[Any] = tensors) -> list[Any]:
        return [t.to(dtype) if r and t is not None else t for t, r in zip(of, reals, strict=True)]

    def moved(some: Sequence[Any]) -> list[Any]:
        return [t.detach().requires_grad_() if r and t is not None else t for t, r in zip(some, reals, strict=True)]

    def results(call: Any, some: Sequence[Any]) -> list[Any]:
        own = moved(some)
        out = call(*own, **options)
        outs = [o for o in (out if isinstance(out, tuple) else (out,)) if o.requires_grad]
        asked = [t for t in own if t is not None and t.requires_grad]
        return [*outs, *torch.autograd.grad(outs, asked, [*map(torch.ones_like, outs)])]

    function = getattr(artefact.module, name)
    found: list[Fault] = []
    wanted = results(function, given(torch.float32))
    try:
        torch.library.opcheck(artefact.module._forward, (*moved(given(torch.float64)), *options.values()))
    except Exception as error:
        found.append((name, f"is no operator as torch asks for: {type(error).__name__}: {error}"))
    compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
    for said, call, kinds in (("compiled", compiled, ("float32",)), ("in half precision", function, HALVES)):
        for kind in kinds:
            dtype = getattr(torch, kind)
            if kind in HALVES:  # of what is rounded already
                wanted = results(function, given(torch.float32, given(dtype)))
            try:
                values = results(call, given(dtype))
            except Exception as error:
                found.append((name, f"{said}, raises {type(error).__name__}: {error}"))
                continue
            unit = HALVES.get(kind, 0.0)
            pairs = [(a.double(), b.to(dtype).double()) for a, b in zip(values, wanted, strict=True)]
            same = all(bool((a - b).abs().max() <= ROUNDED * unit * (1 + b.abs().max())) for a, b in pairs if b.numel())
            if not same or any(v.dtype != dtype for v in values):
                found.append((name, f"{said}, is another, of {kind}"))
    torch._dynamo.reset()
    return found
