"""The sizes of a function as the shapes of its inputs tell them, and extents as numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod
from typing import Any

from ..errors import ShapeError
from ..evaluate import evaluate
from ..expr import Const, Expr, Ref
from ..later import np
from .data import Function
from .equations import Tensor

Sizes = Mapping[str, "int | tuple[int, ...]"]


def bind(
    function: Function, arrays: Mapping[str, Any], tensors: Iterable[Tensor] | None = None
) -> dict[str, int | tuple[int, ...]]:
    """The size of every dim, told by the shapes of `arrays` (None for an absent one); a pack's size is a tuple.

    tensors  what the arrays are of, if not of the inputs alone

    Raises ShapeError where an array has the wrong number of axes or two of them disagree.
    """
    sizes: dict[str, int | tuple[int, ...]] = {}
    for tensor in [function.table[n] for n in function.inputs] if tensors is None else tensors:
        name, axes = tensor.name, tensor.shape
        if arrays.get(name) is None:
            continue
        given = np.shape(arrays[name])
        packs = [k for k, e in enumerate(axes) if isinstance(e, Ref) and e.name in function.packs]
        more = len(given) - len(axes)
        if more + len(packs) < 0 or more and not packs:
            raise ShapeError(f"{function.name}: {name} has {len(given)} axes, and is declared with {list(axes)}")
        extents: list[int | tuple[int, ...]] = [*given]
        for k in packs:  # one at most: it stands for any number of axes
            extents[k : k + more + 1] = [given[k : k + more + 1]]
        for axis, extent in zip(axes, extents, strict=True):
            if isinstance(axis, Ref) and sizes.setdefault(axis.name, extent) != extent:
                raise ShapeError(f"{function.name}: {axis.name} = {extent} in {name}, {sizes[axis.name]} before it")
            if isinstance(axis, Const) and axis.value != extent:
                raise ShapeError(f"{function.name}: {name} has an axis of {extent}, declared as {axis}")
    return sizes


def shape_of(extents: Iterable[Expr], sizes: Sizes, options: Mapping[str, Any] | None = None) -> tuple[int, ...]:
    """A shape in numbers, the axes of a pack one by one."""
    shape: list[int] = []
    for extent in extents:
        size = sizes.get(extent.name) if isinstance(extent, Ref) else None
        shape += size if isinstance(size, tuple) else [extent_of(extent, sizes, options)]
    return tuple(shape)


def extent_of(extent: Expr, sizes: Sizes, options: Mapping[str, Any] | None = None) -> int:
    """The value of an extent, at least 0; a pack counts the product of its sizes."""
    if isinstance(extent, Const):
        return max(0, int(extent.value))

    def element(name: str, subscripts: tuple[int, ...]) -> Any:
        found = sizes[name] if name in sizes else (options or {})[name]
        return prod(found) if isinstance(found, tuple) else found

    value = element(extent.name, ()) if isinstance(extent, Ref) else evaluate(extent, {}, element)
    return max(0, int(value))
