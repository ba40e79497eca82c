"""The order of a product's factors and divisors in which it stays in the range of doubles: a / r * b for a*b / r.

A product is computed from left to right. Where what stands between is huge, tiny or 0 although the whole is not, the
factor or divisor is moved whose move saves the most bits, at points drawn before, until no move saves any. Where no
order does, the larger of two factors is divided first: where(abs(a) > abs(b), a / r * b, b / r * a).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ..expr import ONE, Const, Expr, Ref, apply, base_of, factors, fraction, is_exact, select, value_of, without_sign
from ..numerics.floating import BITS, NOTHING, in_doubles
from ..records import dataclass, replace

MANY = 10  # factors and divisors; longer products stay as they are
GOOD = 0.6  # bits, on average, up to which an order is good enough
GAIN = 0.3  # bits that a choice between two orders must save
LEAST = 0.02  # bits that a move must save, on average
ROUNDS = 6


@dataclass(frozen=True, slots=True)
class Step:
    """Multiply by, or divide by; and what that is at each point."""

    factor: Expr
    below: bool
    values: tuple[float, ...]


def unrolled(side: Sequence[Expr]) -> list[Expr]:
    """Squares and cubes as their factors."""
    found: list[Expr] = []
    for f in side:
        base, exponent = base_of(f)
        k = value_of(exponent) if is_exact(exponent) else 0
        found += [base] * int(k) if k in (2, 3) else [f]
    return found


def reordered(
    form: Expr,
    truths: Sequence[tuple[Mapping[Ref, Any], Any]],
    moderate: frozenset[str],
    known: dict[Expr, tuple[float, ...]],
) -> Expr | None:
    """`form` in the order that loses the fewest bits at the points; None where it is no product, or as good as it is.

    moderate   the names of numbers that are neither huge nor tiny: they stand first
    known  what factors are at the points
    """

    def at_points(f: Expr) -> tuple[float, ...]:
        if f not in known:
            known[f] = tuple(in_doubles(f, at) for at, _ in truths)
        return known[f]

    form, negative = without_sign(form)
    above, below = map(unrolled, factors(form))
    first: list[Expr] = [f for f in above if isinstance(f, Const)]
    first += [f for f in above if _is_moderate(f, moderate)]
    numbers = [f for f in below if isinstance(f, Const)]
    steps = [
        Step(f, under, at_points(f))
        for side, under in ((above, False), (below, True))
        for f in side
        if f not in first and f not in numbers
    ]
    if len(steps) > MANY or len(steps) < 3 or not any(s.below for s in steps):
        return None
    wanted = [float(truth) for _, truth in truths]
    head = fraction([-ONE if negative else ONE, *first], numbers)
    start = at_points(head)

    def lost(order: Sequence[Step]) -> float:
        return sum(_lost(*pair) for pair in zip(_computed(start, order), wanted, strict=True)) / len(wanted)

    now = lost(steps)
    least, steps = _climbed(steps, lost)
    if least >= GOOD:
        tried = [_climbed([either, *rest], lost) for either, rest in _by_size(steps)]
        other, order = min(tried, key=lambda pair: pair[0], default=(least, steps))
        if other < least - GAIN:
            least, steps = other, order
    if least > now - LEAST:
        return None
    found = head
    for s in steps:
        found = found / s.factor if s.below else found * s.factor
    return found


def _climbed(steps: list[Step], lost: Callable[[Sequence[Step]], float]) -> tuple[float, list[Step]]:
    least = lost(steps)
    for _ in range(ROUNDS):
        tried = ((lost(order), order) for order in _moves(steps))
        best, order = min(tried, key=lambda pair: pair[0], default=(least, steps))
        if best > least - LEAST:
            break
        least, steps = best, order
    return least, steps


def _by_size(steps: Sequence[Step]) -> Iterator[tuple[Step, list[Step]]]:
    """x / d * y as where(abs(x) > abs(y), x / d * y, y / d * x), and the steps without these three."""
    free = [s for s in steps if not s.below and isinstance(s.factor, Ref)]
    for x, y in itertools.combinations(free, 2):
        for d in (s for s in steps if s.below and x is not y):
            larger = apply("gt", apply("abs", x.factor), apply("abs", y.factor))
            either = select(larger, x.factor / d.factor * y.factor, y.factor / d.factor * x.factor)
            pairs = [sorted(pair, key=abs) for pair in zip(x.values, y.values, strict=True)]
            values = tuple(_computed([big for _, big in pairs], (d, replace(x, values=tuple(s for s, _ in pairs)))))
            yield Step(either, False, values), [s for s in steps if s not in (x, y, d)]


def _is_moderate(f: Expr, moderate: frozenset[str]) -> bool:
    bare, _ = without_sign(f)
    return isinstance(bare, Ref) and bare.name in moderate


def _moves(steps: Sequence[Step]) -> Iterator[list[Step]]:
    """With each step at each other place."""
    for k, step in enumerate(steps):
        rest = [*steps[:k], *steps[k + 1 :]]
        for place in range(len(steps)):
            if place != k:
                yield [*rest[:place], step, *rest[place:]]


def _computed(start: Sequence[float], steps: Sequence[Step]) -> Iterator[float]:
    for k, value in enumerate(start):
        for s in steps:
            v = s.values[k]
            if not s.below:
                value *= v
            elif v:
                value /= v
            else:
                value = math.nan
        yield value


def _lost(found: float, truth: float) -> float:
    if found == truth:
        return 0.0
    if not math.isfinite(found) or not math.isfinite(truth):
        return NOTHING
    off, place = abs(found - truth), max(math.frexp(truth)[1], -1021) - BITS
    mantissa, exponent = math.frexp(off)
    far = exponent - place
    return NOTHING if far > NOTHING else math.log2(1 + math.ldexp(mantissa, far))
