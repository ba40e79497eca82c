"""The unknowns of a function: the inputs that a solver moves, while the others are data."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import TargetError, UnsupportedError
from ..expr import ONE, Expr, Ref, index, ref, substitute
from ..records import replace
from .data import Function
from .equations import Dropped, Dtype, Equation


def unknowns(function: Function, chosen: Sequence[str] = ()) -> tuple[str, ...]:
    """The inputs that are the unknown, in the order of the declaration.

    chosen  their names; without any it is the first input of real numbers, and the scalars right behind a scalar
    """
    table = single(function).table
    possible = [n for n in function.inputs if table[n].dtype == Dtype.REAL and not table[n].optional]
    wrong = [n for n in chosen if n not in possible]
    if wrong:
        said = f"choose from {', '.join(possible)}" if possible else "no input is a real number that is always given"
        raise TargetError(f"{function.name}: {wrong[0]} cannot be the unknown; {said}.")
    if chosen:
        return tuple(n for n in function.inputs if n in chosen)
    if not possible:
        raise UnsupportedError(
            f"{function.name} has no input that can be the unknown: a solver moves real numbers that are always given."
        )
    first, *behind = function.inputs[function.inputs.index(possible[0]) :]
    found = [first]
    for name in behind:
        if table[first].shape or name not in possible or table[name].shape:
            break
        found.append(name)
    return tuple(found)


def single(function: Function) -> Function:
    """The function at one point, where each element of the output's leading axes is a point by itself.

    Its pack of axes is left out: f(x, y) of two arrays is f of two numbers. Unchanged where a sum runs over the pack.
    """
    leading = {
        e.name
        for name in function.outputs
        for e in function.table[name].shape[:1]
        if isinstance(e, Ref) and e.name in function.packs
    }
    for pack in leading:
        if all(i in e.subscripts for e in function.statements for i, extent in e.box if extent == ref(pack)):
            function = _without(function, pack)
    return function


def is_scalar(function: Function) -> bool:
    """Whether it gives one number at a point."""
    point = single(function)
    return len(point.outputs) == 1 and not point.table[point.outputs[0]].shape


def _without(function: Function, pack: str) -> Function:
    size = ref(pack)
    dropped = Dropped({t.name: (0,) for t in function.tensors if t.shape and t.shape[0] == size}, {index(pack)})

    def put(node: Expr) -> Expr:
        return substitute(node, {size: ONE})

    def equation(e: Equation) -> Equation:
        e = dropped.equation(e).mapped(put)
        return replace(e, box=tuple((i, put(extent)) for i, extent in e.box))

    return replace(
        function,
        dims=tuple(d for d in function.dims if d.name != pack),
        tensors=tuple(replace(t, shape=tuple(map(put, t.shape))) for t in map(dropped.tensor, function.tensors)),
        statements=tuple(map(equation, function.statements)),
        constraints=tuple(map(put, function.constraints)),
    )
