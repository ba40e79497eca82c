"""Sums of three or more exponentials: an operator for each number of them, which holds its row.

    logsumexp3(x, y, z) = log(exp(x) + exp(y) + exp(z))
    softmax3(x, y, z)   = exp(x)/(exp(x) + exp(y) + exp(z))
"""

from __future__ import annotations

from functools import lru_cache, reduce
from typing import Any

from ..expr import Expr, Operator, apply, total
from ..later import mp, mpmath, sympy
from .row import Op, Partials, exponential, real


def logsumexp(*args: Expr) -> Expr:
    """The logarithm of the sum of the exponentials."""
    return apply(_operator("logsumexp", len(args)), *args)


def softmax(first: Expr, *others: Expr) -> Expr:
    """The part that the exponential of `first` has in the sum of all of them."""
    return apply(_operator("softmax", 1 + len(others)), first, *others)


@lru_cache(maxsize=64)
def _operator(word: str, count: int) -> Operator:
    name = f"{word}{count}"
    return Operator(name, (_logsumexp_row if word == "logsumexp" else _softmax_row)(name, count))


def _logsumexp_row(name: str, count: int) -> Op:
    return Op(
        name,
        count,
        real(_log_of_sum),
        lambda *args: tuple(softmax(u, *others) for u, others in _each(args[:-1])),
        lambda *args: sympy.log(sum(map(sympy.exp, args))),
        of_logs=True,
        series=False,
        expand=lambda *args: reduce(lambda a, b: apply("logaddexp", a, b), args),
    )


def _softmax_row(name: str, count: int) -> Op:
    return Op(
        name,
        count,
        real(lambda *args: exponential(args[0] - _log_of_sum(*args))),
        _softmax_partials,
        lambda *args: sympy.exp(args[0]) / sum(map(sympy.exp, args)),
        of_logs=True,
        series=False,
        expand=_over_sum,
    )


def _softmax_partials(*args: Expr) -> Partials:
    """1 - softmax(x, y, z) is the sum of the other two, which does not cancel."""
    _, *rest = (softmax(u, *others) for u, others in _each(args[:-1]))
    y = args[-1]
    return (y * total(rest), *(-y * p for p in rest))


def _each(args: Any) -> list[tuple[Expr, tuple[Expr, ...]]]:
    """Each of them, and the others."""
    return [(u, (*args[:k], *args[k + 1 :])) for k, u in enumerate(args)]


def _over_sum(*args: Expr) -> Expr:
    """Each exponential over that of the largest: none overflows, and one is 1. All quotients of a sum speak of the same
    maximum and the same sum."""
    ordered = sorted(args, key=repr)
    largest = reduce(lambda a, b: apply("maximum", a, b), ordered)
    return apply("exp", args[0] - largest) / total(apply("exp", u - largest) for u in ordered)


def _log_of_sum(*args: Any) -> Any:
    largest = max(args)
    if mp.isinf(largest):
        return largest
    return largest + mp.log(sum((exponential(u - largest) for u in args), mpmath.mpf(0)))
