"""Array expressions and statements as data: what NumPy, torch and JAX have in common, without their spelling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union

from ...expr import Const, Expr


@dataclass(frozen=True, slots=True)
class Var:
    """A tensor by name."""

    name: str


@dataclass(frozen=True, slots=True)
class Num:
    """A number as it is typed."""

    value: Const


@dataclass(frozen=True, slots=True)
class SizeOf:
    """An integer expression of sizes and options, as a number."""

    value: Expr


@dataclass(frozen=True, slots=True)
class Elementwise:
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


@dataclass(frozen=True, slots=True)
class Take:
    """`base[items]`: a Slice, None (a new axis), ... (a pack), an integer expression, or an integer array."""

    base: Array
    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Permute:
    """The axes of `base` in another order; all of them reversed is the transpose."""

    base: Array
    axes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Reduce:
    """sum, mean, max, min, prod, argmax over `axes` (None: all of them)."""

    kind: str
    base: Array
    axes: tuple[int, ...] | None
    keepdims: bool = False


@dataclass(frozen=True, slots=True)
class MatMul:
    """`left @ right`."""

    left: Array
    right: Array


@dataclass(frozen=True, slots=True)
class Einsum:
    """A contraction by its subscripts: "ij,jk->ik"."""

    subscripts: str
    operands: tuple[Array, ...]


@dataclass(frozen=True, slots=True)
class Reshape:
    """`base` in another shape; None stands for -1, the axis that takes the rest."""

    base: Array
    shape: tuple[Expr | None, ...]


@dataclass(frozen=True, slots=True)
class Range:
    """0, 1, ..., extent - 1; `real` if it is used as a number and not as a subscript."""

    extent: Expr
    real: bool = False


@dataclass(frozen=True, slots=True)
class Stack:
    """Arrays of one shape along a new axis."""

    items: tuple[Array, ...]
    axis: int


@dataclass(frozen=True, slots=True)
class BroadcastTo:
    """`base` in a larger shape; a pack in it is splatted."""

    base: Array
    shape: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Full:
    """A new array filled with one number."""

    value: Const
    shape: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Real:
    """`base`, which is boolean or integer, in the floating-point type of the inputs."""

    base: Array


@dataclass(frozen=True, slots=True)
class Copy:
    """A fresh copy, to be written to."""

    base: Array


Array = Union[
    Var, Num, SizeOf, Elementwise, Take, Permute, Reduce, MatMul, Einsum, Reshape, Range, Stack, BroadcastTo, Full,
    Real, Copy,
]  # fmt: skip
Item = Union[Slice, None, str, Expr, "Array"]


@dataclass(frozen=True, slots=True)
class Assign:
    """`name = value`."""

    name: str
    value: Array


@dataclass(frozen=True, slots=True)
class Update:
    """`name[items] += value`, where no element is written twice."""

    name: str
    items: tuple[Item, ...]
    value: Array


@dataclass(frozen=True, slots=True)
class AddAt:
    """`name[items] += value`, where elements may repeat."""

    name: str
    items: tuple[Item, ...]
    value: Array


@dataclass(frozen=True, slots=True)
class Guard:
    """`body` only if one of the gradients `serves` is needed and each of `when` holds; `otherwise` if not."""

    serves: tuple[str, ...]
    when: tuple[tuple[str, bool], ...]
    body: tuple[Statement, ...]
    otherwise: tuple[Statement, ...] = ()


Statement = Union[Assign, Update, AddAt, Guard]


def children(array: Array) -> tuple[Array, ...]:
    """The arrays that `array` is computed from."""
    match array:
        case Elementwise(_, args):
            return args
        case Take(base, items):
            return (base, *(i for i in items if isinstance(i, ARRAYS)))
        case MatMul(left, right):
            return (left, right)
        case Einsum(_, operands):
            return operands
        case Stack(items, _):
            return items
        case Permute(base, _) | Reduce(_, base, _, _) | Reshape(base, _) | BroadcastTo(base, _) | Real(base):
            return (base,)
        case Copy(base):
            return (base,)
        case _:
            return ()


ARRAYS = (
    Var, Num, SizeOf, Elementwise, Take, Permute, Reduce, MatMul, Einsum, Reshape, Range, Stack, BroadcastTo, Full,
    Real, Copy,
)  # fmt: skip
