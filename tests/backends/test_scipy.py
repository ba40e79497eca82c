"""SciPy: its solvers find what they look for with the printed functions, and nothing that they keep is written over."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize
from scipy.sparse.linalg import aslinearoperator, lsmr

import symgrad as sg
from symgrad import library
from symgrad.backends import BACKENDS
from symgrad.errors import TargetError, UnsupportedError
from symgrad.pipeline import as_function, printed
from symgrad.verify import check

LOGISTIC = """logistic(w[d], x[n,d], y[n]; c=0.1):
    z[i] = sum[j](x[i,j]*w[j])
    out = mean[i](softplus(z[i]) - y[i]*z[i]) + c*sum[j](w[j]**2)"""
DECAY = "decay(a, b, t[n], y[n])[i] = a*exp(-b*t[i]) - y[i]"
EUCLIDEAN = "euclidean(a[n,m], b[m]) = sum[i,j]((a[i,j] - b[j])**4) + sum[i,j](a[i,j]**2)"

RNG = np.random.default_rng(1)
X = RNG.standard_normal((40, 3))
Y = (X @ [1.0, -2.0, 0.5] + RNG.standard_normal(40) > 0).astype(float)
T = np.linspace(0, 4, 30)
MINIMA = {  # (declaration, start, args, the minimum; None where only the gradient tells)
    "rosenbrock": (library.rosenbrock, [-1.2, 1.0], (), [1, 1]),
    "beale": (library.beale, [1.0, 1.0], (), [3, 0.5]),
    "booth": (library.booth, [0.0, 0.0], (), [1, 3]),
    "logistic": (LOGISTIC, [0.0, 0.0, 0.0], (X, Y), None),
    "euclidean": (EUCLIDEAN, RNG.standard_normal(6), (np.array([1.0, 2.0, 3.0]),), None),
}
SHAPES = [  # (formula, target): how the flat unknown gets its shapes
    ("f(x) = exp(x)*x", "scipy"),
    ("f(x[n]) = sum[i](exp(x[i])*x[i])", "scipy"),
    ("f(x[n,3]) = sum[i,j](x[i,j]**3)", "scipy"),
    ("f(x[n,m], y[n,m]) = sum[i,j](exp(x[i,j]*y[i,j]))", "scipy"),
    ("f(x[n,m], y[n,m]) = sum[i,j](exp(x[i,j]*y[i,j]))", "scipy:y"),
    ("f(x[n,m], y[n,m]) = sum[i,j](exp(x[i,j]*y[i,j]))", "scipy:x+y"),
    ("f(x[n,m], y[m]) = sum[i,j](exp(x[i,j]*y[j]))", "scipy"),
    ("f(x[n], y[n], z[2]) = sum[i](x[i]**2*exp(y[i]*z[1]))*z[0]", "scipy:x+y+z"),
    ("f(x[n,n]) = sum[i,j](sin(x[i,j])*x[j,i])", "scipy"),
    ("f(x[n,m])[i] = sum[j](sin(x[i,j]))", "scipy"),
    ("f(x[..., d], y[d]) = sum[..., i](sin(x[..., i]*y[i]))", "scipy"),
    ("f(x[...], y[...]) = mean[...]((x[...] - y[...])**4)", "scipy"),
    ("f(x[...], y[...]) = mean[...]((x[...] - y[...])**4)", "scipy:x+y"),
    ("f(x[..., k], y[k])[...] = sum[i](x[..., i]**2*exp(y[i]))", "scipy"),
    ("f(x[n,k], w[m,k], b[m]?)[i,j] = sum[l](x[i,l]*w[j,l]) + b[j]", "scipy:w"),
    ("f(direction[n], v[n], size; flat=2.0)[i] = direction[i]*v[i]**flat*size", "scipy:v+size"),
    ("f(value[n], prepared[n], unknown) = sum[i](value[i]**3*prepared[i])*unknown**2", "scipy:value+unknown"),
    ("f(a[n,n], b[n]): z = solve(a, b); out = sum[i](z[i]**2)", "scipy"),
    ("f(a[n,n], b[n]) = solve(a, b)", "scipy"),
    ("f(a[n,n], b[n]) = solve(a, b)", "scipy:b"),
    ("f(a[n,n], b[n]) = solve(a, b)", "scipy:a+b"),
    ("f(a[..., n, n], b[..., n])[...] = slogdet_log(a)[...]*sum[i](solve(a, b)[..., i])", "scipy"),
    ("f(a[n,n]) = cholesky(a)", "scipy"),
    ("f(a[m,n]) = svdvals(a)", "scipy"),
    ("f(a[m,n]) = pinv(a)", "scipy"),
    ("f(a[n,n]) = expm(a)", "scipy"),
    ("f(x[n], i[m]: int, c) = sum[k](x[i[k]]**3)*c", "scipy"),
    ("f(x[n]): h[0] = x[0]; h[t+1] = tanh(h[t]*x[t]); out = h[n]", "scipy"),
    ("f(x[n]): h[0] = x[0]; h[t+1] = tanh(h[t]*x[t]); out[i] = h[i]", "scipy"),
    ("f(x[n]) = sum[i](x[i])", "scipy"),
    ("f(x[n])[i] = 2*x[i]", "scipy"),
    ("f(x[n]; k=2)[i:n+k] = where(i < n, x[i]**2, 0)", "scipy"),  # an option that only the result's shape mentions
    ("f(x, y) = 3*y**2", "scipy:y"),
]


def declared(what):
    return sg.parse(what) if isinstance(what, str) else what


@pytest.mark.parametrize("formula, to", SHAPES)
def test_agrees(formula, to):
    report = sg.check(sg.parse(formula), to=to)
    assert report.ok, str(report)


@pytest.mark.parametrize("name", MINIMA)
@pytest.mark.parametrize("method", ["BFGS", "L-BFGS-B", "CG", "Newton-CG", "trust-ncg"])
def test_minimize(name, method):
    what, start, args, minimum = MINIMA[name]
    module = sg.load(declared(what), to="scipy", check=False)
    hessp = {"hessp": module.hessp} if method in ("Newton-CG", "trust-ncg") else {}
    found = optimize.minimize(module.fun_and_grad, start, args=args, jac=True, method=method, tol=1e-12, **hessp)
    assert np.abs(module.fun_and_grad(found.x, *args)[1]).max() < 1e-4
    if minimum is not None:
        assert_allclose(found.x, minimum, atol=1e-4)


@pytest.mark.parametrize("name", MINIMA)
def test_differences(name):
    what, start, args, _ = MINIMA[name]
    module = sg.load(declared(what), to="scipy", check=False)
    x, p = np.asarray(start, float) + 0.3, np.linspace(-1, 1, len(start))
    fun = lambda x, *args: module.fun_and_grad(x, *args)[0]  # noqa: E731
    gradient = lambda x, *args: module.fun_and_grad(x, *args)[1]  # noqa: E731
    assert optimize.check_grad(fun, gradient, x, *args) < 1e-4
    along = (gradient(x + 1e-6 * p, *args) - gradient(x - 1e-6 * p, *args)) / 2e-6
    assert_allclose(module.hessp(x, p, *args), along, rtol=1e-5, atol=1e-6)


def test_least_squares():
    module = sg.load(sg.parse(DECAY), to="scipy")
    y = 2.5 * np.exp(-1.3 * T)
    found = optimize.least_squares(
        module.residuals, [1.0, 1.0], jac=module.jac, args=(T, y), tr_solver="lsmr", xtol=1e-12, ftol=1e-12
    )
    assert_allclose(found.x, [2.5, 1.3], rtol=1e-6)
    operator = module.jac([1, 1], T, y)
    dense = operator @ np.eye(2)
    assert_allclose(operator.H @ np.eye(30), dense.T)
    assert_allclose(lsmr(operator, y)[0], np.linalg.lstsq(dense, y, rcond=None)[0], rtol=1e-4)
    assert_allclose(aslinearoperator(dense).matvec([[1.0], [2.0]]), operator.matvec([[1.0], [2.0]]))


def test_a_root_is_found_with_the_jacobian():
    module = sg.load(sg.parse("f(x[2]): y[0] = x[0]**2 + x[1] - 3; y[1] = x[0] - x[1] + 1"), to="scipy")
    found = optimize.root(module.residuals, [1.0, 1.0], jac=lambda x: module.jac(x) @ np.eye(2))
    assert_allclose(module.residuals(found.x), 0, atol=1e-9)


def test_types():
    module = sg.load(library.rosenbrock, to="scipy", check=False)
    value, gradient = module.fun_and_grad([2, 3])
    assert type(value) is float and value == 101 and gradient.dtype == np.float64
    assert module.fun_and_grad(np.array([2, 3], np.float32))[1].dtype == np.float32
    assert module.fun_and_grad(np.array([2.0, 3.0]), a=2.0, b=1.0)[0] == 1
    with pytest.raises(ValueError, match="rosenbrock: 3 elements were given, the unknown has 2"):
        module.fun_and_grad(np.ones(3))


def test_sizes_that_nothing_tells_are_asked_for():
    module = sg.load(sg.parse("f(x[n,m]) = sum[i](prod[j](x[i,j]))"), to="scipy")
    assert module.fun_and_grad(np.arange(6.0), 2, 3)[0] == 60
    with pytest.raises(ValueError, match=r"f: 5 elements were given, x has n \* m = 6"):
        module.fun_and_grad(np.ones(5), 2, 3)


def test_the_operator_stays_at_its_point():
    module = sg.load(sg.parse(DECAY), to="scipy", check=False)
    x = np.array([2.0, 1.0])
    operator = module.jac(x, T, T)
    before = operator @ np.eye(2)
    x[:] = 7
    assert_allclose(operator @ np.eye(2), before, rtol=0)


MUTANTS = [  # (declaration, what is printed, what stands in its place, what the check says)
    ("f(w[n], x[n]) = sum[i](exp(w[i]*x[i]))", "return _flat(_product(", "return 2 * _flat(_product(", "hessp"),
    ("f(w[n], x[n]) = sum[i](exp(w[i]*x[i]))", "(value), _flat", "(value), -_flat", "fun_and_grad"),
    ("f(w[n], x[n]) = sum[i](exp(w[i]*x[i]))", "float(value)", "2 * float(value)", "fun_and_grad"),
    ("f(w[n], x[n])[i] = exp(w[i]*x[i])", "return _flat(_product(", "return 2 * _flat(_product(", "matvec"),
    ("f(w[n], x[n])[i] = exp(w[i]*x[i])", "return _flat(grad_w)", "return 2 * _flat(grad_w)", "rmatvec"),
    ("f(w[n], x[n])[i] = exp(w[i]*x[i])", "return _flat(value)", "return 2 * _flat(value)", "residuals"),
    ("f(w[n], x[n]; c=2.0) = c*sum[i](w[i]**3*x[i])", "_prepared(w, x, c=c)", "_prepared(w, x)", "hessp"),
    ("f(w[n], x[n]; c=2.0) = c*sum[i](w[i]**3*x[i])", "forward(w, x, c=c)", "forward(w, x)", "fun_and_grad"),
    (
        "f(w[n], x[n]) = sum[i](exp(w[i]*x[i]))",
        "    return np.concatenate([np.ravel(array) for array in arrays])",
        "    array = np.ravel(arrays[0])\n    out = _held.setdefault(array.size, np.zeros_like(array))\n"
        "    out[...] = array\n    return out\n\n\n_held = {}",
        "shares memory",
    ),
]  # fmt: skip


@pytest.mark.parametrize("formula, text, instead, said", MUTANTS)
def test_the_check_sees(formula, text, instead, said):
    result = printed(sg.parse(formula), "scipy")
    files = {name: code.replace(text, instead) for name, code in result.files.items()}
    assert files != result.files
    module = BACKENDS["scipy"].load(result.program, files)
    report = check(as_function(sg.parse(formula)), files, "scipy", module)
    assert said in str(report)


def test_several_outputs_are_refused():
    with pytest.raises(UnsupportedError, match=r"squares gives \w+, \w+, \w+: .*Declare a function of one"):
        sg.generate(library.squares, to="scipy")


def test_an_unknown_must_count():
    with pytest.raises(UnsupportedError, match=r"f does not depend on all of its unknown, x, y\. .* --to scipy:y"):
        sg.generate(sg.parse("f(x, y) = 3*y**2"), to="scipy")


@pytest.mark.parametrize(
    "formula, to, said",
    [
        ("f(x[n], i[n]: int) = sum[k](x[i[k]])", "scipy:i", "f: i cannot be the unknown; choose from x"),
        ("f(x[n], y[n]) = sum[k](x[k]*y[k])", "scipy:z", "f: z cannot be the unknown; choose from x, y"),
        ("f(x[n], y[n]) = sum[k](x[k]*y[k])", "numpy:x", "no language"),
    ],
)
def test_an_unknown_must_be_a_real_input(formula, to, said):
    with pytest.raises(TargetError, match=said):
        sg.generate(sg.parse(formula), to=to)


def test_a_value_that_no_unknown_moves_has_no_cotangent():
    text = sg.generate(library.cross_entropy_full, to="scipy")["cross_entropy_full_scipy.py"]
    assert "product" in text
