"""Values of forward in derivatives: a sum of products that is a number times one of them is read by its name.

The derivative of a product of quaternions, by a perturbation of the last of them, is half the product itself, in
another order; that of an entry of a rotation matrix is another entry. Both are found here, where sums of products are
multiplied out and like terms collected.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import gcd

from ..expr import ZERO, Apply, Const, Expr, const, folded, is_exact, postorder, ref
from ..expr.polynomials import Polynomial, constant, symbol
from ..ir import Equation

Scaled = tuple[Polynomial, int]  # a sum of products with whole coefficients, and what it is divided by


class Recognised:
    """The values of some equations, each of which writes one element everywhere."""

    def __init__(self, equations: Sequence[Equation]) -> None:
        self._done: dict[Expr, Scaled | None] = {}
        self._known: dict[Polynomial, tuple[Expr, Fraction]] = {}
        # more factors are none of the values, or one whose sum of products is longer than all of them as they stand
        most = sum(isinstance(node, Apply) for node in postorder(*(e.body for e in equations)))
        self._most = max((n for e in equations if (n := _factors(e.body, most)) <= most), default=0)
        for e in equations:
            found = self._primitive(e.body)
            if found is not None and found[0].symbols:
                self._known.setdefault(found[0], (ref(e.target, *e.subscripts), found[1]))

    def __call__(self, body: Expr) -> Expr:
        """What `body` is, if it is a number times a value; otherwise itself."""
        found = self._primitive(body) if isinstance(body, Apply) else None
        if found is None:
            return body
        if not found[0].terms:
            return ZERO
        known = self._known.get(found[0])
        return body if known is None else _times(found[1] / known[1], known[0])

    def _primitive(self, body: Expr) -> tuple[Polynomial, Fraction] | None:
        """A sum of products without a common factor, its first coefficient positive; and that factor."""
        found = folded(body, self._done, self._multiplied_out)
        if found is None or not found[0].terms:
            return None if found is None else (found[0], Fraction(1))
        terms, below = found[0].terms, found[1]
        first = min(terms, key=lambda m: [s.serial for s in m])
        common = gcd(*terms.values()) * (1 if terms[first] > 0 else -1)
        return Polynomial({m: c // common for m, c in terms.items()}), Fraction(common, below)

    def _multiplied_out(self, node: Expr) -> Scaled | None:
        if isinstance(node, Const):
            return (constant(node.value.numerator), node.value.denominator) if is_exact(node) else None
        if not isinstance(node, Apply) or node.op not in ("add", "sub", "mul", "neg"):
            return symbol(node), 1
        parts = [self._done[a] for a in node.args]
        if any(p is None for p in parts):
            return None
        (a, below), *others = (p for p in parts if p is not None)
        if not others:
            return -a, below
        ((b, other),) = others
        if node.op == "mul":
            counts = ((len(p.terms), sum(map(len, p.terms))) for p in (a, b))
            return (a * b, below * other) if _of_product(*counts)[1] <= self._most else None
        left, right = a * other, b * below
        return left + right if node.op == "add" else left - right, below * other


def _times(factor: Fraction, value: Expr) -> Expr:
    if abs(factor) == 1:
        return value if factor > 0 else -value
    return const(factor) * value


def _of_product(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    """How many products, and how many factors in all of them, a product of two sums of products has."""
    return a[0] * b[0], a[0] * b[1] + b[0] * a[1]


def _factors(body: Expr, most: int) -> int:
    """How many factors the products of a sum of products have together, if none is collected; or more than `most`."""

    def rule(node: Expr) -> tuple[int, int]:
        if not isinstance(node, Apply) or node.op not in ("add", "sub", "mul", "neg"):
            return 1, 0 if isinstance(node, Const) else 1
        parts = [done[a] for a in node.args]
        products, factors = _of_product(*parts) if node.op == "mul" else map(sum, zip(*parts, strict=True))
        return min(products, most + 1), min(factors, most + 1)

    done: dict[Expr, tuple[int, int]] = {}
    return folded(body, done, rule)[1]
