"""Integer expressions in conditions and subscripts: can one be negative, how far does an index move."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain

from ...expr import (
    Apply,
    Const,
    Expr,
    Index,
    Ref,
    apply,
    index,
    indices,
    ref,
    refs,
    select,
    size,
    transformer,
)
from ...expr.sizes import rebuilt, terms, tidy
from ...ir import Equation
from ...records import replace


def sides(root: Expr) -> tuple[Expr, Expr] | None:
    """(p, q) with root = p - q, neither with a minus sign; None if `root` is no polynomial."""
    collected = terms(root)
    if collected is None:
        return None
    ordered = sorted(collected.items(), key=lambda term: not term[0])  # the constant last
    return rebuilt({m: c for m, c in ordered if c > 0}, root), rebuilt({m: -c for m, c in ordered if c < 0}, root)


def short() -> Callable[[Equation], Equation]:
    """Of equations: subscripts in which like terms are collected, where that is shorter: n - k for n - 1 - k + 1."""

    def collected(s: Expr) -> Expr:
        found = tidy(s)
        return found if size(found) < size(s) else s

    return _of_subscripts(collected)


def chosen() -> Callable[[Equation], Equation]:
    """Of equations: subscripts that take the smaller or larger of two integers by one comparison: neither is NaN."""

    return _of_subscripts(transformer(_choice))


def _of_subscripts(change: Callable[[Expr], Expr]) -> Callable[[Equation], Equation]:
    """Of equations: each subscript changed."""

    def inside(node: Expr) -> Expr:
        return ref(node.name, *map(change, node.subscripts)) if isinstance(node, Ref) else node

    put = transformer(inside)

    def changed(e: Equation) -> Equation:
        if not e.subscripts and not any(r.subscripts for r in refs(e.body)):
            return e
        return replace(e, subscripts=tuple(map(change, e.subscripts)), body=put(e.body))

    return changed


def _choice(node: Expr) -> Expr:
    if not isinstance(node, Apply) or node.op not in ("maximum", "minimum"):
        return node
    if any(isinstance(a, Const) for a in node.args):
        return node
    a, b = node.args
    return select(apply("ge" if node.op == "maximum" else "le", a, b), a, b)


def stride(subscripts: tuple[Expr, ...], i: Index) -> int:
    """How a walk along `i` moves through a row-major array: 2 in place or by one, 1 by a constant step, 0 otherwise."""
    axes = [axis for axis, s in enumerate(subscripts) if i in indices(s)]
    if not axes:
        return 2
    last = subscripts[-1]
    if axes != [len(subscripts) - 1]:
        return 0
    collected = terms(last) or {}
    mine = [(atoms, c) for atoms, c in collected.items() if i in indices(*atoms)]
    if len(mine) != 1 or mine[0][0].count(i) != 1:
        return 0
    return 2 if mine == [((i,), mine[0][1])] and abs(mine[0][1]) == 1 else 1


def fresh_index(taken: set[str], first: str = "") -> Index:
    """An index of one letter that is not in `taken`, and is so from here on."""
    letters = (f"{letter}{number}" for number in ("", *range(1, 1000)) for letter in "ijklpqrstuv")
    name = next(name for name in chain(first, letters) if name not in taken)
    taken.add(name)
    return index(name)
