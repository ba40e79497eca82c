"""A tensor that is filled: by one equation that writes every element once, or by several that lie side by side, which
are a stack or a concatenation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...expr import (
    ONE,
    ZERO,
    Expr,
    Index,
    const,
    index,
    indices,
    is_exact,
    ref,
    value_of,
)
from ...expr.sizes import equal, tidy
from ...ir import Equation, Tensor
from ..program import Step
from .affine import linear, product
from .below import below, plain_number
from .elements import Perhaps, Piece, Point, Run, Split, Turned, in_slices, trimmed_items
from .layout import is_pack
from .spell import Speller
from .taking import packed_items, taken
from .tree import (
    ALL,
    BACK,
    Array,
    Concatenate,
    Elementwise,
    Full,
    Item,
    Pad,
    Reshape,
    Roll,
    Stack,
    Take,
    Var,
)
from .values import Value


class Fills:
    """Turns the equations that fill a tensor into one expression."""

    def __init__(self, speller: Speller, tensors: dict[str, Tensor], returns: Sequence[str]) -> None:
        self.speller = speller
        self.tensors = tensors
        self.returns = returns
        self.sizes = speller.sizes

    def _slices(self, e: Equation) -> list[Piece] | None:
        """How the axes of the target are indexed; None where there must be integer arrays."""
        return in_slices(self.speller.pieces(ref(e.target, *e.subscripts), dict(e.box)))

    def _fills(self, e: Equation) -> bool:
        """Whether `e` writes every element of its target, each once."""
        slices = self._slices(e)
        return slices is not None and all(
            isinstance(p, (Run, Split, Turned)) and (p.item is ALL or p.item == BACK) for p in slices
        )

    def _filling(self, e: Equation) -> Array:
        value = self.speller.value(e)
        if e.plain:
            return self._laid(e, value)
        if not value.axes:
            return Full(value.array, self.tensors[e.target].shape)
        slices = self._slices(e)
        assert slices is not None
        return taken(*self._sliced(e, slices, value, full=True))

    def _sliced(
        self, e: Equation, slices: Sequence[Piece], value: Value, full: bool = False
    ) -> tuple[Array, tuple[Item, ...]]:
        """`value` as it is stored in slices of the target, with all of their axes if `full`, and the items of these:
        axes of several indices are put together, those that run backwards or round are turned."""
        moving = indices(e.body)  # what is the same all along an axis is written to it in any direction
        places = [ALL if isinstance(p, Run) and p.item == BACK and p.index not in moving else p.item for p in slices]
        items = trimmed_items(packed_items(places, e.subscripts))
        if not value.axes:
            return value.array, items
        extents = dict(e.box)
        standing = [p for p in slices if not isinstance(p, Point)]
        groups = [p.indices if isinstance(p, Split) else () if isinstance(p, Perhaps) else (p.index,) for p in standing]
        axes = tuple(group[0] if group else None for group in groups)
        if full or any(isinstance(p, (Split, Turned)) for p in standing):
            own = [i for group in groups for i in group]
            laid = self.speller.spread(self.speller.laid(value, own), own, extents)
            shape = [self.sizes.exact(product([self.sizes.count(i, extents[i]) for i in group])) for group in groups]
            value = Value(Reshape(laid.array, tuple(shape)) if len(shape) != len(own) else laid.array, axes)
        else:
            value = self.speller.laid(value, axes)
        back = {p.index for p in standing if isinstance(p, Run) and p.back}
        turned: list[Item] = [BACK if a in back else ALL for a in value.axes]
        array = taken(value.array, trimmed_items(packed_items(turned, value.axes)))
        packed = any(isinstance(s, Index) and is_pack(s) for s in e.subscripts)
        for k, p in enumerate(standing):
            if isinstance(p, Turned):
                array = Roll(array, p.shift, k - len(standing) if packed else k)
        return array, items

    def _laid(self, e: Equation, value: Value) -> Array:
        """`value` with the axes of the target: kept ones where they are kept, all of them otherwise."""
        wanted, extents = plain_indices(e), dict(e.box)
        if e.target in self.speller.kept:
            return value.array
        number = not value.axes and not any(isinstance(a, Var) and not a.number for a in below(value.array))
        if number and (wanted or e.target in self.returns):
            return Full(value.array, tuple(extents[i] for i in wanted))
        return self.speller.spread(self.speller.laid(value, wanted), wanted, extents).array

    # several equations side by side

    def _stacked(self, step: Step) -> Array | None:
        """Equations that write 0, 1, 2, ... of one axis are one stack."""
        equations = step.equations
        if any(e.when != step.when or e.where is not None for e in equations) or not equations[0].subscripts:
            return None
        axes = [k for k, s in enumerate(equations[0].subscripts) if is_exact(s)]
        if len(axes) != 1:
            return None
        (axis,) = axes
        rest = [s for k, s in enumerate(equations[0].subscripts) if k != axis]
        extent = self.tensors[step.target].shape[axis]
        items: dict[int, Array] = {}
        for e in equations:
            mine = [s for k, s in enumerate(e.subscripts) if k != axis]
            if mine != rest or not all(isinstance(s, Index) for s in rest) or not is_exact(e.subscripts[axis]):
                return None
            inner = replace(e, subscripts=tuple(rest))
            number = int(value_of(e.subscripts[axis]))
            array = self._laid(inner, self.speller.value(inner))
            array = Full(array, ()) if plain_number(array) else array  # of numbers alone it would be of doubles
            items[number] = Elementwise("add", (items[number], array)) if number in items else array
        complete = is_exact(extent) and sorted(items) == list(range(int(value_of(extent))))
        if not complete:
            return None
        last = axis == len(equations[0].subscripts) - 1
        packed = any(isinstance(s, Index) and is_pack(s) for s in rest)
        if len(items) == 1:
            behind = len(rest) - axis
            if packed:
                return Take(items[0], ("...", None, *[ALL] * behind))
            return Take(items[0], (*[ALL] * axis, None))
        return Stack(tuple(items[k] for k in sorted(items)), axis - len(rest) - 1 if packed or last else axis)

    def _concatenated(self, step: Step) -> Array | None:
        """Equations that write one stretch of an axis each, from its beginning to its end."""
        equations = step.equations
        shape = self.tensors[step.target].shape
        if len(equations) < 2 or any(e.when != step.when or e.where is not None for e in equations):
            return None
        if any(e.target != step.target for e in equations):
            return None
        axes = {k for e in equations for k, s in enumerate(e.subscripts) if not isinstance(s, Index)}
        if len(axes) != 1:
            return None
        (axis,) = axes
        items: list[Array] = []
        left = list(equations)
        end: Expr = ZERO
        while left:
            found = next((e for e in left if equal(_offset(e, axis), end)), None)
            if found is None or (inner := _run(found, axis)) is None:
                return None
            left.remove(found)
            extents = dict(inner.box)
            i = inner.subscripts[axis]
            assert isinstance(i, Index)
            rest = [(s, n) for k, (s, n) in enumerate(zip(inner.subscripts, shape, strict=True)) if k != axis]
            whole = all(isinstance(s, Index) and equal(extents[s], n) for s, n in rest)
            if not (inner.plain and whole and self.sizes.not_negative(extents[i])):
                return None
            items.append(self._slab(inner, i))
            end = tidy(end + extents[i])
        if not equal(end, shape[axis]):
            return None
        if any(isinstance(s, Index) and is_pack(s) for s in equations[0].subscripts):
            return Concatenate(tuple(items), axis - len(shape))
        return _padded(items, axis, len(shape)) or Concatenate(tuple(items), axis)

    def _slab(self, e: Equation, i: Index) -> Array:
        """The value of `e`; where it does not depend on the index `i`, which counts to 1, with an axis of length 1."""
        value = self.speller.value(e)
        wanted = plain_indices(e)
        if dict(e.box)[i] is not ONE:
            return self._laid(e, value)
        if i in value.labels or not value.axes or {*value.labels, i} != {*wanted}:
            number = not any(isinstance(a, Var) for a in below(value.array))
            return self._laid(e, value) if value.axes or number else Take(value.array, (None,) * len(wanted))
        laid = self.speller.laid(value, wanted)
        return laid.array if len(laid.axes) == len(wanted) else Take(laid.array, (None,))


def _padded(items: Sequence[Array], axis: int, rank: int) -> Pad | None:
    """A tensor with one place more in front or behind, all of it one number."""
    for base, slab, first in ((items[-1], items[0], True), (items[0], items[-1], False)):
        if len(items) == 2 and isinstance(base, Var) and isinstance(slab, Full) and slab.shape[axis] is ONE:
            width = (ONE, ZERO) if first else (ZERO, ONE)
            return Pad(base, tuple(width if k == axis else (ZERO, ZERO) for k in range(rank)), slab.value)
    return None


def _run(e: Equation, axis: int) -> Equation | None:
    """`e` with an index by itself along an axis, where it writes one stretch there; one place is a stretch of 1."""
    form = linear(e.subscripts[axis])
    if form is None or len(form.steps) > 1 or any(step is not ONE for _, step in form.steps):
        return None
    i = form.steps[0][0] if form.steps else index("#1")
    box = e.box if form.steps else ((i, ONE), *e.box)
    return replace(e, subscripts=tuple(i if k == axis else s for k, s in enumerate(e.subscripts)), box=box)


def _offset(e: Equation, axis: int) -> Expr:
    form = linear(e.subscripts[axis])
    return const(-1) if form is None else form.offset


def plain_indices(e: Equation) -> tuple[Index, ...]:
    """The indices among the subscripts of the target."""
    return tuple(s for s in e.subscripts if isinstance(s, Index))
