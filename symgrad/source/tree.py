"""Source code as a tree, in no language.

A back end builds a `Module`, and a printer of its language writes it: what a name stands for, of which type a value is
and where an equation is computed is said here as data, so that nobody has to read it out of the text again.

Expressions have operators of `symgrad.ops` (`add`, `select`, `lt` ...), and the few that a language adds to them
(`at`: what a pointer points to). How tightly an operator binds, how it is spelled and where a line may be cut are
matters of the printer; so is the word for a type, which makes `float` a choice of the printer alone.

Names are those that are printed: `names.py` has given them. Nodes are shared where an expression is read several times,
and are compared and remembered by identity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from functools import cache, lru_cache, reduce
from operator import attrgetter
from typing import Any, Union

from ..ir import Equation
from ..records import dataclass, replace

# what values are of: real numbers, sizes and subscripts, signed integers, conditions; then elements in memory
REAL, SIZE, INT, BOOL = "real", "size", "int", "bool"
INTEGER, FLAG = "integer", "flag"  # an element of an array of integers; of one of booleans
OBJECT = "object"  # whatever a language without declarations has


@dataclass(frozen=True, slots=True)
class Type:
    """A number of the kind `of`, or memory of such numbers; `constant` if it is only read, `alone` if nothing else that
    the function has speaks of the same memory."""

    of: str
    pointer: bool = False
    constant: bool = False
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a function.

    role     what it is to who calls the function: size, option, presence, input, saved, cotangent, output, gradient or
             work; what has none is a local function's
    tensor   the tensor, size, option or optional input that it stands for, by the name in the declaration; the input of
             a gradient, the output of a cotangent; of a workspace, which one it is
    nullable whether it may be left out: an input that is absent, a result that is not wanted
    length   the number of elements, where it is known
    """

    name: str
    role: str
    type: Type
    tensor: str = ""
    nullable: bool = False
    length: int | None = None


# expressions


@dataclass(frozen=True, slots=True, eq=False)
class Name:
    """A variable, a constant or a function, by name."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Number:
    """A number as it is written; a real one has digits behind the point."""

    text: str
    real: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """An operator and what it is applied to."""

    op: str
    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """A function that is called; as a statement, for what it does."""

    function: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Element:
    """An element of an array."""

    array: Expression
    subscripts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Cast:
    """A value as one of another type."""

    type: Type
    value: Expression


Expression = Union[Name, Number, Operation, Call, Element, Cast]


def joined(op: str, operands: Sequence[Expression]) -> Expression:
    """The operands with a binary operator between them, from the left."""
    return reduce(lambda found, operand: Operation(op, (found, operand)), operands)


# statements


@dataclass(frozen=True, slots=True, eq=False)
class Local:
    """A new variable and its value, which is constant unless `changes`."""

    name: str
    type: Type
    value: Expression
    changes: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Array:
    """Memory for a number of elements; or a table of numbers that never change."""

    name: str
    type: Type
    length: Expression | None
    values: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Store:
    """A value goes to a variable or an element: `how` is =, +=, -=, *= or /=; a variable keeps the larger or smaller of
    itself and the value by max= and min=."""

    target: Expression
    value: Expression
    how: str = "="


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """`index` runs over first <= index < end; from the last one down if `reverse`.

    tag   parallel: each turn writes elements of its own; strided: the same, between those of others; reduction: numbers
          that several write are only added to; scatter: elements are; rows: the same, and each turn of the one loop
          inside, of columns, has elements of its own in all turns; else serial
    sums  of an innermost loop in which only scalars are added to, multiplied, or the largest: each with its operator
    work  how many turns there are, those of the loops inside included; where several threads may share them
    """

    index: str
    first: Expression
    end: Expression
    body: Block
    reverse: bool = False
    tag: str = "serial"
    sums: tuple[tuple[str, str], ...] = ()
    work: Expression | None = None


@dataclass(frozen=True, slots=True, eq=False)
class If:
    """The body runs where the condition holds, the other one where it does not."""

    condition: Expression
    body: Block
    otherwise: Block = ()


@dataclass(frozen=True, slots=True, eq=False)
class Return:
    """The end of the function, and its result if it has one."""

    value: Expression | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Comment:
    """Words for who reads the code: the lines, and the equations that are computed below, if it says such."""

    lines: tuple[str, ...]
    equations: tuple[Equation, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Unused:
    """A parameter of the interface that the body does not speak of."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Space:
    """An empty line between two thoughts."""


