"""LAPACKE and CBLAS for the tests of C that calls them: the compiler's own, those of the package scipy-openblas32, or
what $LAPACKE and $CBLAS say."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

OPENBLAS = {  # the functions of each, as scipy-openblas32 has them with a word in front
    "LAPACKE": [
        f"LAPACKE_{t}{r}" for t in "ds" for r in "getrf getri gesv trtrs potrf geqrf orgqr syevd gesdd".split()
    ],
    "CBLAS": ["cblas_dgemm", "cblas_sgemm"],
}
LINKED = {"LAPACKE": "-llapacke", "CBLAS": "-lopenblas"}


@cache
def flags(library):
    """What the compiler must be told for it; empty where there is none."""
    if os.environ.get(library) or shutil.which("cc") is None:
        return os.environ.get(library, "")
    found = importlib.util.find_spec("scipy_openblas32")
    if found is not None and found.origin:
        folder = Path(found.origin).parent
        names = " ".join(f"-D{name}=scipy_{name}" for name in OPENBLAS[library])
        return f"-I{folder}/include {names} -L{folder}/lib -lscipy_openblas -Wl,-rpath,{folder}/lib"
    header = f"#include <{library.lower()}.h>"
    asked = subprocess.run(["cc", "-E", "-"], input=header, capture_output=True, text=True, check=False)
    return LINKED[library] if asked.returncode == 0 else ""


def required(library, monkeypatch, pytestconfig):
    """Set the variable that symgrad reads; skip the test where the library is missing."""
    if not flags(library):
        absent = pytest.fail if pytestconfig.getoption("--frameworks") else pytest.skip
        absent(f"no {library.lower()}.h: pip install scipy-openblas32")
    monkeypatch.setenv(library, flags(library))
