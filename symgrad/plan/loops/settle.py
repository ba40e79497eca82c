"""What is left of a block where a condition holds: without what is not done, and without values that nobody reads."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ...expr import (
    ONE,
    ZERO,
    Apply,
    Const,
    Expr,
    Index,
    Ref,
    factors,
    indices,
    postorder,
    ref,
    refs,
    substitution,
    transformer,
)
from .data import Block, Call, If, Local, Node, Note, Rewriter, Store, expressions, stores, walk, with_inner, with_nodes


def under(block: Block, condition: Expr, holds: bool) -> Block:
    """What is left of a block where a condition holds, or does not."""
    left = settled(Rewriter(_where(condition, holds)).block(block))
    changed = {r.name for n in walk(left) for r in stores(n)}
    locals_ = [n for n in walk(left) if isinstance(n, Local) and n.name not in changed]
    own = {ref(n.name) for n in locals_}
    plain: dict[Expr, Expr] = {}  # what has become a number, or another name
    for n in locals_:
        value = plain.get(n.value, n.value)
        if value in own or not any(isinstance(leaf, (Ref, Index)) for leaf in postorder(value)):
            plain[ref(n.name)] = value
    if plain:
        left = _kept(left, lambda n: not isinstance(n, Local) or ref(n.name) not in plain)
    return settled(Rewriter(substitution(plain)).block(left))


def _where(condition: Expr, holds: bool) -> Callable[[Expr], Expr]:
    """Puts what is known for a condition. A product of which one factor becomes 0 is 0, and so are quotients of these:
    such a value is selected, and not computed."""
    known, asked = ONE if holds else ZERO, condition.key
    put = transformer(lambda n: known if n.key is asked else n)
    leaves = {leaf for leaf in (*indices(condition), *refs(condition)) if not leaf.args}

    def told(root: Expr) -> Expr:
        new = put(root) if leaves.issubset((*indices(root), *refs(root))) else root
        return ZERO if new is not root and ZERO in factors(unsigned(new))[0] else new

    return told


def unsigned(value: Expr) -> Expr:
    return value.args[0] if isinstance(value, Apply) and value.op == "neg" else value


def without_notes(block: Block) -> tuple[Block, Block]:
    """The notes of a block, and the rest."""
    return tuple(n for n in block if isinstance(n, Note)), tuple(n for n in block if not isinstance(n, Note))


def told_once(*halves: Block) -> list[Block]:
    """Two blocks with the notes of the longer one alone."""
    longest = max(halves, key=lambda block: sum(1 for _ in walk(block)))
    return [block if block is longest else _kept(block, lambda n: not isinstance(n, Note)) for block in halves]


def _kept(block: Block, keep: Callable[[Node], bool]) -> Block:
    """The statements that are to be kept, in the blocks inside too."""
    return with_nodes(block, [with_inner(n, partial(_kept, keep=keep)) for n in block if keep(n)])


def settled(block: Block) -> Block:
    """A block without what is not done, and without values that nobody reads."""
    done: list[Node] = []
    for node in block:
        if isinstance(node, If) and isinstance(node.condition, Const):
            done += settled(node.body if node.condition.value else node.otherwise)
            continue
        node = with_inner(node, settled)
        if isinstance(node, (Local, Note)) or does_something((node,)):
            done.append(node)
            continue
        while done and isinstance(done[-1], Note):
            done.pop()
    unread = {n.name for n in done if isinstance(n, Local)}
    if unread:
        unread -= {r.name for n in walk(tuple(done)) for r in refs(*expressions(n))}

    def is_read(n: Node) -> bool:
        return not (isinstance(n, Local) and n.name in unread or unread & {r.name for r in stores(n)})

    return settled(_kept(tuple(done), is_read)) if unread else with_nodes(block, done)


def does_something(block: Block) -> bool:
    return any(isinstance(n, Call) or isinstance(n, Store) and not _is_idle(n) for n in walk(block))


def _is_idle(store: Store) -> bool:
    """Whether it leaves what stands there."""
    return store.value is {"=": store.element, "+=": ZERO}.get(store.how)
