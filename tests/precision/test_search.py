"""What the search makes of formulas: the form, and that it leaves alone what loses nothing."""

import pytest

import symgrad as sg
from symgrad.expr import apply, ref
from symgrad.expr.text import show
from symgrad.precision import better, joined
from symgrad.precision.orders import differences_first
from symgrad.precision.search import _better
from symgrad.precision.terms import term_of

FORMS = {  # what textbooks have: what numerical analysts write
    "x**2 + y**2": None,
    "exp(-x**2)": None,
    "x/(1 + abs(x))": None,
    "sqrt(x**2 + y**2)": "hypot(x, y)",
    "sqrt(x) - sqrt(y)": "(x - y) / where(sqrt(x) + sqrt(y) == 0, 1, sqrt(x) + sqrt(y))",
    "sqrt(x + y) - sqrt(x)": "y / where(sqrt(x + y) + sqrt(x) == 0, 1, sqrt(x + y) + sqrt(x))",
    "sqrt(x + 1) - sqrt(x)": "1 / (sqrt(x + 1) + sqrt(x))",
    "log(1 + exp(x)) - x": "softplus(-x)",
    "log(x + sqrt(x**2 + 1))": "asinh(x)",
    "(exp(x) - exp(-x))/2": "sinh(x)",
    "exp(x) - 2 + exp(-x)": "2 * coshm1(x)",
    "log((1 - x)/(1 + x))": "-2 * atanh(x)",
    "sin(x + y) - sin(x)": "cos(x) * sin(y) - sin(x) * versin(y)",
    "cos(x + y) - cos(x)": "-sin(x) * sin(y) - cos(x) * versin(y)",
    "log(tan(pi/4 + x/2))": "asinh(tan(x))",
    "pi/2 - acos(x)": "asin(x)",
    "cos(pi/2 - x)": "sin(x)",
    "tan(x + y) - tan(x)": "sin(y) / (cos(x + y) * cos(x))",
    "(1 - cos(x))/sin(x)": "tan(x / 2)",
    "exp(x)/(exp(x) - 1)": "-1 / expm1(-x)",
    "log(x + 1) - log(x)": "log1p(1 / x)",
    "sqrt(-log(1 - x))*sin(2*pi*y)": "sqrt(-log1p(-x)) * sin(2 * pi * y)",
    "sqrt(1 + x**2) - 1": "x**2 / (sqrt(1 + x**2) + 1)",
    "(1 + x)**y - 1": "compoundm1(x, y)",
    "x**y - 1": "powm1(x, y)",
    "x*y**12 - x*y**6": "x * y**6 * compoundm1((y - 1) * (y + 1), 3)",  # both signs of y
    "-x + root_of_sum(x, y, 1)": "where(x > 0, y / (root_of_sum(x, y, 1) + x), -x + root_of_sum(x, y, 1))",
    "-x + sqrt(x*x + y)": "where(x > 0, y / (sqrt(x**2 + y) + x), -x + sqrt(x * x + y))",
    "x**4/(1 + x**4)": "where(abs(x) > 1, 1 / (1 + 1 / x**4), x**4 / (1 + x**4))",
    "cosh(x)/cosh(y)": "cosh_by_cosh(x, y)",
    "sinh(x)/sinh(y)": "sinh_by_sinh(x, y)",
    "(cosh(x) - cosh(y))/(x - y)": "2 * sinh((x - y) / 2) / (x - y) * sinh((x + y) / 2)",
    "sinh(x)*cosh(y) - cosh(x)*sinh(y)": "sinh(x - y)",
    "sigmoid(x) - sigmoid(-x)": "tanh(x / 2)",
    "expm1(-x)*sigmoid(x)": "-tanh(x / 2)",
    "(exp(x) - exp(y))/(x - y)": "where(x > y, exp(x) * expm1(y - x) / (y - x), expm1(x - y) / (x - y) * exp(y))",
}


def form(text):
    found = better(sg.parse(f"f(x, y) = {text}").statements[0].body)
    return None if found is None else show(found).replace("[...]", "")


@pytest.mark.parametrize("text", FORMS)
def test_form(text):
    assert form(text) == FORMS[text]


X, Y, U = map(ref, "xyu")


def test_products_are_alike_in_any_order():
    assert term_of(X * Y - Y * X) is term_of(X - X)
    assert term_of((X + Y) / (Y + X)) is term_of(X / X)


# what stands where the one of x and y is larger, and where the other one is: both as one
CASES = {
    ("exp(x)*sinh(y - x)", "exp(y)*sinh(x - y)"): "exp(maximum(x, y)) * sinh(-abs(y - x))",
    ("2*x*(x - y)", "2*y*(y - x)"): "2 * maximum(x, y) * abs(x - y)",
    ("x + u", "y + u"): "maximum(x, y) + u",
    ("exp(x)", "sinh(y)"): "where(x > y, exp(x), sinh(y))",
    ("x + u", "x - u"): "where(x > y, x + u, x - u)",
    ("exp(-y*u)*sinh(u*(y - x))", "exp(-x*u)*sinh(u*(x - y))"): "exp(-minimum(x, y) * u) * sinh(-u * abs(y - x))",
}


@pytest.mark.parametrize("sides", CASES)
def test_two_forms_as_one(sides):
    bodies = (sg.parse(f"f(x, y, u) = {side}").statements[0].body for side in ("x > y", *sides))
    assert show(joined(*bodies)).replace("[...]", "") == CASES[sides]


BESIDE = [(X * U, False), (U, False), (X * Y, True)]


@pytest.mark.parametrize(("beside", "another"), BESIDE, ids=[show(beside) for beside, _ in BESIDE])
def test_what_is_computed_of_others_is_no_other_question(beside, another):
    formula = apply("sqrt", X * Y + 1) - 1
    known, before = better(formula), _better.cache_info().misses
    assert better(formula, shared=(beside,)) is known
    assert (_better.cache_info().misses > before) is another


DIFFERENCES = [
    (U + X - Y, "x - y + u"),
    (X - U - (Y - U), "x - y"),
    (X - U - (Y - U) + U, "x - y + u"),
    (X + U - Y - U - U, "x - y - u"),
    (U - X * Y - U, "u - x * y - u"),  # no difference of what is given
]


@pytest.mark.parametrize(("formula", "wanted"), DIFFERENCES, ids=[wanted for _, wanted in DIFFERENCES])
def test_differences_come_first_without_what_is_taken_away_again(formula, wanted):
    assert show(differences_first({X, Y}.__contains__)(formula)) == wanted
