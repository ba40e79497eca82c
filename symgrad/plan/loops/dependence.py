"""What the statements of a loop touch, and so whether its turns depend on each other."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ...expr import Expr, Index, indices, refs
from .data import Block, Call, Local, Loop, Store, expressions, stores, walk

Accesses = dict[str, tuple[set[tuple[Expr, ...]], bool]]


def tag(loop: Loop, memory: Mapping[str, str] = MappingProxyType({})) -> str:
    """Whether the turns of a loop depend on each other.

    parallel   each writes elements of its own
    strided    the same, and adds to what lies between the elements of others
    reduction  numbers that several write are only added to, only multiplied, or the largest of all
    scatter    elements are
    rows       the same, and each turn of the one loop inside writes elements of its own, whatever the turn of the outer
    serial     whatever else

    memory  temporary -> the result in whose memory it stands
    """
    among = shared(loop, memory)
    if not among:
        return "strided" if _is_strided(loop) else "parallel"
    inside = list(walk(loop.body))
    ways: dict[str, set[str]] = {}
    arrays: set[str] = set()
    for n in inside:
        for r in stores(n):
            home = memory.get(r.name, r.name)
            ways.setdefault(home, set()).add(n.how if isinstance(n, Store) else "=")
            arrays |= {home} if r.subscripts else set()
    read = {memory.get(r.name, r.name) for n in inside for r in refs(*expressions(n))}
    added = all(len(ways[name]) == 1 and not ways[name] & {"="} and name not in read for name in among)
    if not added:
        return "serial"
    if _adds_rows(loop, memory):
        return "rows"
    return "reduction" if among.isdisjoint(arrays) else "scatter"


def _is_strided(loop: Loop) -> bool:
    """Whether an axis of a loop inside stands before its own in what is added to: neighbours in memory, which are
    written again and again, are those of other turns."""
    inner = {n.index for n in walk(loop.body) if isinstance(n, Loop)}
    added = (n.element.subscripts for n in walk(loop.body) if isinstance(n, Store) and n.how != "=")
    return any(loop.index in some and not inner.isdisjoint(some[: some.index(loop.index)]) for some in added)


def _adds_rows(loop: Loop, memory: Mapping[str, str]) -> bool:
    inner = [n for n in loop.body if isinstance(n, Loop)]
    if len(inner) != 1 or inner[0].reverse or any(stores(n) or n.blocks for n in loop.body if n not in inner):
        return False
    (row,) = inner
    own = {n.name for n in walk(loop.body) if isinstance(n, Local)}
    limits = row.lower, row.extent
    if loop.index in indices(*limits) or not own.isdisjoint(r.name for r in refs(*limits)):
        return False
    touched = accesses(loop.body, memory).items()
    written = [places for name, (places, written) in touched if written and name not in own]
    return all(same_place(places, row.index, places, row.index) for places in written)


def either_way(loop: Loop, memory: Mapping[str, str]) -> bool:
    """Whether the turns of the loop do not depend on each other: each writes elements of its own."""
    return not shared(loop, memory)


def shared(loop: Loop, memory: Mapping[str, str]) -> set[str]:
    """What is written in several turns of the loop, or in one and read in another."""
    own = {n.name for n in walk(loop.body) if isinstance(n, Local)}
    scratch = {r.name for n in walk(loop.body) if isinstance(n, Call) for r in n.scratch}
    return scratch | {
        name
        for name, (places, written) in accesses(loop.body, memory).items()
        if written and name not in own and not same_place(places, loop.index, places, loop.index)
    }


def changed(block: Block) -> set[str]:
    """The names that mean another thing, or have another value, at each turn of a loop; without its own index."""
    found: set[str] = set()
    for n in walk(block):
        match n:
            case Local(name=name) | Loop(index=Index(name=name)):
                found |= {name}
            case _:
                found |= {r.name for r in stores(n)}
    return found


def same_place(a: set[tuple[Expr, ...]], i: Index, b: set[tuple[Expr, ...]], j: Index) -> bool:
    """Whether one axis is always at the index of the loop: then no turn of the loop touches what another one does."""
    rank = min((len(s) for s in (*a, *b)), default=0)
    return any(all(s[axis] is i for s in a) and all(s[axis] is j for s in b) for axis in range(rank))


def accesses(block: Block, memory: Mapping[str, str]) -> Accesses:
    """Per tensor or scalar, the subscripts at which it is touched, and whether it is written."""
    found: dict[str, set[tuple[Expr, ...]]] = {}
    written: set[str] = set()
    for node in walk(block):
        scratch = node.scratch if isinstance(node, Call) else ()  # nobody reads it afterwards
        results = [r for r in stores(node) if r not in scratch]
        for r in (*results, *refs(*expressions(node))):
            found[r.name] = found[r.name] | {r.subscripts} if r.name in found else {r.subscripts}
        written |= {r.name for r in results}
    homes: Accesses = {}
    for name, places in found.items():
        others, changes = homes.get(home := memory.get(name, name), (set(), False))
        homes[home] = (others | places, changes or name in written)
    return homes
