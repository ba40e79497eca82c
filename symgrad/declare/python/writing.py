"""What an assignment makes of an array: `y[1:] = x`, `y[0, 2] = 3`, `y[mask] = 0`. A node never changes: the array
after the assignment is another one, in which the elements at the key are new.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product as combinations
from typing import Any

from ...errors import DeclarationError
from ...expr import ONE, ZERO, Expr, apply, conjunction, const, is_exact, substitute, value_of
from ...expr.sizes import tidy
from ...later import np
from .arithmetic import broadcast, elementwise, expand, fitted
from .graph import Pieces, axes_of, places_of, read, value
from .scope import current
from .subscripts import Place, Slice, is_list, literal_place, select_axes, selected
from .values import Traced, is_condition, traced

MOST_CELLS = 256  # of an array that is put together of what was assigned to each


def overwritten(x: Traced, key: Any, new: Any) -> Traced:
    """`x` after `x[key] = new`."""
    keys = key if isinstance(key, tuple) else (key,)
    if x._node.free:
        raise DeclarationError("a term has no elements to assign to. Start an array with sg.tensor.new.")
    if len(keys) == 1 and is_condition(keys[0]):
        return _masked(x, keys[0], traced(new))
    if len(keys) == 1 and is_list(keys[0]):
        return _each(x, keys[0], new)
    cells = _cells(x, keys)
    if cells:
        at = literal_place(keys, cells)
        assert at is not None
        rest = keys[len(at) :]
        return _assembled({**cells, at: overwritten(cells[at], rest, new) if rest else _stretched(new, cells[at])})
    place = select_axes(x, key)
    body = fitted(traced(new), place.shape, place.lead, "the assignment")
    axes = axes_of(x._node.shape)
    condition, moved = _where(place, x._node.shape)
    chosen = substitute(body, moved)
    if condition is not ONE:
        chosen = apply("select", condition, chosen, read(x._node, axes))
    return Traced(value(x._node.shape, chosen, [x._node, traced(new)._node, *place.nodes]), x._lead)


def _each(x: Traced, places: Any, new: Any) -> Traced:
    """`x` after `x[[0, 2]] = new`, one place after the other."""
    places, given = np.asarray(places), traced(new)
    if places.dtype.kind == "b":
        (places,) = np.nonzero(places)
    if places.ndim != 1 or places.dtype.kind not in "iu":
        raise DeclarationError("a list in an assignment is one of integers.")
    own = given._node.rank == x._node.rank and given._node.shape[0] is not ONE
    for n, k in enumerate(places.tolist()):
        x = overwritten(x, k, selected(given, n) if own else given)
    return x


def _masked(x: Traced, mask: Any, new: Traced) -> Traced:
    if new._node.rank:
        raise DeclarationError("behind x[mask] = stands a number here; of arrays, x = np.where(mask, other, x).")
    shape, _ = broadcast([x, traced(mask)], "the mask")
    if len(shape) != x._node.rank or traced(mask)._node.rank != x._node.rank:
        raise DeclarationError(f"a mask of {traced(mask)!r} does not have the axes of {x!r}.")
    return elementwise("select", mask, new, x)


def _stretched(new: Any, cell: Traced) -> Traced:
    """What is assigned to a cell, in its shape."""
    shape = cell._node.shape
    body = fitted(traced(new), shape, cell._lead, "the assignment")
    return Traced(value(shape, body, [traced(new)._node]), cell._lead)


def _cells(x: Traced, keys: Sequence[Any]) -> Mapping[tuple[int, ...], Traced]:
    """The values that the array is put together of, where one of them is named by literal integers."""
    scope = current()
    if scope is None:
        return {}
    known: Mapping[tuple[int, ...], Traced] = scope.cells.get(x._node.serial, {})
    if known:
        return known if literal_place(keys, known) is not None else {}
    count, extents = 1, []
    for k, extent in zip(keys, x._node.shape, strict=False):
        if not is_exact(extent) or not isinstance(k, int) or isinstance(k, bool):
            break
        extents.append(int(value_of(extent)))
        count *= extents[-1]
    if not extents or count > MOST_CELLS:
        return {}
    return {place: selected(x, place) for place in combinations(*map(range, extents))}


def _assembled(cells: Mapping[tuple[int, ...], Traced]) -> Traced:
    """The array of these values, which its elements are read off again."""
    shape, lead = broadcast(list(cells.values()), "an assignment")
    extents = tuple(const(1 + max(axis)) for axis in zip(*cells, strict=True))
    made = Pieces(shape=(*extents, *shape), wish="written")
    for place, cell in cells.items():
        box = dict(zip(axes_of(shape), shape, strict=True))
        made.write([*map(const, place), *places_of(shape)], expand(cell, shape), box, [cell._node], adds=False)
    scope = current()
    assert scope is not None and not lead
    scope.cells[made.serial] = cells
    return Traced(made)


def _where(place: Place, shape: Sequence[Expr]) -> tuple[Expr, dict[Expr, Expr]]:
    """When an element of the array is one of the place, and which one, in the indices of the array."""
    conditions: list[Expr] = []
    moved: dict[Expr, Expr] = {}
    axes, mine = iter(zip(places_of(shape), shape, strict=True)), iter(axes_of(place.shape))
    for part in place.parts:
        if part is None:
            moved[next(mine)] = ZERO
            continue
        i, extent = next(axes)
        if isinstance(part, Traced):
            raise DeclarationError(
                "which elements are assigned to, data tells: write out = sg.tensor.new(...), out[t[i]] += x[i], with "
                "i of sg.indices."
            )
        if not isinstance(part, Slice):
            conditions.append(apply("eq", i, part))
            continue
        step, first, last = part.step, part.start, tidy(part.start + part.step * (part.extent - 1))
        low, high = (first, last) if step > 0 else (last, first)
        conditions += [apply("ge", i, low)] if low is not ZERO else []
        conditions += [apply("le", i, high)] if tidy(high + 1 - extent) is not ZERO else []
        distance = i - low if low is not ZERO else i
        if abs(step) > 1:
            conditions.append(apply("eq", apply("mod", distance, const(abs(step))), ZERO))
            distance = apply("floordiv", distance, const(abs(step)))
        moved[next(mine)] = distance if step > 0 else part.extent - 1 - distance
    same = {k: v for k, v in moved.items() if k is not v}
    return conjunction(conditions), same
