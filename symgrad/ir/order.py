"""Lists of equations: by target, each after what it reads, without the unused; and the loops of recurrences.

Tensors that are computed from each other, such as `h[t+1,j] = tanh(sum[k](w[j,k]*h[t,k]))`, need no data of their own:
`scheduled` finds an axis along which every element is computed from earlier ones only (or from later ones only, as the
gradients of such a recurrence are), and what is left within one turn may be a recurrence along another axis.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from typing import TypeVar, Union

from ..expr import Expr, Index, Ref, indices, show, substitute
from ..expr.sizes import as_integer
from ..records import dataclass, replace
from .equations import Equation
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
    early    what is computed from that before the loop
    turn     what one turn computes, in order
    last     what is computed after the loop, though it belongs to the same tensors
    axes     (tensor, axis): along which axis each advances
    """

    index: Index
    extent: Expr
    reverse: bool
    first: tuple[Equation, ...]
    early: tuple[Item, ...]
    turn: tuple[Item, ...]
    last: tuple[Item, ...]
    axes: tuple[tuple[str, int], ...]


Item = Union[Group, Recurrence]
Node = TypeVar("Node", bound=Hashable)


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
        for inner in (*item.early, *item.turn, *item.last):
            yield from equations_of(inner)


def recurrent(equations: Sequence[Equation]) -> frozenset[str]:
    """The tensors that are computed from themselves."""
    reads = below(equations)
    return frozenset(name for names in components(reads) if _cyclic(names, reads) for name in names)


def alive(equations: Sequence[Equation], outputs: Collection[str]) -> tuple[Equation, ...]:
    """The equations that the outputs depend on."""
    needed = reached(below(equations), outputs)
    return tuple(e for e in equations if e.target in needed)


def reached(reads: Mapping[Node, Collection[Node]], roots: Collection[Node]) -> set[Node]:
    """The roots, and what they are computed from, directly or not; `reads` says what each is computed from directly."""
    found: set[Node] = set()
    stack = [*roots]
    while stack:
        name = stack.pop()
        if name not in found and name in reads:
            found.add(name)
            stack.extend(reads[name])
    return found


def scheduled(equations: Sequence[Equation], roots: Sequence[str] = ()) -> tuple[Item, ...]:
    """The equations as groups and loops, each after all that write what it reads; ties keep their order.

    roots  targets to compute first, with what they need, in this order
    Raises Cycle where tensors are computed from each other in an order that is no loop.
    """
    reads = below(equations)
    writers = by_target(equations)
    number = {id(e): n for n, e in enumerate(equations)}
    keys = {name: frozenset(number[id(e)] for e in es) for name, es in writers.items()}
    items: list[Item] = []
    for names in components(reads, roots):
        if not _cyclic(names, reads):
            items.append(Group(tuple(writers[names[0]])))
            continue
        inside = [e for name in names for e in writers[name]]
        lines = [_Line(number[id(e)], e, tuple((r, keys[r.name]) for r in e.reads if r.name in names)) for e in inside]
        first = tuple(line.equation for line in lines if not line.reads)
        items.append(_recurrence([line for line in lines if line.reads], first))
    return tuple(items)


def below(equations: Sequence[Equation]) -> dict[str, dict[str, None]]:
    """The targets that each target is computed from."""
    found: dict[str, dict[str, None]] = {e.target: {} for e in equations}
    for e in equations:
        found[e.target].update(dict.fromkeys(r.name for r in e.reads if r.name in found))
    return found


def _cyclic(members: Sequence[Node], below: Mapping[Node, Collection[Node]]) -> bool:
    """Whether the members of a component are computed from each other."""
    return len(members) > 1 or members[0] in below[members[0]]


def components(below: Mapping[Node, Collection[Node]], roots: Sequence[Node] = ()) -> list[list[Node]]:
    """The strongly connected components, each after those it reads (Tarjan's algorithm, without recursion).

    below  what each node reads
    roots  nodes to begin with; the others follow in their order, which is also that of the members of a component
    """
    place = {name: n for n, name in enumerate(below)}
    number: dict[Node, int] = {}
    low: dict[Node, int] = {}
    path: list[Node] = []
    inside: set[Node] = set()
    found: list[list[Node]] = []
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
                    at = len(path) - 1 if path[-1] == name else path.index(name)
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


