"""What was printed wrong once, in torch and JAX."""

from __future__ import annotations

import pytest
from mended import MENDED

import symgrad as sg


@pytest.mark.parametrize("to", ["torch", "jax"])
@pytest.mark.parametrize("name", MENDED)
def test_agrees_with_the_formula(name, to):
    report = sg.check(sg.parse(MENDED[name]), to=to)
    assert report.ok, report
