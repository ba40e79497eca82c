"""Functions and derivatives as mathematics: index equations, one per line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..expr import ONE, Expr, Index, Ref, indices, show
from ..expr.sizes import coefficient, equal
from .reach import disjoint_writes

if TYPE_CHECKING:
    from .data import Derivative, Equation, Function, Tensor


def show_shape(tensor: Tensor) -> str:
    """`(n, k)`; `()` for a scalar."""
    inner = ", ".join(show(extent) for extent in tensor.shape)
    return f"({inner},)" if len(tensor.shape) == 1 else f"({inner})"


def show_target(equation: Equation) -> str:
    """The left-hand side: `out[i,j]`."""
    return show_element(equation.target, equation.subscripts)


def show_element(name: str, subscripts: tuple[Expr, ...]) -> str:
    """`x[i,j]`; `x` for a scalar."""
    return f"{name}[{','.join(show(s) for s in subscripts)}]" if subscripts else name


def show_right(equation: Equation) -> str:
    """The right-hand side: `sum[l](x[i,l] * weight[j,l])`, and its condition."""
    body = show(equation.body)
    reduced = ",".join(i.name for i, _ in equation.reduced)
    if equation.matrix is not None:
        body = show_matrix(equation)
    elif reduced:
        reduce = "sum" if equation.reduce == "none" else equation.reduce
        body = f"{reduce}[{reduced}]({body})"
    if equation.where is not None:
        body += f"  where {show(equation.where)}"
    return body + "".join(f"  when {n} is {'given' if present else 'absent'}" for n, present in equation.when)


def show_matrix(equation: Equation) -> str:
    """`inv(A)[i,j]`; `inv[k,l](A[l,k])[i,j]` where the operands are no arrays as they are."""
    row = equation.matrix
    assert row is not None
    result = [i for i, _ in equation.result]
    batch = tuple(i for i, _ in equation.shown if i not in result)
    reduced = [i for i, _ in equation.reduced]
    shown = ",".join(i.name for i, _ in equation.shown)
    plain = all(
        isinstance(operand, Ref) and _whole(operand, tuple(reduced[k] for k in places), batch)
        for operand, places in zip(equation.operands, row.operands, strict=True)
    )
    if plain:
        inner = ", ".join(operand.name for operand in equation.operands if isinstance(operand, Ref))
        return f"{row.name}({inner})" + (f"[{shown}]" if shown else "")
    inner = ", ".join(show(operand) for operand in equation.operands)
    place = f"[{','.join(i.name for i in result)}]" if result else ""
    return f"{row.name}[{','.join(i.name for i in reduced)}]({inner}){place}"


def _whole(operand: Ref, axes: tuple[Index, ...], batch: tuple[Index, ...]) -> bool:
    """Whether an operand is an array as it stands: its batch first, or the columns of right-hand sides behind."""
    rest = [s for s in operand.subscripts if s not in axes]
    inside = tuple(s for s in operand.subscripts if s in axes)
    return inside == axes and all(s in batch for s in rest)


def show_equation(equation: Equation, accumulates: bool = False) -> str:
    """`out[i,j] = sum[l](x[i,l] * weight[j,l])`."""
    return f"{show_target(equation)} {'+=' if accumulates else '='} {show_right(equation)}"


def show_equations(equations: Sequence[Equation]) -> list[str]:
    """One line each, with `+=` where it adds."""
    return [show_equation(e, adds) for e, adds in zip(equations, accumulating(equations), strict=True)]


def accumulating(equations: Sequence[Equation]) -> list[bool]:
    """Of each equation, whether it is to be written `+=`: it adds to elements that an earlier one writes, or several of
    its own points to one element."""
    found = []
    seen: dict[str, list[Equation]] = {}
    for equation in equations:
        absent = any(not present for _, present in equation.when)
        earlier = seen.setdefault(equation.target, [])
        added = not absent and not disjoint_writes(equation, earlier)
        found.append(added or collides(equation))
        earlier.append(equation)
    return found


def collides(equation: Equation) -> bool:
    """Whether several of the points that are shown may be one element of the target."""
    extents = dict(equation.box)
    told: set[Index] = set()  # the indices that the place of the element tells
    before = -1
    while before != len(told):
        before = len(told)
        for s in equation.subscripts:
            open_ = {i: extents[i] for i in indices(s) if i in extents and i not in told}
            if _tells_apart(s, open_):
                told |= set(open_)
    return any(i in extents and i not in told for s in equation.subscripts for i in indices(s))


def _tells_apart(s: Expr, extents: Mapping[Index, Expr]) -> bool:
    """Whether a subscript is another number for all other indices: it moves with one index, or with several that it
    merges, `h*e + i` with i < e."""
    steps = {i: coefficient(s, i) for i in indices(s) if i in extents}
    if len(steps) <= 1:
        return None not in steps.values()
    step: Expr = ONE
    while steps:
        i = next((i for i, c in steps.items() if c is not None and equal(c, step)), None)
        if i is None:
            return False
        step = step * extents[i]
        del steps[i]
    return True


def show_inputs(function: Function) -> str:
    """The header of formula text: `x[n,k], bias[m]?; eps=1e-05`."""
    parts = []
    for name in function.inputs:
        tensor = function.table[name]
        part = show_element(name, tensor.shape) + ("?" if tensor.optional else "")
        parts.append(part if tensor.dtype == "real" else f"{part}: {tensor.dtype}")
    options = ", ".join(f"{o.name}={o.default}" for o in function.options)
    return ", ".join(parts) + (f"; {options}" if options else "")


def show_function(function: Function) -> str:
    """The function as declared, after hoisting: a header and its equations."""
    lines = [f"{function.name}({show_inputs(function)}) -> {', '.join(function.outputs)}"]
    return "\n".join([*lines, *(f"    {line}" for line in show_equations(function.statements))])


def show_derivative(derivative: Derivative) -> str:
    """The equations of J^T v (or J v), after those of forward that they read."""
    lines = show_equations(derivative.function.statements)
    seeds = ", ".join(seed for _, seed in derivative.seeds)
    product = "J^T v" if derivative.kind == "vjp" else "J v"
    return "\n".join([f"{derivative.primal.name}: {product}, with v = {seeds}", *(f"    {line}" for line in lines)])
