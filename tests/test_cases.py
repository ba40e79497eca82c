"""The real cases: the numbers that people publish for them, in both targets."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
import sympy
from mathematics import both, gradients, loaded
from numpy.testing import assert_allclose, assert_array_equal
from scipy import special

import symgrad as sg
from symgrad import library

SEED = json.loads((Path(__file__).parent / "data" / "seed_numbers.json").read_text())
RNG = np.random.default_rng


def close(found, expected, tolerance=1e-12):
    """Equal to 1e-12, and of the same shape."""
    expected = np.asarray(expected, dtype=float)
    assert np.shape(found) == expected.shape
    assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def numbers(name, *keys):
    """The arrays of one seed example."""
    return tuple(np.array(SEED[name][key]) for key in keys)


# 1. f(x, y) = (x^2, x y, y^2)

x, y, a, b = sympy.symbols("x y a b", real=True)
SQUARES = {
    "python": library.squares,
    "sympy": sg.from_sympy("squares", [x, y], [x**2, x * y, y**2]),
    "text": "squares(x, y) = x**2, x*y, y**2",
}
POLYNOMIALS = {
    "python": library.polynomial,
    "sympy": sg.from_sympy("polynomial", {"p": sympy.Matrix([x, y])}, sympy.Matrix([x**2, x * y, y**2])),
    "text": "polynomial(p[2]) = [p[0]**2, p[0]*p[1], p[1]**2]",
}


@both
@pytest.mark.parametrize("front_end", SQUARES)
def test_squares_of_two_scalars(front_end, to):
    case = SEED["sq_xy_y2"]
    code = loaded(SQUARES[front_end], to)
    out, saved = code.forward(case["x"], case["y"])
    assert_array_equal(out, case["f"])
    assert code.backward(saved, tuple(case["v"])) == (10, 22)


@both
@pytest.mark.parametrize("front_end", SQUARES)
def test_squares_of_arrays(front_end, to):
    at_x, at_y, v = numbers("sq_xy_y2_batched", "x", "y", "v")
    expected = SEED["sq_xy_y2_batched"]["grad"]
    grad_x, grad_y = gradients(SQUARES[front_end], to, (at_x, at_y), tuple(v))
    close(grad_x, expected["x"])
    close(grad_y, expected["y"])


@both
@pytest.mark.parametrize("front_end", POLYNOMIALS)
def test_squares_as_one_vector(front_end, to):
    code = loaded(POLYNOMIALS[front_end], to)
    out, saved = code.forward(np.array([2.0, 3.0]))
    assert_array_equal(out, [4, 6, 9])
    (grad_p,) = code.backward(saved, np.array([1.0, 2.0, 3.0]))
    assert_array_equal(grad_p, [10, 22])


@both
def test_squares_as_one_vector_in_a_batch(to):
    at_x, at_y, v = numbers("sq_xy_y2_batched", "x", "y", "v")
    expected = SEED["sq_xy_y2_batched"]["grad"]
    (grad_p,) = gradients(library.polynomial, to, (np.stack([at_x, at_y], axis=-1),), v.T)
    close(grad_p, np.stack([expected["x"], expected["y"]], axis=-1))


def test_the_jacobian_of_squares():
    for declaration in (SQUARES["python"], SQUARES["sympy"], POLYNOMIALS["python"]):
        jacobian = sg.jacobian(declaration)
        u, v = sorted(jacobian.free_symbols, key=str)
        assert jacobian.subs({u: 2, v: 3}) == sympy.Matrix(SEED["sq_xy_y2"]["jacobian"])


# 2. LinearFunction

LINEAR = {
    "python": library.linear,
    "text": "linear(x[n,k], weight[m,k], bias[m]?)[i,j] = sum[l](x[i,l] * weight[j,l]) + bias[j]",
}


@both
@pytest.mark.parametrize("front_end", LINEAR)
def test_linear_has_the_published_numbers(front_end, to):
    at, weight, bias, grad_output, out = numbers("LinearFunction", "input", "weight", "bias", "grad_output", "y")
    code = loaded(LINEAR[front_end], to)
    found, saved = code.forward(at, weight, bias)
    close(found, out)
    expected = SEED["LinearFunction"]["grad"]
    for gradient, name in zip(code.backward(saved, grad_output), ("input", "weight", "bias"), strict=True):
        close(gradient, expected[name])


@both
@pytest.mark.parametrize(
    "sizes", [(3, 4, 2), (1, 1, 1), (5, 1, 3), (1, 7, 2), (8, 9, 7), (0, 3, 2), (3, 0, 2)], ids=str
)
@pytest.mark.parametrize("with_bias", [True, False], ids=["bias", "no bias"])
def test_linear_at_every_choice_of_gradients(sizes, with_bias, to):
    n, k, m = sizes
    rng = RNG(7)
    at, weight, grad_output = rng.normal(size=(n, k)), rng.normal(size=(m, k)), rng.normal(size=(n, m))
    bias = rng.normal(size=m) if with_bias else None
    code = loaded(library.linear, to)
    out, saved = code.forward(at, weight, bias)
    close(out, np.einsum("ik,jk->ij", at, weight) + (bias if with_bias else 0))
    expected = (
        np.einsum("ij,jk->ik", grad_output, weight),
        np.einsum("ij,ik->jk", grad_output, at),
        np.einsum("ij->j", grad_output) if with_bias else None,
    )
    for needs in itertools.product((False, True), repeat=3):
        for gradient, wanted, need in zip(code.backward(saved, grad_output, needs), expected, needs, strict=True):
            if need and wanted is not None:
                close(gradient, wanted)
            else:
                assert gradient is None


# 3. out = 2 x under loss = sum((out - 4)^2)


@both
@pytest.mark.parametrize("name", ["twice_loss_at_2", "twice_loss_vector"])
def test_twice_under_a_squared_error_chained_by_hand(name, to):
    (at,) = numbers(name, "x")
    twice, loss = loaded(library.twice, to), loaded(library.squared_error, to)
    out, saved_twice = twice.forward(at)
    value, saved_loss = loss.forward(out)
    (grad_out,) = loss.backward(saved_loss)
    (grad_x,) = twice.backward(saved_twice, grad_out)
    case = SEED[name]
    assert_array_equal(out, case["out"])
    assert value == case["loss"]
    assert_array_equal(grad_out, case["grad_output"])
    assert_array_equal(grad_x, case["grad"]["x"])


@both
def test_backward_of_twice_alone(to):
    (grad_x,) = gradients(library.twice, to, (np.array([1.0, 2.0, 3.0]),), np.array([-4.0, 0.0, 4.0]))
    assert_array_equal(grad_x, [-8, 0, 8])


@both
@pytest.mark.parametrize("target", [4.0, -1.5])
def test_squared_error_takes_its_target_as_an_option(target, to):
    at = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, -6.0]])
    (grad_x,) = gradients(library.squared_error, to, (at,), None, target=target)
    assert_array_equal(grad_x, 2 * (at - target))


# 4. a linear layer and its mean squared error


@both
@pytest.mark.parametrize("sizes", [(3, 4, 2), (1, 1, 1), (6, 2, 5)], ids=str)
def test_linear_and_mse_loss_as_one_function_and_as_two(sizes, to):
    n, k, m = sizes
    rng = RNG(3)
    at, weight, bias, target = (rng.normal(size=s) for s in ((n, k), (m, k), (m,), (n, m)))
    error = at @ weight.T + bias - target
    grad_error = 2 * error / error.size
    expected = (grad_error @ weight, grad_error.T @ at, grad_error.sum(axis=0), -grad_error)

    one = loaded(library.linear_mse, to)
    value, saved = one.forward(at, weight, bias, target)
    close(value, (error**2).mean())
    for gradient, wanted in zip(one.backward(saved), expected, strict=True):
        close(gradient, wanted)

    linear, loss = loaded(library.linear, to), loaded(library.mse_loss, to)
    prediction, saved_linear = linear.forward(at, weight, bias)
    value, saved_loss = loss.forward(prediction, target)
    close(value, (error**2).mean())
    grad_prediction, grad_target = loss.backward(saved_loss)
    found = (*linear.backward(saved_linear, grad_prediction), grad_target)
    for gradient, wanted in zip(found, expected, strict=True):
        close(gradient, wanted)


# 5. fc2(relu(fc1(x)))


@both
@pytest.mark.parametrize("seed", ["ones", "random"])
def test_the_two_layer_relu_network(seed, to):
    rng = RNG(11)
    n, k, h, m = 4, 3, 5, 2
    at, w1, b1, w2, b2 = (rng.normal(size=s) for s in ((n, k), (h, k), (h,), (m, h), (m,)))
    grad_output = np.ones((n, m)) if seed == "ones" else rng.normal(size=(n, m))
    before = at @ w1.T + b1
    hidden = np.where(before > 0, before, 0)
    assert 0 < (hidden > 0).sum() < hidden.size
    grad_before = (grad_output @ w2) * (before > 0)
    expected = (
        grad_before @ w1,
        grad_before.T @ at,
        grad_before.sum(axis=0),
        grad_output.T @ hidden,
        grad_output.sum(axis=0),
    )
    code = loaded(library.mlp, to)
    out, saved = code.forward(at, w1, b1, w2, b2)
    close(out, hidden @ w2.T + b2)
    for gradient, wanted in zip(code.backward(saved, grad_output), expected, strict=True):
        close(gradient, wanted)


# 6. mm(x, a)

MATMULS = {
    "python": library.matmul,
    "text": "matmul(x[n,k], a[k,m])[i,j] = sum[l](x[i,l] * a[l,j])",
    "sympy": sg.from_sympy(
        "matmul",
        [sympy.MatrixSymbol("x", 2, 3), sympy.MatrixSymbol("a", 3, 4)],
        (sympy.MatrixSymbol("x", 2, 3) * sympy.MatrixSymbol("a", 3, 4)).as_explicit(),
    ),
}


@both
@pytest.mark.parametrize("front_end", MATMULS)
def test_matmul_has_the_published_numbers(front_end, to):
    at, second, grad_output, out = numbers("mm_ones", "x", "a", "grad_output", "y")
    code = loaded(MATMULS[front_end], to)
    found, saved = code.forward(at, second)
    assert_array_equal(found, out)
    grad_x, grad_a = code.backward(saved, grad_output)
    assert_array_equal(grad_x, [[10, 10, 10], [26, 26, 26]])
    assert_array_equal(grad_a, SEED["mm_ones"]["grad"]["a"])


# 7. an image of 720 x 720


@both
def test_an_elementwise_function_of_an_image(to):
    rng = RNG(5)
    image, grad_output = rng.uniform(-1, 1, (720, 720)), rng.normal(size=(720, 720))
    function = "brighten(image) = sqrt(1 + image**2) * sin(3*image)"
    code = loaded(function, to)
    out, saved = code.forward(image)
    root = np.sqrt(1 + image**2)
    close(out, root * np.sin(3 * image))
    (grad_image,) = code.backward(saved, grad_output)
    close(grad_image, grad_output * (image / root * np.sin(3 * image) + 3 * root * np.cos(3 * image)))


# 8. grad_output left out, or of the wrong shape


@both
@pytest.mark.parametrize(
    ("function", "inputs", "shape"),
    [
        (library.linear, [(3, 4), (2, 4), (2,)], r"\(3, 2\)"),
        (library.softmax, [(5, 7)], r"\(5, 7\)"),
        (library.mean, [(2, 3, 4)], r"\(2, 3\)"),
        (library.twice, [(6,)], r"\(6,\)"),
        (library.polynomial, [(2,)], r"\(3,\)"),
    ],
    ids=["linear", "softmax", "mean", "twice", "polynomial"],
)
def test_grad_output_is_implied_only_for_a_scalar(function, inputs, shape, to):
    code = loaded(function, to)
    _, saved = code.forward(*(np.ones(s) for s in inputs))
    with pytest.raises(ValueError, match="grad can be implicitly created only for scalar outputs.*pass.*" + shape):
        code.backward(saved)


@both
def test_grad_output_is_not_implied_for_several_outputs(to):
    code = loaded(library.squares, to)
    _, saved = code.forward(2.0, 3.0)
    with pytest.raises(ValueError, match=r"grad can be implicitly created only for scalar outputs; pass .*tuple"):
        code.backward(saved)


@both
def test_grad_output_is_implied_for_one_scalar(to):
    at = np.array([[1.0, 2.0], [3.0, 5.0]])
    code = loaded(library.mse_loss, to)
    _, saved = code.forward(at, np.zeros((2, 2)))
    for grad_output in (None, np.float64(1.0)):
        close(code.backward(saved, grad_output)[0], at / 2)
    assert gradients(library.twice, to, (3.0,)) == (2,)


@both
@pytest.mark.parametrize(
    ("function", "inputs", "wrong", "right"),
    [
        (library.linear, [(3, 4), (2, 4), (2,)], (2, 3), (3, 2)),
        (library.linear, [(3, 4), (2, 4), (2,)], (3, 1), (3, 2)),
        (library.linear, [(3, 4), (2, 4), (2,)], (), (3, 2)),
        (library.softmax, [(5, 7)], (5,), (5, 7)),
        (library.mse_loss, [(2, 3), (2, 3)], (2, 3), ()),
        (library.mean, [(2, 3, 4)], (2, 3, 4), (2, 3)),
    ],
    ids=["transposed", "size 1", "a number", "an axis missing", "not a scalar", "as the input"],
)
def test_a_grad_output_of_the_wrong_shape_is_refused(function, inputs, wrong, right, to):
    code = loaded(function, to)
    _, saved = code.forward(*(np.ones(s) for s in inputs))
    with pytest.raises(ValueError, match="grad_output") as raised:
        code.backward(saved, np.ones(wrong))
    assert str(wrong) in str(raised.value)
    assert str(right) in str(raised.value)


@both
def test_a_wrong_shape_among_several_is_refused(to):
    code = loaded(library.squares, to)
    _, saved = code.forward(np.ones(4), np.ones(4))
    with pytest.raises(ValueError, match=r"out1.*\(3,\).*\(4,\)"):
        code.backward(saved, (np.ones(4), np.ones(3), None))


# 9. outputs computed from outputs, inputs used twice, residual connections


@both
@pytest.mark.parametrize(
    ("weights", "factor"), [((1, 1), 3), ((1, None), 1), ((None, 1), 2), ((2, -1), 0)], ids=["3", "1", "2", "0"]
)
def test_an_output_computed_from_another(weights, factor, to):
    at = np.linspace(-3, 3, 7)
    code = loaded(library.sine_and_double, to)
    (first, second), saved = code.forward(at)
    close(first, np.sin(at))
    close(second, 2 * np.sin(at))
    seeds = tuple(None if w is None else np.full(7, float(w)) for w in weights)
    (grad_x,) = code.backward(saved, seeds)
    close(grad_x, factor * np.cos(at))


@both
@pytest.mark.parametrize("text", ["f(x)[] = x*x + sin(x) - x", "f(x): a = x; b = x*a; out = b + sin(a) - x"])
def test_an_input_used_twice(text, to):
    text = text.replace("[]", "")
    at = np.array([0.3, -1.2, 2.0])
    (grad_x,) = gradients(text, to, (at,), np.ones(3))
    close(grad_x, 2 * at + np.cos(at) - 1)


@both
def test_a_residual_connection(to):
    rng = RNG(13)
    at, weight, bias, grad_output = (rng.normal(size=s) for s in ((4, 3), (3, 3), (3,), (4, 3)))
    code = loaded(library.residual, to)
    out, saved = code.forward(at, weight, bias)
    branch = np.tanh(at @ weight.T + bias)
    close(out, at + branch)
    kept = grad_output.tobytes()
    grad_x, grad_weight, grad_bias = code.backward(saved, grad_output)
    assert grad_output.tobytes() == kept
    inner = grad_output * (1 - branch**2)
    close(grad_x, grad_output + inner @ weight)
    close(grad_weight, inner.T @ at)
    close(grad_bias, inner.sum(axis=0))


@both
@pytest.mark.parametrize("text", ["f(x[n])[i] = x[i] + x[i]", "f(x[n], y[n])[i] = x[i] + y[i]", "f(x[n])[i] = x[i]"])
def test_grad_output_comes_back_unchanged_and_unshared(text, to):
    function = sg.parse(text)
    code = loaded(text, to)
    inputs = [np.arange(4.0) + k for k in range(len(function.inputs))]
    _, saved = code.forward(*inputs)
    grad_output = np.array([1.0, -2.0, 3.0, 4.0])
    found = code.backward(saved, grad_output)
    found[0][...] = -1
    for other in found[1:]:
        assert_array_equal(other, [1, -2, 3, 4])
    assert len(found) == 1 or not np.shares_memory(*found)


# 10. derived from their definitions: gradients written by hand, and differences


def soft(v):
    e = np.exp(v - v.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def hat(v, axis, eps=1e-5, centre=True):
    """(standardised values, 1 / standard deviation)."""
    centred = v - v.mean(axis=axis, keepdims=True) if centre else v
    rstd = 1 / np.sqrt((centred**2).mean(axis=axis, keepdims=True) + eps)
    return centred * rstd, rstd


def norm_backward(axis, centre=True):
    def backward(g, v, gain, *bias):
        xhat, rstd = hat(v, axis, centre=centre)
        gn = g * gain
        inner = gn - xhat * (gn * xhat).mean(axis=axis, keepdims=True)
        grad_x = rstd * (inner - gn.mean(axis=axis, keepdims=True) if centre else inner)
        rows = tuple(range(v.ndim - 1))
        return (grad_x, (g * xhat).sum(axis=rows), *(g.sum(axis=rows) for _ in bias))

    return backward


def weighted_loss(v, t, w):
    return (w[t] * (lse(v) - v[np.arange(4), t])).sum() / w[t].sum()


def lse(v):
    top = v.max(axis=-1)
    return top + np.log(np.exp(v - top[..., None]).sum(axis=-1))


TARGET = np.array([2, 0, 2, 1])
DEFINED = {  # name: (inputs, forward, backward of (grad_output, inputs))
    "softmax": ([(4, 3)], soft, lambda g, v: (soft(v) * (g - (g * soft(v)).sum(axis=-1, keepdims=True)),)),
    "log_softmax": (
        [(2, 3, 5)],
        lambda v: v - lse(v)[..., None],
        lambda g, v: (g - soft(v) * g.sum(axis=-1, keepdims=True),),
    ),
    "logsumexp": ([(4, 3)], lse, lambda g, v: (g[..., None] * soft(v),)),
    "cross_entropy": (
        [(4, 3), TARGET, (3,)],
        weighted_loss,
        lambda g, v, t, w: (
            g * w[t, None] * (soft(v) - np.eye(3)[t]) / w[t].sum(),
            None,
            g * (lse(v) - v[np.arange(4), t] - weighted_loss(v, t, w)) @ np.eye(3)[t] / w[t].sum(),
        ),
    ),
    "sigmoid": ([(4, 3)], special.expit, lambda g, v: (g * special.expit(v) * special.expit(-v),)),
    "tanh": ([(4, 3)], np.tanh, lambda g, v: (g / np.cosh(v) ** 2,)),
    "softplus": ([(4, 3)], lambda v: np.logaddexp(0, v), lambda g, v: (g * special.expit(v),)),
    "silu": (
        [(4, 3)],
        lambda v: v * special.expit(v),
        lambda g, v: (g * special.expit(v) * (1 + v * special.expit(-v)),),
    ),
    "relu": ([(4, 3)], lambda v: np.maximum(v, 0), lambda g, v: (g * (v > 0),)),
    "mean": ([(2, 3, 5)], lambda v: v.mean(axis=-1), lambda g, v: (np.repeat(g[..., None] / 5, 5, axis=-1),)),
    "var": (
        [(2, 3, 5)],
        lambda v: v.var(axis=-1),
        lambda g, v: (2 * g[..., None] * (v - v.mean(axis=-1, keepdims=True)) / 5,),
    ),
    "layer_norm": ([(2, 3, 5), (5,), (5,)], lambda v, a, c: hat(v, -1)[0] * a + c, norm_backward(-1)),
    "rms_norm": ([(4, 5), (5,)], lambda v, a: hat(v, -1, centre=False)[0] * a, norm_backward(-1, centre=False)),
    "batch_norm": ([(4, 3), (3,), (3,)], lambda v, a, c: hat(v, 0)[0] * a + c, norm_backward(0)),
}


def drawn_inputs(shapes):
    rng = RNG(17)
    return [s if isinstance(s, np.ndarray) else rng.normal(size=s) for s in shapes]


@both
@pytest.mark.parametrize("name", DEFINED)
def test_functions_have_the_gradients_that_people_write_by_hand(name, to):
    shapes, forward, backward = DEFINED[name]
    inputs = drawn_inputs(shapes)
    code = loaded(getattr(library, name), to)
    out, saved = code.forward(*inputs)
    close(out, forward(*inputs))
    grad_output = RNG(19).normal(size=np.shape(out))
    for gradient, wanted in zip(code.backward(saved, grad_output), backward(grad_output, *inputs), strict=True):
        if wanted is None:
            assert gradient is None
        else:
            close(gradient, wanted)


@both
@pytest.mark.parametrize("name", DEFINED)
def test_functions_have_the_gradients_that_differences_tell(name, to):
    """Differences of the definition, of the fourth order: good to about 1e-10."""
    shapes, forward, _ = DEFINED[name]
    inputs = drawn_inputs(shapes)
    grad_output = RNG(23).normal(size=np.shape(forward(*inputs)))
    found = gradients(getattr(library, name), to, inputs, grad_output)
    h = 1e-3
    for place, (at, gradient) in enumerate(zip(inputs, found, strict=True)):
        if at.dtype.kind == "i":
            continue
        for k in np.ndindex(at.shape):

            def loss(change, place=place, at=at, k=k):
                moved = at.copy()
                moved[k] += change
                return float((grad_output * forward(*inputs[:place], moved, *inputs[place + 1 :])).sum())

            told = (8 * (loss(h) - loss(-h)) - (loss(2 * h) - loss(-2 * h))) / (12 * h)
            assert gradient[k] == pytest.approx(told, rel=1e-8, abs=1e-9)


# the other published numbers, through every front end that can say them


def _mean_3_xp2_sq():
    @sg.function
    def f(x: sg.Tensor["n m"]):
        return (3 * (x + 2) ** 2).mean()

    matrix = sympy.MatrixSymbol("x", 2, 2)
    return {
        "python": f,
        "sympy": sg.from_sympy("f", [matrix], sum(3 * (e + 2) ** 2 for e in matrix) / 4),
        "text": "f(x[n,m]) = mean[i,j](3*(x[i,j] + 2)**2)",
    }


def _one_layer_bce():
    @sg.function
    def f(x: sg.Tensor["k"], w: sg.Tensor["k m"], b: sg.Tensor["m"], target: sg.Tensor["m"]):
        z = x @ w + b
        return (sg.log(1 + sg.exp(z)) - target * z).mean()

    text = """f(x[k], w[k,m], b[m], target[m]):
        z[j] = sum[i](x[i]*w[i,j]) + b[j]; out = mean[j](log(1 + exp(z[j])) - target[j]*z[j])"""
    return {"python": f, "text": text}


def ways(arguments, python, expression, text):
    python.__name__ = "f"
    return {
        "python": sg.function(python),
        "sympy": sg.from_sympy("f", list(arguments), [expression]),
        "text": text,
    }


PUBLISHED = {
    "tutorial_3a3_minus_b2": ways((a, b), lambda a, b: 3 * a**3 - b**2, 3 * a**3 - b**2, "f(a, b) = 3*a**3 - b**2"),
    "tutorial_mean_3_xp2_sq": _mean_3_xp2_sq(),
    "tutorial_legendre_p3": ways(
        (x,), lambda x: 0.5 * (5 * x**3 - 3 * x), (5 * x**3 - 3 * x) / 2, "f(x) = 1/2 * (5*x**3 - 3*x)"
    ),
    "sigmoid_issue_539": ways((x,), lambda x: 1 / (1 + sg.exp(-x)), 1 / (1 + sympy.exp(-x)), "f(x) = 1/(1 + exp(-x))"),
    "jax_sinx_y": ways((x, y), lambda x, y: sg.sin(x) * y, sympy.sin(x) * y, "f(x, y) = sin(x)*y"),
    "jax_log1pexp": ways((x,), lambda x: sg.log(1 + sg.exp(x)), sympy.log(1 + sympy.exp(x)), "f(x) = log(1 + exp(x))"),
    "jax_x_over_1_plus_sqrt": ways(
        (x,), lambda x: x / (1 + sg.sqrt(x)), x / (1 + sympy.sqrt(x)), "f(x) = x/(1 + sqrt(x))"
    ),
    "tutorial_one_layer_bce": _one_layer_bce(),
}


@both
@pytest.mark.parametrize(("name", "front_end"), [(name, way) for name, each in PUBLISHED.items() for way in each])
@pytest.mark.in_turn
def test_published_numbers(name, front_end, to):
    case = SEED[name]
    code = loaded(PUBLISHED[name][front_end], to)
    inputs = [
        np.array(case[key]) for key in ("x", "y", "a", "w", "b", "target") if key in case and key != _output(case)
    ]
    out, saved = code.forward(*inputs)
    close(out, case[_output(case)])
    grad_output = np.array(case.get("grad_output", np.ones(np.shape(out))))
    names = [key for key in ("x", "y", "a", "w", "b", "target") if key in case and key != _output(case)]
    for key, gradient in zip(names, code.backward(saved, grad_output), strict=True):
        if key in case["grad"]:
            close(gradient, case["grad"][key])


def _output(case):
    return next(key for key in ("loss", "f", "y") if key in case)


@both
@pytest.mark.parametrize("front_end", ["python", "sympy", "text"])
@pytest.mark.parametrize(("at", "out", "gradient"), [(1000.0, 1000.0, 1.0), (-1000.0, 0.0, 0.0), (0.0, np.log(2), 0.5)])
def test_log1pexp_neither_overflows_nor_loses(at, out, gradient, front_end, to):
    code = loaded(PUBLISHED["jax_log1pexp"][front_end], to)
    with np.errstate(all="raise", under="ignore"):
        found, saved = code.forward(at)
        (grad_x,) = code.backward(saved, 1.0)
    close(found, out)
    close(grad_x, gradient)


SHIFTED = [  # quotients of sums of exponentials, which are the same for x + 800
    "f(x[n], v[n], m[n]) = 3*sum[i](exp(x[i])*v[i])*m[0]/sum[j](exp(x[j]))",
    "f(x[n], v[n], m[n]: bool): w[i] = exp(x[i])*m[i]; out = sum[i](w[i]*v[i])/sum[i](w[i])",
    "f(x[n], v[n], m[n]): w[i] = exp(x[i])*m[i]; out = sum[i](w[i]*v[i])/sum[i](w[i])",
    "f(x[n], v[n], m[n])[i] = v[i]*exp(x[i])/sum[j](m[j]*exp(x[j])/2)",
    "f(x[n], v[n], m[n])[i:n,k:n] = sum[j](where(j <= i, exp(x[j]), 0)*v[k]*v[j])/sum[j](exp(x[j])*(j <= i))",
    "f(x[n], v[n], m[n]) = log(mean[j](exp(x[j]))) - log(sum[j](m[j]*exp(x[j])))",
    "f(x[n], v[n], m[n]): s[i] = sum[j](v[j]*exp(x[j]*v[i])); t[i] = sum[j](exp(x[j]*v[i])); out[k] = 2*s[k]/t[k]",
]


@both
@pytest.mark.parametrize("text", SHIFTED)
@pytest.mark.in_turn
def test_a_quotient_of_sums_of_exponentials_does_not_overflow(text, to):
    """At x + 800 what it is at x, where the largest x has the weight 0."""
    assert sg.check(sg.parse(text), to=to).ok
    code = loaded(text, to)
    x, v, m = np.array([1.5, 300.0, -2.0]), np.array([1.0, 0.5, 1.0]), np.array([1.0, 0.0, 0.5])
    m = m != 0 if "bool" in text else m
    found = []
    for shift in (0.0, 800.0):
        with np.errstate(over="raise", invalid="raise"):
            out, saved = code.forward(x + shift, v, m)
            found.append((out, *(g for g in code.backward(saved, np.ones_like(out)) if g is not None)))
    for near, far in zip(*found, strict=True):
        np.testing.assert_allclose(far, near, rtol=1e-12)


AGAIN = [  # the gradient of a gradient is that of any function; what it was given is an input
    "f(x[n])[i] = x[i]**3",
    "f(x[n], a[n]: bool) -> o, p: o[i] = (a[i] + (x[i] > 0))*x[i]**3; p = x[0]**2",
    "f(x[n], y[m])[i:n] = where(i < m, y[i]**3, x[i]**2)",
    "f(x[n], y[m], w) -> o, p: o[i] = x[i]**3; p = 2",  # what nothing contributes to is 0
]


@both
@pytest.mark.parametrize("derive", [sg.vjp, sg.jvp], ids=["vjp", "jvp"])
@pytest.mark.parametrize("text", AGAIN)
@pytest.mark.in_turn
def test_the_gradient_of_a_gradient_is_printed(text, derive, to):
    report = sg.check(derive(sg.parse(text)).function, to=to)
    assert report.ok, report


REFUSED = [  # an option for which a subscript would leave its array, or an extent divide by 0
    ("f(x[n]; k=1)[i:n-3] = x[i+k]", -1, "needs k >= 0"),
    ("f(x[n]; k=2)[i] = x[k*i]", 0, "needs k >= 1"),
    ("f(x[n]; k=2)[i] = x[k*i]", -1, "needs k >= 1"),
    ("f(x[n]; k=1) -> o: o[i:n-3] = x[i]; o[i+k] += x[i]", -1, "k >= 0"),
]


@both
@pytest.mark.parametrize(("text", "k", "said"), REFUSED)
def test_an_option_that_does_not_fit_is_refused(text, k, said, to):
    with pytest.raises(ValueError, match=said):
        loaded(text, to).forward(np.ones(6), k=k)


BRANCHES = [  # what a branch reads at places that numbers alone tell
    ("f(x[n]) = sum[s:4](where(s % 2 == 0, x[s], 0))", 2, "needs 3 <= n"),
    ("f(x[n])[i:2] = where(i > 0, x[2*i], x[n-1])", 2, "3 <= n"),
    ("f(x[n])[i:3] = where(i < 2, x[n-2+i], 0)", 1, "2 <= n|n - 2 >= 0"),
]


@both
@pytest.mark.parametrize(("text", "n", "said"), BRANCHES)
def test_places_that_a_branch_reads_are_inside(text, n, said, to):
    with pytest.raises(ValueError, match=said):
        loaded(text, to).forward(np.ones(n))


def test_a_branch_that_always_reads_outside_is_refused():
    with pytest.raises(sg.ShapeError, match="in a branch that reads it"):
        sg.parse("f(x[n], z[3])[i:4] = where(i > 1, z[i], x[i])")


@pytest.mark.parametrize(
    ("said", "unsaid"),
    [
        ("i*(i+1)//2 < u", r"unless i \* \(i \+ 1\) // 2 >= 0\."),
        ("i*(i+1)//2 >= 0", r"unless i \* \(i \+ 1\) // 2 < u\."),
    ],
)
def test_what_a_condition_must_say_is_named(said, unsaid):
    """Of a place that is no sum of multiples of indices nothing is known but what is said."""
    with pytest.raises(sg.ShapeError, match=unsaid):
        sg.parse(f"f(x[u])[i:u] = where({said}, x[i*(i+1)//2], 0)")
    sg.parse("f(x[u])[i:u] = where((i*(i+1)//2 >= 0) & (i*(i+1)//2 < u), x[i*(i+1)//2], 0)")


UNDEFINED = [  # an option outside of the domain gives what NumPy gives, and raises nothing
    ("f(x; k=2.0) = x*exp(k)", 1000.0, np.inf),
    ("f(x; k=2.0) = x*log(k)", 0.0, -np.inf),
    ("f(x; k=2.0) = x*sqrt(k)", -1.0, np.nan),
    ("f(x; k=2.0) = x*k**2.5", 1e200, np.inf),
    ("f(x; k=2.0) = x/k", 0.0, np.inf),
    ("f(x; k=2.0) = where(k == 0, x, x*cos(1/k))", 0.0, 1.0),
]


@both
@pytest.mark.parametrize(("text", "k", "expected"), UNDEFINED)
def test_an_option_outside_of_the_domain_raises_nothing(text, k, expected, to):
    with np.errstate(all="ignore"):
        assert_array_equal(loaded(text, to).forward(np.array(1.0), k=k)[0], expected)
