"""Draw docs/static/softmax.svg, the picture of README.md, of what symgrad says and prints of one formula.

    python docs/make_picture.py

tests/test_site.py compares it.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path

from pygments.lexers import CLexer, PythonLexer
from pygments.token import Token

import symgrad as sg
from symgrad.explanation.document import Formulas

PICTURE = Path(__file__).parent / "static" / "softmax.svg"
FORMULA = "softmax(x[n]): out[i] = exp(x[i]) / sum[j](exp(x[j]))"
WIDE, LINE, LETTER, MARGIN, GAP = 1100, 21, 7.85, 18, 14  # pixels; LETTER is the width of one at 13 px
COLORS = {Token.Keyword: "word", Token.Comment: "soft", Token.Literal: "value", Token.Name.Builtin: "name"}
STYLE = """\
text { font: 13px ui-monospace, "SFMono-Regular", Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #1b1f24;
  white-space: pre; }
.head { font: 600 14px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #0550ae; }
.page { fill: #ffffff; stroke: #c9d1d9; } .panel { fill: #f4f6f8; }
.word { fill: #a0111f; } .soft { fill: #57606a; } .value { fill: #0550ae; } .name { fill: #6639ba; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; } .head { fill: #79c0ff; } .page { fill: #0d1117; stroke: #3d444d; } .panel { fill: #161b22; }
  .word { fill: #ff7b72; } .soft { fill: #9da7b1; } .value { fill: #79c0ff; } .name { fill: #d2a8ff; }
}
"""


def picture() -> str:
    """The text of the file."""
    f = sg.parse(FORMULA)
    numpy, c = sg.generate(f)["softmax_numpy.py"], sg.generate(f, to="c")["softmax.c"]
    (jacobian,) = (
        b for s in sg.explain(f, only="jacobian").document.sections for b in s.blocks if isinstance(b, Formulas)
    )
    product = [e.removeprefix("    ") for e in str(sg.vjp(f)).splitlines() if "grad_x" in e or "sum_grad" in e]
    python = [*part(numpy, "    exp_x = ", "    return"), "", *part(numpy, "        grad_x = ", "    return")]
    loops = part(c, "        /* sum_grad_output_out", "    }")
    checked = [line for to in ("numpy", "c") for line in str(sg.check(f, to=to)).splitlines()]
    rows = [
        [("You write", [FORMULA], None)],
        [
            ("The Jacobian J", [line.text for line in jacobian.items], None),
            ("The gradient J^T v, simplified", product, None),
        ],
        [("Printed for NumPy: forward, and backward", python, PythonLexer), ("Printed for C: backward", loops, CLexer)],
        [("Checked against the formula", checked, None)],
    ]
    body, y = list[str](), MARGIN
    for row in rows:
        height = LINE * (1 + max(len(lines) for _, lines, _ in row)) + 24
        longest = [4 + max(map(len, [head, *lines])) for head, lines, _ in row]
        x = float(MARGIN)
        for letters, (head, lines, lexer) in zip(longest, row, strict=True):
            width = (WIDE - 2 * MARGIN - GAP * (len(row) - 1)) * letters / sum(longest)
            body.append(f'<rect class="panel" x="{x:.1f}" y="{y}" width="{width:.1f}" height="{height}" rx="8"/>')
            body.append(f'<text class="head" x="{x + 14:.1f}" y="{y + 24}">{escape(head)}</text>')
            for n, line in enumerate(lines, 1):
                assert len(line) * LETTER < width - 28, line
                shown = "".join(spans(line, lexer)) if lexer else escape(line)
                body.append(f'<text x="{x + 14:.1f}" y="{y + 26 + LINE * n}">{shown}</text>')
            x += width + GAP
        y += height + GAP
    high = y - GAP + MARGIN
    said = "softmax as a formula; its Jacobian; the gradient J^T v; code for NumPy and C; what the check says of both."
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {high}" width="{WIDE}" height="{high}" '
        f'role="img">\n'
        f"<title>{said}</title>\n<style>\n{STYLE}</style>\n"
        f'<rect class="page" x="0.5" y="0.5" width="{WIDE - 1}" height="{high - 1}" rx="12"/>\n'
        + "\n".join(body)
        + "\n</svg>\n"
    )


def part(text: str, first: str, last: str) -> list[str]:
    """The lines from the first that begins with `first` up to one that begins with `last`, set out."""
    lines = text.splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith(first))
    end = next(k for k, line in enumerate(lines[start:], start) if line.startswith(last))
    found = [line for line in lines[start:end] if "#pragma" not in line]
    margin = min(len(line) - len(line.lstrip()) for line in found if line)
    return [line[margin:] for line in found]


def spans(line: str, lexer: type) -> Iterator[str]:
    """A line of code, coloured."""
    for kind, text in lexer(stripnl=False, ensurenl=False).get_tokens(line):
        name = next((name for token, name in COLORS.items() if kind in token), "")
        yield f'<tspan class="{name}">{escape(text)}</tspan>' if name and text.strip() else escape(text)


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
