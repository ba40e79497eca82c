"""A file for the solvers of scipy.optimize, around `forward` and `backward` as they are printed for `numpy`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from ..expr import ONE, ZERO, Const, Expr, Ref, product, ref, show, substitute, total
from ..expr.names import fresh
from ..expr.sizes import tidy
from ..ir import Tensor, names_of, show_shape, single
from ..plan import Program
from ..source import python as py
from ..source.layout import listed
from ..source.python import Assign, Attribute, Def, Element, Expression, Given, Name, Return, Space, Word, bare, call
from .handwritten import handwritten
from .numpy import NumPyFile, NumPyStatements
from .python_checks import checked_options, refusal
from .python_sizes import axis, name, pack_name, shape, size
from .python_statements import (
    SAVED,
    as_stored,
    counted,
    named,
    present,
    sized,
    tuple_of,
    unpacked,
    where_size_is,
)
from .scipy_matrix import DenseFile, SparseFile, mean_with_transposed, sparse_body, symmetric

ROOM = 84  # columns of a docstring


class _Product(NumPyFile):
    """The product with a vector, cut in two: what is computed once for a point, and what for each vector."""

    def __init__(self, program: Program, options: Sequence[str]) -> None:
        super().__init__(program)
        self._checked = options

    def checked(self) -> list[str]:
        return list(self._checked)

    def _saves_dtype(self) -> bool:
        return False  # the vector has one

    def prepared(self) -> Def:
        body = [*self.computed(), Return(tuple_of(self.kept()))]
        return Def(Word("_prepared"), tuple(self.parameters()), body, ("Return what _product needs.",))

    def product(self, said: str) -> Def:
        program, seeds = self.program, self.seeds
        gradients = [g for _, g in program.derivative.gradients]
        kept = self.names_kept()
        told = [*(n for n in program.saved if not program.table[n].optional), *seeds]
        tensors = [as_stored(program.table[n], self.forward.kept.get(n)) for n in told]
        body: list[py.Statement] = [unpacked(kept)] if kept else []
        body += sized([d for d in self.backward.sizes if d not in program.saved_sizes], tensors)
        body += counted(self.backward.counts)
        trees = NumPyStatements(self.tree(seeds[0]), lambda guard: present(guard, program))
        body += [*trees(self.backward.statements), Return(bare(named(gradients)))]
        return Def(Word("_product"), (Given(SAVED), *(Given(Name(s)) for s in seeds)), body, (said,))


class SciPyFile(NumPyFile):
    """A file for minimize, least_squares and root.

    word_of_values  what the function is called that gives the outputs
    whom            who calls it
    one_by_one      whether the unknown are numbers that have parameters of their own
    """

    one_by_one = False
    word_of_values = "residuals"
    whom = "for scipy.optimize.least_squares"

    def __init__(self, program: Program, given_as: str) -> None:
        super().__init__(program)
        self.given_as = given_as
        self.unknowns = program.unknowns
        self.point = single(self.primal)
        checked = checked_options(program)
        self.outputs = [self.point.table[o] for o in self.primal.outputs]
        self.is_scalar = program.second
        self.product = _Product(program.product, checked) if program.product is not None else None
        self.slopes = self._slopes(checked) if program.matrix is not None else []
        taken = {name for p in program.whole for name in names_of(p.derivative.function)}
        taken |= {t.name for p in program.whole for t in p.tensors}
        # what docstrings speak of
        self.vector = Name(self.unknowns[0]) if len(self.unknowns) == 1 else Word(fresh("unknown", taken))
        self.direction = Word(fresh("direction", taken))
        self.operand, self.out, self.flat, self.size = (Word(w) for w in ("v", "value", "flat", "size"))
        self.prepared = Word("prepared")
        names = self.primal.outputs
        self.found: list[Expression] = [self.out] if len(names) == 1 else named(names)
        self.names_told = listed(names)  # in docstrings

    def functions(self) -> list[Def]:
        solver = self._called()
        own = [self._parts()] if py.words_in(solver) & {"_parts"} else []
        if self.product is not None:
            of = "Hessian" if self.is_scalar else "Jacobian"
            own += [self.product.prepared(), self.product.product(f"Return the {of} times a vector.")]
        return [*solver, *super().functions(), *own]

    def _called(self) -> list[Def]:
        """What a solver calls."""
        matrix = self._matrix_functions()
        if self.is_scalar:
            return [self._fun_and_grad(), *matrix, self._hessp()]
        return [self._values(), *(matrix or [self._operator()])]

    def imports(self) -> list[py.Import]:
        needed = self.given_as == "operator" and not self.is_scalar
        return [py.Import("LinearOperator", source="scipy.sparse.linalg")] if needed else []

    def _helpers(self) -> list[py.Definition]:
        return [handwritten("numpy")["_flat"], *super()._helpers()]

    # what a solver calls

    def _fun_and_grad(self) -> Def:
        values: list[Expression] = [call("float", self.out), call("_flat", *self._own_gradients())]
        body: py.Block = [*self._unpacked(), self._called_forward(), self._gradients(), Return(bare(values))]
        said = f"Return {self.names_told} and its gradient, for scipy.optimize.minimize(..., jac=True)."
        return self._function("fun_and_grad", [self.vector], said, body)

    def _hessp(self) -> Def:
        prepare = Assign(self.prepared, call("_prepared", *self._all_arguments()))
        body: py.Block = [*self._unpacked(), prepare, Return(self._multiplied(self.direction))]
        said = f"Return the Hessian of {self.names_told} times `{self.direction.name}`."
        return self._function("hessp", [self.vector, self.direction], said, body)

    def _multiplied(self, vector: Expression) -> py.Call:
        """The product with a vector, flat."""
        parts: Expression = call("_parts", *self._telling_arguments(vector))
        parts = parts if len(self.unknowns) == 1 else py.Splat(parts)
        product: Expression = call("_product", self.prepared, parts)
        product = product if len(self.unknowns if self.is_scalar else self.outputs) == 1 else py.Splat(product)
        return call("_flat", product)

    def _slopes(self, checked: Sequence[str]) -> list[DenseFile | SparseFile]:
        """What computes the matrix: of a sparse one its entries, and their places if these are not known."""
        matrix = self.program.matrix
        assert matrix is not None, "it is asked for"
        if matrix.sparse is None:
            rows = self._shapes if self.is_scalar else self.outputs
            return [DenseFile(matrix.program, checked, rows, self._shapes, self.is_scalar)]
        pattern = matrix.sparse.pattern
        parts = [(matrix.program, matrix.values), *([] if pattern is None else [(pattern, matrix.pattern)])]
        return [SparseFile(program, word, matrix.sparse, checked) for program, word in parts]

    def _matrix_functions(self) -> list[Def]:
        """`jac` or `hess` as an array, and what it calls; none where it is not asked for."""
        if self.given_as == "operator":
            return []
        function, of = ("hess", "Hessian") if self.is_scalar else ("jac", "Jacobian")
        said = f"Return the {of} of {self.names_told}"
        if not self.slopes:
            return [self._of_columns(function, f"{said}, each column as a product with a vector.")]
        first, *others = self.slopes
        if isinstance(first, DenseFile):
            return [self._function(function, [self.vector], f"{said}.", [*self._unpacked(), *first.body()])]
        assert self.program.matrix is not None, "there is one"
        body = sparse_body(self.program.matrix, self._all_arguments()) if others else first.body()
        body = [*self._unpacked(), *(symmetric(body) if self.is_scalar else body)]
        own = self._function(function, [self.vector], f"{said} as a scipy.sparse.csr_array.", body)
        return [own, *(part.printed_for(function) for part in self.slopes if others and isinstance(part, SparseFile))]

    def _of_columns(self, function: str, said: str) -> Def:
        """`jac` or `hess` as an array, where its elements have no equations."""
        multiply, v, matrix = Word("multiply"), self.operand, Word("matrix")
        body: list[py.Statement] = [
            Assign(self.size, call("np.size", self.vector)),
            *self._unpacked(),
            Assign(self.prepared, call("_prepared", *self._all_arguments())),
        ]
        rows: Expression = self.size
        if not self.is_scalar:
            body.append(self._called_forward(Word("_")))
            rows = self._rows()
        found = call("_columns", multiply, rows, self.size)
        body += [Space(), Def(multiply, (Given(v),), [Return(self._multiplied(v))]), Space()]
        body += [Assign(matrix, found), Return(mean_with_transposed(matrix))] if self.is_scalar else [Return(found)]
        return self._function(function, [self.vector], said, body)

    def _values(self) -> Def:
        body: py.Block = [*self._unpacked(), self._called_forward(Word("_")), Return(call("_flat", *self.found))]
        return self._function(self.word_of_values, [self.vector], f"Return {self.names_told}, flat, {self.whom}.", body)

    def _operator(self) -> Def:
        v, matvec, rmatvec = self.operand, Word("matvec"), Word("rmatvec")
        shaped = [Assign(v, call("np.reshape", v, call("np.shape", self.out)))] if len(self.found) == 1 else []
        seed = v if shaped else call("_like", v, *self.found)
        back: py.Block = [*shaped, self._gradients(seed), Return(call("_flat", *self._own_gradients()))]
        extents = py.Several((self._rows(), self.size))
        operator = call("LinearOperator", extents, matvec, rmatvec, dtype=Attribute(self.found[0], "dtype"))
        body: py.Block = [
            Assign(self.size, call("np.size", self.vector)),
            *self._unpacked(),
            self._called_forward(),
            Assign(self.prepared, call("_prepared", *self._all_arguments())),
            Space(),
            Def(matvec, (Given(v),), [Return(self._multiplied(v))]),
            Space(),
            Def(rmatvec, (Given(v),), back),
            Space(),
            Return(operator),
        ]
        said = f"Return the Jacobian of {self.names_told} as an operator: J @ v, and J.T @ v by rmatvec."
        return self._function("jac", [self.vector], said, body)

    def _rows(self) -> Expression:
        """How many elements there are in all results."""
        return py.joined("add", [call("np.size", value) for value in self.found])

    def _function(self, function: str, first: Sequence[Name | Word], said: str, body: py.Block) -> Def:
        """A function that a solver calls: `first` are the vectors that it gives."""
        others = [p for p in self.parameters() if p.name.name not in (*self.unknowns, self.program.ahead)]
        shapes = [f"{n} {show_shape(self.point.table[n])}" for n in self.unknowns]
        vector = f"`{self.vector.name}` holds {listed(shapes)}, one after the other."
        if len(shapes) == 1:
            vector = f"`{shapes[0].replace(' ', '` is ', 1)}, given flat."
        if self.one_by_one:
            vector = f"The parameter{'s are' if shapes[1:] else ' is'} {listed(self.unknowns)}."
        rest = [*map(pack_name, self._asked), *(p.name.name for p in others if p.role == "input")]
        given = f"Give the others by args=({', '.join(rest)}{',' if len(rest) == 1 else ''})." if rest else ""
        told = [f"{vector} {given}".strip()] if len(f"{vector} {given}") < ROOM else [vector, given]
        parameters = (*self._vectors(first), *(Given(name(n)) for n in self._asked), *others)
        return Def(Word(function), parameters, body, (said, "", *told), public=True)

    def _vectors(self, first: Sequence[Name | Word]) -> list[Given]:
        """What a solver gives."""
        return [*map(Given, first)]

    # calls

    def _all_arguments(self) -> list[Expression]:
        return [*named(self.primal.inputs), *(py.Keyword(o, Name(o)) for o in self.options)]

    def _unpacked(self) -> list[py.Statement]:
        return [Assign(bare(named(self.unknowns)), call("_parts", *self._telling_arguments(self.vector)))]

    def _called_forward(self, saved: Word = SAVED) -> Assign:
        value = self.found[0] if len(self.found) == 1 else tuple_of(self.found)
        return Assign(bare([value, saved]), call("forward", *self._all_arguments()))

    def _own_gradients(self) -> list[Expression]:
        return [Name(str(self.gradient_of(n))) for n in self.unknowns]

    def _gradients(self, *seed: Expression) -> Assign:
        inputs = self.primal.inputs
        needs = [n in self.unknowns for n in inputs]
        flags = {} if all(needs) else {"needs_input_grad": tuple_of([Word(str(n)) for n in needs])}
        found = [Name(str(self.gradient_of(n))) if n in self.unknowns else Word("_") for n in inputs]
        return Assign(py.targets(found), call("backward", SAVED, *seed, **flags))

    # the unknown, flat and in its own shapes

    @cached_property
    def _shapes(self) -> list[Tensor]:
        return [self.point.table[n] for n in self.unknowns]

    @cached_property
    def _needed(self) -> list[str]:
        """The sizes in the shapes of the unknown."""
        return list(dict.fromkeys(e.name for t in self._shapes for e in t.shape if isinstance(e, Ref)))

    @cached_property
    def _tellers(self) -> list[Tensor]:
        """The other inputs that are always given and tell these sizes."""
        others = [self.point.table[n] for n in self.primal.inputs if n not in self.unknowns]
        found: list[Tensor] = []
        known: set[str] = set()
        for t in others:
            new = {e.name for e in t.shape if isinstance(e, Ref)} & set(self._needed)
            if new - known and not t.optional:
                found.append(t)
                known |= new
        return found

    @cached_property
    def _missing(self) -> list[str]:
        """The sizes that nothing but the unknown itself tells."""
        told = {e.name for t in self._tellers for e in t.shape if isinstance(e, Ref)}
        return [n for n in self._needed if n not in told]

    @cached_property
    def _counted(self) -> str | None:
        """The one size that the length of the vector tells."""
        once = all(t.shape.count(ref(n)) <= 1 for t in self._shapes for n in self._missing)
        return self._missing[0] if len(self._missing) == 1 and once else None

    @property
    def _asked(self) -> list[str]:
        """The sizes that whoever calls must give."""
        return [] if self._counted else self._missing

    def _telling_arguments(self, vector: Expression) -> list[Expression]:
        return [vector, *named(self._asked), *(Name(t.name) for t in self._tellers)]

    def _parts(self) -> Def:
        flat, names = self.flat, {ref(n): ref(pack_name(n)) for n in self._missing}  # a pack is one axis then
        shapes = [tuple(substitute(e, names) for e in t.shape) for t in self._shapes]
        lengths = [product(shape) for shape in shapes]
        dtype = Attribute(flat, "dtype")
        whole = Assign(flat, py.method(flat, "astype", Word("np.float64")))
        body: list[py.Statement] = [
            Assign(flat, py.method(call("np.array", self.vector), "reshape", py.integer(-1))),
            py.If(call("np.issubdtype", dtype, Word("np.integer")), [whole]),
        ]
        told = [n for n in self._needed if n not in self._missing]
        body += [Assign(name(n), where_size_is(n, self._tellers, of_numbers=True)) for n in told]
        rest: list[py.Statement] = []
        expected = tidy(total(lengths))
        if expected != ref(pack_name(self._counted or "")):
            own = Attribute(flat, "size")
            owner = self.vector.name if len(self.unknowns) == 1 else "the unknown"
            said: list[str | Expression] = [f"{self.primal.name}: ", own, f" elements were given, {owner} has "]
            said += [show(expected)] if isinstance(expected, Const) else [f"{show(expected)} = ", size(expected)]
            rest.append(refusal(py.Operation("ne", (own, size(expected))), *said))
        rest.append(self._split(shapes, lengths))
        if self._counted and pack_name(self._counted) in py.names_in(rest) | py.words_in(rest):
            body.append(self._count(pack_name(self._counted), shapes))
        shown = listed([f"{n} {show_shape(t)}" for n, t in zip(self.unknowns, self._shapes, strict=True)])
        given = [Given(n) for n in self._telling_arguments(self.vector) if isinstance(n, (Name, Word))]
        return Def(Word("_parts"), tuple(given), [*body, *rest], (f"Return {shown} of a flat vector, in a new array.",))

    def _count(self, name: str, shapes: Sequence[tuple[Expr, ...]]) -> Assign:
        """The size `name`, in a vector of the shapes: what is left is divided among those that have it."""
        own = ref(name)
        rest = tidy(total(product(s) for s in shapes if own not in s))
        each = tidy(total(product(e for e in s if e != own) for s in shapes if own in s))
        left: Expression = Attribute(self.flat, "size")
        left = left if rest == ZERO else py.Operation("sub", (left, size(rest)))
        if each == ONE:
            return Assign(Name(name), left)
        divisor = size(each) if isinstance(each, Const) else call("max", size(each), py.integer(1))
        return Assign(Name(name), py.Operation("floordiv", (left, divisor)))

    def _split(self, shapes: Sequence[tuple[Expr, ...]], lengths: Sequence[Expr]) -> Return:
        flat = self.flat
        if not any(shapes):
            return Return(Element(flat, (py.integer(0),)) if len(shapes) == 1 else call("tuple", flat))
        if len(shapes) == 1:
            return Return(self._shaped(flat, shapes[0]))
        parts, start = list[Expression](), ZERO
        for number, (extents, length) in enumerate(zip(shapes, lengths, strict=True), 1):
            end = tidy(total([start, length]))
            if extents:
                first, last = None if start == ZERO else size(start), None if number == len(shapes) else size(end)
                parts.append(self._shaped(Element(flat, (py.Cut(first, last),)), extents))
            else:
                parts.append(Element(flat, (size(start),)))
            start = end
        return Return(bare(parts))

    def _shaped(self, vector: Expression, extents: tuple[Expr, ...]) -> Expression:
        """A vector in the shape of a part of the unknown."""
        alone = len(extents) == 1 and not isinstance(axis(extents[0]), py.Splat)
        return vector if alone else py.method(vector, "reshape", shape(extents))
