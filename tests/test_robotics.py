"""docs/robotics.md shows what is printed, as other pages do; and goes through other compilers and builds."""

from __future__ import annotations

import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest
from pages import ROOT, compared

pytestmark = pytest.mark.skipif(shutil.which("cmake") is None or shutil.which("cc") is None, reason="no CMake")


def run(*command, cwd):
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def project(tmp_path_factory, request):
    """The folder that somebody has who has read the page."""
    folder = tmp_path_factory.mktemp("robot")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        compared(ROOT / "docs" / "robotics.md", folder, request.config.getoption("--update"))
    return folder


def test_it_compiles_without_warnings(project):
    flags = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-Isrc/reprojection"]
    run("cc", *flags, "main.c", "src/reprojection/rb_reprojection.c", "-lm", "-o", "robot", cwd=project)
    assert run("./robot", cwd=project) == run("./build/robot", cwd=project)


@pytest.mark.skipif(shutil.which("meson") is None or shutil.which("ninja") is None, reason="no Meson")
def test_meson_builds_it(project):
    run("meson", "setup", "by_meson", cwd=project)
    run("ninja", "-C", "by_meson", cwd=project)
    assert run("./by_meson/robot", cwd=project) == run("./build/robot", cwd=project)


def eigen():
    folders = [Path("/usr/include/eigen3"), Path("/usr/local/include/eigen3")]
    if (found := find_spec("casadi")) is not None and found.origin:  # which brings it along
        folders.append(Path(found.origin).with_name("include") / "eigen3")
    return next((folder for folder in folders if (folder / "Eigen").is_dir()), None)


@pytest.mark.skipif(shutil.which("c++") is None or eigen() is None, reason="no C++ compiler, or no Eigen")
def test_eigen_maps_it(project):
    run("c++", "-std=c++17", f"-I{eigen()}", "-Isrc/reprojection", "-Wall", "-c", "eigen.cpp", cwd=project)
