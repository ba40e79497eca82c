"""The sizes of a function as the shapes of its inputs tell them, and extents as numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from ..errors import ShapeError
from ..evaluate import evaluate
from ..expr import Expr, Ref
from .data import Function

Sizes = Mapping[str, "int | tuple[int, ...]"]


def bind(
    function: Function, inputs: Mapping[str, Any], options: Mapping[str, Any] | None = None
) -> dict[str, int | tuple[int, ...]]:
    """The size of every dim, told by the shapes of `inputs` (None for an absent one); a pack's size is a tuple.

    Raises ShapeError where an input has the wrong number of axes or two inputs disagree.
    """
    sizes: dict[str, int | tuple[int, ...]] = {}
    for name in function.inputs:
        if inputs.get(name) is None:
            continue
        given = np.shape(inputs[name])
        axes = function.table[name].shape
        ranks = _ranks(function, axes, len(given), sizes)
        if sum(ranks) != len(given):
            raise ShapeError(f"{function.name}: {name} has {len(given)} axes, and is declared with {list(axes)}")
        place = 0
        for axis, rank in zip(axes, ranks, strict=True):
            extents = given[place : place + rank]
            place += rank
            if isinstance(axis, Ref):
                _agree(function, sizes, name, axis, extents if axis.name in function.packs else extents[0])
            elif extent_of(axis, sizes, options) != extents[0]:
                raise ShapeError(f"{function.name}: {name} has an axis of {extents[0]}, declared as {axis}")
    return sizes


def _ranks(function: Function, axes: Sequence[Expr], given: int, sizes: Sizes) -> list[int]:
    """How many of the given axes each declared axis stands for: a pack as many as it is known to, or the rest."""
    ranks: list[int | None] = [1] * len(axes)
    for place, axis in enumerate(axes):
        if isinstance(axis, Ref) and axis.name in function.packs:
            known = sizes.get(axis.name)
            ranks[place] = len(known) if isinstance(known, tuple) else None
    rest = max(0, given - sum(r for r in ranks if r is not None))
    return [rest if r is None else r for r in ranks]


def _agree(
    function: Function,
    sizes: dict[str, int | tuple[int, ...]],
    name: str,
    dim: Expr,
    extent: int | tuple[int, ...],
) -> None:
    assert isinstance(dim, Ref)
    if sizes.setdefault(dim.name, extent) != extent:
        raise ShapeError(f"{function.name}: {dim.name} = {extent} in {name}, {sizes[dim.name]} before it")


def extent_of(extent: Expr, sizes: Sizes, options: Mapping[str, Any] | None = None) -> int:
    """The value of an extent, at least 0; a pack counts the product of its sizes."""

    def element(name: str, subscripts: tuple[int, ...]) -> Any:
        found = sizes[name] if name in sizes else (options or {})[name]
        return prod(found) if isinstance(found, tuple) else found

    return max(0, int(evaluate(extent, {}, element)))
