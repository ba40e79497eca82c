"""Array expressions over named axes: broadcasting, and reading elements at any subscripts.

Reads are spelled, in this order, as a plain element, a slice or a component, and integer-array indexing, which can say
every subscript.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ...expr import (
    ONE,
    ZERO,
    Apply,
    Const,
    Expr,
    Index,
    Ref,
    apply,
    const,
    index,
    indices,
    is_exact,
    postorder,
    ref,
    refs,
    substitute,
    transform,
    value_of,
    with_args,
)
from ...expr.sizes import tidy
from ...ir import Dtype, Equation, Tensor
from ...ops import OPS
from .layout import Pattern, is_pack, labels, natural, plain
from .tree import (
    ALL,
    Array,
    BroadcastTo,
    Elementwise,
    Infinity,
    Item,
    Num,
    Permute,
    Range,
    Real,
    SizeOf,
    Slice,
    Take,
    Var,
    below,
    children,
    with_children,
)

KEPT = index("#1")  # stands in an order for an axis of length 1 that is kept
Axes = tuple[Index | None, ...]  # per axis of an array: its index, or None for a kept axis of length 1


@dataclass(frozen=True, slots=True)
class Value:
    """An array and what its axes are."""

    array: Array
    axes: Axes

    @property
    def labels(self) -> tuple[Index, ...]:
        return tuple(i for i in self.axes if i is not None)


class Evaluator:
    """Evaluates expressions and elements over axes in a given order.

    numbers  the names of sizes and options
    kept     the locals that were stored with axes of length 1, and how
    """

    def __init__(self, tensors: Mapping[str, Tensor], numbers: Iterable[str], kept: Mapping[str, Pattern]) -> None:
        self.tensors = tensors
        self.numbers = frozenset(numbers)
        self.kept = kept

    # elementwise

    def evaluate(self, body: Expr, order: Sequence[Index], extents: Mapping[Index, Expr]) -> Value:
        """`body` as an array expression over the axes in `order` (those that it mentions)."""
        return self._evaluated(transform(body, _guarded_reads), order, extents)

    def _evaluated(self, body: Expr, order: Sequence[Index], extents: Mapping[Index, Expr]) -> Value:
        """`evaluate`, once every read in a branch stays inside, those in subscripts too: they are not guarded twice."""
        done: dict[Expr, Value] = {}
        for node in self._outer(body):
            done[node] = self._node(node, done, order, extents)
        return done[body]

    def _outer(self, body: Expr) -> list[Expr]:
        """The nodes of a body without those of subscripts, each after its operands."""
        result: list[Expr] = []
        seen: set[Expr] = set()
        stack = [body]
        while stack:
            node = stack[-1]
            below = () if isinstance(node, Ref) or self._is_size(node) else node.args
            waiting = [a for a in below if a not in seen]
            if node not in seen and waiting:
                stack.extend(reversed(waiting))
                continue
            stack.pop()
            if node not in seen:
                seen.add(node)
                result.append(node)
        return result

    def _is_size(self, node: Expr) -> bool:
        """Whether `node` is a number made of sizes alone: printed as it is."""
        if not isinstance(node, Apply) or node.op not in ("add", "sub", "mul", "floordiv"):
            return False
        found = list(postorder(node))
        sizes = [n for n in found if isinstance(n, Ref)]
        return bool(sizes) and all(
            (isinstance(n, Ref) and n.name in self.numbers and not n.subscripts)
            or is_exact(n)
            or (isinstance(n, Apply) and n.op in ("add", "sub", "mul", "floordiv"))
            for n in found
        )

    def _node(
        self, node: Expr, done: Mapping[Expr, Value], order: Sequence[Index], extents: Mapping[Index, Expr]
    ) -> Value:
        if isinstance(node, Const):
            return Value(Num(node), ())
        if isinstance(node, Index):
            return Value(Range(extents[node], real=True), (node,))
        if isinstance(node, Ref):
            if node.name == "#infinity":
                return Value(Infinity(), ())
            if node.name in self.numbers:
                return Value(SizeOf(node), ())
            value = self.element(node, order, extents)
            whole = self.tensors[node.name].dtype == Dtype.INT
            return Value(Real(value.array), value.axes) if whole else value  # integers widen float32
        if self._is_size(node):
            return Value(SizeOf(node), ())
        assert isinstance(node, Apply)
        args = [done[a] for a in node.args]
        if node.op == "select" and args[0].labels and all(_plain_number(a.array) for a in args[1:]):
            return self._indicator(node, args)
        return self._broadcast(node.op, args, order)

    def _indicator(self, node: Apply, args: Sequence[Value]) -> Value:
        """`where(c, 1, 0)` is c itself, as numbers of the right type."""
        condition, (then, otherwise) = args[0], node.args[1:]
        if then is ONE and otherwise is ZERO:
            return Value(Real(condition.array), condition.axes)
        return Value(Real(Elementwise("select", tuple(a.array for a in args))), condition.axes)

    def _broadcast(self, op: str, args: Sequence[Value], order: Sequence[Index]) -> Value:
        union = [i for i in order if i is KEPT or any(i in a.labels for a in args)]
        aligned = [self._aligned(a, union) for a in args]
        axes: list[Index | None] = []
        for depth in range(max((len(v.axes) for v in aligned), default=0), 0, -1):
            present = [v.axes[-depth] for v in aligned if len(v.axes) >= depth]
            axes.append(next((i for i in present if i is not None), None))
        return Value(Elementwise(op, tuple(v.array for v in aligned)), tuple(axes))

    def _aligned(self, value: Value, union: Sequence[Index]) -> Value:
        """`value` laid so that it broadcasts over the axes `union`, from the right."""
        if not value.labels:
            return value if not value.axes else Value(Take(value.array, (ZERO,) * len(value.axes)), ())
        fits = len(value.axes) <= len(union) and all(
            a is None or a is u for a, u in zip(value.axes, union[len(union) - len(value.axes) :], strict=True)
        )
        if fits:
            return value
        if None in value.axes:
            items = [ALL if a is not None else ZERO for a in value.axes]
            value = Value(Take(value.array, _packed(items, value.axes)), value.labels)
            return self._aligned(value, union)
        wanted = tuple(i for i in union if i in value.labels)
        array = value.array
        if wanted != value.labels:
            array = permuted(array, [value.labels.index(i) for i in wanted])
        pattern = natural(wanted, union)
        if all(pattern):
            return Value(array, wanted)
        span = union[len(union) - len(pattern) :]
        items_: list[Item] = [ALL if present else None for present in pattern]
        axes: Axes = tuple(i if present else None for i, present in zip(span, pattern, strict=True))
        return Value(_take(array, _packed(items_, axes)), axes)

    # elements

    def element(self, r: Ref, order: Sequence[Index], extents: Mapping[Index, Expr]) -> Value:
        """`x[h]` as an array over the indices of h."""
        base = Var(r.name)
        if plain(r) and self.whole_axes(r, extents):
            mine = labels(r)
            if r.name in self.kept:
                axes: list[Index | None] = []
                names = iter(mine)
                for present in self.kept[r.name]:
                    axes.append(next(names) if present else None)
                return Value(base, tuple(axes))
            return Value(base, mine)
        items: list[Item] = []
        axes_: list[Index | None] = []
        counts = {i: sum(i in indices(s) for s in r.subscripts) for i in indices(*r.subscripts)}
        advanced: list[int] = []
        for place, s in enumerate(r.subscripts):
            piece = self._slice(s, counts, extents, self.tensors[r.name].shape[place])
            if piece is not None:
                items.append(piece[0])
                axes_ += [piece[1]] if piece[1] is not None else []
            else:
                advanced.append(place)
                items.append(ALL)
        if not advanced:
            return Value(_take(base, _packed_items(items, r.subscripts)), tuple(axes_))
        return self._gather(r, advanced, items, order, extents)

    def whole_axes(self, r: Ref, extents: Mapping[Index, Expr]) -> bool:
        """Whether the indices of a plain element run over all of its tensor."""
        shape = self.tensors[r.name].shape
        pairs = zip(r.subscripts, shape, strict=True)
        return all(isinstance(s, Index) and _same_size(extents[s], extent) for s, extent in pairs)

    def _slice(
        self, s: Expr, counts: Mapping[Index, int], extents: Mapping[Index, Expr], axis: Expr
    ) -> tuple[Item, Index | None] | None:
        """A subscript that is basic indexing: `i`, a number, or `c*i + offset` with an index used nowhere else."""
        found = indices(s)
        if isinstance(s, Index) and counts[s] == 1:
            return ALL if _same_size(extents[s], axis) else Slice(None, extents[s]), s
        if not found and not any(n.subscripts for n in refs(s)):
            return s, None
        if len(found) != 1 or counts[found[0]] != 1 or any(n.subscripts for n in refs(s)):
            return None
        (i,) = found
        offset = substitute(s, {i: ZERO})
        step = substitute(s, {i: ONE}) - offset
        if not (is_exact(offset) and is_exact(step)) or (substitute(s, {i: const(2)}) - offset) is not step * 2:
            return None
        start, stride = int(value_of(offset)), int(value_of(step))
        if start < 0 or stride <= 0:
            return None
        last = extents[i] * stride + (start - stride + 1) if stride != 1 else extents[i] + start
        stop = None if _same_size(last, axis) else last
        return Slice(const(start) if start else None, stop, const(stride) if stride != 1 else None), i

    def _gather(
        self, r: Ref, advanced: Sequence[int], items: list[Item], order: Sequence[Index], extents: Mapping[Index, Expr]
    ) -> Value:
        """Integer-array indexing. Slices stay beside the arrays where the result's axes are then in a known order."""
        mine = [i for i in order if any(i in indices(r.subscripts[k]) for k in advanced)]
        adjacent = list(advanced) == list(range(advanced[0], advanced[-1] + 1))
        others = [k for k in range(len(items)) if k not in advanced]
        simple = adjacent and all(isinstance(r.subscripts[k], Index) and r.subscripts[k] not in mine for k in others)
        if not simple:
            advanced = list(range(len(items)))
            mine = [i for i in order if i in indices(*r.subscripts)]
            others = []
        arrays: list[Item] = []
        for place, s in enumerate(r.subscripts):
            if place in advanced:
                arrays.append(self._aligned(self._subscript(s, mine, extents), mine).array)
            else:
                arrays.append(ALL)
        before = [as_index(r.subscripts[k]) for k in others if k < advanced[0]]
        behind = [as_index(r.subscripts[k]) for k in others if k > advanced[-1]]
        return Value(Take(Var(r.name), _packed_items(arrays, r.subscripts)), (*before, *mine, *behind))

    def _subscript(self, s: Expr, order: Sequence[Index], extents: Mapping[Index, Expr]) -> Value:
        value = self._evaluated(s, order, extents)
        return Value(whole(value.array), value.axes)

    def scatter(self, e: Equation, order: Sequence[Index]) -> tuple[tuple[Item, ...], bool, tuple[Index, ...]]:
        """The items of `target[items] += value`, whether no element is written twice, and the axes of value."""
        extents = dict(e.box)
        subscripts = e.subscripts
        counts = {i: sum(i in indices(s) for s in subscripts) for i in indices(*subscripts)}
        shape = self.tensors[e.target].shape
        pieces = [self._slice(s, counts, extents, axis) for s, axis in zip(subscripts, shape, strict=True)]
        if all(p is not None for p in pieces):
            axes = tuple(p[1] for p in pieces if p is not None and p[1] is not None)
            return _packed_items([p[0] for p in pieces if p is not None], subscripts), True, axes
        mine = [i for i in order if i in indices(*subscripts)]
        safe = [transform(s, _guarded_reads) for s in subscripts]
        alone = {s for s in subscripts if isinstance(s, Index)}
        front = [s for s in alone if is_pack(s) and counts[s] == 1]  # a pack is in front, and `...` stands for it
        behind = [i for i in mine if i not in front]
        items: list[Item] = [
            "..." if s in front else self._aligned(self._subscript(s, behind, extents), behind).array for s in safe
        ]
        return tuple(items), set(mine) <= alone, (*front, *behind)

    def _spread(self, value: Value, wanted: Sequence[Index], extents: Mapping[Index, Expr]) -> Value:
        """`value` broadcast over the indices it lacks."""
        laid = self._aligned(value, wanted)
        return Value(BroadcastTo(laid.array, tuple(extents[i] for i in wanted)), tuple(wanted))

    def spread(self, value: Value, wanted: Sequence[Index], extents: Mapping[Index, Expr]) -> Value:
        """`value` with every index of `wanted`, in that order."""
        return value if value.axes == tuple(wanted) else self._spread(value, wanted, extents)

    def laid(self, value: Value, wanted: Sequence[Index]) -> Value:
        """`value` so that it broadcasts over the axes `wanted`."""
        return self._aligned(value, wanted)


