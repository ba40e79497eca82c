"""Points exactly at a kink of an operator of the formula, wherever it stands: relu(2*x - y) at y = 2*x.

From a point where the function has a value, one input moves until what decides there is 0: an argument, the difference
of two, or of one and a whole or half number; or two elements of a maximum are equal. The zero of the formula is found
by secants, and rounded to a double. Where that misses the kink by a rounding, the point is still worth asking: the
code may come out on either side.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import mpmath
import numpy as np
from mpmath import mp

from .groups import COMPARISONS, Group
from .partials import at_kink
from .reference import Declaration, Trace
from .symmetric import symmetric_inputs
from .text import Array, Values

BITS = 200
SECANTS = 24
COORDINATES = 4  # inputs that are moved for one kink
ORDERED = ("max", "min", "argmax")

Spot = tuple[Any, ...]  # where something is decided: a slot of a group at a point of its box, or a reduced element
Coordinate = tuple[str, int]  # an element of an input


def at_kinks(
    declaration: Declaration, inputs: Values, options: Mapping[str, Any], rng: np.random.Generator, budget: int
) -> Iterator[Values]:
    """Inputs near `inputs` at which something of the formula is at its kink, and the two doubles beside each.

    One for each operator of the declaration that has a kink; `budget` evaluations at most.
    """
    with mp.workprec(BITS):
        search = _Search(declaration, inputs, options, budget)
        for spot in search.spots(rng):
            found = search.zero(spot, rng)
            if found is None:
                continue
            (name, position), value = found
            for near in (value, np.nextafter(value, np.inf), np.nextafter(value, -np.inf)):
                yield {**inputs, name: _moved(inputs[name], position, near)}


class _Search:
    """A point to start from, and what may still be evaluated."""

    def __init__(self, declaration: Declaration, inputs: Values, options: Mapping[str, Any], budget: int) -> None:
        self.declaration, self.inputs, self.options, self.left = declaration, inputs, options, budget
        self.start = decisions(declaration.trace(inputs, options))
        table = declaration.function.table
        symmetric = symmetric_inputs(declaration.function)  # one element alone cannot move
        self.coordinates: list[Coordinate] = [
            (name, position)
            for name, value in inputs.items()
            if value is not None and table[name].dtype == "real" and name not in symmetric
            for position in range(value.size)
        ]

    def spots(self, rng: np.random.Generator) -> list[Spot]:
        """One place of each operator that decides something, drawn at random."""
        places: dict[Any, list[Spot]] = {}
        for spot in self.start:
            places.setdefault(spot[:2], []).append(spot)
        return [spots[int(rng.integers(len(spots)))] for spots in places.values()]

    def zero(self, spot: Spot, rng: np.random.Generator) -> tuple[Coordinate, float] | None:
        """An input and a value of it at which the `spot` is at its kink, or as near as doubles come."""
        nearly = None
        for gap in gaps(spot, self.start[spot]):
            for k in rng.permutation(len(self.coordinates))[:COORDINATES].tolist():
                coordinate = self.coordinates[k]
                value = self._secant(spot, gap, coordinate)
                if value is None:
                    continue
                if self._holds(spot, coordinate, value):
                    return coordinate, value
                nearly = nearly or (coordinate, value)
        return nearly

    def _secant(self, spot: Spot, gap: _Gap, coordinate: Coordinate) -> float | None:
        name, position = coordinate
        x = mpmath.mpf(np.asarray(self.inputs[name]).ravel()[position])
        ends = [x, x + (abs(x) + 1) / 16]
        values = [gap.of(self.start[spot]), self._gap(spot, gap, coordinate, ends[1])]
        for _ in range(SECANTS):
            slope = values[1] - values[0]
            if not mp.isfinite(slope) or not slope:
                return None
            new = ends[1] - values[1] * (ends[1] - ends[0]) / slope
            ends, values = [ends[1], new], [values[1], self._gap(spot, gap, coordinate, new)]
            if abs(ends[1] - ends[0]) <= mpmath.ldexp(abs(new), -70) or not values[1]:
                found = 0.0 if abs(new) < mpmath.ldexp(1, -70) else float(new)
                return found if np.isfinite(found) else None
        return None

    def _gap(self, spot: Spot, gap: _Gap, coordinate: Coordinate, value: Any) -> Any:
        args = self._decided(coordinate, value).get(spot)
        return mp.nan if args is None else gap.of(args)

    def _holds(self, spot: Spot, coordinate: Coordinate, value: float) -> bool:
        args = self._decided(coordinate, value).get(spot)
        if args is None:
            return False
        if spot[1] in COMPARISONS:
            return bool(args[0] == args[1])
        if spot[1] in ORDERED:
            return args.count(min(args) if spot[1] == "min" else max(args)) > 1
        return at_kink(spot[1], args) is not None

    def _decided(self, coordinate: Coordinate, value: Any) -> dict[Spot, tuple[Any, ...]]:
        if not self.left:
            return {}
        self.left -= 1
        name, position = coordinate
        try:
            moved = {**self.inputs, name: _moved(self.inputs[name], position, value)}
            return decisions(self.declaration.trace(moved, self.options))
        except IndexError:
            return {}


class _Gap:
    """What is 0 at a kink: an argument, less another, less a constant."""

    def __init__(self, first: int, second: int | None = None, constant: Any = 0) -> None:
        self.first, self.second, self.constant = first, second, constant

    def of(self, args: tuple[Any, ...]) -> Any:
        """Its value."""
        return args[self.first] - (0 if self.second is None else args[self.second]) - self.constant


def gaps(spot: Spot, args: tuple[Any, ...]) -> Iterator[_Gap]:
    """What may be 0 where the arguments are at a kink, the likely first."""
    if spot[1] in ORDERED:
        *_, second, first = sorted(range(len(args)), key=lambda k: -args[k] if spot[1] == "min" else args[k])
        yield _Gap(first, second)
        return
    for a, b in itertools.combinations(range(len(args)), 2):
        yield _Gap(a, b)
    if spot[1] in COMPARISONS:
        return
    for a, value in enumerate(args):
        yield _Gap(a)
        if len(args) == 1 and mp.isfinite(value):
            yield _Gap(a, None, mp.nint(value))
            yield _Gap(a, None, mp.floor(value) + mpmath.mpf(1) / 2)


def decisions(trace: Trace) -> dict[Spot, tuple[Any, ...]]:
    """What decides at each place: the arguments of operators that have kinks, the elements of a maximum.

    A place is (group and slot, operator, point of the box), or (target, reduction, element).
    """
    found: dict[Spot, tuple[Any, ...]] = {}
    numbers: dict[Group, int] = {}
    for fibre in itertools.chain.from_iterable(trace.records):
        if fibre.block is not None:
            continue
        number = numbers.setdefault(fibre.group, len(numbers))
        for visit, _ in fibre.members:
            values = visit.values
            for slot in fibre.group.watched if values is not None else ():
                assert values is not None
                args = tuple(values[a] for a in fibre.group.codes[slot][2])
                if values[slot] is not None and all(a is not None for a in args):
                    found[(number, slot), fibre.group.ops[slot], tuple(visit.at.values())] = args
        if fibre.reduce in ORDERED and len(fibre.members) > 1:
            found[fibre.target, fibre.reduce, fibre.position] = tuple(fibre.values)
    return found


def coarse(inputs: Mapping[str, Array | None]) -> dict[str, Array | None]:
    """The inputs with few digits, that products of them are exact: a kink is then met, and not only neared. A zero is
    positive: the reference has no -0.0."""
    return {n: np.round(v * 16) / 16 + 0.0 if v is not None and v.dtype.kind == "f" else v for n, v in inputs.items()}


def _moved(array: Array | None, position: int, value: Any) -> Array:
    given = np.asarray(array)
    moved = given.astype(object) if isinstance(value, mpmath.mpf) else given.copy()
    moved.reshape(-1)[position] = value
    return moved
