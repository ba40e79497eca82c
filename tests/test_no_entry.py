"""Rows in which nothing counts, in NumPy and C."""

from __future__ import annotations

import numpy as np
import pytest
from mathematics import both
from no_entry import NO_ENTRY

import symgrad as sg


@both
@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")
@pytest.mark.parametrize("name", NO_ENTRY)
def test_value_and_gradient(name, to):
    function, inputs, expected, gradient = NO_ENTRY[name]
    code = sg.load(function, to, check=False)
    out, saved = code.forward(*inputs)
    np.testing.assert_allclose(out, expected, rtol=1e-15)
    if gradient is not None:
        found = code.backward(saved, np.ones_like(out))[0]
        np.testing.assert_allclose(found, gradient, rtol=1e-15, atol=1e-15)
