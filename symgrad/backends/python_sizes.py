"""Sizes, shapes and conditions on them in Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from ..expr import ZERO, Apply, Const, Expr, Index, Ref, postorder
from ..expr.text import decimal
from ..ops import OPS
from ..source.python import Call, Expression, Name, Number, Operation, Several, Splat, Word, call, integer
from .python_print import INFIXES, PREFIXES

OPERATORS = frozenset({*INFIXES, *PREFIXES, "pow", "select"})


def pack_name(name: str) -> str:
    """What a pack is called in code: `...` is `batch`."""
    return "batch" if name == "..." else name.lstrip("*")


def name(of: str) -> Name | Word:
    """A size, an option or a tensor as a variable. The pack without a name is called so by the file."""
    return Word(pack_name(of)) if of == "..." else Name(pack_name(of))


def is_pack(node: Expr) -> bool:
    """Whether a size stands for several axes."""
    return isinstance(node, Ref) and not node.name.isidentifier()


def size(root: Expr, told: Mapping[str, Expression] = MappingProxyType({})) -> Expression:
    """A size as a number; a pack is the number of its elements. `told`: where sizes without a name are read from."""
    done: dict[Expr, Expression] = {}
    for node in postorder(root):
        found = told.get(node.name) if isinstance(node, Ref) else None
        done[node] = found or _size(node, [done[a] for a in node.args], told)
    return done[root]


def of_numbers(op: str) -> str | None:
    """What Python itself calls an operator, of numbers, not of arrays: `max`; None where it has no such function."""
    row = OPS[op]
    return row.reduction if row.reduction in ("max", "min") else op if op == "abs" else None


def _size(node: Expr, args: Sequence[Expression], told: Mapping[str, Expression]) -> Expression:
    if isinstance(node, Const):
        return number(node)
    if isinstance(node, Index):
        return Name(node.name)
    if isinstance(node, Ref):
        return call("math.prod", name(node.name)) if is_pack(node) else Name(node.name)
    assert isinstance(node, Apply)
    if node.op in OPERATORS:
        return Operation(node.op, tuple(args))
    if (word := of_numbers(node.op)) is not None:
        return call(word, *args)
    row = OPS[node.op]
    return call(row.spell.get("numpy", node.op), *args) if row.expand is None else size(row.expand(*node.args), told)


def number(node: Const) -> Expression:
    """A number: as typed, as a short decimal, or as a quotient of two integers."""
    text = node.text or decimal(node)
    if text is None:
        above, below = abs(node.value.numerator), node.value.denominator
        found: Expression = Operation("div", (integer(above), integer(below)))
    else:
        found = Number(text.removeprefix("-"))
    return found if node.value >= 0 else Operation("neg", (found,))


def axis(node: Expr) -> Expression:
    """One entry of a shape; a pack is splatted there."""
    if isinstance(node, Ref) and is_pack(node):
        return Splat(name(node.name))
    return call("max", size(node), integer(0)) if _may_be_negative(node) else size(node)  # n - 1 of an empty axis


def shape(extents: Sequence[Expr]) -> Expression:
    """A shape as a tuple; a lone pack is a tuple already."""
    if len(extents) == 1 and isinstance(extents[0], Ref) and is_pack(extents[0]):
        return name(extents[0].name)
    return Several(tuple(map(axis, extents)))


def _may_be_negative(node: Expr) -> bool:
    if isinstance(node, Apply) and node.op == "maximum" and ZERO in node.args:
        return False
    return isinstance(node, Apply) and (node.op in ("sub", "neg") or any(map(_may_be_negative, node.args)))


def ranged(extent: Expr) -> Call:
    """`range(extent)`."""
    return call("range", size(extent))
