"""Convolution and its transpose, with the conventions of torch.

A stride, a padding or a dilation is one number for all axes; fixed to a tuple, it is one for each.
"""

from .. import declare as sg
from .windows import each, functions, inside, loops, windows_of


def _conv(axes, window):
    def conv(
        x: sg.Tensor[f"n*batch c {axes}"],
        weight: sg.Tensor[lambda groups: f"o c {window}" if groups == 1 else f"o d {window}"],
        bias: sg.Tensor["o"] = None,
        *,
        stride: int = 1,
        padding: int = 0,
        dilation: int = 1,
        groups: sg.Static = 1,
        batch: sg.Static = 1,
    ):
        """The sum over each window of x, times weight, plus bias; what lies outside of x counts as 0.

        Each of several groups of d channels is by itself; padding="same" gives as many windows as there are elements.
        """
        shape, kernel = x.shape[batch + 1 :], weight.shape[2:]
        windows, elements, at = windows_of(shape, kernel, stride, padding, dilation)
        held = inside(shape, at)
        b, f, d = loops("bm", batch), *sg.indices("f d" if groups == 1 else "f e")
        if groups == 1:
            products = sg.where(held, x[*b, d, *at], 0) * weight[f, d, *elements]
            return sg.tensor[*b, f, *windows](sg.sum[d, *elements](products) + bias[f])
        parts = x.reshape(*x.shape[:batch], groups, weight.shape[1], *shape)
        filters = weight.reshape(groups, -1, *weight.shape[1:])
        g = sg.indices("g")
        products = sg.where(held, parts[*b, g, d, *at], 0) * filters[g, f, d, *elements]
        return sg.tensor[*b, sg.merge(g, f), *windows](sg.sum[d, *elements](products)) + bias[:, *[None] * len(shape)]

    return conv


conv1d, conv2d, conv3d = functions(_conv)


@sg.function
def depthwise_conv2d(x: sg.Tensor["n c h w"], weight: sg.Tensor["c p q"], *, stride: int = 1, padding: int = 0):
    """Each channel by a filter of its own; what lies outside of x counts as 0."""
    b, d, r, s = sg.indices("b d r s")
    i = sg.indices("i", i="(h + 2*padding - p)//stride + 1")
    j = sg.indices("j", j="(w + 2*padding - q)//stride + 1")
    row, column = stride * i + r - padding, stride * j + s - padding
    inside = (row >= 0) & (row < x.shape[2]) & (column >= 0) & (column < x.shape[3])
    return sg.tensor[b, d, i, j](sg.sum[r, s](sg.where(inside, x[b, d, row, column], 0) * weight[d, r, s]))


def _spread(x, weight, bias, batch, stride, padding, output_padding, dilation, groups):
    shape, kernel = x.shape[batch + 1 :], weight.shape[2:]
    rank = len(shape)
    strides, paddings, more, dilations = (each(o, rank) for o in (stride, padding, output_padding, dilation))
    for step, apart, rest in zip(strides, dilations, more, strict=True):
        bound = f"output_padding < maximum(stride, dilation), here {rest}, {step}, {apart}"
        sg.require((rest < step) | (rest < apart), bound)
    reach = [
        (n - 1) * step + apart * (q - 1) + rest + 1
        for n, q, step, apart, rest in zip(shape, kernel, strides, dilations, more, strict=True)
    ]
    b, f, d = loops("bm", batch), *sg.indices("f d" if groups == 1 else "f e")
    places, elements = loops("ijk", rank), loops("rsl", rank)
    at = [s * i + e * r for s, i, e, r in zip(strides, places, dilations, elements, strict=True)]
    front, channels = x.shape[:batch], weight.shape[1]
    if groups == 1:
        full = sg.tensor.new((*front, channels, *reach), "full")
        full[*b, f, *at] += x[*b, d, *places] * weight[d, f, *elements]
    else:
        parts = x.reshape(*front, groups, -1, *shape)
        filters = weight.reshape(groups, -1, *weight.shape[1:])
        g = sg.indices("g")
        full = sg.tensor.new((*front, groups, channels, *reach), "full")
        full[*b, g, f, *at] += parts[*b, g, d, *places] * filters[g, d, f, *elements]
    inner = full[..., *(slice(p, n - p) for p, n in zip(paddings, reach, strict=True))]
    if groups == 1:
        return inner + bias[:, *[None] * rank]
    inner = inner + bias[..., *[None] * rank]
    return inner.reshape(*front, groups * channels, *inner.shape[-rank:])


def _conv_transpose(axes, window):
    def conv_transpose(
        x: sg.Tensor[f"n*batch c {axes}"],
        weight: sg.Tensor[lambda groups: f"c o {window}" if groups == 1 else f"c d {window}"],
        bias: sg.Tensor[lambda groups: "o" if groups == 1 else f"{groups} d"] = None,
        *,
        stride: int = 1,
        padding: int = 0,
        output_padding: int = 0,
        dilation: int = 1,
        groups: sg.Static = 1,
        batch: sg.Static = 1,
    ):
        """Each element of x spread over a window by weight; `padding` is cut off at both ends of each axis.

        Each of several groups of channels is by itself and gives d channels; bias then has an axis of groups, too.
        """
        return _spread(x, weight, bias, batch, stride, padding, output_padding, dilation, groups)

    return conv_transpose


conv_transpose1d, conv_transpose2d, conv_transpose3d = functions(_conv_transpose)


@sg.function
def convolve(x: sg.Tensor["n"], kernel: sg.Tensor["k"]):
    """np.convolve(x, kernel): all n + k - 1 places where the two meet."""
    out = sg.tensor.new("n+k-1")
    i, r = sg.indices("i r")
    out[i + r] += x[i] * kernel[r]
    return out


@sg.function
def correlate(x: sg.Tensor["n"], kernel: sg.Tensor["k"]):
    """np.correlate(x, kernel, "valid"): where kernel lies inside of x."""
    i, r = sg.indices("i r")
    return sg.tensor[i](sg.sum[r](x[i + r] * kernel[r]))
