"""Rotations and poses: SO3, SE3 and SO3xR3, whose elements are arrays of literal size.

    SO3      a rotation: a unit quaternion x, y, z, w (w last, as Eigen's coeffs(), ROS and SymForce store it), or a
             matrix of 3 x 3
    SE3      a pose: a rotation and a translation, as quaternion and translation (7 numbers), or a matrix of 3 x 4 or
             4 x 4. It takes a point p to R p + t
    SO3xR3   the same arrays, rotation and translation each by itself: what SymForce's Pose3 does in `retract`

Beside them stand perturbations: 3 numbers of a rotation, which are its axis times its angle; 6 of a pose, the
rotation's 3 first. All is written for components, in operators alone: it holds for declarations and for expressions.
Of a quaternion that has another length than 1 it is what the formulas make of it: nothing is normalised.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from itertools import product
from operator import add, mul
from typing import Any, ClassVar

from ..errors import ShapeError, TargetError
from ..expr import Expr, is_exact, show, value_of
from .python.arrays import Array, as_array
from .python.functions import FUNCTIONS, pi, where
from .python.joining import assembled, called
from .python.values import traced

Components = Sequence[Any]
SIDES = ("right", "left")


def _cross(a: Components, b: Components) -> list[Any]:
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def _plus(a: Components, b: Components) -> list[Any]:
    return [x + y for x, y in zip(a, b, strict=True)]


def _times(factor: Any, a: Components) -> list[Any]:
    return [factor * x for x in a]


def _dot(a: Components, b: Components) -> Any:
    return reduce(add, map(mul, a, b))


def _length(a: Components, word: str) -> Array:
    return _called(FUNCTIONS["sqrt"](_dot(a, a)), word)


class _Quaternion:
    """Rotations as x, y, z, w."""

    @staticmethod
    def compose(a: Components, b: Components) -> list[Any]:
        *u, s = a
        *v, t = b
        return [*_plus(_plus(_times(s, v), _times(t, u)), _cross(u, v)), s * t - _dot(u, v)]

    @staticmethod
    def inverse(a: Components) -> list[Any]:
        return [-a[0], -a[1], -a[2], a[3]]

    @classmethod
    def act(cls, a: Components, p: Components) -> list[Any]:
        return _Matrix.act(_again(cls.matrix(a), "rotation"), p)

    @staticmethod
    def exp(delta: Components, angle: Any) -> list[Any]:
        return [*_times(FUNCTIONS["sin"](angle / 2) / angle, delta), FUNCTIONS["cos"](angle / 2)]

    @staticmethod
    def near(delta: Components) -> list[Any]:
        return [*(d / 2 for d in delta), 1 - _dot(delta, delta) / 8]

    @staticmethod
    def log(a: Components) -> list[Any]:
        """By the arc tangent, of the smaller of the two by the larger; q and -q are one rotation, of angle <= pi."""
        *u, w = a
        sine = _length(u, "sine")
        tangent, half = _called(sine / w, "tangent"), where(w < 0, -pi, pi)
        by_sine = (half - 2 * FUNCTIONS["atan"](w / sine)) / sine
        by_tangent = 2 * (FUNCTIONS["atan"](tangent) / tangent) / w
        return _times(_called(where(sine < FUNCTIONS["abs"](w), by_tangent, by_sine), "scale"), u)

    @staticmethod
    def matrix(a: Components) -> list[Any]:
        """Each entry is of squares and products alone: its derivative by a perturbation is an entry again."""
        x, y, z, w = a
        xx, yy, zz, ww = x * x, y * y, z * z, w * w
        return [
            *(ww + xx - yy - zz, 2 * (x * y - w * z), 2 * (x * z + w * y)),
            *(2 * (x * y + w * z), ww - xx + yy - zz, 2 * (y * z - w * x)),
            *(2 * (x * z - w * y), 2 * (y * z + w * x), ww - xx - yy + zz),
        ]

    @staticmethod
    def quaternion(a: Components) -> list[Any]:
        return list(a)


class _Matrix:
    """Rotations as matrices, row by row."""

    @staticmethod
    def compose(a: Components, b: Components) -> list[Any]:
        return [_dot(a[i : i + 3], b[j::3]) for i in (0, 3, 6) for j in range(3)]

    @staticmethod
    def inverse(a: Components) -> list[Any]:
        return [a[i] for j in range(3) for i in range(j, 9, 3)]

    @staticmethod
    def act(a: Components, p: Components) -> list[Any]:
        return [_dot(a[i : i + 3], p) for i in (0, 3, 6)]

    @staticmethod
    def _powers(delta: Components, first: Any, second: Any) -> list[Any]:
        """I + first [delta] + second [delta]^2."""
        x, y, z = delta
        xy, xz, yz = second * x * y, second * x * z, second * y * z
        return [
            *(1 - second * (y * y + z * z), xy - first * z, xz + first * y),
            *(xy + first * z, 1 - second * (x * x + z * z), yz - first * x),
            *(xz - first * y, yz + first * x, 1 - second * (x * x + y * y)),
        ]

    @classmethod
    def exp(cls, delta: Components, angle: Any) -> list[Any]:
        return cls._powers(delta, FUNCTIONS["sin"](angle) / angle, (1 - FUNCTIONS["cos"](angle)) / angle**2)

    @classmethod
    def near(cls, delta: Components) -> list[Any]:
        x, y, z = delta
        squares = [-y * y - z * z, x * y, x * z, x * y, -x * x - z * z, y * z, x * z, y * z, -x * x - y * y]
        return [a + b / 2 for a, b in zip((1, -z, y, z, 1, -x, -y, x, 1), squares, strict=True)]

    @classmethod
    def log(cls, a: Components) -> list[Any]:
        return _Quaternion.log(_again(cls.quaternion(a), "quaternion"))

    @staticmethod
    def matrix(a: Components) -> list[Any]:
        return list(a)

    @staticmethod
    def quaternion(a: Components) -> list[Any]:
        """By the root of the largest of four sums: it is at least 1."""
        m = [a[i : i + 3] for i in (0, 3, 6)]
        sums = [1 + m[0][0] - m[1][1] - m[2][2], 1 - m[0][0] + m[1][1] - m[2][2], 1 - m[0][0] - m[1][1] + m[2][2]]
        sums.append(1 + m[0][0] + m[1][1] + m[2][2])
        x, y, z = m[2][1] - m[1][2], m[0][2] - m[2][0], m[1][0] - m[0][1]
        xy, xz, yz = m[0][1] + m[1][0], m[0][2] + m[2][0], m[1][2] + m[2][1]
        rows = [[sums[0], xy, xz, x], [xy, sums[1], yz, y], [xz, yz, sums[2], z], [x, y, z, sums[3]]]
        of_z = sums[2] > sums[3]
        last = where(of_z, sums[2], sums[3])
        of_y = sums[1] > last
        last = where(of_y, sums[1], last)
        of_x = sums[0] > last
        divisor = _called(2 * FUNCTIONS["sqrt"](where(of_x, sums[0], last)), "divisor")
        chosen = [where(of_x, a, where(of_y, b, where(of_z, c, d))) for a, b, c, d in zip(*rows, strict=True)]
        return [c / divisor for c in chosen]


Stored = type[_Quaternion] | type[_Matrix]
_STORED: Mapping[str, Stored] = {"quaternion": _Quaternion, "matrix": _Matrix}


class Group(ABC):
    """Rotations or poses.

    shapes  of their arrays
    size    of a perturbation
    """

    name: str
    shapes: ClassVar[tuple[tuple[int, ...], ...]]
    size: int

    def __repr__(self) -> str:
        return f"sg.{self.name}"

    # of components

    @abstractmethod
    def _product(self, stored: Stored, a: Components, b: Components) -> list[Any]:
        """Components, the rotation's first."""

    @abstractmethod
    def _inverse(self, stored: Stored, a: Components) -> list[Any]: ...

    @abstractmethod
    def _between(self, stored: Stored, a: Components, b: Components) -> list[Any]: ...

    @abstractmethod
    def _exp(self, stored: Stored, delta: Components) -> list[Any]: ...

    @abstractmethod
    def _near(self, stored: Stored, delta: Components) -> list[Any]: ...

    @abstractmethod
    def _log(self, stored: Stored, a: Components) -> list[Any]: ...

    def perturbed(
        self, shape: tuple[int, ...], element: Callable[..., Any], delta: Components, side: str
    ) -> list[tuple[tuple[int, ...], Any]]:
        """What stands where in `retract` of an element, up to squares of delta."""
        stored, places = _places(shape)
        both = [[element(*place) for place in places], self._near(stored, delta)]
        moved = dict(zip(places, self._product(stored, *both[:: _direction(side)]), strict=True))
        return [(place, moved.get(place, element(*place))) for place in product(*map(range, shape))]

    def shape_of(self, extents: Sequence[Expr]) -> tuple[int, ...] | None:
        """The last axes of an array of elements, where it is such."""
        sizes = _sizes(extents)
        return next((shape for shape in self.shapes if tuple(sizes[-len(shape) :]) == shape), None)

    @property
    def kinds(self) -> str:
        """The shapes, for people."""
        return " or ".join(" x ".join(map(str, shape)) for shape in self.shapes)

    # of arrays

    def _read(self, array: Any, function: str) -> tuple[Stored, tuple[int, ...], list[Any]]:
        array = as_array(traced(array))
        shape = self._shape_of(array, function)
        stored, places = _places(shape)
        return stored, shape, [array[(..., *place)] for place in places]

    def _shape_of(self, array: Array, function: str) -> tuple[int, ...]:
        shape = self.shape_of(array._node.shape)
        if shape is None:
            said = f"sg.{self.name}.{function} of an array of shape ({_shown(array)})"
            raise ShapeError(f"{said}: the last axes are {self.kinds}.")
        return shape

    def _delta(self, delta: Any, function: str) -> list[Any]:
        return _vector(delta, self.size, f"sg.{self.name}.{function}")

    def compose(self, a: Any, b: Any) -> Array:
        """The one behind the other: b, then a."""
        stored, shape, first = self._read(a, "compose")
        other, _, second = self._read(b, "compose")
        return _written(self._product(stored, first, _as(stored, other, second)), shape, "composed")

    def inverse(self, a: Any) -> Array:
        stored, shape, parts = self._read(a, "inverse")
        return _written(self._inverse(stored, parts), shape, "inverse")

    def between(self, a: Any, b: Any) -> Array:
        """What leads from a to b: inverse(a), composed with b."""
        stored, shape, first = self._read(a, "between")
        other, _, second = self._read(b, "between")
        return _written(self._between(stored, first, _as(stored, other, second)), shape, "between")

    def exp(self, delta: Any, storage: str = "quaternion") -> Array:
        """The element of a perturbation, stored as "quaternion" or "matrix"."""
        if storage not in _STORED:
            raise TargetError(f"{storage!r} is no storage of rotations. Choose from {', '.join(_STORED)}.")
        shape = next(s for s in reversed(self.shapes) if (len(s) == 1) == (storage == "quaternion"))
        return _written(self._exp(_STORED[storage], self._delta(delta, "exp")), shape, "element")

    def log(self, a: Any) -> Array:
        """The perturbation of an element, its rotation at most pi; at pi it is one of two, and jumps to the other."""
        stored, _, parts = self._read(a, "log")
        return _listed(self._log(stored, parts), "delta")

    def retract(self, a: Any, delta: Any, side: str = "right") -> Array:
        """a exp(delta), or exp(delta) a with side "left"; stored as a is."""
        stored, shape, parts = self._read(a, "retract")
        both = [parts, self._exp(stored, self._delta(delta, "retract"))]
        return _written(self._product(stored, *both[:: _direction(side)]), shape, "retracted")

    def local(self, a: Any, b: Any, side: str = "right") -> Array:
        """The delta with which `retract` of a is b."""
        return self.log(self.between(a, b) if _direction(side) > 0 else self.compose(b, self.inverse(a)))

    def act(self, a: Any, point: Any) -> Array:
        """The rotated point, or where a pose takes it."""
        stored, _, parts = self._read(a, "act")
        return _listed(self._act(stored, parts, _vector(point, 3, f"sg.{self.name}.act")), "moved")

    def _act(self, stored: Stored, a: Components, p: Components) -> list[Any]:
        return stored.act(a, p)

    def to_matrix(self, a: Any) -> Array:
        """The same element as a matrix; that of a pose is 4 x 4."""
        stored, _, parts = self._read(a, "to_matrix")
        return _written(_as(_Matrix, stored, parts), self.shapes[-1], "matrix")

    def to_quaternion(self, a: Any) -> Array:
        """The same element as a quaternion, of a pose with the translation behind it."""
        stored, _, parts = self._read(a, "to_quaternion")
        return _written(_as(_Quaternion, stored, parts), self.shapes[0], "quaternion")


