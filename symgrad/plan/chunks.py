"""Chunks: rows of a product that are computed some after the other, where only numbers for each row are kept of it.

    score[i,c] = sum[j](x[i,j]*w[c,j])              grad_score[i,c] = grad_output*(exp(score[i,c] - lse[i]) - ...)
    lse[i]     = logsumexp[c](score[i,c])           grad_x[i,j]     = sum[c](grad_score[i,c]*w[c,j])
    out        = sum[i](lse[i] - score[i,y[i]])     grad_w[c,j]     = sum[i](grad_score[i,c]*x[i,j])

Where w has many rows, as that of a vocabulary has, `score` is far larger than x and w are. Nobody needs all of it at
once: the rows of a chunk are computed in a turn of a loop, in memory that the next turn writes over. What is summed
over rows is added up from turn to turn, always in the same order. Backward computes the scores again, from x and w.

What tells such a product from a layer of a network, which is computed at once and saved, is what forward makes of it:

    * It is no output, and no other product reads it, or what is computed of it element by element: all of it ends in
      numbers for each row, and in sums. The hidden layer of an mlp does not: the next product mixes its features.
    * Its first axis is that of rows: one factor runs along it, and the other one does not.
    * Whoever reads it, in forward and backward, reads the elements of one row. What is reduced over rows is a sum, and
      nobody reads that beside the elements: a softmax over columns and another over rows need all scores at once.

Sums, and what is kept for each row, are read behind the loop by anybody. Streams (`planes`) compute a product wherever
it is read, which pays where a program holds a row of each factor; they come first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from ..expr import Expr, Index, indices, product
from ..expr.names import Names
from ..ir import Equation, Tensor, by_target
from ..records import dataclass
from .kernels.products import product_of
from .kernels.stages import picks
from .picked import with_picked

Groups = Mapping[str, Sequence[Equation]]


@dataclass(frozen=True, slots=True)
class Chunks:
    """What is computed in the loop over chunks of rows, by name.

    axes     how many tell a row
    extent   of the rows
    wide     how many elements a product has for each row, and a factor of it: `narrow`
    kinds    of what is computed in it: plane, row, total
    sliced   what is read or written there at its own row alone, which is its first axis
    behind   what waits for the end of the loop
    """

    axes: int
    extent: Expr
    wide: Expr
    narrow: Expr
    kinds: Mapping[str, str]
    sliced: frozenset[str]
    behind: frozenset[str]

    def row(self, e: Equation) -> Index:
        """The row at which an equation reads what is computed in the loop."""
        found = _row(e, self.kinds)
        assert found is not None
        return found

    def of(self, kind: str) -> frozenset[str]:
        """What is computed in the loop, of one kind."""
        return frozenset(n for n, k in self.kinds.items() if k == kind)


@dataclass(frozen=True, slots=True)
class InChunks:
    """What of forward and backward is computed in chunks, and both of them.

    products  that are, in forward and backward
    planes    they, and what is computed of them element by element
    picked    elements of these that have names: backward reads them, and not the planes
    """

    forward: Sequence[Equation]
    backward: Sequence[Equation]
    products: frozenset[str] = frozenset()
    planes: frozenset[str] = frozenset()
    picked: Sequence[Tensor] = ()


def chunked(
    forward: Sequence[Equation],
    backward: Sequence[Equation],
    returned: Collection[str],
    streams: Collection[str],
    tensors: Mapping[str, Tensor],
    names: Names,
) -> InChunks:
    """The products that are computed in chunks, both ways.

    returned  by forward
    streams   the planes that nothing stores
    """
    first = by_target(forward)
    roots = frozenset(n for n, es in first.items() if n not in streams and _rows_of_product(es) is not None)
    while roots:
        there = chunks(first, roots, {*returned, *streams})
        if there is None:
            break
        roots, planes = roots & there.kinds.keys(), there.of("plane")
        ahead, later, picked = with_picked(forward, backward, planes, there.axes, tensors, names)
        back = chunks({**{n: first[n] for n in planes}, **by_target(later)}, roots)
        if back is not None and roots <= back.kinds.keys():
            return InChunks(ahead, later, roots, planes, picked)
        roots = frozenset() if back is None else roots & back.kinds.keys()
    return InChunks(forward, backward)


def chunks(groups: Groups, roots: Collection[str], stays: Collection[str] | None = None) -> Chunks | None:
    """What of some equations is computed in chunks: the products `roots`, and what is computed of them; without those
    roots of which something is that has other rows, or waits for all of them.

    groups  the equations by what they compute
    stays   of forward: what is no plane, as outputs are none; and no product may read planes there
    """
    some = {n for n in groups if n in roots}
    while some:
        found = _Chunks(groups, some, stays)
        if not found.refused:
            return found.chunks()
        some -= found.refused
    return None


def _rows_of_product(es: Sequence[Equation]) -> tuple[Index, Expr] | None:
    """The index of the rows of a product, and the factor that runs along it; None if it is none in rows and columns."""
    at = es[0].subscripts
    if len(at) < 2 or not all(isinstance(s, Index) for s in at) or any(e.subscripts != at for e in es):
        return None
    found = None
    for e in es:
        p = product_of(e)
        if p is None:
            if e.reduce != "none":
                return None
            continue
        sides = [s for s in (p.left, p.right) if at[0] in indices(s)]
        if len(sides) != 1 or found is not None or at[0] not in dict(e.shown):
            return None
        found = at[0], sides[0]
    return found


class _Chunks:
    """What is computed of products, in the order in which it is read.

    axes     how many axes tell a row
    of       by name: the roots that it is computed of
    kinds    of what is in the loop
    refused  the roots of which something is that has no place there
    """

    def __init__(self, groups: Groups, roots: Collection[str], stays: Collection[str] | None) -> None:
        self.groups, self.roots, self.stays = groups, roots, stays
        self.of: dict[str, set[str]] = {}
        self.kinds: dict[str, str] = {}
        self.behind: set[str] = set()
        self.sliced: set[str] = set()
        self.whole: set[str] = set()
        self.refused: set[str] = set()
        self.extent, self.wide, self.narrow, self.axes = self._sizes()
        for name in _read_first(groups):
            es = groups[name]
            read = {r.name for e in es for r in e.reads}
            self.of[name] = set[str]().union(*(self.of.get(n, ()) for n in read), {name} if name in roots else ())
            if self.of[name]:
                self._place(name, es, read)
        clash = self.sliced & self.whole
        self.refused |= {x for n, kind in self.kinds.items() for x in self.of[n] if clash & self._read(n)}

    def _read(self, name: str) -> set[str]:
        return {r.name for e in self.groups[name] for r in e.reads}

    def _sizes(self) -> tuple[Expr, Expr, Expr, int]:
        """The extent of rows, how many elements of the first product a row has, and of its factor; the axes of both."""
        name = next(n for n in self.groups if n in self.roots)
        es = self.groups[name]
        found = _rows_of_product(es)
        assert found is not None, "a root is a product"
        row, factor = found
        box = {i: n for e in es for i, n in e.box}
        wide, narrow = (
            product(n for i, n in box.items() if i is not row and i in indices(*some))
            for some in (es[0].subscripts, (factor,))
        )
        return box[row], wide, narrow, len({*es[0].subscripts} & {*indices(factor)})

    def _place(self, name: str, es: Sequence[Equation], read: Collection[str]) -> None:
        """Where something is computed of roots: in the loop, or behind it."""
        planes = {n for n in read if self.kinds.get(n) == "plane"}
        kind = self._kind(name, es, read, bool(planes))
        if kind:
            self.kinds[name] = kind
            self.sliced |= {name} if kind != "total" else set()
        elif planes or name in self.roots:
            self.refused |= self.of[name] - {name} or {name}
        else:
            self.behind.add(name)

    def _kind(self, name: str, es: Sequence[Equation], read: Collection[str], planes: bool) -> str:
        """plane, row or total; nothing, if it is not computed in the loop."""
        if any(n in self.behind or self.kinds.get(n) == "total" for n in read):
            return ""
        rows = [_row(e, self.kinds) for e in es]
        if any(r is None or dict(e.box).get(r) is not self.extent for e, r in zip(es, rows, strict=True)):
            return ""
        if any(e.matrix is not None or name in {r.name for r in e.reads} for e in es):
            return ""
        pairs = [*zip(es, rows, strict=True)]
        if all(e.subscripts and e.subscripts[0] is r for e, r in pairs):
            kind = self._kind_of_rows(name, es, planes)
        elif all(_sums_rows(es, e, r) for e, r in pairs):
            kind = "total" if planes or self._is_of_rows(es) else ""
        else:
            kind = ""
        if kind:
            self._note(pairs)
        return kind

    def _kind_of_rows(self, name: str, es: Sequence[Equation], planes: bool) -> str:
        if not planes and name not in self.roots:
            return "row" if self._is_of_rows(es) else ""
        if planes and self.stays is not None and any(product_of(e) is not None for e in es):
            return ""
        by_element = any(e.reduce == "none" and len(e.subscripts) > self.axes for e in es)
        kind = "plane" if by_element or name in self.roots else "row"
        return "" if kind == "plane" and name in (self.stays or ()) else kind

    def _is_of_rows(self, es: Sequence[Equation]) -> bool:
        """Whether equations take a number or some for each row."""
        return all(len(e.box) <= self.axes for e in es)

    def _note(self, pairs: Sequence[tuple[Equation, Index | None]]) -> None:
        """What the loop reads from before it, by its own row, or at any."""
        for e, row in pairs:
            for r in e.reads:
                own = bool(r.subscripts) and r.subscripts[0] is row
                (self.sliced if own else self.whole).update([r.name] if r.subscripts else [])

    def chunks(self) -> Chunks:
        """What was found."""
        sliced, behind = frozenset(self.sliced), frozenset(self.behind)
        return Chunks(self.axes, self.extent, self.wide, self.narrow, self.kinds, sliced, behind)


def _row(e: Equation, inside: Collection[str]) -> Index | None:
    """The one row at which an equation reads what is computed in the loop. If it reads nothing of that, its own; and if
    data tell where it adds, that at which it reads all else."""
    read = {r.subscripts[0] for r in e.reads if r.name in inside} or {*e.subscripts[:1]}
    if not any(isinstance(s, Index) for s in read):
        read = {s for r in e.reads for s in r.subscripts[:1] if isinstance(s, Index)}
    found = read.pop() if len(read) == 1 else None
    return found if isinstance(found, Index) else None


def _sums_rows(es: Sequence[Equation], e: Equation, row: Index | None) -> bool:
    """Whether one of the equations of a target is summed over rows; or adds to such a sum at a place that is data."""
    if e.reduce == "sum":
        return row in dict(e.reduced)
    return any(s.reduce == "sum" and s.plain and row in dict(s.reduced) and picks(s, e, rows=True) for s in es)


def _read_first(groups: Groups) -> Iterator[str]:
    """The names, each behind what is read for it."""
    seen: set[str] = set()
    for root in groups:
        stack = [(root, False)]
        while stack:
            name, ready = stack.pop()
            if ready:
                yield name
            elif name in groups and name not in seen:
                seen.add(name)
                stack.append((name, True))
                stack += [(r.name, False) for e in groups[name] for r in e.reads]
