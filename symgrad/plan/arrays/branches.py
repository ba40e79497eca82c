"""What stands in a `where`, so that an array of all its places can be evaluated: every read stays inside, and every
function in its domain, also where it is not selected."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from ...expr import (
    ONE,
    ZERO,
    Apply,
    Const,
    Expr,
    Index,
    Ref,
    apply,
    const,
    indices,
    is_exact,
    ref,
    refs,
    transform,
    value_of,
    with_args,
)
from ...ir import Tensor
from ...ops import OPS
from ..exponents import distance
from .affine import Sizes
from .taking import as_number
from .tree import (
    Array,
    Num,
    Pad,
    Var,
)


class Branches:
    """Keeps the branches of a `where` to what can be evaluated everywhere; the parameters are those of an Evaluator."""

    def __init__(self, tensors: dict[str, Tensor], sizes: Sizes, pads: dict[str, Array], ties: Collection[str]) -> None:
        self.tensors = tensors
        self.sizes = sizes
        self.pads = pads
        self.ties = ties

    def _guarded_reads(self, node: Expr, extents: Mapping[Index, Expr]) -> Expr:
        """A `where` whose branches can be evaluated where they are not selected, subscripts included."""
        if not (isinstance(node, Apply) and node.op == "select"):
            return node
        condition, then, otherwise = node.args
        return apply(
            "select",
            condition,
            self._branch(then, condition, True, extents),
            self._branch(otherwise, condition, False, extents),
        )

    def _branch(self, body: Expr, condition: Expr, holds: bool, extents: Mapping[Index, Expr]) -> Expr:
        """A branch that may be evaluated everywhere: functions stay in their domain where it is not selected."""

        def guarded(s: Expr, instead: Expr) -> Expr:
            if isinstance(s, (Index, Const)):
                return s
            return apply("select", condition, s, instead) if holds else apply("select", condition, instead, s)

        def chosen(s: Expr) -> Expr:
            if not indices(s) and not any(r.name in self.tensors for r in refs(s)):
                return s  # read as a slice, of nothing where the axis ends before
            return apply("select", condition, s, ZERO) if holds else apply("select", condition, ZERO, s)

        def rewrite(node: Expr) -> Expr:
            if isinstance(node, Ref):
                if not node.subscripts or node.name in self.pads:
                    return node
                shape = self.tensors[node.name].shape
                pairs = zip(node.subscripts, shape, strict=True)
                stays = [self._of_turn(s) or self.sizes.inside(s, axis, extents) for s, axis in pairs]
                places = [s if ok else chosen(s) for s, ok in zip(node.subscripts, stays, strict=True)]
                return self.roomy(node, places, extents)
            row = OPS[node.op] if isinstance(node, Apply) else None
            place = 1 if row is not None and row.name == "div" else 0
            if place and isinstance(node.args[1], Ref) and node.args[1].name in self.ties:
                return node
            if row is None or row.inside is None or not any(r.subscripts for r in refs(node.args[place])):
                return node
            if row.name == "exp" and distance(node.args[0]) is not None or place and _at_least_one(node.args[1]):
                return node
            if row.name == "pow" and is_exact(node.args[1]) and value_of(node.args[1]) in (1, 2, 3, 4, 5, 6):
                return node
            args = [guarded(a, const(row.inside)) if k == place else a for k, a in enumerate(node.args)]
            return with_args(node, args)

        return transform(body, rewrite)

    def roomy(self, r: Ref, places: Sequence[Expr], extents: Mapping[Index, Expr]) -> Ref:
        """`r` at places that are 0 where a condition fails: they need an element there, also in an axis of none."""
        shape = self.tensors[r.name].shape
        widths = [
            (ZERO, ZERO if place is s or isinstance(s, Ref) or self.never_empty(axis, extents) else ONE)
            for s, place, axis in zip(r.subscripts, places, shape, strict=True)
        ]
        if all(last is ZERO for _, last in widths):
            return ref(r.name, *places)
        array = Pad(Var(r.name), tuple(widths), Num(as_number(ZERO)))
        name = next((n for n, a in self.pads.items() if a == array), f"#padded{len(self.pads)}")
        self.pads[name] = array
        longer = tuple(axis + last for axis, (_, last) in zip(shape, widths, strict=True))
        self.tensors[name] = replace(self.tensors[r.name], name=name, shape=longer, optional=False)
        return ref(name, *places)

    def never_empty(self, axis: Expr, extents: Mapping[Index, Expr]) -> bool:
        """Whether an axis has an element wherever the box has a point."""
        return self.sizes.positive(axis) or any(self.sizes.not_negative(axis - e) for e in extents.values())

    def _of_turn(self, s: Expr) -> bool:
        """Whether a subscript is made of the number of a turn: the loop asks before whether it is inside."""
        return any(r in self.sizes.loops for r in refs(s)) and not indices(s)


def _at_least_one(u: Expr) -> bool:
    """Whether `u` is 1 + exp(...), which is no 0 below the line."""
    if not (isinstance(u, Apply) and u.op == "add"):
        return False
    return u.args[0] is ONE and isinstance(u.args[1], Apply) and u.args[1].op == "exp"
