"""Gradients whose terms cancel, over a common denominator: 1/(k + s) - s/(k + s)**2 is k/(k + s)**2.

The quotient rule writes differences of quotients that are nearly equal where a function saturates. Over the common
denominator, with the numerator multiplied out, what cancels is gone. SymPy proposes that form; it is taken where
computing both in floating point, at points drawn once for all, shows that it loses fewer bits.

A `where` is looked into: a branch is judged at the points at which it is used. A guard, where(d == 0, 1, d) below the
line, is left out while a form is looked for, and stands again in the form that is taken, around each divisor that is 0
where a guard held. Only forms that have the value of the original there are taken.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from statistics import fmean as mean
from typing import Any

from ..expr import (
    Apply,
    Const,
    Expr,
    Index,
    Ref,
    apply,
    base_of,
    branch,
    factors,
    fraction,
    is_short,
    operator,
    outermost,
    postorder,
    product,
    ref,
    refs,
    size,
    substitute,
    transform,
)
from ..ir import Derivative, Equation, Function, Role
from ..later import mp, mpmath
from ..numerics.floating import bits_lost, certain, computed, in_doubles, value_of_formula
from ..ops import OPS, is_call
from ..ops.row import nonzero, unguarded_divisor
from ..precision import better, fewest, operations
from ..precision.measure import SATURATED
from ..records import replace
from .denominator import by_roots, least, symbols, together
from .orders import reordered, unrolled
from .powers import by_inversion, differences_first, double_angles, over_roots, over_squares
from .products import one_fraction
from .results import by_result
from .reuse import with_reuse
from .saturating import saturated
from .singular import filled_sums
from .table import balanced, by_lengths

LARGE = 60  # operations; longer formulas stay as they are
POINTS = 30
SMALLEST, LARGEST = -20, 9  # binary exponents of the points
DIGITS = (300, 2500, 5000)  # bits in which the truth is computed
RIGHT = 130  # bits of the truth that are enough
EXTREME = (-900, -500, 400, 600, 1000)  # binary exponents of numbers whose squares and cubes leave the range
ALL = range(-950, 1000, 75)  # of which each leaf has each once
MANY_LEAVES = 6  # variables of a formula with guards, which are looked for where some of them are 0
WELL_SCALED = (0, 1, 2, 3)
LENGTHS = ("hypot", "root_of_sum")
BAD = 0.7  # bits, on average, from which another form is looked for
GAIN = 0.6  # bits that it must save
FEW = 0.15  # the same, where there are points at which the other form has all digits wrong
GOOD = 0.5  # bits on average up to which no other orders are tried
WRECKED = 25  # bits
CONDITIONS = 6  # in a formula: each doubles the cases
TRIED = 2  # forms whose factors are tried in other orders
LONGER = 4  # operations that it may have more
SHORTER = 2  # operations that it has less, to be taken though it saves no bits


def with_cancelled(
    derivative: Derivative, function: Function, sharing: Collection[str] = (), beside: Derivative | None = None
) -> Function:
    """`function`, the simplified joint equations of `derivative`, with the gradients in the form that loses less, but
    for those that are `sharing` what they compute; `beside` has the same of the formula as it was written.

    Only those that are computed from inputs, number by number: what a reduction gives is as wrong as it is anyway, and
    the components of a vector belong together as they are written.
    """
    forward = {e.target for e in derivative.primal.statements}
    locals_ = {n: e for n, e in function.elementwise.items() if function.table[n].role != Role.INPUT}
    well_scaled = frozenset([*(s for _, s in derivative.seeds), *(d.name for d in function.dims)])
    well_scaled |= {o.name for o in function.options}
    numbers = {d.name for d in function.dims} | {o.name for o in function.options}
    results = [
        (ref(e.target, *e.subscripts), _inlined(e.body, locals_))
        for e in derivative.primal.statements
        if operator(e.body) == "select" and e.target in function.elementwise
    ]
    as_written = _Inlined(beside) if beside is not None else None
    rewrites = (over_squares(), differences_first(derivative.primal.inputs), double_angles())
    statements, changed = [], False
    for e in function.statements:
        if e.target in forward or e.target in sharing or e.matrix is not None:
            statements.append(e)
            continue
        body = _inlined(e.body, locals_)
        if _suspect(e.body) or _by_length(body):
            own = [n for n in computed(body) if isinstance(n, Ref) and n.name not in well_scaled]
            of_inputs = all(n.name in function.inputs for n in own)
            other = filled_sums(e.body, numbers)
            if other is None and of_inputs and body is not e.body:
                other = filled_sums(body, numbers)
            if other is None and of_inputs and not any(isinstance(s, Const) for n in own for s in n.subscripts):
                other = _searched(body, e.body, well_scaled)
                form = body if other is None else other
                written = None if as_written is None else as_written.body(e)
                if written is not None and written is not body:
                    again = _searched(written, e.body, well_scaled)
                    other = form = fewest((form, written if again is None else again), written, well_scaled)
                known: dict[Expr, Expr] = dict(results)
                other = next((f for f in by_result(form, results) if _as_good(f, form, known, well_scaled)), other)
            form = e.body if other is None else other
            for rewrite in rewrites:
                form = rewrite(form)
            changed = changed or form is not e.body
            e = e.with_body(form)
        statements.append(e)
    if not changed:
        return function
    first = [e for e in statements if e.target in forward]
    gradient = with_reuse(first, [e for e in statements if e.target not in forward], function)
    return replace(function, statements=(*first, *gradient))


def _searched(body: Expr, shared: Expr, well_scaled: frozenset[str]) -> Expr | None:
    """Another form of `body` that loses less, by rearranging it, or else by the rules of accuracy; which is hardly
    longer than what it is `shared` with others."""
    found = most_accurate_form(body, well_scaled)
    last = better(body if found is None else found, well_scaled, length=operations(shared))
    return found if last is None else last


class _Inlined:
    """The equations of a derivative, in terms of what is given."""

    def __init__(self, derivative: Derivative) -> None:
        function = derivative.function
        self.locals = {n: e for n, e in function.elementwise.items() if function.table[n].role != Role.INPUT}
        self.inputs = {*function.inputs}

    def body(self, e: Equation) -> Expr | None:
        """What the tensor of an equation is computed from here; None where that is not one such formula."""
        own = self.locals.get(e.target)
        if own is None or own.reduced or len(own.subscripts) != len(e.subscripts):
            return None
        body = _inlined(substitute(own.body, dict(zip(own.subscripts, e.subscripts, strict=True))), self.locals)
        return body if all(r.name in self.inputs for r in refs(body) if r.subscripts) else None


def _suspect(body: Expr) -> bool:
    """Whether there is a sum, whose terms may cancel, or an exponential, which may overflow."""
    return any(isinstance(n, Apply) and (n.op in ("add", "sub") or OPS[n.op].grows == "right") for n in postorder(body))


def _by_length(body: Expr) -> bool:
    """Whether there is a quotient of lengths or of three factors, which may overflow on its way to a number that does
    not."""
    for n in postorder(body):
        if isinstance(n, Apply) and n.op == "div":
            above, below = map(unrolled, factors(_without_guards(n)))
            if any(isinstance(d, Apply) and d.op in LENGTHS for d in below) and (len(below) > 1 or len(above) > 2):
                return True
    return False


def _inlined(body: Expr, known: Mapping[str, Equation]) -> Expr:
    """`body` in terms of what is given: the point at which it is computed is known, its rounded parts are not."""
    while is_short(body, LARGE):
        found: dict[Expr, Expr] = {}
        for r in refs(body):
            e = known.get(r.name)
            if e is not None and not e.reduced:
                found[r] = substitute(e.body, dict(zip(e.subscripts, r.args, strict=True)))
        if not found:
            return body
        body = substitute(body, found)
    return body


def most_accurate_form(body: Expr, well_scaled: frozenset[str] = frozenset()) -> Expr | None:
    """Another form of `body` that loses fewer bits and is hardly longer; None if there is none.

    well_scaled   the names of cotangents, sizes and options, which are neither huge nor tiny
    """
    nodes = computed(body)
    if len(nodes) > LARGE and not any(operator(n) == "select" for n in nodes):
        return None
    leaves = dict.fromkeys(n for n in nodes if isinstance(n, Ref))
    names = {leaf: f"?{number}" for number, leaf in enumerate(leaves)}  # equal formulas of others have one form
    scaled = frozenset(name for leaf, name in names.items() if leaf.name in well_scaled)
    found = _most_accurate(substitute(body, {leaf: ref(name) for leaf, name in names.items()}), scaled)
    return None if found is None else substitute(found, {ref(name): leaf for leaf, name in names.items()})


@lru_cache(maxsize=16384)
def _most_accurate(body: Expr, well_scaled: frozenset[str], given: tuple[tuple[Expr, bool], ...] = ()) -> Expr | None:
    """The same.

    given  conditions, and whether they hold where the value is used
    """
    chosen = [n for n in computed(body) if operator(n) == "select" and unguarded_divisor(n) is None]
    if len({n.args[0].key for n in chosen}) + len(given) > CONDITIONS:
        return None
    if chosen:
        condition = chosen[-1].args[0]  # of an outer one: others may have no value where it does not hold
        branches = [branch(body, condition, holds) for holds in (True, False)]
        others = [
            _most_accurate(b, well_scaled, (*given, (condition, holds)))
            for b, holds in zip(branches, (True, False), strict=True)
        ]
        kept = [b if f is None else f for b, f in zip(branches, others, strict=True)]
        if kept[0].key is kept[1].key:
            return kept[0]
        whole = apply("select", condition, *kept)
        return None if others == [None, None] or size(whole) > size(body) + 2 * LONGER else whole
    bare = _without_guards(body)
    nodes = computed(bare)
    if not _sampled(nodes):
        return None
    leaves = [n for n in nodes if isinstance(n, Ref)]
    far = any(isinstance(n, Apply) and n.op in LENGTHS for n in nodes)
    truths = _truths(bare, [at for at in points(tuple(leaves), well_scaled, far) if _used(at, given)])
    if not truths:
        return None
    now = _lost(bare, truths)
    if mean(now) < BAD:
        other = _shortened(body, mean(now), truths)
        return other if other is not None and _agrees(other, _at_zeros(body, leaves, given)) else None
    there = _at_guards(body, leaves)
    if there is None:
        return None
    fixed = [*there, *_at_zeros(body, leaves, given)]
    forms = [bare]
    if not _innocent(bare, truths):
        forms += [f for f in (together(bare, words) for words in ("", "ratios", "exponentials")) if f is not None]
        forms += by_roots(bare)
    forms += [transform(f, over_roots) for f in forms] + [other for f in forms for other in by_inversion(f)]
    forms += [transform(f, balanced) for f in forms]
    forms += [transform(f, by_lengths) for f in forms]
    forms += [_with_pairs(f) for f in forms]
    short = [f for f in dict.fromkeys(forms[1:]) if f is not bare and size(f) <= size(bare) + LONGER]
    forms = [*short, *dict.fromkeys(f for form in forms for f in saturated(form))]
    found = {body: now} | {f: _lost(f, truths) for f in (_with_guards(f, there) for f in forms) if _agrees(f, fixed)}
    if far and min(map(mean, found.values())) >= GOOD:
        first = sorted(found, key=lambda f: mean(found[f]))
        known: dict[Expr, tuple[float, ...]] = {}
        again = (f for f in (reordered(f, truths, well_scaled, known) for f in first) if f is not None)
        orders = {f: _lost(f, truths) for f in itertools.islice(again, TRIED)}
        least = min(map(mean, found.values()))
        found |= {f: lost for f, lost in orders.items() if mean(lost) <= least - FEW}
    best = min(found.values(), key=mean)
    good = [f for f, lost in found.items() if mean(lost) <= mean(best) + (FEW if _wrecked(lost, best) else GAIN)]
    if good[0] is body:  # another may be better and no longer, or as good and half as long
        shorter = [f for f in found if size(f) <= size(body) and mean(found[f]) <= mean(now) - FEW]
        half = [f for f in good if 2 * size(f) <= size(body) and mean(found[f]) <= mean(now)]
        good = sorted(shorter, key=lambda f: mean(found[f])) or half
    return min(good, key=size, default=None) if far else next(iter(good), None)


def _as_good(form: Expr, body: Expr, results: Mapping[Expr, Expr], well_scaled: frozenset[str]) -> bool:
    """Whether `form`, which reads results, hardly loses more than `body`."""
    if any(isinstance(n, Index) for n in computed(body)):
        return False
    leaves = tuple(n for n in computed(body) if isinstance(n, Ref))
    truths = _truths(body, points(leaves, well_scaled, True))
    ours, now = _lost(substitute(form, results), truths), _lost(body, truths)
    return bool(truths) and mean(ours) <= mean(now) + FEW


def _lost(form: Expr, truths: Truths) -> list[float]:
    """The bits that `form`, which may have guards, loses at each point."""
    written = transform(_without_guards(form), one_fraction)
    return [bits_lost(in_doubles(written, at), truth) for at, truth in truths]


def _innocent(body: Expr, truths: Truths) -> bool:
    """Whether the arithmetic of `body` loses hardly anything of what it is given by functions, which no form of the
    arithmetic changes: the sine of a large number is as wrong as that number makes it."""
    names = {node: ref(f"?of{k}") for k, node in enumerate(symbols(body)) if not isinstance(node, (Ref, Const))}
    if not names:
        return False
    outer, lost = substitute(body, names), list[float]()
    for at, _ in truths:
        with mp.workprec(DIGITS[0]):
            of = {new: float(value_of_formula(node, at)) for node, new in names.items()}
            near = {**at, **of}
            exact = {leaf: mpmath.mpf(value) for leaf, value in near.items()}
            truth = certain(outer, exact, RIGHT) if all(map(math.isfinite, near.values())) else None
        if truth is None:
            return False
        lost.append(bits_lost(in_doubles(transform(outer, one_fraction), near), truth))
    return mean(lost) < BAD


def _wrecked(lost: list[float], best: list[float]) -> bool:
    """Whether there are more points at which hardly a digit is right: a range of numbers, and not chance."""
    mine, others = (sum(x > WRECKED for x in some) for some in (lost, best))
    return mine > 1 + 1.2 * others


def _shortened(body: Expr, loss: float, truths: Truths) -> Expr | None:
    """What hardly loses more than `body` and is half as long; or shorter, where roots of a polynomial are spoken of."""
    alone, now = _alone(body) - 1, size(body)
    whole = together(body) if 2 * max(alone, least(body)) <= now else None
    forms = [f for f in by_roots(body) if size(f) < now - SHORTER] if alone < now - SHORTER else []
    forms += [] if whole is None or 2 * size(whole) > now else [whole]
    return next((f for f in forms if mean(_lost(f, truths)) <= loss + FEW), None)


def _alone(body: Expr) -> int:
    """How many elements and decimals stand in `body`, written out, at one place: so many stand in whatever it is equal
    to, and are put together by one operation less."""
    times = dict.fromkeys(computed(body), 0) | {body: 1}
    for node in reversed(times):
        for a in node.args if isinstance(node, Apply) else ():
            times[a] += times[node]
    symbols = [n for n in times if isinstance(n, Ref) or isinstance(n, Const) and n.text is not None]
    return sum(times[n] == 1 for n in symbols)


def overflowing(body: Expr, other: Expr) -> bool:
    """Whether `body` has hardly a digit right where a quotient in it leaves the range, and `other`, which takes the
    logarithm of that quotient as `log_ratio`, has."""
    nodes = computed(other)
    if not _sampled(nodes):
        return False
    draw = random.Random(20)
    leaves = [n for n in nodes if isinstance(n, Ref)]
    ratios = [n.args[0] / n.args[1] for n in nodes if isinstance(n, Apply) and n.op == "log_ratio"]
    drawn = [{leaf: mpmath.ldexp(1 + draw.random(), draw.choice(ALL)) for leaf in leaves} for _ in range(8 * POINTS)]
    there = [at for at in drawn if any(in_doubles(r, at) in (0, math.inf) for r in ratios)]
    truths = _truths(other, there)
    return bool(truths) and _wrecked(_lost(body, truths), _lost(other, truths))


def _sampled(nodes: Sequence[Expr]) -> bool:
    """Whether a formula of these nodes is computed at points."""
    whole = any(isinstance(n, Index) or isinstance(n, Apply) and not OPS[n.op].sampled for n in nodes)
    return not whole and len(nodes) <= LARGE


def _used(at: Mapping[Ref, Any], given: tuple[tuple[Expr, bool], ...]) -> bool:
    """Whether the conditions are met at a point, as far as it tells."""
    return all(
        bool(value_of_formula(condition, at)) == holds
        for condition, holds in given
        if all(n in at if isinstance(n, Ref) else not isinstance(n, Index) for n in computed(condition))
    )


def _without_guards(body: Expr) -> Expr:
    return transform(body, lambda n: n if (bare := unguarded_divisor(n)) is None else bare)


def _at_guards(body: Expr, leaves: Sequence[Ref]) -> Truths | None:
    """Points at which the guards in `body` hold, and its values there; None if there is a guard that holds at no point
    where some of the leaves are 0 or two of them equal, where guards are looked for."""
    guards = [d for n in computed(body) if (d := unguarded_divisor(n)) is not None]
    if not guards:
        return []
    if len(leaves) > MANY_LEAVES:
        return None
    start = points(tuple(leaves), frozenset())[0]
    special = [
        {k: mpmath.mpf(0) if k in zero else v for k, v in start.items()}
        for n in range(1, len(leaves) + 1)
        for zero in itertools.combinations(leaves, n)
    ]
    special += [{**start, a: start[b]} for a, b in itertools.combinations(leaves, 2)]
    found, reached = [], set()
    with mp.workprec(DIGITS[0]):
        for at in special:
            here = [d for d in guards if value_of_formula(d, at) == 0]
            if here:
                reached.update(here)
                found.append((at, value_of_formula(body, at)))
    return found if reached.issuperset(guards) else None


def _at_zeros(body: Expr, leaves: Sequence[Ref], given: tuple[tuple[Expr, bool], ...]) -> Truths:
    """Points at which one of the leaves is 0, and the value there: another form may divide by it, as abs(x)/x."""
    start = points(tuple(leaves), frozenset())[0]
    zeros = [{**start, leaf: mpmath.mpf(0)} for leaf in leaves]
    with mp.workprec(DIGITS[0]):
        return [(at, value_of_formula(body, at)) for at in zeros if _used(at, given)]


def _with_guards(form: Expr, there: Truths) -> Expr:
    """`form` with a guard around each divisor that is 0 where a guard held."""

    def vanishes(d: Expr) -> bool:
        with mp.workprec(DIGITS[0]):
            return any(value_of_formula(d, at) == 0 for at, _ in there if all(r in at for r in refs(d)))

    def guard(node: Expr) -> Expr:
        if not isinstance(node, Apply) or node.op != "div":
            return node
        found = []
        for d in factors(node.args[1])[0]:
            base, k = base_of(d)
            found.append(nonzero(base) ** k if vanishes(base) else d)
        return node.args[0] / product(found)

    return transform(form, guard) if there else form


def _agrees(form: Expr, there: Truths) -> bool:
    """Whether it has the values of the original where guards hold."""
    with mp.workprec(DIGITS[0]):
        found = [(value_of_formula(form, at), value) for at, value in there]
    return all(a == b or abs(a - b) <= mpmath.ldexp(abs(b), -60) for a, b in found if mp.isfinite(b))


Truths = list[tuple[dict[Ref, Any], Any]]


def _truths(body: Expr, drawn: Sequence[dict[Ref, Any]]) -> Truths:
    """Those of the points at which `body` is a number, and what it is there, as a bound of the error says, or
    as two precisions agree."""

    def doubles(at: Mapping[Ref, Any]) -> dict[Ref, Any]:
        return {leaf: float(value) for leaf, value in at.items()}

    found = []
    calls = any(isinstance(n, Apply) and not OPS[n.op].algebraic for n in computed(body))
    digits = DIGITS[1:2] if calls else DIGITS[1:]
    for at in drawn:
        with mp.workprec(DIGITS[0]):
            known = certain(body, at, RIGHT)
            last = value_of_formula(body, at) if known is None else known
        if known is not None:
            found.append((doubles(at), known))
            continue
        for precision in digits:
            with mp.workprec(precision):
                value = value_of_formula(body, at)
            if mp.isfinite(value) and abs(last - value) <= mpmath.ldexp(abs(value), -60):
                found.append((doubles(at), value))
                break
            last = value
    return found


@lru_cache(maxsize=1024)
def points(leaves: tuple[Ref, ...], well_scaled: frozenset[str], far: bool = False) -> list[dict[Ref, Any]]:
    """Numbers of both signs and all sizes, without a function of the platform's.

    far  more of them in all of the range: for what speaks of lengths; of one variable, they are taken anyway
    """
    draw = random.Random(20)

    def number(leaf: Ref, exponents: Sequence[int] = range(SMALLEST, LARGEST + 1)) -> Any:
        exponent = draw.choice(WELL_SCALED if leaf.name in well_scaled else exponents)
        return mpmath.ldexp(2**20 + draw.getrandbits(20), exponent - 20) * draw.choice((1, -1))

    found = [{leaf: number(leaf) for leaf in leaves} for _ in range(POINTS)]
    for large, leaf in itertools.product(SATURATED, [leaf for leaf in leaves if leaf.name not in well_scaled]):
        found += [{**{other: number(other) for other in leaves}, leaf: mpmath.mpf(sign * large)} for sign in (1, -1)]
    found += [{leaf: number(leaf, EXTREME) for leaf in leaves} for _ in range(POINTS // 3)]
    found += [{k: abs(v) for k, v in at.items()} for at in found]
    more = far or sum(leaf.name not in well_scaled for leaf in leaves) == 1
    for positive in (False, True) if more else ():
        every = {leaf: draw.sample(ALL, len(ALL)) for leaf in leaves}
        some = [{leaf: number(leaf, (every[leaf][k],)) for leaf in leaves} for k in range(len(ALL))]
        found += [{k: abs(v) for k, v in at.items()} for at in some] if positive else some
    return found


def _with_pairs(form: Expr) -> Expr:
    """`form` with its quotients in pairs; what a function is applied to stays: it may be known."""
    return outermost(form, lambda node: node if is_call(node) else None, _paired)


def _paired(node: Expr) -> Expr:
    """A quotient as a product of quotients, none of which overflows before the whole does: x / r / r for x/r**2."""
    if operator(node) != "div":
        return node
    above, below = map(unrolled, factors(node))
    numbers, below = ([f for f in below if isinstance(f, Const) == alike] for alike in (True, False))
    if len(below) < 2 and len(above) < 3:
        return node
    mine = set(refs(*below))
    constants, moving = ([f for f in above if mine.isdisjoint(refs(f)) == apart] for apart in (True, False))
    found = fraction(constants, numbers)
    for f in moving:
        found = found * (f / below.pop(0)) if below else found * f
    for d in below:
        found = found / d
    return found
