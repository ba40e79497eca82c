"""Formulas as fractions of functions of one part of them, u: what is put together to be one, and what is apart."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from ..expr import (
    ONE,
    Apply,
    Const,
    Expr,
    apply,
    base_of,
    const,
    factors,
    fraction,
    is_exact,
    operator,
    operators,
    postorder,
    substitute,
    terms_of,
    value_of,
    without_number,
)
from ..numerics.taylor import X, coefficients
from ..ops import OPS
from ..ops.row import unguarded

MOST = 6  # factors as which a power is read, at most
Sides = tuple[tuple[Expr, ...], tuple[Expr, ...]]  # the factors of a fraction, above and below the line


@lru_cache(maxsize=4096)
def function_of(u: Expr, node: Expr) -> Expr | None:
    """`node` as a formula of X in place of u; None if it depends on anything else, or is not smooth."""
    node = unguarded(node)
    stack, seen = [node], {u, X}
    while stack:  # most are none: told by the first leaf that is another one
        at = stack.pop()
        if at not in seen:
            seen.add(at)
            if not (isinstance(at, Const) or (isinstance(at, Apply) and OPS[at.op].smooth)):
                return None
            stack.extend(at.args)
    return substitute(node, {u: X})


def divisors(node: Expr) -> list[Expr]:
    """What stands below the lines of a product, as it is written: (w*x)."""
    found: list[Expr] = []
    while isinstance(node, Apply) and node.op in ("mul", "div"):
        a, b = node.args
        if node.op == "div" and isinstance(b, Apply) and b.op == "mul":
            found.append(b)
        node = a
    return found


def gather(below: list[Expr], u: Expr) -> None:
    """Put the product u together, whose factors stand below the line."""
    mine = factors(u)[0] if isinstance(u, Apply) and u.op == "mul" else []
    if mine and all(below.count(f) >= mine.count(f) for f in mine):
        for f in mine:
            below.remove(f)
        below.append(u)


def repeated(node: Expr) -> list[Expr]:
    """The factors of a whole power."""
    base, k = base_of(node)
    times = value_of(k) if is_exact(k) else 1
    return [base] * int(times) if 1 < times <= MOST and times.denominator == 1 else [node]


def gathered(u: Expr, node: Expr) -> Expr:
    """A product with u put together in it: exp(x/a)*(x/a) for x*exp(x/a)/a, and 2*(x/2)*exp(x/2) for x*exp(x/2)."""
    k, above, below = _without(u, *factors(node))
    return fraction([*above, u**k], below) if k else node


def distributed(node: Expr, sign: int) -> list[tuple[Expr, int]]:
    """The terms of a sum of quotients times what stands before it; any other node as it is."""
    above, below = factors(node)
    for place, f in enumerate(above):
        if operator(f) in ("add", "sub") and any(powers(t)[1] for t, _ in terms_of(f)):
            others = [*above[:place], *above[place + 1 :]]
            return [(fraction([*others, t], below), sign * own) for t, own in terms_of(f)]
    return [(node, sign)]


def _without(u: Expr, above: Sequence[Expr], below: Sequence[Expr]) -> tuple[int, list[Expr], list[Expr]]:
    """How often the product u is a factor of a fraction, and the other factors, above and below the line."""
    above, below = [*above], [*below]
    if not isinstance(u, Apply) or u.op not in ("mul", "div"):
        return 0, above, below
    own, mine, under = without_number(*factors(u))
    k = 0
    while all(above.count(f) >= mine.count(f) for f in mine) and all(below.count(f) >= under.count(f) for f in under):
        for f in mine:
            above.remove(f)
        for f in under:
            below.remove(f)
        k += 1
    if not k:
        return 0, above, below
    number, rest, beneath = without_number(above, below)
    return k, [const(number / own**k), *rest], beneath


def as_multiple(u: Expr, above: Sequence[Expr], below: Sequence[Expr]) -> tuple[Sides, Sides] | None:
    """What a fraction is a multiple of by a function of u, and that as a formula of X; None if it is not divided by
    one."""
    k, above, below = _without(u, above, below)
    others: list[list[Expr]] = []
    own: list[list[Expr]] = []
    for side in (below, above):
        mine = {f: b for f in side if (b := function_of(u, f)) is not None and (is_exact(f) or X in postorder(b))}
        if not own and all(map(is_exact, mine)):
            return None
        own.append([mine[f] for f in side if f in mine])
        others.append([f for f in side if f not in mine])
    powers = [X**k] if k else []
    return (tuple(others[1]), tuple(others[0])), ((*powers, *own[1]), tuple(own[0]))


def calls(node: Expr) -> bool:
    return any(OPS[op].smooth and not OPS[op].algebraic for op in operators(node))


def powers(node: Expr) -> tuple[list[Expr], list[Expr]]:
    """The factors above and below the line, negative powers below it."""
    above, below = factors(node)
    for f in list(above):
        if isinstance(f, Apply) and f.op == "pow" and isinstance(f.args[1], Const) and f.args[1].value < 0:
            above.remove(f)
            below.append(f.args[0] ** -f.args[1])
    for place, f in enumerate(below):
        base, k = base_of(f)
        if operator(base) == "sub" and is_exact(k) and value_of(k).denominator == 1:
            turned, nodes = apply("sub", *base.args[::-1]), {*postorder(*above)}
            if turned in nodes and base not in nodes:  # sin(x - y)/(y - x) divides by -(x - y)
                below[place] = turned**k
                above += [-ONE] if value_of(k) % 2 else []
    return above, below


@lru_cache(maxsize=4096)
def has_pole(body: Expr) -> bool:
    return X in postorder(body) and coefficients(body) is None
