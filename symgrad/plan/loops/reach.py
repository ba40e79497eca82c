"""The turns of loops, and what may be evaluated earlier than it is read: which elements exist at each of them, whatever
a condition says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType

from ...domain import Affine, Domain
from ...domain.atoms import linear
from ...expr import ZERO, Apply, Expr, Ref, substitute
from ...expr.polynomials import polynomial, symbol
from ...records import dataclass
from ..conditions import may_leave
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
        """Whether `root` may leave a loop that has no turn."""
        return may_leave(root, self.domain, self.shapes)

    def holds(self, element: Ref) -> bool:
        """Whether the element exists at every turn."""
        axes = self.shapes[element.name] if element.subscripts else ()
        return all(self.domain.inside(s, n) for s, n in zip(element.subscripts, axes, strict=True))
