"""Speed of what symgrad prints, beside its peers and code by hand: the tables and the plot of docs/speed.md.

    python -m benchmarks.speed                                  # all; writes docs/speed.md and docs/speed.svg
    python -m benchmarks.speed --work gelu,conv2d               # some rows; prints their table
    python -m benchmarks.speed --columns "C by hand,symgrad C -O3,JAX"
    python -m benchmarks.speed --quick                          # small arrays, two rounds: whether it all works
    python -m benchmarks.speed --report                         # docs/speed.md of what was measured last

What was measured is kept in build/speed/results.json, by row. README.md says how it is measured.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from . import generating
from .columns import COLUMNS
from .report import listing, write
from .results import Results, load, measured, save
from .work import ROWS

ROOT = Path(__file__).resolve().parents[2]


def main() -> None:
    read = argparse.ArgumentParser(
        prog="python -m benchmarks.speed", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    read.add_argument("--work", default="", help=f"rows, by commas: {','.join(ROWS)}")
    read.add_argument("--columns", default="", help=f"by commas and a space as in the table: {'; '.join(COLUMNS)}")
    read.add_argument("--rounds", type=int, default=15)
    read.add_argument("--cpu", type=int, help="the processor that it is pinned to (the first that is allowed)")
    read.add_argument("--quick", action="store_true", help="small arrays, two rounds, nothing written to docs")
    read.add_argument("--report", action="store_true", help="measure nothing")
    read.add_argument("--results", type=Path, default=ROOT / "build" / "speed" / "results.json")
    asked = read.parse_args()
    rows = _chosen(asked.work, ROWS, "row")
    columns = _chosen(asked.columns, COLUMNS, "column")
    results: Results = load(asked.results)
    if not asked.report:
        if hasattr(os, "sched_setaffinity") and not asked.quick:
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0)) if asked.cpu is None else asked.cpu})
        for row in rows:
            print(f"{row} ...", file=sys.stderr)
            results = measured(results, ROWS[row], columns, asked.rounds, asked.quick)
            save(asked.results, results)
        print(listing(results, rows, columns))
        if not (asked.work or asked.columns or asked.quick):
            results = {**results, "generating": generating.measured()}
            save(asked.results, results)
    if asked.report or not (asked.work or asked.columns or asked.quick):
        write(results, ROOT / "docs")


def _chosen(names: str, table: object, what: str) -> list[str]:
    """Those that are named; all of them if none is. A name may have a comma in it."""
    assert isinstance(table, dict)
    rest, found = names, []
    while rest:
        name = max((n for n in table if rest == n or rest.startswith(f"{n},")), key=len, default="")
        if not name:
            sys.exit(f"there is no {what} {rest!r}; there are {'; '.join(table)}")
        found.append(name)
        rest = rest[len(name) + 1 :].lstrip()
    return found or [*table]
