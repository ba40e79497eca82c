"""Formulas drawn at random, printed in torch and JAX and checked by the oracle; see tests/test_random_formulas.py."""

from __future__ import annotations

import pytest
from random_formulas import affine, compositions, disagreement, hunt, scalars, tensors

KINDS = {
    "statements": tensors, "scalars": lambda: scalars(8), "affine subscripts": affine, "compositions": compositions
}  # fmt: skip


@pytest.mark.parametrize("to", ["torch", "jax"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore")  # of the framework, where a value overflows
def test_random_formulas_agree_with_the_oracle(kind, to, torch, jax):
    hunt(KINDS[kind](), to, 4)


FOUND = [  # what was drawn and was wrong
    ("torch", "f(x[n,m], z[n])[i:3] = sum[s:n](x[n-1-s,3*i]) + z[0]"),
    ("torch", "f(x[n,m])[i:m] = where(i > 0, x[n-1,m-1-i], x[1,m-1-i])"),
    (
        "torch",
        "f(z[n], w) -> h: q[i:2,j:3] = sigmoid(z[j+3*i]); h[a:8,j:3] = w; h[3*i+2,j] += q[i,j] + z[n-1-(2*j+3*i)]",
    ),
    ("torch", "f(x[n,m], y[m])[i:2] = where(i > 0, i == 1, maximum(y[2*i], x[n-1,m-1-3*i]))"),
    ("torch", "f(x[n,m], y[m])[i:2,j:n] = where(i == 1, x[n-1-j,2*i], y[m-1-3*i])"),
    ("torch", "f(x[n,m], y[m])[i:m,j:2] = where(i > 0, x[j,i], y[i])"),
    ("torch", "f(x[n])[i] = x[i] > 0"),
    ("torch", "f(x) = abs(log(1 + x)) - x"),
    ("torch", "f(y, z) = log((z**2 - cbrt(1/(1 + exp(-y))))**2 + 1)"),
    ("torch", "f(x, y) = where(x > y, x, 1/(where(x > y, 1, y) - y))"),
    ("torch", "f(x) = x*log1p(sigmoid(2))"),
    ("jax", "f(x) = x*sigmoid(2) + x*erfcx(1)"),
    ("jax", "f(x) = x*log(softplus(2))"),
]


@pytest.mark.parametrize(("to", "text"), FOUND)
def test_what_was_found_agrees(text, to, torch, jax):
    assert disagreement(text, to) == ""
