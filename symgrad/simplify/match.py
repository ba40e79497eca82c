"""Finding one expression inside of another, up to the names of its indices or pattern variables."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..expr import Apply, Expr, Index, Ref, folded, postorder, size
from ..ir import Box, inside
from ..ops import OPS

Binding = dict[Expr, Expr]
LARGE = 60  # operations; larger patterns are found only where they are written the same


def match(pattern: Expr, node: Expr, variables: frozenset[Expr], bound: Binding | None = None) -> Binding | None:
    """What the `variables` of `pattern` stand for so that it equals `node`; None if there is no such choice.

    Commutative operators match in either order.
    """
    bound = {} if bound is None else bound
    if pattern in variables:
        known = bound.get(pattern)
        if known is None:
            return {**bound, pattern: node}
        return bound if known.key is node.key else None
    if pattern.key is node.key and not any(n in variables for n in postorder(pattern)):
        return bound
    if isinstance(pattern, Ref) and isinstance(node, Ref):
        same = pattern.name == node.name and len(pattern.subscripts) == len(node.subscripts)
        return _match_all(pattern.args, node.args, variables, bound) if same else None
    if isinstance(pattern, Apply) and isinstance(node, Apply) and pattern.op == node.op:
        found = _match_all(pattern.args, node.args, variables, bound)
        if found is None and OPS[pattern.op].commutative and pattern.args[0] is not pattern.args[1]:
            found = _match_all(pattern.args, tuple(reversed(node.args)), variables, bound)
        return found
    return None


def outline(node: Expr, known: dict[Expr, object]) -> object:
    """What a pattern has in common with all that it matches, whatever its indices stand for; None of a pattern that has
    an index for a value, which may stand for anything. What is `known` of nodes is not asked again."""

    def rule(node: Expr) -> object:
        if isinstance(node, Ref):
            return node.name
        if not isinstance(node, Apply):
            return None if isinstance(node, Index) else node.key
        parts = [known[a] for a in node.args]
        if None in parts:
            return None
        return hash((node.op, *(sorted(map(hash, parts)) if OPS[node.op].commutative else parts)))

    return folded(node, known, rule)


def head_of(pattern: Expr) -> str | None:
    """The operator or the name that what a pattern matches has, too; None where that may be any."""
    return pattern.op if isinstance(pattern, Apply) else pattern.name if isinstance(pattern, Ref) else None


def _match_all(
    patterns: Iterable[Expr], nodes: Iterable[Expr], variables: frozenset[Expr], bound: Binding
) -> Binding | None:
    current: Binding | None = bound
    for p, n in dict.fromkeys(zip(patterns, nodes, strict=True)):
        if current is None:
            return None
        current = match(p, n, variables, current)
    return current


class Finder:
    """Finds `pattern` at a node, its indices standing for any subscripts; fast where most nodes differ."""

    def __init__(
        self, pattern: Expr, variables: Iterable[Index], result: Callable[[Binding], Expr], unconstrained: Box = ()
    ) -> None:
        """unconstrained  the variables that must stand for indices of their own extent"""
        self.pattern = pattern
        self.unconstrained = unconstrained
        self.variables: frozenset[Expr] = frozenset(variables)
        self.size = size(pattern)
        self.result = result

    def at(self, node: Expr, box: Box = ()) -> Expr | None:
        """What replaces `node` in an equation over `box`, if the pattern stands there."""
        if not isinstance(node, Apply) or not isinstance(self.pattern, Apply) or node.op != self.pattern.op:
            return None
        if self.size > LARGE:
            found = {i: i for i in self.variables} if node.key is self.pattern.key else None
        else:
            found = match(self.pattern, node, self.variables)
        if found is None or set(found) != set(self.variables) or not inside(found, self.unconstrained, dict(box)):
            return None
        return self.result(found)
