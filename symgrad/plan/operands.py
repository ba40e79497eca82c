"""Functions of whole matrices as a language without arrays calls them: on whole rows and matrices of arrays.

    result[b,:,:] = inv(operand[b,:,:])

What the function is applied to, and its result, must lie in memory as it reads and writes them: along the last axes of
an array, in full. Where they do not, a copy does.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..expr import Expr, Index, Ref, apply, indices, ref
from ..expr.names import Names
from ..expr.sizes import equal
from ..ir import Box, Dtype, Equation, Tensor
from ..records import replace


def columns_of(e: Equation) -> Box:
    """Of a function with two operands, the indices of the right-hand sides: all of them are one call."""
    if len(e.operands) < 2:
        return ()
    mine, right = (set(indices(o)) for o in e.operands)
    return tuple((i, extent) for i, extent in e.shown if i in right - mine)


def with_operands(equations: Sequence[Equation], tensors: dict[str, Tensor], names: Names) -> list[Equation]:
    """`equations` with every operand and every result of a call as an array of its own where it has to be one."""
    done: list[Equation] = []
    for e in equations:
        done += _prepared(e, tensors, names) if e.matrix is not None else [e]
    return done


def _prepared(e: Equation, tensors: dict[str, Tensor], names: Names) -> list[Equation]:
    row = e.matrix
    assert row is not None
    before: list[Equation] = []
    extents = dict(e.box)
    columns = columns_of(e)
    batch = [i for i, extent in e.batch if (i, extent) not in columns]
    operands: list[Expr] = []
    for number, (operand, axes) in enumerate(zip(e.operands, row.operands, strict=True)):
        last = [e.reduced[k][0] for k in axes] + ([i for i, _ in columns] if number else [])
        if not _lies(operand, last, extents, tensors):
            at = (*(i for i in batch if i in indices(operand)), *last)
            name = names.new(_word(operand, "right_side" if number else "operand"))
            tensors[name] = Tensor(name, tuple(extents[i] for i in at))
            before.append(Equation(name, at, "none", operand, tuple((i, extents[i]) for i in at), None, e.when))
            operand = ref(name, *at)
        operands.append(operand)
    body = operands[0] if len(operands) == 1 else apply("pair", *operands)
    call = e.with_body(body)
    last = [i for i, _ in (*e.result, *columns)]
    dtype = Dtype.INT if row.integer else Dtype.REAL
    target = ref(e.target, *e.subscripts)
    if e.fills(tensors[e.target]) and _lies(target, last, extents, tensors, dtype):
        return [*before, call]
    at = (*batch, *last)
    name = names.new(row.word)
    tensors[name] = Tensor(name, tuple(extents[i] for i in at), dtype)
    inner = {i for i, _ in e.reduced}
    shown = tuple((i, extents[i]) for i in at)
    call = replace(call, target=name, subscripts=at, box=(*shown, *(p for p in e.box if p[0] in inner)))
    return [*before, call, replace(e, reduce="none", body=ref(name, *at), box=e.shown)]


def _lies(
    element: Expr,
    last: Sequence[Index],
    extents: dict[Index, Expr],
    tensors: dict[str, Tensor],
    dtype: Dtype = Dtype.REAL,
) -> bool:
    """Whether the element runs along the last axes of an array, all of them, by these indices in order."""
    tensor = tensors.get(element.name) if isinstance(element, Ref) else None
    if tensor is None or not isinstance(element, Ref) or tensor.dtype is not dtype:
        return False
    first = len(element.subscripts) - len(last)
    if tuple(element.subscripts[first:]) != tuple(last) or set(indices(*element.subscripts[:first])) & set(last):
        return False
    return all(equal(extents[i], axis) for i, axis in zip(last, tensor.shape[first:], strict=True))


def _word(operand: Expr, word: str) -> str:
    """What a copy is called: after the array that is copied."""
    return f"{operand.name}_{word}" if isinstance(operand, Ref) and operand.name.isidentifier() else word
