"""Special functions. NumPy has hardly any: the printed file imports scipy.special.

C99 has erf, erfc, lgamma and tgamma of them. The others are functions of the printed file there:
symgrad.backends.c_special.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from ..errors import UnsupportedError
from ..expr import HALF, ONE, ZERO, Expr, apply, const, is_exact, ref, select, value_of
from ..later import mp, mpmath, sympy
from .arb import BY_ARB, bessel_k, by_arb
from .row import (
    Helper,
    Op,
    Polynomial,
    cosh,
    everywhere,
    expm1,
    exponential,
    function,
    jump,
    log,
    nonzero,
    origin,
    real,
    special,
)

_psi, _hurwitz_zeta, _besseli = (BY_ARB[name] for name in ("psi", "zeta", "besseli"))
_pi = apply("pi")
_x, _size, _near, _far = map(ref, ("x", "size", "near", "far"))

_LOG_COSH = Helper(
    "log(cosh(x)): near 0 by the square of a sinh, whose digits are kept; far out without a cosh, which overflows.",
    (
        ("size", apply("abs", _x)),
        ("near", apply("log1p", 2 * apply("sinh", apply("minimum", _size, 1) / 2) ** 2)),
        ("far", _size + apply("log1p", apply("exp", -2 * _size)) - apply("log", 2)),
        ("result", select(apply("lt", _size, 1), _near, _far)),
    ),
)

# the gamma function: where it is not reflected, what is apart from a pole is a number that has slopes, too

_right, _root, _value, _whole, _from_pole, _below, _ratio, _p = map(
    ref, ("right", "root", "value", "whole", "apart", "below", "ratio", "p")
)
_below_1, _left = apply("lt", _size, 1), apply("lt", _x, 0)

_GAMMA = Helper(
    "the gamma function, within 8 units in the last place: sqrt(x)*(x/e)**-x times it, where x >= 1, by its Chebyshev "
    "expansion in t = 1 - 3/(x + 1/2), and by gamma(x + 1)/x and the reflection elsewhere.",
    (
        ("size", apply("abs", _x)),
        ("right", select(_below_1, _size + 1, apply("minimum", _size, 172))),
        ("t", 1 - 3 / (_right + HALF)),
        (
            "p",
            Polynomial(
                ref("t"),
                (
                    -9.892918878115689e-12, -2.256592114294594e-11, 7.22217800014046e-12, 1.816522214906844e-10,
                    1.5910462195319592e-10, 1.3915139668898094e-09, -5.942058652211654e-09, 1.9550643749534975e-08,
                    -1.5896257262509758e-07, 7.2290463155527e-07, -3.6785157827968495e-06, 2.1829288690503642e-05,
                    -0.00011139409286707597, 0.0005960079095707614, -0.0036143774915779834, 0.020687470227038398,
                    -0.10209716206559712, 2.5911490001138477,
                ),
                (
                    -1.7456823e-07, 7.7839394e-07, -3.663139e-06, 2.1778693e-05, -0.000111400775, 0.00059602637,
                    -0.0036143763, 0.020687468, -0.10209716, 2.591149,
                ),
            ),
        ),
        ("root", _right ** (_right / 2 - Fraction(1, 4)) * apply("exp", -_right / 2)),
        ("value", _root * _p * _root),
        ("whole", apply("rint", _size)),
        ("apart", select(_left, _size - _whole, HALF)),
        ("sine", (1 - 2 * (_whole - 2 * apply("floor", _whole / 2))) * apply("sin", _pi * _from_pole)),
        (
            "result",
            select(
                _left,
                -_pi / (ref("sine") * select(_below_1, ONE, _size)) / _value,
                _value / select(_below_1, _size, ONE),
            ),
        ),
    ),
)  # fmt: skip

_DIGAMMA = Helper(
    "the logarithmic derivative of the gamma function, within 6 units in the last place: where x >= 1, log(x/root) and "
    "(x - root)/x times a function, by its Chebyshev expansion in t = 1 - 3/(x + 1/2), the root in two parts; "
    "elsewhere by digamma(x + 1) - 1/x and the reflection.",
    (
        ("size", apply("abs", _x)),
        ("right", select(_below_1, _size + 1, _size)),
        ("t", 1 - 3 / (_right + HALF)),
        (
            "p",
            Polynomial(
                ref("t"),
                (
                    -9.04100798203094e-12, -1.526959760088765e-11, 3.6366228861268835e-11, 1.2745318975932803e-10,
                    1.6215902767666616e-10, 2.5516296329494536e-12, -9.366746192454423e-10, -3.87513542025988e-09,
                    -7.201458757371027e-09, 2.516447454147783e-09, 9.964063446209149e-08, 2.589844652944598e-07,
                    5.736066995172905e-07, -7.645861589234932e-06, -2.253064161118492e-06, -0.00014708124672941134,
                    0.003192775168477053, -0.02415898989633146, 0.4006759907006548,
                ),
                (
                    -7.3635826e-09, 7.887838e-08, 2.6849247e-07, 5.924055e-07, -7.649926e-06, -2.2598717e-06,
                    -0.00014708053, 0.003192776, -0.02415899, 0.40067598,
                ),
            ),
        ),
        ("below", const("3.7006601859126265e-07") - (_right - const("1.4616317749023438"))),  # not added up by XLA
        ("ratio", select(apply("lt", _right, 2**60), _below / _right, -ONE)),
        ("value", apply("log1p", -_below / const("1.4616321449683622")) - _ratio * _p),
        ("apart", select(_left, _size - apply("rint", _size), const(Fraction(1, 4)))),
        (
            "result",
            select(
                _left,
                _value + select(_below_1, ZERO, 1 / _size) + _pi / apply("tan", _pi * _from_pole),
                _value - select(_below_1, 1 / _size, ZERO),
            ),
        ),
    ),
)  # fmt: skip


# the exponential integral: each polynomial in its own part of the line

_EXPI = Helper(
    "the exponential integral, within 5 units in the last place: log(abs(x)/root) and (x - root)*exp(x/2) times a "
    "function from -1/2 to 6, exp(x)/x times one elsewhere, by Chebyshev expansions, the root in two parts.",
    (
        ("size", apply("abs", _x)),
        ("least", apply("minimum", _x, 4000)),
        ("half", apply("exp", ref("least") / 2)),
        ("u", 1 - 5 / (apply("maximum", _size, HALF) + 2)),
        (
            "left",
            Polynomial(
                ref("u"),
                (
                    -7.340658350715481e-08, 1.1471112980884437e-07, 4.794762351010214e-07, -7.274820495559369e-07,
                    -1.5464672947844752e-06, 2.2755461166995383e-06, 3.035858994907592e-06, -4.306775799914813e-06,
                    -4.18726402587325e-06, 5.726653057399709e-06, 3.945496105400011e-06, -5.111161312743471e-06,
                    -3.2285501938393016e-06, 4.131837048642041e-06, 8.034433909246114e-07, -5.378340371215082e-07,
                    -2.809695795782718e-06, 4.388308302964199e-06, -5.850865898915672e-06, 1.024141403425088e-05,
                    -1.7429179807834202e-05, 3.063239551481015e-05, -5.167965489735699e-05, 9.336017736291944e-05,
                    -0.00016069620580889835, 0.0003014299817237575, -0.000531424613494947, 0.0010565990438015094,
                    -0.0019244573143820253, 0.00423019176257255, -0.008070348098674095, 0.02186912819523137,
                    -0.044758095602891346, 0.24167480510637004, 0.7862512207659554,
                ),
                (
                    -9.38272217e-05, 0.000144223118, 0.000113790601, -0.000130394823, -0.000322463633,
                    0.000497478782, -0.000448506142, 0.000969296916, -0.00194690298, 0.00424962643, -0.00806741263,
                    0.0218672499, -0.0447582403, 0.241674857, 0.786251222,
                ),
            ),
        ),
        ("v", 1 - 28 / (apply("maximum", _x, 6) + 8)),
        (
            "right",
            Polynomial(
                ref("v"),
                (
                    6.311567955605316e-05, -1.9295766158627176e-05, -0.0007549939425901364, 0.0001690780549005532,
                    0.004231802453755443, -0.0005814828280148165, -0.014749107822425415, 0.0006603711228473096,
                    0.0357345042698105, 0.0020084501326773463, -0.0636211390744559, -0.010790499937406457,
                    0.0854666906370325, 0.025946840932325944, -0.08679183936271952, -0.04141144700239021,
                    0.06408445902978555, 0.047901346233596716, -0.028593291421057647, -0.04058126322788809,
                    -0.002834605601106883, 0.023061045508030346, 0.019888549288573733, -0.003748518298373372,
                    -0.022914675666066493, -0.010721711618133203, 0.01855757238474377, 0.018610993718926976,
                    -0.013755368733462224, -0.021500580943792758, 0.013060616115591832, 0.020469313630848144,
                    -0.018555032066709658, -0.011665639749005521, 0.025463809185632024, -0.012161385008931689,
                    -0.007610602050719615, 0.01883382962548275, -0.022706262362019836, 0.026190175647852126,
                    -0.034679042413122495, 0.05281640442442471, -0.08842708877280638, 1.0559559055929626,
                ),
                (
                    0.000775866335, -0.000744801438, -0.00405503194, 0.00464026265, 0.00871309251, -0.0139467165,
                    -0.0063097244, 0.0236260599, -0.0137257053, -0.00714116565, 0.0191043099, -0.0227738712,
                    0.0261659697, -0.0346745235, 0.0528172564, -0.0884271786, 1.0559559,
                ),
            ),
        ),
        ("t", (apply("clip", _x, -HALF, 6) - const("2.75")) / const("3.25")),
        (
            "p",
            Polynomial(
                ref("t"),
                (
                    4.502227804897501e-12, -3.946054880811834e-11, 4.4270353433777814e-10, -3.3289403571841277e-09,
                    3.484842623267414e-08, -2.197910492365729e-07, 2.0367614856523857e-06, -1.0397708947185005e-05,
                    8.401792266789931e-05, -0.0003294581529994695, 0.0022743914796458046, -0.006297012980780657,
                    0.03614985299153364, -0.06048227790322261, 0.27837658714521507, -0.19328051814123312,
                    0.6796857827004682,
                ),
                (
                    -1.10186435e-05, 8.9256126e-05, -0.000328831669, 0.00226976501, -0.00629728829, 0.036151513,
                    -0.0604822286, 0.278376379, -0.193280521, 0.679685787,
                ),
            ),
        ),
        ("below", const("1.7421228695008868e-08") - (_x - const("0.37250739336013794"))),  # not added up by XLA
        (
            "logarithm",
            select(
                apply("lt", apply("abs", _below), const(Fraction(1, 4))),
                apply("log1p", -_below / const("0.3725074107813666")),
                apply("log", _size) + const("0.9874983466453419"),
            ),
        ),
        ("far", ref("half") * (ref("half") / ref("least") * select(_left, ref("left"), _right))),
        (
            "result",
            select(
                apply("and", apply("gt", _x, -HALF), apply("lt", _x, 6)),
                ref("logarithm") - _below * (ref("half") * _p),
                _far,
            ),
        ),
    ),
)  # fmt: skip


def _pole(x: Any) -> bool:
    return bool(x <= 0 and x == mp.floor(x))


def _lgamma(x: Any) -> Any:
    return mp.inf if _pole(x) else mp.re(mp.loggamma(x))


def _tgamma(x: Any) -> Any:
    return mp.nan if _pole(x) else mp.inf if x > 1e6 else mp.gamma(x)


def _zeta(s: Any, x: Any) -> Any:
    if _pole(x) or s <= 1:
        return mp.nan
    whole = s == mp.floor(s)
    return (-1) ** int(s) * _psi(int(s) - 1, x) / mp.factorial(s - 1) if whole else _hurwitz_zeta(s, x)


def _polygamma(n: Any, x: Any) -> Any:
    if _pole(x) or n < 0 or n != mp.floor(n):
        return mp.nan
    return _psi(int(n), x)


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
    nothing = apply("eq", a, 0)
    return select(nothing if a is b else apply("and", nothing, apply("le", b, 0)), ZERO, slope)


def _logaddexp(a: Any, b: Any) -> Any:
    top = max(a, b)
    return top if mp.isinf(top) else top + mp.log1p(exponential(-abs(a - b)))


def _unknown() -> Expr:
    """The slope in an order or a parameter: refused where it is asked for, which it is not of a number."""
    return apply("unknown_slope")


def _refused() -> Expr:
    raise UnsupportedError(
        "the derivative of a special function by its order or parameter is not known to symgrad. Give that as a number "
        "or an option, or declare the function with its derivative: sg.primitive."
    )


def _incomplete(upper: bool) -> Callable[[Any, Any], Any]:
    part = by_arb(
        lambda a, x: (x.gamma_upper if upper else x.gamma_lower)(a, regularized=1),
        lambda a, x: mp.gammainc(a, *((x, mp.inf) if upper else (0, x)), regularized=True),
    )

    def value(a: Any, x: Any) -> Any:
        if a <= 0 or x < 0 or mp.isinf(a):
            return mp.nan
        return mpmath.mpf(upper == 0) if mp.isinf(x) else part(a, x)

    return value


def _density(a: Expr, x: Expr) -> Expr:
    """That of the gamma distribution, the slope of gammainc."""
    return apply("exp", (a - 1) * apply("log", x) - x - apply("lgamma", a))


def _bessel(kind: str, order: int, value: Callable[[Any], Any], slope: Callable[[Expr, Expr], Expr], torch: str,
            **columns: Any) -> Op:  # fmt: skip
    """The row of a Bessel function of order 0 or 1."""
    twin, end = kind[0], kind[1:]
    scale = (lambda x: sympy.exp(x)) if end else (lambda x: 1)
    return function(f"bessel_{twin}{order}{end}", slope,
                    lambda x: scale(x) * getattr(sympy, f"bessel{twin}")(order, x), value,
                    spell={"numpy": f"special.{twin}{order}{end}", "torch": f"torch.special.{torch}{order}", "jax": ""},
                    series=False, oscillates=kind in ("j", "y"), **columns)  # fmt: skip


def _at(order: int, name: str) -> Callable[[Any], Any]:
    """A Bessel function, 0 at infinity."""
    return lambda x: mpmath.mpf(0) if mp.isinf(x) else BY_ARB[name](order, x)


def _k(order: int, scaled: bool) -> Callable[[Any], Any]:
    """K(x), or exp(x) K(x)."""
    inside = by_arb(
        lambda x: bessel_k(order, x, scaled),
        lambda x: (exponential(x) if scaled else 1) * mp.besselk(order, x),
    )

    def value(x: Any) -> Any:
        if not (x > 0 and mp.isfinite(x)):
            return mpmath.mpf(0) if x > 0 else mp.inf if x == 0 else mp.nan
        return inside(x)

    return value


def _order_1(x: Expr, y: Expr, zeroth: Expr) -> Expr:
    """The slope of J and Y of order 1."""
    return zeroth - y / x


_POLES = "x is not 0, -1, -2, ..."

SPECIAL: tuple[Op, ...] = (
    # the gamma function
    function("lgamma", lambda x, y: apply("digamma", x), "loggamma", _lgamma, names=("gammaln", "loggamma"),
             spell=special("gammaln"), domain=_POLES, inside=(1,), series=False),
    function("tgamma", lambda x, y: y * apply("digamma", x), "gamma", _tgamma,
             spell={**everywhere("gamma"), "numpy": "special.gamma", "c": "tgamma"}, helper=_GAMMA, domain=_POLES,
             inside=(1,), series=False),
    function("digamma", lambda x, y: _hurwitz(2, x), value=lambda x: _polygamma(0, x),
             spell={**everywhere("digamma"), "numpy": "special.digamma"}, helper=_DIGAMMA, domain=_POLES, inside=(1,),
             series=False),
    Op("polygamma", 2, real(_polygamma), lambda n, x, y: (None, apply("polygamma", n + 1, x)), "polygamma",
       expand=_by_zeta, domain="x = 0, 1, 2, ..., and y not 0, -1, -2, ...", series=False),
    # Hurwitz's: the sum of 1/(x + k)**s over k = 0, 1, 2, ...
    Op("hurwitz", 2, real(_zeta), lambda s, x, y: (_unknown(), -s * _hurwitz(s + 1, x)), "zeta",
       spell={"numpy": "special.zeta", "torch": "_hurwitz", "jax": "_hurwitz"},
       domain="x > 1, and y not 0, -1, -2, ...", series=False),
    # modified Bessel functions
    function("bessel_i0", lambda x, y: apply("bessel_i1", x), lambda x: sympy.besseli(0, x), lambda x: _besseli(0, x),
             spell=special("i0"), inside=(0,), nonnegative=True),
    function("bessel_i1", lambda x, y: select(apply("eq", x, 0), HALF, apply("bessel_i0", x) - y / nonzero(x)),
             lambda x: sympy.besseli(1, x), lambda x: _besseli(1, x), spell=special("i1"), inside=(0,),
             monotone=1),
    function("bessel_i0e", lambda x, y: apply("bessel_i1e", x) - apply("sign", x) * y,
             lambda x: sympy.exp(-sympy.Abs(x)) * sympy.besseli(0, x),
             lambda x: exponential(-abs(x)) * _besseli(0, x),
             spell=special("i0e"), kinks=jump("x == 0", lambda x: bool(x == 0), 0), nonnegative=True),
    function("bessel_i1e", _slope_of_i1e, lambda x: sympy.exp(-sympy.Abs(x)) * sympy.besseli(1, x),
             lambda x: exponential(-abs(x)) * _besseli(1, x), spell=special("i1e"), series=False),
    # Bessel functions
    _bessel("j", 0, _at(0, "besselj"), lambda x, y: -apply("bessel_j1", x), "bessel_j"),
    _bessel("j", 1, _at(1, "besselj"),
            lambda x, y: select(apply("eq", x, 0), HALF, _order_1(nonzero(x), y, apply("bessel_j0", x))), "bessel_j"),
    _bessel("y", 0, _at(0, "bessely"), lambda x, y: -apply("bessel_y1", x), "bessel_y", domain="x > 0", inside=(1,)),
    _bessel("y", 1, _at(1, "bessely"), lambda x, y: _order_1(x, y, apply("bessel_y0", x)), "bessel_y", domain="x > 0",
            inside=(1,)),
    _bessel("k", 0, _k(0, scaled=False), lambda x, y: -apply("bessel_k1", x), "modified_bessel_k", domain="x > 0",
            inside=(1,)),
    _bessel("k", 1, _k(1, scaled=False), lambda x, y: -apply("bessel_k0", x) - y / x, "modified_bessel_k",
            domain="x > 0", inside=(1,)),
    _bessel("ke", 0, _k(0, scaled=True), lambda x, y: y - apply("bessel_k1e", x), "scaled_modified_bessel_k",
            domain="x > 0", inside=(1,)),
    _bessel("ke", 1, _k(1, scaled=True), lambda x, y: y - apply("bessel_k0e", x) - y / x, "scaled_modified_bessel_k",
            domain="x > 0", inside=(1,)),
    # the incomplete gamma functions, from 0 to 1
    Op("gammainc", 2, real(_incomplete(upper=False)), lambda a, x, y: (_unknown(), _density(a, x)),
       lambda a, x: sympy.lowergamma(a, x) / sympy.gamma(a), spell=special("gammainc"), domain="x > 0, and y >= 0",
       inside=(1, 1), series=False),
    Op("gammaincc", 2, real(_incomplete(upper=True)), lambda a, x, y: (_unknown(), -_density(a, x)),
       lambda a, x: sympy.uppergamma(a, x) / sympy.gamma(a), spell=special("gammaincc"), domain="x > 0, and y >= 0",
       inside=(1, 1), series=False),
    # the exponential integral, and the inverse of x*exp(x)
    function("expi", lambda x, y: apply("exp", x) / x, "Ei", lambda x: -mp.inf if x == 0 else mp.ei(x), names=("Ei",),
             spell={**everywhere("expi"), "numpy": "special.expi"}, helper=_EXPI, domain="x != 0", inside=(1,),
             series=False),
    function("lambertw", lambda x, y: 1 / (apply("exp", y) * (1 + y)), "LambertW", lambda x: mp.lambertw(x),
             names=("LambertW",), spell={"c": "lambertw"},
             domain="exp(1)*x > -1", inside=(1,), monotone=1, series=False),
    # without a gap at 0, without overflow
    function("log1mexp", lambda x, y: 1 / apply("expm1", x), lambda x: sympy.log(1 - sympy.exp(-x)),
             lambda x: log(-expm1(-x)), expand=_by_log1p, domain="x > 0", inside=(1,), monotone=1, series=False,
             ball=lambda x: (-(-x).expm1()).log()),
    function("sinc", lambda x, y: (apply("cos", _pi * x) - y) / nonzero(x), lambda x: sympy.sinc(sympy.pi * x),
             lambda x: mp.sincpi(x), spell={"numpy": "np.sinc", "torch": "torch.sinc"},
             expand=lambda x: select(apply("eq", x, 0), ONE, apply("sin", _pi * x) / (_pi * x)),
             ball=lambda x: x.sinc_pi()),
    Op("logaddexp", 2, real(_logaddexp), lambda a, b, y: (apply("sigmoid", a - b), apply("sigmoid", b - a)),
       lambda a, b: sympy.log(sympy.exp(a) + sympy.exp(b)),
       spell={"numpy": "np.logaddexp", "torch": "torch.logaddexp"},
       expand=lambda a, b: apply("maximum", a, b) + apply("log1p", apply("exp", -_apart(a, b))),
       of_logs=True, associative=True, scans=True, reduction="logsumexp", series=False,
       ball=lambda a, b: (a.exp() + b.exp()).log()),
    function("log_cosh", lambda x, y: apply("tanh", x), lambda x: sympy.log(sympy.cosh(x)),
             lambda x: mp.log(cosh(x)), nonnegative=True, spell=everywhere("log_cosh"), helper=_LOG_COSH,
             ball=lambda x: x.cosh().log()),
    Op("xlogy", 2, real(lambda a, b: a * 0 if a == 0 else a * log(b)),
       lambda a, b, y: (_unless_nothing(a, b, apply("log", b)), _unless_nothing(a, b, a / b)),
       lambda a, b: a * sympy.log(b),
       spell=special("xlogy"), expand=lambda a, b: select(apply("eq", a, 0), ZERO, a * apply("log", b)),
       domain="y > 0, or x == 0", inside=(None, 1), kinks=origin("x == y == 0"),
       ball=lambda a, b: a * b.log()),
)  # fmt: skip

# nothing that a user writes
UNKNOWN_SLOPE = Op("unknown_slope", 0, lambda: mp.nan, None, lambda: sympy.nan, expand=_refused, kind="number", cost=0,
                   series=False)  # fmt: skip
