"""What a domain that nobody declared would spare: a power with a variable exponent is mostly meant for a positive base,
and without a domain its gradient is guarded at 0 and below."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..expr import Apply, Expr, operator, postorder, refs
from ..expr.nodes import COMPARE
from ..ir import REALS, Derivative, Dtype, Equation, Function, Signs
from ..ir.signs import POSITIVE, is_in
from ..records import dataclass, replace
from .domain import known, known_in


@dataclass(frozen=True)
class Spared:
    """The `where` in the equations of a function and of J^T v: how many there are, and how many are not needed where
    these inputs are positive."""

    inputs: tuple[str, ...]
    needless: int
    all: int


def spared(written: Function, derivative: Derivative) -> Spared | None:
    """What is spared where the inputs of powers with variable exponents are declared positive, the bases alone if that
    is as good; None where nothing is, or where the formula itself asks for the sign of one.

    written     the function as its author has it
    derivative  what is printed for it
    """
    equations, signs = derivative.function.statements, Signs(written)
    nodes = [n for root in _expressions(written.statements) for n in postorder(root) if isinstance(n, Apply)]
    powers = [n.args for n in nodes if n.op == "pow" and refs(n.args[1]) and not is_in(signs(n.args[0]), POSITIVE)]
    compared = [n for n in nodes if n.op in COMPARE]
    before, found = _guards(equations), None
    for sides in (2, 1):
        inputs = _free_inputs(written, [part for args in powers for part in args[:sides]])
        declared = _positive(written, inputs)
        signs, put = Signs(declared), known(declared)
        meant = all(is_in(signs(base), POSITIVE) and put(base) == base for base, _ in powers)
        if inputs and meant and all(signs.decided(n.op, *n.args) is None for n in compared):
            needless = before - _guards(known_in(_positive(derivative.function, inputs), equations))
            if found is None or needless == found.needless:
                found = Spared(inputs, needless, before)
    return found if found and found.needless else None


def _positive(function: Function, inputs: Iterable[str]) -> Function:
    """The function with a domain where these are positive."""
    there = {*inputs}
    tensors = (replace(t, interval=POSITIVE) if t.name in there else t for t in function.tensors)
    return replace(function, tensors=tuple(tensors))


def _free_inputs(function: Function, parts: Iterable[Expr]) -> tuple[str, ...]:
    """The real inputs without a domain that expressions are computed from."""
    names = {r.name for r in refs(*parts)}
    while more := {r.name for n in names for e in function.writers.get(n, ()) for r in e.reads} - names:
        names |= more
    tensors = [function.table[n] for n in function.inputs if n in names]
    return tuple(t.name for t in tensors if t.dtype == Dtype.REAL and t.interval == REALS)


def _expressions(equations: Iterable[Equation]) -> Iterator[Expr]:
    for e in equations:
        yield from e.expressions


def _guards(equations: Iterable[Equation]) -> int:
    """How many `where` there are."""
    nodes = {n for root in _expressions(equations) for n in postorder(root)}
    return sum(operator(n) == "select" for n in nodes)
