"""The operators that step or clip: rounding, remainders, signs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..expr import ONE, ZERO, Expr, apply, is_exact, select, value_of
from ..later import mp, mpmath, sympy
from .row import Op, function, jump, real


def _trunc(x: Any) -> Any:
    return mp.floor(x) if x >= 0 else mp.ceil(x)


def _fmod(a: Any, b: Any) -> Any:
    return a - b * _trunc(a / b)


def _floored(a: Expr, b: Expr) -> Expr:
    """The remainder with the sign of b, from the one with the sign of a."""
    rest = apply("fmod", a, b)
    below, above = apply("lt", rest, 0), apply("gt", rest, 0)
    if is_exact(b):
        beside = below if value_of(b) > 0 else above
    else:
        beside = apply("or", apply("and", below, apply("gt", b, 0)), apply("and", above, apply("lt", b, 0)))
    return select(beside, rest + b, rest)


def _clipped(x: Expr, low: Expr, high: Expr) -> Expr:
    if is_exact(low) and is_exact(high) and value_of(low) <= value_of(high):
        return select(apply("lt", x, low), low, select(apply("gt", x, high), high, x))
    return apply("minimum", apply("maximum", x, low), high)


def _remainder(name: str, value: Callable[[Any, Any], Any], twin: Any, **columns: Any) -> Op:
    return Op(name, 2, real(value), lambda a, b, y: (ONE, -(a - y) / b), twin, domain="y != 0", inside=(None, 1),
              series=False, **columns)  # fmt: skip


def _nearest(x: Any) -> Any:
    """In SymPy: of two integers that are equally near, the even one."""
    even = 2 * sympy.floor(x / 2 + sympy.Rational(1, 4))
    return sympy.Piecewise((even, sympy.Eq(x - sympy.floor(x), sympy.S.Half)), (sympy.floor(x + sympy.S.Half), True))


STEPS: tuple[Op, ...] = (
    function("trunc", None, lambda x: sympy.sign(x) * sympy.floor(sympy.Abs(x)), _trunc, monotone=1,
             spell={"numpy": "np.trunc", "torch": "torch.trunc", "c": "trunc"},
             expand=lambda x: select(apply("lt", x, 0), apply("ceil", x), apply("floor", x)),
             kinks=jump("x is an integer but 0", lambda x: bool(x == mp.floor(x) and x != 0), 0)),
    function("rint", None, _nearest, lambda x: mp.nint(x), names=("round",), monotone=1,
             spell={"torch": "torch.round", "triton": "_rint", "pallas": ""},
             kinks=jump("x is halfway between two integers", lambda x: bool(x - mp.floor(x) == mpmath.mpf(1) / 2), 0)),
    Op("heaviside", 2, lambda x, h: h if x == 0 else mpmath.mpf(int(x > 0)),
       lambda x, h, y: (ZERO, select(apply("eq", x, 0), ONE, ZERO)), "Heaviside", names=("Heaviside",),
       spell={"numpy": "np.heaviside"}, kinks=jump("x == 0", lambda x, h: bool(x == 0), 0, 1),
       expand=lambda x, h: select(apply("lt", x, 0), ZERO, select(apply("gt", x, 0), ONE, h))),
    # of real numbers; symgrad.declare chooses between this and `mod`, both are written %
    _remainder("modulo", lambda a, b: a - b * mp.floor(a / b), lambda a, b: a - b * sympy.floor(a / b),
               spell={"numpy": "np.mod", "torch": "torch.remainder"}, expand=_floored),
    _remainder("fmod", _fmod, lambda a, b: a - b * sympy.sign(a / b) * sympy.floor(sympy.Abs(a / b))),
    Op("copysign", 2, lambda a, b: -abs(a) if b < 0 else abs(a),
       lambda a, b, y: (apply("sign", a) * apply("copysign", 1, b), ZERO),
       lambda a, b: sympy.Abs(a) * sympy.Piecewise((-1, b < 0), (1, True)),
       kinks=jump("x == 0", lambda a, b: bool(a == 0), 0, 0)),
    # torch: the bounds belong to the inside; where low > high the result is high
    Op("clip", 3, lambda x, low, high: min(max(x, low), high),
       lambda x, low, high, y: (
           select(apply("and", apply("ge", x, low), apply("le", x, high)), ONE, ZERO),
           select(apply("and", apply("lt", x, low), apply("le", low, high)), ONE, ZERO),
           select(apply("or", apply("gt", x, high), apply("gt", low, high)), ONE, ZERO)),
       lambda x, low, high: sympy.Min(sympy.Max(x, low), high), names=("clamp",),
       spell={"numpy": "np.clip", "torch": "torch.clip"}, expand=_clipped, integral=True,
       kinks=(
           *jump("low <= x == high or low == x <= high", lambda x, a, b: bool(a <= x <= b and x in (a, b)), 1, 0, 0),
           *jump("x < low == high", lambda x, low, high: bool(x < low == high), 0, 1, 0),
           *jump("x > low == high", lambda x, low, high: bool(x > low == high), 0, 0, 1))),
)  # fmt: skip
