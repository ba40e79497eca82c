"""Texts executed on Numbers: the bound holds, the shim is NumPy, and C's integers and memory are C's."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from loading import heads
from mpmath import mp
from printed import HEADER, squares

from symgrad.verify.c_text import CText
from symgrad.verify.numpy_linalg import UnknownName
from symgrad.verify.numpy_shim import NP, Shim
from symgrad.verify.rounding import DOUBLE, FUNCTIONS, lift, rounding, total
from symgrad.verify.rounding.array import exact
from symgrad.verify.text import Fault

PROGRAMS = {
    "cancellation": (lambda x, y, f: (x + y) - x, 2),
    "polynomial": (lambda x, y, f: ((x - y) * x + y) * x - 1, 2),
    "logsumexp": (lambda x, y, f: f["log"](f["exp"](x) + f["exp"](y)), 2),
    "tanh": (lambda x, y, f: 1 - f["tanh"](x) * f["tanh"](x), 2),
    "trigonometry": (lambda x, y, f: f["sin"](x * y) / (f["cos"](x) + 2), 2),
    "norm": (lambda x, y, f: x / f["sqrt"](x * x + y * y + 1), 2),
}
FLOATS = {name: getattr(math, name) for name in ("exp", "log", "tanh", "sin", "cos", "sqrt")}


@pytest.mark.parametrize("name", PROGRAMS)
def test_floating_point_stays_within_the_running_bound(name):
    program, _ = PROGRAMS[name]
    rng = np.random.default_rng(1)
    tight = 0
    for x, y in rng.standard_normal((300, 2)) * 10 ** rng.uniform(-6, 1, (300, 1)):
        with rounding(DOUBLE, 200):
            bounded = program(lift(x), lift(y), FUNCTIONS)
            error = abs(bounded.value - program(float(x), float(y), FLOATS))
            assert error <= 1.01 * bounded.err * DOUBLE.unit
            tight += error >= bounded.err * DOUBLE.unit / 1000
    assert tight > 30  # a bound of infinity would be right, too


SUMS = [  # the second is exact in the order in which it stands, and not in every one
    [1e16, 1.0, -1e16, 1.0, 3e-5, -7.25],
    [1e16, -1e16, 1.0, 2.0, 4.0, 0.0],
    [1.0, 2.0, 0.5, -3.0, 0.25, 8.0],
]


@pytest.mark.parametrize("values", SUMS, ids=str)
def test_a_sum_is_bounded_in_any_order(values):
    with rounding(DOUBLE, 200):
        bounded = total(values)
        for order in ([0, 1, 2, 3, 4, 5], [0, 2, 1, 3, 4, 5], [5, 4, 3, 1, 0, 2]):
            found = 0.0
            for k in order:
                found += values[k]
            assert abs(bounded.value - found) <= bounded.err * DOUBLE.unit


@pytest.mark.parametrize(("values", "exact"), [(SUMS[1], False), (SUMS[2], True), ([1e16, -1e16 + 2], True)], ids=str)
def test_a_sum_is_exact_only_if_it_is_in_every_order(values, exact):
    with rounding(DOUBLE, 200):
        assert (total(values).err == 0.0) == exact


def test_overflow_has_no_bound_and_a_close_comparison_is_a_doubt():
    with rounding(DOUBLE, 200) as notes:
        assert FUNCTIONS["exp"](lift(800.0)).err == math.inf
        assert (lift(1.5) * 2).err == 0.0
        third = lift(1) / 3
        assert notes.doubts == 0
        assert not third * 3 > lift(1) or True
        assert notes.doubts == 1


ENDS = {  # what floating point may come to
    "no cosine, hence no sign": (lambda f: f["sign"](f["cos"](f["exp"](lift(800.0)))), math.nan),
    "an angle above a negative zero": (lambda f: f["atan2"](lift(-2.0) * 0, -1), math.atan2(-0.0, -1.0)),
    "an angle of two zeros": (lambda f: f["atan2"](0, lift(-2.0) * 0), math.atan2(0.0, -0.0)),
    "the sign of a negative zero": (lambda f: f["copysign"](3, lift(-2.0) * 0), math.copysign(3.0, -2.0 * 0)),
    "a logarithm that cancels": (lambda f: f["logaddexp"](-math.log(2), -math.log(2)), 0.0),
}


@pytest.mark.parametrize("name", ENDS)
def test_the_bound_holds_where_a_function_jumps_or_cancels(name):
    program, end = ENDS[name]
    with rounding(DOUBLE, 200):
        found = program(FUNCTIONS)
        assert found.err == math.inf or abs(found.value - end) <= found.err * DOUBLE.unit


QUOTIENTS = {  # what XLA may make of it, and the units that it is off by at most
    "1/b is rounded, too": (lambda x: x / 3, 2 / 3),
    "1/b is exact": (lambda x: x / 4, 0.0),
    "a/b/c as a/(b*c), which underflows": (lambda x: x / 1e-200 / 1e-200 * 1e-250, math.inf),
    "1/b underflows": (lambda x: x / 1e308, math.inf),
    "a/b/c as a/(b*c)": (lambda x: x / 4 / 8, 0.0),
}


@pytest.mark.parametrize("name", QUOTIENTS)
def test_a_compiler_may_multiply_by_a_reciprocal(name):
    program, most = QUOTIENTS[name]
    with rounding(replace(DOUBLE, reciprocals=True), 200):
        assert program(lift(1.0)).err == pytest.approx(most)


def test_zero_to_working_precision_is_not_taken_for_exact():
    with rounding(DOUBLE, 100):
        assert (1 - FUNCTIONS["tanh"](lift(200.0)) * 1).err > 0
        assert ((lift(1) + lift(2.0**-300)) - 1).err > 0


UPPER = np.triu(np.ones((3, 3)), 1)


def square(a):
    """Two square matrices of the six elements of `a`."""
    return a[:, :, None] * a[:, None, :] / 4 + np.eye(3) + np.tri(3, k=-1) / 2


def definite(a):
    return a[:, :, None] * a[:, None, :] + np.diag([1.0, 2.0, 4.0])


def projections(values, vectors):
    """What eigenvectors say whatever their signs."""
    return (vectors * values[:, None, :]) @ vectors.swapaxes(-1, -2) + vectors[..., :1] * vectors[:, :1, :1]


A, B = np.arange(6.0).reshape(2, 3) - 2.5, np.arange(12.0).reshape(3, 4) / 4
SHIM = {
    "matmul": (lambda n, a, b: a @ b),
    "vector": (lambda n, a, b: a[0] @ b),
    "stacked": (lambda n, a, b: n.matmul(a[:, None, :], b)),
    "einsum": (lambda n, a, b: n.einsum("ij,jk->ki", a, b, optimize=True)),
    "einsum trace": (lambda n, a, b: n.einsum("ii->i", a @ a.T)),
    "einsum dots": (lambda n, a, b: n.einsum("...j,jk->...k", a, b)),
    "mean": (lambda n, a, b: a.mean(axis=1, keepdims=True) + n.mean(a, axis=-1, keepdims=True)),
    "max": (lambda n, a, b: a.max(axis=0) - n.min(a, axis=0)),
    "where": (lambda n, a, b: n.where(a > 0, n.sqrt(n.where(a > 0, a, 1)), 0)),
    "argmax": (lambda n, a, b: n.argmax(a, axis=1) + a.argmax(axis=1)),
    "stack": (lambda n, a, b: n.stack([a, 2 * a], axis=-1)),
    "concatenate": (lambda n, a, b: n.concatenate([a, a / 3], axis=1)),
    "moveaxis": (lambda n, a, b: n.moveaxis(b, 0, -1).reshape(2, 6)),
    "broadcast": (lambda n, a, b: n.broadcast_to(a[0], (4, 3)) * n.ones((4, 1))),
    "prod": (lambda n, a, b: n.prod(a, axis=1) + a.prod()),
    "logaddexp": (lambda n, a, b: n.logaddexp(0, a)),
    "take_along_axis": (lambda n, a, b: n.take_along_axis(a, np.array([[0], [2]]), axis=1)),
    "scalar methods": (lambda n, a, b: a.sum().reshape(1, 1) + a[0, 0][..., None]),
    "cumsum": (lambda n, a, b: n.cumsum(a, axis=1)),
    "cumsum of all": (lambda n, a, b: n.cumsum(a) + a.cumsum()),
    "cumsum from the end": (
        lambda n, a, b: n.cumsum(b[::-1], axis=0)[::-1] - n.flip(n.cumsum(n.flip(b, 1), axis=-1), 1)
    ),
    "cumprod": (lambda n, a, b: n.cumprod(a, axis=0) + a.cumprod(axis=0)),
    "logaddexp of all before": (lambda n, a, b: n.logaddexp.accumulate(a) + n.maximum.accumulate(a, axis=1)),
    "cumprod of ints": (lambda n, a, b: n.cumprod(np.arange(1, 5)) * b[0]),
    "inv": (lambda n, a, b: n.linalg.inv(square(a))),
    "inv of one": (lambda n, a, b: n.linalg.inv(square(a)[1])),
    "solve": (lambda n, a, b: n.linalg.solve(square(a), square(a + 1))),
    "solve for a vector": (lambda n, a, b: n.linalg.solve(square(a), a[0])),
    "solve one for many": (lambda n, a, b: n.linalg.solve(square(a)[0], b)),
    "det": (lambda n, a, b: n.linalg.det(square(a))),
    "slogdet": (lambda n, a, b: n.stack(n.linalg.slogdet(-square(a)))),
    "logabsdet": (lambda n, a, b: n.linalg.slogdet(square(a))[1]),
    "cholesky": (lambda n, a, b: n.linalg.cholesky(definite(a))),
    "cholesky reads the lower triangle": (lambda n, a, b: n.linalg.cholesky(definite(a)[0] + UPPER)),
    "eigh": (lambda n, a, b: n.linalg.eigh(definite(a))[0]),
    "eigvalsh": (lambda n, a, b: n.linalg.eigvalsh(definite(a)[1] + UPPER)),
    "eigenvectors": (lambda n, a, b: projections(*n.linalg.eigh(definite(a)))),
    "svd": (lambda n, a, b: n.linalg.svd(b**3, compute_uv=False)),
    "svdvals": (lambda n, a, b: n.linalg.svdvals(n.stack([a, a + 1]))),
    "qr": (lambda n, a, b: n.linalg.qr(square(a))[1]),
    "qr of a tall matrix": (lambda n, a, b: n.linalg.qr((b**3).T)[0]),
    "qr of a wide matrix": (lambda n, a, b: n.matmul(*n.linalg.qr(b**3))),
    "r of a wide matrix": (lambda n, a, b: n.linalg.qr(b**3, mode="r")),
    "clip": (lambda n, a, b: n.clip(a, -1, 1)),
    "hypot": (lambda n, a, b: n.hypot(a, 2) * n.arctan2(a, 3) + n.abs(a) ** 0.5),
    "full": (lambda n, a, b: n.full((2, 3), 0.5) + n.zeros_like(a)),
}


@pytest.mark.parametrize("name", SHIM)
def test_the_shim_computes_what_numpy_does(name):
    expected = SHIM[name](np, A, B)
    with rounding(DOUBLE, 160):
        found = SHIM[name](Shim("np", NP), exact(A), exact(B))
    assert np.shape(found) == np.shape(expected)
    np.testing.assert_allclose(np.asarray(found, dtype=object).astype(float), expected, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("name", ["inv", "solve", "det", "slogdet", "cholesky", "eigh", "svdvals", "qr"])
def test_numpy_stays_within_the_bounds_of_the_shim(name):
    rng = np.random.default_rng(5)
    for scale in (1.0, 1e-3, 1e-6):
        a = np.stack([np.outer(u, u) for u in rng.standard_normal((4, 3))]) + scale * np.diag([1.0, 2.0, 4.0])
        given = (a, a[..., :2]) if name == "solve" else (a,)
        expected = getattr(np.linalg, name)(*given)
        with rounding(DOUBLE, 200):
            found = getattr(NP["linalg"], name)(*map(exact, given))
            for value, bound in zip(*(r if isinstance(r, tuple) else (r,) for r in (expected, found)), strict=True):
                for one, number in zip(np.ravel(value), bound.ravel().tolist(), strict=True):
                    error = abs(abs(number.value) - abs(float(one)))  # eigenvectors and Q have either sign
                    assert error <= number.err * DOUBLE.unit
                    assert number.err * DOUBLE.unit < 1e-9 / scale**2 * (1 + number.size)


@pytest.mark.parametrize("name", ["inv", "cholesky"])
def test_a_singular_matrix_is_refused(name):
    with rounding(DOUBLE, 160), pytest.raises(np.linalg.LinAlgError):
        getattr(NP["linalg"], name)(exact(np.ones((2, 2))))


def test_what_the_shim_of_linalg_does_not_have_is_said():
    with pytest.raises(UnknownName, match="svd with full_matrices=True"):
        NP["linalg"].svd(exact(B))
    with pytest.raises(UnknownName, match=r"np\.linalg\.eigvals is not known"):
        NP["linalg"].eigvals


def test_accumulation_and_indexing():
    with rounding(DOUBLE, 160):
        array = NP["zeros"](4)
        NP["add"].at(array, np.array([1, 1, 3]), exact([1.0, 2.0, 4.0]))
        array[np.array([0, 2])] += exact([0.5, 0.25])
        assert [float(v) for v in array] == [0.5, 3.0, 0.25, 4.0]
        assert array.dtype == np.float64


def test_a_name_that_is_not_known_is_said():
    with pytest.raises(UnknownName, match=r"np\.fft"):
        Shim("np", NP).fft


# C

BODY = """
#include "squares.h"
#include <math.h>
#define TWO 2
static const double PI = 3.14159265358979323846;
static double half(double a, const double *b) { return a / 2.0 + b[0]; }
void squares_backward(double x, double y, double grad_out0, double grad_out1, double grad_out2, double *grad_x,
                      double *grad_y) { if (grad_x) { *grad_x = 0.0; } if (grad_y) { *grad_y = 0.0; } }
