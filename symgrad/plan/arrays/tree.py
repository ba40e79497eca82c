"""Array expressions and statements as data: what NumPy, torch and JAX have in common, without their spelling."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Union

from ...expr import Const, Expr, is_exact, value_of


@dataclass(frozen=True, slots=True)
class Var:
    """A tensor by name; `number` if it is a number of Python's and no array."""

    name: str
    number: bool = field(default=False, compare=False)


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
    """`base[items]`: a Slice, None (a new axis), ... (a pack), the name of a slice, an integer expression or array."""

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
class Scan:
    """`base` combined by the operator `op` (add, mul, maximum, minimum, logaddexp) along `axis`, each element with all
    before it; from the end if `reverse`. The axis is None where there is but one."""

    op: str
    base: Array
    axis: int | None
    reverse: bool = False


@dataclass(frozen=True, slots=True)
class MatMul:
    """`left @ right`."""

    left: Array
    right: Array


@dataclass(frozen=True, slots=True)
class Eye:
    """The identity matrix, as numbers."""

    extent: Expr


@dataclass(frozen=True, slots=True)
class Whole:
    """A function of whole matrices, by the name of its row in `symgrad.matrices` or of a call with several results."""

    kind: str
    args: tuple[Array, ...]


@dataclass(frozen=True, slots=True)
class Einsum:
    """A contraction by its subscripts: "ij,jk->ik"."""

    subscripts: str
    operands: tuple[Array, ...]


@dataclass(frozen=True, slots=True)
class Reshape:
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
class Windows:
    """The windows of `base` along `axis`, `step` apart; their `size` elements, `dilation` apart, in a last axis."""

    base: Array
    axis: int
    size: Expr
    step: Expr
    dilation: Expr


@dataclass(frozen=True, slots=True)
class Pad:
    """`base` with so many elements before and behind each axis, all of them `fill`."""

    base: Array
    widths: tuple[tuple[Expr, Expr], ...]
    fill: Array


@dataclass(frozen=True, slots=True)
class Diagonal:
    """The elements of two axes of one length at equal places; theirs is the last axis."""

    base: Array
    first: int
    second: int


@dataclass(frozen=True, slots=True)
class Roll:
    """`base` with what leaves it at one end of `axis` coming in at the other."""

    base: Array
    shift: Expr
    axis: int


@dataclass(frozen=True, slots=True)
class Triangle:
    """`base` with zeros above (`lower`) or below the diagonal `offset` of its last two axes."""

    base: Array
    lower: bool
    offset: int


@dataclass(frozen=True, slots=True)
class Places:
    """A slice as a value, to have a name."""

    item: Slice


@dataclass(frozen=True, slots=True)
class PackPlaces:
    """The places along the axes of a pack, one array for each: the first of `shape`, whose last `rest` are others."""

    shape: tuple[Expr, ...]
    rest: int


@dataclass(frozen=True, slots=True)
class Concatenate:
    """Arrays one behind the other along an axis that they have."""

    items: tuple[Array, ...]
    axis: int


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
    """`base`, which is integer (or `boolean`), in the floating-point type of the inputs."""

    base: Array
    boolean: bool = False


@dataclass(frozen=True, slots=True)
class Copy:
    """A fresh copy, to be written to."""

    base: Array


Array = Union[
    Var, Num, SizeOf, Elementwise, Take, Permute, Reduce, Scan, MatMul, Einsum, Reshape, Range, Stack, BroadcastTo,
    Full, Real, Copy, Infinity, Windows, Pad, Diagonal, Concatenate, Roll, Triangle, Places,
    Whole, Eye, PackPlaces,
]  # fmt: skip
Item = Union[Slice, None, str, Expr, "Array"]


@dataclass(frozen=True, slots=True)
class Unpack:
    """`w, v = value`: the results of one call; None for one that nothing reads."""

    names: tuple[str | None, ...]
    value: Array

    @property
    def name(self) -> str:
        """The left-hand side as it is written."""
        return ", ".join(n or "_" for n in self.names)


@dataclass(frozen=True, slots=True)
class Assign:
    """`name = value`."""

    name: str
    value: Array


@dataclass(frozen=True, slots=True)
class Update:
    """`name[items] += value`, where no element is written twice; `=` if nothing has been added to it yet."""

    name: str
    items: tuple[Item, ...]
    value: Array
    first: bool = False


@dataclass(frozen=True, slots=True)
class AddAt:
    """`name[items] += value`, where elements may repeat."""

    name: str
    items: tuple[Item, ...]
    value: Array


