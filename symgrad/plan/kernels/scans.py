"""Recurrences whose turns read states at the same lane: in one kernel, of which each program has a block of lanes, and
takes the turns one after the other.

A turn reads what the one before has left, at the same place but for the turn: that stays in a register. Memory that is
filled before the loop, and added to in it, is read where the loop comes to it instead.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from ...errors import UnsupportedError
from ...expr import (
    ONE,
    ZERO,
    Expr,
    Index,
    Ref,
    apply,
    conjunction,
    const,
    indices,
    ref,
    refs,
    substitute,
)
from ...expr.sizes import as_integer, count, equal, never_negative
from ...expr.traversal import transformer
from ...ir import Box, Dtype, Equation, covers, show_equation
from ...records import dataclass, replace
from ..program import Item, Procedure, Program, Recurrence, Step
from .axes import named_alike
from .data import Kernel
from .subscripts import at_least_0, short, shortened

Place = tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Scan(Kernel):
    """One launch for a recurrence; its rows are lanes, of which each program has a block.

    index    counts the turns, downwards if `reverse`
    begun    what is computed before the loop: what the first turn reads of the one before it
    turn     what is computed in each turn
    states   what a turn reads of the one before it, by tensors
    last     where these are behind the loop
    unsaid   those of which what is begun is no element of memory, or stands there already
    late     those that a turn adds to when it reads them: they are stored then, and behind the loop
    behind   what is computed behind it
    sums     what is added up over the turns
    there    the results that have memory already
    filled   those of which every element is written
    """

    index: Index | None = None
    extent: Expr = ZERO
    reverse: bool = False
    begun: tuple[Step, ...] = ()
    turn: tuple[Step, ...] = ()
    states: tuple[tuple[str, Ref], ...] = ()
    unsaid: frozenset[str] = frozenset()
    last: tuple[tuple[str, Place], ...] = ()
    late: frozenset[str] = frozenset()
    behind: tuple[Step, ...] = ()
    sums: tuple[Step, ...] = ()
    there: frozenset[str] = frozenset()
    filled: frozenset[str] = frozenset()

    @property
    def first(self) -> Expr:
        """The first turn of a loop downwards."""
        return short(apply("sub", self.extent, ONE))


@dataclass(frozen=True, slots=True)
class Around:
    """What stands around the kernel of a recurrence: steps that must be done before, and those that it has taken in."""

    outside: tuple[Step, ...]
    taken: frozenset[str]


def scan(
    program: Program,
    procedure: Procedure,
    loop: Recurrence,
    kept: Collection[str],
    there: Collection[str],
    before: Sequence[Step],
    after: Sequence[Item],
) -> tuple[Scan, Around]:
    """The kernel of a recurrence, and of what is computed before it and of it element by element.

    kept   what stays in memory
    there  what has memory
    """
    steps = [item for item in after if isinstance(item, Step)]
    others = [item for item in after if not isinstance(item, Step)]
    return _Scan(program, procedure, loop, before, steps, others).kernel(kept, there)


@dataclass(frozen=True, slots=True)
class _Part:
    """What a kernel does for a step that it takes in: `step` in a turn, in each turn for a sum, or behind the loop."""

    kind: str
    step: Step
    said: Step


class _Scan:
    """The lanes and places of a recurrence.

    now   where a turn writes a tensor
    then  where the turn before has written it
    ends  what the index of turns is before the first of them, and in the last one
    """

    def __init__(
        self,
        program: Program,
        procedure: Procedure,
        loop: Recurrence,
        before: Sequence[Step],
        after: Sequence[Step],
        others: Sequence[Item],
    ) -> None:
        self.name, self.loop, self.t, self.others = program.derivative.primal.name, loop, loop.index, others
        self.table = program.table_of(procedure)
        if not all(isinstance(item, Step) for item in (*loop.first, *loop.turn)):
            raise self._refusal("a loop over time inside of another one")
        named = {i.name for e in procedure.equations for i, _ in e.box}
        turn, first = ([item for item in some if isinstance(item, Step)] for some in (loop.turn, loop.first))
        alike = [*named_alike([*turn, *first, *before, *after], {*(program.names - named), self.t.name})]
        sizes = [len(some) for some in (turn, first, before, after)]
        turn, self.first, self.before, self.after = ([alike.pop(0) for _ in range(size)] for size in sizes)
        back = apply("add" if loop.reverse else "sub", self.t, ONE)
        self.back = transformer(None, {self.t: back})
        turns = count(loop.extent)
        self.ends = (turns, ZERO) if loop.reverse else (const(-1), short(apply("sub", turns, ONE)))
        for step in turn:
            self._refuse(step)
        self.now = self._written(turn)
        every = [r for s in turn for e in s.equations for r in (ref(e.target, *e.subscripts), *e.reads)]
        own = {n: tuple(map(self.back, at)) for n, at in self.now.items()}
        self.then = {n: next((r.subscripts for r in every if r.name == n and _same(r.subscripts, at)), at)
                     for n, at in own.items()}  # fmt: skip
        self.turn = [replace(s, equations=tuple(map(self._spelled, s.equations))) for s in turn]
        reads = {r for s in self.turn for e in s.equations for r in e.reads}
        added = {ref(s.target, *e.subscripts) for s in self.turn for e in s.equations}
        then = {n: ref(n, *at) for n, at in self.then.items()}
        self.states = {n: r for n, r in then.items() if r in reads | added and self.t in indices(r)}
        self.added_before = {n for n, r in self.states.items() if r in added}
        self.lanes = self._lanes()

    def _refusal(self, said: str) -> UnsupportedError:
        where = f"{', '.join(self.loop.targets)} are a recurrence"
        return UnsupportedError(
            f"{self.name}: {where} with {said}; triton has loops over time for states of one lane each. "
            "Print torch, or torch_c: --to torch."
        )

    def _refuse(self, step: Step) -> None:
        if self.loop.when or step.when or any(e.when for e in step.equations):
            raise self._refusal(f"optional inputs in a turn, as {step.target}")
        for e in step.equations:
            if e.reduced or e.matrix is not None or e.reduce != "none":
                raise self._refusal(f"sums or products in a turn, as {show_equation(e)}")
            if any(r.name in self.table for s in _places(e) for r in refs(s)):
                raise self._refusal(f"places in a turn that are data, as {show_equation(e)}")
        if self.table[step.target].dtype != Dtype.REAL:
            raise self._refusal(f"what is no real number, as {step.target}")

    def _written(self, turn: Sequence[Step]) -> dict[str, Place]:
        """Where a turn writes each tensor; it may add to what the one before has written, too."""
        found: dict[str, list[Place]] = {}
        for step in turn:
            for e in step.equations:
                some = found.setdefault(step.target, [])
                if not any(_same(e.subscripts, at) for at in some):
                    some.append(e.subscripts)
        now: dict[str, Place] = {}
        for name, places in found.items():
            own = [a for a in places if all(_same(a, b) or _same(tuple(map(self.back, a)), b) for b in places)]
            if len(own) != 1:
                raise self._refusal(f"{name} at several places of a turn")
            (now[name],) = own
        return now

    def _spelled(self, e: Equation) -> Equation:
        """An equation, its elements of states spelled alike."""
        found = self._in_turn(e)
        if found is None:
            raise self._refusal(f"another lane, or more than one turn back, in {show_equation(e)}")
        return found

    def _in_turn(self, e: Equation) -> Equation | None:
        """An equation of a turn, elements of states spelled alike; None if it reads others than those there are."""
        known = {*self.now}
        elements = {r for r in (ref(e.target, *e.subscripts), *e.reads) if r.name in known}
        spelled: dict[Expr, Expr] = {}
        for r in elements:
            at = next((at for at in (self.now[r.name], self.then[r.name]) if _same(r.subscripts, at)), None)
            if at is None:
                return None
            spelled[r] = ref(r.name, *at)
        return _put(e, spelled)

    def _lanes(self) -> Box:
        """The indices of a turn, in the order in which states have them."""
        boxes = {i: n for s in self.turn for e in s.equations for i, n in e.box}
        order = [*dict.fromkeys(i for at in self.now.values() for i in indices(*at) if i in boxes)]
        return tuple((i, boxes[i]) for i in order)

    # what it takes in

    def _kind(self, e: Equation) -> str:
        """When an equation is computed: in a `turn`, in each turn of a `sum`, or at the `end`; "" for never."""
        lanes, rest = {*self.lanes}, [pair for pair in e.box if pair not in self.lanes]
        data = any(r.name in self.table for s in _places(e) for r in refs(s))
        if e.when or e.matrix is not None or data or not lanes <= {*e.box} or len(rest) > 1:
            return ""
        if rest and not equal(rest[0][1], self.loop.extent):
            return ""
        if not e.reduced:
            return ("turn" if rest else "end") if e.reduce == "none" else ""
        return "sum" if e.reduce == "sum" and rest and rest[0] in e.reduced else ""

    def _parts(self, step: Step, taken: Mapping[str, Sequence[_Part]]) -> list[_Part] | None:
        """What it does for a step; None if it does not."""
        groups: dict[Place, list[Equation]] = {}
        for e in step.equations:
            groups.setdefault(e.subscripts, []).append(e)
        found = []
        for equations in groups.values():
            kinds = {*map(self._kind, equations)}
            kind = kinds.pop()
            if kinds or not kind or step.when or kind == "sum" and len(step.equations) > 1:
                return None
            said = [self._turned(e) for e in equations]
            read = [self._read_in(e, kind, taken) for e in said]
            own = tuple(replace(e, reduce="none", box=self.lanes) for e in read if e is not None)
            if len(own) < len(read) or self.table[step.target].dtype != Dtype.REAL:
                return None
            made = replace(step, equations=own, how="write")
            found.append(_Part(kind, made, replace(step, equations=tuple(said)) if kind == "sum" else made))
        return found

    def _turned(self, e: Equation) -> Equation:
        """An equation with the index of turns."""
        rest = [i for i, _ in e.box if i not in dict(self.lanes)]
        put = transformer(None, dict.fromkeys(rest, self.t))
        at, where = tuple(map(put, e.subscripts)), None if e.where is None else put(e.where)
        box = tuple((self.t if i in rest else i, n) for i, n in e.box)
        return replace(e, subscripts=at, body=put(e.body), where=where, box=box)

    def _read_in(self, e: Equation, kind: str, taken: Mapping[str, Sequence[_Part]]) -> Equation | None:
        """An equation of a turn, or of the end, by what stands in registers then; None where something does not."""
        spelled: dict[Expr, Expr] = {}
        for r in e.reads:
            places: list[Place] = []
            if r.name in taken:
                places = [p.step.equations[0].subscripts for p in taken[r.name] if self._is_there(p, kind)]
            elif r.name in self.now and kind == "end":
                places = [self._at(r.name, self.ends[1])] if r.name in self.states else []
            elif r.name in self.now:
                places = [] if r.name in self.added_before else [self.now[r.name]]
                places += [self.then[r.name]] if r.name in self.states else []
            else:
                continue
            at = next((at for at in places if _same(r.subscripts, at)), None)
            if at is None:
                return None
            spelled[r] = ref(r.name, *at)
        return _put(e, spelled)

    def _is_there(self, part: _Part, kind: str) -> bool:
        """Whether what it does stands in registers in a turn, or at the end: a sum does then, if it is one of lanes."""
        if kind != "end":
            return part.kind == "turn"
        return part.kind == "end" or part.kind == "sum" and {*self.lanes}.isdisjoint(part.said.equations[0].reduced)

    def _taken(self, kept: Collection[str]) -> tuple[dict[str, list[_Part]], dict[str, list[_Part]], list[Step]]:
        """What it computes for steps before it and for those after it; and those of these that it does not need, but
        that these read."""
        every = Counter(s.target for s in (*self.before, *self.after))
        left = {n for item in self.others for n in item.targets} | {n for n, k in every.items() if k > 1}
        after: dict[str, list[_Part]] = {}
        of_loop = {*self.now}
        for s in self.after:
            read = {r.name for e in s.equations for r in e.reads}
            parts = None if s.target in left | self.now.keys() or read & left else self._parts(s, after)
            if parts is None:
                left.add(s.target)
                continue
            after[s.target] = parts
            of_loop |= {s.target} if read & of_loop else set()
        beside: dict[str, list[str]] = {}  # who reads a tensor, but for the loop
        for item in (*self.after, *self.before, *self.first, *self.others):
            for n in {r.name for e in item.equations for r in e.reads}:
                beside.setdefault(n, []).extend(item.targets)
        moved: list[Step] = []
        for s in reversed(self.after):
            readers = beside.get(s.target, [])
            if s.target in after.keys() - of_loop and (s.target in kept or not {*readers} <= after.keys()):
                del after[s.target]
                moved[:0] = [] if after.keys().isdisjoint(readers) else [s]
        before: dict[str, list[_Part]] = {}
        for s in reversed(self.before):
            readers = beside.get(s.target, [])
            parts = self._parts(s, {})
            if parts is None or len(parts) > 1 or parts[0].kind != "turn" or every[s.target] > 1 or s.target in kept:
                continue
            if s.target in self.table and all(n in after or n in before for n in readers) and self._at_its_place(
                parts[0].step, [*self.turn, *(p.step for some in (*after.values(), *before.values()) for p in some)]
            ):
                before[s.target] = parts
        return dict(reversed(before.items())), after, moved

    @staticmethod
    def _at_its_place(step: Step, readers: Sequence[Step]) -> bool:
        """Whether nobody reads another element of what a step computes than that of the same turn."""
        at = step.equations[0].subscripts
        reads = [r for s in readers for e in s.equations for r in e.reads if r.name == step.target]
        return all(r.subscripts == at for r in reads)

    def _inserted(self, turn: Sequence[Step], parts: Sequence[_Part]) -> list[Step]:
        """A turn with more steps, each as soon as what it reads is there."""
        found = [*turn]
        for part in parts:
            if part.kind != "end":
                reads = {r for e in part.step.equations for r in e.reads}
                elements = [{ref(s.target, *e.subscripts) for e in s.equations} for s in found]
                written = [k for k, some in enumerate(elements) if not reads.isdisjoint(some)]
                place = max(written, default=-1) + 1
                while place < len(found) and any(found[place] is p.step for p in parts):
                    place += 1
                found.insert(place, part.step)
        return found

    # the kernel

    def kernel(self, kept: Collection[str], there: Collection[str]) -> tuple[Scan, Around]:
        """The kernel, and what stands around it."""
        before, after, moved = self._taken(kept)
        parts = [p for some in after.values() for p in some]
        rest = [s for s in self.after if s.target not in after and s not in moved]
        kept = {*kept, *(r.name for item in (*rest, *self.others) for e in item.equations for r in e.reads)}
        begun: list[Step] = []
        outside = [s for s in self.first if s.target not in self.states and s.equations]
        unsaid, added = set[str](), set[str]()
        walked = {n for n in self.now if self._fills(n)}
        turn = self.turn
        for name in self.states:
            own = [s for s in self.first if s.target == name]
            equations = [e for s in own for e in s.equations]
            start = self._at(name, self.ends[0])
            at_start = all(_same(e.subscripts, start) and self._is_plain(e) for e in equations)
            if equations and at_start:
                begun += own
                continue
            found = self._folded(name, equations) if len(own) == 1 and name in walked else None
            missing = any((as_integer(s) or 0) < 0 for s in start)
            if missing or not equations and own:
                begun.append(self._begun(name, start, own, ZERO))
                unsaid |= {name} if missing or own[0].how != "fill" else set()
            elif found is not None:
                begun.append(replace(own[0], equations=(found(start, self.ends[0]),), how="write"))
            else:
                begun.append(self._begun(name, start, own, ref(name, *start)))
                unsaid.add(name)
            if found is not None:
                more = found(self.now[name], self.t)
                turn = [_with(s, more) if s.target == name and self._is_now(s) else s for s in turn]
            elif equations or not own:
                outside += own
                added |= {s.target for s in turn if s.target == name and s.how == "add"}
        results = tuple(n for n in (*self.now, *after) if n in kept)
        wide = {i for i, _ in self.lanes}
        for step in turn:
            if step.target in results and any({i for i, _ in e.box} != wide for e in step.equations):
                raise self._refusal(f"tensors of different lanes, as {step.target}")
        late = {n: self._at(n, self.ends[1]) for n in self.states if n in self.added_before - added and n in results}
        turn = [*(p.step for (p,) in before.values()), *map(self._ordered, turn)]
        self._refuse_unknown(begun, outside)
        said = {id(p.step): p.said for p in parts}
        turn = self._inserted(turn, parts)
        behind = [p.step for p in parts if p.kind == "end"]
        sums = [p.said for p in parts if p.kind == "sum"]
        filled = walked - {s.target for s in turn if any(e.where is not None for e in s.equations)}
        own = [s for s in self.after if s.target in after]
        filled |= {s.target for s in own if covers(map(_whole, s.equations), self.table[s.target].shape)}
        outside += moved
        memory = {*there, *(s.target for s in outside)}
        made = Scan(
            self.lanes, (), (*begun, *(said.get(id(s), s) for s in turn), *behind), results,
            parts=tuple(s.target for s in sums if {*s.equations[0].reduced} & {*self.lanes}),
            added=tuple(n for n in self.now if n in added), index=self.t, extent=self.loop.extent,
            reverse=self.loop.reverse, begun=tuple(begun), turn=tuple(turn), behind=tuple(behind), sums=tuple(sums),
            states=tuple(self.states.items()), last=tuple((n, self._at(n, self.ends[1])) for n in self.states),
            unsaid=frozenset({*unsaid, *late}), late=frozenset(late), there=frozenset(memory & {*results}),
            filled=frozenset(filled)
        )  # fmt: skip
        return made, Around(tuple(outside), frozenset({*before, *after, *(s.target for s in moved)}))

    def _ordered(self, step: Step) -> Step:
        """A step, first the term that each of its elements has."""
        terms = sorted(step.equations, key=lambda e: e.where is not None)
        if any(terms[0].where not in (None, e.where) for e in terms):
            raise self._refusal(f"terms under several conditions, as {step.target}")
        return replace(step, equations=tuple(terms))

    def _refuse_unknown(self, begun: list[Step], outside: Sequence[Step]) -> None:
        """What is computed before the loop reads nothing of it but what is begun already, in the order of `first`."""
        order = [s.target for s in self.first]
        begun.sort(key=lambda s: order.index(s.target) if s.target in order else len(order))
        there = set[Ref]()
        for step in (*outside, *begun):
            for e in step.equations:
                own = ref(e.target, *e.subscripts)
                if any(r.name in self.now and r not in there and r is not own for r in e.reads):
                    raise self._refusal(f"a beginning that reads the others, as {show_equation(e)}")
            there |= {ref(e.target, *e.subscripts) for e in step.equations} if any(step is s for s in begun) else set()

    def _is_now(self, step: Step) -> bool:
        return all(e.subscripts == self.now[step.target] for e in step.equations)

    def _is_plain(self, e: Equation) -> bool:
        """Whether it is computed lane by lane."""
        data = any(r.name in self.table for s in _places(e) for r in refs(s))
        return e.reduce == "none" and not (e.reduced or e.when or data) and {*e.box} <= {*self.lanes}

    def _at(self, name: str, turn: Expr) -> Place:
        """Where a tensor is written in a turn."""
        return tuple(short(substitute(s, {self.t: turn})) for s in self.now[name])

    def _box(self, name: str) -> Box:
        own = {*indices(*self.now[name])}
        return tuple((i, n) for i, n in self.lanes if i in own)

    def _begun(self, name: str, start: Place, own: Sequence[Step], body: Expr) -> Step:
        """What a state is before the loop."""
        e = Equation(name, start, "none", body, self._box(name), None if body is ZERO else _exists(start))
        return replace(own[0], equations=(e,), how="write") if own else Step(name, (e,))

    def _fills(self, name: str) -> bool:
        """Whether all places of a tensor are one that is begun, or of a turn."""
        shape, axes = self.table[name].shape, [k for k, s in enumerate(self.now[name]) if self.t in indices(s)]
        if len(axes) != 1 or not all(isinstance(s, Index) for k, s in enumerate(self.now[name]) if k not in axes):
            return False
        (axis,) = axes
        begin, end = (self._at(name, turn)[axis] for turn in self.ends)
        if name not in self.states:
            begin = short(apply("sub" if self.loop.reverse else "add", begin, ONE))
        low, high = (end, begin) if self.loop.reverse else (begin, end)
        lowest = as_integer(low)
        return lowest is not None and lowest <= 0 and equal(high, apply("sub", shape[axis], ONE))

    def _folded(self, name: str, equations: Sequence[Equation]) -> Callable[[Place, Expr], Equation] | None:
        """What tells what memory is filled with at a place, if one equation says it of as many places as there are."""
        if len(equations) != 1 or not any(s.target == name and s.how == "add" for s in self.turn):
            return None
        (e,) = equations
        lanes, data = {*self.lanes}, any(r.name in self.table for s in _places(e) for r in refs(s))
        rest = [(i, n) for i, n in e.box if (i, n) not in lanes]
        if e.reduce != "none" or e.reduced or e.where is not None or e.when or data or len(rest) != 1:
            return None
        ((k, extent),) = rest
        now = self.now[name]
        axes = [x for x, (a, b) in enumerate(zip(e.subscripts, now, strict=True)) if a is not b]
        if len(axes) != 1 or k not in indices(e.subscripts[axes[0]]) or self.t not in indices(now[axes[0]]):
            return None
        (axis,) = axes
        ahead = as_integer(apply("sub", e.subscripts[axis], k))
        if ahead is None:
            return None

        def found(place: Place, turn: Expr) -> Equation:
            at = short(apply("sub", place[axis], const(ahead)))
            low, high = (substitute(at, {self.t: end}) for end in (ZERO, apply("sub", self.loop.extent, ONE)))
            if never_negative(low - extent):
                return Equation(name, place, "none", ZERO, self._box(name))
            where = []
            if turn is not self.t:
                where += [e for e in (_exists(place), _exists((at,))) if e is not None]
            elif ahead and not never_negative(low):
                where.append(at_least_0(at))
            where += [] if never_negative(extent - ONE - high) else [apply("lt", at, extent)]
            body = transformer(shortened, {k: at})(e.body)
            given = conjunction(dict.fromkeys(where)) if where else None
            return Equation(name, place, "none", body, self._box(name), given)

        return found


def _with(step: Step, more: Equation) -> Step:
    """A step that adds to what memory is filled with: there is an element where it adds to one."""
    first, *others = step.equations
    where = [*dict.fromkeys((*more.conditions, *first.conditions))]
    if where and all(e.where == first.where for e in others):
        more = replace(more, where=conjunction(where))
    if not others and more.where == first.where:
        return replace(step, equations=(replace(first, body=apply("add", more.body, first.body)),), how="write")
    return replace(step, equations=(*step.equations, more), how="write")


def _whole(e: Equation) -> Equation:
    """An equation that holds everywhere."""
    return replace(e, where=None, when=())


def _put(e: Equation, spelled: Mapping[Expr, Expr]) -> Equation:
    """An equation with other elements."""
    put = transformer(None, spelled)
    target = spelled.get(ref(e.target, *e.subscripts))
    at = target.subscripts if isinstance(target, Ref) else e.subscripts
    return replace(e, subscripts=at, body=put(e.body), where=None if e.where is None else put(e.where))


def _places(e: Equation) -> Iterator[Expr]:
    """Every subscript of an equation."""
    yield from e.subscripts
    for r in e.reads:
        yield from r.subscripts


def _same(some: Place, others: Place) -> bool:
    return len(some) == len(others) and all(a is b or equal(a, b) for a, b in zip(some, others, strict=True))


def _exists(place: Place) -> Expr | None:
    """The condition under which there is a place."""
    found = [at_least_0(s) for s in place if not isinstance(s, Index) and not never_negative(s)]
    return conjunction(found) if found else None
