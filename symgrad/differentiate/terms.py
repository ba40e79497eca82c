"""The derivative of an output by anything as terms: where it may be other than 0, and what it is there.

    d output[above] / d tensor[below] = the sum of `value` over the points of the box with these places

By itself an output has the derivative 1 at (i, i). The equations of J^T v are linear in v; one of them, over J and
with coefficient c, that reads the cotangent of one tensor at `h` and adds to that of another at `f`, makes of each term
of the one a term of the other:

    (above, below, value) over I     with below(I) = h(J):     (above, f(J), value * c) over I and J

The equality is solved for indices: no delta is built, and no zero is computed. What is left is a place for each term,
affine or by data, as in `out_by_x[i, i + 1] += ...`: the diagonals of a stencil, the rows of a convolution, the entries
of a graph. A sum over points of one place is a value of its own before anything else is made of it. A recurrence stays
one, with the axes of the output before its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from ..domain import Domain, Facts
from ..errors import UnsupportedError
from ..expr import (
    ONE,
    ZERO,
    Expr,
    Index,
    Ref,
    apply,
    conjunction,
    conjuncts,
    const,
    index,
    indices,
    is_short,
    operator,
    ref,
    refs,
    substitute,
    substitution,
    transform,
    values,
)
from ..expr.names import fresh, fresh_letters
from ..expr.nodes import COMPARE
from ..expr.polynomials import polynomial
from ..expr.sizes import equal
from ..ir import Box, Derivative, Equation, Tensor, When, below, by_target, components, recurrent
from ..records import dataclass, replace
from .chain import combined, condition_of
from .components import of_units


@dataclass(frozen=True, slots=True)
class Term:
    """d output[above] / d tensor[below] has `value` at each point of the box; points with the same places add up."""

    above: tuple[Expr, ...]
    below: tuple[Expr, ...]
    value: Expr
    box: Box
    where: Expr | None = None
    when: When = ()

    @property
    def conditions(self) -> list[Expr]:
        """The conditions that `where` is the conjunction of."""
        return [] if self.where is None else conjuncts(self.where)

    def at(self, names: dict[Expr, Expr]) -> Term:
        """The term with other indices."""
        box = tuple((j, n) for i, n in self.box if isinstance(j := names.get(i, i), Index))
        return self.mapped(lambda e: substitute(e, names), box)

    def mapped(self, put: Callable[[Expr], Expr], box: Box) -> Term:
        """The term with other expressions for all that it has."""
        where = None if self.where is None else put(self.where)
        places = tuple(map(put, self.above)), tuple(map(put, self.below))
        return Term(*places, put(self.value), box, where, self.when)

    def inside(self, at: Collection[Index], axes: Sequence[Expr], facts: Facts) -> Term:
        """The term where its places are in the axes, for each point of the indices `at` alone: what is summed over the
        others may have no point where they are not. Data are in range, or refused."""
        if len(at) == len(self.box):
            return self
        told = [c for c in self.conditions if {*indices(c)} <= {*at}]
        box = tuple(pair for pair in self.box if pair[0] in at)
        domain = Domain.of(box, conjunction(told) if told else None, facts)
        places = [p for p in zip((*self.above, *self.below), axes, strict=True) if not any(r.args for r in refs(p[0]))]
        asked = [c for s, n in places for c in (apply("ge", s, ZERO), apply("lt", s, n)) if not domain.holds(c)]
        return replace(self, where=conjunction([*self.conditions, *asked])) if asked else self

    def equation(self, target: str, subscripts: tuple[Expr, ...]) -> Equation:
        """What adds the term to the elements of a target."""
        shown = set(indices(*subscripts))
        box = sorted(self.box, key=lambda pair: pair[0] not in shown)
        kind = "sum" if any(i not in shown for i, _ in box) else "none"
        return Equation(target, subscripts, kind, self.value, tuple(box), self.where, self.when)


class Chain:
    """The derivatives of one output.

    tensors, statements  what has a name on the way: sums, and what several terms read
    tight                whether it is asked which elements of a recurrence are always 0, such as those of later steps
    """

    def __init__(self, derivative: Derivative, output: str, seed: str, taken: set[str], tight: bool = False) -> None:
        self.joint, self.primal, self.tight = derivative.function, derivative.primal, tight
        self.output, self.seed, self.taken = output, seed, taken
        self.tensors: list[Tensor] = []
        self.statements: list[Equation] = []
        self._elements: dict[Equation, str] = {}  # those of `statements` that are elements, by what they compute
        self.shape = self.primal.table[output].shape
        self.box = self._box_of_output()
        at = tuple(i for i, _ in self.box)
        self.found: dict[str, list[Term]] = {seed: [Term(at, at, ONE, self.box)]}
        moved = _moved(derivative)
        self.moved = {name for names in moved.values() for name in names} | set(moved)
        own = [e for e in self.joint.statements if e.target in moved[seed]]
        self._readings = {name: sum(name in {r.name for r in e.reads} for e in own) for name in moved[seed]}
        self._results = {gradient for _, gradient in derivative.gradients}
        writers, loops = by_target(own), recurrent(own)
        for names in components(below(own)):
            self._refuse_matrices([e for name in names for e in writers[name]])
            if loops & set(names):
                self._recurrence(names, writers)
            else:
                terms = [term for e in writers[names[0]] for term in self._of(e)]
                self.found[names[0]] = self._settled(names[0], _merged(terms))

    def by(self, gradient: str, shape: Sequence[Expr]) -> tuple[tuple[Expr, ...], list[tuple[tuple[Expr, ...], Term]]]:
        """The shape of the derivative by what `gradient` is the cotangent of, and its terms with their places."""
        terms = self.found.get(gradient, ())
        return self.joined(self.shape, shape), [(self.joined(t.above, t.below), t) for t in terms]

    def squares(self, gradient: str, name: str) -> tuple[list[Term], list[Term], list[Term]]:
        """The terms of J, whose array is called `name`, by the tensor that `gradient` is the cotangent of; those of
        J^T J, and those of J^T r, with r the output."""
        terms, axes = self.found.get(gradient, []), self._axes(gradient)
        if len(terms) == 1 and terms[0].equation(name, (*terms[0].above, *terms[0].below)).plain:
            read = [self._summed(t, ref(name, *self.joined(t.above, t.below)), axes) for t in terms]
        else:
            read = terms = [t if is_short(t.value, 1) else self._element(gradient, t, axes) for t in terms]
        slopes = [replace(t, above=(), value=t.value * ref(self.output, *t.above)) for t in read]
        products: list[Term] = []
        for n, term in enumerate(read):
            row = ref(self.seed, *term.above)
            e = replace(term, value=row * term.value).equation(name, term.below)
            for other in read[n:]:
                for found in self._composed(e, row, replace(other, above=other.below, below=other.above)):
                    if other is term:
                        products.append(found)
                    else:  # each half is computed once
                        found = self._element(f"{gradient}_products", found, self.joint.table[gradient].shape * 2)
                        products += [found, replace(found, above=found.below, below=found.above)]
        return terms, products, slopes

    def joined(self, above: Sequence[Expr], below: Sequence[Expr]) -> tuple[Expr, ...]:
        """Axes of the output and of a tensor; a pack that both have is there once, before them."""
        packs = self.primal.packs
        shared = [s for s in above if isinstance(s, (Index, Ref)) and s.name in packs and s in below]
        rest = [s for some in (above, below) for s in some if s not in shared]
        return (*shared, *rest)

    # the output itself

    def _box_of_output(self) -> Box:
        """An index for each axis of the output: those that it is declared by, where they are."""
        for e in self.primal.writers.get(self.output, ()):
            if e.fills(self.primal.table[self.output]):
                extents = dict(e.box)
                return tuple((s, extents[s]) for s in e.subscripts if isinstance(s, Index))
        return self.primal.box_of(self.shape)

    # one equation

    def _of(self, e: Equation) -> list[Term]:
        """What an equation of J^T v makes of the terms that it reads."""
        assert e.reduce in ("none", "sum"), f"{e.target} is not linear in the cotangent"
        found = []
        for r in refs(e.body):
            for term in self.found.get(r.name, ()):
                found += self._composed(e, r, term)
        return found

    def _composed(self, e: Equation, r: Ref, term: Term) -> list[Term]:
        """The term that `e` makes of one of what it reads as `r`; none where it is 0."""
        when = dict(term.when)
        if any(when.get(name, present) != present for name, present in e.when):
            return []
        names = self._apart(e, term)
        e, read = e.at(names), tuple(substitute(s, names) for s in r.subscripts)
        packs = self._packs(e, r, term)
        extents = dict((*term.box, *e.box))
        shape = self.joint.table[r.name].shape
        solution, same, inside = _solved(term.below, read, shape, extents, {i for i, _ in e.box} - packs, packs)
        put = substitution(solution)
        others: dict[Expr, Expr] = {x: ZERO for x in refs(*e.expressions) if x.name in self.moved}
        others[ref(r.name, *read)] = term.value

        def alone(part: Expr) -> Expr:
            """A part of the equation, where no cotangent is there but what the term says of this one."""
            return put(transform(substitute(part, others), of_units))

        if any(x in others and x.name != r.name for c in e.conditions for x in refs(c)):
            raise UnsupportedError(
                f"{self.primal.name}: where {e.target} is computed depends on the cotangent itself, of which a matrix "
                f"knows nothing. Its product with a vector is printed: sg.vjp, sg.jvp."
            )
        box = tuple(pair for pair in extents.items() if pair[0] not in solution)
        asked = [*inside, *same, *(put(c) for c in term.conditions), *map(alone, e.conditions)]
        more, body = condition_of(alone(e.body))
        where, body = self._where(box, [*asked, *conjuncts(more)], body)
        if body is ZERO:
            return []
        places = tuple(map(put, term.above)), tuple(map(put, e.subscripts))
        return [Term(*places, body, box, where, tuple({**when, **dict(e.when)}.items()))]

    def _where(self, box: Box, conditions: Iterable[Expr], body: Expr) -> tuple[Expr | None, Expr]:
        """The conditions that do not hold by themselves, and the value where they do; 0 where they never do."""
        domain, kept = Domain.of(box, None, self.joint.facts), list[Expr]()
        for c in conditions:
            if domain.fails(c):
                return None, ZERO
            if not domain.holds(c):
                kept.append(c)
                domain = domain.under(c)
        return conjunction(kept) if kept else None, domain.decided(body)

    def _apart(self, e: Equation, term: Term) -> dict[Expr, Expr]:
        """Other names for indices of `e` that stand for something in the term; packs stay."""
        taken = {i.name for i, _ in term.box} | {i.name for i, _ in e.box} | self.taken
        letters, names = fresh_letters(taken), dict[Expr, Expr]()
        for i, _ in e.box:
            if i in dict(term.box) and i.name not in self.primal.packs:
                names[i] = index(next(letters))
        return names

    def _packs(self, e: Equation, r: Ref, term: Term) -> set[Index]:
        """The packs of both; refuses what is summed over a pack and is then told for each of its points."""
        packs = set(self.primal.packs)
        mine, other = ({i for i, _ in box if i.name in packs} for box in (e.box, term.box))
        for i in mine & other:
            if not any(i is a and i is b for a, b in zip(term.below, r.subscripts, strict=True)):
                raise UnsupportedError(
                    f"{self.primal.name}: each point of {i.name} has a derivative by each other one through "
                    f"{r.name.removeprefix('grad_')}. Give the axes names, x[n,m] instead of x[...]; sg.vjp and sg.jvp "
                    f"are products with a vector, which need none."
                )
        return mine | other

    def _refuse_matrices(self, equations: Sequence[Equation]) -> None:
        for e in equations:
            if e.matrix is not None:
                raise UnsupportedError(
                    f"{self.primal.name}: the derivative through {e.matrix.function} has no equation for each of its "
                    f"elements; its product with a vector has such equations: sg.vjp, sg.jvp."
                )

    # what has a name

    def _settled(self, name: str, terms: list[Term]) -> list[Term]:
        """The terms, where those that are sums, or that are read several times and computed, are elements."""
        if name in self._results:
            return terms
        return [self._element(name, t, self._axes(name)) if self._costs(name, t) else t for t in terms]

    def _costs(self, name: str, term: Term) -> bool:
        shown = set(indices(*term.above, *term.below))
        summed = any(i not in shown for i, _ in term.box)
        return summed or (self._readings[name] > 1 and not is_short(term.value, 1))

    def _axes(self, name: str) -> tuple[Expr, ...]:
        """Those of the output, and of a tensor."""
        return (*self.shape, *self.joint.table[name].shape)

    def _element(self, name: str, term: Term, axes: Sequence[Expr]) -> Term:
        """The term, its places in the `axes`, with its value under a name, which has an axis for each index of them."""
        shown = set(indices(*term.above, *term.below))
        box = tuple(pair for pair in term.box if pair[0] in shown)
        at = tuple(i for i, _ in box)
        e = term.equation("", at)
        same = e.at({i: index(f"#{k}") for k, (i, _) in enumerate(e.box)})  # whatever its indices are called
        target = self._elements.get(same)
        if target is None:
            target = self._elements[same] = self._new(name, tuple(n for _, n in box))
            self.statements.append(replace(e, target=target))
        return self._summed(term, ref(target, *at), axes)

    def _summed(self, term: Term, value: Expr, axes: Sequence[Expr]) -> Term:
        """The term, its places in the `axes`, with the value that its sum has at each of them."""
        shown = set(indices(*term.above, *term.below))
        box = tuple(pair for pair in term.box if pair[0] in shown)
        inside = term.inside([i for i, _ in box], axes, self.joint.facts)
        told = [c for c in inside.conditions if shown.issuperset(indices(c))]
        return replace(term, value=value, box=box, where=conjunction(told) if told else None)

    def _new(self, name: str, shape: tuple[Expr, ...]) -> str:
        value = name.removeprefix("grad_").removesuffix("_total")
        found = fresh(f"{self.output}_by_{value}", self.taken)
        self.taken.add(found)
        self.tensors.append(Tensor(found, shape))
        return found

    # recurrences

    def _recurrence(self, names: Sequence[str], writers: dict[str, list[Equation]]) -> None:
        """What is computed from itself, as arrays of output x tensor."""
        (unit,) = self.found[self.seed]
        targets = {}
        for name in names:
            table = self.joint.table[name].shape
            targets[name] = self._new(name, self.joined(self.shape, table))
            box = self.primal.box_of(table, {i.name for i, _ in unit.box} | self.taken)
            at = tuple(i for i, _ in box)
            value = ref(targets[name], *self.joined(unit.above, at))
            self.found[name] = [Term(unit.above, at, value, tuple(dict((*unit.box, *box)).items()))]
        for name in names:
            for e in writers[name]:
                for term in self._of(e):
                    places = self.joined(term.above, term.below)
                    self.statements.append(term.equation(targets[name], places))
        if self.tight:
            self._tighten(names, writers)

    def _tighten(self, names: Sequence[str], writers: dict[str, list[Equation]]) -> None:
        """Say where the elements of a recurrence may be other than 0: of the orders that an index of the output and one
        of a tensor may stand in, those that each term has if what it reads has them."""
        for name in names:
            (term,) = self.found[name]
            pairs = [(a, b) for a in term.above for b in term.below if a is not b]
            orders = [apply("ge", x - y, const(k)) for a, b in pairs for x, y in ((a, b), (b, a)) for k in (1, 0)]
            self.found[name] = [replace(term, where=conjunction(orders))]
        while any(self._without_wrong_orders(name, writers[name]) for name in names):
            pass

    def _without_wrong_orders(self, name: str, equations: Sequence[Equation]) -> bool:
        """Give up the orders that a term of an element does not have; whether there was such a one."""
        (own,) = self.found[name]
        kept = own.conditions
        for term in (term for e in equations for term in self._of(e)):
            domain = Domain.of(term.box, term.where, self.joint.facts)
            at: dict[Expr, Expr] = dict(zip((*own.above, *own.below), (*term.above, *term.below), strict=True))
            kept = [c for c in kept if domain.holds(substitute(c, at))]
        self.found[name] = [replace(own, where=conjunction(kept) if kept else None)]
        return len(kept) < len(own.conditions)


def _moved(derivative: Derivative) -> dict[str, set[str]]:
    """What is a multiple of each cotangent, by its name: no value that is only asked for where one is not 0."""
    read = {
        e: {n.name for n in values(e.body, closed=_compares) if isinstance(n, Ref)}
        for e in derivative.function.statements
    }
    found = {}
    for _, seed in derivative.seeds:
        moved: set[str] = set()
        while more := {e.target for e, names in read.items() if not names.isdisjoint({seed, *moved})} - moved:
            moved |= more
        found[seed] = moved
    return found


def _compares(node: Expr) -> bool:
    return operator(node) in COMPARE


def without_asking(e: Equation, moved: Collection[str]) -> Equation:
    """A value, whatever the cotangents are for which alone it is asked for."""

    def put(node: Expr) -> Expr:
        return ONE if _compares(node) and any(r.name in moved for r in refs(node)) else node

    e = e.with_body(transform(e.body, put))
    where = None if e.where is None else transform(e.where, put)
    return replace(e, where=None if where is ONE else where)


def _solved(
    below: Sequence[Expr],
    read: Sequence[Expr],
    shape: Sequence[Expr],
    extents: Mapping[Index, Expr],
    own: Collection[Index],
    packs: Collection[Index],
) -> tuple[dict[Expr, Expr], list[Expr], list[Expr]]:
    """Where the places of a term are those that an equation reads: what each index is that this tells, those of the
    equation (`own`) first; what else must hold; and what keeps those indices in their ranges."""
    solution: dict[Expr, Expr] = {}
    same: list[Expr] = []
    open_: list[Index] = []
    for a, b, axis in zip(below, read, shape, strict=True):
        a, b = substitute(a, solution), substitute(b, solution)
        if a is b:
            continue
        whole = {i for i, n in extents.items() if equal(n, axis)}
        found = _told(a, b, own, whole, {*solution, *packs})
        if found is None:
            same.append(apply("eq", a, b))
            continue
        i, at = found
        solution = {j: substitute(other, {i: at}) for j, other in solution.items()} | {i: at}
        if i not in (a, b) or i not in whole:  # else the other one is inside of the axis
            open_.append(i)
    same = [substitute(c, solution) for c in same]
    inside = [(apply("ge", solution[i], ZERO), apply("lt", solution[i], extents[i])) for i in open_]
    return solution, same, [c for both in inside for c in both]


def _told(
    a: Expr, b: Expr, own: Collection[Index], whole: Collection[Index], known: Collection[Expr]
) -> tuple[Index, Expr] | None:
    """The index that `a == b` tells, and what it is: one that runs along the `whole` axis first, as it is in its range
    wherever the other one is."""
    ways = sorted([(b, a), (a, b)], key=lambda way: (way[0] not in whole, way[0] not in own))
    for i, other in ways:
        if isinstance(i, Index) and i not in known and i not in indices(other):
            return i, other
    form = polynomial(a - b)
    if form is None:
        return None
    for i in sorted(indices(a, b), key=lambda i: i not in own):
        step, rest = form.split(i)
        if i not in known and step.number in (1, -1) and not any(i in indices(s) for s in rest.symbols):
            return i, (rest * -step.number).expression()
    return None


def _merged(terms: Sequence[Term]) -> list[Term]:
    """The terms, those at the same places as one."""
    found: dict[object, Term] = {}
    for term in terms:
        order = [*indices(*term.above, *term.below), *(i for i, _ in term.box)]
        names: dict[Expr, Expr] = {i: index(f"#{n}") for n, i in enumerate(dict.fromkeys(order))}
        plain = term.at(names)
        key = plain.above, plain.below, frozenset(plain.box), plain.where, frozenset(plain.when)
        if key not in found:
            found[key] = term
            continue
        first = found[key]
        order = [*indices(*first.above, *first.below), *(i for i, _ in first.box)]
        back: dict[Expr, Expr] = {index(f"#{n}"): i for n, i in enumerate(dict.fromkeys(order))}
        found[key] = replace(first, value=combined("add", first.value, substitute(plain.value, back)))
    return list(found.values())
