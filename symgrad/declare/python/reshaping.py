"""Axes in another order, and `x.reshape(...)`: neighbours merged into one, or an axis split into several, row by row.

An axis of c elements becomes (groups, c // groups) where the division has no rest, and (groups, d) where c is their
product; the printed code checks that.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, prod
from typing import Any

from ...errors import DeclarationError, ShapeError
from ...expr import ONE, Expr, apply, const, factors, is_exact, product, show, value_of
from ...expr.names import is_pack
from ...expr.sizes import equal, multiples
from .graph import Node, Pieces, axes_of, read, value
from .scope import inside
from .values import Traced, axis_of, reread, size_of, written

# the axes in another order


def transpose(x: Traced, *axes: Any) -> Traced:
    """The axes in the order `axes`, numbers or a tuple of them; reversed if none are given."""
    axes = tuple(axes[0]) if len(axes) == 1 and isinstance(axes[0], (tuple, list)) else axes
    if x._lead and not axes:
        raise DeclarationError(".T with `...` in front is ambiguous; swap two axes: x.mT.")
    order = [axis_of(x, a) for a in axes] or list(reversed(range(x._node.rank)))
    if sorted(order) != list(range(x._node.rank)):
        raise DeclarationError(f"transpose{axes} does not name every axis once.")
    return permuted(x, order, 0)


def swapaxes(x: Traced, axis1: int, axis2: int) -> Traced:
    """The array with two axes swapped."""
    order = list(range(x._node.rank))
    i, j = axis_of(x, axis1), axis_of(x, axis2)
    order[i], order[j] = order[j], order[i]
    return permuted(x, order, x._lead)


def permuted(x: Traced, order: Sequence[int], lead: int) -> Traced:
    shape = [x._node.shape[a] for a in order]
    there = axes_of(shape)
    return reread(x, shape, [there[order.index(a)] for a in range(len(order))], lead)


# other axes for the same elements

Groups = list[tuple[list[Expr], list[Expr]]]  # axes before and after that hold the same elements, one of them single


def reshape(x: Traced, *shape: Any) -> Traced:
    """The same elements in other axes, in row-major order: neighbours merged, or one axis split; -1 is the rest."""
    node = x._node
    whole = _extents(node, shape)
    if any(is_pack(e) for e in (*node.shape, *whole)):
        raise ShapeError("`...` has an unknown number of axes, and cannot be reshaped.")
    old, new = _wide(node.shape), _wide(whole)
    draft = inside("a reshape").draft
    groups = _groups(old, new) or _supposed(old, new)
    for before, after in groups or ():
        if equal(product(before), product(after)):
            continue
        (size, quotients), (other, more) = multiples(product(before)), multiples(product(after))
        draft.require([*quotients, *more], [] if equal(size, other) else [(size, other)])
    if groups is None:
        raise ShapeError(
            f"({', '.join(map(show, node.shape))}) does not become ({', '.join(map(show, whole))}) by merging "
            f"neighbouring axes or splitting one. Declare the axis to be split with its parts as axes."
        )
    parts = [before if len(before) > 1 else after for before, after in groups]
    axes = iter(axes_of([e for part in parts for e in part]))
    inner: list[Expr] = []
    outer: list[Expr] = []
    for (before, after), part in zip(groups, parts, strict=True):
        mine: list[Expr] = [next(axes) for _ in part]
        inner += mine if len(before) > 1 else [_merged(mine, part)]
        outer += mine if len(after) > 1 else [_merged(mine, part)]
    split = [e for part in parts for e in part]
    element = read(node, _spread(inner, node.shape))
    if len(split) == len(new):
        return Traced(_shown(value(split, element, [node]), split, whole))
    made = Pieces(shape=tuple(new), wish="merged")
    written(made, outer, element, split, [node])
    return Traced(_shown(made, new, whole))


def _extents(node: Node, shape: Sequence[Any]) -> list[Expr]:
    if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
        shape = shape[0]
    open_axes = [k for k, e in enumerate(shape) if isinstance(e, int) and e == -1]
    if len(open_axes) > 1:
        raise ShapeError("a shape has -1 at most once.")
    whole = [size_of(e, "a shape") for e in shape]
    settled = inside("a reshape").draft.settled
    for k in open_axes:
        rest = _quotient(node.shape, [*whole[:k], *whole[k + 1 :]])
        if rest is None:
            shown = ", ".join(map(show, node.shape))
            raise ShapeError(f"nothing tells the -1 of a shape, for an array of shape ({shown}).")
        whole[k] = settled(rest)
    return whole


def _quotient(above: Sequence[Expr], below: Sequence[Expr]) -> Expr | None:
    """The product of `above` divided by that of `below`, each size cancelled as a whole; what is left is divided."""
    above, below = ([f for e in some for f in factors(e)[0]] for some in (above, below))
    left = [e for e in above if not is_exact(e)]
    over: list[Expr] = []
    for e in below:
        if not is_exact(e):
            same = next((k for k, other in enumerate(left) if equal(e, other)), None)
            if same is None:
                over.append(e)
            else:
                del left[same]
    number, divisor = (prod(int(value_of(e)) for e in some if is_exact(e)) for some in (above, below))
    if left and divisor and (over or number % divisor):
        shared = gcd(number, divisor)
        high, low = (
            product([*sizes, *([const(n // shared)] if n != shared else [])])
            for sizes, n in ((left, number), (over, divisor))
        )
        return apply("floordiv", high, low)
    if over:
        return None
    if not divisor or number % divisor:
        return None
    return product([*left, *([const(number // divisor)] if number != divisor else [])])


def _groups(old: Sequence[Expr], new: Sequence[Expr]) -> Groups | None:
    """The smallest groups of neighbours with one product each, from the left."""
    if not old and not new:
        return []
    for many in range(1, max(len(old), len(new)) + 1):
        for p, q in ((many, 1), (1, many)):
            if p <= len(old) and q <= len(new) and _same_product(old[:p], new[:q]):
                rest = _groups(old[p:], new[q:])
                if rest is not None:
                    return [(list(old[:p]), list(new[:q])), *rest]
    return None


def _supposed(old: Sequence[Expr], new: Sequence[Expr]) -> Groups | None:
    """The groups where one size is left on the left, and a product of sizes that nothing compares it with."""
    first, last = 0, 0
    while first < min(len(old), len(new)) and equal(old[first], new[first]):
        first += 1
    while last < min(len(old), len(new)) - first and equal(old[-1 - last], new[-1 - last]):
        last += 1
    left, right = old[first : len(old) - last], new[first : len(new) - last]
    if len(left) != 1 or len(right) < 2 or is_exact(left[0]) or all(map(is_exact, right)):
        return None
    front = [([e], [e]) for e in old[:first]]
    behind = [([e], [e]) for e in old[len(old) - last :]]
    return [*front, (list(left), list(right)), *behind]


def _same_product(old: Sequence[Expr], new: Sequence[Expr]) -> bool:
    return equal(multiples(product(old))[0], multiples(product(new))[0])


def _merged(axes: Sequence[Expr], extents: Sequence[Expr]) -> Expr:
    """The place of an element in the axes written one behind the other."""
    place = axes[0]
    for i, extent in zip(axes[1:], extents[1:], strict=True):
        place = place * extent + i
    return place


def _wide(shape: Sequence[Expr]) -> list[Expr]:
    return [e for e in shape if e is not ONE]


def _spread(places: Sequence[Expr], shape: Sequence[Expr]) -> list[Expr]:
    """A place for every axis of `shape`; those of extent 1 are read at 0."""
    found = iter(places)
    return [const(0) if e is ONE else next(found) for e in shape]


def _shown(node: Node, shape: Sequence[Expr], whole: Sequence[Expr]) -> Node:
    """`node` with axes of extent 1 where `whole` has them."""
    if len(shape) == len(whole):
        return node
    there = [i for i, e in zip(axes_of(whole), whole, strict=True) if e is not ONE]
    return value(whole, read(node, there), [node])
