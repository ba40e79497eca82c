"""What must hold of the sizes so that no equation reads or writes outside of a tensor.

A subscript is linear in its indices, so it is smallest and largest at the ends of the box. What follows from the way
the extents were inferred is proved here; the rest becomes a condition that the printed code checks before it starts.
What stands in a branch of a `where` is its author's: it is evaluated only where its condition holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..errors import ShapeError, UnsupportedError
from ..expr import Apply, Expr, Index, Ref, ref, refs, show
from ..expr.sizes import certain, ends, stays_inside, tidy
from ..ir import Equation, Tensor, show_element


def bounds(name: str, equations: Sequence[Equation], tensors: Mapping[str, Tensor]) -> tuple[Expr, ...]:
    """Return the conditions on sizes and options, in order of appearance.

    Raises ShapeError for a subscript that is always outside, UnsupportedError for one that is computed from data and
    cannot be checked beforehand.
    """
    found: dict[Expr, None] = {}
    for e in equations:
        if e.where is not None:
            continue
        extents = dict(e.box)
        for element in (ref(e.target, *e.subscripts), *_unguarded(e.body)):
            tensor = tensors.get(element.name)
            if tensor is not None:
                for axis, s in enumerate(element.subscripts):
                    for condition in _conditions(name, element, s, tensor.shape[axis], extents):
                        found.setdefault(condition, None)
    return tuple(found)


def _unguarded(body: Expr) -> list[Ref]:
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


def _conditions(
    name: str, element: Ref, s: Expr, extent: Expr, extents: Mapping[Index, Expr]
) -> Iterable[Expr]:
    data = [r for r in refs(s) if r.subscripts]
    if data:
        if not isinstance(s, Ref):
            raise UnsupportedError(
                f"{name}: the subscript {show(s)} of {show_element(element.name, element.subscripts)} is computed from "
                f"{data[0].name}; only {data[0].name} itself can be checked to stay inside. Compute the index before, "
                f"and pass it as an integer tensor."
            )
        return
    for margin, condition in stays_inside(s, extent, extents):
        known = certain(margin)
        if known is False:
            where = show_element(element.name, element.subscripts)
            low, high = ends(s, extents) or (s, s)
            raise ShapeError(
                f"{name}: {where} is outside of {element.name}: the subscript {show(s)} runs from {show(tidy(low))} to "
                f"{show(tidy(high))} over an axis of {show(extent)}. Give the index a range in which it stays inside."
            )
        if known is None:
            yield condition
