"""The order of the axes of temporaries.

For arrays a pack leads, as it does in inputs: it stands for any number of axes, along which all else is broadcast. What
the caller has otherwise is copied.

For loops: a sum under a condition such as j < i has short loops over i and j,
and the index that runs freely beside them, of points for example, is innermost where its elements are neighbours.

    z[r,i] = sum[j](where(j < i, factor[i, j] * x[r, j], 0))      becomes      z[i,r] = ... x[j, r] ...

What the caller has laid out otherwise is copied if these loops read it, or add to it, again and again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from ..expr import Apply, Expr, Index, Ref, index, indices, postorder, ref, refs, substitute, transformer
from ..expr.names import Names, fresh_letters, is_pack
from ..ir import Equation, Role, Tensor
from ..ops import COMPARISONS


def packs_lead(
    forward: Sequence[Equation],
    backward: Sequence[Equation],
    tensors: dict[str, Tensor],
    fixed: Collection[str],
    names: Names,
) -> tuple[list[Equation], list[Equation]]:
    """The equations, where the axes of a pack come first in every tensor that they work with; `tensors` have them so.

    fixed  the tensors whose axes the caller knows: copies are made of what is given, and of what is returned
    """
    places = {name: _with_packs_first(t.shape) for name, t in tensors.items()}
    places = {name: order for name, order in places.items() if order != sorted(order)}
    if not places:
        return [*forward], [*backward]
    own = {name: names.new(f"leading_{name}") for name in places if name in fixed}
    for name, order in places.items():
        old = tensors[name]
        new = replace(old, name=own[name], role=Role.LOCAL, named=False) if name in own else old
        tensors[new.name] = replace(new, shape=tuple(old.shape[k] for k in order))

    def moved(node: Expr) -> Expr:
        if not isinstance(node, Ref) or node.name not in places:
            return node
        return ref(own.get(node.name, node.name), *(node.subscripts[k] for k in places[node.name]))

    rewrite = transformer(moved)

    def changed(e: Equation) -> Equation:
        order, e = places.get(e.target), e.mapped(rewrite)
        if order is None:
            return e
        at = tuple(e.subscripts[k] for k in order)
        shown = sorted(e.shown, key=lambda pair: at.index(pair[0])) if e.plain else e.shown
        return replace(e, target=own.get(e.target, e.target), subscripts=at, box=(*shown, *e.reduced))

    def copy(name: str, back: bool) -> Equation:
        letters = map(index, fresh_letters(names))
        shape, order, new = tensors[name].shape, places[name], own[name]
        at = tuple(index(n.name) if isinstance(n, Ref) and is_pack(n) else next(letters) for n in shape)
        box, inner = tuple(zip(at, shape, strict=True)), tuple(at[k] for k in order)
        if back:
            return Equation(name, at, "none", ref(new, *inner), box)
        return Equation(new, inner, "none", ref(name, *at), tuple(box[k] for k in order))

    first, second = ({e.target for e in es} for es in (forward, backward))
    read = {r.name for e in backward for r in e.reads} - first - second
    given, *made = [
        [copy(name, back) for name in own if name in some]
        for some, back in ((read, False), (first, True), (second, True))
    ]
    return [*map(changed, forward), *made[0]], [*given, *map(changed, backward), *made[1]]


def _with_packs_first(shape: Sequence[Expr]) -> list[int]:
    return sorted(range(len(shape)), key=lambda k: not is_pack(shape[k]))


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
