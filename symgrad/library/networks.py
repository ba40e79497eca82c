"""Whole networks: many layers as one function, each layer by a call of its declaration."""

import numpy as np

from .. import declare as sg
from .activations import gelu, relu
from .convolution import conv2d
from .layers import linear
from .normalization import layer_norm
from .pooling import max_pool2d
from .statistics import softmax


@sg.function
def lenet(
    x: sg.Tensor["n 1 32 32"],
    conv1_weight: sg.Tensor["6 1 5 5"],
    conv1_bias: sg.Tensor["6"],
    conv2_weight: sg.Tensor["16 6 5 5"],
    conv2_bias: sg.Tensor["16"],
    fc1_weight: sg.Tensor["120 400"],
    fc1_bias: sg.Tensor["120"],
    fc2_weight: sg.Tensor["84 120"],
    fc2_bias: sg.Tensor["84"],
    fc3_weight: sg.Tensor["10 84"],
    fc3_bias: sg.Tensor["10"],
):
    """Two convolutions, each with ReLU and pooling, and three linear layers: the network of PyTorch's tutorial."""
    c1 = relu(conv2d(x, conv1_weight, conv1_bias))
    s2 = max_pool2d(c1)
    c3 = relu(conv2d(s2, conv2_weight, conv2_bias))
    s4 = max_pool2d(c3)
    flat = s4.reshape(-1, fc1_weight.shape[1])
    f5 = relu(linear(flat, fc1_weight, fc1_bias))
    f6 = relu(linear(f5, fc2_weight, fc2_bias))
    return linear(f6, fc3_weight, fc3_bias)


@sg.function
def causal_self_attention(
    x: sg.Tensor["b n d"],
    qkv_weight: sg.Tensor["3 h e d"],
    qkv_bias: sg.Tensor["3 h e"],
    out_weight: sg.Tensor["d h e"],
    out_bias: sg.Tensor["d"],
):
    """Attention with h heads of e features, in which a place sees itself and what is before it.

    The weights are those of GPT-2, (3 h e, d) and (d, h e), with their heads as axes of their own.
    """
    r, h, i, j, c, l = sg.indices("r h i j c l")
    q, k, v = (
        sg.tensor[r, h, i, c](sg.sum[l](x[r, i, l] * qkv_weight[part, h, c, l]) + qkv_bias[part, h, c])
        for part in range(3)
    )
    scores = q @ k.mT / sg.sqrt(q.shape[-1])
    seen = sg.tensor[r, h, i, j](sg.where(j <= i, scores[r, h, i, j], -np.inf))
    weights = softmax(seen)
    heads = weights @ v
    return sg.tensor[r, i, l](sg.sum[h, c](heads[r, h, i, c] * out_weight[l, h, c]) + out_bias[l])


@sg.function
def gpt2_block(
    x: sg.Tensor["b n d"],
    norm1_gain: sg.Tensor["d"],
    norm1_bias: sg.Tensor["d"],
    qkv_weight: sg.Tensor["3 h e d"],
    qkv_bias: sg.Tensor["3 h e"],
    out_weight: sg.Tensor["d h e"],
    out_bias: sg.Tensor["d"],
    norm2_gain: sg.Tensor["d"],
    norm2_bias: sg.Tensor["d"],
    fc1_weight: sg.Tensor["f d"],
    fc1_bias: sg.Tensor["f"],
    fc2_weight: sg.Tensor["d f"],
    fc2_bias: sg.Tensor["d"],
):
    """One block of GPT-2: x + attention(norm(x)), and to that mlp(norm of it) added (Radford and others, 2019)."""
    normed1 = layer_norm(x, norm1_gain, norm1_bias)
    attended = x + causal_self_attention(normed1, qkv_weight, qkv_bias, out_weight, out_bias)
    normed2 = layer_norm(attended, norm2_gain, norm2_bias)
    inner = normed2 @ fc1_weight.T + fc1_bias
    hidden = gelu(inner)
    return attended + (hidden @ fc2_weight.T + fc2_bias)
