"""The oracle accepts what is right, says clearly what is wrong, and shares nothing with what derives."""

from __future__ import annotations

import ast
import dataclasses
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import sympy
from loading import Compiled, numpy_module
from printed import FUNCTIONS, NUMPY, c_files, numpy_files

import symgrad as sg
import symgrad.verify
from symgrad.declare.draft import Draft
from symgrad.expr import HALF, ZERO, apply, const, index, ref, select
from symgrad.formulas import parse
from symgrad.ops import OPS
from symgrad.pipeline import printed, verified
from symgrad.verify import check, known, partials
from symgrad.verify.calls import Call, _partial, manners
from symgrad.verify.cases import combinations
from symgrad.verify.reference import Declaration
from symgrad.verify.sampling import sample
from symgrad.verify.sizes import choose, fitting, met, violations

FOLDER = Path(symgrad.verify.__file__).parent


def checked(name, text=None, **options):
    files = numpy_files(name, text)
    return check(FUNCTIONS[name](), files, "numpy", numpy_module(files), **options)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("to", ["numpy", "c"])
def test_correct_files_agree(name, to):
    function = FUNCTIONS[name]()
    files = numpy_files(name) if to == "numpy" else c_files(name)
    artefact = numpy_module(files) if to == "numpy" else Compiled(function, files)
    report = check(function, files, to, artefact)
    assert report.ok, str(report)
    assert report.points >= 8
    assert report.worst.ulps < 20
    assert str(report).startswith(f"{name}   {to}   agrees with the formula and J^T v   {report.points} points")


def test_the_same_seed_gives_the_same_report():
    assert checked("softmax") == checked("softmax")


def test_full_checks_more_points():
    assert checked("squares", full=True).points > 2 * checked("squares").points


def test_a_report_says_what_failed_where_and_how_to_see_it_again():
    report = checked("layer_norm", NUMPY["layer_norm"].replace("- xhat * (gn", "+ xhat * (gn"))
    text = str(report)
    for word in ("DISAGREES", "grad_x[0,0]", "expected", "obtained", "gain", "grad_output", "seed=0, case 0", "[text]"):
        assert word in text


def test_an_artefact_without_text_is_checked_by_its_values():
    module = numpy_module(numpy_files("softmax"))
    assert check(FUNCTIONS["softmax"](), {}, "torch", module).ok
    wrong = numpy_module(
        numpy_files("softmax", NUMPY["softmax"].replace("out * (grad_output - ", "out * (grad_output + "))
    )
    assert not check(FUNCTIONS["softmax"](), {}, "torch", wrong).ok


def test_accuracy_that_the_formula_loses_is_a_loss_and_no_failure():
    text = NUMPY["softmax"].replace("np.exp(x - x.max(axis=1, keepdims=True))", "np.exp(x)")
    report = checked("softmax", text)
    assert report.ok and any("overflows" in loss.said for loss in report.losses)
    _, second = str(report).splitlines()
    assert re.fullmatch(r"  accuracy: overflows at \d of \d+ points \(worst: out\[\d,\d\] at x = \[.*\]\)", second)
    assert len(second) < 120


def test_a_tie_that_rounding_breaks_is_no_loss():
    """Of the largest of sums, backward asks for the one that it computes in another order: mostly for none."""
    formula = parse("f(x[n], y[n]) = max[i](x[i]*x[i] + x[i]*y[i]*y[i])")
    right = printed(formula, "numpy")
    (path, text), *_ = right.files.items()
    tie = "tie = x * x + x * y * y == out"
    assert tie in text and verified(formula, right, right.load()).ok
    other = text.replace(tie, "tie = x * (x + y * y) == out")
    wrong = dataclasses.replace(right, files={path: other})
    report = verified(formula, wrong, wrong.load())
    assert not report.ok and "no right digit" in str(report)


def test_a_loss_is_one_short_line():
    body = lambda x: (1 + apply("exp", x)) - apply("exp", x)  # noqa: E731
    files = file("1 + np.exp(x) - np.exp(x)", "g * (np.exp(x) - np.exp(x))")
    report = check(pointwise("f", body), files, "numpy", numpy_module(files))
    assert report.ok and report.losses
    _, second = str(report).splitlines()
    assert re.fullmatch(r"  accuracy: \w.* at \d+ of 123 points \(worst: (out|grad_x) at x = \S+\)", second)
    assert 0 < report.accuracy.points < report.points


# independence


