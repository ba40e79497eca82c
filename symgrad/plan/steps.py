"""Equations -> steps: in which order tensors are computed, in which loops, and for which gradients."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from ..domain import Facts
from ..expr import Index
from ..ir import Dropped, Equation, Tensor, When, below, by_target, covers, disjoint, equations_of, reached, scheduled
from ..ir import Group as Found
from ..ir import Item as FoundItem
from ..ir import Recurrence as FoundLoop
from ..records import replace
from .program import Item, Recurrence, Step


def steps(
    equations: Sequence[Equation],
    gradients: Sequence[str],
    tensors: Mapping[str, Tensor],
    facts: Facts,
    results: Mapping[str, set[tuple[str, bool]]],
    around: Around | None = None,
) -> tuple[tuple[Item, ...], tuple[Tensor, ...]]:
    """The equations by target, each after what it reads; for gradients, in their order as far as that allows.

    facts    what is known of the sizes
    results  what the procedure hands on, and when it must be there
    around   puts a recurrence in segments among what stands around it
    What only one turn of a loop works with loses the axis that counts the turns; these tensors are returned, too.
    """
    equations = sorted(equations, key=lambda e: not e.plain)  # what fills a tensor comes before what adds to it
    planner = Planner(equations, gradients, tensors, facts, results.keys())
    found = _conditions(around(planner) if around else planner.steps(), results)
    return found, tuple(planner.tensors[name] for name in planner.turns)


class Planner:
    """Orders the equations of one procedure."""

    def __init__(
        self,
        equations: Sequence[Equation],
        gradients: Sequence[str],
        tensors: Mapping[str, Tensor],
        facts: Facts,
        kept: Collection[str],
    ) -> None:
        self.equations = equations
        self.gradients = gradients
        self.tensors = dict(tensors)
        self.turns: dict[str, None] = {}  # those that lost an axis
        self.kept, self.facts = kept, facts
        self.serves = _serves(equations, gradients)
        self.readers = _readers(equations)

    def steps(self, equations: Sequence[Equation] | None = None) -> tuple[Item, ...]:
        """All of them, or those of some of the equations."""
        return tuple(
            self._step(item.equations[0].target, item.equations) if isinstance(item, Found) else self._loop(item, {})
            for item in scheduled(self.equations if equations is None else equations, self.gradients)
        )

    def _step(self, target: str, equations: Sequence[Equation], how: str = "fill") -> Step:
        return Step(target, tuple(equations), self.served(target), (), how)

    def served(self, target: str) -> tuple[str, ...]:
        """The gradients that need it."""
        return tuple(self.serves.get(target, ()))

    def _loop(self, found: FoundLoop, outside: Mapping[str, str]) -> Recurrence:
        """The steps of one loop. It owns the memory of what it computes, but for what is local to one turn, and for
        what belongs to a loop around it: `outside` says how that is written."""
        found, local = self._local(found)
        everything = tuple(equations_of(found))
        how, start = dict(outside), {}
        for name, mine in by_target(everything).items():
            if name not in local and name not in outside:
                how[name] = "write" if disjoint(mine, self.facts) else "add"
                start[name] = how[name] if how[name] == "write" and covers(mine, self.tensors[name].shape) else "fill"
        before = by_target(found.first)
        start |= {name: how[name] for name in before if name not in start}
        turn = [self._turn(item, how) for item in found.turn]
        return Recurrence(
            found.index,
            found.extent,
            found.reverse,
            (
                *(replace(self._step(n, before.get(n, ()), h), begins=n not in outside) for n, h in start.items()),
                *(self._turn(item, how) for item in found.early),
            ),
            tuple(item.mapped(lambda e: _at(e, found.index), lambda size: size) for item in turn),
            tuple(self._turn(item, how) for item in found.last),
            self.served(everything[0].target),
        )

    def _turn(self, item: FoundItem, how: Mapping[str, str]) -> Item:
        if isinstance(item, Found):
            target = item.equations[0].target
            return self._step(target, item.equations, how.get(target, "fill"))
        return self._loop(item, how)

    def _local(self, loop: FoundLoop) -> tuple[FoundLoop, set[str]]:
        """The loop with its temporaries of one turn without the axis that counts the turns; and their names."""
        everything = tuple(equations_of(loop))
        readers = _readers(everything)
        mine = by_target(everything)
        dropped: dict[str, tuple[int, ...]] = {}
        for name, axis in loop.axes:
            elsewhere = len(readers.get(name, ())) != len(self.readers.get(name, ()))
            at_once = any({*mine[name]} <= {*equations_of(item)} for item in loop.turn)
            if name in self.kept or elsewhere or not at_once:
                continue
            places = {e.subscripts[axis] for e in mine[name]}
            places |= {r.subscripts[axis] for e in readers.get(name, ()) for r in e.reads if r.name == name}
            if places == {loop.index}:
                dropped[name] = (axis,)
        short = Dropped(dropped)
        self.turns |= dict.fromkeys(dropped)
        self.tensors |= {name: short.tensor(self.tensors[name]) for name in dropped}

        def axes(pairs: Sequence[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
            return tuple((name, axis - (dropped.get(name, (axis,)) < (axis,))) for name, axis in pairs)

        return _mapped(loop, short.equation, axes), set(dropped)


Around = Callable[[Planner], tuple[Item, ...]]
Axes = Sequence[tuple[str, int]]


def _mapped(
    loop: FoundLoop, equation: Callable[[Equation], Equation], axes: Callable[[Axes], tuple[tuple[str, int], ...]]
) -> FoundLoop:
    early, turn, last = (
        tuple(
            Found(tuple(map(equation, item.equations))) if isinstance(item, Found) else _mapped(item, equation, axes)
            for item in some
        )
        for some in (loop.early, loop.turn, loop.last)
    )
    first = tuple(map(equation, loop.first))
    return replace(loop, first=first, early=early, turn=turn, last=last, axes=axes(loop.axes))


def _at(e: Equation, index: Index) -> Equation:
    """The equation at one value of the index of a loop around it."""
    return replace(e, box=tuple((i, extent) for i, extent in e.box if i is not index))


def _readers(equations: Sequence[Equation]) -> dict[str, list[Equation]]:
    """The equations that read each name."""
    found: dict[str, list[Equation]] = {}
    for e in equations:
        for name in dict.fromkeys(r.name for r in e.reads):
            found.setdefault(name, []).append(e)
    return found


def _serves(equations: Sequence[Equation], gradients: Sequence[str]) -> dict[str, list[str]]:
    """The gradients that need each tensor, in their order."""
    reads = below(equations)
    serves: dict[str, list[str]] = {t: [] for t in reads}
    for g in gradients:
        for t in reached(reads, [g]):
            serves[t].append(g)
    return serves


def _conditions(items: Sequence[Item], results: Mapping[str, set[tuple[str, bool]]]) -> tuple[Item, ...]:
    """The steps, each `when` all its equations and all its readers count; for any other reader it is 0."""
    if not any(e.when for item in items for e in item.equations):
        return tuple(items)
    needed: dict[str, set[tuple[str, bool]]] = {t: set(when) for t, when in results.items()}
    found: list[Item] = []
    for item in reversed(items):
        common = set.intersection(*(set(e.when) for e in item.equations))
        for name in item.targets:
            common &= needed.get(name, common)
        when = tuple(w for w in item.equations[0].when if w in common)
        item = item if isinstance(item, Step) else item.mapped(_without(when), lambda s: s)
        found.append(item if item.when == when else replace(item, when=when))
        for e in item.equations:
            for name in {r.name for r in e.reads}:
                needed[name] = needed.get(name, set(e.when)) & set(e.when)
    return tuple(reversed(found))


def _without(when: When) -> Callable[[Equation], Equation]:
    """An equation without conditions that are asked before."""
    return lambda e: replace(e, when=tuple(w for w in e.when if w not in when))
