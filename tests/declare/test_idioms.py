"""NumPy code of a data scientist's own, traced as it stands: its values are NumPy's, its gradients NumPy's differences.

What cannot be traced is refused, and the message names what says the same.
"""

from __future__ import annotations

import linecache
import math
import re

import numpy as np
import pytest
import scipy.special
import scipy.stats
from mathematics import both

import symgrad as sg

A = np.array([[1.0, 2.0, 0.5], [0.0, 1.0, -1.0]])
V = np.array([0.5, -1.0, 2.0])
S = np.array([[3.0, 1.0, 0.0], [1.0, 2.0, 0.5], [0.0, 0.5, 4.0]])
SPACE = {"np": np, "math": math, "scipy": scipy, "sg": sg, "A": A, "V": V, "S": S}
SIZES = {"n": 4, "m": 3, "k": 2}

IDIOMS = [  # (inputs, the lines of the function)
    ('x[3]', 'return A @ x'),
    ('x[3]', 'return x @ A.T + 1'),
    ('x[n,3]', 'return x @ A.T'),
    ('x[3]', 'return x * V'),
    ('x[3]', 'return V * x'),
    ('x[3]', 'return x + [1.0, 2.0, 3.0]'),
    ('x[3]', 'return np.dot(A, x)'),
    ('x[3]', 'return x.dot(V)'),
    ('x[3]', 'return np.array([[1.0, 2.0, 0.5], [0.0, 1.0, -1.0]]) @ x'),
    ('x[3]', 'return np.linalg.solve(S, x)'),
    ('x[3]', 'return np.eye(3) @ x + np.ones(3) + np.zeros(3)'),
    ('x[n]', 'return np.eye(x.shape[0]) * x'),
    ('x[n]', 'return x * np.arange(x.shape[0])'),
    ('x[5]', 'return x * np.arange(5)'),
    ('x[5]', 'return x * np.linspace(0, 1, 5)'),
    ('x[n]', 'return x * np.linspace(0.0, 1.0, x.shape[0])'),
    ('x[n]', 'return np.sum(x)/len(x)'),
    ('x[n]', 'return np.concatenate([np.zeros(1), x, [1.0]])'),
    ('x[3]', 'return np.where(np.array([True, False, True]), x, 0)'),
    ('x[3]', 'return np.exp(-0.5*(x - np.mean(x))**2/np.var(x))'),
    ('x[n,m], w[m]', "return np.einsum('ij,j->i', x, w)"),
    ('x[n,3]', "return np.einsum('ij,kj->ik', x, A)"),
    ('x[n,m], w[m]', 'return np.tensordot(x, w, axes=1)'),
    ('x[n,m], y[n]', 'return x.T.dot(y)'),
    ('x[n,m], w[m]', 'return x.dot(w)'),
    ('x[n,m]', 'return np.linalg.norm(x, axis=1)'),
    ('x[n]', 'return np.outer(x, x)'),
    ('x[3], y[3]', 'return np.cross(x, y)'),
    ('x[n,m], w[m]', 'r = x @ w\n    return r.T @ r'),
    ('x[n]', 'return np.diff(x)'),
    ('x[n]', 'return np.cumsum(x)'),
    ('x[n]', 'return np.cumprod(x)'),
    ('x[n,m]', 'return np.cumsum(x, axis=0)[::-1]'),
    ('x[n]', 'return np.trapezoid(x, dx=0.1)'),
    ('x[n]', 'return np.gradient(x)'),
    ('x[n], t[n]', 'return np.trapezoid(x, t)'),
    ('x[n]', 'return np.interp(x, np.array([0.0, 1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0, 5.0]))'),
    ('x[n], f[4]', 'return np.interp(x, np.linspace(-2, 2, 4), f)'),
    ('x[n]', 'return np.polyval([1.0, -2.0, 0.5], x)'),
    ('x[n], c[3]', 'return np.polyval(c, x)'),
    ('x[n], c[k]', 'return np.polyval(c, x)'),
    ('x[n]', 'return np.polynomial.polynomial.polyval(x, [1.0, 2.0, 3.0])'),
    ('x[n]', "return np.convolve(x, [0.25, 0.5, 0.25], mode='valid')"),
    ('x[n]', "return np.convolve(x, [0.25, 0.5, 0.25], mode='same')"),
    ('x[n]', 'return np.convolve(x, np.ones(3)/3)'),
    ('x[n], y[n]', 'return np.vstack([x, y])'),
    ('x[n], y[n]', 'return np.hstack([x, y])'),
    ('x[n], y[n]', 'return np.column_stack([x, y])'),
    ('x[n], y[n]', 'return np.array([x, y])'),
    ('x, y', 'return np.array([x*y, x + y])'),
    ('t', 'return np.array([[np.cos(t), -np.sin(t)], [np.sin(t), np.cos(t)]])'),
    ('x[n], y[n]', 'return np.stack([x, y], axis=-1)'),
    ('x[n], y[n]', 'return np.c_[x, y]'),
    ('x[n], y[n]', 'return np.r_[x, y]'),
    ('x[n]', 'return np.select([x < -1, x < 1], [-1.0, x**2], default=1.0)'),
    ('x[n]', 'return np.piecewise(x, [x < 0, x >= 0], [lambda v: -v, lambda v: v**2])'),
    ('x[4]', 'return x[[0, 2]]'),
    ('x[n,4]', 'return x[:, [0, 2]]'),
    ('x[n]', 'return x[2::-1]'),
    ('x[n]', 'return x[::-1]'),
    ('x[n]', 'return x[1:] - x[:-1]'),
    ('x[n]', 'return x[-1] + x[0]'),
    ('x[n]', 'return x[1:-1] + x[:-2] - 2*x[2:]'),
    ('x[n]', 'return x[:, None] - x[None, :]'),
    ('x[n]', 'return x[:, np.newaxis]*x'),
    ('x[4]', 'return x[np.array([0, 2, 3])]'),
    ('x[4]', 'return x[np.array([True, False, True, True])]'),
    ('x[n,m]', 'return x.reshape(-1)'),
    ('x[n,m]', 'return x.flatten() * 2'),
    ('x[6]', 'return x.reshape(2, 3) @ V'),
    ('x[n]', 'return np.clip(x, -1, 1)'),
    ('x[n]', 'return x.clip(0)'),
    ('x[n]', 'return np.clip(x, a_min=-1, a_max=1) + x.clip(max=0.5)'),
    ('x[n]', 'return np.maximum(0, x)'),
    ('x[n]', 'return np.where(x > 0, x, 0.01*x)'),
    ('x[n]', 'return (x > 0)*x'),
    ('x[n,m]', 'return (x - x.mean(axis=0))/x.std(axis=0)'),
    ('x[n,m]', 'e = np.exp(x - x.max(axis=1, keepdims=True))\n    return e/e.sum(axis=1, keepdims=True)'),
    ('x[n,m]', 'return np.log(np.sum(np.exp(x), axis=-1))'),
    ('x[n]', 'return np.sqrt(np.mean(np.square(x)))'),
    ('x[n]', 'return np.median(x)'),
    ('x[n]', 'return np.sort(x)[:2]'),
    ('x[n]', 'return np.max(np.abs(x))'),
    ('x[n]', 'return np.linalg.norm(x)/np.sqrt(x.size)'),
    ('x[n,m]', 'return x.sum()/x.size'),
    ('x[n], y[n]', 'return np.mean((x - y)**2)'),
    ('x[n,m]', 'return np.tile(x, (2, 1)) + np.repeat(x, 2, axis=0)'),
    ('x[n,m]', 'return np.squeeze(x[:1], axis=0)'),
    ('x[n]', 'return np.roll(x, 1) + np.pad(x, 1)[1:-1]'),
    ('x[3,3]', 'return np.linalg.det(x) + np.trace(x)'),
    ('x[3,3]', 'return np.linalg.inv(x @ x.T + np.eye(3))'),
    ('x[3,3]', 'return np.kron(np.eye(2), x)'),
    ('x[n,m]', 'return np.triu(x, 1) + np.tril(x)'),
    ('x[n]', 'return np.diag(x) @ x'),
    ('x[n]', 'return np.prod(x)'),
    ('x[n], y[m]', 'u, v = np.meshgrid(x, y)\n    return u*v'),
    ('x[n]', 'return np.heaviside(x, 0.5)*x'),
    ('x[n]', 'return np.sign(x)*np.log1p(np.abs(x))'),
    ('x[n]', 'return np.average(x, weights=np.exp(-np.arange(x.shape[0])))'),
    ('x[n]', 'return x.astype(float)*2'),
    ('x[n]', 'return np.asarray(x)*2'),
    ('x[n]', 'return np.array(x)*2'),
    ('x[n]', 'return np.float64(2)*x + np.pi*x + np.e'),
    ('x, a=2.0', 'return a*x**2'),
    ('x[n], k=3', 'return x**k'),
    ('x[n], p=0.5', 'return p*x'),
    ('x, n: int=2', 'return x**n'),
    ('x[n]', 'y = x.copy()\n    y[0] = 0\n    return y'),
    ('x[n]', 'y = x.copy()\n    y[1:] += x[:-1]\n    return y'),
    ('x[n]', 'y = x.copy()\n    y[1:] -= x[:-1]\n    y *= 2\n    return y'),
    ('x[n]', 'x = x*1\n    x += 1\n    x *= 2\n    x[0] *= 3\n    return x'),
    ('x[n]', 'y = np.zeros(3)\n    for k in range(3):\n        y[k] = x[k]**2\n    return y'),
    ('x[n]', 'y = np.zeros_like(x)\n    y[1:] = x[:-1]\n    return y'),
    ('x[n]', 'y = np.zeros(x.shape)\n    y[1:-1] = x[2:] - x[:-2]\n    return y'),
    ('x[n]', 'y = np.empty_like(x)\n    y[:] = x**2\n    return y'),
    ('x[n,m]', 'y = np.zeros((x.shape[0], x.shape[1] + 1))\n    y[:, 1:] = x\n    return y'),
    ('x[n]', 's = 0.0\n    for k in range(3):\n        s += x[k]**2\n    return s'),
    ('x[4]', 'return sum(v**2 for v in x)'),
    ('x[4]', 's = 0\n    for v in x:\n        s = s*0.5 + v\n    return s'),
    ('x[4]', 'return sum(x)'),
    ('x[4]', 'return [v**2 for v in x]'),
    ('x, y', 'return math.sin(x)*math.exp(y)'),
    ('x, y', 'return math.sqrt(x**2 + y**2)'),
    ('x, y', 'return math.atan2(y, x) + math.pi'),
    ('x', 'return max(x, 0)'),
    ('x, y', 'return np.where((x > 0) & (y > 0), x, y)'),
    ('x', 'return abs(x)**0.5 + round(x)'),
    ('x[n]', 'return np.exp(x).sum(axis=0).item()'),
    ('x[n], t[n]', 'return scipy.special.expit(x)*scipy.special.erf(t)'),
    ('x[n,m]', 'return scipy.special.logsumexp(x, axis=1)'),
    ('x[n,m]', 'return scipy.special.softmax(x, axis=1)'),
    ('x[n,m]', 'a, b = x.shape\n    return x.sum()/(a*b)'),
    ('x[n], y[n]', 'return np.arctan2(y, x)'),
    ('x[n], y[n]', 'return np.hypot(x, y)'),
    ('x[n,m]', 'return np.argmax(x, axis=1)*x[:, 0]'),
    ('x[n,m], i[k]: int', 'return x[i]'),
    ('x[n,m], i[n]: int', 'return x[np.arange(x.shape[0]), i]'),
    ('x[4,m], i[4]: int', 'return x[np.arange(4), i]'),
    ('x[4,m], i[2]: int', 'return x[[3, 0], i] * x[[-1, 1], i]'),
    ('x[4,m], i[3]: int', 'return x[[[0, 1, 3], [2, 0, 0]], i]'),
    ('x[m,4], i[2]: int', 'return x[None, ..., i, [1, 2]]'),
    ('x[n,2]', 'return np.linalg.norm(x[:, None, :] - x[None, :, :], axis=-1)'),
    ('x[n,2]', 'a, b = x.T\n    return a*b'),
    ('x[n,2]', 'return x[:, 0]**2 + x[:, 1]**2'),
    ('x[n]', 'return np.logaddexp.reduce(x)'),
    ('x[n]', 'return np.exp(x, dtype=float)'),
    ('x[n]', 'return np.sum(x, where=x > 0)'),
    ('x[n]', 'return np.add(x, 1, out=None)'),
    ('x[n,m]', 'return np.mean(x, axis=0, dtype=float)'),
    ('x[n,m]', 'return np.matmul(x.T, x, dtype=float)'),
    ('x[n,m]', 'return x.T @ x/len(x)'),
    ('x[n,m]', 'return np.atleast_2d(x).shape[0]*x'),
    ('x[n]', 'return x.size*x'),
    ('x[n,m]', 'return x.ndim*x'),
    ('x[n,m]', 'return np.shape(x)[0]*np.size(x)*np.ndim(x)*x'),
    ('x[n]', 'return x.real'),
    ('x[n]', 'return np.full(x.shape, 2.0)*x'),
    ('x[n]', 'return np.ones_like(x)*x.mean()'),
    ('x[n,m]', "return np.einsum('ij,ij->i', x, x)"),
    ('x[n,m]', 'return x.mean(1, keepdims=True)*np.ones((1, 3))'),
    ('x[n], y[n]', 'return x @ y/(np.linalg.norm(x)*np.linalg.norm(y))'),
    ('x[n]', 'return np.quantile(x, [0.25, 0.75])'),
    ('x[n]', 'return np.sum(np.triu(np.outer(x, x), 1))'),
    ('x[n]', 'return np.max(x) - np.min(x) + np.ptp(x)'),
    ('x[n]', 'return np.correlate(x, [1.0, 2.0])'),
    ('x[n]', 'return np.digitize(x, [0.0, 1.0])*x'),
    ('x[n]', 'return np.searchsorted([0.0, 1.0], x)*x'),
    ('x[n]', 'return np.block([[x, x], [2*x, x]])'),
    ('x[n,m]', 'return np.rot90(x)'),
    ('x[n]', 'return np.ediff1d(x)'),
    ('x[n,m]', 'return np.delete(x, 0, axis=0)'),
    ('x[n,m]', 'return np.insert(x, 0, 1.0, axis=1)'),
    ('x[n,m]', 'return np.vander(x[0], 3)'),
    ('x[n]', 'return np.linalg.matrix_power(np.outer(x, x), 2)'),
    ('x[n,n]', 'return np.linalg.eigh(x + x.T)[0]'),
    ('x[n]', 'return np.poly1d([1.0, 2.0])(x)'),
    ('x[n]', 'return np.dot(x, x)**0.5'),
    ('x[n]', 'return (x**2).sum()**.5'),
    ('x[n]', 'return -x + +x + ~(x > 0)*x'),
    ('x[n]', 'return divmod(x, 2)[1]'),
    ('x[n]', 'return np.mod(x, 2) + np.fmod(x, 2)'),
    ('x[n]', 'return np.divmod(x, 2)[0]*x'),
    ('x[n]', 'return np.modf(x)[0]'),
    ('x[n]', 'return pow(x, 2)'),
]

