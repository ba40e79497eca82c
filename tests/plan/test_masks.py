"""A scalar that is read under its own condition alone is computed on none; any other one keeps its condition."""

import re

import pytest

import symgrad as sg

MASKED = "f(x[n], m[n]: bool, s): "
SOME = "0 <= t[i] < n"
FORMULAS = {  # formula -> the condition, and how often forward asks for it
    f"{MASKED}z[i] = where(m[i], x[i]/s, 0); out = sum[i](where(m[i], z[i]**2*exp(z[i]), 0))": ("m[i] ?", 1),
    f"{MASKED}a[i] = x[i]/s; b[i] = exp(a[i]); c[i] = a[i]*b[i]; out[i] = where(m[i], c[i] + b[i], 0)": ("m[i] ?", 1),
    f"{MASKED}z[i] = where(m[i] and x[i] > 0, log(x[i]), 0); out[i] = where(m[i], z[i]*exp(z[i]), 0)": ("m[i]", 2),
    f"{MASKED}z[i] = where(m[i], x[i]/s, 0); out[i] = where(m[i], z[i]**2*exp(z[i]), 0) + z[i]**3": ("m[i] ?", 2),
    f"f(x[n], t[n]: int): v[i] = where({SOME}, x[t[i]], 0); out[i] = where({SOME}, v[i]*exp(v[i]), 0)": ("_t)n", 1),
    f"{MASKED}z[i] = where(not m[i], x[i]/s, 0); out[i] = where(m[i], 0, z[i]*exp(z[i]))": ("m[i] ?", 1),
}


@pytest.mark.parametrize(("formula", "expected"), FORMULAS.items(), ids=FORMULAS)
def test_conditions(formula, expected):
    asked, times = expected
    text = sg.generate(sg.parse(formula), to="c", check=False)["f.c"]
    forward = text[text.index("f_forward(") : text.index("f_backward(")].partition("for (size_t i")[2]
    assert forward.count(asked) == times, forward


def test_a_branch_does_not_ask_again():
    text = (
        "pid(r[n], y[n], p, d, most): e[i] = r[i] - y[i]; "
        "u[i] = clip(p*e[i] + where(i > 0, d*(e[i] - e[i-1]), 0), -most, most)"
    )
    backward = sg.generate(sg.parse(text), to="c", check=False)["pid.c"].partition("pid_backward(")[2]
    asked = re.search(r"if \((.* && .*)\) \{\n(.*)\n", backward)
    assert asked is not None, backward
    assert asked[1] not in asked[2]
