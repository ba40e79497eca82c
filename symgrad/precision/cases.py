"""Two forms, of which a condition tells the better one, as one."""

from __future__ import annotations

from collections.abc import Sequence

from ..expr import Apply, Expr, apply
from .terms import expanded, negative, term_of


def joined(condition: Expr, then: Expr, otherwise: Expr) -> Expr:
    """where(c, f(a), f(b)) as f(where(c, a, b)), where that is all in which they differ; where(a > b, f(a, b), f(b, a))
    as one of the larger of the two, of the smaller, and of the size of their difference."""
    if isinstance(condition, Apply) and condition.op in ("gt", "ge"):
        found = _as_one(condition.args, then, otherwise)
        if found is not None:
            return found
    if isinstance(then, Apply) and isinstance(otherwise, Apply) and then.op == otherwise.op and then.op != "select":
        other = [k for k, (a, b) in enumerate(zip(then.args, otherwise.args, strict=True)) if a is not b]
        if len(other) == 1:
            args = list(then.args)
            args[other[0]] = joined(condition, then.args[other[0]], otherwise.args[other[0]])
            return apply(then.op, *args)
    return apply("select", condition, then, otherwise)


def _as_one(compared: Sequence[Expr], then: Expr, otherwise: Expr) -> Expr | None:
    """The two forms as one, if they differ in which of two numbers stands where, or in the sign of their difference;
    the first of the two is the larger one where `then` is used."""
    if then is otherwise:
        return then
    larger, smaller = compared
    sides = (then, otherwise)
    if sides in ((larger, smaller), (smaller, larger)):
        return apply("maximum" if then is larger else "minimum", larger, smaller)
    apart, mine, other = (expanded(term_of(e)) for e in (larger - smaller, then, otherwise))
    if other.alike is negative(mine).alike and apart.alike in (mine.alike, other.alike):
        size = apply("abs", then)
        return size if mine.alike is apart.alike else -size
    if not (isinstance(then, Apply) and isinstance(otherwise, Apply) and then.op == otherwise.op):
        return None
    args = [_as_one(compared, a, b) for a, b in zip(then.args, otherwise.args, strict=True)]
    return None if None in args else apply(then.op, *(a for a in args if a is not None))
