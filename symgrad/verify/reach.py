"""Whether every subscript of a declaration stays inside its tensor at given sizes, whatever the data are.

Of a condition on data either side may come out, and each branch of its `where` may be taken; of one on indices and
sizes it is known where. All points of an equation's box are looked at together, as integer arrays.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np

from ..expr import Apply, Const, Expr, Index, Ref, postorder
from ..ir import Equation, Function, extent_of
from ..ops import COMPARISONS

Known = Any  # the value of a node at every point of a box: integers, or, of a condition, a Truth
UNKNOWN = None
LARGE = 2**31  # no subscript is; products of smaller numbers are exact
Masks = dict[Expr, Any]


class Truth:
    """Where a condition may hold, and where it may not: both, where data decide."""

    def __init__(self, holds: Any, fails: Any) -> None:
        self.holds, self.fails = holds, fails

    def __and__(self, other: Truth) -> Truth:
        return Truth(self.holds & other.holds, self.fails | other.fails)

    def __invert__(self) -> Truth:
        return Truth(self.fails, self.holds)

    def __or__(self, other: Truth) -> Truth:
        return ~(~self & ~other)


EITHER = Truth(np.True_, np.True_)
LOGIC: Mapping[str, Callable[..., Truth]] = {"and": Truth.__and__, "or": Truth.__or__, "not": Truth.__invert__}
INTEGERS: Mapping[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "neg": np.negative,
    "abs": np.abs,
    "floordiv": np.floor_divide,
    "mod": np.mod,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "floor": np.floor,
    "isqrt": lambda a: np.floor(np.sqrt(a)),
}
ORDERS: Mapping[str, Callable[..., Any]] = {op: getattr(operator, op) for op in COMPARISONS}


def inside(function: Function, known: Mapping[str, int | tuple[int, ...]], options: Mapping[str, Any]) -> bool:
    """Whether each element that is read or written exists at these sizes, for all data.

    known  the sizes of dims and packs
    Subscripts that are computed from data are not looked at.
    """
    return all(_inside(function, e, known, options) for e in function.statements if _has_conditions(e))


def _has_conditions(equation: Equation) -> bool:
    """Of an equation without any, the constraints of the declaration tell all."""
    conditional = ("select", "and", "or")
    bodies = any(isinstance(n, Apply) and n.op in conditional for n in postorder(*equation.expressions))
    return bodies or equation.where is not None


def _inside(
    function: Function, equation: Equation, known: Mapping[str, int | tuple[int, ...]], options: Mapping[str, Any]
) -> bool:
    extents = [extent_of(e, known, options) for _, e in equation.box]
    if 0 in extents:
        return True
    grids = np.ogrid[tuple(slice(e) for e in extents)] if extents else ()
    at = dict(zip((i for i, _ in equation.box), grids, strict=True))
    where = () if equation.where is None else (equation.where,)
    order = list(postorder(*where, equation.body, *equation.subscripts))
    values: dict[Expr, Known] = {}
    numbers = {**{k: prod(v) if isinstance(v, tuple) else v for k, v in known.items()}, **options}
    for node in order:
        values[node] = _value(node, [values[a] for a in node.args], at, numbers)
    asked: Masks = {}
    counts = _truth(values[where[0]]).holds if where else np.True_
    for root in where:
        _ask(asked, root, np.True_)
    for root in (equation.body, *equation.subscripts):
        _ask(asked, root, counts)
    for node in reversed(order):
        if node in asked:
            _pass_on(asked, node, asked[node], values)
    reads = [(asked[n], n.name, n.subscripts) for n in order if isinstance(n, Ref) and n in asked]
    for mask, name, subscripts in [*reads, (counts, equation.target, equation.subscripts)]:
        for axis, subscript in enumerate(subscripts):
            place = values[subscript]
            if place is UNKNOWN or isinstance(place, Truth):
                continue
            extent = extent_of(function.table[name].shape[axis], known, options)
            if np.any(mask & ((place < 0) | (place >= extent))):
                return False
    return True


def _ask(asked: Masks, node: Expr, mask: Any) -> None:
    """The node is evaluated where `mask` holds, too."""
    asked[node] = asked[node] | mask if node in asked else mask


def _pass_on(asked: Masks, node: Expr, mask: Any, values: Mapping[Expr, Known]) -> None:
    """What is evaluated for a node that is evaluated where `mask` holds."""
    masks = [mask] * len(node.args)
    if isinstance(node, Apply) and node.op == "select":
        condition = _truth(values[node.args[0]])
        masks = [mask, mask & condition.holds, mask & condition.fails]
    elif isinstance(node, Apply) and node.op in ("and", "or"):  # what decides leaves the rest alone
        first = _truth(values[node.args[0]])
        masks = [mask, mask & (first.holds if node.op == "and" else first.fails)]
    for arg, where in zip(node.args, masks, strict=True):
        _ask(asked, arg, where)


def _truth(value: Known) -> Truth:
    if isinstance(value, Truth):
        return value
    return EITHER if value is UNKNOWN else Truth(np.not_equal(value, 0), np.equal(value, 0))


def _value(node: Expr, args: list[Known], at: Mapping[Index, Any], numbers: Mapping[str, Any]) -> Known:
    if isinstance(node, Const):
        return int(node.value) if node.value.denominator == 1 and abs(node.value) < LARGE else UNKNOWN
    if isinstance(node, Index):
        return at[node]
    if isinstance(node, Ref):
        return numbers.get(node.name, UNKNOWN)
    assert isinstance(node, Apply)
    if node.op in LOGIC:
        return LOGIC[node.op](*map(_truth, args))
    if node.op == "select":
        condition, then, otherwise = _truth(args[0]), *args[1:]
        if isinstance(then, Truth) or isinstance(otherwise, Truth):
            then, otherwise = _truth(then), _truth(otherwise)
            return Truth(
                condition.holds & then.holds | condition.fails & otherwise.holds,
                condition.holds & then.fails | condition.fails & otherwise.fails,
            )
        known = not (then is UNKNOWN or otherwise is UNKNOWN or np.any(condition.holds & condition.fails))
        return np.where(condition.holds, then, otherwise) if known else UNKNOWN
    if any(a is UNKNOWN or isinstance(a, Truth) for a in args):
        return EITHER if node.op in ORDERS else UNKNOWN
    if node.op in ORDERS:
        holds = np.asarray(ORDERS[node.op](*args))
        return Truth(holds, ~holds)
    with np.errstate(all="ignore"):
        return INTEGERS[node.op](*args) if node.op in INTEGERS else UNKNOWN
