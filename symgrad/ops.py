"""The operators: one row each, and nothing about an operator stands anywhere else.

A row says how the operator is evaluated (in mpmath), differentiated, written in SymPy and in the languages symgrad
prints, and what its derivative is declared to be where it has none (its kinks). `derivative` gets the arguments and
the result `y` of the operator and returns one partial derivative per argument (None for one that is not
differentiated); what it mentions is what backward will save, so tanh mentions `y`.

The values at kinks are torch's where those are subgradients.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import mpmath
import sympy
from mpmath import mp

from .expr import HALF, ONE, ZERO, Expr, apply, select

Partials = tuple[Expr | None, ...]


@dataclass(frozen=True, slots=True)
class Kink:
    """Where an operator has no derivative, and the values it is declared to have there, one per argument."""

    at: str
    holds: Callable[..., bool]
    values: tuple[Fraction, ...]


@dataclass(frozen=True, slots=True)
class Op:
    """One operator.

    name        in the expression, and the first of the names that formula text accepts
    arity       how many arguments it takes
    value       its value in mpmath (exact integers come as int); NaN where it is not a real number
    derivative  (arguments..., result) -> partial derivatives; None: the derivative is zero wherever it exists
    sympy       the same function in SymPy
    names       further names that formula text and declarations accept
    spell       how a language calls it, where that is not its name: "np.arcsin", "asin", or a template with {}
    expand      the same in terms of other operators, for languages that have no such function
    result      "real", "int" (of integers), or "bool"
    domain      where it is defined, in words
    inside      what an argument may be replaced by where the value is not used (the last argument of div): languages
                that evaluate both branches of a `where` stay inside of the domain by it; None: defined everywhere
    kinks       where it has no derivative, and the value declared there
    """

    name: str
    arity: int
    value: Callable[..., Any]
    derivative: Callable[..., Partials] | None
    sympy: Callable[..., Any]
    names: tuple[str, ...] = ()
    spell: Mapping[str, str] = field(default_factory=dict)
    expand: Callable[..., Expr] | None = None
    result: str = "real"
    domain: str = "every real number"
    inside: int | None = None
    kinks: tuple[Kink, ...] = ()


def _real(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, with NaN for what is not a real number."""

    def value(*args: Any) -> Any:
        try:
            result = function(*(mpmath.mpf(a) if isinstance(a, int) else a for a in args))
        except (ZeroDivisionError, ValueError, OverflowError):
            return mp.nan
        return mp.nan if isinstance(result, mpmath.mpc) else result

    return value


LARGE = 64  # bits before the point from which on mpmath multiplies for seconds, or more: exp(-1e308), 2.5**1e200


def _exp(x: Any) -> Any:
    if not mp.isfinite(x) or mp.mag(x) <= LARGE:
        return mp.exp(x)
    with mp.workprec(mp.prec + mp.mag(x) + 20):
        doublings = mp.floor(x / mp.ln2)
        rest = x - doublings * mp.ln2
    return mp.ldexp(mp.exp(rest), int(doublings))


def _pow(x: Any, n: Any) -> Any:
    if isinstance(x, int) and isinstance(n, int) and n >= 0:
        return x**n
    if x == 0 and n == 0:
        return mpmath.mpf(1)
    if x < 0 and n != mp.floor(n):
        return mp.nan
    if mp.isfinite(n) and mp.mag(n) > LARGE and mp.isfinite(x) and x != 0 and n == mp.floor(n):
        with mp.workprec(mp.prec + mp.mag(n) + 20):
            exponent = n * mp.log(abs(x))
        return _exp(exponent) * (-1 if x < 0 and n % 2 else 1)
    return _real(lambda a, b: a**b)(x, n)


def _log(x: Any) -> Any:
    return -mp.inf if x == 0 else mp.log(x)


def _nonzero(x: Expr) -> Expr:
    """`x`, or 1 where x is 0: a denominator whose numerator is then 0."""
    return select(apply("eq", x, 0), ONE, x)


def _tie(a: Fraction | int, b: Fraction | int) -> tuple[Kink, ...]:
    return (Kink("x == y", lambda x, y: bool(x == y), (Fraction(a), Fraction(b))),)


def _at_zero(value: Fraction | int) -> tuple[Kink, ...]:
    return (Kink("x == 0", lambda x: bool(x == 0), (Fraction(value),)),)


