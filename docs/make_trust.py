"""Print docs/trust.md: what was tried against the check and against symgrad, and what happened when this was run.

    python docs/make_trust.py               # all of it
    python docs/make_trust.py --threats     # the threats alone
    python docs/make_trust.py --mutants     # the mutants alone
    python docs/make_trust.py --mutants --kept    # of those that were made before

Takes about an hour: every mutant is loaded and checked in its language. What came of them is kept in build/trust: what
was stopped goes on. Remove it after a change. Needs a C compiler, torch and JAX.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

from make_tables import table

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))  # where the next two stand

from mistakes import C_EDITS, KINDS, PATTERNS, PYTHON_EDITS, PYTHON_PATTERNS
from mutants import EQUIVALENT, MORE, SAME, UNSEEN, caught, mutants, why_unseen
from threats import THREATS

HERE = Path(__file__).parent
KEPT = HERE.parent / "build" / "trust"
MOST = 12  # mutants of one function in one language
SILENT = 150  # seconds after which a mutant that says nothing is stopped
HUNTED = """\
[make_hunted.py](make_hunted.py) draws formulas of five kinds: scalars of 1 to 60 operations, equations with affine
subscripts (strides, offsets, from the end, scattered), blocks of statements with reductions, conditions and loops,
and, not in this table, compositions of library functions and programs of several statements of these, gathers and
recurrences. Each is printed, loaded and checked in every language that is named. Formulas that are refused, or whose
check takes longer than half a minute, are not counted. What disagreed when it was drawn was mended, checked again, and
is a test: of tests/formulas.py, tests/test_random_formulas.py, or tests/frameworks/test_random_formulas.py.

