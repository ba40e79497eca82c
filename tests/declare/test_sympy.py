"""SymPy expressions as declarations: how they are written, that nothing changes on the way, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy
from mathematics import interpret
from sympy import Rational, S

from symgrad.declare import from_sympy, to_sympy
from symgrad.errors import DeclarationError, SymgradError, UnsupportedError
from symgrad.expr import show
from symgrad.formulas import parse
from symgrad.ops import ROWS

x, y = sympy.symbols("x y", real=True)
SYMBOLS = {"x": x, "y": y}
q = sympy.Function("q")
Z, W = sympy.symbols("z w", integer=True)


def plain(*expressions: Any) -> list[str]:
    function = from_sympy("f", [x, y], list(expressions))
    return [show(e.body).replace("[...]", "") for e in function.statements]


WRITTEN: dict[str, tuple[Any, str]] = {
    "difference": (x - y, "x - y"),
    "a negated term first": (sympy.Add(-y, x, evaluate=False), "x - y"),
    "all negated": (-x - y, "-x - y"),
    "negative": (-x, "-x"),
    "quotient": (x / y, "x / y"),
    "numerator first": (sympy.Mul(1 / x, y, evaluate=False), "y / x"),
    "two denominators": (1 / (x * y), "1 / (x * y)"),
    "powers below": (y / x**2, "y / x**2"),
    "numbers first": (sympy.Mul(x, 2, evaluate=False), "2 * x"),
    "rational factor": (Rational(3, 2) * x, "3 * x / 2"),
    "rational": (Rational(-1, 3) + 0 * x, "-1/3"),
    "sqrt": (sympy.sqrt(x), "sqrt(x)"),
    "reciprocal sqrt": (1 / sympy.sqrt(x + 1), "1 / sqrt(1 + x)"),
    "decimal": (sympy.Float(0.1) * x, "0.1 * x"),
    "short binary fraction": (sympy.Float(0.5) * x, "0.5 * x"),
    "e": (S.Exp1 * x, "exp(1) * x"),
    "pi": (sympy.pi * x, "pi * x"),
    "exp": (sympy.exp(-x), "exp(-x)"),
    "symbolic power": (x**y, "x**y"),
    "Max of three": (sympy.Max(2, x, y), "maximum(maximum(2, x), y)"),
    "Piecewise": (sympy.Piecewise((x, x > y), (y, sympy.Eq(x, y)), (0, True)), "where(x > y, x, where(x == y, y, 0))"),
    "Mod": (sympy.Mod(x, y), "x % y"),
    "cot": (sympy.cot(x), "1 / tan(x)"),
    "gamma": (sympy.gamma(x) * sympy.loggamma(y), "tgamma(x) * lgamma(y)"),
    "beta": (sympy.beta(x, y), "tgamma(x) * tgamma(y) / tgamma(x + y)"),
    "zeta": (sympy.zeta(x), "hurwitz(x, 1)"),
    "Hurwitz's zeta": (sympy.zeta(3, x), "hurwitz(3, x)"),
    "Bessel": (sympy.besselj(0, x) * sympy.besselk(1, y), "bessel_j0(x) * bessel_k1(y)"),
    "Ei": (sympy.Ei(x) + sympy.LambertW(y), "expi(x) + lambertw(y)"),
    "incomplete gamma": (sympy.uppergamma(2, x, evaluate=False), "gammaincc(2, x) * tgamma(2)"),
    "unevaluated sum": (sympy.Add(x, x, evaluate=False), "x + x"),
    "unevaluated product": (sympy.Mul(x, sympy.Pow(x, -1, evaluate=False), evaluate=False), "x / x"),
}


OTHERWISE: dict[str, tuple[Any, str]] = {  # what SymPy does not find equal again
    "acot": (sympy.acot(x), "atan(1 / x)"),
    "asech": (sympy.asech(x), "acosh(1 / x)"),
}


@pytest.mark.parametrize(("expression", "text"), [*WRITTEN.values(), *OTHERWISE.values()], ids=str)
def test_written(expression: Any, text: str) -> None:
    assert plain(expression) == [text]


ROUND_TRIPS = [
    *(e for e, _ in WRITTEN.values() if not e.has(sympy.Piecewise)),
    (x - y) ** 3 / (x + y) * sympy.sin(x),
    sympy.atan2(y, x) + sympy.erf(x) - sympy.log(1 + sympy.exp(x)),
    sympy.Piecewise((x, x > 0), (sympy.exp(x) - 1, True)),
    sympy.Piecewise((x, (x > 0) & ~(y > 1)), (y, (x < -1) | (y >= 3)), (1, True)),
]


@pytest.mark.parametrize("expression", ROUND_TRIPS, ids=str)
def test_round_trip(expression: Any) -> None:
    body = from_sympy("f", [x, y], [expression]).statements[0].body
    same = expression.doit().replace(sympy.Mod, lambda a, b: a - b * sympy.floor(a / b))
    assert sympy.simplify(to_sympy(body, SYMBOLS) - same) == 0


TWINS = [row for row in ROWS if row.result == "real" and row.arity]


@pytest.mark.parametrize("row", TWINS, ids=[row.name for row in TWINS])
def test_twins_of_operators_come_back(row: Any) -> None:
    twin = row.twin(*((x > y, x, y) if row.name == "select" else (x, y, 2)[: row.arity]))
    body = from_sympy("f", [x, y], [twin]).statements[0].body
    assert sympy.simplify(to_sympy(body, SYMBOLS) - twin) == 0


def test_inputs_are_real_whatever_sympy_assumes() -> None:
    u = sympy.Symbol("u")
    (equation,) = from_sympy("f", [u], sympy.re(sympy.exp(sympy.I * u)) + sympy.conjugate(u) + sympy.frac(u)).statements
    assert show(equation.body) == "cos(u[...]) * exp(0) + u[...] + (u[...] - floor(u[...]))"


def test_symbols_are_made_real() -> None:
    body = from_sympy("f", [x, y], [x * y]).statements[0].body
    assert to_sympy(body) == x * y


def test_a_deep_expression() -> None:
    e: Any = x
    for _ in range(300):
        e = sympy.sin(e, evaluate=False) + y
    assert len(from_sympy("f", [x, y], [e]).statements) == 1


def test_matrices() -> None:
    p = sympy.MatrixSymbol("p", 2, 1)
    a = sympy.Matrix(2, 2, sympy.symbols("a:4", real=True))
    s = sympy.Symbol("s", real=True)
    f = from_sympy("f", {"A": a, "p": p, "s": s}, {"product": s * a * sympy.Matrix(p), "transposed": a.T})
    numbers = np.array([[1.0, 2.0], [3.0, 5.0]])
    arrays = interpret(f, {"A": numbers, "p": [7.0, 11.0], "s": 2.0})
    np.testing.assert_allclose(arrays["product"].astype(float), 2 * numbers @ [7.0, 11.0])
    np.testing.assert_allclose(arrays["transposed"].astype(float), numbers.T)


def test_sums_and_products_are_written_out() -> None:
    p = sympy.MatrixSymbol("p", 3, 1)
    assert plain(sympy.Sum(sympy.sin(Z * x), (Z, 1, 3))) == ["sin(x) + sin(2 * x) + sin(3 * x)"]
    assert plain(sympy.Product(x + Z, (Z, 0, 2))) == ["x * (1 + x) * (2 + x)"]
    assert plain(sympy.Sum(x, (Z, 3, 2)) + y) == ["y"]
    assert plain(sympy.Sum(x**Z * y**W, (Z, 1, 2), (W, 1, 2))) == ["x * y + x * y**2 + y * x**2 + x**2 * y**2"]
    assert show(from_sympy("f", [p], sympy.Sum(p[Z, 0] ** 2, (Z, 0, 2))).statements[0].body) == (
        "p[0]**2 + p[1]**2 + p[2]**2"
    )


SOURCES: dict[str, tuple[list[Any], Any]] = {
    "one line": ([x, y], [x**2, x * y, y**2]),
    "one output": ([x, y], x - y),
    "stacked": ([x, y], sympy.Matrix([x, x * y])),
    "matrix": ([sympy.MatrixSymbol("p", 2, 1), x], sympy.Matrix([[x, 1], [x, sympy.MatrixSymbol("p", 2, 1)[1, 0]]])),
    "names": ([x, y], {"a": x, "b": x + y}),
    "long": ([x, y], [sympy.sin(x) ** k * sympy.cos(y) ** k for k in range(2, 9)]),
}


@pytest.mark.parametrize(("inputs", "outputs"), SOURCES.values(), ids=SOURCES.keys())
def test_source_prints_it_again(inputs: list[Any], outputs: Any) -> None:
    f = from_sympy("f", inputs, outputs)
    again = parse(f.source)
    assert (again.inputs, again.outputs, again.statements) == (f.inputs, f.outputs, f.statements)


REFUSED: dict[str, tuple[Any, type[SymgradError], str]] = {
    "I": (sympy.I * x, UnsupportedError, "I is no real number"),
    "oo": (sympy.sin(x) + sympy.oo * x, DeclarationError, "oo is given to an operator that has no limit there"),
    "zoo": (sympy.zoo, UnsupportedError, "zoo is no real number"),
    "nan": (sympy.nan, UnsupportedError, "nan is no real number"),
    "Derivative": (sympy.Derivative(sympy.sin(x), x), UnsupportedError, "Derivative stands for a computation"),
    "Integral": (sympy.Integral(x**x, x), UnsupportedError, "Integral stands for a computation"),
    "Sum": (sympy.Sum(x**Z, (Z, 0, y)), UnsupportedError, "has bounds that are no numbers"),
    "long Sum": (sympy.Sum(x**Z, (Z, 0, 999)), UnsupportedError, "has 1000 terms, and from 0 to 256 are written out"),
    "besselj": (sympy.besselj(3, x), UnsupportedError, "is of order 3; symgrad knows the orders 0 and 1"),
    "undefined function": (q(x), DeclarationError, "q(x) is a function without a definition"),
    "no input": (Z, DeclarationError, "z is no input. Inputs: x, y."),
    "two symbols of one name": (x + sympy.Symbol("x"), DeclarationError, "two symbols are called x"),
    "airyai": (sympy.airyai(x), UnsupportedError, "no airyai"),
    "EulerGamma": (sympy.EulerGamma * x, UnsupportedError, "EulerGamma"),
    "Piecewise without otherwise": (sympy.Piecewise((x, x > 0)), UnsupportedError, "end it with (..., True)"),
}


@pytest.mark.parametrize(("expression", "error", "text"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(expression: Any, error: type[SymgradError], text: str) -> None:
    with pytest.raises(error) as caught:
        from_sympy("f", [x, y], [expression])
    assert text in str(caught.value)


def test_inputs_that_are_refused() -> None:
    with pytest.raises(DeclarationError, match=r"x is an input twice|already"):
        from_sympy("f", [x, x], [x])
    with pytest.raises(DeclarationError, match="has no name"):
        from_sympy("f", [sympy.Matrix([x, y])], [x])
    with pytest.raises(DeclarationError, match=r"neither a symbol nor a matrix of symbols.$"):
        from_sympy("f", [x + y], [x])
    with pytest.raises(DeclarationError, match=r"neither a symbol nor a matrix of symbols. Sizes .* sg.parse"):
        from_sympy("f", [sympy.IndexedBase("u", shape=(Z,))], [x])
    with pytest.raises(DeclarationError, match=r"need numbers here. Sizes .* sg.parse"):
        from_sympy("f", [sympy.MatrixSymbol("A", Z, Z)], [x])


def test_functions_of_time_are_inputs_at_one_time() -> None:
    t, g = sympy.symbols("t g")
    q = sympy.Function("q")(t)
    function = from_sympy("swing", [q, q.diff(t), g], [-g * sympy.sin(q) - q.diff(t) ** 2])
    assert function.inputs == ("q", "qd", "g")
    assert str(function).splitlines()[1].strip() == "out[...] = -qd[...]**2 - g[...] * sin(q[...])"
    named = from_sympy("f", {"angle": q, "acceleration": q.diff(t, 2)}, [q * q.diff(t, t)])
    assert named.inputs == ("angle", "acceleration")
    with pytest.raises(DeclarationError, match=r"Derivative\(q\(t\), t\) is no input. Put it .* where it is qd"):
        from_sympy("f", [q], [q.diff(t)])
