"""Points of the domain that a function is declared for: what is drawn is folded into the intervals of the inputs, and
the bounds that belong to them are asked by themselves.

Nothing is asked outside. At such a bound an input moves inwards alone, and a kink may have the slope from there: see
`one_sided` in truth.py.
"""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np

from ..ir import Function, Interval
from .text import Array, Values

NEAR = (2.0**-26, 2.0**-10)  # of a bound, relative to it and to 1


def intervals(function: Function) -> dict[str, Interval]:
    """Those of the inputs that have one."""
    table = function.table
    return {name: table[name].interval for name in function.inputs if table[name].interval.bounded}


def placed(interval: Interval, array: Array, rng: np.random.Generator) -> Array:
    """The numbers folded into the interval, reflected at its bounds; what comes to lie on an open bound is drawn anew.

    What is inside stays as it is, and an array that is broadcast is so again.
    """
    if not interval.bounded or np.all(interval.holds(array)):
        return array
    own = _own(array)
    low, high = (None if bound is None else float(bound) for bound in (interval.least, interval.most))
    with np.errstate(all="ignore"):
        if low is not None and high is not None:
            turn = np.mod(own - low, 2 * (high - low)) if high > low else np.zeros(own.shape)
            folded = low + np.minimum(turn, 2 * (high - low) - turn)
        else:
            bound = float(low if low is not None else high or 0.0)
            folded = 2 * bound - own
    found = np.where(interval.holds(own), own, folded)
    found = np.where(interval.holds(found), found, _random(interval, own.shape, rng))
    return _broadcast(found, array.shape)


def _own(array: Array) -> Array:
    """The numbers of an array that has them in memory: once, where it is broadcast."""
    return array[tuple(slice(0, 1) if stride == 0 else slice(None) for stride in array.strides)]


def _broadcast(array: Array, shape: tuple[int, ...]) -> Array:
    return array if array.shape == shape else np.broadcast_to(array, shape)


def _random(interval: Interval, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Numbers inside, away from the bounds."""
    low, high = (None if bound is None else float(bound) for bound in (interval.least, interval.most))
    if low is not None and high is not None:
        return low + (high - low) * rng.uniform(0.01, 0.99, shape)
    apart = (1 + abs(low or high or 0.0)) * 10 ** rng.uniform(-4, 1, shape)
    return low + apart if low is not None else (high or 0.0) - apart


def inside(function: Function, inputs: Values, points: bool = False) -> Any:
    """Whether the inputs are in the domain; of `points` along their first axis, which are."""
    found: Any = True
    for name, interval in intervals(function).items():
        array = inputs.get(name)
        if array is not None:
            held = np.asarray(interval.holds(np.asarray(array)))
            found = found & held.all(axis=tuple(range(int(points), held.ndim)))
    return found


def in_single(interval: Interval, array: Array) -> Array:
    """The numbers rounded to float32; where that leaves the interval, or that between its bounds in float32, which is
    what code in float32 asks, the next one inside."""
    found = _own(np.asarray(array)).astype(np.float32)
    for _ in range(2):  # a bound and a number may both be rounded
        for bound, open_, way in ((interval.low, interval.low_open, 1), (interval.high, interval.high_open, -1)):
            if bound is not None:
                end = float(bound.value)
                apart = [way * (found.astype(np.float64) - limit) for limit in (end, float(np.float32(end)))]
                outside = (apart[0] <= 0) | (apart[1] <= 0) if open_ else (apart[0] < 0) | (apart[1] < 0)
                found = np.where(outside, np.nextafter(found, np.float32(way * np.inf)), found)
    return _broadcast(found.astype(np.float64), np.shape(array))


def all_in_single(function: Function, inputs: Values) -> dict[str, Array | None]:
    """The inputs of float32, each in its interval."""
    found = dict(inputs)
    for name, interval in intervals(function).items():
        array = found.get(name)
        if array is not None and array.dtype.kind == "f":
            found[name] = in_single(interval, array)
    return found


def at_bounds(interval: Interval, drawn: Array, rng: np.random.Generator, turn: int) -> Array:
    """What is drawn, with the bounds that belong to the interval in places of it, and numbers beside a bound in others.

    turn  tells which bound is the first: there may be one place alone
    """
    ends = list(interval.ends)
    turned = ends[turn % len(ends) :] + ends[: turn % len(ends)] if ends else []
    beside = []
    for bound, way in ((interval.low, 1.0), (interval.high, -1.0)):
        if bound is not None:
            value = float(bound.value)
            beside += [float(np.nextafter(value, way * np.inf))] if value else []  # subnormal numbers are edges of all
            beside += [value + way * near * max(1.0, abs(value)) for near in NEAR]
    beside = [v for v in (*ends, *beside) if interval.holds(v)] or [float(_random(interval, (), rng))]
    found = np.array(drawn, dtype=float)
    places = rng.permutation(found.size)[: max(len(ends), -(-found.size // 2))].tolist()
    for count, place in enumerate(places):
        found.reshape(-1)[place] = turned[count] if count < len(turned) else rng.choice(beside)
    return found


def beyond(interval: Interval, whole: bool) -> list[float]:
    """The numbers next to the interval, one on each side where it ends; no number, where it may be one."""
    if whole:
        first, last = interval.first, interval.last
        return [*([] if first is None else [first - 1]), *([] if last is None else [last + 1])]
    found = [np.nan]
    for bound, open_, way in ((interval.low, interval.low_open, -1.0), (interval.high, interval.high_open, 1.0)):
        if bound is not None:
            value = float(bound.value)
            found.append(value if open_ else value + way * max(1.0, abs(value)) * NEAR[1])
    return found


def inwards(function: Function, inputs: Values, step: Any) -> dict[str, Any]:
    """The inputs with each number that is a bound of its interval a step further inside; empty where there is none."""
    moved: dict[str, Any] = {}
    for name, interval in intervals(function).items():
        array = inputs.get(name)
        if array is None or function.table[name].dtype != "real":
            continue
        flat = [mpmath.mpf(v) for v in np.asarray(array).ravel().tolist()]
        low = interval.low is not None and not interval.low_open
        ways = [(v in interval.ends) * (1 if low and v == interval.ends[0] else -1) for v in flat]
        if any(ways):
            new = np.empty(len(flat), dtype=object)
            new[:] = [v + way * step for v, way in zip(flat, ways, strict=True)]
            moved[name] = new.reshape(np.shape(array))
    return {**inputs, **moved} if moved else {}


def ranged(interval: Interval, low: int, high: int, known: bool) -> tuple[int, int]:
    """The part of range(low, high) that an input of integers is declared for. Where it is only habit (not `known`), as
    many of the interval if there is none."""
    first = low if interval.first is None else max(low, interval.first)
    end = high if interval.last is None else min(high, interval.last + 1)
    if first >= end and not known:
        first = interval.first if interval.first is not None else (interval.last or 0) + 1 - (high - low)
        end = first + high - low if interval.last is None else min(first + high - low, interval.last + 1)
    return first, end
