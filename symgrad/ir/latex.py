"""Equations in LaTeX."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from ..domain import NOTHING, Facts
from ..expr import ATOM, Apply, Const, Expr, Form, Index, Operator, Printer, Ref, ref
from .equations import Equation
from .text import accumulating

_GREEK = frozenset(
    """alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi
    omega""".split()
)
_FUNCTIONS = {"exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh", "arcsin", "arccos", "arctan"}
_SPELLED = {"asin": "arcsin", "acos": "arccos", "atan": "arctan"}


class LatexPrinter(Printer):
    """Expressions in LaTeX."""

    forms: ClassVar[Mapping[str, Form]] = {
        "add": Form("{} + {}", 10, (10, 11)),
        "sub": Form("{} - {}", 10, (10, 11)),
        "neg": Form("-{}", 12, (20,)),
        "mul": Form(r"{} \, {}", 20, (20, 21)),
        "div": Form(r"\frac{{{}}}{{{}}}", ATOM, (0, 0)),
        "pow": Form("{}^{{{}}}", 40, (ATOM, 0)),
        "sqrt": Form(r"\sqrt{{{}}}", ATOM, (0,)),
        "abs": Form(r"\left|{}\right|", ATOM, (0,)),
        "floordiv": Form(r"\left\lfloor {} / {} \right\rfloor", ATOM, (20, 21)),
        "mod": Form(r"{} \bmod {}", 20, (20, 21)),
        "select": Form(r"\begin{{cases}} {1} & {0} \\ {2} & \text{{otherwise}} \end{{cases}}", ATOM, (0, 0, 0)),
        "pi": Form(r"\pi"),
        "and": Form(r"{} \wedge {}", 4, (4, 5)),
        "or": Form(r"{} \vee {}", 2, (2, 3)),
        "not": Form(r"\neg {}", 60, (60,)),
        **{
            op: Form(f"{{}} {s} {{}}", 6, (7, 7))
            for op, s in {"lt": "<", "le": r"\le", "gt": ">", "ge": r"\ge", "eq": "=", "ne": r"\ne"}.items()
        },
    }

    def form(self, node: Apply) -> Form:
        if node.op in self.forms:
            return self.forms[node.op]
        word = node.op.word.replace("_", r"\_") if isinstance(node.op, Operator) else _SPELLED.get(node.op, node.op)
        head = f"\\{word}" if word in _FUNCTIONS else rf"\operatorname{{{word}}}"
        inner = ", ".join("{}" for _ in node.args)
        return Form(rf"{head.replace('{', '{{').replace('}', '}}')}\left({inner}\right)", ATOM, (0,) * len(node.args))

    def leaf(self, node: Expr, args: list[str]) -> tuple[str, int]:
        if isinstance(node, Const):
            return self.number(node)
        if isinstance(node, Index):
            return r"\dots" if node.name == "..." else latex_name(node.name), ATOM
        assert isinstance(node, Ref)
        name = latex_name(node.name)
        return (f"{name}_{{{','.join(args)}}}" if args else name), ATOM

    def number(self, node: Const) -> tuple[str, int]:
        if node.text is None and node.value.denominator != 1:
            sign = "-" if node.value < 0 else ""
            return rf"{sign}\tfrac{{{abs(node.value.numerator)}}}{{{node.value.denominator}}}", ATOM if not sign else 12
        return super().number(node)


def latex_name(name: str) -> str:
    """One letter as it is, a Greek letter by its name, words upright."""
    if len(name) == 1:
        return name
    if name in _GREEK:
        return f"\\{name}"
    return rf"\mathrm{{{name.lstrip('*').replace('_', chr(92) + '_')}}}"


_print = LatexPrinter()


def latex_of(node: Expr) -> str:
    """An expression in LaTeX."""
    return _print(node)


def _left(e: Equation) -> str:
    return _print(ref(e.target, *e.subscripts))


def latex_equations(
    equations: Sequence[Equation], facts: Facts = NOTHING, left: Callable[[Equation], str] = _left
) -> list[str]:
    """The lines of an `aligned` environment, one per equation; `left` writes what it is an equation of."""
    lines = []
    for e, adds in zip(equations, accumulating(equations, facts), strict=True):
        body = _print(e.body)
        if e.matrix is not None:
            body = _matrix(e)
        elif e.reduced:
            below = ",".join(_print(i) for i, _ in e.reduced)
            body = rf"{_OPERATORS.get(e.reduce, e.reduce)}_{{{below}}} {_print(e.body, 11)}"
        if e.where is not None:
            body += rf" \quad \text{{where }} {_print(e.where)}"
        when = (rf"{latex_name(n)} \text{{ is {'given' if p else 'absent'}}}" for n, p in e.when)
        body += rf" \quad \text{{if }} {joined}" if (joined := r" \text{ and } ".join(when)) else ""
        sign = r"\mathrel{+}=" if adds else "="
        lines.append(f"{left(e)} &{sign} {body}")
    return lines


def aligned(lines: Sequence[str]) -> str:
    """The environment of these lines."""
    return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"


def _matrix(e: Equation) -> str:
    """The function of matrices with its operands, and the element of the result."""
    row = e.matrix
    assert row is not None
    inner = r",\, ".join(_print(operand) for operand in e.operands)
    below = ",".join(_print(i) for i, _ in e.reduced)
    element = ",".join(_print(i) for i, _ in e.result)
    name = row.name.replace("_", r"\_")
    body = rf"\operatorname{{{name}}}_{{{below}}}\left({inner}\right)"
    return f"{body}_{{{element}}}" if element else body


_OPERATORS = {
    "none": r"\sum",
    "sum": r"\sum",
    "prod": r"\prod",
    "max": r"\max",
    "min": r"\min",
    "logsumexp": r"\operatorname{logsumexp}",
    "argmax": r"\operatorname{argmax}",
}
