"""Gradients with a `where`, spoken in a result that asks the same: of the root x of a quadratic, -x**2/s and -x/s.

Where forward chooses between two forms of one value, both sides of the gradient are the same function of that value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..expr import (
    ZERO,
    Apply,
    Expr,
    Ref,
    branch,
    factors,
    fraction,
    operator,
    postorder,
    product,
    refs,
    size,
    without_sign,
)
from ..precision.denominator import by_roots, in_lowest_terms
from ..precision.orders import unrolled

POWERS = (1, 2)


def by_result(body: Expr, results: Iterable[tuple[Ref, Expr]]) -> Iterator[Expr]:
    """`body` in terms of the results, which are values with the formulas for them. x**2/s is x / s * x, which leaves
    the range where the whole does, and only there. Nothing is divided by that was not."""
    asked = {n.args[0].key for n in postorder(body) if operator(n) == "select"}
    for value, formula in results:
        if isinstance(formula, Apply) and formula.op == "select" and formula.args[0].key in asked:
            sides = [branch(body, formula.args[0], holds) for holds in (True, False)]
            ways = [[side, *by_roots(side)] for side in sides]
            for k in POWERS if ZERO not in formula.args[1:] else ():
                first, second = (
                    {q.key: q for a in sides if (q := in_lowest_terms(a / b**k)) is not None}
                    for sides, b in zip(ways, formula.args[1:], strict=True)
                )
                for rest in (first[key] for key in first if key in second and size(first[key]) < size(body)):
                    if _divisors(rest) <= _divisors(body) and {*refs(rest)} <= {*refs(body)}:
                        rest, negative = without_sign(rest)
                        above, below = factors(rest)
                        found = fraction([*above, value], below) * product([value] * (k - 1))
                        yield -found if negative else found


def _divisors(body: Expr) -> set[Expr]:
    """What is divided by, factor by factor."""
    quotients = (n for n in postorder(body) if operator(n) == "div")
    return {f.key for q in quotients for f in unrolled(factors(q.args[1])[0])}
