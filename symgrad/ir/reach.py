"""Which elements an expression certainly reads, and so where it may be replaced by an element that holds its value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ..expr import ONE, Expr, Index, Ref, indices, product, refs, total
from ..expr.sizes import equal, never_negative, tidy
from .reads import unconditional

if TYPE_CHECKING:
    from .data import Box, Equation, Tensor


def unconstrained_indices(body: Expr, box: Box, table: Mapping[str, Tensor]) -> Box:
    """The part of the box that `body` does not keep to by itself.

    An index that runs along a whole axis of what is read stays in its range, whatever it is replaced by: there is
    nothing to be read outside. `x[i + 1]` says nothing of the kind.
    """
    extents = dict(box)
    told = {
        s
        for r in unconditional(body)
        if isinstance(r, Ref) and r.name in table
        for s, axis in zip(r.subscripts, table[r.name].shape, strict=True)
        if isinstance(s, Index) and s in extents and equal(extents[s], axis)
    }
    return tuple((i, extent) for i, extent in box if i not in told)


def inside(found: Mapping[Expr, Expr], box: Box, extents: Mapping[Index, Expr]) -> bool:
    """Whether what the indices of `box` stand for are indices that run as far as they do."""
    for i, extent in box:
        other = found.get(i, i)
        if not isinstance(other, Index) or other not in extents or not equal(extents[other], extent):
            return False
    return True


def range_of(node: Expr, extents: Mapping[Index, Expr]) -> tuple[Expr, tuple[Expr, ...]]:
    """What makes two parts of equations the same values: the expression, and how far its indices run."""
    return node.key, tuple(extents[i].key for i in indices(node.key) if i in extents)


def writes_once(e: Equation) -> bool:
    """Whether no two points shown write one element: every axis is at a number or at an index of its own."""
    box = dict(e.box)
    used = [i for s in e.subscripts for i in indices(s) if i in box]
    return len(set(used)) == len(used) and all(interval(e, axis) is not None for axis in range(len(e.subscripts)))


def disjoint_writes(e: Equation, others: Iterable[Equation]) -> bool:
    """Whether none of the other equations writes an element that `e` writes."""
    return all(any(_apart(e, other, axis) for axis in range(len(e.subscripts))) for other in others)


def disjoint(equations: Sequence[Equation]) -> bool:
    """Whether the equations, whatever input is present, write no element twice."""
    return all(writes_once(e) and not e.when and disjoint_writes(e, equations[:n]) for n, e in enumerate(equations))


def covers(equations: Iterable[Equation], shape: Sequence[Expr]) -> bool:
    """Whether equations that write no element twice write them all: they are as many."""
    written = total(
        product(dict(e.box)[i] for s in e.subscripts for i in indices(s)) for e in equations if e.where is None
    )
    return equal(written, product(shape))


def interval(e: Equation, axis: int) -> tuple[Expr, Expr] | None:
    """(begin, end) of where `e` writes along an axis; None if its subscript is no number and no index plus a number."""
    s, box = e.subscripts[axis], dict(e.box)
    (i, *more) = [i for i in indices(s) if i in box] or (None,)
    begin = s if i is None else tidy(s - i)
    if more or i in indices(begin) or any(r.subscripts for r in refs(begin)):
        return None
    return begin, begin + (ONE if i is None else box[i])


def _apart(e: Equation, other: Equation, axis: int) -> bool:
    mine, theirs = interval(e, axis), interval(other, axis)
    if mine is None or theirs is None:
        return False
    return never_negative(mine[0] - theirs[1]) or never_negative(theirs[0] - mine[1])
