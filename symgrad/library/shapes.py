"""Elements moved from place to place: padding, slicing, joining, splitting and merging axes, gathering, masking."""

import numpy as np

from .. import declare as sg
from .windows import each, inside


def _borders(left, right, axes):
    """How much there is before and behind each of the last axes."""
    return list(zip(range(-axes, 0), each(left, axes), each(right, axes), strict=True))


def _part(x, axis, *bounds):
    """x[bounds] along an axis that is counted from the end."""
    return x[..., slice(*bounds), *[slice(None)] * (-1 - axis)]


def _cut(x, axis, left, right):
    """Without what negative borders take away; and the borders that are left."""
    for k, border in enumerate((left, right)):
        if isinstance(border, int) and border < 0:
            x = _part(x, axis, -border if k == 0 else None, None if k == 0 else border)
    return x, *(0 if isinstance(b, int) and b < 0 else b for b in (left, right))


@sg.function
def pad_constant(x: sg.Tensor["... n*axes"], *, left: int = 1, right: int = 1, value: float = 0.0, axes: sg.Static = 1):
    """x with `left` and `right` elements of one value at the ends of the last axis, or of the last few."""
    indices, places = [], []
    for name, (axis, before, behind) in zip("ijklpq", _borders(left, right, axes), strict=False):
        length = before + x.shape[axis] + behind
        sg.require(length >= 0)
        i = sg.indices(name, **{name: length})
        indices.append(i)
        places.append(i - before)
    return sg.tensor[..., *indices](sg.where(inside(x.shape[-axes:], places), x[..., *places], value))


@sg.function
def pad_reflect(x: sg.Tensor["... n*axes"], *, left: int = 1, right: int = 1, axes: sg.Static = 1):
    """x with its neighbours in a mirror at the ends of the last axes, the ends themselves not doubled."""
    for axis, before, behind in _borders(left, right, axes):
        x, before, behind = _cut(x, axis, before, behind)
        n = x.shape[axis]
        first, last = _part(x, axis, 1, before + 1), _part(x, axis, n - 1 - behind, n - 1)
        x = np.concatenate([np.flip(first, axis), x, np.flip(last, axis)], axis=axis)
    return x


@sg.function
def pad_replicate(x: sg.Tensor["... n*axes"], *, left: int = 1, right: int = 1, axes: sg.Static = 1):
    """x with its first and last elements repeated at the ends of the last axes."""
    indices, places = [], []
    for name, (axis, before, behind) in zip("ijkl", _borders(left, right, axes), strict=False):
        n = x.shape[axis]
        i = sg.indices(name, **{name: before + n + behind})
        indices.append(i)
        places.append(sg.minimum(sg.maximum(i - before, 0), n - 1))
    return sg.tensor[..., *indices](x[..., *places])


@sg.function
def pad_circular(x: sg.Tensor["... n*axes"], *, left: int = 1, right: int = 1, axes: sg.Static = 1):
    """x with its last elements before it and its first ones behind it, along the last axes."""
    for axis, before, behind in _borders(left, right, axes):
        x, before, behind = _cut(x, axis, before, behind)
        n = x.shape[axis]
        x = np.concatenate([_part(x, axis, n - before, None), x, _part(x, axis, None, behind)], axis=axis)
    return x


@sg.function
def strided_slice(x: sg.Tensor["... n"], *, start: int = 0, step: int = 2):
    """x[..., start::step]."""
    k = sg.indices("k", k="(n - start + step - 1)//step")
    return sg.tensor[..., k](x[..., start + step * k])


@sg.function
def flip(x: sg.Tensor["..."], *, axis: sg.Static = -1):
    """The last axis backwards, or others."""
    return np.flip(x, axis=axis)


@sg.function
def roll(x: sg.Tensor["..."], *, shift: int = 1, axis: sg.Static = -1):
    """np.roll along the last axis, or others."""
    return np.roll(x, shift, axis=axis)


@sg.function
def concatenate(x: sg.Tensor["n d"], y: sg.Tensor["m d"]):
    """The rows of x, and behind them those of y."""
    return np.concatenate([x, y])


@sg.function
def stack(x: sg.Tensor["..."], y: sg.Tensor["..."]):
    """x and y along a new last axis."""
    return sg.stack([x, y])


