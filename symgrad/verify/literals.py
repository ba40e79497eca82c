"""The numbers of a printed text that is not executed: those of the text that is, of the same plan.

Results are compared up to their rounding, which hides the last digits of a number that stands in the formula.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

DIGITS = 6  # up to which a number is one that helpers have for themselves, as 0.5


def strange(files: Mapping[str, str], executed: Mapping[str, str]) -> list[float]:
    """The numbers of Python files that those which are executed do not have; a language may have its own where an
    operator is a function of the file."""
    return sorted(_numbers(files, True) - _numbers(executed, False))


def _numbers(files: Mapping[str, str], own: bool) -> set[float]:
    parts = [part for path, text in files.items() if path.endswith(".py") for part in ast.parse(text).body]
    parts = [p for p in parts if not (own and isinstance(p, ast.FunctionDef) and p.name.startswith("_"))]
    found = {n.value for part in parts for n in ast.walk(part) if isinstance(n, ast.Constant)}
    return {v for v in found if isinstance(v, float) and len(f"{v:.17g}".partition("e")[0].strip("0.")) > DIGITS}
