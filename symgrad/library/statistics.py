"""Reductions over an axis, some, or all of them (axis=None), and what is made of them."""

import numpy as np

from .. import declare as sg


@sg.function
def mean(x: sg.Tensor["..."], *, axis: sg.Static = -1, keepdims: sg.Static = False):
    """The mean over the last axis, or others."""
    return x.mean(axis=axis, keepdims=keepdims)


@sg.function
def var(x: sg.Tensor["..."], *, correction: sg.Static = 0, axis: sg.Static = -1, keepdims: sg.Static = False):
    """The variance over the last axis, or others, divided by n - correction."""
    return x.var(axis=axis, ddof=correction, keepdims=keepdims)


@sg.function
def logsumexp(x: sg.Tensor["..."], *, axis: sg.Static = -1, keepdims: sg.Static = False):
    """log(sum(exp(x))) over the last axis, or others; -inf where all of it is."""
    return sg.log(sg.exp(x).sum(axis=axis, keepdims=keepdims))


@sg.function
def softmax(x: sg.Tensor["..."], *, axis: sg.Static = -1):
    """exp(x) / sum(exp(x)) over an axis; NaN where all of it is -inf, as in torch and JAX."""
    powers = sg.exp(x)
    return powers / powers.sum(axis=axis, keepdims=axis is not None)


@sg.function
def log_softmax(x: sg.Tensor["..."], *, axis: sg.Static = -1):
    """log(softmax(x)) over an axis."""
    return x - sg.log(sg.exp(x).sum(axis=axis, keepdims=axis is not None))


@sg.function
def softmin(x: sg.Tensor["..."], *, axis: sg.Static = -1):
    """softmax(-x) over an axis."""
    return softmax(-x, axis=axis)


@sg.function
def softmax_temperature(x: sg.Tensor["..."], *, temperature: float = 1.0, axis: sg.Static = -1):
    """softmax(x / temperature) over an axis."""
    return softmax(x / temperature, axis=axis)


@sg.function
def std(x: sg.Tensor["..."], *, correction: int = 1, axis: sg.Static = -1, keepdims: sg.Static = False):
    """The standard deviation over the last axis, or others, divided by n - correction."""
    return sg.sqrt(x.var(axis=axis, ddof=correction, keepdims=keepdims))


@sg.function
def weighted_mean(x: sg.Tensor["... n"], weight: sg.Tensor["n"]):
    """sum(weight x) / sum(weight) over the last axis."""
    return (weight * x).sum(axis=-1) / weight.sum()


@sg.function
def geometric_mean(x: sg.Tensor["... n"]):
    """exp(mean(log(x))) over the last axis."""
    return sg.exp(sg.log(x).mean(axis=-1))


@sg.function
def harmonic_mean(x: sg.Tensor["... n"]):
    """1 / mean(1 / x) over the last axis."""
    return 1 / (1 / x).mean(axis=-1)


@sg.function
def root_mean_square(x: sg.Tensor["... n"]):
    """sqrt(mean(x^2)) over the last axis."""
    return sg.sqrt((x**2).mean(axis=-1))


@sg.function
def mean_absolute_deviation(x: sg.Tensor["... n"]):
    """mean(|x - mean(x)|) over the last axis."""
    return abs(x - x.mean(axis=-1, keepdims=True)).mean(axis=-1)


@sg.function
def logmeanexp(x: sg.Tensor["... n"]):
    """log(mean(exp(x))) over the last axis."""
    return sg.log(sg.exp(x).mean(axis=-1))


@sg.function
def skewness(x: sg.Tensor["... n"]):
    """mean(c^3) / mean(c^2)^(3/2), with c = x - mean(x), over the last axis."""
    centered = x - x.mean(axis=-1, keepdims=True)
    return (centered**3).mean(axis=-1) / (centered**2).mean(axis=-1) ** 1.5


@sg.function
def covariance(x: sg.Tensor["n d"], *, correction: sg.Static = 0):
    """centered.T @ centered / (n - correction), one column per variable."""
    centered = x - x.mean(axis=0)
    return centered.T @ centered / (x.shape[0] - correction)


@sg.function
def correlation(x: sg.Tensor["... n"], y: sg.Tensor["... n"]):
    """Pearson's correlation over the last axis."""
    dx = x - x.mean(axis=-1, keepdims=True)
    dy = y - y.mean(axis=-1, keepdims=True)
    return (dx * dy).sum(axis=-1) / sg.sqrt((dx**2).sum(axis=-1) * (dy**2).sum(axis=-1))


