"""One kernel as a function of Python: its loads, what it computes of them, and its stores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..expr import ZERO, Apply, Const, Expr, Index, Ref, apply, conjunction, indices, product, ref, refs
from ..expr.names import Names
from ..ir import Dtype, Equation, Tensor, When, evaluated, show_equations
from ..plan.kernels import Kernel, picks
from ..plan.program import Step
from ..records import dataclass
from ..source import python as py
from ..source.layout import cut_text
from ..source.python import NONE, Assign, Def, Do, Expression, Given, If, Name, Operation, Word, call, method
from .triton_expressions import NAN_TOO, Expressions, Value

MASK, PROGRAM = Word("mask"), call("tl.program_id", py.integer(0))
FIRST_ROW = method(PROGRAM, "to", Word("tl.int64"))  # rows times columns may be more than an int32 counts
JIT = Word("triton.jit")
CONSTANT = "tl.constexpr"
NEUTRAL: Mapping[str, Expression] = {
    "sum": py.Number("0.0"),
    "max": call("float", py.text("-inf")),
    "min": call("float", py.text("inf")),
}
LONGEST = 84  # columns of an equation


def pointer(name: str) -> Word:
    """What the address of a tensor is called."""
    return Word(f"{name}_ptr")


def parts_of(name: str) -> str:
    """What the memory for the parts of a sum is called; or for terms."""
    return f"{name}_parts"


def places_of(name: str) -> str:
    """What the memory for the places of terms is called."""
    return f"{name}_places"


@dataclass(frozen=True)
class Surroundings:
    """What a kernel stands in.

    name       of the kernel
    function   of what was declared
    table      every tensor, packs as one axis
    sizes      the names of sizes
    options    those of numbers that are given by name, with their types
    optional   the inputs that may be absent
    passed     the tensors that forward, or backward, has
    gradients  gradient -> the input that it is of; empty in forward
    """

    name: str
    function: str
    table: Mapping[str, Tensor]
    sizes: Sequence[str]
    options: Mapping[str, Dtype]
    optional: Sequence[str]
    passed: Sequence[str]
    gradients: Mapping[str, str]


class _Scope:
    """Statements in one block, and the elements that are loaded there."""

    def __init__(self, outer: _Scope | None = None) -> None:
        self.lines: list[py.Statement] = []
        self.loaded: dict[Ref, Value] = {} if outer is None else {**outer.loaded}


class KernelText:
    """A kernel: its function, and what a launch passes."""

    def __init__(self, kernel: Kernel, around: Surroundings) -> None:
        self.kernel, self.around = kernel, around
        self.rows, self.lanes = dict(kernel.rows), dict(kernel.lanes)
        self.several = len(self.lanes) > 1
        taken = [*around.table, *around.sizes, *around.options, *(i.name for i in (*self.rows, *self.lanes))]
        self.names = Names(taken)
        self.words: dict[tuple[str, str], Word] = {}  # those of parameters, which a launch speaks of
        self.real = self.word("REAL")
        self.known: dict[Ref, Value] = {}  # what is computed, by its element
        self.spans: dict[str, frozenset[Index]] = {}  # the lanes of what is computed or loaded, by name
        self.read: dict[str, None] = {}
        self.written: dict[str, None] = {}
        self.wide = self._wide()
        self.tree = Expressions(around.function, self._leaf, self.real)
        self.first = _Scope()  # before a loop over rows
        self.scope = self.every = self.first  # the innermost block, and that of a row
        self.last: list[py.Statement] = []
        self.numbered: list[Assign] = []  # the indices of rows, from their numbers
        self.function = self._function()

    # the function

    def _function(self) -> Def:
        kernel = self.kernel
        self._begin()
        if kernel.strided:
            self.scope = self.every = _Scope(self.first)
        for step in kernel.steps:
            self._step(step)
        others = [n for n in (*self.first.lines, *self.every.lines, *self.last) if n not in self.numbered]
        spoken = py.names_in(others)
        unused = [n for n in self.numbered if n.target.name not in spoken]  # type: ignore[union-attr]
        body = [n for n in self.first.lines if n not in unused]
        if kernel.strided:
            end = self.tree.place(product(self.rows.values()))
            rows = call("range", FIRST_ROW, end, call("tl.num_programs", py.integer(0)))
            inner = [n for n in self._row_indices() if n.target.name in spoken]  # type: ignore[union-attr]
            body.append(py.For(self._row, rows, [*inner, *_merged(self.scope.lines)]))
        body = [*_merged(body), *_merged(self.last)]
        names, words = py.spoken(body)
        self.sizes = [n for n in self.around.sizes if n in names]
        self.numbers = [n for n in self.around.options if n in names]
        self.flags = [g for g in self.around.gradients if self.flag(g).name in words]
        self.presence = [n for n in self.around.optional if f"has_{n}" in words]
        self.blocks = [w for w in (self.word("BLOCK"), *map(self.block, self.lanes)) if w.name in words]
        parameters = [Given(pointer(n)) for n in (*self.read, *self.written)]
        parameters += [Given(Name(n)) for n in self.sizes]
        parameters += [Given(Name(n), kind=CONSTANT if self._is_plain(n) else "") for n in self.numbers]
        parameters += [Given(Word(f"has_{n}"), kind=CONSTANT) for n in self.presence]
        parameters += [Given(w, kind=CONSTANT) for w in (*(self.flag(g) for g in self.flags), *self.blocks)]
        parameters += [Given(self.real, kind=CONSTANT)] if self.real.name in words else []
        self.uses_real = self.real.name in words
        return Def(Word(self.around.name), tuple(parameters), body, self._about(), (JIT,))

    def _about(self) -> tuple[str, ...]:
        """The equations."""
        lines = show_equations([e for step in self.kernel.steps for e in step.equations])
        return tuple(part for line in lines for part in cut_text(line, 0, LONGEST))

    def _is_plain(self, option: str) -> bool:
        return self.around.options[option] == Dtype.REAL

    def word(self, kind: str, of: str = "") -> Word:
        """What a parameter is called that is known when a kernel is compiled."""
        if (kind, of) not in self.words:
            self.words[kind, of] = Word(self.names.new(f"{kind}_{of.upper()}" if of else kind))
        return self.words[kind, of]

    def flag(self, gradient: str) -> Word:
        """What tells whether a gradient is needed."""
        return self.word("NEEDS", self.around.gradients[gradient])

    def block(self, i: Index) -> Word:
        """The elements that a program has along an index, a power of two."""
        return self.word("BLOCK", i.name)

    # where a program is

    @property
    def _row(self) -> Expression:
        """The number of a row: the index itself, if there is one."""
        return Name(next(iter(self.rows)).name) if len(self.rows) == 1 else Word("row")

    def _begin(self) -> None:
        lines = self.first.lines
        if self.kernel.flat:
            start = Operation("mul", (FIRST_ROW, self.word("BLOCK")))
            lines.append(
                Assign(self._row, Operation("add", (start, call("tl.arange", py.integer(0), self.word("BLOCK")))))
            )
            lines.append(Assign(MASK, Operation("lt", (self._row, self.tree.place(product(self.rows.values()))))))
            lines += self._row_indices()
        elif self.rows and not self.kernel.strided:
            lines.append(Assign(self._row, FIRST_ROW))
            lines += self._row_indices()
        for place, (i, extent) in enumerate(self.lanes.items()):
            lane: Expression = call("tl.arange", py.integer(0), self.block(i))
            lane = method(lane, "to", Word("tl.int64")) if i in self.wide else lane
            if self.several:
                lane = py.Element(lane, tuple(py.Cut() if k == place else NONE for k in range(len(self.lanes))))
            lines.append(Assign(Name(i.name), lane))
            lines.append(Assign(self._mask_of(i), Operation("lt", (Name(i.name), self.tree.place(extent)))))

    def _row_indices(self) -> list[Assign]:
        """The indices of a row, from its number."""
        if len(self.rows) < 2:
            return []
        found: list[Assign] = []
        rest = self._row
        later = list(self.rows.values())
        for i in self.rows:
            later = later[1:]
            inner = self.tree.place(product(later))
            value = Operation("floordiv", (rest, inner)) if later else rest
            if i is not next(iter(self.rows)):
                value = Operation("mod", (value, self.tree.place(self.rows[i])))
            found.append(Assign(Name(i.name), value))
        self.numbered = found
        return found

    def _mask_of(self, i: Index) -> Word:
        return Word(f"mask_{i.name}") if self.several else MASK

    def _wide(self) -> set[Index]:
        """The lanes that are multiplied by a size in an address, which may be beyond int32."""
        elements = [r for s in self.kernel.steps for e in s.equations for r in (ref(e.target, *e.subscripts), *e.reads)]
        return {i for r in elements for s in r.subscripts[:-1] for i in indices(s) if i in self.lanes}

    def _mask(self, span: Iterable[Index], *more: Expression) -> Expression | None:
        """What tells which elements of a block there are."""
        span = {*span}
        if self.kernel.flat:
            parts: list[Expression] = [MASK] if span else []
        else:
            parts = [self._mask_of(i) for i in self.lanes if i in span]
        parts += more
        return py.joined("bitand", parts) if parts else None

    # what expressions are made of

    def _leaf(self, node: Index | Ref) -> Value:
        if isinstance(node, Index):
            return Value(Name(node.name), Dtype.INT)
        if node in self.known:
            return self.known[node]
        if node in self.scope.loaded:
            return self.scope.loaded[node]
        if node.name in self.around.options:
            return Value(Name(node.name), self.around.options[node.name], self._is_plain(node.name))
        assert not node.subscripts and node.name not in self.around.table, node
        return Value(Name(node.name), Dtype.INT)

    def span(self, root: Expr) -> frozenset[Index]:
        """The lanes along which a value has elements; of a block of rows, its rows."""
        along = self.rows if self.kernel.flat else self.lanes
        found: set[Index] = set()
        stack: list[Expr] = [root]
        while stack:
            node = stack.pop()
            if isinstance(node, Index):
                found |= {node} & along.keys()
            elif isinstance(node, Ref) and node in self.known:
                found |= self.spans.get(_name(self.known[node]), frozenset())
            else:
                stack += node.args
        return frozenset(found)

    # loads

    def _load(self, roots: Sequence[Expr], where: Sequence[Expr] = (), wish: str = "") -> None:
        """Load every element that is not known yet; those whose place is data before what they are the place of.

        where  the conditions under which alone they are read
        wish   what the last of them is called
        """
        cases = evaluated([*((c, ()) for c in where), *((root, tuple(where)) for root in roots)])
        for node in _inner_first([*where, *roots]):
            if node in self.known or node in self.scope.loaded or node.name not in self.around.table:
                continue
            tensor = self.around.table[node.name]
            conditions: list[Expression] = []
            if not all(isinstance(s, (Index, Const)) for s in node.subscripts):
                some = list(cases.get(node, [()]))
                if all(some):
                    conditions.append(py.joined("bitor", [self.tree.condition(conjunction(c)) for c in some]))
                conditions += self._inside(node, tensor)
            name = wish if wish and node is roots[-1] else self._new(node)
            found = Value(Name(name), tensor.dtype)
            home = self.scope
            if not conditions and not tensor.optional:  # before a condition, or a loop, that it does not need
                fixed = self.kernel.strided and {*indices(node)}.isdisjoint(self.rows)
                home = self.first if fixed else self.every
            home.lines.append(Assign(Name(name), self._loaded(node, tensor, conditions)))
            for scope in (home, self.every, self.scope) if home is not self.scope else (home,):
                scope.loaded[node] = found
            self.spans[name] = self.span(node)
            self.read[node.name] = None

    def _inside(self, node: Ref, tensor: Tensor) -> list[Expression]:
        """That subscripts which are data are inside."""
        found: list[Expression] = []
        for s, extent in zip(node.subscripts, tensor.shape, strict=True):
            if any(r.name in self.around.table for r in refs(s)):
                place = self.tree.place(s)
                found.append(Operation("ge", (place, py.integer(0))))
                found.append(Operation("lt", (place, self.tree.place(extent))))
        return found

    def _loaded(self, node: Ref, tensor: Tensor, conditions: Sequence[Expression]) -> Expression:
        mask = self._mask(self.span_of_place(node), *conditions)
        other: Expression = py.Number("0.0" if tensor.dtype == Dtype.REAL else "0")
        if tensor.dtype == Dtype.REAL and conditions:
            other = call("float", py.text("nan"))  # of what is not inside
        options = {} if mask is None else {"mask": mask, "other": other}
        value: Expression = call("tl.load", self._address(node.name, node.subscripts, tensor.shape), **options)
        if tensor.dtype == Dtype.REAL:
            value = method(value, "to", self.real)
        return method(value, "to", Word("tl.int1")) if tensor.dtype == Dtype.BOOL else value

    def span_of_place(self, node: Ref) -> frozenset[Index]:
        """The lanes along which an element is another one."""
        return frozenset(i for s in node.subscripts for i in self._span_with_loaded(s))

    def _span_with_loaded(self, root: Expr) -> frozenset[Index]:
        found = self.span(root)
        for r in refs(root):
            value = self.known.get(r) or self.scope.loaded.get(r)
            if value is not None:
                found |= self.spans.get(_name(value), frozenset())
        return found

    def _new(self, node: Ref) -> str:
        """The name of a variable for an element: that of the tensor, if it is free and has no component named."""
        words = [str(s.value) for s in node.subscripts if isinstance(s, Const)]
        words += [r.name for s in node.subscripts for r in refs(s) if r.name in self.around.table]
        name = "_".join([node.name, *words])
        return self.names.new(name) if words or name in self.spans else name

    def _address(self, name: str, subscripts: Sequence[Expr], shape: Sequence[Expr]) -> Expression:
        """Where an element is, row-major."""
        if self.kernel.flat and tuple(subscripts) == tuple(self.rows) and tuple(shape) == tuple(self.rows.values()):
            return Operation("add", (pointer(name), self._row))
        place = _flat(subscripts, shape)
        if place is ZERO:
            return pointer(name)
        return _sum([pointer(name), self.tree.place(place)])

    # what is computed

    def _step(self, step: Step) -> None:
        """A step; under a condition, where an input must be given for it."""
        with _Under(self, step.when):
            for name, equations in self._groups(step):
                self._value(step, name, equations)

    def _groups(self, step: Step) -> list[tuple[str, list[Equation]]]:
        """The equations of each element, with those that add to one that they pick."""
        groups: dict[tuple[Expr, ...], list[Equation]] = {}
        for e in step.equations:
            home = next((s for s, (first, *_) in groups.items() if s != e.subscripts and picks(first, e)), e.subscripts)
            groups.setdefault(home, []).append(e)
        if len(groups) == 1:
            return [(step.target, next(iter(groups.values())))]
        return [(self.names.new(f"{step.target}_{k}"), found) for k, found in enumerate(groups.values())]

    def _value(self, step: Step, name: str, equations: list[Equation]) -> None:
        """One element of a step: a variable, and where it is kept."""
        first, *others = equations
        element = ref(step.target, *first.subscripts)
        if step.target in self.kernel.scattered:
            self._scatter(step, first)
            return
        if not others and step.target not in self.kernel.results and self._is_copy(step, first):
            self._load([first.body], (), name)
            self.known[element] = self._leaf(first.body)  # type: ignore[arg-type]  # it is an element
            return
        own, table = Name(name), self.around.table
        self._add_up(step, own, equations)
        self.spans[name] = frozenset().union(*(self._span_of(e, first) for e in equations))
        if step.target in self.kernel.parts:
            self._part(step, own, first)
            return
        self.known[element] = Value(own, table[step.target].dtype)
        if step.target in self.kernel.results:
            placed = not all(isinstance(s, (Index, Const)) for s in first.subscripts)
            where = first.conditions if placed else ()  # elsewhere there is no such element
            self._store(step, step.target, own, first.subscripts, table[step.target].shape, where)

    def _add_up(self, step: Step, own: Name, equations: Sequence[Equation]) -> None:
        """The sum of what equations say; what is either there or absent in one place."""
        left = [tuple(w for w in e.when if w not in step.when) for e in equations]
        rest = [*zip(equations, left, strict=True)]
        begun = bool(left[0])
        if [len(w) for w in left[:2]] == [1, 1] and left[0] != left[1] and left[0][0][0] == left[1][0][0]:
            self._assign_either(own, equations[:2])
            rest = rest[2:]
        elif begun:
            self.scope.lines.append(Assign(own, py.Number("0.0")))
        for e, when in rest:
            with _Under(self, when):
                tree, how = self._right(e, equations[0]), "+=" if begun else "="
                if begun and isinstance(tree, Operation) and tree.op == "neg":
                    tree, how = tree.operands[0], "-="
                self.scope.lines.append(Assign(own, tree, how))
            begun = True

    def _is_copy(self, step: Step, e: Equation) -> bool:
        """Whether it is an element of another tensor, as it stands."""
        table, body = self.around.table, e.body
        if not isinstance(body, Ref) or body.name not in table or e.where is not None or e.reduce != "none":
            return False
        return not e.when and table[body.name].dtype == table[step.target].dtype

    def _assign_either(self, own: Name, equations: Sequence[Equation]) -> None:
        bodies = []
        outer = self.scope
        for e in equations:
            self.scope = _Scope(outer)
            self.scope.lines.append(Assign(own, self._right(e, e)))
            bodies.append(self.scope.lines)
        self.scope = outer
        (name, present), *_ = [w for w in equations[0].when if w not in equations[1].when]
        self.scope.lines.append(If(self._given(name, present), *bodies))

    def _given(self, name: str, present: bool) -> Expression:
        """Whether an optional input is given."""
        if name in self.around.passed:
            self.read.setdefault(name)
            return Operation("is not" if present else "is", (pointer(name), NONE))
        found = Word(f"has_{name}")
        return found if present else Operation("not", (found,))

    def _right(self, e: Equation, first: Equation) -> Expression:
        """What an equation adds to its element: 0 where it does not hold."""
        moved = [(a, b) for a, b in zip(first.subscripts, e.subscripts, strict=True) if a is not b]
        where = [*e.conditions, *(apply("eq", a, b) for a, b in moved)]
        self._load([e.body], where)
        tree = self.tree(e.body)
        if e.reduce == "none":
            condition = self.tree.condition(conjunction(where)) if where else None
            if condition is None:
                return tree
            if isinstance(tree, Operation) and tree.op == "neg":  # in front of the choice
                return Operation("neg", (call("tl.where", condition, tree.operands[0], py.Number("0.0")),))
            return call("tl.where", condition, tree, py.Number("0.0"))
        return self._reduced(e, tree, where)

    def _span_of(self, e: Equation, first: Equation) -> frozenset[Index]:
        span = self._span_with_loaded(e.body)
        for c in e.conditions:
            span |= self._span_with_loaded(c)
        span |= {a for a, b in zip(first.subscripts, e.subscripts, strict=True) if a is not b and isinstance(a, Index)}
        return frozenset(i for i in span if e.reduce == "none" or i not in {i for i, _ in e.reduced})

    # reductions

    def _reduced(self, e: Equation, tree: Expression, where: Sequence[Expr]) -> Expression:
        """A reduction over lanes; over rows it is that of a part."""
        along = self.rows if self.kernel.flat else self.lanes
        reduced = [i for i, _ in e.reduced if i in along]
        if not reduced:
            if not where:
                return tree
            return call("tl.where", self.tree.condition(conjunction(where)), tree, NEUTRAL[e.reduce])
        conditions = [self.tree.condition(conjunction(where))] if where else []
        mask = self._mask(reduced, *conditions)
        if e.reduce != "sum" or where or not self._is_0_outside(e.body, reduced):
            assert mask is not None
            tree = call("tl.where", mask, tree, NEUTRAL[e.reduce])
        if self.kernel.flat or not self.several:
            return call(f"tl.{e.reduce}", tree, axis=py.integer(0))
        if self.lanes.keys() <= {*reduced} | (self.lanes.keys() - self._span_with_loaded(e.body)):
            return call(f"tl.{e.reduce}", tree)
        for i in reduced:
            place = py.integer(list(self.lanes).index(i))
            tree = call(f"tl.{e.reduce}", tree, axis=place, keep_dims=Word("True"))
        return tree

    def _is_0_outside(self, body: Expr, reduced: Sequence[Index]) -> bool:
        """Whether it is 0 where a block has more elements than there are: what is loaded is."""
        match body:
            case Ref() if body in self.scope.loaded or body in self.known:
                value = self.scope.loaded.get(body)
                loaded = value is not None and all(isinstance(s, (Index, Const)) for s in body.subscripts)
                return loaded and {*reduced} <= {*body.subscripts}
            case Apply(op="mul", args=(a, b)):
                return self._is_0_outside(a, reduced) and (isinstance(b, Const) or self._is_0_outside(b, reduced))
            case Apply(op="add" | "sub", args=(a, b)):
                return self._is_0_outside(a, reduced) and self._is_0_outside(b, reduced)
            case Apply(op="pow", args=(a, Const())):
                return self._is_0_outside(a, reduced) and body.args[1].value > 0  # type: ignore[attr-defined]
            case _:
                return False

    # stores

    def _needed(self, step: Step, lines: Sequence[py.Statement]) -> list[py.Statement]:
        """What is done for some gradients alone."""
        launched = {g for s in self.kernel.steps if s.target in self.kernel.results for g in s.serves}
        asked = [g for g in step.serves if g in self.around.gradients]
        if not asked or {*asked} >= launched:
            return [*lines]
        return [If(py.joined("or", [self.flag(g) for g in asked]), [*lines])]

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
        span = frozenset(i for s in (*subscripts, *where) for i in self._span_with_loaded(s))
        mask = self._mask(span, *([self.tree.condition(conjunction(where))] if where else []))
        options = {} if mask is None else {"mask": mask}
        address = self._address(name, subscripts, shape)
        self.scope.lines += self._needed(step, [Do(call("tl.store", address, value, **options))])

    def _part(self, step: Step, own: Name, e: Equation) -> None:
        """The part of a sum that a program, or a row, has."""
        shape, name = self.around.table[step.target].shape, parts_of(step.target)
        self.written[name] = None
        rows = [(i, extent) for i, extent in self.kernel.rows if i in {i for i, _ in e.reduced}]
        if not self.kernel.flat and not (self.kernel.strided and self.kernel.sums_all(step.target)):
            subscripts, extents = [i for i, _ in rows], [extent for _, extent in rows]
            self._store(step, name, own, (*subscripts, *e.subscripts), (*extents, *shape))
            return
        start = Operation("mul", (PROGRAM, self.tree.place(product(shape)))) if shape else PROGRAM
        inner = _flat(e.subscripts, shape)
        address = _sum([pointer(name), start, *([self.tree.place(inner)] if inner is not ZERO else [])])
        mask = self._mask(i for s in e.subscripts for i in self._span_with_loaded(s))
        store = Do(call("tl.store", address, own, **({} if mask is None else {"mask": mask})))
        if self.kernel.flat:
            self.scope.lines += self._needed(step, [store])
            return
        self._accumulate(step, own, e)
        self.last += self._needed(step, [store])

    def _accumulate(self, step: Step, own: Name, e: Equation) -> None:
        """The parts of the rows of a program, added up."""
        value = self.scope.lines.pop()
        assert isinstance(value, Assign)
        shown = [i for i, _ in e.shown]
        extents = [self.block(i) if i in shown else py.integer(1) for i in self.lanes]
        if not self.several or not any(i in shown for i in self.lanes):
            extents = [self.block(i) for i in self.lanes if i in shown]
        self.first.lines.append(Assign(own, call("tl.full", py.Several(tuple(extents)), NEUTRAL[e.reduce], self.real)))
        if e.reduce == "sum":
            more = Assign(own, value.value, "+=")
        else:
            more = Assign(own, call(f"tl.{e.reduce}imum", own, value.value, NAN_TOO))
        self.scope.lines += self._needed(step, [more])

    def _scatter(self, step: Step, e: Equation) -> None:
        """The term of a row, and the place that it is added to; nothing is added where the equation does not hold."""
        shape = self.around.table[step.target].shape
        term, place = parts_of(step.target), places_of(step.target)
        at = _flat(e.subscripts, shape)
        self._load([e.body, at], e.conditions)
        tree, where = self.tree(e.body), self.tree.place(at)
        if e.conditions:
            condition = self.tree.condition(conjunction(e.conditions))
            tree = call("tl.where", condition, tree, py.Number("0.0"))
            where = call("tl.where", condition, where, py.integer(0))
        subscripts, extents = [i for i, _ in e.box], [extent for _, extent in e.box]
        self._store(step, term, tree, subscripts, extents)
        self._store(step, place, where, subscripts, extents)


class _Under:
    """What is built while it lasts stands under a condition on optional inputs."""

    def __init__(self, text: KernelText, when: When) -> None:
        self.text, self.when = text, when

    def __enter__(self) -> None:
        self.outer = self.text.scope
        if self.when:
            self.text.scope = _Scope(self.outer)

    def __exit__(self, *_: object) -> None:
        if self.when:
            asked = py.joined("and", [self.text._given(*w) for w in self.when])
            self.outer.lines.append(If(asked, self.text.scope.lines))
            self.text.scope = self.outer


def _flat(subscripts: Sequence[Expr], shape: Sequence[Expr]) -> Expr:
    """The number of an element, row-major."""
    place: Expr = ZERO
    for s, extent in zip(subscripts, shape, strict=True):
        place = s if place is ZERO else apply("add", apply("mul", place, extent), s)
    return place


def _merged(lines: Sequence[py.Statement]) -> list[py.Statement]:
    """Neighbours under one condition as one block."""
    found: list[py.Statement] = []
    for line in lines:
        last = found[-1] if found else None
        if isinstance(line, If) and isinstance(last, If) and line.condition == last.condition:
            if not (line.otherwise or last.otherwise):
                found[-1] = If(last.condition, _merged([*last.body, *line.body]))
                continue
        found.append(If(line.condition, _merged(line.body), _merged(line.otherwise)) if isinstance(line, If) else line)
    return found


def _sum(parts: Sequence[Expression]) -> Expression:
    """A sum, in which those that are sums themselves have no brackets."""
    first, *rest = parts
    for part in rest:
        match part:
            case Operation("add", (a, b)):
                first = _sum([first, a, b])
            case _:
                first = Operation("add", (first, part))
    return first


def _name(value: Value | None) -> str:
    return value.tree.name if value is not None and isinstance(value.tree, Name) else ""


def _inner_first(roots: Sequence[Expr]) -> list[Ref]:
    """The elements that are read, each behind those in its subscripts."""
    found: dict[Ref, None] = {}
    stack: list[tuple[Expr, bool]] = [(root, False) for root in reversed(roots)]
    seen: set[Expr] = set()
    while stack:
        node, ready = stack.pop()
        if ready:
            assert isinstance(node, Ref)
            found[node] = None
            continue
        if node in seen:
            continue
        seen.add(node)
        if isinstance(node, Ref):
            stack.append((node, True))
        stack += [(a, False) for a in reversed(node.args)]
    return list(found)
