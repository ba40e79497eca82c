"""The format whose rounding is bounded, and how far an error in an argument moves a function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import mpmath
from mpmath import mp
from mpmath.libmp import to_float

from ...records import dataclass

INF = float("inf")
REACH = 2**14  # bits before the point of the largest number: a sine of exp(1e154) would need that many digits of pi
WORKING = 140  # bits that suffice to see a change of relative size u


@dataclass(frozen=True, slots=True)
class Format:
    """A floating-point format: bits of the significand, the smallest normal number and the largest; whether smaller
    numbers than that count as 0, whether cube roots are powers of a rounded 1/3, and whether a compiler may make a
    product by a reciprocal of a quotient, and a/(b*c) of a/b/c."""

    bits: int
    tiny: float
    huge: float
    flushes: bool = False
    powers: bool = False
    reciprocals: bool = False

    @property
    def unit(self) -> float:
        """The unit roundoff u: a correctly rounded operation is off by at most u times its result."""
        return 2.0**-self.bits

    @property
    def lost(self) -> float:
        """By how much, in units, a number below the smallest normal one may be off."""
        return self.tiny / self.unit if self.flushes else self.tiny


DOUBLE = Format(53, 2.0**-1022, 1.7976931348623157e308)
SINGLE = Format(24, 2.0**-126, 3.4028234663852886e38)


@dataclass(slots=True)
class Notes:
    """What an execution met.

    doubts  comparisons whose operands are nearer than their rounding: floating point may decide them the other way
    floor   the largest error, in units of u, that a library function is granted beyond the usual 8
    beyond  whether a number was larger than any that the check computes with
    """

    doubts: int = 0
    floor: float = 0.0
    beyond: bool = False

    def take(self, other: Notes) -> None:
        """What another execution met is met here, too."""
        self.doubts += other.doubts
        self.floor = max(self.floor, other.floor)
        self.beyond |= other.beyond


class _State:
    """The format of the moment, as mpmath has a precision of the moment."""

    __slots__ = ("bits", "format", "huge", "lost", "notes", "tiny", "unit")

    def __init__(self) -> None:
        self.enter(DOUBLE, Notes())

    def enter(self, chosen: Format, notes: Notes) -> None:
        self.format, self.notes = chosen, notes
        self.bits, self.tiny, self.huge, self.unit = chosen.bits, chosen.tiny, chosen.huge, chosen.unit
        self.lost = chosen.lost


now = _State()


@contextmanager
def rounding(chosen: Format, bits: int) -> Iterator[Notes]:
    """Bound the rounding of `chosen` in the block, and compute with `bits` bits."""
    before = now.format, now.notes
    notes = Notes()
    now.enter(chosen, notes)
    try:
        with mp.workprec(bits):
            yield notes
    finally:
        now.enter(*before)


def guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` as floating point has it: infinite at a pole, NaN outside of the reals."""

    def value(*args: Any) -> Any:
        try:
            result = function(*args)
        except (ZeroDivisionError, ValueError, OverflowError):
            return mp.nan
        return mp.nan if isinstance(result, mpmath.mpc) else mpmath.mpf(result)

    return value


def spread(function: Callable[..., Any], values: tuple[Any, ...], which: int, err: float) -> float:
    """How far an error of `err` units in one argument moves `function`, in units.

    Infinite where the error reaches the end of the domain: floating point may stand beyond it. The ends of a short
    interval tell how far a function goes in it; a long one is looked at inside too.
    """
    if err == INF or not now.unit:  # the unit of a thousand bits and more is 0: nothing is off
        return err
    with mp.workprec(max(WORKING, now.bits + WORKING - 53)):
        step = mpmath.mpf(err) * now.unit
        here = function(*values)
        most = mpmath.mpf(0)
        for part in (1,) if step <= abs(values[which]) / 1024 else (1, 0.75, 0.5, 0.25):
            for moved in (values[which] + step * part, values[which] - step * part):
                change = abs(function(*values[:which], moved, *values[which + 1 :]) - here)
                if mp.isnan(change):
                    return INF
                most = max(most, change)
        found: float = to_float((most / now.unit)._mpf_)
        return found


SHORT = 1e-3  # an error that is no part of a turn of a sine


def _wave(function: Callable[..., Any], values: tuple[Any, ...], which: int, err: float) -> float:
    """`spread` of sine and cosine: no further than the error itself, and than 2."""
    short = err == INF or err * now.unit < SHORT
    return spread(function, values, which, err) if short else min(err, 2 / now.unit)


def _tangent(function: Callable[..., Any], values: tuple[Any, ...], which: int, err: float) -> float:
    """`spread` of the tangent: infinite if a pole is near enough."""
    if err == INF or not mp.isfinite(values[0]):
        return INF
    with mp.workprec(max(WORKING, int(mp.mag(values[0] or 1)) + WORKING)):
        step = mpmath.mpf(err) * now.unit
        turns = [mp.floor((values[0] + s) / mp.pi - 0.5) for s in (step, -step)]
    return spread(function, values, which, err) if turns[0] == turns[1] else INF


Spread = Callable[[Callable[..., Any], tuple[Any, ...], int, float], float]
SPREADS: Mapping[str, Spread] = {"sin": _wave, "cos": _wave, "tan": _tangent}
