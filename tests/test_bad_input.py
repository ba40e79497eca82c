"""Bad input: each mistake gets one clear error through every front end, and each odd declaration the right answer."""

from __future__ import annotations

import re
from functools import partial

import numpy as np
import pytest
import sympy
from mathematics import as_function, both, loaded

import symgrad as sg
from symgrad.errors import DeclarationError, FormulaError, ShapeError, SymgradError, TargetError, UnsupportedError

X, Y = sympy.symbols("x y", real=True)


def from_source(source):
    """The function `f` of Python source, traced."""
    space = {"sg": sg, "np": np}
    exec(source, space)
    return space["f"].function


def python(signature, *body):
    return lambda: from_source(f"@sg.function\ndef f({signature}):\n    " + "\n    ".join(body))


def text(formula):
    return lambda: sg.parse(formula)


def symbolic(inputs, outputs, name="f"):
    return lambda: sg.from_sympy(name, inputs, outputs)


MISTAKES = {
    # shapes
    "text: an index of two sizes": (
        text("f(x[n,k], y[k,m])[i,j] = sum[l](x[i,l]*y[j,l])"),
        ShapeError,
        ["l has two sizes", "k in x (axis 1)", "m in y (axis 1)", "Give both axes one name"],
    ),
    "text: an index of two sizes of one tensor": (
        text("f(x[n,m])[i] = x[i,i]"),
        ShapeError,
        ["i has two sizes", "n in x (axis 0)", "m in x (axis 1)"],
    ),
    "text: an index of two literal sizes": (text("f(x[2], y[3])[i] = x[i]+y[i]"), ShapeError, ["2 in x", "3 in y"]),
    "text: too many subscripts": (text("f(x[n])[i] = x[i,0]"), FormulaError, ["column 14", "x has 1 axis", "x[i]"]),
    "python: one index, unpacked": (
        python("x: sg.Tensor['n']", "i, = sg.indices('i')", "return x[i]"),
        DeclarationError,
        ["sg.indices of one name is the index", 'i = sg.indices("i")'],
    ),
    "python: a number that may be absent": (
        python("x: sg.Tensor['n'], t: sg.Real['> 0'] = None", "return x*t"),
        DeclarationError,
        ["an optional number says that it has no sizes", 't: sg.Tensor[""] = None'],
    ),
    "python: a product": (
        python("x: sg.Tensor['n k'], w: sg.Tensor['m h']", "return x @ w.T"),
        ShapeError,
        ["k and h", "x     (n, k)", "w.T   (h, m)", "sums over k and h"],
    ),
    "python: a sum": (
        python("x: sg.Tensor['n'], y: sg.Tensor['m']", "return x + y"),
        ShapeError,
        ["n and m", "x   (n,)", "y   (m,)", "Give both axes one name"],
    ),
    "python: literal sizes": (
        python("x: sg.Tensor['n 3'], y: sg.Tensor['n 4']", "return x + y"),
        ShapeError,
        ["3 and 4", "(n, 3)", "(n, 4)"],
    ),
    "python: an index of two sizes": (
        python("x: sg.Tensor['n'], y: sg.Tensor['m']", "i = sg.indices('i')", "return sg.tensor[i](x[i]*y[i])"),
        ShapeError,
        ["i has two sizes", "n in x", "m in y"],
    ),
    # names
    "text: an unknown name": (text("f(x) = x*q"), FormulaError, ["column 10", "q is not known"]),
    "text: an unknown function": (text("f(x) = sine(x)"), FormulaError, ["sine is not known", "Did you mean"]),
    "text: a function of several results": (
        text("f(a[n,n]) = qr(a)"), FormulaError, ["qr is not known. Did you mean qr_decomposition or qr_q or qr_r?"]
    ),
    "text: a function of whole matrices": (text("f(a[n,n]) = cholsky(a)"), FormulaError, ["Did you mean cholesky?"]),
    "text: an unknown tensor": (text("f(x[n])[i] = x[i]*w[i]"), FormulaError, ["w is not known", "Known here"]),
    "text: an unknown index": (text("f(x[n]) = x[i]"), FormulaError, ["i is not known"]),
    "sympy: an unknown symbol": (symbolic([X], [X * Y]), DeclarationError, ["y is no input", "Inputs: x"]),
    "text: a name twice": (text("f(x, x) = x"), FormulaError, ["'x' is taken"]),
    "sympy: a name twice": (symbolic([X, X], [X]), DeclarationError, ["x is an input twice"]),
    "text: an input written": (text("f(x): x = 2*x"), FormulaError, ["x is an input"]),
    # unicode
    "text: a letter": (text("f(é) = é"), FormulaError, ["column 3", "LATIN SMALL LETTER E WITH ACUTE", "ASCII"]),
    "text: a letter that looks like x": (text("f(х) = х"), FormulaError, ["CYRILLIC SMALL LETTER HA", "ASCII"]),
    "text: a superscript": (text("f(x) = x²"), FormulaError, ["column 9", "SUPERSCRIPT TWO"]),
    "text: a sign": (text("f(x) = x·2"), FormulaError, ["MIDDLE DOT"]),
    "python: a letter": (python("é", "return é*2"), DeclarationError, ["'é'", "ASCII letters"]),
    "sympy: a letter": (
        symbolic([sympy.Symbol("α")], [sympy.Symbol("α")]),
        DeclarationError,
        ["'α'", "ASCII letters"],
    ),
    # Python on symbols
    "python: if": (python("x", "return x if x > 0 else -x"), DeclarationError, ["no truth value", "sg.where"]),
    "python: while": (
        python("x", "while x < 3: x = 2*x", "return x"),
        DeclarationError,
        ["no truth value", "sg.where"],
    ),
    "python: and": (python("x", "return x and 1"), DeclarationError, ["no truth value", "sg.where"]),
    "python: float": (python("x", "return float(x)"), DeclarationError, ["no number", "Leave float(x) out"]),
    "python: a loop over an axis": (python("x: sg.Tensor['n']", "for e in x: pass", "return x"), DeclarationError, []),
    "python: an element written": (python("x", "x[0] = 3", "return x"), SymgradError, ["x"]),
    "text: two packs in one equation": (
        text("f(x[*a, d], y[*b, d])[*a, *b] = sum[k](x[*a,k]*y[*b,k])"),
        UnsupportedError,
        ["two packs", "*a", "*b", "named axes"],
    ),
    "python: a star": (python("*x", "return x"), DeclarationError, ["*x"]),
    # outputs
    "python: nothing returned": (python("x", "pass"), DeclarationError, ["returns nothing"]),
    "python: a word returned": (python("x", "return 'a'"), DeclarationError, ["str"]),
    "sympy: no outputs": (symbolic([X], []), DeclarationError, ["returns nothing"]),
    "python: no inputs": (python("", "return 3"), DeclarationError, ["no inputs"]),
    "sympy: no inputs": (symbolic([], [sympy.Integer(3)]), DeclarationError, ["no inputs"]),
    # what has no value
    "sympy: an imaginary number": (symbolic([X], [sympy.I * X]), UnsupportedError, ["I is no real number"]),
    "sympy: no number": (symbolic([X], [sympy.nan]), UnsupportedError, ["nan"]),
    "sympy: an unknown function": (symbolic([X], [sympy.airyai(X)]), UnsupportedError, ["airyai"]),
    "text: an optional input in a function": (
        text("f(x[n]?)[i] = exp(x[i])"),
        DeclarationError,
        ["x is optional", "exp(x[i])", "sg.given"],
    ),
    "text: a recurrence": (text("f(x): a = b + x; b = a; out = b"), UnsupportedError, ["computed from itself"]),
    "text: nan": (text("f(x) = where(x > 0, x, nan)"), FormulaError, ["nan is not known", "where(condition"]),
    "text: an integral": (text("f(x) = integrate(x, x)"), FormulaError, ["integrate is not known", "sum[i](...)"]),
    "text: a derivative": (text("f(x) = gradient(x**2)"), FormulaError, ["is what is differentiated"]),
    "text: two bars": (text("f(x) = where(x > 1 || x < 0, x, 0)"), FormulaError, ["`a or b`"]),
    "text: two ampersands": (text("f(x) = where(x > 1 && x < 2, x, 0)"), FormulaError, ["`a and b`"]),
    "text: a question": (text("f(x) = x > 0 ? x : 0"), FormulaError, ["where(condition, then, otherwise)"]),
    "text: two names": (text("f(x, y) = x y"), FormulaError, ["A product is written with `*`"]),
    "text: a method": (text("f(x[n]) = x.sum()"), FormulaError, ["x.sum() is sum(x)"]),
    "text: another name of ndtr": (text("f(x) = normcdf(x)"), FormulaError, ["normcdf", "Did you mean ndtr"]),
    "text: another name of clip": (text("f(x) = sat(x, 0, 1)"), FormulaError, ["sat is", "Did you mean clip("]),
    "text: std of an index": (text("f(x[n]) = std[i](x[i])"), FormulaError, ["std is not known", "mean[i]("]),
    "text: an input lambda": (text("f(x, lambda) = x*lambda"), FormulaError, ["lambda", "another name"]),
    "text: a header alone": (text("f(x)"), FormulaError, ["f is not known. Functions have"]),
    "text: inf": (text("f(x) = where(x > 0, x, inf)"), FormulaError, ["inf is not known. Did you mean oo?"]),
    "a number": (lambda: sg.load(3), TargetError, ["3 is no declaration: that is a formula as text"]),
    "a lambda": (lambda: sg.jacobian(lambda x: x), DeclarationError, ["a lambda has no name"]),
    "a partial": (lambda: sg.function(partial(pow, 2)), DeclarationError, ["a partial has no name"]),
    **{
        f"text: {shown}": (text(shown), DeclarationError, ["is longer than 10000", "Make the size a name"])
        for shown in ("f(x[n]) = x[1000000000]", "f(x[1000000000]) = x[0]", "f(x[n])[i:1000000000] = i*x[0]")
    },
    # syntax
    "text: nothing": (text(""), FormulaError, ["there is no formula"]),
    "text: an open parenthesis": (text("f(x) = (x"), FormulaError, ["never closed"]),
    "text: an operand missing": (text("f(x) = x +"), FormulaError, ["operand is missing"]),
    "text: if": (text("f(x) = if x"), FormulaError, ["where(condition, then, otherwise)"]),
    "text: an index twice": (text("f(x[n])[i] = sum[i](x[i])"), FormulaError, ["index i is taken"]),
}

