"""Array expressions as data: what NumPy, torch and JAX have in common, without their spelling."""

from __future__ import annotations

from dataclasses import field
from typing import Union

from ...expr import Const, Expr, const, is_exact, value_of
from ...ir import Dtype
from ...records import dataclass


class ArrayNode:
    """What the kinds of arrays have in common."""

    __slots__ = ("_below",)
    _below: tuple[Array, ...]  # what `below` found below it, if that was asked


@dataclass(frozen=True, slots=True)
class Var(ArrayNode):
    """A tensor by name; `number` if it is a number of Python's and no array."""

    name: str
    number: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Num(ArrayNode):
    """A number as it is typed."""

    value: Const


@dataclass(frozen=True, slots=True)
class SizeOf(ArrayNode):
    """An integer expression of sizes and options, as a number."""

    value: Expr


@dataclass(frozen=True, slots=True)
class Elementwise(ArrayNode):
    """An operator of `symgrad.ops` on arrays that broadcast."""

    op: str
    args: tuple[Array, ...]


@dataclass(frozen=True, slots=True)
class Slice:
    """`start:stop:step`; None for what is left out."""

    start: Expr | None = None
    stop: Expr | None = None
    step: Expr | None = None


ALL = Slice()
BACK = Slice(None, None, const(-1))  # all, from behind


@dataclass(frozen=True, slots=True)
class Take(ArrayNode):
    """`base[items]`: a Slice, None (a new axis), ... (a pack), the name of a slice, an integer expression or array."""

    base: Array
    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Along(ArrayNode):
    """An index `base` beside ranges of all other axes, which it has, too, in their order: `x[arange(n), base]`.

    axis    where it stands, from behind where there is a pack; `lacks`: it has no axis of its own there
    spread  the shape to which what is written there is repeated
    """

    base: Array
    axis: int
    lacks: bool
    spread: tuple[Expr, ...] | None = None


@dataclass(frozen=True, slots=True)
class Single(ArrayNode):
    """An index `base` that is one number of data: an array without axes, which torch would wait for."""

    base: Array


@dataclass(frozen=True, slots=True)
class Permute(ArrayNode):
    """The axes of `base` in another order; all of them reversed is the transpose. Below 0 they are the last ones, of as
    many as are named.

    pack  the one of them that is any number of axes, where it does not stay in front
    """

    base: Array
    axes: tuple[int, ...]
    pack: int | None = None


@dataclass(frozen=True, slots=True)
class Reduce(ArrayNode):
    """sum, mean, max, min, prod, argmax over `axes` (None: all of them); supremum is a max that is -oo of nothing.

    partial  whether there may be nothing although no size is 0: of n - 1 elements
    """

    kind: str
    base: Array
    axes: tuple[int, ...] | None
    keepdims: bool = False
    partial: bool = False


@dataclass(frozen=True, slots=True)
class Scan(ArrayNode):
    """`base` combined by the operator `op` (add, mul, maximum, minimum, logaddexp) along `axis`, each element with all
    before it; from the end if `reverse`. The axis is None where there is but one."""

    op: str
    base: Array
    axis: int | None
    reverse: bool = False


@dataclass(frozen=True, slots=True)
class MatMul(ArrayNode):
    """`left @ right`."""

    left: Array
    right: Array


@dataclass(frozen=True, slots=True)
class Eye(ArrayNode):
    """The identity matrix, as numbers."""

    extent: Expr


@dataclass(frozen=True, slots=True)
class MatrixCall(ArrayNode):
    """A function of whole matrices, by the name of its row in `ops.matrices` or of a call with several results."""

    kind: str
    args: tuple[Array, ...]


@dataclass(frozen=True, slots=True)
class Einsum(ArrayNode):
    """A contraction by its subscripts: "ij,jk->ik"."""

    subscripts: str
    operands: tuple[Array, ...]


@dataclass(frozen=True, slots=True)
class Convolution(ArrayNode):
    """Of `y[b,f,i] = sum[c,r] x[b,c,stride*i + dilation*r - padding] * weight[f,c,r]` one tensor by the two others, its
    axes as they stand there, for each of several `groups` of channels by itself.

    kind   result: y of x and the weight; input and weight: what gives a y, of y and the weight, of x and y;
           transpose: an input as far as the windows reach
    shape  of what is computed
    stride, padding, dilation  along each axis behind the second
    """

    kind: str
    left: Array
    right: Array
    shape: tuple[Expr, ...]
    stride: tuple[Expr, ...]
    padding: tuple[Expr, ...]
    dilation: tuple[Expr, ...]
    groups: Expr


