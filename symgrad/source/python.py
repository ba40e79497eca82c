"""Python source as a tree: what `tree.py` is to C.

A `Name` is one of the declaration: an input, a size, a local that the plan made. A `Word` is one of the file or of the
language: an import, a private function, a builtin, what the interface calls its parameters. That is all that
`backends.python_names` needs to keep them apart. Attributes and the names of keyword arguments stand for nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Union

from ..records import dataclass, replace
from .tree import OBJECT, Function, Parameter, Type, parts_of, walk


@dataclass(frozen=True, slots=True)
class Name:
    """A variable of the declaration, or one that the plan made."""

    name: str


@dataclass(frozen=True, slots=True)
class Word:
    """A name of the file or of the language; of a module's member with its module: `np.exp`."""

    name: str


@dataclass(frozen=True, slots=True)
class Number:
    """A number that is not negative, as it is written."""

    text: str


@dataclass(frozen=True, slots=True)
class Text:
    """A string; what is an expression in it is computed."""

    parts: tuple[str | Expression, ...]


@dataclass(frozen=True, slots=True)
class Operation:
    """An operator and what it is applied to: those of `symgrad.ops`, and Python's own."""

    op: str
    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Attribute:
    """`value.name`."""

    value: Expression
    name: str


@dataclass(frozen=True, slots=True)
class Keyword:
    """`name=value` among arguments."""

    name: str
    value: Expression


@dataclass(frozen=True, slots=True)
class Splat:
    """`*value`."""

    value: Expression


@dataclass(frozen=True, slots=True)
class Call:
    """A function and its arguments."""

    function: Expression
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Cut:
    """`start:stop:step`; None for what is left out."""

    start: Expression | None = None
    stop: Expression | None = None
    step: Expression | None = None


@dataclass(frozen=True, slots=True)
class Element:
    """`array[items]`."""

    array: Expression
    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Several:
    """Values with commas: in the brackets `(` or `[`, or bare."""

    items: tuple[Expression, ...]
    bracket: str = "("


Expression = Union[Name, Word, Number, Text, Operation, Attribute, Keyword, Splat, Call, Cut, Element, Several]


# statements


@dataclass(frozen=True, slots=True)
class Assign:
    """`target = value`; `how` may be += or -=."""

    target: Expression
    value: Expression
    how: str = "="


@dataclass(frozen=True, slots=True)
class Unset:
    """`a = b = None`, in as many statements as it takes."""

    names: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Do:
    """A call for what it does; or a word that is a statement."""

    value: Expression


@dataclass(frozen=True, slots=True)
class If:
    """The body runs where the condition holds, the other one where it does not."""

    condition: Expression
    body: Block
    otherwise: Block = ()


@dataclass(frozen=True, slots=True)
class For:
    """The body for each value of `target`."""

    target: Expression
    values: Expression
    body: Block


@dataclass(frozen=True, slots=True)
class With:
    """The body in a context."""

    context: Expression
    body: Block


@dataclass(frozen=True, slots=True)
class Return:
    """The result."""

    value: Expression


@dataclass(frozen=True, slots=True)
class Raise:
    """`raise kind(message)`."""

    kind: str
    message: Text


@dataclass(frozen=True, slots=True)
class Comment:
    """A line for who reads the code."""

    text: str


@dataclass(frozen=True, slots=True)
class Space:
    """An empty line between two thoughts."""


# definitions


@dataclass(frozen=True, slots=True)
class Def:
    """One function.

    name        a Name if the user gave it
    parameters  those after `*` have the role "option"; the default of one is a tree
    about       what it does, a line for each sentence; empty for a function inside of another
    role        forward, backward: part of the interface; or local; series, where it prints one near a point
    public      whether others call it by name
    stands_for  the operator that a local function computes
    """

    name: Name | Word
    parameters: tuple[Given, ...]
    body: Block
    about: tuple[str, ...] = ()
    decorators: tuple[Expression, ...] = ()
    role: str = "local"
    public: bool = False
    stands_for: str = ""

    @property
    def head(self) -> Function:
        """What it is called, stands for and takes, as for every language."""
        parameters = tuple(p.parameter for p in self.parameters)
        return Function(self.role, self.name.name, parameters, (), stands_for=self.stands_for)


