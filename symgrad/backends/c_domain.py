"""What refuses numbers outside of the domain in C (`--strict-domain`): a loop over each input, before any is used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..expr import const
from ..ir import Function, Interval
from ..source import tree
from ..source.tree import INTEGER, Element, Expression, If, Loop, Name, Number, Operation, Parameter, Return, joined
from .c_expressions import number_of

STATUS = Number("3")


def refusals(
    primal: Function,
    within: Sequence[str],
    parameters: Sequence[Parameter],
    counts: Mapping[str, Expression],
    counter: str,
) -> tree.Block:
    """Statements that return STATUS for a number outside of the interval of an input, for those `within` that are among
    the parameters.

    counts  how many elements an input has that is an array
    """
    found: list[tree.Statement] = []
    for p in parameters:
        if p.tensor not in within or p.role != "input":
            continue
        interval, name = primal.table[p.tensor].interval, Name(p.name)
        count = counts.get(p.tensor) if p.type.pointer else None
        place = Name(counter) if count is not None else Number("0")
        x: Expression = Element(name, (place,)) if p.type.pointer else name
        one: tree.Statement = If(_outside(x, interval, p.type.of), (Return(STATUS),))
        if count is not None:
            one = Loop(counter, Number("0"), count, (one,))
        found.append(If(name, (one,)) if p.nullable else one)
    return tuple(found)


def _outside(x: Expression, interval: Interval, kind: str) -> Expression:
    """Whether a number is not inside, and NaN is not."""
    low, high = interval.low, interval.high
    ops = "gt" if interval.low_open else "ge", "lt" if interval.high_open else "le"
    if kind == INTEGER:
        whole = (interval.first, interval.last)
        low, high = (None if end is None else const(end) for end in whole)
        ops = "ge", "le"
    pairs = zip((low, high), ops, strict=True)
    tests = [Operation(op, (x, number_of(end, kind))) for end, op in pairs if end is not None]
    return Operation("not", (joined("and", tests),))


def about(primal: Function, within: Sequence[str]) -> str:
    """What the head says of it."""
    shown = ", ".join(primal.table[n].interval.show(n) for n in within)
    return f"Return 3, with nothing written, unless {shown}."
