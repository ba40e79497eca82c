"""Print docs/operators.md and docs/library.md: what there is, and what the check found when this was run.

    python docs/make_tables.py

Takes minutes: every library function is printed, compiled and checked in every language.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import symgrad as sg
from symgrad import library
from symgrad.errors import UnsupportedError
from symgrad.expr import ref, show
from symgrad.matrices import MATRICES
from symgrad.ops import ROWS, Op
from symgrad.pipeline import derive
from symgrad.plan import plan

HERE = Path(__file__).parent
LANGUAGES = {"numpy": "NumPy", "c": "C"}
MADE = "Made by [make_tables.py](make_tables.py), by running what it says.\n"


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A table in Markdown."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |\n" for line in lines)


def operator(row: Op) -> tuple[str, ...]:
    """Name, derivative, values at kinks, domain."""
    arguments = [ref(name) for name in "xyz"[: row.arity]]
    if row.derivative is None:
        partials = "0 wherever it exists" if row.result == "real" else ""
    else:
        given = row.derivative(*arguments, ref("result"))
        partials = ", ".join("none" if p is None else f"`{show(p)}`" for p in given)
    kinks = "; ".join(f"{k.at}: {', '.join(map(str, k.values))}" for k in row.kinks)
    return f"`{row.name}`", partials, kinks, row.domain


def checked(name: str) -> tuple[str, ...]:
    """Name, what NumPy's backward keeps, and the outcome of the check in each language."""
    declared = getattr(library, name)
    saved = plan(derive(declared), "numpy").saved
    found = []
    for to in LANGUAGES:
        try:
            report = sg.check(declared, to=to)
        except UnsupportedError:
            found.append("refused")
            continue
        found.append(f"{report.worst.ulps:.1f} ulps, {report.points} points" if report.ok else "**disagrees**")
    return f"`{name}`", ", ".join(f"`{s}`" for s in saved), *found


def main() -> None:
    """Write both files."""
    head = ("operator", "derivative with respect to each argument", "declared at kinks", "domain")
    text = f"# Operators\n\n{MADE}\n{table(head, (operator(row) for row in ROWS if row.arity))}"
    rows = ((f"`{name}`", row.domain) for name, row in MATRICES.items())
    in_c = "In C by LAPACKE (`--lapack`), but for `expm`; `argsort` needs none."
    text += f"\n# Functions of whole matrices and vectors\n\n{in_c}\n\n{table(('function', 'domain'), rows)}"
    (HERE / "operators.md").write_text(text)
    head = ("function", "saved for backward (NumPy)", *LANGUAGES.values())
    with ProcessPoolExecutor() as pool:
        rows = list(pool.map(checked, sorted(library.__all__)))
    (HERE / "library.md").write_text(f"# Library\n\n{len(rows)} functions. {MADE}\n{table(head, rows)}")


if __name__ == "__main__":
    main()
