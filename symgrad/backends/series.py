"""Printing functions with a removable singularity: the formula, and near 0 its Taylor series."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from ..errors import UnsupportedError
from ..expr import (
    ARGUMENT,
    Apply,
    Const,
    Expr,
    Ref,
    apply,
    const,
    ref,
    show,
    substitute,
)
from ..later import mp, mpmath
from ..numerics.digits import value_of_formula
from ..numerics.removable import Filled
from ..numerics.taylor import ORIGIN, SERIES, SETTLED, SQUARE, Place, Series, away, series, settled
from ..ops import OPS
from ..plan.arrays.tree import Array, Elementwise, Num, Real, Var
from ..plan.functions import named_calls, written
from ..source.layout import cut_text
from ..source.python import Assign, Def, Expression, Given, Name, Operation, Return, Word, bare
from .python_expressions import Expressions

NEAR, FAR, SMALL, DISTANCE = ref("near"), ref("far"), ref("x"), ref("u")


def series_of(op: Filled) -> Series:
    """The series of a formula; UnsupportedError if it has none of few terms."""
    found = series(op.formula, op.place)
    if found is None:
        formula = show(substitute(op.formula, {ARGUMENT: SMALL}))
        raise UnsupportedError(
            f"{formula} has a removable singularity at {_point(op)}, and a Taylor series of which no few terms will do "
            f"where the formula loses its digits. Write it by other functions, or print it with --no-stabilize."
        )
    return found


def _point(op: Filled) -> str:
    return show(const(op.place.point))


def condition(distance: Expr, near: Fraction) -> Expr:
    """Whether the series takes over: on both sides of the point, though a root be none on one. Rounding gets there."""
    return apply("lt", apply("abs", distance), const(near))


def about(op: Filled) -> str:
    """What its function computes, and how."""
    return f"{show(substitute(op.formula, {ARGUMENT: SMALL}))}; where x is near {_point(op)}, by its Taylor series."


def _elsewhere(body: Expr, place: Place) -> Expr:
    """A number that is not near the point, at which the formula is one too."""
    ways = [place.at(mpmath.mpf(sign) / n) for n in (1, 2, 4) for sign in (1, -1)]
    found = next((x for x in ways if mp.isfinite(value_of_formula(body, {ARGUMENT: x}))), ways[0])
    return const(Fraction(float(found)))


def clamped(x: Expr, body: Expr) -> Expr:
    """What the formula is computed of, for it to be a number where it has settled."""
    for sign in settled(body):
        x = apply("maximum" if sign < 0 else "minimum", x, sign * SETTLED)
    return x


def python_helper(op: Filled, tree: Expressions) -> Def:
    """The function in a language of arrays. Both branches are computed everywhere, each where it is a number."""
    place, found = op.place, series_of(op)
    body = away(op.formula, place)

    def built(node: Expr, names: Mapping[Expr, str]) -> Expression:
        return tree(as_array(node, names, tree.target))

    own = SMALL if place == ORIGIN else DISTANCE
    u = Name(own.name)
    names: Mapping[Expr, str] = {NEAR: "near", SMALL: "x", DISTANCE: "u", ARGUMENT: "x"}
    lines = [Assign(u, built(place.distance, names))] if own is DISTANCE else []
    lines.append(Assign(Name("near"), built(condition(own, found.near), names)))
    pair = [apply("select", NEAR, *two) for two in ((own, const(0)), (_elsewhere(body, place), clamped(SMALL, body)))]
    lines.append(Assign(bare([u, Name("far")]), bare([built(p, names) for p in pair])))
    lines += [Assign(Name("square"), Operation("mul", (u, u)))] if found.even else []
    terms: Mapping[Expr, str] = {ARGUMENT: own.name, SQUARE: "square", SERIES: "series"}
    lines += [Assign(Name("series"), built(step, terms)) for step in found.steps]
    calls, rest = named_calls(written(body, tree.target))
    names = {NEAR: "near", ref("series"): "series", ARGUMENT: "far", **{n: n.name for n in calls}}
    lines += [Assign(Name(name.name), built(call, names)) for name, call in calls.items()]
    value = Return(built(apply("select", NEAR, ref("series"), rest), names))
    word = Word(OPS[op].word(tree.target) or op)
    return Def(word, (Given(Name("x")),), [*lines, value], documented(about(op)), role="series")


def documented(about: str) -> tuple[str, ...]:
    """The docstring of a function that returns what `about` says."""
    first, *rest = cut_text(f"Return {about}", 0, 80)
    return (first, *(line.strip() for line in rest))


def as_array(root: Expr, names: Mapping[Expr, str], target: str) -> Array:
    """An expression of numbers as one of arrays that have these names, in operators that the language has."""

    def build(node: Expr) -> Array:
        if isinstance(node, Const):
            return Num(node)
        if isinstance(node, Ref):
            return Var(names[node])
        assert isinstance(node, Apply)
        args = tuple(build(a) for a in node.args)
        whole = node.op == "select" and all(isinstance(a, Num) for a in args[1:])  # of integers, which widen float32
        return Real(Elementwise(node.op, args)) if whole else Elementwise(node.op, args)

    return build(written(root, target))
