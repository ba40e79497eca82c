"""NumPy's functions that move elements, with NumPy's arguments; what NumPy means by a default is meant here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from ...errors import DeclarationError, ShapeError
from ...expr import ONE, ZERO, Expr, apply, is_exact, show, value_of
from ...expr.sizes import equal, floor_divide, tidy
from . import joining
from .arithmetic import elementwise, fitted
from .graph import Pieces, axes_of, constant, packs_in, places_of, read, value
from .reshaping import permuted, reshape, swapaxes
from .subscripts import selected
from .values import Axis, Traced, axis_of, only_from_end, reduced_axes, reread, size_of, traced, written


def _keyed(x: Traced, keys: dict[int, Any]) -> Traced:
    """`x[...]` with these keys, all of a kind, for some of its axes; those that `...` takes may be among them."""
    part = _subscripted(x, [keys.get(a, slice(None)) for a in range(x._node.rank)])
    more = part._node.rank - x._node.rank  # axes, for each key alike
    return Traced(part._node, x._lead + more * sum(a < x._lead for a in keys) // max(len(keys), 1))


def _subscripted(x: Traced, keys: Sequence[Any]) -> Traced:
    """`x[keys]`, one key for each axis; a pack is left as it is."""
    packs = packs_in(x._node.shape)
    return selected(Traced(x._node, packs), (..., *keys[packs:]) if packs else tuple(keys))


def along(x: Traced, axis: int, key: Any) -> Traced:
    return _keyed(x, {axis_of(x, axis): key})


def sized(x: Traced, shape: Sequence[Expr]) -> Traced:
    return reshape(x, *(Traced(constant(e)) for e in shape))


def flat(a: Any) -> Traced:
    """All elements on one axis."""
    a = traced(a)
    if not a._node.rank:
        return selected(a, None)
    return a if a._node.rank == 1 and not a._lead else reshape(a, -1)


# axes


def expand_dims(a: Any, axis: Axis) -> Traced:
    a = traced(a)
    new = [axis] if isinstance(axis, int) else list(axis or ())
    rank, packs = a._node.rank + len(new), packs_in(a._node.shape)
    places = {k % rank for k in new}
    front = any(k >= 0 for k in new) and only_from_end(a._node.shape, a._lead)
    if front or any(not -rank <= k < rank for k in new) or len(places) < len(new) or any(k < packs for k in places):
        raise DeclarationError(f"np.expand_dims, axis {axis}, of {a!r}, which has {rank} axes then.")
    part = _subscripted(a, [None if k in places else slice(None) for k in range(rank)])
    old = [k for k in range(rank) if k not in places]
    return Traced(part._node, old[a._lead - 1] + 1 if a._lead else 0)


def squeeze(a: Any, axis: Axis) -> Traced:
    a = traced(a)
    gone = reduced_axes(a, axis)
    loose = [a._node.shape[k] for k in gone if a._node.shape[k] is not ONE]
    if loose or axis is None:
        what = f"axis {axis} of {show(loose[0])}" if loose else "every axis of length 1"
        raise ShapeError(f"np.squeeze takes axes of literal size 1 by their numbers, not {what}.")
    return _keyed(a, dict.fromkeys(gone, 0))


def moveaxis(a: Any, source: Any, destination: Any) -> Traced:
    a = traced(a)
    moved, there = (
        [axis_of(a, k) for k in ([some] if isinstance(some, int) else some)] for some in (source, destination)
    )
    order = [k for k in range(a._node.rank) if k not in moved]
    for place, k in sorted(zip(there, moved, strict=True)):
        order.insert(place, k)
    return permuted(a, order, a._lead)


def flip(m: Any, axis: Axis = None) -> Traced:
    m = traced(m)
    return _keyed(m, dict.fromkeys(reduced_axes(m, axis), slice(None, None, -1)))


def roll(a: Any, shift: Any, axis: Any = None) -> Traced:
    a = traced(a)
    if axis is None:
        return sized(roll(flat(a), shift, 0), a._node.shape)
    pairs = zip(shift, axis, strict=True) if isinstance(axis, (tuple, list)) else [(shift, axis)]
    shape = a._node.shape
    places: list[Expr] = list(axes_of(shape))
    for by, k in pairs:
        at = axis_of(a, k)
        places[at] = apply("mod", tidy(places[at] - read(traced(by)._node, ())), shape[at])
    return reread(a, shape, places)


def _where_of(compare: str, m: Any, k: int) -> Traced:
    """A matrix where its column compares so with its row plus `k`, else 0."""
    m = traced(m)
    if m._node.rank - m._lead < 2:
        raise ShapeError(f"a triangle is of a matrix, not of {m!r}.")
    *_, i, j = axes_of(m._node.shape)
    return elementwise("select", Traced(value(m._node.shape[-2:], apply(compare, j, i + k))), m, 0)


def tril(m: Any, k: int = 0) -> Traced:
    return _where_of("le", m, k)


def triu(m: Any, k: int = 0) -> Traced:
    return _where_of("ge", m, k)


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Traced:
    a = traced(a)
    shape = a._node.shape
    places = {k % len(shape) for k in (axis1, axis2)} if len(shape) > 1 else set()
    if offset or places != {len(shape) - 2, len(shape) - 1} or not equal(*shape[-2:]):
        raise ShapeError(
            f"a diagonal is that of square matrices in the last two axes (axis1=-2, axis2=-1), not of {a!r}."
        )
    *front, i = axes_of(shape[:-1])
    return reread(a, shape[:-1], [*front, i, i])


def diag(v: Any, k: int = 0) -> Traced:
    v = traced(v)
    if v._node.rank != 1 or k:
        return diagonal(v, k)
    (i,) = places_of(v._node.shape)
    made = Pieces(shape=v._node.shape * 2, wish="diagonal")
    return written(made, [i, i], read(v._node, [i]), v._node.shape, [v._node])


def ones_of(number: Any, a: Any) -> Traced:
    """An array with the shape of `a` and one number in it."""
    a = traced(a)
    return Traced(value(a._node.shape, read(traced(number)._node, ()), [traced(number)._node]), a._lead)


def broadcast_to(array: Any, shape: Any) -> Traced:
    array = traced(array)
    extents = [size_of(e, "a shape") for e in (shape if isinstance(shape, (tuple, list)) else (shape,))]
    return Traced(value(extents, fitted(array, extents, array._lead, "np.broadcast_to"), [array._node]), array._lead)


def repeat(a: Any, repeats: Any, axis: int | None = None) -> Traced:
    x: Traced = flat(a) if axis is None else traced(a)
    at = axis_of(x, axis or 0)
    return _copies(x, {at: size_of(repeats, "how often np.repeat repeats")}, each=True)


def tile(A: Any, reps: Any) -> Traced:
    times = [size_of(r, "how often np.tile repeats") for r in (reps if isinstance(reps, (tuple, list)) else (reps,))]
    x = selected(traced(A), (*[None] * (len(times) - traced(A)._node.rank), ...))
    return _copies(x, dict(enumerate(times, x._node.rank - len(times))), each=False)


def _copies(x: Traced, counts: Mapping[int, Expr], each: bool) -> Traced:
    """`x` with axes several times: each element so often, or the whole."""
    shape = x._node.shape
    pairs = [(e, counts.get(a, ONE)) if each else (counts.get(a, ONE), e) for a, e in enumerate(shape)]
    wide = [e for pair in pairs for e in pair]
    return sized(reread(x, wide, axes_of(wide)[0 if each else 1 :: 2]), [m * n for m, n in pairs])


def pad(array: Any, pad_width: Any, mode: str = "constant", *, constant_values: Any = 0) -> Traced:
    x = traced(array)
    if mode != "constant" or not isinstance(constant_values, (int, float)) or constant_values:
        raise DeclarationError(
            "np.pad is traced for zeros. Other borders are parts put together: "
            "np.concatenate([x[:1], x, x[-1:]]) repeats the ends."
        )
    rank = x._node.rank
    widths = pad_width if isinstance(pad_width, (tuple, list)) else [[pad_width, pad_width]] * rank
    widths = widths if isinstance(widths[0], (tuple, list)) else [widths] * rank
    if len(widths) != rank or any(len(pair) != 2 for pair in widths):
        raise DeclarationError(f"np.pad takes a pair of widths for each axis of {x!r}.")
    before, after = ([size_of(w, "a border of np.pad") for w in side] for side in zip(*widths, strict=True))
    shape = x._node.shape
    made = Pieces(shape=tuple(tidy(b + e + a) for b, e, a in zip(before, shape, after, strict=True)), wish="padded")
    places = [i + b for i, b in zip(places_of(shape), before, strict=True)]
    return written(made, places, read(x._node, axes_of(shape)), shape, [x._node], x._lead)


# of several arrays


def at_least_2d(x: Any) -> Traced:
    x = traced(x)
    return x if x._node.rank > 1 else selected(x, (*[None] * (2 - x._node.rank), ...))


def vstack(tup: Sequence[Any]) -> Traced:
    return joining.concatenate([at_least_2d(x) for x in tup])


def hstack(tup: Sequence[Any]) -> Traced:
    parts = [traced(x) if traced(x)._node.rank else flat(x) for x in tup]
    return joining.concatenate(parts, 0 if parts and parts[0]._node.rank == 1 else 1)


def column_stack(tup: Sequence[Any]) -> Traced:
    parts = [traced(x) for x in tup]
    return joining.concatenate([x if x._node.rank > 1 else selected(x, (..., None)) for x in parts], 1)


def append(arr: Any, values: Any, axis: int | None = None) -> Traced:
    return joining.concatenate([flat(arr), flat(values)] if axis is None else [arr, values], axis or 0)


def sections(ary: Any, indices_or_sections: Any, axis: int = 0) -> tuple[int, list[slice]]:
    """The axis that np.split parts, counted from the end, and where."""
    x, where = traced(ary), indices_or_sections
    at = axis_of(x, axis)
    if isinstance(where, int):
        extent = x._node.shape[at]
        each = floor_divide(extent, where) if where else extent
        if not equal(each * where, extent):
            raise ShapeError(f"np.split of {show(extent)} elements into {where}: say where, x[:k], x[k:].")
        ends = [tidy(k * each) for k in range(1, where)]
        where = [int(value_of(e)) if is_exact(e) else Traced(constant(e)) for e in ends]
    return at - x._node.rank, [slice(a, b) for a, b in pairwise([None, *where, None])]


def delete(arr: Any, obj: int, axis: int | None = None) -> Traced:
    x: Traced = flat(arr) if axis is None else traced(arr)
    if not isinstance(obj, int):
        raise DeclarationError("np.delete is traced for one place: of several, np.concatenate([x[:2], x[3:]]).")
    parts = [slice(None, obj), *([slice(obj + 1, None)] if obj != -1 else [])]
    return joining.concatenate([along(x, axis or 0, part) for part in parts], axis or 0)


def insert(arr: Any, obj: int, values: Any, axis: int | None = None) -> Traced:
    x: Traced = flat(arr) if axis is None else traced(arr)
    at = axis_of(x, axis or 0)
    if not isinstance(obj, int):
        raise DeclarationError("np.insert is traced for one place: of several, np.concatenate([x[:2], y, x[2:]]).")
    shape = [ONE if k == at else e for k, e in enumerate(x._node.shape)]
    new = Traced(value(shape, fitted(traced(values), shape, x._lead, "np.insert"), [traced(values)._node]), x._lead)
    parts = along(x, at - x._node.rank, slice(None, obj)), along(x, at - x._node.rank, slice(obj, None))
    return joining.concatenate([parts[0], new, parts[1]], at - x._node.rank)


def rot90(m: Any, k: int = 1, axes: Sequence[int] = (0, 1)) -> Traced:
    a, b = axes
    for _ in range(k % 4):
        m = flip(swapaxes(traced(m), a, b), a)
    return traced(m)


def meshgrid(*xi: Any, indexing: str = "xy") -> tuple[Traced, ...]:
    parts = [flat(x) for x in xi]
    order = list(range(len(parts)))
    if indexing == "xy" and len(parts) > 1:
        order[:2] = [1, 0]
    shape = [parts[k]._node.shape[0] for k in order]
    axes = axes_of(shape)
    return tuple(Traced(value(shape, read(x._node, [axes[order.index(k)]]), [x._node])) for k, x in enumerate(parts))


def block(arrays: Any) -> Traced:
    def depth(x: Any) -> int:
        return 1 + depth(x[0]) if isinstance(x, list) else 0

    def leaves(x: Any) -> list[Traced]:
        return [leaf for part in x for leaf in leaves(part)] if isinstance(x, list) else [traced(x)]

    rank = max(depth(arrays), *(leaf._node.rank for leaf in leaves(arrays)))

    def joined(x: Any, level: int) -> Traced:
        if not isinstance(x, list):
            return selected(traced(x), (*[None] * (rank - traced(x)._node.rank), ...))
        return joining.concatenate([joined(part, level + 1) for part in x], -(depth(arrays) - level))

    return joined(arrays, 0)


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Traced:
    found = traced(default)
    for condition, chosen in reversed(list(zip(condlist, choicelist, strict=True))):
        found = joining.where(condition, chosen, found)
    return found


def take(a: Any, indices: Any, axis: int | None = None) -> Traced:
    return along(flat(a) if axis is None else traced(a), axis or 0, indices)


def take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Traced:
    if axis is None:
        arr, axis = flat(arr), 0
    arr, indices = traced(arr), traced(indices)
    shape = indices._node.shape
    at = axis_of(arr, axis)
    places = [ZERO if e is ONE else i for e, i in zip(arr._node.shape, axes_of(shape), strict=True)]
    places[at] = read(indices._node, axes_of(shape))
    return Traced(value(shape, read(arr._node, places), [arr._node, indices._node]), indices._lead)