@dataclass(frozen=True, slots=True)
class Guard:
    """`body` only if one of the gradients `serves` is needed, each of `when` holds, and so does the `condition` on the
    numbers of the loops around it; `otherwise` if not."""

    serves: tuple[str, ...]
    when: tuple[tuple[str, bool], ...]
    body: tuple[Statement, ...]
    otherwise: tuple[Statement, ...] = ()
    condition: Expr | None = None


@dataclass(frozen=True, slots=True)
class For:
    """`body` for each `name` in range(extent), the last one first if `reverse`."""

    name: str
    extent: Expr
    body: tuple[Statement, ...]
    reverse: bool = False


Statement = Union[Assign, Unpack, Update, AddAt, Guard, For]


ARRAYS = (
    Var, Num, SizeOf, Elementwise, Take, Permute, Reduce, Scan, MatMul, Einsum, Reshape, Range, Stack, BroadcastTo,
    Full, Real, Copy, Infinity, Windows, Pad, Diagonal, Concatenate, Roll, Triangle, Places,
    Whole, Eye, PackPlaces,
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
        case Whole(_, args):
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
        case Elementwise() | Whole():
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
        case Infinity() | Num() | SizeOf() | Var() | Range() | Places() | PackPlaces() | Eye():
            return array
        case _:
            return replace(array, base=new[0])


def as_real(base: Array, boolean: bool = False) -> Real:
    """`base` in the type of the inputs; where(c, 1, 0) is c itself."""
    match base:
        case Elementwise("select", (condition, Num(one), Num(zero))) if one.value == 1 and zero.value == 0:
            return Real(condition, boolean=True)
        case _:
            return Real(base, boolean)


def plain_number(array: Array) -> bool:
    """Whether an array is a number of Python's, which takes the type of what it meets, and not one of NumPy's."""
    numbers = (Num, SizeOf, Infinity, Elementwise)
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


# statements


def flat(s: Statement) -> list[Assign | Unpack | Update | AddAt]:
    """The statements inside of guards and loops."""
    if isinstance(s, Guard):
        return [x for inner in (*s.body, *s.otherwise) for x in flat(inner)]
    return [x for inner in s.body for x in flat(inner)] if isinstance(s, For) else [s]


def tops(s: Statement) -> list[Array]:
    """The array expressions that a statement works with."""
    found: list[Array] = []
    for inner in flat(s):
        found.append(inner.value)
        if isinstance(inner, (Update, AddAt)):
            found += [i for i in inner.items if isinstance(i, ARRAYS)]
    return found


def items_of(s: Statement) -> list[tuple[Item, ...]]:
    """Every index of a statement."""
    found = [x.items for x in flat(s) if isinstance(x, (Update, AddAt))]
    return found + [a.items for top in tops(s) for a in below(top) if isinstance(a, Take)]


def mapped(s: Statement, change: Callable[[Array], Array], items: Callable[[Item], Item] | None = None) -> Statement:
    """`s` with every array expression, and every other entry of what it writes to, changed."""
    if isinstance(s, Guard):
        body, otherwise = (tuple(mapped(b, change, items) for b in bs) for bs in (s.body, s.otherwise))
        return replace(s, body=body, otherwise=otherwise)
    if isinstance(s, For):
        return replace(s, body=tuple(mapped(b, change, items) for b in s.body))
    if isinstance(s, (Assign, Unpack)):
        return replace(s, value=change(s.value))
    new = tuple(change(i) if isinstance(i, ARRAYS) else i if items is None else items(i) for i in s.items)
    return replace(s, items=new, value=change(s.value))


def with_value(s: Statement, name: str, value: Array) -> Statement:
    """`s` with the variable `name` replaced by `value`."""
    return mapped(s, lambda a: in_place(a, name, value))


def renamed(s: Statement, old: Array, name: str) -> Statement:
    """`s` with a name for `old`."""
    return mapped(s, lambda a: named_in(a, old, name))


def named_in(value: Array, old: Array, name: str) -> Array:
    """`value` with a name for `old`."""
    if value == old:
        return Var(name)
    mine = children(value)
    new = [named_in(c, old, name) for c in mine]
    return value if all(a is b for a, b in zip(new, mine, strict=True)) else with_children(value, new)


def with_items(s: Statement, names: Mapping[Slice, str]) -> Statement:
    """`s` with names for some of its slices."""

    def item(i: Item) -> Item:
        return names.get(i, i) if isinstance(i, Slice) else i

    def change(value: Array) -> Array:
        value = with_children(value, [change(c) for c in children(value)]) if children(value) else value
        return replace(value, items=tuple(map(item, value.items))) if isinstance(value, Take) else value

    return mapped(s, change, item)
