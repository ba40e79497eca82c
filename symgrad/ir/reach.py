"""Which elements an expression certainly reads, and so where it may be replaced by an element that holds its value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from ..domain import EQ, NOTHING, Affine, Domain, Facts, conjunction_of
from ..expr import Expr, Index, Ref, apply, index, indices, is_exact, product, refs, substitute, total
from ..expr.polynomials import symbol
from ..expr.sizes import equal
from ..records import replace
from .equations import Box, Equation, Tensor, distinct
from .reads import unconditional


def unconstrained_indices(body: Expr, box: Box, table: Mapping[str, Tensor]) -> Box:
    """The part of the box that `body` does not keep to by itself.

    An index that runs along a whole axis of what is read stays in its range, whatever it is replaced by: there is
    nothing to be read outside. `x[i + 1]` says nothing of the kind.
    """
    extents = dict(box)
    told = {
        s
        for r in (unconditional(body) if box else ())
        if isinstance(r, Ref) and r.name in table
        for s, axis in zip(r.subscripts, table[r.name].shape, strict=True)
        if isinstance(s, Index) and s in extents and equal(extents[s], axis)
    }
    return tuple((i, extent) for i, extent in box if i not in told)


def inside(found: Mapping[Expr, Expr], box: Box, extents: Mapping[Index, Expr]) -> bool:
    """Whether what the indices of `box` stand for are indices that run as far as they do."""
    for i, extent in box:
        other = found.get(i, i)
        if not isinstance(other, Index) or other not in extents or not equal(extents[other], extent):
            return False
    return True


def reads_inside(parts: Iterable[Expr], there: Domain, tensors: Mapping[str, Tensor]) -> bool:
    """Whether what is read at all points of a domain are elements of the tensors."""
    read = (zip(r.subscripts, tensors[r.name].shape, strict=True) for r in refs(*parts) if r.name in tensors)
    return all(there.inside(s, axis) for axes in read for s, axis in axes)


def range_of(node: Expr, extents: Mapping[Index, Expr]) -> tuple[Expr, tuple[Expr, ...]]:
    """What makes two parts of equations the same values: the expression, and how far its indices run."""
    key = node.key
    return key, tuple([extents[i].key for i in key.indices if i in extents]) if key.indices else ()


def writes_once(e: Equation, facts: Facts = NOTHING) -> bool:
    """True: no two points shown write one element. False: not proved by the facts of its function."""
    return e.plain or _writes_once(e, facts)


@lru_cache(maxsize=2**8)
def _writes_once(e: Equation, facts: Facts) -> bool:
    other: dict[Expr, Expr] = {i: index(f"{i.name}'") for i, _ in e.box}
    pairs, left = _on_one_element(e, e, other, facts), [i for i, _ in e.shown]
    while left:  # an index that is the same in both may tell that another is: h of h*e + i, and then i
        told = [i for i in left if pairs.entails(Affine(symbol(i) - symbol(other[i])))]
        if not told:
            return False
        pairs = pairs.meet(*(Affine(symbol(other[i]) - symbol(i), EQ) for i in told))
        left = [i for i in left if i not in told]
    return True


def disjoint_writes(e: Equation, others: Iterable[Equation], facts: Facts = NOTHING) -> bool:
    """True: none of the other equations writes an element that `e` writes. False: not proved."""
    literal = [(axis, s) for axis, s in enumerate(e.subscripts) if is_exact(s)]

    def near(other: Equation) -> bool:
        return all(other.subscripts[a] is s or not is_exact(other.subscripts[a]) for a, s in literal)

    return all(_on_one_element(e, other, _renamed(e, other), facts).empty() for other in others if near(other))


def _renamed(e: Equation, other: Equation) -> dict[Expr, Expr]:
    """The indices of another equation in the words of `e`, where both write one element; the rest are new."""
    found: dict[Expr, Expr] = {i: index(f"{i.name}'") for i, _ in other.box}
    return found | {t: s for s, t in zip(e.subscripts, other.subscripts, strict=True) if t in found}


def _on_one_element(e: Equation, other: Equation, names: Mapping[Expr, Expr], facts: Facts) -> Domain:
    """The pairs of points of which both equations write one element; the indices of the other are renamed."""
    here, there = e.domain(facts), other.domain(facts)
    places = [(s, substitute(t, names)) for s, t in zip(e.subscripts, other.subscripts, strict=True)]
    integers = {r.name for r in refs(*e.subscripts, *other.subscripts)}
    facts = replace(here.facts, integers=here.facts.integers | there.facts.integers | integers)
    new = dict.fromkeys(i for i in names.values() if isinstance(i, Index) and i not in here.indices)
    same = [a for s, t in places if s is not t for a in conjunction_of(apply("eq", s, t), facts)]
    return Domain((*here.indices, *new), (*here.atoms, *(a.at(names) for a in there.atoms), *same), facts)


def disjoint(equations: Sequence[Equation], facts: Facts = NOTHING) -> bool:
    """Whether the equations, whatever input is present, write no element twice."""
    if _at_literal_places(equations):
        return True
    once = all(writes_once(e, facts) and not e.when for e in equations)
    return once and all(disjoint_writes(e, equations[:n], facts) for n, e in enumerate(equations))


def _at_literal_places(equations: Sequence[Equation]) -> bool:
    """Whether literal subscripts tell at a glance: each equation has others, in the same axes."""
    places = {tuple(s if is_exact(s) else None for s in e.subscripts) for e in equations if not e.when}
    axes = {tuple(s is None for s in place) for place in places}
    free = [[s for s in e.subscripts if not is_exact(s)] for e in equations]
    plain = all(distinct(some) and all(isinstance(s, Index) for s in some) for some in free)
    return plain and len(axes) == 1 and len(places) == len(equations)


def covers(equations: Iterable[Equation], shape: Sequence[Expr]) -> bool:
    """Whether equations that write no element twice write them all: they are as many."""
    written = total(product(dict(e.box)[i] for i in indices(*e.subscripts)) for e in equations if e.where is None)
    return equal(written, product(shape))
