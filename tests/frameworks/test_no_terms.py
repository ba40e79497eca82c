"""A logsumexp of no terms is -oo in torch and JAX, too."""

from __future__ import annotations

import numpy as np
import pytest

import symgrad as sg

FORMULAS = [
    "f(x[n])[i:n] = x[i] + logsumexp[k:n-1](0.5)",
    "f(x[n])[i:n] = x[i] + logsumexp[k:n-1](x[k])",
    "f(x[n], y[n])[i] = log(sum[k:n-1](exp(x[k] + y[i])))",
]


@pytest.mark.parametrize("to", ["torch", "jax"])
@pytest.mark.parametrize("text", FORMULAS)
def test_a_logsumexp_of_no_terms(text, to):
    function = sg.parse(text)
    assert sg.check(function, to).ok
    out, _ = sg.load(function, to).forward(*(np.array([2.0]) for _ in function.inputs))
    assert np.array_equal(np.asarray(out), [-np.inf])


@pytest.mark.parametrize("to", ["torch", "jax"])
def test_a_logsumexp_of_infinite_terms(to):
    x = np.array([[-np.inf, -np.inf], [np.inf, 1], [-np.inf, 1], [np.nan, 1]])
    out, _ = sg.load(sg.parse("f(x[n,m])[i] = logsumexp[j](x[i,j])"), to, check=False).forward(x)
    np.testing.assert_array_equal(np.asarray(out), [-np.inf, np.inf, 1, np.nan])
