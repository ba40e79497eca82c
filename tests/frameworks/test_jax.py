"""Printed JAX is what JAX's own functions are: differentiable twice, mapped, compiled, in 32 and 64 bits."""

from __future__ import annotations

from functools import partial
from itertools import repeat

import numpy as np
import pytest
from library_inputs import by_kinds, function, inputs, module, reals, symmetrised
from scipy import linalg

import symgrad as sg
from symgrad import library
from symgrad.pipeline import printed

each_kind = pytest.mark.parametrize("name", by_kinds("jax"))
some = pytest.mark.parametrize("name", ["softmax", "linear", "layer_norm", "conv2d", "embedding", "lstm", "attention"])
STEP = 1e-5
ALIKE = repeat(1.0)


def of(name):
    return getattr(module(name, "jax"), function(name).name)


def closed(jax, name):
    """A function of the real inputs alone, and these."""
    fixed = {n: jax.numpy.asarray(a) for n, a in inputs(name).items()}
    moving = reals(name)
    symmetric = symmetrised(name, lambda x: x.swapaxes(-1, -2))

    def call(*arrays):
        given = dict(zip(moving, arrays, strict=True))
        given = {n: symmetric[n](x) if n in symmetric else x for n, x in given.items()}
        return of(name)(*(given.get(n, fixed[n]) for n in function(name).inputs))

    return call, [fixed[n] for n in moving]


def reals_of(jax, result):
    return [x for x in jax.tree_util.tree_leaves(result) if x.dtype.kind == "f"]


def total(jax, result, scales=ALIKE):
    """Sines of the results, each in its scale."""
    each = enumerate(zip(reals_of(jax, result), scales, strict=False), start=1)
    return sum(jax.numpy.sin(x * (k / scale)).sum() for k, (x, scale) in each)


@each_kind
@pytest.mark.in_turn
def test_the_check_agrees(name, jax):
    """Values and gradients beside the truth, gradients of gradients, vmap, options, dtypes, and what else it asks."""
    report = sg.check(getattr(library, name), to="jax")
    assert report.ok, report


@some
def test_gradients_and_their_gradients(name, jax):
    """Along a direction, by differences of the function and of its gradient; and mapped, each as it is alone. One
    program of all that is asked, as JAX compiles for longer than all the rest takes."""
    call, arrays = closed(jax, name)
    rng = np.random.default_rng(7)
    ahead, weights = ([rng.standard_normal(x.shape) for x in arrays] for _ in range(2))
    every = tuple(range(len(arrays)))
    scales = [max(1.0, np.abs(x).max(initial=0.0)) for x in reals_of(jax, call(*arrays))]

    def value(*xs):
        return total(jax, call(*xs), scales)

    def along(*xs):
        return sum((g * w).sum() for g, w in zip(jax.grad(value, every)(*xs), weights, strict=True))

    def asked(*xs):
        return value(*xs), jax.grad(value, every)(*xs), *jax.value_and_grad(along, every)(*xs)

    compiled = jax.jit(asked)
    _, *first = compiled(*arrays)
    ways = (-STEP, -STEP / 4, STEP / 4, STEP)
    steps = {h: compiled(*(x + h * u for x, u in zip(arrays, ahead, strict=True))) for h in ways}
    for k, slopes in ((0, first[0]), (2, first[2])):
        by_slopes = sum((np.asarray(g) * u).sum() for g, u in zip(slopes, ahead, strict=True))
        far, near = ((steps[h][k] - steps[-h][k]) / (2 * h) for h in (STEP, STEP / 4))
        np.testing.assert_allclose((16 * near - far) / 15, by_slopes, rtol=1e-4, atol=1e-4)  # without what h**2 is off

    stacked = [jax.numpy.stack([arrays[0], arrays[0] * 1.01]), *arrays[1:]]
    mapped = jax.vmap(jax.grad(value, every), in_axes=(0, *[None] * (len(arrays) - 1)))
    found = jax.jit(mapped)(*stacked)
    for row in range(2):
        for a, b in zip(found, compiled(stacked[0][row], *arrays[1:])[1], strict=True):
            np.testing.assert_allclose(a[row], b, rtol=1e-9, atol=1e-11)


