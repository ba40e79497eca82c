"""How tensors may lie that kernels are given: which of their strides a kernel is passed.

Rows are read wherever they lie, elements of a row one after the other: what lies otherwise would be loaded piecemeal,
and is copied. A cotangent has the stride of its last axis besides: that of a sum is one number, expanded, with strides
0. Tiles are read along either axis. What kernels have written is contiguous.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum

from ..ir import Role, Tensor
from ..plan.kernels import Kernel, Streams, Tiles


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
    if tensor.role not in (Role.INPUT, Role.SEED) or tensor.optional or not rank:
        return Lies.stored
    if isinstance(kernel, (Tiles, Streams)):
        return Lies.strided if rank > 1 else Lies.stored
    if kernel.counted or kernel.flat and rank > 1:  # by the numbers of elements
        return Lies.stored
    return Lies.spread if seed else Lies.rows if rank > 1 else Lies.stored
