"""Sizes as people write them in strings: `n-1`, `2*h`, `(h + 2*p - r)//stride + 1`, and lists of them."""

from __future__ import annotations

from ...expr import Expr, const, ref
from ...ir import Dtype, dtype_of
from ..text.operators import SUM, Operators
from ..text.tokenizer import tokenize


class _Size(Operators):
    """Reads an integer expression of names, each a Ref without subscripts, and integers."""

    def operand(self) -> Expr:
        token = self.token
        if token.text == "(":
            self.next()
            with self.deeper():
                value = self.expression(SUM)
            self.expect(")", "at the end of the bracket")
            return value
        if token.kind != "name" and not token.text.isdigit():
            raise self.unexpected("a name or a whole number is missing")
        return ref(self.next().text) if token.kind == "name" else const(int(self.next().text))


def read_size(text: str) -> Expr:
    """Return the integer expression of names and integers; which names are known is checked where the size is used.

    Raises FormulaError for what is none.
    """
    reader = _Size(tokenize(text))
    value = reader.expression(SUM)
    if reader.token.kind != "end":
        raise reader.unexpected("an operator is missing")
    if dtype_of(value, {}) is not Dtype.INT:
        raise reader.error(reader.formula.tokens[0], "a size is an integer. `//` divides integers.")
    return value


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
