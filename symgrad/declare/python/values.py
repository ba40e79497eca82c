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

from ...errors import DeclarationError, ShapeError
from ...expr import ONE, ZERO, Expr, apply, const, is_exact, show, value_of
from ...expr.sizes import equal
from ...ops import NAMES, OPS
from ..reductions import INFINITY
from .graph import (
    Node,
    Value,
    axes_of,
    bound,
    constant,
    is_input,
    is_pack,
    read,
    reduction,
    value,
)
from .scope import current, here
from .subscripts import Place, select_axes

Operand = Union["Array", "Absent", int, float, Fraction]  # names of classes below
Axis = int | Sequence[int] | None

_NO_VALUE = (
    "{name}a symbol has no {what} while symgrad traces the function ({line}). Choose between values with "
    "sg.where(condition, a, b); annotate an option that steers Python code with sg.Static."
)


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

    # operators

    def __add__(self, other: Operand) -> Array:
        return elementwise("add", self, other)

    def __radd__(self, other: Operand) -> Array:
        return elementwise("add", other, self)

    def __sub__(self, other: Operand) -> Array:
        return elementwise("sub", self, other)

    def __rsub__(self, other: Operand) -> Array:
        return elementwise("sub", other, self)

    def __mul__(self, other: Operand) -> Array:
        return elementwise("mul", self, other)

    def __rmul__(self, other: Operand) -> Array:
        return elementwise("mul", other, self)

    def __truediv__(self, other: Operand) -> Array:
        return elementwise("div", self, other)

    def __rtruediv__(self, other: Operand) -> Array:
        return elementwise("div", other, self)

    def __floordiv__(self, other: Operand) -> Array:
        return elementwise("floordiv", self, other)

    def __rfloordiv__(self, other: Operand) -> Array:
        return elementwise("floordiv", other, self)

    def __mod__(self, other: Operand) -> Array:
        return elementwise("mod", self, other)

    def __rmod__(self, other: Operand) -> Array:
        return elementwise("mod", other, self)

    def __pow__(self, other: Operand) -> Array:
        return elementwise("pow", self, other)

    def __rpow__(self, other: Operand) -> Array:
        return elementwise("pow", other, self)

    def __matmul__(self, other: Operand) -> Array:
        return matmul(self, other)

    def __rmatmul__(self, other: Operand) -> Array:
        return matmul(other, self)

    def __neg__(self) -> Array:
        return elementwise("neg", self)

    def __pos__(self) -> Array:
        return self

    def __abs__(self) -> Array:
        return elementwise("abs", self)

    def __lt__(self, other: Operand) -> Array:
        return elementwise("lt", self, other)

    def __le__(self, other: Operand) -> Array:
        return elementwise("le", self, other)

    def __gt__(self, other: Operand) -> Array:
        return elementwise("gt", self, other)

    def __ge__(self, other: Operand) -> Array:
        return elementwise("ge", self, other)

    def __eq__(self, other: object) -> Array:  # type: ignore[override]  # a comparison of symbols is a symbol
        return elementwise("eq", self, other)

    def __ne__(self, other: object) -> Array:  # type: ignore[override]  # as above
        return elementwise("ne", self, other)

    def __and__(self, other: Operand) -> Array:
        return elementwise("and", self, other)

    def __rand__(self, other: Operand) -> Array:
        return elementwise("and", other, self)

    def __or__(self, other: Operand) -> Array:
        return elementwise("or", self, other)

    def __ror__(self, other: Operand) -> Array:
        return elementwise("or", other, self)

    def __invert__(self) -> Array:
        return elementwise("not", self)

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

    def transpose(self, *axes: int) -> Array:
        """The axes in the order `axes`; reversed if none are given."""
        rank = self._node.rank
        if self._lead and not axes:
            raise DeclarationError(f"{here()}.T with `...` in front is ambiguous ({line()}); swap two axes: x.mT.")
        order = [axis_of(self, a) for a in axes] or list(reversed(range(rank)))
        if sorted(order) != list(range(rank)):
            raise DeclarationError(f"{here()}transpose{axes} does not name every axis once ({line()}).")
        shape = [self._node.shape[a] for a in order]
        there = axes_of(shape)
        return Array(value(shape, read(self._node, [there[order.index(a)] for a in range(rank)]), [self._node]))

    def swapaxes(self, a: int, b: int) -> Array:
        """The array with two axes swapped."""
        order = list(range(self._node.rank))
        i, j = axis_of(self, a), axis_of(self, b)
        order[i], order[j] = order[j], order[i]
        shape = [self._node.shape[a] for a in order]
        there = axes_of(shape)
        return Array(value(shape, read(self._node, [there[k] for k in order]), [self._node]), self._lead)

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

    # reductions

    def sum(self, axis: Axis = None, keepdims: bool = False) -> Array:
        """The sum over `axis`, a tuple of axes, or everything."""
        return reduced("sum", self, axis, keepdims)

    def mean(self, axis: Axis = None, keepdims: bool = False) -> Array:
        """The mean over `axis`."""
        return reduced("mean", self, axis, keepdims)

    def max(self, axis: Axis = None, keepdims: bool = False) -> Array:
        """The largest element over `axis`."""
        return reduced("max", self, axis, keepdims)

    def min(self, axis: Axis = None, keepdims: bool = False) -> Array:
        """The smallest element over `axis`."""
        return reduced("min", self, axis, keepdims)

    def prod(self, axis: Axis = None, keepdims: bool = False) -> Array:
        """The product over `axis`."""
        return reduced("prod", self, axis, keepdims)

    def logsumexp(self, axis: Axis = None, keepdims: bool = False) -> Array:
        """log(sum(exp(x))) over `axis`."""
        return reduced("logsumexp", self, axis, keepdims)

    def argmax(self, axis: Axis = None, keepdims: bool = False) -> Array:
        """The position of the largest element over `axis`, the first one at a tie."""
        return reduced("argmax", self, axis, keepdims)

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
        return elementwise("sqrt", self.var(axis, ddof, keepdims, correction))

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
        return Array(constant(const(int(x) if isinstance(x, bool) else x)))
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


