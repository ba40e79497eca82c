"""Elements of arrays that are taken, and axes put in another order."""

from __future__ import annotations

from collections.abc import Sequence

from ...expr import ONE, ZERO, Const, Expr, Index
from ...expr.names import is_pack
from ...ops import OPS
from .below import is_array, of_ranges, operations, with_parts
from .tree import ALL, Array, Elementwise, Item, Num, Permute, Range, Real, SizeOf, Slice, Take

Axes = tuple[Index | None, ...]  # per axis of an array: its index, or None for a kept axis of length 1


def permuted(array: Array, axes: Sequence[int], packed: bool = False) -> Array:
    """`array` with its axes in another order; `packed`: only the last two change, behind a pack."""
    if list(axes) == list(range(len(axes))):
        return array
    if packed:
        return Permute(array, (-1, -2))
    return Permute(array, tuple(axes))


def reordered(array: Array, labels: Sequence[Index], wanted: Sequence[Index]) -> Array:
    """`array`, whose axes are `labels`, with them as they are `wanted`."""
    axes = [labels.index(i) for i in wanted]
    pack = next((k for k in axes if is_pack(labels[k])), None)
    if pack is not None and (pack or axes[0]) and axes != sorted(axes):
        return Permute(array, tuple(axes), pack)
    behind = axes[1:] if axes[:1] == [0] and is_pack(labels[0]) else []
    if behind and behind != sorted(behind):
        return Permute(array, tuple(k - len(labels) for k in behind))
    return permuted(array, axes)


def taken(base: Array, items: tuple[Item, ...]) -> Array:
    """`base[items]`; a number times an array takes from the array, `2 * g[:, None]`, but a mask, and several operations
    on ranges, are one for all axes."""
    if all(i is not None and widens(i) for i in items):
        return base
    if isinstance(base, Elementwise) and OPS[base.op].result != "bool" and all(widens(i) for i in items):
        arrays = [a for a in base.args if not isinstance(a, (Num, SizeOf))]
        whole = operations(base) > 1 and of_ranges(base)
        if len(arrays) == 1 and not whole:
            return Elementwise(base.op, tuple(taken(a, items) if a is arrays[0] else a for a in base.args))
    return Take(base, items)


def widens(item: Item) -> bool:
    """Whether no element is left out, as with another axis."""
    return item is None or item is ALL or item == "..."


def packed_items(items: Sequence[Item], axes: Sequence[Expr | None]) -> tuple[Item, ...]:
    """Items with `...` for the whole axes of a pack."""
    return tuple(
        "..." if isinstance(axis, Index) and is_pack(axis) and isinstance(item, Slice) else item
        for item, axis in zip(items, axes, strict=True)
    )


def whole(array: Array) -> Array:
    """An array of integers as it is, for subscripts and integer results: not in the type of the inputs."""
    if isinstance(array, Range):
        return Range(array.extent)
    if isinstance(array, Real):
        base = whole(array.base)
        return Elementwise("select", (base, Num(as_number(ONE)), Num(as_number(ZERO)))) if array.boolean else base
    done: Array = with_parts(array, lambda part: whole(part) if is_array(part) else part)
    return done


def as_number(node: Expr) -> Const:
    assert isinstance(node, Const)
    return node


def as_index(node: Expr | None) -> Index:
    assert isinstance(node, Index)
    return node
