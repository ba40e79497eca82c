"""JAX: `forward` and `backward` on `jax.numpy` arrays, and a function that has them by `jax.custom_vjp`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property

from ..errors import TargetError, UnsupportedError
from ..ir import Dtype, Tensor
from ..plan import Beside, Nested, Program, Sparse
from ..plan.program import SCIPY, Procedure
from ..records import replace
from ..source import python as py
from ..source.python import Assign, Attribute, Def, Expression, Given, Import, Module, Name, Return, Word, bare, call
from . import primitives
from .frameworks import JaxArtefact, JaxValues
from .handwritten import handwritten
from .jax_statements import JaxExpressions, JaxStatements
from .options import DEFAULT
from .python_checks import checked, checked_options, inputs_helper, promoted, range_refused, type_helpers
from .python_expressions import DTYPE, dtype_of
from .python_file import FrameworkFile, PythonFile, TangentFile
from .python_names import PythonLanguage
from .python_statements import (
    SAVED,
    as_stored,
    counted,
    counted_at_hand,
    flag_of,
    is_given,
    named,
    present,
    read_only,
    returned,
    sized,
    tuple_of,
    unpacked,
)

MODULES = {"sparse": "jax.experimental"}  # where they are, if not in jax.scipy


class Jax(PythonLanguage):
    """The target `jax`."""

    name = dialect = "jax"
    takes: Collection[str] = ("save", "functions", "wrt", "strict_domain")
    forward_mode = True
    executed = "numpy"
    style = "arrays"

    def module(self, program: Program, header: Sequence[str]) -> Module:
        """The file as a tree."""
        primal = program.derivative.primal
        if not program.derivative.gradients:
            raise UnsupportedError(f"{primal.name} has no input of real numbers: JAX has nothing to differentiate.")
        if program.product is not None and self.options.save != DEFAULT.save:
            raise TargetError(
                f"{primal.name}: JAX transposes jvp, and chooses itself what it saves. "
                f"Leave out --save, or jvp among the functions."
            )
        for beside in program.beside:
            self._refuse_data(beside)
        made = _ForwardMode if program.product is not None else JaxFile
        return made(program).module(header)

    def _refuse_data(self, beside: Beside) -> None:
        """Where entries stand must be known before real numbers are."""
        pattern = None if beside.sparse is None else beside.sparse.pattern
        equations = () if pattern is None else pattern.forward.equations
        table = beside.program.derivative.primal.table
        read = dict.fromkeys(r.name for e in equations for r in e.reads)
        real = [n for n in read if n in beside.program.derivative.primal.inputs and table[n].dtype == Dtype.REAL]
        if real:
            raise UnsupportedError(
                f"{beside.program.derivative.primal.name}: where the entries of {beside.name} stand depends on the "
                f"numbers in {real[0]}, which JAX traces. {beside.kind} is the dense one; NumPy and torch ask them."
            )

    def load(self, program: Program, files: Mapping[str, str]) -> JaxValues:
        """Import the printed text as a module."""
        made = JaxArtefact if program.pair else JaxValues
        return made(program, self.module_of(program, files))


class JaxFile(FrameworkFile):
    rule = "jax.custom_vjp"

    matrices = "jax.experimental.sparse.BCOO"

    def __init__(self, program: Program, word: str = "", results: Nested = (), sparse: Sparse | None = None) -> None:
        super().__init__(program, word, results, sparse)
        taken = {self.inputs, *self.handwritten, *(f.name.name for f in self.type_helpers())}
        own = f"_{self.primal.name}"
        self.own = Word(f"{own}_" if own in taken else own)

    def tree(self, like: str) -> JaxExpressions:
        return JaxExpressions(dtype_of(like), self.options, self.needs)

    def module(self, header: Sequence[str]) -> Module:
        """The file as a tree."""
        pair = [self._public(), *self.functions()] if self.program.pair else []
        body: list[Def | py.Statement] = [*pair, *(f for file in self.beside for f in file.printed())]
        body = counted_at_hand(body, lambda array: Attribute(array, "size"))
        helpers, used = self.completed(body, self.input_helpers(), self.handwritten)
        python = [m for m in ("functools", "math") if m in used]
        exported = tuple(f.name for f in body if isinstance(f, Def) and f.public)
        users = primitives.imports(used, "jax", primitives.of(self.program))
        groups = (tuple(map(Import, python)), tuple(self.imports(used)), users)
        return Module(tuple(header), groups, exported, (*body, *helpers))

    @property
    def handwritten(self) -> Mapping[str, py.Verbatim]:
        """What is written by hand, by name."""
        return handwritten("jax")

    def imports(self, used: Collection[str]) -> list[Import]:
        """What the words of the file are imported from."""
        modules = [Import(m, source=MODULES.get(m, "jax.scipy")) for m in sorted(SCIPY) if m in used]
        numpy = [Import("numpy", "np")] if "np" in used else []
        return [Import("jax"), Import("jax.numpy", "jnp"), *numpy, *modules]

    def _public(self) -> Def:
        """The function that users call."""
        about = (self.results_doc(), *self.arguments_doc())
        body: py.Block = [self._checked(), Return(self.call())]
        return Def(Name(self.primal.name), tuple(self.parameters()), body, about, public=True)

    def _checked(self) -> Assign:
        """The inputs checked."""
        inputs = named(self.primal.inputs)
        return Assign(bare(inputs), checked(self.inputs_helper(), self.primal.inputs, checked_options(self.program)))

    def inputs_helper(self) -> Def:
        tree = self.tree("")
        refused = range_refused(lambda name, extent: [call("_outside", name, extent)], tree)
        checks = inputs_helper(self.program, refused, promoted(self.primal), self.inputs, tree)
        at_once = self.program.indexed or self.program.within
        return replace(checks, decorators=(call("jax.ensure_compile_time_eval"),)) if at_once else checks

    def type_helpers(self) -> list[Def]:
        return type_helpers(self.primal, "jnp")

    def values(self) -> Def:
        result = Return(self.result(self.results_typed()))
        found = self.value_function([self._checked(), *self.computed(), result])
        at_once = self.matrix is not None and self.matrix.is_pattern  # its arrays are constants to jax.jit
        return replace(found, decorators=(call("jax.ensure_compile_time_eval"),)) if at_once else found

    def call(self) -> Expression:
        """The call of the function that has a derivative of its own."""
        return call(self.own, *self.arguments())

    def ruled(self, body: py.Block) -> Def:
        """That function; options are no arrays."""
        count = len(self.primal.inputs)
        places = tuple_of([py.integer(count + k) for k in range(len(self.options))])
        rule: Expression = Word(self.rule)
        if self.options:
            rule = call("functools.partial", rule, nondiff_argnums=places)
        return Def(self.own, tuple(self.inner()), body, decorators=(rule,))

    def inner(self) -> list[Given]:
        """Its parameters, and those of forward."""
        return self.given([*self.primal.inputs, *self.options])

    def functions(self) -> list[Def | py.Statement]:
        """What stands between the function and its helpers."""
        forward = py.Element(call("forward", *self.arguments()), (py.integer(0),))
        rule = py.Do(call(Attribute(self.own, "defvjp"), Word("forward"), Word("backward")))
        return [self.ruled([Return(forward)]), self._forward(), self._backward(), py.Space(), py.Space(), rule]

    @property
    def errors(self) -> tuple[str, ...]:
        said = ["TypeError and ValueError tell which argument has another type or shape."]
        if self.program.indexed:
            said += [
                "IndexError tells which subscript is out of range, unless it is traced by JAX:",
                "a negative one counts from the end then, others are clamped and add nothing.",
            ]
        if self.program.within:
            said += ["ValueError tells which number is outside of the domain; a real one that JAX traces becomes NaN."]
        if self.options:
            said.append("Options are numbers of Python: static_argnames of jax.jit, where it is given them.")
        return tuple(said)

    def computed(self) -> list[py.Statement]:
        """The statements of forward before its return."""
        return self.begun(self.lines(), first=self.entered, kept=self.sizes_kept())

    def returned(self) -> list[str]:
        return [g for _, g in self.program.derivative.gradients]

    def gradients(self) -> list[Expression]:
        return [self.typed(e.name, self.narrowed) if isinstance(e, Name) else e for e in super().gradients()]

    def lines(self) -> JaxStatements:
        """What makes trees of statements on the inputs."""
        return self.lines_of(self, self.program.forward)

    def lines_of(self, file: PythonFile, procedure: Procedure) -> JaxStatements:
        """The same of a procedure of a file that reads the inputs."""
        tree = self.tree(self.like or self.primal.inputs[0])
        return JaxStatements(tree, lambda guard: present(guard, None), file.shapes(procedure))

    def outputs(self) -> Expression:
        """The result."""
        found = self.results_typed()
        return tuple_of(found) if len(found) > 1 else found[0]

    def _forward(self) -> Def:
        program = self.program
        static = [*map(self.size_kept, self.sizes_kept()), *map(is_given, program.saved_presence)]
        static += [dtype_of(self.like or "")] if self._dtype_kept() else []
        saved = [self.typed(n, self.restored) for n in program.saved]
        saved += [call("_Static", tuple_of(static))] if static else []
        body = [*self.computed(), Return(bare([self.outputs(), tuple_of(saved)]))]
        about = ("Return the result, and what backward needs.",)
        return Def(Word("forward"), tuple(self.inner()), body, about, role="forward", public=True)

    def telling(self) -> list[Tensor]:
        """The arrays with which backward always works, in the shapes that they have there."""
        table = self.program.table
        always = [n for n in self.program.saved if not table[n].optional]
        return [as_stored(table[n], self.forward.kept.get(n)) for n in (*always, *self.seeds)]

    @cached_property
    def body(self) -> list[py.Statement]:
        """The statements of backward."""
        shapes = self.shapes(self.program.backward)
        real = self.reals(self.primal.outputs)
        tree = self.tree(self.seed) if real else JaxExpressions(DTYPE, self.options, self.needs)
        trees = JaxStatements(tree, lambda guard: present(guard, self.program), shapes)
        return [*(self.left if real else ()), *trees(self.backward.statements)]

    def _dtype_kept(self) -> bool:
        """Whether backward reads the type of the inputs, which no cotangent has."""
        whole = self.like is not None and not self.reals(self.primal.outputs)
        return whole and DTYPE.name in py.words_in(self.body)

    def _backward(self) -> Def:
        primal, program = self.primal, self.program
        static = [*named(self.sizes_kept()), *map(flag_of, program.saved_presence)]
        static += [DTYPE] if self._dtype_kept() else []
        kept = [*named(program.saved), *([tuple_of(static)] if static else [])]
        body: list[py.Statement] = [unpacked(kept)] if kept else []
        sizes = sized([d for d in self.sizes_used() if d not in self.sizes_kept()], self.telling())
        grad = self.given_seed()
        if len(self.seeds) > 1:
            body.append(Assign(bare(read_only(named(self.seeds), sizes, self.body)), grad))
        elif self.seeds != ["grad_output"]:
            body.append(Assign(Name(self.seeds[0]), grad))
        body += [*sizes, *counted(self.backward.counts)]
        optional = [g for n in primal.optional if (g := self.gradient_of(n)) is not None]
        body += [py.Unset(tuple(named(optional)))] if optional else []
        given = (Given(SAVED, None, "saved", fixed=True), Given(grad, None, "cotangent", fixed=True))
        return Def(
            Word("backward"),
            (*self.given(self.options), *given),
            [*body, *self.body, returned(self.gradients())],
            ("Return J.T @ grad_output: one gradient per input, None where it has none.",),
            role="backward",
            public=True,
        )


class _ForwardMode(JaxFile):
    """Forward mode: a `jax.custom_jvp`, which JAX transposes for its backward."""

    rule = "jax.custom_jvp"

    def functions(self) -> list[Def | py.Statement]:
        return [self.ruled([*self.computed(), Return(self.outputs())]), self._jvp()]

    def _jvp(self) -> Def:
        assert self.program.product is not None, "the pipeline plans it"
        pushed = _Tangents(self.program.product)
        product = self.program.product
        inner = [*pushed.sizes(), *pushed.entered]
        inner += self.lines_of(pushed, product.forward)(pushed.forward.statements)
        inner += self.lines_of(pushed, product.backward)(pushed.backward.statements)
        float0 = Word("jax.dtypes.float0")
        results = pushed.results(
            self.primal.outputs, lambda n: call("np.zeros", Attribute(Name(n), "shape"), float0)
        )
        tangents = [Name(pushed.tangents[n]) if n in pushed.tangents else Word("_") for n in self.primal.inputs]
        body: list[py.Statement] = [unpacked(named(self.primal.inputs), Word("primals"))]
        body.append(unpacked(read_only(tangents, inner, results), Word("tangents")))
        body += inner
        values = tuple_of(results) if len(results) > 1 else results[0]
        result = self.call()
        if pushed.entered:  # of the inputs as they are given
            body.insert(1, Assign(Word("result"), result))
            result = Word("result")
        zeros = [n for n in self.primal.outputs if self.primal.table[n].dtype != Dtype.REAL]
        if zeros:
            body.append(Assign(bare(named(self.primal.outputs)), result))
            result = bare(named(self.primal.outputs))
            result = result if isinstance(result, Name) else tuple_of(named(self.primal.outputs))
        given = (*self.given(self.options), Given(Word("primals")), Given(Word("tangents")))
        about = ("Return the result, and J @ tangents.",)
        decorators = (Attribute(self.own, "defjvp"),)
        return Def(Word("_jvp"), given, [*body, Return(bare([result, values]))], about, decorators)


class _Tangents(TangentFile):
    def tree(self, like: str) -> JaxExpressions:
        return JaxExpressions(dtype_of(like), self.options)
