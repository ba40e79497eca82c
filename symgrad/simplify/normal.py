"""The normal form that the rewrites work on: a sum of products of powers.

A `Poly` maps each monomial to its rational coefficient. A monomial is a set of (atom, exponent); an atom is an
expression that is not itself a product (an element, `exp(u)`, a sum `(x - y)` that stays unexpanded, a decimal) or a
`Sum` over bound indices. What is written the same is the same atom, so like terms meet, factors cancel and equal sums
are found equal.

Atoms are compared by key and printed as first met, and every dictionary keeps the order of first appearance: the result
depends on the declaration alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Set
from fractions import Fraction
from functools import partial, reduce
from math import prod
from typing import Union

from ..expr import (
    ONE,
    ZERO,
    Apply,
    Const,
    Expr,
    Index,
    Ref,
    apply,
    const,
    factors,
    fraction,
    index,
    indices,
    is_double,
    is_exact,
    pending,
    postorder,
    product,
    select,
    signed_total,
    substitute,
    terms_of,
    value_of,
)
from ..expr.sizes import count
from ..ir import Box
from ..ops import OPS
from ..records import dataclass

Atom = Union[Expr, "Sum"]
Rational = Union[Fraction, int]  # whole ones are an int as a rule, which is ten times as fast: divide a Fraction
Monomial = frozenset[tuple[Atom, Rational]]
Poly = dict[Monomial, Rational]

UNIT: Monomial = frozenset()
SMALL = 200  # terms; what grows beyond stays as it is written


@dataclass(frozen=True)
class Sum:
    """The sum of a polynomial over bound indices, named by their depth so that equal sums are equal objects.

    `depth` is one more than that of the sums inside, so an inner index is never captured; an index that such a sum is
    renamed to is, unless the sum has another letter first.
    """

    box: Box
    terms: frozenset[tuple[Monomial, Rational]]
    depth: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.box, self.terms)))

    def __hash__(self) -> int:
        return self._hash  # type: ignore[attr-defined, no-any-return]  # set above: sums nest, and are hashed often


class TooLarge(Exception):
    """A polynomial passed the cap; the caller keeps the form it had."""


class Normal:
    """Converts expressions to polynomials, remembering how each atom was first written and in which order."""

    def __init__(self, signed: Collection[str] = (), guarded: bool = False) -> None:
        """signed   the options, which may be negative
        guarded  whether a `where` is taken apart: each branch counts under a guard
        """
        self.signed = signed
        self.guarded = guarded
        self.spelling: dict[Expr, Expr] = {}
        self.rank: dict[Atom, int] = {}
        self._sums: dict[Sum, Poly] = {}
        self._letters: dict[Sum, tuple[Index, ...]] = {}

    def atom(self, node: Expr) -> Poly:
        """`node` as a polynomial of one term."""
        self.spelling.setdefault(node.key, node)
        self.rank.setdefault(node.key, len(self.rank))
        return {frozenset({(node.key, 1)}): 1}

    def written(self, atom: Expr) -> Expr:
        """How an atom was first written."""
        return self.spelling.get(atom, atom)

    def order(self, atom: Atom) -> int:
        """When an atom was first met."""
        return self.rank.setdefault(atom, len(self.rank))

    def ordered(self, monomial: Monomial) -> list[tuple[Atom, Rational]]:
        """The powers of a monomial as their atoms were first met: a set has no order of its own."""
        return sorted(monomial, key=lambda pair: self.order(pair[0]))

    def terms(self, total: Sum) -> Poly:
        """The polynomial inside of a Sum, in the order in which it was built."""
        return self._sums.get(total) or dict(total.terms)

    def letters(self, total: Sum) -> tuple[Index, ...] | None:
        """The indices over which a Sum was first written, if it ever was."""
        return self._letters.get(total)

    def poly(self, root: Expr, inline: Callable[[Ref], Poly | None] = lambda r: None) -> Poly:
        """The normal form of `root`; `inline` may give the polynomial that an element stands for."""
        done: dict[Expr, Poly] = {}
        changed: set[Expr] = set()  # what `inline` replaced something in
        for node in pending((root,), done, partial(_operands, guarded=self.guarded)):
            found = inline(node) if isinstance(node, Ref) else None
            if found is not None:
                done[node] = found
                changed.add(node)
            elif isinstance(node, Const) and (node.text is None or node is ZERO):
                done[node] = constant(node.value)
            elif self.guarded and isinstance(node, Apply) and node.op == "select":
                condition, *branches = node.args
                changed.update([node] if any(b in changed for b in branches) else [])
                yes, no = self.atom(select(condition, ONE, ZERO)), self.atom(select(condition, ZERO, ONE))
                done[node] = plus(times(yes, done[branches[0]]), times(no, done[branches[1]]))
            elif isinstance(node, Apply) and (below := _operands(node)):
                if any(a in changed for a in below):
                    changed.add(node)
                parts = [self._single(done[a], a, a in changed, node.op) for a in below]
                done[node] = self._combine(node, parts)
            else:
                done[node] = self.atom(node)
            if len(done[node]) > SMALL or not all(map(is_double, done[node].values())):
                raise TooLarge
        return done[root]

    def _combine(self, node: Apply, parts: list[Poly]) -> Poly:
        if node.op == "add":
            return plus(parts[0], parts[1])
        if node.op == "sub":
            return plus(parts[0], scaled(parts[1], -1))
        if node.op == "neg":
            return scaled(parts[0], -1)
        if node.op == "mul":
            return times(parts[0], parts[1])
        if node.op == "div":
            below = self.power(parts[1], -1)
            return self.atom(node) if below is None else times(parts[0], below)
        exponent = Fraction(1, 2) if node.op == "sqrt" else whole(value_of(node.args[1]))
        raised = self.power(parts[0], exponent)
        return self.atom(node) if raised is None else raised

    def _single(self, part: Poly, node: Expr, changed: bool, op: str) -> Poly:
        """An operand: a factor of several terms is an atom, as it is written but for a number that all have, unless
        something in it was inlined."""
        if op in ("add", "sub", "neg") or len(part) <= 1 or changed:
            return part
        number, rest = _number_outside(node)
        return scaled(self.atom(rest), number)

    def power(self, part: Poly, exponent: Rational) -> Poly | None:
        """One term to a power, where that is the product of the powers; None where it is not."""
        if len(part) != 1:
            return part if exponent == 1 else None
        ((monomial, coefficient),) = part.items()
        if exponent.denominator == 1:
            if coefficient == 0:
                return None
            raised = whole(Fraction(coefficient) ** int(exponent))
            return {frozenset((a, whole(e * exponent)) for a, e in monomial): raised}
        if coefficient == 1 and len(monomial) == 1:
            ((a, e),) = monomial
            if e == 1 or e.denominator == 2 and not isinstance(a, Sum):
                return {frozenset({(a, e * exponent)}): 1}
        return None

    # guards

    def guards(self, monomial: Monomial) -> dict[Atom, tuple[Expr, bool]]:
        """The guards among the factors of a monomial, in the order in which they may be asked."""
        if not self.guarded:
            return {}
        found = {a: g for a, e in self.ordered(monomial) if e == 1 and (g := guarded_by(a)) is not None}
        return dict(sorted(found.items(), key=lambda pair: _reads_beside(pair[1][0])))

    def consistent(self, poly: Poly) -> Poly:
        """`poly` without what counts nowhere, since a condition would have to hold and not to."""
        asked = {m: [*self.guards(m).values()] for m in poly}
        return {m: c for m, c in poly.items() if not any((g, not holds) in asked[m] for g, holds in asked[m])}

    # sums

    def sum_over(self, poly: Poly, box: Box, split: bool) -> Poly:
        """The sum of `poly` over `box`. Factors that do not depend on it leave; a sum of 1 is the extent.

        split  every term in a sum of its own, else the terms that depend on the box together
        """
        if not box:
            return poly
        bound = {i for i, _ in box}
        outer = {m: frozenset(a for a in self.guards(m) if not free(a) & bound) for m in poly}
        if len(set(outer.values())) > 1:  # each sum has a domain of its own
            parts = dict.fromkeys(outer.values())
            sums = [self.sum_over({m: c for m, c in poly.items() if outer[m] == part}, box, split) for part in parts]
            return reduce(plus, sums)
        result: Poly = {}
        together: dict[Monomial, Poly] = {}
        for monomial, coefficient in poly.items():
            fixed = frozenset((a, e) for a, e in monomial if not (free(a) & {i for i, _ in box}))
            moving = monomial - fixed
            if not moving:
                result = plus(result, times({fixed: coefficient}, self._count(box, fixed)))
            elif split:
                result = plus(result, times({fixed: coefficient}, self._sum({moving: 1}, box)))
            else:
                together.setdefault(fixed, {})[moving] = coefficient
        if together:
            common = frozenset.intersection(*together)
            inner: Poly = {}
            for fixed, part in together.items():
                inner = plus(inner, times({fixed - common: 1}, part))
            content = next(iter(inner.values())) if len(set(inner.values())) == 1 else 1
            result = plus(result, times({common: content}, self._sum(scaled(inner, Fraction(1) / content), box)))
        return result

    def sum_again(self, total: Sum, inner: Poly, names: Mapping[Expr, Expr] | None = None) -> Poly:
        """The sum of `inner` over the box of `total`, under the letters of `total` when it is written."""
        box = tuple((i, substitute(e, names or {})) for i, e in total.box)
        result = self.sum_over(inner, box, split=len(inner) == 1)
        letters = self._letters.get(total)
        for monomial in result:
            for atom, _ in self.ordered(monomial):
                if letters is not None and isinstance(atom, Sum) and len(atom.box) == len(letters):
                    self._letters.setdefault(atom, letters)
        return result

    def extents(self, box: Box) -> Poly:
        """The product of the extents of a box."""
        result = constant(1)
        for _, extent in box:
            result = times(result, self._factor(extent))
        return result

    def _factor(self, size: Expr) -> Poly:
        """A size as one factor: a sum of several terms is an atom."""
        return self._single(self.poly(size), size, False, "mul")

    def _count(self, box: Box, fixed: Monomial) -> Poly:
        """The number of points of a box, as a factor of `fixed`: a mean divides by extents that are not negative."""
        result = constant(1)
        for _, extent in box:
            ((size, _),) = (self._factor(extent) or {UNIT: 0}).items()
            mean = bool(size) and inverse(size) <= fixed
            result = times(result, self._factor(extent if mean else count(extent, self.signed)))
        return result

    def _sum(self, inner: Poly, box: Box) -> Poly:
        """An atom for the sum of `inner`; an index that it does not mention counts its extent."""
        used = frozenset().union(*(free(a) for m in inner for a, _ in m))
        outside = self._count(tuple((i, e) for i, e in box if i not in used), UNIT)
        mine = tuple((i, e) for i, e in box if i in used)
        depth = 1 + max((a.depth for m in inner for a, _ in m if isinstance(a, Sum)), default=0)
        taken = used - {i for i, _ in mine}  # of a sum that stands around this one, perhaps
        bound = tuple((_apart(index(f"~{depth}.{place}"), taken), e) for place, (_, e) in enumerate(mine))
        names: dict[Expr, Expr] = {i: new for (i, _), (new, _) in zip(mine, bound, strict=True) if i is not new}
        renamed = self.rename(inner, names) if names else inner  # sums nest: each level twice would be 2**depth
        total = Sum(bound, frozenset(renamed.items()), depth)
        self._sums.setdefault(total, renamed)
        if all(not i.name.startswith("~") for i, _ in mine):
            self._letters.setdefault(total, tuple(i for i, _ in mine))
        self.order(total)
        return times(outside, {frozenset({(total, 1)}): 1})

    def rename(self, poly: Poly, names: Mapping[Expr, Expr]) -> Poly:
        """`poly` with indices replaced, also by expressions."""

        def change(atom: Expr, exponent: Rational) -> Poly:
            raised = self.power(self.atom(substitute(self.written(atom), names)), exponent)
            assert raised is not None
            return raised

        return self.map_atoms(poly, change, names)

    def map_atoms(
        self, poly: Poly, change: Callable[[Expr, Rational], Poly], names: Mapping[Expr, Expr] | None = None
    ) -> Poly:
        """`poly` with every power of an expression replaced by a polynomial, inside of sums too."""
        result: Poly = {}
        for monomial, coefficient in poly.items():
            term = constant(coefficient)
            for atom, exponent in self.ordered(monomial):
                if isinstance(atom, Sum):
                    total = self._uncaptured(atom, names or {})
                    inner = self.map_atoms(self.terms(total), change, names)
                    raised = self.power(self.sum_again(total, inner, names), exponent)
                    if raised is None:
                        raise TooLarge
                else:
                    raised = change(atom, exponent)
                term = times(term, raised)
            result = plus(result, term)
        return result

    def _uncaptured(self, total: Sum, names: Mapping[Expr, Expr]) -> Sum:
        """The sum under letters that no expression in `names` has."""
        taken = {*indices(*names.values())}
        mine = {i for i, _ in total.box}
        if not mine & taken:
            return total
        taken |= free(total) | mine
        letters: dict[Expr, Expr] = {i: _apart(i, taken) for i in mine & taken}
        box = tuple((j if isinstance(j := letters[i], Index) else i, e) for i, e in total.box)
        renamed = self.rename(self.terms(total), letters)
        other = Sum(box, frozenset(renamed.items()), total.depth)
        self._sums.setdefault(other, renamed)
        self.order(other)
        return other

    def expanded(self, poly: Poly, definition: Callable[[Expr], Poly | None], done: dict[Atom, Poly | None]) -> Poly:
        """`poly` multiplied out, each atom replaced by its `definition` where it has one: to see whether it is 0.

        What becomes of atoms is `done` once, None of what is too large.
        """
        result: Poly = {}
        for monomial, coefficient in poly.items():
            term = constant(coefficient)
            for atom, exponent in self.ordered(monomial):
                part = self._expanded_atom(atom, definition, done)
                if exponent.denominator == 1 and exponent > 0:
                    for _ in range(int(exponent)):
                        term = times(term, part)
                        if len(term) > SMALL:
                            raise TooLarge
                else:
                    raised = self.power(part, exponent)
                    term = times(term, {frozenset({(atom, exponent)}): 1} if raised is None else raised)
            result = plus(result, term)
            if len(result) > SMALL:
                raise TooLarge
        return result

    def _expanded_atom(
        self, atom: Atom, definition: Callable[[Expr], Poly | None], done: dict[Atom, Poly | None]
    ) -> Poly:
        if atom not in done:
            done[atom] = None
            done[atom] = self._expansion(atom, definition, done)
        found = done[atom]
        if found is None:
            raise TooLarge
        return found

    def _expansion(
        self, atom: Atom, definition: Callable[[Expr], Poly | None], done: dict[Atom, Poly | None]
    ) -> Poly:
        if isinstance(atom, Sum):
            return self.sum_over(self.expanded(self.terms(atom), definition, done), atom.box, split=True)
        found = definition(atom)
        if found is not None:
            return self.expanded(found, definition, done)
        if isinstance(atom, Apply) and atom.op in ("add", "sub", "neg"):
            return self.expanded(self.poly(self.written(atom)), definition, done)
        return {frozenset({(atom, 1)}): 1}


def _number_outside(node: Expr) -> tuple[Rational, Expr]:
    """2 and a - b for 2*a - b*2: the number that all terms of a sum have, and what is left."""
    found: list[tuple[Fraction, Expr]] = []
    for term, sign in terms_of(node):
        above, below = factors(term)
        number = prod((value_of(f) for f in above if is_exact(f)), start=Fraction(sign))
        if number in (0, 1, -1) or found and abs(number) != abs(found[0][0]):
            return 1, node
        turned = [f.args[0] if isinstance(f, Apply) and f.op == "neg" else f for f in above]
        number = -number if sum(a is not b for a, b in zip(above, turned, strict=True)) % 2 else number
        rest = [f for f in turned if not is_exact(f)]
        found.append((number, product(rest) / product(below)))
    number = abs(found[0][0]) * (1 if any(n > 0 for n, _ in found) else -1)
    found.sort(key=lambda pair: pair[0] * number < 0)  # a sum does not begin with a sign
    return whole(number), signed_total((rest, 1 if n * number > 0 else -1) for n, rest in found)


def _operands(node: Expr, guarded: bool = False) -> tuple[Expr, ...]:
    """What the normal form looks into: the operands of arithmetic, the base of a power with an exact exponent, and the
    branches of a `where` that is taken apart."""
    if not isinstance(node, Apply):
        return ()
    if node.op == "pow":
        exponent = node.args[1]
        return node.args[:1] if isinstance(exponent, Const) and exponent.text is None else ()
    if node.op == "select":
        return node.args[1:] if guarded else ()
    return node.args if OPS[node.op].algebraic else ()


def whole(number: Rational) -> Rational:
    """A number as an int, if it is one."""
    return number.numerator if number.denominator == 1 else number


def constant(value: Rational) -> Poly:
    """A number."""
    return {UNIT: whole(value)} if value else {}


def plus(p: Poly, q: Poly) -> Poly:
    """p + q, like terms collected."""
    result = dict(p)
    for monomial, coefficient in q.items():
        result[monomial] = result.get(monomial, 0) + coefficient
        if not result[monomial]:
            del result[monomial]
    return result


def scaled(p: Poly, factor: Rational) -> Poly:
    """p times a number."""
    return {m: whole(c * factor) for m, c in p.items()} if factor else {}


def times(p: Poly, q: Poly) -> Poly:
    """p * q, multiplied out."""
    result: Poly = {}
    for m, c in p.items():
        for n, d in q.items():
            product = merge(m, n)
            result[product] = result.get(product, 0) + c * d
            if not result[product]:
                del result[product]
    return result


def merge(m: Monomial, n: Monomial) -> Monomial:
    """The product of two monomials."""
    powers = dict(m)
    for atom, exponent in n:
        powers[atom] = powers.get(atom, 0) + exponent
        if not powers[atom]:
            del powers[atom]
        elif powers[atom] > 1 and guarded_by(atom) is not None:
            powers[atom] = 1
    return frozenset(powers.items())


def _reads_beside(condition: Expr) -> bool:
    """Whether a condition reads elements that another condition may have to keep inside: x[i - 1] > 0 after i > 0."""
    read = (n for n in postorder(condition) if isinstance(n, Ref))
    return not all(isinstance(s, (Index, Const)) for r in read for s in r.subscripts)


def guarded_by(atom: Atom) -> tuple[Expr, bool] | None:
    """The condition of a guard, and whether it must hold: where(c, 1, 0), or where(c, 0, 1).

    A guard is the factor of what counts only there. It is its own square, and is never multiplied with: what has it is
    written as an equation with a `where`, or as a branch.
    """
    if isinstance(atom, Apply) and atom.op == "select" and {*atom.args[1:]} == {ONE, ZERO}:
        return atom.args[0], atom.args[1] is ONE
    return None


def inverse(m: Monomial) -> Monomial:
    """1 / m."""
    return frozenset((a, -e) for a, e in m)


def _apart(i: Index, taken: Set[Index]) -> Index:
    """An index called like `i` that is none of these."""
    while i in taken:
        i = index(f"{i.name}'")
    return i


def free(atom: Atom) -> set[Index]:
    """The indices that an atom depends on."""
    if isinstance(atom, Sum):
        inside: set[Index] = set().union(*(free(a) for m, _ in atom.terms for a, _ in m))
        return inside - {i for i, _ in atom.box}
    return set(indices(atom))


def mentions(atom: Atom, names: set[str]) -> bool:
    """Whether an atom refers to a tensor of these names."""
    if isinstance(atom, Sum):
        return any(mentions(a, names) for m, _ in atom.terms for a, _ in m)
    return any(isinstance(n, Ref) and n.name in names for n in postorder(atom))


def power_expr(base: Expr, exponent: Rational) -> Expr:
    """`base` to a positive power, as people write it."""
    if exponent == Fraction(1, 2):
        return apply("sqrt", base)
    if exponent.denominator == 2:
        return power_expr(base, exponent - Fraction(1, 2)) * apply("sqrt", base)
    return base ** const(exponent)


def quotient(coefficient: Rational, above: list[Expr], below: list[Expr]) -> Expr:
    """coefficient * above / below, with the numbers where people write them."""
    if coefficient < 0 and not above:
        return -quotient(-coefficient, above, below)
    short = coefficient.denominator & (coefficient.denominator - 1) == 0 and coefficient.denominator <= 1024
    number = const(coefficient if short else coefficient.numerator)
    return fraction([number, *above], below if short else [const(coefficient.denominator), *below])
