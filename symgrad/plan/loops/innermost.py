"""Which loops are innermost: last the one along which most accesses stay in place or move by one element.

A window index, such as r in x[2*i + r], is never innermost: its loop is short.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...domain import Facts
from ...expr import Apply, Expr, Index, indices, refs
from ...ir import Equation
from .integers import stride


def innermost(e: Equation) -> Index | None:
    """The index along which most accesses are sequential; of equals a reduced one, then the last."""
    accesses = [e.subscripts, *(r.subscripts for r in refs(e.body) if r.subscripts)]
    windows = _windows(e, accesses)
    candidates = [i for i, _ in e.box if i not in windows] or [i for i, _ in e.box]
    reduced = {i for i, _ in e.reduced}
    ranked = sorted(
        enumerate(candidates), key=lambda c: (sum(stride(a, c[1]) for a in accesses if a), c[1] in reduced, c[0])
    )
    return ranked[-1][1] if ranked else None


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


def _windows(e: Equation, accesses: Sequence[tuple[Expr, ...]]) -> set[Index]:
    """The indices that stand beside another one in a subscript and run over a size (a kernel's), where that other one
    runs over what is left (the positions of the kernel)."""
    extents = dict(e.box)
    found: set[Index] = set()
    for subscripts in accesses:
        for s in subscripts:
            inside = [i for i in indices(s) if i in extents]
            short = {i for i in inside if not isinstance(extents[i], Apply)}
            if short and len(short) < len(inside):
                found |= short
    return found
