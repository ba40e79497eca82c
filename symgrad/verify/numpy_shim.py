"""The `np`, `special` and `math` that a printed NumPy file sees while it runs on Numbers.

What only moves elements is NumPy's own; what computes is defined here. A name that is not known is an error of the
check, which says so: nothing is passed through unseen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import mpmath
import numpy as np
from mpmath import mp

from ..ops import ROWS
from .numpy_linalg import LINALG, UnknownName
from .rounding import FUNCTIONS, Number, lift, pi, power
from .rounding.array import UNSET, Exact, einsum, exact, matmul, result
from .rounding.matrices import argsort


def holds_numbers(value: Any) -> bool:
    """Whether `value` is a Number, or an array or list of them."""
    if isinstance(value, (list, tuple)):
        return any(holds_numbers(v) for v in value)
    return isinstance(value, (Number, Exact))


class Elementwise:
    """A ufunc: elementwise with broadcasting, `.at` for unbuffered accumulation, `.accumulate`.

    plain  NumPy's own, which counts where it makes integers of integers
    """

    def __init__(self, function: Callable[..., Any], inputs: int, plain: Callable[..., Any] | None = None) -> None:
        self.plain = plain
        self.ufunc = np.frompyfunc(function, inputs, 1)

    def __call__(self, *args: Any, out: Any = None, where: Any = None) -> Any:
        if where is not None and out is None:
            raise UnknownName("where= without out=")
        if self.plain is not None and out is None and all(np.asarray(a).dtype.kind in "iu" for a in args):
            whole = self.plain(*args)
            if np.asarray(whole).dtype.kind in "iu":
                return whole
        operands = [a.view(np.ndarray) if isinstance(a, np.ndarray) else lift(a) for a in args]
        if where is None:
            found = result(self.ufunc(*operands))
        else:
            chosen = np.broadcast_to(where, out.shape)
            spread = [np.broadcast_to(_box(o), out.shape)[chosen] for o in operands]
            found = out.copy()
            found[chosen] = self.ufunc(*spread)
        if out is None:
            return found
        out[...] = found
        return out

    def at(self, array: Any, where: Any, values: Any) -> None:
        self.ufunc.at(array.view(np.ndarray), where, _box(values))

    def accumulate(self, array: Any, axis: int = 0) -> Any:
        return result(self.ufunc.accumulate(_box(array), axis))


def _box(value: Any) -> Any:
    return exact(value).view(np.ndarray)


def _where(condition: Any, *branches: Any) -> Any:
    if not branches:
        return np.where(condition)
    if not any(holds_numbers(b) or isinstance(b, float) for b in branches):
        return np.where(condition, *branches)
    found = np.where(condition, *(_box(b) for b in branches))
    return found.view(Exact)


def _moving(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy's that only moves elements."""

    def moved(first: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(first, Number):
            first = exact(first)
        elif isinstance(first, (list, tuple)) and holds_numbers(first):
            first = [exact(f).view(np.ndarray) for f in first]
        if isinstance(first, Exact):
            first = first.view(np.ndarray)
        kwargs.pop("dtype", None)
        found = function(first, *args, **kwargs)
        return [result(f) for f in found] if isinstance(found, (list, tuple)) else result(found)

    return moved


def _asarray(value: Any, dtype: Any = None, **options: Any) -> Any:
    if isinstance(value, Exact):
        return value
    plain = exact(value) if holds_numbers(value) else np.asarray(value, dtype=dtype)
    return exact(plain) if plain.dtype.kind == "f" else plain


def _array(value: Any, dtype: Any = None, **options: Any) -> Any:
    return _asarray(value, dtype).copy()


def _full(shape: Any, value: Any, dtype: Any = None) -> Any:
    if isinstance(value, (bool, int, np.integer)) and (dtype is None or np.dtype(dtype).kind in "iub"):
        return np.full(shape, value, dtype=dtype)
    return np.broadcast_to(_box(value), shape).copy().view(Exact)


def _block(rows: Any) -> Any:
    return np.block([[_box(part) for part in row] for row in rows]).view(Exact)


def _constant(value: int) -> Callable[..., Any]:
    return lambda shape, dtype=None, **options: _full(shape, value, np.float64 if dtype is None else dtype)


def _empty(shape: Any, dtype: Any = None) -> Any:
    found = _full(shape, -(2**40), np.float64 if dtype is None else dtype)
    if isinstance(found, Exact):
        found.fill(UNSET)
    return found


def _like(build: Callable[..., Any]) -> Callable[..., Any]:
    def built(array: Any, dtype: Any = None, shape: Any = None, **options: Any) -> Any:
        kind = getattr(array, "dtype", np.float64) if dtype is None else dtype
        return build(np.shape(array) if shape is None else shape, kind)

    return built


def _method(name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    def call(array: Any, *args: Any, **kwargs: Any) -> Any:
        if (isinstance(array, np.ndarray) and not isinstance(array, Exact)) or not holds_numbers(array):
            return plain(array, *args, **kwargs)
        return getattr(exact(array), name)(*args, **kwargs)

    return call


def _clip(x: Any, low: Any = None, high: Any = None) -> Any:
    if low is not None:
        x = NP["maximum"](x, low)
    return x if high is None else NP["minimum"](x, high)


def _pad(array: Any, widths: Any, mode: str = "constant", *, constant_values: Any = 0) -> Any:
    if mode != "constant" or np.ndim(constant_values):
        raise UnknownName("pad with anything but one constant")
    if not isinstance(array, Exact):
        return np.pad(array, widths, constant_values=constant_values)
    return np.pad(array.view(np.ndarray), widths, constant_values=_box(constant_values)).view(Exact)


def _copyto(array: Any, value: Any) -> None:
    array[...] = value


def _is(test: Callable[[Any], bool]) -> Callable[[Any], Any]:
    check = np.vectorize(lambda v: bool(test(lift(v).value)), otypes=[bool])
    return lambda x: check(_box(x))[()]


def _operators(name: str, module: Any = None) -> dict[str, Elementwise]:
    """The operators of a module, by what they are called there; all that are spelled so, where it is not given."""
    found = {}
    for row in ROWS:
        prefix, _, word = (row.word("numpy") or f"np.{row.name}").rpartition(".")
        if prefix == name and word in FUNCTIONS and (module is None or hasattr(module, word)):
            found[word] = Elementwise(FUNCTIONS[word], row.arity, getattr(module, word, None))
    return found


_MOVING = """broadcast_to moveaxis swapaxes transpose reshape ravel expand_dims concatenate stack take_along_axis flip
    roll repeat split diagonal diag triu tril copy""".split()
_PLAIN = """shape ndim size ndarray issubdtype floating integer bool_ float64 float32 int64 int32 uint8 errstate dtype
    s_ logical_and logical_or logical_not any all indices""".split()
_METHODS = "sum mean prod max min argmax cumsum cumprod".split()

_zeros, _ones = _constant(0), _constant(1)

NP: dict[str, Any] = {
    **{name: getattr(np, name) for name in _PLAIN},
    **{name: _moving(getattr(np, name)) for name in _MOVING},
    **{name: _method(name, getattr(np, name)) for name in _METHODS},
    **_operators("np", np),
    "add": Elementwise(lambda a, b: a + b, 2, np.add),
    "divide": Elementwise(lambda a, b: a / b, 2),
    "power": Elementwise(power, 2),
    "float_power": Elementwise(power, 2),
    "arange": lambda stop, dtype=None: np.arange(stop) if dtype is None else _array(np.arange(stop), dtype),
    "asarray": _asarray,
    "array": _array,
    "where": _where,
    "unique": np.unique,
    "searchsorted": np.searchsorted,
    "zeros": _zeros,
    "ones": _ones,
    "empty": _empty,
    "zeros_like": _like(_zeros),
    "ones_like": _like(_ones),
    "full": _full,
    "eye": lambda n, m=None, k=0, dtype=None: _array(np.eye(n, m, k), dtype),
    "clip": _clip,
    "copyto": _copyto,
    "pad": _pad,
    "lib": SimpleNamespace(
        stride_tricks=SimpleNamespace(sliding_window_view=_moving(np.lib.stride_tricks.sliding_window_view))
    ),
    "isnan": _is(mp.isnan),
    "isfinite": _is(mp.isfinite),
    "matmul": matmul,
    "einsum": einsum,
    "argsort": argsort,
    "block": _block,
}  # no nan_to_num: it would hide what the check looks for
SPECIAL: Mapping[str, Any] = {**_operators("special"), "erfc": Elementwise(FUNCTIONS["scipy_erfc"], 1)}
MATH: Mapping[str, Any] = {
    **{n: FUNCTIONS[n] for n in FUNCTIONS if hasattr(math, n)}, "prod": math.prod, "isqrt": math.isqrt
}  # fmt: skip


class Shim:
    """A module that hands out the names of one table, and the numbers pi, e, inf and nan."""

    def __init__(self, name: str, table: Mapping[str, Any]) -> None:
        self._name, self._table = name, table

    def __getattr__(self, name: str) -> Any:
        if name == "pi":
            return pi()
        if name in ("inf", "nan"):
            return Number(mpmath.mpf(name))
        if name == "e":
            value = +mp.e
            return Number(value, float(value))
        if self._table.get(name) is None:
            raise UnknownName(f"{self._name}.{name} is not known to the check")
        return self._table[name]


NP["linalg"] = Shim("np.linalg", LINALG)
