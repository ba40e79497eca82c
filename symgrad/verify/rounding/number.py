"""A number in mpmath that knows how wrong floating-point arithmetic could have made it.

`Number.value` is what the text computes over the reals (at mpmath's precision), and `Number.err` bounds, to first
order, how far the same operations in floating point may be from it, in units of u, the unit roundoff. So one
execution gives the exact value of a text and a bound of its rounding error.

For z = x op y, with e the bounds and |z| r the rounding of the operation itself (r = 1 for + - * / and sqrt):

    e_z = |dz/dx| e_x + |dz/dy| e_y + r |z|,   and r = 0 where z is exact: x and y are, and z fits the format

The bound is infinite where the format overflows, and at least the smallest normal number where it underflows (a
subnormal result is off by at most half the last place: u times the smallest normal number). It is the same number for
every format but for these two, so float32 and float64 share the rules.
"""

from __future__ import annotations

import operator
import struct
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import mpmath
import numpy as np
from mpmath import mp
from mpmath.libmp import to_float

from ...ops import OPS
from .format import INF, REACH, SPREADS, Notes, Spread, guarded, now, spread

LIBRARY = 8.0  # libm and NumPy stay within 4 units in the last place: 8 u
REMEMBERED = 4096  # values of one function: more than one execution of a text asks for at the sizes of a check
Binary = Callable[[Any, Any], Any]


def _operator(compute: Callable[[Number, Number], Any]) -> tuple[Binary, Binary]:
    """The method of an operator, and of the same with its operands the other way round."""

    def method(self: Number, other: Any) -> Any:
        if type(other) is not Number:
            if isinstance(other, np.ndarray):
                return NotImplemented
            other = lift(other)
        return compute(self, other)

    return method, lambda self, other: compute(lift(other), self)


def _sum(a: Number, b: Number) -> Number:
    value = a.value + b.value
    if a.size == INF and not a.err or b.size == INF and not b.err:
        return Number(value)
    return rounded(value, a.err + b.err or _lost(value, a.value, b.value), 1.0)


def _difference(a: Number, b: Number) -> Number:
    value = a.value - b.value
    if a.size == INF and not a.err or b.size == INF and not b.err:
        return Number(value)
    return rounded(value, a.err + b.err or _lost(value, a.value, -b.value), 1.0)


def product(a: Number, b: Number) -> Number:
    """a b; an exact factor takes part in no error, even where the other one is infinite."""
    err = a.size * b.err if b.err else 0.0
    if a.err:
        err += (b.size + b.err * now.unit) * a.err
    return rounded(a.value * b.value, err, 1.0)


def _quotient(a: Number, b: Number) -> Number:
    if b.value == 0:
        return Number(mp.nan if a.value == 0 else mp.inf * mp.sign(a.value), INF if b.err else 0.0)
    value, whole = a.value / b.value, b.value._mpf_[1] == 1  # a power of 2 has an exact reciprocal
    rounding = 2.0 if now.format.reciprocals and not whole else 1.0
    found = 0.0
    if a.err or b.err:
        least = b.size - b.err * now.unit
        if not least > 0.0:
            return Number(value, INF)
        own = abs(to_float(value._mpf_)) * b.err if b.err else 0.0
        found = (a.err + own) / least
    result = rounded(value, found, rounding)
    if now.format.reciprocals:
        result.below = getattr(a, "below", 1.0) * b.size
        if not now.tiny <= result.below <= 1 / now.tiny:
            result.err = INF
    return result


def _comparison(holds: Callable[[Any, Any], bool]) -> Binary:
    """The method of a comparison; one that rounding may decide the other way is noted."""

    def method(a: Number, b: Number) -> Any:
        err = a.err + b.err
        if err and a is not b and abs(a.value - b.value) <= margin(err):
            now.notes.doubts += 1
        return np.bool_(holds(a.value, b.value))

    return _operator(method)[0]


