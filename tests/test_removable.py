"""Functions that are 0/0 at a point: printed, they have their limits there, and so do their derivatives."""

from __future__ import annotations

import re
from dataclasses import replace

import mpmath
import numpy as np
import pytest
from mpmath import mp

import symgrad as sg
from symgrad.expr import ARGUMENT, apply
from symgrad.numerics.removable import filled, rewritten_as
from symgrad.pipeline import printed, verified

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
    "log(sinh(x)/x)": (0, 0, 1 / 3),
    "2*sin(3*x)/(3*x)": (2, 0, -6),
    "sin(sqrt(x))/sqrt(x)": (1, -1 / 6, 1 / 60),
    "cos(sqrt(x))": (1, -1 / 2, 1 / 12),
}
# no Taylor series at 0, or nothing to fill
LEFT = ["abs(x)/x", "sqrt(x**2)/x", "x**2/x", "sin(y)/x + y", "sqrt(x)/x", "1/x", "x*log(x)"]


def declared(body, *inputs):
    return sg.parse(f"f({', '.join(inputs or 'x')}) = {body}")


@pytest.mark.parametrize("body", LIMITS)
@pytest.mark.in_turn
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
@pytest.mark.long
@pytest.mark.in_turn
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
    (text,) = sg.generate(declared(body, *inputs), to="numpy", check=False).values()
    assert "Taylor" not in text


def test_no_stabilize_leaves_the_formula():
    (text,) = sg.generate(declared("sin(x)/x"), to="numpy", stabilize=False, check=False).values()
    assert "np.sin(x) / x" in text
    assert "--no-stabilize" in text


def test_an_argument_may_be_called_as_the_formula_calls_it():
    f = sg.parse("f(x, w) = sin(w*x)/(w*x)")
    code = sg.load(f, to="numpy", check=False)
    out, saved = code.forward(np.array(0.0), np.array(2.0))
    assert (out, *code.backward(saved, np.array(1.0))) == (1, 0, 0)


# formulas in which parts of a quotient have names, at a point where it is 0/0: the point, the value and the slopes
NAMED = {
    "f(t): s = sin(t); out = s/t": ((0,), 1, (0,)),
    "f(t): s = sin(t); out = t/s + s": ((0,), 1, (1,)),
    "f(t, x): s = sin(t); h = s*x*(1 + x*s); out = x*h/t": ((0, 3), 9, (27, 6)),
    "f(t): s = sin(t); c = cos(t); out = (1 - c)/t**2 + s": ((0,), 1 / 2, (1,)),
    "f(r, k) = (atan(r) + k*atan(r)**3)/r": ((0, 2), 1, (0, 0)),
    "f(a, b, k): r = sqrt(a**2 + b**2); d = atan(r); d3 = d*(1 + k*d**2); out = d3/r*a + b": (
        (0, 0, 2), 0, (1, 1, 0),
    ),
    "f(v): a = v/10; b = 1 - exp(-v/10); out = a/b": ((0,), 1, (1 / 20,)),
    "f(c): t = acos(c); out = t/(2*sin(t))": ((1,), 1 / 2, (-1 / 6,)),
    "f(c, y): t = acosh(c); s = sinh(t); out = y*t/s": ((1, 6), 6, (-2, 1)),
    "f(c): t = acos(c); out = (1 - c)/t**2": ((1,), 1 / 2, (1 / 12,)),
}


@pytest.mark.parametrize("to", ["numpy", "c"])
@pytest.mark.parametrize("text", NAMED)
@pytest.mark.in_turn
def test_parts_of_a_quotient_may_have_names(text, to):
    point, value, slopes = NAMED[text]
    code = sg.load(sg.parse(text), to=to)
    out, saved = code.forward(*map(np.float64, point))
    found = [out, *code.backward(saved, np.float64(1))]
    np.testing.assert_allclose(found, [value, *slopes], rtol=1e-13, atol=1e-14)


def test_what_is_read_twice_over_something_is_computed_once():
    f = sg.parse("f(r, k, x) -> a, b: t = atan(r); d = t*(1 + k*t**2); a = d/r*x; b = d/r*k")
    (text,) = sg.generate(f, check=False).values()
    assert "return (d_over_r * x, d_over_r * k), " in text


# the slope in t of a quotient by the other factor of its argument
BY_A_FACTOR = {
    "where(w == 0, t, sin(w*t)/w)": "grad_output * np.cos(w * t)",
    "where(w == 0, t, (exp(w*t) - 1)/w)": "grad_output * np.exp(w * t)",
    "where(w == 0, t, log(1 + w*t)/w)": "grad_output / (1 + w * t)",
    "sin((w - x)*t)/(x - w)": "-grad_output * np.cos((w - x) * t)",
    "where(w == 0, t**2, t*sin(w*t)/w)": "grad_output * t * (np.cos(w * t) + _sin_x_over_x(w * t))",
}