def broadcast(arrays: Sequence[Array], what: str) -> tuple[tuple[Expr, ...], int]:
    """The shape that the arrays have together by NumPy's rules, and how many leading axes are a pack.

    Raises ShapeError where two extents differ; a literal 1 stretches, two names never do.
    """
    rank = max((a._node.rank for a in arrays), default=0)
    shape: list[Expr] = [ONE] * rank
    widest: list[Array | None] = [None] * rank
    for a in arrays:
        offset = rank - a._node.rank
        for axis, extent in enumerate(a._node.shape, offset):
            other = widest[axis]
            if is_pack(extent) and axis > 0:
                raise _mismatch(what, arrays, extent, shape[axis], "")
            if other is None:
                shape[axis], widest[axis] = extent, a
            elif not equal(extent, shape[axis]):
                packs = is_pack(extent) or is_pack(shape[axis])
                if packs or extent is not ONE and shape[axis] is not ONE:
                    raise _mismatch(what, (other, a), shape[axis], extent, "")
                if shape[axis] is ONE:
                    shape[axis], widest[axis] = extent, a
    own = [a._node.rank - a._lead for a in arrays]
    lead = max(0, rank - max(own)) if any(a._lead for a in arrays) else 0
    return tuple(shape), lead


def _mismatch(what: str, arrays: Sequence[Array], a: Expr, b: Expr, advice: str) -> ShapeError:
    scope = current()
    lines = []
    for x in arrays:
        name = scope.describe(x._node) if scope else "a value"
        place = "" if scope is None else scope.declared if is_input(x._node) else scope.line
        shape = ", ".join(show(e) for e in x._node.shape) + ("," if x._node.rank == 1 else "")
        lines.append((name, f"({shape})", place))
    wide = [max(len(row[k]) for row in lines) for k in range(2)]
    table = "\n".join(f"    {n:<{wide[0]}}   {s:<{wide[1]}}   {p}".rstrip() for n, s, p in lines)
    packs = [e for e in (a, b) if is_pack(e)]
    if not advice and packs:
        advice = (
            f"{show(packs[0])} is one shape that is not known; it does not stretch. Give the axes names, or literal 1."
        )
    if not advice:
        advice = (
            f"{what} at {line()} needs {show(a)} and {show(b)} to be equal. Give both axes one name, or a literal 1."
        )
    return ShapeError(f"{here()}{show(a)} and {show(b)} meet in one axis\n{table}\n  {advice}")


_SIGNS = {
    **{"add": "The sum", "sub": "The difference", "mul": "The product", "div": "The quotient", "pow": "The power"},
    "select": "where",
}


def elementwise(op: str, *args: Any) -> Array:
    """The operator `op` of `symgrad.ops` on every element."""
    if any(isinstance(a, Absent) for a in args):
        return _without(op, args)
    arrays = [as_array(a) for a in args]
    shape, lead = broadcast(arrays, _SIGNS.get(op, op))
    axes = axes_of(shape)
    nodes = [a._node for a in arrays]
    body = apply(op, *(read(n, axes[len(axes) - n.rank :]) for n in nodes))
    if not nodes:
        return Array(constant(body))
    return Array(value(shape, body, nodes), lead)


def _without(op: str, args: Sequence[Any]) -> Array:
    absent = [isinstance(a, Absent) for a in args]
    if op in ("add", "mul") and sum(absent) == 1:
        return as_array(args[absent.index(False)])
    if op in ("sub", "div") and absent == [False, True]:
        return as_array(args[0])
    if op == "sub" and absent == [True, False]:
        return elementwise("neg", args[1])
    gone = args[absent.index(True)]
    assert isinstance(gone, Absent)
    raise gone._missing()


