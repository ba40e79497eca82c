"""Functions that ship with symgrad, each declared from its definition; `generated/` is printed from them."""

from .activations import gelu, relu, sigmoid, silu, softplus, tanh
from .convolution import avg_pool2d, conv1d, conv2d, max_pool2d
from .layers import linear, matmul, mlp, residual
from .losses import cross_entropy, linear_mse, mse_loss, squared_error
from .normalization import batch_norm, layer_norm, rms_norm
from .scalars import polynomial, sine_and_double, squares, twice
from .statistics import log_softmax, logsumexp, mean, softmax, var

__all__ = [
    "avg_pool2d",
    "batch_norm",
    "conv1d",
    "conv2d",
    "cross_entropy",
    "gelu",
    "layer_norm",
    "linear",
    "linear_mse",
    "log_softmax",
    "logsumexp",
    "matmul",
    "max_pool2d",
    "mean",
    "mlp",
    "mse_loss",
    "polynomial",
    "relu",
    "residual",
    "rms_norm",
    "sigmoid",
    "silu",
    "sine_and_double",
    "softmax",
    "softplus",
    "squared_error",
    "squares",
    "tanh",
    "twice",
    "var",
]
