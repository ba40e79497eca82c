"""One equation as an array expression.

The spellings, tried in this order: a call of the library that computes all of it, matrix product, reduction of a
broadcast expression, einsum.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from ...expr import ONE, ZERO, Expr, Index, Ref, apply, fraction, indices, product, ref, signed_factors, values
from ...expr.names import is_pack
from ...expr.sizes import count
from ...ir import NEUTRAL, Dtype, Equation
from ...records import replace
from .affine import product as points_of
from .borders import Widths
from .convolutions import Operands, convolution, into_windows
from .layout import frame
from .matrices import matrix_value
from .taking import Axes, as_index, permuted, reordered, whole
from .tree import EXTREMES, Array, Einsum, Elementwise, MatMul, Num, Permute, Reduce, Reshape, Windows
from .values import KEPT, Value


class Speller(Operands):
    """Spells the equations of one procedure."""

    # equations

    def value(self, e: Equation) -> Value:
        """The array of `e` over the indices of its target, in the target's order or with kept axes."""
        value = self._value(e)
        if self.tensors[e.target].dtype != Dtype.BOOL:
            value = self.real(value)
        integer = self.tensors[e.target].dtype == Dtype.INT
        return Value(whole(value.array), value.axes) if integer else value

    def _value(self, e: Equation) -> Value:
        order = self.order(e)
        extents = dict(e.box)
        if e.matrix is not None:
            return self._ordered(matrix_value(self, e), e, order)
        shown = tuple(i for i, _ in e.shown)
        body = e.body if e.where is None else self._guarded(e)
        if not e.reduced:
            if e.target in self.kept:
                order = self._with_kept(e.target, order)
            result = self.evaluate(body, order, extents)
            return self._ordered(result, e, order)
        product = self._contraction(body, shown, order, extents) if e.reduce == "sum" else None
        result = self._reduction(e, body, order, extents) if product is None else product
        return self._ordered(result, e, order)

    def _with_kept(self, target: str, order: Sequence[Index]) -> tuple[Index, ...]:
        """The axes of a tensor that keeps some of length 1."""
        names = iter(order)
        return tuple(next(names) if present else KEPT for present in self.kept[target])

    def values(self, e: Equation) -> list[Ref]:
        """The elements that `e` reads as arrays: in its body, not in subscripts; sizes and options left out."""
        mentioned = values(*([] if e.where is None else [e.where]), e.body)
        return [n for n in mentioned if isinstance(n, Ref) and n.name not in self.sizes.numbers]

    def order(self, e: Equation) -> tuple[Index, ...]:
        """Every index of the box in the order of the axes of what is read."""
        return frame(e, self.values(e) if len(e.box) > 1 else (), self.axes)

    def contracted(self, e: Equation) -> bool:
        """Whether `e` is a product of matrices, or a function of them: its operands are arrays as they are."""
        if e.matrix is not None:
            return True
        if e.reduce != "sum" or not e.reduced or e.where is not None:
            return False
        order = self.order(e)
        return self._contraction(e.body, tuple(i for i, _ in e.shown), order, dict(e.box)) is not None

    def _guarded(self, e: Equation) -> Expr:
        """The body where the condition holds, and what does not count elsewhere."""
        assert e.where is not None
        return apply("select", e.where, e.body, NEUTRAL.get(e.reduce, ZERO))

    def _ordered(self, value: Value, e: Equation, order: Sequence[Index]) -> Value:
        """`value` with its axes as the target has them, or keeps them; missing ones are left to who stores it."""
        if not e.plain:
            return value
        wanted = tuple(s for s in e.subscripts if s in value.labels)
        if wanted == e.subscripts and e.target in self.kept:
            return self.laid(value, self._with_kept(e.target, wanted))
        if value.labels == wanted:
            return value
        return self.laid(value, tuple(map(as_index, wanted)))

    # reductions

    def _reduction(self, e: Equation, body: Expr, order: Sequence[Index], extents: Mapping[Index, Expr]) -> Value:
        kind = "sum" if e.reduce == "none" else e.reduce
        reduced = [i for i in order if i in {i for i, _ in e.reduced}]
        above, below, sign = signed_factors(body) if kind == "sum" else ([body], [], 1)
        fixed = [f for f in above if not set(indices(f)) & set(reduced)]
        moving = [f for f in above if set(indices(f)) & set(reduced)]
        if kind == "prod" and fixed:
            return self.evaluate(body ** product(extents[i] for i in reduced), order, extents)
        under = [f for f in below if not set(indices(f)) & set(reduced)]
        inner_below = [f for f in below if set(indices(f)) & set(reduced)]
        inner = fraction(moving, inner_below)
        value = self.evaluate(inner, order, extents)
        if self.tensors[e.target].dtype == Dtype.REAL:  # a sum of booleans is an integer, their mean a double
            value = self.real(value)
        missing = [i for i in reduced if i not in value.labels]
        if kind == "sum":
            for i in missing:
                fixed, under = _counted(fixed, under, extents[i])
            mean = [extents[i] for i in reduced if i in value.labels]
            if mean and not Counter(mean) - Counter(under):
                for m in mean:
                    under.remove(m)
                kind = "mean"
        elif missing:
            value = self.spread(value, [i for i in order if i in value.labels or i in missing], extents)
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
        front = product(above)
        if front is not ONE:
            left = self.evaluate(-front if sign < 0 else front, order, extents)
            one = isinstance(value.array, Num) and value.array.value is ONE
            value = left if one else self._broadcast("mul", [left, value], order)
        elif sign < 0:
            value = Value(Elementwise("neg", (value.array,)), value.axes)
        bottom = product(below)
        if bottom is not ONE:
            value = self._broadcast("div", [value, self.evaluate(bottom, order, extents)], order)
        return value

    def _reduced(self, kind: str, value: Value, reduced: Sequence[Index], e: Equation) -> Value:
        if not reduced:
            return value
        rest = tuple(i for i in value.labels if i not in reduced)
        sizes = dict(e.box)
        partial = kind == "supremum" and not all(self.sizes.occupied(sizes[i]) for i in reduced)
        if not rest and None not in value.axes:
            return Value(Reduce(kind, value.array, None, partial=partial), ())
        packs = [i for i in reduced if is_pack(i)]
        axes = list(value.axes)
        has_pack = any(i is not None and is_pack(i) for i in axes)
        if packs:
            others = [i for i in reduced if i not in packs]
            if others:
                return self._reduced(kind, self._reduced(kind, value, others, e), packs, e)
            if not rest:
                return Value(Reduce(kind, value.array, None, partial=partial), ())
            leading, *trailing = axes
            assert [leading] == packs, "the axes of a pack come first"
            shape = [ONE if i is None else sizes[i] for i in trailing]
            flat = Reshape(value.array, (None, *shape), rows=sizes[packs[0]])
            return Value(Reduce(kind, flat, (0,), partial=partial), tuple(trailing))
        places = [k for k, i in enumerate(axes) if i in reduced]
        numbers = tuple(k - len(axes) if has_pack else k for k in places)
        if kind in EXTREMES and len(places) > 1 and not has_pack and places[0] == len(axes) - len(places):
            extreme = _axis_by_axis(kind, value.array, places, partial)
            if extreme is not None:
                return Value(extreme, tuple(axes[: places[0]]))
        keep = self.kept.get(e.target)
        if keep is not None:
            kept: Axes = tuple(None if i in reduced else i for i in axes)
            if tuple(i is not None for i in kept) == keep:
                return Value(Reduce(kind, value.array, numbers, True, partial), kept)
        return Value(Reduce(kind, value.array, numbers, False, partial), tuple(i for i in axes if i not in reduced))

    # products of matrices

    def _contraction(
        self, body: Expr, shown: Sequence[Index], order: Sequence[Index], extents: Mapping[Index, Expr]
    ) -> Value | None:
        """A sum of a product as `@` or einsum; None where it is one array reduced."""
        reduced = [i for i in order if i not in shown]
        above, below, sign = signed_factors(body)
        moving = [f for f in above if set(indices(f)) & set(reduced)]
        inner_below = [f for f in below if set(indices(f)) & set(reduced)]
        if len(moving) < 2 or any(isinstance(f, Index) for f in moving):
            return None
        factors = _factors(moving, inner_below, shown)
        if factors is None or len(factors) < 2:
            return None
        fixed = [f for f in above if f not in moving]
        under = [f for f in below if f not in inner_below]
        for i in reduced:
            if not any(i in indices(f) for f in factors):
                fixed, under = _counted(fixed, under, extents[i])
        result = convolution(self, factors, shown, extents) or self._product(factors, shown, reduced, extents)
        return None if result is None else self._scaled(result, fixed, under, sign, order, extents)

    def _product(
        self, factors: Sequence[Expr], shown: Sequence[Index], reduced: Sequence[Index], extents: Mapping[Index, Expr]
    ) -> Value | None:
        """A sum of a product of factors as `@` or einsum."""
        operands = [v for f in factors if (v := self.operand(f, extents)) is not None]
        if len(operands) < len(factors):
            return None
        result = self._matmul(operands, shown, reduced, extents) if len(operands) == 2 else None
        if result is None or _turned_twice(result, shown):
            result = self._einsum(operands, shown) or result
        return result

    def operand(self, factor: Expr, extents: Mapping[Index, Expr]) -> Value | None:
        """A factor as an array with all of its axes; None where one is read by integer arrays, or kept."""
        if not all(self.viewed(r, extents) for r in self._read(factor)):
            return None
        local = frame(_box_only(factor, extents), self._read(factor), self.axes)
        value = self.real(self.evaluate(factor, local, extents))
        return None if None in value.axes else value

    def into_windows(self, e: Equation, widths: Widths | None = None) -> Array | None:
        """What `e` adds to the windows of its target, as a call that gives all of it; without a border of those
        widths."""
        if not self.library or e.where is not None or e.reduce not in ("none", "sum"):
            return None
        above, below, sign = signed_factors(e.body)
        fixed, under = ([f for f in some if not indices(f)] for some in (above, below))
        above, below = ([f for f in some if indices(f)] for some in (above, below))
        factors = _factors(above, below, [i for i, _ in e.shown])
        if factors is None or any(not any(i in indices(f) for f in factors) for i, _ in e.box):
            return None
        target, extents = ref(e.target, *e.subscripts), dict(e.box)
        found = into_windows(self, target, factors, extents, widths)
        return None if found is None else self._scaled(Value(found, ()), fixed, under, sign, (), extents).array

    def _read(self, body: Expr) -> list[Ref]:
        nodes = values(body, closed=self._is_size)
        return [n for n in nodes if isinstance(n, Ref) and n.name not in self.sizes.numbers]

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
        # einsum of a framework does that itself, and torch's `@` rounds otherwise where gradients are asked for
        pairs = ((a, b), (b, a)) if not self.library else ()
        for matrix, several in pairs:
            if (found := self._from_left(matrix, several, shown, extents)) is not None:
                return found
        mine = [i for i in a.labels if i not in both]
        other = [i for i in b.labels if i not in both]
        if mine and other and shown.index(mine[0]) > shown.index(other[0]):
            a, b, mine, other = b, a, other, mine
        if len(both) > 1 or is_pack(both[0]):
            return self._flattened(a, b, both, mine, other, extents)
        (k,) = both
        if not mine and b.labels == (*other, k):  # x @ w, where x may have a pack
            a, b, mine, other = b, a, other, mine
        if len(other) > 1:
            return None
        left = a.array
        if a.labels != (*mine, k):
            left = reordered(left, a.labels, (*mine, k))
        right = b.array
        if b.labels != (k, *other):
            right = reordered(right, b.labels, (k, *other))
        return Value(MatMul(left, right), (*mine, *other))

    def _from_left(
        self, matrix: Value, several: Value, shown: Sequence[Index], extents: Mapping[Index, Expr]
    ) -> Value | None:
        """A product of a matrix with each of several, `w @ x`; what the axes behind count are the columns of these."""
        if len(matrix.labels) != 2 or len([i for i in matrix.labels if i in several.labels]) != 1:
            return None
        kept, k = matrix.labels if matrix.labels[1] in several.labels else matrix.labels[::-1]
        place = several.labels.index(k)
        before, behind = several.labels[:place], several.labels[place + 1 :]
        axes = (*before, kept, *behind)
        if not before or not behind or axes != tuple(shown) or any(map(is_pack, (k, kept, *behind))):
            return None
        left = matrix.array if matrix.labels == (kept, k) else permuted(matrix.array, [1, 0])
        if len(behind) == 1:
            return Value(MatMul(left, several.array), axes)
        if any(map(is_pack, before)):
            return None
        first, last, count = ([self.sizes.count(i, extents[i]) for i in some] for some in (before, behind, (kept, k)))
        right = Reshape(several.array, (*first, count[1], points_of(last)))
        return Value(Reshape(MatMul(left, right), (*first, count[0], *last), split=True), axes)

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
        packed = any(i is not None and is_pack(i) for i in v.axes[:leading])
        # -1 stands for the axes of a pack; it cannot be told where another axis may be 0
        rows = points_of([count(extents[i]) for i in v.labels[:leading]])
        return Reshape(v.array, (None if packed else rows, *(extents[i] for i in rest)), rows=rows)

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
        packed = is_pack(batch[0])
        left = a.array if a.labels[-1] is inner[0] else permuted(a.array, swap, packed)
        right = b.array if b.labels[-2] is inner[0] else permuted(b.array, swap, packed)
        return Value(MatMul(left, right), (*batch, *mine, *other))

    def _einsum(self, operands: Sequence[Value], shown: Sequence[Index]) -> Value | None:
        found = dict.fromkeys(i for v in operands for i in v.labels)
        letters = iter(c for c in "abcdefghijklmnopqrstuvwxyz" if c not in {i.name for i in found})
        names = {i: i.name if len(i.name) == 1 or is_pack(i) else next(letters, "") for i in found}
        if "" in names.values() or any(is_pack(i) and i not in shown for i in names):
            return None
        result = [i for i in shown if i in names]
        texts = ["".join("..." if is_pack(i) else names[i] for i in v.labels) for v in operands]
        target = "".join("..." if is_pack(i) else names[i] for i in result)
        return Value(Einsum(f"{','.join(texts)}->{target}", tuple(v.array for v in operands)), tuple(result))


