"""C's expressions as Python: each is translated to a text and a C type."""

from __future__ import annotations

from typing import Any

from pycparser import c_ast

from .c_types import DOUBLE, INT, SIZE, VOID, Unit, Variable, element_type, joined, unknown
from .rounding import FUNCTIONS
from .series import NEAR
from .text import Fault

_COMPARE = frozenset({"<", "<=", ">", ">=", "==", "!="})
_LOGIC = {"&&": "and", "||": "or"}
_WHOLE = {"/": "_quotient", "%": "_remainder"}


class _Chain(str):
    """A sum or product in parentheses; a longer one drops those of its left part, so that none nest deeply."""

    __slots__ = ("op",)
    op: str

    @classmethod
    def of(cls, a: str, op: str, b: str) -> _Chain:
        same = isinstance(a, _Chain) and (a.op in "+-") == (op in "+-")
        chain = cls(f"({a[1:-1] if same else a} {op} {b})")
        chain.op = op
        return chain


class Expressions:
    """The variables in scope, and the translation of expressions of them.

    boxed  the variables whose address is taken: memory of one element
    """

    def __init__(self, unit: Unit, boxed: set[str]) -> None:
        self.unit = unit
        self.scopes: list[dict[str, Variable]] = [unit.globals, {}]
        self.count = 0
        self.begun = ""  # the variable whose declaration is read: it is in scope, and has no value
        self.local = False  # in a function that stands for an operator
        self.boxed = boxed

    def _declare(self, name: str, kind: str) -> str:
        visible = any(name in s for s in self.scopes)
        self.count += visible
        python = f"v_{name}_{self.count}" if visible else f"v_{name}"
        self.scopes[-1][name] = python, kind
        return python

    def _find(self, node: Any) -> Variable:
        for scope in reversed(self.scopes):
            if node.name in scope:
                if scope[node.name][0] == self.begun:
                    raise Fault(f"line {node.coord.line}: {node.name} is read before it has a value")
                return scope[node.name]
        raise Fault(f"line {node.coord.line}: {node.name} is not declared")

    def _place(self, node: Any) -> tuple[str, str, str]:
        """The pointer, position and type of an element that is read or written."""
        if isinstance(node, c_ast.ID) and node.name in self.boxed:
            name, kind = self._find(node)
            return name, "0", kind
        if isinstance(node, c_ast.ArrayRef):
            base, kind = self.expression(node.name)
            return base, self.converted(node.subscript, INT), kind.removesuffix("*")
        if isinstance(node, c_ast.UnaryOp) and node.op == "*":
            base, kind = self.expression(node.expr)
            return base, "0", kind.removesuffix("*")
        raise unknown(node)

    def _element(self, node: Any) -> tuple[str, str]:
        base, position, kind = self._place(node)
        return f"{base}.get({position})", kind

    def condition(self, node: Any) -> str:
        text, kind = self.expression(node)
        return f"({text} is not None)" if kind.endswith("*") else f"({text})"

    def converted(self, node: Any, kind: str) -> str:
        text, own = self.expression(node)
        return self.converted_text(text, own, kind)

    def converted_text(self, text: str, own: str, kind: str) -> str:
        if kind.endswith("*") and not own.endswith("*"):
            return "None"  # NULL
        if own == kind or kind.endswith("*"):
            return text
        if kind == DOUBLE:
            return f"_lift({text})"
        if own == DOUBLE:
            return f"_whole({text})"
        return f"_unsigned({text})" if kind == SIZE else text

    def expression(self, node: Any) -> tuple[str, str]:
        method = getattr(self, f"_on_{type(node).__name__}", None)
        if method is None:
            raise unknown(node)
        found: tuple[str, str] = method(node)
        return found

    _on_ArrayRef = _element

    def _on_Constant(self, node: Any) -> tuple[str, str]:
        text = node.value.rstrip("uUlLfF")
        if "int" in node.type:
            return str(int(text)), SIZE if "unsigned" in node.type else INT
        if node.type in ("double", "float"):  # 2.0f is the same number, rounded where the format is that of floats
            self.unit.constants.append(float(text))
            return f"_literal(_k[{len(self.unit.constants) - 1}])", DOUBLE
        raise unknown(node)

    def _on_ID(self, node: Any) -> tuple[str, str]:
        return self._element(node) if node.name in self.boxed else self._find(node)

    def _on_Cast(self, node: Any) -> tuple[str, str]:
        text, own = self.expression(node.expr)
        kind, pointer, _ = element_type(node.to_type.type)
        if pointer or kind == VOID:
            return text, own if kind == VOID else kind + "*"
        return f"({self.converted_text(text, own, kind)})", kind

    def _on_TernaryOp(self, node: Any) -> tuple[str, str]:
        one, first = self.expression(node.iftrue)
        two, second = self.expression(node.iffalse)
        kind = joined(first, second)
        one, two = self.converted_text(one, first, kind), self.converted_text(two, second, kind)
        # in a function that stands for an operator: two forms of one value, see series.py
        if self.local and isinstance(node.cond, c_ast.ID) and node.cond.name == NEAR:
            return f"_either({self.condition(node.cond)}, lambda: {one}, lambda: {two})", kind
        return f"({one} if {self.condition(node.cond)} else {two})", kind

    def _on_UnaryOp(self, node: Any) -> tuple[str, str]:
        if node.op == "&":
            base, position, kind = self._place(node.expr)
            return f"{base}.moved({position})", f"{kind}*"
        if node.op == "*":
            return self._element(node)
        if node.op in ("p--", "p++") and isinstance(node.expr, c_ast.ID):  # below 0 it wraps
            name, kind = self._find(node.expr)
            new = f"{name} {node.op[-1]} 1"
            return f"_first({name}, {name} := {f'({new}) % _WORD' if kind == SIZE else new})", kind
        if node.op == "!":
            return f"int(not {self.condition(node.expr)})", INT
        text, kind = self.expression(node.expr)
        if node.op == "-":
            return (f"_unsigned(-({text}))" if kind == SIZE else f"(-{text})"), kind
        raise unknown(node)

    def _on_BinaryOp(self, node: Any) -> tuple[str, str]:
        # a long sum is a deep tree to the left: walked with a loop
        chain = [node]
        while isinstance(chain[-1].left, c_ast.BinaryOp):
            chain.append(chain[-1].left)
        text, kind = self.expression(chain[-1].left)
        for link in reversed(chain):
            if link.op in _LOGIC:
                first = f"({text} is not None)" if kind.endswith("*") else text
                text, kind = f"int(bool({first}) {_LOGIC[link.op]} bool({self.condition(link.right)}))", INT
            else:
                text, kind = self.operator(link.op, text, kind, *self.expression(link.right))
        return text, kind

    def operator(self, op: str, a: str, first: str, b: str, second: str) -> tuple[str, str]:
        """A binary operator on two texts of known types."""
        kind = joined(first, second)
        if kind.endswith("*"):
            if op in ("==", "!="):  # with NULL
                return f"int({a} {'is' if op == '==' else 'is not'} None)", INT
            if op == "+":
                return f"{a}.moved({b})", first
            raise Fault(f"the check does not know {op} on pointers")
        if kind == DOUBLE:
            a, b = self.converted_text(a, first, kind), self.converted_text(b, second, kind)
        if op in _COMPARE:
            return f"int({a} {op} {b})", INT
        if op not in ("+-*/" if kind == DOUBLE else "+-*/%&"):
            raise Fault(f"the check does not know {op} here")
        if kind == DOUBLE:
            return _Chain.of(a, op, b), kind
        if op in _WHOLE:
            return f"{_WHOLE[op]}({a}, {b})", kind
        return (f"_unsigned({a} - {b})" if op == "-" and kind == SIZE else f"({a} {op} {b})"), kind

    def _on_FuncCall(self, node: Any) -> tuple[str, str]:
        name = node.name.name
        given = node.args.exprs if node.args else []
        if name in self.unit.functions:
            parameters = self.unit.functions[name]
            if len(parameters) != len(given):
                raise Fault(f"{name} takes {len(parameters)} arguments, not {len(given)}")
            texts = [self.converted(g, p.type) for p, g in zip(parameters, given, strict=True)]
            return f"c_{name}({', '.join(texts)})", self.unit.results[name]
        texts = [self.converted(g, DOUBLE) for g in given]
        if name in ("isnan", "isfinite", "isinf", "signbit"):
            return f"_test_{name}({texts[0]})", INT
        if name not in FUNCTIONS and name.removesuffix("f") in FUNCTIONS:
            name = name.removesuffix("f")  # expf: what it rounds to is the format's
        return f"_f[{name!r}]({', '.join(texts)})", DOUBLE
