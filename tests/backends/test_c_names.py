"""No name of a user's clashes in C: only a keyword is refused, and only where C is asked for."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
import sympy
from names import ROWS

import symgrad as sg
from symgrad.errors import UnsupportedError

STRICT = ["-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror", "-fsyntax-only"]
needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")

WORDS = """main work iwork sin exp PI NULL size_t ptrdiff_t int64_t INFINITY INT64_MAX I isnan errno true new
    part total status i0 b batch f_forward f_backward f_forward_batch grad_output grad_x floor_div extent erfcx
    stable_order SYMGRAD_F_H F_FORWARD_WORK""".split()
CLASHES = {
    "what a series is computed of": "f(near, series) = near*series*sin(near)/near",
    "the axis of a pack": "f(batch, b) = batch*b + sin(b)",
    "the gradient of another": "f(grad_b, b) = grad_b*b",
    "the gradient of a gradient": "f(grad_grad_b, grad_b, b) = grad_grad_b*grad_b*b",
    "the symbol": "f(f_forward) = f_forward**2",
    "an index": "f(x[n])[grad_x:n] = x[grad_x]**2",
    "an index called as the cotangent": "f(x[n])[grad_output] = sin(x[grad_output])",
    "a local": "f(x[n]): grad_x[i] = sin(x[i]); grad_output[i] = grad_x[i]*x[i]; out = sum[i](grad_output[i])",
    "an output called as a gradient": "f(x, y) -> grad_x, grad_y: grad_x = x*y; grad_y = grad_x*x",
    "an output": "f(x, y) -> f_forward, b: f_forward = x*y; b = f_forward*x",
    "an input whose gradient is called as the cotangent": "f(output, x) = output*x**2",
    "an operator": "f(erfcx, x) = erfcx*erfcx(x)",
    "a function of math.h": "f(sin[n], exp[n])[i] = sin[i]*sin(exp[i])",
    "a constant": "f(PI, x) = PI*x*pi",
    "sizes": "f(x[NULL,m], w[size_t,m])[i,j] = sum[int](x[j,int]*w[i,int])/NULL",
    "options": "f(x[n]; work=2, NULL=1.5) = sum[i](x[i]**2)*work*NULL",
    "an absent input": "f(x[n], has_x[n]?, w[n]?): out[i] = x[i]; out[i] += has_x[i]*w[i]",
    "subscripts": "f(i[n,m], i0[k]: int)[a,j] = sin(i[i0[a],j])",
    "work": "f(x[n,m], work[m])[i] = exp(sum[j](x[i,j]*work[j]))/sum[k](exp(sum[j](x[k,j]*work[j])))",
    "rounding down": "f(x[n], floor_div; k=3)[i:n] = x[(i - k) % n]*floor_div",
}


@needs_cc
@pytest.mark.parametrize("text", CLASHES.values(), ids=CLASHES)
@pytest.mark.in_turn
def test_names_yield(text, tmp_path):
    declared = sg.parse(text)
    strictly(declared, tmp_path)
    report = sg.check(declared, to="c")
    assert report.ok, report


@needs_cc
@pytest.mark.parametrize("text", ROWS.values(), ids=ROWS)
@pytest.mark.in_turn
def test_what_python_has_a_use_for_means_nothing_in_c(text):
    report = sg.check(sg.parse(text), to="c")
    assert report.ok, report


@needs_cc
def test_every_word_by_itself(tmp_path):
    """Where something else has the name, in the files of one function for each."""
    for word in WORDS:
        strictly(sg.parse(f"f({word}, x) = {word}*sin(x) + exp({word})*pi*erfcx(x)*(1 - cos(x))/x**2"), tmp_path)
        strictly(sg.parse(f"f({word}[n], y)[i] = sin({word}[i])*y*pi"), tmp_path)


def strictly(declared, folder):
    """Its files compile without a warning, and the header as C++."""
    for path, text in sg.generate(declared, to="c", check=False).items():
        (folder / path).write_text(text)
    lines = [["cc", "-std=c99", *STRICT, "f.c"]]
    if shutil.which("g++"):
        lines.append(["g++", "-std=c++17", *STRICT, "-x", "c++", "f.h", "-Wno-pragma-once-outside-header"])
    for line in lines:
        done = subprocess.run(line, cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("f(double) = double**2", "input 'double'"),
        ("f(x) -> inline: inline = x**2", "output 'inline'"),
        ("f(x[register])[i] = x[i]/register", "size 'register'"),
        ("f(x; auto=2) = x*auto", "option 'auto'"),
    ],
)
def test_a_keyword_is_refused_in_c_alone(text, what):
    declared = sg.parse(text)
    with pytest.raises(UnsupportedError, match=f"{what} is a keyword of C. Choose another name for this"):
        sg.generate(declared, to="c", check=False)
    assert sg.generate(declared, to="numpy", check=False)


def test_a_keyword_of_python_is_none_of_c():
    symbols = sympy.symbols("lambda x")
    report = sg.check(sg.from_sympy("scaled", symbols, symbols[0] * symbols[1] ** 2), to="c")
    assert report.ok, report


def test_a_function_called_as_a_header_is_refused():
    with pytest.raises(UnsupportedError, match=r"string\.h would hide C's own"):
        sg.generate(sg.parse("string(x) = x**2"), to="c", check=False)


@pytest.mark.parametrize(
    ("text", "forward", "backward"),
    [
        (
            "f(grad_b, b) = grad_b*b",
            "double grad_b, double b, double *out",
            "double grad_b_input, double b, double grad_output, double *grad_grad_b, double *grad_b",
        ),
        (
            "f(saved, sin) = saved*sin",
            "double saved, double sin, double *out",
            "double saved, double sin, double grad_output, double *grad_saved, double *grad_sin",
        ),
        (
            "f(x[n], n_size)[grad_x] = x[grad_x]*n_size",
            "size_t n, const double *x, double n_size, double *out",
            "size_t n, const double *x, double n_size, const double *grad_output, double *grad_x, double *grad_n_size",
        ),
    ],
)
def test_what_callers_see(text, forward, backward):
    header = sg.generate(sg.parse(text), to="c", check=False)["f.h"]
    found = [" ".join(p.split()) for p in re.findall(r"f_(?:forward|backward)\(([^)]*)\);", header)]
    assert found == [forward, backward]
