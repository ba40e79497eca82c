"""Reductions: what one is over an index that its body does not mention, and what its result is called."""

from __future__ import annotations

from collections.abc import Collection

from ..expr import ONE, Apply, Expr, Ref, apply, factors, is_exact, product, refs
from ..expr.sizes import count
from .ranges import EXTENT


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
    if kind == "logsumexp":  # of nothing: undefined, and no reason to take the logarithm of 0
        return body + apply("log", extent if is_exact(extent) else apply("maximum", extent, ONE))
    return body


def reduction_name(kind: str, body: Expr, reader: str | None = None) -> str:
    """Words for a reduction: `sum_x` when one tensor is reduced, else `total`, `largest`, ..."""
    names = list(dict.fromkeys(r.name for r in refs(body) if r.subscripts and r.name != EXTENT))
    if isinstance(body, Ref) or len(names) == 1:
        return f"{kind}_{body.name if isinstance(body, Ref) else names[0]}"
    words = {"sum": "total", "max": "largest", "min": "smallest", "prod": "product", "argmax": "position"}
    return words.get(kind, kind) if reader is None else f"{words.get(kind, kind)}_{reader}"
