"""Reading and writing elements at any subscripts.

Every axis is spelled by itself, in this order: a number, a slice, axes split by a reshape, windows. What none of them
says is integer-array indexing, which can say every subscript.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

from ...expr import ONE, ZERO, Apply, Expr, Index, Ref, const, indices, is_exact, refs, substitute, value_of
from ...expr.names import is_pack
from ...expr.sizes import equal, tidy
from ...ir import Equation, distinct, spans
from ...records import dataclass, replace
from .affine import Extents, Linear, linear, quotient
from .below import plain_number
from .layout import labels
from .taking import packed_items, taken, whole
from .tree import (
    ALL,
    BACK,
    Along,
    Array,
    Diagonal,
    Item,
    PackPlaces,
    Pad,
    Reduce,
    Reshape,
    Roll,
    Single,
    Slice,
    Take,
    Var,
    Windows,
)
from .values import Evaluator, Value


@dataclass(frozen=True, slots=True)
class Point:
    """An axis that is read at one place."""

    item: Expr | Single


@dataclass(frozen=True, slots=True)
class Perhaps:
    """An axis that is read at one place, under a condition: it may end before. A slice of one element, or of none."""

    item: Slice


@dataclass(frozen=True, slots=True)
class Run:
    """`step*i + offset`: a slice; `back` where it must be turned round."""

    index: Index
    item: Slice
    back: bool = False


@dataclass(frozen=True, slots=True)
class Split:
    """`h*E + e`: a slice in the shape of its indices."""

    indices: tuple[Index, ...]
    item: Slice


@dataclass(frozen=True, slots=True)
class Moving:
    """`step*i + dilation*r`: windows of `size` elements, the first `count` of them (None: as many as there are)."""

    index: Index
    inner: Index
    item: Slice
    size: Expr
    step: Expr
    dilation: Expr
    back: bool
    count: Expr | None


@dataclass(frozen=True, slots=True)
class Turned:
    """`(i + shift) % n` over an axis of n elements."""

    index: Index
    shift: Expr
    item: Slice = ALL


Piece = Point | Perhaps | Run | Split | Moving | Turned


class Reader(Evaluator):
    """Spells elements."""

    def element(self, r: Ref, order: Sequence[Index], extents: Extents) -> Value:
        """`x[h]` as an array over the indices of h."""
        base = self.pads.get(r.name, Var(r.name, r.name in self.plain))
        if spans(r.subscripts, self.tensors[r.name].shape, extents):
            mine = labels(r)
            if r.name in self.kept:
                names = iter(mine)
                return Value(base, tuple(next(names) if present else None for present in self.kept[r.name]))
            return Value(base, mine)
        if r.name in self.kept:  # read in a loop: without the axes of length 1
            read = iter(r.subscripts)
            places = [next(read) if present else None for present in self.kept[r.name]]
            base = Take(base, packed_items([ZERO if p is None else ALL for p in places], places))
        pieces = self.pieces(r, extents)
        slices = in_slices(pieces)
        if slices is not None:
            return self._in_rows(base, r, slices, extents)
        diagonal = self._diagonal(base, pieces)
        if diagonal is not None:
            return diagonal
        # beside integer arrays, too, an axis that may end before the place that is read is a slice
        once = [p.item if isinstance(p, Perhaps) else ALL for p in pieces]
        items, axes = self.arrays(*_standing(r, pieces), order, extents)
        return Value(Take(self._total(_cut(base, once, pieces), pieces), items), axes)

    def viewed(self, r: Ref, extents: Extents) -> bool:
        """Whether `r` is spelled without integer arrays."""
        if distinct(r.subscripts):
            return True
        pieces = self.pieces(r, extents)
        return in_slices(pieces) is not None or self._diagonal(Var(r.name), pieces) is not None

    def no_slices(self, r: Ref, extents: Extents) -> list[int]:
        """The axes in which `r` is written to at a number that may be outside, and not as a slice, of nothing where the
        axis ends before: integer arrays in other axes forbid it."""
        found = [
            k
            for k, (s, axis) in enumerate(zip(r.subscripts, self.tensors[r.name].shape, strict=True))
            if self._number(s) and not self._of_turn(s) and not self.sizes.inside(s, axis, extents)
        ]
        return [] if not found or self.viewed(r, extents) else found

    def axes(self, e: Equation, r: Ref) -> tuple[Index, ...]:
        """The indices of an element in the order in which its array has them; those that are certain."""
        if distinct(r.subscripts) or r.name not in self.tensors:
            return labels(r)
        extents = dict(e.box)
        pieces = self.pieces(r, extents)
        slices = in_slices(pieces)
        if slices is not None:
            return self._in_rows(Var(r.name), r, slices, extents).labels
        several = len(indices(*(s for s in r.subscripts if not isinstance(s, Index)))) != 1
        return labels(r) if several else self.arrays(*_standing(r, pieces), indices(*r.subscripts), extents)[1]

    # one axis

    def pieces(self, r: Ref, extents: Extents) -> list[Piece | None]:
        """How each axis of `r` is indexed without integer arrays; None where it cannot be."""
        shape = self.tensors[r.name].shape
        return [self._piece(s, axis, extents, r.name in self.pads) for s, axis in zip(r.subscripts, shape, strict=True)]

    def _piece(self, s: Expr, axis: Expr, extents: Extents, safe: bool) -> Piece | None:
        if isinstance(s, Index):
            if equal(*map(self.sizes.exact, (extents[s], axis))):
                return Run(s, ALL)
            inside = safe or self.sizes.inside(s, axis, extents)
            return Run(s, self.span(ZERO, ONE, extents[s], axis, s)) if inside else None
        if not indices(s):
            if any(r.subscripts for r in refs(s)):
                return None
            if any(r.name in self.tensors for r in refs(s)):  # checked before anything runs
                return Point(Single(self._subscript(s, (), extents).array))
            sure = self._of_turn(s) or self.sizes.inside(s, axis, extents)
            return Point(s) if sure else Perhaps(Slice(None if s is ZERO else s, tidy(s + 1)))
        turned = self._turned(s, axis, extents)
        if turned is not None:
            return turned
        form = linear(s)
        if form is None or not (safe or self.sizes.inside(s, axis, extents)):
            return None
        if len(form.steps) == 1:
            return self._run(form, axis, extents)
        return self._split(form, axis, extents) or self._moving(form, axis, extents)

    def _run(self, form: Linear, axis: Expr, extents: Extents) -> Run | None:
        ((i, step),) = form.steps
        extent = extents[i]
        if is_exact(step) and value_of(step) < 0:
            low = tidy(form.offset + step * (extent - 1))
            if step is const(-1) and low is ZERO and equal(extent, axis):
                return Run(i, Slice(None, None, step))
            return Run(i, self.span(low, -step, extent, axis, i), back=True)
        if not self.sizes.positive(step):
            return None
        return Run(i, self.span(form.offset, step, extent, axis, i))

    def span(self, start: Expr, step: Expr, extent: Expr, axis: Expr, i: Index) -> Slice:
        """The slice of `extent` elements, `step` apart, from `start` on in an axis; of none where that is negative."""
        first = None if start is ZERO else start
        by = None if step is ONE else step
        if self._reaches(extent, step, axis - 1 - start):
            return Slice(first, None, by)
        short = tidy(axis - start - extent)
        if by is None and is_exact(short) and value_of(short) > 0:
            return Slice(first, const(-int(value_of(short))))  # of an axis too short for it, nothing
        behind = step * self.sizes.count(i, extent)
        inside = is_exact(start) and is_exact(step) and value_of(start) < value_of(step)
        return Slice(first, behind if first is None or inside else start + behind, by)

    def _reaches(self, extent: Expr, step: Expr, room: Expr) -> bool:
        """Whether `extent` is how many places, `step` apart, there are in 0, ..., room."""
        reach = quotient(extent, step)
        return (reach is not None and equal(reach, room)) or equal(step * (extent - 1), room)

    def _turned(self, s: Expr, axis: Expr, extents: Extents) -> Turned | None:
        if not (isinstance(s, Apply) and s.op == "mod" and equal(s.args[1], axis)):
            return None
        form = linear(s.args[0])
        if form is None or len(form.steps) != 1 or form.steps[0][1] is not ONE:
            return None
        i = form.steps[0][0]
        return Turned(i, form.offset) if equal(extents[i], axis) else None

    def _split(self, form: Linear, axis: Expr, extents: Extents) -> Split | None:
        """Mixed radix: each step is the number of points of the indices behind it."""
        left = list(form.steps)
        order: list[Index] = []
        total: Expr = ONE
        while left:
            found = next((k for k, (_, step) in enumerate(left) if equal(step, total)), None)
            if found is None:
                return None
            i, _ = left.pop(found)
            order.insert(0, i)
            total = total * extents[i] if is_exact(total) else extents[i] * total  # 2 * (h // 2)
        if not all(self.sizes.not_negative(extents[i]) for i in order):
            return None
        total = self.sizes.exact(total)
        if form.offset is ZERO and equal(total, axis):
            return Split(tuple(order), ALL)
        return Split(tuple(order), self.span(form.offset, ONE, total, axis, order[0]))

    def _moving(self, form: Linear, axis: Expr, extents: Extents) -> Moving | None:
        if len(form.steps) != 2:
            return None
        found = []
        for (i, step), (r, spread) in permutations(form.steps):
            back = is_exact(spread) and value_of(spread) < 0
            apart = -spread if back else spread
            if not (self.sizes.positive(step) and self.sizes.positive(apart)):
                continue
            start = tidy(form.offset + spread * (extents[r] - 1)) if back else form.offset
            room = axis - start - 1 - apart * (extents[r] - 1)
            # a window of nothing fits also where the axis ends before `start`
            fits = any(map(self.sizes.not_negative, (axis - start, extents[r] - 1)))
            full = fits and self._reaches(extents[i], step, room)
            count = None if full else self.sizes.count(i, extents[i])
            cut = ALL if start is ZERO else Slice(start)
            simple = isinstance(extents[r], Ref) or is_exact(extents[r])
            rank = (not full, not simple, step is ONE and spread is not ONE)
            found.append((rank, Moving(i, r, cut, extents[r], step, apart, back, count)))
        if not found:
            return None
        _, best = min(found, key=lambda pair: pair[0])
        return replace(best, size=self.sizes.count(best.inner, best.size))

    # all axes

    def _in_rows(self, base: Array, r: Ref, pieces: Sequence[Piece], extents: Extents) -> Value:
        """`base` read in these pieces; in the rows of a reshape, where windows lie in one of them each."""
        found: list[Piece] = []
        shape: list[Expr] = []
        for s, axis, piece in zip(r.subscripts, self.tensors[r.name].shape, pieces, strict=True):
            rows = self._row_of(s, axis, extents) if isinstance(piece, Moving) and r.name not in self.pads else None
            found += [piece] if rows is None else [Run(rows[0], ALL), rows[2]]
            shape += [axis] if rows is None else [extents[rows[0]], rows[1]]
        if len(found) > len(pieces):
            base = Reshape(base, tuple(shape), split=True)
        return self._assembled(base, found, extents)

    def _row_of(self, s: Expr, axis: Expr, extents: Extents) -> tuple[Index, Expr, Piece] | None:
        """The index of the row, the length of one, and how `s` goes on in it; None where it leaves a row."""
        form = linear(s)
        for i, step in () if form is None else form.steps:
            full = equal(step * extents[i], axis) and all(map(self.sizes.not_negative, (step, extents[i])))
            inner = self._piece(tidy(substitute(s, {i: ZERO})), step, extents, False) if full else None
            if isinstance(inner, Run):
                return i, step, inner
        return None

    def _assembled(self, base: Array, pieces: Sequence[Piece], extents: Extents) -> Value:
        if isinstance(base, Pad):
            base, pieces = _before_border(base, pieces)
        items: list[Item] = [p.item for p in pieces]
        array = _cut(base, items, pieces)
        left = [p for p in pieces if not isinstance(p, Point)]
        array = self._total(array, left)
        standing = [p for p in left if not isinstance(p, Perhaps)]
        if any(isinstance(p, Run) and p.back for p in standing):
            turned: list[Item] = [BACK if isinstance(p, Run) and p.back else ALL for p in standing]
            array = _cut(array, turned, standing)
        for k, p in enumerate(standing):
            if isinstance(p, Turned):
                packed = any(isinstance(a, Run) and is_pack(a.index) for a in standing)
                array = Roll(array, tidy(-p.shift), k - len(standing) if packed else k)
        axes: list[Index] = []
        for p in standing:
            axes += p.indices if isinstance(p, Split) else [p.index]
        if any(isinstance(p, Split) for p in standing):
            moving = {p.index for p in standing if isinstance(p, Moving)}
            if moving:  # the length of an axis that is still to be cut into windows is not that of its index
                return self._assembled_late(array, standing, extents)
            array = Reshape(array, tuple(self.sizes.count(i, extents[i]) for i in axes), split=True)
        return self._windows(array, axes, [p for p in standing if isinstance(p, Moving)])

    def _total(self, array: Array, pieces: Sequence[Piece | None]) -> Array:
        """Without the axes of one element or none: it is their sum."""
        places = [k for k, p in enumerate(pieces) if isinstance(p, Perhaps)]
        if not places:
            return array
        if len(places) == len(pieces):
            return Reduce("any" if self.boolean(array) else "sum", array, None)
        packed = any(isinstance(p, Run) and is_pack(p.index) for p in pieces)
        axes = tuple(k - len(pieces) if packed else k for k in places)
        return Reduce("any" if self.boolean(array) else "sum", array, axes)

    def _assembled_late(self, array: Array, standing: Sequence[Piece], extents: Extents) -> Value:
        """Windows first, then the axes that are split."""
        moved = [p for p in standing if not isinstance(p, (Point, Perhaps))]
        axes = [p.indices[0] if isinstance(p, Split) else p.index for p in moved]
        value = self._windows(array, axes, [p for p in standing if isinstance(p, Moving)])
        split = {p.indices[0]: p.indices for p in standing if isinstance(p, Split)}
        whole = tuple(i for a in value.labels for i in split.get(a, (a,)))
        return Value(Reshape(value.array, tuple(self.sizes.count(i, extents[i]) for i in whole)), whole)

    def _windows(self, array: Array, axes: list[Index], moving: Sequence[Moving]) -> Value:
        for p in moving:
            place = axes.index(p.index)
            packed = any(is_pack(i) for i in axes)
            array = Windows(array, place - len(axes) if packed else place, p.size, p.step, p.dilation)
            axes = [*axes, p.inner]
        trimmed: list[Item] = [ALL for _ in axes]
        for p in moving:
            if p.count is not None:
                trimmed[axes.index(p.index)] = Slice(None, p.count)
            if p.back:
                trimmed[axes.index(p.inner)] = BACK
        return Value(taken(array, trimmed_items(packed_items(trimmed, axes))), tuple(axes))

    def _diagonal(self, base: Array, pieces: Sequence[Piece | None]) -> Value | None:
        """`x[i, i]`, and nothing else special."""
        shared = shared_by(pieces)
        if not all(isinstance(p, Run) and p.item is ALL for p in pieces) or len(shared) != 1:
            return None
        runs = [p.index for p in pieces if isinstance(p, Run)]
        (i,) = shared
        places = [k for k, a in enumerate(runs) if a is i]
        if len(places) != 2:
            return None
        if any(is_pack(a) for a in runs):
            places = [k - len(runs) for k in places]
        return Value(Diagonal(base, places[0], places[1]), (*(a for a in runs if a is not i), i))

    # integer arrays

    def arrays(
        self, subscripts: Sequence[Expr], pieces: Sequence[Piece | None], order: Sequence[Index], extents: Extents
    ) -> tuple[tuple[Item, ...], tuple[Index, ...]]:
        """Integer arrays; slices stay beside them where the axes of the result are then in a known order."""
        order = sorted(order, key=lambda i: not is_pack(i))
        shared = shared_by(pieces)
        advanced = [
            k
            for k, p in enumerate(pieces)
            if not (isinstance(p, Run) and not p.back and p.item != BACK and p.index not in shared)
        ]
        advanced = [k for k in advanced if isinstance(subscripts[k], Index) or indices(subscripts[k])] or advanced
        mine = [i for i in order if any(i in indices(subscripts[k]) for k in advanced)]
        runs = {k: p for k, p in enumerate(pieces) if k not in advanced and isinstance(p, Run)}
        adjacent = advanced == list(range(advanced[0], advanced[-1] + 1))
        behind = any(map(is_pack, mine)) and any(k < advanced[0] for k in runs)  # the axes of a pack come first
        others = len(runs) + len(advanced) < len(pieces) or any(p.index in mine for p in runs.values())
        if behind or others or not adjacent:
            runs = {k: p for k, p in runs.items() if is_pack(p.index) and p.index not in mine}
            left = {p.index for p in runs.values()}
            mine = [i for i in order if i in indices(*subscripts) and i not in left]
        items: list[Item] = []
        for place, s in enumerate(subscripts):
            if place in runs:
                items.append(runs[place].item)
            elif isinstance(s, Index) and is_pack(s):
                items.append(PackPlaces(tuple(extents[i] for i in mine), len(mine) - 1))
            else:
                items.append(self._placed(subscripts, place, mine, extents))
        before = [p.index for k, p in runs.items() if k < advanced[0]]
        after = [p.index for k, p in runs.items() if k > advanced[-1]]
        return trimmed_items(packed_items(items, subscripts)), (*before, *mine, *after)

    def _placed(self, subscripts: Sequence[Expr], place: int, mine: Sequence[Index], extents: Extents) -> Array:
        """The subscript at `place` as an array over the axes `mine`."""
        value = self._subscript(subscripts[place], mine, extents)
        found = self.laid(value, mine).array
        others = [*subscripts[:place], *subscripts[place + 1 :]]
        lacks = others == [*mine]
        own = [*subscripts[:place], *mine[place : place + 1], *subscripts[place + 1 :]] == [*mine]
        if not value.axes and not plain_number(found):
            return Single(found)
        if not others or not (lacks or own) or not {*mine} <= {*value.axes} or isinstance(subscripts[place], Index):
            return found
        return Along(found, place - len(subscripts) if any(map(is_pack, mine)) else place, lacks)

    def _subscript(self, s: Expr, order: Sequence[Index], extents: Extents) -> Value:
        value = self.real(self._evaluated(s, order, extents))
        return Value(whole(value.array), value.axes)


def in_slices(pieces: Sequence[Piece | None]) -> list[Piece] | None:
    """The pieces, if they are all that it takes; None where there must be integer arrays."""
    known = [p for p in pieces if p is not None]
    return known if len(known) == len(pieces) and not shared_by(pieces) else None


def shared_by(pieces: Sequence[Piece | None]) -> set[Index]:
    """The indices that stand in more than one axis."""
    found: list[Index] = []
    for p in pieces:
        match p:
            case Run(index=i) | Turned(index=i):
                found.append(i)
            case Split(indices=several):
                found += several
            case Moving(index=i, inner=r):
                found += [i, r]
            case _:
                pass
    return {i for i in found if found.count(i) > 1}


def _standing(r: Ref, pieces: Sequence[Piece | None]) -> tuple[list[Expr], list[Piece | None]]:
    """The subscripts of an element and their pieces, without the axes of one element or none."""
    pairs = [pair for pair in zip(r.subscripts, pieces, strict=True) if not isinstance(pair[1], Perhaps)]
    return [s for s, _ in pairs], [p for _, p in pairs]


def _cut(base: Array, items: Sequence[Item], pieces: Sequence[Piece | None]) -> Array:
    axes = [p.index if isinstance(p, Run) else None for p in pieces]
    return taken(base, trimmed_items(packed_items(items, axes)))


def _before_border(base: Pad, pieces: Sequence[Piece]) -> tuple[Array, list[Piece]]:
    """A row of what has a border is the row of what has none with a border of its own; and the pieces of that."""
    pairs = [*zip(pieces, base.widths, strict=True)]
    left = [(p, w) for p, w in pairs if not isinstance(p, Point) or w != (ZERO, ZERO)]
    if not left or len(left) == len(pairs):
        return base, [*pieces]
    row = _cut(base.base, [ALL if pair in left else pair[0].item for pair in pairs], pieces)
    return replace(base, base=row, widths=tuple(w for _, w in left)), [p for p, _ in left]


def trimmed_items(items: Sequence[Item]) -> tuple[Item, ...]:
    """Items without the whole axes at the end."""
    kept = list(items)
    while "..." not in kept and len(kept) > 1 and kept[-1] is ALL:
        kept.pop()
    return tuple(kept)
