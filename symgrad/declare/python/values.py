"""What a traced Python function computes with: a node of the graph, and how many of its leading axes are a pack there.

A term of index notation, a size, an option and a loop index are values of rank 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import inf
from numbers import Integral
from typing import Any

from ...errors import DeclarationError
from ...expr import Apply, Expr, Ref, as_expr, show
from ...ir import Dtype
from ...later import of_numpy
from ...ops import OPS
from ...ops.limits import INFINITY
from .graph import Node, Pieces, Value, axes_of, constant, packs_in, read, shown, value
from .scope import current


class Traced:
    """A value of the trace; `Array` has operators, too."""

    __slots__ = ("_lead", "_node")
    _node: Node
    _lead: int

    def __init__(self, node: Node, lead: int = 0) -> None:
        self._node = node
        self._lead = lead
        current()

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
    """Return a traced array, or a plain number as one."""
    if isinstance(x, Traced):
        return x
    if isinstance(x, Absent):
        raise x._missing()
    if of_numpy(x):
        if x.ndim:
            raise DeclarationError(
                "an array of numbers stands in the declaration. Make it an input, or write its "
                "elements out: sg.stack([1, 2, 3])."
            )
        x = x.item()
    if not isinstance(x, (bool, int, float, Fraction)):
        raise DeclarationError(f"{type(x).__name__} is neither a symbolic array nor a number.")
    if x != x:
        raise DeclarationError(f"{x} is no number that a formula can hold.")
    if x in (inf, -inf):
        return Traced(constant(INFINITY if x > 0 else -INFINITY))
    return Traced(constant(as_expr(int(x) if isinstance(x, bool) else x)))


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
    node, scope = x._node, current()
    while (source := shown(node)) is not None:
        node = source
    if not isinstance(node, Value) or node.over:
        return False
    if isinstance(node.body, Ref):
        tensor = scope.draft.tensors.get(node.body.name) if scope else None
        return tensor is not None and tensor.dtype is Dtype.BOOL
    return isinstance(node.body, Apply) and OPS[node.body.op].result == "bool"


class PackTooShort(DeclarationError):
    """An axis is asked for that a pack holds: the input has at least `more` axes at the end of `pack`."""

    def __init__(self, message: str, pack: str, more: int) -> None:
        super().__init__(message)
        self.pack, self.more = pack, more


def axis_of(x: Traced, axis: int) -> int:
    """The position of an axis as NumPy counts it; with a pack in front only from the end.

    Raises PackTooShort where the axis is one of the pack's.
    """
    rank = x._node.rank
    if not isinstance(axis, Integral):
        raise DeclarationError(f"axis {axis} of {x!r}: one axis is asked for, a number.")
    if x._lead and axis >= 0:
        raise DeclarationError(f"axis {axis} of {x!r}: with `...` in front count from the end, -1 for the last axis.")
    packs = packs_in(x._node.shape)
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
