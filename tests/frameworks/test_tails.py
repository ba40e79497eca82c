"""Tails of the normal distribution in torch and JAX, which compiles what is printed: nothing is lost by that."""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp
from tails import FLOATS, LOGARITHMS, POINTS, QUOTIENTS, computed, hazard, off

import symgrad as sg

FEW = 8  # units in the last place


@pytest.mark.parametrize("points", [POINTS, FLOATS], ids=["float64", "float32"])
@pytest.mark.parametrize("to", ["torch", "jax"])
@pytest.mark.parametrize("text", LOGARITHMS)
def test_logarithms_and_their_slopes(text, to, points):
    value, slope = LOGARITHMS[text]
    out, grad = computed(text, points, to)
    error, where = off(grad, points, slope)
    assert error < FEW, where
    error, where = off(out, points, value)
    assert error < FEW, where


@pytest.mark.parametrize("to", ["torch", "jax"])
@pytest.mark.parametrize("text", QUOTIENTS)
def test_quotients(text, to):
    out, _ = computed(text, POINTS, to)
    error, where = off(out, POINTS, QUOTIENTS[text])
    assert error < FEW, where


def test_erfcx_of_jax(jax):
    """The text of JAX is not executed by the check: looked at here, where it is compiled."""
    points = np.concatenate([np.linspace(-26, 26, 400), np.geomspace(1e-9, 1e9, 200)])
    out, _ = computed("erfcx(x)", points, "jax")
    error, where = off(out, points, lambda x: 2 / (mp.sqrt(mp.pi) * hazard(x)))
    assert error < 5, where


def test_the_second_derivative_in_torch(torch):
    """Where a function of the file changes over from one form to the other, only one of them counts."""
    x = torch.tensor([-3.0, 0.0, 3.0], dtype=torch.float64, requires_grad=True)
    f = sg.load(sg.parse("f(x) = log(ndtr(x))"), to="torch", check=False).module.f
    (slope,) = torch.autograd.grad(f(x).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(slope.sum(), x)
    assert torch.allclose(second, -slope * (x + slope), rtol=1e-12)


def test_the_second_derivative_in_jax(jax):
    x = jax.numpy.array([-1e10, -3.0, 0.0, 3.0])
    f = sg.load(sg.parse("f(x) = log(ndtr(x))"), to="jax", check=False).module.f
    slope, second = jax.vmap(jax.grad(f))(x), jax.vmap(jax.grad(jax.grad(f)))(x)
    expected = np.where(x < -1e3, -1, -slope * (x + slope))
    np.testing.assert_allclose(second, expected, rtol=1e-12)
