"""The value of expressions at a point, in mpmath at the working precision of the moment.

Used to sample and to verify. It knows no derivative, and nothing of the branch that a `where` does not select is
evaluated, its subscripts included, nor what stands behind a condition that decides an `and` or an `or`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from .expr import Apply, Const, Expr, Index, Ref, postorder
from .later import mpmath
from .ops import OPS

CONST, INDEX, REF, APPLY, SELECT = range(5)
DECIDED_BY = {"and": False, "or": True}  # by which value of its first condition
Element = Callable[[str, tuple[int, ...]], Any]
Position = tuple[int, ...]


def evaluate(root: Expr, at: Mapping[str, int], element: Element) -> Any:
    """Return the value of `root` where each loop index has its value in `at`.

    `element(name, subscripts)` gives the element of a tensor: an int for integers, an mpf otherwise. The result is an
    int or an mpf; NaN where the expression is not a real number.
    """
    code = _code(root)
    return code.evaluated(at, code.constants(), element)[0][-1]


class Code:
    """Expressions as one list of instructions over numbered slots: each node once, after those that it is made of.

    codes  of each slot its kind, the number, name or function that it has, and the slots of its arguments
    ops    of each slot its operator; "" if it has none
    roots  the slots of the expressions
    """

    def __init__(self, *roots: Expr) -> None:
        nodes = list(postorder(*roots))
        self.slot = {node: number for number, node in enumerate(nodes)}
        self.roots = tuple(self.slot[root] for root in roots)
        self.codes = [_instruction(node, tuple(self.slot[a] for a in node.args)) for node in nodes]
        self.ops = [node.op if isinstance(node, Apply) else "" for node in nodes]
        self.lazy = any(op == "select" or op in DECIDED_BY for op in self.ops)
        numbers = [what if kind == CONST else None for kind, what, _ in self.codes]
        self._whole = [int(n) if n is not None and n.denominator == 1 else None for n in numbers]
        self._fractions = [(slot, n) for slot, n in enumerate(numbers) if n is not None and n.denominator != 1]

    def applied(self, function: Callable[..., Any], args: list[Any]) -> Any:
        """The value of an operator."""
        return function(*args)

    def constants(self) -> list[Any]:
        """The numbers among the slots, at the precision of the moment."""
        found = list(self._whole)
        for slot, fraction in self._fractions:
            found[slot] = mpmath.mpf(fraction.numerator) / fraction.denominator
        return found

    def evaluated(
        self, at: Mapping[str, int], constants: list[Any], element: Element
    ) -> tuple[list[Any], list[int] | None]:
        """The value of every slot, and the order in which they were computed (None: all, one after the other)."""
        values: list[Any] = [None] * len(self.codes)
        if self.lazy:
            return values, self.completed(values, self.roots, at, constants, element)
        for number, (kind, what, args) in enumerate(self.codes):
            if kind == APPLY:
                values[number] = self.applied(what, [values[a] for a in args])
            elif kind == CONST:
                values[number] = constants[number]
            elif kind == REF:
                values[number] = element(what, place([values[a] for a in args]))
            else:
                values[number] = at[what]
        return values, None

    def completed(
        self, values: list[Any], roots: Sequence[int], at: Mapping[str, int], constants: list[Any], element: Element
    ) -> list[int]:
        """Compute what `roots` need and `values` do not have; the slots, in the order in which they were computed."""
        order: list[int] = []
        stack = list(reversed(roots))
        while stack:
            number = stack[-1]
            if values[number] is not None:
                stack.pop()
                continue
            kind, what, args = self.codes[number]
            if kind == SELECT:
                condition = values[args[0]]
                args = (args[0],) if condition is None else (args[1] if condition else args[2],)
            decided = DECIDED_BY.get(self.ops[number])
            if decided is not None:  # `0 <= i & x[i] > 0` reads no x[-1]
                first = values[args[0]]
                args = args[:1] if first is None or bool(first) is decided else args
            waiting = [a for a in args if values[a] is None]
            if waiting:
                stack.extend(reversed(waiting))
                continue
            stack.pop()
            if kind == SELECT or decided is not None and len(args) == 1:
                values[number] = values[args[0]]
            elif kind == APPLY:
                values[number] = self.applied(what, [values[a] for a in args])
            elif kind == CONST:
                values[number] = constants[number]
            elif kind == REF:
                values[number] = element(what, place([values[a] for a in args]))
            else:
                values[number] = at[what]
            order.append(number)
        return order


@lru_cache(maxsize=4096)
def _code(root: Expr) -> Code:
    return Code(root)


def _instruction(node: Expr, args: tuple[int, ...]) -> tuple[int, Any, tuple[int, ...]]:
    if isinstance(node, Const):
        return CONST, node.value, ()
    if isinstance(node, Index):
        return INDEX, node.name, ()
    if isinstance(node, Ref):
        return REF, node.name, args
    assert isinstance(node, Apply)
    return (SELECT, "select", args) if node.op == "select" else (APPLY, OPS[node.op].value, args)


def place(subscripts: Sequence[Any]) -> Position:
    """Whole numbers; IndexError for what is none."""
    try:
        return tuple(map(int, subscripts))
    except (ValueError, OverflowError) as error:
        raise IndexError("a subscript is not a number") from error
