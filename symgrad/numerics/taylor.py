"""The Taylor series of a formula of one number at a point, as it is printed: where it takes over, how long it is.

The coefficients come from values of the formula at many digits, as exact fractions where they are simple. How near is
near, and how many terms the series has, is found by computing the formula in floating point: the series takes over
where the formula loses digits.

Where the point is not 0, the series is one of the distance to it, x - 1 or 1 - x, which floating point computes near
the point without rounding. `Place` says which.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from operator import add, mul, neg, sub
from typing import Any

from ..expr import (
    ARGUMENT,
    ONE,
    ZERO,
    Apply,
    Expr,
    apply,
    const,
    is_exact,
    operator,
    postorder,
    ref,
    substitute,
    transform,
    value_of,
)
from ..expr import total as summed
from ..later import flint, mp, mpmath, np
from ..precision.measure import bits
from ..records import dataclass
from .digits import computed_at, value_of_formula
from .overflow import overflow_safe_form

X = ARGUMENT
ROOT = apply("sqrt", X)
SQUARE = ref("?square")
SERIES = ref("?series")

RING: Mapping[str, Callable[..., Any]] = {"add": add, "sub": sub, "mul": mul, "neg": neg}
SIMPLE = 66  # bits to which a coefficient is a fraction, if it is one
STEP = 80  # the coefficients are found by values at multiples of 2**-80
TERMS = 16  # the longest series that is printed
COUNT = 2 * TERMS + 4  # coefficients that are computed
NEAR = tuple(Fraction(n, 64) for n in (128, 64, 48, 32, 24, 16, 8, 4, 2, 1))  # how near 0 a series may take over
FEW = 8  # terms; more are written only where they save digits
EXACT = 2.0**-56  # what a series may leave out
LIKE = 2.0**-40  # what a series may differ by from what it is the series of
GOOD = 2.0  # bits that are not worth a longer series
SETTLED = 1024  # beyond which exponentials are 0 or infinite


@dataclass(frozen=True)
class Place:
    """A point, and the distance of X from it: X - point, or point - X where `sign` is -1."""

    point: Fraction = Fraction(0)
    sign: int = 1

    @property
    def distance(self) -> Expr:
        return X - const(self.point) if self.sign > 0 else const(self.point) - X

    def local(self, body: Expr) -> Expr:
        """A formula of X as one of the distance."""
        return substitute(body, {X: self.at(X)}) if self != ORIGIN else body

    def at(self, distance: Any) -> Any:
        """What is so far from the point."""
        point = const(self.point) if isinstance(distance, Expr) else mpmath.mpf(self.point.numerator)
        point = point if isinstance(distance, Expr) else point / self.point.denominator
        return distance + point if self.sign > 0 else point - distance


ORIGIN = Place()


@dataclass(frozen=True)
class Series:
    """The Taylor series where |x| < near, x being the distance from the point, as `steps` of Horner's rule, each an
    expression of the one before (SERIES) and of X, or of SQUARE = X*X if `even`."""

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
            found = None if inner is None or odd else inner[::2]
        else:
            found = _at_steps(body)
        return None if found is None or _flat(body, found) else tuple(found)


def _flat(body: Expr, found: Sequence[Any]) -> bool:
    """Whether all derivatives are 0, but not the function: exp(-1/x**2)."""
    ways = [mpmath.mpf(sign) / n for n in (2, 5) for sign in (1, -1)]
    return not any(found) and any(v and mp.isfinite(v) for v in (value_of_formula(body, {X: x}) for x in ways))


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
    one = mp.prec  # bits behind the point of the integers from here on, and the polynomial is one of x/unit
    table = [v.to_fixed(one) for v in values]
    for level in range(1, len(steps)):  # divided differences
        for i in range(len(steps) - 1, level - 1, -1):
            table[i] = (table[i] - table[i - 1]) // (steps[i] - steps[i - level])
    if any(abs(c).bit_length() > one + 10 * (n + 2) - STEP * n for n, c in enumerate(table)):
        return None  # derivatives that grow with every order: no Taylor series
    poly = [0] * len(steps)
    for step, c in zip(reversed(steps), reversed(table), strict=True):  # Newton's form, multiplied out
        poly = [above - step * own for above, own in zip([0, *poly], poly, strict=False)]
        poly[0] += c
    noise = one - STEP // 2
    found = [c if abs(c).bit_length() > noise - (4 + STEP) * n else 0 for n, c in enumerate(poly[:-2])]
    return [mpmath.ldexp(c, STEP * n - one) for n, c in enumerate(found)]


def limit(body: Expr) -> Expr:
    """The value at 0: a fraction where it is a simple one."""
    found = coefficients(body)
    assert found is not None
    with mp.workprec(STEP):
        return _constant(+found[0])


@lru_cache(maxsize=4096)
def series(body: Expr, place: Place = ORIGIN) -> Series | None:
    """The series that takes over near the point from a formula of X; None if it cannot."""
    found = coefficients(place.local(body))
    assert found is not None
    with mp.workprec(STEP):
        return _series(body, place, list(found))


def _series(body: Expr, place: Place, found: list[Any]) -> Series | None:
    start = next((n for n, c in enumerate(found) if c), None)
    if start is None:
        return Series((ZERO,), False, NEAR[0])
    rest = found[start:]
    single = one_sided(place.local(body))
    step = 2 if not any(rest[1::2]) and not single else 1
    rest = rest[::step]
    possible: list[tuple[float, int, Fraction]] = []
    good: list[tuple[float, int, Fraction]] = []  # of those
    for near in NEAR:
        h = mpmath.mpf(near.numerator) / near.denominator
        sizes = [abs(c) * h ** (step * n) for n, c in enumerate(rest)]
        enough = next((n for n in range(len(sizes)) if sum(sizes[n:]) <= EXACT * sizes[0]), None)
        if enough is not None and enough <= TERMS and _converges(body, place, found, h):
            possible.append((loss(body, place, (h,) if single else (h, -h), away(body, place)), enough, near))
            least = max(GOOD, min(loss for loss, _, _ in possible) + 0.3)
            good = [p for p in possible if p[0] <= least]
            if enough <= FEW // 2 or next((lost for lost, n, _ in good if n <= FEW), math.inf) <= GOOD:
                break  # whatever smaller ones would lose, that one is the first
    if not possible:
        return None
    _, terms, near = next((p for p in good if p[1] <= FEW), good[-1])
    return Series(tuple(_steps(rest[:terms], X if step == 1 else SQUARE, start)), step == 2, near)


def _converges(body: Expr, place: Place, found: Sequence[Any], h: Any) -> bool:
    """Whether the series is the formula as far as `h`: x is that of exp(-1/x) + x, and is not that."""
    for x in (h, -h, h / 2, -h / 2):
        with mp.workprec(STEP * 4):
            value = value_of_formula(place.local(body), {X: x})
        terms = [c * x**n for n, c in enumerate(found)]
        if mp.isfinite(value) and abs(sum(terms) - value) > LIKE * sum(map(abs, terms)):
            return False
    return True


def loss(body: Expr, place: Place, distances: Sequence[Any], form: Expr | None = None) -> float:
    """The most that the formula, written as `form`, loses in floating point at these distances and at larger ones, in
    bits."""
    steps = [h * (1 + mpmath.mpf(n * n) / 19) for n in range(10) for h in distances]
    points = [float(place.at(h)) for h in steps]
    with mp.workprec(200):
        truth = [value_of_formula(body, {X: mpmath.mpf(x)}) for x in points]
    known = [k for k, value in enumerate(truth) if mp.isfinite(value)]
    found = computed_at(factored(body, place) if form is None else form, [points[k] for k in known])
    lost = bits(found, np.array([float(truth[k]) for k in known]))
    return max(lost.tolist(), default=0) / 100


@lru_cache(maxsize=4096)
def settled(body: Expr) -> tuple[int, ...]:
    """The sides, of -1 and 1, on which a sum is one number from SETTLED on, but none in floating point where x has
    overflowed: x*exp(x) is 0 below, and 0*inf is none. It may have been put together from parts that knew no such x."""
    found: list[int] = []
    if not isinstance(body, Apply) or body.op not in ("add", "sub"):
        return ()
    for sign in (-1, 1):
        far = computed_at(body, [sign * SETTLED * n for n in (1, 3, 8, math.inf)])
        if math.isfinite(far[0]) and far[0] == far[1] == far[2] and not math.isfinite(far[3]):
            found.append(sign)
    return tuple(found)


def polynomial(body: Expr) -> tuple[Fraction, ...] | None:
    """The coefficients of a polynomial of X, from that of 1 on; None if it is none, or a long one."""
    done: dict[Expr, Any] = {}
    for node in postorder(body):
        args = [done[a] for a in node.args if a in done]
        if node is X:
            found = flint.fmpq_poly([0, 1])
        elif is_exact(node):
            found = flint.fmpq_poly([flint.fmpq(*value_of(node).as_integer_ratio())])
        elif len(args) < len(node.args) or not args:
            return None
        elif operator(node) == "pow" and is_exact(node.args[1]) and value_of(node.args[1]) in range(FEW):
            found = args[0] ** int(value_of(node.args[1]))
        elif operator(node) == "div" and args[1].degree() == 0:
            found = args[0] / args[1][0]
        elif operator(node) in RING:
            found = RING[operator(node)](*args)
        else:
            return None
        done[node] = found
    coefficients = done[body].coeffs()
    return None if len(coefficients) > FEW else tuple(Fraction(int(c.p), int(c.q)) for c in coefficients)


def away(body: Expr, place: Place) -> Expr:
    """The formula as it is printed."""
    return overflow_safe_form(body) if place == ORIGIN else factored(body, place)


def factored(body: Expr, place: Place) -> Expr:
    """The formula with the distance from the point as a factor of the polynomials in it that are 0
    there: (1 - x)*(1 + x) for 1 - x**2. From 0 that distance is a factor already."""
    point, u = place.point, place.distance
    if place == ORIGIN:
        return body

    def rewrite(node: Expr) -> Expr:
        if not (isinstance(node, Apply) and node.op in ("add", "sub")):
            return node
        found, k = list(polynomial(node) or ()), 0
        while len(found) > 1 and not sum(c * point**n for n, c in enumerate(found)):
            quotient = [Fraction(0)] * (len(found) - 1)
            for n in range(len(found) - 1, 0, -1):  # by X - point
                quotient[n - 1] = found[n] + (quotient[n] * point if n < len(quotient) else 0)
            found, k = [place.sign * c for c in quotient], k + 1
        if not k or (k == 1 and len(found) == 1):
            return node
        if k == 1 and max(found) <= 0:
            return -u * summed(const(-c) * X**n for n, c in enumerate(found) if c)
        return u**k * summed(const(c) * X**n for n, c in enumerate(found) if c)

    return transform(body, rewrite)


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
        if start or first is not ONE or not quotients:
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
