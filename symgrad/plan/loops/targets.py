"""How equations write their target: which elements, and whether two of them write the same ones."""

from __future__ import annotations

from collections.abc import Collection

from ...expr import Const, Expr, Index, indices
from ...expr.sizes import equal
from ...ir import Equation, Tensor
from .data import Rewriter
from .integers import fresh_index


def pattern_of(e: Equation, tensor: Tensor) -> tuple[Expr | None, ...] | None:
    """Per axis, the literal at which `e` writes, or None where a plain index runs over all of it; None if neither."""
    pattern: list[Expr | None] = []
    extents = dict(e.box)
    seen: set[Expr] = set()
    for s, size in zip(e.subscripts, tensor.shape, strict=True):
        if isinstance(s, Const):
            pattern.append(s)
        elif isinstance(s, Index) and s not in seen and equal(extents[s], size):
            seen.add(s)
            pattern.append(None)
        else:
            return None
    return tuple(pattern)


def leads(e: Equation, tensor: Tensor, axis: int) -> bool:
    """Whether an index of its own runs over all of that axis of the target."""
    s = e.subscripts[axis]
    others = (*e.subscripts[:axis], *e.subscripts[axis + 1 :])
    return isinstance(s, Index) and s not in indices(*others) and equal(dict(e.box)[s], tensor.shape[axis])


def aligned(e: Equation, first: Equation, names: Collection[str], axes: int | None = None) -> Equation:
    """`e` with its target's indices named as in `first`, and its others not as anything in `names`."""
    pairs = list(zip(e.subscripts, first.subscripts, strict=True))[:axes]
    renamed: dict[Expr, Expr] = {a: b for a, b in pairs if isinstance(a, Index) and isinstance(b, Index)}
    taken = {*names, *(i.name for i, _ in (*e.box, *first.box))}
    for i, _ in e.box:
        if i not in renamed and i in renamed.values():
            renamed[i] = fresh_index(taken)
    return (
        Rewriter(lambda node: renamed.get(node, node)).equation(e) if any(a is not b for a, b in renamed.items()) else e
    )
