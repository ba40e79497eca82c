"""Recurrences that are scans: `T[t+1] = T[t] + x[t]` is one call, a cumulative sum.

A scan is told by its terms: equations that fill the tensor and read none of it. What stands at a place in the end is
the terms up to there, combined by one operation.
"""

from __future__ import annotations

from ...domain import Domain
from ...expr import ONE, ZERO, Apply, Expr, Index, Ref, apply, branch, index, indices, refs, substitute
from ...expr.names import fresh, is_pack
from ...expr.sizes import equal, tidy
from ...ir import Equation, Tensor, spans
from ...ops import OPS
from ...records import dataclass, replace
from ..conditions import asked
from ..program import Recurrence, Step


@dataclass(frozen=True, slots=True)
class Accumulated:
    """A tensor of terms, combined along an axis.

    step  computes the terms
    op    what combines them; None where there is one term for each line along the axis, which `step` has put everywhere
    """

    step: Step
    op: str | None
    axis: int
    reverse: bool


def accumulated(loop: Recurrence, tensor: Tensor) -> Accumulated | None:
    """The recurrence as a scan over the whole of its one tensor; None if it is none."""
    line = _Line.of(loop, tensor)
    if line is None:
        return None
    e, axis = line.equation, line.axis
    parts = line.parted()
    if parts is None or not line.runs(parts[0]):
        return None
    _, body, alone = parts
    found = _combined(body, line.earlier)
    if found is None or (line.adds and found[0] not in (None, "add")):
        return None
    op, term = found
    if alone is not None and alone.key is not (ZERO if term is None else term).key:
        return None
    if op is None and not line.adds:
        terms = [_everywhere(x, axis, loop.index, tensor.shape[axis]) for x in line.first]
    else:
        of_turns = [*line.others, *([] if term is None or term is ZERO else [replace(e, body=term)])]
        terms = [*line.first, *(replace(x, box=((loop.index, loop.extent), *x.box)) for x in of_turns)]
        op = op or "add"
    if not terms:
        return None
    packed = any(isinstance(s, Index) and is_pack(s) for s in e.subscripts)
    number = axis - len(e.subscripts) if packed else axis
    return Accumulated(Step(tensor.name, tuple(terms), loop.serves, loop.when), op, number, loop.reverse)


@dataclass(frozen=True, slots=True)
class _Line:
    """The one equation of a loop that reads its own target, and what else writes that.

    axis     along which it advances
    earlier  the element that it reads
    adds     whether all equations add to what stands there
    first    what is known before the loop
    others   what else is added in each turn
    """

    loop: Recurrence
    tensor: Tensor
    equation: Equation
    axis: int
    earlier: Ref
    adds: bool
    first: tuple[Equation, ...]
    others: tuple[Equation, ...]

    @staticmethod
    def of(loop: Recurrence, tensor: Tensor) -> _Line | None:
        if loop.last or len(loop.turn) != 1 or loop.targets != (tensor.name,):
            return None
        (turn,) = loop.turn
        if not isinstance(turn, Step) or not all(isinstance(item, Step) for item in loop.first):
            return None
        reading = [e for e in turn.equations if any(r.name == tensor.name for r in e.reads)]
        others = tuple(e for e in turn.equations if e not in reading)
        if len(reading) != 1 or (others and turn.how != "add"):
            return None
        (e,) = reading
        mine = [r for r in e.reads if r.name == tensor.name]
        places = [k for k, s in enumerate(e.subscripts) if loop.index in indices(s)]
        if e.when or e.reduced or len(mine) != 1 or len(places) != 1:
            return None
        (axis,) = places
        if any(len(x.subscripts) != len(e.subscripts) or x.subscripts[axis] is not e.subscripts[axis] for x in others):
            return None
        across, shape = ((*some[:axis], *some[axis + 1 :]) for some in (e.subscripts, tensor.shape))
        packed = any(isinstance(s, Index) and is_pack(s) for s in e.subscripts[axis:])
        if packed or not spans(across, shape, dict(e.box)):
            return None
        back = tuple(substitute(s, {loop.index: loop.index + (1 if loop.reverse else -1)}) for s in e.subscripts)
        if not all(equal(s, r) for s, r in zip(back, mine[0].subscripts, strict=True)):
            return None
        first = tuple(x for item in loop.first for x in item.equations)
        return _Line(loop, tensor, e, axis, mine[0], turn.how == "add", first, others)

    def skips(self, condition: Expr) -> tuple[str, bool] | None:
        """("low" or "high", holds) where a condition holds (or fails) in the turns of all numbers but the lowest or the
        highest."""
        i, turns = self.loop.index, Domain.of(((self.loop.index, self.loop.extent),))
        for end, place in (("low", ZERO), ("high", self.loop.extent - 1)):
            there, elsewhere = (turns.under(apply(op, i, place)) for op in ("eq", "ne"))
            if i in indices(condition) and there.fails(condition) and elsewhere.holds(condition):
                return end, True
            if i in indices(condition) and there.holds(condition) and elsewhere.fails(condition):
                return end, False
        return None

    def parted(self) -> tuple[str | None, Expr, Expr | None] | None:
        """(which end the turns leave out that compute from what is earlier, what they compute, what that end does)."""
        e = self.equation
        if e.where is not None:
            found = self.skips(e.where)
            return (found[0], e.body, None) if found is not None and found[1] else None
        for condition in asked(e.body):
            if (found := self.skips(condition)) is not None:
                end, holds = found
                usual, alone = (branch(e.body, condition, h) for h in (holds, not holds))
                return end, usual, alone
        return None, e.body, None

    def runs(self, without: str | None) -> bool:
        """Whether the turns write all of the axis but the end they start at; `without` says which they leave out."""
        begin = tidy(self.equation.subscripts[self.axis] - self.loop.index)
        end = begin + self.loop.extent
        begin = begin + 1 if without == "low" else begin
        end = end - 1 if without == "high" else end
        length = self.tensor.shape[self.axis]
        first, last = (ZERO, length - 1) if self.loop.reverse else (ONE, length)
        return equal(begin, first) and equal(end, last)


def _combined(body: Expr, earlier: Ref) -> tuple[str | None, Expr | None] | None:
    """(op, term) where `body` is `earlier op term`; (None, None) where it is `earlier` alone."""
    if body is earlier:
        return None, None
    if not isinstance(body, Apply):
        return None
    op = "add" if body.op == "sub" else body.op
    if not OPS[op].scans:
        return None
    for k, (mine, other) in enumerate((body.args, tuple(reversed(body.args)))):
        if earlier in refs(other) or earlier not in refs(mine) or (body.op == "sub" and k):
            continue
        found = _combined(mine, earlier)
        if found is None or found[0] not in (None, op):
            return None
        term = found[1]
        if body.op == "sub":
            return op, -other if term is None else term - other
        return op, other if term is None else apply(op, *((term, other) if not k else (other, term)))
    return None


def _everywhere(e: Equation, axis: int, i: Index, extent: Expr) -> Equation:
    """What `e` writes at one place of an axis, at all of them; `i` goes along it, if `e` has no index of that name."""
    along = index(fresh(i.name, [j.name for j, _ in e.box]))
    subscripts = tuple(along if k == axis else s for k, s in enumerate(e.subscripts))
    return replace(e, subscripts=subscripts, box=((along, extent), *e.box))
