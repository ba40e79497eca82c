"""What the printed Python of NumPy, torch and JAX has in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import Any, Self

from ..expr import Expr, Ref, refs
from ..ir import Dtype, Tensor
from ..plan import Nested, Program, Sparse
from ..plan.arrays import array_procedures, half
from ..plan.arrays.commands import For, Guard, Statement
from ..plan.program import Procedure
from ..records import replace
from ..source import python as py
from ..source.python import Expression, Name, Space, Verbatim, Word, spoken, words_in
from . import primitives
from .helpers import python_helpers
from .primitive_rules import rules
from .python_checks import printed_checks
from .python_expressions import DTYPE, Expressions, dtype_of
from .python_module import PythonModule
from .python_print import flat
from .python_sizes import name, pack_name
from .python_sparse import Matrix
from .python_statements import (
    Statements,
    as_stored,
    counted,
    is_given,
    named,
    nested,
    refused,
    sized,
    tuple_of,
    where_size_is,
)

INLINE = 130  # a value moves into the line that reads it while the line is not longer; lines break at 88


class PythonFile(PythonModule, ABC):
    """One function in one language of arrays.

    needs  what must hold of sizes and options
    told   further sizes that forward's result speaks of
    """

    told: Sequence[Expr] = ()

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self.needs: Sequence[Expr] = ()
        self.forward, self.backward = array_procedures(program, self._width, INLINE, self.tree("x").library)
        self.needs = [*dict.fromkeys((*self.primal.constraints, *self.forward.needs, *self.backward.needs))]

    def reals(self, names: Sequence[str]) -> list[str]:
        """Those that are tensors of real numbers."""
        return [n for n in names if self.program.table[n].dtype == Dtype.REAL]

    def typed(self, of: str, narrowed: Collection[str]) -> Expression:
        """A tensor as it is returned: in the type of the inputs, if it is one of these."""
        if of not in narrowed:
            return Name(of)
        cast = py.method(Name(of), self.tree(of).cast, DTYPE)
        absent = of in self.primal.optional
        return py.Operation("select", (is_given(of, False), py.NONE, cast)) if absent else cast

    @abstractmethod
    def tree(self, like: str) -> Expressions:
        """What spells array expressions; new arrays have the type of the array `like`."""

    def shapes(self, procedure: Procedure) -> dict[str, tuple[Expr, ...]]:
        """The shapes of the arrays of a procedure, as they are there."""
        kept = {**self.forward.kept, **self.backward.kept}
        return {n: as_stored(t, kept.get(n)).shape for n, t in self.program.table_of(procedure).items()}

    def _width(self, s: Statement) -> int:
        if isinstance(s, (Guard, For)):
            return max(map(self._width, (*s.body, *s.otherwise) if isinstance(s, Guard) else s.body))
        return len(f"{s.name} = {flat(self.tree('x')(s.value))}")

    def completed(
        self, body: Sequence[Any], first: Sequence[py.Definition], table: Mapping[str, Verbatim]
    ) -> tuple[list[py.Definition], Collection[str]]:
        """The private functions of a file, and the words that are used in it.

        body   its other functions
        first  the private functions that it has anyway
        table  those that it has where they are called, by name
        """
        called = words_in(body)
        users = self.users(called)
        called |= words_in(users)
        functions = python_helpers(called - table.keys(), self.tree("x"), self.program)
        helpers = [*first]
        words = called | words_in(helpers, functions)
        while more := [h for word, h in table.items() if word in words and h not in helpers]:
            helpers += more
            words |= words_in(more)
        return [*helpers, *functions, *users], words

    def rules(self) -> Mapping[str, Sequence[py.Definition]]:
        """What stands for functions of the user's, by the words that are called."""
        return {}

    def users(self, words: Collection[str]) -> list[py.Definition]:
        """Those of them that these words, and they themselves, call."""
        rules, found, waiting = self.rules(), dict[str, None](), sorted(words)
        while waiting:
            word = waiting.pop()
            if word in rules and word not in found:
                found[word] = None
                waiting += sorted(words_in(rules[word]))
        return [part for word in sorted(found) for part in rules[word]]

    def forward_sizes(self) -> list[str]:
        """The sizes that forward's lines mention, its conditions included."""
        mentioned = {r.name for c in (*self.needs, *self.told) for r in refs(c)} | set(self.forward.sizes)
        return [d.name for d in self.primal.dims if d.name in mentioned]

    def size_kept(self, of: str) -> Expression:
        """A size that is saved: its local if forward has one, else where it is read from."""
        return name(of) if of in self.forward_sizes() else where_size_is(of, self.sure)

    def begun(
        self,
        tree: Statements,
        reserve: Sequence[py.Statement] = (),
        first: Sequence[py.Statement] = (),
        kept: Sequence[str] = (),
    ) -> list[py.Statement]:
        """The statements of forward before its return; `first` stands behind what refuses sizes.

        kept  the sizes that the return speaks of
        """
        lines = tree.procedure(self.forward.statements)
        refusing, counts = refused(self.primal, self.needs), counted(self.forward.counts)
        names, words = spoken(first, lines, refusing, counts)
        read = {*names, *words, *map(pack_name, (*kept, *(r.name for c in self.told for r in refs(c))))}
        sizes = [*sized([d for d in self.forward_sizes() if pack_name(d) in read], self.sure), *refusing, *counts]
        return [*reserve, *sizes, *([Space()] if sizes else []), *first, *lines]


