"""NumPy's own functions on symbols, so that existing NumPy text can be declared as it is."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial, reduce
from typing import Any

from ...errors import DeclarationError
from ...expr import ONE, ZERO
from ...later import np
from ...ops import NAMES, OPS
from ..composed import COMPOSED, WORDS
from . import joining, matrices, numpy_axes, numpy_curves, numpy_sums
from .arithmetic import combined, contracted, elementwise, mapped, matmul, reduced, std, var
from .reshaping import reshape, swapaxes, transpose
from .subscripts import selected
from .values import Traced, reread, traced

_COMPOSED: Mapping[str, Callable[..., Any]] = {
    **{f"bitwise_{op}": partial(combined, op) for op in ("and", "or")},
    "invert": partial(combined, "not"),
    "matmul": matmul,
    "positive": lambda x: copied(x),
    "vecdot": partial(contracted, ["i", "i"], []),
    "matvec": partial(contracted, ["ij", "j"], ["i"]),
    "vecmat": partial(contracted, ["i", "ij"], ["j"]),
    "divmod": lambda x, y: (elementwise("floordiv", x, y), elementwise("mod", x, y)),
    "modf": lambda x: (elementwise("sub", x, elementwise("trunc", x)), elementwise("trunc", x)),
    **{name: partial(mapped, COMPOSED[name]) for name in ("square", "reciprocal")},
    **{name: partial(mapped, COMPOSED[name]) for name in ("deg2rad", "radians", "rad2deg", "degrees")},
}


_NEUTRAL = {"add": ZERO, "mul": ONE}  # of the others the first element is the first result


def _reduce(op: str, x: Any, axis: Any = 0, *, keepdims: bool = False) -> Traced:
    return reduced(OPS[op].reduction, x, axis, keepdims)


def _accumulate(op: str, x: Any, axis: int = 0) -> Traced:
    return numpy_sums.running(op, _NEUTRAL.get(op), x, axis)


def _outwards(op: str, a: Any, b: Any) -> Traced:
    """Of each element of the one and each of the other, the axes of the one first."""
    return elementwise(op, selected(traced(a), (..., *[None] * traced(b)._node.rank)), b)


_OF_UFUNCS: Mapping[str, Callable[..., Traced]] = {"reduce": _reduce, "accumulate": _accumulate, "outer": _outwards}


def call_ufunc(ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """`np.exp(x)`, `np.maximum(x, 0)`, `np.add.reduce(x)` and the operators between NumPy's numbers and symbols."""
    name, kwargs = ufunc.__name__, _asked(kwargs)
    op = WORDS.get(name) or NAMES.get(name)
    if method == "__call__" and not kwargs and (name in _COMPOSED or op is not None):
        return _COMPOSED[name](*inputs) if name in _COMPOSED else elementwise(op or "", *inputs)
    if op is not None and (method == "outer" or method in _OF_UFUNCS and OPS[op].reduction):
        found: Traced = bound(f"{name}.{method}", partial(_OF_UFUNCS[method], op), inputs, kwargs)
        return found
    whole = name if method == "__call__" else f"{name}.{method}"
    raise _refused(f"{whole} with {', '.join(kwargs)}" if kwargs else whole, name)


def _clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Traced:
    x, low, high = traced(a), (a_min if min is None else min), (a_max if max is None else max)
    if low is not None and high is not None:
        return elementwise("clip", x, low, high)
    x = x if low is None else elementwise("maximum", x, low)
    return x if high is None else elementwise("minimum", x, high)


def _round(a: Any, decimals: int = 0) -> Traced:
    if not decimals:
        return elementwise("rint", a)
    return elementwise("div", elementwise("rint", elementwise("mul", a, 10**decimals)), 10**decimals)


