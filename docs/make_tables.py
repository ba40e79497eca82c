"""Print docs/operators.md and docs/library.md: what there is, and what the check found when this was run.

    python docs/make_tables.py

Takes half an hour on two cores: every library function is printed, compiled and checked in every language, with the
long matrix of `symgrad check --full`. Say how long one check may take, and the table says how far it came:

    python docs/make_tables.py --seconds 900

docs/operators.md alone takes seconds, and must be as the rows of symgrad/ops say:

    python docs/make_tables.py --operators
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from textwrap import fill

import symgrad as sg
from symgrad import library
from symgrad.declare.composed import COMPOSED
from symgrad.declare.python.numpy_functions import FUNCTIONS, INSTEAD
from symgrad.declare.python.seen import FILLED, SEEN
from symgrad.derivatives import derive
from symgrad.errors import UnsupportedError
from symgrad.expr import ref, show
from symgrad.ops import ROWS, Op
from symgrad.ops.matrices import MATRICES
from symgrad.plan import plan
from symgrad.verify import Report

HERE = Path(__file__).parent
LANGUAGES = {"numpy": "NumPy", "c": "C"}
MADE = "Made by [make_tables.py](make_tables.py), by running what it says.\n"
FULL = """Each was checked with the long matrix of `symgrad check --full`: random points, kinks and the floats beside
them, each input at 800 and -800, edges, ties, float32, sizes 0 and 1, arrays that are not contiguous, every subset of
gradients. What C refuses are functions of whole matrices, which it prints with `--lapack` (not `expm`).
"""
EQUALITIES = """\
Of `where(x == 1, a, b)` the derivative at x = 1 is that of `b`, where the two have one value for every such x, if only
as the limit of a quotient: the equality holds nowhere beside. Where they have not, it is that of `a`, and so it is
where `b` or its derivative has no value. `where(x == 1, x**2, x**3)` has the derivative 3 there, and
`where(p == 0, 0, p*log(q))` has log(q), but 0 at q = 0. A condition on integers is none of these.
"""
OTHERS = """\
Where a declared function calls them with symbols; `math` and `torch` have all operators by their names besides.
"""
TEXT = """\
Besides those of the operators above, of NumPy's functions and of the library, which whole arrays are given to.
"""
NUMPYS = """\
Traced by their own names, from `np` or `np.linalg`, and checked against NumPy with the user's own function: every
operator above that NumPy has, with `reduce`, `accumulate` and `outer`, and
"""


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A table in Markdown."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |\n" for line in lines)


def operator(row: Op) -> tuple[str, ...]:
    """Name, derivative, values at kinks, domain."""
    arguments = [ref(name) for name in "xyzw"[: row.arity]]
    if row.derivative is None:
        partials = "0 wherever it exists" if row.result == "real" else ""
    else:
        given = row.derivative(*arguments, ref("result"))
        partials = ", ".join("none" if p is None else f"`{show(p)}`" for p in given)
    kinks = "; ".join(f"{k.at}: {', '.join(map(str, k.values))}" for k in row.kinks)
    return f"`{row.name}`", partials, kinks, row.domain


def checked(name: str, seconds: float | None = None) -> tuple[str, ...]:
    """Name, what NumPy's backward keeps, and the outcome of the check in each language."""
    declared = getattr(library, name)
    saved = plan(derive(declared), "numpy").saved
    found = []
    for to in LANGUAGES:
        try:
            found.append(outcome(sg.check(declared, to=to, full=True, seconds=seconds)))
        except UnsupportedError:
            found.append("refused")
    return f"`{name}`", ", ".join(f"`{s}`" for s in saved), *found


def outcome(report: Report) -> str:
    """What a check found."""
    worst = f"{report.worst.ulps:.1f} ulps, {report.points}"
    if report.failures:
        return "**disagrees**"
    return f"{worst} of {report.planned} points" if report.stopped else f"{worst} points"


def summary(rows: Iterable[tuple[str, ...]]) -> str:
    """How many functions agree in each language, in words."""
    kinds = {"disagrees": "disagree", "refused": "are refused", " of ": "are not finished", "": "agree"}
    lines = []
    for column, language in enumerate(LANGUAGES.values(), 2):
        of = Counter(next(said for word, said in kinds.items() if word in row[column]) for row in rows)
        lines.append(f"- {language}: {', '.join(f'{count} {said}' for said, count in of.most_common())}\n")
    return "".join(lines)


def operators() -> str:
    """docs/operators.md."""
    head = ("operator", "derivative with respect to each argument", "declared at kinks", "domain")
    text = f"# Operators\n\n{MADE}\n{EQUALITIES}\n{table(head, (operator(row) for row in ROWS if row.arity))}"
    rows = ((f"`{name}`", row.domain) for name, row in MATRICES.items())
    in_c = "In C by LAPACKE (`--lapack`), but for `expm`; `argsort` needs none."
    text += f"\n## Functions of whole matrices and vectors\n\n{in_c}\n\n{table(('function', 'domain'), rows)}"
    own = ", ".join(f"`{name}`" for name in sorted(FUNCTIONS))
    instead = table(("refused", "what says it"), ((f"`{name}`", said) for name, said in sorted(INSTEAD.items())))
    text += f"\n## NumPy's functions in declarations\n\n{NUMPYS}\n{fill(own, 119)}\n\n{instead}"
    seen = {home: sorted({*names, *(FILLED if home == "numpy" else ())}) for home, names in SEEN.items()}
    rows = ((f"`{home}`", ", ".join(f"`{name}`" for name in names)) for home, names in seen.items())
    text += f"\n## What else is traced\n\n{OTHERS}\n{table(('of', 'functions'), rows)}"
    names = ", ".join(f"`{name}`" for name in sorted(COMPOSED))
    return text + f"\n## More names in formula text\n\n{TEXT}\n{fill(names, 119)}\n"


def main() -> None:
    """Write both files, or with --operators the first."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--operators", action="store_true")
    asked = parser.parse_args()
    (HERE / "operators.md").write_text(operators(), encoding="utf-8")
    if asked.operators:
        return
    with ProcessPoolExecutor() as pool:
        write(list(pool.map(partial(checked, seconds=asked.seconds), sorted(library.__all__))))


def write(rows: list[tuple[str, ...]]) -> None:
    """Write the table of the library."""
    head = ("function", "saved for backward (NumPy)", *LANGUAGES.values())
    text = f"# Library\n\n{len(rows)} functions. {MADE}\n{FULL}\n{summary(rows)}\n{table(head, rows)}"
    (HERE / "library.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
