"""Arguments that printed code must refuse whatever its numbers are: of another type, of a shape that fits no other, a
grad_output that is not of the shape of its result, and gradients that are not told whether they are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ..errors import ShapeError
from ..ir import Function, bind
from .cases import Case
from .text import differentiable, has_backward

Call = Callable[..., Any]
OTHERS: Mapping[str, tuple[Any, ...]] = {
    "real": (np.int64, np.bool_),
    "int": (np.float64, np.bool_),
    "bool": (np.float64, np.int64),
}
REFUSED = (TypeError, ValueError, IndexError, KeyError)  # what says that an argument is wrong, and not which code is


def accepted(function: Function, artefact: Any, case: Case) -> Iterator[tuple[str, str]]:
    """What is not refused, or not in words of the code's own: (the argument, what is wrong).

    case  a correct call, with every input
    """
    framework = has_backward(function) and getattr(artefact, "module", None) is not None
    yield from _inputs(function, _called(function, artefact) if framework else artefact.forward, case)
    if has_backward(function) and not framework:
        yield from _cotangents(function, artefact, case)


def _called(function: Function, artefact: Any) -> Call:
    """The function of a framework that users call, which takes and gives its tensors."""
    named = getattr(artefact.module, function.name)
    return lambda *inputs, **options: named(*map(artefact.tensor, inputs), **options)


def _inputs(function: Function, call: Call, case: Case) -> Iterator[tuple[str, str]]:
    given = [n for n in function.inputs if case.inputs.get(n) is not None]
    for name in given:
        array = np.asarray(case.inputs[name])
        dtype = function.table[name].dtype
        for kind in OTHERS[dtype]:
            yield from _refused(function, call, case, name, array.astype(kind), TypeError, f"of {np.dtype(kind)}")
        for shape in _shapes(function, case, name, array.shape):
            other = np.resize(array, shape)
            yield from _refused(function, call, case, name, other, ValueError, f"of shape {shape}")


def _shapes(function: Function, case: Case, name: str, shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Shapes near one that fit no other, or not the declaration: an axis more, one fewer, one that is longer."""
    longer = [(*shape[:k], extent + 1, *shape[k + 1 :]) for k, extent in enumerate(shape)]
    for other in dict.fromkeys([(*shape, 1), (1, *shape), shape[1:], shape[:-1], (), *longer]):
        if other == shape:
            continue
        try:
            bind(function, {**case.inputs, name: np.empty(other)})
        except ShapeError:
            yield other


def _refused(
    function: Function, call: Call, case: Case, name: str, array: Any, kind: type[Exception], said: str
) -> Iterator[tuple[str, str]]:
    inputs: Mapping[str, Any] = {**case.inputs, name: array}
    try:
        with np.errstate(all="ignore"):
            call(*inputs.values(), **case.options)
    except kind as error:
        if name in str(error):
            return
        found = f"raises {type(error).__name__}, and does not say which argument is wrong: {_line(error)}"
    except Exception as error:
        found = f"raises {type(error).__name__}, not {kind.__name__}: {_line(error)}"
    else:
        found = "is not refused"
    yield name, f"{said} {found}"


def _line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else ""


def _cotangents(function: Function, artefact: Any, case: Case) -> Iterator[tuple[str, str]]:
    """A grad_output of another shape, and too few places in needs_input_grad."""
    with np.errstate(all="ignore"):
        out, saved = artefact.forward(*case.inputs.values(), **case.options)
    outs = out if len(function.outputs) > 1 else (out,)
    real = [function.table[n].dtype == "real" for n in function.outputs]
    seeds = [np.ones(np.shape(o)) if r else None for o, r in zip(outs, real, strict=True)]
    needs = (True,) * len(function.inputs)

    def backward(some: list[Any], needs: tuple[bool, ...]) -> str:
        try:
            with np.errstate(all="ignore"):
                artefact.backward(saved, tuple(some) if len(some) > 1 else some[0], needs)
        except REFUSED:
            return ""
        except Exception as error:
            return f"raises {type(error).__name__}: {_line(error)}"
        return "is not refused"

    for k, seed in enumerate(seeds):
        name = f"grad_{function.outputs[k]}" if len(seeds) > 1 else "grad_output"
        own = np.shape(outs[k])
        for shape in () if seed is None else dict.fromkeys([(*own, 1), (2, *own), own[1:]]):
            if shape != own and (found := backward([*seeds[:k], np.ones(shape), *seeds[k + 1 :]], needs)):
                yield name, f"of shape {shape}, for a result of shape {own}, {found}"
    last = max((k for k, n in enumerate(function.inputs) if n in differentiable(function)), default=0)
    if found := backward(seeds, needs[:last]):
        yield "needs_input_grad", f"with too few places {found}"
