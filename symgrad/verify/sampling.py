"""The points at which a function is checked: sizes, inputs, options and grad_output, always the same for one seed.

A function of a pack alone (`x[...]`, `p[..., 2]`) is checked at many points in one call; any other at a few small
sizes. Points where the declaration itself has no real, finite value are dropped and counted.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from mpmath import mp

from ..expr import Const
from ..ir import Function
from .draws import DRAWS, edges, integers, is_pointwise, presences
from .reference import Declaration
from .sizes import choose, cost, defined, empties, fitting, shape_of
from .symmetric import made_symmetric, symmetric_inputs
from .text import Array, Values, full_shape

POINTS = 64
LONG = 1500  # operations from which on one point takes a second
COSTLY = 300_000  # operations of one evaluation at the smallest sizes, from which on it takes seconds


@dataclass(frozen=True, slots=True)
class Case:
    """One call: inputs by name (None: absent), options, and grad_output by output.

    count    the points that it holds
    packed   the first axis of every array counts independent points
    strided  inputs and grad_output are broadcast views with stride 0
    single   every number is a float32
    costly   an evaluation takes seconds: what is asked several times of others is asked once
    """

    number: int
    label: str
    inputs: Values
    options: Mapping[str, Any]
    seeds: Values
    count: int = 1
    packed: bool = False
    strided: bool = False
    single: bool = False
    costly: bool = False


@dataclass(frozen=True, slots=True)
class Sample:
    """The cases of a check, and the number of points that were dropped because the function has no value there."""

    cases: tuple[Case, ...]
    discarded: int


def sample(declaration: Declaration, full: bool = False, seed: int = 0) -> Sample:
    """Return the points at which `declaration` is checked."""
    sampler = _Sampler(declaration, full, seed)
    cases = sampler.pointwise() if is_pointwise(declaration.function) else sampler.tensors()
    kept = [c for c in cases if c is not None]
    return Sample(tuple(kept), sampler.discarded)


class _Sampler:
    """The state of one sampling: random numbers, and what was dropped."""

    def __init__(self, declaration: Declaration, full: bool, seed: int) -> None:
        self.declaration = declaration
        self.function = declaration.function
        self.full = full
        self.rng = np.random.default_rng([seed, 20240117])
        self.discarded = 0
        self.options = {o.name: o.default for o in self.function.options}
        self.edges = edges(self.function)
        self.symmetric = symmetric_inputs(self.function)
        self.matrices = _matrices(self.function)
        self.numbers = itertools.count()
        self.costly = False

    # one pack of points

    def pointwise(self) -> Iterator[Case | None]:
        """Cases for a function of independent points."""
        operations = max(self.declaration.operations, 1)
        budget = max(2, min(POINTS, 3000 // operations))
        budget *= 4 if self.full else 1
        half = max(1, budget // 2)
        for present in presences(self.function):
            share = half if all(present.values()) else min(half, 8)
            yield self._batch("random", present, share, ("normal", "wide"), "random")
            yield self._batch("edges", present, share, ("edges",), "random")
        everything = dict.fromkeys(self.function.optional, True)
        if operations > LONG and not self.full:
            yield self._batch("one point", everything, 1, ("normal",), "random", axes=())
            return
        few = max(1, min(4, budget))
        yield self._batch("float32", everything, min(12, half), ("normal", "positive"), "random", single=True)
        yield self._batch("zero grad_output", everything, few, ("normal",), "zero")
        yield self._batch("ones", everything, few, ("normal",), "ones", strided=True)
        yield self._batch("two axes", everything, 6 if budget > 6 else 1, ("normal",), "one-hot", axes=(2, 3))
        yield self._batch("one point", everything, 1, ("normal",), "random", axes=())
        yield self._empty_batch(everything)
        for options in self._other_options():
            yield self._batch("options", everything, few, ("normal",), "random", options=options)

    def _batch(
        self,
        label: str,
        present: Mapping[str, bool],
        count: int,
        kinds: tuple[str, ...],
        seeds: str,
        axes: tuple[int, ...] | None = None,
        options: Mapping[str, Any] | None = None,
        strided: bool = False,
        single: bool = False,
    ) -> Case | None:
        chosen = {**self.options, **(options or {})}
        pool: list[Values] = []
        found = 0
        for kind in (*kinds, "positive", "unit", "above", "normal"):
            wanted = count // len(kinds) + 1 if kind in kinds else count
            if kind not in kinds and found >= max(1, count // 4):
                break
            arrays = self._candidates(kind, 4 * wanted, present, single)
            kept = self._finite(arrays, chosen)[:wanted]
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
            if strided:
                array = np.broadcast_to(array[:1], array.shape)
            inputs[name] = array if axes is None else array.reshape((*axes, *array.shape[1:]))
        packed = axes is None or len(axes) == 1
        return self._case(label, inputs, chosen, seeds, total, packed, strided, single)

    def _candidates(self, kind: str, count: int, present: Mapping[str, bool], single: bool) -> dict[str, Array | None]:
        arrays: dict[str, Array | None] = {}
        for name in self.function.inputs:
            tensor = self.function.table[name]
            shape = (count, *(int(e.value) for e in tensor.shape[1:] if isinstance(e, Const)))
            if not present.get(name, True):
                arrays[name] = None
            elif tensor.dtype != "real":
                arrays[name] = self.rng.integers(0, 2 if tensor.dtype == "bool" else 3, shape)
            elif kind == "edges":
                arrays[name] = self._edge_draw(shape)
            else:
                arrays[name] = DRAWS[kind](self.rng, shape)
            drawn = arrays[name]
            if drawn is not None and name in self.symmetric:
                arrays[name] = made_symmetric(drawn, *self.symmetric[name])
            if single and arrays[name] is not None and tensor.dtype == "real":
                arrays[name] = np.asarray(arrays[name]).astype(np.float32).astype(np.float64)
        if kind == "edges":
            self._nearly_equal(
                [a for n, a in arrays.items() if a is not None and self.function.table[n].dtype == "real"]
            )
        return arrays

    def _edge_draw(self, shape: tuple[int, ...]) -> Array:
        """Every edge once, in a random order, then again."""
        flat = np.empty(int(np.prod(shape)))
        for start in range(0, len(flat), len(self.edges)):
            part = self.rng.permutation(self.edges)[: len(flat) - start]
            flat[start : start + len(part)] = part
        return flat.reshape(shape)

    def _nearly_equal(self, arrays: list[Array]) -> None:
        """Some points with x = y, x = -y, and x nearly y."""
        flat = [a.reshape(len(a), -1) for a in arrays]
        columns = [(a, c) for a in flat for c in range(a.shape[1])]
        for (a, i), (b, j) in itertools.pairwise(columns):
            for row, factor in zip(range(len(a)), (1.0, -1.0, 1 + 1e-9, 1.0, 1.0), strict=False):
                b[row, j] = a[row, i] * factor

    def _finite(self, arrays: Values, options: Mapping[str, Any]) -> list[int]:
        """The points at which every output is a finite number, in double's range."""
        with mp.workprec(100):
            try:
                trace = self.declaration.trace(arrays, options)
            except IndexError:
                return []
        count = next(len(a) for a in arrays.values() if a is not None)
        good = np.ones(count, dtype=bool)
        for name in self.function.outputs:
            for position, value in np.ndenumerate(trace.arrays[name]):
                good[position[0]] &= bool(mp.isfinite(value)) and abs(value) < 1e308
        self.discarded += int(count - good.sum())
        return [int(k) for k in np.flatnonzero(good)]

    def _empty_batch(self, present: Mapping[str, bool]) -> Case | None:
        inputs = {n: None if a is None else a[:0] for n, a in self._candidates("normal", 1, present, False).items()}
        return self._case("no points", inputs, self.options, "random", 0, True)

    # tensors of symbolic sizes

    def tensors(self) -> Iterator[Case | None]:
        """Cases for a function of tensors."""
        small = choose(self.function, self.options, self.rng)
        patterns = presences(self.function)
        everything = patterns[0]
        plan: list[tuple[str, str, str, Mapping[str, Any]]] = [
            ("random", "normal", "random", {}),
            ("wide range", "wide", "random", {}),
            ("one-hot grad_output", "normal", "one-hot", {}),
            ("grad_output of ones", "normal", "ones", {"strided_seed": True}),
            ("zero grad_output", "normal", "zero", {}),
            ("ties", "ties", "random", {}),
            ("edges", "edges", "random", {}),
            ("edges", "edges", "random", {}),
            ("a large offset", "offset", "random", {}),
            ("float32", "normal", "random", {"single": True}),
            ("broadcast inputs", "normal", "random", {"strided": True}),
        ] * (4 if self.full else 1)
        self.costly = not self.full and cost(self.function, small, self.options) > COSTLY
        if self.declaration.operations > LONG or self.costly:
            plan = plan[: 1 if self.costly else 4]
        for label, draw, seeds, extra in plan:
            pack = "two" if seeds == "one-hot" else "one"
            yield self._tensor_case(label, small, draw, seeds, everything, self.options, extra, pack)
        for present in patterns[1:]:
            yield self._tensor_case("optional inputs", small, "normal", "random", present, self.options, {})
        ones = dict.fromkeys(small, 1)
        if not (self.costly and ones == small and not self.function.packs):  # it would be the same once more
            yield self._tensor_case("sizes 1", ones, "normal", "random", everything, self.options, {}, "none")
        for options in self._other_options():
            sizes = choose(self.function, options, self.rng)
            yield self._tensor_case("options", sizes, "normal", "random", everything, options, {})
        nothing = dict.fromkeys(self.function.packs, (0,))
        if nothing and defined(self.function, small, nothing, self.options):
            yield self._tensor_case("a size of 0", small, "positive", "random", everything, self.options, {}, "empty")
        for sizes in empties(self.function, small, self.options):
            yield self._tensor_case("a size of 0", sizes, "positive", "random", everything, self.options, {})

    def _tensor_case(
        self,
        label: str,
        sizes: Mapping[str, int],
        draw: str,
        seeds: str,
        present: Mapping[str, bool],
        options: Mapping[str, Any],
        extra: Mapping[str, Any],
        pack: str = "one",
    ) -> Case | None:
        # a pack is of another size than every axis, that a transposed one is seen
        length = next(n for n in itertools.count(2) if n not in sizes.values())
        packs = dict.fromkeys(
            self.function.packs, {"one": (length,), "two": (2, length), "none": (), "empty": (0,)}[pack]
        )
        if not fitting(self.function, sizes, packs, options):
            return None
        for attempt in range(12):
            inputs: dict[str, Array | None] = {}
            for name in self.function.inputs:
                tensor = self.function.table[name]
                shape = shape_of(self.function, name, sizes, packs, options)
                kinds = ("normal", "wide", "positive", "unit", "above")
                kind = draw if attempt < 3 else kinds[int(self.rng.integers(len(kinds)))]
                if not present.get(name, True):
                    inputs[name] = None
                elif tensor.dtype != "real":
                    low, high = integers(self.function, name, sizes, packs, options)
                    if high <= low and 0 not in shape:
                        return None  # an index of an empty axis
                    inputs[name] = self.rng.integers(low, max(high, low + 1), shape)
                else:
                    array = np.asarray(DRAWS[kind](self.rng, shape))
                    if name in self.symmetric:
                        array = made_symmetric(array, *self.symmetric[name])
                    if extra.get("single"):
                        array = array.astype(np.float32).astype(np.float64)
                    # a matrix of equal rows is singular
                    if extra.get("strided") and array.ndim and len(array) and name not in self.matrices:
                        array = np.broadcast_to(array[:1], array.shape)
                    inputs[name] = array
            if self._valid(inputs, options):
                strided = bool(extra.get("strided") or extra.get("strided_seed"))
                return self._case(label, inputs, options, seeds, 1, False, strided, bool(extra.get("single")))
            self.discarded += 1
        return None

    def _valid(self, inputs: Values, options: Mapping[str, Any]) -> bool:
        with mp.workprec(100):
            try:
                trace = self.declaration.trace(inputs, options)
            except (IndexError, ValueError):
                return False
        found = (v for name in self.function.outputs for v in trace.arrays[name].ravel())
        return all(mp.isfinite(v) and abs(v) < 1e308 for v in found)

    def _other_options(self) -> Iterator[Mapping[str, Any]]:
        """The options at other values, one at a time."""
        for option in self.function.options:
            other = option.default + 1 if option.dtype == "int" else float(option.default) * 3 or 0.25
            yield {**self.options, option.name: other}

    # both

    def _case(
        self,
        label: str,
        inputs: Values,
        options: Mapping[str, Any],
        seeds: str,
        count: int,
        packed: bool,
        strided: bool = False,
        single: bool = False,
    ) -> Case:
        cotangents: dict[str, Array | None] = {}
        numbers = {k: float(v) if not isinstance(v, int) else v for k, v in options.items()}
        kinds = {t.name: t.dtype for t in self.function.tensors}
        inputs = {n: a if a is None or kinds[n] != "bool" else np.asarray(a, bool) for n, a in inputs.items()}
        for name in self.function.outputs:
            shape = full_shape(self.function, name, inputs, numbers)
            if self.function.table[name].dtype != "real":
                cotangents[name] = None
                continue
            seed = self._seed(seeds, shape)
            if single:
                seed = seed.astype(np.float32).astype(np.float64)
            cotangents[name] = seed
        number = next(self.numbers)
        return Case(number, label, inputs, numbers, cotangents, count, packed, strided, single, self.costly)

    def _seed(self, kind: str, shape: tuple[int, ...]) -> Array:
        if kind == "ones":
            return np.broadcast_to(np.ones(()), shape)
        if kind == "zero":
            return np.zeros(shape)
        if kind == "one-hot":
            seed = np.zeros(shape)
            if seed.size:
                seed.reshape(-1)[self.rng.integers(seed.size)] = 1.0
            return seed
        return np.asarray(self.rng.standard_normal(shape))


def _matrices(function: Function) -> set[str]:
    """The inputs whose first axis is one of a matrix that a function of matrices is applied to."""
    found: set[str] = set()
    for e in function.statements:
        if e.matrix is not None:
            reduced = {i for i, _ in e.reduced}
            found |= {r.name for r in e.reads if r.subscripts and r.subscripts[0] in reduced}
    return found
