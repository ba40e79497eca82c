"""Lists of equations: by target, each after what it reads, without the unused; and the loops of recurrences.

Tensors that are computed from each other, such as `h[t+1,j] = tanh(sum[k](w[j,k]*h[t,k]))`, need no data of their own:
`scheduled` finds an axis along which every element is computed from earlier ones only (or from later ones only, as the
gradients of such a recurrence are), and what is left within one turn may be a recurrence along another axis.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Union

from ..expr import Expr, Index, Ref, indices, show, substitute
from ..expr.sizes import terms
from .data import Equation
from .text import show_element


class Cycle(Exception):
    """Tensors that are computed from each other, and why no loop can do that; `names` in the order of reading."""

    def __init__(self, names: Sequence[str], why: str) -> None:
        super().__init__(" -> ".join(names))
        self.names = tuple(names)
        self.why = why


@dataclass(frozen=True, slots=True)
class Group:
    """Equations of one target, which read none of it."""

    equations: tuple[Equation, ...]


@dataclass(frozen=True, slots=True)
class Recurrence:
    """Tensors that are computed from each other, one value of an index after the other.

    index    the index of the loop, one name in all the equations of `turn`
    extent   how far it runs; downwards if `reverse`
    first    what is known before the loop
    turn     what one turn computes, in order
    last     what is computed after the loop, though it belongs to the same tensors
    axes     (tensor, axis): along which axis each advances
    """

    index: Index
    extent: Expr
    reverse: bool
    first: tuple[Equation, ...]
    turn: tuple[Item, ...]
    last: tuple[Equation, ...]
    axes: tuple[tuple[str, int], ...]


Item = Union[Group, Recurrence]


def by_target(equations: Sequence[Equation]) -> dict[str, list[Equation]]:
    """The equations of each tensor, in order of first appearance."""
    found: dict[str, list[Equation]] = {}
    for e in equations:
        found.setdefault(e.target, []).append(e)
    return found


def ordered(equations: Sequence[Equation], roots: Sequence[str] = ()) -> tuple[Equation, ...]:
    """The equations in an order in which `scheduled` computes them. Raises Cycle if there is none."""
    return tuple(e for item in scheduled(equations, roots) for e in equations_of(item))


def equations_of(item: Item) -> Iterator[Equation]:
    """All equations of an item, in order."""
    if isinstance(item, Group):
        yield from item.equations
    else:
        yield from item.first
        for inner in item.turn:
            yield from equations_of(inner)
        yield from item.last


def recurrent(equations: Sequence[Equation]) -> frozenset[str]:
    """The tensors that are computed from themselves."""
    lines = [_Line(e, e.reads) for e in equations]
    return frozenset(name for names in _components(lines, ()) if _cyclic(names, lines) for name in names)


def alive(equations: Sequence[Equation], outputs: Collection[str]) -> tuple[Equation, ...]:
    """The equations that the outputs depend on."""
    writers = by_target(equations)
    needed: set[str] = set()
    stack = [name for name in outputs if name in writers]
    while stack:
        name = stack.pop()
        if name not in needed:
            needed.add(name)
            stack.extend(r.name for e in writers[name] for r in e.reads if r.name in writers)
    return tuple(e for e in equations if e.target in needed)


def scheduled(equations: Sequence[Equation], roots: Sequence[str] = ()) -> tuple[Item, ...]:
    """The equations as groups and loops, each after all that write what it reads; ties keep their order.

    roots  targets to compute first, with what they need, in this order
    Raises Cycle where tensors are computed from each other in an order that is no loop.
    """
    return _scheduled([_Line(e, e.reads) for e in equations], roots)


# components


@dataclass(frozen=True, slots=True)
class _Line:
    """An equation, and the references that have to be there before it."""

    equation: Equation
    reads: tuple[Ref, ...]


def _scheduled(lines: Sequence[_Line], roots: Sequence[str] = ()) -> tuple[Item, ...]:
    mine: dict[str, list[_Line]] = {}
    for line in lines:
        mine.setdefault(line.equation.target, []).append(line)
    return tuple(
        _recurrence([line for name in names for line in mine[name]], names)
        if _cyclic(names, mine[names[0]])
        else Group(tuple(line.equation for line in mine[names[0]]))
        for names in _components(lines, roots)
    )


def _cyclic(names: Sequence[str], lines: Sequence[_Line]) -> bool:
    """Whether the tensors of a component are computed from each other."""
    (name, *more) = names
    return bool(more) or any(r.name == name for line in lines if line.equation.target == name for r in line.reads)


def _components(lines: Sequence[_Line], roots: Sequence[str]) -> list[list[str]]:
    """The strongly connected components of targets, each after those it reads (Tarjan's algorithm, without calls)."""
    below: dict[str, dict[str, None]] = {}
    for line in lines:
        below.setdefault(line.equation.target, {})
    for line in lines:
        below[line.equation.target].update(dict.fromkeys(r.name for r in line.reads if r.name in below))
    place = {name: n for n, name in enumerate(below)}
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    path: list[str] = []
    inside: set[str] = set()
    found: list[list[str]] = []
    for root in [*(r for r in roots if r in below), *below]:
        if root in number:
            continue
        calls = [(root, iter(below[root]))]
        number[root] = low[root] = len(number)
        path.append(root)
        inside.add(root)
        while calls:
            name, rest = calls[-1]
            child = next(rest, None)
            if child is None:
                calls.pop()
                if calls:
                    above = calls[-1][0]
                    low[above] = min(low[above], low[name])
                if low[name] == number[name]:
                    at = path.index(name) if path[-1] != name else len(path) - 1
                    component, path[at:] = path[at:], []
                    inside.difference_update(component)
                    found.append(sorted(component, key=place.__getitem__))
            elif child not in number:
                number[child] = low[child] = len(number)
                path.append(child)
                inside.add(child)
                calls.append((child, iter(below[child])))
            elif child in inside:
                low[name] = min(low[name], number[child])
    return found


# loops


def _recurrence(lines: Sequence[_Line], names: Sequence[str]) -> Recurrence:
    """The loop that computes the tensors `names` from each other."""
    cyclic = [line for line in lines if any(r.name in names for r in line.reads)]
    first = tuple(line.equation for line in lines if not any(r.name in names for r in line.reads))
    start = cyclic[0].equation
    why = f"{start.target} has no axis"
    for axis in range(len(start.subscripts)):
        try:
            return _Axis(names, cyclic, {start.target: axis}).loop(first)
        except _Refused as refused:
            why = why if why.startswith("in ") else str(refused)
    raise Cycle(names, why)


class _Refused(Exception):
    """Why an axis is none along which to advance."""


class _Axis:
    """One choice of the axis along which a recurrence advances."""

    def __init__(self, names: Sequence[str], lines: Sequence[_Line], axes: dict[str, int]) -> None:
        self.names = names
        self.lines = lines
        self.axes = axes
        self.time: dict[int, tuple[Index, int]] = {}  # line -> its index of the loop, and what the target adds to it
        self.last: set[int] = set()  # lines that write at one place, and run after the loop
        self._follow()

    def loop(self, first: tuple[Equation, ...]) -> Recurrence:
        """The loop along this axis; raises _Refused, or Cycle for what is left within one turn."""
        index, extent = self._extent()
        lags: set[int] = set()
        turn: list[_Line] = []
        for number, line in enumerate(self.lines):
            if number in self.last:
                continue
            now = []
            for r in line.reads:
                found = self._lags(number, r) if r.name in self.names else set()
                lags |= found
                now += [r] if 0 in found else []
            e, renamed = _renamed(line.equation, self.time[number][0], index)
            turn.append(_Line(e, tuple(_ref(r, renamed) for r in now)))
        if not lags - {0}:
            raise _Refused("no element is computed from an earlier one")
        if min(lags) < 0 < max(lags):
            raise _Refused(f"{self.names[0]} is computed from earlier elements and from later ones")
        try:
            items = _scheduled(turn)
        except Cycle as cycle:
            raise _Refused(cycle.why) from None
        last = tuple(self.lines[number].equation for number in sorted(self.last))
        return Recurrence(index, extent, max(lags) > 0, first, items, last, tuple(self.axes.items()))

    def _follow(self) -> None:
        """From the axis of one tensor to those of the others: the index that counts there counts here."""
        waiting = set(range(len(self.lines)))
        while ready := [n for n in sorted(waiting) if self.lines[n].equation.target in self.axes]:
            for number in ready:
                waiting.discard(number)
                e, reads = self.lines[number].equation, self.lines[number].reads
                place = e.subscripts[self.axes[e.target]]
                if not indices(place):
                    self.last.add(number)
                    continue
                i = indices(place)[0]
                step = _whole(place - i)
                if step is None or i not in dict(e.box):
                    raise _Refused(f"{show_element(e.target, e.subscripts)} is not at an index plus a number")
                self.time[number] = i, step
                for r in reads:
                    if r.name in self.names and r.name not in self.axes:
                        near = [a for a, s in enumerate(r.subscripts) if _whole(s - i) is not None]
                        if near:
                            self.axes[r.name] = near[0]
        if waiting or not self.time:
            raise _Refused(f"in {self.names[0]} nothing counts the turns")

    def _extent(self) -> tuple[Index, Expr]:
        """The index of the loop and its extent, the same for all equations."""
        found = [(i, dict(self.lines[number].equation.box)[i], number) for number, (i, _) in sorted(self.time.items())]
        index, extent, start = found[0]
        for i, other, number in found[1:]:
            if _whole(other - extent) != 0:
                a, b = (self.lines[n].equation for n in (start, number))
                raise _Refused(
                    f"in {show_element(a.target, a.subscripts)} {index.name} runs over {show(extent)}, and in "
                    f"{show_element(b.target, b.subscripts)} {i.name} runs over {show(other)}"
                )
        for number in self.last:
            e = self.lines[number].equation
            place = e.subscripts[self.axes[e.target]]
            for other, line in enumerate(self.lines):
                for r in line.reads if other not in self.last else ():
                    if r.name == e.target and not self._beyond(place, self._offset(other, r), extent):
                        raise _Refused(f"in {show_element(e.target, e.subscripts)} nothing counts the turns")
        return index, extent

    def _lags(self, number: int, r: Ref) -> set[int]:
        """How many turns before (negative) or after a line those run that write what it reads as `r`."""
        place = r.subscripts[self.axes[r.name]]
        written = [(n, step) for n, (_, step) in self.time.items() if self.lines[n].equation.target == r.name]
        if not indices(place):
            extent = self._extent()[1]
            if all(self._beyond(place, step, extent) for _, step in written):
                return set()
        offset = self._offset(number, r)
        return {offset - step for _, step in written}

    def _offset(self, number: int, r: Ref) -> int:
        e, (i, _) = self.lines[number].equation, self.time[number]
        offset = _whole(r.subscripts[self.axes[r.name]] - i)
        if offset is None:
            raise _Refused(
                f"in {show_element(e.target, e.subscripts)} the place {show_element(r.name, r.subscripts)} is not {i.name} plus a "
                f"number"
            )
        return offset

    @staticmethod
    def _beyond(place: Expr, begin: int, extent: Expr) -> bool:
        """Whether one place is outside of begin, ..., begin + extent - 1."""
        below, above = _whole(place - begin), _whole(place - begin - extent)
        return (below is not None and below < 0) or (above is not None and above >= 0)


def _whole(s: Expr) -> int | None:
    """The value of an integer expression without any name in it."""
    polynomial = terms(s)
    if polynomial is None or any(polynomial.keys() - {()}):
        return None
    return polynomial.get((), 0)


def _renamed(e: Equation, old: Index, new: Index) -> tuple[Equation, dict[Expr, Expr]]:
    """The equation with the index `old` called `new`; should it have a `new` already, that is called `old`."""
    swap: dict[Expr, Expr] = {old: new, new: old} if old is not new else {}
    if not swap:
        return e, swap
    names = {old: new, new: old}
    changed = replace(
        e,
        subscripts=tuple(substitute(s, swap) for s in e.subscripts),
        body=substitute(e.body, swap),
        box=tuple((names.get(i, i), extent) for i, extent in e.box),
        where=None if e.where is None else substitute(e.where, swap),
    )
    return changed, swap


def _ref(r: Ref, names: dict[Expr, Expr]) -> Ref:
    result = substitute(r, names)
    assert isinstance(result, Ref)
    return result