def function_of(name: str) -> Callable[..., Array]:
    """The elementwise function of that name; a row with two commutative arguments folds further ones."""
    row = OPS[NAMES[name]]
    folds = row.name in ("maximum", "minimum", "and", "or", "hypot")

    def function(*args: Operand) -> Array:
        if len(args) != row.arity and not (folds and len(args) > row.arity):
            raise DeclarationError(f"{here()}{name} takes {row.arity} arguments, not {len(args)} ({line()}).")
        result = elementwise(row.name, *args[: row.arity])
        for further in args[row.arity :]:
            result = elementwise(row.name, result, further)
        return result

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{name} of every element; defined for {row.domain}."
    return function


def axis_of(x: Array, axis: int) -> int:
    """The position of an axis as NumPy counts it; with a pack in front only from the end."""
    rank = x._node.rank
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


def reduced(kind: str, x: Any, axis: Axis = None, keepdims: bool = False) -> Array:
    """`kind` over the axes of `x`, as NumPy's function of that name."""
    x = as_array(x)
    node = x._node
    gone = reduced_axes(x, axis)
    shape = [e for a, e in enumerate(node.shape) if a not in gone]
    axes = iter(axes_of(shape))
    over: dict[Any, Expr | None] = {}
    subscripts: list[Expr] = []
    for a, extent in enumerate(node.shape):
        if a not in gone:
            subscripts.append(next(axes))
        elif extent is ONE:
            subscripts.append(ZERO)
        else:
            i = axes_of(node.shape)[a] if is_pack(extent) else bound(len(over) + 1)
            over[i] = extent
            subscripts.append(i)
    lead = 0 if axis is None else x._lead
    body = read(node, subscripts)
    if over:
        result = Array(_shared(kind, over, shape, body, node), lead)
    elif kind == "argmax":
        result = elementwise("mul", Array(value(shape, body, [node]), lead), 0)
    else:
        result = Array(value(shape, body, [node]), lead)
    if not keepdims:
        return result
    if any(is_pack(node.shape[a]) for a in gone) and len(shape) + len(gone) > 1:
        raise DeclarationError(f"{here()}keepdims over `...` leaves an unknown number of axes ({line()}).")
    return _kept(result, node.shape, gone, x._lead)


def _shared(kind: str, over: dict[Any, Expr | None], shape: list[Expr], body: Expr, node: Node) -> Node:
    """The reduction; the one that the declaration has already, if it is the same."""
    scope = current()
    made = reduction(kind, over, shape, body, [node])
    if scope is None:
        return made
    found = scope.closed.setdefault((kind, tuple(over), body, tuple(shape)), made)
    return found


def _kept(x: Array, shape: tuple[Expr, ...], gone: set[int], lead: int) -> Array:
    """`x` with an axis of extent 1 where `shape` has lost one."""
    full = [ONE if a in gone else e for a, e in enumerate(shape)]
    there = [i for a, i in enumerate(axes_of(full)) if a not in gone]
    return Array(value(full, read(x._node, there), [x._node]), lead)


def matmul(a: Any, b: Any) -> Array:
    """The matrix product of NumPy's `@`: vectors, matrices, and batches of them."""
    if isinstance(a, Absent) or isinstance(b, Absent):
        raise (a if isinstance(a, Absent) else b)._missing()
    a, b = as_array(a), as_array(b)
    left, right = _matrix(a), _matrix(b)
    if 0 in (left, right):
        raise ShapeError(f"{here()}@ needs an axis to sum over; {(a if not left else b)!r} has none ({line()}).")
    p, q = a._node, b._node
    if left == 1 and p.rank > 1 and q.rank > right or right == 1 and q.rank > 1:
        raise ShapeError(f"{here()}@ of {a!r} and {b!r} is ambiguous: `...` may or may not hold its rows ({line()}).")
    k, other = p.shape[-1], q.shape[-right]
    if not equal(k, other):
        advice = (
            f"The product at {line()} sums over {show(k)} and {show(other)}. Give both axes one name, or transpose one."
        )
        raise _mismatch("@", (a, b), k, other, advice)
    fronts = [Array(value(n.shape[: n.rank - own], ZERO)) for n, own in ((p, left), (q, right))]
    front, _ = broadcast(fronts, "@")
    shape = [*front, *p.shape[p.rank - left : -1], *(q.shape[-1:] if right == 2 else ())]
    axes = axes_of(shape)
    batch, own = axes[: len(front)], list(axes[len(front) :])
    s: Expr = ZERO if k is ONE else bound(1)
    rows = [own.pop(0)] if left == 2 else []
    x = read(p, [*batch[len(front) - (p.rank - left) :], *rows, s])
    y = read(q, [*batch[len(front) - (q.rank - right) :], s, *own])
    lead = max(a._lead, b._lead)
    if k is ONE:
        return Array(value(shape, apply("mul", x, y), [p, q]), lead)
    node = reduction("sum", {bound(1): k}, shape, apply("mul", x, y), [p, q], matmul=True)
    return Array(node, lead)


def _matrix(x: Array) -> int:
    """How many of the last axes take part in a matrix product."""
    return min(2, x._node.rank - x._lead)


def expand(x: Array, shape: Sequence[Expr]) -> Expr:
    """The element of `x` at the canonical indices of `shape`, to which it is broadcast."""
    axes = axes_of(shape)
    return read(x._node, axes[len(axes) - x._node.rank :])
