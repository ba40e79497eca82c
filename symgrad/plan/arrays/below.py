"""What an array expression is made of: the arrays below it, and the numbers that it mentions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, TypeGuard

from ...expr import ZERO, Expr, apply, refs
from ...records import replace
from ..trees import parts, rebuilt
from .tree import Array, ArrayNode, Convolution, Elementwise, Num, Range, Real, Reshape, SizeOf, Slice, Var


def children(array: Array) -> tuple[Array, ...]:
    """The arrays that `array` is computed from."""
    if isinstance(array, Elementwise):  # most are
        return array.args
    if isinstance(array, (Var, Num, SizeOf)):
        return ()
    inside: list[Any] = [part for part in parts(array) if isinstance(part, ArrayNode)]
    return tuple(inside)


def is_array(part: object) -> TypeGuard[Array]:
    """Whether something in the fields of an array is one itself."""
    return isinstance(part, ArrayNode)


def with_parts(node: Any, change: Callable[[Any], Any]) -> Any:
    """A statement or an array with everything that its fields hold changed."""
    new = rebuilt(node, change)
    return as_real(new.base, new.boolean) if isinstance(new, Real) and new is not node else new


def as_real(base: Array, boolean: bool = False) -> Array:
    """`base` in the type of the inputs; where(c, 1, 0) is c itself, and a number takes the type of what it meets."""
    match base:
        case _ if plain_number(base):
            return base
        case Elementwise("select", (condition, Num(one), Num(zero))) if one.value == 1 and zero.value == 0:
            return Real(condition, boolean=True)
        case _:
            return Real(base, boolean)


def plain_number(array: Array) -> bool:
    """Whether an array is a number of Python's, which takes the type of what it meets, and not one of NumPy's."""
    stack = [array]
    while stack:
        node = stack.pop()
        if isinstance(node, Elementwise):
            stack += node.args
        elif not (isinstance(node, (Num, SizeOf)) or isinstance(node, Var) and node.number):
            return False
    return True


def of_ranges(array: Array) -> bool:
    """Whether an array is made of ranges and numbers alone."""
    stack, found = [array], False
    while stack:
        node = stack.pop()
        inside = children(node)
        if not inside and not isinstance(node, (Range, Num, SizeOf)):
            return False
        found |= isinstance(node, Range)
        stack += inside
    return found


def operations(array: Array) -> int:
    """How many operators stand one inside of the other, up to what is no operator: of `2 * a[:, None] + 1` two."""
    return 1 + max(map(operations, array.args), default=0) if isinstance(array, Elementwise) else 0


def below(array: Array) -> list[Array]:
    """`array` and everything it is computed from."""
    try:
        return [array, *array._below]
    except AttributeError:
        found: list[Array] = []
        stack = [array]
        while stack:
            node = stack[-1]
            found += (node,)
            stack[-1:] = children(node)
        object.__setattr__(array, "_below", tuple(found[1:]))
        return found


def holds_below(array: Array, holds: Callable[[Array], bool]) -> bool:
    """Whether something holds of `array`, or of anything that it is computed from; what several share is asked once."""
    seen: set[int] = set()
    stack = [array]
    while stack:
        node = stack.pop()
        if id(node) not in seen:
            if holds(node):
                return True
            seen.add(id(node))
            stack += children(node)
    return False


def sizes_in(items: Iterable[object]) -> list[Expr]:
    """The integer expressions in the items of an index."""
    several = (p for item in items for p in (parts(item) if isinstance(item, Slice) else (item,)))
    return [e for e in several if isinstance(e, Expr)]


def told(array: object) -> list[Any]:
    """The parts of `array` that are written."""
    match array:
        case Elementwise():
            return [*array.args]
        case Reshape(base):
            return [base, *array.told]
        case Convolution(kind="result" | "transpose"):
            return parts(replace(array, shape=()))
        case _:
            return parts(array)


def sizes_of(array: Array) -> list[Expr]:
    """The integer expressions that the top of `array` mentions."""
    return sizes_in(told(array))


# numbers that divide numbers: Python raises where they are 0, an array does not


def not_zero(divisor: Expr) -> Expr:
    """What must hold of a divisor."""
    return apply("ne", divisor, ZERO)


def options_that_divide(arrays: Iterable[Array], options: Collection[str]) -> Iterator[Expr]:
    """The divisors of numbers that are made of options alone; none that stands where a condition may not select it."""
    stack = list(arrays) if options else []
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
