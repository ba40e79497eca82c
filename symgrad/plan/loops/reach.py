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
ALWAYS = Guard((), (), ())


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


def branches(guard: Guard, here: Guard = ALWAYS) -> tuple[Guard, Guard]:
    """What holds in the body of a guard, where another one holds, and in what it does otherwise."""
    (*others, (name, there)) = guard.when or (("", True),)
    apart = not (guard.wanted or others) and name
    body = Guard(guard.wanted or here.wanted, tuple(dict.fromkeys((*here.when, *guard.when))), ())
    return body, Guard(here.wanted, (*here.when, (name, not there)), ()) if apart else here


def written_under(block: Block, numbers: bool = False) -> dict[str, list[Guard]]:
    """The arrays, and if asked `numbers`, that are written only if some results are wanted, or some inputs are given or
    are not, with the guards that ask for these."""
    found: dict[str, list[Guard]] = {}
    for guard, node in _asked(block, ALWAYS):
        for r in stores(node):
            if r.subscripts or numbers:
                found.setdefault(r.name, []).append(guard)
    return without_idle(found)


def without_idle(found: Mapping[str, Sequence[Guard]]) -> dict[str, list[Guard]]:
    """The guards of each name, two of which one asks that an input is given, and the other that it is not, as one of
    neither; no name of which one asks for nothing."""
    left: dict[str, list[Guard]] = {}
    for name, guards in found.items():
        some = dict.fromkeys(guards)
        for guard in guards:
            for w in guard.when:
                if _with(guard, w, (w[0], not w[1])) in some:
                    some[_with(guard, w)] = None
        if ALWAYS not in some:
            left[name] = [g for g in some if not any(_with(g, w) in some for w in g.when)]
    return left


def _with(guard: Guard, asked: tuple[str, bool], *instead: tuple[str, bool]) -> Guard:
    """A guard without one of its conditions, or with another one in its place."""
    return Guard(guard.wanted, tuple(v for w in guard.when for v in (instead if w == asked else (w,))), ())


def _asked(block: Block, here: Guard) -> Iterator[tuple[Guard, Node]]:
    """The statements of a block, each with what is known to hold around it."""
    for node in block:
        yield here, node
        around = branches(node, here) if isinstance(node, Guard) else [here] * len(node.blocks)
        for inner, guard in zip(node.blocks, around, strict=True):
            yield from _asked(inner, guard)


def _implied(guard: Guard, here: Guard) -> bool:
    """Whether a guard holds where another one does."""
    wanted = not guard.wanted or here.wanted and {*here.wanted} <= {*guard.wanted}
    return bool(wanted) and {*guard.when} <= {*here.when}


@dataclass(eq=False)
class Reach:
    """What exists at each turn of the loops around a block.

    shapes   the axes of every array
    domain   the turns
    guarded  array -> the guards under which alone it is there
    here     what is known to hold
    """

    shapes: Shapes
    domain: Domain
    guarded: Mapping[str, Sequence[Guard]] = field(default_factory=dict)
    here: Guard = ALWAYS
    known: dict[Expr, bool] = field(default_factory=dict)  # what is known to be evaluated safely here

    def inside(self, node: Node) -> list[Reach]:
        """The same in each of the blocks inside a node: at the turns of a loop in these, or under a guard."""
        if isinstance(node, Loop):
            return [Reach(self.shapes, turns(node, self.domain), self.guarded, self.here)]
        if isinstance(node, Guard):
            return [Reach(self.shapes, self.domain, self.guarded, here) for here in branches(node, self.here)]
        return [self] * len(node.blocks)

    def leaves(self, root: Expr) -> bool:
        """Whether `root` may leave a loop that has no turn."""
        return may_leave(root, self.domain, self.shapes)

    def holds(self, element: Ref) -> bool:
        """Whether the element exists at every turn, and is written before."""
        if not all(_implied(guard, self.here) for guard in self.guarded.get(element.name, ())):
            return False
        axes = self.shapes[element.name] if element.subscripts else ()
        return all(self.domain.inside(s, n) for s, n in zip(element.subscripts, axes, strict=True))
