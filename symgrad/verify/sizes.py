"""Which sizes a function is checked at: small, larger than one, as different as they can be cheaply."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from math import prod
from typing import Any

import numpy as np

from ..evaluate import evaluate
from ..expr import Apply, Const, Ref, factors, indices, postorder
from ..ir import Function, extent_of
from .groups import components
from .reach import inside

Sizes = Mapping[str, int | tuple[int, ...]]  # of dims, and of packs
STEPS = 4  # the least size where a tensor is computed from itself: one step tells little
LARGER = (4, 7, 12)  # the least size, where a subscript needs them
COST = 3000  # operations of one evaluation in mpmath: about 10 ms


def names(function: Function) -> list[str]:
    """The sizes that may be chosen."""
    return [d.name for d in function.dims if not d.pack]


def count(size: int | tuple[int, ...]) -> int:
    """A size as one number: of a pack, how many points it has."""
    return prod(size) if isinstance(size, tuple) else size


def boxes(function: Function, sizes: Sizes, options: Mapping[str, Any]) -> list[list[int]]:
    """The extents of every equation's box."""
    return [[extent_of(e, sizes, options) for _, e in equation.box] for equation in function.statements]


def met(function: Function, sizes: Sizes, options: Mapping[str, Any]) -> list[bool]:
    """Whether the sizes meet each constraint."""
    known = {**options, **{name: count(size) for name, size in sizes.items()}}
    return [bool(evaluate(c, {}, lambda name, _: known[name])) for c in function.constraints]


def possible(function: Function, sizes: Sizes, options: Mapping[str, Any]) -> bool:
    """Whether the sizes meet the constraints, and nothing outside of a tensor is read whatever the data are."""
    return all(met(function, sizes, options)) and inside(function, sizes, options)


def fitting(function: Function, sizes: Sizes, options: Mapping[str, Any]) -> bool:
    """Whether the sizes meet the constraints, nothing outside of a tensor is read whatever the data are, and no box is
    empty unless a size is 0."""
    if not possible(function, sizes, options):
        return False
    return 0 in map(count, sizes.values()) or all(0 not in box for box in boxes(function, sizes, options))


def cost(function: Function, sizes: Sizes, options: Mapping[str, Any]) -> int:
    """The operations of one evaluation; with packs of 2 points, if their sizes are not told."""
    lengths = [sum(1 for _ in postorder(e.body)) for e in function.statements]
    extents = boxes(function, {**dict.fromkeys(function.packs, 2), **sizes}, options)
    return sum(prod(b) * n for b, n in zip(extents, lengths, strict=True))


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
    packs: dict[str, int] = dict.fromkeys(function.packs, 2)
    least = STEPS if any(c.open for c in components(function)) else 2
    distinct = tuple(range(least, least + len(dims)))
    larger = (tuple(range(least, least + 2 + len(dims))) for least in LARGER)
    small = (distinct, tuple(range(2, 4 + len(dims))), (2, 2, 3, 3, 4, 4, 5))
    dearer: list[tuple[int, dict[str, int]]] = []
    for pool in pools or (*small, *larger, (1, 2, 2, 3, 3, 4)):
        priced = [(cost(function, sizes, options), sizes) for sizes in _assignments(dims, pool, rng)]
        within = sorted((p for p in priced if p[0] <= limit), key=lambda p: -p[0] if largest else p[0])
        for _, sizes in within:  # what costs much to evaluate, costs much to look at
            if fitting(function, {**packs, **sizes}, options):
                return sizes
        dearer += (p for p in priced if p[0] > limit)
    for _, sizes in sorted(dearer, key=lambda p: p[0]):
        if fitting(function, {**packs, **sizes}, options):
            return sizes
    return _reaching(function, packs, options, rng)


def _reaching(function: Function, packs: Sizes, options: Mapping[str, Any], rng: np.random.Generator) -> dict[str, int]:
    """Sizes that meet constraints such as n > 12, by steps that break no more of them; then smaller while they do."""
    dims = names(function)
    sizes = dict.fromkeys(dims, 1)
    limits = [int(abs(n.value)) for c in function.constraints for n in postorder(c) if isinstance(n, Const)]
    far = 4 + 2 * max(limits, default=0)
    broken = len(function.constraints) + 1
    for step in range(400 if dims else 0):
        moved = {**sizes, **{n: int(rng.integers(1, far)) for n in rng.permutation(dims)[: 1 + step % 2].tolist()}}
        wrong = met(function, {**packs, **moved}, options).count(False)
        wrong += not wrong and not fitting(function, {**packs, **moved}, options)
        if (wrong, sum(moved.values())) < (broken, sum(sizes.values())) or 0 < wrong <= broken:
            sizes, broken = moved, wrong
    return sizes


def leaving(function: Function, sizes: Sizes, options: Mapping[str, Any]) -> Iterator[Sizes]:
    """For each dim that is moved alone, the nearest smaller and larger sizes, and 1, at which the formula may read
    outside of a tensor, though they meet the constraints."""

    def leaves(moved: Sizes) -> bool:
        return all(met(function, moved, options)) and not inside(function, moved, options)

    for name, size in sizes.items():
        if not isinstance(size, tuple):
            nearest = [next((v for v in row if leaves({**sizes, name: v})), None) for row in _ways(size)]
            yield from ({**sizes, name: v} for v in dict.fromkeys(nearest) if v is not None)


def _ways(size: int) -> tuple[range, ...]:
    """From a size downwards, upwards, and from 1."""
    return range(size - 1, 0, -1), range(size + 1, 2 * size + 12), range(1, size)


def violations(function: Function, sizes: Sizes, options: Mapping[str, Any]) -> Iterator[Sizes]:
    """For each constraint, sizes of dims near `sizes` that break it and, if that is possible, no other one."""
    dims = {name: size for name, size in sizes.items() if not isinstance(size, tuple)}
    ways = (*range(1, 2 * max(dims.values(), default=0) + 12), 0)
    moves = sorted(((n, v) for v in ways for n in dims), key=lambda m: (m[1] == 0, abs(m[1] - dims[m[0]])))
    near: list[Sizes] = [{**sizes, name: value} for name, value in moves]
    held = [met(function, moved, options) for moved in near]
    for number in range(len(function.constraints)):
        broken = [(flags.count(False), k) for k, flags in enumerate(held) if not flags[number]]
        if broken:
            yield near[min(broken)[1]]


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
    yield from (w for w in wanted if defined(function, {**dict.fromkeys(function.packs, 2), **w}, options))


def defined(function: Function, sizes: Sizes, options: Mapping[str, Any]) -> bool:
    """Whether no maximum and no mean of nothing is asked for; a logsumexp of nothing is -oo."""
    empty = {name for name, size in sizes.items() if not count(size)}
    for equation in function.statements:
        if all(extent_of(e, sizes, options) for _, e in equation.reduced):
            continue
        # a mean over nothing is 0 by the equation, and 0/0 in NumPy and wherever the division stands outside of the sum
        nodes = list(postorder(equation.body))
        averaged = any(isinstance(n, Ref) and n.name in empty for n in nodes) or any(
            not all(extent_of(extent, sizes, options) for extent in factors(n.args[1])[0])
            for n in nodes
            if isinstance(n, Apply) and n.op == "div" and function.facts.integer(n.args[1]) and not indices(n.args[1])
        )
        if averaged or equation.reduce not in ("none", "sum", "prod", "logsumexp"):
            return False
    return True
