"""Normalisations: layer, root-mean-square, batch, group, and of vectors."""

from .. import declare as sg


@sg.function
def layer_norm(x: sg.Tensor["... d"], gain: sg.Tensor["d"], bias: sg.Tensor["d"], *, eps: float = 1e-5):
    """(x - mean) / sqrt(var + eps) * gain + bias over the last axis."""
    centered = x - x.mean(axis=-1, keepdims=True)
    rstd = 1 / sg.sqrt((centered**2).mean(axis=-1, keepdims=True) + eps)
    xhat = centered * rstd
    return xhat * gain + bias


@sg.function
def rms_norm(x: sg.Tensor["... d"], gain: sg.Tensor["d"], *, eps: float = 1e-5):
    """x / sqrt(mean(x^2) + eps) * gain over the last axis."""
    rstd = 1 / sg.sqrt((x**2).mean(axis=-1, keepdims=True) + eps)
    xhat = x * rstd
    return xhat * gain


@sg.function
def batch_norm(x: sg.Tensor["n d"], gain: sg.Tensor["d"], bias: sg.Tensor["d"], *, eps: float = 1e-5):
    """(x - mean) / sqrt(var + eps) * gain + bias over the batch, as in training."""
    centered = x - x.mean(axis=0)
    rstd = 1 / sg.sqrt((centered**2).mean(axis=0) + eps)
    xhat = centered * rstd
    return xhat * gain + bias


@sg.function
def batch_norm2d(x: sg.Tensor["n c h w"], gain: sg.Tensor["c"], bias: sg.Tensor["c"], *, eps: float = 1e-5):
    """(x - mean) / sqrt(var + eps) * gain + bias over the batch and the places of each channel, as in training."""
    centered = x - x.mean(axis=(0, 2, 3), keepdims=True)
    rstd = 1 / sg.sqrt((centered**2).mean(axis=(0, 2, 3), keepdims=True) + eps)
    xhat = centered * rstd
    return xhat * gain[:, None, None] + bias[:, None, None]


@sg.function
def batch_norm_eval(
    x: sg.Tensor["n d"],
    mean: sg.Tensor["d"],
    var: sg.Tensor["d"],
    gain: sg.Tensor["d"],
    bias: sg.Tensor["d"],
    *,
    eps: float = 1e-5,
):
    """(x - mean) / sqrt(var + eps) * gain + bias with running statistics, as in evaluation."""
    return (x - mean) / sg.sqrt(var + eps) * gain + bias


@sg.function
def group_norm(x: sg.Tensor["... g c p"], gain: sg.Tensor["g c"], bias: sg.Tensor["g c"], *, eps: float = 1e-5):
    """(x - mean) / sqrt(var + eps) * gain + bias over the channels and places of each of g groups."""
    centered = x - x.mean(axis=(-2, -1), keepdims=True)
    rstd = 1 / sg.sqrt((centered**2).mean(axis=(-2, -1), keepdims=True) + eps)
    xhat = centered * rstd
    return xhat * gain[:, :, None] + bias[:, :, None]


@sg.function
def instance_norm(x: sg.Tensor["... c p"], gain: sg.Tensor["c"], bias: sg.Tensor["c"], *, eps: float = 1e-5):
    """(x - mean) / sqrt(var + eps) * gain + bias over the places of each channel."""
    centered = x - x.mean(axis=-1, keepdims=True)
    rstd = 1 / sg.sqrt((centered**2).mean(axis=-1, keepdims=True) + eps)
    xhat = centered * rstd
    return xhat * gain[:, None] + bias[:, None]


@sg.function
def group_norm_channels(
    x: sg.Tensor["n c p"], gain: sg.Tensor["c"], bias: sg.Tensor["c"], *, groups: int = 2, eps: float = 1e-5
):
    """group_norm with the channels of all groups in one axis, as in torch."""
    n, c, p = x.shape
    parts = x.reshape(n, groups, -1, p)
    centered = parts - parts.mean(axis=(2, 3), keepdims=True)
    rstd = 1 / sg.sqrt((centered**2).mean(axis=(2, 3), keepdims=True) + eps)
    xhat = (centered * rstd).reshape(n, c, p)
    return xhat * gain[:, None] + bias[:, None]


@sg.function
def local_response_norm(
    x: sg.Tensor["n c p"], *, reach: int = 2, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
):
    """x / (k + alpha mean of x^2 over the 2 reach + 1 channels around)^beta."""
    b, i, j, s = sg.indices("b i j s", i="c", s="2*reach + 1")
    channel = i + s - reach
    near = sg.where((channel >= 0) & (channel < x.shape[1]), x[b, channel, j] ** 2, 0)
    square = sg.tensor[b, i, j](sg.sum[s](near))
    return x / (k + alpha * square / (2 * reach + 1)) ** beta


@sg.function
def l2_normalize(x: sg.Tensor["... n"], *, eps: float = 1e-12):
    """x / sqrt(sum(x^2) + eps) over the last axis."""
    return x / sg.sqrt((x**2).sum(axis=-1, keepdims=True) + eps)


@sg.function
def l1_normalize(x: sg.Tensor["... n"]):
    """x / sum(|x|) over the last axis."""
    return x / abs(x).sum(axis=-1, keepdims=True)


@sg.function
def standardize(x: sg.Tensor["... n"], *, eps: float = 1e-5):
    """(x - mean) / sqrt(var + eps) over the last axis."""
    centered = x - x.mean(axis=-1, keepdims=True)
    return centered / sg.sqrt((centered**2).mean(axis=-1, keepdims=True) + eps)


@sg.function
def min_max_scale(x: sg.Tensor["... n"]):
    """(x - min) / (max - min) over the last axis."""
    low = x.min(axis=-1, keepdims=True)
    return (x - low) / (x.max(axis=-1, keepdims=True) - low)


@sg.function
def dynamic_tanh(x: sg.Tensor["... d"], scale, gain: sg.Tensor["d"], bias: sg.Tensor["d"]):
    """tanh(scale x) gain + bias (Zhu and others, 2025)."""
    return sg.tanh(scale * x) * gain + bias
