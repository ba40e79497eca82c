"""Elements that are picked of a plane, one for each row: forward keeps those that backward reads.

    out = sum[i](a[t[i]]*(lse[i] - z[i,t[i]]))      z_t[i] = z[i,t[i]]
                                                    out = sum[i](a[t[i]]*(lse[i] - z_t[i]))
    grad_a[t[i]] += grad_out*(lse[i] - z[i,t[i]])   grad_a[t[i]] += grad_out*(lse[i] - z_t[i])

Where the rows of z are computed in chunks, the right side saves a number for each row and has the gradient of `a`
without them; the left side would wait for each row of z, computed again, and add up at places that are data from chunk
to chunk.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ..expr import Expr, Ref, ref, refs, substitute, transformer
from ..expr.names import Names
from ..ir import Box, Equation, Tensor, by_target, distinct
from ..records import replace


def with_picked(
    forward: Sequence[Equation],
    backward: Sequence[Equation],
    planes: Collection[str],
    axes: int,
    tensors: Mapping[str, Tensor],
    names: Names,
) -> tuple[list[Equation], list[Equation], list[Tensor]]:
    """Both, where elements have names that backward reads, one for each row, for what is no plane itself; and what has
    these names.

    planes  what forward computes for each row and column
    axes    how many tell a row
    """
    picks = _Picks(forward, backward, planes, axes)
    ahead, kept, put = [*forward], list[Tensor](), dict[Ref, Ref]()
    for r in dict.fromkeys(r for e in backward for r in picks.of(e).values()):
        readers = [e for e in (*forward, *backward) if r in picks.of(e).values()]
        when = tuple(pair for pair in readers[0].when if all(pair in e.when for e in readers))
        at, box = picks.rows(r.name)
        name = names.new("_".join([r.name, *(x.name for s in r.subscripts for x in refs(s))]), f"{r.name}_picked")
        kept.append(replace(tensors[r.name], name=name, shape=tuple(n for _, n in box)))
        put[r] = ref(name, *at)
        behind = 1 + max(k for k, e in enumerate(ahead) if e.target in {x.name for x in refs(r)})
        ahead.insert(behind, Equation(name, at, "none", r, box, None, when))

    def named(e: Equation) -> Equation:
        found: dict[Expr, Expr] = {}
        for r, one in picks.of(e).items():
            if one in put and put[one].name != e.target:
                at = dict(zip(put[one].subscripts, r.subscripts, strict=False))
                found[r] = substitute(put[one], at)
        return e.mapped(transformer(None, found)) if found else e

    return [*map(named, ahead)], [*map(named, backward)], kept


class _Picks:
    """The elements of planes that are read for rows."""

    def __init__(
        self, forward: Sequence[Equation], backward: Sequence[Equation], planes: Collection[str], axes: int
    ) -> None:
        self.planes = {n: es[0] for n, es in by_target(forward).items() if n in planes}
        self.wide = {*planes, *(e.target for e in backward if len(e.subscripts) > axes)}
        self.later = {e.target for e in backward}
        self.axes = axes

    def rows(self, plane: str) -> tuple[tuple[Expr, ...], Box]:
        """The indices of the rows of a plane, alone and with their extents."""
        e = self.planes[plane]
        at = e.subscripts[: self.axes]
        return at, tuple((i, n) for i in at for j, n in e.box if i is j)

    def of(self, e: Equation) -> dict[Ref, Ref]:
        """Those that an equation reads which is none of planes; each beside it as the rows of the plane call it."""
        found: dict[Ref, Ref] = {}
        for r in e.reads:
            if r.name not in self.planes or e.target in self.wide or len(e.box) != self.axes:
                continue
            at, extents = r.subscripts[: self.axes], dict[Expr, Expr](e.box)
            own, box = self.rows(r.name)
            known = self.later.isdisjoint(x.name for x in refs(*r.subscripts))
            if known and distinct(at) and {*at} == {*extents} and [extents[i] for i in at] == [n for _, n in box]:
                one = substitute(r, dict(zip(at, own, strict=True)))
                assert isinstance(one, Ref)
                found[r] = one
        return found
