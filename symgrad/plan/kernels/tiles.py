"""Sums of products, in tiles.

A program has a tile of the results, and walks along what is summed over: in each block it multiplies a tile of `left`
by one of `right`. What is computed of the sums element by element is computed where they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence, Set
from functools import reduce

from ...expr import Const, Expr, Index, apply
from ...ir import Box, Equation
from ...records import dataclass, replace
from ..program import Item, Procedure, Program, Recurrence, Step, read_by
from .axes import named_alike
from .data import Kernel, box_of
from .products import Product, product_of
from .scans import scan
from .stages import Choice, kernels, picks
from .streams import Planes


@dataclass(frozen=True, slots=True)
class Tiles(Kernel):
    """One launch for products, and for what is computed of them element by element; each program has one of the rows.

    tiles  the two indices of which it has a block
    """

    tiles: Box = ()

    @property
    def flat(self) -> bool:
        """Programs have no block of rows."""
        return False

    @property
    def products(self) -> tuple[tuple[Step, Equation, Product], ...]:
        """The equations that are walks."""
        found = ((s, e, product_of(e)) for s in self.steps for e in s.equations)
        return tuple((s, e, p) for s, e, p in found if p is not None)

    @property
    def longest(self) -> Expr:
        """The longest walk."""
        extents = dict.fromkeys(p.terms[-1][1] for _, _, p in self.products)
        return reduce(lambda a, b: apply("maximum", a, b), extents)

    @property
    def box(self) -> Box:
        """Every index, with its extent."""
        return tuple(box_of([e for s in self.steps for e in s.equations]).items())


def launches(program: Program, procedure: Procedure, kept: Collection[str] = ()) -> tuple[Choice, ...]:
    """The kernels of forward or of backward in order, those of products among them; as `kernels` without any.

    program  without packs: what `flatten` returns
    kept     what stays in memory; without any, what is returned or saved
    """
    kept = {*kept} or {*procedure.returns, *(program.saved if procedure is program.forward else ())}
    items = [item for item in procedure.steps if isinstance(item, Step)]
    if len(items) < len(procedure.steps):
        return tuple(_around_loops(program, procedure, kept))
    if not any(map(_is_tiled, items)):
        return kernels(program, procedure, kept)
    named = {i.name for e in procedure.equations for i, _ in e.box}
    alike = named_alike(items, program.names - named, procedure.planes)
    steps = [s for step in alike for s in _by_place(step)]
    return tuple(_in_order(program, procedure, steps, kept, Planes(steps, procedure.planes)))


def _around_loops(program: Program, procedure: Procedure, kept: Set[str]) -> Iterator[Choice]:
    """The kernels of recurrences, and those of what stands between them."""
    there = set[str]()
    waiting = [*procedure.steps]

    def some(items: Sequence[Item], more: Collection[str] = ()) -> Iterator[Choice]:
        own = {n for item in items for n in item.targets}
        there.update(own)
        if items:
            needed = {*kept, *more, *read_by(*waiting)} & own
            yield from launches(program, replace(procedure, steps=tuple(items)), needed)

    while loops := [k for k, item in enumerate(waiting) if isinstance(item, Recurrence)]:
        before = [item for item in waiting[: loops[0]] if isinstance(item, Step)]
        loop, waiting = waiting[loops[0]], [*waiting[loops[0] + 1 :]]
        assert isinstance(loop, Recurrence)
        waiting[:0] = loop.last
        made, around = scan(program, procedure, loop, kept, there, before, waiting)
        before = [s for s in before if s.target not in around.taken]
        waiting = [item for item in waiting if around.taken.isdisjoint(item.targets)]
        yield from some([*before, *around.outside], {r.name for s in made.steps for e in s.equations for r in e.reads})
        there.update(made.results)
        yield ((made,), ())
    yield from some(waiting)


def _in_order(
    program: Program, procedure: Procedure, steps: Sequence[Step], kept: Set[str], planes: Planes
) -> Iterator[Choice]:
    """Kernels of what needs no product that waits, then those of products that are ready, and again."""
    waiting = [s for s in steps if s.target not in planes.steps]
    while waiting:
        blocked = _behind(waiting, lambda s: _is_tiled(s) or bool(planes.below(s)))
        now = [s for s in waiting if s.target not in blocked]
        waiting = [s for s in waiting if s.target in blocked]
        if now:
            yield from kernels(program, replace(procedure, steps=tuple(now)), kept | planes.needed(*waiting))
        while group := planes.ready(waiting):
            waiting = [s for s in waiting if s not in group]
            yield (planes.kernel(group, steps, kept | planes.needed(*waiting)),), ()
        there = {s.target for s in waiting}
        for s in [s for s in waiting if planes.below(s) and there.isdisjoint(planes.needed(s))]:
            waiting = [x for x in waiting if x is not s]
            yield _tiles([*planes.below(s), s], {s.target})
        blocked = _behind(waiting, lambda s: bool(planes.below(s)))
        for group in _groups([s for s in waiting if s.target not in blocked]):
            waiting = [s for s in waiting if s not in group]
            yield _tiles(group, kept | planes.needed(*waiting))


def _behind(steps: Sequence[Step], first: Callable[[Step], bool]) -> Set[str]:
    """What some of the steps compute, and what is computed of that."""
    found = set[str]()
    for s in steps:
        found |= {s.target} if first(s) or not found.isdisjoint(read_by(s)) else set()
    return found


def _tiles(group: Sequence[Step], stored: Set[str]) -> Choice:
    """The kernel of products that have tiles in common."""
    (tiles, *_) = (p.tiles for s in group for e in s.equations if (p := product_of(e)))
    shown = group[0].equations[0].shown
    box = tuple((i, n) for t in tiles for i, n in shown if i is t)
    results = tuple(s.target for s in group if s.target in stored)
    rows = tuple(pair for pair in shown if pair not in box)
    return (Tiles(rows, (), tuple(group), results, tiles=box),), ()


def _groups(waiting: Sequence[Step]) -> list[list[Step]]:
    """The products that are ready, each with what is computed of it element by element; those of which something is
    computed together are together."""
    there = Counter(s.target for s in waiting)
    groups: dict[str, list[Step]] = {}
    for s in waiting:
        needed = read_by(s) & there.keys()
        if _is_tiled(s) and not needed:
            groups[s.target] = [*groups.get(s.target, ()), s]
        elif needed and needed <= groups.keys() and all(there[n] == 1 for n in (*needed, s.target)):
            own = [*{id(groups[n]): groups[n] for n in sorted(needed)}.values()]
            if len({_space(t[0]) for t in own}) == 1 and _is_beside(s, own[0][0]):
                joined = sorted((*(x for t in own for x in t), s), key=waiting.index)
                groups |= dict.fromkeys((x.target for x in joined), joined)
    found = {id(g): g for g in groups.values()}
    return [[s] for g in found.values() if there[g[0].target] > 1 for s in g] + [
        g for g in found.values() if there[g[0].target] == 1
    ]


def _space(step: Step) -> tuple[Set[Index], tuple[Index, Index]]:
    """What the tiles of a step of products are of."""
    (found, *_) = (p for e in step.equations if (p := product_of(e)))
    return frozenset(i for i, _ in step.equations[0].shown), found.tiles


def _is_beside(step: Step, other: Step) -> bool:
    """Whether a step has an element for each one of a step of products, computed of what stands at the same place; or
    adds to the one of a row that data tell."""
    own = {i for i, _ in other.equations[0].shown}
    at = other.equations[0].subscripts
    for e in step.equations:
        read = [s for r in e.reads for s in r.subscripts]
        first = step.equations[0]
        here = {i for i, _ in e.box} == own if e.subscripts == at else first.subscripts == at and picks(first, e)
        if e.reduce != "none" or e.matrix or not here:
            return False
        if not all(isinstance(s, (Index, Const)) for s in read):
            return False
        if any(r.name == other.target and r.subscripts != at for r in e.reads):
            return False
    return True


def _by_place(step: Step) -> list[Step]:
    """A step of products, one for each part of the tensor that it writes."""
    places = dict.fromkeys(e.subscripts for e in step.equations)
    parts = [replace(step, equations=tuple(e for e in step.equations if e.subscripts == at)) for at in places]
    return parts if all(map(_is_tiled, parts)) else [step]


def _is_tiled(step: Step) -> bool:
    """Whether it is computed in tiles: products of the same ones, and terms beside them."""
    found = [product_of(e) for e in step.equations]
    rest = replace(step, equations=tuple(e for e, p in zip(step.equations, found, strict=True) if p is None))
    return len({p.tiles for p in found if p is not None}) == 1 and _is_beside(rest, step) and (
        len({e.subscripts for e in step.equations}) == 1)
