"""Gradients of huge and of tiny numbers: the printed text beside SymPy's derivative at thousands of bits."""

from __future__ import annotations

import itertools

import mpmath
import numpy as np
import pytest
import sympy
from mpmath import mp

import symgrad as sg
from symgrad.library.losses import focal_loss
from symgrad.verify.accuracy import bits_lost

FAR = (1.3e-280, -2.1e-130, 3.3e-7, 1.7, -5.9e4, 7.7e140, -4.1e290)

LENGTHS = {
    "sqrt(x**2 + y**2)": (FAR, FAR),
    "sqrt(x**2 + y**2 + z**2)": (FAR, FAR, FAR[::3]),
    "x/sqrt(x**2 + y**2)": (FAR, FAR),
    "(3*x + 4*y)/(5*sqrt(x**2 + y**2))": (FAR, FAR),
    "atan2(y, x)": (FAR, FAR),
}
SIDES = (1.3e-280, 2.1e-130, 3.3e-7, 5.9e4, 7.7e140, 4.1e290)
BLACK_SCHOLES = "x*erfc(-(log(x/y) + z**2/2)/(z*sqrt(2)))/2 - y*erfc(-(log(x/y) - z**2/2)/(z*sqrt(2)))/2"
TEXTS = {
    **LENGTHS,
    # the slope of the angle has x*y over the length: no order of the three is in the range for sides 1e308 apart
    "sqrt(x**2 + y**2 - 2*x*y*cos(z))": (SIDES[1:5], (-2.3e-150, 1.7e-130, 2.9, -4.3e138), (1e-190, -0.3, 2.8)),
    "(-y + sqrt(y**2 - 4*x*z))/(2*x)": (
        (2.3e-200, 6.9e-81, 1.9, 3.7e150),
        (-4.1e250, 6.3e-166, -1.3e-160, 0.7, 2.9e180),
        (-1e-150, -1e99, -7.7e272),
    ),
    "acos(sin(x)*sin(y) + cos(x)*cos(y)*cos(z))": ((1.3e-250, 0.4), (-2.1e-200, -1.1), (3.3e-180, 0.7)),
    "1/(x + 1) - 1/x": ((-3e99, -4.7e-77, 1e-9, 2.0, 3.8e77, 1e90),),
    BLACK_SCHOLES: ((3e-250, 2.0, 4e250), (5e-240, 3.0, 7e210), (0.3, 3e3)),
    "4*((x/y)**12 - (x/y)**6)": ((1.3e-180, 3.3e-7, 5.9, 4.1e170), (-3.3e-175, 5.9e-4, 3.1e160, 1.1e178)),
    "x**y/(1 + x**y)": ((8.5e-80, 3.3, 1e140), (-106.9, -2.1, 2.1, 7.0)),
    "(exp(-x*z) - exp(-y*z))/(y - x)": ((0.01, 0.9), (0.011, 2.0), (1e-3, 0.5, 1e3)),
    "x**2*exp(x)/(1 + exp(x))**2": ((-1e3, -30.0, -0.7, 1e-9, 2.0, 60.0, 730.0),),
    "exp(2*x)/(1 + exp(x))**2": ((-300.0, -0.7, 1e-9, 2.0, 30.0, 400.0, 1e3),),
    "exp(x - exp(x))": ((-300.0, -0.7, 1e-9, 0.9, 3.0, 730.0, 1e3),),
    "log(2 + exp(x))": ((-300.0, -0.7, 1e-9, 30.0, 730.0),),
    "x*exp(y)/(x*exp(y) + z)": ((1e-3, 2.0), (-720.0, -0.3, 40.0, 730.0), (1e-4, 3.0)),
    "exp(y*x)/(exp(x) + exp(-x))": ((-40.0, 0.3, 720.0), (0.5, -1.5)),
    "(x/y)**3": ((1.3e-180, -5.9, 4.1e170), (-3.3e-175, 3.1e160, 1.1e178)),
    "(exp(x) - 1)/x": ((-1e9, -800.0, -40.0, -2.0, -1e-200, 1e-9, 0.3, 3.0, 50.0, 700.0, 720.0, 5e3, 1e9),),
}


