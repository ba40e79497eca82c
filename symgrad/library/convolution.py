"""Convolution and its transpose, with the conventions of torch."""

from .. import declare as sg


@sg.function
def conv1d(x: sg.Tensor["n c w"], weight: sg.Tensor["o c k"], *, stride: int = 1, padding: int = 0, dilation: int = 1):
    """The sum over each window of x, times weight; what lies outside of x counts as 0."""
    b, f, d, r = sg.indices("b f d r")
    i = sg.indices("i", i="(w + 2*padding - dilation*(k - 1) - 1)//stride + 1")
    at = stride * i + dilation * r - padding
    inside = (at >= 0) & (at < x.shape[2])
    return sg.tensor[b, f, i](sg.sum[d, r](sg.where(inside, x[b, d, at], 0) * weight[f, d, r]))


@sg.function
def conv2d(
    x: sg.Tensor["n c h w"],
    weight: sg.Tensor["o c p q"],
    bias: sg.Tensor["o"] = None,
    *,
    stride: int = 1,
    padding: int = 0,
    dilation: int = 1,
):
    """The sum over each window of x, times weight, plus bias; what lies outside of x counts as 0."""
    b, f, d, r, s = sg.indices("b f d r s")
    i = sg.indices("i", i="(h + 2*padding - dilation*(p - 1) - 1)//stride + 1")
    j = sg.indices("j", j="(w + 2*padding - dilation*(q - 1) - 1)//stride + 1")
    row, column = stride * i + dilation * r - padding, stride * j + dilation * s - padding
    inside = (row >= 0) & (row < x.shape[2]) & (column >= 0) & (column < x.shape[3])
    return sg.tensor[b, f, i, j](
        sg.sum[d, r, s](sg.where(inside, x[b, d, row, column], 0) * weight[f, d, r, s]) + bias[f]
    )


@sg.function
def conv3d(
    x: sg.Tensor["n c t h w"],
    weight: sg.Tensor["o c u p q"],
    bias: sg.Tensor["o"] = None,
    *,
    stride: int = 1,
    padding: int = 0,
):
    """The sum over each window of x, times weight, plus bias; what lies outside of x counts as 0."""
    b, f, d, l, r, s = sg.indices("b f d l r s")
    k = sg.indices("k", k="(t + 2*padding - u)//stride + 1")
    i = sg.indices("i", i="(h + 2*padding - p)//stride + 1")
    j = sg.indices("j", j="(w + 2*padding - q)//stride + 1")
    time, row, column = stride * k + l - padding, stride * i + r - padding, stride * j + s - padding
    inside = (time >= 0) & (time < x.shape[2]) & (row >= 0) & (row < x.shape[3])
    inside = inside & (column >= 0) & (column < x.shape[4])
    return sg.tensor[b, f, k, i, j](
        sg.sum[d, l, r, s](sg.where(inside, x[b, d, time, row, column], 0) * weight[f, d, l, r, s]) + bias[f]
    )


@sg.function
def grouped_conv1d(
    x: sg.Tensor["n c w"],
    weight: sg.Tensor["o d k"],
    bias: sg.Tensor["o"] = None,
    *,
    stride: int = 1,
    padding: int = 0,
    dilation: int = 1,
    groups: int = 2,
):
    """conv1d of each of several groups of channels by itself: c is groups * d."""
    n, _, w = x.shape
    _, d, k = weight.shape
    parts = x.reshape(n, groups, d, w)
    filters = weight.reshape(groups, -1, d, k)
    b, g, e, f, r = sg.indices("b g e f r")
    i = sg.indices("i", i="(w + 2*padding - dilation*(k - 1) - 1)//stride + 1")
    at = stride * i + dilation * r - padding
    inside = (at >= 0) & (at < w)
    return (
        sg.tensor[b, sg.merge(g, f), i](sg.sum[e, r](sg.where(inside, parts[b, g, e, at], 0) * filters[g, f, e, r]))
        + bias[:, None]
    )


