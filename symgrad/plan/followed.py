"""A sum whose terms are relative to another reduction of the same elements, in one pass with it.

When more elements move the other reduction, what was added up so far is brought to where it is now:

    m = max[j](x[j]),  s = sum[j](w[j]*exp(x[j] - m))       s * exp(m_before - m)
    u = sum[j](x[j])/n,  v = sum[j]((x[j] - u)**2)          v + seen*(u_before - u)**2

So (m, s) and (seen, u, v) are associative: of any two parts of a row they tell those of both. The terms of v are never
negative, and those of s never larger than they would be with the final m, so nothing cancels on the way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..expr import (
    ZERO,
    Apply,
    Const,
    Expr,
    Ref,
    apply,
    factors,
    product,
    ref,
    refs,
    select,
    signed_total,
    substitute,
    terms_of,
)
from ..expr.sizes import equal
from ..ir import Equation
from ..ops.limits import INFINITY
from ..records import dataclass

SO_FAR, BEFORE = ref("#so_far"), ref("#before")  # of the sum, and of what moves, at the elements before
SEEN, NOW = ref("#seen"), ref("#now")  # how many elements these are, and how many with those that are added


@dataclass(frozen=True, slots=True)
class Followed:
    """How a sum follows.

    first      the other reduction
    moves      what the terms are relative to
    meanwhile  what that is of the elements so far, of NOW, if it is not the reduction itself
    value      the sum so far, once it has moved: of SO_FAR, BEFORE, SEEN, and of what moves
    about      why, for who reads the code
    """

    first: str
    moves: Ref
    meanwhile: Expr | None
    value: Expr
    about: str


def followed(e: Equation, others: Iterable[Equation], defined: Mapping[Expr, Expr]) -> Followed | None:
    """How a sum follows one of the other reductions of its elements; None where it follows none.

    defined  element -> what it is of inputs and of reductions, for each that is computed in between
    """
    if e.reduce != "sum":
        return None
    body = substitute(e.body, defined)
    for other in others:
        r, each = ref(other.target, *other.subscripts), substitute(other.body, defined)
        if {*other.reduced} != {*e.reduced} or other.where is not e.where or other.when != e.when:
            continue
        if other.reduce == "max" and _is_scaled(body, r, each):
            value = select(apply("eq", BEFORE, -INFINITY), ZERO, SO_FAR * apply("exp", BEFORE - r))
            return Followed(other.target, r, None, value, "the sum so far is of exponentials less the last maximum")
        if other.reduce == "sum" and e.where is None:
            count = product(extent for _, extent in e.reduced)
            for element, told in defined.items():
                if _is_quotient(told, r, count) and _is_centred(body, told, each):
                    assert isinstance(element, Ref)
                    value = SO_FAR + SEEN * (BEFORE - element) ** 2
                    about = "the sum so far is of squares about the last mean"
                    return Followed(other.target, element, apply("div", r, NOW), value, about)
    return None


def _is_quotient(root: Expr, above: Expr, below: Expr) -> bool:
    match root:
        case Apply(op="div", args=(a, b)):
            return a is above and equal(b, below)
    return False


def _is_scaled(body: Expr, m: Ref, each: Expr) -> bool:
    """Whether it is a product with the factor exp(each - m), and m stands nowhere else."""
    above, below = factors(body)
    match [f for f in above if m in refs(f)], m in refs(*below):
        case [Apply(op="exp", args=(power,))], False:
            return _difference(power, m) is each
    return False


def _is_centred(body: Expr, mean: Expr, each: Expr) -> bool:
    """Whether it is (each - mean)**2."""
    match body:
        case Apply(op="pow", args=(a, Const(value=2))):
            return _difference(a, mean) is each
        case Apply(op="mul", args=(a, b)):
            return a is b and _difference(a, mean) is each
    return False


def _difference(root: Expr, less: Expr) -> Expr | None:
    """What `less` is subtracted from, if the root is such a difference."""
    terms = terms_of(root)
    if terms.count((less, -1)) != 1:
        return None
    return signed_total(t for t in terms if t != (less, -1))
