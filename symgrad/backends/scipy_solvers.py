"""Files for solvers that call otherwise than those of scipy.optimize: each with what it gives before the unknown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..plan import Program
from ..source import python as py
from ..source.layout import listed
from ..source.python import Assign, Attribute, Def, Element, Expression, Given, Name, Return, Word, bare, call
from .numpy import NumPyFile
from .python_statements import named
from .scipy_file import SciPyFile


class _SolveIvp(SciPyFile):
    """A file for solve_ivp, which gives the time first; a function without a time is given it, too."""

    word_of_values = "fun"
    whom = "for scipy.integrate.solve_ivp(fun, ..., jac=jac)"

    def _vectors(self, first: Sequence[Name | Word]) -> list[Given]:
        return [Given(Name(self.program.ahead) if self.program.ahead else Word("t")), *map(Given, first)]


class _CurveFit(SciPyFile):
    """A file for curve_fit, which gives data first, and then each number of the unknown for itself."""

    word_of_values = "fun"
    whom = "for scipy.optimize.curve_fit(fun, ..., jac=jac)"

    def __init__(self, program: Program, given_as: str) -> None:
        super().__init__(program, given_as)
        self.one_by_one = not any(t.shape for t in self._shapes)

    def _vectors(self, first: Sequence[Name | Word]) -> list[Given]:
        numbers = [Given(Name(n)) for n in self.unknowns]
        return [Given(Name(self.program.ahead)), *(numbers if self.one_by_one else [Given(first[0], role="rest")])]

    def _unpacked(self) -> list[py.Statement]:
        """The parameters as numbers of one type: curve_fit hands on an integer start as it is."""
        if not self.one_by_one:
            return super()._unpacked()
        return [Assign(bare(named(self.unknowns)), call("_parts", py.Several(tuple(named(self.unknowns)), "[")))]


class _Vectors(SciPyFile):
    """A file for solve_bvp: its functions are given vectors of numbers, and give a part of J for each of them.

    words    what is called: for the values, and for J
    vectors  what they are given, without parameters
    """

    words = ("bc", "bc_jac")
    whom = "what must be 0 at the ends, for scipy.integrate.solve_bvp(fun, bc, ..., bc_jac=bc_jac)"
    vectors: tuple[str, ...] = ("ya", "yb")

    @property
    def ends(self) -> tuple[int, ...]:
        """Where each vector ends among the unknown."""
        n = len(self.unknowns) - len(self.outputs)
        return n, 2 * n

    def _helpers(self) -> list[py.Definition]:
        return NumPyFile._helpers(self)

    def _called(self) -> list[Def]:
        values: list[py.Statement] = [*self._unpacked(), self._called_forward(Word("_")), Return(self._together())]
        (slopes,) = self.slopes
        *body, last = slopes.body()
        assert isinstance(last, Return), "it gives a matrix"
        derivatives: list[py.Statement] = [*self._unpacked(), *body, *self._cut(last.value)]
        by = listed([f"by {name}" for name, _ in self._groups()])
        first, second = self.words
        return [
            self._made(first, f"Return {self.names_told}, {self.whom}.", values),
            self._made(second, f"Return the derivatives of {self.names_told} {by}.", derivatives),
        ]

    def _groups(self) -> list[tuple[str, tuple[str, ...]]]:
        """The names of the vectors, and what is in them."""
        starts, ends = (0, *self.ends), (*self.ends, len(self.unknowns))
        names = (*self.vectors, "p")
        found = [(name, self.unknowns[a:b]) for name, a, b in zip(names, starts, ends, strict=True)]
        return found if found[-1][1] else found[:-1]

    def _made(self, word: str, about: str, body: py.Block) -> Def:
        groups = self._groups()
        held = [f"`{name}` holds {listed(names)}" for name, names in groups]
        ahead = [Given(Name(self.program.ahead))] if self.program.ahead else []
        options = [p for p in self.parameters() if p.role == "option"]
        parameters = (*ahead, *(Given(Word(name)) for name, _ in groups), *options)
        return Def(Word(word), parameters, body, (about, "", f"{listed(held)}."), public=True)

    def _unpacked(self) -> list[py.Statement]:
        return [Assign(py.targets(named(names)), Word(name)) for name, names in self._groups()]

    def _together(self) -> Expression:
        return call("np.stack", py.Several(tuple(self.found), "["))

    def _cut(self, matrix: Expression) -> list[py.Statement]:
        """The columns of each vector."""
        starts, ends = (0, *self.ends), (*self.ends, len(self.unknowns))
        parts = []
        for start, end in zip(starts, ends, strict=True):
            first = py.integer(start) if start else None
            last = py.integer(end) if end < len(self.unknowns) else None
            if start < end:
                parts.append(Element(matrix, (py.Cut(), py.Cut(first, last))) if first or last else matrix)
        return [Return(bare(parts))]


class _SolveBvp(_Vectors):
    """A file for solve_bvp itself, which asks at all places at once: they are the pack of the function."""

    words = ("fun", "fun_jac")
    whom = "at each place, for scipy.integrate.solve_bvp(fun, bc, ..., fun_jac=fun_jac)"
    vectors = ("y",)

    @property
    def ends(self) -> tuple[int, ...]:
        return (len(self.outputs),)

    def _unpacked(self) -> list[py.Statement]:
        (y, state), *rest = self._groups()
        places = Attribute(Name(self.program.ahead), "shape")
        numbers = [(name, Element(Word(p), (py.integer(k),))) for p, names in rest for k, name in enumerate(names)]
        everywhere = [Assign(Name(name), call("np.full", places, number)) for name, number in numbers]
        return [Assign(py.targets(named(state)), Word(y)), *everywhere]

    def _cut(self, matrix: Expression) -> list[py.Statement]:
        behind = call("np.moveaxis", matrix, py.integer(0), py.integer(-1))
        return [Assign(matrix, behind), *super()._cut(matrix)] if self._groups()[1:] else [Return(behind)]


FILES: Mapping[str, type[SciPyFile]] = {
    "optimize": SciPyFile,
    "curve_fit": _CurveFit,
    "solve_ivp": _SolveIvp,
    "solve_bvp": _SolveBvp,
    "bc": _Vectors,
}
