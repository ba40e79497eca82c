"""Tensors that are computed from their own elements: built by hand, compared with loops and with differences."""

from __future__ import annotations

import numpy as np
import pytest
from loading import numpy_module
from mpmath import mp

from symgrad.errors import DeclarationError
from symgrad.expr import ZERO, apply, index, ref, select
from symgrad.ir import Dim, Dtype, Equation, Function, Role, Tensor
from symgrad.verify import check
from symgrad.verify.cases import Case
from symgrad.verify.reference import Declaration
from symgrad.verify.sampling import sample
from symgrad.verify.truth import differences, truth

T, J, K = index("t"), index("j"), index("k")
N, M = ref("n"), ref("m")


def function(inputs, local, statements, output="h"):
    """A function of tensors given as {name: shape}; the last of `local` is the output."""
    tensors = [Tensor(n, s, Dtype.REAL, Role.INPUT) for n, s in inputs.items()]
    tensors += [Tensor(n, s, Dtype.REAL, Role.OUTPUT if n == output else Role.LOCAL) for n, s in local.items()]
    dims = tuple(Dim(e.name) for e in (N, M) if any(e in shape for shape in inputs.values()))
    return Function("f", dims, tuple(tensors), tuple(statements), tuple(inputs), (output,))


def set_(target, subscripts, body, *box, reduce="none", where=None):
    return Equation(target, subscripts, reduce, body, box, where)


def powers():
    return [
        set_("h", (ZERO,), ref("a", ZERO)),
        set_("h", (T + 1,), ref("w", T) * ref("h", T) + ref("a", T + 1), (T, N - 1)),
    ]


ROWS = {
    # h[0] = a[0]; h[t+1] = w[t] h[t] + a[t+1]
    "forward": ({"a": (N,), "w": (N,)}, {"h": (N,)}, powers()),
    "the later equation first": ({"a": (N,), "w": (N,)}, {"h": (N,)}, powers()[::-1]),
    "backward in time": (
        {"a": (N,), "w": (N,)},
        {"h": (N,)},
        [
            set_("h", (T,), ref("h", T + 1) * ref("w", T) + ref("a", T), (T, N - 1)),
            set_("h", (N - 1,), ref("a", N - 1)),
        ],
    ),
    "one equation with a condition": (
        {"a": (N,), "w": (N,)},
        {"h": (N,)},
        [set_("h", (T,), ref("a", T) + select(apply("gt", T, 0), ref("h", T - 1) ** 2 * ref("w", T), ZERO), (T, N))],
    ),
    "a network over time": (
        {"a": (M,), "w": (M, M), "x": (N,)},
        {"s": (N, M), "h": (N, M)},
        [
            set_("h", (ZERO, J), ref("a", J), (J, M)),
            set_("s", (T, J), ref("w", J, K) * ref("h", T, K), (T, N - 1), (J, M), (K, M), reduce="sum"),
            set_("h", (T + 1, J), apply("tanh", ref("s", T, J)) * ref("x", T), (T, N - 1), (J, M)),
        ],
    ),
    "time is the last axis": (
        {"a": (M,), "x": (N,)},
        {"h": (M, N)},
        [
            set_("h", (J, ZERO), ref("a", J), (J, M)),
            set_("h", (J, T + 1), ref("x", T) * ref("h", M - 1 - J, T), (J, M), (T, N - 1)),
        ],
    ),
    "two tensors in turn": (
        {"a": (N,), "w": (N,)},
        {"c": (N,), "h": (N,)},
        [
            set_("c", (T,), select(apply("eq", T, 0), ref("a", T), ref("h", T - 1) * ref("w", T)), (T, N)),
            set_("h", (T,), apply("sin", ref("c", T)) + select(apply("eq", T, 0), ZERO, ref("c", T - 1)), (T, N)),
        ],
    ),
    "everything before": (
        {"a": (N,)},
        {"h": (N,)},
        [
            set_("h", (T,), ref("a", T), (T, N)),
            set_("h", (T,), ref("h", K) * ref("a", K), (T, N), (K, N), reduce="sum", where=apply("lt", K, T)),
        ],
    ),
}


def values(row):
    sizes = {"n": 4, "m": 2}
    rng = np.random.default_rng(1)
    return {name: rng.standard_normal([sizes[e.name] for e in shape]) for name, shape in ROWS[row][0].items()}


