"""Formulas of one point, written once for every algebra: `o` has sqrt, sin and cos of what the arguments are.

Each takes a list of arguments and gives a list of results; numbers stay Python's, so that what is times 0 is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
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


def turned(o: Any, r: Values, p: Values) -> list[Any]:
    """A point, turned by a rotation vector."""
    angle = o.sqrt(dot(r, r))
    first = cross(r, p)
    a, b = o.sin(angle) / angle, (1 - o.cos(angle)) / (angle * angle)
    return [x + a * y + b * z for x, y, z in zip(p, first, cross(r, first), strict=True)]


def se3_exp(o: Any, x: Values) -> list[Any]:
    """The pose of a twist, rotation vector 3 and velocity 3: rotation by rows, place."""
    w, v = x[:3], x[3:6]
    square = dot(w, w)
    angle = o.sqrt(square)
    a, b = o.sin(angle) / angle, (1 - o.cos(angle)) / square
    c = (1 - a) / square
    skew = [[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]]
    rotation = [
        plus(times(a, skew[i][j]), b * w[i] * w[j] + (1 - b * square if i == j else 0))
        for i in range(3)
        for j in range(3)
    ]
    first = cross(w, v)
    place = [p + b * f + c * s for p, f, s in zip(v, first, cross(w, first), strict=True)]
    return [*rotation, *place]


def camera(o: Any, x: Values) -> list[Any]:
    """OpenCV's: focal lengths 2, principal point 2, distortion k1 k2 p1 p2, point 3."""
    (fx, fy, cx, cy, k1, k2, p1, p2), point = x[:8], x[8:11]
    u, v = point[0] / point[2], point[1] / point[2]
    r = u * u + v * v
    radial = 1 + k1 * r + k2 * r * r
    a = u * radial + 2 * p1 * u * v + p2 * (r + 2 * u * u)
    b = v * radial + p1 * (r + 2 * v * v) + 2 * p2 * u * v
    return [fx * a + cx, fy * b + cy]


MEASURED_TURN, MEASURED_SPEED, MEASURED_PLACE, BETWEEN = (0.02, -0.01, 0.03), (0.1, -0.2, 0.9), (0.01, 0.02, 0.05), 0.1


def imu_residual(o: Any, x: Values) -> list[Any]:
    """Between two states, rotation vector, place and velocity of each; behind them the biases of both sensors.

    What was preintegrated depends on the biases linearly (Forster et al., 2017); the rotation is a first-order error.
    """
    vectors = [x[k : k + 3] for k in range(0, 24, 3)]
    turn, place, speed, turn_after, place_after, speed_after, of_force, of_spin = vectors
    t, fall, back = BETWEEN, (0, 0, -GRAVITY), [-r for r in turn]
    moved = [b - a - t * v - (t * t / 2) * g for a, b, v, g in zip(place, place_after, speed, fall, strict=True)]
    faster = [b - a - t * g for a, b, g in zip(speed, speed_after, fall, strict=True)]
    axes = [turned(o, back, turned(o, turn_after, axis)) for axis in ((1, 0, 0), (0, 1, 0), (0, 0, 1))]
    error = [axes[1][2] - axes[2][1], axes[2][0] - axes[0][2], axes[0][1] - axes[1][0]]
    return [
        *(m - (d - (t * t / 2) * b) for m, d, b in zip(turned(o, back, moved), MEASURED_PLACE, of_force, strict=True)),
        *(m - (d - t * b) for m, d, b in zip(turned(o, back, faster), MEASURED_SPEED, of_force, strict=True)),
        *(0.5 * e - (d - t * b) for e, d, b in zip(error, MEASURED_TURN, of_spin, strict=True)),
    ]


CART, POLE, HALF_LENGTH = 1.0, 0.1, 0.5


def cart_pole(o: Any, x: Values) -> list[Any]:
    """The derivative by time of place, angle, speed and spin; behind them the force."""
    _, angle, speed, spin, force = x
    sin, cos = o.sin(angle), o.cos(angle)
    below = CART + POLE * sin * sin
    return [
        speed,
        spin,
        (force + POLE * sin * (HALF_LENGTH * spin * spin + GRAVITY * cos)) / below,
        (-force * cos - POLE * HALF_LENGTH * spin * spin * cos * sin - (CART + POLE) * GRAVITY * sin)
        / (HALF_LENGTH * below),
    ]


def kepler(o: Any, x: Values) -> list[Any]:
    """The place in an orbit, of mean anomaly, eccentricity and axis, after five of Newton's steps."""
    mean, e, axis = x
    anomaly = mean
    for _ in range(5):
        anomaly = anomaly - (anomaly - e * o.sin(anomaly) - mean) / (1 - e * o.cos(anomaly))
    return [axis * (o.cos(anomaly) - e), axis * o.sqrt(1 - e * e) * o.sin(anomaly)]


def rosenbrock(o: Any, x: Values) -> list[Any]:
    """Its residuals."""
    return [r for a, b in pairwise(x) for r in (10 * (b - a * a), 1 - a)]


def lennard_jones(o: Any, x: Values) -> list[Any]:
    """The forces of five atoms on each other."""
    atoms = [x[k : k + 3] for k in range(0, 15, 3)]
    forces: list[list[Any]] = [[0, 0, 0] for _ in atoms]
    for i, a in enumerate(atoms):
        for j, b in enumerate(atoms[:i]):
            away = [p - q for p, q in zip(a, b, strict=True)]
            s = 1 / dot(away, away)
            six = s * s * s
            strength = 24 * (2 * six * six - six) * s
            forces[i] = [plus(f, strength * d) for f, d in zip(forces[i], away, strict=True)]
            forces[j] = [f - strength * d for f, d in zip(forces[j], away, strict=True)]
    return [f for row in forces for f in row]


def scenes(random: np.random.Generator, n: int) -> np.ndarray[Any, Any]:
    """Cameras and points, by columns (17, n)."""
    low = [-1] * 3 + [-1, -1, -7] + [400, -10, -10] + [-0.05] * 2 + [-1] * 3 + [0.5] + [-300] * 2
    high = [1] * 3 + [1, 1, -5] + [450, 10, 10] + [0.05] * 2 + [1] * 3 + [1] + [300] * 2
    return random.uniform(np.array(low)[:, None], np.array(high)[:, None], (17, n))


def angles(random: np.random.Generator, n: int) -> np.ndarray[Any, Any]:
    return random.uniform(-3, 3, (7, n))


def between(low: float, high: float, count: int) -> Callable[[np.random.Generator, int], np.ndarray[Any, Any]]:
    """Numbers of a range, by columns (count, n)."""
    return lambda random, n: random.uniform(low, high, (count, n))


def atoms(random: np.random.Generator, n: int) -> np.ndarray[Any, Any]:
    """Places of five atoms, about 1 apart, by columns (15, n)."""
    places = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]]).reshape(15, 1)
    return places + random.uniform(-0.1, 0.1, (15, n))


def flights(random: np.random.Generator, n: int) -> np.ndarray[Any, Any]:
    """States and thrusts, by columns (17, n)."""
    x = random.standard_normal((17, n))
    x[6:10] /= np.sqrt((x[6:10] ** 2).sum(axis=0))
    x[13:] = random.uniform(1, 3, (4, n))
    return x
