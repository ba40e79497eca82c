"""Sums of products, summed first over what some of the factors alone have.

    out[i] = sum[j,k](a[i,j]*b[j,k]*c[k])      sum_b_c[j] = sum[k](b[j,k]*c[k])
                                               out[i] = sum[j](a[i,j]*sum_b_c[j])

The loops of the first one run over i, j and k; those of the others over two of them. So it is wherever the factors that
have an index miss another index of the equation. A language of arrays would find this out in `einsum`, at each call, or
not at all.
"""

from __future__ import annotations

from ..domain import Domain
from ..expr import Expr, Index, conjunction, fraction, indices, ref, signed_factors
from ..expr.names import Names
from ..ir import Equation, Function, Tensor, names_of, reads_inside
from ..ops.naming import product_phrase
from ..records import dataclass, replace
from .write import own_name


@dataclass(frozen=True, slots=True)
class _Split:
    """How a sum may be taken apart.

    moved   the indices that are summed over first
    within  all that stand there
    first   the factors that have the former, above and below the line
    """

    moved: frozenset[Index]
    within: frozenset[Index]
    first: tuple[tuple[Expr, ...], tuple[Expr, ...]]


def summed_first(function: Function) -> Function:
    """The function with such sums as equations of their own."""
    names, tensors = Names(names_of(function)), list(function.tensors)
    statements: list[Equation] = []
    for e in function.statements:
        alone = len(function.writers[e.target]) == 1
        waiting = [e]
        while waiting:
            e = waiting.pop()
            split = _split(e, function)
            if split is None or function.facts.integer(fraction(*split.first)):
                statements.append(e)
                continue
            first, rest = _parted(e, split, names)
            if rest.reduce == "none" and not alone:
                statements.append(e)
                continue
            tensors.append(Tensor(first.target, tuple(extent for _, extent in first.shown)))
            waiting += (rest, first)
    if len(tensors) == len(function.tensors):
        return function
    return replace(function, tensors=tuple(tensors), statements=tuple(statements))


def _split(e: Equation, function: Function) -> _Split | None:
    """The sum that comes first: the one over fewest indices. None if none does, or a condition has other indices; it
    may say where nothing is asked for."""
    if e.reduce != "sum" or not e.plain or not e.reduced or any(r.name == e.target for r in e.reads):
        return None
    sides = [[(f, frozenset(indices(f))) for f in side] for side in signed_factors(e.body)[:2]]
    box, found = {i for i, _ in e.box}, list[_Split]()
    for i, _ in e.reduced:
        asked = [frozenset(indices(c)) for c in e.conditions]
        within = frozenset[Index]().union(*(has for side in sides for _, has in side if i in has))
        within = within.union(*(has for has in asked if i in has))
        apart = {j for side in sides for _, has in side if i not in has for j in has} - within
        if not apart & box or not all(has <= within for has in asked):
            continue
        first = [tuple(f for f, has in side if i in has) for side in sides]
        there = Domain.of(tuple(pair for pair in e.box if pair[0] in within), e.where, function.facts)
        if not reads_inside((*first[0], *first[1]), there, function.table):
            continue  # where the others have no elements, it is not asked for
        elsewhere = {j for side in sides for f, has in side if i not in has for j in has}
        moved = frozenset(j for j, _ in e.reduced if j in within and j not in elsewhere)
        found.append(_Split(moved, within, (first[0], first[1])))
    return min(found, key=lambda s: len(s.within), default=None)


def _parted(e: Equation, split: _Split, names: Names) -> tuple[Equation, Equation]:
    """The sum that comes first, and what is left."""
    above, below, sign = signed_factors(e.body)
    body, box = fraction(*split.first), [pair for pair in e.box if pair[0] in split.within]
    shown = tuple(pair for pair in box if pair[0] not in split.moved)
    bound = tuple(pair for pair in box if pair[0] in split.moved)
    own = own_name("sum", body)
    name = names.new(own or "row_sum", f"sum_{product_phrase(body)}" if own else "")
    at = tuple(i for i, _ in shown)
    first = Equation(name, at, "sum", body, (*shown, *bound), e.where, e.when, e.guarded)
    place = next((k for k, f in enumerate(above) if f in split.first[0]), 0)  # where the first of them stood
    above.insert(place, ref(name, *at))
    others = [f for f in above if f not in split.first[0]], [f for f in below if f not in split.first[1]]
    left = [c for c in e.conditions if split.moved.isdisjoint(indices(c))]
    rest = tuple(pair for pair in e.box if pair[0] not in split.moved)
    reduce, body = "sum" if len(rest) > len(e.shown) else "none", fraction(*others)
    where = conjunction(left) if left else None
    return first, replace(e, reduce=reduce, body=-body if sign < 0 else body, box=rest, where=where)
