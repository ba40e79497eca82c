"""Loops over a box, and what a condition makes of them: limits, and tests as early as they can be decided."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import replace

from ...domain import EQ, Affine, Bound, Domain, Facts, Opaque, alternatives
from ...expr import (
    ONE,
    ZERO,
    Apply,
    Expr,
    Index,
    Ref,
    apply,
    conjunction,
    conjuncts,
    factors,
    indices,
    postorder,
    refs,
    substitute,
)
from ...expr.polynomials import polynomial
from ...ir import Equation, Tensor
from .data import Block, If, Local, Loop, scalar


def loops(box: Sequence[tuple[Index, Expr]], block: Block) -> Block:
    """`block` inside of loops over all of the box."""
    for i, extent in reversed(box):
        block = (Loop(i, extent, block),)
    return block


def divided(condition: Expr | None, changing: Set[Index]) -> tuple[Expr | None, Expr | None]:
    """The part of a condition that is decided without the indices `changing`, and the rest."""
    parts: list[list[Expr]] = [[], []]
    for part in conjuncts(condition) if condition is not None else []:
        parts[not changing.isdisjoint(indices(part))].append(part)
    decided, rest = (conjunction(p) if p else None for p in parts)
    return decided, rest


def limited(e: Equation, facts: Facts, table: Mapping[str, Tensor], computed: Set[str]) -> Equation:
    """A reduction without the terms that a condition on places makes neutral: what is added up is
    `where(i >= 1, x[i-1], 0) * w[i]` at i >= 1 alone.

    Unless it reads what is `computed` in the same procedure, at places that are there without the condition: then one
    loop does both.
    """
    neutral = {"sum": ZERO, "prod": ONE, "max": -apply("oo"), "argmax": -apply("oo"), "min": apply("oo")}.get(e.reduce)
    if neutral is None or not e.reduced:
        return e
    found = [e.body]
    if e.reduce == "sum":
        found, _ = factors(e.body.args[0] if isinstance(e.body, Apply) and e.body.op == "neg" else e.body)
    for part in found:
        if not (isinstance(part, Apply) and part.op == "select"):
            continue
        condition, then, otherwise = part.args
        holds = otherwise.key is neutral.key
        term = then if holds else otherwise
        if not holds and then.key is not neutral.key or any(r.subscripts for r in refs(condition)):
            continue
        ways = alternatives(condition, facts, holds)
        if len(ways) != 1 or any(isinstance(a, Opaque) for a in ways[0]):
            continue
        if computed & {r.name for r in refs(e.body)} and _all_inside(term, e.domain(facts), table):
            continue
        said = condition if holds else conjunction(a.condition for a in ways[0])
        where = said if e.where is None else apply("and", e.where, said)
        body = substitute(e.body, {part: term})
        return limited(replace(e, where=where, body=body), facts, table, computed)
    return e


def _all_inside(term: Expr, domain: Domain, table: Mapping[str, Tensor]) -> bool:
    """Whether all that a term reads is there on the whole domain."""
    return all(
        domain.inside(s, axis)
        for r in refs(term)
        if r.name in table
        for s, axis in zip(r.subscripts, table[r.name].shape, strict=True)
    )


class Limits:
    """Puts conditions on places into the limits of loops.

    facts  what is known of the sizes
    name   gives a new scalar its name
    """

    def __init__(self, facts: Facts, name: Callable[[str], str]) -> None:
        self._facts = facts
        self._name = name

    def bounded(self, e: Equation, box: Sequence[tuple[Index, Expr]], block: Block) -> Block:
        """Loops over `box`, inside of loops over the other indices of `e`, where the condition holds: in the limits of
        the loops, which have names where they are no plain sizes, or tested as early as can be."""
        if e.where is None:
            return loops(box, block)
        order = [i for i, _ in box]
        outer = [i for i, _ in e.box if i not in order]
        domain = e.domain(self._facts)
        open_ = [a for a in domain.atoms if isinstance(a, Affine) and a.relation == EQ]  # one turn is no loop
        limits = replace(domain, atoms=tuple(a for a in domain.atoms if a not in open_))
        before: dict[int, list[Local]] = {}
        heads: list[tuple[Expr, ...]] = []
        for level, (i, extent) in enumerate(box):
            lower, upper = limits.bounds(i, [*outer, *order[:level]])
            given = _on(domain, [*outer, *order[:level]])
            ends = [self._at_least_zero(b, extent, given) for b in (*lower, *upper)]
            first = _folded("maximum", [end for end in ends[: len(lower)] if end is not ZERO], ZERO)
            end = _folded("minimum", ends[len(lower) :], extent)
            end = extent if end is apply("maximum", extent, ZERO) else end
            heads.append(
                (self._named(f"first_{i.name}", first, order, before), self._named(f"end_{i.name}", end, order, before))
            )
        tests = self._tests(e, limits, order, outer)
        for level in range(len(box) - 1, -1, -1):
            block = _tested(tests.get(level), (*before.get(level, ()), *block))
            (first, end), (i, _) = heads[level], box[level]
            block = (Loop(i, end, block, first),)
        return _tested(tests.get(-1), (*before.get(-1, ()), *block))

    def _at_least_zero(self, bound: Bound, extent: Expr, given: Domain) -> Expr:
        """A limit as a count: 0 where it would be negative."""
        limit = bound.limit
        if not bound.low and bound.by.number == 1 and bound.form + 1 == polynomial(extent):
            limit = extent  # as it is written
        form = polynomial(limit)
        if form is not None and (given.entails(Affine(form)) if indices(limit) else self._facts.nonnegative(form)):
            return limit
        return apply("maximum", limit, ZERO)

    def _named(self, word: str, limit: Expr, order: Sequence[Index], before: dict[int, list[Local]]) -> Expr:
        """The limit, or the scalar that holds it, computed where its last index is known."""
        if not indices(limit) and all(not isinstance(n, Apply) or n.op != "maximum" for n in postorder(limit)):
            return limit
        if all(isinstance(n, (Index, Ref)) or n in (ZERO, ONE) or _is_sum(n) for n in postorder(limit)):
            return limit
        level = max((order.index(i) for i in indices(limit) if i in order), default=-1)
        local = Local(self._name(word), limit, count=True)
        before.setdefault(level, []).append(local)
        return scalar(local.name)

    def _tests(self, e: Equation, limits: Domain, order: Sequence[Index], outer: Collection[Index]) -> dict[int, Expr]:
        """The parts of the condition that are no limits, by the loop in which each can be decided; -1 before them."""
        found: dict[int, Expr] = {}
        for part in conjuncts(e.where) if e.where is not None else []:
            inside = [i for i in order if i in indices(part)]
            if inside and self._is_limit(part, limits, inside[-1], [*outer, *order]):
                continue
            level = order.index(inside[-1]) if inside else -1
            found[level] = apply("and", found.get(level, ONE), part)
        return found

    def _is_limit(self, part: Expr, limits: Domain, last: Index, order: Sequence[Index]) -> bool:
        ways = alternatives(part, self._facts)
        inner = order[: order.index(last)]
        tested = limits.conditions(last, inner)
        return len(ways) == 1 and all(a in limits.atoms and a not in tested for a in ways[0])


def _is_sum(n: Expr) -> bool:
    return isinstance(n, Apply) and n.op == "add"


def _on(domain: Domain, outer: Collection[Index]) -> Domain:
    """What is known in loops over the indices `outer`."""
    kept = tuple(a for a in domain.atoms if a.uses <= set(outer))
    return Domain(tuple(i for i in domain.indices if i in outer), kept, domain.facts)


def _folded(op: str, ends: Sequence[Expr], none: Expr) -> Expr:
    if not ends:
        return none
    found, *others = ends
    for other in others:
        found = apply(op, found, other)
    return found


def _tested(condition: Expr | None, block: Block) -> Block:
    return block if condition is None else (If(condition, block),)
