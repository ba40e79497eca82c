"""Functions of whole arrays by their names, `x = solve(A, b)`: the equations that the text front end tells a Draft."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..errors import ShapeError
from ..expr import ONE, ZERO, Expr, Index, apply, index, ref, substitute
from ..ops.matrices import MATRICES
from ..records import dataclass
from .draft import Draft, fresh_indices

# what formula text calls them: the kinds by their names, NumPy's names for some, and sort
MATRIX_FUNCTIONS: Mapping[str, str] = {
    **{name: name for name in MATRICES},
    **{"eigvalsh": "eigh_values", "svdvals": "svd_values", "logdet": "slogdet_log", "sort": "sort"},
}


@dataclass(frozen=True, slots=True)
class Named:
    """An array by its name: how many axes it has, and the pack that the first of them may be."""

    name: str
    rank: int
    pack: str = ""


def arity(function: str) -> int:
    """How many arrays a function takes."""
    kind = MATRIX_FUNCTIONS[function]
    return 1 if kind == "sort" else len(MATRICES[kind].operands)


def rank_of(function: str, ranks: Sequence[int]) -> int:
    """How many axes the result has, from how many its operands have."""
    kind = MATRIX_FUNCTIONS[function]
    if kind == "sort":
        return ranks[0]
    row = MATRICES[kind]
    if len(row.operands) == 2:
        return max(ranks[0] - 1 if _vector(ranks) else ranks[0], ranks[1])
    return ranks[0] - len(row.operands[0]) + row.rank


def _vector(ranks: Sequence[int]) -> bool:
    """Whether the right-hand side is a vector, or a stack of them: it has one axis, or one less than the matrix."""
    return ranks[1] == 1 or ranks[1] == ranks[0] - 1


def define_matrix_function(
    draft: Draft, function: str, operands: Sequence[Named], target: str | None = None, at: Sequence[Index] = ()
) -> Named:
    """Say what `function` of the operands is; the result is called `target`, or by a word of its own, and is defined at
    the indices `at`, if there are any."""
    kind = MATRIX_FUNCTIONS[function]
    if kind == "sort":
        (x,) = operands
        order = define_matrix_function(draft, "argsort", operands)
        at = _axes(draft, x)
        name = target or draft.name_for("sorted_values")
        body = ref(x.name, *at[:-1], ref(order.name, *at))
        draft.define(name, at, body, named=target is not None)
        return Named(name, x.rank, x.pack)
    if MATRICES[kind].signs:
        return _signed(draft, kind, operands, target)
    return _plain(draft, kind, operands, target, function, at)


def _plain(
    draft: Draft, kind: str, operands: Sequence[Named], target: str | None, function: str, at: Sequence[Index] = ()
) -> Named:
    row = MATRICES[kind]
    ranks = [x.rank for x in operands]
    own = len(row.operands[0])
    least = [own, 1]
    for x, count in zip(operands, least, strict=False):
        if x.rank < count or (x.pack and x.rank <= count):
            what = "a matrix" if count == 2 else "a vector"
            many = "axis" if x.rank == 1 else "axes"
            raise ShapeError(f"{draft.name}: {function} takes {what}, and {x.name} has {x.rank} {many}.")
    name = target or draft.name_for(row.word)
    front = ranks[0] - own
    pack = next((x.pack for x in operands if x.pack), "")
    letters = iter(fresh_indices(front + own + row.rank + 2, {*draft.names, *(i.name for i in at)}))
    batch: list[Index] = [index(operands[0].pack)] if operands[0].pack else []
    batch += [next(letters) for _ in range(front - len(batch))]
    result = [next(letters) for _ in range(row.rank)]
    axes = [next(letters) for _ in range(own)]
    body: Expr = ref(operands[0].name, *batch, *axes)
    columns: list[Index] = []
    if len(operands) == 2:
        b = operands[1]
        columns = [] if _vector(ranks) else [next(letters)]
        lead = b.rank - 1 - len(columns)
        mine = batch[len(batch) - lead :] if lead <= len(batch) else []
        if lead > len(batch) or (b.pack and mine[:1] != [index(b.pack)]):
            raise ShapeError(
                f"{draft.name}: {function}({operands[0].name}, {b.name}) has more leading axes behind than in front."
            )
        body = apply("pair", body, ref(b.name, *mine, axes[0], *columns))
    names = dict(zip([*batch, *result, *columns], at, strict=True)) if at else {}
    body = substitute(body, names)
    draft.define(name, at or [*batch, *result, *columns], body, reduce=kind, named=target is not None)
    return Named(name, front + row.rank + len(columns), pack)


def _signed(draft: Draft, kind: str, operands: Sequence[Named], target: str | None) -> Named:
    """Vectors whose signs are settled: the first component of each is not negative."""
    vectors = _plain(draft, kind, operands, None, kind)
    signs = MATRICES[kind].signs
    by = vectors if signs == kind else _plain(draft, signs, operands, None, kind)
    *batch, i, j = _axes(draft, vectors)
    name = target or draft.name_for(f"signed_{vectors.name}")
    first = ref(by.name, *batch, ZERO, j if by is vectors else i)
    sign = apply("select", apply("lt", first, ZERO), -ONE, ONE)
    draft.define(name, [*batch, i, j], ref(vectors.name, *batch, i, j) * sign, named=target is not None)
    return Named(name, vectors.rank, vectors.pack)


def _axes(draft: Draft, x: Named) -> list[Index]:
    letters = iter(fresh_indices(x.rank, draft.names))
    return [index(x.pack) if x.pack and k == 0 else next(letters) for k in range(x.rank)]
