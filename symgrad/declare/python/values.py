"""What a traced Python function computes with: a node of the graph, and how many of its leading axes are a pack there.

A term of index notation, a size, an option and a loop index are values of rank 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import inf
from numbers import Integral
from typing import Any

from ...errors import DeclarationError, ShapeError
from ...expr import ZERO, Apply, Expr, Ref, apply, as_expr, const, operator, refs, show
from ...expr.sizes import equal
from ...ir import Dtype
from ...later import np, of_numpy
from ...ops import OPS
from ...ops.limits import INFINITY
from .graph import Node, Pieces, Value, axes_of, constant, packs_in, places_of, read, shown, value
from .scope import current

MOST_NUMBERS = 256  # of an array that is printed with the code, line by line


class Traced:
    """A value of the trace; `Array` has operators, too."""

    __slots__ = ("_lead", "_node")
    _node: Node
    _lead: int

    def __init__(self, node: Node, lead: int = 0) -> None:
        self._node = node
        self._lead = lead
        scope = current()
        if scope is not None:
            scope.made(node)

    def __repr__(self) -> str:
        return f"<symbolic array of shape ({', '.join(show(e) for e in self._node.shape)})>"


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
            f"{self.name} is left out of this call, and only from a sum or a product can an absent "
            f"input disappear. Say what counts without it: sg.given({self.name}, then, otherwise)."
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise self._missing()


Operand = Traced | Absent | int | float | Fraction
Axis = int | Sequence[int] | None


def reread(x: Traced, shape: Sequence[Expr], subscripts: Sequence[Expr], lead: int | None = None) -> Traced:
    """The array of that shape with the elements of `x` at `subscripts`, made of the canonical indices of the shape."""
    return Traced(value(shape, read(x._node, subscripts), [x._node]), x._lead if lead is None else lead)


def written(
    made: Pieces,
    places: Sequence[Expr],
    body: Expr,
    shape: Sequence[Expr],
    nodes: Sequence[Node],
    lead: int = 0,
    adds: bool = False,
) -> Traced:
    """The array with the elements `body` at `places`, for all indices of `shape`; what these do not reach is 0."""
    made.write(places, body, dict(zip(axes_of(shape), shape, strict=True)), nodes, adds)
    return Traced(made, lead)


def traced(x: Any) -> Traced:
    """Return a traced array; a plain number, an array of NumPy's or a list of such as one."""
    if isinstance(x, Traced):
        return x
    if isinstance(x, Absent):
        raise x._missing()
    if isinstance(x, (list, tuple)):
        return _listed(x)
    if of_numpy(x):
        if x.ndim:
            return _numbers(x)
        x = x.item()
    if not isinstance(x, (bool, int, float, Fraction)):
        raise DeclarationError(f"{type(x).__name__} is neither a symbolic array nor a number.")
    if x != x:
        raise DeclarationError(f"{x} is no number that a formula can hold.")
    if x in (inf, -inf):
        return Traced(constant(INFINITY if x > 0 else -INFINITY))
    return Traced(constant(as_expr(int(x) if isinstance(x, bool) else x)))


def _numbers(x: np.ndarray) -> Traced:
    """An array of plain numbers; the same one each time."""
    if x.size > MOST_NUMBERS or not x.size:
        raise DeclarationError(
            f"an array of {x.size} numbers, of shape {x.shape}, stands in the declaration: 1 to {MOST_NUMBERS} are "
            f"printed with the code. Make it an input."
        )
    if x.dtype.kind not in "biuf":
        raise DeclarationError(f"an array of {x.dtype} is no array of real numbers.")
    scope = current()
    key = ("numbers", x.dtype.str, x.shape, x.tobytes())
    made = scope.closed.get(key) if scope is not None else None
    if made is None:
        extents = [const(n) for n in x.shape]
        if (x == x.flat[0]).all():
            made = value(extents, read(traced(x.flat[0])._node, ()))
        else:
            made = Pieces(shape=tuple(extents), wish=scope.name_of(x) if scope is not None else "numbers")
            for place, number in np.ndenumerate(x):
                made.write([*map(const, place)], read(traced(number)._node, ()), {}, [], adds=False)
        if x.dtype.kind == "b":
            made = value(extents, apply("ne", read(made, axes_of(extents)), ZERO), [made])
        if scope is not None:
            scope.closed[key] = made
    return Traced(made)


def _symbolic(x: Any) -> bool:
    """Whether a symbol is in a list, or in one of its lists."""
    return any(map(_symbolic, x)) if isinstance(x, (list, tuple)) else isinstance(x, (Traced, Absent))


