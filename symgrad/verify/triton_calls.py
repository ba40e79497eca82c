"""What torch and GPUs do with a printed file for triton, beside calling it: its operators are registered as they must
be, half precision is float32 rounded once, gradients have the gradients that differences tell, and kernels compile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from unittest import mock

from ..ir import Function
from ..records import replace
from .cases import Case
from .torch_calls import TorchCalls

TARGETS = (80, 90)  # architectures of GPUs: A100, H100
HERE = "symgrad.verify.triton_calls"
HALVES = {"float16": 2.0**-10, "bfloat16": 2.0**-7}  # a unit in the last place
ROUNDED = 1  # units: the interpreter cuts bfloat16; and products are of rounded operands, as backward is of an output
Fault = tuple[str, str]  # the place, and what is wrong there


def triton_faults(function: Function, artefact: Any, case: Case, empty: Case | None, seed: int) -> Iterator[Fault]:
    """What is wrong at a case where all of its results are numbers."""
    inputs = [case.inputs.get(n) for n in function.inputs]
    reals = [function.table[n].dtype == "real" for n in function.inputs]
    yield from artefact.asked(HERE, "faults_of_operators", inputs, reals, dict(case.options), function.name)
    yield from second_order_faults(function, artefact, case, empty, seed)
    yield from artefact.compiled(TARGETS)


def second_order_faults(
    function: Function, artefact: Any, case: Case, empty: Case | None, seed: int
) -> Iterator[Fault]:
    """What is wrong with gradients of gradients, against differences of what kernels give."""
    sent = replace(function, python=None, symbols=())  # to another process
    yield from artefact.asked(HERE, "faults_of_second_order", sent, case, seed)


def faults_of_second_order(artefact: Any, function: Function, case: Case, seed: int) -> list[Fault]:
    """The same, asked where kernels are interpreted."""
    return [*TorchCalls(function, artefact, case, seed).second_order()]


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

    def results(call: Any, some: Sequence[Any], ones: Any = torch.ones_like) -> list[Any]:
        own = moved(some)
        out = call(*own, **options)
        outs = [o for o in (out if isinstance(out, tuple) else (out,)) if o.requires_grad]
        asked = [t for t in own if t is not None and t.requires_grad]
        return [*outs, *torch.autograd.grad(outs, asked, [*map(ones, outs)])]

    function = getattr(artefact.module, name)
    found: list[Fault] = []
    wanted = results(function, given(torch.float32))
    own = moved(given(torch.float64))
    found += _no_operator(torch, artefact.module._forward, (*own, *options.values()), name)
    passed = _passed(artefact.module, lambda: results(function, own))
    found += _no_operator(torch, artefact.module._backward, passed, f"backward of {name}")
    found += _mixed(torch, function, tensors, reals, results, name)
    found += _integers(torch, function, tensors, results, name)
    found += _autocast(torch, function, given, results, name)
    found += _unused(torch, function, moved(given(torch.float64)), options, name)
    compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
    for said, call, kinds in (("compiled", compiled, ("float32",)), ("in half precision", function, HALVES)):
        for kind in kinds:
            dtype = getattr(torch, kind)
            if kind in HALVES:  # of what is rounded already
                wanted = results(function, given(torch.float32, given(dtype)))
            try:
                values = results(call, given(dtype), lambda o: o.new_ones(()).expand_as(o))  # as that of a sum
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


def _no_operator(torch: Any, operator: Any, given: Sequence[Any], said: str) -> list[Fault]:
    """What torch finds, if an operator is not registered as it must be; its gradient is asked for, too."""
    try:
        torch.library.opcheck(operator, tuple(given))
    except Exception as error:
        return [(said, f"is no operator as torch asks for: {type(error).__name__}: {error}")]
    return []


def _passed(module: Any, call: Any) -> list[Any]:
    """What backward is called with, as tensors whose gradients are asked for."""
    backward = module._backward
    passed: list[Any] = []

    def watched(*given: Any) -> Any:
        passed.extend(given)
        return backward(*given)

    with mock.patch.object(module, "_backward", watched):
        call()
    real = [hasattr(v, "is_floating_point") and v.is_floating_point() for v in passed]
    return [v.detach().clone().requires_grad_() if r else v for v, r in zip(passed, real, strict=True)]


def _mixed(
    torch: Any, function: Any, tensors: Sequence[Any], reals: Sequence[bool], results: Any, name: str
) -> list[Fault]:
    """Inputs of two types: results are of that to which they promote."""
    places = [k for k, (t, r) in enumerate(zip(tensors, reals, strict=True)) if r and t is not None]
    if len(places) < 2:
        return []
    mixed = [t.float() if k == places[0] else t for k, t in enumerate(tensors)]
    single = [t.float().double() if k == places[0] else t for k, t in enumerate(tensors)]
    try:
        pairs = [*zip(results(function, mixed), results(function, single), strict=True)]
    except Exception as error:
        return [(name, f"of inputs of two types, raises {type(error).__name__}: {error}")]
    if any(not torch.equal(a, b.to(a.dtype)) for a, b in pairs) or pairs[0][0].dtype != torch.float64:
        return [(name, "is another, where the inputs are of two types")]
    return []


def _autocast(torch: Any, function: Any, given: Any, results: Any, name: str) -> list[Fault]:
    """Under torch.autocast all is computed in float32, which elementwise functions may leave in the type of inputs;
    products of matrices are those of rounded inputs."""
    single, half = given(torch.float32), given(torch.float32, given(torch.bfloat16))
    try:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            found, of_half = results(function, single), results(function, half)
            low = results(function, given(torch.bfloat16))
    except Exception as error:
        return [(name, f"under torch.autocast, raises {type(error).__name__}: {error}")]
    expected = results(function, single if found[0].dtype == torch.float32 else given(torch.bfloat16))
    same = [torch.equal(a, b.to(a.dtype)) for a, b in zip(found, expected, strict=True)]
    if low[0].dtype == torch.float32:
        same += [torch.equal(low[0], of_half[0])]
    return [] if all(same) and low[-1].dtype == torch.bfloat16 else [(name, "is another under torch.autocast")]


def _integers(torch: Any, function: Any, tensors: Sequence[Any], results: Any, name: str) -> list[Fault]:
    """Integers of another type are the same."""
    narrow = [t.int() if t is not None and t.dtype == torch.int64 else t for t in tensors]
    if all(a is b for a, b in zip(narrow, tensors, strict=True)):
        return []
    try:
        same = all(map(torch.equal, results(function, narrow), results(function, tensors)))
    except Exception as error:
        return [(name, f"of integers of 32 bits, raises {type(error).__name__}: {error}")]
    return [] if same else [(name, "is another, of integers of 32 bits")]


def _unused(torch: Any, function: Any, own: Sequence[Any], options: Mapping[str, Any], name: str) -> list[Fault]:
    """An output that nothing is computed of has the gradient 0."""

    class Nothing(torch.autograd.Function):  # type: ignore[misc]  # of Any, as torch may be missing
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, grad_output: Any) -> None:
            return None

    out = function(*own, **options)
    outs = [o for o in (out if isinstance(out, tuple) else (out,)) if o.requires_grad]
    asked = [t for t in own if t is not None and t.requires_grad]
    try:
        grads = torch.autograd.grad(sum(Nothing.apply(o).sum() for o in outs), asked, allow_unused=True)
    except Exception as error:
        return [(name, f"where no output is used, raises {type(error).__name__}: {error}")]
    if any(g is not None and bool(g.any()) for g in grads):
        return [(name, "where no output is used, has a gradient that is not 0")]
    return []
