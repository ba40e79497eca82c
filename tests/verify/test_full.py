"""The long matrix of `--full`: what it asks of every function, and what only it sees."""

from __future__ import annotations

import re

import numpy as np
import pytest
from loading import numpy_module
from printed import FUNCTIONS

from symgrad.formulas import parse
from symgrad.pipeline import printed
from symgrad.verify import check
from symgrad.verify.calls import LAYOUTS, Call, layouts
from symgrad.verify.cases import combinations
from symgrad.verify.kinks import at_kinks, coarse
from symgrad.verify.reference import Declaration
from symgrad.verify.sampling import sample

KINKS = [  # (formula, what holds at a kink of each operator that decides something)
    ("f(x, y) = relu(2*x - y)", [lambda x, y: y == 2 * x]),
    ("f(x) = abs(x*x - 4)", [lambda x: abs(x) == 2]),
    ("f(x, y) = where(x*x < y, x, y)", [lambda x, y: x * x == y]),
    ("f(x, y) = max(x*y, x + 1)", [lambda x, y: x * y == x + 1]),
    ("f(x) = floor(3*x + 0.5)", [lambda x: (3 * x + 0.5) % 1 == 0]),
    ("f(x, y) = relu(x - 1) * abs(y + 3)", [lambda x, y: x == 1, lambda x, y: y == -3]),
    ("f(x[n]) = max[i](x[i]**2)", [lambda x: np.sort(x**2)[-1] == np.sort(x**2)[-2]]),
    ("f(x[n]) = sum[i](x[i])", []),
]


@pytest.mark.parametrize(("text", "conditions"), KINKS, ids=[row[0] for row in KINKS])
def test_the_kinks_of_a_formula_are_met_exactly(text, conditions):
    declaration, rng = Declaration(parse(text)), np.random.default_rng(0)
    packed = bool(declaration.function.packs)
    start = coarse({n: rng.standard_normal(1 if packed else 3) for n in declaration.function.inputs})
    points = [list(p.values()) for p in at_kinks(declaration, start, {}, rng, 300)]
    assert len(points) == 3 * len(conditions)
    for holds in conditions:
        assert sum(bool(np.all(holds(*p))) for p in points) >= 1


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("text", ["f(x, y) = relu(x - y)", "f(x[n,k], y[k])[i] = max[j](x[i,j] + y[j])"])
def test_the_long_matrix(text, seed):
    cases = sample(Declaration(parse(text)), full=True, seed=seed).cases
    labels = {c.label for c in cases}
    pointwise = {"one input at an edge", "no points"}
    tensors = {"an input at 800", "a size of 0", "sizes 1", "the formula's edges", "ties"}
    assert labels >= {"random", "kinks", "float32", "huge grad_output", "a size of 1"}
    assert labels >= (tensors if "[" in text else pointwise)
    values = np.concatenate([np.ravel(v) for c in cases for v in c.inputs.values()])
    assert {abs(v) for v in values} >= {800.0} and {800.0, -800.0} <= set(values)
    assert any(c.single and c.strided for c in cases)
    singles = np.concatenate([np.ravel(v) for c in cases if c.single for v in c.inputs.values()])
    np.testing.assert_array_equal(singles, singles.astype(np.float32))
    for name in parse(text).inputs:
        assert any(c.strided and 0 in c.inputs[name].strides for c in cases)


def test_the_long_matrix_of_what_takes_seconds(monkeypatch):
    monkeypatch.setattr("symgrad.verify.tensors.COSTLY", 0)
    declaration = Declaration(parse("f(x[..., n], y[n])[...] = max[i](x[..., i] + y[i])"))
    short, full = ({c.label for c in sample(declaration, full=f).cases} for f in (False, True))
    assert full - short == {"ties", "a large offset", "float32"} and "random" in short


def test_an_input_is_at_800_only_where_the_function_has_a_value():
    cases = sample(Declaration(parse("f(x, y) = sqrt(1 - x**2)*y")), full=True).cases
    x, y = (np.concatenate([np.ravel(c.inputs[n]) for c in cases]) for n in "xy")
    assert np.all(np.abs(x) <= 1) and {800.0, -800.0} <= set(y)


def test_the_cases_of_the_short_matrix_come_first_and_are_the_same():
    short, full = (sample(Declaration(FUNCTIONS["softmax"]()), full=f).cases for f in (False, True))
    np.testing.assert_array_equal(short[0].inputs["x"], full[0].inputs["x"])
    assert len(full) > 2 * len(short)


def test_every_layout_holds_the_same_numbers():
    function = parse("f(x[n,k])[i,j] = x[i,j]**2")
    cases = sample(Declaration(function)).cases
    assert {name for case in cases for name in layouts(case, True)} == set(LAYOUTS)
    for name in LAYOUTS:
        (x,) = Call(function, None, cases[0], np.float32, name).inputs
        np.testing.assert_array_equal(x, cases[0].inputs["x"].astype(np.float32))
        assert x.flags.c_contiguous == (name == "plain")


def test_every_subset_of_up_to_six_gradients_is_asked_for():
    function = parse("f(a, b, c, d) = a*b*c*d")
    assert len(combinations(function)) == 9 and len(combinations(function, full=True)) == 16


def test_what_only_the_long_matrix_sees():
    function = parse("f(x[n], y[n])[i] = relu(x[i]*y[i] - x[i] - 1.625)*3")  # of single points the short one asks, too
    files = {
        path: text.replace("relu_x > 0", "x * y - x - 1.625 >= 0")
        for path, text in printed(function, "numpy").files.items()
    }
    module = numpy_module(files)
    assert check(function, files, "numpy", module).ok
    report = check(function, files, "numpy", module, full=True)
    assert not report.ok and re.search(r"point +kinks", str(report)), str(report)
