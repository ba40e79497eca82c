"""The value of a formula in mpmath, with as many digits as are asked for, and in doubles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from ..expr import ARGUMENT, Apply, Const, Expr, Ref, values
from ..later import mp, mpmath, np
from ..ops import OPS
from ..precision.measure import Doubles

REACH = 2**14  # bits before the point
GROWN = 14  # of a number with more bits before the point, an exponential has left the reach
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


def computed_at(body: Expr, points: Sequence[float]) -> Any:
    """What doubles make of a formula of one number."""
    with np.errstate(all="ignore"):
        return np.broadcast_to(Doubles({ARGUMENT: np.array(points, np.float64)}).of(body), (len(points),))
