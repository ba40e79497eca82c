"""The domain of a declaration: what it says of the inputs, that it is shown and reads back, and what is refused."""

from __future__ import annotations

from fractions import Fraction

import pytest
import sympy

import symgrad as sg
from symgrad.errors import SymgradError
from symgrad.expr import const
from symgrad.ir import REALS, Function, Interval

INTERVALS = {
    "above": ("f(a) = a for a > 0", {"a": "a > 0"}),
    "from": ("f(a) = a for a >= 0", {"a": "a >= 0"}),
    "below": ("f(a) = a for a < 0", {"a": "a < 0"}),
    "to": ("f(a) = a for a <= 0", {"a": "a <= 0"}),
    "turned": ("f(a) = a for 0 < a", {"a": "a > 0"}),
    "between": ("f(x) = x for 0 <= x < 1", {"x": "0 <= x < 1"}),
    "between, turned": ("f(x) = x for 1 > x >= 0", {"x": "0 <= x < 1"}),
    "in two conditions": ("f(x) = x for x < 1, x >= 0", {"x": "0 <= x < 1"}),
    "the tighter bound": ("f(x) = x for x >= 0, x > 0, x < 3, x <= 2", {"x": "0 < x <= 2"}),
    "several inputs": ("f(x, a) = x**a for a > 0, 0 <= x <= 1", {"x": "0 <= x <= 1", "a": "a > 0"}),
    "said of two": ("f(a, b) = a*b for a, b > 0", {"a": "a > 0", "b": "b > 0"}),
    "numbers with signs and points": ("f(x) = x for -1.5 < x <= +1e-3", {"x": "-1.5 < x <= 1e-3"}),
    "decimals below 0": ("f(x) = x for -2.5e-3 < x <= -0.0001", {"x": "-2.5e-3 < x <= -0.0001"}),
    "an array": ("f(x[n], a)[i] = a*x[i] for x > 0", {"x": "x > 0"}),
    "integers": ("f(t[n]: int)[i] = t[i]*1.5 for 0 < t <= 4", {"t": "0 < t <= 4"}),
    "an input that may be absent": ("f(x[n], b[n]?)[i] = x[i] + b[i] for b > 0", {"b": "b > 0"}),
    "behind a block": ("f(x[n]) -> y:\n  z = sum[i](x[i])\n  y = z**2\n  for x > 0", {"x": "x > 0"}),
    "behind a formula alone": ("x*y for y > 0", {"y": "y > 0"}),
    "behind an element": ("f(x[n]) = x[0] for x > 0", {"x": "x > 0"}),
    "a name elsewhere": ("f(for) = for + for**2 for for > 0", {"for": "for > 0"}),
}


def shown(function: Function) -> dict[str, str]:
    return {n: t.interval.show(n) for n, t in function.table.items() if t.interval.bounded}


@pytest.mark.parametrize(("text", "expected"), INTERVALS.values(), ids=list(INTERVALS))
def test_a_domain_is_an_interval_for_each_input(text, expected):
    function = sg.parse(text)
    assert shown(function) == expected
    assert str(function).endswith(f"    for {function.domain}")


@pytest.mark.parametrize("text", [text for text, _ in INTERVALS.values()], ids=list(INTERVALS))
def test_source_and_formula_have_the_domain(text):
    function = sg.parse(text)
    assert sg.parse(function.source) == function
    assert shown(sg.parse(function.formula)) == shown(function)


def test_without_a_domain_every_number_is_inside():
    function = sg.parse("f(x) = x")
    assert function.table["x"].interval is REALS
    assert not function.domain
    assert "for" not in str(function)


TIDY = {
    "f(x)=x   for   0<x": "f(x) = x for 0 < x",
    "f(x)=x for x>-1,x<=2": "f(x) = x for x > -1, x <= 2",
    "f(x): y = x;out=y**2 for x>0": "f(x): y = x; out = y**2 for x > 0",
    "f(x): y = x\nout=y**2\n\nfor x>0\n": "f(x): y = x; out = y**2 for x > 0",
    "f(x)[]=x for -1<x": "f(x)[] = x for -1 < x",
}


@pytest.mark.parametrize(("text", "source"), TIDY.items(), ids=list(TIDY))
def test_the_source_is_spaced_in_one_way(text, source):
    assert sg.parse(text).source == source


