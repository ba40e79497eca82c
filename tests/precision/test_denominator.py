"""Formulas over a common denominator: the factors, what roots and exponentials tell, and what SymPy says of each."""

import pytest
import sympy

import symgrad as sg
from symgrad.expr.text import show
from symgrad.precision.denominator import by_roots, in_lowest_terms, together

NAMES = "a, b, c, x, y, z"
TOGETHER = {
    "a*c*x**2 + a*c*x + b*c*x + b*c": "c * (a * x + b) * (x + 1)",
    "a*x*y**2 - a*x*z**2 + b*y**2 - b*z**2": "(a * x + b) * (y - z) * (y + z)",
    "1/(x - 1) - 1/(x + 1)": "2 / ((x - 1) * (x + 1))",
    "1/(x + 1) - 1/x": "(-1) / (x * (x + 1))",
    "4*x**2 - 1": "(2 * x - 1) * (2 * x + 1)",
    "a*x**2 + b*x + c": "a * x**2 + x * b + c",
    "x**2/2 - a/3*x": "x * (3 * x - 2 * a) / 6",
    "(x**2 - y**2)/(x - y)": "x + y",
    "x**2/sqrt(x**2 + y**2)**3 - 1/sqrt(x**2 + y**2)": "-y**2 / sqrt(x**2 + y**2)**3",
    "sqrt(a/b)**2*b": "a",
    "abs(x)*sign(x)": "x",
    "(exp(x) + exp(-x))*exp(x) - 1": "exp(x)**2",
    "exp(x - log(y))*y - exp(x)": "0",
    "y/exp(-x**2/2/a**2) - y/(exp(-x**2/a/(2*a)) + 1)": (
        "y / (exp(-x**2 / 2 / a**2) * (exp(-x**2 / a / (2 * a)) + 1))"
    ),
    "sin(x)/y + cos(x)/y": "(sin(x) + cos(x)) / y",
    "sign(y - y)/x": None,
    "x**6 - y**6": "(x - y) * (x + y) * (x**4 + x**2 * y**2 + y**4)",
    "(x**2 - x*y + y**2)*(x**2 + x*y + y**2)/y": "(x**4 + x**2 * y**2 + y**4) / y",
    "x/(a*x + b*y + c) - a*x**2/(a*x + b*y + c)**2 - c*x/(a*x + b*y + c)**2": "x * b * y / (a * x + b * y + c)**2",
    "1/(a + x + x**2/b) - x*(1 + 2*x/b)/(a + x + x**2/b)**2": "b * (a * b - x**2) / ((a + x + x**2 / b) * b)**2",
}
EXPONENTIALS = {
    "x*exp(x)/expm1(x)**2 - 1/expm1(x)": "((x - 1) * exp(x) + 1) / expm1(x)**2",
    "expm1(x)*exp(-x)": "1 - exp(-x)",
}
RATIOS = {"(x/y)**4 - (x/y)**2": "(x / y)**2 * (x / y - 1) * (x / y + 1)"}
TABLES = {"": TOGETHER, "exponentials": EXPONENTIALS, "ratios": RATIOS}
ROOTS = {
    "(-b + sqrt(b**2 - 4*a*c))/(2*a)": [
        "-2 * c / (b + sqrt(b**2 - 4 * a * c))",
        "(sqrt(b**2 - 4 * a * c) - b) / (2 * a)",
    ],
    "x/(x + 1)": [],
    "1/(x - sqrt(x)**2)": [],  # by nothing
}


def body(text):
    return sg.parse(f"f({NAMES}) = {text}").statements[0].body


def shown(found):
    return None if found is None else show(found).replace("[...]", "")


def assert_equal(text, other):
    names = dict(zip(NAMES.split(", "), sympy.symbols(NAMES, positive=True), strict=True))
    names |= {"expm1": lambda x: sympy.exp(x) - 1, "abs": sympy.Abs}
    assert sympy.simplify(sympy.sympify(text, names) - sympy.sympify(other, names)) == 0


@pytest.mark.parametrize(
    ("text", "words", "expected"),
    [(t, w, e) for w, table in TABLES.items() for t, e in table.items()],
)
def test_together(text, words, expected):
    found = shown(together(body(text), words))
    assert found == expected
    if found is not None:
        assert_equal(text, found)


@pytest.mark.parametrize("text", ROOTS)
def test_in_terms_of_roots(text):
    found = [shown(form) for form in by_roots(body(text))]
    assert found == ROOTS[text]
    for other in found:
        assert_equal(text, other)


def test_roots_stay_symbols_in_lowest_terms():
    assert shown(in_lowest_terms(body("(sqrt(x)**3 + sqrt(x))/sqrt(x)"))) == "sqrt(x)**2 + 1"


def test_what_is_long_multiplied_out_is_left():
    assert together(body("(a + b + c + x + y + z)**9/(x + y)")) is None


def test_powers_are_numbers_of_python():
    """A node is found by its value: one that is not there yet is made of it."""
    assert shown(together(body("(x**97*y + x**89)/(x**5*z) + 1/x**4"))) == "(x**96 * y + x**88 + z) / (x**4 * z)"
    found = together(body("(exp(x)**71 + 1)/expm1(x) + 3/expm1(x)"), "exponentials")
    assert shown(found) == "(exp(x)**71 + 4) / expm1(x)"


def test_many_symbols_take_no_longer():
    """The search among 15 symbols of a camera's row of J^T v took minutes in SymPy, by chance."""
    text = "(gx*fx + gy*fy)*(s*(1 + k1*(u**2 + v**2) + k2*(u**2 + v**2)**2) + u*v)"
    whole = sg.parse(f"f(u, v, k1, k2, fx, fy, gx, gy, s) = {text}/s - {text}/s**2").statements[0].body
    assert "(gx * fx + gy * fy) * (s - 1)" in shown(together(whole))
