"""Reductions of planes (`plan.planes`), each block of a plane computed where it is read.

    score[i, j] = sum[r](q[i, r] * k[j, r])         a tile of rows i, and the blocks of columns j one after the other
    m[i] = max[j](score[i, j])
    s[i] = sum[j](exp(score[i, j] - m[i]))
    total[i, l] = sum[j](exp(score[i, j] - m[i]) * v[j, l])

A program has a tile of what is left, and walks along what is reduced in blocks: (m, s, total) are what the columns so
far give, and follow each other (`plan.followed`). In full it has what else products run along: r and l.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from ...expr import Index, indices
from ...ir import Box, Equation
from ...records import dataclass
from ..program import Step, read_by
from .data import Kernel, box_of
from .triangles import Triangle, triangle
from .walks import in_blocks

Pair = tuple[Index, Index]


@dataclass(frozen=True, slots=True)
class Streams(Kernel):
    """One launch: the lanes are what programs walk along, the last of them in blocks.

    tiles   the index of which a program has a block
    full    those that it has in full
    planes  what is computed for each block
    inside  the triangle that alone gives something, if it is one
    """

    tiles: Box = ()
    full: Box = ()
    planes: tuple[str, ...] = ()
    inside: Triangle | None = None

    @property
    def flat(self) -> bool:
        """Programs have no block of rows."""
        return False

    @property
    def counted(self) -> bool:
        """Of several lanes, only one comes in blocks."""
        return False

    @property
    def box(self) -> Box:
        """Every index, with its extent."""
        return (*self.rows, *self.tiles, *self.lanes, *self.full)


class Planes:
    """The planes of a procedure.

    steps  what computes them, by name
    """

    def __init__(self, steps: Sequence[Step], axes: Mapping[str, tuple[int, int]]) -> None:
        self.axes = axes
        self.steps = {s.target: s for s in steps if s.target in axes}

    def below(self, step: Step) -> list[Step]:
        """The planes that a step is computed of."""
        found: set[str] = set()
        stack = [step]
        while stack:
            new = read_by(stack.pop()) & self.steps.keys() - found
            found |= new
            stack += [self.steps[n] for n in new]
        return [s for n, s in self.steps.items() if n in found]

    def needed(self, *steps: Step) -> Set[str]:
        """What must be there for steps: planes never are."""
        every = read_by(*steps, *(p for s in steps for p in self.below(s)))
        return every - self.steps.keys()

    def pair(self, e: Equation) -> Pair:
        """The two places at which an equation reads planes."""
        (pair,) = {tuple(r.subscripts[k] for k in self.axes[r.name]) for r in e.reads if r.name in self.steps}
        return pair  # type: ignore[return-value]  # they are indices

    def ready(self, waiting: Sequence[Step]) -> list[Step]:
        """Reductions of planes that are ready, over the same ones, and what is computed of them element by element."""
        there = {s.target for s in waiting}
        group: list[Step] = []
        key: object = None
        for s in waiting:
            (e, *_) = s.equations
            if not self.needed(s) & there <= {x.target for x in group}:
                continue
            if self.below(s) and e.reduced:
                own = (self._tile(e), self._rows(e), frozenset(e.reduced))
                key = own if key is None else key
                group += [s] if own == key else []
            elif group and self._is_beside(s, group):
                group.append(s)
        return group

    def _tile(self, e: Equation) -> Index:
        (tile,) = (i for i in self.pair(e) if i not in dict(e.reduced))
        return tile

    def _rows(self, e: Equation) -> Box:
        """The indices of planes that a program has one of."""
        there = {*indices(*(r for r in e.reads if r.name in self.steps))} - {*self.pair(e)}
        return tuple((i, n) for i, n in e.shown if i in there)

    def _is_beside(self, step: Step, group: Sequence[Step]) -> bool:
        """Whether a step is computed of what a group reduces, element by element."""
        (first, *_) = group[0].equations
        tile, shown = self._tile(first), box_of([e for s in group for e in s.equations])
        here = {s.target for s in group}
        rows = {i for i, _ in self._rows(first)}
        for e in step.equations:
            own = {i for i, _ in e.box}
            if e.reduce != "none" or step.when or e.when or not rows <= own or not own <= shown.keys():
                return False
            if not read_by(step) & here or not own.isdisjoint(i for i, _ in first.reduced) or tile not in own:
                return False
            if not all(isinstance(s, Index) for r in e.reads for s in r.subscripts) or {*e.subscripts} != own:
                return False
        return len(step.equations) == 1

    def kernel(self, group: Sequence[Step], order: Sequence[Step], stored: Set[str]) -> Streams:
        """The kernel of a group.

        order   of all steps
        stored  what is read behind it
        """
        (e, *_) = group[0].equations
        tile = self._tile(e)
        walked = next(i for i in self.pair(e) if i is not tile)
        own = {s.target for s in (*group, *(p for s in group for p in self.below(s)))}
        steps = tuple(s for s in order if s.target in own)
        box = box_of([e for s in steps for e in s.equations])
        rows = self._rows(e)
        lanes = (*((i, n) for i, n in e.reduced if i is not walked), (walked, box[walked]))
        taken = {tile, *dict(rows), *dict(lanes)}
        full = tuple((i, n) for i, n in box.items() if i not in taken)
        results = tuple(s.target for s in steps if s.target in stored and s.target not in self.steps)
        planes = tuple(s.target for s in steps if s.target in self.steps)
        inside = triangle(steps, planes, tile, walked)
        tiles = ((tile, box[tile]),)
        made = Streams(rows, lanes, steps, results, tiles=tiles, full=full, planes=planes, inside=inside)
        found = in_blocks(made)
        assert isinstance(found, Streams)
        return found
