"""The derivative of a piece that a `where` has under an equality of data: of x**2 in where(x == 1, x**2, x**3).

Such a piece says nothing of slopes: the equality holds nowhere beside. The slope of the function is that of the
neighbouring piece, if the two have one value wherever the equality holds; else the function jumps there, and the
derivative is declared to be that of the piece. Told by numbers:

* the condition is another one beside the point, in any direction;
* the neighbour has the value of the piece at the point, or as its limit where it is 0/0;
* and has it at the points beside for which the equality holds: their slopes differ across the equality alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import mpmath
import numpy as np
from mpmath import mp

from .groups import Visit
from .symmetric import symmetric_inputs
from .text import Array, moved

if TYPE_CHECKING:
    from .reference import Trace

STEPS = (650, 674)  # bits by which the points beside are off, at most; each pair in a direction of its own
WIDER = 6  # times as many bits as a step has, in which the points beside are looked at
WAYS = tuple((sign, which) for which in range(len(STEPS)) for sign in (1, -1))

Slopes = Mapping[str, Array]  # by input


@dataclass(frozen=True, slots=True)
class Share:
    """What the selected piece passes on of its cotangent: to a slot of the neighbour, or to the inputs at once."""

    slot: tuple[Visit, int] | None
    inputs: Slopes


class Neighbours:
    """What the pieces of one trace that stand under equalities pass on; computed where it is asked for."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.known: dict[tuple[Visit, int], Share | None] = {}
        self.beside: dict[tuple[int, int], tuple[Trace, Mapping[Any, Visit]]] = {}

    def share(self, visit: Visit, number: int) -> Share | None:
        """Of the `where` in a slot; None where the selected piece has its own derivative."""
        ties = [args for args in visit.group.equalities[number] if _tied(visit, args)]
        if not ties:
            return None
        if (visit, number) not in self.known:
            self.known[visit, number] = None  # while it is looked for
            self.known[visit, number] = self._found(visit, number, ties)
        return self.known[visit, number]

    def _found(self, visit: Visit, number: int, ties: list[tuple[int, ...]]) -> Share | None:
        values = visit.values
        assert values is not None
        condition, *pieces = visit.group.codes[number][2]
        mine, other = pieces if values[condition] else reversed(pieces)
        for way in WAYS:
            there = self._visit(visit, way)
            if there is None or there.values is None or bool(there.values[condition]) == bool(values[condition]):
                return None
        flipped = replace(visit, values=list(values), order=None, partials={})
        assert flipped.values is not None
        constants = self.trace.constants[visit.group]
        visit.group.completed(flipped.values, (other,), flipped.at, constants, self.trace.element)
        value = flipped.values[other]
        if mp.isfinite(value):
            if not _close(value, values[mine], mp.prec // 2):
                return None
            slopes: Slopes | None = self.trace.slope({flipped: {other: 1}})
            share = Share((flipped, other), {})
        else:
            slopes = self._limit(visit, other, values[mine])
            share = Share(None, slopes or {})
        return share if slopes is not None and self._agrees(visit, mine, slopes, ties) else None

    def _limit(self, visit: Visit, other: int, value: Any) -> Slopes | None:
        """The slopes of the neighbour beside the point, if it goes to the value from all sides, and they to a limit."""
        bits = min(mp.prec // 2, *STEPS) // 2
        with mp.workprec(self._precision()):
            found: list[Slopes] = []
            for way in WAYS:
                there = self._visit(visit, way)
                if there is None or there.values is None or there.values[other] is None:
                    return None
                if not _close(there.values[other], value, bits):
                    return None
                found.append(self.beside[way][0].slope({there: {other: 1}}))
            if not all(_alike(found[-1], slopes, bits) for slopes in found):
                return None
            one, two = found[-2:]
            return {n: (one[n] + two[n]) / 2 for n in one}

    def _precision(self) -> int:
        return WIDER * min(int(mp.prec) // 2, max(STEPS))

    def _agrees(self, visit: Visit, mine: int, slopes: Slopes, ties: list[tuple[int, ...]]) -> bool:
        """Whether the slopes of the two pieces differ across the equalities alone."""
        bits = mp.prec // 8
        own: Slopes = self.trace.slope({visit: {mine: 1}})
        gap = {n: slopes[n] - own[n] for n in own}
        size = max((abs(v) for s in (slopes, own) for a in s.values() for v in a.flat), default=mpmath.mpf(0))
        if not mp.isfinite(size):
            return False
        for a, b in ties:
            across = self._across(self.trace, visit, a, b)
            length = sum((v * v for s in across.values() for v in np.ravel(s)), mpmath.mpf(0))
            if length and mp.isfinite(length):
                pairs = (p for n in gap for p in zip(np.ravel(gap[n]), np.ravel(across[n]), strict=True))
                part = sum((v * w for v, w in pairs), mpmath.mpf(0))
                gap = {n: gap[n] - across[n] * (part / length) for n in gap}
            else:  # r[0]**2 + r[1]**2 == 0: whatever it depends on
                there = self._visit(visit, (1, 0))
                assert there is not None
                across = self._across(self.beside[1, 0][0], there, a, b)
                gap = {n: np.where(across[n] == 0, gap[n], 0) for n in gap}
        return all(abs(v) <= mpmath.ldexp(size, -bits) for s in gap.values() for v in np.ravel(s))

    def _across(self, trace: Trace, visit: Visit, a: int, b: int) -> Slopes:
        return trace.slope({visit: {a: mpmath.mpf(1), b: mpmath.mpf(-1)}})

    def _visit(self, visit: Visit, way: tuple[int, int]) -> Visit | None:
        """The same point of the same box, in a trace of inputs beside."""
        if way not in self.beside:
            try:
                trace = self._moved(*way)
            except IndexError:
                return None
            fibres = (f for record in trace.records for f in record)
            visits = {(v.group, *v.at.values()): v for f in fibres for v, _ in f.members}
            self.beside[way] = trace, visits
        return self.beside[way][1].get((visit.group, *visit.at.values()))

    def _moved(self, sign: int, which: int) -> Trace:
        trace = self.trace
        function = trace.function
        step = mpmath.ldexp(sign, -min(mp.prec // 2 + which, STEPS[which]))
        rng = np.random.default_rng(which)
        symmetric = symmetric_inputs(function)
        inputs = dict(trace.inputs)
        with mp.workprec(self._precision()):
            for name in sorted(trace.given):
                if function.table[name].dtype == "real" and name not in symmetric:
                    sizes = [mp.fabs(v) or 1 for v in np.asarray(inputs[name]).ravel().tolist()]
                    # no two ways are equal
                    ways = (mpmath.mpf(rng.uniform(0.5, 2)) * int(rng.choice([-1, 1])) for _ in sizes)
                    inputs[name] = moved(inputs[name], (step * s * w for s, w in zip(sizes, ways, strict=True)))
            return trace.declaration.trace(inputs, trace.options)


def _tied(visit: Visit, args: tuple[int, ...]) -> bool:
    assert visit.values is not None
    a, b = (visit.values[k] for k in args)
    return a is not None and b is not None and bool(a == b)


def _alike(one: Slopes, two: Slopes, bits: int) -> bool:
    return all(_close(a, b, bits) for n in one for a, b in zip(one[n].flat, two[n].flat, strict=True))


def _close(a: Any, b: Any, bits: int) -> bool:
    if not (mp.isfinite(a) and mp.isfinite(b)):
        return False
    return bool(abs(a - b) <= mpmath.ldexp(max(abs(a), abs(b), 1), -bits))
