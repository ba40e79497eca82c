"""Layers: products of matrices, and networks made of them."""

import numpy as np

from .. import declare as sg
from .activations import gelu, relu, silu
from .statistics import softmax


@sg.function
def matmul(x: sg.Tensor["n k"], a: sg.Tensor["k m"]):
    """x @ a."""
    return x @ a


@sg.function
def linear(x: sg.Tensor["n*batch k"], weight: sg.Tensor["m k"], bias: sg.Tensor["m"] = None, *, batch: sg.Static = 1):
    """x @ weight.T + bias; `batch` is the number of leading axes."""
    return x @ weight.T + bias


@sg.function
def mlp(
    x: sg.Tensor["n k"],
    weight1: sg.Tensor["h k"],
    bias1: sg.Tensor["h"],
    weight2: sg.Tensor["m h"],
    bias2: sg.Tensor["m"],
):
    """Two linear layers with a ReLU between them: fc2(relu(fc1(x)))."""
    hidden = relu(linear(x, weight1, bias1))
    return linear(hidden, weight2, bias2)


@sg.function
def residual(x: sg.Tensor["n k"], weight: sg.Tensor["k k"], bias: sg.Tensor["k"]):
    """x + tanh(x @ weight.T + bias)."""
    return x + sg.tanh(linear(x, weight, bias))


@sg.function
def linear_relu(x: sg.Tensor["n k"], weight: sg.Tensor["m k"], bias: sg.Tensor["m"]):
    """relu(x @ weight.T + bias)."""
    return relu(linear(x, weight, bias))


@sg.function
def linear_gelu(x: sg.Tensor["n k"], weight: sg.Tensor["m k"], bias: sg.Tensor["m"]):
    """gelu(x @ weight.T + bias)."""
    return gelu(linear(x, weight, bias))


@sg.function
def swiglu_layer(x: sg.Tensor["n k"], gate: sg.Tensor["h k"], up: sg.Tensor["h k"], down: sg.Tensor["m h"]):
    """(silu(x @ gate.T) * (x @ up.T)) @ down.T."""
    hidden = silu(x @ gate.T) * (x @ up.T)
    return hidden @ down.T


@sg.function
def low_rank_linear(x: sg.Tensor["n k"], down: sg.Tensor["r k"], up: sg.Tensor["m r"]):
    """x @ down.T @ up.T."""
    return x @ down.T @ up.T


@sg.function
def lora(
    x: sg.Tensor["n k"],
    weight: sg.Tensor["m k"],
    down: sg.Tensor["r k"],
    up: sg.Tensor["m r"],
    *,
    scale: float = 1.0,
):
    """x @ weight.T + scale x @ down.T @ up.T (Hu and others, 2021)."""
    return x @ weight.T + scale * (x @ down.T @ up.T)


@sg.function
def highway(
    x: sg.Tensor["n k"],
    weight: sg.Tensor["k k"],
    bias: sg.Tensor["k"],
    gate_weight: sg.Tensor["k k"],
    gate_bias: sg.Tensor["k"],
):
    """t relu(fc(x)) + (1 - t) x with t = sigmoid(fc'(x))."""
    t = sg.sigmoid(linear(x, gate_weight, gate_bias))
    return t * relu(linear(x, weight, bias)) + (1 - t) * x


@sg.function
def bilinear(
    x: sg.Tensor["n*batch a"],
    y: sg.Tensor["n*batch b"],
    weight: sg.Tensor["m a b"],
    bias: sg.Tensor["m"] = None,
    *,
    batch: sg.Static = 1,
):
    """sum over a and b of x[a] weight[m, a, b] y[b], + bias; `batch` is the number of leading axes."""
    o, a, b, *i = sg.indices(" ".join("opqijkl"[: 3 + batch]))
    return sg.tensor[*i, o](sg.sum[a, b](x[*i, a] * weight[o, a, b] * y[*i, b])) + bias


