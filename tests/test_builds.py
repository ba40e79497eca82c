"""C that is printed when a project is built, by CMake and Meson: out of source, anew where a declaration changed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from symgrad.cli import cmake_dir, meson_dir

ROOT = Path(__file__).parent.parent
PROJECTS = ROOT / "docs" / "projects.md"
NAMED = re.compile(r"^```\w+ (\S+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FILES: dict[str, str] = dict(NAMED.findall(PROJECTS.read_text(encoding="utf-8")))
FILES |= {"lengths.py": "LENGTH = 2\n"}

pytestmark = pytest.mark.skipif(shutil.which("cc") is None or os.name == "nt", reason="no C compiler")


@pytest.fixture
def output(tmp_path):
    """Runs a command in a folder with a project, where `symgrad` is this one."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    command = tmp_path / "bin" / "symgrad"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m symgrad "$@"\n')
    command.chmod(0o755)
    own = [str(command.parent), str(Path(sys.executable).parent), os.environ["PATH"]]
    environment = {**os.environ, "PATH": os.pathsep.join(own), "PYTHONPATH": str(ROOT)}

    def run(*line):
        done = subprocess.run(line, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


def built(folder, output, build, printing):
    """What the program says after each change."""
    assert printing in output(*build)
    assert output("build/robot") == "3\n"
    assert printing not in output(*build), "nothing has changed"
    (folder / "lengths.py").write_text("LENGTH = 30  # longer\n")
    os.utime(folder / "lengths.py", ns=(2**62, 2**62))
    assert printing in output(*build)
    os.utime(folder / "lengths.py")
    assert output("build/robot") == "31\n"
    assert not list(folder.glob("*.c~*")) and sorted(p.name for p in folder.glob("*.[ch]")) == ["main.c"]


@pytest.mark.parametrize(("generator", "more"), [("Ninja", ""), ("Unix Makefiles", "NO_CHECK")])
def test_cmake(generator, more, output, tmp_path):
    lists = FILES["CMakeLists.txt"].replace("save minimal", f"save minimal {more}")
    (tmp_path / "CMakeLists.txt").write_text(lists)
    output("cmake", "-G", generator, "-S", ".", "-B", "build", f"-Dsymgrad_DIR={ROOT / 'symgrad' / 'cmake'}")
    built(tmp_path, output, ["cmake", "--build", "build"], "Printing arm.c and arm.h")
    if generator == "Ninja":
        (tmp_path / "CMakeLists.txt").write_text(lists.replace("TARGETS arm.py", ""))
        with pytest.raises(AssertionError, match="TARGETS is missing"):
            output("cmake", "build")


@pytest.mark.parametrize("option", ["--prefix;rb_", "--prefix=rb_"])
def test_cmake_with_a_prefix(option, output, tmp_path):
    """It stands before the names of files, too: a library of empty files was built."""
    lists = FILES["CMakeLists.txt"].replace("--save minimal", option)
    (tmp_path / "CMakeLists.txt").write_text(lists)
    main = FILES["main.c"].replace("arm.h", "rb_arm.h").replace("reach_forward", "rb_reach_forward")
    (tmp_path / "main.c").write_text(main)
    output("cmake", "-S", ".", "-B", "build", f"-Dsymgrad_DIR={ROOT / 'symgrad' / 'cmake'}")
    assert "Printing rb_arm.c and rb_arm.h" in output("cmake", "--build", "build")
    assert output("build/robot") == "3\n"


def test_meson(output, tmp_path):
    shutil.copytree(ROOT / "symgrad" / "meson", tmp_path / "subprojects" / "symgrad")
    output("meson", "setup", "build")
    built(tmp_path, output, ["ninja", "-C", "build"], "Generating from 'arm.py'")


@pytest.mark.parametrize(("command", "name"), [(cmake_dir, "cmake"), (meson_dir, "meson")])
def test_where_the_files_are(command, name, capsys):
    command.callback()
    assert Path(capsys.readouterr().out.strip()) == ROOT / "symgrad" / name
