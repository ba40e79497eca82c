"""The sample of a function of independent points: many points in one call.

The short matrix is the first part of `cases`; `full` adds the long one, `_long`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from mpmath import mp

from ..records import replace
from .cases import LONG, Case, Row, Sampler
from .domains import in_single, inside
from .draws import DRAWS, EDGES, NOTHING, inputs_at, presences
from .kinks import at_kinks, coarse
from .symmetric import as_read
from .text import Array, Values

POINTS = 64
FARTHEST = (800.0, -800.0)
EVALUATIONS = 300  # in search of kinks, by the long matrix
SEARCH = 20_000  # operations in search of kinks, by the short one


class Pointwise(Sampler):
    """Cases for a function of independent points."""

    def cases(self) -> Iterator[Case | None]:
        """The cases."""
        operations = max(self.declaration.operations, 1)
        budget = max(2, min(POINTS, 3000 // operations))
        budget *= 2 if self.full else 1
        half = max(1, budget // 2)
        for present in presences(self.function):
            share = half if all(present.values()) else min(half, 8)
            yield self._batch(Row("random"), share, ("normal", "wide"), present)
            yield self._batch(Row("edges", "edges"), share, present=present)
        if operations > LONG and not self.full:
            yield self._batch(Row("one point"), 1, axes=())
            return
        few = max(1, min(4, budget))
        if self.function.domain:
            yield self._batch(Row("bounds of the domain", "bounds"), half)
        yield self._batch(Row("float32", single=True), min(12, half), ("normal", "positive"))
        if self.logs:
            yield self._batch(Row("-inf in places", "logarithms", undefined=True), half)
        yield self._batch(Row("zero grad_output", seeds="zero"), few)
        yield self._batch(Row("ones", seeds="ones", strided=True), few)
        yield self._batch(Row("two axes", seeds="one-hot"), 6 if budget > 6 else 1, axes=(2, 3))
        yield self._batch(Row("one point"), 1, axes=())
        yield self._empty_batch()
        for options in self._other_options():
            yield self._batch(Row("options"), few, options=options)
        for options in self._parts():
            yield self._batch(Row("options at edges", "edges"), half, options=options)
        if self.full:
            yield from self._long(half)
        else:
            yield self._gathered("kinks", self._kinks(half // 2, min(EVALUATIONS, SEARCH // operations)))

    def _long(self, half: int) -> Iterator[Case | None]:
        """What the long matrix has besides more points of the short one."""
        yield self._gathered("one input at an edge", self._extremes(half))
        yield self._gathered("kinks", self._kinks(half, EVALUATIONS))
        yield self._batch(Row("huge grad_output", seeds="huge"), min(half, 8), ("normal", "wide"))
        yield self._batch(Row("strided inputs", "wide", strided=True), min(half, 4))
        for kinds in (("wide",), ("edges",), ("positive", "unit")):
            yield self._batch(Row("float32", single=True), half, kinds)
        yield self._batch(Row("float32", seeds="ones", strided=True, single=True), min(half, 4))
        for axes in ((1,), (1, 1), (1, 3)):
            yield self._batch(Row("a size of 1"), max(axes), ("normal", "wide"), axes=axes)
        for axes in ((2, 0), (0, 3)):
            yield self._empty_batch(axes)

    def _batch(
        self,
        row: Row,
        count: int,
        kinds: tuple[str, ...] = (),
        present: Mapping[str, bool] | None = None,
        axes: tuple[int, ...] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Case | None:
        """So many points of some kinds, of that of the row where none is given; of others where these are too few."""
        chosen, kinds = {**self.options, **(options or {})}, kinds or (row.draw,)
        pool: list[Values] = []
        found = 0
        for kind in (*kinds, "positive", "unit", "above", "normal"):
            wanted = count // len(kinds) + 1 if kind in kinds else count
            if kind not in kinds and found >= max(1, count // 4):
                break
            arrays = self._candidates(kind, 4 * wanted, present or {}, row.single)
            kept = self._finite(arrays, chosen, row.undefined)[:wanted]
            pool.append({n: None if a is None else a[kept] for n, a in arrays.items()})
            found += len(kept)
        inputs: dict[str, Array | None] = {}
        total = min(found, count)
        if (axes is not None and total < int(np.prod(axes))) or total == 0:
            return None
        if axes == ():
            total = 1
        for name in self.function.inputs:
            parts = [p[name] for p in pool]
            if any(p is None for p in parts):
                inputs[name] = None
                continue
            array: Array = np.concatenate([p for p in parts if p is not None])[:total]
            if row.strided:
                array = np.broadcast_to(array[:1], array.shape)
            inputs[name] = array if axes is None else array.reshape((*axes, *array.shape[1:]))
        case = self._case(row, inputs, chosen, total, axes is None or len(axes) == 1)
        return replace(case, generic=row.generic)

    def _candidates(
        self, kind: str, count: int, present: Mapping[str, bool] = NOTHING, single: bool = False
    ) -> dict[str, Array | None]:
        """Points of one kind, with each input that is not said to be absent."""
        known = dict.fromkeys(self.function.packs, (count,))
        drawn = partial(self._drawn, kind, single)
        arrays = inputs_at(self.function, known, self.options, self.rng, drawn, present) or {}
        real = {n: a for n, a in arrays.items() if a is not None and self.function.table[n].dtype == "real"}
        if kind == "edges":
            self._nearly_equal(list(real.values()), 1e-6 if single else 1e-9)
        if single:
            arrays |= {n: in_single(self.function.table[n].interval, a) for n, a in real.items()}
        return arrays

    def _drawn(self, kind: str, single: bool, name: str, shape: tuple[int, ...]) -> Array:
        """A real input; of edges, every one once, in a random order, then again."""
        if kind == "edges":
            edges, size = self._edges(single), int(np.prod(shape))
            rounds = [self.rng.permutation(edges)[: size - start] for start in range(0, size, len(edges))]
            return as_read(self.function, name, np.concatenate(rounds).reshape(shape))
        if kind == "bounds":
            return self._at_bounds(name, shape)
        return as_read(self.function, name, DRAWS[self._kind(kind, name)](self.rng, shape))

    def _nearly_equal(self, arrays: list[Array], apart: float) -> None:
        """Some points with x = y, x = -y, and x nearly y; and one where all are 0, as a form by quotients is 0/0."""
        flat = [a.reshape(len(a), -1) for a in arrays]
        for a in flat:
            a[5:6] = 0
        columns = [(a, c) for a in flat for c in range(a.shape[1])]
        for (a, i), (b, j) in itertools.pairwise(columns):
            for row, factor in zip(range(len(a)), (1.0, -1.0, 1 + apart, 1.0, 1.0), strict=False):
                b[row, j] = a[row, i] * factor

    def _finite(self, arrays: Values, options: Mapping[str, Any], infinite: bool = False) -> list[int]:
        """The points at which every output is a finite number, in double's range; or `infinite`."""
        with mp.workprec(100):
            trace = self.declaration.attempt(arrays, options)
        if trace is None:
            return []
        count = next(len(a) for a in arrays.values() if a is not None)
        held = np.ones(count, dtype=bool) & inside(self.function, arrays, points=True)
        good = held.copy()
        for name in self.function.outputs:
            for position, value in np.ndenumerate(trace.arrays[name]):
                finite = bool(mp.isfinite(value)) and abs(value) < 1e308
                good[position[0]] &= finite or infinite and bool(mp.isinf(value))
        self.discarded += int(held.sum() - good.sum())
        return [int(k) for k in np.flatnonzero(good)]

    def _empty_batch(self, axes: tuple[int, ...] = (0,)) -> Case | None:
        drawn = self._candidates("normal", 1)
        inputs = {n: None if a is None else a[:0].reshape((*axes, *a.shape[1:])) for n, a in drawn.items()}
        return self._case(Row("no points"), inputs, self.options, 0, len(axes) == 1)

    # the long matrix

    def _gathered(self, label: str, points: list[Values]) -> Case | None:
        """Points that were found one by one, with every input, as one case."""
        if not points:
            return None
        inputs = {n: np.concatenate([np.asarray(p[n]) for p in points]) for n in self.function.inputs}
        return self._case(Row(label), inputs, self.options, len(points), True)

    def _extremes(self, most: int) -> list[Values]:
        """One number of the inputs at each edge, and at 800 and -800, the others anywhere the function has a value."""
        table = self.function.table
        drawn = self._candidates("normal", 1)
        spots = [
            (name, column, value)
            for name, array in drawn.items()
            if array is not None and table[name].dtype == "real" and name not in self.symmetric
            for column in range(array.size)
            for value in (*FARTHEST, *EDGES)
        ]
        spots = [spots[k] for k in self.rng.permutation(len(spots)).tolist()]
        spots = sorted(spots, key=lambda s: abs(s[2]) != abs(FARTHEST[0]))[:most]
        found: list[Values] = []
        for kind in ("normal", "positive", "unit", "above"):
            if not spots:
                break
            drawn = self._candidates(kind, len(spots))
            for row, (name, column, value) in enumerate(spots):
                np.asarray(drawn[name]).reshape(len(spots), -1)[row, column] = value
            kept = self._finite(drawn, self.options)
            found += [{n: None if a is None else a[k : k + 1] for n, a in drawn.items()} for k in kept]
            spots = [spot for row, spot in enumerate(spots) if row not in kept]
        return found

    def _kinks(self, most: int, budget: int) -> list[Values]:
        """Points at the kinks of the formula's operators, and beside them; `budget` evaluations from each start."""
        found: list[Values] = []
        for kind in ("normal", "positive", "unit"):
            drawn = coarse(self._candidates(kind, 4))
            for k in self._finite(drawn, self.options)[:2]:
                start = {n: None if a is None else a[k : k + 1] for n, a in drawn.items()}
                near = at_kinks(self.declaration, start, self.options, self.rng, budget)
                found += [p for p in near if self._finite(p, self.options)]
        return found[:most]
