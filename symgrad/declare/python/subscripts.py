"""What `x[key]` selects: the subscripts of an array, and the axes that remain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice, pairwise
from numbers import Integral
from typing import Any

from ...errors import DeclarationError, ShapeError
from ...expr import ONE, Expr, const, is_exact, show, value_of
from ...expr.names import is_pack
from ...expr.sizes import floor_divide, tidy
from ...later import np, of_numpy
from ...records import dataclass
from . import joining
from .arithmetic import broadcast
from .graph import Node, axes_of, places_of, read, value
from .scope import current
from .values import Traced, is_condition, size_of, traced


@dataclass(frozen=True, slots=True)
class Place:
    """A part of an array: its shape, where it stands in the array, and the nodes that the subscripts read.

    parts  what selects it, one for each axis of the array, and None for a new one
    """

    shape: tuple[Expr, ...]
    subscripts: tuple[Expr, ...]
    nodes: tuple[Node, ...]
    lead: int
    parts: tuple[Slice | Expr | Traced | None, ...]


@dataclass(frozen=True, slots=True)
class Slice:
    """An axis that remains: `start + step*i` for i below `extent`."""

    extent: Expr
    start: Expr
    step: int


def selected(x: Traced, key: Any) -> Traced:
    """`x[key]`."""
    keys, scope = key if isinstance(key, tuple) else (key,), current()
    if any(map(is_list, keys)):
        if not any(isinstance(k, Traced) and k._node.rank for k in keys):
            return _picked(x, keys)
        return _beside_tensors(x, keys)
    cells = scope.cells.get(x._node.serial) if scope is not None else None
    if cells and (place := literal_place(keys, cells)) is not None:
        cell, rest = cells[place], keys[len(place) :]
        return selected(cell, rest) if rest else cell
    return at(x, select_axes(x, key))


def literal_place(keys: Sequence[Any], cells: Mapping[tuple[int, ...], Traced]) -> tuple[int, ...] | None:
    """The place of the cell that the first of the keys name; None if they are no literal integers, or leave the array,
    which an error tells elsewhere."""
    shape = [1 + max(axis) for axis in zip(*cells, strict=True)]
    firsts = keys[: len(shape)]
    if len(firsts) < len(shape) or not all(isinstance(k, Integral) and not isinstance(k, bool) for k in firsts):
        return None
    place = tuple(int(k) + n if k < 0 else int(k) for k, n in zip(firsts, shape, strict=True))
    return place if place in cells else None


def is_list(key: Any) -> bool:
    """Whether a key is an array of plain integers or of truth values."""
    return isinstance(key, (list, range)) or of_numpy(key) and bool(key.ndim) and key.dtype.kind in "biu"


def _picked(x: Traced, keys: Sequence[Any]) -> Traced:
    """`x[[0, 2]]`: a slice where the integers are evenly spaced, else the parts put together."""
    places = [n for n, k in enumerate(keys) if is_list(k)]
    given = [np.asarray(keys[n]) for n in places]
    given = [m for k in given for m in (np.nonzero(k) if k.dtype.kind == "b" else [k])]
    if any(k.dtype.kind not in "iu" for k in given):
        raise DeclarationError("a list in a subscript is one of integers, or of True and False.")
    lists = np.broadcast_arrays(*given)
    if places[-1] - places[0] >= len(places) or len(lists) > len(places) or not lists[0].size:
        raise DeclarationError("lists in a subscript stand side by side, each for one axis, and are not empty.")
    if len(lists) == 1 and (run := _evenly(lists[0])) is not None:
        for end in (run.start, int(lists[0][-1])):  # where the array has none, a slice ends early
            selected(x, tuple(end if n == places[0] else k for n, k in enumerate(keys)))
        return selected(x, tuple(run if n == places[0] else k for n, k in enumerate(keys)))
    at, after = places[0], keys[places[-1] + 1 :]
    behind = [k for k in keys[at:] if k is None or isinstance(k, slice)]
    dots = [n for n, k in enumerate(keys) if k is Ellipsis]
    each = zip(*map(np.ravel, lists), strict=True)
    parts = [selected(x, (*keys[:at], *(int(k) for k in place), *after)) for place in each]
    if dots and dots[0] < at:
        axis = parts[0]._node.rank - len(behind)
    else:
        axis = sum(k is None or isinstance(k, slice) for k in keys[:at])
    axes = [axis - parts[0]._node.rank - 1] * lists[0].ndim
    for axis, count in zip(axes, reversed(lists[0].shape), strict=True):
        parts = [joining.stack(parts[k : k + count], axis) for k in range(0, len(parts), count)]
    return parts[0]


def _beside_tensors(x: Traced, keys: Sequence[Any]) -> Traced:
    """`x[[0, 3], t]` as `x[[0, 3]][np.arange(2), t]`: a list selects together with an integer tensor."""
    own = list(keys)
    for n, k in enumerate(keys):
        if not is_list(k):
            continue
        numbers = np.asarray(k)
        if numbers.dtype.kind == "b" or not numbers.size:
            raise DeclarationError("a list beside an integer tensor in a subscript is one of integers, and not empty.")
        run = _evenly(numbers)
        if run is None:
            axes = [(m, o if o is Ellipsis else slice(None)) for m, o in enumerate(keys) if o is not None]
            x = _picked(x, tuple(numbers.ravel() if m == n else o for m, o in axes))
        first, step = (0, 1) if run is None else (run.start, run.step)
        count: Expr = const(0)
        for extent, place in zip(numbers.shape, axes_of(shape := [*map(const, numbers.shape)]), strict=True):
            count = count * extent + place
        own[n] = Traced(value(shape, step * count + first))
    return selected(x, tuple(own))


def _evenly(places: np.ndarray) -> slice | None:
    """The slice that has these places, where there is one whatever the length of the axis."""
    steps = {int(b - a) for a, b in pairwise(places.tolist())} if places.ndim == 1 else {0}
    if len(places) == 1:
        steps = {1}
    if len(steps) > 1 or 0 in steps or (places < 0).any():
        return None
    step, first, last = steps.pop(), int(places[0]), int(places[-1])
    stop = last + (1 if step > 0 else -1)
    return slice(first, None if stop < 0 else stop, step)


def at(x: Traced, place: Place) -> Traced:
    """The part of `x` there."""
    return Traced(value(place.shape, read(x._node, place.subscripts), [x._node, *place.nodes]), place.lead)


def select_axes(x: Traced, key: Any) -> Place:
    """Read a key of integers, sizes, loop indices, slices, None, `...` and integer tensors."""
    node, lead = x._node, x._lead
    keys = list(key) if isinstance(key, tuple) else [key]
    taken = sum(k is not None and k is not Ellipsis for k in keys)
    dots = [n for n, k in enumerate(keys) if k is Ellipsis]
    if len(dots) > 1:
        raise DeclarationError("a subscript has `...` twice.")
    if lead and dots[:1] != [0]:
        raise DeclarationError(f"{x!r} has `...` in front; its subscript starts with it: x[..., 0].")
    if taken > node.rank - lead:
        raise ShapeError(f"{taken} subscripts for {x!r}.")
    dot = dots[0] if dots else len(keys)
    keys[dot : dot + 1] = [slice(None)] * (node.rank - taken)

    parts: list[Slice | Expr | Traced | None] = []
    nodes: list[Node] = []
    extents = iter(node.shape)
    for k in keys:
        part = None if k is None else _part(k, next(extents))
        if isinstance(part, Traced) and not part._node.rank:
            nodes.append(part._node)
            part = read(part._node, ())
        parts.append(part)
    tensors = [(n, p) for n, p in enumerate(parts) if isinstance(p, Traced)]
    places = [n for n, _ in tensors]
    if places and [n for n in range(places[0], places[-1] + 1) if n not in places and not isinstance(parts[n], Expr)]:
        raise DeclarationError("integer tensors in a subscript must stand side by side.")
    together, _ = broadcast([p for _, p in tensors], "the subscript")

    spans = [
        (ONE,) if p is None else (p.extent,) if isinstance(p, Slice) else together if n in places[:1] else ()
        for n, p in enumerate(parts)
    ]
    shape = tuple(extent for span in spans for extent in span)
    axes = iter(places_of(shape))
    own = [tuple(islice(axes, len(span))) for span in spans]
    shared = own[places[0]] if places else ()
    subscripts: list[Expr] = []
    for p, mine in zip(parts, own, strict=True):
        if isinstance(p, Slice):
            subscripts.append(p.step * mine[0] + p.start if p.step > 0 else p.start - (-p.step) * mine[0])
        elif isinstance(p, Traced):
            nodes.append(p._node)
            subscripts.append(read(p._node, shared[len(shared) - p._node.rank :]))
        elif p is not None:
            subscripts.append(p)
    kept = sum(isinstance(p, Slice) for p in parts[:lead])
    return Place(shape, tuple(subscripts), tuple(nodes), kept if dot == 0 else 0, tuple(parts))


def _part(key: Any, extent: Expr) -> Slice | Expr | Traced:
    if isinstance(key, slice):
        return _slice(key, extent)
    mask = is_condition(key) and not (isinstance(key, Traced) and key._node.free)
    if mask:
        raise DeclarationError(
            "a mask selects as many elements as it holds at, and the shapes of a formula are known. Write "
            "np.where(mask, x, 0), which np.sum adds up, and for x[mask] += 1 x = np.where(mask, x + 1, x)."
        )
    if isinstance(key, Integral):
        literal = int(key)
        if is_exact(extent) and not -value_of(extent) <= literal < value_of(extent):
            raise ShapeError(f"subscript {literal} is outside of an axis of {show(extent)}.")
        return const(literal) if literal >= 0 else tidy(extent + literal)
    if isinstance(key, Traced):
        return key
    if isinstance(key, float) or of_numpy(key) and key.dtype.kind not in "biu":
        raise DeclarationError(f"a subscript is of integers, not {key!r}.")
    return traced(key)


def _slice(key: slice, extent: Expr) -> Slice:
    if key.start is None and key.stop is None and key.step is None:
        return Slice(extent, const(0), 1)
    if is_pack(extent):
        raise DeclarationError("`...` cannot be sliced.")
    step = 1 if key.step is None else key.step
    if not isinstance(step, (int, np.integer)) or step == 0:
        raise DeclarationError("the step of a slice is a literal number.")
    if is_exact(extent) and all(k is None or isinstance(k, int) for k in (key.start, key.stop)):
        whole = range(int(value_of(extent)))[key]
        return Slice(const(len(whole)), const(whole.start), int(step))
    if step < 0:
        start = tidy(_bound(key.start, extent, extent - 1))
        count = tidy(start - _bound(key.stop, extent, const(-1)))
    else:
        start = _bound(key.start, extent, const(0))
        count = tidy(_bound(key.stop, extent, extent) - start)
    step = int(step)
    size = abs(step)
    return Slice(count if size == 1 else floor_divide(tidy(count + (size - 1)), size), tidy(start), step)


def _bound(key: Any, extent: Expr, default: Expr) -> Expr:
    if key is None:
        return default
    if isinstance(key, (int, np.integer)):
        return const(int(key)) if key >= 0 else extent + int(key)
    return size_of(key, "the bound of a slice")
