"""Steps -> kernels: what is computed in one launch, and what waits for the memory of another."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import takewhile

from ...errors import UnsupportedError
from ...expr import ZERO, Const, Index, Ref, apply, conjunction, index, indices, product, ref, refs
from ...expr.names import fresh_letters
from ...expr.sizes import count
from ...ir import Equation, disjoint, show_equation, writes_once
from ...records import replace
from ..program import Item, Procedure, Program, Step
from .axes import named_alike
from .data import Kernel, box_of
from .gathered import gathered
from .walks import in_blocks, is_free

ADDED = ("sum", "max", "min")  # reductions of which there may be parts
OTHERS = {"triton": "Print torch, or torch_c: --to torch.", "pallas": "Print jax: --to jax."}


NO_TILES = {"triton": ", and is no product of two", "pallas": ", as products and windows do"}
Choice = tuple[tuple[Kernel, ...], tuple[Kernel, ...]]


def kernels(
    program: Program, procedure: Procedure, kept: Collection[str] = (), *, to: str = "triton"
) -> tuple[Choice, ...]:
    """The kernels of forward or of backward, in order; each reads what those before it have written. Some are for lanes
    that are one block each, with others beside them for any number of lanes, where those cost more.

    program  without packs: what `flatten` returns
    kept     what stays in memory; without any, what is returned or saved
    to       the language of the kernels, for messages
    """
    kept = kept or (*procedure.returns, *(program.saved if procedure is program.forward else ()))
    stages = _Stages(program, procedure, kept, to=to)
    short = long = [*stages.found()]
    if stages.sums_kept or stages.one_row:
        long = [*_Stages(program, procedure, kept, apart=True, to=to).found()]
    if not stages.one_row:
        short = [b if is_free(b := in_blocks(kernel)) else kernel for kernel in short]
    long = [*map(in_blocks, long)]
    first = _in_common(short, long)
    last = _in_common(short[first:][::-1], long[first:][::-1])
    inner = short[first : len(short) - last]
    if all(map(is_free, inner)):
        return tuple(((kernel,), ()) for kernel in short)
    choice = tuple(inner), tuple(long[first : len(long) - last])
    return (*(((k,), ()) for k in short[:first]), choice, *(((k,), ()) for k in short[len(short) - last :]))


def _in_common(some: Sequence[Kernel], others: Sequence[Kernel]) -> int:
    """How many kernels both begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(some, others, strict=False)))


