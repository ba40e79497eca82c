"""How equations write their target: which elements, whether two of them write the same ones, and along which index
innermost.

That is the one along which most accesses stay in place or move by one element. A window index, such as r in x[2*i + r],
is never innermost: its loop is short.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import prod

from ...domain import Facts
from ...expr import Apply, Const, Expr, Index, Ref, indices, preorder, refs
from ...expr.sizes import equal
from ...ir import Equation, Tensor
from ...ops import OPS
from .integers import fresh_index, stride
from .rematerialize import HANDFUL

LANES = 8  # doubles in the widest registers: fewer turns than that are no faster side by side
WRITTEN_OUT = 64  # operations that a compiler writes one after the other, with their loads: 200 instructions in GCC
_KEPT = {"max": 4, "min": 4}  # operations that keep the better one of two, and a NaN


def pattern_of(e: Equation, tensor: Tensor) -> tuple[Expr | None, ...] | None:
    """Per axis, the literal at which `e` writes, or None where a plain index runs over all of it; None if neither."""
    pattern: list[Expr | None] = []
    extents = dict(e.box)
    seen: set[Expr] = set()
    for s, size in zip(e.subscripts, tensor.shape, strict=True):
        if isinstance(s, Const):
            pattern.append(s)
        elif isinstance(s, Index) and s not in seen and equal(extents[s], size):
            seen.add(s)
            pattern.append(None)
        else:
            return None
    return tuple(pattern)


def leads(e: Equation, tensor: Tensor, axis: int) -> bool:
    """Whether an index of its own runs over all of that axis of the target."""
    s = e.subscripts[axis]
    others = (*e.subscripts[:axis], *e.subscripts[axis + 1 :])
    return isinstance(s, Index) and s not in indices(*others) and equal(dict(e.box)[s], tensor.shape[axis])


def aligned(e: Equation, first: Equation, names: Collection[str], axes: int | None = None) -> Equation:
    """`e` with its target's indices named as in `first`, and its others not as anything in `names`."""
    pairs = list(zip(e.subscripts, first.subscripts, strict=True))[:axes]
    renamed: dict[Expr, Expr] = {a: b for a, b in pairs if isinstance(a, Index) and isinstance(b, Index)}
    taken = {*names, *(i.name for i, _ in (*e.box, *first.box))}
    for i, _ in e.box:
        if i not in renamed and i in renamed.values():
            renamed[i] = fresh_index(taken)
    return e.at(renamed) if any(a is not b for a, b in renamed.items()) else e


def innermost(e: Equation) -> Index | None:
    """The index along which most accesses are sequential; of equals a reduced one, then the last."""
    accesses, short = _accesses(e), windows(e)
    candidates = [i for i, _ in e.box if i not in short] or [i for i, _ in e.box]
    reduced = {i for i, _ in e.reduced}
    ranked = sorted(
        enumerate(candidates), key=lambda c: (sum(stride(a, c[1]) for a in accesses if a), c[1] in reduced, c[0])
    )
    return ranked[-1][1] if ranked else None


def written_out(e: Equation, box: Sequence[tuple[Index, Expr]]) -> bool:
    """Whether a compiler has no loops over the indices `box` of `e`: so few are their turns, as many wherever `e` is
    evaluated, and so little is done in each. They are innermost then, and vectors are of the elements around them."""
    extents = [extent.value for _, extent in box if isinstance(extent, Const)]
    if not box or len(extents) < len(box) or e.where is not None or max(extents) >= LANES:
        return False
    computed = preorder([e.body], lambda n: () if isinstance(n, Ref) else n.args)
    operations = sum(OPS[n.op].cost for n in computed if isinstance(n, Apply))
    turns = prod(extents)
    return operations <= HANDFUL and turns * (operations + _KEPT.get(e.reduce, 1)) <= WRITTEN_OUT


def inner_loops(e: Equation, facts: Facts) -> list[Index]:
    """The indices of the innermost loops, the last one innermost: what `innermost` says, inside of the indices of the
    target that alone can take a condition into their limits, such as i in s*i + d*r < n where d may have any sign."""
    inner = innermost(e)
    domain = e.domain(facts)
    limited = {
        i
        for a in domain.affine
        if any(domain.facts.sign(a.form.split(r)[0]) is None for r, _ in e.box if r in a.form.symbols)
        for i in a.uses
        if domain.facts.sign(a.form.split(i)[0])
    }
    found = [i for i, _ in e.box if i in limited and i is not inner and any(i in indices(s) for s in e.subscripts)]
    return [*found, *([] if inner is None else [inner])]


def windows(e: Equation) -> set[Index]:
    """The indices that stand beside another one in a subscript and run over less: over a number, or over a size (a
    kernel's), where that other one runs over what is left (the positions of the kernel)."""
    longer = {i: isinstance(extent, Apply) - isinstance(extent, Const) for i, extent in e.box}
    found: set[Index] = set()
    for subscripts in _accesses(e):
        for s in subscripts:
            placed = any(r.subscripts for r in refs(s))  # by data: beside nothing
            inside = [] if placed else [i for i in indices(s) if i in longer]
            found |= {i for i in inside if longer[i] < max(longer[j] for j in inside)}
    return found


def _accesses(e: Equation) -> list[tuple[Expr, ...]]:
    return [e.subscripts, *(r.subscripts for r in refs(e.body) if r.subscripts)]
