"""C's expressions as Python: each is translated to a text and a C type."""

from __future__ import annotations

from typing import Any

from pycparser import c_ast

from .c_types import DOUBLE, INT, SIZE, VOID, Unit, element_type, joined, unknown
from .rounding import FUNCTIONS
from .text import Fault

_COMPARE = frozenset({"<", "<=", ">", ">=", "==", "!="})
NEAR = "near"  # the name of the condition under which a series takes over from its formula
_NAMED = {"NAN": "_nan", "INFINITY": "_inf", "HUGE_VAL": "_inf", "M_PI": "_pi()", "DBL_MAX": "_huge"}


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
    """The variables in scope, and the translation of expressions of them."""

    def __init__(self, unit: Unit, boxed: set[str]) -> None:
        self.unit = unit
        self.scopes: list[dict[str, tuple[str, str, bool]]] = [{}]  # C name -> (Python name, type, pointer)
        self.count = 0
        self.local = False  # in a function that stands for an operator
        self.boxed = boxed

    def _declare(self, name: str, kind: str, pointer: bool) -> str:
        visible = any(name in s for s in self.scopes)
        self.count += visible
        python = f"v_{name}_{self.count}" if visible else f"v_{name}"
        self.scopes[-1][name] = python, kind, pointer
        return python

    def _find(self, name: str, node: Any) -> tuple[str, str, bool]:
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        if name in self.unit.globals:
            kind, array = self.unit.globals[name]
            return ("_pi()" if self.unit.local.get(name) == "PI" else f"g_{name}"), kind, array
        if name in _NAMED:
            return _NAMED[name], DOUBLE, False
        raise Fault(f"line {node.coord.line}: {name} is not declared")

    def _place(self, node: Any) -> tuple[str, str, str]:
        """The pointer, position and type of an element that is read or written."""
        if isinstance(node, c_ast.ArrayRef):
            base, kind = self.expression(node.name)
            return base, self.converted(node.subscript, INT), kind.removesuffix("*")
        if isinstance(node, c_ast.UnaryOp) and node.op == "*":
            base, kind = self.expression(node.expr)
            return base, "0", kind.removesuffix("*")
        raise unknown(node)

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

    def _on_Constant(self, node: Any) -> tuple[str, str]:
        text = node.value.rstrip("uUlLfF") if not node.value.lower().startswith("0x") else node.value
        if "int" in node.type or "long" in node.type:
            return str(int(text, 0)), SIZE if "unsigned" in node.type else INT
        if node.type in ("double", "float"):  # 2.0f is the same number, rounded where the format is that of floats
            self.unit.constants.append(float(text))
            return f"_literal(_k[{len(self.unit.constants) - 1}])", DOUBLE
        raise unknown(node)

    def _on_ID(self, node: Any) -> tuple[str, str]:
        name, kind, pointer = self._find(node.name, node)
        if pointer:
            return name, kind + "*"
        if node.name in self.boxed:
            return f"{name}.get(0)", kind
        return name, kind

    def _on_ArrayRef(self, node: Any) -> tuple[str, str]:
        base, position, kind = self._place(node)
        return f"{base}.get({position})", kind

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
            if isinstance(node.expr, c_ast.ID):
                name, kind, _ = self._find(node.expr.name, node)
                return name, kind + "*"
            base, position, kind = self._place(node.expr)
            return f"{base}.moved({position})", kind + "*"
        if node.op == "*":
            base, position, kind = self._place(node)
            return f"{base}.get({position})", kind
        if node.op in ("p--", "p++", "--", "++") and isinstance(node.expr, c_ast.ID):
            name, kind, _ = self._find(node.expr.name, node)
            sign = "-" if "-" in node.op else "+"
            new = f"({name} {sign} 1) % _WORD" if kind == SIZE else f"{name} {sign} 1"
            return (f"_first({name}, {name} := {new})" if "p" in node.op else f"({name} := {new})"), kind
        if node.op == "!":
            return f"int(not {self.condition(node.expr)})", INT
        text, kind = self.expression(node.expr)
        if node.op == "-":
            return (f"_unsigned(-({text}))" if kind == SIZE else f"(-{text})"), kind
        if node.op == "+":
            return text, kind
        raise unknown(node)

    def _on_BinaryOp(self, node: Any) -> tuple[str, str]:
        # a long sum is a deep tree to the left: walked with a loop
        chain = [node]
        while isinstance(chain[-1].left, c_ast.BinaryOp):
            chain.append(chain[-1].left)
        left, kind = self.expression(chain[-1].left)
        lines = left
        for link in reversed(chain):
            if link.op in ("&&", "||"):
                first = f"({lines} is not None)" if kind.endswith("*") else lines
                word = "and" if link.op == "&&" else "or"
                lines, kind = f"int(bool({first}) {word} bool({self.condition(link.right)}))", INT
                continue
            right, other = self.expression(link.right)
            lines, kind = self.operator(link.op, lines, kind, right, other)
        return lines, kind

    def operator(self, op: str, a: str, first: str, b: str, second: str) -> tuple[str, str]:
        """A binary operator on two texts of known types."""
        if first.endswith("*") or second.endswith("*"):
            if op in ("==", "!="):  # with NULL
                pointer = a if first.endswith("*") else b
                return f"int({pointer} {'is' if op == '==' else 'is not'} None)", INT
            if op in ("+", "-"):
                return f"{a}.moved({'-' if op == '-' else ''}({b}))", first
            raise Fault(f"the check does not know {op} on pointers")
        kind = joined(first, second)
        if op in _COMPARE:
            if kind == DOUBLE:
                a, b = self.converted_text(a, first, kind), self.converted_text(b, second, kind)
            return f"int({a} {op} {b})", INT
        if kind == DOUBLE:
            if op not in "+-*/":
                raise Fault(f"{op} of doubles")
            a, b = self.converted_text(a, first, kind), self.converted_text(b, second, kind)
            return _Chain.of(a, op, b), DOUBLE
        if op == "/":
            return f"_quotient({a}, {b})", kind
        if op == "%":
            return f"_remainder({a}, {b})", kind
        if op not in ("+", "-", "*"):
            raise Fault(f"the check does not know {op} on integers")
        return (f"_unsigned({a} - {b})" if op == "-" and kind == SIZE else f"({a} {op} {b})"), kind

    def _on_FuncCall(self, node: Any) -> tuple[str, str]:
        name = node.name.name
        given = node.args.exprs if node.args else []
        if name in self.unit.functions:
            parameters = self.unit.functions[name]
            if len(parameters) != len(given):
                raise Fault(f"{name} takes {len(parameters)} arguments, not {len(given)}")
            texts = [
                self.converted(g, p.kind + "*" if p.pointer else p.kind) for p, g in zip(parameters, given, strict=True)
            ]
            return f"c_{name}({', '.join(texts)})", self.unit.results[name]
        texts = [self.converted(g, DOUBLE) for g in given]
        if name in ("isnan", "isfinite", "isinf", "signbit"):
            return f"_test_{name}({texts[0]})", INT
        if name not in FUNCTIONS and name.removesuffix("f") in FUNCTIONS:
            name = name.removesuffix("f")  # expf: what it rounds to is the format's
        return f"_f[{name!r}]({', '.join(texts)})", DOUBLE
