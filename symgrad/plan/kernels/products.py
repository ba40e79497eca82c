"""Sums of products as those of matrices:

    out[i, j] = sum[l](left[i, l] * right[l, j])
"""

from __future__ import annotations

from collections.abc import Sequence

from ...expr import ONE, ZERO, Apply, Const, Expr, Index, apply, factors, indices, product, select
from ...ir import Box, Equation
from ...records import dataclass


@dataclass(frozen=True, slots=True)
class Product:
    """An equation as a product of matrices.

    tiles        the indices of the result that `left` has and `right` has not, and the other way round
    terms        what is summed over; the last one is in both
    left, right  what is multiplied, of these indices and of others that are one in each program
    scale        what the sum is multiplied by
    """

    tiles: tuple[Index, Index]
    terms: Box
    left: Expr
    right: Expr
    scale: Expr


def product_of(e: Equation) -> Product | None:
    """An equation as a product of two, if it is one."""
    reduced = dict(e.reduced)
    plain = all(isinstance(s, (Index, Const)) for r in e.reads for s in r.subscripts)
    if e.reduce != "sum" or not reduced or not plain:
        return None
    negative = isinstance(e.body, Apply) and e.body.op == "neg"
    above, below = factors(e.body.args[0] if negative else e.body)
    parts = [*above, *(apply("div", ONE, f) for f in below)]
    rest = [p for p in parts if not reduced.keys().isdisjoint(indices(p))]
    order = [i for i, _ in e.shown]
    shown = {p: {i for i in indices(p) if i in order} for p in (*rest, *e.conditions)}
    pairs = ((a, b) for a in rest for b in rest if shown[a] - shown[b] and shown[b] - shown[a])
    found = max(pairs, key=lambda pair: sum(len(shown[p]) for p in pair), default=None)
    if found is None:
        return None
    tiles = [max(shown[a] - shown[b], key=order.index) for a, b in (found, found[::-1])]
    if order.index(tiles[0]) > order.index(tiles[1]):
        found, tiles = (found[1], found[0]), tiles[::-1]
    sides: tuple[list[Expr], list[Expr]] = [], []
    for part in shown:
        side = next((k for k in (0, 1) if tiles[1 - k] not in shown[part]), None)
        if side is None:
            return None
        sides[side].append(part)
    left, right = (_under([p for p in s if p not in rest], product(p for p in s if p in rest)) for s in sides)
    both = [i for i in reduced if i in indices(left) and i in indices(right)]
    if not both:
        return None
    terms = tuple((i, n) for i, n in e.reduced if i is not both[-1])
    scale = product(p for p in parts if p not in rest)
    return Product(
        (tiles[0], tiles[1]), (*terms, (both[-1], reduced[both[-1]])), left, right, -scale if negative else scale
    )


def _under(conditions: Sequence[Expr], value: Expr) -> Expr:
    """The value, and 0 where a condition does not hold."""
    for condition in conditions:
        value = select(condition, value, ZERO)
    return value
