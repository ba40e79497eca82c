"""Functions that printed files of JAX have where they call them."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import sparse


def _promoted(*arrays):
    """Return the arrays in the one dtype that they promote to."""
    dtype = jnp.result_type(*(x for x in arrays if x is not None))
    return [None if x is None else x.astype(dtype) for x in arrays]


def _wide(dtype):
    """Return the type in which numbers are added up: float32 for half precision."""
    return jnp.promote_types(dtype, jnp.float32)


def _float32(array):
    """Return the array in float32 if it is in half precision."""
    return None if array is None else array.astype(_wide(array.dtype))


@jax.tree_util.register_static
class _Static(tuple):
    """Sizes and flags that backward needs: constants to jax.jit, no arrays."""


def _outside(subscripts, extent):
    """Whether a subscript is out of range; of what JAX traces nobody knows."""
    if isinstance(subscripts, jax.core.Tracer) or not subscripts.size:
        return False
    values = np.asarray(subscripts)
    return values.min() < 0 or values.max() >= extent


def _in_domain(values, inside, name, domain):
    """Return the values; refuse those that are not inside of the domain.

    Of what JAX traces nobody knows: what is outside becomes NaN.
    """
    if isinstance(inside, jax.core.Tracer):
        real = jnp.issubdtype(values.dtype, jnp.floating)
        return jnp.where(inside, values, jnp.nan) if real else values
    held = np.asarray(inside)
    if not held.all():
        outside = np.asarray(jax.lax.stop_gradient(values))[~held]
        said = f"{name} = {outside.flat[0]}, declared for {domain}"
        raise ValueError(said)
    return values


def _log1p(x):
    """Return log(1 + x); XLA's own loses seven bits from -0.42 to -0.35."""
    return jnp.where(x < -0.25, jnp.log(1 + x), jnp.log1p(x))


def _atanh(x):
    """Return atanh(x); XLA's own is made of its log1p."""
    return (_log1p(x) - _log1p(-x)) / 2


def _expm(a):
    """Return the matrix exponential; JAX's own halves once too few: 8 digits are right.

    Up to a norm of 3.9 (of 5.3 in double precision) there is nothing to halve: N. J.
    Higham, SIAM J. Matrix Anal. Appl. 26 (2005). More than 16 halvings give NaN, as
    in JAX.
    """
    norm = jnp.abs(a).sum(axis=-2).max(axis=-1, initial=0)[..., None, None]
    halvings = jnp.ceil(jnp.log2(jnp.maximum(norm / 3.9, 1)))
    halvings = jnp.where(halvings <= 16, halvings, jnp.nan)

    def squared(k, out):
        more = k < halvings
        root = jnp.where(more, out, 0)
        return jnp.where(more, jnp.matmul(root, root, precision="highest"), out)

    return jax.lax.fori_loop(0, 16, squared, jax.scipy.linalg.expm(a / 2**halvings))


def _hurwitz(s, x):
    """Return the zeta function of Hurwitz, the sum of 1/(x + k)**s.

    That of JAX is 0, or NaN, where x is huge, and another number where it is negative:
    there, with a whole s, it is the sum over all integers, without those below x.
    """

    def right(x):
        x = jnp.where(x > 0, x, 1)
        zeta = jax.scipy.special.zeta(s, jnp.minimum(x, 2.0**60))
        return jnp.where(x > 2.0**60, x ** (1 - s) / (s - 1), zeta)

    near = jnp.where(x > 0, 0.5, x - jnp.round(x))
    sign = 1 - 2 * (s % 2)
    left = near**-s + right(1 + near) + sign * (right(1 - near) - right(1 - x))
    return jnp.where(x > 0, right(x), left)


def _ndtr(x):
    """Return the normal distribution function; that of JAX computes erf beside erfc."""
    return jax.lax.erfc(-(0.5**0.5) * x) / 2


def _conv(x, weight, stride=1, padding=0, dilation=1, groups=1):
    """Return the convolution of XLA, which refuses windows of nothing: the sum is 0."""
    ways = (stride, padding, dilation)
    ways = [w if isinstance(w, tuple) else (w,) * (x.ndim - 2) for w in ways]

    def conv(x, weight):
        return jax.lax.conv_general_dilated(
            x,
            weight,
            ways[0],
            [(p, p) for p in ways[1]],
            rhs_dilation=ways[2],
            feature_group_count=groups,
        )

    if 0 in weight.shape:
        return jnp.zeros(jax.eval_shape(conv, x, weight).shape, x.dtype)
    return conv(x, weight)


