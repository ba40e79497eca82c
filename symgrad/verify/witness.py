"""What `sg.exp`, `sg.sum`, `sg.solve`, ... make of NumPy's arrays: NumPy's functions, and the rows' values in mpmath.

A declaration that calls them has NumPy for its witness, too (`symgrad.verify.imitation`). What is of index notation,
`sg.sum[i](...)`, has no meaning for arrays, and such a declaration no witness.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial, reduce
from typing import Any

import mpmath
import numpy as np

from ..declare.python.values import Absent
from ..errors import DeclarationError
from ..ops import ROWS
from ..ops.row import Op

Function = Callable[..., Any]
BITS = 90  # at which a row is evaluated: that of a difference of two numbers leaves a double of it


def _of_each(row: Op) -> Function:
    """The value of a row for every element."""

    def value(*numbers: Any) -> Any:
        with mpmath.workprec(BITS):
            found = row.value(*(mpmath.mpf(x) if isinstance(x, float) else int(x) for x in numbers))
            return found if isinstance(found, int) else float(found)

    each = np.frompyfunc(value, row.arity, 1)

    def function(*arrays: Any) -> Any:
        first = each(*arrays[: row.arity])
        found = np.asarray(reduce(each, arrays[row.arity :], first))
        given = np.result_type(*arrays)
        whole = {type(x) for x in found.ravel()} == {int}
        real = int if whole else given if given.kind == "f" else float
        return found.astype(bool if row.result == "bool" else real)[()]

    return function


def _stack(arrays: Any, axis: int = -1) -> Any:
    return np.stack(np.broadcast_arrays(*arrays), axis)


def _logsumexp(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.log(np.sum(np.exp(x), axis, keepdims=keepdims))


def _median(x: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    return np.median(x, axis, keepdims=keepdims)


def _argsort(x: Any, axis: int = -1, descending: bool = False) -> Any:
    return np.argsort(-x if descending else x, axis, kind="stable")


def _sort(x: Any, axis: int = -1, descending: bool = False) -> Any:
    return -np.sort(-x, axis) if descending else np.sort(x, axis)


def _topk(x: Any, k: int, axis: int = -1, largest: bool = True) -> tuple[Any, Any]:
    places = np.take(_argsort(x, axis, largest), range(k), axis)
    return np.take_along_axis(x, places, axis), places


def _eigh(a: Any) -> tuple[Any, Any]:
    values, vectors = np.linalg.eigh(a)
    return values, vectors * np.where(vectors[..., :1, :] < 0, -1.0, 1.0)


def _svd(a: Any) -> tuple[Any, Any, Any]:
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    signs = np.where(u[..., :1, :] < 0, -1.0, 1.0)
    return u * signs, s, vh * np.swapaxes(signs, -1, -2)


def _solve(a: Any, b: Any) -> Any:
    """As many right-hand sides as there are columns; with one axis less than `a`, `b` is vectors."""
    if np.ndim(b) == np.ndim(a) - 1:
        return np.linalg.solve(a, b[..., None])[..., 0]
    return np.linalg.solve(a, b)


def _solve_triangular(a: Any, b: Any, lower: bool = False) -> Any:
    return _solve(np.tril(a) if lower else np.triu(a), b)


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    if axis is None and np.ndim(x) > 1:
        raise DeclarationError("a norm over all axes: which of them are a pack, an array does not say.")
    return np.linalg.norm(x, ord, axis, keepdims)


def _given(mask: Any, then: Any, otherwise: Any) -> Any:
    return otherwise if isinstance(mask, Absent) else then


NUMPYS = {
    name: getattr(np, name)
    for name in ("argmax", "concatenate", "eye", "max", "mean", "min", "prod", "sum", "where")
} | {
    name: getattr(np.linalg, name)
    for name in ("cholesky", "det", "eigvalsh", "inv", "matrix_power", "pinv", "slogdet", "svdvals")
}  # fmt: skip

FUNCTIONS: Mapping[str, Function] = {
    **{name: _of_each(row) for row in ROWS if row.arity for name in (row.name, *row.names)},
    **NUMPYS,
    "argsort": _argsort,
    "eigh": _eigh,
    "given": _given,
    "logdet": lambda a: np.linalg.slogdet(a)[1],
    "logsumexp": _logsumexp,
    "median": _median,
    "norm": _norm,
    "qr": lambda a: tuple(np.linalg.qr(a)),
    "solve": _solve,
    "solve_triangular": _solve_triangular,
    "sort": _sort,
    "stack": _stack,
    "svd": _svd,
    "topk": _topk,
    "trace": partial(np.trace, axis1=-2, axis2=-1),
}
