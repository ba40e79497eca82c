"""Planes: what is computed of products for each two places, and read by reductions alone. Nothing stores them.

    score[i,j]  = sum[r](q[i,r]*k[j,r])             power[i,j]  = exp(score[i,j] - m[i])
    m[i]        = max[j](score[i,j])                weight[i,j] = power[i,j] / s[i]
    s[i]        = sum[j](power[i,j])                out[i,l]    = sum[j](weight[i,j]*v[j,l])

A reduction of rows stands between two products here, and is read along the rows again: without planes `score` is
written, read, written as `weight`, and read again, n*n numbers each time. A kernel that has a tile of rows, and walks
along the columns in blocks (kernels/streams.py), computes each block of a plane where it is read, and again in
backward: a product of matrices costs less than memory does. Two products without a reduction between them, as those of
a network's layers are, pass n*n numbers on once, and are no planes: what they sum over may be as long as they are.

What a row is divided by is not known before the walk ends, so it is divided last; and a sum over a row of a plane that
is one over columns in the end is regrouped as such:

    out[i,l] = sum[j](power[i,j]*v[j,l]) / s[i]
    sum[j](weight[i,j]*sum[l](g[i,l]*v[j,l])) = sum[l](g[i,l]*out[i,l])
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from ..expr import (
    ZERO,
    Const,
    Expr,
    Index,
    Ref,
    apply,
    factors,
    index,
    indices,
    product,
    ref,
    refs,
    select,
    substitute,
)
from ..expr.names import Names, fresh_letters
from ..ir import Equation, Tensor
from ..records import replace
from .kernels.products import product_of

Axes = tuple[int, int]  # of the two places, among those of a tensor
Pair = tuple[Index, Index]


def planes(forward: Sequence[Equation], stored: Collection[str]) -> dict[str, Axes]:
    """The planes of forward, with their axes.

    stored  what is returned
    """
    found = _Planes(forward)
    reduced: dict[str, set[int]] = {}  # of a row: the axes of planes over which it is reduced
    again: dict[str, set[int]] = {}  # of a plane: those of the rows of its own that it reads
    needed: dict[str, set[str]] = {}  # the planes that something is computed of
    some: set[str] = set()
    for e in forward:
        read = {r.name for r in e.reads}
        rows = set[int]().union(*(reduced.get(n, ()) for n in read))
        if product_of(e) is not None:
            for n in read & again.keys():
                pair = found.pair(e, {n})
                if pair is not None and _over(e, pair) in again[n]:
                    some |= needed[n]
        if e.target in found.roots:
            needed[e.target], again[e.target] = {e.target}, set()
            continue
        needed[e.target] = set[str]().union(*(needed.get(n, ()) for n in read))
        pair = found.pair(e)
        if e.target in found.axes:
            needed[e.target].add(e.target)
            again[e.target] = rows.union(*(again.get(n, ()) for n in read))
        elif pair is not None and (over := _over(e, pair)) is not None:
            reduced[e.target] = {over}
        elif rows and pair is None:
            reduced[e.target] = rows
    return found.without_unsupported(forward, some - {*stored})


def planes_of(equations: Sequence[Equation], known: Collection[str], stored: Collection[str]) -> dict[str, Axes]:
    """The planes of forward or of backward: those that are known and computed there, and what is computed of them.

    stored  what is returned or saved
    """
    found = _Planes(equations)
    some = {e.target for e in equations if e.target in known}
    for e in equations:
        read = {r.name for r in e.reads}
        if e.target in found.axes.keys() - found.roots and not read.isdisjoint(some):
            some |= {e.target, *(n for n in read if n in found.axes)}
    return found.without_unsupported(equations, some - {*stored})


class _Planes:
    """What may be planes: products of two, and what is computed of them element by element.

    axes   their axes
    roots  the products among them
    """

    def __init__(self, equations: Sequence[Equation]) -> None:
        self.axes: dict[str, Axes] = {}
        self.roots: set[str] = set()
        self.count = Counter(e.target for e in equations)
        for e in equations:
            at = e.subscripts
            if self.count[e.target] > 1 or e.when or not all(isinstance(s, Index) for s in at):
                continue
            pair = self.pair(e) if e.reduce == "none" else None
            if len(e.reduced) == 1 and (p := product_of(e)):
                pair = p.tiles
                self.roots.add(e.target)
            if pair is not None and {*pair} <= {*at}:
                self.axes[e.target] = at.index(pair[0]), at.index(pair[1])

    def pair(self, e: Equation, among: Collection[str] | None = None) -> Pair | None:
        """The two places at which an equation reads planes, of some or of all, if there is one pair alone."""
        some = self.axes if among is None else among
        read = [r for r in e.reads if r.name in some]
        pairs = {tuple(r.subscripts[k] for k in self.axes[r.name]) for r in read}
        if len(pairs) != 1 or not all(isinstance(s, Index) for r in read for s in r.subscripts):
            return None
        ((a, b),) = pairs
        return (a, b) if a is not b else None  # type: ignore[return-value]  # both are indices

    def without_unsupported(self, equations: Sequence[Equation], some: Collection[str]) -> dict[str, Axes]:
        """Those of some that nothing reads but what can be computed where they are."""
        found = {*some}
        for e in equations:
            read = {r.name for r in e.reads} & found
            if read and not self._is_supported(e, read):
                found -= read
        return {n: axes for n, axes in self.axes.items() if n in found}

    def _is_supported(self, e: Equation, read: Collection[str]) -> bool:
        """Whether an equation can be computed where the planes are that it reads."""
        pair = self.pair(e, read)
        if pair is None or e.when or self.count[e.target] > 1 or not all(isinstance(s, Index) for s in e.subscripts):
            return False
        if e.reduce == "none":
            return e.target in self.axes
        there = {*indices(*(r for r in e.reads if r.name in read))}
        over = _over(e, pair)
        if over is None or not {i for i, _ in e.reduced} <= there:
            return False
        more = {i for i, _ in e.shown} - there
        if not more:
            return e.reduce in ("sum", "max", "min")
        p = product_of(e)
        return p is not None and {*p.tiles} == {pair[1 - over], *more} and all(
            pair[over] in indices(side) for side in (p.left, p.right)
        )


def _over(e: Equation, pair: Pair) -> int | None:
    """Which one of the two places is reduced, if it is one of them."""
    over = [k for k, i in enumerate(pair) if i in dict(e.reduced)]
    return over[0] if len(over) == 1 else None


def divided_last(
    equations: Sequence[Equation], some: Collection[str], tensors: dict[str, Tensor], names: Names
) -> list[Equation]:
    """Sums of products with a plane, multiplied and divided last by what does not run along the sum.

    some  the planes
    """
    made = {e.target: e for e in equations}
    result: list[Equation] = []
    for e in equations:
        outside: tuple[list[Expr], list[Expr]] = [], []
        inside: tuple[list[Expr], list[Expr]] = [], []
        reduced = {i for i, _ in e.reduced}
        if e.reduce == "sum" and e.where is None and product_of(e) and any(r.name in some for r in e.reads):
            for f, below in _factors(e.body, some, made, reduced):
                (inside if reduced & {*indices(f)} else outside)[below].append(f)
        if not any(r.subscripts for side in outside for r in refs(*side)):
            result.append(e)
            continue
        name = names.new(f"{e.target}_sum")
        tensors[name] = Tensor(name, tensors[e.target].shape)
        body = _quotient(*inside)
        result.append(replace(e, target=name, body=body))
        total = _quotient([ref(name, *e.subscripts), *outside[0]], outside[1])
        if not isinstance(count := product(extent for _, extent in e.reduced), Const):
            total = select(apply("gt", count, 0), total, ZERO)  # a sum of nothing is 0, and is divided by nothing
        result.append(Equation(e.target, e.subscripts, "none", total, e.shown, None, e.when))
    return result


def _quotient(above: Sequence[Expr], below: Sequence[Expr]) -> Expr:
    return product(above) / product(below) if below else product(above)


def _factors(
    body: Expr, some: Collection[str], made: Mapping[str, Equation], reduced: Collection[Index], under: bool = False
) -> Iterator[tuple[Expr, bool]]:
    """The factors, each with whether it is below the line; in the place of a plane those that it is made of, where one
    of these is a row's."""
    above, below = factors(body)
    for f, down in [*((f, under) for f in above), *((f, not under) for f in below)]:
        told = _told(f, made[f.name]) if isinstance(f, Ref) and f.name in some else f
        own = [x for side in factors(told) for x in side]
        rows = [x for x in own if {*reduced}.isdisjoint(indices(x)) and any(r.subscripts for r in refs(x))]
        if told is not f and rows and len(own) > 1:
            yield from _factors(told, some, made, reduced, down)
        else:
            yield f, down


