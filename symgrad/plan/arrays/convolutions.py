"""Convolutions: `y[b,f,i] = sum[c,r] x[b,c,stride*i + dilation*r - padding] * weight[f,c,r]` links three tensors, and
an equation that computes one of them from the two others is a call.

The large tensor `x` is told by its subscripts; of the two others the result has the indices that count windows, the
weight those that count places in a window. What else they have tells itself: the batch is no index of the weight, the
channels of x are none of the result, those of the result none of x, and groups are an index of all three.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import permutations

from ...expr import ZERO, Expr, Index, Ref
from ...expr.names import is_pack
from ...expr.sizes import equal, tidy
from ...records import dataclass
from .affine import Extents
from .affine import product as points_of
from .borders import Widths
from .elements import Moving, Reader, Run, in_slices, trimmed_items
from .taking import as_number, permuted, taken
from .tree import ALL, Array, Convolution, Num, Pad, Reshape, Slice, Var
from .values import Value


class Operands(Reader, ABC):
    """Reads elements, and factors as arrays."""

    @abstractmethod
    def operand(self, factor: Expr, extents: Extents) -> Value | None:
        """A factor as an array with all of its axes; None where one is read by integer arrays, or kept."""


NOTHING = as_number(ZERO)
Slots = Sequence[Sequence[Index]]  # per axis the indices that it is made of


@dataclass(frozen=True, slots=True)
class _Slid:
    """What each index is; of the first four there is one at most.

    pieces  how the axes of the large tensor are subscripted
    """

    batch: tuple[Index, ...]
    groups: tuple[Index, ...]
    inner: tuple[Index, ...]
    outer: tuple[Index, ...]
    pieces: tuple[Run | Moving, ...]

    @staticmethod
    def of(pieces: Sequence[Run | Moving], weight: Sequence[Index], result: Sequence[Index]) -> _Slid | None:
        moving = [p for p in pieces if isinstance(p, Moving)]
        plain = [p.index for p in pieces if isinstance(p, Run)]
        places, counts = [p.inner for p in moving], [p.index for p in moving]
        if not ({*places} <= {*weight} and {*counts} <= {*result}):
            return None
        every = dict.fromkeys((*plain, *weight, *result))
        kinds: dict[tuple[bool, bool, bool], list[Index]] = {}
        for i in every:
            if i not in places and i not in counts:
                kinds.setdefault((i in plain, i in weight, i in result), []).append(i)
        batch, groups, inner, outer = (
            tuple(kinds.pop(k, ()))
            for k in ((True, False, True), (True, True, True), (True, True, False), (False, True, True))
        )
        several = any(len(some) > 1 for some in (batch, groups, inner, outer)) or any(map(is_pack, every))
        return None if kinds or several else _Slid(batch, groups, inner, outer, tuple(pieces))

    def call(
        self, kind: str, operands: tuple[Array, Array], shape: tuple[Expr, ...], padding: Sequence[Expr], sizes: Extents
    ) -> Convolution:
        """The call that gives the tensor of that kind."""
        steps, spreads = tuple(p.step for p in self.moving), tuple(p.dilation for p in self.moving)
        groups = points_of([sizes[i] for i in self.groups])
        return Convolution(kind, *operands, shape, steps, tuple(padding), spreads, groups)

    @property
    def moving(self) -> list[Moving]:
        """The axes along which the weight slides."""
        return [p for p in self.pieces if isinstance(p, Moving)]

    @property
    def large(self) -> Slots:
        return (self.batch, (*self.groups, *self.inner), *((p.index,) for p in self.moving))

    @property
    def weight(self) -> Slots:
        return ((*self.groups, *self.outer), self.inner, *((p.inner,) for p in self.moving))

    @property
    def result(self) -> Slots:
        return (self.batch, (*self.groups, *self.outer), *((p.index,) for p in self.moving))


def convolution(speller: Operands, factors: Sequence[Expr], shown: Sequence[Index], extents: Extents) -> Value | None:
    """The sum of a product of two factors that is a convolution, or the gradient of one by its weight."""
    for large, factor in permutations(factors) if len(factors) == 2 else ():
        pieces = _windows(speller, large, extents)
        other = None if pieces is None else speller.operand(factor, extents)
        if not isinstance(large, Ref) or pieces is None or other is None:
            continue
        if (slid := _Slid.of(pieces, other.labels, shown)) is not None:
            left, padding = _read(speller, large, slid, extents)
            operands = left, _merged(speller, other, slid.weight, extents)
            found = slid.call("result", operands, _shape(speller, slid.result, extents), padding, extents)
            cut = [ALL if p.count is None else Slice(None, p.count) for p in slid.moving]
            for k, p in enumerate(slid.moving):
                if p.item is not ALL:  # where nothing fits, what is cut off may be more than there is
                    cut[k] = Slice(None, speller.sizes.count(p.index, extents[p.index]))
            return _parted(speller, taken(found, trimmed_items([ALL, ALL, *cut])), slid.result, extents)
        if (slid := _Slid.of(pieces, shown, other.labels)) is not None:
            left, padding = _read(speller, large, slid, extents, exactly=True)
            operands = left, _merged(speller, other, slid.result, extents)
            found = slid.call("weight", operands, _shape(speller, slid.weight, extents), padding, extents)
            return _parted(speller, found, slid.weight, extents)
    return None


def into_windows(
    speller: Operands, target: Ref, factors: Sequence[Expr], extents: Extents, widths: Widths | None = None
) -> Array | None:
    """What a product of two factors adds to the windows of `target`, as all of that tensor: the gradient of a
    convolution by what the weight slides along. With `widths` without a border of those; None where that takes more
    than a call."""
    pieces = _windows(speller, target, extents)
    if pieces is None or len(factors) != 2 or not all(p.item is ALL for p in pieces):
        return None
    padding = None if widths is None else _even(widths, pieces)
    if (padding is None) != (widths is None):
        return None
    for factor, other in permutations(factors):
        result, weight = speller.operand(factor, extents), speller.operand(other, extents)
        slid = None if result is None or weight is None else _Slid.of(pieces, weight.labels, result.labels)
        if slid is None or result is None or weight is None:
            continue
        axes = [p.index for p in pieces]
        shape = dict(zip(axes, speller.tensors[target.name].shape, strict=True))
        there = {p.index: _reach(p, extents[p.index]) for p in slid.moving}
        natural = all(equal(there[i], shape[i]) and speller.sizes.not_negative(extents[i]) for i in there)
        full = natural or all(p.count is None for p in slid.moving)
        if widths is not None and not full:
            return None
        operands = _merged(speller, result, slid.result, extents), _merged(speller, weight, slid.weight, extents)
        kind = "input" if full and (widths or not natural) else "transpose"
        lengths = {**extents, **(shape if full else there)}
        if widths is not None:
            lengths |= {i: tidy(n - first - last) for (i, n), (first, last) in zip(shape.items(), widths, strict=True)}
        made = _shape(speller, slid.large, lengths)
        called = slid.call(kind, operands, made, padding or [ZERO] * len(there), extents)
        value = _parted(speller, called, slid.large, lengths)
        array = permuted(value.array, [value.labels.index(i) for i in axes])
        behind = tuple((ZERO, ZERO if full or i not in there else tidy(shape[i] - there[i])) for i in axes)
        return array if full else Pad(array, behind, Num(NOTHING))
    return None


def _windows(speller: Operands, large: Expr, extents: Extents) -> list[Run | Moving] | None:
    """The axes of what is read or written in windows, which go forward along some of them."""
    if not isinstance(large, Ref) or large.name in speller.kept or not large.subscripts:
        return None
    pieces = in_slices(speller.pieces(large, extents)) or []
    found = [p for p in pieces if isinstance(p, (Run, Moving)) and not p.back]
    moving = sum(isinstance(p, Moving) for p in found)
    return found if len(found) == len(pieces) and 0 < moving <= speller.library.get("convolution", 0) else None


def _read(
    speller: Operands, large: Ref, slid: _Slid, extents: Extents, exactly: bool = False
) -> tuple[Array, Sequence[Expr]]:
    """The large tensor, and the padding that it leaves to the call; `exactly` as far as the windows reach."""
    base = speller.pads.get(large.name) or Var(large.name, large.name in speller.plain)
    items, lengths, padding = [p.item for p in slid.pieces], dict(extents), None
    for k, (p, n) in enumerate(zip(slid.pieces, speller.tensors[large.name].shape, strict=True)):
        if isinstance(p, Moving):
            start, last = ZERO if p.item.start is None else p.item.start, n
            end = n if p.count is None else start + _reach(p, p.count)
            if exactly and not equal(end, n):
                last = speller.sizes.count(p.index, tidy(end))
                items[k] = Slice(p.item.start, last)
            lengths[p.index] = tidy(last - start)
    if isinstance(base, Pad) and base.fill == Num(NOTHING) and all(item is ALL for item in items):
        padding = _even(base.widths, slid.pieces)
        if padding is not None:
            base = base.base
            lengths |= {p.index: tidy(lengths[p.index] - 2 * w) for p, w in zip(slid.moving, padding, strict=True)}
    value = Value(taken(base, trimmed_items(items)), tuple(p.index for p in slid.pieces))
    return _merged(speller, value, slid.large, lengths), padding or [ZERO] * len(slid.moving)


def _reach(p: Moving, count: Expr) -> Expr:
    """How many elements so many windows reach over."""
    return tidy(p.step * (count - 1) + p.dilation * (p.size - 1) + 1)


def _even(widths: Widths, pieces: Sequence[Run | Moving]) -> list[Expr] | None:
    """How much a border adds on either side of each axis that a weight slides along; None if that is not all."""
    found: list[Expr] = []
    for (first, last), piece in zip(widths, pieces, strict=True):
        if not equal(first, last) or (isinstance(piece, Run) and first is not ZERO):
            return None
        found += [first] if isinstance(piece, Moving) else []
    return found


def _shape(speller: Operands, slots: Slots, lengths: Extents) -> tuple[Expr, ...]:
    return tuple(
        speller.sizes.exact(points_of([speller.sizes.count(i, lengths[i]) for i in some])) for some in slots
    )


def _merged(speller: Operands, value: Value, slots: Slots, lengths: Extents) -> Array:
    """`value` with an axis for each of the slots: of length 1 where it has no index."""
    order = [i for some in slots for i in some]
    array = permuted(value.array, [value.labels.index(i) for i in order])
    if any(len(some) > 1 for some in slots):
        return speller.reshaped(array, _shape(speller, slots, lengths))
    return taken(array, trimmed_items([ALL if some else None for some in slots]))


def _parted(speller: Operands, array: Array, slots: Slots, lengths: Extents) -> Value:
    """The value of which these are the slots."""
    axes = tuple(i for some in slots for i in some)
    if any(len(some) > 1 for some in slots):
        return Value(Reshape(array, tuple(speller.sizes.count(i, lengths[i]) for i in axes), split=True), axes)
    return Value(taken(array, trimmed_items([ALL if some else ZERO for some in slots])), axes)
