"""Python functions as declarations: a table of mathematics against NumPy, how they print, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mathematics import interpret

import symgrad.declare as sg
from symgrad import check, generate, library
from symgrad.errors import DeclarationError, ShapeError, SymgradError, UnsupportedError
from symgrad.expr import show
from symgrad.ir import Function

rng = np.random.default_rng(7)
exp, log, sqrt, tanh, relu, sin, maximum = (getattr(sg, n) for n in "exp log sqrt tanh relu sin maximum".split())


def normal(*shape: int) -> np.ndarray:
    return np.round(rng.standard_normal(shape), 3)


# the declarations


@sg.function
def squares(x, y):
    """The three products."""
    return x**2, x * y, y**2


@sg.function
def sines(x):
    a = sin(x)
    return a, 2 * a


@sg.function
def polynomial(p: sg.Tensor["... 2"]):
    x, y = p
    return sg.stack([x**2, x * y, y**2])


@sg.function
def linear(x: sg.Tensor["n k"], weight: sg.Tensor["m k"], bias: sg.Tensor["m"] = None):
    return x @ weight.T + bias


@sg.function("x[n,k], weight[m,k], bias[m]?")
def linear_by_text(x, weight, bias=None):
    return x @ weight.T + bias


@sg.function
def softmax(x: sg.Tensor["... d"]):
    e = exp(x)
    return e / e.sum(axis=-1, keepdims=True)


@sg.function
def layer_norm(x: sg.Tensor["n d"], gain: sg.Tensor["d"], bias: sg.Tensor["d"], *, eps: float = 1e-5):
    mean = x.mean(axis=-1, keepdims=True)
    var = x.var(axis=-1, keepdims=True)
    return (x - mean) / sqrt(var + eps) * gain + bias


@sg.function
def conv1d(x: sg.Tensor["n c w"], weight: sg.Tensor["o c r"], *, stride: int = 1):
    b, f, i, d, k = sg.indices("b f i d k")
    return sg.tensor[b, f, i](sg.sum[d, k](x[b, d, stride * i + k] * weight[f, d, k]))


@sg.function
def midpoint(rate: sg.Tensor["n"], start):
    y = sg.tensor.new("n+1")
    t = sg.indices("t")
    y[0] = start
    slope = rate[t] * y[t]
    half = y[t] + 0.5 * slope
    y[t + 1] = y[t] + rate[t] * half
    return y


@sg.function
def mlp(x: sg.Tensor["n k"], w1: sg.Tensor["h k"], w2: sg.Tensor["m h"], b: sg.Tensor["m"] = None):
    hidden = relu(linear(x, w1))
    return linear(hidden, w2, b)


@sg.function
def cross_entropy(logits: sg.Tensor["n c"], t: sg.Int["n"]):
    i = sg.indices("i")
    return (logits.logsumexp(axis=1) - sg.tensor[i](logits[i, t[i]])).mean()


@sg.function
def residual(x: sg.Tensor["n d"], w: sg.Tensor["d d"]):
    return x + np.tanh(x @ w)


@sg.function
def attention(q: sg.Tensor["*batch n d"], k: sg.Tensor["*batch m d"], v: sg.Tensor["*batch m e"]):
    weights = softmax(q @ k.mT / sqrt(q.shape[-1]))
    return weights @ v


@sg.function
def numpy_text(x: sg.Tensor["n k"], y: sg.Tensor["n 1"]):
    z = np.maximum(x, 0) - np.mean(x, axis=0) + np.float64(2.0) * y
    return np.where(z > 0, np.log1p(np.exp(z)), np.square(z)).sum(axis=-1), np.clip(z, -1, 1), np.prod(z, axis=0)


@sg.function
def slices(x: sg.Tensor["n"]):
    return x[1:] - x[:-1], x[::2], x[::-1], x[-1], x[:, None] * x[None], x[2:5:2]


@sg.function
def columns(x: sg.Tensor["n 3"], t: sg.Int["m"]):
    return x[t], x[:, 0], x[..., 1:], x[0] @ x[1], x[t, 2]


@sg.function
def differences(x: sg.Tensor["n"]):
    i = sg.indices("i", i="n-1")
    return sg.tensor[i](x[i + 1] - x[i])


@sg.function
def scatter(x: sg.Tensor["n"], t: sg.Int["n"], table: sg.Tensor["m"]):
    out = sg.tensor.new("m")
    i = sg.indices("i")
    out[...] = table
    out[t[i]] += 2 * x[i]
    return out


@sg.function
def interleave(x: sg.Tensor["n"]):
    out = sg.tensor.new("2*n")
    out[::2] = x
    out[1::2] = x**2
    return out


@sg.function
def heads(x: sg.Tensor["n d"], w: sg.Tensor["h e"]):
    n, h, e = sg.indices("i j l")
    return sg.tensor[n, h, e](x[n, sg.merge(h, e)] * w[h, e])


@sg.function
def reshaped(x: sg.Tensor["m 4"], y: sg.Tensor["n h 3 k"]):
    return x.reshape(-1, 2, 2), y.reshape(y.shape[0], -1), np.reshape(y, (-1, 1, 3, y.shape[3])) * 2


@sg.function
def merged(x: sg.Tensor["n h e"], w: sg.Tensor["... m"]):
    i, j, k, l = sg.indices("i j k l")
    r = sg.indices("r", r="4")
    rows = sg.tensor[sg.merge(j, i), k](x[i, j, k])
    return sg.tensor[i, sg.merge(sg.merge(k, l), j)](x[i, j, k] * rows[l, k]), sg.tensor[..., sg.merge(i, r)](w[..., i])


@sg.function
def split(x: sg.Tensor["n c"], y: sg.Tensor["n m"], w: sg.Tensor["n d"], *, groups: int = 2):
    n, c = x.shape
    parts = x.reshape(n, groups, -1)
    return (
        parts.swapaxes(1, 2).reshape(n, c),
        y.reshape(n, groups, w.shape[1]).sum(axis=1),
        x[:, groups - 1 : c],
        parts.reshape(n, -1),
    )


@sg.function
def reflected(x: sg.Tensor["n"], t: sg.Bool["n"], *, left: int = 2):
    i = sg.indices("i", i="n+left")
    last = x.shape[0] - 1
    return (
        sg.tensor[i](x[last - abs(last - abs(i - left))]),
        sg.tensor[i](x[sg.minimum(sg.maximum(i - left, 0), last)]),
        sg.tensor[i](x[(i - left) % x.shape[0]]),
        sg.where(t, x, -np.inf).max(),
        sg.where(t, np.inf, x).min(),
    )


@sg.function
def partly(x: sg.Tensor["n 3"], table: sg.Tensor["m 3"]):
    i, j, c = sg.indices("i j c")
    y = sg.tensor[i, j](x[i, j] ** 2)
    rows = table[: x.shape[0]]
    return sg.tensor[i, c:2](y[i, c]), sg.tensor[i, c](rows[i, c] + x[i, c]), sg.tensor[i, j : i + 1](x[i, j])


@sg.function
def triangle(x: sg.Tensor["n n"]):
    i, j = sg.indices("i j")
    return [sg.tensor[i](kind[j : i + 1](x[i, j])) for kind in (sg.sum, sg.mean, sg.max, sg.prod, sg.logsumexp)]


@sg.function
def letters(i: sg.Tensor["j"], r: sg.Tensor["j"]):  # named as the indices of what is called
    return pooled(i * r)


@sg.function
def certain(x: sg.Tensor["n"]):
    i = sg.indices("i", i="n - 1")
    inside = (i + 1 >= 0) & (i + 1 < x.shape[0]) & (i < 7)
    return sg.tensor[i](sg.where(inside, x[i + 1], 0))


@sg.function
def pooled(x: sg.Tensor["n"]):
    i, r = sg.indices("i r")
    return sg.tensor[i](sg.max[r:2](x[2 * i + r]))


@sg.function
def joined(x: sg.Tensor["n d"], y: sg.Tensor["m d"]):
    return np.concatenate([x, y]), np.stack([x, 2 * x], axis=1)


@sg.function
def spread(x: sg.Tensor["n d"]):
    return x.std(axis=0, ddof=1), x.var(), x.sum(axis=1, keepdims=True), x.sum(axis=(0, 1)), x.argmax(axis=1)


@sg.function
def reduced(x: sg.Tensor["n d"], *, reduction: str = "mean", axis: sg.Static = 1):
    return x.mean() if reduction == "mean" else x.sum(axis)


@sg.function
def masked(x: sg.Tensor["n"], mask: sg.Bool["n"] = None, scale: sg.Tensor[""] = None):
    return sg.given(mask, sg.where(mask, x, 0), x) * scale


@sg.function
def summed(x: sg.Tensor["n"], mask: sg.Tensor["n"] = None):
    k = sg.indices("k")
    return sg.given(mask, sg.sum[k](sg.exp(mask[k]) * x[k]), sg.sum[k](x[k]))


@sg.function
def summed_by_axes(x: sg.Tensor["n"], mask: sg.Tensor["n"] = None):
    return sg.given(mask, (np.exp(mask) * x).sum(), x.sum())


@sg.function
def scalars(x: sg.Tensor["n"], a, b):
    t = a * b
    return x * t + t, maximum(a, b, 0.5)


@sg.function
def copies(x):
    y = x * 2
    return y, y, x, 1.5


X, W, B = normal(3, 4), normal(2, 4), normal(2)
LONG, SHORT = normal(7), normal(5)
TURN = np.array([0.5, -0.1, 0.7, 0.5])  # a unit quaternion
Q, K, V = normal(2, 3, 4), normal(2, 5, 4), normal(2, 5, 3)


def turned(v: np.ndarray) -> np.ndarray:
    found = interpret(library.quaternion_rotate.function, dict(q=TURN, v=v), {})["out"]
    return np.asarray(found, dtype=float).ravel()


def np_softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x)
    return e / e.sum(axis=-1, keepdims=True)


def np_conv1d(x: np.ndarray, w: np.ndarray, stride: int) -> np.ndarray:
    count = (x.shape[2] - w.shape[2]) // stride + 1
    windows = np.stack([x[:, :, stride * i : stride * i + w.shape[2]] for i in range(count)], axis=2)
    return np.einsum("bdik,fdk->bfi", windows, w)


def np_numpy_text(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, ...]:
    z = np.maximum(x, 0) - np.mean(x, axis=0) + 2.0 * y
    return np.where(z > 0, np.log1p(np.exp(z)), z**2).sum(axis=-1), np.clip(z, -1, 1), np.prod(z, axis=0)


def np_layer_norm(x: np.ndarray, gain: np.ndarray, bias: np.ndarray, eps: float) -> np.ndarray:
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps) * gain + bias


Case = tuple[Function, dict[str, Any], dict[str, Any], Any]
T3 = np.array([2, 0, 1])
CASES: dict[str, Callable[[], Case]] = {
    "squares of scalars": lambda: (squares.function, dict(x=3.0, y=-2.0), {}, (9.0, -6.0, 4.0)),
    "squares of arrays": lambda: (squares.function, dict(x=X, y=2 * X), {}, (X**2, 2 * X * X, 4 * X**2)),
    "a local that is returned": lambda: (sines.function, dict(x=X), {}, (np.sin(X), 2 * np.sin(X))),
    "unpack and stack": lambda: (
        polynomial.function,
        dict(p=X[:, :2]),
        {},
        np.stack([X[:, 0] ** 2, X[:, 0] * X[:, 1], X[:, 1] ** 2], -1),
    ),
    "linear with bias": lambda: (linear.function, dict(x=X, weight=W, bias=B), {}, X @ W.T + B),
    "linear without bias": lambda: (linear.function, dict(x=X, weight=W, bias=None), {}, X @ W.T),
    "linear by text": lambda: (linear_by_text.function, dict(x=X, weight=W, bias=B), {}, X @ W.T + B),
    "softmax": lambda: (softmax.function, dict(x=Q), {}, np_softmax(Q)),
    "layer norm": lambda: (
        layer_norm.function,
        dict(x=X, gain=X[0], bias=X[1]),
        {"eps": 0.25},
        np_layer_norm(X, X[0], X[1], 0.25),
    ),
    "conv, stride 2": lambda: (
        conv1d.function,
        dict(x=normal_x, weight=normal_w),
        {"stride": 2},
        np_conv1d(normal_x, normal_w, 2),
    ),
    "mlp": lambda: (
        mlp.function,
        dict(x=X, w1=normal_h, w2=normal_o, b=B),
        {},
        np.maximum(X @ normal_h.T, 0) @ normal_o.T + B,
    ),
    "cross entropy": lambda: (
        cross_entropy.function,
        dict(logits=X, t=T3),
        {},
        (np.log(np.exp(X).sum(1)) - X[np.arange(3), T3]).mean(),
    ),
    "residual": lambda: (residual.function, dict(x=X, w=X.T @ X), {}, X + np.tanh(X @ (X.T @ X))),
    "attention": lambda: (
        attention.function,
        dict(q=Q, k=K, v=V),
        {},
        np_softmax(Q @ K.swapaxes(-1, -2) / 2.0) @ V,
    ),
    "NumPy's functions": lambda: (numpy_text.function, dict(x=X, y=X[:, :1]), {}, np_numpy_text(X, X[:, :1])),
    "slices": lambda: (
        slices.function,
        dict(x=LONG),
        {},
        (np.diff(LONG), LONG[::2], LONG[::-1], LONG[-1], np.outer(LONG, LONG), LONG[2:5:2]),
    ),
    "integer subscripts": lambda: (
        columns.function,
        dict(x=X[:, :3], t=np.array([2, 0, 0, 1])),
        {},
        (X[[2, 0, 0, 1], :3], X[:, 0], X[:, 1:3], X[0, :3] @ X[1, :3], X[[2, 0, 0, 1], 2]),
    ),
    "an extent that is given": lambda: (differences.function, dict(x=LONG), {}, np.diff(LONG)),
    "scatter": lambda: (
        scatter.function,
        dict(x=B, t=[1, 1], table=LONG),
        {},
        LONG + 2 * B.sum() * (np.arange(7) == 1),
    ),
    "a matrix of rows": lambda: (
        library.quaternion_to_matrix.function, dict(q=TURN), {},
        np.stack([turned(v) for v in np.eye(3)], axis=1)),
    "interleave": lambda: (interleave.function, dict(x=B), {}, np.stack([B, B**2], -1).ravel()),
    "split axis": lambda: (heads.function, dict(x=X, w=X[:2, :2]), {}, X.reshape(3, 2, 2) * X[:2, :2]),
    "reshape": lambda: (
        reshaped.function,
        dict(x=X, y=normal_y),
        {},
        (X.reshape(-1, 2, 2), normal_y.reshape(2, -1), normal_y.reshape(-1, 1, 3, 5) * 2),
    ),
    "merged axes": lambda: (
        merged.function,
        dict(x=normal_y[..., 0], w=X),
        {},
        (
            np.einsum(
                "ijk,lk->iklj", normal_y[..., 0], normal_y[..., 0].swapaxes(0, 1).reshape(4, 3)
            ).reshape(2, -1),
            X.repeat(4, axis=-1),
        ),
    ),
    "axes split by an option": lambda: (
        split.function,
        dict(x=X, y=normal_h.T[:, :4].copy()[:3], w=X[:, :2]),
        {"groups": 2},
        (
            X.reshape(3, 2, 2).swapaxes(1, 2).reshape(3, 4),
            normal_h.T[:3, :4].reshape(3, 2, 2).sum(1),
            X[:, 1:],
            X,
        ),
    ),
    "padding": lambda: (
        reflected.function,
        dict(x=SHORT, t=SHORT > 0),
        {},
        (
            np.pad(SHORT, (2, 0), mode="reflect"),
            np.pad(SHORT, (2, 0), mode="edge"),
            np.pad(SHORT, (2, 0), mode="wrap"),
            SHORT[SHORT > 0].max(),
            SHORT[SHORT <= 0].min(),
        ),
    ),
    "letters of a called function": lambda: (
        letters.function,
        dict(i=LONG, r=LONG),
        {},
        (LONG**2)[:6].reshape(3, 2).max(1),
    ),
    "a condition that holds": lambda: (certain.function, dict(x=LONG), {}, LONG[1:]),
    "max pool": lambda: (pooled.function, dict(x=LONG), {}, LONG[:6].reshape(3, 2).max(1)),
    "joined": lambda: (joined.function, dict(x=X, y=W), {}, (np.concatenate([X, W]), np.stack([X, 2 * X], axis=1))),
    "std, var, sums, argmax": lambda: (
        spread.function,
        dict(x=X),
        {},
        (X.std(0, ddof=1), X.var(), X.sum(1, keepdims=True), X.sum(), X.argmax(1)),
    ),
    "static, as it is": lambda: (reduced.function, dict(x=X), {}, X.mean()),
    "static, fixed": lambda: (reduced.with_static(reduction="sum", axis=0).function, dict(x=X), {}, X.sum(0)),
    **{f"sum under a mask that is {word}, {how}": lambda f=f, mask=mask, value=value: (
        f.function, dict(x=SHORT, mask=mask), {}, value)
       for how, f in (("by indices", summed), ("by axes", summed_by_axes))
       for word, mask, value in (("given", SHORT, (np.exp(SHORT) * SHORT).sum()), ("absent", None, SHORT.sum()))},
    "mask given": lambda: (masked.function, dict(x=SHORT, mask=SHORT > 0, scale=2.0), {}, 2 * SHORT * (SHORT > 0)),
    "mask absent": lambda: (masked.function, dict(x=SHORT, mask=None, scale=None), {}, SHORT),
    "scalars beside a tensor": lambda: (scalars.function, dict(x=B, a=2.0, b=3.0), {}, (6 * B + 6, 3.0)),
    "read in part": lambda: (
        partly.function,
        dict(x=X[:, :3], table=normal_t),
        {},
        (X[:, :2] ** 2, normal_t[:3] + X[:, :3], np.tril(X[:, :3])),
    ),
    "a triangle": lambda: (
        triangle.function,
        dict(x=X[:, :3]),
        {},
        tuple(
            np.array([f(X[i, : i + 1]) for i in range(3)])
            for f in (np.sum, np.mean, np.max, np.prod, lambda x: np.log(np.exp(x).sum()))
        ),
    ),
    "one value twice": lambda: (copies.function, dict(x=B), {}, (2 * B, 2 * B, B, np.full(2, 1.5))),
}
normal_x, normal_w = normal(2, 3, 8), normal(2, 3, 3)
normal_y = normal(2, 2, 3, 5)
normal_t = normal(5, 3)
normal_h, normal_o = normal(5, 4), normal(2, 5)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_value(case: Callable[[], Case]) -> None:
    function, inputs, options, expected = case()
    arrays = interpret(function, inputs, options)
    expected = expected if isinstance(expected, tuple) else (expected,)
    assert len(function.outputs) == len(expected)
    for name, wanted in zip(function.outputs, expected, strict=True):
        found = np.array([float(v) for v in arrays[name].ravel()])
        assert found.size == np.size(wanted), name
        np.testing.assert_allclose(
            found, np.ravel(np.asarray(wanted, dtype=float)), rtol=1e-13, atol=1e-13, err_msg=name
        )


PRINTED: dict[str, tuple[sg.Declared, str]] = {
    "squares": (
        squares,
        """
        squares(x[...], y[...]) -> out0, out1, out2:
            out0[...] = x[...]**2
            out1[...] = x[...] * y[...]
            out2[...] = y[...]**2
        """,
    ),
    "a local names its output": (
        sines,
        """
        sines(x[...]) -> a, out1:
            a[...] = sin(x[...])
            out1[...] = 2 * a[...]
        """,
    ),
    "linear": (
        linear,
        """
        linear(x[n,k], weight[m,k], bias[m]?) -> out:
            x_weight[i,j] = sum[l](x[i,l] * weight[j,l])
            out[i,j] = x_weight[i,j]
            out[i,j] += bias[j]  when bias is given
        """,
    ),
    "softmax": (
        softmax,
        """
        softmax(x[...,d]) -> out:
            e[...,j] = exp(x[...,j])
            sum_e[...] = sum[j](e[...,j])
            out[...,j] = e[...,j] / sum_e[...]
        """,
    ),
    "layer norm": (
        layer_norm,
        """
        layer_norm(x[n,d], gain[d], bias[d]; eps=1e-05) -> out:
            mean[i] = sum[j](x[i,j] / d)
            var[i] = sum[j]((x[i,j] - mean[i])**2 / d)
            out[i,j] = (x[i,j] - mean[i]) / sqrt(var[i] + eps) * gain[j] + bias[j]
        """,
    ),
    "conv": (
        conv1d,
        """
        conv1d(x[n,c,w], weight[o,c,r]; stride=1) -> out:
            require(stride >= 1)
            out[b,f,i:(w - r) // stride + 1] = sum[d,k](x[b,d,stride * i + k] * weight[f,d,k])
        """,
    ),
    "midpoint": (
        midpoint,
        """
        midpoint(rate[n], start) -> y:
            y[0] = start
            slope[t] = rate[t] * y[t]
            half[t] = y[t] + 0.5 * slope[t]
            y[t + 1] = y[t] + rate[t] * half[t]
        """,
    ),
    "mlp": (
        mlp,
        """
        mlp(x[n,k], w1[h,k], w2[m,h], b[m]?) -> out:
            x_w1[i,l] = sum[p](x[i,p] * w1[l,p])
            hidden[i,l] = relu(x_w1[i,l])
            hidden_w2[i,j] = sum[l](hidden[i,l] * w2[j,l])
            out[i,j] = hidden_w2[i,j]
            out[i,j] += b[j]  when b is given
        """,
    ),
}


def _squeezed(text: str) -> list[str]:
    return [line.strip().replace(", ", ",") for line in text.strip().splitlines()]


@pytest.mark.parametrize(("declared", "text"), PRINTED.values(), ids=PRINTED.keys())
def test_printed(declared: sg.Declared, text: str) -> None:
    assert _squeezed(str(declared.function)) == _squeezed(text)


FORMULAS: dict[str, tuple[sg.Declared, str]] = {
    "one line": (squares, "squares(x, y) = x**2, x * y, y**2"),
    "a named local": (sines, "a = sin(x)\nout1 = 2 * a"),
    "hoisted sums go back": (linear, "out[i,j] = sum[l](x[i,l] * weight[j,l]) + bias[j]"),
    "softmax": (softmax, "e[...,j] = exp(x[...,j])\nout[...,j] = e[...,j] / sum[j](e[...,j])"),
    "conditions that hold": (certain, "out[i] = where(i < 7, x[i + 1], 0)"),
    "accumulation": (scatter, "out[j] = table[j]\nout[t[i]] += 2 * x[i]"),
}


@pytest.mark.parametrize(("declared", "text"), FORMULAS.values(), ids=FORMULAS.keys())
def test_formula(declared: sg.Declared, text: str) -> None:
    assert _squeezed(declared.function.formula) == _squeezed(text)


def test_declared_is_still_the_python_function() -> None:
    assert (squares.__name__, squares.__doc__) == ("squares", "The three products.")
    assert squares.__wrapped__(2, 3) == (4, 6, 9)
    assert squares.function is squares.function
    assert squares.function.source.endswith("test_python:squares")


def test_what_is_overwritten_keeps_its_name():
    @sg.function
    def steps(u: sg.Tensor["n"], w: sg.Tensor["n n"], k: float):
        for _ in range(2):
            u = u + k * (np.roll(u, 1) - u)
        v = np.tanh(w @ u)
        v = w.T @ v
        return v * v

    names = [line.split("[")[0].strip() for line in str(steps.function).splitlines()[1:]]
    assert names == ["u_2", "u_3", "w_u_3", "v", "v_2", "out"]


def test_what_is_written_twice_is_computed_once():
    @sg.function
    def gain(p: sg.Tensor["n n"], h: sg.Tensor["m n"], r: sg.Tensor["m m"]):
        s = h @ p @ h.T + r
        return np.linalg.solve(s, h @ p)

    text = generate(gain, check=False)["gain_numpy.py"]
    assert text.split("def backward")[0].count("= h @ p\n") == 1


def test_a_chain_of_operations_takes_linear_time() -> None:
    def chain(x: Any, y: Any) -> Any:
        for k in range(10_000):
            x = sin(x) * y + k
        return x

    assert len(sg.function(chain).function.statements) == 1


# refusals


def torn(x: sg.Tensor["n m"]):
    return x.reshape(2, -1)


def torn_in_two(x: sg.Tensor["n m"], y: sg.Tensor["k"]):
    return x.reshape(x.shape[0], y.shape[0])


def infinite(x):
    return x * sg.where(x > 0, x, np.inf)


def unending(x: sg.Tensor["n"], t: sg.Int["n"]):
    i = sg.indices("i")
    return sg.tensor[t[i] + i](x[i])


def torn_apart(x: sg.Tensor["6 5"]):
    return x.reshape(10, 3)


def if_on_symbol(x):
    return x if x > 0 else -x


def two_sizes(x: sg.Tensor["n k"], weight: sg.Tensor["m h"]):
    return x @ weight.T


def broadcast_names(x: sg.Tensor["n k"], w: sg.Tensor["m"]):
    y = 2 * x
    return y + w


def loose_index(x: sg.Tensor["n k"]):
    i, j = sg.indices("i j")
    return x[i, j]


def constants(x: sg.Tensor["n"]):
    return x.sum() * np.arange(300.0)


def symbolic_range(x: sg.Tensor["n"]):
    return sum(x[i] for i in range(x.shape[0]))


def absent_alone(x: sg.Tensor["n"], b: sg.Tensor["n"] = None):
    return exp(b) + x


def stretched_pack(x: sg.Tensor["... n"], y: sg.Tensor["m n"]):
    return x + y


def wrong_call(x: sg.Tensor["n k"], w: sg.Tensor["n k"]):
    return linear(x, w.T)


def assigned_twice(x: sg.Tensor["n"]):
    out = sg.tensor.new("n")
    out[...] = x
    out[...] = 2 * x
    return out


def unknown_size(x: sg.Tensor["n"]):
    return sg.tensor.new("m")


def nothing(x):
    2 * x


def no_extent(x: sg.Tensor["n"]):
    i, r = sg.indices("i r")
    return sg.tensor[i](sg.sum[r](x[2 * i + r]))


def first_axis_of_pack(x: sg.Tensor["... n"]):
    return x.sum(axis=0)


def recurrence(x: sg.Tensor["n"]):
    h = sg.tensor.new("n+1")
    t = sg.indices("t", t="n")
    h[t + 1] = tanh(h[2 * t] + x[t])
    return h


def positional_number(x, p: int):
    return x**p


def many(*x):
    return x


def misspelt(x: sg.Tensor["k n ..."]):
    return x


def untold_size(x: sg.Tensor["4*k n"], y: sg.Tensor["n"]):
    return x + y


def gated(x: sg.Tensor["n i"], w: sg.Tensor["2*k i"], b: sg.Tensor["2*k"], h: sg.Tensor["n k"]):
    a, g = np.split(x @ w.T + b, 2, axis=1)
    return a * sg.sigmoid(g) + h


def wrong_gates(x: sg.Tensor["n i"], w: sg.Tensor["3*k i"], b: sg.Tensor["3*k"], h: sg.Tensor["n k"]):
    return sg.function(gated)(x, w, b, h)


REFUSED: dict[str, tuple[Callable[..., Any], type[SymgradError], tuple[str, ...]]] = {
    "if on a symbol": (if_on_symbol, DeclarationError, ("no truth value", "np.where(", "sg.Static", "test_python.py:")),
    "two sizes": (
        two_sizes,
        ShapeError,
        ("two_sizes: ", "x          (n, k)", "weight.T   (h, m)", "sums over k and h"),
    ),
    "names do not broadcast": (broadcast_names, ShapeError, ("y   (n, k)", "w   (m,)", "test_python.py:")),
    "loose index": (loose_index, DeclarationError, ("the index i", "sg.tensor[i]", "sg.sum[i]", "test_python.py:")),
    "array of constants": (constants, DeclarationError, ("Make it an input", "test_python.py:")),
    "range of a size": (symbolic_range, DeclarationError, ("no integer value", "test_python.py:")),
    "absent in exp": (
        absent_alone,
        DeclarationError,
        ("b is optional", "sg.given(b, then, otherwise)", "test_python.py:"),
    ),
    "reshape by half of an axis": (torn, ShapeError, ("merging", "(n, m)", "test_python.py:")),
    "reshape to another size": (torn_in_two, ShapeError, ("(n, m) does not become (n, k)", "test_python.py:")),
    "infinity": (infinite, DeclarationError, ("oo is given to an operator that has no limit there", "test_python.py:")),
    "subscripts from data": (unending, DeclarationError, ("takes indices of sg.indices", "test_python.py:")),
    "reshape across an axis": (torn_apart, ShapeError, ("merging", "splitting one", "test_python.py:")),
    "pack and name": (stretched_pack, ShapeError, ("does not stretch", "test_python.py:")),
    "call with wrong shapes": (wrong_call, ShapeError, ("linear: k has two sizes", "test_python.py:")),
    "a size that nothing tells": (untold_size, DeclarationError, ("x has the size 4*k", "give it to an axis")),
    "call with a wrong multiple": (
        wrong_gates,
        ShapeError,
        ("gated: w has 3 * k in axis 0, and is declared with 2*k, which is 2 * k in this call", "test_python.py:"),
    ),
    "assigned twice": (assigned_twice, DeclarationError, ("assigned twice", "+=", "test_python.py:")),
    "unknown size": (unknown_size, DeclarationError, ("m is no size", "Known: n", "test_python.py:")),
    "nothing returned": (nothing, DeclarationError, ("returns nothing", "test_python.py:")),
    "extent that nothing tells": (
        no_extent,
        ShapeError,
        ("nothing tells how far the index", "sg.indices(", "test_python.py:"),
    ),
    "axis of a pack": (first_axis_of_pack, DeclarationError, ("count from the end", "test_python.py:")),
    "recurrence": (recurrence, UnsupportedError, ("recurrence", "test_python.py:")),
    "number by position": (positional_number, DeclarationError, ("p: int is no real number", "With a default, p=2")),
    "any number of inputs": (many, DeclarationError, ("number of inputs is fixed",)),
}


def gates_of_others(x: sg.Tensor["n i"], w: sg.Tensor["2*k i"], b: sg.Tensor["2*k"], h: sg.Tensor["n k"]):
    return sg.function(gated)(x, w, b, h) ** 2


def nodes(t: sg.Tensor["n+1"], f: sg.Tensor["n"]):
    return ((t[1:] - t[:-1]) * f).sum()


def beside(x: sg.Tensor["i"], h: sg.Tensor["k"], w: sg.Tensor["k i+k"]):
    return w @ np.concatenate([x, h])


def padded(x: sg.Tensor["n+2*p"], y: sg.Tensor["n"], *, p: int = 1):
    return x[: y.shape[0]] * y


@pytest.mark.parametrize("python", [gated, gates_of_others, nodes, beside, padded])
@pytest.mark.parametrize("to", ["numpy", "c"])
@pytest.mark.in_turn
def test_sizes_that_others_tell(python, to):
    report = check(sg.function(python), to=to)
    assert report.ok, report


def test_sizes_that_others_tell_are_one_size_where_they_are_equal():
    code = generate(sg.function(beside), check=False)["beside_numpy.py"]
    assert "beside: needs w_length == i + k, here w_length = {w_length}" in code
    assert "out = w @ joined\n" in code and "joined[:" not in code


@pytest.mark.parametrize(("python", "error", "texts"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(python: Callable[..., Any], error: type[SymgradError], texts: tuple[str, ...]) -> None:
    with pytest.raises(error) as caught:
        _ = sg.function(python).function
    for text in texts:
        assert text in str(caught.value)
    assert str(Path(__file__).parent) not in str(caught.value)


@pytest.mark.parametrize("name", ["softmax", "logsumexp", "std", "flip", "diff", "vector_norm"])
def test_a_caller_counts_axes_from_the_front(name: str) -> None:
    def along(axis: int) -> str:
        def called(x: sg.Tensor["n c k"]):
            return getattr(library, name)(x, axis=axis)

        return repr(sg.function(called).function)

    assert along(1) == along(-2) != along(-1)


ELSEWHERE = {
    "cumsum": "a formula takes NumPy's own: np.cumsum",
    "multi_dot": "np.linalg.multi_dot",
    "softmax": "from symgrad.library import softmax",
    "sinn": "did you mean sin?",
}


@pytest.mark.parametrize(("name", "where"), ELSEWHERE.items())
def test_what_symgrad_has_not_is_elsewhere(name: str, where: str) -> None:
    with pytest.raises(AttributeError, match=where.replace("?", r"\?")):
        getattr(sg, name)


def misspelled(x: sg.Tensor["n"]):
    return sg.sinn(x)


class Scaled:
    factor = 3

    @sg.function
    def times(self, x: sg.Tensor["n"], *, power: int = 1):
        return self.factor**power * x

    @sg.function
    def twice(self, x: sg.Tensor["n"]):
        return self.times(x) + x


def test_a_method_is_that_of_an_object() -> None:
    assert str(Scaled().twice).splitlines()[1:] == ["    out[i] = 3 * x[i] + x[i]"]
    assert str(Scaled().times.with_static(power=2)).splitlines()[1:] == ["    out[i] = 9 * x[i]"]


def test_a_mistake_has_a_repr() -> None:
    assert repr(sg.function(misspelled)) == "<symgrad function misspelled>"


def test_a_declaration_has_no_values() -> None:
    with pytest.raises(DeclarationError, match="is a declaration, and has no values"):
        squares(1.0, 2.0)


def test_a_pack_comes_first() -> None:
    with pytest.raises(DeclarationError, match="comes first"):
        sg.function(misspelt)


@sg.function
def shares(x: sg.Tensor["..."], *, axis: sg.Static = -1):
    return x / x.sum(axis=axis, keepdims=True)


@sg.function
def shares_of_rows(x: sg.Tensor["n m"], scale: sg.Tensor["m"]):
    return shares(x, axis=-2) * scale


@sg.function
def picked(x: sg.Tensor["... c w*places"], t: sg.Int["... w*places"], *, places: sg.Static = 0):
    taken = np.take_along_axis(x, np.expand_dims(t, -1 - places), axis=-1 - places)
    return taken.sum()


SHAPES = (  # axes that a pack holds, and packs that a static option counts
    (shares, {}, {"x": ("...", "n")}),
    (shares, {"axis": -2}, {"x": ("...", "m", "n")}),
    (shares, {"axis": (-1, -3)}, {"x": ("...", "p", "m", "n")}),
    (shares_of_rows, {}, {"x": ("n", "m"), "scale": ("m",)}),
    (picked, {}, {"x": ("...", "c"), "t": ("...",)}),
    (picked, {"places": 1}, {"x": ("...", "c", "w"), "t": ("...", "w")}),
    (picked, {"places": 2}, {"x": ("...", "c", "w1", "w2"), "t": ("...", "w1", "w2")}),
)


@pytest.mark.parametrize(("declared", "static", "shapes"), SHAPES)
def test_static_options_say_how_many_axes_there_are(declared, static, shapes) -> None:
    function = declared.with_static(**static).function
    assert {n: tuple(map(str, map(show, function.table[n].shape))) for n in function.inputs} == shapes


@sg.function
def every(x: sg.Tensor["n"], *, step: int = 2):
    return x[::step] if isinstance(step, int) else step * x


def test_an_option_of_each_call_can_be_fixed() -> None:
    assert [o.name for o in every.function.options] == ["step"]
    assert every.with_static(step=3).function.options == ()


def test_an_input_can_be_left_out() -> None:
    function = library.layer_norm.with_static(gain=None).function
    assert function.inputs == ("x", "bias")


def test_axes_are_counted_by_a_number() -> None:
    with pytest.raises(DeclarationError, match=r"x has w\*places axes: .* places says how many, not 'two'"):
        picked.with_static(places="two")


@sg.function
def log_probabilities(x: sg.Tensor["n k"], w: sg.Tensor["c k"], bias: sg.Tensor["c"] = None):
    return library.log_softmax(library.linear(x, w, bias))


def test_what_an_optional_input_changes_is_an_array_of_its_own_where_it_is_read_twice() -> None:
    (body,) = (e.body for e in log_probabilities.function.statements if e.target == "out")
    assert show(body) == "linear[i, j] - log(sum_linear[i])"


def test_an_error_leaves_no_declaration_behind() -> None:
    with pytest.raises(DeclarationError):
        _ = sg.function(if_on_symbol).function
    with pytest.raises(DeclarationError, match="belongs inside"):
        sg.tensor.new("n")
