"""What is computed: the rows of the table.

A row of points is a formula of points.py, of one point at a time or of columns of many; a row of tensors is a function
of arrays. Both have arguments, the cotangent of the result, and those of the arguments whose gradients are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np

from . import points, tensors

Array = np.ndarray[Any, Any]
FORWARD, BACKWARD, JACOBIAN = "forward", "backward", "jacobian"
BY_HAND, NUMPY_BY_HAND = "C by hand", "NumPy by hand"
OURS, OURS_O2, OURS_NUMPY = "symgrad C -O3", "symgrad C -O2", "symgrad NumPy"


@dataclass(frozen=True)
class Row:
    """One piece of work.

    kind     "point": one point at a time, in C alone; "batch": columns of points; "tensor": arrays
    formula  its name in points.py or tensors.py, and of the file in c/
    sizes    what the arguments are made of, in the order of the C by hand; `small` are those of a test
    wrt      the places of the arguments whose gradients are asked for
    asks     the call that is measured: BACKWARD goes from arguments and cotangent to gradients, with nothing saved
    goals    the ratio to its floor that a column should reach; of NumPy at points, nanoseconds for one
    """

    name: str
    title: str
    kind: str
    formula: str
    sizes: tuple[int, ...]
    small: tuple[int, ...]
    wrt: tuple[int, ...]
    goals: Mapping[str, float]
    asks: str = BACKWARD
    options: Mapping[str, Any] = field(default_factory=dict)

    def job(self, small: bool = False) -> Job:
        """What is measured, or the small one of a test: the same in every run."""
        sizes = self.small if small else self.sizes
        if self.kind == "tensor":
            draw, shape = tensors.TENSORS[self.formula].draw, tensors.TENSORS[self.formula].shape(*sizes)
        else:
            draw, shape = POINTS[self.formula].draw, (POINTS[self.formula].results, *sizes)
        cotangent = np.random.default_rng(2).standard_normal(shape) if shape else 1.3
        return Job(self, sizes, (*draw(np.random.default_rng(1), *sizes),), np.asarray(cotangent))


@dataclass(frozen=True)
class Job:
    """A row with what it is given: of points the arguments and the cotangent by columns."""

    row: Row
    sizes: tuple[int, ...]
    arguments: tuple[Array, ...]
    cotangent: Array

    @property
    def points(self) -> int:
        """How many evaluations a call of it is."""
        return 1 if self.row.kind == "tensor" else self.sizes[0]


PAGE, HEAD = 4096, 16  # bytes


def zeros(shape: int | tuple[int, ...], dtype: Any = np.float64) -> Array:
    """Memory that begins where malloc's large blocks do, for code by hand and for ours alike: elsewhere the same code
    takes up to twice the time, in one process and not in the next."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    found = np.zeros(size + PAGE, np.uint8)
    first = (HEAD - found.ctypes.data) % PAGE
    return found[first : first + size].view(dtype).reshape(shape)


@dataclass(frozen=True)
class Point:
    """A formula of one point: its arguments have these names, its results are so many."""

    formula: Callable[[Any, Sequence[Any]], list[Any]]
    draw: Callable[[np.random.Generator, int], Array]
    names: tuple[str, ...]
    results: int


def _numbered(name: str, n: int) -> tuple[str, ...]:
    return tuple(f"{name}{k}" for k in range(n))


POINTS = {
    "bundle_adjustment": Point(
        points.bundle_adjustment,
        points.scenes,
        (
            *_numbered("rotation", 3),
            *_numbered("centre", 3),
            "focal",
            *_numbered("principal", 2),
            *_numbered("distortion", 2),
            *_numbered("point", 3),
            "weight",
            *_numbered("seen", 2),
        ),
        3,
    ),
    "arm": Point(points.arm, points.angles, _numbered("q", 7), 12),
    "quadrotor": Point(
        points.quadrotor,
        points.flights,
        (
            *_numbered("position", 3),
            *_numbered("velocity", 3),
            *_numbered("quaternion", 4),
            *_numbered("spin", 3),
            *_numbered("thrust", 4),
        ),
        13,
    ),
}
POINTS |= {
    name: Point(formula, draw, _numbered("x", inputs), results)
    for name, formula, draw, inputs, results in [
        ("se3_exp", points.se3_exp, points.between(0.2, 1.5, 6), 6, 12),
        ("camera", points.camera, points.between(0.2, 1.5, 11), 11, 2),
        ("imu_residual", points.imu_residual, points.between(0.1, 0.9, 24), 24, 9),
        ("cart_pole", points.cart_pole, points.between(-2, 2, 5), 5, 4),
        ("kepler", points.kepler, points.between(0.1, 0.7, 3), 3, 2),
        ("rosenbrock", points.rosenbrock, points.between(-2, 2, 100), 100, 198),
        ("lennard_jones", points.lennard_jones, points.atoms, 15, 15),
    ]
}
GRADIENTS = {"bundle_adjustment": 15, "arm": 7, "quadrotor": 17}  # of the first arguments


@cache
def declared(formula: str) -> Any:
    """The formula as a function of symgrad's."""
    import symgrad as sg

    if formula in tensors.TENSORS:
        return tensors.TENSORS[formula].declare(sg)
    point = POINTS[formula]
    arguments = ", ".join(point.names)
    text = f"def {formula}({arguments}):\n    return tuple(formula(sg, [{arguments}]))\n"
    names: dict[str, Any] = {"formula": point.formula, "sg": sg}
    exec(text, names)  # a signature of seven or seventeen names, which only text can give
    return sg.function(names[formula])


