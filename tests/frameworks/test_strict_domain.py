"""`strict_domain` in torch and JAX: numbers are refused, and what is traced becomes NaN outside of the domain."""

from __future__ import annotations

import numpy as np
import pytest

import symgrad as sg

FUNCTION = sg.parse("f(x[n], a, t[n]: int)[i] = a*log(x[i]) + t[i] for a > 0, 0 < x <= 1, t >= 2")
X, A, T = np.array([0.5, 1.0]), np.array(2.0), np.array([2, 3])
REFUSED = {
    "x": ([np.array([0.5, 1.5]), A, T], "f: x = 1.5, declared for 0 < x <= 1"),
    "a": ([X, np.array(-1.0), T], "f: a = -1.0, declared for a > 0"),
    "t": ([X, A, np.array([2, 1])], "f: t = 1, declared for t >= 2"),
    "nan": ([np.array([np.nan, 0.5]), A, T], "f: x = nan, declared for 0 < x <= 1"),
}


@pytest.fixture(scope="module", name="of_torch")
def _of_torch(torch):
    return sg.load(FUNCTION, "torch", check=False, strict_domain=True).module.f


@pytest.fixture(scope="module", name="of_jax")
def _of_jax(jax):
    return sg.load(FUNCTION, "jax", check=False, strict_domain=True).module.f


@pytest.mark.parametrize(("inputs", "said"), REFUSED.values(), ids=list(REFUSED))
def test_torch_refuses(inputs, said, torch, of_torch):
    with pytest.raises(ValueError, match="declared for") as refused:
        of_torch(*map(torch.from_numpy, map(np.atleast_1d, inputs[:1])), *map(torch.tensor, inputs[1:]))
    assert str(refused.value) == said


@pytest.mark.parametrize(("inputs", "said"), REFUSED.values(), ids=list(REFUSED))
def test_jax_refuses(inputs, said, jax, of_jax):
    with jax.enable_x64(True), pytest.raises(ValueError, match="declared for") as refused:
        of_jax(*map(jax.numpy.asarray, inputs))
    assert str(refused.value) == said


def test_torch_under_vmap_gives_nan(torch, of_torch):
    x = torch.tensor([[0.5, 1.0], [0.5, 1.5]], dtype=torch.float64)
    found = torch.func.vmap(of_torch, in_dims=(0, None, None))(x, torch.tensor(2.0).double(), torch.tensor(T))
    assert found.isnan().tolist() == [[False, False], [False, True]]


@pytest.mark.filterwarnings("ignore:.*:DeprecationWarning")
def test_torch_compiled_gives_nan(torch, of_torch):
    compiled = torch.compile(of_torch, backend="eager", fullgraph=True)
    found = compiled(torch.tensor([0.5, 1.5]), torch.tensor(2.0), torch.tensor(T))
    assert found.isnan().tolist() == [False, True]
    found = compiled(torch.tensor(X).float(), torch.tensor(2.0), torch.tensor(T))
    assert found.isfinite().all()


def test_what_jax_traces_becomes_nan(jax, of_jax):
    with jax.enable_x64(True):
        found = jax.jit(of_jax)(np.array([0.5, 1.5]), A, T)
        assert np.isnan(found).tolist() == [False, True]
        gradient = jax.grad(lambda x: of_jax(x, A, T).sum())(X)
        assert gradient.tolist() == [4.0, 2.0]


def test_jax_refuses_where_it_differentiates_numbers(jax, of_jax):
    with jax.enable_x64(True), pytest.raises(ValueError, match=r"f: x = 1\.5, declared for 0 < x <= 1"):
        jax.grad(lambda x: of_jax(x, A, T).sum())(np.array([0.5, 1.5]))


def test_integers_that_are_traced_are_not_looked_at(jax, of_jax, torch, of_torch):
    """There is no NaN among them, and the docstring speaks of real numbers."""
    with jax.enable_x64(True):
        assert np.isfinite(jax.jit(of_jax)(X, A, np.array([2, 1]))).all()
    assert "a real one that JAX traces becomes NaN" in " ".join(of_jax.__doc__.split())
    assert "a real number outside of the domain becomes NaN" in " ".join(of_torch.__doc__.split())


@pytest.mark.parametrize("to", ["torch", "jax"])
def test_the_check_passes(to, torch, jax):
    report = sg.check(FUNCTION, to, strict_domain=True)
    assert report.ok, str(report)