@some
@pytest.mark.in_turn
def test_agrees_with_its_own_checker(name, jax):
    """And what is not traced with what is."""
    from jax.test_util import check_grads

    call, arrays = closed(jax, name)
    check_grads(jax.jit(call), arrays, order=2, modes=["rev"], atol=1e-4, rtol=1e-4)
    gradient = jax.grad(lambda *xs: total(jax, call(*xs)), argnums=tuple(range(len(arrays))))
    for a, b in zip(gradient(*arrays), jax.jit(gradient)(*arrays), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


@some
def test_float32(name, jax):
    """32 bits stay 32 bits: the result, and each gradient."""
    call, arrays = closed(jax, name)
    single = [x.astype("float32") for x in arrays]
    fixed = [a.astype("float32") if a.dtype == float else a for a in inputs(name).values()]
    out, pull = jax.vjp(lambda *xs: of(name)(*merged(name, fixed, xs)), *single)
    seeds = jax.tree_util.tree_map(jax.numpy.ones_like, out)
    exact = jax.vjp(call, *arrays)[1](jax.tree_util.tree_map(lambda x: x.astype("float64"), seeds))
    for a, b in zip(pull(seeds), exact, strict=True):
        assert a.dtype == "float32"
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-4)


def merged(name, fixed, moving):
    given = dict(zip(reals(name), moving, strict=True))
    return [given.get(n, x) for n, x in zip(function(name).inputs, fixed, strict=True)]


def test_hessian_by_two_reverse_modes(jax):
    f = of("rosenbrock")
    x = jax.numpy.array([0.3, -1.2])
    hessian = jax.jacrev(jax.jacrev(lambda p: f(p[0], p[1])))(x)
    np.testing.assert_allclose(hessian, [[2 - 400 * (x[1] - 3 * x[0] ** 2), -400 * x[0]], [-400 * x[0], 200]])


SHIFTED = {
    "logsumexp[i](x[i])**2*max[i](x[i])": lambda nn, x: nn.logsumexp(x) ** 2 * x.max(),
    "sum[i](x[i]**2*exp(x[i]))/sum[i](exp(x[i]))": lambda nn, x: (x**2 * nn.softmax(x)).sum(),
}


@pytest.mark.parametrize("text", SHIFTED)
def test_hessian_where_two_are_the_largest(text, jax):
    """What a logsumexp is shifted by has no slope; a maximum has one, which those share that are the largest."""
    f = printed(sg.parse(f"f(x[n]) = {text}"), "jax").load().module.f
    x = jax.numpy.array([0.3, 1.7, 1.7, -0.2])
    found, expected = (jax.jacrev(jax.jacrev(g))(x) for g in (f, partial(SHIFTED[text], jax.nn)))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_options_are_static_and_by_name(jax):
    x, weight = jax.numpy.ones((1, 1, 6, 6)), jax.numpy.ones((1, 1, 3, 3))
    call = jax.jit(lambda x, w: of("conv2d")(x, w, stride=2, padding=1))
    assert call(x, weight).shape == (1, 1, 3, 3)
    assert jax.grad(lambda w: call(x, w).sum())(weight).shape == weight.shape


def test_integers_have_no_gradient(jax):
    table, token = jax.numpy.ones((4, 2)), jax.numpy.array([1, 1, 3])
    gradient = jax.grad(lambda t, i: of("embedding")(t, i).sum())(table, token)
    np.testing.assert_array_equal(gradient, [[0, 0], [2, 2], [0, 0], [1, 1]])
    found = jax.vjp(of("embedding"), table, token)[1](jax.numpy.ones((3, 2)))
    assert found[1].dtype == jax.dtypes.float0


def test_mixed_types_promote(jax):
    x, weight = jax.numpy.ones((2, 3), "float32"), jax.numpy.ones((4, 3), "float64")
    gradients = jax.grad(lambda *a: of("linear")(*a).sum(), argnums=(0, 1))(x, weight)
    assert [g.dtype for g in gradients] == ["float32", "float64"]


