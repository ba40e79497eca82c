"""Factors that run over few of an equation's indices are multiplied first: once for a row, not for each element of it.

    grad_x[i,j] = grad_out * exp_x[i,j] / total[i] / n      becomes      grad_out / n / total[i] * exp_x[i,j]
"""

from __future__ import annotations

from collections.abc import Iterable

from ..expr import (
    Apply,
    Const,
    Expr,
    comparisons,
    factors,
    indices,
    operator,
    operators,
    product,
    ref,
    refs,
    renewed,
    values,
    without_sign,
)
from ..expr.names import Names
from ..ir import Equation, Tensor
from ..records import replace

PRODUCTS = ("mul", "div")
SUMS = ("add", "sub")


def rows_first(equations: Iterable[Equation]) -> list[Equation]:
    """The equations with what their quotients multiply in that order; of a sum, each language chooses its own."""
    equations = list(equations)
    mine = [e for e in equations if e.shown and e.reduce == "none" and "div" in operators(e.body)]
    ranges = {frozenset(n.indices) for n in values(*(e.body for e in mine)) if not isinstance(n, Const)}
    if len(ranges) < 2:  # all factors run over the same
        return equations
    changing = {id(e) for e in mine}
    return [e.with_body(_ordered(e.body)) if id(e) in changing else e for e in equations]


def summed_once(equations: Iterable[Equation], tensors: dict[str, Tensor], names: Names) -> list[Equation]:
    """The equations, where a sum has one name of which each row has a multiple: `sum[j](g[i]*w[j])` is `g[i]*sum_w`."""
    result: list[Equation] = []
    for e in equations:
        above, below = factors(e.body)
        reduced = {i for i, _ in e.reduced}
        inside = [f for f in above if not reduced.isdisjoint(indices(f))]
        outside = [f for f in above if f not in inside]
        alike = reduced == {*indices(*inside)} and reduced.isdisjoint(indices(*below)) and e.where is None
        if e.reduce == "sum" and e.shown and outside and alike:
            word = next((r.name for f in inside for r in refs(f)), e.target)
            name = names.new(f"sum_{word}")
            tensors[name] = Tensor(name, ())
            result.append(Equation(name, (), "sum", product(inside), e.reduced, None, e.when))
            whole = product([*outside, ref(name)])
            e = replace(e, reduce="none", body=whole / product(below) if below else whole, box=e.shown)
        result.append(e)
    return result


def _ordered(body: Expr) -> Expr:
    nodes = values(body)
    products = [node for node in nodes if isinstance(node, Apply) and node.op in PRODUCTS]
    whole = {a for node in products for a in node.args}
    for node in nodes:
        if isinstance(node, Apply) and node.op in SUMS:  # terms may cancel, which they do best as they are written
            whole.update(without_sign(a)[0] for a in node.args)
    done: dict[Expr, Expr] = {}
    compared = {*comparisons(body)}
    for node in nodes:
        new = renewed(node, done) if isinstance(node, Apply) and node not in compared else node
        done[node] = _by_rank(new) if operator(node) in PRODUCTS and node not in whole else new
    return done[body]


def _by_rank(node: Expr) -> Expr:
    """A quotient with what runs over fewer indices first, and the rest in the order in which it stays in the range. It
    is rounded as often as it was: an element that is divided by one number keeps the division, since a reciprocal would
    be rounded too, and indices times sizes are exact."""
    parts = _sequence(node)
    rank = {f: len(indices(f)) for f, _ in parts}
    most = len(indices(node))
    few = [(f, below) for f, below in parts if rank[f] < most and not isinstance(f, Const)]
    first = min((rank[f] for f, below in few if not below), default=most)
    if len(few) < 2 or first == most or not any(below for _, below in few) or not any(r.subscripts for r in refs(node)):
        return node
    ordered = sorted(parts, key=lambda part: max(rank[part[0]], first))
    head = [f for f, below in ordered if rank[f] <= first and not below]
    result = product(head)
    for f, below in ordered:
        if below:
            result = result / f
        elif rank[f] > first:
            result = product((result, f))
    return result


def _sequence(node: Expr) -> list[tuple[Expr, bool]]:
    """What is multiplied, one after the other, and whether it is below the line: a product there is one divisor, if all
    of it runs over the same indices."""
    found: list[tuple[Expr, bool]] = []  # the last one first
    while isinstance(node, Apply) and node.op in PRODUCTS:
        divided, (node, last) = node.op == "div", node.args
        above, below = factors(last)
        if divided:
            mixed = len({frozenset(indices(f)) for f in above}) > 1 and not below
            above, below = [], above if mixed else [last]
        found += [*((f, True) for f in reversed(below)), *((f, False) for f in reversed(above))]
    return [(node, False), *reversed(found)]
