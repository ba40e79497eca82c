"""Forms in which a rounding counts once, where it would count twice."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ..expr import (
    ONE,
    TWO,
    Apply,
    Expr,
    Ref,
    apply,
    factors,
    fraction,
    operator,
    product,
    signed_total,
    terms_of,
    without_sign,
)
from ..ops import OPS
from .orders import unrolled


def by_inversion(form: Expr) -> Iterator[Expr]:
    """u/(u**2 + v**2) as inversion(u, v): no square leaves the range, no length that is rounded stands there twice."""
    form, negative = without_sign(form)
    above, below = map(unrolled, factors(form))
    for k, d in enumerate(below):
        legs = _legs(d)
        rest = [*below[:k], *below[k + 1 :]]
        if operator(d) == "hypot":
            if d not in rest:
                continue
            rest.remove(d)
        for v, u in (legs, legs[::-1]) if legs else ():
            if u in above:
                left = list(above)
                left.remove(u)
                found = product(left[:-1]) * fraction(left[-1:], rest) * apply("inversion", u, v)
                yield -found if negative else found


def _legs(node: Expr) -> tuple[Expr, Expr] | None:
    """u, v where `node` is hypot(u, v), or u**2 + v**2."""
    if not isinstance(node, Apply):
        return None
    if node.op == "hypot":
        return node.args[0], node.args[1]
    if node.op == "add" and all(isinstance(t, Apply) and t.op == "pow" and t.args[1] is TWO for t in node.args):
        return node.args[0].args[0], node.args[1].args[0]
    return None


def over_squares(node: Expr) -> Expr:
    """1/(1 + a)**2 as 1/(1 + a*(2 + a)), where a is not negative: the rounding of what is squared counts twice."""
    if operator(node) != "div":
        return node
    above, below = factors(node)
    found = [_opened(d) for d in below]
    return node if found == below else fraction(above, found)


def _opened(d: Expr) -> Expr:
    if not (isinstance(d, Apply) and d.op == "pow" and d.args[1] is TWO and operator(d.args[0]) == "add"):
        return d
    a, b = d.args[0].args
    a, b = (b, a) if b is ONE else (a, b)
    return 1 + b * (2 + b) if a is ONE and isinstance(b, Apply) and OPS[b.op].nonnegative else d


def over_roots(node: Expr) -> Expr:
    """1/(sqrt(u)*sqrt(v)*(sqrt(u) + sqrt(v))) as 1/(u*sqrt(v) + v*sqrt(u))."""
    if operator(node) != "div":
        return node
    above, below = factors(node)
    for d in below:
        if isinstance(d, Apply) and d.op == "add" and all(operator(t) == "sqrt" and t in below for t in d.args):
            r, s = d.args
            for f in (d, r, s):
                below.remove(f)
            return fraction(above, [*below, r.args[0] * s + s.args[0] * r])
    return node


def differences_first(node: Expr, inputs: Collection[str]) -> Expr:
    """u + x - y as x - y + u, for inputs: the difference of near numbers is exact, that of u + x and y is not."""
    if operator(node) not in ("add", "sub"):
        return node
    terms = terms_of(node)
    more, less = ([t for t, sign in terms if isinstance(t, Ref) and t.name in inputs and sign == s] for s in (1, -1))
    if len(terms) < 3 or len(more) != 1 or len(less) != 1:
        return node
    rest = [pair for pair in terms if pair[0] not in (more[0], less[0])]
    return signed_total([(more[0] - less[0], 1), *rest])


def double_angles(node: Expr) -> Expr:
    """2 sin(t/2) cos(t/2) as sin(t)."""
    if operator(node) not in ("mul", "div"):
        return node
    above, below = factors(node)
    for f in above:
        t = _doubled(f.args[0]) if isinstance(f, Apply) and f.op == "sin" else None
        if t is not None and TWO in above and (other := apply("cos", *f.args)) in above:
            for used in (f, other, TWO):
                above.remove(used)
            return fraction([*above, apply("sin", t)], below)
    return node


def _doubled(u: Expr) -> Expr | None:
    """t, where `u` is t/2."""
    return u.args[0] if isinstance(u, Apply) and u.op == "div" and u.args[1] is TWO else None
