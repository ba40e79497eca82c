"""One C function of a program: its parameters with their roles, its body, the sizes of its workspaces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from ..expr import Apply, Const, Expr, Index, Ref, product, ref, refs, show
from ..ir import Tensor, show_shape
from ..plan import Procedure, Program
from ..plan.loops import Nest, left_out
from ..source.layout import listed
from ..source.tree import (
    BOOL,
    INT,
    INTEGER,
    SIZE,
    Block,
    Cast,
    Expression,
    Function,
    Loop,
    Macro,
    Name,
    Number,
    Operation,
    Parameter,
    Return,
    Space,
    Type,
    Unused,
    joined,
    names_in,
    statements_in,
)
from . import c_domain, c_vector
from .c_batch import about_batch, about_cotangents, again, some_only
from .c_body import ELEMENT, WORKSPACES, Body
from .c_expressions import Expressions
from .c_names import File, Names
from .c_print import Printer
from .c_signature import Printed
from .c_sparse import Matrix, count
from .options import PAIR, Options

# parameters that the interface has, though the body speaks of none
_ALWAYS = ("output", "cotangent", "gradient", "matrix")
_UNUSED = ("cotangent", "gradient", "matrix")


class Builder:
    """Builds forward or backward of a program without packs.

    sizes    what each dim of the function is called
    literal  whether it is the function of one point
    word     what it is called in the file
    batch    whether it is that function for many points, one after the other
    matrix   what stands in the place of arrays of entries
    called   what is called otherwise than it is declared
    """

    def __init__(
        self,
        program: Program,
        procedure: Procedure,
        nest: Nest,
        sizes: dict[str, str],
        literal: bool,
        options: Options,
        file: File,
        word: str,
        batch: bool = False,
        matrix: Matrix | None = None,
        called: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._options = options
        self._matrix = matrix
        self._known = called.keys()
        self._program = program
        self._procedure = procedure
        self._forward = procedure is program.forward
        self._word = word
        self._sizes = sizes
        self._literal = literal
        self._batch = batch
        self._primal = program.derivative.primal
        self._table = program.table
        self._real_options = {o.name: o.dtype for o in self._primal.options}
        self._names = self._named(nest, file, called)
        kinds = {t.name: t.dtype for t in nest.table.values()} | self._real_options
        self._tensors = self._all_tensors()
        given = frozenset(n for n, p in self._tensors.items() if p.type.pointer and not self._table[n].shape)
        negative = frozenset(o.name for o in self._primal.options if o.default < 0)
        vector = () if literal else (c_vector.BATCHES, c_vector.LOOPS) if batch else (c_vector.LOOPS,)
        notes = not literal and not batch
        printer = Printer(options.single, options.integer)
        own = nest, kinds, given, negative, notes, self._names, printer, vector
        self._body = Body(*own, options.blas, matrix, program.computed)

    def _named(self, nest: Nest, file: File, called: Mapping[str, str]) -> Names:
        """The interface's names first, which are fixed, then those of the declaration."""
        derivative, primal = self._program.derivative, self._primal
        fixed = {**called, **(self._matrix.names if self._matrix is not None else {})}
        if not self._forward:
            one = len(derivative.seeds) == 1
            fixed = {seed: "grad_output" if one else f"grad_{output}" for output, seed in derivative.seeds}
            fixed |= {gradient: f"grad_{name}" for name, gradient in derivative.gradients}
        wishes = {name: f"{name}_input" for name in primal.inputs}
        wishes |= {name: f"{name}_output" for name in primal.outputs if name not in fixed}
        wishes |= {name: f"{name}_size" for name in self._sizes.values()}
        wishes |= {name: f"{name}_option" for name in self._real_options}
        return Names(nest, fixed, wishes, file, [f"{primal.name}_{self._word}"] if self._batch else [])

    def printed(self, point: Function | None = None, far: str | None = None) -> Printed:
        """The function, with the parameters that its body uses.

        point  of a batch the function of one point: it computes each where not all results are asked for, or there are
               angles beyond the reach of the functions for vectors
        far    the scalar that counts these, if there may be such
        """
        build = self._body.build
        checks = [s for s in self._program.indexed if s.element.name in self._procedure.reads]
        conditions = [build.as_kind(condition, BOOL) for condition in self._primal.constraints]
        body = self._body.statements(checks, conditions)
        refused = self._refused()
        used = names_in(*body, *refused)
        arguments = [
            p for p in self._tensors.values() if p.name in used or p.role in _ALWAYS or self._is_saved_memory(p)
        ]
        arguments += [] if self._matrix is None else self._matrix.parameters(self._names)
        dropped = tuple(Unused(p.name) for p in arguments if p.role in _UNUSED and p.name not in used)
        fails = bool(self._program.indexed or conditions or self._body.calls or refused)
        body = (*dropped, *body)
        macros = tuple(self._macro(name) for name in self._body.workspaces)
        parameters = (
            *(p for p in (*self._of_sizes(), *self._of_options(), *self._of_presence()) if p.name in used),
            *arguments,
            *(
                Parameter(self._names.work(name), "work", Type(WORKSPACES[name], pointer=True), name)
                for name in self._body.workspaces
            ),
        )
        if point is not None:
            (counter,) = {s.index for s in statements_in(body) if isinstance(s, Loop)}
            if self._program.partial:
                body = (some_only(point, parameters, counter, self._program), *body)
            if far is not None:
                body = (*body, again(point, self._called(far), parameters, counter, self._program))
        body = (*refused, Space(), *body) if refused else body
        body = (*body, Return(Number("0"))) if fails else body
        end = "_batch" if self._batch else ""
        function = Function(
            f"{self._word}{end}",
            f"{self._primal.name}_{self._word}{end}",
            parameters,
            body,
            Type(BOOL) if fails else None,
            self._about(parameters, macros),
            macros,
        )
        return Printed(function, self._body.workspaces, tuple(self._body.calls))

    def _refused(self) -> Block:
        """What refuses numbers outside of the domain, of the inputs that it has."""
        names = [n for n in self._program.within if n in self._tensors]
        shapes = {n: self._table[n].shape for n in names}
        counts = {n: self._body.build.as_kind(product(shape), SIZE) for n, shape in shapes.items() if shape}
        parameters = [self._tensors[n] for n in names]
        return c_domain.refusals(self._primal, names, parameters, counts, self._names.counter("i"))

    def room(self) -> list[Printed]:
        """The function that tells how much room the entries of a matrix need, beside that which says where they are."""
        if self._matrix is None or self._matrix.values:
            return []
        whole = count(self._matrix.room, self._body.extent)
        used = names_in(whole)
        word = self._word.replace("_pattern", "_nnz")
        parameters = tuple(p for p in (*self._of_sizes(), *self._of_options()) if p.name in used)
        value = Cast(Type(INTEGER), whole)
        name = f"{self._primal.name}_{word}"
        about = tuple(self._matrix.about(name, self._names))
        return [Printed(Function(word, name, parameters, (Return(value),), Type(INTEGER), about))]

    # parameters

    def _called(self, name: str) -> str:
        return self._names.of(ref(name))

    def _of_sizes(self) -> list[Parameter]:
        return [Parameter(self._called(name), "size", Type(SIZE), dim) for dim, name in self._sizes.items()]

    def _of_options(self) -> list[Parameter]:
        kinds = {name: Type(str(dtype)) for name, dtype in self._real_options.items()}
        return [Parameter(self._called(name), "option", kind, name) for name, kind in kinds.items()]

    def _of_presence(self) -> list[Parameter]:
        flags = [name for name in self._primal.optional if name not in self._tensors]
        return [Parameter(self._names.presence(name), "presence", Type(BOOL), name) for name in flags]

    def _is_saved_memory(self, p: Parameter) -> bool:
        return p.role == "saved" and not p.type.constant

    def _all_tensors(self) -> dict[str, Parameter]:
        """Every tensor parameter that there can be, in order, by the name of the tensor."""
        p, forward = self._program, self._forward
        inputs, optional, returns = self._primal.inputs, self._primal.optional, {*self._procedure.returns}
        found: dict[str, Parameter] = {}
        reads = {*self._procedure.reads}
        asked = reads | {n for s in self._procedure.steps for n, _ in s.when} if forward else reads
        given = {*inputs}
        for name in inputs:
            if name in asked:
                found[name] = self._read(name, "input", name)
        for name in p.saved:
            if name in given or forward and name in returns:
                continue
            found[name] = self._written(name, "saved", name, True) if forward else self._read(name, "saved", name)
        if forward:
            absent = left_out(p) if p.partial or not self._batch else ()
            entries = () if self._matrix is None else self._matrix.places
            results = [name for name in self._procedure.returns if name not in entries]
            found |= {name: self._written(name, "output", name, name in absent) for name in results}
        else:
            found |= {seed: self._read(seed, "cotangent", output) for output, seed in p.derivative.seeds}
            of = {gradient: name for name, gradient in p.derivative.gradients}
            found |= {name: self._written(name, "gradient", of[name], True) for name in self._procedure.returns}
        self._names.flags(name for name in optional if name not in found)
        return found

    def _read(self, name: str, role: str, tensor: str) -> Parameter:
        own = self._table[name]
        element = ELEMENT[own.dtype]
        if not own.shape and not own.optional:
            return Parameter(self._called(name), role, Type(element), tensor)
        kind = Type(element, pointer=True, constant=True, alone=True)
        return Parameter(self._called(name), role, kind, tensor, own.optional, self._length(own))

    def _written(self, name: str, role: str, tensor: str, nullable: bool = False) -> Parameter:
        own = self._table[name]
        kind = Type(ELEMENT[own.dtype], pointer=True, alone=True)
        return Parameter(self._called(name), role, kind, tensor, nullable, self._length(own))

    def _length(self, tensor: Tensor) -> int | None:
        count = product(tensor.shape)
        known = self._literal or tensor.name in self._known
        return int(count.value) if known and tensor.shape and isinstance(count, Const) else None

    # the sizes of workspaces

    def _macro(self, name: str) -> Macro:
        """The macro that tells how many elements a workspace must have."""
        shapes = self._body.workspaces[name]
        mentioned = {r.name for shape in shapes for r in refs(*shape)}
        build = _InMacro(self._real_options, {}, named=self._names.of)
        terms = []
        for shape, number in Counter(shapes).items():
            factors = [self._body.extent(e, build) for e in shape]
            terms.append(joined("mul", [*([Number(str(number))] if number > 1 else []), *factors]))
        mentioned = {self._called(name) for name in mentioned}
        return Macro(
            f"{self._primal.name}_{self._word}_{name}".upper(),
            tuple(p for p in (*self._of_sizes(), *self._of_options()) if p.name in mentioned),
            joined("add", terms),
            name,
        )

    # words

    def _about(self, parameters: Sequence[Parameter], macros: Sequence[Macro]) -> tuple[str, ...]:
        """What stands above the prototype."""
        if self._batch:
            return about_batch(self._sizes[self._primal.packs[0]], parameters)
        lines = []
        names = {role: [p.name for p in parameters if p.role == role] for role in ("output", "gradient")}
        if names["output"]:
            less = "; pass NULL for what is not needed" if self._program.partial else ""
            lines.append(f"Compute {listed(names['output'])}{less}.")
            results = () if self._word in PAIR else [p.tensor for p in parameters if p.role == "output"]
            shown = {n: show_shape(self._table[n]) for n in results}
            matrices = [f"{self._called(n)} is {shape}" for n, shape in shown.items() if len(self._table[n].shape) > 1]
            lines += [f"{listed(matrices)}, row-major."] if matrices else []
        if self._matrix is not None:
            lines += self._matrix.about(f"{self._primal.name}_{self._word}", self._names)
        saved = [p.name for p in parameters if p.role == "saved" and p.nullable]
        outputs = [p.name for p in parameters if p.role == "output" and p.nullable]
        too = f", {listed(outputs)} included" if outputs else ""
        if saved and self._forward:
            lines.append(f"For backward: {listed(saved)}; pass NULL for what is not needed{too}.")
        if names["gradient"]:
            verb = "Add to" if self._options.accumulate else "Overwrite"
            lines.append(f"{verb} each gradient; pass NULL for one that is not needed.")
            lines += about_cotangents(parameters)
        absent = [p.name for p in parameters if p.role == "input" and p.nullable]
        if absent:
            lines.append(f"{listed(absent)} may be absent: NULL.")
        for macro in macros:
            kind = f"{self._options.dtype}s" if macro.work == "work" else f"elements of {self._options.integer}"
            lines.append(f"{self._names.work(macro.work)} has room for {macro.call} {kind}.")
        if self._program.indexed:
            lines.append("Return 1, with nothing written, if an index is out of range.")
        if self._primal.constraints:
            needed = listed([show(c) for c in self._primal.constraints])
            lines.append(f"Return 2, with nothing written, unless {needed}.")
        within = [p.tensor for p in parameters if p.role == "input" and p.tensor in self._program.within]
        if within:
            lines.append(c_domain.about(self._primal, within))
        if self._body.calls:
            lines.append("Return what LAPACK says if a matrix is not one that it can work with.")
        if self._program.indexed or self._primal.constraints or self._body.calls or within:
            lines.append("Return 0 otherwise.")
        return tuple(lines)


class _InMacro(Expressions):
    """Expressions of the parameters of a macro: each is self-contained, and calls nothing."""

    def _leaf(self, node: Expr, parts: tuple[Expression, ...]) -> Expression:
        assert isinstance(node, (Index, Ref))
        name = Name(self._named(node))
        return Cast(Type(INT), name) if node.name in self._kinds else name

    def _operator(self, node: Apply, own: str, parts: tuple[Expression, ...]) -> Expression:
        if own == SIZE and node.op == "maximum" and len(parts) == 1:
            return Operation("select", (Operation("gt", (parts[0], Number("0"))), parts[0], Number("0")))
        return super()._operator(node, own, parts)

    def _floored(self, function: str, parts: tuple[Expression, ...]) -> Expression:
        a, b = parts
        left = Operation("mod", (a, b))
        if function == "floor_mod":
            return Operation("mod", (Operation("add", (left, b)), b))
        signs = Operation("ne", (Operation("lt", (a, Number("0"))), Operation("lt", (b, Number("0")))))
        rounded = Operation("and", (Operation("ne", (left, Number("0"))), signs))
        return Operation("sub", (Operation("div", (a, b)), rounded))
