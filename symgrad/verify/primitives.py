"""The declared derivatives of functions of the user's, against differences of their values.

A value in double precision has no slope to many digits: of several steps the one counts at which what rounding may have
done, and how much the difference still changes from step to step, are least. Where the slopes to both sides stay apart,
there is a kink, at which either side, or what is between, is a derivative.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import mpmath
import numpy as np
from mpmath import mp

from ..evaluate import APPLY
from ..ops.primitive import Primitive
from .cases import Case
from .partials import difference
from .reference import Declaration
from .rounding.number import of

STEPS = range(4, 46, 2)  # as powers of 1/2, of the argument or of 1
MOST = 8  # points of one case at which one primitive is asked
ROUNDING = 8.0  # units roundoff by which a Python function may be off
SURE = 4.0  # times as much as the least that is uncertain
TINY = 1e-280  # the last step is a normal number yet
AGREE = mpmath.ldexp(1, -30)  # of differences of a value to all digits


Row = tuple[float, float, float, float]  # the slopes across a point, to its left and to its right; their noise


def functions(own: Sequence[Primitive]) -> dict[Primitive, Any]:
    """What stands for them where a text is executed."""
    return {op: of(op.value, op.about.ulps) for op in own}


def mistakes(declaration: Declaration, case: Case) -> Iterator[tuple[str, str]]:
    """What is wrong with derivatives at the arguments that the functions are called with: whose, and what."""
    trace = declaration.attempt(case.inputs, case.options) if case.count else None
    asked: dict[Primitive, int] = {}
    told: set[Primitive] = set()
    visits = (visit for record in (trace.records if trace else ()) for f in record for visit, _ in f.members)
    for visit in visits:
        for number, (kind, _, slots) in enumerate(visit.group.codes):
            op = visit.group.ops[number]
            if kind != APPLY or not isinstance(op, Primitive) or op in told or asked.get(op, 0) == MOST:
                continue
            args = [visit.values[s] for s in slots]
            if any(a is None or not mp.isfinite(a) for a in args):
                continue
            asked[op] = asked.get(op, 0) + 1
            said = _mistake(op, [float(a) for a in args])
            if said is not None:
                told.add(op)
                yield op.about.name, said


def _mistake(op: Primitive, args: list[float]) -> str | None:
    for which, formula in enumerate(op.partials):
        if formula is None or not all(map(np.isfinite, args)):
            continue
        exactly = tuple(map(mpmath.mpf, args))
        declared = op.slope(which, exactly)
        if not mp.isfinite(declared) or not mp.isfinite(op.value(*exactly)):
            continue
        found = _exact(op, which, exactly, declared) if op.about.exact else _slope(op, which, args, float(declared))
        if found is not None:
            shown = ", ".join(f"{n} = {a:.9g}" for n, a in zip(op.about.arguments, args, strict=True))
            of = op.about.arguments[which]
            return (
                f"its declared derivative in {of} is {mp.nstr(declared, 9)} at {shown}, and differences of its value "
                f"give {mp.nstr(mpmath.mpf(found), 9)}"
            )
    return None


def _exact(op: Primitive, which: int, args: tuple[Any, ...], declared: Any) -> Any | None:
    """The slope, if it is not the declared one; None, too, where there is none."""
    found = difference(op, which, args)
    wrong = mp.isfinite(found) and abs(found - declared) > AGREE * max(abs(found), 1)
    return found if wrong else None


def _slope(op: Primitive, which: int, args: list[float], declared: float) -> float | None:
    """The same of a value in double precision."""
    x = args[which]

    def value(at: float) -> float:
        return float(op.value(*(mpmath.mpf(at if k == which else a) for k, a in enumerate(args))))

    middle, unit = value(x), float(np.finfo(float).eps)
    pairs: list[tuple[Row, Row]] = []
    for scale in {abs(x), 1.0}:
        rows: list[Row] = []
        for exponent in STEPS if scale > TINY else ():
            up, down = x + scale * 2.0**-exponent, x - scale * 2.0**-exponent
            above, below = value(up), value(down)
            if down < x < up and np.isfinite(above) and np.isfinite(below):
                noise = ROUNDING * unit * max(abs(middle), abs(above), abs(below)) / (up - x)
                slopes = (above - below) / (up - down), (middle - below) / (x - down), (above - middle) / (up - x)
                rows.append((*slopes, noise))
        pairs += itertools.pairwise(rows)
    if not pairs:
        return None  # at an end of the domain
    doubt = [abs(fine[0] - coarse[0]) + fine[3] for coarse, fine in pairs]
    best = int(np.argmin(doubt))
    (_, *before, _), (slope, *sides, _) = pairs[best]
    uncertain = SURE * doubt[best]
    if abs(slope - declared) <= uncertain:
        return None
    kink = abs(sides[1] - sides[0]) >= abs(before[1] - before[0]) / 2
    if kink and min(sides) - uncertain <= declared <= max(sides) + uncertain:
        return None
    return slope
