"""C that is asked to be otherwise: in floats."""

from __future__ import annotations

import shutil
import subprocess

import numpy as np
import pytest

import symgrad as sg
from symgrad import library
from symgrad.errors import TargetError

STRICT = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Wdouble-promotion", "-Wshadow", "-Werror"]
needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")

SINGLE = {
    "constants and calls": "f(x[n]; a=0.3)[i] = exp(-x[i]**2/2)/sqrt(2*pi) + tanh(a*x[i])/3 + 0.1*abs(x[i])",
    "one point": "f(x, y) = x*sin(y) + erf(x)*y**2.5, atan2(x, y)",
    "sizes and conditions": "f(x[n])[i] = where(x[i] > 0, x[i]*i/n, 0) + (i % 2)*x[i] + i",
    "maxima and logarithms": "f(x[n,m])[i] = log(sum[j](exp(x[i,j]))) + max[j](x[i,j])",
    "a mask": "f(x[n], keep[n]: bool)[i] = where(keep[i], x[i]**2, 0) + keep[i]*x[i]",
    "sorting": "f(x[n], w[n]): y[i] = x[i]*w[i]; s = sort(y); out = sum[i](i*s[i])",
    "a workspace": "f(x[n,n], w[n,n])[i,j] = sum[k](exp(x[i,k])*w[k,j])",
}


@needs_cc
@pytest.mark.parametrize("name", SINGLE)
def test_floats_are_right_to_their_last_places(name):
    report = sg.check(sg.parse(SINGLE[name]), to="c", dtype="float")
    assert report.ok and report.points > 1, str(report)


@needs_cc
@pytest.mark.parametrize("name", SINGLE)
def test_floats_stay_floats(name, tmp_path):
    files = sg.generate(sg.parse(SINGLE[name]), to="c", dtype="float")
    for file, content in files.items():
        tmp_path.joinpath(file).write_text(content)
        code = content.split("*/", 1)[1]
        assert "double" not in code
    subprocess.run(["cc", *STRICT, "-O2", "-c", "f.c", "-o", "out.o"], cwd=tmp_path, check=True)


@needs_cc
def test_results_are_float32():
    artefact = sg.load(library.layer_norm, to="c", dtype="float")
    out, saved = artefact.forward(np.ones((2, 3)), np.ones(3), np.ones(3))
    assert out.dtype == np.float32
    assert {g.dtype for g in artefact.backward(saved, np.ones((2, 3)))} == {np.dtype(np.float32)}


def test_the_header_says_so():
    text = sg.generate(library.layer_norm, to="c", dtype="float")["layer_norm.h"]
    assert "--to c --dtype float\n" in text and "    8 bytes for each element" in text
    assert sg.generate(library.layer_norm, to="c", dtype="double") == sg.generate(library.layer_norm, to="c")


REFUSED = [
    ({"to": "c", "dtype": "half"}, "'half' is no type of C that symgrad prints. Choose from double, float."),
    ({"to": "numpy", "dtype": "float"}, "dtype is an option of C"),
]


@pytest.mark.parametrize(("asked", "said"), REFUSED)
def test_what_is_no_option_is_refused(asked, said):
    with pytest.raises(TargetError, match=said):
        sg.generate(sg.parse("f(x) = x**2"), **asked)
