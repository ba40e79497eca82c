"""What is printed of each operator for torch and JAX agrees with SymPy and with differences, too."""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp
from operators import EVERYWHERE, SCIPY
from tails import computed, off

import symgrad as sg


@pytest.mark.parametrize("to", ["torch", "jax"])
@pytest.mark.parametrize("text", [*EVERYWHERE, *SCIPY])
def test_every_framework_agrees(text, to):
    report = sg.check(sg.parse(text), to=to)
    assert report.ok, str(report)


@pytest.mark.parametrize(
    ("text", "value", "lowest", "highest"),
    [
        ("log1p(x)", mp.log1p, -0.999, 2),
        ("log(1 + x)", mp.log1p, -0.999, 2),
        ("atanh(x)", mp.atanh, -0.999, 0.999),
        ("log1mexp(x)", lambda x: mp.log(-mp.expm1(-x)), 0.001, 3),
        ("exp2(x)", lambda x: mp.mpf(2) ** x, -1000, 1000),
    ],
)
def test_jax_where_xla_has_fewer_digits(text, value, lowest, highest, jax):
    """Its log1p is off by 128 units in the last place between -0.42 and -0.35, its exp2 by as many as x has."""
    points = np.linspace(lowest, highest, 500)
    out, _ = computed(text, points, "jax")
    error, where = off(out, points, value)
    assert error < 4, where


@pytest.mark.parametrize("to", ["torch", "jax"])
@pytest.mark.parametrize(
    ("text", "second"),
    [
        ("lgamma(x)", lambda x: mp.psi(1, x)),
        ("gamma(x)", lambda x: mp.gamma(x) * (mp.psi(0, x) ** 2 + mp.psi(1, x))),
    ],
)
def test_gradients_of_gradients_of_gamma_functions(text, second, to, torch, jax):
    """Also where the function is not reflected, and a reflection would divide by 0."""
    points = np.array([1.0, 2.0, 40.0, 0.5, 3.7, -0.5, -1.3])
    f = sg.load(sg.parse(f"f(x) = {text}"), to=to, check=False).f
    if to == "jax":
        found = jax.vmap(jax.grad(jax.grad(f)))(points)
    else:
        x = torch.tensor(points, requires_grad=True)
        (slope,) = torch.autograd.grad(f(x).sum(), x, create_graph=True)
        (found,) = torch.autograd.grad(slope.sum(), x)
    assert np.asarray(found) == pytest.approx([float(second(p)) for p in points], rel=1e-12)
