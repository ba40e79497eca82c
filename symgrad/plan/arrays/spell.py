"""One equation as an array expression.

The spellings, tried in this order: matrix product, reduction of a broadcast expression, einsum; for reads a plain
element, a slice, a row or column picked by a number, and integer-array indexing, which can say every subscript.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ...expr import ONE, ZERO, Apply, Const, Expr, Index, Ref, apply, const, index, indices, is_exact, postorder, refs, substitute
from ...ir import Dtype, Equation, Tensor
from ...ops import OPS
from .layout import Pattern, frame, is_pack, labels, natural, plain
from .tree import (
    ALL,
    Array,
    BroadcastTo,
    Einsum,
    Elementwise,
    Item,
    MatMul,
    Num,
    Permute,
    Range,
    Real,
    Reduce,
    Reshape,
    SizeOf,
    Slice,
    Take,
    Var,
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


class Speller:
    """Spells the equations of one procedure.

    kept  the locals that were stored with axes of length 1, and how
    """

    def __init__(self, tensors: Mapping[str, Tensor], numbers: Iterable[str], kept: Mapping[str, Pattern]) -> None:
        self.tensors = tensors
        self.numbers = frozenset(numbers)  # sizes and options
        self.kept = kept

    # equations

    def value(self, e: Equation) -> Value:
        """The array of `e` over the indices of its target, in the target's order or with kept axes."""
        order = frame(e, self.values(e))
        extents = dict(e.box)
        shown = tuple(i for i, _ in e.shown)
        body = e.body if e.where is None else self._guarded(e)
        if not e.reduced:
            if e.target in self.kept:
                names = iter(order)
                order = tuple(next(names) if present else KEPT for present in self.kept[e.target])
            result = self.evaluate(body, order, extents)
            return self._ordered(result, e, order)
        result = None
        if e.reduce == "sum":
            result = self._contraction(body, shown, order, extents)
        if result is None:
            result = self._reduction(e, body, order, extents)
        return self._ordered(result, e, order)

    def values(self, e: Equation) -> list[Ref]:
        """The elements that `e` reads as arrays: in its body, not in subscripts; sizes and options left out."""
        found: list[Ref] = []
        stack: list[Expr] = [*reversed(e.expressions[:1]), *([e.where] if e.where is not None else [])]
        seen: set[Expr] = set()
        while stack:
            node = stack.pop()
            if node in seen:
                continue
            seen.add(node)
            if isinstance(node, Ref):
                if node.name not in self.numbers:
                    found.append(node)
            else:
                stack.extend(reversed(node.args))
        return found

    def contracted(self, e: Equation) -> bool:
        """Whether `e` is spelled as a product of matrices."""
        if e.reduce != "sum" or not e.reduced or e.where is not None:
            return False
        order = frame(e, self.values(e))
        bare = Speller(self.tensors, self.numbers, {})
        return bare._contraction(e.body, tuple(i for i, _ in e.shown), order, dict(e.box)) is not None

    def _guarded(self, e: Equation) -> Expr:
        """The body where the condition holds, and what does not count elsewhere."""
        neutral = {"none": ZERO, "sum": ZERO, "prod": ONE}.get(e.reduce)
        assert neutral is not None and e.where is not None, "a condition on max and min needs infinities"
        return apply("select", e.where, e.body, neutral)

    def _ordered(self, value: Value, e: Equation, order: Sequence[Index]) -> Value:
        """`value` with its axes as the target has them; missing ones are left to who stores it."""
        if not e.plain:
            return value
        wanted = tuple(s for s in e.subscripts if s in value.labels)
        if value.labels == wanted:
            return value
        return Value(permuted(value.array, [value.labels.index(_index(s)) for s in wanted]), tuple(map(_index, wanted)))

    # elementwise

    def evaluate(self, body: Expr, order: Sequence[Index], extents: Mapping[Index, Expr]) -> Value:
        """`body` as an array expression over the axes in `order` (those that it mentions)."""
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
        found = [n for n in postorder(node)]
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
            if node.name in self.numbers:
                return Value(SizeOf(node), ())
            return self.element(node, order, extents)
        if self._is_size(node):
            return Value(SizeOf(node), ())
        assert isinstance(node, Apply)
        args = [done[a] for a in node.args]
        if node.op == "select" and all(isinstance(a, Const) for a in node.args[1:]):
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
        if plain(r):
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

    def _slice(
        self, s: Expr, counts: Mapping[Index, int], extents: Mapping[Index, Expr], axis: Expr
    ) -> tuple[Item, Index | None] | None:
        """A subscript that is basic indexing: `i`, a number, or `c*i + offset` with an index used nowhere else."""
        found = indices(s)
        if isinstance(s, Index) and counts[s] == 1:
            return ALL, s
        if not found and not any(n.subscripts for n in refs(s)):
            return s, None
        if len(found) != 1 or counts[found[0]] != 1 or any(n.subscripts for n in refs(s)):
            return None
        (i,) = found
        offset = substitute(s, {i: ZERO})
        step = substitute(s, {i: ONE}) - offset
        if not (is_exact(offset) and is_exact(step)) or (substitute(s, {i: const(2)}) - offset) is not step * 2:
            return None
        start, stride = int(offset.value), int(step.value)  # type: ignore[attr-defined]  # is_exact: a Const
        if start < 0 or stride <= 0:
            return None
        last = extents[i] * stride + (start - stride + 1) if stride != 1 else extents[i] + start
        stop = None if _same_size(last, axis) else last
        return Slice(const(start) if start else None, stop, const(stride) if stride != 1 else None), i

    def _gather(
        self, r: Ref, advanced: Sequence[int], items: list[Item], order: Sequence[Index], extents: Mapping[Index, Expr]
    ) -> Value:
        """Integer-array indexing. Slices stay beside the arrays where the result's axes are then in a known order."""
        inside = [i for i in order if any(i in indices(r.subscripts[k]) for k in advanced)]
        adjacent = list(advanced) == list(range(advanced[0], advanced[-1] + 1))
        others = [k for k in range(len(items)) if k not in advanced]
        simple = adjacent and all(isinstance(r.subscripts[k], Index) and r.subscripts[k] not in inside for k in others)
        if not simple:
            advanced = list(range(len(items)))
            inside = [i for i in order if i in indices(*r.subscripts)]
            others = []
        arrays: list[Item] = []
        for place, s in enumerate(r.subscripts):
            if place in advanced:
                value = self._aligned(self._subscript(s, inside, extents), inside)
                arrays.append(value.array)
            else:
                arrays.append(ALL)
        before = [_index(r.subscripts[k]) for k in others if k < advanced[0]]
        behind = [_index(r.subscripts[k]) for k in others if k > advanced[-1]]
        return Value(Take(Var(r.name), _packed_items(arrays, r.subscripts)), (*before, *inside, *behind))

    def _subscript(self, s: Expr, order: Sequence[Index], extents: Mapping[Index, Expr]) -> Value:
        value = self.evaluate(s, order, extents)
        return Value(_whole(value.array), value.axes)

    def scatter(self, e: Equation, order: Sequence[Index]) -> tuple[tuple[Item, ...], bool, tuple[Index, ...]]:
        """The items of `target[items] += value`, whether no element is written twice, and the axes of value."""
        extents = dict(e.box)
        counts = {i: sum(i in indices(s) for s in e.subscripts) for i in indices(*e.subscripts)}
        shape = self.tensors[e.target].shape
        pieces = [self._slice(s, counts, extents, axis) for s, axis in zip(e.subscripts, shape, strict=True)]
        if all(p is not None for p in pieces):
            axes = tuple(p[1] for p in pieces if p is not None and p[1] is not None)
            return _packed_items([p[0] for p in pieces if p is not None], e.subscripts), True, axes
        inside = [i for i in order if i in indices(*e.subscripts)]
        items: list[Item] = [self._aligned(self._subscript(s, inside, extents), inside).array for s in e.subscripts]
        alone = {s for s in e.subscripts if isinstance(s, Index)}
        return tuple(items), set(inside) <= alone, tuple(inside)

    # reductions

    def _reduction(self, e: Equation, body: Expr, order: Sequence[Index], extents: Mapping[Index, Expr]) -> Value:
        kind = "sum" if e.reduce == "none" else e.reduce
        reduced = [i for i in order if i in {i for i, _ in e.reduced}]
        above, below, sign = factors(body) if kind == "sum" else ([body], [], 1)
        fixed = [f for f in above if not set(indices(f)) & set(reduced)]
        moving = [f for f in above if set(indices(f)) & set(reduced)]
        under = [f for f in below if not set(indices(f)) & set(reduced)]
        inner_below = [f for f in below if set(indices(f)) & set(reduced)]
        inner = _quotient(moving, inner_below)
        value = self.evaluate(inner, order, extents)
        missing = [i for i in reduced if i not in value.labels]
        if kind == "sum":
            for i in missing:
                fixed, under = _counted(fixed, under, extents[i])
            mean = [extents[i] for i in reduced if i in value.labels]
            if mean and all(any(u is m for u in under) for m in mean):
                for m in mean:
                    under.remove(m)
                kind = "mean"
        elif missing:
            value = self._spread(value, [i for i in order if i in value.labels or i in missing], extents)
        result = self._reduced(kind, value, [i for i in reduced if i in value.labels], e)
        return self._scaled(result, fixed, under, sign, order, extents)

    def _scaled(
        self,
        value: Value,
        above: Sequence[Expr],
        below: Sequence[Expr],
        sign: int,
        order: Sequence[Index],
        extents: Mapping[Index, Expr],
    ) -> Value:
        """sign * above * value / below, the numbers in front."""
        front = _product(above)
        if front is not ONE:
            left = self.evaluate(-front if sign < 0 else front, order, extents)
            value = self._broadcast("mul", [left, value], order)
        elif sign < 0:
            value = Value(Elementwise("neg", (value.array,)), value.axes)
        bottom = _product(below)
        if bottom is not ONE:
            value = self._broadcast("div", [value, self.evaluate(bottom, order, extents)], order)
        return value

    def _reduced(self, kind: str, value: Value, reduced: Sequence[Index], e: Equation) -> Value:
        if not reduced:
            return value
        rest = tuple(i for i in value.labels if i not in reduced)
        if not rest and None not in value.axes:
            return Value(Reduce(kind, value.array, None), ())
        packs = [i for i in reduced if is_pack(i)]
        axes = list(value.axes)
        has_pack = any(i is not None and is_pack(i) for i in axes)
        if packs:
            trailing = axes[1:]
            if any(i in reduced for i in trailing if i is not None) or None in axes:
                inner = self._reduced(kind, value, [i for i in reduced if not is_pack(i)], e)
                return self._reduced(kind, inner, packs, e)
            shape: list[Expr | None] = [None]
            sizes = dict(e.box)
            shape += [sizes[i] for i in trailing if i is not None]
            return Value(Reduce(kind, Reshape(value.array, tuple(shape)), (0,)), rest)
        places = [k for k, i in enumerate(axes) if i in reduced]
        numbers = tuple(k - len(axes) if has_pack else k for k in places)
        keep = self.kept.get(e.target)
        if keep is not None:
            kept: list[Index | None] = [None if i in reduced else i for i in axes]
            while kept and kept[0] is None:
                kept.pop(0)
            if tuple(i is not None for i in kept) == keep:
                full: Axes = tuple(None if i in reduced else i for i in axes)
                return Value(Reduce(kind, value.array, numbers, keepdims=True), _trimmed(full))
        return Value(Reduce(kind, value.array, numbers), tuple(i for i in axes if i not in reduced))

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

    # products of matrices

    def _contraction(
        self, body: Expr, shown: Sequence[Index], order: Sequence[Index], extents: Mapping[Index, Expr]
    ) -> Value | None:
        """A sum of a product as `@` or einsum; None where it is one array reduced."""
        reduced = [i for i in order if i not in shown]
        above, below, sign = factors(body)
        moving = [f for f in above if set(indices(f)) & set(reduced)]
        inner_below = [f for f in below if set(indices(f)) & set(reduced)]
        if len(moving) < 2 or inner_below or any(isinstance(f, Index) for f in moving):
            return None
        groups: dict[frozenset[Index], list[Expr]] = {}
        for f in moving:
            groups.setdefault(frozenset(indices(f)), []).append(f)
        if len(groups) < 2:
            return None
        fixed = [f for f in above if f not in moving]
        operands = []
        for members in groups.values():
            inner = _product(members)
            if not all(plain(r) for r in self._read(inner)):
                return None
            local = frame(_box_only(inner, extents), self._read(inner))
            operands.append(self.evaluate(inner, local, extents))
        under = [f for f in below]
        if any(None in v.axes for v in operands):
            return None
        missing = [i for i in reduced if not any(i in v.labels for v in operands)]
        for i in missing:
            fixed, under = _counted(fixed, under, extents[i])
        result = self._matmul(operands, shown, reduced, extents) if len(operands) == 2 else None
        if result is None:
            result = self._einsum(operands, shown)
        return None if result is None else self._scaled(result, fixed, under, sign, order, extents)

    def _read(self, body: Expr) -> list[Ref]:
        return [n for n in self._outer(body) if isinstance(n, Ref) and n.name not in self.numbers]

    def _matmul(
        self, operands: Sequence[Value], shown: Sequence[Index], reduced: Sequence[Index], extents: Mapping[Index, Expr]
    ) -> Value | None:
        a, b = operands
        both = [i for i in a.labels if i in b.labels]
        if any(i in shown for i in both) or not both:
            return self._batched(a, b, shown, both)
        if any(i not in both and i in reduced for v in operands for i in v.labels):
            return None
        if not (set(a.labels) | set(b.labels)) - set(both):
            return None  # a full inner product is a reduction
        mine = [i for i in a.labels if i not in both]
        other = [i for i in b.labels if i not in both]
        if mine and other and shown.index(mine[0]) > shown.index(other[0]):
            a, b, mine, other = b, a, other, mine
        if len(both) > 1 or is_pack(both[0]):
            return self._flattened(a, b, both, mine, other, extents)
        (k,) = both
        if len(other) > 1:
            return None
        left = a.array
        if a.labels != (*mine, k):
            left = permuted(left, [a.labels.index(i) for i in (*mine, k)])
        right = b.array
        if b.labels != (k, *other):
            right = permuted(right, [b.labels.index(i) for i in (k, *other)])
        return Value(MatMul(left, right), (*mine, *other))

    def _flattened(
        self,
        a: Value,
        b: Value,
        both: Sequence[Index],
        mine: Sequence[Index],
        other: Sequence[Index],
        extents: Mapping[Index, Expr],
    ) -> Value | None:
        """A contraction over a pack, or over several leading axes: both operands as matrices of rows."""
        if len(mine) > 1 or len(other) > 1 or a.labels != (*both, *mine) or b.labels != (*both, *other):
            return None
        rows = [self._rows(v, len(both), rest, extents) for v, rest in ((a, mine), (b, other))]
        left = permuted(rows[0], [1, 0]) if mine else rows[0]
        return Value(MatMul(left, rows[1]), (*mine, *other))

    def _rows(self, v: Value, leading: int, rest: Sequence[Index], extents: Mapping[Index, Expr]) -> Array:
        if leading == 1 and not is_pack(v.labels[0]):
            return v.array
        return Reshape(v.array, (None, *(extents[i] for i in rest)))

    def _batched(self, a: Value, b: Value, shown: Sequence[Index], both: Sequence[Index]) -> Value | None:
        """A product of matrices for every index of a leading batch."""
        batch = [i for i in both if i in shown]
        inner = [i for i in both if i not in shown]
        mine = [i for i in a.labels if i not in both]
        other = [i for i in b.labels if i not in both]
        leading = a.labels[: len(batch)] == tuple(batch) == b.labels[: len(batch)]
        if len(inner) != 1 or len(mine) != 1 or len(other) != 1 or not leading or is_pack(inner[0]):
            return None
        if shown.index(mine[0]) > shown.index(other[0]):
            a, b, mine, other = b, a, other, mine
        rank = len(batch) + 2
        swap = [*range(rank - 2), rank - 1, rank - 2]
        left = a.array if a.labels[-1] is inner[0] else permuted(a.array, swap, keep=rank - 2, packed=is_pack(batch[0]))
        right = b.array if b.labels[-2] is inner[0] else permuted(b.array, swap, keep=rank - 2, packed=is_pack(batch[0]))
        return Value(MatMul(left, right), (*batch, *mine, *other))

    def _einsum(self, operands: Sequence[Value], shown: Sequence[Index]) -> Value | None:
        names = {i: i.name for v in operands for i in v.labels}
        if any(len(n) != 1 and not is_pack(i) for i, n in names.items()) or any(
            is_pack(i) and i not in shown for i in names
        ):
            return None
        result = [i for i in shown if i in names]
        texts = ["".join("..." if is_pack(i) else names[i] for i in labels_) for labels_ in (v.labels for v in operands)]
        target = "".join("..." if is_pack(i) else names[i] for i in result)
        return Value(Einsum(f"{','.join(texts)}->{target}", tuple(v.array for v in operands)), tuple(result))


