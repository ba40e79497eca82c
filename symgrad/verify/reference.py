"""The declaration itself, evaluated point by point, and its gradient by numeric reverse accumulation.

Independent of everything that derives or simplifies: the equations are walked as they were declared, each operator's
partial derivatives come from SymPy (`partials`), and the chain rule is applied to numbers, one point of one box after
the other. Each element is evaluated after those that it reads, so a tensor may be computed from its own earlier
elements; on the way back they come in the opposite order.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import mpmath
import numpy as np
from mpmath import mp

from ..errors import DeclarationError
from ..evaluate import REF, SELECT, Position, evaluate, place
from ..expr import Index, ref
from ..ir import Function, bind, extent_of
from ..ops import COMPARISONS, OPS
from .groups import Component, Fibre, Group, Key, Visit, components
from .neighbours import Neighbours
from .partials import at_kink, partial, symbolic
from .text import Array, differentiable
from .whole import back, blocks, tied, value_of

# what a reduction over nothing is; of a sum, 0
EMPTY: Mapping[str, Any] = {"prod": mp.mpf(1), "max": -mp.inf, "logsumexp": -mp.inf, "min": mp.inf}

SHOWN = 6  # elements of a circle


class _Waiting(Exception):
    """An element is read that has no value yet."""

    def __init__(self, key: Key) -> None:
        super().__init__(key)
        self.key = key


class Declaration:
    """A function prepared for evaluation: its components, and what they compute."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.components = components(function)
        self.points: dict[Any, list[tuple[dict[str, int], tuple[Position, ...]]]] = {}  # of a group at some sizes

    @cached_property
    def operations(self) -> int:
        """The number of operations of all equations at one point each."""
        return sum(len(g.codes) for c in self.components for g in c.groups)

    def trace(self, inputs: Mapping[str, Any], options: Mapping[str, Any]) -> Trace:
        """Evaluate every equation at the precision of the moment.

        Raises IndexError where a subscript leaves its tensor, DeclarationError where an element needs itself.
        """
        return Trace(self, inputs, options)


