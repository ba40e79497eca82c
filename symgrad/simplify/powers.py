"""Products that are one function: the sine of a double angle, and a power beside its base."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..expr import (
    ONE,
    TWO,
    Expr,
    apply,
    factors,
    fraction,
    operator,
    transformer,
)
from ..ir import Equation
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


def with_powers_joined(equations: Sequence[Equation]) -> list[Equation]:
    """With u**v for u * u**(v - 1), the slope of a power where that of its base is a multiple of the base. Where u is 0
    and v between 0 and 1 the product is 0 * oo."""

    def rewrite(node: Expr) -> Expr:
        if operator(node) not in ("mul", "div") or not sided(node)[0]:
            return node
        above, below = factors(node)
        for f in above:
            if _one_less(f) and f.args[0] in above:
                above[above.index(f)] = f.args[0] ** f.args[1].args[0]
                above.remove(f.args[0])
                return fraction(above, below)
        return node

    sided = sided_by("mul", "div", _one_less)
    joined = transformer(rewrite)
    return [e.with_body(joined(e.body)) for e in equations]


def _one_less(f: Expr) -> bool:
    """Whether it is a power with the exponent v - 1."""
    return operator(f) == "pow" and operator(f.args[1]) == "sub" and f.args[1].args[1] is ONE
