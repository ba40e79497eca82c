"""`generated/` is what symgrad prints today, and it runs: every file is compared, imported or compiled.

`pytest tests/test_generated.py --update` writes what differs and removes what nothing prints any more.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from arguments import arguments
from numpy.testing import assert_allclose
from readers import of_derivative, of_program

from symgrad import library, pipeline
from symgrad.backends import BACKENDS
from symgrad.backends.base import templates
from symgrad.backends.c_compile import Library
from symgrad.backends.c_load import Artefact, Linked
from symgrad.cli.files import placed, write
from symgrad.derivatives import as_function
from symgrad.errors import UnsupportedError
from symgrad.ir import single, unknowns
from symgrad.pipeline import generate
from symgrad.verify.symmetric import made_symmetric, symmetric_inputs

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


ROWS = {"cross_entropy", "gelu", "layer_norm", "rms_norm", "swiglu"}
KERNELS = {  # what there is of kernels, to be read
    "triton": {*ROWS, "linear", "causal_attention", "linear_cross_entropy", "linear_recurrence"},
    "pallas": ROWS,
}
TORCH_OVER_C = {"embedding", "layer_norm", "linear"}  # the C is there for all; the file that calls it, to be read


BESIDE = {  # what is printed beside forward and backward, or without them, by which inputs: in functions/
    "polar_to_cartesian": ("forward,backward,jacobian", ""),
    "bicycle_step": ("forward,jacobian", "heading,speed"),
    "himmelblau": ("value_and_gradient,hessian,hvp", ""),
    "two_link_arm": ("forward,gauss_newton", ""),
    "three_link_arm": ("forward,jacobian", "angle"),
    "cartesian_to_polar": ("forward,jacobian", ""),
    "cartesian_to_spherical": ("forward,jacobian", ""),
    "spherical_to_cartesian": ("forward,jacobian", ""),
    "rotate2d": ("forward,jacobian", ""),
    "lorenz_step": ("forward,jacobian", ""),
    "lotka_volterra": ("forward,jacobian", ""),
    "beale": ("value_and_gradient,hessian", ""),
}
each_beside = pytest.mark.parametrize("name", BESIDE)


def languages(name):
    """The languages that can express a function of the library; of those for solvers only where one is wanted."""
    refused = [] if in_c(name) else ["c"]
    refused += [to for to in BACKENDS if BACKENDS[to].products and name not in FOR_SOLVERS]
    refused += [] if name in TORCH_OVER_C else ["torch_c"]
    refused += [to for to, names in KERNELS.items() if name not in names]
    return [to for to in BACKENDS if to not in refused]


@cache
def in_language(name, to):
    return pipeline.printed(getattr(library, name), to)


@cache
def printed(name):
    """The files of a library function in its languages."""
    files = {path: text for to in languages(name) for path, text in in_language(name, to).files.items()}
    return placed(GENERATED / name, files)


@cache
def printed_beside(name):
    """The files of a library function with others beside forward and backward."""
    functions, wrt = BESIDE[name]
    given = [
        generate(getattr(library, name), to=to, functions=functions, wrt=wrt, check=False) for to in ("numpy", "c")
    ]
    return [file for files in given for file in placed(GENERATED / "functions" / name, files)]


@pytest.mark.parametrize("name", [name for name in library.__all__ if not in_c(name)])
def test_c_refuses_functions_of_matrices(name):
    with pytest.raises(UnsupportedError, match="c has no "):
        generate(getattr(library, name), to="c", check=False)


@each_function
def test_is_what_is_printed(name, request):
    same(printed(name), request)


@each_beside
def test_functions_beside_are_what_is_printed(name, request):
    same(printed_beside(name), request)
    lines = [line for file in printed_beside(name) for line in file.text.split("\n")]
    assert [line for line in lines if len(line) > 88 and "symgrad generate" not in line] == []
    functions, wrt = BESIDE[name]
    for to in ("numpy", "c"):
        report = pipeline.check(getattr(library, name), to=to, functions=functions, wrt=wrt)
        assert report.ok, report


def same(files, request):
    """The files are those that are committed, or they are written."""
    if request.config.getoption("--update"):
        write(files)
    for file in files:
        assert file.path.is_file(), f"{file.path} is missing; pytest --update writes it"
        assert file.path.read_bytes().decode() == file.text, "pytest --update writes it anew; look at git diff"


@each_function
def test_lines_are_short_enough_to_read(name):
    assert [line for f in printed(name) for line in f.text.split("\n") if len(line) > 88] == []


def test_lines_of_helpers_are_short_enough_to_read():
    files = {file.name: file.read_text().split("\n") for file in templates().glob("*.py")}
    assert [(name, line) for name, lines in files.items() for line in lines if len(line) > 88] == []


@each_function
def test_who_reads_a_value_is_where_it_is_computed(name):
    programs = [in_language(name, to).program for to in languages(name)]
    assert [line for p in programs for line in (*of_derivative(p.derivative), *of_program(p))] == []


def test_nothing_else_is_there(request):
    expected = {file.path for name in library.__all__ for file in printed(name)}
    expected |= {file.path for name in BESIDE for file in printed_beside(name)}
    there = {p for p in GENERATED.rglob("*") if p.is_file() and p.parent.name != "__pycache__"}
    extra = sorted(there - expected)
    if request.config.getoption("--update"):
        while extra:
            extra.pop().unlink()
    assert not extra, "nothing prints these files any more; pytest --update removes them"


def test_printing_again_gives_the_same_bytes():
    for name in ("softmax", "linear"):
        again = [
            f
            for to in languages(name)
            for f in placed(GENERATED / name, generate(getattr(library, name), to=to, check=False))
        ]
        assert list(dict.fromkeys(again)) == printed(name)


def loaded(name, compiled):
    """The C of a library function, from what it was compiled to."""
    backend, program = BACKENDS["c"], in_language(name, "c").program
    library = Library(compiled.parent, ctypes.CDLL(compiled))
    return Artefact(program, Linked(library, backend.functions(program)))


def imported(name, language):
    path = GENERATED / name / f"{name}_{language}.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def drawn(values):
    """Numbers in the shapes of arrays, or a tuple of them."""
    if isinstance(values, tuple):
        return tuple(map(drawn, values))
    return np.random.default_rng(1).uniform(0.5, 1.5, np.shape(values)).astype(np.asarray(values).dtype)


def inner(values, others):
    """The inner product of arrays, or of tuples of them."""
    if isinstance(values, tuple):
        return sum(map(inner, values, others))
    return np.vdot(values, others)


def assert_is_slope(along, parts, step=1e-5):
    """That the sum of `parts` is the slope at 0 of the function `along` of a number."""
    slope = (along(step) - along(-step)) / (2 * step)
    size = np.abs(parts).sum() + abs(along(0.0))
    assert abs(slope - np.sum(parts)) <= 1e-6 * size, f"{np.sum(parts)} by the gradient, {slope} by differences"


@each_function
def test_numpy_runs(name):
    module = imported(name, "numpy")
    function = as_function(getattr(library, name))
    inputs = list(arguments(function))
    output, saved = module.forward(*inputs)
    cotangent = drawn(output)
    gradients = module.backward(saved, cotangent)
    shapes = [x.shape if x.dtype == float else None for x in inputs]
    assert [None if g is None else g.shape for g in gradients] == shapes
    symmetric = symmetric_inputs(function)
    for place, (input_name, gradient) in enumerate(zip(function.inputs, gradients, strict=True)):
        if gradient is not None:
            direction = drawn(inputs[place])
            if input_name in symmetric:
                direction = made_symmetric(direction, symmetric[input_name][0], True)

            def along(step, place=place, direction=direction):
                moved = [*inputs[:place], inputs[place] + step * direction, *inputs[place + 1 :]]
                return inner(module.forward(*moved)[0], cotangent)

            assert_is_slope(along, gradient * direction)
    assert "symgrad" not in vars(module), "printed code stands on its own"


@pytest.mark.parametrize("name", FOR_SOLVERS)
def test_scipy_runs(name):
    module = imported(name, "scipy")
    function = single(as_function(getattr(library, name)))
    values = dict(zip(function.inputs, arguments(function), strict=True))
    x = np.concatenate([np.ravel(values.pop(n)) for n in unknowns(function)])
    if function.table[function.outputs[0]].shape:
        direction, u = drawn(x), module.residuals(x, *values.values())
        slope = u @ (module.jac(x, *values.values()) @ direction)
        assert_is_slope(lambda h: u @ module.residuals(x + h * direction, *values.values()), slope)
    else:
        value, gradient = module.fun_and_grad(x, *values.values())
        direction = drawn(x)
        assert_is_slope(lambda h: module.fun_and_grad(x + h * direction, *values.values())[0], gradient * direction)
        assert np.isfinite(value) and gradient.shape == module.hessp(x, x, *values.values()).shape == x.shape
    assert "symgrad" not in vars(module), "printed code stands on its own"


@needs_cc
@each_function_in_c
@pytest.mark.in_turn
def test_c_compiles_without_a_warning_and_computes_what_numpy_does(name, tmp_path):
    source, library_file = GENERATED / name / f"{name}.c", tmp_path / "a.so"
    assert source.read_text() == in_language(name, "c").files[source.name], "another program is called otherwise"
    line = [*CC, *STRICT, "-fPIC", "-shared", source, "-o", library_file, "-lm"]
    compiled = subprocess.run(line, capture_output=True, text=True)
    assert compiled.returncode == 0, compiled.stderr
    code, module = loaded(name, library_file), imported(name, "numpy")
    inputs = list(arguments(as_function(getattr(library, name))))
    results = []
    for each in (code, module):
        output, saved = each.forward(*inputs)
        results.append((output, [g for g in each.backward(saved, drawn(output)) if g is not None]))
    (output, gradients), (expected, slopes) = results
    outputs = zip(output, expected, strict=True) if isinstance(output, tuple) else [(output, expected)]
    for mine, other in [*outputs, *zip(gradients, slopes, strict=True)]:
        assert_allclose(mine, other, rtol=1e-9, atol=1e-11)


@needs_cc
@pytest.mark.parametrize("standard", ["-std=c99", "-std=gnu17"])
def test_a_file_means_the_same_where_headers_declare_more(standard):
    """Under gnu standards math.h has functions that C99 does not know, such as significand."""
    files = sorted(map(str, GENERATED.rglob("*.c")))
    done = subprocess.run([*CC, standard, "-fsyntax-only", *files], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


HEADERS = sorted(GENERATED.glob("*/*.h"))  # those in functions/ are of the same names
SYMBOL = re.compile(r"^(?:int|void) (\w+)\(", re.MULTILINE)
MACRO = re.compile(r"^#define (\w+WORK)\(([^)]*)\)", re.MULTILINE)


def caller(headers):
    """A file that knows nothing but the headers, each read twice: the place of every function, every macro's value."""
    texts = [path.read_text().replace("\\\n", "") for path in headers]
    symbols = [name for text in texts for name in SYMBOL.findall(text)]
    macros = [(name, len(given.replace(",", " ").split())) for text in texts for name, given in MACRO.findall(text)]
    calls = [f"{name}({', '.join(['3'] * count)})" for name, count in macros]
    included = [f'#include "{path.parent.name}/{path.name}"\n' * 2 for path in headers]
    places = "".join(f"    if ({name} == 0) {{ return 1; }}\n" for name in symbols)
    rooms = "".join(f"    if ({call} == 0) {{ return 1; }}\n" for call in calls)
    return "".join(included), places, rooms, len(symbols), len(calls)


