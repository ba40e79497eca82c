"""Formulas with whole arrays, and with functions by the names of NumPy, SymPy and the library, against NumPy."""

from __future__ import annotations

import re

import numpy as np
import pytest
import scipy.special
from mathematics import both

import symgrad as sg
from symgrad import library
from symgrad.declare.python.declared import Declared
from symgrad.declare.python.numpy_functions import FUNCTIONS

SIZES = {"n": 4, "m": 3, "d": 2, "e": 5}


def softmax(x, axis=-1):
    return scipy.special.softmax(x, axis=axis)


ARRAYS = [  # (text, the same in NumPy)
    ("f(x[n], A[n,n]) = x.T @ A @ x", lambda x, A: x @ A @ x),
    ("f(A[m,n], x[n]) = A @ x", lambda A, x: A @ x),
    ("f(A[m,n], x[n])[i] = (A @ x)[i]*2", lambda A, x: 2 * (A @ x)),
    ("f(A[m,n], x[n], b[m]) = A @ x + b", lambda A, x, b: A @ x + b),
    ("f(A[m,n], x[n]) = -A @ x/2 - 1", lambda A, x: -A @ x / 2 - 1),
    ("f(A[m,n]) = A.T", lambda A: A.T),
    ("f(A[m,n], x[m]) = A.T @ x", lambda A, x: A.T @ x),
    ("f(A[n,n], x[n]): y = A @ x; out = sum[i](y[i]**2*x[i])", lambda A, x: ((A @ x) ** 2 * x).sum()),
    ("f(A[n,n], x[n]): y = A @ x; z[i] = y[i]*x[i]; out = z @ x", lambda A, x: (A @ x * x) @ x),
    ("f(A[n,n], x[n]) = exp(A @ x)**2", lambda A, x: np.exp(A @ x) ** 2),
    ("f(x[n], y[n]) = x*y", lambda x, y: x * y),
    ("f(x[n], y[m]): z[i,j] = x[i]*y[j]; out = z @ y + x", lambda x, y: np.outer(x, y) @ y + x),
    ("f(A[n,m], x[m]) = A*x + A", lambda A, x: A * x + A),
    ("f(x[n]) = x", lambda x: x),
    ("f(x[n])[i] = softmax(x)[i]*x[i]", lambda x: softmax(x) * x),
    ("f(x[n,m]) = softmax(x)", softmax),
    ("f(x[n,m]) = softmax(x, axis=-2)", lambda x: softmax(x, -2)),
    ("f(x[n,m]): p = softmax(x); out = sum[i,j](p[i,j]**2)", lambda x: (softmax(x) ** 2).sum()),
    ("f(q[n,d], k[m,d], v[m,e]) = softmax(q @ k.T/sqrt(d)) @ v", lambda q, k, v: softmax(q @ k.T / np.sqrt(2)) @ v),
    ("f(x[n])[i] = relu(x[i])*gelu(x[i])", lambda x: x.clip(0) * sg.load(library.gelu, check=False).forward(x)[0]),
    ("f(x) = gelu(x)*2", lambda x: sg.load(library.gelu, check=False).forward(x)[0] * 2),
    ("f(x[n])[i] = x[i]/norm(x)", lambda x: x / np.linalg.norm(x)),
    ("f(x[n]) = x/norm(x) + std(x)*mean(x)", lambda x: x / np.linalg.norm(x) + x.std() * x.mean()),
    ("f(x[n,m]) = sum(x, axis=1) + max(x)", lambda x: x.sum(1) + x.max()),
    ("f(x[n,m]) = mean(x, axis=(0, 1)) + trace(x @ x.T)", lambda x: x.mean() + np.trace(x @ x.T)),
    ("f(x[n,m]) = concatenate([x, x*2], axis=1)", lambda x: np.concatenate([x, 2 * x], 1)),
    ("f(x[n]) = cumsum(x) + flip(x)", lambda x: np.cumsum(x) + x[::-1]),
    ("f(x[n], y[n]) = where(x > y, x, y)*maximum(x, 0)", lambda x, y: np.maximum(x, y) * np.maximum(x, 0)),
    ("f(A[n,n], x[n]) = x.T @ inv(A + 9*eye(n)) @ x", lambda A, x: x @ np.linalg.inv(A + 9 * np.eye(4)) @ x),
    ("f(L[n,n], b[n]): z = solve_triangular(L, b, lower=True); out = z @ b",
     lambda L, b: np.linalg.solve(np.tril(L), b) @ b),
    ("f(A[m,n], x[n]; a=2.0) = a*(A @ x)**2 + x[0]", lambda A, x: 2 * (A @ x) ** 2 + x[0]),
    ("f(x[...,m], w[m]) = x @ w", lambda x, w: x @ w),
    ("f(x[n], A[n,n]) = (x @ A, x @ x)", lambda x, A: (x @ A, x @ x)),
    ("f(x[n], y[n]) = [x @ y, norm(x)]", lambda x, y: np.array([x @ y, np.linalg.norm(x)])),
    ("f(A[2,3]) = A @ [1, 2, 3] + [0.5, 1]", lambda A: A @ [1, 2, 3] + [0.5, 1]),
    ("f(x[n,n])[i,j] = softmax(x)[i,j]*softmax(x)[j,i]", lambda x: softmax(x) * softmax(x).T),
    ("f(x[n])[i] = max(x[i], 0)*max(x)", lambda x: np.maximum(x, 0) * x.max()),
    ("f(A[n,n], b[n]) = solve(A + 9*eye(n), b) @ b", lambda A, b: np.linalg.solve(A + 9 * np.eye(4), b) @ b),
    ("f(x[n]) -> a, b: a = x*2; b = a @ x", lambda x: (2 * x, 2 * x @ x)),
    ("f(x[n]) = sort(x)*2 + 1", lambda x: 2 * np.sort(x) + 1),
    ("f(x[n]) = x @ x + sum[i](x[i])*x[0]", lambda x: x @ x + x.sum() * x[0]),
]  # fmt: skip


