"""Functions that printed files of NumPy have where they call them."""

import math

import numpy as np
from scipy import sparse

_SLICE = 8192  # elements: dozens of such arrays stay in the cache of a core


def _in_slices(function, shape, *arguments):
    """Return function(*arguments) of arrays of this shape, a slice at a time."""
    size, flat, results = math.prod(shape), _each(np.ravel, arguments), None
    for start in range(0, size, _SLICE):
        place = slice(start, start + _SLICE)
        parts = function(*_each(lambda array, place=place: array[place], flat))
        if results is None:
            results = _each(lambda part: np.empty(size, dtype=part.dtype), parts)
        _each(
            lambda result, part, place=place: np.copyto(result[place], part),
            results,
            parts,
        )
    return _each(lambda result: result.reshape(shape), results)


def _each(function, *values):
    """Return function(*arrays) for the arrays in each place of nested tuples."""
    if isinstance(values[0], (tuple, list)):
        return tuple(_each(function, *parts) for parts in zip(*values, strict=True))
    return function(*values) if isinstance(values[0], np.ndarray) else values[0]


def _in_domain(values, inside, name, domain):
    """Return the values; refuse those that are not inside of the domain."""
    if not inside.all():
        said = f"{name} = {values[~inside].flat[0]}, declared for {domain}"
        raise ValueError(said)
    return values


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


def _pattern(shape, *places):
    """Return the shape, where each row begins, the columns, and where each value goes.

    Where each goes to an entry of its own: the order in which the entries take them.

    places  rows and columns for each array of values; behind the last row is nowhere
    """
    rows, columns = (_flat(*arrays) for arrays in zip(*places, strict=True))
    stored, entries = np.unique(rows * shape[1] + columns, return_inverse=True)
    starts = np.searchsorted(stored, np.arange(shape[0] + 1) * shape[1])
    columns = stored[: starts[-1]] % max(shape[1], 1)
    alone = len(entries) == len(columns)
    return shape, starts, columns, np.argsort(entries) if alone else entries


def _entries(pattern, *values):
    """Return the entries of a sparse matrix: what stands at one place is added up."""
    _, _, columns, entries = pattern
    values = _flat(*values)
    if len(entries) == len(columns):
        return values[entries]
    added = np.zeros(len(columns) + 1, dtype=values.dtype)
    np.add.at(added, entries, values)
    return added[: len(columns)]


def _matrix(pattern, entries):
    """Return the sparse matrix that has these entries."""
    shape, starts, columns, *_ = pattern
    return sparse.csr_array((entries, columns, starts), shape=shape)


def _columns(multiply, rows, columns):
    """Return the matrix of `multiply`: a product with a vector for each column."""
    matrix = np.empty((rows, columns))
    for k, unit in enumerate(np.eye(columns)):
        matrix[:, k] = multiply(unit)
    return matrix


def _like(flat, *arrays):
    """Return the elements of a vector in arrays of the shapes of these."""
    ends = np.cumsum([np.size(array) for array in arrays])
    parts = np.split(flat, ends[:-1])
    pairs = zip(parts, arrays, strict=True)
    return tuple(part.reshape(np.shape(array)) for part, array in pairs)