REFUSED = {
    "nothing": ("f(x) = x for", "an input or a number is missing, as in a > 0 or 0 <= x <= 1; the text ends here", 12),
    "a name alone": ("f(x) = x for x", "a comparison is missing", 14),
    "another name": ("f(x) = x for y > 0", "y is not known. A domain is that of inputs: x.", 13),
    "a result": ("f(x): y = x; out = y for y > 0", "y is a result. A domain is that of inputs: x.", 25),
    "an option": ("f(x; k=2) = x for k > 0", "k is an option. A domain is that of inputs: x.", 18),
    "a size": ("f(x[n])[i] = x[i] for x < n", "n is a size", 26),
    "two inputs": ("f(x, y) = x for x > y", "x and y are both inputs; a bound is a number, such as 0", 20),
    "an input as a bound": ("f(x, y) = x for 0 < x < y", "x and y are both inputs; a bound is a number", 24),
    "no input": ("f(x) = x for 0 < 1", "a condition is on an input, as in a > 0", 15),
    "a constant": ("f(x) = x for x < pi", "a bound is a number, such as 0, -1.5 or 1e-3. Write the value.", 17),
    "infinity": ("f(x) = x for x < oo", "Leave out the bound that there is not.", 17),
    "a quotient": ("f(x) = x for x < 1/2", "a bound is a number", 18),
    "a product": ("f(x) = x for 2*x > 0", "stands beside an input alone: 2*x < 1 is x < 0.5.", 14),
    "a sum": ("f(x) = x for x + 1 > 0", "a domain is that of an input as it stands", 15),
    "a negative": ("f(x) = x for -x > 0", "a number is missing behind '-'", 14),
    "an element": ("f(x[n])[i] = x[i] for x[i] > 0", "of an input as it stands, all of its elements", 23),
    "an equation": ("f(x) = x for x == 0", "a domain is an interval: compare by <, <=, > or >=.", 15),
    "two directions": ("f(x) = x for 0 < x > 1", "both comparisons go one way: 0 <= x <= 1.", 19),
    "between inputs": ("f(x) = x for x < 1 < 2", "an input stands between two numbers: 0 <= x <= 1.", 19),
    "nothing in it": ("f(x) = x for 1 < x < 0", "no number x has 1 < x < 0. Turn a comparison round", 13),
    "nothing in both": ("f(x) = x for x > 0, x < 0", "no number x has 0 < x < 0", 20),
    "no whole number": ("f(t: int) = t*2.0 for 0 < t < 1", "no whole number t has 0 < t < 1", 22),
    "truth": ("f(m: bool) = m*2.0 for m > 0", "m is true or false; an interval is of numbers.", 23),
    "and": ("f(x) = x for x > 0 and x < 1", "Conditions stand between commas, as in a > 0, 0 <= x <= 1.", 19),
    "a statement behind": ("f(x) = x for x > 0; y = 2", "here the declaration ends.", 18),
}


@pytest.mark.parametrize(("text", "said", "column"), REFUSED.values(), ids=list(REFUSED))
def test_what_is_refused_says_what_and_where(text, said, column):
    with pytest.raises(SymgradError) as refused:
        sg.parse(text)
    first, line, caret = str(refused.value).splitlines()
    assert said in first
    assert line == f"    {text}"
    assert caret == f"    {' ' * column}^"


def test_the_head_of_printed_code_says_the_domain():
    text = sg.generate(sg.parse("power(x, a) = x**a for a > 0, 0 <= x <= 1"), "numpy", check=False)["power_numpy.py"]
    assert text.startswith('"""power(x, a) = x**a for a > 0, 0 <= x <= 1\n')
    assert 'symgrad generate "power(x, a) = x**a for a > 0, 0 <= x <= 1" --to numpy' in text
    assert "    x    (...,)  0 <= x <= 1\n    a    (...,)  a > 0\n" in text
    assert "    They are declared for 0 <= x <= 1, a > 0.\n" in text


BETWEEN = Interval(const(0), const(1), False, True)
MEMBERS = [(0, True), (0.5, True), (1, False), (1.0, False), (-1e-300, False), (float("nan"), False)]


@pytest.mark.parametrize(("x", "inside"), MEMBERS)
def test_what_is_in_an_interval(x, inside):
    assert BETWEEN.holds(x) is inside


HULLS = {
    "both sides": (Interval.of("gt", const(0)), Interval.of("lt", const(1)), REALS),
    "one side": (Interval.of("gt", const(0)), Interval.of("ge", const(0)), Interval.of("ge", const(0))),
    "apart": (BETWEEN, Interval(const(3), const(4)), Interval(const(0), const(4))),
}


@pytest.mark.parametrize(("one", "other", "expected"), HULLS.values(), ids=list(HULLS))
def test_the_hull_has_the_numbers_of_both(one, other, expected):
    assert one.hull(other) == other.hull(one) == expected


def test_bounds_are_exact():
    assert Interval.of("gt", const("0.1")).least == Fraction(0.1)


# in Python


@sg.function
def arrays(
    x: sg.Tensor["n k", "> 0, < 1"], a: sg.Tensor["k", "> 0"], t: sg.Int["k", ">= 0"] = None, *, eps: float = 1.0
):
    return (sg.log(x) * (a - eps)).sum(axis=1)


@sg.function
def points(x: sg.Real["0 <= x <= 1"], a: sg.Real["> 0"], y):
    return x**a + y


@sg.function
def beside_arrays(x: sg.Tensor["n"], a: sg.Real["-1.5 < a"]):
    return a * x


@sg.function("x[n], a, b[n]? for x > 0, 0 < a < 1")
def written(x, a, b=None):
    return a * x + b