class _Rotations(Group):
    name, shapes, size = "SO3", ((4,), (3, 3)), 3

    def _product(self, stored: Stored, a: Components, b: Components) -> list[Any]:
        return stored.compose(a, b)

    def _inverse(self, stored: Stored, a: Components) -> list[Any]:
        return stored.inverse(a)

    def _between(self, stored: Stored, a: Components, b: Components) -> list[Any]:
        return stored.compose(stored.inverse(a), b)

    def _exp(self, stored: Stored, delta: Components) -> list[Any]:
        return stored.exp(delta, _length(delta, "angle"))

    def _near(self, stored: Stored, delta: Components) -> list[Any]:
        return stored.near(delta)

    def _log(self, stored: Stored, a: Components) -> list[Any]:
        return stored.log(a)


class _Apart(Group):
    """Poses whose translations are added."""

    name, shapes, size = "SO3xR3", ((7,), (3, 4), (4, 4)), 6

    def _moved(self, stored: Stored, rotation: Components, translation: Components) -> list[Any]:
        """A translation as the other element leaves it."""
        return list(translation)

    def _product(self, stored: Stored, a: Components, b: Components) -> list[Any]:
        (q, t), (r, u) = _split(a), _split(b)
        return [*stored.compose(q, r), *_plus(t, self._moved(stored, q, u))]

    def _inverse(self, stored: Stored, a: Components) -> list[Any]:
        q, t = _split(a)
        back = stored.inverse(q)
        return [*back, *_times(-1, self._moved(stored, back, t))]

    def _between(self, stored: Stored, a: Components, b: Components) -> list[Any]:
        (q, t), (r, u) = _split(a), _split(b)
        back = stored.inverse(q)
        apart = [y - x for x, y in zip(t, u, strict=True)]
        return [*stored.compose(back, r), *self._moved(stored, back, apart)]

    def _exp(self, stored: Stored, delta: Components) -> list[Any]:
        return [*stored.exp(delta[:3], _length(delta[:3], "angle")), *delta[3:]]

    def _near(self, stored: Stored, delta: Components) -> list[Any]:
        return [*stored.near(delta[:3]), *delta[3:]]

    def _log(self, stored: Stored, a: Components) -> list[Any]:
        q, t = _split(a)
        return [*stored.log(q), *t]

    def _act(self, stored: Stored, a: Components, p: Components) -> list[Any]:
        q, t = _split(a)
        return _plus(stored.act(q, p), t)

    def rotation(self, a: Any) -> Array:
        """The rotation of a pose."""
        stored, _, parts = self._read(a, "rotation")
        return _written(parts[:-3], (4,) if stored is _Quaternion else (3, 3), "rotation")

    def translation(self, a: Any) -> Array:
        """The translation of a pose."""
        return _listed(self._read(a, "translation")[2][-3:], "translation")


class _Poses(_Apart):
    """Poses, each moved by those before it; their exponential is that of the matrix."""

    name = "SE3"

    def _moved(self, stored: Stored, rotation: Components, translation: Components) -> list[Any]:
        return stored.act(rotation, translation)

    def _exp(self, stored: Stored, delta: Components) -> list[Any]:
        turn, shift = delta[:3], delta[3:]
        angle = _length(turn, "angle")
        first, second = (1 - FUNCTIONS["cos"](angle)) / angle**2, (angle - FUNCTIONS["sin"](angle)) / angle**3
        return [*stored.exp(turn, angle), *_turning(turn, shift, first, second)]

    def _near(self, stored: Stored, delta: Components) -> list[Any]:
        turn, shift = delta[:3], delta[3:]
        return [*stored.near(turn), *(s + c / 2 for s, c in zip(shift, _cross(turn, shift), strict=True))]

    def _log(self, stored: Stored, a: Components) -> list[Any]:
        q, t = _split(a)
        turn = _again(stored.log(q), "turn")
        angle = _length(turn, "angle")
        second = (1 - angle / 2 / FUNCTIONS["tan"](angle / 2)) / angle**2
        return [*turn, *_turning(turn, t, -0.5, second)]


def _turning(turn: Components, shift: Components, first: Any, second: Any) -> list[Any]:
    """(I + first [turn] + second [turn]^2) shift."""
    once = _cross(turn, shift)
    return _plus(_plus(shift, _times(first, once)), _times(second, _cross(turn, once)))


