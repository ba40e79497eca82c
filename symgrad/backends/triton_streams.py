"""One kernel of reductions of planes as a function of Python: blocks of planes, computed where they are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..expr import ONE, Expr, Index, Ref, conjunction, ref
from ..ir import Dtype, Equation
from ..plan.followed import Followed
from ..plan.kernels import Product, Streams, Walk, product_of
from ..plan.program import Step
from ..source import python as py
from ..source.python import Assign, Expression, Name, Operation, Word, call
from .triton_expressions import Value
from .triton_kernel import NEUTRAL, KernelText, merged
from .triton_lanes import Lanes, beginning_at, joined
from .triton_tiles import ADDED_UP, Axes, TileElements, TileLanes, TileText

FIRST = Word("first")  # of the tile


class StreamLanes(TileLanes):
    """Which elements a program has: a block of its tile, one of what it walks along, and all else in full."""

    def __init__(self, kernel: Streams, block: Callable[[str], Word], place: Callable[[Expr], Expression]) -> None:
        Lanes.__init__(self, kernel, block, place)
        ((self.tile, self.extent),) = kernel.tiles
        self.full = dict(kernel.full)
        self.inside = kernel.inside
        self.walk_along = kernel.lanes[-1][0]
        blocked: Mapping[Index, Expr] = {self.tile: self.extent, **dict(kernel.lanes[-1:]), **self.full}
        self.of_tile = {i: block(i.name) for i in blocked}
        self.terms = self.of_tile[self.walk_along]
        self.blocks = {b: blocked[i] for i, b in self.of_tile.items()}
        self.wide = self._strided(kernel.steps)

    def begun(self) -> list[py.Statement]:
        """What a program begins with."""
        lines, number = self._first_tile(self.tile, self.extent)
        first: Expression = Operation("mul", (number, self.of_tile[self.tile]))
        if self.inside is not None:
            lines.append(Assign(FIRST, first))
            first = FIRST
        starts = {self.tile: first, **dict.fromkeys(self.full)}
        extents = {self.tile: self.extent, **self.full}
        for i, start in starts.items():
            lines.append(Assign(Name(i.name), self._wide(i, beginning_at(start, self.of_tile[i]))))
            lines.append(Assign(self.mask_of(i), Operation("lt", (Name(i.name), self.place(extents[i])))))
        return lines

    def limits(self, extent: Expr) -> tuple[Expression, Expression]:
        """Blocks that give nothing to any of the tile are left out."""
        start, stop = super().limits(extent)
        if self.inside is None:
            return start, stop
        more = [py.integer(self.inside.more)] * (self.inside.more > 0)
        if self.inside.columns:
            last = joined([FIRST, self.of_tile[self.tile], *more])
            return start, call("tl.minimum", stop, last)
        for a in more:
            start = call("tl.maximum", Operation("sub", (FIRST, a)), py.integer(0))
        first = start if more else FIRST
        return Operation("mul", (Operation("floordiv", (first, self.terms)), self.terms)), stop


class StreamElements(TileElements):
    """The elements of such a kernel."""

    of_lanes = StreamLanes  # type: ignore[assignment]  # its kernel is another
    lanes: StreamLanes

    def loaded(self, node: Ref, native: bool = False) -> Value:
        """An element of memory, as a variable of the axes in which it lies there."""
        tile, own = self.axes, self.axes_of(node)
        self.axes = tuple(sorted(own, key=lambda i: node.subscripts.index(i) if i in node.subscripts else 0))
        found = super().loaded(node, native)
        tree = found.tree if self.axes == own else call("tl.trans", found.tree)
        self.axes = tile
        return Value(self.spread(tree, own), found.dtype)


class StreamText(TileText):
    """A kernel of reductions of planes."""

    kernel: Streams  # type: ignore[assignment]
    elements: StreamElements
    lanes: StreamLanes
    of_elements = StreamElements
    sized = "_streams"

    def _body(self) -> list[py.Statement]:
        kernel, first = self.kernel, self.elements.first
        first.lines += self.lanes.begun()
        self.axes = self.lanes.tile, self.lanes.walk_along  # of each plane
        for walk in kernel.walks:
            self._walk(walk)
        return [*merged(first.lines), *merged(self.last)]

    def _walk(self, walk: Walk, back: bool = False) -> None:
        """One way along what is reduced."""
        for step in walk.before:
            self._step(step)
        if not walk.steps:
            return
        elements, self.walk = self.elements, walk
        elements.begin_turn()
        elements.turn_of_walk, elements.walked_now = elements.scope, {i for i, _ in self.kernel.lanes}
        for step in walk.steps:
            self._step(step)
        lines = merged(elements.end_turn())
        self.walk = elements.turn_of_walk = None
        self.scope.lines.append(self.lanes.over(self.kernel.lanes, lines))
        for step in filter(self.kernel.reduces, walk.steps):
            self._keep(step, Name(step.target), step.equations[0])

    def _value(self, step: Step, name: str, equations: list[Equation]) -> None:
        (e,) = equations
        element, own = ref(step.target, *e.subscripts), Name(name)
        plane, reduces = step.target in self.kernel.planes, self.kernel.reduces(step)
        axes = self.axes if plane else tuple(i for i in self.lanes.of_tile if i in e.subscripts)
        if reduces and element not in self.elements.known:
            extents = [self.lanes.of_tile[i] for i in axes]
            self.elements.first.lines.append(Assign(own, self._neutral(e.reduce, extents)))
        self.elements.held[name] = axes
        if reduces:  # what follows it is computed of what it was before
            self.elements.known[element] = Value(own, Dtype.REAL)
        self.elements.axes = axes
        self._add_up(step, own, equations, reduces)
        self.elements.known[element] = Value(own, self.around.table[step.target].dtype)
        if not (plane or reduces):
            self.elements.axes = axes
            self._keep(step, own, e)

    def _keep(self, step: Step, own: Name, first: Equation) -> None:
        self.elements.axes = tuple(i for i in self.lanes.of_tile if i in first.subscripts)
        super()._keep(step, own, first)

    # what is computed

    def _assigned(self, own: Name, e: Equation, first: Equation, begun: bool) -> Assign:
        found, axes = product_of(e), self.elements.axes
        if found is None or not begun:
            return super()._assigned(own, e, first, begun)
        follows = self.walk.follows.get(e.target) if self.walk else None
        left, right = self._sides(found, axes)
        if follows is not None:
            self.scope.lines.append(py.Comment(follows.about))
        self.elements.axes = axes
        so_far = own if follows is None else self._so_far(own, follows)
        return Assign(own, call("tl.dot", left, right, so_far, **ADDED_UP, out_dtype=self.real))

    def _so_far(self, own: Name, follows: Followed) -> Expression:
        moved = self.elements.known[follows.moves].tree.name  # type: ignore[union-attr]  # it is a variable
        self.elements.held[self._last_of(moved).name] = self.elements.held[moved]
        return super()._so_far(own, follows)

    def _right(self, e: Equation, first: Equation) -> Expression:
        axes, found = self.elements.axes, product_of(e)
        if found is not None:
            left, right = self._sides(found, axes)
            self.elements.axes = axes
            return call("tl.dot", left, right, **ADDED_UP, out_dtype=self.real)
        self.elements.axes = self.axes if e.reduced else axes
        tree = KernelText._right(self, e, first)
        self.elements.axes = axes
        return tree

    def _reduced(self, e: Equation, tree: Expression, where: Sequence[Expr]) -> Expression:
        """A reduction over what is walked along, of one block."""
        masks = [self.elements.spread(self.lanes.mask_of(i), (i,)) for i in self.axes[1:]]
        masks += [self.tree.condition(conjunction(where))] if where else []
        tree = call("tl.where", py.joined("bitand", masks), tree, NEUTRAL[e.reduce])
        return call(f"tl.{e.reduce}", tree, axis=py.integer(1))

    def _sides(self, found: Product, axes: Axes) -> list[Expression]:
        """What is multiplied for a tile: rows and terms, terms and columns."""
        row, column = axes
        self.term = found.terms[-1][0]
        sides = found.left, found.right
        first, second = sides if found.tiles[0] is row else sides[::-1]
        first = first if found.scale is ONE else found.scale * first
        return self._operands((first, (row, self.term)), (second, (self.term, column)))

    def _masked(self, root: Expr, axes: Axes) -> Expression:
        """What is computed of elements, in full and 0 along the terms that are none."""
        elements = self.elements
        tree = self.tree(root)
        if not isinstance(root, Ref) or root in elements.known:
            mask = elements.spread(self.lanes.mask_of(self.term), (self.term,))
            tree = call("tl.where", mask, tree, py.Number("0.0"))
        if elements.axes_of(root) != axes:
            tree = call("tl.broadcast_to", tree, py.Several(tuple(self.lanes.of_tile[a] for a in axes)))
        return tree
