"""When is an equation evaluated, and is each subscript inside? One data structure answers.

Each answer has a direction. `empty`, `entails`, `bounds` and `needs` look at more points than there are (what is not
proved is not false); `project(dark=True)` looks at fewer.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property, lru_cache

from ..expr import ONE, ZERO, Apply, Expr, Index, Ref, apply, index, indices, postorder, transform
from ..expr.nodes import COMPARE
from ..expr.polynomials import Polynomial, polynomial, symbol
from ..records import dataclass, replace
from .atoms import (
    EQ,
    GE,
    NE,
    NEVER,
    Affine,
    Atom,
    Conjunction,
    Opaque,
    alternatives,
    at_least_zero,
    conjunction_of,
    definitions,
    linear,
)
from .elimination import TooMany, eliminated, tidy
from .facts import NOTHING, Facts, fixed
from .points import has_point

Box = tuple[tuple[Index, Expr], ...]


@dataclass(frozen=True)
class Need:
    """What keeps a subscript inside: one of `conditions` must hold, at each point of `where`; none can: never.

    where  the domain of the indices in the elements of data that the conditions speak of; without indices where they
           speak of sizes and options alone, and may be tested before anything runs
    """

    where: Domain
    conditions: tuple[Affine, ...]


@dataclass(frozen=True)
class Domain:
    """The points of `indices` (integers, outermost first) where all atoms hold, at sizes and options of which `facts`
    are known. There is no box beside it: an extent n of i is the atom n - 1 - i >= 0."""

    indices: tuple[Index, ...]
    atoms: tuple[Atom, ...] = ()
    facts: Facts = NOTHING

    @staticmethod
    def of(box: Box, where: Expr | None = None, facts: Facts = NOTHING) -> Domain:
        """The domain of an equation: 0 <= i < extent for each index of its box, and its condition."""
        return _of(box, where, facts)

    @cached_property
    def affine(self) -> tuple[Affine, ...]:
        """The atoms that are affine."""
        return tuple(a for a in self.atoms if isinstance(a, Affine))

    @cached_property
    def opaque(self) -> tuple[Opaque, ...]:
        """The atoms that are not."""
        return tuple(a for a in self.atoms if isinstance(a, Opaque))

    @cached_property
    def _alike(self) -> dict[object, list[Polynomial]]:
        """The forms that are not negative, by what decides which they can be compared with."""
        found: dict[object, list[Polynomial]] = {}
        for a in self.affine:
            if a.relation != NE:
                found.setdefault(self.facts.unbounded(a.form), []).append(a.form)
        return found

    def meet(self, *atoms: Atom) -> Domain:
        """The part where these hold, too."""
        return Domain(self.indices, tuple(dict.fromkeys((*self.atoms, *atoms))), self.facts) if atoms else self

    def under(self, condition: Expr, holds: bool = True) -> Domain:
        """The part where a condition holds (does not, for holds=False); what has alternatives is one opaque atom."""
        return self.meet(*conjunction_of(condition if holds else apply("not", condition), self.facts))

    def pieces(self, condition: Expr, holds: bool = True) -> list[Domain]:
        """The part where a condition holds (does not), as disjoint domains without those proved to be empty."""
        ways = alternatives(condition, self.facts, holds)
        return [self.meet(*atoms) for atoms in ways if not self._excludes(*atoms)]

    # -- proofs

    def empty(self) -> bool:
        """True: there is no point, at any sizes. False: not proved."""
        return _empty(self)

    def entails(self, *atoms: Atom) -> bool:
        """True: each atom holds at every point. False: not proved."""
        return all(map(self._entails, atoms))

    def _entails(self, atom: Atom) -> bool:
        given = not (isinstance(atom, Affine) and atom.relation == GE) and atom in self.atoms
        return given or all(self._excludes(part) for part in atom.negated().split())

    def _excludes(self, *atoms: Atom) -> bool:
        """True: they hold together at no point; most often since one atom alone says so. False: not proved."""
        for atom in atoms:
            if isinstance(atom, Affine) and atom.relation == GE:
                below = -1 - atom.form
                alike = self._alike.get(self.facts.unbounded(below), ())
                if any(self.facts.nonnegative(below - form) for form in alike):
                    return True
        return self._about(*atoms).meet(*atoms).empty()

    def holds(self, condition: Expr) -> bool:
        """True: the condition holds at every point. False: not proved."""
        ways = alternatives(condition, self.facts, False)
        return all(self._excludes(*atoms) for atoms in ways)

    def fails(self, condition: Expr) -> bool:
        """True: the condition holds at no point. False: not proved."""
        ways = alternatives(condition, self.facts)
        return all(self._excludes(*atoms) for atoms in ways)

    def decided(self, body: Expr) -> Expr:
        """`body` without the comparisons of indices that hold at every point, or at none."""

        def decide(node: Expr) -> Expr:
            if not self.facts.margins(node) or not indices(node):
                return node
            return ONE if self.holds(node) else ZERO if self.fails(node) else node

        return transform(body, decide, only=COMPARE.keys())

    def inside(self, subscript: Expr, size: Expr) -> bool:
        """True: 0 <= subscript < size at every point. False: not proved, or not affine."""
        ends = self._ends(subscript, size)
        if ends is None or self.entails(*map(Affine, ends)):
            return ends is not None
        outside = (atoms for end in ends for atoms in at_least_zero(-end - 1, self.facts))  # a choice, case by case
        return all(self._excludes(*atoms) for atoms in outside)

    def _about(self, *atoms: Atom) -> Domain:
        """Only the atoms that speak, directly or through others, of the same indices: more points, fewer atoms."""
        near = {i for a in atoms for i in a.uses} & {*self.indices} or {*self.indices}
        left = [a for a in self.atoms if a.uses]
        while more := [a for a in left if a.uses & near]:
            near = near.union(*[a.uses for a in more])
            left = [a for a in left if not a.uses & near]
        if not left:
            return self
        about = tuple([a for a in self.atoms if not a.uses or a.uses & near])
        return Domain(self.indices, about, self.facts)

    def of_points(self) -> Domain:
        """The same points, with what is known of the sizes where there is one: 0 <= i < n says that n is positive."""
        forms = [a.form for a in self.affine if a.relation == GE]
        single = (f for f in forms if len(f.terms) == 1)
        from_zero = {s for f in single for s in f.symbols if isinstance(s, Index) and f.terms == {(s,): 1}}
        least: dict[Expr, int] = {}
        for f in forms:
            if len(f.terms) not in (2, 3):  # n - i, and a number
                continue
            number = f.terms.get((), 0)
            for i in from_zero & f.symbols:
                for n in f.symbols - {i}:
                    if f.terms == {(n,): 1, (i,): -1} | ({(): number} if number else {}) and fixed(n):
                        least[n] = max(least.get(n, -number), -number)
        return replace(self, facts=self.facts.raised(frozenset(least.items()))) if least else self

    # -- shadows

    def project(self, gone: Collection[Index], dark: bool = False) -> tuple[Domain, bool]:
        """The points of the other indices for which there is a value of those `gone`, and whether that is exact.

        If not it is too large: opaque atoms on what is gone are dropped, elements of data have any value; or, with
        `dark`, too small.
        """
        hidden = [i for i in self.indices if i in gone]
        kept = tuple(i for i in self.indices if i not in gone)
        opaque = [a for a in self.opaque if not a.uses & set(hidden)]
        exact = len(opaque) == len(self.opaque)
        if dark and not exact:
            return Domain(kept, (NEVER,), self.facts), False
        atoms, data = self._defined()
        atoms = tidy(atoms, self.facts)
        data = [s for s in data if set(indices(s)) & set(hidden)]
        if dark and any(isinstance(s, Ref) for s in data):
            return Domain(kept, (NEVER,), self.facts), False
        try:
            pending = [*data, *reversed(hidden)]
            while pending:
                s = _next(pending, atoms)
                atoms, sharp = eliminated(atoms, s, self.facts, dark)
                exact = exact and sharp and not isinstance(s, Ref)
        except TooMany:
            few = [NEVER] if dark else [a for a in self.affine if not a.uses & set(hidden)]
            return Domain(kept, (*few, *opaque), self.facts), False
        return Domain(kept, (*atoms, *opaque), self.facts), exact

    def _defined(self) -> tuple[list[Affine], list[Expr]]:
        """The affine atoms with what defines the quotients in them; and the symbols that vary and are no index, those
        that stand in others last."""
        atoms = list(self.affine)
        seen: dict[Expr, None] = {}
        for a in atoms:  # grows
            for s in sorted(a.form.symbols - seen.keys(), key=repr):
                seen[s] = None
                atoms += definitions(s, self.facts)
        return atoms, [s for s in seen if not fixed(s) and not isinstance(s, Index)]

    # -- loops and checks

    def bounds(self, index: Index, outer: Collection[Index]) -> tuple[list[Bound], list[Bound]]:
        """Lower and upper bounds of `index` in loops over `outer`; none follows from the others.

        They are the atoms whose last index it is. What these imply together with inner indices is added where a side
        has none.
        """
        here = {*outer, index}
        own = [part for a in self.affine if a.uses <= here and self._bounds(a, index) for part in _halves(a)]
        sides = {self._side(a, index) for a in own}
        if not {1, -1} <= sides:
            inner = [i for i in self.indices if i not in here]
            shadow = self.project(inner)[0].affine if inner else ()
            implied = [part for a in shadow if self._bounds(a, index) for part in _halves(a)]
            own += [a for a in implied if self._side(a, index) not in sides]
        kept = list(dict.fromkeys(own))
        known = [a for a in self.affine if a.uses <= set(outer)]
        for a in sorted(kept, key=lambda a: (-len(a.form.terms), str(a))):
            others = [k for k in kept if k is not a]
            if any(self._side(k, index) == self._side(a, index) for k in others):
                smaller = replace(self, atoms=(*known, *others))
                if smaller.entails(a):
                    kept.remove(a)
        lower: list[Bound] = []
        upper: list[Bound] = []
        for a in kept:
            step, rest = a.form.split(index)
            if self._side(a, index) > 0:
                lower.append(Bound(-rest, step, True))
            else:
                upper.append(Bound(rest, -step, False))
        return lower, upper

    def range(self, s: Expr) -> tuple[Expr, Expr] | None:
        """The least and the largest value of an expression, or what is no more and no less; None where nothing tells.

        Of several bounds the shortest are taken: n + padding - 1 rather than what a division has left of it.
        """
        form, value = polynomial(s), symbol(place := index("#value"))
        if form is None or not linear(form):
            return None
        values = Domain((place, *self.indices), (Affine(value - form, EQ), *self.atoms), self.facts)
        parts = [p.form.split(place) for a in values.project(self.indices)[0].affine for p in _halves(a)]
        lower = [-rest for step, rest in parts if step.number == 1]
        upper = [rest for step, rest in parts if step.number == -1]
        if not lower or not upper:
            return None
        low, high = (min(ends, key=_length).expression() for ends in (lower, upper))
        return low, high

    def conditions(self, index: Index | None, outer: Collection[Index]) -> list[Atom]:
        """The atoms that are no limits of a loop: to be tested first in the loop over `index` that stands in loops
        over `outer`, which is as far outside as can be; for None, before all loops."""
        here = {*outer, *(() if index is None else (index,))}
        mine = [a for a in self.atoms if a.uses & set(self.indices) <= here and (index is None or index in a.uses)]
        return [a for a in mine if index is None or not (isinstance(a, Affine) and self._bounds(a, index))]

    def _bounds(self, atom: Affine, index: Index) -> bool:
        """Whether an atom limits an index: its step has a known sign, and nothing else in it moves with the index."""
        if atom.relation == NE or index not in atom.form.symbols:
            return False
        if any(index in indices(s) for s in atom.form.symbols if s is not index):
            return False
        return bool(self.facts.sign(atom.form.split(index)[0]))

    def _side(self, atom: Affine, index: Index) -> int:
        return self.facts.sign(atom.form.split(index)[0]) or 0

    def needs(self, subscript: Expr, size: Expr, granted: Domain | None = None) -> list[Need] | None:
        """What keeps a subscript inside of an axis at every point; None if it is no affine one.

        Opaque atoms are ignored, so that the conditions suffice. `granted` is a larger domain, such as that of the
        whole equation, of which it is taken for granted that it has points.
        """
        ends = self._ends(subscript, size)
        if ends is None:
            return None
        if all(map(self.facts.nonnegative, ends)):
            return []
        here = self.of_points()
        if here.facts is not self.facts:
            return here.needs(subscript, size, granted)
        outside = [atoms for end in ends for atoms in at_least_zero(-end - 1, self.facts)]
        return [need for atoms in outside if (need := self._missing(atoms, granted or self)) is not None]

    def _missing(self, outside: Conjunction, granted: Domain) -> Need | None:
        """What keeps a conjunction from holding anywhere; None if nothing is missing."""
        if self._excludes(*outside):
            return None
        about = self._about(*outside)
        there = about.meet(*outside)
        data = [s for a in outside if isinstance(a, Affine) for s in a.form.symbols if _of_data(s)]
        looked = tuple(i for i in self.indices if any(i in indices(s) for s in data))
        others = [i for i in self.indices if i not in looked]
        shadow, _ = there.project(others)
        given, _ = granted._about(*outside).project(others)
        asked = shadow.affine if data else tuple(filter(_of_sizes, shadow.affine))
        missing = [a for a in asked if not given.entails(a)]
        where = about.project(others)[0] if data else Domain((), (), self.facts)
        return Need(where, tuple(n for a in missing for n in a.negated().split()))

    def _ends(self, subscript: Expr, size: Expr) -> tuple[Polynomial, Polynomial] | None:
        """What is not negative where a subscript is inside of an axis."""
        low, axis = polynomial(subscript), polynomial(size)
        if low is None or axis is None or not linear(low) or not linear(axis):
            return None
        return low, axis - 1 - low

    def __str__(self) -> str:
        return "{" + ", ".join(i.name for i in self.indices) + " : " + " & ".join(map(str, self.atoms)) + "}"


@dataclass(frozen=True)
class Bound:
    """ceil(form / by) if `low`, else floor(form / by); by > 0."""

    form: Polynomial
    by: Polynomial
    low: bool

    @property
    def limit(self) -> Expr:
        """The first value, or one past the last."""
        if self.by.number == 1:
            return (self.form if self.low else self.form + 1).expression()
        above = self.form + self.by - 1 if self.low else self.form
        quotient = apply("floordiv", above.expression(), self.by.expression())
        return quotient if self.low else quotient + 1


def _length(form: Polynomial) -> tuple[int, int]:
    return sum(isinstance(s, Apply) for s in form.symbols), len(form.terms)


def _halves(a: Affine) -> tuple[Affine, ...]:
    return (a,) if a.relation == GE else (Affine(a.form), Affine(-a.form))


def _of_data(s: Expr) -> bool:
    return isinstance(s, Ref) and not fixed(s)


def _next(pending: list[Expr], atoms: list[Affine]) -> Expr:
    """Takes the symbol that goes first: one that an equation gives, or the first."""
    equations = [a.form for a in atoms if a.relation == EQ]
    given = (s for s in pending if any(s in e.symbols and abs(e.split(s)[0].number or 0) == 1 for e in equations))
    found = next(given, pending[0])
    pending.remove(found)
    return found


def _of_sizes(a: Affine) -> bool:
    return all(map(fixed, a.form.symbols))


@lru_cache(maxsize=2**12)
def _of(box: Box, where: Expr | None, facts: Facts) -> Domain:
    sizes = _sizes_in(box) - facts.integers
    facts = replace(facts, integers=facts.integers | sizes) if sizes else facts
    atoms: list[Atom] = []
    for i, extent in box:
        atoms += [Affine(symbol(i)), *conjunction_of(apply("lt", i, extent), facts)]
        limit = polynomial(extent)
        if limit is not None and linear(limit) and any(isinstance(s, Apply) and fixed(s) for s in limit.symbols):
            atoms.append(Affine(limit - 1 - symbol(i)))  # i < n//s beside s*i <= n - s: either is of use
    if where is not None:
        atoms += conjunction_of(where, facts)
    return Domain(tuple(i for i, _ in box), tuple(dict.fromkeys(atoms)), facts)


def _sizes_in(box: Box) -> frozenset[str]:
    """The names in extents, which are integers."""
    return frozenset(n.name for _, extent in box for n in postorder(extent) if isinstance(n, Ref))


@lru_cache(maxsize=2**14)
def _empty(domain: Domain) -> bool:
    if any(a.negated() in domain.opaque for a in domain.opaque):
        return True
    if has_point(domain.affine, domain.facts):
        return False
    domain = domain.of_points()
    facts = domain.facts
    try:
        atoms, data = domain._defined()
        atoms = tidy(atoms, facts)
        pending = [*data, *reversed(domain.indices)]
        while pending:
            atoms, _ = eliminated(atoms, _next(pending, atoms), facts)
    except TooMany:
        return False
    fixed_ones = {s: None for a in atoms for s in sorted(a.form.symbols, key=repr)}
    known = [d for s in fixed_ones for d in definitions(s, facts)]
    atoms = tidy([*known, *map(Affine, facts.more)], facts, atoms)
    done: set[Expr] = set()
    while atoms and NEVER not in atoms:  # sizes, too, may have any value that the facts allow
        left = {s for a in atoms for s in a.form.symbols} - done
        if not left:
            return False
        s = min(left, key=repr)
        done.add(s)
        low = facts.least_of(s)
        known = [] if low is None else [Affine(symbol(s) - low)]
        try:
            atoms, _ = eliminated([*atoms, *known], s, facts)
        except TooMany:
            atoms = [a for a in atoms if s not in a.form.symbols]  # fewer atoms prove less
    return NEVER in atoms
