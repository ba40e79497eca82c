"""How tensors may lie that kernels are given: which of their strides a kernel is passed.

Rows are read wherever they lie, elements of a row one after the other: what lies otherwise would be loaded piecemeal,
and is copied. A cotangent has the stride of its last axis besides: that of a sum is one number, expanded, with strides
0. Tiles are read along either axis. What kernels have written is contiguous.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum

from ..expr import Ref, refs
from ..ir import Role, Tensor
from ..plan.kernels import Kernel, Streams, Tiles, product_of


class Lies(IntEnum):
    """How a tensor lies, the strictest first; what templates/triton.py makes of one that lies otherwise."""

    stored = 0  # contiguous
    rows = 1  # but for the last axis anywhere
    spread = 2  # so, or one number along the last axis
    strided = 3  # anywhere

    def passed(self, rank: int) -> int:
        """How many strides a kernel is passed, from the first axis on."""
        return {Lies.stored: 0, Lies.rows: rank - 1}.get(self, rank)


def lies(kernels: Iterable[Kernel], table: Mapping[str, Tensor]) -> dict[str, Lies]:
    """How the tensors may lie that are not contiguous for all kernels that read them."""
    found: dict[str, Lies] = {}
    for kernel in kernels:
        for name in {r.name for s in kernel.steps for e in s.equations for r in e.reads} & table.keys():
            found[name] = min(found.get(name, Lies.strided), _for(kernel, table[name]))
    return {name: found[name] for name in table if found.get(name)}


def _for(kernel: Kernel, tensor: Tensor) -> Lies:
    """How a tensor may lie for a kernel. What is short beside others, a vector among rows, is not worth a stride."""
    rank, seed = len(tensor.shape), tensor.role == Role.SEED
    if not _is_given(tensor) or tensor.optional or not rank:
        return Lies.stored
    if isinstance(kernel, (Tiles, Streams)):
        return Lies.strided if rank > 1 else Lies.stored
    if kernel.counted or kernel.flat and rank > 1:  # by the numbers of elements
        return Lies.stored
    return Lies.spread if seed else Lies.rows if rank > 1 else Lies.stored


def batches(kernels: Iterable[Kernel], table: Mapping[str, Tensor], packs: Mapping[str, str]) -> list[str]:
    """The packs that number matrices of which two that are given are multiplied, as heads are: with a stride for the
    last of their axes, and one for those before it, queries of `transpose(1, 2)` are read where they lie.

    packs  by the names of their sizes
    """
    found: dict[str, None] = {}
    for kernel in kernels:
        rows = {i: n for i, n in kernel.rows if isinstance(n, Ref) and n.name in packs}
        equations = (e for s in kernel.steps for e in s.equations) if rows else ()
        for product in filter(None, map(product_of, equations)):
            for i, n in rows.items():
                sides = ([r for r in refs(side) if i in r.subscripts] for side in (product.left, product.right))
                if all(any(_is_given(table[r.name]) for r in side) for side in sides):
                    found[packs[n.name]] = None
    return [*found]


def _is_given(tensor: Tensor) -> bool:
    return tensor.role in (Role.INPUT, Role.SEED)
