"""The bits that printed code loses against the truth, at the points of a check."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import mpmath
import numpy as np
from mpmath import mp

from ..ir import Function
from ..records import dataclass
from .adjoint import Artefact
from .calls import Call
from .cases import Case, one_point, refuses_infinity, refuses_nothing
from .execution import expected_of
from .reference import Declaration
from .report import brief
from .sampling import sample
from .text import Array
from .truth import truth

BITS = 53  # of a double
NOTHING = 64.0  # bits lost where there is no number at all


@dataclass(frozen=True, slots=True)
class Loss:
    """Bits lost by one output or gradient: log2(1 + ulps), and 64 where the code gives no number but there is one.

    name   the output, or grad_ and the input
    count  the elements that were compared, at all points
    mean   the bits that they lose on average
    most   the bits that the worst of them loses
    worst  the inputs at which it does; empty where nothing is lost
    """

    name: str
    count: int = 0
    mean: float = 0.0
    most: float = 0.0
    worst: str = ""


class Losses(tuple[tuple[Loss, Loss], ...]):
    """Of each output and gradient what the formula as it is written loses, and what is printed for it."""

    def __repr__(self) -> str:
        head = "Bits lost in float64, on average and at most"
        width = max((len(loss.name) for loss, _ in self), default=0)
        rows = self._rows()
        lines = [f"    {name:<{width}}   {words} {mean:>6} {most:>6}{worst}" for name, words, mean, most, worst in rows]
        return "\n".join([head, *(lines or ["    nothing is real here"])])

    def _repr_markdown_(self) -> str:
        rows = [f"| {f'`{name}`' if name else ''} | {' | '.join(rest)} |" for name, *rest in self._rows()]
        head = "| bits lost in float64 | | on average | at most | |"
        return "\n".join([head, "| --- | --- | ---: | ---: | --- |", *rows])

    def _rows(self) -> Iterator[tuple[str, str, str, str, str]]:
        for before, after in self:
            for name, words, loss in ((before.name, "as written", before), ("", "as printed", after)):
                yield name, words, f"{loss.mean:.2f}", f"{loss.most:.1f}", f"   at {loss.worst}" if loss.worst else ""


def losses(function: Function, artefacts: Sequence[Artefact], seed: int = 0) -> tuple[tuple[Loss, ...], ...]:
    """What float64 loses in each of the artefacts, which all compute `function` and its J^T v."""
    declaration = Declaration(function)
    lost: list[dict[str, list[tuple[float, Case, int]]]] = [{} for _ in artefacts]
    for case in sample(declaration, seed=seed).cases:
        found = truth(declaration, case)
        expected = expected_of(function, case, found)
        with mp.workprec(found.bits):
            for artefact, bits in zip(artefacts, lost, strict=True):
                results = _results(function, artefact, case)
                for name, (array, _) in expected.items():
                    bits.setdefault(name, []).extend(_bits(array, results.get(name), case))
    return tuple(tuple(_loss(name, rows) for name, rows in bits.items() if rows) for bits in lost)


def _results(function: Function, artefact: Artefact, case: Case) -> Mapping[str, Any]:
    """What is computed at a point; nothing where LAPACK refuses a matrix that is singular, or has overflowed."""
    try:
        return Call(function, artefact, case, np.float64).results()
    except Exception as error:
        if refuses_infinity(error) or refuses_nothing(case, error):
            return {}
        raise


def _bits(truths: Array, value: Any, case: Case) -> Iterator[tuple[float, Case, int]]:
    """What each element loses, and at which point; integers, and elements without a finite truth, are left out."""
    given = np.full(truths.shape, np.nan) if value is None else np.asarray(value, float).reshape(truths.shape)
    for position, exact in np.ndenumerate(truths):
        if not isinstance(exact, int) and mp.isfinite(exact):
            yield bits_lost(float(given[position]), exact), case, position[0] if case.count > 1 else 0


def _loss(name: str, rows: Sequence[tuple[float, Case, int]]) -> Loss:
    most, case, number = max(rows, key=lambda row: row[0])
    mean = sum(row[0] for row in rows) / len(rows)
    return Loss(name, len(rows), mean, most, brief(one_point(case, number)) if most else "")


def bits_lost(found: float, truth: Any) -> float:
    """log2(1 + ulps), with the units in the last place of a double: 0 where the result is the nearest double, 64 where
    it is no number."""
    if not math.isfinite(found):
        return 0.0 if math.isinf(found) and float(truth) == found else NOTHING
    _, mantissa, exponent, bits = exact = mp.convert(truth)._mpf_
    place = max(exponent + bits if mantissa else -1073, -1021) - BITS
    off = mpmath.libmp.mpf_shift(mpmath.libmp.mpf_sub(mpmath.libmp.from_float(found), exact, mp.prec, "n"), -place)
    return min(_of_ulps(abs(mpmath.libmp.to_float(off))), NOTHING)


@lru_cache(maxsize=2**14)
def _of_ulps(ulps: float) -> float:
    with mp.workprec(BITS):
        return float(mp.log(1 + ulps, 2))
