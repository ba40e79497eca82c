"""Expressions in floating point, step by step, and how many bits that loses.

Arithmetic is the processor's, every function is computed by mpmath to 53 bits and put into the range of a double: the
same on every machine, so that what is decided by it is the same. The functions of libraries are a unit or so worse.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import mpmath
from mpmath import mp

from ..expr import Apply, Const, Expr, Ref
from ..ops import OPS

BITS = 53  # of a double
REACH = 2**14  # bits before the point
GROWING = frozenset({"exp", "expm1", "sinh", "cosh"})
GROWN = 14  # of a number with more bits before the point, these have left the reach
HUGE = mpmath.ldexp(1, 2 * REACH)
EXACT, NEVER, SLACK = -(10**9), 10**9, 8  # powers of 2 that bound errors, and what a bound is rounded up by
NOTHING = 64.0  # bits lost where there is no number at all
MANY = 2**14  # values of functions that are kept
QUICK = frozenset("add sub mul div neg abs select eq ne lt le gt ge and or not".split())  # quicker than to look up


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
        if isinstance(node, Apply):
            value = _value(node.op, [done[a] for a in node.args])
            if isinstance(value, mpmath.mpf):
                _, mantissa, exponent, bits = value._mpf_
                if mantissa and exponent + bits > REACH:
                    return mp.nan
            done[node] = value
        elif isinstance(node, Const):
            done[node] = mpmath.mpf(node.value.numerator) / node.value.denominator
        elif isinstance(node, Ref):
            done[node] = at[node]
    return done[root]


def certain(root: Expr, at: Mapping[Ref, Any], digits: int) -> Any:
    """The value in mpmath, where a bound of its error says that so many bits of it are right, whatever cancels in it;
    None where that is not known. What stands in `at` is exact.
    """
    done: dict[Expr, Any] = {}
    errors: dict[Expr, int] = {}  # each at most 2 to this power
    sizes: dict[Expr, int] = {}
    for node in values(root):
        args = node.args if isinstance(node, Apply) else ()
        if isinstance(node, Ref):
            value, error = at[node], EXACT
        elif isinstance(node, Const):
            above, below = node.value.as_integer_ratio()
            value = mpmath.mpf(above) / below
            error = EXACT if below & (below - 1) == 0 else int(mp.mag(value)) - mp.prec
        elif isinstance(node, Apply) and node.op in ERRORS:
            value = mpmath.mpf(_value(node.op, [done[a] for a in args]))
        else:
            return None
        _, mantissa, exponent, bits = value._mpf_
        size = exponent + bits
        if not mantissa or size > REACH:  # 0, infinite, or none
            return None
        if isinstance(node, Apply):
            error = ERRORS[node.op](size, [sizes[a] for a in args], [errors[a] for a in args])
            error = max(error, size - mp.prec) + SLACK
        done[node], errors[node], sizes[node] = value, error, size
    return done[root] if errors[root] < sizes[root] - digits else None


def in_doubles(root: Expr, at: Mapping[Ref, Any]) -> float:
    """What floating point makes of `root`."""
    done: dict[Expr, float] = {}
    for node in values(root):
        if isinstance(node, Apply):
            args = [done[a] for a in node.args]
            exactly = ROUNDED.get(node.op)
            done[node] = exactly(*args) if exactly else _rounded(node.op, *args)
        elif isinstance(node, Const):
            done[node] = node.value.numerator / node.value.denominator
        elif isinstance(node, Ref):
            done[node] = float(at[node])
    return done[root]


def _value(op: str, args: Sequence[Any]) -> Any:
    """An operator in mpmath; of a function, what was computed before: forms are compared at the same points."""
    if op in QUICK:
        return OPS[op].value(*args)
    if op in GROWING and mp.isfinite(args[0]) and mp.mag(args[0]) > GROWN and (args[0] > 0 or op in ("sinh", "cosh")):
        return HUGE
    place = (op, mp.prec, *(getattr(a, "_mpf_", a) for a in args))
    if place not in _known:
        if len(_known) >= MANY:
            _known.clear()
        _known[place] = OPS[op].value(*args)
    return _known[place]


_known: dict[tuple[Any, ...], Any] = {}


@lru_cache(maxsize=MANY)
def _rounded(op: str, *args: float) -> float:
    with mp.workprec(BITS):
        return float(OPS[op].value(*map(mpmath.mpf, args)))


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


Bound = Callable[[int, list[int], list[int]], int]


def _relative(times: int) -> Bound:
    """Of a function whose relative error is that of its first argument, times 2**times."""
    return lambda size, s, e: e[0] - s[0] + size + times if e[0] < s[0] - 4 else NEVER


def _by_slope(most: Callable[[int, int], int]) -> Bound:
    """Of a function whose slope, near its argument, is less than 2**most(size of the result, size of the argument)."""
    return lambda size, s, e: e[0] + most(size, s[0]) if e[0] < -max(s[0], 0) - 4 else NEVER


def _of_numbers(size: int, s: list[int], e: list[int]) -> int:
    """Of a function with slopes of all sizes: it is known where its arguments are exact."""
    return EXACT if all(x == EXACT for x in e) else NEVER


def _power(size: int, s: list[int], e: list[int]) -> int:
    more = max(s[1], 0) + 2
    return e[0] - s[0] + size + more if e[1] == EXACT and e[0] < s[0] - more - 2 else NEVER


_flat, _grows = _by_slope(lambda size, s: 1), _by_slope(lambda size, s: max(size, 1) + 2)

ERRORS: Mapping[str, Bound] = {  # of the result, by its size, and by the sizes and errors of the arguments
    "pi": lambda size, s, e: EXACT,
    "neg": lambda size, s, e: e[0],
    "abs": lambda size, s, e: e[0],
    "sign": lambda size, s, e: EXACT if e[0] < s[0] - 1 else NEVER,
    "add": lambda size, s, e: max(e) + 1,
    "sub": lambda size, s, e: max(e) + 1,
    "maximum": lambda size, s, e: max(e),
    "minimum": lambda size, s, e: max(e),
    "hypot": lambda size, s, e: max(e) + 1,
    "mul": lambda size, s, e: max(e[0] + s[1], e[1] + s[0], sum(e)) + 2,
    "div": lambda size, s, e: max(e[0], e[1] + size) - s[1] + 3 if e[1] < s[1] - 4 else NEVER,
    "pow": _power,
    "sqrt": _relative(1),
    "log": lambda size, s, e: e[0] - s[0] + 2 if e[0] < s[0] - 4 else NEVER,
    "log_ratio": lambda size, s, e: max(e[0] - s[0], e[1] - s[1], -mp.prec) + 4 if e[1] < s[1] - 4 else NEVER,
    "logaddexp": lambda size, s, e: max(*e, max(*s, 1) - mp.prec) + 1,
    "exp": _by_slope(lambda size, s: size + 1),
    "sigmoid": _by_slope(lambda size, s: size + 1),
    "softplus": _by_slope(lambda size, s: size + 1),
    "erfc": _by_slope(lambda size, s: size + max(s, 0) + 3),
    **dict.fromkeys(("sin", "cos", "tanh", "atan", "asinh", "erf"), _flat),
    **dict.fromkeys(("sinh", "cosh", "expm1"), _grows),
    **dict.fromkeys(("asin", "acos", "atan2", "tan", "atanh", "acosh", "log1p", "log2", "log10"), _of_numbers),
}


def bits_lost(found: float, truth: Any) -> float:
    """log2(1 + ulps), with the units in the last place of a double: 0 where the result is the nearest double, 64 where
    it is no number."""
    if not math.isfinite(found):
        return 0.0 if math.isinf(found) and float(truth) == found else NOTHING
    place = max(int(mp.mag(truth)) if truth else -1073, -1021) - BITS
    return min(float(mp.log(1 + abs(found - truth) * mpmath.ldexp(1, -place), 2)), NOTHING)
