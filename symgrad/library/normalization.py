"""Normalisations: layer, root-mean-square, batch, group, and of vectors."""

from .. import declare as sg


def _last(count):
    """The last axes, as many."""
    return tuple(range(-count, 0)) if count > 1 else -1


def _of_channels(values, places):
    """One number for each channel, beside as many axes of places."""
    return values[:, *[None] * places]


@sg.function
def layer_norm(
    x: sg.Tensor["... d*axes"],
    gain: sg.Tensor["d*axes"],
    bias: sg.Tensor["d*axes"],
    *,
    eps: float = 1e-5,
    axes: sg.Static = 1,
):
    """(x - mean) / sqrt(var + eps) * gain + bias over the last axis, or the last few."""
    centered = x - x.mean(axis=_last(axes), keepdims=True)
    rstd = 1 / sg.sqrt((centered**2).mean(axis=_last(axes), keepdims=True) + eps)
    xhat = centered * rstd
    return xhat * gain + bias


@sg.function
def rms_norm(x: sg.Tensor["... d*axes"], gain: sg.Tensor["d*axes"], *, eps: float = 1e-5, axes: sg.Static = 1):
    """x / sqrt(mean(x^2) + eps) * gain over the last axis, or the last few."""
    rstd = 1 / sg.sqrt((x**2).mean(axis=_last(axes), keepdims=True) + eps)
    xhat = x * rstd
    return xhat * gain


@sg.function
def batch_norm(
    x: sg.Tensor["n d w*places"],
    gain: sg.Tensor["d"],
    bias: sg.Tensor["d"],
    *,
    eps: float = 1e-5,
    places: sg.Static = 0,
):
    """(x - mean) / sqrt(var + eps) * gain + bias over the batch and the places of each channel, as in training."""
    axis = (0, *range(2, 2 + places))
    centered = x - x.mean(axis=axis, keepdims=True)
    rstd = 1 / sg.sqrt((centered**2).mean(axis=axis, keepdims=True) + eps)
    xhat = centered * rstd
    return xhat * _of_channels(gain, places) + _of_channels(bias, places)


@sg.function
def batch_norm_eval(
    x: sg.Tensor["n d w*places"],
    mean: sg.Tensor["d"],
    var: sg.Tensor["d"],
    gain: sg.Tensor["d"] = None,
    bias: sg.Tensor["d"] = None,
    *,
    eps: float = 1e-5,
    places: sg.Static = 0,
):
    """(x - mean) / sqrt(var + eps) * gain + bias with running statistics, as in evaluation."""
    xhat = (x - _of_channels(mean, places)) / sg.sqrt(_of_channels(var, places) + eps)
    return xhat * _of_channels(gain, places) + _of_channels(bias, places)


@sg.function
def group_norm(
    x: sg.Tensor["n c w*places"],
    gain: sg.Tensor["c"] = None,
    bias: sg.Tensor["c"] = None,
    *,
    groups: int = 2,
    eps: float = 1e-5,
    places: sg.Static = 1,
):
    """(x - mean) / sqrt(var + eps) * gain + bias over the channels and places of each of several groups."""
    n, c, *w = x.shape
    parts = x.reshape(n, groups, -1, *w)
    axis = tuple(range(2, 3 + places))
    centered = parts - parts.mean(axis=axis, keepdims=True)
    rstd = 1 / sg.sqrt((centered**2).mean(axis=axis, keepdims=True) + eps)
    xhat = (centered * rstd).reshape(n, c, *w)
    return xhat * _of_channels(gain, places) + _of_channels(bias, places)


@sg.function
def instance_norm(
    x: sg.Tensor["... c w*places"],
    gain: sg.Tensor["c"] = None,
    bias: sg.Tensor["c"] = None,
    *,
    eps: float = 1e-5,
    places: sg.Static = 1,
):
    """(x - mean) / sqrt(var + eps) * gain + bias over the places of each channel."""
    centered = x - x.mean(axis=_last(places), keepdims=True)
    rstd = 1 / sg.sqrt((centered**2).mean(axis=_last(places), keepdims=True) + eps)
    xhat = centered * rstd
    return xhat * _of_channels(gain, places) + _of_channels(bias, places)


@sg.function
def local_response_norm(
    x: sg.Tensor["n c w*places"],
    *,
    size: int = 5,
    alpha: float = 1e-4,
    beta: float = 0.75,
    k: float = 1.0,
    places: sg.Static = 1,
):
    """x / (k + alpha mean of x^2 over `size` channels around)^beta."""
    b, i, s, *p = sg.indices(" ".join("bisjlm"[: 3 + places]), i="c", s="size")
    channel = i + s - size // 2
    near = sg.where((channel >= 0) & (channel < x.shape[1]), x[b, channel, *p] ** 2, 0)
    square = sg.tensor[b, i, *p](sg.sum[s](near))
    return x / (k + alpha * square / size) ** beta


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