class TangentFile(PythonFile):
    """The product of the Jacobian with tangents, from the inputs and the tangents: `program.product`."""

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self.entered: list[py.Statement] = []
        self.narrowed: Collection[str] = ()
        if self.like is None or not half.rounds(self.statements):
            return
        primal = self.primal
        given = [*self.reals(primal.inputs), *self.tangents.values()]
        tangents = [g for _, g in program.derivative.gradients]
        changed = half.halves(self.statements, given, self.like, tangents)
        cut = len(self.forward.statements)
        self.forward = replace(self.forward, statements=changed.statements[:cut])
        self.backward = replace(self.backward, statements=changed.statements[cut:])
        self.narrowed = changed.narrowed
        self.entered = begun_wide(changed, self.like)

    @property
    def tangents(self) -> dict[str, str]:
        """The tangent of each input that has one."""
        return dict(self.program.derivative.seeds)

    def results(self, outputs: Sequence[str], missing: Callable[[str], Expression]) -> list[Expression]:
        """The tangent of each output; `missing` for what is no real number."""
        found = dict(self.program.derivative.gradients)
        table = self.program.derivative.function.table
        return [self.typed(found[n], self.narrowed) if table[n].dtype == Dtype.REAL else missing(n) for n in outputs]

    @property
    def statements(self) -> list[Statement]:
        """What is computed."""
        return [*self.forward.statements, *self.backward.statements]

    def sizes(self) -> list[py.Statement]:
        """What is said about sizes."""
        needed = {*self.forward.sizes, *self.backward.sizes}
        counts = dict.fromkeys((*self.forward.counts, *self.backward.counts))
        return [*sized([d.name for d in self.primal.dims if d.name in needed], self.sure), *counted([*counts])]


def begun_wide(changed: half.Halves, like: str) -> list[py.Statement]:
    """What stands before statements: `dtype`, the type of the inputs, and these in float32."""
    widened, wide = named(changed.widened), Word("_float32")
    found: list[py.Statement] = [py.Assign(DTYPE, dtype_of(like))] if changed.narrow else []
    if len(widened) == 1:
        found.append(py.Assign(widened[0], py.call(wide, *widened)))
    elif widened:
        found.append(py.Assign(py.bare(widened), py.call("map", wide, tuple_of(widened))))
    return found