def given(text):
    """Arrays for the inputs of a text."""
    inputs = text[2 : text.index(")")].partition(";")[0]
    rng, shapes = np.random.default_rng(3), re.findall(r"(\w+)(?:\[([^\]]*)\])?", inputs)
    sizes = {**SIZES, "...": 2}
    return [rng.normal(size=[sizes.get(d) or int(d) for d in dims.split(",") if d]) for _, dims in shapes]


@pytest.mark.parametrize(("text", "numpy"), ARRAYS, ids=[row[0] for row in ARRAYS])
def test_values_are_numpys(text, numpy):
    arrays = given(text)
    found, _ = sg.load(text, check=False).forward(*arrays)
    expected = numpy(*arrays)
    several = isinstance(found, tuple)
    for a, b in zip(found if several else [found], expected if several else [expected], strict=True):
        assert np.shape(a) == np.shape(b)
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


NAMES = {  # a function of x by another name: the same by the name that it has
    **{"subtract(x, 2)": "x - 2", "multiply(x, 2)": "x*2", "divide(x, 2)": "x/2", "negative(x)": "-x"},
    **{"absolute(x)": "abs(x)", "fabs(x)": "abs(x)", "square(x)": "x**2", "reciprocal(x)": "1/x"},
    **{"besselj(1, x)": "bessel_j1(x)", "trigamma(x)": "polygamma(1, x)", "frac(x)": "x - floor(x)"},
    **{"root(x, 3)": "x**(1/3)", "beta(x, 2)": "exp(lgamma(x) + lgamma(2) - lgamma(x + 2))"},
    **{"Pow(x, 2)": "x**2", "fmax(x, 2)": "max(x, 2)"},
    **{"sec(x)": "1/cos(x)", "cot(x)": "1/tan(x)", "acot(x)": "atan(1/x)", "gamma(x)": "tgamma(x)", "e**x": "exp(x)"},
    **{"E**(2*x)": "exp(2*x)", "Mul(x, 2, x)": "x*2*x", "Add(x, 1)": "x + 1", "radians(x)": "x*pi/180"},
    **{"log(x, 10)": "log(x)/log(10)", "factorial(x)": "tgamma(x + 1)", "e*x": "exp(1)*x", "degrees(x)": "x*180/pi"},
}


@pytest.mark.parametrize("text", NAMES)
def test_a_function_has_several_names(text):
    assert sg.parse(f"f(x) = {text}").statements == sg.parse(f"f(x) = {NAMES[text]}").statements


