"""What is derived of a function, entry by entry, in a shorter form where there is one: factors in common, numbers
multiplied, one choice for several on one condition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from contextlib import suppress

from ..expr import Apply, Expr, branch, operator, postorder, select, size, transformer
from ..ir import Equation, Function
from ..records import replace
from .normal import Normal, TooLarge
from .write import Writer


def shorter(function: Function, kept: Collection[str]) -> Function:
    """The function with shorter equations for all but those of the targets that are `kept`, and but those of single
    components, which share their parts with others as they stand."""
    put, packs = transformer(_shorter), set(function.packs)

    def rewritten(e: Equation) -> Equation:
        ours = e.target not in kept and any(i.name not in packs for i, _ in e.box)
        return e.with_body(put(_choices_once(e.body))) if ours else e

    return replace(function, statements=tuple(map(rewritten, function.statements)))


def _shorter(node: Expr) -> Expr:
    """An operation in normal form, if that has fewer."""
    if operator(node) not in ("add", "sub", "mul", "div", "neg"):
        return node
    normal, found = Normal(), node
    with suppress(TooLarge):
        found = Writer(normal, (), set(), set(), {}).expr(normal.poly(node), {})
    return found if size(found) < size(node) else node


def _choices_once(body: Expr) -> Expr:
    """A body that asks for one condition in several places, as the choice of two that ask for it no more."""
    asked = Counter(n.args[0] for n in postorder(body) if isinstance(n, Apply) and n.op == "select")
    for condition, count in asked.items():
        if count > 1:
            whole = select(condition, branch(body, condition, True), branch(body, condition, False))
            body = whole if size(whole) < size(body) else body
    return body
