"""The same in torch and JAX, and once more: their own autograd differentiates what is printed."""

from __future__ import annotations

import numpy as np
import pytest
from guards import GUARDED

import symgrad as sg

ROOTS = {"short rows as they are", "a root that the condition asks for, too"}  # whose slope is infinite there


@pytest.mark.parametrize("name", GUARDED)
def test_torch(name, torch):
    text, inputs, expected = GUARDED[name]
    f = sg.load(sg.parse(text), to="torch", check=False).module.f
    given = [torch.tensor(x, requires_grad=True) for x in inputs.values()]
    out = f(*given)
    v = torch.arange(1.0, out.numel() + 1, dtype=torch.float64).reshape(out.shape)
    grads = torch.autograd.grad(out, given, v, create_graph=True)
    for (x, wanted), grad in zip(expected.items(), grads, strict=True):
        np.testing.assert_allclose(grad.detach(), wanted, rtol=1e-13, atol=1e-15, err_msg=x)
    second = torch.autograd.grad(sum(g.sum() for g in grads), given, allow_unused=True)
    assert name in ROOTS or all(s is None or torch.isfinite(s).all() for s in second)


@pytest.mark.parametrize("name", GUARDED)
def test_jax(name, jax):
    text, inputs, expected = GUARDED[name]
    f = sg.load(sg.parse(text), to="jax", check=False).module.f
    out, pull = jax.vjp(f, *inputs.values())
    grads = jax.jit(pull)(jax.numpy.arange(1.0, out.size + 1).reshape(out.shape))
    for (x, wanted), grad in zip(expected.items(), grads, strict=True):
        np.testing.assert_allclose(grad, wanted, rtol=1e-13, atol=1e-15, err_msg=x)
