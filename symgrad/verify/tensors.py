"""The sample of a function of tensors: a few small sizes.

The rows of SHORT are the short matrix; `full` draws them twice, and adds the long one, `_long`. A function that takes
seconds to evaluate is asked the first of them, and with `full` FEW more.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from mpmath import mp

from ..expr import Apply, postorder
from ..ir import Function, bind
from ..ops import COMPARISONS
from ..records import replace
from .cases import LONG, Case, Row, Sampler
from .domains import in_single, inside, intervals, placed
from .draws import DRAWS, NOTHING, ignored, inputs_at, presences
from .kinks import at_conditions, at_kinks, coarse
from .reference import Declaration
from .sizes import LARGER, Sizes, choose, cost, defined, empties, fitting, possible
from .symmetric import as_read
from .text import Array, Values, differentiable, has_backward

COSTLY = 300_000  # operations of one evaluation at the smallest sizes, from which on it takes seconds
EVALUATIONS = 300  # in search of kinks
SEARCH = 600_000  # operations in search of kinks, by the long matrix
NEAR = 60_000  # and in search of the edges of conditions, by the short one
KINKS = 30  # cases at kinks
ATTEMPTS = 12  # at a point where the function has a value,
EXTREMES = {"max", "min", "logsumexp"}  # reductions that begin at no number
FIRST = 3  # so many of them with numbers of the kind that is asked for

Inputs = dict[str, Array | None]


SHORT = (
    Row("random"),
    Row("wide range", "wide"),
    Row("one-hot grad_output", seeds="one-hot", pack="two"),
    Row("grad_output of ones", seeds="ones", strided_seed=True),
    Row("zero grad_output", seeds="zero"),
    Row("ties", "ties"),
    Row("edges", "edges"),
    Row("edges", "edges"),
    Row("a large offset", "offset"),
    Row("a large negative offset", "negative offset"),
    Row("rows of equal numbers", "equal rows"),
    Row("one-hot", "one-hot"),
    Row("numbers that sum to 0", "opposite"),
    Row("float32", single=True),
    Row("broadcast inputs", strided=True),
)
PARTS = tuple(Row("options at edges", draw, pack="two") for draw in ("edges", "own edges", "own edges"))
DEPENDENT = ("equal rows", "one-hot", "opposite")
LONGER = (
    *[Row("the formula's edges", "own edges")] * 6,
    Row("huge grad_output", seeds="huge"),
    Row("broadcast inputs and grad_output", "wide", "ones", strided=True, strided_seed=True),
    *[Row("float32", draw, single=True) for draw in ("wide", "ties", "offset", "positive", "edges", "own edges")],
    Row("float32", "normal", "ones", single=True, strided=True, strided_seed=True),
)
FEW = (  # of what takes seconds to evaluate, at one point of its pack
    Row("ties", "ties", pack="none"),
    Row("a large offset", "offset", pack="none"),
    Row("float32", pack="none", single=True),
)
ONES = tuple(Row("sizes 1", draw, pack=pack) for draw in ("wide", "ties", "edges") for pack in ("none", "one"))


class Tensors(Sampler):
    """Cases for a function of tensors of symbolic sizes."""

    def __init__(self, declaration: Declaration, full: bool, seed: int) -> None:
        super().__init__(declaration, full, seed)
        self.matrices = _matrices(self.function)
        self.small = choose(self.function, self.options, self.rng)

    def cases(self) -> Iterator[Case | None]:
        """The cases."""
        patterns = presences(self.function)
        first = self._first()
        small = self.small
        plan = SHORT * (2 if self.full else 1)
        if self.matrices:  # which these make singular
            plan = tuple(row for row in plan if row.draw not in DEPENDENT)
        self.costly = cost(self.function, small, self.options) > COSTLY
        if (self.declaration.operations > LONG and not self.full) or self.costly:
            plan = plan[: 1 if self.costly else 4]
        yield first
        for row in plan[1:]:
            yield self._tensor_case(row)
        if self._shifted():
            yield self._tensor_case(Row("rows far below 0", "far below"))
            if len(differentiable(self.function)) > 1:
                yield self._tensor_case(Row("products far below 0", "offset"), change=self._opposed)
        for value in (False, True) if any(self.function.table[n].dtype == "bool" for n in self.function.inputs) else ():
            yield self._tensor_case(Row("conditions that are all the same"), change=partial(self._alike, value))
        if self.function.domain:
            yield from (self._tensor_case(Row("bounds of the domain", "bounds")) for _ in range(2))
        left_out = partial(self._left_out, self.options)
        if ignored(self.function, {**self.options, **small}):
            yield self._tensor_case(Row("subscripts left out"), change=left_out)
        for present in patterns[1:]:
            yield self._tensor_case(Row("optional inputs"), present=present, change=left_out)
        ones = dict.fromkeys(small, 1)
        if not (self.costly and ones == small and not self.function.packs):  # it would be the same once more
            yield self._tensor_case(Row("sizes 1", pack="none", empty=True), ones)
        for options in self._other_options():
            sizes = choose(self.function, options, self.rng)
            yield self._tensor_case(Row("options"), sizes, options=options, change=partial(self._left_out, options))
        nothing = dict.fromkeys(self.function.packs, 0)
        empty = Row("a size of 0", "positive", empty=True)
        if nothing and defined(self.function, {**nothing, **small}, self.options):
            yield self._tensor_case(replace(empty, pack="empty"))
        for sizes in empties(self.function, small, self.options):
            yield self._tensor_case(empty, sizes)
        if self.logs and not self.costly:
            yield self._tensor_case(Row("-inf in places", "logarithms"))
            yield self._tensor_case(Row("rows of -inf", undefined=True), change=self._rows_of_zero)
        if not self.costly:
            yield self._tensor_case(Row("zeros", "zeros"))
            yield from self._conditions()
        if small and not has_backward(self.function):
            yield self._larger()
        if patterns[1:] and not self.costly:  # of numbers alone there are doubles
            absent = dict.fromkeys(self.function.optional, False)
            yield self._tensor_case(Row("float32", single=True), present=absent, change=left_out)
        for options in () if self.costly else self._parts():
            for row in PARTS:
                yield self._tensor_case(row, self._five(options), options=options)
        if self.full and self.costly:
            for row in FEW:
                yield self._tensor_case(row)
        elif self.full:
            yield from self._long(patterns)

    def _first(self) -> Case | None:
        """The first case, at larger sizes where a subscript that stands behind a condition needs them: no constraint of
        the declaration tells, and at the smallest sizes there is no value."""
        first = self._tensor_case(SHORT[0])
        for least in LARGER if self.small else ():
            if first is not None:
                break
            before, pool = self.small, tuple(range(least, least + 2 + len(self.small)))
            self.small = choose(self.function, self.options, self.rng, pools=(pool,))
            first = self._tensor_case(SHORT[0])
            self.small = before if first is None else self.small
        return first

    def _larger(self) -> Case | None:
        """Of values alone, at more than two elements: no identity is asked for at real sizes, and of two elements one
        may stand in its place by chance."""
        sizes = self._five(self.options)
        return None if sizes == self.small else self._tensor_case(Row("larger sizes"), sizes)

    def _five(self, options: Mapping[str, Any]) -> Mapping[str, int]:
        """Sizes of five and more; the smallest ones where it takes long at these."""
        sizes = choose(self.function, options, self.rng, pools=(tuple(range(5, 6 + len(self.small))),))
        return self.small if cost(self.function, sizes, options) > NEAR else sizes

    def _long(self, patterns: list[dict[str, bool]]) -> Iterator[Case | None]:
        """What the long matrix has besides the short one."""
        small = self.small
        for row in LONGER:
            yield self._tensor_case(row)
        single = [n for n in differentiable(self.function) if n not in self.symmetric]
        for name, far, alone in itertools.product(single, (800.0, -800.0), (False, True)):
            if not self.function.table[name].interval.holds(far):
                continue
            yield self._tensor_case(Row("an input at 800"), change=partial(self._far, name, far, alone))
        yield from self._kinks()
        for present, draw in itertools.product(patterns[1:], ("wide", "ties", "edges")):
            yield self._tensor_case(Row("optional inputs", draw), present=present)
        ones = dict.fromkeys(small, 1)
        for row in ONES:
            yield self._tensor_case(row, ones)
        for name in small if len(small) > 1 else ():
            yield self._tensor_case(Row("a size of 1"), {**small, name: 1})

    def _shifted(self) -> bool:
        """Whether the code may begin with a maximum: that is asked for, or what divides or has a logarithm is a sum of
        exponentials."""
        reduced = {e.reduce for e in self.function.statements}
        used = {n.op for e in self.function.statements for n in postorder(e.body) if isinstance(n, Apply)}
        return bool(reduced & EXTREMES) or ("sum" in reduced and "exp" in used and bool(used & {"div", "log"}))

    def _opposed(self, inputs: Inputs) -> Inputs:
        """Every other real input with its sign changed."""
        names = [n for n in differentiable(self.function)[1::2] if inputs[n] is not None]
        return {**inputs, **{n: -np.asarray(inputs[n]) for n in names}}

    def _alike(self, value: bool, inputs: Inputs) -> Inputs:
        """Every condition true, or every one false."""
        given = {n: a for n, a in inputs.items() if a is not None and self.function.table[n].dtype == "bool"}
        return {**inputs, **{n: np.full_like(a, value) for n, a in given.items()}}

    def _left_out(self, options: Mapping[str, Any], inputs: Inputs) -> Inputs:
        """Integers in the first places that the formula does not read as subscripts, where there are such."""
        for name, values in ignored(self.function, {**options, **bind(self.function, inputs)}).items():
            if inputs[name] is None:
                continue
            for place, value in enumerate(values):
                changed = np.array(inputs[name])
                if place < changed.size - 1:
                    changed.reshape(-1)[place] = value
                    others = {**inputs, name: changed}
                    inputs = others if self._valid(others, options) else inputs
        return inputs

    def _rows_of_zero(self, inputs: Inputs) -> Inputs:
        """The logarithm of 0 in one row of each input that is a logarithm, or in all of it if it is one row."""
        for name in self.logs:
            array = np.array(np.nan if inputs[name] is None else inputs[name])
            if inputs[name] is not None and array.size:
                array[(..., int(self.rng.integers(array.shape[-2])), slice(None)) if array.ndim > 1 else ...] = -np.inf
                inputs = {**inputs, name: array}
        return inputs

    def _far(self, name: str, far: float, alone: bool, inputs: Inputs) -> Inputs:
        """An input as a whole far away, or one number of it `alone`; the others anywhere."""
        array = np.array(inputs[name])
        if not alone:
            array = far + self.rng.standard_normal(array.shape)
        elif array.size:
            array.reshape(-1)[int(self.rng.integers(array.size))] = far
        return {**inputs, name: array}

    def _conditions(self) -> Iterator[Case | None]:
        """Points at which the two sides of a comparison of the formula are equal."""
        if not any(g.ops[k] in COMPARISONS for c in self.declaration.components for g in c.groups for k in g.watched):
            return
        start = self._tensor_case(Row("conditions"), change=coarse)
        budget = NEAR // max(1, cost(self.function, self.small, self.options))
        if start is not None:
            for inputs in at_conditions(self.declaration, start.inputs, self.options, self.rng, budget):
                if self._valid(inputs, self.options):
                    yield self._case(Row("the edge of a condition"), inputs, self.options)

    def _kinks(self) -> Iterator[Case | None]:
        """Points at the kinks of the formula's operators, and beside them."""
        budget = max(20, min(EVALUATIONS, SEARCH // max(1, cost(self.function, self.small, self.options))))
        found: list[Values] = []
        for draw in ("normal", "positive"):
            start = self._tensor_case(Row("kinks", draw), change=coarse)
            if start is not None:
                found += at_kinks(self.declaration, start.inputs, self.options, self.rng, budget)
        for inputs in found[:KINKS]:
            if self._valid(inputs, self.options):
                yield self._case(Row("kinks"), inputs, self.options)

    def _tensor_case(
        self,
        row: Row,
        sizes: Mapping[str, int] | None = None,
        present: Mapping[str, bool] = NOTHING,
        options: Mapping[str, Any] | None = None,
        change: Callable[[Inputs], Inputs] | None = None,
    ) -> Case | None:
        """A case at some sizes, with each input that is not said to be absent; at the smallest ones and the declared
        options where none are given."""
        sizes, options = self.small if sizes is None else sizes, self.options if options is None else options
        # a pack is of another size than every axis, that a transposed one is seen
        length = next(n for n in itertools.count(2) if n not in sizes.values())
        pack = {"one": (length,), "two": (2, length), "none": (), "empty": (0,)}[row.pack]
        known: Sizes = {**dict.fromkeys(self.function.packs, pack), **sizes}
        asked = (possible, defined) if row.empty else (fitting,)
        if not all(holds(self.function, known, options) for holds in asked):
            return None
        for attempt in range(1 if row.draw == "zeros" else ATTEMPTS):
            drawn = inputs_at(
                self.function, known, options, self.rng, partial(self._drawn, row, attempt < FIRST), present
            )
            if drawn is None:
                return None
            inputs = self._placed(row, drawn if change is None else change(drawn))
            if self._valid(inputs, options, row.empty, row.undefined):
                return replace(self._case(row, inputs, options), generic=row.generic and change is None)
            self.discarded += 1
        return None

    def _placed(self, row: Row, inputs: Inputs) -> Inputs:
        """The inputs in the domain, whatever has changed them."""
        for name, interval in intervals(self.function).items():
            array = inputs.get(name)
            if array is not None and array.dtype.kind == "f":
                array = placed(interval, array, self.rng)
                inputs = {**inputs, name: in_single(interval, array) if row.single else array}
        return inputs

    def _drawn(self, row: Row, first: bool, name: str, shape: tuple[int, ...]) -> Array:
        """A real input; of any kind, where the one of the row was tried."""
        kinds = ("normal", "wide", "positive", "unit", "above")
        kind = self._kind(row.draw if first else kinds[int(self.rng.integers(len(kinds)))], name)
        if kind == "bounds":
            return self._at_bounds(name, shape)
        own = kind == "own edges"
        array = np.asarray(self.rng.choice(self._edges(row.single), shape) if own else DRAWS[kind](self.rng, shape))
        array = as_read(self.function, name, array)
        if row.single:
            array = array.astype(np.float32).astype(np.float64)
        # a matrix of equal rows is singular
        if row.strided and array.ndim and len(array) and name not in self.matrices:
            array = np.broadcast_to(array[:1], array.shape)
        return array

    def _valid(
        self, inputs: Values, options: Mapping[str, Any], infinite: bool = False, undefined: bool = False
    ) -> bool:
        if not inside(self.function, inputs):
            return False
        with mp.workprec(100):
            try:
                trace = self.declaration.trace(inputs, options)
            except (IndexError, ValueError):
                return False
        found = [v for name in self.function.outputs for v in trace.arrays[name].ravel()]
        if undefined:
            return not all(map(mp.isnan, found))
        return all(mp.isfinite(v) and abs(v) < 1e308 or infinite and mp.isinf(v) for v in found)


def _matrices(function: Function) -> set[str]:
    """The inputs whose first axis is one of a matrix that a function of matrices is applied to."""
    found: set[str] = set()
    for e in function.statements:
        if e.matrix is not None:
            reduced = {i for i, _ in e.reduced}
            found |= {r.name for r in e.reads if r.subscripts and r.subscripts[0] in reduced}
    return found
