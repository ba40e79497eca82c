"""Array expressions and statements in the vocabulary of JAX: nothing is written to, `x.at[i].add(y)` is a new array."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import ClassVar

from ..expr import Apply, Expr, const, postorder, refs
from ..expr.sizes import equal, tidy
from ..ops import OPS
from ..plan.arrays.below import below, plain_number, sizes_in, sizes_of
from ..plan.arrays.commands import AddAt, Assign, For, Guard, Update, flat, inside, items_of, tops
from ..plan.arrays.tree import ALL, Array, Copy, Einsum, Elementwise, Item, MatMul, Reduce, SizeOf, Take, Var, Wide
from ..source import python as py
from ..source.python import Attribute, Def, Element, Expression, Given, If, Name, Operation, Space, Word, bare, integer
from .jax_scans import Row, Rows, Shapes, row_place, rows_of, shape_of
from .python_expressions import DTYPE, MATRICES, OPERATORS, PRODUCTS, TRUE, Child, Expressions, Matrix, spelled
from .python_sizes import shape as size_of_axes
from .python_sizes import size
from .python_statements import Asked, Statements, is_negative, named, tuple_of

MODULES = frozenset(["jnp", "jax", "linalg", "special"])


class JaxExpressions(Expressions):
    """The words of `jax.numpy`, of `jax.nn`, and of `jax.scipy`."""

    target = "jax"
    module = "jnp"
    slow_from = PRODUCTS + 1  # XLA makes products of powers
    refuses_nothing = False
    library: ClassVar[Mapping[str, int]] = {"convolution": 3}
    matrices: ClassVar[Mapping[str, Matrix]] = {
        **MATRICES,
        "expm": Matrix("_expm"),
        "argsort": Matrix("np.argsort", axis=integer(-1), stable=TRUE),
    }

    def __init__(self, dtype: Expression, options: Collection[str] = (), needs: Collection[Expr] = ()) -> None:
        super().__init__(dtype, options, needs)
        self.rows: Rows | None = None  # those of the turn that is being printed
        self.turns: set[str] = set()  # the numbers of turns that JAX traces

    def row(self, name: str, item: Item) -> Word | None:
        """What the row of an array at an entry of an index is called in this turn; None if it has no name."""
        place = None if self.rows is None else row_place(item, self.rows.loop)
        return None if self.rows is None or place is None else self.rows.words.get((name, place))

    def _taken_along(self, base: Expression, items: Sequence[Item], tree: Child) -> None:
        """`jnp.take_along_axis` has NaN for what is out of range, where an index is clamped."""

    def _node(self, node: Array, tree: Child) -> Expression:
        match node:
            case Take(Var(name), (first, *rest)) if (row := self.row(name, first)) is not None:
                whole = all(i in (ALL, "...") for i in rest)
                return row if whole else Element(row, tuple(self._item(i, tree) for i in rest))
            case Einsum(subscripts, operands):
                return self.own("einsum", py.text(subscripts), *map(tree, operands))
            case Wide(MatMul() | Einsum() as product):  # added up in float32, and not rounded again
                found = tree(product)
                wide = py.call("_wide", DTYPE)
                if isinstance(found, Operation):
                    return self.own("matmul", *found.operands, preferred_element_type=wide)
                assert isinstance(found, py.Call)
                return py.call(found.function, *found.arguments, preferred_element_type=wide)
            case Copy(Var(name)):
                return self.own("asarray", Name(name))  # who calls backward may have an array of NumPy
            case Copy(base):
                return tree(base)
        return super()._node(node, tree)

    def _reduced(self, node: Reduce, base: Expression) -> Expression:
        """What a logsumexp is shifted by does not move it. JAX would divide the slope of a maximum by the number of
        elements that are equal to it: 0 where XLA computes these again, and rounds them otherwise."""
        found = super()._reduced(node, base)
        return py.call("jax.lax.stop_gradient", found) if node.kind == "supremum" else found

    def _elementwise(self, op: str, args: Sequence[Array], tree: Child) -> Expression:
        match op, args:
            case "not", (a,) if plain_number(a) and self.turns.intersection(_names(a)):
                return self.own("logical_not", tree(a))
            case "log1p", (Elementwise(inner, _),) if OPS[inner].nonnegative and not plain_number(args[0]):
                return self.own(op, tree(args[0]))  # as exact as the function of the file, there
        return super()._elementwise(op, args, tree)

    def traced(self, number: Expression) -> bool:
        """Under jax.jit what JAX computes is no number, even of numbers."""
        words = py.words_in(number)
        return not words.isdisjoint(MODULES) or any(w.startswith("_") for w in words)

    def owned(self, value: Expression) -> Expression:
        return value

    def _called(self, word: str, arguments: Sequence[Expression]) -> Expression:
        # given a number, those of jnp widen nothing; others do, or refuse it
        own = word.startswith("jnp.")
        return spelled(word, arguments if own else [self.own("asarray", a, self.dtype) for a in arguments])


class JaxStatements(Statements):
    """A loop over rows is a `jax.lax.scan`, another one a `jax.lax.fori_loop` where the number of a turn may be traced,
    else Python's own.

    shapes  of the arrays that are given or computed
    """

    tree: JaxExpressions

    def __init__(self, tree: JaxExpressions, asked: Asked, shapes: Shapes) -> None:
        super().__init__(tree, asked)
        self.shapes = shapes

    def update(self, s: Update) -> py.Block:
        return self._at(s, "set" if s.first else "add")

    def add_at(self, s: AddAt) -> py.Block:
        return self._at(s, "add")

    def _at(self, s: Update | AddAt, word: str) -> py.Block:
        row, items, value = self.tree.row(s.name, s.items[0]), s.items, self.tree(s.value)
        if row is None:
            target: Name | Word = Name(s.name)
        else:
            target, items = row, items[1:]
        if row is None or any(i is not ALL for i in items):
            place = Element(Attribute(target, "at"), self.tree.items(items))
            return [py.Assign(target, py.method(place, word, value))]
        if word == "set":
            shape, own = self.shapes[s.name][1:], shape_of(s.value, self.shapes)
            if plain_number(s.value) or own is None or len(own) != len(shape) or not all(map(equal, own, shape)):
                value = self.tree.own("broadcast_to", value, size_of_axes(shape))
        elif is_negative(s.value):
            value = Operation("sub", (row, self.tree(s.value.args[0])))
        else:
            value = Operation("add", (row, value))
        return [py.Assign(row, value)]

    def loop(self, s: For) -> py.Block:
        if not _traceable(s):
            return super().loop(s)
        self.tree.turns.add(s.name)
        found = self._traced(s)
        self.tree.turns.remove(s.name)
        return found

    def _traced(self, s: For) -> py.Block:
        """The loop as a function that JAX traces once."""
        if (rows := rows_of(s)) is not None and {*rows.written} <= self.shapes.keys():
            return self._scan(s, rows)
        own = {x.name for x in flat(s) if isinstance(x, Assign)}
        written = dict.fromkeys(x.name for x in flat(s) if isinstance(x, (Update, AddAt)))
        carried = named([n for n in written if n not in own])
        step, turn = Word(f"step_{s.name}"), Name(s.name)
        state = carried[0] if len(carried) == 1 else tuple_of(carried)
        one = isinstance(state, Name)
        body: list[py.Statement] = [] if one else [py.Assign(bare(carried), Word("state"))]
        if s.reverse:
            body.append(py.Assign(turn, Operation("sub", (size(s.extent - 1), turn))))
        given = (Given(turn), Given(state if isinstance(state, Name) else Word("state")))
        function = Def(step, given, [*body, *self(s.body), py.Return(bare(carried))])
        turns = py.call("jax.lax.fori_loop", integer(0), size(s.extent), step, state)
        # JAX traces the body even for no turn, and reads what is not there
        asked = If(Operation("gt", (size(s.extent), integer(0))), [py.Assign(bare(carried), turns)])
        return [Space(), function, Space(), asked]

    def _scan(self, s: For, rows: Rows) -> py.Block:
        """The rows of the last turns are handed on, those of this turn collected."""
        words = rows.words
        before = [row for some in rows.before.values() for row in some]
        after = [row for name, some in rows.before.items() if some for row in ((name, rows.written[name]), *some[:-1])]
        given = [*((name, rows.written[name]) for name in rows.begun), *rows.given]
        self.tree.rows = rows
        inside = self(s.body)
        self.tree.rows = None
        turns: dict[Name | Word, Expression] = {words[row]: self._stretch(s, row) for row in given}
        if s.name in py.names_in(inside):
            turns[Name(s.name)] = self.tree.own("arange", size(s.extent))
        state, turn = _parameter([words[row] for row in before], "state"), _parameter([*turns], "turn")
        body: list[py.Statement] = []
        for parameter, parts in ((state, [words[row] for row in before]), (turn, [*turns])):
            body += [py.Assign(bare(parts), parameter)] if len(parts) > 1 else []
        written = [*rows.written.items()]
        results = [_one_or_several([words[row] for row in some]) for some in (after, written)]
        step = Word(f"step_{s.name}")
        function = Def(step, (Given(state), Given(turn)), [*body, *inside, py.Return(bare(results))])
        start = [Element(Name(name), (size(self._first(s, place)),)) for name, place in before]
        options = {**({} if turns else {"length": size(s.extent)}), **({"reverse": TRUE} if s.reverse else {})}
        scanned = py.call("jax.lax.scan", step, _one_or_several(start), _one_or_several([*turns.values()]), **options)
        whole = {name: place == 0 and equal(self.shapes[name][0], s.extent) for name, place in written}
        found = [Name(name) if whole[name] else Word(f"{name}_rows") for name, _ in written]
        done: list[py.Statement] = [py.Assign(bare([Word("_"), _one_or_several(found)]), scanned)]
        for (name, place), own in zip(written, found, strict=True):
            if not whole[name]:
                stretch = Element(Attribute(Name(name), "at"), (self._cut(s, (name, place)),))
                done.append(py.Assign(Name(name), py.method(stretch, "set", own)))
        # JAX traces the body even for no turn, and reads what is not there
        return [Space(), function, Space(), If(Operation("gt", (size(s.extent), integer(0))), done)]

    def _first(self, s: For, place: int) -> Expr:
        """Where a row is in the first turn."""
        return tidy(s.extent - 1 + place) if s.reverse else const(place)

    def _stretch(self, s: For, row: Row) -> Expression:
        """The rows of all turns."""
        name, place = row
        if place == 0 and name in self.shapes and equal(self.shapes[name][0], s.extent):
            return Name(name)
        return Element(Name(name), (self._cut(s, row),))

    def _cut(self, s: For, row: Row) -> py.Cut:
        name, place = row
        end = tidy(s.extent + place)
        last = name in self.shapes and equal(end, self.shapes[name][0])
        return py.Cut(integer(place) if place else None, None if last else size(end))


def _parameter(parts: Sequence[Name | Word], several: str) -> Name | Word:
    return parts[0] if len(parts) == 1 else Word(several if parts else "_")


def _one_or_several(parts: Sequence[Expression]) -> Expression:
    return parts[0] if len(parts) == 1 else tuple_of(parts) if parts else py.NONE


def _traceable(s: For) -> bool:
    """Whether a loop asks nothing of the number of its turn that must be known when JAX traces it: no `if`, no extent,
    no slice, no function of Python."""
    parts = inside(s)[1:]
    if any(isinstance(x, Guard) and x.condition is not None and _mentions(x.condition, s) for x in parts):
        return False
    if any(isinstance(x, For) and _mentions(x.extent, s) for x in parts):
        return False
    for array in (a for top in tops(s) for a in below(top)):
        numbers = [e for e in sizes_of(array) if _mentions(e, s)]
        if isinstance(array, Take):
            continue
        if numbers and not (isinstance(array, SizeOf) and all(map(_plain, numbers))):
            return False
        if isinstance(array, Elementwise) and array.op not in OPERATORS and plain_number(array):
            if any(_mentions(e, s) for a in below(array) for e in sizes_of(a)):
                return False
    places = [i for items in items_of(s) for i in items]
    return all(isinstance(i, Expr) and _plain(i) for i in places if any(_mentions(e, s) for e in sizes_in([i])))


def _names(array: Array) -> set[str]:
    """The sizes, options and turns that an array is made of."""
    return {r.name for a in below(array) for r in refs(*sizes_of(a))}


def _mentions(e: Expr, s: For) -> bool:
    return any(r.name == s.name for r in refs(e))


def _plain(item: Expr) -> bool:
    """Whether it is what may be done with the number of a turn."""
    return all(OPS[n.op].kind in ("arithmetic", "integer") for n in postorder(item) if isinstance(n, Apply))
