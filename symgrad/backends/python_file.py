"""What the printed Python of NumPy, torch and JAX has in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import Any, Self

from ..expr import Expr, Ref, refs
from ..ir import Dtype, Tensor, show_shape
from ..plan import Nested, Program
from ..plan.arrays import array_procedures
from ..plan.arrays.commands import For, Guard, Statement
from ..plan.program import Procedure
from ..source import python as py
from ..source.layout import cut_text, listed
from ..source.python import Expression, Given, Name, Number, Space, Verbatim, Word, spoken, words_in
from .helpers import python_helpers
from .python_expressions import Expressions
from .python_print import flat
from .python_sizes import name, pack_name
from .python_statements import Statements, as_stored, counted, nested, refused, sized, where_size_is

INLINE = 130  # a value moves into the line that reads it while the line is not longer; lines break at 88


class PythonModule:
    """What a file says of one function: its inputs, parameters and docstrings."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.inputs = "_inputs"  # the function that checks these
        self.primal = program.derivative.primal
        self.options = [o.name for o in self.primal.options]
        self.seeds = [s for _, s in program.derivative.seeds]
        # what forward saves besides: torch takes it for further results
        self.hidden = [n for n in program.saved if n not in (*self.primal.inputs, *self.primal.outputs)]

    # names

    @property
    def like(self) -> str | None:
        """The input whose type new arrays of forward have; None if all inputs are integers."""
        reals = [n for n in self.primal.inputs if self.primal.table[n].dtype == Dtype.REAL]
        return next((n for n in reals if not self.primal.table[n].optional), reals[0] if reals else None)

    @property
    def sure(self) -> list[Tensor]:
        """The inputs that are always given: they tell the sizes."""
        return [self.primal.table[n] for n in self.primal.inputs if not self.primal.table[n].optional]

    def gradient_of(self, name: str) -> str | None:
        """The gradient of an input; None if it has none."""
        return dict(self.program.derivative.gradients).get(name)

    def unasked(self) -> bool:
        """Whether a gradient of torch's that is zero comes as None, lest zeros are made for what is hidden."""
        return bool(self.hidden) and len(self.seeds) == 1

    def given_seed(self) -> Name | Word:
        """What the interface calls `grad_output`: the cotangent itself, unless that is what the user calls another."""
        return Name("grad_output") if self.seeds == ["grad_output"] else Word("grad_output")

    def gradients(self) -> list[Expression]:
        """What backward returns."""
        return [py.NONE if g is None else Name(g) for g in map(self.gradient_of, self.primal.inputs)]

    def parameters(self) -> list[Given]:
        """The parameters of a call: inputs, then options by name."""
        found = []
        optional = False
        for n in self.primal.inputs:
            optional = optional or self.primal.table[n].optional
            found.append(Given(Name(n), py.NONE if optional else None, "input", n))
        return [*found, *(Given(Name(o.name), Number(repr(o.default)), "option", o.name) for o in self.primal.options)]

    def arguments(self, options: bool = True) -> list[Expression]:
        """What is passed on: the inputs, and the options."""
        return [Name(n) for n in (*self.primal.inputs, *(self.options if options else []))]

    def given(self, names: Sequence[str]) -> list[Given]:
        """Parameters that have no default: inputs and options, as they are passed on."""
        roles = dict.fromkeys(self.primal.inputs, "input") | dict.fromkeys(self.options, "option")
        return [Given(Name(n), None, roles.get(n, ""), n) for n in names]

    # docstrings

    @property
    def errors(self) -> tuple[str, ...]:
        """What is raised, in sentences."""
        said = "TypeError and ValueError tell which argument has another type or shape"
        return (f"{said}, IndexError which subscript is out of range." if self.program.indexed else f"{said}.",)

    def arguments_doc(self) -> list[str]:
        """The arguments and their shapes; what is raised."""
        primal = self.primal
        if not primal.inputs:
            return []
        arguments = [
            f"{n} {show_shape(primal.table[n])}{' or None' if primal.table[n].optional else ''}" for n in primal.inputs
        ]
        shapes = {primal.table[n].shape for n in primal.inputs}
        if len(arguments) > 1 and len(shapes) == 1 and not primal.optional:
            arguments = [f"{listed(primal.inputs)}, all {show_shape(primal.table[primal.inputs[0]])}"]
        kinds = {primal.table[n].dtype for n in primal.inputs}
        said = f"The arguments are {'floating point' if kinds == {Dtype.REAL} else 'arrays'}: {listed(arguments)}."
        lines = [part.strip() for line in (said, *self.errors) for part in cut_text(line, 0, 84)]
        return ["", *lines]

    def results_doc(self, rest: str = "") -> str:
        """`Return out (n, m)`, with the shapes where there is room."""
        shown = ", ".join(f"{o} {show_shape(self.primal.table[o])}" for o in self.primal.outputs)
        first = f"Return {shown}{rest}."
        return first if len(first) <= 78 else f"Return {listed(self.primal.outputs)}{rest}."


    def arranged_doc(self, results: Nested) -> list[str]:
        """What is returned, arranged; and the shapes."""
        if isinstance(results, str) or all(isinstance(r, str) for r in results):
            return [self.results_doc()]
        table = self.primal.table
        shown = listed([f"{o} {show_shape(table[o])}" for o in self.primal.outputs])
        lines = (f"Return {flat(nested(results, {}))}.", "", f"The results are {shown}.")
        return [part.strip() if line else "" for line in lines for part in (cut_text(line, 0, 84) if line else [""])]


