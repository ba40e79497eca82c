"""Terms of a sum that are one product, however it was put together: g*(d*r) + (g*r)*d is 2*(g*(d*r)).

The chain rule makes them of each power that is written as a product. In short gradients the normal form finds them; a
long straight line is only cleaned, and here each of its sums is looked at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from random import Random

from ..expr import (
    Expr,
    base_of,
    const,
    factors,
    folded,
    fraction,
    is_exact,
    is_short,
    operator,
    postorder,
    signed_total,
    terms_of,
    transform,
    value_of,
    with_args,
    without_number,
)
from ..ir import Equation
from ..precision.search import LARGEST

SUMS = ("add", "sub", "neg")  # what terms are taken out of, as `terms_of` does
PRIME = 2**61 - 1  # two products have one print by chance once in 10**18; their factors are compared, too
Terms = list[tuple[Expr, int]]  # each with its sign


def with_like_terms(equations: Sequence[Equation]) -> Sequence[Equation]:
    """The equations with the terms of each sum that have the same factors as one."""
    nodes = list(postorder(*(e.body for e in equations)))
    read = Counter(a for n in nodes for a in n.args) + Counter(e.body for e in equations)
    within = {a for n in nodes if operator(n) in SUMS for a in n.args if operator(a) in SUMS and read[a] == 1}

    def terms(root: Expr) -> Terms:
        """Those of a sum, in order; a sum that others read, too, is one."""
        found, stack = Terms(), [(root, 1)]
        while stack:
            node, sign = stack.pop()
            if node is root or node in within:
                *first, last = node.args
                stack.append((last, sign if operator(node) == "add" else -sign))
                stack += ((a, sign) for a in first)
            else:
                found.append((node, sign))
        return found

    sums = [n for n in nodes if operator(n) in ("add", "sub") and n not in within]
    prints = _Prints()
    joined = {n: found for n in sums if (found := _joined(terms(n), prints)) is not None}
    done: dict[Expr, Expr] = {}

    def rebuilt(node: Expr) -> Expr:
        if node in joined:
            return folded(signed_total(joined[node]), done, rebuilt)
        args = tuple(done[a] for a in node.args)
        return node if args == node.args else with_args(node, args)

    return [e.with_body(folded(e.body, done, rebuilt)) for e in equations] if joined else equations


class _Prints:
    """A number for each product, equal where the factors are: their product, each a random one. To take all products
    of a long line apart would take the square of its length."""

    def __init__(self) -> None:
        self.known: dict[Expr, int] = {}
        self.random = Random(0)

    def __call__(self, product: Expr) -> int:
        return folded(product, self.known, self._print)

    def _print(self, node: Expr) -> int:
        match operator(node):
            case "mul":
                return self.known[node.args[0]] * self.known[node.args[1]] % PRIME
            case "div":
                return self.known[node.args[0]] * pow(self.known[node.args[1]], -1, PRIME) % PRIME
            case "pow" if is_exact(node.args[1]) and value_of(node.args[1]).denominator == 1:
                return pow(self.known[node.args[0]], int(value_of(node.args[1])), PRIME)
        return 1 if is_exact(node) else self.random.randrange(1, PRIME)


def _joined(terms: Terms, prints: _Prints) -> Terms | None:
    """The terms with those as one that have the same factors; None where all differ."""
    if len({prints(t) for t, _ in terms}) == len(terms):
        return None
    several: dict[frozenset[tuple[Expr, int]], list[tuple[Fraction, Expr]]] = {}
    for term, sign in terms:
        number, powers, bare = number_and_powers(term)
        several.setdefault(powers, []).append((sign * number, bare))
    if len(several) == len(terms):
        return None
    found = ((sum(c for c, _ in mine), mine) for mine in several.values())
    # as it is there already, if it is
    return [
        (const(abs(c)) * next((b for n, b in mine if abs(n) == 1), mine[0][1]), 1 if c > 0 else -1)
        for c, mine in found
        if c
    ]


def number_and_powers(term: Expr) -> tuple[Fraction, frozenset[tuple[Expr, int]], Expr]:
    """The number in a product, how often each of its other factors stands above the line, and it without the number."""
    number, *rest = without_number(*factors(term))
    powers = Counter[Expr]()
    for side, way in zip(rest, (1, -1), strict=True):
        for f in side:
            base, k = base_of(f)
            whole = is_exact(k) and value_of(k).denominator == 1
            powers[base if whole else f] += way * (int(value_of(k)) if whole else 1)
    return number, frozenset(powers.items()), term if number == 1 else fraction(*rest)


def written_alike(given: Iterable[Equation], equations: Iterable[Equation]) -> list[Equation]:
    """Equations, each sum in them as it was written first, here or in what is `given`, where the terms are the same in
    the same order, whatever the order of their factors: a*b + c for b*a + c, which is then computed once."""
    classes: dict[Expr, int] = {}
    numbers: dict[object, int] = {}
    first: dict[int, Expr] = {}

    def class_of(node: Expr) -> int:
        """The same number for all that is written alike."""
        made: object
        match operator(node):
            case "":
                made = node.key
            case "add" | "sub":
                made = "sum", *((classes[t], sign) for t, sign in terms_of(node))
            case "mul" | "div":
                sides = (Counter(classes[f] for f in side) for side in factors(node))
                made = "product", *(frozenset(side.items()) for side in sides)
            case op:
                made = op, *(classes[a] for a in node.args)
        return numbers.setdefault(made, len(numbers))

    def rewrite(node: Expr) -> Expr:
        asked = operator(node) in ("add", "sub")
        return first.setdefault(folded(node, classes, class_of), node) if asked else node

    def rewritten(e: Equation) -> Equation:
        return e.with_body(transform(e.body, rewrite)) if is_short(e.body, LARGEST) else e

    for e in given:
        rewritten(e)
    return [rewritten(e) for e in equations]
