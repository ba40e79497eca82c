"""What callers of the files in `generated/` rely on: C prototypes, Python signatures, the order of what is saved.

People commit printed files and call them. `tests/data/interfaces/` holds these facts, a text for each language, read
here from the committed files and not from what prints them; `pytest tests/test_interfaces.py --update` writes them.
"""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest

from symgrad.cli.interface import of_header, of_python

GENERATED = Path(__file__).parent.parent / "generated"
TABLES = Path(__file__).parent / "data" / "interfaces"

LANGUAGES = {
    "c": (".h", of_header),
    **{name: (f"_{name}.py", of_python) for name in ("numpy", "scipy", "torch", "jax", "torch_c", "triton", "pallas")},
}


def table(language):
    """The facts about each file of a language, in text."""
    end, read = LANGUAGES[language]
    lines = []
    for path in sorted(GENERATED.glob(f"*/*{end}")):
        lines += [path.relative_to(GENERATED).as_posix(), *(f"    {fact}" for fact in read(path.read_text("utf-8")))]
    return "\n".join([*lines, ""])


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_callers_rely_on_is_as_it_was(language, request):
    path, now = TABLES / f"{language}.txt", table(language)
    if request.config.getoption("--update"):
        path.write_text(now, "utf-8")
    before = path.read_text("utf-8")
    if now != before:
        lines = difflib.unified_diff(before.splitlines(), now.splitlines(), "before", "now", lineterm="", n=1)
        pytest.fail(
            "\n".join(lines) + f"\n\nPrinted files for {language} are called in another way. Where that is meant, "
            'record it in CHANGELOG.md under "Generated code", and write the table anew: '
            "pytest tests/test_interfaces.py --update",
            pytrace=False,
        )


@pytest.mark.parametrize(
    ("read", "text", "facts"),
    [
        (
            of_header,
            '#define F_WORK(n) ((n) * 2)\n#ifdef __cplusplus\nextern "C" {\n#endif\n/* Compute. */\n'
            "void f_forward(size_t n,\n               const double *x, double out[]);\n",
            ["void f_forward(size_t n, const double *x, double out[])", "#define F_WORK(n)"],
        ),
        (
            of_python,
            '__all__ = ["F", "backward", "forward"]\n'
            "def forward(x, *, eps=1e-05):\n    return x * x, (x, eps)\n"
            "def backward(saved, grad_output=None):\n    x, eps = saved\n    return 2 * x, None\n"
            "def _own(a):\n    return a\n"
            "class F:\n    def forward(x, eps):\n        return x\n",
            [
                "forward(x, *, eps=1e-05)",
                "backward(saved, grad_output=None)",
                "    saved (x, eps)",
                "    gives (2 * x, None)",
                "F.forward(x, eps)",
            ],
        ),
    ],
    ids=["header", "python"],
)
def test_what_is_read_of_a_file(read, text, facts):
    assert read(text) == facts
