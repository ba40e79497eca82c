"""Sparse Jacobians: the numbers of the dense ones at the places that subscripts and sizes say, and at no others."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import symgrad as sg
from symgrad.errors import UnsupportedError
from symgrad.ir import shape_of, single
from symgrad.pipeline import printed, verified
from symgrad.records import replace

A, B = [0, 2, 1, 0, 2], [1, 3, 2, 1, 2]  # edges: two of them twice, one from a point to itself
POISSON = (
    "f(u[n,m])[i,j] = 4*u[i,j] - where(i > 0, u[i-1,j], 0) - where(i + 1 < n, u[i+1,j], 0) "
    "- where(j > 0, u[i,j-1], 0) - where(j + 1 < m, u[i,j+1], 0) + u[i,j]**3"
)
TABLE = {  # formula, sizes, what is given, and how many entries are stored
    "diagonal": ("f(x[n], y[n])[i] = x[i]*sin(y[i])", {"n": 4}, {}, 8),
    "band": ("f(x[n])[i] = where(i + 1 < n, x[i]*x[i+1], 0) + sin(x[i])", {"n": 4}, {}, 7),
    "boundary": ("f(x[n])[i] = where(i == 0, x[i], where(i == n - 1, x[i]**2, x[i+1] - x[i-1]))", {"n": 5}, {}, 8),
    "stencil": (POISSON, {"n": 3, "m": 4}, {}, 12 + 2 * (2 * 4 + 3 * 3)),
    "edges": ("f(p[n], a[e]: int, b[e]: int)[k] = (p[a[k]] - p[b[k]])**2", {"n": 4}, {"a": A, "b": B}, 9),
    "forces of edges": (
        "f(p[n], a[e]: int, b[e]: int, y[n]): out[i] = y[i]; out[a[k]] += (p[a[k]] - p[b[k]])**3",
        {"n": 4},
        {"a": A, "b": B},
        4 + 6,
    ),
    "gather": ("f(x[n,d], t[m]: int)[i,j] = x[t[i],j]**2", {"n": 3, "d": 2}, {"t": [2, 0, 2]}, 6),
    "masked gather": (
        "f(x[n,d], t[m]: int)[i,j] = where(t[i] >= 0, x[t[i],j]**2, 0)",
        {"n": 3, "d": 2},
        {"t": [2, -1, 0, 2]},
        6,
    ),
    "convolution": ("f(x[n], k[m])[i] = sum[j](x[i+j]*k[j])", {"n": 6, "m": 3}, {}, 4 * 3 * 2),
    "padded convolution": (
        "f(x[n], k[m])[i:n] = sum[j](where((0 <= i + j - 1) & (i + j - 1 < n), x[i+j-1], 0)*k[j])",
        {"n": 5, "m": 3},
        {},
        13 + 13,
    ),
    "dense": ("f(x[n])[i] = exp(x[i])/sum[j](exp(x[j]))", {"n": 3}, {}, 9),
    "sum": ("f(x[n]) = sum[i](x[i]**2)", {"n": 3}, {}, 3),
    "outputs and inputs": ("f(x[n], y[m]) -> a, b: a[i] = x[i]**2; b[j] = x[0]*y[j]", {"n": 3, "m": 2}, {}, 3 + 2 + 2),
    "numbers": ("f(x, y) = (x*y, sin(x), exp(y), 3)", {}, {}, 4),
    "literal sizes": ("f(p[2], y) = (p[0]*y, p[1]**2)", {}, {}, 3),
    "no entry": ("f(x[n], t[n]: int)[i] = sign(x[i]) + t[i]", {"n": 3}, {"t": [1, 2, 3]}, 0),
    "kinks": ("f(x[n])[i] = relu(x[i])", {"n": 3}, {}, 3),
    "argmax": ("f(x[n,m])[i] = x[i,argmax[j](x[i,j])]**2", {"n": 2, "m": 3}, {}, 2),
    "optional": ("f(x[n], b[n]?)[i] = x[i]**2 + b[i]*x[i]", {"n": 3}, {}, 6),
    "absent": ("f(x[n], b[n]?)[i] = x[i]**2 + b[i]*x[i]", {"n": 3}, {"b": None}, 3),
    "a number at one place": ("f(x[n]) = sum[i]((x[i] > 0) + (x[i] > -1))*x[0]", {"n": 3}, {}, 1),
    "no size": ("f(x[n]; k=-1)[i:n+k] = x[i-k] - x[i]**2", {"n": 4}, {}, 6),
    "recurrence": ("f(x[n]) -> h: h[0] = x[0]; h[t+1] = 0.5*h[t] + x[t]**2", {"n": 4}, {}, 11),
    "recurrence of rows": (
        "f(x[n,m], s[m]) -> h: h[0,i] = s[i]; h[t+1,i] = h[t,i] - sin(x[t,i])",
        {"n": 3, "m": 2},
        {},
        2 * (6 + 4),
    ),
    "backwards": ("f(x[n], a) -> h: h[n] = 1; h[t] = a*h[t+1]*x[t]", {"n": 4}, {}, 10 + 4),
    "a value that is 0": (
        "f(x[n,n])[i,j] = where(j <= i, exp(x[i,j]), 0)/sum[k](where(k <= i, exp(x[i,k]), 0))",
        {"n": 3},
        {},
        1 + 4 + 9,
    ),
    "a row that is not there": ("f(x[n,m])[i:n] = where(i > 1, x[2,i//2]**2, 2)", {"n": 2, "m": 1}, {}, 0),
    "a sum of nothing at no place": (
        "f(x[n], y[m])[k:m] = sum[i:n](where(i > 1, x[2]*x[i//2]**2*y[k], 2))",
        {"n": 1, "m": 2},
        {},
        2,
    ),
    "option": ("f(x[n]; s=2.5)[i] = s*x[i]", {"n": 3}, {}, 3),
}
each = pytest.mark.parametrize("name", TABLE)


def given(function, sizes, values):
    """The inputs, those of real numbers at random."""
    rng = np.random.default_rng(5)
    shapes = {n: shape_of(function.table[n].shape, sizes) for n in function.inputs if n not in values}
    drawn = {n: rng.uniform(0.2, 1.7, shape) for n, shape in shapes.items()}
    return [drawn[n] if n in drawn else None if values[n] is None else np.array(values[n]) for n in function.inputs]


def dense(function, inputs):
    """The outputs, and their derivatives as one matrix: J^T v of unit vectors."""
    code = sg.load(function, check=False)
    out, saved = code.forward(*inputs)
    outputs = out if isinstance(out, tuple) else (out,)
    reals = [k for k, n in enumerate(function.inputs) if function.table[n].dtype == "real"]
    rows = []
    for k, o in enumerate(outputs):
        for place in np.ndindex(np.shape(o)):
            seeds = [np.zeros(np.shape(p)) for p in outputs]
            seeds[k][place] = 1
            found = code.backward(saved, tuple(seeds) if len(seeds) > 1 else seeds[0])
            rows.append(np.concatenate([np.ravel(np.zeros(3) if found[j] is None else found[j]) for j in reals]))
    return outputs, np.array(rows)


def compared(name, to):
    """Compare what is printed in a language with the dense Jacobian, at one point."""
    text, sizes, values, count = TABLE[name]
    function = single(sg.parse(text))
    inputs = given(function, sizes, values)
    *found, matrix = sg.load(function, to=to, functions="jacobian:sparse", check=False).jacobian_sparse(*inputs)
    outputs, expected = dense(function, inputs)
    assert_allclose(matrix.toarray(), expected, rtol=1e-13, atol=1e-15)
    assert matrix.nnz == count
    assert matrix.has_canonical_format
    for o, e in zip(found[0] if isinstance(found[0], tuple) else found, outputs, strict=True):
        assert_allclose(o, e, rtol=1e-14)


def checked(name, to):
    """Check it."""
    report = sg.check(sg.parse(TABLE[name][0]), to=to, functions="jacobian:sparse")
    assert report.ok, report


@each
def test_the_numbers_and_their_places(name):
    compared(name, "numpy")


@each
@pytest.mark.in_turn
def test_each_is_checked(name):
    checked(name, "numpy")


def test_the_pattern_is_asked_for_once():
    code = sg.load(sg.parse(TABLE["band"][0]), functions="jacobian:sparse", check=False)
    x = np.random.default_rng(3).standard_normal((2, 6))
    pattern = code.jacobian_pattern(x[0])
    shape, starts, columns, _ = pattern
    _, entries = code.jacobian_values(pattern, x[1])
    _, matrix = code.jacobian_sparse(x[1])
    assert shape == (6, 6)
    for own, other in ((starts, matrix.indptr), (columns, matrix.indices), (entries, matrix.data)):
        np.testing.assert_array_equal(own, other)


def test_a_hessian():
    function = sg.parse("f(x[n]) = sum[i:n-1](100*(x[i+1] - x[i]**2)**2 + (1 - x[i])**2)")
    value, gradient, matrix = sg.load(function, functions="hessian:sparse").hessian_sparse(np.arange(1.0, 5.0))
    expected = sg.load(function, functions="hessian", check=False).hessian(np.arange(1.0, 5.0))
    assert_allclose(matrix.toarray(), expected[2])
    assert matrix.nnz == 4 + 2 * 3
    assert_allclose(gradient, expected[1])
    assert_allclose(value, expected[0])


def test_entries_of_a_hessian_that_cancel():
    report = sg.check(sg.parse("f(a[n,n], x[n]) = det(a)*sum[i](x[i]**2)"), functions="hessian:sparse")
    assert report.ok, report


def test_axes_without_names_are_those_of_one_point():
    function = sg.parse("f(x[..., n])[..., i] = x[..., i]*x[..., 0]")
    _, matrix = sg.load(function, functions="jacobian:sparse").jacobian_sparse(np.arange(1.0, 4.0))
    assert_allclose(matrix.toarray(), [[2, 0, 0], [2, 1, 0], [3, 0, 1]])
    with pytest.raises(UnsupportedError, match="stands for any number of axes"):
        sg.generate(sg.parse("f(x[...], y[k]) = sum[...](sin(x[...]))*y[0]"), functions="jacobian:sparse", check=False)


def test_by_some_inputs():
    function = sg.parse("f(x[n], k[m])[i] = sum[j](x[i+j]*k[j])")
    code = sg.load(function, functions="jacobian:sparse", wrt="k,x", check=False)
    x, k = np.arange(5.0), np.arange(1.0, 4.0)
    _, matrix = code.jacobian_sparse(x, k)
    assert_allclose(matrix.toarray(), np.roll(dense(function, (x, k))[1], 3, axis=1))


MISTAKES = {  # in the text of the band, and the stage that sees it
    "a place": ([("places + 1", "places")], "witnesses text"),
    "an entry left out": (
        [(", (out_by_x_rows_2, out_by_x_columns_2)", ""), ("out_by_x, out_by_x_2)", "out_by_x)")],
        "witnesses text",
    ),
    "a zero that is stored": (
        [("(n, n), (", "(n, n), (n - 1 - np.arange(n), np.arange(n)), ("), ("pattern, out", "pattern, 0 * x, out")],
        "structure",
    ),
    "an entry twice": ([("columns, starts)", "0 * columns, starts)")], "text"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_seen(name):
    changes, stages = MISTAKES[name]
    function = sg.parse(TABLE["band"][0])
    result = printed(function, "numpy", {"functions": "jacobian:sparse"})
    ((path, text),) = result.files.items()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    result = replace(result, files={path: text})
    report = verified(function, result, result.load())
    assert report.failures
    assert {f.stage for f in report.failures} & {*stages.split()}, report