def _reduced_where(kind: str, a: Any, axis: Any = None, keepdims: bool = False, where: Any = None) -> Traced:
    if where is None:
        return reduced(kind, a, axis, keepdims)
    held = elementwise("select", where, a, 1 if kind == "prod" else 0)
    if kind != "mean":
        return reduced(kind, held, axis, keepdims)
    counted = elementwise("select", where, elementwise("add", elementwise("mul", 0, a), 1), 0)
    return elementwise("div", *(reduced("sum", x, axis, keepdims) for x in (held, counted)))


def _item(a: Any) -> Traced:
    a = traced(a)
    if any(e is not ONE for e in a._node.shape):
        raise DeclarationError(f"x.item() is of one element, not of {a!r}.")
    return reread(a, (), [ZERO] * a._node.rank, 0)


def _outer(a: Any, b: Any) -> Traced:
    """Of all elements of the one and all of the other, however many axes they have."""
    return elementwise("mul", selected(numpy_axes.flat(a), (slice(None), None)), numpy_axes.flat(b))


def _dot(a: Any, b: Any) -> Traced:
    p, q = traced(a)._node.rank, traced(b)._node.rank
    if not p or not q:
        return elementwise("mul", a, b)
    return numpy_sums.tensordot(a, b, (-1, -2)) if p > 1 and q > 2 else matmul(a, b)


def copied(a: Any) -> Traced:
    """The same elements in an array of its own."""
    a = traced(a)
    return Traced(a._node, a._lead)


def astype(a: Any, dtype: Any, copy: bool = True) -> Traced:
    """A copy, for a type of real numbers."""
    if np.dtype(dtype).kind != "f":
        raise DeclarationError(
            f"x.astype({np.dtype(dtype)}) cannot be traced: np.trunc(x) is the number without its fraction; an array "
            f"of integers is an input, sg.Int['n']."
        )
    return copied(a)


