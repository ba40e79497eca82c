"""Print docs/operators.md and docs/library.md: what there is, as the rows of symgrad/ops and the library say.

    python docs/make_tables.py

Takes seconds; the tests ask that both are as this prints them.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from textwrap import fill

from symgrad import library
from symgrad.backends import BACKENDS
from symgrad.backends.c_lapack import FUNCTIONS as LAPACK
from symgrad.declare.composed import COMPOSED
from symgrad.declare.python.numpy_functions import FUNCTIONS, INSTEAD
from symgrad.declare.python.seen import FILLED, SEEN
from symgrad.derivatives import as_function
from symgrad.expr import ref, show
from symgrad.ops import ROWS, Op
from symgrad.ops.matrices import MATRICES

HERE = Path(__file__).parent
MADE = "Made by [make_tables.py](make_tables.py), from what is declared.\n"
SHIPPED = """\
They are called from declarations, `sg.library.softmax(x)`, and from formula text, `softmax(x)`; the command prints one
by its name, `symgrad generate symgrad.library:softmax --to c`. What each of them prints is committed, in
[generated/](../generated/), and checked by the tests. Where C takes `--lapack`, or does not have it, that is said.
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


def in_c(name: str) -> str:
    """How C prints a function of the library, where that is not at once."""
    called = {e.matrix.function for e in as_function(getattr(library, name)).statements if e.matrix is not None}
    beyond = called - BACKENDS["c"].calls
    return "" if not beyond else "`--lapack`" if beyond <= {*LAPACK} else "no"


def functions() -> str:
    """docs/library.md."""
    text = f"# Library\n\n{len(library.__all__)} functions, by topic. {MADE}\n{SHIPPED}"
    for topic, (about, names) in library.topics().items():
        rows = []
        for name in names:
            declared = getattr(library, name)
            head = f"`{name}({as_function(declared).header})`"
            rows.append((head, " ".join(declared.__doc__.partition("\n\n")[0].split()), in_c(name)))
        head = ("function", "what it is", "C")
        some = rows if any(row[2] for row in rows) else [row[:2] for row in rows]
        text += f"\n## {topic.capitalize()}\n\n{about}\n\n{table(head[: len(some[0])], some)}"
    return text


PAGES = {"operators.md": operators, "library.md": functions}


def main() -> None:
    """Write both files."""
    for name, page in PAGES.items():
        (HERE / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
