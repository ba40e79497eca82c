"""Values and slopes at kinks, at edges of domains and of NaN are those of the frameworks."""

from __future__ import annotations

import numpy as np
import pytest
from kinks import ACTIVATIONS, FORMULAS

import symgrad as sg
from symgrad.library import activations


def at(declaration, point, to="numpy"):
    """The value and the slopes there."""
    printed = sg.load(declaration, to=to, check=False)
    with np.errstate(all="ignore"):
        out, saved = printed.forward(*(np.array([float(x)]) for x in point))
        slopes = printed.backward(saved, np.ones(1))
    return out.item(), [s.item() for s in slopes]


def equal(found, wanted):
    return wanted is None or found == pytest.approx(wanted, rel=1e-15, nan_ok=True)


@pytest.mark.parametrize("to", ["numpy", "c"])
@pytest.mark.parametrize(("name", "x", "value", "slope", "second"), ACTIVATIONS)
def test_activations(name, x, value, slope, second, to):
    out, (first,) = at(getattr(activations, name), [x], to)
    assert equal(out, value)
    assert equal(first, slope)


@pytest.mark.parametrize(("name", "x", "value", "slope", "second"), ACTIVATIONS)
def test_second_derivatives_of_activations(name, x, value, slope, second):
    hessian = sg.load(sg.derived(getattr(activations, name), "hessian"), check=False)
    with np.errstate(all="ignore"):
        *_, found = hessian.forward(np.array([float(x)]))[0]
    assert equal(found.item(), second)


@pytest.mark.parametrize(("text", "point", "value", "slopes"), FORMULAS)
def test_formulas(text, point, value, slopes):
    names = ", ".join("xy"[: len(point)])
    out, found = at(sg.parse(f"f({names}) = {text}"), point)
    assert equal(out, value)
    assert all(map(equal, found, slopes))
