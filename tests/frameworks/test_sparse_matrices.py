"""Sparse Jacobians in torch and JAX: the numbers of NumPy's, under jit, and differentiated again."""

from __future__ import annotations

import numpy as np
import pytest
from test_sparse import TABLE, checked, compared, each

import symgrad as sg
from symgrad.errors import UnsupportedError

pytestmark = pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta:UserWarning")  # torch's own words
BAND = TABLE["band"][0]
GATHER = "f(x[n], t[m]: int)[i] = x[t[i]]**2"
at_real_places = pytest.mark.parametrize("name", [name for name in TABLE if name != "argmax"])


def module(text, to):
    return sg.load(sg.parse(text), to=to, functions="jacobian:sparse", check=False).module


@each
def test_torch_gives_the_same(name, torch):
    compared(name, "torch")
    checked(name, "torch")


@at_real_places
def test_jax_gives_the_same(name, jax):
    compared(name, "jax")
    checked(name, "jax")


@pytest.mark.parametrize("to", ["torch", "jax"])
def test_hessians_are_checked(to, request):
    request.getfixturevalue(to)
    report = sg.check(sg.parse("f(x[n]) = sum[i:n-1]((x[i+1] - x[i]**2)**2)"), to=to, functions="hessian:sparse")
    assert report.ok, report


def test_torch_differentiates_the_values(torch):
    code, x = module(BAND, "torch"), torch.linspace(0.2, 1.4, 5, dtype=torch.float64, requires_grad=True)
    assert code.jacobian_sparse(x)[1].layout == torch.sparse_csr
    pattern = code.jacobian_pattern(x)
    assert torch.autograd.gradcheck(lambda x: code.jacobian_sparse(x)[1].to_dense(), x)
    assert torch.autograd.gradgradcheck(lambda x: code.jacobian_values(pattern, x)[1], x)


def test_jax_differentiates_the_values_under_jit(jax):
    code, x = module(BAND, "jax"), np.linspace(0.2, 1.4, 5)

    def squares(x):
        return (code.jacobian_sparse(x)[1].todense() ** 2).sum()

    found = jax.jit(jax.grad(squares))(x)
    step = 1e-6 * np.eye(5)
    np.testing.assert_allclose(found, [(squares(x + s) - squares(x - s)) / 2e-6 for s in step], rtol=1e-7)
    matrix = jax.jit(lambda x: code.jacobian_sparse(x)[1])(x)
    assert matrix.indices_sorted
    assert matrix.unique_indices
    assert jax.vmap(lambda x: code.jacobian_sparse(x)[1].todense())(np.ones((2, 3))).shape == (2, 3, 3)


def test_what_jax_traces_says_nothing_of_places(jax):
    code, x, t = module(GATHER, "jax"), np.arange(1.0, 5.0), np.array([2, 0, 2])
    with pytest.raises(TypeError, match="where entries stand follows from values that JAX traces"):
        jax.jit(code.jacobian_sparse)(x, t)
    pattern = code.jacobian_pattern(x, t)
    found = jax.jit(lambda x, t: code.jacobian_values(pattern, x, t)[1])(x, t)
    np.testing.assert_array_equal(found, 2 * x[t])
    with pytest.raises(UnsupportedError, match="depends on the numbers in x, which JAX traces"):
        module(TABLE["argmax"][0], "jax")
