"""`generated/` is what symgrad prints today, and it runs: every file is compared, imported or compiled.

`pytest tests/test_generated.py --update` writes what differs and removes what nothing prints any more.
"""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from symgrad import library
from symgrad.backends import BACKENDS
from symgrad.cli.files import placed, write
from symgrad.errors import UnsupportedError
from symgrad.ir import extent_of
from symgrad.pipeline import as_function, generate
from symgrad.verify.sizes import choose, fitting, names
from symgrad.verify.symmetric import made_symmetric, symmetric_inputs

ROOT = Path(__file__).parent.parent
GENERATED = ROOT / "generated"
STRICT = "-std=c99 -pedantic -Wall -Wextra -Wconversion -Wshadow -Werror".split()
STRICT_CPP = "-std=c++11 -pedantic -Wall -Wextra -Wconversion -Wshadow -Werror -x c++".split()

CC = shlex.split(os.environ.get("CC") or "cc")
CXX = shlex.split(os.environ.get("CXX") or "c++")
needs_cc = pytest.mark.skipif(shutil.which(CC[0]) is None, reason="no C compiler")
needs_cxx = pytest.mark.skipif(shutil.which(CXX[0]) is None, reason="no C++ compiler")

each_function = pytest.mark.parametrize("name", library.__all__)


def in_c(name):
    """Whether C can express a function of the library: none of whole matrices."""
    called = [e.matrix.function for e in as_function(getattr(library, name)).statements if e.matrix is not None]
    return BACKENDS["c"].calls.issuperset(called)


each_function_in_c = pytest.mark.parametrize("name", [name for name in library.__all__ if in_c(name)])


@cache
def printed(name):
    """The files of a library function in every language that can express it."""
    declared = getattr(library, name)
    languages = [to for to in BACKENDS if to != "c" or in_c(name)]
    return [f for to in languages for f in placed(GENERATED, name, generate(declared, to=to))]


@pytest.mark.parametrize("name", [name for name in library.__all__ if not in_c(name)])
def test_c_refuses_functions_of_matrices(name):
    with pytest.raises(UnsupportedError, match="c has no "):
        generate(getattr(library, name), to="c")


@each_function
def test_is_what_is_printed(name, request):
    if request.config.getoption("--update"):
        write(printed(name))
    for file in printed(name):
        assert file.path.is_file(), f"{file.path} is missing; pytest --update writes it"
        assert file.path.read_bytes().decode() == file.text, "pytest --update writes it anew; look at git diff"


@each_function
def test_lines_are_short_enough_to_read(name):
    assert [line for f in printed(name) for line in f.text.split("\n") if len(line) > 88] == []


def test_nothing_else_is_there(request):
    expected = {file.path for name in library.__all__ for file in printed(name)}
    there = {p for p in GENERATED.rglob("*") if p.is_file() and p.suffix != ".pyc"}
    extra = sorted(there - expected)
    if request.config.getoption("--update"):
        while extra:
            extra.pop().unlink()
    assert not extra, "nothing prints these files any more; pytest --update removes them"


def test_printing_again_gives_the_same_bytes():
    for name in ("softmax", "linear"):
        again = [f for to in BACKENDS for f in placed(GENERATED, name, generate(getattr(library, name), to=to))]
        assert again == printed(name)


def arguments(function):
    """Small inputs of the right shapes and types: every size is 3, or what the function asks for."""
    rng = np.random.default_rng(0)
    options = {o.name: o.default for o in function.options}
    sizes = dict.fromkeys(names(function), 3)
    if not fitting(function, sizes, dict.fromkeys(function.packs, (4,)), options):
        sizes = choose(function, options, rng)
    packs = set(function.packs)
    symmetric = symmetric_inputs(function)
    for name in function.inputs:
        tensor = function.table[name]
        shape = [
            4 if getattr(extent, "name", "") in packs else extent_of(extent, sizes, options)
            for extent in tensor.shape
        ]
        # in (1/2, 1): probabilities, sides of a triangle, velocities below that of light
        drawn = rng.uniform(0.5, 0.95, shape)
        if name in symmetric:
            drawn = made_symmetric(drawn, symmetric[name][0], True)
        yield drawn if tensor.dtype == "real" else rng.integers(0, 2, shape, tensor.dtype)


@each_function
def test_numpy_runs(name):
    path = GENERATED / name / f"{name}_numpy.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    function = as_function(getattr(library, name))
    inputs = list(arguments(function))
    output, saved = module.forward(*inputs)
    ones = tuple(map(np.ones_like, output)) if isinstance(output, tuple) else np.ones_like(output)
    gradients = module.backward(saved, ones)
    shapes = [x.shape if x.dtype == float else None for x in inputs]
    assert [None if g is None else g.shape for g in gradients] == shapes
    assert all(np.isfinite(g).all() for g in gradients if g is not None)
    assert "symgrad" not in vars(module), "printed code stands on its own"


@needs_cc
@each_function_in_c
def test_c_compiles_without_a_warning(name, tmp_path):
    source = GENERATED / name / f"{name}.c"
    compiled = subprocess.run([*CC, *STRICT, "-c", source, "-o", tmp_path / "a.o"], capture_output=True, text=True)
    assert compiled.returncode == 0, compiled.stderr


@needs_cxx
@each_function_in_c
def test_header_is_cpp_too(name, tmp_path):
    main = tmp_path / "main.cpp"
    main.write_text(f'#include "{name}.h"\n#include "{name}.h"\nint main() {{ return 0; }}\n')
    line = [*CXX, *STRICT_CPP, "-I", GENERATED / name, "-c", main, "-o", tmp_path / "a.o"]
    compiled = subprocess.run(line, capture_output=True, text=True)
    assert compiled.returncode == 0, compiled.stderr


def test_python_passes_the_linter():
    """The project's own rules, on untouched text."""
    line = [sys.executable, "-m", "ruff", "check", "--no-cache", GENERATED]
    linted = subprocess.run(line, capture_output=True, text=True, cwd=ROOT)
    assert linted.returncode == 0, linted.stdout
