"""Gradients where a guard holds: nothing of the branch that it leaves out is evaluated, or leaves a NaN."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from guards import GUARDED

import symgrad as sg
from symgrad.expr import ZERO, apply, index, ref, select
from symgrad.ir import Dim, Equation, Function, Role, Tensor, in_place

needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")


@pytest.mark.parametrize("to", ["numpy", pytest.param("c", marks=needs_cc)])
@pytest.mark.parametrize("name", GUARDED)
@pytest.mark.in_turn
def test_gradients_at_a_guard(name, to):
    text, inputs, expected = GUARDED[name]
    code = sg.load(sg.parse(text), to=to, check=False)
    with np.errstate(all="raise"):  # not even a warning
        out, saved = code.forward(*inputs.values())
        grads = code.backward(saved, np.arange(1.0, np.size(out) + 1).reshape(np.shape(out)))
    for x, grad in zip(inputs, grads, strict=True):
        np.testing.assert_allclose(grad, expected[x], rtol=1e-13, atol=1e-15, err_msg=x)


EQUALITIES = [*GUARDED][[*GUARDED].index("a piece that is its neighbour") :]


@pytest.mark.parametrize("name", ["unit", "unit or itself", "a guard in a guard", *EQUALITIES])
@pytest.mark.in_turn
def test_the_check_agrees(name):
    report = sg.check(sg.parse(GUARDED[name][0]), to="numpy")
    assert report.ok, report


@pytest.mark.parametrize("to", ["numpy", pytest.param("c", marks=needs_cc)])
def test_a_guard_in_a_guard_25_deep(to):
    body = "x"
    for k in range(25):
        body = f"where(x > {k}, sin(y*{k + 1}), {body})"
    code = sg.load(sg.parse(f"f(x, y) = {body}"), to=to, check=False)
    out, saved = code.forward(np.array([-1.0, 2.5]), np.array([0.5, 0.5]))
    grad_x, grad_y = code.backward(saved, np.ones(2))
    np.testing.assert_allclose([out, grad_x, grad_y], [[-1, np.sin(1.5)], [1, 0], [0, 3 * np.cos(1.5)]], rtol=1e-14)


def test_a_chain_of_guarded_locals_is_written_in_place():
    i, n = index("i"), ref("n")
    holds, box = apply("gt", ref("x", i), ZERO), ((i, n),)
    statements = (
        Equation("a", (i,), "none", 1 / ref("x", i), box, holds),
        Equation("b", (i,), "none", ref("a", i) * 2, box, holds),
        Equation("out", (i,), "none", select(holds, ref("b", i), ZERO), box),
    )
    roles = {"x": Role.INPUT, "a": Role.LOCAL, "b": Role.LOCAL, "out": Role.OUTPUT}
    tensors = tuple(Tensor(name, (n,), role=role) for name, role in roles.items())
    (e,) = in_place(Function("f", (Dim("n"),), tensors, statements, ("x",), ("out",))).statements
    assert e.body is select(holds, 1 / ref("x", i) * 2, ZERO)
