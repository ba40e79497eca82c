"""NumPy's own functions on symbols, so that existing NumPy text can be declared as it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ...errors import DeclarationError
from ...ops import NAMES
from . import matrices, notation
from .arithmetic import elementwise, matmul, reduced
from .values import Array, as_array, line

_UFUNCS: Mapping[str, str] = {
    **{"subtract": "sub", "multiply": "mul", "divide": "div", "true_divide": "div", "negative": "neg"},
    **{"absolute": "abs", "fabs": "abs", "floor_divide": "floordiv", "float_power": "pow", "fmax": "maximum"},
    **{"fmin": "minimum", "bitwise_and": "and", "bitwise_or": "or", "invert": "not", "bitwise_not": "not"},
}


_COMPOSED: Mapping[str, Callable[..., Array]] = {
    "matmul": matmul,
    "positive": as_array,
    "square": lambda x: elementwise("pow", x, 2),
    "reciprocal": lambda x: elementwise("div", 1, x),
    "deg2rad": lambda x: elementwise("div", elementwise("mul", x, notation.pi), 180),
    "rad2deg": lambda x: elementwise("div", elementwise("mul", x, 180), notation.pi),
}


def call_ufunc(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Array:
    """`np.exp(x)`, `np.maximum(x, 0)` and the operators between NumPy's numbers and symbols."""
    name = ufunc.__name__
    if method != "__call__" or kwargs:
        raise DeclarationError(
            f"np.{name}{'' if method == '__call__' else '.' + method} with {', '.join(kwargs) or method} "
            f"cannot be traced ({line()})."
        )
    if name in _COMPOSED:
        return _COMPOSED[name](*inputs)
    op = _UFUNCS.get(name) or NAMES.get(name)
    if op is None:
        raise DeclarationError(f"np.{name} cannot be traced ({line()}). Write it with the functions of symgrad.")
    return elementwise(op, *inputs)


def _clip(x: Any, low: Any = None, high: Any = None) -> Array:
    x = as_array(x)
    if low is not None and high is not None:
        return elementwise("clip", x, low, high)
    x = x if low is None else elementwise("maximum", x, low)
    return x if high is None else elementwise("minimum", x, high)


def _outer(a: Any, b: Any) -> Array:
    return as_array(a)[:, None] * as_array(b)


def _squeeze(x: Array, axis: int) -> Array:
    key: list[Any] = [slice(None)] * x._node.rank
    key[axis] = 0
    return x[(..., *key[x._lead :])] if x._lead else x[tuple(key)]


def _expand_dims(x: Array, axis: int) -> Array:
    key: list[Any] = [slice(None)] * x._node.rank
    key.insert(axis if axis >= 0 else len(key) + 1 + axis, None)
    return x[(..., *key[x._lead :])] if x._lead else x[tuple(key)]


def _reducing(kind: str) -> Callable[..., Array]:
    def function(x: Any, axis: Any = None, keepdims: bool = False) -> Array:
        return reduced(kind, x, axis, keepdims)

    return function


_MATRICES = """inv solve det slogdet cholesky qr eigh eigvalsh svdvals pinv matrix_power trace norm sort argsort
    median""".split()

_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **{kind: _reducing(kind) for kind in ("sum", "mean", "max", "min", "prod", "argmax")},
    **{"amax": _reducing("max"), "amin": _reducing("min")},
    "var": lambda x, axis=None, ddof=0, keepdims=False: as_array(x).var(axis, ddof, keepdims),
    "std": lambda x, axis=None, ddof=0, keepdims=False: as_array(x).std(axis, ddof, keepdims),
    "where": notation.where,
    "stack": lambda arrays, axis=0: notation.stack(arrays, axis),
    "concatenate": notation.concatenate,
    "dot": matmul,
    "clip": _clip,
    "outer": _outer,
    "transpose": lambda x, axes=None: x.transpose(*(axes or ())),
    "matrix_transpose": lambda x: x.mT,
    "swapaxes": lambda x, axis1, axis2: x.swapaxes(axis1, axis2),
    "reshape": lambda x, shape: x.reshape(shape),
    "squeeze": _squeeze,
    "expand_dims": _expand_dims,
    **{name: getattr(matrices, name) for name in _MATRICES},
}


def call_function(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """`np.sum(x, axis=-1)`, `np.where`, `np.stack` and the like."""
    name = function.__name__
    if name not in _FUNCTIONS:
        raise DeclarationError(f"np.{name} cannot be traced ({line()}). Write it with the functions of symgrad.")
    return _FUNCTIONS[name](*args, **kwargs)
