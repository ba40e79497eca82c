"""What stands behind a condition on data: the check asks on both sides of it, and where its two sides are equal."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from loading import Compiled, numpy_module

from symgrad.formulas import parse
from symgrad.verify import check
from symgrad.verify.kinks import at_conditions, coarse
from symgrad.verify.reach import inside
from symgrad.verify.reference import Declaration
from symgrad.verify.sampling import sample

# Points on the edge of a condition

EDGES = [  # (formula, what holds where the two sides of its comparison are equal)
    ("f(r[n]): s = sum[k](r[k]**2); out[k] = where(s > 0, r[k]/sqrt(s), 0)", lambda r: not r.any()),
    ("f(r[n]): s = sum[k]((r[k] - 1)**2); out[k] = where(s != 0, r[k]/s, 0)", lambda r: (r == 1).all()),
    ("f(r[n])[k] = where(sum[i](r[i]**4) > 0, r[k], 0)", lambda r: not r.any()),
    (
        "f(x[n], y[n])[i,j] = where((x[i] - y[j])**2 > 0, x[i], y[j])",
        lambda x, y: bool({*x} & {*y}),
    ),
    ("f(x[n], y[n])[i] = where(x[i]*y[i] > 1, x[i], y[i])", lambda x, y: (abs(x * y - 1) < 1e-15).any()),
    ("f(x[n], w) = where(sum[k](x[k]) < w, w, 2*w)", lambda x, w: x.sum() == w),
    ("f(x[n], y[n])[i] = where(x[i] > 0.5 and y[i] > 0.5, x[i], y[i])", lambda x, y: (x == 0.5).any()),
    ("f(x[n], y[n])[i] = where(x[i] > 0.5 and y[i] > 0.5, x[i], y[i])", lambda x, y: (y == 0.5).any()),
]


@pytest.mark.parametrize(("text", "holds"), EDGES, ids=[row[0] for row in EDGES])
def test_both_sides_of_a_comparison_are_equal(text, holds):
    function, rng = parse(text), np.random.default_rng(0)
    start = coarse({n: rng.standard_normal(3 if function.table[n].shape else ()) for n in function.inputs})
    points = list(at_conditions(Declaration(function), start, {}, rng, 300))
    assert any(holds(*p.values()) for p in points)


@pytest.mark.parametrize("text", [row[0] for row in EDGES])
def test_the_short_matrix_asks_there(text):
    labels = [case.label for case in sample(Declaration(parse(text))).cases]
    assert {"zeros", "the edge of a condition"} <= set(labels)


# Gradients that are no numbers there

UNIT = "unit(r[3]): s = sum[k](r[k]**2); out[k] = where(s > 0, r[k]/sqrt(s), 0)"
UNIT_NUMPY = """
import numpy as np
def forward(r):
    r = np.asarray(r)
    s = (r**2).sum()
    return np.where(s > 0, r / np.sqrt(np.where(s > 0, s, 1)), 0), (r, s)
def backward(saved, grad_output=None, needs_input_grad=None):
    r, s = saved
    if grad_output is None:
        raise ValueError("grad can be implicitly created only for scalar outputs")
    if not needs_input_grad[0]:
        return (None,)
    inside = np.where(s > 0, grad_output, 0)
    {lines}
    return (grad_r,)
"""
UNIT_C = """
#include <math.h>
#include "unit.h"
void unit_forward(const double *r, double *out, double *s)
{{
    const double total = r[0] * r[0] + r[1] * r[1] + r[2] * r[2];
    if (s) {{
        *s = total;
    }}
    for (size_t k = 0; k < 3; ++k) {{
        out[k] = total > 0.0 ? r[k] / sqrt(total) : 0.0;
    }}
}}
void unit_backward(const double *r, const double *s, const double *grad_output, double *grad_r)
{{
    double sum = 0.0;
    for (size_t k = 0; k < 3; ++k) {{
        sum += grad_output[k] * r[k];
    }}
    for (size_t k = 0; grad_r && k < 3; ++k) {{
        grad_r[k] = {gradient};
    }}
}}
"""
RATIO = "f(r[3], x[3]): sq = sum[k](r[k]**2); out[k] = where(sq != 0, r[k]*x[k]/sq, r[k])"
RATIO_NUMPY = """
import numpy as np
def forward(r, x):
    r, x = np.asarray(r), np.asarray(x)
    sq = (r**2).sum()
    return np.where(sq != 0, r * x / np.where(sq != 0, sq, 1), r), (r, x, sq)
