"""What a check found, as data and as the text that a user reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

SHOWN = 6  # elements of an array, failures of a report


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong, or one loss of accuracy.

    stage      the witness that saw it: "text", "float64", "float32", "witnesses", "memory", "adjoint" ...
    place      the element: `grad_x[0,2]`; or what was called
    said       what is wrong, in words
    point      the call: label, inputs, options and grad_output, short
    expected, obtained
    seed, case  reproduce it
    times      how many more were like it
    """

    stage: str
    place: str
    said: str
    point: str = ""
    expected: str = ""
    obtained: str = ""
    seed: int = 0
    case: int = 0
    times: int = 1

    def __str__(self) -> str:
        lines = [f"{self.place}: {self.said}   [{self.stage}]"]
        if self.expected or self.obtained:
            lines += [f"    expected   {self.expected}", f"    obtained   {self.obtained}"]
        lines += [f"    {line}" for line in self.point.splitlines()]
        lines.append(f"    reproduce  seed={self.seed}, case {self.case}")
        if self.times > 1:
            lines.append(f"    and {self.times - 1} more like it")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Worst:
    """The largest error of a float64 result, in units in the last place of |g| + sum |x_i dg/dx_i|, losses apart."""

    ulps: float = 0.0
    place: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of a check.

    points     how many points were compared
    discarded  how many were drawn where the function has no value
    undecided  elements on which no two precisions agreed, or that have no finite truth
    worst      the largest float64 error
    failures   what is wrong
    losses     where the formula itself loses accuracy in floating point; the text is as declared
    """

    function: str
    target: str
    points: int = 0
    discarded: int = 0
    undecided: int = 0
    worst: Worst = Worst()
    failures: tuple[Finding, ...] = ()
    losses: tuple[Finding, ...] = ()
    seconds: float = field(default=0.0, compare=False)

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong; losses are no failures."""
        return not self.failures

    def __str__(self) -> str:
        head = f"{self.function}   {self.target}   "
        if self.ok:
            worst = f"{self.worst.ulps:.1f}" if self.worst.ulps < 1000 else f"{self.worst.ulps:.1e}"
            head += "agrees with the formula and J^T v   "
            head += f"{self.points} points, worst error {worst} ulps"
            return "\n".join([head, *(f"  loses accuracy   {_loss(f)}" for f in self.losses)])
        count = len(self.failures)
        head += f"DISAGREES   {count} {'failure' if count == 1 else 'failures'} at {self.points} points"
        shown = [str(f) for f in self.failures[:SHOWN]]
        rest = [f"... and {count - SHOWN} more"] if count > SHOWN else []
        return "\n".join([head, *shown, *rest])


def _loss(finding: Finding) -> str:
    more = f" (and at {finding.times - 1} more)" if finding.times > 1 else ""
    where = ", ".join(" ".join(line.split()) for line in finding.point.splitlines()[1:])
    return f"{finding.place}: {finding.said}{more}, case {finding.case}: {where[:100]}{'...' if where[100:] else ''}"


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


def point(label: str, inputs: Mapping[str, Any], options: Mapping[str, Any], seeds: Mapping[str, Any]) -> str:
    """A call in words, one line per array."""
    several = len(seeds) > 1
    rows = [("point", label)]
    rows += [(name, short(v)) for name, v in inputs.items()]
    rows += [(name, repr(v)) for name, v in options.items()]
    rows += [(f"grad_{name}" if several else "grad_output", short(v)) for name, v in seeds.items()]
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {text}" for name, text in rows)