@pytest.fixture
def forgetful():
    """Of a test that changes what is true: nothing is known before it, nor after."""
    for forget in (partials.symbolic.cache_clear, known.forget):
        forget()
    yield
    for forget in (partials.symbolic.cache_clear, known.forget):
        forget()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_derivative_column_is_never_read(name, monkeypatch, forgetful):
    def forbidden(*args):
        raise AssertionError("the oracle asked for a derivative")

    for op, row in OPS.items():
        monkeypatch.setitem(OPS, op, dataclasses.replace(row, derivative=forbidden))
    assert checked(name).ok


def test_it_imports_nothing_that_derives():
    # of source, the roles; `later` imports SymPy where it is asked for, `records` makes data classes; `kinds` has names
    allowed = {"errors", "expr", "ops", "evaluate", "domain", "ir", "declare", "source", "later", "records", "kinds"}
    for path in FOLDER.rglob("*.py"):
        depth = len(path.relative_to(FOLDER).parts)
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.level > depth:
                measures = {"numerics"} if path.name == "accuracy.py" else set()  # it counts bits, and judges nothing
                assert node.module.split(".")[0] in allowed | measures, path
            if isinstance(node, ast.ImportFrom) and not node.level:
                assert not node.module.startswith("symgrad"), path
            if isinstance(node, ast.Attribute):
                assert node.attr != "derivative", path


def test_a_wrong_witness_is_noticed(monkeypatch, forgetful):
    row = OPS["exp"]
    monkeypatch.setitem(OPS, "exp", dataclasses.replace(row, sympy=lambda x: sympy.exp(x) + x / 10**9))
    report = checked("softmax")
    assert "the two witnesses disagree" in str(report)


# kinks, domains, long lines


def pointwise(name, body, inputs="x"):
    d = Draft(name)
    d.dim("...")
    for i in inputs:
        d.input(i, (ref("..."),))
    d.define("out", (index("..."),), body(*(ref(i, index("...")) for i in inputs)))
    return d.finish(["out"])


def file(forward, *gradients, inputs="x"):
    names = ", ".join(inputs)
    lines = [
        "import numpy as np",
        f"def forward({names}):",
        *(f"    {i} = np.asarray({i})" for i in inputs),
        f"    return {forward}, ({names},)",
        "def backward(saved, grad_output=None, needs_input_grad=None):",
        f"    {names}, = saved",
        "    if grad_output is None and np.ndim(x):",
        "        raise ValueError('grad can be implicitly created only for scalar outputs')",
        "    g = np.ones((), x.dtype) if grad_output is None else np.asarray(grad_output)",
        *(
            f"    grad_{i} = {t} if needs_input_grad[{k}] else None"
            for k, (i, t) in enumerate(zip(inputs, gradients, strict=True))
        ),
        f"    return ({', '.join('grad_' + i for i in inputs)},)" if len(inputs) > 1 else "    return (grad_x,)",
    ]
    return {"printed.py": "\n".join(lines) + "\n"}