def _axis_by_axis(kind: str, array: Array, places: Sequence[int], partial: bool) -> Array | None:
    """An extreme of windows in several axes, by one axis after the other: of 3 x 3 places it compares 3 and 3 for each
    window, and not 9."""
    chain: list[Windows] = []
    while isinstance(array, Windows):
        chain.insert(0, array)
        array = array.base
    if len(chain) != len(places):
        return None
    for windows in chain:
        array = Reduce(kind, replace(windows, base=array), (places[0],), partial=partial)
    return array


def _turned_twice(product: Value, shown: Sequence[Index]) -> bool:
    """Whether both an operand and the result of more than two axes stand in another order: einsum says that plainly."""
    turned = isinstance(product.array, MatMul) and isinstance(product.array.left, Permute)
    return turned and len(product.labels) > 2 and product.labels != tuple(i for i in shown if i in product.labels)


Groups = Mapping[frozenset[Index], list[Expr]]  # factors by the indices that they mention


def _factors(above: Sequence[Expr], below: Sequence[Expr], shown: Sequence[Index]) -> list[Expr] | None:
    """The factors of a contraction, one for each set of indices; None where a divisor belongs to none of them."""
    groups: dict[frozenset[Index], list[Expr]] = {}
    for f in above:
        groups.setdefault(frozenset(indices(f)), []).append(f)
    joined = _scaled_first(groups, shown)
    divisors = _divisors(below, joined)
    if divisors is None:
        return None
    return [fraction(members, divisors.get(key, [])) for key, members in joined.items()]


