"""oo and -oo in formulas: what operators make of them, so that no infinite value is left where numbers are computed.

`exp(where(c, a, -oo))` is `where(c, exp(a), 0)`, and `maximum(where(c, a, -oo), b)` is `where(c, maximum(a, b), b)`: an
operator goes into the branches, and what it is at an infinity, its row says. In a maximum, a logsumexp and the like a
branch of the neutral element is no branch but a condition. A result whose branches are infinite is written into its
readers. What remains is refused.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeGuard, TypeVar

from mpmath import mp

from ..expr import (
    ONE,
    ZERO,
    Apply,
    Const,
    Expr,
    Index,
    apply,
    conjunction,
    const,
    postorder,
    refs,
    select,
    substitute,
)
from ..ir import INFINITY, NEUTRAL, When
from ..ops import OPS
from .ranges import Pending

NO_INFINITY = (
    "oo is a value only where it changes nothing: max[i](where(c, a, -oo)), min[i](where(c, a, oo)), "
    "logsumexp[i](where(c, a, -oo)), exp(where(c, a, -oo)), maximum(where(c, a, -oo), b)."
)
_ENDS = (INFINITY, -INFINITY)  # live only until the declaration is finished
T = TypeVar("T")
Finite = tuple[Expr | None, Expr]  # a value where it is not neutral, None if it always is, and the condition of that
_NUMBERS = (-2.5, -1.0, 0.0, 0.75, 1.0, 3.0)  # what an operand may be: an operator that differs at them has no limit


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


def in_branches(body: Expr) -> bool:
    """Whether infinities stand nowhere but as whole branches, from which a reader may still take them."""
    return not is_infinite(*(leaf for leaf in _leaves(body) if leaf not in _ENDS))


def without_neutral(kind: str, body: Expr) -> tuple[Expr, Expr]:
    """The body of a reduction settled, `where(c, a, neutral)` as a and the condition c; the branches may be the other
    way round, and nested."""
    body = settled(body)
    neutral = NEUTRAL.get(kind)
    if neutral not in _ENDS or not is_infinite(body):
        return body, ONE

    def chosen(node: Apply, then: Finite, otherwise: Finite) -> Finite:
        if node.op == "given":
            return node, ONE
        (a, holds), (b, fails) = then, otherwise
        value = b if a is None else a if b is None else select(node.args[0], a, b)
        return value, _either(node.args[0], holds, fails)

    value, condition = _fold(body, lambda leaf: (None, ZERO) if leaf is neutral else (leaf, ONE), chosen)
    return (body, ONE) if value is None else (value, condition)


def inlined(equations: Sequence[Pending], kept: Collection[str]) -> list[Pending]:
    """The equations without those whose values may be infinite, which are written into their readers.

    kept  names of results, which stay equations
    """
    left = list(equations)
    for target in dict.fromkeys(p.target for p in equations if is_infinite(p.body)):
        mine = [p for p in left if p.target == target]
        if target not in kept and all(map(_is_plain, mine)) and not _together(mine):
            left = [r for q in left if q.target != target for r in _with(q, mine)]
    return left


def _is_plain(p: Pending) -> bool:
    """Whether the equation says what each element of its target is, by none of the others."""
    plain = len(set(p.subscripts)) == len(p.subscripts) and all(isinstance(s, Index) for s in p.subscripts)
    return plain and p.reduce == "none" and p.where is ONE and all(r.name != p.target for r in refs(p.body))


def _together(equations: Sequence[Pending]) -> bool:
    """Whether two of the equations count at once, whatever optional inputs are given."""
    return any(_both(a.when, b.when) is not None for a, b in itertools.combinations(equations, 2))


def _both(a: When, b: When) -> When | None:
    """Both of the conditions on optional inputs; None if they exclude each other."""
    joint = dict((*a, *b))
    return tuple(joint.items()) if all(joint[name] == present for name, present in a) else None


def _with(q: Pending, written: Sequence[Pending]) -> list[Pending]:
    """`q` with what is written in the place of the elements that it reads, once for each of the equations that may
    count."""
    read = [r for r in refs(q.body) if r.name == written[0].target]
    found = []
    for p in written if read else ():
        when = _both(q.when, p.when)
        if when is None:
            continue
        axes = {i: n for n, i in enumerate(p.subscripts)}
        given = [(r.subscripts[axes[i]], e) for r in read for i, e in p.extents.items()]
        extents = {s: e for s, e in given if isinstance(s, Index)} | {**q.extents}
        values = {r: substitute(p.body, dict(zip(p.subscripts, r.subscripts, strict=True))) for r in read}
        body, finite = without_neutral(q.reduce, substitute(q.body, values))
        found.append(replace(q, body=body, where=conjunction((q.where, finite)), extents=extents, when=when))
    return found if read else [q]


# branches


def _chooses(node: Expr) -> TypeGuard[Apply]:
    return isinstance(node, Apply) and node.op in ("select", "given")


def _choices(root: Expr) -> list[Expr]:
    """The branches of `where` that `root` is, and what they choose between, each behind what it is made of."""
    order: list[Expr] = []
    seen: set[Expr] = set()
    stack = [(root, False)]
    while stack:
        node, below = stack.pop()
        if below:
            order.append(node)
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            if _chooses(node):
                stack += [(a, False) for a in node.args[:0:-1]]
    return order


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
    chosen = [k for k, a in enumerate(args) if a not in _ENDS and any(leaf in _ENDS for leaf in _leaves(a))]
    if chosen:
        k = chosen[0]
        found = _fold(args[k], lambda leaf: _applied(op, [*args[:k], leaf, *args[k + 1 :]]), _rechosen)
    else:
        found = _limit(op, args) if any(a in _ENDS for a in args) else apply(op, *args)
    if OPS[op].result == "bool" and isinstance(found, Apply) and found.op == "select":  # a choice between conditions
        return _fold(found, lambda leaf: leaf, lambda node, then, otherwise: _either(node.args[0], then, otherwise))
    return found


# limits


def _limit(op: str, args: Sequence[Expr]) -> Expr:
    """`op` where some arguments are infinite and the others any numbers; `op` itself where that has no one value."""
    known = tuple(_number(a) for a in args)
    kind, value = _probed(op, known)
    if kind == "argument":
        return args[int(value)]
    if kind == "infinite":
        return INFINITY if value > 0 else -INFINITY
    return const(int(value)) if kind == "number" else apply(op, *args)


def _number(a: Expr) -> float | None:
    """The value of a literal or an infinity."""
    if a in _ENDS:
        return float("inf") if a is INFINITY else float("-inf")
    return float(a.value) if isinstance(a, Const) else None


@lru_cache(maxsize=1024)
def _probed(op: str, known: tuple[float | None, ...]) -> tuple[str, float]:
    """What the row of `op` computes at these arguments, whatever number stands for None: a number, an infinity, one of
    the arguments, or nothing that is the same for all."""
    free = [k for k, x in enumerate(known) if x is None]
    results: list[tuple[Any, tuple[float, ...]]] = []
    for numbers in itertools.product(_NUMBERS, repeat=len(free)):
        chosen = dict(zip(free, numbers, strict=True))
        at = tuple(chosen[k] if x is None else x for k, x in enumerate(known))
        try:
            results.append((mp.mpf(OPS[op].value(*map(mp.mpf, at))), at))
        except (ArithmeticError, ValueError, TypeError):
            return "nothing", 0.0
    for k in range(len(known)):
        if all(value == at[k] for value, at in results):
            return "argument", float(k)
    first = results[0][0]
    if all(value == first for value, _ in results):
        if mp.isinf(first):
            return "infinite", float(first)
        return ("number", float(first)) if mp.isint(first) else ("nothing", 0.0)
    return "nothing", 0.0
