"""Rewrites on the gradients: reuse what forward computes, inline, cancel, factor; the cheapest of several forms.

Every candidate is the same rewriting under two choices: which gradient intermediates are written in place (few: only
copies and what is used once; all but what enters a matrix product; or all), and in which forward values the gradients
are spoken (`xhat` instead of `centered`): in each alone, then in all that made it cheaper. Candidates are compared at
nominal sizes, and the first of the cheapest is taken.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from functools import partial

from ..differentiate.chain import combined
from ..expr import (
    ZERO,
    Apply,
    Const,
    Expr,
    Ref,
    apply,
    base_of,
    branch,
    conjuncts,
    factors,
    folded,
    fraction,
    indices,
    is_exact,
    is_short,
    operator,
    operators,
    postorder,
    preorder,
    refs,
    select,
    signed_factors,
    substitute,
    transform,
    value_of,
    with_args,
)
from ..ir import Derivative, Dropped, Equation, Function, by_target, has_domain, in_place, noted, recurrent, rewritten
from ..ops import OPS
from ..records import replace
from .cancelling import with_cancelled
from .combinations import combined_after
from .common import products_once
from .domain import in_domain, known_in
from .formulas import with_tidy_formulas
from .forward import equal_once, without_dead
from .normal import TooLarge
from .numbers import with_numbers_joined
from .powers import with_powers_joined, with_quotients_in_powers, with_quotients_joined, with_sizes
from .products import shared_in_front
from .reuse import added_up, cases_once, entangled, gradients_once, with_reuse, without_copies
from .rewriting import Candidate, Rewriting, has_domains, is_sum
from .singular import with_filled
from .summed import summed_first
from .sums import with_like_terms
from .table import with_stable_slopes, without_opposites
from .words import in_the_words_of_readers

CANDIDATES = 12
FAR = 1.5  # what costs so many times as much as another is not tried in other words
LARGE = 150  # operations that equations share; a longer straight line is only cleaned, in linear time


def simplify(derivative: Derivative, beside: Derivative | None = None, aside: bool = False) -> Derivative:
    """Return the same derivative with the gradients in the cheapest form found, and without dead equations.

    beside  the same, simplified, of the formula before its values were rewritten, if they were: of the gradients of
            both, the one that loses less is taken
    aside   whether it is to stand beside another one
    """
    given = derivative.function
    derivative = without_idle_axes(derivative)
    noted("without idle axes", given.statements, derivative.function.statements)
    if not derivative.primal.stabilize:
        found = _simplified(derivative, derivative.equations)
        return replace(found, function=rewritten("cheapest form", given, found.function))
    own = {e.target for e in derivative.equations}
    sharing = entangled(derivative.equations, LARGE)
    filled = with_filled(derivative.function, own, sharing) if own else derivative.function
    derivative = replace(derivative, function=rewritten("removable singularities", given, filled))
    quotients = noted("quotients joined", derivative.equations, with_quotients_joined(derivative.equations))
    joined = noted("powers joined", quotients, with_powers_joined(quotients))
    slopes = known_in(derivative.function, with_stable_slopes(joined, derivative.primal))
    found = _simplified(derivative, noted("slopes in stable form", joined, slopes))
    function = rewritten("cheapest form", derivative.function, found.function)
    tidied = replace(function, statements=tuple(with_tidy_formulas(function.statements)))
    function = rewritten("formulas of operators", function, tidied)
    sizes = with_sizes(function.statements, derivative.primal.writers)
    function = rewritten("sizes", function, replace(function, statements=tuple(sizes)))
    function = rewritten("without cancellation", function, with_cancelled(derivative, function, sharing, beside, aside))
    function = rewritten("searched form in its domain", function, in_domain(function))
    gradients = [t for t in function.writers if t not in derivative.primal.writers]
    numbers = with_numbers_joined(function.statements, gradients, function.outputs)
    function = rewritten("numbers joined", function, replace(function, statements=tuple(numbers)))
    powers = with_quotients_in_powers(function.statements)
    function = rewritten("quotients in powers", function, replace(function, statements=tuple(powers)))
    asked = tuple(_asked_once(e, function.table) if e.target in own else e for e in function.statements)
    function = rewritten("conditions asked once", function, replace(function, statements=asked))
    function = rewritten("summed first", function, summed_first(function))
    if derivative.kind == "vjp":
        after = combined_after(function, [g for _, g in derivative.gradients], derivative.primal.writers)
        function = rewritten("combined after", function, after)
    function = rewritten("equal reductions once", function, _with_equal_once(function, own))
    if derivative.kind == "vjp":
        once = gradients_once(function, {g for _, g in derivative.gradients})
        function = rewritten("equal gradients once", function, once)
        made = [e for e in function.statements if e.target not in derivative.primal.writers]
        short = {e.target for e in made} - entangled(made, LARGE)
        function = rewritten("products in common", function, products_once(function, short))
    return replace(found, function=without_dead(function))


def _with_equal_once(function: Function, own: Collection[str]) -> Function:
    """Equal reductions once; gradients without the quotients of equals that this makes, and what is then a term with
    both signs."""
    once = equal_once(function)
    if once is function:
        return function
    shorter = partial(transform, replace=lambda node: without_opposites(_without_equals(node)))
    statements = (e.with_body(shorter(e.body)) if e.target in own else e for e in once.statements)
    return replace(once, statements=tuple(statements))


def _without_equals(node: Expr) -> Expr:
    """A quotient without what stands above and below the line: a*s/s; 0 where nothing is left above."""
    above, below = factors(node) if operator(node) == "div" else ([], [])
    if ZERO in above:
        return ZERO
    common = (Counter(above) & Counter(below)).elements()
    equal = [f for f in common if isinstance(f, Ref)]
    for f in equal:
        above.remove(f)
        below.remove(f)
    return fraction(above, below) if equal else node


def _simplified(derivative: Derivative, gradient: Sequence[Equation]) -> Derivative:
    joint = derivative.function
    forward = derivative.primal.statements
    gradient = noted("copies in place", gradient, without_copies(gradient, derivative))
    gradient = noted("values of forward", gradient, with_reuse(forward, gradient, joint))
    gradient = [_asked_once(e, joint.table) for e in gradient]
    small = not entangled(gradient, LARGE)
    candidates = list(_candidates(derivative, forward, gradient)) if small else []
    candidates = candidates or [Candidate(tuple(with_like_terms(added_up(gradient, joint.table))), (), 0)]
    best = min(candidates, key=lambda c: c.cost)
    named = {t.name: t for t in (*joint.tensors, *best.tensors)}
    found = replace(derivative, function=replace(joint, tensors=tuple(named.values())))
    cotangents = {seed for _, seed in derivative.seeds} | {e.target for e in best.equations}
    final = _factored_cotangents(best.equations, cotangents) if small else best.equations
    final = without_copies(with_reuse((), final, found.function, final=True), found)
    statements = (*forward, *cases_once(_asked_once(e, named) for e in final))
    function = in_place(without_dead(replace(found.function, statements=statements)))
    return in_the_words_of_readers(replace(derivative, function=function))


def _factored_cotangents(gradient: Sequence[Equation], cotangents: Collection[str]) -> list[Equation]:
    """The gradients with what all terms of a cotangent have in common in front of it, where it stands in a product as
    it was handed on."""
    known: dict[Expr, bool] = {}

    def of(node: Expr) -> bool:
        return isinstance(node, Ref) and node.name in cotangents or any(known[a] for a in node.args)

    front = partial(shared_in_front, of=lambda node: folded(node, known, of))
    return [e.with_body(front(e.body)) if e.matrix is None else e for e in gradient]


def _asked_once(e: Equation, tensors: Collection[str]) -> Equation:
    """`e` without a `where` that asks what has been asked before: for the equation, or for the branch it stands in."""
    if "select" not in operators(e.body) or not is_short(e.body, LARGE):
        return e

    def inner(node: Expr) -> Expr:
        if isinstance(node, Apply) and node.op in ("add", "sub"):
            return combined(node.op, *node.args)
        if not (isinstance(node, Apply) and node.op == "select"):
            return node
        condition, *branches = node.args
        then, otherwise = (branch(b, condition, holds) for b, holds in zip(branches, (True, False), strict=True))
        then = substitute(then, dict(_equal_there(condition, then)))
        for value, holds, other in ((branches[0], True, otherwise), (branches[1], False, then)):
            asks = any(operator(n) == "select" for n in postorder(then if holds else otherwise))
            if other is ZERO and asks and branch(value, condition, not holds) is ZERO and _is_total(value, condition):
                return value  # it is 0 by what it asks itself
            if other is ZERO and condition in _zeros(value, "ne" if holds else "eq", tensors):
                return value  # it is 0 by a factor
        return select(condition, then, otherwise)

    body = transform(_outermost_first(e.body, {}), inner)
    for condition in [] if e.where is None else conjuncts(e.where):
        body = branch(body, condition, True)
    return e.with_body(body)


def _outermost_first(node: Expr, done: dict[Expr, Expr]) -> Expr:
    """Without a `where` that one around it has answered, before that changes what is compared: where(x == 0, 1, x) is x
    inside of another branch."""
    if "select" not in operators(node):
        return node
    if node not in done:
        args = node.args
        if operator(node) == "select":
            condition, then, otherwise = args
            args = condition, branch(then, condition, True), branch(otherwise, condition, False)
        done[node] = with_args(node, tuple(_outermost_first(a, done) for a in args))
    return done[node]


def _equal_there(condition: Expr, body: Expr) -> Iterator[tuple[Expr, Expr]]:
    """The larger and the smaller of what is equal to a number, and that number."""
    a, b = condition.args if operator(condition) == "eq" else (None, None)
    if isinstance(b, Const):
        yield from ((n, b) for n in postorder(body) if operator(n) in ("maximum", "minimum") and {*n.args} == {a, b})


_SIDES = {"maximum": ("gt", "ge"), "minimum": ("lt", "le")}  # on which one beside 0 is not 0


def _zeros(body: Expr, op: str, tensors: Collection[str]) -> Iterator[Expr]:
    """Comparisons with 0, where which hold a product is not 0 (`ne`), or is (`eq`), by a factor: an option, or the
    larger or the smaller of a number and 0. The other factors have a value there."""
    above, below, _ = signed_factors(body)
    for k, factor in enumerate(above):
        u, exponent = base_of(factor)
        expand = OPS[u.op].expand if isinstance(u, Apply) else None
        whole = u if expand is None else expand(*u.args)  # relu(x) is maximum(x, 0)
        sides = _SIDES.get(operator(whole), ()) if isinstance(whole, Apply) and ZERO in whole.args else ()
        if not sides and (not isinstance(factor, Ref) or factor.name in tensors):
            continue
        if not (is_exact(exponent) and value_of(exponent) > 0):
            continue
        rest = fraction([*above[:k], *above[k + 1 :]], below)
        divided = any(operator(n) == "div" and {*refs(u)} & {*refs(n.args[1])} for n in postorder(rest))
        if not divided and not any(has_domain(n, tensors) for n in postorder(substitute(rest, {u: ZERO}))):
            numbers = [a for a in (u, *u.args) if a is not ZERO] if sides else []
            yield from (apply(o, a, ZERO) for o in (sides if op == "ne" else (op,)) for a in numbers)
            yield apply(op, u, ZERO)


def _is_total(body: Expr, condition: Expr) -> bool:
    """Whether what is evaluated of `body`, whatever its own conditions say, has a value wherever `condition` has."""
    read = {*refs(condition)}
    asked = preorder([body], lambda n: () if isinstance(n, Ref) else n.args[:1] if operator(n) == "select" else n.args)
    for node in asked:
        outside = isinstance(node, Ref) and node.args and node not in read
        if outside or isinstance(node, Apply) and not OPS[node.op].total:
            return False
    return True


# candidates


def _candidates(
    derivative: Derivative, forward: Sequence[Equation], gradient: Sequence[Equation]
) -> Iterator[Candidate]:
    few = _used_once(derivative, gradient)
    every = _mergeable(derivative, gradient)
    multiples = _multiples(derivative, gradient) & every
    inlines = list(dict.fromkeys((few | multiples, every - _multiplied(gradient) | multiples, every)))
    costs: dict[frozenset[str], int] = {}
    better: dict[frozenset[str], list[Equation]] = {}

    def candidate(inline: frozenset[str], *bases: Equation) -> Iterator[Candidate]:
        try:
            found = Rewriting(derivative, forward, gradient, inline, bases).candidate()
        except TooLarge:
            return
        if found.cost < costs.setdefault(inline, found.cost):
            better.setdefault(inline, []).extend(bases)
        yield found

    for inline in inlines:
        yield from candidate(inline)
    least = min(costs.values(), default=0)
    likely = [inline for inline in inlines if costs.get(inline, least) <= FAR * least]
    tried = list(itertools.product(_bases(derivative, forward, gradient), likely))
    for base, inline in tried[: CANDIDATES - len(inlines)]:
        yield from candidate(inline, base)
    for inline, bases in better.items():
        if len(bases) > 1:
            yield from candidate(inline, *bases)


def _mergeable(derivative: Derivative, gradient: Sequence[Equation]) -> frozenset[str]:
    """The gradient intermediates that are a sum over whole equations, and may be written in place."""
    outputs, table = set(derivative.function.outputs), derivative.function.table
    asked = {r.name for e in gradient if e.where is not None for r in refs(e.where)}  # which is read as it is
    kept, guarded = outputs | recurrent(gradient) | asked, has_domains(derivative)
    return frozenset(
        target
        for target, equations in by_target(gradient).items()
        if target not in kept and all(is_sum(e, table[target], guarded) and not _contracts(e) for e in equations)
    )


def _multiplied(gradient: Sequence[Equation]) -> set[str]:
    """What enters a matrix product: in its place, it would be computed at every point of a larger box."""
    return {r.name for e in gradient if _contracts(e) for r in refs(e.body)}


def _contracts(e: Equation) -> bool:
    """Whether it is a matrix product: a sum in which nothing that is read spans what is summed. It stays a value of its
    own, or a chain of layers would become one sum over all of them."""
    reduced = {i for i, _ in e.reduced}
    above, below = factors(e.body)
    summed = [f for f in (*above, *below) if reduced & set(indices(f))]
    return bool(reduced) and not any(set(indices(*summed)) <= set(indices(r)) for r in refs(*summed))


def _used_once(derivative: Derivative, gradient: Sequence[Equation]) -> frozenset[str]:
    """Those of them that are elementwise and used once, a copy, or a sum whose one reader is not itself summed: its
    sign and factors then join the reader's."""
    uses: dict[str, int] = {}
    summed: set[str] = set()
    for e in gradient:
        for node in postorder(*e.expressions):
            if isinstance(node, Ref):
                uses[node.name] = uses.get(node.name, 0) + 1
                if e.reduced:
                    summed.add(node.name)
    writers = by_target(gradient)
    return frozenset(
        t
        for t in _mergeable(derivative, gradient)
        if (uses.get(t, 0) == 1 and (t not in summed or all(e.reduce == "none" for e in writers[t])))
        or all(e.reduce == "none" and isinstance(e.body, Ref) for e in writers[t])
    )