@pytest.mark.parametrize("body", BY_A_FACTOR)
def test_the_slope_in_the_other_factor_is_that_of_the_dividend(body):
    (text,) = sg.generate(declared(body, "w", "t", "x"), "numpy", check=False).values()
    assert f"grad_t = {BY_A_FACTOR[body]}\n" in text


# of e, a and b, whose slope in e is (a + b)*e/6 near e = 0: a sum of functions of a*e and of b*e, each with poles there
APART = [
    "e/tanh(a*e/2)/2 + e/tanh(b*e/2)/2",
    "e*(1/tanh(a*e/2) + 1/tanh(b*e/2))/2",
    "e*(exp((a + b)*e) - 1)/((exp(a*e) - 1)*(exp(b*e) - 1))",
]


@pytest.mark.parametrize("body", APART)
def test_poles_in_two_variables_are_filled_each(body):
    code = sg.load(declared(body, "e", "a", "b"), to="numpy", check=False)
    e, a, b = map(np.float64, (1e-6, 3, 5))
    _, saved = code.forward(e, a, b)
    np.testing.assert_allclose(code.backward(saved, np.float64(1))[0], (a + b) * e / 6, rtol=1e-11)


# of two numbers: the limit where they are equal, and its slope in the first one there
DIVIDED = {
    "(exp(x) - exp(y))/(x - y)": (mp.exp, lambda x: mp.exp(x) / 2),
    "(sin(x) - sin(y))/(x - y)": (mp.cos, lambda x: -mp.sin(x) / 2),
    "(cos(2*y) - cos(2*x))/(y - x)": (lambda x: -2 * mp.sin(2 * x), lambda x: -2 * mp.cos(2 * x)),
    "(sinh(x) - sinh(y))/(y - x)": (lambda x: -mp.cosh(x), lambda x: -mp.sinh(x) / 2),
    "(cosh(x) - cosh(y))/(x - y)": (mp.sinh, lambda x: mp.cosh(x) / 2),
    "(tan(x) - tan(y))/(x - y)": (lambda x: mp.sec(x) ** 2, lambda x: mp.sec(x) ** 2 * mp.tan(x)),
}


@pytest.mark.parametrize("body", DIVIDED)
def test_a_difference_by_that_of_the_arguments(body):
    code = sg.load(declared(body, "x", "y"), to="numpy", check=False)
    x = np.float64(0.75)
    for apart in (0.0, 1e-9):
        out, saved = code.forward(x, x + apart)
        found = [out, *code.backward(saved, np.float64(1))]
        value, slope = (float(f(mp.mpf(0.75) + apart / 2)) for f in DIVIDED[body])
        np.testing.assert_allclose(found, [value, slope, slope], rtol=1e-8)


# of w and t, 0/0 at w = 0 whatever t: the function of u = w*t, up to its sign, that is filled, by its limit and slope
# at u = 0; the power of t that it is multiplied by
OF_PRODUCTS = {
    "sin(w*t)/w": (1, 0, 1),
    "(1 - exp(-w*t))/w": (1, -1 / 2, 1),
    "2*(exp(3*t*w) - 1)/w": (6, 9, 1),
    "log(1 + t*w)/w": (1, -1 / 2, 1),
    "(1 - cos(w*t))/w**2": (1 / 2, 0, 2),
    "(w*t - 1 + exp(-w*t))/w**2": (1 / 2, -1 / 6, 2),
}


@pytest.mark.parametrize("body", OF_PRODUCTS)
def test_a_quotient_by_a_factor_of_an_argument(body):
    """f = t**k * F(w*t) has the slopes t**(k + 1) * F'(w*t) and k*t**(k - 1) * F(w*t) + t**k * w * F'(w*t)."""
    value, slope, k = OF_PRODUCTS[body]
    code = sg.load(declared(body, "w", "t"), to="numpy", check=False)
    for w, rtol in ((0.0, 1e-15), (1e-12, 1e-11)):
        out, saved = code.forward(np.float64(w), np.float64(3))
        grads = code.backward(saved, np.float64(1))
        known = [3.0**k * value, 3.0 ** (k + 1) * slope, k * 3.0 ** (k - 1) * value]
        np.testing.assert_allclose([out, *grads], known, rtol=rtol, atol=rtol * 100)


