"""Long expressions in pieces that fit a line, for languages without loops to put locals in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..expr import Apply, Const, Expr, Index, Ref, indices, ref, refs, with_args
from ..ir import Equation, Tensor, dtype_of_part
from .lower import Names

LONG = 40  # operations, written out, from which an expression is cut at all
PIECE = 9  # operations, written out, of one piece


def cut(equations: Sequence[Equation], tensors: dict[str, Tensor], names: Names) -> list[Equation]:
    """Long elementwise equations in pieces: what is used more than once, and what would not fit a line.

    Pieces are shared by all equations of one box and condition. Linear in the number of operations.
    """
    known: dict[tuple[object, ...], dict[Expr, Expr]] = {}
    result: list[Equation] = []
    for e in equations:
        cost, uses = _costs(e.body)
        if e.reduce != "none" or e.where is not None or cost[e.body] <= LONG:
            result.append(e)
            continue
        pieces = known.setdefault((e.box, e.when), {})
        result += _pieces(e, uses, pieces, tensors, names)
    return result


def _outer(body: Expr) -> list[Expr]:
    """The nodes of a body, those of subscripts left out, each after its operands."""
    result: list[Expr] = []
    seen: set[Expr] = set()
    stack = [body]
    while stack:
        node = stack[-1]
        waiting = [] if isinstance(node, Ref) else [a for a in node.args if a not in seen]
        if node not in seen and waiting:
            stack.extend(reversed(waiting))
            continue
        stack.pop()
        if node not in seen:
            seen.add(node)
            result.append(node)
    return result


def _costs(body: Expr) -> tuple[dict[Expr, int], dict[Expr, int]]:
    """The length of each node written out (capped), and how many others read it."""
    cost: dict[Expr, int] = {}
    uses: dict[Expr, int] = {}
    for node in _outer(body):
        below = node.args if isinstance(node, Apply) else ()
        cost[node] = min(10**9, sum(cost[a] for a in below) + isinstance(node, Apply))
        for a in below:
            uses[a] = uses.get(a, 0) + 1
    return cost, uses


def _pieces(
    e: Equation, uses: dict[Expr, int], pieces: dict[Expr, Expr], tensors: dict[str, Tensor], names: Names
) -> list[Equation]:
    extents = dict(e.box)
    result: list[Equation] = []
    short: dict[Expr, Expr] = {}  # each node with the pieces below it named
    length: dict[Expr, int] = {}
    for node in _outer(e.body):
        if isinstance(node, (Const, Index, Ref)) or not isinstance(node, Apply):
            short[node], length[node] = node, 0
            continue
        if node in pieces:
            short[node], length[node] = pieces[node], 0
            continue
        small = with_args(node, [short[a] for a in node.args])
        words = 1 + sum(length[a] for a in node.args)
        alone = (uses.get(node, 0) > 1 and words >= 2) or words >= PIECE
        if node is not e.body and alone and any(r.name in tensors for r in refs(small)):
            at = tuple(i for i, _ in e.box if i in indices(small))
            name = names.new(_word(node))
            tensors[name] = Tensor(name, tuple(extents[i] for i in at), dtype_of_part(small))
            result.append(Equation(name, at, "none", small, tuple((i, extents[i]) for i in at), None, e.when))
            pieces[node] = short[node] = ref(name, *at)
            length[node] = 0
        else:
            short[node], length[node] = small, words
    return [*result, replace(e, body=short[e.body])]


def _word(node: Apply) -> str:
    """`sin`, `exp`, ... for a call; `part` for arithmetic."""
    return "part" if node.op in ("add", "sub", "mul", "div", "neg", "pow", "select") else f"{node.word}_part"
