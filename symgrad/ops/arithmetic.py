"""The operators of arithmetic, comparison and logic, and the choice between two values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..expr import ONE, ZERO, Const, apply, select
from ..later import flint, mp, mpmath, np, sympy
from .row import LARGE, Op, Partials, exponential, real

GONE = -1100  # binary exponent of what is 0 in floating point, with some to spare
INTEGER_DIVISION = 9  # additions that an integer division takes, about


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
    exact = (int, np.ndarray)
    return a // b if isinstance(a, exact) and isinstance(b, exact) else mp.floor(a / b)


def _root(a: Any) -> Any:
    return math.isqrt(a) if isinstance(a, int) else mp.floor(mp.sqrt(a))


def _compares(name: str, value: Callable[[Any, Any], int], *names: str) -> Op:
    return Op(name, 2, value, None, names[0], names, result="bool", kind="comparison", cost=1)


def _decides(name: str, arity: int, value: Callable[..., int], *names: str, associative: bool = False) -> Op:
    return Op(name, arity, value, None, names[0], names, result="bool", kind="logic", cost=1, associative=associative)


def _ring(name: str, noun: str, between: str, value: Callable[[Any, Any], Any],
          partials: Callable[..., Partials], **columns: Any) -> Op:  # fmt: skip
    """The row of a sum, a difference or a product."""
    return Op(name, 2, value, partials, value, kind="arithmetic", noun=noun, between=between, cost=1, integral=True,
              ball=value, **columns)  # fmt: skip


WHOLE = 2**20  # of a larger power a ball is that of a logarithm


def power_of_balls(a: Any, b: Any) -> Any:
    """The power of balls of python-flint."""
    if not abs(b) < WHOLE:
        return (b * a.log()).exp()
    if b.is_integer():
        return a ** int(b.unique_fmpz())
    return a.sqrt() ** int((2 * b).unique_fmpz()) if (2 * b).is_integer() else (b * a.log()).exp()


def _of_integers(name: str, value: Callable[[Any, Any], Any], twin: Any, *names: str) -> Op:
    return Op(name, 2, value, None, twin, names, result="int", domain="y != 0", inside=(None, 1), kind="integer",
              cost=INTEGER_DIVISION)  # fmt: skip


ARITHMETIC: tuple[Op, ...] = (
    Op("pi", 0, lambda: +mp.pi, None, lambda: sympy.pi, spell={"numpy": "np.pi", "torch": "torch.pi", "c": "PI"},
       kind="number", cost=0,
       ball=lambda: flint.arb.pi()),
    # arithmetic
    _ring("add", "sum", "plus", lambda a, b: a + b, lambda a, b, y: (ONE, ONE), associative=True,
          scans=True, reduction="sum"),
    _ring("sub", "difference", "minus", lambda a, b: a - b, lambda a, b, y: (ONE, -ONE)),
    _ring("mul", "product", "times", lambda a, b: a * b, lambda a, b, y: (b, a), associative=True,
          scans=True, reduction="prod"),
    Op("div", 2, real(lambda a, b: a / b), lambda a, b, y: (1 / b, -y / b), lambda a, b: a / b, domain="y != 0",
       inside=(None, 1), kind="arithmetic", noun="quotient", between="over", cost=3,
       ball=lambda a, b: a / b),
    Op("neg", 1, lambda x: -x, lambda x, y: (-ONE,), lambda x: -x, kind="arithmetic", noun="negative", cost=1,
       integral=True, monotone=-1,
       ball=lambda x: -x),
    Op("pow", 2, power,
       lambda a, b, y: (select(apply("eq", b, 0), ZERO, b * a ** (b - 1)),
                        None if isinstance(b, Const) else
                        select(apply("and", apply("eq", a, 0), apply("ge", b, 0)), ZERO, y * apply("log", a))),
       lambda a, b: a**b, names=("power",), domain="x > 0, or y an integer", inside=(1, None), kind="power",
       noun="power", single=True,
       ball=power_of_balls),
    _of_integers("floordiv", _floordiv, lambda a, b: sympy.floor(a / b)),
    _of_integers("mod", lambda a, b: a % b, "Mod", "Mod", "remainder"),
    # comparison and logic
    _compares("lt", lambda a, b: int(a < b), "Lt", "less"),
    _compares("le", lambda a, b: int(a <= b), "Le", "less_equal"),
    _compares("gt", lambda a, b: int(a > b), "Gt", "greater"),
    _compares("ge", lambda a, b: int(a >= b), "Ge", "greater_equal"),
    _compares("eq", lambda a, b: int(a == b), "Eq", "equal"),
    _compares("ne", lambda a, b: int(a != b), "Ne", "not_equal"),
    _decides("and", 2, lambda a, b: int(bool(a and b)), "And", "logical_and", associative=True),
    _decides("or", 2, lambda a, b: int(bool(a or b)), "Or", "logical_or", associative=True),
    _decides("not", 1, lambda a: int(not a), "Not", "logical_not"),
    Op("select", 3, lambda c, a, b: a if c else b,
       lambda c, a, b, y: (None, select(c, ONE, ZERO), select(c, ZERO, ONE)),
       lambda c, a, b: sympy.Piecewise((a, c), (b, True)), names=("where",), kind="choice", noun="choice", cost=1,
       integral=True, series=False),
)  # fmt: skip

# the steps between checkpoints, of the number of all: nothing that a user writes
ISQRT = Op("isqrt", 1, _root, None, lambda x: sympy.floor(sympy.sqrt(x)), spell={"numpy": "math.isqrt"},
                  result="int", domain="x >= 0", kind="integer", cost=INTEGER_DIVISION, nonnegative=True)  # fmt: skip
