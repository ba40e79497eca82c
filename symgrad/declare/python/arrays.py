"""The arrays that a traced Python function computes with: NumPy's operators and functions on values of the trace.

An `Array` is a surface: what its operators do is said by functions of values, and what a user calls returns arrays
(`of_arrays`). It is assigned to as NumPy's arrays are: it has another node then, and who shares its memory sees that.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterator
from typing import Any, ParamSpec

from ...errors import DeclarationError
from ...expr import ONE, ZERO, is_exact, product, show, value_of
from ...expr.names import is_pack
from ...later import np
from ...ops import NAMES, OPS
from .arithmetic import combined, elementwise, fitted, matmul
from .branches import instead
from .graph import Node, Value, constant, value
from .numpy_axes import along
from .numpy_functions import METHODS, SECTIONS, SHARING, TORCHS, bound, call_function, call_method, call_ufunc
from .reshaping import swapaxes, transpose
from .scope import current, plain
from .subscripts import selected
from .values import Operand, Traced
from .writing import overwritten

P = ParamSpec("P")


def _no_value(what: str, advice: str = "") -> DeclarationError:
    advice = advice or (
        "Choose between values with sg.where(condition, a, b); annotate an option that steers Python code with "
        "sg.Static."
    )
    return DeclarationError(f"a symbol has no {what} while symgrad traces the function. {advice}")


def _no_branch() -> DeclarationError:
    """What refuses a branch on data; with the line as it can be written."""
    scope = current()
    if scope is None or scope.frame is None:
        return _no_value("truth value")
    said = instead(scope.code, scope.frame.f_lineno)
    said = f"{said.removesuffix('.')}. An option that steers Python code is sg.Static." if said else ""
    return _no_value("truth value", said)


def as_array(x: Traced) -> Array:
    """A value of the trace with operators."""
    return x if isinstance(x, Array) else Array(x._node, x._lead)


def as_arrays(x: Any) -> Any:
    """What a function of values returns, one or several, as arrays."""
    return tuple(map(as_array, x)) if isinstance(x, tuple) else as_array(x)


def of_arrays(function: Callable[P, Any]) -> Callable[P, Any]:
    """The function as users call it: it returns arrays, and those of NumPy while the check calls it with such."""
    name = getattr(function, "__name__", "")  # a method has none

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> Any:
        numerical = plain(name)
        return as_arrays(function(*args, **kwargs)) if numerical is None else numerical(*args, **kwargs)

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


def _in_place(op: str) -> Callable[[Array, Operand], Array]:
    """The method of `x += y`: another number of that name, or the same array with other elements."""

    def method(x: Array, other: Operand) -> Array:
        new = _applied(op, x, other)
        if not x._node.rank or x._lead:
            return new  # numbers, or an array that may be one
        x._become(Traced(value(x._node.shape, fitted(new, x._node.shape, 0, "an assignment"), [new._node])))
        return x

    return method


class NoAttribute(DeclarationError, AttributeError):
    """What a symbolic array does not have."""


def _without(what: str, advice: str) -> Callable[..., Any]:
    def method(x: Array, *args: Any, **kwargs: Any) -> Any:
        raise _no_value(what, advice)

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

    __iadd__, __isub__, __imul__ = _in_place("add"), _in_place("sub"), _in_place("mul")
    __itruediv__, __ipow__, __imod__ = _in_place("div"), _in_place("pow"), _in_place("mod")
    __ifloordiv__, __imatmul__ = _in_place("floordiv"), _in_place("matmul")

    def __pos__(self) -> Array:
        return Array(self._node, self._lead)

    def __divmod__(self, other: Operand) -> tuple[Array, Array]:
        return self // other, self % other

    def __round__(self, digits: int | None = None) -> Array:
        if digits:
            raise DeclarationError("round(x, digits) cannot be traced: write np.rint(x*10**digits)/10**digits.")
        return _applied("rint", self)

    # what a symbol cannot be

    def __bool__(self) -> bool:
        body = self._node.body if isinstance(self._node, Value) else None
        if body is ONE or body is ZERO:
            return body is ONE  # a comparison of literal sizes
        raise _no_branch()

    __index__ = _without(
        "integer value",
        "A loop over an axis of any size is an index, i = sg.indices('i'), or a function of the whole array; an option "
        "that steers Python code is sg.Static.",
    )
    __int__ = _without(
        "integer value",
        "np.trunc(x) is a number without its fraction. Into an array of plain integers a symbol cannot be written: "
        "start with one that is traced, np.zeros(3) in the function.",
    )
    __float__ = _without(
        "number", "Leave float(x) out; for a function that asks for a number there is NumPy's: np.sin(x), np.exp(x)."
    )

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise DeclarationError(
            "a function that is not traced asks for the numbers of a symbol, which has none while symgrad traces the "
            "function. A.dot(x) is written A @ x; what SciPy's distributions and np.vectorize compute, with the "
            "functions of np and sg, of whole arrays; a function of your own that calls np.zeros or math needs "
            "@sg.function above it."
        )

    # axes

    @property
    def T(self) -> Array:  # NumPy's name
        """The array with its axes reversed."""
        return View(self, transpose)

    @property
    def mT(self) -> Array:  # NumPy's name
        """The array with its last two axes swapped."""
        return View(self, lambda x: swapaxes(x, -1, -2))

    def __getitem__(self, key: Any) -> Array:
        keys = key if isinstance(key, tuple) else (key,)
        if all(isinstance(k, (int, slice, types.EllipsisType, types.NoneType)) for k in keys):
            part = View(self, lambda x: selected(x, key), keys)
            return part if part._node.rank and not part._node.free else Array(part._node, part._lead)
        return as_array(selected(self, key))

    def __setitem__(self, key: Any, x: Any) -> None:
        if isinstance(x, View) and x.is_of(self, key if isinstance(key, tuple) else (key,)):
            return  # of y[1:] += x: it is written
        self._become(overwritten(self, key, x))

    def _become(self, new: Traced) -> None:
        """Have other elements."""
        self._node = new._node

    @property
    def size(self) -> Any:
        """The number of elements."""
        if any(is_pack(e) for e in self._node.shape):
            raise DeclarationError("the number of elements is not known with `...` in front: say of which axis.")
        count = product(self._node.shape)
        return int(value_of(count)) if is_exact(count) else Array(constant(count))

    @property
    def real(self) -> Array:
        """The array: its numbers are real."""
        return self

    def __len__(self) -> int:
        first = self._node.shape[self._lead : self._lead + 1]
        if not first or not is_exact(first[0]):
            raise _no_value("length", "x.shape[0] is its size, and len(x) where the function itself asks.")
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
            every = f"It has {', '.join(sorted(METHODS))}."
            said = f"Write sg.{name}(x)." if name in NAMES else TORCHS.get(name, every)
            raise NoAttribute(
                f"a symbolic array has the methods and attributes that are traced of NumPy's, and no {name!r}. {said}"
            )
        if name in SHARING:
            copied = SHARING[name]
            return lambda *args, **kwargs: View(self, lambda x: call_method(name, x, *args, **kwargs), copied=copied)
        return of_arrays(functools.partial(call_method, name, self))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return as_arrays(call_ufunc(ufunc, method, inputs, kwargs))

    def __array_function__(self, function: Callable[..., Any], kinds: Any, args: Any, kwargs: Any) -> Any:
        name = function.__name__
        if name in ("shape", "size", "ndim") and len(args) == 1 and not kwargs:
            return getattr(args[0], name)
        if args and isinstance(args[0], Array) and (name in SHARING or name == "diag" and args[0]._node.rank > 1):
            first, *rest = args
            return View(first, lambda x: call_function(function, (x, *rest), kwargs), copied=SHARING.get(name, False))
        if name in SECTIONS and args and isinstance(args[0], Array):
            at, parts = bound(name, SECTIONS[name], args, kwargs)
            return tuple(args[0]._part(at, part) for part in parts)
        return as_arrays(call_function(function, args, kwargs))

    def _part(self, axis: int, part: slice) -> Array:
        """The elements of an axis, counted from the end, from one on, up to another one."""
        keys = None if any(map(is_pack, self._node.shape)) else (*[slice(None)] * (self._node.rank + axis), part)
        return View(self, lambda x: along(x, axis, part), keys)


class Input(Array):
    """An array that the Python function is given."""

    __slots__ = ()

    def __setitem__(self, key: Any, x: Any) -> None:
        raise DeclarationError(
            "x[...] = ... writes to the array that the caller has given. Write to a copy: y = x.copy(), y[...] = ..."
        )


class View(Array):
    """What NumPy reads off the memory of another array, by `make`: it follows when that is assigned to.

    keys    those of `base[keys]`, which assignments go through to
    copied  NumPy may have copied it: it is not known whether it follows
    """

    __slots__ = ("_base", "_copied", "_found", "_keys", "_made", "_make")

    def __init__(
        self, base: Array, make: Callable[[Array], Traced], keys: tuple[Any, ...] | None = None, copied: bool = False
    ) -> None:
        self._base, self._make, self._keys, self._copied = base, make, keys, copied
        self._made = base._node
        self._found = make(base)
        self._lead = self._found._lead

    @property
    def _node(self) -> Node:  # type: ignore[override]  # asked for anew
        if self._base._node is not self._made:
            if self._copied:
                raise DeclarationError(
                    "an array was assigned to after a part of it was reshaped, which NumPy copies or not. "
                    "Write x.reshape(...).copy(), or assign before."
                )
            self._made, self._found = self._base._node, self._make(self._base)
        return self._found._node

    def _become(self, new: Traced) -> None:
        if self._keys is None:
            raise DeclarationError(
                "this array shares the memory of the one that it was made of by an exchange of axes or a reshape. "
                "Assign to that one, or to a copy, x.T.copy()."
            )
        self._base[self._keys] = new

    def is_of(self, base: Array, keys: tuple[Any, ...]) -> bool:
        """Whether it is `base[keys]`."""
        mine = self._keys or ()
        return self._base is base and len(keys) == len(mine) and all(map(_same, keys, mine))


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, slice) and isinstance(b, slice):
        return _same(a.start, b.start) and _same(a.stop, b.stop) and _same(a.step, b.step)
    return a is b or isinstance(a, int) and isinstance(b, int) and a == b
