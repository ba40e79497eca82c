"""PyTorch: a `torch.autograd.Function`, and a function that checks its arguments and calls it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from ..errors import UnsupportedError
from ..ir import Dtype, Function, Tensor
from ..plan import Nested, Program, Sparse
from ..plan.arrays import half
from ..plan.arrays.commands import For, Guard, Statement
from ..records import replace
from ..source import python as py
from ..source.layout import listed
from ..source.python import Assign, Attribute, Def, Do, Expression, Given, If, Name, Operation, Return, Word, bare, call
from ..source.tree import walk
from . import primitives
from .frameworks import TorchArtefact, TorchValues
from .handwritten import handwritten
from .python_checks import (
    RangeCheck,
    checked,
    checked_options,
    inputs_helper,
    promoted,
    refusal,
    type_helper,
    wrong_type,
)
from .python_expressions import CONVOLUTIONS, TRUE, given
from .python_file import FrameworkFile, TangentFile
from .python_names import PythonLanguage
from .python_statements import (
    conditions,
    counted,
    counted_at_hand,
    flag_of,
    is_given,
    named,
    needed,
    present,
    read_only,
    sized,
    tuple_of,
    unpacked,
    where_size_is,
)
from .torch_expressions import TorchExpressions
from .torch_statements import TorchStatements

MANY = 8  # gradients, from which what stands for none of them is not written out
LONGEST = 68  # columns of a comment
CTX, INPUTS, NEEDS = Word("ctx"), Word("inputs"), Word("ctx.needs_input_grad")


class Torch(PythonLanguage):
    """The target `torch`."""

    name = dialect = "torch"
    takes = ("save", "functions", "wrt", "strict_domain")
    forward_mode = True
    executed = "numpy"
    style = "arrays"

    def module(self, program: Program, header: Sequence[str]) -> py.Module:
        """The file as a tree."""
        primal = program.derivative.primal
        if not program.derivative.gradients:
            raise UnsupportedError(f"{primal.name} has no input of real numbers: torch has nothing to differentiate.")
        return TorchFile(program).module(header)

    def load(self, program: Program, files: Mapping[str, str]) -> TorchValues:
        """Import the printed text as a module."""
        made = TorchArtefact if program.pair else TorchValues
        return made(program, self.module_of(program, files))


def taken(program: Program, helper: Def, autocast: str) -> list[py.Statement]:
    """The inputs checked by that function, in the type that torch.autocast gives them."""
    primal = program.derivative.primal
    inputs = named(primal.inputs)
    checks = checked(helper, primal.inputs, checked_options(program))
    found: list[py.Statement] = [Assign(bare(inputs), checks)]
    if autocast:
        reals = named([n for n in primal.inputs if program.table[n].dtype == Dtype.REAL])
        kind = given(autocast == half.FLOAT32, dtype=Word("torch.float32"))
        found.append(unpacked(reals, call("_autocast", *reals, **kind)))
    return found


class TorchFile(FrameworkFile):
    noun = "tensor"
    saves_names = False  # setup_context saves what forward is called with, and what it returns
    flags = NEEDS  # what tells the gradients that are needed
    asks_alone = False  # whether it asks if its only gradient is needed
    matrices = "tensor of layout torch.sparse_csr"

    def __init__(self, program: Program, word: str = "", results: Nested = (), sparse: Sparse | None = None) -> None:
        super().__init__(program, word, results, sparse)
        primal = self.primal
        self.forward_mode = program.product is not None
        self.own = Word(class_name(primal.name))
        saved = [n for n in program.saved if n in primal.inputs]
        if self.hidden:  # they are computed again from the inputs when backward is differentiated itself
            saved = list(primal.inputs)
        self.saved = [*saved, *(n for n in program.saved if n not in primal.inputs)]

    def tree(self, like: str) -> TorchExpressions:
        return TorchExpressions(like, self.options, self.needs)

    def module(self, header: Sequence[str]) -> py.Module:
        """The file as a tree."""
        body = [*(self._pair() if self.program.pair else []), *(f for file in self.beside for f in file.printed())]
        body = counted_at_hand(body, lambda tensor: py.method(tensor, "numel"))
        helpers, used = self.completed(body, self.input_helpers(), handwritten("torch"))
        imports = tuple(py.Import(m) for m in ("functools", "math") if m in used)
        exported = tuple(sorted((part.name for part in body), key=lambda n: isinstance(n, Name)))
        users = primitives.imports(used, "torch", primitives.of(self.program))
        return py.Module(tuple(header), (imports, (py.Import("torch"),), users), exported, (*body, *helpers))

    def _pair(self) -> list[Def | py.Class]:
        """The function that users call, and the class that has forward and backward."""
        primal = self.primal
        functions = [self._forward, self._setup(), self._backward(), *([self._jvp()] if self.forward_mode else [])]
        about = (self.results_doc(), *self.arguments_doc())
        public = Def(Name(primal.name), tuple(self.parameters()), self._call(), about, public=True)
        vmap = [Assign(Word("generate_vmap_rule"), TRUE)]
        said = (f"{primal.name}, with its own backward.",)
        own = py.Class(self.own, Word("torch.autograd.Function"), said, vmap, tuple(functions))
        return [public, own]

    def inputs_helper(self) -> Def:
        tree = self.tree(self.like or self.primal.inputs[0])
        return inputs_helper(self.program, self._in_range, promoted(self.primal), self.inputs, tree, self.noun)

    def type_helpers(self) -> list[py.Definition]:
        return type_helpers(self.primal)

    def values(self) -> Def:
        computed = self._computed(self.primal.outputs)
        return self.value_function(self._checked([*computed, Return(self.result(self.results_typed()))]))

    # the function

    def _call(self) -> py.Block:
        count = len(self.primal.outputs)
        result: Expression = call(Attribute(self.own, "apply"), *self.arguments())
        if self.hidden:
            result = py.Element(result, (py.integer(0) if count == 1 else py.Cut(stop=py.integer(count)),))
        return self._checked([Return(result)])

    def _checked(self, body: py.Block) -> py.Block:
        """The inputs checked, and what is done with them, in the type that they have."""
        sure = Name(self.like or self.primal.inputs[0])
        return [*taken(self.program, self.inputs_helper(), self.autocast), py.With(call("_no_autocast", sure), body)]

    @property
    def errors(self) -> tuple[str, ...]:
        found = list(super().errors)
        if self.program.indexed:
            found.append("On a device, compiled, exported or under torch.vmap it is torch that refuses them.")
        if self.program.within:
            found.append("Compiled, exported or under torch.vmap a real number outside of the domain becomes NaN.")
        return tuple(found)

    def _in_range(self, primal: Function, check: RangeCheck) -> py.Block:
        return in_range(primal, check, self.tree(check.name))

    # the class

    def _method(self, name: str, first: Sequence[Word], given: Sequence[Given], body: py.Block) -> Def:
        """A function of the class; what torch calls it with has no name there."""
        return Def(Word(name), (*map(Given, first), *given), body, decorators=(Word("staticmethod"),), role=name)

    @cached_property
    def _forward(self) -> Def:
        results = [*self.primal.outputs, *self.hidden]
        body = [*self._computed(results), Return(bare([self.typed(n, self.narrowed) for n in results]))]
        return self._method("forward", [], self.given([*self.primal.inputs, *self.options]), body)

    def _computed(self, results: Sequence[str]) -> list[py.Statement]:
        """What forward computes."""
        tree = self.tree(self.like or self.primal.inputs[0])
        reads = self._ordered(self.primal.inputs)
        statements = self.forward.statements

        def asked(guard: Guard) -> Sequence[Expression]:
            return present(guard, None)

        optional, whole = self.primal.optional, self._whole(reads)
        trees = TorchStatements(tree, asked, statements, reads, whole, optional, results)
        return self.begun(trees, first=self.entered)

    def _whole(self, names: Sequence[str]) -> list[str]:
        """Those that are integers or conditions."""
        return [n for n in names if n in self.program.table and self.program.table[n].dtype != Dtype.REAL]

    def _ordered(self, names: Sequence[str]) -> list[str]:
        """The tensors of real numbers first."""
        return sorted(names, key=lambda n: self.program.table[n].dtype != Dtype.REAL)

    def _setup(self) -> Def:
        """What is kept for backward."""
        primal = self.primal
        results = [*primal.outputs, *self.hidden]
        flags = [is_given(n) for n in self._flags()]
        sizes = [where_size_is(d, self.sure) for d in self.sizes_kept()]
        extra = named(self._options_kept())
        one = Word("output") if len(results) == 1 else None
        kept = [self._kept(n, one if one and n in results else Name(n)) for n in self.saved]
        pushed = named(primal.inputs) if self.forward_mode else []
        read = py.names_in(kept, flags, sizes, extra, pushed)
        body: list[py.Statement] = []
        if read & {*primal.inputs, *self.options}:
            body.append(unpacked(read_only(self.arguments(), kept, flags, sizes, extra, pushed), INPUTS))
        if not one and read & {*results}:
            body.append(unpacked(read_only(named(results), kept), Word("output")))
        if self.unasked():
            body.append(self._context_call("set_materialize_grads", [Word("False")]))
        if self.forward_mode and self.hidden:  # jvp says nothing of them
            body.append(self._context_call("mark_non_differentiable", named(self.hidden)))
        body += [self._context_call("save_for_backward", kept)] if kept else []
        body += [self._context_call("save_for_forward", pushed)] if pushed else []
        for word, values in (("sizes", sizes), ("options", extra), ("given", flags)):
            if values:
                body.append(Assign(Word(f"ctx.{word}"), tuple_of(values)))
        return self._method("setup_context", [CTX, INPUTS, Word("output")], [], body or [Do(Word("pass"))])

    def _context_call(self, word: str, values: Sequence[Expression]) -> Do:
        return Do(call(f"ctx.{word}", *values))

    def _kept(self, name: str, own: Expression) -> Expression:
        """A tensor as it is saved: only if a gradient that is needed reads it."""
        asked = self._readers(name)
        if asked is None:
            return own
        return Operation("select", (py.joined("or", needed(asked, len(self.primal.inputs), NEEDS)), own, py.NONE))

    def _readers(self, name: str) -> list[int] | None:
        """The inputs for whose gradients alone a tensor is read; None if it is always saved."""
        if self.hidden and name in self.primal.inputs:
            return None
        gradients = dict(self.program.derivative.gradients)
        served = self._served.get(name, set())
        if not served or served >= {*gradients.values()}:
            return None
        return [k for k, n in enumerate(self.primal.inputs) if gradients.get(n) in served]

    @cached_property
    def _served(self) -> Mapping[str, set[str]]:
        """The gradients that are computed from each tensor, or depend on whether it is given."""
        found = {name: {*gradients} for name, gradients in self._asked.items()}
        for step in self.program.backward.steps:
            for name in {r.name for e in step.equations for r in e.reads}:
                found.setdefault(name, set()).update(step.serves)
        return found

    def telling(self) -> list[Tensor]:
        """The tensors with which backward can always work, but those with kept axes."""
        table = self.program.table
        always = [n for n in self.saved if not table[n].optional and self._readers(n) is None]
        return [table[n] for n in (*always, *self.seeds) if n not in self.forward.kept]

    @cached_property
    def _statements(self) -> tuple[Statement, ...]:
        """Those of backward. An input whose gradient is needed is given: what computes that alone does not ask."""
        own = {g: n for n, g in self.program.derivative.gradients if n in self.primal.optional}

        def known(s: Statement, serves: tuple[str, ...]) -> Statement:
            match s:
                case Guard():
                    serves = s.serves or serves
                    given = {(own[g], True) for g in serves if len(serves) == 1 and g in own}
                    when = tuple(w for w in s.when if w not in given)
                    body, otherwise = (tuple(known(x, serves) for x in part) for part in (s.body, s.otherwise))
                    return replace(s, when=when, body=body, otherwise=otherwise)
                case For():
                    return replace(s, body=tuple(known(x, serves) for x in s.body))
                case _:
                    return s

        return tuple(known(s, ()) for s in self.backward.statements)

    @cached_property
    def _asked(self) -> Mapping[str, set[str]]:
        """The optional inputs of which backward asks whether they are given, and the gradients that depend on it."""
        every = {g for _, g in self.program.derivative.gradients}
        found: dict[str, set[str]] = {}

        def look(statements: Sequence[Statement], serves: set[str]) -> None:
            for s in statements:
                if isinstance(s, Guard):
                    inside = {*s.serves} or serves
                    for name, _ in s.when:
                        found.setdefault(name, set()).update(inside)
                    look([*s.body, *s.otherwise], inside)
                elif isinstance(s, For):
                    look(s.body, serves)

        look(self._statements, every)
        return found

    def _flags(self) -> list[str]:
        """Those of which nothing is saved."""
        return [n for n in self.program.saved_presence if n in self._asked]

    def _options_kept(self) -> list[str]:
        if self.hidden or self.forward_mode:
            return self.options
        return [o for o in self.program.saved_options if self.used(o)]

    @cached_property
    def body(self) -> list[py.Statement]:
        """The statements of backward; products of matrices in the type that they have, whatever autocast says, those of
        a forward that it calls again included."""
        again = [self._again()] if self.hidden else []
        inside = [*again, *self._body_at(8)]
        if not any(map(_of_matrices, walk([inside, self._forward.body if again else []]))):
            return inside
        return [py.With(call("_no_autocast", Name(self.seeds[0])), [*again, *self._body_at(12)])]

    @property
    def unconditional(self) -> bool:
        """Whether the one gradient is computed unasked: torch calls no backward where no gradient is needed."""
        one = len(self.program.derivative.gradients) == 1 == len(self.reals(self.primal.inputs))
        return one and not self.asks_alone

    def _body_at(self, indent: int) -> list[py.Statement]:
        places = {g: k for k, g in enumerate(map(self.gradient_of, self.primal.inputs)) if g is not None}

        def asked(guard: Guard) -> Sequence[Expression]:
            serves = () if self.unconditional else guard.serves
            return conditions(replace(guard, serves=serves), places, self.program, self.flags)

        reads = [*self.seeds, *self._ordered(self.saved)]
        statements, optional = self._statements, self.primal.optional
        tree, whole = self.tree(self.seed), self._whole(reads)
        trees = TorchStatements(tree, asked, statements, reads, whole, optional, [*places], indent)
        return [*self.left, *trees.procedure(statements)]

    def _backward(self) -> Def:
        primal, program = self.primal, self.program
        body: list[py.Statement] = []
        count = len(primal.inputs) + len(self.options)
        if self.unasked():
            nothing: Expression = bare([py.NONE] * count)
            if count > MANY:
                nothing = Operation("mul", (py.Several((py.NONE,)), py.integer(count)))
            body.append(If(is_given(self.seeds[0], False), [Return(nothing)]))
        if self.saved:
            body.append(unpacked(named(self.saved), Word("ctx.saved_tensors")))
        for word, names in (
            ("sizes", named(self.sizes_kept())),
            ("options", named(self._options_kept())),
            ("given", [flag_of(n) for n in self._flags()]),
        ):
            body += [unpacked(names, Word(f"ctx.{word}"))] if names else []
        body += sized([d for d in self.sizes_used() if d not in self.sizes_kept()], self.telling())
        body += counted(self.backward.counts)
        always = half.certain(self.backward.statements) if self.unconditional else set[str]()
        unset = [g for _, g in program.derivative.gradients if g not in always]
        body += [py.Unset(tuple(named(unset)))] if unset else []
        result = Return(bare([*self.gradients(), *[py.NONE] * len(self.options)]))
        seeds = [Given(Name(s), role="cotangent") for s in self.seeds]
        return self._method("backward", [CTX], [*seeds, *self._rest(self.hidden)], [*body, *self.body, result])

    def _rest(self, others: Sequence[str]) -> list[Given]:
        """A parameter for all that does not count."""
        return [Given(Word("_"), role="rest")] if others else []

    # forward mode

    def _jvp(self) -> Def:
        """J times the tangents, from the inputs; what is None does not move."""
        assert self.program.product is not None, "the pipeline plans it"
        pushed = _Tangents(self.program.product)
        seeds = pushed.tangents
        body = [unpacked(named(self.primal.inputs), Word("ctx.saved_tensors"))]
        body += [unpacked(named(self.options), Word("ctx.options"))] if self.options else []
        body += [Assign(Name(seed), call("_tangent", Name(seed), Name(n))) for n, seed in seeds.items()]
        reals = self.reals(self.primal.inputs)
        reads = [*reals, *seeds.values(), *(n for n in self.primal.inputs if n not in reals)]
        optional = [*self.primal.optional, *(seeds[n] for n in self.primal.optional if n in seeds)]
        results = pushed.results(self.primal.outputs, lambda n: py.NONE)
        tree = pushed.tree(self.like or self.primal.inputs[0])

        def asked(guard: Guard) -> Sequence[Expression]:
            return present(guard, None)

        names = [g for _, g in self.program.product.derivative.gradients]
        trees = TorchStatements(tree, asked, pushed.statements, reads, self._whole(reads), optional, names)
        body += [*pushed.sizes(), *pushed.entered, *trees.procedure(pushed.statements)]
        body.append(Return(bare([*results, *[py.NONE] * len(self.hidden)])))
        tangents = [Given(Name(seeds[n]) if n in seeds else Word(f"_{n}")) for n in self.primal.inputs]
        return self._method("jvp", [CTX], [*tangents, *self._rest(self.options)], body)

    def _again(self) -> If:
        """The hidden results as functions of the inputs, where backward is differentiated itself."""
        results = [Word("_") if n in self.primal.outputs else Name(n) for n in (*self.primal.outputs, *self.hidden)]
        said = f"to differentiate this again: {listed(self.hidden)}"
        said = f"{said} as {'a function' if len(self.hidden) == 1 else 'functions'} of the inputs"
        if len(said) > LONGEST:
            said = "to differentiate this again: what was saved, as functions of inputs"
        asked: Expression = call("torch.is_grad_enabled")
        if self.forward_mode:
            reals = [Name(n) for n in self.primal.inputs if self.primal.table[n].dtype == Dtype.REAL]
            asked = Operation("or", (asked, call("_forward_mode", *reals)))
        value = call(Attribute(self.own, "forward"), *self.arguments())
        return If(asked, [py.Comment(said), Assign(bare(results), value)])


class _Tangents(TangentFile):
    def tree(self, like: str) -> TorchExpressions:
        return TorchExpressions(like, self.options)


def _of_matrices(node: object) -> bool:
    """Whether it is what autocast would compute in half precision."""
    match node:
        case Operation("matmul"):
            return True
        case py.Call(Word(word)):
            return word in (*CONVOLUTIONS.values(), "_einsum", "_solve_triangular") or word.startswith("torch.linalg")
        case _:
            return False


def in_range(primal: Function, check: RangeCheck, tree: TorchExpressions) -> py.Block:
    """Subscripts are refused at once, or made such that torch refuses them."""
    own = Name(check.name)
    said = [py.text(f"{primal.name}: {check.name}"), py.text(check.said)]
    asked = [] if check.asked is None else [tree(check.asked)]
    found = [Assign(own, call("_in_range", own, check.extent, *said, *asked))]
    return [If(is_given(check.name), found)] if check.given else found


def class_name(name: str) -> str:
    """`layer_norm` -> `LayerNorm`."""
    found = "".join(part[:1].upper() + part[1:] for part in name.split("_"))
    return found if found != name else f"{found}Function"


def type_helpers(primal: Function) -> list[py.Definition]:
    """What refuses arguments of another type, and gives those of real numbers one dtype."""
    kinds = {primal.table[n].dtype for n in primal.inputs}
    value, dtype = Word("value"), Attribute(Word("value"), "dtype")
    integers = py.Several(tuple(Word(f"torch.{kind}") for kind in ("uint8", "int8", "int16", "int32", "int64")))
    rows: tuple[tuple[Dtype, str, Expression, Expression], ...] = (
        (Dtype.REAL, "floating point", Operation("not", (py.method(value, "is_floating_point"),)), value),
        # torch takes uint8 for a mask
        (Dtype.INT, "integers", Operation("not in", (dtype, integers)), py.method(value, "long")),
        (Dtype.BOOL, "booleans", Operation("ne", (dtype, Word("torch.bool"))), value),
    )
    kind_of = Attribute(call("type", value), "__name__")
    said = (f"{primal.name}: ", Word("name"), " is of the type ", kind_of, ", expected a torch.Tensor")
    other = refusal(Operation("not", (call("torch.is_tensor", value),)), *said, kind="TypeError")
    found: list[py.Definition] = []
    for kind, expected, wrong, result in rows:
        refused = wrong_type(primal.name, wrong, dtype, expected)
        body: list[py.Statement] = [other, refused, Return(result)]
        found += [type_helper(kind, "tensor", body)] if kind in kinds else []
    return found
