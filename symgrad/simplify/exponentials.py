"""Sums of three or more exponentials that are written out: their logarithm, and quotients by them.

    log(exp(x) + exp(y) + exp(z))                is logsumexp3(x, y, z)
    (a*exp(x) + b*exp(y))/(1 + exp(x) + exp(y))  is a*softmax3(x, 0, y) + b*softmax3(y, 0, x)

as 1 is exp(0). Sums of two are rows of table.py, sums over an index stand in softmax.py.
"""

from __future__ import annotations

from ..expr import ONE, ZERO, Apply, Expr, factors, fraction, operator, postorder, product, signed_total, terms_of
from ..ops.exponentials import logsumexp, softmax


def by_exponentials(node: Expr) -> Expr:
    """The logarithm of such a sum, or a quotient by it, as an operator."""
    if not isinstance(node, Apply) or node.op not in ("log", "log1p", "div"):
        return node
    if node.op == "div":
        above, below = factors(node)
        for place, divisor in enumerate(below):
            exponents = _exponents(divisor)
            found = None if exponents is None else _over(product(above), exponents)
            if found is not None:
                return found / product([*below[:place], *below[place + 1 :]])
        return node
    exponents = _exponents(node.args[0], [ZERO] if node.op == "log1p" else [])
    return node if exponents is None else logsumexp(*exponents)


def _exponents(node: Expr, first: list[Expr] | None = None) -> list[Expr] | None:
    """The exponents of a sum of three or more exponentials, behind the `first` ones; None if it is no such sum."""
    found = [*(first or [])]
    for term, sign in terms_of(node):
        if sign < 0 or not (term is ONE or operator(term) == "exp"):
            return None
        found.append(ZERO if term is ONE else term.args[0])
    return found if len(found) > 2 and len(set(found)) == len(found) else None


def _over(above: Expr, exponents: list[Expr]) -> Expr | None:
    """`above` over the sum of the exponentials, where each term of it has one of them as a factor."""
    found: list[tuple[Expr, int]] = []
    for term, sign in terms_of(above):
        parts, below = factors(term)
        mine = next((p for p in parts if operator(p) == "exp" and p.args[0] in exponents), None)
        if mine is None and (ZERO not in exponents or any(operator(n) == "exp" for n in postorder(term))):
            return None
        u = ZERO if mine is None else mine.args[0]
        if mine is not None:
            parts.remove(mine)
        share = softmax(u, *(v for v in exponents if v is not u))
        found.append((fraction([*parts, share], below), sign))
    return signed_total(found)
