"""What an equation is made of: parts of it, where its indices run, and what is left of it without axes."""

from __future__ import annotations

import pytest

import symgrad as sg
from symgrad.expr import index
from symgrad.ir import Dropped, show_equation, spans


def only(text):
    function = sg.parse(text)
    return function, function.statements[-1]


@pytest.mark.parametrize(
    ("text", "along"),
    [
        ("f(x[n,m])[i,j] = x[i,j]", True),
        ("f(x[n,m])[i:m,j:n] = x[j,i]", True),
        ("f(x[n,m])[i:n-1,j:m] = x[i,j]", False),
        ("f(x[n,n])[i] = x[i,i]", False),
        ("f(x[n,m])[j] = x[0,j]", False),
    ],
)
def test_whether_indices_run_along_all_axes(text, along):
    function, e = only(text)
    assert spans(e.body.subscripts, function.table["x"].shape, dict(e.box)) is along


def test_a_part_has_an_axis_for_each_index_that_it_mentions():
    _, e = only("f(x[n], y[n,m])[i,j] = exp(x[i])*y[i,j]")
    tensor, equation, element = e.part("e", e.body.args[0])
    assert (show_equation(equation), str(element), len(tensor.shape)) == ("e[i] = exp(x[i])", "e[i]", 1)


def test_what_is_left_without_axes():
    function, e = only("f(x[n,m], w[m])[i,j] = x[i,j]*w[j]")
    one = Dropped({"x": (0,), "out": (0,)}, {index("i")})
    assert show_equation(one.equation(e)) == "out[j] = x[j] * w[j]"
    assert one.tensor(function.table["x"]).shape == function.table["w"].shape