class WholeFile(PythonFile):
    """A file that checks inputs.

    word     what a function beside forward and backward is called
    results  how its results are arranged
    matrix   the sparse matrix whose entries, or their places, it computes
    beside   the files of such functions
    matrices  what sparse matrices are called
    """

    matrices = ""

    def __init__(self, program: Program, word: str = "", results: Nested = (), sparse: Sparse | None = None) -> None:
        super().__init__(program)
        self.word, self.results = word, results
        self.matrix = None if sparse is None else Matrix(self, sparse, results, self.matrices)
        self.told = sparse.shape if sparse is not None and sparse.pattern is program else ()
        made: Any = type(self)
        self.beside: list[Self] = []
        for b in program.beside:
            pattern = None if b.sparse is None else b.sparse.pattern
            self.beside.append(made(b.program, b.name if pattern is None else b.values, b.results, b.sparse))
            self.beside += [] if pattern is None else [made(pattern, b.pattern, (), b.sparse)]
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
            found += [h for h in printed_checks(file.inputs_helper()) if h not in found]
        for file in self.files:
            found += [h for h in file.type_helpers() if h not in found]
        return found

    def value_function(self, body: py.Block) -> py.Def:
        """A function beside forward and backward."""
        about, given = (*self.arranged_doc(self.results), *self.arguments_doc()), self.parameters()
        if self.matrix is not None:
            about, given = self.matrix.about(self.kind), [*self.matrix.given, *given]
        return py.Def(Word(self.word), tuple(given), body, about, role=self.word, public=True)

    @property
    def kind(self) -> str:
        """What is derived: `jacobian` of `jacobian_values`."""
        return self.word.rpartition("_")[0]

    def result(self, values: Sequence[Expression]) -> Expression:
        """What such a function returns, of its outputs."""
        if self.matrix is not None:
            return self.matrix.result(values)
        return nested(self.results, dict(zip(self.primal.outputs, values, strict=True)))

    def printed(self) -> list[py.Def]:
        """What is printed for it; the function that puts a matrix together stands before that of its entries."""
        whole = [self.matrix.whole(self.kind)] if self.matrix is not None and self.matrix.given else []
        return [*whole, self.values()]

    @abstractmethod
    def values(self) -> py.Def:
        """A function beside forward and backward: it saves nothing."""


class FrameworkFile(WholeFile):
    """A file for a framework: its backward takes sizes from what it has, and keeps those that nothing tells.

    autocast  what torch.autocast does with the inputs, as `half` says
    entered   what forward does first about inputs in half precision
    left      what backward does first
    narrowed  the results and gradients that are changed to the type of the inputs where they are returned
    restored  what is, where it is saved
    saves_names  whether forward saves what its names stand for
    """

    saves_names = True

    def __init__(self, program: Program, word: str = "", results: Nested = (), sparse: Sparse | None = None) -> None:
        super().__init__(program, word, results, sparse)
        primal = self.primal
        self.autocast = half.autocast(self.forward.statements, primal.outputs, primal.statements)
        self.entered: list[py.Statement] = []
        self.left: list[py.Statement] = []
        self.narrowed: Collection[str] = ()
        self.restored: Collection[str] = ()
        if self.like is None or not half.rounds([*self.forward.statements, *self.backward.statements]):
            return
        reals = self.reals(primal.inputs)
        forward = half.halves(self.forward.statements, reals, self.like, self.reals(primal.outputs))
        saved = [n for n in self.reals(self.program.saved) if n in (*reals, *primal.outputs, *forward.half)]
        seed = self.seed if self.seeds else self.like  # of what has no backward there is none
        backward = half.halves(self.backward.statements, [*self.seeds, *saved], seed, self.returned())
        self.forward = replace(self.forward, statements=forward.statements)
        self.backward = replace(self.backward, statements=backward.statements)
        self.narrowed = {*forward.narrowed, *backward.narrowed}
        self.restored = {*forward.narrowed, *(n for n in forward.widened if n in self.program.saved)}
        speaks = forward.narrow or bool(self.restored) and self.saves_names
        self.entered = begun_wide(replace(forward, narrow=speaks), self.like)
        self.left = begun_wide(backward, seed) if self.seeds else []

    def results_typed(self) -> list[Expression]:
        """The results, in the type of the inputs."""
        return [self.typed(n, self.narrowed) for n in self.primal.outputs]

    def returned(self) -> Sequence[str]:
        """The gradients that backward returns in the type of the inputs."""
        return ()

    def rules(self) -> Mapping[str, Sequence[py.Definition]]:
        return rules(primitives.of(self.program), self.tree)

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
