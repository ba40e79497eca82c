"""Special functions at mpmath's precision, computed by Arb (python-flint): mpmath takes up to seconds for a value.

Arb's balls are numbers with a bound of their error. Where there is none (at a pole, at infinity, where the value is not
real), mpmath is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..later import flint, mp

SPARE = 8  # bits that are certain beyond those that are asked for
MORE = (40, 240, 1440, 6000)  # bits beyond them to compute with, until they are: 1e300 takes a thousand


def by_arb(compute: Callable[..., Any], otherwise: Callable[..., Any]) -> Callable[..., Any]:
    """The function of mpmath's numbers that `compute` is of balls; `otherwise` where there is no ball of it."""

    def value(*args: Any) -> Any:
        for more in MORE if all(map(mp.isfinite, args)) else ():
            with flint.ctx.workprec(mp.prec + more):
                found = compute(*map(_ball, args))
            if found.is_finite() and found.rel_accuracy_bits() > mp.prec + SPARE:
                digits, exponent = found.mid().man_exp()
                return +mp.ldexp(int(digits), int(exponent))
        return otherwise(*args)

    return value


def _ball(x: Any) -> Any:
    """A number of mpmath's, exactly; an order stays an int."""
    if isinstance(x, int):
        return x
    negative, digits, exponent, _ = mp.convert(x)._mpf_
    return flint.arb((-int(digits) if negative else int(digits), exponent))


def bessel_k(n: int, x: Any, scaled: bool = False) -> Any:
    """K(x) of an order, or exp(x) K(x), in balls: by that of order 0, as I0 K1 + I1 K0 = 1/x. Arb's own takes minutes
    where x is some hundreds."""
    low = x.bessel_k(0, scaled=scaled)
    if n == 0:
        return low
    high = (1 / x - x.bessel_i(1, scaled=scaled) * low) / x.bessel_i(0, scaled=scaled)
    for order in range(1, n):
        low, high = high, low + 2 * order / x * high
    return high


def _polygamma(n: int, x: Any) -> Any:
    return x.digamma() if n == 0 else (-1) ** (n + 1) * flint.arb(n + 1).gamma() * flint.arb(n + 1).zeta(x)


def _named(name: str, compute: Callable[..., Any]) -> Callable[..., Any]:
    return by_arb(compute, lambda *args: getattr(mp, name)(*args))


_COMPUTED: Mapping[str, Callable[..., Any]] = {
    "besseli": lambda n, x: x.bessel_i(n),
    "besselj": lambda n, x: x.bessel_j(n),
    "besselk": bessel_k,
    "bessely": lambda n, x: x.bessel_y(n),
    "erfc": lambda x: x.erfc(),
    "erfinv": lambda x: x.erfinv(),
    "psi": _polygamma,
    "zeta": lambda s, x: flint.arb(s).zeta(x),
}
# by their names in mpmath, which SymPy prints its derivatives in
BY_ARB: Mapping[str, Callable[..., Any]] = {name: _named(name, compute) for name, compute in _COMPUTED.items()}
