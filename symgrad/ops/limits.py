"""What operators are at an infinity, whatever number stands beside it: exp(-oo) is 0, and maximum(x, -oo) is x.

What a row computes there is asked of the row itself.
"""

from __future__ import annotations

import itertools
from functools import lru_cache
from typing import Any

from ..expr import Const, Expr, apply, const
from ..later import mp
from . import OPS

INFINITY = apply("oo")
ENDS = (INFINITY, -INFINITY)
_NUMBERS = (-2.5, -1.0, 0.0, 0.75, 1.0, 3.0)  # what an operand may be: an operator that differs at them has no limit


def limit(op: str, *args: Expr) -> Expr:
    """`op` where some arguments are infinite and the others any numbers; `op` itself where that has no one value."""
    if not any(a in ENDS for a in args):
        return apply(op, *args)
    kind, value = _probed(op, tuple(_number(a) for a in args))
    if kind == "argument":
        return args[int(value)]
    if kind == "infinite":
        return ENDS[0] if value > 0 else ENDS[1]
    return const(int(value)) if kind == "number" else apply(op, *args)


def _number(a: Expr) -> float | None:
    """The value of a literal or an infinity."""
    if a in ENDS:
        return float("inf") if a is INFINITY else float("-inf")
    return float(a.value) if isinstance(a, Const) else None


@lru_cache(maxsize=1024)
def _probed(op: str, known: tuple[float | None, ...]) -> tuple[str, float]:
    """What the row of `op` computes at these arguments, whatever number stands for None: a number, an infinity, one of
    the arguments, or nothing that is the same for all."""
    free = [k for k, x in enumerate(known) if x is None]
    results: list[tuple[Any, tuple[float, ...]]] = []
    for numbers in itertools.product(_NUMBERS, repeat=len(free)):
        chosen = dict(zip(free, numbers, strict=True))
        at = tuple(chosen[k] if x is None else x for k, x in enumerate(known))
        try:
            results.append((mp.mpf(OPS[op].value(*map(mp.mpf, at))), at))
        except (ArithmeticError, ValueError, TypeError):
            return "nothing", 0.0
    for k in range(len(known)):
        if all(value == at[k] for value, at in results):
            return "argument", float(k)
    first = results[0][0]
    if all(value == first for value, _ in results):
        if mp.isinf(first):
            return "infinite", float(first)
        return ("number", float(first)) if mp.isint(first) else ("nothing", 0.0)
    return "nothing", 0.0
