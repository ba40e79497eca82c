"""What a function is made of: tensors and equations, frozen and comparable.

An `Equation` says what the elements of one tensor are. With f its subscripts and I running over its box,

    target[p] = the sum over the target's equations of reduce{ body(I) : I in box, where(I), f(I) = p }

What is reduced is implied: the indices of the box that the target does not show. Several equations may write one target
(concatenation, a residual, the contributions to a gradient); one with a reduction other than a sum has one equation. An
element that no equation writes is 0; a product over nothing is 1, a maximum or logsumexp -oo, a minimum oo. Nothing is
evaluated outside `where`, subscripts included. A function of whole matrices is a kind of reduction too; how its indices
count says symgrad/ops/matrices.py.

The extents of a shape and of a box are integer expressions of sizes. A pack (`...`, `*batch`) is any number of leading
axes under one plain index; its size is a tuple, and its extent their product.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field
from enum import StrEnum

from ..domain import NOTHING, Domain, Facts
from ..expr import (
    ONE,
    ZERO,
    Apply,
    Const,
    Expr,
    Index,
    Number,
    Ref,
    apply,
    conjuncts,
    folded,
    index,
    indices,
    is_exact,
    ref,
    refs,
    substitute,
    transformer,
)
from ..expr.names import is_pack
from ..expr.sizes import equal
from ..ops import OPS
from ..ops.limits import INFINITY
from ..ops.matrices import MATRICES, Matrix
from ..records import dataclass, replace
from .interval import REALS, Interval


class Dtype(StrEnum):
    """What the elements of a tensor are; a boolean counts as 0 or 1 in arithmetic."""

    REAL = "real"
    INT = "int"
    BOOL = "bool"


class Role(StrEnum):
    """Why a tensor is there."""

    INPUT = "input"
    LOCAL = "local"
    OUTPUT = "output"
    SEED = "seed"  # the grad_output of one output
    GRADIENT = "gradient"  # of one input


def dtype_of_part(body: Expr) -> Dtype:
    """What a part of an equation is kept as where it gets a name: a comparison is no number."""
    return Dtype.BOOL if isinstance(body, Apply) and OPS[body.op].result == "bool" else Dtype.REAL


def dtype_of(body: Expr, kinds: Mapping[str, Dtype], known: dict[Expr, Dtype] | None = None) -> Dtype:
    """What `body` is, given the dtypes of tensors and options by name (anything else is a size); what is `known` of its
    nodes is not asked again."""
    found: dict[Expr, Dtype] = {} if known is None else known

    def rule(node: Expr) -> Dtype:
        if isinstance(node, Const):
            return Dtype.INT if is_exact(node) and node.value.denominator == 1 else Dtype.REAL
        if isinstance(node, Apply):
            row, values = OPS[node.op], [found[a] for a in node.args[node.op == "select" :]]
            whole = row.integral and Dtype.REAL not in values
            return Dtype.BOOL if row.result == "bool" else Dtype.INT if row.result == "int" or whole else Dtype.REAL
        return kinds.get(node.name, Dtype.INT) if isinstance(node, Ref) else Dtype.INT

    return folded(body, found, rule)


def distinct(subscripts: Sequence[Expr]) -> bool:
    """Whether they are indices, no two the same."""
    return len({s for s in subscripts if isinstance(s, Index)}) == len(subscripts)


def spans(subscripts: Sequence[Expr], shape: Sequence[Expr], extents: Mapping[Index, Expr]) -> bool:
    """Whether they are distinct indices that run along all of the axes."""
    along = zip(subscripts, shape, strict=True)
    return distinct(subscripts) and all(
        isinstance(s, Index) and s in extents and equal(extents[s], axis) for s, axis in along
    )


@dataclass(frozen=True, slots=True)
class Dim:
    """A named size that an input's shape tells; `pack` if it stands for any number of leading axes."""

    name: str
    pack: bool = False


