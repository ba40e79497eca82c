"""Lines of at most 88 columns, cut where a reader would."""

from __future__ import annotations

from collections.abc import Sequence

LIMIT = 88


def broken(text: str, indent: int, limit: int = LIMIT) -> list[str]:
    """A statement as lines of at most `limit` columns, cut before operators, outside of parentheses if it can be."""
    lines: list[str] = []
    pad = indent
    while len(text) + pad > limit:
        cut = _cut(text, limit - pad)
        if cut is None:
            break
        lines.append(" " * pad + text[:cut])
        text = text[cut + 1 :]
        pad = indent + 4
    return [*lines, " " * pad + text]


def _cut(text: str, room: int) -> int | None:
    """The place of the space at which to break: the least nested, the last of those."""
    depth, best, found = 0, 0, None
    for place, letter in enumerate(text[: room + 1]):
        depth += letter in "([{"
        depth -= letter in ")]}"
        if letter != " " or place < 8:
            continue
        before, after = text[:place], text[place + 1 :]
        word = after.split(" ", 1)[0]
        if word in _BREAKS:
            rank = 4 * depth + (word in ("*", "/", "%", ":"))
        elif before.endswith((",", ";", "=")):
            rank = 4 * depth + 2
        else:
            continue
        if found is None or rank <= best:
            best, found = rank, place
    return found


_BREAKS = frozenset(["+", "-", "*", "/", "%", "?", ":", "<", ">", "<=", ">=", "==", "!=", "&&", "||"])


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
