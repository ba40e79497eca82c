"""Losses, each a scalar."""

from .. import declare as sg
from .layers import linear


@sg.function
def squared_error(x: sg.Tensor["..."], *, target: float = 4.0):
    """sum((x - target)^2)."""
    return ((x - target) ** 2).sum()


@sg.function
def mse_loss(prediction: sg.Tensor["n m"], target: sg.Tensor["n m"]):
    """mean((prediction - target)^2)."""
    return ((prediction - target) ** 2).mean()


@sg.function
def linear_mse(
    x: sg.Tensor["n k"], weight: sg.Tensor["m k"], bias: sg.Tensor["m"], target: sg.Tensor["n m"]
):
    """A linear layer and its mean squared error as one function."""
    prediction = linear(x, weight, bias)
    return mse_loss(prediction, target)


@sg.function
def cross_entropy(logits: sg.Tensor["n c"], target: sg.Int["n"]):
    """mean over i of logsumexp(logits[i]) - logits[i, target[i]], with class indices as targets."""
    i, j = sg.indices("i j")
    scores = sg.tensor[i](sg.log(sg.sum[j](sg.exp(logits[i, j]))))
    return sg.mean[i](scores[i] - logits[i, target[i]])
