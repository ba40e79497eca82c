"""Polynomials back to equations: factored, in an order that people write, each Sum an equation of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import reduce
from itertools import permutations
from math import gcd

from ..expr import (
    ONE,
    ZERO,
    Apply,
    Const,
    Expr,
    Index,
    Ref,
    apply,
    conjunction,
    const,
    factors,
    index,
    operator,
    postorder,
    product,
    ref,
    refs,
    select,
    transform,
)
from ..expr.names import Names, fresh_letters, is_pack
from ..ir import Box, Equation, Tensor, packs_first
from ..ops.naming import product_phrase
from ..records import replace
from .normal import (
    UNIT,
    Atom,
    Monomial,
    Normal,
    Poly,
    Rational,
    Sum,
    free,
    guarded_by,
    inverse,
    merge,
    plus,
    power_expr,
    quotient,
    scaled,
    times,
)

LONGEST = 28  # letters of a name that is made of others


class Writer:
    """Writes polynomials as expressions, adding an equation for every Sum on the way.

    seeds       the cotangents of the outputs, in their order
    cotangents  the tensors that carry cotangents: they lead a product when there is one seed (`grad_output * x`), and
                end it when there are several, or it is read by component (`2 * x * g0 + y * g1`, the rows of J^T v)
    taken       the names that stand for something: of tensors, sizes and options
    ratios      the quotients of which the author wrote powers: (x / y)**2 stays in the range where x**2 does not
    """

    def __init__(
        self,
        normal: Normal,
        seeds: Sequence[str],
        cotangents: set[str],
        taken: set[str],
        ratios: Mapping[Monomial, Expr],
    ) -> None:
        self.normal = normal
        self.ratios = ratios
        self.seeds = {name: place for place, name in enumerate(seeds)}
        self.cotangents = cotangents
        self.lead = len(seeds) == 1
        self.taken = Names(taken)
        self.tensors: list[Tensor] = []
        self.equations: list[Equation] = []
        self.untied: set[Expr] = set()  # what is asked of two operands that are not equal
        self.within: tuple[Atom, ...] = ()  # the guards under which alone what is written counts
        self._names: dict[tuple[object, ...], str] = {}

    # equations

    def equation(self, target: str, subscripts: tuple[Expr, ...], box: Box, poly: Poly) -> Equation:
        """`target[subscripts] = poly`, as one reduction if the polynomial is one Sum."""
        extents = dict(box)
        common = self._common_guards(poly)
        if common:
            with self._under(common):
                e = self.equation(target, subscripts, box, self._without(poly, common))
            return replace(e, where=_both(self._domain(common), e.where))
        if len(poly) == 1:
            ((monomial, coefficient),) = poly.items()
            sums = [a for a, e in monomial if isinstance(a, Sum) and e == 1]
            shown = {i for i, _ in box}  # an index that the sum does not show may be the letter of a bound one
            if len(sums) == 1 and abs(coefficient) == 1 and shown <= free(sums[0]):
                rest = monomial - {(sums[0], 1)}
                mean = self._extents_below(sums[0], rest) if rest else frozenset()
                if mean is not None and mean == rest:
                    bound, body, where = self._inside(sums[0], extents, mean, sign=coefficient)
                    return Equation(target, subscripts, "sum", body, (*box, *bound), where)
        return Equation(target, subscripts, "none", self.expr(poly, extents), box)

    def _extents_below(self, total: Sum, rest: Monomial) -> Monomial | None:
        """The factor 1/extents of a mean, if `rest` has it."""
        number = self.normal.extents(total.box)
        if len(number) != 1:
            return None
        ((monomial, coefficient),) = number.items()
        below = inverse(monomial)
        return below if coefficient == 1 and below and below <= rest else None

    def _inside(
        self, total: Sum, extents: Mapping[Index, Expr], mean: Monomial, sign: Rational = 1
    ) -> tuple[Box, Expr, Expr | None]:
        """The body of a Sum under readable indices, and where it counts; divided by the extents for a mean."""
        inner = scaled(self.normal.terms(total), sign)
        bound = tuple(i for i, _ in total.box)
        used = {i.name for i in free(total)}
        letters = self.normal.letters(total)
        sizes = [e for _, e in total.box]
        pairs = () if letters is None else zip(letters, sizes, strict=True)
        if letters is None or any(i.name in used or is_pack(i) != is_pack(e) for i, e in pairs):
            names = (name for name in fresh_letters(self.taken) if name not in used)
            letters = tuple(index(e.name if isinstance(e, Ref) and is_pack(e) else next(names)) for e in sizes)
        renaming: dict[Expr, Expr] = dict(zip(bound, letters, strict=True))
        box = tuple((j, e) for j, (_, e) in zip(letters, total.box, strict=True))
        renamed = self.normal.rename(inner, renaming)
        if mean:
            renamed = {merge(m, mean): c for m, c in renamed.items()}
        common = self._common_guards(renamed)
        with self._under(common, letters):
            body = self.expr(self._without(renamed, common), {**extents, **dict(box)})
        return box, body, self._domain(common)

    def _sum(self, total: Sum, extents: Mapping[Index, Expr], mean: Monomial) -> Expr:
        """The reference to the tensor that holds a Sum (or mean), which is written if it is new."""
        met = sorted(free(total), key=lambda i: list(extents).index(i))
        box = packs_first((i, extents[i]) for i in met)
        shown = [i for i, _ in box]
        within = tuple(a for a in self.within if free(a) <= set(shown))
        same = (total, box, mean, within)
        if same not in self._names:
            bound, body, where = self._inside(total, extents, mean)
            kind = "mean" if mean else "sum"
            own = own_name(kind, body)
            longer = f"{kind}_{product_phrase(body)}" if own else ""
            name = self.taken.new(own or f"row_{kind}", longer)
            self._names[same] = name
            self.tensors.append(Tensor(name, tuple(e for _, e in box)))
            where = _both(self._domain(within), where)
            self.equations.append(Equation(name, tuple(shown), "sum", body, (*box, *bound), where))
        return ref(self._names[same], *shown)

    # domains

    def _common_guards(self, poly: Poly) -> tuple[Atom, ...]:
        """The guards that every term has."""
        of_each = [self.normal.guards(m) for m in poly]
        return tuple(a for a in of_each[0] if all(a in others for others in of_each)) if of_each else ()

    def _without(self, poly: Poly, guards: Sequence[Atom]) -> Poly:
        return {m - {(a, 1) for a in guards}: c for m, c in poly.items()}

    @contextmanager
    def _under(self, guards: Sequence[Atom], bound: Sequence[Index] = ()) -> Iterator[None]:
        """What is written inside counts under these guards alone; those around it say nothing of `bound` indices, which
        may have their letters."""
        before = self.within
        self.within = (*(a for a in before if free(a).isdisjoint(bound)), *guards)
        yield
        self.within = before

    def _domain(self, guards: Sequence[Atom]) -> Expr | None:
        """The condition that all of these guards ask."""
        asked = [guarded_by(self.normal.written(a)) for a in guards if not isinstance(a, Sum)]
        return conjunction([c if holds else apply("not", c) for c, holds in filter(None, asked)]) if asked else None

    def _branches(self, poly: Poly, extents: Mapping[Index, Expr]) -> Expr | None:
        """A sum of which some terms count under a condition alone: a `where` of those, and the others."""
        first = next((a for m in poly for a in self.normal.guards(m)), None)
        if first is None or isinstance(first, Sum):
            return None
        condition, holds = guarded_by(self.normal.written(first)) or (ONE, True)
        other = select(condition, *((ZERO, ONE) if holds else (ONE, ZERO))).key
        parts: list[Poly] = [{}, {}, {}]
        for m, c in poly.items():
            mine = self.normal.guards(m)
            parts[0 if first in mine else 1 if other in mine else 2][m] = c
        branches = []
        for part, atom in zip(parts, (first, other), strict=False):
            with self._under([atom]):
                branches.append(self.expr(self._without(part, [atom]), extents))
        chosen = select(condition, *(branches if holds else reversed(branches)))
        return _plus(self.expr(parts[2], extents), chosen) if parts[2] else chosen

    def _one_where(self, poly: Poly, extents: Mapping[Index, Expr]) -> Expr | None:
        """k * where(c, a, b) + m * where(c, p, q) as where(c, k*a + m*p, k*b + m*q), where c is the tie of a maximum,
        or what is asked where there is none: the values in branches of other conditions may be known by name."""
        found: dict[Expr, dict[Monomial, Atom]] = {}
        for monomial in poly:
            for atom, exponent in monomial:
                asked = atom.args[0].key if isinstance(atom, Apply) and atom.op == "select" else ZERO
                if exponent == 1 and (operator(asked) == "eq" or asked in self.untied):
                    found.setdefault(asked, {}).setdefault(monomial, atom)
        group = next((terms for terms in found.values() if len(terms) > 1), None)
        if group is None:
            return None
        choices = [self.normal.written(atom) for atom in group.values() if not isinstance(atom, Sum)]
        condition = choices[0].args[0]
        then: Poly = {}
        otherwise: Poly = {}
        for (monomial, atom), choice, b in zip(
            group.items(), choices, untied(condition, [c.args[2] for c in choices]), strict=True
        ):
            rest = {monomial - {(atom, Fraction(1))}: poly[monomial]}
            then = plus(then, times(rest, self.normal.poly(choice.args[1])))
            otherwise = plus(otherwise, times(rest, self.normal.poly(b)))
        self.untied |= {apply(op, *way).key for op in ("gt", "lt") for way in permutations(condition.args)}
        chosen = _chosen(condition, self.expr(then, extents), self.expr(otherwise, extents))
        left = {m: c for m, c in poly.items() if m not in group}
        return _plus(self.expr(left, extents), chosen) if left else chosen

    # expressions

    def expr(self, poly: Poly, extents: Mapping[Index, Expr]) -> Expr:
        """`poly` as an expression: common factors in front, then collected in what is costly."""
        if not poly:
            return ZERO
        for written in (self._branches, self._one_where):
            if (branches := written(poly, extents)) is not None:
                return branches
        if len(poly) == 1:
            return self._term(*next(iter(poly.items())), extents)
        common, content, inner = _common(poly)
        if (opened := self._opened(inner)) is not None:
            return self.expr(times({common: content}, opened), extents)
        if not common and content == 1:
            return self._collected(poly, extents)
        factors = self._factors(common, extents)
        rest = self.expr(inner, extents)
        if not factors[1]:
            return quotient(content, [*factors[0], rest], [])
        return quotient(content, factors[0], []) * rest / product(factors[1])

    def _opened(self, poly: Poly) -> Poly | None:
        """`(1 - y) * n - n` as `-y * n`: sums among the terms are taken apart where like terms then meet."""
        flat: Poly = {}
        terms = 0
        for monomial, coefficient in poly.items():
            part = {monomial: coefficient}
            sums = [a for a, e in monomial if e == 1 and isinstance(a, Apply) and a.op in ("add", "sub")]
            if len(sums) == 1:
                rest = {monomial - {(sums[0], Fraction(1))}: coefficient}
                part = times(rest, self.normal.poly(self.normal.written(sums[0])))
            terms += len(part)
            flat = plus(flat, part)
        return flat if len(flat) < terms and len(flat) <= len(poly) else None

    def _collected(self, poly: Poly, extents: Mapping[Index, Expr]) -> Expr:
        """A sum of terms; those that share a costly factor are put in one product."""
        groups: list[Poly] = []
        rest = dict(poly)
        while rest:
            best = self._most_shared(rest, len(poly))
            if best is None:
                groups += [{m: c} for m, c in rest.items()]
                break
            group = {m: c for m, c in rest.items() if any(a == best for a, _ in m)}
            groups.append(group)
            rest = {m: c for m, c in rest.items() if m not in group}
        position = {m: place for place, m in enumerate(poly)}
        sums = any(isinstance(a, Sum) for m in poly for a, _ in m)

        def place(group: Poly) -> tuple[Fraction, int, int]:
            shortest = min(len(m) for m in group) if sums else 0
            return min(self._seed_rank(m) for m in group), shortest, min(position[m] for m in group)

        groups.sort(key=place)
        if len(groups) == 1:
            return reduce(_plus, [self._term(m, c, extents) for m, c in groups[0].items()])
        values = [self.expr(g, extents) for g in groups]
        first = next((k for k, v in enumerate(values) if not (isinstance(v, Apply) and v.op == "neg")), 0)
        return reduce(_plus, [values[first], *values[:first], *values[first + 1 :]])

    def _most_shared(self, poly: Poly, most: int) -> Atom | None:
        """The costliest factor that several terms have in common, fewer than `most`; where none is, what several
        cotangents are multiplied by."""
        count: dict[Atom, int] = {}
        others: dict[Atom, int] = {}
        powers: set[Atom] = set()
        for monomial in poly:
            moved = any(self._is_cotangent(atom) for atom, _ in monomial)
            for atom, exponent in sorted(monomial, key=lambda pair: self.normal.order(pair[0])):
                if isinstance(atom, (Sum, Apply)) or self._is_cotangent(atom):
                    count[atom] = count.get(atom, 0) + 1
                elif moved:
                    others[atom] = others.get(atom, 0) + 1
                    powers |= {atom} if exponent != 1 else set()
        others = {atom: n for atom, n in others.items() if atom not in powers}
        for found in (count, others):
            if shared := {a: n for a, n in found.items() if 2 <= n < most}:
                return max(shared, key=lambda a: (shared[a], _cost(a)))
        return None

    def _seed_rank(self, monomial: Monomial) -> Fraction:
        """Terms come in the order of the outputs they belong to, those that read no cotangent directly at the end."""
        found = [a for a, _ in monomial if isinstance(a, Ref) and a.name in self.cotangents]
        last = len(self.seeds)
        return min((self.seeds.get(a.name, last) + _component(a) for a in found), default=Fraction(last + 1))

    def _is_cotangent(self, atom: Atom) -> bool:
        return isinstance(atom, Ref) and atom.name in self.cotangents

    def _term(self, monomial: Monomial, coefficient: Rational, extents: Mapping[Index, Expr]) -> Expr:
        above, below = self._factors(monomial, extents)
        return quotient(coefficient, above, below)

    def _factors(self, monomial: Monomial, extents: Mapping[Index, Expr]) -> tuple[list[Expr], list[Expr]]:
        """The factors above and below the line, in the order of writing."""
        means: dict[Sum, Monomial] = {}
        rest = monomial
        for atom, exponent in self.normal.ordered(monomial):
            if isinstance(atom, Sum) and exponent == 1:
                mean = self._extents_below(atom, rest)
                if mean is not None:
                    means[atom] = mean
                    rest = rest - mean
        rest, written = self._by_ratios(rest)
        for atom, exponent in sorted(rest, key=self._place):
            mean = means.get(atom, frozenset()) if isinstance(atom, Sum) else UNIT
            base = self._sum(atom, extents, mean) if isinstance(atom, Sum) else self.normal.written(atom)
            written.append((self._place((atom, exponent)), power_expr(base, abs(Fraction(exponent))), exponent > 0))
        written.sort(key=lambda w: w[0])
        return [power for _, power, top in written if top], [power for _, power, top in written if not top]

    def _by_ratios(self, monomial: Monomial) -> tuple[Monomial, list[tuple[tuple[int, int], Expr, bool]]]:
        """The powers of quotients that the author wrote as such, and where they stand, and what is left."""
        found = []
        for ratio, written in self.ratios.items():
            mine = dict(monomial)
            k = min(Fraction(mine.get(a, 0)) / e for a, e in ratio) // 1
            if k >= 2:
                found.append((self._place(self.normal.ordered(ratio)[0]), written ** const(k), True))
                monomial = merge(monomial, frozenset((a, -e * k) for a, e in ratio))
        return monomial, found

    def _place(self, pair: tuple[Atom, Rational]) -> tuple[int, int]:
        atom, _ = pair
        rank = self.normal.order(atom)
        if isinstance(atom, Sum):
            return (4, rank)
        if not any(isinstance(n, Ref) and n.subscripts for n in postorder(atom)):
            return (0, rank)  # numbers and sizes
        if self._is_cotangent(atom):
            component = isinstance(atom, Ref) and any(isinstance(s, Const) for s in atom.subscripts)
            return (1 if self.lead and not component else 3, rank)
        return (2, rank)


def own_name(kind: str, body: Expr) -> str:
    """`sum_x`, `sum_x_weight`: what is reduced; empty where that is too much for a name."""
    names = list(dict.fromkeys(r.name for r in refs(body) if r.subscripts))
    name = "_".join([kind, *names])
    return name if 1 <= len(names) <= 2 and len(name) <= LONGEST else ""


def _both(one: Expr | None, other: Expr | None) -> Expr | None:
    """The condition that two conditions hold, of which each may be missing."""
    return other if one is None else one if other is None else apply("and", one, other)


def _component(cotangent: Ref) -> Fraction:
    """Where a component stands among those of its output: 0 for a whole one, less than 1 always."""
    place = Fraction(0)
    for s in cotangent.subscripts:
        if isinstance(s, Const):
            place += s.value / (1 + s.value) / 2
    return place


def untied(condition: Expr, otherwise: Sequence[Expr]) -> Sequence[Expr]:
    """What counts where a and b are not equal: a > b and b > a as one question and its answers."""
    if not (isinstance(condition, Apply) and condition.op == "eq"):
        return otherwise
    a, b = condition.args
    ways = [{apply("gt", x, y), apply("lt", y, x)} for x, y in ((a, b), (b, a))]
    asked = [n.args[0] for n in postorder(*otherwise) if isinstance(n, Apply) and n.op == "select"]
    first = next((c for c in asked if c in ways[0] | ways[1]), None)
    if first is None or not all(any(c in way for c in asked) for way in ways):
        return otherwise

    def turn(node: Expr) -> Expr:
        if not (isinstance(node, Apply) and node.op == "select" and node.args[0] in ways[0] | ways[1]):
            return node
        same = any(first in way and node.args[0] in way for way in ways)
        return select(first, *(node.args[1:] if same else node.args[:0:-1]))

    return [transform(o, turn) for o in otherwise]


def _chosen(condition: Expr, then: Expr, otherwise: Expr) -> Expr:
    """The choice of two products, with the factors that they share in front of it."""
    (above, below), (others_above, others_below) = factors(then), factors(otherwise)
    shared = [f for f in above if f in others_above and ZERO not in (then, otherwise)]
    divisors = [f for f in below if f in others_below]

    def rest(some: Sequence[Expr], own: Sequence[Expr]) -> Expr:
        return product([f for f in some if f not in shared]) / product([f for f in own if f not in divisors])

    if not shared or len({*above}) < len(above) or len({*below}) < len(below):
        return select(condition, then, otherwise)
    return product(shared) * select(condition, rest(above, below), rest(others_above, others_below)) / product(divisors)


def _plus(a: Expr, b: Expr) -> Expr:
    """a + b; the sum of a sum is written without parentheses."""
    if isinstance(b, Apply) and b.op in ("add", "sub"):
        left = _plus(a, b.args[0])
        return left + b.args[1] if b.op == "add" else left - b.args[1]
    return a + b


def _common(poly: Poly) -> tuple[Monomial, Rational, Poly]:
    """The monomial and the number that every term has, and what is left."""
    powers: dict[Atom, Rational] | None = None
    for monomial in poly:
        mine = dict(monomial)
        if powers is None:
            powers = mine
        else:
            shared = [(a, e, mine[a]) for a, e in powers.items() if a in mine and (e > 0) == (mine[a] > 0)]
            powers = {a: min(e, other) if e > 0 else max(e, other) for a, e, other in shared}
    common = frozenset((powers or {}).items())
    inner = {merge(m, inverse(common)): c for m, c in poly.items()}
    numbers = list(inner.values())
    content: Rational = 1
    if all(abs(c) == abs(numbers[0]) for c in numbers):
        content = abs(Fraction(numbers[0]))
    elif len({c.denominator for c in numbers}) == 1:
        content = Fraction(gcd(*(c.numerator for c in numbers)), numbers[0].denominator)
    if all(c < 0 for c in numbers):
        content = -content
    return common, content, scaled(inner, Fraction(1) / content)


def _cost(atom: Atom) -> int:
    if isinstance(atom, Sum):
        return 10
    return sum(isinstance(n, Apply) for n in postorder(atom))
