"""What OpenMP has threads share, as far as `symgrad.backends.c_threads` writes it; the rest is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pycparser import c_ast

from .text import Fault

KINDS = {
    "turns": re.compile(r"omp parallel for if \(.*\)|omp parallel for simd if \(parallel: .*\)"),
    "rows": re.compile(r"omp parallel if \(.*\)"),
    "columns": re.compile(r"omp for (simd )?schedule\(static\) nowait"),
}


def of_threads(pragma: Any) -> str:
    """What a pragma says of threads; nothing of another one."""
    said = " ".join(pragma.string.split())
    return next((kind for kind, words in KINDS.items() if words.fullmatch(said)), "")


def refuse(pragma: Any, node: Any, kind: str) -> None:
    """Raise Fault where what follows a pragma is not what it may stand before: a variable from outside is assigned,
    a turn leaves the loop, or threads share a loop in which they already share one."""
    place = f"line {pragma.coord.line}: #pragma {pragma.string}"
    if not isinstance(node, c_ast.For):
        raise Fault(f"{place} stands before no loop")
    inside = [*walk(node.stmt)]
    if any(isinstance(n, (c_ast.Return, c_ast.Break, c_ast.Goto)) for n in inside):
        raise Fault(f"{place}: a turn leaves the loop")
    kinds = [of_threads(n) for n in inside if isinstance(n, c_ast.Pragma)]
    expected = ["columns"] if kind == "rows" else []
    if [k for k in kinds if k] != expected:
        raise Fault(f"{place}: inside of it stands {kinds}, expected {expected}")
    own = {n.name for n in inside if isinstance(n, c_ast.Decl)}
    if kind == "rows":
        _refuse_rows(place, node, own)
    for n in inside:
        target = n.lvalue if isinstance(n, c_ast.Assignment) else None
        if isinstance(target, c_ast.ID) and target.name not in own:
            raise Fault(f"{place}: {target.name} is of all threads, and assigned")


def _refuse_rows(place: str, node: Any, own: set[str]) -> None:
    """All threads do what stands beside the loop that they share: it must be the same in each turn, for their shares to
    be so, and nothing beside it but declarations."""
    shared = None
    for before, item in zip([None, *node.stmt.block_items], node.stmt.block_items, strict=False):
        if isinstance(before, c_ast.Pragma) and of_threads(before):
            shared = item
        elif not isinstance(item, (c_ast.Decl, c_ast.Pragma)):
            raise Fault(f"{place}: every thread does what stands in line {item.coord.line}")
    limits = [] if shared is None else [*walk(shared.init), *walk(shared.cond)]
    counted = {d.name for n in (node.init, shared and shared.init) if n is not None for d in n.decls}
    told = {n.name for n in limits if isinstance(n, c_ast.ID)} - {d.name for d in (shared.init.decls if shared else ())}
    if shared is None or told & (own | counted):
        raise Fault(f"{place}: what threads share is another loop in each turn")


def walk(node: Any) -> Iterator[Any]:
    """Every node below `node`, by a loop."""
    stack = [node]
    while stack:
        item = stack.pop()
        yield item
        stack.extend(child for _, child in item.children())
