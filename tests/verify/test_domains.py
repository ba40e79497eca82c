"""What a function is declared for: the check asks inside alone, at the bounds too, and knows one-sided kinks there."""

from __future__ import annotations

import numpy as np
import pytest
from loading import numpy_module

import symgrad as sg
from symgrad.expr import const
from symgrad.formulas import parse
from symgrad.ir import Interval
from symgrad.verify import check
from symgrad.verify.domains import in_single, inside, placed, ranged
from symgrad.verify.reference import Declaration
from symgrad.verify.sampling import sample

RNG = np.random.default_rng(0)
POSITIVE, UNIT = Interval.of("gt", const(0)), Interval(const(0), const(1), False, True)

FOLDED = {
    "inside stays": (UNIT, [0.0, 0.25, 1e-300], [0.0, 0.25, 1e-300]),
    "one bound reflects": (POSITIVE, [-2.0, 3.0, -1e-9], [2.0, 3.0, 1e-9]),
    "another number reflects": (Interval.of("le", const(-1)), [0.5, -1.0, -3.0], [-2.5, -1.0, -3.0]),
    "two bounds fold to and fro": (UNIT, [1.25, -0.25, 2.5, -3.25], [0.75, 0.25, 0.5, 0.75]),
}


@pytest.mark.parametrize(("interval", "drawn", "expected"), FOLDED.values(), ids=list(FOLDED))
def test_what_is_drawn_is_folded_into_the_interval(interval, drawn, expected):
    assert placed(interval, np.array(drawn), RNG).tolist() == expected


@pytest.mark.parametrize("interval", [POSITIVE, UNIT, Interval(const(-3), const(-2), True, True)], ids=str)
def test_nothing_comes_to_lie_outside(interval):
    drawn = np.array([0.0, 1.0, -1.0, -2.0, -3.0, np.nan, np.inf, 1e308, 5e-324, *RNG.standard_normal(100)])
    assert interval.holds(placed(interval, drawn, RNG)).all()


def test_an_array_that_is_broadcast_is_so_again():
    found = placed(POSITIVE, np.broadcast_to(np.array([[-1.0, 0.0]]), (5, 2)), RNG)
    assert found.strides[0] == 0
    assert found.shape == (5, 2)


ROUNDED = {
    "up to an open bound": ("0 < x < 1", 1 - 2.0**-53, 1 - 2.0**-24),
    "down to an open bound": ("x > 1", 1 + 2.0**-52, 1 + 2.0**-23),
    "up beyond a closed bound": ("x <= 0.1", 0.1, float(np.nextafter(np.float32(0.1), np.float32(0)))),
    "to an open bound of float32": ("x < 0.7", 0.7 - 1e-9, float(np.nextafter(np.float32(0.7), np.float32(0)))),
    "nowhere near": ("0 < x < 1", 0.25, 0.25),
}


@pytest.mark.parametrize(("domain", "x", "expected"), ROUNDED.values(), ids=list(ROUNDED))
def test_a_number_is_not_rounded_out_of_the_domain(domain, x, expected):
    interval = parse(f"f(x) = x for {domain}").table["x"].interval
    assert in_single(interval, np.array(x)) == expected


INTEGERS = {
    "of what is indexed": (Interval.of("ge", const(1)), 0, 3, True, (1, 3)),
    "of habit": (Interval.of("gt", const(0)), -2, 4, False, (1, 4)),
    "beyond it": (Interval.of("ge", const(10)), -2, 4, False, (10, 16)),
    "below it": (Interval.of("lt", const(-10)), -2, 4, False, (-16, -10)),
    "between": (Interval(const(7), const(8)), -2, 4, False, (7, 9)),
}


@pytest.mark.parametrize(("interval", "low", "high", "known", "expected"), INTEGERS.values(), ids=list(INTEGERS))
def test_the_integers_that_are_drawn(interval, low, high, known, expected):
    assert ranged(interval, low, high, known) == expected


DECLARED = {
    "points": "f(x, a) = x**a for a > 0, 0 <= x <= 1",
    "arrays": "f(x[n], a) = sum[i](log(x[i] + a)) for a > 0, x >= 1",
    "subscripts": "f(x[n], t[m]: int)[i] = x[t[i]] for t >= 1",
    "what may be absent": "f(x[n], b[n]?)[i] = given(b, x[i]*b[i], x[i]) for b <= -2, -1 < x < 1",
}


