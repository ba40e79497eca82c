"""Formulas in terms of what is given, in which a search for another form sees what they are computed from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from functools import partial

from ..expr import Expr, is_short, operator, refs, substitute
from ..ir import Equation, Function, Role
from ..precision.search import LARGEST, operations

STEPS = LARGEST // 2  # nodes of a formula that is written in several steps: a search of more takes a second


class Inlined:
    """Formulas in terms of what is given: the point at which that is computed is known, its rounded parts are not."""

    def __init__(self, function: Function) -> None:
        self.locals = {n: e for n, e in function.elementwise.items() if function.table[n].role != Role.INPUT}
        self.writers = function.writers
        self.readers = Counter(name for e in function.statements for name in {r.name for r in e.reads})
        self.readers.update(dict.fromkeys(function.outputs, 2))  # the caller is no step

    def __call__(self, body: Expr) -> Expr:
        while is_short(body, LARGEST):
            further = self.once(body)
            if further is body:
                break
            body = further
        return body

    def once(self, body: Expr) -> Expr:
        """With the locals that it reads written out, and not what these read."""
        found: dict[Expr, Expr] = {}
        for r in refs(body):
            e = self.locals.get(r.name)
            if e is not None and not e.reduced:
                found[r] = substitute(e.body, dict(zip(e.subscripts, r.args, strict=True)))
        return substitute(body, found) if found else body

    def words(self, *bodies: Expr, whole: Callable[[Expr], Expr] | None = None) -> dict[Expr, Expr]:
        """What the names in formulas stand for, and its negative: it is computed anyway."""
        called: dict[Expr, Expr] = {}
        for r in refs(*bodies):
            own = (whole or self)(r)
            if own is not r:
                called |= {own: r} | ({own.args[0]: -r} if operator(own) == "neg" else {})
        return called

    def levels(self, body: Expr, one: bool) -> list[Expr]:
        """A formula with more and more of the steps before it written out, or with `one` alone."""
        bodies = [body]
        while (further := self.once(bodies[-1])) is not bodies[-1] and (len(bodies) < 2 or is_short(further, STEPS)):
            bodies.append(further)
            if one:
                break
        return bodies

    def called(self, bodies: Sequence[Expr]) -> dict[Expr, Expr]:
        """What names stand for in the last of such formulas."""
        found: dict[Expr, Expr] = {}
        for before, body in enumerate(bodies[:-1]):
            found |= self.words(body, whole=partial(self.further, times=len(bodies) - 1 - before))
        return found

    def further(self, body: Expr, times: int) -> Expr:
        """With so many steps written out."""
        for _ in range(times):
            body = self.once(body)
        return body

    def is_step(self, e: Equation) -> bool:
        """Whether an equation goes on from others, and one goes on from it: the last of them writes out all."""
        before = any(r.name in self.locals for r in e.reads)
        return before and e.target in self.locals and self.readers[e.target] == 1

    def steps(self, e: Equation, kept: Collection[Expr] = ()) -> int:
        """The operations of an equation, and of what is computed for it alone and not `kept`."""
        count, left = 0, [e]
        while left:
            own = left.pop()
            gone = (r for r in own.reads if r.name in self.locals and self.readers[r.name] == 1 and r not in kept)
            left += [self.locals[r.name] for r in gone]
            count += operations(own.body)
        return count

    def becomes(self, e: Equation) -> None:
        """An equation has another form, in which its readers know it."""
        if e.target in self.locals:
            self.locals[e.target] = e

    def body(self, e: Equation) -> Expr | None:
        """What the tensor of an equation is computed from here, or is a sum of; None where that is not one such
        formula."""
        own, *others = self.writers.get(e.target, (None,))
        if own is None or others or own.where is not None or own.when or e.when:
            return None
        if e.reduce not in ("none", "sum") or (own.reduce, own.reduced) != (e.reduce, e.reduced):
            return None
        if len(own.subscripts) != len(e.subscripts) or e.reduced and e.where is not None:
            return None  # a sum of some terms alone is not that of others which add up to the same
        body = self(substitute(own.body, dict(zip(own.subscripts, e.subscripts, strict=True))))
        return None if any(r.name in self.writers for r in refs(body)) else body
