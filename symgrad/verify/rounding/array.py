"""Arrays of Numbers: NumPy's own object arrays, which add, multiply, broadcast and index as any array does.

What NumPy would do in its own order (sums, products of matrices) is done here, with a bound that holds in any order.
An `Exact` array says it is float64; integer and boolean arrays stay what they are.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import reduce
from math import prod
from typing import Any

import numpy as np

from .functions import maximum, minimum, total
from .number import Number, lift

Array = np.ndarray[Any, Any]
FLOAT = np.dtype(np.float64)
_dtype_of = np.ndarray.dtype.__get__


class Unset:
    """What uninitialised memory holds: any use of it is a fault of the text."""

    def _fault(self, *args: Any) -> Any:
        raise ValueError("reads an element that nothing has written")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _fault
    __neg__ = __abs__ = __lt__ = __le__ = __gt__ = __ge__ = __pow__ = __rpow__ = __bool__ = __int__ = _fault
    __eq__ = __ne__ = _fault
    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return "uninitialised"


UNSET = Unset()


class Exact(Array):
    """An array whose elements are Numbers."""

    @property
    def dtype(self) -> Any:
        true = _dtype_of(self)
        return FLOAT if true.kind == "O" else true

    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> Any:
        if np.issubdtype(dtype, np.floating):
            return exact(self).copy()
        if _dtype_of(self).kind != "O":
            return self.view(np.ndarray).astype(dtype)
        return np.vectorize(int, otypes=[np.dtype(dtype)])(np.asarray(self, dtype=object))

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:  # type: ignore[override]
        return reduced(total, self, axis, keepdims)

    def mean(self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:  # type: ignore[override]
        found = self.sum(axis, keepdims=keepdims)
        return found / (self.size // max(found.size, 1))

    def prod(self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:  # type: ignore[override]
        return reduced(_product, self, axis, keepdims)

    def max(self, axis: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None) -> Any:  # type: ignore[override]
        first = [] if initial is None else [lift(initial)]
        return reduced(lambda values: _chosen(maximum, [*first, *values]), self, axis, keepdims)

    def min(self, axis: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None) -> Any:  # type: ignore[override]
        first = [] if initial is None else [lift(initial)]
        return reduced(lambda values: _chosen(minimum, [*first, *values]), self, axis, keepdims)

    def argmax(self, axis: Any = None, out: Any = None, *, keepdims: bool = False) -> Any:
        return reduced(lambda v: v.index(_chosen(maximum, v)), self, axis, keepdims, whole=True)

    def __getitem__(self, key: Any) -> Any:
        return result(super().__getitem__(key))

    def __setitem__(self, key: Any, value: Any) -> None:
        # as a number is set in float64, not as the object that an array of rank 0 is
        if isinstance(value, np.ndarray) and not value.ndim:
            value = value.view(np.ndarray)[()]
        if isinstance(value, (int, np.integer)) and _dtype_of(self).kind == "O":
            value = lift(value)  # an int in an array of float64 is one of its numbers
        super().__setitem__(key, value)

    def __matmul__(self, other: Any) -> Any:
        return matmul(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return matmul(other, self)


def exact(value: Any) -> Exact:
    """`value` (a Number, a number, an array, nested lists) as an array of Numbers."""
    if isinstance(value, Exact) and _dtype_of(value).kind == "O":
        return value
    if isinstance(value, (list, tuple)):
        parts = [exact(v) for v in value]
        return np.stack(parts).view(Exact) if parts else np.empty(0, dtype=object).view(Exact)
    if isinstance(value, np.ndarray):
        plain = value.view(np.ndarray)
        return filled([lift(v) for v in plain.ravel().tolist()], plain.shape)
    return filled([lift(value)], ())


def filled(values: Sequence[Any], shape: tuple[int, ...]) -> Exact:
    """An array of the given elements."""
    array = np.empty(prod(shape), dtype=object)
    for position, value in enumerate(values):
        array[position] = value
    return array.reshape(shape).view(Exact)


def result(value: Any) -> Any:
    """What a function of NumPy's handed back, as an Exact array where it is or holds Numbers."""
    if isinstance(value, Number):
        return filled([value], ())
    if isinstance(value, np.ndarray) and _dtype_of(value).kind == "O":
        return value.view(Exact)
    return value


def _chosen(choose: Callable[[Any, Any], Any], values: list[Any]) -> Any:
    """The largest or the smallest of some values."""
    if not values:
        raise ValueError(f"zero-size array to reduction operation {choose.__name__} which has no identity")
    return reduce(choose, values)


def _product(values: list[Any]) -> Any:
    return reduce(operator.mul, values, lift(1))


def reduced(
    function: Callable[[list[Any]], Any], array: Array, axis: Any, keepdims: bool = False, whole: bool = False
) -> Any:
    """`function` of the elements along `axis`; `whole`: the result is an integer."""
    plain = array.view(np.ndarray)
    axes = tuple(range(plain.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    axes = tuple(a + plain.ndim if a < 0 else a for a in axes)
    if any(not 0 <= a < plain.ndim for a in axes):
        raise ValueError(f"axis {axis} is out of bounds for array of dimension {plain.ndim}")
    kept = [a for a in range(plain.ndim) if a not in axes]
    shape = tuple(plain.shape[a] for a in kept)
    moved = plain.transpose(*kept, *axes).reshape(prod(shape), prod(plain.shape[a] for a in axes))
    values = [function(list(row)) for row in moved]
    if keepdims:
        shape = tuple(1 if a in axes else plain.shape[a] for a in range(plain.ndim))
    if whole:
        found = np.array(values, dtype=np.int64).reshape(shape)
        return found if shape else found[()]
    return filled(values, shape)


def matmul(left: Any, right: Any) -> Any:
    """`left @ right`: vectors, matrices and stacks of matrices."""
    a, b = exact(left), exact(right)
    if not a.ndim or not b.ndim:
        raise ValueError("matmul: an operand is a scalar")
    if a.shape[-1] != b.shape[max(b.ndim - 2, 0)]:
        raise ValueError(f"matmul: shapes {a.shape} and {b.shape} do not match")
    row, column = "i" * (a.ndim > 1), "k" * (b.ndim > 1)
    return einsum(f"...{row}j,...j{column}->...{row}{column}", a, b)


def einsum(subscripts: str, *operands: Any, **options: Any) -> Any:
    """Einstein's sum; NumPy tells which elements are multiplied."""
    left, arrow, right = subscripts.replace(" ", "").partition("->")
    terms, arrays = left.split(","), [exact(o).view(np.ndarray) for o in operands]
    letters = [c for c in left if c not in ".,"]
    if not arrow:
        right = "..." * ("..." in left) + "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    term, product = terms[0], arrays[0]
    for other, array in zip(terms[1:], arrays[1:], strict=True):
        both = f"{term}{other}"
        joined = "..." * ("..." in both) + "".join(dict.fromkeys(both.replace(".", "")))
        at = np.arange(product.size).reshape(product.shape), np.arange(array.size).reshape(array.shape)
        here = np.einsum(f"{term},{other}->{joined}", at[0], np.ones_like(at[1]))
        there = np.einsum(f"{term},{other}->{joined}", np.ones_like(at[0]), at[1])
        term, product = joined, exact(product.ravel()[here] * array.ravel()[there]).view(np.ndarray)
    summed = "".join(c for c in dict.fromkeys(letters) if c not in right)
    product = exact(np.einsum(f"{term}->{right}{summed}", product))
    return reduced(total, product, tuple(range(product.ndim - len(summed), product.ndim)))
