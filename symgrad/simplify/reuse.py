"""What is computed before is read, and not computed again: copies of gradients, values of forward, shared gradients."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from ..expr import Expr, Ref, operator, postorder, ref, size, substitute, transformer
from ..ir import (
    Box,
    Derivative,
    Equation,
    Function,
    Role,
    by_target,
    disjoint_writes,
    recurrent,
    unconstrained_indices,
    writes_once,
)
from ..ops import is_call
from .match import Finder


def without_copies(gradient: Sequence[Equation], derivative: Derivative) -> list[Equation]:
    """References to a gradient that is a copy of another are references to that other."""
    outputs, table = set(derivative.function.outputs), derivative.function.table
    writers = by_target(gradient)
    copies: dict[str, Equation] = {}
    result: list[Equation] = []
    through = transformer(partial(_through, copies=copies))
    for e in gradient:
        e = e.with_body(through(e.body)) if copies else e
        alone = len(writers[e.target]) == 1 and e.target not in outputs and isinstance(e.body, Ref)
        if alone and e.reduce == "none" and e.where is None and not e.when and e.fills(table[e.target]):
            copies[e.target] = e
            through = transformer(partial(_through, copies=copies))
        result.append(e)
    return result


def _through(node: Expr, copies: Mapping[str, Equation]) -> Expr:
    if isinstance(node, Ref) and node.name in copies:
        e = copies[node.name]
        return substitute(e.body, dict(zip(e.subscripts, node.subscripts, strict=True)))
    return node


def with_reuse(
    forward: Sequence[Equation], gradient: Sequence[Equation], joint: Function, final: bool = False
) -> list[Equation]:
    """What equals something computed before becomes a reference to it, up to the names of indices.

    Products of gradients are left to the normal form, which may find a better one, unless the equations are `final`.
    """
    finders: dict[str, list[Finder]] = {}
    for e in forward:
        if _worth_reuse(e, joint, [other for other in joint.writers[e.target] if other is not e]):
            finders.setdefault(operator(e.body), []).append(_finder(e, joint))
    result: list[Equation] = []
    writers = by_target(gradient)
    loops = recurrent(gradient)

    rewrites: dict[Box, Callable[[Expr], Expr]] = {}  # with the finders that there are

    def look(node: Expr, box: Box) -> Expr:
        for finder in finders.get(operator(node), ()):
            found = finder.at(node, box)
            if found is not None:
                return found
        return node

    for before in gradient:
        others = [other for other in writers[before.target] if other is not before]
        rewrite = rewrites.setdefault(before.box, transformer(partial(look, box=before.box)))
        e = before.with_body(rewrite(before.body)) if finders else before
        result.append(e)
        local = joint.table[e.target].role == Role.LOCAL
        few = size(e.body) < 2 if final else not any(map(is_call, postorder(e.body)))
        left = local and e.target not in loops and few
        if local and _worth_reuse(e, joint, others) and not left:
            finders.setdefault(operator(e.body), []).append(_finder(e, joint))
            rewrites.clear()
    return result


def _finder(e: Equation, joint: Function) -> Finder:
    element = ref(e.target, *e.subscripts)
    outside = unconstrained_indices(e.body, e.box, joint.table)
    return Finder(e.body, [i for i, _ in e.box], lambda found: substitute(element, found), outside)


def _worth_reuse(e: Equation, joint: Function, others: Sequence[Equation]) -> bool:
    """Whether reading the result is better than computing it again: it calls a function, reads what would have to be
    saved instead, is long, or is a local that its author named."""
    tensor = joint.table[e.target]
    if e.reduce != "none" or not writes_once(e, joint.facts) or e.where is not None or e.when or not size(e.body):
        return False
    if not disjoint_writes(e, others, joint.facts):
        return False
    calls = any(is_call(n) for n in postorder(e.body))
    local = tensor.role == Role.LOCAL and bool(tensor.shape)
    inner = any(r.name in joint.table and joint.table[r.name].role == Role.LOCAL for r in e.reads)
    return calls or local or inner or size(e.body) >= 3