def test_optional_inputs(jax):
    x, weight, bias = (jax.numpy.ones(s) for s in ((2, 3), (4, 3), (4,)))
    assert of("linear")(x, weight).shape == (2, 4)
    gradient = jax.jit(jax.grad(lambda b: of("linear")(x, weight, bias=b).sum()))(bias)
    np.testing.assert_array_equal(gradient, [2, 2, 2, 2])


def test_forward_and_backward_are_functions_of_their_own(jax):
    code = module("linear", "jax")
    x, weight = jax.numpy.ones((2, 3)), jax.numpy.ones((4, 3))
    out, saved = code.forward(x, weight, None)
    grad_x, grad_weight, grad_bias = code.backward(saved, jax.numpy.ones_like(out))
    assert (grad_x.shape, grad_weight.shape, grad_bias) == ((2, 3), (4, 3), None)


def test_of_nothing(jax):
    x = jax.numpy.ones((2, 0))
    assert of("softmax")(x).shape == jax.grad(lambda x: of("softmax")(x).sum())(x).shape == (2, 0)
    assert of("logsumexp")(x).tolist() == [-np.inf, -np.inf]
    pooled = jax.numpy.ones((2, 0, 4, 4))
    assert jax.grad(lambda x: of("avg_pool2d")(x).sum())(pooled).shape == pooled.shape
    with pytest.raises(ValueError, match="needs size <= h"):
        of("avg_pool2d")(jax.numpy.ones((2, 3, 0, 4)))


REFUSED = (
    ("linear", lambda n: (n.ones((2, 3)), n.ones((4, 5))), ValueError, "x has k = 3 (axis 1), weight has k = 5 (axis"),
    ("linear", lambda n: (n.ones(2), n.ones((4, 5))), ValueError, "expected (n, k)"),
    ("softmax", lambda n: (n.ones((2, 3), int),), TypeError, "x has dtype int64, expected floating point"),
    ("embedding", lambda n: (n.ones((2, 3)), n.array([5])), IndexError, "token must be in range(v), here range(2)"),
)


@pytest.mark.parametrize(("name", "arguments", "kind", "said"), REFUSED, ids=[f"{r[0]}-{r[3][:20]}" for r in REFUSED])
def test_refuses(name, arguments, kind, said, jax):
    with pytest.raises(kind) as error:
        of(name)(*arguments(jax.numpy))
    assert said in str(error.value)


@pytest.mark.parametrize("name", ["lstm", "gru", "rnn", "cumsum"])
def test_no_turn_at_all(name, jax):
    arrays = [jax.numpy.asarray(a) for a in inputs(name).values()]
    found = jax.grad(lambda x, *rest: total(jax, of(name)(x, *rest)))
    assert found(arrays[0][:0], *arrays[1:]).shape == (0, *arrays[0].shape[1:])


@pytest.mark.parametrize("norm", [1e-3, 5, 8, 20.8, 300, 1e8])
def test_the_exponential_of_a_matrix_keeps_its_digits(norm, jax):
    """JAX's own has an error of 1e-8 at a norm of 8."""
    a = norm * np.array([[0.3, -0.8, 0.1], [0.5, -0.2, 0.4], [-0.2, 0.6, -0.5]]) / 1.6
    if norm > 1e5:
        assert np.isnan(of("matrix_exponential")(a)).all()
        return
    g = np.array([[0.5, 1, -1], [2, 0.1, 0.3], [1, -0.7, 0.2]])
    out, pull = jax.vjp(of("matrix_exponential"), a)
    np.testing.assert_allclose(out, linalg.expm(a), rtol=1e-11 * max(1, norm / 10), atol=1e-13)
    expected = linalg.expm_frechet(a.T, g, compute_expm=False)
    np.testing.assert_allclose(pull(g)[0], expected, rtol=1e-11 * max(1, norm / 10), atol=1e-13)
