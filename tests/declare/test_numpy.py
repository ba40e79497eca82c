"""What imitates NumPy, against NumPy: each function is traced, and called with arrays as it stands."""

from __future__ import annotations

import re

import numpy as np
import pytest
from mathematics import both
from mpmath import mp

import symgrad as sg
from symgrad.declare.python import joining, matrices, numpy_functions
from symgrad.declare.python.arithmetic import elementwise
from symgrad.declare.python.arrays import of_arrays
from symgrad.errors import SymgradError
from symgrad.expr import postorder
from symgrad.library import softmax
from symgrad.verify.reference import Declaration
from symgrad.verify.witness import FUNCTIONS

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
    "x[n,3], w[3]": (X, W),
    "x[n,m], i[k]: int": (X, np.array([1, 0, 1, 1])),
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
        *("x % 0.4", "x // 0.4", "x // 1", "-x", "abs(x)", "1/(3 + x)", "x/2", "2 - x"),
        *("x.T @ x", "w @ x.T", "w @ w", "x @ w"),
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
        *("(x @ w)[1:]", "x.T.dot(x)[:-1]", "(x @ x.T)[:2, ::2]", "x.sum(axis=0)[:-1]", "np.max(x, 1)[:1]"),
        *("np.sort(x)", "np.sort(x, axis=0)", "np.argsort(w)", "np.argsort(x, axis=0)", "x.ndim*x"),
        *(
            f"np.linalg.norm(x{a})"
            for a in ("", ", axis=1", ", axis=-1, keepdims=True", ", ord=1, axis=0", ", np.inf, 1")
        ),
        *(f"np.{kind}(x{a})" for kind in ("cumsum", "cumprod") for a in ("", ", axis=0", ", -1", ", axis=None")),
        *(f"np.{op}.accumulate(x{a})" for op in ("add", "multiply", "maximum", "logaddexp") for a in ("", ", axis=1")),
        *(f"np.{op}.reduce(x{a})" for op in ("add", "multiply", "minimum", "logaddexp") for a in ("", ", axis=None")),
        *("np.add.outer(x, w)", "np.subtract.outer(w, x)", "np.maximum.outer(w, w)", "w.cumsum()", "x.cumprod(axis=1)"),
        *(
            "np.diff(x)",
            "np.diff(x, axis=0)",
            "np.diff(w, n=2)",
            "np.flip(x)",
            "np.flip(x, 0)",
            "np.flip(x, axis=(0, 1))",
        ),
        *("np.fliplr(x)", "np.flipud(x)", "np.roll(x, 1)", "np.roll(x, -2, axis=1)", "np.roll(x, (1, 4), (0, 1))"),
        *("np.tril(x)", "np.triu(x)", "np.tril(x, -1)", "np.triu(x, k=1)", "np.diag(w)", "np.diag(w) @ x.T"),
        *("np.einsum('ij,j->i', x, w)", "np.einsum('ij,kj', x, x)", "np.einsum('ij->', x)", "np.einsum('i,j', w, w)"),
        *("np.einsum('...j,j->...', x, w)", "np.einsum('ij,ij,j->ji', x, x, w)", "np.einsum('i j, j', x, w)"),
        *(
            "np.tensordot(x, x)",
            "np.tensordot(x, w, 1)",
            "np.tensordot(x, x, axes=([0], [0]))",
            "np.tensordot(w, w, 0)",
        ),
        *("np.tensordot(x, x, (1, 1))", "np.inner(x, w)", "np.inner(x, x)", "np.inner(w, w)", "np.inner(x, 2.0)"),
        *("np.vdot(x, x)", "np.vecdot(x, w)", "np.matvec(x, w)", "np.vecmat(w, x.T)", "np.kron(x, x)", "np.kron(w, w)"),
        *(
            "np.linalg.multi_dot([x, x.T, x])",
            "np.linalg.multi_dot([w, x.T])",
        ),
        *("np.convolve(w, w)", "np.convolve(x[0], x[1, :2])", "np.convolve(w, w[:1])", "np.average(x)"),
        *("np.average(x, axis=1)", "np.average(x, weights=3 + x)", "np.average(x, axis=1, weights=3 + w)"),
        *("np.average(x.T, 0, 3 + w)", "np.average(x, 1, 3 + x)", "np.ptp(x)", "np.ptp(x, axis=0, keepdims=True)"),
        *("np.argmin(x)", "np.argmin(x, axis=1)", "x.argmin(axis=0)", "np.count_nonzero(x)*x", "np.any(x > 1)*x"),
        *("np.all(x > 1, axis=0)*x", "np.all(w)*x", "np.any(x, axis=1, keepdims=True)*x", "(x > 0).any(axis=0)*x"),
        *("np.trapezoid(x)", "np.trapezoid(x, w)", "np.trapezoid(x, axis=0, dx=0.5)", "np.trapezoid(x, x, axis=1)"),
        *("np.trapezoid(x.T, w, axis=0)", "np.quantile(w, 0.3)", "np.quantile(x, 0.75, axis=1)", "np.quantile(x, 1)"),
        *("np.percentile(x, 10, axis=0)", "np.percentile(x, 50, axis=1, keepdims=True)"),
        *("np.take(x, 1, axis=1)", "np.moveaxis(x, 0, -1)", "np.moveaxis(x[None], (0, 1), (2, 0))"),
        *(
            "np.squeeze(x[None, :, None], (0, 2))",
            "np.expand_dims(x, (0, -1))",
            "np.ravel(x)",
            "x.flatten()",
            "w.ravel()",
        ),
        *(
            "np.repeat(x, 2)",
            "np.repeat(x, 3, axis=0)",
            "np.repeat(x, 2, axis=-1)",
            "np.tile(x, 2)",
            "np.tile(w, (2, 1))",
        ),
        *("np.tile(x, (3, 2))", "np.broadcast_to(w, x.shape)", "np.broadcast_to(x, (4, *x.shape))", "np.copy(x)"),
        *("np.vstack([x, w])", "np.vstack([w, w])", "np.hstack([x, x])", "np.hstack([w, w])", "np.append(x, w)"),
        *(
            "np.column_stack([w, w])",
            "np.column_stack([x.T, w])",
            "np.append(x, x, axis=1)",
            "np.pad(w, 2)",
            "np.pad(x, 1)",
        ),
        *("np.pad(w, (0, 2))", "np.pad(x, ((1, 0), (2, 3)))", "np.pad(x, (1, 2))", "np.split(w, [1, 2])[1]"),
        *("np.split(x, (2,), axis=1)[0]", "np.select([x < 0, x < 1], [x, w], 2.0)", "np.select([x < w], [x])"),
        *("np.zeros_like(x) + w", "np.ones_like(x)*w", "np.full_like(x, 2.5)*x", "np.sinc(x)", "np.atleast_2d(w)"),
        *("np.atleast_1d(w[0])", "x.dot(w)", "x.clip(0, 1)", "x.repeat(2, axis=0)", "x.take(1, axis=0)", "x.copy()"),
        *("x[:, :1].squeeze(1)", "np.linalg.vector_norm(x)", "np.linalg.vector_norm(x, axis=0, ord=1)"),
        *("np.linalg.matrix_norm(x)", "np.linalg.tensordot(x, w, axes=1)"),
        *(f"np.linalg.norm({a})" for a in ("w", "w, 1", "w, np.inf", "w, 3", "x, 1", "x, np.inf", "x, 'fro'", "x, 2")),
    ],
    "x[n,n]": [
        *("np.linalg.det(x)", "np.linalg.inv(x)", "np.linalg.slogdet(x)", "np.linalg.solve(x, x[0])", "np.trace(x)"),
        *("np.linalg.solve(x, x.T)", "np.linalg.matrix_power(x, 3)", "np.linalg.pinv(x)", "np.linalg.trace(x)"),
        *("np.linalg.eigvalsh(x @ x.T)", "np.linalg.svdvals(x)", "np.linalg.cholesky(x @ x.T)"),
        *("np.diagonal(x)", "np.diag(x)", "x.diagonal()", "x.trace()", "np.einsum('ii', x)", "np.einsum('ii->i', x)"),
        *(
            "np.linalg.svd(x, compute_uv=False)",
            "np.triu(x, 1) @ np.tril(x)",
            "np.take_along_axis(x, np.argsort(x), 1)",
        ),
    ],
    "x[b,n,m], y[b,m,k]": [
        *(
            "x @ y",
            "np.matmul(x, y)",
            "np.dot(x, y)",
            "np.dot(x, y[0])",
            "np.trace(x @ x.mT, axis1=1, axis2=2)",
            "x[0] @ y",
            "x @ y[0]",
            "np.dot(x[0, 0], y)",
            "x[0, 0] @ y",
            *(f"np.median(x{a})" for a in (", axis=0", ", axis=1", ", axis=0, keepdims=True", ", axis=-1")),
        ),
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
        *("np.cumsum(x, axis=1)", "np.cumsum(x)", "np.inner(x, x)"),
        *(
            "np.einsum('bnm,bmk->bnk', x, y)",
            "np.einsum('...nm,...mk->...kn', x, y)",
            "np.tril(x)",
            "np.moveaxis(x, 2, 0)",
        ),
        *("np.repeat(x, 2, axis=1)", "np.tile(x, (1, 2, 1))", "np.kron(x, y)", "np.pad(x, ((0, 0), (1, 1), (0, 2)))"),
        *("np.diagonal(x @ x.mT, axis1=1, axis2=2)", "np.tensordot(x, y, ([0, 2], [0, 1]))", "np.diff(x, axis=1)"),
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
        *(
            "np.cumsum(t)*x",
            "np.count_nonzero(mask)*x",
            "np.any(mask)*x",
            "mask.all()*x",
        ),
        *(
            "np.take_along_axis(x, np.argmax(x, axis=1, keepdims=True), axis=1)",
            "np.cumsum(mask)*x",
            "np.diff(t)*x[:, 1:]",
        ),
        *("np.logical_or(t, mask)*x", "(np.where(mask, 1, 0) + mask)*x", "np.argmax(t)*x", "t.max()*x", "np.sign(t)*x"),
    ],
    "x[n,3], w[3]": [
        *(
            "np.cross(x, w)",
            "np.cross(w, w[::-1])",
            "np.linalg.cross(w, w)",
            "np.split(w, 3)[1]",
            "np.split(x, 3, 1)[0]",
        ),
        *("np.cumsum(w)", "np.roll(w, 1)", "np.convolve(w, w)", "np.quantile(w, 0.2)", "np.diff(w)", "np.pad(w, 1)"),
        *("np.add.accumulate(x, 1)", "np.maximum.accumulate(w)", "np.tile(w, 2)", "np.cumprod(x[:, :1], axis=1)"),
    ],
    "x[n,m], i[k]: int": [
        *("np.take(x, i, axis=0)", "x.take(i, 1)", "np.take(x, i)", "x[i]", "x[:, i]", "np.diff(x[i], axis=0)"),
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
            "np.cumsum(x, axis=-1)",
            "np.flip(x, -1)",
            "np.einsum('...d,d->...', x, w)",
            "np.diff(x)",
            "np.ptp(x, axis=-1)",
            "np.roll(x, 1, axis=-1)",
            "np.average(x, axis=-1, weights=3 + w)",
            "np.trapezoid(x, w)",
            "np.quantile(x, 0.5, axis=-1)",
            "np.vecdot(x, w)",
            "np.cumprod(x, axis=-1)",
        ),
    ],
}
SYMGRADS = {  # what symgrad's own functions make of arrays, which stand for NumPy's
    "x[n,m], w[m]": [
        *(f"sg.{kind}(x{a})" for kind in "sum mean max min prod logsumexp".split() for a in OVER),
        *("sg.argmax(x, axis=0)", "sg.stack([w, x[1]])", "sg.stack([w, x[0]], axis=0)", "sg.concatenate([x, w[None]])"),
        *("sg.where(x > 0, x, w)", "sg.median(x, axis=0)", "sg.argsort(x, axis=1, descending=True)", "sg.sort(x)"),
        *("sg.sort(x, axis=0, descending=True)", "sg.topk(x, 2)", "sg.topk(x, 1, axis=0, largest=False)[0]"),
        *("sg.norm(w)", "sg.norm(x, axis=-1)", "sg.norm(x, 1, axis=0)", "sg.softplus(x) * sg.sigmoid(w)"),
        *("sg.erf(x)", "sg.lgamma(3 + x)", "sg.maximum(x, w)", "sg.clip(x, -1, 1)", "softmax(x, axis=0)"),
    ],
    "x[n,n]": [
        *(f"sg.{name}(x @ x.T)" for name in "cholesky det logdet slogdet inv eigh eigvalsh svd svdvals pinv".split()),
        *("sg.qr(x)", "sg.trace(x)", "sg.matrix_power(x, 3)", "sg.solve(x, x[0])", "sg.solve(x, x.T)"),
        *("sg.solve_triangular(x, x[0])", "sg.solve_triangular(x, x, lower=True)", "sg.eye(x.shape[0]) * x"),
    ],
}
ROWS = [(signature, body) for table in (SAME, SYMGRADS) for signature, bodies in table.items() for body in bodies]


