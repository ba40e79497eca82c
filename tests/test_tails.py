"""Tails of the normal distribution: values and gradients within a few units in the last place, where there are any."""

from __future__ import annotations

import re
import shutil

import numpy as np
import pytest
from mpmath import mp
from tails import FLOATS, LOGARITHMS, POINTS, QUOTIENTS, computed, off

import symgrad as sg

pytestmark = pytest.mark.long

needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
C = pytest.param("c", {}, POINTS, id="c", marks=needs_cc)
FLOAT = pytest.param("c", {"dtype": "float"}, FLOATS, id="float", marks=needs_cc)
NUMPY = pytest.param("numpy", {}, POINTS, id="numpy")
NUMPY_FLOAT = pytest.param("numpy", {}, FLOATS, id="numpy float32")
FEW = 8  # units in the last place


@pytest.mark.parametrize("to, options, points", [NUMPY, NUMPY_FLOAT, C, FLOAT])
@pytest.mark.parametrize("text", LOGARITHMS)
def test_logarithms_and_their_slopes(text, to, options, points):
    value, slope = LOGARITHMS[text]
    out, grad = computed(text, points, to, **options)
    error, where = off(grad, points, slope)
    assert error < FEW, where
    error, where = off(out, points, value)
    assert error < FEW, where


@pytest.mark.parametrize("to, options, points", [NUMPY, NUMPY_FLOAT, C, FLOAT])
@pytest.mark.parametrize("text", QUOTIENTS)
def test_quotients(text, to, options, points):
    out, _ = computed(text, points, to, **options)
    error, where = off(out, points, QUOTIENTS[text])
    assert error < FEW, where


@pytest.mark.parametrize("to", ["numpy", pytest.param("c", marks=needs_cc)])
@pytest.mark.parametrize("text", ["log(erfc(-x/sqrt(2))/2)", "log(erfc(x))", "exp(-x**2)/erfc(x)"])
def test_the_check_agrees(text, to):
    report = sg.check(sg.parse(f"f(x) = {text}"), to=to)
    assert report.ok, str(report)


@pytest.mark.parametrize(
    "text",
    ["exp(-x**2)/erfc(2*x)", "exp(x**2)/erfc(x)", "log(1 - 2*erf(x))", "log(2 + erf(x))", "log(erf(x))", "erfc(x)/2"],
)
def test_what_is_no_tail_is_left_alone(text):
    assert "_erfc_hazard" not in "".join(sg.generate(sg.parse(f"f(x) = {text}"), to="numpy", check=False).values())


def test_a_distance_in_standard_deviations_is_spoken_in_itself():
    text = str(sg.vjp(sg.parse("f(x, m, s) = log(erfc((m - x)/(s*sqrt(2)))/2)")))
    assert "log_ndtr(-(m[...] - x[...]) / s[...])" in text


@pytest.mark.parametrize("to", ["numpy", pytest.param("c", marks=needs_cc)])
def test_down_to_the_smallest_number(to):
    """Where erfcx overflows there still is a gradient."""
    x = (37.5, 38.0, 38.5)
    (_, grad), (_, slope) = computed("log(ndtr(x))", x, to), LOGARITHMS["log(ndtr(x))"]
    with mp.workprec(200):
        np.testing.assert_allclose(grad, [float(slope(mp.mpf(v))) for v in x], rtol=1e-12, atol=1e-323)


@needs_cc
@pytest.mark.parametrize("dtype", ["double", "float"])
def test_each_function_is_printed_once(dtype):
    """Several that call the same one; before those that call it."""
    formula = sg.parse("f(x) = log(ndtr(x)) + log(erfc(x)) + erfcx(x)")
    (source,) = (
        text for path, text in sg.generate(formula, to="c", dtype=dtype, check=False).items() if path.endswith(".c")
    )
    names = re.findall(rf"^static {dtype} (\w+)\(", source, re.MULTILINE)
    assert names == ["erfcx", "erfc_hazard", "inverse_mills", "log_erfc", "log_ndtr"]
    report = sg.check(sg.parse("f(x) = log(ndtr(x)) + log(erfc(x))"), to="c", dtype=dtype)
    assert report.ok, str(report)