@sg.function
def permute(x: sg.Tensor["n h w c"]):
    """Channels moved before the places: x.transpose(0, 3, 1, 2)."""
    return x.transpose(0, 3, 1, 2)


@sg.function
def squeeze(x: sg.Tensor["n 1 d"]):
    """x without its axis of length 1."""
    return x[:, 0]


@sg.function
def broadcast_rows(x: sg.Tensor["d"], *, rows: int = 2):
    """x as each of `rows` rows."""
    i, j = sg.indices("i j", i="rows")
    return sg.tensor[i, j](x[j])


@sg.function
def tile(x: sg.Tensor["n m"], *, times: int = 2):
    """The whole last axis several times, one behind the other."""
    i, j, r = sg.indices("i j r", r="times")
    return sg.tensor[i, sg.merge(r, j)](x[i, j])


@sg.function
def repeat(x: sg.Tensor["n m"], *, times: int = 2):
    """Each element of the last axis several times."""
    i, j, r = sg.indices("i j r", r="times")
    return sg.tensor[i, sg.merge(j, r)](x[i, j])


@sg.function
def split_heads(x: sg.Tensor["b n d"], *, heads: int = 2):
    """b n (h e) -> b h n e, as attention wants it."""
    b, n, d = x.shape
    return x.reshape(b, n, heads, d // heads).transpose(0, 2, 1, 3)


@sg.function
def merge_heads(x: sg.Tensor["b h n e"]):
    """b h n e -> b n (h e)."""
    r, k, i, c = sg.indices("r k i c")
    return sg.tensor[r, i, sg.merge(k, c)](x[r, k, i, c])


@sg.function
def pixel_shuffle(x: sg.Tensor["n k h w"], *, factor: int = 2):
    """n (c r s) h w -> n c (h r) (w s), with r and s below the factor (Shi and others, 2016)."""
    n, _, h, w = x.shape
    parts = x.reshape(n, -1, factor, factor, h, w)
    b, c, r, s, i, j = sg.indices("b c r s i j")
    return sg.tensor[b, c, sg.merge(i, r), sg.merge(j, s)](parts[b, c, r, s, i, j])


@sg.function
def pixel_unshuffle(x: sg.Tensor["n c h w"], *, factor: int = 2):
    """n c (h r) (w s) -> n (c r s) h w: the inverse of pixel_shuffle, and what takes an image apart in patches."""
    n, c, h, w = x.shape
    blocks = x.reshape(n, c, h // factor, factor, w // factor, factor)
    b, d, i, r, j, s = sg.indices("b d i r j s")
    return sg.tensor[b, sg.merge(sg.merge(d, r), s), i, j](blocks[b, d, i, r, j, s])


@sg.function
def channel_shuffle(x: sg.Tensor["n c w*places"], *, groups: int = 2, places: sg.Static = 1):
    """n (g d) w -> n (d g) w (Zhang and others, 2018)."""
    n, c, *w = x.shape
    return x.reshape(n, groups, -1, *w).swapaxes(1, 2).reshape(n, c, *w)


@sg.function
def upsample_nearest2d(x: sg.Tensor["n c h w"], *, scale: int = 2):
    """Each element as a square of scale by scale."""
    b, d, i, j = sg.indices("b d i j")
    r, s = sg.indices("r s", r="scale", s="scale")
    return sg.tensor[b, d, sg.merge(i, r), sg.merge(j, s)](x[b, d, i, j])


@sg.function
def upsample_linear1d(x: sg.Tensor["n c w"], *, scale: int = 2):
    """Between the centers of the elements, as align_corners=False: element k counts 1 - |place - k|, at least 0."""
    w = x.shape[2]
    i, k = sg.indices("i k", i="w*scale", k="w")
    place = sg.tensor[i](sg.clip((2 * i + 1 - scale) / (2 * scale), 0, w - 1))
    weight = sg.tensor[i, k](sg.relu(1 - abs(place[i] - k)))
    return x @ weight.T


@sg.function
def upsample_bilinear2d(x: sg.Tensor["n c h w"], *, scale: int = 2):
    """upsample_linear1d of the rows and of the columns."""
    h, w = x.shape[2:]
    i, j, k, l = sg.indices("i j k l", i="h*scale", j="w*scale", k="h", l="w")
    row = sg.tensor[i](sg.clip((2 * i + 1 - scale) / (2 * scale), 0, h - 1))
    column = sg.tensor[j](sg.clip((2 * j + 1 - scale) / (2 * scale), 0, w - 1))
    rows = sg.tensor[i, k](sg.relu(1 - abs(row[i] - k)))
    columns = sg.tensor[j, l](sg.relu(1 - abs(column[j] - l)))
    return rows @ x @ columns.T


@sg.function
def upsample_bilinear2d_corners(x: sg.Tensor["n c h w"], *, height: int = 4, width: int = 4):
    """Between the elements, the corners on the corners, as align_corners=True; height and width are at least 2."""
    h, w = x.shape[2:]
    i, j, k, l = sg.indices("i j k l", i="height", j="width", k="h", l="w")
    row = sg.tensor[i](i * (h - 1) / (height - 1))
    column = sg.tensor[j](j * (w - 1) / (width - 1))
    rows = sg.tensor[i, k](sg.relu(1 - abs(row[i] - k)))
    columns = sg.tensor[j, l](sg.relu(1 - abs(column[j] - l)))
    return rows @ x @ columns.T


@sg.function
def diag(x: sg.Tensor["n"]):
    """The matrix with the diagonal x."""
    out = sg.tensor.new("n n")
    i = sg.indices("i")
    out[i, i] = x[i]
    return out


@sg.function
def diagonal(x: sg.Tensor["... n m"], *, offset: sg.Static = 0):
    """The diagonal of a matrix, so many places to the right of the main one."""
    n, m = x.shape[-2:]
    down, right = max(-offset, 0), max(offset, 0)
    i = sg.indices("i", i=sg.minimum(n - down, m - right))
    return sg.tensor[..., i](x[..., i + down, i + right])


@sg.function
def tril(x: sg.Tensor["... n m"], *, diagonal: int = 0):
    """x on a diagonal and below it, else 0; the diagonal is so many places to the right of the main one."""
    i, j = sg.indices("i j")
    return sg.tensor[..., i, j](sg.where(j <= i + diagonal, x[..., i, j], 0))


@sg.function
def triu(x: sg.Tensor["... n m"], *, diagonal: int = 0):
    """x on a diagonal and above it, else 0; the diagonal is so many places to the right of the main one."""
    i, j = sg.indices("i j")
    return sg.tensor[..., i, j](sg.where(j >= i + diagonal, x[..., i, j], 0))


@sg.function
def causal_mask(x: sg.Tensor["... n m"], *, fill: float = -1e30):
    """x where a place sees itself and what is before it, else `fill`."""
    i, j = sg.indices("i j")
    return sg.tensor[..., i, j](sg.where(j <= i, x[..., i, j], fill))


@sg.function
def take_along_axis(x: sg.Tensor["... m d*behind"], index: sg.Int["... k d*behind"], *, behind: sg.Static = 0):
    """x[..., index[..., j]]: np.take_along_axis(x, index, axis), torch.gather; axes stand behind that axis."""
    return np.take_along_axis(x, index, axis=-1 - behind)


@sg.function
def scatter_add(x: sg.Tensor["m d"], index: sg.Int["n"], update: sg.Tensor["n d"]):
    """x with each row of update added to the row that index says."""
    out = sg.tensor.new("m d")
    i, j = sg.indices("i j")
    out[...] = x
    out[index[i], j] += update[i, j]
    return out


@sg.function
def segment_sum(x: sg.Tensor["n d"], index: sg.Int["n"], *, segments: int = 3):
    """The sum of the rows of each segment, by the number of the segment."""
    out = sg.tensor.new("segments d")
    i, j = sg.indices("i j")
    out[index[i], j] += x[i, j]
    return out


@sg.function
def one_hot_product(target: sg.Int["n"], weight: sg.Tensor["c m"]):
    """one_hot(target) @ weight: the rows of weight by their numbers, the way a matrix product says it."""
    i, k = sg.indices("i k", k="c")
    one_hot = sg.tensor[i, k](sg.where(target[i] == k, 1.0, 0.0))
    return one_hot @ weight
