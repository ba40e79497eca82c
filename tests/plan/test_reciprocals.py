"""A root that divides several quotients divides once in C."""

import re

import numpy as np
import pytest

import symgrad as sg

ROOT = "sqrt(x + y)"
DIVISIONS = {  # d, and results of x, y, a, b, c and d -> the divisions of forward in C, and what stands there
    (ROOT, "a/d, b/d, c/d"): (1, "a * one_over_d"),
    (ROOT, "exp(a)/d, b/(2*d), c/d"): (1, "b * (one_over_d / 2.0)"),
    (ROOT, "(a + b)/d, 1/d, c/d"): (1, "= one_over_d;"),
    (ROOT, "a/d, b/d, a + b"): (2, "b / d"),  # two are few
    (ROOT, "a/(3*d), b/d, c/d"): (3, "a / (3.0 * d)"),  # 1/3 is rounded
    (ROOT, "x/d, y/d, a*x/d"): (3, "x / d"),  # of a part of the root, as in x/sqrt(x**2 + y**2)
    (ROOT, "x/d, a/d, b/d, c/d"): (2, "x / d"),
    (ROOT, "where(a > 0, a/d, 0), where(b > 0, b/d, 0), where(c > 0, c/d, 0)"): (3, "? a / d"),
    ("cbrt(x)", "a/d, b/d, c/d"): (1, "a * one_over_d"),
    ("hypot(x, y)", "a/d, b/d, c/d"): (3, "a / d"),  # which is as small as x may be
    ("x - y", "a/d, b/d, c/d"): (3, "a / d"),  # 1/d is infinite for 1e-309
    ("1 + x**2", "a/d, b/d, c/d"): (3, "a / d"),  # and has lost digits for 1e308
}


def declared(d, results):
    results = re.split(r", (?![^(]*\))", results)
    lines = [f"f(x, y, a, b, c) -> {', '.join(f'u{k}' for k in range(len(results)))}:", f"    d = {d}"]
    return sg.parse("\n".join([*lines, *(f"    u{k} = {body}" for k, body in enumerate(results))]))


@pytest.mark.parametrize(("of", "expected"), DIVISIONS.items(), ids=map(": ".join, DIVISIONS))
def test_divisions(of, expected):
    divisions, line = expected
    text = sg.generate(declared(*of), to="c", check=False)["f.c"]
    body = re.search(r"\n(?:inline )?void f_forward\([^)]*\)\n\{.*?\n\}\n", text, re.DOTALL)[0]
    assert line in body
    assert len(re.findall(r" / (?!2\.0)", body)) == divisions


def test_entries_of_a_jacobian():
    function = sg.parse("f(x, y, z, a) = a*x/sqrt(z), y**2/sqrt(z)")
    text = sg.generate(function, to="c", functions="jacobian", check=False)["f.c"]
    assert "= x * one_over_sqrt_z;" in text


ENDS = [0.0, -0.0, 5e-324, 1e-160, 1.0, 1e160, 1.7e308, np.inf, np.nan]


def test_values_at_the_ends_of_the_range():
    loaded = sg.load(declared("sqrt(x)", "a/d, 2*a/d, a/(2*d)"), to="c", check=False)
    for x in ENDS:
        for a in [*ENDS, -1.0]:
            with np.errstate(all="ignore"):
                d = np.sqrt(np.float64(x))
                expected = np.array([a / d, 2 * a / d, a / (2 * d)])
            np.testing.assert_allclose(loaded.forward(x, 1.0, a, 1.0, 1.0)[0], expected, rtol=4e-16, atol=5e-324)


def test_the_gradients_of_quotients_by_a_root_are_checked():
    assert sg.check(declared(ROOT, "a/d, b/d, c/d"), to="c").ok