@sg.function
def dot(x: sg.Tensor["..."], y: sg.Tensor["..."], *, axis: sg.Static = -1):
    """sum(x y) over an axis."""
    return (x * y).sum(axis=axis)


@sg.function
def outer(x: sg.Tensor["n"], y: sg.Tensor["m"]):
    """x[i] y[j]."""
    return x[:, None] * y


@sg.function
def quadratic_form(x: sg.Tensor["n"], a: sg.Tensor["n n"]):
    """x @ a @ x."""
    return x @ a @ x


@sg.function
def squared_mahalanobis(x: sg.Tensor["n d"], mean: sg.Tensor["d"], precision: sg.Tensor["d d"]):
    """(x - mean) @ precision @ (x - mean) for each of n points."""
    centered = x - mean
    return (centered @ precision * centered).sum(axis=1)


@sg.function
def pairwise_squared_distances(x: sg.Tensor["n d"], y: sg.Tensor["m d"]):
    """sum((x[i] - y[j])^2)."""
    i, j, k = sg.indices("i j k")
    return sg.tensor[i, j](sg.sum[k]((x[i, k] - y[j, k]) ** 2))


@sg.function
def rbf_kernel(x: sg.Tensor["n d"], y: sg.Tensor["m d"], *, gamma: float = 1.0):
    """exp(-gamma |x[i] - y[j]|^2)."""
    return sg.exp(-gamma * pairwise_squared_distances(x, y))


@sg.function
def polynomial_kernel(
    x: sg.Tensor["n d"], y: sg.Tensor["m d"], *, scale: float = 1.0, offset: float = 1.0, degree: int = 3
):
    """(scale x[i] . y[j] + offset)^degree."""
    return (scale * (x @ y.T) + offset) ** degree


@sg.function
def attention(q: sg.Tensor["... n d"], k: sg.Tensor["... m d"], v: sg.Tensor["... m e"], *, scale: sg.Static = None):
    """softmax(q @ k.T / sqrt(d)) @ v, or with a scale in the place of 1 / sqrt(d)."""
    score = q @ k.mT / sg.sqrt(q.shape[-1]) if scale is None else scale * (q @ k.mT)
    weights = softmax(score)
    return weights @ v


@sg.function
def causal_attention(
    q: sg.Tensor["... n d"], k: sg.Tensor["... m d"], v: sg.Tensor["... m e"], *, scale: sg.Static = None
):
    """Attention in which a place sees itself and what is before it."""
    score = q @ k.mT / sg.sqrt(q.shape[-1]) if scale is None else scale * (q @ k.mT)
    i, j = sg.indices("i j")
    seen = sg.tensor[..., i, j](sg.where(j <= i, score[..., i, j], -np.inf))
    weights = softmax(seen)
    return weights @ v


@sg.function
def masked_attention(q: sg.Tensor["... n d"], k: sg.Tensor["... m d"], v: sg.Tensor["... m e"], mask: sg.Bool["n m"]):
    """Attention in which each place sees those where mask holds; NaN where a place sees none, as in torch."""
    score = q @ k.mT / sg.sqrt(q.shape[-1])
    seen = sg.where(mask, score, -np.inf)
    weights = softmax(seen)
    return weights @ v


@sg.function
def biased_attention(q: sg.Tensor["... n d"], k: sg.Tensor["... m d"], v: sg.Tensor["... m e"], bias: sg.Tensor["n m"]):
    """softmax(q @ k.T / sqrt(d) + bias) @ v: a mask that is added, or what depends on the places."""
    score = q @ k.mT / sg.sqrt(q.shape[-1]) + bias
    weights = softmax(score)
    return weights @ v


@sg.function
def masked_softmax(x: sg.Tensor["n m"], mask: sg.Bool["n m"]):
    """The softmax of each row over the places where mask holds; NaN where there is none, as in torch."""
    return softmax(sg.where(mask, x, -np.inf))


