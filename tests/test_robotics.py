"""docs/robotics.md, followed to the letter: printed, built, linked, run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "robotics.md").read_text()
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
NAMES = {"python": "residual.py", "cmake": "CMakeLists.txt", "meson": "meson.build", "cpp": "eigen.cpp"}


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def run(*command, cwd):
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, env=ENVIRONMENT)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
pytestmark = needs_cc


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("robot")
    for language, name in NAMES.items():
        (text,) = blocks(language)
        folder.joinpath(name).write_text(text)
    prototype, main = blocks("c")
    folder.joinpath("main.c").write_text(main)
    command = blocks("console")[0].split()
    assert command[0] == "symgrad"
    run(sys.executable, "-m", *command, cwd=folder)
    assert prototype in folder.joinpath("src/reprojection/rb_reprojection.h").read_text()
    return folder


def test_the_head_says_what_it_costs(project):
    text = project.joinpath("src/reprojection/rb_reprojection.c").read_text()
    for line in blocks("text")[1].split("\n"):
        assert f" * {line}".rstrip() + "\n" in text


def test_it_converges(project):
    source = "src/reprojection/rb_reprojection.c"
    flags = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-Isrc/reprojection"]
    run("cc", *flags, "main.c", source, "-lm", "-o", "robot", cwd=project)
    assert run("./robot", cwd=project) == blocks("text")[0]


@pytest.mark.skipif(shutil.which("cmake") is None, reason="no CMake")
def test_cmake_builds_it(project):
    for line in blocks("console")[1].splitlines():
        said = run(*line.split(), cwd=project)
    assert said == blocks("text")[0]


@pytest.mark.skipif(shutil.which("meson") is None or shutil.which("ninja") is None, reason="no Meson")
def test_meson_builds_it(project):
    run("meson", "setup", "by_meson", cwd=project)
    run("ninja", "-C", "by_meson", cwd=project)
    assert run("./by_meson/robot", cwd=project) == blocks("text")[0]


def eigen():
    folders = [Path("/usr/include/eigen3"), Path("/usr/local/include/eigen3")]
    if (found := find_spec("casadi")) is not None and found.origin:  # which brings it along
        folders.append(Path(found.origin).with_name("include") / "eigen3")
    return next((folder for folder in folders if (folder / "Eigen").is_dir()), None)


@pytest.mark.skipif(shutil.which("c++") is None or eigen() is None, reason="no C++ compiler, or no Eigen")
def test_eigen_maps_it(project):
    run("c++", "-std=c++17", f"-I{eigen()}", "-Isrc/reprojection", "-Wall", "-c", "eigen.cpp", cwd=project)
