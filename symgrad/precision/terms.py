"""Formulas in a normal form that rules are matched in: sums and products of any number of terms, like terms collected.

What a rule leaves over cancels by itself: sqrt(1 + x**2) - 1 becomes ((1 + x**2) - 1**2)/(sqrt(1 + x**2) + 1), and that
x**2/(sqrt(1 + x**2) + 1). Equal wherever both are defined; a quotient x/x is 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Any
from weakref import WeakValueDictionary

from ..expr import Apply, Const, Expr, apply, const, fraction, is_exact, product, signed_total
from ..later import flint
from ..ops import OPS

LARGEST_POWER = 64  # of a number that is written out
MANY = 2**15


class Term:
    """A node: `op` is "number", "leaf", "+", "*", "**" or a function; nodes that are written the same are the same.

    args   terms; of a number a Fraction, of a leaf an expression
    alike  the same for all sums and products of the same, in whatever order
    parts  the terms that it is made of
    size   how many nodes it has as a tree
    """

    __slots__ = ("__weakref__", "alike", "args", "multiple", "op", "parts", "size")
    op: str
    args: tuple[Any, ...]
    alike: Term
    multiple: tuple[Rational, Term] | None  # the number that it begins with, and the rest; None where it does not
    parts: tuple[Term, ...]
    size: int


_known: WeakValueDictionary[tuple[Any, ...], Term] = WeakValueDictionary()
_alike: WeakValueDictionary[tuple[Any, ...], Term] = WeakValueDictionary()


def _term(op: str, *args: Any) -> Term:
    key = (op, *args)
    found = _known.get(key)
    if found is None:
        found = Term()
        found.op, found.args = op, args
        found.parts = () if op in ("number", "leaf") else args
        found.size = 1 + sum(a.size for a in found.parts)
        parts = [a.alike for a in found.parts]
        same = (op, frozenset(parts) if op in ("+", "*") else (*parts,)) if parts else key
        found.alike = _alike.setdefault(same, found)
        found.multiple = None
        if op == "*" and args[0].op == "number":
            found.multiple = args[0].args[0], args[1] if len(args) == 2 else _term("*", *args[1:])
        _known[key] = found
    return found


Rational = int | Fraction  # a whole number is an int, which is counted with faster


@lru_cache(MANY)
def number(value: Rational) -> Term:
    return _term("number", value if isinstance(value, int) or value.denominator != 1 else value.numerator)


def ratio(a: Rational, b: Rational) -> Rational:
    """a/b, exactly."""
    if isinstance(a, int) and isinstance(b, int):
        return Fraction(a, b) if a % b else a // b
    return Fraction(a) / b


def leaf(node: Expr) -> Term:
    return _term("leaf", node)


STRUCTURE = ("number", "leaf", "+", "*", "**")  # operators that are no functions
ZERO, ONE, MINUS_ONE, HALF = number(0), number(1), number(-1), number(Fraction(1, 2))


@cache
def parity(name: str) -> int:
    """1 of an even function of one number, -1 of an odd one, 0 of another."""
    row = OPS.get(name)
    if row is None or row.arity != 1 or row.derivative is None or row.in_balls is None:
        return 0
    found = [(row.in_balls(flint.arb(k) / 8), row.in_balls(flint.arb(-k) / 8)) for k in (1, 3, 5)]
    known = all(b.is_finite() for pair in found for b in pair)
    return next((s for s in (1, -1) if known and all(right.overlaps(s * left) for left, right in found)), 0)


@cache
def at_zero(name: str) -> Term | None:
    """What a function of one number is of 0, where that is 0, 1 or 1/2."""
    row = OPS.get(name)
    if row is None or row.arity != 1 or row.in_balls is None or row.result != "real":
        return None
    value = row.in_balls(flint.arb(0))
    return number(Fraction(float(value.mid()))) if value.is_exact() and value in (0, 0.5, 1) else None


def coefficient(t: Term) -> tuple[Rational, Term]:
    """A term as a number times the rest."""
    return (t.args[0], ONE) if t.op == "number" else t.multiple or (1, t)


def base(t: Term) -> tuple[Term, Term]:
    """Base and exponent."""
    return t.args if t.op == "**" else (t, ONE)


def exponent(t: Term) -> Rational | None:
    """That of a power of which it is a number; 1 of what is no power."""
    if t.op != "**":
        return 1
    k: Term = t.args[1]
    return k.args[0] if k.op == "number" else None


@lru_cache(MANY)
def add(*terms: Term) -> Term:
    kept: dict[Term, Rational] = {}
    written: dict[Term, Term] = {}  # as it was met first
    stack: list[tuple[Rational, Term]] = [(1, t) for t in reversed(terms)]
    while stack:
        k, t = stack.pop()
        c, rest = coefficient(t)
        if rest.op == "+":
            stack += [(k * c, a) for a in reversed(rest.args)]
        else:
            c = c if k == 1 else k * c
            same = rest.alike
            kept[same] = kept[same] + c if same in kept else c
            written.setdefault(same, rest)
    made = [multiply(number(c), written[t]) for t, c in kept.items() if c]
    return ZERO if not made else made[0] if len(made) == 1 else _term("+", *made)


@lru_cache(MANY)
def multiply(*factors: Term) -> Term:
    c: Rational = 1
    kept: dict[Term, Term] = {}
    written: dict[Term, Term] = {}
    stack = list(reversed(factors))
    while stack:
        f = stack.pop()
        if f.op == "number":
            c = f.args[0] if c == 1 else c * f.args[0]
        elif f.op == "*":
            stack += reversed(f.args)
        else:
            b, e = base(f)
            if b.op == "+" and e.op == "number" and e.args[0].denominator == 1:
                if all(coefficient(a)[0] < 0 for a in b.args):  # the sign of -2 - x is that of the product
                    b, c = _term("+", *(multiply(MINUS_ONE, a) for a in b.args)), -c if e.args[0] % 2 else c
            same = b.alike
            kept[same] = add(kept[same], e) if same in kept else e
            written.setdefault(same, b)
    if not c:
        return ZERO
    made = [power(written[b], e) for b, e in kept.items() if e is not ZERO]
    if any(m.op in ("number", "*") for m in made):
        return multiply(number(c), *made)
    if len(made) == 1 and made[0].op == "+" and c == -1:
        return _term("+", *(multiply(MINUS_ONE, a) for a in made[0].args))
    made = made if c == 1 else [number(c), *made]
    return ONE if not made else made[0] if len(made) == 1 else _term("*", *made)


def negative(t: Term) -> Term:
    return multiply(MINUS_ONE, t)


def quotient(a: Term, b: Term) -> Term:
    return multiply(a, power(b, MINUS_ONE))


@lru_cache(MANY)
def power(b: Term, e: Term) -> Term:
    if e is ZERO:
        return ONE
    if e is ONE:
        return b
    if e.op == "number":
        k = e.args[0]
        if b.op == "number" and (known := _power_of_number(b.args[0], k)) is not None:
            return known
        if b.op == "*" and k.denominator == 1:
            return multiply(*(power(f, e) for f in b.args))
        if b.op == "**" and b.args[1].op == "number":
            inner = b.args[1].args[0]
            if k.denominator == 1 or inner.denominator == 2:
                return power(b.args[0], number(inner * k))
            if inner.denominator == 1 and inner.numerator % 2 == 0 and (inner * k).denominator == 1:
                return power(function("abs", b.args[0]), number(inner * k))
        if b.op == "exp" and k.denominator == 1 and k < 0:
            return power(function("exp", negative(b.args[0])), number(-k))
        if b.op == "abs" and k.denominator == 1 and k.numerator % 2 == 0:
            return power(b.args[0], e)
    return _term("**", b, e)


def _power_of_number(value: Rational, k: Rational) -> Term | None:
    if k.denominator == 1 and (value or k > 0) and -LARGEST_POWER <= k <= LARGEST_POWER:
        return number(Fraction(value) ** int(k))
    if k.denominator == 2 and value.numerator >= 0:
        above, below = math.isqrt(value.numerator), math.isqrt(value.denominator)
        if above**2 == value.numerator and below**2 == value.denominator and (above or k > 0):
            return number(Fraction(above, below) ** int(2 * k))
    return None


@lru_cache(MANY)
def function(name: str, *args: Term) -> Term:
    """A function; what it is of 0, of its inverse, and of a negative where it is odd or even, is known."""
    a = args[0]
    if name == "sqrt":
        return power(a, HALF)
    if name == GROUP and (a.op in ("number", "leaf", GROUP) or (exponent(a) or -1) > 0 and a.op != "*"):
        return a
    if a is ZERO and (known := at_zero(name)) is not None:
        return known
    if name == "log" and a is ONE:
        return ZERO
    if name in OPS and OPS[name].inverse == a.op:
        undone: Term = a.args[0]
        return undone
    if parity(name) and _is_negative(a):
        turned = function(name, negative(a))
        return negative(turned) if parity(name) < 0 else turned
    return _term(name, *args)


@lru_cache(MANY)
def functions_in(t: Term) -> frozenset[str]:
    """The names of the functions that are called in it."""
    own = frozenset() if t.op in STRUCTURE else frozenset({t.op})
    return own.union(*map(functions_in, t.parts))


def _is_negative(t: Term) -> bool:
    first = t.args[0] if t.op == "+" else t
    return coefficient(first)[0] < 0


def built(op: str, args: Iterable[Term]) -> Term:
    """The operation on other arguments."""
    args = tuple(args)
    if op == "+":
        return add(*args)
    if op == "*":
        return multiply(*args)
    return power(*args) if op == "**" else function(op, *args)


@lru_cache(MANY)
def parts_of(t: Term) -> tuple[Term, ...]:
    """Every node, each after what it is made of."""
    seen: dict[Term, None] = {}
    stack = [t]
    while stack:
        node = stack[-1]
        waiting = [a for a in node.parts if a not in seen]
        if waiting:
            stack += reversed(waiting)
        else:
            stack.pop()
            seen[node] = None
    return tuple(seen)


def replaced(t: Term, by: Mapping[Term, Term]) -> Term:
    """`t` with some of its parts replaced."""
    done = dict(by)  # what is another one
    for node in parts_of(t):
        if node not in done and not done.keys().isdisjoint(node.parts):
            new = built(node.op, [done.get(a, a) for a in node.parts])
            if new is not node:
                done[node] = new
    return done.get(t, t)


def sides(t: Term) -> tuple[list[Term], list[Term]]:
    """The factors above and below the line."""
    above, below = list[Term](), list[Term]()
    for f in t.args if t.op == "*" else (t,):
        k = exponent(f)
        if f.op == "number":
            value = f.args[0]
            above += [number(value.numerator)] if value.numerator != 1 else []
            below += [number(value.denominator)] if value.denominator != 1 else []
        elif k is not None and k < 0:
            below.append(power(base(f)[0], number(-k)))
        else:
            above.append(f)
    return above, below


# multiplied out, over one denominator, and factored

TERMS = 40  # of a product that is multiplied out


def expanded(t: Term) -> Term:
    """Products of sums multiplied out, one level deep."""
    if t.op == "+":
        return add(*(expanded(a) if a.op in ("*", "**") else a for a in t.args))
    rows: list[tuple[Term, ...]] = []
    for f in t.args if t.op == "*" else (t,):
        b, _ = base(f)
        k = exponent(f)
        whole = k is not None and k.denominator == 1 and 1 <= k <= 3 and b.op == "+"
        rows += [b.args] * int(k) if whole and k is not None else [(f,)]
    if math.prod(map(len, rows)) > TERMS:
        return t
    products: list[tuple[Term, ...]] = [()]
    for row in rows:
        products = [(*p, f) for p in products for f in row]
    return add(*(multiply(*p) for p in products))


def together(t: Term) -> Term:
    """A sum over one denominator, the numerator multiplied out."""
    parts = [tuple(multiply(*fs) for fs in sides(a)) for a in t.args]
    below = ONE
    for _, under in parts:
        below = multiply(below, *sides(quotient(under, below))[0])
    return quotient(add(*(expanded(quotient(multiply(above, below), under)) for above, under in parts)), below)


def factored(t: Term) -> Term:
    """The powers that all terms of a sum share, in front: a**n*b + a**(n - 1)*c as a**(n - 1)*(a*b + c)."""
    terms = [dict(base(f) for f in (a.args if a.op == "*" else (a,)) if f.op != "number") for a in t.args]
    shared = ONE
    for b in terms[0]:
        if all(b in other for other in terms):
            apart = [add(other[b], negative(terms[0][b])) for other in terms]
            if all(g.op == "number" for g in apart):
                least = min(range(len(apart)), key=lambda k: apart[k].args[0])
                shared = multiply(shared, power(b, terms[least][b]))
    return t if shared is ONE else multiply(shared, add(*(quotient(a, shared) for a in t.args)))


def tidied(t: Term) -> Term:
    """On one line of fraction, if that is shorter."""
    plain = expanded(t) if t.op == "*" else t
    whole = together(plain) if plain.op == "+" else plain
    return min(t, whole, expanded(whole) if whole.op in ("*", "**") else whole, key=lambda form: form.size)


# from and to expressions

SIGNS = {"add": "+", "mul": "*", "pow": "**"}
GROUP = "?group"  # what is computed by itself: a product that others do not join


def term_of(root: Expr, called: Mapping[str, str] = MappingProxyType({})) -> Term:
    """An expression as a term. A decimal, an element and an index are leaves; `called` renames operators."""
    done: dict[Expr, Term] = {}
    stack = [root]
    while stack:
        node = stack[-1]
        args = node.args if isinstance(node, Apply) else ()
        waiting = [a for a in args if a not in done]
        if waiting:
            stack += reversed(waiting)
            continue
        stack.pop()
        parts = [done[a] for a in args]
        if is_exact(node) and isinstance(node, Const):
            done[node] = number(node.value)
        elif not isinstance(node, Apply):
            done[node] = leaf(node)
        elif node.op == "sub":
            done[node] = add(parts[0], negative(parts[1]))
        elif node.op == "neg":
            done[node] = negative(parts[0])
        elif node.op == "div":
            done[node] = quotient(*parts)
        else:
            op = called.get(node.op) or SIGNS.get(node.op, node.op)
            done[node] = built(op, parts) if parts else leaf(node)
    return done[root]


@lru_cache(MANY)
def expression(t: Term) -> Expr:
    """A term as an expression."""
    if t.op == "number":
        return const(t.args[0])
    if t.op == "leaf":
        return t.args[0]  # type: ignore[no-any-return]
    if t.op == "+":
        signed = [(expression(t_ if c >= 0 else negative(t_)), 1 if c >= 0 else -1) for t_, c in _signs(t.args)]
        first = next((k for k, (_, sign) in enumerate(signed) if sign > 0), 0)
        return signed_total([signed[first], *signed[:first], *signed[first + 1 :]])
    if t.op == "*":
        return _product(t)
    if t.op == "**":
        b, e = t.args
        k = e.args[0] if e.op == "number" else None
        if k is not None and k < 0:
            return fraction((), [expression(power(b, number(-k)))])
        if k == Fraction(1, 2):
            return apply("sqrt", expression(b))
        if k is not None and k.denominator == 2:
            return apply("sqrt", expression(b)) ** const(2 * k)
        return expression(b) ** expression(e)
    if t.op == GROUP:
        return expression(t.args[0])
    return apply(t.op, *map(expression, t.args))


def _signs(terms: Iterable[Term]) -> list[tuple[Term, Rational]]:
    return [(t, coefficient(t)[0]) for t in terms]


def _product(t: Term) -> Expr:
    above, below = sides(t)
    above.sort(key=_place)
    if above and above[0].op == "number" and above[0].args[0] < 0:
        return -expression(negative(t))
    return fraction(_powers(above), [product(_powers(below))] if below else ())


def _place(factor: Term) -> int:
    """Numbers come first, and a quotient, which stays one there; functions last: 2*a*sinh(t)."""
    if factor.op == GROUP:
        return 1 if sides(factor.args[0])[1] else 2
    return 0 if factor.op == "number" else 2 if factor.op in STRUCTURE else 3


def _powers(side: Iterable[Term]) -> list[Expr]:
    """Factors, equal ones as a power."""
    counts: dict[Expr, int] = {}
    for factor in map(expression, side):
        counts[factor] = counts.get(factor, 0) + 1
    return [f ** const(k) if k > 1 else f for f, k in counts.items()]
