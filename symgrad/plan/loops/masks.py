"""A scalar that is read only where its own condition holds is computed on none.

Of `z = mask[i] ? x[i] / s : 0` and `sum += mask[i] ? z * z : 0` the second asks for all that matters: what z is
elsewhere nobody reads. One test is left where each value between had its own. What stands under a condition does not
ask it again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from ...expr import Apply, Expr, Ref, preorder, refs, transform
from ...ir import Dtype
from ...records import replace
from .data import Block, If, Local, Node, expressions, root_of, stores, walk, with_blocks, with_nodes, with_root
from .reach import Reach

Held = frozenset[tuple[Expr, bool]]


def without_masks(block: Block, reach: Reach, safe: Callable[[Expr, Reach], bool]) -> Block:
    """`block` with such scalars on no condition, if their values are `safe` to compute whatever holds."""
    changing = {r.name for n in walk(block) for r in stores(n)}
    readers: dict[str, list[Node]] = {}
    for node in block if any(isinstance(n, Local) and _values(n.value) for n in block) else ():
        for name in {r.name for n in walk((node,)) for e in expressions(n) for r in refs(e)}:
            readers.setdefault(name, []).append(node)
    done: list[Node] = []
    for node in block:
        inner = tuple(without_masks(b, r, safe) for b, r in zip(node.blocks, reach.inside(node), strict=True))
        node = _asked_once(with_blocks(node, inner))
        if isinstance(node, Local) and node.dtype is Dtype.REAL and node.name not in changing:
            for held, _ in _values(node.value):
                if not changing.isdisjoint(r.name for condition, _ in held for r in refs(condition)):
                    continue
                value = transform(node.value, partial(_where, held))
                if safe(value, reach) and not any(_reads(n, node.name, held) for n in readers.get(node.name, ())):
                    node = replace(node, value=value)
                    break
        done.append(node)
    return with_nodes(block, done)


def _asked_once(node: Node) -> Node:
    """A branch without choices by what it is a branch of, as long as nothing that this asks for changes in it."""
    if not isinstance(node, If):
        return node
    changing = {r.name for n in walk((*node.body, *node.otherwise)) for r in stores(n)}
    if not changing.isdisjoint(r.name for r in refs(node.condition)):
        return node
    bodies = []
    for body, holds in ((node.body, True), (node.otherwise, False)):
        put = partial(transform, replace=partial(_where, _held(node.condition, holds)))
        roots = [(n, root_of(n)) for n in body]
        bodies.append(with_nodes(body, [n if root is None else with_root(n, put(root)) for n, root in roots]))
    return with_blocks(node, tuple(bodies))


def _values(node: Expr) -> list[tuple[Held, Expr]]:
    """The two values of a choice, each with what holds where it is the one; nothing of what is no choice."""
    if not (isinstance(node, Apply) and node.op == "select"):
        return []
    condition, then, otherwise = node.args
    return [(_held(condition, True), then), (_held(condition, False), otherwise)]


def _held(condition: Expr, holds: bool) -> Held:
    """The conditions of which is known whether they hold where this one does, or does not."""
    found: set[tuple[Expr, bool]] = set()
    stack = [(condition, holds)]
    while stack:
        match stack.pop():
            case Apply(op="not", args=(other,)), so:
                stack.append((other, not so))
            case Apply(op="and" | "or" as op, args=args), so if so is (op == "and"):
                stack += [(a, so) for a in args]
            case known, so:
                found.add((known.key, so))
    return frozenset(found)


def _where(held: Held, node: Expr) -> Expr:
    """`node` where all that is `held` is so."""
    return next((value for mine, value in _values(node) if mine <= held), node)


def _reads(node: Node, name: str, held: Held) -> bool:
    """Whether a statement reads a scalar where something that is `held` need not be so."""

    def below(e: Expr) -> Sequence[Expr]:
        values = _values(e)
        return (e.args[0], *(v for mine, v in values if not held <= mine)) if values else e.args

    if any(isinstance(e, Ref) and e.name == name for e in preorder(expressions(node), below)):
        return True
    bare = list(node.blocks)
    if isinstance(node, If):
        bare = [b for b, so in zip(bare, (True, False), strict=True) if not held <= _held(node.condition, so)]
    return any(_reads(n, name, held) for b in bare for n in b)
