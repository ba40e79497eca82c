"""The statements of one C function, from its loop nest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from ..expr import (
    ONE,
    ZERO,
    Apply,
    Const,
    Expr,
    Index,
    Ref,
    apply,
    component_name,
    index,
    indices,
    operator,
    postorder,
    product,
    ref,
    refs,
    select,
    substitute,
    transform,
)
from ..expr.names import Names as Taken
from ..ir import Dtype, unconditional
from ..plan import Subscript
from ..plan.loops import Array, Block, Call, Contraction, Guard, If, Local, Loop, Nest, Node, Note, Store, stores, walk
from ..plan.loops import expressions as expressions_of
from ..plan.loops.contract import begin, is_matrix, parts_of, stride
from ..plan.loops.dependence import tag
from ..plan.loops.integers import sides
from ..plan.loops.targets import LANES
from ..records import replace
from ..source import tree
from ..source.tree import BOOL, FLAG, INT, INTEGER, REAL, SIZE, Expression, Name, Number, Operation, Type
from . import c_contract, c_lapack
from .c_expressions import Expressions, converted
from .c_names import Names
from .c_print import Printer
from .c_sparse import Matrix
from .header import is_readable

SCALAR = {Dtype.REAL: REAL, Dtype.INT: INT, Dtype.BOOL: BOOL}
ELEMENT = {Dtype.REAL: REAL, Dtype.INT: INTEGER, Dtype.BOOL: FLAG}
WORKSPACES = {"work": REAL, "iwork": INTEGER}
ORDER = "stable_order"  # the one function of matrices that C has without a library
SMALL = 256  # elements of a temporary that may stand on the stack
_IN_PLACE = {"add": "+=", "sub": "-=", "mul": "*=", "div": "/="}
LONGEST_NOTE = 4 * 88  # characters of an equation that a reader would read
NULL = Name("NULL")



class Body:
    """Builds the body of one function.

    given     names of the parameters that are pointers to scalars
    negative  options that are below 0 as they are declared
    notes     whether every nest carries its equations
    names     what everything is called in print
    printer   tells which lines are too long
    vector    the spellings in a loop that shall become vectors: c_vector.py
    blas      whether products of matrices call CBLAS
    matrix    what stands in the place of arrays of entries
    computed  what is computed of sizes, and the name that it has
    """

    def __init__(
        self,
        nest: Nest,
        kinds: Mapping[str, Dtype],
        given: frozenset[str],
        negative: frozenset[str],
        notes: bool,
        names: Names,
        printer: Printer,
        vector: Sequence[str] = (),
        blas: bool = False,
        matrix: Matrix | None = None,
        computed: Sequence[tuple[str, Expr]] = (),
    ) -> None:
        self._nest = nest
        self._notes = notes
        self._names = names
        self._printer = printer
        self._fixed, self._work, self._lent = _places(nest.arrays)
        self._memory = {a.name: a.stands_for for a in self._lent if a.stands_for is not None}
        called = {r.name for n in nest.nodes if isinstance(n, Call) for r in stores(n)}
        self._places = {a.name for a in nest.arrays if a.dtype is Dtype.INT and (a.stands_for or a.name in called)}
        shapes = {name: t.shape for name, t in nest.table.items()} | {a.name: a.shape for a in nest.arrays}
        self._extents = {names.new(name): extent for name, extent in computed}
        self._computed = {extent.key: name for name, extent in self._extents.items()}
        own = _computed_extents(nest, shapes, kinds, self._extents.values())
        self._extents |= {names.new(wish): extent for wish, extent in own.items()}
        shapes |= {n.name: () for n in nest.nodes if isinstance(n, Local)}
        self._shapes = shapes
        types = {n.name: n.dtype for n in nest.nodes if isinstance(n, Local) and not n.count}
        types |= {a.name: a.dtype for a in nest.arrays}
        self._kinds = {**kinds, **types}
        by_key = {e.key: name for name, e in self._extents.items()}
        self._vector, self._given = vector, given
        self._blas = blas
        self._matrix = matrix
        self._entries = {} if matrix is None else matrix.places
        self.build = Expressions(self._kinds, shapes, given, by_key, negative, names.of, names.local, vector)
        self._scopes: list[dict[tuple[str, Expr], str]] = []  # the rows that have a name, by block
        self.calls: dict[str, None] = {}  # the functions of matrices that may fail
        self._status = ""

    @property
    def workspaces(self) -> dict[str, tuple[tuple[Expr, ...], ...]]:
        """Per parameter that is memory to work in, the shapes of the temporaries that stand there."""
        found: dict[str, list[tuple[Expr, ...]]] = {name: [] for name in WORKSPACES}
        for array in (*self._work, *(a for a in self._lent if not _is_small(a))):
            found[self._workspace(array)].append(array.shape)
        return {name: tuple(shapes) for name, shapes in found.items() if shapes}

    def _workspace(self, array: Array) -> str:
        """The parameter in which it stands. Integers that only this function reads and writes are doubles there, as
        what is 0 or 1 is."""
        return "iwork" if array.name in self._places else "work"

    def statements(self, checks: Sequence[Subscript], conditions: Sequence[Expression] = ()) -> tree.Block:
        """The body; first what checks the sizes, and the indices that are data."""
        if any(isinstance(n, Call) and n.function != "argsort" for n in self._nest.nodes):
            self._status = self._names.new("status", "lapack_status")
        refused = tuple(tree.If(Operation("not", (c,)), (tree.Return(Number("2")),)) for c in conditions)
        checked = tuple(self._check(subscript) for subscript in checks)
        main = self._block(self._nest.body, 1, top=True)
        if self._matrix is not None:
            main = self._matrix.around(main, self.size, self.build, self._names)
        arrays = self._arrays()
        if self._status:
            arrays = (tree.Local(self._status, Type(BOOL), Number("0"), True), *arrays)
        known = {*tree.names_in(*refused, *checked, *arrays, *main)} if self._extents else set()
        extents: tuple[tree.Local, ...] = ()
        for name, extent in reversed(self._extents.items()):
            if name in known:
                extents = (tree.Local(name, Type(SIZE), self.extent(extent)), *extents)
                known |= {*tree.names_in(*extents[:1])}
        early = not self._extents or self._extents.keys().isdisjoint(tree.names_in(*refused))
        first, second = (refused, checked) if early else ((), (*refused, *checked))  # an extent may divide by 0
        parts = [part for part in (first, extents, second, arrays, main) if part]
        return tuple(s for number, part in enumerate(parts) for s in ((tree.Space(),) if number else ()) + part)

    # temporaries

    def _arrays(self) -> tree.Block:
        found: list[tree.Statement] = []
        taken: dict[str, dict[Expr, int]] = {}  # how many arrays of each size stand before, in each workspace
        for array in self._fixed:
            length = self.build.as_kind(product(array.shape), SIZE)
            found.append(tree.Array(self._named(array.name), Type(ELEMENT[array.dtype]), length))
        for array in (*self._work, *self._lent):
            kind = Type(ELEMENT[array.dtype], pointer=True)
            size = product(array.shape)
            if array.stands_for is not None and _is_small(array):
                own = self._names.new(f"{self._named(array.stands_for)}_memory")
                found.append(tree.Array(own, Type(kind.of), self.build.as_kind(size, SIZE)))
                place: Expression = Name(own)
            else:
                work = self._workspace(array)
                before = taken.setdefault(work, {})
                offset = sum((number * size for size, number in before.items()), ZERO)
                place = Name(self._names.work(work))
                if offset is not ZERO:
                    place = Operation("add", (place, self.build.as_kind(offset, SIZE)))
                before[size] = before.get(size, 0) + 1
                if array.stands_for is None:
                    kind = Type(WORKSPACES[work], pointer=True, alone=True)
                    found.append(tree.Local(self._named(array.name), kind, place))
                    continue
                place = tree.Cast(kind, place) if array.dtype is Dtype.BOOL else place
            given = Name(self._named(array.stands_for))
            value = Operation("select", (given, given, place))
            if array.name == array.stands_for:
                found.append(tree.Store(given, value))
            else:
                found.append(tree.Local(self._named(array.name), kind, value))
        return tuple(found)

    def _named(self, name: str) -> str:
        return self._names.of(ref(name))

    def extent(self, extent: Expr, build: Expressions | None = None) -> Expression:
        """A size that is computed, 0 where it would be negative; `build` is for a macro, which calls no function."""
        names = self._names
        named = {key: name for key, name in self._computed.items() if key is not extent.key}
        plain = build or Expressions(self._kinds, {}, extents=named, named=names.of, local=names.local)
        if isinstance(extent, Apply) and extent.op == "maximum" and extent.args[1] is ZERO:
            return self.extent(extent.args[0], build)
        extent = transform(extent, _plain_maximum)
        quotient, more = extent, ZERO
        if isinstance(extent, Apply) and extent.op == "add" and isinstance(extent.args[1], Const):
            quotient, more = extent.args
        if isinstance(quotient, Apply) and quotient.op == "floordiv" and more in (ZERO, ONE):
            top, bottom = quotient.args
            moved = sides(top)
            if moved is not None:
                p, q = moved
                if all(plain.type_of(s) == SIZE for s in moved):
                    found = _divided(plain, p - q, bottom, more, SIZE)
                    return found if q is ZERO else _at_least(plain, "ge", p, q, SIZE, found)
                if build is not None:
                    found = tree.Cast(Type(SIZE), _divided(plain, p - q, bottom, more, INT))
                    return _at_least(plain, "ge", p, q, INT, found)
        elif (moved := sides(extent)) is not None and all(plain.type_of(s) == SIZE for s in moved):
            p, q = moved
            difference = plain.as_kind(p - q, SIZE)
            return difference if q is ZERO else _at_least(plain, "gt", p, q, SIZE, difference)
        elif plain.type_of(extent) == SIZE:
            return plain.as_kind(extent, SIZE)
        if build is not None:
            return _at_least(plain, "gt", extent, ZERO, INT, converted(plain.as_kind(extent, INT), INT, SIZE))
        return tree.Call(self._names.local("extent"), (plain.as_kind(extent, INT),))

    def size(self, extent: Expr) -> Expression:
        """The name of a size that is computed, if it has one; else how it is."""
        known = any(e.key is extent.key for e in self._extents.values())
        return self.build.as_kind(extent, SIZE) if known else self.extent(extent)

    # checks

    def _check(self, subscript: Subscript) -> tree.Statement:
        """Return 1 if an index is out of its range, before anything is read by it."""
        element = subscript.element
        tensor = self._nest.table[element.name]
        box = []
        for axis, s in enumerate(element.subscripts):
            if not isinstance(s, (Index, Const)):
                places = tuple(index(self._names.counter(f"i{n}" if n else "i")) for n in range(len(tensor.shape)))
                return self._check(replace(subscript, element=ref(element.name, *places)))
            if isinstance(s, Index):
                box.append((s, tensor.shape[axis]))
        x = self.build.element(element)
        limit = self.size(subscript.extent)
        test = Operation("or", (
            Operation("lt", (x, Number("0"))), Operation("ge", (tree.Cast(Type(SIZE), x), limit))
        ))  # fmt: skip
        if subscript.where is not None:
            test = Operation("and", (self.build.as_kind(subscript.where, BOOL), test))
        found: tree.Statement = tree.If(test, (tree.Return(Number("1")),))
        for i, size in reversed(box):
            found = tree.Loop(self._names.of(i), Number("0"), self.size(size), (found,))
        return tree.If(Name(self._named(element.name)), (found,)) if tensor.optional else found

    # statements

    def _block(self, block: Block, depth: int, top: bool = False) -> tree.Block:
        found: list[tree.Statement] = []
        before: Node | None = None
        self._scopes.append({})
        for node in block:
            new = self._node(node, depth)
            computed = isinstance(before, (Loop, Contraction))
            apart = top and found and not isinstance(before, (Note, Local))
            apart = apart and not (computed and isinstance(node, (Loop, Contraction)))
            if apart and (isinstance(node, (Note, Guard)) or computed or isinstance(before, (Guard, If))) and new:
                found.append(tree.Space())
            found += new
            before = node if new else before
        self._scopes.pop()
        return tuple(found)

    def _node(self, node: Node, depth: int) -> tree.Block:
        if isinstance(node, Note):
            return self._note(node) if self._notes else ()
        if isinstance(node, Local):
            kind = SIZE if node.count else SCALAR[node.dtype]
            value = self.build.as_kind(node.value, kind)
            return (tree.Local(self._named(node.name), Type(kind), value, node.changes),)
        if isinstance(node, Store):
            return (self._store(node),)
        if isinstance(node, Loop):
            return self._loop(node, depth)
        if isinstance(node, Call):
            return self._call(node)
        if isinstance(node, Contraction):
            return self._contraction(node, depth)
        condition = self.build.as_kind(node.condition, BOOL) if isinstance(node, If) else self._asks(node)
        return (tree.If(condition, self._block(node.body, depth + 1), self._block(node.otherwise, depth + 1)),)

    def _loop(self, loop: Loop, depth: int) -> tree.Block:
        """A loop; where the lines inside an innermost one are too long, the rows of its arrays get names before it."""
        name = self._names.of(loop.index)
        first, end = self.build.as_kind(loop.lower, SIZE), self.build.as_kind(loop.extent, SIZE)
        inner = self._block(loop.body, depth + 1)
        before: list[tree.Statement] = []
        innermost = not any(isinstance(n, Loop) for n in walk(loop.body))
        if innermost and any(self._is_broken(s, depth + 1) for s in inner) and (rows := self._rows(loop)):
            visible = {name for scope in self._scopes for name in scope.values()}
            starts = {name: start for name, start in rows.values() if name not in visible}
            self._scopes[-1].update({(e.name, start): name for e, (name, start) in rows.items() if name in starts})
            self.build.start_rows(rows)
            inner = self._block(loop.body, depth + 1)
            self.build.start_rows({})
            before += [tree.Local(name, Type(SIZE), self.build.as_kind(start, SIZE)) for name, start in starts.items()]
        added = self._entries.keys() & {r.name for n in walk(loop.body) for r in stores(n)}
        kind = "serial" if any(self._entries[name].rank is None for name in added) else tag(loop, self._memory)
        sums = _sums(inner, end) if innermost and kind == "reduction" and not loop.reverse else ()
        return (*before, tree.Loop(name, first, end, inner, loop.reverse, kind, sums))

    def _is_broken(self, node: tree.Statement, depth: int) -> bool:
        return isinstance(node, (tree.Store, tree.Local)) and len(self._printer.statement(node, depth)) > 1

    def _rows(self, loop: Loop) -> dict[Ref, tuple[str, Expr]]:
        """The elements that walk along a row of an array of three axes or more, with the name and place of the row."""
        elements: dict[Ref, None] = {}
        for node in walk(loop.body):
            if isinstance(node, Call):
                continue
            elements.update(dict.fromkeys(r for r in stores(node) if r.name not in self._entries))
            for e in expressions_of(node):
                elements.update(dict.fromkeys(refs(e)))
        always = unconditional(
            *(e for n in loop.body if not isinstance(n, (If, Guard)) for e in (*stores(n), *expressions_of(n)))
        )
        inside = {n.name for n in walk(loop.body) if isinstance(n, Local)}  # not known before the loop
        names = {row: name for scope in self._scopes for row, name in scope.items()}
        taken = {*names.values()}
        found: dict[Ref, tuple[str, Expr]] = {}
        for element in elements:
            start = self.build.flat(element, last=False) if len(element.subscripts) > 2 else None
            if start is None or loop.index in indices(start):
                continue
            if any(r.subscripts or r.name in inside for r in refs(start)):
                continue
            if element not in always and any(operator(n) == "sub" for n in postorder(*element.subscripts[:-1])):
                continue  # where nothing reads it, the place may be below 0
            if (element.name, start) not in names:
                name = self._names.inside(_row_name(element, self._names.of(element)), taken=taken)
                taken.add(name)
                names[element.name, start] = name
            found[element] = (names[element.name, start], start)
        return found

    def _asks(self, guard: Guard) -> Expression:
        """The condition of a guard: pointers that are not NULL."""
        wanted: list[Expression] = [Name(self._named(name)) for name in guard.wanted]
        asked = [tree.joined("or", wanted)] if wanted else []
        for name, present in guard.when:
            given = Name(self._names.presence(name))
            asked.append(given if present else Operation("not", (given,)))
        return tree.joined("and", asked)

    def _call(self, node: Call) -> tree.Block:
        sizes = [self.build.as_kind(extent, SIZE) for extent in node.sizes]
        places = [NULL if r is None else self.build.place(r) for r in (*node.operands, *node.results, *node.scratch)]
        given = (*sizes, *places)
        if node.function == "argsort":
            return (tree.Call(self._names.local(ORDER), given),)
        self.calls[node.function] = None
        status = Name(self._status)
        call = tree.Call(self._names.local(c_lapack.name_of(node.function)), given)
        failed = tree.If(Operation("ne", (status, Number("0"))), (tree.Return(status),))
        return (tree.Store(status, call), failed)

    def _contraction(self, node: Contraction, depth: int) -> tree.Block:
        """A call with the sizes, what the products are multiplied by, and of each element where the first one stands
        and the two strides."""
        parts = parts_of(node)
        if parts is None or parts.element.name in self._entries:
            return self._block(node.body, depth)
        outer = () if parts.outer is None else (parts.outer,)
        given = [self.build.as_kind(loop.extent - loop.lower, SIZE) for loop in parts.loops]
        given.append(self.build.as_kind(parts.scale, REAL))
        strided = (
            (parts.left, (*outer, parts.rows, parts.terms)),
            (parts.right, (*outer, parts.terms, parts.columns)),
            (parts.element, (parts.rows, parts.columns)),
        )
        for element, walked in strided:
            places = [s if (p := begin(s, parts.loops)) is None else p.expression() for s in element.subscripts]
            first = ref(element.name, *places)
            assert isinstance(first, Ref)
            given.append(self.build.place(first))
            shape = self._shapes[element.name]
            given += [self.build.as_kind(stride(element, loop.index, shape), SIZE) for loop in walked]
        if self._blas and all(is_matrix(r, i.index, j.index, self._shapes[r.name]) for r, (i, j) in strided):
            return (tree.Call(self._names.local(c_contract.BLAS), tuple(given[:-1])),)
        return (tree.Call(self._names.local(c_contract.GROUPS if outer else c_contract.NAME), tuple(given)),)

    def _store(self, node: Store) -> tree.Statement:
        how, value = node.how.replace(":=", "="), node.value
        if how == "+=" and isinstance(value, Apply) and value.op == "neg":
            how, value = "-=", value.args[0]
        elif how == "=" and isinstance(value, Apply) and value.op in _IN_PLACE and value.args[0] is node.element:
            how, value = _IN_PLACE[value.op], value.args[1]
        elif how == "=" and isinstance(value, Apply) and value.op in ("add", "mul") and value.args[1] is node.element:
            how, value = _IN_PLACE[value.op], value.args[0]
        dtype = self._kinds.get(node.element.name, Dtype.REAL)
        double = any(a.name == node.element.name and a.name not in self._places for a in self._work)
        kind = REAL if double else SCALAR[dtype]
        built = self.build.as_kind(value, kind)
        if self._matrix is not None and node.element.name in self._entries:
            return self._matrix.entry(node.element, built, how, self.build, self._names)
        memory = node.element.subscripts or node.element.name in self._given
        if kind == INT and memory and self._printer.narrow and not isinstance(built, Number):
            built = tree.Cast(Type(INTEGER), built)  # no compiler shall warn of it
        chosen = isinstance(built, Name) or isinstance(built, Operation) and built.op == "select"
        if kind == BOOL and memory and chosen:
            built = tree.Cast(Type(FLAG), built)  # nor of this: what is compared is 0 or 1, what has a name an int
        return tree.Store(self.build.element(node.element), built, how)

    def _by_names(self, s: Expr) -> Expr:
        names: dict[Expr, Expr] = {self._extents[name]: ref(name) for name in self._computed.values()}
        return substitute(s, names)

    def _note(self, note: Note) -> tree.Block:
        equations = (e for e in note.equations if e.target not in self._entries)
        note = replace(note, equations=tuple(e.mapped(self._by_names) if self._computed else e for e in equations))
        shown = [line for line in self._names.note(note).lines if len(line) <= LONGEST_NOTE]
        lines = tuple(line for line in shown if is_readable(line))
        return (tree.Comment(lines, note.equations),) if lines else ()


def _divides(n: Expr) -> bool:
    """Whether it is a quotient of integers, which may be there in a loop alone."""
    return isinstance(n, Apply) and n.op in ("floordiv", "mod")


def _divided(build: Expressions, top: Expr, bottom: Expr, more: Expr, kind: str) -> Expression:
    """top / bottom, both of that kind and none negative, and perhaps one more."""
    found = Operation("div", (build.as_kind(top, kind), build.as_kind(bottom, kind)))
    return found if more is ZERO else Operation("add", (found, Number("1")))


def _at_least(build: Expressions, op: str, p: Expr, q: Expr, kind: str, found: Expression) -> Expression:
    """`found` where p is at least q, or greater; else 0."""
    condition = Operation(op, (build.as_kind(p, kind), build.as_kind(q, kind)))
    return Operation("select", (condition, found, Number("0")))


def _plain_maximum(node: Expr) -> Expr:
    if isinstance(node, Apply) and node.op in ("maximum", "minimum"):
        a, b = node.args
        return select(apply("ge" if node.op == "maximum" else "le", a, b), a, b)
    return node


def _places(arrays: Sequence[Array]) -> tuple[list[Array], list[Array], list[Array]]:
    """The temporaries on the stack, in the workspace, and those that only stand in for a result.

    In the workspace those stand together whose rows are equally long, those with the commonest rows first: where it
    begins at a line of the cache, and these are full lines, so does each of them, unless a row of others moves it.
    """
    fixed, work, lent = [], [], []
    for array in arrays:
        if array.stands_for is not None:
            lent.append(array)
        elif _is_small(array):
            fixed.append(array)
        else:
            work.append(array)
    alike = Counter(array.shape[-1:] for array in work)
    work.sort(key=lambda array: (-alike[array.shape[-1:]], -len(array.shape)))
    return fixed, work, lent


def _is_small(array: Array) -> bool:
    count = product(array.shape)
    return isinstance(count, Const) and count.value <= SMALL


def _row_name(element: Ref, word: str) -> str:
    """`gates2_row` for gates[t,2,j], `next_cell_row` for cell[t + 1,j]."""
    steps = [s for s in element.subscripts if isinstance(s, Apply)]
    one = len(steps) == 1 and isinstance(steps[0].args[0], Index) and steps[0].args[-1] is ONE
    ahead = {"add": "next_", "sub": "previous_"}.get(steps[0].op, "") if one else ""
    return f"{ahead}{component_name(element, word)}_row"


def _computed_extents(
    nest: Nest, shapes: Mapping[str, tuple[Expr, ...]], signed: Collection[str], computed: Collection[Expr]
) -> dict[str, Expr]:
    """Names for the extents that could be negative, or that nobody would want to read twice, beside those that are
    `computed` and have one."""
    known_by_name: dict[Expr, Expr] = dict.fromkeys(computed, ONE)
    loops = [n for n in nest.nodes if isinstance(n, Loop)]
    scalars = {n.name for n in nest.nodes if isinstance(n, Local)}
    sizes = (r.name for shape in shapes.values() for e in shape for r in refs(e))
    taken = Taken(shapes, (n.index.name for n in loops), scalars, sizes, ["size_t"])  # that of an index t
    found: dict[str, Expr] = {}
    known: set[Expr] = set()

    def add(extent: Expr, *wishes: str) -> None:
        hard = any(
            n.op not in ("add", "mul") if isinstance(n, Apply) else isinstance(n, Ref) and n.name in signed
            for n in postorder(substitute(extent, known_by_name))
        )
        inside = any(r.name in scalars for r in refs(extent))  # known only in the loop around it
        if not hard or inside or extent.key in known:
            return
        known.add(extent.key)
        found[taken.new(*wishes)] = extent

    for name, shape in shapes.items():
        for extent in shape:  # after the size that it is computed from: out_h
            size = next((r.name for r in refs(extent) if r.name not in signed), "size")
            add(extent, f"{name}_{size}", f"{name}_size")
    by_index: dict[Expr, str] = {}
    for loop in loops:
        if not (isinstance(loop.extent, Apply) and loop.extent.op == "mul"):  # all of several axes
            add(loop.extent, f"size_{loop.index.name}")
        if loop.extent.key in known:
            by_index.setdefault(loop.extent.key, f"size_{loop.index.name}")
    for local in (n for n in nest.nodes if isinstance(n, Local) and n.count):
        counts = (n for n in postorder(local.value) if isinstance(n, Apply) and n.op == "maximum" and ZERO in n.args)
        for count in (n for n in counts if not indices(n)):
            word = f"size_{local.name.removeprefix('end_')}"
            extent = count.args[0] if count.args[0].key in known else count  # of a place, which may be below 0
            if extent is count and any(map(_divides, postorder(count))):
                continue
            add(extent, word)
            if extent.key in known:
                by_index.setdefault(extent.key, word)
    renamed: dict[str, Expr] = {}
    for name, extent in found.items():
        wish = by_index.get(extent.key, name)
        renamed[name if wish in taken or wish in renamed else wish] = extent
    return renamed


def _sums(body: tree.Block, end: Expression) -> tuple[tuple[str, str], ...]:
    """The scalars that the turns of a loop add to, multiply or compare, each with the operator; none where their order
    is not free, or they are few."""
    ways = {"+=": "+", "-=": "+", "*=": "*", "/=": "*", "max=": "max", "min=": "min"}
    found: dict[tuple[str, str], None] = {}
    statements = list(tree.statements_in(body))
    own = {node.name for node in statements if isinstance(node, tree.Local)}
    for node in statements:
        if isinstance(node, (tree.Return, tree.Loop)):
            return ()
        if isinstance(node, tree.Store) and node.how != "=" and isinstance(node.target, Name):
            if node.target.name not in own:
                found[ways[node.how], node.target.name] = None
    few = isinstance(end, Number) and float(end.text) < LANES
    return () if few else tuple(found)
