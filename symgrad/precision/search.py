"""The form of a formula that loses fewest bits: rules everywhere, and the best few kept.

A form is judged by what doubles make of it at all points of a sample, against the truth of the formula as it was given.
Kept are the cheapest, and then what is best where those are bad. Nothing is taken that balls contradict, and what
somebody wrote is not changed for less than a bit.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache, reduce
from operator import or_
from typing import Any, NamedTuple

from ..expr import (
    Apply,
    Expr,
    Ref,
    apply,
    base_of,
    branch,
    factors,
    folded,
    fraction,
    is_exact,
    one_fraction,
    operator,
    preorder,
    product,
    ref,
    refs,
    signed_factors,
    size,
    substitute,
    terms_of,
    transform,
    transformer,
    value_of,
    values,
)
from ..later import np
from ..ops import OPS, calls
from ..ops.row import CALL, EVERYWHERE, nonzero, unguarded, unguarded_divisor
from .cases import joined
from .denominator import WORDS, by_roots, may_shrink, together
from .measure import MANY_LEAVES, NOTHING, WHOLE, Doubles, Given, Sample, bits, known
from .orders import differences_first, in_front, reordered
from .rules import rewrites
from .terms import Term, expression, parts_of, replaced, term_of

LARGEST = 60  # nodes; longer formulas stay as they are
WRITTEN_OUT = 300  # nodes, where what is shared stands as often as it is read, as rules see it: the library's have 181
LARGE = 40  # operations; in longer formulas rules are not tried: a search would be longer, too, and end nowhere
ENOUGH = 0.5  # bits on average, at each kind of points, that are nothing to look for
ROUNDING = 0.29  # of a unit in the last place that an operation is wrong by, in the mean of squares
SUMS = ("add", "sub")
CONDITIONS = 6  # in a formula: each doubles the cases
LONGER = 4  # operations that both sides of a `where` may have more than what they were one of
FEW = 20  # operations of what may become shorter
GAIN = 1.0  # bits that another form of what somebody wrote must save
DERIVED = 0.4  # the same of what nobody wrote
BOUGHT = 0.2  # bits more for each operation that it takes more
PRICE = 0.03  # bits that an operation costs while forms are compared
# of kinds of points; what is no number at a tenth of all magnitudes, 64 bits each, loses a bit
WEIGHTS = {**dict.fromkeys(WHOLE, 1), "near": 0.25, "full": 0.15}
WORSE = 0.75  # bits that points of one kind may lose for the others
PAID = 4  # times as much counts what they lose beyond that
WIDTH, ROUNDS, CANDIDATES = 8, 6, 450
PROGRESS = 0.1  # bits that a round must gain, of the best form and of all kept together
RANGE = 2.0  # bits that whatever is saved all over the range counts as, at most: it may cost few operations
REGIMES = 2.0  # bits lost for which two forms may be printed, one on each side of 0, 1 or -1
NEARLY = 0.1  # bits that a form may cost more, if it is shorter, or less of what was written changes
BETTER = 0.25  # bits that the second of two forms must save, or the longer one of several


def better(
    body: Expr,
    well_scaled: frozenset[str] = frozenset(),
    shared: Collection[Expr] = (),
    gain: float = GAIN,
    given: Given = (),
) -> Expr | None:
    """Another form of `body` that loses a bit less or more, and no kind of points for another; None if there is none.

    well_scaled  the names of cotangents, sizes and options, which are neither huge nor tiny
    shared       what is computed anyway, and costs nothing
    gain         the bits that it must save
    given        conditions, and whether they hold where it is used

    Of a `where`, each side is looked at alone, at the points at which it is used. A guard, where(d == 0, 1, d) below
    the line, stands again around each divisor that is 0 where a guard held.
    """
    nodes = values(body)
    if not _may_lose(nodes):
        return None
    leaves = tuple(n for n in nodes if isinstance(n, Ref))
    names = {leaf: ref(f"?{k}") for k, leaf in enumerate(leaves)}  # equal formulas of others have one form
    scaled = frozenset(names[leaf].name for leaf in leaves if leaf.name in well_scaled)
    there = names.keys()  # no form has a part of another leaf
    free = frozenset(substitute(s, names) for s in shared if there >= {*refs(s)}) - {*names.values()}
    told = tuple((substitute(condition, names), holds) for condition, holds in given)
    found = _better(substitute(body, names), scaled, free, gain, told)
    return None if found is None else substitute(found, {new: old for old, new in names.items()})


def fewest(
    forms: Sequence[Expr],
    written: Expr,
    well_scaled: frozenset[str] = frozenset(),
    shared: Collection[Expr] = (),
    given: Given = (),
    dear: tuple[Expr, float] | None = None,
) -> Expr:
    """That of several forms of `written` that loses fewest bits; the first where none is better, nor nearly as good and
    shorter, or nothing tells. One of half the length may lose a bit more. The `dear` one must save so many bits
    more."""
    leaves = {n for n in values(written) if isinstance(n, Ref)}
    # a local that is not written out has a value that nothing tells
    forms = [f for f in forms if all(n in leaves for n in values(f) if isinstance(n, Ref))] or [*forms[:1]]
    first = forms[0]
    with np.errstate(all="ignore"):
        search = _measured(written, well_scaled, shared, given)
        if search is None or len(forms) < 2:
            return first
        costs = [search.costs(f) for f in forms]
        if dear is not None:
            costs = [cost + dear[1] * (f is dear[0]) for cost, f in zip(costs, forms, strict=True)]
        lengths = [operations(f, search.free) for f in forms]
    least = min(costs)
    best = min((k for k, cost in enumerate(costs) if cost <= least + BETTER), key=lambda k: (lengths[k], costs[k]))
    short = (k for k, cost in enumerate(costs) if 2 * lengths[k] <= lengths[best] and cost <= costs[best] + GAIN)
    best = min(short, key=lambda k: (lengths[k], costs[k]), default=best)
    return forms[best] if lengths[best] < lengths[0] or costs[best] < costs[0] - BETTER else first


def saves(
    form: Expr,
    other: Expr,
    written: Expr,
    well_scaled: frozenset[str] = frozenset(),
    shared: Collection[Expr] = (),
    given: Given = (),
) -> bool:
    """Whether a form of `written` saves a bit where people have numbers: not for the ends of the range alone."""
    with np.errstate(all="ignore"):
        search = _measured(written, well_scaled, shared, given)
        return search is not None and search.cost_in_range(form) < search.cost_in_range(other) - GAIN


def _measured(
    written: Expr, well_scaled: frozenset[str], shared: Collection[Expr], given: Given
) -> _Search | None:
    """What measures forms of `written`; None where nothing tells its value."""
    if not known(written) or operations(written) > 3 * LARGE:
        return None
    leaves = tuple(n for n in values(written) if isinstance(n, Ref))
    sample = Sample(written, leaves, well_scaled, given)
    return _Search(written, sample, well_scaled, frozenset(shared) - {*leaves}) if sample.kinds else None


def _may_lose(nodes: Sequence[Expr]) -> bool:
    """Whether anything is computed that may cancel or leave the range."""
    operations = [n for n in nodes if isinstance(n, Apply) and n.op != "neg"]
    return len(operations) > 1 and any(isinstance(n, Ref) for n in nodes)


def _written_out(nodes: Sequence[Expr]) -> int:
    """How many nodes the last one has as a tree."""
    sizes: dict[Expr, int] = {}
    for node in nodes:
        sizes[node] = 1 + sum(sizes[a] for a in node.args) if isinstance(node, Apply) else 1
    return sizes[nodes[-1]]


@lru_cache(4096)
def _better(
    body: Expr, well_scaled: frozenset[str], free: frozenset[Expr], gain: float, given: Given = ()
) -> Expr | None:
    nodes = values(body)
    chosen = [n.args[0] for n in nodes if operator(n) == "select" and unguarded_divisor(n) is None]
    if chosen:
        return _by_branches(body, well_scaled, free, gain, chosen, given)
    guards = [d for n in nodes if (d := unguarded_divisor(n)) is not None]
    if len(nodes) > LARGEST or gain >= GAIN and operations(body) > LARGE or not _may_lose(nodes) or not known(body):
        return None
    if _written_out(nodes) > WRITTEN_OUT:
        return None
    leaves = tuple(n for n in nodes if isinstance(n, Ref))
    with np.errstate(all="ignore"):
        sample = Sample(body, leaves, well_scaled, given, guards=guards)
        if not sample.kinds:
            return None
        search = _Search(body, sample, well_scaled, free, gain)
        found = search.winner()
        if found is None:
            return None
        other = Sample(body, leaves, well_scaled, given, seed=2, guards=guards)
        if not other.kinds:
            return None
        again = _Search(body, other, well_scaled, free, gain)
        if not again.confirms(found):  # what is no number there: the other way round
            found = again.winner()
            if found is None or not search.confirms(found):
                return None
    if operations(found) <= LARGE < operations(body):  # now rules may be tried
        shorter = _better(found, well_scaled, free, gain, given)
        return found if shorter is None else shorter
    return found


def _by_branches(
    body: Expr,
    well_scaled: frozenset[str],
    free: frozenset[Expr],
    gain: float,
    conditions: Sequence[Expr],
    given: Given,
) -> Expr | None:
    """Where a condition holds, and where not: the outermost, as others may have no value where it does not hold. What
    stands beside a `where` joins its sides only if that loses less, or is shorter."""
    if len({c.key for c in conditions}) > CONDITIONS:
        return None
    condition, sides = conditions[-1], list[Expr]()
    branches = [branch(body, condition, holds) for holds in (True, False)]
    for side, holds in zip(branches, (True, False), strict=True):
        found = _better(side, well_scaled, free, gain, (*given, (condition, holds)))
        sides.append(_added_up(side) if found is None else found)
    if sides[0].key is sides[1].key:
        return sides[0]
    whole = apply("select", condition, *sides)
    if operator(body) == "select":  # each side is as good as can be
        return None if whole is body else whole
    forms = (body, _beside_branches(body, well_scaled, free, gain, given), whole)
    longer = operations(whole, free) - min(operations(f, free) for f in forms[:2])
    dear = None if whole is body or longer < 0 else (whole, gain + BOUGHT * longer)
    found = fewest(forms, body, well_scaled, free, given, dear)
    return None if found is body else found


def _added_up(side: Expr) -> Expr:
    """What a condition leaves of a sum, terms that are equal as one."""
    terms = [t for t, _ in terms_of(side)]
    return expression(term_of(side)) if len({*terms}) < len(terms) and known(side) else side


def _beside_branches(body: Expr, well_scaled: frozenset[str], free: frozenset[Expr], gain: float, given: Given) -> Expr:
    """`body`, each `where` that stands in it in a better form."""
    outer = (n for n in preorder([body], _above_branches) if operator(n) == "select" and unguarded_divisor(n) is None)
    better = {n: new for n in outer if (new := _better(n, well_scaled, free, gain, given)) is not None}
    return substitute(body, better) if better else body


def _above_branches(node: Expr) -> Sequence[Expr]:
    return () if operator(node) == "select" else node.args


class _Tried(NamedTuple):
    """Forms, and of each what it loses at each point, where it fails, and what its operations cost."""

    forms: Sequence[Expr]
    lost: Any
    wrong: Any
    prices: Any


class _Search:
    """The forms of one formula that were met, and what each loses."""

    def __init__(
        self,
        body: Expr,
        sample: Sample,
        moderate: frozenset[str],
        free: frozenset[Expr] = frozenset(),
        gain: float = GAIN,
    ) -> None:
        self.body, self.sample, self.moderate, self.free, self.gain = body, sample, moderate, free, gain
        self.length = operations(body, free)
        self.names: dict[Expr, Expr] = {ref(f"?shared{k}"): f for k, f in enumerate(sorted(free, key=size))}
        self.named = substitute(body, {f: name for name, f in self.names.items()})
        self.differences = differences_first(lambda t: isinstance(t, Ref) and t.name not in moderate)
        self.fractions = transformer(one_fraction)
        self.own = {*values(body)}
        divided = [n.args[1] for n in self.own if operator(n) == "div"]
        self.bare_divisors = {base_of(d)[0] for below in divided for d in factors(below)[0]}
        self._zeros: dict[Expr, Any] = {}
        self.was = sample.lost(body)
        self.means_were = sample.means(self.was)
        self.sound_at = sample.asked & (self.was < NOTHING) & ~self.divides_by_zero(body)
        self.before = self.price(self.was, body)
        self.first = term_of(unguarded(body))
        self.guarded_at = sample.at_zero if sample.guards else sample.at_zero & self.sound_at
        self._bare: dict[Term, Expr] = {}
        self._texts: dict[Term, Expr] = {}  # of forms that are not written as their terms would be
        self._lost: dict[Term, Any] = {}
        self._costs: dict[Term, float] = {}
        self._sound: dict[Expr, bool] = {}
        self.pool: dict[Term, None] = {self.first: None}
        if operations(self.form(self.first), free) >= self.length:
            self._texts[self.first] = self._bare[self.first] = body
        self.met = {self.form(self.first).key}  # texts, whatever the order of sums and products

    def form(self, t: Term) -> Expr:
        """A form as it will be printed, with its guards."""
        if t not in self._texts:
            self._texts[t] = self.printed(self.bare(t))
        return self._texts[t]

    def bare(self, t: Term) -> Expr:
        """The same without guards."""
        if t not in self._bare:
            self._bare[t] = self.written(expression(t))
        return self._bare[t]

    def spell_bare(self, t: Term) -> None:
        """Take a form without guards from now on."""
        self._texts[t] = self.bare(t)
        self._lost.pop(t, None)
        self._costs.pop(t, None)

    def written(self, text: Expr) -> Expr:
        return self.differences(in_front(self.fractions(text), self.moderate))

    def printed(self, text: Expr) -> Expr:
        """With a guard around each divisor that is 0 where one was guarded, or where nothing was divided by and the
        quotient is 0/0. Where no point tells when a guard holds, all divisors have one that had none bare."""
        if not self.sample.reached:
            return transform(text, self.guard_all)
        return transform(text, self.guard) if (self.divides_by_zero(text) & self.guarded_at).any() else text

    def guard(self, node: Expr) -> Expr:
        if operator(node) != "div":
            return node
        over, below, doubles = node.args[0], [], self.sample.doubles
        for d in factors(node.args[1])[0]:
            base, k = base_of(d)
            vanishes = (doubles.of(base) == 0) & self.guarded_at
            guarded = vanishes.any() and (self.sample.guards or not (vanishes & (doubles.of(over) != 0)).any())
            below.append(nonzero(base) ** k if guarded else d)
        return over / product(below)

    def guard_all(self, node: Expr) -> Expr:
        if operator(node) != "div":
            return node
        below = map(base_of, factors(node.args[1])[0])
        return node.args[0] / product(d**k if self.stays_bare(d) else nonzero(d) ** k for d, k in below)

    def stays_bare(self, divisor: Expr) -> bool:
        return is_exact(divisor) or divisor in self.bare_divisors or unguarded_divisor(divisor) is not None

    def confirms(self, form: Expr) -> bool:
        """Whether a form that was chosen at other points is good at these."""
        price = self.price(self.sample.lost(form), form)
        good = self.worth(form, price, LONGER) or self.shortens(form, price)
        return good and self.sample.equal(form, self.body)

    def lost(self, t: Term) -> Any:
        if t not in self._lost:
            self._lost[t] = self.sample.lost(self.form(t))
        return self._lost[t]

    def loses(self, t: Term) -> bool:
        """Whether there is something to be gained."""
        return any(mean > ENOUGH for mean in self.sample.means(self.lost(t)).values())

    def hopeful(self) -> bool:
        """Whether a search may end well: at points that people have, more is lost than by a rounding of each node; or
        all over the range, unless nobody wrote it and it has many variables, whose products leave it in any order."""
        means, noise = self.means_were, math.log2(1 + ROUNDING * math.sqrt(len(self.own)))
        more = {k: max(0.0, m - noise) for k, m in means.items() if k != "full"}
        whole = [m for k, m in more.items() if WEIGHTS[k] == 1] or [0.0]
        if max(whole) >= self.gain or sum(whole) / len(whole) + WEIGHTS["near"] * more.get("near", 0.0) >= self.gain:
            return True
        if self.gain < GAIN and len(self.sample.doubles.at) > MANY_LEAVES:
            return False
        return _bits(means) >= self.gain or self.length <= FEW and any(mean > ENOUGH for mean in means.values())

    def cost(self, t: Term) -> float:
        if t not in self._costs:
            self._costs[t] = self.price(self.lost(t), self.form(t))
        return self._costs[t]

    def price(self, lost: Any, form: Expr) -> float:
        """Bits and operations, to two digits; no kind of points is to pay for another. Where people have numbers, none
        is lost, and nothing is divided by 0, be it right in the end."""
        if self.fails(lost, form).any():
            return float(NOTHING)
        now, was = self.sample.means(lost), self.means_were
        paid = sum(PAID * WEIGHTS[k] * max(0.0, now[k] - was[k] - WORSE) for k in now)
        return round(_bits(now) + paid + PRICE * operations(form, self.free), 2)

    def fails(self, lost: Any, form: Expr) -> Any:
        """At which of the points it does, of those that people have; what is infinite may be divided by 0."""
        return self.sound_at & ((lost >= NOTHING) | self.divides_by_zero(form) & np.isfinite(self.sample.truth))

    def divides_by_zero(self, form: Expr) -> Any:
        """At which of the points it does, in what is chosen there."""
        return folded(form, self._zeros, self._divides_by_zero)

    def _divides_by_zero(self, node: Expr) -> Any:
        if not isinstance(node, Apply):
            return np.False_
        if node.op not in ("select", "div"):
            found = [zero for a in node.args if (zero := self._zeros[a]) is not np.False_]
            return reduce(or_, found) if found else np.False_
        found, doubles = [self._zeros[a] for a in node.args], self.sample.doubles
        if node.op == "select":
            holds = doubles.of(node.args[0]) != 0
            found[1:] = found[1] & holds, found[2] & ~holds
        if node.op == "div":
            found.append(doubles.of(node.args[1]) == 0)
        return reduce(or_, found, np.False_)

    def bits(self, lost: Any) -> float:
        """Of what is lost at all points, as `_bits` says."""
        return _bits(self.sample.means(lost))

    def worth(self, form: Expr, price: float, most: float = math.inf) -> bool:
        """Whether a form is to stand in place of the one that is there: it loses a bit less at points of a kind that
        people have, or all over the range, for each of a few operations more; or it is shorter, too, or half as
        long."""
        saved, count = self.saved(self.was, self.sample.lost(form)), operations(form, self.free)
        if 2 * count <= self.length and price <= self.before:
            return True
        if count < self.length and price < self.before - self.gain:
            return True
        return price < self.before and saved >= self.gain + BOUGHT * min(most, max(0, count - self.length))

    def shortens(self, form: Expr, price: float) -> bool:
        """Whether a form is to stand in place of what nobody wrote: it is shorter, and costs less."""
        return self.gain < GAIN and operations(form, self.free) < self.length and price < self.before - BETTER

    def saved(self, before: Any, after: Any, most: float = RANGE) -> float:
        """The bits that are saved at points of the kind that gains most of those that people have, or all over the
        range, which counts as `most`."""
        now, was = self.sample.means(after), self.sample.means(before)
        by_kind = [was[k] - now[k] for k in now if WEIGHTS[k] == 1]
        return max([*by_kind, min(most, _bits(was) - _bits(now))])

    def sound(self, t: Term) -> bool:
        """Whether balls agree at some of the points."""
        return self.agrees(self.form(t))

    def agrees(self, form: Expr) -> bool:
        """The same of a form that is written."""
        if form not in self._sound:
            self._sound[form] = self.sample.equal(form, self.body, every=8)
        return self._sound[form]

    # forms

    def winner(self) -> Expr | None:
        """The best form, if it is worth it."""
        hopeful = self.hopeful()
        if any(operator(n) in SUMS for n in self.own) and (hopeful or self.gain < GAIN and may_shrink(self.named)):
            self.put_together()
        if hopeful and operations(self.body) <= LARGE:
            self.look()
        form = self.first_choice()
        forms: Iterable[Expr] = [form]
        if hopeful:
            orders = [*self.ordered(form), *self.in_range(form)]
            orders = [min(orders, key=self.costs)] if orders else []
            forms = itertools.chain(self.beside_factors(form), orders, self.in_parts(form), [form])
            if self.names:
                forms, as_named = list(forms), self.ordered(self.named)
                first = min(map(self.costs, forms))
                forms = [*(f for f in as_named if self.costs(f) < first + BETTER), *forms]
        worthy = (f for f in forms if f is not self.body and self.worth(f, self.costs(f)))
        found = next(worthy, None)
        whole = self.by_side(self.body if found is None else found)
        found = found if whole is None else whole
        return self.shorter() if found is None else found

    def shorter(self) -> Expr | None:
        """A form that is to stand in place of what nobody wrote, as it is cheaper and shorter, too: of those that cost
        nearly the same, the one in which fewest variables stand."""
        short = [t for t in self.pool if operations(self.form(t), self.free) < self.length]
        least = min((self.cost(t) for t in short if self.shortens(self.form(t), self.cost(t))), default=-math.inf)
        near = [t for t in short if self.cost(t) <= least + NEARLY]
        near.sort(key=lambda t: (_read(self.form(t), self.free), self.cost(t)))
        return next((self.form(t) for t in near if self.sample.equal(self.form(t), self.body)), None)

    def first_choice(self) -> Expr:
        """The best of what is worth it, or the form that is there; where several are nearly as good, the one that has
        most of that, or in which fewest variables stand."""

        def pays(t: Term) -> bool:
            return t is self.first or self.worth(self.form(t), self.cost(t))

        ranked = sorted(self.pool, key=lambda t: (self.cost(t), t.size))
        paying = (t for t in ranked if pays(t))
        best = next((t for t in paying if t is self.first or self.sample.equal(self.form(t), self.body)), self.first)
        near = [t for t in ranked if self.cost(t) <= self.cost(best) + NEARLY and pays(t) and self.sound(t)]

        def reads(form: Expr) -> tuple[int, int]:
            """What nobody wrote is to be short first."""
            return (0 if self.gain >= GAIN else _read(form, self.free)), self.changed(form)

        return self.form(min(near, key=lambda t: (reads(self.form(t)), self.cost(t)), default=best))

    def by_side(self, form: Expr) -> Expr | None:
        """where(b > 0, -c/(b + s), (s - b)/a): two forms, each where it is the better one; None where that saves less
        than what it takes more, or less than half. Neither calls what is a number in another domain."""
        before = self.sample.lost(form)
        if self.sample.guards or self.bits(before) < REGIMES:
            return None
        domains = _domains(self.body) | _domains(form)
        ranked = [t for t in self.pool if _domains(self.form(t)) <= domains]
        forms = list(dict.fromkeys([form, *(f for t in ranked for f in (self.bare(t), self.form(t)))]))
        lost = np.array([self.sample.lost(f) for f in forms])
        if 2 * self.bits(lost.min(axis=0)) > self.bits(before):  # the best one at each of the points
            return None
        wrong = np.array([self.fails(mine, f) for mine, f in zip(lost, forms, strict=True)])
        prices = np.array([PRICE * operations(f, self.free) for f in forms])
        tried = _Tried(forms, lost, wrong, prices)
        leaves = [n for n in values(self.body) if isinstance(n, Ref) and n.name not in self.moderate]
        signs, sizes = (
            [whole for c in conditions if (whole := self.parted(c, by_size, tried)) is not None]
            for conditions, by_size in ((_signs(self.body, leaves), False), (_sizes(leaves), True))
        )
        price = dict.fromkeys(sizes, GAIN)  # what a sign tells nearly as well is told by it
        whole = min((*signs, *sizes), key=lambda f: self.costs(f) + price.get(f, 0.0), default=form)
        longer = operations(whole, self.free) - operations(form, self.free)
        saved, left = self.costs(form) - self.costs(whole), self.bits(self.sample.lost(whole))
        if whole is form or saved < self.gain + BOUGHT * longer or 2 * left > self.bits(before):
            return None
        return whole if self.sample.equal(whole, self.body) else None

    def parted(self, asked: Expr, by_size: bool, tried: _Tried) -> Expr | None:
        """The best of the forms where a condition holds, and the best where not; by size, where the first is no number
        somewhere, as inf/inf is none (one that is inf too early says at least that it is large), and the two are."""
        now, whole = tried.forms[0], self.sample.whole
        holds = self.sample.doubles.of(asked) != 0
        there = holds if by_size else holds[whole]
        if there.all() or not there.any() or by_size and not self.not_numbers(now):
            return None
        best = [self.cheapest(tried, side, by_size) for side in (holds, ~holds)]
        if best[0] is best[1]:
            return None
        both = joined(asked, *best)
        return both if not by_size or 2 * self.not_numbers(both) <= self.not_numbers(now) else None

    def not_numbers(self, form: Expr) -> int:
        """At how many points it is NaN."""
        return int(np.isnan(self.sample.doubles.of(form)).sum())

    def cheapest(self, tried: _Tried, side: Any, by_size: bool) -> Expr:
        """Of forms that balls do not contradict, the one that costs least on one side: at points that people have, or
        all over the range if it is one by size; of several that cost nearly the same, the one that has most of what is
        there, if none that is as short is better all over the range."""
        forms, lost, wrong, prices = tried
        everywhere = self.sample.lost_where(side, lost, WEIGHTS)
        costs = prices + NOTHING * (wrong & side).any(axis=1)
        if by_size:
            costs += everywhere
        elif (here := side & self.sample.whole).any():
            costs += lost[:, here].mean(axis=1) / 100
        order: list[int] = np.argsort(costs, kind="stable").tolist()
        least = next(k for k in order if self.agrees(forms[k]))
        near = [k for k in order if costs[least] <= costs[k] <= costs[least] + NEARLY and self.agrees(forms[k])]
        good = min(everywhere[k] for k in near if prices[k] <= prices[least]) + NEARLY
        return min((forms[k] for k in near if everywhere[k] <= good), key=self.changed)

    def changed(self, form: Expr) -> int:
        """How many operations of a form are not in the one that is there."""
        return sum(n not in self.own for n in values(form))

    def in_parts(self, form: Expr) -> Iterator[Expr]:
        """A form with the terms of its sums, and what functions are applied to, in better forms, each for itself; not
        for numbers that nobody has, as another part of it takes them."""
        if self.bits(self.sample.lost(form)) < self.gain:
            return
        outer = (n for n in values(form) if isinstance(n, Apply) and (n.op in SUMS or OPS[n.op].cost >= CALL))
        terms = dict.fromkeys(t for n in outer for t in n.args if isinstance(t, Apply) and t.op not in SUMS)
        found: dict[Expr, Expr] = {}
        for t in terms:  # the innermost first: what stands around one that is replaced is another term then
            if found.keys().isdisjoint(values(t)) and self.saved_by(t, form) >= self.gain:
                new = better(t, self.moderate, self.free, self.gain, self.sample.given)
                if new is not None:
                    found[t] = new
        new = transform(form, lambda n: found.get(n, n))
        if self.buys(form, new, most=0):
            yield new

    def beside_factors(self, form: Expr) -> list[Expr]:
        """A product that is no number at some points that people have, its factors that call a function in a better
        form, for themselves: with fewer factors a search comes further."""
        if not (self.sample.lost(form)[self.sample.whole] >= NOTHING).any():
            return []
        sides = factors(form)
        plain, calling = ([[n for n in side if calls(n) is called] for side in sides] for called in (False, True))
        alone = fraction(*calling)
        if not any(plain) or sum(map(len, calling)) < 2 or operations(alone) >= operations(self.body):
            return []
        found = better(alone, self.moderate, self.free, self.gain, self.sample.given)
        if found is None:
            return []
        new = self.printed(self.written(fraction(*(a + b for a, b in zip(plain, factors(found), strict=True)))))
        best = min((new, *self.ordered(new)), key=self.costs)
        return [best] if self.buys(form, best) else []

    def buys(self, form: Expr, new: Expr, most: float = RANGE) -> bool:
        """Whether what a form takes more than another is paid for; `most` as in `saved`."""
        longer = max(0, operations(new, self.free) - operations(form, self.free))
        return self.saved(self.sample.lost(form), self.sample.lost(new), most) >= self.gain + BOUGHT * longer

    def saved_by(self, part: Expr, form: Expr) -> float:
        """The bits that would be saved if one part of a form were exact."""
        exact = ref("?exact")
        numbers = Doubles({**self.sample.doubles.at, exact: self.sample.nearest(part)})
        lost = bits(numbers.of(substitute(form, {part: exact})), self.sample.truth)
        return self.saved(self.sample.lost(form), lost)

    def costs(self, form: Expr) -> float:
        return self.price(self.sample.lost(form), form)

    def ordered(self, form: Expr) -> list[Expr]:
        """A product in a better order, if there is one; what is `free` is one factor."""

        def at_points(f: Expr) -> Any:
            return self.sample.doubles.of(self.spelled(f))

        def lost(values: Any) -> float:
            return self.bits(bits(values, self.sample.truth))

        found = reordered(form, at_points, lost, self.moderate)
        return [] if found is None else [self.spelled(found)]

    def in_range(self, choice: Expr) -> list[Expr]:
        """The form that loses fewest bits where people have numbers, if it is shorter than what is there, and better
        than the choice, in the best form of its own: all over the range it may be bad for nothing but the order of its
        factors."""
        best = min(self.pool, key=lambda t: self.cost_in_range(self.form(t)))
        form = self.form(best)
        better_there = self.cost_in_range(form) < self.cost_in_range(choice) - self.gain
        if not better_there or operations(form, self.free) >= self.length or not self.sound(best):
            return []
        found = better(form, self.moderate, self.free, GAIN, self.sample.given)
        forms = [*self.ordered(form), form] if found is None else [found, form]
        return [f for f in forms if self.sample.equal(f, self.body)]

    def cost_in_range(self, form: Expr) -> float:
        """Bits and operations, where people have numbers."""
        lost = self.sample.lost(form)
        if self.fails(lost, form).any():
            return float(NOTHING)
        means = {k: m for k, m in self.sample.means(lost).items() if k != "full"}
        return _bits(means) + PRICE * operations(form, self.free)

    def spelled(self, form: Expr) -> Expr:
        return substitute(form, self.names) if self.names else form

    def put_together(self) -> None:
        """Put into the pool what is in lowest terms over a common denominator."""
        bare = unguarded(self.body)
        for form in (*(together(bare, words) for words in WORDS), *by_roots(bare)):
            if form is not None:
                t = term_of(form)
                if operations(form, self.free) < operations(expression(t), self.free):
                    self._bare.setdefault(t, self.written(form))
                self.add(t, t.size + 1)

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
        if t.size < most and (key := self.form(t).key) not in self.met:
            self.met.add(key)
            self.pool[t] = None

    def chosen(self, width: int) -> list[Term]:
        """The cheapest, and then what is best where those are bad; none that balls contradict."""
        while True:
            kept = self._covering(width)
            wrong = [t for t in kept if t is not self.first and not self.sound(t)]
            if not wrong:
                return kept
            for t in wrong:
                if self.form(t) is not self.bare(t) and self.agrees(self.bare(t)):
                    self.spell_bare(t)  # what is 0/0 there is not 0: c/(b - sqrt(b**2 - c)) at c = 0 < b
                else:
                    del self.pool[t]

    def _covering(self, width: int) -> list[Term]:
        ranked = sorted(self.pool, key=lambda t: (self.cost(t), t.size))
        lost = np.array([self.lost(t) for t in ranked])[:, self.sample.counted]
        price = np.array([round(25 * PRICE * operations(self.form(t), self.free)) for t in ranked]) * lost.shape[1]
        kept = list(range(min(len(ranked), width // 3)))
        while len(kept) < min(width, len(ranked)):
            gains = np.maximum(lost[kept].min(axis=0) - lost, 0).sum(axis=1) - price
            k = int(np.argmax(gains))
            if gains[k] <= 2 * lost.shape[1] or k in kept:
                kept += [k for k in range(len(ranked)) if k not in kept][: width - len(kept)]
                break
            kept.append(k)
        return [ranked[k] for k in kept]


def _read(form: Expr, free: Collection[Expr] = ()) -> int:
    """How often variables stand in it: once in a product with a sum, once in each term without. What is `free` has a
    name, unless two variables say it."""
    counts: dict[Expr, int] = {}
    for node in values(form):
        count = sum(counts[a] for a in node.args) if isinstance(node, Apply) else isinstance(node, Ref)
        counts[node] = 1 if count > 2 and node in free else count
    return counts[form]


def _bits(means: Mapping[str, float]) -> float:
    """The mean of the kinds of points that count whole, and what the others count; what is ENOUGH is free."""
    more = {k: max(0.0, m - ENOUGH) for k, m in means.items()}
    whole = [m for k, m in more.items() if WEIGHTS[k] == 1]
    return sum(whole) / max(len(whole), 1) + sum(WEIGHTS[k] * m for k, m in more.items() if WEIGHTS[k] != 1)


def _signs(body: Expr, leaves: Sequence[Expr]) -> Iterator[Expr]:
    """Conditions by which two forms may part: on which side of 0, 1 or -1 a number is, the sign of a difference or of
    an exponent, and which of two exponents is larger."""
    yield from (apply(op, leaf, c) for leaf in leaves for c in (0, 1, -1) for op in ("gt", "ge"))
    nodes = [n for n in values(body) if isinstance(n, Apply)]
    yield from (apply("gt", *n.args) for n in nodes if n.op == "sub" and {*leaves}.issuperset(n.args))
    exponents = dict.fromkeys(n.args[0] for n in nodes if n.op == "exp")
    products = (fraction(*signed_factors(e)[:2]) for e in exponents if operator(e) not in SUMS)
    yield from (apply("gt", p, 0) for p in dict.fromkeys(products) if p not in leaves and refs(p))
    yield from (apply("gt", a, b) for a, b in itertools.combinations(exponents, 2))


def _sizes(leaves: Sequence[Expr]) -> Iterator[Expr]:
    """The same by size: whether a number is large."""
    yield from (apply("gt", apply("abs", leaf), 1) for leaf in leaves)


def _domains(form: Expr) -> set[str]:
    """Those of its operators, that of log1p being that of log; b**2 is a product, as b*b is."""
    called = (n for n in values(form) if isinstance(n, Apply) and not (n.op == "pow" and _is_whole(n.args[1])))
    found = {OPS[n.op].domain for n in called} | {OPS["div"].domain, EVERYWHERE}
    return {re.sub(r"x > -?\d+", "x > 0", domain) for domain in found}


def _is_whole(exponent: Expr) -> bool:
    return is_exact(exponent) and value_of(exponent).denominator == 1


@lru_cache(4096)
def operations(form: Expr, free: frozenset[Expr] = frozenset()) -> int:
    """How many there are, shared ones once, what is `free` not; a division counts as two, a function or a power as
    three."""
    nodes = [n for n in values(form, closed=free.__contains__ if free else None) if isinstance(n, Apply)]
    return sum(_price(n) for n in nodes if n not in free)


def _price(node: Apply) -> int:
    k = value_of(node.args[1]) if node.op == "pow" and is_exact(node.args[1]) else 0
    return int(k) - 1 if k in (2, 3) else _cost(node.op)


@cache
def _cost(op: str) -> int:
    """Of what has no name of its own in most languages, half of what it is spelled out as."""
    row = OPS[op]
    if row.cost < CALL:
        return min(row.cost, 2)
    if row.expand is None or row.helper is not None or "numpy" in row.spell:
        return 3
    return max(3, operations(row.expand(*(ref(f"?{k}") for k in range(row.arity)))) // 2)
