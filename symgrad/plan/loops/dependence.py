"""What the statements of a loop touch, and so whether its turns depend on each other."""

from __future__ import annotations

from collections.abc import Mapping

from ...expr import Expr, Index, refs
from .data import Block, Call, Local, Loop, Store, expressions, stores, walk

Accesses = dict[str, tuple[set[tuple[Expr, ...]], bool]]


def tag(loop: Loop) -> str:
    """`parallel` if each turn writes elements of its own, `reduction` if what several write is only added to, only
    multiplied, or the largest of all, else `serial`."""
    shared = _shared(loop, {})
    if not shared:
        return "parallel"
    inside = list(walk(loop.body))
    ways: dict[str, set[str]] = {}
    for n in inside:
        for r in stores(n):
            ways.setdefault(r.name, set()).add(n.how if isinstance(n, Store) else "=")
    read = {r.name for n in inside for r in refs(*expressions(n))}
    added = all(len(ways[name]) == 1 and not ways[name] & {"="} and name not in read for name in shared)
    return "reduction" if added else "serial"


def either_way(loop: Loop, memory: Mapping[str, str]) -> bool:
    """Whether the turns of the loop do not depend on each other: each writes elements of its own."""
    return not _shared(loop, memory)


def _shared(loop: Loop, memory: Mapping[str, str]) -> set[str]:
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
    found: Accesses = {}
    seen: set[Expr] = set()
    for node in walk(block):
        reads = [r for e in expressions(node) if e not in seen for r in refs(e)]
        seen.update(expressions(node))
        for element in stores(node):
            if isinstance(node, Call) and element in node.scratch:
                continue  # nobody reads it afterwards
            name = memory.get(element.name, element.name)
            places = found[name][0] if name in found else set()
            found[name] = ({*places, element.subscripts}, True)
        for r in reads:
            name = memory.get(r.name, r.name)
            places, changed = found.get(name, (set(), False))
            places.add(r.subscripts)
            found[name] = (places, changed)
    return found
