"""What was printed wrong once, in NumPy and C."""

from __future__ import annotations

import pytest
from mathematics import both
from mended import MENDED

import symgrad as sg


@both
@pytest.mark.parametrize("name", MENDED)
def test_agrees_with_the_formula(name, to):
    report = sg.check(sg.parse(MENDED[name]), to=to)
    assert report.ok, report
