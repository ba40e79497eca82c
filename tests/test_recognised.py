"""Values of forward in derivatives: what is a number times one of them is read by its name."""

from __future__ import annotations

import pytest

import symgrad as sg
from symgrad.differentiate.recognised import Recognised
from symgrad.expr import show

FUNCTION = sg.parse("f(x, y, z) -> out: s = x*y - 2*z*x; t = x**2*z + y; out = s + t")
CASES = [
    ("z*x - 0.5*x*y", "-0.5 * s[...]"),
    ("x*(y - z*2)*3", "3 * s[...]"),
    ("x*y - y*x", "0"),
    ("x*y - 3*z*x", None),
    ("0.1*x*y - 0.2*x*z", None),  # decimals are kept as they are typed
    ("y + x**2*z", "t[...]"),
    ("y", None),
]


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_sums_of_products(text, expected):
    body = sg.parse(f"g(x, y, z) = {text}").statements[0].body
    found = Recognised([e for e in FUNCTION.statements if e.target in "st"])(body)
    assert show(found) == (show(body) if expected is None else expected)
