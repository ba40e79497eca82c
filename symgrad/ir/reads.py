"""What is read, and when: the one walk that knows which operands are evaluated on a condition.

A branch of a `where` is evaluated only where it is selected; the second operand of `and` only where the first holds,
that of `or` only where it does not. `evaluated` says of each node under which conditions it is, which may be more
points than there are; `unconditional` says which nodes certainly are; `reads_of` gives the same as domains.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TypeVar

from ..domain import NOTHING, Domain, Facts
from ..expr import Apply, Expr, Ref, apply, conjuncts, operators, postorder, preorder
from ..ops import OPS
from .equations import Equation

CASES = 8  # in which one node is evaluated that are kept apart, or there would be 2**n; the library has 4 at most

Node = TypeVar("Node", bound=Expr)
Conditions = tuple[Expr, ...]  # all of which hold, each after those before which it is not asked


def negation(condition: Expr) -> Expr:
    """What holds where the condition does not."""
    negated = isinstance(condition, Apply) and condition.op == "not"
    return condition.args[0] if negated else apply("not", condition)


def asked_before(node: Expr, k: int) -> list[Expr]:
    """The conditions under which an operator evaluates its argument `k`."""
    if not isinstance(node, Apply) or not k or not OPS[node.op].lazy:
        return []
    condition = node.args[0]
    if node.op == "or" or node.op == "select" and k == 2:
        return conjuncts(negation(condition))
    return conjuncts(condition)


def unconditional(*roots: Expr, bodies: Mapping[Expr, Expr] = MappingProxyType({})) -> set[Expr]:
    """The nodes that are evaluated wherever the roots are, whichever branches are selected; of references that have
    `bodies`, those in them, too."""
    if not (bodies or any(OPS[op].lazy for op in operators(*roots))):
        return {*postorder(*roots)}
    return {*preorder(roots, lambda n: (*_certain(n), bodies[n]) if n in bodies else _certain(n))}


def _certain(node: Expr) -> Sequence[Expr]:
    """The arguments that an operator evaluates in any case."""
    lazy = isinstance(node, Apply) and OPS[node.op].lazy
    return [a for k, a in enumerate(node.args) if not asked_before(node, k)] if lazy else node.args


def evaluated(
    roots: Iterable[tuple[Expr, Conditions]], cases: int = CASES, slopes: bool = False
) -> dict[Expr, list[Conditions]]:
    """Each node below the roots with the cases in which it is evaluated: in no other.

    roots   each with the conditions under which it is evaluated itself
    cases   how many are kept apart; of more, what is common to them
    slopes  without what only conditions and subscripts read: nothing is differentiated by it
    """
    roots = list(roots)
    order = list(postorder(*(root for root, _ in roots)))
    lazy = any(OPS[op].lazy for root, _ in roots for op in operators(root))
    if not lazy and len({conditions for _, conditions in roots}) == 1:
        counted = {*preorder([root for root, _ in roots], _sloped)} if slopes else order
        return {node: [roots[0][1]] for node in order if not slopes or node in counted}
    known: dict[Expr, dict[Conditions, None]] = {node: {} for node in order}
    for root, conditions in roots:
        known[root].setdefault(conditions)
    for node in reversed(order):  # after all that read it
        mine = known[node] = _few(known[node], cases)
        if slopes and not _sloped(node):
            continue
        branches = isinstance(node, Apply) and OPS[node.op].lazy
        for k, a in enumerate(node.args):
            if slopes and isinstance(node, Apply) and node.op == "select" and not k:
                continue
            more = asked_before(node, k) if branches else ()
            for case in mine:
                known[a].setdefault(tuple(dict.fromkeys((*case, *more))) if more else case)
    return {node: list(found) for node, found in known.items() if found}


def _sloped(node: Expr) -> Sequence[Expr]:
    """What a node is differentiated by: not what an element stands at, nor what is compared."""
    return () if isinstance(node, Ref) or isinstance(node, Apply) and OPS[node.op].result == "bool" else node.args


def joined(cases: Iterable[Conditions]) -> list[Conditions]:
    """The cases, two that differ in whether a condition holds as one, without those that lie in others. The last one of
    a case need not hold where another case covers what it leaves out; of others, those after it are asked under it."""
    found = list(dict.fromkeys(cases))
    for case in found:
        for c in case:
            rest = tuple(o for o in case if o is not c)
            others = {*rest, *conjuncts(negation(c))}
            for other in found:
                if {*other} == others or other is not case and c is case[-1] and {*other} <= others:
                    return joined([rest if some is case else some for some in found])
    return [case for case in found if not any({*other} < {*case} for other in found)]


def _few(found: dict[Conditions, None], most: int) -> dict[Conditions, None]:
    """The cases, joined; of more than `most` what is common to them."""
    if len(found) > most:
        first, *others = found
        return {tuple(c for c in first if all(c in other for other in others)): None}
    return dict.fromkeys(joined(found)) if len(found) > 1 else found


def parts_of(e: Equation, slopes: bool = False) -> list[tuple[Expr, Conditions]]:
    """What an equation evaluates, each part with the conditions of its `where`, and the `where` itself; only what it
    is differentiated by, if `slopes`: of a maximum the terms that are equal to it."""
    if slopes:
        return [(e.body, (*e.conditions, *e.ties))]
    condition = [] if e.where is None else [(e.where, ())]
    return [*((s, e.conditions) for s in e.subscripts), *condition, (e.body, e.conditions)]


def read_under(e: Equation, slopes: bool = False) -> dict[Ref, Conditions]:
    """Each element that the equation reads (is differentiated by), with the conditions under which alone it does."""
    found = evaluated(parts_of(e, slopes), cases=1, slopes=slopes)
    return {r: conditions for r, (conditions,) in found.items() if isinstance(r, Ref)}


def reads_of(e: Equation, facts: Facts = NOTHING) -> list[tuple[Ref, Domain]]:
    """The elements that an equation reads, sizes and options among them, each with where it does: in order of
    appearance, those in subscripts of the target first.

    The domains of an element may overlap. Each is no smaller than the points at which it is read.
    """
    return list(evaluated_in(e, facts, Ref))


def evaluated_in(e: Equation, facts: Facts, kind: type[Node]) -> Iterator[tuple[Node, Domain]]:
    """The nodes of a `kind` in an equation, each with where it is evaluated, as in `reads_of`."""
    known: dict[Conditions, list[Domain]] = {(): [Domain.of(e.box, None, facts)], e.conditions: [e.domain(facts)]}

    def domains(case: Conditions) -> list[Domain]:
        told = next(k for k in range(len(case), -1, -1) if case[:k] in known)
        for k in range(told, len(case)):
            before = known[case[:k]]
            pieces = [piece for d in before for piece in d.pieces(case[k])]
            known[case[: k + 1]] = pieces if len(pieces) <= CASES else before
        return known[case]

    for node, cases in evaluated(parts_of(e)).items():
        if isinstance(node, kind):
            yield from ((node, d) for case in cases for d in domains(case))