def _scaled_first(groups: Groups, shown: Sequence[Index]) -> Groups:
    """Of three factors or more, one that scales the rows or columns of another joins it: `(v * w) @ v.T`."""
    joined = {key: list(members) for key, members in groups.items()}

    def place(key: frozenset[Index]) -> int:
        return min((n for n, i in enumerate(shown) if i in key), default=len(shown))

    for key in groups:
        larger = sorted((other for other in joined if key < other), key=place)
        if len(joined) > 2 and larger:
            joined[larger[0]] += joined.pop(key)
    return joined


def _divisors(below: Sequence[Expr], groups: Groups) -> Groups | None:
    """Each divisor with the first factor that has all of its indices; None where one has none."""
    found: dict[frozenset[Index], list[Expr]] = {}
    for f in below:
        key = next((key for key in groups if key >= set(indices(f))), None)
        if key is None:
            return None
        found.setdefault(key, []).append(f)
    return found


def _box_only(body: Expr, extents: Mapping[Index, Expr]) -> Equation:
    found = indices(body)
    return Equation("", found, "none", body, tuple((i, extents[i]) for i in extents if i in found))


def _counted(above: list[Expr], below: list[Expr], extent: Expr) -> tuple[list[Expr], list[Expr]]:
    """Times the number of points of an index that nothing mentions; a mean's divisor cancels it."""
    if any(b is extent for b in below):
        return above, [b for k, b in enumerate(below) if k != next(j for j, x in enumerate(below) if x is extent)]
    return [extent, *above], below
