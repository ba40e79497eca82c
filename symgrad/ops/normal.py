"""Error functions, and the normal distribution.

NumPy has none of them: the printed file imports scipy.special. C99 has erf and erfc, JAX no erfcx; what they lack is
printed as a function of the file. Tails are products of erfcx, which neither underflows nor cancels where its argument
is positive, and of exp(-x**2) or exp(-x**2/2): the rounding of x**2 is not amplified there, as the square of the few
leading bits of x is exact.
"""

from __future__ import annotations

from typing import Any

from ..expr import HALF, ZERO, Expr, apply, const, ref, select
from ..later import flint, mp, mpmath, sympy
from .arb import BY_ARB
from .row import Helper, Op, Polynomial, everywhere, function, special

_erfc_value, _erfinv_value = BY_ARB["erfc"], BY_ARB["erfinv"]
_pi = apply("pi")
_ROOT2 = apply("sqrt", 2)
_x, _left, _right, _coarse, _bell, _t, _p, _y = map(ref, ("x", "left", "right", "coarse", "bell", "t", "p", "y"))


def _root(x: Expr) -> Expr:
    return apply("sqrt", x)


def _exp(x: Expr) -> Expr:
    return apply("exp", x)


def _erf(x: Expr) -> Expr:
    return apply("erf", x)


def _erfcx(x: Expr) -> Expr:
    return apply("erfcx", x)


def _gauss(x: Expr) -> Expr:
    """exp(-x**2/2) / sqrt(2 pi)."""
    return _exp(-(x**2) / 2) / _root(2 * _pi)


def _by_tail(x: Expr) -> Expr:
    """erfc(x), by what is left of it far out."""
    tail = apply("bell", x) * apply("erfcx", apply("abs", x))
    return select(apply("lt", x, 0), 2 - tail, tail)


def _bits(x: Expr, most: int) -> Expr:
    """x with four bits after the point, and no larger than `most`, beyond which exp(-x**2) underflows."""
    return apply("rint", 16 * apply("minimum", x, most)) / 16


def _below(point: Expr) -> Expr:
    """x where it is below a point, which is no place for two slopes: only one of these two has one there."""
    return select(apply("lt", _x, point), _x, point)


def _above(point: Expr) -> Expr:
    return select(apply("lt", _x, point), point, _x)


# values


def _scaled(x: Any) -> Any:
    """exp(x**2) erfc(x); far out by its asymptotic series, as mpmath has no exp(1e600)."""
    if not mp.isfinite(x) or x < -(2**40):
        return mp.nan if mp.isnan(x) else mpmath.mpf(0) if x > 0 else mp.inf
    if x < 0 or x * x < 2 * mp.prec + 64:
        with mp.workprec(mp.prec + 2 * max(0, int(mp.mag(x))) + 16 if x else mp.prec):
            found = mp.exp(x**2) * _erfc_value(x)
        return +found
    total, term, n = mpmath.mpf(1), mpmath.mpf(1), 1
    while abs(term) > mpmath.ldexp(1, -mp.prec - 8):
        term *= -n / (2 * x * x)
        total, n = total + term, n + 2
    return total / (x * mp.sqrt(mp.pi))


def _hazard(u: Any) -> Any:
    """2/sqrt(pi) exp(-u**2)/erfc(u)."""
    if u > 0:
        return 2 / (mp.sqrt(mp.pi) * _scaled(u))
    return 2 * _bell_value(u) / (mp.sqrt(mp.pi) * _erfc_value(u))


def _bell_value(u: Any) -> Any:
    """exp(-u**2), 0 where mpmath has no such number."""
    return mp.exp(-u * u) if abs(u) < 2**40 else mpmath.mpf(0)


def _log_erfc(u: Any) -> Any:
    return mp.log(_scaled(u)) - u * u if u > 1 else mp.log1p(-mp.erf(u))


def _log_ndtr(x: Any) -> Any:
    u = -x / mp.sqrt(2)
    return mp.log(_scaled(u) / 2) - u * u if u > 1 else mp.log1p(-_scaled(-u) * _bell_value(u) / 2)


# as functions of a printed file; the factor before two exponentials keeps XLA from making one of them again

