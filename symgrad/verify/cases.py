"""One call of a sample, its points one by one, and what may be asked and refused there; then what the samples of every
kind of function share: random numbers, options, grad_output."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ..ir import Function, bind
from ..records import dataclass, replace
from .domains import at_bounds
from .draws import counted_out, edges
from .logarithms import logarithms
from .reference import Declaration
from .rounding import DOUBLE, SINGLE
from .sizes import cost
from .symmetric import symmetric_inputs
from .text import Array, Values, differentiable, full_shape, has_backward

LONG = 1500  # operations of the equations at one point each, from which on few points are asked
DEAR = 5000  # of one evaluation, from which on what is asked several times of others is asked once
HUGE = 1e30  # of a grad_output; a float32 has it too
PART = 0.375  # of an option: of a power with this exponent, the slope is infinite at 0


@dataclass(frozen=True, slots=True)
class Case:
    """One call: inputs by name (None: absent), options, and grad_output by output.

    number, label  which one of a sample it is, and what it is of
    count    the points that it holds
    packed   the first axis of every array counts independent points
    strided  inputs and grad_output are broadcast views with stride 0
    single   every number is a float32
    work     the operations of one evaluation of the formula
    generic  its inputs are random numbers, of which none are equal
    """

    inputs: Values
    options: Mapping[str, Any]
    seeds: Values
    number: int = 0
    label: str = ""
    count: int = 1
    packed: bool = False
    strided: bool = False
    single: bool = False
    work: int = 0
    generic: bool = False

    @property
    def often(self) -> int:
        """How often that is asked which is asked several times."""
        return 1 if self.work > DEAR else 3


LARGEST = float(np.finfo(np.float32).max) / 2  # of float32, after any rounding


def in_single(case: Case) -> Case | None:
    """The case with every number rounded to a float32, the largest where it is larger; None where one would become
    subnormal, and of strided views."""
    if case.single or case.strided:
        return case if case.single else None

    def single(array: Array) -> Array:
        finite = np.where(np.isfinite(array), np.clip(array, -LARGEST, LARGEST), array)
        return finite.astype(np.float32).astype(np.float64)

    with np.errstate(all="ignore"):
        inputs, seeds = _reals(case.inputs, single), _reals(case.seeds, single)
    for value in (*inputs.values(), *seeds.values()):
        size = np.abs(np.asarray(0.0 if value is None else value, dtype=np.float64))
        if not np.all((size == 0) | (size == np.inf) | (SINGLE.tiny < size) & (size < SINGLE.huge)):
            return None
    return replace(case, inputs=inputs, seeds=seeds, single=True)


def in_normal(case: Case) -> Case:
    """The case with the smallest normal number for each that is smaller, and not 0: what they are is 0 to some."""
    if case.strided:
        return case
    least = SINGLE.tiny if case.single else DOUBLE.tiny

    def normal(array: Array) -> Array:
        return np.where((array != 0) & (np.abs(array) < least), np.copysign(least, array), array)

    return replace(case, inputs=_reals(case.inputs, normal))


def _reals(values: Values, change: Callable[[Array], Array]) -> dict[str, Array | None]:
    """The arrays, those of real numbers changed."""
    real = {n: np.asarray(v) for n, v in values.items() if v is not None and np.asarray(v).dtype.kind == "f"}
    return {**values, **{n: change(v) for n, v in real.items()}}


def combinations(function: Function, full: bool = False) -> list[tuple[bool, ...]]:
    """What may be asked of backward: every subset of up to three gradients, else none, each alone, all but each.

    `full` asks for every subset of up to six.
    """
    names = differentiable(function)
    if len(names) <= (6 if full else 3):
        subsets = [dict(zip(names, bits, strict=True)) for bits in itertools.product((False, True), repeat=len(names))]
    else:
        subsets = [{}, *({name: True} for name in names), *({n: n != name for n in names} for name in names)]
    return [tuple(bool(s.get(n, False)) for n in function.inputs) for s in subsets]


def parts(case: Case, gradients: Mapping[str, Array], most: int) -> Iterator[tuple[Case, Mapping[str, Array]]]:
    """The case and its gradients, or single points of it where it holds many: each is a test of its own size."""
    if not case.packed:
        yield case, gradients
        return
    for k in np.linspace(0, case.count - 1, min(case.count, most)).astype(int).tolist():
        inputs = {n: None if v is None else v[k] for n, v in case.inputs.items()}
        seeds = {n: None if v is None else v[k] for n, v in case.seeds.items()}
        part = replace(case, inputs=inputs, seeds=seeds, label=f"{case.label}, point {k}", count=1, packed=False)
        yield part, {n: g[k : k + 1] for n, g in gradients.items()}


def refuses_nothing(case: Case, error: Exception) -> bool:
    """Whether the code refuses a maximum over nothing, as NumPy does; a softmax of no elements may."""
    return case.label == "a size of 0" and is_of_nothing(error)


def is_of_nothing(error: Exception) -> bool:
    """Whether NumPy, JAX or torch refuse a maximum over nothing, or JAX a convolution of no channels in as many
    groups."""
    words = ("zero-size array to reduction", "Expected reduction dim", "group_count must be a positive integer, got 0")
    return any(some in str(error) for some in words)


def refuses_infinity(error: Any) -> bool:
    """Whether LAPACK, as NumPy or torch call it, or SciPy before it, refuses a matrix that has overflowed; what is no
    error is no refusal."""
    return type(error).__name__ in ("LinAlgError", "_LinAlgError") or "must not contain infs or NaNs" in str(error)


def one_point(case: Case, number: int) -> Values:
    """The inputs of one point of a case that holds many, or all of them."""
    if case.count < 2 and not case.packed:
        return case.inputs
    found: dict[str, Array | None] = {}
    for name, value in case.inputs.items():
        row = None if value is None else value.reshape(case.count, -1)[number]
        found[name] = row.reshape(()) if row is not None and row.size == 1 else row
    return found


@dataclass(frozen=True, slots=True)
class Row:
    """How a case is drawn.

    draw     of `draws`, or "own edges": those of the formula's constants, and far ones, too; "logarithms" are drawn
             for the inputs that are such; "bounds" are those of the domain
    seeds    grad_output
    pack     the axes of a pack
    strided, strided_seed  inputs, or grad_output, with stride 0
    empty    reductions may have no terms, and values be infinite for that
    undefined  some results may be infinite, or have no value
    """

    label: str
    draw: str = "normal"
    seeds: str = "random"
    pack: str = "one"
    single: bool = False
    strided: bool = False
    strided_seed: bool = False
    empty: bool = False
    undefined: bool = False

    @property
    def generic(self) -> bool:
        """Whether inputs are random numbers, of which none are equal."""
        return self.draw in ("normal", "wide") and not (self.strided or self.single or self.empty or self.undefined)


class Sampler(ABC):
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
        self.logs = logarithms(self.function)
        self.numbers = itertools.count()
        self.turns = itertools.count()

    @abstractmethod
    def cases(self) -> Iterator[Case | None]:
        """The cases, in order; None for one that could not be drawn."""

    def _other_options(self) -> Iterator[Mapping[str, Any]]:
        """The options at other values, one at a time; at 0, what subscripts are compared with: they may be that."""
        compared = counted_out(self.function)
        for option in self.function.options:
            other = option.default + 1 if option.dtype == "int" else float(option.default) * 3 or 0.25
            other = 0 if option.name in compared and option.default else other
            yield {**self.options, option.name: other}

    def _parts(self) -> Iterator[Mapping[str, Any]]:
        """The options between 0 and 1, one at a time, those that are not there by default."""
        for option in self.function.options:
            if option.dtype != "int" and not 0 < option.default < 1:
                yield {**self.options, option.name: PART}

    def _case(self, row: Row, inputs: Values, options: Mapping[str, Any], count: int = 1, packed: bool = False) -> Case:
        cotangents: dict[str, Array | None] = {}
        numbers = {k: float(v) if not isinstance(v, int) else v for k, v in options.items()}
        for name in self.function.outputs:
            shape = full_shape(self.function, name, inputs, numbers)
            if self.function.table[name].dtype != "real" or not has_backward(self.function):
                cotangents[name] = None
                continue
            seed = self._seed(row.seeds, shape)
            if row.single:
                seed = seed.astype(np.float32).astype(np.float64)
            cotangents[name] = seed
        number, strided = next(self.numbers), row.strided or row.strided_seed
        work = cost(self.function, bind(self.function, inputs), numbers)
        return Case(inputs, numbers, cotangents, number, row.label, count, packed, strided, row.single, work)

    def _edges(self, single: bool) -> list[float]:
        """The edges of this function; of a float32, those that it has."""
        known = [e for e in self.edges if e == 0 or SINGLE.tiny < abs(e) < SINGLE.huge] if single else self.edges
        return list(dict.fromkeys(float(np.float32(e)) for e in known)) if single else known

    def _at_bounds(self, name: str, shape: tuple[int, ...]) -> Array:
        """An input at the bounds of its interval and beside, in half of its places; others anywhere."""
        interval, anywhere = self.function.table[name].interval, self.rng.standard_normal(shape)
        return at_bounds(interval, anywhere, self.rng, next(self.turns)) if interval.bounded else anywhere

    def _kind(self, kind: str, name: str) -> str:
        """How an input is drawn."""
        return "normal" if kind == "logarithms" and name not in self.logs else kind

    def _seed(self, kind: str, shape: tuple[int, ...]) -> Array:
        if kind == "ones":
            return np.broadcast_to(np.ones(()), shape)
        if kind == "zero":
            return np.zeros(shape)
        if kind == "huge":
            return np.asarray(HUGE * self.rng.standard_normal(shape))
        if kind == "one-hot":
            seed = np.zeros(shape)
            if seed.size:
                seed.reshape(-1)[self.rng.integers(seed.size)] = 1.0
            return seed
        return np.asarray(self.rng.standard_normal(shape))
