"""What is printed of each operator agrees with SymPy and with differences."""

from __future__ import annotations

import shutil

import pytest
from operators import EVERYWHERE, GAMMA, SCIPY

import symgrad as sg

needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")

@needs_cc
@pytest.mark.parametrize("text", [*EVERYWHERE, *SCIPY, *GAMMA])
def test_every_language_agrees(text: str) -> None:
    for to in ("numpy", "c"):
        report = sg.check(sg.parse(text), to=to)
        assert report.ok, str(report)


def test_the_order_of_polygamma_is_a_number() -> None:
    with pytest.raises(sg.UnsupportedError, match="a literal n"):
        sg.generate(sg.parse("f(n, x) = polygamma(n, x)"), to="numpy")
