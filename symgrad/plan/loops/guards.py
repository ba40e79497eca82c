"""Guards of results, and the loops of several results as one: a guard goes inside the loops it is around, where these
may fuse with those of other results, and comes out again around what is left of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeGuard

from ...expr import refs
from ...records import dataclass, replace
from .data import Block, Guard, If, Local, Loop, Node, Note, Store, expressions, stores, walk
from .notes import is_start


@dataclass(frozen=True)
class Asked:
    """What guards ask for.

    places  of the results, in the order in which a guard names them
    serves  array -> the results that it is computed for; all of them, if it is not here
    memory  tensor -> the tensor in whose memory it will stand
    threads  whether threads share the turns of loops: those that they can share stay apart from others
    given    result -> the optional input without which nobody asks for it
    """

    places: Mapping[str, int]
    serves: Mapping[str, frozenset[str]]
    memory: Mapping[str, str]
    threads: bool
    given: Mapping[str, str]

    def rank(self, guard: Guard) -> list[int]:
        """Where a guard stands among others."""
        return [self.places[name] for name in guard.wanted]

    def all_of(self, guard: Guard) -> bool:
        """Whether a guard names every one of several results, and so asks for nothing."""
        return len(guard.wanted) == len(self.places) > 1

    def without_results(self, guard: Guard, node: Node) -> Guard:
        """The guard of a statement that is done whoever asks, if what it reads is there."""
        there = {self.given.get(name) for name in guard.wanted}
        (name,) = there if len(there) == 1 else (None,)
        implied = () if name is None or name not in _read(node) or (name, True) in guard.when else ((name, True),)
        return Guard((), (*guard.when, *implied), (node,))

    def common(self, asked: set[Guard | None]) -> Guard | None:
        """The condition of a loop each of whose statements has one of these; None if one may have another."""
        guards = [g for g in asked if g is not None]
        names = {name for g in guards for name in g.wanted}
        if len(guards) < len(asked) or len({g.when for g in guards}) != 1:
            return None
        return Guard(tuple(sorted(names, key=self.places.__getitem__)), guards[0].when, ())


def inside_loops(block: Block) -> Block:
    """`block` with the guards of results inside the loops that they are around."""
    done: list[Node] = []
    for node in block:
        if not _opens(node):
            done.append(node)
            continue
        for n in node.body:
            if isinstance(n, Loop):
                done.append(replace(n, body=(_only_if(node, n.body),)))
            else:
                done.append(n if isinstance(n, Note) or is_start(n) else _only_if(node, (n,)))
    return tuple(done)


def _opens(node: Node) -> TypeGuard[Guard]:
    """Whether nothing but accumulators, elements and conditions stands beside the loops of the guard of some results:
    each may have it for itself."""
    if not isinstance(node, Guard) or node.otherwise or not node.wanted:
        return False
    plain = all(isinstance(n, (Loop, Note, Store, Guard, If)) or is_start(n) for n in node.body)
    return plain and any(isinstance(n, Loop) for n in node.body)


def _only_if(guard: Guard, body: Block) -> Guard:
    return Guard(guard.wanted, guard.when, body)


def conditions(loop: Loop) -> set[Guard | None]:
    """On which conditions a loop does what it does, as guards of nothing."""
    nodes = (n for n in loop.body if not isinstance(n, Note))
    return {_only_if(n, ()) if isinstance(n, Guard) and n.wanted and not n.otherwise else None for n in nodes}


def around_loops(block: Sequence[Node], asked: Asked, outer: Guard | None) -> Block:
    """`block` with a guard around each loop whose statements all have one; what is done for any result needs none.

    outer  the guard around the block
    """
    done: list[Node] = []
    heads: list[Node] = []
    for node in block:
        if isinstance(node, Note) or is_start(node):
            heads.append(node)
            continue
        if isinstance(node, Loop):
            guard = asked.common(conditions(node))
            node = replace(node, body=_lifted(node.body, asked, guard or outer))
            if guard is not None and asked.all_of(guard):
                guard = replace(guard, wanted=()) if guard.when else None
            if guard is not None and not (outer and same_guard(guard, outer)):
                done.append(replace(guard, body=(*heads, node)))
                heads = []
                continue
        elif isinstance(node, Guard) and asked.all_of(node) and not (node.when or node.otherwise):
            done += (*heads, *node.body)  # as the loops are that go on from it
            heads = []
            continue
        done += (*heads, node)
        heads = []
    return _free_scalars(_merged(_scoped((*done, *heads))), asked)


def _lifted(body: Block, asked: Asked, around: Guard | None) -> Block:
    """The body of a loop without the guards that ask what the one around it does. What several results are computed
    from is computed on no condition, and in an innermost loop all but the elements of results, so that a compiler makes
    vectors of it; as long as it reads nothing that has not been computed."""
    innermost = not any(isinstance(n, Loop) for n in walk(body))
    wanted = asked.places.keys() if around is None else {*around.wanted}
    notes: list[Node] = []
    done: list[Node] = []
    last: list[Guard] = []  # what stores elements that nobody reads
    elements = {r for n in walk(body) for e in expressions(n) for r in refs(e)}
    read, set_here = {r.name for r in elements}, {r for n in walk(body) if not _adds(n) for r in stores(n)}
    # what a turn before has stored was begun somewhere else
    own = {r.name for r in set_here} - {r.name for r in elements if r not in set_here}
    changing = {r.name for n in walk(body) if _adds(n) for r in stores(n)}
    missing = {n for n, serves in asked.serves.items() if not serves >= wanted and n not in own}
    # what is stored under a guard and cannot wait for the end: neither can what else is stored in the same elements
    some = (n for node in body if isinstance(node, Guard) for n in node.body)
    early = {name for n in some if not changing.isdisjoint(_read(n) - _stored(n)) for name in _stored(n)}
    for node in body:
        if isinstance(node, Guard) and around is not None and same_guard(node, around):
            done += node.body
            continue
        if not isinstance(node, Guard) or not node.wanted or node.otherwise:
            (notes if innermost and isinstance(node, Note) else done).append(node)
            continue
        for n in node.body:
            stored, reads = _stored(n), _read(n)
            results = {asked.memory.get(name, name) for name in stored} & asked.places.keys()
            free = not results and missing.isdisjoint(reads) and not any(isinstance(m, Loop) for m in walk((n,)))
            if innermost and isinstance(n, Note):
                notes.append(n)
            elif free and (innermost or len(node.wanted) > 1):
                lifted = asked.without_results(node, n)
                done.append(lifted if lifted.when and not is_start(n) else n)
            elif innermost and results and (stored - _named(n)).isdisjoint(read | early):
                last.append(_only_if(node, (n,)))
            else:
                done.append(_only_if(node, (n,)))
                missing |= stored
    notes.sort(key=lambda note: max((asked.places.get(name, -1) for name in _told(note)), default=-1))
    last.sort(key=asked.rank)
    return _merged((*notes, *done, *last))


def _free_scalars(block: Block, asked: Asked) -> Block:
    """`block` with scalars on no condition, if they are read where it need not hold."""
    reads = [*_reads(block, frozenset())]
    done: list[Node] = []
    for node in block:
        if isinstance(node, Guard) and node.wanted and not node.when and not node.otherwise:
            stored = {r for n in walk(node.body) for r in stores(n)}
            plain = all(isinstance(n, (Store, Note)) for n in node.body) and not any(r.subscripts for r in stored)
            names = {r.name for r in stored}
            free = plain and names.isdisjoint(asked.places)
            if free and any(name in names and not (only and only <= {*node.wanted}) for name, only in reads):
                lifted = [asked.without_results(node, n) for n in node.body]
                done += [guard if guard.when else n for guard, n in zip(lifted, node.body, strict=True)]
                continue
        done.append(node)
    return tuple(done)


def _reads(block: Block, wanted: frozenset[str]) -> Iterator[tuple[str, frozenset[str]]]:
    """The scalars that are read, and for which results alone; for any, if there are none."""
    for n in block:
        yield from ((r.name, wanted) for e in expressions(n) for r in refs(e) if not r.subscripts)
        inside = frozenset(n.wanted) if isinstance(n, Guard) and n.wanted else wanted
        for inner in n.blocks:
            yield from _reads(inner, inside)


def _stored(node: Node) -> set[str]:
    """What is stored in a statement, and what it gives a name to."""
    return _named(node) | {r.name for n in walk((node,)) for r in stores(n)}


def _named(node: Node) -> set[str]:
    """What a statement gives a name to."""
    return {n.name for n in walk((node,)) if isinstance(n, Local)}


def _read(node: Node) -> set[str]:
    """What is read in a statement, and what it adds to."""
    found = {r.name for n in walk((node,)) for e in expressions(n) for r in refs(e)}
    return found | {r.name for n in walk((node,)) if _adds(n) for r in stores(n)}


def _adds(node: Node) -> bool:
    """Whether a statement changes what stands in its element."""
    return isinstance(node, Store) and (node.how != "=" or node.element in refs(node.value))


def _told(note: Node) -> list[str]:
    return [e.target for e in note.equations] if isinstance(note, Note) else []


def _scoped(units: Sequence[Node]) -> Block:
    """Each guard with what reads the accumulators that are declared in it, or without these."""
    done: list[Node] = []
    behind: dict[str, int] = {}  # the place behind the last that reads a name
    for last, other in enumerate(units, 1):
        behind |= dict.fromkeys((r.name for m in walk((other,)) for r in refs(*expressions(m))), last)
    place = 0
    while place < len(units):
        node, place = units[place], place + 1
        if isinstance(node, Guard):
            own, end = _declared((node,)), place
            while (last := max((behind.get(name, 0) for name in own), default=0)) > end:
                own, end = _declared(units[end:last]), last
            between = units[place:end]
            if all(isinstance(n, Note) or isinstance(n, Guard) and {*n.wanted} <= {*node.wanted} for n in between):
                body = (*node.body, *(m for n in _scoped(between) for m in (n.body if _asks(n, node) else (n,))))
                node = replace(node, body=_merged(body)) if between else node
            else:  # something else is done meanwhile
                done += [n for n in node.body if isinstance(n, Local)]
                node = replace(node, body=tuple(n for n in node.body if not isinstance(n, Local)))
                end = place
            place = end
        done.append(node)
    return tuple(done)


def _declared(nodes: Iterable[Node]) -> set[str]:
    """The scalars that are declared in guards."""
    return {n.name for guard in nodes if isinstance(guard, Guard) for n in guard.body if isinstance(n, Local)}


def _asks(node: Node, guard: Guard) -> TypeGuard[Guard]:
    return isinstance(node, Guard) and same_guard(node, guard)


def _merged(block: Iterable[Node]) -> Block:
    """Neighbouring guards of the same results as one, with the notes between them."""
    done: list[Node] = []
    for node in block:
        begin = len(done)
        while begin and isinstance(done[begin - 1], Note):
            begin -= 1
        first = done[begin - 1] if begin else None
        if isinstance(first, Guard) and _asks(node, first):
            notes = (n for n in done[begin:] if isinstance(n, Note))
            done[begin - 1 :] = [replace(first, body=(*first.body, *notes, *node.body))]
        else:
            done.append(node)
    return tuple(done)


def in_branches(block: Sequence[Node]) -> Block:
    """The block, what follows on one guard and asks for the same optional input in the branches of that guard."""
    done: list[Node] = []
    for node in block:
        place = next((k for k in reversed(range(len(done))) if not isinstance(done[k], Note)), -1)
        last = done[place] if done and place >= 0 else None
        if isinstance(node, Guard) and isinstance(last, Guard) and _ask_for_one(last, node):
            notes = [n for n in done[place + 1 :] if isinstance(n, Note)]
            (name, there), same = last.when[0], node.when == last.when
            body, otherwise = (node.body, node.otherwise) if same else (node.otherwise, node.body)
            body = (*last.body, *_noted(notes, name, there), *body)
            done[place:] = [Guard((), last.when, body, (*last.otherwise, *_noted(notes, name, not there), *otherwise))]
        else:
            done.append(node)
    return tuple(done)


def _ask_for_one(a: Guard, b: Guard) -> bool:
    """Whether two guards ask for one optional input, and for the same one."""
    return not (a.wanted or b.wanted) and len(a.when) == len(b.when) == 1 and a.when[0][0] == b.when[0][0]


def _noted(notes: Sequence[Note], name: str, there: bool) -> Iterator[Note]:
    """What notes say where an input is given, or is absent."""
    for note in notes:
        mine = [e for e in note.equations if (name, not there) not in e.when]
        asked = [replace(e, when=tuple(w for w in e.when if w[0] != name)) for e in mine]
        if asked:
            yield replace(note, equations=tuple(asked))


def same_guard(a: Guard, b: Guard) -> bool:
    """Whether both ask the same, and do nothing otherwise."""
    return (a.wanted, a.when) == (b.wanted, b.when) and not (a.otherwise or b.otherwise)
