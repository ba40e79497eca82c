"""Sparse matrices in C: who calls has the memory, and stencils are written row by row. tests/test_sparse.py has the
formulas."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import symgrad as sg
from symgrad.errors import SymgradError
from symgrad.pipeline import printed, verified
from tests.test_sparse import POISSON, TABLE, checked, compared

STRICT = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror"]
needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
each = pytest.mark.parametrize("name", [name for name in TABLE if name != "argmax"])
ASKED = [{}, {"dtype": "float", "index": "int32", "prefix": "rb_"}, {"openmp": True}]
EDGES = "f(p[n], a[e]: int, b[e]: int)[k] = (p[a[k]] + p[b[k]])**2"


def text_of(formula, **options):
    function = sg.parse(formula)
    files = sg.generate(function, to="c", functions="jacobian:sparse", **options, check=False)
    return files[f"{options.get('prefix', '')}{function.name}.c"]


@needs_cc
@each
def test_the_numbers_and_their_places(name):
    compared(name, "c")


@needs_cc
@each
@pytest.mark.in_turn
def test_each_is_checked(name):
    checked(name, "c")


def test_places_that_real_numbers_tell_are_refused():
    with pytest.raises(SymgradError, match="where entries of the matrix stand depends on argmax_x, which is computed"):
        text_of(TABLE["argmax"][0])


@needs_cc
def test_a_hessian():
    function = sg.parse("f(x[n]) = sum[i:n-1](100*(x[i+1] - x[i]**2)**2 + (1 - x[i])**2)")
    loaded = (sg.load(function, to=to, functions="hessian:sparse") for to in ("c", "numpy"))
    own, other = (code.hessian_sparse(np.arange(4.0)) for code in loaded)
    assert_allclose(own[2].toarray(), other[2].toarray())
    assert own[2].nnz == 4 + 2 * 3
    text = sg.generate(function, to="c", functions="hessian:sparse", check=False)["f.c"]
    assert "data[indptr[i] + 1] += 200.0;" in text and "entry_place" not in text  # two terms at one place
    report = sg.check(function, to="c", functions="hessian:sparse")
    assert report.ok, report
    assert_allclose(own[1], other[1])


@needs_cc
def test_a_pattern_serves_several_points():
    code = sg.load(sg.parse(TABLE["convolution"][0]), to="c", functions="jacobian:sparse", wrt="k,x", check=False)
    x, k = np.random.default_rng(3).standard_normal((2, 6))
    shape, indptr, indices = pattern = code.jacobian_pattern(x, k[:3])
    out, data = code.jacobian_values(pattern, 2 * x, k[:3])
    again, matrix = code.jacobian_sparse(2 * x, k[:3])
    assert shape == matrix.shape == (4, 9)
    nothing, other = code.without("out").jacobian_values(pattern, 2 * x, k[:3])
    assert nothing is None
    assert_array_equal(data, other)
    for one, two in ((out, again), (indptr, matrix.indptr), (indices, matrix.indices), (data, matrix.data)):
        assert_array_equal(one, two)


@needs_cc
def test_a_pattern_refuses_what_forward_refuses():
    gathered = "f(x[n], t[m]: int, w[k]): y[i] = sum[j](x[i+j]*w[j]); out[s] = y[t[s]]**2"
    code = sg.load(sg.parse(gathered), to="c", functions=("forward", "jacobian:sparse"), check=False)
    x, w = np.ones(1), np.ones(4)  # the window is longer than the data: y has no element
    for called in (code.forward, code.jacobian_pattern, code.jacobian_sparse):
        with pytest.raises(IndexError):
            called(x, np.array([0]), w)


@needs_cc
@pytest.mark.parametrize("asked", ASKED, ids=str)
@each
@pytest.mark.in_turn
def test_compilers_have_nothing_to_say(name, asked, tmp_path):
    files = sg.generate(sg.parse(TABLE[name][0]), to="c", functions="jacobian:sparse", **asked, check=False)
    for path, text in files.items():
        tmp_path.joinpath(path).write_text(text)
    (source,) = (path for path in files if path.endswith(".c"))
    subprocess.run(["cc", *STRICT, "-O2", "-c", source, "-o", "out.o"], cwd=tmp_path, check=True)


@needs_cc
@pytest.mark.parametrize("asked", ASKED[1:], ids=str)
@pytest.mark.parametrize("name", ["stencil", "edges", "masked gather", "convolution", "numbers", "dense"])
@pytest.mark.in_turn
def test_each_way_is_checked(name, asked):
    report = sg.check(sg.parse(TABLE[name][0]), to="c", functions="jacobian:sparse", **asked)
    assert report.ok, report


LINES = [  # formula, what is printed of it, once
    (POISSON, "            if (i > 0) {\n                data[indptr[i * m + j]] = -1.0;\n            }\n"),
    (POISSON, "data[indptr[i * m + j] + (i > 0) + (j > 0)] = 3.0\n"),
    (POISSON, "                indices[entry] = (int64_t)(i * m + (j - 1));\n                entry += 1;\n"),
    ("f(x[n])[i] = sin(x[i])", "data[indptr[i]] = cos(x[i]);"),
    ("f(x[n])[i:n-1] = x[i]*x[i+1]", "return (int64_t)((n > 1 ? n - 1 : 0) + (n > 1 ? n - 1 : 0));"),
    ("f(x[n], w[p])[v] = sum[r](x[v+r]*w[r])", "data[(size_t)indptr[v] + p + r] = x[v + r];"),
    (EDGES, "data[entry_place(indptr, indices, k, (size_t)a[k])] += two_times_p_plus_p;"),
    ("f(x, y) = (x*y, sin(x))", "        data[0] = y;\n        data[1] = x;\n"),
    ("f(x, y) = (x*y, sin(x))", "        0, 2, 3,\n"),
]


@pytest.mark.parametrize(("formula", "lines"), LINES)
def test_what_is_printed(formula, lines):
    assert text_of(formula).count(lines) == 1


ORDERED = ["diagonal", "band", "boundary", "stencil", "convolution", "gather", "outputs and inputs"]


@pytest.mark.parametrize("name", ORDERED)
def test_where_subscripts_tell_the_order_nothing_is_sorted_or_searched_for(name):
    text = text_of(TABLE[name][0])
    assert not any(word in text for word in ("entry_place", "sort_rows", "data[k] = 0.0;"))


PROGRAM = r"""
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "f.h"

