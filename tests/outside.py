"""Declarations that read outside of an array at some sizes, which every language refuses before anything runs."""

import numpy as np
import pytest

import symgrad as sg


def a_column(x: sg.Tensor["n m"]):
    return np.where(x[:, 0] > 0, x[:, 5], x[:, 0])


OUTSIDE = [
    "f(x[n,m], w)[i:n] = where(i >= 1, x[i-1,5]*w, -w)",
    "f(x[n], w)[i:8] = where(w >= 1, x[i]*w, w)",
    "f(x[n,m])[i:n] = where(x[i,0] > 0, x[i,5], x[i,0])",
    a_column,
]


def refuses(declared, to):
    """The printed code refuses arrays that are too short."""
    declared = sg.parse(declared) if isinstance(declared, str) else sg.function(declared)
    function = declared.function if isinstance(declared, sg.Declared) else declared
    shapes = [(), (3,), (4, 3)]
    inputs = [np.ones(shapes[len(function.table[name].shape)]) for name in function.inputs]
    code = sg.load(declared, to=to, check=to in ("numpy", "c"))
    with pytest.raises(ValueError, match=r"6 <= m|8 <= n"):
        code.forward(*inputs)