def declared(signature, body):
    names = ", ".join(re.findall(r"(\w+)\[", signature))
    space = {"np": np, "sg": sg, "softmax": softmax}
    exec(f"def f({names}):\n    return {body}\n", space)
    return sg.function(signature)(space["f"])


@pytest.mark.parametrize(("signature", "body"), ROWS, ids=[f"{signature}: {body}" for signature, body in ROWS])
def test_a_traced_function_is_numpys(signature, body):
    declaration = declared(signature, body)
    given = dict(zip(declaration.function.inputs, ARRAYS[signature], strict=True))
    agrees(declaration.function, given, declaration.on_arrays(FUNCTIONS, **given))


def agrees(function, given, found):
    with mp.workprec(100):
        flat = {n: v.reshape(-1, v.shape[-1]) if function.packs and n == "x" else v for n, v in given.items()}
        trace = Declaration(function).trace(flat if function.packs else given, {})
    for name, expected in zip(function.outputs, found if isinstance(found, tuple) else (found,), strict=True):
        value = np.vectorize(float, otypes=[float])(trace.arrays[name])
        if not function.packs:
            assert value.shape == np.shape(expected)
        np.testing.assert_allclose(value, np.reshape(expected, value.shape), rtol=1e-12, atol=1e-12)


TAKEN = {"...": (-1, -2, -3, 0, 1, 2), "..., m": (-1, -2, -3), "..., n, m": (-1, -2, -3)}  # and axes that may be named
ALONG = (
    *("np.sum(x, axis=a)", "np.cumsum(x, axis=a)", "np.flip(x, a)", "np.diff(x, axis=a)", "np.roll(x, 1, axis=a)"),
    *("np.take(x, 1, axis=a)", "np.take(x, [1, 0], axis=a)", "np.delete(x, 0, axis=a)"),
    *("np.insert(x, 1, 2.0, axis=a)", "np.repeat(x, 2, axis=a)", "np.split(x, [1], axis=a)[1]"),
    *("np.gradient(x, axis=a)", "np.quantile(x, 0.3, axis=a)", "np.expand_dims(x, a)", "np.sort(x, axis=a)"),
    *("np.squeeze(np.expand_dims(x, a), a)", "np.stack([x, x], axis=a)"),
    *("np.concatenate([x, x], axis=a)", "np.moveaxis(x, a, -1)", "np.linalg.norm(x, axis=a)"),
)


