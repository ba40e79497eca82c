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
        return mean(self, axis, keepdims)

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


def mean(array: Array, axis: Any = None, keepdims: bool = False) -> Any:
    """The sum over the number of elements."""
    found = reduced(total, array, axis, keepdims)
    axes = range(array.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return found / prod(array.shape[a] for a in axes)


def matmul(left: Any, right: Any) -> Any:
    """`left @ right`: vectors, matrices and stacks of matrices."""
    a, b = exact(left), exact(right)
    if not a.ndim or not b.ndim:
        raise ValueError("matmul: an operand is a scalar")
    rows = a[None, :] if a.ndim == 1 else a
    columns = b[:, None] if b.ndim == 1 else b
    if rows.shape[-1] != columns.shape[-2]:
        raise ValueError(f"matmul: shapes {a.shape} and {b.shape} do not match")
    products = rows[..., :, :, None] * columns[..., None, :, :]
    found = reduced(total, products, products.ndim - 2)
    if a.ndim == 1:
        found = found[..., 0, :]
    if b.ndim == 1:
        found = found[..., 0]
    return found


def einsum(subscripts: str, *operands: Any, **options: Any) -> Any:
    """Einstein's sum, as NumPy writes it, every letter by itself and `...` for leading axes."""
    text = subscripts.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms, arrays = left.split(","), [exact(o) for o in operands]
    if len(terms) != len(arrays):
        raise ValueError(f"einsum: {subscripts!r} for {len(arrays)} operands")
    spare = max((a.ndim - len(t.replace("...", "")) for t, a in zip(terms, arrays, strict=True)), default=0)
    dots = "".join(chr(0x3B1 + n) for n in range(spare))  # letters that no text uses
    spelled = []
    for term, array in zip(terms, arrays, strict=True):
        own = array.ndim - len(term.replace("...", ""))
        spelled.append(term.replace("...", dots[spare - own :]))
    if not arrow:
        joined = "".join(terms).replace("...", "")
        right = ("..." if spare else "") + "".join(sorted(c for c in set(joined) if joined.count(c) == 1))
    target = right.replace("...", dots)
    letters = list(dict.fromkeys([*target, *"".join(spelled)]))
    sizes: dict[str, int] = {}
    product: Any = None
    for term, array in zip(spelled, arrays, strict=True):
        array, term = _diagonals(array, term)
        if array.ndim != len(term):
            raise ValueError(f"einsum: {subscripts!r} has {len(term)} letters for {array.ndim} axes")
        for letter, size in zip(term, array.shape, strict=True):
            if sizes.setdefault(letter, size) != size and 1 not in (size, sizes[letter]):
                raise ValueError(f"einsum: {letter} is {sizes[letter]} and {size}")
            sizes[letter] = max(size, sizes[letter]) if 0 not in (size, sizes[letter]) else 0
        order = [term.index(c) for c in letters if c in term]
        wide = array.transpose(order).reshape([array.shape[term.index(c)] if c in term else 1 for c in letters])
        product = wide if product is None else product * wide
    product = np.broadcast_to(product.view(np.ndarray), [sizes[c] for c in letters]).view(Exact)
    summed = tuple(range(len(target), len(letters)))
    return reduced(total, product, summed) if summed else product


def _diagonals(array: Any, term: str) -> tuple[Any, str]:
    while len(set(term)) < len(term):
        letter = next(c for c in term if term.count(c) > 1)
        first = term.index(letter)
        second = term.index(letter, first + 1)
        array = array.view(np.ndarray).diagonal(axis1=first, axis2=second).copy().view(Exact)
        term = "".join(c for k, c in enumerate(term) if k not in (first, second)) + letter
    return array, term
