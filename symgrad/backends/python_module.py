"""What a file of Python says of one function: its inputs, parameters and docstrings."""

from __future__ import annotations

from collections.abc import Sequence

from ..ir import Dtype, Tensor, show_shape
from ..plan import Nested, Program
from ..source import python as py
from ..source.layout import cut_text, listed
from ..source.python import Expression, Given, Name, Number, Word
from .python_checks import ADJECTIVES
from .python_print import flat
from .python_statements import nested


class PythonModule:
    """One function, as a file speaks of it.

    noun  what the language calls an array
    """

    noun = "array"

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

    @property
    def seed(self) -> str:
        """The cotangent whose type new arrays of backward have: of a real number, if there is one."""
        seeds, table = self.program.derivative.seeds, self.primal.table
        return next((seed for output, seed in seeds if table[output].dtype == Dtype.REAL), self.seeds[0])

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
        said += ", or a number outside of the domain" if self.program.within else ""
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
        one = len(primal.inputs) == 1
        floating = "floating-point " if kinds == {Dtype.REAL} else ""
        said = f"The arguments are {floating}{self.noun}s: {listed(arguments)}."
        if one:
            tensor = primal.table[primal.inputs[0]]
            absent = " or None" if tensor.optional else ""
            said = f"{tensor.name} is {ADJECTIVES[tensor.dtype]} {self.noun} {show_shape(tensor)}{absent}."
        domain = (f"{'It is' if one else 'They are'} declared for {primal.domain}.",) if primal.domain else ()
        lines = [part.strip() for line in (said, *domain, *self.errors) for part in cut_text(line, 0, 84)]
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
