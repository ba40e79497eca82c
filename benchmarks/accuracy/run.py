"""Bits lost by the gradients of textbook functions, per system: the table of docs/accuracy.md.

    python benchmarks/accuracy/run.py                                       # all systems; writes docs/accuracy.md
    python benchmarks/accuracy/run.py --systems symgrad-c,symgrad-numpy     # prints a table, sorted by bits lost

The truth and what the peers gave are kept in build/accuracy, and computed again where the formula, the sample or the
peer's version has changed; symgrad's code is printed and run each time. README.md says what is measured.
"""

from __future__ import annotations

import argparse
import platform
import sys
import warnings
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from cache import ROOT, kept
from formulas import FORMULAS, Formula
from measure import Measured, measure
from report import document, listing
from systems import PEERS, SYSTEMS
from truth import SAMPLES, truths
from wider import section


def main() -> None:
    read = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    read.add_argument("--systems", default=",".join(SYSTEMS), help="those to measure, by commas")
    read.add_argument("--points", type=int, default=300, help="points of each formula and sample")
    read.add_argument("--only", default="", help="formulas whose name or text contains this")
    read.add_argument("--samples", default=",".join(SAMPLES))
    read.add_argument("--cache", type=Path, default=ROOT / "build" / "accuracy")
    read.add_argument("--out", type=Path, help="write the table of all systems here (docs/accuracy.md if all run)")
    asked = read.parse_args()
    systems, samples = asked.systems.split(","), asked.samples.split(",")
    formulas = [f for f in FORMULAS if asked.only in f.name or asked.only in f.text]
    asked.cache.mkdir(parents=True, exist_ok=True)
    results: dict[tuple[str, str, str], Measured] = {}
    undecided = 0
    for number, formula in enumerate(formulas, 1):
        print(f"\r{number}/{len(formulas)} {formula.name:<40}", end="", file=sys.stderr)
        for sample in samples:
            x, true, left_out = kept(
                asked.cache,
                f"{formula.text} {sample} {asked.points}",
                "value and gradient",
                lambda f=formula, s=sample: truths(f, s, asked.points),
            )
            undecided += int(left_out)
            for system in systems:
                found = gradient(asked, formula, sample, system, x)
                results[formula.name, sample, system] = measure(x, true[:, 1:], *found)
    print(file=sys.stderr)
    print(listing(formulas, systems, samples, results))
    out = asked.out or (ROOT / "docs" / "accuracy.md" if set(systems) == set(SYSTEMS) and not asked.only else None)
    if out:
        text = document(formulas, systems, samples, results, asked.points, undecided, _versions(systems))
        out.write_text(text + section(asked.cache), encoding="utf-8")


def _versions(systems: Sequence[str]) -> str:
    libraries = [
        name for name in ("numpy", "scipy", "sympy", "casadi", "jax", "torch") if name in {*systems, "numpy", "scipy"}
    ]
    return ", ".join(f"{name} {version(name)}" for name in libraries) + "; " + " ".join(platform.libc_ver()) + "."


def gradient(asked: Any, formula: Formula, sample: str, system: str, x: Any) -> tuple[Any, str]:
    """The system's gradient at the points, NaN throughout if it has none, and what it said then."""

    def found() -> tuple[Any]:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return (SYSTEMS[system](formula, x),)

    try:
        if system in PEERS:
            return kept(asked.cache, f"{formula.text} {sample} {asked.points}", f"{system} {version(system)}", found)[
                0
            ], ""
        return found()[0], ""
    except Exception as error:  # a system that refuses a formula loses all bits, and says why
        return np.full(x.shape, np.nan, x.dtype), f"{type(error).__name__}: {error}".splitlines()[0]


if __name__ == "__main__":
    main()
