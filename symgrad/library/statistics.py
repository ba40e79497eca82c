"""Reductions over the last axis, and what is made of them."""

from .. import declare as sg


@sg.function
def mean(x: sg.Tensor["... n"]):
    """The mean over the last axis."""
    return x.mean(axis=-1)


@sg.function
def var(x: sg.Tensor["... n"]):
    """The variance over the last axis, divided by n."""
    return ((x - x.mean(axis=-1, keepdims=True)) ** 2).mean(axis=-1)


@sg.function
def logsumexp(x: sg.Tensor["... n"]):
    """log(sum(exp(x))) over the last axis."""
    return sg.log(sg.exp(x).sum(axis=-1))


@sg.function
def softmax(x: sg.Tensor["... n"]):
    """exp(x) / sum(exp(x)) over the last axis."""
    e = sg.exp(x)
    return e / e.sum(axis=-1, keepdims=True)


@sg.function
def log_softmax(x: sg.Tensor["... n"]):
    """log(softmax(x)) over the last axis."""
    return x - sg.log(sg.exp(x).sum(axis=-1, keepdims=True))
