"""Print docs/trust.md: what was tried against the check and against symgrad, and what happened when this was run.

    python docs/make_trust.py               # all of it
    python docs/make_trust.py --threats     # the threats alone
    python docs/make_trust.py --mutants     # the mutants alone

Takes about half an hour on two cores: every mutant is loaded and checked in its language. What came of them is
kept in build/trust; remove it after a change. Needs a C compiler, torch and JAX.
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

from mutants import EQUIVALENT, MORE, caught, mutants
from threats import THREATS

HERE = Path(__file__).parent
KEPT = HERE.parent / "build" / "trust"
MOST = 12  # mutants of one function in one language
SILENT = 150  # seconds after which a mutant that says nothing is stopped
UNSEEN: dict[str, str] = {}  # survivors, by kind: why the check cannot tell
HUNTED = """\
[make_hunted.py](make_hunted.py) draws formulas of three kinds: scalars of 1 to 60 operations, equations with affine
subscripts (strides, offsets, from the end, scattered), and blocks of statements with reductions, conditions and loops.
Each is printed, loaded and checked in every language that is named. Formulas that are refused, or whose check takes
longer than half a minute, are not counted. What disagreed when it was drawn was mended, checked again, and is a test:
of tests/formulas.py, tests/test_random_formulas.py, or tests/frameworks/test_random_formulas.py.

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
    found = [m for m in outcomes(list(MORE)) if m[-1] is not None]
    made, left = Counter(m[1] for m in found), [m for m in found if not m[-1]]
    lost = Counter(m[1] for m in left)
    rows = [(f"`{to}`", str(made[to]), str(made[to] - lost[to]), f"{1 - lost[to] / made[to]:.1%}") for to in made]
    total = len(found)
    rows.append(("all", str(total), str(total - len(left)), f"{1 - len(left) / total:.1%}"))
    kinds, missed = Counter(m[2] for m in found), Counter(m[2] for m in left)
    by_kind = [(kind, str(kinds[kind]), str(kinds[kind] - missed[kind])) for kind in kinds]
    told = [
        (f"{function}, `{to}`", kind, f"`{before}`", f"`{after}`", UNSEEN.get(kind, "**unexplained**"))
        for function, to, kind, before, after, _ in left
    ]
    same = "".join(f"* {why}.\n" for _, _, why in EQUIVALENT)
    return (
        f"{table(('language', 'mutants', 'caught', ''), rows)}\n"
        f"{table(('kind of mistake', 'made', 'caught'), by_kind)}\n"
        f"Survivors:\n\n{table(('function', 'kind', 'printed', 'mutant', 'why'), told) if told else 'none.'}\n"
        f"Mistakes that change no result are no mutants, and are left out:\n\n{same}"
    )


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
are of the kinds in [tests/mutants.py](../tests/mutants.py): every place of a syntax tree that a kind fits is one, and
some of them are drawn.
"""
INPUT = """\
A formula comes from anywhere, a command from a script. What was tried ([tests/threats.py](../tests/threats.py)), and
what happened; none of it ran text as code, left a file behind, or showed a traceback. `symgrad generate FILE.py`
imports that file, as `python FILE.py` would: a declaration in Python is a program. Formula text is the safe door.
"""

if __name__ == "__main__":
    main()