_ERFCX = Helper(
    "exp(x**2) * erfc(x), within 4 units in the last place: (1 + 9/8*x) * erfcx(x) where x > 0, by its Chebyshev "
    "expansion in t = (x - 7/2)/(x + 7/2), and erfcx(x) = 2*exp(x**2) - erfcx(-x).",
    (
        ("right", apply("abs", _x)),
        ("t", 1 - 7 / (_right + const("3.5"))),
        (
            "p",
            Polynomial(
                _t,
                (
                    -6.164500093690893e-10, -1.129592310616772e-10, 7.145167784108094e-09, 2.040554334029271e-09,
                    -5.00900736675139e-08, -1.6833828724337768e-08, 3.1092100263638974e-07, 5.941810229830573e-08,
                    -1.9830017706805416e-06, 6.447146657058611e-07, 1.2933675241591336e-05, -1.8225865380917695e-05,
                    -7.039523871495318e-05, 0.00027017907810832575, -4.3782826720246455e-05, -0.0022539677119554867,
                    0.00888739427226984, -0.02003578787155283, 0.029611941008154626, -0.023425733442292165,
                    -0.01573111356074718, 0.096057062763236, -0.20530862094174684, 0.7667624245689156,
                ),
                (
                    -3.8702306e-05, 0.00021951583, -7.9577396e-05, -0.0021985248, 0.008907804, -0.020064127,
                    0.029606165, -0.02341915, -0.015730405, 0.0960565, -0.20530865, 0.76676244,
                ),
            ),
        ),
        ("y", _p / (1 + const("1.125") * _right)),
        ("left", _below(ZERO)),
        ("coarse", -_bits(-_left, 32)),
        (
            "result",
            select(
                apply("lt", _x, 0),
                2 * _exp(_coarse**2) * _exp((_left - _coarse) * (_left + _coarse)) - _y,
                _y,
            ),
        ),
    ),
)  # fmt: skip

_NDTR = Helper(
    "(1 + erf(x/sqrt(2)))/2, the integral of the normal density.",
    (("result", apply("erfc", -_x / _ROOT2) / 2),),
)

_INVERSE_MILLS = Helper(
    "exp(-x**2/2) / sqrt(2*pi) / ndtr(x), the normal density over its integral; the exponential in two factors, as "
    "coarse**2 is exact.",
    (
        ("left", _below(ZERO)),
        ("right", _above(ZERO)),
        ("coarse", _bits(_right, 64)),
        ("bell", _root(2 / _pi) * _exp(-(_coarse**2) / 2) * _exp((_coarse - _right) * (_coarse + _right) / 2)),
        ("result", _bell / ((1 + _erf(_right / _ROOT2)) * _erfcx(-_left / _ROOT2))),
    ),
)

_ERFC_HAZARD = Helper(
    "2 / sqrt(pi) * exp(-x**2) / erfc(x); the exponential in two factors, as coarse**2 is exact.",
    (
        ("left", _below(ZERO)),
        ("right", _above(ZERO)),
        ("coarse", -_bits(-_left, 32)),
        ("bell", 2 / _root(_pi) * _exp(-(_coarse**2)) * _exp((_coarse - _left) * (_coarse + _left))),
        ("result", _bell / ((1 + _erf(-_left)) * _erfcx(_right))),
    ),
)

_LOG_NDTR = Helper(
    "log(ndtr(x)); the exponential in two factors, as coarse**2 is exact.",
    (
        ("left", _below(HALF)),
        ("right", _above(HALF)),
        ("coarse", _bits(_right, 64)),
        ("bell", HALF * _exp(-(_coarse**2) / 2) * _exp((_coarse - _right) * (_coarse + _right) / 2)),
        (
            "result",
            select(
                apply("lt", _x, HALF),
                apply("log", _erfcx(-_left / _ROOT2) / 2) - _left**2 / 2,
                apply("log1p", -_bell * _erfcx(_right / _ROOT2)),
            ),
        ),
    ),
)

_LOG_OF_ERFC = Helper(
    "log(erfc(x)).",
    (
        ("left", _below(HALF / 2)),
        ("right", _above(HALF / 2)),
        (
            "result",
            select(
                apply("lt", _x, HALF / 2),
                apply("log1p", -_erf(_left)),
                apply("log", _erfcx(_right)) - _right**2,
            ),
        ),
    ),
)


def _in_two_factors(halved: bool) -> Helper:
    """exp(-x**2), or its square root."""
    by = 2 if halved else 1
    return Helper(
        f"exp(-x**2{'/2' * halved}), in two factors, as coarse**2 is exact.",
        (
            ("right", apply("abs", _x)),
            ("coarse", _bits(_right, 32 * by)),
            ("result", _exp(-(_coarse**2) / by) * _exp((_coarse - _right) * (_coarse + _right) / by)),
        ),
    )


def _tail_in_balls(x: Any) -> Any:
    """The normal distribution function."""
    return (-x / flint.arb(2).sqrt()).erfc() / 2


