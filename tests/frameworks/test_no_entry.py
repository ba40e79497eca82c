"""Rows in which nothing counts, in torch and JAX: the values are those of their own operators, too."""

from __future__ import annotations

import numpy as np
import pytest
from no_entry import NO_ENTRY, SCORES, SHARES, TOTALS

import symgrad as sg


@pytest.mark.parametrize("to", ["torch", "jax"])
@pytest.mark.parametrize("name", NO_ENTRY)
def test_value_and_gradient(name, to):
    function, inputs, expected, gradient = NO_ENTRY[name]
    code = sg.load(function, to, check=False)
    out, saved = code.forward(*inputs)
    np.testing.assert_allclose(np.asarray(out), expected, rtol=1e-15)
    if gradient is not None:
        found = code.backward(saved, np.ones_like(np.asarray(out)))[0]
        np.testing.assert_allclose(np.asarray(found), gradient, rtol=1e-15, atol=1e-15)


def test_torch_says_so(torch):
    x = torch.tensor(SCORES)
    np.testing.assert_allclose(torch.softmax(x, 1), SHARES, rtol=1e-15)
    np.testing.assert_allclose(torch.logsumexp(x, 1), TOTALS, rtol=1e-15)


def test_jax_says_so(jax):
    np.testing.assert_allclose(jax.nn.softmax(SCORES, 1), SHARES, rtol=1e-15)
    np.testing.assert_allclose(jax.nn.logsumexp(SCORES, 1), TOTALS, rtol=1e-15)
