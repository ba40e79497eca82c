"""The unknowns of a function: the inputs that a solver moves, while the others are data."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import TargetError, UnsupportedError
from ..expr import ONE, Expr, Ref, index, product, ref, show, substitute, total
from ..expr.sizes import tidy
from ..records import replace
from .data import Function
from .equations import Dropped, Dtype, Equation


def unknowns(function: Function, chosen: Sequence[str] = (), behind: str = "") -> tuple[str, ...]:
    """The inputs that are the unknown, in the order of the declaration.

    chosen  their names; without any it is the first input of real numbers, and the scalars right behind a scalar
    behind  an input that is the time: then it is as many as there are outputs
    """
    table = single(function).table
    possible = [n for n in function.inputs if table[n].dtype == Dtype.REAL and not table[n].optional and n != behind]
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
    if behind:
        return tuple(possible[: len(function.outputs)])
    first, *rest = function.inputs[function.inputs.index(possible[0]) :]
    found = [first]
    for name in rest:
        if table[first].shape or name not in possible or table[name].shape:
            break
        found.append(name)
    return tuple(found)


def moved_by(function: Function, solver: str, chosen: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """The inputs that a solver of SciPy's moves, and the one that it gives before them: "" if it gives none.

    solve_ivp  the time, a scalar, unless it is among the `chosen`; then as many as have derivatives among the outputs
    curve_fit  data; then all others
    solve_bvp  the places, then the state, a number for each output, then parameters; all of them are numbers
    bc         nothing before: the state at both ends, then parameters
    """
    if solver == "optimize":
        return unknowns(function, chosen), ""
    first, *others = function.inputs
    table, name = single(function).table, function.name
    if solver == "curve_fit":
        if first in chosen or (chosen and {*chosen} != {*others}) or not others:
            raise TargetError(
                f"{name}: curve_fit gives data, and then the parameters: all inputs behind the first, {first}. "
                f"What is neither is an option, as in f(x[n], a; c=1.0)."
            )
        return unknowns(function, chosen or others), first
    if solver in ("solve_bvp", "bc"):
        return _of_numbers(function, solver, chosen)
    timed = first not in chosen and not table[first].shape and bool(others)
    moved = unknowns(function, chosen, first if timed else "")
    sizes = [tidy(total(product(table[n].shape) for n in some)) for some in (moved, function.outputs)]
    if sizes[0] != sizes[1]:
        raise TargetError(
            f"{name}: the state is {', '.join(moved)}, of {show(sizes[0])}, and its derivative of {show(sizes[1])}. "
            f"Say which inputs are the state, as in --to scipy:{'+'.join(function.inputs[: len(function.outputs)])}."
        )
    return moved, first if timed else ""


def _of_numbers(function: Function, solver: str, chosen: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """The same for solve_bvp, which asks at all places at once, and for its boundary."""
    name, point, count = function.name, single(function), len(function.outputs)
    every = [point.table[n] for n in (*function.inputs, *function.outputs)]
    if any(t.shape or t.dtype != Dtype.REAL for t in every):
        raise UnsupportedError(f"{name}: solve_bvp gives numbers, and each is an input, as in f(x, u, v) = v, -u.")
    if solver == "solve_bvp":
        ahead, moved = function.inputs[0], function.inputs[1:]
        fits = len(moved) >= count
        said = "the place, a number of the state for each output, and parameters, as in f(x, u, v) = v, -u"
    else:  # of n numbers and k parameters there are 2 n + k inputs and n + k outputs
        ahead, moved = "", function.inputs
        fits = count < len(moved) <= 2 * count
        said = "the state at the left end, that at the right, and parameters, as in f(ua, va, ub, vb) = ua, ub"
    if not fits or chosen:
        raise TargetError(f"{name}: the inputs of {solver} are {said}.{' They are not chosen.' * bool(chosen)}")
    return moved, ahead


def single(function: Function) -> Function:
    """The function at one point, where each element of the output's leading axes is a point by itself.

    Its pack of axes is left out: f(x, y) of two arrays is f of two numbers. Unchanged where a sum runs over the pack,
    or a formula has the number of its points.
    """
    leading = {
        e.name
        for name in function.outputs
        for e in function.table[name].shape[:1]
        if isinstance(e, Ref) and e.name in function.packs
    }
    for pack in leading:
        if any(ref(pack) in e.reads for e in function.statements):
            continue
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
