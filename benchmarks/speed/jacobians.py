"""Jacobians of ten functions, beside those of CasADi, SymForce and JAX: the table of docs/jacobians.md.

    python -m benchmarks.speed.jacobians                        # all; writes docs/jacobians.md
    python -m benchmarks.speed.jacobians --work arm,kepler      # some functions; prints their rows
    python -m benchmarks.speed.jacobians --quick                # few points, two rounds: whether it all works

Each gives the values and the matrix of one point after the other; times, ratios and peers are as in README.md. JAX has
all points at once. Operations are those that a point executes at -O2 without vectors.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from . import ours, peers
from .build import NATIVE
from .frameworks import jax_words
from .measure import Case, Unavailable, interleaved, ratio
from .report import machine, table
from .results import described
from .work import JACOBIAN, JACOBIANS, POINTS, Job, Row

ROOT = Path(__file__).resolve().parents[2]
OURS, STRAIGHT, BASE = "symgrad", "symgrad, no SLP", "CasADi"
FORMULAS = [row.formula for row in JACOBIANS.values()]
HEAD = """\
# Jacobians

Made by `python -m benchmarks.speed.jacobians`: ten functions of numbers, values and the whole matrix of one point after
the other. What is printed is `symgrad generate TARGET --to c --functions jacobian`, compiled like the others with `-O3
-march=native`; "no SLP" adds `-fno-tree-slp-vectorize`, as `sg.load` does: in long straight lines GCC packs neighbours
into vectors at more cost than gain (not in short ones: the camera, BA). JAX is `jit` of `vmap` of `jacfwd` or
`jacrev`, for all points at once.

{machine}

Operations are those that are executed at a point, on average (`-O2`, no vectors): additions, multiplications,
divisions, roots, and calls of the C library. Seconds are those to derive and print, and to compile.
"""


def jax(job: Job) -> Case:
    """jit of vmap of the Jacobian, forward or reverse, whichever has fewer directions."""
    import jax

    jax.config.update("jax_enable_x64", True)
    numpy, point, wrt = jax.numpy, POINTS[job.row.formula], np.array(job.row.wrt)

    def values(x: Any) -> Any:
        return numpy.stack([numpy.asarray(r, float) for r in point.formula(jax_words(), list(x))])

    def both(x: Any) -> Any:
        one = (jax.jacfwd if len(wrt) <= point.results else jax.jacrev)(values)
        return values(x), one(x)[:, wrt]

    x = numpy.asarray(np.stack(job.arguments).T)
    start = time.perf_counter()
    compiled = jax.jit(jax.vmap(both)).lower(x).compile()
    took = time.perf_counter() - start

    def run() -> Any:
        return [compiled(x)[1].block_until_ready()]

    return Case({JACOBIAN: run}, {"compiled": took})


def straight(job: Job) -> Case:
    """What is printed, in which the compiler packs no neighbours into vectors."""
    return ours.c(job, (*NATIVE, "-fno-tree-slp-vectorize"))


COLUMNS = {OURS: ours.c, STRAIGHT: straight, BASE: peers.casadi, "SymForce": peers.symforce, "JAX": jax}


def measured(row: Row, rounds: int, quick: bool) -> dict[str, dict[str, Any]]:
    """What was found in each column; of one that is missing, why."""
    job, found, cases = row.job(small=quick), dict[str, dict[str, Any]](), dict[str, Case]()
    for name, make in COLUMNS.items():
        try:
            cases[name] = make(job)
            found[name] = dict(cases[name].facts)
        except ImportError as missing:
            found[name] = {"left out": f"{missing.name} is not installed"}
        except Unavailable as reason:
            found[name] = {"left out": str(reason)}
    (true,) = cases[OURS].runs[JACOBIAN]()
    for name, case in cases.items():
        (matrix,) = case.runs[JACOBIAN]()
        assert np.allclose(matrix, true, rtol=1e-8, atol=1e-8 * np.abs(true).max()), f"{row.name}: {name} differs"
    runs = {name: case.runs[JACOBIAN] for name, case in cases.items()}
    times = interleaved(runs, 2 if quick else rounds, 0.001 if quick else 0.02)
    for name, samples in times.items():
        found[name]["times"] = [s / job.points for s in samples]
    return found


def cells(row: Row, found: dict[str, dict[str, Any]]) -> list[str]:
    """A line of the table."""
    base = found[BASE].get("times")

    def time_of(name: str) -> str:
        own = found[name].get("times")
        if own is None:
            return ""
        of = f"{1e9 * min(own):.3g} ns"
        return of if name == BASE or base is None else f"{ratio(own, base):.2f}"

    def fact(key: str, names: tuple[str, ...] = (OURS, BASE, "SymForce"), form: str = "{:.0f}") -> str:
        return " / ".join(form.format(found[n][key]) if key in found[n] else "-" for n in names)

    return [
        row.title,
        *map(time_of, (BASE, OURS, STRAIGHT, "SymForce", "JAX")),
        fact("operations"),
        fact("lines"),
        fact("generated", form="{:.2g}"),
        fact("compiled", (OURS, BASE, "SymForce", "JAX"), "{:.2g}"),
    ]


def main() -> None:
    read = argparse.ArgumentParser(
        prog="python -m benchmarks.speed.jacobians",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    read.add_argument("--work", default="", help=f"functions, by commas: {', '.join(FORMULAS)}")
    read.add_argument("--rounds", type=int, default=15)
    read.add_argument("--quick", action="store_true", help="few points, two rounds, nothing written to docs")
    asked = read.parse_args()
    wanted = [name for name in asked.work.split(",") if name]
    rows = [row for row in JACOBIANS.values() if not wanted or row.formula in wanted]
    if unknown := set(wanted) - {*FORMULAS}:
        sys.exit(f"there is no function {min(unknown)!r}; there are {', '.join(FORMULAS)}")
    if hasattr(os, "sched_setaffinity") and not asked.quick:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    lines = [
        ["", "CasADi", "symgrad ÷ CasADi", "no SLP ÷", "SymForce ÷", "JAX ÷",
         "operations: symgrad / CasADi / SymForce", "lines", "s to print", "s to compile, and JAX's"],
    ]  # fmt: skip
    for row in rows:
        print(f"{row.formula} ...", file=sys.stderr)
        lines.append(cells(row, measured(row, asked.rounds, asked.quick)))
    print(table(lines))
    if not (wanted or asked.quick):
        text = f"{HEAD.format(machine=machine(described()))}\n{table(lines)}\n"
        (ROOT / "docs" / "jacobians.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
