"""What is put together of other arrays: where, given, stack, concatenate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import DeclarationError, ShapeError
from ...expr import ONE, Expr, apply, const, ref
from .arithmetic import broadcast, elementwise, expand
from .graph import Piece, Pieces, Value, axes_of, gather, is_input, places_of, value
from .scope import here, inside
from .values import Absent, Traced, axis_of, line, traced


def where(condition: Any, then: Any, otherwise: Any) -> Traced:
    """`then` where the condition holds, else `otherwise`; the other branch is not evaluated."""
    return elementwise("select", condition, then, otherwise)


def given(mask: Any, then: Any, otherwise: Any) -> Traced:
    """`then` where the optional input `mask` is given, else `otherwise`."""
    if isinstance(mask, Absent):
        return traced(otherwise)
    scope = inside("sg.given")
    node = traced(mask)._node
    name = node.body.name if isinstance(node, Value) and is_input(node) and hasattr(node.body, "name") else ""
    if name not in scope.draft.tensors or not scope.draft.tensors[name].optional:
        return traced(then)
    arrays = [traced(then), traced(otherwise)]
    shape, lead = broadcast(arrays, "sg.given")
    absent = ref(name, *(const(0) for _ in node.shape))  # settled before anything reads it
    body = apply("given", absent, *(expand(a, shape) for a in arrays))
    return Traced(value(shape, body, [node, *(a._node for a in arrays)]), lead)


def stack(arrays: Sequence[Any], axis: int = -1) -> Traced:
    """The arrays along a new axis, the last one unless `axis` says another."""
    parts = [traced(a) for a in arrays]
    if not parts:
        raise DeclarationError(f"{here()}sg.stack of nothing ({line()}).")
    shape, lead = broadcast(parts, "sg.stack")
    rank = len(shape) + 1
    if not -rank <= axis < rank or lead and not lead - rank <= axis < 0:
        raise DeclarationError(f"{here()}sg.stack along axis {axis} of a result with {rank} axes ({line()}).")
    at = axis % rank
    whole = (*shape[:at], const(len(parts)), *shape[at:])
    return _joined(whole, at, [(const(k), None) for k in range(len(parts))], parts, shape, lead, "stacked")


def concatenate(arrays: Sequence[Any], axis: int = 0) -> Traced:
    """The arrays one behind the other along an axis that they have."""
    parts = [traced(a) for a in arrays]
    if not parts or any(p._node.rank != parts[0]._node.rank or p._lead != parts[0]._lead for p in parts):
        raise ShapeError(f"{here()}concatenated arrays have the same number of axes ({line()}).")
    at = axis_of(parts[0], axis)
    fronts = [Traced(value([const(1) if a == at else e for a, e in enumerate(p._node.shape)], const(0))) for p in parts]
    shape, _ = broadcast(fronts, "the concatenation")
    places: list[tuple[Expr, Expr | None]] = []
    start: Expr = const(0)
    for p in parts:
        places.append((start, p._node.shape[at]))
        start = start + p._node.shape[at]
    return _joined((*shape[:at], start, *shape[at + 1 :]), at, places, parts, shape, parts[0]._lead, "joined")


def _joined(
    whole: Sequence[Expr],
    at: int,
    places: Sequence[tuple[Expr, Expr | None]],
    parts: Sequence[Traced],
    shape: Sequence[Expr],
    lead: int,
    wish: str,
) -> Traced:
    """Each part written at its place in axis `at`: at a number (a new axis), or from a number on over an extent."""
    made = Pieces(shape=tuple(whole), wish=wish)
    for (start, extent), part in zip(places, parts, strict=True):
        local = list(shape) if extent is None else [*shape[:at], extent, *shape[at + 1 :]]
        box = {i: e for i, e in zip(axes_of(local), local, strict=True) if e is not ONE}
        moved = places_of(local)
        subscripts = [*moved[:at], start, *moved[at:]] if extent is None else list(moved)
        if extent is not None:
            subscripts[at] = moved[at] + start
        operands, _ = gather([part._node])
        made.log.write(Piece(tuple(subscripts), expand(part, local), box), operands)
    return Traced(made, lead)
