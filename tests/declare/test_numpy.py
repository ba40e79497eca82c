"""What imitates NumPy, against NumPy: each function is traced, and called with arrays as it stands."""

from __future__ import annotations

import re

import numpy as np
import pytest
from mpmath import mp

import symgrad as sg
from symgrad.declare.python import numpy_functions
from symgrad.errors import SymgradError
from symgrad.verify.reference import Declaration

X = np.array([[0.5, -1.25, 0.5], [2.0, 0.0, -0.75]])
W = np.array([0.25, -2.0, 0.5])
S = np.array([[2.0, 0.5, -1.0], [0.25, 1.5, 0.0], [1.0, -0.5, 3.0]])
B = np.arange(24.0).reshape(2, 3, 4) % 7 - 2.5
C = np.arange(16.0).reshape(2, 4, 2) % 5 - 1.75
T = np.array([3, 0, -2])
M = np.array([True, False, True])
ARRAYS = {
    "x[n,m], w[m]": (X, W),
    "x[n,n]": (S,),
    "x[b,n,m], y[b,m,k]": (B, C),
    "x[n,m], t[m]: int, mask[m]: bool": (X, T, M),
    "x[...,d], w[d]": (B, W[[0, 1, 2, 0]]),
}
OVER = ("", ", axis=0", ", axis=-1", ", 1", ", axis=1, keepdims=True", ", keepdims=True", ", axis=None")
SEVERAL = (", axis=(0, 1)", ", axis=(-1,)")
SPREAD = ("ddof=1", "axis=0, ddof=1", "axis=-1, ddof=1, keepdims=True", "axis=(0, 1), ddof=1")
EVERY = "exp sin cos tan arctan sinh cosh tanh arcsinh cbrt expm1 exp2 floor ceil trunc rint sign absolute fabs square "
EVERY += "negative positive deg2rad rad2deg radians degrees"
TWO = "add subtract multiply maximum minimum fmax fmin hypot arctan2 logaddexp copysign heaviside fmod mod remainder "
TWO += "floor_divide divide true_divide"

