"""Lines of at most 88 columns, cut where a reader would.

A statement is a sequence of pieces: text, and a `Cut` wherever the line may end. A cut says how weak the operator is
that stands there; cuts inside of brackets are stronger than all outside of them, and brackets of subscripts count
twice. The weakest one is taken, and the last of those that fit.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Union

from ..records import dataclass

LIMIT = 88
INDENT = 4
SHORTEST = 8  # columns that a line has at least before it is cut
_DEEPER = {"(": 1, ")": -1, "{": 1, "}": -1, "[": 2, "]": -2}  # subscripts stay together if anything else can be cut
_LEVELS = 8  # more than there are strengths of operators, two for one bracket


@dataclass(frozen=True, slots=True)
class Cut:
    """A space, at which a line may end: before an operator, the weaker the smaller `strength`; 0 is a comma's.

    whole     the strength where all that follows then fits into a line
    """

    strength: int
    whole: int | None = None


COMMA = Cut(0)
EQUALS = Cut(15, 6)  # better than inside of brackets if the rest then fits

Piece = Union[str, Cut]


def laid_out(pieces: Iterable[Piece], indent: int, limit: int = LIMIT) -> list[str]:
    """A statement as lines of at most `limit` columns; those that go on stand four columns further in."""
    pieces = [*pieces]
    text = "".join([piece if isinstance(piece, str) else " " for piece in pieces])
    if indent + len(text) <= limit:
        return [" " * indent + text]
    cuts = _cuts(pieces)
    lines: list[str] = []
    pad, start = indent, 0
    while len(text) - start + pad > limit:
        cuts = cuts[bisect_left(cuts, start, key=itemgetter(0)) :]
        place = _best(len(text), cuts, start, limit - pad, limit - indent - INDENT)
        if place is None:
            break
        lines.append(" " * pad + text[start:place].rstrip())
        start = place + 1
        pad = indent + INDENT
    return [*lines, " " * pad + text[start:]]


def _cuts(pieces: Iterable[Piece]) -> list[tuple[int, Cut, int]]:
    """Where the cuts are in the text on one line, and how deep in brackets."""
    cuts: list[tuple[int, Cut, int]] = []
    length = depth = 0
    for piece in pieces:
        if isinstance(piece, Cut):
            cuts += ((length, piece, depth),)
            length += 1
        else:
            depth += _deeper(piece)
            length += len(piece)
    return cuts


@lru_cache(maxsize=2**10)
def _deeper(text: str) -> int:
    """How much deeper in brackets what follows a text is than what is before it."""
    return sum(_DEEPER[b] * text.count(b) for b in _DEEPER)


def _best(length: int, cuts: Sequence[tuple[int, Cut, int]], start: int, room: int, later: int) -> int | None:
    """The cut to take of a line that starts at `start` and has `room` columns; the lines after it have `later`."""
    best, found = 0, None
    for place, cut, depth in cuts:
        if place > start + room:
            break
        if place - start < SHORTEST:
            continue
        fits = cut.whole is not None and length - place - 1 <= later
        strength = cut.whole if fits and cut.whole is not None else cut.strength
        rank = _LEVELS * depth + strength
        if found is None or rank <= best:
            best, found = rank, place
    return found


def cut_text(text: str, indent: int, limit: int = LIMIT) -> list[str]:
    """A formula or a sentence, whose operators are words: the same, of what has no tree."""
    return laid_out([text] if indent + len(text) <= limit else _words(text), indent, limit)


def _words(text: str) -> list[Piece]:
    """The words of a text; between two of them a cut where a line may end, else a space."""
    first, *words = text.split(" ")
    pieces: list[Piece] = [first]
    before = first
    for word in words:
        if word in _CUTS:
            pieces.append(_CUTS[word])
        elif before.endswith("="):
            pieces.append(EQUALS)
        else:
            pieces.append(COMMA if before.endswith((",", ";")) else " ")
        pieces.append(word)
        before = word
    return pieces


_CUTS = {
    **dict.fromkeys(["where", "when"], Cut(0)),
    **dict.fromkeys(["&&", "||", "&", "|", "and", "or", "?"], Cut(1)),
    **dict.fromkeys(["<", ">", "<=", ">=", "==", "!="], Cut(2)),
    **dict.fromkeys(["+", "-"], Cut(3)),
    **dict.fromkeys(["*", "/", "%", "//", ":"], Cut(4)),
}


def aligned(head: str, items: Sequence[str], tail: str, indent: int = 0) -> list[str]:
    """`head` and the items behind it, broken between items, aligned under the first; below the head where one of them
    has no room there."""
    lines = [" " * indent + head]
    column = indent + len(head)
    below = any(column + len(item) + len(tail) > LIMIT for item in items)
    if below:
        column = indent + 2 * INDENT
    for number, item in enumerate(items):
        text = item + (tail if number == len(items) - 1 else ",")
        if (below and not number) or number and len(lines[-1]) + 1 + len(text) > LIMIT:
            lines.append(" " * column + text)
        else:
            lines[-1] += (" " if number else "") + text
    return lines if items else [f"{lines[0]}{tail}"]


def listed(words: Sequence[str]) -> str:
    """The words with commas, and `and` before the last."""
    return " and ".join([*([", ".join(words[:-1])] if len(words) > 1 else []), words[-1]])


def filled(words: Iterable[str], room: int) -> list[str]:
    """Words in lines, as many in each as there is room for."""
    lines = [""]
    for word in words:
        longer = f"{lines[-1]} {word}".lstrip()
        if len(longer) > room:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines
