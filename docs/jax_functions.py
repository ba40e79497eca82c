"""What functions of jax.nn, jax.scipy and optax.losses are in symgrad: for make_frameworks.py.

A row is (name, declaration, inputs, calls): the declaration is a function of the library or formula text, the inputs
are drawn by one letter each (`DRAWN`), and each call is (options of the declaration, those of the other library). A
function that takes its arguments in another way is named with what calls it, in `CALLED`.
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.linalg as linalg
import jax.scipy.special as special
import numpy as np

import symgrad as sg
from symgrad import library
from symgrad.errors import SymgradError

Options = Mapping[str, Any]
Row = tuple[str, str, str, tuple[tuple[Options, Options], ...]]
PLAIN: tuple[tuple[Options, Options], ...] = (({}, {}),)


def options(**values: tuple[Any, ...]) -> tuple[tuple[Options, Options], ...]:
    """Calls without options, and with the values of one that both call so."""
    ((name, each),) = values.items()
    return (*PLAIN, *(({name: v}, {name: v}) for v in each))


AXES: tuple[tuple[Options, Options], ...] = tuple(({"axis": k - 2}, {"axis": k}) for k in (0, 1))
KEPT: tuple[tuple[Options, Options], ...] = (({"axis": -1, "keepdims": True}, {"axis": 1, "keepdims": True}),)


def spread(rng: np.random.Generator) -> Any:
    """Numbers of several sizes, and 0."""
    return np.concatenate([rng.standard_normal(9) * 3, [0.0, 30.0, -30.0]]).reshape(3, 4)


DRAWN: Mapping[str, Callable[[np.random.Generator], Any]] = {
    "r": spread,
    "x": lambda rng: rng.standard_normal((3, 4)) * 2,
    "y": lambda rng: rng.standard_normal((3, 4)),
    "p": lambda rng: rng.uniform(0.2, 4.0, (3, 4)),
    "P": lambda rng: rng.uniform(0.2, 4.0, (3, 4)),
    "q": lambda rng: rng.uniform(1.5, 4.0, (3, 4)),
    "u": lambda rng: rng.uniform(0.05, 0.95, (3, 4)),
    "h": lambda rng: rng.uniform(-0.9, 0.9, (3, 4)),
    "n": lambda rng: rng.integers(0, 5, (3, 4)).astype(float),
    "b": lambda rng: rng.integers(0, 2, (3, 4)).astype(float),
    "s": lambda rng: rng.choice([-1.0, 1.0], (3, 4)),
    "d": lambda rng: rng.dirichlet(np.ones(4), 3),
    "D": lambda rng: rng.dirichlet(np.ones(4)),
    "W": lambda rng: rng.uniform(0.5, 3.0, 4),
    "N": lambda rng: rng.integers(1, 5, (3, 4)).astype(float),
    "H": lambda rng: rng.uniform(-2.0, -1.0, (3, 4)),
    "G": lambda rng: rng.uniform(1.0, 2.0, (3, 4)),
    "c": lambda rng: rng.integers(0, 4, 3),
    "T": lambda rng: rng.standard_normal((4, 3)),
    "m": lambda rng: rng.random((3, 4)) < 0.7,
    "v": lambda rng: rng.standard_normal(7),
    "k": lambda rng: rng.standard_normal(3),
    "A": lambda rng: rng.standard_normal((3, 3)) + 3 * np.eye(3),
    "S": lambda rng: (lambda a: a @ a.T + np.eye(3))(rng.standard_normal((3, 3))),
    "L": lambda rng: np.tril(rng.standard_normal((3, 3))) + 3 * np.eye(3),
    "B": lambda rng: rng.standard_normal((3, 2)),
    "t": lambda rng: rng.standard_normal(3),
    "Q": lambda rng: rng.standard_normal((2, 5, 1, 4)),
    "K": lambda rng: rng.standard_normal((2, 6, 1, 4)),
    "M": lambda rng: rng.random((5, 6)) < 0.7,
    "F": lambda rng: rng.standard_normal((5, 6)),
}

FIXED = "nNbscmMP"  # labels, counts and masks; P, where JAX raises of the gradient
CLOSE = {"nn.dot_product_attention": 1e-5}  # JAX computes its softmax in float32

NN: tuple[Row, ...] = (
    ("nn.relu", "relu", "r", PLAIN),
    ("nn.relu6", "relu6", "r", PLAIN),
    ("nn.sigmoid", "sigmoid", "r", PLAIN),
    ("nn.softplus", "softplus", "r", PLAIN),
    ("nn.sparse_plus", "f(x) = where(x <= -1, 0, where(x >= 1, x, (x + 1)**2/4))", "r", PLAIN),
    ("nn.sparse_sigmoid", "f(x) = clip((x + 1)/2, 0, 1)", "x", PLAIN),
    ("nn.soft_sign", "softsign", "r", PLAIN),
    ("nn.silu", "silu", "r", PLAIN),
    ("nn.log_sigmoid", "logsigmoid", "r", PLAIN),
    ("nn.leaky_relu", "leaky_relu", "x", options(negative_slope=(0.2, 1.5))),
    ("nn.leaky_relu", "leaky_relu", "r", PLAIN),
    ("nn.hard_sigmoid", "hardsigmoid", "x", PLAIN),
    ("nn.hard_silu", "hardswish", "x", PLAIN),
    ("nn.hard_tanh", "hardtanh", "x", PLAIN),
    ("nn.elu", "elu", "r", options(alpha=(0.5, 2.0))),
    ("nn.celu", "celu", "r", options(alpha=(0.5, 2.0))),
    ("nn.selu", "selu", "r", PLAIN),
    ("nn.gelu", "gelu", "r", (({}, {}), ({}, {"approximate": True}))),
    ("nn.gelu", "gelu_exact", "r", (({}, {"approximate": False}),)),
    ("nn.glu", "glu_halves", "r", PLAIN),
    ("nn.glu", "glu_halves", "T", (({"before": 0, "behind": 1}, {"axis": 0}),)),
    ("nn.squareplus", "squareplus", "r", options(b=(1.0, 0.5))),
    ("nn.mish", "mish", "r", PLAIN),
    ("nn.tanh", "tanh", "r", PLAIN),
    ("nn.identity", "f(x) = x", "r", PLAIN),
    ("nn.softmax", "softmax", "r", AXES),
    ("nn.softmax", "masked_softmax", "rm", PLAIN),
    ("nn.log_softmax", "log_softmax", "r", AXES),
    ("nn.logsumexp", "logsumexp", "r", (*AXES, ({"axis": (-2, -1)}, {}), *KEPT)),
    ("nn.logmeanexp", "logmeanexp", "r", (({}, {"axis": -1}),)),
    ("nn.log1mexp", "f(x) = log1mexp(x)", "p", PLAIN),
    ("nn.standardize", "standardize", "x", (({}, {}), ({"eps": 0.1}, {"epsilon": 0.1}))),
    ("nn.one_hot", "f(i[n]: int; c=5) -> out: out[k:n, j:c] = where(i[k] == j, 1.0, 0.0)", "c",
     (({}, {"num_classes": 5}),)),
    ("nn.dot_product_attention", "attention", "QKK", (({}, {}), ({"scale": 0.3}, {"scale": 0.3}))),
    ("nn.dot_product_attention", "causal_attention", "QQQ", (({}, {"is_causal": True}),)),
    ("nn.dot_product_attention", "masked_attention", "QKKM", PLAIN),
    ("nn.dot_product_attention", "biased_attention", "QKKF", PLAIN),
)  # fmt: skip

ORDERS: tuple[tuple[Options, Options], ...] = tuple(({"s": s}, {"s": s}) for s in (1.5, 4.0))
ELEMENTWISE: tuple[Row, ...] = tuple(
    (f"scipy.special.{name}", text if "(" in text else f"f({text}) = {name}({text})", drawn, PLAIN)
    for name, text, drawn in (
        ("logit", "f(p) = log(p/(1 - p))", "u"), ("expit", "f(x) = sigmoid(x)", "r"),
        ("entr", "f(x) = -xlogy(x, x)", "p"), ("rel_entr", "f(x, y) = x*log(x/y)", "pp"),
        ("kl_div", "f(x, y) = x*log(x/y) - x + y", "pp"), ("xlogy", "x, y", "xp"),
        ("xlog1py", "f(x, y) = x*log1p(y)", "xp"), ("digamma", "x", "p"), ("gammaln", "f(x) = lgamma(x)", "p"),
        ("gamma", "f(x) = tgamma(x)", "p"), ("gammainc", "f(a, x) = gammainc(a, x)", "pp"),
        ("gammaincc", "f(a, x) = gammaincc(a, x)", "pp"), ("erf", "x", "x"), ("erfc", "x", "x"), ("erfcx", "x", "x"),
        ("erfinv", "x", "h"), ("ndtr", "x", "x"), ("ndtri", "x", "u"), ("log_ndtr", "x", "r"),
        ("i0", "f(x) = bessel_i0(x)", "x"), ("i0e", "f(x) = bessel_i0e(x)", "x"), ("i1", "f(x) = bessel_i1(x)", "x"),
        ("i1e", "f(x) = bessel_i1e(x)", "x"), ("expi", "x", "p"), ("exp1", "f(x) = -expi(-x)", "p"),
        ("betaln", "f(a, b) = lgamma(a) + lgamma(b) - lgamma(a + b)", "pp"),
        ("beta", "f(a, b) = exp(lgamma(a) + lgamma(b) - lgamma(a + b))", "pp"),
        ("boxcox", "f(x, l) = (x**l - 1)/l", "pp"), ("boxcox1p", "f(x, l) = ((1 + x)**l - 1)/l", "pp"),
        ("poch", "f(z, m) = exp(lgamma(z + m) - lgamma(z))", "pp"),
        ("factorial", "f(n) = tgamma(n + 1)", "p"),
    )
)  # fmt: skip
SPECIAL: tuple[Row, ...] = (
    *ELEMENTWISE,
    ("scipy.special.polygamma", "f(x) = polygamma(1, x)", "p", (({}, {"n": 1}),)),
    ("scipy.special.polygamma", "f(x) = polygamma(2, x)", "p", (({}, {"n": 2}),)),
    ("scipy.special.zeta", "f(q; s=2.5) = hurwitz(s, q)", "p", ORDERS),
    ("scipy.special.gammainc", "f(x; s=2.5) = gammainc(s, x)", "p", ORDERS),
    ("scipy.special.gammaincc", "f(x; s=2.5) = gammaincc(s, x)", "p", ORDERS),
    ("scipy.special.multigammaln", "f(a) = log(pi)/2 + lgamma(a) + lgamma(a - 0.5)", "q", (({}, {"d": 2}),)),
    ("scipy.special.logsumexp", "logsumexp", "r", (*AXES, *KEPT)),
    ("scipy.special.softmax", "softmax", "r", AXES),
    ("scipy.special.log_softmax", "log_softmax", "r", AXES),
)  # fmt: skip

STATS: tuple[Row, ...] = tuple(
    (f"scipy.stats.{name}", text, drawn, PLAIN)
    for name, text, drawn in (
        ("norm.logpdf", "gaussian_logpdf", "xyp"), ("norm.pdf", "gaussian_pdf", "xyp"),
        ("norm.cdf", "f(x, m, s) = ndtr((x - m)/s)", "xyp"), ("norm.logcdf", "f(x, m, s) = log_ndtr((x - m)/s)", "xyp"),
        ("norm.sf", "f(x, m, s) = ndtr((m - x)/s)", "xyp"), ("norm.logsf", "f(x, m, s) = log_ndtr((m - x)/s)", "xyp"),
        ("norm.ppf", "f(p, m, s) = ndtri(p)*s + m", "uyp"), ("norm.isf", "f(p, m, s) = m - ndtri(p)*s", "uyp"),
        ("cauchy.logpdf", "cauchy_logpdf", "xyp"), ("cauchy.cdf", "f(x, m, s) = atan((x - m)/s)/pi + 1/2", "xyp"),
        ("laplace.logpdf", "laplace_logpdf", "xyp"),
        ("laplace.cdf", "f(x, m, s) = where(x < m, exp((x - m)/s)/2, 1 - exp((m - x)/s)/2)", "xyp"),
        ("logistic.logpdf", "f(x, m, s): z = (x - m)/s; out = -z - 2*softplus(-z) - log(s)", "xyp"),
        ("logistic.cdf", "f(x, m, s) = sigmoid((x - m)/s)", "xyp"),
        ("expon.logpdf", "f(x, m, s) = -(x - m)/s - log(s)", "qup"),
        ("beta.logpdf", "f(x, a, b) = (a - 1)*log(x) + (b - 1)*log1p(-x) + lgamma(a + b) - lgamma(a) - lgamma(b)",
         "upp"),
        ("gamma.logpdf", "f(x, a) = (a - 1)*log(x) - x - lgamma(a)", "pp"),
        ("gamma.cdf", "f(x, a) = gammainc(a, x)", "pp"),
        ("chi2.logpdf", "f(x, k) = (k/2 - 1)*log(x) - x/2 - lgamma(k/2) - k/2*log(2)", "pp"),
        ("t.logpdf", "f(x, k) = lgamma((k + 1)/2) - lgamma(k/2) - log(k*pi)/2 - (k + 1)/2*log1p(x**2/k)", "xp"),
        ("pareto.logpdf", "f(x, b) = log(b) - (b + 1)*log(x)", "qp"),
        ("gennorm.logpdf", "f(x, b) = log(b/2) - lgamma(1/b) - abs(x)**b", "xq"),
        ("gumbel_r.logpdf", "f(x, m, s): z = (x - m)/s; out = -z - exp(-z) - log(s)", "xyP"),
        ("gumbel_l.logpdf", "f(x, m, s): z = (x - m)/s; out = z - exp(z) - log(s)", "xyP"),
        ("vonmises.logpdf", "f(x, k) = k*(cos(x) - 1) - log(2*pi) - log(bessel_i0e(k))", "xp"),
        ("wrapcauchy.logpdf", "f(x, c) = log((1 - c**2)/(2*pi*(1 + c**2 - 2*c*cos(x))))", "pu"),
        ("poisson.logpmf", "f(k, m) = xlogy(k, m) - m - lgamma(k + 1)", "np"),
        ("bernoulli.logpmf", "f(k, p) = xlogy(k, p) + xlogy(1 - k, 1 - p)", "bu"),
        ("geom.logpmf", "f(k, p) = (k - 1)*log1p(-p) + log(p)", "Nu"),
        ("truncnorm.logpdf", "f(x, a, b) = -x**2/2 - log(2*pi)/2 - log(ndtr(b) - ndtr(a))", "hHG"),
        ("dirichlet.logpdf", "f(x[n], a[n]) = lgamma(sum[i](a[i])) - sum[i](lgamma(a[i]) - (a[i] - 1)*log(x[i]))",
         "DW"),
        ("multivariate_normal.logpdf", """f(x[n], m[n], c[n,n]):
            d[i] = x[i] - m[i]
            z = solve(c, d)
            out = -(sum[i](d[i]*z[i]) + logdet(c) + n*log(2*pi))/2""", "ttS"),
    )
)  # fmt: skip

LINALG: tuple[Row, ...] = (
    ("scipy.linalg.cholesky", "cholesky", "S", (({}, {"lower": True}), ({"upper": True}, {"lower": False}))),
    ("scipy.linalg.solve_triangular", "solve_triangular", "LB", (({}, {"lower": True}),)),
    ("scipy.linalg.solve", "solve", "At", PLAIN),
    ("scipy.linalg.solve", "solve", "AB", (({"columns": True}, {}),)),
    ("scipy.linalg.inv", "inverse", "A", PLAIN),
    ("scipy.linalg.det", "determinant", "A", PLAIN),
    ("scipy.linalg.expm", "matrix_exponential", "A", PLAIN),
    ("scipy.linalg.eigvalsh", "symmetric_eigenvalues", "S", PLAIN),
    ("scipy.linalg.svdvals", "singular_values", "A", PLAIN),
    ("scipy.linalg.cho_solve", "cholesky_solve", "SB", PLAIN),
    ("scipy.signal.convolve", "convolve", "vk", PLAIN),
    ("scipy.signal.convolve", "f(x[n], w[k]) -> out: out[i] = sum[j](x[i + k - 1 - j]*w[j])", "vk",
     (({}, {"mode": "valid"}),)),
    ("scipy.signal.correlate", "correlate", "vk", (({}, {"mode": "valid"}),)),
)  # fmt: skip

SUMS: tuple[tuple[Options, Options], ...] = (({"reduction": "none"}, {}),)
OPTAX: tuple[Row, ...] = (
    ("squared_error", "mse_loss", "xy", SUMS),
    ("l2_loss", "f(x, y) = (x - y)**2/2", "xy", PLAIN),
    ("huber_loss", "huber_loss", "xy", tuple(({"reduction": "none",
     "delta": d}, {"delta": d}) for d in (1.0, 0.5, 2.0))),
    ("log_cosh", "log_cosh_loss", "xy", SUMS),
    ("cosine_similarity", "cosine_similarity", "xy", (({"eps": 0.0}, {}),)),
    ("cosine_distance", "f(x[...,d], y[...,d]) -> o: o[...] = 1 - sum[j](x[...,j]*y[...,j])/sqrt(sum[j](x[...,j]**2)"
     "*sum[j](y[...,j]**2))", "xy", PLAIN),
    ("sigmoid_binary_cross_entropy", "binary_cross_entropy_with_logits", "ru", SUMS),
    ("softmax_cross_entropy", "soft_cross_entropy", "rd", SUMS),
    ("safe_softmax_cross_entropy", "soft_cross_entropy", "rd", SUMS),
    ("softmax_cross_entropy_with_integer_labels", "cross_entropy", "rc", SUMS),
    ("hinge_loss", "hinge_loss", "xs", SUMS),
    ("perceptron_loss", "f(x, y) = maximum(-x*y, 0)", "xs", PLAIN),
    ("kl_divergence", "f(q[...,c], p[...,c]) -> o: o[...] = sum[j](p[...,j]*(log(p[...,j]) - q[...,j]))", "xd", PLAIN),
    ("kl_divergence_with_log_targets",
     "f(q[...,c], p[...,c]) -> o: o[...] = sum[j](exp(p[...,j])*(p[...,j] - q[...,j]))",
     "xy", PLAIN),
    ("convex_kl_divergence", "f(q[...,c], p[...,c]) -> o: o[...] = sum[j](p[...,j]*(log(p[...,j]) - q[...,j])"
     " + exp(q[...,j]) - p[...,j])", "xd", PLAIN),
    ("poly_loss_cross_entropy", "f(x[...,c], p[...,c]; eps=2.0) -> o: l[...,j] = x[...,j] - logsumexp[k](x[...,k]);"
     " o[...] = sum[j](eps*p[...,j]*(1 - exp(l[...,j])) - p[...,j]*l[...,j])", "xd",
     (({}, {}), ({"eps": 0.5}, {"epsilon": 0.5}))),
    ("sigmoid_focal_loss", "focal_loss", "xb", (({"reduction": "none"}, {}),
     ({"reduction": "none", "gamma": 1.0}, {"gamma": 1.0}))),
    ("smooth_labels", "f(x[...,c]; alpha=0.1) -> o: o[...,j] = (1 - alpha)*x[...,j] + alpha/c", "d",
     (({"alpha": 0.3}, {"alpha": 0.3}),)),
    ("triplet_margin_loss", "triplet_margin_loss", "xyp",
     (({"reduction": "none", "eps": 0.0}, {"eps": 0.0}), ({"reduction": "none",
      "eps": 0.0, "margin": 2.0}, {"eps": 0.0, "margin": 2.0}))),
    ("multiclass_perceptron_loss", "f(x[n,c], t[n]: int) -> o: o[i] = max[j](x[i,j]) - x[i,t[i]]", "xc", PLAIN),
    ("multiclass_hinge_loss", "f(x[n,c], t[n]: int) -> o: o[i] = max[j](x[i,j] + where(j == t[i], 0, 1)) - x[i,t[i]]",
     "xc", PLAIN),
    ("sparsemax_loss", "f(x, y): z = (1 - 2*y)*x; out = where(z <= -1, 0, where(z >= 1, z, (z + 1)**2/4))",
     "xb", PLAIN),
    ("ntxent", "no_declaration", "xc", PLAIN),
    ("ctc_loss", "no_declaration", "xc", PLAIN),
)  # fmt: skip
ROWS: tuple[Row, ...] = (*NN, *SPECIAL, *STATS, *LINALG, *((f"optax.losses.{n}", *rest) for n,
 *rest in OPTAX))  # type: ignore[misc]


def heads(call: Callable[..., Any]) -> Callable[..., Any]:
    """Attention of (b, n, h, d) by one of (b, h, n, d)."""

    def turned(a: Any) -> Any:
        return jnp.swapaxes(a, -3, -2) if a.ndim == 4 else a

    return lambda *arrays: turned(call(*map(turned, arrays)))


CALLED: Mapping[str, Callable[..., Any]] = {
    "nn.softmax/masked_softmax": lambda x, m: jax.nn.softmax(x, where=m),
    "nn.dot_product_attention/masked_attention": lambda q, k, v, m: jax.nn.dot_product_attention(q, k, v,
        mask=m[None, None]),
    "nn.dot_product_attention/biased_attention": lambda q, k, v, b: jax.nn.dot_product_attention(q, k, v,
        bias=b[None, None]),
    "scipy.special.polygamma": lambda x, n: special.polygamma(n, x),
    "scipy.special.zeta": lambda q, s: special.zeta(s, q),
    "scipy.special.gammainc/f(x; s=2.5) = gammainc(s, x)": lambda x, s: special.gammainc(s, x),
    "scipy.special.gammaincc/f(x; s=2.5) = gammaincc(s, x)": lambda x, s: special.gammaincc(s, x),
    "scipy.linalg.eigvalsh": lambda a: jnp.linalg.eigvalsh(a),
    "scipy.linalg.svdvals": lambda a: jnp.linalg.svd(a, compute_uv=False),
    "scipy.linalg.cho_solve": lambda a, b: linalg.cho_solve((linalg.cholesky(a, lower=True), True), b),
}  # fmt: skip


def theirs(name: str, declaration: str) -> Callable[..., Any]:
    """The function that is compared with."""
    if (own := CALLED.get(f"{name}/{declaration}") or CALLED.get(name)) is not None:
        return own
    module, _, word = (name if name.startswith("optax") else f"jax.{name}").rpartition(".")
    for depth in range(len(module.split("."))):  # scipy.stats.norm is a module, too
        try:
            found = importlib.import_module(module.rsplit(".", depth)[0]) if depth else importlib.import_module(module)
        except ModuleNotFoundError:
            continue
        break
    return getattr(found, word)  # type: ignore[no-any-return]


def ours(declaration: str, given: Options) -> Callable[..., Any]:
    """The function of the printed JAX module."""
    declared = sg.parse(declaration) if "(" in declaration else getattr(library, declaration)
    static = {} if "(" in declaration else {k: v for k, v in given.items() if k in declared.signature.static}
    module = sg.load(declared, to="jax", check=False, **static).module
    name = next(n for n in module.__all__ if n not in ("forward", "backward"))
    passed = {k: v for k, v in given.items() if k not in static}
    function = getattr(module, name)
    return lambda *arrays: function(*arrays, **passed)


def outcome(row: Row, given: Options, asked: Options) -> tuple[str, str]:
    """Whether values and gradients agree, and if not, why."""
    name, declaration, drawn, _ = row
    rng = np.random.default_rng(3)
    arrays = [DRAWN[letter](rng) for letter in drawn]
    if declaration == "no_declaration":
        return "cannot", "no such function"
    try:
        own = ours(declaration, given)
        call = heads(own) if "attention" in name else own
        results = [both(f, arrays, drawn) for f in (call, lambda *xs: theirs(name, declaration)(*xs, **asked))]
    except SymgradError as error:
        return "cannot", str(error).splitlines()[0]
    for k, (a, b) in enumerate(zip(*results, strict=True)):
        what = f"the gradient by argument {k - 1}" if k else "values"
        if not np.allclose(a, b, rtol=CLOSE.get(name, 1e-7), atol=CLOSE.get(name, 1e-9), equal_nan=True):
            worst = np.nanmax(np.abs(np.asarray(a) - np.asarray(b))) if np.shape(a) == np.shape(b) else "another shape"
            return "differ", f"{what}: {worst:.1e}" if not isinstance(worst, str) else f"{what}: {worst}"
    return "agree", ""


def both(call: Callable[..., Any], arrays: list[Any], drawn: str) -> list[Any]:
    """The value, and the gradients of a sum of it with weights that are not the same for any two elements."""
    moving = [k for k, letter in enumerate(drawn) if letter not in FIXED]

    def of_moving(*some: Any) -> Any:
        given = dict(zip(moving, some, strict=True))
        return call(*(given.get(k, jnp.asarray(a)) for k, a in enumerate(arrays)))

    with jax.enable_x64(True):
        if not moving:
            return [call(*map(jnp.asarray, arrays))]
        out, pull = jax.vjp(of_moving, *(jnp.asarray(arrays[k]) for k in moving))
        slopes = pull(jnp.linspace(0.5, 1.5, max(out.size, 1))[: out.size].reshape(out.shape))
        turned = [g + g.T if drawn[k] == "S" else g for k, g in zip(moving, slopes, strict=True)]  # they are symmetric
        return [out, *turned]


def compared(rows: tuple[Row, ...] = ROWS) -> Iterator[tuple[str, Counter[tuple[str, str]]]]:
    """What came of each function, under its name."""
    names = dict.fromkeys(row[0] for row in rows)
    for name in names:
        yield name, Counter(outcome(row, *pair) for row in rows if row[0] == name for pair in row[3])