@dataclass(frozen=True, slots=True)
class Reshape(ArrayNode):
    """`base` in another shape. `split`: axes become several.

    None in the shape stands for -1, the axis that takes the rest; where another axis may be 0, that cannot be told, and
    `rows` is written.
    """

    base: Array
    shape: tuple[Expr | None, ...]
    split: bool = False
    rows: Expr | None = None

    @property
    def told(self) -> tuple[Expr | None, ...]:
        """The shape as it is written."""
        literal = all(e is None or (is_exact(e) and value_of(e)) for e in self.shape)
        return self.shape if literal else tuple(self.rows if e is None else e for e in self.shape)


@dataclass(frozen=True, slots=True)
class Windows(ArrayNode):
    """The windows of `base` along `axis`, `step` apart; their `size` elements, `dilation` apart, in a last axis."""

    base: Array
    axis: int
    size: Expr
    step: Expr
    dilation: Expr


@dataclass(frozen=True, slots=True)
class Pad(ArrayNode):
    """`base` with so many elements before and behind each axis, all of them `fill`; `pack` if the first of them is the
    axis of a pack, which stands for several."""

    base: Array
    widths: tuple[tuple[Expr, Expr], ...]
    fill: Array
    pack: bool = False


@dataclass(frozen=True, slots=True)
class Diagonal(ArrayNode):
    """The elements of two axes of one length at equal places; theirs is the last axis."""

    base: Array
    first: int
    second: int


@dataclass(frozen=True, slots=True)
class Roll(ArrayNode):
    """`base` with what leaves it at one end of `axis` coming in at the other."""

    base: Array
    shift: Expr
    axis: int


@dataclass(frozen=True, slots=True)
class Triangle(ArrayNode):
    """`base` with zeros above (`lower`) or below the diagonal `offset` of its last two axes."""

    base: Array
    lower: bool
    offset: int


@dataclass(frozen=True, slots=True)
class Places(ArrayNode):
    """A slice as a value, to have a name."""

    item: Slice


@dataclass(frozen=True, slots=True)
class PackPlaces(ArrayNode):
    """The places along the axes of a pack, one array for each: the first of `shape`, whose last `rest` are others."""

    shape: tuple[Expr, ...]
    rest: int


@dataclass(frozen=True, slots=True)
class Concatenate(ArrayNode):
    """Arrays one behind the other along an axis that they have."""

    items: tuple[Array, ...]
    axis: int


@dataclass(frozen=True, slots=True)
class Range(ArrayNode):
    """0, 1, ..., extent - 1; `real` if it is used as a number and not as a subscript."""

    extent: Expr
    real: bool = False


@dataclass(frozen=True, slots=True)
class Stack(ArrayNode):
    """Arrays of one shape along a new axis."""

    items: tuple[Array, ...]
    axis: int


@dataclass(frozen=True, slots=True)
class BroadcastTo(ArrayNode):
    """`base` in a larger shape; a pack in it is splatted."""

    base: Array
    shape: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Full(ArrayNode):
    """A new array filled with one number, of the type of the inputs where that is a real number."""

    value: Array
    shape: tuple[Expr, ...]
    dtype: Dtype = Dtype.REAL


@dataclass(frozen=True, slots=True)
class Real(ArrayNode):
    """`base`, which is integer (or `boolean`), in the floating-point type of the inputs."""

    base: Array
    boolean: bool = False


@dataclass(frozen=True, slots=True)
class Wide(ArrayNode):
    """`base` in float32 where it is in half precision."""

    base: Array


@dataclass(frozen=True, slots=True)
class Narrow(ArrayNode):
    """`base` in the type of the inputs, which may be half precision."""

    base: Array


@dataclass(frozen=True, slots=True)
class Copy(ArrayNode):
    """A fresh copy, to be written to."""

    base: Array


Array = Union[
    Var, Num, SizeOf, Elementwise, Take, Permute, Reduce, Scan, MatMul, Einsum, Reshape, Range, Stack, BroadcastTo,
    Full, Real, Copy, Windows, Pad, Diagonal, Concatenate, Roll, Triangle, Places,
    MatrixCall, Eye, PackPlaces, Along, Single, Convolution, Wide, Narrow,
]  # fmt: skip
EXTREMES = ("max", "min", "supremum")  # kinds of reductions, of which it does not matter in which order
PRODUCTS = (MatMul, Einsum, MatrixCall, Convolution)  # none of them is put into another
Item = Union[Slice, None, str, Expr, "Array"]
