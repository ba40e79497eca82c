"""Index equations as mathematics, one per line."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from ..domain import NOTHING, Facts
from ..expr import ONE, ZERO, Apply, Const, Expr, Index, Ref, index, indices, ref, refs, show, substitute
from ..expr.names import is_pack
from ..expr.sizes import coefficient, equal, largest, tidy
from .equations import Box, Equation, Tensor
from .reach import disjoint_writes, writes_once


def show_shape(tensor: Tensor) -> str:
    """`(n, k)`; `()` for a scalar."""
    inner = ", ".join(show(extent) for extent in tensor.shape)
    return f"({inner},)" if len(tensor.shape) == 1 else f"({inner})"


def show_element(name: str, subscripts: tuple[Expr, ...]) -> str:
    """`x[i,j]`; `x` for a scalar."""
    return f"{name}[{','.join(show(s) for s in subscripts)}]" if subscripts else name


def show_right(equation: Equation, far: Collection[Index] = ()) -> str:
    """The right-hand side: `sum[l](x[i,l] * weight[j,l])`, and its condition; of the indices `far` is said how far they
    run: `sum[l:k](...)`."""
    body = show(equation.body)
    reduced = ",".join(_bound(i, extent, far) for i, extent in equation.reduced)
    if equation.matrix is not None:
        body = show_matrix(equation, far)
    elif reduced:
        reduce = "sum" if equation.reduce == "none" else equation.reduce
        body = f"{reduce}[{reduced}]({body})"
    if equation.where is not None:
        body += f"  where {', '.join(_ranges(equation.conditions))}"
    when = " and ".join(f"{n} is {'given' if present else 'absent'}" for n, present in equation.when)
    return f"{body}  when {when}" if when else body


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


def _bound(i: Index, extent: Expr, far: Collection[Index]) -> str:
    return f"{i.name}:{show(extent)}" if i in far else i.name


def show_matrix(equation: Equation, far: Collection[Index] = ()) -> str:
    """`inv(A)[i,j]`; `inv[k,l](A[l,k])[i,j]` where the operands are no arrays as they are."""
    row = equation.matrix
    assert row is not None
    result = [i for i, _ in equation.result]
    shown = ",".join(i.name for i, _ in equation.shown)
    if not far and _reads_whole(equation):
        inner = ", ".join(operand.name for operand in equation.operands if isinstance(operand, Ref))
        return f"{row.name}({inner})" + (f"[{shown}]" if shown else "")
    inner = ", ".join(show(operand) for operand in equation.operands)
    place = f"[{','.join(i.name for i in result)}]" if result else ""
    return f"{row.name}[{','.join(_bound(i, e, far) for i, e in equation.reduced)}]({inner}){place}"


def _is_call(equation: Equation) -> bool:
    """Whether a function of matrices is its call by name in formula text, `solve(A, b)[i]`: the leading axes come first
    in each operand and in the result, columns last, and no signs are settled."""
    row = equation.matrix
    assert row is not None
    if row.signs or not all(isinstance(x, Ref) for x in equation.operands):
        return False
    first, *others = (x.subscripts for x in equation.operands if isinstance(x, Ref))
    axes, result = tuple(i for i, _ in equation.reduced), tuple(i for i, _ in equation.result)
    lead, columns = first[: len(first) - len(axes)], tuple[Expr, ...]()
    for second in others:
        at = second.index(axes[0]) if axes[0] in second else 0
        columns = second[at + 1 :]
        vector = len(second) == 1 or len(second) == len(first) - 1
        if second[:at] != lead[len(lead) - at :] or second[at] is not axes[0] or len(columns) != (not vector):
            return False
    return first == (*lead, *axes) and equation.subscripts == (*lead, *result, *columns)


def _reads_whole(equation: Equation) -> bool:
    """Whether the operands of a function of matrices are arrays as they stand."""
    row = equation.matrix
    assert row is not None
    reduced, batch = [i for i, _ in equation.reduced], tuple(i for i, _ in equation.batch)
    return all(
        isinstance(operand, Ref) and _as_it_stands(operand, tuple(reduced[k] for k in places), batch)
        for operand, places in zip(equation.operands, row.operands, strict=True)
    )


def _as_it_stands(operand: Ref, axes: tuple[Index, ...], batch: tuple[Index, ...]) -> bool:
    """Whether an operand is an array as it stands: its batch first, or the columns of right-hand sides behind."""
    rest = [s for s in operand.subscripts if s not in axes]
    inside = tuple(s for s in operand.subscripts if s in axes)
    return inside == axes and all(s in batch for s in rest)


def show_left(equation: Equation) -> str:
    """`out[i,j]`."""
    return show_element(equation.target, equation.subscripts)


def show_equation(equation: Equation, accumulates: bool = False, left: Callable[[Equation], str] = show_left) -> str:
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
        earlier = seen.setdefault(equation.target, [])
        beside = [e for e in earlier if not {(name, not present) for name, present in e.when} & {*equation.when}]
        added = not disjoint_writes(equation, beside, facts)
        found.append(added or not writes_once(equation, facts))
        earlier.append(equation)
    return found


def statements_as_text(
    statements: Sequence[Equation],
    table: Mapping[str, Tensor],
    facts: Facts,
    box_of: Callable[[Sequence[Expr]], Box],
) -> Iterator[str]:
    """The equations as statements of formula text: it says how far an index runs, and how long an axis is, wherever
    that does not follow from what is read and written. `box_of` gives indices for the axes of a shape."""
    elsewhere = {  # the axes that are written at `t + 1`, too: an index alone says nothing of their length
        (e.target, axis) for e in statements for axis, s in enumerate(e.subscripts) if not isinstance(s, (Index, Const))
    }
    known = {name: t.shape for name, t in table.items()}
    written: set[str] = {e.target for e in statements}
    lengthless = {e.target for e in statements if not _tells_shape(e.target, statements, table[e.target].shape)}
    for name in written:
        known.pop(name)
    for equation, adds in zip(statements, accumulating(statements, facts), strict=True):
        target = equation.target
        if target in lengthless and target not in known:
            axes = (i.name if is_pack(i) else f"{i.name}:{show(n)}" for i, n in box_of(table[target].shape))
            yield f"{target}[{','.join(axes)}] = 0"
        far = set(_untold(equation, known, elsewhere))
        known.setdefault(target, table[target].shape)
        left = _left_with(equation, far)
        yield f"{left} {'+=' if adds or target in lengthless else '='} {show_right(equation, far)}"


def _tells_shape(name: str, statements: Sequence[Equation], shape: Sequence[Expr]) -> bool:
    """Whether what writes a tensor tells how long its axes are."""
    writers = [e for e in statements if e.target == name]
    for axis, extent in enumerate(shape):
        places = [(e.subscripts[axis], dict(e.box)) for e in writers]
        mixed = any(not isinstance(s, (Index, Const)) for s, _ in places)
        if not mixed and any(isinstance(s, Index) for s, _ in places):
            continue
        ends = [largest(s, box) for s, box in places]
        if not any(end is not None and equal(tidy(end + 1), extent) for end in ends):
            return False
    return True


def _left_with(equation: Equation, far: Collection[Index]) -> str:
    """`out[i,j:n]`, `out[(r:times) * m + j]`: what is written, and how far its indices `far` run."""
    box, said = dict(equation.box), set[Expr]()
    shown: list[Expr] = []
    for s in equation.subscripts:
        new: dict[Expr, Expr] = {}
        for i in indices(s):
            if i in far and i not in said:
                name = _bound(i, box[i], far)
                new[i] = index(name if s is i else f"({name})")
                said.add(i)
        shown.append(substitute(s, new))
    return show_element(equation.target, tuple(shown))


def _untold(
    equation: Equation, known: Mapping[str, Sequence[Expr]], elsewhere: Collection[tuple[str, int]]
) -> Iterator[Index]:
    """The indices whose extents do not follow from the arrays that an equation reads, of the shapes that are known."""
    box = dict(equation.box)
    if equation.matrix is not None:
        yield from () if _is_call(equation) else (i for i, _ in equation.reduced)
        return
    slots = [
        (s, known[r.name][axis])
        for r in (*refs(*equation.expressions), ref(equation.target, *equation.subscripts))
        if r.name in known
        for axis, s in enumerate(r.subscripts)
        if ((r.name, axis) not in elsewhere if isinstance(s, Index) else r.name != equation.target)
    ]
    told = dict[Index, Expr]()
    untold = set[Index]()
    for i, extent in box.items():
        along = [length for s, length in slots if s is i]
        if any(not equal(length, extent) for length in along):
            untold.add(i)
        elif along:
            told[i] = extent
    for s, length in slots * len(box):
        open_ = [i for i in indices(s) if i not in told and i not in untold]
        if len(open_) == 1 and not untold & {*indices(s)}:
            (i,) = open_
            rest = largest(substitute(s, {i: ZERO}), told)
            if coefficient(s, i) is ONE and rest is not None and equal(tidy(length - rest), box[i]):
                told[i] = box[i]
            else:
                untold.add(i)
    yield from (i for i in box if i not in told and not is_pack(i))
