"""Fourier-Motzkin elimination: what affine atoms say of the other symbols when one may have any value.

Every lower bound of the symbol is at most every upper one: `a*g + b*f >= 0` for a*s + f >= 0 and g - b*s >= 0. Over
the integers that is exact where a or b is 1; else it is too large (the real shadow), or, with (a-1)*(b-1) taken off,
too small (the dark shadow; W. Pugh, The Omega test, 1991). A coefficient of unknown sign drops its atom: too large.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import gcd

from ..expr import Expr
from ..expr.polynomials import Polynomial
from .atoms import EQ, GE, NE, NEVER, Affine
from .facts import Facts

ATOMS = 120  # left by one elimination, each of which may square their number; no function of the library has over 31


class TooMany(Exception):
    """An elimination leaves more than ATOMS atoms: nothing is proved by it."""


def tightened(form: Polynomial, facts: Facts) -> Polynomial:
    """Not negative at the same integers: divided by what is common to its terms and positive."""
    for s in () if () in form.terms else form.symbols:
        while form.terms and all(s in m for m in form.terms) and facts.sign(Polynomial({(s,): 1})) == 1:
            form, _ = form.split(s)
    return form.primitive()


def tidy(atoms: Iterable[Affine], facts: Facts, known: Sequence[Affine] = ()) -> list[Affine]:
    """Equalities first, then inequalities without those that follow from the facts or from one other alone, then `!=`.

    What cannot hold is NEVER, alone. The atoms `known` are tidy, and come before the others.
    """
    equal: dict[Polynomial, None] = {a.form: None for a in known if a.relation == EQ}
    apart: dict[Polynomial, None] = {a.form: None for a in known if a.relation == NE}
    alike: dict[object, list[Polynomial]] = {}  # by what decides whether they can be compared
    equations, old = len(equal), {a.form for a in known if a.relation == GE}
    for form in (a.form for a in known if a.relation == GE):
        alike.setdefault(facts.unbounded(form), []).append(form)
    for atom in atoms:
        form = atom.form
        if atom.relation == GE:
            form = tightened(form, facts)
            unbounded = facts.unbounded(form)
            if not unbounded and facts.negative(form):
                return [NEVER]
            others = alike.setdefault(unbounded, [])
            follows = not unbounded and facts.nonnegative(form)
            if follows or form in others or any(facts.nonnegative(form - k) for k in others):
                continue
            others[:] = [*(k for k in others if not facts.nonnegative(k - form)), form]
        elif not form.terms:
            if atom.relation == NE:
                return [NEVER]
        elif facts.sign(form) or _has_remainder(form):  # never 0
            if atom.relation == EQ:
                return [NEVER]
        else:
            found = equal if atom.relation == EQ else apart
            if -form not in found:
                found[form] = None
    kept = {k: None for others in alike.values() for k in others}
    if len({k.symbols for k in (*kept, *equal, *apart)}) < len(kept) + len(equal) + len(apart):
        never = {-k - 1 for k in kept if k not in old or len(equal) > equations}
        zero = {*equal, *(-e for e in equal)}
        if not never.isdisjoint(kept) or not never.isdisjoint(zero):
            return [NEVER]
        if any(a in zero or a in kept and -a in kept for a in apart):  # at least 0, and at most
            return [NEVER]
    return [*(Affine(e, EQ) for e in equal), *map(Affine, kept), *(Affine(a, NE) for a in apart)]


def _has_remainder(form: Polynomial) -> bool:
    """Whether the constant is no multiple of what all other numbers are multiples of."""
    return form.terms.get((), 0) % gcd(*(c for m, c in form.terms.items() if m)) != 0


def eliminated(atoms: Sequence[Affine], symbol: Expr, facts: Facts, dark: bool = False) -> tuple[list[Affine], bool]:
    """`there is a value of symbol with: atoms`, and whether that is exact over the integers.

    If not it is too large, or, with `dark`, too small. The atoms are tidy, and so is what is returned. Raises TooMany.
    """
    mine = {a: a.form.split(symbol) for a in atoms if symbol in a.form.symbols}
    if not mine:
        return list(atoms), True
    rest = [a for a in atoms if symbol not in a.form.symbols]
    equations = [a for a in mine if a.relation == EQ]
    for e in sorted(equations, key=lambda e: abs(mine[e][0].number or 2) != 1):
        a, f = mine.pop(e)
        sign = facts.sign(a)
        if not sign or symbol in a.symbols:
            mine[Affine(e.form)], mine[Affine(-e.form)] = (a, f), (-a, -f)
            continue
        a, f = (a, f) if sign > 0 else (-a, -f)
        if dark and a.number != 1:
            return [NEVER], False
        found = [Affine(a * g - b * f, other.relation) for other, (b, g) in mine.items()]
        return tidy(found, facts, rest), a.number == 1
    exact = all(a.relation == GE for a in mine)
    if dark and not exact:
        return [NEVER], False
    found = []
    lower: list[tuple[Polynomial, Polynomial]] = []
    upper: list[tuple[Polynomial, Polynomial]] = []
    unsigned: list[tuple[Polynomial, Polynomial]] = []
    for a, f in (part for atom, part in mine.items() if atom.relation == GE):
        strict = facts.sign(a)
        sign = strict or facts.direction(a)
        if not strict or symbol in a.symbols:
            exact = False
            if dark:
                return [NEVER], False
        if not sign or symbol in a.symbols:
            found += [Affine(f + g) for b, g in unsigned if a == -b]  # whatever the sign
            unsigned.append((a, f))
        else:
            (lower if sign > 0 else upper).append((a if sign > 0 else -a, f))
    for a, f in lower:
        for b, g in upper:
            sharp = a.number == 1 or b.number == 1
            exact = exact and sharp
            form = f + g if a == b else a * g + b * f
            if dark and not sharp:
                form = (f + g) * a - (a - 1) * (a - 1) if a == b else form - (a - 1) * (b - 1)
            found.append(Affine(form, GE))
    rest = tidy(found, facts, rest)
    if len(rest) > ATOMS:
        raise TooMany
    return rest, exact
