"""Memory for each turn of a loop, where nothing else ties its turns together: threads may share it then."""

from __future__ import annotations

from collections.abc import Iterator

from ...expr import ZERO, Const, Expr, Ref, product, ref, refs, transformer
from ...records import replace
from .data import Block, Contraction, If, Local, Loop, Nest, Node, Rewriter, Store, expressions, stores, walk
from .dependence import shared


def memory_per_turn(nest: Nest) -> Nest:
    """The nest with an axis more for the temporaries that live inside of an outermost loop, and are all that its turns
    share. Those of a fixed size stay where they are, on the stack."""
    memory = {a.name: a.stands_for for a in nest.arrays if a.stands_for is not None}
    room = {a.name: a for a in nest.arrays if a.stands_for is None and not isinstance(product(a.shape), Const)}
    scalars = {n.name for n in walk(nest.body) if isinstance(n, Local)}
    turns: dict[str, Loop] = {}
    for loop in _outermost(nest.body):
        tied = shared(loop, memory)
        plain = loop.lower is ZERO and not loop.reverse and scalars.isdisjoint(r.name for r in refs(loop.extent))
        if plain and tied <= room.keys() and all(_lives_inside(nest.body, loop, name) for name in tied):
            turns |= dict.fromkeys(tied, loop)

    def put(node: Expr) -> Expr:
        loop = turns.get(node.name) if isinstance(node, Ref) else None
        return node if loop is None or not isinstance(node, Ref) else ref(node.name, loop.index, *node.subscripts)

    arrays = (replace(a, shape=(turns[a.name].extent, *a.shape)) if a.name in turns else a for a in nest.arrays)
    return replace(nest, body=Rewriter(transformer(put)).block(nest.body), arrays=tuple(arrays)) if turns else nest


def _outermost(block: Block) -> Iterator[Loop]:
    for node in block:
        if isinstance(node, Loop):
            yield node
        elif not isinstance(node, Contraction):
            for inner in node.blocks:
                yield from _outermost(inner)


def _lives_inside(block: Block, loop: Loop, name: str) -> bool:
    """Whether nothing else speaks of it, and each turn writes it before anything reads it."""
    inside = [n for n in walk(loop.body) if _touches(n, name)]
    if len(inside) != sum(_touches(n, name) for n in walk(block)):
        return False
    first = inside[0]
    sometimes = any(first is n for node in walk(loop.body) if isinstance(node, If) for n in walk((node,)))
    read = name in {r.name for r in refs(*expressions(first))}
    return bool(stores(first)) and not (sometimes or read or isinstance(first, Store) and first.how != "=")


def _touches(node: Node, name: str) -> bool:
    return any(r.name == name for r in (*stores(node), *refs(*expressions(node))))
