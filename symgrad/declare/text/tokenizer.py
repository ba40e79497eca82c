"""Characters to tokens. Every limit on size is checked here, before anything is built from the text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import field

from ...errors import FormulaError
from ...records import dataclass

MAX_CHARACTERS = 20_000
MAX_TOKENS = 5_000
MAX_DEPTH = 64
MAX_DIGITS = 1_200
WINDOW = 100  # characters of a line that an error shows

_TOKEN = re.compile(
    r"""(?P<space>[ \t]+)
      | (?P<newline>[\r\n]+)
      | (?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
      | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<symbol>\.\.\.|\.T\b|\*\*|//|->|\+=|<=|>=|==|!=|[-+*/%^()\[\],;:=<>?&|~@])""",
    re.ASCII | re.VERBOSE,
)
_CLOSES = {")": "(", "]": "["}
_WORDS = frozenset({"and", "or", "not", "for"})
_ADVICE = {
    "!": "`!=` compares; there is no factorial.",
    "'": "Write a transpose as A.T, or by its indices: a[j,i].",
    ".": "A name has no attributes but the transpose, A.T: np.sin(x) is sin(x), x.sum() is sum(x).",
    '"': "A formula holds no strings.",
    "{": "Use ( ) to group.",
    "}": "Use ( ) to group.",
    "#": "A formula holds no comments.",
}


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the text; `kind` is number, name, symbol, newline (between statements) or end; `at` is its place."""

    kind: str
    text: str
    at: int

    @property
    def operand_ends(self) -> bool:
        """Whether an operand can end here, so that a sign behind it is an operator between two."""
        return self.text in (")", "]", "...", "?", ".T") if self.kind != "name" else self.text not in _WORDS


@dataclass(frozen=True)
class Formula:
    """The text with its tokens; `partner` gives the place of the bracket that belongs to a bracket."""

    text: str
    tokens: tuple[Token, ...] = ()
    partner: dict[int, int] = field(default_factory=dict)

    def until(self, here: int) -> Formula:
        """The formula that ends before the token `here`."""
        return Formula(self.text, (*self.tokens[:here], Token("end", "", self.tokens[here].at)), self.partner)

    def ended_before(self, here: int) -> bool:
        """Whether an operand ends before the token `here`."""
        before = self.tokens[here - 1]
        return here > 0 and (before.kind == "number" or before.operand_ends)

    def error(self, at: int, message: str) -> FormulaError:
        """The error that shows the line of the text with a caret under the place."""
        before = self.text[:at].replace("\r", "\n")
        line = self.text.replace("\r", "\n").split("\n")[before.count("\n")]
        column = len(before) - before.rfind("\n") - 1
        start = max(0, min(column - WINDOW // 2, len(line) - WINDOW))
        head, tail = _visible(line[start:column]), _visible(line[column : start + WINDOW])
        head, tail = ("... " if start else "") + head, tail + (" ..." if start + WINDOW < len(line) else "")
        stripped = head.lstrip()
        number = f"line {before.count(chr(10)) + 1}, " if "\n" in self.text.strip() else ""
        return FormulaError(
            f"{number}column {column + 1}: {message}\n    {stripped}{tail}".rstrip() + f"\n    {' ' * len(stripped)}^",
            message,
            at,
        )


def _visible(text: str) -> str:
    return "".join(c if " " <= c <= "~" else " " if c == "\t" else ascii(c)[1:-1] for c in text)


def tokenize(text: str) -> Formula:
    """Return the tokens of `text`.

    Raises FormulaError for what is too large, for a character that no formula has, and for brackets that do not match.
    """
    if not isinstance(text, str):
        raise FormulaError(f"a formula is a text, not {type(text).__name__}; write parse('squares(x, y) = x**2, x*y').")
    if len(text) > MAX_CHARACTERS:
        raise FormulaError(
            f"the formula has {len(text)} characters, and at most {MAX_CHARACTERS} are read. Split it into functions."
        )
    formula = Formula(text)
    found: list[Token] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise formula.error(at, _refusal(text[at]))
        kind = match.lastgroup or ""
        if kind == "number":
            _check_number(formula, match)
        if kind != "space":
            found.append(Token(kind, match.group(), at))
        if len(found) > MAX_TOKENS:
            raise formula.error(
                at, f"a formula has at most {MAX_TOKENS} names, numbers and signs. Split it into functions."
            )
        at = match.end()
    tokens = [*_separated(formula, found), Token("end", "", len(text.rstrip()))]
    return Formula(text, tuple(tokens), _partners(formula, tokens))


def _refusal(character: str) -> str:
    if character in _ADVICE:
        return f"{character!r} has no meaning here. {_ADVICE[character]}"
    if " " < character <= "~":
        return f"{character!r} has no meaning in a formula."
    name = unicodedata.name(character, f"a control character, U+{ord(character):04X}")
    return f"the character {character!a} is {name}; a formula is plain ASCII. Type the letter or sign again."


def _check_number(formula: Formula, match: re.Match[str]) -> None:
    number, at, end = match.group(), match.start(), match.end()
    rest = re.compile(r"[A-Za-z0-9_.]*", re.ASCII).match(formula.text, end)
    tail = rest.group() if rest and not rest.group().startswith("...") else ""
    if tail and ((tail[0].isalpha() and tail[0] not in "eExXjJ") or (tail[0] in "xX" and number != "0")):
        raise formula.error(end, f"a sign is missing between {number} and {tail}. A product is {number}*{tail}.")
    if tail:
        raise formula.error(at, f"{number}{tail} is not a number. Write 12, 0.5 or 1e-5, and a product as {number}*x.")
    if sum(c.isdigit() for c in number) > MAX_DIGITS:
        raise formula.error(at, f"a number has at most {MAX_DIGITS} digits.")
    if not number.isdigit():
        value = float(number)
        nonzero = any(c in "123456789" for c in re.split("[eE]", number)[0])
        if value == float("inf") or (value == 0 and nonzero):
            raise formula.error(at, f"{number} is beyond the range of a double, 2.3e-308 to 1.8e308.")


def _separated(formula: Formula, found: Sequence[Token]) -> list[Token]:
    """The tokens without the line ends that separate nothing: in brackets, beside a sign, and at both ends."""
    tokens: list[Token] = []
    depth = 0
    for here, token in enumerate(found):
        if token.kind == "newline":
            follows = next((t for t in found[here + 1 :] if t.kind != "newline"), None)
            ends = bool(tokens) and (tokens[-1].kind == "number" or tokens[-1].operand_ends)
            if depth or not ends or follows is None or follows.kind != "name" or follows.text in _WORDS:
                continue
        depth += (token.text in ("(", "[")) - (token.text in (")", "]"))
        if depth > MAX_DEPTH:
            raise formula.error(
                token.at, f"brackets are nested more than {MAX_DEPTH} deep. Name a part of the formula."
            )
        tokens.append(token)
    return tokens


def _partners(formula: Formula, tokens: Sequence[Token]) -> dict[int, int]:
    partner: dict[int, int] = {}
    opened: list[int] = []
    for here, token in enumerate(tokens):
        if token.text in ("(", "["):
            opened.append(here)
        elif token.text in (")", "]"):
            if not opened:
                raise formula.error(token.at, f"this {token.text!r} closes nothing. Remove it, or open it before.")
            there = opened.pop()
            if tokens[there].text != _CLOSES[token.text]:
                wanted = {"(": ")", "[": "]"}[tokens[there].text]
                raise formula.error(token.at, f"{token.text!r} closes a {tokens[there].text!r}. Write {wanted!r} here.")
            partner[there], partner[here] = here, there
    if opened:
        raise formula.error(tokens[opened[-1]].at, f"this {tokens[opened[-1]].text!r} is never closed.")
    return partner


_SPACED = frozenset({"<", "<=", ">", ">=", "==", "!=", "&", "|", "+=", "->"})


def tidy(formula: Formula, separator: str = "; ", block: str = " ") -> str:
    """The text spaced in one way: `separator` between statements, `block` behind the colon of a header.

    What is tidy stays as it is, and reads as the same declaration.
    """
    parts: list[str] = []
    previous = Token("symbol", "(", 0)
    brackets: list[str] = []
    for here, token in enumerate(formula.tokens):
        if token.kind == "end":
            break
        text = "**" if token.text == "^" else token.text
        if token.kind == "newline" or (text == ";" and not brackets):
            more = any(t.kind != "newline" and t.text != ";" for t in formula.tokens[here:-1])
            if more and parts[-1] not in (separator, f":{block}"):
                parts.append(separator)
            previous = Token("symbol", "(", 0)
            continue
        tight = bool(brackets) and brackets[-1] == "subscripts"
        between = previous.kind == "number" or previous.operand_ends
        word = token.kind in ("name", "number")
        if text in ("(", "["):
            brackets.append("subscripts" if text == "[" and between else "group")
            if previous.text in _WORDS:
                text = f" {text}"
        elif text in (")", "]"):
            brackets.pop()
        elif text == ",":
            text = "," if tight else ", "
        elif text == ";":
            text = "; "
        elif text == ":":
            text = ":" if tight else ": " if brackets else f":{block}"
        elif text in _SPACED or (text == "=" and not brackets):
            text = f" {text} "
        elif text in ("+", "-") and between:
            text = text if tight else f" {text} "
        elif text in ("and", "or") or (word and (previous.kind in ("name", "number") or previous.text in (")", "]"))):
            text = f" {text}"
        if text == "~" or (text in ("-", "+") and not between):
            text = f" {text}" if previous.text in _WORDS else text
        parts.append(text)
        previous = token
    return "".join(parts)
