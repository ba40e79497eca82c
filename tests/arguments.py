"""Inputs at which every function of the library has a value and gradients."""

from __future__ import annotations

import numpy as np

from symgrad.ir import extent_of
from symgrad.verify.sizes import choose, fitting, names
from symgrad.verify.symmetric import made_symmetric, symmetric_inputs


def arguments(function):
    """Small inputs of the right shapes and types: every size is 3, or what the function asks for."""
    rng = np.random.default_rng(0)
    options = {o.name: o.default for o in function.options}
    sizes = dict.fromkeys(names(function), 3)
    if not fitting(function, {**dict.fromkeys(function.packs, 4), **sizes}, options):
        sizes = choose(function, options, rng)
    packs = set(function.packs)
    symmetric = symmetric_inputs(function)
    for name in function.inputs:
        tensor = function.table[name]
        shape = [
            4 if getattr(extent, "name", "") in packs else extent_of(extent, sizes, options)
            for extent in tensor.shape
        ]
        # in (1/2, 1): probabilities, sides of a triangle, velocities below that of light
        drawn = rng.uniform(0.5, 0.95, shape)
        if name in symmetric:
            drawn = made_symmetric(drawn, symmetric[name][0], True)
        if tensor.dtype != "real":
            drawn = rng.integers(0, 2, shape, tensor.dtype)
        if tensor.dtype == "bool":
            drawn[..., :1] = True  # a row of a mask has an entry
        yield drawn
