"""Which elements an expression certainly reads, and so where it may be replaced by an element that holds its value."""

from __future__ import annotations

from collections.abc import Mapping

from ..expr import ZERO, Apply, Expr, Index, Ref, indices
from ..expr.sizes import tidy
from .data import Box, Tensor


def unguarded(body: Expr) -> list[Ref]:
    """The elements that are read wherever the body is evaluated: not those in a branch of a `where`."""
    found: dict[Ref, None] = {}
    stack = [body]
    seen: set[Expr] = set()
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if isinstance(node, Ref):
            found.setdefault(node, None)
        stack.extend(node.args[:1] if isinstance(node, Apply) and node.op == "select" else node.args)
    return list(found)


def untold(body: Expr, box: Box, table: Mapping[str, Tensor]) -> Box:
    """The part of the box that `body` does not keep to by itself.

    An index that runs along a whole axis of what is read stays in its range, whatever it is replaced by: there is
    nothing to be read outside. `x[i + 1]` says nothing of the kind.
    """
    extents = dict(box)
    told = {
        s
        for r in unguarded(body)
        if r.name in table
        for s, axis in zip(r.subscripts, table[r.name].shape, strict=True)
        if isinstance(s, Index) and s in extents and tidy(extents[s] - axis) is ZERO
    }
    return tuple((i, extent) for i, extent in box if i not in told)


def inside(found: Mapping[Expr, Expr], box: Box, extents: Mapping[Index, Expr]) -> bool:
    """Whether what the indices of `box` stand for are indices that run as far as they do."""
    for i, extent in box:
        other = found.get(i, i)
        if not isinstance(other, Index) or other not in extents or tidy(extents[other] - extent) is not ZERO:
            return False
    return True


def range_of(node: Expr, extents: Mapping[Index, Expr]) -> tuple[Expr, tuple[Expr, ...]]:
    """What makes two parts of equations the same values: the expression, and how far its indices run."""
    return node.key, tuple(extents[i].key for i in indices(node.key) if i in extents)
