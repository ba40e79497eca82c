"""What imitates NumPy has NumPy for its witness: the user's own function, called with arrays.

A declaration in Python is traced, and the check is of the formula that came of it. Where the function runs on arrays as
it stands, what NumPy makes of it must be what the formula says, shapes included.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from mpmath import mp

from ..expr import Const
from ..ir import Function, bind
from .cases import Case
from .text import Array, Values, full_shape

Python = Callable[..., Any]  # takes inputs and options by name
MODERATE = 8.0  # inputs up to which no exponential of the formula drowns what stands beside it
TOLERANCE = 1e-6  # NumPy's function rounds as it is written: another function differs by more


def disagreements(
    function: Function, python: Python, case: Case, outputs: Mapping[str, Array], condition: Mapping[str, Array]
) -> Iterator[tuple[str, str]]:
    """What NumPy says otherwise: (output, what is wrong); nothing where the function does not run on arrays.

    outputs    their true values, packs as one axis
    condition  how sensitive each is, as of `truth.conditioning`
    """
    kept = _moderate(case)
    if not kept.any():
        return
    if not kept.all():
        case = replace(case, inputs={n: None if v is None else v[kept] for n, v in case.inputs.items()})
        outputs = {n: v[kept] for n, v in outputs.items()}
        condition = {n: v[kept] for n, v in condition.items()}
    found = None if _unpacked(function, case.inputs) else _called(python, case.inputs, case.options)
    if found is None or len(found) != len(function.outputs):
        return
    for name, value in zip(function.outputs, found, strict=True):
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
                said = f"{float(given):.9g}, the formula {float(expected):.9g}"
                yield name, f"your function, called with arrays, gives {said}"
                break


def _moderate(case: Case) -> Any:
    """The points of a case at which floating point can be trusted: one of all, or one of each that is packed."""
    points = np.ones(case.count if case.packed and case.count > 1 else 1, dtype=bool)
    for value in case.inputs.values():
        if value is not None and np.asarray(value).dtype.kind == "f":
            large = ~(np.abs(value) <= MODERATE)
            points &= ~large.reshape(len(points), -1).any(axis=1)
    return points


def _unpacked(function: Function, inputs: Values) -> bool:
    """Whether `x, y = p` of a declared p[..., 2] would take two points for the two numbers of one."""
    literal = {int(e.value) for t in function.tensors for e in t.shape if isinstance(e, Const)}
    return any(isinstance(size, tuple) and size[:1] and size[0] in literal for size in bind(function, inputs).values())


def _called(python: Python, inputs: Values, options: Mapping[str, Any]) -> list[Array] | None:
    """What the function returns for arrays; None if it is not written for them."""
    given = {n: None if v is None else np.array(v) for n, v in inputs.items()}
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            result = python(**given, **options)
    except Exception:  # it calls functions that take symbols alone, or what NumPy refuses for its shape
        return None
    results = list(result) if isinstance(result, (tuple, list)) else [result]
    if not all(isinstance(r, (np.ndarray, np.number, np.bool_, float, int)) for r in results):
        return None
    arrays = [np.asarray(r) for r in results]
    return arrays if all(a.dtype.kind in "fiub" for a in arrays) else None
