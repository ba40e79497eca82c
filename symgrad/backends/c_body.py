"""The statements of one C function, from its loop nest."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from ..expr import (
    ONE,
    ZERO,
    Apply,
    Const,
    Expr,
    Index,
    Ref,
    apply,
    index,
    indices,
    postorder,
    product,
    refs,
    select,
    transform,
)
from ..ir import Dtype
from ..plan import Subscript
from ..plan.loops import Array, Block, Call, Guard, If, Local, Loop, Nest, Node, Note, Store, expressions, stores, walk
from ..plan.loops.integers import sides
from . import c_lapack
from .c_lines import LIMIT, broken, filled
from .c_text import Text
from .header import is_readable
from .options import Options

SCALAR = {Dtype.INT: "ptrdiff_t", Dtype.BOOL: "int"}  # a real one is what the options say
ELEMENT = {Dtype.INT: "int64_t", Dtype.BOOL: "unsigned char"}
WORKSPACES = ("work", "iwork")
ORDER = "stable_order"  # the one function of matrices that C has without a library
SMALL = 256  # elements of a temporary that may stand on the stack
_IN_PLACE = {"add": "+=", "sub": "-=", "mul": "*=", "div": "/="}
LONGEST_NOTE = 4 * LIMIT


class Body:
    """Prints the body of one function.

    given     names of the parameters that are pointers to scalars
    pointers  names of all tensors that may be parameters; the presence of any other one is a flag
    negative  options that are below 0 as they are declared
    notes     whether every nest carries its equations
    options   what the C is asked to be
    """

    def __init__(
        self,
        nest: Nest,
        kinds: Mapping[str, Dtype],
        given: frozenset[str],
        pointers: frozenset[str],
        negative: frozenset[str],
        notes: bool,
        options: Options,
    ) -> None:
        self._nest = nest
        self._element = {Dtype.REAL: options.dtype, **ELEMENT}
        self._scalar = {Dtype.REAL: options.dtype, **SCALAR}
        self._of_workspace = {"work": options.dtype, "iwork": "int64_t"}
        self._pointers = pointers
        self._notes = notes
        self._fixed, self._work, self._lent = _places(nest.arrays)
        called = {r.name for n in walk(nest.body) if isinstance(n, Call) for r in stores(n)}
        self._places = {a.name for a in nest.arrays if a.dtype is Dtype.INT and (a.stands_for or a.name in called)}
        shapes = {name: t.shape for name, t in nest.table.items()} | {a.name: a.shape for a in nest.arrays}
        self._extents = _computed_extents(nest, shapes, kinds)
        shapes |= {n.name: () for n in walk(nest.body) if isinstance(n, Local)}
        own = {n.name: n.dtype for n in walk(nest.body) if isinstance(n, Local)}
        own |= {a.name: a.dtype for a in nest.arrays}
        self._kinds = {**kinds, **own}
        self.text = Text(
            self._kinds, shapes, given, {e.key: name for name, e in self._extents.items()}, negative,
            options.single,
        )  # fmt: skip
        self._scopes: list[dict[tuple[str, Expr], str]] = []  # the rows that have a name, by block
        self.asked: dict[str, None] = {}  # the pointers that a guard asks for
        self.calls: dict[str, None] = {}  # the functions of matrices that may fail
        self._status = next(n for n in ("status", "lapack_status", "lapack_says") if n not in self._kinds)

    @property
    def workspaces(self) -> dict[str, tuple[tuple[Expr, ...], ...]]:
        """Per parameter that is memory to work in, the shapes of the temporaries that stand there."""
        found: dict[str, list[tuple[Expr, ...]]] = {name: [] for name in WORKSPACES}
        for array in (*self._work, *self._lent):
            found[self._workspace(array)].append(array.shape)
        return {name: tuple(shapes) for name, shapes in found.items() if shapes}

    def _workspace(self, array: Array) -> str:
        """The parameter in which it stands. Integers that only this function reads and writes are doubles there, as
        what is 0 or 1 is."""
        return "iwork" if array.name in self._places else "work"

    def lines(self, checks: Sequence[Subscript], conditions: Sequence[str] = ()) -> list[str]:
        """The body, indented by one level; first the lines that check the sizes, and the indices that are data."""
        checked = [line for subscript in checks for line in self._check(subscript)]
        main = self._block(self._nest.body, 1, top=True)
        arrays = [*([f"    int {self._status} = 0;"] if self.calls else []), *self._arrays()]
        extents = [
            line
            for name, extent in self._extents.items()
            if name in self.text.used
            for line in broken(f"const size_t {name} = {self.extent(extent)};", 4)
        ]
        first: list[str] = []
        if not any(name in line for name in self._extents for line in conditions):
            first, conditions = [*conditions], []  # an extent may divide by what must not be 0
        parts = [part for part in (first, extents, [*conditions, *checked], arrays, main) if part]
        return [line for number, part in enumerate(parts) for line in ([""] if number else []) + part]

    # temporaries

    def _arrays(self) -> list[str]:
        lines = []
        taken: dict[str, dict[Expr, int]] = {}  # how many arrays of each size stand before, in each workspace
        for array in self._fixed:
            lines.append(f"    {self._element[array.dtype]} {array.name}[{product(array.shape)}];")
        for array in (*self._work, *self._lent):
            work = self._workspace(array)
            before = taken.setdefault(work, {})
            offset = sum((number * size for size, number in before.items()), ZERO)
            place = work if offset is ZERO else f"{work} + {self.text.as_kind(offset, 'size', 31)}"
            restrict = "restrict "
            if array.stands_for is not None and array.dtype is Dtype.BOOL:
                place = f"({self._element[array.dtype]} *){place if offset is ZERO else f'({place})'}"
            if array.stands_for is not None:
                place, restrict = f"{array.stands_for} ? {array.stands_for} : {place}", ""
                self.text.used[array.stands_for] = None
            self.text.used[work] = None
            kind = self._element[array.dtype] if array.stands_for is not None else self._of_workspace[work]
            declared = "" if array.name == array.stands_for else f"{kind} *{restrict}const "
            lines += broken(f"{declared}{array.name} = {place};", 4)
            size = product(array.shape)
            before[size] = before.get(size, 0) + 1
        return lines

    def extent(self, extent: Expr, text: Text | None = None) -> str:
        """A size that is computed, 0 where it would be negative."""
        plain = text or Text(self._kinds, {})
        extent = transform(extent, _plain_maximum)
        quotient, more = extent, ZERO
        if isinstance(extent, Apply) and extent.op == "add" and isinstance(extent.args[1], Const):
            quotient, more = extent.args
        found: str | None = None
        if isinstance(quotient, Apply) and quotient.op == "floordiv" and more in (ZERO, ONE):
            top, bottom = quotient.args
            moved = sides(top)
            if moved is not None and all(plain.type_of(s) == "size" for s in moved):
                p, q = moved
                divided = f"{plain.as_kind(p - q, 'size', 40)} / {plain.as_kind(bottom, 'size', 41)}"
                divided += "" if more is ZERO else " + 1"
                found = divided if q is ZERO else f"{_compare(plain, p, '>=', q)} ? {divided} : 0"
            elif moved is not None and text is not None:  # a macro has no functions to call
                p, q = moved
                divided = f"{plain.as_kind(p - q, 'int', 40)} / {plain.as_kind(bottom, 'int', 41)}"
                number = f"(size_t)({divided})" if more is ZERO else f"(size_t)({divided} + 1)"
                found = f"{plain.as_kind(p, 'int', 11)} >= {plain.as_kind(q, 'int', 11)} ? {number} : 0"
        elif (moved := sides(extent)) is not None and all(plain.type_of(s) == "size" for s in moved):
            p, q = moved
            difference = plain.as_kind(p - q, "size")
            found = difference if q is ZERO else f"{_compare(plain, p, '>', q)} ? {difference} : 0"
        elif plain.type_of(extent) == "size":
            found = plain.as_kind(extent, "size")
        if found is None:
            self.text.used["extent"] = None
            found = f"extent({plain.as_kind(extent, 'int')})"
        self.text.used.update(plain.used)
        return found

    # checks

    def _check(self, subscript: Subscript) -> list[str]:
        """Return 1 if an index is out of its range, before anything is read by it."""
        element = subscript.element
        tensor = self._nest.table[element.name]
        box = []
        for axis, s in enumerate(element.subscripts):
            if not isinstance(s, (Index, Const)):
                names = [f"i{n}" if n else "i" for n in range(len(tensor.shape))]
                subscripts = tuple(index(name) for name in names)
                return self._check(replace(subscript, element=_element(element.name, subscripts)))
            if isinstance(s, Index):
                box.append((s, tensor.shape[axis]))
        x = self.text.element(element)
        limit = self.text.as_kind(subscript.extent, "size", 21)
        test = f"{x} < 0 || (size_t){x} >= {limit}"
        if subscript.where is not None:
            test = f"{self.text.as_kind(subscript.where, 'bool', 6)} && ({test})"
        test = f"if ({test}) {{"
        block = [f"    {line}" for line in broken(test, 0)] + ["        return 1;", "    }"]
        for i, size in reversed(box):
            head = f"    for (size_t {i.name} = 0; {i.name} < {self.text.as_kind(size, 'size', 21)}; ++{i.name}) {{"
            block = [head, *("    " + line for line in block), "    }"]
        if tensor.optional:
            block = [f"    if ({element.name}) {{", *("    " + line for line in block), "    }"]
        return block

    # statements

    def _block(self, block: Block, depth: int, top: bool = False) -> list[str]:
        lines: list[str] = []
        before: Node | None = None
        self._scopes.append({})
        for node in block:
            new = self._node(node, depth)
            apart = top and lines and not isinstance(before, (Note, Local))
            apart = apart and not (isinstance(before, Loop) and isinstance(node, Loop))
            if apart and (isinstance(node, (Note, Guard)) or isinstance(before, (Loop, Guard, If))) and new:
                lines.append("")
            lines += new
            before = node if new else before
        self._scopes.pop()
        return lines

    def _node(self, node: Node, depth: int) -> list[str]:
        pad = "    " * depth
        if isinstance(node, Note):
            return self._note(node, depth) if self._notes else []
        if isinstance(node, Local):
            const = "" if node.changes else "const "
            kind = {Dtype.REAL: "real", Dtype.INT: "int", Dtype.BOOL: "bool"}[node.dtype]
            value = self.text.as_kind(node.value, kind)
            return broken(f"{const}{self._scalar[node.dtype]} {node.name} = {value};", len(pad))
        if isinstance(node, Store):
            return broken(self._store(node), len(pad))
        if isinstance(node, Loop):
            return self._loop(node, depth)
        if isinstance(node, Call):
            return self._call(node, depth)
        if isinstance(node, If):
            return self._branches(self.text.as_kind(node.condition, "bool"), node.body, node.otherwise, depth)
        return self._branches(self._asks(node), node.body, node.otherwise, depth)

    def _loop(self, loop: Loop, depth: int) -> list[str]:
        """A loop; where the lines inside an innermost one are too long, the rows of its arrays get names before it."""
        pad, i = "    " * depth, loop.index.name
        lower = self.text.as_kind(loop.lower, "size")
        end = self.text.as_kind(loop.extent, "size", 21)
        upwards = f"size_t {i} = {lower}; {i} < {end}; ++{i}"
        head = broken(f"for ({f'size_t {i} = {end}; {i}-- > {lower};' if loop.reverse else upwards}) {{", len(pad))
        inner = self._block(loop.body, depth + 1)
        innermost = not any(isinstance(n, Loop) for n in walk(loop.body))
        if innermost and any(isinstance(n, (Store, Local)) and self._is_broken(n, depth + 1) for n in loop.body):
            rows = self._rows(loop)
            visible = {name for scope in self._scopes for name in scope.values()}
            starts = {name: start for name, start in rows.values() if name not in visible}
            self._scopes[-1].update({(e.name, start): name for e, (name, start) in rows.items() if name in starts})
            self.text.start_rows(rows)
            inner = self._block(loop.body, depth + 1)
            self.text.start_rows({})
            lines = []
            for name, start in starts.items():
                lines += broken(f"const size_t {name} = {self.text.as_kind(start, 'size')};", len(pad))
            return [*lines, *head, *inner, f"{pad}}}"]
        return [*head, *inner, f"{pad}}}"]

    def _is_broken(self, node: Node, depth: int) -> bool:
        return len(self._node(node, depth)) > 1

    def _rows(self, loop: Loop) -> dict[Ref, tuple[str, Expr]]:
        """The elements that walk along a row of an array of three axes or more, with the name and place of the row."""
        elements: dict[Ref, None] = {}
        for node in walk(loop.body):
            if isinstance(node, Call):
                continue
            elements.update(dict.fromkeys(stores(node)))
            for e in expressions(node):
                elements.update(dict.fromkeys(refs(e)))
        conditional = any(
            isinstance(n, If)
            or any(isinstance(a, Apply) and a.op == "select" for e in expressions(n) for a in postorder(e))
            for n in walk(loop.body)
        )
        names = {row: name for scope in self._scopes for row, name in scope.items()}
        taken = {*self._kinds, *self.text.used, *self._extents, *names.values()}
        found: dict[Ref, tuple[str, Expr]] = {}
        for element in elements:
            start = self.text.flat(element, last=False) if len(element.subscripts) > 2 else None
            if start is None or loop.index in indices(start) or any(r.subscripts for r in refs(start)):
                continue
            places = [n for s in element.subscripts for n in postorder(s)]
            if conditional and any(isinstance(n, Apply) and n.op in ("sub", "neg") for n in places):
                continue  # where the condition fails, there may be no such row
            if (element.name, start) not in names:
                name, number = f"{element.name}_row", 2
                while name in taken:
                    name, number = f"{element.name}_row_{number}", number + 1
                taken.add(name)
                names[element.name, start] = name
            found[element] = (names[element.name, start], start)
        return found

    def _branches(self, condition: str, body: Block, otherwise: Block, depth: int) -> list[str]:
        pad = "    " * depth
        lines = [*broken(f"if ({condition}) {{", len(pad)), *self._block(body, depth + 1)]
        if not otherwise:
            return [*lines, f"{pad}}}"]
        if len(otherwise) == 1 and isinstance(otherwise[0], (If, Guard)):
            first, *rest = self._node(otherwise[0], depth)
            return [*lines, f"{pad}}} else {first.strip()}", *rest]
        return [*lines, f"{pad}}} else {{", *self._block(otherwise, depth + 1), f"{pad}}}"]

    def _asks(self, guard: Guard) -> str:
        """The condition of a guard: pointers that are not NULL."""
        when = [(n if n in self._pointers else f"has_{n}", present) for n, present in guard.when]
        self.asked.update(dict.fromkeys((*guard.wanted, *(name for name, _ in when))))
        wanted = " || ".join(guard.wanted)
        if len(guard.wanted) > 1 and when:
            wanted = f"({wanted})"
        return " && ".join([*([wanted] if wanted else []), *(n if present else f"!{n}" for n, present in when)])

    def _call(self, node: Call, depth: int) -> list[str]:
        pad = "    " * depth
        sizes = [self.text.as_kind(extent, "size") for extent in node.sizes]
        places = ["NULL" if r is None else self.text.place(r) for r in (*node.operands, *node.results, *node.scratch)]
        given = [*sizes, *places]
        if node.function == "argsort":
            self.text.used[ORDER] = None
            return filled(f"{ORDER}(", given, ");", len(pad)).split("\n")
        self.calls[node.function] = None
        status = self._status
        call = filled(f"{status} = {c_lapack.name_of(node.function)}(", given, ");", len(pad)).split("\n")
        return [*call, f"{pad}if ({status} != 0) {{", f"{pad}    return {status};", f"{pad}}}"]

    def _store(self, node: Store) -> str:
        how, value = node.how, node.value
        if how == "+=" and isinstance(value, Apply) and value.op == "neg":
            how, value = "-=", value.args[0]
        elif how == "=" and isinstance(value, Apply) and value.op in _IN_PLACE and value.args[0] is node.element:
            how, value = _IN_PLACE[value.op], value.args[1]
        elif how == "=" and isinstance(value, Apply) and value.op == "add" and value.args[1] is node.element:
            how, value = "+=", value.args[0]
        dtype = self._kinds.get(node.element.name, Dtype.REAL)
        double = any(a.name == node.element.name and a.name not in self._places for a in self._work)
        kind = "real" if dtype is Dtype.REAL or double else "int" if dtype is Dtype.INT else "bool"
        return f"{self.text.element(node.element)} {how} {self.text.as_kind(value, kind)};"

    def _note(self, note: Note, depth: int) -> list[str]:
        pad = "    " * depth
        lines = [comment_text(line) for line in note.lines if len(line) <= LONGEST_NOTE and is_readable(line)]
        broken_lines = [part for line in lines for part in broken(line, 0, LIMIT - len(pad) - 6)]
        if len(broken_lines) == 1:
            return [f"{pad}/* {broken_lines[0]} */"]
        if not broken_lines:
            return []
        first, *others = broken_lines
        return [f"{pad}/* {first}", *(f"{pad} * {line}" for line in others), f"{pad} */"]


def comment_text(line: str) -> str:
    """`line` as it may stand in a comment: it cannot end it, and holds no trigraph."""
    return line.replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?")


def _element(name: str, subscripts: tuple[Expr, ...]) -> Ref:
    from ..expr import ref

    node = ref(name, *subscripts)
    assert isinstance(node, Ref)
    return node


def _compare(text: Text, p: Expr, operator: str, q: Expr) -> str:
    return f"{text.as_kind(p, 'size', 21)} {operator} {text.as_kind(q, 'size', 21)}"


def _plain_maximum(node: Expr) -> Expr:
    if isinstance(node, Apply) and node.op in ("maximum", "minimum"):
        a, b = node.args
        return select(apply("ge" if node.op == "maximum" else "le", a, b), a, b)
    return node


def _places(arrays: Sequence[Array]) -> tuple[list[Array], list[Array], list[Array]]:
    """The temporaries on the stack, in the workspace, and those that only stand in for a result."""
    fixed, work, lent = [], [], []
    for array in arrays:
        count = product(array.shape)
        if array.stands_for is not None:
            lent.append(array)
        elif isinstance(count, Const) and count.value <= SMALL:
            fixed.append(array)
        else:
            work.append(array)
    return fixed, work, lent


def _computed_extents(
    nest: Nest, shapes: Mapping[str, tuple[Expr, ...]], signed: Collection[str]
) -> dict[str, Expr]:
    """Names for the extents that could be negative, or that nobody would want to read twice."""
    loops = [n for n in walk(nest.body) if isinstance(n, Loop)]
    taken = {*shapes, *(n.index.name for n in loops), *(n.name for n in walk(nest.body) if isinstance(n, Local))}
    taken.add("size_t")  # of an index t
    taken |= {r.name for shape in shapes.values() for e in shape for r in refs(e)}
    found: dict[str, Expr] = {}
    known: set[Expr] = set()

    def add(extent: Expr, wish: str) -> None:
        hard = any(
            n.op not in ("add", "mul") if isinstance(n, Apply) else isinstance(n, Ref) and n.name in signed
            for n in postorder(extent)
        )
        if not hard or extent.key in known:
            return
        known.add(extent.key)
        name, number = wish, 2
        while name in taken:
            name, number = f"{wish}_{number}", number + 1
        taken.add(name)
        found[name] = extent

    for name, shape in shapes.items():
        for axis, extent in enumerate(shape):
            add(extent, f"{name}_size_{axis}")
    by_index: dict[Expr, str] = {}
    for loop in loops:
        if not (isinstance(loop.extent, Apply) and loop.extent.op == "mul"):  # all of several axes
            add(loop.extent, f"size_{loop.index.name}")
        if loop.extent.key in known:
            by_index.setdefault(loop.extent.key, f"size_{loop.index.name}")
    renamed: dict[str, Expr] = {}
    for name, extent in found.items():
        wish = by_index.get(extent.key, name)
        renamed[name if wish in taken or wish in renamed else wish] = extent
    return renamed
