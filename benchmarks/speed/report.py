"""The tables: one to read while working, and docs/speed.md with its plot."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

from . import generating
from .columns import COLUMNS
from .measure import ratio
from .plot import drawn
from .reasons import REASONS
from .results import Results
from .work import BY_HAND, FORWARD, JACOBIAN, NUMPY_BY_HAND, OURS, OURS_NUMPY, OURS_O2, ROWS, Row

COMPILED = (
    OURS, OURS_O2, "symgrad load", "CasADi", "SymForce", "SymPy, numba", "JAX", "torch", "torch, compiled",
)  # fmt: skip
FRAMEWORKS = ("symgrad torch", "symgrad torch, compiled", "symgrad JAX")
HEAD = """\
# Speed

Made by `python -m benchmarks.speed`; [its README](../benchmarks/speed/README.md) says what is measured.

{machine}

Float64, one thread on one processor. Each number is a ratio of times within one round, the median over the rounds, so
that smaller is faster; "C by hand" is what a careful person writes for just this work
([c/](../benchmarks/speed/c), with OpenBLAS for products and `-ffast-math` for arrays), and is given in time. What is
printed is C and NumPy with `--save minimal`, as nothing was saved before, and compiled without `-ffast-math`: "-O3" is
`-O3 -march=native -fopenmp-simd`, "-O2" nothing but that, "symgrad load" is `sg.load(to="c")` called from Python.

![ratio to C by hand](speed.svg)
"""
GENERATING = (
    "Seconds from a declaration to its text, of a new process, without imports; what meets its goal is bold. Profiles "
    "of those that miss it: of the formulas of points half is spent on digits (what is 0/0 somewhere, what cancels: "
    "Taylor series and numbers in mpmath), a quarter on the cheapest gradient, a fifth on the text. Of 1,000 numbers a "
    "sixth is the declaration, a sixth what is derived, a third the plan and its loops, a quarter the text in C: no "
    "part stands out. Next: the series of a formula once for all that hold it; fewer passes over a plan."
)
GRADIENTS = "From arguments and cotangent to gradients, with nothing saved before"


def write(results: Results, folder: Path) -> None:
    """speed.md and speed.svg."""
    names = [n for n in ROWS if n in results["rows"]]
    sections = [HEAD.format(machine=machine(results["machine"])).rstrip()]
    sections += _section(f"## {GRADIENTS}", "Divided by C by hand.", by_c(results, names, back=True))
    sections += _section("## The function alone", "Divided by C by hand.", by_c(results, names, back=False))
    sections += _section(
        "## NumPy", f"{GRADIENTS}: divided by NumPy by hand; at points, nanoseconds for one.", by_numpy(results, names)
    )
    sections += _section(
        "## torch and JAX",
        f"{GRADIENTS}: what is printed for a framework, divided by the framework's own functions and gradients.",
        by_framework(results, names),
    )
    sections += ["## What misses its goal", misses(results, names)]
    sections += _section(
        "## Errors",
        "The largest error of a result or gradient by its largest entry, against torch's autograd.",
        facts(results, names, "error", lambda e: f"{e:.0e}" if e else "0"),
    )
    sections += _section(
        "## Code",
        "Seconds to derive and print, seconds to compile (of JAX and torch: the first calls), and lines. To print C of "
        "the formulas of points has a goal of 0.1 s.",
        facts(
            results,
            names,
            ("generated", "compiled", "lines"),
            lambda v: f"{v:.1g}" if v < 0.01 else f"{v:.2g}" if v < 100 else f"{v:.0f}",
        ),
    )
    if found := results.get("generating"):
        sections += _section("## Generating", GENERATING, generating.table(found))
    sections += _section(
        "## Memory",
        "MB that a call from arguments to gradients takes: results, saved values and workspace.",
        facts(results, names, "bytes", lambda b: f"{b / 1e6:.1f}"),
    )
    if out := left_out(results, names):
        sections += ["## Left out", out]
    (folder / "speed.md").write_text("\n\n".join(sections) + "\n", encoding="utf-8")
    (folder / "speed.svg").write_text(drawn(results, names), encoding="utf-8")


def _section(title: str, words: str, rows: Sequence[Sequence[str]]) -> list[str]:
    return [title, _filled(words), table(rows)]


def listing(results: Results, rows: Sequence[str], columns: Sequence[str]) -> str:
    """The rows that were measured: of each column forward and gradients, by C by hand."""
    shown = [c for c in columns if any(c in results["rows"].get(r, {}) for r in rows)]
    lines = [["forward / gradients", *shown]]
    for name in rows:
        found = results["rows"].get(name, {})
        cells = [f"{_cell(found, c, FORWARD)} / {_cell(found, c, ROWS[name].asks)}" for c in shown]
        lines.append([ROWS[name].title, *cells])
    return "\n\n".join(filter(None, [table(lines), left_out(results, rows)]))


def by_c(results: Results, names: Sequence[str], back: bool) -> list[list[str]]:
    columns = _measured(results, names, COMPILED)
    lines = [["", BY_HAND, OURS, *(["goal"] if back else []), *(c for c in columns if c != OURS)]]
    for name in names:
        row, found = ROWS[name], results["rows"][name]
        which = row.asks if back else FORWARD
        if which == FORWARD and row.asks == JACOBIAN:
            continue
        goal = [_number(row.goals.get(OURS))] if back else []
        ours = _marked(_ratio(found, OURS, BY_HAND, which), row.goals.get(OURS) if back else None)
        cells = [_cell(found, c, which) for c in columns if c != OURS]
        lines.append([row.title, _cell(found, BY_HAND, which), ours, *goal, *cells])
    return lines


def by_numpy(results: Results, names: Sequence[str]) -> list[list[str]]:
    columns = _measured(results, names, ("SymPy, lambdify", "autograd"))
    lines = [["", NUMPY_BY_HAND, OURS_NUMPY, "goal", *columns]]
    for name in names:
        row, found = ROWS[name], results["rows"][name]
        if row.kind == "point":
            continue
        values = [value_of(found, row, c) for c in (OURS_NUMPY, *columns)]
        ours = _marked(values[0], row.goals.get(OURS_NUMPY))
        cells = map(_number, values[1:])
        lines.append(
            [row.title, _time(found, NUMPY_BY_HAND, row.asks), ours, _number(row.goals.get(OURS_NUMPY)), *cells]
        )
    return lines


def by_framework(results: Results, names: Sequence[str]) -> list[list[str]]:
    columns = _measured(results, names, FRAMEWORKS)
    lines = [["", *(cell for c in columns for cell in (c, "goal"))]]
    for name in names:
        row, found = ROWS[name], results["rows"][name]
        if row.kind != "point":
            cells = [(_marked(value_of(found, row, c), row.goals.get(c)), _number(row.goals.get(c))) for c in columns]
            lines.append([row.title, *(cell for pair in cells for cell in pair)])
    return lines


def value_of(found: Any, row: Row, column: str) -> float | None:
    """What a goal of the column speaks of: a ratio to its floor; of NumPy at points, nanoseconds for one."""
    floor = COLUMNS[column].floor
    if floor == NUMPY_BY_HAND and row.kind == "batch":
        samples = found.get(column, {}).get(row.asks)
        return min(samples) * 1e9 if samples else None
    return _ratio(found, column, floor, row.asks)


def misses(results: Results, names: Sequence[str]) -> str:
    """Each that misses its goal, with the reason that a profile gave."""
    lines = []
    for name in names:
        row, found = ROWS[name], results["rows"][name]
        for column, goal in row.goals.items():
            value = value_of(found, row, column)
            if value is not None and _rounded(value) > goal:
                why = REASONS.get((name, column), "not looked into yet.")
                lines.append(_filled(f"* {row.title}, {column}: {_number(value)}, goal {_number(goal)}. {why}"))
    return "\n".join(lines) or "None."


def facts(results: Results, names: Sequence[str], keys: Any, shown: Callable[[float], str]) -> list[list[str]]:
    """One column for each that has them."""
    wanted = (keys,) if isinstance(keys, str) else keys
    rows = {n: results["rows"][n] for n in names}
    columns = [c for c in COLUMNS if any(wanted[0] in found.get(c, {}) for found in rows.values())]
    lines = [["", *columns]]
    for name, found in rows.items():
        cells = []
        for column in columns:
            values = [found.get(column, {}).get(key) for key in wanted]
            told = [shown(v) if v is not None and not math.isnan(v) else "" for v in values]
            cells.append(" / ".join(t or "-" for t in told) if any(told) else "")
        lines += [[ROWS[name].title, *cells]] if any(cells) else []
    return lines


def left_out(results: Results, names: Sequence[str]) -> str:
    """Who was left out of what, and why."""
    silent: dict[tuple[str, str], list[str]] = {}
    for name in names:
        for column, found in results["rows"].get(name, {}).items():
            if "left out" in found:
                silent.setdefault((column, found["left out"]), []).append(ROWS[name].title)
    said = (f"* {column}: {why} ({'; '.join(titles)})." for (column, why), titles in silent.items())
    return "\n".join(map(_filled, said))


def table(rows: Sequence[Sequence[str]]) -> str:
    """As Markdown."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = ["| " + " | ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) + " |" for row in rows]
    lines.insert(1, "|" + "|".join("-" * (w + 2) for w in widths) + "|")
    return "\n".join(lines)