int main(void)
{
    const size_t n = 4, m = 5;
    double u[20], out[20], dense[400];
    for (size_t k = 0; k < n * m; ++k) {
        u[k] = sin((double)k);
    }
    f_jacobian(n, m, u, out, dense);

    const size_t nnz = (size_t)f_jacobian_nnz(n, m);
    int64_t *indptr = malloc((n * m + 1) * sizeof *indptr);
    int64_t *indices = malloc(nnz * sizeof *indices);
    double *data = malloc(nnz * sizeof *data);
    f_jacobian_pattern(n, m, indptr, indices);
    f_jacobian_values(n, m, u, out, indptr, indices, data);
    for (size_t row = 0; row < n * m; ++row) {
        for (int64_t k = indptr[row]; k < indptr[row + 1]; ++k) {
            dense[row * n * m + (size_t)indices[k]] -= data[k];
        }
    }
    double worst = 0.0;
    for (size_t k = 0; k < n * m * n * m; ++k) {
        worst = fmax(worst, fabs(dense[k]));
    }
    printf("%zu of %ld entries, off by %g\n", nnz, (long)indptr[n * m], worst);
    free(indptr); free(indices); free(data);
    return 0;
}
"""


@needs_cc
def test_a_program_calls_it(tmp_path):
    files = sg.generate(sg.parse(POISSON), to="c", functions="jacobian,jacobian:sparse", check=False)
    for path, text in {**files, "main.c": PROGRAM}.items():
        tmp_path.joinpath(path).write_text(text)
    command = ["cc", *STRICT, "-O1", "-fsanitize=address,undefined", "main.c", "f.c", "-o", "program", "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True)
    done = subprocess.run(["./program"], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert done.stdout == "82 of 82 entries, off by 0\n"


MISTAKES = [  # formula, what is printed, what would be wrong
    (POISSON, "+ (i > 0) + (j > 0)] = 3.0", "+ (i > 0)] = 3.0"),
    (POISSON, "indices[entry] = (int64_t)(i * m + (j - 1));", "indices[entry] = (int64_t)(i * m + j);"),
    (POISSON, "if (j + 1 < m) {\n                indices", "if (j < m) {\n                indices"),
    (POISSON, "n > 1 ? n - 1 : 0", "n > 1 ? n - 2 : 0"),
    (POISSON, "indptr[n * m] = (int64_t)entry;", "indptr[n * m] = (int64_t)(entry + 1);"),
    (EDGES, "        indices[indptr[row]] = (int64_t)column;\n", "        indices[indptr[row]] = (int64_t)row;\n"),
    (EDGES, "if (kept == begin || indices[kept - 1] != indices[k]) {", "if (kept == begin || 1) {"),
    (EDGES, "place >= first + gap && ", ""),
    (EDGES, "indices[place - gap] > column", "indices[place - gap] < column"),
    (EDGES, "indices[place + left / 2] <= column", "indices[place + left / 2] < column"),
    (EDGES, "(size_t)b[k])] += ", "(size_t)b[k])] = "),
    (EDGES, "        data[k] = 0.0;\n", ""),
    (EDGES, "if (a[k] < 0 || (size_t)a[k] >= n) {", "if (a[k] < 0) {"),
    ("f(x, y) = (x*y, sin(x))", "        0, 2, 3,\n", "        0, 1, 3,\n"),
    ("f(x, y) = (x*y, sin(x))", "    data[1] = x;\n", "    data[1] = y;\n"),
]


@pytest.mark.parametrize(("formula", "right", "wrong"), MISTAKES)
def test_the_check_sees_mistakes(formula, right, wrong):
    result = printed(sg.parse(formula), "c", {"functions": "jacobian:sparse"})
    (source,) = (path for path in result.files if path.endswith(".c"))
    assert right in result.files[source]
    broken = replace(result, files={**result.files, source: result.files[source].replace(right, wrong, 1)})
    report = verified(sg.parse(formula), broken, result.load())
    assert not report.ok