def worst(text: str, axes: tuple[tuple[float, ...], ...], to: str = "numpy") -> tuple[float, object]:
    """The most bits that a partial derivative loses, and where, but for points whose value is no double: a gradient may
    be spoken in it."""
    names = [n for n in ("x", "y", "z") if sympy.Symbol(n) in sympy.sympify(text).free_symbols]
    symbols = sympy.symbols(names, real=True)
    body = sympy.sympify(text, locals=dict(zip(names, symbols, strict=True)))
    slopes = sympy.lambdify(symbols, [sympy.diff(body, s) for s in symbols], "mpmath", cse=True)
    value = sympy.lambdify(symbols, body, "mpmath")
    with mp.workprec(4000):
        at = [p for p in itertools.product(*axes) if abs(value(*map(mpmath.mpf, p))) < 2**1000]
    loaded = sg.load(sg.parse(f"f({', '.join(names)}) = {text}"), to=to)
    with np.errstate(all="ignore"):
        columns = [np.array(c) for c in zip(*at, strict=True)]
        _, saved = loaded.forward(*columns)
        found = loaded.backward(saved, np.ones(len(at)))
    lost = []
    for k, point in enumerate(at):
        with mp.workprec(4000):
            truths = slopes(*map(mpmath.mpf, point))
        lost += [(bits_lost(float(g[k]), t), (point, k)) for g, t in zip(found, truths, strict=True)]
    return max(lost, key=lambda pair: pair[0])


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.long
@pytest.mark.in_turn
def test_nothing_overflows_before_the_gradient_does(text):
    lost, where = worst(text, TEXTS[text])
    assert lost < 5, where


# values where exponentials leave the range of doubles
VALUES = {
    "(exp(x) - 1 - x)/(exp(x) + 1)": {-720.0: 719.0, 1e-9: 2.5e-19, 720.0: 1.0},
    "(sinh(x) - x)/cosh(x)": {-720.0: -1.0, 1e-9: 1e-27 / 6, 720.0: 1.0},
    "log(2 + exp(x))": {-720.0: np.log(2), 1e3: 1e3},
    "cosh(2*x)/cosh(2*x + 1)": {-720.0: np.e, 0.0: 1 / np.cosh(1), 720.0: 1 / np.e},
    "exp(2*x)/(1 + exp(x))**2": {-400.0: 0.0, 720.0: 1.0},
}


@pytest.mark.parametrize("text", VALUES)
def test_a_value_that_is_a_number_is_one(text):
    f = sg.load(sg.parse(f"f(x) = {text}"), to="numpy", check=False)
    with np.errstate(all="ignore"):
        found = [f.forward(np.float64(x))[0] for x in VALUES[text]]
    np.testing.assert_allclose(found, [*VALUES[text].values()], rtol=1e-8, atol=1e-300)


# values that are 0 in floating point where the slope of their logarithm is infinite
GONE = {
    "weibull(x, k, l) = k/l*(x/l)**(k - 1)*exp(-(x/l)**k) for x > 0, k > 0, l > 0": (1e3, 100.0, 1e-3),
    "f(x, n) = exp(-x**n) for x > 0": (10.0, 400.0),
    "gompertz(x, b) = b*exp(b*x - exp(b*x)) for b > 0, x > 0": (100.0, 10.0),
}


@pytest.mark.parametrize("text", GONE)
@pytest.mark.parametrize("to", ["numpy", "c"])
def test_the_slope_of_what_is_gone_is_0(text, to):
    f = sg.load(sg.parse(text), to=to, check=False)
    with np.errstate(all="ignore"):
        out, saved = f.forward(*map(np.float64, GONE[text]))
        assert [float(x) for x in (out, *f.backward(saved, np.float64(1)))] == [0.0] * (1 + len(GONE[text]))


@pytest.mark.parametrize("text", [t for t in LENGTHS if "/" not in t])
def test_at_a_guard_the_gradient_is_what_it_was(text):
    """The form has been changed; the guard of the operator's row still stands, at the origin and on the axes."""
    declared = sg.parse(f"f({', '.join(['x', 'y', 'z'][: len(LENGTHS[text])])}) = {text}")
    at = [np.array(c) for c in zip(*itertools.product((0.0, 2.0, -3.0), repeat=len(LENGTHS[text])), strict=True)]
    found = []
    for stabilize in (True, False):
        f = sg.load(declared, to="numpy", stabilize=stabilize)
        with np.errstate(invalid="raise" if stabilize else "ignore"):
            found.append(np.array(f.backward(f.forward(*at)[1], np.ones(len(at[0])))))
    if text.startswith("sqrt"):  # without a stable form, it is 0/0 at the origin
        assert not found[0][:, 0].any()
        found = [g[:, 1:] for g in found]
    assert np.isfinite(found[0]).all()
    assert np.allclose(*found, rtol=1e-15, atol=0)


