"""The value of an expression at a point, in mpmath at the working precision of the moment.

Used to sample and to verify. It knows no derivative, and nothing of the branch that a `where` does not select is
evaluated, its subscripts included, nor what stands behind a condition that decides an `and` or an `or`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import mpmath

from .expr import Apply, Const, Expr, Index, Ref
from .ops import OPS

Element = Callable[[str, tuple[int, ...]], Any]


def evaluate(root: Expr, at: Mapping[str, int], element: Element) -> Any:
    """Return the value of `root` where each loop index has its value in `at`.

    `element(name, subscripts)` gives the element of a tensor: an int for integers, an mpf otherwise. The result is an
    int or an mpf; NaN where the expression is not a real number.
    """
    done: dict[Expr, Any] = {}
    stack = [root]
    while stack:
        node = stack[-1]
        if node in done:
            stack.pop()
            continue
        needed = node.args
        if isinstance(node, Apply) and node.op == "select":
            condition, then, otherwise = needed
            needed = (condition,) if condition not in done else (then if done[condition] else otherwise,)
        elif isinstance(node, Apply) and node.op in ("and", "or"):  # `0 <= i & x[i] > 0` reads no x[-1]
            first = needed[0]
            decided = first in done and bool(done[first]) == (node.op == "or")
            needed = (first,) if first not in done or decided else needed
        waiting = [a for a in needed if a not in done]
        if waiting:
            stack.extend(reversed(waiting))
            continue
        stack.pop()
        done[node] = _value(node, [done[a] for a in needed], at, element)
    return done[root]


def _value(node: Expr, args: list[Any], at: Mapping[str, int], element: Element) -> Any:
    if isinstance(node, Const):
        value = node.value
        return int(value) if value.denominator == 1 else mpmath.mpf(value.numerator) / value.denominator
    if isinstance(node, Index):
        return at[node.name]
    if isinstance(node, Ref):
        return element(node.name, tuple(int(a) for a in args))
    assert isinstance(node, Apply)
    return args[0] if len(args) < len(node.args) else OPS[node.op].value(*args)
