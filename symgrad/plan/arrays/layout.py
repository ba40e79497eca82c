"""Axes: the order in which an equation's indices stand in arrays, and which results keep a reduced axis of length 1."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import combinations, pairwise

from ...expr import Expr, Index, Ref, indices
from ...expr.names import is_pack
from ...ir import Equation, distinct, reached

Pattern = tuple[bool, ...]  # per axis: an index (True) or a kept axis of length 1 (False)


def labels(element: Ref) -> tuple[Index, ...]:
    """The indices that stand alone in an axis of `element`, in the order of its axes."""
    return tuple(dict.fromkeys(s for s in element.subscripts if isinstance(s, Index)))


Axes = Callable[[Equation, Ref], tuple[Index, ...]]


def frame(e: Equation, values: Sequence[Ref], axes: Axes) -> tuple[Index, ...]:
    """Every index of the box in the order of the operands' axes, a pack before all others, however many axes it stands
    for; ties in the order of the target."""
    if len(e.box) < 2:
        return tuple(i for i, _ in e.box)
    rank = {i: place for place, (i, _) in enumerate(e.box)}
    after: dict[Index, set[Index]] = {i: set() for i in rank}
    for r in sorted(values, key=lambda r: -len(r.subscripts)):
        mine = sorted((i for i in axes(e, r) if i in rank), key=lambda i: not is_pack(i))
        if not any(a in reached(after, [b]) for a, b in combinations(mine, 2)):
            for a, b in pairwise(mine):
                after[a].add(b)
    result: list[Index] = []
    left = sorted(rank, key=lambda i: (not is_pack(i), rank[i]))
    while left:
        ready = next(i for i in left if not any(i in after[j] for j in left if j is not i))
        result.append(ready)
        left.remove(ready)
    return tuple(result)


def pack_of(shape: Sequence[Expr]) -> Ref | None:
    """The axis of a pack, where a shape begins with one."""
    first = shape[0] if shape else None
    return first if isinstance(first, Ref) and is_pack(first) else None


def natural(inner: Collection[Index], outer: Sequence[Index | None]) -> Pattern:
    """How `inner` must lie to broadcast against `outer`: from its first index on, an axis for every index of outer."""
    first = next((k for k, i in enumerate(outer) if i in inner), len(outer))
    return tuple(i in inner for i in outer[first:])


def kept_axes(
    equations: Sequence[Equation],
    read: Callable[[Equation], Sequence[Ref]],
    contracted: Collection[int],
    fixed: Collection[str],
    given: Mapping[str, Pattern],
    axes: Axes,
) -> dict[str, Pattern]:
    """The locals that keep their reduced axes, because everything that reads them wants to broadcast them so.

    read        tells the elements that an equation reads as values
    contracted  the equations (by position) that are matrix products
    fixed       the tensors that have their declared shape: inputs and what is returned
    given       patterns that are settled already: what forward saved
    axes        the axes of an element as an array
    """
    if not given and not any(e.reduced for e in equations):
        return {}  # there is no axis of length 1 yet
    values = [*map(read, equations)]
    frames = {k: frame(e, values[k], axes) for k, e in enumerate(equations)}
    writers: dict[str, list[int]] = {}
    for k, e in enumerate(equations):
        writers.setdefault(e.target, []).append(k)
    pattern: dict[str, Pattern] = dict(given)
    possible = {t for t, ks in writers.items() if t not in fixed and t not in given and len(ks) == 1}
    banned: set[str] = set()
    while True:
        pattern = dict(given)
        for k, e in enumerate(equations):
            made = _produced(e, frames[k], values[k], pattern)
            simple = e.plain and k not in contracted and not e.when
            if e.target in possible and e.target not in banned and simple and made is not None and not all(made):
                pattern[e.target] = made
        violated = {
            r.name
            for k, e in enumerate(equations)
            for r in values[k]
            if r.name in pattern and r.name not in given and not _fits(e, frames[k], r, pattern, k in contracted)
        }
        if not violated:
            return pattern
        banned |= violated


def _produced(
    e: Equation, order: Sequence[Index], values: Sequence[Ref], pattern: Mapping[str, Pattern]
) -> Pattern | None:
    shown = {i for i, _ in e.shown}
    if e.reduced:
        if not {i for i, _ in e.reduced} <= {i for r in values for i in indices(r)}:
            return None  # there is no axis to keep: a mean of what is the same for all
        if not shown <= {*indices(e.body, *e.conditions)}:
            return None  # nor one to leave: what is the same all along it has to be repeated
        if e.subscripts != tuple(i for i in order if i in shown):
            return None
        inner = natural(shown, order)  # axes in front need not be kept, but are where others are
        return inner if all(inner) else tuple(i in shown for i in order)
    kept = {pattern[r.name] for r in values if r.name in pattern}
    exact = [r for r in values if r.subscripts and r.name not in pattern]
    if len(kept) == 1 and not exact and e.subscripts == tuple(i for i in order if i in shown):
        (one,) = kept
        return one if sum(one) == len(shown) else None
    return None


def _fits(e: Equation, order: Sequence[Index], r: Ref, pattern: Mapping[str, Pattern], contracted: bool) -> bool:
    """Whether the reader `e` can take `r` with its kept axes as it is."""
    if contracted or not distinct(r.subscripts):
        return False
    mine = pattern[r.name]
    laid = len(mine) <= len(order) and natural(labels(r), order) == mine[mine.index(True) :]
    shown = {i for i, _ in e.shown}
    if laid and e.plain and e.subscripts != tuple(i for i in order if i in shown):
        beside = zip(order[len(order) - len(mine) :], mine, strict=True)  # axes are turned of what keeps none
        laid = {i for i, present in beside if not present}.issubset(indices(e.body, *e.conditions))
    if laid and tuple(i for i in order if i in labels(r)) == r.subscripts:
        return True
    return pattern.get(e.target) == mine and not e.reduced
