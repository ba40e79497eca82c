"""The declaration itself, evaluated point by point, and its gradient by numeric reverse accumulation.

Independent of everything that derives or simplifies: the equations are walked as they were declared, each operator's
partial derivatives come from SymPy (`partials`), and the chain rule is applied to numbers, one point of one box after
the other. A consecutive run of equations without reduction over one box is evaluated together, so that what they share
is computed once.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import mpmath
import numpy as np
from mpmath import mp

from ..evaluate import evaluate
from ..expr import Index, ref
from ..ir import Equation, Function, bind, extent_of
from ..ops import OPS
from .groups import COMPARISONS, CONST, REF, SELECT, Fibre, Group, Position, Visit
from .partials import at_kink, partial, symbolic
from .text import Array, differentiable


class Declaration:
    """A function prepared for evaluation: its groups, and what they compute."""

    def __init__(self, function: Function) -> None:
        self.function = function
        real = frozenset(t.name for t in function.tensors if t.dtype == "real")
        groups: list[list[Equation]] = []
        for equation in function.statements:
            if groups and _joins(groups[-1], equation):
                groups[-1].append(equation)
            else:
                groups.append([equation])
        self.groups = tuple(Group(tuple(g), real) for g in groups)

    @cached_property
    def operations(self) -> int:
        """The number of operations of all equations at one point each."""
        return sum(len(g.codes) for g in self.groups)

    def trace(self, inputs: Mapping[str, Any], options: Mapping[str, Any]) -> Trace:
        """Evaluate every equation at the precision of the moment.

        Raises IndexError where a subscript leaves its tensor.
        """
        return Trace(self, inputs, options)


def _joins(group: list[Equation], equation: Equation) -> bool:
    first = group[0]
    if (equation.reduce, first.reduce) != ("none", "none"):
        return False
    if (equation.box, equation.where, equation.when) != (first.box, first.where, first.when):
        return False
    written = {e.target for e in group}
    return not any(r.name in written for r in equation.reads)


class Trace:
    """The values of every tensor at one point, and the way back: `pull` is J^T v.

    kinked  an operator stood exactly at its kink, a comparison at its switch, or a maximum at a tie
    """

    def __init__(self, declaration: Declaration, inputs: Mapping[str, Any], options: Mapping[str, Any]) -> None:
        self.declaration = declaration
        function = self.function = declaration.function
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
        self.records: list[tuple[Group, list[Visit], list[Fibre]]] = []
        for group in declaration.groups:
            for equation in group.equations:
                if equation.target not in self.arrays:
                    self.arrays[equation.target] = self._array(equation.target)
            if all((name in self.given) == present for name, present in group.equations[0].when):
                self._run(group)

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
            return array[subscripts]
        return extent_of(ref(name), self.sizes) if name in self.sizes else self.numbers[name]

    def _run(self, group: Group) -> None:
        constants = [_exact(what) if kind == CONST else None for kind, what, _ in group.codes]
        visits: list[Visit] = []
        fibres: dict[tuple[int, Position], Fibre] = {}
        first = group.equations[0]
        if first.reduce == "prod" and first.plain:  # a product over nothing is 1
            for position in np.ndindex(self._array(first.target).shape):
                fibres[0, position] = Fibre(first.target, position, "prod", [])
        names = [i.name for i, _ in group.box]
        for point in itertools.product(*(range(extent_of(e, self.sizes, self.numbers)) for _, e in group.box)):
            at = dict(zip(names, point, strict=True))
            if group.where is not None and not evaluate(group.where, at, self.element):
                continue
            values, order = group.slots(at, constants, self.element)
            if not self.kinked:
                self.kinked = any(self._at_kink(group, values, number) for number in group.watched)
            positions = []
            for number, equation in enumerate(group.equations):
                position = tuple(
                    at[s.name] if isinstance(s, Index) else int(evaluate(s, at, self.element))
                    for s in equation.subscripts
                )
                positions.append(position)
                fibre = fibres.get((number, position))
                if fibre is None:
                    fibre = fibres[number, position] = Fibre(equation.target, position, equation.reduce, [])
                fibre.members.append((len(visits), group.roots[number]))
            visits.append(Visit(values, order, tuple(positions)))
        for fibre in fibres.values():
            if any(s < 0 for s in fibre.position):
                raise IndexError(f"{fibre.target}{list(fibre.position)} is written outside of its shape")
            fibre.value = self._reduced(fibre, [visits[v].values[s] for v, s in fibre.members])
            array = self.arrays[fibre.target]
            array[fibre.position] = array[fibre.position] + fibre.value
        self.records.append((group, visits, list(fibres.values())))

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
            result: Any = mpmath.mpf(1)
            for value in values:
                result = result * value
            return result
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
        for group, visits, fibres in reversed(self.records):
            self._back(group, visits, fibres, grads)
        gradients = {}
        for name in differentiable(self.function):
            if name in self.given:
                gradients[name] = self._array(name)
                for position, value in grads[name].items():
                    gradients[name][position] = value
        return gradients

    def _back(self, group: Group, visits: list[Visit], fibres: list[Fibre], grads: dict[str, Any]) -> None:
        adjoints: dict[int, dict[int, Any]] = {}
        for fibre in fibres:
            seed = grads.get(fibre.target, {}).get(fibre.position)
            if seed is None or fibre.reduce == "argmax":
                continue
            for (visit, slot), weight in zip(fibre.members, self._weights(fibre, visits), strict=True):
                if weight is not None and group.active[slot]:
                    at = adjoints.setdefault(visit, {})
                    share = seed if weight is ONE else seed * weight
                    at[slot] = at[slot] + share if slot in at else share
        for number, at in adjoints.items():
            self._sweep(group, visits[number], at, grads)

    def _weights(self, fibre: Fibre, visits: list[Visit]) -> list[Any]:
        """The derivative of the reduced value in each of its members; None for zero."""
        values = [visits[v].values[s] for v, s in fibre.members]
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

    def _sweep(self, group: Group, visit: Visit, adjoints: dict[int, Any], grads: dict[str, Any]) -> None:
        values = visit.values
        order = visit.order if visit.order is not None else range(len(values))
        for number in reversed(order):
            adjoint = adjoints.pop(number, None)
            if adjoint is None or not group.active[number]:
                continue
            kind, what, args = group.codes[number]
            if kind == REF:
                place = tuple(int(values[a]) for a in args)
                found = grads[what]
                found[place] = found[place] + adjoint if place in found else adjoint
                continue
            if kind == SELECT:
                args = (args[1] if values[args[0]] else args[2],)
                partials: tuple[Any, ...] = (1,)
            else:
                known = visit.partials.get(number)
                partials = known if known is not None else self._partials(group, visit, number)
            for arg, p in zip(args, partials, strict=True):
                if p is None or not group.active[arg]:
                    continue
                share = adjoint if type(p) is int and p == 1 else adjoint * p
                adjoints[arg] = adjoints[arg] + share if arg in adjoints else share

    def _partials(self, group: Group, visit: Visit, number: int) -> tuple[Any, ...]:
        op, slots = group.ops[number], group.codes[number][2]
        args = tuple(visit.values[a] for a in slots)
        found = at_kink(op, args) if OPS[op].kinks else None
        if found is None:
            found = tuple(
                partial(op, which, args) if group.active[slot] and symbolic(op)[which] is not None else None
                for which, slot in enumerate(slots)
            )
        visit.partials[number] = found
        return found


ONE = mpmath.mpf(1)


def _exact(value: Any) -> Any:
    return int(value) if value.denominator == 1 else mpmath.mpf(value.numerator) / value.denominator