@sg.function
def entropy(p: sg.Tensor["... n"]):
    """-sum(p log(p)) over the last axis, with 0 log(0) = 0."""
    return -sg.where(p > 0, p * sg.log(p), 0).sum(axis=-1)


@sg.function
def softmax_entropy(x: sg.Tensor["... n"]):
    """The entropy of softmax(x) over the last axis."""
    return -(softmax(x) * log_softmax(x)).sum(axis=-1)


@sg.function
def binary_entropy(p):
    """-p log(p) - (1 - p) log(1 - p)."""
    return -p * sg.log(p) - (1 - p) * sg.log(1 - p)


@sg.function
def l2_norm(x: sg.Tensor["... n"]):
    """sqrt(sum(x^2)) over the last axis."""
    return sg.sqrt((x**2).sum(axis=-1))


@sg.function
def vector_norm(x: sg.Tensor["..."], *, order: sg.Static = 2.0, axis: sg.Static = -1, keepdims: sg.Static = False):
    """The norm of an order over the last axis, or others: 0 counts what is not 0, infinity is max(|x|)."""
    if order == 2:
        return sg.sqrt((x**2).sum(axis=axis, keepdims=keepdims))
    if order == 1:
        return abs(x).sum(axis=axis, keepdims=keepdims)
    if order == 0:
        return sg.where(x != 0, 1.0, 0.0).sum(axis=axis, keepdims=keepdims)
    if abs(order) == np.inf:
        extreme = sg.max if order > 0 else sg.min
        return extreme(abs(x), axis=axis, keepdims=keepdims)
    return (abs(x) ** order).sum(axis=axis, keepdims=keepdims) ** (1 / order)


@sg.function
def p_norm(x: sg.Tensor["... n"], *, p: float = 3.0):
    """sum(|x|^p)^(1/p) over the last axis."""
    return (abs(x) ** p).sum(axis=-1) ** (1 / p)


@sg.function
def total_variation(x: sg.Tensor["n"]):
    """sum(|x[i+1] - x[i]|)."""
    i = sg.indices("i", i="n - 1")
    return sg.sum[i](abs(x[i + 1] - x[i]))


@sg.function
def autocorrelation(x: sg.Tensor["n"]):
    """sum(c[i] c[i+1]) / sum(c[i]^2), with c = x - mean(x)."""
    i = sg.indices("i", i="n - 1")
    centered = x - x.mean()
    return sg.sum[i](centered[i] * centered[i + 1]) / (centered**2).sum()


@sg.function
def l1_norm(x: sg.Tensor["... n"]):
    """sum(|x|) over the last axis."""
    return abs(x).sum(axis=-1)


@sg.function
def max_norm(x: sg.Tensor["... n"]):
    """max(|x|) over the last axis; where several are largest, they share the gradient."""
    return abs(x).max(axis=-1)


@sg.function
def amax(x: sg.Tensor["..."], *, axis: sg.Static = -1, keepdims: sg.Static = False):
    """The largest element of the last axis, or others; where several are, they share the gradient."""
    return x.max(axis=axis, keepdims=keepdims)


@sg.function
def amin(x: sg.Tensor["..."], *, axis: sg.Static = -1, keepdims: sg.Static = False):
    """The smallest element of the last axis, or others; where several are, they share the gradient."""
    return x.min(axis=axis, keepdims=keepdims)


@sg.function
def prod(x: sg.Tensor["..."], *, axis: sg.Static = -1, keepdims: sg.Static = False):
    """The product over the last axis, or others; its gradient is exact where some elements are 0."""
    return x.prod(axis=axis, keepdims=keepdims)


@sg.function
def diff(x: sg.Tensor["..."], *, n: sg.Static = 1, axis: sg.Static = -1):
    """x[..., 1:] - x[..., :-1], n times."""
    return np.diff(x, n=n, axis=axis)


@sg.function
def trapezoid(y: sg.Tensor["... n"], x: sg.Tensor["n"] = None, *, dx: float = 1.0, axis: sg.Static = -1):
    """The integral of y over x along an axis by the trapezoidal rule; x has steps of dx where it is not given."""
    y = np.moveaxis(y, axis, -1)
    step = sg.given(x, x[1:] - x[:-1], dx)
    return (step * (y[..., 1:] + y[..., :-1])).sum(axis=-1) / 2
