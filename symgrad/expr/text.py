"""Writing an expression as text: the one place that decides parentheses.

A `Form` is how one operator is written: a template, how tightly the result binds, and how tightly each operand must
bind to stand without parentheses. The forms below are the formula text that `symgrad.parse` reads; a backend's printer
is the same class with its own forms.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import ClassVar

from ..records import dataclass
from .nodes import ARGUMENT, Apply, Const, Expr, Index, Operator, Ref
from .traversal import operators, postorder, substitute, transform

ATOM = 100
LONGEST = 2_000
ELIDED = "(...)"


@dataclass(frozen=True, slots=True)
class Form:
    """How an operator is written: `template` takes the operands, `operands` is how tightly each must bind."""

    template: str
    level: int = ATOM
    operands: tuple[int, ...] = ()


def infix(symbol: str, level: int, right: int | None = None) -> Form:
    """A left-associative binary operator; `right` is what its right operand needs, one more than `level` if None."""
    return Form(f"{{}} {symbol} {{}}", level, (level, level + 1 if right is None else right))


def _comparison(symbol: str) -> Form:
    """A comparison; it does not chain, so that both operands need more than its own level."""
    return Form(f"{{}} {symbol} {{}}", 6, (7, 7))


FORMULA: Mapping[str, Form] = {
    "or": infix("or", 2),
    "and": infix("and", 4),
    "not": Form("not {}", 5, (6,)),
    **{op: _comparison(s) for op, s in {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}.items()},
    "add": infix("+", 10),
    "sub": infix("-", 10),
    "neg": Form("-{}", 12, (20,)),
    "mul": infix("*", 20),
    "div": infix("/", 20),
    "floordiv": infix("//", 18, 21),  # 18: beside a product or a sign, brackets say what is rounded
    "mod": infix("%", 18, 21),
    "modulo": infix("%", 18, 21),  # of real numbers
    "pow": Form("{}**{}", 40, (41, 40)),
    "select": Form("where({}, {}, {})", ATOM, (0, 0, 0)),
}


def spelled_out(root: Expr) -> Expr:
    """`root` with the formulas in place of the operators that stand for them."""
    def rewrite(node: Expr) -> Expr:
        formula = node.op.formula if isinstance(node, Apply) and isinstance(node.op, Operator) else None
        return node if formula is None else substitute(formula, {ARGUMENT: node.args[0]})

    return transform(root, rewrite) if any(isinstance(op, Operator) for op in operators(root)) else root


class Printer:
    """Write expressions in one language: `forms` for operators, `leaf` for the rest."""

    forms: ClassVar[Mapping[str, Form]] = FORMULA

    def form(self, node: Apply) -> Form:
        """How the operator of `node` is written; a call of its own name when no form is given."""
        found = self.forms.get(node.op)
        if found is not None:
            return found
        if not node.args:
            return Form(node.op)
        word = node.op.word if isinstance(node.op, Operator) else node.op
        return Form(f"{word}({', '.join('{}' for _ in node.args)})", ATOM, (0,) * len(node.args))

    def leaf(self, node: Expr, args: list[str]) -> tuple[str, int]:
        """The text of a Const, Index or Ref (whose subscripts are `args`), and how tightly it binds."""
        if isinstance(node, Const):
            return self.number(node)
        if isinstance(node, Index):
            return node.name, ATOM
        assert isinstance(node, Ref)
        return (f"{node.name}[{', '.join(args)}]" if args else node.name), ATOM

    def number(self, node: Const) -> tuple[str, int]:
        """A number: as typed, as a short decimal, or as a quotient of two integers."""
        text = node.text or decimal(node)
        if text is None:
            return f"{node.value.numerator}/{node.value.denominator}", 20 if node.value > 0 else 12
        return text, ATOM if node.value >= 0 else 12

    def __call__(self, root: Expr, level: int = 0) -> str:
        """The text of `root`, in parentheses where it binds less tightly than `level`."""
        return _wrap(*self.leveled(root), level)

    def leveled(self, root: Expr) -> tuple[str, int]:
        """The text of `root`, and how tightly it binds."""
        root = spelled_out(root)
        done: dict[Expr, tuple[str, int]] = {}
        for node in postorder(root):
            if isinstance(node, Apply):
                chain = _chain(node) if self.forms is FORMULA else None
                form, args = chain or (self.form(node), node.args)
                texts = [_wrap(*_operand(*done[a]), need) for a, need in zip(args, form.operands, strict=True)]
                text, own = form.template.format(*texts), form.level
            else:
                text, own = self.leaf(node, [done[a][0] for a in node.args])
            done[node] = (text, own) if len(text) < LONGEST else (ELIDED, ATOM)
        return done[root]


def _chain(node: Apply) -> tuple[Form, tuple[Expr, ...]] | None:
    """How two bounds of one number are written, `0 <= i < n`, and of what; None where a node is no such."""
    if node.op != "and":
        return None
    low, high = node.args
    before: tuple[Expr, ...] = ()
    if isinstance(low, Apply) and low.op == "and":
        before, low = low.args[:1], low.args[1]
    if not isinstance(low, Apply) or not isinstance(high, Apply) or low.args[0] is not high.args[0]:
        return None
    signs = {"ge": "<=", "gt": "<"}.get(low.op), {"le": "<=", "lt": "<"}.get(high.op)
    if None in signs:
        return None
    template = f"{'{} and ' * len(before)}{{}} {signs[0]} {{}} {signs[1]} {{}}"
    return Form(template, 4 if before else 5, (*(4 for _ in before), 7, 7, 7)), (*before, low.args[1], *high.args)


def _operand(text: str, level: int) -> tuple[str, int]:
    """What stands in arithmetic; of a pack it is the number of elements, which `...` alone would not say."""
    return (f"size({text})", ATOM) if text[0] in ".*" and text != ELIDED else (text, level)


def _wrap(text: str, level: int, need: int) -> str:
    return text if level >= need else f"({text})"


def decimal(node: Const) -> str | None:
    """An integer or a short binary fraction as a decimal; None for any other number."""
    value = node.value
    if value.denominator == 1:
        return str(value.numerator)
    if value.denominator & (value.denominator - 1) == 0 and value.denominator <= 1024:
        return repr(float(value))
    return None


_formula = Printer()


def component_name(element: Ref, word: str = "") -> str:
    """A word for an element of a tensor: `gates3` for gates[t,3,j]; `word` is what the tensor is called."""
    word = word or element.name
    numbers = [show(s) for s in element.subscripts if isinstance(s, Const) and s.value >= 0]
    return f"{word}{'_' if word[-1].isdigit() and numbers else ''}{''.join(numbers)}"


@lru_cache(maxsize=2**13)
def show(node: Expr) -> str:
    """`node` as formula text."""
    return _formula(node)


Expr.__repr__ = show  # type: ignore[method-assign]  # of an Expr: a node itself does not know how it is written
