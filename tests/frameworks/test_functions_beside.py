"""Functions beside forward and backward, in torch and JAX: plain functions, which their own autograd differentiates."""

from __future__ import annotations

import numpy as np
import pytest
from test_functions import ARRAYS, CHECKED, QUADRIC, ROTATION, SCALAR, SEVERAL, TWO

import symgrad as sg
from symgrad.pipeline import printed

PLAIN = [  # formula, function, the sizes of its inputs
    (SEVERAL, "jacobian", ((3,), (3,))),
    (SCALAR, "hessian", ((3,), (3,))),
    (SCALAR, "hvp", ((3,), (3,), (3,), (3,))),
    (ROTATION, "gauss_newton", ((3,), ())),
    (QUADRIC, "hessian", ((2,), ())),
    (ARRAYS, "value_and_gradient", ((4,), (4,))),
    (TWO, "jacobian", ((2,), (2,))),
    ("f(x[n]) -> h: h[0] = x[0]; h[t+1] = sin(h[t]*x[t])", "jvp", ((3,), (3,))),
]
each = pytest.mark.parametrize(("text", "what", "shapes"), PLAIN)


def leaves(result):
    return [leaf for r in result for leaf in leaves(r)] if isinstance(result, tuple) else [result]


def function_of(text, what, to):
    """The one function of a file."""
    return getattr(printed(sg.parse(text), to, {"functions": what}).load().module, what)


def points(shapes, *batch):
    rng = np.random.default_rng(7)
    return [rng.uniform(0.5, 0.9, (*batch, *shape)) for shape in shapes]


@pytest.mark.parametrize(("text", "functions", "wrt"), CHECKED)
def test_torch_is_checked(text, functions, wrt, torch):
    report = sg.check(sg.parse(text), to="torch", functions=functions, wrt=wrt)
    assert report.ok, report


@pytest.mark.parametrize(("text", "functions", "wrt"), CHECKED)
def test_jax_is_checked(text, functions, wrt, jax):
    report = sg.check(sg.parse(text), to="jax", functions=functions, wrt=wrt)
    assert report.ok, report


@each
def test_torch_differentiates_it(text, what, shapes, torch):
    function = function_of(text, what, "torch")
    tensors = [torch.from_numpy(p).requires_grad_() for p in points(shapes)]
    assert torch.autograd.gradcheck(lambda *given: tuple(leaves(function(*given))), tensors)
    batches = [torch.from_numpy(p) for p in points(shapes, 2)]
    mapped = leaves(torch.func.vmap(function)(*batches))
    for k in range(2):
        for one, some in zip(leaves(function(*(b[k] for b in batches))), mapped, strict=True):
            torch.testing.assert_close(some[k], one)


@each
def test_jax_differentiates_it(text, what, shapes, jax):
    from jax.test_util import check_grads

    function = function_of(text, what, "jax")
    with jax.enable_x64(True):
        arrays = [jax.numpy.asarray(p) for p in points(shapes)]
        check_grads(jax.jit(function), arrays, order=1, modes=["fwd", "rev"], atol=1e-5, rtol=1e-5)
        batches = [jax.numpy.asarray(p) for p in points(shapes, 2)]
        mapped = leaves(jax.vmap(function)(*batches))
        for k in range(2):
            for one, some in zip(leaves(function(*(b[k] for b in batches))), mapped, strict=True):
                np.testing.assert_allclose(some[k], one, rtol=1e-12)


@pytest.mark.parametrize("to", ["torch", "jax"])
def test_what_is_loaded_takes_arrays(to, request):
    request.getfixturevalue(to)
    f = sg.load(sg.parse(SEVERAL), to=to, functions="forward, backward, jacobian, jvp")
    x, y = points(((5,), (5,)))
    (out0, _, _), jacobian = f.jacobian(x, y)
    np.testing.assert_allclose(out0, x**2 * y, rtol=1e-15)
    np.testing.assert_allclose(jacobian[:, 0], np.stack([2 * x * y, x**2], -1), rtol=1e-15)


@pytest.mark.parametrize("to", ["torch", "jax"])
def test_what_is_loaded_takes_arrays_as_they_lie_in_memory(to, request):
    request.getfixturevalue(to)
    f = sg.load("f(x[n], t[n]: int)[i] = x[t[i]]**2", to=to, check=False)
    x, t = np.arange(4.0), np.array([3, 0, 2, 1])
    for some, places in ((x.astype(">f8"), t.astype(">i8")), (x[::-1].copy()[::-1], t[::-1].copy()[::-1])):
        out, saved = f.forward(some, places)
        np.testing.assert_array_equal(out, x[t] ** 2)
        np.testing.assert_array_equal(f.backward(saved, np.ones(4, ">f8"))[0], 2 * x)
    with pytest.raises(TypeError, match="missing"):
        f.forward(x)


def test_what_is_loaded_is_not_traced_but_its_module_is(jax):
    f = sg.load(sg.parse(SEVERAL), to="jax", functions="forward, jacobian")
    with pytest.raises(TypeError, match=r"takes and returns NumPy arrays; no jax.jit, vmap or grad traces it"):
        jax.jit(f.jacobian)(*points(((5,), (5,))))
    x, y = points(((5,), (5,)))
    (_, jacobian), (_, expected) = jax.jit(f.module.jacobian)(x, y), f.jacobian(x, y)
    np.testing.assert_allclose(jacobian, expected, rtol=1e-15)
