"""The order of the axes of temporaries for loops: a sum under a condition such as j < i has short loops over i and j,
and the index that runs freely beside them, of points for example, is innermost where its elements are neighbours.

    z[r,i] = sum[j](where(j < i, factor[i, j] * x[r, j], 0))      becomes      z[i,r] = ... x[j, r] ...

What the caller has laid out otherwise is copied if these loops read it, or add to it, again and again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from ..expr import Apply, Expr, Index, Ref, indices, postorder, ref, refs, substitute, transformer
from ..expr.names import Names
from ..ir import Equation, Role, Tensor
from ..ops import COMPARISONS


def points_last(
    forward: Sequence[Equation],
    backward: Sequence[Equation],
    tensors: dict[str, Tensor],
    fixed: Collection[str],
    packs: Collection[str],
    names: Names,
) -> tuple[list[Equation], list[Equation]]:
    """The equations with other axes of temporaries last, where that makes loops long; `tensors` have these axes then.

    fixed  the tensors whose axes the caller knows
    packs  the names of leading axes, which stay in front
    names  gives a new tensor its name
    """
    both = [*forward, *backward]
    movable = _movable(both, {*fixed})
    last: dict[str, int] = {}  # tensor -> the axis that is to be the last
    for e in both:
        free = _free(e)
        if free is None or free.name in packs:
            continue
        along = [r for r in (ref(e.target, *e.subscripts), *refs(e.body)) if free in r.subscripts]
        if all(r.name in movable for r in along):
            for r in along:
                last.setdefault(r.name, r.subscripts.index(free))
    while more := [*_beside(both, last, movable)]:  # what is computed element by element from them, or they from it
        last.update(more)
    if not last:
        return [*forward], [*backward]
    copies: dict[tuple[str, int], str] = {}
    forward, backward = (_copied(es, last, tensors, copies, names) for es in (forward, backward))

    def moved(node: Expr) -> Expr:
        if not isinstance(node, Ref) or node.name not in last or not node.subscripts:
            return node
        return ref(node.name, *_moved(node.subscripts, last[node.name]))

    rewrite = transformer(moved)
    for name, axis in last.items():
        tensors[name] = replace(tensors[name], shape=_moved(tensors[name].shape, axis))

    def changed(e: Equation) -> Equation:
        e = e.mapped(rewrite)
        if e.target not in last:
            return e
        subscripts = _moved(e.subscripts, last[e.target])
        shown = sorted(e.shown, key=lambda part: subscripts.index(part[0]))
        return replace(e, subscripts=subscripts, box=(*shown, *e.reduced))

    return [changed(e) for e in forward], [changed(e) for e in backward]


def _copied(
    equations: Sequence[Equation], last: dict[str, int], tensors: dict[str, Tensor], copies: dict[tuple[str, int], str],
    names: Names,
) -> list[Equation]:  # fmt: skip
    """The equations, with copies of the elements across; a copy has the axis last that it is read or written along."""
    done: list[Equation] = []
    writers = Counter(e.target for e in equations)
    for e in equations:
        after: list[Equation] = []
        for r, axis in _across(e, last, tensors):
            if r.name == e.target and (writers[r.name] > 1 or e.where is not None or not e.plain):
                continue
            if (r.name, axis) not in copies:
                name = copies[r.name, axis] = names.new(f"{r.name}_columns")
                tensors[name], last[name] = replace(tensors[r.name], name=name, role=Role.LOCAL), axis
            copy = ref(copies[r.name, axis], *r.subscripts)
            if r.name == e.target:
                after.append(replace(e, reduce="none", body=copy, box=e.shown))
                e = replace(e, target=copy.name)
                continue
            if not any(made.target == copy.name for made in done):
                box = zip(r.subscripts, tensors[r.name].shape, strict=True)
                whole = tuple((i, n) for i, n in box if isinstance(i, Index))
                done.append(Equation(copy.name, r.subscripts, "none", r, whole))
            e = e.with_body(substitute(e.body, {r: copy}))
        done += [e, *after]
    return done


def _across(e: Equation, last: dict[str, int], tensors: dict[str, Tensor]) -> list[tuple[Ref, int]]:
    """The elements that `e` reads or writes, each for every value of another index again, and at which axis the index
    stands that is the last of others."""
    elements = (ref(e.target, *e.subscripts), *refs(e.body))
    ends = {r.subscripts[last[r.name]] for r in elements if r.name in last}
    if len(ends) != 1 or e.when:
        return []
    (end,), box = ends, {i for i, _ in e.box}
    return [
        (r, r.subscripts.index(end))
        for r in elements
        if end in r.subscripts[:-1] and {*r.subscripts} < box and len({*r.subscripts}) == len(r.subscripts)
        if r.name not in last and not tensors[r.name].optional
    ]


def _movable(equations: Iterable[Equation], fixed: set[str]) -> set[str]:
    """The tensors each of whose elements is written, and read, at indices alone."""
    found: set[str] = set()
    for e in equations:
        found.add(e.target)
        if not e.plain or e.matrix is not None:
            fixed.add(e.target)
        for r in e.reads:
            if e.matrix is not None or not all(isinstance(s, Index) for s in r.subscripts):
                fixed.add(r.name)
    return found - fixed


def _free(e: Equation) -> Index | None:
    """The index of a sum under conditions on others, which stands in some of what it multiplies and writes."""
    if e.reduce != "sum":
        return None
    asked = (n for n in postorder(e.body, *e.conditions) if isinstance(n, Apply) and n.op in COMPARISONS)
    short = {i for n in asked if all(isinstance(a, Index) for a in n.args) for i in indices(n)}
    elements = [set(indices(*r.subscripts)) for r in (ref(e.target, *e.subscripts), *refs(e.body))]
    free = [i for i, _ in e.box if i not in short and not all(i in some for some in elements)]
    return free[0] if short and len(free) == 1 else None


def _beside(equations: Iterable[Equation], last: dict[str, int], movable: set[str]) -> Iterable[tuple[str, int]]:
    """Tensors that have the same loops, with the axis that is to be their last one."""
    for e in equations:
        elements = [ref(e.target, *e.subscripts), *refs(e.body)]
        ends = {r.subscripts[last[r.name]] for r in elements if r.name in last}
        if len(ends) == 1:
            (end,) = ends
            same = [r for r in elements if r.subscripts == e.subscripts and end in r.subscripts[:-1]]
            yield from ((r.name, r.subscripts.index(end)) for r in same if r.name in movable and r.name not in last)


def _moved(axes: tuple[Expr, ...], axis: int) -> tuple[Expr, ...]:
    return (*axes[:axis], *axes[axis + 1 :], axes[axis])
