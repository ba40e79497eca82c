"""Expressions in floating point, step by step, and how many bits that loses.

Arithmetic is the processor's, every function is computed by mpmath to 53 bits and put into the range of a double: the
same on every machine, so that what is decided by it is the same. The functions of libraries are a unit or so worse.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

from ..expr import Apply, Const, Expr, Ref, values
from ..later import mp, mpmath
from ..ops import OPS
from ..ops.errors import EXACT

BITS = 53  # of a double
REACH = 2**14  # bits before the point
GROWN = 14  # of a number with more bits before the point, an exponential has left the reach
SLACK = 8  # what a bound of an error, an exponent of 2, is rounded up by
NOTHING = 64.0  # bits lost where there is no number at all
MANY = 2**14  # values of functions that are kept


@lru_cache(maxsize=4096)
def computed(root: Expr) -> tuple[Expr, ...]:
    """The `values` of a formula that is computed at many points; forms are compared in the order of its leaves here."""
    return tuple(values(root, last=True))


def value_of_formula(root: Expr, at: Mapping[Ref, Any]) -> Any:
    """The value in mpmath at the working precision; NaN beyond a number whose sine would need all digits of pi."""
    done: dict[Expr, Any] = {}
    for node in computed(root):
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
    for node in computed(root):
        args = node.args if isinstance(node, Apply) else ()
        if isinstance(node, Ref):
            value, error = at[node], EXACT
        elif isinstance(node, Const):
            above, below = node.value.as_integer_ratio()
            value = mpmath.mpf(above) / below
            error = EXACT if below & (below - 1) == 0 else int(mp.mag(value)) - mp.prec
        elif isinstance(node, Apply) and OPS[node.op].error is not None:
            value = mpmath.mpf(_value(node.op, [done[a] for a in args]))
        else:
            return None
        _, mantissa, exponent, bits = value._mpf_
        size = exponent + bits
        if not mantissa or size > REACH:  # 0, infinite, or none
            return None
        if isinstance(node, Apply):
            bound = OPS[node.op].error
            assert bound is not None
            error = bound(size, [sizes[a] for a in args], [errors[a] for a in args])
            error = max(error, size - mp.prec) + SLACK
        done[node], errors[node], sizes[node] = value, error, size
    return done[root] if errors[root] < sizes[root] - digits else None


def in_doubles(root: Expr, at: Mapping[Ref, Any]) -> float:
    """What floating point makes of `root`."""
    done: list[float] = []
    for node, compute, args in _steps(root):
        done += (float(at[node]) if compute is None else compute(*[done[a] for a in args]),)
    return done[-1]


@lru_cache(maxsize=4096)
def _steps(root: Expr) -> list[tuple[Any, Callable[..., float] | None, list[int]]]:
    """What is computed, in order; how, unless it is given; and the places of its arguments."""
    place = {node: k for k, node in enumerate(computed(root))}
    return [(n, _in_doubles(n), [place[a] for a in n.args] if isinstance(n, Apply) else []) for n in place]


def _in_doubles(node: Expr) -> Callable[..., float] | None:
    if isinstance(node, Apply):
        return OPS[node.op].ieee or partial(_rounded, node.op)
    return partial(float, float(node.value)) if isinstance(node, Const) else None


def _value(op: str, args: Sequence[Any]) -> Any:
    """An operator in mpmath; of a function, what was computed before: forms are compared at the same points."""
    row = OPS[op]
    if row.cheap:  # quicker than to look up
        return row.value(*args)
    if row.grows and mp.isfinite(args[0]) and mp.mag(args[0]) > GROWN and (args[0] > 0 or row.grows == "both"):
        return mpmath.ldexp(1, 2 * REACH)
    place = (op, mp.prec, *(getattr(a, "_mpf_", a) for a in args))
    if place not in _known:
        if len(_known) >= MANY:
            _known.clear()
        _known[place] = row.value(*args)
    return _known[place]


_known: dict[tuple[Any, ...], Any] = {}


@lru_cache(maxsize=MANY)
def _rounded(op: str, *args: float) -> float:
    with mp.workprec(BITS):
        return float(OPS[op].value(*map(mpmath.mpf, args)))


def bits_lost(found: float, truth: Any) -> float:
    """log2(1 + ulps), with the units in the last place of a double: 0 where the result is the nearest double, 64 where
    it is no number."""
    if not math.isfinite(found):
        return 0.0 if math.isinf(found) and float(truth) == found else NOTHING
    _, mantissa, exponent, bits = exact = mp.convert(truth)._mpf_
    place = max(exponent + bits if mantissa else -1073, -1021) - BITS
    off = mpmath.libmp.mpf_shift(mpmath.libmp.mpf_sub(mpmath.libmp.from_float(found), exact, mp.prec, "n"), -place)
    return min(_bits(abs(mpmath.libmp.to_float(off))), NOTHING)


@lru_cache(maxsize=MANY)
def _bits(ulps: float) -> float:
    with mp.workprec(BITS):
        return float(mp.log(1 + ulps, 2))
