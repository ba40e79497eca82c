"""The conditions that a domain is a conjunction of, and how a condition of the formula is read as such."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from itertools import count, islice, product
from typing import Union

from ..expr import ONE, ZERO, Apply, Expr, Index, apply, conjuncts, indices, postorder, substitute
from ..expr.polynomials import Polynomial, constant, polynomial, symbol
from ..records import dataclass
from .facts import Facts, fixed

GE, EQ, NE = "ge", "eq", "ne"


@dataclass(frozen=True)
class Affine:
    """`form >= 0`, `form == 0` or `form != 0` (`relation` ge, eq, ne), over the integers.

    The form is linear in what varies: indices, elements of integer tensors, quotients such as `i // s`; the
    coefficients are polynomials in sizes and options.
    """

    form: Polynomial
    relation: str = GE

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.form, self.relation))

    @cached_property
    def uses(self) -> frozenset[Index]:
        """The indices that it mentions, also inside of elements."""
        return frozenset([i for s in self.form.symbols for i in s.indices])

    def negated(self) -> Affine:
        """The condition that holds where this one does not."""
        if self.relation == GE:
            return Affine(-self.form - 1)
        return Affine(self.form, NE if self.relation == EQ else EQ)

    def split(self) -> tuple[Affine, ...]:
        """Disjoint alternatives that are no `!=`."""
        return (Affine(self.form - 1), Affine(-self.form - 1)) if self.relation == NE else (self,)

    def at(self, values: Mapping[Expr, Expr]) -> Atom:
        """With expressions for its indices."""
        form = self.form.at(values)
        if form is None or not linear(form):
            return Opaque(substitute(self.condition, values))
        return Affine(form, self.relation)

    @property
    def condition(self) -> Expr:
        """As an expression: `i + 1 <= n` for n - 1 - i >= 0."""
        if self.relation == GE:
            return self.form.condition()
        below = Polynomial({m: -c for m, c in self.form.terms.items() if c < 0})
        above = Polynomial({m: c for m, c in self.form.terms.items() if c > 0})
        sides = (above, below) if above.symbols else (below, above)
        return apply(self.relation, *(s.expression() for s in sides))

    def __str__(self) -> str:
        return str(self.condition)


@dataclass(frozen=True)
class Opaque:
    """A condition that is no affine one of integers, such as one on data; or its negation, where it does not hold.

    `not (x > y)` is not `x <= y`: either may be NaN.
    """

    test: Expr
    holds: bool = True

    @cached_property
    def uses(self) -> frozenset[Index]:
        """The indices that it mentions."""
        return frozenset(indices(self.test))

    def negated(self) -> Opaque:
        """The condition that holds where this one does not."""
        return Opaque(self.test, not self.holds)

    def split(self) -> tuple[Opaque, ...]:
        """Itself: it has no alternatives."""
        return (self,)

    def at(self, values: Mapping[Expr, Expr]) -> Opaque:
        """With expressions for its indices."""
        return Opaque(substitute(self.test, values).key, self.holds)

    @property
    def condition(self) -> Expr:
        """As an expression."""
        if not self.holds and isinstance(self.test, Apply) and self.test.op == "eq":
            return apply("ne", *self.test.args)
        return self.test if self.holds else apply("not", self.test)

    def __str__(self) -> str:
        return str(self.condition)


Atom = Union[Affine, Opaque]
Conjunction = tuple[Atom, ...]
NEVER = Affine(constant(-1))


def linear(form: Polynomial) -> bool:
    """Whether no term has two factors that vary."""
    products = (m for m in form.terms if m[1:])
    return all(sum(not fixed(s) for s in m) <= 1 for m in products)


class Ways:
    """Disjoint conjunctions of atoms, each found when it is asked for: of many conditions on places there are 2**n."""

    def __init__(self, found: Iterator[Conjunction]) -> None:
        self._more = found
        self._found: list[Conjunction] = []

    def __iter__(self) -> Iterator[Conjunction]:
        for k in count():
            if k == len(self._found):
                self._found.extend(islice(self._more, 1))
            if k == len(self._found):
                return
            yield self._found[k]

    def first(self, number: int) -> list[Conjunction]:
        """So many of them, if there are as many."""
        return [*islice(self, number)]

    @property
    def only(self) -> Conjunction | None:
        """The one that there is; None if there are several, or none."""
        return found[0] if len(found := self.first(2)) == 1 else None


@lru_cache(maxsize=2**12)
def alternatives(condition: Expr, facts: Facts, holds: bool = True) -> Ways:
    """Disjoint conjunctions of atoms; one of them holds exactly where the condition does (does not: holds=False)."""
    return Ways(_alternatives(condition, facts, holds))


def _alternatives(condition: Expr, facts: Facts, holds: bool) -> Iterator[Conjunction]:
    op, args = (condition.op, condition.args) if isinstance(condition, Apply) else ("", ())
    if condition in (ONE, ZERO):
        yield from [()] if (condition is ONE) == holds else []
        return
    if op == "not":
        yield from alternatives(args[0], facts, not holds)
        return
    if op in ("and", "or"):
        first, second = args
        both = (op == "and") == holds
        if not both:  # the first; or the second, where the first is not so
            yield from alternatives(first, facts, holds)
        for atoms in alternatives(first, facts, holds if both else not holds):
            yield from ((*atoms, *more) for more in alternatives(second, facts, holds))
        return
    if op in ("eq", "ne") and all(map(facts.integer, args)):
        a, b = map(polynomial, args)
        if a is not None and b is not None and linear(a - b):
            atom = Affine(_without_rests(a - b), EQ if (op == "eq") == holds else NE)
            everywhere = all(fixed(s) or isinstance(s, Index) for s in atom.form.symbols)
            yield from ((part,) for part in (atom.split() if everywhere else (atom,)))
            return
    margins = facts.margins(condition)
    if len(margins) != 1 or not linear(margins[0]):
        if op == "ne":  # of numbers, too, what equality is not: NaN is not equal to itself
            condition, holds = apply("eq", *args), not holds
        yield (Opaque(condition.key, holds),)
    else:
        yield from at_least_zero(margins[0] if holds else -margins[0] - 1, facts)


def at_least_zero(form: Polynomial, facts: Facts) -> list[Conjunction]:
    """`form >= 0` without what is a choice of several (minimum, maximum, abs), and without quotients where they
    are the only one: a // s + r >= 0 where a + s*r >= 0."""
    for m, c in form.terms.items():
        if len(m) != 1 or not isinstance(node := m[0], Apply):
            continue
        rest = form - Polynomial({m: c})
        if node.op in ("minimum", "maximum", "abs"):
            parts = [polynomial(a) for a in node.args]
            parts = [*parts, *(None if p is None else -p for p in parts)] if node.op == "abs" else parts
            each = [rest + p * c for p in parts if p is not None]
            if len(each) < 2:
                continue
            every = [at_least_zero(e, facts) for e in each]
            if (node.op == "minimum") == (c > 0):
                return [(*a, *b) for a, b in product(*every)]
            other = at_least_zero(-each[0] - 1, facts)
            return [*every[0], *((*a, *b) for a, b in product(other, every[1]))]
        if node.op == "floordiv" and abs(c) == 1:
            above, step = map(polynomial, node.args)
            if above is not None and step is not None and facts.nonnegative(step - 1):
                whole = above + step * rest if c > 0 else step * (rest + 1) - 1 - above
                if linear(whole):
                    return at_least_zero(whole, facts)
    form = _without_rests(form)
    return [(Affine(form),)]


