"""NumPy: one file with `forward` and `backward`, which imports NumPy (and SciPy only where a function needs it)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import ModuleType

from ..expr import Ref, postorder, ref
from ..ir import Dtype, Tensor, show_shape
from ..plan import Program
from ..plan.arrays.commands import AddAt, Guard
from ..plan.arrays.slices import in_slices
from ..plan.arrays.tree import Array, Slice, Take
from ..plan.program import SCIPY
from ..source import python as py
from ..source.layout import cut_text
from ..source.python import (
    Assign,
    Attribute,
    Def,
    Do,
    Expression,
    Given,
    If,
    Import,
    Module,
    Name,
    Operation,
    Return,
    Several,
    Word,
    bare,
    call,
)
from . import primitives
from .handwritten import handwritten
from .python_checks import (
    checked,
    checked_options,
    cotangent_helper,
    cotangents_helper,
    inputs_helper,
    outside,
    printed_checks,
    range_refused,
    type_helpers,
)
from .python_expressions import Expressions, dtype_of
from .python_file import WholeFile
from .python_names import PythonLanguage
from .python_print import flat
from .python_sizes import shape
from .python_statements import (
    SAVED,
    Statements,
    as_stored,
    conditions,
    counted,
    counted_at_hand,
    flag_of,
    is_given,
    named,
    read_only,
    returned,
    sized,
    tuple_of,
    unpacked,
)

MANY = 8  # inputs, from which their flags are not written out
ROOM = 84  # columns for outputs that stand in the return itself
NEEDS, DTYPE, INPUTS = Word("needs_input_grad"), Word("dtype"), Word("inputs")


class NumPy(PythonLanguage):
    """The target `numpy`."""

    name = dialect = "numpy"
    executed = "numpy"
    takes = ("save", "checkpoint", "functions", "wrt", "strict_domain")
    style = "arrays"

    def module(self, program: Program, header: Sequence[str]) -> Module:
        """The file as a tree."""
        return NumPyFile(program).module(header)

    def load(self, program: Program, files: Mapping[str, str]) -> ModuleType:
        """Import the printed text as a module."""
        return self.module_of(program, files)


class NumPyStatements(Statements):
    def add_at(self, s: AddAt) -> py.Block:
        items = self.tree.items(s.items)
        index = items[0] if len(items) == 1 else Several(items)
        index = py.Element(Word("np.s_"), items) if any(isinstance(i, Slice) for i in s.items) else index
        value: Array = s.value
        if s.lacks and len(s.items) == 1:  # NumPy 2.4 reads behind a vector that is added at a matrix of places
            value = Take(value, (None,) * s.lacks)
        return [Do(call("np.add.at", Name(s.name), index, self.tree(value)))]


class NumPyFile(WholeFile):
    matrices = "scipy.sparse.csr_array"

    def tree(self, like: str) -> Expressions:
        return Expressions(dtype_of(like), self.options, self.needs)

    def module(self, header: Sequence[str]) -> Module:
        """The file as a tree."""
        functions = counted_at_hand(self.functions(), lambda array: Attribute(array, "size"))
        checks = self.inputs_helper()  # functions of one point call it, where forward checks only a type
        called = not printed_checks(checks) and self.inputs in py.words_in(functions)
        first = [*([checks] if called else []), *self._helpers()]
        helpers, used = self.completed(functions, first, handwritten("numpy"))
        modules = [Import(m, source="scipy") for m in sorted(SCIPY) if m in used]
        return Module(
            tuple(header),
            (
                (Import("math"),) if "math" in used else (),
                (Import("numpy", "np"), *modules, *self.imports()),
                primitives.imports(used, "numpy", primitives.of(self.program)),
            ),
            tuple(f.name for f in functions if f.public),
            (*functions, *helpers),
        )

    def functions(self) -> list[Def]:
        """The functions that are printed."""
        pair = [self._forward(), self._backward()] if self.program.pair else []
        return [*pair, *(f for file in self.beside for f in file.printed())]

    def imports(self) -> list[Import]:
        """What they import besides NumPy."""
        return []

    # forward

    def _forward(self) -> Def:
        outputs, kept = self.primal.outputs, tuple_of(self.kept())

        def result(values: Sequence[Expression]) -> Expression:
            return bare([tuple_of(values) if len(values) > 1 else values[0], kept])

        body = with_return(self.computed(sliced=True), outputs, self.program.saved, result)
        about = (self.results_doc(", and what backward needs"), *self.arguments_doc())
        return Def(Word("forward"), tuple(self.parameters()), body, about, role="forward", public=True)

    def checked(self) -> list[str]:
        """The options that `_inputs` is given."""
        return checked_options(self.program)

    def computed(self, sliced: bool = False) -> list[py.Statement]:
        """The statements of forward before its return; `sliced` where it may be called for slices."""
        inputs = named(self.primal.inputs)
        checks = checked(self.inputs_helper(), self.primal.inputs, self.checked())
        first: list[py.Statement] = [Assign(bare(inputs), checks)] if inputs else []
        if sliced and len(inputs) == 1:
            first += self._in_slices("forward", *inputs, *inputs)
        elif sliced and (calls := self._in_slices("forward", py.Element(INPUTS, (py.integer(0),)), py.Splat(INPUTS))):
            first = [Assign(INPUTS, checks), *calls, Assign(bare(inputs), INPUTS)]
        tree = NumPyStatements(self._typed(), lambda guard: conditions(guard, {}, None, NEEDS))
        return self.begun(tree, first, kept=self.program.saved_sizes)

    def _in_slices(self, word: str, like: Expression, *arguments: Expression) -> list[py.Statement]:
        """The call of a function for slices of its arguments, where arrays are long as this one is."""
        if not in_slices(self.program):
            return []
        long = Operation("gt", (Attribute(like, "size"), Word("_SLICE")))
        return [If(long, [Return(call("_in_slices", Word(word), Attribute(like, "shape"), *arguments))])]

    def _typed(self) -> Expressions:
        return self.tree(self.like) if self.like else Expressions(Word("np.float64"), self.options, self.needs)

    def kept(self) -> list[Expression]:
        """What forward saves."""
        saved = [*named(self.program.saved), *map(self.size_kept, self.program.saved_sizes)]
        saved += [*named(self.program.saved_options), *map(is_given, self.program.saved_presence)]
        return [*saved, self._typed().dtype] if self._saves_dtype() else saved

    def _saves_dtype(self) -> bool:
        """Whether backward would have no array to take the type from."""
        table = self.program.table
        reals = [n for n in self.program.saved if table[n].dtype == Dtype.REAL and not table[n].optional]
        return not reals and bool(self.primal.inputs) and self._needs_dtype()

    def _needs_dtype(self) -> bool:
        return len(self.primal.outputs) > 1 or self._scalar_output() or not self._cotangents_used()

    def _cotangents_used(self) -> bool:
        return not self._read().isdisjoint(self.seeds)

    def _read(self) -> set[str]:
        """The names that backward reads, cotangents among them."""
        return {r.name for e in self.program.backward.equations for r in e.reads}

    def _scalar_output(self) -> bool:
        """Whether the one output is a scalar, or may be one: a pack of no axes."""
        shape = self.primal.table[self.primal.outputs[0]].shape
        packs = all(isinstance(e, Ref) and e.name in self.primal.packs for e in shape)
        return len(self.primal.outputs) == 1 and packs

    def _whole_output(self) -> bool:
        """Whether the one output is an integer or a boolean: what is given as its gradient does not count."""
        return len(self.primal.outputs) == 1 and self.primal.table[self.primal.outputs[0]].dtype != Dtype.REAL

    # backward

    def _backward(self) -> Def:
        primal, program = self.primal, self.program
        reals = [n for n in program.saved if program.table[n].dtype == Dtype.REAL and not program.table[n].optional]
        dtype = dtype_of(reals[0] if reals else self.seeds[0])
        dtype = DTYPE if self._saves_dtype() else dtype if primal.inputs else Word("np.float64")
        names = self.names_kept()
        told = [program.table[n] for n in program.saved if not program.table[n].optional]
        needed = [d for d in self.backward.sizes if d not in program.saved_sizes]
        shapes, more = self._seed_shapes(told)
        needed = [d.name for d in primal.dims if d.name in needed or d.name in more]
        body = sized(needed, [as_stored(t, self.forward.kept.get(t.name)) for t in told])
        body += [*counted(self.backward.counts), *self._cotangents(shapes, dtype)]
        gradients = {g: k for k, g in enumerate(self.gradient_of(n) for n in primal.inputs) if g is not None}
        body += [py.Unset(tuple(named([*gradients])))] if gradients else []

        def asked(guard: Guard) -> Sequence[Expression]:
            return conditions(guard, gradients, program, NEEDS)

        body += NumPyStatements(Expressions(dtype, self.options, self.needs), asked)(self.backward.statements)
        kept = [*named(program.saved), *read_only(names[len(program.saved) :], body)]
        count = len(primal.inputs)
        flags: Expression = Several((Word("True"),) * count)
        if count > MANY:
            flags = py.Operation("mul", (Several((Word("True"),)), py.integer(count)))
        return Def(
            Word("backward"),
            (
                Given(SAVED, None, "saved", fixed=True),
                Given(self.given_seed(), py.NONE, "cotangent", fixed=True),
                Given(NEEDS, flags, "needed", fixed=True),
            ),
            [*([unpacked(kept)] if kept else []), *body, returned(self.gradients())],
            self._backward_doc(),
            role="backward",
            public=True,
        )

    def names_kept(self) -> list[Expression]:
        """What forward has saved, by the names that it has in backward."""
        program = self.program
        kept: list[Expression] = [*named(program.saved), *named(program.saved_sizes), *named(program.saved_options)]
        kept += map(flag_of, program.saved_presence)
        return [*kept, DTYPE] if self._saves_dtype() else kept

    def _backward_doc(self) -> tuple[str, ...]:
        first = "Return J.T @ grad_output: one gradient per input, None where it is not needed."
        ((output, _), *others) = self.program.derivative.seeds
        if self._whole_output():
            said = f"{output} is no real number: grad_output does not count."
        elif others:
            said = f"grad_output is ({', '.join(self.seeds)}); None in it counts as zero."
        else:
            shape = self.primal.table[output].shape
            said = f"grad_output has the shape of {output}, {show_shape(self.primal.table[output])}; "
            said = said if shape else f"grad_output is a scalar, as {output} is; "
            said = f"{said}left out, it is 1." if not shape else f"{said[:-2]}."
        return (first, "", *(part.strip() for part in cut_text(said, 0, 84)))

    def _seed_shapes(self, told: Sequence[Tensor]) -> tuple[list[Expression], set[str]]:
        """The shape of each cotangent, and the sizes that these mention."""
        shapes, mentioned = list[Expression](), set[str]()
        kept = self.forward.kept
        for output, _ in self.program.derivative.seeds:
            extents = self.primal.table[output].shape
            same = next((t.name for t in told if t.shape == extents and t.name not in kept and extents), None)
            if same is not None:
                shapes.append(py.Attribute(Name(same), "shape"))
            else:
                known = {extent.key: ref(name) for name, extent in self.backward.counts}
                extents = tuple(known.get(e.key, e) for e in extents)
                shapes.append(shape(extents))
                names = {n.name for e in extents for n in postorder(e) if isinstance(n, Ref)}
                mentioned |= names - set(self.program.saved_sizes)
        return shapes, mentioned

    def _cotangents(self, shapes: Sequence[Expression], dtype: Expression) -> py.Block:
        if self._whole_output():
            return []
        given, several = self.given_seed(), len(self.seeds) > 1
        extra = [dtype] if self._scalar_output() or several else []
        names: Expression = Name(self.seeds[0])
        checked = call("_cotangent", given, *shapes, *extra)
        if several:
            read = self._read()
            names = bare([Name(s) if s in read else Word("_") for s in self.seeds])
            checked = call("_cotangents", given, tuple_of(shapes), *extra)
        sliced = [s for n in self.program.saved[:1] for s in self._in_slices("backward", Name(n), SAVED, given, NEEDS)]
        if not sliced or names == given:
            return [Assign(names, checked), *sliced]
        return [Assign(given, checked), *sliced, Assign(names, given)]

    # helpers

    def _helpers(self) -> list[py.Definition]:
        helpers = self.input_helpers()
        seeds = self.program.derivative.seeds
        if self._whole_output() or not self.program.pair:
            pass
        elif len(seeds) > 1:
            helpers.append(cotangents_helper(self.primal.name, [o for o, _ in seeds]))
        else:
            always = not self.primal.table[seeds[0][0]].shape
            scalar = "always" if always else "sometimes" if self._scalar_output() else ""
            helpers.append(cotangent_helper(self.primal.name, seeds[0][0], scalar))
        return helpers

    def inputs_helper(self) -> Def:
        """What checks the inputs."""
        tree = Expressions(Word(""))
        return inputs_helper(self.program, range_refused(outside, tree), word=self.inputs, tree=tree)

    def type_helpers(self) -> list[Def]:
        return type_helpers(self.primal, "np")

    def values(self) -> Def:
        return self.value_function(with_return(self.computed(), self.primal.outputs, (), self.result))


def with_return(
    body: Sequence[py.Statement],
    outputs: Sequence[str],
    saved: Sequence[str],
    result: Callable[[Sequence[Expression]], Expression],
) -> list[py.Statement]:
    """The statements and the return; outputs that are only returned stand in the return itself while that is short."""
    last: dict[str, Expression] = {}
    for s in reversed(body):
        match s:
            case Assign(Name(name), value, "=") if name in {*outputs} - {*saved, *last} and len(flat(value)) <= ROOM:
                last[name] = value
            case _:
                break
    values = [last.get(o, Name(o)) for o in outputs]
    if len(outputs) > 1 and len(last) == len(outputs) and py.names_in(values).isdisjoint(outputs):
        whole = Return(result(values))
        if len(flat(whole.value)) + len("return ") <= ROOM:
            return [*body[: len(body) - len(last)], whole]
    return [*body, Return(result(named(outputs)))]
