"""What a check has found: as it goes on, as data, and as the text that a user reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

import mpmath
import numpy as np
from mpmath import mp, nstr

from ..records import dataclass, replace
from .cases import Case, one_point
from .compare import Judged, place

SHOWN = 6  # elements of an array, failures of a report
MOST = 53  # bits that a double has to lose
WIDE = 48  # characters of a point in one line
HUGE = 5000  # bits before the point, or zeros after it, of a number that is not written out
COUNTED = ("function", "target", "points", "discarded", "undecided", "worst", "stopped", "planned", "left_out")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong, or one loss of accuracy.

    stage      the witness that saw it: "text", "float64", "float32", "witnesses", "memory", "adjoint" ...
    place      the element: `grad_x[0,2]`; or what was called
    said       what is wrong, in words
    point      the call: label, inputs, options and grad_output, short
    expected, obtained
    seed, case  reproduce it; no case where it is not of one
    times      how many more were like it
    """

    stage: str
    place: str
    said: str
    point: str = ""
    expected: str = ""
    obtained: str = ""
    seed: int = 0
    case: int | None = None
    times: int = 1

    def __str__(self) -> str:
        return self.told()

    def told(self, command: str = "") -> str:
        """In words; `command` is what checks the function."""
        lines = [f"{self.place}: {self.said}   [{self.stage}]"]
        if self.expected or self.obtained:
            lines += [f"    expected   {self.expected}", f"    obtained   {self.obtained}"]
        lines += [f"    {line}" for line in self.point.splitlines()]
        if command:
            again = [command, f"--seed {self.seed}" * (self.seed != 0), f"--case {self.case}" * (self.case is not None)]
            lines.append(f"    reproduce  {' '.join(filter(None, again))}")
        else:
            lines.append(f"    reproduce  seed={self.seed}" + (f", case {self.case}" if self.case is not None else ""))
        if self.times > 1:
            lines.append(f"    and {self.times - 1} more like it")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Worst:
    """The largest error of a float64 result, in units in the last place of |g| + sum |x_i dg/dx_i|, losses apart."""

    ulps: float = 0.0
    place: str = ""