def _split(a: Components) -> tuple[Components, Components]:
    return a[:-3], a[-3:]


def _as(stored: Stored, other: Stored, a: Components) -> list[Any]:
    """Components that are stored in one way, in another; a translation behind them stays."""
    count = 4 if other is _Quaternion else 9
    if stored is other:
        return list(a)
    turned = other.matrix(a[:count]) if stored is _Matrix else other.quaternion(a[:count])
    return [*turned, *a[count:]]


def _places(shape: tuple[int, ...]) -> tuple[Stored, list[tuple[int, ...]]]:
    """How rotations are stored in an array, and where its components stand, the rotation's first."""
    if len(shape) == 1:
        return _Quaternion, [(k,) for k in range(shape[0])]
    rotation = [(i, j) for i in range(3) for j in range(3)]
    return _Matrix, [*rotation, *((i, 3) for i in range(3) if shape[1] == 4)]


def _written(parts: Components, shape: tuple[int, ...], word: str) -> Array:
    cells = dict(zip(_places(shape)[1], parts, strict=True))
    if shape == (4, 4):
        cells |= {(3, j): float(j == 3) for j in range(4)}
    return as_array(assembled(dict(sorted(cells.items())), word))


def _listed(parts: Components, word: str) -> Array:
    return as_array(assembled({(k,): part for k, part in enumerate(parts)}, word))


