"""Functions of one number with a removable singularity, as operators: sin(x)/x, 1/tanh(x) - 1/x, log(x)/(x - 1).

As it is written, such a formula is 0/0 at a point, mostly 0, and loses its digits near it. The operator that `filled`
makes of it is the same function with its limit there. It prints as a function of the file: the formula away from the
point, the Taylor series near it. Its derivative is a formula of the same kind, and so a `filled` one again: nothing is
lost however often it is differentiated.

Where the point is not 0, most functions here are told of the formula as one of the distance to it, and speak of 0 then.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any

from ..expr import (
    ONE,
    ZERO,
    Apply,
    Expr,
    Operator,
    apply,
    const,
    factors,
    fraction,
    is_exact,
    operators,
    postorder,
    show,
    terms_of,
    value_of,
    without_number,
)
from ..later import mp, mpmath
from ..ops import OPS, Op
from ..ops.primitive import twin
from ..ops.row import everywhere
from .digits import value_of_formula
from .taylor import ORIGIN, STEP, Place, X, coefficients, loss, polynomial, series

LOST = 4.0  # bits for which a sum is worth a series
LONG = 48  # letters in a name


class Filled(Operator):
    """The operator that is `formula`, one of X, with its limit at a point; `function` is its name in printed files."""

    formula: Expr
    function: str
    place: Place

    def __new__(cls, body: Expr, function: str = "", place: Place = ORIGIN) -> Filled:
        function = function or _name(body)
        name = f"{function}: {show(body)}" + ("" if place == ORIGIN else f", {show(place.distance)}")
        row = Op(
            name,
            1,
            lambda x: value(body, x, place),
            lambda x, y: (_slope_of(body, function, place, x),),
            lambda x: twin(body, {X: x}),
            spell=everywhere(function),
            inside=(0,) if place == ORIGIN and any(OPS[op].inside for op in operators(body)) else (),
            series=False,
        )
        self = super().__new__(cls, name, row, "slope" if function.startswith("slope_") else "ratio", body)
        self.function, self.place = function, place
        return self


filled = lru_cache(maxsize=4096)(Filled)


def rewritten_as(op: Filled, body: Expr) -> Filled:
    """The operator `op` with its formula written as `body`, which is equal."""
    return filled(body, op.function, op.place)


def _name(body: Expr) -> str:
    """A word for a formula: sin_x_over_x."""
    text = show(body).replace(X.name, "x")
    for symbol, word in (("**", ""), ("-", " minus "), ("+", " plus "), ("/", " over "), ("*", " "), (".", "p")):
        text = text.replace(symbol, word)
    words = re.findall(r"[a-z0-9_]+", text)
    name = "_".join(["one" if words[0] == "1" else words[0], *words[1:]])
    if len(name) <= LONG and name[0].isalpha():
        return name
    return f"smooth_{hashlib.sha256(show(body).encode()).hexdigest()[:4]}"


def _slope_name(name: str) -> str:
    """slope_of_f, then slope_2_of_f."""
    found = re.fullmatch(r"slope_(?:(\d+)_)?of_(.*)", name)
    return f"slope_{int(found[1] or 1) + 1}_of_{found[2]}" if found else f"slope_of_{name}"


def _slope_of(body: Expr, function: str, place: Place, x: Expr) -> Expr:
    """The derivative of a filled function. That of cos(sqrt(x)) is -1/2 times sin(sqrt(x))/sqrt(x), and has no name
    of its own."""
    found = slope(body)
    terms = terms_of(found)
    product, sign = terms[0] if len(terms) == 1 else (found, 1)
    number, *others = without_number(*factors(product))
    if number * sign != 1 and any(others):
        return const(sign * number) * apply(filled(fraction(*others), place=place), x)
    return apply(filled(found, _slope_name(function), place), x)


def slope(body: Expr) -> Expr:
    """The derivative of a formula of X."""
    found: dict[Expr, Expr] = {X: ONE}
    for node in postorder(body):
        if isinstance(node, Apply):
            derivative = OPS[node.op].derivative
            total: Expr = ZERO
            moving = [(a, k) for k, a in enumerate(node.args) if found.get(a, ZERO) is not ZERO]
            if moving and derivative is not None:
                partials = derivative(*node.args, node)
                for argument, k in moving:
                    partial = partials[k]
                    total = total if partial is None else total + partial * found[argument]
            found[node] = total
    return found.get(body, ZERO)


def value(body: Expr, x: Any, place: Place = ORIGIN) -> Any:
    """The value at x, in mpmath; at the point its limit."""
    x = mpmath.mpf(x)
    if not mp.isfinite(x):
        return value_of_formula(body, {X: x})
    bits = mp.prec
    with mp.workprec(2 * bits + (abs(int(mp.mag(x))) if x else 0) + 64):
        off = place.sign * (x - place.at(mpmath.mpf(0)))
        off = off or mpmath.ldexp(1, -bits - 16)
    with mp.workprec(2 * bits + 8 * max(0, -int(mp.mag(off))) + 64):
        found = value_of_formula(body, {X: place.at(off)})
    return +found


def is_removable(body: Expr) -> bool:
    """Whether the formula is not a number at 0, and has a limit and a Taylor series there.

    What is one number wherever it is any, such as exp(log(x))/x, needs no series.
    """
    if not _is_smooth(body):
        return False
    with mp.workprec(64):
        here = value_of_formula(body, {X: mpmath.mpf(0)})
    found = None if mp.isfinite(here) else coefficients(body)
    return found is not None and any(found[1:])


def _is_smooth(body: Expr) -> bool:
    """Whether a formula of X is analytic, and more than powers of X."""
    rows = [OPS[op] for op in operators(body)]
    return all(r.smooth for r in rows) and not all(r.algebraic for r in rows) and X in postorder(body)


@lru_cache(maxsize=4096)
def removable_at(body: Expr) -> Place | None:
    """Where else than at 0 the formula is no number, and has a limit and a Taylor series."""
    if not _is_smooth(body):
        return None
    for point in _points(body):
        for sign in (1, -1):
            place = Place(point, sign)
            local = place.local(body)
            with mp.workprec(STEP * 4):
                near = [value_of_formula(local, {X: mpmath.ldexp(1, -e)}) for e in (STEP, STEP + 8)]
                ends = all(map(mp.isfinite, near)) and abs(near[0] - near[1]) <= mpmath.ldexp(1, -STEP // 4)
            if ends and is_removable(local) and has_series(body, place):
                return place
    return None


def _points(body: Expr) -> Iterator[Fraction]:
    """Where what a formula divides by is 0, of the numbers that stand in it, their negatives, 1 and -1, and where a
    linear divisor is; as far as a double is such a number, so that the distance to it is not rounded."""
    nodes = [n for n in postorder(body) if isinstance(n, Apply)]
    below = [n.args[1] for n in nodes if n.op == "div"]
    below += [n.args[0] for n in nodes if n.op == "pow" and is_exact(n.args[1]) and value_of(n.args[1]) < 0]
    numbers = [Fraction(1), *(value_of(n) for n in postorder(*below) if is_exact(n))]
    numbers += [-linear[0] / linear[1] for d in below if len(linear := polynomial(d) or ()) == 2]
    for c in dict.fromkeys(s * c for c in numbers for s in (1, -1)):
        if c and _is_short(c):
            with mp.workprec(64):
                at = {X: mpmath.mpf(c.numerator) / c.denominator}
                if any(not value_of_formula(d, at) for d in below):
                    yield c


def has_series(body: Expr, place: Place = ORIGIN) -> bool:
    """Whether the formula and its first derivatives can be printed with series of few terms."""
    for _ in range(3):
        if coefficients(place.local(body)) is None or series(body, place) is None:
            return False
        body = slope(body)
    return True


@lru_cache(maxsize=4096)
def cancels(body: Expr, terms: tuple[Expr, ...]) -> bool:
    """Whether a sum goes to 0 faster than its terms do, and not by arithmetic alone: 1 - cos(x), x - sin(x)."""
    if len(terms) < 2 or not _is_smooth(body):
        return False
    with mp.workprec(STEP * 4):
        near, *parts = (abs(value_of_formula(b, {X: mpmath.ldexp(1, -STEP // 2)})) for b in (body, *terms))
    if not near <= max(parts) * mpmath.ldexp(1, -STEP // 4):
        return False
    found = coefficients(body)
    if found is None or not any(found):
        return False
    whole, known = _order(body), [o for o in map(_order, terms) if o is not None]
    return whole is not None and len(known) == len(terms) and whole > min(known)


@lru_cache(maxsize=4096)
def cancels_at(body: Expr, terms: tuple[Expr, ...]) -> Place | None:
    """Where a sum `cancels`, and floating point loses digits of it, at 0 or at one of the numbers that stand in it."""
    numbers = [Fraction(0), *(value_of(n) for n in postorder(body) if is_exact(n))]
    for point in dict.fromkeys(sign * c for c in numbers for sign in (1, -1) if _is_short(c)):
        for sign in (1, -1) if point else (1,):
            place = Place(point, sign)
            if cancels(place.local(body), tuple(place.local(t) for t in terms)):
                return place if loses(body, place) else None
    return None


@lru_cache(maxsize=4096)
def loses(body: Expr, place: Place) -> bool:
    """Whether floating point loses digits of the formula near the point."""
    return loss(body, place, [sign * mpmath.ldexp(1, -e) for e in (6, 12) for sign in (1, -1)]) > LOST


def _is_short(c: Fraction) -> bool:
    """Whether a double is this number, and its distance from another not rounded."""
    return c.denominator & (c.denominator - 1) == 0 and max(c.numerator.bit_length(), c.denominator.bit_length()) < 32


def _order(body: Expr) -> int | None:
    """The power with which a formula goes to 0."""
    found = coefficients(body) if X in postorder(body) else (mpmath.mpf(1),)
    return None if found is None else next((n for n, c in enumerate(found) if c), None)


def is_plain(body: Expr, place: Place = ORIGIN) -> bool:
    """Whether the formula loses nothing at the point as it is written, and needs no series."""
    if place != ORIGIN:
        return is_plain(place.local(body)) and not loses(body, place)
    sums = [n for n in postorder(body) if isinstance(n, Apply) and n.op in ("add", "sub")]
    with mp.workprec(64):
        here = value_of_formula(body, {X: mpmath.mpf(0)})
    terms = [tuple(t for t, _ in terms_of(n)) for n in sums]
    return bool(mp.isfinite(here)) and not any(cancels(n, t) for n, t in zip(sums, terms, strict=True))