{figures}
"""


def outcomes(rows: list[tuple[str, str]]) -> list[list[Any]]:
    """What comes of the mutants of functions in languages, in a process that a mutant may crash, or stop.

    It is kept in build/trust, row by row: what was stopped goes on.
    """
    KEPT.mkdir(parents=True, exist_ok=True)
    left = [row for row in rows if not _kept(row).exists()]
    found: list[list[Any]] = []  # of the first of those
    while left:
        tasks = [(*row, len(found) if row == left[0] else 0) for row in left]
        line = [sys.executable, __file__, "--rows", json.dumps(tasks)]
        with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as child:
            stops = threading.Timer(SILENT, child.kill)
            stops.start()
            for text in child.stdout or ():
                stops.cancel()
                said = json.loads(text) if text.startswith("[") else None
                if said == []:
                    _kept(left.pop(0)).write_text(json.dumps(found), encoding="utf-8")
                    found = []
                elif said:
                    if found and found[-1][-1] == "trying":
                        found.pop()
                    found.append(said)
                stops = threading.Timer(SILENT, child.kill)
                stops.start()
            stops.cancel()
        if child.returncode > 0:
            raise RuntimeError(f"{left[0]}: the process ended")
        if left and found and found[-1][-1] == "trying":
            found[-1][-1] = True  # it crashed, or did not end: nobody takes that for an agreement
    return [m for row in rows for m in json.loads(_kept(row).read_text(encoding="utf-8"))]


def _kept(row: tuple[str, str]) -> Path:
    return KEPT / f"{'_'.join(row)}.json"


def every_row(tasks: list[tuple[str, str, int]]) -> None:
    """Print what comes of each mutant, of each row from a number on."""
    warnings.simplefilter("ignore")  # a mutant may divide by zero
    for function, to, start in tasks:
        for m in list(mutants(function, to, MOST))[start:]:
            words = [m.function, m.to, m.kind, m.before, m.after]
            print(json.dumps([*words, "trying"]), flush=True)
            print(json.dumps([*words, caught(m)]), flush=True)
        print("[]", flush=True)


def mutation() -> str:
    """The table of mutants, and the survivors."""
    kept = [row for row in MORE if _kept(row).exists()]
    found = [m for m in outcomes(kept if "--kept" in sys.argv else list(MORE)) if m[-1] is not None]
    same = [m for m in found if not m[-1] and why_unseen(m, SAME)]
    found = [m for m in found if m not in same]
    made, left = Counter(m[1] for m in found), [m for m in found if not m[-1]]
    lost = Counter(m[1] for m in left)
    rows = [(f"`{to}`", str(made[to]), str(made[to] - lost[to]), f"{1 - lost[to] / made[to]:.1%}") for to in made]
    total = len(found)
    rows.append(("all", str(total), str(total - len(left)), f"{1 - len(left) / total:.1%}"))
    kinds, missed = Counter(m[2] for m in found), Counter(m[2] for m in left)
    edits = (PYTHON_EDITS.keys() | C_EDITS.keys()) - (KINDS.keys() | PYTHON_PATTERNS.keys() | PATTERNS.keys())
    theirs = [m for m in found if m[2] in edits]
    unseen = [m for m in theirs if not m[-1]]
    by_kind = [(kind, str(kinds[kind]), str(kinds[kind] - missed[kind])) for kind in kinds]
    heads = "function", "kind", "printed", "mutant", "why"
    told, alike = (
        table(
            heads,
            [
                (f"{m[0]}, `{m[1]}`", m[2], *map(_code, m[3:5]), why_unseen(m, rows) or "**unexplained**")
                for m in some
            ],
        )
        if some
        else "none.\n"
        for some, rows in ((left, UNSEEN), (same, SAME))
    )
    drawn = sum(1 for row in MORE if _kept(row).exists())
    part = f"These are of {drawn} of {len(MORE)} rows of `MORE` in their order. " if drawn < len(MORE) else ""
    never = "".join(f"* {why}.\n" for _, _, why in EQUIVALENT)
    return (
        f"{part}At most {MOST} of one function in one language, of as many kinds as there are.\n\n"
        f"{table(('language', 'mutants', 'caught', ''), rows)}\n"
        f"Of those kinds that were written down from the printed files alone, by someone who had not read the check "
        f"({len(edits)} kinds): {len(theirs) - len(unseen)} of {len(theirs)}.\n\n"
        f"{table(('kind of mistake', 'made', 'caught'), by_kind)}\n"
        f"Survivors:\n\n{told}\n"
        f"What compute the same are no mutants. These are not counted:\n\n{alike}\n"
        f"and these are not even drawn:\n\n{never}"
    )


def _code(text: str) -> str:
    return "`" + text.replace("`", "'") + "`"


def threats() -> str:
    """What was tried, and what happened."""
    parts = []
    here = Path.cwd()
    for title, rows in THREATS.items():
        lines = []
        for name, attempt in rows.items():
            with tempfile.TemporaryDirectory() as folder:
                os.chdir(folder)
                try:
                    lines.append((name, attempt()))
                finally:
                    os.chdir(here)
        parts.append(f"### {title}\n\n{table(('tried', 'happened'), lines)}")
    return "\n".join(parts)


def main() -> None:
    """Write the file; `--threats` or `--mutants` makes only that part, and keeps the other."""
    if "--rows" in sys.argv:
        return every_row(json.loads(sys.argv[-1]))
    path = HERE / "trust.md"
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    kept = old.partition("\n## Threats\n")
    mutated = kept[0].partition("\n## Mutants\n")[2].partition("\n## Random formulas\n")[0].strip()
    if "--threats" not in sys.argv or not mutated:
        mutated = mutation()
    tried = kept[2] if "--mutants" in sys.argv and kept[2] else "\n" + INPUT + "\n" + threats()
    figures = (HERE / "hunted.md").read_text(encoding="utf-8")
    path.write_text(
        f"# What the check catches, and what symgrad refuses\n\n{MADE}\n## Mutants\n\n{mutated.strip()}\n"
        f"\n## Random formulas\n\n{HUNTED.format(figures=figures.strip())}\n## Threats\n{tried}",
        encoding="utf-8",
    )


MADE = """\
Made by [make_trust.py](make_trust.py), by running what it says.

The check is checked: one mistake is made in a printed file, and the ordinary `symgrad check` must refuse it. Mistakes
are of the kinds in [tests/mistakes.py](../tests/mistakes.py): every place of a syntax tree that a kind fits is one, and
some of them are drawn.
"""
INPUT = """\
A formula comes from anywhere, a command from a script. What was tried ([tests/threats.py](../tests/threats.py)), and
what happened; none of it ran text as code, left a file behind, or showed a traceback. `symgrad generate FILE.py`
imports that file, as `python FILE.py` would: a declaration in Python is a program. Formula text is the safe door.
"""

if __name__ == "__main__":
    main()