MX = ("g * (x > y) + g * (x == y) * {tie}", "g * (x < y) + g * (x == y) * {tie}")
POINTWISE = [
    ("relu", lambda x: apply("relu", x), "np.maximum(x, 0)", ["np.where(x > 0, g, 0)"], True),
    ("relu with 1 at 0", lambda x: apply("relu", x), "np.maximum(x, 0)", ["np.where(x >= 0, g, 0)"], False),
    ("root", lambda x: apply("sqrt", x), "np.sqrt(x)", ["g / (2 * np.sqrt(x))"], True),
    ("root wrongly", lambda x: apply("sqrt", x), "np.sqrt(x)", ["g / np.sqrt(2 * x)"], False),
    ("cube", lambda x: x**3, "x**3", ["3 * x**2 * g"], True),
    ("sine", lambda x: apply("sin", x), "np.sin(x)", ["g * np.cos(x)"], True),
    ("sine by digits", lambda x: apply("sin", x), "np.sin(x)", ["g * np.cos(1.0000000000000002 * x)"], False),
    ("maximum", lambda x, y: apply("maximum", x, y), "np.maximum(x, y)", [t.format(tie="0.5") for t in MX], True),
    (
        "maximum with 1 at a tie",
        lambda x, y: apply("maximum", x, y),
        "np.maximum(x, y)",
        [t.format(tie="1") for t in MX],
        False,
    ),
    (
        "clipped wrongly at 36.7",
        lambda x: x * 2,
        "np.where(x > 36, x + x, 2 * x)",
        ["np.where(x == 36.7, g, 2 * g)"],
        False,
    ),
    # where floating point gives anything, and the text is as good as the formula
    (
        "a comparison with 1/0",
        lambda x: select(apply("gt", 1 / x, x), x, 2 * x),
        "np.where(1 / x > x, x, 2 * x)",
        ["np.where(1 / x > x, g, 2 * g)"],
        True,
    ),
    (
        "the sine of a large ratio",
        lambda x, y: apply("sin", 1 + y / x),
        "np.sin(1 + y / x)",
        ["-g * y * np.cos(1 + y / x) / x**2", "g * np.cos(1 + y / x) / x"],
        True,
    ),
    (
        "the sine of a large power",
        lambda x: apply("sin", apply("abs", x) * x**3),
        "np.sin(np.abs(x) * x**3)",
        ["4 * g * np.abs(x) * x**2 * np.cos(np.abs(x) * x**3)"],
        True,
    ),
    (
        "the root of what underflows",
        lambda x: apply("sqrt", apply("exp", x)),
        "np.sqrt(np.exp(x))",
        ["0.5 * g * np.sqrt(np.exp(x))"],
        True,
    ),
    (
        "the largest of ratios",
        lambda x, y: apply("minimum", 1, x / (y - x)),
        "np.minimum(1, x / (y - x))",
        [
            "y * np.where(x / (y - x) < 1, g, np.where(x / (y - x) == 1, g / 2, 0)) / (y - x) ** 2",
            "-x * np.where(x / (y - x) < 1, g, np.where(x / (y - x) == 1, g / 2, 0)) / (y - x) ** 2",
        ],
        True,
    ),
    (
        "the sine of an exponential of a power",
        lambda x: apply("sin", apply("exp", x**3)),
        "np.sin(np.exp(x**3))",
        ["3 * g * x**2 * np.exp(x**3) * np.cos(np.exp(x**3))"],
        True,
    ),
    (
        "the sine of an exponential of a fourth power, too wild for differences",
        lambda x: apply("sin", apply("exp", x**4)),
        "np.sin(np.exp(x**4))",
        ["4 * g * x**3 * np.exp(x**4) * np.cos(np.exp(x**4))"],
        True,
    ),
    (
        "wrong where it overflows",
        lambda x: x**2 / (1 + x**2),
        "np.where(x == 1e200, 3 * x**2, x**2) / (1 + x**2)",
        ["2 * g * x / (1 + x**2) ** 2"],
        False,
    ),
]


@pytest.mark.parametrize("row", POINTWISE, ids=[r[0] for r in POINTWISE])
def test_kinks_edges_and_domains(row):
    _, body, forward, gradients, right = row
    inputs = "xy"[: len(gradients)]
    files = file(forward, *gradients, inputs=inputs)
    report = check(pointwise("f", body, inputs), files, "numpy", numpy_module(files))
    assert report.ok is right, str(report)
    assert report.points >= 64


def test_float32_stays_float32():
    files = file("2 * x", "g * np.float64(2.0)")
    report = check(pointwise("f", lambda x: 2 * x), files, "numpy", numpy_module(files))
    assert "is float64, from inputs of float32" in str(report)


def test_two_gradients_may_not_share_memory():
    d = pointwise("f", lambda x, y: x + y, "xy")
    files = file("x + y", "g", "g", inputs="xy")
    assert "shares memory" in str(check(d, files, "numpy", numpy_module(files)))


@pytest.mark.parametrize(
    ("contracts", "factor", "right"), [(True, 1 + 2**-52, True), (True, 1 + 1e-12, False), (False, 1 + 2**-52, False)]
)
def test_gradients_that_are_asked_for_alone_differ_in_rounding_where_a_compiler_contracts(contracts, factor, right):
    files = numpy_files("layer_norm")
    module = numpy_module(files)

    def backward(saved, grad_output=None, needs_input_grad=(True, True, True)):
        grads = module.backward(saved, grad_output, needs_input_grad)
        return tuple(g if g is None or all(needs_input_grad) else g * factor for g in grads)

    artefact = SimpleNamespace(forward=module.forward, backward=backward, contracts=contracts)
    report = check(FUNCTIONS["layer_norm"](), files, "numpy", artefact)
    assert report.ok is right, report
    assert right or "is another with needs_input_grad" in str(report)


