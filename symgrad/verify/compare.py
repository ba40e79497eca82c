"""Two comparisons: a text with the truth, without tolerance, and floating point with the truth, within its bounds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import mpmath
import numpy as np
from mpmath import mp
from mpmath.libmp import to_float

from ..records import dataclass
from .rounding import Format, Notes, Number, lift
from .rounding.array import UNSET, filled
from .text import Array

SLACK = 2.0  # for terms of second order, and for a compiler that contracts a*b + c
DECIDED = 80  # bits that a text must share at two precisions where no bound tells its value
ROUNDINGS = 8.0  # DESIGN: |error| <= (8 + sqrt n) u (|g| + sum |x_i dg/dx_i|)
BLIND = 2.0**20  # where no text tells a bound: so many times the budget is wrong
OTHERWISE = "the text computes something else"
BLINDLY = Notes(floor=16.0)  # and library functions are granted so many units


@dataclass(frozen=True, slots=True)
class Judged:
    """One element of a result, and what is said of it: "fine", "wrong", a "loss", or what is wrong, in words.

    ulps, bits  its error, and what was lost
    excused     it is a loss, and not wrong, only because the text says that it may overflow there
    doubted     the same, because it compares what rounding may order the other way
    """

    verdict: str
    position: tuple[int, ...]
    expected: Any
    obtained: Any
    ulps: float = 0.0
    bits: float = 0.0
    excused: bool = False
    doubted: bool = False


def place(name: str, position: tuple[int, ...]) -> str:
    """`grad_x[0,2]`."""
    return f"{name}[{','.join(map(str, position))}]" if position else name


def numbers(value: Any, shape: tuple[int, ...], flat: tuple[int, ...]) -> Array | str:
    """What a text returned as an object array of shape `flat` (packs as one axis), or what is wrong with it."""
    if value is None:
        return "is None"
    found = np.asarray(value).shape if isinstance(value, (np.ndarray, Number, int, np.number, np.bool_)) else None
    if found is None:
        return f"is of type {type(value).__name__}"
    if found != shape:
        return f"has shape {found} instead of {shape}"
    elements = value.view(np.ndarray).ravel().tolist() if isinstance(value, np.ndarray) else [value]
    return filled([e if e is UNSET else lift(e) for e in elements], flat).view(np.ndarray)


def text_mismatches(
    truth: Array,
    found: Any,
    bits: int,
    beyond: bool = False,
    before: Array | None = None,
    infinite: bool = False,
) -> tuple[list[Judged], bool]:
    """Where a text, executed with `bits` bits, differs from the truth; and whether the precision told them apart.

    The rounding bound of the execution, with 2**-bits for u, is all the difference there may be. Where it is too wide
    (the format overflows), what the text computed `before` with fewer bits must be the same. Nothing is told of an
    element that came of a number `beyond` all that are computed with, nor where the truth is no number; where it is
    infinite, it must be so where `infinite` values are told.
    """
    wrong: list[Judged] = []
    conclusive = True
    for position, expected in np.ndenumerate(truth):
        number = found[position]
        if number is UNSET:
            wrong.append(Judged("was never written", position, expected, "nothing"))
            continue
        if infinite and mp.isinf(expected) and number.value != expected:
            wrong.append(Judged(OTHERWISE, position, expected, number.value))
        if not mp.isfinite(expected):
            continue
        if not mp.isfinite(number.value):
            if beyond and number.err == np.inf:
                continue
            wrong.append(Judged("is not a number", position, expected, number.value))
            continue
        error = abs(number.value - expected)
        if not error:
            continue
        exact = mpmath.ldexp(abs(expected), -65) + mpmath.ldexp(1, -1080)
        tolerance = mpmath.ldexp(mpmath.mpf(number.err), 4 - bits)
        differs = error > tolerance + exact
        if not differs and error > exact and tolerance > mpmath.ldexp(abs(expected), -40) + exact:
            differs = before is not None and _same(before[position], number)
            conclusive &= differs
        if differs:
            wrong.append(Judged(OTHERWISE, position, expected, number.value))
    return wrong, conclusive


def _same(a: Any, b: Number) -> bool:
    """Whether two precisions agree."""
    if a is UNSET or not mp.isfinite(a.value):
        return False
    return bool(abs(a.value - b.value) <= mpmath.ldexp(abs(b.value), -DECIDED))


def overflow(arrays: Mapping[str, Array]) -> tuple[str, tuple[int, ...]] | None:
    """The first element of a text's results that floating point may fail to reach: its bound is infinite."""
    for name, array in arrays.items():
        for position, number in np.ndenumerate(array):
            if number is not UNSET and number.err == np.inf:
                return name, position
    return None


