"""What the domain of a function makes simpler: abs(x) is x for x >= 0, and where(x > 0, a, b) is a for x > 0."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..differentiate.neighbours import needed
from ..expr import (
    ONE,
    ZERO,
    Apply,
    Const,
    Expr,
    apply,
    const,
    factors,
    fraction,
    is_exact,
    operator,
    postorder,
    refs,
    transformer,
    without_sign,
)
from ..expr.nodes import COMPARE
from ..ir import Equation, Function, Interval, Signs
from ..ir.signs import NOT_NEGATIVE, POSITIVE, is_in, mirrored
from ..ops import OPS
from ..precision.measure import Given
from ..records import replace

NEGATIVE, NOT_POSITIVE = mirrored(POSITIVE), mirrored(NOT_NEGATIVE)


def in_domain(function: Function) -> Function:
    """The function in the form that its domain allows; the function as it is, where it has none."""
    return replace(function, statements=tuple(known_in(function, function.statements))) if function.domain else function


def known_in(function: Function, equations: Iterable[Equation]) -> list[Equation]:
    """Equations of a function in the form that its domain allows."""
    if not function.domain:
        return list(equations)
    put = known(function)
    return [e if e.matrix is not None else e.mapped(put) for e in equations]


def known(function: Function) -> Callable[[Expr], Expr]:
    """What gives an expression of a function in the form that its domain allows."""
    return transformer(_Rewriting(Signs(function)))


def told_of(function: Function, body: Expr) -> Given:
    """What the domain says of the inputs that `body` reads, as a search for another form takes it."""
    table, inputs = function.table, {*function.inputs}
    own = [r for r in refs(body) if r.name in inputs]
    return tuple((condition, True) for r in own for condition in table[r.name].interval.conditions(r))


class _Rewriting:
    """Rewrites one node, by the signs of what it is computed from."""

    def __init__(self, signs: Signs) -> None:
        self._signs = signs

    def __call__(self, node: Expr) -> Expr:
        found = self._found(node) if isinstance(node, Apply) else None
        return node if found is None else found

    def _found(self, node: Apply) -> Expr | None:
        if node.op in COMPARE:
            known = self._signs.decided(node.op, *node.args)
            return None if known is None else ONE if known else ZERO
        match node.op, node.args:
            case "abs", (u,):
                return self._size(u)
            case "sign", (u,):
                return ONE if self._is(u, POSITIVE) else -ONE if self._is(u, NEGATIVE) else None
            case "relu", (u,):
                return u if self._is(u, NOT_NEGATIVE) else ZERO if self._is(u, NOT_POSITIVE) else None
            case "maximum" | "minimum" as op, (u, v):
                above = self._signs.decided("ge", u, v)
                below = self._signs.decided("le", u, v)
                first = above if op == "maximum" else below
                return u if first else v if (below if op == "maximum" else above) else None
            case "sqrt", (u,):
                return self._root(u)
            case "log", (Apply(op="pow", args=(u, v)),) if self._is(u, POSITIVE):
                return v * apply("log", u)
            case "pow", (Apply(op="pow", args=(u, v)), w) if self._rises(u, v, w):
                return u ** (v * w)
            case "select", (Apply(op="eq", args=(u, Const(value=0))), Const(value=0), value):
                return value if self._vanishes(value, u) else None
        return None

    def _is(self, u: Expr, interval: Interval) -> bool:
        return is_in(self._signs(u), interval)

    def _vanishes(self, value: Expr, u: Expr) -> bool:
        """Whether it is u times what is a number in the domain: y*x**(y - 1) is 0 where y is 0, for x > 0."""
        return u in factors(without_sign(value)[0])[0] and all(map(self._is_defined, postorder(value)))

    def _is_defined(self, node: Expr) -> bool:
        """Whether a node is a number wherever what it is computed from is one."""
        if not isinstance(node, Apply) or OPS[node.op].total:
            return True
        poles = OPS[node.op].domain == OPS["tgamma"].domain  # at 0, -1, -2, ...
        conditions = [apply("gt", node.args[0], 0)] if poles else needed(node)
        return conditions is not None and all(
            isinstance(c, Apply) and c.op in COMPARE and self._signs.decided(c.op, *c.args) for c in conditions
        )

    def _size(self, u: Expr) -> Expr | None:
        """The absolute value of a number whose sign is known."""
        return u if self._is(u, NOT_NEGATIVE) else -u if self._is(u, NOT_POSITIVE) else None

    def _rises(self, u: Expr, v: Expr, w: Expr) -> bool:
        """Whether a power of a power is one power: exact exponents, of the same sign where the base may be 0."""
        if not (isinstance(v, Const) and isinstance(w, Const) and is_exact(v) and is_exact(w)):
            return False
        return self._is(u, POSITIVE) or self._is(u, NOT_NEGATIVE) and v.value > 0 and w.value > 0

    def _root(self, u: Expr) -> Expr | None:
        """The root of a product, without the squares of what has a sign: sqrt(x**2*y) is x*sqrt(y)."""
        above, below = factors(u)
        outside: tuple[list[Expr], list[Expr]] = [], []
        inside: tuple[list[Expr], list[Expr]] = [], []
        for parts, out, rest in zip((above, below), outside, inside, strict=True):
            for part in parts:
                found = self._halved(part)
                (rest if found is None else out).append(part if found is None else found)
        left = fraction(*inside)
        out = [*outside[0], *outside[1]]
        if not out or not (self._is(left, NOT_NEGATIVE) or all(self._is(u, POSITIVE) for u in out)):
            return None  # where a factor is 0 the root of the others may be none
        return fraction(*outside) if left is ONE else fraction([*outside[0], apply("sqrt", left)], outside[1])

    def _halved(self, part: Expr) -> Expr | None:
        """The root of an even power."""
        if operator(part) != "pow":
            return None
        base, exponent = part.args
        if not (isinstance(exponent, Const) and is_exact(exponent) and exponent.value % 2 == 0):
            return None
        size = self._size(base)
        return None if size is None else size ** const(exponent.value / 2)
