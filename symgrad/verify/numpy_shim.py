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
from .rounding import FUNCTIONS, Number, lift, maximum, minimum, pi, power, total
from .rounding.array import UNSET, Exact, einsum, exact, filled, matmul, result
from .rounding.matrices import argsort


def holds_numbers(value: Any) -> bool:
    """Whether `value` is a Number, or an array or list of them."""
    if isinstance(value, (list, tuple)):
        return any(holds_numbers(v) for v in value)
    return isinstance(value, (Number, Exact))


class Elementwise:
    """A ufunc: elementwise with broadcasting, `.at` for unbuffered accumulation, `.outer`, `.accumulate`.

    whole  NumPy's own, where it makes integers of integers
    """

    def __init__(self, function: Callable[..., Any], inputs: int, whole: Callable[..., Any] | None = None) -> None:
        self.inputs = inputs
        self.whole = whole
        self.ufunc = np.frompyfunc(function, inputs, 1)

    def __call__(self, *args: Any, out: Any = None, where: Any = None) -> Any:
        if where is not None and out is None:
            raise UnknownName("where= without out=")
        if self.whole is not None and out is None and all(np.asarray(a).dtype.kind in "iu" for a in args):
            return self.whole(*args)
        operands = [a.view(np.ndarray) if isinstance(a, np.ndarray) else a for a in args]
        operands = [lift(a) if not isinstance(a, np.ndarray) else a for a in operands]
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

    def at(self, array: Any, where: Any, values: Any = None) -> None:
        self.ufunc.at(array.view(np.ndarray), where, *(() if values is None else (_box(values),)))

    def accumulate(self, array: Any, axis: int = 0) -> Any:
        return result(self.ufunc.accumulate(_box(array), axis))

    def outer(self, a: Any, b: Any) -> Any:
        return result(self.ufunc.outer(_box(a), _box(b)))


def _box(value: Any) -> Any:
    return exact(value).view(np.ndarray)


def _where(condition: Any, *branches: Any) -> Any:
    if not branches:
        return np.where(condition)
    if not any(holds_numbers(b) or isinstance(b, float) for b in branches):
        return np.where(condition, *branches)
    found = np.where(condition, *(_box(b) for b in branches))
    return found[()] if not found.ndim else found.view(Exact)


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
    if isinstance(value, np.ndarray) and value.dtype.kind in "iub":
        return exact(value) if dtype is not None and np.issubdtype(dtype, np.floating) else value
    if holds_numbers(value) or isinstance(value, float):
        return exact(value)
    plain = np.asarray(value, dtype=dtype)
    return exact(plain) if plain.dtype.kind == "f" else plain


def _array(value: Any, dtype: Any = None, **options: Any) -> Any:
    return _asarray(value, dtype).copy()


def _constant(make: Callable[[], Any], integer: int) -> Callable[..., Any]:
    def build(shape: Any, dtype: Any = None, **options: Any) -> Any:
        kind = np.dtype(np.float64 if dtype is None else dtype)
        axes = (int(shape),) if isinstance(shape, (int, np.integer)) else tuple(int(s) for s in shape)
        if kind.kind in "iub":
            return np.full(axes, integer, dtype=kind)
        return filled([make() for _ in range(math.prod(axes))], axes)

    return build


def _like(build: Callable[..., Any]) -> Callable[..., Any]:
    def built(array: Any, dtype: Any = None, shape: Any = None, **options: Any) -> Any:
        kind = getattr(array, "dtype", np.float64) if dtype is None else dtype
        return build(np.shape(array) if shape is None else shape, kind)

    return built


def _full(shape: Any, value: Any, dtype: Any = None) -> Any:
    integer = isinstance(value, (bool, int, np.integer)) and (dtype is None or np.dtype(dtype).kind in "iub")
    if integer:
        return np.full(shape, value, dtype=dtype)
    axes = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    return np.broadcast_to(_box(value), axes).copy().view(Exact)