WHOLE = [  # of whole arrays what it is of their elements
    *NAMES,
    "Piecewise((x, x > 0), (1, x < -1), (2*x, True))",
    "given(b, x*b, x)",
    "given(b, 2, x)*x",
    "given(b, x*b, x) + b",
    "given(b, given(b, b*x, 1), x) + 1",
    "exp(given(b, x*b, x)/2)",
    "where(not x > 0 or 1 < x <= 2, x, 1)",
]


@pytest.mark.parametrize("text", WHOLE)
def test_whole_arrays_are_what_their_elements_are(text):
    elements = re.sub(r"(?<!given\()\b[xb]\b", r"\g<0>[i]", text)
    whole, of_elements = (sg.parse(f"f(x[n], b[n]?){axes} = {t}") for axes, t in (("", text), ("[i]", elements)))
    assert str(whole) == str(of_elements)


def test_letters_are_constants_where_nothing_else_has_the_name():
    assert sg.parse("f(x, e) = x*e").inputs == ("x", "e")
    assert sg.parse("f(x[n])[e] = x[e]*2").outputs == ("out",)


CALLED = [  # functions of the library that have no namesake in NumPy, and one result
    name
    for name in library.__all__
    if name not in FUNCTIONS and isinstance(getattr(library, name), Declared)
    and len(getattr(library, name).function.outputs) == 1
]  # fmt: skip


@pytest.mark.parametrize("name", CALLED)
@pytest.mark.in_turn
def test_a_function_of_the_library_takes_what_is_computed(name):
    """Each real input twice as large, by a statement before the call."""
    f = getattr(library, name).function
    inputs = [f.table[n] for n in f.inputs]
    text = str(f).partition("(")[2].partition(")")[0].partition(";")[0]
    doubled = [t.name for t in inputs if t.dtype == "real" and not t.optional]
    taken = [f"{t.name}_2" if t.name in doubled else t.name for t in inputs]
    statements = "; ".join([*(f"{n}_2 = 2*{n}" for n in doubled), f"out = {name}({', '.join(taken)})"])
    whole = sg.parse(f"f({text}): {statements}")
    assert len(whole.table["out"].shape) == len(f.table[f.outputs[0]].shape)


REFUSED = [
    ("f(x) = softmax(x)", "axis -1 of <symbolic array of shape ()>, which has 0 axes"),
    ("f(x) = sum(x)", "sum needs the indices it runs over"),
    ("f(x) = x @ x", "`@` is between whole arrays"),
    ("f(A[m,n], x[m]) = A @ x", "n and m meet in one axis"),
    ("f(x[n]) = softmax(x, axis=1)", "axis 1"),
    ("f(x[n]) = softmx(x)", "Did you mean softmax?"),
    ("f(x[n]) = zzz(x)", "Known here: inputs x; sizes and options n"),
    ("f(x[n])[i] = softmax(x)", "this has 1 axes. Write 1 subscripts behind it, [i]"),
    ("f(x[n]): y = z @ x; z = x*2; out = y", "z is defined behind this place"),
    ("f(x[n])[i] = (x[i] + 1)[i]", "an array has, (A @ x)[i]"),
    ("f(x[n,m]) = qr(x)", "qr_q or qr_r"),
    ("f(x[n], y[2*m]) = x", "nothing tells m"),
    ("f(A[n,n]) = eigh(A)", "eigh_values or eigh_vectors"),
    ("f(x[n]) = layer_norm(x, x)", "layer_norm needs bias"),
    ("f(x[n,m]) = split(x, 2)", "say where"),
]


@pytest.mark.parametrize(("text", "said"), REFUSED, ids=[row[0] for row in REFUSED])
def test_what_is_refused_says_why(text, said):
    with pytest.raises(sg.SymgradError, match=re.escape(said)):
        sg.parse(text)


CHECKED = [
    "f(x[n], A[n,n]) = x.T @ A @ x",
    "f(q[n,d], k[m,d], v[m,e]) = softmax(q @ k.T/sqrt(d)) @ v",
    "f(icf[k,d*(d+1)//2], x[d])[i,j] = icf[i,j]*x[0]",
    "f(x[k], y[n]; k=3) = sum[i](x[i])*sum[j](y[j])",
    "f(x[n])[i] = gelu(x[i])/norm(x)",
]


@both
@pytest.mark.parametrize("text", CHECKED)
@pytest.mark.in_turn
def test_what_is_printed_agrees(text, to):
    report = sg.check(text, to=to)
    assert report.ok, report
