"""Neighbouring loops of equal extent become one, where what passes between them is read at the index that wrote it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TypeGuard

from ...expr import Const, Expr, Index, refs, substitution
from ...records import replace
from .data import (
    Block,
    Call,
    Guard,
    Local,
    Loop,
    Node,
    Note,
    Rewriter,
    Store,
    expressions,
    stores_once,
    walk,
    with_inner,
)
from .dependence import Accesses, accesses, either_way, same_place, shared
from .guards import Asked, around_loops, conditions, inside_loops, same_guard
from .notes import is_start
from .settle import without_notes

FAR = 24  # statements between two loops that may still become one


def fuse(block: Block, asked: Asked, outer: Guard | None = None) -> Block:
    """`block` with neighbouring loops fused, then the loops inside them.

    outer  the guard around it
    """
    done = _neighbours(inside_loops(block), asked)
    while len(again := _neighbours(done, asked)) < len(done):  # loops of several results may fuse with more of them
        done = again
    found: list[Node] = []
    for node in around_loops(done, asked, outer):
        inside = outer if not isinstance(node, Guard) else None if node.otherwise else node
        found.append(with_inner(node, partial(fuse, asked=asked, outer=inside)))
    return tuple(found)


def _neighbours(block: Sequence[Node], asked: Asked) -> list[Node]:
    """Each node of `block` in the place it belongs to, in the order of the block."""
    done: list[Node] = []
    met: set[object] = set()
    for node in block:
        if isinstance(node, Guard):
            question = node.wanted, node.when
            _place(done, node, asked, question in met and not node.otherwise)
            met.add(question)
        elif not (isinstance(node, Loop) and _fuse_back(done, node, asked)):
            done.append(_with_sources(done, node, asked.memory) if isinstance(node, Loop) else node)
    return done


def _place(done: list[Node], node: Guard, asked: Asked, again: bool) -> None:
    """Put a guard after what is done: what it stores of accumulators right behind their loop; all else beside what is
    done on the same condition, where nothing between is in the way.

    again  whether that condition has been met before
    """
    memory = asked.memory
    if _keeps_accumulators(node):
        place = len(done)
        while place and _apart(node, done[place - 1 : place], memory):
            place -= 1
        while place < len(done) and _keeps_accumulators(other := done[place]) and asked.rank(other) <= asked.rank(node):
            place += 1
        done.insert(place, node)
        return
    begin = _above(done, len(done))
    notes = tuple(done[begin:])
    for place in range(begin - 1, -1, -1) if again else ():
        first = done[place]
        if not isinstance(first, Guard) or not same_guard(first, node):
            continue
        between = done[place + 1 : begin]
        both = replace(first, body=(*first.body, *notes, *node.body))
        if not between or _apart(first, between, memory):
            done[begin:] = [both]
            del done[place]
        elif _apart(node, between, memory):
            del done[begin:]
            done[place] = both
        else:
            done.append(node)
        return
    done.append(node)


def _above(nodes: Sequence[Node], place: int) -> int:
    """Where the notes begin that stand right before a place."""
    while place and isinstance(nodes[place - 1], Note):
        place -= 1
    return place


def _fuse_back(done: list[Node], node: Loop, asked: Asked) -> bool:
    """Move `node` into an earlier loop if that can be; a loop that accumulates into a row takes along the one that sets
    the row to 0, into that of the row it joins."""
    if _sets_constants(node):
        return False
    place = _partner(done, node, asked)
    if place is not None:
        _join(done, place, node)
        return True
    zero = done[-1] if done else None
    if not isinstance(zero, Loop) or not _sets_constants(zero):
        return False
    begin = _above(done, len(done) - 1)
    place = _partner(done[:begin], node, asked)
    if place is None:
        return False
    start = done[place - 1] if place else None
    joins = isinstance(start, Loop) and _sets_constants(start) and _fusible(start, zero, asked.memory)
    host = done[place]
    assert isinstance(host, Loop)
    if not joins and not (_reduces(host) and _apart(zero, done[place:begin], asked.memory)):
        return False
    notes = done[begin:-1]
    del done[begin:]
    first = _join(done, place, node)
    if joins and isinstance(start, Loop):
        body = (*start.body, *_renaming(zero.index, start.index).block(zero.body))
        done[place - 1 : place] = [*notes, replace(start, body=body)]
    else:
        done[first:first] = [*notes, zero]
    return True


def _sets_constants(node: Loop) -> bool:
    stored = [n for n in walk(node.body) if not isinstance(n, (Loop, Note, Guard))]
    return all(isinstance(n, Store) and n.how == "=" and isinstance(n.value, Const) for n in stored)


def _partner(done: list[Node], node: Loop, asked: Asked) -> int | None:
    """The place of the loop before `node` that it can be one with: what stands between is not in the way.

    The nearest one that touches what `node` touches, else the first.
    """
    mine = accesses((node,), asked.memory)
    found: int | None = None
    for place in range(len(done) - 1, max(-1, len(done) - 1 - FAR), -1):
        between = done[place]
        if isinstance(between, Note) or is_start(between):
            continue
        if not isinstance(between, (Loop, Store, Guard)):
            break
        theirs = accesses((between,), asked.memory)
        if isinstance(between, Loop) and _takes_up(between, node, asked):
            found = place
            if any(_is_array(mine, name) for name in theirs):
                break
        if any(name in mine and (written or mine[name][1]) for name, (_, written) in theirs.items()):
            break
    return found


def _takes_up(first: Loop, node: Loop, asked: Asked) -> bool:
    """Whether `node` can be one with `first`, also where it reads what that one writes and that runs the other way."""
    memory = asked.memory
    if first.reverse is not node.reverse:
        if not _passes(first, node, memory) or not either_way(node, memory):
            return False
        node = replace(node, reverse=first.reverse)
    rows = _reduces(first) or _reduces(node) or _joins_sums(first, node, memory)
    apart = asked.threads and either_way(first, memory) is not either_way(node, memory)
    return _fusible(first, node, memory, rows and not apart)


def _with_sources(done: list[Node], node: Loop, memory: Mapping[str, str]) -> Loop:
    """The loop `node` together with those before it whose values it alone takes up, turn by turn: what stands between
    may be in the way of `node`, but not of them."""
    between: list[Node] = []
    for place in range(len(done) - 1, max(-1, len(done) - 1 - FAR), -1):
        first = done[place]
        if not isinstance(first, (Loop, Store, Note, Local, Guard)):
            break
        if isinstance(first, Loop) and _is_source(first, node, memory) and _apart(first, between, memory):
            begin, mine = _above(done, place), _above(done, len(done))
            body = _renaming(first.index, node.index).block((*done[begin:place], *first.body))
            node = replace(node, body=(*body, *done[mine:], *node.body))
            del done[mine:]
            del done[begin : place + 1]
            return _with_sources(done, node, memory)
        between.append(first)
    return node


def _is_source(first: Loop, node: Loop, memory: Mapping[str, str]) -> bool:
    """Whether `first` can be one with `node`, which reads what it writes, also where that runs the other way."""
    if _sets_constants(first) or not _passes(first, node, memory):
        return False
    turned = first.reverse is node.reverse or either_way(first, memory)
    return turned and _fusible(replace(first, reverse=node.reverse), node, memory)


def _passes(first: Loop, node: Loop, memory: Mapping[str, str]) -> bool:
    """Whether `node` reads an array that `first` writes."""
    theirs, mine = accesses(first.body, memory), accesses(node.body, memory)
    return any(written and _is_array(theirs, name) and name in mine for name, (_, written) in theirs.items())


def _apart(node: Loop | Guard, others: Sequence[Node], memory: Mapping[str, str]) -> bool:
    """Whether the others neither write what `node` touches nor touch what it writes."""
    mine, theirs = accesses((node,), memory), accesses(tuple(others), memory)
    declared = {n.name for n in walk(tuple(others)) if isinstance(n, Local)}
    return declared.isdisjoint(mine) and not any(
        name in mine and (written or mine[name][1]) for name, (_, written) in theirs.items()
    )


def _join(done: list[Node], place: int, node: Loop) -> int:
    """Move `node` into the loop at `place`: its notes go with it, the first values of its accumulators before it. Where
    the first of all that stands now."""
    first = done[place]
    assert isinstance(first, Loop)
    begin = len(done)
    while begin > place + 1 and (isinstance(done[begin - 1], Note) or is_start(done[begin - 1])):
        begin -= 1
    mine, done[begin:] = done[begin:], []
    notes = [n for n in mine if isinstance(n, Note)]
    starts = [n for n in mine if not isinstance(n, Note)]
    body: list[Node] = [*first.body, *_renaming(node.index, first.index).block((*notes, *node.body))]
    above = place
    while above and is_start(done[above - 1]):
        above -= 1
    head: list[Node] = [*done[above:place], *starts]
    if above and isinstance(done[above - 1], Note):  # the note of the first loop is now one of two
        above -= 1
        body = [done[above], *body]
    done[above : place + 1] = [*head, replace(first, body=tuple(body))]
    return above


def _renaming(old: Index, new: Index) -> Rewriter:
    """`old` becomes `new`; should there be a `new` already, it becomes `old`."""
    swap: dict[Expr, Expr] = {old: new, new: old} if old is not new else {}
    return Rewriter(substitution(swap), notes=True)


def _fusible(a: Loop, b: Loop, memory: Mapping[str, str], rows: bool = False) -> bool:
    """Whether two loops may be one, and are better so. Those of other results are if one passes an array to the other,
    or with `rows` where both work on the rows of one tensor."""
    rename = _renaming(b.index, a.index)
    if a.reverse is not b.reverse:
        return False
    if a.extent.key is not rename.of(b.extent).key or a.lower.key is not rename.of(b.lower).key:
        return False
    first, second = accesses(a.body, memory), accesses(b.body, memory)
    passes = False
    for name, (reads, written) in first.items():
        if name not in second or not (written or second[name][1]):
            continue
        passes = True
        if not same_place(reads, a.index, second[name][0], b.index):
            return False
    if conditions(a) != conditions(b):
        passes = any(written and _is_array(first, name) and name in second for name, (_, written) in first.items())
        return passes or rows and _rows_of_one(a, first, b, second)
    deep = _depth(a.body) or _depth(b.body)
    together = _alike(a, b, rename) or _rows_of_one(a, first, b, second) or stores_once(a) and stores_once(b)
    return passes or not deep or together


def _keeps_accumulators(node: Node) -> TypeGuard[Guard]:
    """Whether a guard stores what has been added up before it."""
    roots = [e for n in node.body for e in expressions(n)] if isinstance(node, Guard) else []
    return any("#" in r.name for r in refs(*roots))


def _is_array(accesses: Accesses, name: str) -> bool:
    return name in accesses and any(accesses[name][0])


def _rows_of_one(a: Loop, first: Accesses, b: Loop, second: Accesses) -> bool:
    """Whether both loops work on the rows of one tensor, element by element."""
    if max(_depth(a.body), _depth(b.body)) > 1:
        return False
    return any(
        _is_array(second, name) and same_place(reads, a.index, second[name][0], b.index)
        for name, (reads, _) in first.items()
    )


def _reduces(loop: Loop) -> bool:
    """Whether a loop over rows adds one up, or looks for its largest element: the row is then at hand."""
    inside = [m for n in loop.body for m in (n.body if isinstance(n, Guard) else (n,))]
    return any(isinstance(n, Loop) for n in inside) and any(isinstance(n, Local) and n.changes for n in inside)


def _joins_sums(first: Loop, node: Loop, memory: Mapping[str, str]) -> bool:
    """Whether one loop along a row adds up numbers, and so waits for each sum, where the other adds the row to another,
    which costs little there; elements that several turns add to would keep the sums from being vectors."""
    mine, theirs = ([n for n in walk(loop.body) if isinstance(n, Store)] for loop in (node, first))
    rows = [n for n in (*mine, *theirs) if n.element.subscripts]
    flat = _depth((first, node)) == 1
    added = {*mine} <= {*rows} and not {*theirs} <= {*rows} and all(n.how == "+=" for n in rows)
    return flat and added and not shared(node, memory)


def _alike(a: Loop, b: Loop, rename: Rewriter) -> bool:
    """Whether both are loops over one box and nothing else."""
    (_, (inner, *more)), (_, (other, *others)) = without_notes(a.body), without_notes(b.body)
    if more or others or not (isinstance(inner, Loop) and isinstance(other, Loop)):
        return not (more or others or isinstance(inner, Loop) or isinstance(other, Loop))
    other = rename.node(other)
    assert isinstance(other, Loop)
    same = inner.extent.key is other.extent.key and inner.lower.key is other.lower.key
    return same and _alike(inner, other, _renaming(other.index, inner.index))


def _depth(block: Block) -> int:
    """How deep loops nest in `block`."""
    return max((isinstance(node, Loop) + max(map(_depth, node.blocks), default=0) for node in block), default=0)


def merged_calls(block: Block, memory: Mapping[str, str]) -> Block:
    """`block` with calls of one function, of the same operands, as one where nothing is in the way.

    memory  tensor -> the tensor in whose memory it will stand
    """
    done: list[Node] = []
    for node in block:
        place = _earlier(done, node, memory) if isinstance(node, Call) else None
        if place is None:
            done.append(with_inner(node, partial(merged_calls, memory=memory)))
            continue
        first = done[place]
        assert isinstance(node, Call) and isinstance(first, Call)
        results = tuple(a if a is not None else b for a, b in zip(first.results, node.results, strict=True))
        done[place] = replace(first, results=results)
        begin = _above(done, len(done))
        notes, done[begin:] = done[begin:], []
        done[place:place] = notes
    return tuple(done)


def _earlier(done: list[Node], call: Call, memory: Mapping[str, str]) -> int | None:
    """The place of a call that may give the results of this one too: nothing since then touches what it writes, nor
    writes what it reads."""
    mine = {memory.get(r.name, r.name) for r in call.results if r is not None}
    operands = {memory.get(r.name, r.name) for r in call.operands}
    for place in range(len(done) - 1, -1, -1):
        node = done[place]
        same = isinstance(node, Call) and (node.function, node.sizes, node.operands) == (
            call.function, call.sizes, call.operands,
        )  # fmt: skip
        if same and isinstance(node, Call):
            free = all(a is None or b is None for a, b in zip(node.results, call.results, strict=True))
            return place if free else None
        theirs = accesses((node,), memory)
        if mine & theirs.keys() or any(name in operands and written for name, (_, written) in theirs.items()):
            return None
    return None
