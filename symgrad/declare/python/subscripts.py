"""What `x[key]` selects: the subscripts of an array, and the axes that remain."""

from __future__ import annotations

from itertools import islice
from numbers import Integral
from typing import Any

from ...errors import DeclarationError, ShapeError
from ...expr import ONE, Expr, const, is_exact, show, value_of
from ...expr.sizes import floor_divide, tidy
from ...later import of_numpy
from ...records import dataclass
from ..names import is_pack
from .arithmetic import broadcast
from .graph import Node, places_of, read, value
from .values import Traced, is_condition, size_of, traced


@dataclass(frozen=True, slots=True)
class Place:
    """A part of an array: its shape, where it stands in the array, and the nodes that the subscripts read."""

    shape: tuple[Expr, ...]
    subscripts: tuple[Expr, ...]
    nodes: tuple[Node, ...]
    lead: int


@dataclass(frozen=True, slots=True)
class _Slice:
    """An axis that remains: `start + step*i` for i below `extent`."""

    extent: Expr
    start: Expr
    step: int


def selected(x: Traced, key: Any) -> Traced:
    """`x[key]`."""
    return at(x, select_axes(x, key))


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

    parts: list[_Slice | Expr | Traced | None] = []
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
        (ONE,) if p is None else (p.extent,) if isinstance(p, _Slice) else together if n in places[:1] else ()
        for n, p in enumerate(parts)
    ]
    shape = tuple(extent for span in spans for extent in span)
    axes = iter(places_of(shape))
    own = [tuple(islice(axes, len(span))) for span in spans]
    shared = own[places[0]] if places else ()
    subscripts: list[Expr] = []
    for p, mine in zip(parts, own, strict=True):
        if isinstance(p, _Slice):
            subscripts.append(p.step * mine[0] + p.start if p.step > 0 else p.start - (-p.step) * mine[0])
        elif isinstance(p, Traced):
            nodes.append(p._node)
            subscripts.append(read(p._node, shared[len(shared) - p._node.rank :]))
        elif p is not None:
            subscripts.append(p)
    kept = sum(isinstance(p, _Slice) for p in parts[:lead])
    return Place(shape, tuple(subscripts), tuple(nodes), kept if dot == 0 else 0)


def _part(key: Any, extent: Expr) -> _Slice | Expr | Traced:
    if isinstance(key, slice):
        return _slice(key, extent)
    mask = is_condition(key) and not (isinstance(key, Traced) and key._node.free)
    if mask or of_numpy(key) and key.ndim:
        raise DeclarationError("a mask or an array of numbers cannot be a subscript; use sg.where.")
    if isinstance(key, Integral):
        literal = int(key)
        if is_exact(extent) and not -value_of(extent) <= literal < value_of(extent):
            raise ShapeError(f"subscript {literal} is outside of an axis of {show(extent)}.")
        return const(literal) if literal >= 0 else tidy(extent + literal)
    if isinstance(key, Traced):
        return key
    if isinstance(key, float):
        raise DeclarationError(f"a subscript is an integer, not {key}.")
    return traced(key)


def _slice(key: slice, extent: Expr) -> _Slice:
    if key.start is None and key.stop is None and key.step is None:
        return _Slice(extent, const(0), 1)
    if is_pack(extent):
        raise DeclarationError("`...` cannot be sliced.")
    step = 1 if key.step is None else key.step
    if not isinstance(step, int) or step == 0:
        raise DeclarationError("the step of a slice is a literal number.")
    if is_exact(extent) and all(k is None or isinstance(k, int) for k in (key.start, key.stop)):
        whole = range(int(value_of(extent)))[key]
        return _Slice(const(len(whole)), const(whole.start), step)
    if step < 0:
        if key.start is not None or key.stop is not None:
            raise DeclarationError(f"a backward slice of an axis of {show(extent)} takes no bounds.")
        start, count = extent - 1, extent
    else:
        start = _bound(key.start, extent, const(0))
        count = tidy(_bound(key.stop, extent, extent) - start)
    size = abs(step)
    return _Slice(count if size == 1 else floor_divide(tidy(count + (size - 1)), size), tidy(start), step)


def _bound(key: Any, extent: Expr, default: Expr) -> Expr:
    if key is None:
        return default
    if isinstance(key, int):
        return const(key) if key >= 0 else extent + key
    return size_of(key, "the bound of a slice")
