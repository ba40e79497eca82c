"""A procedure as statements on arrays: which values get a line of their own, and what each line is guarded by."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping, Sequence

from ...expr import ONE, ZERO, Apply, Expr, Ref, postorder, ref, refs, substitute
from ...expr.names import Names
from ...ir import Equation, Role, When
from ...ops.matrices import MATRICES
from ...records import dataclass, replace
from ..conditions import Divisors
from ..program import Item, Procedure, Program, Recurrence, Step
from .affine import Sizes
from .below import below, is_array, not_zero, options_that_divide, told
from .borders import Borders
from .commands import AddAt, Assign, For, Guard, Statement, Unpack, Update, flat, replaced, tops
from .guards import Line, arrays_in, as_read, by_guards, names_read, targets_of
from .layout import Pattern, kept_axes
from .named import named
from .scans import Accumulated, accumulated
from .spell import Speller
from .stores import Stores
from .tree import (
    EXTREMES,
    PRODUCTS,
    Array,
    BroadcastTo,
    Copy,
    Diagonal,
    Elementwise,
    MatrixCall,
    Permute,
    Reshape,
    Scan,
    Take,
    Var,
    Windows,
)

Width = Callable[[Statement], int]
BETWEEN = 2  # characters that stand between two operands, at least: **
VIEWS = (Take, Permute, Reshape, BroadcastTo, Windows, Diagonal)  # they have the memory of their base


class Fits:
    """Tells whether a value may move into the line that reads it."""

    def __init__(self, width: Width, longest: int) -> None:
        self._width, self._longest = width, longest

    def __call__(self, merged: Statement) -> bool:
        return self._width(merged) <= self._longest

    def may(self, value: Assign, reader: Statement) -> bool:
        """Whether the names that both hold, and what stands between two operands, leave room for that: asked before the
        line is made."""
        if isinstance(reader, (Guard, For)):  # several lines
            return True
        read = [*arrays_in(value), *arrays_in(reader)]
        names = sum([len(a.name) for a in read if isinstance(a, Var)])
        between = BETWEEN * sum([isinstance(a, Elementwise) and len(a.args) == 2 for a in read])
        return max(names, names + between - len(value.name)) <= self._longest


@dataclass(frozen=True, slots=True)
class ArrayProcedure:
    """Forward or backward as statements.

    sizes   the names of the sizes (and packs) that the statements mention, in the order of the declaration
    kept    the stored shape of every tensor that keeps reduced axes
    counts  (name, extent) of the extents that may be negative where nothing fits; the name stands for at least 0
    needs   conditions on options under which the statements are right
    """

    statements: tuple[Statement, ...]
    sizes: tuple[str, ...]
    kept: Mapping[str, Pattern]
    counts: tuple[tuple[str, Expr], ...] = ()
    needs: tuple[Expr, ...] = ()


def array_procedures(
    program: Program, width: Width, longest: int, library: Mapping[str, int]
) -> tuple[ArrayProcedure, ArrayProcedure]:
    """Return forward and backward.

    width    tells how long a statement is on one line
    longest  how long a line may be with the value of another in it
    library  the calls that the language has for whole equations, and along how many axes
    """
    plain: set[str] = set()
    results, gradients = set(program.derivative.primal.outputs), {g for _, g in program.derivative.gradients}
    fits = Fits(width, longest)
    first = _Builder(program, program.forward, {}, fits, results, plain, library).build()
    given = {t: p for t, p in first.kept.items() if t in program.saved}
    backward = _Builder(program, program.backward, given, fits, gradients, plain, library)
    return first, backward.build()


class _Builder:
    def __init__(
        self,
        program: Program,
        procedure: Procedure,
        given: Mapping[str, Pattern],
        fits: Fits,
        fixed: Collection[str],
        plain: set[str],
        library: Mapping[str, int],
    ) -> None:
        self.program = program
        self.procedure = procedure
        self.fits = fits
        self.function = program.derivative.function
        self.tensors = program.table_of(procedure)
        self.sizes = Sizes(self.function, Names(program.names))
        for name, extent in program.computed:
            self.sizes.named(name, extent)
        self.tensors = {n: program.short(t) for n, t in self.tensors.items()}
        written = [e for p in (program.forward, program.backward) for step in p.steps for e in step.equations]
        extremes = {e.target: e.reduce for e in written if e.reduce in EXTREMES}
        ties = {e.target for e in written if _counts_ties(e, extremes)}
        borders = Borders(self.tensors, self.sizes, given, extremes)
        self.scans: dict[str, Accumulated] = {}
        self.steps = [
            replace(s, equations=tuple(map(borders.rewritten, s.equations)))
            if isinstance(s, Step)
            else self._numbered(s, borders)
            for s in map(self._scanned, self._by_names(procedure.steps))
        ]
        bordered = {a.name for pad in borders.pads.values() for a in below(pad) if isinstance(a, Var)}
        equations = [e for step in self.steps for e in step.equations]
        harmless = Divisors(self.function, program.tensors, program.forward.equations, program.backward.equations)
        speller = Speller(self.tensors, self.sizes, borders.pads, ties, harmless, plain, library)
        contracted = {k for k, e in enumerate(equations) if speller.contracted(e)}
        whole = {name for s in self.steps for name in _written_in_turns(s)}
        whole |= {e.target for e in equations if e.matrix is not None or not e.fills(self.tensors[e.target])}
        whole |= self.scans.keys()
        fixed = {*fixed, *bordered, *whole}
        speller.kept = kept_axes(equations, speller.values, contracted, fixed, given, speller.axes)
        self.kept = speller.kept
        self.stores = Stores(speller, borders, procedure.returns)
        self.settled = speller.settled
        self.backward = procedure is program.backward

    def _by_names(self, steps: Sequence[Item]) -> Sequence[Item]:
        """The steps by the names of what is computed of sizes."""
        named = self.program.named
        return [s.mapped(lambda e: e.mapped(named), named) for s in steps] if self.program.computed else steps

    def build(self) -> ArrayProcedure:
        lines = [line for item in self.steps for line in self._lines(item)]
        lines = self._read(self._inlined(_joined(lines)))
        lines = named(lines, self.sizes, self.tensors, self._given(), self.stores.changes)
        lines = self._owned(as_read(lines, {*self.program.saved, *self.procedure.returns}))
        statements = self._grouped(lines)
        mentioned = _sizes(statements)
        counts = tuple((n.name, extent) for n, extent in self.sizes.counts.values() if n.name in mentioned)
        mentioned |= {r.name for _, extent in counts for r in refs(extent)}
        sizes = tuple(d.name for d in self.function.dims if d.name in mentioned)
        divide = options_that_divide((a for s in statements for a in tops(s)), [o.name for o in self.function.options])
        needs = dict.fromkeys((*self.sizes.needs, *map(not_zero, divide)))
        return ArrayProcedure(tuple(statements), sizes, self.kept, counts, tuple(needs))

    def _given(self) -> set[str]:
        """What is read and there whenever the procedure is called."""
        sometimes = {name for step in self.program.forward.steps if step.when for name in step.targets}
        return {n for n in self.procedure.reads if n not in sometimes and not self.tensors[n].optional}

    def _scanned(self, item: Item) -> Item:
        """A recurrence that is a scan as the step that computes its terms."""
        scan = accumulated(item, self.tensors[item.targets[0]]) if isinstance(item, Recurrence) else None
        if scan is None:
            return item
        if scan.op is not None:
            self.scans[scan.step.target] = scan
        return scan.step

    def _numbered(self, loop: Recurrence, borders: Borders) -> Recurrence:
        """The loop, its index a number in what each turn computes."""
        number = ref(loop.index.name)
        self.sizes.loops[number] = (loop.index, loop.extent)
        self.sizes.numbers.add(loop.index.name)
        at: dict[Expr, Expr] = {loop.index: number}

        def put(e: Equation) -> Equation:
            return e.mapped(lambda node: substitute(node, at))

        first, turn, last = (
            tuple(item if isinstance(item, Step) else self._numbered(item, borders) for item in some)
            for some in (loop.first, loop.turn, loop.last)
        )
        turn = tuple(item.mapped(lambda e: borders.in_turn(put(e)), lambda size: substitute(size, at)) for item in turn)
        return replace(loop, first=first, turn=turn, last=last)

    def _lines(self, item: Item) -> list[Line]:
        """The lines of one step, or of a recurrence."""
        if isinstance(item, Step):
            statements = self.stores.step(item)
            if item.target in self.scans:
                statements = self._accumulated(statements, self.scans[item.target])
            return [Line(statement, item.serves, item.when) for statement in statements]
        first, turn, last = (
            [line for inner in some for line in self._lines(inner)] for some in (item.first, item.turn, item.last)
        )
        body = _asked(self._inlined(turn), item.serves)
        loop = For(item.index.name, item.extent, body, item.reverse)
        before, after = (
            [replace(line, serves=line.serves or item.serves, when=item.when) for line in some]
            for some in (first, last)
        )
        return [*before, Line(loop, item.serves, item.when), *after]

    def _accumulated(self, statements: list[Statement], scan: Accumulated) -> list[Statement]:
        """The terms of a scan, then what they are combined to; in one statement where the terms are one."""
        name = scan.step.target
        axis = scan.axis if len(self.tensors[name].shape) > 1 else None
        assert scan.op is not None
        *before, last = statements
        if isinstance(last, Assign) and last.name == name:
            return [*before, Assign(name, Scan(scan.op, last.value, axis, scan.reverse))]
        return [*statements, Assign(name, Scan(scan.op, Var(name), axis, scan.reverse))]

    # lines

    def _inlined(self, lines: list[Line]) -> list[Line]:
        """Without the lines whose value is read once, in a line that stays short enough with it in place."""
        keep = {*self.program.saved, *self.procedure.returns}
        uses = _uses(lines)
        assigned: dict[str, int] = {}
        reader: dict[str, int] = {}
        for place, line in enumerate(lines):
            for name in targets_of(line.statement):
                assigned[name] = assigned.get(name, 0) + 1
            for name in names_read(line.statement):
                reader.setdefault(name, place)
        result: list[Line | None] = [*lines]
        for place in range(len(lines)):
            current = result[place]
            assert current is not None
            s = current.statement
            if not isinstance(s, Assign) or s.name in keep or assigned[s.name] != 1 or uses.get(s.name) != 1:
                continue
            tensor = self.tensors[s.name]
            if tensor.named and not (self.backward and tensor.role == Role.LOCAL):
                continue
            if reader[s.name] <= place:  # in the next turn of a loop
                continue
            target = result[reader[s.name]]
            assert target is not None
            if not self.fits.may(s, target.statement):
                continue
            if not self._simple(s.value, target.statement, s.name) or _in_loop(target.statement, s.name):
                continue
            merged = self.settled(replaced(target.statement, Var(s.name), s.value))
            if self.fits(merged):
                result[reader[s.name]] = replace(target, statement=merged)
                result[place] = None
        return [line for line in result if line is not None]

    def _read(self, lines: list[Line]) -> list[Line]:
        """Without what nothing reads: a local in another shape, where that is gone over."""
        read = {*self.program.saved, *self.procedure.returns}
        result: list[Line] = []
        for line in reversed(lines):
            if not isinstance(line.statement, Assign) or line.statement.name in read:
                result.append(line)
                read.update(names_read(line.statement), _sizes([line.statement]))
        return result[::-1]

    def _simple(self, value: Array, reader: Statement, name: str) -> bool:
        """A product of matrices is not put into another."""
        inside_matrix = any(isinstance(a, PRODUCTS) and Var(name) in below(a) for a in arrays_in(reader))
        return not (inside_matrix and any(isinstance(a, PRODUCTS) for a in below(value)))

    def _owned(self, lines: list[Line]) -> list[Line]:
        """What is returned never shares memory with an input or with another result, and what is written to is ours."""
        roots: dict[str, str] = {}
        returned = set(self.procedure.returns)
        written = {s.name for x in lines for s in flat(x.statement) if isinstance(s, (Update, AddAt))}
        inputs = set(self.procedure.reads) if not self.backward else set()
        claimed: set[str] = set(inputs)
        stretched: set[str] = set()  # one number at many places, which NumPy does not write to

        def owned(s: Statement) -> Statement:
            if isinstance(s, Guard):
                return replace(s, body=tuple(map(owned, s.body)), otherwise=tuple(map(owned, s.otherwise)))
            if not isinstance(s, Assign):
                return s
            views = _views(s.value)
            root = roots.get(views[-1].name, views[-1].name) if isinstance(views[-1], Var) else None
            roots[s.name] = root if root is not None else s.name
            readonly = any(isinstance(a, (BroadcastTo, Windows, Diagonal)) for a in views)
            readonly |= isinstance(views[-1], Var) and views[-1].name in stretched
            alias = root is not None and s.name in returned and (root in claimed or root in self.program.saved)
            # torch returns what it saves, and no input
            kept = isinstance(s.value, Var) and s.value.name in inputs and s.name in self.program.saved
            ours = root is not None and (s.name in written)
            if alias or kept or ours or readonly and (s.name in returned or s.name in written):
                roots[s.name] = s.name
                return Assign(s.name, Copy(s.value))
            if readonly:
                stretched.add(s.name)
            if root is not None and s.name in returned:
                claimed.add(root)
            return s

        return [replace(line, statement=owned(line.statement)) for line in lines]

    def _grouped(self, lines: list[Line]) -> list[Statement]:
        """Lines under one guard stand together; what serves every gradient of several is not guarded by them."""
        everything = tuple(g for _, g in self.program.derivative.gradients)
        if len(everything) > 1:
            lines = [replace(x, serves=()) if set(x.serves) == set(everything) else x for x in lines]
        statements: list[Statement] = []
        for serves, mine in itertools.groupby(by_guards(lines), key=lambda line: line.serves):
            body = _with_and_without(list(mine))
            alone = body[0] if len(body) == 1 else None
            if not serves:
                statements += body
            elif isinstance(alone, Guard) and _asks_for_inputs(alone) and not alone.otherwise:
                statements.append(replace(alone, serves=serves))
            else:
                statements.append(Guard(serves, (), tuple(body)))
        return statements


def _with_and_without(lines: Sequence[Line]) -> list[Statement]:
    """The statements of lines that serve the same: what asks for the same optional input stands in the branches of one
    guard."""
    found: list[Statement] = []
    for line in lines:
        s = Guard((), line.when, (line.statement,)) if line.when else line.statement
        last = found[-1] if found else None
        if not isinstance(s, Guard) or not isinstance(last, Guard) or not all(map(_asks_for_inputs, (s, last))):
            found.append(s)
        elif s.when == last.when:
            found[-1] = replace(last, body=(*last.body, *s.body), otherwise=(*last.otherwise, *s.otherwise))
        elif len(s.when) == 1 and tuple((name, not there) for name, there in s.when) == last.when:
            found[-1] = replace(last, body=(*last.body, *s.otherwise), otherwise=(*last.otherwise, *s.body))
        else:
            found.append(s)
    return found


def _asks_for_inputs(guard: Guard) -> bool:
    """Whether a guard asks for optional inputs alone."""
    return not guard.serves and guard.condition is None


def _asked(lines: Sequence[Line], serves: tuple[str, ...]) -> tuple[Statement, ...]:
    """The statements in a turn of a loop, under a guard where not all that the loop serves needs them."""
    found: list[Statement] = []
    for line in lines:
        if not line.serves or not {*line.serves} < {*serves}:
            found.append(line.statement)
        elif found and isinstance(last := found[-1], Guard) and (last.serves, last.when) == (line.serves, ()):
            found[-1] = replace(last, body=(*last.body, line.statement))
        else:
            found.append(Guard(line.serves, (), (line.statement,)))
    return tuple(found)


def _joined(lines: Sequence[Line]) -> list[Line]:
    """Several results of one function of the same matrices as one call."""
    calls: dict[tuple[str, tuple[Array, ...], When], dict[int, int]] = {}  # per line the place of its result
    for n, line in enumerate(lines):
        match line.statement:
            case Assign(_, MatrixCall(kind, args)) if (place := MATRICES[kind].place) is not None:
                calls.setdefault((MATRICES[kind].function, args, line.when), {})[n] = place
    result = dict(enumerate(lines))
    for (function, args, when), places in calls.items():
        if len(places) > 1:
            names: list[str | None] = [None] * sum(row.function == function for row in MATRICES.values())
            for n, place in places.items():
                (names[place],) = targets_of(result.pop(n).statement)
            serves = tuple(dict.fromkeys(g for n in places for g in lines[n].serves))
            result[min(places)] = Line(Unpack(tuple(names), MatrixCall(function, args)), serves, when)
    return [result[n] for n in sorted(result)]


def _written_in_turns(item: Item) -> set[str]:
    """The tensors that a loop writes element by element."""
    if isinstance(item, Step):
        return {item.target} if item.how != "fill" else set()
    owned = {name for inner in (*item.first, *item.last) for name in inner.targets}
    return owned.union(*(_written_in_turns(inner) for inner in item.turn))


def _counts_ties(e: Equation, extremes: Collection[str]) -> bool:
    """Whether `e` counts where something is the maximum."""
    condition = e.where if e.body is ONE else None
    if isinstance(e.body, Apply) and e.body.op == "select" and e.body.args[1:] == (ONE, ZERO):
        condition = e.body.args[0]
    if e.reduce != "sum" or condition is None:
        return False
    equal = [n for n in postorder(condition) if isinstance(n, Apply) and n.op == "eq"]
    return any(isinstance(a, Ref) and a.name in extremes for n in equal for a in n.args)


def _in_loop(s: Statement, name: str) -> bool:
    """Whether a value in the place of `name` would be computed again and again."""
    if isinstance(s, Guard):
        return any(_in_loop(inner, name) for inner in (*s.body, *s.otherwise))
    return isinstance(s, For) and name in names_read(s)


def _uses(lines: Sequence[Line]) -> dict[str, int]:
    uses: dict[str, int] = {}
    for line in lines:
        for a in arrays_in(line.statement):
            if isinstance(a, Var):
                uses[a.name] = uses.get(a.name, 0) + 1
    return uses


def _sizes(statements: Sequence[Statement]) -> set[str]:
    """The names in the sizes that statements mention."""
    found: set[str] = set()
    stack: list[object] = [*statements]
    while stack:
        part = stack.pop()
        if isinstance(part, Elementwise):
            stack += part.args
        elif isinstance(part, Expr):
            found |= {r.name for r in refs(part)}
        elif not isinstance(part, (str, int, Var)):
            stack += told(part)
    return found


def _views(value: Array) -> list[Array]:
    """`value` and what it is a view of: nothing is taken by integer arrays but copies."""
    found = [value]
    while isinstance(top := found[-1], VIEWS) and not (isinstance(top, Take) and any(map(is_array, top.items))):
        found.append(top.base)
    return found
