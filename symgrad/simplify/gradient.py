"""Rewrites on the gradients: reuse what forward computes, inline, cancel, factor; the cheapest of several forms.

Every candidate is the same rewriting under two choices: which gradient intermediates are written in place (few: only
copies and what is used once; or all), and in which forward value the gradients are spoken (`xhat` instead of
`centered`). Candidates are compared at nominal sizes, and the first of the cheapest is taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..expr import (
    Apply,
    Ref,
    postorder,
    size,
)
from ..ir import Derivative, Equation, alive, by_target, recurrent
from .normal import TooLarge
from .reuse import with_reuse, without_copies
from .rewriting import Candidate, Rewriting, is_sum

CANDIDATES = 8
LARGE = 150  # operations in one equation; a longer straight line is only cleaned, in linear time


def simplify(derivative: Derivative) -> Derivative:
    """Return the same derivative with the gradients in the cheapest form found, and without dead equations."""
    joint = derivative.function
    forward = derivative.primal.statements
    gradient: Sequence[Equation] = derivative.equations
    gradient = with_reuse(forward, without_copies(gradient, derivative), joint)
    large = any(size(e.body) > LARGE for e in gradient)
    candidates = [] if large else list(_candidates(derivative, forward, gradient))
    best = min(candidates, key=lambda c: c.cost) if candidates else Candidate(tuple(gradient), (), 0)
    outputs = (*joint.outputs,)
    statements = alive((*forward, *best.equations), outputs)
    named = {t.name: t for t in (*joint.tensors, *best.tensors)}
    kept = {e.target for e in statements} | set(joint.inputs) | set(outputs)
    tensors = tuple(t for t in named.values() if t.name in kept)
    return replace(derivative, function=replace(joint, statements=statements, tensors=tensors))


# candidates


def _candidates(
    derivative: Derivative, forward: Sequence[Equation], gradient: Sequence[Equation]
) -> Iterator[Candidate]:
    few = _used_once(derivative, gradient)
    every = _mergeable(derivative, gradient)
    inlines = [few] if few == every else [few, every]
    bases: list[Equation | None] = [None, *_bases(derivative, forward)]
    tried = 0
    for base in bases:
        for inline in inlines:
            if tried < CANDIDATES:
                tried += 1
                try:
                    yield Rewriting(derivative, forward, gradient, inline, base).candidate()
                except TooLarge:
                    continue


def _mergeable(derivative: Derivative, gradient: Sequence[Equation]) -> frozenset[str]:
    """The gradient intermediates that are a sum over whole equations, and may be written in place."""
    outputs, table = set(derivative.function.outputs), derivative.function.table
    kept = outputs | recurrent(gradient)
    return frozenset(
        target
        for target, equations in by_target(gradient).items()
        if target not in kept and all(is_sum(e, table[target]) for e in equations)
    )


def _used_once(derivative: Derivative, gradient: Sequence[Equation]) -> frozenset[str]:
    """Those of them that are elementwise and used once, a copy times a number, or a sum whose one reader is not itself
    summed: its sign and factors then join the reader's."""
    uses: dict[str, int] = {}
    summed: set[str] = set()
    for e in gradient:
        for node in postorder(*e.expressions):
            if isinstance(node, Ref):
                uses[node.name] = uses.get(node.name, 0) + 1
                if e.reduced:
                    summed.add(node.name)
    writers = by_target(gradient)
    return frozenset(
        t
        for t in _mergeable(derivative, gradient)
        if (uses.get(t, 0) == 1 and (t not in summed or all(e.reduce == "none" for e in writers[t])))
        or all(e.reduce == "none" and isinstance(e.body, Ref) for e in writers[t])
    )


def _bases(derivative: Derivative, forward: Sequence[Equation]) -> list[Equation]:
    """Forward values z = a * b^k in which gradients might be spoken: elementwise, a product of at least two factors."""
    table = derivative.function.table
    found = []
    loops = recurrent(forward)
    for e in forward:
        single = len(derivative.primal.writers[e.target]) == 1 and e.target not in loops
        if single and e.reduce == "none" and is_sum(e, table[e.target]) and table[e.target].shape:
            if isinstance(e.body, Apply) and e.body.op in ("mul", "div") and len(e.box) > 0:
                found.append(e)
    return found
