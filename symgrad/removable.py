"""Functions of one number with a removable singularity at 0, as operators: sin(x)/x, 1/tanh(x) - 1/x.

As it is written, such a formula is 0/0 at 0 and loses its digits near it. The operator that `filled` makes of it is the
same function with its limit at 0. It prints as a function of the file: the formula away from 0, the Taylor series near
it. Its derivative is a formula of the same kind, and so a `filled` one again: nothing is lost at 0 however often it is
differentiated.

The coefficients come from values of the formula at many digits, as exact fractions where they are simple. How near is
near, and how many terms the series has, is found by computing the formula in floating point: the series takes over
where the formula loses digits.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any

import mpmath
import sympy
from mpmath import mp

from .expr import (
    ARGUMENT,
    DEFINED,
    ONE,
    ZERO,
    Apply,
    Const,
    Expr,
    apply,
    const,
    is_exact,
    postorder,
    ref,
    show,
    substitute,
    terms_of,
    value_of,
)
from .ops import OPS, Op, register
from .sampling import bits_lost, in_doubles, value_of_formula

X = ARGUMENT
SQUARE = ref("?square")
SERIES = ref("?series")
ROOT = apply("sqrt", X)

SIMPLE = 66  # bits to which a coefficient is a fraction, if it is one
STEP = 80  # the coefficients are found by values at multiples of 2**-80
TERMS = 16  # the longest series that is printed
COUNT = 2 * TERMS + 4  # coefficients that are computed
NEAR = tuple(Fraction(n, 64) for n in (128, 64, 48, 32, 24, 16, 8, 4, 2, 1))  # how near 0 a series may take over
FEW = 8  # terms; more are written only where they save digits
EXACT = 2.0**-56  # what a series may leave out
GOOD = 2.0  # bits that are not worth a longer series
LONG = 48  # letters in a name

SMOOTH = frozenset(
    """add sub mul div neg pow pi exp exp2 expm1 log log1p log2 log10 sqrt sin cos tan asin acos atan sinh cosh tanh
    asinh acosh atanh sigmoid softplus log_cosh erf erfc erfcx ndtr log_ndtr bessel_i0 bessel_i1 sinc""".split()
)
_RATIONAL = frozenset({"add", "sub", "mul", "div", "neg", "pow", "pi", "sqrt"})


def filled(body: Expr, name: str = "") -> str:
    """The operator that is `body`, a formula of X, with its limit at 0."""
    name = name or _name(body)
    op = f"{name}: {show(body)}"
    if op not in OPS:
        DEFINED[op] = body
        register(
            Op(
                op,
                1,
                lambda x: value(body, x),
                lambda x, y: (apply(filled(slope(body), _slope_name(name)), x),),
                lambda x: _twin(body, x),
                spell={"numpy": f"_{name}", "torch": f"_{name}", "jax": f"_{name}", "c": name},
            )
        )
    return op


def retold(op: str, body: Expr) -> str:
    """The operator `op` with its formula written as `body`, which is equal."""
    return filled(body, op.partition(":")[0])


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


def _twin(body: Expr, x: Any) -> Any:
    """The formula in SymPy."""
    done: dict[Expr, Any] = {X: x}
    for node in postorder(body):
        if isinstance(node, Const):
            done[node] = sympy.Rational(node.value.numerator, node.value.denominator)
        elif isinstance(node, Apply):
            done[node] = OPS[node.op].sympy(*(done[a] for a in node.args))
    return done[body]


def value(body: Expr, x: Any) -> Any:
    """The value at x, in mpmath; at 0 its limit."""
    x = mpmath.mpf(x)
    if not mp.isfinite(x):
        return value_of_formula(body, {X: x})
    bits = mp.prec
    at = x if x else mpmath.ldexp(1, -bits - 16)
    with mp.workprec(2 * bits + 8 * max(0, -int(mp.mag(at))) + 64):
        found = value_of_formula(body, {X: at})
    return +found


# the series


@dataclass(frozen=True)
class Series:
    """The Taylor series where |x| < near, as `steps` of Horner's rule, each an expression of the one before (SERIES)
    and of X, or of SQUARE = X*X if `even`."""

    steps: tuple[Expr, ...]
    even: bool
    near: Fraction


@lru_cache(maxsize=4096)
def one_sided(body: Expr) -> bool:
    """Whether the formula is not a number below 0: it is one of sqrt(x), but a smooth one of x perhaps."""
    with mp.workprec(STEP * 16):
        return not mp.isfinite(value_of_formula(body, {X: -mpmath.ldexp(1, -STEP)}))


@lru_cache(maxsize=4096)
def coefficients(body: Expr) -> tuple[Any, ...] | None:
    """The Taylor coefficients at 0, as numbers of many digits; None if there is no Taylor series.

    The polynomial through values at small multiples of a step; one more value must lie on it.
    """
    with mp.workprec(STEP * (COUNT + 8)):
        if one_sided(body):
            inner = _at_steps(substitute(body, {X: X * X}))
            odd = inner is None or any(abs(c) > mpmath.ldexp(1, -STEP // 2) for c in inner[1::2])
            return None if inner is None or odd else tuple(inner[::2])
        found = _at_steps(body)
        return None if found is None else tuple(found)


def _at_steps(body: Expr) -> list[Any] | None:
    half = COUNT // 2
    steps = [s * n for n in range(1, half + 1) for s in (1, -1)]
    unit = mpmath.ldexp(1, -STEP)
    values = []
    for n in steps:
        v = value_of_formula(body, {X: n * unit})
        if not mp.isfinite(v) or abs(v) > mpmath.ldexp(1, STEP // 2):
            return None
        values.append(v)
        if len(values) == 2 and abs(values[0] - values[1]) > mpmath.ldexp(1, -STEP // 2):
            return None  # it jumps
    table = list(values)
    for level in range(1, len(steps)):  # divided differences
        for i in range(len(steps) - 1, level - 1, -1):
            table[i] = (table[i] - table[i - 1]) / ((steps[i] - steps[i - level]) * unit)
    if any(abs(c) > mpmath.ldexp(1, 10 * (n + 2)) for n, c in enumerate(table)):
        return None  # derivatives that grow with every order: no Taylor series
    poly = [mpmath.mpf(0)] * len(steps)
    for n in range(len(steps) - 1, -1, -1):  # Newton's form, multiplied out
        shift = steps[n] * unit
        poly = [(poly[k - 1] if k else 0) - shift * poly[k] for k in range(len(poly))]
        poly[0] += table[n]
    noise = mpmath.ldexp(1, -STEP // 2)
    return [c if abs(c) > noise * mpmath.ldexp(1, -4 * n) else mpmath.mpf(0) for n, c in enumerate(poly[:-2])]


def is_removable(body: Expr) -> bool:
    """Whether the formula is not a number at 0, and has a limit and a Taylor series there."""
    ops = {n.op for n in postorder(body) if isinstance(n, Apply)}
    if not ops <= SMOOTH or ops <= _RATIONAL or X not in postorder(body):
        return False
    with mp.workprec(64):
        here = value_of_formula(body, {X: mpmath.mpf(0)})
    return not mp.isfinite(here) and coefficients(body) is not None


@lru_cache(maxsize=4096)
def cancels(body: Expr, terms: tuple[Expr, ...]) -> bool:
    """Whether a sum goes to 0 faster than its terms do, and not by arithmetic alone: 1 - cos(x), x - sin(x)."""
    ops = {n.op for n in postorder(body) if isinstance(n, Apply)}
    if len(terms) < 2 or not ops <= SMOOTH or ops <= _RATIONAL or X not in postorder(body):
        return False
    found = coefficients(body)
    if found is None or not any(found):
        return False
    orders = [_order(t) for t in terms]
    return None not in orders and _order(body) > min(o for o in orders if o is not None)  # type: ignore[operator]


def _order(body: Expr) -> int | None:
    """The power with which a formula goes to 0."""
    found = coefficients(body) if X in postorder(body) else (mpmath.mpf(1),)
    return None if found is None else next((n for n, c in enumerate(found) if c), None)


def is_plain(body: Expr) -> bool:
    """Whether the formula loses nothing at 0 as it is written, and needs no series."""
    sums = [n for n in postorder(body) if isinstance(n, Apply) and n.op in ("add", "sub")]
    with mp.workprec(64):
        here = value_of_formula(body, {X: mpmath.mpf(0)})
    terms = [tuple(t for t, _ in terms_of(n)) for n in sums]
    return bool(mp.isfinite(here)) and not any(cancels(n, t) for n, t in zip(sums, terms, strict=True))


def limit(body: Expr) -> Expr:
    """The value at 0: a fraction where it is a simple one."""
    found = coefficients(body)
    assert found is not None
    with mp.workprec(STEP):
        return _constant(+found[0])


@lru_cache(maxsize=4096)
def series(body: Expr) -> Series | None:
    """The series that takes over near 0; None if it cannot."""
    found = coefficients(body)
    assert found is not None
    with mp.workprec(STEP):
        return _series(body, list(found))


def _series(body: Expr, found: list[Any]) -> Series | None:
    start = next((n for n, c in enumerate(found) if c), None)
    if start is None:
        return Series((ZERO,), False, NEAR[0])
    rest = found[start:]
    step = 2 if not any(rest[1::2]) and not one_sided(body) else 1
    rest = rest[::step]
    possible: list[tuple[float, int, Fraction]] = []
    for near in NEAR:
        h = mpmath.mpf(near.numerator) / near.denominator
        sizes = [abs(c) * h ** (step * n) for n, c in enumerate(rest)]
        enough = next((n for n in range(len(sizes)) if sum(sizes[n:]) <= EXACT * sizes[0]), None)
        if enough is not None and enough <= TERMS:
            possible.append((_loss(body, h), enough, near))
            if enough <= FEW // 2:
                break
    if not possible:
        return None
    least = max(GOOD, min(loss for loss, _, _ in possible) + 0.3)
    good = [p for p in possible if p[0] <= least]
    _, terms, near = next((p for p in good if p[1] <= FEW), good[-1])
    return Series(tuple(_steps(rest[:terms], X if step == 1 else SQUARE, start)), step == 2, near)


def _loss(body: Expr, h: Any) -> float:
    """The most that the formula loses in floating point away from 0, in bits."""
    worst = 0.0
    for n in range(10):
        for sign in (1,) if one_sided(body) else (1, -1):
            x = mpmath.mpf(float(sign * h * (1 + mpmath.mpf(n * n) / 19)))
            with mp.workprec(200):
                truth = value_of_formula(body, {X: x})
            if mp.isfinite(truth):
                worst = max(worst, bits_lost(in_doubles(body, {X: x}), truth))
    return worst


def _constant(c: Any) -> Expr:
    """A coefficient: a simple fraction where it is one, else the nearest double."""
    if not c:
        return ZERO
    mantissa, exponent = int(c.man), int(c.exp)
    exact = Fraction(mantissa if c > 0 else -mantissa) * Fraction(2) ** exponent
    for digits in range(1, 8):
        simple = (
            1 / (1 / exact).limit_denominator(10**digits) if abs(exact) < 1 else exact.limit_denominator(10**digits)
        )
        told = abs(simple.numerator * simple.denominator) < 2 ** (SIMPLE - 20)  # much shorter than what it stands for
        if told and abs(simple / exact - 1) <= Fraction(1, 2**SIMPLE):
            return const(simple)
    return const(repr(float(c)))


def _steps(numbers: Sequence[Any], z: Expr, start: int) -> Iterator[Expr]:
    """x**start (c0 + c1 z + ...) by Horner's rule; by the quotients of neighbouring coefficients where those are
    simple: 1 - z/6*(1 - z/20*(1 - ...))."""
    quotients = [_constant(b / a) if a and b else ZERO for a, b in pairwise(numbers)]
    simple = all(is_exact(q) and abs(value_of(q).numerator) < 99 and value_of(q).denominator < 9999 for q in quotients)
    if simple and ZERO not in quotients:
        first, inner = _constant(numbers[0]), ONE
        for q in reversed(quotients):
            part = z * abs(value_of(q).numerator) / value_of(q).denominator
            part = part if inner is ONE else part * inner
            yield 1 + part if value_of(q) > 0 else 1 - part
            inner = SERIES
        if start or first is not ONE:
            yield first * X**start * inner
    else:
        inner = _constant(numbers[-1])
        for c in reversed(numbers[:-1]):
            inner = z * inner
            inner = _constant(c) + inner if c else inner
            if c:
                yield inner
                inner = SERIES
        if start or len(numbers) == 1:
            yield X**start * inner
