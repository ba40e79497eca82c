"""What is evaluated under a condition, so that an array of all its places can be: every read stays inside, and every
function in its domain, also where the condition does not hold."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial, reduce

from ...evaluate import evaluate
from ...expr import (
    ONE,
    ZERO,
    Apply,
    Expr,
    Ref,
    apply,
    branch,
    conjunction,
    const,
    indices,
    operators,
    postorder,
    ref,
    refs,
    substitute,
    with_args,
)
from ...ir import Tensor
from ...ir.reads import Conditions, evaluated, joined
from ...later import mp
from ...ops import OPS
from ...records import dataclass
from ..conditions import Precondition, precondition, restricted
from ..subscripts import kept_inside
from .affine import Extents, Sizes
from .borders import padded
from .taking import as_number
from .tree import Array, Num


@dataclass(eq=False)
class Branches:
    """Keeps what is evaluated under conditions to what can be evaluated everywhere.

    tensors  the tensors by name, and what `pads` holds
    sizes    what is known of sizes and options
    pads     tensors with a border around them, by a name that no tensor has
    ties     tensors that count which elements are the largest: at least 1 where there is one
    harmless  tells which divisors need no guard
    """

    tensors: dict[str, Tensor]
    sizes: Sizes
    pads: dict[str, Array]
    ties: Collection[str]
    harmless: Callable[[Expr], bool]

    def safe(self, body: Expr, extents: Extents) -> Expr:
        """`body` with subscripts that stay inside and functions that stay in their domains at all of its places."""
        return self.safe_parts([(body, ())], extents)[0]

    def safe_target(self, r: Ref, given: Conditions, extents: Extents) -> tuple[Expr, ...]:
        """The subscripts of an element that is written to where all of `given` hold."""
        done = {c: self.safe(c, extents) for c in given}
        return self._kept_inside(r, [given], extents, done)[0]

    def safe_parts(self, roots: Sequence[tuple[Expr, Conditions]], extents: Extents) -> list[Expr]:
        """The same for several, each evaluated under conditions alone."""
        if not any(given or any(OPS[op].lazy for op in operators(root)) for root, given in roots):
            return [root for root, _ in roots]
        cases = evaluated(roots)
        lazy = [c for found in cases.values() for case in found for c in case]
        if not lazy:
            return [root for root, _ in roots]
        first = {c: min(case.index(c) for found in cases.values() for case in found if c in case) for c in lazy}
        asked: dict[Precondition, list[Conditions]] = {}  # derivatives do not go through what conditions ask
        for node, found in evaluated(roots, slopes=True).items():
            if (asks := precondition(node)) is not None:
                asked.setdefault(asks, []).extend(found)
        done: dict[Expr, Expr] = {}
        for node in postorder(*sorted(first, key=first.__getitem__), *(root for root, _ in roots)):
            new = with_args(node, [done[a] for a in node.args]) if node.args else node
            if isinstance(node, Ref) and isinstance(new, Ref) and () not in cases.get(node, [()]):
                places, moved = self._kept_inside(node, cases[node], extents, done)
                new = self._longer(ref(node.name, *places), moved, extents)
            elif (
                isinstance(new, Apply)
                and restricted(node, self.tensors, self.harmless)
                and (asks := precondition(node)) is not None
            ):
                mine = cases.get(node, [()])
                if () not in joined([*mine, *asked.get(asks, [])]):
                    new = self._quiet(new, node, mine, done)
            done[node] = new
        return [done[root] for root, _ in roots]

    def _kept_inside(
        self, r: Ref, cases: Sequence[Conditions], extents: Extents, done: Mapping[Expr, Expr]
    ) -> tuple[tuple[Expr, ...], Collection[int]]:
        """The subscripts of an element that is evaluated in these cases alone, 0 where they are outside in others; and
        the axes in which they may be."""
        safe = tuple(substitute(s, done) for s in r.subscripts)
        if r.name in self.pads or r.name not in self.tensors:
            return safe, ()
        places, moved = list(safe), set()
        turn = not any(self._of_turn(c) and self.sizes.tell(c) for case in cases for c in case)
        for k, (s, axis) in enumerate(zip(r.subscripts, self.tensors[r.name].shape, strict=True)):
            if (turn if self._of_turn(s) else self._number(s)) or self.sizes.inside(s, axis, extents):
                continue
            guard = self._guard(cases, done, partial(self.sizes.inside, s, axis, extents))
            if guard is not None:
                moved.add(k)
                places[k] = _chosen(guard, safe[k], ZERO)
        return tuple(places), moved

    def _quiet(self, new: Apply, node: Apply, cases: Sequence[Conditions], done: Mapping[Expr, Expr]) -> Expr:
        """A function that is asked for in these cases alone, of something in its domain in others."""
        row = OPS[node.op]
        divisor = node.args[row.asked]
        if row.asked and isinstance(divisor, Ref) and divisor.name in self.ties:
            return new
        alone = with_args(new, [ONE] * row.asked + list(new.args[row.asked :]))

        def told(c: Expr) -> bool:
            """Whether what it is given is safe already where the condition fails."""
            negated = isinstance(c, Apply) and c.op == "not"
            return _is_finite(branch(alone, c.args[0] if negated else c, negated))

        guard = self._guard([tuple(c for c in case if not told(substitute(c, done))) for case in cases], done)
        if guard is None or told(guard):
            return new
        args = [a if i is None else _chosen(guard, a, const(i)) for a, i in zip(new.args, row.inside, strict=True)]
        return with_args(new, args)

    def _guard(
        self,
        cases: Sequence[Conditions],
        done: Mapping[Expr, Expr],
        enough: Callable[[Conditions], bool] = lambda given: False,
    ) -> Expr | None:
        """What holds in these cases alone, or the part of it that is `enough`; None if they are all that there are."""
        few: list[Conditions] = []
        for case in cases:
            if enough(case):
                for c in case:
                    others = tuple(o for o in case if o is not c)
                    case = others if enough(others) else case
            few.append(case)
        few = joined(few)
        if () in few:
            return None
        ways = [conjunction(substitute(c, done) for c in case) for case in few]
        return reduce(lambda a, b: apply("or", a, b), ways)

    def _longer(self, r: Ref, moved: Collection[int], extents: Extents) -> Ref:
        """The element, of a tensor with one place more in the axes that have no place 0 to be read instead."""
        if not moved:
            return r
        shape = self.tensors[r.name].shape
        # read where another index has no value, as that of a slice; and so is a number, whatever has none
        own = {i: extents[i] for i in indices(*(r.subscripts[k] for k in moved))}
        more = [
            k in moved and not self._checked(s, axis) and not self.never_empty(axis, own if indices(s) else {})
            for k, (s, axis) in enumerate(zip(r.subscripts, shape, strict=True))
        ]
        if not any(more):
            return r
        widths = tuple((ZERO, ONE if m else ZERO) for m in more)
        name = padded(self.tensors[r.name], widths, Num(as_number(ZERO)), self.tensors, self.pads)
        return ref(name, *r.subscripts)

    def _number(self, s: Expr) -> bool:
        """Whether a subscript is one number, made of sizes and options."""
        return not indices(s) and not any(r.name in self.tensors for r in refs(s))

    def never_empty(self, axis: Expr, extents: Extents) -> bool:
        """Whether an axis has an element wherever the box has a point."""
        return self.sizes.not_negative(axis - 1, extents, at=tuple(extents))

    def _checked(self, s: Expr, axis: Expr) -> bool:
        """Whether a subscript is an element of data, which is checked to be in range: or 0, where that is not asked."""
        if isinstance(s, Apply) and s.op == "select":
            return any(self._is_data(a) for a in s.args[1:]) and not self.kept_inside(s, axis)
        return self._is_data(s)

    def _is_data(self, s: Expr) -> bool:
        return isinstance(s, Ref) and s not in self.sizes.loops

    def kept_inside(self, s: Apply, axis: Expr) -> bool:
        """Whether the condition of a subscript keeps an element of data in range, so that nothing else checks it."""
        condition, chosen, other = s.args
        if isinstance(other, Ref):
            condition, chosen = apply("not", condition), other
        return isinstance(chosen, Ref) and kept_inside(chosen, axis, (condition,), self.sizes.facts, self.tensors)

    def _of_turn(self, s: Expr) -> bool:
        """Whether a subscript is made of the number of a turn, and not of data. The loop asks before whether it is
        inside, but for what is left under conditions on that number."""
        read = refs(s)
        of_data = any(r.name in self.tensors for r in read)
        return any(r in self.sizes.loops for r in read) and not indices(s) and not of_data


def _chosen(guard: Expr, value: Expr, instead: Expr) -> Expr:
    """`value` where the guard holds."""
    if isinstance(guard, Apply) and guard.op == "not":
        return apply("select", guard.args[0], instead, value)
    return apply("select", guard, value, instead)


def _is_finite(value: Expr) -> bool:
    """Whether it is a number other than 0, at which no slope is infinite."""
    if refs(value) or indices(value):
        return False
    number = evaluate(value, {}, lambda name, at: mp.nan)
    return bool(mp.isfinite(number) and number)
