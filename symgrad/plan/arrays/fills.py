"""A tensor that is filled: by one equation that writes every element once, or by several that lie side by side, which
are a stack or a concatenation."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from ...expr import ONE, ZERO, Expr, Index, index, indices, is_exact, ref
from ...expr.names import is_pack
from ...expr.polynomials import Polynomial, constant, polynomial
from ...ir import Dtype, Equation, Tensor
from ...records import dataclass, replace
from ..program import Step
from .affine import linear, product
from .below import holds_below, plain_number
from .elements import Perhaps, Piece, Point, Run, Split, Turned, in_slices, trimmed_items
from .layout import pack_of
from .spell import Speller
from .taking import packed_items, taken
from .tree import ALL, BACK, Array, BroadcastTo, Concatenate, Elementwise, Full, Item, Pad, Roll, Stack, Var
from .values import Value


@dataclass(frozen=True, slots=True)
class _Stretch:
    """What an equation writes along an axis, one place being a stretch of 1.

    equation  with an index of its own along the axis, which counts from 0
    """

    equation: Equation
    index: Index
    start: Expr
    extent: Expr


class Fills:
    """Turns the equations that fill a tensor into one expression."""

    def __init__(self, speller: Speller, returns: Sequence[str]) -> None:
        self.speller, self.returns = speller, returns
        self.tensors, self.sizes = speller.tensors, speller.sizes

    def dtype_of(self, target: str) -> Dtype:
        """What a tensor holds."""
        return self.tensors[target].dtype

    def _slices(self, e: Equation) -> list[Piece] | None:
        """How the axes of the target are indexed; None where there must be integer arrays."""
        return in_slices(self.speller.pieces(ref(e.target, *e.subscripts), dict(e.box)))

    def _fills(self, e: Equation) -> bool:
        """Whether `e` writes every element of its target, each once, or adds to them what one call gives."""
        slices = self._slices(e)
        return self.speller.into_windows(e) is not None or slices is not None and all(
            isinstance(p, (Run, Split, Turned)) and (p.item is ALL or p.item == BACK) for p in slices
        )

    def _filling(self, e: Equation) -> Array:
        if (called := self.speller.into_windows(e)) is not None:
            return called
        value = self.speller.value(e)
        if e.plain:
            return self._laid(e, value)
        if not value.axes:
            shape = self.tensors[e.target].shape
            dtype = self.dtype_of(e.target)
            return Full(value.array, shape, dtype) if _is_number(value) else BroadcastTo(value.array, shape)
        slices = self._slices(e)
        assert slices is not None
        return taken(*self._sliced(e, slices, value, full=True))

    def _sliced(
        self, e: Equation, slices: Sequence[Piece], value: Value, full: bool = False
    ) -> tuple[Array, tuple[Item, ...]]:
        """`value` as it is stored in slices of the target, with all of their axes if `full`, and the items of these:
        axes of several indices are put together, those that run backwards or round are turned."""
        # what is the same all along an axis is written to it in any direction
        same = {p.index for p in slices if isinstance(p, Run)} - {*value.axes}
        places = [ALL if isinstance(p, Run) and p.item == BACK and p.index in same else p.item for p in slices]
        items = trimmed_items(packed_items(places, e.subscripts))
        if not value.axes:
            return value.array, items
        extents = dict(e.box)
        standing = [p for p in slices if not isinstance(p, Point)]
        groups = [p.indices if isinstance(p, Split) else () if isinstance(p, Perhaps) else (p.index,) for p in standing]
        axes = tuple(group[0] if group else None for group in groups)
        if full or any(isinstance(p, (Split, Turned)) for p in standing):
            own = [i for group in groups for i in group]
            laid = self.speller.spread(value, own, extents)
            shape = [self.sizes.exact(product([self.sizes.count(i, extents[i]) for i in group])) for group in groups]
            joined = len(shape) != len(own)
            value = Value(self.speller.reshaped(laid.array, tuple(shape)) if joined else laid.array, axes)
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
        if _is_number(value) and (wanted or e.target in self.returns):
            return Full(value.array, tuple(extents[i] for i in wanted), self.dtype_of(e.target))
        return self.speller.spread(value, wanted, extents).array

    # several equations side by side

    def _side_by_side(self, step: Step) -> Array | None:
        """Equations that write a stretch of an axis each, from its beginning to its end, one behind the other; a stack
        where each stretch is one place. What several write at one place is added up."""
        equations, shape = step.equations, self.tensors[step.target].shape
        if any(e.when != step.when or e.where is not None or e.target != step.target for e in equations):
            return None
        axes = {k for e in equations for k, s in enumerate(e.subscripts) if not isinstance(s, Index)}
        if len(axes) != 1:
            return None
        (axis,) = axes
        starts: dict[Polynomial | None, list[_Stretch]] = {}
        for e in equations:
            stretch = _stretch(e, axis, shape)
            if stretch is None:
                return None
            starts.setdefault(polynomial(stretch.start), []).append(stretch)
        places, several = all(is_exact(e.subscripts[axis]) for e in equations), len(starts) > 1
        if not (places or several and len(starts) == len(equations)):
            return None
        items: list[Array] = []
        end = constant(0)
        while starts:
            here = starts.pop(end, None)
            length = None if here is None else polynomial(here[0].extent)
            if here is None or length is None or not self.sizes.not_negative(here[0].extent):
                return None
            parts = [self._along(s, axis, places and several) for s in here]
            items.append(reduce(lambda a, b: Elementwise("add", (a, b)), parts))
            end = end + length
        if end != polynomial(shape[axis]):
            return None
        packed = pack_of(shape) is not None
        number = axis - len(shape) if packed or places and axis == len(shape) - 1 else axis
        if places:
            return Stack(tuple(items), number) if several else items[0]
        return (None if packed else _padded(items, axis, len(shape))) or Concatenate(tuple(items), number)

    def _along(self, stretch: _Stretch, axis: int, without: bool) -> Array:
        """What is written along a stretch of an axis; `without` that axis, if it is one place."""
        e, i = stretch.equation, stretch.index
        if i in indices(e.body) or not without and stretch.extent is not ONE:
            return self._laid(e, self.speller.value(e))
        subscripts = tuple(s for s in e.subscripts if s is not i)
        inner = replace(e, subscripts=subscripts, box=tuple(part for part in e.box if part[0] is not i))
        value = self.speller.value(inner)
        if not without and _is_number(value):
            return self._laid(e, value)
        array = self._laid(inner, value)
        if without:
            # of numbers alone it would be of doubles
            return Full(array, (), self.dtype_of(e.target)) if plain_number(array) else array
        packed = any(map(is_pack, plain_indices(inner)))
        return taken(array, ("...", None, *[ALL] * (len(subscripts) - axis)) if packed else (*[ALL] * axis, None))


def _is_number(value: Value) -> bool:
    """Whether it is one number, and no array of rank 0."""
    return not value.axes and not holds_below(value.array, lambda a: isinstance(a, Var) and not a.number)


def _padded(items: Sequence[Array], axis: int, rank: int) -> Pad | None:
    """A tensor with one place more in front or behind, all of it one number."""
    for base, slab, first in ((items[-1], items[0], True), (items[0], items[-1], False)):
        if len(items) == 2 and isinstance(base, Var) and isinstance(slab, Full) and slab.shape[axis] is ONE:
            width = (ONE, ZERO) if first else (ZERO, ONE)
            return Pad(base, tuple(width if k == axis else (ZERO, ZERO) for k in range(rank)), slab.value)
    return None


def _stretch(e: Equation, axis: int, shape: Sequence[Expr]) -> _Stretch | None:
    """What `e` writes, if that is one stretch of an axis, and all of the others."""
    form = linear(e.subscripts[axis])
    if form is None or len(form.steps) > 1 or any(step is not ONE for _, step in form.steps):
        return None
    i = form.steps[0][0] if form.steps else index("#1")
    box = e.box if form.steps else ((i, ONE), *e.box)
    inner = replace(e, subscripts=(*e.subscripts[:axis], i, *e.subscripts[axis + 1 :]), box=box)
    extent = dict(box)[i]
    fits = inner.fills(Tensor(e.target, (*shape[:axis], extent, *shape[axis + 1 :])))
    return _Stretch(inner, i, form.offset, extent) if fits else None


def plain_indices(e: Equation) -> tuple[Index, ...]:
    """The indices among the subscripts of the target."""
    return tuple(s for s in e.subscripts if isinstance(s, Index))
