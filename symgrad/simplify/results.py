"""Gradients with a `where`, spoken in a result that asks the same: of the root x of a quadratic, -x**2/s and -x/s.

Where forward chooses between two forms of one value, both sides of the gradient are the same function of that value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..expr import Apply, Expr, Ref, factors, product, size
from .denominator import in_lowest_terms
from .reuse import operator

POWERS = (1, 2)


def by_result(body: Expr, results: Iterable[tuple[Ref, Expr]]) -> Iterator[Expr]:
    """`body` in terms of the results, which are values with the formulas for them. x**2/s is x / s * x, which leaves
    the range where the whole does, and only there."""
    if not isinstance(body, Apply) or body.op != "select":
        return
    for value, formula in results:
        if isinstance(formula, Apply) and formula.op == "select" and formula.args[0].key is body.args[0].key:
            for k in POWERS:
                sides = [in_lowest_terms(a / b**k) for a, b in zip(body.args[1:], formula.args[1:], strict=True)]
                rest = sides[0]
                if rest is not None and sides[1] is not None and rest.key is sides[1].key and size(rest) < size(body):
                    negative = operator(rest) == "neg"
                    above, below = factors(rest.args[0] if isinstance(rest, Apply) and negative else rest)
                    found = product([*above, value]) / product(below) * product([value] * (k - 1))
                    yield -found if negative else found