@pytest.mark.parametrize("dots", TAKEN)
@pytest.mark.parametrize("body", ALONG)
def test_axes_that_dots_take_are_axes(body, dots):
    for axis in TAKEN[dots]:
        inner = declared(f"x[{dots}]", re.sub(r"\ba\b", str(axis), body))

        def outer(x, inner=inner):
            return inner(x)

        caller = sg.function("x[b,n,m]")(outer)
        agrees(caller.function, {"x": B}, caller.on_arrays(FUNCTIONS, x=B))


REFUSED = [  # (inputs, body, what the message says)
    ("x[...,d], w[d]", "np.tensordot(x, w, 1)", "Say which are summed: np.einsum"),
    ("x[b,n,m], y[b,m,k]", "np.trace(x @ x.mT)", "in the last two axes (axis1=-2, axis2=-1)"),
    ("x[n,n]", "np.trace(x, 1)", "a diagonal is that of square matrices"),
    ("x[n,m], t[m]: int, mask[m]: bool", "x[:, mask]", "a mask selects as many elements as it holds at"),
    ("x[n,m], t[m]: int, mask[m]: bool", "x[:, t > 0]", "a mask selects as many elements as it holds at"),
    ("x[n,m], t[m]: int, mask[m]: bool", "(t & 1)*x", "`&` is of conditions; of integers it is one of their bits"),
    ("x[n,m], t[m]: int, mask[m]: bool", "~t*x", "`~` is of conditions"),
    ("x[n,m], t[m]: int, mask[m]: bool", "(mask + mask)*x", "the sum of two conditions is a condition in NumPy"),
    ("x[n,m], t[m]: int, mask[m]: bool", "np.add(mask, x > 0)*x", "np.where(x > 0, 1, 0) is a number"),
    ("x[n,m], w[m]", "-(x > 0)*w", "NumPy refuses the negative of a condition"),
    ("x[n,m], w[m]", "((x > 0) - (w > 0))*w", "NumPy refuses the difference of two conditions"),
    ("x[n,m], w[m]", "np.quantile(x, 2)", "plain numbers between 0 and 1"),
    ("x[n,m], w[m]", "np.convolve(w, w, 'most')", "full, same or valid"),
    ("x[n,m], w[m]", "np.sum(x, initial=1.0)", "unexpected keyword argument 'initial'"),
    ("x[n,m], w[m]", "np.squeeze(x)", "missing a required argument: 'axis'"),
    ("x[n,m], w[m]", "np.sort(x, axis=None)", "one axis is asked for"),
    ("x[n,m], w[m]", "np.median(x, axis=(0, 1))", "one axis is asked for"),
    ("x[n,m], w[m]", "np.expand_dims(x, (0, 4))", "which has 4 axes then"),
    ("x[n,m], w[m]", "x.squeeze()", "missing a required argument: 'axis'"),
    ("x[n,m], w[m]", "np.squeeze(x, 0)", "takes axes of literal size 1"),
    ("x[n,m], w[m]", "np.einsum('ij,i->j', x, w)", "Give both axes one name"),
    ("x[n,m], w[m]", "np.einsum('ij->jj', x)", "is traced for"),
    ("x[n,m], w[m]", "np.einsum('ij', x, w)", "takes 1 operands"),
    ("x[n,m], w[m]", "np.pad(x, 1, mode='edge')", "repeats the ends"),
    ("x[n,m], w[m]", "np.cov(x)", "NumPy drops axes of length 1"),
    ("x[n,m], w[m]", "np.split(x, 2, axis=1)", "say where, x[:k], x[k:]"),
    ("x[n,m], w[m]", "np.nan_to_num(x)", "say where there is a value"),
    ("x[n,m], w[m]", "np.linalg.lstsq(x, w)", "np.linalg.solve(a.T @ a, a.T @ b)"),
    ("x[n,m], w[m]", "np.linalg.svd(x)", "full_matrices=False"),
    ("x[n,m], w[m]", "np.subtract.reduce(x)", "np.subtract.reduce cannot be traced"),
    ("x[n,m], w[m]", "np.kron(x, w)", "one number of axes"),
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
    monkeypatch.setitem(numpy_functions.FUNCTIONS, name, traced)
    report = sg.check(declared(signature, body))
    assert not report.ok and said in str(report), str(report)
    assert all(f.stage == "NumPy" for f in report.failures)


OURS_WRONG = [  # the same of symgrad's own functions
    ("sg.stack([w, 2*w], axis=0)", "stack", lambda arrays, axis: joining.stack(arrays), "the formula"),
    ("sg.sort(x, axis=0)", "sort", lambda x, axis: matrices.sort(x), "the formula"),
    ("sg.hypot(w, sg.sum(x, axis=0))", "hypot", lambda a, b: elementwise("add", a, b), "the formula"),
    ("softmax(sg.erf(x), axis=0)", "erf", lambda x: elementwise("erfc", x), "the formula"),
]


@pytest.mark.parametrize("row", OURS_WRONG, ids=[row[0] for row in OURS_WRONG])
def test_the_check_calls_symgrads_functions_with_arrays(row, monkeypatch):
    body, name, wrong, said = row
    wrong.__name__ = name
    monkeypatch.setattr(sg, name, of_arrays(wrong))
    report = sg.check(declared("x[n,m], w[m]", body))
    assert not report.ok and said in str(report), str(report)


ROUNDED = [
    *("(1 - np.cos(w))/w**2", "(np.cos(w) - 1 + w**2/2)/w**4"),
    *("(sg.exp(w) - 1 - w)/w**2", "x.var(axis=0)/(w**2 + x.var())"),
]


@pytest.mark.parametrize("body", ROUNDED)
def test_what_numpy_rounds_away_is_no_disagreement(body):
    report = sg.check(declared("x[n,m], w[m]", body))
    assert report.ok, report


PRINTED = [
    *("np.cumsum(x, axis=1)*w", "np.maximum.accumulate(w)", "np.roll(x, 1, axis=1)*w", "np.diag(x.T @ (x*w))"),
    *("np.einsum('ij,kj,j->ik', x, x, w)", "np.convolve(w, x[0])", "np.pad(x, ((1, 0), (2, 3)))**2"),
    *("np.tile(x, (2, 3))*2", "np.quantile(x, 0.3, axis=1)", "np.trapezoid(x, w)", "np.average(x, 1, np.exp(w))"),
    *("np.where(np.all(w > -1.5), w, 2*w)", "np.diff(np.maximum(np.sum(x*x) + 9, x))", "np.convolve(np.diff(w), w)"),
    *("np.roll(np.roll(x, 1, 0)*w, 1, 0)", "np.diff(np.diff(np.sin(x*w)))"),
    *("np.kron(x[0], w) @ np.hstack([np.kron(w, w), np.kron(x[1], w)])[::2]", "np.mean(x[2:, 2:]*x[:-2, :-2])"),
]


@both
@pytest.mark.parametrize("body", PRINTED)
@pytest.mark.in_turn
def test_what_is_traced_is_printed(body, to):
    report = sg.check(declared("x[n,m], w[m]", body), to=to)
    assert report.ok, report


@both
@pytest.mark.parametrize("body", ["np.median(x, axis=-1)", "np.sort(x, axis=-1)*w", "np.cumsum(x, axis=-1)*w"])
def test_what_is_traced_over_any_axes_is_printed(body, to):
    report = sg.check(declared("x[...,d], w[d]", body), to=to)
    assert report.ok, report


def test_each_step_reads_the_one_before():
    def steps(number):
        @sg.function("u[n]")
        def diffused(u):
            for _ in range(number):
                u = u + 0.1 * (np.roll(u, 1) - 2 * u + np.roll(u, -1))
            return u

        return sum(len(list(postorder(e.body))) for e in diffused.function.statements)

    assert steps(6) - steps(5) == steps(5) - steps(4)


def test_what_does_not_run_on_arrays_has_no_such_witness():
    @sg.function("x[n,m]")
    def rows(x):
        i, j = sg.indices("i j")
        return sg.tensor[i](sg.sum[j](x[i, j] ** 2))

    assert sg.check(rows).ok


CHECKED = {
    "positions of what is not read may be anywhere": (
        "x[n,m], w[m], t[k]: int",
        "np.zeros_like(x[:, t]) + np.sum(w)",
    ),
    "rounding decides on the edge of a condition on what is computed": (
        "x[n,m], w[m]",
        "w[0] * np.count_nonzero(np.cbrt(x) @ w > 0, axis=-1, keepdims=True)",
    ),
    "every second of any number, twice": ("x[n,n], w[m]", "np.repeat(x[:, ::2], 2, axis=-1)[:, ::2] * w[0]"),
    "no rows, cut and put together": ("x[n,m], w[k]", "np.outer(w, np.concatenate([x[:, :1], x[:, 1:]], axis=1))"),
    "a maximum of nothing in a branch that is never taken": (
        "x[n,m], w[m]",
        "np.where(2.0 <= 0.3, np.ptp(np.diff(x, axis=0), axis=0), w)",
    ),
}


@both
@pytest.mark.parametrize("name", CHECKED)
def test_a_traced_function_agrees(name, to):
    report = sg.check(declared(*CHECKED[name]), to=to)
    assert report.ok, report


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
