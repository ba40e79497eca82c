"""What must hold of the sizes so that no equation reads or writes outside of a tensor.

A subscript is linear in its indices, so it is smallest and largest at the ends of the box. What follows from the way
the extents were inferred is proved here; the rest becomes a condition that the printed code checks before it starts.
What stands in a branch of a `where` is its author's: it is evaluated only where its condition holds. But
where numbers alone tell at which places it is read, these are inside.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import product
from math import prod

from ..errors import ShapeError, UnsupportedError
from ..expr import (
    ONE,
    ZERO,
    Apply,
    Expr,
    Index,
    Ref,
    apply,
    const,
    indices,
    is_exact,
    postorder,
    ref,
    refs,
    show,
    substitute,
    value_of,
)
from ..expr.sizes import at_least_zero, certain, coefficient, ends, reaches, stays_inside, tidy
from ..ir import Dtype, Equation, Tensor, dtype_of_part, show_element, unguarded

Case = tuple[Expr, bool]  # a condition, and whether it holds
CASES = 8  # in which an element is read, that are looked at one by one
POINTS = 4096  # of a box, that are looked at one by one


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
        for element, cases in _in_branches(e.body):
            if element.name in tensors:
                shape = tensors[element.name].shape
                for s, size in zip(element.subscripts, shape, strict=True):
                    for margin in _at_given_places(s, size, cases, extents):
                        if certain(margin, options) is False:
                            where = show_element(element.name, element.subscripts)
                            raise ShapeError(
                                f"{name}: {where} is outside of {element.name} in a branch that reads it: "
                                f"{show(s)} leaves an axis of {show(size)}. Narrow the condition."
                            )
                        if certain(margin, options) is None:
                            found.setdefault(at_least_zero(margin))
    return tuple(found)


def _in_branches(body: Expr) -> list[tuple[Ref, tuple[Case, ...]]]:
    """What is read in the branches of a `where`, and the conditions on it: each holds, or does not.

    What is read in many cases is left out.
    """
    nodes = list(postorder(body))
    known: dict[Expr, dict[tuple[Case, ...], None]] = {body: {(): None}}
    for node in reversed(nodes):  # after all that read it
        for k, a in enumerate(node.args):
            within = known.setdefault(a, {})
            branch = isinstance(node, Apply) and node.op == "select" and k > 0
            for cases in list(known[node]) if len(within) <= CASES else ():
                within.setdefault((*cases, (node.args[0], k == 1)) if branch else cases)
    return [
        (node, cases)
        for node in nodes
        if isinstance(node, Ref) and () not in known[node] and len(known[node]) <= CASES
        for cases in known[node]
    ]


def _at_given_places(s: Expr, size: Expr, cases: Sequence[Case], extents: Mapping[Index, Expr]) -> list[Expr]:
    """What must not be negative for the subscript to stay inside in these cases, as far as numbers alone tell.

    Where its indices and those of the conditions run up to numbers, each point is looked at. Conditions on data say
    nothing of places: there is an element, then. What other conditions say of places is their author's.
    """
    if any(r.subscripts for r in refs(s)) or not all(is_exact(extents[i]) for i in indices(s)):
        return []
    if any(list(refs(c)) for c, _ in cases):
        return [] if list(refs(s)) or any(_of_places(c) for c, _ in cases) else [size - 1]
    mine = {i: extents[i] for i in indices(s, *(c for c, _ in cases))}
    if not all(is_exact(n) for n in mine.values()):
        return []
    counts = [range(int(value_of(n))) for n in mine.values()]
    if prod(map(len, counts)) > POINTS:
        return []
    least: list[Expr] = []
    for point in product(*counts):
        at: dict[Expr, Expr] = {i: const(k) for i, k in zip(mine, point, strict=True)}
        if all(bool(value_of(substitute(c, at))) == holds for c, holds in cases):
            place = substitute(s, at)
            for margin in (tidy(place), tidy(size - 1 - place)):
                if not any(is_exact(off := tidy(margin - m)) and value_of(off) >= 0 for m in least):
                    least = [*(m for m in least if not is_exact(tidy(m - margin))), margin]
    return least


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