def _method(name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    def call(array: Any, *args: Any, **kwargs: Any) -> Any:
        if (isinstance(array, np.ndarray) and not isinstance(array, Exact)) or not holds_numbers(array):
            return plain(array, *args, **kwargs)
        return getattr(exact(array), name)(*args, **kwargs)

    return call


def _eye(n: int, m: int | None = None, k: int = 0, dtype: Any = None) -> Any:
    plain = np.eye(n, m, k)
    return plain.astype(dtype) if dtype is not None and np.dtype(dtype).kind in "iub" else exact(plain)


def _heaviside(x: Any, at_zero: Any) -> Any:
    number = lift(x)
    return lift(at_zero) if number == 0 else lift(int(number > 0))


def _clip(x: Any, low: Any = None, high: Any = None) -> Any:
    if low is not None:
        x = NP["maximum"](x, low)
    return x if high is None else NP["minimum"](x, high)


def _pad(array: Any, widths: Any, mode: str = "constant", *, constant_values: Any = 0) -> Any:
    if mode != "constant" or np.ndim(constant_values):
        raise UnknownName("pad with anything but one constant")
    if not isinstance(array, Exact):
        return np.pad(array, widths, constant_values=constant_values)
    return np.pad(array.view(np.ndarray), widths, constant_values=lift(constant_values)).view(Exact)


def _is(test: Callable[[Any], bool]) -> Callable[[Any], Any]:
    check = np.frompyfunc(lambda v: bool(test(lift(v).value)), 1, 1)

    def call(x: Any) -> Any:
        found = check(_box(x))
        return found.astype(bool) if isinstance(found, np.ndarray) else found

    return call


def _tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    left, right = exact(a), exact(b)
    if isinstance(axes, int):
        axes = (range(left.ndim - axes, left.ndim), range(axes))
    one, two = ([x] if isinstance(x, int) else list(x) for x in axes)
    letters = "abcdefghijklmnopqrstuvwxyz"
    first = list(letters[: left.ndim])
    second = list(letters[left.ndim : left.ndim + right.ndim])
    for i, j in zip(one, two, strict=True):
        second[j] = first[i]
    shared = {first[i] for i in one}
    out = "".join(c for c in first if c not in shared) + "".join(c for c in second if c not in shared)
    return einsum(f"{''.join(first)},{''.join(second)}->{out}", left, right)


_UNARY = {
    **{n: n for n in ("exp", "expm1", "log", "log1p", "log2", "log10", "sqrt", "cbrt", "sin", "cos", "tan", "exp2")},
    **{n: n for n in ("sinh", "cosh", "tanh", "floor", "ceil", "trunc", "rint", "sign", "square", "fabs", "sinc")},
    **{f"arc{n[1:]}": n for n in ("asin", "acos", "atan", "asinh", "acosh", "atanh")},
    **{n: n for n in ("asin", "acos", "atan", "asinh", "acosh", "atanh")},
    "abs": "fabs",
    "absolute": "fabs",
}
_BINARY = {
    "hypot": "hypot",
    "arctan2": "atan2",
    "atan2": "atan2",
    "logaddexp": "logaddexp",
    "fmod": "fmod",
    "copysign": "copysign",
}
_OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
    "true_divide": lambda a, b: a / b,
    "power": power,
    "float_power": power,
    "pow": power,
    "maximum": maximum,
    "minimum": minimum,
    "fmax": maximum,
    "fmin": minimum,
    "heaviside": _heaviside,
    "mod": lambda a, b: lift(a) % lift(b),
    "remainder": lambda a, b: lift(a) % lift(b),
    "floor_divide": lambda a, b: lift(a) // lift(b),
}
_WHOLE = "add subtract multiply maximum minimum fmax fmin mod remainder floor_divide abs absolute sign square".split()
_COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "greater": lambda a, b: a > b,
    "greater_equal": lambda a, b: a >= b,
    "less": lambda a, b: a < b,
    "less_equal": lambda a, b: a <= b,
    "equal": lambda a, b: a == b,
    "not_equal": lambda a, b: a != b,
}
_MOVING = """broadcast_to moveaxis swapaxes transpose reshape ravel expand_dims squeeze concatenate stack hstack
    vstack take_along_axis take flip roll repeat tile split array_split diagonal diag triu tril copy
    atleast_1d atleast_2d column_stack rollaxis trace rot90 permute_dims matrix_transpose append""".split()
_PLAIN = """shape ndim size newaxis ndarray issubdtype floating integer inexact number bool_ float64
    float32 int64 intp int32 errstate broadcast_shapes ix_ indices result_type promote_types dtype
    logical_and logical_or logical_not logical_xor any all nonzero unravel_index ravel_multi_index
    generic isscalar s_ index_exp shares_memory may_share_memory cumsum count_nonzero put_along_axis
    iinfo""".split()

