"""Walking over expressions, and building them anew. Every walk is a loop."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from math import nan
from types import MappingProxyType
from typing import Any, TypeVar

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
    if len(roots) != 1 or not isinstance(roots[0], Apply):
        return _walked(roots)
    (root,) = roots
    try:
        return [*root._below, root]
    except AttributeError:
        found = _walked(roots)
        root._below = tuple(found[:-1])
        return found


def _walked(roots: Iterable[Expr], leaf: type[Expr] | None = None) -> list[Expr]:
    """`postorder`, of which nothing is kept; what is a `leaf` is computed from nothing."""
    seen: dict[Expr, None] = {}
    for root in roots:
        path: Any = (root, None)  # the node, and the path to where it was met
        if root.__class__ is leaf:
            seen[root] = path = None
        while path is not None:
            for a in path[0].args:
                if a not in seen:
                    if a.args and a.__class__ is not leaf:
                        path = (a, path)
                        break
                    seen[a] = None
            else:
                seen[path[0]] = None
                path = path[1]
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


def values(
    *roots: Expr,
    closed: Callable[[Expr], bool] | None = None,
    last: bool = False,
    bodies: Mapping[Expr, Expr] = MappingProxyType({}),
) -> list[Expr]:
    """The nodes that are computed, once, each after what it is computed from: not the subscripts, which only choose an
    element. What is below a `closed` node is left out, too; the last argument comes first where `last` says so;
    `bodies` are what some of the elements are computed from."""
    if closed is None and not last and not bodies:
        return _walked(roots, leaf=Ref)
    seen: dict[Expr, None] = {}

    def below(node: Expr) -> Sequence[Expr]:
        if isinstance(node, Ref):
            return (bodies[node],) if node in bodies else ()
        return () if closed is not None and closed(node) else node.args[::-1] if last else node.args

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


def comparisons(root: Expr) -> list[Expr]:
    """The comparisons in an expression. What they compare stays as it is written where values are put in another order:
    rounded otherwise than where a maximum was taken of it, no element would be the largest."""
    if COMPARE.keys().isdisjoint(operators(root)):
        return []
    return [node for node in postorder(root) if isinstance(node, Apply) and node.op in COMPARE]


def beside_compared(root: Expr, rewrite: Callable[[Expr], Expr], only: str = "") -> Expr:
    """What `rewrite` makes of an expression in which names stand for what is compared, those in their place again: of
    that which has `only` some operator, where one is named."""
    parts = (a for n in comparisons(root) for a in n.args if isinstance(a, Apply))
    compared = dict.fromkeys(a for a in parts if not only or only in operators(a))
    names: dict[Apply, Expr] = {a: ref(f"?compared{k}") for k, a in enumerate(compared)}
    return substitute(rewrite(substitute(root, names)), {name: a for a, name in names.items()})


def renewed(node: Expr, done: Mapping[Expr, Expr]) -> Expr:
    """`node` computed from what `done` has for what it is computed from."""
    args = tuple(map(done.__getitem__, node.args))
    return node if args == node.args else with_args(node, args)


def folded(root: Expr, done: dict[Expr, Known], rule: Callable[[Expr], Known]) -> Known:
    """What `rule` says of `root`, asked from the leaves up, of every node once for all calls with one `done`."""
    path: Any = (root, None) if root not in done else None  # as in `postorder`
    while path is not None:
        node = path[0]
        for a in node.args:
            if a not in done:
                if a.args:
                    path = (a, path)
                    break
                done[a] = rule(a)
        else:
            done[node] = rule(node)
            path = path[1]
    return done[root]


def transform(root: Expr, replace: Callable[[Expr], Expr], only: Set[str] | None = None) -> Expr:
    """Rebuild `root` from its leaves, passing each rebuilt node through `replace`. Where that changes `only` some
    operators, a root without them is as it was."""
    return root if only is not None and only.isdisjoint(operators(root)) else transformer(replace)(root)


def transformer(
    replace: Callable[[Expr], Expr] | None, given: Mapping[Node, Expr] = MappingProxyType({})
) -> Callable[[Expr], Expr]:
    """`transform` of several roots by one rule: what they share is rebuilt once, what is `given` not at all."""
    done: dict[Expr, Expr] = {node: new for node, new in given.items()}  # noqa: C416  # widens the key type
    new_of = done.__getitem__

    def rebuilt(node: Expr) -> Expr:
        if node.args:
            args = tuple(map(new_of, node.args))
            if args != node.args:
                node = with_args(node, args)
        return node if replace is None else replace(node)

    return partial(folded, done=done, rule=rebuilt)


def outermost(
    root: Expr,
    replace: Callable[[Expr], Expr | None],
    rebuilt: Callable[[Expr], Expr] = lambda node: node,
    done: dict[Expr, Expr] | None = None,
) -> Expr:
    """`root` with each operation for which `replace` has something replaced, and nothing looked for below that; the
    others pass through `rebuilt` when what they are computed from has been. `done` keeps what became of each from call
    to call."""
    done = {} if done is None else done
    asked: dict[Expr, None] = {}
    stack = [] if root in done else [root]
    while stack:
        node = stack[-1]
        if node not in asked:
            asked[node] = None
            found = replace(node) if isinstance(node, Apply) else node
            if found is not None:
                done[node] = found
                del stack[-1]
                continue
        for a in node.args:
            if a not in done:
                stack += (a,)
                break
        else:
            done[node] = rebuilt(renewed(node, done))
            del stack[-1]
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
    return transformer(None, mapping)(root) if mapping else root


def unchanged(root: Expr) -> Expr:
    """The root: what nothing is substituted in."""
    return root


def substitution(mapping: Mapping[Node, Expr]) -> Callable[[Expr], Expr]:
    """`substitute` of several roots by one mapping of elements, names and indices."""
    put, names = transformer(None, mapping), mapping.keys()

    def visited(root: Expr) -> Expr:
        return root if names.isdisjoint(_refs(root)) and names.isdisjoint(root.indices) else put(root)

    return visited if mapping else unchanged


def refs(*roots: Expr) -> tuple[Ref, ...]:
    """The tensor elements that `roots` mention, in order of first appearance, those inside subscripts included."""
    if len(roots) == 1:
        return _refs(roots[0])
    some = [found for root in roots if (found := _refs(root))]
    if len(some) < 2:
        return some[0] if some else ()
    return tuple(dict.fromkeys([r for found in some for r in found]))


def _refs(root: Expr) -> tuple[Ref, ...]:
    """The same of one, which an operation keeps."""
    if not root.args:
        return (root,) if isinstance(root, Ref) else ()
    if isinstance(root, Apply):
        found = root._refs
        if found is None:
            found = root._refs = tuple(_refs_below(root, {}))
        return found
    return tuple(_refs_below(root, {}))  # kept, it would refer to itself, and live as long as the program


def _refs_below(root: Expr, seen: dict[Expr, None], shared: bool = True) -> dict[Ref, None]:
    """The same, not looking into operations that have kept theirs. One that was met from another root before, as what
    many long formulas have in common is, keeps them from now on, if not more is looked at again for that than anyway.

    seen    comes to hold what need not be looked at again
    shared  whether operations may be kept
    """
    found: dict[Ref, None] = {}
    spent = 0  # nodes that were looked at for what is kept
    path: Any = (root, None)  # as in `postorder`
    while path is not None:
        for a in path[0].args:
            if a not in seen:
                if not a.args:
                    if a.__class__ is Ref:
                        found[a] = None
                elif a.__class__ is Ref:
                    path = (a, path)
                    break
                else:
                    if a._refs is None and not (a._met and shared and spent <= len(seen)):
                        a._met, path = True, (a, path)
                        break
                    if a._refs is None:
                        below: dict[Expr, None] = {}
                        a._refs = tuple(_refs_below(a, below, shared=False))
                        seen |= below
                        spent += len(below)
                    found |= dict.fromkeys(a._refs)
                seen[a] = None
        else:
            if path[0].__class__ is Ref:
                found[path[0]] = None
            seen[path[0]] = None
            path = path[1]
    return found


def operators(*roots: Expr) -> tuple[str, ...]:
    """The operators of `roots`, each once, in order of first appearance; those inside subscripts included."""
    if len(roots) == 1:
        return _operators(roots[0])
    return tuple(dict.fromkeys([op for root in roots for op in _operators(root)]))


def _operators(root: Expr) -> tuple[str, ...]:
    """The same of one, which each node below it keeps: they are few, and what formulas share is looked at once."""
    path: Any = (root, None)  # as in `postorder`
    while path is not None and root._operators is None:
        node = path[0]
        found: tuple[str, ...] = ()
        for a in node.args:
            more = a._operators
            if more is None:
                path = (a, path)
                break
            if more and more is not found:
                found = _with(found, more)
        else:
            node._operators = _with(found, (node.op,)) if isinstance(node, Apply) else found
            path = path[1]
    return root._operators or ()


def _with(found: tuple[str, ...], more: tuple[str, ...]) -> tuple[str, ...]:
    if not found:
        return more
    new = [op for op in more if op not in found]
    return (*found, *new) if new else found


def size(*roots: Expr) -> int:
    """The number of operations in `roots`, shared ones once."""
    return len([n for n in postorder(*roots) if isinstance(n, Apply)])


def is_short(root: Expr, operations: int) -> bool:
    """Whether `size` is not larger, asked of so many operations at most."""
    seen: set[Expr] = set()
    stack, left = [root], operations
    while stack and left >= 0:
        node = stack.pop()
        operation = isinstance(node, Apply)
        if (operation or node.args) and node not in seen:
            seen.add(node)
            stack += node.args
            left -= operation
    return left >= 0
