"""Special functions. NumPy has hardly any: the printed file imports scipy.special.

C99 has erf, erfc, lgamma and tgamma of them. The others are functions of the printed file there:
symgrad.backends.c_special.
"""

from __future__ import annotations

import math
from typing import Any

from ..errors import UnsupportedError
from ..expr import HALF, ONE, ZERO, Expr, apply, is_exact, select, value_of
from ..later import mp, sympy
from . import errors
from .row import Op, cosh, expm1, exponential, function, jump, log, nonzero, origin, real, special

_pi = apply("pi")


def _pole(x: Any) -> bool:
    return bool(x <= 0 and x == mp.floor(x))


def _lgamma(x: Any) -> Any:
    return mp.inf if _pole(x) else mp.re(mp.loggamma(x))


def _tgamma(x: Any) -> Any:
    return mp.nan if _pole(x) else mp.inf if x > 1e6 else mp.gamma(x)


def _from_lgamma(x: Expr) -> Expr:
    """The gamma function where there is only its logarithm; below 0 by reflection."""
    right = apply("gt", x, 0)
    size = apply("exp", apply("lgamma", select(right, x, 1 - x)))
    return select(right, size, _pi / (apply("sin", _pi * x) * size))


def _zeta(s: Any, x: Any) -> Any:
    if _pole(x) or s <= 1:
        return mp.nan
    whole = s == mp.floor(s)
    return (-1) ** int(s) * mp.psi(int(s) - 1, x) / mp.factorial(s - 1) if whole else mp.zeta(s, x)


def _polygamma(n: Any, x: Any) -> Any:
    if _pole(x) or n < 0 or n != mp.floor(n):
        return mp.nan
    return mp.psi(int(n), x)


def _by_zeta(n: Expr, x: Expr) -> Expr:
    """SciPy's own polygamma turns float32 into float64."""
    if not is_exact(n) or value_of(n).denominator != 1 or value_of(n) < 0:
        raise UnsupportedError("polygamma(n, x) takes a literal n, one of 0, 1, 2, ...")
    order = int(value_of(n))
    return apply("digamma", x) if order == 0 else (-1) ** (order + 1) * math.factorial(order) * _hurwitz(order + 1, x)


def _hurwitz(s: int | Expr, x: Expr) -> Expr:
    return apply("hurwitz", s, x)


def _slope_of_i1e(x: Expr, y: Expr) -> Expr:
    return select(apply("eq", x, 0), HALF, apply("bessel_i0e", x) - apply("sign", x) * y - y / nonzero(x))


def _by_log1p(x: Expr) -> Expr:
    """log(1 - exp(-x))."""
    return select(apply("lt", x, HALF), apply("log", -apply("expm1", -x)), apply("log1p", -apply("exp", -x)))


def _apart(a: Expr, b: Expr) -> Expr:
    """The distance of two numbers, 0 of two that are infinite."""
    return select(apply("eq", a, b), ZERO, apply("abs", a - b))


def _unless_nothing(a: Expr, b: Expr, slope: Expr) -> Expr:
    """The slope of a log(b), 0 where that is 0 because a is, and log(b) no number."""
    return select(apply("and", apply("eq", a, 0), apply("le", b, 0)), ZERO, slope)


def _logaddexp(a: Any, b: Any) -> Any:
    top = max(a, b)
    return top if mp.isinf(top) else top + mp.log1p(exponential(-abs(a - b)))


_POLES = "x is not 0, -1, -2, ..."

