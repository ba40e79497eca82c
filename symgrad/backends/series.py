"""Printing functions with a removable singularity: the formula, and near 0 its Taylor series."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..errors import UnsupportedError
from ..expr import ARGUMENT, DEFINED, Apply, Const, Expr, Ref, apply, const, ref, show, substitute, transform
from ..ir import Dtype
from ..ops import OPS
from ..plan.arrays.tree import Array, Elementwise, Num, Var
from ..removable import SERIES, SQUARE, Series, one_sided, series
from .c_lines import broken
from .c_text import Text, language
from .python_text import ArrayPrinter, assigned

NEAR, FAR, SMALL = ref("near"), ref("far"), ref("x")


def called_in(text: str, language: str) -> list[str]:
    """The operators that stand for a formula and whose names `text` calls, in the order of their names."""
    words = {str(OPS[op].word(language)): op for op in DEFINED}
    return [words[w] for w in sorted(set(re.findall(r"\b\w+(?=\()", text)) & words.keys())]


def _series(op: str) -> Series:
    found = series(DEFINED[op])
    if found is None:
        formula = show(substitute(DEFINED[op], {ARGUMENT: SMALL}))
        raise UnsupportedError(
            f"{formula} has a removable singularity at 0, and a Taylor series of which no few terms will do "
            f"where the formula loses its digits. Write it by other functions, or print it with --no-stabilize."
        )
    return found


def _condition(body: Expr, near: Expr) -> Expr:
    x = ARGUMENT if one_sided(body) else apply("abs", ARGUMENT)
    return apply("lt", x, near)


def _about(body: Expr) -> str:
    return f"{show(substitute(body, {ARGUMENT: SMALL}))}; where x is near 0, by its Taylor series."


def python_helper(op: str, printer: ArrayPrinter) -> list[str]:
    """The function in a language of arrays. Both branches are computed everywhere, each where it is a number."""
    body, found = DEFINED[op], _series(op)

    def text(node: Expr, names: Mapping[Expr, str]) -> str:
        return printer(_array(node, names, printer.target))

    lines = [f"near = {text(_condition(body, const(found.near)), {ARGUMENT: 'x'})}"]
    pair = [apply("select", NEAR, *branches) for branches in ((SMALL, const(0)), (const(1), SMALL))]
    names: Mapping[Expr, str] = {NEAR: "near", SMALL: "x"}
    lines += [f"x, far = {', '.join(text(p, names) for p in pair)}"]
    lines += ["square = x * x"] if found.even else []
    for step in found.steps:
        lines += assigned("series", text(step, {ARGUMENT: "x", SQUARE: "square", SERIES: "series"}), 4)
    result = apply("select", NEAR, ref("series"), body)
    value = text(result, {NEAR: "near", ref("series"): "series", ARGUMENT: "far"})
    lines += _returned(value)
    word = OPS[op].word(printer.target)
    doc = broken(f"Return {_about(body)}", 0, 80)
    doc = [f'    """{doc[0]}', *(f"    {d.strip()}" for d in doc[1:])]
    doc = [f'{doc[0]}"""'] if len(doc) == 1 else [*doc, '    """']
    return [f"def {word}(x):", *doc, *(f"    {line}" for line in lines)]


def _returned(value: str) -> list[str]:
    lines = assigned("return", value, 4)
    return [lines[0].replace("return = ", "return ", 1), *lines[1:]]


def _array(root: Expr, names: Mapping[Expr, str], target: str) -> Array:
    def in_words(node: Expr) -> Expr:
        row = OPS[node.op] if isinstance(node, Apply) else None
        if row is not None and row.expand is not None and row.word(target) is None and isinstance(node, Apply):
            return transform(row.expand(*node.args), in_words)
        return node

    def build(node: Expr) -> Array:
        if isinstance(node, Const):
            return Num(node)
        if isinstance(node, Ref):
            return Var(names[node])
        assert isinstance(node, Apply)
        return Elementwise(node.op, tuple(build(a) for a in node.args))

    return build(transform(root, in_words))


def c_helper(op: str, single: bool) -> list[str]:
    """The function in C."""
    body, found = DEFINED[op], _series(op)
    kinds = dict.fromkeys(["x", "square", "series"], Dtype.REAL)
    write = Text(kinds, dict.fromkeys(kinds, ()), single=single)
    names: Mapping[Expr, Expr] = {ARGUMENT: SMALL, SQUARE: ref("square"), SERIES: ref("series")}

    def text(node: Expr) -> str:
        return write(transform(substitute(node, names), language))

    real = "float" if single else "double"
    near = write.as_kind(transform(substitute(_condition(body, const(found.near)), names), language), "bool")
    lines = [f"/* {line}" if not k else f"   {line}" for k, line in enumerate(broken(_about(body), 0, 84))]
    lines[-1] += " */"
    lines += [f"static {real} {OPS[op].word('c')}({real} x)", "{"]
    lines += [f"    const int near = {near};"]
    lines += [f"    const {real} square = x * x;"] if found.even else []
    for k, step in enumerate(found.steps):
        lines += broken(f"{'' if k else f'{real} '}series = {text(step)};", 4)
    lines += broken(f"return near ? series : {text(body)};", 4)
    return [*lines, "}"]
