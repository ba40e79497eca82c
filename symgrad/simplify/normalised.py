"""A value divided by a statistic of its own, which gradients are best spoken in, gets a name.

In `(x[i,j] - mean[i]) / sqrt(var[i] + eps) * gain[j] + bias[j]` the factor x - mean is what var is a mean of. Where its
author has not named the quotient, backward would speak of x - mean and of powers of the root.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..expr import Apply, Expr, comparisons, factors, fraction, indices, postorder, product, refs, substitute
from ..expr.names import Names
from ..ir import Equation, Function, alive, names_of
from ..records import replace
from .match import match


def with_normalised(function: Function) -> Function:
    """Return an equal function in which a normalised value that is a part of a longer formula has an equation."""
    if not any(e.reduced for e in function.statements):
        return function
    tensors = list(function.tensors)
    names = Names(names_of(function))
    statements: list[Equation] = []
    for e in function.statements:
        found = _normalised(function, e) if e.reduce == "none" and e.plain and e.where is None and not e.when else None
        if found is not None:
            whole, value, above, below = found
            tensor, equation, element = e.part(names.new("normalized"), value)
            tensors.append(tensor)
            statements.append(equation)
            e = replace(e, body=substitute(e.body, {whole: fraction([element, product(above)], below)}))
        statements.append(e)
    return replace(function, tensors=tuple(tensors), statements=tuple(statements))


def _normalised(function: Function, e: Equation) -> tuple[Expr, Expr, list[Expr], list[Expr]] | None:
    """The first product in the body of `e` with other factors beside u / s or u * s, where s is a statistic of u; that
    factor, and what it is multiplied with and divided by."""
    box = {i for i, _ in e.box}
    products = [n for n in (postorder(e.body) if box else ()) if isinstance(n, Apply) and n.op in ("mul", "div")]
    inner = {a for n in products for a in n.args}
    compared = {*postorder(*comparisons(e.body))}
    for node in products:
        if node in inner or node in compared:
            continue  # a part of a longer product, or rounded as what it is compared with
        above, below = factors(node)
        if node is e.body and len(above) + len(below) == 2:
            continue  # a value that has a name
        kept = dict.fromkeys(s for s in (*below, *above) if {*s.indices} < box)
        for u in dict.fromkeys(u for u in above if kept and {*u.indices} == box):
            for s in (s for s in kept if _is_statistic(function, s, u)):
                under = any(s is b for b in below)
                if under:
                    return node, u / s, _without(above, u), _without(below, s)
                return node, u * s, _without(above, u, s), below
    return None


def _without(factors: Iterable[Expr], *gone: Expr) -> list[Expr]:
    left = list(factors)
    for g in gone:
        left.remove(g)
    return left


def _is_statistic(function: Function, s: Expr, u: Expr) -> bool:
    """Whether `s` is computed from a reduction of something made of `u`."""
    variables: frozenset[Expr] = frozenset(indices(u))
    made_of = alive(function.statements, [r.name for r in refs(s)])
    return any(match(u, n, variables) is not None for e in made_of if e.reduced for n in postorder(e.body))