class PythonFile(PythonModule, ABC):
    """One function in one language of arrays.

    needs  what must hold of sizes and options
    """

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self.needs: Sequence[Expr] = ()
        self.forward, self.backward = array_procedures(program, self._fits, self.tree("x").library)
        self.needs = [*dict.fromkeys((*self.primal.constraints, *self.forward.needs, *self.backward.needs))]

    @abstractmethod
    def tree(self, like: str) -> Expressions:
        """What spells array expressions; new arrays have the type of the array `like`."""

    def shapes(self, procedure: Procedure) -> dict[str, tuple[Expr, ...]]:
        """The shapes of the arrays of a procedure, as they are there."""
        kept = {**self.forward.kept, **self.backward.kept}
        return {n: as_stored(t, kept.get(n)).shape for n, t in self.program.table_of(procedure).items()}

    def _fits(self, statement: Statement) -> bool:
        return self._width(statement, self.tree("x")) <= INLINE

    def _width(self, s: Statement, tree: Expressions) -> int:
        if isinstance(s, (Guard, For)):
            inner = (*s.body, *s.otherwise) if isinstance(s, Guard) else s.body
            return max(self._width(x, tree) for x in inner)
        return len(f"{s.name} = {flat(tree(s.value))}")

    def completed(
        self, body: Sequence[Any], first: Sequence[py.Definition], table: Mapping[str, Verbatim]
    ) -> tuple[list[py.Definition], Collection[str]]:
        """The private functions of a file, and the words that are used in it.

        body   its other functions
        first  the private functions that it has anyway
        table  those that it has where they are called, by name
        """
        functions = python_helpers(words_in(body) - table.keys(), self.tree("x"), self.program)
        helpers = [*first]
        words = words_in(body) | words_in(helpers) | words_in(functions)
        while more := [h for word, h in table.items() if word in words and h not in helpers]:
            helpers += more
            words |= words_in(more)
        return [*helpers, *functions], words

    def forward_sizes(self) -> list[str]:
        """The sizes that forward's lines mention, its conditions included."""
        mentioned = {r.name for c in self.needs for r in refs(c)} | set(self.forward.sizes)
        return [d.name for d in self.primal.dims if d.name in mentioned]

    def size_kept(self, of: str) -> Expression:
        """A size that is saved: its local if forward has one, else where it is read from."""
        return name(of) if of in self.forward_sizes() else where_size_is(of, self.sure)

    def begun(self, tree: Statements, reserve: Sequence[py.Statement] = ()) -> list[py.Statement]:
        """The statements of forward before its return."""
        sizes = [*sized(self.forward_sizes(), self.sure), *refused(self.primal, self.needs)]
        sizes += counted(self.forward.counts)
        return [*reserve, *sizes, *([Space()] if sizes else []), *tree.procedure(self.forward.statements)]


