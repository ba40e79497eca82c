"""What the site has beyond Sphinx and MyST.

Formulas are MathML. A block of code that is a file (```python residual.py) has its name above it. A link to a file of
the repository leads to a page that shows it. A notebook is a page. Docstrings are the plain text that they are in the
code: paragraphs, columns of names and what they are, and code that is set in.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from myst_parser.parsers.sphinx_ import MystParser
from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx
from sphinx.util.osutil import relative_uri

ROOT = Path(__file__).parent.parent
SCHEME = "repository:"
INCLUDE = re.compile(r"```\{include\} (\S+)\n```\n")
FILE = re.compile(r"^```(\w+) (\S+)\n", re.MULTILINE)
LINK = re.compile(r"(?<!!)(\[[^\]]*\])\(([^)\s#:]+)\)")
ROW = re.compile(r"(\S+(?: \S+)*)  +(\S.*)")  # a name, and what it is
LEXERS = {".py": "python", ".c": "c", ".h": "c", ".md": "md", ".cu": "cuda", ".css": "css", ".js": "js"}


class Formula(TextLexer):
    """```formula: mathematics as text."""

    name, aliases = "formula", ["formula"]


class NotebookParser(MystParser):
    """A notebook, as Markdown with what its cells gave."""

    supported = ("ipynb",)

    def parse(self, inputstring: str, document: nodes.document) -> None:
        super().parse("\n\n".join(_cells(json.loads(inputstring))), document)


def _cells(notebook: Any) -> Iterator[str]:
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        yield text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```"
        for output in cell.get("outputs", ()):
            data = output.get("data", {"text/plain": output.get("text", "")})
            if "text/markdown" in data:
                yield re.sub(r"^#+ (.*)$", r"**\1**", "".join(data["text/markdown"]), flags=re.MULTILINE)
            elif "text/latex" in data:
                yield "".join(data["text/latex"])
            else:
                yield f"```text\n{''.join(data['text/plain'])}\n```"


def read(app: Sphinx, name: str, content: list[str]) -> None:
    """A page before it is parsed: what it includes, names of files, and links into the repository."""
    path = Path(app.env.doc2path(name))
    if path.suffix != ".md":
        return
    text, home = content[0], path.parent
    if included := INCLUDE.fullmatch(text):  # a page of its own, whose links are its own
        path = (home / included[1]).resolve()
        text = path.read_text(encoding="utf-8")
        app.env.note_dependency(str(path))

    def linked(found: re.Match[str]) -> str:
        target = (path.parent / found[2]).resolve()
        if target.is_relative_to(app.srcdir) and target.suffix in (".md", ".ipynb"):
            return f"{found[1]}({Path(os.path.relpath(target, home)).as_posix()})"
        if not target.exists() or not target.is_relative_to(ROOT):
            return found[0]
        return f"{found[1]}({SCHEME}{target.relative_to(ROOT).as_posix()})"

    text = FILE.sub(r"```{code-block} \1\n:caption: \2\n\n", text)
    content[0] = LINK.sub(linked, text)


def resolved(app: Sphinx, doctree: nodes.document, name: str) -> None:
    """Links into the repository lead to pages of the site."""
    for node in doctree.findall(nodes.reference):
        if (target := node.get("refuri", "")).startswith(SCHEME):
            node["refuri"] = app.builder.get_relative_uri(name, page_of(target.removeprefix(SCHEME)))


def page_of(path: str) -> str:
    """The page of a file or folder of the repository."""
    return f"source/{path}"


def shown(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Those pages: of each file that a page links to, and of the files that are in a folder."""
    found = {
        node["refuri"].removeprefix(SCHEME)
        for name in app.env.found_docs
        for node in app.env.get_doctree(name).findall(nodes.reference)
        if node.get("refuri", "").startswith(SCHEME)
    }
    folders = {path for path in found if (ROOT / path).is_dir()}
    inside = {
        path: sorted(f"{path}/{f.name}" for f in (ROOT / path).iterdir() if f.suffix in LEXERS) for path in folders
    }
    for path in sorted(found.union(*inside.values())):
        if path in folders:
            links = "".join(
                f'<li><a href="{relative_uri(page_of(path) + ".html", page_of(f) + ".html")}">{escape(f)}</a></li>'
                for f in inside[path]
            )
            others = sorted(f.name for f in (ROOT / path).iterdir() if f.is_dir() and f.name[0] not in "._")
            body = f"<ul>{links}{''.join(f'<li>{escape(name)}/</li>' for name in others)}</ul>"
        else:
            text = (ROOT / path).read_text(encoding="utf-8")
            body = app.builder.highlighter.highlight_block(text, LEXERS.get(Path(path).suffix, "text"), force=True)
        title = f"<code>{escape(path)}</code>"
        yield page_of(path), {"title": path, "body": f"<h1>{title}</h1>{body}"}, "page.html"


def reachable(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """What scrolls is reached by the keyboard, and captions of the navigation say their level."""
    for name, old, new in (
        ("body", "<pre>", '<pre tabindex="0">'),
        ("body", '<div class="table-wrapper', '<div tabindex="0" class="table-wrapper'),
        ("furo_navigation_tree", 'role="heading"', 'role="heading" aria-level="2"'),
    ):
        if name in context:
            context[name] = context[name].replace(old, new)


def docstring(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """The text of a docstring as reStructuredText."""
    blocks = re.split(r"\n\s*\n", "\n".join(lines).strip("\n"))
    lines[:] = "\n\n".join(map(_block, blocks)).split("\n")


def _block(block: str) -> str:
    lines = block.split("\n")
    if all(line.startswith("    ") for line in lines):
        return f"::\n\n{block}\n\n.."
    if not ROW.match(lines[0]):
        return _plain(" ".join(map(str.strip, lines)))
    end = next((k for k, line in enumerate(lines) if not line.startswith(" ") and not ROW.match(line)), len(lines))
    items: list[tuple[str, list[str]]] = []
    for line in lines[:end]:
        if row := ROW.match(line):
            items.append((row[1], [row[2]]))
        else:
            items[-1][1].append(line.strip())
    listed = "\n".join(f"``{name}``\n    {_plain(' '.join(text))}" for name, text in items)
    return "\n\n".join([listed, *([_block("\n".join(lines[end:]))] if end < len(lines) else [])])


def _plain(text: str) -> str:
    """Running text in which backticks mark code, and nothing else means anything."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return re.sub(r"([\\*_|`])", r"\\\1", text)
    return "".join(f"\\ ``{p}``\\ " if k % 2 else re.sub(r"([\\*_|])", r"\\\1", p) for k, p in enumerate(parts))


def setup(app: Sphinx) -> dict[str, bool]:
    """What Sphinx calls."""

    def mathml(display: str) -> Any:
        def visit(translator: Any, node: nodes.Element) -> None:
            translator.body.append(convert(node.astext(), display=display))
            raise nodes.SkipNode

        return visit, None

    app.add_html_math_renderer("mathml", mathml("inline"), mathml("block"))
    app.add_lexer("formula", Formula)
    app.add_source_suffix(".ipynb", "ipynb")
    app.add_source_parser(NotebookParser)
    app.connect("source-read", read)
    app.connect("doctree-resolved", resolved)
    app.connect("html-collect-pages", shown)
    app.connect("html-page-context", reachable, priority=900)  # after furo's own
    app.connect("autodoc-process-docstring", docstring)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