SAME = {
    "x[n,m], w[m]": [
        *(f"np.{kind}(x{a})" for kind in "sum mean max min prod amax amin var std".split() for a in (*OVER, *SEVERAL)),
        *(f"x.{kind}({a.strip(', ')})" for kind in "sum mean max min prod var std argmax".split() for a in OVER),
        *(f"np.argmax(x{a})" for a in OVER),
        *(f"np.{kind}(x, {a})" for kind in ("var", "std") for a in SPREAD),
        *(f"np.median(x{a})" for a in (", axis=0", ", axis=-1")),
        *(f"np.{name}(x)" for name in EVERY.split()),
        *(f"np.{name}(x, 3 + w)" for name in TWO.split()),
        *(
            "np.log(3 + x)",
            "np.log2(3 + x)",
            "np.log1p(x**2)",
            "np.sqrt(x**2)",
            "np.arcsin(x/3)",
            "np.reciprocal(3 + x)",
        ),
        *("np.power(3 + x, w)", "(3 + x)**w", "2**x", "x**2", "x**-2 if False else x", "-7 % (3 + x)", "7 // (3 + x)"),
        *("x % 0.4", "x // 0.4", "-x", "abs(x)", "1/(3 + x)", "x/2", "2 - x", "x.T @ x", "w @ x.T", "w @ w", "x @ w"),
        *("np.outer(x, w)", "np.outer(w, x)", "np.outer(w, w)", "np.outer(x, 2.0)", "np.linalg.outer(w, w)"),
        *("np.dot(x, w)", "np.dot(w, w)", "np.dot(x, x.T)", "np.dot(2, x)", "np.dot(x, 2.0)", "np.matmul(x, w)"),
        *(
            "np.clip(x, w, 2)",
            "np.clip(x, -1, w)",
            "np.clip(x, 1, -1)",
            "np.clip(x, None, 0.5)",
            "np.clip(x, 0.5, None)",
        ),
        *(
            "np.where(x > w, x, w)",
            "np.where(w > 0, x, 1.0)",
            "np.where((x > 0) & (x < 1), x, 0)",
            "np.where(~(x > 0), x, w)",
        ),
        *("np.where((x > 0) | (w > 0), x, 0)", "np.logical_and(x, w)*x", "np.logical_not(x)*1.0", "(x >= w)*1.0"),
        *("np.stack([x[0], w])", "np.stack([x[0], w], axis=1)", "np.stack([x[0], w], axis=-1)", "np.stack((x, x), -2)"),
        *("np.concatenate([x, x])", "np.concatenate([x, w[None]])", "np.concatenate([x, x], axis=-1)"),
        *(
            "np.transpose(x)",
            "np.transpose(x, (1, 0))",
            "x.transpose((1, 0))",
            "x.transpose(1, 0)",
            "x.T",
            "x.transpose()",
        ),
        *("np.swapaxes(x, -1, 0)", "x.reshape(-1)", "np.reshape(x, (-1,))", "np.reshape(x, -1)", "x.reshape((-1, 1))"),
        *("np.expand_dims(x, 0)", "np.expand_dims(x, 1)", "np.expand_dims(x, -1)", "np.expand_dims(x, -2)"),
        *("np.squeeze(x[None], 0)", "np.squeeze(x[:, None], axis=1)", "np.squeeze(x[..., None], axis=-1)"),
        *("x[0]", "x[-1]", "x[:, 0]", "x[..., -1]", "x[1:]", "x[:-1]", "x[::2]", "x[:, ::-1]", "x[:, 1:-1]", "x[None]"),
        *("x[:, None, :]", "x[0, 1]", "x[1][0]", "x[0:1]", "x[:-1] - x[1:]", "len(x)*x if False else x.shape[0]*x"),
        *("np.sort(x)", "np.sort(x, axis=0)", "np.argsort(w)", "np.argsort(x, axis=0)", "x.ndim*x"),
        *(
            f"np.linalg.norm(x{a})"
            for a in ("", ", axis=1", ", axis=-1, keepdims=True", ", ord=1, axis=0", ", np.inf, 1")
        ),
        *(f"np.linalg.norm({a})" for a in ("w", "w, 1", "w, np.inf", "w, 3", "x, 1", "x, np.inf", "x, 'fro'", "x, 2")),
    ],
    "x[n,n]": [
        *("np.linalg.det(x)", "np.linalg.inv(x)", "np.linalg.slogdet(x)", "np.linalg.solve(x, x[0])", "np.trace(x)"),
        *("np.linalg.solve(x, x.T)", "np.linalg.matrix_power(x, 3)", "np.linalg.pinv(x)", "np.linalg.trace(x)"),
        *("np.linalg.eigvalsh(x @ x.T)", "np.linalg.svdvals(x)", "np.linalg.cholesky(x @ x.T)"),
    ],
    "x[b,n,m], y[b,m,k]": [
        *("x @ y", "np.matmul(x, y)", "np.dot(x, y[0])", "x[0] @ y", "x @ y[0]", "np.dot(x[0, 0], y)", "x[0, 0] @ y"),
        *("np.outer(x, y)", "np.transpose(x)", "x.T", "x.mT", "np.swapaxes(x, 1, 2)", "x.transpose(2, 0, 1)"),
        *("np.sum(x, axis=(0, 2))", "np.mean(x, axis=(-1, -2), keepdims=True)", "np.argmax(x, axis=1)", "np.argmax(x)"),
        *(
            "x.reshape(x.shape[0], -1)",
            "x.reshape(-1, x.shape[2])",
            "np.squeeze(x[:, :1], 1)",
            "np.sort(x)",
            "x[0, ..., 1]",
        ),
        *("np.linalg.norm(x, axis=(1, 2))", "np.linalg.trace(x @ x.mT)", "np.concatenate([x, x], axis=1)"),
        *("np.stack([x, x], axis=1)", "np.sort(x, axis=0)", "np.argsort(x, axis=1)", "x[:, None]*2"),
    ],
    "x[n,m], t[m]: int, mask[m]: bool": [
        *("np.where(mask, x, 0)", "mask*x", "t*x", "t/2*x", "t // 2*x", "t % 3*x", "-t % 3*x", "t**2*x", "np.sum(t)*x"),
        *("np.mean(t)*x", "np.sum(mask)*x", "np.mean(mask)*x", "mask.mean()*x", "np.where(t > 0, x, 1)", "~mask*x"),
        *(
            "np.where(t, x, 0)",
            "np.where(mask, t, 0)*x",
            "np.var(t)*x",
            "np.maximum(t, 0)*x",
            "np.exp(t)*x",
        ),
        *(
            "np.prod(t)*x",
            "np.clip(t, 0, 1)*x",
            "(mask | (t > 0))*x",
            "np.maximum(mask, mask)*x",
            "mask*mask*x",
            "mask & mask",
        ),
        *("np.logical_or(t, mask)*x", "(np.where(mask, 1, 0) + mask)*x", "np.argmax(t)*x", "t.max()*x", "np.sign(t)*x"),
    ],
    "x[...,d], w[d]": [
        *(
            "x @ w",
            "np.dot(x, w)",
            "np.sum(x, axis=-1)",
            "x.mean(axis=-1, keepdims=True)",
            "x[..., 0]",
            "x[..., None]*2",
        ),
        *(
            "np.stack([x, x], axis=-1)",
            "np.concatenate([x, x], axis=-1)",
            "np.var(x, axis=-1, ddof=1)",
            "np.argmax(x, axis=-1)",
        ),
        *(
            "np.where(x > w, x, w)",
            "np.clip(x, w, 1)",
            "np.squeeze(x[..., None], -1)",
            "np.expand_dims(x, -1)",
            "np.sum(x)",
        ),
    ],
}
ROWS = [(signature, body) for signature, bodies in SAME.items() for body in bodies]


