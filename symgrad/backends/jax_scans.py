"""Loops over rows: what each turn reads and writes of an array is its row at the number of the turn, more or less.

Such a loop is a `jax.lax.scan`, which hands on the rows of the last turns and collects those that are written: no turn
has an array of all turns, nor has one of the gradient of the loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..expr import ONE, Expr, is_exact, ref, value_of
from ..expr.sizes import tidy
from ..plan.arrays.below import below
from ..plan.arrays.commands import AddAt, Assign, For, Guard, Update, flat, inside, tops
from ..plan.arrays.guards import names_read
from ..plan.arrays.tree import (
    ALL,
    Array,
    Copy,
    Elementwise,
    Item,
    MatMul,
    Num,
    Permute,
    Real,
    Reduce,
    Roll,
    SizeOf,
    Take,
    Var,
)
from ..records import dataclass
from ..source.python import Word

Shapes = Mapping[str, tuple[Expr, ...]]  # of the arrays whose shapes are known
Row = tuple[str, int]  # of which array, and how far from the number of the turn


@dataclass(frozen=True, slots=True)
class Rows:
    """What a loop does with the rows of arrays.

    written  the arrays that it writes, with the place of the row
    begun    those of them whose row has a value before the turn
    before   for each of them the rows of earlier turns that are read: the last one, and those before it
    given    the rows of other arrays
    """

    loop: For
    written: Mapping[str, int]
    begun: tuple[str, ...]
    before: Mapping[str, tuple[Row, ...]]
    given: tuple[Row, ...]

    @property
    def words(self) -> dict[Row, Word]:
        """What each row is called."""
        rows = [*self.written.items(), *(r for some in self.before.values() for r in some), *self.given]
        return {row: self._word(*row) for row in rows}

    def _word(self, name: str, place: int) -> Word:
        behind = "" if not place else str(place) if place > 0 else f"_back{-place}"
        return Word(f"{name}_{self.loop.name}{behind}")


def rows_of(loop: For) -> Rows | None:
    """The rows of a loop; None if it does more with what it writes, or has a loop inside."""
    parts = inside(loop)[1:]
    if any(isinstance(x, For) for x in parts):
        return None
    own = {x.name for x in flat(loop) if isinstance(x, Assign)}
    sometimes = {n for x in parts if isinstance(x, Guard) for n in names_read(x)}  # what may be None has no rows
    writes = [x for x in flat(loop) if isinstance(x, (Update, AddAt)) and x.name not in own]
    written: dict[str, int] = {}
    for x in writes:
        place = row_place(x.items[0], loop)
        if place is None or written.setdefault(x.name, place) != place:
            return None
    read = _read(loop)
    given: list[Row] = []
    before: dict[str, tuple[Row, ...]] = {}
    for name, places in read.items():
        if name in own:
            continue
        if name not in written:
            given += [(name, place) for place in sorted(places or ()) if name not in sometimes]
            continue
        if places is None:
            return None
        steps = [place - written[name] if loop.reverse else written[name] - place for place in places]
        if min(steps, default=0) < 0:
            return None  # what is not written yet
        way = 1 if loop.reverse else -1
        before[name] = tuple((name, written[name] + way * k) for k in range(1, max(steps, default=0) + 1))
    begun = tuple(name for name, place in written.items() if not _begins(loop, name, place))
    return Rows(loop, written, begun, before, tuple(given))


def row_place(item: Item, loop: For) -> int | None:
    """How far a row is from the number of the turn; None if that is no number."""
    at = item.value if isinstance(item, SizeOf) else item
    apart = tidy(at - ref(loop.name)) if isinstance(at, Expr) else None
    return int(value_of(apart)) if apart is not None and is_exact(apart) else None


def shape_of(array: Array, shapes: Shapes) -> tuple[Expr, ...] | None:
    """The shape of a value; None where that is not told."""
    match array:
        case Num() | SizeOf():
            return ()
        case Var(name, number):
            return () if number else shapes.get(name)
        case Copy(base) | Real(base) | Roll(base):
            return shape_of(base, shapes)
        case Elementwise(_, args):
            return _broadcast([shape_of(a, shapes) for a in args])
        case Take(base, items):
            return _taken(shape_of(base, shapes), items)
        case Permute(base, axes, None) if (shape := shape_of(base, shapes)) is not None and min(axes) >= 0:
            return tuple(shape[k] for k in axes)
        case Reduce(_, base, places, keep) if (shape := shape_of(base, shapes)) is not None:
            gone = {k % len(shape) for k in (range(len(shape)) if places is None else places)}
            return tuple(ONE if k in gone else n for k, n in enumerate(shape) if keep or k not in gone)
        case MatMul(left, right):
            mine, other = shape_of(left, shapes), shape_of(right, shapes)
            if mine is not None and other is not None and len(mine) == len(other) == 2:
                return mine[0], other[1]
    return None


def _broadcast(several: Sequence[tuple[Expr, ...] | None]) -> tuple[Expr, ...] | None:
    known = [s for s in several if s is not None]
    if len(known) < len(several):
        return None
    rank = max(map(len, known), default=0)
    full = [(ONE,) * (rank - len(s)) + s for s in known]
    return tuple(next((n for n in along if n is not ONE), ONE) for along in zip(*full, strict=True))


def _taken(shape: tuple[Expr, ...] | None, items: Sequence[Item]) -> tuple[Expr, ...] | None:
    left, found = list(shape or ()), list[Expr]()
    for item in items:
        if item is None:
            found.append(ONE)
        elif not left or not (item is ALL or isinstance(item, (Expr, SizeOf))):
            return None
        elif item is ALL:
            found.append(left.pop(0))
        else:
            left.pop(0)
    return None if shape is None else (*found, *left)


def _read(loop: For) -> dict[str, set[int] | None]:
    """For each array at which places its rows are read; None if it is read in another way."""
    every = [a for top in tops(loop) for a in below(top)]
    rows: dict[str, list[int]] = {}
    for a in every:
        if isinstance(a, Take) and isinstance(a.base, Var) and (place := row_place(a.items[0], loop)) is not None:
            rows.setdefault(a.base.name, []).append(place)
    names = [a.name for a in every if isinstance(a, Var)]
    return {n: {*rows[n]} if names.count(n) == len(rows.get(n, ())) else None for n in dict.fromkeys(names)}


def _begins(loop: For, name: str, place: int) -> bool:
    """Whether the first that a turn does with a row is to write all of it."""
    for s in loop.body:
        takes = (a for top in tops(s) for a in below(top) if isinstance(a, Take) and a.base == Var(name))
        if any(row_place(a.items[0], loop) == place for a in takes):
            return False
        if any(x.name == name for x in flat(s)):
            return isinstance(s, Update) and s.first and all(i is ALL for i in s.items[1:])
    return False