def _again(parts: Components, word: str) -> list[Any]:
    """The components, each computed once; of expressions there is no telling."""
    if any(isinstance(part, Expr) for part in parts):
        return list(parts)
    shape = (3, 3) if len(parts) == 9 else (len(parts),)
    array = as_array(assembled(dict(zip(product(*map(range, shape)), parts, strict=True)), word))
    return [array[(..., *place)] for place in product(*map(range, shape))]


def _called(x: Any, word: str) -> Array:
    return as_array(called(x, word))


def _vector(array: Any, size: int, function: str) -> list[Any]:
    array = as_array(traced(array))
    if _sizes(array._node.shape)[-1:] != [size]:
        raise ShapeError(f"{function} with an array of shape ({_shown(array)}): the last axis is {size}.")
    return [array[..., k] for k in range(size)]


def _sizes(extents: Sequence[Expr]) -> list[int | None]:
    """The literal ones."""
    return [int(value_of(e)) if is_exact(e) else None for e in extents]


def _shown(array: Array) -> str:
    return ", ".join(map(show, array._node.shape))


def _direction(side: str) -> int:
    """1, or -1 for what stands the other way round."""
    if side not in SIDES:
        raise TargetError(f"{side!r} is no side of a perturbation. Choose from {', '.join(SIDES)}.")
    return 1 if side == "right" else -1


SO3 = _Rotations()
SE3 = _Poses()
SO3xR3 = _Apart()
GROUPS = {group.name: group for group in (SO3, SE3, SO3xR3)}