@sg.function
def rotary_embedding(x: sg.Tensor["n h 2"], angle: sg.Tensor["n h"]):
    """Each pair of numbers turned by its angle (Su and others, 2021)."""
    a, b = x[:, :, 0], x[:, :, 1]
    c, s = sg.cos(angle), sg.sin(angle)
    return sg.stack([a * c - b * s, a * s + b * c], axis=-1)


@sg.function
def rotary_halves(x: sg.Tensor["n h d"], angle: sg.Tensor["n e"]):
    """rotary_embedding with pairs of element l and e + l, as in GPT-NeoX: d is 2 e."""
    n, h, _ = x.shape
    halves = x.reshape(n, h, 2, angle.shape[1])
    a, b = halves[:, :, 0], halves[:, :, 1]
    c, s = sg.cos(angle)[:, None], sg.sin(angle)[:, None]
    return np.concatenate([a * c - b * s, a * s + b * c], axis=-1)


@sg.function
def embedding(table: sg.Tensor["v d"], token: sg.Int["..."]):
    """table[token]."""
    j = sg.indices("j")
    return sg.tensor[..., j](table[token[...], j])


@sg.function
def embedding_bag(table: sg.Tensor["v d"], token: sg.Int["n m"]):
    """The mean over each bag of table[token]."""
    i, j, k = sg.indices("i j k")
    return sg.tensor[i, j](sg.mean[k](table[token[i, k], j]))


@sg.function
def rnn_cell(
    x: sg.Tensor["n k"],
    hidden: sg.Tensor["n h"],
    weight_x: sg.Tensor["h k"],
    weight_h: sg.Tensor["h h"],
    bias: sg.Tensor["h"],
):
    """tanh(x @ weight_x.T + hidden @ weight_h.T + bias)."""
    return sg.tanh(x @ weight_x.T + hidden @ weight_h.T + bias)


@sg.function
def gru_cell(
    x: sg.Tensor["n k"],
    hidden: sg.Tensor["n h"],
    weight_x: sg.Tensor["3 h k"],
    weight_h: sg.Tensor["3 h h"],
    bias: sg.Tensor["3 h"],
):
    """A gated recurrent unit: reset, update and candidate, in this order."""
    reset = sg.sigmoid(x @ weight_x[0].T + hidden @ weight_h[0].T + bias[0])
    update = sg.sigmoid(x @ weight_x[1].T + hidden @ weight_h[1].T + bias[1])
    candidate = sg.tanh(x @ weight_x[2].T + reset * (hidden @ weight_h[2].T) + bias[2])
    return (1 - update) * candidate + update * hidden


@sg.function
def lstm_cell(
    x: sg.Tensor["n k"],
    hidden: sg.Tensor["n h"],
    cell: sg.Tensor["n h"],
    weight_x: sg.Tensor["4 h k"],
    weight_h: sg.Tensor["4 h h"],
    bias: sg.Tensor["4 h"],
):
    """A long short-term memory: input, forget, candidate and output gate, in this order."""
    enter = sg.sigmoid(x @ weight_x[0].T + hidden @ weight_h[0].T + bias[0])
    keep = sg.sigmoid(x @ weight_x[1].T + hidden @ weight_h[1].T + bias[1])
    candidate = sg.tanh(x @ weight_x[2].T + hidden @ weight_h[2].T + bias[2])
    leave = sg.sigmoid(x @ weight_x[3].T + hidden @ weight_h[3].T + bias[3])
    new_cell = keep * cell + enter * candidate
    new_hidden = leave * sg.tanh(new_cell)
    return new_hidden, new_cell


