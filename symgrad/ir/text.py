"""Index equations as mathematics, one per line."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..domain import NOTHING, Facts
from ..expr import Apply, Expr, Index, Ref, show
from .equations import Equation, Tensor
from .reach import disjoint_writes, writes_once


def show_shape(tensor: Tensor) -> str:
    """`(n, k)`; `()` for a scalar."""
    inner = ", ".join(show(extent) for extent in tensor.shape)
    return f"({inner},)" if len(tensor.shape) == 1 else f"({inner})"


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
        body += f"  where {', '.join(_ranges(equation.conditions))}"
    return body + "".join(f"  when {n} is {'given' if present else 'absent'}" for n, present in equation.when)


def _ranges(conditions: Sequence[Expr]) -> list[str]:
    """Conditions as people write them: `0 <= row < h`, where one says that it is no less and another one how far."""
    found = {c: show(c) for c in conditions}
    for low in conditions:
        high = next((c for c in conditions if _is(c, "lt", "le") and c.args[0] is low.args[0]), None)
        if _is(low, "ge", "gt") and high is not None and low in found and high in found:
            below = f"{show(low.args[1])} {'<=' if _is(low, 'ge') else '<'} "
            found[low] = below + found.pop(high)
    return list(found.values())


def _is(condition: Expr, *ops: str) -> bool:
    return isinstance(condition, Apply) and condition.op in ops


def show_matrix(equation: Equation) -> str:
    """`inv(A)[i,j]`; `inv[k,l](A[l,k])[i,j]` where the operands are no arrays as they are."""
    row = equation.matrix
    assert row is not None
    result = [i for i, _ in equation.result]
    batch = tuple(i for i, _ in equation.batch)
    reduced = [i for i, _ in equation.reduced]
    shown = ",".join(i.name for i, _ in equation.shown)
    plain = all(
        isinstance(operand, Ref) and _as_it_stands(operand, tuple(reduced[k] for k in places), batch)
        for operand, places in zip(equation.operands, row.operands, strict=True)
    )
    if plain:
        inner = ", ".join(operand.name for operand in equation.operands if isinstance(operand, Ref))
        return f"{row.name}({inner})" + (f"[{shown}]" if shown else "")
    inner = ", ".join(show(operand) for operand in equation.operands)
    place = f"[{','.join(i.name for i in result)}]" if result else ""
    return f"{row.name}[{','.join(i.name for i in reduced)}]({inner}){place}"


def _as_it_stands(operand: Ref, axes: tuple[Index, ...], batch: tuple[Index, ...]) -> bool:
    """Whether an operand is an array as it stands: its batch first, or the columns of right-hand sides behind."""
    rest = [s for s in operand.subscripts if s not in axes]
    inside = tuple(s for s in operand.subscripts if s in axes)
    return inside == axes and all(s in batch for s in rest)


def show_left(equation: Equation) -> str:
    """`out[i,j]`."""
    return show_element(equation.target, equation.subscripts)


def show_equation(
    equation: Equation, accumulates: bool = False, left: Callable[[Equation], str] = show_left
) -> str:
    """`out[i,j] = sum[l](x[i,l] * weight[j,l])`; `left` writes what it is an equation of."""
    return f"{left(equation)} {'+=' if accumulates else '='} {show_right(equation)}"


def show_equations(
    equations: Sequence[Equation], facts: Facts = NOTHING, left: Callable[[Equation], str] = show_left
) -> list[str]:
    """One line each, with `+=` where it adds."""
    return [show_equation(e, adds, left) for e, adds in zip(equations, accumulating(equations, facts), strict=True)]


def accumulating(equations: Sequence[Equation], facts: Facts = NOTHING) -> list[bool]:
    """Of each equation, whether it is to be written `+=`: it adds to elements that an earlier one writes, or several of
    its own points to one element."""
    found = []
    seen: dict[str, list[Equation]] = {}
    for equation in equations:
        absent = any(not present for _, present in equation.when)
        earlier = seen.setdefault(equation.target, [])
        added = not absent and not disjoint_writes(equation, earlier, facts)
        found.append(added or not writes_once(equation, facts))
        earlier.append(equation)
    return found