@sg.function
def grouped_conv2d(
    x: sg.Tensor["n c h w"],
    weight: sg.Tensor["o d p q"],
    *,
    stride: int = 1,
    padding: int = 0,
    groups: int = 2,
):
    """conv2d of each of several groups of channels by itself: c is groups * d."""
    n, _, h, w = x.shape
    _, d, p, q = weight.shape
    parts = x.reshape(n, groups, d, h, w)
    filters = weight.reshape(groups, -1, d, p, q)
    b, g, e, f, r, s = sg.indices("b g e f r s")
    i = sg.indices("i", i="(h + 2*padding - p)//stride + 1")
    j = sg.indices("j", j="(w + 2*padding - q)//stride + 1")
    row, column = stride * i + r - padding, stride * j + s - padding
    inside = (row >= 0) & (row < h) & (column >= 0) & (column < w)
    return sg.tensor[b, sg.merge(g, f), i, j](
        sg.sum[e, r, s](sg.where(inside, parts[b, g, e, row, column], 0) * filters[g, f, e, r, s])
    )


@sg.function
def depthwise_conv2d(x: sg.Tensor["n c h w"], weight: sg.Tensor["c p q"], *, stride: int = 1, padding: int = 0):
    """Each channel by a filter of its own; what lies outside of x counts as 0."""
    b, d, r, s = sg.indices("b d r s")
    i = sg.indices("i", i="(h + 2*padding - p)//stride + 1")
    j = sg.indices("j", j="(w + 2*padding - q)//stride + 1")
    row, column = stride * i + r - padding, stride * j + s - padding
    inside = (row >= 0) & (row < x.shape[2]) & (column >= 0) & (column < x.shape[3])
    return sg.tensor[b, d, i, j](sg.sum[r, s](sg.where(inside, x[b, d, row, column], 0) * weight[d, r, s]))


@sg.function
def conv_transpose1d(
    x: sg.Tensor["n c w"],
    weight: sg.Tensor["c o k"],
    bias: sg.Tensor["o"] = None,
    *,
    stride: int = 1,
    padding: int = 0,
    output_padding: int = 0,
    dilation: int = 1,
):
    """Each element of x spread over a window by weight; `padding` is cut off at both ends."""
    b, f, d, i, r = sg.indices("b f d i r")
    full = sg.tensor.new("n o (w-1)*stride+dilation*(k-1)+output_padding+1")
    full[b, f, stride * i + dilation * r] += x[b, d, i] * weight[d, f, r]
    return full[:, :, padding : full.shape[2] - padding] + bias[:, None]


@sg.function
def conv_transpose2d(
    x: sg.Tensor["n c h w"],
    weight: sg.Tensor["c o p q"],
    bias: sg.Tensor["o"] = None,
    *,
    stride: int = 1,
    padding: int = 0,
    output_padding: int = 0,
    dilation: int = 1,
):
    """Each element of x spread over a window by weight; `padding` is cut off at all sides."""
    b, f, d, i, j, r, s = sg.indices("b f d i j r s")
    height, width = "(h-1)*stride+dilation*(p-1)+output_padding+1", "(w-1)*stride+dilation*(q-1)+output_padding+1"
    full = sg.tensor.new(f"n o {height} {width}")
    full[b, f, stride * i + dilation * r, stride * j + dilation * s] += x[b, d, i, j] * weight[d, f, r, s]
    inner = full[:, :, padding : full.shape[2] - padding, padding : full.shape[3] - padding]
    return inner + bias[:, None, None]


@sg.function
def grouped_conv_transpose1d(
    x: sg.Tensor["n c w"], weight: sg.Tensor["c o k"], *, stride: int = 1, padding: int = 0, groups: int = 2
):
    """conv_transpose1d of each of several groups of channels by itself; its o channels for each group."""
    n, _, w = x.shape
    _, o, k = weight.shape
    parts = x.reshape(n, groups, -1, w)
    filters = weight.reshape(groups, -1, o, k)
    b, g, f, d, i, r = sg.indices("b g f d i r")
    full = sg.tensor.new("n groups o (w-1)*stride+k")
    full[b, g, f, stride * i + r] += parts[b, g, d, i] * filters[g, d, f, r]
    return full[..., padding : full.shape[3] - padding].reshape(n, groups * o, -1)


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
