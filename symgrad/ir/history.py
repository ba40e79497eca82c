"""Which rewrites made an equation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from .data import Function
from .equations import Equation


def recorded(rewrite: str, before: Iterable[Equation], after: Iterable[Equation]) -> tuple[Equation, ...]:
    """The equations `after` a rewrite. Each that was not there before it knows its name, and those of the rewrites that
    made what it replaces: what was the last equation of the same tensor."""
    known = {e: e.rewrites for e in before}
    earlier = {e.target: made for e, made in known.items()}
    return tuple(
        e if e in known else replace(e, rewrites=(*(e.rewrites or earlier.get(e.target, ())), rewrite)) for e in after
    )


def rewritten(rewrite: str, before: Function, after: Function) -> Function:
    """The function after a rewrite, whose equations know it."""
    return replace(after, statements=recorded(rewrite, before.statements, after.statements))