def _told(element: Ref, e: Equation) -> Expr:
    """What an element is computed of, element by element; itself, if it is not."""
    if e.reduce != "none" or e.where is not None:
        return element
    return substitute(e.body, dict(zip(e.subscripts, element.subscripts, strict=True)))


def regrouped(
    backward: Sequence[Equation], forward: Sequence[Equation], some: Collection[str], letters: Collection[str]
) -> list[Equation]:
    """Sums over a row of a plane times the sum of a product, as the product with what forward has summed already.

    some     the planes of forward
    letters  names that stand for something else
    """
    made = {e.target: e for e in backward}
    sums = [e for e in forward if product_of(e) and any(r.name in some for r in e.reads)]
    fresh = fresh_letters(letters)
    return [_regrouped(e, made, sums, index(next(fresh))) if e.reduce == "sum" else e for e in backward]


def _regrouped(e: Equation, made: Mapping[str, Equation], sums: Sequence[Equation], new: Index) -> Equation:
    above, below = factors(e.body)
    if below or e.where is not None or len(e.reduced) != 1 or len(above) != 2:
        return e
    ((j, _),) = e.reduced
    for plane, other in (above, above[::-1]):
        inner = made.get(other.name) if isinstance(other, Ref) else None
        if inner is None or product_of(inner) is None or inner.where is not None or len(inner.reduced) != 1:
            continue
        assert isinstance(other, Ref)
        ((l, extent),) = inner.reduced
        put: dict[Expr, Expr] = {**dict(zip(inner.subscripts, other.subscripts, strict=True)), l: new}
        terms, under = factors(substitute(inner.body, put))
        along = [f for f in terms if j in indices(f)]
        rest = [f for f in terms if j not in indices(f)]
        if under or len(along) != 1 or not (isinstance(along[0], Ref) and isinstance(plane, Ref)):
            continue
        for total in sums:
            if (element := _matched(total, (plane, along[0]), {*indices(*e.subscripts), new})) is not None:
                return replace(e, body=product([*rest, element]), box=(*e.shown, (new, extent)))
    return e


def _matched(total: Equation, pair: tuple[Ref, Ref], shown: Collection[Index]) -> Ref | None:
    """The element of a sum that is the sum of the product of a pair, if these indices alone tell it."""
    above, below = factors(total.body)
    if below or total.where is not None:
        return None
    elements = [f for f in above if isinstance(f, Ref)]
    for own in (elements, elements[::-1]) if len(elements) == len(above) else ():
        if [f.name for f in own] != [f.name for f in pair]:
            continue
        places = [p for a, b in zip(own, pair, strict=True) for p in zip(a.subscripts, b.subscripts, strict=True)]
        put = dict(places)
        at = [put.get(s, s) for s in total.subscripts]
        once = len({*places}) == len(put) == len({*put.values()})
        if once and all(isinstance(a, Index) for a in put) and {*indices(*at)} <= {*shown}:
            return ref(total.target, *at)
    return None
