"""Formulas drawn at random, printed in NumPy and C and checked by the oracle.

A few short ones, the same each time; docs/make_hunted.py draws others, as many as are asked, of up to 60 operations.
What fails becomes a row of tests/formulas.py.
"""

from __future__ import annotations

import pytest
from mathematics import both
from random_formulas import affine, compositions, disagreement, hunt, programs, scalars, tensors

pytestmark = pytest.mark.long

KINDS = {
    "statements": (tensors, 40), "scalars": (lambda: scalars(12), 20), "affine subscripts": (affine, 25),
    "compositions": (compositions, 20), "programs": (programs, 20),
}  # fmt: skip


@both
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.in_turn
def test_random_formulas_agree_with_the_oracle(kind, to):
    strategy, count = KINDS[kind]
    hunt(strategy(), to, count)


FOUND = [  # what was wrong
    "f(x[n])[i:n] = where(i > 0, where(x[i-1] > 0, log(x[i-1]), x[i]), 0)",
    "f(x[n,m], z[n])[i:n] = sum[s:3](z[i]*where(s%2 == 0, z[s], x[i,0]))",
    "f(x[n,m], y[m])[i:2] = where(i > 0, i == 1, maximum(y[2*i], x[n-1,m-1-3*i]))",
    "f(x[n,m])[i:2,j:n] = where(i == 1, x[n-1-j,m-1], x[n-1-i,m-1-3*i])",
    "f(x[n,m], y[m])[i:2,j:n] = where(i == 1, x[n-1-j,2*i], y[m-1-3*i])",
    "f(x[n,m])[i:n,j:3] = where(i > 0, x[2*j+1,j], x[3*j,2*j+1])",
    "f(x[n,m])[i:m,j:2] = where(j == 1, x[2*j,i] - x[3*j,i], where(i > 0, x[j,1], 0.5))",
    "f(x) = x*sigmoid(log(sqrt(x)))**2",
    "f(x, y) = atan2(x, -y)",
    "f(x, y) -> a, b: s = x**-2; a = atan2(y, cosh(cosh(cosh(s**2)))); b = y",
    "f(x[n,m], y[m])[i:m,j:2] = where(i > 0, x[j,i], y[i])",
    "f(x[n,m], w)[i:3] = maximum(w, mean[r:n](x[3*i,0]))",
    "f(x, z) = log(softplus(z)**2 + 1)**sigmoid(sqrt(x) + z)**2",
    "f(x, y) = 1/tanh(cosh((sqrt(sinh(log(1 + exp(x))))*(log(2 - cos(y**3)) + 1 - cos(x)))**-2))**2",
    "f(x, y) = logaddexp(where(x > y, x, log(sqrt(x)**2 + 1)), x)",
    "f(x[n], w[k], t[n]: int): s[0] = 1; s[i+1] = where(t[i] != -100, s[i]*w[t[i]]*x[i], s[i]); out = s[n]",
]


@both
@pytest.mark.parametrize("text", FOUND)
@pytest.mark.in_turn
def test_what_was_found_agrees(text, to):
    assert disagreement(text, to) == ""


@both
def test_what_is_added_up_for_a_step_begins_anew_in_each_segment(to):
    text = """f(x[n,k], t[n]: int): s[0,j] = 0.5; s[i+1,j] = tanh(s[i,j])*x[i,j]; h[i,j] = s[i+1,j]
        out = cross_entropy(h, t)"""
    assert disagreement(text, to, checkpoint="sqrt") == ""