void squares_forward(double x, double y, double *out0, double *out1, double *out2)
{
    *out0 = 0.0; *out1 = 0.0; *out2 = 0.0;
    %s
}
"""


def c_run(statements, x=3.0, y=5.0):
    files = {"squares.c": BODY % statements, "squares.h": HEADER % ""}
    text = CText(squares(), files, heads(squares(), files))
    with rounding(DOUBLE, 160):
        outputs, _ = text.forward("", {"x": np.array([x]), "y": np.array([y])}, {})
        return [v.value for v in (outputs[n].item(0) for n in ("out0", "out1", "out2"))]


@pytest.mark.parametrize("order", [(1, 0, 2, 3, 4), (0, 1, 2, 3)], ids=["another order", "one less"])
def test_the_parameters_must_be_those_that_are_passed(order):
    files = {"squares.c": BODY % "", "squares.h": HEADER % ""}
    *others, forward = sorted(heads(squares(), files), key=lambda head: head.role == "forward")
    forward = replace(forward, parameters=tuple(forward.parameters[k] for k in order))
    with pytest.raises(Fault, match="squares_forward takes x, y, out0, out1, out2, and is called otherwise"):
        CText(squares(), files, [*others, forward])


RESULTS = [
    ("*out0 = 1 / 3 * x;", 0),
    ("*out0 = 1.0 / 4.0 * x;", 0.75),
    ("*out0 = (double)(-7 / 2) + (double)(-7 % 3);", -4),
    ("size_t n = 4; for (size_t i = n; i-- > 0;) { *out0 += (double)i; }", 6),
    ("for (size_t i = 0; i < 10; i += 3) { if (i != 3) { *out0 += (double)i; } }", 15),
    ("static const double a[] = {1.0, 2.0}; *out0 = a[0] + a[1];", 3),
    ("double a[2]; double *p = a + 1; *p = x; a[0] = *p; *out0 = a[0];", 3),
    ("double t = y; *out0 = half(x, &t);", 6.5),
    ("*out0 = x > 2.0 && y < 2.0 ? 1.0 : TWO;", 2),
    ("*out0 = (x > 0) - (x < 0);", 1),
    ("int k = 0; for (size_t i = 3; i-- > 0;) { ++k; } *out0 = k;", 3),
    ("const double d = -x; *out0 = fabs(d) + sqrt(4.0) - fmax(x, y);", 0),
    ("ptrdiff_t i = 2; i -= 5; *out0 = (double)i;", -3),
    ("{ double s = 1.0; { double s = 2.0; *out0 += s; } *out0 += s; }", 3),
]


@pytest.mark.parametrize("row", RESULTS, ids=[r[0] for r in RESULTS])
def test_c_means_what_c_means(row):
    statements, expected = row
    assert c_run(statements)[0] == expected


def test_pi_is_pi():
    with mp.workprec(160):
        assert abs(c_run("*out0 = PI;")[0] - mp.pi) < mp.mpf(2) ** -150


FAULTS = [
    ("double s; *out0 = s + x;", "nothing has written"),
    ("double a[2]; a[0] = 1.0; *out0 = a[1];", "nothing has written"),
    ("double a[2]; a[2] = 1.0;", r"writes a\[2\], outside of its 2"),
    ("double a[2]; a[0] = 1.0; *out0 = a[-1];", r"reads a\[-1\]"),
    ("size_t n = 2; size_t m = n - 3; *out0 = (double)m;", "negative"),
    ("size_t n = 0; *out0 = (double)(1 / n);", "divides an integer by 0"),
    ("for (;;) { *out0 += 1.0; }", "does not end"),
    ("static double s = 0.0; s += 1.0;", "static"),
    ("goto end; end: *out0 = 1.0;", "does not know Goto"),
    ("while (x > 0.0) { *out0 += 1.0; }", "does not know While"),
    ("static const double a[] = {1.0, 2.0}; *out0 = a[2];", r"reads a\[2\], outside of its 2"),
    ("static const double a[] = {1.0}; a[0] = 2.0;", "which it may only read"),
    ("*out0 = frobnicate(x);", "frobnicate"),
    ("*out0 = z;", "z is not declared"),
    ("double y = x; { double y = y; *out0 = y; }", "y is read before it has a value"),
    ("#pragma omp simd reduction(+:s)\n*out0 = 1.0;", "stands before no loop"),
    ("double s = 0.0;\n#pragma omp parallel\nfor (int k = 0; k < 3; ++k) { s += 1.0; }", "does not know it"),
    ("double s = 0.0;\n#pragma omp simd reduction(*:s)\nfor (int k = 0; k < 3; ++k) { s += x; }", "not what it says"),
    ("double s = 0.0;\n#pragma omp simd\nfor (int k = 0; k < 3; ++k) { s += x; }", "not what it says"),
    ("double s = 0.0;\n#pragma omp simd reduction(+:s)\nfor (int k = 0; k < 3; ++k) { s += s; }", "read in a turn"),
    (
        "double s = x;\n#pragma omp simd reduction(min:s)\nfor (int k = 0; k < 3; ++k) { s = y > s ? y : s; }",
        "not what it says",
    ),
    (
        "double s = x;\n#pragma omp simd reduction(max:s)\nfor (int k = 0; k < 3; ++k) { s = y > s ? x : s; }",
        "not what it says",
    ),
    (
        "double s = x;\n#pragma omp simd reduction(max:s)\n"
        "for (int k = 0; k < 3; ++k) { s = y > s ? y : s; *out0 = s; }",
        "read in a turn",
    ),
    ("*out0 = half(x, NULL);", "NoneType"),
]


@pytest.mark.parametrize("row", FAULTS, ids=[r[0] for r in FAULTS])
def test_what_no_correct_c_does_is_a_fault(row):
    statements, message = row
    with pytest.raises(Fault, match=message):
        c_run(statements)
