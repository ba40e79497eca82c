"""What was printed wrong once, in NumPy and C."""

from __future__ import annotations

import numpy as np
import pytest
from mathematics import both, inputs_with_axes, loaded
from mended import BESIDE, MENDED, PACKS, SAVED

import symgrad as sg


@both
@pytest.mark.parametrize("name", MENDED)
@pytest.mark.in_turn
def test_agrees_with_the_formula(name, to):
    report = sg.check(sg.parse(MENDED[name]), to=to)
    assert report.ok, report


@both
@pytest.mark.parametrize("save", ["minimal", "all"])
@pytest.mark.parametrize("name", SAVED)
@pytest.mark.in_turn
def test_agrees_whatever_is_saved(name, save, to):
    report = sg.check(sg.parse(SAVED[name]), to=to, save=save)
    assert report.ok, report


@both
@pytest.mark.parametrize("name", BESIDE)
@pytest.mark.in_turn
def test_agrees_beside_others(name, to):
    text, functions, wrt = BESIDE[name]
    report = sg.check(sg.parse(text), to=to, functions=functions, wrt=wrt)
    assert report.ok, report


@both
@pytest.mark.parametrize("name", PACKS)
@pytest.mark.in_turn
def test_agrees_for_leading_axes(name, to):
    report = sg.check(sg.parse(PACKS[name]), to=to)
    assert report.ok, report


@pytest.mark.parametrize("name", PACKS)
def test_no_leading_axis_is_one_of_length_1(name):
    code = loaded(PACKS[name], "numpy")
    for absent in (False, True):
        none, one = (_values(code, inputs_with_axes(PACKS[name], axes, absent)) for axes in ((), (1,)))
        for found, expected in zip(none, one, strict=True):
            np.testing.assert_allclose(np.ravel(found), np.ravel(expected), rtol=1e-12)


def _values(code, inputs):
    """The results, and the gradients of their sum with weights."""
    results, saved = code.forward(*inputs)
    results = results if isinstance(results, tuple) else (results,)
    weights = tuple(np.cos(np.arange(np.size(r)) + 1.0).reshape(np.shape(r)) for r in results)
    found = code.backward(saved, weights if len(weights) > 1 else weights[0])
    return [*results, *(g for g in found if g is not None)]
