"""The subscripts that are taken from data, which nobody knows to be in range before the code is called."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from functools import reduce

from ..expr import (
    Apply,
    Expr,
    Index,
    Ref,
    apply,
    conjunction,
    conjuncts,
    postorder,
    ref,
    refs,
    substitute,
    transform,
    values,
)
from ..expr.sizes import equal
from ..ir import Equation, Function
from .program import Subscript


def subscripts(primal: Function) -> tuple[Subscript, ...]:
    """The integer elements that stand as subscripts; those of an order are in range by themselves.

    What stands in one branch of a `where` alone must be in range where that is selected: each element is asked for what
    is asked there of others at the same place, and for nothing else.
    """
    found: dict[tuple[Ref, Expr], dict[Expr, None] | None] = {}  # the conditions; None where there is none
    for e in primal.statements:
        for element, asked in _reads(e, primal.table):
            tensor = primal.table.get(element.name)
            for s, extent in zip(element.subscripts, tensor.shape, strict=True) if tensor else ():
                if isinstance(s, Ref) and s.name in primal.table and not _places(primal, s.name, extent):
                    conditions = found.setdefault((s, extent), {})
                    condition = _at(s, asked, primal)
                    if condition is None or conditions is None:
                        found[s, extent] = None
                    else:
                        conditions[condition] = None
    return tuple(Subscript(s, extent, _any(conditions)) for (s, extent), conditions in found.items())


def _reads(e: Equation, table: Container[str]) -> Iterator[tuple[Ref, list[Expr]]]:
    """Every element that an equation names at subscripts from data, with the conditions under which it does."""
    holding: set[Expr] = set()
    for n in postorder(e.body, *e.subscripts, *([] if e.where is None else [e.where])):
        taken = isinstance(n, Ref) and any(isinstance(s, Ref) and s.name in table for s in n.subscripts)
        if taken or any(a in holding for a in n.args):
            holding.add(n)
    always = [] if e.where is None else conjuncts(e.where)
    target = ref(e.target, *e.subscripts)
    stack: list[tuple[Expr, list[Expr]]] = [(target, always), (e.body, always)]
    stack += [] if e.where is None else [(e.where, [])]
    done: set[tuple[Expr, frozenset[Expr]]] = set()
    while stack:
        node, asked = stack.pop()
        if (node not in holding and node is not target) or (node, frozenset(asked)) in done:
            continue
        done.add((node, frozenset(asked)))
        if isinstance(node, Ref):
            yield node, asked
        if isinstance(node, Apply) and node.op == "select":
            condition, then, otherwise = node.args
            stack += [(condition, asked), (then, [*asked, *conjuncts(condition)])]
            stack += [(otherwise, [*asked, apply("not", condition)])]
        else:
            stack += [(a, asked) for a in node.args]


def _at(s: Ref, asked: list[Expr], primal: Function) -> Expr | None:
    """Of the conditions, those that ask for inputs at the place of `s`, together; None if there are none."""
    if not all(isinstance(i, Index) for i in s.subscripts) or len(set(s.subscripts)) < len(s.subscripts):
        return None

    def named(node: Expr) -> Expr:
        """What a name stands for that is computed element by element."""
        writers = primal.writers.get(node.name, ()) if isinstance(node, Ref) else ()
        if len(writers) != 1 or writers[0].reduce != "none" or not writers[0].plain or writers[0].where is not None:
            return node
        return transform(substitute(writers[0].body, dict(zip(writers[0].subscripts, node.args, strict=True))), named)

    inputs = {n for n in primal.inputs if n not in primal.optional} | {s.name}
    numbers = {o.name for o in primal.options}
    kept = [
        c
        for c in (transform(c, named) for c in asked)
        if all(r.name in numbers or r.name in inputs and r.subscripts == s.subscripts for r in refs(c))
        and not any(isinstance(n, Index) for n in values(c))
    ]
    return conjunction(kept) if kept else None


def _any(conditions: Iterable[Expr] | None) -> Expr | None:
    """The condition that one of these holds; None if one is none."""
    return None if conditions is None else reduce(lambda one, other: apply("or", one, other), conditions)


def _places(primal: Function, name: str, extent: Expr) -> bool:
    """Whether a tensor holds places along an axis of that extent, as the order of its elements does."""
    writers = primal.writers.get(name, ())
    return bool(writers) and all(
        e.matrix is not None and e.matrix.integer and equal(e.reduced[0][1], extent) for e in writers
    )
