"""One kernel of products as a function of Python: tiles of elements, `tl.dot`, and what is computed of the sums."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ..expr import ONE, Expr, Index, Ref, conjunction, indices, ref
from ..ir import Dtype, Equation, Role
from ..plan.kernels import Product, Tiles, product_of
from ..plan.program import Step
from ..source import python as py
from ..source.python import NONE, Assign, Do, Expression, Name, Operation, Word, call, method
from .triton_elements import Elements, Scope, Surroundings
from .triton_expressions import Value
from .triton_kernel import KernelText, Under, merged
from .triton_lanes import FIRST_ROW, START, Lanes, beginning_at, pointer

Axes = tuple[Index, ...]
ADDED_UP = {"input_precision": py.text("ieee")}  # the numbers of tf32, which triton takes else, have 10 bits


class TileLanes(Lanes):
    """Which elements a program of products has: a block of each of two axes, and of a third, which it walks along."""

    def __init__(self, kernel: Tiles, block: Callable[[str], Word], place: Callable[[Expr], Expression]) -> None:
        super().__init__(kernel, block, place)
        self.tiles, self.terms = dict(kernel.tiles), block("terms")
        self.of_tile = {i: block(i.name) for i in self.tiles}
        self.blocks = {**{b: self.tiles[i] for i, b in self.of_tile.items()}, self.terms: kernel.longest}
        self.wide = self._strided(kernel.steps)

    def _strided(self, steps: Iterable[Step]) -> set[Index]:
        """The indices of matrices, each axis of which may have a stride; but the number of a row is an int64."""
        elements = [r for s in steps for e in s.equations for r in (ref(e.target, *e.subscripts), *e.reads)]
        wide = {i for r in elements if len(r.subscripts) > 1 for s in r.subscripts for i in indices(s)}
        return wide - self.rows.keys()

    def _first_tile(self, i: Index, extent: Expr) -> tuple[list[py.Statement], Expression]:
        """What a program begins with: its row, and the number of its tile along an index."""
        if not self.rows:
            return [], FIRST_ROW
        blocks = call("tl.cdiv", self.place(extent), self.of_tile[i])
        row = Assign(self.row, Operation("floordiv", (FIRST_ROW, blocks)))
        return [row, *self.row_indices()], Operation("mod", (FIRST_ROW, blocks))

    def mask_of(self, i: Index) -> Word:
        return Word(f"mask_{i.name}")

    def begun(self) -> list[py.Statement]:
        """What a program begins with."""
        lines, first = self._first_tile(*next(iter(self.tiles.items())))
        second = method(call("tl.program_id", py.integer(1)), "to", Word("tl.int64"))
        for (i, extent), number in zip(self.tiles.items(), (first, second), strict=True):
            block = self.of_tile[i]
            lines.append(Assign(Name(i.name), beginning_at(Operation("mul", (number, block)), block)))
            lines.append(Assign(self.mask_of(i), Operation("lt", (Name(i.name), self.place(extent)))))
        return lines

    def limits(self, extent: Expr) -> tuple[Expression, Expression]:
        """Where a walk in blocks begins and ends."""
        return py.integer(0), self.place(extent)

    def over(self, terms: Iterable[tuple[Index, Expr]], body: Sequence[py.Statement]) -> py.For:
        """The body for one block of terms after the other; of several axes the last one comes in blocks."""
        *outer, (i, extent) = terms
        lane = self._wide(i, beginning_at(START, self.terms))
        there = Operation("lt", (Name(i.name), self.place(extent)))
        lines = [Assign(Name(i.name), lane), Assign(self.mask_of(i), there)]
        start, stop = self.limits(extent)
        found = py.For(START, call("range", start, stop, self.terms), [*lines, *body])
        for k, n in reversed(outer):
            found = py.For(Name(k.name), call("range", py.integer(0), self.place(n)), [found])
        return found


class TileElements(Elements):
    """The elements of a kernel of products, in tiles.

    axes     those of the tile that is computed: a value that has fewer is the same along the others
    held     the axes that a variable has, in order
    """

    of_lanes = TileLanes
    lanes: TileLanes

    def __init__(self, kernel: Tiles, around: Surroundings) -> None:
        super().__init__(kernel, around)
        self.axes: Axes = ()
        self.held: dict[str, Axes] = {}
        self.tiles = {*self.lanes.of_tile}
        self.walked: set[Index] = set()
        self.walked_now: set[Index] = set()
        self.turn_of_walk: Scope | None = None
        self._variables: dict[tuple[Ref, Axes, bool], str] = {}

    @property
    def blocked(self) -> set[Index]:
        """The axes of which a program has a block now."""
        return self.tiles | self.walked

    def axes_of(self, *roots: Expr) -> Axes:
        """Those of the tile along which an expression has other elements."""
        found = {*indices(*roots)}
        return tuple(a for a in self.axes if a in found)

    def spread(self, tree: Expression, own: Axes) -> Expression:
        """A value as one of the tile."""
        if own == self.axes or not own:
            return tree
        if len(own) > 1:
            return call("tl.trans", tree)
        return py.Element(tree, tuple(py.Cut() if a is own[0] else NONE for a in self.axes))

    def _leaf(self, node: Index | Ref) -> Value:
        if isinstance(node, Index) and node in self.blocked:
            return Value(self.spread(Name(node.name), (node,)), Dtype.INT)
        if node in self.known:
            value = self.known[node]
            return Value(self.spread(value.tree, self.held[value.tree.name]), value.dtype)  # type: ignore[union-attr]
        if isinstance(node, Ref) and node.name in self.around.table:
            return self.loaded(node)
        return super()._leaf(node)

    def loaded(self, node: Ref, native: bool = False) -> Value:
        """An element of memory, as a variable; it is `native` in the type in which it lies there."""
        tensor = self.around.table[node.name]
        own, tile = self.axes_of(node), self.axes
        key = node, own, native
        there = self.scope.loaded.get(key)  # type: ignore[call-overload]
        if there is None:
            if key not in self._variables:
                self._variables[key] = self.names.new(node.name) if node.name in self.held else node.name
            name = self._variables[key]
            self.axes = own
            masks = [*(self.spread(self.lanes.mask_of(a), (a,)) for a in own), *self.bounds(node, tensor)]
            other = py.Number("0.0" if tensor.dtype == Dtype.REAL else "0")
            options = {"mask": py.joined("bitand", masks), "other": other} if masks else {}
            tree: Expression = call("tl.load", self.address(node, tensor), **options)
            self.axes = tile
            if tensor.dtype == Dtype.REAL and not native:
                tree = method(tree, "to", self.real)
            tree = method(tree, "to", Word("tl.int1")) if tensor.dtype == Dtype.BOOL else tree
            inside = self.turn_of_walk is not None and not self.walked_now.isdisjoint(indices(node))
            home = self.turn_of_walk if inside else self.first
            if tensor.optional or home is None:
                home = self.scope
            home.lines.append(Assign(Name(name), tree))
            there = Value(Name(name), tensor.dtype)
            for scope in {id(s): s for s in (home, self.scope)}.values():
                scope.loaded[key] = there  # type: ignore[index]
            self.held[name], self.read[node.name] = own, None
        return Value(self.spread(there.tree, own), there.dtype)

    def load(self, roots: Sequence[Expr], where: Sequence[Expr] = (), wish: str = "") -> None:
        """Nothing: what is not there is loaded where it is read, in the axes of the tile."""


class TileText(KernelText):
    """A kernel of products.

    sized  what tells how large its blocks are
    """

    kernel: Tiles
    elements: TileElements
    lanes: TileLanes
    of_elements = TileElements
    sized = "_tiles"

    def _body(self) -> list[py.Statement]:
        kernel, first = self.kernel, self.elements.first
        first.lines += self.lanes.begun()
        walks: dict[object, list[tuple[Step, Equation, Product, str]]] = {}
        self.sums: dict[Equation, str] = {}
        for step, e, found in kernel.products:
            own = step.target if len(step.equations) == 1 or e is step.equations[0] else ""
            own = own or self.elements.names.new(f"{step.target}_more")
            self.sums[e] = own
            walks.setdefault((found.terms, e.when), []).append((step, e, found, own))
            self._zeros(own, found.tiles)
        for some in walks.values():
            self._products(some)
        for step in kernel.steps:
            self._step(step)
        return [*merged(first.lines), *merged(self.last)]

    def _zeros(self, name: str, axes: Axes) -> None:
        extents = tuple(self.lanes.of_tile[i] for i in axes)
        full = call("tl.full", py.Several(extents), py.Number("0.0"), self.real)
        self.elements.first.lines.append(Assign(Name(name), full))
        self.elements.held[name] = axes

    def _products(self, some: Sequence[tuple[Step, Equation, Product, str]]) -> None:
        """A walk along the terms of sums."""
        (_, e, found, _), *_ = some
        elements = self.elements
        with Under(self, e.when):
            outer = elements.scope
            elements.scope = elements.turn_of_walk = Scope(outer)
            elements.walked, elements.walked_now = {found.terms[-1][0]}, {i for i, _ in found.terms}
            for _, _, each, own in some:
                (row, column), (term, _) = each.tiles, each.terms[-1]
                left, right = self._operands((each.left, (row, term)), (each.right, (term, column)))
                total = call("tl.dot", left, right, Name(own), **ADDED_UP, out_dtype=self.real)
                self.scope.lines.append(Assign(Name(own), total))
            lines = merged(elements.scope.lines)
            elements.scope, elements.turn_of_walk, elements.walked = outer, None, set()
            outer.lines.append(self.lanes.over(found.terms, lines))

    def _operands(self, *some: tuple[Expr, Axes]) -> list[Expression]:
        """Two operands in one type: half precision is multiplied as it is, and what is computed is rounded to it."""
        trees: list[Expression] = []
        kinds: list[Expression | None] = []
        for root, axes in some:
            self.elements.axes = axes
            if isinstance(root, Ref) and self._is_given(root) and self.elements.axes_of(root) == axes:
                trees.append(self.elements.loaded(root, native=True).tree)
                kinds.append(py.Attribute(pointer(root.name), "dtype.element_ty"))
            else:
                trees.append(self._masked(root, axes))
                kinds.append(None)
        kind = next((k for k in kinds if k is not None), None)
        computed = [k is None and kind is not None for k in kinds]
        return [method(t, "to", kind) if c and kind else t for t, c in zip(trees, computed, strict=True)]

    def _masked(self, root: Expr, axes: Axes) -> Expression:
        """What is computed of elements, in full and 0 along the terms that are none."""
        elements = self.elements
        tree = self.tree(root)
        if isinstance(root, Ref) and elements.axes_of(root) == axes:
            return tree  # it is loaded
        (term,) = elements.walked
        mask = elements.spread(self.lanes.mask_of(term), (term,))
        tree = call("tl.where", mask, tree, py.Number("0.0"))
        if elements.axes_of(root) != axes:
            blocks = [self.lanes.terms if a is term else self.lanes.of_tile[a] for a in axes]
            tree = call("tl.broadcast_to", tree, py.Several(tuple(blocks)))
        return tree

    def _is_given(self, node: Ref) -> bool:
        """Whether a tensor is of the type that callers give: what is computed in between is of another."""
        tensor = self.around.table[node.name]
        own = tensor.role in (Role.INPUT, Role.SEED, Role.OUTPUT, Role.GRADIENT)
        return tensor.dtype == Dtype.REAL and own

    # what is computed of the sums

    def _value(self, step: Step, name: str, equations: list[Equation]) -> None:
        first, *others = equations
        element, own = ref(step.target, *first.subscripts), Name(name)
        self.elements.axes = tuple(i for i, _ in self.kernel.tiles)
        summed = self.sums.get(first) == name and product_of(first).scale is ONE  # type: ignore[union-attr]
        if others or not summed:
            self._add_up(step, own, others if summed else equations, summed)
        self.elements.held[name] = self.elements.axes
        self.elements.known[element] = Value(own, self.around.table[step.target].dtype)
        self._keep(step, own, first)

    def _right(self, e: Equation, first: Equation) -> Expression:
        found = product_of(e)
        if found is None:
            return super()._right(e, first)
        summed = ref(f"#{self.sums[e]}")
        self.elements.known[summed] = Value(Name(self.sums[e]), Dtype.REAL)
        return self.tree(found.scale * summed)

    def _store(
        self,
        step: Step,
        name: str,
        value: Expression,
        subscripts: Sequence[Expr],
        shape: Sequence[Expr],
        where: Sequence[Expr] = (),
    ) -> None:
        self.written[name] = None
        masks = [self.elements.spread(self.lanes.mask_of(a), (a,)) for a in self.elements.axes]
        masks += [self.tree.condition(conjunction(where))] if where else []
        address, mask = self.lanes.address(name, subscripts, shape), py.joined("bitand", masks)
        store = Do(call("tl.store", address, value, mask=mask))
        self.scope.lines += self._needed(step, [*self._before(name, value, address, mask), store])
