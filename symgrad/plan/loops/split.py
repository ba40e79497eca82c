"""No loop tests what can be told before it: a condition on its index becomes two loops, one after the other, and one on
nothing that changes in it is asked outside. A first or last turn of its own stands beside the loop."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise

from ...domain import GE, NE, Affine, Bound, Domain, alternatives
from ...expr import (
    ZERO,
    Apply,
    Expr,
    Index,
    Ref,
    apply,
    conjunction,
    factors,
    indices,
    postorder,
    ref,
    refs,
    substitute,
    substitution,
)
from ...expr.polynomials import polynomial
from ...ir import Equation, unconditional
from ...ops import OPS
from ...records import dataclass, replace
from ..conditions import divisible
from .data import (
    Block,
    Call,
    If,
    Local,
    Loop,
    Node,
    Note,
    Rewriter,
    Store,
    expressions,
    loops,
    stores,
    stores_once,
    walk,
    with_inner,
)
from .dependence import changed
from .notes import is_start
from .reach import turns
from .settle import does_something, settled, told_once, under, unsigned, without_notes

COPIED = 3  # statements that a condition does not touch, and that are rather written twice than left beside its test


@dataclass(frozen=True, slots=True)
class Split:
    """Takes the conditions out of the loops of one procedure.

    everywhere  what is known of the sizes
    name        gives a new scalar its name
    limits      what the scalars are that limit a loop; new ones are added
    values      whether also the conditions are taken out that only choose a value
    """

    everywhere: Domain
    name: Callable[[str], str]
    limits: dict[Expr, Expr]
    values: bool = True

    def __call__(self, block: Block) -> Block:
        return self._block(settled(block), self.everywhere)

    def bounded(self, e: Equation, box: Sequence[tuple[Index, Expr]], block: Block) -> Block:
        """Loops over `box`, inside of loops over the other indices of `e`, where its condition holds."""
        whole = loops(box, block if e.where is None else (If(e.where, block),))
        outer = tuple(part for part in e.box if part not in box)
        return whole if e.where is None else self._block(whole, Domain.of(outer, None, self.everywhere.facts))

    def _block(self, block: Block, domain: Domain) -> Block:
        return _together([new for node in block for new in self._node(node, domain)])

    def _node(self, node: Node, domain: Domain) -> Block:
        if isinstance(node, Loop):
            return self._loop(replace(node, body=self._block(node.body, self._turns(node, domain))), domain)
        if isinstance(node, If):
            body = self._block(node.body, domain.under(node.condition))
            otherwise = self._block(node.otherwise, domain.under(node.condition, False))
            return (replace(node, body=body, otherwise=otherwise),)
        return (with_inner(node, partial(self._block, domain=domain)),)

    def _loop(self, loop: Loop, domain: Domain) -> Block:
        """What becomes of a loop whose body is done."""
        if stores_once(loop):  # the entries of a row, each of which is there or not: that would be as many loops
            return (loop,)
        changing, turns = changed(loop.body), self._turns(loop, domain)
        certain = unconditional(*(e for n in loop.body if not isinstance(n, Loop) for e in expressions(n)))
        found: Block | None
        for condition in _conditions(loop.body, self.values):
            if not changing.isdisjoint(n.name for n in postorder(condition) if isinstance(n, (Ref, Index))):
                continue
            elements = [r for r in refs(condition) if r.subscripts]
            if elements and not (condition in certain and all(indices(r) for r in elements)):
                continue  # there may be no such element before it is asked for
            inside = loop.index in indices(condition)
            if not inside and not divisible(condition, domain):
                continue  # nor may it be divided before there is a turn
            if (known := turns.holds(condition)) or not inside and turns.fails(condition):
                found = self._loop(replace(loop, body=under(loop.body, condition, known)), domain)
            elif inside:
                found = self._divided(loop, condition, domain)
            else:
                found = self._outside(loop, condition, domain)
            if found is not None:
                return found
        return (loop,)

    def _outside(self, loop: Loop, condition: Expr, domain: Domain) -> Block | None:
        """The loop under a condition on nothing that changes in it, and beside the one where that does not hold."""
        notes, body = without_notes(loop.body)
        if not any(_rests_on(n, condition) for n in body):
            return None
        halves = [under(body, condition, holds) for holds in (True, False)]
        if _copies(*halves):
            return None
        first, second = (
            self._loop(replace(loop, body=half), domain.under(condition, holds)) if does_something(half) else ()
            for half, holds in zip(told_once(*halves), (True, False), strict=True)
        )
        return (*notes, If(condition, first, second) if first else If(_negated(condition), second))

    def _divided(self, loop: Loop, condition: Expr, domain: Domain) -> Block | None:
        """The loop as several, in each of which a condition on its index holds, or does not."""
        found = _cuts(condition, loop.index, self._turns(loop, domain), domain)
        if found is None:
            return None
        notes, body = without_notes(loop.body)
        halves = [under(body, condition, holds) for holds in (False, True)]
        if _copies(*halves) > COPIED:
            return None
        if len(found[0]) > 1 and any(r.subscripts for r in refs(condition)) and all(map(does_something, halves)):
            return None  # a place that data tell, and all others: a test is shorter
        halves = told_once(*halves)
        parts = [
            (lower, end, halves[holds])
            for (lower, end), holds in zip(pairwise((loop.lower, *found[0], loop.extent)), found[1], strict=True)
            if does_something(halves[holds]) and _turns_of(lower, end) != 0
        ]
        cut = {place: place for place in (loop.lower, loop.extent)}
        before: list[Node] = []
        several = [part for part in parts if _turns_of(*part[:2]) != 1]
        first, last = {lower for lower, _, _ in several}, {end for _, end, _ in several}
        for place in dict.fromkeys(place for part in several for place in part[:2] if place not in cut):
            least = loop.lower if place in first else ZERO
            cut[place] = self._limit(place, loop, domain, least, place in last, before)
        done: list[Block] = []
        for lower, end, body in parts:
            if _turns_of(lower, end) == 1:
                done.append(self._turn(loop, lower, body, domain))
            else:
                done.append(self._loop(replace(loop, lower=cut[lower], extent=cut[end], body=body), domain))
        if loop.reverse:
            done.reverse()
        return (*notes, *_first_before_end((*before, *(n for block in done for n in block))))

    def _turns(self, loop: Loop, domain: Domain) -> Domain:
        return turns(loop, domain, self.limits)

    def _turn(self, loop: Loop, place: Expr, body: Block, domain: Domain) -> Block:
        """The turn of the loop at `place`, if it has that."""
        asked = [apply("ge", place, loop.lower), apply("gt", loop.extent, place)]
        asked = [c for c in asked if not domain.holds(substitute(c, self.limits))]
        domain = domain.under(conjunction(asked)) if asked else domain
        body = self._block(settled(Rewriter(substitution({loop.index: place})).block(body)), domain)
        return (If(conjunction(asked), body),) if asked else body

    def _limit(self, place: Expr, loop: Loop, domain: Domain, least: Expr, above: bool, before: list[Node]) -> Expr:
        """A place as a limit of the loop: no less than `least`, and, if it is the end of a part, no more than that of
        the loop. It has a name, unless it is short, and is computed before the loop."""
        for below in dict.fromkeys((ZERO, least)):  # a size is not negative, not even for a moment
            if not domain.holds(substitute(apply("ge", place, below), self.limits)):
                place = apply("maximum", place, below)
        if above and not domain.holds(substitute(apply("le", place, loop.extent), self.limits)):
            positive = domain.holds(substitute(apply("ge", loop.extent, ZERO), self.limits))
            place = apply("minimum", loop.extent if positive else apply("maximum", loop.extent, ZERO), place)
        operators = {n.op for n in postorder(place) if isinstance(n, Apply)}
        if operators <= {"add"} or not indices(place) and not operators & {"maximum", "minimum"}:
            return place
        local = Local(self.name(f"{'end' if above else 'first'}_{loop.index.name}"), place, count=True)
        before.append(local)
        self.limits[ref(local.name)] = substitute(place, self.limits)
        return ref(local.name)


def _first_before_end(block: Block) -> Block:
    """A block whose first two statements are where the loop ends and begins, the other way round if they may be."""
    if len(block) > 2 and all(isinstance(n, Local) and n.count for n in block[:2]):
        one, two = block[:2]
        assert isinstance(one, Local) and isinstance(two, Local)
        if one.name.startswith("end") > two.name.startswith("end") and ref(one.name) not in refs(two.value):
            return (two, one, *block[2:])
    return block


def _cuts(condition: Expr, i: Index, turns: Domain, before: Domain) -> tuple[list[Expr], list[bool]] | None:
    """The places at which a condition on the index of a loop changes, and whether it holds before, between and behind
    them; None if it is no limit. They are computed `before` the loop: what divides there must be known there."""
    facts = turns.of_points().facts
    for holds in (True, False):
        only = alternatives(condition, facts, holds).only or ()
        if len(only) != 1 or not isinstance(atom := only[0], Affine) or atom.relation == NE:
            continue
        step, rest = atom.form.split(i)
        sign = before.of_points().facts.sign(step)
        if not sign or any(i in indices(s) for s in atom.form.symbols if s is not i):
            return None
        if atom.relation == GE:
            bound = Bound(-rest, step, True) if sign > 0 else Bound(rest, -step, False)
            return [bound.limit], [holds is (sign < 0), holds is (sign > 0)]
        if abs(step.number or 0) == 1:
            place = -rest * sign
            return [place.expression(), (place + 1).expression()], [not holds, holds, not holds]
    return None


def _turns_of(lower: Expr, end: Expr) -> int | None:
    """How many turns a loop has, if that is a number whatever the sizes are; 0 if it would be negative."""
    length = polynomial(end - lower)
    return None if length is None or length.number is None else max(length.number, 0)


def _conditions(block: Block, values: bool) -> dict[Expr, None]:
    """The comparisons that the statements of a block rest on, or, with `values`, what they store; those of the loops
    in it left out; in order."""
    found: dict[Expr, None] = {}
    for node in block:
        if isinstance(node, Loop):
            continue
        for b in node.blocks:
            found |= _conditions(b, values)
        if isinstance(node, If):
            found |= dict.fromkeys(_comparisons(node.condition))
        for n in postorder(*expressions(node)) if values else ():
            if isinstance(n, Apply) and n.op == "select":
                found |= dict.fromkeys(_comparisons(n.args[0]))
    return found


def _negated(condition: Expr) -> Expr:
    other = {"eq": "ne", "ne": "eq"}.get(condition.op) if isinstance(condition, Apply) else None
    return apply("not", condition) if other is None else apply(other, *condition.args)


def _comparisons(condition: Expr) -> Iterator[Expr]:
    if isinstance(condition, Apply) and OPS[condition.op].kind == "logic":
        for a in condition.args:
            yield from _comparisons(a)
    elif isinstance(condition, Apply) and OPS[condition.op].result == "bool":
        yield condition


def _rests_on(node: Node, condition: Expr) -> bool:
    """Whether a statement as a whole rests on a condition: it is done there alone, or stores one of two values."""
    if isinstance(node, If):
        return condition in _comparisons(node.condition)
    value = unsigned(node.value) if isinstance(node, Store) else ZERO
    selects = (f for f in factors(value)[0] if isinstance(f, Apply) and f.op == "select")
    return any(condition in _comparisons(f.args[0]) for f in selects)


def _together(nodes: list[Node]) -> Block:
    """Statements under one condition that follow each other, as one."""
    done: list[Node] = []
    for node in nodes:
        place = len(done)
        while place and (isinstance(done[place - 1], Note) or is_start(done[place - 1])):
            place -= 1
        first = done[place - 1] if place else None
        if not (isinstance(node, If) and isinstance(first, If) and node.condition.key is first.condition.key):
            done.append(node)
            continue
        written = {r.name for n in walk((first,)) for r in stores(n)}
        if any(r.name in written for r in refs(node.condition)):
            done.append(node)
            continue
        notes = tuple(n for n in done[place:] if isinstance(n, Note))
        starts = [n for n in done[place:] if not isinstance(n, Note)]
        body = (*first.body, *notes, *node.body)
        done[place - 1 :] = [*starts, If(node.condition, body, (*first.otherwise, *node.otherwise))]
    return tuple(done)


def _copies(first: Block, second: Block) -> int:
    """How many statements stand in both; more than are allowed if there is a loop of them."""

    def statements(block: Block) -> list[Node]:
        return [n for n in walk(block) if isinstance(n, (Store, Call))]

    theirs = statements(second)
    if any(n in theirs for loop in walk(first) if isinstance(loop, Loop) for n in statements(loop.body)):
        return COPIED + 1
    return sum(n in theirs for n in statements(first))
