"""Functions of whole matrices as array expressions: the operands laid out, and the results of one call joined.

A batch stands in front. Right-hand sides are columns behind where an index of theirs is none of the matrix; a stack of
vectors gets a column of its own, which goes again: `solve(a, b[..., None])[..., 0]`.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...expr import ZERO, Expr, Index, indices
from ...expr.names import is_pack
from ...ir import Equation
from .tree import Array, MatrixCall, Take, Triangle
from .values import Evaluator, Value


def matrix_value(speller: Evaluator, e: Equation) -> Value:
    """The result of a function of matrices, its batch in front of the axes of the result."""
    row = e.matrix
    assert row is not None
    extents = dict(e.box)
    result = [i for i, _ in e.result]
    batch = [i for i, _ in e.batch]
    axes = [i for i, _ in e.reduced]
    if len(row.operands) == 2:
        return _solution(speller, e, batch, axes, extents)
    order = (*batch, *axes)
    value = speller.spread(speller.evaluate(e.body, order, extents), order, extents)
    return Value(MatrixCall(row.name, (value.array,)), (*batch, *result))


def _solution(
    speller: Evaluator, e: Equation, batch: Sequence[Index], axes: Sequence[Index], extents: dict[Index, Expr]
) -> Value:
    """The solution of a system: one column, or those of an index that only the right-hand side has."""
    matrix, right = e.operands
    (result, _), (k, l) = e.result[0], axes
    mine = set(indices(matrix))
    columns = [i for i in batch if i not in mine and not is_pack(i)]
    column = columns[-1:]
    lead = [i for i in batch if i not in column]
    a = _operand(speller, matrix, lead, (k, l), extents)
    b = _operand(speller, right, lead, (k, *column), extents)
    kind = e.reduce
    if lead and kind != "solve":  # a function of single matrices in the SciPy of a few years ago
        a, kind = Triangle(a, kind == "solve_lower", 0), "solve"
    if column or not lead:
        return Value(MatrixCall(kind, (a, b)), (*lead, result, *column))
    found = MatrixCall(kind, (a, Take(b, ("...", None))))
    return Value(Take(found, ("...", ZERO)), (*lead, result))


def _operand(
    speller: Evaluator, body: Expr, lead: Sequence[Index], own: Sequence[Index], extents: dict[Index, Expr]
) -> Array:
    """An operand as an array that has its own axes in full, and broadcasts over those of the batch."""
    places = (*lead, *own)
    value = speller.laid(speller.evaluate(body, places, extents), places)
    if not set(own) <= set(value.labels):
        value = speller.spread(value, [i for i in places if i in own or i in value.labels], extents)
    return speller.laid(value, places).array
