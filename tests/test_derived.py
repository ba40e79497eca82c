"""What is derived of a function is a function: its numbers are SymPy's, its code agrees in every language."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from numpy.testing import assert_allclose, assert_array_equal

import symgrad as sg
from symgrad import library
from symgrad.errors import TargetError, UnsupportedError

x, y, z = sympy.symbols("x y z", real=True)

FUNCTIONS = {  # formula text: the same in SymPy
    "f(x, y) = (x**2*y, sin(x*y)/x, exp(x) + y)": ([x, y], [x**2 * y, sympy.sin(x * y) / x, sympy.exp(x) + y]),
    "f(x, y) = (atan2(y, x), sqrt(x**2 + y**2))": (
        [x, y],
        [sympy.atan2(y, x), sympy.sqrt(x**2 + y**2)],
    ),
    "f(x, y, z) = (x*cos(z) - y*sin(z), x*sin(z) + y*cos(z))": (
        [x, y, z],
        [x * sympy.cos(z) - y * sympy.sin(z), x * sympy.sin(z) + y * sympy.cos(z)],
    ),
    "f(x, y) = log(exp(x) + exp(y))": ([x, y], [sympy.log(sympy.exp(x) + sympy.exp(y))]),
    "f(x, y) = x**2*y + exp(x*y)": ([x, y], [x**2 * y + sympy.exp(x * y)]),
    "f(x, y, z) = (y - 1)**2 + x*z**3": ([x, y, z], [(y - 1) ** 2 + x * z**3]),  # with zeros in its Hessian
}
SCALARS = [text for text, (_, outputs) in FUNCTIONS.items() if len(outputs) == 1]
each_function = pytest.mark.parametrize("text", FUNCTIONS)
both = pytest.mark.parametrize("to", ["numpy", "c"])


def points(text):
    """Several points at once, as arrays of the inputs."""
    return np.random.default_rng(3).uniform(0.3, 1.7, (len(FUNCTIONS[text][0]), 5))


def results(function, text, to="numpy"):
    """What forward gives at the points, by name."""
    code = sg.load(function, to=to, check=False)
    found = code.forward(*points(text))[0]
    return dict(zip(function.outputs, found if isinstance(found, tuple) else (found,), strict=True))


def by_sympy(text, matrix):
    symbols, _ = FUNCTIONS[text]
    at = sympy.lambdify(symbols, matrix, "numpy")
    return np.stack([np.asarray(at(*p), dtype=float) for p in points(text).T])


@both
@each_function
def test_the_jacobian_is_a_matrix_at_each_point(text, to):
    symbols, outputs = FUNCTIONS[text]
    found = results(sg.derived(sg.parse(text), "jacobian"), text, to)
    assert_allclose(found["jacobian"], by_sympy(text, sympy.Matrix(outputs).jacobian(symbols)), rtol=1e-13, atol=1e-15)
    values = [v for name, v in found.items() if name != "jacobian"]
    assert_allclose(np.stack(values, -1), by_sympy(text, sympy.Matrix(outputs))[..., 0], rtol=1e-13)


@both
@pytest.mark.parametrize("text", SCALARS)
def test_the_hessian_is_symmetric_to_the_last_bit(text, to):
    symbols, (output,) = FUNCTIONS[text]
    found = results(sg.derived(sg.parse(text), "hessian"), text, to)
    assert_allclose(found["hessian"], by_sympy(text, sympy.hessian(output, symbols)), rtol=1e-12, atol=1e-15)
    assert_array_equal(found["hessian"], found["hessian"].swapaxes(-1, -2))
    gradient = np.stack([found[f"gradient_{s}"] for s in symbols], -1)
    assert_allclose(gradient, by_sympy(text, sympy.Matrix([output]).jacobian(symbols))[:, 0], rtol=1e-13)


@each_function
def test_gauss_and_newton(text):
    found = results(sg.derived(sg.parse(text), "gauss_newton"), text)
    jacobian = found["jacobian"]
    r = np.stack([found[name] for name in found if name not in ("jacobian", "jtj", "jtr")], -1)
    assert_allclose(found["jtj"], jacobian.swapaxes(-1, -2) @ jacobian, rtol=1e-13, atol=1e-15)
    assert_array_equal(found["jtj"], found["jtj"].swapaxes(-1, -2))
    assert_allclose(found["jtr"], np.einsum("bij,bi->bj", jacobian, r), rtol=1e-13)


KINDS = ["jacobian 0", "jacobian 2", "gauss_newton 0", "hessian 3", "value_and_gradient 3", "gradient 4"]


@both
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_derived_is_checked_and_differentiated_again(kind, to):
    what, n = kind.split()
    function = sg.derived(sg.parse([*FUNCTIONS][int(n)]), what)
    report = sg.check(function, to=to)
    assert report.ok, report


def test_with_respect_to_some_inputs():
    text = "f(x, y, z) = (x*cos(z) - y*sin(z), x*sin(z) + y*cos(z))"
    whole = results(sg.derived(sg.parse(text), "jacobian"), text)["jacobian"]
    for wrt in ("x, z", ["x", "z"]):
        assert_array_equal(results(sg.derived(sg.parse(text), "jacobian", wrt), text)["jacobian"], whole[..., [0, 2]])


def test_of_vectors_of_literal_size_there_is_an_array_for_each_two():
    """library.polynomial gives (x**2, x*y, y**2) of a vector (x, y)."""
    function = sg.derived(library.polynomial, "jacobian")
    assert function.outputs == ("out", "out_by_p")
    (_, found), _ = sg.load(function).forward(np.array([[2.0, 3.0], [5.0, 7.0]]))
    assert_array_equal(found, [[[4, 0], [3, 2], [0, 6]], [[10, 0], [7, 5], [0, 14]]])


def test_what_is_the_same_in_value_and_derivatives_is_computed_once():
    text = sg.generate(sg.derived(sg.parse("f(x, y) = (exp(x)*y, exp(x)*y**2)"), "jacobian"))["f_jacobian_numpy.py"]
    assert text.count("np.exp(") == 1
    assert "    jacobian[..., 0, 1] = " in text  # each element is written once, and added to nothing


def test_zeros_are_not_stored_one_by_one():
    text = sg.generate(sg.derived(sg.parse("f(x, y, z) = x**2 + 3*y"), "hessian"))["f_hessian_numpy.py"]
    assert "hessian = np.zeros((*batch, 3, 3), dtype=x.dtype)\n    hessian[..., 0, 0] = 2\n    return" in text


def test_second_derivatives_are_shown_in_the_symbols_of_the_declaration():
    u, v = sympy.symbols("u v")
    w = u**2 * v + sympy.sin(u * v)
    function = sg.from_sympy("f", (u, v), w)
    assert sg.jacobian(function) == sympy.Matrix([w]).jacobian([u, v]).applyfunc(sympy.factor_terms)
    assert sympy.simplify(sg.hessian(function) - sympy.hessian(w, (u, v))) == sympy.zeros(2)
    assert sg.hessian(function).subs({u: 0, v: 3}) == sympy.Matrix([[6, 1], [1, 0]])
    assert sg.hessian(sg.parse("f(x[3], y) = x[0]*x[1] + x[1]*x[2]")).shape == (4, 4)
    vector = sympy.Matrix(sympy.symbols("a b c"))
    again = sg.from_sympy("g", {"p": vector}, sg.jacobian(sg.from_sympy("f", {"p": vector}, vector[0] * vector)))
    assert_array_equal(sg.load(again).forward(np.array([2.0, 3.0, 5.0]))[0], [[4, 0, 0], [3, 2, 0], [5, 0, 2]])


REFUSED = [
    (lambda: sg.derived(sg.parse("f(x) = x"), "curl"), TargetError, "'curl' is nothing that is derived .* jacobian"),
    (lambda: sg.derived(sg.parse("f(x) = x"), "jacobian", "u"), TargetError, "no gradient for u; choose from x"),
    (lambda: sg.derived(sg.parse("f(x, y) = (x, y)"), "hessian"), TargetError, "one scalar output"),
    (
        lambda: sg.derived(sg.parse("f(x[n])[i] = x[i]**2"), "jacobian"),
        UnsupportedError,
        r"here are out\[n\], x\[n\]\. sg\.jacobian shows them as index equations",
    ),
]


@pytest.mark.parametrize(("call", "error", "match"), REFUSED, ids=["name", "input", "no scalar", "tensors"])
def test_what_is_refused(call, error, match):
    with pytest.raises(error, match=match):
        call()
