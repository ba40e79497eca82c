"""A sum leaves out the terms that are 0, and what is 0 for those who read it is not computed.

`T[i,j] = where(j <= i, a[i,j], 0)/s` is 0 for j > i, and so is each term of `sum[j](T[i,j]*k[j,p])`: the sum takes the
condition. Where all who read T have it, T is computed there alone, and has no value elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace

from ..domain import Facts, Opaque, alternatives
from ..expr import ZERO, Apply, Expr, Ref, conjunction, conjuncts, factors, indices, refs, substitute
from ..ir import NEUTRAL, Equation, Tensor, reads_of
from .program import Item, Step


@dataclass(frozen=True, slots=True)
class _Zero:
    """A tensor that is 0 where a condition on the indices of its equation does not hold; without it, `body`."""

    equation: Equation
    condition: Expr
    body: Expr

    def at(self, element: Ref) -> Expr:
        """The condition at an element of the tensor."""
        return substitute(self.condition, dict(zip(self.equation.subscripts, element.subscripts, strict=True)))


def narrowed(
    steps: Sequence[Item], temporaries: Set[str], optional: Set[str], table: Mapping[str, Tensor], facts: Facts
) -> list[Item]:
    """The steps of a procedure, whose `temporaries` nobody else reads, with reductions over terms that count.

    optional  results that may have no memory: who reads one does so in the loop that computes it, all of it
    """

    def narrow(e: Equation) -> Equation:
        return e if any(r.name in optional for r in e.reads) else limited(e, facts, zeros)

    zeros: dict[str, _Zero] = {}
    for step in steps:
        if isinstance(step, Step) and step.target in temporaries and len(step.equations) == 1 and step.how == "fill":
            (e,) = step.equations
            found = _zero(e, zeros, facts) if e.fills(table[e.target]) and not (e.when or step.when) else None
            if found is not None:
                zeros[step.target] = found
    done: list[Item] = []
    readers: dict[str, list[Equation]] = {}
    for step in reversed([step.mapped(narrow, lambda size: size) for step in steps]):
        mine = readers.get(step.targets[0], [])
        if isinstance(step, Step) and step.target in temporaries and any(e.conditions for e in mine):
            step = _on_demand(step, zeros.get(step.target), mine, table, facts)
        done.append(step)
        for e in step.equations:
            for name in dict.fromkeys(r.name for r in e.reads):
                readers.setdefault(name, []).append(e)
    return done[::-1]


def _on_demand(
    step: Step, zero: _Zero | None, readers: Sequence[Equation], table: Mapping[str, Tensor], facts: Facts
) -> Step:
    """The step with the conditions under which alone it is read: nobody asks for its other elements."""
    e, *others = step.equations
    if others or step.how != "fill" or step.when or e.when or e.matrix is not None or not e.fills(table[step.target]):
        return step
    seen = [(other, r, d) for other in readers for r, d in reads_of(other, facts) if r.name == step.target]
    asked = [] if zero is None else conjuncts(zero.condition)
    for other, r, _ in seen:
        back = dict(zip(r.subscripts, e.subscripts, strict=True))
        told = (c for c in other.conditions if {*indices(c)} <= back.keys() and _is_affine(c, facts))
        asked += [substitute(c, back) for c in told]

    def always(c: Expr) -> bool:
        return all(d.holds(substitute(c, dict(zip(e.subscripts, r.subscripts, strict=True)))) for _, r, d in seen)

    known = [c for c in dict.fromkeys(asked) if always(c)]
    if not known:
        return step
    if zero is not None and all(c in known for c in conjuncts(zero.condition)):
        e = replace(e, body=zero.body, where=None)
    return replace(step, equations=(replace(e, where=conjunction([*e.conditions, *known])),), how="write", begins=True)


def limited(e: Equation, facts: Facts, zeros: Mapping[str, _Zero]) -> Equation:
    """A reduction without the terms that are neutral to it: what is added up is `where(i >= 1, x[i-1], 0) * w[i]` at
    i >= 1 alone."""
    neutral = NEUTRAL.get(e.reduce)
    if neutral is None or not e.reduced:
        return e
    conditions, body = counting(e.body, neutral, zeros, facts)
    domain = e.domain(facts)
    missing = [c for c in conditions if not domain.holds(c)]
    where = conjunction([*e.conditions, *missing]) if missing else e.where
    return replace(e, where=where, body=body)


def _zero(e: Equation, zeros: Mapping[str, _Zero], facts: Facts) -> _Zero | None:
    """Where an element is 0, if it is known of some."""
    if e.reduce != "none" or e.matrix is not None or any(not _is_affine(c, facts) for c in e.conditions):
        return None
    conditions, body = counting(e.body, ZERO, zeros, facts)
    conditions = [*e.conditions, *conditions]
    return _Zero(e, conjunction(conditions), body) if conditions else None


def counting(
    body: Expr, neutral: Expr, zeros: Mapping[str, _Zero], facts: Facts
) -> tuple[list[Expr], Expr]:
    """The conditions on places where `body` is not neutral, and what it is there."""
    conditions: list[Expr] = []
    parts = [body]
    if neutral is ZERO:
        parts, _ = factors(body.args[0] if isinstance(body, Apply) and body.op == "neg" else body)
    for part in parts:
        if isinstance(part, Ref) and part.name in zeros:
            conditions.append(zeros[part.name].at(part))
        if not (isinstance(part, Apply) and part.op == "select"):
            continue
        condition, then, otherwise = part.args
        holds = otherwise.key is neutral.key
        if (holds or then.key is neutral.key) and _is_affine(condition, facts, holds):
            (atoms,) = alternatives(condition, facts, holds)
            said = [condition] if holds else [a.condition for a in atoms]
            rest, body = counting(substitute(body, {part: then if holds else otherwise}), neutral, zeros, facts)
            return [*conditions, *said, *rest], body
    return conditions, body


def _is_affine(condition: Expr, facts: Facts, holds: bool = True) -> bool:
    """Whether it is one condition on places, which are no data."""
    ways = alternatives(condition, facts, holds)
    plain = not any(r.subscripts for r in refs(condition))
    return plain and len(ways) == 1 and not any(isinstance(a, Opaque) for a in ways[0])
