"""One recurrence as a function of Python: a block of lanes, and a loop over time with the states in registers."""

from __future__ import annotations

from collections.abc import Sequence

from ..expr import Ref, indices, ref, refs
from ..ir import Equation
from ..plan.kernels import Scan
from ..plan.program import Step
from ..source import python as py
from ..source.python import Assign, Expression, Name, Word, call
from .triton_elements import Elements, Scope
from .triton_expressions import Value
from .triton_kernel import NEUTRAL, KernelText, merged, parts_of

WIDE = Word("tl.int64")


class ScanElements(Elements):
    """The elements of a recurrence: what no turn changes is loaded before the loop."""

    kernel: Scan

    def _home(self, node: Ref) -> Scope:
        return self.turn if self.kernel.index in indices(node) else self.every


class ScanText(KernelText):
    """A kernel of a recurrence.

    moved  the registers of states that a turn reads after it has written the next ones, and those of these
    """

    kernel: Scan
    elements: ScanElements
    of_elements = ScanElements

    def _body(self) -> list[py.Statement]:
        kernel, elements, first = self.kernel, self.elements, self.elements.first
        self.moved: dict[str, str] = {}
        self.turns = self.late = False
        sizes = [*refs(kernel.extent)]
        for size in sizes:  # turns times columns may be more than an int32 counts
            first.lines.append(Assign(Name(size.name), call("tl.cast", Name(size.name), WIDE)))
        first.lines += self.lanes.begun()
        for step in kernel.begun:
            self._step(step)
        elements.begin_turn()
        self.turns = True
        for name, before in kernel.states:
            elements.known[before] = Value(Name(name), self.around.table[name].dtype)
            elements.spans[name] = frozenset(self.lanes.rows)
        for place, step in enumerate(kernel.turn):
            if self._reads_later(step, place):
                self.moved[step.target] = elements.names.new(f"{step.target}_next")
            self._step(step)
        copies = [Assign(Name(old), Name(new)) for old, new in self.moved.items()]
        lines = [*merged(elements.turn.lines), *copies]
        elements.scope = elements.turn = elements.every
        steps: list[Expression] = [self.tree.place(kernel.first if kernel.reverse else kernel.extent)]
        if not sizes:
            steps = [call("tl.cast", steps[0], WIDE)]
        steps += [py.integer(-1), py.integer(-1)] if kernel.reverse else []
        assert kernel.index is not None
        first.lines.append(py.For(Name(kernel.index.name), call("range", *steps), lines))
        self.turns = False
        for name, at in kernel.last:
            elements.known[ref(name, *at)] = Value(Name(name), self.around.table[name].dtype)
            if name in kernel.late:
                self._store(self.kernel.step(name), name, Name(name), at, self.around.table[name].shape)
        for step in kernel.behind:
            self._step(step)
        for step in kernel.sums:
            (e,) = step.equations
            if step.target in kernel.parts:
                self._part(step, Name(step.target), e)
            elif step.target in kernel.results:
                self._store(step, step.target, Name(step.target), e.subscripts, self.around.table[step.target].shape)
        return merged(first.lines)

    def _is_added_up(self, step: Step) -> bool:
        return any(step.target == s.target for s in self.kernel.sums)

    def _begin(self, step: Step, own: Name, element: Ref) -> None:
        """A sum over the turns is 0 before them."""
        if self._is_added_up(step):
            zeros = call("tl.full", py.Several(tuple(self.lanes.blocks)), NEUTRAL["sum"], self.real)
            self.elements.first.lines.append(Assign(own, zeros))

    def _part(self, step: Step, own: Name, e: Equation) -> None:
        """The part of each lane."""
        shown = {*indices(*e.subscripts)}
        rows, extents = zip(*((i, n) for i, n in self.kernel.rows if i not in shown), strict=True)
        shape = self.around.table[step.target].shape
        self._store(step, parts_of(step.target), own, (*rows, *e.subscripts), (*extents, *shape))

    def _reads_later(self, step: Step, place: int) -> bool:
        """Whether the state that a step replaces is read again in the same turn."""
        before = dict(self.kernel.states).get(step.target)
        if before is None or self._is_before(step):
            return False
        later = [e for s in self.kernel.turn[place + 1 :] for e in s.equations]
        return any(before in e.reads for e in (*step.equations[1:], *later))

    def _is_before(self, step: Step) -> bool:
        """Whether a step adds to what the turn before has left."""
        before = dict(self.kernel.states).get(step.target)
        return before is not None and before.subscripts == step.equations[0].subscripts

    def _value(self, step: Step, name: str, equations: list[Equation]) -> None:
        if not self._is_before(step):
            super()._value(step, self.moved.get(step.target, name) if self.turns else name, equations)
            return
        self._add_up(step, Name(step.target), equations, more=True)
        self.late = True
        self._keep(step, Name(step.target), equations[0])
        self.late = False

    def _before(
        self, name: str, value: Expression, address: Expression, mask: Expression | None
    ) -> list[py.Statement]:
        """What the turn before has left holds what was there."""
        return [] if self.late else super()._before(name, value, address, mask)

    def _keep(self, step: Step, own: Name, first: Equation) -> None:
        """Write what is computed, but what is not in memory; what the next turn adds to is written by that."""
        waits = step.target in self.kernel.late and not self._is_before(step)
        begins = any(step is s for s in self.kernel.begun) and step.target in self.kernel.unsaid
        if waits or begins or self._is_added_up(step):
            return
        super()._keep(step, own, first)
        if step.target in {*self.kernel.added} - {*self.kernel.results}:
            self.read[step.target] = None
            shape = self.around.table[step.target].shape
            address, mask = self._placed(step.target, first.subscripts, shape, first.conditions)
            self.scope.lines += self._before(step.target, own, address, mask)

    def _is_copy(self, step: Step, e: Equation) -> bool:
        """A state has a register of its own, and so has a sum."""
        if self._is_added_up(step) or not super()._is_copy(step, e):
            return False
        if step.target in dict(self.kernel.states):
            return not self.turns and sum(e.body in other.reads for other in self._equations) == 1
        moves = self.turns and e.body in self.elements.known
        return not (moves and any(r.name == step.target for other in self._equations for r in other.reads))

    @property
    def _equations(self) -> list[Equation]:
        return [e for s in self.kernel.steps for e in s.equations]

    def _right(self, e: Equation, first: Equation) -> Expression:
        """States are blocks of lanes from the first turn on."""
        tree = super()._right(e, first)
        lanes = tuple(self.lanes.blocks)
        if e.target not in dict(self.kernel.states) or not lanes or self._span_of(e, first):
            return tree
        match tree:
            case py.Call(Word("tl.full"), (_, value, real)):
                return call("tl.full", py.Several(lanes), value, real)
        return call("tl.broadcast_to", tree, py.Several(lanes))

    def _adds(self, step: Step) -> bool:
        return super()._adds(step) or any(step is s for s in self.kernel.turn) and self._is_before(step)

    def _described(self) -> Sequence[Step]:
        unsaid = [s for s in self.kernel.begun if s.target in self.kernel.unsaid]
        return [s for s in self.kernel.steps if not any(s is u for u in unsaid)]
