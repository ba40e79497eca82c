"""The axes of hoisted reductions, in the order in which their readers want them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from ..expr import Expr, Ref, indices, ref, refs, transform
from .ranges import Pending


def axes_as_read(equations: Sequence[Pending], hoisted: Collection[str]) -> list[Pending]:
    """The equations, with the axes of each hoisted tensor as the first equation that reads it shows its indices.

    `h[t,j] = tanh(sum[k](w[j,k]*x[t,k]))` sums into `total[t,j]`, and not into `total[j,t]`, though `w` comes first.
    """
    axes: dict[str, tuple[int, ...]] = {}  # tensor -> its axes in the new order

    def reordered(name: str, subscripts: Sequence[Expr]) -> tuple[Expr, ...]:
        return tuple(subscripts[a] for a in axes.get(name, range(len(subscripts))))

    for p in reversed(equations):  # a reader stands behind what it reads
        shown = indices(*reordered(p.target, p.subscripts))
        rank: dict[Expr, int] = {i: n for n, i in enumerate((*shown, *(i for i in p.order if i not in shown)))}
        for r in refs(p.body, *p.subscripts, p.where):
            if r.name in hoisted:
                wanted = [min((rank[i] for i in indices(s)), default=len(rank)) for s in r.subscripts]
                axes[r.name] = tuple(sorted(range(len(wanted)), key=wanted.__getitem__))

    def element(node: Expr) -> Expr:
        return ref(node.name, *reordered(node.name, node.subscripts)) if isinstance(node, Ref) else node

    return [
        replace(
            p,
            subscripts=tuple(transform(s, element) for s in reordered(p.target, p.subscripts)),
            body=transform(p.body, element),
            where=transform(p.where, element),
        )
        for p in equations
    ]
