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
from arguments import arguments

from symgrad import library
from symgrad.backends import BACKENDS
from symgrad.cli.files import placed, write
from symgrad.errors import UnsupportedError
from symgrad.ir import single, unknowns
from symgrad.pipeline import as_function, generate

ROOT = Path(__file__).parent.parent
GENERATED = ROOT / "generated"
STRICT = "-std=c99 -pedantic -Wall -Wextra -Wconversion -Wshadow -Werror".split()
STRICT_CPP = "-std=c++11 -pedantic -Wall -Wextra -Wconversion -Wshadow -Werror -x c++".split()

CC = shlex.split(os.environ.get("CC") or "cc")
CXX = shlex.split(os.environ.get("CXX") or "c++")
needs_cc = pytest.mark.skipif(shutil.which(CC[0]) is None, reason="no C compiler")
needs_cxx = pytest.mark.skipif(shutil.which(CXX[0]) is None, reason="no C++ compiler")

# for solvers where somebody would solve: a scalar to minimise, an array of residuals
FOR_SOLVERS = """rosenbrock himmelblau booth beale rastrigin ackley lennard_jones coulomb_energy gaussian_logpdf
    heat_step huber_loss cross_entropy""".split()

each_function = pytest.mark.parametrize("name", library.__all__)


def in_c(name):
    """Whether C can express a function of the library: none of whole matrices."""
    called = [e.matrix.function for e in as_function(getattr(library, name)).statements if e.matrix is not None]
    return BACKENDS["c"].calls.issuperset(called)


each_function_in_c = pytest.mark.parametrize("name", [name for name in library.__all__ if in_c(name)])


TORCH_OVER_C = {"embedding", "layer_norm", "linear"}  # the C is there for all; the file that calls it, to be read


def languages(name):
    """The languages that can express a function of the library; of those for solvers only where one is wanted."""
    refused = [] if in_c(name) else ["c"]
    refused += [to for to in BACKENDS if BACKENDS[to].products and name not in FOR_SOLVERS]
    refused += [] if name in TORCH_OVER_C else ["torch_c"]
    return [to for to in BACKENDS if to not in refused]


@cache
def printed(name):
    """The files of a library function in its languages."""
    declared = getattr(library, name)
    files = {path: text for to in languages(name) for path, text in generate(declared, to=to).items()}
    return placed(GENERATED, name, files)


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
    there = {p for p in GENERATED.rglob("*") if p.is_file() and p.parent.name != "__pycache__"}
    extra = sorted(there - expected)
    if request.config.getoption("--update"):
        while extra:
            extra.pop().unlink()
    assert not extra, "nothing prints these files any more; pytest --update removes them"


def test_printing_again_gives_the_same_bytes():
    for name in ("softmax", "linear"):
        again = [f for to in languages(name) for f in placed(GENERATED, name, generate(getattr(library, name), to=to))]
        assert list(dict.fromkeys(again)) == printed(name)


def imported(name, language):
    path = GENERATED / name / f"{name}_{language}.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@each_function
def test_numpy_runs(name):
    module = imported(name, "numpy")
    function = as_function(getattr(library, name))
    inputs = list(arguments(function))
    output, saved = module.forward(*inputs)
    ones = tuple(map(np.ones_like, output)) if isinstance(output, tuple) else np.ones_like(output)
    gradients = module.backward(saved, ones)
    shapes = [x.shape if x.dtype == float else None for x in inputs]
    assert [None if g is None else g.shape for g in gradients] == shapes
    assert all(np.isfinite(g).all() for g in gradients if g is not None)
    assert "symgrad" not in vars(module), "printed code stands on its own"


@pytest.mark.parametrize("name", FOR_SOLVERS)
def test_scipy_runs(name):
    module = imported(name, "scipy")
    function = single(as_function(getattr(library, name)))
    values = dict(zip(function.inputs, arguments(function), strict=True))
    x = np.concatenate([np.ravel(values.pop(n)) for n in unknowns(function)])
    if function.table[function.outputs[0]].shape:
        operator = module.jac(x, *values.values())
        u = module.residuals(x, *values.values())
        assert np.isclose(u @ operator.matvec(x), x @ operator.rmatvec(u))
    else:
        value, gradient = module.fun_and_grad(x, *values.values())
        assert np.isfinite(value) and gradient.shape == module.hessp(x, x, *values.values()).shape == x.shape
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
