"""Functions that are 0/0 at 0: printed, they have their limits there, and so do their derivatives."""

from __future__ import annotations

import re

import numpy as np
import pytest

import symgrad as sg

# formula: its value, slope and second derivative at 0
LIMITS = {
    "sin(x)/x": (1, 0, -1 / 3),
    "sinc(x)": (1, 0, -(np.pi**2) / 3),
    "where(x == 0, 1, sin(x)/x)": (1, 0, -1 / 3),
    "(1 - cos(x))/x**2": (1 / 2, 0, -1 / 12),
    "(x - sin(x))/x**3": (1 / 6, 0, -1 / 60),
    "(exp(x) - 1)/x": (1, 1 / 2, 1 / 3),
    "log(1 + x)/x": (1, -1 / 2, 2 / 3),
    "x/(exp(x) - 1)": (1, -1 / 2, 1 / 6),
    "x**3/(exp(x) - 1)": (0, 0, 2),
    "1/tanh(x) - 1/x": (0, 1 / 3, 0),
    "tanh(x)/x": (1, 0, -2 / 3),
    "atan(x)/x": (1, 0, -2 / 3),
    "x/sin(x)": (1, 0, 1 / 3),
    "2*sin(3*x)/(3*x)": (2, 0, -6),
    "sin(sqrt(x))/sqrt(x)": (1, -1 / 6, 1 / 60),
    "cos(sqrt(x))": (1, -1 / 2, 1 / 12),
}
# no Taylor series at 0, or nothing to fill
LEFT = ["abs(x)/x", "sqrt(x**2)/x", "x**2/x", "sin(y)/x + y", "sqrt(x)/x", "1/x", "x*log(x)"]


def declared(body, *inputs):
    return sg.parse(f"f({', '.join(inputs or 'x')}) = {body}")


@pytest.mark.parametrize("body", LIMITS)
def test_value_and_derivatives_at_0(body):
    f = declared(body)
    value, slope, second = LIMITS[body]
    code = sg.load(f, to="numpy", check=False)
    out, saved = code.forward(np.float64(0))
    (grad,) = code.backward(saved, np.float64(1))
    again = sg.load(sg.vjp(f).function, to="numpy", check=False)
    _, saved = again.forward(np.float64(0), np.float64(1))
    curved, _ = again.backward(saved, (np.float64(0), np.float64(1)))
    np.testing.assert_allclose([out, grad, curved], [value, slope, second], rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("to", ["numpy", "c"])
@pytest.mark.parametrize("body", LIMITS)
def test_the_check_agrees(body, to):
    report = sg.check(declared(body), to=to)
    assert report.ok, str(report)


@pytest.mark.parametrize("body", [b for b in LIMITS if "sinc" not in b and "where" not in b])
def test_nothing_is_lost_near_0(body):
    """What floating point loses of the formula as it is written, the series does not lose."""
    code = sg.load(declared(body), to="numpy", check=False)
    x = np.geomspace(1e-12, 1e-3, 10)
    _, saved = code.forward(x)
    (grad,) = code.backward(saved, np.ones_like(x))
    _, slope, second = LIMITS[body]
    third = np.abs(grad - slope - second * x)
    assert np.all(third <= 3 * x**2 + 4e-16 * np.abs(grad)), third / x**2


@pytest.mark.parametrize("body", LEFT)
def test_what_has_no_limit_is_left_alone(body):
    inputs = sorted(set(re.findall(r"\b[xy]\b", body)))
    (text,) = sg.generate(declared(body, *inputs), to="numpy").values()
    assert "Taylor" not in text


def test_no_stabilize_leaves_the_formula():
    (text,) = sg.generate(declared("sin(x)/x"), to="numpy", stabilize=False).values()
    assert "np.sin(x) / x" in text
    assert "--no-stabilize" in text


def test_an_argument_may_be_called_as_the_formula_calls_it():
    f = sg.parse("f(x, w) = sin(w*x)/(w*x)")
    code = sg.load(f, to="numpy", check=False)
    out, saved = code.forward(np.array(0.0), np.array(2.0))
    assert (out, *code.backward(saved, np.array(1.0))) == (1, 0, 0)