@dataclass(frozen=True, slots=True)
class _Line:
    """An equation of a recurrence, and what it reads there: each reference with the lines (by key) that write it."""

    key: int
    equation: Equation
    reads: tuple[tuple[Ref, frozenset[int]], ...]


def _recurrence(lines: Sequence[_Line], first: tuple[Equation, ...] = ()) -> Recurrence:
    """The loop that computes the targets of lines that are all computed from each other."""
    start = lines[0].equation
    why = f"{start.target} has no axis"
    for axis in range(len(start.subscripts)):
        try:
            return _Axis(lines, {start.target: axis}).loop(first)
        except _Refused as refused:
            why = why if why.startswith("in ") else str(refused)
    raise Cycle(tuple(dict.fromkeys(line.equation.target for line in lines)), why)


def _turn(lines: Sequence[_Line]) -> tuple[Item, ...]:
    """The lines of one turn, each after those that it reads."""
    by_key = {line.key: line for line in lines}
    below = {line.key: dict.fromkeys(k for _, keys in line.reads for k in sorted(keys)) for line in lines}
    items: list[Item] = []
    for keys in components(below):
        mine = [by_key[k] for k in keys]
        if _cyclic(keys, below):
            inner = set(keys)
            kept = [tuple((r, ks & inner) for r, ks in line.reads if ks & inner) for line in mine]
            items.append(_recurrence([replace(line, reads=reads) for line, reads in zip(mine, kept, strict=True)]))
        elif items and isinstance(last := items[-1], Group) and last.equations[0].target == mine[0].equation.target:
            items[-1] = Group((*last.equations, mine[0].equation))
        else:
            items.append(Group((mine[0].equation,)))
    return tuple(items)


class _Refused(Exception):
    """Why an axis is none along which to advance."""


