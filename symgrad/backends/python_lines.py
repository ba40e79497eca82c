"""Lists of names in Python source: parameters, what is saved, what is returned."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

WIDTH = 88


def listed(before: str, names: Sequence[str], after: str, indent: int = 0) -> list[str]:
    """`before a, b after` on one line, or with the names on lines of their own, in brackets."""
    line = f"{before}{', '.join(names)}{after}"
    if len(line) + indent <= WIDTH:
        return [line]
    rows = [f"    {row}" for row in textwrap.wrap(f"{', '.join(names)},", WIDTH - 4 - indent, break_long_words=False)]
    if before.endswith("("):
        return [before, *rows, f"){after.lstrip(',)')}"]
    return [f"{before}(", *rows, f"){after}"]


def both_listed(names: Sequence[str], call: str, indent: int) -> list[str]:
    """`x, y = call(x, y)`, with the names on lines of their own on the right, or on both sides, if they are many."""
    whole = ", ".join(names)
    line = f"{whole} = {call}({whole})"
    if len(line) + indent <= WIDTH:
        return [line]
    left = listed("", names, "", indent)
    if len(left) == 1:
        return [f"{whole} = {call}(", f"    {whole}", ")"]
    return [*left[:-1], f") = {call}(", *left[1:]]