class TangentFile(PythonFile):
    """The product of the Jacobian with tangents, from the inputs and the tangents: `program.product`."""

    @property
    def tangents(self) -> dict[str, str]:
        """The tangent of each input that has one."""
        return dict(self.program.derivative.seeds)

    def results(self, outputs: Sequence[str], missing: Callable[[str], Expression]) -> list[Expression]:
        """The tangent of each output; `missing` for what is no real number."""
        found = dict(self.program.derivative.gradients)
        table = self.program.derivative.function.table
        return [Name(found[n]) if table[n].dtype == Dtype.REAL else missing(n) for n in outputs]

    @property
    def statements(self) -> list[Statement]:
        """What is computed."""
        return [*self.forward.statements, *self.backward.statements]

    def sizes(self) -> list[py.Statement]:
        """What is said about sizes."""
        needed = {*self.forward.sizes, *self.backward.sizes}
        counts = dict.fromkeys((*self.forward.counts, *self.backward.counts))
        return [*sized([d.name for d in self.primal.dims if d.name in needed], self.sure), *counted([*counts])]


class WholeFile(PythonFile):
    """A file that checks inputs.

    word     what a function beside forward and backward is called
    results  how its results are arranged
    beside   the files of such functions
    """

    def __init__(self, program: Program, word: str = "", results: Nested = ()) -> None:
        super().__init__(program)
        self.word, self.results = word, results
        made: Any = type(self)
        self.beside: list[Self] = [made(b.program, b.name, b.results) for b in program.beside]
        for file in self.files[1:]:
            if file.inputs_helper() != self.files[0].inputs_helper():
                file.inputs = f"_{file.word}_inputs"

    @property
    def files(self) -> list[Self]:
        """Those that check inputs; those that take the same call one function for it."""
        return [*([self] if self.program.pair else []), *self.beside]

    @abstractmethod
    def inputs_helper(self) -> py.Def:
        """What checks the inputs."""

    @abstractmethod
    def type_helpers(self) -> Sequence[py.Definition]:
        """What it calls."""

    def input_helpers(self) -> list[py.Definition]:
        """What checks the inputs of every function of the file."""
        found: list[py.Definition] = []
        for file in self.files if self.primal.inputs else []:
            found += [h for h in [file.inputs_helper()] if h not in found]
        for file in self.files:
            found += [h for h in file.type_helpers() if h not in found]
        return found

    def value_function(self, body: py.Block) -> py.Def:
        """A function beside forward and backward."""
        about = (*self.arranged_doc(self.results), *self.arguments_doc())
        return py.Def(Word(self.word), tuple(self.parameters()), body, about, role=self.word, public=True)

    @abstractmethod
    def values(self) -> py.Def:
        """A function beside forward and backward: it saves nothing."""


class FrameworkFile(WholeFile):
    """A file for a framework: its backward takes sizes from what it has, and keeps those that nothing tells."""

    @cached_property
    @abstractmethod
    def body(self) -> list[py.Statement]:
        """The statements of backward."""

    @abstractmethod
    def telling(self) -> list[Tensor]:
        """The tensors that backward always has, in the shapes that they have there."""

    def sizes_used(self) -> list[str]:
        """The sizes that backward works with."""
        return [d for d in self.backward.sizes if self.used(pack_name(d))]

    def sizes_kept(self) -> list[str]:
        """Those of them that no tensor tells that it always has."""
        told = {e.name for t in self.telling() for e in t.shape if isinstance(e, Ref)}
        return [d for d in self.sizes_used() if d not in told]

    def used(self, name: str) -> bool:
        """Whether backward mentions a size or an option."""
        return name in self._used

    @cached_property
    def _used(self) -> frozenset[str]:
        parts = self.body, counted(self.backward.counts)
        names, words = spoken(*parts)
        return names | words
