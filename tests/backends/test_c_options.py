"""C that is asked to be otherwise: in floats, or so that gradients are added to."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest

import symgrad as sg
from symgrad import library
from symgrad.errors import TargetError
from symgrad.pipeline import printed, verified

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
    "states whose rounding may leave the range": (
        "f(u[6], a, b, k): q[0] = a; w[0] = b; q[t+1] = q[t] + w[t]/20; w[t+1] = w[t] - (u[t]*cos(q[t]) + "
        "w[t]**2*cos(q[t])*sin(q[t])/20 + 10*sin(q[t]))/(10 + sin(q[t])**2); out = k*w[6]**2"
    ),
}


@needs_cc
@pytest.mark.parametrize("name", SINGLE)
def test_floats_are_right_to_their_last_places(name):
    report = sg.check(sg.parse(SINGLE[name]), to="c", dtype="float")
    assert report.ok and report.points > 1, str(report)


@needs_cc
def test_points_that_floats_cannot_hold_are_the_largest_ones():
    report = sg.check(sg.parse("f(r, t) = r*sin(t)/t"), to="c", dtype="float", functions="jacobian")
    assert report.ok and report.points > 80, str(report)


@needs_cc
@pytest.mark.parametrize("name", SINGLE)
def test_floats_stay_floats(name, tmp_path):
    files = sg.generate(sg.parse(SINGLE[name]), to="c", dtype="float", check=False)
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
    text = sg.generate(library.layer_norm, to="c", dtype="float", check=False)["layer_norm.h"]
    assert "--to c --dtype float\n" in text and "    8 bytes for each element" in text
    assert sg.generate(library.layer_norm, to="c", dtype="double", check=False) == sg.generate(
        library.layer_norm, to="c", check=False
    )


INTEGERS = ["embedding", "cross_entropy", "median", "top_k_sum", "segment_sum", "sort"]


@needs_cc
@pytest.mark.parametrize("name", INTEGERS)
def test_integers_are_of_the_type_that_is_asked_for(name, tmp_path):
    function = getattr(library, name)
    report = sg.check(function, to="c", index="int32")
    assert report.ok and report.points > 1, str(report)
    files = sg.generate(function, to="c", index="int32", check=False)
    for file, content in files.items():
        tmp_path.joinpath(file).write_text(content)
        assert " int64_t" not in content
        assert "int32_t" in content
    subprocess.run(["cc", *STRICT, "-O2", "-c", f"{name}.c", "-o", "out.o"], cwd=tmp_path, check=True)


@needs_cc
def test_results_of_integers_are_converted(tmp_path):
    text = "f(k[n]: int, x[n]) -> a, b, c, d: a = sum[i](k[i]); b[i] = k[i]*i; c = argmax[i](x[i]); d = max[i](k[i])"
    files = sg.generate(sg.parse(text), to="c", index="int32", check=False)
    for file, content in files.items():
        tmp_path.joinpath(file).write_text(content)
    subprocess.run(["cc", *STRICT, "-O2", "-c", "f.c", "-o", "out.o"], cwd=tmp_path, check=True)


@needs_cc
def test_integers_are_read_where_they_are():
    artefact = sg.load(library.embedding, to="c", index="int32")
    table, token = np.arange(6.0).reshape(3, 2), np.array([2, 0], np.int32)
    out, saved = artefact.forward(table, token)
    assert np.array_equal(out, table[token])
    assert any(np.shares_memory(token, s) for s in saved)  # no copy
    assert np.array_equal(artefact.forward(table, token.astype(np.int64))[0], out)
    with pytest.raises(OverflowError, match="embedding: token has 4294967296, which is no int32"):
        artefact.forward(table, np.array([0, 2**32]))


@needs_cc
@pytest.mark.parametrize("name", ["lora", "median", "rodrigues"])  # workspaces, functions of the file, one point
def test_names_begin_with_the_prefix(name, tmp_path):
    function = getattr(library, name)
    report = sg.check(function, to="c", prefix="rb_")
    assert report.ok and "--prefix rb_" in report.command, str(report)
    files = sg.generate(function, to="c", prefix="rb_", check=False)
    assert [*files] == [f"rb_{name}.c", f"rb_{name}.h"]
    for file, content in files.items():
        tmp_path.joinpath(file).write_text(content)
    subprocess.run(["cc", *STRICT, "-O2", "-c", f"rb_{name}.c", "-o", "out.o"], cwd=tmp_path, check=True)
    symbols = subprocess.check_output(["nm", "-g", "--defined-only", "out.o"], cwd=tmp_path, text=True).splitlines()
    assert symbols
    assert all(line.split()[-1].startswith("rb_") for line in symbols)
    assert sg.load(function, to="c", prefix="rb_").forward is not None


OPTIONS_REFUSED = [
    ({"index": "int16"}, "'int16' is no type of integers in arrays. Choose from int64, int32"),
    ({"prefix": "rb-"}, "'rb-' is nothing that a name in C begins with"),
]


@pytest.mark.parametrize(("options", "said"), OPTIONS_REFUSED, ids=["index", "prefix"])
def test_what_is_no_type_or_name_is_refused(options, said):
    with pytest.raises(TargetError, match=said):
        sg.generate(library.embedding, to="c", **options, check=False)


ADDED = {
    "products": library.linear,
    "one point": sg.parse("f(x, y, z) = x*sin(y) + y**2, x*y"),
    "a reduction, and values between": library.layer_norm,
    "a scatter": library.conv2d,
    "a scatter by data": library.embedding,
    "a gradient that others read": library.lora,
    "a gradient that is memory to others": library.multi_margin_loss,
    "a loop": sg.parse("f(x[n], c[m]): h[0] = x[0]; h[t+1] = tanh(h[t]*x[t]); out[i] = h[i]"),
    "gradients in a loop": library.rnn,
    "several parts": sg.parse("f(x[n], b[n]?)[i] = x[i]**2*given(b, b[i], 2) + sum[j](x[j])"),
    "nothing": sg.parse("f(x[n], y[n]) = sum[i](floor(x[i]))"),
    "sorted": sg.parse("f(x[n]): s = sort(x); out = sum[i](i*s[i]**2)"),
}


@needs_cc
@pytest.mark.parametrize("name", ADDED)
@pytest.mark.in_turn
def test_gradients_are_added_to(name):
    report = sg.check(ADDED[name], to="c", accumulate=True)
    assert report.ok and report.points > 1, str(report)


@needs_cc
@pytest.mark.parametrize("dtype", ["double", "float"])
def test_the_sum_is_that_of_both(dtype):
    rng = np.random.default_rng(1)
    x, weight, grad = rng.standard_normal((3, 4)), rng.standard_normal((2, 4)), rng.standard_normal((3, 2))
    artefact = sg.load(library.linear, to="c", accumulate=True, dtype=dtype)
    _, saved = artefact.forward(x, weight)
    before = rng.standard_normal(x.shape), rng.standard_normal(weight.shape), None
    gradients = artefact.backward(saved, grad, into=before)
    np.testing.assert_allclose(gradients[0], before[0] + grad @ weight, rtol=1e-5)
    np.testing.assert_allclose(gradients[1], before[1] + grad.T @ x, rtol=1e-5)


@needs_cc
@pytest.mark.parametrize(("formula", "old", "new"), [
    ("f(x[n])[i] = exp(x[i])", "            grad_x[i] += ", "grad_x[i] = "),
    ("f(x, y) = x*y", "*grad_x += ", "*grad_x = "),
    ("f(x[n], y) = sum[i](x[i]**2)", "(void)grad_y;", "if (grad_y) { *grad_y = 0.0; }"),
])  # fmt: skip
def test_what_overwrites_is_found(formula, old, new):
    function = sg.parse(formula)
    one = printed(function, "c", {"accumulate": True})
    assert one.files["f.c"].count(old) == 1
    wrong = replace(one, files={**one.files, "f.c": one.files["f.c"].replace(old, new)})
    report = verified(function, wrong, wrong.load())
    assert any("overwrite" in failure.said for failure in report.failures), str(report)


def test_the_header_says_that_gradients_are_added_to():
    files = sg.generate(library.linear, to="c", accumulate=True, check=False)
    assert "Add to each gradient; pass NULL for one that is not needed." in files["linear.h"]
    assert "--to c --accumulate\n" in files["linear.h"]
    assert "grad_x[i * k + l] = 0.0;" not in files["linear.c"]


REFUSED = [
    ({"to": "c", "dtype": "half"}, "'half' is no type of C that symgrad prints. Choose from double, float."),
    ({"to": "numpy", "dtype": "float"}, "dtype is an option of c"),
    ({"to": "numpy", "accumulate": True}, "accumulate is an option of c"),
]


@pytest.mark.parametrize(("asked", "said"), REFUSED)
def test_what_is_no_option_is_refused(asked, said):
    with pytest.raises(TargetError, match=said):
        sg.generate(sg.parse("f(x) = x**2"), **asked, check=False)
