"""Powers beside an equality of data, in forms that have slopes there: where(a == 0, log(x), (x**a - 1)/a) has
(exp(a*log(x)) - 1)/a beside a == 0, which is filled there, and so has its limit and slopes.

A power u**v is that exponential where u is positive, which its domain tells, or what it is computed from, or the
branches in which it stands. Where nothing does, the piece is the exponential for u > 0, and for others as it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..differentiate import is_choice_by_equality
from ..expr import (
    ONE,
    ZERO,
    Const,
    Expr,
    apply,
    bound_of,
    conjunction,
    conjuncts,
    factors,
    is_exact,
    operator,
    operators,
    postorder,
    select,
    signed_total,
    substitute,
    terms_of,
    transform,
)
from ..ir import REALS, Function, Interval, Signs, evaluated
from ..ir.signs import POSITIVE, is_in
from ..records import replace


def with_powers_beside_ties(function: Function) -> Function:
    """The function whose powers beside an equality of data are exponentials, where they have no slope as powers."""

    def in_two(node: Expr) -> Expr:
        return _in_two(node) if is_choice_by_equality(node, function) else node

    def rewritten(body: Expr) -> Expr:
        if not {"div", "pow"} <= {*operators(body)}:
            return body
        chosen = {p for n in postorder(body) if is_choice_by_equality(n, function) for p in _powers(n)}
        powers = chosen.union(*map(_over_zero, postorder(body)))
        if not powers:
            return body
        under = evaluated([(body, ())], cases=1)
        sure = {p for p in powers if is_in(Signs(function, _known(*under[p]))(p.args[0]), POSITIVE)}
        body = substitute(body, {p: _exponential(*p.args) for p in sure})
        return body if chosen <= sure else transform(body, in_two, {"select"})

    return replace(function, statements=tuple(e.with_body(rewritten(e.body)) for e in function.statements))


def _in_two(node: Expr) -> Expr:
    """A choice by an equality, with the piece beside it in two: where all that it has powers of is positive, and where
    it is not."""
    done: dict[Expr, Expr] = {}
    positive: list[Expr] = []
    for p in _powers(node):
        base, exponent = (substitute(u, done) for u in p.args)
        done[p] = _exponential(base, exponent)
        positive.append(apply("gt", base, ZERO))
    if not done:
        return node
    condition, *pieces = node.args
    place = _beside(condition)[0]
    pieces[place] = select(conjunction(dict.fromkeys(positive)), substitute(pieces[place], done), pieces[place])
    return apply("select", condition, *pieces)


def _exponential(base: Expr, exponent: Expr) -> Expr:
    rest = terms_of(base)
    if (ONE, 1) in rest:
        rest.remove((ONE, 1))
        return apply("exp", exponent * apply("log1p", signed_total(rest)))
    return apply("exp", exponent * apply("log", base))


def _beside(condition: Expr) -> tuple[int, dict[Expr, Expr]]:
    """The piece of a choice beside an equality, the first or the second, and what is equal in the other one."""
    place, ties = 1, [n.args for n in conjuncts(condition) if operator(n) == "eq"]
    if not ties and operator(condition) == "ne":
        place, ties = 0, [condition.args]
    return place, {b if isinstance(a, Const) else a: a if isinstance(a, Const) else b for a, b in ties}


def _powers(node: Expr) -> Sequence[Expr]:
    """The powers in a piece beside an equality that are 1 at it, in what is divided by 0 there: x**a and
    (1 + a*x)**(1/a), where a is 0."""
    if operator(node) != "select":
        return ()
    condition, *pieces = node.args
    place, tie = _beside(condition)
    return _powers_at(tie, pieces[place])


def _over_zero(node: Expr) -> Sequence[Expr]:
    """The powers in what is 0/0 where a factor of its divisor is 0: (x**a - 1)/a."""
    ties = [{f: ZERO} for f in factors(node.args[1])[0] if not is_exact(f)] if operator(node) == "div" else []
    return [p for tie in ties if substitute(node.args[0], tie) is ZERO for p in _powers_at(tie, node)]


def _powers_at(tie: Mapping[Expr, Expr], piece: Expr) -> Sequence[Expr]:
    def at(u: Expr) -> Expr:
        return substitute(u, tie)

    def divides(u: Expr) -> bool:
        return any(operator(n) == "div" and at(n.args[1]) is ZERO for n in postorder(u))

    if not tie or not divides(piece):
        return ()
    powers = [p for p in postorder(piece) if operator(p) == "pow" and not isinstance(p.args[1], Const)]
    return [p for p in powers if at(p.args[1]) is ZERO or at(p.args[0]) is ONE and divides(p.args[1])]


def _known(conditions: Iterable[Expr]) -> dict[Expr, Interval]:
    """Where conditions put what they compare with numbers."""
    found: dict[Expr, Interval] = {}
    for u, op, number in filter(None, map(bound_of, conditions)):
        found[u] = found.get(u, REALS).meet(Interval.of(op, number))
    return found