@pytest.mark.parametrize("zeros", [True, False])
def test_lapack_may_refuse_none_where_it_refuses_zeros(zeros):
    """0 times what has overflowed is no number."""

    def backward(saved, seeds, needs):
        if any(s is None or zeros and not s for s in seeds):
            raise np.linalg.LinAlgError("a matrix with nan")
        return (sum(seeds),)

    one = np.ones(())
    call = SimpleNamespace(function=parse("f(x) -> a, b: a = x; b = 2*x"), inputs=[one], seeds=[one, one], saved=())
    call.artefact = SimpleNamespace(backward=backward)
    assert bool(_partial(call)) is not zeros


# what must be refused

PREFIX = """
import numpy as np
def forward(x, w):
    x, w = np.asarray(x), np.asarray(w)
    if {condition}:
        raise {kind}("f: needs m + 1 <= n and 0 < m")
    return x[1 : len(w) + 1].sum() * w[0], (x, w)
def backward(saved, grad_output=None, needs_input_grad=None):
    x, w = saved
    g = np.ones((), x.dtype) if grad_output is None else np.asarray(grad_output)
    grad_x, grad_w = np.zeros_like(x), np.zeros_like(w)
    grad_x[1 : len(w) + 1] = g * w[0]
    grad_w[0] += g * x[1 : len(w) + 1].sum()
    return grad_x if needs_input_grad[0] else None, grad_w if needs_input_grad[1] else None
"""
PREFIX_C = """
#include "f.h"
int f_forward(size_t n, size_t m, const double *x, const double *w, double *out)
{{
    if (!({condition})) {{
        return 2;
    }}
    double sum = 0.0;
    for (size_t i = 0; i < m; ++i) {{
        sum += x[i + 1];
    }}
    *out = sum * w[0];
    return 0;
}}
int f_backward(size_t n, size_t m, const double *x, const double *w, double grad_output, double *grad_x,
               double *grad_w)
{{
    double sum = 0.0;
    for (size_t i = 0; grad_x && i < n; ++i) {{
        grad_x[i] = i > 0 && i < m + 1 ? grad_output * w[0] : 0.0;
    }}
    for (size_t i = 0; grad_w && i < m; ++i) {{
        grad_w[i] = 0.0;
        sum += x[i + 1];
        grad_w[0] = grad_output * sum;
    }}
    return 0;
}}
"""
REFUSALS = [
    ("len(x) < len(w) + 1 or not len(w)", "ValueError", True),
    ("len(x) < len(w) or not len(w)", "ValueError", False),
    ("len(x) < len(w) + 1", "ValueError", False),
    ("len(x) < len(w) + 2 or not len(w)", "ValueError", False),
    ("len(x) < len(w) + 1 or not len(w)", "IndexError", False),
]
REFUSALS_C = [
    ("m < n && 0 < m", True),
    ("m < n", False),
    ("m <= n && 0 < m", False),
    ("m + 1 < n && 0 < m", False),
    ("0 < m", False),
    ("1", False),
]


def prefix():
    d = Draft("f")
    n, m = d.dim("n"), d.dim("m")
    d.input("x", (n,))
    d.input("w", (m,))
    i = index("i")
    total = d.reduce("sum", (i,), ref("x", i + 1), extents={i: m})
    d.define("out", (), total * ref("w", ZERO))
    return d.finish(["out"])


@pytest.mark.parametrize("row", REFUSALS, ids=[f"{kind} if {condition}" for condition, kind, _ in REFUSALS])
def test_sizes_that_break_a_condition_are_refused(row):
    condition, kind, right = row
    files = {"printed.py": PREFIX.format(condition=condition, kind=kind)}
    function = prefix()
    assert len(function.constraints) == 2
    report = check(function, files, "numpy", numpy_module(files))
    assert report.ok is right, str(report)


@pytest.mark.parametrize("row", REFUSALS_C, ids=[condition for condition, _ in REFUSALS_C])
def test_c_refuses_sizes_that_break_a_condition(row):
    condition, right = row
    names = {"f.c": PREFIX_C.format(condition=condition), "f.h": "#include <stddef.h>\n"}
    report = check(prefix(), names, "c", Compiled(prefix(), names))
    assert report.ok is right, str(report)


def test_sizes_reach_what_the_conditions_ask_for():
    d = Draft("f")
    for name in ("n", "m", "k", "l"):
        d.input(f"x_{name}", (d.dim(name),))
    i = index("i")
    far = d.reduce("sum", (i,), ref("x_n", i + 30) * ref("x_m", 3 * i + 7), extents={i: ref("k")})
    d.define("out", (), far * ref("x_k", ZERO) * ref("x_l", const(9)))
    function = d.finish(["out"])
    sizes = choose(function, {}, np.random.default_rng(0))
    assert fitting(function, sizes, {}) and sizes["n"] > 30 and sizes["l"] > 9
    broken = list(violations(function, sizes, {}))
    assert len(broken) == len(function.constraints) == 4
    for number, wrong in enumerate(broken):
        assert met(function, wrong, {}) == [k != number for k in range(4)]


