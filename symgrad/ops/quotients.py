"""Quotients of powers that stay in the range, and in which the rounding of no part counts as often as the power says.

Nobody writes them: they are what gradients of powers of quotients, of angles and of unit vectors are printed by.
"""

from __future__ import annotations

from ..expr import ONE, Expr, apply, ref, select
from .elementary import power
from .row import Helper, Op, everywhere, nonzero, origin, real

_x, _y = map(ref, ("x", "y"))


def _exponent(x: Expr) -> Expr:
    """That of the power of two below abs(x)."""
    return apply("floor", apply("log2", apply("abs", nonzero(x))))


_m, _n, _above, _below = map(ref, ("m", "n", "above", "below"))

_POWER_RATIO = Helper(
    "x**m / y**n, of numbers scaled by powers of two, which rounds nothing: neither power leaves the range.",
    (
        ("above", _exponent(_x)),
        ("below", _exponent(_y)),
        ("ratio", (_x / apply("exp2", _above)) ** _m / (_y / apply("exp2", _below)) ** _n),
        ("result", ref("ratio") * apply("exp2", _m * _above - _n * _below)),
    ),
    ("x", "m", "y", "n"),
)

_larger, _smaller, _ratio = map(ref, ("larger", "smaller", "ratio"))
_steep = apply("gt", apply("abs", _x), apply("abs", _y))

_INVERSION = Helper(
    "x / (x**2 + y**2), by the quotient of the smaller and the larger: no square leaves the range.",
    (
        ("larger", select(_steep, _x, _y)),
        ("smaller", select(_steep, _y, _x)),
        ("ratio", _smaller / nonzero(_larger)),
        ("result", select(_steep, ONE, _ratio) / nonzero(_larger + _smaller * _ratio)),
    ),
    ("x", "y"),
)

QUOTIENTS: tuple[Op, ...] = (
    Op(
        "inversion",  # in the unit circle: x / (x**2 + y**2) whose squares neither overflow nor underflow
        2,
        real(lambda x, y: x if x == 0 else x / (x * x + y * y)),
        lambda x, y, result: (apply("inversion", y, x) ** 2 - result**2, -2 * result * apply("inversion", y, x)),
        lambda x, y: x / (x**2 + y**2),
        spell=everywhere("inversion"),
        helper=_INVERSION,
        kinks=origin("x == y == 0"),
    ),
    Op(
        "power_ratio",  # x**m / y**n whose powers neither overflow nor underflow
        4,
        real(lambda x, m, y, n: power(x, m) / power(y, n)),
        lambda x, m, y, n, result: (
            m * apply("power_ratio", x, m - 1, y, n),
            result * apply("log", nonzero(x)),
            -n * apply("power_ratio", x, m, y, n + 1),
            -result * apply("log", nonzero(y)),
        ),
        lambda x, m, y, n: x**m / y**n,
        spell=everywhere("power_ratio"),
        helper=_POWER_RATIO,
        domain="x > 0, or y an integer; z > 0, or z != 0 and w an integer",
        inside=2,
    ),
)
