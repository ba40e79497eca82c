"""What a check has found so far."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import mpmath
from mpmath import mp, nstr

from .cases import Case, one_point
from .compare import Judged, place
from .report import MOST, Accuracy, Finding, Report, Worst, brief, point

HUGE = 5000  # bits before the point, or zeros after it, of a number that is not written out


COUNTED = ("function", "target", "points", "discarded", "undecided", "worst", "stopped", "planned")


class Findings:
    """Failures and losses, each kind once; and the points that were compared."""

    def __init__(self, function: str, target: str, seed: int) -> None:
        self.function, self.target, self.seed = function, target, seed
        self.failures: dict[tuple[str, str], Finding] = {}
        self.losses: dict[str, tuple[float, Finding]] = {}
        self.lossy: set[tuple[int, int]] = set()  # (case, point of it)
        self.accuracy = Accuracy()
        self.worst = Worst()
        self.points = self.planned = self.undecided = self.discarded = 0
        self.stopped = ""

    def report(self) -> Report:
        """What was found."""
        return Report(
            **{name: getattr(self, name) for name in COUNTED},
            failures=tuple(self.failures.values()),
            losses=tuple(f for _, f in self.losses.values()),
            accuracy=replace(self.accuracy, points=len(self.lossy)),
        )

    def fail(
        self, stage: str, where: str, said: str, case: Case | None, expected: Any = None, obtained: Any = None
    ) -> None:
        """Something is wrong."""
        key = stage, where.split("[")[0] + said[:24]
        known = self.failures.get(key)
        self.failures[key] = (
            _again(known) if known is not None else self.finding(stage, where, said, case, expected, obtained)
        )

    def finding(
        self, stage: str, where: str, said: str, case: Case | None, expected: Any = None, obtained: Any = None
    ) -> Finding:
        """One thing that is wrong, with its point."""
        words = "" if case is None else point(case.label, case.inputs, case.options, case.seeds)
        number = None if case is None else case.number
        return Finding(stage, where, said, words, _show(expected), _show(obtained), self.seed, number)

    def lose(self, stage: str, name: str, judged: Judged, case: Case) -> None:
        """The formula loses accuracy."""
        where, bits, expected, obtained = place(name, judged.position), judged.bits, judged.expected, judged.obtained
        said = f"{bits:.0f} bits lost" if bits < 1e6 else "overflows"
        number = judged.position[0] if case.count > 1 else 0
        self.lossy.add((case.number, number))
        whole = min(round(bits), MOST + 1)
        if not self.accuracy.worst or whole > self.accuracy.bits:
            spot = name if case.packed or case.count > 1 else where
            self.accuracy = Accuracy(whole, worst=f"{spot} at {brief(one_point(case, number))}")
        finding = self.finding(stage, where, said, case, expected, obtained)
        before = self.losses.get(name)
        if before is not None:
            finding = _again(before[1]) if before[0] >= bits else _again(finding, before[1].times)
        self.losses[name] = (max(bits, before[0] if before else 0.0), finding)


def _again(finding: Finding, times: int = 0) -> Finding:
    return replace(finding, times=finding.times + max(times, 1))


def _show(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, (str, float)):
        return value if isinstance(value, str) else repr(value)
    # the digits of such a number would take minutes
    if isinstance(value, mpmath.mpf) and value and mp.isfinite(value) and abs(mp.mag(value)) > HUGE:
        return f"{'-' if value < 0 else ''}2^{mp.nstr(mp.mpf(mp.mag(value)), 3)}"
    return str(nstr(value, 20))