class Trace:
    """The values of every tensor at one point, and the way back: `pull` is J^T v.

    kinked  an operator stood exactly at its kink, a comparison at its switch, or a maximum at a tie
    """

    def __init__(self, declaration: Declaration, inputs: Mapping[str, Any], options: Mapping[str, Any]) -> None:
        self.declaration, self.inputs, self.options = declaration, inputs, options
        function = self.function = declaration.function
        self.numbers = {o.name: o.default for o in function.options} | dict(options)
        self.numbers = {k: v if isinstance(v, int) else mpmath.mpf(v) for k, v in self.numbers.items()}
        self.sizes = bind(function, inputs, self.numbers)
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
        self.neighbours = Neighbours(self)
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
        if first.reduce in EMPTY and first.plain:
            extents = {i: extent_of(e, self.sizes, self.numbers) for i, e in group.box}
            for position in np.ndindex(*(extents[s] for s in first.subscripts if isinstance(s, Index))):
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
            rows = [
                place([at[s.name] if isinstance(s, Index) else evaluate(s, at, self.element) for s in e.subscripts])
                for e in group.equations
            ]
            points.append((at, tuple(rows)))
        if group.regular(self.declaration.function):
            self.declaration.points[group, known] = points
        return points

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
                        if visit.values is None:
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
        if not group.decided(values):
            for root in group.roots:
                values[root] = mp.nan
        if not self.kinked:
            self.kinked = any(self._at_kink(group, values, number) for number in group.watched)
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
            return best if mp.isinf(best) else best + mp.log(sum(mp.exp(v - best) for v in values))
        self.kinked |= sum(v == best for v in values) > 1
        return values.index(best) if fibre.reduce == "argmax" else best

    def pull(self, seeds: Mapping[str, Array | None]) -> dict[str, Array]:
        """Return the gradient of each real input that was given: J^T v, with v = `seeds` by output."""
        grads: dict[str, dict[Position, Any]] = {t.name: {} for t in self.function.tensors if t.dtype == "real"}
        for name in self.function.outputs:
            seed = seeds.get(name)
            if seed is not None and name in grads:
                flat = np.asarray(seed).ravel().tolist()
                shaped = self._array(name, [v if isinstance(v, mpmath.mpf) else mpmath.mpf(v) for v in flat])
                grads[name] = {p: v for p, v in np.ndenumerate(shaped) if v != 0}
        return self._pulled(grads)

    def slope(self, weights: Mapping[Visit, Mapping[int, Any]]) -> dict[str, Array]:
        """Return the gradient, in each real input, of a sum of `weights` times slots of the equations."""
        grads: dict[str, dict[Position, Any]] = {t.name: {} for t in self.function.tensors if t.dtype == "real"}
        for visit, slots in weights.items():
            self._sweep(visit, dict(slots), grads)
        return self._pulled(grads)

    def _pulled(self, grads: dict[str, dict[Position, Any]]) -> dict[str, Array]:
        """The gradients of the inputs, from those of what was computed."""
        for fibres in reversed(self.records):
            self._back(fibres, grads)
        gradients = {}
        for name in differentiable(self.function):
            if name in self.given:
                gradients[name] = self._array(name)
                for position, value in grads[name].items():
                    gradients[name][position] = value
        return gradients

    def _back(self, fibres: list[Fibre], grads: dict[str, Any]) -> None:
        active = fibres[0].group.active
        adjoints: dict[Visit, dict[int, Any]] = {}
        if fibres[0].block is not None:
            seeds = [grads.get(f.target, {}).get(f.position) for f in fibres]
            for visit, slot, share in back(fibres, seeds):
                if active[slot]:
                    at = adjoints.setdefault(visit, {})
                    at[slot] = at[slot] + share if slot in at else share
            fibres = []
        for fibre in fibres:
            seed = grads.get(fibre.target, {}).get(fibre.position)
            if seed is None or fibre.reduce == "argmax":
                continue
            for (visit, slot), weight in zip(fibre.members, self._weights(fibre), strict=True):
                if weight is not None and active[slot]:
                    at = adjoints.setdefault(visit, {})
                    share = seed if weight is ONE else seed * weight
                    at[slot] = at[slot] + share if slot in at else share
        for visit, at in adjoints.items():
            self._sweep(visit, at, grads)

    def _weights(self, fibre: Fibre) -> list[Any]:
        """The derivative of the reduced value in each of its members; None for zero."""
        values = fibre.values
        if fibre.reduce in ("none", "sum"):
            return [ONE] * len(values)
        if fibre.reduce == "logsumexp":
            return [mp.exp(v - fibre.value) for v in values]
        if fibre.reduce == "prod":
            before, after = [mpmath.mpf(1)], [mpmath.mpf(1)]
            for value in values:
                before.append(before[-1] * value)
            for value in reversed(values):
                after.append(after[-1] * value)
            return [before[k] * after[len(values) - 1 - k] for k in range(len(values))]
        hits = [v == fibre.value for v in values]
        return [ONE / sum(hits) if hit else None for hit in hits]

    def _sweep(self, visit: Visit, adjoints: dict[int, Any], grads: dict[str, Any]) -> None:
        group, values = visit.group, visit.values
        assert values is not None
        order = visit.order if visit.order is not None else range(len(values))
        for number in reversed(order):
            adjoint = adjoints.pop(number, None)
            if adjoint is None or not group.active[number]:
                continue
            kind, what, args = group.codes[number]
            if kind == REF:
                position = place([values[a] for a in args])
                found = grads[what]
                found[position] = found[position] + adjoint if position in found else adjoint
                continue
            if kind == SELECT:
                share = self.neighbours.share(visit, number)
                if share is not None:
                    if share.slot is not None:
                        self._sweep(share.slot[0], {share.slot[1]: adjoint}, grads)
                    for name, slopes in share.inputs.items():
                        for position, slope in np.ndenumerate(slopes):
                            if slope:
                                grads[name][position] = grads[name].get(position, 0) + adjoint * slope
                    continue
                args = (args[1] if values[args[0]] else args[2],)
                partials: tuple[Any, ...] = (1,)
            else:
                known = visit.partials.get(number)
                partials = known if known is not None else self._partials(visit, number)
            for arg, p in zip(args, partials, strict=True):
                if p is None or not group.active[arg]:
                    continue
                share = adjoint if type(p) is int and p == 1 else adjoint * p
                adjoints[arg] = adjoints[arg] + share if arg in adjoints else share

    def _partials(self, visit: Visit, number: int) -> tuple[Any, ...]:
        group, values = visit.group, visit.values
        assert values is not None
        op, slots = group.ops[number], group.codes[number][2]
        args = tuple(values[a] for a in slots)
        found = at_kink(op, args) if OPS[op].kinks else None
        if found is None:
            found = tuple(
                partial(op, which, args) if group.active[slot] and symbolic(op)[which] is not None else None
                for which, slot in enumerate(slots)
            )
        visit.partials[number] = found
        return found


ONE = mpmath.mpf(1)


def _shown(key: Key) -> str:
    name, position = key
    return f"{name}[{', '.join(map(str, position))}]" if position else name
