"""Every function of the library with small inputs at which it is smooth and well conditioned."""

from __future__ import annotations

from functools import cache

import numpy as np
from arguments import arguments

from symgrad import library
from symgrad.derivatives import as_function
from symgrad.pipeline import printed
from symgrad.verify.symmetric import made_symmetric, symmetric_inputs

LARGE = {"lenet"}  # a network of 60,000 numbers is compared with published ones instead
NAMES = [name for name in library.__all__ if name not in LARGE]


@cache
def module(name, to):
    """The printed module of a function."""
    return printed(getattr(library, name), to).load().module


def function(name):
    """What the library declares."""
    return as_function(getattr(library, name))


def inputs(name):
    """Arrays by input."""
    declared = function(name)
    rng = np.random.default_rng(0)
    found = dict(zip(declared.inputs, arguments(declared), strict=True))
    symmetric = symmetric_inputs(declared)
    for n, drawn in found.items():
        if drawn.ndim > 1 and drawn.shape[-1] == drawn.shape[-2] and drawn.dtype == float:
            drawn = rng.uniform(0.1, 0.2, drawn.shape) + np.eye(drawn.shape[-1])  # as a matrix, well conditioned
            found[n] = made_symmetric(drawn, symmetric[n][0], True) if n in symmetric else drawn
    return found


def reals(name):
    """The inputs that have gradients."""
    declared = function(name)
    return [n for n in declared.inputs if declared.table[n].dtype == "real"]


def symmetrised(name, transpose):
    """What makes an input that is read as symmetric so: checks by differences change its elements one by one."""
    axes = symmetric_inputs(function(name))
    return {n: (lambda x: (x + transpose(x)) / 2) for n in axes}
