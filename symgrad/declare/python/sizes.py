"""Sizes as people write them in strings: `n-1`, `2*h`, `(h + 2*p - r)//stride + 1`, and lists of them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...errors import DeclarationError
from ...expr import Expr, apply, const, ref

_TOKEN = re.compile(r"\s*(\d+|[A-Za-z_]\w*|//|[-+*%()])", re.ASCII)
_LONGEST = 200


def read_size(text: str) -> Expr:
    """Return an integer expression of names, integers and + - * // %.

    A name becomes a Ref without subscripts; which names are known is checked where the size is used.
    """
    if len(text) > _LONGEST:
        raise DeclarationError(f"a size of {len(text)} characters; it may have {_LONGEST}.")
    tokens: list[str] = []
    place = 0
    while place < len(text.rstrip()):
        found = _TOKEN.match(text, place)
        if found is None:
            raise DeclarationError(f"the size {text!r} has {text[place:].strip()[:1]!r}, which is no part of a size.")
        tokens.append(found[1])
        place = found.end()
    tokens.append("")
    result, rest = _sum(text, tokens, 0)
    if tokens[rest]:
        raise DeclarationError(f"the size {text!r} cannot be read at {tokens[rest]!r}.")
    return result


def _sum(text: str, tokens: Sequence[str], at: int) -> tuple[Expr, int]:
    left, at = _product(text, tokens, at)
    while tokens[at] in ("+", "-"):
        sign = tokens[at]
        right, at = _product(text, tokens, at + 1)
        left = left + right if sign == "+" else left - right
    return left, at


def _product(text: str, tokens: Sequence[str], at: int) -> tuple[Expr, int]:
    left, at = _factor(text, tokens, at)
    while tokens[at] in ("*", "//", "%"):
        op = {"*": "mul", "//": "floordiv", "%": "mod"}[tokens[at]]
        right, at = _factor(text, tokens, at + 1)
        left = apply(op, left, right)
    return left, at


def _factor(text: str, tokens: Sequence[str], at: int) -> tuple[Expr, int]:
    token = tokens[at]
    if token == "-":
        inner, at = _factor(text, tokens, at + 1)
        return -inner, at
    if token == "(":
        inner, at = _sum(text, tokens, at + 1)
        if tokens[at] != ")":
            raise DeclarationError(f"the size {text!r} has a parenthesis that is not closed.")
        return inner, at + 1
    if token.isdigit():
        return const(int(token)), at + 1
    if token and (token[0].isalpha() or token[0] == "_"):
        return ref(token), at + 1
    raise DeclarationError(
        f"the size {text!r} lacks a name or a number {f'before {token!r}' if token else 'at its end'}."
    )


def split_sizes(text: str) -> tuple[str, ...]:
    """Split `n o 2*h (h - 1)//2` at spaces and commas outside of parentheses."""
    parts = [""]
    depth = 0
    for character in text:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth == 0 and (character.isspace() or character == ","):
            parts.append("")
        else:
            parts[-1] += character
    return tuple(p for p in parts if p)
