"""Names for long subscripts, as people write them: `row = stride*i + dilation*r - padding`, computed in the loop where
the last index of it is known."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from itertools import count

from ...domain import Facts
from ...expr import ZERO, Expr, Index, Ref, apply, conjunction, indices, ref, refs, size, transformer
from ...expr.polynomials import Polynomial, polynomial
from ...ir import unconditional
from ...records import replace
from .contract import Parts, begin, parts_of
from .data import (
    Block,
    Call,
    Contraction,
    If,
    Local,
    Loop,
    Node,
    Note,
    Rewriter,
    expressions,
    stores,
    walk,
    with_inner,
)
from .dependence import changed

WORDS = ("column", "row", "plane")  # what a place along the last axis is called, along the one before, ...
READABLE = 3  # sizes, options and indices in a subscript that is read where it stands; of data, fewer operations


def named_places(block: Block, facts: Facts) -> Block:
    """`block` with a scalar for each long subscript; the notes speak of it by the same name.

    A contraction stands under a condition where it may have no turn, and its first elements may then be nowhere.
    """
    return _Places(facts).block(block, (), frozenset())


class _Places:
    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._serial = count(1)

    def block(self, block: Block, around: tuple[Index, ...], words: frozenset[str]) -> Block:
        """`block` in loops over the indices `around`, in which the `words` have a meaning."""
        done = tuple(new for n in block for new in self._node(n, around, words))
        return tuple(_told(n, done[k + 1 :]) if isinstance(n, Note) else n for k, n in enumerate(done))

    def _node(self, node: Node, around: tuple[Index, ...], words: frozenset[str]) -> Block:
        if isinstance(node, Loop):
            return (self._loop(node, around, words),)
        if isinstance(node, Contraction) and (parts := parts_of(node)) is not None:
            return self._contraction(node, parts, words)
        return (with_inner(node, partial(self.block, around=around, words=words)),)

    def _contraction(self, node: Contraction, parts: Parts, words: frozenset[str]) -> Block:
        """A contraction with names for the first places along its axes, where they are long."""
        names: dict[Expr, Local] = {}
        moved: dict[Expr, Expr] = {}
        asked = [loop for loop in parts.loops if loop.lower is not ZERO]
        for r in (parts.left, parts.right, parts.element):
            for axis, s in enumerate(reversed(r.subscripts)):
                first = begin(s, parts.loops)
                if first is None:
                    continue
                if not self._certain(first):
                    asked += [loop for loop in parts.loops if _speaks_of(loop, s)]
                form = polynomial(s)
                if form is None or s in moved or not _is_long(s):
                    continue
                word = _word(r, axis, words)
                words |= {word}
                names[s] = self._local(word, first.expression())
                moved[s] = ref(names[s].name) + (form - first).expression()
        new = Rewriter(transformer(lambda n: _moved(n, moved))).node(node) if moved else node
        turns = [
            apply("gt", n.extent, ZERO) if n.lower is ZERO else apply("lt", n.lower, n.extent) for n in parts.loops
        ]
        needed = [turn for loop, turn in zip(parts.loops, turns, strict=True) if loop in asked]
        block = (*names.values(), new)
        return (If(conjunction(needed), block),) if needed else block

    def _certain(self, first: Polynomial) -> bool:
        """Whether a place is one even where no loop has a turn."""
        inner = {(s, 0) for s in first.symbols if isinstance(s, Index) or isinstance(s, Ref) and "@place" in s.name}
        return self._facts.raised(frozenset(inner)).nonnegative(first)

    def _loop(self, loop: Loop, around: tuple[Index, ...], words: frozenset[str]) -> Loop:
        around = (*around, loop.index)
        body, words = self._named(loop.body, loop.index, around, words)
        return replace(loop, body=self.block(body, around, words))

    def _named(
        self, body: Block, last: Index, around: tuple[Index, ...], words: frozenset[str]
    ) -> tuple[Block, frozenset[str]]:
        """The body of the loop over `last` with names for the places that are known there; inside of a condition that
        all of it stands under, without which they may be none."""
        head = next((k for k, n in enumerate(body) if not isinstance(n, Note)), 0)
        match body[head:]:
            case (If(otherwise=()) as only,):
                inner, words = self._named(only.body, last, around, words)
                return (*body[:head], replace(only, body=inner)), words
        names: dict[Expr, Local] = {}
        plain = [n for n in body if not isinstance(n, Loop)]
        read = (r for r in unconditional(*(e for n in plain for e in expressions(n))) if isinstance(r, Ref))
        certain = {s for r in (*read, *(r for n in plain for r in stores(n))) for s in r.subscripts}
        written = changed(body)
        for r in _elements(body):
            for axis, s in enumerate(reversed(r.subscripts)):
                mine = last in indices(s) and set(indices(s)) <= set(around)
                given = s in certain and _is_computed(s) and written.isdisjoint(r.name for r in refs(s))
                if s in names or not mine or not (given or _is_long(s)):
                    continue
                word = _word(r, axis, words)
                words |= {word}
                names[s] = self._local(word, s)
        if names:
            places: dict[Expr, Expr] = {s: ref(n.name) for s, n in names.items()}
            body = Rewriter(transformer(lambda n: _moved(n, places))).block(body)
            body = (*body[:head], *names.values(), *body[head:])
        return body, words

    def _local(self, word: str, place: Expr) -> Local:
        return Local(f"{word}@place{next(self._serial)}", place, count=True)


def _speaks_of(loop: Loop, place: Expr) -> bool:
    """Whether a place is certain to be one only where the loop has a turn."""
    return loop.index in indices(place) or not {*refs(loop.extent)}.isdisjoint(refs(place))


def _moved(node: Expr, places: Mapping[Expr, Expr]) -> Expr:
    if not (isinstance(node, Ref) and any(s in places for s in node.subscripts)):
        return node
    return ref(node.name, *(places.get(s, s) for s in node.subscripts))


def _word(r: Ref, axis: int, words: Collection[str]) -> str:
    """What a place along that axis is called, the last one being 0."""
    word = WORDS[min(axis, len(WORDS) - 1)]
    return f"{r.name.split('~')[0].split('@')[0]}_{word}" if word in words else word


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


def _is_computed(s: Expr) -> bool:
    """Whether a subscript is hard to read where it stands, and computed from integers that are given."""
    elements = refs(s)
    return size(s) >= READABLE and any(r.subscripts for r in elements) and not any("#" in r.name for r in elements)


def _told(note: Note, after: Sequence[Node]) -> Note:
    """The note with the names that are given in what follows, up to the next note."""
    end = next((k for k, n in enumerate(after) if isinstance(n, Note)), len(after))
    named = {n.value: ref(n.name) for n in walk(tuple(after[:end])) if isinstance(n, Local) and "@place" in n.name}
    return replace(note, named=tuple(named.items()))
