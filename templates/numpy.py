"""Functions that printed files of NumPy have where they call them."""

import numpy as np


def _windows(x, axis, size, step=1, dilation=1):
    """Return a view of the windows of x along `axis`, each in a new last axis."""
    axis %= x.ndim
    span = dilation * (size - 1) + 1
    count = max((x.shape[axis] - span) // step + 1, 0)
    if count == 0 or size == 0:
        shape = (*x.shape[:axis], count, *x.shape[axis + 1 :], size)
        return np.empty(shape, dtype=x.dtype)
    windows = np.lib.stride_tricks.sliding_window_view(x, span, axis)
    return windows[(slice(None),) * axis + (slice(None, None, step),)][..., ::dilation]


def _flat(*arrays):
    """Return the elements of the arrays in one new vector."""
    return np.concatenate([np.ravel(array) for array in arrays])
