"""Reductions: what one is over an index that its body does not mention; the name of its result, and the order of its
axes."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ..expr import ONE, Apply, Expr, Ref, apply, component_name, factors, indices, product, ref, refs, transform
from ..expr.sizes import count
from ..ops.naming import product_phrase
from ..records import replace
from .ranges import EXTENT, Pending

LONGEST = 24  # letters of a name that is made of two


def repeated(kind: str, body: Expr, extent: Expr, options: Collection[str]) -> Expr:
    """The reduction of `body` over an index that it does not mention."""
    if kind in ("sum", "none"):
        above, below = body.args if isinstance(body, Apply) and body.op == "div" else (body, ONE)
        divisors, _ = factors(below)
        if any(d is extent for d in divisors):  # a mean
            divisors.remove(extent)
            return above / product(divisors)
        return body * count(extent, options)
    if kind == "prod":
        return body ** count(extent, options)
    if kind == "logsumexp":  # of nothing: -oo, the logarithm of 0
        return body + apply("log", count(extent, options))
    return body


def reduction_names(kind: str, body: Expr) -> tuple[str, str]:
    """Words for a reduction, and those for a second one: `sum_x` and `sum_x_squared` when one tensor is reduced,
    `x_weight` for a sum of products of two, else `total` and `total_x`, `largest`, ..."""
    names = list(dict.fromkeys(component_name(r) for r in refs(body) if r.subscripts and r.name != EXTENT))
    if isinstance(body, Ref) or len(names) == 1:
        more = product_phrase(body)
        return f"{kind}_{component_name(body) if isinstance(body, Ref) else names[0]}", f"{kind}_{more}" if more else ""
    product_of_two = isinstance(body, Apply) and body.op == "mul" and all(isinstance(a, Ref) for a in body.args)
    if kind == "sum" and product_of_two and len(names) == 2 and len("_".join(names)) <= LONGEST:
        return "_".join(names), ""
    words = {"sum": "total", "max": "largest", "min": "smallest", "prod": "product", "argmax": "position"}
    word = words.get(kind, kind)
    return word, f"{word}_{names[-1]}" if names else ""


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
