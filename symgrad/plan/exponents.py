"""Exponents that lose digits when they are rounded: exp of them, as operators that keep the digits.

    exp(n*log(x))                     a power of x
    exp(-abs(x - y)), exp(x - max)    of inputs: functions of the printed file
    exp(-x**2), exp(-x**2/2)          the same
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

from ..expr import TWO, Apply, Const, Expr, Ref, apply, factors, operators, transformer, value_of
from ..ir import Equation, Role, Tensor
from ..ops import OPS

SIGMOIDS = frozenset({"sigmoid", "sigmoid_slope"})
_ROOT2 = apply("sqrt", 2)
_BELLS = {Fraction(1): "bell", Fraction(1, 2): "normal_bell"}


def with_powers(equations: Iterable[Equation]) -> list[Equation]:
    """Functions of n*log(x) that are powers of x are written as such, before n*log(x) is given a name."""

    def rewrite(node: Expr) -> Expr:
        row = OPS[node.op] if isinstance(node, Apply) and node.op in SIGMOIDS else None
        if row is None or row.expand is None or not isinstance(node, Apply):
            return node
        logs = any(isinstance(f, Apply) and f.op == "log" for f in factors(node.args[0])[0])
        return row.expand(*node.args) if logs else node

    put = transformer(rewrite)
    return [e if SIGMOIDS.isdisjoint(operators(*e.expressions)) else e.mapped(put) for e in equations]


def split_gaussian(equations: Iterable[Equation], target: str, tensors: Mapping[str, Tensor]) -> list[Equation]:
    """The equations with exp(-x**2) and exp(-x**2/2) of inputs as operators, before x/sqrt(2) is given a name."""

    def rewrite(node: Expr) -> Expr:
        found = _square(node.args[0]) if isinstance(node, Apply) and node.op == "exp" else None
        if found is None or not given(found[0], tensors):
            return node
        x, scale = found
        word = _BELLS.get(-scale)
        return apply(word, x) if word and OPS[word].word(target) else node

    put = transformer(rewrite)
    return [e.mapped(put) if "exp" in operators(*e.expressions) else e for e in equations]


def _square(u: Expr) -> tuple[Expr, Fraction] | None:
    """x and c, where `u` is c*x**2, also where the root of 2 divides x."""
    scale = Fraction(1)
    while isinstance(u, Apply) and u.op == "neg":
        (u,), scale = u.args, -scale
    above, below = factors(u)
    moving: list[Expr] = []
    for f, power in (*((f, 1) for f in above), *((f, -1) for f in below)):
        if isinstance(f, Const):
            scale *= value_of(f) ** power
        else:
            moving += f.args[:1] * 2 if isinstance(f, Apply) and f.op == "pow" and f.args[1] is TWO else [f]
            if power < 0:
                return None
    if len(moving) != 2 or moving[0] is not moving[1]:
        return None
    x = moving[0]
    while isinstance(x, Apply) and (x.op == "neg" or (x.op == "div" and x.args[1] is _ROOT2)):
        scale = scale / 2 if x.op == "div" else scale
        x = x.args[0]
    return x, scale


def given(node: Expr, tensors: Mapping[str, Tensor]) -> bool:
    """Whether it is an input, or the largest of some."""
    if isinstance(node, Apply) and node.op == "maximum":
        return all(isinstance(a, Const) or given(a, tensors) for a in node.args)
    return isinstance(node, Ref) and node.name in tensors and tensors[node.name].role == Role.INPUT


def of_difference(node: Expr, target: str, tensors: Mapping[str, Tensor]) -> Expr:
    """exp(-abs(x - y)) and exp(x - max) of inputs as operators, where the target has functions for them."""
    if not (isinstance(node, Apply) and node.op == "exp"):
        return node
    (u,) = node.args
    word, d = ("exp_below", u) if _below_largest(u) else ("exp_apart", distance(u))
    if not (isinstance(d, Apply) and d.op == "sub" and OPS[word].word(target)):
        return node
    return apply(word, *d.args) if all(given(a, tensors) for a in d.args) else node


def distance(u: Expr) -> Expr | None:
    """d, where `u` is -abs(d)."""
    minus = u.args[0] if isinstance(u, Apply) and u.op == "neg" else None
    return minus.args[0] if isinstance(minus, Apply) and minus.op == "abs" else None


def _below_largest(u: Expr) -> bool:
    """Whether `u` is a difference between a number and the largest of it and others: not positive."""
    if not (isinstance(u, Apply) and u.op == "sub"):
        return False
    x, largest = u.args
    while isinstance(largest, Apply) and largest.op == "maximum" and x not in largest.args:
        largest = largest.args[0]
    return isinstance(largest, Apply) and largest.op == "maximum"
