"""The Jacobian as it is displayed: the equations of the function that computes it, tested in test_derived.py."""

from __future__ import annotations

import re

import pytest
from mathematics import as_function

import symgrad as sg
from symgrad import library
from symgrad.differentiate import differentiate
from symgrad.errors import UnsupportedError
from symgrad.ir import show_equations

SHOWN = {  # formula text: what is displayed of its Jacobian
    "f(x[n])[i] = exp(x[i])/sum[j](exp(x[j]))": """
        d out[i] / d x[i] = out[i]
        d out[i] / d x[j] += -out[j] * out[i]""",
    "f(x[n])[i:n-1] = x[i+1]**2 - x[i]": """
        d out[i] / d x[i + 1] = 2 * x[i + 1]
        d out[i] / d x[i] = -1""",
    "f(x[...,n], w[n])[...,i] = x[...,i]*w[i]": """
        d out[...,i] / d x[...,i] = w[i]
        d out[...,i] / d w[i] = x[..., i]""",
    "f(x[n], t[m]: int)[e] = where(t[e] >= 0, x[t[e]]**2, 0)": """
        d out[e] / d x[t[e]] = 2 * x[t[e]]  where t[e] >= 0""",
    "f(x[n], b[n]?)[i] = x[i]**2 + b[i]": """
        d out[i] / d x[i] = 2 * x[i]
        d out[i] / d b[i] = 1  when b is given""",
    "f(x[n]) -> h: h[0] = x[0]; h[t+1] = 0.5*h[t] + x[t]**2": """
        d h[i] / d x[t] = 2 * h_by_h[i, t + 1] * x[t]
        d h[i] / d x[0] += h_by_h[i, 0]
        h_by_h[i,i] = 1
        h_by_h[i,t] += 0.5 * h_by_h[i, t + 1]""",
    "f(x[n], y[n])[i] = sign(x[i])*y[i]": """
        d out[i] / d y[i] = sign(x[i])""",
}


@pytest.mark.parametrize("text", SHOWN)
def test_elements_are_displayed_where_they_stand(text):
    lines = ["Jacobian of f", *(line.strip() for line in SHOWN[text].strip().splitlines())]
    shown = sg.jacobian(sg.parse(text))
    assert str(shown) == "\n    ".join(lines)
    assert shown.latex().count(r"\frac{\partial") == str(shown).count(" / d ")


@pytest.mark.parametrize("text", ["f(A[n,n], b[n])[i] = solve(A, b)[i]"])
def test_through_a_function_of_matrices_there_are_no_elements(text):
    with pytest.raises(UnsupportedError, match=r"has no equation for each of its elements.*sg\.vjp, sg\.jvp"):
        sg.jacobian(sg.parse(text))


@pytest.mark.parametrize("name", library.__all__)
def test_latex_adds_where_text_does(name: str) -> None:
    function = as_function(getattr(library, name))
    for equations, latex in [
        (function.statements, function.latex()),
        (differentiate(function).equations, differentiate(function).latex()),
    ]:
        text = show_equations(equations, function.facts)
        assert latex.count(r"\mathrel{+}=") == sum(" += " in line for line in text)


def test_the_number_of_points_is_shown():
    """Of each point; an explanation takes all of them, where a formula has their number."""
    assert str(sg.hessian("f(x[...]) = mean[...](x[...]**3)")) == "Matrix([[6*x/size(...)]])"
    text = str(sg.explain("f(x[...])[...] = x[...]**2/size(...)", {"x": [1, 2]}, only=("jacobian", "numbers")))
    assert "d out[...]   2 * x[...] / size(...)" in text and "out = [0.5, 2]" in text


def test_no_quotient_of_0_is_displayed():
    """The gradient of x is over x, and so are the cotangents of other components, until they are 0."""
    function = sg.parse("f(x, y) = (x**2*y, sin(x*y)/x, exp(x) + y)")
    text = sg.generate(function, check=False)["f_numpy.py"]
    assert re.search(r"\[ 2 \* x \* y +x\*\*2 +\]", text)
    assert re.search(r"\[ exp\(x\) +1 +\]", text)
    assert str(sg.jacobian(function)[0]) == "2*x*y"
