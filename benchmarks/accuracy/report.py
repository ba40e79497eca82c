"""The tables: one to read while working, one for the documentation."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import product

import numpy as np
from formulas import Formula
from measure import Measured

Results = Mapping[tuple[str, str, str], Measured]


HEAD = """\
# Accuracy of gradients

Made by `python benchmarks/accuracy/run.py`; [its README](../benchmarks/accuracy/README.md) says what is measured.

{functions} textbook functions, {partials} partial derivatives, from [the textbook formula](#the-formulas), at {points}
points of each in every sample: `practical` has |x| log-uniform in [1e-8, 1e3], `full` in [1e-300, 1e300], both in
float64; `float32` is `practical` in float32, in units of float32.
Bits lost are log2(1 + ulps), and 64 where NaN or an infinity comes out while the truth is finite. The truth is that of
mpmath at two precisions that agree ({undecided} points where they did not are left out). Points at which the function
itself is ill-conditioned count like any other.

`hand` is a floor: each gradient written by hand in C for the fewest bits, whatever its length
([hand.c](../benchmarks/accuracy/hand.c)).

{versions}
"""


def listing(formulas: Sequence[Formula], systems: Sequence[str], samples: Sequence[str], results: Results) -> str:
    """Summary, then each formula and partial derivative, worst first, with its worst point."""
    lines = [summary(formulas, systems, samples, results), ""]
    for sample in samples:
        lines += [f"sample: {sample}", ""]
        order = sorted(formulas, key=lambda f: -max(results[f.name, sample, s].mean for s in systems))
        for formula in order:
            found = {s: results[formula.name, sample, s] for s in systems}
            means = ", ".join(f"{s} {m.mean:.2f}" for s, m in found.items())
            lines += [f"{formula.name}    {formula.text}    mean bits: {means}"]
            for system, m in found.items():
                if m.said:
                    lines += [f"    {system}: {m.said}"]
                    continue
                for k, argument in enumerate(formula.arguments):
                    at = ", ".join(f"{n}={v!r}" for n, v in zip(formula.arguments, m.worst[k], strict=True))
                    nan = f", {m.lost[k]} NaN or inf" if m.lost[k] else ""
                    lines += [
                        f"    d/d{argument:<3}{system:<15}{m.bits[k]:6.2f} bits, worst {ulps(m.ulps[k])}{nan}"
                        f"    at {at}: {m.got[k]!r}, truth {m.want[k]!r}"
                    ]
        lines += [""]
    return "\n".join(lines)


def summary(formulas: Sequence[Formula], systems: Sequence[str], samples: Sequence[str], results: Results) -> str:
    """One column per system."""
    rows = [["", *systems]]
    for sample in samples:
        of = [[m for f in formulas if not (m := results[f.name, sample, s]).said] for s in systems]
        counts: dict[str, Callable[[Sequence[Measured]], str]] = {
            "mean bits lost": lambda all_: f"{mean_bits(all_):.2f}",
            "formulas within 4 ulps": lambda all_: str(sum(m.most <= 4 for m in all_)),
            "within 64 ulps": lambda all_: str(sum(m.most <= 64 for m in all_)),
            "beyond 2^20 ulps": lambda all_: str(sum(m.most > 2**20 for m in all_)),
            "NaN or inf somewhere": lambda all_: str(sum(bool(m.lost.any()) for m in all_)),
        }
        rows += [
            [f"{what}, {sample}", *(count(all_) if all_ else "-" for all_ in of)] for what, count in counts.items()
        ]
    return table(rows)


def mean_bits(measured: Sequence[Measured]) -> float:
    """Over the partial derivatives."""
    return float(np.mean(np.concatenate([m.bits for m in measured])))


def ulps(value: float) -> str:
    if value >= 2.0**64:
        return "NaN"
    return f"{value:.0f} ulps" if value < 10_000 else f"2^{math.log2(value):.0f} ulps"


def table(rows: Sequence[Sequence[str]]) -> str:
    """As Markdown."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = ["| " + " | ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) + " |" for row in rows]
    lines.insert(1, "|" + "|".join("-" * (w + 2) for w in widths) + "|")
    return "\n".join(lines)


def document(
    formulas: Sequence[Formula],
    systems: Sequence[str],
    samples: Sequence[str],
    results: Results,
    points: int,
    undecided: int,
    versions: str,
) -> str:
    """docs/accuracy.md."""
    partials = sum(len(f.arguments) for f in formulas)
    counts = dict(functions=len(formulas), partials=partials, points=points, undecided=undecided, versions=versions)
    lines = [HEAD.format(**counts), summary(formulas, systems, samples, results)]
    for sample in samples:
        lines += ["", f"## Mean bits lost, {sample}", "", _per_formula(formulas, systems, sample, results, _bits)]
        lines += ["", f"## Worst error in ulps, {sample}", "", _per_formula(formulas, systems, sample, results, _worst)]
    lines += ["", "## The formulas", "", table([["", "formula"], *([f.name, f"`{f.text}`"] for f in formulas)])]
    silent: dict[tuple[str, str, str], list[str]] = {}
    for system, sample, formula in product(systems, samples, formulas):
        if why := results[formula.name, sample, system].said:
            silent.setdefault((system, sample, why), []).append(formula.name)
    if silent:
        lines += ["", "Without code:", ""]
    for (system, sample, why), names in silent.items():
        lines.append(f"* {system}, {sample}, {'all' if len(names) == len(formulas) else ', '.join(names)}: {why}.")
    return "\n".join(lines) + "\n"


def _per_formula(
    formulas: Sequence[Formula], systems: Sequence[str], sample: str, results: Results, cell: Callable[[Measured], str]
) -> str:
    rows = [[f.name, *(cell(results[f.name, sample, s]) for s in systems)] for f in formulas]
    return table([["", *systems], *rows])


def _bits(measured: Measured) -> str:
    return "-" if measured.said else f"{measured.mean:.2f}"


def _worst(measured: Measured) -> str:
    return "-" if measured.said else ulps(measured.most).removesuffix(" ulps")
