"""The plan as data: what forward and backward compute, in which order, and what passes between them.

A Program has no language in it. The equations of its steps are final: every name is the name that is printed, and each
step reads only what stands before it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from functools import cached_property
from typing import Union

from ..expr import Expr, Index, Ref, ref, substitute
from ..ir import Derivative, Equation, Function, Tensor, When, names_of
from ..records import dataclass, replace


@dataclass(frozen=True, slots=True)
class Step:
    """One tensor computed: its equations, in order.

    serves  backward: the gradients (tensor names) that need this step; forward: empty
    when    conditions on optional inputs under which the step is needed at all, the same for all its equations
    how     fill: every element is written, with 0 where no equation does; write: only what the equations name; add:
            they add to what stands there; once: as write, each an element of its own at each point of its box
    begins  whether the tensor has no memory yet, though this step does not fill it
    """

    target: str
    equations: tuple[Equation, ...]
    serves: tuple[str, ...] = ()
    when: When = ()
    how: str = "fill"
    begins: bool = False

    @property
    def targets(self) -> tuple[str, ...]:
        """What it computes, as of a recurrence."""
        return (self.target,)

    @property
    def leaves(self) -> tuple[Step, ...]:
        """Itself, as of a recurrence."""
        return (self,)

    def mapped(self, equation: Callable[[Equation], Equation], size: Callable[[Expr], Expr]) -> Step:
        """The step with other equations; `size` is for the extent of a recurrence."""
        return replace(self, equations=tuple(map(equation, self.equations)))


@dataclass(frozen=True, slots=True)
class Recurrence:
    """Tensors that are computed from each other, in a loop.

    index    counts the turns, downwards if `reverse`; the boxes of the steps of `turn` leave it out
    first    what is known before the loop, with every tensor that the loop writes to
    last     what is computed after it
    """

    index: Index
    extent: Expr
    reverse: bool
    first: tuple[Item, ...]
    turn: tuple[Item, ...]
    last: tuple[Item, ...]
    serves: tuple[str, ...] = ()
    when: When = ()

    @property
    def items(self) -> tuple[Item, ...]:
        """Everything inside, in order."""
        return (*self.first, *self.turn, *self.last)

    @property
    def leaves(self) -> tuple[Step, ...]:
        """The steps of everything inside."""
        return tuple(step for item in self.items for step in item.leaves)

    @property
    def equations(self) -> tuple[Equation, ...]:
        """The equations of everything inside."""
        return tuple(e for item in self.items for e in item.equations)

    @property
    def targets(self) -> tuple[str, ...]:
        """The tensors that it computes."""
        return tuple(dict.fromkeys(name for item in self.items for name in item.targets))

    def mapped(self, equation: Callable[[Equation], Equation], size: Callable[[Expr], Expr]) -> Recurrence:
        """The recurrence with other equations, and its extent passed through `size`."""
        first, turn, last = (
            tuple(item.mapped(equation, size) for item in some) for some in (self.first, self.turn, self.last)
        )
        return replace(self, extent=size(self.extent), first=first, turn=turn, last=last)


Item = Union[Step, Recurrence]

SCIPY = ("special", "linalg", "sparse")  # modules of SciPy that a printed file may import
WORDS = "batch saved forward backward needs_input_grad ctx np jnp jax torch dtype work iwork out"  # of printed files


def read_by(*items: Item) -> set[str]:
    """The tensors that steps read."""
    return {r.name for item in items for e in item.equations for r in e.reads}


def names_in(function: Function) -> set[str]:
    """The names that nothing else may have where the function is printed: its own, and those of a file."""
    return {*names_of(function), *(i.name for e in function.statements for i, _ in e.box), *WORDS.split(), *SCIPY}


@dataclass(frozen=True, slots=True)
class Subscript:
    """An integer element that stands as a subscript: it must be in range(extent), or only where a condition holds that
    asks for elements at the same place."""

    element: Ref
    extent: Expr
    where: Expr | None = None


@dataclass(frozen=True, slots=True)
class Procedure:
    """Forward or backward: the tensors it reads (inputs, saved, seeds), its steps, and what it returns.

    turns   the temporaries of one turn of a loop, without the axis that counts the turns; the other procedure may have
            the same tensors in full
    planes  what is never stored, and of which two axes it is a plane (`planes`)
    chunked the products that are computed some rows after the other (`chunks`)
    """

    reads: tuple[str, ...]
    steps: tuple[Item, ...]
    returns: tuple[str, ...]
    turns: tuple[Tensor, ...] = ()
    planes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    chunked: frozenset[str] = frozenset()

    @property
    def equations(self) -> tuple[Equation, ...]:
        """The equations of all steps."""
        return tuple(e for item in self.steps for e in item.equations)


Nested = Union[str, tuple["Nested", ...]]


@dataclass(frozen=True)
class Sparse:
    """Where values stand in a matrix; several at one place are added up, one behind the last row is not stored.

    rows, columns  the tensors whose elements its rows and columns stand for, one after the other and row-major
    shape    how many rows and columns it has, of sizes
    parts    the arrays of the values, one behind the other
    pattern  what computes their places, two arrays for each: rows, and columns; None where these are numbers
    indptr, indices  those numbers: where each row of the matrix begins among the values, and the columns of these
    ordered  the parts of some of the rows' tensors, each by the axes of that tensor first, with columns that ascend in
             each row, in a part and from one to the next; how many have a place, as a shape, where sizes tell
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    shape: tuple[Expr, Expr]
    parts: tuple[str, ...]
    pattern: Program | None
    indptr: tuple[int, ...] = ()
    indices: tuple[int, ...] = ()
    ordered: Mapping[str, Mapping[str, tuple[Expr, ...] | None]] = field(default_factory=dict)


