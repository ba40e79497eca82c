"""Long expressions in pieces that fit a line, for languages without loops to put locals in."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from ...expr import (
    ONE,
    Apply,
    Const,
    Expr,
    Index,
    Ref,
    apply,
    conjunction,
    operators,
    refs,
    renewed,
    substitute,
    values,
)
from ...expr.names import Names
from ...ir import Dtype, Equation, Tensor, distinct, dtype_of_part
from ...ir.reads import Conditions, evaluated
from ...ops import OPS
from ...ops.naming import phrase
from ...records import dataclass
from ..conditions import restricted

Piece = tuple[Expr, Conditions]  # what is named, and the conditions under which alone it has a value

LONG = 40  # operations, written out, from which equations are cut at all
PIECE = 9  # operations, written out, of one piece


def cut(
    equations: Sequence[Equation], tensors: dict[str, Tensor], names: Names, harmless: Callable[[Expr], bool]
) -> list[Equation]:
    """Long elementwise equations in pieces: what is used more than once, which is an array that is made once, and what
    would not fit a line.

    All elementwise equations of one box and condition share pieces, if one of them is long. Linear in the number of
    operations.
    """
    groups: dict[tuple[object, ...], list[Equation]] = {}
    for e in equations:
        if e.reduce == "none" and e.where is None:
            groups.setdefault((e.box, e.when), []).append(e)
    found = {key: _Group(_uses(group), {}) for key, group in groups.items() if _long(group)}
    result: list[Equation] = []
    for e in equations:
        group = found.get((e.box, e.when)) if e.reduce == "none" and e.where is None else None
        result += [e] if group is None else _pieces(e, group, tensors, names, harmless)
    made = {r.name for group in found.values() for r in group.pieces.values() if isinstance(r, Ref)}
    return _read(result, made)


@dataclass(frozen=True, slots=True)
class _Group:
    """How many others read each part of the equations of one box and condition, and their pieces so far."""

    uses: Mapping[Expr, int]
    pieces: dict[Piece, Expr]


def _read(equations: Sequence[Equation], made: set[str]) -> list[Equation]:
    """The equations without pieces of what another piece stands for as a whole."""
    result: list[Equation] = []
    used: set[str] = set()
    for e in reversed(equations):
        if e.target in used or e.target not in made:
            used.update(r.name for r in e.reads)
            result.append(e)
    return result[::-1]


def _long(group: Sequence[Equation]) -> bool:
    """Whether one of the equations is long, written out."""
    cost: dict[Expr, int] = {}
    for node in values(*(e.body for e in group)):
        below = node.args if isinstance(node, Apply) else ()
        cost[node] = min(LONG + 1, sum(cost[a] for a in below) + isinstance(node, Apply))
    return any(cost[e.body] > LONG for e in group)


def _uses(group: Sequence[Equation]) -> dict[Expr, int]:
    """How many equations, and parts of them, read each part."""
    uses: dict[Expr, int] = {}
    for e in group:
        uses[e.body] = uses.get(e.body, 0) + 1
    for node in values(*(e.body for e in group)):
        for a in node.args if isinstance(node, Apply) else ():
            uses[a] = uses.get(a, 0) + 1
    return uses


def _pieces(
    e: Equation, group: _Group, tensors: dict[str, Tensor], names: Names, harmless: Callable[[Expr], bool]
) -> list[Equation]:
    pieces = group.pieces
    within = _within(e.body, tensors, harmless)
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
        small = renewed(node, short)
        words = 1 + sum(map(length.__getitem__, node.args))
        alone = group.uses[node] > 1 or (words >= PIECE and node is not e.body)
        if alone and any(r.name in tensors for r in refs(small)):
            if where and any(_has_domain(n, tensors, harmless) for n in values(small)):
                small = _under(small, [substitute(c, short) for c in where])
            name = names.new(_word(node))
            tensors[name], equation, short[node] = e.part(name, small)
            result.append(equation)
            pieces[node, where], length[node] = short[node], 0
        else:
            short[node], length[node] = small, words
    return [*result, e.with_body(short[e.body])]


def _within(body: Expr, tensors: Collection[str], harmless: Callable[[Expr], bool]) -> dict[Expr, Conditions]:
    """The conditions under which alone a node is asked for that may have no value elsewhere."""
    partial: set[Expr] = set()
    if not any(OPS[op].lazy for op in operators(body)):
        return {}
    for node in values(body):
        if _has_domain(node, tensors, harmless) or (isinstance(node, Apply) and any(a in partial for a in node.args)):
            partial.add(node)
    cases = evaluated([(body, ())], cases=1) if partial else {}
    return {node: given for node, (given,) in cases.items() if node in partial and given}


def _has_domain(node: Expr, tensors: Collection[str], harmless: Callable[[Expr], bool]) -> bool:
    """Whether a node may have no value where it is not asked for: an element that is not there, a root."""
    return isinstance(node, Ref) and not distinct(node.subscripts) or restricted(node, tensors, harmless)


def _under(node: Expr, given: Sequence[Expr]) -> Expr:
    """`node` where all of `given` hold, and any number elsewhere."""
    held = conjunction(given)
    return apply("and", held, node) if dtype_of_part(node) == Dtype.BOOL else apply("select", held, node, ONE)


def _word(node: Apply) -> str:
    """`sin`, `exp`, ... for a call; arithmetic is read aloud where that is not too long."""
    return phrase(node) or "part" if OPS[node.op].noun else f"{node.word}_part"
