"""Numbers that divide numbers: Python raises where they are 0, an array does not."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from ...expr import ZERO, Expr, apply, refs
from .below import children, plain_number
from .tree import Array, Elementwise, SizeOf


def not_zero(divisor: Expr) -> Expr:
    """What must hold of a divisor."""
    return apply("ne", divisor, ZERO)


def options_that_divide(arrays: Iterable[Array], options: Collection[str]) -> Iterator[Expr]:
    """The divisors of numbers that are made of options alone; none that stands where a condition may not select it."""
    stack = list(arrays)
    while stack:
        match stack.pop():
            case Elementwise("select", (condition, _, _)):
                stack.append(condition)
            case Elementwise("div", (above, SizeOf(divisor))) if plain_number(above) and _made_of(divisor, options):
                yield divisor
                stack.append(above)
            case array:
                stack.extend(children(array))


def _made_of(divisor: Expr, options: Collection[str]) -> bool:
    names = {r.name for r in refs(divisor)}
    return bool(names) and names <= set(options)
