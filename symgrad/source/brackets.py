"""Lines of Python of at most 88 columns: broken in brackets, before the weakest operators.

A line is a sequence of pieces, which the printer gives out of the tree: where brackets open and close, where operators,
commas and the dots of methods stand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .layout import LIMIT

HUGGED = 40  # what may stand before the bracket in which a long line is broken
OPEN, CLOSE, COMMA, INFIX, DOT = "open", "close", "comma", "infix", "dot"
TIGHT = 6  # the strength of * and /; that of sums and all others is less


class Piece(NamedTuple):
    """Text, and what a line may do there: an operator is the weaker the smaller its `strength`."""

    text: str
    kind: str = ""
    strength: int = 0


Pieces = Sequence[Piece]


def flat(pieces: Pieces) -> str:
    """All of it on one line."""
    return "".join([piece.text for piece in pieces])


def width(pieces: Pieces) -> int:
    """How many columns that takes."""
    return len(flat(pieces))


def assigned(target: Pieces, value: Pieces, indent: int, sign: str = "=") -> list[str]:
    """`target = value` in lines that are broken where they are too long; `sign` may be += or -=."""
    head = f"{flat(target)} {sign} "
    if len(head) + width(value) + indent <= LIMIT:
        return [head + flat(value)]
    if len(head) + 1 + indent > LIMIT:
        groups = _groups(target)
        start = groups[0][0] + 1 if groups else 0
        if not groups or groups[-1][1] != len(target) - 1 or width(target[:start]) + indent > LIMIT:
            return ["(", *_members(target, indent + 4), *assigned([Piece(")")], value, indent, sign)]
        first = [flat(target[:start]), *_inside(target[start:-1], indent + 4)]
        return [*first, *assigned(target[-1:], value, indent, sign)]
    opening = _last_opening(value)
    if opening is not None and width(value[:opening]) <= min(HUGGED, LIMIT - indent - len(head) - 1):
        return [head + flat(value[: opening + 1]), *_inside(value[opening + 1 : -1], indent + 4), value[-1].text]
    groups = _groups(value)
    if len(groups) == 2 and value[0].kind != OPEN and not _cuts(value) and groups[1][1] == len(value) - 1:
        (start, end), (behind, _) = groups  # a call, and a short method of what it gives
        if end - start > len(value) - behind and width(value[: start + 1]) + len(head) + indent <= LIMIT:
            return [head + flat(value[: start + 1]), *_inside(value[start + 1 : end], indent + 4), flat(value[end:])]
    closing = groups[0][1] if groups and value[0].kind == OPEN and not _cuts(value) else 0
    if closing and width(value[1:closing]) >= width(value[closing:]) <= LIMIT - indent:  # and a method of all of it
        return [f"{head}(", *_inside(value[1:closing], indent + 4), flat(value[closing:])]
    return [f"{head}(", *_inside(value, indent + 4), ")"]


def returned(value: Pieces, indent: int, call: Pieces = ()) -> list[str]:
    """`return value`; a long value is broken in its last brackets, or stands in brackets.

    call  the call that it is, or is an element of: its arguments share a line where there is room, as the members of a
          tuple do not
    """
    if width(value) + 7 + indent <= LIMIT:
        return [f"return {flat(value)}"]
    groups, end = _groups(call or value), len(call or value) - 1
    if groups and groups[-1][1] == end and width(value[: groups[-1][0]]) + 8 + indent <= LIMIT:
        opening = groups[-1][0] + 1
        broken = _inside if call else _members
        return [f"return {flat(value[:opening])}", *broken(value[opening:end], indent + 4), flat(value[end:])]
    return ["return (", *_members(value, indent + 4), ")"]


def headed(word: str, condition: Pieces, indent: int) -> list[str]:
    """`if condition:`, cut before its `or` and `and`."""
    if len(word) + width(condition) + 2 + indent <= LIMIT:
        return [f"{word} {flat(condition)}:"]
    return [f"{word} (", *_piece(condition, indent + 4), "):"]


def called(value: Pieces, indent: int) -> list[str]:
    """A call as a statement."""
    if width(value) + indent <= LIMIT or not any(p.kind == OPEN for p in value):
        return [flat(value)]
    groups = _groups(value)
    last = groups[-1] if groups[-1][1] == len(value) - 1 and value[groups[0][0]].text == "[" else groups[0]
    opening = last[0] + 1  # of an element that is called, the brackets behind it
    return [flat(value[:opening]), *_inside(value[opening:-1], indent + 4), value[-1].text]


def defined(head: str, parameters: Sequence[Pieces], indent: int) -> list[str]:
    """`def head(parameters):` on one line; these on the next one, or one on each line."""
    parts = [flat(p) for p in parameters]
    line = f"{head}({', '.join(parts)}):"
    if len(line) + indent <= LIMIT:
        return [line]
    inner = f"    {', '.join(parts)}"
    return [f"{head}(", *([inner] if len(inner) + indent <= LIMIT else [f"    {p}," for p in parts]), "):"]


def _members(pieces: Pieces, indent: int) -> list[str]:
    """The members of a tuple, one a line; what is no tuple gets no comma, which would make it one."""
    arguments = _arguments(pieces)
    comma = "," if len(arguments) > 1 or pieces[-1].kind == COMMA else ""
    return [line for a in arguments for line in _piece(a, indent, comma)]


def _inside(pieces: Pieces, indent: int) -> list[str]:
    """What stands in brackets, on lines of its own, each four columns in."""
    if width(pieces) + indent <= LIMIT:
        return [f"    {flat(pieces)}"]
    return _members(pieces, indent)


def _piece(pieces: Pieces, indent: int, comma: str = "") -> list[str]:
    """One argument or operand: cut before its weakest operators, else broken in its longest brackets."""
    if width(pieces) + len(comma) + indent <= LIMIT:
        return [f"    {flat(pieces)}{comma}"]
    opening = _last_opening(pieces)
    if opening is not None and width(pieces[:opening]) < LIMIT - indent:
        return _broken(pieces, opening, len(pieces) - 1, indent, comma)
    parts = _cut(pieces, _cuts(pieces)) or _cut(pieces, _links(pieces))
    if parts:
        *before, last = parts
        return [*(line for part in before for line in _piece(part, indent)), *_piece(last, indent, comma)]
    opening, closing = max(_groups(pieces), key=lambda g: width(pieces[g[0] : g[1]]), default=(0, 0))
    if width(pieces[opening:closing]) < 2:
        return [f"    {flat(pieces)}{comma}"]
    return _broken(pieces, opening, closing, indent, comma)


def _broken(pieces: Pieces, opening: int, closing: int, indent: int, comma: str) -> list[str]:
    """Broken in brackets."""
    deeper = _inside(pieces[opening + 1 : closing], indent + 4)
    lines = [flat(pieces[: opening + 1]), *deeper, flat(pieces[closing:]) + comma]
    return [f"    {line}" for line in lines]


def _outer(pieces: Pieces) -> Iterator[tuple[int, Piece]]:
    """What is in no brackets, and the outermost brackets themselves."""
    depth = 0
    for k, piece in enumerate(pieces):
        depth -= piece.kind == CLOSE
        if not depth:
            yield k, piece
        depth += piece.kind == OPEN


def _last_opening(pieces: Pieces) -> int | None:
    """Where the brackets open that close at the end, if they hold most of it and no sum stands before them."""
    groups = _groups(pieces)
    if not groups or groups[-1][1] != len(pieces) - 1:
        return None
    if groups[-1] != max(groups, key=lambda g: width(pieces[g[0] : g[1]])):
        return None
    cuts = _cuts(pieces)
    return groups[-1][0] if not cuts or pieces[cuts[0]].strength == TIGHT else None


def _groups(pieces: Pieces) -> list[tuple[int, int]]:
    """Where the outermost brackets open and close."""
    places = [k for k, piece in _outer(pieces) if piece.kind in (OPEN, CLOSE)]
    return list(zip(places[::2], places[1::2], strict=True))


def _cuts(pieces: Pieces) -> list[int]:
    """Where the weakest operators outside of brackets stand."""
    found = [(k, piece.strength) for k, piece in _outer(pieces) if piece.kind == INFIX]
    weakest = min((strength for _, strength in found), default=0)
    return [k for k, strength in found if strength == weakest]


def _links(pieces: Pieces) -> list[int]:
    """Where the methods of a chain stand, if there are two: what it starts with stays with the first bracket."""
    cuts = [k for k, piece in _outer(pieces) if piece.kind == DOT and k and pieces[k - 1].kind == CLOSE]
    return cuts if len(cuts) > 1 else []


def _cut(pieces: Pieces, cuts: Sequence[int]) -> list[Pieces]:
    """The parts between cuts; each begins with the operator."""
    if not cuts:
        return []
    ends = [*cuts, len(pieces)]
    parts = [pieces[a:b] for a, b in zip(cuts, ends[1:], strict=True)]
    return [pieces[: cuts[0]], *([Piece(part[0].text.lstrip()), *part[1:]] for part in parts)]


def _arguments(pieces: Pieces) -> list[Pieces]:
    """What stands between commas."""
    commas = [k for k, piece in _outer(pieces) if piece.kind == COMMA]
    starts = [0, *(k + 1 for k in commas)]
    found = [pieces[a:b] for a, b in zip(starts, [*commas, len(pieces)], strict=True)]
    return [part for part in found if part]
