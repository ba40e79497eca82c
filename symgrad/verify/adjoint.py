"""The adjoint identity <J u, v> = <u, J^T v> at real sizes, with J u from differences of the artefact's own forward.

Loose (1e-6), but at sizes where blocks, strides and loops over dozens of elements are really used.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from math import prod
from typing import Any, Protocol

import numpy as np

from ..expr import refs
from ..ir import Function
from .cases import Case
from .domains import intervals
from .draws import DRAWS, inputs_at, is_pointwise
from .sizes import Sizes, boxes, choose, fitting
from .symmetric import as_read, directions, symmetric_inputs
from .text import differentiable

LARGE = (53, 71, 31, 19, 11, 7, 5)
MEDIUM = (11, 7, 5, 3, 2)
COST = 200_000  # operations of one evaluation
TOLERANCE = 1e-6
KINDS = ("normal", "above", "unit")  # of numbers
ROUNDING = 2.0**-50  # of a value, relative
FARTHEST = 2e-5  # step of a difference
NOISE = 1e-8  # of one of gradients, where numbers are about 1


class Artefact(Protocol):
    """The loaded module of a printed Python file, or compiled C behind the same two calls."""

    def forward(self, *inputs: Any, **options: Any) -> tuple[Any, Any]:
        """Return the output (a tuple if there are several) and what `backward` needs."""

    def backward(self, saved: Any, grad_output: Any = None, needs_input_grad: Any = None) -> tuple[Any, ...]:
        """Return one gradient per input, None where there is none."""


def adjoint_error(function: Function, artefact: Artefact, seed: int, full: bool = False) -> str | None:
    """What is wrong with the adjoint identity; None if it holds or cannot be asked.

    A kink between x - h u and x + h u may spoil an attempt: it fails only if three do.
    """
    for options in _options(function, getattr(artefact, "traces", False)):
        found = None
        for attempt in range(3):
            rng = np.random.default_rng([seed, attempt, 7])
            with np.errstate(all="ignore"):  # a gradient may overflow where the output does not
                found = _attempt(function, artefact, rng, full, options)
            if found is None:
                break
        else:
            return f"{found}{''.join(f', {name} = {value}' for name, value in options.items())}"
    return None


def _options(function: Function, few: bool) -> Iterator[Mapping[str, Any]]:
    """The declared options; of the integers in a size each one more, and one less where that is 1 at least, and all one
    more: windows overlap, or leave a gap. A `few` of these, where a call is compiled for each."""
    own = {o.name: o.default if isinstance(o.default, int) else float(o.default) for o in function.options}
    yield own
    shapes = [e for t in function.tensors for e in t.shape] + [s for e in function.statements for s in e.subscripts]
    named = {r.name for r in refs(*shapes)}
    moving = [o.name for o in function.options if o.dtype == "int" and o.name in named]
    for name, step in itertools.product(() if few else moving, (1, -1)):
        if own[name] + step > 0:
            yield {**own, name: own[name] + step}
    if moving if few else len(moving) > 1:
        yield {name: value + 1 if name in moving else value for name, value in own.items()}


def drawn(
    function: Function,
    rng: np.random.Generator,
    full: bool = False,
    options: Mapping[str, Any] | None = None,
    operations: int = COST,
) -> Iterator[Case]:
    """Calls at real sizes, of one distribution after the other; nothing where that takes too long.

    operations  how many a call may have
    """
    options = next(_options(function, True)) if options is None else options
    packs = dict.fromkeys(function.packs, (3, 17) if is_pointwise(function) else (3,))
    # a fallback of Python loops takes microseconds per point: real sizes only where that is affordable
    limit = operations * (5 if full else 1)
    sizes = {**packs, **choose(function, options, rng, limit, (LARGE, MEDIUM, (2, 3, 3, 4, 4, 5)), largest=True)}
    if fitting(function, sizes, options) and sum(map(prod, boxes(function, sizes, options))) <= limit:
        yield from draws_at(function, rng, sizes, options)


def draws_at(
    function: Function,
    rng: np.random.Generator,
    sizes: Sizes,
    options: Mapping[str, Any],
    kinds: Sequence[str] = KINDS,
) -> Iterator[Case]:
    """Calls at these sizes without cotangents, of one distribution after the other."""

    def real(kind: str, name: str, shape: tuple[int, ...]) -> Any:
        return as_read(function, name, DRAWS[kind](rng, shape))

    for kind in kinds:
        inputs = inputs_at(function, sizes, options, rng, partial(real, kind))
        if inputs is not None:
            yield Case(inputs, options, {})


def _attempt(
    function: Function, artefact: Artefact, rng: np.random.Generator, full: bool, options: Mapping[str, Any]
) -> str | None:
    for case in drawn(function, rng, full, options, getattr(artefact, "operations", COST)):
        inputs: Mapping[str, Any] = case.inputs
        out, saved = artefact.forward(*inputs.values(), **case.options)
        outs = out if len(function.outputs) > 1 else (out,)
        if all(np.all(np.isfinite(o)) for o in outs):
            break
    else:
        return None
    real = [function.table[n].dtype == "real" for n in function.outputs]
    seeds = [np.asarray(rng.standard_normal(np.shape(o))) if r else None for r, o in zip(real, outs, strict=True)]
    given = tuple(seeds) if len(seeds) > 1 else seeds[0]
    grads = artefact.backward(saved, given, (True,) * len(function.inputs))
    steps, symmetric = directions(function, differentiable(function), inputs, rng), symmetric_inputs(function)
    found = dict(zip(function.inputs, grads, strict=True))
    for name, u in steps.items():  # an element that the range of floating point spoils says nothing of the others
        spoiled = ~np.isfinite(np.asarray(found[name]))
        if name not in symmetric and not np.all(spoiled):
            steps[name], found[name] = np.where(spoiled, 0.0, u), np.where(spoiled, 0.0, found[name])
    for name, interval in intervals(function).items():  # and one whose step would leave the domain stays where it is
        if name in steps:
            ends = [np.asarray(inputs[name]) + way * FARTHEST * np.abs(steps[name]) for way in (1, -1)]
            steps[name] = np.where(interval.holds(ends[0]) & interval.holds(ends[1]), steps[name], 0.0)
    left, size = _slope(artefact, case, steps, seeds, FARTHEST / 2)
    other, _ = _slope(artefact, case, steps, seeds, FARTHEST)
    right, scale = 0.0, size
    for name, u in steps.items():
        right += float(np.sum(np.asarray(found[name]) * u))
        scale += float(np.sum(np.abs(np.asarray(found[name]) * u)))
    # where two differences disagree (a kink, a function too wild for float64), nothing can be said; nor where forward
    # gives zeros alone: what backward adds up to 0 is rounded on a scale that nothing tells
    if not size or not abs(left - other) <= TOLERANCE * size or abs(left - right) <= TOLERANCE * scale:
        return None
    shapes = ", ".join(f"{n} {np.shape(v)}" for n, v in inputs.items())
    return f"<J u, v> = {left:.12g} and <u, J^T v> = {right:.12g} for {shapes}"


def _slope(artefact: Artefact, case: Case, steps: Mapping[str, Any], seeds: list[Any], h: float) -> tuple[float, float]:
    """<J u, v> by differences of the artefact's own forward, and the magnitude of its terms and of their rounding."""
    ends = []
    for sign in (h, -h):
        moved = {n: np.asarray(v) + sign * steps[n] if n in steps else v for n, v in case.inputs.items()}
        end, _ = artefact.forward(*moved.values(), **case.options)
        ends.append(end if len(seeds) > 1 else (end,))
    terms = [
        (np.asarray(up) - np.asarray(down)) / (2 * h) * seed
        for up, down, seed in zip(*ends, seeds, strict=True)
        if seed is not None
    ]
    values = [np.abs(np.asarray(up) * seed) for up, seed in zip(ends[0], seeds, strict=True) if seed is not None]
    noise = sum(float(np.sum(v)) for v in values) * ROUNDING / h
    return sum(float(np.sum(t)) for t in terms), sum(float(np.sum(np.abs(t))) for t in terms) + noise / TOLERANCE


def slopes(moved: Callable[[float], float]) -> tuple[float, float]:
    """The slope of a number at 0, by a difference and by one of twice the step."""
    near, far = ((moved(h) - moved(-h)) / (2 * h) for h in (FARTHEST / 2, FARTHEST))
    return near, far


def second_order_error(by_difference: tuple[float, float], terms: Sequence[float]) -> Iterator[tuple[str, str]]:
    """What is wrong with the slope that is the sum of terms. Where two differences disagree (a kink, a function too
    wild for float64), nothing can be said."""
    left, other = by_difference
    right, scale = sum(terms), sum(map(abs, terms)) + abs(left)
    if np.isfinite(left) and abs(left - other) <= TOLERANCE * scale:
        if not abs(left - right) <= 10 * TOLERANCE * scale + NOISE:
            yield "J^T v", f"changes by {left:.12g} along a direction, and by its own gradient by {right:.12g}"
