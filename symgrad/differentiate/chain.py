"""The chain rule on expressions: one sweep in reverse, inside the branches of a `where` and never across."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from types import MappingProxyType

from ..expr import (
    ONE,
    TWO,
    ZERO,
    Apply,
    Const,
    Expr,
    Index,
    Ref,
    apply,
    conjuncts,
    factors,
    operator,
    pending,
    select,
    values,
    without_sign,
)
from ..ir import negation, unconditional
from ..ir.signs import NOT_NEGATIVE, POSITIVE, interval_where, is_in
from ..ops import OPS

MINUS_ONE = -ONE


def partials_of(node: Apply) -> Sequence[Expr | None]:
    """The derivative of an operation by each of its arguments; nothing for one that has none."""
    derivative = OPS[node.op].derivative
    return () if derivative is None else derivative(*node.args, node)


def reverse(
    roots: Sequence[tuple[Expr, Expr]],
    bodies: Mapping[Expr, Expr] = MappingProxyType({}),
    passed: Callable[[Expr, Expr], Expr] = lambda _, g: g,
    partials: Callable[[Apply], Sequence[Expr | None]] = partials_of,
) -> list[tuple[Ref, Expr]]:
    """Sweep the graph below `roots` (expression, cotangent) once; return the cotangent of each reference.

    bodies    what the references are that are computed here: the sweep goes on in it, with what `passed` makes of the
              reference and its cotangent
    partials  the derivatives of an operation by its arguments
    """
    adjoint: dict[Expr, Expr] = {}
    known: dict[Expr, Expr] = {}
    for root, seed in roots:
        adjoint[root] = combined("add", adjoint.get(root, ZERO), seed)
    order = values(*(root for root, _ in roots), bodies=bodies)
    computed = set(order)
    sure = unconditional(*(root for root, _ in roots), bodies=bodies)
    divisors = {d for n in sure if operator(n) == "div" for d in factors(n.args[1])[0]}

    def contribute(node: Expr, g: Expr) -> None:
        adjoint[node] = combined("add", adjoint.get(node, ZERO), g)

    for node in reversed(order):
        g = adjoint.get(node, ZERO)
        if node in bodies:
            contribute(bodies[node], passed(node, g))
        if g is ZERO or not isinstance(node, Apply):
            continue
        slopes = partials(node)
        if not slopes:
            continue
        if node.op == "mul" and node.args[0] is node.args[1]:  # of all squares in a sum, 2*g is one
            contribute(node.args[0], times(_twice(g), node.args[0], known, computed, sure))
            continue
        for argument, partial in _through(node, slopes):
            if partial is None or isinstance(argument, (Const, Index)):
                continue
            partial = with_value(partial, divisors)
            bare, negative = without_sign(partial)
            if operator(bare) == "div" and bare.args[0] is node:  # of a/b, the slope in b is -1/b times what is there
                below = ONE / bare.args[1]
                found = times(times(g, below, known, (), {below} if node in sure else ()), node, known, computed, sure)
                contribute(argument, -found if negative else found)
            else:
                contribute(argument, times(g, partial, known, computed, sure))
    return [(n, adjoint[n]) for n in order if isinstance(n, Ref) and n in adjoint and n not in bodies]


def _through(node: Apply, slopes: Sequence[Expr | None]) -> Iterator[tuple[Expr, Expr | None]]:
    """The arguments of an operation with their slopes; of a length of lengths those of all that it is the length of, as
    the slope of hypot(hypot(a, b), c) is a/h in a."""
    for argument, slope in zip(node.args, slopes, strict=True):
        if isinstance(argument, Apply) and argument.op == node.op and OPS[node.op].associative:
            if slope is not None and operator(slope) == "div" and slope.args[0] is argument:
                yield from _through(argument, [a / slope.args[1] for a in argument.args])
                continue
        yield argument, slope


def with_value(slope: Expr, divisors: Container[Expr]) -> Expr:
    """A slope without what it is where something is 0 that cannot be: no divisor is, where the result has a value."""
    while isinstance(slope, Apply) and slope.op == "select" and _never(slope.args[0], divisors):
        slope = slope.args[2]
    return slope


def _never(condition: Expr, divisors: Container[Expr]) -> bool:
    """Whether a == 0 and b >= 0 hold nowhere, or one of the two."""
    parts = [p for p in (condition.args if operator(condition) == "and" else (condition,)) if isinstance(p, Apply)]
    asked = {op: [p.args[0] for p in parts if p.op == op and p.args[1] is ZERO] for op in ("eq", "ge")}
    if any(_never_zero(a, divisors) for a in asked["eq"]):
        return True
    given = {b: POSITIVE if _never_zero(b, divisors) else NOT_NEGATIVE for b in asked["ge"]}
    return any(is_in(interval_where(a, given), POSITIVE) for a in asked["eq"] if given)


def _never_zero(node: Expr, divisors: Container[Expr]) -> bool:
    if isinstance(node, Const):
        return node is not ZERO
    above, _ = factors(without_sign(node)[0])
    return all(f in divisors or f is not node and _never_zero(f, divisors) for f in above)


def _twice(g: Expr) -> Expr:
    """2*g; n/d, where `g` is n/(2*d)."""
    if isinstance(g, Apply) and g.op == "div" and operator(g.args[1]) == "mul" and TWO in g.args[1].args:
        first, second = g.args[1].args
        return g.args[0] / (second if first is TWO else first)
    return TWO * g


def slopes(root: Expr) -> list[tuple[Ref, Expr]]:
    """The derivative of an expression in each element that it reads."""
    return reverse([(root, ONE)])


def times(
    g: Expr,
    p: Expr,
    known: dict[Expr, Expr] | None = None,
    computed: Container[Expr] = (),
    sure: Container[Expr] = (),
) -> Expr:
    """`g * p`, inside the branches of a `where` and never across: what is not selected gives 0, not NaN.

    known     remembers `_reached` from call to call
    computed  what is there: a reciprocal is computed once
    sure      what has a value wherever the result has
    """
    if p is ONE:
        return g
    if p is MINUS_ONE:
        return -g
    if isinstance(p, Apply) and OPS[p.op].result == "bool":  # x*(y > 0) is where(y > 0, x, 0)
        return select(p, g, ZERO)
    if operator(p) == "select":  # what is asked around it stays outside: it may be what p can be read under
        bare, negative = without_sign(g)
        if negative and operator(bare) == "select" and ZERO in bare.args[1:]:
            g = select(bare.args[0], -bare.args[1], -bare.args[2])
    for one, other in ((g, p), (p, g)):
        if isinstance(one, Apply) and one.op == "select":
            condition, then, otherwise = one.args
            if one is p or ZERO in (then, otherwise):
                if otherwise is ZERO and _vanishes(other, condition):
                    return ZERO
                return select(condition, _within(then, other), _within(otherwise, other))
    reciprocal = isinstance(p, Apply) and p.op == "div" and p.args[0] is ONE and p not in computed
    result = g / p.args[1] if reciprocal else g * p
    if isinstance(p, Const) or p in sure or (isinstance(p, Ref) and everywhere(p)):
        return result
    return select(_reached(g, {} if known is None else known), result, ZERO)


def _vanishes(node: Expr, condition: Expr) -> bool:
    """Whether a difference is 0 as its sides are equal: x - y where x == y."""
    ties = [c for c in conjuncts(condition) if operator(c) == "eq"]
    return any(node in (a - b, b - a) for a, b in (t.args for t in ties))


def _within(branch: Expr, factor: Expr) -> Expr:
    return ZERO if branch is ZERO else times(factor, branch)


def combined(op: str, a: Expr, b: Expr) -> Expr:
    """A sum or a difference; two `where` with one condition are one, whatever their signs."""
    (one, first), (other, second) = map(without_sign, (a, b))
    if isinstance(one, Apply) and isinstance(other, Apply) and one.op == other.op == "select":
        if one.args[0].key is other.args[0].key:
            pairs = zip(_signed(one, first), _signed(other, second), strict=True)
            return select(one.args[0], *(apply(op, *pair) for pair in pairs))
    return apply(op, a, b)


def _signed(choice: Apply, negative: bool) -> Sequence[Expr]:
    """The sides of a `where`, of which the sign may be turned."""
    return [-side for side in choice.args[1:]] if negative else choice.args[1:]


def everywhere(element: Ref) -> bool:
    """Whether an element exists at every point of a box that gives its indices their ranges."""
    return all(isinstance(s, (Index, Const)) for s in element.subscripts)


def condition_of(adjoint: Expr) -> tuple[Expr, Expr]:
    """(condition, body) of an adjoint that is 0 wherever the condition does not hold."""
    where: Expr = ONE
    while isinstance(adjoint, Apply) and adjoint.op == "select" and ZERO in adjoint.args[1:]:
        condition, then, otherwise = adjoint.args
        adjoint = then if otherwise is ZERO else otherwise
        where = apply("and", where, condition if otherwise is ZERO else negation(condition))
    return apply("and", where, _reached(adjoint, {})), adjoint


def _reached(root: Expr, known: dict[Expr, Expr]) -> Expr:
    """The condition under which a sum of products is more than the zeros of branches that are not selected."""
    for node in pending((root,), known, _operands):
        parts = [known[a] for a in _operands(node)]
        if node is ZERO:
            known[node] = ZERO
        elif not isinstance(node, Apply) or not parts:
            known[node] = ONE
        elif node.op == "select":
            condition = node.args[0]
            known[node] = _or(apply("and", condition, parts[0]), apply("and", negation(condition), parts[1]))
        elif node.op in ("add", "sub"):
            known[node] = _or(*parts)
        else:
            known[node] = apply("and", parts[0], parts[-1])
    return known[root]


def _operands(node: Expr) -> tuple[Expr, ...]:
    """What `_reached` looks into."""
    if not isinstance(node, Apply):
        return ()
    if node.op == "select":
        return node.args[1:]
    return node.args if node.op in ("add", "sub", "mul", "neg") else node.args[:1] if node.op == "div" else ()


def _or(a: Expr, b: Expr) -> Expr:
    """Whether `a` or `b` holds: `a or (not a and c)` is `a or c`, `a or (a and c)` is `a`, `x == y or x > y` is
    `x >= y`."""
    if a is ONE or b is ONE:
        return ONE
    for one, other in ((a, b), (b, a)):
        if {*conjuncts(one)} <= {*conjuncts(other)}:
            return one
    if isinstance(b, Apply) and b.op == "and" and b.args[0].key is negation(a).key:
        b = b.args[1]
    if a.key is negation(b).key:
        return ONE
    if isinstance(a, Apply) and isinstance(b, Apply) and a.op == "eq" and b.op in ("lt", "gt") and a.args == b.args:
        return apply("le" if b.op == "lt" else "ge", *a.args)
    return apply("or", a, b)
