"""What every result is, a real number, an integer or a boolean; and `//` and `%` of real numbers."""

from __future__ import annotations

import sys
from collections.abc import Container, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from ..errors import DeclarationError
from ..evaluate import evaluate
from ..expr import MIRRORED, ONE, Apply, Const, Expr, Index, Ref, apply, postorder, preorder, ref, refs, show, transform
from ..expr.polynomials import polynomial
from ..ir import Dtype, Equation, Option, Tensor, dtype_of
from ..later import mp
from ..ops import COMPARISONS, OPS
from ..ops.primitive import Primitive
from ..records import replace

TYPED = frozenset(("floordiv", "mod", *(op for op, row in OPS.items() if row.kind == "logic")))


def with_dtypes(
    equations: Sequence[Equation], inputs: Mapping[str, Tensor], options: Iterable[Option]
) -> tuple[list[Equation], dict[str, Dtype]]:
    """The equations, typed, and the dtype of each target: `//` and `%` of real numbers are operators of their own, and
    `and`, `or` and `not` ask conditions.

    equations  each after those that write what it reads
    """
    known = {t.name: t.dtype for t in inputs.values()} | {o.name: o.dtype for o in options}
    read = {r.name for e in equations for r in e.reads}
    targets: dict[str, Dtype] = {}
    while True:
        # what stands behind its readers is an integer until another pass knows better
        kinds, before, targets = known | targets, targets, {}
        result: list[Equation] = []
        for e in equations:
            e = e.mapped(partial(_typed, kinds=kinds, data={*inputs, *before}))
            e = replace(e, subscripts=tuple(map(_clipped, e.subscripts)))
            mine, other = _dtype(e, kinds, read), targets.get(e.target)
            targets[e.target] = mine if other is None else Dtype.REAL if Dtype.REAL in (mine, other) else Dtype.INT
            found = (targets[e.target], before.get(e.target))  # with what is written further on
            kinds[e.target] = next(d for d in (Dtype.REAL, Dtype.INT, Dtype.BOOL) if d in found)
            result.append(e)
        if targets == before:
            return result, targets


def _dtype(e: Equation, kinds: Mapping[str, Dtype], read: Container[str]) -> Dtype:
    """What the elements of the target are, by one of its equations; no subscript is made of what nothing reads."""
    if e.matrix is not None:
        return Dtype.INT if e.matrix.integer else Dtype.REAL
    if e.reduce == "argmax":
        return Dtype.INT
    dtype = dtype_of(e.body, kinds)
    found = postorder(e.body) if e.reduce != "none" or e.target in read else _chosen(e.body)
    whole = [n for n in found if isinstance(n, (Index, Ref))]
    constant = all(isinstance(n, Ref) and kinds.get(n.name) == Dtype.REAL for n in whole)
    if e.reduce == "logsumexp" or constant and dtype is Dtype.INT:  # a result 3 is the real number 3
        return Dtype.REAL
    counts = e.reduce != "none" or not e.plain
    return Dtype.INT if counts and dtype is Dtype.BOOL else dtype


def _chosen(body: Expr) -> list[Expr]:
    """What a value is made of, where conditions choose it: without these, and without subscripts."""
    return list(preorder([body], lambda n: n.args[n.op == "select" :] if isinstance(n, Apply) else ()))


def _typed(body: Expr, kinds: Mapping[str, Dtype], data: Container[str]) -> Expr:
    """`body` with `//` and `%` of real numbers as the operators of real numbers, and conditions in `and`, `or` and
    `not`: languages differ in what they make of others. Subscripts are clipped by what bounds are proved of, and an
    integer that is given is compared by itself."""

    def rewrite(node: Expr) -> Expr:
        if isinstance(node, Ref) and node.subscripts:
            return ref(node.name, *map(_clipped, node.subscripts))
        if isinstance(node, Apply) and OPS[node.op].kind == "logic":
            asked = (a if dtype_of(a, kinds) is Dtype.BOOL else apply("ne", a, 0) for a in node.args)
            return apply(node.op, *asked)
        if isinstance(node, Apply) and node.op in COMPARISONS:
            return _apart(node, data) if {dtype_of(a, kinds) for a in node.args} == {Dtype.INT} else node
        if not (isinstance(node, Apply) and node.op in ("floordiv", "mod")):
            return node
        x, y = node.args
        if Dtype.REAL not in (dtype_of(x, kinds), dtype_of(y, kinds)):
            return x if node.op == "floordiv" and y is ONE else node
        return apply("floor", x / y) if node.op == "floordiv" else apply("modulo", x, y)

    return transform(body, rewrite, only=TYPED | COMPARISONS | {"clip"})


def _apart(node: Apply, data: Container[str]) -> Expr:
    """A comparison with the one given integer on a side of its own: k < n - 1 for k + 1 < n, which may overflow."""
    form = polynomial(node.args[0] - node.args[1])
    given = [r for r in refs(*node.args) if r.name in data and form is not None and r.key in form.symbols]
    if form is None or len(given) != 1 or given[0] in node.args:
        return node
    step, rest = form.split(given[0].key)
    if step.number not in (1, -1):
        return node
    op, other = (node.op, -rest) if step.number == 1 else (MIRRORED.get(node.op, node.op), rest)
    return apply(op, given[0], other.expression())


def _clipped(subscript: Expr) -> Expr:
    def rewrite(node: Expr) -> Expr:
        if not (isinstance(node, Apply) and node.op == "clip"):
            return node
        x, low, high = node.args
        return apply("minimum", apply("maximum", x, low), high)

    return transform(subscript, rewrite, only={"clip"})


def check_numbers(function: str, body: Expr) -> None:
    """Refuse what is made of numbers alone and is none: log(0), sqrt(-1), exp(1000)."""
    values: dict[Expr, Any] = {}
    for node in postorder(body):
        number = isinstance(node, Apply) and node.op != "oo" and all(a in values for a in node.args)
        if number and isinstance(node, Apply) and isinstance(node.op, Primitive):
            number = node.op.about.python is not None  # else nothing tells
        if number or isinstance(node, Const):
            values[node] = None
    if not any(node.args for node in values):
        return
    with mp.workprec(100):
        for node in values:
            if isinstance(node, Const):
                values[node] = evaluate(node, {}, _no_element)
            elif isinstance(node, Apply):
                try:
                    values[node] = OPS[node.op].value(*(values[a] for a in node.args))
                except ZeroDivisionError:
                    values[node] = mp.nan
                if not mp.isfinite(values[node]) or abs(values[node]) > sys.float_info.max:
                    raise DeclarationError(
                        f"{function}: {show(node)} is not a number of double precision. "
                        f"A formula has a finite value wherever it is evaluated."
                    )


def _no_element(name: str, subscripts: tuple[int, ...]) -> Any:
    raise AssertionError(name)
