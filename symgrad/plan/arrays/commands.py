"""Statements as data, with arrays in them: what NumPy, torch and JAX have in common, without their spelling."""

from __future__ import annotations

from typing import Any, TypeVar, Union

from ...expr import Expr
from ...records import dataclass
from .below import below, with_parts
from .tree import Array, ArrayNode, Item, Slice, Take

Tree = TypeVar("Tree")


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
    """`name[items] += value`, where no element is written twice; `=` if nothing has been added to it yet. `lacks`:
    whether the items have axes that `value` is repeated along."""

    name: str
    items: tuple[Item, ...]
    value: Array
    first: bool = False
    lacks: bool = False


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


def inside(s: Statement) -> list[Statement]:
    """A statement, and those inside of guards and loops."""
    own = (*s.body, *s.otherwise) if isinstance(s, Guard) else s.body if isinstance(s, For) else ()
    return [s, *(x for inner in own for x in inside(inner))]


def flat(s: Statement) -> list[Assign | Unpack | Update | AddAt]:
    """The statements inside of guards and loops."""
    return [x for x in inside(s) if not isinstance(x, (Guard, For))]


def tops(s: Statement) -> list[Array]:
    """The array expressions that a statement works with."""
    if isinstance(s, (Assign, Unpack)):
        return [s.value]
    found: list[Array] = []
    for inner in flat(s):
        found.append(inner.value)
        if isinstance(inner, (Update, AddAt)):
            found += [i for i in inner.items if isinstance(i, ArrayNode)]
    return found


def items_of(s: Statement) -> list[tuple[Item, ...]]:
    """Every index of a statement."""
    found = [x.items for x in flat(s) if isinstance(x, (Update, AddAt))]
    return found + [a.items for top in tops(s) for a in below(top) if isinstance(a, Take)]


def replaced(tree: Tree, old: Array | Slice, new: Array | str) -> Tree:
    """A statement, or an array, with `new` in the place of each `old`, which is an array or an entry of an index."""

    def change(part: Any) -> Any:
        return new if part == old else with_parts(part, change)

    done: Tree = change(tree)
    return done
