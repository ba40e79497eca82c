"""The elementary functions: exponentials, roots, trigonometry, hyperbolic functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..expr import ONE, TWO, ZERO, Const, Expr, apply, const, factors, fraction, is_exact, ref, select
from ..later import flint, mp, mpmath, sympy
from .row import (
    Helper,
    Op,
    Polynomial,
    cosh,
    everywhere,
    expm1,
    exponential,
    function,
    log,
    nonzero,
    origin,
    real,
    sinh,
)

FAR = 700  # exp(FAR) is about the largest number; that of a float is exp(88)


def _length(a: Expr, b: Expr) -> Expr:
    """hypot(a, b) as a denominator: never 0 beside a number that is not."""
    y = apply("hypot", a, b)
    return y if any(isinstance(x, Const) and x.value for x in (a, b)) else nonzero(y)


def _root(v: Expr) -> Expr:
    """sqrt(abs(v)), whose slope at 0 nobody asks for."""
    return select(apply("eq", v, 0), ZERO, apply("sqrt", apply("abs", nonzero(v))))


_x, _y, _z, _distance, _scale = map(ref, ("x", "y", "z", "distance", "scale"))

_ratio = ref("ratio")

_LOG_RATIO = Helper(
    "log(x / y), by two logarithms where the quotient leaves the range: elsewhere, they cost digits for x near y.",
    (
        ("ratio", apply("log", _x / _y)),
        ("apart", apply("log", apply("abs", _x)) - apply("log", apply("abs", _y))),
        ("result", select(apply("gt", apply("abs", _ratio), FAR), ref("apart"), _ratio)),
    ),
    ("x", "y"),
)
_MULTIPLY_NO_NAN = Helper(
    "x * y, and 0 where y is 0, also where x is infinite or NaN.",
    (("result", select(apply("eq", _y, 0), ZERO, _x * _y)),),
    ("x", "y"),
)
_apart, _square, _part = map(ref, ("apart", "square", "part"))
# of log((1 + x)/(1 - x)) = 2*x*(1 + x**2*series)
_LOGARITHM = Polynomial(_square, *(tuple(1 / k for k in range(most, 2, -2)) for most in (29, 13)))
_BD0 = Helper(
    "x*log(x / y) - x + y; where x is near y, by the series of log(x / y) in (x - y)/(x + y) (Loader 2000).",
    (
        ("apart", (_x - _y) / (_x + _y)),
        ("square", _apart**2),
        ("series", _LOGARITHM),
        ("near", (_x - _y) * _apart + 2 * _x * _apart * _square * ref("series")),
        ("far", _x * apply("log_ratio", _x, _y) - _x + _y),
        ("result", select(apply("lt", apply("abs", _apart), ONE / 4), ref("near"), ref("far"))),
    ),
    ("x", "y"),
)
_few = const(2) / 5
_LOG1PMX = Helper(
    "log1p(x) - x; where x is near 0, by the series of log1p(x) in x / (x + 2).",
    (
        ("part", select(apply("lt", apply("abs", _x), _few), _x, ZERO)),
        ("apart", _part / (_part + 2)),
        ("square", _apart**2),
        ("series", _LOGARITHM),
        ("near", _apart * (2 * _square * ref("series") - _part)),
        ("result", select(apply("lt", apply("abs", _x), _few), ref("near"), apply("log1p", _x) - _x)),
    ),
    ("x",),
)
_ROOT_OF_SUM = Helper(
    "sqrt(x**2 + y*z), of numbers scaled by a power of two, which rounds nothing: neither term leaves the range.",
    (
        ("distance", apply("abs", _x) + _root(_y) * _root(_z)),
        ("scale", apply("exp2", apply("floor", apply("log2", nonzero(_distance))))),
        ("result", _scale * apply("sqrt", (_x / _scale) ** 2 + _y / _scale * (_z / _scale))),
    ),
    ("x", "y", "z"),
)


def _logarithm(name: str, base: int, value: Any, twin: Callable[[Any], Any], **columns: Any) -> Op:
    return function(name, lambda x, y: 1 / (x * apply("log", base)), twin, lambda x: log(x) / value(), domain="x > 0",
                    inside=(1,), monotone=1, single=True,
                    ball=lambda x: x.log() / flint.arb(base).log(), **columns)  # fmt: skip


def _inverse(name: str, slope: Callable[[Expr, Expr], Expr], **columns: Any) -> Op:
    """The row of asin or another one that NumPy calls arcsin."""
    word = f"arc{name[1:]}"
    columns = {"spell": {"numpy": f"np.{word}"}, **columns}
    return function(name, slope, names=(word,), **columns)


def _versin(x: Expr) -> Expr:
    """1 - cos(x) by sine and cosine; where the cosine is negative nothing cancels."""
    sin, cos = apply("sin", x), apply("cos", x)
    return select(apply("gt", cos, 0), sin * sin / (1 + cos), 1 - cos)


def _half(x: Expr) -> Expr:
    """x/2; of 2*pi*t it is pi*t."""
    above, below = factors(x)
    number = above[0] if is_exact(above[0]) else ONE
    return fraction([number / 2, *above[number is not ONE :]], below) if number is not ONE else x / 2


def _twice(x: Expr) -> Expr:
    """2*x; of t/2 it is t."""
    above, below = factors(x)
    return fraction(above, [f for f in below if f is not TWO]) if below.count(TWO) == 1 else 2 * x


def _chord(x: Expr) -> Expr:
    return apply("sqrt", (1 - x) * (1 + x))


ELEMENTARY: tuple[Op, ...] = (
    # exponentials and logarithms
    function("exp", lambda x, y: y, value=exponential, spell={"triton": "tl.exp", "c loops": "vector_exp"}, inside=(0,),
             nonnegative=True, inverse="log", grows="right", monotone=1, of_logs=True, single=True),
    function("exp2", lambda x, y: y * apply("log", 2), lambda x: sympy.Integer(2) ** x, lambda x: mpmath.mpf(2) ** x,
             spell={"jax": "jnp.power(2, {})", "triton": "tl.exp2", "pallas": "jnp.exp2"}, inside=(0,),
             nonnegative=True, grows="right", monotone=1,
             ball=lambda x: (x * flint.arb.const_log2()).exp()),
    function("expm1", lambda x, y: apply("exp", x), lambda x: sympy.exp(x) - 1, expm1, inside=(0,), grows="right",
             inverse="log1p", spell={"triton": "_expm1", "pallas": "_expm1", "c batches": "vector_expm1"}, monotone=1,
             single=True),
    function("log", lambda x, y: 1 / x, value=log, names=("ln",), domain="x > 0", inside=(1,), inverse="exp",
             monotone=1, spell={"triton": "tl.log", "c batches": "vector_log"}, single=True),
    function("log1p", lambda x, y: 1 / (1 + x), lambda x: sympy.log(1 + x), domain="x > -1", inside=(0,), monotone=1,
             inverse="expm1", spell={"jax": "_log1p", "triton": "_log1p", "c batches": "vector_log1p"}, single=True),
    _logarithm("log2", 2, lambda: mp.ln2, lambda x: sympy.log(x) / sympy.log(2), spell={"triton": "tl.log2"}),
    _logarithm("log10", 10, lambda: mp.ln10, lambda x: sympy.log(x) / sympy.log(10)),
    # log(x / y) where x / y need not be in the range
    Op("log_ratio", 2, real(lambda x, y: log(x / y)), lambda x, y, result: (1 / x, -1 / y),
       lambda x, y: sympy.log(x / y), spell=everywhere("log_ratio"), helper=_LOG_RATIO,
       domain="x / y > 0", inside=(1, 1), series=False,
       ball=lambda x, y: (x / y).log()),
    # a factor that is 0 in floating point decides, as in TensorFlow
    Op("multiply_no_nan", 2, real(lambda x, y: x * y if y else mp.zero), lambda x, y, result: (y, x),
       lambda x, y: x * y, spell=everywhere("multiply_no_nan"), helper=_MULTIPLY_NO_NAN, series=False,
       ball=lambda x, y: x * y),
    # what is left of x*log(x / y) beyond its tangent at x = y
    Op("bd0", 2, real(lambda x, y: x * log(x / y) - x + y),
       lambda x, y, result: (apply("log_ratio", x, y), (y - x) / y),
       lambda x, y: x * sympy.log(x / y) - x + y, spell=everywhere("bd0"), helper=_BD0,
       domain="x / y > 0", inside=(1, 1), series=False,
       ball=lambda x, y: x * (x / y).log() - x + y),
    # what is left of log1p(x) beyond its tangent at 0
    function("log1pmx", lambda x, y: -x / (1 + x), lambda x: sympy.log(1 + x) - x,
             real(lambda x: -x if x == mp.inf else (mp.log1p(x) if x > -1 else log(1 + x)) - x),
             spell=everywhere("log1pmx"), helper=_LOG1PMX, domain="x > -1", inside=(0,), series=False,
             ball=lambda x: (1 + x).log() - x),
    # roots
    function("sqrt", lambda x, y: 1 / (2 * y), domain="x >= 0", inside=(1,), spell={"triton": "tl.sqrt"},
             nonnegative=True, monotone=1),
    function("cbrt", lambda x, y: 1 / (3 * y**2), lambda x: sympy.sign(x) * sympy.Abs(x) ** sympy.Rational(1, 3),
             lambda x: mp.sign(x) * mp.cbrt(abs(x)), spell={"numpy": "np.cbrt", "c": "cbrt"},
             expand=lambda x: apply("sign", x) * apply("abs", x) ** (ONE / 3), steep=True, monotone=1, series=False,
             ball=lambda x: x.sgn() * abs(x).root(3)),
    Op("hypot", 2, real(lambda a, b: mp.hypot(a, b)), lambda a, b, y: (a / _length(a, b), b / _length(a, b)),
       lambda a, b: sympy.sqrt(a**2 + b**2), kinks=origin("x == y == 0"), associative=True, nonnegative=True,
       spell={"triton": "_hypot"}, ball=lambda a, b: (a * a + b * b).sqrt()),
    # sqrt(x**2 + y z) whose terms neither overflow nor underflow
    Op("root_of_sum", 3, real(lambda u, v, w: mp.sqrt(u * u + v * w)),
       lambda u, v, w, y: (u / y, w / (2 * y), v / (2 * y)), lambda u, v, w: sympy.sqrt(u**2 + v * w),
       spell=everywhere("root_of_sum"), helper=_ROOT_OF_SUM, domain="x**2 + y*z >= 0", inside=(1, 0, None),
       nonnegative=True, series=False,
       ball=lambda u, v, w: (u * u + v * w).sqrt()),
    # trigonometry
    function("sin", lambda x, y: apply("cos", x), spell={"triton": "tl.sin", "c batches": "vector_sin"},
             oscillates=True, bounded=True),
    function("cos", lambda x, y: -apply("sin", x), spell={"triton": "tl.cos", "c batches": "vector_cos"},
             oscillates=True, bounded=True),
    # 1 - cos(x) with all its digits
    function("versin", lambda x, y: apply("sin", x), lambda x: 1 - sympy.cos(x), lambda x: 2 * mp.sin(x / 2) ** 2,
             expand=lambda x: 2 * apply("sin", _half(x)) ** 2, beside=_versin, nonnegative=True, oscillates=True,
             ball=lambda x: 2 * (x / 2).sin() ** 2, bounded=True),
    function("tan", lambda x, y: 1 + y**2, domain="cos(x) != 0", single=True, oscillates=True),
    _inverse("asin", lambda x, y: 1 / _chord(x), domain="-1 <= x <= 1", inside=(0,), single=True, monotone=1,
             bounded=True),
    _inverse("acos", lambda x, y: -1 / _chord(x), domain="-1 <= x <= 1", inside=(0,), single=True, monotone=-1,
             bounded=True),
    _inverse("atan", lambda x, y: 1 / (1 + x**2), monotone=1, bounded=True),
    Op("atan2", 2, real(lambda a, b: mp.atan2(a, b)),
       lambda a, b, y: (b / nonzero(a**2 + b**2), -a / nonzero(a**2 + b**2)), "atan2",
       names=("arctan2",), spell={"numpy": "np.arctan2"}, kinks=origin("x == y == 0"),
       ball=lambda a, b: flint.arb.atan2(a, b), bounded=True),
    # hyperbolic functions
    function("sinh", lambda x, y: apply("cosh", x), value=sinh, inside=(0,), grows="both", monotone=1,
             single=True),
    function("cosh", lambda x, y: apply("sinh", x), value=cosh, inside=(0,), nonnegative=True, grows="both",
             single=True),
    # cosh(x) - 1 with all its digits
    function("coshm1", lambda x, y: apply("sinh", x), lambda x: sympy.cosh(x) - 1, lambda x: 2 * sinh(x / 2) ** 2,
             expand=lambda x: 2 * apply("sinh", _half(x)) ** 2, nonnegative=True, grows="both",
             ball=lambda x: 2 * (x / 2).sinh() ** 2),
    function("tanh", lambda x, y: 1 - y**2, spell={"triton": "_tanh", "c loops": "vector_tanh"}, monotone=1,
             bounded=True),
    # the slope of tanh: 1 - tanh(x)**2 without cancellation
    function("sech2", lambda x, y: -2 * y * apply("tanh", x), lambda x: sympy.sech(x) ** 2, lambda x: 1 / cosh(x) ** 2,
             expand=lambda x: (1 / apply("cosh", x)) ** 2, finer=lambda x: 4 * apply("sigmoid_slope", _twice(x)),
             nonnegative=True,
             ball=lambda x: 1 / x.cosh() ** 2, bounded=True),
    _inverse("asinh", lambda x, y: 1 / apply("hypot", x, 1), monotone=1, bounded=True),
    _inverse("acosh", lambda x, y: 1 / apply("sqrt", (x - 1) * (x + 1)), domain="x >= 1", inside=(2,), monotone=1,
             bounded=True),
    _inverse("atanh", lambda x, y: 1 / ((1 - x) * (1 + x)), domain="-1 < x < 1", inside=(0,), monotone=1,
             spell={"numpy": "np.arctanh", "jax": "_atanh"}),
)  # fmt: skip
