"""One kernel of Pallas as a function of Python: blocks of rows and lanes, each an array with both axes.

What is computed in which order is that of the kernels of triton. There an element has an address; here each operand is
an array of rows and lanes, of one row or one lane where it is the same in all of them, which XLA lays out before.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ..errors import UnsupportedError
from ..expr import Apply, Const, Expr, Index, Ref, conjunction, indices, product, refs, values
from ..ir import Dtype, Equation
from ..ops import OPS
from ..plan.arrays.below import plain_number
from ..plan.arrays.tree import Array, Elementwise, Num, Real, Var
from ..plan.functions import written
from ..plan.program import Step
from ..records import replace
from ..source import python as py
from ..source.python import Assign, Def, Element, Expression, Given, Name, Operation, Word, call, integer, method
from ..source.tree import walk
from .jax_statements import JaxExpressions
from .python_expressions import Child
from .triton_elements import Elements
from .triton_expressions import Value
from .triton_kernel import KernelText, merged, parts_of
from .triton_lanes import MASK, Lanes

BLOCK, TURN = Word("block"), Word("turn")  # the rows and lanes of a block, and the number of a block on a walk
WIDTH = Element(BLOCK, (integer(1),))
COLUMN = call("pl.program_id", integer(1))
WHOLE = Word("...")
AXIS: Mapping[str, int] = {"rows": 0, "lanes": 1}
NEUTRAL: Mapping[str, Expression] = {
    "sum": integer(0),
    "max": Operation("neg", (Word("jnp.inf"),)),
    "min": Word("jnp.inf"),
}


def block_of(name: str) -> Word:
    """What the block of an operand or a result is called."""
    return Word(f"{name}_ref")


class KernelWords(JaxExpressions):
    """The words of JAX that kernels have."""

    target = "pallas"

    def word(self, op: str) -> str:
        if OPS[op].arity and OPS[op].word(self.target) is None:
            raise UnsupportedError(
                f"pallas has no function {op}, neither one that TPUs and GPUs have nor written in others. "
                f"Print jax: --to jax."
            )
        return super().word(op)


class _Spelled(KernelWords):
    """The same, where variables stand for trees."""

    def __init__(self, real: Expression, trees: Mapping[str, Expression]) -> None:
        super().__init__(real)
        self.trees = trees

    def _node(self, node: Array, tree: Child) -> Expression:
        return self.trees[node.name] if isinstance(node, Var) else super()._node(node, tree)


class KernelExpressions:
    """Expressions of numbers as those of JAX; the same calls as those of triton.

    leaf   what an index, a size, an option or an element is
    real   the type in which real numbers are computed
    """

    def __init__(self, name: str, leaf: object, real: Expression) -> None:
        self.name, self.leaf, self.real = name, leaf, real

    def __call__(self, root: Expr) -> Expression:
        """A value, of real numbers or conditions, as it is assigned."""
        return self._spelled(root, (Dtype.INT,))

    def number(self, root: Expr) -> Expression:
        """A real number; of a condition 1 where it holds."""
        return self._spelled(root, (Dtype.INT, Dtype.BOOL))

    def _spelled(self, root: Expr, made_real: Collection[Dtype]) -> Expression:
        array, dtype, trees = self._array(root)
        if plain_number(array):
            shape = py.Several((integer(1), integer(1)))
            return call("jnp.full", shape, _Spelled(self.real, trees)(array), self.real)
        return _Spelled(self.real, trees)(Real(array) if dtype in made_real else array)

    def condition(self, root: Expr) -> Expression:
        """A condition."""
        return self.place(root)

    def place(self, root: Expr) -> Expression:
        """A value as it is: an integer, or a condition."""
        array, _, trees = self._array(root)
        return _Spelled(self.real, trees)(array)

    def _array(self, root: Expr) -> tuple[Array, Dtype, dict[str, Expression]]:
        trees: dict[str, Expression] = {}
        done: dict[Expr, tuple[Array, Dtype]] = {}
        root = written(root, "pallas")
        for node in values(root):
            if isinstance(node, Apply):
                done[node] = self._apply(node, [done[a] for a in node.args])
            elif isinstance(node, Const):
                done[node] = Num(node), Dtype.INT if node.value.denominator == 1 and node.text is None else Dtype.REAL
            elif isinstance(node, (Index, Ref)):
                value: Value = self.leaf(node)  # type: ignore[operator]
                name = f"{len(trees)}"
                trees[name] = value.tree
                done[node] = Var(name, value.plain), value.dtype
        return *done[root], trees

    def _apply(self, node: Apply, given: Sequence[tuple[Array, Dtype]]) -> tuple[Array, Dtype]:
        row = OPS[node.op]
        args, kinds = [a for a, _ in given], [kind for _, kind in given]
        if row.result == "bool":
            return Elementwise(node.op, tuple(args)), Dtype.BOOL
        if node.op == "select":
            kind = max(kinds[1:], key=[Dtype.BOOL, Dtype.INT, Dtype.REAL].index)
            return Elementwise(node.op, tuple(args)), kind
        args = [Real(a) if kind == Dtype.BOOL else a for a, kind in given]
        if row.of_integers and all(kind == Dtype.INT for kind in kinds):
            return Elementwise(node.op, tuple(args)), Dtype.INT
        real = any(kind == Dtype.REAL and not plain_number(a) for a, kind in given)
        if not real:  # JAX takes an integer of 32 bits for a number of as many
            args = [a if plain_number(a) or isinstance(a, Real) else Real(a) for a in args]
        return Elementwise(node.op, tuple(args)), Dtype.REAL


class Blocks(Lanes):
    """Rows and lanes by number: the lanes of a row are one axis, elements without lanes two."""

    def begun(self) -> list[py.Statement]:
        kernel = self.kernel
        if kernel.flat:
            return [*self._numbered("_elements", self.rows, self.row, MASK), *self.row_indices()]
        lines: list[py.Statement] = []
        if self.rows:
            mask = Word("mask_rows") if kernel.parts else None
            lines += [*self._numbered("_rows", self.rows, self.row, mask), *self.row_indices()]
        return [*lines, *([] if kernel.walks or not self.lanes else self.block_at(COLUMN))]

    def _numbered(
        self, word: str, box: Mapping[Index, Expr], number: Expression, mask: Word | None, *at: Expression
    ) -> list[Assign]:
        found = [Assign(number, call(word, BLOCK, *at))]
        if mask is not None:
            found.append(Assign(mask, Operation("lt", (number, self.place(product(box.values()))))))
        self.numbered += found
        return found

    def block_at(self, start: Expression | None) -> list[Assign]:
        one = len(self.lanes) == 1
        number = Name(next(iter(self.lanes)).name) if one else Word("lane")
        assert start is not None
        found = self._numbered("_lanes", self.lanes, number, MASK, start)
        return found if one else [*found, *self._from_number(number, self.lanes)]

    def _wide(self, i: Index, value: Expression) -> Expression:
        return value

    def counts(self, back: bool) -> tuple[Expression, Expression]:
        end = Operation("mul", (Operation("add", (TURN, integer(1))), WIDTH))
        return Operation("mul", (TURN, WIDTH)), call("jnp.minimum", end, self.place(self.total))

    def needed(self, lines: Sequence[py.Statement]) -> list[py.Statement]:
        """The lines without numbers and masks that nothing speaks of."""
        while True:
            left = _without(lines, self._unread(lines))
            if len([*walk(left)]) == len([*walk(lines)]):
                return left
            lines = left

    def _unread(self, lines: Sequence[py.Statement]) -> list[Assign]:
        found = []
        for own in self.numbered:
            names, words = py.spoken(_without(lines, [own]))
            assert isinstance(own.target, (Name, Word))
            if own.target.name not in (names if isinstance(own.target, Name) else words):
                found.append(own)
        return found


class BlockElements(Elements):
    """Elements as blocks.

    operands  what is passed for each that is loaded
    """

    tree: KernelExpressions  # type: ignore[assignment]  # the same calls
    lanes: Blocks

    def _begin(self) -> None:
        self.real = self.word("real")
        self.tree = KernelExpressions(self.around.function, self._leaf, self.real)
        self.lanes = Blocks(self.kernel, lambda name: Word(f"block_{name}"), self.tree.place)
        self.operands: dict[Ref, str] = {}

    def _leaf(self, node: Index | Ref) -> Value:
        found = super()._leaf(node)
        return replace(found, plain=True) if isinstance(node, Ref) and node.name in self.around.sizes else found

    @property
    def _along(self) -> Mapping[Index, Expr]:
        return {**self.lanes.rows, **self.lanes.lanes}

    def load(self, roots: Sequence[Expr], where: Sequence[Expr] = (), wish: str = "") -> None:
        own = {s.target for s in self.kernel.steps}
        for node in self._elements([*where, *roots]):
            if node in self.known or node in self.scope.loaded:
                continue
            tensor = self.around.table[node.name]
            if inside := [r.name for s in node.subscripts for r in refs(s) if r.name in own]:
                raise UnsupportedError(
                    f"{self.around.function}: the subscripts of {node.name} are computed, as {inside[0]}; a kernel of "
                    f"pallas reads elements at places that are inputs. Print jax: --to jax."
                )
            if node not in self._called:
                self._called[node] = wish if wish and node is roots[-1] else self._new(node)
            name = self._called[node]
            self.operands[node] = name
            home = self.scope if node.name in self.around.optional else self._home(node)
            self.spans[name] = self.span(*node.subscripts)
            at: Expression = WHOLE
            if self.turn is not self.every and not self.lanes.lanes.keys().isdisjoint(self.spans[name]):
                at = call("_at", BLOCK, TURN)
            value: Expression = Element(block_of(name), (at,))
            if tensor.dtype == Dtype.REAL:
                value = method(value, "astype", self.real)
            home.lines.append(Assign(Name(name), value))
            scopes = [self.first, self.every, self.turn, self.scope]
            for scope in scopes[scopes.index(home) :]:
                scope.loaded[node] = Value(Name(name), tensor.dtype)
            self.read[node.name] = None

    def span(self, *roots: Expr) -> frozenset[Index]:
        return frozenset[Index]().union(*(super(BlockElements, self).span(r) for r in roots))

    def _elements(self, roots: Sequence[Expr]) -> dict[Ref, None]:
        """The elements of tensors that are read, without those in their subscripts."""
        return {n: None for n in values(*roots) if isinstance(n, Ref) and n.name in self.around.table}


class BlockText(KernelText):
    """A kernel of Pallas.

    stores  what it writes, by name: along which indices, and how the parts of programs are added up
    placed  result -> what is written of it, and where that stands in it
    """

    elements: BlockElements
    of_elements = BlockElements

    @property
    def way(self) -> str:
        """How a program takes the lanes of a row: all at once, walking along them, or one block of them apart."""
        return "walk" if self.kernel.walks else "apart" if self.kernel.apart else ""

    def _function(self) -> Def:
        kernel, first = self.kernel, self.elements.first
        self.stores: dict[str, tuple[frozenset[Index], str]] = {}
        self.placed: dict[str, list[tuple[str, Sequence[Expr]]]] = {}
        self.moving: list[Name] = []
        self.asked: dict[str, None] = {}
        self._refuse()
        first.lines += self.lanes.begun()
        for step in () if kernel.walks else kernel.steps:
            self._step(step)
        for each in kernel.walks:
            self._walk(each)
        body = self.lanes.needed(merged(first.lines))
        names, words = py.spoken(body)
        self.uses_real = self.real.name in words
        self.keywords: list[Name | Word] = [Name(n) for n in (*self.around.sizes, *self.around.options) if n in names]
        self.keywords += [Word(f"has_{n}") for n in self.asked]
        self.keywords += [self.real] if self.uses_real else []
        self.sizes = [n for n in self.around.sizes if n in names]
        blocks = [block_of(n) for n in (*self.elements.operands.values(), *self.stores)]
        given = (Given(BLOCK if BLOCK.name in words else Word("_")), *map(Given, blocks))
        given += tuple(map(Given, self.keywords))
        return Def(Word(self.around.name), given, body, self._about())

    def _refuse(self) -> None:
        """Several lanes are one axis here: nothing is reduced over some of them."""
        kernel, lanes = self.kernel, {i for i, _ in self.kernel.lanes}
        for step in kernel.steps:
            spans = {i for e in step.equations for i in indices(*e.subscripts)} & lanes
            some = kernel.reduces(step) and not kernel.reduces_all(step)
            if some or step.target in kernel.results and spans and spans != lanes:
                raise UnsupportedError(
                    f"{self.around.function}: {step.target} is reduced over one axis of a row and not over another, "
                    f"and pallas has rows of one axis. Print jax: --to jax."
                )

    def _is_copy(self, step: Step, e: Equation) -> bool:
        """A result has a block by its name, other than what it is a copy of."""
        return step.target not in self.kernel.results and super()._is_copy(step, e)

    # words

    def _neutral(self, reduce: str, extents: Sequence[Expression]) -> Expression:
        shape = py.Several((Element(BLOCK, (integer(0),)), integer(1)))
        return call("jnp.full", shape, NEUTRAL.get(reduce, NEUTRAL["sum"]), self.real)

    def _zero(self, e: Equation) -> Expression:
        spans = [not {*indices(*e.subscripts)}.isdisjoint(some) for some in (self.lanes.rows, self.lanes.lanes)]
        sizes = [Element(BLOCK, (integer(k),)) if there else integer(1) for k, there in enumerate(spans)]
        shape = BLOCK if self.kernel.flat and spans[0] else py.Several(tuple(sizes))
        return call("jnp.zeros", shape, self.real)

    def _larger(self, reduce: str, own: Expression, more: Expression) -> Expression:
        return call(f"jnp.{reduce}imum", own, more)

    def _where(self, condition: Expression, value: Expression, otherwise: Expression) -> Expression:
        return call("jnp.where", condition, value, integer(0))

    def _given(self, name: str, present: bool) -> Expression:
        self.asked[name] = None
        found = Word(f"has_{name}")
        return found if present else Operation("not", (found,))

    def _is_added_up(self, step: Step) -> bool:
        return False

    # walks

    def _begin(self, step: Step, own: Name, element: Ref) -> None:
        before = len(self.elements.every.lines)
        super()._begin(step, own, element)
        self.moving += [own] if len(self.elements.every.lines) > before else []

    def _turns(self, body: Sequence[py.Statement], back: bool) -> list[py.Statement]:
        """A loop whose turns hand on what is reduced; never back, as a row is in fast memory meanwhile."""
        written = {n.target for n in walk(body) if isinstance(n, Assign)}
        state = [n for n in self.moving if n in written]
        several = len(state) > 1
        carried: Expression = py.bare(state) if state else py.NONE
        given: Name | Word = Word("carry") if several else state[0] if state else Word("_")
        lines = [*([Assign(carried, given)] if several else []), *self.lanes.block_at(TURN), *body]
        lines = self.lanes.needed(lines)
        called = Word("walk")
        turns = call("pl.cdiv", self.lanes.place(self.lanes.total), WIDTH)
        start = py.Several(tuple(state)) if several else carried
        looped = call("jax.lax.fori_loop", integer(0), turns, called, start)
        function = Def(called, (Given(TURN), Given(given)), [*lines, py.Return(carried)])
        return [py.Space(), function, py.Space(), Assign(carried, looped) if state else py.Do(looped)]

    # reductions

    def _reduced(self, e: Equation, tree: Expression, where: Sequence[Expr]) -> Expression:
        along = self.lanes.rows if self.kernel.flat else self.lanes.lanes
        conditions = [self.tree.condition(conjunction(where))] if where else []
        reduced = not along.keys().isdisjoint(i for i, _ in e.reduced)
        masks = [*([MASK] if reduced else []), *conditions]
        if masks:
            tree = call("jnp.where", py.joined("bitand", masks), tree, NEUTRAL[e.reduce])
        if not reduced:
            return tree
        axis = {} if self.kernel.flat else {"axis": integer(AXIS["lanes"])}
        return call(f"jnp.{e.reduce}", tree, **axis, keepdims=Word("True"))

    # stores

    def _put(self, name: str, value: Expression, along: frozenset[Index], own: str = "", how: str = "") -> None:
        """Write a block; what is the same in all of its rows, or lanes, is spread over them."""
        self.stores[name] = along, how
        there = self.elements.spans.get(own, frozenset())
        turn = self.walk is not None and not along.isdisjoint(self.lanes.lanes)
        block = block_of(name)
        for axis in (self.lanes.rows, self.lanes.lanes):
            if not (how or along.isdisjoint(axis)) and there.isdisjoint(axis):
                value = call("jnp.broadcast_to", value, BLOCK if turn else py.Attribute(block, "shape"))
                break
        at: Expression = call("_at", BLOCK, TURN) if turn else WHOLE
        cast = method(value, "astype", py.Attribute(block, "dtype"))
        self.scope.lines.append(Assign(Element(block, (at,)), cast))

    def _store(
        self,
        step: Step,
        name: str,
        value: Expression,
        subscripts: Sequence[Expr],
        shape: Sequence[Expr],
        where: Sequence[Expr] = (),
    ) -> None:
        assert isinstance(value, Name)
        self.placed.setdefault(name, []).append((value.name, subscripts))
        self._put(value.name, value, frozenset(indices(*subscripts)), value.name)

    def _part(self, step: Step, own: Name, e: Equation) -> None:
        rows = {i for i, _ in e.reduced} & {*self.lanes.rows}
        shown = frozenset(indices(*e.subscripts))
        self.placed.setdefault(step.target, []).append((own.name, e.subscripts))
        if self.kernel.flat:
            self._put(own.name, own, shown, own.name, e.reduce)
        elif rows != {*self.lanes.rows}:  # one for each row, added up where all are there
            self._put(own.name, own, shown | {*self.lanes.rows}, own.name)
        else:
            masked = call("jnp.where", Word("mask_rows"), own, NEUTRAL[e.reduce])
            part = call(f"jnp.{e.reduce}", masked, axis=integer(AXIS["rows"]), keepdims=Word("True"))
            self._put(own.name, part, shown, own.name, e.reduce)

    def _scatter(self, step: Step, e: Equation) -> None:
        self.elements.load([e.body], e.conditions)
        tree = self.tree(e.body)
        if e.conditions:
            tree = self._where(self.tree.condition(conjunction(e.conditions)), tree, integer(0))
        name = parts_of(step.target)
        self.placed[step.target] = [(name, e.subscripts)]
        self.elements.spans[name] = self._span_of(e, e)
        self._put(name, tree, frozenset(i for i, _ in e.box), name)


def _without(lines: Sequence[py.Statement], some: Sequence[Assign]) -> list[py.Statement]:
    found: list[py.Statement] = []
    for n in lines:
        if isinstance(n, Def):
            found.append(replace(n, body=_without(n.body, some)))
        elif isinstance(n, py.If):
            found.append(py.If(n.condition, _without(n.body, some), _without(n.otherwise, some)))
        elif n not in some:
            found.append(n)
    return found
