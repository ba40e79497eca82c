"""What it takes to derive and print: CPU seconds of a new process from a declaration to its text, imports apart.

    python -m benchmarks.speed.generating                # all
    python -m benchmarks.speed.generating chain32 c      # the seconds of one, in this process
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
SHARED = 8  # levels of x*x + x/3, which written out has 3**8 terms


def point(name: str) -> Callable[[], Any]:
    """A formula of the other tables."""

    def declare() -> Any:
        from .work import ROWS, declared

        return declared(ROWS[name].formula)

    return declare


def chain32() -> Any:
    """A chain of 32 links."""
    return joints(32)


def joints(count: int) -> Any:
    """The end of so many links, turned about z and x in turn, by the angles of their joints."""
    import symgrad as sg

    def formula(*angles: Any) -> Any:
        x, y, z = 1, 0, 0
        for k, angle in reversed([*enumerate(angles)]):
            cosine, sine = sg.cos(angle), sg.sin(angle)
            if k % 2:
                y, z = cosine * y - sine * z, sine * y + cosine * z
            else:
                x, y = cosine * x - sine * y, sine * x + cosine * y
            x = x + 1
        return x, y, z

    return of_numbers(formula, f"chain{count}", [f"q{k}" for k in range(count)])


def recurrence() -> Any:
    """128 steps of a recurrent cell of one number, one after the other."""
    import symgrad as sg

    def formula(h: Any, w: Any, u: Any, b: Any, x: Any) -> Any:
        for _ in range(128):
            h = sg.tanh(w * h + u * x + b)
        return h

    return of_numbers(formula, "recurrence", ["h", "w", "u", "b", "x"])


def rosenbrock() -> Any:
    """Rosenbrock's function of 1000 numbers."""

    def formula(*x: Any) -> Any:
        return sum(100 * (b - a * a) ** 2 + (1 - a) ** 2 for a, b in pairwise(x))

    return of_numbers(formula, "rosenbrock", [f"x{k}" for k in range(1000)])


def shared() -> Any:
    """x = x*x + x/3, and again."""

    def formula(x: Any) -> Any:
        for _ in range(SHARED):
            x = x * x + x / 3
        return x

    return of_numbers(formula, "shared", ["x"])


def from_sympy() -> Any:
    """1,000 terms of ten operations each, in five symbols of SymPy."""
    import sympy

    import symgrad as sg

    a, b, c, d, e = symbols = sympy.symbols("a:e", real=True)
    terms = (sympy.sin(k * a + b) * c**2 / (k + d**2 + e) - k * b * d for k in range(2, 1002))
    return sg.from_sympy("expression", [*symbols], {"out": sympy.Add(*terms)})


def of_numbers(formula: Callable[..., Any], name: str, inputs: Sequence[str]) -> Any:
    """A function of numbers, by a signature that only text can give."""
    import symgrad as sg

    text = f"def {name}({', '.join(inputs)}):\n    return formula({', '.join(inputs)})\n"
    names: dict[str, Any] = {"formula": formula}
    exec(text, names)
    return sg.function(names[name])


class Work(NamedTuple):
    """What is printed in a language, and in how many seconds it should be."""

    title: str
    declare: Callable[[], Any]
    to: str
    goal: float


WORK = {
    "ba": Work("BA residual", point("ba"), "c", 0.1),
    "arm": Work("7-joint arm", point("arm"), "c", 0.1),
    "quadrotor": Work("quadrotor step", point("quadrotor"), "c", 0.1),
    "chain32": Work("chain of 32 joints", chain32, "c", 0.25),
    "recurrence": Work("recurrence of 128 steps", recurrence, "c", 0.25),
    "rosenbrock": Work("Rosenbrock of 1000 numbers", rosenbrock, "c", 1.0),
    "sympy_c": Work("10,000 operations from SymPy", from_sympy, "c", 2.0),
    "sympy_numpy": Work("10,000 operations from SymPy", from_sympy, "numpy", 2.0),
    "shared": Work(f"x = x*x + x/3, {SHARED} times", shared, "c", 0.05),
}
IMPORT, IMPORT_GOAL = "import symgrad", 0.15


def measured(rounds: int = 5) -> dict[str, float]:
    """Seconds by name, the median of some processes."""
    found = {name: _median([sys.executable, "-m", "benchmarks.speed.generating", name], rounds) for name in WORK}
    timed = "import time; t = time.process_time(); import symgrad; print(time.process_time() - t)"
    return {IMPORT: _median([sys.executable, "-c", timed], rounds), **found}


def _median(command: Sequence[str], rounds: int) -> float:
    run = [subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True) for _ in range(rounds)]
    return statistics.median(float(done.stdout) for done in run)


def table(found: dict[str, float]) -> list[list[str]]:
    """What is printed, in which language, seconds and goal."""
    lines = [["", "printed", "seconds", "goal"]]
    for name, work in WORK.items():
        seconds = f"{found[name]:.2g}"
        lines.append([work.title, work.to, f"**{seconds}**" if found[name] <= work.goal else seconds, f"{work.goal:g}"])
    imported = f"{found[IMPORT]:.2g}"
    lines.append([IMPORT, "", f"**{imported}**" if found[IMPORT] <= IMPORT_GOAL else imported, f"{IMPORT_GOAL:g}"])
    return lines


def main(*names: str) -> None:
    if not names:
        print("\n".join(" | ".join(line) for line in table(measured())))
        return
    from symgrad import parse, pipeline

    work = WORK[names[0]]
    pipeline.printed(parse("first(x) = sin(x)/(1 + x**2)"), work.to)  # what is imported late is imported before
    start = time.process_time()
    pipeline.printed(work.declare(), work.to)
    print(time.process_time() - start)


if __name__ == "__main__":
    main(*sys.argv[1:])
