"""Array expressions over named axes: broadcasting.

What stands at the leaves, elements of tensors, is spelled by `Reader`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Container, Mapping, Sequence
from dataclasses import field
from typing import Any

from ...expr import (
    ONE,
    ZERO,
    Apply,
    Const,
    Expr,
    Index,
    Ref,
    folded,
    index,
    is_exact,
    operators,
    refs,
    value_of,
    values,
)
from ...expr.names import is_pack
from ...expr.polynomials import symbol
from ...expr.sizes import equal
from ...ir import Dtype
from ...ops import COMPARISONS, OPS
from ...records import dataclass, replace
from .below import plain_number, with_parts
from .branches import Branches
from .layout import Pattern, natural
from .taking import Axes, as_index, packed_items, reordered, taken, whole, widens
from .tree import (
    ALL,
    Array,
    BroadcastTo,
    Convolution,
    Copy,
    Diagonal,
    Elementwise,
    Eye,
    Item,
    Num,
    Permute,
    Range,
    Real,
    Reshape,
    Roll,
    SizeOf,
    Take,
    Triangle,
    Var,
    Windows,
)

KEPT = index("#1")  # stands in an order for an axis of length 1 that is kept


@dataclass(frozen=True, slots=True)
class Value:
    """An array and what its axes are."""

    array: Array
    axes: Axes

    @property
    def labels(self) -> tuple[Index, ...]:
        return tuple(i for i in self.axes if i is not None)


@dataclass(eq=False)
class Evaluator(Branches, ABC):
    """Evaluates expressions and elements over axes in a given order.

    plain  the scalars that are numbers of Python's
    kept   the locals that were stored with axes of length 1, and how
    library  the calls that the language has for whole equations, and along how many axes
    views  the locals that are another tensor in another shape
    """

    plain: set[str]
    library: Mapping[str, int]
    kept: Mapping[str, Pattern] = field(default_factory=dict)
    views: dict[str, Reshape] = field(default_factory=dict)

    # elementwise

    def evaluate(self, body: Expr, order: Sequence[Index], extents: Mapping[Index, Expr]) -> Value:
        """`body` as an array expression over the axes in `order` (those that it mentions)."""
        return self._evaluated(self.safe(body, extents), order, extents)

    def _evaluated(self, body: Expr, order: Sequence[Index], extents: Mapping[Index, Expr]) -> Value:
        """`evaluate`, once every read in a branch stays inside, those in subscripts too: they are not guarded twice."""
        done: dict[Expr, Value] = {}
        whole_parts = self._divided(body)
        counts = not self.sizes.numbers.isdisjoint([r.name for r in refs(body)])
        for node in values(body, closed=self._is_size if counts else None):
            size = counts and self._is_size(node)
            done[node] = Value(SizeOf(node), ()) if size else self._node(node, done, order, extents, whole_parts)
        return done[body]

    def _is_size(self, node: Expr) -> bool:
        """Whether `node` is a number made of sizes alone: printed as it is."""
        row = OPS[node.op] if isinstance(node, Apply) else None
        arithmetic = row is not None and row.of_integers and row.kind in ("arithmetic", "integer")
        return arithmetic and bool(refs(node)) and self.sizes.tell(node)

    def _node(
        self,
        node: Expr,
        done: Mapping[Expr, Value],
        order: Sequence[Index],
        extents: Mapping[Index, Expr],
        whole_parts: Container[Expr],
    ) -> Value:
        if isinstance(node, Const):
            return Value(Num(node), ())
        if isinstance(node, Index):
            return Value(Range(extents[node], real=True), (node,))
        if isinstance(node, Ref):
            if node.name in self.sizes.numbers:
                return Value(SizeOf(node), ())
            value = self.element(node, order, extents)
            integer = self.tensors[node.name].dtype == Dtype.INT
            return Value(Real(value.array), value.axes) if integer else value  # integers widen float32
        assert isinstance(node, Apply)
        args = [done[a] for a in node.args]
        if node.op in COMPARISONS and all(map(self._whole, node.args)):
            args = [Value(whole(a.array), a.axes) for a in args]
        if node in whole_parts and not all(plain_number(a.array) for a in args):
            first = 1 if node.op == "select" else 0
            parts = [Value(whole(a.array), a.axes) for a in args[first:]]
            found = self._broadcast(node.op, [*args[:first], *parts], order)
            return Value(Real(found.array), found.axes)
        if node.op == "select" and (triangle := self._triangle(node, args, order)) is not None:
            return triangle
        args = self._counted(node.op, args)
        asks = node.op == "select" and not plain_number(args[0].array)
        if asks and all(plain_number(a.array) for a in args[1:]):
            return self._identity(node, order, extents) or self._indicator(node, args)
        return self._broadcast(node.op, args, order)

    def _whole(self, node: Expr) -> bool:
        """Whether `node` is made of integers alone, which are compared as they are: float32 has no 2**24 + 1."""
        if isinstance(node, Ref):
            tensor = self.tensors.get(node.name)
            return tensor.dtype == Dtype.INT if tensor is not None else self.sizes.is_whole(node.name)
        if isinstance(node, Apply):
            return OPS[node.op].of_integers and all(map(self._whole, node.args[node.op == "select" :]))
        return isinstance(node, Index) or is_exact(node) and value_of(node).denominator == 1

    def _divided(self, body: Expr) -> set[Expr]:
        """The parts that are a quotient or remainder of integers, or arithmetic on integers with one: they are computed
        in integers, of which float32 has no 2**24 + 1, and bfloat16 no 257."""
        if not any(OPS[op].divides for op in operators(body)):
            return set()
        found: dict[Expr, tuple[bool, bool]] = {}  # an integer; with a division

        def rule(node: Expr) -> tuple[bool, bool]:
            if not isinstance(node, Apply):
                return self._whole(node), False
            parts = [found[a] for a in node.args[node.op == "select" :]]
            row = OPS[node.op]
            return row.of_integers and all(w for w, _ in parts), row.divides or any(d for _, d in parts)

        folded(body, found, rule)
        return {node for node, state in found.items() if all(state)}

    def _counted(self, op: str, args: list[Value]) -> list[Value]:
        """What arithmetic is done with: booleans among themselves, and with numbers, are 0 and 1 to it.

        Beside an array of real numbers they are that anyway, but to torch's minus, which refuses them.
        """
        if op == "neg":
            return [Value(self._signed(args[0].array), args[0].axes)]
        first = 1 if op == "select" else 0
        values = [a.array for a in args[first:]]
        if OPS[op].result == "bool" or (first and all(map(self.boolean, values))):
            return args
        if op != "sub" and not all(self.boolean(a) or plain_number(a) for a in values):
            return args
        return [*args[:first], *(self.real(a) for a in args[first:])]

    def _signed(self, array: Array) -> Array:
        """What a minus sign stands before: it binds to the first factor, and is refused by a boolean."""
        match array:
            case Elementwise("mul", (a, b)) if self.boolean(a):
                return Elementwise("mul", (b, a))
            case Elementwise("mul" | "div", (a, b)):
                return replace(array, args=(self._signed(a), b))
            case _:
                return self.real(Value(array, ())).array

    def settled(self, part: Any) -> Any:
        """A statement or an array where every minus sign stands before what takes one, and no shape between two."""
        new = with_parts(part, self.settled)
        match new:
            case Elementwise("neg", (base,)):
                signed = self._signed(base)
                return new if signed is base else replace(new, args=(signed,))
            case Reshape(base=Reshape(), shape=shape) if None not in shape:
                return self.reshaped(new.base, tuple(n for n in shape if n is not None))
            case _:
                return new

    def boolean(self, array: Array) -> bool:
        """Whether the elements of `array` are True and False."""
        match array:
            case Var(name):
                return name in self.tensors and self.tensors[name].dtype == Dtype.BOOL
            case Elementwise("select", (_, *values)):
                return all(map(self.boolean, values))
            case Elementwise(op, _):
                return OPS[op].result == "bool"
            case Take() | Permute() | Reshape() | Windows() | Diagonal() | Roll() | BroadcastTo() | Copy():
                return self.boolean(array.base)
            case _:
                return False

    def real(self, value: Value) -> Value:
        """`value` as it stands in arithmetic: 0 and 1 for booleans."""
        if plain_number(value.array) or not self.boolean(value.array):
            return value
        return Value(Real(value.array, boolean=True), value.axes)

    def _triangle(self, node: Apply, args: Sequence[Value], order: Sequence[Index]) -> Value | None:
        """`where(i >= j, x, 0)` over the last two axes."""
        condition, _, otherwise = node.args
        axes = args[1].axes
        margins = self.sizes.facts.margins(condition)
        if otherwise is not ZERO or len(axes) < 2 or len(margins) != 1 or None in axes:
            return None
        row, column = map(as_index, axes[-2:])
        if is_pack(row):
            return None
        across = symbol(row) - symbol(column)
        if (offset := (margins[0] - across).number) is not None:  # row - column + offset >= 0
            return Value(Triangle(args[1].array, True, offset), axes)
        if (offset := (margins[0] + across).number) is not None:
            return Value(Triangle(args[1].array, False, -offset), axes)
        return None

    def _identity(self, node: Apply, order: Sequence[Index], extents: Mapping[Index, Expr]) -> Value | None:
        """`where(i == j, 1, 0)` over the last two axes."""
        condition, then, otherwise = node.args
        if not (isinstance(condition, Apply) and condition.op == "eq" and then is ONE and otherwise is ZERO):
            return None
        pair = tuple(i for i in order if i in condition.args)
        if len(pair) != 2 or tuple(order[-2:]) != pair or extents[pair[0]] is not extents[pair[1]] or is_pack(pair[0]):
            return None
        return Value(Eye(extents[pair[0]]), pair)

    def _indicator(self, node: Apply, args: Sequence[Value]) -> Value:
        """`where(c, 1, 0)` is c itself, as numbers of the right type."""
        condition, (then, otherwise) = args[0], node.args[1:]
        if then is ONE and otherwise is ZERO:
            return Value(Real(condition.array, self.boolean(condition.array)), condition.axes)
        return Value(Real(Elementwise("select", tuple(a.array for a in args))), condition.axes)

    def _broadcast(self, op: str, args: Sequence[Value], order: Sequence[Index]) -> Value:
        first: Axes = max((a.axes for a in args), key=len, default=())
        if all(a.axes in ((), first) for a in args) and first == tuple([i for i in order if i is KEPT or i in first]):
            return Value(Elementwise(op, tuple([a.array for a in args])), first)
        kept = max((len(a.axes) for a in args if None in a.axes and _suffix(a.axes, order)), default=0)
        union = [
            i
            for k, i in enumerate(order)
            if i is KEPT or any(i in a.labels for a in args) or k >= len(order) - kept  # stays as it is kept
        ]
        aligned = [self.laid(a, union) for a in args]
        axes: list[Index | None] = []
        for depth in range(max((len(v.axes) for v in aligned), default=0), 0, -1):
            present = [v.axes[-depth] for v in aligned if len(v.axes) >= depth]
            axes.append(next((i for i in present if i is not None), None))
        arrays = [v.array for v in aligned]
        return Value(_both(*arrays) if op == "and" else Elementwise(op, tuple(arrays)), tuple(axes))

    def laid(self, value: Value, union: Sequence[Index | None]) -> Value:
        """`value` so that it broadcasts over the axes `union`, from the right."""
        if not value.labels:
            return value if not value.axes else Value(Take(value.array, (ZERO,) * len(value.axes)), ())
        fits = len(value.axes) <= len(union) and all(
            a is None or a is u for a, u in zip(value.axes, union[len(union) - len(value.axes) :], strict=True)
        )
        if fits:
            return value
        if None in value.axes:
            items = [ALL if a is not None else ZERO for a in value.axes]
            value = Value(Take(value.array, packed_items(items, value.axes)), value.labels)
            return self.laid(value, union)
        wanted = tuple(i for i in union if i in value.labels)
        array = value.array
        if wanted != value.labels:
            array = reordered(array, value.labels, wanted)
        pattern = natural(wanted, union)
        if all(pattern):
            return Value(array, wanted)
        span = union[len(union) - len(pattern) :]
        items_: list[Item] = [ALL if present else None for present in pattern]
        axes: Axes = tuple(i if present else None for i, present in zip(span, pattern, strict=True))
        return Value(taken(array, packed_items(items_, axes)), axes)

    @abstractmethod
    def element(self, r: Ref, order: Sequence[Index], extents: Mapping[Index, Expr]) -> Value:
        """`x[h]` as an array over the indices of h."""

    # more axes

    def reshaped(self, array: Array, shape: tuple[Expr, ...]) -> Array:
        """`array` in another shape; nothing is between the one that it has first and that."""
        base = array
        while isinstance(inner := self.views.get(base.name, base) if isinstance(base, Var) else base, Reshape):
            base = inner.base
        match base:
            case Var(name) if name in self.tensors and name not in self.kept:
                own: tuple[Expr, ...] = self.tensors[name].shape
            case Convolution(shape=own):
                pass
            case _:
                own = ()
        own, wanted = (tuple(map(self.sizes.settled, some)) for some in (own, shape))
        same = len(own) == len(wanted) and all(map(equal, own, wanted))
        return base if same else Reshape(base, shape)

    def spread(self, value: Value, wanted: Sequence[Index], extents: Mapping[Index, Expr]) -> Value:
        """`value` with every index of `wanted`, in that order."""
        laid = self.laid(value, wanted)
        if laid.axes == tuple(wanted):
            return laid
        return Value(BroadcastTo(laid.array, tuple(extents[i] for i in wanted)), tuple(wanted))


def _both(left: Array, right: Array) -> Array:
    """Two conditions as one; those that broadcast alike do it together."""
    match left, right:
        case Take(a, items), Take(b, others) if items == others and all(map(widens, items)):
            return Take(_both(a, b), items)
        case Elementwise("and", (first, Take(_, items) as last)), Take(_, others) if items == others:
            return Elementwise("and", (first, _both(last, right)))
    return Elementwise("and", (left, right))


def _suffix(axes: Axes, order: Sequence[Index]) -> bool:
    """Whether an array with kept axes lies as the last axes of `order`."""
    return len(axes) <= len(order) and all(
        a is None or a is i for a, i in zip(axes, order[len(order) - len(axes) :], strict=True)
    )
