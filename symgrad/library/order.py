"""Functions of sorted values: medians, the largest elements, distances of samples."""

from .. import declare as sg


@sg.function
def median(x: sg.Tensor["m n"]):
    """The element in the middle of each row, or the mean of the two there."""
    return sg.median(x, axis=-1)


@sg.function
def sort(x: sg.Tensor["... n"], *, descending: sg.Static = False, axis: sg.Static = -1):
    """The elements along an axis from the smallest to the largest, or from the largest."""
    return sg.sort(x, axis=axis, descending=descending)


@sg.function
def top_k_sum(x: sg.Tensor["m n"], *, k: sg.Static = 3):
    """The sum of the k largest elements of each row."""
    values, _ = sg.topk(x, k)
    return values.sum(axis=-1)


@sg.function
def sorted_l1_norm(x: sg.Tensor["n"], weights: sg.Tensor["n"]):
    """sum of weights[i] times the i-th largest magnitude: the penalty of SLOPE."""
    return weights @ sg.sort(abs(x), descending=True)


@sg.function
def wasserstein_1d(x: sg.Tensor["n"], y: sg.Tensor["n"]):
    """The mean distance of two samples of one size, each in its order."""
    return abs(sg.sort(x) - sg.sort(y)).mean()


@sg.function
def gini_coefficient(x: sg.Tensor["n"]):
    """The mean distance of two elements, relative to twice the mean."""
    i = sg.indices("i")
    n = x.shape[0]
    ordered = sg.sort(x)
    return sg.sum[i]((2 * i + 1 - n) * ordered[i]) / (n * x.sum())
