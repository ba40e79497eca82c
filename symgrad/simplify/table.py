"""The table of stable rewrites.

Each row is an identity over the reals, true wherever the left-hand side is defined, whose right-hand side neither
overflows nor cancels where the left-hand side does. `STABLE` is for what a user declares, `OF_INPUTS` for what is
applied to inputs only, `DIFFERENCES` for what is divided by the difference of its arguments, `SCALED` for what is left
of it when smooth functions of roots are known, `SLOPES` for what the rule of differentiation makes of it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial

from ..expr import (
    ZERO,
    Const,
    Expr,
    Ref,
    apply,
    base_of,
    beside_compared,
    factors,
    folded,
    operator,
    operators,
    postorder,
    ref,
    refs,
    signed_total,
    substitute,
    terms_of,
    transform,
    transformer,
)
from ..ir import Equation, Function, Interval, applied
from ..ir.interval import REALS
from ..ir.signs import POSITIVE, is_in
from ..ops.row import unguarded_divisor
from ..records import dataclass
from .match import match

U, V, W = ref("?u"), ref("?v"), ref("?w")
VARIABLES: frozenset[Expr] = frozenset({U, V, W})


def _exp(u: Expr) -> Expr:
    return apply("exp", u)


Intervals = Callable[[Expr], Interval]


@dataclass(frozen=True, slots=True)
class Identity:
    """`before` = `after` for all real u, v and w where `before` is defined, and `holds` says yes to them, by the
    intervals that are known of their values."""

    name: str
    before: Expr
    after: Expr
    holds: Callable[[Mapping[Expr, Expr], Intervals], bool] = lambda found, interval: True


_sigmoid = apply("sigmoid", U)
_cosines = apply("sin", U) * apply("sin", V) + apply("cos", U) * apply("cos", V) * apply("cos", W)
_haversine = apply("sin", (U - V) / 2) ** 2 + apply("cos", U) * apply("cos", V) * apply("sin", W / 2) ** 2


def _of_sum(u: Expr, v: Expr, w: Expr) -> Expr:
    return apply("root_of_sum", u, v, w)


def _moving(found: Mapping[Expr, Expr], interval: Intervals) -> bool:
    """Whether all of u, v and w depend on something."""
    return all(refs(part) for part in found.values())


def _has_logarithm(found: Mapping[Expr, Expr], interval: Intervals) -> bool:
    """Whether u is positive, and v is no number: (-2)**v is one for v = 2, too, and log(-2) none."""
    return bool(refs(found[V])) and is_in(interval(found[U]), POSITIVE)


def _not_both_zero(found: Mapping[Expr, Expr], interval: Intervals) -> bool:
    """Whether u and v, which are not negative, are known not to be 0 at one point."""
    apart = signed_total([*terms_of(found[U]), *((t, -sign) for t, sign in terms_of(found[V]))])
    apart = without_opposites(apart)
    return isinstance(apart, Const) and apart is not ZERO or any(is_in(interval(found[u]), POSITIVE) for u in (U, V))


STABLE: tuple[Identity, ...] = (
    Identity("sigmoid by exp(u)", _exp(U) / (1 + _exp(U)), _sigmoid),
    Identity("sigmoid", 1 / (1 + _exp(-U)), _sigmoid),
    Identity("times sigmoid", V / (1 + _exp(-U)), V * _sigmoid),
    Identity("softmax of two", _exp(U) / (_exp(U) + _exp(V)), apply("sigmoid", U - V)),
    Identity("softplus", apply("log", 1 + _exp(U)), apply("softplus", U)),
    Identity("softplus by log1p", apply("log1p", _exp(U)), apply("softplus", U)),
    Identity("log sigmoid", apply("log", _sigmoid), -apply("softplus", -U)),
    Identity("log of 1 - sigmoid", apply("log", 1 - _sigmoid), -apply("softplus", U)),
    Identity("log cosh", apply("log", apply("cosh", U)), apply("log_cosh", U)),
    Identity("logaddexp", apply("log", _exp(U) + _exp(V)), apply("logaddexp", U, V)),
    Identity("tanh", (_exp(U) - _exp(-U)) / (_exp(U) + _exp(-U)), apply("tanh", U)),
    Identity("tanh by exp(2u)", (_exp(2 * U) - 1) / (_exp(2 * U) + 1), apply("tanh", U)),
    Identity("log of 1 - exp", apply("log", 1 - _exp(U)), apply("log1mexp", -U)),
    Identity("log of -expm1", apply("log", -apply("expm1", U)), apply("log1mexp", -U)),
    Identity("log1p of -exp", apply("log1p", -_exp(U)), apply("log1mexp", -U)),
    Identity("log1p", apply("log", 1 + U), apply("log1p", U)),
    Identity("expm1", _exp(U) - 1, apply("expm1", U)),
    Identity("1 - exp", 1 - _exp(U), -apply("expm1", U)),
    Identity("1 + erf", 1 + apply("erf", U), apply("erfc", -U)),
    Identity("1 - erf", 1 - apply("erf", U), apply("erfc", U)),
    Identity("1 - ndtr", 1 - apply("ndtr", U), apply("ndtr", -U)),
    Identity("Hill", U**V / (1 + U**V), apply("sigmoid", V * apply("log", U)), _has_logarithm),
    Identity(
        "difference of roots",
        apply("sqrt", U) - apply("sqrt", V),
        (U - V) / (apply("sqrt", U) + apply("sqrt", V)),
        _not_both_zero,
    ),
    Identity("great circle", apply("acos", _cosines), 2 * apply("asin", apply("sqrt", _haversine))),
    Identity(
        "law of cosines", U**2 + V**2 - 2 * U * V * apply("cos", W), (U - V) ** 2 + 4 * U * V * apply("sin", W / 2) ** 2
    ),
)

SCALED: tuple[Identity, ...] = (
    Identity(
        "difference of sides, and an angle",
        apply("sqrt", (U - V) ** 2 + 4 * U * V * W**2),
        _of_sum(U - V, 2 * U * W, 2 * V * W),
    ),
    Identity("sum of a square and a product with one", apply("sqrt", U**2 + V * W**2), _of_sum(U, V * W, W), _moving),
    Identity("sum of a square and a product", apply("sqrt", U**2 + V * W), _of_sum(U, V, W), _moving),
    Identity("difference of a square and a product", apply("sqrt", U**2 - V * W), _of_sum(U, -V, W), _moving),
    Identity("norm of three", apply("sqrt", U**2 + V**2 + W**2), apply("hypot", apply("hypot", U, V), W)),
    Identity("hypot", apply("sqrt", U**2 + V**2), apply("hypot", U, V)),
    Identity("hypot with 1", apply("sqrt", 1 + U**2), apply("hypot", U, 1)),
)

DIFFERENCES: tuple[Identity, ...] = (  # of two values of a function, by w = u - v
    Identity(
        "difference of sines", apply("sin", U) - apply("sin", V), 2 * apply("cos", (U + V) / 2) * apply("sin", W / 2)
    ),
    Identity(
        "difference of cosines", apply("cos", U) - apply("cos", V), -2 * apply("sin", (U + V) / 2) * apply("sin", W / 2)
    ),
    Identity(
        "difference of hyperbolic sines",
        apply("sinh", U) - apply("sinh", V),
        2 * apply("cosh", (U + V) / 2) * apply("sinh", W / 2),
    ),
    Identity(
        "difference of hyperbolic cosines",
        apply("cosh", U) - apply("cosh", V),
        2 * apply("sinh", (U + V) / 2) * apply("sinh", W / 2),
    ),
    Identity(
        "difference of tangents",
        apply("tan", U) - apply("tan", V),
        apply("sin", W) / (apply("cos", U) * apply("cos", V)),
    ),
)

SLOPES: tuple[Identity, ...] = (
    Identity("slope of tanh", 1 - apply("tanh", U) ** 2, apply("sech2", U)),
    Identity("slope of sigmoid", _sigmoid * (1 - _sigmoid), apply("sigmoid_slope", U)),
    Identity("slope of a power", apply("compound", (U - V) / V, W), (U / V) ** W),
)


def stable_form(
    body: Expr,
    table: Sequence[Identity] = STABLE,
    inputs: Collection[str] | None = None,
    interval: Intervals = lambda u: REALS,
) -> Expr:
    """Row by row, each over the whole body: a later row must not take a part that an earlier one would have found.

    interval  an interval that has every value of an expression
    """
    known: dict[Expr, bool] = {}

    def in_inputs(node: Expr) -> bool:
        own = inputs is None or not isinstance(node, Ref) or node.name in inputs
        return own and all(known[a] for a in node.args)

    there, tidy = {*operators(body)}, transformer(without_opposites)
    for row in table:
        if not there.issuperset(operators(row.before)):
            continue

        def rewrite(node: Expr, row: Identity = row) -> Expr:
            found = match(row.before, node, VARIABLES) if operator(node) == operator(row.before) else None
            if found is None or not row.holds(found, interval):
                return node
            if not folded(found[U], known, in_inputs):
                return node
            return tidy(substitute(row.after, found))

        before, body = body, transform(body, rewrite)
        if body is not before:
            applied(row.name, before, body)
            there = {*operators(body)}
    return body


def without_opposites(node: Expr) -> Expr:
    """A sum without the terms that stand in it with both signs: x + 1 - x."""
    terms = terms_of(node) if operator(node) in ("add", "sub") else []
    left: list[tuple[Expr, int]] = []
    for t, sign in terms:
        opposite = next((k for k, (other, s) in enumerate(left) if other.key is t.key and s == -sign), None)
        if opposite is None:
            left.append((t, sign))
        else:
            del left[opposite]
    return node if len(left) == len(terms) else signed_total(left)


def with_stable_slopes(equations: Sequence[Equation], primal: Function) -> list[Equation]:
    """The gradient equations in stable form, where that is spoken in inputs: backward has those, and what else a
    function is applied to would have to be saved beside its result. What forward divides by is not 0: no guard."""
    inputs = primal.inputs
    divisors = {d.key for e in primal.statements for d in _divisors(e.body)}

    def unguarded(node: Expr) -> Expr:
        bare = unguarded_divisor(node)
        return bare if bare is not None and bare.key in divisors else node

    in_form = partial(stable_form, table=SLOPES, inputs=inputs)
    stabilized = (beside_compared(e.body, in_form) for e in equations)
    bodies = (transform(body, unguarded, only={"select"}) for body in stabilized)
    return [e.with_body(body) for e, body in zip(equations, bodies, strict=True)]


def _divisors(body: Expr) -> Iterator[Expr]:
    """What a body divides by wherever it is evaluated."""
    nodes = list(postorder(body))
    if not any(operator(n) == "select" for n in nodes):
        for n in nodes:
            yield from (base_of(d)[0] for d in factors(n.args[1])[0]) if operator(n) == "div" else ()
