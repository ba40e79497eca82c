"""What is left of a block where a condition holds: without what is not done, and without values that nobody reads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...expr import ONE, ZERO, Apply, Const, Expr, Index, Ref, factors, postorder, ref, refs
from .data import Block, Call, If, Local, Node, Note, Rewriter, Store, blocks, expressions, stores, walk, with_blocks


def under(block: Block, condition: Expr, holds: bool) -> Block:
    """What is left of a block where a condition holds, or does not."""
    known, asked = ONE if holds else ZERO, condition.key
    left = _nothing(Rewriter(lambda n: known if n.key is asked else n).block(block))
    locals_ = [n for n in walk(left) if isinstance(n, Local) and not n.changes]
    own = {ref(n.name) for n in locals_}
    plain: dict[Expr, Expr] = {}  # what has become a number, or another name
    for n in locals_:
        value = plain.get(n.value, n.value)
        if value in own or not any(isinstance(leaf, (Ref, Index)) for leaf in postorder(value)):
            plain[ref(n.name)] = value
    values = Rewriter(lambda n: plain.get(n, n))
    return settled(values.block(_kept(left, lambda n: not isinstance(n, Local) or ref(n.name) not in plain)))


def _nothing(block: Block) -> Block:
    """A block with 0 for products of which one factor has become 0, and quotients of these: such a value is selected,
    and not computed."""
    done: list[Node] = []
    for node in block:
        node = with_blocks(node, tuple(map(_nothing, blocks(node))))
        if isinstance(node, (Local, Store)) and ZERO in factors(unsigned(node.value))[0]:
            node = replace(node, value=ZERO)
        done.append(node)
    return tuple(done)


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
    return tuple(with_blocks(n, tuple(_kept(b, keep) for b in blocks(n))) for n in block if keep(n))


def settled(block: Block) -> Block:
    """A block without what is not done, and without values that nobody reads."""
    done: list[Node] = []
    for node in block:
        if isinstance(node, If) and isinstance(node.condition, Const):
            done += settled(node.body if node.condition.value else node.otherwise)
            continue
        node = with_blocks(node, tuple(map(settled, blocks(node))))
        if isinstance(node, (Local, Note)) or does_something((node,)):
            done.append(node)
            continue
        while done and isinstance(done[-1], Note):
            done.pop()
    read = {r.name for n in walk(tuple(done)) for r in refs(*expressions(n))}
    unread = {n.name for n in done if isinstance(n, Local) and n.name not in read}

    def is_read(n: Node) -> bool:
        return not (isinstance(n, Local) and n.name in unread or unread & {r.name for r in stores(n)})

    return settled(_kept(tuple(done), is_read)) if unread else tuple(done)


def does_something(block: Block) -> bool:
    return any(isinstance(n, Call) or isinstance(n, Store) and not _is_idle(n) for n in walk(block))


def _is_idle(store: Store) -> bool:
    """Whether it leaves what stands there."""
    return store.value is {"=": store.element, "+=": ZERO}.get(store.how)
