"""The plain meaning of a function: every equation evaluated point by point in mpmath, at its working precision."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import mpmath
import numpy as np
from mpmath import mp

from ..errors import ShapeError
from ..evaluate import evaluate
from ..expr import Expr, Index, Ref, ref
from .data import Equation, Function
from .order import Group, Item, scheduled

Array = np.ndarray[Any, Any]
Sizes = Mapping[str, "int | tuple[int, ...]"]


def bind(
    function: Function, inputs: Mapping[str, Any], options: Mapping[str, Any] | None = None
) -> dict[str, int | tuple[int, ...]]:
    """The size of every dim, told by the shapes of `inputs` (None for an absent one); a pack's size is a tuple.

    Raises ShapeError where an input has the wrong number of axes or two inputs disagree.
    """
    sizes: dict[str, int | tuple[int, ...]] = {}
    for name in function.inputs:
        if inputs.get(name) is None:
            continue
        given = np.shape(inputs[name])
        axes = function.table[name].shape
        ranks = _ranks(function, axes, len(given), sizes)
        if sum(ranks) != len(given):
            raise ShapeError(f"{function.name}: {name} has {len(given)} axes, and is declared with {list(axes)}")
        place = 0
        for axis, rank in zip(axes, ranks, strict=True):
            extents = given[place : place + rank]
            place += rank
            if isinstance(axis, Ref):
                _agree(function, sizes, name, axis, extents if axis.name in function.packs else extents[0])
            elif extent_of(axis, sizes, options) != extents[0]:
                raise ShapeError(f"{function.name}: {name} has an axis of {extents[0]}, declared as {axis}")
    return sizes


def _ranks(function: Function, axes: Sequence[Expr], given: int, sizes: Sizes) -> list[int]:
    """How many of the given axes each declared axis stands for: a pack as many as it is known to, or the rest."""
    ranks: list[int | None] = [1] * len(axes)
    for place, axis in enumerate(axes):
        if isinstance(axis, Ref) and axis.name in function.packs:
            known = sizes.get(axis.name)
            ranks[place] = len(known) if isinstance(known, tuple) else None
    rest = max(0, given - sum(r for r in ranks if r is not None))
    return [rest if r is None else r for r in ranks]


def _agree(
    function: Function,
    sizes: dict[str, int | tuple[int, ...]],
    name: str,
    dim: Expr,
    extent: int | tuple[int, ...],
) -> None:
    assert isinstance(dim, Ref)
    if sizes.setdefault(dim.name, extent) != extent:
        raise ShapeError(f"{function.name}: {dim.name} = {extent} in {name}, {sizes[dim.name]} before it")


def extent_of(extent: Expr, sizes: Sizes, options: Mapping[str, Any] | None = None) -> int:
    """The value of an extent, at least 0; a pack counts the product of its sizes."""

    def element(name: str, subscripts: tuple[int, ...]) -> Any:
        found = sizes[name] if name in sizes else (options or {})[name]
        return prod(found) if isinstance(found, tuple) else found

    return max(0, int(evaluate(extent, {}, element)))


def interpret(
    function: Function, inputs: Mapping[str, Any], options: Mapping[str, Any] | None = None
) -> dict[str, Array]:
    """Return every tensor of `function` as an array of mpf (or int) objects, packs flattened to one axis.

    inputs   name -> array, nested list or number, with the declared shape; None for an absent optional input
    options  name -> number; the declared defaults otherwise
    """
    chosen = {o.name: o.default for o in function.options} | dict(options or {})
    numbers = {k: v if isinstance(v, int) else mpmath.mpf(v) for k, v in chosen.items()}
    sizes = bind(function, inputs, numbers)
    arrays: dict[str, Array] = {}

    def shape(name: str) -> tuple[int, ...]:
        return tuple(extent_of(e, sizes, numbers) for e in function.table[name].shape)

    for name in function.inputs:
        if inputs.get(name) is not None:
            exact = int if function.table[name].dtype != "real" else _real
            flat = [exact(v) for v in np.asarray(inputs[name], dtype=object).ravel()]
            arrays[name] = _filled(flat, shape(name))

    def element(name: str, subscripts: tuple[int, ...]) -> Any:
        if name in arrays:
            if any(s < 0 for s in subscripts):
                raise IndexError(f"{name}[{subscripts}] is outside of its shape {arrays[name].shape}")
            return arrays[name][subscripts]
        if name in sizes:
            return extent_of(ref(name), sizes)
        return numbers[name]

    for name in dict.fromkeys(e.target for e in function.statements):
        arrays[name] = _filled([mpmath.mpf(0)] * prod(shape(name)), shape(name))

    def add(equation: Equation, fixed: Mapping[str, int]) -> None:
        if all((inputs.get(name) is not None) == present for name, present in equation.when):
            _accumulate(equation, arrays[equation.target], sizes, numbers, element, fixed)

    def run(item: Item, fixed: Mapping[str, int]) -> None:
        if isinstance(item, Group):
            for equation in item.equations:
                add(equation, fixed)
            return
        for equation in item.first:
            add(equation, fixed)
        for inner in item.early:
            run(inner, fixed)
        turns = range(extent_of(item.extent, sizes, numbers))
        for turn in reversed(turns) if item.reverse else turns:
            for inner in item.turn:
                run(inner, {**fixed, item.index.name: turn})
        for inner in item.last:
            run(inner, fixed)

    for item in scheduled(function.statements):
        run(item, {})
    return arrays


def _real(value: Any) -> Any:
    return value if isinstance(value, mpmath.mpf) else mpmath.mpf(value)


def _filled(values: list[Any], shape: tuple[int, ...]) -> Array:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array.reshape(shape)


def _accumulate(
    equation: Equation,
    array: Array,
    sizes: Sizes,
    numbers: Mapping[str, Any],
    element: Any,
    fixed: Mapping[str, int],
) -> None:
    """Add one equation to its target; `fixed` are the indices of the loops around it."""
    if equation.matrix is not None:
        _matrix(equation, array, sizes, numbers, element, fixed)
        return
    fibres: dict[tuple[int, ...], list[Any]] = {}
    names = [i.name for i, _ in equation.box]
    ranges = {
        i.name: range(fixed[i.name], fixed[i.name] + 1) if i.name in fixed else range(extent_of(e, sizes, numbers))
        for i, e in equation.box
    }
    if equation.reduce in EMPTY and equation.plain:
        shown = [ranges[s.name] for s in equation.subscripts if isinstance(s, Index)]
        fibres = {at: [] for at in itertools.product(*shown)}
    for point in itertools.product(*ranges.values()):
        at = dict(zip(names, point, strict=True))
        if equation.where is not None and not evaluate(equation.where, at, element):
            continue
        target = tuple(int(evaluate(s, at, element)) for s in equation.subscripts)
        fibres.setdefault(target, []).append(evaluate(equation.body, at, element))
    for target, values in fibres.items():
        array[target] = array[target] + (REDUCE[equation.reduce](values) if values else EMPTY[equation.reduce])


def _matrix(
    equation: Equation,
    array: Array,
    sizes: Sizes,
    numbers: Mapping[str, Any],
    element: Any,
    fixed: Mapping[str, int],
) -> None:
    """Write the results of a function of matrices, one point of its batch after the other."""
    row = equation.matrix
    assert row is not None
    ranges = {
        i: range(fixed[i.name], fixed[i.name] + 1) if i.name in fixed else range(extent_of(e, sizes, numbers))
        for i, e in equation.box
    }
    result = [i for i, _ in equation.result]
    batch = [i for i, _ in equation.shown if i not in result]
    reduced = [i for i, _ in equation.reduced]
    for point in itertools.product(*(ranges[i] for i in batch)):
        at = {i.name: place for i, place in zip(batch, point, strict=True)}
        operands = []
        for operand, places in zip(equation.operands, row.operands, strict=True):
            axes = [reduced[k] for k in places]

            def entry(place: tuple[int, ...], operand: Expr = operand, axes: Sequence[Index] = axes) -> Any:
                return evaluate(operand, at | {i.name: p for i, p in zip(axes, place, strict=True)}, element)  # noqa: B023  # called at once

            operands.append(nested([ranges[i] for i in axes], entry))
        value = row.value(*operands)
        for place in itertools.product(*(ranges[i] for i in result)):
            here = at | {i.name: p for i, p in zip(result, place, strict=True)}
            found = value
            for p in place:
                found = found[p]
            array[tuple(int(evaluate(s, here, element)) for s in equation.subscripts)] = found


def nested(ranges: Sequence[range], value: Callable[[tuple[int, ...]], Any], at: tuple[int, ...] = ()) -> Any:
    """Nested lists with `value` at every point."""
    if not ranges:
        return value(at)
    return [nested(ranges[1:], value, (*at, place)) for place in ranges[0]]


def _product(values: list[Any]) -> Any:
    result: Any = 1
    for value in values:
        result = result * value
    return result


def _logsumexp(values: list[Any]) -> Any:
    top = max(values)
    return top if mp.isinf(top) else top + mp.log(sum(mp.exp(v - top) for v in values))


# what a reduction over nothing is; of a sum, 0
EMPTY: Mapping[str, Any] = {"prod": mp.mpf(1), "max": -mp.inf, "logsumexp": -mp.inf, "min": mp.inf}
REDUCE: Mapping[str, Callable[[list[Any]], Any]] = {
    "none": sum,
    "sum": sum,
    "max": max,
    "min": min,
    "prod": _product,
    "logsumexp": _logsumexp,
    "argmax": lambda values: values.index(max(values)),
}
