"""Functions of whole matrices in the oracle: their values, and the way back by differences of these values.

It knows no rule of differentiation: each element of an operand is moved by +h and -h, in a precision in which nothing
is lost by that.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import mpmath
from mpmath import mp

from ..ir import nested
from ..ops.matrices import Matrix
from .groups import Block, Fibre, Group, Position, Visit, place

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
        operands = []
        for axes in row.operands:

            def visit(where: Position, axes: Sequence[int] = axes) -> Visit:
                places = dict(zip(axes, where, strict=True))
                key = tuple(places.get(axis, 0) for axis in range(len(reduced)))
                if key not in visits:  # noqa: B023  # called at once
                    mine = {i.name: p for i, p in zip(reduced, key, strict=True)}
                    visits[key] = Visit(group, {**at, **mine})  # noqa: B023  # as above
                return visits[key]  # noqa: B023  # as above

            operands.append(nested([ranges[reduced[k]] for k in axes], visit))
        block = Block(group, tuple(operands), group.operand_slots)
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
        block.value = (_value(_row(block), _numbers(block)),)
    return _at(block.value[0], fibre.place)


def tied(fibre: Fibre) -> bool:
    """Whether two elements that are put in order are equal: the order is declared, and differences do not see it."""
    if fibre.reduce != "argsort" or fibre.block is None:
        return False
    (values,) = _numbers(fibre.block)
    return len(set(values)) < len(values)


def back(fibres: Sequence[Fibre], seeds: Sequence[Any]) -> Iterator[tuple[Visit, int, Any]]:
    """What the cotangents of results add to those of the operands: (visit, slot, amount)."""
    by_block: dict[Block, list[tuple[Position, Any]]] = {}
    for fibre, seed in zip(fibres, seeds, strict=True):
        if seed is not None and fibre.block is not None:
            by_block.setdefault(fibre.block, []).append((fibre.place, seed))
    for block, wanted in by_block.items():
        row = _row(block)
        if row.integer:
            continue
        operands = _numbers(block)
        for which, (visits, slot) in enumerate(zip(block.operands, block.slots, strict=True)):
            for where, visit in _leaves(visits):
                yield visit, slot, _slope(row, operands, which, where, wanted)


def _slope(row: Matrix, operands: list[Any], which: int, where: Position, wanted: list[tuple[Position, Any]]) -> Any:
    """The derivative of what is `wanted` in one element: a central difference, or of one side where the value jumps.

    It jumps where a sign is chosen by an element that is 0, as that of a column of q is; the declared value is the
    limit of one side, and so is the derivative.
    """
    sizes = [int(mp.mag(x)) for _, x in _leaves(operands[which]) if x and mp.isfinite(x)] or [1]
    bits = max(STEP, mp.prec // 4)
    with mp.extraprec(bits + 20 + max(sizes) - min(sizes)):
        step = mp.ldexp(mp.mpf(1), min(sizes) - bits)

        def at(move: Any) -> list[Any]:
            value = _value(row, [_moved(o, where, move) if k == which else o for k, o in enumerate(operands)])
            return [_at(value, place) for place, _ in wanted]

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


def _row(block: Block) -> Matrix:
    row = block.group.equations[0].matrix
    assert row is not None
    return row


def _numbers(block: Block) -> list[Any]:
    return [_read(visits, slot) for visits, slot in zip(block.operands, block.slots, strict=True)]


def _read(visits: Any, slot: int) -> Any:
    if isinstance(visits, list):
        return [_read(v, slot) for v in visits]
    value = visits.values[slot]
    return mpmath.mpf(value) if isinstance(value, int) else value


def _value(row: Matrix, operands: list[Any]) -> Any:
    try:
        return row.value(*operands)
    except (ValueError, ZeroDivisionError, OverflowError):
        return None


def _at(value: Any, where: Position) -> Any:
    if value is None:
        return mp.nan
    for p in where:
        value = value[p]
    return value


def _leaves(nest: Any, at: Position = ()) -> Iterator[tuple[Position, Any]]:
    if not isinstance(nest, list):
        yield at, nest
        return
    for p, inner in enumerate(nest):
        yield from _leaves(inner, (*at, p))


def _moved(nest: Any, where: Position, by: Any) -> Any:
    if not where:
        return nest + by
    return [_moved(inner, where[1:], by) if p == where[0] else inner for p, inner in enumerate(nest)]
