"""The bits that printed code loses against the truth, at the points of a check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from mpmath import mp

from ..ir import Function
from ..numerics.floating import bits_lost
from .adjoint import Artefact
from .calls import Call
from .cases import Case, one_point, refuses_infinity, refuses_nothing
from .execution import expected_of
from .reference import Declaration
from .report import brief
from .sampling import sample
from .text import Array
from .truth import truth


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


def losses(function: Function, artefacts: Sequence[Artefact], seed: int = 0) -> tuple[tuple[Loss, ...], ...]:
    """What float64 loses in each of the artefacts, which all compute `function` and its J^T v."""
    declaration = Declaration(function)
    tallies: list[dict[str, _Tally]] = [{} for _ in artefacts]
    for case in sample(declaration, seed=seed).cases:
        found = truth(declaration, case)
        expected = expected_of(function, case, found)
        with mp.workprec(found.bits):
            for artefact, tally in zip(artefacts, tallies, strict=True):
                results = _results(function, artefact, case)
                for name, (array, _) in expected.items():
                    tally.setdefault(name, _Tally()).add(array, results.get(name), case)
    return tuple(tuple(tally[name].loss(name) for name in tally if tally[name].count) for tally in tallies)


def _results(function: Function, artefact: Artefact, case: Case) -> Mapping[str, Any]:
    """What is computed at a point; nothing where LAPACK refuses a matrix that is singular, or has overflowed."""
    try:
        return Call(function, artefact, case, np.float64).results()
    except Exception as error:
        if refuses_infinity(error) or refuses_nothing(case, error):
            return {}
        raise


class _Tally:
    """The bits lost so far by one output or gradient."""

    def __init__(self) -> None:
        self.count, self.total, self.most, self.worst = 0, 0.0, 0.0, ""

    def add(self, truths: Array, value: Any, case: Case) -> None:
        """Compare one result; integers, and elements that have no finite truth, are left out."""
        given = np.full(truths.shape, np.nan) if value is None else np.asarray(value, float).reshape(truths.shape)
        for position, exact in np.ndenumerate(truths):
            if isinstance(exact, int) or not mp.isfinite(exact):
                continue
            bits = bits_lost(float(given[position]), exact)
            self.count, self.total = self.count + 1, self.total + bits
            if bits > self.most:
                self.most = bits
                self.worst = brief(one_point(case, position[0] if case.count > 1 else 0))

    def loss(self, name: str) -> Loss:
        return Loss(name, self.count, self.total / self.count, self.most, self.worst)


