"""What an equation reads of others, written out: in what is given, and, where numbers are asked for, sums with a few
terms each."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping
from functools import cached_property, reduce
from types import MappingProxyType

from ..declare.reductions import reduction_names
from ..expr import (
    ONE,
    ZERO,
    Apply,
    Const,
    Expr,
    Index,
    Ref,
    apply,
    const,
    index,
    indices,
    product,
    ref,
    refs,
    select,
    substitute,
    total,
    transform,
)
from ..expr.names import Names, fresh_letters
from ..expr.sizes import equal
from ..ir import Box, Dtype, Equation, Function, reached, recurrent
from ..records import replace
from .expansion import Sum

TERMS = 3  # of a sum of as many as a size says: with one or two, too many are equal by chance
LITERAL = 64  # terms, at most, of a sum of literal size: these take a second
NOWHERE = apply("log", -ONE)  # what stands for a local where nothing asked for it: it has no value


class Spelling:
    """What one equation reads.

    names  of tensors
    added  equations of sums that the function has not, by what they compute
    """

    def __init__(self, function: Function, reader: Equation, names: Names) -> None:
        self.function, self.reader, self.names = function, reader, names
        self.sizes = {d.name for d in function.dims}
        self.extents = dict(reader.box)
        self.added: dict[str, Equation] = {}
        self.asked: dict[str, dict[Expr, None]] = {}

    @cached_property
    def loops(self) -> frozenset[str]:
        return recurrent(self.function.statements)

    @cached_property
    def readers(self) -> Mapping[str, Collection[str]]:
        return {name: [e.target for e in some] for name, some in self.function.readers.items()}

    def elementwise(self, node: Expr) -> Expr:
        """`node` in what is not computed elementwise."""

        def put(r: Expr) -> Expr:
            e = self._writer(r)
            return self.elementwise(self._beside(e, r)) if isinstance(r, Ref) and e and e.reduce == "none" else r

        return transform(node, put)

    def terms(self, node: Expr, count: int = TERMS) -> Expr:
        """`node` in what is not computed elementwise, or as a sum: as if all sizes were `count`."""
        found = self._terms(node, count)
        return substitute(found, {r: const(count) for r in refs(found) if r.name in self.sizes})

    def counts(self, node: Expr) -> bool:
        """Whether a size may stand in `node`, or a sum."""
        return any(r.name in self.sizes or self._writer(r) is not None for r in refs(node))

    def _terms(self, node: Expr, count: int) -> Expr:
        def put(r: Expr) -> Expr:
            e = self._writer(r)
            if e is None or not isinstance(r, Ref):
                return r
            ways = itertools.product(*([(i, j) for j in self._places(extent, count)] for i, extent in e.reduced))
            found = self._terms(total(_body_at(e, r, dict[Expr, Expr](way)) for way in ways), count)
            return apply("log", found) if e.reduce == "logsumexp" else found

        return transform(node, put)

    def _places(self, extent: Expr, count: int) -> list[Index]:
        """The indices of a few terms, the same for all sums over such an axis; those of the reader are among them."""
        own = [j for j, far in self.reader.box if equal(far, extent)]
        count = int(extent.value) if isinstance(extent, Const) and extent.value <= LITERAL else count
        return [*own, *(index(f"#{extent}:{k}") for k in range(count - len(own)))]

    def _writer(self, r: Expr) -> Equation | None:
        """The equation that computes an element that is read, of one number or as a sum."""
        if not isinstance(r, Ref) or r.name in self.loops:
            return None
        if r.name in self.added:
            return self.added[r.name]
        writers = self.function.writers.get(r.name, ())
        if len(writers) != 1 or writers[0].when or not writers[0].fills(self.function.table[r.name]):
            return None
        return writers[0] if writers[0].reduce in ("none", "sum", "logsumexp") else None

    def moving(self, root: Expr, of: Ref) -> dict[Ref, Sum] | None:
        """The sums that an expression reads and that depend on `of`; None if something else does that is computed."""
        found: dict[Ref, Sum] = {}
        for r in refs(root):
            if r.name not in reached(self.readers, [of.name]):
                continue
            if r.name == of.name:
                if r is not of and set(indices(r)) - {i for i, _ in self.reader.box}:
                    return None  # an element that may be the same
                continue
            e = self._writer(r)
            if e is None or e.reduce == "none":
                return None
            box = self._apart(e, r)
            body = self.elementwise(self._beside(e, r, {i: j for (i, _), (j, _) in zip(e.reduced, box, strict=True)}))
            inner = self.moving(body, of)
            if inner is None:
                return None
            found |= inner
            found[r] = Sum(body, e.reduce == "logsumexp", self._over(box))
        return found

    def _apart(self, e: Equation, r: Ref) -> Box:
        """Indices for a sum, other than those under which it is read: those of others over the same axes, so that sums
        that are equal are one."""
        taken = {i.name for i in (*indices(r), *dict(self.reader.box))}
        found = []
        for _, extent in e.reduced:
            letters = map(index, fresh_letters(taken))
            i = next(i for i in letters if self.extents.setdefault(i, extent) is extent)
            found.append((i, extent))
            taken.add(i.name)
        return tuple(found)

    def _beside(self, e: Equation, r: Ref, at: Mapping[Expr, Expr] = MappingProxyType({})) -> Expr:
        """What an element is computed by, beside equalities that nothing asked for it at."""
        always = e.where is None or is_thin(e.where, False, self.function)
        return _body_at(replace(e, where=None) if always else e, r, at)

    def _over(self, box: Box) -> Callable[[Expr], Expr]:
        """The sum over a box of what is given."""

        def summed(body: Expr) -> Expr:
            read = indices(body)
            mine = tuple((i, extent) for i, extent in box if i in read)
            times = product(extent for i, extent in box if i not in read)
            if not mine or body is ZERO:
                return times * body
            shown = tuple((i, self.extents[i]) for i in read if i not in dict(mine))
            same = (e for e in self.added.values() if e.body is body and e.box == (*shown, *mine))
            e = next(same, None)
            if e is None:
                name = self.names.new(*reduction_names("sum", body))
                e = Equation(name, tuple(i for i, _ in shown), "sum", body, (*shown, *mine))
                self.added[name] = e
            return times * ref(e.target, *e.subscripts)

        return summed

    def ask(self, condition: Expr, roots: Collection[Expr]) -> None:
        """Note that expressions are evaluated where a condition holds."""
        for r in refs(*roots):
            if r.name in self.added:
                self.asked.setdefault(r.name, {})[condition] = None
                self.ask(condition, [self.added[r.name].body])

    def equations(self) -> list[Equation]:
        """The added equations that are asked for, each after those that it reads, and where it is."""
        found = []
        for e in self.added.values():
            conditions = [c for c in self.asked.get(e.target, ()) if {*indices(c)} <= {i for i, _ in e.shown}]
            where = reduce(lambda a, b: apply("or", a, b), conditions) if conditions else None
            if e.target in self.asked:
                found.append(replace(e, where=where if len(conditions) == len(self.asked[e.target]) else None))
        return found


def _body_at(e: Equation, r: Ref, at: Mapping[Expr, Expr] = MappingProxyType({})) -> Expr:
    """What an element that is read is computed by; a term of the sum that it is, or is the logarithm of: `at` says what
    stands for the indices of the sum."""
    body = apply("exp", e.body) if e.reduce == "logsumexp" else e.body
    body = body if e.where is None else select(e.where, body, NOWHERE if e.reduce == "none" else ZERO)
    return substitute(body, {**dict(zip(e.subscripts, r.subscripts, strict=True)), **at})


def is_thin(condition: Expr, holds: bool, function: Function) -> bool:
    """Whether it takes an equality of data for a condition to hold, or not to, in each way in which it can."""
    op, args = (condition.op, condition.args) if isinstance(condition, Apply) else ("", ())
    if op == "not":
        return is_thin(args[0], not holds, function)
    if op in ("and", "or"):
        each = (is_thin(a, holds, function) for a in args)
        return all(each) if (op == "or") == holds else any(each)
    return is_equality(condition, function) and (op == "eq") == holds


def is_equality(node: Expr, function: Function) -> bool:
    """Whether it compares data that is not equal but by chance."""
    tensors = [function.table[r.name] for r in refs(node) if r.name in function.table]
    return isinstance(node, Apply) and node.op in ("eq", "ne") and any(t.dtype == Dtype.REAL for t in tensors)
