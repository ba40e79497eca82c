"""Perturbed rotations and poses, for the check: by exponentials of matrices and of quaternions, at any precision.

What is derived knows `retract` as a polynomial, true up to squares. Here it is what it is called: pose exp(delta), or
exp(delta) pose, with the exponential of mpmath; its derivatives are central differences.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
from mpmath import mp

from ..records import dataclass
from .text import Array

SIZES = {"SO3": 3, "SE3": 6, "SO3xR3": 6}


@dataclass(frozen=True)
class Retraction:
    """How an input is perturbed: as an element of a group, on the right or the left; `rank` axes are one element."""

    group: str
    left: bool
    rank: int

    def shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Of the perturbations of an array of that shape."""
        return (*shape[: len(shape) - self.rank], SIZES[self.group])

    def pulled(self, array: Array, gradient: Array) -> Array:
        """The gradient by the perturbations, from that by the elements."""
        found = np.empty(self.shape(array.shape), dtype=object)
        for at in np.ndindex(found.shape[:-1]):
            columns = self._columns(array[at])
            found[at] = [sum((g * d for g, d in zip(gradient[at].flat, c.flat, strict=True)), mp.zero) for c in columns]
        return found

    def _columns(self, element: Array) -> list[Array]:
        """The derivative by each number of the perturbation."""
        bits = mp.prec
        with mp.workprec(2 * bits):
            step = mpmath.ldexp(1, -bits // 2)
            size = SIZES[self.group]
            units = [[step if k == j else mp.zero for k in range(size)] for j in range(size)]
            ends = [[self.retract(element, [sign * u for u in unit]) for sign in (1, -1)] for unit in units]
            return [(up - down) / (2 * step) for up, down in ends]

    def retract(self, element: Array, delta: list[Any]) -> Array:
        """The element after a perturbation."""
        matrices = self.rank == 2
        turn, shift = delta[:3], delta[3:]
        whole = _exponential(turn, shift if self.group == "SE3" else [0, 0, 0])
        if matrices:
            rotation, place = element[:3, :3], element[:3, 3:].ravel()
            found = element.copy()
            found[:3, :3] = whole[:3, :3] @ rotation if self.left else rotation @ whole[:3, :3]
        else:
            rotation, place = _turn(element[:4]), element[4:]
            found = element.copy()
            found[:4] = _times(_half(turn), element[:4]) if self.left else _times(element[:4], _half(turn))
        if self.group == "SO3":
            return found
        if self.group == "SO3xR3":
            place = place + np.array(shift)
        elif self.left:
            place = whole[:3, :3] @ place + whole[:3, 3]
        else:
            place = place + rotation @ whole[:3, 3]
        found[(slice(0, 3), 3) if matrices else slice(4, 7)] = place
        return found


def _exponential(turn: list[Any], shift: list[Any]) -> Array:
    x, y, z = turn
    twist = [[0, -z, y, shift[0]], [z, 0, -x, shift[1]], [-y, x, 0, shift[2]], [0, 0, 0, 0]]
    found: Callable[[Any], Any] = mp.expm
    return np.array(found(mpmath.matrix(twist)).tolist(), dtype=object)


def _half(turn: list[Any]) -> Array:
    """The quaternion of a rotation vector."""
    angle = mp.sqrt(sum(t * t for t in turn))
    factor = mp.sin(angle / 2) / angle if angle else mpmath.mpf(1) / 2
    return np.array([*(factor * t for t in turn), mp.cos(angle / 2)], dtype=object)


def _times(p: Array, q: Array) -> Array:
    """Hamilton's product, by the matrix of its left factor."""
    x, y, z, w = p
    left = np.array([[w, -z, y, x], [z, w, -x, y], [-y, x, w, z], [-x, -y, -z, w]], dtype=object)
    return np.asarray(left @ q)


def _turn(q: Array) -> Array:
    """The rotation matrix of a quaternion."""
    (x, y, z), w = q[:3], q[3]
    cross = np.array([[mp.zero, -z, y], [z, mp.zero, -x], [-y, x, mp.zero]], dtype=object)
    return np.asarray((q @ q) * np.eye(3) + 2 * (w * cross + cross @ cross))