# arithmetic on trees and bodies


def factors(body: Expr) -> tuple[list[Expr], list[Expr], int]:
    """The factors above and below the line, and the sign."""
    above: list[Expr] = []
    below: list[Expr] = []
    sign = 1
    stack = [(body, True)]
    while stack:
        node, up = stack.pop()
        if isinstance(node, Apply) and node.op == "mul":
            stack += [(node.args[1], up), (node.args[0], up)]
        elif isinstance(node, Apply) and node.op == "div":
            stack += [(node.args[1], not up), (node.args[0], up)]
        elif isinstance(node, Apply) and node.op == "neg":
            sign = -sign
            stack.append((node.args[0], up))
        elif node is not ONE:
            (above if up else below).append(node)
    return above, below, sign


def _product(items: Sequence[Expr]) -> Expr:
    result: Expr = ONE
    for item in items:
        result = result * item
    return result


def _quotient(above: Sequence[Expr], below: Sequence[Expr]) -> Expr:
    return _product(above) / _product(below) if below else _product(above)


def _counted(above: list[Expr], below: list[Expr], extent: Expr) -> tuple[list[Expr], list[Expr]]:
    """Times the number of points of an index that nothing mentions; a mean's divisor cancels it."""
    if any(b is extent for b in below):
        return above, [b for k, b in enumerate(below) if k != next(j for j, x in enumerate(below) if x is extent)]
    return [extent, *above], below


