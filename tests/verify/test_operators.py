"""What is printed of each operator agrees with SymPy and with differences."""

from __future__ import annotations

import shutil

import pytest
from operators import EVERYWHERE, OF_FILE, SCIPY

import symgrad as sg

needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")


@needs_cc
@pytest.mark.parametrize("text", [*EVERYWHERE, *SCIPY, *OF_FILE])
@pytest.mark.in_turn
def test_every_language_agrees(text: str) -> None:
    for to in ("numpy", "c"):
        report = sg.check(sg.parse(text), to=to)
        assert report.ok, str(report)


def test_the_order_of_polygamma_is_a_number() -> None:
    with pytest.raises(sg.UnsupportedError, match="a literal n"):
        sg.generate(sg.parse("f(n, x) = polygamma(n, x)"), to="numpy", check=False)


@needs_cc
def test_what_c_alone_has() -> None:
    text = sg.parse("f(x) = lambertw(x)")
    report = sg.check(text, to="c")
    assert report.ok, str(report)
    with pytest.raises(sg.UnsupportedError, match="lambertw"):
        sg.generate(text, to="numpy", check=False)


@pytest.mark.parametrize("text", ["f(s, x) = hurwitz(s, x)", "f(a, x) = gammainc(a, x)"])
def test_the_slope_in_a_parameter_is_refused(text: str) -> None:
    with pytest.raises(sg.UnsupportedError, match="by its order or parameter is not known"):
        sg.generate(sg.parse(text), to="numpy", check=False)