class _Stages:
    """The kernels of one procedure.

    parts      the sums over rows
    scattered  what is added up at places that are data
    stored     what must be in memory: `kept` in the end, or for the reader of another element or of a whole sum
    lanes      the indices that are in full in a program; none apart where there is
    one_row    and nothing else: a long one is left to many programs
    sums_kept  the sums over rows, lane by lane
    apart      those that have kernels of their own: registers hold no long row of them
    """

    def __init__(
        self, program: Program, procedure: Procedure, kept: Collection[str], *, apart: bool = False, to: str
    ) -> None:
        self.to = to
        self.name, self.table = program.derivative.primal.name, program.table_of(procedure)
        self.facts, self.kept = program.derivative.function.facts, kept
        named = {i.name for e in procedure.equations for i, _ in e.box}
        self.taken = program.names - named
        self.letters = fresh_letters(program.names)
        self.steps = [*map(self._spread, named_alike([*map(self._step, procedure.steps)], self.taken))]
        self.of = {step.target: step for step in self.steps}
        equations = [e for step in self.steps for e in step.equations]
        self.order = [i for e in equations for i, _ in e.box]
        self.extents = box_of(equations)
        self.lanes = self._lanes()
        self.one_row = bool(self.lanes) and {*self.extents} == {*self.lanes}
        if apart and self.one_row:
            self.lanes = self._lanes(again=False)
        self.parts = {s.target for s in self.steps if any(self._over_rows(e) for e in s.equations)}
        self.scattered = {s.target for s in self.steps if self._is_scattered(s)}
        self.moved = self._read_elsewhere(equations)
        self.stored = {*kept, *self.parts, *self.scattered, *self.moved} & self.of.keys()
        self.sums_kept = {n for n in self.parts if self._in_lanes(self.of[n])}
        self.apart = self.sums_kept if apart else set()
        needed = {n for target in self.apart for n in self._needed(target)}
        self.stored |= {n for n in needed if any(i in self.lanes for e in self.of[n].equations for i, _ in e.reduced)}
        for step in self.steps:
            self._refuse_mixed(step)

    # what kernels hold

    def _step(self, item: Item) -> Step:
        """A step that they hold; where it writes at a place that is data alone, 0 is written elsewhere."""
        if not isinstance(item, Step):
            raise self._refusal(f"{', '.join(item.targets)} are a recurrence, and {self.to} has no loop over time yet")
        item = replace(item, equations=tuple(map(_counted, item.equations)))
        for e in item.equations:
            if e.matrix is not None or e.reduce not in ("none", *ADDED):
                raise self._refusal(f"{self.to} has no {e.reduce}, as in {show_equation(e)}")
            arrays = [r for r in e.reads if r.name in self.table and r.subscripts]
            sides = [{i for i, _ in some} for some in (e.reduced, e.shown)]
            mixed = any(all(side & {*indices(r)} for side in sides) for r in arrays)
            if mixed and not any(self._is_walked(r, e) for r in arrays):
                said = f"reads each element of its arrays many times{NO_TILES[self.to]}"
                raise self._refusal(f"{show_equation(e)} {said}; {self.to} has no tiles for that yet")
        if self._is_apart(item) and (found := self._gathered(item)) is not None:
            return replace(item, equations=found)
        first, *others = item.equations
        places = [k for k, s in enumerate(first.subscripts) if self._is_data(s)]
        rest = [s for k, s in enumerate(first.subscripts) if k not in places]
        if others or len(places) != 1 or first.reduced or not all(isinstance(s, Index) for s in rest):
            return item
        if {*indices(*rest)} != {i for i, _ in first.box}:
            return item
        (place,), j = places, index(next(self.letters))
        subscripts = (*first.subscripts[:place], j, *first.subscripts[place + 1 :])
        box = (*first.box, (j, self.table[item.target].shape[place]))
        zeros = Equation(item.target, subscripts, "none", ZERO, box, None, first.when)
        return replace(item, equations=(zeros, first))

    def _gathered(self, step: Step) -> tuple[Equation, ...] | None:
        return gathered(step.equations, self.table[step.target].shape, self.letters, self.facts)

    def _is_apart(self, step: Step) -> bool:
        """Whether several programs, or those of several kinds of rows, write what a step does as it stands."""
        first, *others = step.equations
        if first.reduced and not all(isinstance(s, (Index, Const)) for s in first.subscripts):
            return True
        if all(e.subscripts == first.subscripts or picks(first, e, rows=first.reduce == "sum") for e in others):
            return False
        kinds = {frozenset(n for _, n in e.shown) for e in step.equations}
        return len(kinds) > 1 or not disjoint(step.equations, self.facts)

    def _spread(self, step: Step) -> Step:
        """The step with terms at places that are data as terms of sums over rows, where the place is the lane."""
        whole = next((e for e in step.equations if e.reduce == "sum" and e.reduced and e.plain), None)

        def spread(e: Equation) -> Equation:
            if (
                whole is None
                or e.reduced
                or not any(map(self._is_data, e.subscripts))
                or not picks(whole, e, rows=True)
            ):
                return e
            pairs = zip(whole.subscripts, e.subscripts, strict=True)
            where = conjunction([*e.conditions, *(apply("eq", a, b) for a, b in pairs if a is not b)])
            return replace(e, subscripts=whole.subscripts, reduce="sum", box=whole.box, where=where)

        return replace(step, equations=tuple(map(spread, step.equations)))

    def _is_walked(self, element: Ref, e: Equation) -> bool:
        """Whether an equation reads another element at each of its points, but for places that are data."""
        alone = {s for r in (element, *refs(*element.subscripts)) for s in r.subscripts if isinstance(s, Index)}
        pseudo = Equation(element.name, element.subscripts, "none", ZERO, e.box)
        return alone >= {i for i, _ in e.box} or pseudo.reduced == () and writes_once(pseudo, self.facts)

    def _refusal(self, said: str) -> UnsupportedError:
        return UnsupportedError(f"{self.name}: {said}. {OTHERS[self.to]}")

    def _is_data(self, subscript: object) -> bool:
        """Whether elements of tensors tell a subscript."""
        return any(r.name in self.table for r in refs(subscript))  # type: ignore[arg-type]

    def _is_scattered(self, step: Step) -> bool:
        """Whether different programs may add to one element; what is picked of the elements that a program has in full
        is none of them."""
        first, *others = step.equations
        if all(not any(map(self._is_data, e.subscripts)) for e in step.equations):
            distinct = {e.subscripts for e in step.equations}
            once = all(writes_once(e, self.facts) or e.reduced for e in step.equations)
            if not once or len(distinct) == 1 or disjoint(step.equations, self.facts):
                return not once
        return any(map(self._is_data, first.subscripts)) or not all(picks(first, e) for e in others)

    def _refuse_mixed(self, step: Step) -> None:
        """Parts are added up by the one who calls kernels, and nothing else; a row is one of all rows of its kernel."""
        every = self._rows(step)
        if all({i for i, _ in e.box} - {*self.lanes} < every for e in step.equations):
            raise self._refusal(f"{self.to} has no kernel of rows of several kinds, as {_shown(step)}")
        several = len(step.equations) > 1
        if step.target in self.scattered and (several or step.equations[0].reduced):
            raise self._refusal(f"several rows add to one element in more than one term, as {_shown(step)}")
        rows = {frozenset(i for i, _ in e.reduced if i not in self.lanes) for e in step.equations}
        ways = {e.reduce for e in step.equations}
        if step.target in self.parts and (len(rows) > 1 or len(ways) > 1):
            raise self._refusal(f"{self.to} has no sum over rows beside other terms, as {_shown(step)}")

    # rows and lanes

    def _lanes(self, again: bool = True) -> list[Index]:
        """What something is reduced over that is read along it, if `again`. Without such an index the last one of a sum
        that leaves some, or of that beside which something is computed for each row; elements need none. So has a sum
        that leaves some, if nothing of its rows has such an index: a block of elements is of several sums."""
        readers: dict[str, list[Step]] = {}
        for step in self.steps:
            for name in {r.name for e in step.equations for r in e.reads}:
                readers.setdefault(name, []).append(step)
        found: dict[Index, None] = {}
        everything = [(step, e) for step in self.steps for e in step.equations]
        for step, e in everything if again else ():
            below = _below(step, readers) if e.reduced else ()
            boxes = {i for reader in below for other in reader.equations for i, _ in other.box}
            found |= {i: None for i, _ in e.reduced if i in boxes}
        some = [e for _, e in everything if e.reduced and e.shown]
        if found:
            whole = [box_of(step.equations).keys() for step in self.steps]
            beside_lanes = [box - found.keys() for box in whole if box & found.keys()]
            some = [e for e in some if dict(e.box).keys() not in beside_lanes]
        else:
            widest = max((e for _, e in everything), key=lambda e: len(e.box), default=None)
            beside = (
                any(0 < len(e.box) < len(widest.box) for s, e in everything if s.target in readers) if widest else 0
            )
            some = some or ([widest] if widest and beside else [])
        for e in some:
            if not found.keys().isdisjoint(i for i, _ in e.box):
                continue
            longest = max((r.subscripts for r in (ref(e.target, *e.subscripts), *e.reads)), key=len)
            last = [s for s in longest if indices(s)][-1:]
            reduced = {i for i, _ in e.reduced}
            windows = [i for r in e.reads for s in r.subscripts if len(indices(s)) > 1 for i in indices(s)]
            own = [i for i in indices(*last) if i in reduced] or [*indices(*last)[-1:]]
            found |= dict.fromkeys((*own, *(i for i in windows if i in reduced)))
        return sorted(found, key=self._place)

    def _place(self, i: Index) -> tuple[int, int]:
        """Where an index stands in the tensors that it runs along, the last of them on the right."""
        elements = [r for s in self.steps for e in s.equations for r in (ref(e.target, *e.subscripts), *e.reads)]
        return max((r.subscripts.index(i) for r in elements if i in r.subscripts), default=0), self.order.index(i)

    def _over_rows(self, e: Equation) -> bool:
        return any(i not in self.lanes for i, _ in e.reduced)

    def _rows(self, step: Step) -> frozenset[Index]:
        """The rows of the kernel that writes it."""
        return frozenset(i for e in step.equations for i, _ in e.box if i not in self.lanes)

    def _in_lanes(self, step: Step) -> bool:
        """Whether there is another element in each lane."""
        return any(i in self.lanes for e in step.equations for i in indices(*e.subscripts))

    # memory

    def _read_elsewhere(self, equations: Sequence[Equation]) -> set[str]:
        """Of what somebody reads another element than the one that is computed at the same point."""
        written = {target: {e.subscripts for e in step.equations} for target, step in self.of.items()}
        read = (r for e in equations for r in e.reads)
        return {r.name for r in read if r.name in written and r.subscripts not in written[r.name]}

    def found(self) -> Iterator[Kernel]:
        """The kernels."""
        waiting = [step for step in self.steps if step.target in self.stored]
        done: set[str] = set()
        while waiting:
            first = next(s for s in waiting if self._is_ready(s, done, set()))
            own: set[str] = set()
            for step in waiting:
                if self._kind(step) == self._kind(first) and self._is_ready(step, done, own):
                    own.add(step.target)
            waiting = [s for s in waiting if s.target not in own]
            yield self._kernel(self._rows(first), own, done)
            done |= own

    def _kind(self, step: Step) -> tuple[frozenset[Index], bool]:
        """What steps of one kernel have in common."""
        return self._rows(step), step.target in self.apart

    def _needed(self, target: str) -> Iterator[str]:
        """What of the steps is read for it, in memory or not."""
        seen, stack = set[str](), [target]
        while stack:
            for name in (r.name for e in self.of[stack.pop()].equations for r in e.reads):
                if name in self.of and name not in seen:
                    seen.add(name)
                    yield name
                    stack += [] if name in self.stored else [name]

    def _is_ready(self, step: Step, done: Collection[str], own: set[str]) -> bool:
        here = own - self.parts - self.scattered - self.moved  # in registers
        return all(n in done or n in here or n not in self.stored for n in self._needed(step.target))

    def _kernel(self, rows: Collection[Index], own: set[str], done: set[str]) -> Kernel:
        here = own | {n for target in own for n in self._needed(target)} - done
        steps = tuple(step for step in self.steps if step.target in here)
        there = {i for step in steps for e in step.equations for i, _ in e.box}
        box, lanes = (
            tuple((i, self.extents[i]) for i in sorted(some, key=self._place))
            for some in (rows, there.intersection(self.lanes))
        )
        results = tuple(step.target for step in steps if step.target in own)
        parts, scattered = (tuple(n for n in results if n in some) for some in (self.parts, self.scattered))
        return Kernel(box, lanes, steps, results, parts, scattered)