def permuted(array: Array, axes: Sequence[int], keep: int = 0, packed: bool = False) -> Array:
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


def _trimmed(axes: Axes) -> Axes:
    first = next((k for k, i in enumerate(axes) if i is not None), len(axes))
    return axes[first:]


def _whole(array: Array) -> Array:
    """An index as a subscript: integers, not numbers of the inputs' type."""
    match array:
        case Range(extent, _):
            return Range(extent)
        case Elementwise(op, args):
            return Elementwise(op, tuple(_whole(a) for a in args))
        case Take(base, items):
            return Take(_whole(base), items)
        case Permute(base, axes):
            return Permute(_whole(base), axes)
        case _:
            return array


def _index(node: Expr | None) -> Index:
    assert isinstance(node, Index)
    return node


def _same_size(a: Expr, b: Expr) -> bool:
    from ...declare.draft import tidy  # the one place that knows when two sizes are equal

    return tidy(a - b) is ZERO


def _box_only(body: Expr, extents: Mapping[Index, Expr]) -> Equation:
    found = indices(body)
    return Equation("", found, "none", body, tuple((i, extents[i]) for i in extents if i in found))


def is_integer(array: Array, tensors: Mapping[str, Tensor]) -> bool:
    """Whether an array holds booleans or integers."""
    match array:
        case Var(name):
            return name in tensors and tensors[name].dtype != Dtype.REAL
        case Elementwise(op, args):
            return OPS[op].result in ("bool", "int") or (op != "div" and bool(args) and all(
                is_integer(a, tensors) for a in args
            ))
        case Take(base, _) | Permute(base, _) | Reshape(base, _) | BroadcastTo(base, _):
            return is_integer(base, tensors)
        case Reduce(kind, base, _, _):
            return kind == "argmax" or is_integer(base, tensors)
        case Range(_, real):
            return not real
        case _:
            return False