def declared(signature, body):
    names = ", ".join(re.findall(r"(\w+)\[", signature))
    space = {"np": np}
    exec(f"def f({names}):\n    return {body}\n", space)
    return sg.function(signature)(space["f"])


@pytest.mark.parametrize(("signature", "body"), ROWS, ids=[f"{signature}: {body}" for signature, body in ROWS])
def test_a_traced_function_is_numpys(signature, body):
    declaration = declared(signature, body)
    function = declaration.function
    given = dict(zip(function.inputs, ARRAYS[signature], strict=True))
    with mp.workprec(100):
        flat = {n: v.reshape(-1, v.shape[-1]) if function.packs and n == "x" else v for n, v in given.items()}
        trace = Declaration(function).trace(flat if function.packs else given, {})
    found = declaration.on_arrays(**given)
    for name, expected in zip(function.outputs, found if isinstance(found, tuple) else (found,), strict=True):
        value = np.vectorize(float, otypes=[float])(trace.arrays[name])
        if not function.packs:
            assert value.shape == np.shape(expected)
        np.testing.assert_allclose(value, np.reshape(expected, value.shape), rtol=1e-12, atol=1e-12)


REFUSED = [  # (inputs, body, what the message says)
    ("x[b,n,m], y[b,m,k]", "np.dot(x, y)", "A batch of matrix products is a @ b"),
    ("x[b,n,m], y[b,m,k]", "np.trace(x @ x.mT)", "sg.trace and np.linalg.trace take the last two axes"),
    ("x[n,n]", "np.trace(x, 1)", "np.trace is traced for the diagonal"),
    ("x[n,m], t[m]: int, mask[m]: bool", "x[:, mask]", "a mask or an array of numbers cannot be a subscript"),
    ("x[n,m], t[m]: int, mask[m]: bool", "x[:, t > 0]", "a mask or an array of numbers cannot be a subscript"),
    ("x[n,m], t[m]: int, mask[m]: bool", "(t & 1)*x", "`&` is of conditions; of integers it is one of their bits"),
    ("x[n,m], t[m]: int, mask[m]: bool", "~t*x", "`~` is of conditions"),
    ("x[n,m], t[m]: int, mask[m]: bool", "(mask + mask)*x", "the sum of two conditions is a condition in NumPy"),
    ("x[n,m], t[m]: int, mask[m]: bool", "np.add(mask, x > 0)*x", "Count them with np.where(x > 0, 1, 0) + (y > 0)"),
    ("x[n,m], w[m]", "np.sum(x, initial=1.0)", "unexpected keyword argument 'initial'"),
    ("x[n,m], w[m]", "np.squeeze(x)", "missing a required argument: 'axis'"),
    ("x[n,m], w[m]", "np.sort(x, axis=None)", "one axis is asked for"),
    ("x[n,m], w[m]", "np.median(x, axis=(0, 1))", "one axis is asked for"),
    ("x[n,m], w[m]", "np.expand_dims(x, (0, 1))", "adds one axis at a time"),
    ("x[...,d], w[d]", "np.outer(x, w)", "cannot be reshaped"),
]


