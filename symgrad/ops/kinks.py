"""The operators with kinks and steps: sizes, signs, and the larger of two."""

from __future__ import annotations

from fractions import Fraction

import sympy
from mpmath import mp

from ..expr import HALF, ONE, ZERO, Expr, apply, select
from . import errors
from .row import Op, jump, real, step

_half = Fraction(1, 2)


def _share(wins: str, a: Expr, b: Expr) -> Expr:
    """1 where `a` wins over `b`, a half of the gradient at a tie, else 0."""
    return select(apply("eq", a, b), HALF, select(apply(wins, a, b), ONE, ZERO))


KINKS: tuple[Op, ...] = (
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
        integral=True,
        nonnegative=True,
        error=errors.largest,
        ieee=abs,
    ),
    Op(
        "sign",
        1,
        lambda x: int(x > 0) - int(x < 0) if x == x else x,
        None,
        sympy.sign,
        kinks=jump("x == 0", lambda x: bool(x == 0), 0),
        cost=3,
        monotone=1,
        error=errors.signed,
    ),
    Op("floor", 1, real(mp.floor), None, sympy.floor, kinks=step("x is an integer"), monotone=1),
    Op("ceil", 1, real(mp.ceil), None, sympy.ceiling, names=("ceiling",), kinks=step("x is an integer"), monotone=1),
    Op(
        "maximum",
        2,
        lambda a, b: a if a >= b or a != a else b,
        lambda a, b, y: (_share("gt", a, b), _share("gt", b, a)),
        sympy.Max,
        names=("Max", "max"),
        kinks=jump("x == y", lambda x, y: bool(x == y), _half, _half),
        integral=True,
        associative=True,
        scans=True,
        error=errors.largest,
    ),
    Op(
        "minimum",
        2,
        lambda a, b: a if a <= b or a != a else b,
        lambda a, b, y: (_share("lt", a, b), _share("lt", b, a)),
        sympy.Min,
        names=("Min", "min"),
        kinks=jump("x == y", lambda x, y: bool(x == y), _half, _half),
        integral=True,
        associative=True,
        scans=True,
        error=errors.largest,
    ),
)