class _Axis:
    """One choice of the axis along which a recurrence advances."""

    def __init__(self, lines: Sequence[_Line], axes: dict[str, int]) -> None:
        self.lines = lines
        self.axes = axes
        self.time: dict[int, tuple[Index, int]] = {}  # key -> the index of the loop, and what the target adds to it
        self.last: set[int] = set()  # lines that write at one place, and run before or after the loop
        self._follow()

    def loop(self, first: tuple[Equation, ...]) -> Recurrence:
        """The loop along this axis; raises _Refused where it is none, in this turn or along other axes within one."""
        index, extent = self._extent()
        early = self._early(extent)
        self._check_last(extent)
        lags: set[int] = set()
        turn: list[_Line] = []
        for line in self.lines:
            if line.key not in self.time:
                continue
            mine = self.time[line.key][0]
            names: dict[Expr, Expr] = {mine: index, index: mine}  # should it have an `index` already, that yields
            now = []
            for r, keys in line.reads:
                found = self._lags(line, r, keys, extent)
                lags |= set(found.values())
                same = frozenset(key for key, lag in found.items() if not lag)
                now += [(renamed, same)] if same and isinstance(renamed := substitute(r, names), Ref) else []
            turn.append(_Line(line.key, line.equation.at(names), tuple(now)))
        if not lags - {0}:
            raise _Refused("no element is computed from an earlier one")
        if min(lags) < 0 < max(lags):
            raise _Refused(f"{turn[0].equation.target} is computed from earlier elements and from later ones")
        try:
            before, items, after = _turn(early), _turn(turn), _turn(self._among(self.last))
        except Cycle as cycle:
            raise _Refused(cycle.why) from None
        return Recurrence(index, extent, max(lags) > 0, first, before, items, after, tuple(self.axes.items()))

    def _early(self, extent: Expr) -> list[_Line]:
        """The lines that write at one place and read only what the loop does not write; the others wait for it."""

        def known(r: Ref, keys: Collection[int]) -> bool:
            place = r.subscripts[self.axes[r.name]]
            return not indices(place) and all(_beyond(place, self.time[k][1], extent) for k in keys if k in self.time)

        keys = {line.key for line in self.lines if all(known(r, ks) for r, ks in line.reads)} & self.last
        self.last -= keys
        return self._among(keys)

    def _among(self, keys: set[int]) -> list[_Line]:
        """The lines of those keys, which write at one place each, with what they read of each other."""
        mine = [line for line in self.lines if line.key in keys]
        places = {line.key: line.equation.subscripts[self.axes[line.equation.target]] for line in mine}
        found = []
        for line in mine:
            box = dict(line.equation.box)
            now = []
            for r, ks in line.reads:
                place = r.subscripts[self.axes[r.name]]
                touched = frozenset(k for k in ks & keys if _meets(place, places[k], box))
                now += [(r, touched)] if touched else []
            found.append(replace(line, reads=tuple(now)))
        return found

    def _follow(self) -> None:
        """From the axis of one tensor to those of the others: the index that counts there counts here."""
        waiting = list(self.lines)
        while ready := [line for line in waiting if line.equation.target in self.axes]:
            waiting = [line for line in waiting if line.equation.target not in self.axes]
            for line in ready:
                e = line.equation
                place = e.subscripts[self.axes[e.target]]
                if not indices(place):
                    self.last.add(line.key)
                    continue
                i = indices(place)[0]
                step = as_integer(place - i)
                if step is None or i not in dict(e.box):
                    raise _Refused(f"{show_element(e.target, e.subscripts)} is not at an index plus a number")
                self.time[line.key] = i, step
                for r, _ in line.reads:
                    near = [a for a, s in enumerate(r.subscripts) if as_integer(s - i) is not None]
                    if near:
                        self.axes.setdefault(r.name, near[0])
        if waiting or not self.time:
            raise _Refused(f"in {self.lines[0].equation.target} nothing counts the turns")

    def _extent(self) -> tuple[Index, Expr]:
        """The index of the loop and its extent, the same for all equations."""
        counted = [line for line in self.lines if line.key in self.time]
        index, _ = self.time[counted[0].key]
        extent = dict(counted[0].equation.box)[index]
        for line in counted[1:]:
            i, _ = self.time[line.key]
            other = dict(line.equation.box)[i]
            if as_integer(other - extent) != 0:
                a, b = counted[0].equation, line.equation
                raise _Refused(
                    f"in {show_element(a.target, a.subscripts)} {index.name} runs over {show(extent)}, and in "
                    f"{show_element(b.target, b.subscripts)} {i.name} runs over {show(other)}"
                )
        return index, extent

    def _check_last(self, extent: Expr) -> None:
        """Refuse to compute after the loop what it reads."""
        counted = [line for line in self.lines if line.key in self.time]
        for line in self.lines:
            e = line.equation
            place = e.subscripts[self.axes[e.target]]
            for reader in counted if line.key in self.last else ():
                for r, keys in reader.reads:
                    if line.key in keys and not _beyond(place, self._offset(reader, r), extent):
                        raise _Refused(f"in {show_element(e.target, e.subscripts)} nothing counts the turns")

    def _lags(self, line: _Line, r: Ref, keys: Collection[int], extent: Expr) -> dict[int, int]:
        """How many turns before (negative) or after a line those run that write what it reads as `r`."""
        place = r.subscripts[self.axes[r.name]]
        written = {key: self.time[key][1] for key in keys if key in self.time}
        if not indices(place) and all(_beyond(place, step, extent) for step in written.values()):
            return {}
        offset = self._offset(line, r)
        return {key: offset - step for key, step in written.items()}

    def _offset(self, line: _Line, r: Ref) -> int:
        e, (i, _) = line.equation, self.time[line.key]
        offset = as_integer(r.subscripts[self.axes[r.name]] - i)
        if offset is None:
            raise _Refused(
                f"in {show_element(e.target, e.subscripts)} the place {show_element(r.name, r.subscripts)} is not "
                f"{i.name} plus a number"
            )
        return offset


def _meets(place: Expr, other: Expr, box: Mapping[Index, Expr]) -> bool:
    """Whether what is read at `place`, for every value of its indices, may be what stands at `other`."""
    for i in indices(place):
        begin = as_integer(place - i)
        return begin is None or i not in box or not _beyond(other, begin, box[i])
    return as_integer(place - other) in (None, 0)


def _beyond(place: Expr, begin: int, extent: Expr) -> bool:
    """Whether one place is outside of begin, ..., begin + extent - 1."""
    below, above = as_integer(place - begin), as_integer(place - begin - extent)
    return (below is not None and below < 0) or (above is not None and above >= 0)
