"""Which sizes a function is checked at: small, larger than one, as different as they can be cheaply."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from math import prod
from typing import Any

import numpy as np

from ..evaluate import evaluate
from ..expr import Const, Ref, postorder
from ..ir import Function, extent_of
from .groups import components
from .reach import inside

Packs = Mapping[str, tuple[int, ...]]
Sizes = Mapping[str, int | tuple[int, ...]]
STEPS = 4  # the least size where a tensor is computed from itself: one step tells little
LARGER = (4, 7, 12)  # the least size, where a subscript needs them
COST = 3000  # operations of one evaluation in mpmath: about 10 ms


def names(function: Function) -> list[str]:
    """The sizes that may be chosen."""
    return [d.name for d in function.dims if not d.pack]


def shape_of(
    function: Function, name: str, sizes: Mapping[str, int], packs: Packs, options: Mapping[str, Any]
) -> tuple[int, ...]:
    """The shape of a tensor, the axes of a pack one by one."""
    shape: list[int] = []
    for extent in function.table[name].shape:
        if isinstance(extent, Ref) and extent.name in packs:
            shape.extend(packs[extent.name])
        else:
            shape.append(extent_of(extent, {**sizes, **packs}, options))
    return tuple(shape)


def boxes(function: Function, sizes: Mapping[str, int], packs: Packs, options: Mapping[str, Any]) -> list[list[int]]:
    """The extents of every equation's box."""
    known: Sizes = {**sizes, **packs}
    return [[extent_of(e, known, options) for _, e in equation.box] for equation in function.statements]


def met(function: Function, sizes: Mapping[str, int], packs: Packs, options: Mapping[str, Any]) -> list[bool]:
    """Whether the sizes meet each constraint."""

    def element(name: str, subscripts: tuple[int, ...]) -> Any:
        found = {**sizes, **packs}.get(name, options.get(name))
        return prod(found) if isinstance(found, tuple) else found

    return [bool(evaluate(c, {}, element)) for c in function.constraints]


def possible(function: Function, sizes: Mapping[str, int], packs: Packs, options: Mapping[str, Any]) -> bool:
    """Whether the sizes meet the constraints, and nothing outside of a tensor is read whatever the data are."""
    return all(met(function, sizes, packs, options)) and inside(function, {**sizes, **packs}, options)


def fitting(function: Function, sizes: Mapping[str, int], packs: Packs, options: Mapping[str, Any]) -> bool:
    """Whether the sizes meet the constraints, nothing outside of a tensor is read whatever the data are, and no box is
    empty unless a size is 0."""
    if not possible(function, sizes, packs, options):
        return False
    if 0 in sizes.values() or any(0 in p for p in packs.values()):
        return True
    return all(0 not in box for box in boxes(function, sizes, packs, options))


def cost(function: Function, sizes: Mapping[str, int], options: Mapping[str, Any]) -> int:
    """The operations of one evaluation."""
    packs = dict.fromkeys(function.packs, (2,))
    lengths = [sum(1 for _ in postorder(e.body)) for e in function.statements]
    return sum(prod(b) * n for b, n in zip(boxes(function, sizes, packs, options), lengths, strict=True))


def choose(
    function: Function,
    options: Mapping[str, Any],
    rng: np.random.Generator,
    limit: int = COST,
    pools: tuple[tuple[int, ...], ...] | None = None,
    largest: bool = False,
) -> dict[str, int]:
    """The smallest sizes, all different if that is cheap enough, that meet the constraints; or the `largest` of those
    that cost no more than the limit.
    """
    dims = names(function)
    packs = dict.fromkeys(function.packs, (2,))
    best: tuple[int, dict[str, int]] | None = None
    least = STEPS if any(c.open for c in components(function)) else 2
    distinct = tuple(range(least, least + len(dims)))
    larger = (tuple(range(least, least + 2 + len(dims))) for least in LARGER)
    small = (distinct, tuple(range(2, 4 + len(dims))), (2, 2, 3, 3, 4, 4, 5))
    for pool in pools or (*small, *larger, (1, 2, 2, 3, 3, 4)):
        for sizes in _assignments(dims, pool, rng):
            if not fitting(function, sizes, packs, options):
                continue
            price = cost(function, sizes, options)
            within = largest and best is not None and best[0] <= limit
            if best is None or (best[0] < price <= limit if within else price < best[0]):
                best = price, sizes
        if best is not None and best[0] <= limit:
            return best[1]
    return best[1] if best is not None else _reaching(function, packs, options, rng)


