"""Sparse matrices in C: compressed rows (CSR), in memory that who calls has.

    <name>_jacobian_nnz      how much room the entries need
    <name>_jacobian_pattern  where each row begins (`indptr`), and the columns of its entries, in order (`indices`)
    <name>_jacobian_values   the entries (`data`)

The loops are those of arrays of entries, as `symgrad.differentiate.sparse` makes them; but what is stored in such an
array goes to its place in the matrix, which is found among the columns of its row. The loops of the pattern store no
values. They run twice: entries are counted first, and then written behind each other; the columns of each row are
sorted at the end, and those that stand there twice are one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial, reduce

from ..domain import Domain, Facts
from ..errors import UnsupportedError
from ..expr import (
    ONE,
    ZERO,
    Apply,
    Const,
    Expr,
    Index,
    Ref,
    apply,
    conjunction,
    conjuncts,
    index,
    product,
    ref,
    substitution,
    total,
    transformer,
)
from ..expr.sizes import equal
from ..ir import Box, Equation, Function, Role, Tensor, When
from ..plan import Beside, Program, Sparse, Step
from ..plan.loops import adding
from ..plan.program import Procedure
from ..records import dataclass, replace
from ..source import tree
from ..source.layout import listed
from ..source.tree import BOOL, INTEGER, REAL, SIZE, Expression, Name, Number, Operation, Parameter, Type
from .c_expressions import Expressions, language
from .c_names import Names
from .c_signature import Printed

INDPTR, INDICES, DATA = ":indptr", ":indices", ":data"  # as tensors are called that nobody declares
PLACE, ADD, BEGIN, SORT = "entry_place", "add_entry", "begin_rows", "sort_rows"
TEXTS = {
    PLACE: """\
/* where the entry of a row with this column stands: columns are in order */
static inline size_t $entry_place(const $integer *restrict indptr,
                                 const $integer *restrict indices, size_t row,
                                 size_t column)
{
    size_t place = (size_t)indptr[row];
    for (size_t left = (size_t)indptr[row + 1] - place; left > 1; left -= left / 2) {
        place += (size_t)indices[place + left / 2] <= column ? left / 2 : 0;
    }
    return place;
}""",
    ADD: """\
/* turn 0: one entry more in this row; turn 1: its column, behind those before it */
static inline void $add_entry(size_t turn, $integer *restrict indptr,
                             $integer *restrict indices, size_t row, size_t column)
{
    if (turn == 0) {
        indptr[row + 1] += 1;
    } else {
        indices[indptr[row]] = ($integer)column;
        indptr[row] += 1;
    }
}""",
    BEGIN: """\
/* where each row begins, of the number of entries in the row before it */
static void $begin_rows(size_t rows, $integer *restrict indptr)
{
    for (size_t row = 0; row < rows; ++row) {
        indptr[row + 1] += indptr[row];
    }
}""",
    SORT: """\
