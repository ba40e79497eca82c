"""Names for long subscripts, as people write them: `row = stride*i + dilation*r - padding`, computed in the loop where
the last index of it is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count

from ...expr import Expr, Index, Ref, indices, ref, refs
from ...expr.polynomials import polynomial
from .data import Block, Call, Local, Loop, Node, Note, Rewriter, blocks, expressions, stores, walk, with_blocks

WORDS = ("column", "row", "plane")  # what a place along the last axis is called, along the one before, ...
READABLE = 3  # sizes, options and indices in a subscript that is read where it stands


def named_places(block: Block) -> Block:
    """`block` with a scalar for each long subscript; the notes speak of it by the same name."""
    return _Places().block(block, (), frozenset())


class _Places:
    def __init__(self) -> None:
        self._serial = count(1)

    def block(self, block: Block, around: tuple[Index, ...], words: frozenset[str]) -> Block:
        """`block` in loops over the indices `around`, in which the `words` have a meaning."""
        done = tuple(self._loop(n, around, words) if isinstance(n, Loop) else
                     with_blocks(n, tuple(self.block(b, around, words) for b in blocks(n))) for n in block)  # fmt: skip
        return tuple(_told(n, done[k + 1 :]) if isinstance(n, Note) else n for k, n in enumerate(done))

    def _loop(self, loop: Loop, around: tuple[Index, ...], words: frozenset[str]) -> Loop:
        around = (*around, loop.index)
        names: dict[Expr, Local] = {}
        for r in _elements(loop.body):
            for axis, s in enumerate(reversed(r.subscripts)):
                mine = loop.index in indices(s) and set(indices(s)) <= set(around)
                if s in names or not mine or not _is_long(s):
                    continue
                word = WORDS[min(axis, len(WORDS) - 1)]
                word = f"{r.name.split('~')[0].split('@')[0]}_{word}" if word in words else word
                words |= {word}
                names[s] = Local(f"{word}@place{next(self._serial)}", s, count=True)
        body = loop.body
        if names:
            body = Rewriter(lambda n: _at(n, names)).block(body)
            head = next((k for k, n in enumerate(body) if not isinstance(n, Note)), 0)
            body = (*body[:head], *names.values(), *body[head:])
        return replace(loop, body=self.block(body, around, words))


def _at(node: Expr, names: dict[Expr, Local]) -> Expr:
    if not (isinstance(node, Ref) and any(s in names for s in node.subscripts)):
        return node
    return ref(node.name, *(ref(names[s].name) if s in names else s for s in node.subscripts))


def _elements(block: Block) -> list[Ref]:
    found: dict[Ref, None] = {}
    for node in walk(block):
        if not isinstance(node, Call):
            found.update(dict.fromkeys((*stores(node), *refs(*expressions(node)))))
    return [r for r in found if r.subscripts]


def _is_long(s: Expr) -> bool:
    """Whether a subscript is hard to read where it stands, and made of indices, sizes and options alone."""
    form = polynomial(s)
    return form is not None and len(form.symbols) > READABLE and not any(r.subscripts or "#" in r.name for r in refs(s))


def _told(note: Note, after: Sequence[Node]) -> Note:
    """The note with the names that are given in what follows, up to the next note."""
    end = next((k for k, n in enumerate(after) if isinstance(n, Note)), len(after))
    named = {n.value: ref(n.name) for n in walk(tuple(after[:end])) if isinstance(n, Local) and "@place" in n.name}
    return replace(note, named=tuple(named.items()))
