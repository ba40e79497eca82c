"""A value divided by a statistic of its own, which gradients are best spoken in, gets a name.

In `(x[i,j] - mean[i]) / sqrt(var[i] + eps) * gain[j] + bias[j]` the factor x - mean is what var is a mean of. Where its
author has not named the quotient, backward would speak of x - mean and of powers of the root.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ..expr import Apply, Expr, factors, indices, postorder, product, ref, refs, substitute
from ..expr.names import Names
from ..ir import Equation, Function, Tensor, names_of
from .match import match


def with_normalised(function: Function) -> Function:
    """Return an equal function in which a normalised value that is a part of a longer formula has an equation."""
    tensors = list(function.tensors)
    names = Names(names_of(function))
    statements: list[Equation] = []
    for e in function.statements:
        found = _normalised(function, e) if e.reduce == "none" and e.plain and e.where is None and not e.when else None
        if found is not None:
            name = names.new("normalized")
            at = tuple(i for i, _ in e.shown)
            tensors.append(Tensor(name, tuple(extent for _, extent in e.shown)))
            statements.append(Equation(name, at, "none", found.value, e.shown))
            e = replace(e, body=substitute(e.body, {found.product: found.others(ref(name, *at))}))
        statements.append(e)
    return replace(function, tensors=tuple(tensors), statements=tuple(statements))


@dataclass(frozen=True, slots=True)
class _Normalised:
    """A product with a factor `value` that is normalised, and what it is multiplied with and divided by."""

    product: Expr
    value: Expr
    above: list[Expr]
    below: list[Expr]

    def others(self, value: Expr) -> Expr:
        """The product, with `value` in the place of the normalised factor."""
        top = value * product(self.above) if self.above else value
        return top / product(self.below) if self.below else top


def _normalised(function: Function, e: Equation) -> _Normalised | None:
    """The first product in the body of `e` with other factors beside u / s or u * s, where s is a statistic of u."""
    box = {i for i, _ in e.box}
    products = [n for n in (postorder(e.body) if box else ()) if isinstance(n, Apply) and n.op in ("mul", "div")]
    inner = {a for n in products for a in n.args}
    for node in products:
        above, below = factors(node)
        if node in inner or node is e.body and len(above) + len(below) == 2:
            continue  # a part of a longer product; a value that has a name
        for u in (u for u in above if {*u.indices} == box):
            for s in (s for s in (*below, *above) if {*s.indices} < box and _is_statistic(function, s, u)):
                under = any(s is b for b in below)
                return _Normalised(
                    node,
                    u / s if under else u * s,
                    _without(above, u) if under else _without(above, u, s),
                    _without(below, s) if under else below,
                )
    return None


def _without(factors: Iterable[Expr], *gone: Expr) -> list[Expr]:
    left = list(factors)
    for g in gone:
        left.remove(g)
    return left


def _is_statistic(function: Function, s: Expr, u: Expr) -> bool:
    """Whether `s` is computed from a reduction of something made of `u`."""
    variables: frozenset[Expr] = frozenset(indices(u))
    seen: set[str] = set()
    stack = [r.name for r in refs(s)]
    while stack:
        name = stack.pop()
        if name in seen:
            continue
        seen.add(name)
        for e in function.writers.get(name, ()):
            if e.reduced and any(match(u, n, variables) is not None for n in postorder(e.body)):
                return True
            stack += [r.name for r in e.reads]
    return False