KEYWORDS = [("return", "numpy"), ("None", "torch"), ("class", "jax"), ("return", "c"), ("int", "c"), ("double", "c")]
for word, to in KEYWORDS:
    declared = [sg.from_sympy("f", [sympy.Symbol(word)], [sympy.Symbol(word) ** 2])]
    declared += [sg.parse(f"f(x[{word}])[i] = x[i]"), sg.parse(f"f(x; {word}=3) = x*{word}")]
    for function, what in zip(declared, ("input", "size", "option"), strict=True):
        MISTAKES[f"{to}: {what} {word}"] = (
            partial(sg.generate, function, to),
            UnsupportedError,
            [f"{what} '{word}' is a keyword of {'C' if to == 'c' else 'Python'}", "print another language"],
        )


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_refused_and_the_message_says_what_to_do(name):
    declare, kind, fragments = MISTAKES[name]
    with pytest.raises(kind) as raised:
        declare()
    message = str(raised.value)
    assert not [f for f in fragments if f not in message], message
    assert len(message) < 1000


@pytest.mark.parametrize("name", ["torch++", "", "C", "numpy "])
def test_an_unknown_language_is_refused(name):
    with pytest.raises(TargetError, match=re.escape(repr(name)) + ".*numpy.*c"):
        sg.generate(sg.parse("f(x) = x"), to=name, check=False)