PYTHON = {
    arrays: (
        {"x": "0 < x < 1", "a": "a > 0", "t": "t >= 0"},
        "out[i] = sum[j](log(x[i, j]) * (a[j] - eps))\nfor 0 < x < 1",
    ),
    points: ({"x": "0 <= x <= 1", "a": "a > 0"}, "points(x, a, y) = x**a + y for 0 <= x <= 1, a > 0"),
    beside_arrays: ({"a": "a > -1.5"}, "out[i] = a * x[i]\nfor a > -1.5"),
    written: ({"x": "x > 0", "a": "0 < a < 1"}, "out[i] = a * x[i] + b[i]\nfor x > 0, 0 < a < 1"),
}


@pytest.mark.parametrize(
    ("declared", "expected", "formula"), [(f, *row) for f, row in PYTHON.items()], ids=lambda f: getattr(f, "name", "")
)
def test_annotations_say_the_domain(declared, expected, formula):
    assert shown(declared.function) == expected
    assert declared.function.formula.startswith(formula)


def test_a_parameter_that_says_only_its_domain_has_the_shape_of_the_others():
    assert points.function.packs == ("...",)
    assert beside_arrays.function.table["a"].shape == ()


ANNOTATIONS = {
    "a product without its sign": (lambda: sg.Tensor["4k i"], "a sign is missing between 4 and k. A product is 4*k."),
    "an array that is called": (lambda: sg.tensor("n"), "sg.tensor has its indices in brackets"),
    "two sizes": (lambda: sg.Tensor["n", "k"], "Tensor[...] takes the sizes as one string, and a domain as a second"),
    "a type": (lambda: sg.Tensor["n", int], 'integers are Int["n k"], truth values Bool["n k"]'),
    "three texts": (lambda: sg.Tensor["n", "> 0", "< 1"], 'Tensor["n k", ">= 0, < 1"]'),
    "no text": (lambda: sg.Real[3], 'Real[...] takes the domain as a string: Real["> 0"].'),
    "a size": (lambda: sg.Tensor["k", "> k"], "a bound is a number"),
    "two names": (lambda: sg.Real["x < y"], "y is not known"),
    "nothing in it": (lambda: sg.Real["> 1, < 0"], "no number x has 1 < x < 0"),
    "no comparison": (lambda: sg.Real["positive"], "a comparison is missing"),
}  # fmt: skip


@pytest.mark.parametrize(("made", "said"), ANNOTATIONS.values(), ids=list(ANNOTATIONS))
def test_a_wrong_annotation_is_refused(made, said):
    with pytest.raises(SymgradError) as refused:
        made()
    assert said in str(refused.value)


def test_a_domain_is_that_of_its_own_parameter():
    with pytest.raises(SymgradError, match=r"f: the domain of x speaks of y\. Write x, or leave it out: > 0\."):

        @sg.function
        def f(x: sg.Real["y > 0"]):
            return x


def test_an_option_has_no_domain():
    with pytest.raises(SymgradError, match="f: eps is an option, and has no domain"):

        @sg.function
        def f(x, *, eps: sg.Real["> 0"] = 1.0):
            return x


# from SymPy

P, N = sympy.Symbol("p", positive=True), sympy.Symbol("n", negative=True)
Q, M, R = sympy.Symbol("q", nonnegative=True), sympy.Symbol("m", nonpositive=True), sympy.Symbol("r", real=True)
SYMPY = {
    "symbols": ([P, N, Q, M, R], P * N * Q * M * R, {"p": "p > 0", "n": "n < 0", "q": "q >= 0", "m": "m <= 0"}),
    "a matrix of one kind": ({"v": sympy.Matrix([P, Q])}, {"o": sympy.Matrix([P * Q, P])}, {"v": "v >= 0"}),
    "a matrix of several": ({"v": sympy.Matrix([P, R]), "m": M}, P * R * M, {"m": "m <= 0"}),
    "a MatrixSymbol": ([sympy.MatrixSymbol("A", 2, 2), P], P * sympy.MatrixSymbol("A", 2, 2)[0, 1], {"p": "p > 0"}),
    "several results": ([P, R], {"a": P * R, "b": R}, {"p": "p > 0"}),
}


@pytest.mark.parametrize(("inputs", "outputs", "expected"), SYMPY.values(), ids=list(SYMPY))
def test_assumptions_of_symbols_are_the_domain(inputs, outputs, expected):
    function = sg.from_sympy("f", inputs, outputs)
    assert shown(function) == expected
    assert shown(sg.parse(function.source)) == expected


# what is made of a function


def test_what_is_derived_has_the_domain_of_its_inputs():
    assert shown(sg.gradient(sg.parse("f(x[n], w) = w*sum[i](log(x[i])) for x > 0"))) == {"x": "x > 0"}
    assert shown(sg.derived(points, "jacobian")) == {"x": "0 <= x <= 1", "a": "a > 0"}


def test_a_call_inside_of_another_function_has_the_domain_of_that_one():
    @sg.function
    def outer(z: sg.Real["< 0"]):
        return points(z, z, z)

    assert shown(outer.function) == {"z": "z < 0"}
