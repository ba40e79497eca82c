"""Factors that run over few of an equation's indices are multiplied first: once for a row, not for each element of it.

    grad_x[i,j] = grad_out * exp_x[i,j] / total[i] / n      becomes      grad_out / n / total[i] * exp_x[i,j]
"""

from __future__ import annotations

from collections.abc import Iterable

from ..expr import Apply, Const, Expr, factors, indices, operator, product, refs, renewed, values, without_sign
from ..ir import Equation

PRODUCTS = ("mul", "div")
SUMS = ("add", "sub")


def rows_first(equations: Iterable[Equation]) -> list[Equation]:
    """The equations with what their quotients multiply in that order; of a sum, each language chooses its own."""
    return [e.with_body(_ordered(e.body)) if e.shown and e.reduce == "none" else e for e in equations]


def _ordered(body: Expr) -> Expr:
    nodes = values(body)
    products = [node for node in nodes if isinstance(node, Apply) and node.op in PRODUCTS]
    if not any(node.op == "div" for node in products):
        return body
    whole = {a for node in products for a in node.args}
    for node in nodes:
        if isinstance(node, Apply) and node.op in SUMS:  # terms may cancel, which they do best as they are written
            whole.update(without_sign(a)[0] for a in node.args)
    done: dict[Expr, Expr] = {}
    for node in nodes:
        new = renewed(node, done) if isinstance(node, Apply) else node
        done[node] = _by_rank(new) if operator(node) in PRODUCTS and node not in whole else new
    return done[body]


def _by_rank(node: Expr) -> Expr:
    """A quotient with what runs over fewer indices first, rounded as often as it was: an element that is divided by one
    number keeps the division, since a reciprocal would be rounded too, and indices times sizes are exact."""
    above, below = _apart(node)
    rank = {f: len(indices(f)) for f in (*above, *below)}
    most = len(indices(node))
    few = [f for f in (*above, *below) if rank[f] < most and not isinstance(f, Const)]
    first = min((rank[f] for f in above if f in few), default=most)
    if len(few) < 2 or first == most or not any(f in few for f in below) or not any(r.subscripts for r in refs(node)):
        return node
    place = {f: max(rank[f], first) for f in rank}
    result = product(f for f in above if place[f] == first)
    for now in range(first, most + 1):
        if now > first:
            result = product([result, *(f for f in above if place[f] == now)])
        for f in below:
            result = result / f if place[f] == now else result
    return result


def _apart(node: Expr) -> tuple[list[Expr], list[Expr]]:
    """What is multiplied, and what it is divided by: a product below the line is one divisor, if all of it runs over
    the same indices."""
    divisors: list[Expr] = []
    while isinstance(node, Apply) and node.op == "div":
        node, divisor = node.args
        parts = factors(divisor)[0] if operator(divisor) == "mul" else [divisor]
        mixed = len({frozenset(indices(f)) for f in parts}) > 1 and product(parts) is divisor
        divisors += reversed(parts) if mixed else [divisor]
    above, below = factors(node)
    return above, [*below, *reversed(divisors)]
