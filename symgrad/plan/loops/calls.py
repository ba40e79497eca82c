"""Several results of one function of matrices are one call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from .data import Block, Call, Node, Note, blocks, with_blocks
from .dependence import accesses


def merged_calls(block: Block, memory: Mapping[str, str]) -> Block:
    """`block` with calls of one function, of the same operands, as one where nothing is in the way.

    memory  tensor -> the tensor in whose memory it will stand
    """
    done: list[Node] = []
    for node in block:
        place = _earlier(done, node, memory) if isinstance(node, Call) else None
        if place is None:
            done.append(with_blocks(node, tuple(merged_calls(inner, memory) for inner in blocks(node))))
            continue
        first = done[place]
        assert isinstance(node, Call) and isinstance(first, Call)
        results = tuple(a if a is not None else b for a, b in zip(first.results, node.results, strict=True))
        done[place] = replace(first, results=results)
        begin = len(done)
        while isinstance(done[begin - 1], Note):
            begin -= 1
        notes, done[begin:] = done[begin:], []
        done[place:place] = notes
    return tuple(done)


def _earlier(done: list[Node], call: Call, memory: Mapping[str, str]) -> int | None:
    """The place of a call that may give the results of this one too: nothing since then touches what it writes, nor
    writes what it reads."""
    mine = {memory.get(r.name, r.name) for r in call.results if r is not None}
    operands = {memory.get(r.name, r.name) for r in call.operands}
    for place in range(len(done) - 1, -1, -1):
        node = done[place]
        same = isinstance(node, Call) and (node.function, node.sizes, node.operands) == (
            call.function, call.sizes, call.operands,
        )  # fmt: skip
        if same and isinstance(node, Call):
            free = all(a is None or b is None for a, b in zip(node.results, call.results, strict=True))
            return place if free else None
        theirs = accesses((node,), memory)
        if mine & theirs.keys() or any(name in operands and written for name, (_, written) in theirs.items()):
            return None
    return None
