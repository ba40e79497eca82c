"""Statements as data, with arrays in them: what NumPy, torch and JAX have in common, without their spelling."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Union

from ...expr import Expr
from .below import ARRAYS, below, children, in_place, with_children
from .tree import Array, Item, Slice, Take, Var


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
    """`name[items] += value`, where elements may repeat; `lacks`: how many axes of the items `value` is repeated along
    that it does not have."""

    name: str
    items: tuple[Item, ...]
    value: Array
    lacks: int = 0


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
