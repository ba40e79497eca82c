"""The operators with kinks and steps: sizes, signs, and the larger of two."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from ..expr import HALF, ONE, ZERO, Expr, apply, select
from .row import Op, function, jump, step

_half = Fraction(1, 2)


def _share(wins: str, a: Expr, b: Expr) -> Expr:
    """1 where `a` wins over `b`, a half of the gradient at a tie, else 0."""
    return select(apply("eq", a, b), HALF, select(apply(wins, a, b), ONE, ZERO))


def _extremum(name: str, wins: str, value: Callable[[Any, Any], Any], twin: str) -> Op:
    """The row of the larger or the smaller of two; the larger is that of logarithms, too."""
    return Op(name, 2, value, lambda a, b, y: (_share(wins, a, b), _share(wins, b, a)), twin,
              names=(twin, twin.lower()), integral=True, of_logs=wins == "gt", associative=True,
              scans=True, reduction=twin.lower(), spell={"triton": f"tl.{name}"},
              ball=lambda a, b: a.max(b) if wins == "gt" else a.min(b),
              kinks=jump("x == y", lambda x, y: bool(x == y), _half, _half))  # fmt: skip


_AT_ZERO = jump("x == 0", lambda x: bool(x == 0), 0)

KINKS: tuple[Op, ...] = (
    Op("abs", 1, abs, lambda x, y: (apply("sign", x),), "Abs", names=("Abs",),
       spell={"numpy": "np.abs", "c": "fabs", "triton": "tl.abs"}, kinks=_AT_ZERO, integral=True, nonnegative=True,
       ball=abs),
    Op("sign", 1, lambda x: int(x > 0) - int(x < 0) if x == x else x, None, "sign", spell={"pallas": "jnp.sign"},
       kinks=_AT_ZERO, cost=3,
       monotone=1,
       ball=lambda x: x.sgn(), bounded=True),
    function("floor", None, spell={"triton": "tl.floor"}, kinks=step("x is an integer"), monotone=1),
    function("ceil", None, "ceiling", names=("ceiling",), spell={"triton": "tl.ceil"}, kinks=step("x is an integer"),
             monotone=1),
    _extremum("maximum", "gt", lambda a, b: a if a >= b or a != a else b, "Max"),
    _extremum("minimum", "lt", lambda a, b: a if a <= b or a != a else b, "Min"),
)  # fmt: skip