@dataclass(frozen=True, slots=True)
class Option:
    """A number given by keyword when the function is called: `dtype` is REAL or INT."""

    name: str
    default: Number
    dtype: Dtype


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor and its shape; rank 0 is a scalar. `named` if the user chose its name; `interval`, where an input is."""

    name: str
    shape: tuple[Expr, ...]
    dtype: Dtype = Dtype.REAL
    role: Role = Role.LOCAL
    optional: bool = False
    named: bool = False
    interval: Interval = REALS


Box = tuple[tuple[Index, Expr], ...]
When = tuple[tuple[str, bool], ...]

REDUCTIONS = ("none", "sum", "max", "min", "prod", "logsumexp", "argmax")  # and the kinds of MATRICES
NEUTRAL: Mapping[str, Expr] = {  # what changes nothing in a reduction; supremum is a max of the style of arrays
    **{"sum": ZERO, "prod": ONE, "min": INFINITY},
    **dict.fromkeys(("max", "supremum", "argmax", "logsumexp"), -INFINITY),
}


@dataclass(frozen=True, slots=True)
class Equation:
    """One index equation; see the head of this file.

    reduce    one of none, sum, max, min, prod, logsumexp, argmax (the flat position in the reduced indices), or a
              function of matrices
    box       every index of the equation with its extent, those of the target first
    where     a condition on the box; None for all of it
    when      (optional input, present) pairs: the equation counts only if each is so
    guarded   whether divisors have guards that it was declared without: its slopes are those without them, too
    rewrites  the names of those that made it of what was declared, in order; it is the same equation without them
    """

    target: str
    subscripts: tuple[Expr, ...]
    reduce: str
    body: Expr
    box: Box
    where: Expr | None = None
    when: When = ()
    guarded: bool = False
    rewrites: tuple[str, ...] = field(default=(), compare=False, repr=False)

    @property
    def reduced(self) -> Box:
        """The part of the box that the target does not show."""
        shown = set(indices(*self.subscripts))
        return tuple((i, extent) for i, extent in self.box if i not in shown)

    @property
    def shown(self) -> Box:
        """The part of the box that the target shows."""
        shown = set(indices(*self.subscripts))
        return tuple((i, extent) for i, extent in self.box if i in shown)

    @property
    def conditions(self) -> tuple[Expr, ...]:
        """The conditions that `where` is the conjunction of, in the order in which they may be asked."""
        return () if self.where is None else tuple(conjuncts(self.where))

    @property
    def ties(self) -> tuple[Expr, ...]:
        """The condition under which alone a point counts for the slope of a maximum: its value is the largest."""
        largest = self.reduce in ("max", "min")
        return (apply("eq", self.body, ref(self.target, *self.subscripts)),) if largest else ()

    def domain(self, facts: Facts = NOTHING) -> Domain:
        """The points at which the equation is evaluated; `facts` are those of its function."""
        return Domain.of(self.box, self.where, facts)

    @property
    def matrix(self) -> Matrix | None:
        """The row of the function of matrices that the reduction is, if it is one."""
        return MATRICES.get(self.reduce)

    @property
    def operands(self) -> tuple[Expr, ...]:
        """What a function of matrices is applied to, as elements."""
        return self.body.args if isinstance(self.body, Apply) and self.body.op == "pair" else (self.body,)

    @property
    def result(self) -> Box:
        """The indices of a function's result, with their extents."""
        row = self.matrix
        assert row is not None
        mentioned = set(indices(self.body))
        found = [pair for pair in self.shown if pair[0] not in mentioned]
        return tuple(found[len(found) - row.rank :])

    @property
    def batch(self) -> Box:
        """The rest of those shown: a function is called for each of their points."""
        return tuple(pair for pair in self.shown if pair not in self.result)

    @property
    def argument(self) -> tuple[object, ...]:
        """What a function of matrices is applied to, whatever the indices are called: equal for results of one call."""
        row = self.matrix
        assert row is not None
        names: dict[Index, Expr] = {i: index(f"#b{n}") for n, (i, _) in enumerate(self.batch)}
        names |= {i: index(f"#r{n}") for n, (i, _) in enumerate(self.reduced)}
        return row.function, substitute(self.body, names), tuple(n for _, n in (*self.batch, *self.reduced)), self.when

    @property
    def plain(self) -> bool:
        """Whether the subscripts are distinct indices: no element of the target is written by two points shown."""
        return distinct(self.subscripts)

    def fills(self, target: Tensor) -> bool:
        """Whether every element of the target is written, by one point shown: its indices run along all of its axes."""
        return spans(self.subscripts, target.shape, dict(self.box))

    def with_body(self, body: Expr) -> Equation:
        """The equation with another body."""
        return self if body is self.body else replace(self, body=body)

    def mapped(self, put: Callable[[Expr], Expr]) -> Equation:
        """The equation with other expressions for all that it evaluates."""
        old = self.subscripts, self.body, self.where
        new = tuple(map(put, self.subscripts)), put(self.body), None if self.where is None else put(self.where)
        return self if new == old else replace(self, subscripts=new[0], body=new[1], where=new[2])

    def at(self, names: Mapping[Expr, Expr]) -> Equation:
        """The equation with other indices, or with expressions in their place."""
        box = tuple((j, extent) for i, extent in self.box if isinstance(j := names.get(i, i), Index))
        return replace(self.mapped(lambda node: substitute(node, names)), box=box)

    def part(self, name: str, body: Expr) -> tuple[Tensor, Equation, Ref]:
        """A part of the body as a tensor with an axis for each index of the box that it mentions, a pack in front: the
        tensor, its equation, and the element that it is."""
        mentioned = set(indices(body))
        box = packs_first([pair for pair in self.box if pair[0] in mentioned])
        at = tuple(i for i, _ in box)
        tensor = Tensor(name, tuple(extent for _, extent in box), dtype_of_part(body))
        return tensor, Equation(name, at, "none", body, box, None, self.when), ref(name, *at)

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """Everything the equation evaluates."""
        return (self.body, *self.subscripts, *(() if self.where is None else (self.where,)))

    @property
    def reads(self) -> tuple[Ref, ...]:
        """Every distinct reference that the equation evaluates, sizes and options included."""
        return refs(*self.expressions)


def packs_first(box: Iterable[tuple[Index, Expr]]) -> Box:
    """The indices of a box as the axes of a tensor: those of a pack lead, as those of inputs do."""
    return tuple(sorted(box, key=lambda pair: not is_pack(pair[0])))


class Dropped:
    """Tensors that have lost axes.

    axes     which, by the tensors' names
    indices  what ran along them, and stands in no box any more
    """

    def __init__(self, axes: Mapping[str, Collection[int]], indices: Collection[Index] = ()) -> None:
        self.axes = axes
        self.indices = indices
        self.put = transformer(self._element)

    def _element(self, node: Expr) -> Expr:
        return ref(node.name, *self.left(node.name, node.subscripts)) if isinstance(node, Ref) else node

    def left(self, name: str, items: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """What is left of the extents or subscripts of a tensor."""
        return tuple(x for k, x in enumerate(items) if k not in self.axes[name]) if name in self.axes else items

    def tensor(self, t: Tensor) -> Tensor:
        """A tensor without its axes."""
        return replace(t, shape=self.left(t.name, t.shape))

    def equation(self, e: Equation) -> Equation:
        """An equation in elements of such tensors."""
        box = tuple(pair for pair in e.box if pair[0] not in self.indices)
        return replace(e, subscripts=self.left(e.target, e.subscripts), box=box).mapped(self.put)
