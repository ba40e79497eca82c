"""Layers: products of matrices, and networks made of them."""

from .. import declare as sg
from .activations import relu


@sg.function
def matmul(x: sg.Tensor["n k"], a: sg.Tensor["k m"]):
    """x @ a."""
    return x @ a


@sg.function
def linear(x: sg.Tensor["n k"], weight: sg.Tensor["m k"], bias: sg.Tensor["m"] = None):
    """x @ weight.T + bias."""
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
