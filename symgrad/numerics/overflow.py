"""A formula of one number as it is computed far from its singularity: no part of it leaves the range of floating point
before the whole does.

    (1 - cos(x))/x**2           (1 - cos(x))/x/x
    ((x - 1)*exp(x) + 1)/x**2   exp(x/2)*((1 - tanh(x/2)/x)/x)*exp(x/2) - tanh(x/2)/x/x
    x**3/expm1(x)               x/expm1(x/2)*x*x/(exp(x/2) + 1)

The first forms overflow, or divide one infinity by another, where the formula is a number still. The second ones are
printed where that is seen at numbers of all sizes; where nothing is lost, the formula stays.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import lru_cache, reduce

from ..expr import (
    ARGUMENT,
    ZERO,
    Apply,
    Const,
    Expr,
    apply,
    const,
    factors,
    is_exact,
    operator,
    postorder,
    transform,
    value_of,
)
from ..expr import total as summed
from ..later import mp, mpmath, np
from ..ops import is_call
from ..precision.measure import bits
from .digits import computed_at, value_of_formula

X = ARGUMENT
SIZES = (3, 7, 13, 45, 130, 400, 600, 704, 713, 731, 747, 801, 1501)  # exponentials leave the range at 709 and -745
EXPONENTS = (20, 60, 200, 270, 360, 520, 900, 1020)  # squares and cubes do at these powers of 2
DIGITS = 1300  # bits for the sine of such a number
NOTHING = 64.0  # bits lost where there is no number at all
SLACK = 0.25  # bits, on average, that are not worth another form
CALLS = 1.6  # and those that are not worth more calls of functions
MOST = 8  # powers that are written out

Terms = dict[tuple[int, tuple[Expr, ...]], Fraction]  # of a sum: power of X, functions, and the coefficient


@lru_cache(maxsize=4096)
def overflow_safe_form(body: Expr) -> Expr:
    """`body` in the first form that loses nothing at large numbers, or hardly more than the best, with few calls."""
    truths = _truths(body)
    forms = list(dict.fromkeys((body, *_forms(body))))
    losses = [round(_loss(f, truths), 2) + (CALLS if _calls(f) > _calls(body) else 0) for f in forms]
    return next(f for f, lost in zip(forms, losses, strict=True) if lost <= min(losses) + SLACK)


def _forms(body: Expr) -> Iterator[Expr]:
    yield transform(body, _in_turn)
    terms = powers_and_functions(body)
    if terms is not None and len(terms) > 1 and any(atoms for _, atoms in terms) and min(k for k, _ in terms) < 0:
        yield _quotients(terms)
    halved = _by_halves(body)
    if halved is not None:
        yield halved
    split = None if terms is None else _split(terms)
    if split is not None:
        yield split


def _calls(body: Expr) -> int:
    return sum(is_call(n) for n in postorder(body))


def _truths(body: Expr) -> tuple[list[float], list[float]]:
    """Numbers of all sizes, and the value there; not finite where that is far beyond the range."""
    sizes = [*map(float, SIZES), *(math.ldexp(11 / 8, e) for e in EXPONENTS)]
    points = [x for size in sizes for x in (size, -size)]
    with mp.workprec(DIGITS):
        return points, [float(value_of_formula(body, {X: mpmath.mpf(x)})) for x in points]


def _loss(form: Expr, truths: tuple[list[float], list[float]]) -> float:
    points, wanted = truths
    found, truth = computed_at(form, points), np.array(wanted)
    lost = np.where(np.isfinite(truth), bits(found, truth) / 100, np.where(np.isnan(found), NOTHING, 0.0))
    return float(lost.mean())


def _in_turn(node: Expr) -> Expr:
    """1/x/x for 1/x**2: the square overflows before the quotient is 0."""
    if not isinstance(node, Apply) or node.op != "div":
        return node
    found = node.args[0]
    below: list[Expr] = []
    for d in factors(node.args[1])[0]:
        k = 1
        while isinstance(d, Apply) and d.op == "pow" and is_exact(d.args[1]) and value_of(d.args[1]) in range(2, MOST):
            d, k = d.args[0], k * int(value_of(d.args[1]))
        below += [d] * k if d is X else [d**k]
    for d in below:
        found = found / d
    return found


def _by_halves(body: Expr) -> Expr | None:
    """x/expm1(x/2)*x/(exp(x/2) + 1) for x/expm1(x)*x: the quotient is 0 where expm1(x) has overflowed."""
    for d in factors(body)[1]:
        if isinstance(d, Apply) and d.op == "expm1":
            half = d.args[0] / 2
            return _in_product(body, d, apply("expm1", half)) / (apply("exp", half) + 1)
    return None


def _in_product(node: Expr, old: Expr, new: Expr) -> Expr:
    if node is old:
        return new
    if isinstance(node, Apply) and node.op in ("mul", "div"):
        return apply(node.op, *(_in_product(a, old, new) for a in node.args))
    return node


def powers_and_functions(body: Expr) -> Terms | None:
    """A formula as a sum of powers of X times functions; None if it is no such sum."""
    done: dict[Expr, Terms] = {X: {(1, ()): Fraction(1)}}
    for node in postorder(body):
        if node not in done:
            known = [done[a] for a in node.args if a in done]
            found = _combined(node, known) if len(known) == len(node.args) else None
            if found is None:
                return None
            done[node] = found
    return done[body]


def _combined(node: Expr, args: list[Terms]) -> Terms | None:
    match operator(node):
        case "":
            return {(0, ()): value_of(node)} if is_exact(node) and value_of(node) else {} if node is ZERO else None
        case "add":
            return _plus(*args)
        case "sub":
            return _plus(args[0], _times({(0, ()): Fraction(-1)}, args[1]))
        case "neg":
            return _times({(0, ()): Fraction(-1)}, args[0])
        case "mul":
            return _times(*args)
        case "div" if len(args[1]) == 1:
            (((k, atoms), c),) = args[1].items()
            return None if atoms else _times(args[0], {(-k, ()): 1 / c})
        case "pow" if is_exact(node.args[1]) and value_of(node.args[1]) in range(2, MOST):
            return reduce(_times, [args[0]] * int(value_of(node.args[1])))
        case "div" | "pow":
            return None
        case "expm1":
            return {(0, (apply("exp", *node.args),)): Fraction(1), (0, ()): Fraction(-1)}
        case _:
            return {(0, (node,)): Fraction(1)}


def _plus(a: Terms, b: Terms) -> Terms:
    found = dict(a)
    for place, c in b.items():
        found[place] = found.get(place, Fraction(0)) + c
    return {k: c for k, c in found.items() if c}


def _times(a: Terms, b: Terms) -> Terms:
    pairs = itertools.product(a.items(), b.items())
    return reduce(_plus, ({(i + j, tuple(sorted((*f, *g), key=str))): p * q} for ((i, f), p), ((j, g), q) in pairs), {})


def _quotients(terms: Terms) -> Expr:
    """The sum divided term by term: (c/x + b)/x + a, as often as all of it may be."""
    powers = sorted({k for k, _ in terms})
    found: Expr = ZERO
    for k in range(powers[0], powers[-1] + 1):
        mine = {atoms: c for (n, atoms), c in terms.items() if n == k}
        found = _sum(mine, found / X if found is not ZERO else ZERO)
    for _ in range(-powers[-1]):
        found = found / X
    return found * X ** const(powers[-1]) if powers[-1] > 0 else found


def _sum(terms: Mapping[tuple[Expr, ...], Fraction], rest: Expr) -> Expr:
    """c*f + ... + rest, what is added before what is taken away; exp(x) - 1 as expm1(x)."""
    left = dict(terms)
    parts: list[Expr] = []
    for atoms, c in terms.items():
        if len(atoms) == 1 and isinstance(atoms[0], Apply) and atoms[0].op == "exp" and left.get(()) == -c:
            del left[atoms], left[()]
            parts.append(const(c) * apply("expm1", *atoms[0].args))
    for atoms, c in left.items():
        value: Expr = const(abs(c))
        for atom in atoms:
            value = value * atom
        parts.append(value if c > 0 else -value)
    parts += [] if rest is ZERO else [rest]
    parts.sort(key=_is_negative)
    return summed(parts)


def _is_negative(node: Expr) -> bool:
    while isinstance(node, Apply) and node.op in ("mul", "div"):
        node = node.args[0]
    if isinstance(node, Const):
        return node.value < 0
    return isinstance(node, Apply) and node.op == "neg"


def _split(terms: Terms) -> Expr | None:
    """a*exp(u) + b as exp(u/2)*(a + b - b*t)*exp(u/2) - b*t, with t = tanh(u/2), a number everywhere.

    Where exp(u) has overflowed, that is not a number taken from another.
    """
    found = {atoms for _, atoms in terms}
    raised = next((a for a in found if a), ())
    if (
        found != {(), raised}
        or len(raised) != 1
        or min(k for k, _ in terms) >= 0
        or not isinstance(raised[0], Apply)
        or raised[0].op != "exp"
    ):
        return None
    half = raised[0].args[0] / 2
    tanh = apply("tanh", half)
    inner: Terms = {}
    rest: Terms = {}
    for (k, atoms), c in terms.items():
        inner[k, ()] = inner.get((k, ()), Fraction(0)) + c
        if not atoms:
            inner[k, (tanh,)] = rest[k, (tanh,)] = -c
    inner = {place: c for place, c in inner.items() if c}
    exp = apply("exp", half)
    return summed([exp * _quotients(inner) * exp, _quotients(rest)])