SPECIAL: tuple[Op, ...] = (
    # the gamma function
    function("lgamma", lambda x, y: apply("digamma", x), "loggamma", _lgamma, names=("gammaln", "loggamma"),
             spell=special("gammaln"), domain=_POLES, inside=(1,), sampled=False, series=False),
    function("tgamma", lambda x, y: y * apply("digamma", x), "gamma", _tgamma,
             spell={"numpy": "special.gamma", "c": "tgamma"}, expand=_from_lgamma, domain=_POLES, inside=(1,),
             sampled=False, series=False),
    function("digamma", lambda x, y: _hurwitz(2, x), value=lambda x: _polygamma(0, x), spell=special("digamma"),
             domain=_POLES, inside=(1,), sampled=False, series=False),
    Op("polygamma", 2, real(_polygamma), lambda n, x, y: (None, apply("polygamma", n + 1, x)), "polygamma",
       expand=_by_zeta, domain="x = 0, 1, 2, ..., and y not 0, -1, -2, ...", sampled=False, series=False),
    # Hurwitz's: the sum of 1/(x + k)**s over k = 0, 1, 2, ...
    Op("hurwitz", 2, real(_zeta), lambda s, x, y: (None, -s * _hurwitz(s + 1, x)), "zeta",
       spell={"numpy": "special.zeta", "torch": "_hurwitz", "jax": "_hurwitz"},
       domain="x > 1, and y not 0, -1, -2, ...", sampled=False, series=False),
    # modified Bessel functions
    function("bessel_i0", lambda x, y: apply("bessel_i1", x), lambda x: sympy.besseli(0, x), lambda x: mp.besseli(0, x),
             spell=special("i0"), inside=(0,), sampled=False, nonnegative=True),
    function("bessel_i1", lambda x, y: select(apply("eq", x, 0), HALF, apply("bessel_i0", x) - y / nonzero(x)),
             lambda x: sympy.besseli(1, x), lambda x: mp.besseli(1, x), spell=special("i1"), inside=(0,), sampled=False,
             monotone=1),
    function("bessel_i0e", lambda x, y: apply("bessel_i1e", x) - apply("sign", x) * y,
             lambda x: sympy.exp(-sympy.Abs(x)) * sympy.besseli(0, x),
             lambda x: exponential(-abs(x)) * mp.besseli(0, x),
             spell=special("i0e"), kinks=jump("x == 0", lambda x: bool(x == 0), 0), sampled=False, nonnegative=True),
    function("bessel_i1e", _slope_of_i1e, lambda x: sympy.exp(-sympy.Abs(x)) * sympy.besseli(1, x),
             lambda x: exponential(-abs(x)) * mp.besseli(1, x), spell=special("i1e"), sampled=False, series=False),
    # without a gap at 0, without overflow
    function("log1mexp", lambda x, y: 1 / apply("expm1", x), lambda x: sympy.log(1 - sympy.exp(-x)),
             lambda x: log(-expm1(-x)), expand=_by_log1p, domain="x > 0", inside=(1,), monotone=1, series=False),
    function("sinc", lambda x, y: (apply("cos", _pi * x) - y) / nonzero(x), lambda x: sympy.sinc(sympy.pi * x),
             lambda x: mp.sincpi(x), spell={"numpy": "np.sinc", "torch": "torch.sinc"},
             expand=lambda x: select(apply("eq", x, 0), ONE, apply("sin", _pi * x) / (_pi * x))),
    Op("logaddexp", 2, real(_logaddexp), lambda a, b, y: (apply("sigmoid", a - b), apply("sigmoid", b - a)),
       lambda a, b: sympy.log(sympy.exp(a) + sympy.exp(b)),
       spell={"numpy": "np.logaddexp", "torch": "torch.logaddexp"},
       expand=lambda a, b: apply("maximum", a, b) + apply("log1p", apply("exp", -_apart(a, b))),
       of_logs=True, associative=True, scans=True, reduction="logsumexp", series=False,
       error=errors.log_of_sum),
    function("log_cosh", lambda x, y: apply("tanh", x), lambda x: sympy.log(sympy.cosh(x)),
             lambda x: mp.log(cosh(x)), nonnegative=True,
             expand=lambda x: apply("abs", x) + apply("log1p", apply("exp", -2 * apply("abs", x))) - apply("log", 2)),
    Op("xlogy", 2, real(lambda a, b: a * 0 if a == 0 else a * log(b)),
       lambda a, b, y: (_unless_nothing(a, b, apply("log", b)), _unless_nothing(a, b, a / b)),
       lambda a, b: a * sympy.log(b),
       spell=special("xlogy"), expand=lambda a, b: select(apply("eq", a, 0), ZERO, a * apply("log", b)),
       domain="y > 0, or x == 0", inside=(None, 1), kinks=origin("x == y == 0")),
)  # fmt: skip
