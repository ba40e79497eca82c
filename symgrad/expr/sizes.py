"""Integer expressions of sizes: like terms collected, linear subscripts, and how far they reach.

A size is known only by name: `n - 1 - (m - 1)` and `n - m` are found equal by collecting terms, and a subscript is
largest over a box with each index at the end where it is largest.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from .nodes import ZERO, Apply, Expr, Index, Ref, apply, const, indices, is_exact, value_of
from .polynomials import Monomial, polynomial
from .traversal import postorder, substitute


def coefficient(s: Expr, i: Index) -> Expr | None:
    """What `i` is multiplied by in the subscript `s`, if `s` is linear in it; None otherwise."""
    form = polynomial(s)
    if form is None or any(i in indices(x) for x in form.symbols if x is not i):
        return None
    step, _ = form.split(i)
    return None if i in step.symbols else rebuilt(step.terms, s)


def terms(s: Expr) -> Mapping[Monomial, int] | None:
    """The terms of an integer expression as a polynomial; None if it is none."""
    found = polynomial(s)
    return None if found is None else found.terms


def as_integer(s: Expr) -> int | None:
    """The value of an integer expression in which every name cancels; None where one is left."""
    found = polynomial(s)
    return None if found is None else found.number


Quotient = tuple[Expr, Expr]  # a and S of a//S


def multiples(s: Expr, known: Collection[Quotient] | None = None) -> tuple[Expr, list[Quotient]]:
    """`s` with `a` for every S * (a//S), and the quotients that must have no rest; only those `known`, if given."""
    collected = terms(s)
    if collected is None:
        return s, []
    keys = None if known is None else {(a.key, step.key) for a, step in known}
    found: list[Quotient] = []
    written = {node.key: node for node in postorder(s)}
    result: Expr = ZERO
    for monomial, c in collected.items():
        term: Expr = const(c)
        rest = list(monomial)
        for atom in monomial:
            node = written[atom]
            if not (isinstance(node, Apply) and node.op == "floordiv"):
                continue
            above, step = node.args
            factors = terms(step) or {}
            own, times = next(iter(factors.items())) if len(factors) == 1 else ((), 0)
            left = [*rest]
            for part in (atom, *own):
                if part in left:
                    left.remove(part)
            fits = len(left) == len(rest) - 1 - len(own) and times and c % times == 0
            if fits and (keys is None or (above.key, step.key) in keys):
                rest, term = left, const(value_of(term) / times) * above if is_exact(term) else term
                found.append((above, step))
                break
        for part in rest:
            term = term * written[part]
        result = result + term
    return (tidy(result), found) if found else (s, [])


def rebuilt(collected: Mapping[Monomial, int], s: Expr) -> Expr:
    """The polynomial of `s` as an expression, its factors as and in the order in which `s` names them."""
    written: dict[Expr, Expr] = {}
    for node in postorder(s):
        written.setdefault(node.key, node)
    place = {key: number for number, key in enumerate(written)}
    result = ZERO
    for monomial, c in sorted(collected.items(), key=lambda term: term[1] < 0):  # k - 1 - r, not -r + k - 1
        term: Expr = const(abs(c))
        for atom in sorted(monomial, key=place.__getitem__):
            term = term * written[atom]
        result = result + term if c > 0 else result - term
    return result


def tidy(s: Expr) -> Expr:
    """An integer expression with like terms collected."""
    collected = terms(s)
    return s if collected is None else rebuilt(collected, s)


def floor_divide(s: Expr, by: int) -> Expr:
    """`s // by`: multiples of `by` leave the division, (2*n*k + 1)//2 is n*k."""
    collected = terms(s)
    if collected is None:
        return apply("floordiv", s, by)
    whole = {m: c // by for m, c in collected.items() if c % by == 0}
    rest = {m: c for m, c in collected.items() if m not in whole}
    return rebuilt(whole, s) + apply("floordiv", rebuilt(rest, s), by)


def equal(a: Expr, b: Expr) -> bool:
    """Whether two integer expressions are the same polynomial: equal for all sizes."""
    return a.key is b.key or terms(a - b) == {}


def never_negative(s: Expr, signed: Collection[str] = ()) -> bool:
    """Whether an integer expression of sizes is certainly at least 0; `signed` are options, which may be negative."""
    collected = terms(s)
    return collected is not None and all(
        c >= 0 and all(_positive_atom(a, signed) for a in m) for m, c in collected.items()
    )


def _positive_atom(a: Expr, signed: Collection[str]) -> bool:
    if isinstance(a, Ref):
        return a.name not in signed
    if isinstance(a, Apply) and a.op == "maximum":
        return any(never_negative(b, signed) for b in a.args)
    whole = isinstance(a, Apply) and a.op in ("floordiv", "mod", "isqrt")
    return whole and all(never_negative(b, signed) for b in a.args)


def count(extent: Expr, signed: Collection[str] = ()) -> Expr:
    """How many points an index of that extent has: none where the extent is negative."""
    return extent if never_negative(extent, signed) else apply("maximum", extent, ZERO)


def largest(s: Expr, extents: Mapping[Index, Expr]) -> Expr | None:
    """The largest value of the subscript `s` over the box; None if an extent is unknown or it is not linear."""
    ends: dict[Expr, Expr] = {}
    for i in indices(s):
        step = coefficient(s, i)
        if step is None or i not in extents:
            return None
        falling = is_exact(step) and value_of(step) < 0
        ends[i] = ZERO if falling else extents[i] - 1
    last = substitute(s, ends)
    collected = terms(last)
    return None if collected is None else rebuilt(collected, last)


def most(ends: list[Expr]) -> Expr:
    """The largest of several extents, where that can be told."""
    if all(is_exact(e) for e in ends):
        return max(ends, key=value_of)
    distinct = list({e.key: e for e in ends}.values())
    result = distinct[0]
    for end in distinct[1:]:
        difference = terms(end - result)
        if difference is not None and all(c <= 0 for c in difference.values()):
            continue  # sizes are not negative
        if difference is not None and all(c >= 0 for c in difference.values()):
            result = end
        else:
            result = apply("maximum", result, end)
    return result