def _origin(at: str) -> tuple[Kink, ...]:
    return (Kink(at, lambda x, y: bool(x == 0 and y == 0), (Fraction(0), Fraction(0))),)


def _step(at: str) -> tuple[Kink, ...]:
    return (Kink(at, lambda x: bool(x == mp.floor(x)), (Fraction(0),)),)


def _share(wins: str, a: Expr, b: Expr) -> Expr:
    """1 where `a` wins over `b`, a half of the gradient at a tie, else 0."""
    return select(apply("eq", a, b), HALF, select(apply(wins, a, b), ONE, ZERO))


_half = Fraction(1, 2)
_pi = apply("pi")

ROWS: tuple[Op, ...] = (
    Op("pi", 0, lambda: +mp.pi, None, lambda: sympy.pi, spell={"numpy": "np.pi", "c": "PI"}),
    # arithmetic
    Op("add", 2, lambda x, y: x + y, lambda a, b, y: (ONE, ONE), lambda a, b: a + b),
    Op("sub", 2, lambda x, y: x - y, lambda a, b, y: (ONE, -ONE), lambda a, b: a - b),
    Op("mul", 2, lambda x, y: x * y, lambda a, b, y: (b, a), lambda a, b: a * b),
    Op(
        "div",
        2,
        _real(lambda a, b: a / b),
        lambda a, b, y: (1 / b, -y / b),
        lambda a, b: a / b,
        domain="y != 0",
        inside=1,
    ),
    Op("neg", 1, lambda x: -x, lambda x, y: (-ONE,), lambda x: -x),
    Op(
        "pow",
        2,
        _pow,
        lambda a, b, y: (select(apply("eq", b, 0), ZERO, b * a ** (b - 1)), y * apply("log", _nonzero(a))),
        lambda a, b: a**b,
        names=("power",),
        domain="x > 0, or y an integer",
        inside=1,
    ),
    Op("floordiv", 2, lambda a, b: a // b, None, lambda a, b: sympy.floor(a / b), result="int", domain="y != 0"),
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
    Op("exp", 1, _real(_exp), lambda x, y: (y,), sympy.exp, inside=0),
    Op("expm1", 1, _real(mp.expm1), lambda x, y: (y + 1,), lambda x: sympy.exp(x) - 1, inside=0),
    Op("log", 1, _real(_log), lambda x, y: (1 / x,), sympy.log, names=("ln",), domain="x > 0", inside=1),
    Op("log1p", 1, _real(mp.log1p), lambda x, y: (1 / (1 + x),), lambda x: sympy.log(1 + x), domain="x > -1", inside=0),
    Op(
        "log2",
        1,
        _real(lambda x: _log(x) / mp.ln2),
        lambda x, y: (1 / (x * apply("log", 2)),),
        lambda x: sympy.log(x) / sympy.log(2),
        domain="x > 0",
        inside=1,
    ),
    Op(
        "log10",
        1,
        _real(lambda x: _log(x) / mp.ln10),
        lambda x, y: (1 / (x * apply("log", 10)),),
        lambda x: sympy.log(x) / sympy.log(10),
        domain="x > 0",
        inside=1,
    ),
    Op("sqrt", 1, _real(mp.sqrt), lambda x, y: (1 / (2 * y),), sympy.sqrt, domain="x >= 0", inside=1),
    Op(
        "cbrt",
        1,
        _real(lambda x: mp.sign(x) * mp.cbrt(abs(x))),
        lambda x, y: (1 / (3 * y**2),),
        lambda x: sympy.sign(x) * sympy.Abs(x) ** sympy.Rational(1, 3),
    ),
    Op(
        "hypot",
        2,
        _real(mp.hypot),
        lambda a, b, y: (a / _nonzero(y), b / _nonzero(y)),
        lambda a, b: sympy.sqrt(a**2 + b**2),
        kinks=_origin("x == y == 0"),
    ),
    # trigonometry
    Op("sin", 1, _real(mp.sin), lambda x, y: (apply("cos", x),), sympy.sin),
    Op("cos", 1, _real(mp.cos), lambda x, y: (-apply("sin", x),), sympy.cos),
    Op("tan", 1, _real(mp.tan), lambda x, y: (1 + y**2,), sympy.tan, domain="cos(x) != 0"),
    Op(
        "asin",
        1,
        _real(mp.asin),
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
        _real(mp.acos),
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
        _real(mp.atan),
        lambda x, y: (1 / (1 + x**2),),
        sympy.atan,
        names=("arctan",),
        spell={"numpy": "np.arctan"},
    ),
    Op(
        "atan2",
        2,
        _real(mp.atan2),
        lambda a, b, y: (b / _nonzero(a**2 + b**2), -a / _nonzero(a**2 + b**2)),
        sympy.atan2,
        names=("arctan2",),
        spell={"numpy": "np.arctan2"},
        kinks=_origin("x == y == 0"),
    ),
    # hyperbolic functions
    Op("sinh", 1, _real(mp.sinh), lambda x, y: (apply("cosh", x),), sympy.sinh, inside=0),
    Op("cosh", 1, _real(mp.cosh), lambda x, y: (apply("sinh", x),), sympy.cosh, inside=0),
    Op("tanh", 1, _real(mp.tanh), lambda x, y: (1 - y**2,), sympy.tanh),
    Op(
        "asinh",
        1,
        _real(mp.asinh),
        lambda x, y: (1 / apply("hypot", x, 1),),
        sympy.asinh,
        names=("arcsinh",),
        spell={"numpy": "np.arcsinh"},
    ),
    Op(
        "acosh",
        1,
        _real(mp.acosh),
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
        _real(mp.atanh),
        lambda x, y: (1 / ((1 - x) * (1 + x)),),
        sympy.atanh,
        names=("arctanh",),
        spell={"numpy": "np.arctanh"},
        domain="-1 < x < 1",
        inside=0,
    ),
    # error functions (NumPy has none: the printed file imports scipy.special)
    Op(
        "erf",
        1,
        _real(mp.erf),
        lambda x, y: (2 * apply("exp", -(x**2)) / apply("sqrt", _pi),),
        sympy.erf,
        spell={"numpy": "special.erf"},
    ),
    Op(
        "erfc",
        1,
        _real(mp.erfc),
        lambda x, y: (-2 * apply("exp", -(x**2)) / apply("sqrt", _pi),),
        sympy.erfc,
        spell={"numpy": "special.erfc"},
    ),
    # activations, in the form that neither overflows nor cancels
    Op(
        "sigmoid",
        1,
        _real(lambda x: 1 / (1 + _exp(-x))),
        lambda x, y: (y * (1 - y),),
        lambda x: 1 / (1 + sympy.exp(-x)),
        names=("expit",),
        expand=lambda x: (
            select(apply("ge", x, 0), ONE, apply("exp", -apply("abs", x))) / (1 + apply("exp", -apply("abs", x)))
        ),
    ),
    Op(
        "softplus",
        1,
        _real(lambda x: mp.log1p(_exp(x))),
        lambda x, y: (apply("sigmoid", x),),
        lambda x: sympy.log(1 + sympy.exp(x)),
        spell={"numpy": "np.logaddexp(0, {})"},
        expand=lambda x: apply("maximum", x, 0) + apply("log1p", apply("exp", -apply("abs", x))),
    ),
    Op(
        "relu",
        1,
        lambda x: x if x > 0 else mpmath.mpf(0) * x,
        lambda x, y: (select(apply("gt", y, 0), ONE, ZERO),),
        lambda x: sympy.Max(x, 0),
        expand=lambda x: apply("maximum", x, 0),
        kinks=_at_zero(0),
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
        kinks=_at_zero(0),
    ),
    Op(
        "sign",
        1,
        lambda x: int(x > 0) - int(x < 0) if x == x else x,
        None,
        sympy.sign,
        kinks=_at_zero(0),
    ),
    Op("floor", 1, _real(mp.floor), None, sympy.floor, kinks=_step("x is an integer")),
    Op("ceil", 1, _real(mp.ceil), None, sympy.ceiling, names=("ceiling",), kinks=_step("x is an integer")),
    Op(
        "maximum",
        2,
        lambda a, b: a if a >= b or a != a else b,
        lambda a, b, y: (_share("gt", a, b), _share("gt", b, a)),
        sympy.Max,
        names=("Max", "max"),
        kinks=_tie(_half, _half),
    ),
    Op(
        "minimum",
        2,
        lambda a, b: a if a <= b or a != a else b,
        lambda a, b, y: (_share("lt", a, b), _share("lt", b, a)),
        sympy.Min,
        names=("Min", "min"),
        kinks=_tie(_half, _half),
    ),
)

OPS: Mapping[str, Op] = {row.name: row for row in ROWS}
NAMES: Mapping[str, str] = {name: row.name for row in ROWS for name in (row.name, *row.names)}
