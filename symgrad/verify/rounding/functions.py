"""The functions of NumPy, SciPy and C's math library on `Number`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import mpmath
from mpmath import mp
from mpmath.libmp import to_float

from ...ops import OPS, ROWS, Op
from .format import INF, now
from .number import LIBRARY, Number, lift, margin, of, power, rounded, sqrt


def _log1p(x: Any) -> Any:
    return -mp.inf if x == -1 else mp.log1p(x)


def _atanh(x: Any) -> Any:
    return mp.inf * x if abs(x) == 1 else mp.atanh(x)


def _chosen(a: Any, b: Any, sign: int) -> Any:
    x, y = lift(a), lift(b)
    if mp.isnan(x.value) or mp.isnan(y.value):
        return x if mp.isnan(x.value) else y
    best, other = (x, y) if sign * (x.value - y.value) >= 0 else (y, x)
    if other.err > best.err and abs(x.value - y.value) <= margin(x.err + y.err):
        return Number(best.value, other.err)
    return best


def maximum(a: Any, b: Any) -> Any:
    """The larger; NaN if one is NaN."""
    return _chosen(a, b, 1)


def minimum(a: Any, b: Any) -> Any:
    """The smaller; NaN if one is NaN."""
    return _chosen(a, b, -1)


def sign(x: Any) -> Number:
    """-1, 0 or 1; uncertain where rounding may change it, and no number where the format overflows to none."""
    given = lift(x)
    if given.err == INF:
        return Number(mpmath.mpf(mp.sign(given.value)), INF)
    crossing = given.err and abs(given.value) <= margin(given.err)
    return Number(mpmath.mpf(mp.sign(given.value)), (1 / now.unit if now.unit else INF) if crossing else 0.0)


def pi() -> Number:
    """Exactly pi; the constant in the text is the nearest double."""
    value = +mp.pi
    return Number(value, to_float(value._mpf_))


def total(values: Iterable[Any]) -> Number:
    """The sum, in whatever order a library adds it: n terms have n - 1 roundings of at most the sum of magnitudes."""
    terms = [lift(v) for v in values]
    value, err, size = mpmath.mpf(0), 0.0, 0.0
    for term in terms:
        value += term.value
        err += term.err
        size += term.size
    if err or not _exact_in_any_order([t.value for t in terms if t.value], value):
        err += max(len(terms) - 1, 0) * size
    return rounded(value, err, 0.0)


def _exact_in_any_order(terms: list[Any], value: Any) -> bool:
    """Whether no order of adding rounds: of two terms there is one; of more, all sums are short multiples of a unit."""
    if len(terms) < 3:
        a, b = (*terms, 0, 0)[:2]
        return bool(value._mpf_[3] <= now.bits and value - a == b)
    finite = all(mp.isfinite(t) for t in terms)
    return finite and mp.fsum(terms, absolute=True) <= mpmath.ldexp(1, min(t._mpf_[2] for t in terms) + now.bits)


# NumPy's and SciPy's own, as they compute them


def _sinc(x: Any) -> Number:
    given = lift(x)
    if given.value == 0:
        return lift(1)
    angle = pi() * given
    return FUNCTIONS["sin"](angle) / angle  # type: ignore[no-any-return]


def _bessel(order: int) -> Callable[[Any], Number]:
    scaled = of(OPS[f"bessel_i{order}e"].value, 16.0)
    return lambda x: FUNCTIONS["exp"](abs(lift(x))) * scaled(x)


def _near_zeros(name: str) -> Callable[[Any], Number]:
    """Good to a few units of 1, not near its zeros."""
    whole = of(OPS[name].value, 32.0)

    def value(x: Any) -> Number:
        found = whole(x)
        return rounded(found.value, found.err + 32.0, 0.0)

    return value


_psi = of(OPS["digamma"].value, 16.0)


def _digamma(x: Any) -> Number:
    """Good to a few units of 1 where it is reflected, not near its zeros."""
    found = _psi(x)
    return found if lift(x).value > 0 else rounded(found.value, found.err + 16.0, 0.0)


def _of_normal(function: Callable[[Any], Number]) -> Callable[[Any], Number]:
    """A function of SciPy's that is infinite at numbers below the normal ones."""

    def value(x: Any) -> Number:
        found = function(x)
        return Number(found.value, INF) if 0 < lift(x).size < 2.0**-1022 else found

    return value


_exponential_integral = _near_zeros("expi")


def _expi(x: Any) -> Number:
    """SciPy's has the exponential in it, which leaves the range before."""
    found, grown = _exponential_integral(x), FUNCTIONS["exp"](x)
    return Number(found.value, INF) if grown.err == INF else found


def _gammaln(x: Any) -> Number:
    """Good to a few units of 1, not near its zeros; 1/x overflows below the normal numbers."""
    given = lift(x)
    if 0 < given.size < 2.0**-1022:
        return FUNCTIONS["log"](1 / abs(given))  # type: ignore[no-any-return]
    found = FUNCTIONS["lgamma"](given)
    return rounded(found.value, found.err + 16.0, 0.0)


