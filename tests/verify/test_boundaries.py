"""What stands behind a condition on data: the check asks on both sides of it, and where its two sides are equal."""

from __future__ import annotations

import numpy as np
import pytest
from loading import Compiled, numpy_module

from symgrad.declare import parse
from symgrad.verify import check
from symgrad.verify.kinks import at_conditions, coarse
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
