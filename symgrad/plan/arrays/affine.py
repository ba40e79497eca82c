"""Subscripts that are linear in indices, and what is certain of the sizes in them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from ...domain import Domain
from ...expr import (
    ONE,
    ZERO,
    Apply,
    Const,
    Expr,
    Index,
    Ref,
    apply,
    const,
    indices,
    is_exact,
    ref,
    refs,
    substitute,
    value_of,
)
from ...expr.names import Names
from ...expr.sizes import certain, coefficient, equal, multiples, stays_inside, terms, tidy
from ...ir import Function

Extents = Mapping[Index, Expr]


@dataclass(frozen=True, slots=True)
class Linear:
    """`offset + step*i + ...`; the steps in order of appearance."""

    steps: tuple[tuple[Index, Expr], ...]
    offset: Expr


def linear(s: Expr) -> Linear | None:
    """The subscript `s` as a linear form; None if it is not one, or is computed from data."""
    if any(r.subscripts for r in refs(s)):
        return None
    steps: list[tuple[Index, Expr]] = []
    for i in indices(s):
        step = coefficient(s, i)
        if step is None or step is ZERO or indices(step):
            return None
        steps.append((i, step))
    return Linear(tuple(steps), tidy(substitute(s, {i: ZERO for i, _ in steps})))


def product(extents: Collection[Expr]) -> Expr:
    """The number of points of several indices."""
    result: Expr = ONE
    for extent in extents:
        result = extent * result if is_exact(extent) else result * extent  # 2 * (h // 2)
    return result


def quotient(extent: Expr, step: Expr) -> Expr | None:
    """`a` where `extent` is a//step + 1, whichever way that is written."""
    if step is ONE:
        return tidy(extent - 1)
    if isinstance(extent, Apply) and extent.op == "floordiv" and equal(extent.args[1], step):
        return tidy(extent.args[0] - step)
    if isinstance(extent, Apply) and extent.op == "add" and extent.args[1] is ONE:
        inner = extent.args[0]
        if isinstance(inner, Apply) and inner.op == "floordiv" and equal(inner.args[1], step):
            return tidy(inner.args[0])
    return None


class Sizes:
    """What a function's sizes and options are known to be.

    needs   what printed forms suppose of options, to be checked by the printed code: `stride >= 1`
    counts  extents that may be negative where nothing fits, under a name: what is named is never less than 0
    loops   the numbers that are the index of a Python loop
    """

    def __init__(self, function: Function) -> None:
        self.dims = {d.name for d in function.dims}
        self.options = {o.name: o.default for o in function.options}
        self.numbers = {*self.dims, *self.options}
        indices = (i.name for e in function.statements for i, _ in e.box)
        self.names = Names(self.numbers, function.table, ("batch", "saved", "dtype"), indices, joint="")
        self.constraints = {c.key for c in function.constraints}
        self.facts = function.facts
        equal = [c.args for c in function.constraints if isinstance(c, Apply) and c.op == "eq"]
        self.quotients = [a.args for a, b in equal if b is ZERO and isinstance(a, Apply) and a.op == "mod"]
        self.lengths = [(a, b) for a, b in equal if isinstance(a, Ref)]
        self.constraints |= {apply("le", tidy(b), a).key for a, b in self.lengths}
        self.needs: dict[Expr, None] = {}
        self.counts: dict[Expr, tuple[Ref, Expr]] = {}
        self.loops: dict[Expr, tuple[Index, Expr]] = {}

    def is_whole(self, name: str) -> bool:
        """Whether a number is a whole one: a size, or an option that counts."""
        return name in self.numbers and isinstance(self.options.get(name, 0), int)

    def exact(self, extent: Expr) -> Expr:
        """`extent` as the size that it is by the conditions of the function: c for groups * (c//groups)."""
        extent, _ = multiples(extent, [(a, step) for a, step in self.quotients])
        return next((size for size, factors in self.lengths if equal(extent, factors)), extent)

    def positive(self, step: Expr) -> bool:
        """Whether `step` is at least 1; an option is supposed to be if its default is."""
        if is_exact(step):
            return value_of(step) > 0
        if isinstance(step, Apply) and step.op == "mul":
            return all(self.positive(a) for a in step.args)
        return self._supposed(step, 1)

    def not_negative(self, value: Expr, nonempty: Collection[Expr] = ()) -> bool:
        """Whether `value` is at least 0, where each of the sizes `nonempty` is at least 1."""
        names = {e: e + 1 for e in nonempty if isinstance(e, Ref)}
        collected = terms(substitute(value, names) if names else value)
        if collected is None:
            return False
        atoms = dict.fromkeys(a for m in collected for a in m)
        return all(c > 0 for c in collected.values()) and all(self._atom(a) for a in atoms)

    def _atom(self, a: Expr) -> bool:
        if isinstance(a, Ref) and not a.subscripts:
            return a.name in self.dims or a in self.loops or self._counted(a) or self._supposed(a, 0)
        if isinstance(a, Apply) and a.op == "floordiv":
            above, below = a.args
            return self.not_negative(above) and self.not_negative(below)
        if isinstance(a, Apply) and a.op == "maximum":
            return any(self.not_negative(x) for x in a.args)
        return isinstance(a, Const) and a.value >= 0

    def _counted(self, a: Ref) -> bool:
        return any(a is name for name, _ in self.counts.values())

    def _supposed(self, option: Expr, least: int) -> bool:
        if not isinstance(option, Ref) or option.subscripts or option.name not in self.options:
            return False
        if any(apply("ge", option, const(k)).key in self.constraints for k in range(least, 2)):
            return True
        if self.options[option.name] < least or not isinstance(self.options[option.name], int):
            return False
        self.needs[apply("ge", option, least)] = None
        return True

    def inside(self, s: Expr, axis: Expr, extents: Extents) -> bool:
        """Whether the linear subscript `s` stays in an axis of that length: proved, or checked before anything runs."""
        back = {number: i for number, (i, _) in self.loops.items()}
        box = {**dict(self.loops.values()), **extents}  # an earlier loop may have used the letter of an index
        place = substitute(s, back) if back else s
        margins = stays_inside(place, axis, box)
        if margins and all(
            condition.key in self.constraints or (certain(margin) is True and self._supposed_in(margin))
            for margin, condition in margins
        ):
            return True
        own = tuple((i, box[i]) for i in indices(place) if i in box)  # a number is read also where others have no value
        return bool(margins) and Domain.of(own, None, self.facts).inside(place, axis)

    def _supposed_in(self, margin: Expr) -> bool:
        """Whether the options in a sum of sizes and options are not negative."""
        atoms = dict.fromkeys(a for m in terms(margin) or {} for a in m)
        return all(self._supposed(a, 0) for a in atoms if isinstance(a, Ref) and a.name in self.options)

    def count(self, i: Index, extent: Expr) -> Expr:
        """`extent` as a number that is not negative; one that may be gets a name."""
        if self.not_negative(extent):
            return extent
        if extent.key not in self.counts:
            name = self.name(f"count_{i.name}")
            self.counts[extent.key] = (ref(name), extent)
            self.numbers.add(name)
        return self.counts[extent.key][0]

    def name(self, wish: str) -> str:
        """A name that nothing has yet."""
        return self.names.new(wish)
