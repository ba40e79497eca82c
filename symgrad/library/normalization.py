"""Normalisations: layer, root-mean-square, batch (in training)."""

from .. import declare as sg


@sg.function
def layer_norm(
    x: sg.Tensor["... d"], gain: sg.Tensor["d"], bias: sg.Tensor["d"], *, eps: float = 1e-5
):
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
def batch_norm(
    x: sg.Tensor["n d"], gain: sg.Tensor["d"], bias: sg.Tensor["d"], *, eps: float = 1e-5
):
    """(x - mean) / sqrt(var + eps) * gain + bias over the batch, as in training."""
    centered = x - x.mean(axis=0)
    rstd = 1 / sg.sqrt((centered**2).mean(axis=0) + eps)
    xhat = centered * rstd
    return xhat * gain + bias