NORMAL: tuple[Op, ...] = (
    # exp(-x**2) and exp(-x**2/2) of inputs; torch and JAX, which are used with few digits, have no function for them
    function("bell", lambda x, y: -2 * x * y, lambda x: sympy.exp(-(x**2)), _bell_value,
             spell={"numpy": "_bell", "triton": "_bell", "jax": "", "c": "bell", "c batches": "vector_bell"},
             helper=_in_two_factors(halved=False), expand=lambda x: _exp(-(x**2)), nonnegative=True, series=False,
             ball=lambda x: (-x * x).exp(), bounded=True),
    function("normal_bell", lambda x, y: -x * y, lambda x: sympy.exp(-(x**2) / 2),
             lambda x: _bell_value(x / mp.sqrt(2)),
             spell={"numpy": "_normal_bell", "triton": "_normal_bell", "jax": "", "c": "normal_bell",
                    "c batches": "vector_normal_bell"},
             helper=_in_two_factors(halved=True), expand=lambda x: _exp(-(x**2) / 2), nonnegative=True, series=False,
             ball=lambda x: (-x * x / 2).exp(), bounded=True),
    function("erf", lambda x, y: 2 * apply("exp", -(x**2)) / apply("sqrt", _pi),
             spell={**special("erf"), "triton": "tl.erf", "pallas": "jax.lax.erf"}, monotone=1, bounded=True),
    function("erfc", lambda x, y: -2 * apply("exp", -(x**2)) / apply("sqrt", _pi),
             spell={**special("erfc"), "c": "erfc", "c batches": "vector_erfc"}, expand=_by_tail, nonnegative=True,
             monotone=-1, bounded=True),
    function("erfcx", lambda x, y: 2 * x * y - 2 / _root(_pi), lambda x: sympy.exp(x**2) * sympy.erfc(x), _scaled,
             spell={**everywhere("erfcx"), **special("erfcx")}, helper=_ERFCX, nonnegative=True, monotone=-1,
             ball=lambda x: (x * x).exp() * x.erfc()),
    function("erfinv", lambda x, y: _root(_pi) / 2 * apply("exp", y**2), value=_erfinv_value, spell=special("erfinv"),
             domain="-1 < x < 1", inside=(0,), monotone=1, series=False, single=True),
    function("ndtr", lambda x, y: _gauss(x), lambda x: (1 + sympy.erf(x / sympy.sqrt(2))) / 2,
             lambda x: _erfc_value(-x / mp.sqrt(2)) / 2,
             spell={"numpy": "special.ndtr", "jax": "_ndtr", "c": "ndtr", "c batches": "vector_ndtr"}, helper=_NDTR,
             expand=lambda x: apply("erfc", -x / _ROOT2) / 2, nonnegative=True, monotone=1,
             ball=_tail_in_balls, bounded=True),
    # SciPy's and torch's own lose x**2 units in the last place far above 0, that of JAX 1e-11 far below
    function("log_ndtr", lambda x, y: apply("inverse_mills", x),
             lambda x: sympy.log(sympy.erfc(-x / sympy.sqrt(2)) / 2),
             _log_ndtr, spell=everywhere("log_ndtr"), helper=_LOG_NDTR, monotone=1,
             ball=lambda x: _tail_in_balls(x).log()),
    function("inverse_mills", lambda x, y: -y * (x + y),
             lambda x: sympy.sqrt(2 / sympy.pi) * sympy.exp(-(x**2) / 2) / sympy.erfc(-x / sympy.sqrt(2)),
             lambda x: _hazard(-x / mp.sqrt(2)) / mp.sqrt(2), spell=everywhere("inverse_mills"), helper=_INVERSE_MILLS,
             nonnegative=True, monotone=-1,
             ball=lambda x: (-x * x / 2).exp() / (2 * flint.arb.pi()).sqrt() / _tail_in_balls(x)),
    function("log_erfc", lambda x, y: -apply("erfc_hazard", x), lambda x: sympy.log(sympy.erfc(x)), _log_erfc,
             spell=everywhere("log_erfc"), helper=_LOG_OF_ERFC, monotone=-1,
             ball=lambda x: x.erfc().log()),
    function("erfc_hazard", lambda x, y: y * (y - 2 * x),
             lambda x: 2 / sympy.sqrt(sympy.pi) * sympy.exp(-(x**2)) / sympy.erfc(x), _hazard,
             spell=everywhere("erfc_hazard"), helper=_ERFC_HAZARD, nonnegative=True, monotone=1,
             ball=lambda x: 2 / flint.arb.pi().sqrt() * (-x * x).exp() / x.erfc()),
    function("ndtri", lambda x, y: _root(2 * _pi) * apply("exp", y**2 / 2),
             lambda x: sympy.sqrt(2) * sympy.erfinv(2 * x - 1), lambda x: mp.sqrt(2) * _erfinv_value(2 * x - 1),
             spell=special("ndtri"), domain="0 < x < 1", inside=(0.5,), monotone=1, series=False),
)  # fmt: skip