@sg.function
def factorization_machine(x: sg.Tensor["n d"], bias: sg.Tensor[""], weight: sg.Tensor["d"], factors: sg.Tensor["d k"]):
    """bias + x @ weight + sum over i < j of (factors[i] . factors[j]) x[i] x[j] (Rendle, 2010)."""
    x_squared, factors_squared = x**2, factors**2
    squares = (x @ factors) ** 2 - x_squared @ factors_squared
    return bias + x @ weight + squares.sum(axis=1) / 2


@sg.function
def cross_layer(x0: sg.Tensor["n d"], x: sg.Tensor["n d"], weight: sg.Tensor["d"], bias: sg.Tensor["d"]):
    """x0 (x @ weight) + bias + x (Wang and others, 2017)."""
    return x0 * (x @ weight)[:, None] + bias + x


@sg.function
def squeeze_excite(x: sg.Tensor["n c p"], down: sg.Tensor["r c"], up: sg.Tensor["c r"]):
    """x sigmoid(relu(mean(x) @ down.T) @ up.T), the mean over places (Hu and others, 2018)."""
    hidden = relu(x.mean(axis=2) @ down.T)
    gate = sg.sigmoid(hidden @ up.T)
    return x * gate[:, :, None]


@sg.function
def mixture_of_experts(x: sg.Tensor["n k"], gate: sg.Tensor["h k"], weight: sg.Tensor["h m k"]):
    """sum over h of softmax(x @ gate.T)[h] (x @ weight[h].T)."""
    share = softmax(x @ gate.T)
    i, j, p, c = sg.indices("i j p c")
    return sg.tensor[i, j](sg.sum[p, c](share[i, p] * weight[p, j, c] * x[i, c]))


@sg.function
def mixture_density_nll(
    logits: sg.Tensor["n k"], mean: sg.Tensor["n k"], log_std: sg.Tensor["n k"], target: sg.Tensor["n"]
):
    """-mean log sum over k of softmax(logits)[k] times the normal density of the target."""
    z = (target[:, None] - mean) * sg.exp(-log_std)
    joint = logits - z**2 / 2 - log_std
    norm = sg.logsumexp(logits, axis=1) + sg.log(2 * sg.pi) / 2
    return (norm - sg.logsumexp(joint, axis=1)).mean()


@sg.function
def dropout(x: sg.Tensor["..."], keep: sg.Bool["..."], *, p: float = 0.5):
    """x / (1 - p) where keep holds, else 0."""
    return sg.where(keep, x / (1 - p), 0)


@sg.function
def average_pool(x: sg.Tensor["n c h p w q"]):
    """The mean over windows of p by q, which are axes of their own."""
    return x.mean(axis=(3, 5))


@sg.function
def batch_matmul(x: sg.Tensor["... n k"], y: sg.Tensor["... k m"]):
    """x @ y, for each of any number of leading axes."""
    return x @ y


@sg.function
def mode_product(x: sg.Tensor["n m p"], a: sg.Tensor["q m"]):
    """The tensor x times the matrix a along its second axis."""
    i, j, k, l = sg.indices("i j k l")
    return sg.tensor[i, j, k](sg.sum[l](a[j, l] * x[i, l, k]))


@sg.function
def kron(x: sg.Tensor["n m"], y: sg.Tensor["p q"]):
    """The Kronecker product: y times each element of x, as blocks."""
    i, j, k, l = sg.indices("i j k l")
    return sg.tensor[sg.merge(i, k), sg.merge(j, l)](x[i, j] * y[k, l])


@sg.function
def transe_score(head: sg.Tensor["... d"], relation: sg.Tensor["... d"], tail: sg.Tensor["... d"]):
    """-|head + relation - tail| (Bordes and others, 2013)."""
    return -sg.sqrt(((head + relation - tail) ** 2).sum(axis=-1))


@sg.function
def distmult_score(head: sg.Tensor["... d"], relation: sg.Tensor["... d"], tail: sg.Tensor["... d"]):
    """sum(head relation tail) over the last axis (Yang and others, 2015)."""
    return (head * relation * tail).sum(axis=-1)
