"""A declaration evaluated point by point: the equations are walked as they were declared.

Each element is evaluated after those that it reads, so a tensor may be computed from its own earlier elements.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import mpmath
import numpy as np
from mpmath import mp

from ..errors import DeclarationError
from ..evaluate import Position, evaluate, place
from ..expr import Index, ref
from ..ir import Equation, bind, extent_of
from ..ops import COMPARISONS, OPS
from .groups import Component, Fibre, Group, Key, Prepared, Visit
from .matrices import blocks, tied, value_of
from .partials import at_kink
from .text import Array

# what a reduction over nothing is; of a sum, 0
EMPTY: Mapping[str, Any] = {"prod": mp.mpf(1), "max": -mp.inf, "logsumexp": -mp.inf, "min": mp.inf}

SHOWN = 6  # elements of a circle


class _Waiting(Exception):
    """An element is read that has no value yet."""

    def __init__(self, key: Key) -> None:
        super().__init__(key)
        self.key = key


class Values:
    """The values of every tensor at one point of the inputs.

    kinked  an operator stood exactly at its kink, a comparison at its switch, or a maximum at a tie
    """

    def __init__(self, declaration: Prepared, inputs: Mapping[str, Any], options: Mapping[str, Any]) -> None:
        function = declaration.function
        self.declaration, self.function, self.inputs, self.options = declaration, function, inputs, options
        self.numbers = {o.name: o.default for o in function.options} | dict(options)
        self.numbers = {k: v if isinstance(v, int) else mpmath.mpf(v) for k, v in self.numbers.items()}
        self.sizes = bind(function, inputs)
        self.kinked = False
        self.arrays: dict[str, Array] = {}
        self.given = frozenset(n for n in function.inputs if inputs.get(n) is not None)
        for name in function.inputs:
            if name in self.given:
                real = function.table[name].dtype == "real"
                flat = np.asarray(inputs[name]).ravel().tolist()
                self.arrays[name] = self._array(name, [mpmath.mpf(v) if real else int(v) for v in flat])
        self.records: list[list[Fibre]] = []  # what can be gone back together, in the order of evaluation
        self.open: frozenset[str] = frozenset()
        self.pending: dict[Key, list[Fibre]] | None = None
        self.constants: dict[Group, list[Any]] = {}
        for component in declaration.components:
            self._run(component)

    def _array(self, name: str, values: list[Any] | None = None) -> Array:
        shape = tuple(extent_of(e, self.sizes, self.numbers) for e in self.function.table[name].shape)
        array = np.empty(shape, dtype=object)
        array.ravel()[:] = mpmath.mpf(0)
        if values is not None:
            array.ravel()[:] = values
        return array

    def element(self, name: str, subscripts: Position) -> Any:
        """The element of a tensor, a size or an option."""
        array = self.arrays.get(name)
        if array is not None:
            for s in subscripts:
                if s < 0:
                    raise IndexError(f"{name}{list(subscripts)} is outside of its shape {array.shape}")
            if name in self.open and (self.pending is None or (name, subscripts) in self.pending):
                raise _Waiting((name, subscripts))
            return array[subscripts]
        return extent_of(ref(name), self.sizes) if name in self.sizes else self.numbers[name]

    def _run(self, component: Component) -> None:
        self.open, self.pending = component.open, None
        for group in component.groups:
            for equation in group.equations:
                if equation.target not in self.arrays:
                    self.arrays[equation.target] = self._array(equation.target)
        groups = [g for g in component.groups if all((n in self.given) == p for n, p in g.equations[0].when)]
        fibres: dict[Key, list[Fibre]] = {}
        for group in groups:
            try:
                for fibre in self._places(group):
                    fibres.setdefault((fibre.target, fibre.position), []).append(fibre)
            except _Waiting as waiting:
                first = group.equations[0].target
                raise DeclarationError(
                    f"{self.function.name}: which elements of {first} are written depends on {_shown(waiting.key)}, "
                    f"which is computed from them."
                ) from None
        self.pending = fibres
        for key in list(fibres):
            self._demand(key)

    def _places(self, group: Group) -> list[Fibre]:
        """What each point of the box counts for; nothing is evaluated but subscripts and conditions."""
        if group.equations[0].matrix is not None:
            self.constants[group] = group.constants()
            return list(
                blocks(
                    group,
                    lambda e: extent_of(e, self.sizes, self.numbers),
                    lambda s, at: evaluate(s, at, self.element),
                )
            )
        found: dict[tuple[int, Position], Fibre] = {}
        first = group.equations[0]
        if first.reduce in EMPTY and (first.plain or first.where is None):  # over nothing, too
            shown = [(i.name, extent_of(e, self.sizes, self.numbers)) for i, e in first.shown]
            for point in np.ndindex(*(n for _, n in shown)):
                at = {name: k for (name, _), k in zip(shown, point, strict=True)}
                position = self._place(first, at)
                found[0, position] = Fibre(group, first.target, position, first.reduce, [])
        for at, positions in self._points(group):
            visit = Visit(group, at)
            for number, (equation, position) in enumerate(zip(group.equations, positions, strict=True)):
                fibre = found.get((number, position))
                if fibre is None:
                    fibre = found[number, position] = Fibre(group, equation.target, position, equation.reduce, [])
                fibre.members.append((visit, group.roots[number]))
        self.constants[group] = group.constants()
        return list(found.values())

    def _points(self, group: Group) -> list[tuple[dict[str, int], tuple[Position, ...]]]:
        """The points of the box that count, and where each equation writes at them."""
        known = (*self.sizes.items(), *((n, v) for n, v in self.numbers.items() if isinstance(v, int)))
        points = self.declaration.points.get((group, known))
        if points is not None:
            return points
        points = []
        names = [i.name for i, _ in group.box]
        for point in itertools.product(*(range(extent_of(e, self.sizes, self.numbers)) for _, e in group.box)):
            at = dict(zip(names, point, strict=True))
            if group.where is not None and not evaluate(group.where, at, self.element):
                continue
            points.append((at, tuple(self._place(e, at) for e in group.equations)))
        if group.regular(self.function):
            self.declaration.points[group, known] = points
        return points

    def _place(self, equation: Equation, at: Mapping[str, int]) -> Position:
        """Where an equation writes at a point."""
        subscripts = equation.subscripts
        return place([at[s.name] if isinstance(s, Index) else evaluate(s, at, self.element) for s in subscripts])

    def _demand(self, wanted: Key) -> None:
        """Evaluate an element, after those that it reads."""
        assert self.pending is not None
        stack = [wanted]
        while stack:
            fibres = self.pending.get(stack[-1])
            if fibres is None:
                stack.pop()
                continue
            try:
                for fibre in fibres:
                    for visit, _ in fibre.members:
                        if not visit.values:
                            self._visit(visit)
            except _Waiting as waiting:
                if waiting.key in stack:
                    raise DeclarationError(self._circle(stack[stack.index(waiting.key) :])) from None
                stack.append(waiting.key)
                continue
            self._close(stack.pop(), fibres)

    def _visit(self, visit: Visit) -> None:
        group = visit.group
        values, visit.order = group.evaluated(visit.at, self.constants[group], self.element)
        kinked = any(self._at_kink(group, values, number) for number in group.watched)
        telling = kinked or any(values[root] == 0 for root in group.roots)
        if not group.decided(values) or telling and group.absorbing(values):
            for root in group.roots:
                values[root] = mp.nan
        self.kinked |= kinked
        visit.values = values

    def _close(self, key: Key, fibres: list[Fibre]) -> None:
        """The value of an element all points of which were visited."""
        assert self.pending is not None
        target, position = key
        if any(s < 0 for s in position):
            raise IndexError(f"{target}{list(position)} is written outside of its shape")
        array = self.arrays[target]
        for fibre in fibres:
            if fibre.block is not None:
                fibre.value = value_of(fibre)
                self.kinked |= tied(fibre)
            else:
                fibre.value = self._reduced(fibre, fibre.values)
            array[position] = array[position] + fibre.value
            if self.open or not self.records or self.records[-1][0].group is not fibre.group:
                self.records.append([])
            self.records[-1].append(fibre)
        del self.pending[key]

    def _circle(self, keys: list[Key]) -> str:
        names = [_shown(k) for k in [*keys, keys[0]]]
        if len(names) > SHOWN:
            names = [*names[: SHOWN - 2], "...", names[-1]]
        said = f"{self.function.name}: {names[0]} is computed from itself: {' <- '.join(names)}."
        return f"{said} An element may read only elements that do not need it."

    def _at_kink(self, group: Group, values: list[Any], number: int) -> bool:
        args = tuple(values[a] for a in group.codes[number][2])
        if values[number] is None:
            return False  # in a branch that was not taken
        if group.ops[number] in COMPARISONS:
            return bool(args[0] == args[1])
        return at_kink(group.ops[number], args) is not None

    def _reduced(self, fibre: Fibre, values: list[Any]) -> Any:
        if fibre.reduce in ("none", "sum"):
            return sum(values[1:], values[0])
        if fibre.reduce == "prod":
            result: Any = EMPTY["prod"]
            for value in values:
                result = result * value
            return result
        if not values:
            return EMPTY[fibre.reduce]
        if any(v != v for v in values):
            return mp.nan
        best = min(values) if fibre.reduce == "min" else max(values)
        if fibre.reduce == "logsumexp":
            return best if mp.isinf(best) else best + mp.log(sum(OPS["exp"].value(v - best) for v in values))
        self.kinked |= sum(v == best for v in values) > 1
        return values.index(best) if fibre.reduce == "argmax" else best


def _shown(key: Key) -> str:
    name, position = key
    return f"{name}[{', '.join(map(str, position))}]" if position else name
