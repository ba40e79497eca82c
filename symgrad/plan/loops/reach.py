"""What may be evaluated earlier than it is read: which elements exist whatever a condition says."""

from __future__ import annotations

from collections.abc import Mapping

from ...domain import Domain
from ...expr import ONE, Apply, Const, Expr, Index, Ref, apply, postorder, refs
from ...ir import unconditional
from ..conditions import literal_bounds
from .data import Block, Loop, walk


class Reach:
    """How far the loops of a block go, against how far arrays do.

    shapes      the axes of every array
    everywhere  what is known of the sizes
    """

    def __init__(self, block: Block, shapes: Mapping[str, tuple[Expr, ...]], everywhere: Domain) -> None:
        self._shapes = shapes
        self._everywhere = everywhere
        self._ends: dict[Index, dict[Expr, None]] = {}  # the extents of all loops over an index
        for node in walk(block):
            if isinstance(node, Loop):
                self._ends.setdefault(node.index, {}).update(self._ends_of(node.extent))

    def _ends_of(self, extent: Expr) -> Mapping[Expr, None]:
        """The extents that a loop may have: one that stops at the index of another loop stops where that does."""
        outer = extent.args[0] if isinstance(extent, Apply) and extent.op == "add" else extent
        return self._ends[outer] if isinstance(outer, Index) and outer in self._ends else {extent: None}

    def leaves(self, root: Expr) -> bool:
        """Whether `root` may leave a loop that has no turn: what it reads in a branch, which nothing has asked for on
        entry, is at no element without an index that needs a turn to exist, and no size that may be 0 divides."""
        divisors = [n.args[1] for n in postorder(root) if isinstance(n, Apply) and n.op in ("floordiv", "mod")]
        if not all(self._everywhere.holds(apply("ge", d, ONE)) for d in divisors):
            return False
        certain = unconditional(root)
        guarded = [r for r in refs(root) if r.subscripts and r not in certain]
        return all(self._everywhere.holds(c) for r in guarded for c in self._literal_bounds(r))

    def _literal_bounds(self, element: Ref) -> list[Expr]:
        return literal_bounds(element.subscripts, self._shapes[element.name], self._shapes)

    def holds(self, element: Ref) -> bool:
        """Whether the element exists at every turn of the loops: its subscripts stay in the array by themselves."""
        for s, size in zip(element.subscripts, self._shapes[element.name] if element.subscripts else (), strict=True):
            ends = [s + 1] if isinstance(s, Const) else self._ends.get(s, ()) if isinstance(s, Index) else ()
            if not ends or not all(self._everywhere.holds(apply("le", end, size)) for end in ends):
                return False
        return True
