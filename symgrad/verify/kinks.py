"""Points exactly at a kink of an operator of the formula, wherever it stands: relu(2*x - y) at y = 2*x.

From a point where the function has a value, the inputs move until what decides there is 0: an argument, the difference
of two, or of one and a whole or half number; or two elements of a maximum are equal.

First all inputs at once, down the gradient of what decides: sum(r**2) > 0 has its edge where every r is 0, and no one
of them alone leads there. Then one input by itself, by secants, rounded to a double. Where that misses the kink by a
rounding, the point is still worth asking: the code may come out on either side.
"""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
from mpmath import mp

from ..ops import COMPARISONS
from .groups import Group, Visit
from .partials import at_kink
from .reference import Declaration, Trace
from .symmetric import symmetric_inputs
from .text import Array, Values

BITS = 200
SECANTS = 24
COORDINATES = 4  # inputs that are moved for one kink
DESCENTS = 6  # steps of all inputs at once
ORDERS = (1, 2, 4)  # of a zero: Newton's step for it is so many times the plain one, and exact for a power of a norm
GRID = 64  # inputs are tried at multiples of 1/GRID, where sums and products of them are exact
ORDERED = ("max", "min", "argmax")

Spot = tuple[Any, ...]  # where something is decided: a slot of a group at a point of its box, or a reduced element
Coordinate = tuple[str, int]  # an element of an input


@dataclass(frozen=True, slots=True)
class Decision:
    """What decides at one place: its arguments, and the slots that they are the values of."""

    args: tuple[Any, ...]
    slots: tuple[tuple[Visit, int], ...]


def at_kinks(
    declaration: Declaration,
    inputs: Values,
    options: Mapping[str, Any],
    rng: np.random.Generator,
    budget: int,
    operators: Container[str] | None = None,
) -> Iterator[Values]:
    """Inputs near `inputs` at which something of the formula is at its kink, and the two doubles beside each.

    One for each operator of the declaration that has a kink, of those in `operators` if they are given; `budget`
    evaluations at most.
    """
    with mp.workprec(BITS):
        search = _Search(declaration, inputs, options, budget)
        for spot in search.spots(rng):
            if operators is None or spot[1] in operators:
                yield from search.around(spot, rng)


def at_conditions(
    declaration: Declaration, inputs: Values, options: Mapping[str, Any], rng: np.random.Generator, budget: int
) -> Iterator[Values]:
    """Of `at_kinks` those at which the two sides of a comparison are equal, without the points beside."""
    yield from itertools.islice(at_kinks(declaration, inputs, options, rng, budget, COMPARISONS), 0, None, 3)


@dataclass(frozen=True, slots=True)
class _Look:
    """What the declaration does at one point."""

    inputs: Values
    trace: Trace
    decisions: Mapping[Spot, Decision]


