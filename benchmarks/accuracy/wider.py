"""Bits lost by values and gradients of formulas that people write: as written, and as symgrad prints them for NumPy.

    python benchmarks/accuracy/wider.py                         # the table of docs/accuracy.md
    python benchmarks/accuracy/wider.py --formulas fpbench --each     # each formula, the worst first

Of KEPT nothing is told but the means: nobody is to write a rule for one of them.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from cache import ROOT, kept
from formulas import FORMULAS, Formula
from measure import Measured, measure
from report import table
from textbooks import FPBENCH, KEPT
from truth import truths

GROUPS = {"textbook": FORMULAS, "fpbench": FPBENCH, "kept": KEPT}
SAMPLES = {"practical": 100, "full": 60}


@dataclass(frozen=True, slots=True)
class Lost:
    """Of one formula in one sample, what its value and its gradient lose as it is written, and as it is printed."""

    formula: Formula
    written: Measured
    printed: Measured
    seconds: float  # to derive and print

    def bits(self, printed: bool, gradient: bool) -> Any:
        found = (self.printed if printed else self.written).bits
        return found[1:] if gradient else found[:1]


def measured(formula: Formula, sample: str, cache: Path, count: int = 0) -> Lost:
    """At so many points; at those of the table, if none are said."""
    import symgrad as sg

    count = count or SAMPLES[sample]
    x, true, _ = kept(
        cache, f"{formula.text} {sample} {count}", "value and gradient", lambda: truths(formula, sample, count)
    )
    declared, found, seconds = sg.parse(formula.text), [], 0.0
    for stabilize in (False, True):
        start = time.process_time()
        artefact = sg.load(declared, to="numpy", check=False, stabilize=stabilize)
        seconds = time.process_time() - start
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            out, saved = artefact.forward(*(np.ascontiguousarray(column) for column in x.T))
            gradients = artefact.backward(saved, np.ones(np.shape(out)))
            numbers = [np.broadcast_to(n, len(x)) for n in (out, *gradients)]
        found.append(measure(x, true, np.array(numbers).T))
    return Lost(formula, found[0], found[1], seconds)


def of_group(group: str, sample: str, cache: Path, count: int = 0) -> list[Lost]:
    results = []
    for number, formula in enumerate(GROUPS[group], 1):
        print(f"\r{group} {sample} {number}/{len(GROUPS[group])} ", end="", file=sys.stderr)
        try:
            results.append(measured(formula, sample, cache, count))
        except Exception as error:  # what is refused is named, and no number of the table
            name = "one" if group == "kept" else formula.name
            print(f"{name}: {type(error).__name__}: {str(error).splitlines()[0]}", file=sys.stderr)
    print(file=sys.stderr)
    return results


def summary(results: dict[tuple[str, str], list[Lost]]) -> str:
    """A row for each group of formulas and sample: mean bits, of values and of gradients, as written and as printed."""
    rows = [["", "formulas", "values", "printed", "gradients", "printed", "worse than written", "NaN or inf"]]
    for (group, sample), some in results.items():
        means = [
            f"{np.mean([lost.bits(printed, gradient).mean() for lost in some]):.2f}"
            for gradient in (False, True)
            for printed in (False, True)
        ]
        worse = sum(bool((lost.printed.bits > lost.written.bits + 1).any()) for lost in some)
        nothing = sum(int(lost.printed.lost.sum() > 0) for lost in some)
        rows.append([f"{group}, {sample}", str(len(some)), *means, str(worse), str(nothing)])
    return table(rows)


SECTION = """
## Formulas of others

Mean bits lost of values and of gradients, of each formula as it is written (`stabilize=False`) and as it is printed for
NumPy, at {practical} practical and {full} full points: the textbook functions of above, FPBench's, and others of
Herbie's that no rule was written for ([textbooks.py](../benchmarks/accuracy/textbooks.py)).

"""


def section(cache: Path) -> str:
    """The end of docs/accuracy.md."""
    results = {(group, sample): of_group(group, sample, cache) for group in GROUPS for sample in SAMPLES}
    return SECTION.format(**SAMPLES) + summary(results) + "\n"


def each(results: Sequence[Lost]) -> str:
    """Every formula, what loses most first."""
    lines = []
    for lost in sorted(results, key=lambda r: -float(r.printed.bits.max())):
        lines.append(f"{lost.formula.name}    {lost.formula.text}    {lost.seconds:.2f} s")
        for k, name in enumerate(("value", *(f"d/d{a}" for a in lost.formula.arguments))):
            at = ", ".join(f"{n}={v!r}" for n, v in zip(lost.formula.arguments, lost.printed.worst[k], strict=True))
            got = f"{lost.printed.got[k]!r}, truth {lost.printed.want[k]!r}"
            lines.append(f"    {name:<8}{lost.written.bits[k]:6.2f} -> {lost.printed.bits[k]:5.2f}    at {at}: {got}")
    return "\n".join(lines)


def main() -> None:
    read = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    read.add_argument("--formulas", default=",".join(GROUPS), help="groups, by commas")
    read.add_argument("--samples", default=",".join(SAMPLES))
    read.add_argument("--each", action="store_true", help="every formula, too; none of those that are kept")
    read.add_argument("--points", type=int, default=0, help="so many, and not those of the table")
    read.add_argument("--json", action="store_true", help="the bits of each output of each formula, and no table")
    read.add_argument("--cache", type=Path, default=ROOT / "build" / "accuracy")
    asked = read.parse_args()
    asked.cache.mkdir(parents=True, exist_ok=True)
    which = [(group, sample) for group in asked.formulas.split(",") for sample in asked.samples.split(",")]
    results = {(group, sample): of_group(group, sample, asked.cache, asked.points) for group, sample in which}
    if asked.json:
        bits = {s: {r.formula.name: r.printed.bits.tolist() for r in results[g, s]} for g, s in which}
        print(json.dumps(bits))
        return
    for (group, sample), some in results.items():
        if asked.each and group != "kept":
            print(f"{group}, {sample}\n\n{each(some)}\n")
    print(summary(results))


if __name__ == "__main__":
    main()