def backward(saved, grad_output=None, needs_input_grad=None):
    r, x, sq = saved
    if grad_output is None:
        raise ValueError("grad can be implicitly created only for scalar outputs")
    {lines}
    return grad_r if needs_input_grad[0] else None, grad_x if needs_input_grad[1] else None
"""
SAFE = """safe = np.where(sq != 0, sq, 1)
    share = np.where(sq != 0, grad_output, 0)
    grad_r = share * x / safe - 2 * r * (share * r * x).sum() / safe**2 + np.where(sq != 0, 0, grad_output)
    grad_x = share * r / safe"""
NUMPY = [  # (what it is, formula, its file, whether that is right)
    (
        "the quotient behind its guard",
        UNIT,
        UNIT_NUMPY.format(
            lines="""root = np.sqrt(np.where(s > 0, s, 1))
    grad_r = (inside - r / root * (inside * r / root).sum()) / root"""
        ),
        True,
    ),
    (
        "only a factor of the quotient is masked",
        UNIT,
        UNIT_NUMPY.format(
            lines="""root = np.sqrt(s)
    grad_r = (inside - r / root * (inside * r / root).sum()) / root"""
        ),
        False,
    ),
    (
        "infinite at 0",
        UNIT,
        UNIT_NUMPY.format(
            lines="""root = np.sqrt(np.where(s > 0, s, 1))
    grad_r = np.where(s > 0, (inside - r / root * (inside * r / root).sum()) / root, np.inf)"""
        ),
        False,
    ),
    ("a quotient behind !=", RATIO, RATIO_NUMPY.format(lines=SAFE), True),
    (
        "a quotient before !=",
        RATIO,
        RATIO_NUMPY.format(lines=SAFE.replace("safe = np.where(sq != 0, sq, 1)", "safe = sq")),
        False,
    ),
    (
        "the other branch forgotten",
        RATIO,
        RATIO_NUMPY.format(lines=SAFE.replace(" + np.where(sq != 0, 0, grad_output)", "")),
        False,
    ),
]
C = [
    ("behind its guard", "*s > 0.0 ? (grad_output[k] - r[k] * sum / *s) / sqrt(*s) : 0.0", True),
    ("a masked factor", "((*s > 0.0 ? grad_output[k] : 0.0) - r[k] * sum / *s) / sqrt(*s)", False),
]


@pytest.mark.parametrize(("text", "file", "right"), [row[1:] for row in NUMPY], ids=[row[0] for row in NUMPY])
def test_a_gradient_at_the_edge_of_a_guard(text, file, right):
    files = {"printed.py": file}
    report = check(parse(text), files, "numpy", numpy_module(files))
    assert report.ok is right, str(report)


@pytest.mark.parametrize(("text", "file", "right"), [row[1:] for row in NUMPY], ids=[row[0] for row in NUMPY])
def test_an_artefact_at_the_edge_of_a_guard(text, file, right):
    """The text is right, and what was made of it may not be: as of torch and JAX, which are not executed as text."""
    correct = {"printed.py": next(f for _, t, f, good in NUMPY if t == text and good)}
    report = check(parse(text), correct, "torch", numpy_module({"printed.py": file}), text="numpy")
    assert report.ok is right, str(report)


@pytest.mark.parametrize(("gradient", "right"), [row[1:] for row in C], ids=[row[0] for row in C])
def test_a_gradient_in_c_at_the_edge_of_a_guard(gradient, right):
    files = {"unit.c": UNIT_C.format(gradient=gradient), "unit.h": "#include <stddef.h>\n"}
    report = check(parse(UNIT), files, "c", Compiled(parse(UNIT), files))
    assert report.ok is right, str(report)


# Branches that read outside of a tensor

READS = "f(x[n], w)[i:8] = where(w >= 1, x[i]*w, w)"
READS_NUMPY = """
import numpy as np
def forward(x, w):
    x, w = np.asarray(x), np.asarray(w)
    {guard}
    return np.where(w >= 1, row(x) * w, w), (x, w)
def row(x):
    padded = np.zeros(8, x.dtype)
    padded[: len(x)] = x[:8]
    return padded
