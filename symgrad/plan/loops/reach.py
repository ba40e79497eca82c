"""The turns of loops, and what may be evaluated earlier than it is read: which elements exist at each of them, whatever
a condition says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from ...domain import Affine, Domain
from ...domain.atoms import linear
from ...expr import ONE, ZERO, Apply, Expr, Ref, apply, postorder, refs, substitute
from ...expr.polynomials import polynomial, symbol
from ...ir import unconditional
from ..conditions import literal_bounds
from .data import Loop, Node

Shapes = Mapping[str, tuple[Expr, ...]]


def turns(loop: Loop, domain: Domain, limits: Mapping[Expr, Expr] = MappingProxyType({})) -> Domain:
    """The turns of a loop in loops over `domain`; `limits` are what scalars are that limit it."""
    i, low, end = symbol(loop.index), *(substitute(limit, limits) for limit in (loop.lower, loop.extent))
    atoms = [i - p for p in map(polynomial, _operands(low, "maximum")) if p is not None and linear(p)]
    ends = (e.args[0] if _is_count(e) else e for e in _operands(end, "minimum"))  # there is a turn: it is above 0
    atoms += [p - 1 - i for p in map(polynomial, ends) if p is not None and linear(p)]
    return Domain((*domain.indices, loop.index), domain.atoms, domain.facts).meet(*map(Affine, atoms))


def _is_count(limit: Expr) -> bool:
    """Whether a limit is 0 where it would be negative."""
    return isinstance(limit, Apply) and limit.op == "maximum" and limit.args[1] is ZERO


def _operands(limit: Expr, op: str) -> list[Expr]:
    """What a limit is the largest or the smallest of."""
    if isinstance(limit, Apply) and limit.op == op:
        return [part for a in limit.args for part in _operands(a, op)]
    return [limit]


def divisible(root: Expr, domain: Domain) -> bool:
    """Whether what divides whole numbers in `root` is at least 1."""
    divisors = [n.args[1] for n in postorder(root) if isinstance(n, Apply) and n.op in ("floordiv", "mod")]
    return all(domain.holds(apply("ge", d, ONE)) for d in divisors)


@dataclass(eq=False)
class Reach:
    """What exists at each turn of the loops around a block.

    shapes  the axes of every array
    domain  the turns
    """

    shapes: Shapes
    domain: Domain
    known: dict[Expr, bool] = field(default_factory=dict)  # what is known to be evaluated safely here

    def within(self, node: Node) -> Reach:
        """The same of the turns of a loop in these."""
        return Reach(self.shapes, turns(node, self.domain)) if isinstance(node, Loop) else self

    def leaves(self, root: Expr) -> bool:
        """Whether `root` may leave a loop that has no turn: what it reads in a branch, which nothing has asked for on
        entry, is at no element without an index that needs a turn to exist, and no size that may be 0 divides."""
        if not divisible(root, self.domain):
            return False
        certain = unconditional(root)
        guarded = [r for r in refs(root) if r.subscripts and r not in certain]
        asked = (c for r in guarded for c in literal_bounds(r.subscripts, self.shapes[r.name], self.shapes))
        return all(map(self.domain.holds, asked))

    def holds(self, element: Ref) -> bool:
        """Whether the element exists at every turn."""
        axes = self.shapes[element.name] if element.subscripts else ()
        return all(self.domain.inside(s, n) for s, n in zip(element.subscripts, axes, strict=True))
