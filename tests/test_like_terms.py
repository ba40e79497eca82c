"""Terms of a sum that are one product, in straight lines that are too long for the normal form."""

from __future__ import annotations

import pytest

from symgrad.expr import ref, show
from symgrad.ir import Equation
from symgrad.simplify.sums import with_like_terms

A, B, C, D = map(ref, "abcd")
N = A * B
ONES = [
    (C * N + A * C * B, "2 * (c * (a * b))"),
    (A * B + D - B * A, "d"),
    (A * B / C + D + A / C * B, "2 * (a * b / c) + d"),
    (A**2 * B + A * (A * B), "2 * (a**2 * b)"),
    (2 * A * B - 3 * (B * A) + C, "-a * b + c"),
    (A * B + (C - (D - A * B)), "2 * (a * b) + c - d"),
    (A * B + A * C, "a * b + a * c"),
]


@pytest.mark.parametrize(("body", "wanted"), ONES, ids=[wanted for _, wanted in ONES])
def test_like_terms_are_one(body, wanted):
    (found,) = with_like_terms([Equation("out", (), "none", body, ())])
    assert show(found.body) == wanted


def test_a_sum_that_others_read_stays_one():
    total = A * B + C
    first, second = (Equation(name, (), "none", body, ()) for name, body in (("x", total * D), ("y", total + A * B)))
    assert [show(e.body) for e in with_like_terms([first, second])] == ["(a * b + c) * d", "a * b + c + a * b"]
