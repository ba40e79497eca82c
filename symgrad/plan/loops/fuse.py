"""Neighbouring loops of equal extent become one, where what passes between them is read at the index that wrote it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...expr import Const, Expr, Index, refs
from .data import Block, Guard, Local, Loop, Node, Note, Rewriter, Store, blocks, expressions, walk, with_blocks

FAR = 24  # statements between two loops that may still become one
Accesses = dict[str, tuple[set[tuple[Expr, ...]], bool]]


def fuse(block: Block, memory: Mapping[str, str]) -> Block:
    """`block` with neighbouring loops fused, then the loops inside them.

    memory  tensor -> the tensor in whose memory it will stand
    """
    done: list[Node] = []
    for node in block:
        first = done[-1] if done else None
        if isinstance(node, Guard) and isinstance(first, Guard) and _same_guard(first, node):
            done[-1] = replace(first, body=(*first.body, *node.body))
            continue
        partner = _partner(done, node, memory) if isinstance(node, Loop) else None
        if partner is not None and isinstance(node, Loop):
            _join(done, partner, node)
            continue
        done.append(node)
    return tuple(with_blocks(node, tuple(fuse(inner, memory) for inner in blocks(node))) for node in done)


def _is_start(node: Node) -> bool:
    """Whether `node` is the first value of an accumulator, which may stand earlier as well."""
    return isinstance(node, Local) and isinstance(node.value, Const)


def _same_guard(a: Guard, b: Guard) -> bool:
    return (a.wanted, a.when) == (b.wanted, b.when) and not (a.otherwise or b.otherwise)


def _partner(done: list[Node], node: Loop, memory: Mapping[str, str]) -> int | None:
    """The place of the loop before `node` that it can be one with: what stands between is not in the way.

    The nearest one that touches what `node` touches, else the first.
    """
    mine = _accesses((node,), memory)
    found: int | None = None
    for place in range(len(done) - 1, max(-1, len(done) - 1 - FAR), -1):
        between = done[place]
        if isinstance(between, Note) or _is_start(between):
            continue
        if not isinstance(between, (Loop, Store)):
            break
        theirs = _accesses((between,), memory)
        if isinstance(between, Loop) and _fusible(between, node, memory):
            found = place
            if not mine.keys().isdisjoint(theirs):
                break
        if any(name in mine and (written or mine[name][1]) for name, (_, written) in theirs.items()):
            break
    return found


def _join(done: list[Node], place: int, node: Loop) -> None:
    """Move `node` into the loop at `place`: its notes go with it, the first values of its accumulators before it."""
    first = done[place]
    assert isinstance(first, Loop)
    begin = len(done)
    while begin > place + 1 and (isinstance(done[begin - 1], Note) or _is_start(done[begin - 1])):
        begin -= 1
    mine, done[begin:] = done[begin:], []
    notes = [n for n in mine if isinstance(n, Note)]
    starts = [n for n in mine if not isinstance(n, Note)]
    body = (*first.body, *_renaming(node.index, first.index).block((*notes, *node.body)))
    above = place
    while above and _is_start(done[above - 1]):
        above -= 1
    if above and isinstance(done[above - 1], Note):  # the note of the first loop is one of two now
        body = (done[above - 1], *body)
        starts, above, place = [*done[above:place], *starts], above - 1, place
    else:
        starts = [*done[above:place], *starts]
    done[above : place + 1] = [*starts, replace(first, body=body)]


def _renaming(old: Index, new: Index) -> Rewriter:
    """`old` becomes `new`; should there be a `new` already, it becomes `old`."""
    swap: dict[Expr, Expr] = {old: new, new: old} if old is not new else {}
    return Rewriter(lambda node: swap.get(node, node), notes=True)


def _fusible(a: Loop, b: Loop, memory: Mapping[str, str]) -> bool:
    rename = _renaming(b.index, a.index)
    if a.extent.key is not rename(b.extent).key or a.lower.key is not rename(b.lower).key:
        return False
    first, second = _accesses(a.body, memory), _accesses(b.body, memory)
    passes = False
    for name, (reads, written) in first.items():
        if name not in second or not (written or second[name][1]):
            continue
        passes = True
        if not _same_place(reads, a.index, second[name][0], b.index):
            return False
    return passes or not (_depth(a.body) or _depth(b.body)) or _alike(a, b, rename)


def _alike(a: Loop, b: Loop, rename: Rewriter) -> bool:
    """Whether both are loops over one box and nothing else."""
    (inner, *more), (other, *others) = _statements(a.body), _statements(b.body)
    if more or others or not (isinstance(inner, Loop) and isinstance(other, Loop)):
        return not (more or others or isinstance(inner, Loop) or isinstance(other, Loop))
    other = rename.node(other)
    assert isinstance(other, Loop)
    same = inner.extent.key is other.extent.key and inner.lower.key is other.lower.key
    return same and _alike(inner, other, _renaming(other.index, inner.index))


def _statements(block: Block) -> list[Node]:
    return [node for node in block if not isinstance(node, Note)]


def _same_place(a: set[tuple[Expr, ...]], i: Index, b: set[tuple[Expr, ...]], j: Index) -> bool:
    """Whether one axis is always at the index of the loop: then no turn of the loop touches what another one does."""
    rank = min((len(s) for s in (*a, *b)), default=0)
    return any(all(s[axis] is i for s in a) and all(s[axis] is j for s in b) for axis in range(rank))


def _accesses(block: Block, memory: Mapping[str, str]) -> Accesses:
    """Per tensor or scalar, the subscripts at which it is touched, and whether it is written."""
    found: Accesses = {}
    seen: set[Expr] = set()
    for node in walk(block):
        reads = [r for e in expressions(node) if e not in seen for r in refs(e)]
        seen.update(expressions(node))
        if isinstance(node, Store):
            name = memory.get(node.element.name, node.element.name)
            places = found[name][0] if name in found else set()
            found[name] = ({*places, node.element.subscripts}, True)
        for r in reads:
            name = memory.get(r.name, r.name)
            places, written = found.get(name, (set(), False))
            places.add(r.subscripts)
            found[name] = (places, written)
    return found


def _depth(block: Block) -> int:
    """How deep loops nest in `block`."""
    return max((isinstance(node, Loop) + max(map(_depth, blocks(node)), default=0) for node in block), default=0)


def place_notes(block: Block) -> Block:
    """Notes rise to the head of what has no loop inside, and to the head of a loop that has one part alone."""
    done: list[Node] = []
    for node in block:
        inner = tuple(place_notes(b) for b in blocks(node))
        node = with_blocks(node, inner)
        if isinstance(node, Loop):
            notes = [n for n in node.body if isinstance(n, Note)]
            straight = not any(isinstance(n, Loop) for n in walk(node.body))
            if notes and (straight or len(notes) == 1 and node.body[0] is notes[0]):
                place = len(done)
                while place and _is_start(done[place - 1]):
                    place -= 1
                done[place:place] = notes
                node = replace(node, body=tuple(n for n in node.body if not isinstance(n, Note)))
        done.append(node)
    return _joined(done)


def _joined(nodes: list[Node]) -> Block:
    """Consecutive notes as one."""
    done: list[Node] = []
    for node in nodes:
        if done and isinstance(node, Note) and isinstance(done[-1], Note):
            done[-1] = Note((*done[-1].equations, *node.equations))
        else:
            done.append(node)
    return tuple(done)