def by_loops(row, v):
    a, w, x = v.get("a"), v.get("w"), v.get("x")
    if row == "everything before":
        h = np.zeros(4)
        for t in range(4):
            h[t] = a[t] + sum(h[k] * a[k] for k in range(t))
        return h
    if row == "a network over time":
        h = [a]
        for t in range(3):
            h.append(np.tanh(w @ h[-1]) * x[t])
        return np.array(h)
    if row == "time is the last axis":
        h = [a]
        for t in range(3):
            h.append(x[t] * h[-1][::-1])
        return np.array(h).T
    h, c = np.zeros(5), np.zeros(5)
    if row == "backward in time":
        for t in range(3, -1, -1):
            h[t] = a[t] + (w[t] * h[t + 1] if t < 3 else 0)
        return h[:4]
    for t in range(4):
        if row == "two tensors in turn":
            c[t] = h[t - 1] * w[t] if t else a[t]
            h[t] = np.sin(c[t]) + (c[t - 1] if t else 0)
        elif row == "one equation with a condition":
            h[t] = a[t] + (h[t - 1] ** 2 * w[t] if t else 0)
        else:
            h[t] = a[t] + (w[t - 1] * h[t - 1] if t else 0)
    return h[:4]


def declared(row):
    return Declaration(function(*ROWS[row]))


@pytest.mark.parametrize("row", ROWS)
def test_elements_come_after_those_that_they_read(row):
    declaration, given = declared(row), values(row)
    seeds = {"h": np.random.default_rng(2).standard_normal(by_loops(row, given).shape)}
    found = truth(declaration, Case(given, {}, seeds))
    np.testing.assert_allclose(found.outputs["h"].astype(float), by_loops(row, given), rtol=1e-13)
    assert not found.undecided
    assert differences(declaration, Case(given, {}, seeds), found.gradients, np.random.default_rng(0)) is None
    with mp.workprec(300):
        found.gradients["a"].reshape(-1)[0] *= 1 + mp.mpf(2) ** -70
    assert differences(declaration, Case(given, {}, seeds), found.gradients, np.random.default_rng(0)) is not None


@pytest.mark.parametrize("row", ROWS)
def test_points_are_found(row):
    cases = sample(declared(row)).cases
    assert len(cases) > 5 and cases[0].label == "random"
    assert all(extent >= 4 for array in cases[0].inputs.values() for extent in array.shape)  # some steps


def test_a_long_one_does_not_recurse():
    inputs, local, statements = ROWS["backward in time"]
    given = {"a": np.ones(3000), "w": np.ones(3000)}
    trace = Declaration(function(inputs, local, statements)).trace(given, {})
    assert trace.arrays["h"][0] == 3000
    assert trace.pull({"h": np.eye(1, 3000)[0]})["w"][0] == 2999


TEXT = """
import numpy as np
def forward(a, w):
    a, w = np.asarray(a), np.asarray(w)
    h = np.zeros_like(a)
    for t in range(len(a)):
        h[t] = a[t] + (w[t - 1] * h[t - 1] if t else 0)
    return h, (h, w)
def backward(saved, grad_output=None, needs_input_grad=(True, True)):
    h, w = saved
    if grad_output is None:
        raise ValueError("pass grad_output")
    grad_a, grad_w = np.array(grad_output), np.zeros_like(w)
    for t in range(len(h) - 1, 0, -1):
        grad_w[t - 1] = grad_a[t] * h[t - 1]
        grad_a[t - 1] += grad_a[t] * w[t - 1]
    return grad_a if needs_input_grad[0] else None, grad_w if needs_input_grad[1] else None
"""


CHANGES = [
    ("", ""),
    ("grad_a[t] * w[t - 1]", "grad_a[t]"),
    ("range(len(h) - 1, 0, -1)", "range(1, len(h))"),
    ("w[t - 1] * h[t - 1]", "w[t - 1] * a[t - 1]"),
    ("range(len(a))", "range(min(len(a), 3))"),
]


@pytest.mark.parametrize("change", CHANGES)
def test_printed_code_is_checked(change):
    files = {"printed.py": TEXT.replace(*change)}
    report = check(function(*ROWS["forward"]), files, "numpy", numpy_module(files))
    assert report.ok is not any(change), str(report)


CIRCLES = [
    ([set_("h", (T,), ref("h", T) + ref("a", T), (T, N))], r"h\[0\] <- h\[0\]\."),
    (
        [set_("c", (T,), ref("h", T), (T, N)), set_("h", (T,), ref("c", T) * ref("a", T), (T, N))],
        r"f: c\[0\] is computed from itself: c\[0\] <- h\[0\] <- c\[0\]\. An element may",
    ),
    (
        [set_("h", (T,), ref("h", apply("mod", T + 1, N)) * ref("a", T), (T, N))],
        r"h\[0\] <- h\[1\] <- h\[2\] <- h\[3\] <- \.\.\. <- h\[0\]",
    ),
    (
        [set_("c", (ref("h", T),), ref("a", T), (T, N)), set_("h", (T,), ref("c", T), (T, N))],
        r"which elements of c are written depends on h\[0\], which is computed from them",
    ),
]


@pytest.mark.parametrize("row", CIRCLES, ids=[r[1] for r in CIRCLES])
def test_a_circle_is_said(row):
    statements, message = row
    f = function({"a": (N,)}, {"c": (N,), "h": (N,)}, statements)
    with pytest.raises(DeclarationError, match=message):
        Declaration(f).trace({"a": np.ones(7)}, {})
