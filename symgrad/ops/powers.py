"""Powers minus 1, and those of numbers near 1, without the digits that they lose as they are written.

The names are SciPy's (powm1) and those of IEEE 754-2019 (compound). Where a base is below 0 they are the power itself:
that of an integer is a number there, and a logarithm is none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..expr import ONE, ZERO, Expr, apply, ref, select
from ..later import mp
from .arithmetic import power, power_of_balls
from .row import Helper, Op, Partials, everywhere, real

_x, _y, _exponent = map(ref, ("x", "y", "exponent"))


def _slopes(base: Expr, y: Expr, power: Expr, below: Expr, log: Expr) -> Partials:
    """Of base**y, as those of a power: y times that of y - 1, 0 where y is; and the power times the logarithm of the
    base, 0 where that is, and y is not below."""
    gone = apply("and", apply("eq", base, 0), apply("ge", y, 0))
    return select(apply("eq", y, 0), ZERO, y * below), select(gone, ZERO, power * log)


def _row(
    name: str,
    about: str,
    lines: tuple[tuple[str, Expr], ...],
    minus: int,
    base: Callable[[Any], Any],
    derivative: Callable[[Expr, Expr, Expr], Partials],
    domain: str,
    inside: float,
) -> Op:
    def value(x: Any, y: Any) -> Any:
        b = base(x)
        return mp.expm1(y * mp.log(b)) if minus and b > 0 and mp.isfinite(b) else power(b, y) - minus

    def ball(x: Any, y: Any) -> Any:
        return (y * base(x).log()).expm1() if minus and base(x) > 0 else power_of_balls(base(x), y) - minus

    return Op(
        name, 2, real(value), derivative, lambda x, y: base(x) ** y - minus, spell=everywhere(name),
        helper=Helper(about, lines, ("x", "y")), domain=domain, inside=(inside, None), series=False, ball=ball,
    )  # fmt: skip


_small = apply("lt", apply("abs", _exponent), ONE)
_positive = apply("gt", _x, ZERO)
_above = apply("gt", _x, -ONE)
_near = apply("lt", apply("abs", _x), ONE / 2)

POWERS: tuple[Op, ...] = (
    _row(
        "powm1",
        "x**y - 1, by an exponential where the power is near 1.",
        (
            ("exponent", _y * apply("log", select(_positive, _x, ONE))),
            ("result", select(apply("and", _positive, _small), apply("expm1", _exponent), _x**_y - 1)),
        ),
        1,
        lambda x: x,
        lambda x, y, result: _slopes(x, y, result + 1, x ** (y - 1), apply("log", x)),
        "x > 0, or y an integer",
        1,
    ),
    _row(
        "compound",
        "(1 + x)**y, by an exponential where 1 + x would round what counts.",
        (
            ("exponent", _y * apply("log1p", select(_near, _x, ZERO))),
            ("result", select(_near, apply("exp", _exponent), (1 + _x) ** _y)),
        ),
        0,
        lambda x: 1 + x,
        lambda x, y, result: _slopes(1 + x, y, result, apply("compound", x, y - 1), apply("log1p", x)),
        "x > -1, or y an integer",
        0,
    ),
    _row(
        "compoundm1",
        "(1 + x)**y - 1, by an exponential where 1 + x would round what counts, or the power is near 1.",
        (
            ("exponent", _y * apply("log1p", select(_above, _x, ZERO))),
            (
                "result",
                select(apply("and", _above, apply("or", _near, _small)), apply("expm1", _exponent), (1 + _x) ** _y - 1),
            ),
        ),
        1,
        lambda x: 1 + x,
        lambda x, y, result: _slopes(1 + x, y, result + 1, apply("compound", x, y - 1), apply("log1p", x)),
        "x > -1, or y an integer",
        0,
    ),
)
