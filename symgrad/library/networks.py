"""Whole networks: many layers as one function, each layer by a call of its declaration."""

from .. import declare as sg
from .activations import gelu, relu
from .convolution import conv2d, max_pool2d
from .layers import linear
from .normalization import layer_norm
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
    flat = s4.reshape(-1, 400)
    f5 = relu(linear(flat, fc1_weight, fc1_bias))
    f6 = relu(linear(f5, fc2_weight, fc2_bias))
    return linear(f6, fc3_weight, fc3_bias)


@sg.function
def multi_head_attention(
    q: sg.Tensor["b n h e"], k: sg.Tensor["b n h e"], v: sg.Tensor["b n h e"]
):
    """Causal attention in each of h heads: a place sees itself and what is before it."""
    b, h, i, j, c = sg.indices("r h i j c")
    scores = sg.tensor[b, h, i, j](sg.sum[c](q[b, i, h, c] * k[b, j, h, c]) / sg.sqrt(q.shape[-1]))
    seen = sg.tensor[b, h, i, j](sg.where(j <= i, scores[b, h, i, j], -1e30))
    weights = softmax(seen)
    return sg.tensor[b, i, h, c](sg.sum[j](weights[b, h, i, j] * v[b, j, h, c]))
