"""What simplification makes of the domain of a function, and that its code is what the formula says there."""

from __future__ import annotations

import mpmath
import pytest

import symgrad as sg
from symgrad.derivatives import derive
from symgrad.expr import apply, show
from symgrad.formulas import parse
from symgrad.ir import Signs
from symgrad.ops import ROWS
from symgrad.simplify import stable
from symgrad.simplify.undeclared import spared

# formula, domain, what it is there, what it is without
FORMS = {
    "a size": ("abs(x)", "x >= 0", "x"),
    "a size below 0": ("abs(x)", "x <= 0", "-x"),
    "a size from 1 on": ("abs(x - 1)", "x >= 1", "x - 1"),
    "a sign": ("sign(x)*x", "x > 0", "x"),
    "a sign at 0": ("sign(x)*x", "x >= 0", "sign(x) * x"),
    "relu": ("relu(x)*y", "x >= 0", "x * y"),
    "relu below 0": ("relu(x) + y", "x <= 0", "y"),
    "the larger": ("maximum(x, -y)", "x >= 0, y > 0", "x"),
    "the smaller": ("minimum(x + 1, y)", "x > 0, y <= 1", "y"),
    "a larger one that is not known": ("maximum(x, y)", "x >= 0, y >= 0", "maximum(x, y)"),
    "the root of a square": ("sqrt(x**2)", "x >= 0", "x"),
    "the root of a square below 0": ("sqrt(x**2)", "x < 0", "-x"),
    "the root of a product": ("sqrt(x**2*y)", "x > 0", "x * sqrt(y)"),
    "the root of a product, 0 included": ("sqrt(x**2*y)", "x >= 0", "sqrt(x) * sqrt(y * x)"),
    "both at least 0": ("sqrt(x**2*y)", "x >= 0, y >= 0", "x * sqrt(y)"),
    "the root of a quotient": ("sqrt(y/x**4)", "x > 0", "sqrt(y) / x**2"),
    "the logarithm of a power": ("log(x**y)", "x > 0", "y * log(x)"),
    "the logarithm of a square": ("log(x**2)", "x > 0", "2 * log(x)"),
    "a power of a power": ("(x**3)**0.5", "x >= 0", "x**1.5"),
    "a power of a power below 0": ("(x**2)**0.5", "x < 0", "-x"),
    "a branch": ("where(x > 0, log(x), y)", "x > 0", "log(x)"),
    "a branch that is not taken": ("where(x < 0, log(-x), y)", "x >= 0", "y"),
    "a branch at another number": ("where(x > 0.5, x, y)", "1 <= x <= 2", "x"),
    "a branch inside": ("where(x > 1.5, x, y)", "1 <= x <= 2", "where(x > 1.5, x, y)"),
    "an equality": ("where(x == 0, y, y/x)", "x > 0", "y / x"),
    "a condition of two": ("where((x > 0) & (y < 3), x, 0)", "x > 0", "where(y < 3, x, 0)"),
    "of what is computed": ("abs(x*y/(1 + x))", "x >= 0, y > 0", "x * y / (1 + x)"),
    "of what is stable": ("abs(exp(x) - 1)", "x > 0", "expm1(x)"),
    "of a logarithm": ("abs(log(x))", "x >= 1", "log(x)"),
    "of a logarithm below 1": ("abs(log(x))", "0 < x <= 1", "-log(x)"),
    "of another input": ("abs(y)*x", "x > 0", "abs(y) * x"),
}


@pytest.mark.parametrize(("formula", "domain", "expected"), FORMS.values(), ids=list(FORMS))
def test_a_formula_has_the_form_of_its_domain(formula, domain, expected):
    (equation,) = stable(parse(f"f(x, y) = {formula} for {domain}")).statements
    assert show(equation.body).replace("[...]", "") == expected


@pytest.mark.parametrize("formula", dict.fromkeys(formula for formula, _, _ in FORMS.values()))
def test_without_a_domain_a_formula_is_as_it_was(formula):
    (equation,) = stable(parse(f"f(x, y) = {formula}")).statements
    (other,) = stable(parse(f"f(x, y) = {formula} for x < 1e300")).statements
    assert equation.body is other.body


