"""The file list is the pipeline: a module imports only from its left."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "symgrad"
ORDER = """later records kinds errors expr ops domain evaluate precision numerics ir declare library formulas
    differentiate simplify plan source backends verify derivatives programs pipeline explanation playground cli
    pytest_plugin""".split()
FRONT = {"__init__", "__main__"}  # the front doors stand before the pipeline, and import what they like

FORBIDDEN = {"verify": {"differentiate", "simplify", "plan"}}  # the oracle shares nothing with what derives


def layer(path: Path) -> str:
    """The name of a file in the pipeline; a folder counts as its name."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def files() -> list[Path]:
    """Every module of the pipeline."""
    return [p for p in sorted(PACKAGE.rglob("*.py")) if layer(p) not in FRONT]


def imported(path: Path) -> Iterator[tuple[str, int]]:
    """(layer, line) of each import of symgrad itself, also inside of functions."""
    here = ["symgrad", *path.relative_to(PACKAGE).parts[:-1]]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            dotted = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = here[: len(here) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            dotted = [f"{module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "Later":
            dotted = [ast.literal_eval(node.args[0])]
        else:
            continue
        for name in dotted:
            parts = name.split(".")
            if parts[0] == "symgrad":
                yield (parts[1] if len(parts) > 1 else "__init__"), node.lineno


IMPORTED = {  # what is run: the modules that it does without
    "import symgrad": "numpy mpmath sympy symgrad.declare symgrad.pipeline",
    "from symgrad.cli import main; main(['--help'], standalone_mode=False)": "numpy mpmath sympy symgrad.declare",
    "from symgrad.cli import completion; assert 'softmax' in completion._names('symgrad.library')": """numpy mpmath
        sympy symgrad.declare symgrad.library""",
    "import symgrad.pytest_plugin": "numpy click symgrad.cli",
    "import symgrad as sg; sg.generate('f(x) = x**2', check=False)": "sympy symgrad.verify symgrad.backends.c",
    "import symgrad as sg\ndef f(x, y): return sg.sin(x) / y + 0.1\nsg.generate(f, 'c', check=False)": """mpmath
        sympy symgrad.verify symgrad.backends.numpy symgrad.backends.c_load subprocess""",
}


@pytest.mark.parametrize("text", IMPORTED)
def test_what_takes_long_to_import_is_imported_where_it_is_needed(text):
    without = f"; import sys; assert not {{*{IMPORTED[text].split()}}} & {{*sys.modules}}"
    subprocess.run([sys.executable, "-c", text + without], check=True)


def test_the_order_names_every_module():
    assert {layer(p) for p in files()} == set(ORDER)


@pytest.mark.parametrize("path", files(), ids=lambda p: p.relative_to(PACKAGE).as_posix())
def test_imports_come_from_the_left(path):
    mine = layer(path)
    allowed = set(ORDER[: ORDER.index(mine) + 1]) - FORBIDDEN.get(mine, set())
    wrong = [f"line {line} imports {name}" for name, line in imported(path) if name not in allowed]
    assert not wrong, f"{path.name} may import {', '.join(x for x in ORDER if x in allowed)}"


@pytest.mark.parametrize("path", [p for p in files() if layer(p) == "verify"], ids=lambda p: p.name)
def test_the_oracle_reads_no_derivative(path):
    """The derivative column of ops is what is checked; the check must not use it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    lines = [n.lineno for n in ast.walk(tree) if isinstance(n, ast.Attribute) and n.attr == "derivative"]
    assert not lines


OPTIONAL = {"torch", "jax", "triton"}  # imported where they are used: who does not use them need not have them


def relative(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


@pytest.mark.parametrize("path", files(), ids=relative)
def test_imports_stand_at_the_top(path):
    """An import in a function hides that two modules need each other."""
    found = []
    for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(function, (ast.FunctionDef, ast.Lambda)):
            for node in ast.walk(function):
                optional = isinstance(node, ast.Import) and {a.name.split(".")[0] for a in node.names} <= OPTIONAL
                if isinstance(node, (ast.Import, ast.ImportFrom)) and not optional:
                    found.append(node.lineno)
    assert not found


def needs(path: Path) -> set[Path]:
    """The modules of symgrad that a module imports, be it for types alone."""
    here = path.parent
    found: set[Path] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = here.joinpath(*[".."] * (node.level - 1), *(node.module or "").split(".")).resolve()
            for name in [base, *(base / a.name for a in node.names)]:
                found |= {m for m in (name.with_suffix(".py"), name / "__init__.py") if m.exists()}
    return found - {path, path.parent / "__init__.py"}


def circles() -> list[str]:
    """The modules that come back to themselves by their imports."""
    paths = files()
    graph = {p: needs(p) & set(paths) for p in paths}
    while True:  # what needs nothing that is left is in no circle
        done = [p for p, some in graph.items() if not some]
        if not done:
            return [relative(p) for p in graph]
        graph = {p: some.difference(done) for p, some in graph.items() if p not in done}


def test_no_module_needs_itself():
    assert circles() == []
