"""What a procedure launches before its loop over chunks of rows (`plan.chunks`), in each turn of it, and behind it.

In a turn rows are counted from its first one: the kernels are those of a procedure that has fewer rows. Where they read
the number of a row, as a subscript of columns or as a value, its first one is added.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ...expr import Expr, Ref, apply, ref
from ...expr.names import Names
from ...expr.traversal import transformer
from ...ir import Equation, Tensor
from ...records import dataclass, replace
from ..chunks import Chunks, chunks
from ..program import Item, Procedure, Program, read_by
from .data import Kernel
from .stages import Choice
from .tiles import launches


@dataclass(frozen=True)
class Turn:
    """A turn of the loop.

    chunks    what is computed in it
    table     the tensors, those that are sliced with as many rows as a turn has
    first     the name of the number of its first row
    stop      that of the number behind its last one
    rows      that of how many it has
    chunk     that of how many turns have, but for the last one
    launched  its kernels
    kept      what of theirs is in memory in full: the others write to memory of one chunk
    """

    chunks: Chunks
    table: Mapping[str, Tensor]
    first: str
    stop: str
    rows: str
    chunk: str
    launched: tuple[Choice, ...]
    kept: frozenset[str]

    @property
    def spoken(self) -> tuple[Expr, ...]:
        """What the loop and its memory speak of."""
        kept = (e for n in self.chunks.kinds for e in self.table[n].shape[n in self.chunks.sliced :])
        return self.chunks.extent, self.chunks.wide, self.chunks.narrow, *kept

    @property
    def totals(self) -> frozenset[str]:
        """What is added up from turn to turn."""
        return self.chunks.of("total")


def in_turns(program: Program, procedure: Procedure) -> tuple[tuple[Choice, ...], Turn | None, tuple[Choice, ...]]:
    """The kernels of forward or of backward: those before the loop, its turn, and those behind it; all are before it
    where there is none.

    program  without packs: what `flatten` returns
    """
    groups = {name: item.equations for item in procedure.steps for name in item.targets}
    found = chunks(groups, procedure.chunked) if procedure.chunked else None
    inside = [s for s in procedure.steps if found is not None and s.targets[0] in found.kinds]
    if found is None or not procedure.planes.keys().isdisjoint(read_by(*inside)):  # which are never stored
        return launches(program, procedure), None, ()
    kept = {*procedure.returns, *(program.saved if procedure is program.forward else ())}
    behind = [s for s in procedure.steps if s.targets[0] in found.behind]
    before = [s for s in procedure.steps if s not in inside and s not in behind]
    turn = _turn(program, procedure, found, inside, (kept | read_by(*behind)) & found.kinds.keys())

    def some(items: list[Item], more: Collection[str]) -> tuple[Choice, ...]:
        own = {n for item in items for n in item.targets}
        return launches(program, replace(procedure, steps=tuple(items)), (kept | {*more}) & own) if items else ()

    return some(before, read_by(*inside, *behind)), turn, some(behind, ())


def _turn(program: Program, procedure: Procedure, found: Chunks, inside: list[Item], kept: Collection[str]) -> Turn:
    taken = Names(program.names)
    first, stop, rows, chunk = map(taken.new, ("first", "stop", "rows", "chunk"))
    table = {
        n: replace(t, shape=(ref(rows), *t.shape[1:])) if n in found.sliced else t
        for n, t in program.table_of(procedure).items()
    }
    fewer = _Fewer(found, ref(rows), ref(first))
    own = replace(procedure, steps=tuple(s.mapped(fewer.equation, lambda n: n) for s in inside), planes={})
    made = launches(replace(program, tensors=tuple(table.values())), own, kept)
    launched = tuple((_adding(short, found), _adding(long, found)) for short, long in made)
    return Turn(found, table, first, stop, rows, chunk, launched, frozenset(kept))


def _adding(some: tuple[Kernel, ...], found: Chunks) -> tuple[Kernel, ...]:
    """Kernels that add to what turns before have added up."""
    totals = found.of("total")
    return tuple(replace(k, added=tuple(n for n in k.results if n in totals)) for k in some)


class _Fewer:
    """Equations of a turn: of `rows` rows, counted from `first`."""

    def __init__(self, found: Chunks, rows: Expr, first: Expr) -> None:
        self.found, self.rows, self.first = found, rows, first

    def equation(self, e: Equation) -> Equation:
        """An equation with the rows of a turn."""
        row = self.found.row(e)
        moved = apply("add", self.first, row)
        sliced = self.found.sliced

        def own(n: Expr) -> Expr:
            if isinstance(n, Ref) and n.name in sliced and n.subscripts[0] is moved:
                return ref(n.name, row, *n.subscripts[1:])
            return n

        put = transformer(own, {row: moved})
        at: tuple[Expr, ...] = tuple(s if k == 0 and s is row else put(s) for k, s in enumerate(e.subscripts))
        box = tuple((i, self.rows if i is row else n) for i, n in e.box)
        where = None if e.where is None else put(e.where)
        return replace(e, subscripts=at, body=put(e.body), where=where, box=box)
