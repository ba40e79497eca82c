"""Tails of the normal distribution in torch and JAX, which compiles what is printed: nothing is lost by that."""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp
from tails import FLOATS, LOGARITHMS, POINTS, QUOTIENTS, computed, hazard, off

FEW = 8  # units in the last place


@pytest.mark.parametrize("points", [POINTS, FLOATS], ids=["float64", "float32"])
@pytest.mark.parametrize("to", ["torch", "jax"])
@pytest.mark.parametrize("text", LOGARITHMS)
def test_logarithms_and_their_slopes(text, to, points, request):
    request.getfixturevalue(to)
    value, slope = LOGARITHMS[text]
    out, grad = computed(text, points, to)
    error, where = off(grad, points, slope)
    assert error < FEW, where
    error, where = off(out, points, value)
    assert error < FEW, where


@pytest.mark.parametrize("to", ["torch", "jax"])
@pytest.mark.parametrize("text", QUOTIENTS)
def test_quotients(text, to, request):
    request.getfixturevalue(to)
    out, _ = computed(text, POINTS, to)
    error, where = off(out, POINTS, QUOTIENTS[text])
    assert error < FEW, where


def test_erfcx_of_jax(jax):
    """The text of JAX is not executed by the check: looked at here, where it is compiled."""
    points = np.concatenate([np.linspace(-26, 26, 400), np.geomspace(1e-9, 1e9, 200)])
    out, _ = computed("erfcx(x)", points, "jax")
    error, where = off(out, points, lambda x: 2 / (mp.sqrt(mp.pi) * hazard(x)))
    assert error < 5, where
