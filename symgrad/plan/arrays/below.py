"""What an array expression is made of: the arrays below it, and the numbers that it mentions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...expr import Expr
from .tree import (
    Array,
    BroadcastTo,
    Concatenate,
    Copy,
    Diagonal,
    Einsum,
    Elementwise,
    Eye,
    Full,
    Item,
    MatMul,
    MatrixCall,
    Num,
    PackPlaces,
    Pad,
    Permute,
    Places,
    Range,
    Real,
    Reduce,
    Reshape,
    Roll,
    Scan,
    SizeOf,
    Slice,
    Stack,
    Take,
    Triangle,
    Var,
    Windows,
)

ARRAYS = (
    Var, Num, SizeOf, Elementwise, Take, Permute, Reduce, Scan, MatMul, Einsum, Reshape, Range, Stack, BroadcastTo,
    Full, Real, Copy, Windows, Pad, Diagonal, Concatenate, Roll, Triangle, Places,
    MatrixCall, Eye, PackPlaces,
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
        case Stack(items, _) | Concatenate(items, _):
            return items
        case MatrixCall(_, args):
            return args
        case Pad(base, _, fill):
            return (base, fill)
        case Windows(base=base) | Diagonal(base=base) | Roll(base=base) | Triangle(base=base):
            return (base,)
        case Permute(base, _) | Reduce(base=base) | Scan(base=base) | Reshape(base=base) | BroadcastTo(base, _):
            return (base,)
        case Real(base=base) | Copy(base):
            return (base,)
        case Full(value, _):
            return (value,)
        case _:
            return ()


def with_children(array: Array, new: Sequence[Array]) -> Array:
    """`array` computed from other arrays, given in the order of `children`."""
    match array:
        case Elementwise() | MatrixCall():
            return replace(array, args=tuple(new))
        case Take():
            rest = iter(new[1:])
            return Take(new[0], tuple(next(rest) if isinstance(i, ARRAYS) else i for i in array.items))
        case MatMul():
            return MatMul(new[0], new[1])
        case Einsum():
            return replace(array, operands=tuple(new))
        case Stack() | Concatenate():
            return replace(array, items=tuple(new))
        case Pad():
            return replace(array, base=new[0], fill=new[1])
        case Full():
            return replace(array, value=new[0])
        case Real():
            return as_real(new[0], array.boolean)
        case Num() | SizeOf() | Var() | Range() | Places() | PackPlaces() | Eye():
            return array
        case _:
            return replace(array, base=new[0])


def as_real(base: Array, boolean: bool = False) -> Array:
    """`base` in the type of the inputs; where(c, 1, 0) is c itself, and a number takes the type of what it meets."""
    match base:
        case _ if plain_number(base):
            return base
        case Elementwise("select", (condition, Num(one), Num(zero))) if one.value == 1 and zero.value == 0:
            return Real(condition, boolean=True)
        case _:
            return Real(base, boolean)


def plain_number(array: Array) -> bool:
    """Whether an array is a number of Python's, which takes the type of what it meets, and not one of NumPy's."""
    numbers = (Num, SizeOf, Elementwise)
    return all(isinstance(b, numbers) or isinstance(b, Var) and b.number for b in below(array))


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
        case Range(extent, _) | Eye(extent):
            return [extent]
        case Full(_, shape) | BroadcastTo(_, shape) | PackPlaces(shape, _):
            return list(shape)
        case Reshape():
            return [e for e in array.told if e is not None]
        case Windows(_, _, size, step, dilation):
            return [size, step, dilation]
        case Roll(_, shift, _):
            return [shift]
        case Places(item):
            return sizes_in([item])
        case Pad(_, widths, _):
            return [e for pair in widths for e in pair]
        case Take(_, items):
            return sizes_in(items)
        case _:
            return []
