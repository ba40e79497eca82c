"""Walking over expressions, and building them anew. Every walk is a loop."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from math import nan
from typing import TypeVar

from .nodes import COMPARE, Apply, Expr, Ref, constructed, ref

Node = TypeVar("Node", bound=Expr)
Known = TypeVar("Known")


def pending(
    roots: Iterable[Expr], done: Container[Expr], below: Callable[[Expr], Sequence[Expr]] | None = None
) -> Iterator[Expr]:
    """Every node below `roots` that is not in `done`, each after the nodes it is computed from, in order of first
    appearance: who takes one puts it into `done`. What stands `below` a node is what it is computed from, if that is
    not said."""
    path: list[tuple[Expr, Iterator[Expr]]] = []
    rest = iter(roots)
    while True:
        for node in rest:
            if node not in done:
                args = node.args if below is None else below(node)
                if args:
                    path.append((node, rest))
                    rest = iter(args)
                    break
                yield node
        else:
            if not path:
                return
            node, rest = path.pop()
            yield node


def postorder(*roots: Expr) -> list[Expr]:
    """Every node below `roots`, once, each after the nodes it is computed from, in order of first appearance."""
    seen: dict[Expr, None] = {}
    for root in roots:
        stack = [root]
        while stack:
            node = stack[-1]
            for a in node.args:
                if a not in seen:
                    stack += (a,)
                    break
            else:
                seen[node] = None
                del stack[-1]
    return list(seen)


def preorder(roots: Iterable[Expr], below: Callable[[Expr], Sequence[Expr]]) -> list[Expr]:
    """Every node that is met from `roots` on, once, each before what stands `below` it, from the left."""
    seen: dict[Expr, None] = {}
    stack = [*roots][::-1]
    while stack:
        node = stack[-1]
        del stack[-1]
        if node not in seen:
            seen[node] = None
            stack += below(node)[::-1]
    return list(seen)


def values(*roots: Expr, closed: Callable[[Expr], bool] | None = None, last: bool = False) -> list[Expr]:
    """The nodes that are computed, once, each after what it is computed from: not the subscripts, which only choose an
    element. What is below a `closed` node is left out, too; the last argument comes first where `last` says so."""
    seen: dict[Expr, None] = {}

    def below(node: Expr) -> Sequence[Expr]:
        leaf = isinstance(node, Ref) or (closed is not None and closed(node))
        return () if leaf else node.args[::-1] if last else node.args

    for node in pending(roots, seen, below):
        seen[node] = None
    return list(seen)


def with_args(node: Expr, args: Sequence[Expr]) -> Expr:
    """Return `node` computed from `args` instead of its own; the identities apply again."""
    if isinstance(node, Apply):
        return constructed(node.op, args)
    if isinstance(node, Ref):
        return ref(node.name, *args)
    return node


def renewed(node: Expr, done: Mapping[Expr, Expr]) -> Expr:
    """`node` computed from what `done` has for what it is computed from."""
    args = tuple(map(done.__getitem__, node.args))
    return node if args == node.args else with_args(node, args)


def folded(root: Expr, done: dict[Expr, Known], rule: Callable[[Expr], Known]) -> Known:
    """What `rule` says of `root`, asked from the leaves up, of every node once for all calls with one `done`."""
    stack = [root] if root not in done else []
    while stack:
        node = stack[-1]
        for a in node.args:
            if a not in done:
                stack += (a,)
                break
        else:
            done[node] = rule(node)
            del stack[-1]
    return done[root]


def transform(root: Expr, replace: Callable[[Expr], Expr]) -> Expr:
    """Rebuild `root` from its leaves, passing each rebuilt node through `replace`."""
    return transformer(replace)(root)


def transformer(replace: Callable[[Expr], Expr]) -> Callable[[Expr], Expr]:
    """`transform` of several roots by one rule: what they share is rebuilt once."""
    done: dict[Expr, Expr] = {}

    def rebuilt(node: Expr) -> Expr:
        return replace(renewed(node, done) if node.args else node)

    return partial(folded, done=done, rule=rebuilt)


def outermost(
    root: Expr, replace: Callable[[Expr], Expr | None], rebuilt: Callable[[Expr], Expr] = lambda node: node
) -> Expr:
    """`root` with each operation for which `replace` has something replaced, and nothing looked for below that; the
    others pass through `rebuilt` when what they are computed from has been."""
    done: dict[Expr, Expr] = {}
    stack = [(root, False)]
    while stack:
        node, below = stack.pop()
        if node in done:
            continue
        if below:
            done[node] = rebuilt(with_args(node, [done[a] for a in node.args]))
            continue
        found = replace(node) if isinstance(node, Apply) else node
        if found is not None:
            done[node] = found
        else:
            stack += [(node, True), *((a, False) for a in reversed(node.args))]
    return done[root]


WAYS = ((0, 1), (0, 0), (1, 0), (nan, nan))  # in which two numbers compare: the last where one of them is none


def branch(body: Expr, condition: Expr, holds: bool) -> Expr:
    """`body` where the condition holds, or where it does not: no `where` in it asks it again, nor compares the same two
    numbers where that comparison tells."""
    told = _answers(condition, condition)

    def choose(node: Expr) -> Expr:
        if not (isinstance(node, Apply) and node.op == "select"):
            return node
        asked, then, otherwise = node.args
        if asked.key is condition.key:
            return then if holds else otherwise
        possible = {answer for answer, known in zip(_answers(asked, condition), told, strict=False) if known == holds}
        return node if len(possible) != 1 else then if True in possible else otherwise

    return transform(body, choose)


def _answers(asked: Expr, condition: Expr) -> list[bool]:
    """Whether `asked` holds in each of the WAYS in which the two sides of `condition` compare; none where it compares
    others."""
    if not (isinstance(asked, Apply) and isinstance(condition, Apply) and {asked.op, condition.op} <= COMPARE.keys()):
        return []
    mine, theirs = ([a.key for a in n.args] for n in (asked, condition))
    if mine not in (theirs, theirs[::-1]):
        return []
    return [COMPARE[asked.op](*(way if mine == theirs else way[::-1])) for way in WAYS]


def substitute(root: Expr, mapping: Mapping[Node, Expr]) -> Expr:
    """Return `root` with every node of `mapping` (and whatever stands below it) replaced, all at once."""
    if not mapping:
        return root
    done: dict[Expr, Expr] = {node: new for node, new in mapping.items()}  # noqa: C416  # widens the key type
    return folded(root, done, lambda node: renewed(node, done) if node.args else node)


def unchanged(root: Expr) -> Expr:
    """The root: what nothing is substituted in."""
    return root


def substitution(mapping: Mapping[Node, Expr]) -> Callable[[Expr], Expr]:
    """`substitute` of several roots by one mapping of elements, names and indices."""
    if not mapping:
        return unchanged
    done: dict[Expr, Expr] = {node: new for node, new in mapping.items()}  # noqa: C416  # as above

    def rebuilt(node: Expr) -> Expr:
        return renewed(node, done) if node.args else node

    def put(root: Expr) -> Expr:
        if mapping.keys().isdisjoint(_refs(root)) and mapping.keys().isdisjoint(root.indices):
            return root
        return folded(root, done, rebuilt)

    return put


def refs(*roots: Expr) -> tuple[Ref, ...]:
    """The tensor elements that `roots` mention, in order of first appearance, those inside subscripts included."""
    if not roots[1:]:
        return _refs(roots[0]) if roots else ()
    return tuple(dict.fromkeys([r for root in roots for r in _refs(root)]))


@lru_cache(maxsize=2**13)
def _refs(root: Expr) -> tuple[Ref, ...]:
    return tuple([n for n in postorder(root) if isinstance(n, Ref)])


def is_larger(root: Expr, most: int) -> bool:
    """Whether there are more than so many operations in `root`, shared ones once; no more of it is looked at."""
    met, operations = {root: None}, 0
    nodes = [root]
    for node in nodes:  # grows
        operations += isinstance(node, Apply)
        if operations > most:
            return True
        new = {a: None for a in node.args if a not in met}
        met |= new
        nodes += new
    return False


def size(*roots: Expr) -> int:
    """The number of operations in `roots`, shared ones once."""
    return len([n for n in postorder(*roots) if isinstance(n, Apply)])
