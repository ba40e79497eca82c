"""Whether two declarations are the same, also in two processes: a digest of all that they say."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from typing import Any

from ..expr import Apply, Const, Expr, Index, Operator, Ref, postorder
from .data import Function


def digest_of(function: Function) -> str:
    """Of the equations, and of the Python function that the check asks; empty where an operator is the user's own
    code, of which nobody knows whether it is what it was."""
    said = _Said()
    text = said.told(function)
    if function.python is not None:
        with suppress(OSError, TypeError):  # typed into an interpreter
            text += inspect.getsource(function.python)
    lines = "\n".join([*said.lines, text])
    return "" if said.unknown else hashlib.sha256(lines.encode()).hexdigest()


class _Said:
    """Data as text: each node of an expression is a line, and called by its number, as many share one."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.numbers: dict[Expr, int] = {}
        self.unknown = False

    def told(self, value: Any) -> str:
        if isinstance(value, Expr):
            return self._node(value)
        if is_dataclass(value) and not isinstance(value, type):
            parts = [f"{f.name}={self.told(getattr(value, f.name))}" for f in fields(value) if f.compare]
            return f"{type(value).__name__}({', '.join(parts)})"
        if isinstance(value, Mapping):
            value = tuple(value.items())
        if isinstance(value, (set, frozenset)):
            return repr(sorted(map(self.told, value)))
        return f"({', '.join(map(self.told, value))})" if isinstance(value, (tuple, list)) else repr(value)

    def _node(self, root: Expr) -> str:
        if root not in self.numbers:
            for node in postorder(root):
                if node not in self.numbers:
                    self.lines.append(self._line(node))
                    self.numbers[node] = len(self.numbers)
        return f"#{self.numbers[root]}"

    def _line(self, node: Expr) -> str:
        below = [self.numbers[a] for a in node.args]
        if isinstance(node, Const):
            return f"{node.value} {node.text}"
        if isinstance(node, Apply):
            self.unknown |= isinstance(node.op, Operator) and type(node.op) is not Operator
            return f"{node.op}{below}"
        assert isinstance(node, (Index, Ref)), "there is no other kind of node"
        return f"{type(node).__name__} {node.name}{below}"
