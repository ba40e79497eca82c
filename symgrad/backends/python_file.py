"""What the printed Python of NumPy, torch and JAX has in common."""

from __future__ import annotations

import linecache
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from types import ModuleType

from ..expr import Expr, Ref, refs
from ..ir import Dtype, Tensor, show_shape
from ..plan import Program
from ..plan.arrays import array_procedures
from ..plan.arrays.commands import For, Guard, Statement
from ..source.layout import cut_text
from .helpers import python_helpers
from .python_lines import count_lines, listed, number_of, size_lines, where_told
from .python_names import names_in
from .python_text import ArrayPrinter, pack_name

INLINE = 130  # a value moves into the line that reads it while the line is not longer; lines break at 88


def module_from(path: str, text: str) -> ModuleType:
    """A module of that text; its lines show up in tracebacks."""
    stem = path.rsplit("/", 1)[-1].removesuffix(".py")
    module = ModuleType(stem)
    module.__file__ = f"<symgrad {path}>"
    linecache.cache[module.__file__] = (len(text), None, text.splitlines(keepends=True), module.__file__)
    exec(compile(text, module.__file__, "exec"), module.__dict__)  # symgrad's own text, of checked names
    return module


class PythonModule:
    """What a file says of one function: its inputs, parameters and docstrings."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.primal = program.derivative.primal
        self.options = [o.name for o in self.primal.options]

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

    def parameters(self) -> list[str]:
        """The parameters of a call: inputs, then options by name."""
        primal = self.primal
        parts = []
        optional = False
        for name in primal.inputs:
            optional = optional or primal.table[name].optional
            parts.append(f"{name}=None" if optional else name)
        if primal.options:
            parts.append("*")
            parts += [f"{o.name}={number_of(o.default)}" for o in primal.options]
        return parts

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
        return ["", *(f"    {line}" for line in lines), "    "]

    def results_doc(self, rest: str = "") -> str:
        """`Return out (n, m)`, with the shapes where there is room."""
        shown = ", ".join(f"{o} {show_shape(self.primal.table[o])}" for o in self.primal.outputs)
        first = f"Return {shown}{rest}."
        return first if len(first) <= 78 else f"Return {listed(self.primal.outputs)}{rest}."


class PythonFile(PythonModule, ABC):
    """One function in one language of arrays.

    needs  what must hold of sizes and options
    """

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self.needs: Sequence[Expr] = ()
        self.forward, self.backward = array_procedures(program, self._fits)
        self.needs = [*dict.fromkeys((*self.primal.constraints, *self.forward.needs, *self.backward.needs))]

    @abstractmethod
    def printer(self, like: str) -> ArrayPrinter:
        """What spells array expressions; new arrays have the type of the array `like`."""

    def _fits(self, statement: Statement) -> bool:
        return max(len(line) for line in self._flat(statement, self.printer("x"))) <= INLINE

    def _flat(self, s: Statement, text: ArrayPrinter) -> list[str]:
        if isinstance(s, Guard):
            return [line for inner in (*s.body, *s.otherwise) for line in self._flat(inner, text)]
        if isinstance(s, For):
            return [line for inner in s.body for line in self._flat(inner, text)]
        return [f"{s.name} = {text(s.value)}"]

    def completed(
        self, body: str, first: Sequence[list[str]], table: Mapping[str, Sequence[str]]
    ) -> tuple[list[list[str]], frozenset[str]]:
        """The private functions of a file, and the names that are used in it.

        body   the lines of its other functions
        first  the private functions that it has anyway
        table  those that it has where they are called, by name
        """
        used = names_in("\n".join([body, *(line for lines in first for line in lines)]))
        helpers = [*first, *(list(lines) for name, lines in table.items() if name in used)]
        helpers += python_helpers(body, self.printer("x"), self.program)
        return helpers, names_in("\n".join([body, *(line for lines in helpers for line in lines)]))

    def forward_sizes(self) -> list[str]:
        """The sizes that forward's lines mention, its conditions included."""
        mentioned = {r.name for c in self.needs for r in refs(c)} | set(self.forward.sizes)
        return [d.name for d in self.primal.dims if d.name in mentioned]

    def size_text(self, name: str, tensors: Sequence[Tensor]) -> str:
        """A size that is saved: its local if forward has one, else where it is read from."""
        if name in self.forward_sizes():
            return pack_name(name)
        return where_told(name, tensors)


class TangentFile(PythonFile):
    """The product of the Jacobian with tangents, from the inputs and the tangents: `program.product`."""

    @property
    def tangents(self) -> dict[str, str]:
        """The tangent of each input that has one."""
        return dict(self.program.derivative.seeds)

    def results(self, outputs: Sequence[str], missing: str) -> list[str]:
        """The tangent of each output; `missing` for what is no real number."""
        found = dict(self.program.derivative.gradients)
        table = self.program.derivative.function.table
        return [found[n] if table[n].dtype == Dtype.REAL else missing.format(n) for n in outputs]

    @property
    def statements(self) -> list[Statement]:
        """What is computed."""
        return [*self.forward.statements, *self.backward.statements]

    def sized(self, indent: int) -> list[str]:
        """The lines about sizes."""
        needed = {*self.forward.sizes, *self.backward.sizes}
        counts = dict.fromkeys((*self.forward.counts, *self.backward.counts))
        lines = size_lines([d.name for d in self.primal.dims if d.name in needed], self.sure)
        return [*lines, *count_lines([*counts], indent)]


class FrameworkFile(PythonFile):
    """A file for a framework: its backward takes sizes from what it has, and keeps those that nothing tells."""

    @cached_property
    @abstractmethod
    def body(self) -> list[str]:
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
        """Whether the lines of backward mention a name."""
        return name in self._used

    @cached_property
    def _used(self) -> frozenset[str]:
        return names_in("\n".join([*self.body, *count_lines(self.backward.counts)]))
