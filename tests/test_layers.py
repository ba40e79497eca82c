"""The file list is the pipeline: a module imports only from its left."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "symgrad"
ORDER = """errors expr ops domain evaluate accuracy ir declare differentiate simplify plan
    source backends verify pipeline library cli""".split()
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
        else:
            continue
        for name in dotted:
            parts = name.split(".")
            if parts[0] == "symgrad":
                yield (parts[1] if len(parts) > 1 else "__init__"), node.lineno


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
