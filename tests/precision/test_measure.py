"""What doubles make of formulas at points far out."""

import math

import pytest

import symgrad as sg
from symgrad.expr import Ref, apply, ref, values
from symgrad.numerics.removable import filled
from symgrad.numerics.taylor import X
from symgrad.ops.row import nonzero
from symgrad.precision.measure import Sample, value_at

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


BOUNDS = {"x >= 4000": (4000, math.inf), "x < -20": (-math.inf, -20), "300 <= x <= 320": (300, 320)}


@pytest.mark.parametrize("domain", BOUNDS)
def test_a_sample_of_a_domain_has_points_of_each_kind(domain):
    function = sg.parse(f"f(x) = x**2 + 1 for {domain}")
    (leaf,) = (n for n in values(function.statements[0].body) if isinstance(n, Ref))
    given = tuple((c, True) for c in function.table["x"].interval.conditions(leaf))
    sample = Sample(function.statements[0].body, (leaf,), frozenset(), given)
    numbers = sample.doubles.at[leaf]
    assert {"practical", "full", "unit", "saturated"} <= {*sample.kinds}  # near is of two, the edges are at 0
    assert sample.members.sum(axis=1).min() >= 12
    assert BOUNDS[domain][0] <= numbers.min() < numbers.max() <= BOUNDS[domain][1]


def test_a_guard_is_reached_where_the_formula_is_a_number():
    """At x = y = z = 0 an inversion is 0, and so is x/safe_r + inversion(z, rho)."""
    x, y, z = (ref(name) for name in "xyz")
    rho = apply("hypot", x, y)
    r = apply("hypot", rho, z)
    sample = Sample(x / nonzero(r) + apply("inversion", z, rho), (x, y, z), frozenset(), guards=[r])
    assert sample.reached and sample.at_zero.any()
    undefined = Sample(x / nonzero(r) + x / rho, (x, y, z), frozenset(), guards=[r])
    assert undefined.reached and not undefined.at_zero.any()  # nothing to guard
