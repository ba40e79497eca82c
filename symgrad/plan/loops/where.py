"""Loops over a box, and what a condition makes of them: narrower ranges, and tests as early as they can be decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from ...expr import ONE, ZERO, Apply, Expr, Index, apply, conjunction, conjuncts, indices
from ...expr.sizes import equal
from ...ir import Equation
from .data import Block, If, Loop


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


Ranges = dict[Index, tuple[Expr, Expr]]


def bounds(e: Equation, box: Sequence[tuple[Index, Expr]]) -> tuple[Ranges, Expr | None]:
    """The ranges of the loops over `box` after what `where` says about them (j <= i), and the rest of it."""
    ranges: Ranges = {i: (ZERO, extent) for i, extent in box}
    rest: Expr = ONE
    for part in conjuncts(e.where) if e.where is not None else []:
        if not _narrow(part, ranges, [i for i, _ in box], dict(e.box)):
            rest = apply("and", rest, part)
    return ranges, None if rest is ONE else rest


def _narrow(part: Expr, ranges: Ranges, order: list[Index], extents: Mapping[Index, Expr]) -> bool:
    """Put a condition between two indices into the range of the inner one; False if it is not of that form."""
    if not (isinstance(part, Apply) and part.op in _MIRROR):
        return False
    a, b = part.args
    if not (isinstance(a, Index) and isinstance(b, Index)):
        return False
    inner, outer, op = (a, b, part.op) if _depth(a, order) > _depth(b, order) else (b, a, _MIRROR[part.op])
    if inner not in ranges:
        return False
    low, high = ranges[inner]
    if op in ("ge", "gt") and low is ZERO:
        ranges[inner] = (outer if op == "ge" else outer + 1, high)
        return True
    if op in ("le", "lt") and high is extents[inner] and equal(high, extents[outer]):
        ranges[inner] = (low, outer + 1 if op == "le" else outer)
        return True
    return False


_MIRROR = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


def _depth(i: Index, order: list[Index]) -> int:
    return order.index(i) if i in order else -1


def bounded(e: Equation, box: Sequence[tuple[Index, Expr]], block: Block) -> Block:
    """Loops over `box` where the condition holds: in the ranges of the loops, or as early as it can be decided."""
    ranges, rest = bounds(e, box)
    order = [i for i, _ in box]
    tests: dict[int, Expr] = {}
    for part in conjuncts(rest) if rest is not None else []:
        level = max((_depth(i, order) for i in indices(part)), default=-1)
        tests[level] = apply("and", tests.get(level, ONE), part)
    for level in range(len(box) - 1, -1, -1):
        if level in tests:
            block = (If(tests[level], block),)
        i, _ = box[level]
        block = (Loop(i, ranges[i][1], block, ranges[i][0]),)
    return (If(tests[-1], block),) if -1 in tests else block
