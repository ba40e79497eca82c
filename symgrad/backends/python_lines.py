"""Lists of names in Python source: parameters, what is saved, what is returned."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

WIDTH = 100  # many names in a row are easier to read than as many lines


def listed(before: str, names: Sequence[str], after: str, indent: int = 0) -> list[str]:
    """`before a, b after` on one line, or with the names on lines of their own, in brackets."""
    line = f"{before}{', '.join(names)}{after}"
    if len(line) + indent <= WIDTH:
        return [line]
    rows = [f"    {row}" for row in textwrap.wrap(f"{', '.join(names)},", 84 - indent, break_long_words=False)]
    if before.endswith("("):
        return [before, *rows, f"){after.lstrip(',)')}"]
    return [f"{before}(", *rows, f"){after}"]
