"""Lines of at most 88 columns, cut where a reader would."""

from __future__ import annotations

from collections.abc import Sequence

LIMIT = 88


def broken(text: str, indent: int, limit: int = LIMIT) -> list[str]:
    """A statement as lines of at most `limit` columns, cut before operators, outside of parentheses if it can be."""
    lines: list[str] = []
    pad = indent
    while len(text) + pad > limit:
        cut = _cut(text, limit - pad, limit - indent - 4)
        if cut is None:
            break
        lines.append(" " * pad + text[:cut].rstrip())
        text = text[cut + 1 :]
        pad = indent + 4
    return [*lines, " " * pad + text]


def _cut(text: str, room: int, later: int) -> int | None:
    """The place of the space at which to break: the least nested, the last of those; `later` is the room of the lines
    that follow."""
    depth, best, found = 0, 0, None
    for place, letter in enumerate(text[: room + 1]):
        depth += _OPENS.get(letter, 0)
        if letter != " " or place < 8:
            continue
        before, after = text[:place], text[place + 1 :]
        word = after.split(" ", 1)[0]
        if word in _BINDING:
            rank = 8 * depth + _BINDING[word]
        elif before.endswith("="):  # better than inside of brackets where the rest then fits
            rank = 8 * depth + (6 if len(after) <= later else 15)
        elif before.endswith((",", ";")):
            rank = 8 * depth
        else:
            continue
        if found is None or rank <= best:
            best, found = rank, place
    return found


_OPENS = {"(": 1, ")": -1, "{": 1, "}": -1, "[": 2, "]": -2}  # subscripts stay together where anything else can be cut
_BINDING = {  # what a line is cut before, the weakest first
    **dict.fromkeys(["where", "when"], 0),
    **dict.fromkeys(["&&", "||", "&", "|", "?"], 1),
    **dict.fromkeys(["<", ">", "<=", ">=", "==", "!="], 2),
    **dict.fromkeys(["+", "-"], 3),
    **dict.fromkeys(["*", "/", "%", "//", ":"], 4),
}


def filled(head: str, items: Sequence[str], tail: str, indent: int = 0) -> str:
    """`head` and the items behind it, broken between items, aligned under the first."""
    lines = [" " * indent + head]
    column = indent + len(head)
    for number, item in enumerate(items):
        text = item + (tail if number == len(items) - 1 else ",")
        if number and len(lines[-1]) + 1 + len(text) > LIMIT:
            lines.append(" " * column + text)
        else:
            lines[-1] += (" " if number else "") + text
    return "\n".join(lines if items else [f"{lines[0]}void{tail}"])