def functions(row: Row) -> dict[str, Any]:
    """What is asked of the functions that are printed, where it is not forward and backward."""
    if row.asks != JACOBIAN:
        return {}
    return {"functions": (JACOBIAN,), "wrt": tuple(POINTS[row.formula].names[k] for k in row.wrt)}


def _points(name: str, title: str, formula: str, c: float, many: float, numpy: float) -> list[Row]:
    wrt = tuple(range(GRADIENTS[formula]))
    goals = {OURS: many, OURS_NUMPY: numpy}
    return [
        Row(name, f"{title}, point", "point", formula, (256,), (8,), wrt, {OURS: c}),
        Row(f"{name}_batch", f"{title}, 1e5 points", "batch", formula, (100_000,), (64,), wrt, goals),
    ]


def _tensor(
    name: str, title: str, formula: str, sizes: tuple[int, ...], small: tuple[int, ...], wrt: tuple[int, ...],
    c: float | None, numpy: float | None, others: Mapping[str, float] = MappingProxyType({}), **options: int,
) -> Row:  # fmt: skip
    goals = {column: goal for column, goal in {OURS: c, OURS_NUMPY: numpy, **others}.items() if goal is not None}
    return Row(name, title, "tensor", formula, sizes, small, wrt, goals, BACKWARD, options)


ROWS = {
    row.name: row
    for row in [
        *_points("ba", "BA residual", "bundle_adjustment", 1.10, 1.1, 180),
        Row("ba_jacobian", "BA 3x15 Jacobian", "point", "bundle_adjustment", (256,), (8,), tuple(range(15)),
            {OURS: 1.05}, JACOBIAN),
        *_points("arm", "7-joint arm", "arm", 1.05, 1.1, 440),
        *_points("quadrotor", "quadrotor step", "quadrotor", 1.05, 1.1, 800),
        _tensor("softmax_ce", "softmax cross entropy 1024x1000", "cross_entropy", (1024, 1000), (6, 17), (0,),
                1.05, 1.0, {"symgrad torch": 2.0, "symgrad torch, compiled": 1.0}),
        _tensor("layer_norm", "layer_norm 1024x1024", "layer_norm", (1024, 1024), (6, 40), (0, 1, 2),
                0.9, 1.0, {"symgrad torch": 3.0, "symgrad torch, compiled": 1.0}),
        _tensor("gelu", "gelu 1e6", "gelu", (1_000_000,), (300,), (0,), 1.0, 1.0,
                {"symgrad torch": 1.5, "symgrad JAX": 1.0}),
        _tensor("chain", "tanh(ax+b)*sigmoid(cx) 1e6", "chain", (1_000_000,), (300,), (0, 1, 2, 3), 0.8, 1.0),
        _tensor("conv2d", "conv2d 8x16x32^2 -> 32, 3x3", "conv2d", (8, 16, 32, 32, 32), (2, 3, 9, 10, 5), (0, 1, 2),
                1.0, 1.0, {"symgrad torch": 1.1, "symgrad JAX": 1.1}, padding=1),
        _tensor("max_pool2d", "max_pool2d 8x16x64^2, 2x2", "max_pool2d", (8, 16, 64, 64), (2, 3, 8, 10), (0,),
                None, None, {"symgrad torch": 2.0, "symgrad torch, compiled": 1.0}),
        _tensor("attention", "attention 4x128x64", "attention", (4, 128, 64), (2, 24, 16), (0, 1, 2), 1.05, 1.0),
        _tensor("gmm", "GMM 25x10, 1000 points", "gmm", (10, 25, 1000), (3, 4, 30), (0, 1, 2, 3), 1.3, 1.0),
        _tensor("linear_64", "linear 64*256^2", "linear", (64, 256, 256), (8, 24, 32), (0, 1, 2), 1.03, 1.0),
        _tensor("linear_1024", "linear 1024^3", "linear", (1024, 1024, 1024), (8, 24, 32), (0, 1, 2), 1.03, 1.0),
        _tensor("mlp", "MLP 128x784-256-10", "mlp", (128, 784, 256, 10), (8, 20, 16, 5), (1, 2, 3, 4), 1.03, 1.0),
    ]
}  # fmt: skip


def _jacobian(formula: str, title: str) -> Row:
    wrt = tuple(range(GRADIENTS.get(formula, len(POINTS[formula].names))))
    return Row(f"{formula}_jacobian", title, "point", formula, (256,), (8,), wrt, {}, JACOBIAN)


JACOBIANS = {
    row.name: row
    for row in [
        _jacobian("bundle_adjustment", "BA residual, 3x15"),
        _jacobian("arm", "7-joint arm, 12x7"),
        _jacobian("quadrotor", "quadrotor step, 13x17"),
        _jacobian("se3_exp", "exponential of SE(3), 12x6"),
        _jacobian("camera", "camera with distortion, 2x11"),
        _jacobian("imu_residual", "IMU residual, 9x24"),
        _jacobian("cart_pole", "cart-pole, 4x5"),
        _jacobian("kepler", "Kepler, 5 steps, 2x3"),
        _jacobian("rosenbrock", "Rosenbrock 100, 198x100"),
        _jacobian("lennard_jones", "Lennard-Jones, 5 atoms, 15x15"),
    ]
}
