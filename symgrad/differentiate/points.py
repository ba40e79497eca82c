"""Numbers for all that an expression may read, at which expressions are compared."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from ..evaluate import evaluate
from ..expr import Expr, Ref, indices
from ..ir import Dtype, Function, Interval
from ..later import mp, mpmath
from ..ops.row import LARGE

ZEROS = 4  # at one of so many points about half of the numbers are 0
STEPS = 40  # towards a point of an equality
SAME = 100  # bits that two values share that are equal

Slopes = Callable[[Expr], list[tuple[Ref, Expr]]]  # of an expression, by what it reads


def same(a: Any, b: Any) -> bool:
    """Whether two numbers are equal but for rounding."""
    return bool(abs(a - b) <= mpmath.ldexp(max(abs(a), abs(b), 1), -SAME))


class Point:
    """Numbers for all that an expression may read, drawn as they are asked for."""

    def __init__(self, seed: int, function: Function) -> None:
        self.rng = random.Random(seed)
        self.seed, self.function = seed, function
        self.numbers: dict[tuple[str, tuple[int, ...]], Any] = {}
        self.places: dict[str, int] = {}

    def value(self, node: Expr) -> Any:
        """NaN where it has none."""
        for i in indices(node):
            self.places.setdefault(i.name, 3 + 5 * len(self.places))
        try:
            return evaluate(node, self.places, self._element)
        except (ZeroDivisionError, ValueError, OverflowError):
            return mp.nan

    def _element(self, name: str, subscripts: tuple[int, ...]) -> Any:
        key = name, subscripts
        if key not in self.numbers:
            tensor = self.function.table.get(name)
            options = {o.name: o.default for o in self.function.options}
            if tensor is not None and tensor.dtype == Dtype.REAL:
                some = self.rng.randrange(16, 256)
                sign = self.rng.choice((1, -1)) if self.seed % 3 else 1
                drawn = mpmath.mpf(0 if not self.seed % ZEROS and some % 2 else sign * some) / 64
                self.numbers[key] = drawn if tensor.interval.holds(drawn) else _inside(tensor.interval, some)
            else:
                some = self.rng.randrange(2, 40)
                self.numbers[key] = mpmath.mpf(some) / 16 if isinstance(options.get(name), float) else some
        return self.numbers[key]

    def moved_to(self, zeros: Sequence[Expr], slopes: Slopes) -> bool:
        """Move the numbers until all of `zeros` are 0; whether that is found."""
        return all(self._alone(d, slopes(d), zeros[:k]) for k, d in enumerate(zeros))

    def _alone(self, d: Expr, slopes: Sequence[tuple[Ref, Expr]], before: Sequence[Expr]) -> bool:
        """By one number in which it is linear; else by all, down the slope: of a sum of squares to its root. What was 0
        `before` is so then."""
        value, zeros = self.value(d), (d, *before)
        for r, slope in slopes:
            key = self._key(r)
            step = self.value(slope)
            if key in self.numbers and step and mp.isfinite(step) and mp.mag(value / step) <= LARGE:
                own = self.numbers[key]
                self.numbers[key] = own - value / step
                if not any(map(self.value, zeros)):
                    return True
                self.numbers[key] = own
        for _ in range(STEPS):
            value, steps = self.value(d), [(self._key(r), self.value(slope)) for r, slope in slopes]
            length = sum((s * s for _, s in steps), mpmath.mpf(0))
            if not value or not length or not mp.isfinite(length):
                break
            for order in (2, 1):  # of the zero
                moved = {k: mp.nint((self._element(*k) - order * value * s / length) * 2**40) / 2**40 for k, s in steps}
                if any(mp.mag(n) > LARGE for n in moved.values()):  # it runs away from where there is no zero
                    return False
                own, self.numbers = self.numbers, {**self.numbers, **moved}
                if order == 1 or self.value(d) == 0:
                    break
                self.numbers = own
        return not any(map(self.value, zeros))

    def _key(self, r: Ref) -> tuple[str, tuple[int, ...]]:
        return r.name, tuple(int(self.value(s)) for s in r.subscripts)


def _inside(interval: Interval, some: int) -> Any:
    """A number of an interval, for a number between 0 and 256."""
    ends = interval.low, interval.high
    low, high = (None if c is None else mpmath.mpf(c.value.numerator) / c.value.denominator for c in ends)
    if low is not None and high is not None:
        return low + (high - low) * some / 256
    return high - mpmath.mpf(some) / 64 if low is None else low + mpmath.mpf(some) / 64
