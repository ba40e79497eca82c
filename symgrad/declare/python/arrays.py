"""The arrays that a traced Python function computes with: NumPy's operators and functions on values of the trace.

An `Array` is a surface: what its operators do is said by functions of values, and what a user calls returns arrays
(`of_arrays`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, ParamSpec

from ...errors import DeclarationError
from ...expr import ONE, ZERO, is_exact, show, value_of
from ...later import np
from ...ops import OPS
from ..names import is_pack
from .arithmetic import combined, elementwise, matmul
from .graph import Value, constant
from .numpy_functions import METHODS, call_function, call_method, call_ufunc
from .reshaping import swapaxes, transpose
from .subscripts import selected
from .values import Operand, Traced

P = ParamSpec("P")


def _no_value(what: str) -> DeclarationError:
    return DeclarationError(
        f"a symbol has no {what} while symgrad traces the function. Choose between values with "
        f"sg.where(condition, a, b); annotate an option that steers Python code with sg.Static."
    )


def as_array(x: Traced) -> Array:
    """A value of the trace with operators."""
    return x if isinstance(x, Array) else Array(x._node, x._lead)


def as_arrays(x: Any) -> Any:
    """What a function of values returns, one or several, as arrays."""
    return tuple(map(as_array, x)) if isinstance(x, tuple) else as_array(x)


def of_arrays(function: Callable[P, Any]) -> Callable[P, Any]:
    """The function as users call it: it returns arrays."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> Any:
        return as_arrays(function(*args, **kwargs))

    return call


def _applied(op: str, *args: Any) -> Array:
    """What Python's operator does."""
    if op == "matmul":
        return as_array(matmul(*args))
    return as_array(combined(op, *args) if OPS[op].kind == "logic" else elementwise(op, *args))


def _binary(op: str) -> tuple[Callable[[Array, Operand], Array], Callable[[Array, Operand], Array]]:
    """The methods of an operator with the array on its left, and on its right."""
    return lambda x, other: _applied(op, x, other), lambda x, other: _applied(op, other, x)


def _unary(op: str) -> Callable[[Array], Array]:
    return lambda x: _applied(op, x)


def _without(what: str) -> Callable[..., Any]:
    def method(x: Array, *args: Any, **kwargs: Any) -> Any:
        raise _no_value(what)

    return method


class Array(Traced):
    """A symbolic array; see the head of this file."""

    __slots__ = ()

    # what it is

    @property
    def shape(self) -> tuple[Any, ...]:
        """The extents: a plain int where the size is literal, else a symbol to compute with."""
        return tuple(int(value_of(e)) if is_exact(e) else Array(constant(e)) for e in self._node.shape)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        if any(is_pack(e) for e in self._node.shape):
            raise DeclarationError("the number of axes is not known with `...` in front.")
        return self._node.rank

    def __hash__(self) -> int:
        return id(self)

    # what operators do

    __add__, __radd__ = _binary("add")
    __sub__, __rsub__ = _binary("sub")
    __mul__, __rmul__ = _binary("mul")
    __truediv__, __rtruediv__ = _binary("div")
    __floordiv__, __rfloordiv__ = _binary("floordiv")
    __mod__, __rmod__ = _binary("mod")
    __pow__, __rpow__ = _binary("pow")
    __matmul__, __rmatmul__ = _binary("matmul")
    __and__, __rand__ = _binary("and")
    __or__, __ror__ = _binary("or")
    __lt__, __gt__ = _binary("lt")[0], _binary("gt")[0]
    __le__, __ge__ = _binary("le")[0], _binary("ge")[0]
    __eq__, __ne__ = _binary("eq")[0], _binary("ne")[0]  # type: ignore[assignment]  # of symbols it is a symbol
    __neg__, __abs__, __invert__ = _unary("neg"), _unary("abs"), _unary("not")

    def __pos__(self) -> Array:
        return self

    # what a symbol cannot be

    def __bool__(self) -> bool:
        body = self._node.body if isinstance(self._node, Value) else None
        if body is ONE or body is ZERO:
            return body is ONE  # a comparison of literal sizes
        raise _no_value("truth value")

    __int__ = __index__ = _without("integer value")
    __float__ = _without("number")

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise DeclarationError(
            "np.array and np.asarray of a symbol cannot be traced: it has no array of numbers "
            "while symgrad traces the function. Leave them out, or write x.copy(); several are np.stack([x, y])."
        )

    # axes

    @property
    def T(self) -> Array:  # NumPy's name
        """The array with its axes reversed."""
        return as_array(transpose(self))

    @property
    def mT(self) -> Array:  # NumPy's name
        """The array with its last two axes swapped."""
        return as_array(swapaxes(self, -1, -2))

    __getitem__ = of_arrays(selected)

    def __setitem__(self, key: Any, x: Any) -> None:
        raise DeclarationError(
            "x[...] = ... writes to a value, which cannot be. Build an array of its parts with "
            "sg.stack, or start one with sg.tensor.new(...) and write its elements."
        )

    def __len__(self) -> int:
        first = self._node.shape[self._lead : self._lead + 1]
        if not first or not is_exact(first[0]):
            raise _no_value("length")
        return int(value_of(first[0]))

    def __iter__(self) -> Iterator[Array]:
        first = self._node.shape[self._lead : self._lead + 1]
        if not first or not is_exact(first[0]):
            what = f"an axis of {show(first[0])}" if first else "no axis of its own"
            raise DeclarationError(
                f"only an axis of literal size can be unpacked; this array has {what}. "
                f'Declare the size as a number, sg.Tensor["... 2"], or use index notation.'
            )
        keep = (slice(None),) * (self._node.rank - self._lead - 1)
        return iter([self[(..., k, *keep)] for k in range(int(value_of(first[0])))])

    # NumPy's functions

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """The methods that NumPy's arrays have: `x.sum(axis=-1)`, `x.reshape(n, -1)`."""
        if name not in METHODS:
            raise AttributeError(f"a symbolic array has no {name!r}")
        return of_arrays(functools.partial(call_method, name, self))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return as_arrays(call_ufunc(ufunc, method, inputs, kwargs))

    def __array_function__(self, function: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
        return as_arrays(call_function(function, args, kwargs))
