"""Functions of a printed file that approximate one: erfcx, which C lacks, and gamma, which torch lacks; bd0; those for
vectors.

Over the reals they are something else, which many digits would tell. So the text of such a function is executed in the
arithmetic that it is printed for, every operation rounded to its format, and compared with the function whose name it
has, at points in all of its range. What calls it is then executed with that function itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from types import FunctionType
from typing import Any

import mpmath
import numpy as np
from mpmath import mp

from ..ops import OPS
from ..records import dataclass
from .rounding import Format, Number, lift, rounding
from .rounding.number import of
from .text import Fault

POINTS = 160
LITERALS = ("_literal", "symgrad literal")  # what numbers are read by, in texts of C and of Python
TURN = (5**0.5 - 1) / 2  # multiples of it, modulo 1, are spread evenly


@dataclass(frozen=True, slots=True)
class Approximated:
    """What is granted to a function.

    operator  what it computes
    ulps      how many units in the last place it may be off
    within    between which numbers, for the bits of each format: where its result is one of that format; of several
              arguments the last
    before    the arguments before that one with which it is compared
    least     smaller results may be off by as much as this one: near a zero no digit is promised
    points    how many numbers of each kind it is compared at: less where mpmath takes milliseconds for one
    """

    operator: str
    ulps: float
    within: Mapping[int, tuple[float, float]]
    before: tuple[tuple[float, ...], ...] = ((),)
    least: float = 0.0
    points: int = POINTS


APPROXIMATED: Mapping[str, Approximated] = {
    "erfcx": Approximated("erfcx", 4.0, {53: (-26.5, 1e300), 24: (-9.25, 1e37)}),
    "tgamma": Approximated("tgamma", 8.0, {53: (-170.4, 171.6), 24: (-33.6, 35.0)}),
    "expi": Approximated("expi", 5.0, {53: (-700.0, 700.0), 24: (-80.0, 85.0)}),
    "digamma": Approximated("digamma", 6.0, {53: (-20.3, 1e300), 24: (-20.3, 1e37)}, least=1.0),
    "bd0": Approximated("bd0", 8.0, {53: (1e-300, 1e300), 24: (1e-37, 1e37)}, before=((1.0,), (0.3,), (1e3,))),
    "log1pmx": Approximated("log1pmx", 8.0, {53: (-0.9999999, 1e300), 24: (-0.9999, 1e37)}),
    "vector_bell": Approximated("bell", 3.0, {53: (-26.5, 26.5), 24: (-9.25, 9.25)}),
    "vector_normal_bell": Approximated("normal_bell", 3.0, {53: (-37.5, 37.5), 24: (-13.0, 13.0)}),
    "vector_ndtr": Approximated("ndtr", 5.0, {53: (-37.0, 42.0), 24: (-12.5, 15.0)}),
    "vector_erfc": Approximated("erfc", 5.0, {53: (-30.0, 26.0), 24: (-10.0, 9.0)}),
    "vector_expm1": Approximated("expm1", 2.0, {53: (-745.0, 709.5), 24: (-100.0, 88.5)}),
    "vector_log": Approximated("log", 2.0, {53: (2.3e-308, 1e308), 24: (1.2e-38, 1e38)}),
    "vector_log1p": Approximated("log1p", 2.0, {53: (-0.9999999, 1e308), 24: (-0.9999, 1e38)}),
    "vector_exp": Approximated("exp", 2.0, {53: (-708.0, 709.5), 24: (-87.0, 88.5)}),
    "vector_sin": Approximated("sin", 2.0, {53: (-1e6, 1e6), 24: (-6e3, 6e3)}),
    "vector_cos": Approximated("cos", 2.0, {53: (-1e6, 1e6), 24: (-6e3, 6e3)}),
    "vector_tanh": Approximated("tanh", 3.0, {53: (-30.0, 1e300), 24: (-15.0, 1e37)}),
    # in double precision wherever they are called: symgrad.backends.c_special
    "hurwitz": Approximated("hurwitz", 6.0, {53: (1e-30, 1e30)}, before=((2,), (3,), (4,), (2.5,), (30,))),
    "erfinv": Approximated("erfinv", 3.0, {53: (-1.0, 1.0)}),
    "ndtri": Approximated("ndtri", 4.0, {53: (1e-300, 1.0)}),
    "bessel_j0": Approximated("bessel_j0", 4.0, {53: (-1e3, 1e6)}, least=1.0),
    "bessel_j1": Approximated("bessel_j1", 4.0, {53: (-1e3, 1e6)}, least=1.0),
    "bessel_y0": Approximated("bessel_y0", 6.0, {53: (1e-300, 1e6)}, least=1.0),
    "bessel_y1": Approximated("bessel_y1", 6.0, {53: (1e-300, 1e6)}, least=1.0),
    "bessel_k0": Approximated("bessel_k0", 12.0, {53: (1e-300, 700.0)}, points=32),
    "bessel_k1": Approximated("bessel_k1", 12.0, {53: (1e-300, 700.0)}, points=32),
    "bessel_k0e": Approximated("bessel_k0e", 12.0, {53: (1e-300, 1e300)}, points=32),
    "bessel_k1e": Approximated("bessel_k1e", 12.0, {53: (1e-300, 1e300)}, points=32),
    "gammainc": Approximated("gammainc", 20.0, {53: (1e-3, 60.0)}, before=((0.5,), (1.0,), (2.5,), (10.0,), (25.0,))),
    "gammaincc": Approximated("gammaincc", 60.0, {53: (1e-3, 60.0)}, before=((0.5,), (1.0,), (2.5,), (10.0,), (25.0,))),
    "lambertw": Approximated("lambertw", 6.0, {53: (-0.367, 1e300)}),
    "bessel_i0": Approximated("bessel_i0", 14.0, {53: (-700.0, 700.0)}),
    "bessel_i1": Approximated("bessel_i1", 14.0, {53: (-700.0, 700.0)}),
    "bessel_i0e": Approximated("bessel_i0e", 14.0, {53: (-1e3, 1e4)}),
    "bessel_i1e": Approximated("bessel_i1e", 14.0, {53: (-1e3, 1e4)}),
}

_APPROVED: set[tuple[str, Format, tuple[str, ...]]] = set()


def approved(name: str, function: FunctionType, chosen: Format, text: tuple[str, ...]) -> Callable[[Any], Number]:
    """The function that `function` claims to be, on Numbers; a Fault if it is off by more than is granted.

    text  of the function and of all that it calls: the same is not asked twice
    """
    granted = APPROXIMATED[name]
    if (name, chosen, text) not in _APPROVED:
        _compared(name, granted, function, chosen)
        _APPROVED.add((name, chosen, text))

    def value(*args: Any) -> Any:
        with mp.workprec(2 * mp.prec):  # bell(x/sqrt(2)) is normal_bell(x) only where nothing is rounded
            found = OPS[granted.operator].value(*args)
        return +found

    units = 2 * granted.ulps
    called = of(value, units)
    if not granted.least:
        return called

    def near_zeros(*args: Any) -> Number:
        found = called(*args)
        return Number(found.value, found.err + units * granted.least)

    return near_zeros


def _compared(name: str, granted: Approximated, function: FunctionType, chosen: Format) -> None:

    def literal(value: float) -> Number:
        return lift(+mpmath.mpf(value))  # in the format

    code = FunctionType(function.__code__, {**function.__globals__, **dict.fromkeys(LITERALS, literal)})
    with rounding(chosen, chosen.bits):
        for at in _arguments(granted, chosen.bits):
            said = f"{name}({', '.join(map(repr, at))})"
            try:
                found, truth = lift(code(*map(lift, at))).value, _truth(granted.operator, at, chosen.bits)
            except Fault as fault:
                raise type(fault)(f"{said} {fault}") from fault
            except Exception as error:
                raise Fault(f"{said}: {type(error).__name__}: {error}") from error
            if not mp.isfinite(truth):
                continue
            with mp.workprec(2 * chosen.bits):
                unit = mpmath.ldexp(1, int(mp.mag(max(abs(truth), granted.least) or 1)) - chosen.bits)
                off = abs(found - truth) / unit
                if not off <= granted.ulps:
                    raise Fault(
                        f"{said} is {mpmath.nstr(found, 20)}, where it should be {mpmath.nstr(truth, 20)}: "
                        f"{mpmath.nstr(off, 3)} units in the last place off, {granted.ulps:g} are granted"
                    )


@lru_cache(maxsize=4096)
def _truth(operator: str, at: tuple[float, ...], bits: int) -> Any:
    with mp.workprec(2 * bits + 16):
        return OPS[operator].value(*map(mpmath.mpf, at))


def _arguments(granted: Approximated, bits: int) -> Iterator[tuple[float, ...]]:
    """At what it is compared."""
    count = granted.points // len(granted.before)
    for before in granted.before:
        for x in points(*granted.within[bits], bits, count):
            yield *before, x


def points(low: float, high: float, bits: int, count: int = POINTS) -> Iterator[float]:
    """Numbers of a format: the ends, 0, evenly and by powers, with all bits in use."""
    short = np.float64 if bits == 53 else np.float32
    found = [low, high, 0.0]
    for k in range(1, count + 1):
        part = k * TURN % 1
        found += [low * part, 10 * part, high**part, 10.0 ** (-16 * part), -(10.0 ** (-16 * part))]
        found += [1 + 10.0 ** (-8 * part), 1 - 10.0 ** (-8 * part)]
    yield from (float(short(x)) for x in found if low <= x <= high)
