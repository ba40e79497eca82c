"""The partial derivatives of the operators, by SymPy: the first witness.

Each operator's SymPy twin is differentiated once and turned into a function of mpmath. At a kink the declared values
count. Where SymPy's form has no value but the operator is smooth, differences of the operator itself stand in.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import mpmath
from mpmath import mp

from ..expr import ZERO
from ..later import sympy
from ..ops import OPS, ROWS
from ..ops.arb import BY_ARB
from ..ops.primitive import Primitive

Partial = Callable[..., Any]

_STEPS: dict[str, Callable[..., Any]] = {
    "Heaviside": lambda x, at_zero=None: mpmath.mpf(int(x > 0)),
    "DiracDelta": lambda *x: mpmath.mpf(0),
    "sign": lambda x: mp.sign(x),
    **{row.name: row.value for row in ROWS if row.grows},
    "power": OPS["pow"].value,
}
ONE = mpmath.mpf(1)
BESIDE = 30  # bits that slopes share half a unit in the last place apart


@cache
def symbolic(op: str) -> tuple[Partial | int | None, ...]:
    """One function of the operator's arguments per partial derivative; an int for a constant one, None for zero."""
    if isinstance(op, Primitive):  # what its derivative is, the user has said; `primitives` compares it with the value
        return tuple(None if p is ZERO else functools.partial(_as_declared, op, k) for k, p in enumerate(op.partials))
    row = OPS[op]
    if row.result != "real":
        return (None,) * row.arity  # integers and truth values are locally constant
    symbols = sympy.symbols(f"a:{row.arity}", real=True)
    twin = row.twin(*symbols)
    return tuple(_compiled(sympy.diff(twin, s), symbols) for s in symbols)


def _as_declared(op: Primitive, which: int, *args: Any) -> Any:
    """The declared derivative; none where it is another one at the doubles beside: a value in double precision tells no
    slope there, of sin at 1e200."""
    if op.partials[which] is None:
        return mp.nan
    found = op.slope(which, args)
    if op.about.exact or not all(mp.isfinite(a) and abs(a) <= sys.float_info.max for a in args):
        return found
    beside = op.slope(which, [mpmath.mpf(float(a)) for a in args])
    return found if abs(found - beside) <= mp.ldexp(max(abs(found), abs(beside)), -BESIDE) else mp.nan


def _compiled(derivative: Any, symbols: tuple[Any, ...]) -> Partial | int | None:
    # what SymPy leaves as Derivative(floor(x), x), or writes with a delta, is zero wherever it exists
    derivative = derivative.replace(sympy.Derivative, lambda *a: sympy.Integer(0))
    derivative = derivative.replace(sympy.Subs, lambda *a: sympy.Integer(0))
    derivative = derivative.replace(sympy.DiracDelta, lambda *a: sympy.Integer(0))
    derivative = sympy.powsimp(derivative)  # a**b*b/a has no value at 0
    if derivative == 0:
        return None
    if derivative.is_Integer:
        return int(derivative)
    power = sympy.Function("power")
    derivative = derivative.replace(lambda e: e.is_Pow and not e.exp.is_Number, lambda e: power(*e.args))
    return sympy.lambdify(symbols, derivative, modules=[_STEPS, BY_ARB, "mpmath"])  # type: ignore[no-any-return]


def at_kink(op: str, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The declared derivatives if `op` has a kink exactly at `args`."""
    for kink in OPS[op].kinks:
        if kink.holds(*args):
            return tuple(mpmath.mpf(v.numerator) / v.denominator for v in kink.values)
    return None


def partial(op: str, which: int, args: tuple[Any, ...]) -> Any:
    """The derivative of `op` in one argument at `args`; NaN where there is none."""
    found = symbolic(op)[which]
    if found is None:
        return 0
    if isinstance(found, int):
        return found
    args = tuple([mpmath.mpf(a) if isinstance(a, int) else a for a in args])  # 1/3 of two ints would be a float
    try:
        value = found(*args)
    except (ZeroDivisionError, ValueError, OverflowError):
        value = mp.nan
    if type(value) is not mpmath.mpf and isinstance(value, mpmath.mpc) or not mp.isfinite(value):
        return mp.nan if isinstance(op, Primitive) else difference(op, which, args)
    return value


def difference(op: str, which: int, args: tuple[Any, ...]) -> Any:
    """A central difference of the operator, if two step widths agree on it."""
    if not all(mp.isfinite(a) for a in args):
        return mp.nan
    value = OPS[op].value
    slopes = []
    bits = mp.prec // 4
    # no wider than a fraction of 1, that x**n is not asked at the next whole n
    with mp.workprec(3 * mp.prec + 2 * max(0, int(mp.mag(args[which] or 1)))):
        for exponent in (bits, bits + 30):
            step = mp.ldexp(ONE, -exponent)
            up, down = (value(*args[:which], args[which] + s, *args[which + 1 :]) for s in (step, -step))
            slopes.append((up - down) / (2 * step))
    if not mp.isfinite(slopes[0]) or abs(slopes[0] - slopes[1]) > mp.ldexp(max(abs(slopes[0]), ONE), -40):
        return mp.nan
    return slopes[1]
