"""Products that are one function: the sine of a double angle, a power beside its base; q(u) + u*q'(u), q = n(u)/u."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Sequence

from ..expr import (
    ONE,
    TWO,
    Apply,
    Expr,
    apply,
    base_of,
    const,
    factors,
    fraction,
    is_exact,
    operator,
    operators,
    signed_total,
    substitute,
    terms_of,
    transform,
    transformer,
    value_of,
)
from ..ir import Equation
from ..numerics.removable import Filled, is_plain, slope
from ..numerics.taylor import ORIGIN, X
from ..ops import OPS
from ..precision import better
from ..precision.orders import sided_by
from ..precision.terms import expanded, expression, multiply, term_of
from .fractions import has_pole
from .sums import number_and_powers, with_like_terms


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

    sided = sided_by("mul", "div", lambda f: f is TWO or _of_half(f))
    return transformer(rewrite)


def with_sizes(equations: Sequence[Equation], given: Container[str]) -> list[Equation]:
    """With abs(u) for u sign(u), which the slope of u abs(u) has beside abs(u); what is `given` stays."""

    def rewrite(node: Expr) -> Expr:
        if operator(node) not in ("mul", "div") or not (wanted := sided(node)[0]):
            return node
        above, below = factors(node)
        for f in (f for f in above if f in wanted and f.args[0] in above):
            above[above.index(f.args[0])] = apply("abs", *f.args)
            above.remove(f)
            return fraction(above, below)
        return node

    sided = sided_by("mul", "div", lambda f: operator(f) == "sign")
    rewritten = transformer(rewrite)
    found = list[Equation]()
    for e in equations:
        body = rewritten(e.body) if e.target not in given and "sign" in operators(e.body) else e.body
        joined = [] if body is e.body else with_like_terms([e.with_body(body)])
        found += [j.with_body(transform(j.body, _number_in_front)) for j in joined] or [e]
    return found


def _number_in_front(node: Expr) -> Expr:
    """2*g*c for g*c*2."""
    above, below = factors(node) if operator(node) == "mul" else ([], [])
    return fraction(sorted(above, key=lambda f: not is_exact(f)), below) if any(map(is_exact, above)) else node


def _of_half(f: Expr) -> bool:
    """Whether it is the sine or the cosine of t/2."""
    if operator(f) not in ("sin", "cos"):
        return False
    (u,) = f.args
    return operator(u) == "div" and u.args[1] is TWO


def with_powers_joined(equations: Sequence[Equation]) -> list[Equation]:
    """With u**v for u * u**(v - 1), the slope of a power where that of its base is a multiple of the base. Where u is 0
    and v between 0 and 1 the product is 0 * oo."""

    def rewrite(node: Expr) -> Expr:
        if operator(node) not in ("mul", "div") or not sided(node)[0]:
            return node
        above, below = factors(node)
        for f in above:
            if _one_less(f) and f.args[0] in above:
                above[above.index(f)] = f.args[0] ** f.args[1].args[0]
                above.remove(f.args[0])
                return fraction(above, below)
        return node

    sided = sided_by("mul", "div", _one_less)
    joined = transformer(rewrite)
    return [e.with_body(joined(e.body)) for e in equations]


def _one_less(f: Expr) -> bool:
    """Whether it is a power with the exponent v - 1."""
    return operator(f) == "pow" and operator(f.args[1]) == "sub" and f.args[1].args[1] is ONE


def with_quotients_in_powers(equations: Sequence[Equation]) -> list[Equation]:
    """With (a/b)**6 for a/b*(a/b)**5, whose factors stand apart."""

    def rewrite(node: Expr) -> Expr:
        if operator(node) not in ("mul", "div") or not sided(node)[0]:
            return node
        above, below = (Counter(side) for side in factors(node))
        for f in above:
            base, exponent = base_of(f)
            over, under = (Counter(side) for side in factors(base))
            if _of_quotient(f) and over <= above and under <= below:
                more = base ** (exponent + 1)
                parts = [more if g is f else g for g in (above - over).elements()]
                return fraction(parts, [*(below - under).elements()])
        return node

    sided = sided_by("mul", "div", _of_quotient)
    joined = transformer(rewrite)
    return [e.with_body(joined(e.body)) for e in equations]


def _of_quotient(f: Expr) -> bool:
    """Whether it is a power of a quotient with a number above 1 as its exponent."""
    base, exponent = base_of(f)
    return operator(f) == "pow" and operator(base) == "div" and is_exact(exponent) and value_of(exponent) > 1


def with_quotients_joined(equations: Sequence[Equation]) -> list[Equation]:
    """With n'(u) for q(u) + u*q'(u), where q is n(u)/u, filled at 0: far from 0 the two would cancel. Of
    2*q(u) + u*q'(u) one q(u) stays."""

    def rewrite(node: Expr) -> Expr:
        terms = terms_of(node) if operator(node) in ("add", "sub") else []
        for k, (t, sign) in enumerate(terms):
            above, below = factors(t)
            for place, f in enumerate(above):
                slopes = _slopes(f)
                if slopes is None:
                    continue
                rest = fraction([*above[:place], *above[place + 1 :]], below)
                ((wanted, turned),) = terms_of(rest * f.args[0] * slopes[0])
                number, powers, _ = number_and_powers(wanted)
                for j, (other, its) in enumerate(terms):
                    own, same, _ = number_and_powers(other)
                    times = number * sign * turned / (own * its)
                    if same == powers and times >= 1:
                        left = [*terms]
                        left[k], left[j] = (const(1 - 1 / times) * t, sign), (const(1 / times) * rest * slopes[1], sign)
                        return rewrite(signed_total(left))
        return node

    joined = transformer(rewrite)
    filled = (any(isinstance(op, Filled) for op in operators(e.body)) for e in equations)
    return [e.with_body(joined(e.body)) if own else e for e, own in zip(equations, filled, strict=True)]


def _slopes(f: Expr) -> tuple[Expr, Expr] | None:
    """Of q(u) = n(u)/u, filled at 0, the slopes of q and of n at u; None of what is no such quotient."""
    if not (isinstance(f, Apply) and isinstance(f.op, Filled) and f.op.place == ORIGIN):
        return None
    whole = expression(expanded(multiply(term_of(X), term_of(f.op.formula))))
    if has_pole(whole):
        return None
    steep = slope(whole)
    if not is_plain(steep) and (found := better(steep)) is not None:
        steep = found
    (u,), derivative = f.args, OPS[f.op].derivative
    steeper = derivative(u, f)[0] if derivative is not None and is_plain(steep) else None
    return None if steeper is None else (steeper, substitute(steep, {X: u}))
