"""Products of small matrices, of whose elements some are known to be 0 or 1, as robotics writes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import symgrad as sg


@sg.function
def predicted(x: sg.Tensor["2"], dt: sg.Real) -> Any:
    F = np.array([[1, dt], [0, 1]])
    return F @ x


@sg.function
def covariance(P: sg.Tensor["2 2"], dt: sg.Real) -> Any:
    F = np.array([[1, dt], [0, 1]])
    return F @ P @ F.T


@sg.function
def measured(x: sg.Tensor["2"], P: sg.Tensor["2 2"], r: sg.Real) -> Any:
    H = np.array([[0.0, 2.0]])
    return (H @ x)[0], (H @ P @ H.T)[0, 0] + r


@sg.function
def gain(P: sg.Tensor["2 2"]) -> Any:
    return (P @ np.array([[0.0, 2.0]]).T)[:, 0]


@sg.function
def turned(v: sg.Tensor["3"], yaw: sg.Real) -> Any:
    c, s = np.cos(yaw), np.sin(yaw)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]) @ v


@sg.function
def frame(a: sg.Real, twist: sg.Real, q: sg.Real) -> Any:
    c, s, ct, st = np.cos(q), np.sin(q), np.cos(twist), np.sin(twist)
    return np.array([[c, -s * ct, s * st, a * c], [s, c * ct, -c * st, a * s], [0, st, ct, 0], [0, 0, 0, 1]])


@sg.function
def arm(q: sg.Tensor["2"]) -> Any:
    return (frame(0.3, 0.0, q[0]) @ frame(0.2, 0.0, q[1]))[:2, 3]


@sg.function
def rows(x: sg.Tensor["n 2"], dt: sg.Real) -> Any:
    F = np.array([[1, dt], [0, 1]])
    return x @ F.T


@sg.function
def full(v: sg.Tensor["2"], a: sg.Real) -> Any:
    M = np.array([[a, 1], [2, a]])
    return M @ v


EQUATIONS = {
    predicted: "out[0] = x[0] + dt * x[1]; out[1] = x[1]",
    covariance: """out[0,0] = P[0, 0] + dt * P[1, 0] + (P[0, 1] + dt * P[1, 1]) * dt; out[0,1] = P[0, 1] + dt * P[1, 1];
        out[1,0] = P[1, 0] + P[1, 1] * dt; out[1,1] = P[1, 1]""",
    measured: "out0 = 2 * x[1]; out1 = 2 * P[1, 1] * 2 + r",
    gain: "out[0] = P[0, 1] * 2; out[1] = P[1, 1] * 2",
    turned: """c = cos(yaw); s = sin(yaw); out[0] = c * v[0] - s * v[1]; out[1] = s * v[0] + c * v[1]; out[2] = v[2]""",
    arm: """c = cos(q[0]); s = sin(q[0]); c_2 = cos(q[1]); s_2 = sin(q[1]);
        out[0] = c * (0.2 * c_2) - s * (0.2 * s_2) + 0.3 * c; out[1] = s * (0.2 * c_2) + c * (0.2 * s_2) + 0.3 * s""",
    # of many rows it stays a matrix, and so does one without a 0
    rows: "F[0,0] = 1; F[0,1] = dt; F[1,0] = 0; F[1,1] = 1; out[i,j] = sum[k](x[i, k] * F[j, k])",
    full: "M[0,0] = a; M[0,1] = 1; M[1,0] = 2; M[1,1] = a; out[i] = sum[j](M[i, j] * v[j])",
}


@pytest.mark.parametrize("function", EQUATIONS, ids=lambda f: f.__name__)
def test_nothing_is_multiplied_by_0(function):
    _, *lines = str(function).splitlines()
    assert [line.strip() for line in lines] == [part.strip() for part in EQUATIONS[function].split(";")]


@pytest.mark.parametrize("to", ["numpy", "c"])
@pytest.mark.parametrize("function", EQUATIONS, ids=lambda f: f.__name__)
def test_the_check_agrees(function, to):
    """Which calls the function itself, too, with arrays of NumPy."""
    report = sg.check(function, to=to)
    assert report.ok, report

