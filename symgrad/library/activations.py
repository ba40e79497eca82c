"""Elementwise functions of neural networks, from their definitions."""

from .. import declare as sg


@sg.function
def relu(x):
    """max(x, 0); its derivative at 0 is 0."""
    return sg.relu(x)


@sg.function
def sigmoid(x):
    """1 / (1 + exp(-x))."""
    return 1 / (1 + sg.exp(-x))


@sg.function
def tanh(x):
    """(exp(x) - exp(-x)) / (exp(x) + exp(-x))."""
    return (sg.exp(x) - sg.exp(-x)) / (sg.exp(x) + sg.exp(-x))


@sg.function
def softplus(x):
    """log(1 + exp(x))."""
    return sg.log(1 + sg.exp(x))


@sg.function
def silu(x):
    """x sigmoid(x)."""
    return x / (1 + sg.exp(-x))


@sg.function
def gelu(x):
    """The tanh form of the Gaussian error linear unit (Hendrycks and Gimpel, 2016)."""
    inner = sg.sqrt(2 / sg.pi) * (x + 0.044715 * x**3)
    return 0.5 * x * (1 + sg.tanh(inner))
