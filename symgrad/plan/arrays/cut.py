"""Long expressions in pieces that fit a line, for languages without loops to put locals in."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from ...expr import (
    ONE,
    Apply,
    Const,
    Expr,
    Index,
    Ref,
    apply,
    conjunction,
    indices,
    ref,
    refs,
    values,
    with_args,
)
from ...expr.names import Names
from ...ir import Dtype, Equation, Tensor, dtype_of_part
from ...ops import OPS
from ..conditions import restricted
from .layout import plain

Case = tuple[Expr, bool]  # a condition, and whether it holds
Piece = tuple[Expr, tuple[Case, ...]]  # what is named, and in which cases alone it has a value

LONG = 40  # operations, written out, from which an expression is cut at all
PIECE = 9  # operations, written out, of one piece


def cut(equations: Sequence[Equation], tensors: dict[str, Tensor], names: Names) -> list[Equation]:
    """Long elementwise equations in pieces: what is used more than once, and what would not fit a line.

    Pieces are shared by all equations of one box and condition. Linear in the number of operations.
    """
    known: dict[tuple[object, ...], dict[Piece, Expr]] = {}
    result: list[Equation] = []
    for e in equations:
        cost, uses = _costs(e.body)
        if e.reduce != "none" or e.where is not None or cost[e.body] <= LONG:
            result.append(e)
            continue
        pieces = known.setdefault((e.box, e.when), {})
        result += _pieces(e, uses, pieces, tensors, names)
    made = {r.name for pieces in known.values() for r in pieces.values() if isinstance(r, Ref)}
    return _read(result, made)


def _read(equations: Sequence[Equation], made: set[str]) -> list[Equation]:
    """The equations without pieces of what another piece stands for as a whole."""
    result: list[Equation] = []
    used: set[str] = set()
    for e in reversed(equations):
        if e.target in used or e.target not in made:
            used.update(r.name for r in e.reads)
            result.append(e)
    return result[::-1]


def _costs(body: Expr) -> tuple[dict[Expr, int], dict[Expr, int]]:
    """The length of each node written out (capped), and how many others read it."""
    cost: dict[Expr, int] = {}
    uses: dict[Expr, int] = {}
    for node in values(body):
        below = node.args if isinstance(node, Apply) else ()
        cost[node] = min(10**9, sum(cost[a] for a in below) + isinstance(node, Apply))
        for a in below:
            uses[a] = uses.get(a, 0) + 1
    return cost, uses


def _pieces(
    e: Equation, uses: dict[Expr, int], pieces: dict[Piece, Expr], tensors: dict[str, Tensor], names: Names
) -> list[Equation]:
    extents = dict(e.box)
    within = _within(e.body, tensors)
    result: list[Equation] = []
    short: dict[Expr, Expr] = {}  # each node with the pieces below it named
    length: dict[Expr, int] = {}
    for node in values(e.body):
        if isinstance(node, (Const, Index, Ref)) or not isinstance(node, Apply):
            short[node], length[node] = node, 0
            continue
        where = within.get(node, ())
        if (node, where) in pieces:
            short[node], length[node] = pieces[node, where], 0
            continue
        small = with_args(node, [short[a] for a in node.args])
        words = 1 + sum(length[a] for a in node.args)
        alone = (uses.get(node, 0) > 1 and words >= 2) or words >= PIECE
        if node is not e.body and alone and any(r.name in tensors for r in refs(small)):
            if where:
                small = _under(small, [(short[c], holds) for c, holds in where])
            at = tuple(i for i, _ in e.box if i in indices(small))
            name = names.new(_word(node))
            tensors[name] = Tensor(name, tuple(extents[i] for i in at), dtype_of_part(small))
            result.append(Equation(name, at, "none", small, tuple((i, extents[i]) for i in at), None, e.when))
            pieces[node, where] = short[node] = ref(name, *at)
            length[node] = 0
        else:
            short[node], length[node] = small, words
    return [*result, replace(e, body=short[e.body])]


def _within(body: Expr, tensors: Collection[str]) -> dict[Expr, tuple[Case, ...]]:
    """The cases of a `where` in which alone a node is asked for that may have no value elsewhere."""
    nodes = values(body)
    cases: dict[Expr, dict[Case, None]] = {body: {}}
    for node in reversed(nodes):  # after all that ask for it
        mine = cases[node]
        below = node.args if isinstance(node, Apply) else ()
        for k, a in enumerate(below):
            more = {(below[0], k == 1): None} if k and isinstance(node, Apply) and node.op == "select" else {}
            here = {**mine, **more}
            cases[a] = {c: None for c in cases[a] if c in here} if a in cases else here
    partial: set[Expr] = set()
    for node in nodes:
        elsewhere = isinstance(node, Ref) and not plain(node)
        if elsewhere or restricted(node, tensors) or (isinstance(node, Apply) and any(a in partial for a in node.args)):
            partial.add(node)
    return {node: tuple(cases[node]) for node in nodes if node in partial and cases[node]}


def _under(node: Expr, cases: Sequence[Case]) -> Expr:
    """`node` in these cases, and any number in others."""
    held = conjunction([c if holds else apply("not", c) for c, holds in cases])
    return apply("and", held, node) if dtype_of_part(node) == Dtype.BOOL else apply("select", held, node, ONE)


def _word(node: Apply) -> str:
    """`sin`, `exp`, ... for a call; `part` for arithmetic."""
    return "part" if OPS[node.op].noun else f"{node.word}_part"