SHARED = [  # what NumPy's arrays share
    ("x[n]", "y = x*1\n    v = y[1:]\n    y[0] = 7\n    y[2] = 8\n    return v*x[1:]"),
    ("x[n]", "y = x*1\n    v = y[1:]\n    v += 1\n    return y*x"),
    ("x[n]", "y = x*1\n    v = y[1:]\n    v[0] = 5\n    return y*x"),
    ("x[n]", "y = x*1\n    z = y\n    y *= 2\n    return z*x"),
    ("x[n]", "y = x*1\n    z = y.copy()\n    y *= 2\n    return z*x"),
    ("x[n,m]", "y = x*1\n    v = y.T\n    y[0] = 1\n    return v @ x"),
    ("x[n,m]", "y = x*1\n    y[1] += 3\n    y[:, 0] *= 2\n    y[1:, 1:] -= x[1:, 1:]**2\n    return y"),
    ("x[3,m]", "y = x*1\n    for row in y:\n        row *= 2\n    return y*x"),
    ("x[n]", "y = x*1\n    y[::2] = 0\n    return y"),
    ("x[n,m]", "return np.delete(x, -1, axis=1) - np.delete(x, 0, axis=1)"),
    ("x[n]", "return np.delete(x, 2) * np.insert(x[2:], -1, 3.0)"),
    ("x[n,m]", "return np.block([[x, x], [x, 2*x]])[:, ::2] + np.rot90(x, 2)[0, 0]"),
    ("x[n,m]", "a, b = np.meshgrid(x[0], x[:, 1], indexing='ij')\n    return a - b"),
    ("x[4]", "y = x*1\n    y[[0, 2]] *= 3\n    y[np.array([3, 1])] = x[:2]\n    return y"),
    ("x[n]", "return np.sum([x[0], x[1]**2]) + np.linalg.norm([x[2], 1.0])"),
    ("x[n]", "y = x*1\n    y[::-1] = x\n    return y"),
    ("x[n]", "y = x*1\n    y[3:0:-2] *= 5\n    return y"),
    ("x[n]", "y = x*1\n    y[y < 0] = 0\n    return y"),
    ("x[n]", "y = np.zeros(3)\n    y[0] = x[0]\n    s = y.sum()\n    y[1] = x[1]\n    return s + y*2"),
    ("x[n]", "h = np.zeros(5)\n    for t in range(4):\n        h[t + 1] = 0.5*h[t] + x[t]**2\n    return h"),
    ("x[3]", "T = np.eye(4)\n    T[:3, 3] = x\n    T[0, 1] = x[0]*x[1]\n    return T @ T"),
    ("x[n]", "y = np.zeros((2, x.shape[0]))\n    y[0] = x\n    y[1, 1:] = x[:-1]*y[0, 1:]\n    return y"),
    ("x[4]", "y = x*1\n    a, b = np.split(y, 2)\n    y[0] = 5\n    b[:] = a\n    return y*x"),
    ("x[2,4]", "y = x*1\n    a, b = np.hsplit(y, 2)\n    a[0, 0] = 7\n    return y*x"),
    ("x[2,4]", "y = x*1\n    v = np.rot90(y)\n    y[0, 1] = 7\n    return v @ x"),
    ("x[n]", "y = x*1\n    v = np.real(y)\n    v[0] = 7\n    return y*x"),
    ("x[n]", "y = x*1\n    v = np.positive(y)\n    v[0] = 7\n    return y*x"),
    ("x[3,3]", "y = x*1\n    v = np.diag(y)\n    y[0, 0] = 3\n    return v*x"),
    ("x[3]", "y = np.diag(x)\n    x = x*2\n    y[0, 0] = 3\n    return y @ x"),
    ("x[2,2]", "y = x.copy()\n    y[()] = 2\n    return y*x"),
    ("x[3]", "return np.transpose([x, 2*x]) @ np.swapaxes([x, x**2], 0, 1).T + np.reshape([x, x, x], (3, 3))"),
    ("x[3,3]", "return np.where((x > 0) @ (x > 0.5), x, x**2)"),
    ("x[n]", "x += 1\n    y = x\n    y *= 2\n    return x*y"),
    ("t", "s = t\n    s += 1\n    return s*t"),
]


