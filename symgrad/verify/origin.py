"""The derivatives that a printed function gives, against the witness of the function that they are of.

What was derived is a declaration: its truth is known, and its text is compared with that. Here this truth is compared
with the original function: its values with the values, its derivatives with J^T v of the reference. There v is each
unit vector where these are few, else a random one, in which every entry counts. Second derivatives are J^T v of the
gradient as it was derived, whose own numbers are compared with J^T v of the original.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from math import prod
from typing import Any

import mpmath
import numpy as np
from mpmath import mp

from ..expr import Ref
from ..ir import Dtype, Function
from ..kinds import kind_of
from ..records import dataclass
from .cases import Case
from .compare import place
from .reference import Declaration, Trace
from .retractions import Retraction
from .text import Array
from .truth import INVISIBLE, LADDER, Truth, one_sided

UNITS = 12  # unit vectors that are taken, a pull of the reference each: a pose has so many; beyond, RANDOM vectors
RANDOM = 3  # each meets every entry; what one hides in the rounding of a sum, the others show
SHARED = 60  # bits of the larger of two values, or of what they are sums of, that they must share


@dataclass(frozen=True)
class _Sides:
    """What was derived and what it should be, a row for each point; the places of a row, and what its sums are of."""

    places: Sequence[str]
    derived: Array
    expected: Array
    terms: Array

    def differing(self) -> Iterator[tuple[str, str]]:
        """Where they differ, and how; nothing is said of what is no number."""
        for (row, column), a in np.ndenumerate(self.derived):
            b = self.expected[row, column]
            if mp.isfinite(a) and mp.isfinite(b):
                size = max(abs(a), abs(b), self.terms[row, column])
                if abs(a - b) > mpmath.ldexp(size, -SHARED) + mpmath.ldexp(1, INVISIBLE):
                    yield self.places[column], f"{mp.nstr(a, 17)} as derived, {mp.nstr(b, 17)} by SymPy's derivatives"


@dataclass(frozen=True)
class Origin:
    """What a function is derived of.

    what      as what it is derived
    function  the original
    inputs    with respect to which
    outputs   of what is derived
    moves     inputs, and how they are perturbed, with respect to whose perturbations the derivatives are
    slope     value and gradient of the original, as derived, where there are second derivatives
    sparse    the tensors whose elements are rows and columns, where what is printed is a sparse matrix
    beside    whether its values alone are printed, in the file of the original
    """

    what: str
    function: Function
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    moves: tuple[tuple[str, Retraction], ...]
    slope: Function | None = None
    sparse: tuple[tuple[str, ...], tuple[str, ...]] | None = None
    beside: bool = True

    @property
    def printed(self) -> str:
        """What is called in the file."""
        return self.what if self.sparse is None else f"{self.what}_sparse"

    def mistakes(self, case: Case, found: Truth) -> Iterator[tuple[str, str]]:
        """Where what was derived is another: (place, in words), at as many digits as it takes."""
        wrong: list[tuple[str, str]] = []
        for bits in (found.bits, *(b for b in LADDER if b > found.bits)):
            with mp.workprec(bits):
                wrong = self._differing(case, found.outputs)
            if not wrong:
                break
        yield from wrong

    def _differing(self, case: Case, derived: Mapping[str, Array]) -> list[tuple[str, str]]:
        """What differs; at a kink at a bound of the domain, from all slopes that the original may have there."""
        trace = self._original.attempt({n: case.inputs.get(n) for n in self.function.inputs}, case.options)
        if trace is None:  # what is derived may read less
            return []
        wrong = [said for sides in self._compared(trace, case, derived) for said in sides.differing()]
        for chosen in one_sided(self._original, case, trace) if wrong else ():
            with trace.with_slopes(chosen):
                if not any(any(sides.differing()) for sides in self._compared(trace, case, derived)):
                    return []
        return wrong

    # what is known of the original

    @cached_property
    def _original(self) -> Declaration:
        return Declaration(self.function)

    @cached_property
    def _gradient(self) -> Declaration:
        assert self.slope is not None, "there are second derivatives"
        return Declaration(self.slope)

    @property
    def _firsts(self) -> Sequence[str]:
        """What the gradient of the original is called, as derived."""
        return self._gradient.function.outputs[-len(self.inputs) :]

    @cached_property
    def _moves(self) -> Mapping[str, Retraction]:
        return dict(self.moves)

    @cached_property
    def _reals(self) -> list[str]:
        return [n for n in self.function.outputs if self.function.table[n].dtype == Dtype.REAL]

    @cached_property
    def _each(self) -> bool:
        """Whether each point of a pack is by itself."""
        table, packs = self.function.table, self.function.packs
        shapes = (table[n].shape for n in (*self._reals, *self.inputs))
        return all(bool(s) and isinstance(s[0], Ref) and s[0].name in packs for s in shapes)

    def _rows(self, arrays: Sequence[Any]) -> Array:
        """The components of some arrays, a row for each point."""
        shaped = [np.asarray(a, dtype=object) for a in arrays]
        rows = [a.reshape(len(a), prod(a.shape[1:])) if self._each else a.reshape(1, a.size) for a in shaped]
        return np.concatenate(rows, axis=1)

    # the comparisons

    def _compared(self, trace: Trace, case: Case, derived: Mapping[str, Array]) -> Iterator[_Sides]:
        rest = list(self.outputs)
        if kind_of(self.what).values:
            count = len(self.function.outputs)
            yield from (self._plain([n], derived, [trace.arrays[n]]) for n in self.outputs[:count])
            rest = rest[count:]
        if any(case.inputs.get(n) is None for n in self.inputs):  # of what is absent there are no derivatives
            return
        if kind_of(self.what).second:  # the gradient, as it was derived, is compared first, and stands for the original
            slope = self._gradient.trace({n: case.inputs.get(n) for n in self.function.inputs}, case.options)
            yield from self._slopes(trace, self._reals, self._rows([slope.arrays[n] for n in self._firsts])[:, None])
            trace = slope
        yield from COMPARED[self.what](self, trace, case, {n: derived[n] for n in rest})

    def _plain(self, names: Sequence[str], derived: Mapping[str, Array], expected: Sequence[Array]) -> _Sides:
        """Results that are known themselves."""
        found = self._rows([derived[n] for n in names])
        places = [place(n, p) for n in names for p in self._components(np.shape(derived[n]))]
        return _Sides(places, found, self._rows(expected), np.zeros(found.shape))

    def _components(self, shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        """Where the components of one point stand."""
        return np.ndindex(shape[1:] if self._each else shape)

    def _shape(self, trace: Trace, name: str) -> tuple[int, ...]:
        """Of an output, of an input, or of the perturbations of one."""
        shape = np.shape(trace.arrays[name])
        return self._moves[name].shape(shape) if name in self._moves else shape

    def _places(self, trace: Trace, names: Sequence[str]) -> list[str]:
        shapes = [self._shape(trace, n) for n in names]
        return [place(n, p) for n, shape in zip(names, shapes, strict=True) for p in self._components(shape)]

    def _matrix(self, trace: Trace, outputs: Sequence[str], blocks: Sequence[Array]) -> Array:
        """J at each point, of all components: of one array, or of one for each output and input."""
        high = [self._rows([trace.arrays[n]]).shape[1] for n in outputs]
        wide = [self._rows([np.empty(self._shape(trace, n))]).shape[1] for n in self.inputs]
        if len(blocks) == 1 < len(high) * len(wide):
            whole = self._rows(blocks)
            return whole.reshape(len(whole), sum(high), sum(wide))
        rows = []
        for k, (output, h) in enumerate(zip(outputs, high, strict=True)):
            some = blocks[k * len(wide) : (k + 1) * len(wide)]
            row = [self._rows([self._block(b, output, n)]) for b, n in zip(some, self.inputs, strict=True)]
            rows.append(np.concatenate([b.reshape(len(b), h, w) for b, w in zip(row, wide, strict=True)], axis=2))
        return np.concatenate(rows, axis=1)

    def _block(self, block: Array, output: str, name: str) -> Array:
        """A block of arrays as output x input: with a pack that both have in each, and 0 between two of its points."""
        shapes = [self.slope.table[output].shape if self.slope else self.function.table[output].shape]
        shapes.append(self.function.table[name].shape)
        shared = [e for e in shapes[0] if isinstance(e, Ref) and e.name in self.function.packs and e in shapes[1]]
        if self._each or not shared:
            return block
        block = np.asarray(block, dtype=object)
        rank = len(shapes[0])
        whole = np.full((*block.shape[:rank], len(block), *block.shape[rank:]), mpmath.mpf(0))
        for b in range(len(block)):
            at: tuple[Any, ...] = (b, *[slice(None)] * (rank - 1), b)
            whole[at] = block[b]
        return whole

    def _seeded(self, trace: Trace, outputs: Sequence[str], known: Array) -> Iterator[tuple[str, Array, Array]]:
        """For some v: its place, v itself where the outputs' derivatives are `known`, and J^T v, in rows. Where the
        original, as it is written, is no number, it has none."""
        values = self._rows([trace.arrays[n] for n in outputs])
        there = np.reshape([not mp.isnan(v) for v in values.ravel()], values.shape)
        known = np.logical_and(known, there)
        places = self._places(trace, outputs)
        units = len(places) <= UNITS
        some = np.eye(len(places)) if units else np.random.default_rng(5).standard_normal((RANDOM, len(places)))
        for k, chosen in enumerate(some):
            v = np.where(known, chosen, 0.0)
            if v.any():
                yield places[k] if units else "J^T v", v.astype(object), self._pulled(trace, outputs, v)

    def _pulled(self, trace: Trace, outputs: Sequence[str], v: Array) -> Array:
        """J^T v in the inputs."""
        seeds: dict[str, Array] = {}
        start = 0
        for name in outputs:
            array = trace.arrays[name]
            end = start + self._rows([array]).shape[1]
            seeds[name] = v[:, start:end].reshape(array.shape)
            start = end
        pulled = trace.pull(seeds)
        for name, retraction in self._moves.items():
            pulled[name] = retraction.pulled(trace.arrays[name], pulled[name])
        return self._rows([pulled[n] for n in self.inputs])

    def _slopes(self, trace: Trace, outputs: Sequence[str], matrix: Array) -> Iterator[_Sides]:
        """The Jacobian of these outputs, at each point."""
        finite = _finite(matrix)
        matrix = np.where(finite, matrix, mpmath.mpf(0))
        columns = self._places(trace, self.inputs)
        for where, v, expected in self._seeded(trace, outputs, np.asarray(finite.all(axis=2))):
            found, terms = (
                np.array([a @ j for a, j in zip(v, m, strict=True)], dtype=object)
                for v, m in ((v, matrix), (np.abs(v), np.abs(matrix)))
            )
            yield _Sides([f"{where} by {c}" for c in columns], found, expected, terms)

    def _direction(self, trace: Trace, case: Case) -> Array:
        """What is given for each input besides, in its components."""
        given = list(case.inputs)[len(self.function.inputs) :]
        pairs = zip(given, self.inputs, strict=True)
        return self._rows([np.reshape(np.asarray(case.inputs[g]), self._shape(trace, n)) for g, n in pairs])

    # what is derived: `derived` are its results behind the values, `slope` is the trace of value and gradient

    def _nothing(self, trace: Trace, case: Case, derived: Mapping[str, Array]) -> Iterator[_Sides]:
        """The values are all."""
        yield from ()

    def _gradients(self, trace: Trace, case: Case, derived: Mapping[str, Array]) -> Iterator[_Sides]:
        """An array for each input."""
        yield from self._slopes(trace, self._reals, self._rows([*derived.values()])[:, None])

    def _jacobian(self, trace: Trace, case: Case, derived: Mapping[str, Array]) -> Iterator[_Sides]:
        """J, in one or in blocks."""
        yield from self._slopes(trace, self._reals, self._matrix(trace, self._reals, [*derived.values()]))

    def _gauss_newton(self, trace: Trace, case: Case, derived: Mapping[str, Array]) -> Iterator[_Sides]:
        """J, J^T J and J^T r."""
        jacobian, *products = derived
        matrix = self._matrix(trace, self._reals, [derived[jacobian]])
        yield from self._slopes(trace, self._reals, matrix)
        residuals = self._rows([trace.arrays[n] for n in self._reals])
        for name, right in zip(products, (matrix, residuals[:, :, None]), strict=True):
            found = self._plain([name], derived, [derived[name]])
            expected, terms = (
                np.array([(a.T @ b).ravel() for a, b in zip(one, other, strict=True)], dtype=object)
                for one, other in ((matrix, right), (np.abs(matrix), np.abs(right)))
            )
            yield _Sides(found.places, found.derived, expected, terms)

    def _tangents(self, trace: Trace, case: Case, derived: Mapping[str, Array]) -> Iterator[_Sides]:
        """v^T of the tangents, which is the tangents of the inputs times J^T v."""
        tangents, where, steps = self._rows([*derived.values()]), ", ".join(derived), self._direction(trace, case)
        finite = _finite(tangents)
        tangents = np.where(finite, tangents, mpmath.mpf(0))
        for name, v, pulled in self._seeded(trace, self._reals, finite):
            left, right = v * tangents, pulled * steps
            terms = np.abs(left).sum(axis=1, keepdims=True) + np.abs(right).sum(axis=1, keepdims=True)
            sides = left.sum(axis=1, keepdims=True), right.sum(axis=1, keepdims=True)
            yield _Sides([f"{where}, of {name}"], *sides, terms)

    def _hessian(self, slope: Trace, case: Case, derived: Mapping[str, Array]) -> Iterator[_Sides]:
        """The gradient, and the Jacobian of that."""
        names, count = [*derived], len(self.inputs)
        yield self._plain(names[:count], derived, [slope.arrays[n] for n in self._firsts])
        blocks = [derived[n] for n in names[count:]]
        yield from self._slopes(slope, self._firsts, self._matrix(slope, self._firsts, blocks))

    def _product(self, slope: Trace, case: Case, derived: Mapping[str, Array]) -> Iterator[_Sides]:
        """The Jacobian of the gradient, which is symmetric, times a direction."""
        found = self._plain([*derived], derived, [*derived.values()])
        expected = self._pulled(slope, self._firsts, self._direction(slope, case))
        yield _Sides(found.places, found.derived, expected, np.zeros(expected.shape))


# how each row of `symgrad.kinds` is compared with the original, behind the values
COMPARED: Mapping[str, Callable[[Origin, Trace, Case, Mapping[str, Array]], Iterator[_Sides]]] = {
    "forward": Origin._nothing,
    "gradient": Origin._gradients,
    "value_and_gradient": Origin._gradients,
    "jacobian": Origin._jacobian,
    "hessian": Origin._hessian,
    "gauss_newton": Origin._gauss_newton,
    "jvp": Origin._tangents,
    "hvp": Origin._product,
}


def _finite(array: Array) -> Array:
    return np.array([bool(mp.isfinite(v)) for v in array.ravel()]).reshape(array.shape)
