"""Forms in which a rounding counts once, where it would count as often as a power says.

The rounding of s/r counts twelve times in (s/r)**12, but once in s**12/r**12, which `power_ratio` keeps in the range.
"""

from __future__ import annotations

from ..expr import Apply, Expr, apply, factors, is_exact, product, value_of
from .reuse import operator

LEAST = 3  # the power of a quotient from which on it is written as a quotient of powers


def of_powers(node: Expr) -> Expr:
    """(a/b)**k as a**k / b**k, with what else there is of a above the line and of b below it."""
    if operator(node) not in ("mul", "div", "pow"):
        return node
    above, below = factors(node)
    for f in above:
        found = _power_ratio(f)
        if found is not None:
            above.remove(f)
            a, m, b, n = found
            m, n = m + _taken(above, a), n + _taken(below, b)
            return product([*above, apply("power_ratio", a, m, b, n)]) / product(below)
    return node


def _power_ratio(node: Expr) -> tuple[Expr, int, Expr, int] | None:
    """a, m, b, n where `node` is (a/b)**m, or is a**m / b**n already."""
    if not isinstance(node, Apply):
        return None
    if node.op == "power_ratio":
        a, m, b, n = node.args
        return (a, int(value_of(m)), b, int(value_of(n))) if is_exact(m) and is_exact(n) else None
    if node.op == "pow" and operator(node.args[0]) == "div" and is_exact(node.args[1]):
        k, (a, b) = value_of(node.args[1]), node.args[0].args
        return (a, int(k), b, int(k)) if k >= LEAST and k.denominator == 1 else None
    return None


def _taken(side: list[Expr], base: Expr) -> int:
    """How often `base` is among the factors of one side, which are removed."""
    count = sum(f.key is base.key for f in side)
    side[:] = [f for f in side if f.key is not base.key]
    return count