def _guarded_reads(node: Expr) -> Expr:
    """A `where` whose branches can be evaluated where they are not selected, subscripts included."""
    if not (isinstance(node, Apply) and node.op == "select"):
        return node
    condition, then, otherwise = node.args
    return apply("select", condition, _branch(then, condition, True), _branch(otherwise, condition, False))


def _plain_number(array: Array) -> bool:
    """Whether an array is a number of Python's, which takes the type of what it meets, and not one of NumPy's."""
    return all(isinstance(b, (Num, SizeOf, Elementwise)) for b in below(array))


def _branch(body: Expr, condition: Expr, holds: bool) -> Expr:
    """A branch that may be evaluated everywhere: functions stay in their domain where it is not selected."""

    def guarded(s: Expr, instead: Expr) -> Expr:
        if isinstance(s, (Index, Const)):
            return s
        return apply("select", condition, s, instead) if holds else apply("select", condition, instead, s)

    def rewrite(node: Expr) -> Expr:
        if isinstance(node, Ref):
            return ref(node.name, *(guarded(s, ZERO) for s in node.subscripts))
        row = OPS[node.op] if isinstance(node, Apply) else None
        place = 1 if row is not None and row.name == "div" else 0
        if row is None or row.inside is None or not any(r.subscripts for r in refs(node.args[place])):
            return node
        if row.name == "pow" and is_exact(node.args[1]) and value_of(node.args[1]) in (1, 2, 3, 4, 5, 6):
            return node
        args = [guarded(a, const(row.inside)) if k == place else a for k, a in enumerate(node.args)]
        return with_args(node, args)

    return transform(body, rewrite)


