"""Other ways to a gradient: CasADi, SymForce, SymPy and autograd, each as its manual has it."""

from __future__ import annotations

import signal
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import chdir, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from .build import NATIVE, compiled, operations, point_case
from .measure import Case, Unavailable
from .tensors import TENSORS
from .work import BACKWARD, FORWARD, JACOBIAN, POINTS, Job

LIMIT = 120  # seconds for deriving


def casadi(job: Job) -> Case:
    """SX, its C at -O3, with common subexpressions shared."""
    point = POINTS[job.row.formula]
    import casadi as ca

    start = time.process_time()
    x, v = ca.SX.sym("x", len(point.names)), ca.SX.sym("v", point.results)
    y, wrt = ca.vertcat(*point.formula(ca, ca.vertsplit(x))), len(job.row.wrt)
    functions = {
        FORWARD: ca.Function("casadi_forward", [x], [y], {"cse": True}),
        BACKWARD: ca.Function("casadi_backward", [x, v], [ca.densify(ca.jtimes(y, x, v, True))[:wrt]], {"cse": True}),
        JACOBIAN: ca.Function("casadi_jacobian", [x], [y, ca.densify(ca.jacobian(y, x))[:, :wrt].T], {"cse": True}),
    }
    text = ""
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        generator = ca.CodeGenerator("code.c")
        for which, function in functions.items():
            if which != JACOBIAN or job.row.asks == JACOBIAN:
                generator.add(function)
        generator.generate()
        text = Path("code.c").read_text()
    generated = time.process_time() - start
    parameters = {
        FORWARD: ("const double *x, double *y", ["x"], ["y"]),
        BACKWARD: ("const double *x, const double *v, double *g", ["x", "v"], ["g"]),
        JACOBIAN: ("const double *x, double *y, double *g", ["x"], ["y", "g"]),
    }
    wrapped = ""
    for which, (signature, given, results) in parameters.items():
        if which != JACOBIAN or job.row.asks == JACOBIAN:
            room = max(functions[which].sz_w(), 1)
            wrapped += f"""
void run_{which}({signature})
{{
    const double *given[] = {{{", ".join(given)}}};
    double *results[] = {{{", ".join(results)}}}, work[{room}];
    casadi_{which}(given, results, 0, work, 0);
}}
"""
    library, took = compiled(text + wrapped, NATIVE)
    facts = {"generated": generated, "compiled": took, "lines": text.count("\n")}
    if job.row.asks == JACOBIAN:
        facts["operations"] = operations(job, text + wrapped)
    return point_case(job, library, facts)


def symforce(job: Job) -> Case:
    """Its C++ over Eigen, at -O3."""
    point = POINTS[job.row.formula]
    import symforce

    symforce.set_epsilon_to_number()
    import symforce.symbolic as sf
    from symforce import codegen
    from symforce.values import Values

    include = eigen()
    start = time.process_time()
    n, m, wrt = len(point.names), point.results, len(job.row.wrt)
    x, v = sf.Matrix(n, 1).symbolic("x"), sf.Matrix(m, 1).symbolic("v")
    y = sf.Matrix(point.formula(sf, list(x)))
    jacobian = y.jacobian(x)[:, :wrt]
    asked = {
        FORWARD: (Values(x=x), Values(y=y)),
        BACKWARD: (Values(x=x, v=v), Values(g=jacobian.T * v)),
        JACOBIAN: (Values(x=x), Values(y=y, jacobian=jacobian)),
    }
    text = ""
    with tempfile.TemporaryDirectory() as folder:
        for which, (given, results) in asked.items():
            if which != JACOBIAN or job.row.asks == JACOBIAN:
                made = codegen.Codegen(given, results, codegen.CppConfig(), name=f"run_{which}")
                made.generate_function(output_dir=folder, skip_directory_nesting=True)
                text += Path(folder, f"run_{which}.h").read_text()
    generated = time.process_time() - start
    column = "Eigen::Map<const Eigen::Matrix<double, {}, 1>>({})".format
    calls = f"""
#include <Eigen/Core>
{text}
extern "C" void run_forward(const double *x, double *y)
{{
    Eigen::Matrix<double, {m}, 1> out;
    sym::RunForward<double>({column(n, "x")}, &out);
    Eigen::Map<Eigen::Matrix<double, {m}, 1>>(y, {m}) = out;
}}
extern "C" void run_backward(const double *x, const double *v, double *g)
{{
    Eigen::Matrix<double, {wrt}, 1> out;
    sym::RunBackward<double>({column(n, "x")}, {column(m, "v")}, &out);
    Eigen::Map<Eigen::Matrix<double, {wrt}, 1>>(g, {wrt}) = out;
}}
"""
    if job.row.asks == JACOBIAN:
        calls += f"""
extern "C" void run_jacobian(const double *x, double *y, double *g)
{{
    Eigen::Matrix<double, {m}, 1> out;
    Eigen::Matrix<double, {m}, {wrt}> jacobian;
    sym::RunJacobian<double>({column(n, "x")}, &out, &jacobian);
    Eigen::Map<Eigen::Matrix<double, {m}, 1>>(y, {m}) = out;
    Eigen::Map<Eigen::Matrix<double, {m}, {wrt}, Eigen::RowMajor>>(g, {m}, {wrt}) = jacobian;
}}
"""
    library, took = compiled(calls, (*NATIVE, f"-I{include}"), cxx=True)
    facts = {"generated": generated, "compiled": took, "lines": text.count("\n")}
    if job.row.asks == JACOBIAN:
        facts["operations"] = operations(job, calls, (f"-I{include}",), cxx=True)
    return point_case(job, library, facts)


