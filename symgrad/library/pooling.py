"""Windows that are reduced: maxima and means, overlapping and padded, with the conventions of torch."""

import numpy as np

from .. import declare as sg


@sg.function
def max_pool1d(x: sg.Tensor["n c w"], *, size: int = 2, stride: int = 2, padding: int = 0):
    """The largest element of each window; where several are, they share the gradient.

    What lies outside is -oo, and so is a window that no element lies in.
    """
    b, d = sg.indices("b d")
    i, r = sg.indices("i r", i="(w + 2*padding - size)//stride + 1", r="size")
    at = stride * i + r - padding
    inside = (at >= 0) & (at < x.shape[2])
    return sg.tensor[b, d, i](sg.max[r](sg.where(inside, x[b, d, at], -np.inf)))


@sg.function
def max_pool2d(x: sg.Tensor["n c h w"], *, size: int = 2, stride: int = 2):
    """The largest element of each window; where several are, they share the gradient."""
    b, d, i, j = sg.indices("b d i j")
    r, s = sg.indices("r s", r="size", s="size")
    return sg.tensor[b, d, i, j](sg.max[r, s](x[b, d, stride * i + r, stride * j + s]))


@sg.function
def max_pool2d_padded(x: sg.Tensor["n c h w"], *, size: int = 3, stride: int = 2, padding: int = 1):
    """max_pool2d where the windows reach over the edge.

    What lies outside is -oo, and so is a window that no element lies in.
    """
    b, d = sg.indices("b d")
    i, j = sg.indices("i j", i="(h + 2*padding - size)//stride + 1", j="(w + 2*padding - size)//stride + 1")
    r, s = sg.indices("r s", r="size", s="size")
    row, column = stride * i + r - padding, stride * j + s - padding
    inside = (row >= 0) & (row < x.shape[2]) & (column >= 0) & (column < x.shape[3])
    return sg.tensor[b, d, i, j](sg.max[r, s](sg.where(inside, x[b, d, row, column], -np.inf)))


@sg.function
def avg_pool1d(x: sg.Tensor["n c w"], *, size: int = 2, stride: int = 2, padding: int = 0):
    """The mean of each window; what lies outside of x counts as 0."""
    b, d = sg.indices("b d")
    i, r = sg.indices("i r", i="(w + 2*padding - size)//stride + 1", r="size")
    at = stride * i + r - padding
    inside = (at >= 0) & (at < x.shape[2])
    return sg.tensor[b, d, i](sg.sum[r](sg.where(inside, x[b, d, at], 0)) / size)


@sg.function
def avg_pool2d(x: sg.Tensor["n c h w"], *, size: int = 2, stride: int = 2):
    """The mean of each window."""
    b, d, i, j = sg.indices("b d i j")
    r, s = sg.indices("r s", r="size", s="size")
    return sg.tensor[b, d, i, j](sg.sum[r, s](x[b, d, stride * i + r, stride * j + s]) / size**2)


@sg.function
def avg_pool2d_padded(x: sg.Tensor["n c h w"], *, size: int = 3, stride: int = 2, padding: int = 1):
    """avg_pool2d where the windows reach over the edge; what lies outside of x counts as 0."""
    b, d = sg.indices("b d")
    i, j = sg.indices("i j", i="(h + 2*padding - size)//stride + 1", j="(w + 2*padding - size)//stride + 1")
    r, s = sg.indices("r s", r="size", s="size")
    row, column = stride * i + r - padding, stride * j + s - padding
    inside = (row >= 0) & (row < x.shape[2]) & (column >= 0) & (column < x.shape[3])
    return sg.tensor[b, d, i, j](sg.sum[r, s](sg.where(inside, x[b, d, row, column], 0)) / size**2)


@sg.function
def adaptive_avg_pool1d(x: sg.Tensor["n c w"], *, bins: int = 2):
    """The mean of each of `bins` stretches of the last axis, from floor(i w / bins) to ceil((i + 1) w / bins)."""
    b, d, k = sg.indices("b d k")
    i = sg.indices("i", i="bins")
    w = x.shape[2]
    start, stop = i * w // bins, ((i + 1) * w + bins - 1) // bins
    inside = (k >= start) & (k < stop)
    return sg.tensor[b, d, i](sg.sum[k](sg.where(inside, x[b, d, k], 0)) / (stop - start))


@sg.function
def global_avg_pool2d(x: sg.Tensor["n c h w"]):
    """The mean of each channel."""
    return x.mean(axis=(2, 3))


@sg.function
def block_mean(x: sg.Tensor["n w"], *, size: int = 2):
    """The mean of each block of `size` neighbours; w is a multiple of it."""
    return x.reshape(x.shape[0], -1, size).mean(axis=-1)