# of w and t, a multiple of a function of w*t that goes to 0 with it
MULTIPLES = {
    "t - (1 - exp(-w*t))/w": lambda w, t: t - (1 - mp.exp(-w * t)) / w,
    "t - 1/w + exp(-w*t)/w": lambda w, t: t - 1 / w + mp.exp(-w * t) / w,
    "t/w - (1 - exp(-w*t))/w**2": lambda w, t: t / w - (1 - mp.exp(-w * t)) / w**2,
    "2*t - 2*sin(w*t)/w": lambda w, t: 2 * t - 2 * mp.sin(w * t) / w,
    "t*(1 - tanh(w*t)/(w*t))": lambda w, t: t * (1 - mp.tanh(w * t) / (w * t)),
    "1 - exp(-w*t)*(1 + w*t)": lambda w, t: 1 - mp.exp(-w * t) * (1 + w * t),
}


@pytest.mark.parametrize("body", MULTIPLES)
def test_a_multiple_that_cancels_keeps_its_digits(body):
    code = sg.load(declared(body, "w", "t"), to="numpy", check=False)
    for w in (1e-9, 0.3, 40.0):
        out, saved = code.forward(np.float64(w), np.float64(3))
        found = [out, *code.backward(saved, np.float64(1))]
        with mp.workdps(60):
            function, at = MULTIPLES[body], (mp.mpf(w), mp.mpf(3))
            known = [function(*at), *(mp.diff(function, at, n, h=mp.mpf(10) ** -20) for n in ((1, 0), (0, 1)))]
        np.testing.assert_allclose(found, [float(k) for k in known], rtol=1e-13)


# formula: where it loses its digits as it is written, the formula in mpmath, and on which sides of the point it is one
POINTS = {
    "2*acos(w)/sqrt(1 - w**2)": (1, lambda w: 2 * mp.acos(w) / mp.sqrt(1 - w**2), (-1,)),
    "acos(-w)/sqrt(1 - w**2)": (-1, lambda w: mp.acos(-w) / mp.sqrt(1 - w**2), (1,)),
    "acosh(w)/sqrt(w**2 - 1)": (1, lambda w: mp.acosh(w) / mp.sqrt(w**2 - 1), (1,)),
    "log(w)/(w - 1)": (1, lambda w: mp.log(w) / (w - 1), (-1, 1)),
    "w*log(w)/(1 - w**2)": (1, lambda w: w * mp.log(w) / (1 - w**2), (-1, 1)),
    "log(w/(1 - w))/(2*w - 1)": (0.5, lambda w: mp.log(w / (1 - w)) / (2 * w - 1), (-1, 1)),
    "sin(pi*w)/(1 - w)": (1, lambda w: mp.sin(mp.pi * w) / (1 - w), (-1, 1)),
    "1/log(w) - 1/(w - 1)": (1, lambda w: 1 / mp.log(w) - 1 / (w - 1), (-1, 1)),
    "w*log(w) - w + 1": (1, lambda w: w * mp.log(w) - w + 1, (-1, 1)),
    "w - 1 - log(w)": (1, lambda w: w - 1 - mp.log(w), (-1, 1)),
    "exp(w) - 1 - w": (0, lambda w: mp.exp(w) - 1 - w, (-1, 1)),
    "expm1(w) - w*exp(w)": (0, lambda w: mp.expm1(w) - w * mp.exp(w), (-1, 1)),
    "w - tanh(w)": (0, lambda w: w - mp.tanh(w), (-1, 1)),
    "tanh(w) - w + w**3/3": (0, lambda w: mp.tanh(w) - w + w**3 / 3, (-1, 1)),
    "sin(w)/w - cos(w)": (0, lambda w: mp.sin(w) / w - mp.cos(w), (-1, 1)),
    "1 - cos(w)": (0, lambda w: 1 - mp.cos(w), (-1, 1)),
    "cosh(w) - 1": (0, lambda w: mp.cosh(w) - 1, (-1, 1)),
    "where(w < 2, exp(w) - 1 - w, w)": (0, lambda w: mp.exp(w) - 1 - w, (-1, 1)),
}
# sums that lose nothing, or nothing that a series of one number could mend
PLAIN = ["sin(x) + cos(x)", "1 - x**2", "x - 1 + log(x)", "x - y", "exp(x) - y*x - 1", "y + 1 - cos(x)", "exp(x) - x"]


def taylor(function, point, sides):
    """The first coefficients at the point, by differences at some hundred digits."""
    h, (side, *_) = mp.mpf(10) ** -30, sides
    with mp.workdps(400):
        steps = [side * h * n for n in range(1, 7)]
        rows = mp.matrix([[s**k for k in range(6)] for s in steps])
        return [+c for c in mp.lu_solve(rows, mp.matrix([function(mp.mpf(point) + s) for s in steps]))]