@dataclass(frozen=True, slots=True)
class Accuracy:
    """What the losses come to: the most bits lost (all: it overflows), at how many points, and where."""

    bits: int = 0
    points: int = 0
    worst: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of a check.

    points     how many points were compared
    discarded  how many were drawn where the function has no value
    undecided  elements on which no two precisions agreed, or that have no finite truth
    worst      the largest float64 error
    failures   what is wrong
    losses     where the formula itself loses accuracy in floating point; the text is as declared
    accuracy   what the losses come to
    stopped    why not everything was checked; empty if it was
    planned    how many points there are
    left_out   which of them were not looked at, for lack of time, in words; empty if none were
    command    what makes it again, where that is known
    remark     what else is to be known of how it was checked
    """

    function: str
    target: str
    points: int = 0
    discarded: int = 0
    undecided: int = 0
    worst: Worst = Worst()
    failures: tuple[Finding, ...] = ()
    losses: tuple[Finding, ...] = ()
    accuracy: Accuracy = Accuracy()
    seconds: float = field(default=0.0, compare=False)
    stopped: str = ""
    planned: int = 0
    left_out: str = ""
    command: str = ""
    remark: str = ""

    @property
    def ok(self) -> bool:
        """Whether everything was checked and nothing is wrong; losses are no failures."""
        return not self.failures and not self.stopped

    def __repr__(self) -> str:
        return str(self)

    def _repr_markdown_(self) -> str:
        sign = "\u2713" if self.ok else "\u2717"
        first, _, rest = str(self).removeprefix(f"{self.function}   {self.target}   ").partition("\n")
        said = f"{sign} **{self.function}**, {self.target}: {first}"
        return f"{said}\n\n````text\n{rest}\n````" if rest else said

    def __str__(self) -> str:
        head = f"{self.function}   {self.target}   "
        if self.ok:
            worst = f"{self.worst.ulps:.1f}" if self.worst.ulps < 1000 else f"{self.worst.ulps:.1e}"
            head += "agrees with the formula and J^T v   "
            head += f"{self.points} points, worst error {worst} ulps"
            lost = f"accuracy: {self._lost()}" if self.accuracy.points else ""
            return "\n".join([head, *(f"  {line}" for line in (lost, self.left_out, self.remark) if line)])
        if not self.failures:
            done = f"{self.points} of {self.planned} points agree" if self.points else "no point was compared"
            return f"{head}NOT FINISHED   {done}; {self.stopped}, and the rest was not checked"
        count = len(self.failures)
        head += f"DISAGREES   {count} {'failure' if count == 1 else 'failures'} at {self.points} points"
        shown = [f.told(self.command) for f in self.failures[:SHOWN]]
        rest = [f"... and {count - SHOWN} more"] if count > SHOWN else []
        return "\n".join([head, *shown, *rest])

    def _lost(self) -> str:
        bits, points = self.accuracy.bits, self.accuracy.points
        most = "overflows" if bits > MOST else f"up to {bits} {'bit' if bits == 1 else 'bits'} lost"
        return f"{most} at {points} of {self.points} points (worst: {self.accuracy.worst})"


def joined(function: str, reports: Sequence[Report]) -> Report:
    """One report of all functions of a file; what is found of one beside forward and backward says of which."""
    told = [
        f if r.function == function else replace(f, said=f"{f.said}, in {r.function}")
        for r in reports
        for f in r.failures
    ]
    worst = max((r.worst for r in reports), key=lambda w: w.ulps)
    return replace(
        reports[0],
        function=function,
        worst=worst,
        accuracy=max((r.accuracy for r in reports), key=lambda a: a.bits),
        failures=tuple(told),
        losses=tuple(f for r in reports for f in r.losses),
        stopped=next((r.stopped for r in reports if r.stopped), ""),
        left_out=next((r.left_out for r in reports if r.left_out), ""),
        **{n: sum(getattr(r, n) for r in reports) for n in ("points", "discarded", "undecided", "planned", "seconds")},
    )


def short(value: Any) -> str:
    """An array in a few characters: its elements, or its shape and the first of them."""
    if value is None:
        return "None"
    array = np.asarray(value)
    if array.ndim == 0:
        return repr(array.item())
    flat = [f"{v!r}" if array.dtype.kind in "iub" else f"{v:.17g}" for v in array.ravel()[:SHOWN].tolist()]
    body = ", ".join(flat) + (", ..." if array.size > SHOWN else "")
    return f"{array.shape} [{body}]" if array.ndim > 1 or array.size > SHOWN else f"[{body}]"


def brief(inputs: Mapping[str, Any]) -> str:
    """The inputs of a point on part of a line: `x = 36.7, w = [0.5, 2, ...]`."""
    words: list[str] = []
    for name, value in inputs.items():
        if value is None:
            continue
        array = np.asarray(value)
        flat = [f"{v:.4g}" for v in array.ravel()[:3].tolist()]
        word = f"{name} = {flat[0]}" if not array.ndim else f"{name} = [{', '.join(flat + ['...'] * (array.size > 3))}]"
        if words and len(", ".join([*words, word])) > WIDE:
            return ", ".join([*words, "..."])
        words.append(word)
    return ", ".join(words)


def point(label: str, inputs: Mapping[str, Any], options: Mapping[str, Any], seeds: Mapping[str, Any]) -> str:
    """A call in words, one line per array."""
    several = len(seeds) > 1
    rows = [("point", label)]
    rows += [(name, short(v)) for name, v in inputs.items()]
    rows += [(name, repr(v)) for name, v in options.items()]
    given = any(v is not None for v in seeds.values())
    rows += [(f"grad_{name}" if several else "grad_output", short(v)) for name, v in seeds.items() if given]
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {text}" for name, text in rows)


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
        self.stopped = self.left_out = ""

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
        said = f"{max(bits, 1):.0f} bits lost" if bits < 1e6 else "overflows"
        number = judged.position[0] if case.count > 1 else 0
        self.lossy.add((case.number, number))
        whole = min(max(round(bits), 1), MOST + 1)
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