@pytest.mark.parametrize("to", ["numpy", "c"])
@pytest.mark.parametrize(("formula", "domain"), [row[:2] for row in FORMS.values()], ids=list(FORMS))
@pytest.mark.in_turn
def test_its_code_is_what_the_formula_says(formula, domain, to):
    report = sg.check(parse(f"f(x, y) = {formula} for {domain}"), to)
    assert report.ok, str(report)


def test_without_stabilize_the_formula_stays():
    text = sg.generate(parse("f(x) = abs(x) for x >= 0"), "numpy", stabilize=False, check=False)["f_numpy.py"]
    assert "out = np.abs(x)" in text
    report = sg.check(parse("f(x) = abs(x) for x >= 0"), "numpy", stabilize=False)
    assert report.ok, str(report)


WITHOUT_MASKS = {  # of what is a number in the domain, though not everywhere
    "a power": "x**a for x > 0",
    "a power of 1 - a": "x**(1 - a) for x > 0",
    "a power of 1 + x": "(1 + x)**a for x > -1",
    "a focal loss": "-(1 - x)**a*log(x) for 0 < x < 1",
    "a dose": "a/(1 + (y/x)**a) for x > 0, y > 0",
    "a dose, by powers": "x**a/(y**a + x**a) for x > 0, y > 0",
    "a gamma density": "y**(x - 1)*gamma(x)*exp(a) for x > 0, y > 0",
    "a gamma density below the line": "x**(a - 1)*exp(-x/y)/(gamma(a)*y**a) for x > 0, y > 0, a > 0",
    "a kinetic energy": "sqrt(a**2 + x**2) - x for x > 0",
    "a loan": "x*(1 + x)**a/((1 + x)**a - 1) for x > 0, a > 0",
}


@pytest.mark.parametrize("formula", WITHOUT_MASKS.values(), ids=list(WITHOUT_MASKS))
@pytest.mark.in_turn
def test_gradients_ask_nothing_that_the_domain_tells(formula):
    bare = formula.split(" for ")[0]
    assert "where" not in str(sg.vjp(parse(f"f(x, y, a) = {formula}")))
    assert "where" in str(sg.vjp(parse(f"f(x, y, a) = {bare}")))


@pytest.mark.parametrize("to", ["numpy", "c"])
@pytest.mark.parametrize("formula", WITHOUT_MASKS.values(), ids=list(WITHOUT_MASKS))
@pytest.mark.in_turn
def test_gradients_without_masks_are_those_of_the_formula(formula, to):
    report = sg.check(parse(f"f(x, y, a) = {formula}"), to)
    assert report.ok, str(report)


def test_a_search_looks_at_the_numbers_of_the_domain_alone():
    (equation,) = stable(parse("f(p, m) = sqrt(p**2 + m**2) - m for m > 0")).statements
    assert show(equation.body).replace("[...]", "") == "p / (hypot(p, m) + m) * p"


def test_the_gradient_of_a_norm_that_is_not_0():
    assert "where" not in str(sg.vjp(parse("f(x[n]) = sqrt(sum[i](x[i]**2) + 1)/abs(x[0]) for x > 0")))


SIGNS = {
    "x + y": "_ > 0", "x*y": "_ >= 0", "-x": "_ < 0", "x - y": "_", "2*x + 1": "_ > 1", "z": "2 <= _ < 3",
    "1 - z": "-2 < _ <= -1", "z*z": "4 <= _ < 9", "z**2": "4 <= _ < 9", "1/z": "1/3 < _ <= 0.5", "abs(w)": "_ >= 0",
    "w**2": "_ >= 0", "w**3": "_", "x**3": "_ > 0", "y**w": "_ >= 0", "x**w": "_ > 0", "sqrt(x)": "_ > 0",
    "exp(w)": "_ > 0", "log(z)": "_ > 0", "tanh(x)": "_ > 0", "log1p(y)": "_ >= 0", "erf(-x)": "_ < 0",
    "maximum(w, x)": "_ > 0", "minimum(z, 2.5)": "2 <= _ <= 2.5", "where(w > 0, x, y)": "_ >= 0", "cos(x)": "_",
    "pi - z": "0 < _ < 2", "1/(x + 1)": "0 < _ < 1", "x/(1 + x)": "_ > 0", "v*v": "0 <= _ <= 1",
    "abs(v)": "0 <= _ <= 1", "v**2 + 1": "1 <= _ <= 2",
    "relu(w)": "_ >= 0", "relu(x)": "_ >= 0",
    "floor(x)": "_", "sigmoid(w)": "_ > 0", "hypot(w, x)": "_ > 0", "hypot(w, v)": "_ >= 0",
    "gamma(x)": "_ > 0", "gamma(w)": "_", "w > 0": "0 <= _ <= 1",
}  # fmt: skip


