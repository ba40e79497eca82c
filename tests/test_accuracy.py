"""The bits that code loses: none where it is exact, as many as it is wrong by, all where it gives no number."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import mpmath
import numpy as np
import pytest
from mpmath import mp

import symgrad as sg
from symgrad.pipeline import printed
from symgrad.verify.accuracy import losses

ROOT = Path(__file__).parents[1]
SCALED = sg.parse("f(x) = 4*x")


class Wrong:
    """The code of f(x) = 4*x with its results put through `wrong`."""

    def __init__(self, wrong):
        self.wrong, self.code = wrong, printed(SCALED, "numpy").load()

    def forward(self, x):
        out, saved = self.code.forward(x)
        return self.wrong(out), saved

    def backward(self, saved, grad_output, needs_input_grad=None):
        return tuple(map(self.wrong, self.code.backward(saved, grad_output, needs_input_grad)))


@pytest.mark.parametrize(
    "wrong, least, most",
    [
        pytest.param(lambda a: a, 0, 0, id="exact"),
        pytest.param(lambda a: a * (1 + 2.0**-40), 11.9, 14.1, id="2**-40"),
        pytest.param(lambda a: np.where(a > 0, np.nan, a), 64, 64, id="nan"),
    ],
)
def test_bits_are_lost_as_results_are_wrong(wrong, least, most):
    (found,) = losses(SCALED, [Wrong(wrong)])
    assert {loss.name for loss in found} == {"out", "grad_x"}
    for loss in found:
        assert loss.count > 30
        assert least <= loss.most <= most
        assert bool(loss.worst) == (least > 0)


@pytest.mark.parametrize(
    "text",
    [
        "f(x) = (1 - cos(x))/x**2",
        "f(x, y) = log(exp(x) + exp(y))",
        "f(x) = log(1 - exp(x))",
        "f(x, y, z) = log(exp(x) + exp(y) + exp(z))",
        "f(x, y) = exp(x)/(1 + exp(x) + exp(y))",
    ],
)
def test_what_is_printed_loses_less_than_what_is_written(text):
    for before, after in sg.accuracy(sg.parse(text)):
        assert before.name == after.name and before.count == after.count
        assert after.mean < 1 < before.mean


@pytest.mark.parametrize("x, y", [(1e-8, -2.5e-8), (-3.0, -3.0 + 1e-9), (700.0, -50.0), (-1e4, 2.0)])
def test_a_divided_difference_keeps_its_digits(x, y):
    """(exp(x) - exp(y))/(x - y) is a quotient that is 0/0 only in the form that the search finds."""
    code = printed(sg.parse("f(x, y) = (exp(x) - exp(y))/(x - y)"), "numpy").load()
    out, saved = code.forward(np.array(x), np.array(y))
    with mp.workdps(60):
        a, b = mpmath.mpf(x), mpmath.mpf(y)
        value = (mp.exp(a) - mp.exp(b)) / (a - b)
        truth = [value, (mp.exp(a) - value) / (a - b), (value - mp.exp(b)) / (a - b)]
    found = [out, *code.backward(saved, np.array(1.0))]
    assert list(map(float, found)) == pytest.approx(list(map(float, truth)), rel=1e-14)


@pytest.mark.parametrize(
    "text, most",  # where a rounding counts once that would count twice: bits, on average
    [
        ("f(x) = x/(1 + abs(x))", 0.45),
        ("f(x) = sqrt(x + 1) - sqrt(x)", 0.6),
        ("f(x, y) = x/sqrt(x**2 + y**2)", 0.75),
        ("f(x, y) = atan2(y, x)", 0.5),
    ],
)
def test_a_rounding_counts_once(text, most):
    for _, loss in sg.accuracy(sg.parse(text)):
        assert loss.name == "out" or (loss.mean < most and loss.most < 3)


def test_a_formula_that_loses_nothing_is_printed_as_it_is_written():
    for before, after in sg.accuracy(sg.parse("f(x[n], y[n])[i] = x[i]*y[i]")):
        assert before == after and after.most <= 1


# gradients that lost digits or left the range: the function in mpmath, where, and the units in the last place allowed
UNITS = {
    "f(x, n) = x**n/(1 + x**n)": (
        lambda x, n: 1 / (1 + x**-n),
        [(1.6463030326659038, -638.64017876837), (9.44e-7, 29.96), (0.4, 700), (30, 200), (1, 3), (0.9, -1000)],
        4,
    ),
    "f(t, a) = a/(a + (1 - a)*exp(-t))": (
        lambda t, a: a / (a + (1 - a) * mp.exp(-t)),
        [(3000, 0.3), (0, 5), (-0.106, 4.04)],
        8,
    ),
    "f(x, y, z) = log(exp(x) + exp(y) + exp(z))": (
        lambda x, y, z: mp.log(mp.exp(x) + mp.exp(y) + mp.exp(z)),
        [(609.19, 7.25e-6, -9.8e-7), (-0.89, -3.3e-4, 274.6), (-110.5, 35.67, 1.9e-5), (1, 1, 1), (0, 0, 1e-9)],
        4,
    ),
    "f(x, y, z) = exp(x)/(exp(x) + exp(y) + exp(z))": (
        lambda x, y, z: mp.exp(x) / (mp.exp(x) + mp.exp(y) + mp.exp(z)),
        [(609.19, 7.25e-6, 300.8), (-0.89, -3.3e-4, 274.6), (36.5, 35.67, 1.9e-5), (1, 1, 1), (0, 0, 1e-9)],
        6,
    ),
    "f(x) = log(tan(pi/4 + x/2))": (
        lambda x: mp.log(mp.tan(mp.pi / 4 + x / 2)),
        [(1e-9,), (-3.3e-4,), (0.7,), (-1.5,), (6.3,)],
        4,
    ),
    "f(a, b, c) = (-b + sqrt(b*b - 3*a*c))/(3*a)": (
        lambda a, b, c: (-b + mp.sqrt(b * b - 3 * a * c)) / (3 * a),
        [(1.5e-6, 24.5, 3.25e-5), (0.75, -38.5, 92.5), (-1.25, 1e-6, 3.5), (2.0, 1e4, -1e-5)],
        8,
    ),
    "f(x) = tanh(x)": (mp.tanh, [(0.0,), (-2.2e-3,), (0.7,), (-8.03,), (19.5,), (350.0,)], 2),
    "f(x) = x*erfc(x)": (lambda x: x * mp.erfc(x), [(26.1,), (19.37,), (-3.3,), (5.01,), (-21.9,)], 8),
    "f(x) = x*(1 + erf(x/sqrt(2)))/2": (
        lambda x: x * mp.erfc(-x / mp.sqrt(2)) / 2,
        [(-36.1,), (-19.37,), (3.3,), (-12.9,), (30.0,)],
        12,
    ),
    "f(x) = exp(-0.5*x**2)": (lambda x: mp.exp(-x * x / 2), [(37.3,), (-19.37,), (1e-9,), (12.9,)], 4),
}


@pytest.mark.parametrize("to", ["numpy", "c"])
@pytest.mark.parametrize("text", UNITS)
@pytest.mark.in_turn
def test_gradients_keep_their_digits(text, to):
    function, points, units = UNITS[text]
    code = sg.load(sg.parse(text), to=to, check=False)
    arrays = [np.array(column, float) for column in zip(*points, strict=True)]
    with np.errstate(all="ignore"):
        _, saved = code.forward(*arrays)
        found = code.backward(saved, np.ones(len(points)))
    with mp.workdps(1200):
        for k, grad in enumerate(found):
            order = tuple(int(n == k) for n in range(len(found)))
            for at, value in zip(points, grad, strict=True):
                true = mp.diff(function, at, order, h=mp.mpf(10) ** -400)
                assert abs(value - true) <= units * max(abs(true) * mpmath.ldexp(1, -52), mpmath.ldexp(1, -1074)), at


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("f(a, b, c) = (-b - sqrt(b*b - a*c))/a", id="half of b, minus"),
        pytest.param("f(a, b, c) = (-b + sqrt(b*b - 3*a*c))/(3*a)", id="of a cubic's slope"),
        pytest.param("f(a, b, c) = (-b - sqrt(b**2 - 4*a*c))/(2*a)", id="minus"),
        pytest.param("f(a, b, c) = 2*c/(-b + sqrt(b**2 - 4*a*c))", id="above the line"),
    ],
)
@pytest.mark.parametrize("b", [1e9, -1e9])
def test_both_roots_of_a_quadratic_keep_their_digits(text, b):
    formula = text.partition(" = ")[2]
    at = {"a": 1.0, "b": b, "c": 3.0}
    with mp.workdps(60):
        true = eval(formula, {"sqrt": mp.sqrt}, {name: mp.mpf(value) for name, value in at.items()})
    out, _ = sg.load(sg.parse(text), to="numpy", check=False).forward(**{k: np.array(v) for k, v in at.items()})
    np.testing.assert_allclose(float(out), float(true), rtol=4e-16)


def test_what_is_filled_where_it_is_0_over_0_may_be_a_function_that_has_a_name():
    text = sg.generate(sg.parse("f(x) = 0.5*exp(2*x) + 0.5/exp(2*x)"), to="numpy", check=False)
    assert "grad_x = 2 * grad_output * np.sinh(2 * x)" in str(text)


@pytest.mark.parametrize("b", [0.0, -0.3, 0.3])
def test_a_form_with_two_sides_has_a_slope_between_them(b):
    """The second derivative of a root that is written in one way for b > 0, and in another one else."""
    code = sg.load(sg.vjp(sg.parse("f(a, b) = (-b + sqrt(b**2 - 4*a))/(2*a)")).function, to="numpy", check=False)
    at, one = (np.array(-3.0), np.array(b)), np.array(1.0)
    _, saved = code.forward(*at, one)
    mixed, curved, _ = code.backward(saved, (np.array(0.0), np.array(0.0), one))
    with mp.workdps(60):
        true = [mp.diff(lambda u, v: (-v + mp.sqrt(v**2 - 4 * u)) / (2 * u), (-3, b), n) for n in ((1, 1), (0, 2))]
    np.testing.assert_allclose([mixed, curved], list(map(float, true)), rtol=1e-13)


@pytest.mark.parametrize("sample", ["practical", "full"])
def test_no_formula_of_the_table_loses_more_than_before(sample, tmp_path, request):
    """docs/accuracy.md's formulas at a few points; half a bit more may be another machine's libm."""
    script = ["benchmarks/accuracy/wider.py", "--formulas", "textbook", "--samples", sample, "--points", "12", "--json"]
    run = [sys.executable, *script, "--cache", tmp_path]
    lost = json.loads(subprocess.run(run, cwd=ROOT, check=True, capture_output=True, text=True).stdout)[sample]
    now = {name: [round(b, 1) for b in bits] for name, bits in lost.items()}
    path = ROOT / "tests" / "data" / f"bits_{sample}.json"
    if request.config.option.update:
        lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(bits)}" for name, bits in now.items())
        path.write_text(f"{{\n{lines}\n}}\n")
    before = json.loads(path.read_text())
    assert now.keys() == before.keys()
    more = {n: (before[n], now[n]) for n in now if any(b > a + 0.5 for a, b in zip(before[n], now[n], strict=True))}
    assert not more