def backward(saved, grad_output=None, needs_input_grad=None):
    x, w = saved
    if grad_output is None:
        raise ValueError("grad can be implicitly created only for scalar outputs")
    grad_x = np.zeros_like(x)
    grad_x[:8] = np.where(w >= 1, w * grad_output, 0)[: len(x)]
    grad_w = np.where(w >= 1, grad_output * row(x), grad_output).sum()
    return grad_x if needs_input_grad[0] else None, grad_w if needs_input_grad[1] else None
"""
READS_C = """
#include "f.h"
int f_forward(size_t n, const double *x, double w, double *out)
{{
    if ({refused}) {{
        return 2;
    }}
    for (size_t i = 0; i < 8; ++i) {{
        out[i] = w >= 1.0 ? x[i] * w : w;
    }}
    return 0;
}}
int f_backward(size_t n, const double *x, double w, const double *grad_output, double *grad_x, double *grad_w)
{{
    for (size_t i = 0; grad_x && i < n; ++i) {{
        grad_x[i] = w >= 1.0 && i < 8 ? grad_output[i] * w : 0.0;
    }}
    double sum = 0.0;
    for (size_t i = 0; i < 8; ++i) {{
        sum += w >= 1.0 ? grad_output[i] * x[i] : grad_output[i];
    }}
    if (grad_w) {{
        *grad_w = sum;
    }}
    return 0;
}}
"""
GUARDS = [  # (what is refused, by what, whether that is enough)
    ("len(x) < 8", "ValueError", True),
    ("len(x) < 8 and w >= 1", "IndexError", True),
    ("False", "ValueError", False),
    ("len(x) < 7", "ValueError", False),
    ("len(x) < 8 and w > 2", "ValueError", False),
    ("len(x) < 8", "TypeError", False),
    ("len(x) < 9", "ValueError", False),
]
REFUSED = [("n < 8", True), ("w >= 1.0 && n < 8", True), ("0", False), ("n < 7", False), ("n < 9", False)]


def unconstrained():
    """The function without the constraint that was read off its branches: the oracle finds the sizes by itself."""
    return replace(parse(READS), constraints=())


@pytest.mark.parametrize(("condition", "kind", "right"), GUARDS, ids=[f"{kind} if {c}" for c, kind, _ in GUARDS])
def test_sizes_at_which_a_branch_reads_outside_are_refused(condition, kind, right):
    files = {"printed.py": READS_NUMPY.format(guard=f"if {condition}: raise {kind}('f: needs 8 <= n')")}
    report = check(unconstrained(), files, "numpy", numpy_module(files))
    assert report.ok is right, str(report)
    assert right or condition == "len(x) < 9" or "a branch that reads outside of a tensor" in str(report)


@pytest.mark.parametrize(("condition", "right"), REFUSED, ids=[condition for condition, _ in REFUSED])
def test_c_refuses_sizes_at_which_a_branch_reads_outside(condition, right):
    files = {"f.c": READS_C.format(refused=condition), "f.h": "#include <stddef.h>\n"}
    report = check(unconstrained(), files, "c", Compiled(unconstrained(), files))
    assert report.ok is right, str(report)


REACH = [  # (formula, sizes, whether some data lead outside)
    ("g(x[n,m])[i] = where(x[i,0] > 0, x[i,5], x[i,0])", {"n": 4, "m": 6}, False),
    ("g(x[n,m])[i] = where(x[i,0] > 0, x[i,5], x[i,0])", {"n": 4, "m": 5}, True),
    ("f(x[n,m], w)[i:n] = where(i >= 1, x[i-1,5]*w, -w)", {"n": 1, "m": 2}, False),
    ("f(x[n,m], w)[i:n] = where(i >= 1, x[i-1,5]*w, -w)", {"n": 2, "m": 5}, True),
    ("f(x[n], y[n])[i] = where((i > 0) & (y[i] > 0), x[i]*x[2*(i - 1)], 0)", {"n": 2}, False),
    ("f(x[n], y[n])[i] = where((i > 0) & (y[i] > 0), x[i]*x[2*(i - 1)], 0)", {"n": 4}, True),
    ("f(x[n], t[n]: int)[i] = where(t[i] >= 0, x[t[i]], 0)", {"n": 3}, False),
    ("f(x[n], w)[i:n] = where(w > 0, where(i > 0, x[i-1], 0), x[n-1-i])", {"n": 3}, False),
]


@pytest.mark.parametrize(("text", "sizes", "leaves"), REACH)
def test_whether_some_data_lead_outside(text, sizes, leaves):
    assert inside(parse(text), sizes, {}) is not leaves
