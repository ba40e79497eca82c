"""What doubles make of formulas at points far out."""

import pytest

from symgrad.expr import apply
from symgrad.numerics.removable import filled
from symgrad.numerics.taylor import X
from symgrad.precision.measure import value_at

FAR = [  # (what is 0/0 at 0, where, its value there)
    (apply("expm1", X) / X, -20000.0, 5e-5),
    (apply("expm1", X) / X, -1e300, 1e-300),
    (X / apply("expm1", X), -1e6, 1e6),
    (X / apply("expm1", X), 1e6, 0.0),
    (apply("tanh", X) / X, 1e9, 1e-9),
]


@pytest.mark.parametrize("body, at, value", FAR)
def test_a_filled_quotient_is_a_number_far_out(body, at, value):
    assert value_at(apply(filled(body), X), {X: at}) == pytest.approx(value, rel=1e-15)
