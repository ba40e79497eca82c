"""Functions of arrays: how symgrad is told, how torch and JAX are, and what they are given.

`framework` is written for torch's functions, JAX's and autograd's; `o` is one of them in the names of peers.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Values = Sequence[Any]


@dataclass(frozen=True)
class Tensors:
    """draw       its arguments, of sizes
    shape      of its result, of the same
    declare    symgrad's function
    framework  the function in the words of a framework
    work       numbers of workspace that the C by hand wants
    """

    draw: Callable[..., list[Any]]
    shape: Callable[..., tuple[int, ...]]
    declare: Callable[[Any], Any]
    framework: Callable[[Any, Values], Any]
    work: Callable[..., int] = lambda *sizes: 1


def _library(name: str) -> Callable[[Any], Any]:
    def declare(sg: Any) -> Any:
        from symgrad import library

        return getattr(library, name)

    return declare


def _normal(*shapes: Callable[..., tuple[int, ...]]) -> Callable[..., list[Any]]:
    return lambda random, *sizes: [np.asarray(random.standard_normal(shape(*sizes))) for shape in shapes]


CHAIN = "chain(x[n], a, b, c)[i] = tanh(a*x[i] + b) / (1 + exp(-c*x[i]))"
MLP = """mlp_loss(x[n,k], w1[h,k], b1[h], w2[m,h], b2[m], target[n,m]):
    hidden[i,j] = relu(sum[l](x[i,l]*w1[j,l]) + b1[j])
    error[i,j] = sum[l](hidden[i,l]*w2[j,l]) + b2[j] - target[i,j]
    out = mean[i,j](error[i,j]**2)"""
# factor[a] is lower triangular: exp(scale[a]) on its diagonal, below it factor[a,i,j]
GMM = """gmm(alpha[k], mean[k,d], scale[k,d], factor[k,d,d], x[n,d]):
    apart[a,r,i] = x[r,i] - mean[a,i]
    z[a,r,i] = exp(scale[a,i])*apart[a,r,i] + sum[j](where(j < i, factor[a,i,j]*apart[a,r,j], 0))
    like[r,a] = alpha[a] + sum[i](scale[a,i]) - sum[i](z[a,r,i]**2)/2
    out = sum[r](log(sum[a](exp(like[r,a])))) - n*log(sum[a](exp(alpha[a])))
        + sum[a,i](exp(2*scale[a,i]))/2 + sum[a,i,j](where(j < i, factor[a,i,j]**2, 0))/2"""


def _cross_entropy(o: Any, a: Values) -> Any:
    return o.cross_entropy(*a)


def _mlp(o: Any, a: Values) -> Any:
    x, w1, b1, w2, b2, target = a
    error = o.relu(x @ w1.T + b1) @ w2.T + b2 - target
    return (error * error).mean()


def _attention(o: Any, a: Values) -> Any:
    return o.attention(*a)


def _gmm(o: Any, a: Values) -> Any:
    alpha, mean, scale, factor, x = a
    below = o.array(np.tril(np.ones(factor.shape[1:]), -1))
    factor = factor * below
    apart = x[None] - mean[:, None]
    z = o.exp(scale)[:, None] * apart + o.matmul(apart, o.swap(factor))
    like = (alpha + scale.sum(1))[:, None] - (z * z).sum(2) / 2
    prior = (o.exp(2 * scale).sum() + (factor * factor).sum()) / 2
    return o.logsumexp(like, 0).sum() - len(x) * o.logsumexp(alpha, 0) + prior


# no class is left out, and none weighs more than another, which the library's asks of each row
CROSS_ENTROPY = """cross_entropy(logits[n,c], target[n]: int):
    scores[i] = log(sum[j](exp(logits[i,j])))
    out = mean[i](scores[i] - logits[i,target[i]])"""

TENSORS = {
    "cross_entropy": Tensors(
        lambda random, n, c: [random.standard_normal((n, c)), random.integers(0, c, n)],
        lambda n, c: (),
        lambda sg: sg.parse(CROSS_ENTROPY),
        _cross_entropy,
    ),
    "layer_norm": Tensors(
        _normal(lambda n, d: (n, d), lambda n, d: (d,), lambda n, d: (d,)),
        lambda n, d: (n, d),
        _library("layer_norm"),
        lambda o, a: o.layer_norm(*a),
    ),
    "gelu": Tensors(_normal(lambda n: (n,)), lambda n: (n,), _library("gelu_exact"), lambda o, a: o.gelu(a[0])),
    "chain": Tensors(
        lambda random, n: [random.standard_normal(n), np.array(0.7), np.array(0.2), np.array(-0.4)],
        lambda n: (n,),
        lambda sg: sg.parse(CHAIN),
        lambda o, a: o.tanh(a[1] * a[0] + a[2]) * o.sigmoid(a[3] * a[0]),
    ),
    "conv2d": Tensors(
        _normal(lambda b, c, h, w, f: (b, c, h, w), lambda b, c, h, w, f: (f, c, 3, 3), lambda b, c, h, w, f: (f,)),
        lambda b, c, h, w, f: (b, f, h, w),
        _library("conv2d"),
        lambda o, a: o.conv2d(*a),
        lambda b, c, h, w, f: 2 * 9 * c * h * w,
    ),
    "max_pool2d": Tensors(
        _normal(lambda b, c, h, w: (b, c, h, w)),
        lambda b, c, h, w: (b, c, h // 2, w // 2),
        _library("max_pool2d"),
        lambda o, a: o.max_pool2d(a[0]),
    ),
    "attention": Tensors(
        _normal(*[lambda b, n, d: (b, n, d)] * 3),
        lambda b, n, d: (b, n, d),
        _library("attention"),
        _attention,
        lambda b, n, d: 2 * n * n,
    ),
    "gmm": Tensors(
        lambda random, d, k, n: [
            random.standard_normal(k),
            random.random((k, d)),
            random.standard_normal((k, d)) / 2,
            np.tril(random.standard_normal((k, d, d)) / 2, -1),
            random.random((n, d)),
        ],
        lambda d, k, n: (),
        lambda sg: sg.parse(GMM),
        _gmm,
        lambda d, k, n: 64 * (k + 3 * d + 2) + k * d,
    ),
    "linear": Tensors(
        _normal(lambda n, k, m: (n, k), lambda n, k, m: (m, k), lambda n, k, m: (m,)),
        lambda n, k, m: (n, m),
        _library("linear"),
        lambda o, a: a[0] @ a[1].T + a[2],
    ),
    "mlp": Tensors(
        lambda random, n, k, h, m: [
            random.standard_normal((n, k)),
            random.standard_normal((h, k)) / k**0.5,
            random.standard_normal(h),
            random.standard_normal((m, h)) / h**0.5,
            random.standard_normal(m),
            random.standard_normal((n, m)),
        ],
        lambda n, k, h, m: (),
        lambda sg: sg.parse(MLP),
        _mlp,
        lambda n, k, h, m: n * (2 * h + m),
    ),
}
