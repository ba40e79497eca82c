"""The formulas that filled operators stand for, simplified as gradients are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache

from ..expr import ARGUMENT, ONE, Apply, Expr, apply, operators, substitute, transformer
from ..ir import Equation
from ..numerics.removable import Filled, is_plain, rewritten_as, slope
from ..numerics.taylor import ORIGIN
from ..precision import better
from ..precision.denominator import together
from .normal import Normal, TooLarge
from .table import SLOPES, stable_form
from .write import Writer

AWAY = apply("gt", apply("abs", ARGUMENT), ONE / 8)  # where mostly the series has not taken over


@lru_cache(maxsize=4096)
def _tidy(op: Filled) -> Filled | Expr:
    """An operator that stands for a formula, with the formula simplified as a gradient would be; the formula itself,
    where it loses nothing at 0."""
    normal, body = Normal(), stable_form(op.formula, SLOPES)
    with suppress(TooLarge):
        body = Writer(normal, (), set(), set(), {}).expr(normal.poly(body), {})
    body = stable_form(body)
    for given in (), () if op.place != ORIGIN else ((AWAY, True),):
        body = body if (other := better(body, given=given)) is None else other
        if is_plain(body, op.place):
            return body
    whole = None if op.place == ORIGIN or is_plain(body, op.place) else together(body)
    body = whole if whole is not None and is_plain(whole, op.place) else body
    return body if is_plain(body, op.place) else rewritten_as(op, body)


def with_plain_formulas(statements: Sequence[Equation]) -> Iterator[Equation]:
    """Equations with the formulas in place of the operators that lose nothing as they are written, nor their slopes."""

    def plain(op: Filled) -> Filled | Expr:
        found = _tidy(op)
        return op if isinstance(found, str) or not is_plain(slope(found), op.place) else found

    return _mapped(statements, plain)


def with_tidy_formulas(statements: Sequence[Equation]) -> Iterator[Equation]:
    """Equations with the operators by simplified formulas, and those that lose nothing so by these alone."""
    return _mapped(statements, _tidy)


def _mapped(statements: Sequence[Equation], change: Callable[[Filled], Filled | Expr]) -> Iterator[Equation]:
    def rewrite(node: Expr) -> Expr:
        if not (isinstance(node, Apply) and isinstance(node.op, Filled)):
            return node
        found = change(node.op)
        return apply(found, *node.args) if isinstance(found, str) else substitute(found, {ARGUMENT: node.args[0]})

    put = transformer(rewrite)
    formulas = (any(isinstance(op, Filled) for op in operators(*e.expressions)) for e in statements)
    return (e.mapped(put) if own else e for e, own in zip(statements, formulas, strict=True))
