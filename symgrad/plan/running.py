"""Running sums: what is summed up to each place, or from each place on, in one pass.

    out[i] = sum[j](where(j <= i, x[j], 0))     running_x[i] = where(i > 0, running_x[i - 1], 0) + x[i]

Written out, each place begins anew: as many operations as a triangle has places, and in languages of arrays as many
numbers. Languages of arrays have a call for the recurrence, where it adds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..domain import Domain, Facts
from ..expr import (
    MIRRORED,
    ZERO,
    Apply,
    Expr,
    Index,
    apply,
    conjunction,
    conjuncts,
    fraction,
    indices,
    operators,
    ref,
    select,
    signed_factors,
    substitute,
)
from ..expr.names import Names
from ..expr.sizes import equal
from ..ir import Equation, Tensor, reads_inside
from ..ops import OPS
from ..records import dataclass, replace
from ..simplify.write import own_name


@dataclass(frozen=True, slots=True)
class _Way:
    """How a sum runs: over j, up to the place i, from it on if `back`; without the place itself if `beside`."""

    j: Index
    i: Index
    back: bool
    beside: bool


def with_running_sums(
    equations: Sequence[Equation], tensors: dict[str, Tensor], names: Names, facts: Facts
) -> list[Equation]:
    """The equations with sums up to an index, or from one on, as recurrences, where what is summed does not have it."""
    done = list[Equation]()
    writers = [e.target for e in equations]
    for e in equations:
        alone = writers.count(e.target) == 1
        while (parts := _running(e, tensors, names, facts)) is not None and (alone or parts[-1].reduce == "sum"):
            *first, e = parts
            done += first
            tensors |= {x.target: Tensor(x.target, tuple(extent for _, extent in x.shown)) for x in first}
        done.append(e)
    return done


def _running(
    e: Equation, tensors: Mapping[str, Tensor], names: Names, facts: Facts
) -> tuple[Equation, ...] | None:
    """The recurrence, after the sum that is its term if there is one, and what is left of the equation."""
    if e.reduce != "sum" or not e.plain or any(r.name == e.target for r in e.reads):
        return None
    above, below, sign = signed_factors(e.body)
    asked = [*e.conditions]
    while (k := next((k for k, f in enumerate(above) if _is_masked(f)), None)) is not None:
        condition, body, _ = above[k].args
        inner, under, other = signed_factors(body)
        above[k : k + 1], below, sign = inner, [*below, *under], sign * other
        asked += conjuncts(condition)
    ways = {condition: way for condition in asked if (way := _way(condition, e)) is not None}
    for condition, way in ways.items():
        others = [c for c in asked if c is not condition]
        mine = [x for x in (*above, *below, *others) if way.j in indices(x)]
        within = {x for m in mine for x in indices(m)}
        along = [c for c in others if {*indices(c)} <= within]
        apart = any({*indices(c)} & within and c not in along and c not in ways for c in others)
        there = Domain.of(e.box, conjunction(along) if along else None, facts)
        asks_all = not way.beside and all(c in along or c in ways and not ways[c].beside for c in others)
        real = not facts.integer(fraction([f for f in above if f in mine], [f for f in below if f in mine]))
        told = asks_all or _everywhere(mine, there, tensors)
        outside = [f for f in (*above, *below) if f not in mine]
        kept = not along or all(OPS[op].total for op in operators(*outside))  # 0 of nothing is 0 by it, too
        if mine and real and way.i not in within and not apart and told and kept:
            return _parts(e, way, (above, below, others), sign, within, names)
    return None


def _everywhere(parts: Sequence[Expr], there: Domain, tensors: Mapping[str, Tensor]) -> bool:
    """Whether all of it has a value at every place, be it asked for or not: a recurrence computes all."""
    return all(OPS[op].total for op in operators(*parts)) and reads_inside(parts, there, tensors)


def _is_masked(f: Expr) -> bool:
    return isinstance(f, Apply) and f.op == "select" and f.args[2] is ZERO


def _way(condition: Expr, e: Equation) -> _Way | None:
    """How a sum runs under a condition; None if it says no such thing."""
    if not (isinstance(condition, Apply) and condition.op in MIRRORED):
        return None
    left, right = condition.args
    op, bound, shown = condition.op, {i for i, _ in e.reduced}, {i for i, _ in e.shown}
    if left in shown and right in bound:
        left, right, op = right, left, MIRRORED[op]
    if not (isinstance(left, Index) and isinstance(right, Index) and left in bound and right in shown):
        return None
    extents = dict(e.box)
    return _Way(left, right, op in ("ge", "gt"), op in ("lt", "gt")) if equal(extents[left], extents[right]) else None


def _parts(
    e: Equation,
    way: _Way,
    read: tuple[list[Expr], list[Expr], list[Expr]],
    sign: int,
    within: set[Index],
    names: Names,
) -> tuple[Equation, ...]:
    j, i, extents = way.j, way.i, dict(e.box)
    above, below, others = read
    elsewhere = {x for f in (*above, *below, *others) if j not in indices(f) for x in indices(f)}
    inner = tuple(p for p in e.reduced if p[0] in within and p[0] is not j and p[0] not in elsewhere)
    gone = {j, *(x for x, _ in inner)}
    axes = tuple(p for p in e.box if p[0] is i or p[0] in within - gone)
    body = fraction([f for f in above if j in indices(f)], [f for f in below if j in indices(f)])
    along = [c for c in others if {*indices(c)} <= within]
    body = select(conjunction(along), body, ZERO) if along else body
    first: tuple[Equation, ...] = ()
    if inner or along:  # an equation of its own: conditions on the place would join that of the recurrence
        box = tuple((j, extents[j]) if x is i else (x, extent) for x, extent in axes)
        at, kind = tuple(x for x, _ in box), "sum" if inner else "none"
        name = names.new(own_name("sum" if inner else "term", body) or "term")
        first, body = (Equation(name, at, kind, body, (*box, *inner), None, e.when),), ref(name, *at)
    name, at = names.new(own_name("running", body) or "running"), tuple(x for x, _ in axes)
    there, next_to = (apply("lt", i, extents[i] - 1), i + 1) if way.back else (apply("gt", i, 0), i - 1)
    before = ref(name, *(next_to if x is i else x for x in at))
    running = Equation(name, at, "none", select(there, before, ZERO) + substitute(body, {j: i}), axes, None, e.when)
    whole = [before if way.beside else ref(name, *at), *(f for f in above if j not in indices(f))]
    rest = fraction(whole, [f for f in below if j not in indices(f)])
    rest = select(there, rest, ZERO) if way.beside else rest
    left = [c for c in others if j not in indices(c)]
    moved = [c for c in left if c not in e.conditions]  # it stands in the body, as it stood there
    rest = select(conjunction(moved), rest, ZERO) if moved else rest
    where = [c for c in left if c in e.conditions]
    box = tuple(p for p in e.box if p[0] not in gone)
    e = replace(
        e,
        reduce="sum" if len(box) > len(e.shown) else "none",
        body=-rest if sign < 0 else rest,
        box=box,
        where=conjunction(where) if where else None,
    )
    return (*first, running, e)