def _svd(a: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    if full_matrices and compute_uv:
        raise DeclarationError("np.linalg.svd is traced with full_matrices=False.")
    return matrices.svd(a) if compute_uv else matrices.svdvals(a)


SECTIONS: Mapping[str, Callable[..., tuple[int, list[slice]]]] = {  # an axis, and its parts
    **dict.fromkeys(("split", "array_split"), numpy_axes.sections),
    "hsplit": lambda ary, where: numpy_axes.sections(ary, where, 0 if traced(ary)._node.rank == 1 else 1),
    "vsplit": lambda ary, where: numpy_axes.sections(ary, where, 0),
}


def _split(sections: Callable[..., tuple[int, list[slice]]], ary: Any, *where: Any, **axis: Any) -> tuple[Traced, ...]:
    at, parts = sections(ary, *where, **axis)
    return tuple(numpy_axes.along(traced(ary), at, part) for part in parts)


_MATRICES = """inv solve det slogdet cholesky qr eigh eigvalsh svdvals pinv matrix_power norm sort argsort
    median""".split()
_SUMS = """diff trapezoid average ptp count_nonzero quantile einsum tensordot inner kron cross""".split()
_CURVES = "interp polyval vander gradient convolve correlate digitize searchsorted piecewise".split()
_AXES = """expand_dims squeeze moveaxis flip roll tril triu diagonal diag broadcast_to repeat tile pad vstack hstack
    column_stack append delete insert rot90 meshgrid block select take take_along_axis""".split()

FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **{kind: partial(reduced, kind) for kind in ("max", "min", "argmax")},
    **{kind: partial(_reduced_where, kind) for kind in ("sum", "prod", "mean")},
    **{"amax": partial(reduced, "max"), "amin": partial(reduced, "min"), "var": var, "std": std},
    "argmin": lambda a, axis=None, *, keepdims=False: reduced("argmax", elementwise("neg", a), axis, keepdims),
    "any": numpy_sums.any_of,
    "all": numpy_sums.all_of,
    "cumsum": lambda a, axis=None: numpy_sums.running("add", ZERO, a, axis),
    "cumprod": lambda a, axis=None: numpy_sums.running("mul", ONE, a, axis),
    "percentile": lambda a, q, axis=None, *, keepdims=False: numpy_sums.quantile(a, q / 100, axis, keepdims),
    "where": joining.where,
    "stack": lambda arrays, axis=0: joining.stack(arrays, axis),
    "concatenate": joining.concatenate,
    "dot": _dot,
    "vdot": lambda a, b: matmul(numpy_axes.flat(a), numpy_axes.flat(b)),
    "multi_dot": lambda arrays: reduce(matmul, arrays),
    "clip": _clip,
    "outer": _outer,
    "trace": lambda a, offset=0, axis1=0, axis2=1: reduced("sum", numpy_axes.diagonal(a, offset, axis1, axis2), -1),
    "transpose": lambda a, axes=(): transpose(traced(a), *(axes or ())),
    "matrix_transpose": lambda x: swapaxes(traced(x), -1, -2),
    "swapaxes": lambda a, axis1, axis2: swapaxes(traced(a), axis1, axis2),
    "reshape": lambda a, shape: reshape(traced(a), shape),
    "ravel": numpy_axes.flat,
    "fliplr": lambda m: numpy_axes.flip(m, 1),
    "flipud": lambda m: numpy_axes.flip(m, 0),
    "atleast_1d": lambda x: numpy_axes.flat(x) if not traced(x)._node.rank else x,
    "atleast_2d": numpy_axes.at_least_2d,
    "copy": copied,
    **dict.fromkeys(("round", "around"), _round),
    **dict.fromkeys(("real", "real_if_close"), traced),
    **dict.fromkeys(("zeros_like", "empty_like"), partial(numpy_axes.ones_of, 0)),
    "ediff1d": lambda ary: numpy_sums.diff(numpy_axes.flat(ary)),
    **{name: partial(_split, sections) for name, sections in SECTIONS.items()},
    "ones_like": partial(numpy_axes.ones_of, 1),
    "full_like": lambda a, fill_value: numpy_axes.ones_of(fill_value, a),
    "svd": _svd,
    "vector_norm": lambda x, *, axis=None, ord=2: (
        matrices.norm(numpy_axes.flat(x), ord) if axis is None else matrices.norm(x, ord, axis)
    ),
    "matrix_norm": lambda x, *, keepdims=False, ord="fro": matrices.norm(x, ord, (-2, -1), keepdims),
    **{name: getattr(numpy_sums, name) for name in _SUMS},
    **{name: getattr(numpy_axes, name) for name in _AXES},
    **{name: getattr(numpy_curves, name) for name in _CURVES},
    **{name: getattr(matrices, name) for name in _MATRICES},
}
_OF_MATRICES: Mapping[str, Callable[..., Any]] = {"trace": matrices.trace}  # of np.linalg, where np has another

INSTEAD: Mapping[str, str] = {  # what is written for what is no formula
    **dict.fromkeys(
        "nan_to_num isnan isfinite isinf nansum nanmean nanmax nanmin nancumsum".split(),
        "A formula has no NaN to look for: say where there is a value, np.where(x > 0, np.log(x), 0).",
    ),
    **dict.fromkeys(
        "unique nonzero argwhere flatnonzero".split(),
        "Positions that data tells are an input of integers: i: sg.Int['n'], and then table[i].",
    ),
    **dict.fromkeys(
        ("bincount", "histogram"),
        "Sum by place: out = sg.tensor.new('k'), out[t[i]] += x[i], with i of sg.indices.",
    ),
    **dict.fromkeys(
        ("cov", "corrcoef"),
        "NumPy drops axes of length 1; c = x - x.mean(axis=1, keepdims=True), c @ c.T / (n - 1).",
    ),
    "unwrap": "Count the turns outside: turns: sg.Int['n'], and x + 2*np.pi*turns.",
    **dict.fromkeys(
        "fft ifft rfft irfft fft2".split(),
        "Its numbers are complex. The parts are products with matrices that are inputs: np.cos(2*np.pi*k*t/n) @ x.",
    ),
    "lstsq": "Write np.linalg.solve(a.T @ a, a.T @ b), or np.linalg.pinv(a) @ b.",
    **dict.fromkeys(("apply_along_axis", "vectorize"), "Write the function of the whole array, with axis=."),
}