def declared(signature, body):
    """The function of these inputs, and arrays for them."""
    rng, parameters, arrays = np.random.default_rng(1), [], {}
    for name, dims, kind, default in re.findall(r"(\w+)(?:\[([^\]]*)\])?(: int)?(=[\d.]+)?", signature):
        if default:
            parameters.append(f"{name}{kind}{default}")
            continue
        shape = [int(d) if d.isdecimal() else SIZES[d] for d in dims.split(",") if d]
        parameters.append(f'{name}: sg.{"Int" if kind else "Tensor"}["{dims.replace(",", " ")}"]' if dims else name)
        arrays[name] = np.array(rng.integers(0, 2, shape) if kind else rng.normal(size=shape) * 0.7 + 0.8 * (not shape))
    file, text = f"<{signature}: {body}>", f"def f({', '.join(parameters)}):\n    {body}\n"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space = dict(SPACE)
    exec(compile(text, file, "exec"), space)
    return space["f"], arrays


def listed(results):
    return list(results) if isinstance(results, (tuple, list)) else [results]


def numbers(rows):
    return pytest.mark.parametrize(("signature", "body"), rows, ids=[f"{s}: {b.splitlines()[0]}" for s, b in rows])


@numbers([*IDIOMS, *SHARED])
def test_values_and_gradients_are_numpys(signature, body):
    f, arrays = declared(signature, body)
    code = sg.load(f, check=False)
    found, saved = code.forward(*arrays.values())
    given = {name: x.copy() if x.ndim else float(x) for name, x in arrays.items()}
    expected = listed(f(**given))
    for a, b in zip(listed(found), expected, strict=True):
        assert np.shape(a) == np.shape(b)
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
    weights = [np.random.default_rng(2).normal(size=np.shape(b)) for b in expected]

    def total(name, place, step):
        moved = {n: x.copy() for n, x in arrays.items()}
        moved[name][place] += step
        results = listed(f(**{n: x if x.ndim else float(x) for n, x in moved.items()}))
        return math.fsum(np.sum(r * w) for r, w in zip(results, weights, strict=True))

    gradients = code.backward(saved, tuple(weights) if len(weights) > 1 else weights[0])
    for gradient, (name, x) in zip(gradients, arrays.items(), strict=True):
        for place in np.ndindex(x.shape) if x.dtype.kind == "f" else ():
            slope = (total(name, place, 1e-5) - total(name, place, -1e-5)) / 2e-5
            assert gradient[place] == pytest.approx(slope, rel=2e-6, abs=2e-7)