class Number:
    """A value and the bound `err` of its rounding error; `size` is the value's magnitude as a float, `below`, of a
    quotient, that of what it has been divided by."""

    __slots__ = ("below", "err", "size", "value")
    dtype = np.dtype(np.float64)  # as an array of them says
    value: Any
    err: float
    size: float
    below: float

    def __init__(self, value: Any, err: float = 0.0) -> None:
        self.value = value
        self.err = err
        self.size = abs(to_float(value._mpf_))

    __add__, __radd__ = _operator(_sum)
    __sub__, __rsub__ = _operator(_difference)
    __mul__, __rmul__ = _operator(product)
    __truediv__, __rtruediv__ = _operator(_quotient)
    __lt__, __le__ = _comparison(operator.lt), _comparison(operator.le)
    __gt__, __ge__ = _comparison(operator.gt), _comparison(operator.ge)
    __eq__, __ne__ = _comparison(operator.eq), _comparison(operator.ne)

    def __floordiv__(self, other: Any) -> Any:
        return _floor(self / lift(other))

    def __mod__(self, other: Any) -> Any:
        divisor = lift(other)
        return self - divisor * (self // divisor)

    def __rfloordiv__(self, other: Any) -> Any:
        return lift(other) // self

    def __rmod__(self, other: Any) -> Any:
        return lift(other) % self

    def __pow__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else power(self, other)

    def __rpow__(self, other: Any) -> Any:
        return power(other, self)

    def __neg__(self) -> Number:
        return Number(-self.value, self.err)

    def __pos__(self) -> Number:
        return self

    def __abs__(self) -> Number:
        return Number(abs(self.value), self.err)

    __hash__ = None  # type: ignore[assignment]  # a mutable meaning: equal values, different errors

    def __bool__(self) -> bool:
        return bool(self.value != 0)

    def __int__(self) -> int:
        return int(self.value)

    def __float__(self) -> float:
        return float(to_float(self.value._mpf_))

    def __repr__(self) -> str:
        return f"{mpmath.nstr(self.value, 17)}±{self.err:.2g}u"


def margin(err: float) -> Any:
    """`err` units, also where a float has no number so small."""
    found = err * now.unit
    return found if found > 1e-290 else mpmath.mpf(err) * now.unit


def lift(value: Any) -> Number:
    """`value` as a Number: an int, a bool, an mpf; a float, exactly, if it does not count as 0; an array of rank 0."""
    if type(value) is Number:
        return value
    if isinstance(value, (bool, np.bool_)):
        return Number(mpmath.mpf(int(value)))
    if isinstance(value, (int, np.integer)):
        return Number(mpmath.mpf(int(value)))
    if isinstance(value, (float, np.floating)):
        flushed = now.format.flushes and 0 < abs(float(value)) < now.tiny
        return Number(mpmath.mpf(float(value)), now.lost if flushed else 0.0)
    if isinstance(value, mpmath.mpf):
        return Number(value)
    if isinstance(value, np.ndarray) and not value.ndim:
        return lift(value.item())
    raise TypeError(f"{value!r} is no number")


def literal(value: float) -> Number:
    """A decimal of the text: the nearest double, exactly. What float32 cannot hold is rounded there."""
    return _literal(value, now.bits, mp.prec)


@lru_cache(maxsize=REMEMBERED)
def _literal(value: float, bits: int, precision: int) -> Number:
    number = Number(mpmath.mpf(value))
    try:
        fits = struct.unpack("f", struct.pack("f", value))[0] == value
    except OverflowError:
        fits = False
    if not fits and bits < 53:
        number.err = number.size
    return number


def remembered(function: Callable[..., Number]) -> Callable[..., Number]:
    """`function`, computed once at the same Numbers: a text is executed for each subset of the gradients, from the same
    saved values. What it notes is noted every time."""
    known: dict[Any, tuple[Number, Notes]] = {}

    def recalled(*args: Any) -> Number:
        numbers = [lift(a) for a in args]
        key = mp.prec, now.format, *((n.value._mpf_, n.err) for n in numbers)
        found = known.get(key)
        if found is None:
            before, now.notes = now.notes, Notes()
            try:
                found = function(*numbers), now.notes
            finally:
                now.notes = before
            if len(known) == REMEMBERED:
                known.clear()
            known[key] = found
        now.notes.take(found[1])
        return found[0]

    return recalled


def _lost(value: Any, a: Any, b: Any) -> float:
    """An error too small to matter, if mpmath itself rounded `value` = a + b to a short number; 0 if it is exact."""
    return 0.0 if value._mpf_[3] > now.bits or value - a == b or value != value else now.tiny


def rounded(value: Any, err: float, own: float) -> Number:
    """The result of one operation: `err` came with the operands, `own` is the rounding of the operation in u.

    A short result of exact operands is exact; that of a library function (`own` above 1) never is.
    """
    raw = value._mpf_
    size = abs(to_float(raw))
    if err or raw[3] > now.bits or own > 1.0:
        err += own * size
    if not size + err * now.unit <= now.huge:  # floating point may leave the range, or there is no number
        err = err if size != size and err == err else INF
        if raw[2] + raw[3] > REACH:
            value, err, now.notes.beyond = mp.sign(value) * mp.inf, INF, True
    elif size < now.tiny and raw[1]:
        err += now.lost * max(1.0, own)
    result = Number.__new__(Number)
    result.value, result.err, result.size = value, err, size
    return result


def of(function: Callable[..., Any], own: float = LIBRARY, name: str = "") -> Callable[..., Number]:
    """The function on Numbers; `own` is its rounding in units of u."""
    compute = guarded(function)
    spread_of: Spread = SPREADS.get(name, spread)

    def applied(*numbers: Number) -> Number:
        values = tuple(n.value for n in numbers)
        err = 0.0
        for which, n in enumerate(numbers):
            if n.err:
                err += spread_of(compute, values, which, n.err)
        if own > LIBRARY:
            now.notes.floor = max(now.notes.floor, own)
        return rounded(compute(*values), err, own)

    return remembered(applied)


def _pow(x: Any, n: Any) -> Any:
    if x == 0 and n < 0:
        return mp.inf
    return OPS["pow"].value(x, n)


_power = guarded(_pow)
_floor = of(mp.floor, 0.0)
sqrt = of(mp.sqrt, 1.0)


def power(x: Any, n: Any) -> Number:
    """x**n; a square is one multiplication in every language that is printed."""
    base, exponent = lift(x), lift(n)
    if not exponent.err:
        if exponent.value == 2:
            return product(base, base)
        if exponent.value == 1:
            return base
        if exponent.value == 0.5:
            return sqrt(base)
    values = (base.value, exponent.value)
    err = spread(_power, values, 0, base.err) if base.err else 0.0
    if base.err and exponent.value < 0 and base.size <= base.err * now.unit:
        err = INF  # a pole
    err += spread(_power, values, 1, exponent.err) if exponent.err else 0.0
    return rounded(_power(*values), err, LIBRARY)
