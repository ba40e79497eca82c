"""An explanation as Markdown: formulas as text in blocks, so that it reads as well where no LaTeX is set."""

from __future__ import annotations

import re

from .document import Block, Code, Document, Figure, Formula, Formulas, Items, Paragraph, Pattern, Step, Table

NUMBER = re.compile(r"-?[\d.]+(e[-+]?\d+)?|")


def markdown(document: Document) -> str:
    """The text of a file."""
    lines = document.lines(f"# {document.title}", lambda s: f"## {s.title}", lambda b: _block(b, document))
    return "\n".join(lines).rstrip("\n") + "\n"


def _block(block: Block, document: Document) -> list[str]:
    match block:
        case Paragraph(text):
            return [text, ""]
        case Formulas(items, label, beside):
            shown = []
            for f in items:
                shown += f.text.splitlines()
                shown += [f"    {line}" for line in lines_of(f, document)] if beside else []
            return [*([f"{label}:", ""] if label else []), "```text", *shown, "```", ""] if shown else []
        case Items(items):
            return [*(f"- {item}" for item in items), ""]
        case Table():
            return _table(block)
        case Step(name, reason, before, after):
            lines = [f"**{name}.** {reason}", "", "```text"]
            return [*lines, *(f"  {f.text}" for f in before), *(f"> {f.text}" for f in after), "```", ""]
        case Code(name):
            return [f"The lines are those of `{name}`; `symgrad show` prints all of it.", ""]
        case Figure(title, Pattern() as pattern, said):
            return [f"{title}. {said}", "", "```text", *picture(pattern), "```", ""]
        case Figure(title, _, said):
            return [f"{title}: {said}", ""]


def picture(pattern: Pattern) -> list[str]:
    """A matrix of letters: x where it is not 0."""
    width = max(map(len, pattern.rows))
    rows = zip(pattern.rows, pattern.filled, strict=True)
    return [f"{name:<{width}}  {' '.join('x' if x else '.' for x in row)}" for name, row in rows]


def lines_of(f: Formula, document: Document) -> list[str]:
    """The lines of code that compute a formula, with their numbers."""
    codes = [b for section in document.sections for b in section.blocks if isinstance(b, Code)]
    found = [(n, code.text.splitlines()[n - 1]) for code in codes for n in code.of(f.key)]
    margin = min((len(line) - len(line.lstrip()) for _, line in found), default=0)
    return [f"{n}  {line[margin:]}" for n, line in found]


def _table(table: Table) -> list[str]:
    rows = [[_code(c) for c in row] for row in table.rows]
    head = [_code(c) for c in table.head]
    rule = ["---", *["---:"] * (len(head) - 1)]
    return [f"{table.caption}:", "", *(f"| {' | '.join(r)} |" for r in (head, rule, *rows)), ""]


def _code(text: str) -> str:
    """What stands in a cell: numbers as they are."""
    return text if NUMBER.fullmatch(text) else f"`{text.replace('|', chr(92) + '|')}`"