REFUSED = [  # (inputs, lines, what says the same)
    ("x[3]", "return A.dot(x)", "A.dot(x) is written A @ x"),
    ("x[n,m]", "return np.cov(x)", "c = x - x.mean(axis=1, keepdims=True), c @ c.T / (n - 1)"),
    ("x[n,m]", "return np.corrcoef(x)", "c = x - x.mean(axis=1, keepdims=True), c @ c.T / (n - 1)"),
    ("x[n]", "return np.nan_to_num(x)", "say where there is a value, np.where(x > 0, np.log(x), 0)"),
    ("x[n,m]", "return np.apply_along_axis(np.sum, 1, x)", "Write the function of the whole array, with axis="),
    ("x[n]", "return np.fft.rfft(x)", "np.cos(2*np.pi*k*t/n) @ x"),
    ("x[n]", "return np.vectorize(lambda v: v**2)(x)", "of whole arrays"),
    ("x[n,m]", "return np.linalg.lstsq(x, x[:, 0])[0]", "np.linalg.solve(a.T @ a, a.T @ b)"),
    ("x[n]", "return np.sum(x[x > 0])", "np.where(mask, x, 0), which np.sum adds up"),
    ("x[n,m]", "return np.array_split(x, 2)[0]", "say where, x[:k], x[k:]"),
    ("x[n]", "return np.unwrap(x)", "x + 2*np.pi*turns"),
    ("x[n]", "return np.histogram(x)[0]", "out[t[i]] += x[i]"),
    ("x[n,m]", "return x @ x.t()", "no 't'. The transpose is x.T"),
    ("x[n,m]", "return x.exp()", "no 'exp'. Write sg.exp(x)"),
    ("x[n,m]", "return x.sum(dim=1)", "an unexpected keyword argument 'dim'. NumPy's words are axis and keepdims"),
    ("x[n]", "return np.flatnonzero(x > 0)", "an input of integers: i: sg.Int['n']"),
    ("x[n], m[n]", "return scipy.stats.norm.pdf(x, m)", "the functions of np and sg, of whole arrays"),
    ("x[n]", "return sum(x[i]**2 for i in range(len(x)))", "i = sg.indices('i'), sg.sum[i](x[i]**2)"),
    ("x, y", "return x if x > y else y", "Write return np.where(x > y, x, y)"),
    ("x", "if x > 0:\n        return x\n    return -x", "Write return np.where(x > 0, x, -x)"),
    ("x", "if x > 0: return x\n    else: return -x", "Write return np.where(x > 0, x, -x)"),
    ("x", "z = 0\n    if 0 < x < 1:\n        z = x**2\n    return z", "z = np.where((0 < x) & (x < 1), x ** 2, z)"),
    ("x", "if x > 0:\n        z = x\n    elif x < -1:\n        z = 1\n    else:\n        z = 2*x\n    return z",
     "z = np.where(x > 0, x, np.where(x < -1, 1, 2 * x))"),
    ("x", "while x > 1:\n        x /= 2\n    return x", "for _ in range(20): x = np.where(x > 1, x / 2, x)"),
    ("x, y", "return np.where(x > 0 and y > 0, x, y)", "Write return np.where((x > 0) & (y > 0), x, y)"),
    ("x", "return np.where(not x > 0, x, 1)", "Write return np.where(~(x > 0), x, 1)"),
    ("x", "assert x > 0\n    return x", "Leave the assertion out: sg.Real['> 0']"),
    ("x", "return float(x)", "Leave float(x) out"),
    ("x", "return math.factorial(x)", "math.factorial of a symbol cannot be traced"),
    ("x[n]", "x[0] = 1\n    return x", "Write to a copy: y = x.copy()"),
    ("x[n]", "v = x[1:]\n    v += 1\n    return x", "Write to a copy: y = x.copy()"),
    ("x[n]", "y = x*1\n    y.T[0] = 1\n    return y", "Assign to that one, or to a copy"),
    ("x[n,m]", "y = x*1\n    v = y.reshape(-1)\n    y[0] = 1\n    return v", "Write x.reshape(...).copy()"),
    ("x[n]", "A[0, 0] = x[0]\n    return A", "np.zeros(3) in the function"),
    ("x[2]", "B = np.array([[0, 1], [0, 0]])\n    B[0, 1] = x[0]\n    return B @ x", "np.zeros(3) in the function"),
    ("x[2,4]", "y = x*1\n    np.rot90(y)[0, 0] = 7\n    return y", "Assign to that one, or to a copy"),
    ("x[3]", "return x[np.array([0.5])]", "a subscript is of integers, not array([0.5])"),
    ("x[3]", "return x[[5]]", "subscript 5 is outside of an axis of 3"),
    ("x, y", "z = np.zeros(3)\n    z[:] = x\n    return z*y", 'is sg.Tensor[""]'),
    ("x[n], i[k]: int", "y = x*1\n    y[i] = 0\n    return y", "out[t[i]] += x[i]"),
    ("x[n]", "return x.mode()", "the methods and attributes that are traced of NumPy's"),
    ("x[n]", "return x.sum()*np.arange(300.0)", "1 to 256 are printed with the code. Make it an input"),
]


