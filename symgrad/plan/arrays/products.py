"""Products as lists of factors."""

from __future__ import annotations

from collections.abc import Sequence

from ...expr import ONE, Apply, Expr


def factors(body: Expr) -> tuple[list[Expr], list[Expr], int]:
    """The factors above and below the line, and the sign."""
    above: list[Expr] = []
    below: list[Expr] = []
    sign = 1
    stack = [(body, True)]
    while stack:
        node, up = stack.pop()
        if isinstance(node, Apply) and node.op == "mul":
            stack += [(node.args[1], up), (node.args[0], up)]
        elif isinstance(node, Apply) and node.op == "div":
            stack += [(node.args[1], not up), (node.args[0], up)]
        elif isinstance(node, Apply) and node.op == "neg":
            sign = -sign
            stack.append((node.args[0], up))
        elif node is not ONE:
            (above if up else below).append(node)
    return above, below, sign


def multiplied(items: Sequence[Expr]) -> Expr:
    """The product of `items`."""
    result: Expr = ONE
    for item in items:
        result = result * item
    return result


def divided(above: Sequence[Expr], below: Sequence[Expr]) -> Expr:
    """The quotient of two products."""
    return multiplied(above) / multiplied(below) if below else multiplied(above)


def counted(above: list[Expr], below: list[Expr], extent: Expr) -> tuple[list[Expr], list[Expr]]:
    """Times the number of points of an index that nothing mentions; a mean's divisor cancels it."""
    if any(b is extent for b in below):
        return above, [b for k, b in enumerate(below) if k != next(j for j, x in enumerate(below) if x is extent)]
    return [extent, *above], below
