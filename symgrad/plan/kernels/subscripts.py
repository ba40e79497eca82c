"""Subscripts with one number: j - 1 + 1 is j."""

from __future__ import annotations

from ...expr import Expr, Ref, apply, const, ref, signed_total, terms_of
from ...expr.sizes import as_integer


def _apart(s: Expr) -> tuple[list[tuple[Expr, int]], int]:
    """The terms of a sum but for numbers, and the sum of these."""
    terms = [(term, sign, as_integer(term)) for term, sign in terms_of(s)]
    rest = [(term, sign) for term, sign, number in terms if number is None]
    return rest, sum(sign * number for _, sign, number in terms if number is not None)


def short(s: Expr) -> Expr:
    """A sum with one number."""
    rest, number = _apart(s)
    if not rest or as_integer(s) is not None:
        return const(as_integer(s) or 0)
    found = signed_total(rest)
    return found if not number else apply("add" if number > 0 else "sub", found, const(abs(number)))


def shortened(n: Expr) -> Expr:
    """An element with short subscripts."""
    return ref(n.name, *map(short, n.subscripts)) if isinstance(n, Ref) else n


def at_least_0(s: Expr) -> Expr:
    """The condition that it is not negative."""
    rest, number = _apart(s)
    return apply("ge", signed_total(rest), const(-number))
