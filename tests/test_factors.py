"""Polynomials over a common denominator are factored as SymPy factors them, and in no more time than they are long."""

from __future__ import annotations

import pytest
import sympy
from sympy.abc import a, b, c, x, y, z

from symgrad.precision import denominator

POLYNOMIALS = {
    "a product of linear ones": (a * x + b) * (c * x - y) * (x + 1),
    "a common divisor": (a * x + b) * (y**2 - z**2),
    "a power beside": -2 * (a * x + b) * (y + z) ** 3,
    "a fraction": sympy.Rational(-2, 3) * (a * x - sympy.Rational(1, 2) * b) * y**2,
    "nothing linear": (x**2 - y**2) * (a**2 + 1),
    "a term": -6 * x * y**2,
    "a number": sympy.Integer(-4),
    "one variable": 4 * x**2 - 1,
    "irreducible": a * x**2 + b * x + c,
    "squares and a linear one": (x**2 + y**2) ** 2 * (a - b),
}


@pytest.mark.parametrize("expression", POLYNOMIALS.values(), ids=POLYNOMIALS)
def test_the_factors_are_those_of_sympy(expression):
    poly = sympy.Poly(expression, a, b, c, x, y, z)
    number, factors = denominator._irreducible(poly)
    expected, others = sympy.factor_list(poly)
    assert number == expected
    assert {(f.as_expr(), k) for f, k in factors} == {(f.as_expr(), k) for f, k in others}


def test_what_is_linear_in_a_symbol_is_not_searched(monkeypatch):
    """SymPy's search among 15 symbols took minutes by chance: that of a camera's row of J^T v."""
    u, v, k1, k2, fx, fy, gx, gy, s = sympy.symbols("u v k1 k2 fx fy gx gy s")
    radius = u**2 + v**2
    first, second = gx * fx + gy * fy, sympy.expand(s * (1 + k1 * radius + k2 * radius**2) + u * v)
    factor_list = sympy.factor_list

    def few(poly):
        assert len(poly.terms()) == 1
        return factor_list(poly)

    monkeypatch.setattr(sympy, "factor_list", few)
    poly = sympy.Poly(sympy.expand(first * second), s, u, v, k1, k2, fx, fy, gx, gy)
    number, factors = denominator._irreducible(poly)
    assert number == 1
    assert {f.as_expr() for f, _ in factors} == {first, second}