def _multiples(derivative: Derivative, gradient: Sequence[Equation]) -> frozenset[str]:
    """Arrays that are another times a number, and read in sums alone: the number joins the readers' numbers."""
    table, writers = derivative.function.table, by_target(gradient)
    plain = {e.target for e in gradient if is_sum(e, table[e.target])}
    others = {r.name for e in gradient for r in e.reads if e.target not in plain}
    found = (t for t in plain - others if table[t].shape and len(writers[t]) == 1)
    return frozenset(t for t in found if writers[t][0].reduce == "none" and _scaled(writers[t][0].body))


def _scaled(body: Expr) -> bool:
    """Whether `body` is an element times a number."""
    while isinstance(body, Apply) and body.op in ("neg", "mul", "div"):
        others = [a for a in body.args if not is_exact(a)]
        if len(others) != 1 or (body.op == "div" and others[0] is body.args[1]):
            return False
        (body,) = others
    return isinstance(body, Ref)


def _bases(derivative: Derivative, forward: Sequence[Equation], gradient: Sequence[Equation]) -> list[Equation]:
    """Forward values z = a * b^k in which gradients that read a might be spoken: elementwise, a product of at least two
    factors."""
    table = derivative.function.table
    read = {r.name for e in gradient for r in e.reads}
    found = []
    loops, guarded = recurrent(forward), has_domains(derivative)
    for e in forward:
        single = len(derivative.primal.writers[e.target]) == 1 and e.target not in loops
        if single and e.reduce == "none" and is_sum(e, table[e.target], guarded) and table[e.target].shape:
            mine = any(r.name in read and len(indices(r)) == len(e.box) for r in refs(e.body))
            if mine and isinstance(e.body, Apply) and e.body.op in ("mul", "div") and not is_exact(e.body.args[0]):
                found.append(e)
    return found


