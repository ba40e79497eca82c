"""C that calls LAPACKE, where it is asked to."""

from __future__ import annotations

import shlex
import shutil
import subprocess

import numpy as np
import pytest
from libraries import flags, required

import symgrad as sg
from symgrad.backends.c_lapack import FUNCTIONS
from symgrad.errors import CompilerError, TargetError, UnsupportedError

STRICT = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror"]


@pytest.fixture
def lapacke(monkeypatch, pytestconfig):
    required("LAPACKE", monkeypatch, pytestconfig)


CALLED = [
    "f(A[n,n]) = inv(A)",
    "f(A[n,n], B[n,k]) = solve(A, B)",
    "f(A[...,n,n], b[...,n]) = solve(A, b)",
    "f(A[n,n], B[n,k]) = solve_lower(A, B)",
    "f(A[n,n], B[n,k])[j,i] = solve_upper(A, B)[i,j]",
    "f(A[n,n]) = det(A)",
    "f(A[b,n,n])[i] = logdet(A)[i] + slogdet_sign(A)[i]",
    "f(A[n,n]) = sum[i](log(cholesky(A)[i,i]))",
    "f(A[m,n]) -> q, r: q = qr_q(A); r = qr_r(A)",
    "f(A[n,n]) -> w, v: w = eigvalsh(A); v = eigh_vectors(A)",
    "f(A[m,n]) -> u, s: u = svd_u(A); s = svdvals(A)",
    "f(A[m,n]) = pinv(A)",
    "f(A[n,n], x[n]): B[i,j] = A[i,j]*x[j]; out = det(B)*sum[i](x[i])",
]


@pytest.mark.parametrize("text", CALLED)
@pytest.mark.in_turn
def test_the_check_agrees(text, lapacke):
    report = sg.check(sg.parse(text), to="c", lapack=True)
    assert report.ok and not report.failures, str(report)


@pytest.mark.parametrize("text", [CALLED[0], CALLED[6], CALLED[11]])
def test_the_check_agrees_in_floats(text, lapacke):
    report = sg.check(sg.parse(text), to="c", lapack=True, dtype="float")
    assert report.ok and not report.failures, str(report)


@pytest.mark.parametrize("text", CALLED)
def test_compiles_without_a_warning(text, lapacke, tmp_path):
    files = sg.generate(sg.parse(text), to="c", lapack=True, check=False)
    for file, content in files.items():
        tmp_path.joinpath(file).write_text(content)
        assert [line for line in content.split("\n") if len(line) > 88 and "symgrad generate" not in line] == []
    include = [word.replace("-I", "-isystem") for word in shlex.split(flags("LAPACKE")) if word[:2] in ("-I", "-D")]
    subprocess.run(["cc", *STRICT, *include, "-O2", "-c", "f.c", "-o", "out.o"], cwd=tmp_path, check=True)


def test_every_function_is_tried():
    assert [name for name in FUNCTIONS if not any(name in text for text in CALLED)] == []


def test_what_lapack_refuses_is_told(lapacke):
    artefact = sg.load(sg.parse("f(A[n,n]) = inv(A)"), to="c", check=False, lapack=True)
    with pytest.raises(np.linalg.LinAlgError, match="f: LAPACK says 2 in one of inv"):
        artefact.forward(np.ones((2, 2)))


def test_several_results_are_one_call():
    text = sg.generate(sg.parse(CALLED[9]), to="c", lapack=True, check=False)["f.c"]
    assert "    status = lapack_eigh(n, A, w, eigenvectors);\n" in text and text.count("lapack_eigh(") == 2


def test_the_command_in_the_header_asks_for_it_again():
    assert '--to c --lapack' in sg.generate(sg.parse(CALLED[0]), to="c", lapack=True, check=False)["f.h"]
    assert '--lapack' not in sg.generate(sg.parse("f(x) = x"), to="c", lapack=False, check=False)["f.h"]


REFUSED = [
    (lambda: sg.generate(sg.parse(CALLED[0]), to="c", check=False), UnsupportedError, "--to c --lapack"),
    (lambda: sg.generate("f(A[n,n]) = expm(A)", to="c", lapack=True, check=False), UnsupportedError, "c has no expm"),
    (lambda: sg.generate(sg.parse(CALLED[0]), lapack=True, check=False), TargetError, "lapack is an option of c"),
]


@pytest.mark.parametrize(("ask", "error", "said"), REFUSED, ids=["not asked for", "no such routine", "not C"])
def test_what_cannot_be_is_refused(ask, error, said):
    with pytest.raises(error, match=said):
        ask()


def test_a_missing_lapacke_is_explained(monkeypatch):
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    monkeypatch.setenv("LAPACKE", "-include no-such-folder/lapacke.h")  # whatever this machine has
    with pytest.raises(CompilerError, match="there is no LAPACKE here"):
        sg.load(sg.parse(CALLED[0]), to="c", check=False, lapack=True)