# odd declarations that are right

UNUSED = {
    "text": "f(x, y) = x**2",
    "sympy": sg.from_sympy("f", [X, Y], [X**2]),
    "python": from_source("@sg.function\ndef f(x, y):\n    return x**2"),
}


@both
@pytest.mark.parametrize("front_end", UNUSED)
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0,)], ids=str)
def test_an_input_that_is_never_used_has_a_gradient_of_zeros(front_end, shape, to):
    code = loaded(UNUSED[front_end], to)
    _, saved = code.forward(np.full(shape, 3.0), np.full(shape, 5.0))
    grad_x, grad_y = code.backward(saved, np.ones(shape))
    np.testing.assert_array_equal(grad_x, np.full(shape, 6.0))
    assert np.shape(grad_y) == shape
    assert not np.any(grad_y)


@both
@pytest.mark.parametrize(
    ("formula", "shapes", "expected"),
    [
        ("f(x[n], w[n,m])[i] = x[i]", [(2,), (2, 3)], [(2,), (2, 3)]),
        ("f(x[n], w[k,m])[i] = 2*x[i]", [(2,), (4, 3)], [(2,), (4, 3)]),
        ("f(x[..., n], w[k])[..., i] = x[..., i]", [(2, 3), (4,)], [(2, 3), (4,)]),
        ("f(x, w[k]) = sum[i](w[i]) + 0*x", [(), (3,)], [(), (3,)]),
    ],
)
def test_gradients_of_zeros_have_the_shapes_of_their_inputs(formula, shapes, expected, to):
    code = loaded(formula, to)
    out, saved = code.forward(*(np.ones(s) for s in shapes))
    found = code.backward(saved, np.ones(np.shape(out)))
    assert [np.shape(g) for g in found] == expected