Statement = Union[Local, Array, Store, Loop, If, Call, Return, Comment, Unused, Space]
Block = tuple[Statement, ...]


# functions


@dataclass(frozen=True, slots=True, eq=False)
class Macro:
    """An expression of sizes that who calls needs a name for: how much room a workspace must have.

    work  the parameter that has the room, by what it stands for
    """

    name: str
    parameters: tuple[Parameter, ...]
    value: Expression
    work: str

    @property
    def call(self) -> str:
        """What who calls writes."""
        return f"{self.name}({', '.join(p.name for p in self.parameters)})"


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """One function.

    role    forward, backward, or batch of one of them (`forward_batch`): part of the interface; or local
    result  of what type the result is; None if there is none
    about   what it does, a line for each sentence
    macros  the sizes of its workspaces
    stands_for  what a local function computes, by the word that it has where no other name is in its way
    inline  another function of the interface calls it in a loop
    """

    role: str
    name: str
    parameters: tuple[Parameter, ...]
    body: Block
    result: Type | None = None
    about: tuple[str, ...] = ()
    macros: tuple[Macro, ...] = ()
    stands_for: str = ""
    inline: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Verbatim:
    """A local function whose lines are written by hand in one language, the words for types filled in.

    includes  what it calls is declared there
    """

    name: str
    lines: tuple[str, ...]
    stands_for: str = ""
    includes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Constant:
    """A number with a name, known to the whole file; it `stands_for` one that no digits are enough for."""

    name: str
    value: Number
    stands_for: str


@dataclass(frozen=True, slots=True, eq=False)
class Module:
    """A file: what it includes, in order; its constants; its functions, the local ones first; what it calls of others'.
    """

    includes: tuple[str, ...]
    constants: tuple[Constant, ...]
    functions: tuple[Function | Verbatim, ...]
    externs: tuple[Function, ...] = ()

    @property
    def interface(self) -> tuple[Function, ...]:
        """The functions that others call."""
        return tuple(f for f in self.functions if isinstance(f, Function) and f.role != "local")

    @property
    def heads(self) -> tuple[Function, ...]:
        """All functions without their bodies: what they are called, stand for and take; a constant takes nothing."""
        local = [x for x in (*self.constants, *self.functions) if x not in self.interface]
        others = (Function("local", x.name, (), (), stands_for=x.stands_for) for x in local)
        return (*others, *(replace(f, body=()) for f in self.interface))


Node = Union[Expression, Statement]


def walk(*roots: Any) -> list[Any]:
    """Every node, each before what is inside of it; one that is shared once."""
    stack, seen = list(reversed(roots)), dict[int, Any]()
    while stack:
        node = stack[-1]
        del stack[-1]
        kind = node.__class__
        if kind is tuple or kind is list:
            stack += node[::-1]
        elif (taken := _taken(kind)) is not None and (own := id(node)) not in seen:
            seen[own] = node
            stack += taken(node)
    return list(seen.values())


@cache
def _taken(kind: Any) -> Callable[[Any], tuple[Any, ...]] | None:
    """What takes out of a node what may hold nodes, the last one first."""
    parts = parts_of(kind)
    if not parts:
        return None if parts is None else lambda node: ()
    take = attrgetter(*parts[::-1])
    return take if parts[1:] else lambda node: (take(node),)


@cache
def parts_of(kind: Any) -> tuple[str, ...] | None:
    """What may hold nodes in a node of a kind; None for what is no node."""
    if not is_dataclass(kind) or kind is Type or kind is Equation:
        return None
    return tuple(f.name for f in fields(kind) if f.type not in ("str", "bool"))


def statements_in(block: Block) -> Iterator[Statement]:
    """The statements of a block, and of those inside, in order."""
    stack = [*reversed(block)]
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, If):
            stack += [*reversed((*node.body, *node.otherwise))]
        elif isinstance(node, Loop):
            stack += reversed(node.body)


@lru_cache(maxsize=16)  # about as many as a file has
def contents(function: Function | Verbatim) -> Sequence[Any]:
    """Every node of the body of a function."""
    return walk(*function.body) if isinstance(function, Function) else ()


def names_in(*roots: Node) -> dict[str, None]:
    """The names that nodes speak of, functions among them, in order."""
    return names_of(walk(*roots))


def names_of(nodes: Iterable[Any]) -> dict[str, None]:
    """The names that these nodes themselves are, or call."""
    found: dict[str, None] = {}
    for node in nodes:
        match node:
            case Name(name=name) | Call(function=name):
                found[name] = None
    return found
