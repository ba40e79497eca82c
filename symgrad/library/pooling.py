"""Windows that are reduced: maxima and means, overlapping and padded, with the conventions of torch.

A size, a stride or a padding is one number for all axes; fixed to a tuple, it is one for each.
"""

from functools import reduce
from operator import mul

import numpy as np

from .. import declare as sg
from .windows import at_least, each, functions, inside, loops, windows_of


def _at_most_half(size, padding, rank):
    """Require of a padding that each window has an element inside, as torch does."""
    for width, border in zip(each(size, rank), each(padding, rank), strict=True):
        at_least(size=(width, 1))
        sg.require(2 * border <= width, f"2 * padding <= size, here padding = {border}, size = {width}")


def _max_pool(axes, _):
    def max_pool(
        x: sg.Tensor[f"n*batch c {axes}"],
        *,
        size: int = 2,
        stride: int = 2,
        padding: int = 0,
        dilation: sg.Static = 1,
        ceil_mode: sg.Static = False,
        batch: sg.Static = 1,
    ):
        """The largest element of each window; where several are, they share the gradient.

        What lies outside is -oo, and so is a window that no element lies in.
        """
        b, shape = loops("bdef", batch + 1), x.shape[batch + 1 :]
        _at_most_half(size, padding, len(shape))
        windows, elements, at = windows_of(shape, size, stride, padding, dilation, ceil_mode)
        return sg.tensor[*b, *windows](sg.max[*elements](sg.where(inside(shape, at), x[*b, *at], -np.inf)))

    return max_pool


max_pool1d, max_pool2d, max_pool3d = functions(_max_pool)


def _means(x, batch, size, stride, padding, ceil_mode, count_padding, divisor):
    b, shape = loops("bdef", batch + 1), x.shape[batch + 1 :]
    _at_most_half(size, padding, len(shape))
    windows, elements, at = windows_of(shape, size, stride, padding, 1, ceil_mode)
    total = sg.sum[*elements](sg.where(inside(shape, at), x[*b, *at], 0))
    options = (each(option, len(shape)) for option in (size, stride, padding))
    counts = (
        _counted(i, n, *own, ceil_mode, count_padding) for i, n, *own in zip(windows, shape, *options, strict=True)
    )
    return sg.tensor[*b, *windows](total / (divisor or reduce(mul, counts)))


def _counted(i, n, size, stride, padding, ceil_mode, count_padding):
    """How many elements of a window along an axis count."""
    start = stride * i - padding
    if not count_padding:
        return sg.minimum(start + size, n) - sg.maximum(start, 0)
    return sg.minimum(start + size, n + padding) - start if ceil_mode else size


def _avg_pool(axes, _):
    def avg_pool(
        x: sg.Tensor[f"n*batch c {axes}"],
        *,
        size: int = 2,
        stride: int = 2,
        padding: int = 0,
        ceil_mode: sg.Static = False,
        count_padding: sg.Static = True,
        divisor: sg.Static = None,
        batch: sg.Static = 1,
    ):
        """The mean of each window; what lies outside of x counts as 0, or not at all if not `count_padding`."""
        return _means(x, batch, size, stride, padding, ceil_mode, count_padding, divisor)

    return avg_pool


avg_pool1d, avg_pool2d, avg_pool3d = functions(_avg_pool)


def _adaptive(axes, _):
    def adaptive_avg_pool(x: sg.Tensor[f"n*batch c {axes}"], *, bins: int = 2, batch: sg.Static = 1):
        """The mean of each of `bins` stretches of an axis, from floor(i w / bins) to ceil((i + 1) w / bins)."""
        b, shape = loops("bdef", batch + 1), x.shape[batch + 1 :]
        total, windows = x[*b, *(elements := loops("lmn", len(shape)))], []
        for k, n, name, count in zip(elements, shape, "ijk", each(bins, len(shape)), strict=False):
            at_least(bins=(count, 1))
            i = sg.indices(name, **{name: count})
            start, stop = i * n // count, ((i + 1) * n + count - 1) // count
            total = sg.where((k >= start) & (k < stop), total, 0) / (stop - start)
            windows.append(i)
        return sg.tensor[*b, *windows](sg.sum[*elements](total))

    return adaptive_avg_pool


adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = functions(_adaptive)


@sg.function
def global_avg_pool2d(x: sg.Tensor["n c h w"]):
    """The mean of each channel."""
    return x.mean(axis=(2, 3))


@sg.function
def block_mean(x: sg.Tensor["n w"], *, size: int = 2):
    """The mean of each block of `size` neighbours; w is a multiple of it."""
    return x.reshape(x.shape[0], -1, size).mean(axis=-1)