class Bounds(NamedTuple):
    """The numbers of a text by result, with the bounds of their rounding, and what its execution met."""

    arrays: dict[str, Array]
    notes: Notes


@dataclass(frozen=True, slots=True)
class Limits:
    """What an element of floating-point results may be off by.

    name      of the result
    bounds    what the text tells; None if there is none
    condition sum |x_i dg/dx_i|, per element; inf where it is not known
    terms     how many numbers count, n
    magnitude what may cancel in the result, where there is no text to tell: the largest grad_output
    lowest    below which the functions of a framework are not exact: they flush to 0 what is next to it
    infinite  infinite values are told, too
    """

    name: str
    bounds: Bounds | None
    condition: Array
    terms: int
    magnitude: float
    lowest: float
    format: Format
    infinite: bool

    @property
    def bound(self) -> Array | None:
        """The running bound of the text, per element."""
        return None if self.bounds is None else self.bounds.arrays.get(self.name)

    @property
    def floor(self) -> float:
        """What an error may be, however small the result is."""
        return 4 * self.format.tiny + self.lowest

    def rounding(self, bound: float, size: float) -> float:
        """What the text may be off by at an element of this running bound and this size."""
        return SLACK * (bound * self.format.unit + 4 * self.format.unit * size) + self.floor

    def apart(self, truth: Array) -> Array:
        """How far two results of the text may lie apart, where a compiler rounds each of its branches as it likes."""
        known: Any = self.bound
        found = np.full(truth.shape, np.inf)
        for position, expected in np.ndenumerate(truth):
            if known is not None and mp.isfinite(expected):
                found[position] = 2 * self.rounding(float(known[position].err), abs(float(expected)))
        return found


def judge(truth: Array, found: Array, limits: Limits) -> Iterator[Judged]:
    """Judge every element that has a finite truth, and infinite ones where they are told."""
    unit, huge = limits.format.unit, limits.format.huge
    known: Any = limits.bound
    notes = limits.bounds.notes if limits.bounds is not None else BLINDLY
    for position, expected in np.ndenumerate(truth):
        obtained = float(found[position])
        if limits.infinite and mp.isinf(expected) and obtained != float(expected):
            yield Judged("wrong", position, expected, obtained, np.inf, 1 / unit)
        if not mp.isfinite(expected):
            continue
        size = abs(to_float(mpmath.mpf(expected)._mpf_))
        condition = float(limits.condition[position])
        bound = float(known[position].err) if known is not None else None
        doubted = notes.doubts > 0
        overflows = bound == np.inf and not doubted
        excused = overflows or doubted
        scale = size + condition
        if not np.isfinite(obtained):
            fits = size >= huge * (1 - 2 * unit) and obtained == np.copysign(np.inf, float(mp.sign(expected)))
            if not fits:
                verdict = "loss" if excused else "wrong"
                yield Judged(verdict, position, expected, obtained, np.inf, 1 / unit, overflows)
            continue
        error = abs(to_float((mpmath.mpf(obtained) - expected)._mpf_))
        floor = limits.floor
        budget = (ROUNDINGS + np.sqrt(limits.terms) + notes.floor) * unit * scale + floor
        limit = BLIND * max(budget, unit * limits.magnitude) if bound is None else limits.rounding(bound, size)
        ulps = error / scale / (2 * unit) if error > floor and np.isfinite(scale) and scale else 0.0
        verdict = "fine"
        if error > limit and not excused:
            verdict = "wrong"
        elif error > budget and np.isfinite(budget):
            verdict = "loss"
        bits = float(np.log2(min(max(ulps, 1.0), 1 / unit)))
        lost = verdict == "loss"
        yield Judged(verdict, position, expected, obtained, ulps, bits, lost and overflows, lost and error > limit)
