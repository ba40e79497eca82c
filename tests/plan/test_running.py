"""Sums up to each place, and from each on, are computed in one pass."""

from __future__ import annotations

import numpy as np
import pytest

import symgrad as sg

FORMULAS = {  # a line of NumPy that each has, forward or backward
    "f(x[n])[i:n] = sum[j](where(j <= i, sin(x[j]), 0))": "out = np.cumsum(np.sin(x))",
    "f(x[n])[i:n] = sum[j](where(i <= j, x[j], 0))": "grad_x = np.cumsum(grad_output)",
    "f(x[n,m])[i:n,k:m] = sum[j](where(j <= i, x[j,k]**2, 0))": "out = np.cumsum(x**2, axis=0)",
    "f(x[n,m], y[n])[i:n] = -sum[j,k](where(j < i, x[j,k]*y[j], 0))": "np.cumsum(y * x.sum(axis=1))[:-1]",
    "f(x[n], w[n])[i:n] = sum[j](where(j > i, x[j]*w[i], 0))": "np.cumsum(grad_output * w)",
    "f(x[n,m])[i:n,j:m] = sum[k,l](where((k <= i) & (l <= j), x[k,l], 0))": (
        "np.cumsum(np.cumsum(x, axis=0), axis=1)"
    ),
    "f(x[n], t[n]: int)[i:n] = sum[j](where((j <= i) & (t[j] > 0), x[j]*t[i], 0))": "np.cumsum(np.where(t > 0",
}
NOTHING = {  # a sum of nothing is 0, whatever it is multiplied by
    "beside": "f(x[n], y[n])[i:n] = sum[j](where(j < i, x[j]*log(y[i]), 0)) for y >= 0",
    "under a mask": "f(x[n], y[n], t[n]: bool)[i:n] = sum[j](where((j <= i) & t[j], x[j]*log(y[i]), 0)) for y >= 0",
}
TRIANGLES = {  # what stays one, as what is summed has no value at all places, or both indices
    "the last place has no value, and is not asked for": "f(x[n])[i:n] = sum[j](where(j < i, log(x[j]), 0))",
    "the last place has no element": "f(x[n])[i:n] = sum[j:n](where(j < i, x[j+1], 0))",
    "no place is asked for that has an element": "f(x[n,m])[i:n] = sum[j](where((j >= i) & (i > 1), x[j,0], 0))",
    "both indices": "f(w[n,n], x[n])[i] = sum[j](where(j <= i, w[i,j]*x[j], 0))",
    "other extents": "f(x[n], y[m])[i:m] = sum[j](where(j <= i, x[j], 0))*y[i]",
    "integers": "f(t[n]: int, x[n])[i:n] = x[i]*sum[j](where(j <= i, t[j], 0))",
}


@pytest.mark.parametrize("text", FORMULAS)
def test_numpy_has_one_call(text):
    (file,) = sg.generate(sg.parse(text), to="numpy", check=False).values()
    assert FORMULAS[text] in file


@pytest.mark.parametrize("text", FORMULAS)
@pytest.mark.parametrize("to", ["numpy", "c"])
def test_is_right(text, to):
    report = sg.check(sg.parse(text), to=to)
    assert report.ok, report


@pytest.mark.parametrize("name", TRIANGLES)
@pytest.mark.parametrize("to", ["numpy", "c"])
def test_what_stays_a_triangle_is_right(name, to):
    report = sg.check(sg.parse(TRIANGLES[name]), to=to)
    assert report.ok, report


@pytest.mark.parametrize("name", NOTHING)
def test_of_nothing_it_is_0(name):
    f = sg.load(sg.parse(NOTHING[name]), to="numpy", check=False)
    x, y = np.array([2.0, 3.0]), np.array([0.0, 1.0])
    masks = () if name == "beside" else (np.array([False, True]),)
    with np.errstate(all="ignore"):
        out, _ = f.forward(x, y, *masks)
    assert list(out) == [0.0, 0.0]