# differences of inputs that are rounded, and infinite: value and slopes of log(exp(x) + exp(y))
APART = [
    ((577.1440253728009, -1.1263810322547886e-08), None),
    ((0.00011370570490054348, 543.4861779034077), None),
    ((0.08646909869430364, -533.1691340776854), None),
    ((1e308, -1e308), (1e308, 1, 0)),
    ((-np.inf, 0.0), (0, 0, 1)),
    ((np.inf, 3.0), (np.inf, 1, 0)),
    ((np.inf, np.inf), (np.inf, 0.5, 0.5)),
]

# the same of log(exp(x) + exp(y) + exp(z)) and of four
MORE_APART = [
    ((1e308, -1e308, 0.0), (1e308, 1, 0, 0)),
    ((1e308, -1e308, 1e308), (1e308, 0.5, 0, 0.5)),
    ((-np.inf, 2.0, -np.inf), (2, 0, 1, 0)),
    ((3.0, np.inf, -7.0), (np.inf, 0, 1, 0)),
    ((np.inf, 0.0, 1e308, -np.inf), (np.inf, 1, 0, 0, 0)),
    ((-800.0, -2000.0, 800.0, -1e308), (800, 0, 0, 1, 0)),
]


@pytest.mark.parametrize("to", ["numpy", "c"])
@pytest.mark.parametrize(("point", "expected"), APART)
@pytest.mark.long
@pytest.mark.in_turn
def test_a_difference_of_inputs_loses_nothing(point, expected, to):
    loaded = sg.load(sg.parse("f(x, y) = log(exp(x) + exp(y))"), to=to)
    with np.errstate(all="ignore"):
        out, saved = loaded.forward(*map(np.float64, point))
        grads = loaded.backward(saved, np.float64(1))
    if expected is not None:
        assert (out, *grads) == expected
        return
    with mp.workprec(400):
        x, y = map(mp.mpf, point)
        truths = [1 / (1 + mp.exp(y - x)), 1 / (1 + mp.exp(x - y))]
    assert max(bits_lost(float(g), t) for g, t in zip(grads, truths, strict=True)) < 2


@pytest.mark.parametrize("to", ["numpy", "c"])
@pytest.mark.parametrize(("point", "expected"), MORE_APART)
def test_the_largest_of_several_exponentials_stays_in_the_range(point, expected, to):
    names = "wxyz"[-len(point) :]
    text = f"f({', '.join(names)}) = log({' + '.join(f'exp({n})' for n in names)})"
    loaded = sg.load(sg.parse(text), to=to, check=False)
    with np.errstate(all="ignore"):
        out, saved = loaded.forward(*map(np.float64, point))
        assert (out, *loaded.backward(saved, np.float64(1))) == expected


@pytest.mark.parametrize("to", ["numpy", "c"])
def test_a_form_divides_by_nothing_that_is_zero(to):
    """Over a common denominator the gradient would divide by x, and abs(x)/x is none at 0 where sign(x) is."""
    loaded = sg.load(sg.parse("f(x, w) = sqrt(1 + where(w > 0.5, w, x)**2) - abs(x)"), to=to)
    x, w = np.array([0.0, 0.0]), np.array([0.25, 0.75])
    assert [g.tolist() for g in loaded.backward(loaded.forward(x, w)[1], np.ones(2))] == [[0, 0], [0, 0.6]]


@pytest.mark.parametrize("to", ["numpy", "c"])
@pytest.mark.parametrize("gamma", [0.0, 0.3, 1.0, 2.0])
def test_a_power_of_what_vanishes_has_the_slope_of_its_logarithm(gamma, to):
    """A slope of gamma*s**(gamma - 1) times one of s*(1 - s) is that of gamma*s**gamma: where s is 0, no 0*oo."""
    loaded = sg.load(focal_loss, to=to)
    logits, target = np.array([800.0, -0.5, 3.0]), np.ones(3)
    _, saved = loaded.forward(logits, target, gamma=gamma)
    with mp.workdps(30):
        s = [1 / (1 + mp.exp(x)) for x in logits]
        truths = [-(p**gamma) * (p - gamma * (1 - p) * mp.log1p(-p)) / 3 for p in s]
    np.testing.assert_allclose(loaded.backward(saved)[0], np.array(truths, dtype=float), rtol=1e-13, atol=1e-300)