@pytest.mark.parametrize(("signature", "body", "said"), REFUSED, ids=[row[1].splitlines()[0] for row in REFUSED])
def test_what_is_refused_names_what_says_the_same(signature, body, said):
    with pytest.raises((sg.DeclarationError, sg.ShapeError), match=re.escape(said)):
        sg.vjp(declared(signature, body)[0])


CHECKED = [  # printed, and checked in full
    ("x[n]", "y = x.copy()\n    y[1:] += x[:-1]\n    y[y < 0] = 0\n    return y"),
    ("x[n], c[k]", "return np.polyval(c, x)"),
    ("x[n,m]", "y = np.zeros((x.shape[0], x.shape[1] + 1))\n    y[:, 1:] = x\n    return y"),
    ("x[n], f[4]", "return np.interp(x, np.linspace(-2, 2, 4), f)"),
    ("x[n], at[k], f[k]", "return np.interp(x, at, f)"),  # of `at` that does not rise NumPy says nothing
    ("x[n], at[k]", "return x*np.searchsorted(at, x) + np.digitize(x, bins=at)"),
    ("x[3]", "T = np.eye(4)\n    T[:3, 3] = x\n    T[0, 1] = x[0]*x[1]\n    return A @ T[:3] @ T"),
    ("x, y, a=2.0", "return math.sin(x)*max(x, y)**a"),
    ("x[n,1], w", "return x @ np.array([[w], [1/w]]).T"),  # in C, what is summed for w alone
]


@both
@numbers(CHECKED)
@pytest.mark.in_turn
def test_what_is_printed_agrees(signature, body, to):
    report = sg.check(declared(signature, body)[0], to=to)
    assert report.ok, report


def test_a_point_of_a_curve_has_the_slope_of_the_stretch_behind_it():
    def curve(x: sg.Tensor["n"]):
        return np.interp(x, [0.0, 1.0, 3.0], [0.0, 2.0, 3.0])

    code = sg.load(curve, check=False)
    out, saved = code.forward(np.array([-1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 4.0]))
    assert out.tolist() == [0, 0, 1, 2, 2.5, 3, 3]
    assert code.backward(saved, np.ones(7))[0].tolist() == [0, 2, 2, 0.5, 0.5, 0, 0]