def _filled(words: str) -> str:
    """A paragraph, or an item of a list, in lines of 120."""
    indent = "  " if words.startswith("* ") else ""
    return fill(words, 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _measured(results: Results, names: Sequence[str], columns: Sequence[str]) -> list[str]:
    found = [results["rows"][n] for n in names]
    return [c for c in columns if any(len(f.get(c, {}).keys() - {"left out"}) for f in found)]


def _ratio(found: Any, column: str, floor: str, which: str) -> float | None:
    samples, base = found.get(column, {}).get(which), found.get(floor, {}).get(which)
    return ratio(samples, base) if samples and base else None


def _cell(found: Any, column: str, which: str) -> str:
    if column == BY_HAND:
        return _time(found, column, which)
    by_hand = _ratio(found, column, BY_HAND, which)
    return _time(found, column, which) if by_hand is None else _number(by_hand)


def _time(found: Any, column: str, which: str) -> str:
    samples = found.get(column, {}).get(which)
    if not samples:
        return ""
    seconds = min(samples)
    unit, name = next((u, n) for u, n in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (0.0, "ns")) if seconds >= u)
    return f"{seconds / (unit or 1e-9):.3g} {name}"


def _rounded(value: float) -> float:
    return float(_number(value))


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def _marked(value: float | None, goal: float | None) -> str:
    """In bold where the goal is met."""
    if value is None:
        return ""
    return f"**{_number(value)}**" if goal is not None and _rounded(value) <= goal else _number(value)


def machine(of: dict[str, str]) -> str:
    packages = ("numpy", "scipy", "torch", "jax", "casadi", "symforce", "sympy", "numba", "autograd")
    versions = ", ".join(f"{name} {of[name]}" for name in packages if name in of)
    return _filled(
        f"{of['processor']}, {of['compiler']}, commit {of['commit']}; products by hand: "
        f"{of['products by hand']}; Python {of['python']}, {versions}."
    )