@pytest.mark.parametrize(("signature", "body", "said"), REFUSED, ids=[row[1] for row in REFUSED])
def test_what_numpy_means_otherwise_is_refused(signature, body, said):
    with pytest.raises(SymgradError, match=re.escape(said)):
        _ = declared(signature, body).function


WRONG = [  # (inputs, body, name, what it was traced as, what the check says)
    (
        "x[n,m], w[m]",
        "np.outer(x, w)",
        "outer",
        lambda a, b: a[:, None] * b,
        "gives the shape (6, 3), the formula (2, 1, 3)",
    ),
    (
        "x[b,n,m], y[b,m,k]",
        "np.dot(x, y)",
        "dot",
        lambda a, b: a @ b,
        "gives the shape (3, 5, 3, 2), the formula (3, 5, 2)",
    ),
    (
        "x[n,m], w[m]",
        "np.clip(x, w, 0)",
        "clip",
        lambda x, low, high: np.maximum(np.minimum(x, high), low),
        "the formula",
    ),
    ("x[n,m], w[m]", "np.std(x, axis=0)", "std", lambda x, axis: x.std(axis, ddof=1), "the formula"),
    ("x[n,m], w[m]", "np.dot(w, x)", "dot", lambda a, b: b @ a, "called with arrays, raises ValueError: shapes (3,)"),
    ("p[..., 2]", "sum(np.clip(c, -1, 1) for c in p)", "clip", lambda x, low, high: x, "called with arrays, gives"),
]


@pytest.mark.parametrize("row", WRONG, ids=[row[1] for row in WRONG])
def test_the_check_asks_numpy(row, monkeypatch):
    signature, body, name, traced, said = row
    monkeypatch.setitem(numpy_functions._FUNCTIONS, name, traced)
    report = sg.check(declared(signature, body))
    assert not report.ok and said in str(report), str(report)
    assert all(f.stage == "NumPy" for f in report.failures)


def test_what_does_not_run_on_arrays_has_no_such_witness():
    @sg.function("x[n,m]")
    def rows(x):
        i, j = sg.indices("i j")
        return sg.tensor[i](sg.sum[j](x[i, j] ** 2))

    assert sg.check(rows).ok


def test_an_absent_input_has_no_such_witness():
    @sg.function
    def shifted(x: sg.Tensor["n m"], w: sg.Tensor["m"] = None):
        return x * 2 + w

    assert sg.check(shifted).ok


def test_two_points_are_not_the_two_numbers_of_one():
    @sg.function
    def turned(p: sg.Tensor["... 2"]):
        x, y = p
        return sg.stack([y, x])

    @sg.function
    def product(p: sg.Tensor["... 2"]):
        x, y = p
        return x * y

    assert sg.check(turned).ok and sg.check(product).ok
