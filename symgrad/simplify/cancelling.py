"""Gradients in the form that loses fewest bits: 1/(k + s) - s/(k + s)**2 is k/(k + s)**2.

The quotient rule writes differences of quotients that are nearly equal where a function saturates. What is computed
from inputs, number by number, is spoken in these, and `symgrad.precision` looks for another form of it; what a
reduction gives is as wrong as it is anyway, and the components of a vector belong together as they are written.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial, reduce
from operator import truediv

from ..expr import (
    ZERO,
    Apply,
    Const,
    Expr,
    Index,
    Ref,
    apply,
    const,
    factors,
    fraction,
    is_short,
    operator,
    operators,
    product,
    ref,
    substitute,
    transform,
    values,
    with_args,
    without_sign,
)
from ..ir import Derivative, Equation, Function
from ..numerics.removable import Filled
from ..numerics.taylor import X
from ..ops import OPS, calls
from ..precision import Given, better, fewest, has_values, saves
from ..precision.orders import differences_first, unrolled
from ..precision.search import DERIVED, GAIN
from ..records import replace
from .domain import told_of
from .inlined import Inlined
from .opposites import signs
from .powers import double_angles
from .products import apart, shared_in_front
from .results import by_result
from .reuse import with_reuse
from .singular import filled_quotients, filled_sums
from .sums import written_alike
from .twins import Twins

HUGE = const(2**1000)  # doubles end at 2**1024: nearer to that, what is computed from a result leaves the range


def with_cancelled(
    derivative: Derivative,
    function: Function,
    sharing: Collection[str] = (),
    beside: Derivative | None = None,
    aside: bool = False,
) -> Function:
    """`function`, the simplified joint equations of `derivative`, with the gradients in the form that loses less, but
    for those that are `sharing` what they compute; `beside` has the same of the formula as it was written, and is
    itself simplified `aside`: without functions that are filled where a quotient is 0/0."""
    forward = {e.target for e in derivative.primal.statements}
    numbers = frozenset([*(d.name for d in function.dims), *(o.name for o in function.options)])
    well_scaled = numbers | {s for _, s in derivative.seeds}
    inlined, written = Inlined(function), None if beside is None else Inlined(beside.function)
    in_stable_form = {} if written is None else _stable_forms(written, inlined, forward)
    results = [
        (ref(e.target, *e.subscripts), inlined(e.body))
        for e in derivative.primal.statements
        if operator(e.body) == "select" and e.target in function.elementwise
    ]
    inputs = {*derivative.primal.inputs}
    named = {seed for _, seed in derivative.seeds}
    seeds = {r for e in derivative.equations for r in e.reads if r.name in named}
    given = {*values(*(e.body for e in derivative.primal.statements))}
    of_inputs_first = differences_first(lambda t: isinstance(t, Ref) and t.name in inputs)
    of_double = double_angles()
    statements, changed = [], False
    nothing = set[str]()  # gradients that turn out to be 0 everywhere
    signed, searched = signs(), dict[object, tuple[Expr, int]]()  # what is equal but for its sign has one form
    input_of, twins = {gradient: name for name, gradient in derivative.gradients}, Twins(signed)
    computed: dict[Expr, None] = {}  # what calls a function in a gradient: it costs nothing in those that follow

    def best_of(e: Equation, form: Expr, body: Expr, shared: Collection[Expr], told: Given) -> Expr:
        """The form of `body`, `form` in terms of inputs, that loses fewest bits."""
        best = _or(better(body, well_scaled, shared, DERIVED, told), body)
        if _is_filled(best):
            quotient = transform(body, _as_quotient)
            plain = better(quotient, well_scaled, shared, DERIVED, told)
            if plain is not None and has_values(plain, best):
                best = fewest((best, plain), quotient, well_scaled, shared, told)  # 2*sinh(x)
        if nothing and (spared := inlined(transform(form, partial(_without, nothing)))) is not body:
            best = fewest((best, spared), body, well_scaled, shared, told)
        known_there = e.target in derivative.function.table  # else there may be something else of that name
        other = written.body(e) if written is not None and known_there else None
        if other is not None and other is not body:
            forms = [best, shared_in_front(best)]
            limits = _is_filled(best)
            for f in dict.fromkeys((other, substitute(other, in_stable_form))):
                again = _or(better(f, well_scaled, shared, DERIVED, told), f)
                again = filled_quotients(function, again, numbers, f)
                if not limits or has_values(again, best):
                    forms.append(again)
            best = fewest(forms, other, well_scaled, shared, told)
        if (spread := transform(best, apart)) is not best:
            best = fewest((spread, best), body, well_scaled, shared, told)
        if spoken := by_value(form, shared, told):
            plain, in_turn, safe = spoken
            found = fewest((plain, in_turn, best), body, well_scaled, shared, told, dear=(best, GAIN))
            if found is not best or best is plain:
                return safe if saves(safe, found, body, well_scaled, shared, told) else found
            return fewest((best, safe), body, well_scaled, shared, told)
        return best

    def by_value(form: Expr, shared: Collection[Expr], told: Given) -> list[Expr]:
        """A gradient that is a multiple of a value of forward, with what that is multiplied with in the form that loses
        fewest bits: it is as good as the value then. The last is 0 where the value is, whatever the rest is."""
        values_read = {n for n in values(form) if isinstance(n, Ref) and n.name in forward}
        bare, negative = without_sign(shared_in_front(form, {*seeds, *values_read}) if values_read else form)
        above, below = factors(bare)
        own = [f for f in above if f in values_read]
        if len(own) != 1:
            return []
        (value,) = own
        seed = [f for f in above if f in seeds]
        rest = inlined(fraction([f for f in above if f is not value and f not in seed], below))
        found, turned = without_sign(_or(better(rest, well_scaled, shared, DERIVED, told), rest))
        above, below = factors(found)
        numbers = [f for f in above if isinstance(f, Const)]
        over = [*numbers, *seed, inlined(value), *(f for f in above if f not in numbers)]
        in_turn = reduce(truediv, unrolled(below), product(over))
        safe = product([*seed, apply("multiply_no_nan", found, inlined(value))])
        return [-f if negative is not turned else f for f in (fraction(over, below), in_turn, safe)]

    for e in function.statements:
        if e.target in forward or e.target in sharing or e.matrix is not None:
            statements.append(e)
            continue
        form = first = of_inputs_first(_arguments_in_front(of_double(e.body), given))
        body = inlined(form)
        own = [n for n in values(body) if isinstance(n, Ref) and n.name not in well_scaled]
        told = told_of(function, body)
        of_inputs = all(n.name in function.inputs for n in own)
        mark = signed(body)
        alike = (e.reduce, e.subscripts, e.box, e.where, mark.mark)
        before = None if is_short(e.body, 2) else searched.get(alike)  # -grad_y reads what there is
        filled = filled_sums(form, numbers) if before is None else None
        if before is None and filled is None and of_inputs and body is not form:
            filled = filled_sums(body, numbers)
        if filled is not None and of_inputs and not _is_filled(filled):
            if better(inlined(filled), well_scaled, {*inlined.words(filled), *computed}, DERIVED, told) is not None:
                filled = None  # exp(x - exp(x))*(1 - exp(x)), which is more than a difference
        if before is not None:
            form = before[0] if mark.sign == before[1] else -before[0]
        elif filled is not None:
            form = filled
        elif of_inputs and not any(isinstance(s, Const) for n in own for s in n.subscripts):
            words = inlined.words(form)
            shared = {*words, *computed}
            own_input = input_of.get(e.target, "")
            best = twins.form(own_input, body, told)
            if best is None:
                best = best_of(e, form, body, shared, told)
                twins.add(own_input, body, told, best)
            form = _in_results(best, body, results, well_scaled, shared, told)
            form = form if aside else filled_quotients(function, form, numbers, body)
            form = first if form is body else substitute(_arguments_in_front(form, given), words)
        if not e.reduced:
            parts = (inlined(part) for part in values(form) if isinstance(part, Apply))
            computed |= dict.fromkeys(part for part in parts if calls(part))
        form = shared_in_front(form, seeds)
        searched[alike] = form, mark.sign
        changed = changed or form is not e.body
        e = e if form is e.body else e.with_body(form)
        if form is ZERO and e.target in function.elementwise:
            nothing.add(e.target)  # what it was computed from may say what others are equal to
        else:
            inlined.becomes(e)
        statements.append(e)
    if not changed:
        return function
    primal = [e for e in statements if e.target in forward]
    gradient = [e for e in statements if e.target not in forward]
    if nothing:
        gradient = [e.mapped(partial(transform, replace=partial(_without, nothing))) for e in gradient]
    gradient = with_reuse(primal, written_alike(primal, gradient), function)
    return replace(function, statements=(*primal, *gradient))


def _arguments_in_front(form: Expr, given: Collection[Expr]) -> Expr:
    """The form with what functions are applied to as a product, where it is a sum that forward does not have: k*(a - b)
    in the place of k*a - k*b, which is `given` there if a user writes so."""

    def rewrite(node: Expr) -> Expr:
        if not isinstance(node, Apply) or OPS[node.op].kind != "function":
            return node
        return with_args(node, tuple(a if a in given else shared_in_front(a) for a in node.args))

    return transform(form, rewrite)


def _is_filled(form: Expr) -> bool:
    return any(isinstance(op, Filled) for op in operators(form))


def _as_quotient(node: Expr) -> Expr:
    """What an operator stands for that is filled where it is 0/0."""
    op = operator(node)
    return substitute(op.formula, {X: node.args[0]}) if isinstance(op, Filled) else node


def _without(nothing: Collection[str], node: Expr) -> Expr:
    """Without the terms of gradients that are 0: what they are multiplied with is not asked for."""
    if isinstance(node, Ref) and node.name in nothing:
        return ZERO
    return ZERO if operator(node) == "div" and node.args[0] is ZERO else node


def _in_results(
    best: Expr,
    body: Expr,
    results: Sequence[tuple[Ref, Expr]],
    well_scaled: frozenset[str],
    shared: Collection[Expr],
    told: Given,
) -> Expr:
    """`best`, a form of `body`, in terms of a result if that is shorter or better wherever the result is a double as
    others are: where it is infinite, nobody asks for a gradient."""
    known = dict[Expr, Expr](results)
    for f in (f for form in (best, body) for f in by_result(form, results) if _no_index(f)):
        used = [apply("abs", formula) for value, formula in results if value in values(f)]
        ends = (end for size in used for end in (apply("lt", size, HUGE), apply("gt", size, 1 / HUGE)))
        there = (*told, *((end, True) for end in ends))
        if fewest((substitute(f, known), best), best, well_scaled, {*shared, *known.values()}, there) is not best:
            return f
    return best


def _no_index(form: Expr) -> bool:
    return not any(isinstance(n, Index) for n in values(form))


def _or(form: Expr | None, body: Expr) -> Expr:
    return body if form is None else form


def _stable_forms(written: Inlined, inlined: Inlined, forward: Collection[str]) -> dict[Expr, Expr]:
    """What values of forward are as they were written, which their gradients speak of, and in the form that they have
    now."""
    both = [t for t in written.locals if t in forward and t in inlined.locals]
    pairs = ((written.locals[t], inlined.locals[t]) for t in both)
    found = {written(a.body): inlined(b.body) for a, b in pairs if a.subscripts == b.subscripts}
    return {a: b for a, b in found.items() if a is not b}
