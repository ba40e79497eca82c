"""Reductions: what one is over an index that its body does not mention, and what its result is called."""

from __future__ import annotations

from collections.abc import Collection

from ..expr import ONE, Apply, Expr, Ref, apply, component_name, factors, product, refs
from ..expr.sizes import count
from ..ops.naming import product_phrase
from .ranges import EXTENT

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