def permuted(array: Array, axes: Sequence[int], packed: bool = False) -> Array:
    """`array` with its axes in another order; `packed`: only the last two change, behind a pack."""
    if list(axes) == list(range(len(axes))):
        return array
    if packed:
        return Permute(array, (-1, -2))
    return Permute(array, tuple(axes))


def _take(base: Array, items: tuple[Item, ...]) -> Array:
    """`base[items]`; a number times an array takes from the array: `2 * g[:, None]`."""
    if all(i is ALL or i == "..." for i in items):
        return base
    if isinstance(base, Elementwise) and all(i is None or i is ALL or i == "..." for i in items):
        arrays = [a for a in base.args if not isinstance(a, (Num, SizeOf))]
        if len(arrays) == 1:
            return Elementwise(base.op, tuple(_take(a, items) if a is arrays[0] else a for a in base.args))
    return Take(base, items)


def _packed(items: Sequence[Item], axes: Axes) -> tuple[Item, ...]:
    """Items with `...` for the axis of a pack."""
    return tuple(
        "..." if axis is not None and is_pack(axis) else item for item, axis in zip(items, axes, strict=True)
    )


def _packed_items(items: Sequence[Item], subscripts: Sequence[Expr]) -> tuple[Item, ...]:
    return tuple(
        "..." if isinstance(s, Index) and is_pack(s) and isinstance(i, Slice) else i
        for i, s in zip(items, subscripts, strict=True)
    )


def trimmed(axes: Axes) -> Axes:
    first = next((k for k, i in enumerate(axes) if i is not None), len(axes))
    return axes[first:]


def whole(array: Array) -> Array:
    """An array of integers as it is, for subscripts and integer results: not in the type of the inputs."""
    if isinstance(array, Range):
        return Range(array.extent)
    if isinstance(array, Real):
        return whole(array.base)
    return with_children(array, [whole(c) for c in children(array)])


def as_index(node: Expr | None) -> Index:
    assert isinstance(node, Index)
    return node


def _same_size(a: Expr, b: Expr) -> bool:
    return tidy(a - b) is ZERO


