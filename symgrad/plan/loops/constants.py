"""A constant in every element of several axes is one walk over the memory, however many axes it has."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from ...expr import ZERO, Const, Expr, indices, product, ref
from ...records import replace
from .data import Block, Loop, Node, Store, with_inner


def whole_constants(block: Block, shapes: Mapping[str, tuple[Expr, ...]]) -> Block:
    """`block` with the nests that store a constant along the last axes of an array as one loop each."""
    return tuple(_walk(node, shapes) for node in block)


def _walk(node: Node, shapes: Mapping[str, tuple[Expr, ...]]) -> Node:
    around: list[Loop] = []
    inner = node
    while isinstance(inner, Loop) and len(inner.body) == 1:
        around.append(inner)
        (inner,) = inner.body
    if len(around) < 2 or not (isinstance(inner, Store) and inner.how == "=" and isinstance(inner.value, Const)):
        return with_inner(node, partial(whole_constants, shapes=shapes))
    first, shape = inner.element.subscripts, shapes[inner.element.name]
    rest = len(first) - len(around)
    along = tuple((loop.index, loop.lower, loop.extent.key) for loop in around)
    axes = tuple((s, ZERO, size.key) for s, size in zip(first, shape, strict=True))
    if rest < 0 or along != axes[rest:] or {loop.index for loop in around} & {*indices(*first[:rest])}:
        return node  # or the places of a diagonal
    i = around[0].index
    element = ref(inner.element.name, *first[:rest], *(ZERO for _ in around[1:]), i)
    return Loop(i, product(shape[rest:]), (replace(inner, element=element),))
