"""What stands in a `where`, so that an array of all its places can be evaluated: every read stays inside, and every
function in its domain, also where it is not selected."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from mpmath import mp

from ...evaluate import evaluate
from ...expr import (
    ONE,
    ZERO,
    Apply,
    Expr,
    Index,
    Ref,
    apply,
    branch,
    const,
    indices,
    postorder,
    ref,
    refs,
    transform,
    with_args,
)
from ...expr.sizes import certain, tidy
from ...ir import Tensor
from ...ops import OPS
from ..conditions import Precondition, precondition, restricted, unconditional_preconditions
from .affine import Sizes
from .layout import pack_of
from .taking import as_number
from .tree import (
    Array,
    Num,
    Pad,
    Var,
)


class Branches(ABC):
    """Keeps the branches of a `where` to what can be evaluated everywhere; the parameters are those of an Evaluator."""

    def __init__(self, tensors: dict[str, Tensor], sizes: Sizes, pads: dict[str, Array], ties: Collection[str]) -> None:
        self.tensors = tensors
        self.sizes = sizes
        self.pads = pads
        self.ties = ties
        self.padded: set[str] = set()

    def _safe(self, body: Expr, extents: Mapping[Index, Expr]) -> Expr:
        """`body`, each `where` with branches that can be evaluated where they are not selected, subscripts included."""
        anyway = unconditional_preconditions(body)

        def guarded(node: Expr, before: Expr) -> Expr:
            if isinstance(node, Apply) and node.op in ("and", "or"):  # the first may tell without the second
                first, second = node.args
                return apply(node.op, first, self._branch(second, first, node.op == "and", extents, None))
            if not (isinstance(node, Apply) and node.op == "select"):
                return node
            condition, then, otherwise = node.args
            known = anyway.get(before, frozenset())
            then = self._branch(then, condition, True, extents, known)
            return apply("select", condition, then, self._branch(otherwise, condition, False, extents, known))

        done: dict[Expr, Expr] = {}
        for node in postorder(body):
            done[node] = guarded(with_args(node, [done[a] for a in node.args]) if node.args else node, node)
        return done[body]

    def _branch(
        self,
        body: Expr,
        condition: Expr,
        holds: bool,
        extents: Mapping[Index, Expr],
        anyway: Collection[Precondition] | None,
    ) -> Expr:
        """A branch that may be evaluated everywhere: functions stay in their domain where it is not selected, but those
        that are evaluated there `anyway` (None: all of them)."""

        def chosen(s: Expr, instead: Expr) -> Expr:
            return apply("select", condition, s, instead) if holds else apply("select", condition, instead, s)

        def rewrite(node: Expr) -> Expr:
            if isinstance(node, Ref):
                if node.name in self.padded:  # read in a branch of a branch
                    moved = {s for s in node.subscripts if isinstance(s, Apply) and s.op == "select"}
                    return ref(node.name, *(chosen(s, ZERO) if s in moved else s for s in node.subscripts))
                if not node.subscripts or node.name in self.pads:
                    return node
                shape = self.tensors[node.name].shape
                pairs = zip(node.subscripts, shape, strict=True)
                stays = [self._of_turn(s) or self.sizes.inside(s, axis, extents) for s, axis in pairs]
                stays = [ok or self._number(s) for ok, s in zip(stays, node.subscripts, strict=True)]
                places = [s if ok else chosen(s, ZERO) for s, ok in zip(node.subscripts, stays, strict=True)]
                own = {i: extents[i] for i in indices(*node.subscripts)}  # where another index has no value, it is read
                maybe_empty = [
                    not ok and not isinstance(s, Ref) and not self.never_empty(axis, own)
                    for s, ok, axis in zip(node.subscripts, stays, shape, strict=True)
                ]
                for k in self.no_slices(ref(node.name, *places), extents):
                    s, axis = places[k], shape[k]
                    maybe_empty[k] = not self.sizes.positive(axis)
                    places[k] = _clamped(s, axis, self.sizes.options)
                return self.pad_for_empty_axis(node, places, maybe_empty)
            if anyway is None or not restricted(node, self.tensors) or precondition(node) in anyway:
                return node
            place, inside = (1 if node.op == "div" else 0), OPS[node.op].inside
            assert inside is not None
            if place and isinstance(node.args[1], Ref) and node.args[1].name in self.ties:
                return node
            if _is_finite(branch(with_args(node, [ONE, node.args[1]]) if place else node, condition, not holds)):
                return node  # what it is given is safe already
            args = [chosen(a, const(inside)) if k == place else a for k, a in enumerate(node.args)]
            return with_args(node, args)

        return transform(body, rewrite)

    def pad_for_empty_axis(self, r: Ref, places: Sequence[Expr], maybe_empty: Sequence[bool]) -> Ref:
        """The elements of `r` at `places`, which need one element more in the axes that have `maybe_empty`."""
        if not any(maybe_empty):
            return ref(r.name, *places)
        shape = self.tensors[r.name].shape
        widths = tuple((ZERO, ONE if more else ZERO) for more in maybe_empty)
        array = Pad(Var(r.name), widths, Num(as_number(ZERO)), pack_of(shape) is not None)
        name = next((n for n, a in self.pads.items() if a == array), f"#padded{len(self.pads)}")
        self.pads[name] = array
        self.padded.add(name)
        longer = tuple(axis + 1 if more else axis for axis, more in zip(shape, maybe_empty, strict=True))
        self.tensors[name] = replace(self.tensors[r.name], name=name, shape=longer, optional=False)
        return ref(name, *places)

    def no_slices(self, r: Ref, extents: Mapping[Index, Expr]) -> list[int]:
        """The axes in which `r` is read at a number that may be outside, and not as a slice, of nothing where the axis
        ends before: integer arrays in other axes forbid it."""
        found = [
            k
            for k, (s, axis) in enumerate(zip(r.subscripts, self.tensors[r.name].shape, strict=True))
            if self._number(s) and not self._of_turn(s) and not self.sizes.inside(s, axis, extents)
        ]
        return [] if not found or self.viewed(r, extents) else found

    def _number(self, s: Expr) -> bool:
        """Whether a subscript is one number, made of sizes and options."""
        return not indices(s) and not any(r.name in self.tensors for r in refs(s))

    @abstractmethod
    def viewed(self, r: Ref, extents: Mapping[Index, Expr]) -> bool:
        """Whether `r` is spelled without integer arrays."""

    def never_empty(self, axis: Expr, extents: Mapping[Index, Expr]) -> bool:
        """Whether an axis has an element wherever the box has a point."""
        return self.sizes.positive(axis) or any(self.sizes.not_negative(axis - e) for e in extents.values())

    def _of_turn(self, s: Expr) -> bool:
        """Whether a subscript is made of the number of a turn: the loop asks before whether it is inside."""
        return any(r in self.sizes.loops for r in refs(s)) and not indices(s)


def _is_finite(value: Expr) -> bool:
    """Whether it is a number other than 0, at which no slope is infinite."""
    if refs(value) or indices(value):
        return False
    number = evaluate(value, {}, lambda name, at: mp.nan)
    return bool(mp.isfinite(number) and number)


def _clamped(s: Expr, axis: Expr, signed: Collection[str]) -> Expr:
    """A number as a place in an axis with one element more, which -1 is, too."""
    s = s if certain(s + 1, signed) is True else apply("maximum", s, ZERO)
    return s if certain(tidy(axis - s), signed) is True else apply("minimum", s, axis)
