"""What a printed sparse matrix stores beyond its structure: an entry that is 0 wherever it is looked at, of an output
that does not become NaN with the input."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..ir import Dtype, recurrent
from .adjoint import KINDS, draws_at
from .sizes import choose
from .text import Array, Valued, flat

DRAWN = 200  # a maximum of four is each of them at one point in four: none of 100,000 entries is missed by all of these
POOLS = ((4, 5, 6, 7), (2, 3, 4, 5), (1, 2, 2, 3, 3, 4))  # of sizes: of a band of three, 3 x 3 has few zeros


def stored_zero(function: Valued, call: Callable[..., Any], seed: int) -> str | None:
    """An entry that is not of the structure, in words; None if there is none.

    call  what gives the results and the matrix, of the inputs and options

    An element of a recurrence may be 0 since no step reaches it, which subscripts do not tell: of these nothing is
    asked. Nor is it where real numbers decide what is stored.
    """
    if recurrent(function.statements):
        return None
    rng = np.random.default_rng([seed, 17])
    options = {o.name: o.default if isinstance(o.default, int) else float(o.default) for o in function.options}
    sizes = choose(function, options, rng, pools=POOLS)
    drawn = (case for k in range(DRAWN) for case in draws_at(function, rng, sizes, options, [KINDS[k % len(KINDS)]]))
    first: Any = None
    inputs, fixed, zero = dict[str, Any](), dict[str, Any](), np.zeros(0, dtype=bool)
    with np.errstate(all="ignore"):
        for case in drawn:
            whole = {n: v for n, v in case.inputs.items() if function.table[n].dtype != Dtype.REAL}
            fixed = fixed or whole  # the same places at every point
            inputs = {**case.inputs, **fixed}
            found = flat(call(*inputs.values(), **options))[-1]
            if first is None:
                first, zero = found, np.ones(len(found.data), dtype=bool)
            if not np.array_equal(found.indices, first.indices) or not np.array_equal(found.indptr, first.indptr):
                return None
            zero &= found.data == 0
            if not zero.any():
                return None
        for place in np.flatnonzero(zero):
            row = int(np.searchsorted(first.indptr, place, side="right")) - 1
            column = int(first.indices[place])
            if not _depends(function, call, inputs, options, row, column):
                return f"the entry in row {row} and column {column} is stored, and always 0"
    return None


def _depends(
    function: Valued, call: Callable[..., Any], inputs: dict[str, Any], options: dict[str, Any], row: int, column: int
) -> bool:
    """Whether the element of a row is NaN where that of a column is: what cancels or is multiplied by 0 is, too."""
    assert function.sparse is not None
    rows, columns = function.sparse
    moved = {n: np.array(inputs[n], dtype=float) for n in columns if inputs[n] is not None}
    start = 0
    for array in moved.values():
        if start <= column < start + array.size:
            array.reshape(-1)[column - start] = np.nan
        start += array.size
    results = dict(zip(function.outputs, flat(call(*{**inputs, **moved}.values(), **options)), strict=False))
    return bool(np.isnan(_in_one([results[n] for n in rows])[row]))


def _in_one(arrays: Sequence[Array]) -> Array:
    return np.concatenate([np.ravel(a) for a in arrays])
