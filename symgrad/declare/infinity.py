"""oo and -oo in formulas: values, which a branch of a `where` may have.

What an operator is at an infinity, its row says: `exp(where(c, a, -oo))` is 0 where c does not hold. In a maximum, a
logsumexp and the like a branch of the neutral element is no branch but a condition. An operator that is no number and
no infinity there, such as `oo - oo`, is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeGuard, TypeVar

from ..expr import ONE, ZERO, Apply, Expr, apply, pending, postorder, select
from ..ir import NEUTRAL
from ..ops import OPS
from ..ops.limits import ENDS, INFINITY, limit

NO_INFINITY = (
    "oo is given to an operator that has no limit there, as in sin(oo), oo*x or oo - oo. "
    "It may stand in a branch, as in max[i](where(c, a, -oo)), exp(where(c, a, -oo)), maximum(where(c, a, -oo), b)."
)
T = TypeVar("T")
Finite = tuple[Expr | None, Expr]  # a value where it is not neutral, None if it always is, and the condition of that


def is_infinite(*expressions: Expr) -> bool:
    """Whether oo is mentioned."""
    return any(node is INFINITY for node in postorder(*expressions))


def settled(body: Expr) -> Expr:
    """`body` with the operators that are applied to infinities inside of the branches, and evaluated there; what is
    left of them are branches of the whole, or stands where the operator has no limit."""
    if not is_infinite(body):
        return body
    found: dict[Expr, Expr] = {}
    for node in postorder(body):  # subscripts are no place for infinities
        found[node] = node
        if isinstance(node, Apply) and node.args:
            found[node] = _applied(node.op, [found[a] for a in node.args])
    return found[body]


def has_value(body: Expr) -> bool:
    """Whether each operator that is applied to an infinity has a limit there."""
    return not is_infinite(*(leaf for leaf in _leaves(settled(body)) if leaf not in ENDS))


def without_neutral(kind: str, body: Expr) -> tuple[Expr, Expr]:
    """The body of a reduction settled, `where(c, a, neutral)` as a and the condition c; the branches may be the other
    way round, and nested."""
    neutral = NEUTRAL.get(kind)
    if kind == "logsumexp" or neutral not in ENDS or not is_infinite(body):
        return body, ONE
    body = settled(body)

    def chosen(node: Apply, then: Finite, otherwise: Finite) -> Finite:
        if node.op == "given":
            return node, ONE
        (a, holds), (b, fails) = then, otherwise
        value = b if a is None else a if b is None else select(node.args[0], a, b)
        return value, _either(node.args[0], holds, fails)

    value, condition = _fold(body, lambda leaf: (None, ZERO) if leaf is neutral else (leaf, ONE), chosen)
    return (body, ONE) if value is None else (value, condition)


# branches


def _chooses(node: Expr) -> TypeGuard[Apply]:
    return isinstance(node, Apply) and node.op in ("select", "given")


def _choices(root: Expr) -> list[Expr]:
    """The branches of `where` that `root` is, and what they choose between, each behind what it is made of."""
    found: dict[Expr, None] = {}
    for node in pending((root,), found, lambda node: node.args[1:] if _chooses(node) else ()):
        found[node] = None
    return list(found)


def _leaves(choice: Expr) -> Iterable[Expr]:
    return (n for n in _choices(choice) if not _chooses(n))


def _fold(choice: Expr, leaf: Callable[[Expr], T], chosen: Callable[[Apply, T, T], T]) -> T:
    """What `chosen` makes of a choice and its two branches, and `leaf` of what is chosen."""
    found: dict[Expr, T] = {}
    for node in _choices(choice):
        found[node] = chosen(node, found[node.args[1]], found[node.args[2]]) if _chooses(node) else leaf(node)
    return found[choice]


def _choice(op: str, condition: Expr, then: Expr, otherwise: Expr) -> Expr:
    """A choice between two branches, without asking the condition again first thing in one of them."""
    if op == "given":
        return apply(op, condition, then, otherwise)
    while isinstance(then, Apply) and then.op == op and then.args[0] is condition:
        then = then.args[1]
    while isinstance(otherwise, Apply) and otherwise.op == op and otherwise.args[0] is condition:
        otherwise = otherwise.args[2]
    return select(condition, then, otherwise)


def _rechosen(node: Apply, then: Expr, otherwise: Expr) -> Expr:
    return _choice(node.op, node.args[0], then, otherwise)


def _either(condition: Expr, holds: Expr, fails: Expr) -> Expr:
    """`holds` where the condition holds, else `fails`, as a condition."""
    negated = apply("not", condition)
    if holds is fails:
        return holds
    if holds is ONE:
        return apply("or", condition, fails)
    if fails is ONE:
        return apply("or", negated, holds)
    return apply("or", apply("and", condition, holds), apply("and", negated, fails))


def _applied(op: str, args: Sequence[Expr]) -> Expr:
    """`op` of arguments that may be infinite in their branches."""
    if op in ("select", "given"):
        return _choice(op, *args)
    chosen = [k for k, a in enumerate(args) if a not in ENDS and any(leaf in ENDS for leaf in _leaves(a))]
    if chosen:
        k = chosen[0]
        found = _fold(args[k], lambda leaf: _applied(op, [*args[:k], leaf, *args[k + 1 :]]), _rechosen)
    else:
        found = limit(op, *args)
    if OPS[op].result == "bool" and isinstance(found, Apply) and found.op == "select":  # a choice between conditions
        return _fold(found, lambda leaf: leaf, lambda node, then, otherwise: _either(node.args[0], then, otherwise))
    return found
