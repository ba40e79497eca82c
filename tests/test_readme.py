"""README.md, and the answers in docs/, show what their commands and programs print, uncut; `pytest --update` fills them
in anew.

Its blocks, in order:

console   a command of symgrad, and what it prints beneath it
# NAME    in its first line: the file of that name, which is written
python    a program, run as a file; one that starts with `def forward` is a piece of what the program above it prints,
          and of the committed file
c         a program, compiled against generated/
text      what the program above it prints
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from importlib import util
from pathlib import Path

import pytest
from click.testing import CliRunner

from symgrad.cli import main

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
PROJECTS = ROOT / "docs" / "projects.md"
PAGES = (README, ROOT / "docs" / "why-grad-output.md", PROJECTS)
GENERATED = ROOT / "generated"
BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)
NAMED = re.compile(r"\A(?:#|//) (\S+\.\w+)\n(.*)", re.DOTALL)
CODE = re.compile(r"# exit code (\d)$")
ULPS = re.compile(r"worst error \S+ ulps")  # the last digits of a machine's own exp and sin

needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")


class Reader:
    """Runs the blocks of a page in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.printed: str | None = ""

    def filled(self, found: re.Match[str]) -> str:
        """A block as it should be."""
        kind, text = found.groups()
        if named := NAMED.match(text):
            (self.folder / named[1]).write_text(named[2])
        elif kind == "console":
            text = self.console(text)
        elif kind == "python" and text.startswith("def forward"):
            text = self.piece()
        elif kind == "python":
            self.printed = self.python(text)
        elif kind == "c":
            self.printed = self.c(text)
        elif kind == "text":
            text = text if self.printed is None else self.printed
        return f"```{kind}\n{text}```"

    def console(self, text: str) -> str:
        first = text.splitlines()[0]
        command = first.partition("symgrad ")[2]
        if not command:
            return text  # pip and pytest: continuous integration runs those
        result = CliRunner().invoke(main, shlex.split(command, comments=True))
        expected = CODE.search(command)
        assert result.exit_code == (int(expected[1]) if expected else 0), result.output
        return f"{first}\n{result.output}"

    def python(self, text: str) -> str | None:
        missing = [m for m in re.findall(r"^import (torch|jax)$", text, re.MULTILINE) if util.find_spec(m) is None]
        if missing:
            return None
        (self.folder / "program.py").write_text(text)
        paths = [*map(str, sorted(p for p in GENERATED.iterdir() if p.is_dir())), os.environ.get("PYTHONPATH", "")]
        path = os.pathsep.join(filter(None, paths))
        return self.output(sys.executable, "-W", "error", "program.py", PYTHONPATH=path)

    def c(self, text: str) -> str:
        (self.folder / "program.c").write_text(text)
        header = re.search(r'#include "(\w+)\.h"', text)
        source = GENERATED / header[1]
        flags = "-std=c99 -pedantic -Wall -Wextra -Wconversion -Werror".split()
        self.output("cc", *flags, "-I", source, "program.c", source / f"{header[1]}.c", "-lm", "-o", "program")
        return self.output("./program")

    def output(self, *line: object, **variables: str) -> str:
        environment = {**os.environ, **variables}
        done = subprocess.run(list(map(str, line)), cwd=self.folder, capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def piece(self) -> str:
        """`forward` and `backward` of what was printed."""
        start = self.printed.index("def forward")
        end = self.printed.index("\n\n\ndef _", start)
        return self.printed[start:end] + "\n"


@needs_cc
@pytest.mark.long
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_shows_what_is_printed(page, tmp_path, monkeypatch, request):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("symgrad.cli.config._processors", lambda: 1)  # beside JAX, no process has a copy
    text = page.read_text(encoding="utf-8")
    filled = BLOCK.sub(Reader(tmp_path).filled, text)
    same = ULPS.sub("", filled) == ULPS.sub("", text)
    if request.config.getoption("--update") and not same:
        page.write_text(filled, encoding="utf-8")
        return
    assert ULPS.sub("worst error ... ulps", text) == ULPS.sub("worst error ... ulps", filled)


def test_shows_a_piece_of_the_committed_file():
    pieces = [m[2] for m in BLOCK.finditer(README.read_text()) if m[2].startswith("def forward")]
    assert pieces
    for piece in pieces:
        assert piece in (GENERATED / "linear" / "linear_numpy.py").read_text()


def test_the_first_screen_has_the_two_commands():
    first = [m[2].splitlines()[0] for m in BLOCK.finditer(README.read_text()) if m[1] == "console"][:2]
    assert first[0].startswith("$ pip install -q . && symgrad generate ")
    assert first[1] == '$ pip install -e ".[test,all]" && pytest'


def test_the_table_of_operators_is_what_its_rows_say():
    made = util.spec_from_file_location("make_tables", ROOT / "docs" / "make_tables.py")
    tables = util.module_from_spec(made)
    made.loader.exec_module(tables)
    written = (ROOT / "docs" / "operators.md").read_text(encoding="utf-8")
    assert written == tables.operators(), "python docs/make_tables.py --operators"


def test_links_lead_somewhere():
    for page in (*PAGES, ROOT / "CONTRIBUTING.md"):
        for link in re.findall(r"\]\(([^)]+)\)", BLOCK.sub("", page.read_text())):
            assert link.startswith("https://") or (page.parent / link).exists(), f"{page.name}: {link}"
