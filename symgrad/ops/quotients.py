"""A quotient that stays in the range, and in which no rounding counts twice.

Nobody writes it: it is what gradients of angles and of unit vectors are printed by.
"""

from __future__ import annotations

from ..expr import ONE, apply, ref, select
from .row import Helper, Op, everywhere, nonzero, origin, real

_x, _y = map(ref, ("x", "y"))
_larger, _smaller, _ratio, _below = map(ref, ("larger", "smaller", "ratio", "below"))
_steep = apply("gt", apply("abs", _x), apply("abs", _y))

_INVERSION = Helper(
    "x / (x**2 + y**2), by the quotient of the smaller and the larger: no square leaves the range.",
    (
        ("larger", select(_steep, _x, _y)),
        ("smaller", select(_steep, _y, _x)),
        ("ratio", _smaller / nonzero(_larger)),
        ("below", _larger + _smaller * _ratio),
        ("result", select(_steep, ONE, _ratio) / nonzero(_below)),
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
        ball=lambda x, y: x / (x * x + y * y),
    ),
)
