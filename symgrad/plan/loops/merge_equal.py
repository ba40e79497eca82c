"""A scalar that has the value of an earlier one is that one.

Where several loops become one, each brings along what it computes from: z[b] = p[b,2] then stands there three times.
"""

from __future__ import annotations

from functools import partial

from ...expr import Expr, Index, Ref, postorder, ref, transformer
from ...records import replace
from .data import Block, Local, Loop, Node, Rewriter, stores, walk, with_inner
from .dependence import changed

_Known = dict[Expr, tuple[Ref, frozenset[str]]]  # value -> the scalar that has it, and all that the value is made of


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
        self._rewrite = Rewriter(transformer(lambda node: self._same.get(node, node)))
        self._elements: dict[Expr, Expr] = {}  # z, where it is p[b,2]
        self._read: set[str] = set()  # all that any value is made of
        self._spelled = transformer(lambda node: self._elements.get(node, node))

    def block(self, block: Block, outer: _Known) -> Block:
        known = dict(outer) if any(isinstance(n, Local) for n in block) else outer
        done: list[Node] = []
        for node in block:
            if isinstance(node, Local):
                value = self._rewrite.of(node.value) if self._same else node.value
                node = node if value is node.value else replace(node, value=value)
                known = self._lasting(known, node)
                if node.name in self._ours:
                    value, name = node.value, ref(node.name)
                    of = frozenset(n.name for n in postorder(value) if isinstance(n, (Ref, Index)))
                    constant = self._changing.isdisjoint(of)
                    key = self._spelled(value).key
                    if constant and isinstance(value, Ref) and not value.subscripts:
                        self._same[name] = value
                        continue
                    if key in known:
                        self._same[name] = known[key][0]
                        continue
                    known[key] = name, of
                    self._read |= of
                    if constant and isinstance(value, Ref):
                        self._elements[name] = value
                done.append(node)
                continue
            after = self._lasting(known, node)
            before = after if isinstance(node, Loop) else known  # a later turn finds what an earlier one has changed
            done.append(with_inner(self._rewrite.own(node) if self._same else node, partial(self.block, outer=before)))
            known = after
        return tuple(done)

    def _lasting(self, known: _Known, node: Node) -> _Known:
        """What is known of values of which `node` changes nothing."""
        names = changed((node,))
        if names.isdisjoint(self._read):
            return known
        return {key: found for key, found in known.items() if names.isdisjoint(found[1])}
