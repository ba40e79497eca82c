"""The arrays that a traced Python function computes with: NumPy's operators on symbols.

An `Array` is a node of the graph, and how many of its leading axes stand for a pack where it is used. A term of index
notation, a size, an option and a loop index are arrays of rank 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from math import inf
from typing import Any, Union

import numpy as np

from ...errors import DeclarationError
from ...expr import ONE, ZERO, Apply, Expr, Ref, as_expr, is_exact, show, value_of
from ...ir import Dtype
from ...ops import OPS
from ..infinity import INFINITY
from .graph import (
    Node,
    Value,
    axes_of,
    constant,
    is_pack,
    read,
    value,
)
from .scope import current, here
from .subscripts import Place, select_axes

_NO_VALUE = (
    "{name}a symbol has no {what} while symgrad traces the function ({line}). Choose between values with "
    "sg.where(condition, a, b); annotate an option that steers Python code with sg.Static."
)


Operand = Union["Array", "Absent", int, float, Fraction]
Axis = int | Sequence[int] | None


def _binary(op: str) -> tuple[Callable[[Array, Operand], Array], Callable[[Array, Operand], Array]]:
    """The methods of an operator with the array on its left, and on its right."""
    return lambda x, other: _applied(op, x, other), lambda x, other: _applied(op, other, x)


def _unary(op: str) -> Callable[[Array], Array]:
    return lambda x: _applied(op, x)


def _reduction(kind: str, about: str) -> Callable[..., Array]:
    def method(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
        from .arithmetic import reduced  # here, not above: it needs Array

        return reduced(kind, x, axis, keepdims)

    method.__name__, method.__doc__ = kind, f"{about} over `axis`, a tuple of axes, or everything."
    return method


def _applied(op: str, *args: Any) -> Array:
    from .arithmetic import combined, elementwise, matmul  # as above

    if op == "matmul":
        return matmul(*args)
    return combined(op, *args) if OPS[op].kind == "logic" else elementwise(op, *args)


class Array:
    """A symbolic array; see the head of this file."""

    __slots__ = ("_lead", "_node")
    _node: Node
    _lead: int

    def __init__(self, node: Node, lead: int = 0) -> None:
        self._node = node
        self._lead = lead
        current()

    # what it is

    @property
    def shape(self) -> tuple[Any, ...]:
        """The extents: a plain int where the size is literal, else a symbol to compute with."""
        return tuple(int(value_of(e)) if is_exact(e) else Array(constant(e)) for e in self._node.shape)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        if any(is_pack(e) for e in self._node.shape):
            raise DeclarationError(f"{here()}the number of axes is not known with `...` in front ({line()}).")
        return self._node.rank

    def __repr__(self) -> str:
        return f"<symbolic array of shape ({', '.join(show(e) for e in self._node.shape)})>"

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

    # reductions

    sum = _reduction("sum", "The sum")
    mean = _reduction("mean", "The mean")
    max = _reduction("max", "The largest element")
    min = _reduction("min", "The smallest element")
    prod = _reduction("prod", "The product")
    logsumexp = _reduction("logsumexp", "log(sum(exp(x)))")
    argmax = _reduction("argmax", "The position of the largest element, the first one at a tie,")

    def var(self, axis: Axis = None, ddof: int = 0, keepdims: bool = False, correction: int | None = None) -> Array:
        """The mean square of the distance from the mean over `axis`; the count is lessened by `ddof` (`correction`)."""
        less = ddof if correction is None else correction
        squares = (self - self.mean(axis, keepdims=axis is not None)) ** 2
        if not less:
            return squares.mean(axis, keepdims)
        count = as_array(1)
        for a in sorted(reduced_axes(self, axis)):
            count = count * Array(constant(self._node.shape[a]))
        return (squares / (count - less)).sum(axis, keepdims)

    def std(self, axis: Axis = None, ddof: int = 0, keepdims: bool = False, correction: int | None = None) -> Array:
        """The square root of `var`."""
        return _applied("sqrt", self.var(axis, ddof, keepdims, correction))

    # what a symbol cannot be

    def __bool__(self) -> bool:
        body = self._node.body if isinstance(self._node, Value) else None
        if body is ONE or body is ZERO:
            return body is ONE  # a comparison of literal sizes
        raise DeclarationError(_NO_VALUE.format(name=here(), what="truth value", line=line()))

    def __index__(self) -> int:
        raise DeclarationError(_NO_VALUE.format(name=here(), what="integer value", line=line()))

    def __int__(self) -> int:
        raise DeclarationError(_NO_VALUE.format(name=here(), what="integer value", line=line()))

    def __float__(self) -> float:
        raise DeclarationError(_NO_VALUE.format(name=here(), what="number", line=line()))

    # axes

    @property
    def T(self) -> Array:  # NumPy's name
        """The array with its axes reversed."""
        return self.transpose()

    @property
    def mT(self) -> Array:  # NumPy's name
        """The array with its last two axes swapped."""
        return self.swapaxes(-1, -2)

    def transpose(self, *axes: Any) -> Array:
        """The axes in the order `axes`, numbers or a tuple of them; reversed if none are given."""
        rank = self._node.rank
        axes = tuple(axes[0]) if len(axes) == 1 and isinstance(axes[0], (tuple, list)) else axes
        if self._lead and not axes:
            raise DeclarationError(f"{here()}.T with `...` in front is ambiguous ({line()}); swap two axes: x.mT.")
        order = [axis_of(self, a) for a in axes] or list(reversed(range(rank)))
        if sorted(order) != list(range(rank)):
            raise DeclarationError(f"{here()}transpose{axes} does not name every axis once ({line()}).")
        return self._permuted(order, 0)

    def swapaxes(self, a: int, b: int) -> Array:
        """The array with two axes swapped."""
        order = list(range(self._node.rank))
        i, j = axis_of(self, a), axis_of(self, b)
        order[i], order[j] = order[j], order[i]
        return self._permuted(order, self._lead)

    def _permuted(self, order: Sequence[int], lead: int) -> Array:
        shape = [self._node.shape[a] for a in order]
        there = axes_of(shape)
        return reread(self, shape, [there[order.index(a)] for a in range(len(order))], lead)

    def reshape(self, *shape: Any) -> Array:
        """The same elements in other axes, in row-major order: neighbours merged, or one axis split; -1 is the rest."""
        from .reshaping import reshape  # here, not above: it needs Array

        return reshape(self, shape)

    def __getitem__(self, key: Any) -> Array:
        place = select_axes(self, key)
        return self._at(place)

    def __setitem__(self, key: Any, x: Any) -> None:
        raise DeclarationError(
            f"{here()}a value cannot be written to, at {line()}: x[...] = ... Build an array of its parts with "
            f"sg.stack, or start one with sg.tensor.new(...) and write its elements."
        )

    def _at(self, place: Place) -> Array:
        node = value(place.shape, read(self._node, place.subscripts), [self._node, *place.nodes])
        return Array(node, place.lead)

    def __len__(self) -> int:
        first = self._node.shape[self._lead : self._lead + 1]
        if not first or not is_exact(first[0]):
            raise DeclarationError(_NO_VALUE.format(name=here(), what="length", line=line()))
        return int(value_of(first[0]))

    def __iter__(self) -> Iterator[Array]:
        first = self._node.shape[self._lead : self._lead + 1]
        if not first or not is_exact(first[0]):
            what = f"an axis of {show(first[0])}" if first else "no axis of its own"
            raise DeclarationError(
                f"{here()}only an axis of literal size can be unpacked; this array has {what} ({line()}). "
                f'Declare the size as a number, sg.Tensor["... 2"], or use index notation.'
            )
        keep = (slice(None),) * (self._node.rank - self._lead - 1)
        return iter([self[(..., k, *keep)] for k in range(int(value_of(first[0])))])

    # NumPy's functions

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        from .numpy_functions import call_ufunc  # here, not above: it needs Array

        return call_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
        from .numpy_functions import call_function  # as above

        return call_function(function, args, kwargs)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise DeclarationError(_NO_VALUE.format(name=here(), what="array of numbers", line=line()))


class Absent:
    """An optional input that a call left out: it disappears from the sum or product it stands in."""

    __slots__ = ("name",)
    __array_ufunc__ = None  # NumPy's own operators then leave the work to those below

    def __init__(self, name: str) -> None:
        self.name = name

    def _other(self, other: Any) -> Any:
        if isinstance(other, Absent):
            raise self._missing()
        return other

    __add__ = __radd__ = __mul__ = __rmul__ = __rsub__ = __rtruediv__ = _other

    def __getitem__(self, key: Any) -> Absent:
        return self

    def _missing(self) -> DeclarationError:
        return DeclarationError(
            f"{here()}{self.name} is left out of this call ({line()}), and only from a sum or a product can an absent "
            f"input disappear. Say what counts without it: sg.given({self.name}, then, otherwise)."
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise self._missing()


class IndexValue(Array):
    """A loop index; `sg.indices` makes them."""

    __slots__ = ()


def reread(x: Array, shape: Sequence[Expr], subscripts: Sequence[Expr], lead: int | None = None) -> Array:
    """The array of that shape with the elements of `x` at `subscripts`, made of the canonical indices of the shape."""
    return Array(value(shape, read(x._node, subscripts), [x._node]), x._lead if lead is None else lead)


def line() -> str:
    """The place in the user's file that is executed."""
    scope = current()
    return scope.line if scope else "outside of a declaration"