class _Search:
    """A point to start from, and what may still be evaluated."""

    def __init__(self, declaration: Declaration, inputs: Values, options: Mapping[str, Any], budget: int) -> None:
        self.declaration, self.inputs, self.options, self.left = declaration, inputs, options, budget
        trace = declaration.trace(inputs, options)
        self.start = _Look(inputs, trace, decisions(trace))
        table = declaration.function.table
        symmetric = symmetric_inputs(declaration.function)  # one element alone cannot move
        self.movable = [
            name
            for name, v in inputs.items()
            if v is not None and table[name].dtype == "real" and name not in symmetric
        ]
        self.coordinates: list[Coordinate] = [(n, k) for n in self.movable for k in range(np.asarray(inputs[n]).size)]

    def spots(self, rng: np.random.Generator) -> list[Spot]:
        """One place of each operator that decides something, drawn at random."""
        places: dict[Any, list[Spot]] = {}
        for spot in self.start.decisions:
            places.setdefault(spot[:2], []).append(spot)
        return [spots[int(rng.integers(len(spots)))] for spots in places.values()]

    def around(self, spot: Spot, rng: np.random.Generator) -> Iterator[Values]:
        """Inputs at which the `spot` is at its kink, and the two doubles beside; none if that is not found."""
        found = self._descended(spot, rng) or self._by_secants(spot, rng)
        if found is not None:
            inputs, (name, position) = found
            value = np.asarray(inputs[name]).ravel()[position]
            for near in (value, np.nextafter(value, np.inf), np.nextafter(value, -np.inf)):
                yield {**inputs, name: _moved(inputs[name], position, near)}

    def _descended(self, spot: Spot, rng: np.random.Generator) -> tuple[Values, Coordinate] | None:
        """Inputs that are multiples of 1/GRID at which the `spot` is at its kink, and one that counts there."""
        for gap in gaps(spot, self.start.decisions[spot].args):
            here: _Look | None = self.start
            for _ in range(DESCENTS):
                if here is None:
                    break
                value = gap.of(here.decisions[spot].args)
                slopes, counting = self._slopes(gap, here, spot)
                length = sum((s * s for a in slopes.values() for s in a.ravel()), mpmath.mpf(0))
                if not counting or not mp.isfinite(length):
                    break
                nearer, nearest = None, abs(value)
                for order in ORDERS:
                    new = {n: _stepped(here.inputs[n], s, -order * value / length) for n, s in slopes.items()}
                    there = self._look({**here.inputs, **{n: np.round(v * GRID) / GRID + 0.0 for n, v in new.items()}})
                    if there is not None and spot in there.decisions and self._holds(spot, there.decisions[spot].args):
                        return there.inputs, counting[int(rng.integers(len(counting)))]
                    there = self._look({**here.inputs, **new})
                    if there is not None and spot in there.decisions:
                        off = abs(gap.of(there.decisions[spot].args))
                        if off < nearest:
                            nearer, nearest = there, off
                here = nearer
        return None

    def _by_secants(self, spot: Spot, rng: np.random.Generator) -> tuple[Values, Coordinate] | None:
        """Inputs at which the `spot` is at its kink, or as near as doubles come, and the one of them that was moved."""
        nearly = None
        for gap in gaps(spot, self.start.decisions[spot].args):
            _, counting = self._slopes(gap, self.start, spot)
            for k in rng.permutation(len(counting))[:COORDINATES].tolist():
                name, position = coordinate = counting[k]
                value = self._secant(spot, gap, coordinate)
                if value is None:
                    continue
                inputs = {**self.inputs, name: _moved(self.inputs[name], position, value)}
                look = self._look(inputs)
                if look is not None and spot in look.decisions and self._holds(spot, look.decisions[spot].args):
                    return inputs, coordinate
                nearly = nearly or (inputs, coordinate)
        return nearly

    def _slopes(self, gap: _Gap, look: _Look, spot: Spot) -> tuple[dict[str, Array], list[Coordinate]]:
        """The gradient of what decides, by input, and the numbers of the inputs on which it depends."""
        found = look.trace.slope(gap.weights(look.decisions[spot]))
        slopes = {name: found[name] for name in self.movable}
        return slopes, [(n, k) for n, k in self.coordinates if slopes[n].ravel()[k] != 0]

    def _secant(self, spot: Spot, gap: _Gap, coordinate: Coordinate) -> float | None:
        name, position = coordinate
        x = mpmath.mpf(np.asarray(self.inputs[name]).ravel()[position])
        ends = [x, x + (abs(x) + 1) / 16]
        values = [gap.of(self.start.decisions[spot].args), self._gap(spot, gap, coordinate, ends[1])]
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
        name, position = coordinate
        look = self._look({**self.inputs, name: _moved(self.inputs[name], position, value)})
        return mp.nan if look is None or spot not in look.decisions else gap.of(look.decisions[spot].args)

    def _holds(self, spot: Spot, args: tuple[Any, ...]) -> bool:
        if spot[1] in COMPARISONS:
            return bool(args[0] == args[1])
        if spot[1] in ORDERED:
            return args.count(min(args) if spot[1] == "min" else max(args)) > 1
        return at_kink(spot[1], args) is not None

    def _look(self, inputs: Values) -> _Look | None:
        """None where the declaration leaves a tensor, or enough was evaluated."""
        if not self.left:
            return None
        self.left -= 1
        try:
            trace = self.declaration.trace(inputs, self.options)
        except IndexError:
            return None
        return _Look(inputs, trace, decisions(trace))


class _Gap:
    """What is 0 at a kink: an argument, less another, less a constant."""

    def __init__(self, first: int, second: int | None = None, constant: Any = 0) -> None:
        self.first, self.second, self.constant = first, second, constant

    def of(self, args: tuple[Any, ...]) -> Any:
        """Its value."""
        return args[self.first] - (0 if self.second is None else args[self.second]) - self.constant

    def weights(self, decision: Decision) -> dict[Visit, dict[int, Any]]:
        """Its derivative in the slots of the arguments."""
        found: dict[Visit, dict[int, Any]] = {}
        for which, weight in ((self.first, 1), (self.second, -1)):
            if which is not None:
                visit, slot = decision.slots[which]
                slots = found.setdefault(visit, {})
                slots[slot] = slots.get(slot, mpmath.mpf(0)) + weight
        return found


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


def decisions(trace: Trace) -> dict[Spot, Decision]:
    """What decides at each place: the arguments of operators that have kinks, the elements of a maximum.

    A place is (group and slot, operator, point of the box), or (target, reduction, element).
    """
    found: dict[Spot, Decision] = {}
    numbers: dict[Group, int] = {}
    for fibre in itertools.chain.from_iterable(trace.records):
        if fibre.block is not None:
            continue
        number = numbers.setdefault(fibre.group, len(numbers))
        for visit, _ in fibre.members:
            values = visit.values
            for slot in fibre.group.watched if values is not None else ():
                assert values is not None
                slots = fibre.group.codes[slot][2]
                args = tuple(values[a] for a in slots)
                if values[slot] is not None and all(a is not None for a in args):
                    spot = (number, slot), fibre.group.ops[slot], tuple(visit.at.values())
                    found[spot] = Decision(args, tuple((visit, a) for a in slots))
        if fibre.reduce in ORDERED and len(fibre.members) > 1:
            found[fibre.target, fibre.reduce, fibre.position] = Decision(tuple(fibre.values), tuple(fibre.members))
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


def _stepped(array: Array | None, slopes: Array, length: Any) -> Array:
    """`array` moved along `slopes`, in doubles."""
    given = np.asarray(array)
    moved = [float(mpmath.mpf(v) + length * s) for v, s in zip(given.ravel().tolist(), slopes.ravel(), strict=True)]
    return np.array(moved).reshape(given.shape)
