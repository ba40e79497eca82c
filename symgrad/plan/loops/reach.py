"""The turns of loops, and what may be evaluated earlier than it is read: which elements exist at each of them, whatever
a condition says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from types import MappingProxyType

from ...domain import Affine, Domain
from ...domain.atoms import linear
from ...expr import ZERO, Apply, Expr, Ref, substitute
from ...expr.polynomials import polynomial, symbol
from ...records import dataclass
from ..conditions import may_leave
from .data import Block, Guard, Loop, Node, stores

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


def written_under(block: Block) -> dict[str, list[Guard]]:
    """The arrays that are written only if some results are wanted, with the guards that ask for these."""
    under = [(r.name, guard) for guard, node in _asked(block, None) for r in stores(node) if r.subscripts]
    always = {name for name, guard in under if guard is None}
    found: dict[str, list[Guard]] = {}
    for name, guard in under:
        if guard is not None and name not in always:
            found.setdefault(name, []).append(guard)
    return found


def _asked(block: Block, around: Guard | None) -> Iterator[tuple[Guard | None, Node]]:
    """The statements of a block, each with the innermost guard around it that asks for results."""
    for node in block:
        yield around, node
        if isinstance(node, Guard) and node.wanted:
            yield from _asked(node.body, node)
        else:
            for inner in node.blocks:
                yield from _asked(inner, around)


def _implied(guard: Guard, here: Guard) -> bool:
    """Whether a guard holds where another one does."""
    return {*here.wanted} <= {*guard.wanted} and {*guard.when} <= {*here.when}


@dataclass(eq=False)
class Reach:
    """What exists at each turn of the loops around a block.

    shapes   the axes of every array
    domain   the turns
    guarded  array -> the guards under which it is written, none of which holds here for sure
    """

    shapes: Shapes
    domain: Domain
    guarded: Mapping[str, Sequence[Guard]] = field(default_factory=dict)
    known: dict[Expr, bool] = field(default_factory=dict)  # what is known to be evaluated safely here

    def within(self, node: Node) -> Reach:
        """The same of the turns of a loop in these, or of the statements under a guard."""
        if isinstance(node, Loop):
            return Reach(self.shapes, turns(node, self.domain), self.guarded)
        if isinstance(node, Guard) and node.wanted and self.guarded:
            left = {name: some for name, some in self.guarded.items() if not all(_implied(g, node) for g in some)}
            return Reach(self.shapes, self.domain, left)
        return self

    def leaves(self, root: Expr) -> bool:
        """Whether `root` may leave a loop that has no turn."""
        return may_leave(root, self.domain, self.shapes)

    def holds(self, element: Ref) -> bool:
        """Whether the element exists at every turn, and is written before."""
        if element.name in self.guarded:
            return False
        axes = self.shapes[element.name] if element.subscripts else ()
        return all(self.domain.inside(s, n) for s, n in zip(element.subscripts, axes, strict=True))
