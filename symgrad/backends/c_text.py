"""Expressions as C99: every node is written as what its place asks for.

A place asks for one of four kinds: `real` (double), `size` (size_t, arithmetic modulo 2^64: subscripts), `int`
(ptrdiff_t) or `bool`. Sizes and loop indices are size_t, integer tensors and options are signed; a difference of sizes
is signed wherever its sign matters.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import ClassVar

from ..declare.names import LIBM
from ..errors import UnsupportedError
from ..expr import (
    ATOM,
    DEFINED,
    HALF,
    ONE,
    ZERO,
    Apply,
    Const,
    Expr,
    Form,
    Index,
    Printer,
    Ref,
    apply,
    const,
    index,
    is_exact,
    refs,
    select,
    substitute,
    transform,
    value_of,
)
from ..expr.sizes import never_negative
from ..expr.text import decimal, infix
from ..ir import Dtype
from ..ops import OPS, in_others
from ..plan.loops import WHOLE
from ..plan.loops.integers import sides
from ..plan.loops.share import folded

_COMPARE = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
_UNARY = 60
_SELECT = Form("{} ? {} : {}", 1, (2, 2, 1))
_CAST = {"real": "(double)", "size": "(size_t)", "int": "(ptrdiff_t)"}


def language(node: Expr) -> Expr:
    """`node` in operators that C has. maximum and minimum let a NaN through, which fmax and fmin do not."""
    if not isinstance(node, Apply):
        return node
    if node.op == "pow":
        return _power(*node.args)
    if node.op in ("maximum", "minimum"):
        a, b = node.args
        if isinstance(a, Const) and not isinstance(b, Const):
            a, b = b, a
        if isinstance(b, Const):
            return select(apply("lt" if node.op == "maximum" else "gt", a, b), b, a)
        wins = apply("ge" if node.op == "maximum" else "le", a, b)
        return select(apply("or", wins, apply("ne", a, a)), a, b)
    if node.op == "sign":
        (x,) = node.args
        return select(apply("gt", x, 0), ONE, select(apply("lt", x, 0), -ONE, x))
    found = in_others(node, "c")
    return node if found is None else transform(found, language)


def _power(base: Expr, exponent: Expr) -> Expr:
    if not is_exact(exponent):
        return apply("pow", base, exponent)
    n = value_of(exponent)
    if n == 2:
        return base * base
    if n == 3:
        return base * base * base
    if n == value_of(HALF):
        return apply("sqrt", base)
    if n < 0 and -n in (1, 2, 3, value_of(HALF)):
        return 1 / _power(base, const(-n))
    return apply("pow", base, exponent)


class Text(Printer):
    """Writes expressions for one function.

    kinds     what every tensor, option and scalar is
    shapes    the axes of every array; a name with none is a scalar
    pointers  scalars that are given by pointer
    extents   computed extents -> the name they have: 0 where the number itself would be negative
    negative  options that are below 0 as they are declared: no size_t until they have been added to something
    single    real numbers are floats: expf(x), 2.0f
    """

    forms: ClassVar[Mapping[str, Form]] = {
        "or": infix("||", 3),
        "and": infix("&&", 4),
        "not": Form("!{}", _UNARY, (_UNARY,)),
        "add": infix("+", 30),
        "sub": infix("-", 30),
        "neg": Form("-{}", 35, (40,)),
        "mul": infix("*", 40, 41),
        "div": infix("/", 40),
        "floordiv": infix("/", 40),
        "mod": infix("%", 40),
        "select": _SELECT,
        "pi": Form("PI"),
        "oo": Form("INFINITY"),
        **{op: infix(s, 20, 21) for op, s in _COMPARE.items()},
    }

    def __init__(
        self,
        kinds: Mapping[str, Dtype],
        shapes: Mapping[str, tuple[Expr, ...]],
        pointers: frozenset[str] = frozenset(),
        extents: Mapping[Expr, str] | None = None,
        negative: Collection[str] = (),
        single: bool = False,
    ) -> None:
        self._suffix = "f" if single else ""
        self._kinds = kinds
        self._shapes = shapes
        self._pointers = pointers
        self._extents = extents or {}
        self._negative = negative
        self._types: dict[Expr, str] = {}
        self._texts: dict[tuple[Expr, str], tuple[str, int]] = {}
        self._rows: dict[Ref, tuple[str, Expr]] = {}
        self._row_names: set[str] = set()
        self.used: dict[str, None] = {}  # the names that were written, in order

    # what a node is

    def type_of(self, root: Expr) -> str:
        """`real`, `size`, `int` or `bool`."""
        return folded(root, self._types, self._type)

    def _type(self, node: Expr) -> str:
        longer = isinstance(node, Apply) and node.op in ("maximum", "minimum")  # of two axes: how long one is
        if node.key in self._extents and (longer or never_negative(node, self._kinds)):
            return "size"
        if isinstance(node, Const):
            whole = is_exact(node) and node.value.denominator == 1
            return ("size" if node.value >= 0 else "int") if whole else "real"
        if isinstance(node, Index):
            return "size"
        if isinstance(node, Ref):
            found = self._kinds.get(node.name)
            return "size" if found is None else str(found)
        assert isinstance(node, Apply)
        below = [self._types[a] for a in (node.args[1:] if node.op == "select" else node.args)]
        row = OPS[node.op]
        if row.result == "bool":
            return "bool"
        longer = node.op in ("maximum", "minimum")  # fmax is of real numbers
        if not row.whole or longer or "real" in below:
            return "real"
        signed = node.op in ("sub", "neg") or any(b != "size" for b in below)
        return "int" if signed else "size"

    # writing

    def __call__(self, root: Expr, level: int = 0) -> str:
        return self.as_kind(root, "real", level)

    def as_kind(self, root: Expr, kind: str, level: int = 0) -> str:
        """`root` as a value of that kind."""
        stack = [(root, kind)]
        while stack:
            node, wanted = stack[-1]
            if (node, wanted) in self._texts:
                stack.pop()
                continue
            needs = self._needs(node, wanted)
            waiting = [n for n in needs if n not in self._texts]
            if waiting:
                stack.extend(reversed(waiting))
                continue
            stack.pop()
            self._texts[node, wanted] = self._write(node, wanted, [self._texts[n] for n in needs])
        return _wrap(*self._texts[root, kind], level)

    def _needs(self, node: Expr, kind: str) -> list[tuple[Expr, str]]:
        """The nodes, as what kinds, whose text is needed for that of `node`."""
        if kind == "size" and node.key in self._extents:
            return []
        if isinstance(node, Ref):
            return [(self.flat(node), "size")] if node.subscripts else []
        if not isinstance(node, Apply):
            return []
        own = self.type_of(node)
        if node.op == "select":
            inside = kind if kind != "bool" else own
            return [(node.args[0], "bool"), *((a, inside) for a in node.args[1:])]
        if own == "bool":
            if OPS[node.op].kind == "logic":
                return [(a, "bool") for a in node.args]
            if node.op == "ne" and node.args[0] is node.args[1]:
                return [(node.args[0], "real")]
            return self._compared(node)
        if kind == "bool":
            return [(node, own)]
        if own == "real":
            return [(a, "real") for a in node.args] if kind == "real" else [(node, "real")]
        if own == "size" and kind in ("real", "int"):
            return [(node, "size")]
        if node.op in ("floordiv", "mod", "abs"):
            if own == "size":
                return [(a, "size") for a in node.args]
            return [(a, "int") for a in node.args] if kind == "int" else [(node, "int")]
        if kind == "size" and own == "int" and any(r.name in self._negative for r in refs(node)):
            return [(node, "int")]
        return [(a, kind) for a in node.args]

    def _compared(self, node: Apply) -> list[tuple[Expr, str]]:
        """Both sides of a comparison: sizes without a minus sign where that can be, else signed."""
        a, b = node.args
        types = {self.type_of(a), self.type_of(b)}
        if "real" in types:
            return [(a, "real"), (b, "real")]
        if types == {"size"}:
            return [(a, "size"), (b, "size")]
        moved = sides(a - b)
        if moved is not None and all(self.type_of(s) == "size" for s in moved):
            return [(moved[0], "size"), (moved[1], "size")]
        return [(a, "int"), (b, "int")]

    def _write(self, node: Expr, kind: str, texts: list[tuple[str, int]]) -> tuple[str, int]:
        if kind == "size" and node.key in self._extents:
            name = self._extents[node.key]
            self.used[name] = None
            return name, ATOM
        if isinstance(node, Const):
            return self._number(node, kind)
        own = self.type_of(node)
        if not isinstance(node, Apply):
            return self._cast(self._leaf(node, texts), own, kind)
        if node.op == "select":
            return _SELECT.template.format(*(_wrap(*t, n) for t, n in zip(texts, _SELECT.operands, strict=True))), 1
        if own == "bool":
            text = self._condition(node, texts)
            if kind == "bool":
                return text
            return self._chosen(text, kind)
        if kind == "bool":
            return f"{_wrap(*texts[0], 21)} != 0", 20
        if self._needs(node, kind) in ([(node, "size")], [(node, "int")], [(node, "real")]):
            return self._cast(texts[0], own, kind)
        return self._operator(node, own, texts)

    def _operator(self, node: Apply, own: str, texts: list[tuple[str, int]]) -> tuple[str, int]:
        if own == "int" and node.op in ("floordiv", "mod"):
            function = "floor_div" if node.op == "floordiv" else "floor_mod"
            self.used[function] = None
            return f"{function}({texts[0][0]}, {texts[1][0]})", ATOM
        form = self.form(node)
        if form.template == "PI":
            self.used["PI"] = None
        parts = [_wrap(*t, need) for t, need in zip(texts, form.operands, strict=True)]
        if node.op == "neg" and parts[0].startswith("-"):
            parts[0] = f"({parts[0]})"
        return form.template.format(*parts), form.level

    def form(self, node: Apply) -> Form:
        if node.op in self.forms:
            return self.forms[node.op]
        name = OPS[node.op].spell.get("c", node.op)
        if "{" in name:
            return Form(name, ATOM, (0,) * len(node.args))
        ours = node.op in DEFINED or OPS[node.op].helper is not None
        if node.args and not ours and name not in LIBM:
            raise UnsupportedError(
                f"C99 has no function {name}, which {node.op} needs. Print another language, or say in the row of "
                f"{node.op} in symgrad/ops what C calls it (spell) or how it is written in other operators (expand)."
            )
        name += self._suffix if node.args and not ours else ""
        return Form(f"{name}({', '.join('{}' for _ in node.args)})" if node.args else name, ATOM, (0,) * len(node.args))

    def _condition(self, node: Apply, texts: list[tuple[str, int]]) -> tuple[str, int]:
        if node.op == "ne" and node.args[0] is node.args[1]:
            return f"isnan({texts[0][0]})", ATOM
        form = self.form(node)
        need = {"or": (5, 5), "and": (5, 5)}.get(node.op, form.operands)  # gcc wants && inside || in parentheses
        if node.op in ("and", "or") and isinstance(node.args[0], Apply) and node.args[0].op == node.op:
            need = (form.level, need[1])
        return form.template.format(*(_wrap(*t, n) for t, n in zip(texts, need, strict=True))), form.level

    def _chosen(self, condition: tuple[str, int], kind: str) -> tuple[str, int]:
        yes, no = (f"1.0{self._suffix}", f"0.0{self._suffix}") if kind == "real" else ("1", "0")
        return f"{_wrap(*condition, 2)} ? {yes} : {no}", 1

    def _leaf(self, node: Expr, texts: list[tuple[str, int]]) -> tuple[str, int]:
        assert isinstance(node, (Index, Ref))
        if node.name not in self._row_names:
            self.used[node.name] = None
        if isinstance(node, Ref) and texts:
            return f"{node.name}[{texts[0][0]}]", ATOM
        if node.name in self._pointers:
            return f"*{node.name}", _UNARY
        return node.name, ATOM

    def element(self, element: Ref) -> str:
        """The element as the target of a store."""
        texts = [(self.as_kind(self.flat(element), "size"), 0)] if element.subscripts else []
        return self._leaf(element, texts)[0]

    def place(self, element: Ref) -> str:
        """Where the row or matrix begins whose element at WHOLE this is; the place of a number."""
        whole: dict[Expr, Expr] = {WHOLE: ZERO}
        first = substitute(element, whole)
        assert isinstance(first, Ref)
        if not first.subscripts:
            self.used[first.name] = None
            return first.name if first.name in self._pointers else f"&{first.name}"
        offset = self.flat(first)
        self.used[first.name] = None
        return first.name if offset is ZERO else f"{first.name} + {self.as_kind(offset, 'size', 31)}"

    def start_rows(self, rows: Mapping[Ref, tuple[str, Expr]]) -> None:
        """From here on, the rows of these elements have a name: the place of the first element of the row."""
        self._rows = dict(rows)
        self._row_names = {name for name, _ in rows.values()}
        self._texts.clear()

    def flat(self, element: Ref, last: bool = True) -> Expr:
        """The one subscript of a row-major array; that of the first element of the row if not `last`."""
        if last and element in self._rows:
            return _plus(index(self._rows[element][0]), element.subscripts[-1])
        subscripts = element.subscripts if last else (*element.subscripts[:-1], ZERO)
        place: Expr = ZERO
        for s, extent in zip(subscripts, self._shapes[element.name], strict=True):
            place = _plus(place * extent, s)
        return place

    def _cast(self, text: tuple[str, int], own: str, kind: str) -> tuple[str, int]:
        """`text`, which is of the kind `own`, as a value of another kind."""
        if own == kind or {own, kind} == {"int", "bool"} and kind == "int":
            return text
        if kind == "bool":
            return f"{_wrap(*text, 21)} != 0", 20
        cast = "(float)" if kind == "real" and self._suffix else _CAST[kind]
        return f"{cast}{_wrap(*text, _UNARY)}", _UNARY

    def _number(self, node: Const, kind: str) -> tuple[str, int]:
        value = node.value
        if kind == "bool":
            return ("1" if value else "0"), ATOM
        if kind != "real":
            assert value.denominator == 1, f"{node} is no integer"
            return str(value.numerator), ATOM if value >= 0 else _UNARY
        level = ATOM if value >= 0 else _UNARY
        text = node.text or decimal(node)
        if text is not None:
            return (text if set(text) & set(".e") else f"{text}.0") + self._suffix, level
        quotient = f"{value.numerator}.0{self._suffix} / {value.denominator}.0{self._suffix}"
        return quotient, 40


def _plus(a: Expr, b: Expr) -> Expr:
    """a + b without parentheses around b: what wraps around does not mind the order."""
    if isinstance(b, Apply) and b.op == "add":
        return _plus(_plus(a, b.args[0]), b.args[1])
    if isinstance(b, Apply) and b.op == "sub":
        return _plus(a, b.args[0]) - b.args[1]
    return a + b


def _wrap(text: str, level: int, need: int) -> str:
    return text if level >= need else f"({text})"
