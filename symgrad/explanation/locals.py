"""The function as it was declared, and the derivative of each of its steps by what that step reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..differentiate.chain import partials_of, slopes
from ..expr import Apply, Const, Expr, apply, postorder, ref, show
from ..expr.names import fresh_letters
from ..ir import Dtype, Equation, Function, latex_of, names_of, show_shape
from ..ops import OPS
from .document import Block, Formula, Formulas, Items, Paragraph
from .formulas import equations, slope_in

REDUCED: Mapping[str, str] = {  # how much a term counts, where that is not the whole of it
    "max": "the largest term alone moves a maximum: the derivative by it is 1, by the others 0 (equal ones share it)",
    "min": "the smallest term alone moves a minimum: the derivative by it is 1, by the others 0 (equal ones share it)",
    "prod": "the derivative of a product by one factor is the product of the others",
    "argmax": "a position moves in jumps: its derivative is 0 wherever it has one",
}

POINTS = "The code takes arrays of any number of leading axes, too, and does the same for each element of these."


def function_blocks(function: Function, declared: Function) -> tuple[Block, ...]:
    """What is computed, and of what shapes, at one of the points of the `declared` function."""
    table = function.table
    said = []
    for names, what in ((function.inputs, "input"), (function.outputs, "output")):
        for name in names:
            t = table[name]
            kind = f"of shape {show_shape(t)}" if t.shape else "a number"
            more = [f"{what}, {kind}", *([t.dtype.value] if t.dtype != Dtype.REAL else [])]
            more += ["optional"] * t.optional + [f"declared for {t.interval.show(name)}"] * t.interval.bounded
            said.append(f"`{name}`: {', '.join(more)}")
    said += [f"`{o.name}`: an option, {o.default} if nothing is said" for o in function.options]
    blocks = (Formulas(equations(function.statements, function)), Items(tuple(said)))
    return blocks if function == declared else (*blocks, Paragraph(POINTS))


def local_blocks(function: Function) -> tuple[Block, ...]:
    """The derivative of each equation by each element that it reads, and of each operator in it by its arguments."""
    formulas, said = list[Formula](), dict[str, None]()
    for e in function.statements:
        if function.table[e.target].dtype != Dtype.REAL:
            continue
        if e.matrix is not None:
            said[f"`{e.matrix.name}` takes whole matrices: its rule gives the product with v at once (below)"] = None
            continue
        if e.reduce in REDUCED:
            said[REDUCED[e.reduce]] = None
        formulas += _of_equation(function, e)
    blocks: list[Block] = [Formulas(tuple(formulas))] if formulas else []
    inner = tuple(_operators(function))
    if inner:
        blocks.insert(0, Formulas(inner, "The operators in it, each by its argument"))
        blocks.insert(1, Paragraph("Put together, each line of the function by what stands in it:"))
    if not blocks and not said:
        said["no line of it has a slope other than 0: it moves in jumps, and between them not at all"] = None
    return (*blocks, *([Items(tuple(said))] if said else []))


def _of_equation(function: Function, e: Equation) -> Iterator[Formula]:
    target = ref(e.target, *e.subscripts)
    for element, body in slopes(e.body):
        t = function.table.get(element.name)
        if t is None or t.dtype != Dtype.REAL or e.reduce == "argmax":
            continue
        if e.reduce == "logsumexp":
            body = apply("exp", e.body - target) * body
        if e.reduce == "prod":
            body = target / e.body * body
        yield slope_in(e, target, element, body)


def _operators(function: Function) -> Iterator[Formula]:
    """`d exp(u) / d u = exp(u)` of each function and product that the formula is made of."""
    letters = fresh_letters({*names_of(function), *"ijklpqrst"})
    u, v, w = (ref(next(letters)) for _ in range(3))
    met: dict[Expr, None] = {}
    nodes = [n for e in function.statements for n in postorder(e.body) if isinstance(n, Apply)]
    for n in nodes:
        row = OPS[n.op]
        if row.kind in ("function", "power") and row.derivative is not None and row.arity <= 3:
            node = apply(n.op, *(a if isinstance(a, Const) else x for a, x in zip(n.args, (u, v, w), strict=False)))
            if not isinstance(node, Apply) or node in met:
                continue
            met[node] = None
            for argument, partial in zip(node.args, partials_of(node), strict=True):
                if partial is not None and argument in (u, v, w):
                    yield _by(node, argument, partial)


def _by(node: Expr, argument: Expr, partial: Expr) -> Formula:
    head = rf"\frac{{\partial \, {latex_of(node)}}}{{\partial {latex_of(argument)}}}"
    return Formula(f"d {show(node)} / d {show(argument)} = {show(partial)}", f"{head} = {latex_of(partial)}")
