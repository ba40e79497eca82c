"""The form of a formula that loses fewest bits: rules everywhere, and the best few kept.

A form is judged by what doubles make of it at all points of a sample, against the truth of the formula as it was given.
Kept are the cheapest, and then what is best where those are bad. Nothing is taken that balls contradict, and nothing is
changed for less than a bit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from ..expr import Apply, Expr, Ref, apply, base_of, branch, factors, operator, product, ref, substitute, transform, values
from ..later import np
from ..ops import OPS
from ..ops.row import CALL, nonzero, unguarded_divisor
from .measure import Given, Sample, known, value_at
from .rules import rewrites
from .terms import Term, expression, parts_of, replaced, term_of

LARGE = 40  # operations; longer formulas stay as they are: a search would be longer, too, and end nowhere
ENOUGH = 0.5  # bits on average, at each kind of points, that are nothing to look for
CONDITIONS = 6  # in a formula: each doubles the cases
FEW = 20  # operations of what may become shorter
GAIN = 1.0  # bits that another form must save
BOUGHT = 0.2  # bits more for each operation that it takes more
PRICE = 0.03  # bits that an operation costs while forms are compared
WEIGHTS = {"practical": 1, "unit": 1, "edges": 1, "saturated": 1, "near": 0.25, "full": 0.125}  # of kinds of points
WORSE = 0.75  # bits that points of one kind may lose for the others
PAID = 4  # times as much counts what they lose beyond that
WIDTH, ROUNDS, CANDIDATES = 8, 6, 600
PROGRESS = 0.1  # bits that a round must gain, of the best form and of all kept together
BETTER = 0.25  # bits that the second of two forms must save


def better(body: Expr, well_scaled: frozenset[str] = frozenset(), length: int | None = None) -> Expr | None:
    """Another form of `body` that loses a bit less or more, and no kind of points for another; None if there is none.

    well_scaled  the names of cotangents, sizes and options, which are neither huge nor tiny
    length       how many operations it takes as it stands, if others share some of them

    Of a `where`, each side is looked at alone, at the points at which it is used. A guard, where(d == 0, 1, d) below the
    line, stands again around each divisor that is 0 where a guard held.
    """
    nodes = values(body)
    if not _may_lose(nodes):
        return None
    leaves = tuple(n for n in nodes if isinstance(n, Ref))
    names = {leaf: ref(f"?{k}") for k, leaf in enumerate(leaves)}  # equal formulas of others have one form
    scaled = frozenset(names[leaf].name for leaf in leaves if leaf.name in well_scaled)
    found = _better(substitute(body, names), scaled, operations(body) if length is None else length)
    return None if found is None else substitute(found, {new: old for old, new in names.items()})


def fewest(forms: Sequence[Expr], written: Expr, well_scaled: frozenset[str] = frozenset()) -> Expr:
    """That of several forms of `written` that loses fewest bits; the first where none is better, or nothing tells."""
    leaves = tuple(n for n in values(written) if isinstance(n, Ref))
    first = forms[0]
    if not known(written) or operations(written) > 3 * LARGE:
        return first
    with np.errstate(all="ignore"):
        sample = Sample(written, leaves, well_scaled)
        if not sample.kinds or any(n not in leaves for f in forms for n in values(f) if isinstance(n, Ref)):
            return first
        search = _Search(written, sample)
        costs = [search.price(sample.lost(f), f) for f in forms]
    best = min(range(len(forms)), key=costs.__getitem__)
    return forms[best] if costs[best] < costs[0] - BETTER else first


def _may_lose(nodes: Sequence[Expr]) -> bool:
    """Whether anything is computed that may cancel or leave the range."""
    operations = [n for n in nodes if isinstance(n, Apply) and n.op != "neg"]
    return len(operations) > 1 and any(isinstance(n, Ref) for n in nodes)


@lru_cache(4096)
def _better(body: Expr, well_scaled: frozenset[str], length: int, given: Given = ()) -> Expr | None:
    nodes = values(body)
    chosen = [n.args[0] for n in nodes if operator(n) == "select" and unguarded_divisor(n) is None]
    if chosen:
        return _by_branches(body, well_scaled, chosen, given)
    guards = [d for n in nodes if (d := unguarded_divisor(n)) is not None]
    if operations(body) > LARGE or not _may_lose(nodes) or not known(body):
        return None
    leaves = tuple(n for n in nodes if isinstance(n, Ref))
    with np.errstate(all="ignore"):
        sample = Sample(body, leaves, well_scaled, given, guards=guards)
        if not sample.kinds or not all(any(value_at(d, at) == 0 for at in sample.guarded) for d in guards):
            return None
        search = _Search(body, sample, length)
        found = search.winner() if search.hopeful() else None
        if found is None:
            return None
        other = Sample(body, leaves, well_scaled, given, seed=2, guards=guards)
        return found if other.kinds and _Search(body, other, length).confirms(found) else None


def _by_branches(body: Expr, well_scaled: frozenset[str], conditions: Sequence[Expr], given: Given) -> Expr | None:
    """Where a condition holds, and where not: the outermost, as others may have no value where it does not hold."""
    if len({c.key for c in conditions}) + len(given) > CONDITIONS:
        return None
    condition, sides = conditions[-1], list[Expr]()
    branches = [branch(body, condition, holds) for holds in (True, False)]
    for side, holds in zip(branches, (True, False), strict=True):
        found = _better(side, well_scaled, operations(side), (*given, (condition, holds)))
        sides.append(side if found is None else found)
    if sides[0].key is sides[1].key:
        return sides[0]
    return None if sides == branches else apply("select", condition, *sides)


class _Search:
    """The forms of one formula that were met, and what each loses."""

    def __init__(self, body: Expr, sample: Sample, length: int = 0) -> None:
        self.body, self.sample, self.length = body, sample, length
        self.first = term_of(transform(body, _bare) if sample.guarded else body)
        self._lost: dict[Term, Any] = {self.first: sample.lost(body)}
        self._costs: dict[Term, float] = {}
        self._sound: dict[Term, bool] = {}
        self.pool: dict[Term, None] = {self.first: None}

    def form(self, t: Term) -> Expr:
        if t is self.first:
            return self.body
        return transform(expression(t), self.guard) if self.sample.guarded else expression(t)

    def guard(self, node: Expr) -> Expr:
        """A quotient with a guard around each divisor that is 0 at a point where one was."""
        if operator(node) != "div":
            return node
        below = []
        for d in factors(node.args[1])[0]:
            base, k = base_of(d)
            vanishes = any(value_at(base, at) == 0 for at in self.sample.guarded)
            below.append(nonzero(base) ** k if vanishes else d)
        return node.args[0] / product(below)

    def confirms(self, form: Expr) -> bool:
        """Whether a form that was chosen at other points is good at these."""
        return self.worth(form, self.price(self.sample.lost(form), form)) and self.sample.equal(form, self.body)

    def lost(self, t: Term) -> Any:
        if t not in self._lost:
            self._lost[t] = self.sample.lost(self.form(t))
        return self._lost[t]

    def loses(self, t: Term) -> bool:
        """Whether there is something to be gained."""
        return any(mean > ENOUGH for mean in self.sample.means(self.lost(t)).values())

    def hopeful(self) -> bool:
        """Whether a search may end well: a bit is lost at points that people have, or all over the range by so few
        operations that others may be fewer."""
        means = self.sample.means(self.lost(self.first))
        if any(mean >= GAIN for kind, mean in means.items() if WEIGHTS[kind] == 1):
            return True
        return self.length <= FEW and self.loses(self.first)

    def cost(self, t: Term) -> float:
        if t not in self._costs:
            self._costs[t] = self.price(self.lost(t), self.form(t))
        return self._costs[t]

    def price(self, lost: Any, form: Expr) -> float:
        """Bits and operations, to two digits; no kind of points is to pay for another."""
        now, was = (self.sample.means(of) for of in (lost, self._lost[self.first]))
        paid = sum(PAID * WEIGHTS[k] * max(0.0, now[k] - was[k] - WORSE) for k in now)
        return round(self.bits(lost) + paid + PRICE * operations(form), 2)

    def bits(self, lost: Any) -> float:
        """The mean of the kinds of points that count whole, and what the others count; what is ENOUGH is free."""
        means = {k: max(0.0, m - ENOUGH) for k, m in self.sample.means(lost).items()}
        whole = [m for k, m in means.items() if WEIGHTS[k] == 1]
        return sum(whole) / max(len(whole), 1) + sum(WEIGHTS[k] * m for k, m in means.items() if WEIGHTS[k] != 1)

    def worth(self, form: Expr, price: float) -> bool:
        """Whether a form is to stand in place of the one that is there: it loses a bit less at points of a kind that
        people have, or it is shorter, too."""
        first = self._lost[self.first]
        gains = self.gains(first, self.sample.lost(form))
        more = operations(form) - self.length
        if price >= self.cost(self.first) - (GAIN if more < 0 else 0):
            return False
        return more < 0 or max(gains) >= GAIN + BOUGHT * more

    def gains(self, before: Any, after: Any) -> list[float]:
        """The bits that are saved at each kind of points that counts whole."""
        now, was = self.sample.means(after), self.sample.means(before)
        return [was[k] - now[k] for k in now if WEIGHTS[k] == 1] or [0.0]

    def sound(self, t: Term) -> bool:
        """Whether balls agree at some of the points."""
        if t not in self._sound:
            self._sound[t] = self.sample.equal(self.form(t), self.body, every=8)
        return self._sound[t]

    # forms

    def winner(self) -> Expr | None:
        """The best form, if it is worth it."""
        self.look()
        while True:
            best = min(self.pool, key=lambda t: (self.cost(t), t.size))
            if best is self.first or self.sample.equal(self.form(best), self.body):
                break
            del self.pool[best]
        return self.form(best) if self.worth(self.form(best), self.cost(best)) else None

    def look(self) -> None:
        """Fill the pool: every rule at every place, and at all places at once, of the best few; then again."""
        opened: set[Term] = set()
        before = math.inf
        for _ in range(ROUNDS):
            beam = self.chosen(WIDTH)
            fresh = [t for t in beam if t not in opened]
            best = min(beam, key=self.cost)
            covered = self.cost(best) + self.bits(np.min([self.lost(t) for t in beam], axis=0))
            if not fresh or len(self.pool) > CANDIDATES or not self.loses(best) or covered > before - PROGRESS:
                return
            before = covered if opened else math.inf  # the first step may lead nowhere
            for t in fresh:
                opened.add(t)
                self.open(t)

    def open(self, t: Term) -> None:
        """Put into the pool what becomes of a form by one rule."""
        most = 3 * self.first.size + 30
        everywhere: dict[str, dict[Term, Term]] = {}
        for part in parts_of(t):
            if not part.parts or len(self.pool) > CANDIDATES:
                continue
            for text, new in rewrites(part):
                if new.size > 3 * part.size + 20:
                    continue
                everywhere.setdefault(text, {}).setdefault(part, new)
                self.add(replaced(t, {part: new}), most)
        for found in everywhere.values():
            if len(found) > 1:
                self.add(replaced(t, found), most)

    def add(self, t: Term, most: int) -> None:
        if t not in self.pool and t.size < most:
            self.pool[t] = None

    def chosen(self, width: int) -> list[Term]:
        """The cheapest, and then what is best where those are bad; none that balls contradict."""
        while True:
            kept = self._covering(width)
            wrong = [t for t in kept if t is not self.first and not self.sound(t)]
            if not wrong:
                return kept
            for t in wrong:
                del self.pool[t]

    def _covering(self, width: int) -> list[Term]:
        ranked = sorted(self.pool, key=lambda t: (self.cost(t), t.size))
        lost = np.array([self.lost(t) for t in ranked])
        price = np.array([round(25 * PRICE * operations(self.form(t))) for t in ranked]) * lost.shape[1]
        kept = list(range(min(len(ranked), width // 3)))
        while len(kept) < min(width, len(ranked)):
            gains = np.maximum(lost[kept].min(axis=0) - lost, 0).sum(axis=1) - price
            k = int(np.argmax(gains))
            if gains[k] <= 2 * lost.shape[1] or k in kept:
                kept += [k for k in range(len(ranked)) if k not in kept][: width - len(kept)]
                break
            kept.append(k)
        return [ranked[k] for k in kept]


def _bare(node: Expr) -> Expr:
    return node if (divisor := unguarded_divisor(node)) is None else divisor


@lru_cache(4096)
def operations(form: Expr) -> int:
    """How many there are, shared ones once; a division counts as two, a function or a power as three."""
    rows = [OPS[n.op] for n in values(form) if isinstance(n, Apply)]
    return sum(3 if row.cost >= CALL else min(row.cost, 2) for row in rows)
