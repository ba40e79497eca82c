"""What was printed wrong once, in NumPy and C."""

from __future__ import annotations

import pytest
from mathematics import both
from mended import BESIDE, MENDED, SAVED

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
