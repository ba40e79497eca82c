"""The sum of linear combinations as the combination of sums, where a gradient may be asked for that needs no other one.

    grad_x[r,i] = g[r,i]*s[i] + sum[j](g[r,j]*w[j,i])      sum_g[i] = sum[r](g[r,i])
    grad_mean[i] = sum[r](-grad_x[r,i])                    grad_mean[i] = -sum_g[i]*s[i] - sum[j](sum_g[j]*w[j,i])

Whoever asks for grad_mean alone, as of a mean that is learned from points that are not, has no loop over r, i and j
then. Whoever asks for both adds up g in place of grad_x, and multiplies by w once more, for one r.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence, Set

from ..domain import Domain
from ..expr import (
    ZERO,
    Expr,
    Index,
    Ref,
    fraction,
    index,
    indices,
    operator,
    ref,
    select,
    signed_factors,
    substitute,
    terms_of,
)
from ..expr.names import Names, fresh_letters, is_pack
from ..expr.sizes import equal
from ..ir import Box, Equation, Function, Tensor, When, below, distinct, names_of, reached, reads_inside
from ..records import dataclass, replace
from .write import own_name


@dataclass(frozen=True, slots=True)
class _Term:
    """What is added up: the factors `summed` have the indices of the sum, those above and below the line have not.

    box, asked  what the others are summed over, beside that, and where alone they are not 0
    """

    summed: Expr
    above: Sequence[Expr]
    below: Sequence[Expr]
    sign: int
    box: Box = ()
    asked: Expr | None = None


def combined_after(function: Function, gradients: Collection[str], forward: Collection[str]) -> Function:
    """The function with such sums first; each of the gradients may be asked for alone. What `forward` computes, it
    computes as it is written."""
    own = (e for e in function.statements if e.target not in forward)
    found = {e.target: _Sum(e, function) for e in own if _is_sum(e, function)}
    found = {name: some for name, some in found.items() if some.terms}
    if not found:
        return function
    reads = below(function.statements)
    needed = [reached(reads, [g]) for g in gradients]
    names, tensors, statements = Names(names_of(function)), list(function.tensors), list[Equation]()
    freed: list[str] = []
    for e in function.statements:
        some = found.get(e.target)
        if some and _is_spared(e.target, {name for name in reads if some.name in reads[name]} - {e.target}, needed):
            first = some.written(names)
            tensors += [Tensor(own.target, tuple(n for _, n in own.shown)) for own in first[:-1]]
            statements += first
            freed.append(some.name)
        else:
            statements.append(e)
    for name in freed:
        statements = _as_its_copy(name, statements)
    return replace(function, tensors=tuple(tensors), statements=tuple(statements))


def _as_its_copy(name: str, statements: list[Equation]) -> list[Equation]:
    """The equations, where what nothing reads but its copy is computed as that one."""
    own = [e for e in statements if e.target == name]
    readers = [e for e in statements if any(r.name == name for r in e.reads)]
    if len(own) != 1 or len(readers) != 1:
        return statements
    (e,), (copy,) = own, readers
    body, at = copy.body, copy.subscripts
    alone = sum(s.target == copy.target for s in statements) == 1 and copy.plain and copy.where is e.where is None
    if not (alone and isinstance(body, Ref) and body.subscripts == at and copy.when == e.when and distinct(at)):
        return statements
    moved = replace(e, target=copy.target)
    return [moved if s is copy else s for s in statements if s is not e]


def _is_spared(target: str, others: Set[str], needed: Collection[Set[str]]) -> bool:
    """Whether a gradient needs the target, and none of the others that read what it sums; one gradient alone needs
    these: of several, some are asked for in any case."""
    apart = [others.isdisjoint(some) for some in needed]
    return apart.count(False) <= 1 and any(target in some for some, away in zip(needed, apart, strict=True) if away)


def _is_sum(e: Equation, function: Function) -> bool:
    plain = e.reduce == "sum" and e.plain and e.where is None and bool(e.reduced)
    return plain and len(function.writers[e.target]) == 1


class _Sum:
    """A sum over what another equation computes.

    name   of that
    terms  what it adds up: each has the same elements `summed`, but for the names of indices; none if they have not
    """

    def __init__(self, e: Equation, function: Function) -> None:
        self._e, self._function = e, function
        self._moved, self._extents = {i for i, _ in e.reduced}, dict(e.box)
        self._letters = fresh_letters({i.name for s in function.statements for i, _ in s.box} | names_of(function))
        whole = self._factored(e.body)
        self.name = whole.summed.name if whole and isinstance(whole.summed, Ref) else ""
        terms = self._opened(whole, ("none", "sum")) if whole else []
        opened = [[] if t.box else self._opened(t, ("sum",)) for t in terms]
        terms = [inner for t, parts in zip(terms, opened, strict=True) for inner in parts or [t]]
        self.terms = terms if self._alike(terms) else []

    def _factored(self, body: Expr) -> _Term | None:
        """A product as a term, or one that is 0 but where something holds; None if that, or what stands below the line,
        has an index of the sum."""
        asked: Expr | None = None
        if operator(body) == "select" and body.args[2] is ZERO:
            asked, body, _ = body.args
        above, under, sign = signed_factors(body)
        inside = [f for f in above if not self._moved.isdisjoint(f.indices)]
        others = indices(*under, *([] if asked is None else [asked]))
        if not self._moved <= {*indices(*inside)} or not self._moved.isdisjoint(others):
            return None
        return _Term(fraction(inside, ()), [f for f in above if f not in inside], under, sign, (), asked)

    def _opened(self, term: _Term, kinds: Collection[str]) -> list[_Term]:
        """The terms of what a term sums, if that is one element of what an equation of one of the `kinds` computes."""
        element, function = term.summed, self._function
        own = function.writers.get(element.name, ()) if isinstance(element, Ref) else ()
        if not isinstance(element, Ref) or len(own) != 1 or element.name in function.outputs or term.asked is not None:
            return []
        (e,), at, shape = own, element.subscripts, function.table[element.name].shape
        each = all(isinstance(s, Index) and equal(self._extents[s], n) for s, n in zip(at, shape, strict=True))
        if not each or len({*at}) < len(at) or e.reduce not in kinds or not e.fills(function.table[e.target]):
            return []
        if e.when != self._e.when or e.where is not None or e.guarded or e.target in {r.name for r in e.reads}:
            return []
        if any(is_pack(i) and i in self._extents for i, _ in e.reduced):
            return []  # axes of unknown number have no other letter
        new = {i: index(next(self._letters)) if i in self._extents else i for i, _ in e.reduced}
        put = dict[Expr, Expr](zip((*e.subscripts, *new), (*at, *new.values()), strict=True))
        box = tuple((new[i], n) for i, n in e.reduced)
        self._extents |= dict(box)
        found = []
        for body, sign in terms_of(substitute(e.body, put)):
            p = self._factored(body)
            if p is None or p.asked is not None and not box:
                return []
            above, under = [*term.above, *p.above], [*term.below, *p.below]
            found.append(_Term(p.summed, above, under, term.sign * sign * p.sign, box, p.asked))
        return found

    def _alike(self, terms: Sequence[_Term]) -> bool:
        """Whether there is one sum for all of them, and less to do behind it."""
        if len(terms) < 2 and not any(t.box for t in terms):
            return False
        first = terms[0].summed
        there = Domain.of(self._box(first), None, self._function.facts)
        return reads_inside([first], there, self._function.table) and all(self._renaming(first, t) for t in terms)

    def _box(self, body: Expr) -> Box:
        """The indices of what is summed, those of the sum last."""
        return tuple((i, self._extents[i]) for i in sorted(body.indices, key=lambda i: i in self._moved))

    def _renaming(self, first: Expr, term: _Term) -> dict[Expr, Expr]:
        """The index of what is summed -> that of a term, which is the same with these; none if it is not."""
        pairs = list(zip(first.indices, term.summed.indices, strict=False))
        found = dict[Expr, Expr](pairs)
        same = all(equal(self._extents[i], self._extents[j]) and (i in self._moved) <= (i is j) for i, j in pairs)
        return found if same and substitute(first, found) is term.summed else {}

    def written(self, names: Names) -> list[Equation]:
        """The equations in order: the sum, those of terms that are sums over it, and that of the combination."""
        e, first = self._e, self.terms[0].summed
        box = self._box(first)
        found = [_sum(first, box, {i for i, _ in box} - self._moved, e.when, names)]
        total, whole = ref(found[0].target, *found[0].subscripts), ZERO
        for t in self.terms:
            body = self._of_total(substitute(total, self._renaming(first, t)), t)
            if len(self.terms) == 1:
                return [*found, replace(e, body=body, box=(*e.shown, *t.box))]
            if t.box:
                shown = tuple(pair for pair in e.shown if pair[0] in body.indices)
                found.append(_sum(body, (*shown, *t.box), {i for i, _ in shown}, e.when, names))
                body = ref(found[-1].target, *found[-1].subscripts)
            whole = whole + body
        return [*found, replace(e, reduce="none", body=whole, box=e.shown)]

    def _of_total(self, total: Expr, term: _Term) -> Expr:
        """A term of what is summed already."""
        body = fraction([total, *term.above], term.below)
        body = -body if term.sign < 0 else body
        return body if term.asked is None else select(term.asked, body, ZERO)


def _sum(body: Expr, box: Box, shown: Collection[Index], when: When, names: Names) -> Equation:
    """A sum of its own over the indices that are not shown."""
    at = tuple(i for i, _ in box if i in shown)
    return Equation(names.new(own_name("sum", body) or "row_sum"), at, "sum", body, box, None, when)