def _conv_input(shape, weight, grad_output, **ways):
    """Return the gradient of `_conv` by its input, of that shape."""
    if 0 in (*shape, *weight.shape, *grad_output.shape):
        return jnp.zeros(shape, grad_output.dtype)

    def conv(x):
        return _conv(x, weight, **ways)

    x = jax.ShapeDtypeStruct(shape, grad_output.dtype)
    return jax.linear_transpose(conv, x)(grad_output)[0]


def _conv_weight(x, shape, grad_output, **ways):
    """Return the gradient of `_conv` by its weight, of that shape."""
    if 0 in (*x.shape, *shape, *grad_output.shape):
        return jnp.zeros(shape, grad_output.dtype)

    def conv(weight):
        return _conv(x, weight, **ways)

    weight = jax.ShapeDtypeStruct(shape, grad_output.dtype)
    return jax.linear_transpose(conv, weight)(grad_output)[0]


def _conv_transpose(x, weight, stride=1, padding=0, dilation=1, groups=1):
    """Return the transposed convolution, the gradient of `_conv` by an input."""
    ways = (stride, padding, dilation)
    ways = [w if isinstance(w, tuple) else (w,) * (x.ndim - 2) for w in ways]
    sizes = zip(x.shape[2:], weight.shape[2:], *ways, strict=True)
    counts = [max(s * (n - 1) + d * (k - 1) + 1 - 2 * p, 0) for n, k, s, p, d in sizes]
    shape = (x.shape[0], weight.shape[1] * groups, *counts)
    ways = {"stride": stride, "padding": padding, "dilation": dilation}
    return _conv_input(shape, weight, x, **ways, groups=groups)


def _windows(x, axis, size, step=1, dilation=1):
    """Return the windows of x along `axis`, each in a new last axis."""
    axis %= x.ndim
    span = dilation * (size - 1) + 1
    count = max((x.shape[axis] - span) // step + 1, 0)
    if step == size and dilation == 1:  # side by side
        shape = (*x.shape[:axis], count, size, *x.shape[axis + 1 :])
        x = jax.lax.slice_in_dim(x, 0, count * size, axis=axis)
        return jnp.moveaxis(x.reshape(shape), axis + 1, -1)
    places = step * jnp.arange(count)[:, None] + dilation * jnp.arange(size)
    return jnp.moveaxis(x[(slice(None),) * axis + (places,)], axis + 1, -1)


def _pattern(shape, *places):
    """Return the shape, where each row begins, the columns, and where each value goes.

    Where each goes to an entry of its own: the order in which the entries take them.

    places  rows and columns for each array of values; behind the last row is nowhere
    """
    if any(isinstance(x, jax.core.Tracer) for pair in places for x in pair):
        raise TypeError(
            "where entries stand follows from values that JAX traces: ask for the "
            "pattern outside of jax.jit, and for the values at its places inside"
        )
    rows, columns = (
        np.concatenate([np.ravel(np.asarray(x, dtype=np.int64)) for x in arrays])
        for arrays in zip(*places, strict=True)
    )
    stored, entries = np.unique(rows * shape[1] + columns, return_inverse=True)
    starts = np.searchsorted(stored, np.arange(shape[0] + 1) * shape[1])
    columns = stored[: starts[-1]] % max(shape[1], 1)
    alone = len(entries) == len(columns)
    return shape, starts, columns, np.argsort(entries) if alone else entries


def _entries(pattern, *values):
    """Return the entries of a sparse matrix: what stands at one place is added up."""
    _, _, columns, entries = pattern
    values = jnp.concatenate([jnp.ravel(x) for x in values])
    if len(entries) == len(columns):
        return values[entries]
    added = jnp.zeros(len(columns) + 1, dtype=values.dtype).at[entries].add(values)
    return added[: len(columns)]


def _matrix(pattern, entries):
    """Return the sparse matrix that has these entries."""
    shape, starts, columns, *_ = pattern
    rows = np.repeat(np.arange(shape[0]), np.diff(starts))
    places = np.stack([rows, columns], axis=1)
    return sparse.BCOO(
        (entries, places), shape=shape, indices_sorted=True, unique_indices=True
    )