def truth(function, point, sides, at):
    """The value, slope and second derivative at a double, to some sixty digits."""
    c, off = taylor(function, point, sides), mp.mpf(at) - point
    if abs(off) < mp.mpf(10) ** -9:
        return [sum(c[n] * mp.ff(n, k) * off ** (n - k) for n in range(k, 6)) for k in range(3)]
    with mp.workdps(120):
        h = mp.mpf(10) ** -30
        below, here, above = (function(mp.mpf(at) + s) for s in (-h, 0, h))
        return [+here, (above - below) / (2 * h), (above - 2 * here + below) / h**2]


@pytest.mark.parametrize("to", ["numpy", "c"])
@pytest.mark.parametrize("body", POINTS)
@pytest.mark.in_turn
def test_digits_near_a_point(body, to):
    """At the point, as near to it as doubles are, and on both sides of where the series takes over."""
    point, function, sides = POINTS[body]
    f = declared(body, "w")
    code = sg.load(f, to=to, check=False)
    again = sg.load(sg.vjp(f).function, to=to, check=False)
    offs = [s * d for s in sides for d in (2.0**-50, 1e-12, 1e-9, 1e-5, 1e-3, 0.02, 0.1, 0.2, 0.3)]
    w = np.array([point, *(point + d for d in offs)], float)
    out, saved = code.forward(w)
    (grad,) = code.backward(saved, np.ones_like(w))
    _, saved = again.forward(w, np.ones_like(w))
    curved, _ = again.backward(saved, (np.zeros_like(w), np.ones_like(w)))[:2]
    with mp.workdps(60):
        for at, *found in zip(w, out, grad, curved, strict=True):
            for k, (value, true) in enumerate(zip(found, truth(function, point, sides, float(at)), strict=True)):
                allowed = (64, 1024, 2**15)[k] * mpmath.ldexp(1, -52)
                assert abs(value - true) <= allowed * max(abs(true), mpmath.mpf("1e-60")), (k, at, value, true)


@pytest.mark.parametrize("to", ["numpy", "c"])
@pytest.mark.parametrize("body", POINTS)
@pytest.mark.long
@pytest.mark.in_turn
def test_the_check_agrees_near_a_point(body, to):
    report = sg.check(declared(body, "w"), to=to)
    assert report.ok, str(report)


@pytest.mark.parametrize("body", PLAIN)
def test_a_sum_that_loses_nothing_is_left_alone(body):
    inputs = sorted(set(re.findall(r"\b[xy]\b", body)))
    (text,) = sg.generate(declared(body, *inputs), to="numpy", check=False).values()
    assert "Taylor" not in text


def test_what_cancels_in_a_gradient_only():
    """The slope of celu in its scale is one of x/a: near 0, and where the quotient overflows."""
    code = sg.load(declared("where(x > 0, x, a*(exp(x/a) - 1))", "x", "a"), to="c", check=False)
    x, a = -np.geomspace(1e-12, 40, 60), np.linspace(0.5, 2, 60)
    _, saved = code.forward(x, a)
    _, grad = code.backward(saved, np.ones_like(x))
    with mp.workdps(60):
        z = [mp.mpf(float(p)) / mp.mpf(float(q)) for p, q in zip(x, a, strict=True)]
        true = np.array([float(mp.expm1(t) - t * mp.exp(t)) for t in z])
    np.testing.assert_allclose(grad, true, rtol=2e-15)
    _, saved = code.forward(np.array([-1e300]), np.array([1e-300]))
    assert code.backward(saved, np.ones(1))[1] == -1


def test_the_text_away_from_a_point_keeps_digits_at_the_other_pole():
    code = sg.load(declared("2*acos(w)/sqrt(1 - w**2)", "w"), to="numpy", check=False)
    w = np.nextafter(-1, 0)
    out, _ = code.forward(w)
    with mp.workdps(60):
        true = 2 * mp.acos(mp.mpf(float(w))) / mp.sqrt(1 - mp.mpf(float(w)) ** 2)
        assert abs(out - true) <= 4e-16 * true


@pytest.mark.parametrize("to", ["numpy", "c"])
def test_a_wrong_coefficient_at_a_point_is_found(to):
    f = declared("log(w)/(w - 1)", "w")
    result = printed(f, to)
    wrong = {p: re.sub(r"(u \* 2(?:\.0)? / )3(?:\.0)?", r"\g<1>3.001", t) for p, t in result.files.items()}
    assert wrong != result.files
    report = verified(f, replace(result, files=wrong), result.load())
    assert not report.ok
    assert "series" in str(report)


