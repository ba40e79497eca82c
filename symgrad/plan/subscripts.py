"""The subscripts that are taken from data, which nobody knows to be in range before the code is called."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from functools import reduce

from ..domain import Domain, Facts
from ..expr import (
    Apply,
    Expr,
    Index,
    Ref,
    apply,
    conjunction,
    conjuncts,
    indices,
    postorder,
    ref,
    refs,
    substitute,
    transform,
    values,
)
from ..expr.nodes import OPPOSITE
from ..expr.sizes import equal
from ..ir import Conditions, Function, distinct, evaluated, parts_of
from ..ops import OPS
from .program import Subscript


def subscripts(primal: Function) -> tuple[Subscript, ...]:
    """The integer elements that stand as subscripts; those of an order are in range by themselves.

    What stands in one branch of a `where` alone must be in range where that is selected: each element is asked for what
    is asked there of sizes, options and others at the same place, and for nothing else. One that the conditions of its
    branch keep in range is not looked at.
    """
    found: dict[tuple[Ref, Expr], dict[Expr, None] | None] = {}  # the conditions; None where there is none
    for element, asked in _elements(primal):
        for s, extent in zip(element.subscripts, primal.table[element.name].shape, strict=True):
            if isinstance(s, Ref) and s.name in primal.table and not _places(primal, s.name, extent):
                if kept_inside(s, extent, asked, primal.facts, primal.table):
                    continue
                conditions = found.setdefault((s, extent), {})
                condition = _at(s, asked, primal)
                if condition is None or conditions is None:
                    found[s, extent] = None
                else:
                    conditions[condition] = None
    of_all = {(s.name, extent): s for (s, extent), conditions in found.items() if conditions is None and _everywhere(s)}
    return tuple(
        Subscript(s, extent, _any(conditions))
        for (s, extent), conditions in found.items()
        if of_all.get((s.name, extent), s) is s
    )


def _elements(primal: Function) -> Iterator[tuple[Ref, Conditions]]:
    """Every element of a tensor that is written or read at subscripts from data, with each case in which it is."""
    for e in primal.statements:
        target = ref(e.target, *e.subscripts)
        if any(isinstance(s, Ref) and s.name in primal.table for r in (target, *e.reads) for s in r.args):
            for node, cases in evaluated([(target, e.conditions), *parts_of(e)]).items():
                if isinstance(node, Ref) and node.name in primal.table:
                    yield from ((node, case) for case in cases)


def _at(s: Ref, asked: Conditions, primal: Function) -> Expr | None:
    """Of the conditions, those that ask for inputs at the place of `s`, together; None if there are none."""
    if not distinct(s.subscripts):
        return None

    def named(node: Expr) -> Expr:
        """What a name stands for that is computed element by element."""
        writers = primal.writers.get(node.name, ()) if isinstance(node, Ref) else ()
        if len(writers) != 1 or writers[0].reduce != "none" or not writers[0].plain or writers[0].where is not None:
            return node
        return transform(substitute(writers[0].body, dict(zip(writers[0].subscripts, node.args, strict=True))), named)

    inputs = {n for n in primal.inputs if n not in primal.optional} | {s.name}
    numbers = {o.name for o in primal.options} | {d.name for d in primal.dims if not d.pack}
    def turned(node: Expr) -> Expr:
        """`t >= n` for `not t < n` of integers."""
        if isinstance(node, Apply) and node.op == "not" and isinstance(of := node.args[0], Apply) and of.op in OPPOSITE:
            return apply(OPPOSITE[of.op], *of.args) if all(map(primal.facts.integer, of.args)) else node
        return node

    kept = [
        c
        for c in (transform(transform(c, named), turned) for c in asked)
        if all(r.name in numbers or r.name in inputs and r.subscripts == s.subscripts for r in refs(c))
        and not any(isinstance(n, Index) for n in values(c))
    ]
    return conjunction(kept) if kept else None


def kept_inside(s: Ref, extent: Expr, asked: Conditions, facts: Facts, tensors: Container[str]) -> bool:
    """Whether the conditions alone keep an integer of a tensor in range.

    What is computed of given integers may overflow, and says nothing of them.
    """

    def as_given(condition: Expr) -> bool:
        applied = (n for n in postorder(condition) if isinstance(n, Apply) and OPS[n.op].result != "bool")
        return not any(r.name in tensors for n in applied for r in refs(n))

    conditions = [c for condition in asked for c in conjuncts(condition) if as_given(c)]
    everywhere = Domain((*indices(s, *conditions),), (), facts)
    return bool(conditions) and reduce(Domain.under, conditions, everywhere).inside(s, extent)


def _any(conditions: Iterable[Expr] | None) -> Expr | None:
    """The condition that one of these holds; None if one is none."""
    return None if conditions is None else reduce(lambda one, other: apply("or", one, other), conditions)


def _everywhere(s: Ref) -> bool:
    """Whether all elements of a tensor are asked, with an index for each axis."""
    return len({*s.subscripts}) == len(s.subscripts) and all(isinstance(i, Index) for i in s.subscripts)


def _places(primal: Function, name: str, extent: Expr) -> bool:
    """Whether a tensor holds places along an axis of that extent, as the order of its elements does."""
    writers = primal.writers.get(name, ())
    return bool(writers) and all(
        e.matrix is not None and e.matrix.integer and equal(e.reduced[0][1], extent) for e in writers
    )