def eigen() -> str:
    folders = ["/usr/include/eigen3", "/usr/local/include/eigen3", "/opt/homebrew/include/eigen3"]
    try:  # CasADi brings it along
        import casadi

        folders.append(str(Path(casadi.__file__).with_name("include") / "eigen3"))
    except ImportError:
        pass
    for folder in folders:
        if Path(folder, "Eigen").exists():
            return folder
    raise Unavailable("there is no Eigen (Debian, Ubuntu: apt install libeigen3-dev; or pip install casadi)")


def lambdify(job: Job) -> Case:
    """SymPy: diff, times the cotangent, and lambdify for NumPy."""
    names, value, gradient, seeds = _sympy(job)
    import sympy

    start = time.process_time()
    forward = sympy.lambdify(names, value, "numpy", cse=True)
    backward = sympy.lambdify([*names, *seeds], gradient, "numpy", cse=True)
    n = job.points
    full = lambda found: [np.broadcast_to(f, n) for f in found]  # noqa: E731
    facts = {"generated": _derived[job.row.formula][0] + time.process_time() - start}
    runs = {
        FORWARD: lambda: full(forward(*job.arguments)),
        BACKWARD: lambda: full(backward(*job.arguments, *job.cotangent)),
    }
    return Case(runs, facts)


def numba(job: Job) -> Case:
    """The same expressions in loops that numba compiles."""
    names, value, gradient, seeds = _sympy(job)
    import math

    import numba
    import sympy

    start = time.process_time()

    def loop(name: str, given: Sequence[tuple[Any, str]], results: Sequence[Any]) -> Any:
        shared, results = sympy.cse(results, symbols=sympy.numbered_symbols("shared"))
        code = sympy.printing.pycode
        lines = [f"def {name}(x, v, out):", "    for i in range(x.shape[1]):"]
        lines += [f"        {symbol} = {place}" for symbol, place in given]
        lines += [f"        {symbol} = {code(e)}" for symbol, e in shared]
        lines += [f"        out[{k}, i] = {code(e)}" for k, e in enumerate(results)]
        made: dict[str, Any] = {"math": math}
        exec("\n".join(lines), made)  # SymPy's text of the formulas of points.py
        return numba.njit(made[name])

    given = [(s, f"x[{k}, i]") for k, s in enumerate(names)]
    forward = loop("forward", given, value)
    backward = loop("backward", [*given, *((s, f"v[{k}, i]") for k, s in enumerate(seeds))], gradient)
    x, v = np.stack(job.arguments), job.cotangent
    y, g = np.zeros_like(v), np.zeros((len(job.row.wrt), job.points))
    facts = {"generated": _derived[job.row.formula][0] + time.process_time() - start}
    start = time.perf_counter()
    forward(x[:, :1], v[:, :1], y[:, :1])
    backward(x[:, :1], v[:, :1], g[:, :1])
    facts |= {"compiled": time.perf_counter() - start, "bytes": g.nbytes}

    def run_forward() -> Any:
        forward(x, v, y)
        return [*y]

    def run_backward() -> Any:
        backward(x, v, g)
        return [*g]

    return Case({FORWARD: run_forward, BACKWARD: run_backward}, facts)


