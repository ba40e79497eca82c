"""The modules and built-in functions that a declared Python function calls, as its trace sees them:
`np.zeros(x.shape)`, `math.sin(x)` and `len(x)` take symbols there; what has no symbols is computed as ever.

NumPy's functions of arrays ask the arrays what to do (`Array.__array_function__`); what is here does not: it is given
sizes or lists, or belongs to Python, SciPy, torch or JAX. Only the names of the declared function itself are seen so.
"""

from __future__ import annotations

import builtins
import types
from collections.abc import Callable, Mapping
from functools import partial, reduce
from typing import Any

from ...errors import DeclarationError
from ...expr import ONE, ZERO, Expr, apply
from ...expr.sizes import tidy
from ...later import np
from ...ops import NAMES, OPS
from . import matrices, numpy_axes, numpy_sums
from .arithmetic import elementwise, fitted, reduced
from .arrays import Array, as_arrays
from .graph import axes_of, constant, value
from .numpy_functions import FUNCTIONS, INSTEAD, astype, bound, copied
from .values import Traced, size_of, traced

# arrays of sizes


def _extents(shape: Any) -> list[Expr]:
    sizes = shape if isinstance(shape, (tuple, list)) else (shape,)
    return [size_of(n, "a shape") for n in sizes]


def _full(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C") -> Traced:
    fill = traced(fill_value)
    if dtype is not None and np.dtype(dtype).kind != "f":
        raise DeclarationError(f"an array that a formula fills has real numbers: leave {np.dtype(dtype)} out.")
    extents = _extents(shape)
    return Traced(value(extents, fitted(fill, extents, 0, "np.full"), [fill._node]))


def _zeros(shape: Any, dtype: Any = None, order: str = "C") -> Traced:
    return _full(shape, 0, dtype)


def _ones(shape: Any, dtype: Any = None, order: str = "C") -> Traced:
    return _full(shape, 1, dtype)


def _eye(N: Any, M: Any = None, k: int = 0, dtype: Any = None) -> Traced:
    shape = [size_of(N, "np.eye"), size_of(N if M is None else M, "np.eye")]
    i, j = axes_of(shape)
    return Traced(value(shape, apply("select", apply("eq", i + k, j), ONE, ZERO)))


def _arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> Traced:
    start, stop = (0, start) if stop is None else (start, stop)
    first, last, by = (size_of(n, "np.arange") for n in (start, stop, step))
    if by is not ONE:
        raise DeclarationError("np.arange of sizes is traced with the step 1: np.arange(n)*step has others.")
    shape = [tidy(last - first)]
    return Traced(value(shape, axes_of(shape)[0] + first))


def _linspace(start: Any, stop: Any, num: Any = 50, endpoint: bool = True) -> Traced:
    count = Traced(constant(size_of(num, "np.linspace")))
    steps = elementwise("sub", count, 1) if endpoint else count
    distance = elementwise("div", elementwise("mul", _arange(count), elementwise("sub", stop, start)), steps)
    return elementwise("add", start, distance)


def _array(object: Any, dtype: Any = None, copy: bool | None = True, ndmin: int = 0) -> Any:
    found = traced(object) if isinstance(object, Traced) and not copy else copied(object)
    return found if dtype is None else astype(found, dtype)


class _Columns:
    """`np.c_[x, y]`."""

    def __getitem__(self, key: Any) -> Any:
        return _both(np.c_.__getitem__, numpy_axes.column_stack)(key) if isinstance(key, tuple) else self[(key,)]


class _Rows:
    """`np.r_[x, y]`."""

    def __getitem__(self, key: Any) -> Any:
        return _both(np.r_.__getitem__, numpy_axes.hstack)(key) if isinstance(key, tuple) else self[(key,)]


# of Python and SciPy


def _folded(op: str, name: str) -> Callable[..., Any]:
    def function(*args: Any) -> Any:
        if len(args) == 1:
            return getattr(np, name)(args[0], axis=0)
        return reduce(partial(elementwise, op), args)

    return function


def _sum(x: Any, start: Any = 0) -> Any:
    if isinstance(x, Array) and x._node.rank:
        return elementwise("add", start, reduced("sum", x, 0)) if start else reduced("sum", x, 0)
    return builtins.sum(x, start)


def _len(x: Any) -> Any:
    if isinstance(x, Array) and x._node.rank:
        return x.shape[0]
    return builtins.len(x)


def _range(*args: Any) -> Any:
    raise DeclarationError(
        "the size that a loop runs over is a symbol, which has no integer value here. Write it with functions of the "
        "whole array, or with an index, i = sg.indices('i'), sg.sum[i](x[i]**2). A literal size can be looped over: "
        "sg.Tensor['3']."
    )


def _whole(name: str, instead: str) -> Callable[..., Any]:
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise DeclarationError(f"{name} of a symbol cannot be traced: it has no value yet. {instead}")

    return refuse


def _log(x: Any, base: Any = None) -> Any:
    found = elementwise("log", x)
    return found if base is None else elementwise("div", found, elementwise("log", base))


def _logsumexp(a: Any, axis: Any = None, b: Any = None, keepdims: bool = False) -> Any:
    if b is None:
        return reduced("logsumexp", a, axis, keepdims)
    top = reduced("max", a, axis, True)
    weighed = elementwise("mul", b, elementwise("exp", elementwise("sub", a, top)))
    found = elementwise("add", elementwise("log", reduced("sum", weighed, axis, True)), top)
    every = tuple(range(traced(a)._node.rank))
    return found if keepdims else numpy_axes.squeeze(found, every if axis is None else axis)


def _log_softmax(x: Any, axis: Any = None) -> Any:
    return elementwise("sub", x, reduced("logsumexp", x, axis, True))


def _softmax(x: Any, axis: Any = None) -> Any:
    return elementwise("exp", _log_softmax(x, axis))


# torch's words for what NumPy has: keywords, and names of functions that mean the same with them
_KEYWORDS = {"dim": "axis", "dims": "axis", "keepdim": "keepdims"}
_SAME = """sum mean prod amax amin cumsum cumprod matmul dot outer einsum stack where flip square trace diag tril triu
    kron clip"""
_NAMED = {
    **{name: name for name in _SAME.split()},
    **{"cat": "concatenate", "clamp": "clip", "mm": "matmul", "bmm": "matmul"},
}


def _of_torch(ours: Callable[..., Any]) -> Callable[..., Any]:
    def function(*args: Any, **kwargs: Any) -> Any:
        first = [kwargs.pop("input")] if "input" in kwargs else []
        return ours(*first, *args, **{_KEYWORDS.get(name, name): x for name, x in kwargs.items()})

    return function


def _numpys(name: str) -> Callable[..., Any]:
    return lambda *args, **kwargs: getattr(np, name)(*args, **kwargs)


def _norm_of(*xs: Any) -> Any:
    return elementwise("sqrt", reduce(partial(elementwise, "add"), [elementwise("pow", x, 2) for x in xs]))


# by module and name, what is called in place of the function of that name where a symbol is among the arguments
SEEN: Mapping[str, Mapping[str, Any]] = {
    "numpy": {
        **{"arange": _arange, "linspace": _linspace},
        "array": _array,
        **dict.fromkeys(("asarray", "asanyarray", "ascontiguousarray", "asfortranarray"), partial(_array, copy=False)),
        **{"c_": _Columns(), "r_": _Rows()},
        "vectorize": _whole("np.vectorize", INSTEAD["vectorize"]),
    },
    "math": {
        **{"log": _log, "hypot": _norm_of, "dist": lambda p, q: matrices.norm(elementwise("sub", p, q))},
        **{"fabs": partial(elementwise, "abs"), "gamma": partial(elementwise, "tgamma"), "fsum": _sum},
        **{"prod": lambda x: reduced("prod", x, 0), "fmod": partial(elementwise, "fmod")},
        **{name: lambda x, name=name: getattr(np, name)(x) for name in ("radians", "degrees")},
    },
    "scipy.special": {
        **{"logsumexp": _logsumexp, "log_softmax": _log_softmax},
        "softmax": _softmax,
    },
    "torch": {
        **{name: _of_torch(_numpys(numpys)) for name, numpys in _NAMED.items()},
        **{"softmax": _of_torch(_softmax), "log_softmax": _of_torch(_log_softmax), "logsumexp": _of_torch(_logsumexp)},
    },
    "builtins": {
        **{"len": _len, "sum": _sum, "max": _folded("maximum", "max"), "min": _folded("minimum", "min")},
        "range": _range,
        "sorted": _whole("sorted(x)", "np.sort(x) is an array."),
        "any": numpy_sums.any_of,
        "all": numpy_sums.all_of,
    },
}
# those that are filled by assignments, and so are symbols from the start
FILLED: Mapping[str, Callable[..., Any]] = {
    "zeros": _zeros, "empty": _zeros, "ones": _ones, "full": _full, "eye": _eye, "identity": _eye
}  # fmt: skip
LIKE_NUMPY = ("jax.numpy", "autograd.numpy", "cupy")  # modules of NumPy's functions for other arrays
TORCH = ("torch", "torch.nn", "torch.nn.functional")
MODULES = ("numpy", "numpy.linalg", "math", "scipy", "scipy.special", *LIKE_NUMPY, *TORCH)


def seen(python: Callable[..., Any]) -> Callable[..., Any]:
    """The Python function with the names of modules and functions that it sees in its trace."""
    if not isinstance(python, types.FunctionType) or hasattr(python, "__wrapped__"):
        return python
    ours = {name: _both(getattr(builtins, name), f) for name, f in SEEN["builtins"].items()}
    space = {**ours, **{name: _as_seen(found) for name, found in python.__globals__.items()}}
    cells = tuple(map(_cell, python.__closure__ or ())) or None
    found = types.FunctionType(python.__code__, space, python.__name__, python.__defaults__, cells)
    found.__kwdefaults__ = python.__kwdefaults__
    return found


def _cell(cell: types.CellType) -> types.CellType:
    try:
        found = _as_seen(cell.cell_contents)
    except ValueError:  # it is empty yet
        return cell
    return cell if found is cell.cell_contents else types.CellType(found)


def _as_seen(found: Any) -> Any:
    """What a name stands for, in a trace."""
    if isinstance(found, types.ModuleType):
        return _Module(found) if found.__name__ in MODULES else found
    if callable(found) and hasattr(found, "__name__"):
        home, name = str(getattr(found, "__module__", "")), getattr(found, "__name__", "")
        home = next((m for m in SEEN if home == m or home.startswith(f"{m}.")), "")
        if home:
            return _function(home, name, found)
    return found


class _Module:
    """A module as it is seen in a trace."""

    def __init__(self, module: types.ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        found, home = getattr(self._module, name), self._module.__name__
        if isinstance(found, types.ModuleType):
            return _as_seen(found)
        return _function(home, name, found)


def _function(home: str, name: str, found: Any) -> Any:
    ours = SEEN.get("numpy" if home in LIKE_NUMPY else "torch" if home in TORCH else home, {}).get(name)
    if home in ("numpy", *LIKE_NUMPY) and name in FILLED:
        return _always(name, FILLED[name], found)
    if not callable(found):
        return found if ours is None else ours
    if ours is not None:
        return _both(found, ours)
    if home in LIKE_NUMPY:
        return _both(found, getattr(np, name, None) or found)
    if home in ("numpy", "numpy.linalg") and name in FUNCTIONS:
        return _of_lists(found, FUNCTIONS[name])
    if home in ("math", "torch", "torch.nn.functional") and not isinstance(found, type):
        return _both(found, _elementwise(home, name))
    return found


def _elementwise(home: str, name: str) -> Callable[..., Any]:
    if name in NAMES and OPS[NAMES[name]].arity:
        return partial(elementwise, NAMES[name])
    of = "sg.library" if home.startswith("torch") else "np and sg"
    return _whole(f"{home}.{name}", f"Write it with the functions of {of}.")


def _always(name: str, ours: Callable[..., Any], found: Callable[..., Any]) -> Callable[..., Any]:
    def function(*args: Any, **kwargs: Any) -> Any:
        dtype = kwargs.get("dtype")
        plain = not (_symbolic(args) or _symbolic(tuple(kwargs.values())))
        if plain and dtype is not None and np.dtype(dtype).kind != "f":
            return found(*args, **kwargs)  # positions, or a mask
        return as_arrays(bound(name, ours, args, kwargs))

    return function


def _both(found: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    """The function that does one thing for symbols, and the other for all else."""

    def function(*args: Any, **kwargs: Any) -> Any:
        if not (_symbolic(args) or _symbolic(tuple(kwargs.values()))):
            return found(*args, **kwargs)
        made = bound(getattr(found, "__name__", "function"), ours, args, kwargs)
        return as_arrays(made) if isinstance(made, (Traced, tuple)) else made

    return function


def _of_lists(found: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    """NumPy's function, which asks arrays, and not the elements of a list: `np.sum([x, y])`."""
    listed = _both(found, ours)

    def function(*args: Any, **kwargs: Any) -> Any:
        return (listed if args and isinstance(args[0], (list, tuple)) else found)(*args, **kwargs)

    return function


def _symbolic(x: Any) -> bool:
    return any(map(_symbolic, x)) if isinstance(x, (list, tuple)) else isinstance(x, Traced)
