"""Checkpoints: a recurrence of T steps in segments, so that backward holds the states of one segment.

Forward keeps the state at the begin of each segment of N steps, and the last one. Backward goes through the segments
from the last: it computes the states of one again from its checkpoint, then the gradients of its steps. So three loops
nest in what was one: over the segments, and in each of them over its steps, upwards and downwards.

What is computed for each step, in the loop or from what it computes, is computed in that loop: its memory has room for
the steps of one segment, and a sum over all steps is added to step by step.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field

from ..domain import Facts
from ..errors import UnsupportedError
from ..expr import ZERO, Const, Expr, Index, Ref, apply, const, index, indices, ref, refs, show, substitute, transform
from ..expr.names import Names
from ..expr.sizes import as_integer, count, terms, tidy
from ..ir import (
    Equation,
    Function,
    Tensor,
    below,
    by_target,
    components,
    covers,
    disjoint,
    distinct,
    reached,
    scheduled,
    show_element,
)
from ..ir import Recurrence as FoundLoop
from ..records import dataclass, replace
from .program import Item, Recurrence, Step
from .steps import Planner


class NoCheckpoints(Exception):
    """Why a recurrence has no checkpoints."""


@dataclass
class Segments:
    """The recurrence of a function that has checkpoints.

    every   the steps of one segment; `named` in print, where that is no number
    extent  all steps
    axes    tensor -> the axis that counts the steps, for what has memory for one segment
    held    tensor -> the elements beyond one per step that it has: what one segment leaves to the next one
    kept    tensor -> where those stand between two segments: a checkpoint for what forward computes
    """

    primal: Function
    every: Expr
    extent: Expr
    tensors: dict[str, Tensor]
    names: Names
    recurrent: tuple[str, ...]
    axes: dict[str, int] = field(default_factory=dict)
    held: dict[str, int] = field(default_factory=dict)
    kept: dict[str, str] = field(default_factory=dict)
    writers: dict[str, list[Equation]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.segment = index(self.names.new("segment"))
        self.step = index(self.names.new("step"))
        self.named = () if isinstance(self.every, Const) else ((self.names.new("every"), self.every),)
        self.count = apply("floordiv", self.extent, self.every) + 1  # no steps are left for the last one if it fits
        self.length = apply("minimum", self.every, self.extent - self.every * self.segment)

    # which equations are of the loop, and where they read

    def counted(self, e: Equation) -> Index | None:
        """The index of an equation that counts the steps; None for what is computed before the loop, or after it."""
        found: dict[Index, None] = {}
        for name, subscripts in _elements(e):
            if name in self.axes:
                place = subscripts[self.axes[name]]
                found.update((i, None) for i in indices(place))
        if len(found) > 1:
            raise NoCheckpoints(f"{_shown(e)} reads it at several places at once")
        for i in found:
            if i not in dict(e.box):
                raise NoCheckpoints(f"{_shown(e)} reads it at a place told by data")
            return i
        return None

    def follow(self, equations: Sequence[Equation], inner: Collection[str]) -> None:
        """Find what of `inner` has an axis that counts the steps because the loop reads or writes it there."""
        while True:
            before = len(self.axes)
            for e in equations:
                i = self.counted(e)
                for name, subscripts in _elements(e) if i is not None else ():
                    near = [a for a, s in enumerate(subscripts) if i in indices(s)]
                    if name in inner and name not in self.axes and near:
                        self.axes[name] = near[0]
            if len(self.axes) == before:
                break
        for name, axis in self.axes.items():
            more = as_integer(self.tensors[name].shape[axis] - self.extent)
            if more is None or more < 0:
                size, steps = show(self.tensors[name].shape[axis]), show(self.extent)
                raise NoCheckpoints(f"{name} has {size} elements, which are not its {steps} steps and a few more")
            self.held[name] = more

    def peeled(self, equations: Sequence[Equation]) -> list[Equation]:
        """The equations of the loop over its steps, those of further elements each for itself."""
        found = []
        for e in equations:
            i = self.counted(e)
            if i is None:
                found.append(e)
                continue
            more = as_integer(dict(e.box)[i] - self.extent)
            if e.when or e.matrix is not None or more is None or more < 0:
                raise NoCheckpoints(f"{_shown(e)} is not computed once for each of its steps")
            if i not in {j for s in e.subscripts for j in indices(s)} and e.reduce != "sum":
                raise NoCheckpoints(f"{_shown(e)} is no sum over its steps")
            found.append(replace(e, box=tuple((j, self.extent if j is i else n) for j, n in e.box)))
            found += [e.at({i: self.extent + j}) for j in range(more)]
        return found

    def written_out(self, equations: Sequence[Equation], lines: Sequence[Equation]) -> list[Equation]:
        """Equations outside of the loop; where an element there is computed by one equation, and no step but its own
        reads what stands there, it is written out, as nothing of a segment is left."""
        once = {name for name in self.axes.keys() - {*self.recurrent} if len(self.writers.get(name, ())) == 1}
        for r in (r for e in lines for r in e.reads if r.name in once):
            if r.subscripts[self.axes[r.name]] is not self.step:
                once.discard(r.name)
        values: dict[Expr, Expr] = {}
        found = []
        for e in (e.mapped(lambda node: substitute(node, values)) for e in equations):
            if e.target in once and not e.box and e.where is None:
                values[ref(e.target, *e.subscripts)] = e.body
            else:
                found.append(e)
        self.held |= {r.name: 0 for r in refs(*values)}
        return found

    def saved(
        self, forward: Sequence[Equation], backward: Sequence[Equation], saved: Sequence[str], again: Sequence[Equation]
    ) -> tuple[list[str], list[Equation]]:
        """What is saved beside checkpoints, and what backward computes again with the steps of a segment.

        saved, again  what that would be without checkpoints
        """
        writers = by_target(forward)
        try:
            self.follow(forward, writers.keys() - {*self.primal.outputs})
        except NoCheckpoints as why:
            raise refused(self.primal, self.recurrent[0], str(why)) from None
        cheap = {e.target for e in again}
        kept: set[str] = set()
        computed: dict[str, list[Equation]] = {}
        stack = [r.name for e in backward for r in e.reads]
        while stack:
            name = stack.pop()
            if name in kept or name in computed or name not in self.tensors or not self.known(name, writers):
                continue
            timed = name in self.axes
            if not timed and (name in saved or name not in cheap):
                kept.add(name)
                continue
            recurrent = name in self.recurrent  # its first elements are in the checkpoints
            computed[name] = [e for e in writers[name] if not recurrent or self.counted(e) is not None]
            stack += [r.name for e in computed[name] for r in e.reads]
        order = [n for n in self.tensors if n in kept]
        order.sort(key=lambda n: (n not in self.primal.inputs, n not in self.primal.outputs))
        return order, [e for e in forward if any(e is other for other in computed.get(e.target, ()))]

    def known(self, name: str, writers: Collection[str]) -> bool:
        """Whether it is a tensor of forward."""
        return name in writers or name in self.primal.inputs

    # elements, as one segment has them

    def local(self, e: Equation, i: Index) -> Equation:
        """An equation at one step of a segment."""
        names: dict[Expr, Expr] = {i: self.every * self.segment + self.step}

        def at(name: str, subscripts: tuple[Expr, ...]) -> tuple[Expr, ...]:
            if name not in self.axes:
                return tuple(substitute(s, names) for s in subscripts)
            axis = self.axes[name]
            offset = as_integer(subscripts[axis] - i)
            if offset is None or not 0 <= offset <= self.held[name]:
                raise NoCheckpoints(f"{_shown(e)} reads {show_element(name, subscripts)}")
            return tuple(self.step + offset if a == axis else substitute(s, names) for a, s in enumerate(subscripts))

        def moved(node: Expr) -> Expr:
            own = {r: ref(r.name, *at(r.name, r.subscripts)) for r in refs(node) if r.name in self.axes}
            return substitute(node, {**names, **own})

        box = tuple((j, extent) for j, extent in e.box if j is not i)
        where = None if e.where is None else moved(e.where)
        return replace(e, subscripts=at(e.target, e.subscripts), body=moved(e.body), where=where, box=box)

    def edge(self, e: Equation, last: bool) -> Equation:
        """An equation outside of the loop: the places there are those that are kept between segments.

        last  whether gradients are asked for at the end, and not at the begin
        """

        def at(name: str, subscripts: tuple[Expr, ...]) -> tuple[str, tuple[Expr, ...]]:
            if name not in self.axes:
                return name, subscripts
            axis, kept = self.axes[name], self.kept.get(name)
            place = subscripts[axis]
            near, far = as_integer(place), as_integer(place - self.extent)
            here, rows = (far if near is None else near), self.held[name]
            if kept is None or here is None or not 0 <= here < rows:
                raise NoCheckpoints(f"{_shown(e)} reads {show_element(name, subscripts)} outside of the loop")
            rest = tuple(s for a, s in enumerate(subscripts) if a != axis)
            row = (const(here),) if rows > 1 else ()
            if name in self.recurrent:
                return kept, (const(0) if near is not None else self.count, *row, *rest)
            if last is not (near is None):
                raise NoCheckpoints(f"{_shown(e)} reads {show_element(name, subscripts)} outside of the loop")
            return kept, (*row, *rest)

        def put(node: Expr) -> Expr:
            if not isinstance(node, Ref):
                return node
            name, subscripts = at(node.name, node.subscripts)
            return ref(name, *subscripts)

        target, subscripts = at(e.target, e.subscripts)
        where = None if e.where is None else transform(e.where, put)
        return replace(e, target=target, subscripts=subscripts, body=transform(e.body, put), where=where)

    def keep(self, name: str, word: str) -> None:
        """Memory for what a tensor leaves to the next segment."""
        axis, tensor, rows = self.axes[name], self.tensors[name], self.held[name]
        if rows and name not in self.kept:
            rest = tuple(n for a, n in enumerate(tensor.shape) if a != axis)
            segments = (tidy(self.count + 1),) if name in self.recurrent else ()
            self.kept[name] = new = self.names.new(f"{name}_{word}")
            shape = (*segments, *((const(rows),) if rows > 1 else ()), *rest)
            self.tensors[new] = replace(tensor, name=new, shape=shape, named=False)

    def start(self, kept: str, edges: Sequence[Equation]) -> Step:
        """What is kept before the first segment; of checkpoints the other ones are written by the loop."""
        rows = [replace(e, subscripts=e.subscripts[1:]) for e in edges]
        checkpoints = kept in self.checkpoints and covers(rows, self.tensors[kept].shape[1:])
        return Step(kept, tuple(edges), how="write" if checkpoints else "fill", begins=checkpoints or not edges)

    def free(self, name: str) -> list[Index]:
        """Indices for the other axes of a tensor: those that its equations have, if they have some."""
        axis = self.axes[name]
        for e in self.writers.get(name, ()):
            others = [s for a, s in enumerate(e.subscripts) if a != axis]
            if distinct(others):
                return [s for s in others if isinstance(s, Index)]
        return [index(self.names.new("ijklm"[a % 5])) for a in range(len(self.tensors[name].shape) - 1)]

    def handed(self, name: str, to: bool, place: Expr, turn: Expr, serves: Mapping[str, tuple[str, ...]]) -> Step:
        """What is kept goes `to` the memory of a segment, or comes from there, at a place on; of that turn."""
        axis, rows, tensor = self.axes[name], self.held[name], self.tensors[name]
        free = self.free(name)
        box = tuple(zip(free, (n for a, n in enumerate(tensor.shape) if a != axis), strict=True))
        found = []
        for j in range(rows):
            inside = (*free[:axis], place + j, *free[axis:])
            segments = (turn,) if name in self.recurrent else ()
            outside = (*segments, *((const(j),) if rows > 1 else ()), *free)
            kept = self.kept[name]
            target, source = ((name, inside), (kept, outside))[:: 1 if to else -1]
            found.append(Equation(target[0], target[1], "none", ref(source[0], *source[1]), box))
        return Step(found[0].target, tuple(found), serves.get(name, ()), how="write")

    @property
    def short(self) -> tuple[Tensor, ...]:
        """The tensors in the memory of one segment."""
        found = []
        for name, axis in self.axes.items():
            shape = list(self.tensors[name].shape)
            shape[axis] = self.every + self.held[name]
            found.append(replace(self.tensors[name], shape=tuple(shape)))
        return tuple(found)

    # loops

    @property
    def checkpoints(self) -> list[str]:
        """The tensors that forward saves."""
        return [self.kept[name] for name in self.recurrent if name in self.kept]

    def forward(self, planner: Planner) -> tuple[Item, ...]:
        """Forward in order, the loop over the segments among what stands around it."""
        return self._named(planner, False)

    def backward(self, planner: Planner) -> tuple[Item, ...]:
        """Backward in order."""
        self.axes = {name: self.axes[name] for name in self.recurrent}
        return self._named(planner, True)

    def _named(self, planner: Planner, backward: bool) -> tuple[Item, ...]:
        try:
            return tuple(self._items(planner, backward))
        except NoCheckpoints as why:
            raise refused(self.primal, self.recurrent[0], str(why)) from None

    def _items(self, planner: Planner, backward: bool) -> list[Item]:
        facts, equations = planner.facts, list(planner.equations)
        serves = {name: planner.served(name) for name in planner.kept}  # what is in between is computed in any case
        self.writers = by_target(equations)
        self.follow(equations, self.writers.keys() - {*planner.kept})
        pairs = [(e, self.counted(e)) for e in self.peeled(equations)]
        lines = [self.local(e, i) for e, i in pairs if i is not None]
        outside = self.written_out([e for e, i in pairs if i is None], lines)
        mine = by_target(lines)
        needing = {g for name in mine for g in planner.served(name)}
        needed = tuple(g for g in planner.gradients if g in needing)
        for name in self.axes:
            if name in self.recurrent or backward:
                self.keep(name, "checkpoints" if name in self.recurrent else "next")
        again: set[str] = reached(below(lines), self.recurrent) if backward else {*mine}
        edges = [self.edge(e, backward) for e in outside if e.target in self.axes]
        ends = [self.edge(e, False) for e in outside if e.target not in self.axes and e.target in mine]
        rest = [self.edge(e, False) for e in outside if e.target not in self.axes and e.target not in mine]
        if backward and again.issuperset(mine):
            return list(planner.steps(rest))  # no step is asked for the states before it
        apart = [kept for name, kept in self.kept.items() if backward is not (name in self.recurrent)]
        reads: dict[str, set[str]] = {name: set() for name in (*mine, *apart)}
        for e in rest:
            reads.setdefault(e.target, set()).update(r.name for r in e.reads)
        late = {e.target for e in rest if not reached(reads, [e.target]).isdisjoint({*mine, *apart})}
        before, after = ([e for e in rest if (e.target in late) is some] for some in (False, True))
        for e in (*edges, *ends, *lines):
            if again_read := late & {r.name for r in e.reads}:
                raise NoCheckpoints(f"{_shown(e)} reads {min(again_read)}, which is computed from its end")

        def begun(name: str) -> Step:
            own, covered = self.writers[name], covers(self.writers[name], self.tensors[name].shape)
            written = name in self.axes or name not in sums and disjoint(own, facts) and covered
            return Step(name, (), serves.get(name, ()), how="write" if written else "fill", begins=True)

        sums = {e.target for e in lines if e.target not in self.axes and self.step not in indices(*e.subscripts)}
        starts = by_target(edges)
        first = [self.start(kept, starts.get(kept, ())) for kept in apart]
        slopes = [n for n in self.axes if n in self.kept and n not in self.recurrent]
        # what several equations add up for a step begins anew in each segment
        added = [n for n in mine if n in self.axes and n not in slopes and not disjoint(self.writers[n], facts)]
        first += [begun(n) for n in (*self.axes, *mine) if (n in mine or n in self.kept) and n not in (*slopes, *added)]
        first = list({step.target: step for step in first}.values())
        if not again.isdisjoint(slopes):
            raise NoCheckpoints(f"{min(again & {*slopes})} has more elements than steps")
        states = [n for n in self.recurrent if n in self.kept]
        zero = const(0)
        turn: list[Item] = [self.handed(n, True, zero, self.segment, serves) for n in states]
        turn += [Step(name, (), serves.get(name, ()), begins=True) for name in added]
        up = self.turn([e for e in lines if e.target in again], True, serves, facts)
        turn += [Recurrence(self.step, self.length, False, (), tuple(up), (), needed)] if up else []
        if not backward:
            turn += [self.handed(n, False, self.length, self.segment + 1, serves) for n in states]
        else:
            for name in slopes:
                turn += [Step(name, (), begins=True), self.handed(name, True, self.length, self.segment, serves)]
            down = self.turn([e for e in lines if e.target not in again], False, serves, facts)
            turn += [Recurrence(self.step, self.length, True, (), tuple(down), (), needed)]
            turn += [replace(self.handed(n, False, zero, self.segment, serves), how="fill") for n in slopes]
        how = {name: "write" if begun(name).how == "write" else "add" for name in by_target(ends)}
        last = [Step(n, tuple(es), serves.get(n, ()), how=how[n]) for n, es in by_target(ends).items()]
        loop = Recurrence(self.segment, self.count, backward, tuple(first), tuple(turn), tuple(last), needed)
        planner.tensors |= {t.name: t for t in self.short}
        planner.turns |= dict.fromkeys(t.name for t in self.short)
        # what the loop reads is computed whenever it is
        read = reached(below(before), {r.name for e in (*edges, *ends, *lines) for r in e.reads})
        steps = planner.steps(before)
        ready = [replace(s, serves=()) if isinstance(s, Step) and s.target in read else s for s in steps]
        return [*ready, loop, *planner.steps(after)]

    def turn(
        self, lines: Sequence[Equation], up: bool, serves: Mapping[str, tuple[str, ...]], facts: Facts
    ) -> list[Step]:
        """What one step computes, each after what it reads."""
        number = {e: n for n, e in enumerate(lines)}
        writers = by_target(lines)
        place = {e: as_integer(e.subscripts[self.axes[e.target]] - self.step) for e in lines if e.target in self.axes}
        reads: dict[int, dict[int, None]] = {number[e]: {} for e in lines}
        for e in lines:
            for r in e.reads:
                for other in writers.get(r.name, ()):
                    if r.name not in self.axes:
                        raise NoCheckpoints(f"{_shown(e)} reads what is summed over its steps")
                    lag = as_integer(r.subscripts[self.axes[r.name]] - self.step) or 0
                    ahead = lag - (place[other] or 0)
                    if ahead == 0:
                        reads[number[e]][number[other]] = None
                    elif (ahead > 0) is up:
                        raise NoCheckpoints(f"{_shown(e)} reads a later step")
        found: list[Step] = []
        for component in components(reads):
            if len(component) > 1 or component[0] in reads[component[0]]:
                raise NoCheckpoints("it advances along several axes")
            e = lines[component[0]]
            inside = e.target in self.axes or self.step in indices(*e.subscripts)
            how = "write" if inside and disjoint(self.writers[e.target], facts) else "add"
            if found and found[-1].target == e.target:
                found[-1] = replace(found[-1], equations=(*found[-1].equations, e))
            else:
                found.append(Step(e.target, (e,), serves.get(e.target, ()), how=how))
        return found


def segments(
    primal: Function,
    forward: Sequence[Equation],
    backward: Sequence[Equation],
    tensors: dict[str, Tensor],
    names: Names,
    every: int | str,
) -> Segments | None:
    """The recurrence of forward whose states backward reads, where forward does not return them; None if there is none.

    every  the steps of a segment; in words, the root of the number of all steps

    Raises UnsupportedError where there is one that has no checkpoints.
    """
    loops = [item for item in scheduled(forward) if isinstance(item, FoundLoop)]
    reads, written = below(forward), {e.target for e in forward}
    read = {r.name for e in backward for r in e.reads}
    found = []
    for loop in loops:
        own = {name for name, _ in loop.axes}
        from_it = {n for n in written & read if not reached(reads, [n]).isdisjoint(own)} - {*primal.outputs}
        needed = any(as_integer(size - loop.extent) is not None for n in from_it for size in tensors[n].shape)
        if (needed or own & from_it) and own.isdisjoint(primal.outputs):
            found.append(loop)
    if not found:
        return None
    if len(found) > 1:
        first, second = (loop.axes[0][0] for loop in found[:2])
        raise refused(primal, first, f"{second} is a recurrence of its own, and one of a function has checkpoints")
    (loop,) = found
    steps = const(every) if isinstance(every, int) else apply("isqrt", _above(loop.extent) + 1)
    return Segments(primal, steps, loop.extent, tensors, names, tuple(dict(loop.axes)), dict(loop.axes))


def _above(extent: Expr) -> Expr:
    """An extent, or a little more that is not negative: T of T - 1."""
    more = tidy(extent + sum((const(-c) for m, c in (terms(extent) or {}).items() if not m and c < 0), ZERO))
    return count(more)


def refused(primal: Function, name: str, why: str) -> UnsupportedError:
    """What is said where a recurrence has no checkpoints."""
    return UnsupportedError(
        f"{primal.name}: there are no checkpoints of {name}: {why}. Without --checkpoint all of its states are saved; "
        f"--save minimal keeps nothing else that can be computed again."
    )


def _elements(e: Equation) -> list[tuple[str, tuple[Expr, ...]]]:
    return [(e.target, e.subscripts), *((r.name, r.subscripts) for r in e.reads)]


def _shown(e: Equation) -> str:
    return show_element(e.target, e.subscripts)
