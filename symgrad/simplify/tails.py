"""Logarithms and quotients of tails of the normal distribution, which underflow, as the functions that do not.

log(c*erfc(u)) is log_ndtr(-sqrt(2)*u) where c is 1/2, and log_erfc(u) + log(c) else, as each of them loses digits where
the other is 0; exp(-u**2)/erfc(u) is a multiple of their slopes. Where u is x/sqrt(2), they are spoken in x: the
rounding of u would be amplified by exp(-u**2).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from ..expr import ONE, Apply, Const, Expr, Ref, apply, const, factors, fraction, is_exact, refs, terms_of, value_of
from ..later import mp, mpmath
from ..numerics.digits import computed, value_of_formula

DIGITS = 240  # bits to which two formulas are compared
SIMPLE = 1000  # the largest denominator of a factor that is told

Tail = tuple[Expr, Expr]  # c and u of c*erfc(u)

_pi = apply("pi")
_ROOT2 = apply("sqrt", 2)


def by_tails(node: Expr) -> Expr:
    """`node`, or what it equals, where it is a logarithm of a tail or a quotient by one."""
    if not isinstance(node, Apply):
        return node
    if node.op in ("log", "log1p"):
        arg = node.args[0]
        found = _tail(arg) if node.op == "log" else _complement([(ONE, 1), *terms_of(arg)])
        return node if found is None else _log(*found)
    return _quotient(node) if node.op == "div" else node


def _tail(node: Expr) -> Tail | None:
    """c and u, where `node` is c*erfc(u)."""
    if isinstance(node, Apply) and node.op in ("add", "sub"):
        return _complement(terms_of(node))
    above, below = factors(node)
    for place, f in enumerate(above):
        if isinstance(f, Apply) and f.op in ("erfc", "ndtr", "add", "sub"):
            found = _erfc(f) if f.op in ("erfc", "ndtr") else _complement(terms_of(f))
            if found is not None:
                return fraction([found[0], *above[:place], *above[place + 1 :]], below), found[1]
    return None


def _erfc(f: Apply) -> Tail:
    return (ONE, f.args[0]) if f.op == "erfc" else (ONE / 2, -f.args[0] / _ROOT2)


def _complement(terms: Sequence[tuple[Expr, int]]) -> Tail | None:
    """1 + erf(u), 1 - erfc(u)/2 and 1 - ndtr(x), or multiples of them, as a tail."""
    if len(terms) != 2 or not any(is_exact(t) for t, _ in terms):
        return None
    (c, sign), (t, other) = terms if is_exact(terms[0][0]) else reversed(terms)
    above, below = factors(t)
    functions = [f for f in above if isinstance(f, Apply) and f.op in ("erf", "erfc", "ndtr")]
    if len(functions) != 1 or refs(c):
        return None
    (f,) = functions
    above.remove(f)
    if not all(map(is_exact, (*above, *below))):
        return None
    k = value_of(fraction(above, below)) * other / (value_of(c) * sign)
    c = c if sign > 0 else -c
    (u,) = f.args
    if f.op == "erf" and abs(k) == 1:
        return c, u if k < 0 else -u
    if f.op == "erfc" and k == Fraction(-1, 2):
        return c / 2, -u
    if f.op == "ndtr" and k == -1:
        return c / 2, u / _ROOT2
    return None


def _log(c: Expr, u: Expr) -> Expr:
    """log(c*erfc(u))."""
    x = _normal(u)
    half = is_exact(c) and value_of(c) == Fraction(1, 2)
    if half or (x is not None and not is_exact(c)):
        rest = ONE if half else 2 * c
        found = apply("log_ndtr", -_ROOT2 * u if x is None else x)
    else:
        rest, found = c, apply("log_erfc", u)
    return found if rest is ONE else found + apply("log", rest)


def _normal(u: Expr) -> Expr | None:
    """x, where u is -x/sqrt(2) but for a rational factor."""
    split = _split(u)
    if split is None:
        return None
    number, above, below = split
    with mp.workprec(2 * DIGITS):
        ratio = _rational(-number * mp.sqrt(2))
    return None if ratio is None else const(ratio) * fraction(above, below)


def _split(u: Expr) -> tuple[Any, list[Expr], list[Expr]] | None:
    """The number that is a factor of u, and the other factors above and below the line."""
    number: Any = mpmath.mpf(1)
    parts: tuple[list[Expr], list[Expr]] = [], []
    stack = [(u, False)]
    with mp.workprec(2 * DIGITS):
        while stack:
            node, under = stack.pop()
            if isinstance(node, Apply) and node.op == "neg":
                number, node = -number, node.args[0]
            above, below = factors(node)
            if len(above) + len(below) > 1 or isinstance(above[0], Apply) and above[0].op == "neg":
                stack += [(b, not under) for b in reversed(below)] + [(a, under) for a in reversed(above)]
            elif not all(isinstance(n, (Const, Apply)) for n in computed(node)):
                parts[under].append(node)
            else:
                value = value_of_formula(node, {})
                if not mp.isfinite(value) or not value:
                    return None
                number = number / value if under else number * value
    return number, *parts


def _rational(number: Any) -> Fraction | None:
    """The simple fraction that a number of many digits is."""
    with mp.workprec(2 * DIGITS):
        found = Fraction(int(mp.nint(number * 2**DIGITS)), 2**DIGITS).limit_denominator(SIMPLE)
        off = abs(number - mpmath.mpf(found.numerator) / found.denominator)
        return found if found and off <= mpmath.ldexp(abs(number), -DIGITS + 20) else None


def _quotient(node: Apply) -> Expr:
    """exp(-u**2)/erfc(u) as sqrt(pi)/2 * erfc_hazard(u), or by inverse_mills."""
    above, below = factors(node)
    for f in below:
        if not (isinstance(f, Apply) and f.op in ("erfc", "ndtr")):
            continue
        c, u = _erfc(f)
        e = next((a for a in above if isinstance(a, Apply) and a.op == "exp" and _same(a.args[0], -(u**2))), None)
        if e is None:
            continue
        above.remove(e)
        below.remove(f)
        x = _normal(u)
        # of exp(-u**2) / (c*erfc(u))
        factor = [apply("sqrt", _pi / 2)] if x is not None else [apply("sqrt", _pi) / 2]
        slope = apply("erfc_hazard", u) if x is None else apply("inverse_mills", x)
        split = _split(fraction([*factor, *above], [c, *below]))
        ratio = None if split is None else _rational(split[0])
        if split is None or ratio is None:
            return fraction([*factor, *above, slope], [c, *below])
        return fraction([const(ratio), *split[1], slope], split[2])
    return node


def _same(a: Expr, b: Expr) -> bool:
    """Whether two formulas are the same function of what they read, told by their values."""
    read = list(dict.fromkeys(n for e in (a, b) for n in computed(e) if isinstance(n, Ref)))
    if not all(isinstance(n, (Const, Ref, Apply)) for e in (a, b) for n in computed(e)):
        return False
    with mp.workprec(DIGITS):
        for turn in range(3):
            at = {r: mpmath.mpf(7 * k + 3 * turn + 5) / (11 + turn) for k, r in enumerate(read)}
            one, other = (value_of_formula(e, at) for e in (a, b))
            if not mp.isfinite(one) or abs(one - other) > mpmath.ldexp(abs(one), 20 - DIGITS):
                return False
    return True