def _without_rests(form: Polynomial) -> Polynomial:
    """a - s*(a // s) for a % s; a rest in `a` stays, as what is known of the quotient speaks of it."""
    rests = [s for s in form.symbols if isinstance(s, Apply) and s.op == "mod"]
    inner = {*postorder(*(a for s in rests for a in s.args))}
    for s in rests:
        above, step = map(polynomial, s.args)
        if s not in inner and above is not None and step is not None:
            factor, rest = form.split(s)
            whole = rest + factor * (above - step * symbol(apply("floordiv", *s.args)))
            form = whole if linear(whole) else form
    return form


def conjunction_of(condition: Expr, facts: Facts) -> Conjunction:
    """The condition as one conjunction of atoms; what has alternatives stays opaque."""
    found: list[Atom] = []
    for part in conjuncts(condition):
        ways = alternatives(part, facts).first(3)
        bare = part.args[0] if isinstance(part, Apply) and part.op == "not" else part
        plain = isinstance(bare, Apply) and bare.op == ("ne" if bare is part else "eq")
        if len(ways) == 2 and plain:  # i != k: one atom
            (first,), _ = ways
            assert isinstance(first, Affine)
            found.append(Affine(first.form + 1, NE))
        else:
            found.extend(ways[0] if len(ways) == 1 else [Opaque(part.key)] if ways else [NEVER])
    return tuple(dict.fromkeys(found))


def definitions(s: Expr, facts: Facts) -> list[Affine]:
    """What is true of a symbol by its operator: of a quotient, s*q <= a < s*q + s."""
    if not isinstance(s, Apply) or s.op not in ("floordiv", "minimum", "maximum", "abs", "mod"):
        return []
    me, parts = symbol(s), [polynomial(a) for a in s.args]
    known = [p for p in parts if p is not None]
    if s.op == "floordiv":
        if len(known) < 2 or not facts.nonnegative(known[1] - 1):
            return []
        above, step = known
        forms = [above - step * me, step * me + step - 1 - above]
    elif s.op == "mod":
        forms = [me, known[1] - 1 - me] if len(known) == 2 and facts.nonnegative(known[1] - 1) else []
    elif s.op == "minimum":
        forms = [p - me for p in known]
    else:
        forms = [me - p for p in known] + ([me + p for p in known] if s.op == "abs" else [])
    return [Affine(f) for f in forms if linear(f)]