def without_idle_axes(derivative: Derivative) -> Derivative:
    """The derivative, its own intermediate gradients without the axes along which they do not vary."""
    function = derivative.function
    while idle := _idle(derivative, function):
        dropped = Dropped(idle)
        statements = []
        for e in map(dropped.equation, function.statements):
            gone = {*function.writers[e.target][0].subscripts} - {*e.subscripts} if e.target in idle else ()
            statements.append(replace(e, box=tuple(pair for pair in e.box if pair[0] not in gone)))
        tensors = tuple(map(dropped.tensor, function.tensors))
        function = replace(function, tensors=tensors, statements=tuple(statements))
    return replace(derivative, function=function)


def _idle(derivative: Derivative, function: Function) -> dict[str, tuple[int, ...]]:
    """The axes along which intermediate gradients do not vary, those apart that functions of matrices read."""
    own = {e.target for e in derivative.equations} - {gradient for _, gradient in derivative.gradients}
    own -= {r.name for e in function.statements if e.matrix is not None for r in e.reads}
    found: dict[str, tuple[int, ...]] = {}
    for name in own:
        e, *others = function.writers[name]
        if others or e.reduce not in ("none", "sum") or not is_sum(e, function.table[name]):
            continue
        axes = tuple(k for k, s in enumerate(e.subscripts) if not set(indices(s)) & set(indices(e.body)))
        if axes:
            found[name] = axes
    return found
