"""Quotients of exponentials that saturate, with exp(-|t|) alone: a/(a + (1 - a)*exp(-t)) and its slopes.

    exp(-t)/(a + b*exp(-t))**2 = (exp(-|t|/2)/m)**2,    m = a + b*exp(-|t|) where t >= 0, else b + a*exp(-|t|)

Nothing overflows, and what underflows does so with the whole. Where a + b is a number, such as 1, m is also that number
times exp(-|t|) less a*expm1(-|t|), or b*expm1(-|t|), which do not cancel where |t| is small and a large.

|t| is written as a choice of t and -t, which has the right slope at 0: that of one side.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..expr import (
    ONE,
    Apply,
    Expr,
    apply,
    base_of,
    factors,
    fraction,
    is_exact,
    postorder,
    product,
    refs,
    select,
    terms_of,
    total,
    value_of,
    without_sign,
)
from ..ops import OPS
from .table import without_opposites

MOST = 4  # the highest power of a quotient


def saturated(body: Expr) -> Iterator[Expr]:
    """Forms of a quotient of sums with exp(t) or exp(-t), of one t alone."""
    arguments = {without_sign(n.args[0])[0] for n in postorder(body) if isinstance(n, Apply) and n.op == "exp"}
    if len(arguments) != 1:
        return
    (t,) = arguments
    above, below = factors(body)
    raised = total_power = 0  # of exp(t), and of max(exp(t), 1)
    others: tuple[list[Expr], list[Expr]] = [], []
    sums: list[tuple[Expr, Expr]] = []
    for side, sign in ((above, 1), (below, -1)):
        for factor in side:
            base, k = _power(factor)
            if not _has_exp(base):
                others[sign < 0].append(factor)
                continue
            if isinstance(base, Apply) and base.op == "exp":
                raised += sign * k * (1 if base.args[0] is t else -1)
                continue
            parts = _linear(base, t)
            if parts is None or sign > 0 or k > MOST:
                return
            high, low, least = parts
            raised -= k * least
            total_power -= k
            sums += [(high, low)] * k
    if not sums or any(s != sums[0] for s in sums) or not refs(*sums[0]):
        return
    positive, negative = -(raised + total_power), raised  # powers of exp(-|t|) on the two sides of 0
    if positive != negative or 2 * positive != len(sums):
        return
    here = apply("ge", t, 0)
    down = select(here, -t, t)
    half = apply("exp", down / 2)
    high, low = sums[0]
    larger, other = select(here, high, low), select(here, low, high)
    both = without_opposites(high + low)
    if is_exact(both):
        m = both * apply("exp", down) - larger * apply("expm1", down)
    else:
        m = larger + other * apply("exp", down)
    yield _spread(others, half / m, len(sums))


def _spread(others: tuple[list[Expr], list[Expr]], ratio: Expr, count: int) -> Expr:
    """Each factor that depends on what the ratio does, times a ratio: neither overflows before their product does."""
    mine = set(refs(ratio))
    moving = [f for f in others[0] if not mine.isdisjoint(refs(f))]
    found = product(f for f in others[0] if f not in moving)
    for n in range(max(count, len(moving))):
        part = ratio if n < count else ONE
        found = found * (moving[n] * part if n < len(moving) else part)
    return found / product(others[1])


def _power(factor: Expr) -> tuple[Expr, int]:
    base, exponent = base_of(factor)
    k = value_of(exponent) if is_exact(exponent) else 0
    return (base, int(k)) if k > 0 and k.denominator == 1 else (factor, 1)


def _has_exp(node: Expr) -> bool:
    return any(isinstance(n, Apply) and OPS[n.op].grows == "right" for n in postorder(node))


def _linear(base: Expr, t: Expr) -> tuple[Expr, Expr, int] | None:
    """a, b and k, where `base` is (a*exp(t) + b) * exp(k*t); None if it is no such sum."""
    found: dict[int, list[Expr]] = {}
    for term, sign in terms_of(base):
        above, below = factors(term)
        k = 0
        for side, one in ((above, 1), (below, -1)):
            for f in list(side):
                if isinstance(f, Apply) and f.op == "exp":
                    side.remove(f)
                    k += one if f.args[0] is t else -one
        if any(_has_exp(f) for f in (*above, *below)):
            return None
        rest = fraction(above, below)
        found.setdefault(k, []).append(-rest if sign < 0 else rest)
    least = min(found)
    if set(found) != {least, least + 1}:
        return None
    return total(found[least + 1]), total(found[least]), least
