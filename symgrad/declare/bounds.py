"""What must hold of the sizes so that no equation reads or writes outside of a tensor, or divides an integer by 0.

Each element is looked at where it is evaluated, in a branch of a `where` only where its condition holds. What follows
from the way the extents were inferred is proved; the rest becomes a condition that the printed code checks before it
starts. Conditions on data say nothing of places: what they guard is inside at all points of its branch.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from ..domain import Domain, Facts, Need
from ..errors import ShapeError, UnsupportedError
from ..expr import (
    ONE,
    Apply,
    Const,
    Expr,
    Ref,
    apply,
    branch,
    indices,
    operator,
    operators,
    postorder,
    ref,
    refs,
    show,
    transform,
)
from ..expr.polynomials import polynomial
from ..expr.sizes import coefficient
from ..ir import Box, Dtype, Equation, Function, Role, evaluated_in, parts_of, reads_of, show_element
from ..ops import OPS
from ..records import replace


def bounds(function: Function, required: Sequence[Expr] = ()) -> tuple[Expr, ...]:
    """Return the conditions on sizes and options (which may be negative), in order of appearance.

    required  conditions that are checked anyway

    Raises ShapeError for a subscript that is always outside, UnsupportedError for one that is computed from data and
    cannot be checked beforehand.
    """
    found = Preconditions(function, required)
    for e in function.statements:
        for _, extent in e.box:
            for n in postorder(extent):
                if isinstance(n, Apply) and OPS[n.op].divides:
                    found.at_least(n.args[1], 1)
    for e in function.statements:
        found.look_at(e)
    for condition in list(found.conditions):
        found.drop_if_implied(condition)
    return tuple(found.conditions)


class Preconditions:
    """The conditions found so far, and what is known by them."""

    def __init__(self, function: Function, required: Sequence[Expr]) -> None:
        self.name, self.tensors, self.required = function.name, function.table, required
        self.sizes, self.options = [d.name for d in function.dims], {o.name for o in function.options}
        # the places of largest elements, which are inside, by their numbers
        alone = (e for e in function.statements if e.reduce == "argmax" and len(function.writers[e.target]) == 1)
        self.places = {e.target: e.reduced[0][1] for e in alone if len(e.reduced) == 1}
        integers = (o.name for o in function.options if o.dtype == Dtype.INT)
        # another number that is computed is not known when the conditions are checked
        whole = (t for t in function.tensors if t.dtype == Dtype.INT)
        known = (t.name for t in whole if t.shape or t.role == Role.INPUT or t.name in self.places)
        self.integers = (*integers, *known)
        self.conditions: dict[Expr, None] = {}
        self.facts = self._known()

    def _known(self, *without: Expr) -> Facts:
        given = (c for c in (*self.required, *self.conditions) if c not in without)
        return Facts.of(self.sizes, self.integers, given)

    def drop_if_implied(self, condition: Expr) -> None:
        """Without a condition that the others imply: `1 <= m` beside `6 <= m`."""
        if Domain((), (), self._known(condition)).holds(condition):
            del self.conditions[condition]

    def at_least(self, number: Expr, least: int) -> bool:
        """Require a least value of what options have a say in; False where nothing has to be required."""
        return any(r.name in self.options for r in refs(number)) and self.require(apply("ge", number, least))

    def require(self, condition: Expr) -> bool:
        """Require a condition; False where it is known to hold, or is required already."""
        if isinstance(condition, Const) or condition in self.conditions or Domain((), (), self.facts).holds(condition):
            return False
        self.conditions[condition] = None
        self.facts = self._known()
        return True

    def inside(self, e: Equation) -> bool:
        """Whether all that an equation reads is inside, whatever the sizes."""
        return all(
            domain.inside(s, size)
            for r, domain in reads_of(e, self.facts)
            if r.name in self.tensors
            for s, size in zip(r.subscripts, self.tensors[r.name].shape, strict=True)
        )

    def look_at(self, e: Equation) -> None:
        """Require that all is inside what an equation reads and writes, and that no integer is divided by 0."""
        if any(OPS[op].divides for part, _ in parts_of(e) for op in operators(part)):
            for node, domain in evaluated_in(e, self.facts, Apply):
                if OPS[node.op].divides:
                    self._divisor(node, e.box, domain)
        everywhere = e.domain(self.facts)
        looked: set[tuple[Expr, Expr, int]] = set()
        elements = [(ref(e.target, *e.subscripts), everywhere), *reads_of(e, self.facts)]
        for element, domain in elements:
            tensor = self.tensors.get(element.name)
            for axis, s in enumerate(element.subscripts if tensor is not None else ()):
                assert tensor is not None
                asked = s, tensor.shape[axis], id(domain)
                if asked in looked:
                    continue
                looked.add(asked)
                data = [r.name for r in refs(s) if r.name in self.tensors]
                if not data:
                    for at, here in _cases(s, domain):
                        self._require(e, element, at, tensor.shape[axis], here, domain != everywhere)
                elif not isinstance(s, Ref):
                    branch = domain != everywhere
                    size, domain = tensor.shape[axis], self._with_places(s, domain)
                    if self._whatever_data(s, size, domain):
                        continue
                    where, given, last = show_element(element.name, element.subscripts), data[0], show(size - 1)
                    if branch:
                        unsaid = self._unsaid(s, size, domain)
                        if unsaid:
                            raise self._left_branch(where, element.name, unsaid)
                        continue
                    raise UnsupportedError(
                        f"{self.name}: the subscript {show(s)} of {where} is "
                        f"computed from {given}, and may be outside, or overflow on the way; only {given} itself is "
                        f"checked before. Keep each given integer inside before it is computed with, as "
                        f"clip({given}, 0, {last}) or {given} % {show(size)} do, or compute the index before, and pass "
                        f"it as an integer tensor."
                    )

    def _with_places(self, s: Expr, domain: Domain) -> Domain:
        """The domain, and where what a subscript reads of places lies."""
        for r in refs(s):
            if r.name in self.places:
                domain = domain.under(apply("ge", r, 0)).under(apply("lt", r, self.places[r.name]))
        return domain

    def _unsaid(self, s: Expr, size: Expr, domain: Domain) -> list[Expr]:
        """What keeps a subscript inside, of which its branch does not say that it holds."""
        found: dict[Expr, None] = {}
        for at, here in _cases(s, domain):
            if not here.inside(at, size):
                low = polynomial(at)
                from_zero = here.facts.raised(frozenset((i, 0) for i in indices(at)))  # those of data have no least
                above = low is not None and from_zero.nonnegative(low)
                ends = (*(() if above else (apply("ge", at, 0),)), apply("lt", at, size))
                found.update((c, None) for c in ends if not here.holds(c))
        return [*found]

    def _left_branch(self, where: str, name: str, unsaid: Sequence[Expr]) -> ShapeError:
        return ShapeError(
            f"{self.name}: {where} is outside of {name} in a branch that reads it, "
            f"unless {' and '.join(map(show, unsaid))}. Say that in its condition."
        )

    def _divisor(self, node: Apply, box: Box, domain: Domain) -> None:
        """Require that a divisor is not 0: a condition beside it says so only of what is not known before."""
        divisor = node.args[1]
        nonzero = apply("ne", divisor, 0)
        read = [r for r in refs(divisor) if r.name in self.tensors]
        if not read and not indices(divisor):  # it may be divided by before the loops, and before a condition is asked
            if indices(node) and Domain.of(box, None, self.facts).holds(nonzero):
                return
            positive = apply("le", 1, divisor)
            least = self.facts.least_of(divisor)
            self.require(transform(positive if least is not None and least >= 0 else nonzero, _in_others))
            return
        domain = replace(domain, facts=self.facts)
        for r in read:
            for promised in self.tensors[r.name].interval.conditions(r):
                domain = domain.under(promised)
        if not domain.holds(nonzero):
            given = f"{read[0].name} is given, and may be 0" if read else "it may be 0"
            raise UnsupportedError(
                f"{self.name}: {show(node)} divides an integer by {show(divisor)}: {given}. Guard it, "
                f"where({show(nonzero)}, {show(node)}, ...), or divide by maximum({show(divisor)}, 1)."
            )

    def _whatever_data(self, s: Expr, size: Expr, domain: Domain) -> bool:
        """Whether a subscript is inside whatever the data are; its axis is required to have elements if it must."""
        some = apply("le", 1, size)
        before = dict(self.conditions)
        if not _is_held(s, self.tensors.keys() - self.places.keys()):
            return False
        before_loops = self._with_places(s, Domain((), (), self.facts))  # where it may be read, unless it has indices
        cases = list(_cases(s, domain if indices(s) else before_loops))
        for conditions in ((), (some,)):
            for condition in conditions:
                self.require(condition)
            if all(replace(here, facts=self.facts).inside(at, size) for at, here in cases):
                return True
        self.conditions = before
        self.facts = self._known()
        return False

    def _require(self, e: Equation, element: Ref, s: Expr, size: Expr, domain: Domain, guarded: bool) -> None:
        everywhere = e.domain(self.facts)
        if not guarded:
            for step in (coefficient(s, i) for i in indices(s)):
                if step is not None:
                    self.at_least(step, 0)  # an axis of times * n elements is that long
            if not indices(s):  # it may be read before the loops, also if they have no turn
                domain = everywhere = Domain((), (), self.facts)
        affine = replace(domain, facts=self.facts).needs(s, size, everywhere) is not None
        unsaid = [] if affine else self._unsaid(s, size, domain)
        needs = self._needs(s, size, domain, everywhere) if affine else None if unsaid else []
        if needs is None:
            where = show_element(element.name, element.subscripts)
            if guarded:
                inside = unsaid or [c for c in (apply("ge", s, 0), apply("lt", s, size)) if not domain.holds(c)]
                raise self._left_branch(where, element.name, inside)
            ends = everywhere.range(s)
            if ends is None:
                raise ShapeError(
                    f"{self.name}: nothing tells that {where} is inside of {element.name}: the subscript {show(s)} "
                    f"over an axis of {show(size)}. Keep it inside, clip({show(s)}, 0, {show(size - 1)}), or read it "
                    f"where it is, where(0 <= {show(s)} < {show(size)}, {where}, ...)."
                )
            instead = _staying_inside(e, element, s, *ends, size)
            raise ShapeError(
                f"{self.name}: {where} is outside of {element.name}: the subscript {show(s)} runs from "
                f"{show(ends[0])} to {show(ends[1])} over an axis of {show(size)}. {instead}"
            )
        for need in needs:
            self._require_one_of(need)

    def _require_one_of(self, need: Need) -> None:
        condition, *others = (c.condition for c in need.conditions)
        for other in others:
            condition = apply("or", condition, other)
        self.require(condition)

    def _needs(self, s: Expr, size: Expr, domain: Domain, everywhere: Domain) -> list[Need] | None:
        """What is missing; None if no sizes allow the element to be read at all.

        Where nothing can be told, steps are required to rise, and divisors to be positive.
        """
        while True:
            here = replace(domain, facts=self.facts)
            found = self._told_before(here.needs(s, size, everywhere))
            if not found or all(need.conditions for need in (*found, *self._told_before(here.needs(s, size, here)))):
                return found
            steps = [c for i in indices(s) if (c := coefficient(s, i)) is not None]
            divisors = [n.args[1] for n in postorder(s) if isinstance(n, Apply) and OPS[n.op].divides]
            unsaid = (apply("ge", number, 1) for number in divisors if not indices(number))
            if not any(self.at_least(step, 0) for step in steps) and not any(map(self.require, unsaid)):
                return None

    def _told_before(self, needs: Sequence[Need] | None) -> list[Need]:
        """What is missing, by what is known before the data are."""

        def of_data(condition: Expr) -> bool:
            return any(r.name in self.tensors for r in refs(condition))

        return [
            replace(n, conditions=tuple(c for c in n.conditions if not of_data(c.condition))) for n in needs or ()
        ]


def _in_others(node: Expr) -> Expr:
    """A condition in operators that all languages have for numbers: clip and relu have others that they are."""
    expand = OPS[node.op].expand if isinstance(node, Apply) else None
    return node if expand is None else expand(*node.args)


def _is_held(s: Expr, data: Container[str]) -> bool:
    """Whether what is computed of data is held on both sides before: k[i] + 1 may overflow, k[i] % n + 1 does not."""
    held: dict[Expr, tuple[bool, bool]] = {}  # from below, from above
    for node in postorder(s):
        ends = [held[a] for a in node.args] if isinstance(node, Apply) else []
        match operator(node):
            case "minimum":
                held[node] = all(low for low, _ in ends), any(high for _, high in ends)
            case "maximum":
                held[node] = any(low for low, _ in ends), all(high for _, high in ends)
            case "mod":
                held[node] = ends[1]
            case _:
                if not all(map(all, ends)):
                    return False
                of_data = isinstance(node, Ref) and node.name in data
                held[node] = not of_data, not of_data
    return True


def _cases(s: Expr, domain: Domain) -> Iterator[tuple[Expr, Domain]]:
    """A subscript without `where`: each branch of it, where that is chosen."""
    asked = next((n.args[0] for n in postorder(s) if isinstance(n, Apply) and n.op == "select"), None)
    if asked is None:
        yield s, domain
        return
    for holds in (True, False):
        for piece in domain.pieces(asked, holds):
            yield from _cases(branch(s, asked, holds), piece)


def _staying_inside(e: Equation, element: Ref, s: Expr, low: Expr, high: Expr, size: Expr) -> str:
    """What to do about a subscript that leaves its axis."""
    found, extents = indices(s), dict(e.box)
    if len(found) == 1 and coefficient(s, found[0]) is ONE and found[0] in extents:
        (i,) = found
        first = polynomial(low)
        if first is not None and first.number is not None and first.number < 0:
            there = show(apply("ge", i, -low))
            return f"Read it where it is inside, where({there}, {show_element(element.name, element.subscripts)}, ...)."
        end = polynomial(extents[i] - (high + 1 - size))
        if end is not None:
            below = show(end.expression())
            return f"Give the index a range in which it stays inside: {i} below {below}, in text [{i}:{below}]."
    return "Give the index a range in which it stays inside."
