"""One candidate: the gradients as polynomials, with one choice of what to inline and of the values to speak in."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial

from ..expr import (
    ONE,
    ZERO,
    Apply,
    Const,
    Expr,
    Index,
    Ref,
    beside_compared,
    conjuncts,
    indices,
    is_exact,
    operator,
    postorder,
    preorder,
    ref,
    refs,
    select,
    substitute,
    transform,
)
from ..ir import (
    Box,
    Derivative,
    Equation,
    Function,
    Role,
    Tensor,
    by_target,
    inside,
    names_of,
    ordered,
    recurrent,
    unconstrained_indices,
)
from ..ops import OPS
from ..ops.row import nonzero, unguarded_divisor
from ..records import dataclass, replace
from .match import Binding, head_of, match
from .normal import UNIT, Atom, Monomial, Normal, Poly, Rational, Sum, TooLarge, inverse, mentions, plus, times, whole
from .products import Product
from .write import Writer, untied

NOMINAL = 64  # the size of every axis when candidates are compared


@dataclass(frozen=True, slots=True)
class Candidate:
    equations: tuple[Equation, ...]
    tensors: tuple[Tensor, ...]
    cost: int


class Rewriting:
    """One candidate: the gradients under one choice of what to inline and which forward values to speak in."""

    def __init__(
        self,
        derivative: Derivative,
        forward: Sequence[Equation],
        gradient: Sequence[Equation],
        inline: frozenset[str],
        bases: Sequence[Equation] = (),
    ) -> None:
        self.derivative = derivative
        self.table = derivative.function.table
        self.forward = by_target(forward)
        self.gradient = by_target(gradient)
        self.inline = inline
        self.bases = bases
        self.recurrent = recurrent((*forward, *gradient))
        self.guarded = has_domains(derivative)
        self.normal = Normal({o.name for o in derivative.function.options}, self.guarded)
        for e in forward:  # forward first: its atoms come before others, as its author wrote them
            for node in postorder(e.body):
                if not isinstance(node, Const):
                    self.normal.spelling.setdefault(node.key, node)
                    self.normal.order(node.key)
        self.ratios = dict(r for e in forward for n in postorder(e.body) if (r := self._ratio(n)) is not None)
        self._seeds = [seed for _, seed in derivative.seeds]
        self.cotangents = {*self._seeds, *self.gradient}
        self.extents = _extents(derivative.function)
        self.taken = names_of(derivative.function)
        self.cache: dict[str, tuple[tuple[Expr, ...], Box, Poly]] = {}
        self.powers = self._powers()
        self.powers_like: dict[str | None, list[tuple[Equation, Expr, Rational]]] = {}
        self.multiplied_out: dict[Atom, Poly | None] = {}
        self.spoken: dict[str, Poly] = {}  # the bodies of the bases, by their targets

    def _ratio(self, node: Expr) -> tuple[Monomial, Expr] | None:
        """x/y, where `node` is a power of it."""
        if not isinstance(node, Apply) or node.op != "pow" or operator(node.args[0]) != "div":
            return None
        found = list(self.normal.poly(node.args[0]).items())
        ((monomial, coefficient),) = found if len(found) == 1 else [(UNIT, 1)]
        both = {e > 0 for _, e in monomial} == {True, False}
        return (monomial, node.args[0]) if both and coefficient == 1 else None

    def candidate(self) -> Candidate:
        targets = self._targets()
        polys = {t: self._merged(t) for t in targets}
        polys = self._shared_products(polys)
        writer = Writer(self.normal, self._seeds, self.cotangents, self.taken, self.ratios)
        equations: list[Equation] = []
        for target, (subscripts, box, poly) in polys.items():
            if any(self._is_sum(e) for e in self.gradient[target]):
                before = len(writer.equations)
                equation = writer.equation(target, subscripts, box, poly)
                equations += [*writer.equations[before:], equation]
            for group in self._unmerged(target):
                equations += self._alone(group, writer)
        final = ordered(equations)
        tensors = (*self.table.values(), *writer.tensors)
        return Candidate(final, tuple(writer.tensors), self._cost(final, tensors))

    def _targets(self) -> list[str]:
        """The gradients to write: those of the inputs, and the intermediates that are not inlined."""
        outputs = [g for _, g in self.derivative.gradients if g in self.gradient]
        kept = [t for t in self.gradient if t not in self.inline and t not in outputs]
        inside = {  # what stands inside of another function cannot be inlined there
            r.name
            for equations in self.gradient.values()
            for e in equations
            for node in _opaque(e, self._is_sum(e), self.guarded)
            for r in refs(node)
        }
        kept += [t for t in self.gradient if t in self.inline and t in inside]
        return [t for t in self.gradient if t in kept] + outputs

    def _is_sum(self, e: Equation) -> bool:
        return e.target not in self.recurrent and is_sum(e, self.table[e.target], self.guarded)

    # polynomials

    def _inlined(self, r: Ref) -> Poly | None:
        if r.name not in self.inline:
            return None
        subscripts, _, poly = self._merged(r.name)
        return self.normal.rename(poly, dict(zip(subscripts, r.subscripts, strict=True)))

    def _merged(self, target: str) -> tuple[tuple[Expr, ...], Box, Poly]:
        """The contributions to a gradient that are plain, added up over the indices of the first of them."""
        if target in self.cache:
            return self.cache[target]
        subscripts: tuple[Expr, ...] = ()
        box: Box = ()
        result: Poly = {}
        first = True
        for e in self.gradient[target]:
            if not self._is_sum(e):
                continue
            if first:
                subscripts, box, first = e.subscripts, e.shown, False
            poly = self._reduced(e)
            result = plus(result, self.normal.rename(poly, dict(zip(e.subscripts, subscripts, strict=True))))
        if target in self.derivative.function.outputs or target not in self.inline:
            result = self._finished(result)
        self.cache[target] = subscripts, box, result
        return self.cache[target]

    def _reduced(self, e: Equation) -> Poly:
        """The polynomial of one equation; its sum is split where a term then vanishes or is known."""
        poly = self._by_result(self._counted(e))
        if not e.reduced:
            return poly
        split = self.normal.sum_over(poly, e.reduced, split=True)
        kept = {m: c for m, c in split.items() if not self._vanishes(m)}
        if len(kept) < len(split):
            return kept
        return self.normal.sum_over(poly, e.reduced, split=False)

    def _counted(self, e: Equation) -> Poly:
        """The polynomial of a body, under the guards of the equation's `where`."""
        poly = self.normal.poly(e.body if self.guarded else self._tidied(e.body), self._inlined)
        for condition in [] if e.where is None else conjuncts(e.where):
            poly = times(self.normal.atom(select(condition, ONE, ZERO)), poly)
        return self.normal.consistent(poly)

    def _tidied(self, body: Expr) -> Expr:
        """The branches of a `where`, each in normal form, also in those of another. What is compared stays as it is:
        forward has computed the same, and equal is what is rounded alike."""

        def tidy(node: Expr) -> Expr:
            if not (isinstance(node, Apply) and node.op == "select"):
                return node
            divisor = unguarded_divisor(node)
            if divisor is not None:  # what is asked stays what is divided by
                return nonzero(self._branch(divisor))
            condition, then, otherwise = node.args
            (otherwise,) = untied(condition, [otherwise])
            return select(condition, self._branch(then), self._branch(otherwise))

        return beside_compared(body, partial(transform, replace=tidy), "select")

    def _branch(self, branch: Expr) -> Expr:
        if isinstance(branch, (Const, Ref)):
            return branch
        poly = self._by_result(self.normal.poly(branch))
        return Writer(self.normal, self._seeds, self.cotangents, self.taken, self.ratios).expr(poly, self.extents)

    def _finished(self, poly: Poly) -> Poly:
        """The change of basis, and what vanishes in it."""
        for base in self.bases:
            here, elsewhere = self._domain_of(base, poly)
            poly = plus(elsewhere, self.normal.map_atoms(here, partial(self._changed, base)))
        poly = self.normal.consistent(poly)
        return {m: c for m, c in poly.items() if not self._vanishes(m)}

    def _domain_of(self, base: Equation, poly: Poly) -> tuple[Poly, Poly]:
        """The terms that count only where the value of `base` is computed, and the others."""
        asked = [] if base.where is None else [(c.key, True) for c in conjuncts(base.where)]
        mine = {m: {(c.key, holds) for c, holds in self.normal.guards(m).values()} for m in poly}
        here = {m: c for m, c in poly.items() if mine[m].issuperset(asked)}
        return here, {m: c for m, c in poly.items() if m not in here}

    def _vanishes(self, monomial: Monomial) -> bool:
        """Whether a factor is a sum of forward values alone that is identically 0."""
        for atom, exponent in self.normal.ordered(monomial):
            if not isinstance(atom, Sum) or exponent < 0 or mentions(atom, self.cotangents):
                continue
            try:
                if not self.normal.expanded({frozenset({(atom, 1)}): 1}, self._definition, self.multiplied_out):
                    return True
            except TooLarge:
                continue
        return False

    def _definition(self, atom: Expr) -> Poly | None:
        """What a forward value stands for, in the values before it."""
        if not isinstance(atom, Ref):
            return None
        equations = self.forward.get(atom.name, [])
        if len(equations) != 1 or not self._is_sum(equations[0]) or equations[0].where is not None:
            return None
        (e,) = equations
        reduced = self.normal.sum_over(self.normal.poly(e.body), e.reduced, split=True)
        return self.normal.rename(reduced, dict(zip(e.subscripts, atom.subscripts, strict=True)))

    # powers by result, change of basis

    def _powers(self) -> list[tuple[Equation, Expr, Rational]]:
        """Forward values that are one power of one thing: rstd = (var + eps)^(-1/2)."""
        found = []
        for equations in self.forward.values():
            e = equations[0]
            plain = len(equations) == 1 and self._is_sum(e) and not e.reduced and e.where is None
            if plain and isinstance(e.body, Apply):
                poly = self.normal.poly(e.body)
                if len(poly) == 1:
                    ((monomial, coefficient),) = poly.items()
                    if coefficient == 1 and len(monomial) == 1:
                        ((atom, exponent),) = monomial
                        if not isinstance(atom, Sum) and exponent != 1 and self._is_main(atom, e):
                            found.append((e, atom, exponent))
        return found

    def _by_result(self, poly: Poly) -> Poly:
        """(var + eps)^(-3/2) is rstd^3."""
        if not self.powers:
            return poly

        def change(atom: Expr, exponent: Rational) -> Poly:
            for e, base, power in self._powers_like(atom):
                if (ratio := Fraction(exponent) / power).denominator == 1 and ratio > 0:
                    found = match(base, atom, frozenset(i for i, _ in e.box))
                    if found is not None and self._keeps(found, base, e):
                        self.normal.atom(ref(e.target, *(substitute(s, found) for s in e.subscripts)))
                        value = ref(e.target, *(substitute(s, found) for s in e.subscripts))
                        return {frozenset({(value.key, whole(ratio))}): 1}
            return {frozenset({(atom, exponent)}): 1}

        return self.normal.map_atoms(poly, change)

    def _powers_like(self, atom: Expr) -> list[tuple[Equation, Expr, Rational]]:
        """The powers whose base may match an atom."""
        head = head_of(atom)
        if head not in self.powers_like:
            self.powers_like[head] = [power for power in self.powers if head_of(power[1]) in (head, None)]
        return self.powers_like[head]

    def _changed(self, e: Equation, atom: Expr, exponent: Rational) -> Poly:
        """`atom` spoken in the value z of `e`: where z = atom * others, atom is z / others."""
        same: Poly = {frozenset({(atom, exponent)}): 1}
        if e.target not in self.spoken:
            self.spoken[e.target] = self._by_result(self.normal.poly(e.body))
        poly = self.spoken[e.target]
        if len(poly) != 1 or exponent.denominator != 1:
            return same
        ((monomial, coefficient),) = poly.items()
        if coefficient != 1:
            return same
        for pivot, power in self.normal.ordered(monomial):
            if power == 1 and not isinstance(pivot, Sum) and self._is_main(pivot, e):
                found = match(self.normal.written(pivot), self.normal.written(atom), frozenset(i for i, _ in e.box))
                if found is None or any(x > 0 and not self._never_zero(a) for a, x in monomial if a is not pivot):
                    continue
                if self._keeps(found, pivot, e):
                    return self._over(e, pivot, monomial, found, exponent)
        return same

    def _keeps(self, found: Binding, pattern: Expr, e: Equation) -> bool:
        """Whether what the indices of a part of `e` stand for stays in their range."""
        return inside(found, unconstrained_indices(pattern, e.box, self.table), self.extents)

    def _over(self, e: Equation, pivot: Expr, monomial: Monomial, found: Binding, exponent: Rational) -> Poly:
        """The value of `e` divided by all of its factors but the pivot, to a power."""
        others = self.normal.rename({monomial - {(pivot, 1)}: 1}, found)
        value = self.normal.atom(ref(e.target, *(substitute(s, found) for s in e.subscripts)))
        ((m, _),) = others.items()
        result = times(value, {inverse(m): 1})
        ((m, c),) = result.items()
        return {frozenset((a, x * exponent) for a, x in m): c}

    def _is_main(self, atom: Expr, e: Equation) -> bool:
        """Whether an atom spans the whole box of `e`: the others are its scale."""
        return {i for i, _ in e.box} <= set(indices(atom))

    def _never_zero(self, atom: Atom) -> bool:
        """A negative power is never zero, nor is an exponential."""
        if isinstance(atom, Ref):
            for e in self.forward.get(atom.name, ()):
                body = e.body
                if isinstance(body, Apply) and (body.op == "exp" or (body.op == "div" and is_exact(body.args[0]))):
                    return True
        return isinstance(atom, Apply) and atom.op == "exp"

    # products that several gradients have in common

    def _shared_products(
        self, polys: dict[str, tuple[tuple[Expr, ...], Box, Poly]]
    ) -> dict[str, tuple[tuple[Expr, ...], Box, Poly]]:
        """An inlined intermediate that is one product, and stands in several places, is computed once."""
        for target in (t for t in self.gradient if t in self.inline):
            equations = self.gradient[target]
            if len(equations) != 1 or equations[0].reduce != "none" or target in polys:
                continue
            subscripts, box, poly = self._merged(target)
            if len(poly) != 1:
                continue
            ((monomial, coefficient),) = poly.items()
            if coefficient != 1 or len(monomial) < 2 or any(isinstance(a, Sum) or e != 1 for a, e in monomial):
                continue
            powers = self.normal.ordered(monomial)
            pivot = next((a for a, _ in powers if isinstance(a, Ref) and self._is_main(a, equations[0])), None)
            if pivot is None:
                continue
            if unconstrained_indices(pivot, box, self.table):
                continue
            rewriting = Product(self.normal, target, subscripts, monomial, pivot)
            replaced = {t: (s, b, rewriting.within(p)) for t, (s, b, p) in polys.items()}
            if rewriting.places >= 2:
                polys = {target: (subscripts, box, poly), **replaced}
        return polys

    # what cannot be merged

    def _unmerged(self, target: str) -> list[list[Equation]]:
        """The contributions to a gradient that are not merged into one; those to one place of one box together."""
        groups: dict[object, list[Equation]] = {}
        for place, e in enumerate(self.gradient[target]):
            if not self._is_sum(e):
                same = (e.subscripts, e.box, e.where, e.when) if e.reduce == "none" else place
                groups.setdefault(same, []).append(e)
        return list(groups.values())

    def _alone(self, group: Sequence[Equation], writer: Writer) -> list[Equation]:
        """Equations with one condition or scatter: the sum of their bodies in normal form, the rest as it was."""
        if group[0].matrix is not None:
            return list(group)
        poly: Poly = {}
        for e in group:
            poly = plus(poly, self._counted(replace(e, where=None)))
        poly = self._finished(self._by_result(poly))
        before = len(writer.equations)
        body = writer.expr(poly, dict(group[0].box))
        return [*writer.equations[before:], replace(group[0], body=body)]

    def _cost(self, equations: Sequence[Equation], tensors: Sequence[Tensor]) -> int:
        """Passes over memory, operations and distinct forward values read, at nominal sizes."""
        shapes = {t.name: t.shape for t in tensors}
        forward_reads: set[str] = set()
        cost: int = 0
        for e in equations:
            points = NOMINAL ** len(e.box)
            cost += points * (2 + 2 * _operations(e.body)) + NOMINAL ** len(e.shown)
            forward_reads |= {r.name for r in e.reads if r.name in self.forward}
        read: int = sum(2 * NOMINAL ** len(shapes[name]) for name in forward_reads if name in shapes)
        return cost + read


