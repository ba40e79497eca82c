"""NumPy's own functions on symbols, so that existing NumPy text can be declared as it is."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from ...errors import DeclarationError
from ...expr import apply
from ...ops import NAMES
from . import joining, matrices
from .arithmetic import combined, elementwise, matmul, reduced, std, var
from .graph import constant
from .reshaping import reshape, swapaxes, transpose
from .subscripts import selected
from .values import Traced, line, traced

_UFUNCS: Mapping[str, str] = {
    **{"subtract": "sub", "multiply": "mul", "divide": "div", "true_divide": "div", "negative": "neg"},
    **{"absolute": "abs", "fabs": "abs", "floor_divide": "floordiv", "float_power": "pow", "fmax": "maximum"},
    **{"fmin": "minimum"},
}


_PI = Traced(constant(apply("pi")))

_COMPOSED: Mapping[str, Callable[..., Traced]] = {
    **{f"bitwise_{op}": partial(combined, op) for op in ("and", "or")},
    "invert": partial(combined, "not"),
    "matmul": matmul,
    "positive": traced,
    "square": lambda x: elementwise("pow", x, 2),
    "reciprocal": lambda x: elementwise("div", 1, x),
    **dict.fromkeys(("deg2rad", "radians"), lambda x: elementwise("div", elementwise("mul", x, _PI), 180)),
    **dict.fromkeys(("rad2deg", "degrees"), lambda x: elementwise("div", elementwise("mul", x, 180), _PI)),
}


def call_ufunc(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Traced:
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


def _clip(x: Any, low: Any = None, high: Any = None) -> Traced:
    x = traced(x)
    if low is not None and high is not None:
        return elementwise("clip", x, low, high)
    x = x if low is None else elementwise("maximum", x, low)
    return x if high is None else elementwise("minimum", x, high)


def _outer(a: Any, b: Any) -> Traced:
    """Of all elements of the one and all of the other, however many axes they have."""
    return elementwise("mul", selected(_flat(traced(a)), (slice(None), None)), _flat(traced(b)))


def _flat(x: Traced) -> Traced:
    if not x._node.rank:
        return selected(x, None)
    return x if x._node.rank == 1 and not x._lead else reshape(x, -1)


def _dot(a: Any, b: Any) -> Traced:
    a, b = traced(a), traced(b)
    if not a._node.rank or not b._node.rank:
        return elementwise("mul", a, b)
    if (a._node.rank > 1 or a._lead) and (b._node.rank > 2 or b._lead):
        raise DeclarationError(
            f"np.dot of {a!r} and {b!r} multiplies each row of the one with each column of the other ({line()}). "
            f"A batch of matrix products is a @ b."
        )
    return matmul(a, b)


def _trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Traced:
    a = traced(a)
    if a._node.rank != 2 or a._lead or (offset, axis1, axis2) != (0, 0, 1):
        raise DeclarationError(
            f"np.trace is traced for the diagonal of a matrix, not of {a!r} ({line()}). "
            f"sg.trace and np.linalg.trace take the last two axes."
        )
    return matrices.trace(a)


def _squeeze(x: Traced, axis: int) -> Traced:
    key: list[Any] = [slice(None)] * x._node.rank
    key[axis] = 0
    return selected(x, (..., *key[x._lead :]) if x._lead else tuple(key))


def _expand_dims(x: Traced, axis: int) -> Traced:
    if not isinstance(axis, int):
        raise DeclarationError(f"np.expand_dims adds one axis at a time, and not {axis} ({line()}).")
    key: list[Any] = [slice(None)] * x._node.rank
    key.insert(axis if axis >= 0 else len(key) + 1 + axis, None)
    return selected(x, (..., *key[x._lead :]) if x._lead else tuple(key))


_MATRICES = """inv solve det slogdet cholesky qr eigh eigvalsh svdvals pinv matrix_power norm sort argsort
    median""".split()

_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **{kind: partial(reduced, kind) for kind in ("sum", "mean", "max", "min", "prod", "argmax")},
    **{"amax": partial(reduced, "max"), "amin": partial(reduced, "min"), "var": var, "std": std},
    "where": joining.where,
    "stack": lambda arrays, axis=0: joining.stack(arrays, axis),
    "concatenate": joining.concatenate,
    "dot": _dot,
    "clip": _clip,
    "outer": _outer,
    "trace": _trace,
    "transpose": lambda a, axes=(): transpose(a, *(axes or ())),
    "matrix_transpose": lambda x: swapaxes(x, -1, -2),
    "swapaxes": swapaxes,
    "reshape": lambda a, shape: reshape(a, shape),
    "squeeze": _squeeze,
    "expand_dims": _expand_dims,
    **{name: getattr(matrices, name) for name in _MATRICES},
}


_OF_MATRICES: Mapping[str, Callable[..., Any]] = {"trace": matrices.trace}  # of np.linalg, where np has another


def call_function(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """`np.sum(x, axis=-1)`, `np.where`, `np.stack` and the like."""
    name = function.__name__
    if name not in _FUNCTIONS:
        raise DeclarationError(f"np.{name} cannot be traced ({line()}). Write it with the functions of symgrad.")
    ours = _FUNCTIONS[name]
    if function.__module__ == "numpy.linalg":
        ours = _OF_MATRICES.get(name, ours)
    try:
        inspect.signature(ours).bind(*args, **kwargs)
    except TypeError as error:
        raise DeclarationError(f"np.{name} cannot be traced so: {error} ({line()}).") from None
    return ours(*args, **kwargs)
