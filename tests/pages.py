"""README.md and the pages of docs/ show what their commands and programs print, uncut. Their blocks, in order:

console         commands, each behind `$ `, and what it prints beneath it; `# exit code 1` behind one that ends so
sh              commands whose output is not shown
LANGUAGE FILE   (```c main.c) a file of that name; of one that a command has printed, a part of it
python          a program, run as a file; one that starts with `def forward` is a piece of what the program above it
                prints, and of the committed file
c               a program, compiled against generated/
text            what the program above it prints

Others are read by people alone. The cells of a notebook are run by a kernel, and have what they give beneath them.
What `pip` and `pytest` do is not tried here: continuous integration runs those.
"""

from __future__ import annotations

import difflib
import os
import re
import shlex
import shutil
import subprocess
import sys
from importlib import util
from pathlib import Path
from typing import Any

import nbclient
import nbformat
from click.testing import CliRunner

from symgrad.cli import main

ROOT = Path(__file__).parent.parent
GENERATED = ROOT / "generated"
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LOOSE = re.compile(r"worst error \S+ ulps")  # the last digits of a machine's own exp and sin
ELSEWHERE = re.compile(r"\$? ?(?:pip|pytest|python -m (?:pip|venv))\b")


def script(name: str) -> Any:
    """A program of docs/, as a module."""
    found = util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    module = util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


class Reader:
    """Runs the blocks of a page in one folder, as somebody would who has nothing but the page."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.printed: str | None = ""
        self.written: set[str] = set()
        programs = folder / ".programs"
        programs.mkdir()
        for name, line in {"symgrad": "-m symgrad", "python": ""}.items():
            (programs / name).write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {line} "$@"\n')
            (programs / name).chmod(0o755)
        self.environment = {
            **os.environ,
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))),
            "COLUMNS": "80",
        }

    def page(self, text: str) -> str:
        """The page as it should be."""
        return BLOCK.sub(self.filled, text)

    def filled(self, found: re.Match[str]) -> str:
        """A block as it should be."""
        kind, name, text = found.groups()
        if name:
            text = self.file(name, text)
        elif kind == "console":
            text = "".join(map(self.console, re.findall(r"^\$ .*\n(?:(?!\$ ).*\n)*", text, re.MULTILINE)))
        elif kind == "sh":
            self.shell(text)
        elif kind == "python" and text.startswith("def forward"):
            text = self.piece()
        elif kind == "python":
            self.printed = self.python(text)
        elif kind == "c":
            self.printed = self.c(text)
        elif kind == "text":
            text = text if self.printed is None else self.printed
        return f"```{kind}{f' {name}' if name else ''}\n{text}```"

    def file(self, name: str, text: str) -> str:
        path = self.folder / name
        if path.exists() and name not in self.written:  # what stands there from its first line on, without a margin
            lines = [line.removeprefix(" * ") for line in path.read_text(encoding="utf-8").splitlines()]
            first, *others = text.splitlines()
            assert first in lines, f"this is no line of {name}: {first}"
            start = lines.index(first)
            return "".join(f"{line}\n".replace(" *\n", "\n") for line in lines[start : start + 1 + len(others)])
        self.written.add(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return text

    def console(self, text: str) -> str:
        first = text.splitlines()[0]
        line = first.removeprefix("$ ")
        if ELSEWHERE.match(line):
            _, _, line = line.partition(" && ")
            if not line.startswith("symgrad "):
                return text
        own_process = "--help" in line  # it is as wide as a terminal there
        if own_process or not line.startswith("symgrad ") or re.search(r"[|>&]", re.sub(r"\"[^\"]*\"", "", line)):
            return f"{first}\n{self.shell(line)}"
        own = {path.stem for path in self.folder.glob("*.py")}  # another test may have imported modules of these names
        others = {name: sys.modules.pop(name) for name in own & {*sys.modules}}
        result = CliRunner().invoke(main, shlex.split(line, comments=True)[1:], prog_name="symgrad")
        for name in own & {*sys.modules}:
            del sys.modules[name]
        sys.modules.update(others)
        expected = re.search(r"  # exit code (\d)$", line)
        assert result.exit_code == (int(expected[1]) if expected else 0), result.output
        return f"{first}\n{result.output}"

    def shell(self, text: str) -> str:
        """What commands print."""
        lines = [line for line in text.splitlines() if not ELSEWHERE.match(line)]
        return self.output("bash", "-ec", "\n".join(lines))

    def python(self, text: str) -> str | None:
        missing = [m for m in re.findall(r"^import (torch|jax)$", text, re.MULTILINE) if util.find_spec(m) is None]
        if missing:
            return None
        (self.folder / "program.py").write_text(text)
        paths = [*map(str, sorted(p for p in GENERATED.iterdir() if p.is_dir())), self.environment["PYTHONPATH"]]
        return self.output(sys.executable, "-W", "error", "program.py", PYTHONPATH=os.pathsep.join(paths))

    def c(self, text: str) -> str:
        (self.folder / "program.c").write_text(text)
        header = re.search(r'#include "(\w+)\.h"', text)
        source = GENERATED / header[1]
        flags = "-std=c99 -pedantic -Wall -Wextra -Wconversion -Werror".split()
        self.output("cc", *flags, "-I", source, "program.c", source / f"{header[1]}.c", "-lm", "-o", "program")
        return self.output("./program")

    def output(self, *line: object, **variables: str) -> str:
        environment = {**self.environment, **variables}
        done = subprocess.run(list(map(str, line)), cwd=self.folder, capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def piece(self) -> str:
        """`forward` and `backward` of what was printed."""
        start = self.printed.index("def forward")
        end = self.printed.index("\n\n\ndef _", start)
        return self.printed[start:end] + "\n"


def executed(text: str, folder: Path) -> str:
    """A notebook after a run in a folder."""
    notebook = nbformat.reads(text, 4)
    client = nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    )
    client.execute(env=Reader(folder).environment)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # when it was run
    return f"{nbformat.writes(notebook)}\n"


def compared(path: Path, folder: Path, update: bool) -> None:
    """Compare a page with what its blocks give in a folder, or write it anew."""
    text = path.read_text(encoding="utf-8")
    filled = executed(text, folder) if path.suffix == ".ipynb" else Reader(folder).page(text)
    if update and LOOSE.sub("", filled) != LOOSE.sub("", text):
        path.write_text(filled, encoding="utf-8")
        return
    shown, given = (LOOSE.sub("worst error ... ulps", page).splitlines() for page in (text, filled))
    assert shown == given, "\n".join(difflib.unified_diff(shown, given, "shown", "given", lineterm="", n=1))


def missing(text: str) -> list[str]:
    """The programs that a page runs and that are not here."""
    wanted = {"cmake"} & {*re.findall(r"^(?:\$ )?(\w+)", text, re.MULTILINE)} | {"cc"}
    return sorted(name for name in wanted if shutil.which(name) is None)