def has_domains(derivative: Derivative) -> bool:
    """Whether a local, or a gradient with all of its elements, is computed only where conditions on data hold."""
    function = derivative.function
    return any(
        e.where is not None
        and function.table[e.target].role != Role.OUTPUT
        and e.fills(function.table[e.target])
        and any(r.name in function.table for r in refs(e.where))
        for e in function.statements
    )


def is_sum(e: Equation, target: Tensor, guarded: bool = False) -> bool:
    """Whether the body, summed, is what every element of the target gets: it may stand where the element is read.

    guarded  also under a condition, which stands there, too
    """
    return e.reduce in ("none", "sum") and (e.where is None or guarded) and not e.when and e.fills(target)


def _opaque(e: Equation, merged: bool, guarded: bool) -> list[Expr]:
    """What the normal form does not look into: parts of the body, and the rest of an equation that is not `merged`."""
    if e.matrix is not None:
        return [e.body]

    def inside(node: Expr) -> Sequence[Expr]:
        if guarded and operator(node) == "select":
            return node.args[1:]
        return node.args if isinstance(node, Apply) and OPS[node.op].kind == "arithmetic" else ()

    met = [n for n in preorder([e.body], inside) if isinstance(n, Apply)]
    inner = [n.args[0] if inside(n) else n for n in met if operator(n) == "select" or not inside(n)]
    if not merged:
        inner += list(e.subscripts) + ([e.where] if e.where is not None else [])
    return inner


def _operations(body: Expr) -> int:
    """Operations, a call of a function counted five times."""
    return sum((1 if OPS[n.op].cheap else 5) for n in postorder(body) if isinstance(n, Apply))


def _extents(function: Function) -> dict[Index, Expr]:
    """The indices that run equally far in all equations."""
    found: dict[Index, Expr] = {}
    ambiguous: set[Index] = set()
    for e in function.statements:
        for i, extent in e.box:
            if found.setdefault(i, extent).key is not extent.key:
                ambiguous.add(i)
    return {i: extent for i, extent in found.items() if i not in ambiguous}
