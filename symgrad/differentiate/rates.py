"""The slopes of a product by its value: of y = b**a * x**(a - 1) * exp(-b*x), that in x is y*((a - 1)/x - b).

This is logarithmic differentiation: what an exponential, a gamma function or a power with a variable exponent adds to
the slope of log(y), times y. A factor that may be 0 keeps its own slope, times the product of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from ..expr import (
    HALF,
    ONE,
    ZERO,
    Apply,
    Expr,
    base_of,
    factors,
    fraction,
    is_exact,
    operator,
    product,
    refs,
    substitute,
    value_of,
    without_sign,
)
from ..ops import OPS
from .chain import partials_of, times, with_value

Roots = list[tuple[Expr, Expr]]  # expressions, and their cotangents


def by_value(body: Expr, value: Expr, g: Expr, positive: Callable[[Expr], bool]) -> Roots | None:
    """Parts of `body` with their cotangents, which give that of `body` to what it is computed from; None where it is no
    product with a factor whose slope is a multiple of it.

    value     what `body` is computed into
    g         its cotangent
    positive  whether an expression is above 0 wherever it is computed
    """
    bare, negative = without_sign(body)
    above, below = factors(bare)
    both = [*above, *below]
    steep = {f for f in both if _multiples(f, positive)}
    whole = g * value
    if len(both) == 1 and _is_root_of_product(bare, positive):  # (a*b/c)**(1/3)
        return [(part, -rate if below else rate) for part, rate in _rates(both[0], whole, positive)]
    if len(both) < 2 or len({*above}) < len(above) or not steep:
        return None
    if len(steep) == 1 and all(operator(f) == "pow" for f in steep):
        return None  # n*x**(n - 1) is what one knows
    uncertain = [f for f in both if isinstance(f, Apply) and f.op == "pow" and refs(f.args[1]) and f not in steep]
    if not {*uncertain}.isdisjoint(below):
        return None  # divided by a power of what may be 0
    known = {f for f in above if f in steep or not refs(f) or positive(f) and _shares(f, both)} - {*uncertain}
    roots = [(part, rate) for f in above if f in known for part, rate in _rates(f, whole, positive)]
    roots += [(part, -rate) for f in below for part, rate in _rates(f, whole, positive)]

    def beside(some: Collection[Expr]) -> Expr:
        """The cotangent of some of the factors above: times the others."""
        rest = g * fraction([f for f in above if f not in some], below)
        return -rest if negative else rest

    for f in uncertain:
        by_base, by_exponent = (ZERO if slope is None else slope for slope in partials_of(f))
        roots.append((f.args[0], times(beside({f}), by_base)))
        roots.append((f.args[1], times(whole, substitute(by_exponent, {f: ONE}))))
    if own := {f: None for f in above if f not in known and f not in uncertain}:
        roots.append((product(own), beside(own)))
    return roots


def _is_root_of_product(f: Expr, positive: Callable[[Expr], bool]) -> bool:
    """Whether it is a power with a broken exponent of a product of several variables that are all above 0."""
    base, exponent = base_of(f)
    parts = [part for side in factors(base) for part in side if refs(part)]
    broken = is_exact(exponent) and value_of(exponent).denominator > 2
    return broken and len(parts) > 1 and all(map(positive, parts))


def _shares(f: Expr, others: Sequence[Expr]) -> bool:
    """Whether another factor is computed from something that it is computed from, too."""
    mine = {*refs(f)}
    return any(other is not f and not mine.isdisjoint(refs(other)) for other in others)


def _multiples(f: Expr, positive: Callable[[Expr], bool]) -> dict[Expr, Expr]:
    """The arguments of a function in which its slope is a multiple of its value, and how much of it that is: those of
    an exponential and a gamma function, the exponent of a power of something positive; not of what is bounded, whose
    own slope is as short, and asks for no result."""
    if not isinstance(f, Apply) or OPS[f.op].kind not in ("function", "power") or OPS[f.op].bounded:
        return {}
    never_zero = {a for a in f.args if positive(a)}
    found: dict[Expr, Expr] = {}
    for argument, slope in zip(f.args, partials_of(f), strict=False):
        slope, negative = without_sign(ZERO if slope is None else with_value(slope, never_zero))
        above, below = factors(slope)
        if f in above and refs(argument):
            above.remove(f)
            found[argument] = -fraction(above, below) if negative else fraction(above, below)
    whole = operator(f) == "pow" or all(a in found for a in f.args if refs(a))
    return found if whole else {}


def _rates(f: Expr, whole: Expr, positive: Callable[[Expr], bool]) -> Iterator[tuple[Expr, Expr]]:
    """What `f` is computed from, with the slopes of log(f) times `whole`."""
    multiples = _multiples(f, positive)
    yield from ((argument, whole * rate) for argument, rate in multiples.items())
    base, exponent = (f.args[0], HALF) if operator(f) == "sqrt" else base_of(f)
    if refs(f) and (not multiples or base not in multiples and operator(f) == "pow"):
        whole = whole if exponent is ONE else whole * exponent
        for side, sign in zip(factors(base), (1, -1), strict=True):
            yield from ((part, whole / part if sign > 0 else -(whole / part)) for part in side if refs(part))
