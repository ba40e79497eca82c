"""The first terms of the Taylor series of an expression near a value of one of the numbers that it reads, though the
expression may have no value there: (exp(-a*t) - exp(-b*t))/(b - a) near a == b is t*exp(-b*t) at first.

A series is computed term by term, as truncated Laurent series are. Whether a coefficient is 0, numbers tell.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from ..expr import (
    ARGUMENT,
    ONE,
    ZERO,
    Apply,
    Expr,
    Ref,
    apply,
    const,
    factors,
    fraction,
    is_exact,
    operator,
    refs,
    select,
    substitute,
    total,
    transform,
    without_sign,
)
from ..expr import values as nodes_of
from ..expr.nodes import value_of
from ..ops import OPS
from ..records import dataclass
from .chain import slopes

LENGTHS = (2, 3, 4, 6, 8)  # coefficients that are computed, until enough are left: each 0/0 takes some

Number = Callable[[Expr], Fraction | float | None]


@dataclass(frozen=True, slots=True)
class Sum:
    """What an element that is read is the sum of, or the logarithm of the sum; and the sum of something else in its
    place."""

    body: Expr
    is_logarithm: bool
    of: Callable[[Expr], Expr]


def _is_condition(node: Expr) -> bool:
    return isinstance(node, Apply) and OPS[node.op].result == "bool"


def _as_power(node: Expr) -> Expr:
    """exp(2*log(x)) as x**2, of an x that has a logarithm."""
    inner, negative = without_sign(node.args[0]) if operator(node) == "exp" else (node, False)
    above, below = factors(inner)
    base = next((f.args[0] for f in above if operator(f) == "log"), None)
    if inner is node or base is None:
        return node
    exponent = fraction([f for f in above if f is not apply("log", base)], below)
    return base ** (-exponent if negative else exponent)


@dataclass(frozen=True, slots=True)
class _Series:
    """The sum of coefficients[k] * d**(order + k), the first of them other than 0 if any is known to be."""

    order: int
    coefficients: tuple[Expr, ...]

    @property
    def end(self) -> int:
        """The power of what was left out."""
        return self.order + len(self.coefficients)

    def at(self, power: int) -> Expr:
        k = power - self.order
        return self.coefficients[k] if 0 <= k < len(self.coefficients) else ZERO


class _Unknown(Exception):
    """There is no series, or none that is found."""


class _TooShort(Exception):
    """All coefficients that are known are 0."""


def first_terms(
    root: Expr, of: Ref, near: Expr, count: int, number: Number, sums: Mapping[Ref, Sum]
) -> Sequence[Expr] | None:
    """The coefficients of 1, d, d**2, ... in `root`, d being `of - near`; None if it has others, or none is found.

    of      what the expression is a function of
    near    its value, which does not depend on it
    number  the number that an expression is wherever it has a value; None if it is no constant, NaN if it has none
    sums    what is read that depends on `of`, too, each after those that it reads
    """
    for length in LENGTHS:
        try:
            found = _Expansion(of, near, length, number, sums).series(root)
        except _TooShort:
            continue
        except _Unknown:
            return None
        if found.order < 0 and found.coefficients[0] is not ZERO:
            return None
        if found.end >= count:
            return [found.at(k) for k in range(count)]
    return None


class _Expansion:
    """Series of a length, of the nodes of an expression."""

    def __init__(self, of: Ref, near: Expr, length: int, number: Number, sums: Mapping[Ref, Sum]) -> None:
        self.of, self.near, self.length, self.number, self.sums = of, near, length, number, sums
        self.moving = {of, *sums}
        self.done: dict[Expr, _Series] = {}

    def moves(self, node: Expr) -> bool:
        return not self.moving.isdisjoint(refs(node))

    def series(self, root: Expr) -> _Series:
        for node in nodes_of(root, closed=_is_condition):
            if node not in self.done and not _is_condition(node):
                self.done[node] = self._of(node)
        return self.done[root]

    def _of(self, node: Expr) -> _Series:
        if node is self.of:
            return self._trimmed(0, [self.near, ONE])
        if isinstance(node, Ref) and node in self.sums:
            return self._summed(self.sums[node])
        if not self.moves(node):
            return self._trimmed(0, [node])
        assert isinstance(node, Apply)
        args = [self.done[a] for a in node.args if a in self.done]
        match node.op:
            case "neg":
                return self._scaled(args[0], -ONE)
            case "add":
                return self._sum(*args)
            case "sub":
                return self._sum(args[0], self._scaled(args[1], -ONE))
            case "mul":
                return self._product(*args)
            case "div":
                return self._quotient(*args)
            case "pow":
                return self._power(node, *args)
            case "select":
                return self._choice(*node.args)
        row = OPS[node.op]
        moving = [k for k, a in enumerate(node.args) if self.moves(a)]
        if len(moving) != 1 or row.derivative is None or row.kinks:
            raise _Unknown
        outer = apply(node.op, *(ARGUMENT if k in moving else a for k, a in enumerate(node.args)))
        return self._composed(outer, args[moving[0]])

    def _trimmed(self, order: int, coefficients: Sequence[Expr]) -> _Series:
        """With numbers in place of what is one, and without those that are 0 in front: what is not known to be other
        than 0 is not divided by."""
        known = [self._known(c) for c in coefficients]
        while known and known[0] is ZERO:
            known, order = known[1:], order + 1
        return _Series(order, (*known, *[ZERO] * (self.length - len(known)))[: self.length])

    def _known(self, c: Expr) -> Expr:
        found = None if is_exact(c) else self.number(c)
        if isinstance(found, float):
            raise _Unknown
        return c if found is None else const(found)

    def _scaled(self, a: _Series, by: Expr) -> _Series:
        return _Series(a.order, tuple(by * c for c in a.coefficients))

    def _sum(self, *terms: _Series) -> _Series:
        start, end = min(t.order for t in terms), min(t.end for t in terms)
        return self._cut(start, [total(t.at(k) for t in terms) for k in range(start, end)])

    def _cut(self, order: int, coefficients: Sequence[Expr]) -> _Series:
        """A result, which is no longer than it is known."""
        found = self._trimmed(order, coefficients)
        end = order + len(coefficients)
        if found.order >= end:
            return _Series(end - 1, (ZERO,))
        return _Series(found.order, found.coefficients[: end - found.order])

    def _product(self, a: _Series, b: _Series) -> _Series:
        length = min(len(a.coefficients), len(b.coefficients))
        terms = [total(a.coefficients[j] * b.coefficients[k - j] for j in range(k + 1)) for k in range(length)]
        return self._cut(a.order + b.order, terms)

    def _quotient(self, a: _Series, b: _Series) -> _Series:
        length = min(len(a.coefficients), len(b.coefficients))
        first, *rest = b.coefficients
        if first is ZERO:
            raise _TooShort
        found: list[Expr] = []
        for k in range(length):
            before = total(found[k - j] * rest[j - 1] for j in range(1, k + 1))
            found.append((a.coefficients[k] - before) / first)
        return self._cut(a.order - b.order, found)

    def _power(self, node: Apply, *args: _Series) -> _Series:
        base, exponent = node.args
        if self.moves(exponent):
            power = self._product(args[-1], self._composed(apply("log", ARGUMENT), self.done[base]))
            return self._composed(apply("exp", ARGUMENT), power)
        k = value_of(exponent) if is_exact(exponent) else None
        if k is not None and k.denominator == 1 and abs(k) <= self.length:
            one = self._trimmed(0, [ONE])
            found = one
            for _ in range(abs(int(k))):
                found = self._product(found, self.done[base])
            return found if k >= 0 else self._quotient(one, found)
        return self._composed(ARGUMENT**exponent, self.done[base])

    def _choice(self, condition: Expr, then: Expr, otherwise: Expr) -> _Series:
        a, b = self.done[then], self.done[otherwise]
        if self.moves(condition):
            holds = self._holds(condition)
            if holds is None:
                raise _Unknown
            return a if holds else b
        start, end = min(a.order, b.order), min(a.end, b.end)
        return self._cut(start, [select(condition, a.at(k), b.at(k)) for k in range(start, end)])

    def _holds(self, condition: Expr) -> bool | None:
        """Whether a condition holds beside the value; None if nothing tells."""
        op, args = (condition.op, condition.args) if isinstance(condition, Apply) else ("", ())
        if op == "not":
            inner = self._holds(args[0])
            return None if inner is None else not inner
        if op in ("and", "or"):
            each = [*map(self._holds, args)]
            return (op == "or") if (op == "or") in each else None if None in each else op == "and"
        if op in ("eq", "ne") and self.moves(condition):
            apart = self.series(args[0] - args[1])
            return None if apart.coefficients[0] is ZERO else op == "ne"
        return None

    def _summed(self, some: Sum) -> _Series:
        inner = self.series(apply("exp", some.body) if some.is_logarithm else some.body)
        found = self._cut(inner.order, [some.of(c) for c in inner.coefficients])
        return self._composed(apply("log", ARGUMENT), found) if some.is_logarithm else found

    def _composed(self, outer: Expr, inner: _Series) -> _Series:
        """A function of ARGUMENT, of a series that has a value."""
        if inner.order < 0:
            raise _Unknown
        start, length = inner.at(0), inner.end
        found, power, factor = [ZERO] * length, self._trimmed(0, [ONE]), outer
        for k in range(length):
            if k:
                rest = self._cut(1, [inner.at(j) for j in range(1, length)])
                power, factor = self._product(power, rest), dict(slopes(factor)).get(ARGUMENT, ZERO)
            scale = self._known(transform(substitute(factor, {ARGUMENT: start}), _as_power)) / math.factorial(k)
            found = [c + scale * power.at(j) for j, c in enumerate(found)]
        return self._cut(0, found)
