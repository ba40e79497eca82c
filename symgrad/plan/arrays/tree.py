"""Array expressions and statements as data: what NumPy, torch and JAX have in common, without their spelling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
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
class Infinity:
    """Positive infinity: what a minimum over nothing is."""


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

    value: Array
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
    Real, Copy, Infinity,
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


ARRAYS = (
    Var, Num, SizeOf, Elementwise, Take, Permute, Reduce, MatMul, Einsum, Reshape, Range, Stack, BroadcastTo, Full,
    Real, Copy, Infinity,
)  # fmt: skip


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
        case Permute(base, _) | Reduce(_, base, _, _) | Reshape(base, _) | BroadcastTo(base, _):
            return (base,)
        case Real(base) | Copy(base):
            return (base,)
        case Full(value, _):
            return (value,)
        case _:
            return ()


def with_children(array: Array, new: Sequence[Array]) -> Array:
    """`array` computed from other arrays, given in the order of `children`."""
    match array:
        case Elementwise():
            return replace(array, args=tuple(new))
        case Take():
            rest = iter(new[1:])
            return Take(new[0], tuple(next(rest) if isinstance(i, ARRAYS) else i for i in array.items))
        case MatMul():
            return MatMul(new[0], new[1])
        case Einsum():
            return replace(array, operands=tuple(new))
        case Stack():
            return replace(array, items=tuple(new))
        case Full():
            return replace(array, value=new[0])
        case Permute() | Reduce() | Reshape() | BroadcastTo() | Real() | Copy():
            return replace(array, base=new[0])
        case _:
            return array


def below(array: Array) -> list[Array]:
    """`array` and everything it is computed from."""
    found: list[Array] = []
    stack = [array]
    while stack:
        node = stack.pop()
        found.append(node)
        stack.extend(children(node))
    return found


def in_place(array: Array, name: str, value: Array) -> Array:
    """`array` with the variable `name` replaced by `value`."""
    if isinstance(array, Var):
        return value if array.name == name else array
    mine = children(array)
    new = [in_place(c, name, value) for c in mine]
    return array if all(a is b for a, b in zip(new, mine, strict=True)) else with_children(array, new)


def sizes_in(items: Sequence[Item]) -> list[Expr]:
    """The integer expressions in the items of an index."""
    found: list[Expr] = []
    for item in items:
        if isinstance(item, Slice):
            found += [e for e in (item.start, item.stop, item.step) if e is not None]
        elif isinstance(item, Expr):
            found.append(item)
    return found


def sizes_of(array: Array) -> list[Expr]:
    """The integer expressions that the top of `array` mentions."""
    match array:
        case SizeOf(value):
            return [value]
        case Range(extent, _):
            return [extent]
        case Full(_, shape) | BroadcastTo(_, shape):
            return list(shape)
        case Reshape(_, some):
            return [e for e in some if e is not None]
        case Take(_, items):
            return sizes_in(items)
        case _:
            return []
