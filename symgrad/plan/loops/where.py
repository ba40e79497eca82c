"""Loops over a box, and what a condition makes of them: limits, and tests as early as they can be decided."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence, Set
from dataclasses import replace

from ...domain import EQ, Affine, Bound, Domain, Facts, alternatives
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
    indices,
    postorder,
)
from ...expr.polynomials import polynomial
from ...ir import Equation
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
        rest = [part for part in conjuncts(e.where) if not self._is_limit(part, limits, order, outer)]
        block = (If(conjunction(rest), block),) if rest else block
        for level in range(len(box) - 1, -1, -1):
            (first, end), (i, _) = heads[level], box[level]
            block = (Loop(i, end, (*before.get(level, ()), *block), first),)
        return (*before.get(-1, ()), *block)

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

    def _is_limit(self, part: Expr, limits: Domain, order: Sequence[Index], outer: Sequence[Index]) -> bool:
        """Whether a part of the condition is a limit of one of the loops over `order`."""
        last = max((order.index(i) for i in indices(part) if i in order), default=None)
        ways = alternatives(part, self._facts)
        if last is None or len(ways) != 1:
            return False
        tested = limits.conditions(order[last], [*outer, *order[:last]])
        return all(a in limits.atoms and a not in tested for a in ways[0])


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