_root = of(OPS["cbrt"].value)


def _cbrt(x: Any) -> Number:
    """As a power, 1/3 is rounded: what that is off by counts as often as x has factors of e."""
    found = _root(x)
    if not now.format.powers or not mp.isfinite(found.value) or not found.value:
        return found
    factors = abs(float(mp.log(abs(lift(x).value))))
    return Number(found.value, found.err + (factors + 4.0) * abs(float(found.value)))


_angle = of(OPS["atan2"].value)
_with_sign = of(OPS["copysign"].value, 0.0)


def _may_be(x: Any, sign: int) -> bool:
    """Whether rounding may leave 0, or a number of the sign; of a zero there is one of either sign, which no Number
    tells: y*w is -0.0 at w = 0 for a negative y."""
    given = lift(x)
    return bool(sign * given.value >= -margin(given.err)) if sign else bool(abs(given.value) <= margin(given.err))


def _atan2(y: Any, x: Any) -> Number:
    """Beside the half line x <= 0 of y = 0, floating point has an angle that is up to a turn off."""
    found = _angle(y, x)
    if _may_be(y, 0) and _may_be(x, -1):
        return Number(found.value, found.err + (7.0 / now.unit if now.unit else INF))
    return found


def _copysign(a: Any, b: Any) -> Number:
    found = _with_sign(a, b)
    if _may_be(b, 0):
        return Number(found.value, found.err + (2.0 * found.size / now.unit if now.unit else INF))
    return found


_log_of_sum = of(OPS["logaddexp"].value)


def _logaddexp(a: Any, b: Any) -> Number:
    """The larger one, and a logarithm that is rounded: the two may cancel."""
    found = _log_of_sum(a, b)
    rest = found.value - max(lift(a).value, lift(b).value)
    return Number(found.value, found.err + LIBRARY * abs(float(rest))) if mp.isfinite(rest) else found


def _heaviside(x: Any, at_zero: Any) -> Number:
    number = lift(x)
    return lift(at_zero) if number == 0 else lift(int(number > 0))


_LIBRARY = """exp exp2 expm1 log log2 log10 sin cos tan asin acos atan sinh cosh tanh asinh acosh hypot erf erfc
    xlogy""".split()
# what is known better than that an operator's row has a value
_KNOWN: dict[str, Callable[..., Any]] = {
    **{name: of(OPS[name].value, name=name) for name in _LIBRARY},
    **{name: of(OPS[name].value, 0.0) for name in ("floor", "ceil", "trunc", "rint")},
    "atanh": of(_atanh),
    "atan2": _atan2,
    "log1p": of(_log1p),
    "sqrt": sqrt,
    "cbrt": _cbrt,
    "pow": power,
    "lgamma": of(OPS["lgamma"].value, 32.0),
    "digamma": _digamma,
    "abs": abs,
    "fabs": abs,
    "fmod": of(OPS["fmod"].value, 1.0),
    "modulo": lambda a, b: lift(a) % lift(b),
    "maximum": maximum,
    "minimum": minimum,
    "fmax": maximum,
    "fmin": minimum,
    "copysign": _copysign,
    "sign": sign,
    "heaviside": _heaviside,
    "logaddexp": _logaddexp,
    "sinc": _sinc,
    "i0": _bessel(0),
    "i1": _bessel(1),
    "gammaln": _of_normal(_gammaln),
    **{name: _near_zeros(name) for name in "bessel_j0 bessel_j1 bessel_y0 bessel_y1".split()},
    "expi": _expi,
    "bessel_k0": _of_normal(of(OPS["bessel_k0"].value, 32.0)),
    **{name: of(OPS[name].value, 1024.0) for name in "gammainc gammaincc".split()},  # of SciPy, up to 222 units off
    "ndtr": of(OPS["ndtr"].value, 600.0),  # by SciPy's erfc
    "scipy_erfc": of(OPS["erfc"].value, 600.0),  # SciPy's erfc is up to 292 units in the last place off
}


def _of_row(row: Op) -> dict[str, Callable[..., Any]]:
    """An operator by what the languages that are executed call it, without the name of a module; templates say more
    than a name."""
    own = _KNOWN.get(row.name) or of(row.value, 16.0)  # a generous unit roundoff
    words = [row.name, *filter(None, (row.word("numpy"), row.word("c")))]
    return {word.rpartition(".")[2]: own for word in words if "{" not in word}


_ROWS = [row for row in ROWS if row.result == "real" and 1 <= row.arity <= 2 and row.kind != "arithmetic"]
FUNCTIONS: Mapping[str, Callable[..., Any]] = {**{w: f for row in _ROWS for w, f in _of_row(row).items()}, **_KNOWN}