def _reaching(function: Function, packs: Packs, options: Mapping[str, Any], rng: np.random.Generator) -> dict[str, int]:
    """Sizes that meet constraints such as n > 12, by steps that break no more of them; then smaller while they do."""
    dims = names(function)
    sizes = dict.fromkeys(dims, 1)
    limits = [int(abs(n.value)) for c in function.constraints for n in postorder(c) if isinstance(n, Const)]
    far = 4 + 2 * max(limits, default=0)
    broken = len(function.constraints) + 1
    for step in range(400 if dims else 0):
        moved = {**sizes, **{n: int(rng.integers(1, far)) for n in rng.permutation(dims)[: 1 + step % 2].tolist()}}
        count = met(function, moved, packs, options).count(False)
        count += not count and not fitting(function, moved, packs, options)
        if (count, sum(moved.values())) < (broken, sum(sizes.values())) or 0 < count <= broken:
            sizes, broken = moved, count
    return sizes


def leaving(
    function: Function, sizes: Mapping[str, int], packs: Packs, options: Mapping[str, Any]
) -> Iterator[dict[str, int]]:
    """For each size that is moved alone, the nearest smaller and larger ones, and 1, at which the formula may read
    outside of a tensor, though they meet the constraints."""

    def leaves(moved: Mapping[str, int]) -> bool:
        return all(met(function, moved, packs, options)) and not inside(function, {**moved, **packs}, options)

    for name, size in sizes.items():
        nearest = [next((v for v in row if leaves({**sizes, name: v})), None) for row in _ways(size)]
        yield from ({**sizes, name: v} for v in dict.fromkeys(nearest) if v is not None)


def _ways(size: int) -> tuple[range, ...]:
    """From a size downwards, upwards, and from 1."""
    return range(size - 1, 0, -1), range(size + 1, 2 * size + 12), range(1, size)


def violations(
    function: Function, sizes: Mapping[str, int], packs: Packs, options: Mapping[str, Any]
) -> Iterator[dict[str, int]]:
    """For each constraint, sizes near `sizes` that break it and, if that is possible, no other one."""
    moves = [[{**sizes, n: v} for n in sizes] for v in (*range(1, 2 * max(sizes.values(), default=0) + 12), 0)]
    near = sorted((m for row in moves for m in row), key=lambda m: (0 in m.values(), _distance(m, sizes)))
    held = [met(function, m, packs, options) for m in near]
    for number in range(len(function.constraints)):
        broken = [(flags.count(False), k) for k, flags in enumerate(held) if not flags[number]]
        if broken:
            yield near[min(broken)[1]]


def _distance(one: Mapping[str, int], other: Mapping[str, int]) -> int:
    return sum(abs(one[n] - other[n]) for n in one)


def _assignments(dims: list[str], pool: tuple[int, ...], rng: np.random.Generator) -> Iterator[dict[str, int]]:
    if len(pool) < len(dims):
        pool = pool * (len(dims) // len(pool) + 1)
    if len(dims) <= 3:
        for chosen in itertools.permutations(pool, len(dims)):
            yield dict(zip(dims, chosen, strict=True))
        return
    for _ in range(80):
        yield dict(zip(dims, rng.permutation(pool)[: len(dims)].tolist(), strict=True))


def empties(function: Function, sizes: Mapping[str, int], options: Mapping[str, Any]) -> Iterator[dict[str, int]]:
    """The sizes with a 0 among them, each alone and all, unless a maximum or mean of nothing is asked for."""
    wanted = [{**sizes, name: 0} for name in sizes]
    if len(sizes) > 1:
        wanted.append(dict.fromkeys(sizes, 0))
    for chosen in wanted:
        packs = dict.fromkeys(function.packs, (2,))
        if defined(function, chosen, packs, options):
            yield chosen


def defined(function: Function, sizes: Mapping[str, int], packs: Packs, options: Mapping[str, Any]) -> bool:
    """Whether no maximum and no mean of nothing is asked for; a logsumexp of nothing is -oo."""
    return all(_defined(function, k, sizes, packs, options) for k in range(len(function.statements)))


def _defined(
    function: Function, number: int, sizes: Mapping[str, int], packs: Packs, options: Mapping[str, Any]
) -> bool:
    equation = function.statements[number]
    known: Sizes = {**sizes, **packs}
    if 0 not in [extent_of(e, known, options) for _, e in equation.reduced]:
        return True
    # a mean over nothing is 0 by the equation, and 0/0 wherever the division stands outside of the sum
    empty = {name for name, size in known.items() if size == 0 or (isinstance(size, tuple) and 0 in size)}
    averaged = any(isinstance(n, Ref) and n.name in empty for n in postorder(equation.body))
    return equation.reduce in ("none", "sum", "prod", "logsumexp") and not averaged
