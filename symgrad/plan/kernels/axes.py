"""One name for an index wherever it runs along the same axis."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from itertools import count

from ...expr import Expr, Index, index, ref, substitution
from ...expr.names import numbered
from ...ir import Equation
from ...records import replace
from ..loops.data import Rewriter
from ..program import Step

Place = tuple[int, Index]  # an index of an equation, by the number of that


def named_alike(steps: Sequence[Step], taken: Collection[str], planes: Collection[str] = ()) -> tuple[Step, ...]:
    """The steps, with one index for what runs along one axis: of a plane, of another tensor that is computed, of one
    that is given, and of equal length, as far as no equation has two of them.

    taken   the names that stand for something else
    planes  what is computed where it is read, and must have the same indices there
    """
    equations = [e for step in steps for e in step.equations]
    axes = _Axes(equations)
    for group in (*_along(equations, {s.target for s in steps}, planes), *_of_length(equations)):
        axes.join(group)
    names = axes.names(taken)
    numbers = count()

    def renamed(e: Equation) -> Equation:
        k = next(numbers)
        new: dict[Expr, Expr] = {i: names[axes.root((k, i))] for i, _ in e.box}
        return Rewriter(substitution(new)).equation(e)

    return tuple(replace(step, equations=tuple(map(renamed, step.equations))) for step in steps)


def _along(equations: Sequence[Equation], computed: Collection[str], planes: Collection[str]) -> list[list[Place]]:
    """The indices that stand alone at each axis of each tensor, those of planes first, then of what is computed."""
    found: dict[tuple[int, str, int], list[Place]] = defaultdict(list)
    for k, e in enumerate(equations):
        own = {i for i, _ in e.box}
        for r in (ref(e.target, *e.subscripts), *e.reads):
            for axis, s in enumerate(r.subscripts):
                if isinstance(s, Index) and s in own:
                    found[(r.name not in planes) + (r.name not in computed), r.name, axis].append((k, s))
    return [found[key] for key in sorted(found, key=lambda key: key[0])]


def _of_length(equations: Sequence[Equation]) -> list[list[Place]]:
    found: dict[Expr, list[Place]] = defaultdict(list)
    for k, e in enumerate(equations):
        for i, extent in e.box:
            found[extent].append((k, i))
    return list(found.values())


class _Axes:
    """Sets of indices that are the same."""

    def __init__(self, equations: Sequence[Equation]) -> None:
        self._extents = {(k, i): extent for k, e in enumerate(equations) for i, extent in e.box}
        self._parents: dict[Place, Place] = {place: place for place in self._extents}
        self._in: dict[Place, set[int]] = {place: {place[0]} for place in self._extents}  # equations, of each set

    def root(self, place: Place) -> Place:
        """What stands for a set."""
        while self._parents[place] != place:
            place = self._parents[place]
        return place

    def join(self, places: Sequence[Place]) -> None:
        """Make one set of what is equally long, and in no equation twice."""
        for first, second in ((places[0], other) for other in places[1:]):
            a, b = self.root(first), self.root(second)
            if a != b and self._in[a].isdisjoint(self._in[b]) and self._extents[a] is self._extents[b]:
                a, b = min(a, b, key=self._order), max(a, b, key=self._order)
                self._parents[b] = a
                self._in[a] |= self._in.pop(b)

    @staticmethod
    def _order(place: Place) -> tuple[int, str]:
        return place[0], place[1].name

    def names(self, taken: Collection[str]) -> dict[Place, Index]:
        """An index for each set: that of its first equation, where it is free."""
        used = {*taken}
        found: dict[Place, Index] = {}
        for place in sorted(self._in, key=self._order):
            name, _ = numbered(place[1].name, used)
            used.add(name)
            found[place] = index(name)
        return found