CONSTANT = {
    "text": "f(x) = 3",
    "sympy": sg.from_sympy("f", [X], [sympy.Integer(3)]),
    "python": from_source("@sg.function\ndef f(x):\n    return 3"),
}


@both
@pytest.mark.parametrize("front_end", CONSTANT)
@pytest.mark.parametrize("shape", [(), (4,)], ids=str)
def test_a_constant_output(front_end, shape, to):
    code = loaded(CONSTANT[front_end], to)
    out, saved = code.forward(np.ones(shape))
    np.testing.assert_array_equal(out, np.full(shape, 3.0))
    assert np.asarray(out).dtype == np.float64
    (grad_x,) = code.backward(saved, np.ones(shape))
    np.testing.assert_array_equal(grad_x, np.zeros(shape))


@both
@pytest.mark.parametrize(
    ("formula", "values"),
    [("f(x) = 3, x, 2*x", (3, 5, 10)), ("f(x) = x, x", (5, 5)), ("f(x) = 2", (2,)), ("f(x) = x*0 + 1", (1,))],
)
def test_outputs_that_are_constants_or_inputs(formula, values, to):
    code = loaded(formula, to)
    out, saved = code.forward(5.0)
    out = out if isinstance(out, tuple) else (out,)
    assert out == values
    seeds = tuple(np.float64(1) for _ in values)
    (grad_x,) = code.backward(saved, seeds if len(seeds) > 1 else seeds[0])
    assert grad_x == {(3, 5, 10): 3, (5, 5): 2}.get(values, 0)


@both
def test_no_inputs_at_all(to):
    code = loaded("f() = 3", to)
    out, saved = code.forward()
    assert out == 3
    assert code.backward(saved, 1.0) == ()


@both
@pytest.mark.parametrize(
    ("formula", "arguments", "said"),
    [
        ("f(x) = x**2", [3], "x"),
        ("f(x) = x**2", [np.arange(3)], "x"),
        ("f(x) = x**2", [[1, 2]], "x"),
        ("f(x) = x**2", [np.array([True])], "x"),
        ("f(x) = x**2", [np.array([1j])], "x"),
        ("f(x[n], t[n]: int) = sum[i](x[t[i]])", [np.ones(2), np.zeros(2)], "t"),
        ("f(x[n], m[n]: bool) = sum[i](where(m[i], x[i], 0))", [np.ones(2), np.ones(2)], "m"),
    ],
    ids=["an int", "integers", "a list of integers", "booleans", "complex", "reals as integers", "reals as booleans"],
)
def test_numbers_of_another_kind_are_refused(formula, arguments, said, to):
    with pytest.raises(TypeError, match=rf"f: {said} "):
        loaded(formula, to).forward(*arguments)


