"""Polynomials with integer coefficients: what integer expressions of sizes, options and indices are, like terms
collected."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from math import gcd, prod

from .nodes import ONE, ZERO, Apply, Const, Expr, Index, apply, const
from .traversal import postorder, substitute, with_args

LARGEST_PRODUCT = 10_000  # terms of a polynomial that are multiplied out

Monomial = tuple[Expr, ...]  # its factors, in the order of their making; () for 1


class Polynomial:
    """A sum of monomials with integer coefficients; equal where it is the same sum.

    terms    the coefficient of each monomial, none of them 0; the polynomial owns them
    symbols  what the monomials are products of: keys of nodes that are no sum, difference or product
    """

    __slots__ = ("_hash", "_symbols", "terms")

    def __init__(self, terms: dict[Monomial, int]) -> None:
        self.terms = terms
        self._symbols: frozenset[Expr] | None = None
        self._hash: int | None = None

    @property
    def symbols(self) -> frozenset[Expr]:
        if self._symbols is None:
            self._symbols = frozenset[Expr]().union(*self.terms)
        return self._symbols

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Polynomial) and self.terms == other.terms

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self.terms.items()))
        return self._hash

    def __add__(self, other: Polynomial | int, sign: int = 1) -> Polynomial:
        result = dict(self.terms)
        for m, c in (other.terms if isinstance(other, Polynomial) else {(): other}).items():
            result[m] = result.get(m, 0) + sign * c
            if not result[m]:
                del result[m]
        return Polynomial(result)

    def __sub__(self, other: Polynomial | int) -> Polynomial:
        return self.__add__(other, -1)

    def __rsub__(self, other: int) -> Polynomial:
        return constant(other) - self

    def __neg__(self) -> Polynomial:
        return Polynomial({m: -c for m, c in self.terms.items()})

    def __mul__(self, other: Polynomial | int) -> Polynomial:
        if isinstance(other, int):
            return Polynomial({m: c * other for m, c in self.terms.items()} if other else {})
        result: dict[Monomial, int] = {}
        for m, c in self.terms.items():
            for n, d in other.terms.items():
                both = tuple(sorted((*m, *n), key=lambda s: s.serial)) if m and n else m or n
                result[both] = result.get(both, 0) + c * d
                if not result[both]:
                    del result[both]
        return Polynomial(result)

    __radd__, __rmul__ = __add__, __mul__

    @property
    def number(self) -> int | None:
        """The value of a constant; None where a symbol is left."""
        return None if self.symbols else self.terms.get((), 0)

    def split(self, symbol: Expr) -> tuple[Polynomial, Polynomial]:
        """(a, rest) with self = a*symbol + rest; what is not linear in the symbol keeps it in a."""
        if symbol not in self.symbols:
            return constant(0), self
        a: dict[Monomial, int] = {}
        for m, c in self.terms.items():
            if symbol in m:
                at = m.index(symbol)
                a[m[:at] + m[at + 1 :]] = c
        return Polynomial(a), Polynomial({m: c for m, c in self.terms.items() if symbol not in m})

    def at(self, values: Mapping[Expr, Expr]) -> Polynomial | None:
        """With expressions for indices and names, also inside of the symbols; None if that is no polynomial."""
        result: Polynomial | None = constant(0)
        for m, c in self.terms.items():
            factors = [polynomial(substitute(s, values)) for s in m]
            known = [f for f in factors if f is not None]
            if len(known) < len(factors) or result is None:
                return None
            result = result + prod(known, start=constant(c))
        return result

    def primitive(self) -> Polynomial:
        """Divided by the common factor of its numbers, the constant rounded down: not negative at the same points."""
        common = gcd(*(c for m, c in self.terms.items() if m))
        return Polynomial({m: c // common for m, c in self.terms.items()}) if common > 1 else self

    def expression(self) -> Expr:
        """As an expression, in an order that depends on nothing but the names: `stride * i + r - padding`."""
        shown = {s: _written(s) for s in self.symbols}
        rank = {s: (isinstance(s, Index), repr(w)) for s, w in shown.items()}
        result = ZERO
        order = sorted(
            self.terms.items(), key=lambda t: (t[1] < 0, not t[0], -len(t[0]), sorted(rank[s] for s in t[0]))
        )
        for m, c in order:
            term: Expr = const(abs(c))
            for s in sorted(m, key=rank.__getitem__):
                term = term * shown[s]
            result = result + term if c > 0 else result - term
        return result

    def condition(self) -> Expr:
        """That it is not negative: `i + 1 <= n` for n - 1 - i."""
        if all(c > 0 for c in self.terms.values()):
            return apply("ge", self.expression(), ZERO)
        below = Polynomial({m: -c for m, c in self.terms.items() if c < 0})
        above = Polynomial({m: c for m, c in self.terms.items() if c > 0})
        return apply("le", below.expression(), above.expression())

    def __repr__(self) -> str:
        return repr(self.expression())


@lru_cache(maxsize=2**13)
def _written(symbol: Expr) -> Expr:
    """A symbol with its operands in the order of `expression`: a key has them in the order of their making."""
    parts = [polynomial(a) for a in symbol.args]
    args = [a if p is None else p.expression() for a, p in zip(symbol.args, parts, strict=True)]
    return with_args(symbol, args) if args else symbol


def constant(value: Polynomial | int) -> Polynomial:
    """A number as a polynomial."""
    return value if isinstance(value, Polynomial) else Polynomial({(): value} if value else {})


def symbol(node: Expr) -> Polynomial:
    """The polynomial that is one symbol."""
    return Polynomial({(node.key,): 1})


@lru_cache(maxsize=2**13)
def polynomial(s: Expr) -> Polynomial | None:
    """An integer expression as a polynomial; None if it is none with integer coefficients, or would be too large."""
    done: dict[Expr, Polynomial | None] = {}
    for node in postorder(s):
        done[node] = _of(node, [done[a] for a in node.args])
    return done[s]


def _of(node: Expr, parts: list[Polynomial | None]) -> Polynomial | None:
    if isinstance(node, Const):
        return constant(int(node.value)) if node.value.denominator == 1 else None
    if isinstance(node, Apply) and node.op == "floordiv" and node.args[1] is ONE:
        return parts[0]
    if not isinstance(node, Apply) or node.op not in ("add", "sub", "mul", "neg"):
        return symbol(node)
    known = [p for p in parts if p is not None]
    if len(known) < len(parts) or node.op == "mul" and prod(len(p.terms) for p in known) > LARGEST_PRODUCT:
        return None
    a, b = known if len(known) == 2 else (constant(0), known[0])
    return a * b if node.op == "mul" else a + b if node.op == "add" else a - b
