"""C that calls CBLAS for products of matrices, where it is asked to."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from libraries import flags, required

import symgrad as sg
from symgrad.errors import CompilerError, TargetError
from symgrad.pipeline import printed, verified

STRICT = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror"]


@pytest.fixture
def cblas(monkeypatch, pytestconfig):
    required("CBLAS", monkeypatch, pytestconfig)


CALLS = {  # how often CBLAS and the file's own function are called
    "f(x[n,k], w[k,m])[i,j] = sum[l](x[i,l]*w[l,j])": (3, 0),
    "f(x[n,k], w[m,k])[j,i] = sum[l](x[i,l]*w[j,l])": (3, 0),
    "f(x[b,h,n,k], w[b,h,k,m], a[b])[p,q,i,j] = sum[l](a[p]*x[p,q,i,l]*w[p,q,l,j])": (3, 0),
    "f(x[n,k], w[k,m])[i,j] = mean[l](x[i,l]*w[l,j])": (3, 0),
    "f(x[n,12], w[12,12])[i,j] = sum[l](x[i,l]*w[l,j])": (3, 0),
    "f(x[n,k,2], w[k,m])[i,j] = sum[l](x[i,l,0]*w[l,j])": (0, 3),
    "f(x[n,h,k], w[h,k,m])[i,q,j] = sum[l](x[i,q,l]*w[q,l,j])": (3, 0),
    "f(x[n,c], w[o,r,c])[f,i:n-r+1] = sum[d,s](x[i+s,d]*w[f,s,d])": (3, 0),
    "f(x[c,n], w[o,c,r])[f,i:n-r+1] = sum[d,s](x[d,i+s]*w[f,d,s])": (0, 3),
}


@pytest.mark.parametrize("text", CALLS)
def test_calls(text):
    source = sg.generate(sg.parse(text), to="c", blas=True, check=False)["f.c"]
    own = source.count("    contract(")
    assert (source.count("    blas_contract("), own) == CALLS[text]
    assert ("static void contract(" in source) == (own > 0)
    assert [line for line in source.split("\n") if len(line) > 88 and "symgrad generate" not in line] == []


@pytest.mark.parametrize("ways", [{}, {"dtype": "float"}, {"openmp": True}], ids=["double", "float", "threads"])
@pytest.mark.parametrize("text", CALLS)
@pytest.mark.in_turn
def test_the_check_agrees(text, ways, cblas):
    report = sg.check(sg.parse(text), to="c", blas=True, **ways)
    assert report.ok and not report.failures, str(report)


@pytest.mark.parametrize("text", CALLS)
def test_compiles_without_a_warning(text, cblas, tmp_path):
    for file, content in sg.generate(sg.parse(text), to="c", blas=True, check=False).items():
        tmp_path.joinpath(file).write_text(content)
    include = [word.replace("-I", "-isystem") for word in shlex.split(flags("CBLAS")) if word[:2] in ("-I", "-D")]
    subprocess.run(["cc", *STRICT, *include, "-O2", "-c", "f.c", "-o", "out.o"], cwd=tmp_path, check=True)


@pytest.mark.parametrize("factor", [0.0, np.nan])
def test_what_is_no_number_stays_so(factor, cblas):
    code = sg.load(sg.parse("f(x[n,k], w[k,m], a)[i,j] = a*sum[l](x[i,l]*w[l,j])"), to="c", check=False, blas=True)
    assert np.isnan(code.forward(np.full((5, 6), np.inf), np.ones((6, 7)), factor)[0]).all()


MISTAKES = {
    "the other layout": ("left_term == 1 ? CblasNoTrans : CblasTrans", "CblasNoTrans"),
    "rows without what lies between": ("left_row < terms ? terms : left_row", "terms"),
}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_found(mistake, cblas):
    function = sg.parse("f(x[n,h,k], w[h,k,m])[i,q,j] = sum[l](x[i,q,l]*w[q,l,j])")
    result = printed(function, "c", {"blas": True})
    files = {name: text.replace(*mistake) for name, text in result.files.items()}
    assert files != result.files
    wrong = replace(result, files=files)
    assert not verified(function, wrong, wrong.load()).ok


def test_the_command_in_the_header_asks_for_it_again():
    assert "--to c --blas" in sg.generate(sg.parse("f(x) = x"), to="c", blas=True, check=False)["f.h"]


def test_it_is_an_option_of_c():
    with pytest.raises(TargetError, match="blas is an option of c"):
        sg.generate(sg.parse("f(x) = x"), blas=True, check=False)


def test_a_missing_cblas_is_explained(monkeypatch):
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    monkeypatch.setenv("CBLAS", "-include no-such-folder/cblas.h")  # whatever this machine has
    with pytest.raises(CompilerError, match="there is no CBLAS here"):
        sg.load(sg.parse(next(iter(CALLS))), to="c", check=False, blas=True)
