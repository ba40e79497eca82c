"""Which equations stand as comments where, and constants at the head of their block."""

from __future__ import annotations

from ...expr import Const, refs
from ...records import replace
from .data import Block, Local, Loop, Node, Note, Store, walk, with_inner

FEW = 24  # statements of a body that is still read as a whole


def place_notes(block: Block) -> Block:
    """Notes rise to the head of what has no loop inside, and to the head of a loop that has one part alone.

    What one line says by itself needs no note.
    """
    return _joined(_said_by_lines(_placed(block), stores=True))


def _placed(block: Block) -> Block:
    done: list[Node] = []
    for node in block:
        if not isinstance(node, Loop):
            done.append(with_inner(node, place_notes))
            continue
        body = _placed(node.body)
        straight = not any(isinstance(n, Loop) for n in walk(body))
        kept = _joined(_said_by_lines(body, stores=not straight))
        notes = [n for n in kept if isinstance(n, Note)]
        first = next((n for n in kept if not (isinstance(n, Local) and n.count)), None)
        if notes and (straight or len(kept) == len(body) and len(notes) == 1 and first is notes[0]):
            place = len(done)
            while place and is_start(done[place - 1]):
                place -= 1
            done[place:place] = notes
            kept = tuple(n for n in kept if not isinstance(n, Note))
        done.append(replace(node, body=_constants_first(kept) if straight and len(kept) <= FEW else kept))
    return tuple(done)


def is_start(node: Node) -> bool:
    """Whether `node` is the first value of an accumulator, which may stand earlier as well."""
    return isinstance(node, Local) and isinstance(node.value, Const)


def _said_by_lines(block: Block, stores: bool) -> Block:
    """`block` without the equations that one of its lines says: a constant, or with `stores` an element too."""
    lines = {_word(n.name) for n in block if isinstance(n, Local) and not n.changes}
    lines |= {_word(n.element.name) for n in block if stores and isinstance(n, Store) and n.how == "="}
    done: list[Node] = []
    for node in block:
        if isinstance(node, Note):
            targets = [e.target for e in node.equations]
            kept = tuple(
                e for e in node.equations if e.reduce != "none" or e.target not in lines or targets.count(e.target) > 1
            )
            if not kept:
                continue
            node = replace(node, equations=kept)
        done.append(node)
    return tuple(done)


def _word(name: str) -> str:
    for mark in "~@#":
        name = name.split(mark)[0]
    return name


def _constants_first(block: Block) -> Block:
    """The body of an innermost loop with its constants before what it stores, where nothing they read is stored."""
    done: list[Node] = []
    for node in block:
        place = len(done)
        if isinstance(node, Local) and not node.changes:
            reads = {r.name for r in refs(node.value)}
            while place and isinstance(before := done[place - 1], Store) and before.element.name not in reads:
                place -= 1
        done.insert(place, node)
    return tuple(done)


def _joined(nodes: Block) -> Block:
    """Consecutive notes as one."""
    done: list[Node] = []
    for node in nodes:
        if done and isinstance(node, Note) and isinstance(done[-1], Note):
            before = done[-1]
            done[-1] = replace(before, equations=(*before.equations, *node.equations), added=before.added | node.added)
        else:
            done.append(node)
    return tuple(done)