def test_a_long_line_neither_recurses_nor_takes_long():
    count = 3000
    body = lambda x: _chain(x, count)  # noqa: E731
    lines = ["import numpy as np", "def forward(x):", "    x = np.asarray(x)", "    t0 = x"]
    lines += [f"    t{k + 1} = 0.5 * t{k} + x" for k in range(count)]
    lines += [f"    return t{count}, (x,)", "def backward(saved, grad_output=None, needs_input_grad=None):"]
    lines += ["    (x,) = saved", "    if grad_output is None and np.ndim(x):", "        raise ValueError('scalar')"]
    lines += ["    g = np.ones((), x.dtype) if grad_output is None else np.asarray(grad_output)", "    total = g"]
    for _ in range(count):
        lines += ["    g = 0.5 * g", "    total = total + g"]
    lines += ["    return (total - g + g if needs_input_grad[0] else None,)"]
    files = {"printed.py": "\n".join(lines) + "\n"}
    report = check(pointwise("f", body), files, "numpy", numpy_module(files))
    assert report.ok, str(report)
    assert np.isfinite(report.worst.ulps)


def _chain(x, count):
    value = x
    for _ in range(count):
        value = HALF * value + x
    return value


@pytest.mark.parametrize(
    "text",
    [
        "f(x[n,m])[i:2] = where(i > 0, x[2*i,0], x[0,0])",  # no constraint says that n is 3 at least
        "f(x[n])[i:2] = where(i == 1, x[7*i], 1)",
        "f(x) = minimum(exp(exp(x)) + exp(exp(exp(x)) + x), exp(exp(x)))",  # a gradient overflows, its output does not
    ],
)
def test_sizes_and_values_that_a_branch_needs(text):
    report = sg.check(sg.parse(text))
    assert report.ok, str(report)


def test_ties_away_from_the_corners_are_met():
    report = sg.check(sg.parse("f(x, y) = maximum(x, 2*y)*abs(y)"))
    assert report.points > 100  # 91 without what is decided in the formula


@pytest.mark.parametrize("text", ["f(x; k=2.0) = sigmoid(-x)**k", "f(x[n]; k=2.0) = sum[i](sigmoid(-x[i])**k)"])
def test_an_exponent_is_between_0_and_1_too(text):
    """At the declared exponent, or three times that, no power is infinite where sigmoid is 0."""
    cases = [c for c in sample(Declaration(parse(text))).cases if 0 < c.options["k"] < 1]
    assert any((np.asarray(c.inputs["x"]) > 36).any() for c in cases)


def test_one_case_alone():
    whole, part = sg.check(sg.parse("f(x) = x**2")), sg.check(sg.parse("f(x) = x**2"), case=2)
    assert part.ok and 0 < part.points < whole.points
    assert "there is no case 99" in str(sg.check(sg.parse("f(x) = x**2"), case=99))


@pytest.mark.parametrize("text", ["f(x) = x**2", "f(x, y) = x*y", "f(x[n], y[n], z, t[n]: int)[i] = x[t[i]]*y[i]*z"])
def test_no_gradients_are_asked_for_twice_in_one_way(text):
    f, asked = sg.parse(text), []
    loaded = sg.load(f, check=False)

    def backward(saved, cotangent, needs):
        asked.append((needs, cotangent))
        return loaded.backward(saved, cotangent, needs)

    call = Call(f, SimpleNamespace(forward=loaded.forward, backward=backward), sample(Declaration(f)).cases[0], float)
    call.results()
    asked.clear()
    assert manners(call, combinations(f), {}) == []
    needs = [n for n, cotangent in asked if cotangent is call.cotangent]
    assert len(needs) == len({*needs}) > 1 and (True,) * len(f.inputs) in needs


def test_what_counts_without_an_input_is_asked_of_the_function():
    @sg.function
    def doubled(x: sg.Tensor["n"], b: sg.Tensor["n"] = None):
        if b is None:
            return 2 * x
        return x * b

    @sg.function
    def added(x: sg.Tensor["n"], b: sg.Tensor["n"] = None):
        return x if b is None else x + b

    report = sg.check(doubled, to="numpy")
    assert not report.ok and "sg.given(b, then, otherwise)" in str(report)
    assert sg.check(added, to="numpy").ok