_zeros = _constant(lambda: lift(0), 0)
_ones = _constant(lambda: lift(1), 1)
_empty = _constant(lambda: UNSET, -(2**40))

NP: dict[str, Any] = {
    **{name: getattr(np, name) for name in _PLAIN},
    **{name: _moving(getattr(np, name)) for name in _MOVING},
    **{n: Elementwise(FUNCTIONS[of], 1, getattr(np, n) if n in _WHOLE else None) for n, of in _UNARY.items()},
    **{name: Elementwise(FUNCTIONS[of], 2) for name, of in _BINARY.items()},
    **{n: Elementwise(function, 2, getattr(np, n) if n in _WHOLE else None) for n, function in _OPERATORS.items()},
    **_COMPARISONS,
    "arange": lambda stop, dtype=None: np.arange(stop) if dtype is None else _array(np.arange(stop), dtype),
    "negative": Elementwise(lambda a: -a, 1),
    "reciprocal": Elementwise(lambda a: 1 / a, 1),
    "asarray": _asarray,
    "ascontiguousarray": _asarray,
    "asanyarray": _asarray,
    "array": _array,
    "where": _where,
    "zeros": _zeros,
    "ones": _ones,
    "empty": _empty,
    "zeros_like": _like(_zeros),
    "ones_like": _like(_ones),
    "empty_like": _like(_empty),
    "full": _full,
    "full_like": lambda a, value, dtype=None: _full(np.shape(a), value, dtype),
    "eye": _eye,
    "identity": _eye,
    "clip": _clip,
    "pad": _pad,
    "lib": SimpleNamespace(
        stride_tricks=SimpleNamespace(
            sliding_window_view=_moving(np.lib.stride_tricks.sliding_window_view),
            broadcast_to=_moving(np.broadcast_to),
        )
    ),
    "isnan": _is(mp.isnan),
    "isinf": _is(mp.isinf),
    "isfinite": _is(mp.isfinite),
    "signbit": _is(lambda v: v < 0),
    "sum": _method("sum", np.sum),
    "mean": _method("mean", np.mean),
    "prod": _method("prod", np.prod),
    "max": _method("max", np.max),
    "amax": _method("max", np.max),
    "min": _method("min", np.min),
    "amin": _method("min", np.min),
    "argmax": _method("argmax", np.argmax),
    "argmin": _method("argmin", np.argmin),
    "cumsum": _method("cumsum", np.cumsum),
    "cumprod": _method("cumprod", np.cumprod),
    "matmul": matmul,
    "dot": lambda a, b: matmul(a, b) if np.ndim(a) and np.ndim(b) else a * b,
    "vdot": lambda a, b: total((exact(a).ravel() * exact(b).ravel()).tolist()),
    "inner": lambda a, b: matmul(a, NP["swapaxes"](b, -1, -2) if np.ndim(b) > 1 else b),
    "outer": lambda a, b: exact(a).ravel()[:, None] * exact(b).ravel()[None, :],
    "tensordot": _tensordot,
    "einsum": einsum,
    "argsort": argsort,
}  # no nan_to_num: it would hide what the check looks for

SPECIAL: Mapping[str, Any] = {
    **{
        word.rpartition(".")[2]: Elementwise(FUNCTIONS[word.rpartition(".")[2]], row.arity)
        for row in ROWS
        for word in row.spell.values()
        if word.startswith("special.") and "{" not in word
    },
    "erf": Elementwise(FUNCTIONS["erf"], 1),
    "erfc": Elementwise(FUNCTIONS["scipy_erfc"], 1),
    "expit": Elementwise(FUNCTIONS["expit"], 1),
    "log_expit": Elementwise(FUNCTIONS["log_expit"], 1),
    "xlogy": Elementwise(FUNCTIONS["xlogy"], 2),
    "logsumexp": lambda a, axis=None, keepdims=False: _logsumexp(exact(a), axis, keepdims),
}
MATH: Mapping[str, Any] = {
    **{n: FUNCTIONS[n] for n in FUNCTIONS if hasattr(math, n)},
    "prod": math.prod,
    "comb": math.comb,
    "factorial": math.factorial,
}


def _logsumexp(array: Any, axis: Any, keepdims: bool) -> Any:
    top = array.max(axis=axis, keepdims=True)
    found = top + NP["log"](NP["exp"](array - top).sum(axis=axis, keepdims=True))
    return found if keepdims else NP["squeeze"](found, axis=axis)


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