def _listed(x: Sequence[Any]) -> Traced:
    """A list as NumPy reads one: its elements along a first axis."""
    if not _symbolic(x):
        return _numbers(np.asarray(x))
    parts = [traced(part) for part in x]
    shape = parts[0]._node.shape
    if any(p._lead for p in parts):
        raise NumbersListed("a list of arrays with `...` in front is read as an array: write sg.stack([x, y]).")
    if any(len(p._node.shape) != len(shape) for p in parts):
        raise DeclarationError("the elements of a list that is read as an array have one number of axes.")
    for p in parts:
        if not all(map(equal, p._node.shape, shape)):
            shapes = " and ".join(f"({', '.join(map(show, some._node.shape))})" for some in (parts[0], p))
            raise ShapeError(f"the elements of a list that is read as an array have one shape, not {shapes}.")
    made = Pieces(shape=(const(len(parts)), *shape), wish="stacked")
    for k, p in enumerate(parts):
        written(made, [const(k), *places_of(shape)], read(p._node, axes_of(shape)), shape, [p._node])
    return Traced(made)


def size_of(x: Any, what: str) -> Expr:
    """The number, the size or the option that `x` is; `what` says in the message what it is for."""
    node = traced(x)._node
    if not node.constant:
        raise DeclarationError(f"{what} is made of sizes and numbers.")
    return read(node, ())


def is_condition(x: Any) -> bool:
    """Whether the elements are true or false: a comparison, an input of booleans, or True itself."""
    if not isinstance(x, Traced):
        return isinstance(x, bool) or of_numpy(x) and x.dtype == bool
    return _holds(x._node)


def _holds(node: Node) -> bool:
    while (source := shown(node)) is not None:
        node = source
    if not isinstance(node, Value) or node.over:
        return False
    if isinstance(node.body, Ref):
        return _is_bool(node.body.name)
    if operator(node.body) == "given":  # whichever counts
        operands, names = node.operands, [r.name for r in refs(*node.body.args[1:])]
        return bool(names) and all(_holds(operands[n]) if n in operands else _is_bool(n) for n in names)
    return isinstance(node.body, Apply) and OPS[node.body.op].result == "bool"


def _is_bool(name: str) -> bool:
    """Whether an input is one of booleans."""
    scope = current()
    tensor = scope.draft.tensors.get(name) if scope else None
    return tensor is not None and tensor.dtype is Dtype.BOOL


class PackTooShort(DeclarationError):
    """An axis is asked for that a pack holds: the input has at least `more` axes at the end of `pack`."""

    def __init__(self, message: str, pack: str, more: int) -> None:
        super().__init__(message)
        self.pack, self.more = pack, more


class NumbersListed(DeclarationError):
    """A list of what may be numbers or arrays is read as an array: it is one of numbers."""


def only_from_end(shape: Sequence[Expr], lead: int) -> bool:
    """Whether axes are counted from the end alone: behind a pack, or where `...` took some of them. Where it took all,
    an axis is an option of the caller's, who counts his own."""
    return bool(packs_in(shape)) or 0 < lead < len(shape)


def axis_of(x: Traced, axis: int) -> int:
    """The position of an axis as NumPy counts it.

    Raises PackTooShort where the axis is one of the pack's.
    """
    rank = x._node.rank
    if not isinstance(axis, Integral):
        raise DeclarationError(f"axis {axis} of {x!r}: one axis is asked for, a number.")
    packs = packs_in(x._node.shape)
    if axis >= 0 and only_from_end(x._node.shape, x._lead):
        raise DeclarationError(f"axis {axis} of {x!r}: with `...` in front count from the end, -1 for the last axis.")
    if packs and axis < packs - rank:
        pack = show(x._node.shape[0])
        raise PackTooShort(f"axis {axis} of {x!r}: it has no axis but `{pack}` there.", pack, packs - rank - axis)
    if not -rank <= axis < rank:
        raise DeclarationError(f"axis {axis} of {x!r}, which has {rank} axes.")
    return axis % rank


def reduced_axes(x: Traced, axis: Axis) -> set[int]:
    """The positions of the axes that `axis` names."""
    if axis is None:
        return set(range(x._node.rank))
    wanted = [axis] if isinstance(axis, int) else list(axis)
    found = {axis_of(x, a) for a in wanted}
    if len(found) != len(wanted):
        raise DeclarationError(f"axis {axis} names an axis twice.")
    return found
