"""How far every index runs, and the shape of every tensor: inferred in rounds from what the equations say."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from ..errors import ShapeError
from ..expr import (
    ONE,
    ZERO,
    Const,
    Expr,
    Index,
    apply,
    index,
    indices,
    is_exact,
    ref,
    refs,
    show,
    size,
    substitute,
    value_of,
)
from ..expr.sizes import coefficient, equal, largest, most, tidy
from ..ir import Tensor, When, show_element
from ..ops.matrices import MATRICES
from ..ops.matrices import sizes as row_sizes
from ..records import dataclass

EXTENT = "#extent"  # ref(EXTENT, i) is the extent of the index i, until it is known


@dataclass(frozen=True, slots=True)
class Pending:
    """An equation whose box is not known yet; `extents` are those that the user gave."""

    target: str
    subscripts: tuple[Expr, ...]
    reduce: str
    body: Expr
    extents: Mapping[Index, Expr]
    where: Expr  # 1 for all of the box
    when: When

    @property
    def order(self) -> tuple[Index, ...]:
        """The indices of the equation, those of the target first, and the given ones even if nothing mentions them.

        The order of the given ones is that of the axes of a function of matrices.
        """
        if self.reduce in MATRICES:
            return tuple(dict.fromkeys((*indices(*self.subscripts), *self.extents, *indices(self.body))))
        mentioned = indices(*self.subscripts, self.body, self.where)
        bound = [i for i in self.extents if i not in mentioned]
        return (*mentioned, *bound)


@dataclass(frozen=True, slots=True)
class Slot:
    """The subscript `s` on one axis of a tensor that an equation writes or reads."""

    number: int
    name: str
    axis: int
    s: Expr
    writes: bool

    @property
    def place(self) -> str:
        """For messages: where it stands."""
        return f"in {self.name} (axis {self.axis})"


class Ranges:
    """Infers the extent of every index and the shape of every tensor, in rounds.

    First what plain subscripts say, until nothing is new; then one subscript such as `2*i + r` with a single unknown
    index, and again. How long the axes of a result are is told by what writes it, and by its readers only where that
    tells nothing. Each fact keeps the place that told it, for the message when two places disagree.
    """

    def __init__(
        self,
        name: str,
        tensors: Mapping[str, Tensor],
        given: Mapping[str, Sequence[Expr | None]],
        pending: Sequence[Pending],
        unfinished: Collection[str] = (),
    ) -> None:
        """unfinished  inputs that stand for results which other equations write"""
        self.name = name
        self.tensors = tensors
        self.given = given
        self.pending = pending
        self.extents: dict[tuple[int, Index], Expr] = {}
        self.told_by: dict[tuple[int, Index], str] = {}
        self.shapes: dict[str, list[Expr | None]] = {n: list(t.shape) for n, t in tensors.items()}
        for p in pending:
            self.shapes.setdefault(p.target, list(given.get(p.target, [None] * len(p.subscripts))))
        # where a result is also written at `n + i`, a plain subscript does not tell how long the axis is
        self.mixed = {
            (p.target, axis)
            for p in pending
            for axis, s in enumerate(p.subscripts)
            if not isinstance(s, (Index, Const)) and not any(r.name in self.shapes for r in refs(s))
        }
        self.mixed |= {(name, axis) for name in unfinished for axis in range(len(self.shapes[name]))}
        self.slots = [
            Slot(number, r.name, axis, s, writes)
            for number, p in enumerate(pending)
            for r, writes in (
                (ref(p.target, *p.subscripts), True),
                *((r, False) for r in refs(p.body, *p.subscripts, p.where)),
            )
            if r.name in self.shapes
            for axis, s in enumerate(r.subscripts)
        ]

    def solve(self) -> tuple[dict[tuple[int, Index], Expr], dict[str, tuple[Expr, ...]]]:
        rounds = (self._as_given, self._plain, self._matrices, self._literal, self._affine, self._read, self._mixed)
        while any(self._is_news(told) for told in (*rounds, self._written)):
            pass
        for number, p in enumerate(self.pending):
            for i in p.order:
                if (number, i) not in self.extents:
                    self._ask(p, i)
            self._check_literals(p)
        return self.extents, {name: self._shape(name) for name in self.shapes}

    def _is_news(self, told: Callable[[], None]) -> bool:
        """Whether a round tells the extent of an index, or of an axis, that was not known."""
        before = len(self.extents), [shape.count(None) for shape in self.shapes.values()]
        told()
        return before != (len(self.extents), [shape.count(None) for shape in self.shapes.values()])

    def _tell(self, number: int, i: Index, extent: Expr, place: str) -> None:
        self.extents[number, i] = extent
        self.told_by[number, i] = place

    def _shape(self, name: str) -> tuple[Expr, ...]:
        shape = self.shapes[name]
        if None in shape:
            axis = shape.index(None)
            raise ShapeError(
                f"{self.name}: nothing tells how long axis {axis} of {name} is. "
                f"Say it by an index with an extent: {name}[{'k:n' if len(shape) == 1 else '..., k:n, ...'}] = 0."
            )
        return tuple(e for e in shape if e is not None)

    def _as_given(self) -> None:
        """What the user gave; one that follows another index waits for the extent of that."""
        for number, p in enumerate(self.pending):
            for i, extent in p.extents.items():
                known = self._settled(number, extent)
                if (number, i) not in self.extents and not any(r.name == EXTENT for r in refs(known)):
                    self._tell(number, i, known, "as given")

    def _plain(self) -> None:
        """A plain subscript and the axis it stands in have one extent."""
        for slot in self.slots:
            if not isinstance(slot.s, Index) or (slot.name, slot.axis) in self.mixed:
                continue
            here, there = self.extents.get((slot.number, slot.s)), self.shapes[slot.name][slot.axis]
            if here is None and there is not None and not self._is_given(slot.number, slot.s):
                self._tell(slot.number, slot.s, there, slot.place)
            elif here is not None and there is None and slot.writes:
                self.shapes[slot.name][slot.axis] = here
            elif here is not None and there is not None and not equal(here, there):
                self._clash(slot, slot.s, here, there)

    def _mixed(self) -> None:
        """An axis that is written at `n + i` too tells how far a plain subscript runs where nothing else does.

        Two states that are computed from each other, x[t+1] from v[t] and v[t+1] from x[t], are as long as each other.
        """
        for slot in self.slots:
            there = self.shapes[slot.name][slot.axis]
            if not isinstance(slot.s, Index) or there is None or self._is_given(slot.number, slot.s):
                continue
            if (slot.number, slot.s) not in self.extents:
                target = self.pending[slot.number].target
                if slot.name != target and target in self._computed_from(slot.name):
                    there = tidy(there - self._step(slot))
                self._tell(slot.number, slot.s, there, slot.place)

    def _computed_from(self, name: str) -> set[str]:
        """What a result is computed from, in whatever many steps."""
        found: set[str] = set()
        left = [name]
        while left:
            target = left.pop()
            new = {r.name for p in self.pending if p.target == target for r in refs(p.body)} - found
            found |= new
            left += new
        return found

    def _step(self, slot: Slot) -> Expr:
        """How far ahead of its index the result is written that a slot reads: 1 of v[t+1]."""
        written = [p.subscripts[slot.axis] for p in self.pending if p.target == slot.name]
        ahead = [substitute(s, dict.fromkeys(indices(s), ZERO)) for s in written if indices(s)]
        return max((a for a in ahead if is_exact(a)), key=value_of, default=ZERO)

    def _read(self) -> None:
        """An axis of a result is as long as its readers ask, by what they read besides or else as they were given."""
        for name, shape in self.shapes.items():
            for axis, extent in enumerate(shape):
                if extent is not None or (name, axis) in self.mixed:
                    continue
                there = [t for t in self.slots if (t.name, t.axis) == (name, axis)]
                places = [(t.number, t.s) for t in there if isinstance(t.s, Index)]
                asked = {place: self.extents[place] for place in places if place in self.extents}
                follow = [e for (number, i), e in asked.items() if i not in self.pending[number].extents]
                if asked:
                    shape[axis] = follow[0] if follow else most([*asked.values()])
                    return

    def _is_given(self, number: int, i: Index) -> bool:
        """Whether the user said how far the index runs, be it by another one."""
        return i in self.pending[number].extents

    def _matrices(self) -> None:
        """The axes of a function of matrices are as long as its row says; the smaller side is `k`."""
        for number, p in enumerate(self.pending):
            if p.reduce not in MATRICES:
                continue
            row = MATRICES[p.reduce]
            shown, mentioned = indices(*p.subscripts), set(indices(p.body))
            reduced = [i for i in p.order if i not in shown]
            unmentioned = [i for i in shown if i not in mentioned]
            result = unmentioned[len(unmentioned) - row.rank :]
            sizes: dict[str, Expr] = {}
            for letter, i in zip(row.axes.split(), reduced, strict=True):
                extent = self.extents.get((number, i))
                if extent is None:
                    break
                if tidy(sizes.setdefault(letter, extent) - extent) is not ZERO:
                    raise ShapeError(
                        f"{self.name}: {row.function} takes a square matrix; {show(p.body)} has {show(sizes[letter])} "
                        f"rows and {show(extent)} columns."
                    )
            else:
                sizes = row_sizes(row, [self.extents[number, i] for i in reduced])
                for letter, i in zip(row.result.split(), result, strict=True):
                    if (number, i) not in self.extents:
                        self._tell(number, i, sizes[letter], f"by {row.function}")

    def _clash(self, slot: Slot, i: Index, here: Expr, there: Expr) -> None:
        number, name, p = slot.number, slot.name, self.pending[slot.number]
        if i in p.extents and (name != p.target or name in self.given):
            return  # a given extent wins; that it fits is checked when the code runs
        raise ShapeError(
            f"{self.name}: {i.name} has two sizes in {show_element(p.target, p.subscripts)}\n"
            f"    it runs over {show(here)} {self.told_by.get((number, i), '')}\n"
            f"    and over {show(there)} {slot.place}\n"
            f"  Give both axes one name, or use two indices."
        )

    def _literal(self) -> None:
        """An axis of a result that is written at expressions reaches as far as the largest of them."""
        for name, axis, ends in self._ends():
            if all(e is not None for _, e in ends):
                self.shapes[name][axis] = most([tidy(e + 1) for _, e in ends if e is not None])

    def _written(self) -> None:
        """Where only some of these are known, as far as those of them that an index moves: x[t+1,1] for x[t+1,0]."""
        for name, axis, ends in self._ends():
            known = [tidy(e + 1) for s, e in ends if e is not None]
            if any(indices(s) for s, e in ends if e is not None):
                self.shapes[name][axis] = most(known)
                return

    def _ends(self) -> Iterator[tuple[str, int, list[tuple[Expr, Expr | None]]]]:
        """The axes of unknown length, with the subscripts that they are written at, each with its largest value."""
        for name, shape in self.shapes.items():
            for axis in [axis for axis, extent in enumerate(shape) if extent is None]:
                ends: list[tuple[Expr, Expr | None]] = []
                for number, p in enumerate(self.pending):
                    if p.target == name:
                        known = {i: e for (n, i), e in self.extents.items() if n == number}
                        s = p.subscripts[axis]
                        ends.append((s, largest(self._settled(number, s), known)))
                yield name, axis, ends

    def _affine(self) -> None:
        """`S*i + rest` over an axis of h elements: i runs over (h - 1 - max(rest))//S + 1."""
        for slot in self.slots:
            number, name, axis, s = slot.number, slot.name, slot.axis, slot.s
            extent = self.shapes[name][axis]
            if isinstance(s, Index) or extent is None:
                continue
            s = self._settled(number, s)
            unknown = [i for i in indices(s) if (number, i) not in self.extents]
            if len(unknown) != 1:
                continue
            i = unknown[0]
            if self._is_given(number, i):
                continue
            known = {j: e for (n, j), e in self.extents.items() if n == number}
            if ref(EXTENT, i) in refs(s):
                inner = _merged(s, i, extent, known)
                if inner is not None:
                    return self._tell(number, i, inner, slot.place)
                continue
            step = coefficient(s, i)
            if step is None:
                continue
            most = largest(substitute(s, {i: ZERO}), known)
            if most is None:
                continue
            if is_exact(step) and value_of(step) < 0:
                found = tidy(apply("floordiv", most, -step) + 1)
            elif step is ONE:
                found = tidy(extent - most)
            elif size(whole := tidy(extent - 1 - most + step)) < size(less := tidy(extent - 1 - most)):
                found = apply("floordiv", whole, step)
            else:
                found = apply("floordiv", less, step) + 1
            return self._tell(number, i, found, f"by {show_element(name, (s,))}")

    def _check_literals(self, p: Pending) -> None:
        """Refuse `y[2]` beside `y[i:2]`."""
        for s, extent in zip(p.subscripts, self.shapes[p.target], strict=True):
            if extent is not None and is_exact(s) and is_exact(extent) and value_of(s) >= value_of(extent):
                raise ShapeError(
                    f"{self.name}: {show_element(p.target, p.subscripts)} is past the end of its axis, "
                    f"which has {show(extent)} elements. Give the other index of this axis another extent."
                )

    def _settled(self, number: int, s: Expr) -> Expr:
        """The subscript `s` with the extents that are known so far in place."""
        known: dict[Expr, Expr] = {}
        for r in refs(s):
            for i in indices(r) if r.name == EXTENT else ():
                if (number, i) in self.extents:
                    known[r] = self.extents[number, i]
        return substitute(s, known)

    def _ask(self, p: Pending, i: Index) -> None:
        element, said = show_element(p.target, p.subscripts), f"sum[{i.name}:n](...)"
        if i in indices(*p.subscripts):
            plain, inside = index(f"{i.name}:n"), index(f"({i.name}:n)")
            places = tuple(plain if s is i else substitute(s, {i: inside}) for s in p.subscripts)
            said = f"{show_element(p.target, places)} = ... in text"
        raise ShapeError(
            f"{self.name}: nothing tells how far the index {i.name} runs in {element} = {show(p.body)}. "
            f'Say it, for an n of yours: {said}, or sg.indices("{i.name}", {i.name}="n").'
        )


def _merged(s: Expr, i: Index, extent: Expr, known: Mapping[Index, Expr]) -> Expr | None:
    """The extent of `i` in a merged subscript such as `h*extent(i) + i`, over an axis of `extent` elements."""
    unknown = ref("#unknown")
    last = largest(substitute(s, {ref(EXTENT, i): unknown, i: unknown - 1}), known)
    if last is None:
        return None
    placeholder = index("#unknown")
    last = substitute(last, {unknown: placeholder})
    step = coefficient(last, placeholder)
    return None if step is None else apply("floordiv", tidy(extent - 1 - substitute(last, {placeholder: ZERO})), step)