@pytest.mark.parametrize("command", [
    pytest.param([*CC, *STRICT], id="C", marks=needs_cc),
    pytest.param([*CXX, *STRICT_CPP], id="C++", marks=needs_cxx),
])  # fmt: skip
def test_headers_are_all_that_a_caller_needs(command, tmp_path):
    """Every prototype compiles; every macro that sizes a workspace compiles, links and runs without the library."""
    included, places, rooms, symbols, macros = caller(HEADERS)
    assert symbols > 2 * len(HEADERS) - 1 and macros > 100
    source = tmp_path / "caller.c"
    for body, ending in ((places, ["-Wno-address", "-c", "-o", "caller.o"]), (rooms, ["-o", "caller"])):
        source.write_text(f"{included}\nint main(void)\n{{\n{body}    return 0;\n}}\n")
        line = [*command, "-I", GENERATED, source, *ending]
        done = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert subprocess.run([tmp_path / "caller"], cwd=tmp_path).returncode == 0


def test_python_passes_the_linter():
    """The project's own rules, on untouched text."""
    line = [sys.executable, "-m", "ruff", "check", "--no-cache", GENERATED]
    linted = subprocess.run(line, capture_output=True, text=True, cwd=ROOT)
    assert linted.returncode == 0, linted.stdout
