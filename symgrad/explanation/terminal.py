"""An explanation for the terminal, with colour where that is one."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

import click

from ..source.layout import cut_text
from .document import Block, Code, Document, Figure, Formulas, Items, Paragraph, Pattern, Step, Table
from .markdown import lines_of, picture

WIDTH = 88  # columns of running text


def terminal(document: Document) -> str:
    """The text, with escapes that `click.echo` leaves out where nobody sees colours."""
    title = click.style(document.title, bold=True)
    lines = document.lines(title, lambda s: click.style(s.title, bold=True, fg="cyan"), lambda b: _block(b, document))
    return "\n".join(lines).rstrip("\n")


def _block(block: Block, document: Document) -> list[str]:
    match block:
        case Paragraph(text):
            return [*_wrapped(text), ""]
        case Formulas(items, label, beside):
            lines = []
            for f in items:
                parts = cut_text(f.text, 0, WIDTH - 4) if f.latex and f.text else f.text.splitlines()
                lines += [f"    {part}" for part in parts]
                lines += [click.style(f"        {line}", dim=True) for line in lines_of(f, document) if beside]
            return [*(_wrapped(f"{label}:") if label else []), *lines, ""] if lines else []
        case Items(items):
            return [*(line for item in items for line in _wrapped(item, "- ", "  ")), ""]
        case Table():
            return _table(block)
        case Step(name, reason, before, after):
            lines = _wrapped(f"{name}. {reason}", bold=len(name) + 1)
            lines += [click.style(f"    {line}", dim=True) for f in before for line in cut_text(f.text, 0, WIDTH - 4)]
            for f in after:
                first, *rest = cut_text(f.text, 0, WIDTH - 4)
                lines += [click.style(line, fg="green") for line in (f"  > {first}", *(f"    {r}" for r in rest))]
            return [*lines, ""]
        case Code(name):
            return [*_wrapped(f"The lines are those of `{name}`; `symgrad show` prints all of it."), ""]
        case Figure(title, Pattern() as pattern, said):
            return [*_wrapped(f"{title}. {said}"), *(f"    {row}" for row in picture(pattern)), ""]
        case Figure(title, _, said):
            return [*_wrapped(f"{title}: {said}"), ""]


def _wrapped(text: str, first: str = "", rest: str = "", bold: int = 0) -> list[str]:
    lines = textwrap.wrap(
        text, WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )
    if bold and lines:
        lines[0] = click.style(lines[0][:bold], bold=True) + lines[0][bold:]
    return [_spans(line) for line in lines]


def _spans(line: str) -> str:
    """A line of running text with its code in a colour."""
    return re.sub(r"`[^`]*`", lambda m: click.style(m[0], fg="yellow"), line)


def _table(table: Table) -> list[str]:
    rows = [table.head, *table.rows]
    widths = [max(len(row[k]) for row in rows) for k in range(len(table.head))]

    def line(row: Sequence[str]) -> str:
        cells: list[str] = [row[0].ljust(widths[0])]
        cells += [c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True)]
        return "    " + "   ".join(cells).rstrip()

    return [*_wrapped(f"{table.caption}:"), click.style(line(table.head), dim=True), *map(line, table.rows), ""]
