"""Kernels as data: what each computes, for which rows and along which lanes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...expr import Expr, Index, indices
from ...ir import Box, Equation
from ...records import dataclass
from ..followed import Followed
from ..program import Step


@dataclass(frozen=True, slots=True)
class Walk:
    """What a program computes on one way along its lanes, a block after the other.

    before   what it computes for its row ahead of it, terms of sums among it; of the last one there is nothing else
    steps    what it computes for each block, in order, the sums so far among it
    results  what of that is written to memory, block by block
    follows  how sums follow other reductions of the same walk, by their targets
    """

    before: tuple[Step, ...]
    steps: tuple[Step, ...]
    results: tuple[str, ...]
    follows: Mapping[str, Followed]


@dataclass(frozen=True, slots=True)
class Kernel:
    """One launch.

    rows       the indices that programs share among each other, the outermost first
    lanes      the indices that each program has in full; without any, it has a block of rows
    walks      those on which a program takes its lanes in blocks; none where it has them at once
    apart      whether each program has one block of the lanes
    added      those of the results that are added to what is there
    steps      what is computed, in order; an index has one name in all of them
    results    what is written to memory
    parts      those of the results that are sums over rows, of which each program writes a part
    scattered  those that are added up at places that are data: each row writes its term, and the place
    """

    rows: Box
    lanes: Box
    steps: tuple[Step, ...]
    results: tuple[str, ...]
    parts: tuple[str, ...] = ()
    scattered: tuple[str, ...] = ()
    walks: tuple[Walk, ...] = ()
    apart: bool = False
    added: tuple[str, ...] = ()

    @property
    def box(self) -> Box:
        """Every index that has a name in it."""
        return (*self.rows, *self.lanes)

    @property
    def counted(self) -> bool:
        """Whether several lanes are taken by one number."""
        return len(self.lanes) > 1 and (self.apart or bool(self.walks))

    @property
    def flat(self) -> bool:
        """Whether a program has a block of rows, by their numbers."""
        return bool(self.rows) and not self.lanes

    @property
    def strided(self) -> bool:
        """Whether a program goes over every n-th row, and adds up the parts of its own: of sums over all rows, there
        are as many parts as programs then."""
        return bool(self.lanes and self.rows) and any(self.sums_all(n) for n in self.parts)

    def sums_all(self, part: str) -> bool:
        """Whether a sum leaves no index of the rows."""
        return not self.left(part)

    def left(self, part: str) -> Box:
        """The indices of the rows that a sum leaves."""
        shown = {i for s in self.steps if s.target == part for e in s.equations for i in indices(*e.subscripts)}
        return tuple((i, extent) for i, extent in self.rows if i in shown)

    # what steps are along the lanes

    def step(self, target: str) -> Step:
        """The step that computes a tensor."""
        return next(s for s in self.steps if s.target == target)

    def spans(self, step: Step) -> bool:
        """Whether there is another element in each lane."""
        return not {i for i, _ in self.lanes}.isdisjoint(indices(*(s for e in step.equations for s in e.subscripts)))

    def reduces(self, step: Step) -> bool:
        """Whether something is reduced over lanes."""
        lanes = {i for i, _ in self.lanes}
        return any(i in lanes for e in step.equations for i, _ in e.reduced)

    def reduces_all(self, step: Step) -> bool:
        """Whether each equation is reduced over every lane, or has none."""
        lanes = {*self.lanes}
        return all(lanes <= {*e.reduced} or lanes.isdisjoint(e.box) for e in step.equations)

    @property
    def keeps(self) -> bool:
        """Whether it adds up rows lane by lane."""
        return any(self.spans(self.step(n)) for n in self.parts)


def box_of(equations: Sequence[Equation]) -> dict[Index, Expr]:
    """Every index of some equations, with its extent."""
    return {i: extent for e in equations for i, extent in e.box}
