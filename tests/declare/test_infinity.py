"""oo as a value: a result, under exp, in a maximum, compared; by each front end, with NumPy's and SciPy's numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy
from mathematics import interpret
from numpy import inf

import symgrad as sg
from symgrad.errors import DeclarationError
from symgrad.library import softmax

X = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.5], [0.0, 1.0, -2.0]])
KEEP = np.array([[1, 0, 1], [0, 1, 1], [1, 1, 0]])
MASKED = np.where(KEEP, X, -inf)
WEIGHTS = np.exp(MASKED) / np.exp(MASKED).sum(axis=1, keepdims=True)


@sg.function
def below(x: sg.Tensor["n n"]):
    i, j = sg.indices("i j")
    return sg.tensor[i, j](sg.exp(sg.where(j <= i, x[i, j], -np.inf)))


@sg.function
def by_hand(x: sg.Tensor["n m"], keep: sg.Bool["n m"]):
    scores = np.where(keep, x, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


@sg.function
def by_softmax(x: sg.Tensor["n m"], keep: sg.Bool["n m"] = None):
    return softmax(sg.given(keep, np.where(keep, x, -np.inf), x))


@sg.function
def largest(x: sg.Tensor["n m"], keep: sg.Bool["n m"]):
    return np.maximum(np.where(keep, x, -np.inf), -0.75)


x, y = sympy.symbols("x y", real=True)
scalar = {"x": 0.5, "y": -1.0}
matrix = {"x": X, "keep": KEEP}
VALUES: dict[str, tuple[Any, dict[str, Any], Any]] = {
    "exp in Python": (below, {"x": X}, np.tril(np.exp(X))),
    "softmax by hand": (by_hand, matrix, WEIGHTS),
    "softmax of the library": (by_softmax, matrix, WEIGHTS),
    "softmax without a mask": (by_softmax, {"x": X, "keep": None}, np.exp(X) / np.exp(X).sum(axis=1, keepdims=True)),
    "maximum in Python": (largest, matrix, np.maximum(MASKED, -0.75)),
    "exp in text": ("f(x[n,n])[i,j] = exp(where(j <= i, x[i,j], -oo))", {"x": X}, np.tril(np.exp(X))),
    "a result of branches that are infinite": (
        "f(x[n,m], keep[n,m]: bool): s[i,j] = where(keep[i,j], x[i,j], -oo); total[i] = logsumexp[j](s[i,j]); "
        "out[i,j] = exp(s[i,j] - total[i])",
        matrix,
        WEIGHTS,
    ),
    "maximum in text": ("f(x, y) = maximum(where(x > y, -oo, x), y) + minimum(oo, x)", scalar, -0.5),
    "functions with a limit": ("f(x) = tanh(where(x > 0, oo, x)) + sigmoid(where(x < 1, -oo, x))", {"x": 0.5}, 1.0),
    "of two sides": ("f(x, y) = exp(where(x > 0, where(y > 0, y, -oo), x)) + x/(1 + exp(oo))", scalar, 0.0),
    "compared": ("f(x) = where(where(x > 0, x, -oo) == -oo, 2*x, 3*x)", {"x": 0.5}, 1.5),
    "in a reduction of branches": (
        "f(x[n,m], keep[n,m]: bool)[i] = max[j](where(i > 0, where(keep[i,j], x[i,j], -oo), x[i,j]))",
        matrix,
        np.where(np.arange(3)[:, None] > 0, MASKED, X).max(axis=1),
    ),
    "a result": ("f(x) = where(x > 0, x, -oo)", {"x": -1.0}, -inf),
    "a result that is read": (
        "f(x, y): a = where(x > y, x, -oo); out = maximum(a, y) + exp(a)", scalar, 0.5 + np.exp(0.5)
    ),
    "a sum": ("f(x[n,m]) = sum[i,j](where(x[i,j] > -1.5, x[i,j], -oo))", {"x": X}, -inf),
    "exp in SymPy": (
        sg.from_sympy("f", [x, y], [sympy.exp(sympy.Piecewise((-sympy.oo, x > y), (x, True))) * y]), scalar, 0.0
    ),
    "Max in SymPy": (
        sg.from_sympy("f", [x, y], [sympy.Max(sympy.Piecewise((-sympy.oo, x > y), (x, True)), y)]), scalar, -1.0
    ),
}  # fmt: skip


@pytest.mark.parametrize(("declared", "inputs", "expected"), VALUES.values(), ids=VALUES.keys())
def test_value(declared: Any, inputs: dict[str, Any], expected: Any) -> None:
    f = sg.parse(declared) if isinstance(declared, str) else getattr(declared, "function", declared)
    # a dimension without a name is of rank 0 here
    found = interpret(f, {name: None if v is None else np.asarray(v, dtype=float) for name, v in inputs.items()})
    np.testing.assert_allclose(np.asarray(found[f.outputs[0]], dtype=float), expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("declared", [v[0] for v in VALUES.values()], ids=VALUES.keys())
@pytest.mark.in_turn
def test_the_printed_code_agrees(declared: Any) -> None:
    report = sg.check(sg.parse(declared) if isinstance(declared, str) else declared, to="numpy")
    assert report.ok, report


@pytest.mark.parametrize(
    "text",
    ["f(x) = oo*x", "f(x) = where(x > 0, x, -oo) + oo", "f(x[n]) = sum[i](where(x[i] > 0, x[i], -oo)*x[i])",
     "f(x) = sin(where(x > 0, x, oo))"],
)  # fmt: skip
def test_an_operator_without_a_limit_is_refused(text: str) -> None:
    with pytest.raises(DeclarationError, match="oo is given to an operator that has no limit there"):
        sg.parse(text)