@dataclass(frozen=True)
class Beside:
    """A function that is printed beside forward and backward: the forward of what is derived of theirs.

    name     what it is called in the file
    program  of the derived function, without a backward
    results  its outputs, as Python returns them: values first, those of one kind together
    sparse   of a sparse matrix: the program gives the results, and then the arrays of its values
    """

    name: str
    program: Program
    results: Nested
    sparse: Sparse | None = None

    @property
    def programs(self) -> tuple[Program, ...]:
        """What is printed for it."""
        pattern = None if self.sparse is None else self.sparse.pattern
        return (self.program,) if pattern is None else (self.program, pattern)

    @property
    def kind(self) -> str:
        """What is derived: `jacobian` of `jacobian_sparse`."""
        return self.name.removesuffix("_sparse")

    @property
    def pattern(self) -> str:
        """What the function is called that gives the places of a sparse matrix."""
        return f"{self.kind}_pattern"

    @property
    def room(self) -> str:
        """What the function is called that tells how many entries there may be."""
        return f"{self.kind}_nnz"

    @property
    def values(self) -> str:
        """What the function is called that gives the values at these."""
        return f"{self.kind}_values"


@dataclass(frozen=True)
class Program:
    """What is printed.

    tensors          every tensor of both procedures, temporaries included, in full
    saved            the tensors that forward hands to backward
    saved_sizes      sizes that backward works with and that no saved tensor tells
    saved_options    options that backward reads
    saved_presence   optional inputs whose presence backward needs, and that are not saved themselves
    indexed          the subscripts that are taken from data
    within           the inputs of which numbers outside of their interval are refused
    unknowns         the inputs that a solver moves, in a language for solvers
    ahead            the input that a solver gives before it, if it does: the time, or data
    second           whether the solver minimises: derivatives are second ones of one scalar then
    product          of the Hessian of one scalar output, or the Jacobian of others, with a vector in their shapes:
                     its forward gives what is saved alone, its backward the product
    matrix           the same derivatives as arrays of output x input, those on the diagonal of a Hessian and above; or
                     as a sparse matrix
    pair             whether forward and backward are printed
    again            the same for arrays, with nothing saved that can be computed again: its backward is printed, too
    beside           what is printed beside them
    partial          whether forward may be asked for some of its results only
    computed         names for what is computed of sizes, and read often: never less than 0
    """

    derivative: Derivative
    tensors: tuple[Tensor, ...]
    forward: Procedure
    backward: Procedure
    saved: tuple[str, ...]
    saved_sizes: tuple[str, ...] = ()
    saved_options: tuple[str, ...] = ()
    saved_presence: tuple[str, ...] = ()
    indexed: tuple[Subscript, ...] = ()
    within: tuple[str, ...] = ()
    unknowns: tuple[str, ...] = ()
    ahead: str = ""
    second: bool = False
    product: Program | None = None
    matrix: Beside | None = None
    pair: bool = True
    again: Program | None = None
    beside: tuple[Beside, ...] = ()
    partial: bool = False
    computed: tuple[tuple[str, Expr], ...] = ()

    @cached_property
    def table(self) -> Mapping[str, Tensor]:
        """The tensors by name."""
        return {t.name: t for t in self.tensors}

    @property
    def whole(self) -> tuple[Program, ...]:
        """This, and every other that is printed in the same file."""
        product = [p for p in (self.again, self.product) if p is not None]
        beside = self.beside if self.matrix is None else (self.matrix, *self.beside)
        return (self, *product, *(p for b in beside for p in b.programs))

    @cached_property
    def names(self) -> frozenset[str]:
        """Those that stand for something: tensors, sizes, options, indices, and what a printed file is made of."""
        equations = (*self.forward.equations, *self.backward.equations)
        mine = [t.name for t in (*self.tensors, *self.forward.turns, *self.backward.turns)]
        mine += [*dict(self.computed), *(i.name for e in equations for i, _ in e.box)]
        return frozenset((*names_in(self.derivative.function), *mine))

    def named(self, s: Expr) -> Expr:
        """An expression by the names of what is computed of sizes, such as `every` of checkpoints."""
        names: dict[Expr, Expr] = {extent: ref(name) for name, extent in self.computed}
        return substitute(s, names) if names else s

    def short(self, tensor: Tensor) -> Tensor:
        """A tensor, its shape by such names."""
        return replace(tensor, shape=tuple(map(self.named, tensor.shape))) if self.computed else tensor

    def table_of(self, procedure: Procedure) -> dict[str, Tensor]:
        """The tensors by name, as one of the procedures has them."""
        return {**self.table, **{t.name: t for t in procedure.turns}}
