"""Integer expressions of sizes: like terms collected, linear subscripts, and how far they reach.

A size is known only by name: `n - 1 - (m - 1)` and `n - m` are found equal by collecting terms, and a subscript is
largest over a box with each index at the end where it is largest.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from .nodes import ONE, ZERO, Apply, Const, Expr, Index, Ref, apply, const, is_exact, value_of
from .polynomials import Monomial, polynomial
from .traversal import indices, postorder, substitute, transform


def coefficient(s: Expr, i: Index) -> Expr | None:
    """What `i` is multiplied by in the subscript `s`, if `s` is linear in it; None otherwise."""
    slope = substitute(s, {i: ONE}) - substitute(s, {i: ZERO})
    again = substitute(s, {i: const(2)}) - substitute(s, {i: ONE})
    a, b = terms(slope), terms(again)
    return _rebuild(a, slope) if a is not None and a == b else None


def terms(s: Expr) -> Mapping[Monomial, int] | None:
    """The terms of an integer expression as a polynomial; None if it is none."""
    found = polynomial(s)
    return None if found is None else found.terms


def as_integer(s: Expr) -> int | None:
    """The value of an integer expression in which every name cancels; None where one is left."""
    collected = terms(s)
    if collected is None or any(collected.keys() - {()}):
        return None
    return collected.get((), 0)


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


def _rebuild(collected: Mapping[Monomial, int], s: Expr) -> Expr:
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
    return s if collected is None else _rebuild(collected, s)


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
    return isinstance(a, Apply) and a.op in ("floordiv", "mod") and all(never_negative(b, signed) for b in a.args)


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
    return None if collected is None else _rebuild(collected, last)


def ends(s: Expr, extents: Mapping[Index, Expr]) -> tuple[Expr, Expr] | None:
    """The smallest and the largest value of the subscript `s` over the box; None if it is not linear.

    A step that is an option or a size counts as positive, and S * (a // S) as a.
    """
    low: dict[Expr, Expr] = {}
    high: dict[Expr, Expr] = {}
    for i in indices(s):
        step = coefficient(s, i)
        if step is None or i not in extents:
            return None
        falling = is_exact(step) and value_of(step) < 0
        low[i], high[i] = (tidy(extents[i] - 1), ZERO) if falling else (ZERO, tidy(extents[i] - 1))
    first, last = (transform(tidy(substitute(s, at)), _whole_steps) for at in (low, high))
    return first, last


def _whole_steps(node: Expr) -> Expr:
    """S * (a // S) is at most a."""
    if isinstance(node, Apply) and node.op == "mul":
        for step, quotient in (node.args, tuple(reversed(node.args))):
            if isinstance(quotient, Apply) and quotient.op == "floordiv" and quotient.args[1].key is step.key:
                return quotient.args[0]
    return node


def stays_inside(s: Expr, axis: Expr, extents: Mapping[Index, Expr]) -> list[tuple[Expr, Expr]]:
    """What must not be negative for the linear subscript `s` to stay in an axis of that length, and as a condition.

    Empty if `s` is not linear.
    """
    found = ends(s, extents)
    if found is None:
        return []
    low, high = found
    exact = largest(s, extents)
    if exact is not None and certain(tidy(axis - 1 - exact)) is True:
        high = exact
    pairs = [(low, apply("ge", low, ZERO)), (tidy(axis - 1 - high), apply("le", tidy(high + 1), axis))]
    for k, (margin, _) in enumerate(pairs):
        plain = without_floor(margin)
        if plain is not margin or not isinstance(axis, Ref):  # sizes of the axis may cancel
            pairs[k] = plain, at_least_zero(plain)
    return pairs


def without_floor(margin: Expr) -> Expr:
    """What is negative where the integer `margin` is, without its division by a number if it has one: a//c + r >= 0
    where a + c*r >= 0, and r - a//c >= 0 where c*(r + 1) - a - 1 >= 0."""
    quotients = [
        (m[0], c)
        for m, c in (terms(margin) or {}).items()
        if abs(c) == 1 and len(m) == 1 and isinstance(m[0], Apply) and m[0].op == "floordiv" and is_exact(m[0].args[1])
    ]
    if len(quotients) != 1:
        return margin
    ((quotient, sign),) = quotients
    above, divisor = quotient.args
    if value_of(divisor) <= 0:
        return margin
    rest = tidy(margin - sign * quotient)
    return tidy(above + divisor * rest if sign > 0 else divisor * (rest + 1) - above - 1)


def at_least_zero(margin: Expr) -> Expr:
    """The condition that an integer expression is not negative: `left + 1 <= n` for n - left - 1."""
    collected = terms(margin)
    if collected is None or all(c > 0 for c in collected.values()):
        return apply("ge", margin, ZERO)
    below = _rebuild({m: -c for m, c in collected.items() if c < 0}, margin)
    return apply("le", below, _rebuild({m: c for m, c in collected.items() if c > 0}, margin))


def certain(value: Expr, signed: Collection[str] = ()) -> bool | None:
    """Whether `value` is at least 0 for all sizes; None if that depends on them, or on options, which are `signed`."""
    collected = terms(value)
    if collected is None:
        return None
    asked = any(isinstance(n, Ref) and n.name in signed for n in postorder(value))
    if never_negative(value, signed) if asked else all(c >= 0 for c in collected.values()):
        return True
    if all(isinstance(a, Const) for m in collected for a in m) and sum(collected.values()) < 0:
        return False
    for a in (m[0] for m, c in collected.items() if len(m) == 1 and c > 0):
        if isinstance(a, Apply) and a.op == "maximum":  # no less than either
            written = [n for n in postorder(value) if n.key is a]
            return True if any(certain(substitute(value, dict.fromkeys(written, b)), signed) for b in a.args) else None
    return None


def margin(condition: Expr) -> Expr | None:
    """What is at least 0 exactly where a comparison of integers holds; None for anything else."""
    if not isinstance(condition, Apply) or condition.op not in ("lt", "le", "gt", "ge"):
        return None
    a, b = condition.args
    larger, smaller = (a, b) if condition.op in ("gt", "ge") else (b, a)
    return larger - smaller - (1 if condition.op in ("lt", "gt") else 0)


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
