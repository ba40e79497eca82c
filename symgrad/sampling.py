"""Expressions in floating point, step by step, and how many bits that loses.

Arithmetic is the processor's, every function is computed by mpmath to 53 bits and put into the range of a double: the
same on every machine, so that what is decided by it is the same. The functions of libraries are a unit or so worse.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import mpmath
from mpmath import mp

from .expr import Apply, Const, Expr, Ref
from .ops import OPS

BITS = 53  # of a double
REACH = 2**14  # bits before the point
NOTHING = 64.0  # bits lost where there is no number at all


@lru_cache(maxsize=4096)
def values(root: Expr) -> tuple[Expr, ...]:
    """The nodes that are computed, each after what it is computed from: subscripts are not, they choose a number."""
    seen: dict[Expr, None] = {}
    stack = [root]
    while stack:
        node = stack[-1]
        waiting = [] if isinstance(node, Ref) else [a for a in node.args if a not in seen]
        if node in seen or not waiting:
            seen[node] = None
            stack.pop()
        else:
            stack.extend(waiting)
    return tuple(seen)


def value_of_formula(root: Expr, at: Mapping[Ref, Any]) -> Any:
    """The value in mpmath at the working precision; NaN beyond a number whose sine would need all digits of pi."""
    done: dict[Expr, Any] = {}
    for node in values(root):
        if isinstance(node, Const):
            done[node] = mpmath.mpf(node.value.numerator) / node.value.denominator
        elif isinstance(node, Ref):
            done[node] = at[node]
        elif isinstance(node, Apply):
            value = OPS[node.op].value(*(done[a] for a in node.args))
            if isinstance(value, mpmath.mpf) and value and mp.isfinite(value) and mp.mag(value) > REACH:
                return mp.nan
            done[node] = value
    return done[root]


def in_doubles(root: Expr, at: Mapping[Ref, Any]) -> float:
    """What floating point makes of `root`."""
    done: dict[Expr, float] = {}
    with mp.workprec(BITS):
        for node in values(root):
            if isinstance(node, Const):
                done[node] = node.value.numerator / node.value.denominator
            elif isinstance(node, Ref):
                done[node] = float(at[node])
            elif isinstance(node, Apply):
                args = [done[a] for a in node.args]
                exactly = ROUNDED.get(node.op)
                done[node] = exactly(*args) if exactly else float(OPS[node.op].value(*map(mpmath.mpf, args)))
    return done[root]


def _quotient(a: float, b: float) -> float:
    if b:
        return a / b
    return math.nan if a == 0 or a != a else math.copysign(math.inf, a) * math.copysign(1, b)


ROUNDED: Mapping[str, Callable[..., float]] = {  # by the processor, as the standard of floating point says
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": _quotient,
    "neg": lambda a: -a,
    "abs": abs,
    "sqrt": lambda a: math.sqrt(a) if a >= 0 else math.nan,
}


def bits_lost(found: float, truth: Any) -> float:
    """log2(1 + ulps), with the units in the last place of a double: 0 where the result is the nearest double, 64 where
    it is no number."""
    if not math.isfinite(found):
        return 0.0 if math.isinf(found) and float(truth) == found else NOTHING
    place = max(int(mp.mag(truth)) if truth else -1073, -1021) - BITS
    return min(float(mp.log(1 + abs(found - truth) * mpmath.ldexp(1, -place), 2)), NOTHING)
