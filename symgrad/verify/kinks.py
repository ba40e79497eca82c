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
from typing import Any

import mpmath
import numpy as np
from mpmath import mp

from ..ops import COMPARISONS
from ..records import dataclass
from .groups import Group, Visit
from .partials import at_kink
from .reference import Declaration, Trace
from .symmetric import symmetric_inputs
from .text import Array, Values, moved

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


Look = tuple[Trace, Decision]  # at one place


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


class _Search:
    """A point to start from, and what may still be evaluated."""

    def __init__(self, declaration: Declaration, inputs: Values, options: Mapping[str, Any], budget: int) -> None:
        self.declaration, self.inputs, self.options, self.left = declaration, inputs, options, budget
        trace = declaration.trace(inputs, options)
        self.start = {spot: (trace, decision) for spot, decision in decisions(trace).items()}
        table = declaration.function.table
        symmetric = symmetric_inputs(declaration.function)  # one element alone cannot move
        self.movable = [
            name
            for name, v in inputs.items()
            if v is not None and table[name].dtype == "real" and name not in symmetric
        ]

    def spots(self, rng: np.random.Generator) -> list[Spot]:
        """One place of each operator that decides something, drawn at random."""
        places: dict[Any, list[Spot]] = {}
        for spot in self.start:
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
        for gap in gaps(spot, self.start[spot][1].args):
            here: Look | None = self.start[spot]
            for _ in range(DESCENTS):
                if here is None:
                    break
                inputs, value = here[0].inputs, gap.of(here[1].args)
                slopes, counting = self._slopes(gap, here)
                length = sum((s * s for a in slopes.values() for s in a.ravel()), mpmath.mpf(0))
                if not counting or not mp.isfinite(length):
                    break
                here, nearest = None, abs(value)
                for order in ORDERS:
                    steps = {n: (-order * value / length * s for s in a.ravel()) for n, a in slopes.items()}
                    new = {n: moved(inputs[n], step).astype(float) for n, step in steps.items()}
                    there = self._look(spot, {**inputs, **{n: np.round(v * GRID) / GRID + 0.0 for n, v in new.items()}})
                    if there is not None and _holds(spot, there[1].args):
                        return there[0].inputs, counting[int(rng.integers(len(counting)))]
                    there = self._look(spot, {**inputs, **new})
                    if there is not None and abs(gap.of(there[1].args)) < nearest:
                        here, nearest = there, abs(gap.of(there[1].args))
        return None

    def _by_secants(self, spot: Spot, rng: np.random.Generator) -> tuple[Values, Coordinate] | None:
        """Inputs at which the `spot` is at its kink, or as near as doubles come, and the one of them that was moved."""
        nearly = None
        for gap in gaps(spot, self.start[spot][1].args):
            _, counting = self._slopes(gap, self.start[spot])
            for k in rng.permutation(len(counting))[:COORDINATES].tolist():
                value = self._secant(spot, gap, counting[k])
                if value is None:
                    continue
                inputs = self._with(counting[k], value)
                look = self._look(spot, inputs)
                if look is not None and _holds(spot, look[1].args):
                    return inputs, counting[k]
                nearly = nearly or (inputs, counting[k])
        return nearly

    def _slopes(self, gap: _Gap, look: Look) -> tuple[dict[str, Array], list[Coordinate]]:
        """The gradient of what decides, by input, and the numbers of the inputs on which it depends."""
        found = look[0].slope(gap.slopes(look[1]))
        slopes = {name: found[name] for name in self.movable}
        return slopes, [(n, k) for n, a in slopes.items() for k, slope in enumerate(a.ravel()) if slope != 0]

    def _secant(self, spot: Spot, gap: _Gap, coordinate: Coordinate) -> float | None:
        name, position = coordinate
        x = mpmath.mpf(np.asarray(self.inputs[name]).ravel()[position])
        ends, values = [x], [gap.of(self.start[spot][1].args)]
        new = x + (abs(x) + 1) / 16
        for _ in range(SECANTS):
            look = self._look(spot, self._with(coordinate, new))
            ends, values = [ends[-1], new], [values[-1], mp.nan if look is None else gap.of(look[1].args)]
            if abs(ends[1] - ends[0]) <= mpmath.ldexp(abs(new), -70) or not values[1]:
                found = 0.0 if abs(new) < mpmath.ldexp(1, -70) else float(new)
                return found if np.isfinite(found) else None
            slope = values[1] - values[0]
            if not mp.isfinite(slope) or not slope:
                return None
            new = ends[1] - values[1] * (ends[1] - ends[0]) / slope
        return None

    def _with(self, coordinate: Coordinate, value: Any) -> Values:
        """The inputs to start from, but for one number."""
        name, position = coordinate
        return {**self.inputs, name: _moved(self.inputs[name], position, value)}

    def _look(self, spot: Spot, inputs: Values) -> Look | None:
        """What decides at the `spot`; None where the declaration leaves a tensor, does not come to it, or enough was
        evaluated."""
        self.left -= 1
        trace = self.declaration.attempt(inputs, self.options) if self.left >= 0 else None
        decision = None if trace is None else decisions(trace).get(spot)
        return None if trace is None or decision is None else (trace, decision)


def _holds(spot: Spot, args: tuple[Any, ...]) -> bool:
    """Whether the arguments are at the kink."""
    if spot[1] in COMPARISONS:
        return bool(args[0] == args[1])
    if spot[1] in ORDERED:
        return args.count(min(args) if spot[1] == "min" else max(args)) > 1
    return at_kink(spot[1], args) is not None


@dataclass(frozen=True, slots=True)
class _Gap:
    """What is 0 at a kink: a sum of arguments, each with its weight, less a constant."""

    weights: Mapping[int, int]
    constant: Any = 0

    def of(self, args: tuple[Any, ...]) -> Any:
        """Its value."""
        return sum(weight * args[k] for k, weight in self.weights.items()) - self.constant

    def slopes(self, decision: Decision) -> dict[Visit, dict[int, Any]]:
        """Its derivative in the slots of the arguments."""
        found: dict[Visit, dict[int, Any]] = {}
        for k, weight in self.weights.items():
            visit, slot = decision.slots[k]
            slots = found.setdefault(visit, {})
            slots[slot] = slots.get(slot, mpmath.mpf(0)) + weight
        return found


def gaps(spot: Spot, args: tuple[Any, ...]) -> Iterator[_Gap]:
    """What may be 0 where the arguments are at a kink, the likely first."""
    if spot[1] in ORDERED:
        *_, second, first = sorted(range(len(args)), key=lambda k: -args[k] if spot[1] == "min" else args[k])
        yield _Gap({first: 1, second: -1})
        return
    for a, b in itertools.combinations(range(len(args)), 2):
        yield _Gap({a: 1, b: -1})
    if spot[1] in COMPARISONS:
        return
    for a, value in enumerate(args):
        yield _Gap({a: 1})
        if len(args) == 1 and mp.isfinite(value):
            yield _Gap({a: 1}, mp.nint(value))
            yield _Gap({a: 1}, mp.floor(value) + mpmath.mpf(1) / 2)


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
            for slot in fibre.group.watched if visit.values else ():
                slots = fibre.group.codes[slot][2]
                args = tuple(visit.values[a] for a in slots)
                if visit.values[slot] is not None and all(a is not None for a in args):
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
    changed = given.astype(object) if isinstance(value, mpmath.mpf) else given.copy()
    changed.reshape(-1)[position] = value
    return changed
