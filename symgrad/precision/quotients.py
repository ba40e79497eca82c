"""Quotients of polynomials in many symbols, with rational coefficients; FLINT computes with them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from ..later import flint

Polynomial: TypeAlias = Any  # flint.fmpq_mpoly; the type checker knows none of FLINT's
Ring: TypeAlias = Any  # flint.fmpq_mpoly_ctx


def ring(symbols: list[str]) -> Ring:
    """The polynomials in so many symbols; their terms stand in the order of the symbols' powers, the highest first."""
    return flint.fmpq_mpoly_ctx.get(symbols, flint.Ordering.lex)


class Quotient:
    """`above`/`below`, two polynomials of one ring, in lowest terms; 1 is below what is a polynomial.

    ZeroDivisionError if 0 is below.
    """

    __slots__ = ("above", "below")

    def __init__(self, above: Polynomial, below: Polynomial | None = None) -> None:
        if below is None:
            below = above.context().constant(1)
        elif not (common := above.gcd(below)).is_one():
            above, below = above / common, below / common
        if below.is_constant():
            above, below = above / below, below / below
        self.above, self.below = above, below

    def __add__(self, other: Quotient) -> Quotient:
        return Quotient(self.above * other.below + other.above * self.below, self.below * other.below)

    def __sub__(self, other: Quotient) -> Quotient:
        return self + -other

    def __neg__(self) -> Quotient:
        return Quotient(-self.above, self.below)

    def __mul__(self, other: Quotient) -> Quotient:
        return Quotient(self.above * other.above, self.below * other.below)

    def __truediv__(self, other: Quotient) -> Quotient:
        return Quotient(self.above * other.below, self.below * other.above)

    def __pow__(self, k: int) -> Quotient:
        above, below = (self.above, self.below) if k >= 0 else (self.below, self.above)
        return Quotient(above ** abs(k), below ** abs(k))

    def symbols(self) -> list[int]:
        """The symbols that stand in it, by number."""
        degrees = zip(self.above.degrees(), self.below.degrees(), strict=True)
        return [k for k, found in enumerate(degrees) if max(found) > 0]  # all degrees of 0 are -1

    def with_symbol(self, symbol: int, value: Quotient) -> Quotient:
        """With `value` in the place of a symbol."""
        above, below = (
            sum((Quotient(part) * value**k for k, part in by_power(p, symbol)), Quotient(p - p))
            for p in (self.above, self.below)
        )
        return above / below


def with_square(found: Polynomial, symbol: int, square: Quotient) -> Quotient:
    """A polynomial with `square` in the place of a symbol's square."""
    root, nothing = Quotient(found.context().gen(symbol)), Quotient(found - found)
    parts = ((Quotient(part), k) for k, part in by_power(found, symbol))
    return sum((part * square ** (k // 2) * root ** (k % 2) for part, k in parts), nothing)


def by_power(found: Polynomial, symbol: int) -> Iterator[tuple[int, Polynomial]]:
    """The powers of a symbol, the highest first, and what each is multiplied with."""
    parts: dict[int, dict[tuple[int, ...], Any]] = {}
    for powers, number in found.terms():
        parts.setdefault(int(powers[symbol]), {})[(*powers[:symbol], 0, *powers[symbol + 1 :])] = number
    for power in sorted(parts, reverse=True):
        yield power, found.context().from_dict(parts[power])


def of_used(*found: Polynomial) -> list[Polynomial]:
    """The same polynomials, in the ring of what stands in one of them: FLINT's factors take longer in a larger ring."""
    names = found[0].context().names()
    used = [name for k, name in enumerate(names) if any(p.degrees()[k] for p in found)]
    small = ring(used)
    return [p.project_to_context(small) for p in found]
