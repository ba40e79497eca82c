"""The order of terms and factors: differences of inputs first, and products that stay in the range of doubles,
a / r * b for a*b / r.

A product is computed from left to right. Where what stands between is huge, tiny or 0 although the whole is not, the
factor or divisor is moved whose move saves the most, until no move does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..expr import (
    ONE,
    Apply,
    Const,
    Expr,
    Ref,
    base_of,
    factors,
    fraction,
    is_exact,
    operator,
    pending,
    product,
    signed_total,
    terms_of,
    transformer,
    value_of,
    without_sign,
)
from ..records import dataclass

Sides = tuple[frozenset[Expr], frozenset[Expr]]
MANY = 10  # factors and divisors; longer products stay as they are
LEAST = 0.1  # what a move must save
ROUNDS = 6


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """Multiply by, or divide by; and what that is at each point."""

    factor: Expr
    below: bool
    values: Any


def unrolled(side: Sequence[Expr]) -> list[Expr]:
    """Squares and cubes as their factors."""
    found: list[Expr] = []
    for f in side:
        base, exponent = base_of(f)
        k = value_of(exponent) if is_exact(exponent) else 0
        found += [base] * int(k) if k in (2, 3) else [f]
    return found


def in_front(form: Expr, moderate: frozenset[str]) -> Expr:
    """A product with the factors that are `moderate` first: no order of the others depends on them."""
    bare, negative = without_sign(form)
    head, steps = bare, list[tuple[Expr, bool]]()
    while isinstance(head, Apply) and head.op in ("mul", "div"):
        steps.append((head.args[1], head.op == "div"))
        head = head.args[0]
    first = [f for f, below in reversed(steps) if not below and _is_moderate(f, moderate)]
    if not first or _is_moderate(head, moderate):
        return form
    rest = [(f, below) for f, below in reversed(steps) if f not in first]
    found = product(first) if head is ONE else product([head, *first] if isinstance(head, Const) else [*first, head])
    for f, below in rest:
        found = found / f if below else found * f
    return -found if negative else found


def reordered(
    form: Expr, at_points: Callable[[Expr], Any], cost: Callable[[Any], float], moderate: frozenset[str]
) -> Expr | None:
    """`form`, a product, in an order that costs less; None if there is none.

    at_points  what doubles make of a formula at the points of a sample
    cost       what is lost by a result
    moderate   the names of numbers that are neither huge nor tiny: they stand first
    """
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
    if len(steps) > MANY or len(steps) < 2 or not any(s.below for s in steps):
        return None
    head = fraction(first, numbers)
    start = at_points(head)

    def lost(order: Sequence[Step]) -> float:
        value = start
        for s in order:
            value = value / s.values if s.below else value * s.values
        return cost(-value if negative else value)

    now = lost(steps)
    least, order = _climbed(steps, lost)
    if least > now - LEAST:
        return None
    found = head
    for s in order:
        found = found / s.factor if s.below else found * s.factor
    return -found if negative else found


def _climbed(steps: list[Step], lost: Callable[[Sequence[Step]], float]) -> tuple[float, list[Step]]:
    least = lost(steps)
    for _ in range(ROUNDS):
        tried = ((lost(order), order) for order in _moves(steps))
        best, order = min(tried, key=lambda pair: pair[0], default=(least, steps))
        if best > least - LEAST:
            break
        least, steps = best, order
    return least, steps


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


def differences_first(given: Callable[[Expr], bool]) -> Callable[[Expr], Expr]:
    """Writes u + x - y as x - y + u, and x - u - (y - u) as x - y, for what is `given`: the difference of near numbers
    is exact, of u + x and y it is not."""

    def rewrite(node: Expr) -> Expr:
        if operator(node) not in ("add", "sub") or not all(sided(node)):
            return node
        terms = terms_of(node)
        more, less = ([t for t, sign in terms if given(t) and sign == s] for s in (1, -1))
        if len(terms) < 3 or len(more) != 1 or len(less) != 1:
            return node
        rest: list[tuple[Expr, int]] = []
        for t, sign in terms:
            if (t, -sign) in rest:  # what is added and taken away
                rest.remove((t, -sign))
            elif t not in (more[0], less[0]):
                rest.append((t, sign))
        return signed_total([(more[0] - less[0], 1), *rest])

    sided = sided_by("add", "sub", given)
    return transformer(rewrite)


def sided_by(more: str, less: str, wanted: Callable[[Expr], bool]) -> Callable[[Expr], Sides]:
    """What gives the wanted terms of a sum, or factors of a product, on either side: of those that share parts, each
    part is looked at once."""
    known: dict[Expr, Sides] = {}

    def parts(node: Expr) -> tuple[Expr, ...]:
        op = operator(node)
        return node.args if op in (more, less) or op == "neg" and more == "add" else ()

    def sided(root: Expr) -> Sides:
        for node in pending((root,), known, parts):
            sides = [known[a] for a in parts(node)]
            if len(sides) == 2:
                (above, below), other = sides
                above_too, below_too = other[::-1] if operator(node) == less else other
                known[node] = above | above_too, below | below_too
            else:
                known[node] = sides[0][::-1] if sides else (frozenset([node] if wanted(node) else []), frozenset())
        return known[root]

    return sided