/* the columns of each row in order, each once; indptr: where it ends, and then begins */
static void $sort_rows(size_t rows, $integer *restrict indptr, $integer *restrict indices)
{
    size_t kept = 0;
    size_t first = 0;
    for (size_t row = 0; row < rows; ++row) {
        const size_t end = (size_t)indptr[row];
        for (size_t gap = (end - first) / 2; gap > 0; gap /= 2) {
            for (size_t k = first + gap; k < end; ++k) {
                const $integer column = indices[k];
                size_t place = k;
                for (; place >= first + gap && indices[place - gap] > column; place -= gap) {
                    indices[place] = indices[place - gap];
                }
                indices[place] = column;
            }
        }
        const size_t begin = kept;
        for (size_t k = first; k < end; ++k) {
            if (kept == begin || indices[kept - 1] != indices[k]) {
                indices[kept] = indices[k];
                kept += 1;
            }
        }
        indptr[row] = ($integer)begin;
        first = end;
    }
    indptr[rows] = ($integer)kept;
}""",
}


@dataclass(frozen=True)
class Place:
    """Where the elements of an array stand in the matrix: by the subscripts `at`, and only where the conditions hold.

    rank   how many entries stand before one in its row: a sum of numbers, each where its condition holds; None where
           nothing tells
    added  whether elements of other arrays stand there, too, and are added
    """

    at: tuple[Index, ...]
    row: Expr
    column: Expr
    box: Box
    where: Expr | None
    when: When
    rank: tuple[tuple[Expr | None, Expr], ...] | None = None
    added: bool = False

    def of(self, subscripts: Sequence[Expr]) -> tuple[Expr, Expr]:
        """The row and the column of an element."""
        put = substitution(dict(zip(self.at, subscripts, strict=True)))
        return put(self.row), put(self.column)

    def condition(self, subscripts: Sequence[Expr]) -> Expr | None:
        """Where there is such an element."""
        put = substitution(dict(zip(self.at, subscripts, strict=True)))
        return None if self.where is None else put(self.where)


def places(matrix: Sparse, table: Mapping[str, Tensor]) -> dict[str, Place]:
    """Of each array of entries that has elements, its places."""
    assert matrix.pattern is not None, "they are numbers"
    function = matrix.pattern.derivative.primal
    names = function.outputs
    found = {
        part: _place(function, rows, columns, matrix.shape[0])
        for part, rows, columns in zip(matrix.parts, names[::2], names[1::2], strict=True)
        if ZERO not in function.table[rows].shape
    }
    for name, parts in matrix.ordered.items():
        before: list[list[Place]] = []
        for some in _groups(found, parts, len(table[name].shape)):
            group = [found[part] for part in some]
            for part, place in zip(some, group, strict=True):
                rank = _rank(place, before, len(table[name].shape), function.facts)
                found[part] = replace(place, rank=rank, added=len(some) > 1)
            before.append(group)
    return found


def _groups(known: Mapping[str, Place], parts: Iterable[str], axes: int) -> list[list[str]]:
    """The arrays of entries in order, those together that have one entry in a row, at the same place."""
    found: list[list[str]] = []
    for part in parts:
        place, last = known[part], known[found[-1][0]] if found else None
        if last is not None and len(last.box) == axes == len(place.box):
            put = substitution(dict[Expr, Expr](zip(last.at, place.at, strict=True)))
            if equal(put(last.column), place.column):
                found[-1].append(part)
                continue
        found.append([part])
    return found


def _rank(
    place: Place, before: Sequence[Sequence[Place]], axes: int, facts: Facts
) -> tuple[tuple[Expr | None, Expr], ...]:
    """How many entries stand before that of a point, which has the axes of its row first: those of other arrays, and
    those of the same one at lesser further indices."""
    domain = Domain.of(place.box, place.where, facts)
    found: list[tuple[Expr | None, Expr]] = []
    for group in before:
        ways: list[Expr | None] = []
        for other in group:
            put = substitution(dict[Expr, Expr](zip(other.at[:axes], place.at[:axes], strict=True)))
            asked = [put(c) for c in (conjuncts(other.where) if other.where is not None else ())]
            asked = [c for c in asked if not domain.holds(c)]
            if not any(map(domain.fails, asked)):
                ways.append(conjunction(asked) if asked else None)
        if ways:
            found.append((_either(ways), product(put(extent) for _, extent in other.box[axes:])))
    further = place.box[axes:]
    for k, (i, _) in enumerate(further):
        found.append((None, i * product(extent for _, extent in further[k + 1 :])))
    always = [number for condition, number in found if condition is None and isinstance(number, Const)]
    rest = [term for term in found if term[0] is not None or term[1] not in always]
    return (*rest, (None, total(always))) if always else tuple(rest)


def _place(function: Function, rows: str, columns: str, nowhere: Expr) -> Place:
    (column,) = function.writers[columns]
    (row,) = (e for e in function.writers[rows] if e.when == column.when)
    names: dict[Expr, Expr] = dict(zip(column.subscripts, row.subscripts, strict=True))
    found, other = (_in_inputs(function, e) for e in (row.body, substitution(names)(column.body)))
    where = None
    if isinstance(found, Apply) and found.op == "select":
        where, *either = found.args
        side = either[0].key is nowhere.key
        if isinstance(other, Apply) and other.op == "select" and other.args[0].key is where.key:
            other = other.args[1 + side]
        found, where = either[side], apply("not", where) if side else where
    return Place(tuple(s for s in row.subscripts if isinstance(s, Index)), found, other, row.box, where, row.when)


def _in_inputs(function: Function, body: Expr) -> Expr:
    """An expression of integers with what has been computed before it in the place of names."""

    def put(node: Expr) -> Expr:
        if not (isinstance(node, Ref) and node.name in function.writers):
            return node
        (e, *others) = function.writers[node.name]
        if others or not e.plain or e.reduce != "none" or e.where is not None or e.when:
            raise UnsupportedError(
                f"{function.name}: where entries of the matrix stand depends on {node.name}, which is computed. C "
                f"finds them by subscripts, sizes and integers that are given: pass {node.name} as an input, or print "
                f"NumPy."
            )
        own = dict(zip(e.subscripts, node.subscripts, strict=True))
        return _in_inputs(function, substitution(own)(e.body))

    return transformer(put)(body)


def _on(place: Place, axes: Sequence[Expr]) -> Expr | None:
    """Where a row has an entry of an array."""
    return place.condition([*axes, *place.at[len(axes) :]])


def _either(ways: Iterable[Expr | None]) -> Expr | None:
    """The condition that one of these holds, None being one that always does."""
    known = [*dict.fromkeys(ways)]
    return None if None in known else reduce(partial(apply, "or"), known)


class Matrix:
    """What stands in the place of arrays of entries, in one function.

    places  of each array
    rows    the shapes of the tensors whose elements have a row each
    ordered the arrays of some of these, row by row and in the order of columns
    columns the tensors whose elements have a column each
    room    shapes of arrays that have as many elements as there may be entries
    exact   whether there are so many
    values  whether the function computes them; else where they stand
    """

    def __init__(self, matrix: Sparse, table: Mapping[str, Tensor], values: bool) -> None:
        self.places = places(matrix, table)
        self.rows = {name: table[name].shape for name in matrix.rows}
        self.columns, self.ordered, self.parts = matrix.columns, matrix.ordered, matrix.parts
        known = {part: shape for some in matrix.ordered.values() for part, shape in some.items() if shape is not None}
        self.exact = known.keys() >= self.places.keys()
        self.room = [known.get(part, tuple(n for _, n in place.box)) for part, place in self.places.items()]
        self.values = values
        self._turn = ""

    @property
    def names(self) -> dict[str, str]:
        """What the parameters are called."""
        return {name: name[1:] for name in (INDPTR, INDICES, *[DATA] * self.values)}

    def parameters(self, called: Names) -> Iterator[Parameter]:
        """The memory of the matrix."""
        for name in self.names:
            read = self.values and name != DATA
            kind = Type(REAL if name == DATA else INTEGER, pointer=True, constant=read, alone=True)
            yield Parameter(called.of(ref(name)), "matrix", kind, name)

    def about(self, function: str, called: Names) -> list[str]:
        """What stands above the prototype of a function of the matrix."""
        kind, _, end = function.rpartition("_")
        if self.values:
            return [f"data gets the entries of the matrix, whose indptr and indices {kind}_pattern tells."]
        if end == "nnz":
            more = "" if self.exact else " at most: what stands at one place is one"
            return [f"How many entries {kind}_pattern finds{more}."]
        rows, columns = ([called.of(ref(n)) for n in some] for some in (self.rows, self.columns))
        return about_pattern(rows, columns, f"{kind}_nnz()")

    def program(self, program: Program) -> Program:
        """The program, without packs, that adds to the entries; or that says where they are."""
        parts = tuple(self.places)
        if self.values:
            forward = program.forward
            entries = {*self.parts}  # which are always computed, also where other results are not asked for
            steps = [s for s in forward.steps if parts or entries.isdisjoint(s.targets)]
            steps = [s if entries.isdisjoint(s.serves) else replace(s, serves=()) for s in steps]
            names = tuple(n for n in forward.returns if n not in self.parts)
            how = {part: "add" if p.rank is None or p.added else "once" for part, p in self.places.items()}
            own = replace(forward, steps=tuple(steps))
            tensors, procedure = adding(program, own, how, self._asked, whole=True)
            return replace(program, tensors=tensors, forward=replace(procedure, returns=(*names, *parts)))
        tensors = tuple(t for t in program.tensors if t.role is Role.INPUT)
        found = []
        for name, place in self.places.items():
            tensors += (Tensor(name, tuple(extent for _, extent in place.box), role=Role.OUTPUT),)
            e = Equation(name, place.at, "none", ONE, place.box, place.where, place.when)
            found.append(Step(name, (e,), how="add"))
        procedure = Procedure(program.forward.reads, tuple(found), parts)
        return replace(program, tensors=tensors, forward=procedure)

    def _asked(self, e: Equation) -> Equation:
        """An equation of entries, only where there are such."""
        more = self.places[e.target].condition(e.subscripts)
        known = {c.key for c in e.conditions}
        new = [c for c in (conjuncts(more) if more is not None else ()) if c.key not in known]
        return replace(e, where=conjunction([*e.conditions, *new])) if new else e

    def entry(self, element: Ref, value: Expression, how: str, build: Expressions, called: Names) -> tree.Statement:
        """What is done with an element of an array of entries."""
        put = transformer(language)
        at = [build.as_kind(put(e), SIZE) for e in self.places[element.name].of(element.subscripts)]
        memory = (Name(called.of(ref(INDPTR))), Name(called.of(ref(INDICES))))
        if self.values:
            place = self._found(element, at[0], build, memory[0]) or tree.Call(called.local(PLACE), (*memory, *at))
            return tree.Store(tree.Element(Name(called.of(ref(DATA))), (place,)), value, how)
        return tree.Call(called.local(ADD), (Name(self.turn(called)), *memory, *at))

    def _found(self, element: Ref, row: Expression, build: Expressions, indptr: Name) -> Expression | None:
        """Where an entry stands that has so many before it in its row."""
        place = self.places[element.name]
        if place.rank is None:
            return None
        found: Expression = tree.Element(indptr, (row,))
        if not all(isinstance(number, Const) for _, number in place.rank):  # beside sizes
            found = tree.Cast(Type(SIZE), found)
        put = substitution(dict[Expr, Expr](zip(place.at, element.subscripts, strict=True)))
        for condition, number in place.rank:
            term = build.as_kind(put(number), SIZE)
            if condition is not None:
                asked = build.as_kind(transformer(language)(put(condition)), BOOL)
                term = asked if number is ONE else Operation("select", (asked, term, Number("0")))
            found = Operation("add", (found, term))
        return found

    def turn(self, called: Names) -> str:
        """What counts the two turns of the loops of the pattern."""
        self._turn = self._turn or called.new("turn")
        return self._turn

    def around(
        self, block: tree.Block, extent: Callable[[Expr], Expression], build: Expressions, called: Names
    ) -> tree.Block:
        """The whole body: what comes before the loops, and after them."""
        rows = count(self.rows.values(), extent)
        indptr, indices = Name(called.of(ref(INDPTR))), Name(called.of(ref(INDICES)))
        k, zero = called.counter("k"), Number("0")
        ordered = all(place.rank is not None for place in self.places.values())
        if self.values and ordered and not any(place.added for place in self.places.values()):
            return block
        if self.values:
            end = tree.Cast(Type(SIZE), tree.Element(indptr, (rows,)))
            data = tree.Element(Name(called.of(ref(DATA))), (Name(k),))
            return (tree.Loop(k, zero, end, (tree.Store(data, Number("0.0", True)),)), tree.Space(), *block)
        if ordered:
            return self._in_order(rows, extent, build, called)
        turn = self.turn(called)
        begun = tree.If(Operation("eq", (Name(turn), zero)), (tree.Call(called.local(BEGIN), (rows, indptr)),))
        empty = tree.Store(tree.Element(indptr, (Name(k),)), zero)
        return (
            tree.Loop(k, zero, Operation("add", (rows, Number("1"))), (empty,)),
            tree.Loop(turn, zero, Number("2"), (*block, begun)),
            tree.Call(called.local(SORT), (rows, indptr, indices)),
        )

    def _in_order(
        self, rows: Expression, extent: Callable[[Expr], Expression], build: Expressions, called: Names
    ) -> tree.Block:
        """The pattern of a matrix whose entries are told row by row, in order."""
        put = transformer(language)
        indptr, indices = Name(called.of(ref(INDPTR))), Name(called.of(ref(INDICES)))
        entry = Name(called.new("entry"))
        found: list[tree.Statement] = [tree.Local(entry.name, Type(SIZE), Number("0"), True)]
        begun, start = tree.Cast(Type(INTEGER), entry), ZERO
        for name, shape in self.rows.items():
            together = _groups(self.places, self.ordered.get(name, ()), len(shape))
            groups = [[self.places[part] for part in some] for some in together]
            parts = [group[0] for group in groups]
            own = [(index(called.counter(f"i{k}")), n) for k, n in enumerate(shape)]
            axes = parts[0].box[: len(shape)] if parts else own
            row: Expr = ZERO
            for a, n in axes:
                row = row * n + a
            row, start = start + row, start + product(shape)
            inner: list[tree.Statement] = [tree.Store(tree.Element(indptr, (build.as_kind(put(row), SIZE),)), begun)]
            for group in groups:
                place = group[0]
                names = substitution(dict[Expr, Expr](zip(place.at[: len(shape)], (a for a, _ in axes), strict=True)))
                column = tree.Cast(Type(INTEGER), build.as_kind(put(names(place.column)), SIZE))
                block: tree.Block = (
                    tree.Store(tree.Element(indices, (entry,)), column),
                    tree.Store(entry, Number("1"), "+="),
                )
                for i, n in reversed(place.box[len(shape) :]):
                    block = (tree.Loop(called.of(i), Number("0"), extent(names(n)), block),)
                asked = _either(_on(p, [a for a, _ in axes]) for p in group)
                if asked is not None:
                    block = (tree.If(build.as_kind(put(asked), BOOL), block),)
                inner += block
            whole: tree.Block = tuple(inner)
            for a, n in reversed(axes):
                whole = (tree.Loop(called.of(a), Number("0"), extent(n), whole),)
            found += whole
        return (*found, tree.Store(tree.Element(indptr, (rows,)), begun))


def count(shapes: Iterable[Sequence[Expr]], extent: Callable[[Expr], Expression]) -> Expression:
    """How many elements arrays of these shapes have together."""
    factors = [[extent(e) for e in shape if e is not ONE] for shape in shapes]
    terms = [tree.joined("mul", some or [Number("1")]) for some in factors]
    return tree.joined("add", terms or [Number("0")])


def about_pattern(rows: Sequence[str], columns: Sequence[str], room: str) -> list[str]:
    """What stands above the prototype of the function that tells where entries are."""
    return [
        f"The places of the entries of a matrix, with a row for each element of {listed(rows)}, "
        f"and a column for each of {listed(columns)}.",
        "Row k has the entries indptr[k] to indptr[k + 1] - 1, whose columns ascend in indices.",
        f"indptr has room for one more than there are rows, indices for {room}.",
    ]


def of_numbers(name: str, beside: Beside) -> Printed:
    """The pattern of a matrix whose places are numbers: tables of the file."""
    matrix = beside.sparse
    assert matrix is not None
    statements: list[tree.Statement] = []
    parameters = []
    k = Name("k")
    for word, numbers in ((INDPTR, matrix.indptr), (INDICES, matrix.indices)):
        own, table = word[1:], f"known_{word[1:]}"
        kind = Type(INTEGER, pointer=True, alone=True)
        parameters.append(Parameter(own, "matrix", kind, word, length=len(numbers) or None))
        if not numbers:
            statements.append(tree.Unused(own))
            continue
        copied = tree.Store(tree.Element(Name(own), (k,)), tree.Element(Name(table), (k,)))
        statements += [
            tree.Array(table, Type(INTEGER, constant=True), None, tuple(Number(str(n)) for n in numbers)),
            tree.Loop("k", Number("0"), Number(str(len(numbers))), (copied,)),
        ]
    room = tree.Macro(f"{name}_{beside.kind}_nnz".upper(), (), Number(str(len(matrix.indices))), "nnz")
    about = tuple(about_pattern(matrix.rows, matrix.columns, room.call))
    function = tree.Function(
        beside.pattern, f"{name}_{beside.pattern}", tuple(parameters), tuple(statements), None, about, (room,)
    )
    return Printed(function)
