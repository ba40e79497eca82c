"""Arguments that printed code must refuse whatever its numbers are: of another type, of a shape that fits no other, a
grad_output that is not of the shape of its result, and gradients that are not told whether they are needed. What it
says of an argument must be so. And those that it must take: lists of numbers, where a language has arrays of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
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
EXTENT = re.compile(r"\b(\w+) has (?:\w+ = )?(-?\d+) (?:\(|in )axis (-?\d+)")  # in a message
SHAPE = re.compile(r"\b(\w+) has shape (?:torch\.Size\()?[(\[]([\d, ]*)[)\]]")
REFUSED = (TypeError, ValueError, IndexError, KeyError)  # what says that an argument is wrong, and not which code is


def accepted(function: Function, artefact: Any, case: Case, to: str) -> Iterator[tuple[str, str]]:
    """What is not refused, or not in words of the code's own, or refused wrongly: (the argument, what is wrong).

    case  a correct call, with every input
    """
    framework = has_backward(function) and getattr(artefact, "module", None) is not None
    yield from _inputs(function, _called(function, artefact) if framework else artefact.forward, case)
    if has_backward(function) and not framework:
        yield from _cotangents(function, artefact, case)
    if to in ("numpy", "scipy"):
        yield from _lists(function, artefact.forward, case)


def _lists(function: Function, call: Call, case: Case) -> Iterator[tuple[str, str]]:
    """Lists of numbers, in place of arrays."""
    given = {n: None if v is None or not np.size(v) else np.asarray(v).tolist() for n, v in case.inputs.items()}
    inputs = {n: v if given[n] is None else given[n] for n, v in case.inputs.items()}
    try:
        with np.errstate(all="ignore"):
            wanted, found = (_results(call(*some.values(), **case.options)[0]) for some in (case.inputs, inputs))
    except Exception as error:
        yield function.name, f"of lists of numbers, raises {type(error).__name__}: {_line(error)}"
        return
    for name, a, b in zip(function.outputs, found, wanted, strict=True):
        if not np.array_equal(a, b, equal_nan=True):
            yield name, "is another, where the inputs are lists of numbers"


def _results(out: Any) -> Sequence[Any]:
    return out if isinstance(out, tuple) else (out,)


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
        wrong = "" if re.search(rf"\b{name}\b", str(error)) else "does not say which argument is wrong"
        wrong = wrong or ("says of an argument what is not so" if _false(str(error), inputs) else "")
        if not wrong:
            return
        found = f"raises {type(error).__name__}, and {wrong}: {_line(error)}"
    except Exception as error:
        found = f"raises {type(error).__name__}, not {kind.__name__}: {_line(error)}"
    else:
        found = "is not refused"
    yield name, f"{said} {found}"


def _false(said: str, inputs: Mapping[str, Any]) -> bool:
    """Whether a message has another shape of an argument, or of one of its axes, than the argument has."""
    given = {n: np.shape(v) for n, v in inputs.items() if v is not None}
    shapes = [(n, tuple(map(int, re.findall(r"\d+", text)))) for n, text in SHAPE.findall(said)]
    extents = [(n, int(extent), int(axis)) for n, extent, axis in EXTENT.findall(said)]
    wrong = [n for n, shape in shapes if n in given and given[n] != shape]
    wrong += [n for n, extent, axis in extents if n in given and given[n][axis] != extent]
    return bool(wrong)


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
                artefact.backward(saved, tuple(some) if len(seeds) > 1 else some[0], needs)
        except REFUSED:
            return ""
        except Exception as error:
            return f"raises {type(error).__name__}: {_line(error)}"
        return "is not refused"

    for some in ([], [*seeds, seeds[0]]) if len(seeds) > 1 else ():
        if found := backward(some, needs):
            yield "grad_output", f"with {len(some)} places for {len(seeds)} results {found}"
    for k, seed in enumerate(seeds):
        name = f"grad_{function.outputs[k]}" if len(seeds) > 1 else "grad_output"
        own = np.shape(outs[k])
        for shape in () if seed is None else dict.fromkeys([(*own, 1), (2, *own), own[1:]]):
            if shape != own and (found := backward([*seeds[:k], np.ones(shape), *seeds[k + 1 :]], needs)):
                yield name, f"of shape {shape}, for a result of shape {own}, {found}"
    last = max((k for k, n in enumerate(function.inputs) if n in differentiable(function)), default=0)
    if found := backward(seeds, needs[:last]):
        yield "needs_input_grad", f"with too few places {found}"
