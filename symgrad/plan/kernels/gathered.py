"""What several equations write at places that are moved along, said at each place: a program writes its own, and no two
add to one.

    grad_x[t] = a[t]; grad_x[t + 1] += b[t]     becomes     grad_x[t] = a[t] + where(t >= 1, b[t - 1], 0)
    out[i] = x[i]; out[j + n] = y[j]            becomes     out[i] = where(i < n, x[i], 0) + where(i >= n, y[i - n], 0)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...domain import Domain, Facts
from ...expr import Expr, Index, apply, conjunction, index, indices, signed_total, substitute, terms_of
from ...expr.traversal import transformer
from ...ir import Equation
from ...records import replace
from .subscripts import at_least_0, short, shortened


def gathered(
    equations: Sequence[Equation], shape: Sequence[Expr], letters: Iterator[str], facts: Facts
) -> tuple[Equation, ...] | None:
    """The equations of one tensor at the same subscripts, each under the condition that it has a point there; None if a
    place does not tell the point."""
    at: list[Index] = []
    for axis, extent in enumerate(shape):
        whole = [i for e in equations for i, n in e.shown if e.subscripts[axis] is i and n is extent and i not in at]
        at.append(whole[0] if whole else index(next(letters)))
    found = []
    for e in equations:
        others = {i: index(next(letters)) for i, _ in e.reduced if i in at}
        moved = _at_place(e, at, shape, others, facts)
        if moved is None:
            return None
        found.append(moved)
    return tuple(found)


def _at_place(
    e: Equation, at: Sequence[Index], shape: Sequence[Expr], others: dict[Index, Index], facts: Facts
) -> Equation | None:
    """An equation by where it writes; `others` has names for what it is summed over."""
    told: dict[Expr, Expr] = {}  # its indices, by the place
    asked: list[Expr] = []
    extents = dict(e.box)
    for i, n, s in zip(at, shape, e.subscripts, strict=True):
        known = [{*indices(term)} <= told.keys() for term, _ in terms_of(s)]
        new = [pair for pair, there in zip(terms_of(s), known, strict=True) if not there]
        rest = [(substitute(t, told), sign) for (t, sign), there in zip(terms_of(s), known, strict=True) if there]
        if not new:
            asked.append(apply("eq", i, substitute(s, told)))
            continue
        k, sign = new[0]
        if len(new) > 1 or not isinstance(k, Index):
            return None
        told[k] = short(signed_total([(i, 1), *((t, -own) for t, own in rest)] if sign > 0 else [*rest, (i, -1)]))
        if told[k] is not i or extents[k] is not n:
            asked += [at_least_0(told[k]), apply("lt", told[k], extents[k])]
    if {i for i, _ in e.shown} != told.keys():
        return None
    put = transformer(shortened, {**told, **others})
    box = (*zip(at, shape, strict=True), *((others.get(i, i), n) for i, n in e.reduced))
    domain = Domain.of(box, None, facts)
    where = dict.fromkeys(c for c in (*asked, *map(put, e.conditions)) if not domain.holds(c))
    return replace(
        e, subscripts=tuple(at), body=put(e.body), box=box, where=conjunction(where) if where else None
    )
