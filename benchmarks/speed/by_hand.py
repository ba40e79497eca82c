"""The floors: C of c/, and the NumPy that a careful person writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .build import NATIVE, C, blas, call, compiled, point_case
from .measure import Case
from .tensors import TENSORS
from .work import BACKWARD, FORWARD, Job, zeros

Array = np.ndarray[Any, Any]
FAST = (*NATIVE, "-ffast-math")  # so that loops call the C library's functions for vectors


def c(job: Job) -> Case:
    """C of c/."""
    row = job.row
    if row.kind == "tensor":
        return _arrays(job)
    lines = {"lines": (C / f"{row.formula}.h").read_text().count("\n")}
    formula = f'-DFORMULA="{row.formula}.h"'
    text = (C / "point.c").read_text()
    if row.kind == "point":
        library, took = compiled(text, (*NATIVE, formula))
        return point_case(job, library, {**lines, "compiled": took})
    library, took = compiled(text, (*NATIVE, "-fno-math-errno", "-DBATCH", formula), ("-lmvec", "-lm"))
    n, x = job.points, np.stack(job.arguments)
    y, g = np.zeros_like(job.cotangent), np.zeros((len(row.wrt), n))
    return Case(
        {
            FORWARD: call(library, "batch_forward", (n, x, y), [*y]),
            BACKWARD: call(library, "batch_backward", (n, x, job.cotangent, g), [*g]),
        },
        {**lines, "compiled": took, "bytes": g.nbytes},
    )


def _arrays(job: Job) -> Case:
    row, (define, libraries, _) = job.row, blas()
    text = (C / f"{row.formula}.c").read_text()
    library, took = compiled(text, (*FAST, *define), (*libraries, "-lm"))
    work = zeros(TENSORS[row.formula].work(*job.sizes))
    out, gradients = zeros(job.cotangent.shape), [zeros(job.arguments[k].shape) for k in row.wrt]
    given = (*job.sizes, *job.arguments)
    return Case(
        {
            FORWARD: call(library, "forward", (*given, out, work), [out]),
            BACKWARD: call(library, "backward", (*given, job.cotangent, *gradients, work), gradients),
        },
        {
            "lines": text.count("\n"),
            "compiled": took,
            "bytes": work.nbytes + sum(g.nbytes for g in gradients),
        },
    )


def numpy(job: Job) -> Case:
    """NumPy by hand."""
    forward, backward = NUMPY[job.row.formula]
    return Case({FORWARD: lambda: forward(*job.arguments), BACKWARD: lambda: backward(*job.arguments, job.cotangent)})


def _softmax(z: Array, axis: int) -> Array:
    e = z - z.max(axis, keepdims=True)
    np.exp(e, out=e)
    e /= e.sum(axis, keepdims=True)
    return e


def _logsumexp(z: Array, axis: int) -> Array:
    most = z.max(axis, keepdims=True)
    return np.log(np.exp(z - most).sum(axis)) + most.squeeze(axis)


def _cross_entropy(logits: Array, target: Array) -> Any:
    return (_logsumexp(logits, 1) - logits[np.arange(len(logits)), target]).mean()


def _cross_entropy_back(logits: Array, target: Array, g: Array) -> Any:
    grad = _softmax(logits, 1)
    grad[np.arange(len(logits)), target] -= 1
    grad *= g / len(logits)
    return grad


def _standard(x: Array) -> tuple[Array, Array]:
    xhat = x - x.mean(1, keepdims=True)
    scale = 1 / np.sqrt((xhat * xhat).mean(1, keepdims=True) + 1e-5)
    xhat *= scale
    return xhat, scale


def _layer_norm(x: Array, weight: Array, bias: Array) -> Any:
    return _standard(x)[0] * weight + bias


def _layer_norm_back(x: Array, weight: Array, bias: Array, g: Array) -> Any:
    xhat, scale = _standard(x)
    u = g * weight
    along = (u * xhat).mean(1, keepdims=True)
    return scale * (u - u.mean(1, keepdims=True) - xhat * along), (g * xhat).sum(0), g.sum(0)


def _gelu(x: Array) -> Any:
    from scipy.special import erf

    return 0.5 * x * (1 + erf(x * 0.5**0.5))


def _gelu_back(x: Array, g: Array) -> Any:
    from scipy.special import erf

    return g * (0.5 * (1 + erf(x * 0.5**0.5)) + x * np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi))


def _chain(x: Array, a: Array, b: Array, c: Array) -> Any:
    return np.tanh(a * x + b) / (1 + np.exp(-c * x))


def _chain_back(x: Array, a: Array, b: Array, c: Array, g: Array) -> Any:
    tangent, sigmoid = np.tanh(a * x + b), 1 / (1 + np.exp(-c * x))
    inner = g * sigmoid * (1 - tangent * tangent)
    outer = g * tangent * sigmoid * (1 - sigmoid)
    return a * inner + c * outer, inner @ x, inner.sum(), outer @ x


def _unfolded(x: Array) -> Array:
    b, c, h, w = x.shape
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    return windows.transpose(0, 1, 4, 5, 2, 3).reshape(b, c * 9, h * w)


def _conv2d(x: Array, weight: Array, bias: Array) -> Any:
    b, _, h, w = x.shape
    return (weight.reshape(len(weight), -1) @ _unfolded(x)).reshape(b, -1, h, w) + bias[:, None, None]


def _conv2d_back(x: Array, weight: Array, bias: Array, g: Array) -> Any:
    b, c, h, w = x.shape
    flat = g.reshape(b, -1, h * w)
    grad_weight = (flat @ _unfolded(x).transpose(0, 2, 1)).sum(0).reshape(weight.shape)
    columns = (weight.reshape(len(weight), -1).T @ flat).reshape(b, c, 3, 3, h, w)
    grad_x = np.zeros((b, c, h + 2, w + 2))
    for i in range(3):
        for j in range(3):
            grad_x[:, :, i : i + h, j : j + w] += columns[:, :, i, j]
    return grad_x[:, :, 1:-1, 1:-1], grad_weight, flat.sum((0, 2))


def _windows(x: Array) -> Array:
    b, c, h, w = x.shape
    return x.reshape(b, c, h // 2, 2, w // 2, 2)


def _max_pool2d(x: Array) -> Any:
    return _windows(x).max((3, 5))


def _max_pool2d_back(x: Array, g: Array) -> Any:
    windows = _windows(x)
    largest = windows == windows.max((3, 5), keepdims=True)
    share = g / largest.sum((3, 5))
    return (largest * share[:, :, :, None, :, None]).reshape(x.shape)


def _weights(q: Array, k: Array) -> Array:
    return _softmax(q @ k.mT / q.shape[-1] ** 0.5, 2)


def _attention(q: Array, k: Array, v: Array) -> Any:
    return _weights(q, k) @ v


def _attention_back(q: Array, k: Array, v: Array, g: Array) -> Any:
    weights = _weights(q, k)
    grad = g @ v.mT
    grad = weights * (grad - (grad * weights).sum(2, keepdims=True))
    grad /= q.shape[-1] ** 0.5
    return grad @ k, grad.mT @ q, weights.mT @ g


def _mixture(alpha: Array, mean: Array, scale: Array, factor: Array, x: Array) -> tuple[Array, Array, Array, Array]:
    lower = np.tril(factor, -1)
    diagonal = np.arange(lower.shape[1])
    lower[:, diagonal, diagonal] = np.exp(scale)
    apart = x - mean[:, None]
    z = apart @ lower.mT
    return lower, apart, z, (alpha + scale.sum(1))[:, None] - 0.5 * (z * z).sum(2)


def _gmm(alpha: Array, mean: Array, scale: Array, factor: Array, x: Array) -> Any:
    lower, _, _, like = _mixture(alpha, mean, scale, factor, x)
    return _logsumexp(like, 0).sum() - len(x) * _logsumexp(alpha, 0) + 0.5 * (lower * lower).sum()


def _gmm_back(alpha: Array, mean: Array, scale: Array, factor: Array, x: Array, g: Array) -> Any:
    lower, apart, z, like = _mixture(alpha, mean, scale, factor, x)
    share = g * _softmax(like, 0)
    total = share.sum(1)
    weighted = share[:, :, None] * z
    of_lower = g * lower - weighted.mT @ apart
    diagonal = np.arange(lower.shape[1])
    of_scale = total[:, None] + of_lower[:, diagonal, diagonal] * np.exp(scale)
    of_mean = (weighted.sum(1)[:, None] @ lower)[:, 0]
    return total - g * len(x) * _softmax(alpha, 0), of_mean, of_scale, np.tril(of_lower, -1)


def _run(x: Array, w1: Array, b1: Array, w2: Array, b2: Array, target: Array) -> tuple[Array, Array]:
    hidden = np.maximum(x @ w1.T + b1, 0)
    return hidden, hidden @ w2.T + b2 - target


def _mlp(*a: Array) -> Any:
    return (_run(*a)[1] ** 2).mean()


def _mlp_back(x: Array, w1: Array, b1: Array, w2: Array, b2: Array, target: Array, g: Array) -> Any:
    hidden, error = _run(x, w1, b1, w2, b2, target)
    error *= 2 * g / error.size
    grad = error @ w2
    grad *= hidden > 0
    return grad.T @ x, grad.sum(0), error.T @ hidden, error.sum(0)


NUMPY: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "cross_entropy": (_cross_entropy, _cross_entropy_back),
    "layer_norm": (_layer_norm, _layer_norm_back),
    "gelu": (_gelu, _gelu_back),
    "chain": (_chain, _chain_back),
    "conv2d": (_conv2d, _conv2d_back),
    "max_pool2d": (_max_pool2d, _max_pool2d_back),
    "attention": (_attention, _attention_back),
    "gmm": (_gmm, _gmm_back),
    "linear": (
        lambda x, weight, bias: x @ weight.T + bias,
        lambda x, weight, bias, g: (g @ weight, g.T @ x, g.sum(0)),
    ),
    "mlp": (_mlp, _mlp_back),
}
