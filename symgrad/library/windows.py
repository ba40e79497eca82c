"""Windows along the last axes of an array, which convolutions and pooling share."""

from functools import reduce
from operator import and_

from .. import declare as sg
from ..errors import DeclarationError

AXES = (("w", "k"), ("h w", "p q"), ("t h w", "u p q"))  # of arrays, and of what windows are multiplied with


def functions(make):
    """What `make` gives of one, two and three such axes, as functions whose names end with how many there are."""
    found = []
    for rank, axes in enumerate(AXES, 1):
        python = make(*axes)
        python.__name__ = python.__qualname__ = f"{python.__name__}{rank}d"
        found.append(sg.function(python))
    return found


def each(option, rank):
    """An option of every axis: one number for all of them, or one for each."""
    if not isinstance(option, tuple):
        return (option,) * rank
    if len(option) != rank:
        raise DeclarationError(f"{option} are {len(option)} numbers for {rank} axes.")
    return option


def at_least(**least):
    """Require least values of options: name=(value, least)."""
    for name, (value, low) in least.items():
        sg.require(value >= low, f"{name} >= {low}, here {name} = {value}")


def loops(names, count):
    """The first `count` of some indices."""
    found = sg.indices(" ".join(names[:count])) if count else ()
    return found if count > 1 else (found,) * count


def windows_of(shape, size, stride, padding, dilation=1, ceil_mode=False):
    """The indices of the windows and of the elements of one, and where these stand in the array, axis by axis.

    shape      the extents of the axes
    padding    how far the windows reach over both edges; "same" is half of a window
    ceil_mode  whether a last window may reach further, if it starts before the edge
    """
    rank = len(shape)
    options = (each(option, rank) for option in (size, stride, padding, dilation))
    axes = [_along(*axis, ceil_mode) for axis in zip(("ir", "js", "kl")[:rank], shape, *options, strict=True)]
    return ([axis[k] for axis in axes] for k in range(3))


def _along(names, n, size, stride, padding, dilation, ceil_mode):
    """The same along one axis of extent `n`."""
    i, r = names
    at_least(stride=(stride, 1), dilation=(dilation, 1))
    span = size if isinstance(dilation, int) and dilation == 1 else dilation * (size - 1) + 1
    if isinstance(padding, str):
        before, count = (span - 1) // 2, (n - 1) // stride + 1
    else:
        before, count = padding, (n + 2 * padding - span) // stride + 1
        at_least(padding=(padding, 0))
        sg.require(span <= n + 2 * padding)
    if ceil_mode:
        count = sg.minimum((n + 2 * padding - span + stride - 1) // stride + 1, (n + padding - 1) // stride + 1)
    window, element = sg.indices(f"{i} {r}", **{i: count, r: size})
    return window, element, stride * window + dilation * element - before


def inside(shape, places):
    """Whether the places are in the array."""
    return reduce(and_, ((at >= 0) & (at < n) for n, at in zip(shape, places, strict=True)))
