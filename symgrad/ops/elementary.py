"""The operators of arithmetic, comparison, elementary functions and kinks."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath
import sympy
from mpmath import mp

from ..expr import HALF, ONE, ZERO, Apply, Const, Expr, apply, ref, select
from .row import Helper, Op, everywhere, jump, log, nonzero, origin, real, step

GONE = -1100  # binary exponent of what is 0 in floating point, with some to spare
LARGE = 64  # bits before the point from which on mpmath multiplies for seconds, or more: exp(-1e308), 2.5**1e200


FAR = 700  # exp(FAR) is about the largest number; that of a float is exp(88)


def exponential(x: Any) -> Any:
    """exp(x), also where that is no number that mpmath computes in milliseconds."""
    if not mp.isfinite(x) or mp.mag(x) <= LARGE:
        return mp.exp(x)
    with mp.workprec(mp.prec + mp.mag(x) + 20):
        doublings = mp.floor(x / mp.ln2)
        rest = x - doublings * mp.ln2
    return mp.ldexp(mp.exp(rest), int(doublings))


def power(x: Any, n: Any) -> Any:
    if isinstance(x, int) and isinstance(n, int) and n >= 0:
        return x**n
    if x == 0 and n == 0:
        return mpmath.mpf(1)
    if x == 0 and mp.isfinite(n) and mp.mag(n) < GONE:
        return mp.nan  # 0 to the power of what would be 0, too: 0, or 1 where one of them is a number out of range
    if x < 0 and n != mp.floor(n):
        return mp.nan
    if mp.isfinite(n) and mp.mag(n) > LARGE and mp.isfinite(x) and x != 0 and n == mp.floor(n):
        with mp.workprec(mp.prec + mp.mag(n) + 20):
            exponent = n * mp.log(abs(x))
        return exponential(exponent) * (-1 if x < 0 and n % 2 else 1)
    return real(lambda a, b: a**b)(x, n)


def _floordiv(a: Any, b: Any) -> Any:
    return a // b if isinstance(a, int) and isinstance(b, int) else mp.floor(a / b)


def _share(wins: str, a: Expr, b: Expr) -> Expr:
    """1 where `a` wins over `b`, a half of the gradient at a tie, else 0."""
    return select(apply("eq", a, b), HALF, select(apply(wins, a, b), ONE, ZERO))


def _length(a: Expr, b: Expr) -> Expr:
    """hypot(a, b) as a denominator: never 0 beside a number that is not."""
    y = apply("hypot", a, b)
    return y if any(isinstance(x, Const) and x.value for x in (a, b)) else nonzero(y)


def _magnitude(x: Expr) -> Expr:
    """abs(x), the same for x and -x: what reads both computes it once."""
    if isinstance(x, Apply) and x.op == "neg":
        x = x.args[0]
    if isinstance(x, Apply) and x.op == "sub":
        x = min(x, -x, key=lambda u: (isinstance(u.args[0], Const), repr(u)))
    return apply("abs", x)


def _decaying(x: Expr) -> Expr:
    """exp(-|x|); of n*log(b) as a power of b, which does not lose the digits that x has before the point."""
    if isinstance(x, Apply) and x.op == "mul":
        for log_b, n in (x.args, x.args[::-1]):
            if isinstance(log_b, Apply) and log_b.op == "log":
                return log_b.args[0] ** select(apply("ge", x, 0), -n, n)
    return apply("exp", -_magnitude(x))


def _not_negative(x: Expr) -> Expr:
    """x >= 0, of a difference as a comparison."""
    if isinstance(x, Apply) and x.op == "sub":
        return apply("ge", *x.args)
    return apply("le", x.args[0], 0) if isinstance(x, Apply) and x.op == "neg" else apply("ge", x, 0)


def _log_ratio(x: Expr, y: Expr) -> Expr:
    """log(x / y), by two logarithms where the quotient leaves the range: elsewhere, they cost digits for x near y."""
    ratio = apply("log", x / y)
    apart = apply("log", apply("abs", x)) - apply("log", apply("abs", y))
    return select(apply("gt", apply("abs", ratio), FAR), apart, ratio)


def _root(v: Expr) -> Expr:
    """sqrt(abs(v)), whose slope at 0 nobody asks for."""
    return select(apply("eq", v, 0), ZERO, apply("sqrt", apply("abs", nonzero(v))))


_x, _y, _z, _distance, _scale = map(ref, ("x", "y", "z", "distance", "scale"))

_ROOT_OF_SUM = Helper(
    "sqrt(x**2 + y*z), of numbers scaled by a power of two, which rounds nothing: neither term leaves the range.",
    (
        ("distance", apply("abs", _x) + _root(_y) * _root(_z)),
        ("scale", apply("exp2", apply("floor", apply("log2", nonzero(_distance))))),
        ("result", _scale * apply("sqrt", (_x / _scale) ** 2 + _y / _scale * (_z / _scale))),
    ),
    ("x", "y", "z"),
)

_back, _lost, _decay = map(ref, ("back", "lost", "decay"))

_EXP_APART = Helper(
    "exp(-abs(x - y)), with the part of x - y that rounding takes away, by Knuth's two-sum.",
    (
        ("distance", _x - _y),
        ("back", _distance - _x),
        ("lost", select(apply("lt", apply("abs", _distance), 1000), (_x - (_distance - _back)) - (_y + _back), ZERO)),
        ("decay", apply("exp", -apply("abs", _distance)) * (1 - apply("sign", _distance) * _lost)),
        ("result", select(apply("eq", _x, _y), ONE, _decay)),  # also of infinities
    ),
    ("x", "y"),
)

_half = Fraction(1, 2)

ELEMENTARY: tuple[Op, ...] = (
    Op("pi", 0, lambda: +mp.pi, None, lambda: sympy.pi, spell={"numpy": "np.pi", "torch": "torch.pi", "c": "PI"}),
    # arithmetic
    Op("add", 2, lambda x, y: x + y, lambda a, b, y: (ONE, ONE), lambda a, b: a + b),
    Op("sub", 2, lambda x, y: x - y, lambda a, b, y: (ONE, -ONE), lambda a, b: a - b),
    Op("mul", 2, lambda x, y: x * y, lambda a, b, y: (b, a), lambda a, b: a * b),
    Op(
        "div",
        2,
        real(lambda a, b: a / b),
        lambda a, b, y: (1 / b, -y / b),
        lambda a, b: a / b,
        domain="y != 0",
        inside=1,
    ),
    Op("neg", 1, lambda x: -x, lambda x, y: (-ONE,), lambda x: -x),
    Op(
        "pow",
        2,
        power,
        lambda a, b, y: (select(apply("eq", b, 0), ZERO, b * a ** (b - 1)), y * apply("log", nonzero(a))),
        lambda a, b: a**b,
        names=("power",),
        domain="x > 0, or y an integer",
        inside=1,
    ),
    Op("floordiv", 2, _floordiv, None, lambda a, b: sympy.floor(a / b), result="int", domain="y != 0"),
    Op("mod", 2, lambda a, b: a % b, None, sympy.Mod, names=("Mod", "remainder"), result="int", domain="y != 0"),
    # comparison and logic
    Op("lt", 2, lambda a, b: int(a < b), None, sympy.Lt, names=("Lt", "less"), result="bool"),
    Op("le", 2, lambda a, b: int(a <= b), None, sympy.Le, names=("Le", "less_equal"), result="bool"),
    Op("gt", 2, lambda a, b: int(a > b), None, sympy.Gt, names=("Gt", "greater"), result="bool"),
    Op("ge", 2, lambda a, b: int(a >= b), None, sympy.Ge, names=("Ge", "greater_equal"), result="bool"),
    Op("eq", 2, lambda a, b: int(a == b), None, sympy.Eq, names=("Eq", "equal"), result="bool"),
    Op("ne", 2, lambda a, b: int(a != b), None, sympy.Ne, names=("Ne", "not_equal"), result="bool"),
    Op("and", 2, lambda a, b: int(bool(a and b)), None, sympy.And, names=("And", "logical_and"), result="bool"),
    Op("or", 2, lambda a, b: int(bool(a or b)), None, sympy.Or, names=("Or", "logical_or"), result="bool"),
    Op("not", 1, lambda a: int(not a), None, sympy.Not, names=("Not", "logical_not"), result="bool"),
    Op(
        "select",
        3,
        lambda c, a, b: a if c else b,
        lambda c, a, b, y: (None, select(c, ONE, ZERO), select(c, ZERO, ONE)),
        lambda c, a, b: sympy.Piecewise((a, c), (b, True)),
        names=("where",),
    ),
    # exponentials and logarithms
    Op("exp", 1, real(exponential), lambda x, y: (y,), sympy.exp, inside=0),
    Op(
        "exp2",
        1,
        real(lambda x: mpmath.mpf(2) ** x),
        lambda x, y: (y * apply("log", 2),),
        lambda x: sympy.Integer(2) ** x,
        inside=0,
    ),
    Op("expm1", 1, real(mp.expm1), lambda x, y: (apply("exp", x),), lambda x: sympy.exp(x) - 1, inside=0),
    Op("log", 1, real(log), lambda x, y: (1 / x,), sympy.log, names=("ln",), domain="x > 0", inside=1),
    Op("log1p", 1, real(mp.log1p), lambda x, y: (1 / (1 + x),), lambda x: sympy.log(1 + x), domain="x > -1", inside=0),
    Op(
        "log2",
        1,
        real(lambda x: log(x) / mp.ln2),
        lambda x, y: (1 / (x * apply("log", 2)),),
        lambda x: sympy.log(x) / sympy.log(2),
        domain="x > 0",
        inside=1,
    ),
    Op(
        "log10",
        1,
        real(lambda x: log(x) / mp.ln10),
        lambda x, y: (1 / (x * apply("log", 10)),),
        lambda x: sympy.log(x) / sympy.log(10),
        domain="x > 0",
        inside=1,
    ),
    Op(
        "log_ratio",  # log(x / y) where x / y need not be in the range
        2,
        real(lambda x, y: log(x / y)),
        lambda x, y, result: (1 / x, -1 / y),
        lambda x, y: sympy.log(x / y),
        expand=_log_ratio,
        domain="x / y > 0",
        inside=1,
    ),
    Op("sqrt", 1, real(mp.sqrt), lambda x, y: (1 / (2 * y),), sympy.sqrt, domain="x >= 0", inside=1),
    Op(
        "cbrt",
        1,
        real(lambda x: mp.sign(x) * mp.cbrt(abs(x))),
        lambda x, y: (1 / (3 * y**2),),
        lambda x: sympy.sign(x) * sympy.Abs(x) ** sympy.Rational(1, 3),
        spell={"numpy": "np.cbrt", "c": "cbrt"},
        expand=lambda x: apply("sign", x) * apply("abs", x) ** (ONE / 3),
    ),
    Op(
        "hypot",
        2,
        real(mp.hypot),
        lambda a, b, y: (a / _length(a, b), b / _length(a, b)),
        lambda a, b: sympy.sqrt(a**2 + b**2),
        kinks=origin("x == y == 0"),
    ),
    Op(
        "root_of_sum",  # sqrt(x**2 + y z) whose terms neither overflow nor underflow
        3,
        real(lambda u, v, w: mp.sqrt(u * u + v * w)),
        lambda u, v, w, y: (u / y, w / (2 * y), v / (2 * y)),
        lambda u, v, w: sympy.sqrt(u**2 + v * w),
        spell=everywhere("root_of_sum"),
        helper=_ROOT_OF_SUM,
        domain="x**2 + y z >= 0",
        inside=0,
    ),
    # trigonometry
    Op("sin", 1, real(mp.sin), lambda x, y: (apply("cos", x),), sympy.sin),
    Op("cos", 1, real(mp.cos), lambda x, y: (-apply("sin", x),), sympy.cos),
    Op("tan", 1, real(mp.tan), lambda x, y: (1 + y**2,), sympy.tan, domain="cos(x) != 0"),
    Op(
        "asin",
        1,
        real(mp.asin),
        lambda x, y: (1 / apply("sqrt", (1 - x) * (1 + x)),),
        sympy.asin,
        names=("arcsin",),
        spell={"numpy": "np.arcsin"},
        domain="-1 <= x <= 1",
        inside=0,
    ),
    Op(
        "acos",
        1,
        real(mp.acos),
        lambda x, y: (-1 / apply("sqrt", (1 - x) * (1 + x)),),
        sympy.acos,
        names=("arccos",),
        spell={"numpy": "np.arccos"},
        domain="-1 <= x <= 1",
        inside=0,
    ),
    Op(
        "atan",
        1,
        real(mp.atan),
        lambda x, y: (1 / (1 + x**2),),
        sympy.atan,
        names=("arctan",),
        spell={"numpy": "np.arctan"},
    ),
    Op(
        "atan2",
        2,
        real(mp.atan2),
        lambda a, b, y: (b / nonzero(a**2 + b**2), -a / nonzero(a**2 + b**2)),
        sympy.atan2,
        names=("arctan2",),
        spell={"numpy": "np.arctan2"},
        kinks=origin("x == y == 0"),
    ),
    # hyperbolic functions
    Op("sinh", 1, real(mp.sinh), lambda x, y: (apply("cosh", x),), sympy.sinh, inside=0),
    Op("cosh", 1, real(mp.cosh), lambda x, y: (apply("sinh", x),), sympy.cosh, inside=0),
    Op("tanh", 1, real(mp.tanh), lambda x, y: (1 - y**2,), sympy.tanh),
    Op(
        "sech2",  # the slope of tanh: 1 - tanh(x)**2 without cancellation
        1,
        real(lambda x: mp.sech(x) ** 2),
        lambda x, y: (-2 * y * apply("tanh", x),),
        lambda x: sympy.sech(x) ** 2,
        expand=lambda x: (1 / apply("cosh", x)) ** 2,
        finer=lambda x: 4 * apply("sigmoid_slope", 2 * x),
    ),
    Op(
        "asinh",
        1,
        real(mp.asinh),
        lambda x, y: (1 / apply("hypot", x, 1),),
        sympy.asinh,
        names=("arcsinh",),
        spell={"numpy": "np.arcsinh"},
    ),
    Op(
        "acosh",
        1,
        real(mp.acosh),
        lambda x, y: (1 / apply("sqrt", (x - 1) * (x + 1)),),
        sympy.acosh,
        names=("arccosh",),
        spell={"numpy": "np.arccosh"},
        domain="x >= 1",
        inside=2,
    ),
    Op(
        "atanh",
        1,
        real(mp.atanh),
        lambda x, y: (1 / ((1 - x) * (1 + x)),),
        sympy.atanh,
        names=("arctanh",),
        spell={"numpy": "np.arctanh"},
        domain="-1 < x < 1",
        inside=0,
    ),
    # activations, in the form that neither overflows nor cancels
    Op(
        "sigmoid",
        1,
        real(lambda x: 1 / (1 + exponential(-x))),
        lambda x, y: (y * (1 - y),),
        lambda x: 1 / (1 + sympy.exp(-x)),
        names=("expit",),
        spell={"torch": "torch.sigmoid", "jax": "jax.nn.sigmoid"},
        expand=lambda x: select(_not_negative(x), ONE, _decaying(x)) / (1 + _decaying(x)),
    ),
    Op(
        "sigmoid_slope",  # sigmoid(x) (1 - sigmoid(x)) without cancellation
        1,
        real(lambda x: 1 / (2 + exponential(x) + exponential(-x))),
        lambda x, y: (-y * apply("tanh", x / 2),),
        lambda x: 1 / (2 + sympy.exp(x) + sympy.exp(-x)),
        expand=lambda x: apply("saturation", _decaying(x)) - apply("saturation", _decaying(x)) ** 2,
    ),
    Op(
        "saturation",  # of exp(-abs(x)): sigmoid(-abs(x)), whose rounding s - s**2 forgets near 1/2
        1,
        real(lambda x: x / (1 + x)),
        lambda x, y: (1 / (1 + x) ** 2,),
        lambda x: x / (1 + x),
        expand=lambda x: x / (1 + x),
        domain="x != -1",
        inside=0,
    ),
    Op(
        "exp_apart",  # exp(-abs(x - y)) of inputs, whose difference is rounded where they are not
        2,
        real(lambda x, y: exponential(-abs(x - y))),
        lambda x, y, z: (apply("sign", y - x) * z, apply("sign", x - y) * z),
        lambda x, y: sympy.exp(-sympy.Abs(x - y)),
        spell=everywhere("exp_apart"),
        helper=_EXP_APART,
        kinks=jump("x == y", lambda x, y: bool(x == y), 0, 0),
    ),
    Op(
        "exp_below",  # exp(x - y) of inputs, y the largest of several; a language that differentiates it has no helper
        2,
        real(lambda x, y: exponential(x - y)),
        lambda x, y, z: (z, -z),
        lambda x, y: sympy.exp(x - y),
        spell={"numpy": "_exp_apart", "jax": "", "c": "exp_apart"},
        helper=_EXP_APART,
        expand=lambda x, y: apply("exp", x - y),
        domain="x <= y",
    ),
    Op(
        "softplus",
        1,
        real(lambda x: mp.log1p(exponential(x))),
        lambda x, y: (apply("sigmoid", x),),
        lambda x: sympy.log(1 + sympy.exp(x)),
        spell={
            "numpy": "np.logaddexp(0, {})",
            "torch": "torch.logaddexp({0}, torch.zeros_like({0}))",  # whose slope at 0 is 1/2, unlike that of a maximum
            "jax": "jax.nn.softplus",
        },
        expand=lambda x: apply("maximum", x, 0) + apply("log1p", _decaying(x)),
    ),
    Op(
        "relu",
        1,
        lambda x: x if x > 0 else mpmath.mpf(0) * x,
        lambda x, y: (select(apply("gt", y, 0), ONE, ZERO),),
        lambda x: sympy.Max(x, 0),
        spell={"torch": "torch.relu", "jax": "jax.nn.relu"},
        expand=lambda x: apply("maximum", x, 0),
        kinks=jump("x == 0", lambda x: bool(x == 0), 0),
    ),
    # kinks and steps
    Op(
        "abs",
        1,
        lambda x: abs(x),
        lambda x, y: (apply("sign", x),),
        sympy.Abs,
        names=("Abs",),
        spell={"numpy": "np.abs", "c": "fabs"},
        kinks=jump("x == 0", lambda x: bool(x == 0), 0),
    ),
    Op(
        "sign",
        1,
        lambda x: int(x > 0) - int(x < 0) if x == x else x,
        None,
        sympy.sign,
        kinks=jump("x == 0", lambda x: bool(x == 0), 0),
    ),
    Op("floor", 1, real(mp.floor), None, sympy.floor, kinks=step("x is an integer")),
    Op("ceil", 1, real(mp.ceil), None, sympy.ceiling, names=("ceiling",), kinks=step("x is an integer")),
    Op(
        "maximum",
        2,
        lambda a, b: a if a >= b or a != a else b,
        lambda a, b, y: (_share("gt", a, b), _share("gt", b, a)),
        sympy.Max,
        names=("Max", "max"),
        kinks=jump("x == y", lambda x, y: bool(x == y), _half, _half),
    ),
    Op(
        "minimum",
        2,
        lambda a, b: a if a <= b or a != a else b,
        lambda a, b, y: (_share("lt", a, b), _share("lt", b, a)),
        sympy.Min,
        names=("Min", "min"),
        kinks=jump("x == y", lambda x, y: bool(x == y), _half, _half),
    ),
)