@both
@pytest.mark.parametrize(
    ("formula", "shapes", "said"),
    [
        ("f(x[n,k], w[m,k])[i,j] = sum[l](x[i,l]*w[j,l])", [(3, 4), (2, 5)], ["k = 4 (axis 1)", "k = 5 (axis 1)"]),
        ("f(x[n,k], w[m,k])[i,j] = sum[l](x[i,l]*w[j,l])", [(3, 4), (2, 1)], ["k = 4", "k = 1"]),
        ("f(x[n,k], w[m,k])[i,j] = sum[l](x[i,l]*w[j,l])", [(3, 1), (2, 5)], ["k = 1", "k = 5"]),
        ("f(x[n,k], w[m,k])[i,j] = sum[l](x[i,l]*w[j,l])", [(3,), (2, 5)], ["x"]),
        ("f(x[n,m], y[m])[i,j] = x[i,j]*y[j]", [(3, 4), (1,)], ["m = 4", "m = 1"]),
        ("f(x, y) = x*y", [(3,), (1,)], ["(3,)", "(1,)"]),
        ("f(x, y) = x*y", [(3,), ()], ["(3,)", "()"]),
        ("f(p[..., 2])[...] = p[..., 0]*p[..., 1]", [(5, 3)], ["p", "3", "2"]),
    ],
    ids=["k", "k is 1 of w", "k is 1 of x", "an axis missing", "m is 1", "a pack of 1", "a scalar", "a literal size"],
)
def test_shapes_that_disagree_are_refused_and_both_are_named(formula, shapes, said, to):
    with pytest.raises(ValueError, match=r"^f: ") as raised:
        loaded(formula, to).forward(*(np.ones(s) for s in shapes))
    assert not [s for s in said if s not in str(raised.value)], str(raised.value)


@both
@pytest.mark.parametrize("bad", [[0, 3], [-1, 0], [2, 7]], ids=str)
def test_an_index_out_of_range_is_never_read(bad, to):
    code = loaded("f(x[n], t[m]: int)[i] = x[t[i]]**2", to)
    with pytest.raises(IndexError, match="f"):
        code.forward(np.ones(3), np.array(bad))


@both
@pytest.mark.parametrize("bad", [[0, 3], [-2, 0], [-100, 7]], ids=str)
def test_a_subscript_may_be_out_of_range_where_a_condition_leaves_it_out(bad, to):
    code = loaded("f(x[n], t[m]: int)[i] = where(t[i] != -1, x[t[i]]**2, 5)", to)
    assert code.forward(np.full(3, 2.0), np.array([-1, 2, -1]))[0].tolist() == [5, 4, 5]
    with pytest.raises(IndexError, match="f"):
        code.forward(np.ones(3), np.array(bad))


@both
@pytest.mark.parametrize("count", [1, 5])
def test_a_literal_index_past_the_end_is_never_read(count, to):
    code = loaded("f(x[n])[i] = x[i]*x[5]", to)
    with pytest.raises((IndexError, ValueError), match="f: "):
        code.forward(np.ones(count))


@both
def test_needs_input_grad_that_is_too_short_is_refused(to):
    code = loaded("f(x, y) = x*y", to)
    _, saved = code.forward(2.0, 3.0)
    with pytest.raises((ValueError, IndexError)):
        code.backward(saved, 1.0, (True,))


def test_a_formula_that_is_refused_prints_nothing():
    """Files are made whole or not at all: `generate` returns text, and only of a function that was declared."""
    with pytest.raises(SymgradError):
        sg.generate(as_function("f(x[n], y[m])[i] = x[i] + y[i]"), check=False)
