"""Terms of a Jacobian row by row: by the indices of the output, and those of a row in the order of their columns.

    y[i,j] = u[i - 1,j] + u[i,j]**2 + u[i,j + 1]      row (i, j) has u[i - 1,j], if i > 0, then u[i,j], then u[i,j + 1]

Where subscripts tell that order, an entry stands behind as many as there are before it in its row, and nothing is
sorted or searched for.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cmp_to_key

from ..domain import Domain, Facts
from ..expr import Expr, Index, Ref, apply, conjunction, index, indices, ref, substitution, transformer
from ..expr.polynomials import polynomial
from ..expr.sizes import equal, tidy
from ..ir import Box
from ..records import replace
from .terms import Term


def by_rows(term: Term, axes: Box, facts: Facts) -> Term | None:
    """The term with the `axes` of the output first in its box, each of which is a subscript; None if it has no such."""
    extents, solved = dict(term.box), dict[Index, Expr]()
    asked: list[Expr] = []
    for s, (a, _) in zip(term.above, axes, strict=True):
        own = [i for i in indices(s) if i in extents]
        form = polynomial(s)
        if not own:
            asked.append(apply("eq", a, s))
            continue
        if form is None or len(own) > 1 or own[0] in solved:
            return None
        step, rest = form.split(own[0])
        if step.number != 1 or any(own[0] in indices(x) for x in rest.symbols):
            return None
        solved[own[0]] = place = tidy(a - rest.expression())
        asked += [apply("ge", place, 0), apply("lt", place, extents[own[0]])]
    free = tuple(pair for pair in term.box if pair[0] not in solved)
    if term.when or {i for i, _ in free} & {a for a, _ in axes}:
        return None
    box = (*axes, *free)
    put = substitution(dict[Expr, Expr](solved.items()))
    tidied = transformer(lambda n: ref(n.name, *map(tidy, n.subscripts)) if isinstance(n, Ref) and n.subscripts else n)
    found = term.mapped(lambda e: tidied(put(e)), box)
    domain, kept = Domain.of(box, None, facts), list[Expr]()
    for c in (*asked, *found.conditions):
        if not domain.holds(c):
            kept.append(c)
            domain = domain.under(c)
    below = tuple(map(tidy, found.below))
    return replace(found, above=tuple(a for a, _ in axes), below=below, where=conjunction(kept) if kept else None)


def in_order(terms: Sequence[tuple[int, Term]], axes: Box, facts: Facts) -> list[tuple[int, Term]] | None:
    """Terms by rows, each of an input with a number, so that the columns of each row ascend; their further indices
    likewise. None where nothing tells that they do; those that stand at one place in each row follow each other."""


    def compared(a: tuple[int, Term], b: tuple[int, Term]) -> int:
        return _compared(a, b, len(axes), facts)

    rising = [(n, found) for n, term in terms if (found := _rising(term, len(axes))) is not None]
    if len(rising) < len(terms):
        return None
    ordered = sorted(rising, key=cmp_to_key(compared))
    pairs = ((a, b) for k, a in enumerate(ordered) for b in ordered[k + 1 :])
    return ordered if all(compared(a, b) == -1 or at_one_place(a, b, len(axes)) for a, b in pairs) else None


def _rising(term: Term, axes: int) -> Term | None:
    """The term with its further indices in the order in which columns ascend with them, the last one fastest."""
    free = dict(term.box[axes:])
    if any(i in free for c in term.conditions for i in indices(c)):
        return None  # how many there are before one is then no product
    order: list[Index] = []
    for s in term.below:
        new = [i for i in indices(s) if i in free and i not in order]
        form = polynomial(s)
        if not new:
            continue
        if form is None or len(new) > 1:
            return None
        step = form.split(new[0])[0].number
        if step is None or step <= 0 or any(new[0] in indices(a) for a in form.symbols - {new[0]}):
            return None
        order += new
    return None if len(order) < len(free) else replace(term, box=(*term.box[:axes], *((i, free[i]) for i in order)))


def at_one_place(a: tuple[int, Term], b: tuple[int, Term], axes: int) -> bool:
    """Whether both have one entry in a row, and that is the same."""
    (m, one), (n, other) = a, b
    single = m == n and len(one.box) == axes == len(other.box)
    return single and all(map(equal, one.below, other.below))


def _compared(a: tuple[int, Term], b: tuple[int, Term], axes: int, facts: Facts) -> int:
    """-1 if the columns of one stand before those of the other in each row, or no row has both; 1 if behind; 0 if
    neither is certain."""
    (m, one), (n, other) = a, b
    if m != n:
        return -1 if m < n else 1
    other = other.at({i: index(f"{i.name}'") for i, _ in other.box[axes:]})
    domain = Domain.of((*one.box, *other.box[axes:]), conjunction([*one.conditions, *other.conditions]), facts)
    for s, t in zip(one.below, other.below, strict=True):
        if not equal(s, t):
            return -1 if domain.holds(apply("lt", s, t)) else 1 if domain.holds(apply("gt", s, t)) else 0
    return 0