def _refused(what: str, name: str) -> DeclarationError:
    said = INSTEAD.get(name, "Write it with the functions of symgrad, or in index notation.")
    return DeclarationError(f"np.{what} cannot be traced. {said}")


_NEUTRAL_KEYWORDS: Mapping[str, Callable[[Any], bool]] = {  # what changes nothing in a formula
    "out": lambda given: given is None,
    "dtype": lambda given: given is None or np.dtype(given).kind == "f",
    "casting": lambda given: True,
    "order": lambda given: given in ("C", "K", "A"),
    "subok": lambda given: True,
    "where": lambda given: given is True,
    "overwrite_input": lambda given: True,
}


def _asked(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in kwargs.items() if not (k in _NEUTRAL_KEYWORDS and _NEUTRAL_KEYWORDS[k](v))}


def bound(name: str, ours: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Call a function of ours, if it takes these arguments; what may be None is, where it is an optional input that is
    absent."""
    kwargs = _asked(kwargs)
    signature = inspect.signature(ours)
    try:
        found = signature.bind(*args, **kwargs)
    except TypeError as error:
        hint = " NumPy's words are axis and keepdims." if {"dim", "keepdim"} & {*kwargs} else ""
        raise DeclarationError(f"np.{name} cannot be traced so: {error}.{hint}") from None
    for parameter, x in found.arguments.items():
        if signature.parameters[parameter].default is None and joining.is_optional(x):
            there = ours(*found.args, **found.kwargs)
            found.arguments[parameter] = None
            return joining.given(x, there, bound(name, ours, found.args, found.kwargs))
    return ours(*args, **kwargs)


def call_function(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """`np.sum(x, axis=-1)`, `np.where`, `np.stack` and the like."""
    name = function.__name__
    if name in NAMES and name not in FUNCTIONS:
        return bound(name, partial(elementwise, NAMES[name]), args, kwargs)
    if name not in FUNCTIONS:
        raise _refused(name, name)
    linalg = function.__module__ == "numpy.linalg"
    return bound(name, (_OF_MATRICES if linalg else FUNCTIONS).get(name, FUNCTIONS[name]), args, kwargs)


# what NumPy reads off the memory of its argument, and whether it may copy that
SHARING: Mapping[str, bool] = {
    **dict.fromkeys("transpose swapaxes squeeze expand_dims moveaxis flip fliplr flipud rot90".split(), False),
    **dict.fromkeys(("matrix_transpose", "diagonal", "broadcast_to"), False),
    **dict.fromkeys(("reshape", "ravel"), True),
}

METHODS: Mapping[str, Callable[..., Any]] = {
    **{name: FUNCTIONS[name] for name in "sum mean max min prod var std argmax argmin any all cumsum cumprod".split()},
    **{name: FUNCTIONS[name] for name in "argsort clip copy diagonal dot ravel repeat squeeze take trace".split()},
    **{"flatten": numpy_axes.flat, "reshape": reshape, "swapaxes": swapaxes, "transpose": transpose},
    "logsumexp": partial(reduced, "logsumexp"),
    **{"astype": astype, "item": _item, "round": _round, "conj": traced, "conjugate": traced},
}


TORCHS: Mapping[str, str] = {  # what NumPy writes for methods of torch's tensors
    **dict.fromkeys(("t", "mT"), "The transpose is x.T, of stacks of matrices np.swapaxes(x, -1, -2)."),
    **{"view": "Write x.reshape(...).", "permute": "Write np.transpose(x, axes).", "unsqueeze": "Write x[:, None]."},
    **dict.fromkeys(("softmax", "log_softmax"), "Write sg.library.softmax(x, axis=-1), or log_softmax."),
}


def call_method(name: str, *args: Any, **kwargs: Any) -> Any:
    """`x.sum(axis=-1)` and the like, `x` first."""
    return bound(name, METHODS[name], args, kwargs)
