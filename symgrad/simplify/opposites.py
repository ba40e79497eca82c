"""Expressions that are equal but for their sign and the order of factors and terms: -a*(x - y) and (y - x)*a."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random

from ..expr import ZERO, Apply, Const, Expr, folded, operator
from ..ops import OPS
from ..records import dataclass

PRIME = 2**61 - 1  # sums are taken modulo it: that two that differ agree by chance has a probability of 1/PRIME


@dataclass(frozen=True)
class Signed:
    """What an expression is, as a number, and its sign; of a product also the sums of what stands above and below the
    line, of a sum also that of its terms."""

    mark: int
    sign: int
    above: int
    below: int
    terms: int


def signs() -> Callable[[Expr], Signed]:
    """What tells expressions apart but for a sign, of several alike: each operation is looked at once.

    A product is the sum of what was drawn for its factors, a sum that of its terms, so that no order counts and nothing
    is taken apart (R. M. Karp and M. O. Rabin, Efficient randomized pattern-matching algorithms, 1987).
    """
    draw, drawn = Random(0), dict[object, int]()
    done: dict[Expr, Signed] = {}

    def mark(*what: object) -> int:
        if what not in drawn:
            drawn[what] = draw.randrange(PRIME)
        return drawn[what]

    def atom(found: int, sign: int = 1) -> Signed:
        return Signed(found, sign, found, 0, sign * found)

    def rule(node: Expr) -> Signed:
        op, args = operator(node), [done[a] for a in node.args]
        if op == "neg":
            (a,) = args
            return Signed(a.mark, -a.sign, a.above, a.below, -a.terms)
        if op in ("mul", "div"):
            a, b = args
            over, under = (b.above, b.below) if op == "mul" else (b.below, b.above)
            above, below = (a.above + over) % PRIME, (a.below + under) % PRIME
            found, sign = mark("product", above, below), a.sign * b.sign
            return Signed(found, sign, above, below, sign * found)
        if op in ("add", "sub"):
            a, b = args
            terms = (a.terms + (b.terms if op == "add" else -b.terms)) % PRIME
            sign = 1 if 2 * terms < PRIME else -1
            found = mark("sum", sign * terms % PRIME)
            return Signed(found, sign, found, 0, terms)
        if op == "select":
            _, a, b = args
            sign = b.sign if node.args[1] is ZERO else a.sign
            return atom(mark("select", node.args[0], sign * a.terms % PRIME, sign * b.terms % PRIME), sign)
        if isinstance(node, Const):
            return atom(mark(abs(node.value)), -1 if node.value < 0 else 1)
        if isinstance(node, Apply):
            parts = [(a.mark, a.sign) for a in args]
            return atom(mark(node.op, *(sorted(parts) if OPS[node.op].commutative else parts)))
        return atom(mark(node))

    return partial(folded, done=done, rule=rule)
