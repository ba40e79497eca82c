"""Equations as lists of instructions over numbered slots, and what one evaluation of them leaves behind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..expr import Apply, Const, Expr, Index, Ref, postorder
from ..ir import Equation
from ..ops import OPS

CONST, INDEX, REF, APPLY, SELECT = range(5)
COMPARISONS = frozenset({"lt", "le", "gt", "ge", "eq", "ne"})
Position = tuple[int, ...]


class Group:
    """Equations that are evaluated together, as one list of instructions over numbered slots."""

    def __init__(self, equations: tuple[Equation, ...], real: frozenset[str]) -> None:
        self.equations = equations
        self.box = equations[0].box
        self.where = equations[0].where
        nodes = list(postorder(*(e.body for e in equations)))
        slot = {node: number for number, node in enumerate(nodes)}
        self.roots = tuple(slot[e.body] for e in equations)
        self.codes: list[tuple[int, Any, tuple[int, ...]]] = []
        self.lazy = False
        # a slot is active if a real tensor's elements reach it: only there is a derivative
        self.active: list[bool] = []
        self.ops = [node.op if isinstance(node, Apply) else "" for node in nodes]
        for node in nodes:
            args = tuple(slot[a] for a in node.args)
            self.codes.append(_instruction(node, args))
            self.lazy |= self.codes[-1][0] == SELECT
            if isinstance(node, Ref):
                self.active.append(node.name in real)
            else:
                self.active.append(any(self.active[a] for a in args))
        # where a derivative may be a matter of declaration
        self.watched = [
            number
            for number, op in enumerate(self.ops)
            if self.active[number] and op and (op in COMPARISONS or OPS[op].kinks)
        ]

    def slots(self, at: Mapping[str, int], constants: list[Any], element: Any) -> tuple[list[Any], list[int] | None]:
        """The value of every slot, and the order in which they were computed (None: all, one after the other)."""
        values: list[Any] = [None] * len(self.codes)
        if not self.lazy:
            for number, (kind, what, args) in enumerate(self.codes):
                if kind == APPLY:
                    values[number] = what(*[values[a] for a in args])
                elif kind == CONST:
                    values[number] = constants[number]
                elif kind == REF:
                    values[number] = element(what, tuple([int(values[a]) for a in args]))
                else:
                    values[number] = at[what]
            return values, None
        return values, self._lazily(values, at, constants, element)

    def _lazily(self, values: list[Any], at: Mapping[str, int], constants: list[Any], element: Any) -> list[int]:
        order: list[int] = []
        stack = list(reversed(self.roots))
        while stack:
            number = stack[-1]
            if values[number] is not None:
                stack.pop()
                continue
            kind, what, args = self.codes[number]
            if kind == SELECT:
                condition = values[args[0]]
                args = (args[0],) if condition is None else (args[1] if condition else args[2],)
            waiting = [a for a in args if values[a] is None]
            if waiting:
                stack.extend(reversed(waiting))
                continue
            stack.pop()
            if kind == APPLY:
                values[number] = what(*[values[a] for a in args])
            elif kind == SELECT:
                values[number] = values[args[0]]
            elif kind == CONST:
                values[number] = constants[number]
            elif kind == REF:
                values[number] = element(what, tuple([int(values[a]) for a in args]))
            else:
                values[number] = at[what]
            order.append(number)
        return order


def _instruction(node: Expr, args: tuple[int, ...]) -> tuple[int, Any, tuple[int, ...]]:
    if isinstance(node, Const):
        return CONST, node.value, ()
    if isinstance(node, Index):
        return INDEX, node.name, ()
    if isinstance(node, Ref):
        return REF, node.name, args
    assert isinstance(node, Apply)
    return (SELECT, "select", args) if node.op == "select" else (APPLY, OPS[node.op].value, args)


@dataclass(slots=True)
class Visit:
    """One point of a group's box: the value of each slot, and what is needed to go back."""

    values: list[Any]
    order: list[int] | None
    positions: tuple[Position, ...]
    partials: dict[int, tuple[Any, ...]] = field(default_factory=dict)


@dataclass(slots=True)
class Fibre:
    """The elements that one equation reduces to one element of its target."""

    target: str
    position: Position
    reduce: str
    members: list[tuple[int, int]]  # (visit, slot)
    value: Any = None
