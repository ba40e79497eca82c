"""Forms in which a rounding counts once, where it would count twice."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

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
    pending,
    product,
    signed_total,
    terms_of,
    transformer,
    without_sign,
)
from ..ops import OPS
from .orders import unrolled

Sides = tuple[frozenset[Expr], frozenset[Expr]]


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


def over_squares() -> Callable[[Expr], Expr]:
    """Writes 1/(1 + a)**2 as 1/(1 + a*(2 + a)), where a is not negative: the rounding of a square counts twice."""

    def rewrite(node: Expr) -> Expr:
        if operator(node) != "div" or all(_opened(d) is d for d in factors(node.args[1])[0]):
            return node  # by the others it was divided further inside
        above, below = factors(node)
        return fraction(above, [_opened(d) for d in below])

    return transformer(rewrite)


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


def differences_first(inputs: Collection[str]) -> Callable[[Expr], Expr]:
    """Writes u + x - y as x - y + u, for inputs: the difference of near numbers is exact, of u + x and y it is not."""

    def given(t: Expr) -> bool:
        return isinstance(t, Ref) and t.name in inputs

    def rewrite(node: Expr) -> Expr:
        if operator(node) not in ("add", "sub") or not all(sided(node)):
            return node
        terms = terms_of(node)
        more, less = ([t for t, sign in terms if given(t) and sign == s] for s in (1, -1))
        if len(terms) < 3 or len(more) != 1 or len(less) != 1:
            return node
        rest = [pair for pair in terms if pair[0] not in (more[0], less[0])]
        return signed_total([(more[0] - less[0], 1), *rest])

    sided = _sided("add", "sub", given)
    return transformer(rewrite)


def double_angles() -> Callable[[Expr], Expr]:
    """Writes 2 sin(t/2) cos(t/2) as sin(t)."""

    def rewrite(node: Expr) -> Expr:
        if operator(node) not in ("mul", "div"):
            return node
        wanted, _ = sided(node)
        if TWO not in wanted:
            return node
        if all(operator(f) != "sin" or apply("cos", *f.args) not in wanted for f in wanted):
            return node
        above, below = factors(node)
        f = next(f for f in above if f in wanted and operator(f) == "sin" and apply("cos", *f.args) in wanted)
        for used in (f, apply("cos", *f.args), TWO):
            above.remove(used)
        return fraction([*above, apply("sin", f.args[0].args[0])], below)

    sided = _sided("mul", "div", lambda f: f is TWO or _of_half(f))
    return transformer(rewrite)


def _of_half(f: Expr) -> bool:
    """Whether it is the sine or the cosine of t/2."""
    if operator(f) not in ("sin", "cos"):
        return False
    (u,) = f.args
    return operator(u) == "div" and u.args[1] is TWO


def _sided(more: str, less: str, wanted: Callable[[Expr], bool]) -> Callable[[Expr], Sides]:
    """What gives the wanted terms of a sum, or factors of a product, on either side: of those that share parts, each
    part is looked at once."""
    known: dict[Expr, Sides] = {}

    def parts(node: Expr) -> tuple[Expr, ...]:
        op = operator(node)
        return node.args if op in (more, less) or op == "neg" and more == "add" else ()

    def sided(root: Expr) -> Sides:
        for node in pending((root,), known, parts):
            sides = [known[a] for a in parts(node)]
            if len(sides) == 2:
                (above, below), other = sides
                above_too, below_too = other[::-1] if operator(node) == less else other
                known[node] = above | above_too, below | below_too
            else:
                known[node] = sides[0][::-1] if sides else (frozenset([node] if wanted(node) else []), frozenset())
        return known[root]

    return sided
