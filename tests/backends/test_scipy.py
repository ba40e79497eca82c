"""SciPy: its solvers find what they look for with the printed functions, and nothing that they keep is written over."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize
from scipy.integrate import solve_bvp, solve_ivp
from scipy.sparse.linalg import aslinearoperator, lsmr

import symgrad as sg
from symgrad import library
from symgrad.backends import BACKENDS, MATRICES
from symgrad.derivatives import as_function
from symgrad.errors import TargetError, UnsupportedError
from symgrad.pipeline import printed
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
    ("f(x[..., k], y[k])[...] = sum[i](x[..., i]**2*exp(y[i]))", "scipy"),
    ("f(x[n,k], w[m,k], b[m]?)[i,j] = sum[l](x[i,l]*w[j,l]) + b[j]", "scipy:w"),
    ("f(direction[n], v[n], size; flat=2.0)[i] = direction[i]*v[i]**flat*size", "scipy:v+size"),
    ("f(value[n], prepared[n], unknown) = sum[i](value[i]**3*prepared[i])*unknown**2", "scipy:value+unknown"),
    ("f(a[m,n]) = svdvals(a)", "scipy"),
    ("f(a[m,n]) = pinv(a)", "scipy"),
    ("f(x[n], i[m]: int, c) = sum[k](x[i[k]]**3)*c", "scipy"),
    ("f(x[n], y[m], i[n]: int): h[p:m] = 0; h[i[k]] += x[k]; out = sum[j](h[j]**2)", "scipy"),  # m: a shape alone
    ("f(x[n]): h[0] = x[0]; h[t+1] = tanh(h[t]*x[t]); out = h[n]", "scipy"),
    ("f(x[n]): h[0] = x[0]; h[t+1] = tanh(h[t]*x[t]); out[i] = h[i]", "scipy"),
    ("f(m[k], x[n]) = sum[i](logsumexp[j](m[j]*x[i]))", "scipy"),  # a mixture; of nothing, too
    ("f(x[n]) = sum[i](x[i])", "scipy"),
    ("f(x[n])[i] = 2*x[i]", "scipy"),
    ("f(x[n]; k=2)[i:n+k] = where(i < n, x[i]**2, 0)", "scipy"),  # an option that only the result's shape mentions
    ("f(x, y) = 3*y**2", "scipy:y"),
    ("f(x, y[n], z, w[k,2]) = sum[i](y[i])*z*z*x + w[0,0]**2*sum[i](w[i,1])", "scipy:x+y+z+w"),
    ("f(x, y, p[2]) = x*y**2*p[0] + exp(p[1]*x)", "scipy:x+y+p"),
    ("f(x, y) = x*y, x**2, sin(x)", "scipy"),
    ("f(x, y[n]) -> a, b: a[i] = x*exp(y[i]); b = sum[i](y[i]**2*x)", "scipy:x+y"),
    ("f(x, y[n]) -> a, b: a[i] = 3*y[i]; b = 2*x", "scipy"),
    ("f(x[n,m], a[k,n])[i,j] = sum[l](a[i,l]*x[l,j])", "scipy"),
    ("f(x[n], a[k,n])[i] = sum[l](a[i,l]*x[l])", "scipy"),
]
WHOLE = [  # no sparse matrix is there for them: functions of whole matrices, and sums over packs
    ("f(x[..., d], y[d]) = sum[..., i](sin(x[..., i]*y[i]))", "scipy"),
    ("f(x[...], y[...]) = mean[...]((x[...] - y[...])**4)", "scipy"),
    ("f(x[...], y[...]) = mean[...]((x[...] - y[...])**4)", "scipy:x+y"),
    ("f(a[n,n], b[n]): z = solve(a, b); out = sum[i](z[i]**2)", "scipy"),
    ("f(a[n,n], b[n]) = solve(a, b)", "scipy"),
    ("f(a[n,n], b[n]) = solve(a, b)", "scipy:b"),
    ("f(a[n,n], b[n]) = solve(a, b)", "scipy:a+b"),
    ("f(a[..., n, n], b[..., n])[...] = slogdet_log(a)[...]*sum[i](solve(a, b)[..., i])", "scipy"),
    ("f(a[n,n]) = cholesky(a)", "scipy"),
    ("f(a[n,n]) = expm(a)", "scipy"),
    ("f(a[n,n], b[n]) -> c, d: z = solve(a, b); c = sum[i](z[i]**2); d[i,j] = z[i]*b[j]", "scipy:b"),
    ("f(x[...], y, z[2]) = sum[...]((x[...] - y)**4*exp(z[1]*x[...]))", "scipy:x+y+z"),
    ("f(x[...], y, z[2]) -> a, b: a = sum[...]((x[...] - y)**4); b[...] = x[...]*y*z[0]", "scipy:x+y+z"),
]


def declared(what):
    return sg.parse(what) if isinstance(what, str) else what


CASES = [(*row, matrix) for matrix in MATRICES for row in (SHAPES if matrix == "sparse" else [*SHAPES, *WHOLE])]


@pytest.mark.parametrize("formula, to, matrix", CASES)
@pytest.mark.in_turn
def test_agrees(formula, to, matrix):
    report = sg.check(sg.parse(formula), to=to, matrix=matrix)
    assert report.ok, str(report)


def test_what_is_needed_on_a_condition_on_what_is_computed_from_it():
    """Each norm is needed where the cosine is large: that is asked too late to compute it there alone."""
    assert sg.check(library.cosine_embedding_loss, to="scipy").ok


@pytest.mark.parametrize("formula, to", WHOLE)
def test_no_sparse_matrix(formula, to):
    with pytest.raises(UnsupportedError, match=r"no equation for each of its elements|stands for any number of axes"):
        sg.generate(sg.parse(formula), to=to, matrix="sparse", check=False)


@pytest.mark.parametrize("name", MINIMA)
@pytest.mark.parametrize("method", ["BFGS", "L-BFGS-B", "CG", "Newton-CG", "trust-ncg"])
@pytest.mark.in_turn
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
    module = sg.load(sg.parse(DECAY), to="scipy", matrix="operator")
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
    found = optimize.root(module.residuals, [1.0, 1.0], jac=module.jac)
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
    module = sg.load(sg.parse(DECAY), to="scipy", check=False, matrix="operator")
    x = np.array([2.0, 1.0])
    operator = module.jac(x, T, T)
    before = operator @ np.eye(2)
    x[:] = 7
    assert_allclose(operator @ np.eye(2), before, rtol=0)


SUM, EACH, CURVE = "f(w[n], x[n]) = sum[i](exp(w[i]*x[i]))", "f(w[n], x[n])[i] = exp(w[i]*x[i])", f"{DECAY}"
POWER = "f(w[n], x[n]; c=2.0) = c*sum[i](w[i]**3*x[i])"
PAIR = "f(x, y[n]) = sum[i](y[i]**2)*x**3"
MUTANTS = [  # (declaration, target, matrix, what is printed, what stands in its place, what the check says)
    (SUM, "scipy", "dense", "return _flat(_product(", "return 2 * _flat(_product(", "hessp"),
    (SUM, "scipy", "dense", "(value), _flat", "(value), -_flat", "fun_and_grad"),
    (SUM, "scipy", "dense", "float(value)", "2 * float(value)", "fun_and_grad"),
    (SUM, "scipy", "dense", "(w_by_w + w_by_w.T) / 2", "w_by_w + w_by_w.T", "hess @ v"),
    (PAIR, "scipy:x+y", "dense", "(matrix + matrix.T) / 2", "matrix + 1e-16 * np.eye(*matrix.shape, 1)", "not symm"),
    (PAIR, "scipy:x+y", "dense", "[x_by_y.T,", "[0 * x_by_y.T,", "hess @ v"),
    (EACH, "scipy", "operator", "return _flat(_product(", "return 2 * _flat(_product(", "matvec"),
    (EACH, "scipy", "operator", "return _flat(grad_w)", "return 2 * _flat(grad_w)", "rmatvec"),
    (EACH, "scipy", "dense", "return _flat(value)", "return 2 * _flat(value)", "residuals"),
    (EACH, "scipy", "dense", "return out_by_w", "return -out_by_w", "jac @ v"),
    (EACH, "scipy", "dense", "return out_by_w", "return out_by_w[None]", "jac: has shape (1, 2, 2) instead of (2, 2)"),
    (EACH, "scipy", "sparse", "_entries(pattern, out_by_w)", "_entries(pattern, -out_by_w)", "jac @ v"),
    (PAIR, "scipy:x+y", "sparse", "1 + np.arange(n)", "np.arange(n)", "hess"),
    (CURVE, "scipy", "dense", "[exp_b, -a * (t * exp_b)]", "[-a * (t * exp_b), exp_b]", "jac @ v"),
    (CURVE, "scipy", "dense", "axis=-1)", "axis=0)", "jac @ v"),
    (POWER, "scipy", "dense", "_prepared(w, x, c=c)", "_prepared(w, x)", "hessp"),
    (POWER, "scipy", "dense", "def hess(w, x, *, c=2.0)", "def hess(w, x, *, c=2.5)", "hess @ v"),
    (POWER, "scipy", "dense", "forward(w, x, c=c)", "forward(w, x)", "fun_and_grad"),
    (
        SUM,
        "scipy",
        "dense",
        "    return np.concatenate([np.ravel(array) for array in arrays])",
        "    array = np.ravel(arrays[0])\n    out = _held.setdefault(array.size, np.zeros_like(array))\n"
        "    out[...] = array\n    return out\n\n\n_held = {}",
        "shares memory",
    ),
    (EACH, "scipy", "dense", "return out_by_w", "_all.append(out_by_w)\n    return _all[0]\n\n\n_all = []", "shares"),
]  # fmt: skip


@pytest.mark.parametrize("formula, to, matrix, text, instead, said", MUTANTS)
@pytest.mark.in_turn
def test_the_check_sees(formula, to, matrix, text, instead, said):
    result = printed(sg.parse(formula), to, {"matrix": matrix})
    files = {name: code.replace(text, instead) for name, code in result.files.items()}
    assert files != result.files
    module = BACKENDS["scipy"].load(result.program, files)
    report = check(as_function(sg.parse(formula)), files, "scipy", module)
    assert said in str(report)


def test_the_hessian_of_a_recurrence():
    """Its loops have places that no box tells."""
    report = sg.check(library.soft_edit_distance, to="scipy")
    assert report.ok, str(report)


def test_integers_are_refused():
    with pytest.raises(UnsupportedError, match="f: n_large is no real number, as SciPy's"):
        sg.generate(
            sg.parse("f(x[n]) -> a, n_large: a[i] = x[i]**2; n_large = argmax[i](x[i])"), to="scipy", check=False
        )


def test_a_form_that_there_is_not():
    with pytest.raises(TargetError, match=r"'full' is no form of a Jacobian\. Choose from dense, sparse, operator"):
        sg.generate(sg.parse(DECAY), to="scipy", matrix="full", check=False)


def test_an_unknown_must_count():
    with pytest.raises(UnsupportedError, match=r"f does not depend on all of its unknown, x, y\. .* --to scipy:y"):
        sg.generate(sg.parse("f(x, y) = 3*y**2"), to="scipy", check=False)


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
        sg.generate(sg.parse(formula), to=to, check=False)


def test_a_value_that_no_unknown_moves_has_no_cotangent():
    text = sg.generate(library.cross_entropy, to="scipy", check=False)["cross_entropy_scipy.py"]
    assert "product" in text


# SciPy's own calls, with derivatives and without


ROSENBROCK = "rosen(x[n]) = sum[i:n-1](100*(x[i+1] - x[i]**2)**2 + (1 - x[i])**2)"


@pytest.mark.parametrize("method, n", [("Newton-CG", 1000), ("trust-exact", 100), ("trust-constr", 100)])
def test_the_hessian_of_many_unknowns(method, n):
    module = sg.load(sg.parse(ROSENBROCK), to="scipy", check=False)
    start = np.linspace(0.5, 1.3, n)
    found = optimize.minimize(module.fun_and_grad, start, jac=True, hess=module.hess, method=method, tol=1e-8)
    assert_allclose(found.x, 1, atol=1e-6)
    assert np.array_equal(module.hess(start), module.hess(start).T)
    if method == "trust-constr":  # it may also do without
        without = optimize.minimize(module.fun_and_grad, start, jac=True, method=method, tol=1e-8)
        assert found.nit < without.nit / 2


def test_a_curve_with_its_covariance():
    module = sg.load(sg.parse(DECAY), to="scipy", check=False)
    y = 2.5 * np.exp(-1.3 * T) + 0.01 * np.random.default_rng(3).standard_normal(T.size)
    fit = optimize.least_squares(module.residuals, [1, 1], module.jac, args=(T, y), method="lm")
    covariance = np.linalg.inv(fit.jac.T @ fit.jac) * 2 * fit.cost / (T.size - 2)
    found, expected = optimize.curve_fit(lambda t, a, b: a * np.exp(-b * t), T, y, [1, 1])
    assert_allclose(fit.x, found, rtol=1e-5)
    assert_allclose(covariance, expected, rtol=1e-3)


@pytest.mark.parametrize("method", ["hybr", "lm"])
def test_a_root(method):
    text = "broyden(x[n])[i] = x[i]*(3 - 2*x[i]) - where(i > 0, x[i-1], 0) - where(i < n-1, 2*x[i+1], 0) + 1"
    module = sg.load(sg.parse(text), to="scipy", check=False)
    found, without = (optimize.root(module.residuals, -np.ones(50), jac=j, method=method) for j in (module.jac, None))
    assert np.abs(module.residuals(found.x)).max() < 1e-7
    assert_allclose(found.x, without.x, atol=1e-6)
    assert found.nfev + found.njev < without.nfev / 2


BUNDLE = """bundle(cameras[c,6], points[p,3], observed[m,2], camera[m]: int, point[m]: int):
    a[k,i] = cameras[camera[k],i]
    q[k,i] = points[point[k],i]
    x[k] = q[k,0] + a[k,1]*q[k,2] - a[k,2]*q[k,1] + a[k,3]
    y[k] = q[k,1] + a[k,2]*q[k,0] - a[k,0]*q[k,2] + a[k,4]
    z[k] = q[k,2] + a[k,0]*q[k,1] - a[k,1]*q[k,0] + a[k,5]
    r[k,0] = x[k]/z[k] - observed[k,0]
    r[k,1] = y[k]/z[k] - observed[k,1]"""


@pytest.mark.parametrize("matrix", MATRICES)
def test_bundle_adjustment(matrix):
    rng = np.random.default_rng(4)
    module = sg.load(sg.parse(BUNDLE), to="scipy:cameras+points", check=False, matrix=matrix)
    cameras = 0.1 * rng.standard_normal((4, 6))
    points = rng.uniform(-1, 1, (15, 3)) + np.array([0, 0, 5])
    camera, point = (a.ravel() for a in np.meshgrid(np.arange(4), np.arange(15)))
    true = np.concatenate([cameras.ravel(), points.ravel()])
    observed = module.residuals(true, 4, 15, np.zeros((60, 2)), camera, point).reshape(60, 2)
    start = true + 0.02 * rng.standard_normal(true.size)
    args = 4, 15, observed, camera, point
    fit = optimize.least_squares(module.residuals, start, module.jac, args=args, x_scale=0.1)
    assert fit.cost < 1e-10


LOTKA = "lotka(t, y[2], a, b): out[0] = a*y[0] - b*y[0]*y[1]; out[1] = b*y[0]*y[1] - a*y[1]*t"
ROBERTSON = """robertson(t, x, y, z; a=0.04, b=3e7, c=1e4) = (
    -a*x + c*y*z, a*x - c*y*z - b*y**2, b*y**2)"""
REACTION = """reaction(t, u[n], d)[i] = d*n**2*(where(i > 0, u[i-1], u[i]) - 2*u[i] + where(i < n-1, u[i+1], u[i]))
    + 100*u[i]**2*(1 - u[i])"""
GAUSSIAN = "gaussian(t[n], height, center, width)[i] = height*exp(-(t[i] - center)**2/width**2)"
FOR_OTHERS = [  # (formula, target, solver, matrix)
    (LOTKA, "scipy", "solve_ivp", "dense"),
    (LOTKA, "scipy:y", "solve_ivp", "sparse"),
    (ROBERTSON, "scipy", "solve_ivp", "dense"),
    (REACTION, "scipy", "solve_ivp", "sparse"),
    ("vdp(x, v; mu=5.0) = v, mu*(1-x**2)*v - x", "scipy:x+v", "solve_ivp", "dense"),  # without the time
    ("logistic(u[n])[i] = u[i]*(1 - u[i])", "scipy", "solve_ivp", "sparse"),
    ("decay(t, x; k=5.0) = -k*x*sin(t)", "scipy", "solve_ivp", "dense"),
    ("f(t, x[n,m], v[n,m], k) -> a, b: a[i,j] = v[i,j]; b[i,j] = -k*x[i,j]*t", "scipy", "solve_ivp", "dense"),
    ("f(t, x[n], a[n,n]): k = expm(a); out[i] = sum[j](k[i,j]*x[j])*t", "scipy", "solve_ivp", "dense"),
    (GAUSSIAN, "scipy", "curve_fit", "dense"),
    ("bratu(x, u, v; c=1.0) = v, -c*exp(u)", "scipy", "solve_bvp", "dense"),
    ("vibration(x, u, v, k; c=1.5) = v, -c*k**2*u*sin(x)", "scipy", "solve_bvp", "dense"),
    ("clash(x, y, p, k; c=2.0) = p*c, -k*exp(y)", "scipy", "solve_bvp", "dense"),
    ("ends(ua, va, ub, vb) = ua, ub**2 - vb", "scipy", "bc", "dense"),
    ("ends(ua, va, ub, vb, k; c=1.5) = ua*c, ub, va - k", "scipy", "bc", "dense"),
    ("model(t[n,2], a, w[2]; c=1.0)[i] = a*exp(-w[0]*t[i,0]) + w[1]*t[i,1]*c", "scipy", "curve_fit", "dense"),
]


@pytest.mark.parametrize("formula, to, solver, matrix", FOR_OTHERS)
@pytest.mark.in_turn
def test_others_agree(formula, to, solver, matrix):
    report = sg.check(sg.parse(formula), to=to, solver=solver, matrix=matrix)
    assert report.ok, str(report)


@pytest.mark.parametrize("method", ["BDF", "Radau"])
@pytest.mark.parametrize("matrix", ["dense", "sparse"])
@pytest.mark.parametrize(
    "formula, start, end, args",
    [(ROBERTSON, [1.0, 0.0, 0.0], 1e4, ()), (REACTION, (np.arange(60) < 6).astype(float), 1.0, (0.01,))],
)
@pytest.mark.in_turn
def test_a_stiff_equation(formula, start, end, args, matrix, method):
    module = sg.load(sg.parse(formula), to="scipy", check=False, solver="solve_ivp", matrix=matrix)
    told = {"method": method, "args": args, "rtol": 1e-7, "atol": 1e-10}
    calls = []

    def fun(*given):
        calls.append(1)
        return module.fun(*given)

    without, lazily = solve_ivp(fun, (0, end), start, **told), len(calls)
    calls.clear()
    found = solve_ivp(fun, (0, end), start, jac=module.jac, **told)
    assert found.success
    assert_allclose(found.y[:, -1], without.y[:, -1], rtol=1e-4, atol=1e-7)
    if method == "BDF" and len(start) > 3:  # Radau asks for few Jacobians, and a difference of 3 unknowns is 3 calls
        assert len(calls) + found.njev < lazily


def test_curve_fit():
    module = sg.load(sg.parse(GAUSSIAN), to="scipy", check=False, solver="curve_fit")
    y = module.fun(T, 2.0, 1.5, 0.7) + 0.01 * np.random.default_rng(3).standard_normal(T.size)
    told = {"p0": [1.0, 1.0, 1.0], "full_output": True}
    found, covariance, info, *_ = optimize.curve_fit(module.fun, T, y, jac=module.jac, **told)
    known, expected, without, *_ = optimize.curve_fit(module.fun, T, y, **told)
    assert_allclose(found, known, rtol=1e-5)
    assert_allclose(covariance, expected, rtol=1e-3)
    assert info["nfev"] < without["nfev"] / 2
    assert_allclose(optimize.curve_fit(module.fun, T, y, jac=module.jac)[0], known, rtol=1e-5)  # it counts parameters


FROM_INTEGERS = [("f(t[n], a, b)[i] = a*exp(-b*t[i])", [2, 1.3]), ("f(t[n], b)[i] = 2*exp(-b*t[i])", [1.3])]


@pytest.mark.parametrize(("formula", "expected"), FROM_INTEGERS)
@pytest.mark.parametrize("told", [{}, {"sigma": np.full(T.size, 0.1)}, {"bounds": (0, 9)}], ids=lambda t: "".join(t))
def test_curve_fit_from_integers(formula, expected, told):
    """It hands an integer start on as it is."""
    module = sg.load(sg.parse(formula), to="scipy", check=False, solver="curve_fit")
    start = [1] * len(expected)
    found, _ = optimize.curve_fit(module.fun, T, 2 * np.exp(-1.3 * T), p0=start, jac=module.jac, **told)
    assert_allclose(found, expected, rtol=1e-5)


def test_a_file_for_curve_fit_reads_well():
    (text,) = sg.generate(sg.parse(FROM_INTEGERS[1][0]), to="scipy", solver="curve_fit", check=False).values()
    assert "The parameter is b." in text
    assert "n = t.shape[0]" not in text, "nobody reads it"


def test_solve_bvp():
    bratu = sg.load(sg.parse("bratu(x, u, v) = v, -exp(u)"), to="scipy", solver="solve_bvp")
    ends = sg.load(sg.parse("ends(ua, va, ub, vb) = ua, ub"), to="scipy", solver="bc")
    x = np.linspace(0, 1, 5)
    told = {"fun_jac": bratu.fun_jac, "bc_jac": ends.bc_jac, "tol": 1e-8}
    found = solve_bvp(bratu.fun, ends.bc, x, np.zeros((2, 5)), **told)
    theta = optimize.brentq(lambda t: t - np.sqrt(2) * np.cosh(t / 4), 1, 2)
    exact = -2 * np.log(np.cosh((x - 0.5) * theta / 2) / np.cosh(theta / 4))
    assert found.success
    assert_allclose(found.sol(x)[0], exact, atol=1e-7)


def test_solve_bvp_with_a_parameter():
    """u'' + k^2 u = 0 vanishes at both ends where k is a multiple of pi."""
    calls = []
    wave = sg.load(sg.parse("wave(x, u, v, k) = v, -k**2*u"), to="scipy", solver="solve_bvp")
    ends = sg.load(sg.parse("ends(ua, va, ub, vb, k) = ua, ub, va - k"), to="scipy", solver="bc")
    x = np.linspace(0, 1, 5)
    start = np.array([[0.0, 1, 0, -1, 0], [1.0, 0, -1, 0, 1]])

    def fun(x, y, p):
        calls.append(1)
        return wave.fun(x, y, p)

    found = solve_bvp(fun, ends.bc, x, start, [6.0], fun_jac=wave.fun_jac, bc_jac=ends.bc_jac, tol=1e-6)
    told = len(calls)
    without = solve_bvp(fun, ends.bc, x, start, [6.0], tol=1e-6)
    assert_allclose(found.p, 2 * np.pi, rtol=1e-5)
    assert_allclose(found.p, without.p, rtol=1e-6)
    assert told < 0.8 * (len(calls) - told)


WAVE, ENDS = "wave(x, u, v, k) = v, -k**2*u", "ends(ua, va, ub, vb, k) = ua, ub, va - k"
OTHER_MUTANTS = [  # (declaration, solver, what is printed, what stands in its place, what the check says)
    (LOTKA, "solve_ivp", "_ = forward(t, y, a, b)", "_ = forward(0 * t, y, a, b)", "fun"),
    (LOTKA, "solve_ivp", "out_by_y[0, 1] = ", "out_by_y[0, 1] = -", "jac @ v"),
    (GAUSSIAN, "curve_fit", "def jac(t, height, center, width)", "def jac(t, center, height, width)", "jac @ v"),
    (WAVE, "solve_bvp", "np.stack([out0, out1])", "np.stack([out1, out0])", "fun["),
    (WAVE, "solve_bvp", "jacobian[..., 1, 2] = ", "jacobian[..., 1, 2] = -", "fun_jac["),
    (WAVE, "solve_bvp", "jacobian[:, :2], jacobian[:, 2:]", "jacobian[:, 2:], jacobian[:, :2]", "fun_jac["),
    (WAVE, "solve_bvp", "np.full(x.shape, p[0])", "np.full(x.shape, 2 * p[0])", "fun["),
    (ENDS, "bc", "(k,) = p", "k = -p[0]", "bc["),
    (ENDS, "bc", "jacobian[2, 4] = -1", "jacobian[2, 4] = 1", "bc_jac["),
]


@pytest.mark.parametrize("formula, solver, text, instead, said", OTHER_MUTANTS)
def test_the_check_sees_others(formula, solver, text, instead, said):
    result = printed(sg.parse(formula), "scipy", {"solver": solver})
    files = {name: code.replace(text, instead) for name, code in result.files.items()}
    assert files != result.files
    report = check(as_function(sg.parse(formula)), files, "scipy", result.backend.load(result.program, files))
    assert said in str(report)


VDP, LINE = "vdp(x, v) = v, (1 - x**2)*v - x", "f(a, b, t[n])[i] = a*t[i] + b"
OTHERS_REFUSED = [
    (VDP, {"solver": "solve_ivp"}, r"vdp: the state is v, of 1, and its derivative of 2\. .* --to scipy:x\+v"),
    (LINE, {"solver": "curve_fit", "to": "scipy:a+b"}, r"f: curve_fit gives data, and then the parameters"),
    (LOTKA, {"solver": "solve_ivp", "matrix": "operator"}, r"solve_ivp does not take .*=operator, but as dense or sp"),
    ("f(x, u) = u, x*u", {"solver": "solve_bvp"}, r"f: the inputs of solve_bvp are the place, a number of the state"),
    ("f(x, u) = u", {"solver": "solve_bvp", "to": "scipy:u"}, r"They are not chosen\."),
    ("f(a, b) = a, b", {"solver": "bc"}, r"f: the inputs of bc are the state at the left end, that at the right, and"),
    (LOTKA, {"solver": "odeint"}, r"'odeint' is no solver that is known\. Choose from optimize, curve_fit"),
    (LOTKA, {"solver": "solve_ivp", "to": "numpy"}, r"solver is an option of scipy, and numpy has none such"),
]


def test_solve_bvp_gives_numbers():
    with pytest.raises(UnsupportedError, match=r"lotka: solve_bvp gives numbers, and each is an input"):
        sg.generate(sg.parse(LOTKA), to="scipy", solver="solve_bvp", check=False)


@pytest.mark.parametrize("formula, options, said", OTHERS_REFUSED)
def test_what_others_are_refused(formula, options, said):
    with pytest.raises(TargetError, match=said):
        sg.generate(sg.parse(formula), **{"to": "scipy", **options}, check=False)
