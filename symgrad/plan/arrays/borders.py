"""Conditions that keep subscripts inside: a smaller box, or a border around what is read or written.

`where(0 <= s < n, x[s], 0)` is an element of x with zeros around it. A condition on a single index is no condition but
a smaller box: `x[i-1] where i > 0` is `x[i]` shifted.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field

from ...domain import Domain
from ...expr import (
    ONE,
    ZERO,
    Apply,
    Const,
    Expr,
    Index,
    Ref,
    apply,
    conjunction,
    conjuncts,
    fraction,
    indices,
    postorder,
    product,
    ref,
    refs,
    signed_factors,
    substitute,
    transform,
)
from ...expr.sizes import tidy
from ...ir import NEUTRAL, Dtype, Equation, Tensor
from ...ir.reads import Conditions, negation
from ...ops import OPS
from ...ops.limits import INFINITY
from ...records import dataclass, replace
from ..conditions import all_of
from ..narrow import Known, counting
from .affine import Extents, Sizes
from .layout import pack_of
from .tree import Array, Num, Pad, Var
from .tree import Elementwise as Entry

Widths = tuple[tuple[Expr, Expr], ...]  # of a border, before and behind along each axis


@dataclass(eq=False)
class Borders:
    """Rewrites the equations of one procedure.

    tensors  the tensors by name; a tensor with a border is added to it under a name that no other has
    pads     those with a border, as arrays
    fixed    tensors that are not stored in the shape they are declared in: they get no border
    extremes the tensors that are a maximum or minimum, and which
    turn     whether it is in a turn of a loop that equations are evaluated
    """

    tensors: dict[str, Tensor]
    sizes: Sizes
    fixed: Collection[str]
    extremes: Mapping[str, str]
    pads: dict[str, Array] = field(default_factory=dict)
    around: dict[str, tuple[str, Widths]] = field(default_factory=dict)
    turn: bool = False

    def in_turn(self, e: Equation) -> Equation:
        """The same in a turn of a loop, where what has a border is a row of what the loop works with."""
        self.turn = True
        try:
            return self.rewritten(e)
        finally:
            self.turn = False

    def rewritten(self, e: Equation) -> Equation:
        """`e` with conditions on subscripts replaced by boxes and borders, as far as that goes."""
        if e.reduce not in ("none", "sum", "max", "supremum", "min", "prod"):
            return e
        neutral = NEUTRAL.get(e.reduce, ZERO)
        if e.where is None and e.reduce in ("none", "sum"):
            conditions, body, _ = counting(e.body, ZERO, Known(), self.sizes.facts)
            if conditions and self._unsafe(body, dict(e.box)):
                smaller = self._boxed(replace(e, body=body, where=conjunction(conditions)))
                e = e if smaller.where is not None else smaller
        if e.reduce in ("none", "sum") and e.where is not None:
            e = self._boxed(e)
        extents = dict(e.box)
        if e.where is None:
            return replace(e, body=self._without_guards(e.body, extents))
        covered: Conditions = ()
        target = ref(e.target, *e.subscripts)
        if not self.safe(target, extents):
            bordered = self._bordered(target, ZERO, () if e.when else e.conditions, extents, local=True)
            if bordered is None:
                return replace(e, body=self._without_guards(e.body, extents))
            target, covered = bordered
        body = apply("select", e.where, e.body, neutral)
        body = self._without_guards(body, extents)
        where: Expr | None = None
        if isinstance(body, Apply) and body.op == "select" and body.args[2] is neutral:
            where, body = body.args[0], body.args[1]
            if _total(body) and not self._unsafe(body, extents):  # what it is outside ends in the border
                where = all_of(self._without(conjuncts(where), covered, extents))
        return replace(e, target=target.name, subscripts=target.subscripts, body=body, where=where)

    # a smaller box

    def _boxed(self, e: Equation) -> Equation:
        """`e` without the conditions that limit one index alone: that counts from 0 in a smaller box."""
        box, kept = dict(e.box), list(e.conditions)
        shift: dict[Expr, Expr] = {}
        scattered = () if e.plain else e.subscripts
        for i in indices(*(s for r in refs(e.body) for s in r.subscripts), *scattered):
            whole = Domain((i,), (), self.sizes.facts)
            mine = [c for c in kept if {*indices(c)} == {i} and not whole.under(c).conditions(i, ())]
            if not mine or i not in box:
                continue
            lower, upper = whole.under(conjunction(mine)).bounds(i, ())
            if len(lower) > 1 or len(upper) > 1:
                continue
            first, end = lower[0].limit if lower else ZERO, upper[0].limit if upper else box[i]
            if any(r in self.sizes.loops for r in refs(first, end)):
                continue  # slices that differ from turn to turn: no loop that is compiled has them
            if self.sizes.not_negative(first) and self.sizes.not_negative(box[i] - end):
                box[i] = tidy(end - first)
                kept = [c for c in kept if c not in mine]
                shift |= {i: i + first} if lower else {}
        if len(kept) == len(e.conditions):
            return e
        moved = replace(e, where=all_of(kept), box=tuple(box.items())).mapped(lambda node: substitute(node, shift))
        subscripts = tuple(map(_tidied, moved.subscripts))

        def decided(node: Expr) -> Expr:
            """Without a choice that the smaller box makes."""
            if isinstance(node, Apply) and node.op == "select" and self.sizes.holds(node.args[0], box):
                return node.args[1]
            return _tidy_subscripts(node)

        return replace(moved, subscripts=subscripts, body=transform(moved.body, decided))

    # borders

    def _without_guards(self, body: Expr, extents: Extents) -> Expr:
        """`body` with elements of bordered tensors for elements under a condition."""

        def rewrite(node: Expr) -> Expr:
            if not (isinstance(node, Apply) and node.op == "select"):
                return node
            condition, then, otherwise = node.args
            atoms = self._ties(conjuncts(condition), extents)
            condition = conjunction(atoms)
            folded = self._folded(atoms, then, otherwise, extents)
            if folded is not None:
                return folded
            then = self._reads(then, tuple(atoms), extents)
            otherwise = self._reads(otherwise, tuple(conjuncts(negation(condition))), extents)
            return apply("select", condition, then, otherwise)

        merged = transform(body, _merged, only={"select"})
        return transform(merged, rewrite, only={"select"})

    def _ties(self, atoms: list[Expr], extents: Extents) -> list[Expr]:
        """`0 <= s < n and x[s] == m`, m a maximum, is `x[s] == m` where x has a border of -oo."""
        for k, atom in enumerate(atoms):
            if not (isinstance(atom, Apply) and atom.op == "eq"):
                continue
            for x, extreme in (atom.args, tuple(reversed(atom.args))):
                if not (isinstance(x, Ref) and isinstance(extreme, Ref) and extreme.name in self.extremes):
                    continue
                if not x.subscripts or self.safe(x, extents):
                    continue
                bordered = self._bordered(x, NEUTRAL[self.extremes[extreme.name]], tuple(atoms), extents)
                if bordered is not None:
                    read, covered = bordered
                    new = [*atoms[:k], apply("eq", read, extreme), *atoms[k + 1 :]]
                    return self._without(new, covered, extents)
        return atoms

    def _folded(self, atoms: list[Expr], then: Expr, otherwise: Expr, extents: Extents) -> Expr | None:
        """A product with elements that are 0 wherever the condition fails."""
        fill = otherwise if isinstance(otherwise, Const) or otherwise in (INFINITY, -INFINITY) else None
        above, below, sign = signed_factors(then)
        if fill is None or (fill is not ZERO and (len(above) != 1 or below or sign < 0)):
            return None
        if not all(isinstance(f, (Ref, Const)) for f in above) or not all(isinstance(f, Const) for f in below):
            return None
        covered: Conditions = ()
        new: list[Expr] = []
        for f in above:
            if isinstance(f, Ref) and f.subscripts and not self.safe(f, extents):
                bordered = self._bordered(f, fill, tuple(atoms), extents)
                if bordered is None:
                    return None
                f, mine = bordered
                covered += mine
            new.append(f)
        if not covered:
            return None
        left = all_of(self._without(atoms, covered, extents))
        value = fraction(new if sign > 0 else [-product(new)], below)
        return value if left is None else apply("select", left, value, otherwise)

    def _without(self, atoms: Sequence[Expr], covered: Conditions, extents: Extents) -> list[Expr]:
        """The conditions that do not follow from those that are `covered` by a border."""
        return [a for a in atoms if not indices(a) or not self.sizes.holds(a, extents, covered)]

    def _reads(self, branch: Expr, given: Conditions, extents: Extents) -> Expr:
        def rewrite(node: Expr) -> Expr:
            if isinstance(node, Ref) and node.subscripts and not self.safe(node, extents):
                bordered = self._bordered(node, ZERO, given, extents)
                return node if bordered is None else bordered[0]
            return node

        return transform(branch, rewrite)

    def _unsafe(self, body: Expr, extents: Extents) -> bool:
        return any(r.subscripts and not self.safe(r, extents) for r in refs(body))

    def safe(self, r: Ref, extents: Extents) -> bool:
        """Whether every subscript is known to stay inside without a condition."""
        if r.name in self.pads or r.name not in self.tensors:
            return True
        shape = self.tensors[r.name].shape
        return all(self.sizes.inside(s, axis, extents) for s, axis in zip(r.subscripts, shape, strict=True))

    def _bordered(
        self, r: Ref, fill: Expr, given: Conditions, extents: Extents, local: bool = False
    ) -> tuple[Ref, Conditions] | None:
        """The same element of the tensor with a border, and what holds where it is inside of the tensor itself.

        None if the conditions do not keep it inside, or the border has no certain width. `local`: to be written to.
        """
        tensor = self.tensors[r.name]
        if r.name in self.fixed or tensor.dtype != Dtype.REAL or (self.turn and local):
            return None
        widths: list[tuple[Expr, Expr]] = []
        subscripts: list[Expr] = []
        covered: list[Expr] = []
        for s, axis in zip(r.subscripts, tensor.shape, strict=True):
            reach = self.sizes.range(s, extents)
            if reach is None or not self.sizes.inside(s, axis, extents, given):
                return None
            (low, high), points = reach, indices(s)
            before, last = (
                ZERO if self.sizes.not_negative(margin, extents) else width
                for margin, width in ((s, tidy(-low)), (axis - 1 - s, tidy(high - axis + 1)))
            )
            if not self.sizes.not_negative(before, extents, at=points):
                return None
            if not all(self.sizes.not_negative(d, extents) for d in (s - low, high - s)):  # a step of unknown sign
                return None
            if not points and not self.sizes.not_negative(last):  # one place is a slice of one element
                return None
            if self.turn and not points and not (before is ZERO and self.sizes.not_negative(axis - 1 - s)):
                return None  # more than a row
            before, last = (w if self.sizes.not_negative(w) else apply("maximum", w, ZERO) for w in (before, last))
            widths.append((before, last))
            subscripts.append(s if before is last is ZERO else tidy(s if before is ZERO else s - low))
            covered += [apply("ge", s, ZERO), apply("lt", s, axis)]
        around = tuple(widths)
        name = self._written(tensor, around) if local else padded(tensor, around, _entry(fill), self.tensors, self.pads)
        return ref(name, *subscripts), tuple(covered)

    def _written(self, tensor: Tensor, widths: Widths) -> str:
        """The name of a tensor with a border that is written to."""
        name = next((n for n, pair in self.around.items() if pair == (tensor.name, widths)), None)
        if name is None:
            name = self.sizes.names.new(f"padded_{tensor.name}")
            self.tensors[name] = replace(tensor, name=name, shape=_with_border(tensor.shape, widths), optional=False)
            self.around[name], self.pads[name] = (tensor.name, widths), Var(name)
        return name


def padded(tensor: Tensor, widths: Widths, fill: Array, tensors: dict[str, Tensor], pads: dict[str, Array]) -> str:
    """The name in `pads` of a tensor with a border that is read."""
    array = Pad(Var(tensor.name), widths, fill, pack_of(tensor.shape) is not None)
    name = next((n for n, a in pads.items() if a == array), f"#padded{len(pads)}")
    tensors[name] = replace(tensor, name=name, shape=_with_border(tensor.shape, widths), optional=False)
    pads[name] = array
    return name


def _with_border(shape: Sequence[Expr], widths: Widths) -> tuple[Expr, ...]:
    return tuple(
        axis if first is ZERO and last is ZERO else axis + first if last is ZERO else tidy(axis + first + last)
        for axis, (first, last) in zip(shape, widths, strict=True)
    )


def _entry(fill: Expr) -> Array:
    if isinstance(fill, Const):
        return Num(fill)
    infinity = Entry("oo", ())
    return infinity if fill is INFINITY else Entry("neg", (infinity,))


def _merged(node: Expr) -> Expr:
    """`where(a, where(b, x, 0), 0)` is `where(a & b, x, 0)`, and `where(a, x*y, x)` is `x * where(a, y, 1)`."""
    if isinstance(node, Apply) and node.op == "select":
        condition, then, otherwise = node.args
        if isinstance(then, Apply) and then.op == "select" and then.args[2] is otherwise:
            return apply("select", apply("and", condition, then.args[0]), then.args[1], otherwise)
        above, below, sign = signed_factors(then)
        if otherwise in above and sign > 0 and not isinstance(otherwise, Const):
            above.remove(otherwise)
            return otherwise * apply("select", condition, fraction(above, below), ONE)
    return node


def _total(body: Expr) -> bool:
    """Whether `body` has a value everywhere; what does not depend on where has one if it has one anywhere."""
    parts = [n for n in postorder(body) if isinstance(n, Apply) and indices(n)]
    return all(OPS[n.op].total or (n.op == "div" and not indices(n.args[1])) for n in parts)


def _tidied(s: Expr) -> Expr:
    return s if isinstance(s, Index) or any(r.subscripts for r in refs(s)) else tidy(s)


def _tidy_subscripts(node: Expr) -> Expr:
    return ref(node.name, *map(_tidied, node.subscripts)) if isinstance(node, Ref) and node.subscripts else node
