"""Where a tensor is read, and so where alone it must have a value.

A branch of a `where` is evaluated only where it is selected. What an equation computes for such a branch alone has the
same domain, and its adjoint too: a gradient that leaves the domain of its value divides by what its author has guarded.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import reduce
from typing import TypeGuard

from ..domain import Domain, Facts
from ..expr import (
    ONE,
    ZERO,
    Apply,
    Expr,
    Index,
    Ref,
    apply,
    conjunction,
    index,
    indices,
    is_exact,
    operators,
    postorder,
    refs,
    substitute,
    value_of,
)
from ..expr.sizes import equal, tidy
from ..ops import OPS
from ..records import replace
from .data import Function
from .equations import Equation, Role
from .order import ordered, reached
from .reads import CASES, Conditions, evaluated, joined, parts_of, read_under


def on_demand(
    function: Function, sloped: Function | None = None, chosen: Callable[[Equation], bool] | None = None
) -> Function:
    """The function with each local that may have no value, or is computed from such a local, computed only where
    something needs it.

    sloped  the function that the derivative is taken of: what reads a local there needs it, too
    chosen  says which locals these are, where it is not that an operator has a domain
    """
    wanted = {e for e in function.statements if (may_fail(e, function.table) if chosen is None else chosen(e))}
    if not wanted:
        return function
    statements: list[Equation] = []
    partial: set[str] = set()
    sloped = sloped or function
    read = {r.name for e in sloped.statements for r in e.reads}
    for_slopes = ((e, wider) for e, wider in _needed(sloped) if e.target in function.writers)  # it may have more
    for (e, needed), (_, wider) in reversed(list(zip(_needed(function), for_slopes, strict=True))):
        needed = wider if e.target in read else needed
        if needed and (e in wanted or any(r.name in partial for r in e.reads)):
            e = replace(e, where=conjunction([*e.conditions, *needed]))
            partial.add(e.target)
        statements.append(e)
    return replace(function, statements=ordered(statements)) if partial else function


def slopes_needed(function: Function) -> dict[Equation, Conditions]:
    """For each equation of a local the conditions under which alone its cotangent is not 0."""
    return {e: needed for e, needed in _needed(function, slopes=True) if needed}


def needed_at_times(function: Function) -> set[str]:
    """The locals that nothing is differentiated by but on conditions on data, or at places that data tell: all of their
    cotangent may be 0."""
    always = {t.name for t in function.tensors if t.role != Role.LOCAL}
    before: set[str] = set()
    while before != always:
        before = set(always)
        for e in reversed(function.statements):
            if e.target in always:
                found = evaluated(parts_of(e, slopes=True), slopes=True)
                here = (r for r, cases in found.items() if isinstance(r, Ref) and not all(map(_of_data, cases)))
                always |= {r.name for r in here if not any(s.name in function.table for s in refs(*r.subscripts))}
    return {t.name for t in function.tensors} - always


def _of_data(conditions: Conditions) -> bool:
    return any(refs(c) for c in conditions)


def may_fail(e: Equation, tensors: Collection[str]) -> bool:
    """Whether an element may have no finite value: it is computed by a function with a domain."""
    return any(has_domain(n, tensors) for n in postorder(e.body))


def may_be_steep(e: Equation, tensors: Collection[str]) -> bool:
    """Whether an element may have no finite slope: it may have no value, is a logsumexp, whose slopes are 0/0 where all
    of its terms are -oo, or is computed by a function that is infinitely steep somewhere."""
    steep = any(OPS[op].steep for op in operators(e.body))
    return e.reduce == "logsumexp" or may_fail(e, tensors) or steep


def _needed(function: Function, slopes: bool = False) -> Iterator[tuple[Equation, Conditions]]:
    """The equations from the last one on, each with the conditions under which alone its element is needed."""
    first = {r.name: number for number, e in reversed(list(enumerate(function.statements))) for r in e.reads}
    last = {e.target: number for number, e in enumerate(function.statements)}
    demands: dict[str, dict[Conditions, None]] = {}  # the cases in which each tensor is read; its axes are places
    for number, e in reversed(list(enumerate(function.statements))):
        tensor, needed = function.table[e.target], Conditions()
        if tensor.role == Role.LOCAL and (slopes or e.fills(tensor)) and number < first.get(e.target, 0):
            own: dict[Expr, Expr] = dict(zip(_places(e.subscripts), e.subscripts, strict=True))
            asked_for = (substitute(c, own) for c in _one_of(demands.get(e.target, ())))
            needed = tuple(c for c in asked_for if c is not ONE)
            if any(last.get(r.name, -1) >= number for c in needed for r in refs(c)):
                readers = {name: [e.target for e in es] for name, es in function.readers.items()}
                after = reached(readers, [e.target])  # a condition on what is computed from it would come too late
                needed = tuple(c for c in needed if not any(r.name in after for r in refs(c)))
        yield e, needed
        for r, cases in evaluated(parts_of(e, slopes), slopes=slopes).items():
            if isinstance(r, Ref):
                asked = (tuple(dict.fromkeys((*needed, *case))) for case in cases)
                demands.setdefault(r.name, {}).update((_of_axes(r, c, e, function, slopes), None) for c in asked)


def _one_of(cases: Collection[Conditions]) -> Conditions:
    """What holds in one of the cases at least: what is common to all, and that the rest of one of them does."""
    few = joined(cases)
    common = tuple(c for c in few[0] if all(c in case for case in few)) if few else ()
    rests = [tuple(c for c in case if c not in common) for case in few]
    if not rests or len(rests) > CASES or not all(rests):
        return common
    return (*common, reduce(lambda a, b: apply("or", a, b), map(conjunction, rests)))


def in_place(function: Function) -> Function:
    """The function with each guarded local that one branch alone reads written there."""
    statements = list(function.statements)
    guarded = [name for name, (e, *others) in function.writers.items() if e.where is not None and not others]
    for name in guarded:
        e = next(s for s in statements if s.target == name)  # another may stand in it by now
        tensor = function.table[name]
        if e.reduce != "none" or e.when or tensor.role != Role.LOCAL or tensor.named or not e.fills(tensor):
            continue
        readers = [other for other in statements if any(r.name == name for r in other.reads)]
        if len(readers) != 1:
            continue
        (reader,) = readers
        found = [(r, c) for r, c in read_under(reader).items() if r.name == name]
        uses = sum(a.name == name for n in postorder(reader.body) for a in n.args if isinstance(a, Ref))
        if len(found) != 1 or uses > 1 or reader.reduce != "none":
            continue
        ((r, conditions),) = found
        at: dict[Expr, Expr] = dict(zip(e.subscripts, r.subscripts, strict=True))
        as_often = not isinstance(e.body, Apply) or {i for i, _ in reader.box} == set(indices(r))
        if as_often and all(substitute(c, at) in conditions for c in e.conditions):
            body = substitute(reader.body, {r: substitute(e.body, at)})
            statements = [reader.with_body(body) if s is reader else s for s in statements if s is not e]
    kept = {e.target for e in statements} | {*function.inputs, *function.outputs}
    return replace(function, statements=tuple(statements), tensors=tuple(t for t in function.tensors if t.name in kept))


def _places(subscripts: Sequence[Expr]) -> list[Index]:
    return [index(f"#{axis}") for axis in range(len(subscripts))]


def _of_axes(r: Ref, conditions: Conditions, e: Equation, function: Function, parts: bool) -> Conditions:
    """Those of the conditions that say where in the tensor the element `r` stands, spoken in its axes.

    parts  also which part of the tensor is read at all: there are values for the others, but no cotangents
    """
    tensor, extents = function.table.get(r.name), dict(e.box)
    if tensor is None:
        return ()
    axes: dict[Expr, Expr] = {}
    found: list[Expr] = []
    for s, place, whole in zip(r.subscripts, _places(r.subscripts), tensor.shape, strict=True):
        i, offset = _step(s)
        if indices(offset) or any(other.name in function.table for other in refs(offset)):
            return ()
        if i is None or i in axes:
            found.append(apply("eq", place, offset if i is None else tidy(axes[i] + offset)))
            continue
        axes[i] = tidy(place - offset)
        end = tidy(extents[i] + offset)
        found += [apply("ge", place, offset)] if offset is not ZERO else []
        found += [apply("lt", place, end)] if not equal(end, whole) else []
    if found and not parts:
        return ()
    may_be_absent = set(function.optional)
    found += (
        substitute(c, axes)
        for c in _implied(conditions, axes, e, function.facts)
        if all(isinstance(a, Index) for other in refs(c) for a in other.subscripts)  # there is such an element
        and not any(other.name in may_be_absent for other in refs(c))
    )
    return tuple(found)


def _step(subscript: Expr) -> tuple[Index | None, Expr]:
    """The index that moves a subscript by one, and what is added to it; None where there is no such index."""
    for i in indices(subscript):
        offset = tidy(subscript - i)
        if not indices(offset):
            return i, offset
    return None, subscript


def _implied(conditions: Conditions, kept: Collection[Expr], e: Equation, facts: Facts) -> list[Expr]:
    """What the conditions say of the indices that are kept: `j < i` says of i alone that it is at least 1."""
    said = [c for c in conditions if all(i in kept for i in indices(c))]
    if len(said) < len(conditions):
        shadow, _ = Domain.of(e.box, conjunction(conditions), facts).project([i for i, _ in e.box if i not in kept])
        here = Domain.of(tuple((i, extent) for i, extent in e.box if i in kept), conjunction(said), facts)
        said += [a.condition for a in shadow.affine if a.uses and not here.entails(a)]
    return said


def has_domain(node: Expr, tensors: Collection[str]) -> TypeGuard[Apply]:
    """Whether an operator is given data that may be outside of its domain; of a division, what it divides by."""
    row = OPS[node.op] if isinstance(node, Apply) else None
    if row is None or not row.inside:
        return False
    if row.name == "pow" and is_exact(node.args[1]) and value_of(node.args[1]) >= 1:
        return value_of(node.args[1]).denominator != 1
    told = (a for a, value in zip(node.args, row.inside, strict=True) if value is not None)
    return any(r.name in tensors for a in told for r in refs(a))
