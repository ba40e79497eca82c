"""Calling an artefact as its users do, and what it must leave alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..ir import Function
from ..records import replace
from ..source.tree import Function as Head
from .adjoint import Artefact
from .cases import Case, refuses_infinity
from .text import Array, Valued, gradient_key, has_backward, together


class Alone:
    """One function of an artefact as its forward: it saves nothing."""

    def __init__(self, artefact: Any, name: str, function: Valued) -> None:
        self._artefact, self._function = artefact, function
        self.called = name

    def __getattr__(self, name: str) -> Any:
        return getattr(self._artefact, name)

    def without(self, *names: str) -> Alone:
        """The same, which is not asked for these results."""
        return Alone(self._artefact.without(*names), self.called, self._function)

    def forward(self, *inputs: Any, **options: Any) -> tuple[Any, Any]:
        """What it returns, out of its tuples."""
        found = self(*inputs, **options)
        given = dict(zip(self._function.inputs, inputs, strict=False))
        results = self._function.results(found, given, options)
        return (results if len(results) > 1 else results[0]), None

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        """What it returns."""
        return getattr(self._artefact, self.called)(*inputs, **options)

    def backward(self, *given: Any) -> Any:
        """There is none."""
        raise NotImplementedError

    @staticmethod
    def heads(heads: Sequence[Head], name: str) -> list[Head]:
        """Of the functions of a file, that one as forward, and those that are no part of the interface."""
        roles = {f"{name}{end}": f"forward{end}" for end in ("", "_batch")}
        kind = name.removesuffix("_sparse")
        if kind != name and all(h.role != name for h in heads):  # what who calls makes a matrix of
            roles = {f"{kind}_values": "forward", f"{kind}_pattern": "pattern", f"{kind}_nnz": "room"}
        own = [h for h in heads if h.role in (*roles, "local", "series")]
        return [replace(h, role=roles.get(h.role, h.role)) for h in own]


class Call:
    """One forward and backward of an artefact with the arrays of a case.

    layout  how the arrays lie in memory, one of LAYOUTS; a broadcast case passes its views with stride 0 as they are
    """

    def __init__(self, function: Function, artefact: Artefact, case: Case, dtype: Any, layout: str = "plain") -> None:
        self.function, self.artefact, self.case, self.dtype = function, artefact, case, dtype
        self.layout = "plain" if case.strided else layout
        self.inputs = [self._argument(case.inputs.get(n)) for n in function.inputs]
        self.seeds = [self._argument(case.seeds[n]) for n in function.outputs]
        self.before = [None if a is None else a.tobytes() for a in (*self.inputs, *self.seeds)]
        # an option at its default is left out in every other case
        defaults = {o.name: float(o.default) for o in function.options} if case.number % 2 == 0 else {}
        self.options = {k: v for k, v in case.options.items() if v != defaults.get(k)}
        self.saved: Any = None
        self.outputs: list[Any] = []
        self.grads: tuple[Any, ...] = ()

    def _argument(self, value: Array | None) -> Any:
        if value is None:
            return None
        array = np.asarray(value)
        if array.dtype.kind == "f" and array.dtype != self.dtype:
            array = array.astype(self.dtype) if not self.case.strided else _restrided(array, self.dtype)
        return LAYOUTS[self.layout](array) if array.ndim else array

    @property
    def cotangent(self) -> Any:
        """What is passed as grad_output."""
        return tuple(self.seeds) if len(self.seeds) > 1 else self.seeds[0]

    def results(self) -> dict[str, Any]:
        """Every output, and every gradient as `grad_<input>`."""
        with np.errstate(all="ignore"):
            out, self.saved = self.artefact.forward(*self.inputs, **self.options)
            self.outputs = list(out) if len(self.function.outputs) > 1 else [out]
            if len(self.outputs) != len(self.function.outputs):
                raise ValueError(f"forward returns {len(self.outputs)} outputs")
            self.kept = [None if o is None else np.asarray(o).tobytes() for o in self.outputs]
            needs = (True,) * len(self.function.inputs)
            asked = has_backward(self.function)
            self.grads = self.artefact.backward(self.saved, self.cotangent, needs) if asked else (None,) * len(needs)
        if not isinstance(self.grads, tuple) or len(self.grads) != len(self.inputs):
            raise ValueError(f"backward returns {type(self.grads).__name__}, not one gradient per input")
        found = dict(zip(self.function.outputs, self.outputs, strict=True))
        return together(found, dict(zip(self.function.inputs, self.grads, strict=True)))

    def mistaken(self, name: str, value: Any, shape: tuple[int, ...]) -> str:
        """What is wrong with the kind of a result; empty if nothing."""
        if value is None:
            return "is None"
        if np.shape(value) != shape:
            return f"has shape {np.shape(value)} instead of {shape}"
        kind = np.asarray(value).dtype
        integer = name in self.function.table and self.function.table[name].dtype != "real"
        if not integer and kind != self.dtype:
            return f"is {kind}, from inputs of {np.dtype(self.dtype)}"
        return ""


def _scattered(array: Array) -> Array:
    wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1] + 1), dtype=array.dtype)
    view = wide[..., 1::2]
    view[...] = array
    return view


def layouts(case: Case, full: bool) -> tuple[str, ...]:
    """The layouts in which a case is passed: every one, or the plain one and for every third case another."""
    if case.strided or not case.count:
        return ("plain",)
    return tuple(LAYOUTS) if full else ("scattered",) if case.number % 3 == 1 else ("plain",)


LAYOUTS: Mapping[str, Callable[[Array], Array]] = {
    "plain": lambda array: array,
    "scattered": _scattered,
    "backwards": lambda array: np.ascontiguousarray(array[::-1])[::-1],
    "columns first": lambda array: np.asfortranarray(array),
}


def _restrided(array: Array, dtype: Any) -> Array:
    """Another dtype, the same strides of 0."""
    first = array[tuple(slice(0, 1) if s == 0 else slice(None) for s in array.strides)]
    return np.broadcast_to(first.astype(dtype), array.shape)


def memory_faults(call: Call, results: dict[str, Any], case: Case) -> list[tuple[str, str]]:
    """What the artefact should have left alone, or returned otherwise: (place, what is wrong)."""
    faults: list[tuple[str, str]] = []
    function = call.function
    names = [*function.inputs, *(f"grad_{n}" if len(function.outputs) > 1 else "grad_output" for n in function.outputs)]
    for name, array, before in zip(names, (*call.inputs, *call.seeds), call.before, strict=True):
        if array is not None and array.tobytes() != before:
            faults.append((name, "was written to"))
    for name, out, before in zip(function.outputs, call.outputs, call.kept, strict=True):
        if before is not None and np.asarray(out).tobytes() != before:
            faults.append((name, "changed during backward"))
    grads = [(n, g) for n, g in zip(function.inputs, call.grads, strict=True) if isinstance(g, np.ndarray) and g.size]
    for k, (name, grad) in enumerate(grads):
        for other, array in grads[:k]:
            if np.shares_memory(grad, array):
                faults.append((f"grad_{name}", f"shares memory with grad_{other}"))
    for name, tensor in ((n, function.table[n]) for n in function.inputs):
        absent = case.inputs.get(name) is None or tensor.dtype != "real"
        if absent and results.get(gradient_key(name, function.outputs)) is not None:
            faults.append((f"grad_{name}", "is not None, though the input is absent or of integers"))
    return faults


def manners(call: Call, subsets: list[tuple[bool, ...]], apart: Mapping[str, Array]) -> list[tuple[str, str]]:
    """How backward behaves when it is asked otherwise: again, for fewer gradients, without a grad_output.

    apart  how far a gradient may lie from itself where others are asked for, per element; nothing, where none is given
    """
    faults: list[tuple[str, str]] = []
    function = call.function
    if not has_backward(function):
        return faults
    for needs in dict.fromkeys((*subsets, (True,) * len(call.inputs))):
        grads = _again(call, call.cotangent, needs)
        if isinstance(grads, Exception):
            return [(function.name, f"with needs_input_grad={needs}, raises {_told(grads)}")]
        wanted = tuple(grad if need else None for need, grad in zip(needs, call.grads, strict=True))
        others = _others(call, grads, wanted, apart)
        faults += [(name, f"is another with needs_input_grad={needs}") for name in others]
    return [*faults, *_overwritten(call), *_omitted(call), *_partial(call)]


def _again(call: Call, cotangent: Any, needs: tuple[bool, ...] | None = None) -> tuple[Any, ...] | Exception:
    """The gradients of another backward from the same saved values, or what it raises: that is a finding."""
    try:
        with np.errstate(all="ignore"):
            return call.artefact.backward(call.saved, cotangent, needs or (True,) * len(call.inputs))
    except Exception as error:
        return error


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _others(
    call: Call, grads: tuple[Any, ...], wanted: tuple[Any, ...] | Exception, apart: Mapping[str, Array] | None = None
) -> list[str]:
    """The gradients that are not those that are wanted; all of them, where these are refused."""
    if isinstance(wanted, Exception):
        return [f"grad_{name}" for name in call.function.inputs]

    def same(name: str, a: Array, b: Array) -> bool:
        if np.array_equal(a, b, equal_nan=True):
            return True
        margin = (apart or {}).get(gradient_key(name, call.function.outputs))
        if margin is None or np.shape(a) != np.shape(b):
            return False
        equal = (a == b) | (np.isnan(a) & np.isnan(b))
        with np.errstate(invalid="ignore"):  # inf - inf
            return bool(np.all(equal | (abs(np.subtract(a, b, dtype=float)) <= margin)))

    pairs = zip(call.function.inputs, grads, wanted, strict=True)
    return [
        f"grad_{name}" for name, a, b in pairs if (a is None) != (b is None) or (a is not None and not same(name, a, b))
    ]


def _overwritten(call: Call) -> list[tuple[str, str]]:
    """Where backward adds to gradients, what was no number before is none after."""
    if not getattr(call.artefact, "accumulates", False):
        return []
    into = [None if g is None else np.full(np.shape(g), np.nan) for g in call.grads]
    backward: Any = call.artefact.backward  # with a place to add to
    grads = backward(call.saved, call.cotangent, (True,) * len(call.inputs), into=into)
    return [
        (f"grad_{name}", "is overwritten, and not added to")
        for name, grad in zip(call.function.inputs, grads, strict=True)
        if grad is not None and not np.isnan(grad).all()
    ]


def _omitted(call: Call) -> list[tuple[str, str]]:
    """Without grad_output: ones for a scalar, an error that says so otherwise."""
    if len(call.outputs) > 1 or call.seeds[0] is None:
        return []
    shape = np.shape(call.outputs[0])
    grads = _again(call, None)
    if isinstance(grads, Exception):
        said = "may be omitted for a scalar, and" if not shape else "was omitted, and that"
        told = not shape or not isinstance(grads, (TypeError, ValueError))
        return [("grad_output", f"{said} raises {_told(grads)}")] * told
    if shape:
        return [("grad_output", f"was omitted for an output of shape {shape}, and nothing was raised")]
    ones = _again(call, np.ones((), call.dtype))
    return [(name, "without grad_output is not that of ones") for name in _others(call, grads, ones)]


def _partial(call: Call) -> list[tuple[str, str]]:
    """None among several grad_outputs means zero."""
    faults = []
    for k, name in enumerate(call.function.outputs if len(call.seeds) > 1 else ()):
        one = _again(call, tuple(s if m != k else None for m, s in enumerate(call.seeds)))
        zeros = tuple(s if m != k or s is None else np.zeros_like(s) for m, s in enumerate(call.seeds))
        other = _again(call, zeros)
        if not isinstance(one, Exception):
            faults += [(f"grad_{name}", "None is not treated as zeros")] * bool(_others(call, one, other))
        elif not (refuses_infinity(one) and refuses_infinity(other)):  # 0 times what has overflowed
            return [(f"grad_{name}", f"may be None, and raises {_told(one)}")]
    return faults
