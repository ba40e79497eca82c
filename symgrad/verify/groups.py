"""Equations as lists of instructions over numbered slots, and what one evaluation of them leaves behind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any

import mpmath
from mpmath import mp

from ..evaluate import APPLY, CONST, INDEX, REF, SELECT, Code, Element, Position, place
from ..expr import refs
from ..ir import Equation, Function
from ..ops import COMPARISONS, OPS
from ..ops.matrices import Matrix
from ..ops.primitive import Primitive, primitives
from ..records import dataclass
from .partials import Partial, symbolic
from .rounding import REACH

BLUR = 24  # last bits in which two numbers may differ that are equal
Key = tuple[str, Position]  # an element: its tensor and its place


@dataclass(frozen=True, slots=True)
class Component:
    """Groups whose elements are evaluated in the order in which they need each other.

    open  the tensors that are computed from themselves, by way of others or not; for all else one group, and none
    """

    groups: tuple[Group, ...]
    open: frozenset[str]


def components(function: Function) -> tuple[Component, ...]:
    """The statements of a function in their order, those together that read what they or later ones write."""
    real = frozenset(t.name for t in function.tensors if t.dtype == "real")
    statements = function.statements
    last = {e.target: number for number, e in enumerate(statements)}
    spans: list[tuple[int, int]] = []  # from the first statement that reads ahead, to what it reads
    for number, equation in enumerate(statements):
        ahead = [last[r.name] for r in equation.reads if last.get(r.name, -1) >= number]
        if ahead and spans and number <= spans[-1][1]:
            spans[-1] = spans[-1][0], max(spans[-1][1], *ahead)
        elif ahead:
            spans.append((number, max(ahead)))
    found: list[Component] = []
    start = 0
    for first, end in [*spans, (len(statements), len(statements))]:
        found += [Component((Group(tuple(g), real),), frozenset()) for g in _joined(statements[start:first])]
        tangled = statements[first : end + 1]
        if tangled:
            alone = tuple(Group((e,), real) for e in tangled)
            found.append(Component(alone, frozenset(e.target for e in tangled)))
        start = end + 1
    return tuple(found)


def _joined(statements: Sequence[Equation]) -> list[list[Equation]]:
    """Consecutive equations without reduction over one box, so that what they share is computed once."""
    groups: list[list[Equation]] = []
    for equation in statements:
        if groups and _joins(groups[-1], equation):
            groups[-1].append(equation)
        else:
            groups.append([equation])
    return groups


def _joins(group: list[Equation], equation: Equation) -> bool:
    first = group[0]
    if (equation.reduce, first.reduce) != ("none", "none"):
        return False
    if (equation.box, equation.where, equation.when) != (first.box, first.where, first.when):
        return False
    written = {e.target for e in group}
    return not any(r.name in written for r in equation.reads)


class Group(Code):
    """Equations that are evaluated together, as one list of instructions over numbered slots."""

    def __init__(self, equations: tuple[Equation, ...], real: frozenset[str]) -> None:
        super().__init__(*(e.body for e in equations))
        self.equations = equations
        self.box = equations[0].box
        self.where = equations[0].where
        self.operand_slots = tuple(self.slot[o] for o in equations[0].operands)
        # a slot is active if a real tensor's elements reach it: only there is a derivative
        self.active: list[bool] = []
        for kind, what, args in self.codes:
            self.active.append(what in real if kind == REF else any(self.active[a] for a in args))
        # where a derivative may be a matter of declaration
        self.watched = [
            number
            for number, op in enumerate(self.ops)
            if self.active[number] and op and (op in COMPARISONS or OPS[op].kinks)
        ]
        # what decides by numbers, and the slots of these numbers: there is no telling which of two is larger if one is
        # not a number
        self.deciding = [
            (number, args[:1] if kind == SELECT else args)
            for number, (kind, _, args) in enumerate(self.codes)
            if (kind == SELECT or (kind == APPLY and OPS[self.ops[number]].result == "bool"))
            and not all(self.codes[a][0] in (CONST, INDEX) for a in args)
        ]

        # the equalities of data, by the `where` that they decide
        self.equalities = {
            number: [self.codes[k][2] for k in self._below(args[0]) if self.ops[k] in ("eq", "ne") and self.active[k]]
            for number, (kind, _, args) in enumerate(self.codes)
            if kind == SELECT
        }

        self.sums = [(n, args) for n, (_, _, args) in enumerate(self.codes) if self.ops[n] in ("add", "sub")]
        ordering = (*COMPARISONS, "maximum", "minimum")
        self.ordering = [
            (number, args)
            for number, (kind, _, args) in enumerate(self.codes)
            if kind == APPLY and self.ops[number] in ordering
        ]

    def _below(self, root: int) -> list[int]:
        """The slots that one is computed from, itself among them."""
        found = {root: None}
        for number in range(root, -1, -1):
            if number in found:
                found.update(dict.fromkeys(self.codes[number][2]))
        return list(found)

    @cached_property
    def passing(self) -> list[tuple[tuple[int, int, Partial | int], ...]]:
        """Of each slot with an operator, to which slots it passes its adjoint on: the place of the slot among the
        arguments, the slot, and the partial derivative there."""
        return [
            tuple(
                (which, arg, slope)
                for which, (arg, slope) in enumerate(zip(args, symbolic(op), strict=True))
                if slope is not None and self.active[arg]
            )
            if kind == APPLY
            else ()
            for op, (kind, _, args) in zip(self.ops, self.codes, strict=True)
        ]

    def evaluated(
        self, at: Mapping[str, int], constants: list[Any], element: Element
    ) -> tuple[list[Any], list[int] | None]:
        """The same as `Code.evaluated`: in one go, or one by one, where an operator has no value or leaves REACH."""
        if not self.lazy:
            try:
                return self.straight(at, constants, element), None
            except (ArithmeticError, ValueError):
                pass
        return super().evaluated(at, constants, element)

    @cached_property
    def straight(self) -> Callable[[Mapping[str, int], list[Any], Element], list[Any]]:
        """The instructions as a function: a line of Python for each slot. OverflowError for what is beyond REACH.

        Sums and products are looked at where another operator or a subscript reads them, and at the end: these take no
        longer of large numbers.
        """
        known: dict[str, Any] = {"place": place, "mpf": mpmath.mpf, "most": REACH}
        lines: list[str] = []
        unseen: set[int] = set()

        def seen(slots: Sequence[int]) -> None:
            for k in sorted(unseen.intersection(slots)):
                lines.append(f"if type(v{k}) is mpf and v{k}._mpf_[2] + v{k}._mpf_[3] > most: raise OverflowError")
            unseen.difference_update(slots)

        for number, (kind, what, args) in enumerate(self.codes):
            read = "".join(f"v{a}, " for a in args)
            if kind == APPLY:
                if not OPS[self.ops[number]].arithmetic:
                    seen(args)
                known[f"f{number}"] = what
                lines.append(f"v{number} = f{number}({read})")
                unseen.add(number)
            elif kind == REF:
                seen(args)
                lines.append(f"v{number} = element({what!r}, place(({read})))")
            else:
                lines.append(f"v{number} = " + (f"constants[{number}]" if kind == CONST else f"at[{what!r}]"))
        seen(range(len(self.codes)))
        lines.append(f"return [{', '.join(f'v{number}' for number in range(len(self.codes)))}]")
        exec("\n    ".join(["def straight(at, constants, element):", *lines]), known)
        return known["straight"]  # type: ignore[no-any-return]

    def regular(self, function: Function) -> bool:
        """Whether the sizes alone tell where the equations write."""
        whole = {d.name for d in function.dims} | {o.name for o in function.options if o.dtype == "int"}
        places = [s for e in self.equations for s in e.subscripts] + ([] if self.where is None else [self.where])
        return all(r.name in whole for r in refs(*places))

    def decided(self, values: Sequence[Any]) -> bool:
        """Whether all that was compared are numbers, and no two of them equal but for their last bits."""
        for number, args in self.deciding:
            if values[number] is not None:
                for a in args:
                    if values[a] != values[a]:
                        return False
        for number, (a, b) in self.ordering:
            if values[number] is not None and values[a] != values[b] and mp.isfinite(off := values[a] - values[b]):
                if mp.mag(off) < mp.mag(values[a]) + BLUR - mp.prec:
                    return False
        return True

    def absorbing(self, values: Sequence[Any]) -> bool:
        """Whether a term left no trace in a sum: 1 + exp(-x) is 1 to any precision if x is large enough."""
        for number, (a, b) in self.sums:
            if values[number] is not None and mp.isfinite(values[number]) and values[a] and values[b]:
                if values[number] in (values[a], values[b] if self.ops[number] == "add" else -values[b]):
                    return True
        return False

    def applied(self, function: Callable[..., Any], args: list[Any]) -> Any:
        """The value of an operator; NaN beyond REACH."""
        try:
            value = function(*args)
        except (ZeroDivisionError, ValueError, OverflowError):
            return mp.nan
        if type(value) is mpmath.mpf and value._mpf_[2] + value._mpf_[3] > REACH:
            return mp.nan
        return value


class Prepared:
    """A function prepared for evaluation: its components, and the points of groups at some sizes, as they are found."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.components = components(function)
        self.points: dict[Any, list[tuple[dict[str, int], tuple[Position, ...]]]] = {}

    @cached_property
    def operations(self) -> int:
        """The number of operations of all equations at one point each."""
        return sum(len(g.codes) for c in self.components for g in c.groups)

    @cached_property
    def primitives(self) -> tuple[Primitive, ...]:
        """The functions of the user's that it calls, and those of their derivatives."""
        return primitives(*(e.body for e in self.function.statements))

    @cached_property
    def exact(self) -> bool:
        """Whether all that it calls has a value to as many digits as are asked for."""
        return all(op.about.exact for op in self.primitives)


@dataclass(slots=True, eq=False)
class Visit:
    """One point of a group's box: the value of each slot, none before it is visited, and what is needed to go back."""

    group: Group
    at: Mapping[str, int]
    values: list[Any] = field(default_factory=list)
    order: list[int] | None = None
    partials: dict[int, list[tuple[int, Any]]] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Block:
    """One call of a function of matrices: its operands as nested lists of visits, and the slot of each operand."""

    row: Matrix
    operands: tuple[Any, ...]
    slots: tuple[int, ...]
    value: Any = None


@dataclass(slots=True)
class Fibre:
    """The points that one equation reduces to one element of its target, and the slot of each that counts."""

    group: Group
    target: str
    position: Position
    reduce: str
    members: list[tuple[Visit, int]]
    value: Any = None
    block: Block | None = None  # of a function of matrices: all of its results, of which this is the one at `place`
    place: Position = ()

    @property
    def values(self) -> list[Any]:
        """What is reduced; every point has been visited."""
        return [visit.values[slot] for visit, slot in self.members]
