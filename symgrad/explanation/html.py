"""An explanation as one page that needs no network: MathML, highlighted code, pictures, and what links them."""

from __future__ import annotations

import re
from html import escape
from importlib.util import find_spec
from typing import Any

from ..backends.base import source
from ..errors import TargetError
from ..later import Later
from .document import Block, Code, Document, Figure, Formula, Formulas, Items, Paragraph, Section, Step, Table
from .svg import svg

_mathml: Any = Later("latex2mathml.converter")
_pygments: Any = Later("pygments")
_lexers: Any = Later("pygments.lexers")
_formatters: Any = Later("pygments.formatters")

NEEDED = {"latex2mathml": "latex2mathml", "pygments": "Pygments"}  # what is imported, and what it is called
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


def page(document: Document) -> str:
    """The text of the file. Raises TargetError where this machine lacks what it takes."""
    _require()
    return _Page(document).text()


def sections(document: Document) -> str:
    """The sections alone, for a page that has the style and the script already. Raises TargetError as `page` does."""
    _require()
    of = _Page(document)
    return "".join(map(of.section, document.sections))


def _require() -> None:
    missing = [name for module, name in NEEDED.items() if find_spec(module) is None]
    if missing:
        raise TargetError(
            f"a page takes {' and '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} not installed here: "
            f"pip install 'symgrad[html]'. The terminal and --markdown need nothing more."
        )


class _Page:
    def __init__(self, document: Document) -> None:
        self.document = document
        self.codes = [b for s in document.sections for b in s.blocks if isinstance(b, Code)]
        self.pictures = 0

    def text(self) -> str:
        """The page."""
        d = self.document
        title, plain = _spans(d.title), escape(d.title.replace("`", ""))
        links = "".join(f'<li><a href="#{s.name}">{_spans(s.title)}</a></li>' for s in d.sections)
        body = "".join(map(self.block, d.lead)) + "".join(map(self.section, d.sections))
        return (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
            '<link rel="icon" href="data:,">\n'
            f"<title>{plain}</title>\n<style>\n{source('explain.css')}</style>\n</head>\n<body>\n"
            f'<a class="skip" href="#main">Skip to the explanation</a>\n<header><h1>{title}</h1></header>\n'
            f'<nav aria-label="Sections"><ol>{links}</ol></nav>\n<main id="main">\n{body}</main>\n'
            f"<footer><p>Made by symgrad, of the formula alone.</p></footer>\n"
            f'<div id="said" role="status" aria-live="polite" class="hidden"></div>\n'
            f"<script>\n{source('explain.js')}</script>\n</body>\n</html>\n"
        )

    def section(self, section: Section) -> str:
        blocks = "".join(map(self.block, section.blocks))
        wide = " beside" if any(isinstance(b, Code) for b in section.blocks) else ""
        head = f'<h2 id="{section.name}-title">{_spans(section.title)}</h2>'
        named = f'id="{section.name}" class="part{wide}" aria-labelledby="{section.name}-title"'
        return f"<section {named}>{head}{blocks}</section>\n"

    def block(self, block: Block) -> str:
        match block:
            case Paragraph(text):
                return f"<p>{_spans(text)}</p>"
            case Items(items):
                return f"<ul>{''.join(f'<li>{_spans(i)}</li>' for i in items)}</ul>"
            case Formulas(items, label):
                return self.formulas(items, label)
            case Table():
                return _table(block)
            case Step(name, reason, before, after):
                left, right = (
                    self.formulas(some, word)
                    for some, word in ((before, "before" if after else "left out"), (after, "after"))
                )
                return f'<article class="step"><h3>{_spans(name)}</h3><p>{_spans(reason)}</p>{left}{right}</article>'
            case Code():
                return self.code(block)
            case Figure(title, _, said):
                self.pictures += 1
                picture, named = svg(block, f"picture{self.pictures}"), escape(title)
                return (
                    f"<figure><figcaption>{_spans(title)}</figcaption>"
                    f'<div class="scroll" tabindex="0" role="group" aria-label="{named}">{picture}</div>'
                    f"<details><summary>In words</summary><p>{_spans(said)}</p></details></figure>"
                )

    def formulas(self, items: tuple[Formula, ...], label: str) -> str:
        if not items:
            return ""
        rows = "".join(self.formula(f) for f in items if f.latex or f.text)
        head = f'<p class="label">{_spans(label)}</p>' if label else ""
        named = escape(label or "formulas")
        return f'{head}<div class="formulas scroll" tabindex="0" role="group" aria-label="{named}">{rows}</div>'

    def formula(self, f: Formula) -> str:
        at = next((code.of(f.key) for code in self.codes if f.key), ())
        inner = _math(f) if f.latex else f"<pre>{escape(f.text)}</pre>"
        if not at:
            return f'<div class="formula">{inner}</div>'
        where = f"line {at[0]}" if len(at) == 1 else f"lines {at[0]} to {at[-1]}"
        link = f'<a href="#line{at[0]}">{where}</a>'
        return f'<div class="formula" data-key="{escape(f.key)}">{link} {inner}</div>'

    def code(self, code: Code) -> str:
        """The file, each line with the keys of the formulas that it computes."""
        lexer = _lexers.CLexer if code.name.endswith((".c", ".h")) else _lexers.PythonLexer
        formatter = _formatters.HtmlFormatter(nowrap=True)
        rows = _pygments.highlight(code.text, lexer(stripnl=False), formatter).rstrip("\n").split("\n")
        keys: dict[int, list[str]] = {}
        line = "line" if code is self.codes[0] else f"file{self.codes.index(code) + 1}-line"
        for key, lines in code.lines:
            for n in lines:
                keys.setdefault(n, []).append(key)
        shown = "".join(
            f'<span class="row" id="{line}{n}"'
            + (f' data-keys="{escape("|".join(keys[n]))}"' if n in keys else "")
            + f">{row}\n</span>"
            for n, row in enumerate(rows, 1)
        )
        return (
            f'<div class="code"><div class="bar"><span>{escape(code.name)}</span>'
            f'<button type="button" class="copy">Copy the file</button></div>'
            f'<pre tabindex="0" role="region" aria-label="{escape(code.name)}"><code>{shown}</code></pre></div>'
        )


def _math(f: Formula) -> str:
    made: str = _mathml.convert(f.latex.replace(r"\mathrel{+}=", r"\mathrm{+=}"), display="block")
    return made.replace("<math ", f'<math alttext="{escape(f.text or f.latex)}" ', 1)


def _table(table: Table) -> str:
    head = "".join(f'<th scope="col">{escape(c)}</th>' if c else "<td></td>" for c in table.head)
    rows = "".join(
        f'<tr><th scope="row">{escape(first)}</th>{"".join(f"<td>{escape(c)}</td>" for c in rest)}</tr>'
        for first, *rest in table.rows
    )
    return (
        f'<div class="scroll" tabindex="0" role="group" aria-label="{escape(table.caption)}"><table>'
        f"<caption>{escape(table.caption)}</caption><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _spans(text: str) -> str:
    """Running text, with its code marked."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(text, quote=False))