_derived: dict[str, tuple[float, Any]] = {}


def _sympy(job: Job) -> Any:
    """Symbols, value, gradient and cotangents; derived once, with the seconds that took."""
    point = POINTS[job.row.formula]
    import sympy

    if job.row.formula not in _derived:
        start = time.process_time()
        with _at_most(LIMIT):
            names, seeds = sympy.symbols(point.names), sympy.symbols(f"v:{point.results}")
            value = [sympy.sympify(e) for e in point.formula(sympy, names)]
            gradient = [sum(v * e.diff(names[k]) for v, e in zip(seeds, value, strict=True)) for k in job.row.wrt]
        _derived[job.row.formula] = time.process_time() - start, (names, value, gradient, seeds)
    return _derived[job.row.formula][1]


@contextmanager
def _at_most(seconds: int) -> Iterator[None]:
    def over(*_: Any) -> None:
        raise Unavailable(f"deriving takes more than {seconds} s")

    before = signal.signal(signal.SIGALRM, over)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def autograd(job: Job) -> Case:
    """autograd of its NumPy."""
    import autograd
    import autograd.builtins
    import autograd.numpy as anp

    words = _autograd_words()

    def function(inputs: Any) -> Any:
        full = list(job.arguments)
        for k, x in zip(job.row.wrt, inputs, strict=True):
            full[k] = x
        if job.row.kind == "tensor":
            return TENSORS[job.row.formula].framework(words, full)
        return anp.stack(POINTS[job.row.formula].formula(anp, full))

    def forward() -> Any:
        out = function(given)
        return out if job.row.kind == "tensor" else [*out]

    given = autograd.builtins.tuple(tuple(job.arguments[k] for k in job.row.wrt))
    seed = job.cotangent if job.cotangent.shape else float(job.cotangent)
    return Case({FORWARD: forward, BACKWARD: lambda: list(autograd.make_vjp(function)(given)[0](seed))})


def _autograd_words() -> Any:
    import autograd.numpy as anp
    from autograd.scipy.special import erf, logsumexp

    def cross_entropy(logits: Any, target: Any) -> Any:
        return (logsumexp(logits, axis=1) - logits[np.arange(len(target)), target]).mean()

    def layer_norm(x: Any, weight: Any, bias: Any) -> Any:
        apart = x - anp.mean(x, axis=1, keepdims=True)
        return apart / anp.sqrt(anp.mean(apart * apart, axis=1, keepdims=True) + 1e-5) * weight + bias

    def conv2d(x: Any, weight: Any, bias: Any) -> Any:
        h, w = x.shape[2:]
        padded = anp.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), mode="constant")
        taps = [(i, j) for i in range(3) for j in range(3)]
        out = sum(anp.tensordot(weight[:, :, i, j], padded[:, :, i : i + h, j : j + w], [[1], [1]]) for i, j in taps)
        return anp.transpose(out, (1, 0, 2, 3)) + bias[:, None, None]

    def max_pool2d(x: Any) -> Any:
        b, c, h, w = x.shape
        return anp.max(anp.reshape(x, (b, c, h // 2, 2, w // 2, 2)), axis=(3, 5))

    def swap(a: Any) -> Any:
        return anp.swapaxes(a, -1, -2)

    def attention(q: Any, k: Any, v: Any) -> Any:
        score = anp.matmul(q, swap(k)) / q.shape[-1] ** 0.5
        return anp.matmul(anp.exp(score - logsumexp(score, axis=2, keepdims=True)), v)

    return SimpleNamespace(
        sqrt=anp.sqrt, sin=anp.sin, cos=anp.cos, exp=anp.exp, tanh=anp.tanh, matmul=anp.matmul, array=np.asarray,
        sigmoid=lambda x: 1 / (1 + anp.exp(-x)), relu=lambda x: anp.maximum(x, 0),
        gelu=lambda x: 0.5 * x * (1 + erf(x * 0.5**0.5)), swap=swap, logsumexp=logsumexp,
        cross_entropy=cross_entropy, layer_norm=layer_norm, conv2d=conv2d, max_pool2d=max_pool2d, attention=attention,
    )  # fmt: skip