def number(x: Any) -> Array | None:
    """A plain number as an array of rank 0; None if it is none."""
    if isinstance(x, (np.generic, np.ndarray)):
        if np.ndim(x) != 0:
            raise DeclarationError(
                f"{here()}an array of numbers stands in the declaration ({line()}). Make it an input, or write its "
                f"elements out: sg.stack([1, 2, 3])."
            )
        x = x.item()
    if isinstance(x, (bool, int, float, Fraction)):
        if x in (inf, -inf):
            return Array(constant(INFINITY if x > 0 else -INFINITY))
        if x != x:
            raise DeclarationError(f"{here()}{x} is no number that a formula can hold ({line()}).")
        return Array(constant(as_expr(int(x) if isinstance(x, bool) else x)))
    return None


def as_array(x: Any) -> Array:
    """Return a traced array, or a plain number as one."""
    if isinstance(x, Array):
        return x
    if isinstance(x, Absent):
        raise x._missing()
    found = number(x)
    if found is None:
        raise DeclarationError(f"{here()}{type(x).__name__} is neither a symbolic array nor a number ({line()}).")
    return found


def is_condition(x: Any) -> bool:
    """Whether the elements are true or false: a comparison, an input of booleans, or True itself."""
    if not isinstance(x, Array):
        return isinstance(x, (bool, np.bool_)) or isinstance(x, np.ndarray) and x.dtype == bool
    node: Node = x._node
    scope = current()
    while isinstance(node, Value):
        body = node.body
        if not isinstance(body, Ref):
            return isinstance(body, Apply) and OPS[body.op].result == "bool"
        if body.name not in node.operands:
            tensor = scope.draft.tensors.get(body.name) if scope else None
            return tensor is not None and tensor.dtype is Dtype.BOOL
        node = node.operands[body.name]
    return False


def axis_of(x: Array, axis: int) -> int:
    """The position of an axis as NumPy counts it; with a pack in front only from the end."""
    rank = x._node.rank
    if not isinstance(axis, (int, np.integer)):
        raise DeclarationError(f"{here()}axis {axis} of {x!r}: one axis is asked for, a number ({line()}).")
    if x._lead and (axis >= 0 or axis < x._lead - rank):
        raise DeclarationError(
            f"{here()}axis {axis} of {x!r}: with `...` in front count from the end, -1 to {x._lead - rank} ({line()})."
            if rank > x._lead
            else f"{here()}axis {axis} of {x!r}: it has no axis but `...` ({line()})."
        )
    if not -rank <= axis < rank:
        raise DeclarationError(f"{here()}axis {axis} of {x!r}, which has {rank} axes ({line()}).")
    return axis % rank


def reduced_axes(x: Array, axis: Axis) -> set[int]:
    """The positions of the axes that `axis` names."""
    if axis is None:
        return set(range(x._node.rank))
    wanted = [axis] if isinstance(axis, int) else list(axis)
    found = {axis_of(x, a) for a in wanted}
    if len(found) != len(wanted):
        raise DeclarationError(f"{here()}axis {axis} names an axis twice ({line()}).")
    return found
