"""Subscripts that are linear in indices, and what is certain of the sizes in them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ...domain import Affine, Box, Domain
from ...domain.atoms import linear as is_linear
from ...expr import (
    ONE,
    ZERO,
    Apply,
    Expr,
    Index,
    Ref,
    apply,
    const,
    indices,
    is_exact,
    is_short,
    postorder,
    ref,
    refs,
    substitute,
)
from ...expr.names import Names
from ...expr.polynomials import Polynomial, polynomial
from ...expr.sizes import coefficient, equal, multiples, tidy
from ...ir import Function
from ...ir.reads import Conditions
from ...ops import OPS
from ...records import dataclass
from ..conditions import all_of

Extents = Mapping[Index, Expr]
NO_INDEX: Extents = {}
SHORT = 2  # operations of an extent that is written where it is read


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

    names     gives what has no name yet its own
    supposed  options that count from 0, or from 1, as their defaults do
    least     those of which printed forms take that for granted, and the number
    counts    extents that may be negative where nothing fits, under a name: what is named is never less than 0
    loops     the numbers that are the index of a Python loop
    """

    def __init__(self, function: Function, names: Names) -> None:
        self.names = names
        self.options = {o.name: o.default for o in function.options}
        self.numbers = {*(d.name for d in function.dims), *self.options}
        equal = [c.args for c in function.constraints if isinstance(c, Apply) and c.op == "eq"]
        self.quotients = [a.args for a, b in equal if b is ZERO and isinstance(a, Apply) and a.op == "mod"]
        self.lengths = [(a, b) for a, b in equal if isinstance(a, Ref)]
        self.facts = function.facts
        whole = ((ref(n), v) for n, v in self.options.items() if isinstance(v, int) and v >= 0)
        self.supposed: dict[Expr, int] = {r: min(v, 1) for r, v in whole}
        self.least: dict[Expr, int] = {}
        self.known: dict[Expr, Expr] = {}  # extents, by what they are written as
        self.counts: dict[Expr, tuple[Ref, Expr]] = {}
        self.loops: dict[Expr, tuple[Index, Expr]] = {}

    def is_whole(self, name: str) -> bool:
        """Whether a number is a whole one: a size, or an option that counts."""
        return name in self.numbers and isinstance(self.options.get(name, 0), int)

    def tell(self, node: Expr) -> bool:
        """Whether sizes, options and the numbers of loops alone tell what `node` is, in whole numbers."""
        return all(r.name in self.numbers and not r.subscripts for r in refs(node)) and all(
            isinstance(n, Ref)
            or (isinstance(n, Apply) and (OPS[n.op].of_integers or OPS[n.op].result == "bool"))
            or is_exact(n)
            for n in postorder(node)
        )

    def exact(self, extent: Expr) -> Expr:
        """`extent` as the size that it is by the conditions of the function: c for groups * (c//groups)."""
        if extent not in self.known:
            found, _ = multiples(extent, [(a, step) for a, step in self.quotients])
            self.known[extent] = next((size for size, factors in self.lengths if equal(found, factors)), found)
        return self.known[extent]

    def settled(self, extent: Expr) -> Expr:
        """`extent`, or the name of its count: the length of an axis that is there."""
        return self.counts[extent.key][0] if extent.key in self.counts else self.exact(extent)

    def positive(self, step: Expr) -> bool:
        """Whether `step` is at least 1."""
        return self.not_negative(step - 1)

    def occupied(self, extent: Expr) -> bool:
        """Whether an axis of that length has elements where no size is 0."""
        (condition,), box = self._in_loops(NO_INDEX, (apply("ge", extent, ONE),))
        facts = self.facts.raised(frozenset((ref(n), 1) for n in self.numbers if n not in self.options))
        return Domain.of(box, None, facts).holds(condition)

    def inside(self, s: Expr, axis: Expr, extents: Extents, given: Conditions | None = None) -> bool:
        """Whether the subscript `s` stays in an axis of that length at the places of its indices; where all of `given`
        hold, as `not_negative` says."""
        return self.not_negative(s, extents, given) and self.not_negative(axis - 1 - s, extents, given)

    def range(self, s: Expr, extents: Extents) -> tuple[Expr, Expr] | None:
        """The least and the largest value of a subscript, where options count as their defaults do; None where they are
        not known, as in a turn of a loop."""
        if any(i not in extents for i in indices(s)):
            return None
        facts = self.facts.raised(frozenset(self.supposed.items()))
        return Domain.of(tuple((i, extents[i]) for i in indices(s)), None, facts).range(s)

    def holds(self, condition: Expr, extents: Extents = NO_INDEX, given: Conditions = ()) -> bool:
        """Whether a condition holds at each point of its indices where all of `given` hold."""
        (condition, *asked), box = self._in_loops(extents, (condition, *given))
        return Domain.of(box, all_of(asked), self.facts).holds(condition)

    def not_negative(
        self, value: Expr, extents: Extents = NO_INDEX, given: Conditions | None = None, at: Sequence[Index] = ()
    ) -> bool:
        """Whether `value` is at least 0 at each point of its indices, and of those `at`.

        What that takes for granted of options is checked before anything runs. Under conditions (`given`) nothing is
        taken for granted: they may ask for it.
        """
        (value, *asked), own = self._in_loops(extents, (value, *(given or ())), at)
        form, where = polynomial(value), all_of(asked)
        if form is None or not is_linear(form):
            return False
        options: list[Expr] = [r for r in refs(value, *(n for _, n in own)) if r in self.supposed and given is None]
        few, many = ({r: min(low, self.supposed[r]) for r in options} for low in (0, 1))
        least: dict[Expr, int] = {}
        if not self._entails(form, own, where, {}):
            if not options or not self._entails(form, own, where, many):
                return False
            least = few if self._entails(form, own, where, few) else many
        for r in options:  # no more than it takes
            others = {k: low for k, low in least.items() if k is not r}
            fewer = (way for way in (others, {**others, r: 0}) if least and self._entails(form, own, where, way))
            least = next(fewer, least)
        for r, low in least.items():
            if self.least.get(r, -1) < low:
                self.least.pop(r, None)
                self.least[r] = low
        return True

    def _in_loops(self, extents: Extents, roots: Sequence[Expr], at: Sequence[Index] = ()) -> tuple[list[Expr], Box]:
        """Expressions with the index of each loop for its number, and how far their indices go, and those `at`."""
        back = {number: i for number, (i, _) in self.loops.items()}
        box = {**dict(self.loops.values()), **extents}  # an earlier loop may have used the letter of an index
        found = [substitute(r, back) for r in roots]
        return found, tuple((i, box[i]) for i in dict.fromkeys((*at, *indices(*found))) if i in box)

    @property
    def needs(self) -> list[Expr]:
        """What printed forms take for granted of options, to be checked by the printed code: `stride >= 1`."""
        return [apply("ge", r, const(low)) for r, low in self.least.items()]

    def _entails(self, form: Polynomial, box: Box, where: Expr | None, least: Mapping[Expr, int]) -> bool:
        facts = self.facts.raised(frozenset(least.items()))
        return facts.nonnegative(form) or Domain.of(box, where, facts).entails(Affine(form))

    def count(self, i: Index, extent: Expr) -> Expr:
        """`extent` as a number that is not negative; one that may be, or is long, gets a name."""
        if self.not_negative(extent) and is_short(extent, SHORT):
            return extent
        if extent.key not in self.counts:
            return self.named(self.names.new(f"count_{i.name}"), extent)
        return self.counts[extent.key][0]

    def named(self, name: str, extent: Expr) -> Ref:
        """The name for the count of an extent."""
        self.counts[extent.key] = (ref(name), extent)
        self.numbers.add(name)
        self.facts = self.facts.raised(frozenset([(ref(name), self.facts.least_of(extent) or 0)]))
        return ref(name)
