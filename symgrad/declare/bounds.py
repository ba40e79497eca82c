"""What must hold of the sizes so that no equation reads or writes outside of a tensor.

A subscript is linear in its indices, so it is smallest and largest at the ends of the box. What follows from the way
the extents were inferred is proved here; the rest becomes a condition that the printed code checks before it starts.
What stands in a branch of a `where` is its author's: it is evaluated only where its condition holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..errors import ShapeError, UnsupportedError
from ..expr import Expr, Index, Ref, indices, ref, refs, show
from ..expr.sizes import at_least_zero, certain, ends, reaches, stays_inside, tidy
from ..ir import Equation, Tensor, show_element, unguarded


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
        for element in (ref(e.target, *e.subscripts), *unguarded(e.body)):
            tensor = tensors.get(element.name)
            if tensor is not None:
                for axis, s in enumerate(element.subscripts):
                    data = [r.name for r in refs(s) if r.name in tensors]
                    if data:
                        _check_data(name, element, s, data[0])
                        continue
                    for condition in _conditions(name, element, s, tensor.shape[axis], extents):
                        found.setdefault(condition, None)
    return tuple(found)


def _check_data(name: str, element: Ref, s: Expr, data: str) -> None:
    """Refuse a subscript that is computed from `data`, and is not its element itself."""
    if not isinstance(s, Ref):
        raise UnsupportedError(
            f"{name}: the subscript {show(s)} of {show_element(element.name, element.subscripts)} is computed from "
            f"{data}; only {data} itself can be checked to stay inside. Compute the index before, "
            f"and pass it as an integer tensor."
        )


def _conditions(
    name: str, element: Ref, s: Expr, extent: Expr, extents: Mapping[Index, Expr]
) -> Iterable[Expr]:
    found = stays_inside(s, extent, extents)
    if not found and indices(s):
        margins = [m for e in (s, extent - 1 - s) for m in reaches(e, extents) or ()]
        found = [(m, at_least_zero(m)) for m in margins]
    for margin, condition in found:
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
