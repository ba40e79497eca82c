"""The interval of real numbers that an input is declared for: `for a > 0, 0 <= x <= 1`.

An `Interval` is one frozen datum of a tensor, beside its shape. It is a promise of who calls, and each stage asks this
one place what follows of it:

    declare    reads it: `for` behind the formula, `sg.Tensor["k", "> 0"]`, the assumptions of a SymPy symbol
    show       `0 <= x <= 1`, in formula text, heads and docstrings: what is shown reads back as the same interval
    simplify   `ir/signs.py` tells the sign of an expression by it: abs(x) is x, and a `where` is decided
    verify     points are drawn inside, the bounds that belong to it among them
    print      with `strict_domain`, `conditions` are asked where the function is called

Outside of the interval nothing is promised: the printed code computes what it may, as the formula does without its
domain, or refuses it (`strict_domain`). At a bound that belongs to it an input moves inwards alone: a kink there, as
that of abs(x) at 0 for x >= 0, may have the slope from inside.

It is another question than the range of a subscript (`Program.indexed`), which nobody declares: that follows from the
formula, is made of sizes, and keeps reads inside of memory. So it is tested in every call, and no interval of an input
of integers takes the place of that test.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor
from typing import Any

from ..expr import Const, Expr, apply, show
from ..records import dataclass


@dataclass(frozen=True, slots=True)
class Interval:
    """The numbers from `low` to `high`; None where there is no bound. An open bound does not belong to it."""

    low: Const | None = None
    high: Const | None = None
    low_open: bool = False
    high_open: bool = False

    @staticmethod
    def of(op: str, bound: Const) -> Interval:
        """The numbers x for which `x op bound` holds; `op` is lt, le, gt or ge."""
        if op in ("lt", "le"):
            return Interval(high=bound, high_open=op == "lt")
        return Interval(low=bound, low_open=op == "gt")

    @property
    def bounded(self) -> bool:
        """Whether it says anything."""
        return self.low is not None or self.high is not None

    @property
    def least(self) -> Fraction | None:
        """The lower bound as a number."""
        return None if self.low is None else self.low.value

    @property
    def most(self) -> Fraction | None:
        """The upper bound as a number."""
        return None if self.high is None else self.high.value

    @property
    def first(self) -> int | None:
        """The least whole number in it, if there is one."""
        low = self.least
        return None if low is None else floor(low) + 1 if self.low_open else ceil(low)

    @property
    def last(self) -> int | None:
        """The largest one."""
        high = self.most
        return None if high is None else ceil(high) - 1 if self.high_open else floor(high)

    def empty(self, whole: bool = False) -> bool:
        """Whether no number is in it; no whole one, if they are integers."""
        low, high = (self.first, self.last) if whole else (self.least, self.most)
        if low is None or high is None:
            return False
        return low > high or not whole and low == high and (self.low_open or self.high_open)

    def meet(self, other: Interval) -> Interval:
        """The numbers that are in both."""
        low, low_open = self.low, self.low_open
        if other.low is not None and (low is None or (other.low.value, other.low_open) > (low.value, low_open)):
            low, low_open = other.low, other.low_open
        high, high_open = self.high, self.high_open
        if other.high is not None and (high is None or (-other.high.value, other.high_open) > (-high.value, high_open)):
            high, high_open = other.high, other.high_open
        return Interval(low, high, low_open, high_open)

    def hull(self, other: Interval) -> Interval:
        """The smallest interval that has the numbers of both."""
        low, low_open, high, high_open = None, False, None, False
        if self.low is not None and other.low is not None:
            pairs = (self.low.value, self.low_open, self.low), (other.low.value, other.low_open, other.low)
            _, low_open, low = min(pairs, key=lambda pair: pair[:2])
        if self.high is not None and other.high is not None:
            ends = (self.high.value, not self.high_open, self.high), (other.high.value, not other.high_open, other.high)
            _, closed, high = max(ends, key=lambda pair: pair[:2])
            high_open = not closed
        return Interval(low, high, low_open, high_open)

    def holds(self, x: Any) -> Any:
        """Whether a number is in it, an int, a float or one of mpmath's, or which numbers of an array are. NaN is in
        none that says anything."""
        found: Any = True
        if self.low is not None:
            found = x > float(self.low.value) if self.low_open else x >= float(self.low.value)
        if self.high is not None:
            found = found & (x < float(self.high.value) if self.high_open else x <= float(self.high.value))
        return found

    @property
    def ends(self) -> tuple[float, ...]:
        """The bounds that belong to it."""
        low = () if self.low is None or self.low_open else (float(self.low.value),)
        high = () if self.high is None or self.high_open else (float(self.high.value),)
        return (*low, *high)

    def conditions(self, x: Expr) -> tuple[Expr, ...]:
        """What holds of `x` if it is in it: at most two comparisons with numbers, `x` on the left."""
        low = () if self.low is None else (apply("gt" if self.low_open else "ge", x, self.low),)
        high = () if self.high is None else (apply("lt" if self.high_open else "le", x, self.high),)
        return (*low, *high)

    def show(self, name: str) -> str:
        """`a > 0`, `0 <= x < 1`."""
        below = "<" if self.high_open else "<="
        if self.low is None:
            return f"{name} {below} {show(self.high)}" if self.high is not None else name
        if self.high is None:
            return f"{name} {'>' if self.low_open else '>='} {show(self.low)}"
        return f"{show(self.low)} {'<' if self.low_open else '<='} {name} {below} {show(self.high)}"


REALS = Interval()
