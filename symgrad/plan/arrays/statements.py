"""A procedure as statements on arrays: which values get a line of their own, and what each line is guarded by."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from ...expr import ZERO, Const, Expr, Index, Ref, is_exact, postorder, ref, select, value_of
from ...ir import Equation, Role
from ..program import Procedure, Program, Step
from .layout import Pattern, frame, kept_axes
from .spell import Speller
from .tree import (
    ALL,
    ARRAYS,
    AddAt,
    Array,
    Assign,
    BroadcastTo,
    Copy,
    Einsum,
    Elementwise,
    Full,
    Guard,
    MatMul,
    Num,
    Permute,
    Reshape,
    Stack,
    Statement,
    Take,
    Update,
    Var,
    below,
    in_place,
    sizes_in,
    sizes_of,
)
from .values import Value

Fits = Callable[[Statement], bool]


@dataclass(frozen=True, slots=True)
class ArrayProcedure:
    """Forward or backward as statements.

    sizes   the names of the sizes (and packs) that the statements mention, in the order of the declaration
    shapes  the stored shape of every tensor that keeps reduced axes
    """

    statements: tuple[Statement, ...]
    sizes: tuple[str, ...]
    kept: Mapping[str, Pattern]


def array_procedures(program: Program, fits: Fits) -> tuple[ArrayProcedure, ArrayProcedure]:
    """Return forward and backward; `fits` tells whether a statement is short enough to be one line."""
    forward = _Builder(program, program.forward, {}, fits, fixed=set(program.derivative.primal.outputs))
    first = forward.build()
    given = {t: p for t, p in first.kept.items() if t in program.saved}
    backward = _Builder(program, program.backward, given, fits, fixed={g for _, g in program.derivative.gradients})
    return first, backward.build()


@dataclass(frozen=True, slots=True)
class _Line:
    """A statement with what it is computed for, before lines are grouped."""

    statement: Statement
    serves: tuple[str, ...]
    when: tuple[tuple[str, bool], ...]


class _Builder:
    def __init__(
        self,
        program: Program,
        procedure: Procedure,
        given: Mapping[str, Pattern],
        fits: Fits,
        fixed: Collection[str],
    ) -> None:
        self.program = program
        self.procedure = procedure
        self.fits = fits
        self.function = program.derivative.function
        self.numbers = [d.name for d in self.function.dims] + [o.name for o in self.function.options]
        equations = [e for step in procedure.steps for e in step.equations]
        speller = Speller(program.table, self.numbers, {})
        values = {k: speller.values(e) for k, e in enumerate(equations)}
        contracted = {k for k, e in enumerate(equations) if speller.contracted(e)}
        self.kept = kept_axes(equations, values, contracted, fixed, given)
        self.speller = Speller(program.table, self.numbers, self.kept)
        self.backward = procedure is program.backward

    def build(self) -> ArrayProcedure:
        lines = [line for step in self.procedure.steps for line in self._step(step)]
        lines = self._inlined(lines)
        lines = self._owned(lines)
        statements = self._grouped(lines)
        mentioned = _sizes(statements)
        sizes = tuple(d.name for d in self.function.dims if d.name in mentioned)
        return ArrayProcedure(tuple(statements), sizes, self.kept)

    # one step

    def _step(self, step: Step) -> list[_Line]:
        target = step.target
        stacked = self._stacked(step)
        if stacked is not None:
            return [_Line(Assign(target, stacked), step.serves, step.when)]
        lines: list[_Line] = []
        equations = list(step.equations)
        extra = [tuple(w for w in e.when if w not in step.when) for e in equations]
        first = equations[0]
        if not self._fills(first) or (extra[0] and not self._alternatives(equations, extra)):
            lines.append(_Line(Assign(target, Full(Num(_zero()), self._shape(target))), step.serves, step.when))
        place = 0
        while place < len(equations):
            e, when = equations[place], extra[place]
            started = bool(lines)
            if not started and when:
                then = self._store(e, False)
                otherwise = self._store(equations[place + 1], False)
                lines.append(_Line(Guard((), when, (then,), (otherwise,)), step.serves, step.when))
                place += 2
                continue
            statement = self._store(e, started)
            if when:
                statement = Guard((), when, (statement,))
            lines.append(_Line(statement, step.serves, step.when))
            place += 1
        return lines

    def _alternatives(self, equations: Sequence[Equation], extra: Sequence[tuple[tuple[str, bool], ...]]) -> bool:
        """Whether the first two equations are one value with an optional input and one without."""
        if len(equations) < 2 or len(extra[0]) != 1 or len(extra[1]) != 1:
            return False
        ((name, present),), ((other, absent),) = extra[0], extra[1]
        return name == other and present != absent and self._fills(equations[1])

    def _store(self, e: Equation, started: bool) -> Statement:
        """The statement that writes (or adds) one equation."""
        guarded = e.where is not None and not self._fills(e)
        if guarded:  # where the condition fails, 0 is added to the first element
            assert e.where is not None
            subscripts = tuple(select(e.where, s, ZERO) for s in e.subscripts)
            e = replace(e, subscripts=subscripts, body=select(e.where, e.body, ZERO), where=None)
        value = self.speller.value(e)
        if self._fills(e) and started:
            more = self.speller.laid(value, tuple(s for s in e.subscripts if isinstance(s, Index)))
            return Assign(e.target, Elementwise("add", (Var(e.target), more.array)))
        if self._fills(e):
            return Assign(e.target, self._laid(e, value))
        order = frame(e, self.speller.values(e))
        items, once, axes = self.speller.scatter(e, order)
        if value.axes != axes:
            wanted = tuple(i for i in axes if i is not None)
            value = self.speller.laid(value, wanted)
        once = once and not guarded
        return Update(e.target, items, value.array) if once else AddAt(e.target, items, value.array)

    def _fills(self, e: Equation) -> bool:
        """Whether `e` writes every element of its target, each once."""
        return e.plain and self.speller.whole_axes(ref(e.target, *e.subscripts), dict(e.box))

    def _laid(self, e: Equation, value: Value) -> Array:
        """`value` with the axes of the target: kept ones where they are kept, all of them otherwise."""
        wanted = tuple(s for s in e.subscripts if isinstance(s, Index))
        if e.target in self.kept:
            return value.array
        if value.axes == wanted and value.axes:
            return value.array
        number = not value.axes and not any(isinstance(a, Var) for a in below(value.array))
        if number and (wanted or e.target in self.procedure.returns):
            extents = dict(e.box)
            return Full(value.array, tuple(extents[i] for i in wanted))
        if value.axes == wanted:
            return value.array
        if value.labels == wanted:  # kept axes that this tensor does not keep
            items = tuple("..." if _is_pack(a) else ZERO if a is None else ALL for a in value.axes)
            return Take(value.array, items)
        return self.speller.spread(value, wanted, dict(e.box)).array

    def _stacked(self, step: Step) -> Array | None:
        """Equations that write 0, 1, 2, ... of one axis are one stack."""
        equations = step.equations
        if any(e.when != step.when or e.where is not None for e in equations) or not equations[0].subscripts:
            return None
        axes = [k for k, s in enumerate(equations[0].subscripts) if is_exact(s)]
        if len(axes) != 1:
            return None
        (axis,) = axes
        rest = [s for k, s in enumerate(equations[0].subscripts) if k != axis]
        extent = self.program.table[step.target].shape[axis]
        items: dict[int, Array] = {}
        for e in equations:
            mine = [s for k, s in enumerate(e.subscripts) if k != axis]
            if mine != rest or not all(isinstance(s, Index) for s in rest) or not is_exact(e.subscripts[axis]):
                return None
            inner = replace(e, subscripts=tuple(rest))
            number = int(value_of(e.subscripts[axis]))
            array = self._laid(inner, self.speller.value(inner))
            items[number] = Elementwise("add", (items[number], array)) if number in items else array
        complete = is_exact(extent) and sorted(items) == list(range(int(value_of(extent))))
        if not complete:
            return None
        return Stack(tuple(items[k] for k in sorted(items)), axis - len(equations[0].subscripts))

    def _shape(self, name: str) -> tuple[Expr, ...]:
        return self.program.table[name].shape

    # lines

    def _inlined(self, lines: list[_Line]) -> list[_Line]:
        """Without the lines whose value is read once, in a line that stays short enough with it in place."""
        keep = {*self.program.saved, *self.procedure.returns}
        uses = _uses(lines)
        assigned: dict[str, int] = {}
        reader: dict[str, int] = {}
        for place, line in enumerate(lines):
            for name in _targets(line.statement):
                assigned[name] = assigned.get(name, 0) + 1
            for name in _read(line.statement):
                reader.setdefault(name, place)
        result: list[_Line | None] = [*lines]
        for place in range(len(lines)):
            current = result[place]
            assert current is not None
            s = current.statement
            if not isinstance(s, Assign) or s.name in keep or assigned[s.name] != 1 or uses.get(s.name) != 1:
                continue
            tensor = self.program.table[s.name]
            if tensor.named and not (self.backward and tensor.role == Role.LOCAL):
                continue
            target = result[reader[s.name]]
            assert target is not None
            merged = _substituted(target.statement, s.name, s.value)
            if self._simple(s.value, target.statement, s.name) and self.fits(merged):
                result[reader[s.name]] = replace(target, statement=merged)
                result[place] = None
        return [line for line in result if line is not None]

    def _simple(self, value: Array, reader: Statement, name: str) -> bool:
        """A product of matrices is not put into another."""
        inside_matrix = any(
            isinstance(a, (MatMul, Einsum)) and Var(name) in below(a) for a in _arrays(reader)
        )
        return not (inside_matrix and any(isinstance(a, (MatMul, Einsum)) for a in below(value)))

    def _owned(self, lines: list[_Line]) -> list[_Line]:
        """What is returned never shares memory with an input or with another result, and what is written to is ours."""
        roots: dict[str, str] = {}
        result: list[_Line] = []
        returned = set(self.procedure.returns)
        written = {x.statement.name for x in lines if isinstance(x.statement, (Update, AddAt))}
        inputs = set(self.procedure.reads) if not self.backward else set()
        claimed: set[str] = set(inputs)
        for line in lines:
            s = line.statement
            if isinstance(s, Assign):
                root = _root(s.value, roots)
                roots[s.name] = root if root is not None else s.name
                readonly = isinstance(s.value, BroadcastTo)
                alias = root is not None and s.name in returned and (root in claimed or root in self.program.saved)
                ours = root is not None and (s.name in written)
                if alias or ours or readonly and s.name in returned:
                    line = replace(line, statement=Assign(s.name, Copy(s.value)))
                    roots[s.name] = s.name
                elif root is not None and s.name in returned:
                    claimed.add(root)
            result.append(line)
        return result

    def _grouped(self, lines: list[_Line]) -> list[Statement]:
        """Lines under one guard stand together; what serves every gradient of several is not guarded by them."""
        everything = tuple(g for _, g in self.program.derivative.gradients)
        groups: list[tuple[tuple[str, ...], tuple[tuple[str, bool], ...], list[Statement]]] = []
        for line in lines:
            serves = line.serves
            if len(everything) > 1 and set(serves) == set(everything):
                serves = ()
            if groups and groups[-1][:2] == (serves, line.when):
                groups[-1][2].append(line.statement)
            else:
                groups.append((serves, line.when, [line.statement]))
        statements: list[Statement] = []
        for serves, when, body in groups:
            statements += [Guard(serves, when, tuple(body))] if serves or when else body
        return statements


def _zero() -> Const:
    assert isinstance(ZERO, Const)
    return ZERO


def _is_pack(i: Index | None) -> bool:
    return i is not None and not i.name.isidentifier()


def _targets(s: Statement) -> list[str]:
    if isinstance(s, Guard):
        return [name for inner in (*s.body, *s.otherwise) for name in _targets(inner)]
    return [s.name]


def _arrays(s: Statement) -> list[Array]:
    """Every array expression of a statement."""
    if isinstance(s, Guard):
        return [a for inner in (*s.body, *s.otherwise) for a in _arrays(inner)]
    tops: list[Array] = [s.value]
    if isinstance(s, (Update, AddAt)):
        tops += [i for i in s.items if isinstance(i, ARRAYS)]
    return [a for top in tops for a in below(top)]


def _uses(lines: Sequence[_Line]) -> dict[str, int]:
    uses: dict[str, int] = {}
    for line in lines:
        for a in _arrays(line.statement):
            if isinstance(a, Var):
                uses[a.name] = uses.get(a.name, 0) + 1
    return uses


def _read(s: Statement) -> list[str]:
    return [a.name for a in _arrays(s) if isinstance(a, Var)]


def _substituted(s: Statement, name: str, value: Array) -> Statement:
    if isinstance(s, Guard):
        return replace(
            s,
            body=tuple(_substituted(b, name, value) for b in s.body),
            otherwise=tuple(_substituted(b, name, value) for b in s.otherwise),
        )
    if isinstance(s, Assign):
        return Assign(s.name, in_place(s.value, name, value))
    items = tuple(in_place(i, name, value) if isinstance(i, ARRAYS) else i for i in s.items)
    return replace(s, items=items, value=in_place(s.value, name, value))


def _root(value: Array, roots: Mapping[str, str]) -> str | None:
    """The tensor whose memory `value` is a view of; None if it is new."""
    match value:
        case Var(name):
            return roots.get(name, name)
        case Take(base, items):
            return None if any(isinstance(i, ARRAYS) for i in items) else _root(base, roots)
        case Permute(base, _) | Reshape(base, _) | BroadcastTo(base, _):
            return _root(base, roots)
        case _:
            return None


def _sizes(statements: Sequence[Statement]) -> set[str]:
    """The names in the sizes that statements mention."""
    expressions: list[Expr] = []
    for s in statements:
        for inner in _flat(s):
            expressions += [e for a in _arrays(inner) for e in sizes_of(a)]
            if isinstance(inner, (Update, AddAt)):
                expressions += sizes_in(inner.items)
    return {n.name for e in expressions for n in postorder(e) if isinstance(n, Ref)}


def _flat(s: Statement) -> list[Statement]:
    if isinstance(s, Guard):
        return [x for inner in (*s.body, *s.otherwise) for x in _flat(inner)]
    return [s]
