"""The reference: J^T v of a declaration by numbers, against matrices that are written out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp

from symgrad.declare.draft import Draft
from symgrad.expr import ZERO, apply, const, index, ref, select
from symgrad.ir import Dtype
from symgrad.verify.cases import Case
from symgrad.verify.reference import Declaration
from symgrad.verify.sampling import sample
from symgrad.verify.truth import differences, truth

I, J = index("i"), index("j")


def reduction(kind):
    d = Draft("f")
    n, m = d.dim("n"), d.dim("m")
    d.input("x", (n, m))
    d.define("out", (I,), d.reduce(kind, (J,), ref("x", I, J)))
    return d.finish(["out"])


def vector(body, dtype=Dtype.REAL):
    d = Draft("f")
    n = d.dim("n")
    d.input("x", (n,))
    d.input("t", (n,), dtype)
    d.define("out", (I,), body(ref("x", I), ref("t", I)))
    return d.finish(["out"])


def pulled(function, seed, **inputs):
    with mp.workprec(200):
        trace = Declaration(function).trace(inputs, {})
        return {n: g.astype(float) for n, g in trace.pull({"out": np.array(seed)}).items()}


REDUCTIONS = [
    ("sum", [[1.0, 2.0, 3.0]], [[5.0, 5.0, 5.0]]),
    ("mean", [[1.0, 2.0, 3.0]], [[5 / 3, 5 / 3, 5 / 3]]),
    ("max", [[1.0, 3.0, 2.0]], [[0.0, 5.0, 0.0]]),
    ("max", [[3.0, 1.0, 3.0]], [[2.5, 0.0, 2.5]]),
    ("min", [[3.0, 1.0, 3.0]], [[0.0, 5.0, 0.0]]),
    ("prod", [[2.0, 0.0, 3.0]], [[0.0, 30.0, 0.0]]),
    ("prod", [[2.0, 0.0, 0.0]], [[0.0, 0.0, 0.0]]),
    ("prod", [[2.0, 4.0, 3.0]], [[60.0, 30.0, 40.0]]),
    ("logsumexp", [[0.0, 0.0, 0.0]], [[5 / 3, 5 / 3, 5 / 3]]),
]


@pytest.mark.parametrize("row", REDUCTIONS, ids=[f"{r[0]} {r[1][0]}" for r in REDUCTIONS])
def test_reductions(row):
    kind, x, expected = row
    np.testing.assert_allclose(pulled(reduction(kind), [5.0], x=np.array(x))["x"], expected, rtol=1e-15)


def test_a_product_over_nothing_is_1_and_a_maximum_minus_infinity():
    for kind, value in (("prod", 1), ("max", -mp.inf), ("min", mp.inf), ("logsumexp", -mp.inf), ("sum", 0)):
        trace = Declaration(reduction(kind)).trace({"x": np.zeros((2, 0))}, {})
        assert list(trace.arrays["out"]) == [value, value]
        assert trace.pull({"out": np.ones(2)})["x"].shape == (2, 0)


BODIES = [
    ("select", lambda x, t: select(apply("gt", x, 0), apply("sqrt", x), ZERO), [4.0, -1.0], [0.25, 0.0]),
    ("abs at 0", lambda x, t: apply("abs", x), [-2.0, 0.0], [-1.0, 0.0]),
    ("floor", lambda x, t: x * apply("floor", x), [2.5, -0.5], [2.0, -1.0]),
    ("sign", lambda x, t: x * apply("sign", x), [2.5, -0.5], [1.0, -1.0]),
    ("cube at 0", lambda x, t: x**3 + x**2, [0.0, 1.0], [0.0, 5.0]),
    ("maximum at a tie", lambda x, t: apply("maximum", x, 1), [1.0, 2.0], [0.5, 1.0]),
    ("cbrt", lambda x, t: apply("cbrt", x), [-8.0, 8.0], [1 / 12, 1 / 12]),
    ("a third", lambda x, t: x / const(3), [1.0, 2.0], [1 / 3, 1 / 3]),
]


@pytest.mark.parametrize("row", BODIES, ids=[r[0] for r in BODIES])
def test_operators_and_kinks(row):
    _, body, x, expected = row
    function = vector(lambda a, b: body(a, b) + 0 * b if False else body(a, b) + b)
    grads = pulled(function, [1.0, 1.0], x=np.array(x), t=np.zeros(2))
    np.testing.assert_allclose(grads["x"], expected, rtol=1e-15)
    np.testing.assert_array_equal(grads["t"], [1.0, 1.0])


def test_a_gather_scatters_and_repeats_add_up():
    d = Draft("f")
    n, m = d.dim("n"), d.dim("m")
    d.input("table", (m,))
    d.input("t", (n,), Dtype.INT)
    d.define("out", (I,), ref("table", ref("t", I)) ** 2)
    function = d.finish(["out"])
    grads = pulled(function, [1.0, 10.0, 100.0], table=np.array([1.0, 2.0]), t=np.array([1, 0, 1]))
    np.testing.assert_allclose(grads["table"], [20.0, 404.0])
    cases = sample(Declaration(function)).cases
    assert all(np.all(c.inputs["t"] < np.size(c.inputs["table"])) for c in cases if c.inputs["t"].size)


def test_precision_rises_until_two_agree():
    function = vector(lambda x, t: apply("log", 1 + apply("exp", x)) + t)
    found = truth(Declaration(function), Case({"x": np.array([-700.0]), "t": np.zeros(1)}, {}, {"out": np.ones(1)}))
    with mp.workprec(3000):
        assert abs(found.outputs["out"][0] / mp.log1p(mp.exp(-700)) - 1) < 1e-20
        assert found.bits > 1000 and not found.undecided


def test_differences_see_a_wrong_gradient():
    function = vector(lambda x, t: apply("sin", x) * t)
    inputs, seeds = {"x": np.array([0.3, 2.0]), "t": np.array([1.5, -2.0])}, {"out": np.array([1.0, 2.0])}
    found = truth(Declaration(function), Case(inputs, {}, seeds))
    rng = np.random.default_rng(0)
    assert differences(Declaration(function), Case(inputs, {}, seeds), found.gradients, rng) is None
    with mp.workprec(400):
        found.gradients["x"][1] *= 1 + mp.mpf(2) ** -80
    assert differences(Declaration(function), Case(inputs, {}, seeds), found.gradients, rng) is not None


@pytest.mark.parametrize(("slope", "agrees"), [(0, True), (1, True), (2, False)])
def test_differences_across_a_kink_nearer_than_any_step_allow_for_its_sides(slope, agrees):
    function = vector(lambda x, t: apply("maximum", x, apply("exp", -(t**2))))
    inputs, seeds = {"x": np.array([0.0]), "t": np.array([88.0])}, {"out": np.array([1.0])}
    found = truth(Declaration(function), Case(inputs, {}, seeds))
    found.gradients["x"][0] = mp.mpf(slope)
    said = differences(Declaration(function), Case(inputs, {}, seeds), found.gradients, np.random.default_rng(0))
    assert (said is None) == agrees
