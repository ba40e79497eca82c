"""Functions by others that C computes anyway."""

import math

import mpmath
import pytest

import symgrad as sg

FORMS = {  # formula -> target, and what stands there
    "f(x) = sin(x), cos(x), 1 - cos(x)": ("c", "sin_x * sin_x / (1.0 + cos_x) : 1.0 - cos_x"),
    "f(x) = 1 - cos(x)": ("c", "sin(x / 2.0)"),  # one call, not two
    "f(x) = sin(x), cos(x) + 0, 1 - cos(x)": ("numpy", "np.sin(x / 2)"),  # where(...) computes both branches
}


@pytest.mark.parametrize(("formula", "expected"), FORMS.items(), ids=FORMS)
def test_form(formula, expected):
    to, line = expected
    files = sg.generate(sg.parse(formula), to=to, check=False)
    assert any(line in text for text in files.values())


ANGLES = [1e-200, 1e-8, -0.3, 1.5, math.pi / 2, math.nextafter(math.pi / 2, 2), 1.6, 3.1, math.pi, 6.28318, 1e5]


@pytest.mark.parametrize("x", ANGLES)
def test_versine_keeps_its_digits(x):
    (_, _, found), _ = sg.load(sg.parse("f(x) = sin(x), cos(x), 1 - cos(x)"), to="c", check=False).forward(x)
    with mpmath.workprec(1500):
        exact = 2 * mpmath.sin(mpmath.mpf(x) / 2) ** 2
        assert abs(found - exact) <= 4 * 2.0**-52 * exact + 5e-324
