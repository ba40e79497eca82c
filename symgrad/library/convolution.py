"""Windows that move over an image: convolution and pooling, with the conventions of torch."""

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
def max_pool2d(x: sg.Tensor["n c h w"], *, size: int = 2, stride: int = 2):
    """The largest element of each window; where several are, they share the gradient."""
    b, d, i, j = sg.indices("b d i j")
    r, s = sg.indices("r s", r="size", s="size")
    return sg.tensor[b, d, i, j](sg.max[r, s](x[b, d, stride * i + r, stride * j + s]))


@sg.function
def avg_pool2d(x: sg.Tensor["n c h w"], *, size: int = 2, stride: int = 2):
    """The mean of each window."""
    b, d, i, j = sg.indices("b d i j")
    r, s = sg.indices("r s", r="size", s="size")
    return sg.tensor[b, d, i, j](sg.sum[r, s](x[b, d, stride * i + r, stride * j + s]) / size**2)
