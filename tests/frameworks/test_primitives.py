"""Functions of the user's in torch and JAX: their derivatives are those that are declared, the second ones, too."""

from __future__ import annotations

import aero
import aero_frameworks
import numpy as np
import pytest

import symgrad as sg

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning")  # torch's own, of its decompositions
PLACES = {"torch": "aero_frameworks:torch_{}", "jax": "aero_frameworks:jax_{}"}


def places(name):
    return {language: place.format(name) for language, place in PLACES.items()}


slope = sg.primitive("drag_slope", "mach", value=aero.lookup_drag_slope, **places("slope"))
drag = sg.primitive("drag", "cd(mach)", value=aero.lookup_drag, derivative=slope, **places("drag"))  # not in NumPy
thrust = sg.primitive(
    "push_of", "t(v, h)", value=aero.thrust, derivative=("-2*v*t/(1 + v**2)", "-push_of(v, h)/8"), ulps=32,
    numpy="aero:thrust", **places("thrust"),
)  # fmt: skip
FORCE = sg.parse("force(v) = v**2 * drag(v/340)", [drag])
PUSH = sg.parse("push(v[n], h) = sum[i](push_of(v[i], h) + push_of(v[i], 0.5))", [thrust])
FUNCTIONS = ("forward", "backward", "jvp")


@pytest.mark.parametrize("function", [FORCE, PUSH], ids=lambda f: f.name)
@pytest.mark.parametrize("to", ["torch", "jax"])
@pytest.mark.parametrize("functions", [("forward", "backward"), FUNCTIONS, ("jacobian",)], ids=",".join)
def test_they_agree_with_the_value(function, to, functions):
    pytest.importorskip(to)
    report = sg.check(function, to=to, functions=functions)
    assert report.ok, str(report)


def test_twice_in_torch(torch):
    push = sg.load(PUSH, to="torch", check=False, functions=FUNCTIONS).push
    v = torch.rand(4, dtype=torch.float64, requires_grad=True)
    h = torch.tensor(1.5, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(push, (v, h))
    assert torch.autograd.gradgradcheck(push, (v, h))
    v, h = v.detach(), h.detach()
    reverse = torch.func.jacrev(torch.func.jacrev(push))(v, h)
    assert torch.allclose(torch.func.jacfwd(torch.func.jacrev(push))(v, h), reverse)
    batch = torch.rand(3, 4, dtype=torch.float64)
    assert torch.allclose(torch.func.vmap(push, in_dims=(0, None))(batch, h), torch.stack([push(b, h) for b in batch]))
    assert push(v.float(), h.float()).dtype == torch.float32


def test_twice_in_jax(jax):
    jnp = jax.numpy
    push = sg.load(PUSH, to="jax", check=False).push
    with jax.enable_x64(True):
        v, h = jnp.array([0.1, 0.5, 0.9, 2.0]), jnp.array(1.5)

        def plain(v):
            return (aero_frameworks.jax_thrust(v, h) + aero_frameworks.jax_thrust(v, 0.5)).sum()

        assert np.allclose(jax.jacrev(jax.grad(push))(v, h), jax.hessian(plain)(v))
        assert np.allclose(jax.jit(jax.vmap(push, in_axes=(0, None)))(jnp.stack([v, v]), h), [push(v, h)] * 2)
        assert push(v.astype(jnp.float32), h.astype(jnp.float32)).dtype == jnp.float32


def test_a_slope_without_a_derivative(torch, jax):
    """What the framework would make of a table's slope is not asked for."""
    said = "no derivative is declared for drag_slope"
    v = torch.tensor([100.0, 500.0], requires_grad=True)
    (gradient,) = torch.autograd.grad(sg.load(FORCE, to="torch", check=False).force(v).sum(), v, create_graph=True)
    with pytest.raises(NotImplementedError, match=said):
        torch.autograd.grad(gradient.sum(), v)
    force = sg.load(FORCE, to="jax", check=False).force
    with pytest.raises(NotImplementedError, match=said):
        jax.grad(jax.grad(force))(100.0)

