"""A place among the tokens of a formula, and the errors that show it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar

from ...errors import DeclarationError, FormulaError
from .tokenizer import MAX_DEPTH, Formula, Token

T = TypeVar("T")
HINTS: Mapping[str, str] = {
    "if": "Write where(condition, then, otherwise).",
    "lambda": "Write the function itself, as in f(x) = x**2; an input needs another name, as lam.",
    "=": "`==` compares.",
    "+=": "`+=` stands once, behind the target of a statement.",
    "|": "The absolute value is abs(x); either of two conditions is `a or b`.",
    "&": "Both of two conditions are `a and b`.",
    "?": "Write where(condition, then, otherwise).",
    "->": "`-> a, b` stands between the inputs and the colon of a header.",
}


class Cursor:
    """Steps through the tokens of a formula."""

    def __init__(self, formula: Formula) -> None:
        self.formula = formula
        self.here = 0
        self._depth = 0

    @property
    def token(self) -> Token:
        return self.formula.tokens[self.here]

    def peek(self, ahead: int = 1) -> Token:
        return self.formula.tokens[min(self.here + ahead, len(self.formula.tokens) - 1)]

    def next(self) -> Token:
        token = self.token
        self.here = min(self.here + 1, len(self.formula.tokens) - 1)
        return token

    def accept(self, *texts: str) -> bool:
        """Step over the next token if it is one of `texts`."""
        if self.token.text in texts and self.token.kind in ("symbol", "name"):
            self.here += 1
            return True
        return False

    def expect(self, text: str, where: str) -> Token:
        if self.token.text != text or self.token.kind != "symbol":
            raise self.unexpected(f"{text!r} is missing {where}")
        return self.next()

    def listed(self, read: Callable[[], T]) -> list[T]:
        """What `read` reads, once or with commas between."""
        found = [read()]
        while self.accept(","):
            found.append(read())
        return found

    def expect_name(self, what: str) -> Token:
        if self.token.kind != "name":
            raise self.unexpected(f"{what} is missing")
        return self.next()

    def error(self, token: Token, message: str) -> FormulaError:
        return self.formula.error(token.at, message)

    def unexpected(self, wanted: str) -> FormulaError:
        """The error at a token that cannot stand here; `wanted` says what should."""
        token = self.token
        if token.kind == "end":
            return self.error(token, f"{wanted}; the text ends here.")
        if token.kind == "newline":
            return self.error(token, f"{wanted}; the line ends here.")
        before = self.formula.tokens[self.here - 1]
        starts = token.kind in ("name", "number") or token.text == "("
        ends = before.kind in ("name", "number") or before.text in (")", "]")
        if self.here and starts and token.text not in HINTS and ends:
            hint = "A product is written with `*`, one of matrices with `@`."
            return self.error(token, f"{wanted}, before {token.text!r}. {hint}")
        # `=` and `|` mean something else where no operator is expected
        known = token.text in HINTS and (token.text != "=" or wanted.startswith("an operator"))
        hint = f" {HINTS[token.text]}" if known else ""
        return self.error(token, f"{wanted}, before {token.text!r}.{hint}")

    @contextmanager
    def at(self, token: Token) -> Iterator[None]:
        """Show the place of `token` in whatever the Draft refuses."""
        try:
            yield
        except FormulaError:
            raise
        except DeclarationError as refusal:
            raise self.error(token, str(refusal)) from None

    @contextmanager
    def deeper(self) -> Iterator[None]:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self.error(self.token, f"the formula is nested more than {MAX_DEPTH} deep. Name a part of it.")
        yield
        self._depth -= 1