def _counted(e: Equation) -> Equation:
    """The equation without a sum of equal terms."""
    equal = [(i, n) for i, n in e.reduced if i not in indices(e.body, *e.conditions)]
    if e.reduce != "sum" or not equal:
        return e
    box = tuple(pair for pair in e.box if pair not in equal)
    body = apply("mul", product(count(n) for _, n in equal), e.body)
    return replace(e, body=body, box=box, reduce="sum" if len(equal) < len(e.reduced) else "none")


def picks(whole: Equation, e: Equation, rows: bool = False) -> bool:
    """Whether an equation adds to the element of a row that its subscript names: `grad[i,target[i]]` of `grad[i,j]`; of
    the sum over all rows, if these are asked for: `grad[target[i]]` beside `grad[j] = sum[i](x[i,j])`."""
    pairs = [*zip(whole.subscripts, e.subscripts, strict=True)]
    moved = [a for a, b in pairs if a is not b]
    there = {*indices(*(b for a, b in pairs if a is b)), *(i for i, _ in whole.reduced if rows)}
    return {i for i, _ in e.box} <= there and not e.reduced and all(isinstance(a, Index) for a in moved)


def _below(step: Step, readers: Mapping[str, Sequence[Step]]) -> Iterator[Step]:
    """Every step that reads it, or what is computed of it."""
    seen, stack = set[str](), [step.target]
    while stack:
        for reader in readers.get(stack.pop(), ()):
            if reader.target not in seen:
                seen.add(reader.target)
                stack.append(reader.target)
                yield reader


def _shown(step: Step) -> str:
    return "; ".join(map(show_equation, step.equations))
