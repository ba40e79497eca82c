"""What intervals of the inputs tell of an expression: the interval of its values, wherever it has one.

Over the reals, and in one direction: the interval may be larger than the values are. Of exp(x) it says that it is
positive, though floating point has 0 far out.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING

from ..expr import Apply, Const, Expr, Index, Ref, const, folded
from ..later import mp
from ..ops import OPS
from ..ops.row import EVERYWHERE
from .interval import REALS, Interval

if TYPE_CHECKING:
    from .data import Function

ZERO, ONE = const(0), const(1)
NOT_NEGATIVE, POSITIVE = Interval.of("ge", ZERO), Interval.of("gt", ZERO)
CIRCLE = Interval(const(3), const(4), True, True)  # where pi is


class Signs:
    """The intervals of the expressions of one function; of some where others are `given`."""

    def __init__(self, function: Function, given: Mapping[Expr, Interval] = MappingProxyType({})) -> None:
        self._function = function
        self._known: dict[Expr, Interval] = {}
        self._locals: dict[str, Interval] = {}
        self._known = {e: self(e).meet(interval) for e, interval in given.items()}

    def __call__(self, node: Expr) -> Interval:
        """An interval that has every value of an expression."""
        return folded(node, self._known, self._rule)

    def decided(self, op: str, a: Expr, b: Expr) -> bool | None:
        """Whether a comparison holds for all values of both sides, or for none; None where that is not known."""
        first, second = self(a), self(b)
        below, above = _below(first, second), _below(second, first)  # (strictly, or equal)
        if op in ("lt", "ge"):
            known = True if below[0] else False if above[1] else None
            return known if op == "lt" or known is None else not known
        if op in ("gt", "le"):
            known = True if above[0] else False if below[1] else None
            return known if op == "gt" or known is None else not known
        return None if not (below[0] or above[0]) else op == "ne"

    def _rule(self, node: Expr) -> Interval:
        return self._tensor(node.name) if isinstance(node, Ref) else _of_parts(node, self._known)

    def _tensor(self, name: str) -> Interval:
        """That of the elements of an input or a local, of a size or an option."""
        function = self._function
        if name in function.inputs:
            return function.table[name].interval
        if name not in function.table:
            return NOT_NEGATIVE if any(d.name == name for d in function.dims) else REALS
        if name not in self._locals:
            self._locals[name] = REALS  # of a recurrence nothing is told
            self._locals[name] = self._written(name)
        return self._locals[name]

    def _written(self, name: str) -> Interval:
        equation = self._function.elementwise.get(name)
        if equation is not None:
            return self(equation.body)
        writers = self._function.writers.get(name, ())
        sums = all(e.reduce in ("none", "sum") and e.matrix is None for e in writers)
        return NOT_NEGATIVE if writers and sums and all(_is_not_negative(self(e.body)) for e in writers) else REALS


def interval_where(node: Expr, given: Mapping[Expr, Interval]) -> Interval:
    """That of an expression where parts of it are in these."""
    known = dict(given)
    return folded(node, known, lambda n: _of_parts(n, known))


def _of_parts(node: Expr, known: Mapping[Expr, Interval]) -> Interval:
    match node:
        case Const():
            return Interval(node, node)
        case Index():
            return NOT_NEGATIVE
        case Apply(op=op, args=args):
            return _applied(op, args, [known[a] for a in args])
        case _:
            return REALS


def is_in(found: Interval, other: Interval) -> bool:
    """Whether every number of one interval is in another."""
    return found.meet(other) == found


def _is_not_negative(found: Interval) -> bool:
    return found.least is not None and found.least >= 0


def _is_positive(found: Interval) -> bool:
    return _is_not_negative(found) and (found.least != 0 or found.low_open)


def _below(a: Interval, b: Interval) -> tuple[bool, bool]:
    """Whether all numbers of one interval are less than all of another; whether they are less or equal."""
    if a.most is None or b.least is None:
        return False, False
    return a.most < b.least or a.most == b.least and (a.high_open or b.low_open), a.most <= b.least


def mirrored(found: Interval) -> Interval:
    """The negatives."""
    low, high = (None if end is None else const(-end) for end in (found.most, found.least))
    return Interval(low, high, found.high_open, found.low_open)


def _applied(op: str, args: tuple[Expr, ...], given: list[Interval]) -> Interval:
    """The interval of an operator, of those of its arguments."""
    match op:
        case "neg":
            return mirrored(given[0])
        case "add":
            return _sum(*given)
        case "sub":
            return _sum(given[0], mirrored(given[1]))
        case "mul":
            return _square(given[0]) if args[0] is args[1] else _product(*given)
        case "div":
            return _product(given[0], _reciprocal(given[1]))
        case "pow":
            return _power(given[0], args[1])
        case "sqrt":
            return POSITIVE if _is_positive(given[0]) else NOT_NEGATIVE
        case "abs":
            return _absolute(given[0])
        case "tgamma":
            return POSITIVE if _is_positive(given[0]) else REALS
        case "hypot":
            return POSITIVE if any(_is_positive(_absolute(i)) for i in given) else NOT_NEGATIVE
        case "log":
            return _logarithm(given[0])
        case "select":
            return given[1].hull(given[2])
        case "maximum" | "minimum":
            turned = [mirrored(i) for i in given] if op == "minimum" else given
            found = _largest(*turned)
            return mirrored(found) if op == "minimum" else found
        case "pi":
            return CIRCLE
    row = OPS[op]
    strictly = bool(row.monotone) and not row.kinks and row.derivative is not None
    if strictly and row.nonnegative and row.domain == EVERYWHERE:
        return POSITIVE  # it nears 0, and never comes to it
    if row.result == "bool":
        return Interval(ZERO, ONE)
    if strictly and row.monotone == 1 and row.value(mp.mpf(0)) == 0:
        return _sign(given[0])
    return NOT_NEGATIVE if row.nonnegative else REALS


def _sign(found: Interval) -> Interval:
    """The numbers of the same sign."""
    for sign in (POSITIVE, NOT_NEGATIVE, mirrored(POSITIVE), mirrored(NOT_NEGATIVE)):
        if is_in(found, sign):
            return sign
    return REALS


def _end(value: Fraction | None) -> Const | None:
    return None if value is None else const(value)


def _sum(a: Interval, b: Interval) -> Interval:
    low = None if a.least is None or b.least is None else a.least + b.least
    high = None if a.most is None or b.most is None else a.most + b.most
    return Interval(_end(low), _end(high), a.low_open or b.low_open, a.high_open or b.high_open)


def _product(a: Interval, b: Interval) -> Interval:
    """Where the signs of both are known."""
    if not _is_not_negative(a):
        turned = mirrored(a)
        return mirrored(_product(turned, b)) if _is_not_negative(turned) else REALS
    if not _is_not_negative(b):
        turned = mirrored(b)
        return mirrored(_product(a, turned)) if _is_not_negative(turned) else REALS
    assert a.least is not None and b.least is not None
    low = a.least * b.least
    low_open = a.low_open or b.low_open if low else _is_positive(a) and _is_positive(b)
    if a.most is None or b.most is None:
        return Interval(const(low), None, low_open)
    return Interval(const(low), const(a.most * b.most), low_open, a.high_open or b.high_open)


def _reciprocal(found: Interval) -> Interval:
    """Where the sign is known; of 0 there is none."""
    if not _is_not_negative(found):
        turned = mirrored(found)
        return mirrored(_reciprocal(turned)) if _is_not_negative(turned) else REALS
    low, high = found.least, found.most
    least = None if not high else 1 / high
    most = None if not low else 1 / low
    return Interval(const(least or 0), _end(most), found.high_open or least is None, found.low_open)


def _square(found: Interval) -> Interval:
    size = _absolute(found)
    return _product(size, size)


def _absolute(found: Interval) -> Interval:
    if _is_not_negative(found):
        return found
    turned = mirrored(found)
    if _is_not_negative(turned):
        return turned
    if found.least is None or found.most is None:
        return NOT_NEGATIVE
    high = max((-found.least, not found.low_open), (found.most, not found.high_open))
    return Interval(ZERO, const(high[0]), False, not high[1])


def _power(base: Interval, exponent: Expr) -> Interval:
    if isinstance(exponent, Const) and exponent.value == 2:
        return _square(base)
    even = isinstance(exponent, Const) and exponent.value.denominator == 1 and exponent.value.numerator % 2 == 0
    if _is_positive(base) or even and _is_positive(mirrored(base)):
        return POSITIVE
    if _is_not_negative(base) or even:
        return NOT_NEGATIVE
    return REALS


def _logarithm(found: Interval) -> Interval:
    for op in ("gt", "ge", "lt", "le"):
        if is_in(found, Interval.of(op, ONE)):
            return Interval.of(op, ZERO)
    return REALS


def _largest(a: Interval, b: Interval) -> Interval:
    """That of the larger of two numbers."""
    low = a if b.least is None or a.least is not None and (a.least, a.low_open) >= (b.least, b.low_open) else b
    if a.most is None or b.most is None:
        return Interval(low.low, None, low.low_open)
    high = a if (a.most, not a.high_open) >= (b.most, not b.high_open) else b
    return Interval(low.low, high.high, low.low_open, high.high_open)
