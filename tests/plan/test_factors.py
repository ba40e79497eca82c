"""What a row has in common is multiplied before its elements are."""

import pytest

import symgrad as sg

PRODUCTS = {  # of `f(x[n,m], s[n], t, u[m])[i,j]`: the formula -> what forward has for it in NumPy
    "t*x[i,j]/s[i]": "(t / s)[:, None] * x",
    "s[i]*x[i,j]/t": "(s / t)[:, None] * x",
    "x[i,j]*t/s[i]/(1 + t)": "(t / (1 + t) / s)[:, None] * x",
    "exp(s[i]*x[i,j]/t)": "np.exp((s / t)[:, None] * x)",
    "s[i]*x[i,j]/u[j]": "s[:, None] / u * x",
    "x[i,j]/s[i]": "x / s[:, None]",  # a reciprocal is rounded too
    "2*x[i,j]/s[i]": "2 * x / s[:, None]",
    "x[i,j] + x[i,j]*t/s[i]": "((t + s) / s)[:, None] * x",  # terms that cancel are one
    "x[i,j]*t*s[i]": "x * t * s[:, None]",
}


@pytest.mark.parametrize(("formula", "text"), PRODUCTS.items(), ids=PRODUCTS)
def test_factors_of_a_row_come_first(formula, text):
    function = sg.parse(f"f(x[n,m], s[n], t, u[m])[i,j] = {formula}")
    assert text in sg.generate(function, to="numpy", check=False)["f_numpy.py"]