@pytest.mark.parametrize(("formula", "expected"), SIGNS.items(), ids=list(SIGNS))
def test_the_interval_of_an_expression(formula, expected):
    function = parse(f"f(w, x, y, z, v) = {formula} for x > 0, y >= 0, 2 <= z < 3, -0.5 <= v <= 1")
    assert Signs(function)(function.statements[0].body).show("_") == expected


NUMBERS = [mpmath.mpf(x) for x in (-400, -3, -1, -0.5, -0.1, 0, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 400)]
UNARY = [row for row in ROWS if row.arity == 1 and row.kind == "function" and row.result == "real"]


@pytest.mark.parametrize("row", UNARY, ids=lambda row: row.name)
@pytest.mark.parametrize(
    "domain", ["x > 0", "x >= 0", "x < 0", "x <= 0", "0.25 <= x <= 1", "x >= 1", "-0.5 <= x < 0.5"]
)
def test_the_interval_of_an_operator_has_its_values(row, domain):
    function = parse(f"f(x) = x for {domain}")
    found = Signs(function)(apply(row.name, function.statements[0].body))
    for x in NUMBERS:
        value = row.value(x) if function.table["x"].interval.holds(x) else mpmath.nan
        assert mpmath.isnan(value) or found.holds(value) is not False, (x, value, found)


def test_sums_locals_and_sizes_have_a_sign():
    text = (
        "f(x[n]): s = sum[i](x[i]); r[i] = x[i] + 1; m = max[i](x[i]); out = abs(s)*abs(r[0])*abs(m)*abs(n) for x > 0"
    )
    *_, out = stable(parse(text)).statements
    assert show(out.body) == "s * r[0] * abs(m) * n"


# formula, the inputs that are to be declared positive
UNDECLARED = {
    "a power": ("f(x, a) = x**a", ("x",)),
    "an exact power": ("f(x) = x**0.7", ()),
    "a base that is positive": ("f(x, a) = exp(x)**a", ()),
    "a base of two": ("f(x, k, n) = x**n/(k**n + x**n)", ("x", "k")),
    "bases, and a step": ("f(a, b, r) -> c: u = a*b; c = (1 + u)**r", ("a", "b")),
    "in a sum": ("f(x[n], k) = sum[i](log(x[i]**(k - 1)*exp(-x[i]**k)))", ("x",)),
    "an exponent, too": ("f(x[n], k) = mean[i](exp(-x[i]**k))", ("x", "k")),
    "one that is declared": ("f(x, a) = x**a for x > 0", ()),
    "a base of another sign": ("f(x, y, a) = (x - y)**a", ()),
    "a base of any sign": ("f(x, a) = abs(x)**a*x", ()),
    "a base whose sign is asked": ("f(x, a) = where(x > 0, x**a, 0)", ()),
    "a base at 0 or above": ("f(x, a) = relu(x)**a", ()),
}


@pytest.mark.parametrize(("formula", "inputs"), UNDECLARED.values(), ids=list(UNDECLARED))
def test_the_domain_of_a_power_is_suggested(formula, inputs):
    written = parse(formula)
    found = spared(written, derive(written))
    assert (found.inputs if found else ()) == inputs
    if found:  # what is promised comes true
        masks = str(derive(parse(f"{formula} for {', '.join(inputs)} > 0"))).count("where(")
        assert masks <= found.all - found.needless
