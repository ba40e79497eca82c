"""A scalar that has the value of an earlier one is that one.

Where several loops become one, each brings along what it computes from: z[b] = p[b,2] then stands there three times.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...expr import Expr, Ref, ref, refs
from .data import Block, Local, Node, Rewriter, blocks, stores, walk, with_blocks


def merge_equal(block: Block) -> Block:
    """`block`, a whole procedure, in which no value gets a second name where its first one is seen."""
    return _Merged(block).block(block, {})


class _Merged:
    def __init__(self, block: Block) -> None:
        found = [n for n in walk(block) if isinstance(n, Local)]
        self._changing = {r.name for n in walk(block) for r in stores(n)} | {n.name for n in found if n.changes}
        # names of ours, and not those that the user knows
        self._ours = {n.name for n in found if not n.changes and {*"@#"} & {*n.name}}
        self._same: dict[Expr, Expr] = {}
        self._rewrite = Rewriter(lambda node: self._same.get(node, node))
        self._elements: dict[Expr, Expr] = {}  # z, where it is p[b,2]
        self._spelled = Rewriter(lambda node: self._elements.get(node, node))

    def block(self, block: Block, outer: Mapping[Expr, Expr]) -> Block:
        known = dict(outer)
        done: list[Node] = []
        for node in block:
            if isinstance(node, Local):
                node = replace(node, value=self._rewrite(node.value))
                if node.name in self._ours and self._stays(node.value):
                    value, name = node.value, ref(node.name)
                    key = self._spelled(value).key
                    first = value if isinstance(value, Ref) and not value.subscripts else known.get(key)
                    if first is not None:
                        self._same[name] = first
                        continue
                    known[key] = name
                    if isinstance(value, Ref):
                        self._elements[name] = value
                done.append(node)
                continue
            inner = blocks(node)
            new = self._rewrite.node(with_blocks(node, tuple(() for _ in inner)))
            done.append(with_blocks(new, tuple(self.block(b, known) for b in inner)))
        return tuple(done)

    def _stays(self, value: Expr) -> bool:
        return self._changing.isdisjoint(r.name for r in refs(value))
