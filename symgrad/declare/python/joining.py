"""What is put together of other arrays: where, given, stack, concatenate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from ...errors import DeclarationError, ShapeError
from ...expr import apply, const, ref
from ...expr.sizes import tidy
from .arithmetic import broadcast, elementwise, expand
from .graph import Pieces, packs_in, places_of, value
from .scope import inside
from .values import Absent, Traced, axis_of, only_from_end, traced, written


def where(condition: Any, then: Any, otherwise: Any) -> Traced:
    """`then` where the condition holds, else `otherwise`; the other branch is not evaluated."""
    return elementwise("select", condition, then, otherwise)


def given(mask: Any, then: Any, otherwise: Any) -> Traced:
    """`then` where the optional input `mask` is given, else `otherwise`."""
    if isinstance(mask, Absent):
        return traced(otherwise)
    if not is_optional(mask):
        return traced(then)
    node, arrays = traced(mask)._node, [traced(then), traced(otherwise)]
    shape, lead = broadcast(arrays, "sg.given")
    absent = ref(node.declared, *(const(0) for _ in node.shape))  # settled before anything reads it
    body = apply("given", absent, *(expand(a, shape) for a in arrays))
    return Traced(value(shape, body, [node, *(a._node for a in arrays)]), lead)


def is_optional(x: Any) -> bool:
    """Whether it is an input that may be absent."""
    tensor = inside("sg.given").draft.tensors.get(x._node.declared) if isinstance(x, Traced) else None
    return tensor is not None and tensor.optional


def stack(arrays: Sequence[Any], axis: int = -1) -> Traced:
    """The arrays along a new axis, the last one unless `axis` says another."""
    parts = [traced(a) for a in arrays]
    if not parts:
        raise DeclarationError("sg.stack of nothing.")
    shape, lead = broadcast(parts, "sg.stack")
    rank = len(shape) + 1
    at, places = axis % rank, places_of(shape)
    if not -rank <= axis < rank or at < packs_in(shape) or axis >= 0 and only_from_end(shape, lead):
        raise DeclarationError(f"sg.stack along axis {axis} of a result with {rank} axes.")
    made = Pieces(shape=(*shape[:at], const(len(parts)), *shape[at:]), wish="stacked")
    for k, part in enumerate(parts):
        written(made, [*places[:at], const(k), *places[at:]], expand(part, shape), shape, [part._node])
    return Traced(made, lead + (at < lead))


def assembled(cells: Mapping[tuple[int, ...], Any], wish: str) -> Traced:
    """The array with these values at these places of its last axes, all of them; `wish` is what it is called."""
    parts = {place: traced(x) for place, x in cells.items()}
    shape, lead = broadcast(list(parts.values()), "an array of parts")
    extents = (const(1 + max(axis)) for axis in zip(*cells, strict=True))
    made = Pieces(shape=(*shape, *extents), wish=wish)
    for place, part in parts.items():
        at = [*places_of(shape), *map(const, place)]
        written(made, at, expand(part, shape), shape, [part._node])
    return Traced(made, lead)


def called(x: Traced, name: str) -> Traced:
    """The value, which is computed once and has this name, unless the declaration has one for it."""
    inside("a value with a name").names.setdefault(x._node.serial, name)
    return x


def concatenate(arrays: Sequence[Any], axis: int = 0) -> Traced:
    """The arrays one behind the other along an axis that they have."""
    parts = [traced(a) for a in arrays]
    if not parts or any(p._node.rank != parts[0]._node.rank or p._lead != parts[0]._lead for p in parts):
        raise ShapeError("concatenated arrays have the same number of axes.")
    at = axis_of(parts[0], axis)
    fronts = [Traced(value([const(1) if a == at else e for a, e in enumerate(p._node.shape)], const(0))) for p in parts]
    shape, _ = broadcast(fronts, "the concatenation")
    starts = [tidy(s) for s in accumulate((p._node.shape[at] for p in parts), initial=const(0))]
    made = Pieces(shape=(*shape[:at], starts[-1], *shape[at + 1 :]), wish="joined")
    for start, part in zip(starts, parts, strict=False):
        local = (*shape[:at], part._node.shape[at], *shape[at + 1 :])
        places = places_of(local)
        places = (*places[:at], places[at] + start, *places[at + 1 :])
        written(made, places, expand(part, local), local, [part._node])
    return Traced(made, parts[0]._lead)
