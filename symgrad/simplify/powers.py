"""The sine of a double angle as one."""

from __future__ import annotations

from collections.abc import Callable

from ..expr import (
    TWO,
    Expr,
    apply,
    factors,
    fraction,
    operator,
    transformer,
)
from ..precision.orders import sided_by


def double_angles() -> Callable[[Expr], Expr]:
    """Writes 2 sin(t/2) cos(t/2) as sin(t)."""

    def rewrite(node: Expr) -> Expr:
        if operator(node) not in ("mul", "div"):
            return node
        wanted, _ = sided(node)
        if TWO not in wanted:
            return node
        if all(operator(f) != "sin" or apply("cos", *f.args) not in wanted for f in wanted):
            return node
        above, below = factors(node)
        f = next(f for f in above if f in wanted and operator(f) == "sin" and apply("cos", *f.args) in wanted)
        for used in (f, apply("cos", *f.args), TWO):
            above.remove(used)
        return fraction([*above, apply("sin", f.args[0].args[0])], below)

    sided = sided_by("mul", "div", lambda f: f is TWO or _of_half(f))
    return transformer(rewrite)


def _of_half(f: Expr) -> bool:
    """Whether it is the sine or the cosine of t/2."""
    if operator(f) not in ("sin", "cos"):
        return False
    (u,) = f.args
    return operator(u) == "div" and u.args[1] is TWO
