"""Functions of whole matrices in the oracle: their values, and the way back by differences of these values.

It knows no rule of differentiation: each element of an operand is moved by +h and -h, in a precision in which nothing
is lost by that.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import mpmath
import numpy as np
from mpmath import mp

from ..evaluate import Position, place
from ..ops.matrices import Matrix
from .groups import Block, Fibre, Group, Visit
from .rounding import REACH
from .text import Array

STEP = 120  # h is at most 2**-STEP of the smallest element that is not 0


def blocks(group: Group, extent: Callable[[Any], int], evaluate: Callable[..., Any]) -> Iterator[Fibre]:
    """The results of a function of matrices, one fibre each; those of one call share a block.

    extent    the number that an extent is
    evaluate  the value of a subscript where the indices have values
    """
    (e,) = group.equations
    row = e.matrix
    assert row is not None
    result, reduced = [i for i, _ in e.result], [i for i, _ in e.reduced]
    ranges = {i: range(extent(n)) for i, n in e.box}
    batch = [i for i, _ in e.shown if i not in result]
    for point in itertools.product(*(ranges[i] for i in batch)):
        at = {i.name: p for i, p in zip(batch, point, strict=True)}
        visits: dict[Position, Visit] = {}
        operands = [np.empty([len(ranges[reduced[k]]) for k in axes], dtype=object) for axes in row.operands]
        for axes, operand in zip(row.operands, operands, strict=True):
            for where in np.ndindex(operand.shape):
                places = dict(zip(axes, where, strict=True))
                key = tuple(places.get(axis, 0) for axis in range(len(reduced)))
                if key not in visits:
                    visits[key] = Visit(group, at | {i.name: p for i, p in zip(reduced, key, strict=True)})
                operand[where] = visits[key]
        block = Block(row, tuple(operands), group.operand_slots)
        members = [(v, group.roots[0]) for v in visits.values()]
        for where in itertools.product(*(ranges[i] for i in result)):
            here = at | {i.name: p for i, p in zip(result, where, strict=True)}
            position = place([evaluate(s, here) for s in e.subscripts])
            yield Fibre(group, e.target, position, e.reduce, members, block=block, place=where)


def value_of(fibre: Fibre) -> Any:
    """The result that a fibre stands for; NaN where the function has none."""
    block = fibre.block
    assert block is not None
    if block.value is None:
        block.value = _value(block.row, _numbers(block))
    return block.value[fibre.place]


def tied(fibre: Fibre) -> bool:
    """Whether two elements that are put in order are equal: the order is declared, and differences do not see it."""
    if fibre.reduce != "argsort" or fibre.block is None:
        return False
    (values,) = _numbers(fibre.block)
    return len(set(values.tolist())) < len(values)


def back(fibres: Sequence[Fibre], seeds: Sequence[Any]) -> Iterator[tuple[Visit, int, Any]]:
    """What the cotangents of results add to those of the operands: (visit, slot, amount)."""
    by_block: dict[Block, list[tuple[Position, Any]]] = {}
    for fibre, seed in zip(fibres, seeds, strict=True):
        if seed is not None and fibre.block is not None:
            by_block.setdefault(fibre.block, []).append((fibre.place, seed))
    for block, wanted in by_block.items():
        if block.row.integer:
            continue
        operands = _numbers(block)
        for which, (visits, slot) in enumerate(zip(block.operands, block.slots, strict=True)):
            for where, visit in np.ndenumerate(visits):
                yield visit, slot, _slope(block.row, operands, which, where, wanted)


def _slope(row: Matrix, operands: list[Array], which: int, where: Position, wanted: list[tuple[Position, Any]]) -> Any:
    """The derivative of what is `wanted` in one element: a central difference, or of one side where the value jumps.

    It jumps where a sign is chosen by an element that is 0, as that of a column of q is; the declared value is the
    limit of one side, and so is the derivative.
    """
    sizes = [int(mp.mag(x)) for x in operands[which].ravel() if x and mp.isfinite(x)] or [1]
    sizes = [s for s in sizes if s > max(sizes) - REACH]  # beside the largest, exp(-1e30) is 0
    bits = max(STEP, mp.prec // 4)
    with mp.extraprec(bits + 20 + max(sizes) - min(sizes)):
        step = mp.ldexp(mp.mpf(1), min(sizes) - bits)

        def at(move: Any) -> list[Any]:
            moved = [o.copy() for o in operands]
            moved[which][where] += move
            value = _value(row, moved)
            return [value[place] for place, _ in wanted]

        def differs(one: list[Any], other: list[Any]) -> bool:
            slack = mp.ldexp(max(map(abs, (*one, *other))), -bits // 2)
            return not all(abs(a - b) <= slack for a, b in zip(one, other, strict=True))

        up, down = at(step), at(-step)
        changes = [a - b for a, b in zip(up, down, strict=True)]
        if differs(up, down):
            here = at(0)
            side = 1 if not differs(up, here) else -1 if not differs(down, here) else 0
            if side:
                near, far = (up if side > 0 else down), at(2 * side * step)
                changes = [side * (4 * b - 3 * a - c) for a, b, c in zip(here, near, far, strict=True)]
        slope = sum((seed * c for (_, seed), c in zip(wanted, changes, strict=True)), mpmath.mpf(0)) / (2 * step)
    return +slope


def _numbers(block: Block) -> list[Array]:
    found = []
    for visits, slot in zip(block.operands, block.slots, strict=True):
        numbers = np.empty(visits.shape, dtype=object)
        numbers.ravel()[:] = [mpmath.mpf(visit.values[slot]) for visit in visits.ravel()]
        found.append(numbers)
    return found


def _value(row: Matrix, operands: list[Array]) -> Any:
    """The results by their places; NaN where the function has none."""
    try:
        return np.array(row.value(*(o.tolist() for o in operands)), dtype=object)
    except (ValueError, ZeroDivisionError, OverflowError):
        return defaultdict(lambda: mp.nan)
