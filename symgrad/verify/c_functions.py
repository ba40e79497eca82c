"""Functions of a printed C file that the check does not execute as text: of whole matrices, `lapack_<name>`,
`contract`, `contract_groups` and `blas_contract`, and of the bits of a number. On Numbers, what they compute.

Their bodies call LAPACKE or CBLAS, or compute with vectors or bits; that they do the same is seen where the compiled
code runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import prod
from typing import Any

from mpmath import mp

from ..ops.matrices import MATRICES
from .c_memory import Pointer
from .numpy_linalg import solved
from .rounding import lift, total
from .rounding.array import filled
from .rounding.format import now
from .rounding.matrices import LinAlgError, whole

PREFIX = "lapack_"
_MIDDLE = 2**51  # what nearest_integer adds; in single precision less, and the last 12 bits are the same


def known(name: str) -> bool:
    """Whether a C function is one of these."""
    return (
        name in _BY_NAME
        or name.startswith(PREFIX)
        and any(row.function == name.removeprefix(PREFIX) for row in MATRICES.values())
    )


def function_of(name: str) -> Callable[..., Any]:
    """The function that stands for a C function: sizes, operands and results as it takes them; one of LAPACK's returns
    0 or 1."""
    if name in _BY_NAME:
        return _BY_NAME[name]
    rows = [row for row in MATRICES.values() if row.function == name.removeprefix(PREFIX)]
    letters = dict.fromkeys(rows[0].axes.split())
    count, right = len(letters), len(rows[0].operands) > 1

    def call(*given: Any) -> int:
        sides = dict(zip(letters, given, strict=False))
        columns, *places = given[count:] if right else (1, *given[count:])
        shapes = [[sides[letter] for letter in rows[0].axes.split()], *[[sides["n"], columns]] * right]
        operands = [_read(place, shape) for place, shape in zip(places, shapes, strict=False)]
        try:
            for row, place in zip(rows, places[1 + right :], strict=True):
                if place is not None:
                    value = (solved if right else whole)(row.name, *operands)
                    for k, x in enumerate(value.ravel().tolist()):
                        place.set(k, x)
        except LinAlgError:
            return 1
        return 0

    return call


def _contract(
    rows: int, columns: int, terms: int, scale: Any,
    left: Pointer, left_row: int, left_term: int,
    right: Pointer, right_term: int, right_column: int,
    element: Pointer, element_row: int, element_column: int,
) -> None:  # fmt: skip
    """element[i, j] += scale * sum over q of left[i, q] * right[q, j], added up in any order."""
    for i in range(rows):
        for j in range(columns):
            factors = [
                (left.get(i * left_row + q * left_term), right.get(q * right_term + j * right_column))
                for q in range(terms)
            ]
            place = i * element_row + j * element_column
            added = [scale * (a * b) for a, b in factors] or [scale * lift(0)]  # in a mean of nothing 0/0
            element.set(place, total([element.get(place), *added]))


def _contract_groups(
    groups: int, rows: int, columns: int, terms: int, scale: Any,
    left: Pointer, left_group: int, left_row: int, left_term: int,
    right: Pointer, right_group: int, right_term: int, right_column: int,
    element: Pointer, element_row: int, element_column: int,
) -> None:  # fmt: skip
    """The same for groups of terms, one after the other."""
    for g in range(groups):
        _contract(
            rows, columns, terms, scale,
            left.moved(g * left_group), left_row, left_term,
            right.moved(g * right_group), right_term, right_column,
            element, element_row, element_column,
        )  # fmt: skip


def _power_of_2(k: int) -> Any:
    return lift(mp.ldexp(1, (k + 2048) % 4096 - 2048))


def _nearest_integer(x: Any) -> int:
    value = lift(x).value
    return _MIDDLE + (int(mp.nint(value)) if mp.isfinite(value) else 0)


def _as_number(k: int) -> Any:
    return lift(k - _MIDDLE)


def _leading_digits(x: Any) -> Any:
    value, half = lift(x).value, now.bits // 2
    if not mp.isfinite(value) or not value:
        return x
    unit = int(mp.mag(value)) - half
    return lift(mp.ldexp(int(mp.ldexp(value, -unit)), unit))


def _binary_exponent(x: Any) -> int:
    return _MIDDLE + _split(x)[0]


def _significand(x: Any) -> Any:
    return lift(_split(x)[1])


def _split(x: Any) -> tuple[int, Any]:
    """k and m, where `x` is 2**k * m and m**2 from 1/2 to 2."""
    value = lift(x).value
    if not mp.isfinite(value) or value <= 0:
        return 0, value
    k = int(mp.floor(mp.log(value, 2) + 0.5))
    return k, mp.ldexp(value, -k)


_BY_NAME: Mapping[str, Callable[..., Any]] = {
    "contract": _contract,
    "contract_groups": _contract_groups,
    "blas_contract": partial(_contract, element_column=1),
    "power_of_2": _power_of_2,
    "nearest_integer": _nearest_integer,
    "as_number": _as_number,
    "leading_digits": _leading_digits,
    "binary_exponent": _binary_exponent,
    "binary_significand": _significand,
}


def _read(place: Pointer, shape: list[int]) -> Any:
    return filled([place.get(k) for k in range(prod(shape))], tuple(shape))
