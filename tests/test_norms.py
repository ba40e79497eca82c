"""At 0, where a norm has no slope, each function that is derived takes it as 0, as `hypot` and torch's norm do."""

from __future__ import annotations

import numpy as np
import pytest
from mathematics import both

import symgrad as sg
from symgrad.derivatives import derive
from symgrad.ir import show_equations


@sg.function
def turned(q: sg.Tensor["4"]):
    return sg.SO3.log(q)


@sg.function
def turn(a: sg.Tensor["3 3"]):
    return sg.SO3.log(a)


def at(*numbers):
    return [np.array(x, float) for x in numbers]


ROWS = {  # the formula, where, and its Jacobian there
    "a norm": ("f(x[n]) = sqrt(sum[i](x[i]**2))", at([0, 0, 0]), np.zeros(3)),
    "a root of a mean": ("f(x[n]) = sqrt(mean[i](x[i]**2))", at([0, 0, 0]), np.zeros(3)),
    "drag": ("f(v[n])[i] = -0.5*sqrt(sum[j](v[j]**2))*v[i]", at([0, 0, 0]), np.zeros((3, 3))),
    "drag of components": ("f(v[3]) -> d: s = sqrt(v[0]**2 + v[1]*v[1] + v[2]**2); d[i:3] = s*v[i]", at([0, 0, 0]),
                           np.zeros((3, 3))),
    "clipped to a ball": ("f(x[n]): s = sqrt(sum[i](x[i]**2)); out[i] = x[i]/maximum(s, 1)", at([0, 0]), np.eye(2)),
    "Huber of a norm": ("f(r[n]): a = sqrt(sum[i](r[i]**2)); out = where(a < 1, a**2/2, a - 0.5)", at([0, 0]),
                        np.zeros(2)),
    "a sinc of a norm": ("f(r[3]): a = sqrt(r[0]**2 + r[1]**2 + r[2]**2); s = where(a < 1, sin(a)/a, 1/a); "
                         "out[i:3] = s*r[i]", at([0, 0, 0]), np.eye(3)),
    "Matern 3/2": ("f(x[n,m]): d[i,j] = sqrt(sum[k]((x[i,k] - x[j,k])**2)); "
                   "out[i] = sum[j]((1 + d[i,j])*exp(-d[i,j]))", at([[0, 1], [0, 1]]), np.zeros((2, 2, 2))),
    "a weighted sum": ("f(x[n]) = sqrt(3*x[0]**2 + sum[i](2*x[i]**2/n))", at([0, 0]), np.zeros(2)),
    "rotation 0": (turned, at([0, 0, 0, 1]), 2 * np.eye(3, 4)),
    "rotation 0 of a matrix": (turn, at(np.eye(3)), None),
}  # fmt: skip


@both
@pytest.mark.parametrize(("formula", "given", "jacobian"), ROWS.values(), ids=ROWS)
@pytest.mark.in_turn
def test_it_has_no_slope_at_0(formula, given, jacobian, to):
    f = sg.parse(formula) if isinstance(formula, str) else formula
    code = sg.load(f, to=to, functions=("forward", "backward", "jacobian", "jvp"), check=False)
    _, found = code.jacobian(*given)
    if jacobian is None:
        jacobian = found
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found, jacobian, atol=1e-15)
    out, saved = code.forward(*given)
    rng = np.random.default_rng(3)
    v, (tangent,) = rng.standard_normal(out.shape), [rng.standard_normal(x.shape) for x in given]
    np.testing.assert_allclose(code.backward(saved, v)[0], np.tensordot(v, jacobian, out.ndim), atol=1e-14)
    np.testing.assert_allclose(code.jvp(*given, tangent)[1], np.tensordot(jacobian, tangent, tangent.ndim), atol=1e-14)


LEFT = {  # what divides by a norm has no value at 0, and what isn't one is no kink
    "a norm that is divided by": "f(q[n]): s = sqrt(sum[i](q[i]**2)); out[i] = q[i]/s",
    "in a product": "f(x[n], y[n]) = sum[i](x[i]*y[i])/(sqrt(sum[i](x[i]**2))*sqrt(sum[i](y[i]**2)))",
    "a sum with a term": "f(x[n], e) = sqrt(sum[i](x[i]**2) + e)",
    "of any sign": "f(x[n], w[n]) = sqrt(sum[i](w[i]*x[i]**2))",
    "a cube": "f(x[n]) = sqrt(sum[i](x[i]**3))",
    "with a size of any sign": "f(x[n]; w=1.0) = sqrt(sum[i](w*x[i]**2))",
}


@pytest.mark.parametrize("formula", LEFT.values(), ids=LEFT)
def test_it_stands_in_no_other_gradient(formula):
    assert "where" not in show_equations(derive(sg.parse(formula)).equations)
