"""Kernels as data: what each computes, for which rows and along which lanes."""

from __future__ import annotations

from collections.abc import Sequence

from ...expr import Expr, Index, indices
from ...ir import Box, Equation
from ...records import dataclass
from ..program import Step


@dataclass(frozen=True, slots=True)
class Kernel:
    """One launch.

    rows       the indices that programs share among each other, the outermost first
    lanes      the indices that each program has in full; without any, it has a block of rows
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


def box_of(equations: Sequence[Equation]) -> dict[Index, Expr]:
    """Every index of some equations, with its extent."""
    return {i: extent for e in equations for i, extent in e.box}
