"""What tracing a Python function leaves behind: a graph of arrays, lowered to equations when their names are known.

The element of an array stands for itself in the bodies of other arrays: `ref("#7", i, j)` is the element [i, j] of the
node with serial 7, followed by the loop indices of the user that the node still depends on. So one operation is one
small body, whatever it is computed from, and a chain of 100,000 operations takes linear time.

The axes of a node have canonical indices, counted from the right: `#1` is the last axis, `#2` the one before. An array
of fewer axes then broadcasts without any renaming. A pack (`...`) is its own index and stands first.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from functools import lru_cache

from ...expr import ONE, ZERO, Expr, Index, Ref, index, indices, ref, refs, substitute, transform
from ...expr.names import is_pack
from ...records import dataclass

_serials = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Written:
    """An extent as the user wrote it: its names are looked up in the declaration that uses it."""

    size: Expr


Given = Mapping[Index, Expr | Written]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Node:
    """An array that a declaration computes.

    shape     the extents; a pack only in front
    free      loop indices of the user that the elements depend on: a term of index notation, not an array yet
    given     the extents that the user gave for such indices
    operands  the nodes that the bodies mention, by the name they have there
    letters   the indices that the user wrote for the axes
    constant  whether no tensor is read: arithmetic of numbers, sizes, options and indices
    declared  the name of the input that it is, all of it: the first rows of one are an array of their own
    over      the indices that are reduced with their extents (None: told by the subscripts), and by which `kind`
    matmul    whether it sums a product of several arrays, which are then computed once
    origin    the serial of the node whose name this one takes
    """

    shape: tuple[Expr, ...]
    free: tuple[Index, ...] = ()
    given: Given = field(default_factory=dict)
    operands: dict[str, Node] = field(default_factory=dict)
    letters: tuple[str | None, ...] = ()
    constant: bool = False
    declared: str = ""
    kind: str = "none"
    over: Mapping[Index, Expr | None] = field(default_factory=dict)
    matmul: bool = False
    serial: int = field(default_factory=lambda: next(_serials))
    origin: int | None = None

    @property
    def key(self) -> str:
        """The name of the node in the bodies of others."""
        return f"#{self.serial}"

    @property
    def formals(self) -> tuple[Index, ...]:
        """What stands in the subscripts of a reference to the node."""
        return (*axes_of(self.shape), *self.free)

    @property
    def rank(self) -> int:
        """The number of axes, a pack counting as one."""
        return len(self.shape)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Value(Node):
    """`body` at the canonical indices, or `kind[over](body)` where `over` is not empty."""

    body: Expr


@dataclass(frozen=True, slots=True)
class Piece:
    """`target[subscripts] = body` (or += where `adds`), for the indices of `box`."""

    subscripts: tuple[Expr, ...]
    body: Expr
    box: Mapping[Index, Expr]
    adds: bool
    serial: int = field(default_factory=lambda: next(_serials))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Pieces(Node):
    """An array that several equations write: a stack, or one built by accumulation."""

    wish: str
    pieces: list[Piece] = field(default_factory=list)

    def write(
        self, subscripts: Sequence[Expr], body: Expr, box: Mapping[Index, Expr], nodes: Iterable[Node], adds: bool
    ) -> None:
        """Add a piece, which reads `nodes`; no index of it runs over one element alone."""
        wide = {i: e for i, e in box.items() if e is not ONE}
        self.pieces.append(Piece(tuple(subscripts), body, wide, adds))
        self.operands.update(gather(nodes, body, *subscripts)[0])


def packs_in(shape: Sequence[Expr]) -> int:
    """How many leading axes are a pack: one or none."""
    return sum(map(is_pack, shape[:1]))


def is_loop(i: Index) -> bool:
    """Whether an index is one that the user made."""
    return i.name[0] != "#" and not is_pack(i)


def axes_of(shape: Sequence[Expr]) -> tuple[Index, ...]:
    """The canonical indices of the axes of an array."""
    return _axes_of(tuple(shape))


@lru_cache(maxsize=2**8)
def _axes_of(shape: tuple[Expr, ...]) -> tuple[Index, ...]:
    rank = len(shape)
    return tuple(
        index(e.name) if isinstance(e, Ref) and is_pack(e) else index(f"#{rank - axis}") for axis, e in enumerate(shape)
    )


def places_of(shape: Sequence[Expr]) -> tuple[Expr, ...]:
    """The canonical subscripts of the axes of an array: an axis of extent 1 is always read at 0."""
    return tuple(ZERO if e is ONE else i for e, i in zip(shape, axes_of(shape), strict=True))


def bound(number: int) -> Index:
    """The canonical index number `number` that a reduction binds."""
    return index(f"#s{number}")


def read(node: Node, subscripts: Sequence[Expr]) -> Expr:
    """The element of `node` at `subscripts`; an axis of extent 1 is read at 0, but where the user wrote an index."""
    subs = tuple(
        ZERO if e is ONE and not (isinstance(s, Index) and is_loop(s)) else s
        for e, s in zip(node.shape, subscripts, strict=True)
    )
    if isinstance(node, Value) and node.constant:
        return node.body
    return ref(node.declared, *subs) if node.declared else ref(node.key, *subs, *node.free)


def shown(node: Node) -> Node | None:
    """The node whose elements those of `node` are, at other places; None if it computes something."""
    if isinstance(node, Value) and not node.over and isinstance(node.body, Ref):
        return node.operands.get(node.body.name)
    return None


def gather(nodes: Iterable[Node], *bodies: Expr) -> tuple[dict[str, Node], Given]:
    """Those of `nodes` that the bodies mention, and the extents that were given with any."""
    operands: dict[str, Node] = {}
    given: Given = {}
    for node in nodes:
        operands[node.key] = node
        if node.given and node.given is not given:
            given = node.given if not given else {**given, **node.given}
    return {r.name: operands[r.name] for r in refs(*bodies) if r.name in operands}, given


def value(
    shape: Sequence[Expr],
    body: Expr,
    nodes: Iterable[Node] = (),
    letters: tuple[str | None, ...] = (),
    origin: int | None = None,
    kind: str = "none",
    over: Mapping[Index, Expr | None] | None = None,
    matmul: bool = False,
) -> Value:
    """Return the node with the elements `body`, which reads `nodes`, or with those of `kind[over](body)`."""
    nodes, over = tuple(nodes), over or {}
    operands, given = gather(nodes, body)
    same = (n.declared for n in nodes if isinstance(n, Value) and n.body is body and n.shape == tuple(shape))
    return Value(
        shape=tuple(shape),
        body=body,
        free=tuple(i for i in indices(body) if is_loop(i) and i not in over),
        given=given,
        operands=operands,
        letters=letters,
        constant=not shape and not over and bool(nodes) and all(n.constant for n in nodes),
        declared="" if over else next(filter(None, same), ""),
        origin=origin,
        kind=kind if over else "none",
        over=over,
        matmul=matmul,
    )


def input_of(name: str, shape: Sequence[Expr]) -> Value:
    """Return the node of an input."""
    return Value(shape=tuple(shape), body=ref(name, *places_of(shape)), declared=name)


def constant(body: Expr, given: Given | None = None) -> Value:
    """Return the node of a number, a size, an option or a loop index."""
    free = tuple(i for i in indices(body) if is_loop(i))
    return Value(shape=(), body=body, free=free, given=given or {}, constant=True)


def reachable(roots: Iterable[Node], through: Callable[[Node], bool] = lambda node: True) -> list[Node]:
    """Every node that `roots` are computed from (`through` nodes that are so), in order of creation; one built by
    accumulation counts as its last piece does."""
    found: dict[int, Node] = {}
    stack = list(roots)
    while stack:
        node = stack.pop()
        if node.serial not in found:
            found[node.serial] = node
            stack.extend(node.operands.values() if through(node) else ())
    return sorted(found.values(), key=lambda n: n.pieces[-1].serial if isinstance(n, Pieces) and n.pieces else n.serial)


Done = dict[str, tuple[tuple[Index, ...], Expr]]


def resolve(body: Expr, done: Done) -> Expr:
    """`body` with the nodes of `done` (formal subscripts, expression) written out."""

    def replace(e: Expr) -> Expr:
        if not isinstance(e, Ref) or e.name not in done:
            return e
        formals, expression = done[e.name]
        renamed: dict[Expr, Expr] = {f: s for f, s in zip(formals, e.subscripts, strict=True) if f is not s}
        return substitute(expression, renamed) if renamed else expression

    return transform(body, replace)
