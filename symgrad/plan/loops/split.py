"""No loop tests what can be told before it: a condition on its index becomes two loops, one after the other, and one on
nothing that changes in it is asked outside. A first or last turn of its own stands beside the loop."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Set
from dataclasses import replace
from itertools import pairwise

from ...domain import GE, NE, Affine, Bound, Domain, alternatives, fixed
from ...domain.atoms import linear
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
    factors,
    indices,
    postorder,
    refs,
    substitute,
)
from ...expr.polynomials import polynomial, symbol
from ...ops import OPS
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
    blocks,
    expressions,
    scalar,
    stores,
    walk,
    with_blocks,
)
from .notes import is_start

COPIED = 3  # statements that a condition does not touch, and that are rather written twice than left beside its test


class Split:
    """Takes the conditions out of the loops of one procedure.

    everywhere  what is known of the sizes
    name        gives a new scalar its name
    """

    def __init__(self, everywhere: Domain, name: Callable[[str], str]) -> None:
        self._everywhere = everywhere
        self._name = name
        self._limits: dict[Expr, Expr] = {}  # what the scalars are that limit a loop

    def __call__(self, block: Block) -> Block:
        return self._block(_settled(block), self._everywhere)

    def _block(self, block: Block, domain: Domain) -> Block:
        return _together([new for node in block for new in self._node(node, domain)])

    def _node(self, node: Node, domain: Domain) -> Block:
        if isinstance(node, Loop):
            return self._loop(replace(node, body=self._block(node.body, self._turns(node, domain))), domain)
        if isinstance(node, If):
            body = self._block(node.body, domain.under(node.condition))
            otherwise = self._block(node.otherwise, domain.under(node.condition, False))
            return (replace(node, body=body, otherwise=otherwise),)
        return (with_blocks(node, tuple(self._block(b, domain) for b in blocks(node))),)

    def _loop(self, loop: Loop, domain: Domain) -> Block:
        """What becomes of a loop whose body is done."""
        changing = _changing(loop.body)
        for condition in _conditions(loop.body):
            if not changing.isdisjoint(n.name for n in postorder(condition) if isinstance(n, (Ref, Index))):
                continue
            if loop.index in indices(condition):
                found = self._divided(loop, condition, domain)
            elif (known := domain.holds(condition)) or domain.fails(condition):
                found = self._loop(replace(loop, body=_where(loop.body, condition, known)), domain)
            else:
                found = self._outside(loop, condition, domain)
            if found is not None:
                return found
        return (loop,)

    def _outside(self, loop: Loop, condition: Expr, domain: Domain) -> Block | None:
        """The loop under a condition on nothing that changes in it, and beside the one where that does not hold."""
        notes, body = _without_notes(loop.body)
        halves = [_where(body, condition, holds) for holds in (True, False)]
        if not any(_rests_on(n, condition) for n in body) or _copies(*halves):
            return None
        first, second = (
            self._loop(replace(loop, body=half), domain.under(condition, holds)) if _does_something(half) else ()
            for half, holds in zip(_told_once(*halves), (True, False), strict=True)
        )
        return (*notes, If(condition, first, second) if first else If(_negated(condition), second))

    def _divided(self, loop: Loop, condition: Expr, domain: Domain) -> Block | None:
        """The loop as several, in each of which a condition on its index holds, or does not."""
        found = _cuts(condition, loop.index, self._turns(loop, domain))
        notes, body = _without_notes(loop.body)
        halves = [_where(body, condition, holds) for holds in (False, True)]
        if found is None or _copies(*halves) > COPIED:
            return None
        halves = _told_once(*halves)
        parts = [
            (lower, end, halves[holds])
            for (lower, end), holds in zip(pairwise((loop.lower, *found[0], loop.extent)), found[1], strict=True)
            if _does_something(halves[holds]) and _turns_of(lower, end) != 0
        ]
        cut = {place: place for place in (loop.lower, loop.extent)}
        before: list[Node] = []
        for lower, end, _ in parts:
            for place, above in ((lower, False), (end, True)) if _turns_of(lower, end) != 1 else ():
                if place not in cut:
                    others = [p for p in parts if place in p[:2] and _turns_of(*p[:2]) != 1]
                    cut[place] = self._limit(place, loop, domain, above or len(others) > 1, before)
        done: list[Block] = []
        for lower, end, body in parts:
            if _turns_of(lower, end) == 1:
                done.append(self._turn(loop, lower, body, domain))
            else:
                done.append(self._loop(replace(loop, lower=cut[lower], extent=cut[end], body=body), domain))
        return (*notes, *before, *(n for block in (reversed(done) if loop.reverse else done) for n in block))

    def _turns(self, loop: Loop, domain: Domain) -> Domain:
        """The turns of a loop in loops over `domain`."""
        i, low, end = symbol(loop.index), *(substitute(limit, self._limits) for limit in (loop.lower, loop.extent))
        atoms = [i - p for p in map(polynomial, _operands(low, "maximum")) if p is not None and linear(p)]
        atoms += [p - 1 - i for p in map(polynomial, _operands(end, "minimum")) if p is not None and linear(p)]
        return replace(domain, indices=(*domain.indices, loop.index)).meet(*map(Affine, atoms))

    def _turn(self, loop: Loop, place: Expr, body: Block, domain: Domain) -> Block:
        """The turn of the loop at `place`, if it has that."""
        asked = [apply("ge", place, loop.lower), apply("gt", loop.extent, place)]
        asked = [c for c in asked if not domain.holds(substitute(c, self._limits))]
        domain = domain.under(conjunction(asked)) if asked else domain
        body = self._block(_settled(Rewriter(lambda n: place if n is loop.index else n).block(body)), domain)
        return (If(conjunction(asked), body),) if asked else body

    def _limit(self, place: Expr, loop: Loop, domain: Domain, above: bool, before: list[Node]) -> Expr:
        """A place as a limit of the loop: no less than its first, and, if it stands `above`, no more than its end."""
        if not domain.holds(substitute(apply("ge", place, loop.lower), self._limits)):
            place = apply("maximum", place, loop.lower)
        if above and not domain.holds(substitute(apply("le", place, loop.extent), self._limits)):
            place = apply("minimum", loop.extent, place)
        if all(not isinstance(n, Apply) or n.op == "add" for n in postorder(place)):
            return place
        local = Local(self._name(f"{'end' if above else 'first'}_{loop.index.name}"), place, count=True)
        before.append(local)
        self._limits[scalar(local.name)] = substitute(place, self._limits)
        return scalar(local.name)


def _operands(limit: Expr, op: str) -> list[Expr]:
    """What a limit is the largest or the smallest of."""
    if isinstance(limit, Apply) and limit.op == op:
        return [part for a in limit.args for part in _operands(a, op)]
    return [limit]


def _cuts(condition: Expr, i: Index, turns: Domain) -> tuple[list[Expr], list[bool]] | None:
    """The places at which a condition on the index of a loop changes, and whether it holds before, between and behind
    them; None if it is no limit."""
    facts = turns.of_points().facts
    for holds in (True, False):
        ways = alternatives(condition, facts, holds)
        if len(ways) != 1 or len(ways[0]) != 1 or not isinstance(atom := ways[0][0], Affine) or atom.relation == NE:
            continue
        step, rest = atom.form.split(i)
        sign = facts.sign(step)
        free = all(s is i or fixed(s) or isinstance(s, Index) for s in atom.form.symbols)
        if not sign or not free or any(i in indices(s) for s in atom.form.symbols if s is not i):
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


def _changing(block: Block) -> set[str]:
    """The names that mean another thing, or have another value, at each turn of a loop; without its own index."""
    found: set[str] = set()
    for n in walk(block):
        found |= {r.name for r in stores(n)}
        found |= {n.name} if isinstance(n, Local) else {n.index.name} if isinstance(n, Loop) else set()
    return found


def _conditions(block: Block) -> dict[Expr, None]:
    """The comparisons that the statements of a block rest on, those of the loops in it left out; in order."""
    found: dict[Expr, None] = {}
    for node in block:
        if isinstance(node, Loop):
            continue
        for b in blocks(node):
            found |= _conditions(b)
        if isinstance(node, If):
            found |= dict.fromkeys(_comparisons(node.condition))
        for n in postorder(*expressions(node)):
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
    value = _unsigned(node.value) if isinstance(node, Store) else ZERO
    selects = (f for f in factors(value)[0] if isinstance(f, Apply) and f.op == "select")
    return any(condition in _comparisons(f.args[0]) for f in selects)


def _where(block: Block, condition: Expr, holds: bool) -> Block:
    """What is left of a block where a condition holds, or does not."""
    known = ONE if holds else ZERO
    left = _nothing(Rewriter(lambda n: known if n.key is condition.key else n).block(block))
    locals_ = [n for n in walk(left) if isinstance(n, Local) and not n.changes]
    own = {scalar(n.name) for n in locals_}
    plain: dict[Expr, Expr] = {}  # what has become a number, or another name
    for n in locals_:
        value = plain.get(n.value, n.value)
        if value in own or not any(isinstance(leaf, (Ref, Index)) for leaf in postorder(value)):
            plain[scalar(n.name)] = value
    values = Rewriter(lambda n: plain.get(n, n))
    return _settled(values.block(_without(left, plain)) if plain else left)


def _nothing(block: Block) -> Block:
    """A block with 0 for products of which one factor has become 0, and quotients of these: such a value is selected,
    and not computed."""
    done: list[Node] = []
    for node in block:
        node = with_blocks(node, tuple(map(_nothing, blocks(node))))
        if isinstance(node, (Local, Store)) and ZERO in factors(_unsigned(node.value))[0]:
            node = replace(node, value=ZERO)
        done.append(node)
    return tuple(done)


def _unsigned(value: Expr) -> Expr:
    return value.args[0] if isinstance(value, Apply) and value.op == "neg" else value


def _without_notes(block: Block) -> tuple[Block, Block]:
    """The notes of a block, and the rest."""
    return tuple(n for n in block if isinstance(n, Note)), tuple(n for n in block if not isinstance(n, Note))


def _told_once(*halves: Block) -> list[Block]:
    """Two blocks with the notes of the longer one alone."""
    longest = max(halves, key=lambda block: sum(1 for _ in walk(block)))
    return [block if block is longest else _silent(block) for block in halves]


def _silent(block: Block) -> Block:
    _, rest = _without_notes(block)
    return tuple(with_blocks(n, tuple(map(_silent, blocks(n)))) for n in rest)


def _without(block: Block, names: Container[Expr]) -> Block:
    """A block without these scalars."""
    return tuple(
        with_blocks(n, tuple(_without(b, names) for b in blocks(n)))
        for n in block
        if not (isinstance(n, Local) and scalar(n.name) in names)
    )


def _settled(block: Block) -> Block:
    """A block without what is not done, and without values that nobody reads."""
    done: list[Node] = []
    for node in block:
        if isinstance(node, If) and isinstance(node.condition, Const):
            done += _settled(node.body if node.condition.value else node.otherwise)
            continue
        node = with_blocks(node, tuple(map(_settled, blocks(node))))
        if isinstance(node, (Local, Note)) or _does_something((node,)):
            done.append(node)
            continue
        while done and isinstance(done[-1], Note):
            done.pop()
    read = {r.name for n in walk(tuple(done)) for r in refs(*expressions(n))}
    unread = {n.name for n in done if isinstance(n, Local) and n.name not in read}
    return _settled(_unwritten(tuple(done), unread)) if unread else tuple(done)


def _unwritten(block: Block, names: Set[str]) -> Block:
    """A block without these scalars, and what is stored there."""
    kept = (n for n in block if not (isinstance(n, Local) and n.name in names or names & {r.name for r in stores(n)}))
    return tuple(with_blocks(n, tuple(_unwritten(b, names) for b in blocks(n))) for n in kept)


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


def _does_something(block: Block) -> bool:
    return any(isinstance(n, Call) or isinstance(n, Store) and not _is_idle(n) for n in walk(block))


def _is_idle(store: Store) -> bool:
    """Whether it leaves what stands there."""
    return store.value is (store.element if store.how == "=" else ZERO) and store.how != "*="


def _copies(first: Block, second: Block) -> int:
    """How many statements stand in both; more than are allowed if there is a loop of them."""

    def statements(block: Block) -> list[Node]:
        return [n for n in walk(block) if isinstance(n, (Store, Call))]

    theirs = statements(second)
    if any(n in theirs for loop in walk(first) if isinstance(loop, Loop) for n in statements(loop.body)):
        return COPIED + 1
    return sum(n in theirs for n in statements(first))
