"""Products as lists of factors."""

from __future__ import annotations

from ...expr import ONE, Expr, factors, without_sign


def signed_factors(body: Expr) -> tuple[list[Expr], list[Expr], int]:
    """The factors above and below the line, and the sign: there is none inside of a product."""
    bare, negative = without_sign(body)
    above, below = factors(bare)
    return [f for f in above if f is not ONE], below, -1 if negative else 1


def counted(above: list[Expr], below: list[Expr], extent: Expr) -> tuple[list[Expr], list[Expr]]:
    """Times the number of points of an index that nothing mentions; a mean's divisor cancels it."""
    if any(b is extent for b in below):
        return above, [b for k, b in enumerate(below) if k != next(j for j, x in enumerate(below) if x is extent)]
    return [extent, *above], below