# gradients whose parts leave the range of floating point where they do not: the slope in mpmath, and where
FAR = {
    "(exp(x) - 1)/x": (lambda x: (mp.exp(x) * (x - 1) + 1) / x**2, [712, 714.25, 720, 1e294, -800, -3000, -1e100]),
    "(x - sin(x))/x**3": (lambda x: (3 * mp.sin(x) - x * mp.cos(x) - 2 * x) / x**4, [1e60, -3e80, 1e100]),
    "x**3/(exp(x) - 1)": (
        lambda x: -(x**2) * (x - 3 + 3 * mp.exp(-x)) / (mp.expm1(x) * -mp.expm1(-x)),
        [708, 712, 740, 751.2, 1e10, -800, -1e90],
    ),
    "1/tanh(x) - 1/x": (lambda x: 1 / x**2 - mp.csch(x) ** 2, [300, -750, 1e158, -1e170]),
}


@pytest.mark.parametrize("to", ["numpy", "c"])
@pytest.mark.parametrize("body", FAR)
def test_the_slope_is_a_number_as_far_as_it_is_one(body, to):
    slope, at = FAR[body]
    x = np.array(at, float)
    code = sg.load(declared(body), to=to, check=False)
    with np.errstate(over="ignore"):
        _, saved = code.forward(x)
        (grad,) = code.backward(saved, np.ones_like(x))
    with mp.workdps(400):
        true = np.array([float(slope(mp.mpf(v))) for v in at])
    np.testing.assert_allclose(grad, true, rtol=2e-14, atol=1e-323)


@pytest.mark.parametrize("to", ["numpy", "c"])
@pytest.mark.parametrize(
    "body, rounded, value, beyond",
    [
        ("acos(x)/sqrt(1 - x**2)", 1 + 1e-9, 1 - 1e-9 / 3, 1.5),
        ("sin(sqrt(x))/sqrt(x)", -1e-9, 1 + 1e-9 / 6, -5),
    ],
)
def test_beyond_the_end_of_a_root_the_function_goes_on_as_far_as_rounding_gets(body, rounded, value, beyond, to):
    """A number beside the point may be there by rounding alone; one far from it is none of the formula."""
    code = sg.load(declared(body), to=to, check=False)
    with np.errstate(invalid="ignore"):
        out, saved = code.forward(np.array([rounded, beyond]))
        (grad,) = code.backward(saved, np.ones(2))
    assert abs(out[0] - value) < 1e-15 and np.isfinite(grad[0])
    assert np.isnan([out[1], grad[1]]).all()


def test_another_formula_of_the_same_name_changes_no_text():
    before = printed(declared("sin(x)/x"), "numpy").files
    op = filled(apply("sin", ARGUMENT) / ARGUMENT)
    assert rewritten_as(op, apply("sin", ARGUMENT) * (1 / ARGUMENT)) != op
    assert printed(declared("sin(x)/x"), "numpy").files == before


@pytest.mark.parametrize("body", ["sigmoid(0.5/(1 + x**2))", "exp(-1/x**2)/x", "(exp(-1/x**2) + sin(x))/x"])
def test_a_function_that_is_flat_at_a_point_is_not_its_series(body):
    f = declared(body)
    result = printed(f, "numpy")
    assert verified(f, result, result.load()).ok


# formula: whether the slope of cos(r) has a value at r = 0 of its own
DIVIDING = {
    "f(x, y): r = sqrt(x**2 + y**2); out = x/r*cos(r)": False,
    "f(x, y): r = sqrt(x**2 + y**2); out = cos(r)*(x + y/r)": False,
    "f(x, y): r = sqrt(x**2 + y**2); out = x*cos(r)": True,
    "f(x, y): r = sqrt(x**2 + y**2); out = where(r > 0, x/r, 0)*cos(r)": False,  # it is asked for where r > 0 alone
    "f(x, y): r = sqrt(x**2 + y**2); a = x/r; b = cos(r)": True,
    "f(x, y): r = sqrt(x**2 + y**2); out = x*cos(r) - y*sin(r)/r": True,
}


@pytest.mark.parametrize("text", DIVIDING)
@pytest.mark.in_turn
def test_what_everything_divides_by_has_no_series(text):
    f = sg.parse(text)
    (printed_text,) = dict(sg.generate(f, to="numpy", check=False)).values()
    assert ("def _sin_sqrt_x_over_sqrt_x" in printed_text) == DIVIDING[text]
    assert sg.check(f, to="c").ok