@pytest.mark.parametrize("full", [False, True], ids=["short", "long"])
@pytest.mark.parametrize("text", DECLARED.values(), ids=list(DECLARED))
def test_every_point_is_in_the_domain(text, full):
    function = parse(text)
    cases = sample(Declaration(function), full=full).cases
    assert all(np.all(inside(function, case.inputs)) for case in cases)
    bounds = [case.inputs for case in cases if case.label == "bounds of the domain"]
    for name in function.inputs:
        for end in function.table[name].interval.ends if function.table[name].dtype == "real" else ():
            assert any(np.any(inputs[name] == end) for inputs in bounds if inputs[name] is not None)


PASS = {
    "a Dirichlet density": """dirichlet(x[n,k], a[k])[i] = lgamma(sum[j](a[j])) - sum[j](lgamma(a[j]))
        + sum[j]((a[j] - 1)*log(x[i,j])) for a > 0, 0 < x < 1""",
    "a beta density": """beta_density(x[n], a, b)[i] = (a - 1)*log(x[i]) + (b - 1)*log1p(-x[i])
        + lgamma(a + b) - lgamma(a) - lgamma(b) for a, b > 0, 0 < x < 1""",
    "a kink at a bound": "f(x) = abs(x) + relu(sin(x)) for 0 <= x <= 1",
    "a kink at a bound of arrays": "f(x[n], y[n]) = sum[i](maximum(x[i], 0)*y[i]) for x >= 0",
    "no bounds that belong to it": "f(x) = sqrt(x)/(1 - x) for 0 < x < 1",
    "integers": "f(t: int, x) = x*t for t >= 100",
}


@pytest.mark.parametrize("text", PASS.values(), ids=list(PASS))
def test_what_is_declared_for_a_domain_is_checked_there(text):
    report = sg.check(parse(text), to="numpy")
    assert report.ok, str(report)


DERIVED = {
    "a jacobian": ("f(x, y) = abs(x)*y + relu(sin(x)) for 0 <= x <= 1", "jacobian"),
    "a hessian": ("f(x, y) = abs(x)*y + relu(sin(x)) for 0 <= x <= 1", "hessian"),
    "a product": ("f(x[n]) = sum[i](abs(x[i])*x[i]) for x >= 0", "hvp"),
    "a sparse jacobian": ("f(x[n])[i] = abs(x[i]) for x >= 0", "jacobian:sparse"),
    "tangents": ("f(x, a) = abs(x)**a for a > 0, 0 <= x <= 1", "jvp"),
}


@pytest.mark.parametrize(("text", "functions"), DERIVED.values(), ids=list(DERIVED))
def test_what_is_derived_is_checked_in_the_domain(text, functions):
    report = sg.check(parse(text), to="numpy", functions=functions)
    assert report.ok, str(report)


SLOPE = """
import numpy as np
def forward(x):
    return {value}, (x,)
def backward(saved, grad_output=None, needs_input_grad=(True,)):
    (x,) = saved
    if grad_output is None:
        if x.shape:
            raise ValueError("f: grad can be implicitly created only for scalar outputs")
        grad_output = np.ones(())
    if not needs_input_grad[0]:
        return (None,)
    return ({inside} * grad_output * (x > 0) + {slope} * grad_output * (x <= 0),)
"""
RELU = "relu(x)", "np.maximum(x, 0)", 1
BOTH = "relu(x) + abs(x)", "np.maximum(x, 0) + np.abs(x)", 2
SLOPES = {
    "declared": (RELU, 0.0, True),
    "from inside": (RELU, 1.0, True),
    "between": (RELU, 0.5, False),
    "another": (RELU, -1.0, False),
    "both declared": (BOTH, 0.0, True),
    "one from inside": (BOTH, 1.0, True),
    "both from inside": (BOTH, 2.0, True),
    "neither": (BOTH, 1.5, False),
}


@pytest.mark.parametrize(("formula", "slope", "ok"), SLOPES.values(), ids=list(SLOPES))
def test_a_kink_at_a_bound_has_the_declared_slope_or_the_one_from_inside(formula, slope, ok):
    text, value, inside = formula
    files = {"f.py": SLOPE.format(value=value, inside=inside, slope=slope)}
    report = check(parse(f"f(x) = {text} for x >= 0"), files, "numpy", numpy_module(files))
    assert report.ok is ok, str(report)
    if formula is RELU:
        assert check(parse("f(x) = relu(x)"), files, "numpy", numpy_module(files)).ok is (slope == 0.0)
