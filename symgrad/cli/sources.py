"""The files that declarations stand in."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from ..ir import Function

_FILE = re.compile(r"([^()=]+\.py)(:\w+)?")
_BEGUN = re.compile(r"^\s*@[\w.]*\bfunction\b|\b(parse|from_sympy)\(", re.MULTILINE)
_LEFT_OUT = {"build", "dist", "tests", "test", "venv", "node_modules"}


def declaring(folder: Path) -> list[str]:
    """The Python files below a folder that import symgrad and declare something, as TARGETs; none is run."""
    found = []
    for path in sorted(folder.rglob("*.py")):
        if any(part.startswith(".") or part in _LEFT_OUT for part in path.parts[:-1]) or path.name.startswith("test_"):
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        if "symgrad" in text and _BEGUN.search(text) and _imports_symgrad(text):
            found.append(path.as_posix())
    return found


def _imports_symgrad(text: str) -> bool:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    names = [a.name for node in ast.walk(tree) if isinstance(node, ast.Import) for a in node.names]
    names += [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return any(name.partition(".")[0] == "symgrad" for name in names)


def named_files(targets: Sequence[str]) -> list[Path]:
    """The files that TARGETs name."""
    return [Path(found[1]) for target in targets if (found := _FILE.fullmatch(target.strip()))]


def dependencies(targets: Sequence[str], functions: Sequence[Function]) -> list[Path]:
    """The files that declarations were made from, as far as Python has imported them: those that TARGETs name, those of
    functions, the modules below this folder or beside a named file; and symgrad, whose version prints otherwise."""
    named, package = named_files(targets), Path(__file__).resolve().parent.parent
    files = [*named, *(Path(inspect.unwrap(f.python).__code__.co_filename) for f in functions if f.python is not None)]
    files += [Path(name) for module in [*sys.modules.values()] if (name := getattr(module, "__file__", None))]
    here, apart = [Path.cwd(), *(path.resolve().parent for path in named)], {Path(sys.prefix), package}
    own = dict.fromkeys(path.resolve() for path in files)
    found = [p for p in own if p.is_file() and apart.isdisjoint(p.parents) and any(h in p.parents for h in here)]
    return [*found, package / "__init__.py"]
