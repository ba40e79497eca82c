"""Sparse matrices in Python: `jacobian_sparse` makes one of `jacobian_pattern`, where entries stand, and of
`jacobian_values`, which a solver calls again at other points with the same pattern.

What libraries call such a matrix is in `templates`: `_pattern`, `_entries` and `_matrix` of each language.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from ..plan import Nested, Sparse
from ..records import dataclass
from ..source import python as py
from ..source.layout import cut_text, listed
from ..source.python import Assign, Def, Expression, Given, Name, Return, Word, call
from .python_module import PythonModule
from .python_print import flat
from .python_sizes import shape
from .python_statements import named, nested, tuple_of

PATTERN = Word("pattern")


@dataclass(frozen=True)
class Matrix:
    """A matrix, and the function that the module is of: it gives the entries, or their places, or both.

    results  what that function returns before
    library  what the language calls such a matrix
    """

    module: PythonModule
    sparse: Sparse
    results: Nested
    library: str

    @property
    def is_pattern(self) -> bool:
        """Whether it gives the places alone."""
        return self.sparse.pattern is self.module.program

    @property
    def given(self) -> list[Given]:
        """The parameter that it takes before the inputs."""
        alone = self.sparse.pattern is None or self.is_pattern
        return [] if alone else [Given(PATTERN, None, "pattern", fixed=True)]

    @cached_property
    def shape(self) -> Expression:
        """How many rows and columns the matrix has."""
        return shape(self.sparse.shape)

    def result(self, values: Sequence[Expression]) -> Expression:
        """What it returns, of its outputs."""
        if self.is_pattern:
            pairs = [tuple_of(values[k : k + 2]) for k in range(0, len(values), 2)]
            return call("_pattern", self.shape, *pairs)
        given = dict(zip(self.module.primal.outputs, values, strict=True))
        parts = [given[name] for name in self.sparse.parts]
        if self.sparse.pattern is not None:
            return self._with(call("_entries", PATTERN, *parts), given)
        numbers = [py.Several(tuple(map(py.integer, some)), "[") for some in (self.sparse.indptr, self.sparse.indices)]
        return self._with(call("_matrix", tuple_of([self.shape, *numbers]), *parts), given)

    def _with(self, last: Expression, given: dict[str, Expression]) -> Expression:
        """The results and what comes behind them."""
        return nested((*self.results, "#last"), {**given, "#last": last})

    def whole(self, kind: str) -> Def:
        """The function that returns the matrix."""
        module = self.module
        given = [*named(module.primal.inputs), *(py.Keyword(o, Name(o)) for o in module.options)]
        entries = Word("entries")
        body: py.Block = [
            Assign(PATTERN, call(f"{kind}_pattern", *given)),
            Assign(self._with(entries, {}), call(f"{kind}_values", PATTERN, *given)),
            Return(self._with(call("_matrix", PATTERN, entries), {})),
        ]
        name = f"{kind}_sparse"
        return Def(Word(name), tuple(module.parameters()), body, self._about(kind), role=name, public=True)

    def about(self, kind: str) -> tuple[str, ...]:
        """What the function does."""
        if self.sparse.pattern is None:
            return self._about(kind)
        said = [f"Return {self._shown('entries')}: those of {kind}_sparse at the places of {kind}_pattern."]
        if self.is_pattern:
            equations = self.module.program.forward.equations
            read = {r.name for e in equations for r in e.reads} & {*self.module.primal.inputs}
            given = [n for n in self.module.primal.inputs if n in read]
            said = [
                f"Return where the entries of {kind}_sparse stand: its shape, where each row begins, the columns, "
                "and the entry that each value is added to.",
                "",
                f"They depend on {listed(['the sizes', *given])} alone.",
            ]
        return (*_cut(said), *self.module.arguments_doc())

    def _about(self, kind: str) -> tuple[str, ...]:
        """What the function does that returns the matrix."""
        rows, columns = self.sparse.rows, self.sparse.columns
        rows = tuple(r.removeprefix("gradient_") for r in rows) if kind == "hessian" else rows
        behind = ", one array behind the other" if len(rows) + len(columns) > 2 else ""
        said = (
            f"Return {self._shown(kind)}; the {kind} is a {self.library} {flat(self.shape)}.",
            "",
            f"Rows are the elements of {listed(rows)}, columns those of {listed(columns)}{behind}, each row-major.",
            "What is always 0 is not stored.",
        )
        return (*_cut(said), *self.module.arguments_doc())

    def _shown(self, last: str) -> str:
        return flat(self._with(Word(last), {}))


def _cut(lines: Sequence[str]) -> list[str]:
    return [part.strip() if line else "" for line in lines for part in (cut_text(line, 0, 84) if line else [""])]
