"""What is drawn: distributions, edges, integers in the range of what they index, and optional inputs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from math import prod
from typing import Any

import numpy as np

from ..expr import Apply, Const, Expr, Index, Ref, postorder, ref
from ..ir import Function, extent_of, shape_of, unconditional
from ..ops import COMPARISONS
from .domains import intervals, placed, ranged
from .sizes import Sizes
from .text import Array

EDGES = (0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 8.3, -8.3, 36.7, -36.7, 88.7, -88.7, 709.8, -709.8, 745.2, -745.2)
FAR = (1e-8, -1e-8, 1e154, -1e154, 1e-154, 1e-200, 1e200, 2.0**-1074, 2.0**-1022, 1 + 2.0**-52, 1 - 2.0**-53)
LOGARITHMS = frozenset({"log", "log1p", "atanh"})  # XLA's log1p loses seven bits between -0.42 and -0.35
Draw = Callable[[np.random.Generator, tuple[int, ...]], Array]
BEYOND = -7, 12  # integers that a subscript keeps inside: below 0, and behind axes as small as those of a check
NOTHING: Mapping[str, bool] = {}  # is said of which inputs are given: they all are

DRAWS: Mapping[str, Draw] = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "wide": lambda rng, shape: rng.choice([-1.0, 1.0], shape) * 10 ** rng.uniform(-8, 3, shape),
    "positive": lambda rng, shape: 10 ** rng.uniform(-8, 3, shape),
    "unit": lambda rng, shape: rng.uniform(0, 1, shape),
    "above": lambda rng, shape: 1 + np.abs(rng.standard_normal(shape)),
    "offset": lambda rng, shape: 800 + rng.standard_normal(shape),
    "negative offset": lambda rng, shape: rng.standard_normal(shape) - 800,
    "far below": lambda rng, shape: rng.choice([-1e31, -2e31], shape),
    "equal rows": lambda rng, shape: np.zeros(shape) + rng.choice([0.0, 1.0, -2.0], (*shape[:-1], 1) if shape else ()),
    "one-hot": lambda rng, shape: (np.arange(prod(shape)) == rng.integers(max(prod(shape), 1))).reshape(shape) * 1.0,
    "opposite": lambda rng, shape: np.resize(np.outer(rng.standard_normal(prod(shape) // 2 + 1), (1.0, -1.0)), shape),
    "ties": lambda rng, shape: rng.integers(-1, 3, shape).astype(float),
    "edges": lambda rng, shape: rng.choice(EDGES, shape),
    "zeros": lambda rng, shape: np.zeros(shape),
    "logarithms": lambda rng, shape: np.where(rng.random(shape) < 0.3, -np.inf, rng.standard_normal(shape)),
}


def is_pointwise(function: Function) -> bool:
    """Whether every tensor is one pack and literal axes: each element of the pack is a point by itself, as long as no
    formula has the number of all."""
    if len(function.packs) != 1:
        return False
    pack = function.packs[0]
    for tensor in function.tensors:
        if not tensor.shape or not isinstance(tensor.shape[0], Ref) or tensor.shape[0].name != pack:
            return False
        if not all(isinstance(e, Const) for e in tensor.shape[1:]):
            return False
    statements = function.statements
    return all(e.subscripts and isinstance(e.subscripts[0], Index) and ref(pack) not in e.reads for e in statements)


def presences(function: Function) -> list[dict[str, bool]]:
    """Which optional inputs are given: all subsets of up to three, else all, none, and each one absent."""
    names = function.optional
    if len(names) <= 3:
        return [dict(zip(names, bits, strict=True)) for bits in itertools.product((True, False), repeat=len(names))]
    single = [{n: n != absent for n in names} for absent in names]
    return [dict.fromkeys(names, True), dict.fromkeys(names, False), *single]


def edges(function: Function) -> list[float]:
    """The edges of all functions, and the constants of this one with their neighbours: where it may switch."""
    found = [*EDGES, *FAR]
    for equation in function.statements:
        for node in postorder(*equation.expressions):
            if isinstance(node, Const) and node.value.denominator != 1:
                value = float(node.value)
                found += [value, -value, np.nextafter(value, np.inf), np.nextafter(value, -np.inf)]
    operators = {n.op for e in function.statements for n in postorder(*e.expressions) if isinstance(n, Apply)}
    found += [-0.41, 0.41] if operators & LOGARITHMS else []
    found = [*(end for interval in intervals(function).values() for end in interval.ends), *found]
    distinct = list(dict.fromkeys(map(float, found)))[:200]
    # the reference has no -0.0, which only these tell from 0 by a finite value
    return distinct if operators & {"atan2", "copysign"} else [*distinct, -0.0]


def integers(function: Function, name: str, sizes: Sizes, options: Mapping[str, Any]) -> tuple[int, int]:
    """The range of values of an integer tensor: what it indexes, or is compared with, inside of its interval."""
    if function.table[name].dtype == "bool":
        return 0, 2
    interval = function.table[name].interval
    bounds, mentioned, kept = _subscript_extents(function, name, sizes, options)
    bounds += [extent_of(box[b], sizes, options) for a, b, box in _compared(function) if a == name and b in box]
    if bounds:
        return ranged(interval, 0, min(bounds), True)
    if kept and not mentioned:
        return ranged(interval, *BEYOND, False)
    return ranged(interval, *((0, 2) if mentioned else (-2, 4)), mentioned)


def inputs_at(
    function: Function,
    sizes: Sizes,
    options: Mapping[str, Any],
    rng: np.random.Generator,
    real: Callable[[str, tuple[int, ...]], Array],
    present: Mapping[str, bool] = NOTHING,
) -> dict[str, Array | None] | None:
    """Inputs of these sizes, in the domain; None where there is an index of an empty axis.

    real     gives real numbers, of a name and a shape, which are placed in their interval; integers are drawn in their
             range
    present  which inputs are given: all, of which nothing is said
    """
    found: dict[str, Array | None] = {}
    for name in function.inputs:
        dtype, shape = function.table[name].dtype, shape_of(function.table[name].shape, sizes, options)
        if not present.get(name, True):
            found[name] = None
        elif dtype == "real":
            found[name] = placed(function.table[name].interval, np.asarray(real(name, shape)), rng)
        else:
            low, high = integers(function, name, sizes, options)
            if high <= low and 0 not in shape:
                return None
            found[name] = rng.integers(low, max(high, low + 1), shape).astype(bool if dtype == "bool" else np.int64)
    return found


def _compared(function: Function) -> Iterator[tuple[str, Expr, Mapping[Any, Expr]]]:
    """The tensors that are compared with something, with what, and the box in which."""
    for equation in function.statements:
        box: Mapping[Any, Expr] = dict(equation.box)
        for node in postorder(*equation.expressions):
            if isinstance(node, Apply) and node.op in COMPARISONS:
                yield from ((a.name, b, box) for a, b in (node.args, node.args[::-1]) if isinstance(a, Ref))


def _subscript_extents(
    function: Function, name: str, known: Sizes, options: Mapping[str, Any]
) -> tuple[list[int], bool, bool]:
    """The extents of the axes that an integer tensor subscripts; whether a subscript is computed from it on a condition
    that keeps it inside; and whether one is that is inside whatever it is."""
    bounds: list[int] = []
    mentioned = kept = False
    for equation in function.statements:
        certain = unconditional(equation.body) if equation.where is None else ()
        slots = [(equation.target, equation.subscripts, equation.where is None)]
        found = (n for n in postorder(*equation.expressions) if isinstance(n, Ref))
        slots += [(n.name, n.subscripts, n in certain) for n in found]
        for target, subscripts, always in slots:
            for axis, s in enumerate(subscripts):
                if isinstance(s, Ref) and s.name == name:
                    bounds.append(extent_of(function.table[target].shape[axis], known, options))
                elif any(isinstance(n, Ref) and n.name == name for n in postorder(s)):
                    mentioned, kept = mentioned or not always, kept or always
    return bounds, mentioned, kept


def counted_out(function: Function) -> set[str]:
    """The options that integer inputs are compared with."""
    whole = {n for n in function.inputs if function.table[n].dtype == "int"}
    return {b.name for name, b, _ in _compared(function) if name in whole and isinstance(b, Ref)}


def ignored(function: Function, numbers: Mapping[str, Any]) -> dict[str, list[int]]:
    """The integer inputs that are subscripts, with the numbers that they are compared with, and those beside: a `where`
    may leave out what is out of range. `numbers` are options and sizes."""
    found: dict[str, list[int]] = {}
    for name, b, _ in _compared(function):
        number = numbers.get(b.name) if isinstance(b, Ref) else b.value if isinstance(b, Const) else None
        if name in function.inputs and function.table[name].dtype == "int" and number is not None:
            found.setdefault(name, []).extend((int(number), int(number) - 1, int(number) + 1))
    return found


def outside(function: Function, known: Sizes, options: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    """The integer inputs that are subscripts, each with the two values next to the range they must be in."""
    found = {}
    for name in function.inputs:
        if function.table[name].dtype == "int":
            bounds, *_ = _subscript_extents(function, name, known, options)
            if bounds:
                found[name] = -1, min(bounds)
    return found
