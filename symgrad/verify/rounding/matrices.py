"""Functions of whole matrices on Numbers: their values, and a bound of what LAPACK's algorithms make of them.

The algorithms are backward stable: what they compute is the exact result for a matrix A + E with

    |E_ij| <= c u max|A|,     c = 8 n + 16,  n the longest side

(N. Higham, "Accuracy and Stability of Numerical Algorithms", 2002: 9.3 for LU, 10.1 for Cholesky, 19.4 for QR;
LAPACK Users' Guide, 4.7 and 4.9 for eigenvalues and singular values). So with D the derivative of a result Y,

    e_Y = sum_ij |D_ij| (e_ij + c max|A|) + c |Y|

and D is taken by differences, as all that a condition number says. What stands on the right (B of a solution)
is only as wrong as it came. The inverse and the pseudoinverse are not backward stable but meet the same bound; the
exponential of SciPy 1.17 has been seen 13,000 u off at matrices of norm 3: `GENEROUS` times c is granted. Where the
bound reaches a quarter of the result, the first order says nothing: it is infinite.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import mpmath
import numpy as np
from mpmath import mp
from mpmath.libmp import to_float

from ...ops.matrices import MATRICES, Matrix
from .array import Array, Exact, exact, filled
from .format import INF, now
from .number import Number, lift, rounded

GENEROUS = {"expm": 256.0}
LinAlgError = np.linalg.LinAlgError
FEW = 16  # elements that are moved one by one
PATTERNS = 4  # random signs for more
BITS = 240  # for the differences: their step is 2**-60 of the largest element


def whole(kind: str, *operands: Any) -> Any:
    """The function on arrays of Numbers, the axes of its operands last and a batch in front."""
    row = MATRICES[kind]
    arrays = [exact(o) for o in operands]
    own = [len(axes) for axes in row.operands]
    for array, axes in zip(arrays, own, strict=True):
        if array.ndim < axes:
            raise LinAlgError(f"{kind} of an array with {array.ndim} axes")
    sides = dict(zip(row.axes.split(), arrays[0].shape[arrays[0].ndim - own[0] :], strict=False))
    if own[0] == 2 and row.axes == "n n" and arrays[0].shape[-1] != arrays[0].shape[-2]:
        raise LinAlgError("Last 2 dimensions of the array must be square")
    if "m" in sides:
        sides["k"] = min(sides["m"], sides["n"])
    batch = np.broadcast_shapes(*(a.shape[: a.ndim - k] for a, k in zip(arrays, own, strict=True)))
    spread = [
        np.broadcast_to(a.view(np.ndarray), (*batch, *a.shape[a.ndim - k :])) for a, k in zip(arrays, own, strict=True)
    ]
    shape = tuple(sides[letter] for letter in row.result.split())
    found: list[Any] = []
    for at in itertools.product(*map(range, batch)):
        found += _one(row, [a[at] for a in spread], shape)
    if row.integer:
        return np.array(found, dtype=np.int64).reshape((*batch, *shape))
    return filled(found, (*batch, *shape))


def _one(row: Matrix, operands: list[Any], shape: tuple[int, ...]) -> list[Any]:
    """The results of one call, in the order of their places."""
    operands = [filled([lift(x) for x in a.ravel().tolist()], a.shape).view(np.ndarray) for a in operands]
    if row.symmetric:  # LAPACK reads the lower triangle
        (a,) = operands
        operands = [np.where(np.tri(len(a), dtype=bool), a, a.T)]
    values = [np.array([x.value for x in a.ravel()] + [None], dtype=object)[:-1].reshape(a.shape) for a in operands]
    places = list(itertools.product(*map(range, shape)))
    if not row.integer and not all(mp.isfinite(x.value) for a in operands for x in a.ravel()):
        return [Number(mp.nan, INF)] * len(places)  # LAPACK says so, or gives no numbers
    try:
        found = _value(row, values)
    except (ValueError, ZeroDivisionError, OverflowError) as error:
        raise LinAlgError(str(error)) from error
    if row.integer:
        _doubts(operands[0])
        return [found[p] for p in places]
    results = [mpmath.mpf(found[p]) for p in places]
    n = max((s for a in operands for s in np.shape(a)), default=1)
    c = (8.0 * n + 16.0) * GENEROUS.get(row.name, 1.0)
    errors = _errors(row, operands, values, places, c)
    sizes = [abs(to_float(r._mpf_)) for r in results]
    most = max(sizes, default=0.0)
    lost = any(e == INF or e * now.unit > most / 4 for e in errors) and most > 0.0
    return [Number(r, INF) if lost else rounded(r, e, c) for r, e in zip(results, errors, strict=True)]


def _errors(
    row: Matrix, operands: list[Any], values: list[Any], places: list[tuple[int, ...]], c: float
) -> list[float]:
    """The first-order bound of each result: what came with the operands, and what the algorithm adds to the matrix."""
    errors = [0.0] * len(places)
    with mp.workprec(max(BITS, mp.prec)):
        base = _value(row, values)
        for which, operand in enumerate(operands):
            largest = max((x.size for x in operand.ravel()), default=0.0)
            weights = np.array([x.err + (c * largest if which == 0 else 0.0) for x in operand.ravel()])
            most = float(np.max(weights, initial=0.0))
            if most == INF:
                return [INF] * len(places)
            step = mp.ldexp(mpmath.mpf(1), int(mp.mag(mpmath.mpf(largest) or 1)) - 60 - max(0, (mp.prec - BITS) // 2))
            mine = [0.0] * len(places)
            for direction in _directions(weights / most) if most else ():
                steps = np.array(direction, dtype=object).reshape(operand.shape) * step
                try:
                    after = _value(row, [v + steps if k == which else v for k, v in enumerate(values)])
                except (ValueError, ZeroDivisionError, OverflowError):
                    return [INF] * len(places)
                for k, place in enumerate(places):
                    slope = (after[place] - base[place]) / step  # of 1e-154 by 1e182 is no double
                    change = abs(to_float((most * slope)._mpf_))
                    mine[k] = mine[k] + change if len(weights) <= FEW else max(mine[k], change)
            # of a sum with random signs to the sum itself: at most the square root of the number of terms, and luck
            factor = 1.0 if len(weights) <= FEW else 2.0 * float(np.sqrt(len(weights)))
            errors = [e + factor * more for e, more in zip(errors, mine, strict=True)]
    return errors


def _directions(weights: Array) -> Iterator[list[float]]:
    """Each element by itself; of many, all of them with random signs."""
    if len(weights) <= FEW:
        for k, weight in enumerate(weights.tolist()):
            if weight:
                yield [weight if k == j else 0.0 for j in range(len(weights))]
        return
    rng = np.random.default_rng(len(weights))
    for _ in range(PATTERNS):
        yield (rng.choice([-1.0, 1.0], len(weights)) * weights).tolist()


def _doubts(operand: Any) -> None:
    """Elements that rounding may put in another order."""
    row = sorted(operand.tolist(), key=lambda x: x.value)
    for a, b in itertools.pairwise(row):
        if (a.err or b.err) and a is not b and abs(a.value - b.value) <= (a.err + b.err) * now.unit:
            now.notes.doubts += 1


def _value(row: Matrix, operands: list[Array]) -> Array:
    """The results by their places."""
    return np.array(row.value(*(o.tolist() for o in operands)), dtype=object)


def argsort(array: Any, axis: int = -1, kind: str | None = None) -> Any:
    """The stable order of the elements along an axis."""
    if not isinstance(array, Exact):
        return np.argsort(array, axis=axis, kind="stable")
    return np.moveaxis(whole("argsort", np.moveaxis(array.view(np.ndarray), axis, -1)), -1, axis)
