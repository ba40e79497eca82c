"""What must hold of the sizes so that no equation reads or writes outside of a tensor.

A subscript is linear in its indices, so it is smallest and largest at the ends of the box. What follows from the way
the extents were inferred is proved here; the rest becomes a condition that the printed code checks before it starts.
What stands in a branch of a `where` is its author's: it is evaluated only where its condition holds. But an axis in
which it is read at given places has elements, unless the condition is one on places or sizes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from ..errors import ShapeError, UnsupportedError
from ..expr import ONE, ZERO, Apply, Expr, Index, Ref, apply, indices, postorder, ref, refs, show
from ..expr.sizes import at_least_zero, certain, coefficient, ends, reaches, stays_inside, tidy
from ..ir import Dtype, Equation, Tensor, dtype_of_part, show_element, unguarded


def bounds(
    name: str, equations: Sequence[Equation], tensors: Mapping[str, Tensor], options: Collection[str] = ()
) -> tuple[Expr, ...]:
    """Return the conditions on sizes and options (which may be negative), in order of appearance.

    Raises ShapeError for a subscript that is always outside, UnsupportedError for one that is computed from data and
    cannot be checked beforehand.
    """
    found: dict[Expr, None] = {}
    for e in equations:
        extents = dict(e.box)
        for extent in extents.values():
            for n in postorder(extent):
                if isinstance(n, Apply) and n.op in ("floordiv", "mod") and _asks(n.args[1], options):
                    found.setdefault(apply("ge", n.args[1], ONE))
        if e.where is not None:
            continue
        for element in (ref(e.target, *e.subscripts), *unguarded(e.body)):
            tensor = tensors.get(element.name)
            if tensor is not None:
                for axis, s in enumerate(element.subscripts):
                    data = [r.name for r in refs(s) if r.name in tensors]
                    if data:
                        _check_data(name, element, s, data[0])
                        continue
                    for step in (coefficient(s, i) for i in indices(s)):  # counted as rising: see `ends`
                        if step is not None and _asks(step, options) and apply("ge", step, ONE) not in found:
                            found.setdefault(apply("ge", step, ZERO))
                    for condition in _conditions(name, element, s, tensor.shape[axis], extents, options):
                        found.setdefault(condition, None)
        for element in (r for r in _in_branches(e.body) if r.name in tensors):
            for s, size in zip(element.subscripts, tensors[element.name].shape, strict=True):
                given = not list(refs(s)) and not any(list(refs(extents[i])) for i in indices(s))
                if given and certain(size - 1, options) is None:
                    found.setdefault(at_least_zero(size - 1))
    return tuple(found)


def _in_branches(body: Expr) -> list[Ref]:
    """What is read in the branches of a `where` whose condition says nothing of places or sizes."""
    found: dict[Ref, None] = {}
    stack, seen = [(body, False)], set[tuple[Expr, bool]]()
    while stack:
        node, within = stack.pop()
        if (node, within) in seen:
            continue
        seen.add((node, within))
        if isinstance(node, Ref) and within:
            found.setdefault(node, None)
        elif isinstance(node, Apply) and node.op == "select":
            stack += [(node.args[0], within)]
            stack += [] if _of_places(node.args[0]) else [(branch, True) for branch in node.args[1:]]
        else:
            stack += [(a, within) for a in node.args]
    return list(found)


def _of_places(condition: Expr) -> bool:
    """Whether a condition compares indices or sizes, as one that keeps a subscript inside does."""
    return any(
        dtype_of_part(n) == Dtype.BOOL
        and not any(isinstance(m, Ref) and m.subscripts or isinstance(m, Apply) and m.op == "mod" for m in postorder(n))
        for n in postorder(condition)
    )


def _asks(s: Expr, options: Collection[str]) -> bool:
    return any(r.name in options for r in refs(s))


def _check_data(name: str, element: Ref, s: Expr, data: str) -> None:
    """Refuse a subscript that is computed from `data`, and is not its element itself."""
    if not isinstance(s, Ref):
        raise UnsupportedError(
            f"{name}: the subscript {show(s)} of {show_element(element.name, element.subscripts)} is computed from "
            f"{data}; only {data} itself can be checked to stay inside. Compute the index before, "
            f"and pass it as an integer tensor."
        )


def _conditions(
    name: str, element: Ref, s: Expr, extent: Expr, extents: Mapping[Index, Expr], options: Collection[str]
) -> Iterable[Expr]:
    found = stays_inside(s, extent, extents)
    if not found and indices(s):
        margins = [m for e in (s, extent - 1 - s) for m in reaches(e, extents, options) or ()]
        found = [(m, at_least_zero(m)) for m in margins]
    for margin, condition in found:
        known = certain(margin, options)
        if known is False:
            where = show_element(element.name, element.subscripts)
            low, high = ends(s, extents) or (s, s)
            raise ShapeError(
                f"{name}: {where} is outside of {element.name}: the subscript {show(s)} runs from {show(tidy(low))} to "
                f"{show(tidy(high))} over an axis of {show(extent)}. Give the index a range in which it stays inside."
            )
        if known is None:
            yield condition
