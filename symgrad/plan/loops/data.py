"""Loop nests as data: what a language with loops prints, without the language.

A block is a tuple of nodes. Elements keep their subscripts, one per axis; a scalar is a Ref without any. An array that
is not a parameter (`Array`) has the axes that are left once it lives inside the loops it is local to.

What a `Call` reads and writes are rows and matrices in full: elements with the subscript `FULL_AXIS` at the axes, the
last ones, that the function runs along.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from operator import is_
from typing import ClassVar, Union

from ...domain import NOTHING, Facts
from ...expr import ZERO, Expr, Index, Ref, index, indices, ref, refs, transformer, unchanged
from ...ir import Dtype, Equation, Tensor, When, accumulating, show_equation
from ...records import dataclass, replace
from ..trees import rebuilt

Node = Union["Loop", "Contraction", "Local", "Store", "Call", "If", "Guard", "Note"]
Block = tuple[Node, ...]

FULL_AXIS = index(":")


class _Leaf:
    __slots__ = ()
    blocks: ClassVar[tuple[Block, ...]] = ()


class _Body:
    __slots__ = ()
    body: Block
    blocks = property(lambda self: (self.body,))


class _Branches:
    __slots__ = ()
    body: Block
    otherwise: Block
    blocks = property(lambda self: (self.body, self.otherwise))


@dataclass(frozen=True, slots=True)
class Loop(_Body):
    """`index` runs over lower <= index < extent; from the last one down if `reverse`."""

    index: Index
    extent: Expr
    body: Block
    lower: Expr = ZERO
    reverse: bool = False


@dataclass(frozen=True, slots=True)
class Contraction(_Body):
    """Three loops over rows, columns and terms, in which a product of two elements is added to a third."""

    body: Block


@dataclass(frozen=True, slots=True)
class Local(_Leaf):
    """A new scalar with its first value; `changes` if a later Store changes it; `count` if it limits a loop: then it
    is an integer that is not negative."""

    name: str
    value: Expr
    dtype: Dtype = Dtype.REAL
    changes: bool = False
    count: bool = False


@dataclass(frozen=True, slots=True)
class Store(_Leaf):
    """The value goes to the element: `how` is =, +=, *=, or max= and min=, which keep the larger or smaller; := says
    that it is the only one that the element gets."""

    element: Ref
    value: Expr
    how: str = "="


@dataclass(frozen=True, slots=True)
class Call(_Leaf):
    """A function of whole matrices, one of `symgrad/ops/matrices.py`; its operands share no memory with what it writes.

    sizes    how far its axes go: one extent for each
    results  per result of the function, in their order, where it goes; None where nobody reads it
    scratch  memory that the function works in
    """

    function: str
    sizes: tuple[Expr, ...]
    operands: tuple[Ref, ...]
    results: tuple[Ref | None, ...]
    scratch: tuple[Ref, ...] = ()


@dataclass(frozen=True, slots=True)
class If(_Branches):
    """The body runs where the condition holds, the other one where it does not."""

    condition: Expr
    body: Block
    otherwise: Block = ()


@dataclass(frozen=True, slots=True)
class Guard(_Branches):
    """The body runs if one of the results `wanted` is asked for (or none is named), and every input of `when` is so."""

    wanted: tuple[str, ...]
    when: When
    body: Block
    otherwise: Block = ()


@dataclass(frozen=True, slots=True)
class Note(_Leaf):
    """The equations that what follows computes; those of the targets `added` add to what stands there. Subscripts have
    the names that are `named`."""

    equations: tuple[Equation, ...]
    added: frozenset[str] = frozenset()
    named: tuple[tuple[Expr, Ref], ...] = ()
    facts: Facts = NOTHING

    @property
    def lines(self) -> list[str]:
        """One line per equation."""
        named: dict[Expr, Expr] = dict(self.named)
        name = Rewriter(transformer(lambda node: named.get(node, node)))
        found = []
        for e, adds in zip(self.equations, accumulating(self.equations, self.facts), strict=True):
            hidden = {i for i, _ in e.shown}  # in the place of an element that has a name
            e = name.equation(e)
            shown = {i for s in e.subscripts for i in indices(s)}
            e = replace(e, box=tuple(part for part in e.box if part[0] not in hidden - shown))
            found.append(show_equation(e, adds or e.target in self.added))
        return found


@dataclass(frozen=True, slots=True)
class Array:
    """Memory for a temporary; `stands_for` names the result whose memory it is wherever that is asked for."""

    name: str
    shape: tuple[Expr, ...]
    dtype: Dtype
    stands_for: str | None = None


@dataclass(frozen=True)
class Nest:
    """One procedure: its loops, the temporaries that need memory, and every tensor they speak of by name."""

    body: Block
    arrays: tuple[Array, ...]
    table: Mapping[str, Tensor]

    @cached_property
    def nodes(self) -> list[Node]:
        """Every node, each before what is inside it."""
        return walk(self.body)

    @cached_property
    def symbols(self) -> dict[str, None]:
        """The tensors, scalars, sizes and options that it speaks of."""
        found: dict[str, None] = {}
        for node in self.nodes:
            found |= {r.name: None for r in refs(*expressions(node), *stores(node))}
            if isinstance(node, Local):
                found[node.name] = None
            if isinstance(node, Guard):
                found.update(dict.fromkeys([*node.wanted, *(name for name, _ in node.when)]))
        return found | {a.name: None for a in self.arrays}

    @cached_property
    def counters(self) -> dict[str, None]:
        """The indices of its loops."""
        return {node.index.name: None for node in self.nodes if isinstance(node, Loop)}


def with_blocks(node: Node, inner: tuple[Block, ...]) -> Node:
    """`node` with other blocks inside."""
    if all(map(is_, inner, node.blocks)):
        return node
    match node:
        case Loop():
            return Loop(node.index, node.extent, inner[0], node.lower, node.reverse)
        case Contraction():
            return Contraction(inner[0])
        case If():
            return If(node.condition, *inner)
        case Guard():
            return Guard(node.wanted, node.when, *inner)
        case _:
            return node


def with_inner(node: Node, change: Callable[[Block], Block]) -> Node:
    """`node` with each of the blocks inside it changed."""
    return with_blocks(node, tuple(map(change, node.blocks))) if node.blocks else node


def with_nodes(block: Block, nodes: Sequence[Node]) -> Block:
    """These nodes as a block: `block` itself, if they are its own."""
    same = len(block) == len(nodes) and all(map(is_, block, nodes))
    return block if same else tuple(nodes)


def stores_once(node: Node) -> bool:
    """Whether elements get their only value in it: those of a matrix, whose rows stand one behind the other."""
    return any(isinstance(n, Store) and n.how == ":=" for n in walk((node,)))


def walk(block: Block) -> list[Node]:
    """Every node of `block`, each before what is inside it."""
    found: list[Node] = []
    for node in block:
        found += (node,)
        for inner in node.blocks:
            found += walk(inner)
    return found


def stores(node: Node) -> tuple[Ref, ...]:
    """The elements that `node` itself writes."""
    match node:
        case Store(element=element):
            return (element,)
        case Call():
            return (*(r for r in node.results if r is not None), *node.scratch)
        case _:
            return ()


def expressions(node: Node) -> tuple[Expr, ...]:
    """What `node` itself evaluates, the subscripts of what it writes included."""
    match node:
        case Loop():
            return (node.lower, node.extent)
        case Local(value=value):
            return (value,)
        case Store(value=value, element=element):
            return (value, *element.subscripts)
        case Call():
            return (*node.operands, *node.sizes, *(s for r in stores(node) for s in r.subscripts))
        case If(condition=condition):
            return (condition,)
        case _:
            return ()


def root_of(node: Node) -> Expr | None:
    """What is stored, or asked; None where a node is neither."""
    return node.value if isinstance(node, (Local, Store)) else node.condition if isinstance(node, If) else None


def with_root(node: Node, value: Expr) -> Node:
    """`node` with another value, or condition."""
    if value is root_of(node):
        return node
    if isinstance(node, If):
        return replace(node, condition=value)
    return replace(node, value=value) if isinstance(node, (Local, Store)) else node


def loops(box: Sequence[tuple[Index, Expr]], block: Block) -> Block:
    """`block` inside of loops over all of the box."""
    for i, extent in reversed(box):
        block = (Loop(i, extent, block),)
    return block


class Rewriter:
    """Rebuilds the expressions of statements.

    of     rebuilds one
    notes  whether those of the notes are rebuilt, too
    """

    def __init__(self, of: Callable[[Expr], Expr], notes: bool = False) -> None:
        self.of = of
        self._notes = notes

    def block(self, block: Block) -> Block:
        """`block` with every expression rebuilt."""
        if self.of is unchanged:
            return block
        return with_nodes(block, [self.node(node) for node in block])

    def node(self, node: Node) -> Node:
        """`node` with every expression rebuilt, those inside it too."""
        return with_inner(self.own(node), self.block)

    def own(self, node: Node) -> Node:
        """`node` with its own expressions rebuilt, and nothing inside."""
        of = self.of
        match node:
            case Store(element, value):
                target, new = self._element(element), of(value)
                return node if target is element and new is value else Store(target, new, node.how)
            case Local(name, value):
                scalar, new = self._element(ref(name)).name, of(value)
                same = scalar == name and new is value
                return node if same else Local(scalar, new, node.dtype, node.changes, node.count)
            case Loop(i, extent, body, lower, reverse):
                turn, end, start = of(i), of(extent), of(lower)
                assert isinstance(turn, Index)
                return node if (turn, end, start) == (i, extent, lower) else Loop(turn, end, body, start, reverse)
            case If(condition):
                new = of(condition)
                return node if new is condition else If(new, node.body, node.otherwise)
            case Note():
                named = tuple([(of(s) if self._notes else s, self._element(name)) for s, name in node.named])
                equations = tuple(map(self.equation, node.equations)) if self._notes else node.equations
                return node if not (named or self._notes) else replace(node, equations=equations, named=named)
            case Call():
                return rebuilt(node, lambda part: of(part) if isinstance(part, Expr) else part)
            case _:
                return node

    def _element(self, element: Ref) -> Ref:
        new = self.of(element)
        assert isinstance(new, Ref)
        return new

    def equation(self, equation: Equation) -> Equation:
        """`equation` with every expression rebuilt."""
        box = ((self.of(i), self.of(extent)) for i, extent in equation.box)
        return replace(equation.mapped(self.of), box=tuple((i, e) for i, e in box if isinstance(i, Index)))
