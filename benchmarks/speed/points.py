"""Formulas of one point, written once for every algebra: `o` has sqrt, sin and cos of what the arguments are.

Each takes a list of arguments and gives a list of results; numbers stay Python's, so that what is times 0 is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Values = Sequence[Any]


def dot(a: Values, b: Values) -> Any:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Values, b: Values) -> list[Any]:
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def bundle_adjustment(o: Any, x: Values) -> list[Any]:
    """The residual of ADBench: camera (rotation 3, centre 3, focal length, principal point 2, distortion 2), point 3,
    weight; behind them where the point was seen, 2."""
    rotation, centre, focal, principal, distortion = x[0:3], x[3:6], x[6], x[7:9], x[9:11]
    point, weight, seen = x[11:14], x[14], x[15:17]
    angle = o.sqrt(dot(rotation, rotation))
    cos, sin = o.cos(angle), o.sin(angle)
    axis = [r / angle for r in rotation]
    away = [p - c for p, c in zip(point, centre, strict=True)]
    turned, along = cross(axis, away), dot(axis, away) * (1 - cos)
    in_camera = [d * cos + t * sin + a * along for d, t, a in zip(away, turned, axis, strict=True)]
    u, v = in_camera[0] / in_camera[2], in_camera[1] / in_camera[2]
    r = u * u + v * v
    radial = 1 + distortion[0] * r + distortion[1] * r * r
    return [
        weight * (u * radial * focal + principal[0] - seen[0]),
        weight * (v * radial * focal + principal[1] - seen[1]),
        1 - weight * weight,
    ]


OFFSETS = (0.34, 0, 0.4, 0, 0.4, 0, 0.126)  # metres, of a KUKA iiwa
TWISTS = (-1, 1, 1, -1, -1, 1, 0)  # quarter turns


def arm(o: Any, x: Values) -> list[Any]:
    """Where the hand of an arm of seven joints is, and its rotation by rows."""
    place: list[Any] = [0, 0, 0]
    rotation: list[list[Any]] = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    for angle, offset, twist in zip(x, OFFSETS, TWISTS, strict=True):
        sin, cos = o.sin(angle), o.cos(angle)
        straight = 0 if twist else 1
        link = [
            [cos, times(-sin, straight), times(sin, twist)],
            [sin, times(cos, straight), times(-cos, twist)],
            [0, twist, straight],
        ]
        place = [plus(p, times(row[2], offset)) for p, row in zip(place, rotation, strict=True)]
        columns = [*zip(*link, strict=True)]
        rotation = [[product(row, column) for column in columns] for row in rotation]
    return [*place, *(entry for row in rotation for entry in row)]


def product(a: Values, b: Values) -> Any:
    return plus(plus(times(a[0], b[0]), times(a[1], b[1])), times(a[2], b[2]))


def times(a: Any, b: Any) -> Any:
    """a*b, without the multiplication where one of them is the number 0, 1 or -1."""
    for number, other in ((a, b), (b, a)):
        if isinstance(number, int):
            return 0 if number == 0 else other if number == 1 else -other if number == -1 else number * other
    return a * b


def plus(a: Any, b: Any) -> Any:
    return b if isinstance(a, int) and a == 0 else a if isinstance(b, int) and b == 0 else a + b


MASS, LENGTH, YAW, DRAG, STEP, GRAVITY = 0.8, 0.2, 0.05, 0.1, 0.02, 9.81
INERTIA = (0.005, 0.006, 0.009)


def quadrotor(o: Any, x: Values) -> list[Any]:
    """A step of Runge and Kutta's: position 3, velocity 3, quaternion 4, spin 3; behind them four thrusts."""
    state, thrust = list(x[:13]), x[13:17]

    def moved(by: float, slope: Values) -> list[Any]:
        return [s + by * k for s, k in zip(state, slope, strict=True)]

    first = _motion(o, state, thrust)
    second = _motion(o, moved(STEP / 2, first), thrust)
    third = _motion(o, moved(STEP / 2, second), thrust)
    fourth = _motion(o, moved(STEP, third), thrust)
    slopes = zip(state, first, second, third, fourth, strict=True)
    after = [s + (STEP / 6) * (a + 2 * (b + c) + d) for s, a, b, c, d in slopes]
    quaternion = after[6:10]
    norm = o.sqrt(dot(quaternion, quaternion) + quaternion[3] * quaternion[3])
    return [*after[:6], *(q / norm for q in quaternion), *after[10:]]


def _motion(o: Any, state: Values, thrust: Values) -> list[Any]:
    """The derivative of the state by time."""
    velocity, (a, b, c, d), spin = state[3:6], state[6:10], state[10:13]
    lift = (thrust[0] + thrust[1] + thrust[2] + thrust[3]) * (1 / MASS)
    drag = o.sqrt(dot(velocity, velocity) + 1e-3) * (DRAG / MASS)
    (p, q, r), (i, j, k) = spin, INERTIA
    return [
        *velocity,
        2 * (b * d + a * c) * lift - drag * velocity[0],
        2 * (c * d - a * b) * lift - drag * velocity[1],
        (1 - 2 * (b * b + c * c)) * lift - drag * velocity[2] - GRAVITY,
        -0.5 * (b * p + c * q + d * r),
        0.5 * (a * p + c * r - d * q),
        0.5 * (a * q - b * r + d * p),
        0.5 * (a * r + b * q - c * p),
        (LENGTH * (thrust[1] - thrust[3]) - (k - j) * q * r) * (1 / i),
        (LENGTH * (thrust[2] - thrust[0]) - (i - k) * r * p) * (1 / j),
        (YAW * (thrust[0] - thrust[1] + thrust[2] - thrust[3]) - (j - i) * p * q) * (1 / k),
    ]


def scenes(random: np.random.Generator, n: int) -> np.ndarray[Any, Any]:
    """Cameras and points, by columns (17, n)."""
    low = [-1] * 3 + [-1, -1, -7] + [400, -10, -10] + [-0.05] * 2 + [-1] * 3 + [0.5] + [-300] * 2
    high = [1] * 3 + [1, 1, -5] + [450, 10, 10] + [0.05] * 2 + [1] * 3 + [1] + [300] * 2
    return random.uniform(np.array(low)[:, None], np.array(high)[:, None], (17, n))


def angles(random: np.random.Generator, n: int) -> np.ndarray[Any, Any]:
    return random.uniform(-3, 3, (7, n))


def flights(random: np.random.Generator, n: int) -> np.ndarray[Any, Any]:
    """States and thrusts, by columns (17, n)."""
    x = random.standard_normal((17, n))
    x[6:10] /= np.sqrt((x[6:10] ** 2).sum(axis=0))
    x[13:] = random.uniform(1, 3, (4, n))
    return x