@dataclass(frozen=True, slots=True)
class Given:
    """A parameter: its name, and what it is if it is left out.

    role    as in `tree.Parameter`; "rest" takes all that come
    fixed   whether the interface calls it so
    kind    its annotation, if it has one
    """

    name: Name | Word
    default: Expression | None = None
    role: str = ""
    tensor: str = ""
    fixed: bool = False
    kind: str = ""

    @property
    def parameter(self) -> Parameter:
        """The same, as for every language."""
        return Parameter(self.name.name, self.role, Type(OBJECT), self.tensor, self.default is not None)


@dataclass(frozen=True, slots=True)
class Verbatim:
    """A function that is written by hand; the `words` that it speaks of."""

    name: Word
    text: str
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Class:
    """A class: what stands in it without being a function comes first."""

    name: Word
    base: Expression
    about: tuple[str, ...]
    first: Block
    functions: tuple[Def, ...]


@dataclass(frozen=True, slots=True)
class Import:
    """A module under a name; a member of one if there is a `source`."""

    module: str
    name: str = ""
    source: str = ""


Statement = Union[Assign, Unset, Do, If, For, With, Return, Raise, Comment, Space, "Def"]
Block = Sequence[Statement]
Definition = Union[Def, Verbatim, Class]
Line = Union[Import, Definition, Statement, tuple["Import", ...]]


@dataclass(frozen=True, slots=True)
class Module:
    """A file.

    header    what stands at its top
    imports   in groups
    exported  the names of `__all__`
    body      functions and classes, and statements between them
    """

    header: tuple[str, ...]
    imports: tuple[tuple[Import, ...], ...]
    exported: tuple[Name | Word, ...]
    body: tuple[Definition | Statement, ...]


NONE = Word("None")


def call(function: str | Expression, *arguments: Expression, **keywords: Expression) -> Call:
    """A call of a function of the file or of a module, by its word."""
    called = Word(function) if isinstance(function, str) else function
    return Call(called, (*arguments, *(Keyword(name, value) for name, value in keywords.items())))


def method(value: Expression, name: str, *arguments: Expression, **keywords: Expression) -> Call:
    """`value.name(...)`."""
    return call(Attribute(value, name), *arguments, **keywords)


def integer(value: int) -> Expression:
    """An integer."""
    return Number(str(value)) if value >= 0 else Operation("neg", (Number(str(-value)),))


def text(value: str) -> Text:
    """A string in which nothing is computed."""
    return Text((value,))


def joined(op: str, parts: Sequence[Expression]) -> Expression:
    """The parts with `and`, `or` or another operator between them."""
    first, *rest = parts
    for part in rest:
        first = Operation(op, (first, part))
    return first


def bare(parts: Sequence[Expression]) -> Expression:
    """What is assigned, returned or unpacked together: one stands alone."""
    return parts[0] if len(parts) == 1 else Several(tuple(parts), "")


def targets(names: Sequence[Expression]) -> Expression:
    """What a tuple is unpacked to."""
    return Several(tuple(names), "" if len(names) > 1 else "(")


def mapped(node: Any, change: Callable[[Any], Any]) -> Any:
    """The same with other names: `change` is asked for each node, and gives None where its parts are to change."""
    if isinstance(node, (tuple, list)):
        return tuple(mapped(n, change) for n in node)
    parts = parts_of(node.__class__)
    if parts is None:
        return node
    found = change(node)
    if found is not None:
        return found
    values = {name: getattr(node, name) for name in parts}
    inner = {name: v for name, v in values.items() if isinstance(v, (tuple, list)) or parts_of(v.__class__) is not None}
    return replace(node, **{name: mapped(value, change) for name, value in inner.items()})


def spoken(*roots: Any) -> tuple[frozenset[str], frozenset[str]]:
    """The names of the declaration that nodes speak of; and the words of the file and the language, modules among
    them."""
    names, words = set[str](), set[str]()
    for node in walk(*roots):
        match node:
            case Name(name=name):
                names.add(name)
            case Word(name=word):
                words.add(word)
            case Verbatim(words=more):
                words.update(more)
    return frozenset(names), frozenset(w.partition(".")[0] for w in words)


def names_in(*roots: Any) -> frozenset[str]:
    """The names of the declaration that nodes speak of."""
    return spoken(*roots)[0]


def words_in(*roots: Any) -> frozenset[str]:
    """The words of the file and the language that nodes speak of, modules among them."""
    return spoken(*roots)[1]
