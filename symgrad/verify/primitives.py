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
from ..expr import Const, postorder
from ..ops.primitive import Primitive
from ..records import dataclass
from .cases import Case
from .partials import difference
from .reference import Declaration
from .rounding.number import of

STEPS = range(4, 46, 2)  # as powers of 1/2, of the argument or of 1
MOST = 8  # points of one case at which one primitive is asked
POINTS, DRAWS = 50, 500  # at which one is asked besides; and how many are tried
ROUNDING = 8.0  # units roundoff by which a Python function is taken to be off, at least; more if it says so
FINE = 2.0**-18  # part of the argument: at smaller steps differences change by rounding alone, and tell how much
SURE = 4.0  # times as much as the least that is uncertain
TELLING = 10.0  # times as sure is a step that contradicts the surest one
LEAST = 5e-324  # between two numbers
TINY = 1e-280  # the last step is a normal number yet
SAME = mpmath.ldexp(1, -20)  # of slopes at neighbouring doubles
AGREE = mpmath.ldexp(1, -30)  # of differences of a value to all digits



@dataclass(frozen=True, slots=True)
class Look:
    """A difference: how much it changes from the step before, what rounding may have made of it, and the slopes to the
    left and to the right, with those of the step before."""

    slope: float
    change: float
    noise: float
    sides: tuple[float, float]
    before: tuple[float, float]


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


def mistakes_anywhere(op: Primitive, rng: np.random.Generator) -> str | None:
    """What is wrong with its derivatives at arguments of its domain that nobody calls it with at the points of a
    check: a table is wrong in one of its intervals."""
    ends = sorted({float(n.value) for c in op.about.domain for n in postorder(c) if isinstance(n, Const)})
    found = 0
    for _ in range(DRAWS):
        args = [_drawn(ends, rng) for _ in op.partials]
        if not mp.isfinite(op.value(*map(mpmath.mpf, args))):
            continue
        said = _mistake(op, args)
        found += 1
        if said is not None or found == POINTS:
            return said
    return None


def _drawn(ends: Sequence[float], rng: np.random.Generator) -> float:
    """A number: of any magnitude, or between two that the domain speaks of."""
    magnitude = float(rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(-2.0, 4.0))
    between = [float(rng.uniform(a, b)) for a, b in itertools.combinations(ends, 2)]
    return float(rng.choice([float(rng.standard_normal()), float(rng.uniform(0.0, 5.0)), magnitude, *between]))


def _mistake(op: Primitive, args: list[float]) -> str | None:
    for which, formula in enumerate(op.partials):
        if formula is None or not all(map(np.isfinite, args)):
            continue
        exactly = tuple(map(mpmath.mpf, args))
        declared = op.slope(which, exactly)
        if not mp.isfinite(declared) or not mp.isfinite(op.value(*exactly)) or not _settled(op, which, args, declared):
            continue
        found = _exact(op, which, exactly, declared) if op.about.exact else _slope(op, which, args, float(declared))
        if found is not None:
            shown = ", ".join(f"{n} = {a:.9g}" for n, a in zip(op.about.arguments, args, strict=True))
            of = op.about.arguments[which]
            return (
                f"its declared derivative in {of} is {mp.nstr(declared, 12)} at {shown}, and differences of its value "
                f"give {mp.nstr(mpmath.mpf(found), 12)}"
            )
    return None


def _settled(op: Primitive, which: int, args: list[float], declared: Any) -> bool:
    """Whether the declared derivative is about the same at the next doubles: that of sin at 1e200 is not, and no step
    between doubles is short enough for a difference."""
    for end in (-np.inf, np.inf):
        beside = [*args[:which], float(np.nextafter(args[which], end)), *args[which + 1 :]]
        found = op.slope(which, [mpmath.mpf(a) for a in beside])
        if abs(found - declared) > SAME * max(abs(found), abs(declared)):
            return False
    return True


def _exact(op: Primitive, which: int, args: tuple[Any, ...], declared: Any) -> Any | None:
    """The slope, if it is not the declared one; None, too, where there is none."""
    found = difference(op, which, args)
    wrong = mp.isfinite(found) and abs(found - declared) > AGREE * max(abs(found), 1)
    return found if wrong else None


def _slope(op: Primitive, which: int, args: list[float], declared: float) -> float | None:
    """The same of a value in double precision: that which is surest, where the declared one is none that a finer step,
    sure enough to tell, has."""
    x = args[which]

    def value(at: float) -> float:
        return float(op.value(*(mpmath.mpf(at if k == which else a) for k, a in enumerate(args))))

    middle = value(x)
    looks: list[Look] = []
    for scale in dict.fromkeys((abs(x), 1.0)):
        rows: list[tuple[float, float, float, float]] = []  # the step; the slopes across, to the left, to the right
        largest = abs(middle)
        for exponent in STEPS if scale > TINY else ():
            up, down = x + scale * 2.0**-exponent, x - scale * 2.0**-exponent
            above, below = value(up), value(down)
            if down < x < up and np.isfinite(above) and np.isfinite(below):
                slopes = (above - below) / (up - down), (middle - below) / (x - down), (above - middle) / (up - x)
                rows.append((up - x, *slopes))
                largest = max(largest, abs(above), abs(below))
        pairs = list(itertools.pairwise(rows))
        fine = [abs(b[1] - a[1]) * b[0] for a, b in pairs if b[0] <= FINE * scale]
        noise = max([max(ROUNDING, op.about.ulps) * max(float(np.finfo(float).eps) * largest, LEAST), *fine])
        looks += [Look(b[1], abs(b[1] - a[1]), noise / b[0], b[2:], a[2:]) for a, b in pairs]
    if not looks:
        return None  # at an end of the domain
    best = min(looks, key=lambda look: look.change + look.noise)
    off, uncertain = abs(best.slope - declared), SURE * (best.change + best.noise)
    (left, right), (left_before, right_before) = best.sides, best.before
    kink = abs(right - left) >= abs(right_before - left_before) / 2
    between = min(left, right) - uncertain <= declared <= max(left, right) + uncertain
    finer = (look for look in looks if look.noise <= off / TELLING)
    if off <= uncertain or kink and between or any(abs(look.slope - declared) <= SURE * look.noise for look in finer):
        return None
    return best.slope
