"""Quotients that stay in the range, where what is divided leaves it.

Nobody writes them: they are what gradients of angles and of unit vectors are printed by, and cosh(k*z)/cosh(k*h).
"""

from __future__ import annotations

from typing import Any

from ..expr import ONE, Expr, apply, ref, select
from ..later import sympy
from .row import EVERYWHERE, Helper, Op, everywhere, expm1, exponential, nonzero, origin, real

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


def _hyperbolic(above: str, below: str) -> Op:
    """One hyperbolic function by another: the larger exponentials, which may overflow, stand in one difference."""

    def part(name: str, u: Expr) -> Expr:  # by exp(abs(u))/2
        decaying = -2 * apply("abs", u)
        return 1 + apply("exp", decaying) if name == "cosh" else -apply("sign", u) * apply("expm1", decaying)

    def part_of(name: str, u: Any) -> Any:
        if name == "cosh":
            return 1 + exponential(-2 * abs(u))
        return expm1(-2 * abs(u)) * (1 if u < 0 else -1)

    other = {"sinh": "cosh", "cosh": "sinh"}
    growth = apply("exp", apply("abs", _x) - apply("abs", _y))
    return Op(
        f"{above}_by_{below}",
        2,
        real(lambda x, y: exponential(abs(x) - abs(y)) * part_of(above, x) / part_of(below, y)),
        lambda x, y, result: (
            apply(f"{other[above]}_by_{below}", x, y),
            -result * (apply("tanh", y) if below == "cosh" else 1 / apply("tanh", y)),
        ),
        lambda x, y: getattr(sympy, above)(x) / getattr(sympy, below)(y),
        spell=everywhere(f"{above}_by_{below}"),
        helper=Helper(
            f"{above}(x)/{below}(y), where both may overflow.",
            (("result", growth * part(above, _x) / part(below, _y)),),
            ("x", "y"),
        ),
        domain="y != 0" if below == "sinh" else EVERYWHERE,
        inside=(None, 1) if below == "sinh" else (),
        series=False,
        ball=lambda x, y: getattr(x, above)() / getattr(y, below)(),
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
        ball=lambda x, y: x if x == 0 else x / (x * x + y * y),
    ),
    *(_hyperbolic(above, below) for above in ("cosh", "sinh") for below in ("cosh", "sinh")),
)
