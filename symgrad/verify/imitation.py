"""What imitates NumPy has NumPy for its witness: the user's own function, called with arrays.

A declaration in Python is traced, and the check is of the formula that came of it. Where the function calls nothing of
symgrad's that is of index notation, what NumPy makes of it must be what the formula says, shapes included; what it
refuses, too.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from mpmath import mp

from ..declare.python.numpy_curves import RISING
from ..errors import SymgradError
from ..expr import Const
from ..ir import Dtype, Function, bind, shape_of
from ..records import replace
from .cases import Case, is_of_nothing, refuses_infinity
from .text import Array, Values, full_shape
from .witness import FUNCTIONS

Python = Callable[..., Any]  # takes functions by name, and inputs and options by name
MODERATE = 8.0  # inputs up to which no exponential of the formula drowns what stands beside it
TOLERANCE = 1e-6  # NumPy's function rounds as it is written: another function differs by more
SINGLE = 1e-3  # what single precision gives otherwise by so much may have lost its digits in double precision, too


class _Unsaid(Exception):
    """NumPy says nothing of these arrays."""


class _Witness(np.ndarray):
    """An array that knows where NumPy is given a table which must rise and does not."""

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        name, place = RISING.get(func.__name__, ("", 0))
        if name and np.any(np.diff(args[place] if place < len(args) else kwargs[name]) < 0):
            raise _Unsaid
        return super().__array_function__(func, types, args, kwargs)


def disagreements(
    function: Function, case: Case, outputs: Mapping[str, Array], condition: Mapping[str, Array]
) -> Iterator[tuple[str, str]]:
    """What NumPy says otherwise: (output, what is wrong); nothing where no Python function is, or none for arrays.

    outputs    their true values, packs as one axis
    condition  how sensitive each is, as of `truth.conditioning`
    """
    kept = _moderate(case)
    if function.python is None or not kept.any():
        return
    if not kept.all():
        case = replace(case, inputs={n: None if v is None else v[kept] for n, v in case.inputs.items()})
        outputs = {n: v[kept] for n, v in outputs.items()}
        condition = {n: v[kept] for n, v in condition.items()}
    absent = [n for n in function.optional if case.inputs.get(n) is None]
    try:
        found = _returned(function, function.python, case)
    except Exception as error:  # what it raises, a traced function does not
        # integers are drawn for what the formula reads, and not for what the function takes and then leaves
        drawn = isinstance(error, IndexError) and any(t.dtype == Dtype.INT for t in function.tensors)
        # a maximum of nothing, in a branch that is never taken, the formula has no place for; nor has what is left out
        if not (absent or drawn or _is_empty(function, case) or is_of_nothing(error) or refuses_infinity(error)):
            yield function.name, f"your function, called with arrays, raises {type(error).__name__}: {error}"
        return
    if found is None or len(found) != len(function.outputs):
        return
    single: list[Array] | None = None
    for k, (name, value) in enumerate(zip(function.outputs, found, strict=True)):
        shape = full_shape(function, name, case.inputs, case.options)
        if np.shape(value) != shape:
            yield name, f"your function, called with arrays, gives the shape {np.shape(value)}, the formula {shape}"
            continue
        for position, given in np.ndenumerate(value.reshape(outputs[name].shape)):
            expected, sensitive = outputs[name][position], float(condition[name][position])
            if not (mp.isfinite(expected) and np.isfinite(given)):
                continue
            scale = 1 + abs(float(expected)) + (sensitive if np.isfinite(sensitive) else 0.0)
            if abs(float(given) - float(expected)) > TOLERANCE * scale:
                single = single or _in_single(function, function.python, case) or found
                if not abs(float(single[k].reshape(outputs[name].shape)[position]) - float(given)) <= SINGLE * scale:
                    continue
                said = f"{float(given):.9g}, the formula {float(expected):.9g}"
                if absent:
                    said += f". What counts without {absent[0]} is said by sg.given({absent[0]}, then, otherwise)"
                yield name, f"your function, called with arrays, gives {said}"
                break


def _in_single(function: Function, python: Python, case: Case) -> list[Array] | None:
    """What the function returns in single precision, where what is rounded away in double precision is lost altogether;
    numbers that are none where it refuses that, as a matrix that is singular then."""
    reals = {n: v for n, v in case.inputs.items() if v is not None and np.asarray(v).dtype.kind == "f"}
    rounded = {n: np.asarray(v, dtype=np.float32) for n, v in reals.items()}
    try:
        return _returned(function, python, replace(case, inputs={**case.inputs, **rounded}))
    except Exception:  # the user's own code may raise anything
        shapes = (full_shape(function, name, case.inputs, case.options) for name in function.outputs)
        return [np.full(shape, np.nan) for shape in shapes]


def _is_empty(function: Function, case: Case) -> bool:
    """Whether there is an array without elements: NumPy refuses some reshapes and products of such."""
    given = {n: v for n, v in case.inputs.items() if v is not None}
    sizes = bind(function, given)
    return any(0 in shape_of(t.shape, sizes, case.options) for t in function.tensors)


def _moderate(case: Case) -> Any:
    """The points of a case at which floating point can be trusted: one of all, or one of each that is packed."""
    points = np.ones(case.count if case.packed and case.count > 1 else 1, dtype=bool)
    for value in case.inputs.values():
        if value is not None and np.asarray(value).dtype.kind == "f":
            large = ~(np.abs(value) <= MODERATE)
            points &= ~large.reshape(len(points), -1).any(axis=1)
    return points


def _returned(function: Function, python: Python, case: Case) -> list[Array] | None:
    """What the function returns; None where it is not written for arrays, or counts on an input that is absent.

    `x, y = p` of a declared p[..., 2] takes the first axis for the two numbers: one point is given after the other.
    """
    unpacked = any(isinstance(e, Const) for t in function.tensors for e in t.shape)
    packs = [size for size in bind(function, case.inputs).values() if isinstance(size, tuple)]
    if not unpacked or not any(packs):
        return _called(python, case.inputs, case.options)
    if not case.packed or not case.count:
        return None
    count = len(next(v for v in case.inputs.values() if v is not None))
    points = [{n: None if v is None else v[k] for n, v in case.inputs.items()} for k in range(count)]
    found = [_called(python, point, case.options) for point in points]
    return [np.stack(parts) for parts in zip(*found, strict=True)] if all(f is not None for f in found) else None


def _called(python: Python, inputs: Values, options: Mapping[str, Any]) -> list[Array] | None:
    """What the function returns for arrays; None where it asks symgrad, which has no values for it."""
    given = {n: None if v is None else np.array(v).view(_Witness) for n, v in inputs.items()}
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            result = python(FUNCTIONS, **given, **options)
    except (SymgradError, AttributeError, _Unsaid):  # a function of symgrad's, or what only its arrays have
        return None
    results = list(result) if isinstance(result, (tuple, list)) else [result]
    if not all(isinstance(r, (np.ndarray, np.number, np.bool_, float, int)) for r in results):
        return None
    arrays = [np.asarray(r) for r in results]
    return arrays if all(a.dtype.kind in "fiub" for a in arrays) else None
