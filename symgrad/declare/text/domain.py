"""The domain of a declaration: `for a > 0, 0 <= x <= 1`, behind its formula.

`for` is a word only where an operand has ended: a name elsewhere. A domain is a list of conditions, each on one input:
it is compared with a number, or stands between two, in one direction. `a, b > 0` is said of both.
"""

from __future__ import annotations

from itertools import pairwise

from ...expr import MIRRORED, Const, const
from ...ir import Interval
from ..draft import Draft
from .expression import plain_decimal
from .header import HeaderReader
from .tokenizer import Formula, Token, tokenize

_OPS = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
_COMPARISONS = (*_OPS, "==", "!=")
_ARITHMETIC = ("+", "-", "*", "/", "**", "^", "%", "//")
_NUMBER = "a bound is a number, such as 0, -1.5 or 1e-3"
_BOUND = f"{_NUMBER}. What compares two of them may stand in the formula: where(a < b, ..., 0)."
_CONDITION = "as in a > 0 or 0 <= x <= 1"
_CONDITIONS = "as in a > 0, 0 <= x <= 1"


class DomainReader(HeaderReader):
    """Reads what stands behind `for`."""

    def domain_at(self) -> int:
        """The place of the `for` that stands behind an operand and in no bracket; of the end if there is none."""
        tokens, here = self.formula.tokens, 0
        while tokens[here].kind != "end":
            if here and tokens[here].text == "for" and self.formula.ended_before(here):
                return here
            here = self.formula.partner.get(here, here) + 1
        return here

    def domain(self) -> None:
        """Read `for a > 0, 0 <= x <= 1` to the end, and tell the Draft."""
        self.next()
        while True:
            first = self.token
            names, interval = self._condition()
            for name in names:
                with self.at(first):
                    self.draft.restrict(name.text, interval)
            if not self.accept(","):
                break
        if self.token.kind != "end":
            raise self.error(self.token, f"here the declaration ends. Conditions stand between commas, {_CONDITIONS}.")

    def _condition(self) -> tuple[list[Token], Interval]:
        """The inputs that a condition is about, and the interval that it is."""
        left = self._side()
        names = [left] if isinstance(left, Token) else []
        while names and self.token.text == ",":
            self.next()
            names.append(self._input_named())
        sign, op = self._comparison()
        middle = self._side()
        if isinstance(left, Token) and isinstance(middle, Token):
            both = f"{left.text} and {middle.text} are both inputs; " if left.text != middle.text else ""
            raise self.error(middle, f"{both}{_BOUND}")
        if isinstance(middle, Const):
            if not isinstance(left, Token):
                raise self.error(sign, f"a condition is on an input, {_CONDITION}.")
            if self.token.text in _OPS:
                raise self.error(self.token, f"an input stands between two numbers: 0 <= {left.text} <= 1.")
            return names, Interval.of(op, middle)
        assert isinstance(left, Const)
        interval = Interval.of(MIRRORED[op], left)
        if self.token.text in _COMPARISONS:
            sign, other = self._comparison()
            if (op in ("lt", "le")) != (other in ("lt", "le")):
                raise self.error(sign, f"both comparisons go one way: 0 <= {middle.text} <= 1.")
            right = self._side()
            if isinstance(right, Token):
                raise self.error(right, f"{middle.text} and {right.text} are both inputs; {_BOUND}")
            interval = interval.meet(Interval.of(other, right))
        return [middle], interval

    def _comparison(self) -> tuple[Token, str]:
        token = self.token
        if token.text in ("==", "!=", "="):
            raise self.error(token, "a domain is an interval: compare by <, <=, > or >=.")
        if token.text in ("[", "(", *_ARITHMETIC):
            raise self.error(token, f"a domain is that of an input as it stands, all of its elements, {_CONDITION}.")
        if token.text not in _OPS:
            raise self.unexpected(f"a comparison is missing, {_CONDITION}")
        return self.next(), _OPS[token.text]

    def _side(self) -> Token | Const:
        """An input, or a number with its sign."""
        token = self.token
        signed = token.kind == "symbol" and token.text in ("-", "+")
        if signed:
            self.next()
        number = self.token
        if number.kind == "number":
            self.next()
            if self.token.text in _ARITHMETIC:
                raise self.error(self.token, f"{_NUMBER}, and stands beside an input alone: 2*x < 1 is x < 0.5.")
            sign = "-" if token.text == "-" else ""
            return const(int(sign + number.text) if number.text.isdigit() else sign + plain_decimal(number.text))
        if signed:
            raise self.error(number, f"a number is missing behind {token.text!r}: {_NUMBER}.")
        return self._input_named()

    def _input_named(self) -> Token:
        token = self.token
        name = token.text
        if name in ("oo", "pi", "(", "inf", "infinity") and name not in self.draft.tensors:
            more = "Write the value" if name in ("pi", "(") else "Leave out the bound that there is not"
            raise self.error(token, f"{_NUMBER}. {more}.")
        if token.kind != "name":
            raise self.unexpected(f"an input or a number is missing, {_CONDITION}")
        if name not in self.draft.tensors:
            known = ", ".join(self.draft.tensors) or "none"
            what = {
                **dict.fromkeys(self.draft.targets, "a result"),
                **dict.fromkeys(self.draft.dims, "a size"),
                **{o.name: "an option" for o in self.draft.options},
            }.get(name, "not known")
            bound = f" Where it bounds one: {_BOUND}" if what == "a size" else ""
            raise self.error(token, f"{name} is {what}. A domain is that of inputs: {known}.{bound}")
        return self.next()


def interval_of(text: str) -> tuple[Interval, str]:
    """The interval that an annotation says, and what it calls the input: `> 0` and `>= 0, < 1` nothing, `0 <= x < 1` x.

    Raises FormulaError, which shows the place.
    """
    formula = tokenize(text)
    called = next((t.text for t in formula.tokens if t.kind == "name"), "")
    name = called or "x"
    draft = Draft("domain")
    draft.input(name, [])
    tokens = [Token("name", "for", 0)]
    for before, token in pairwise((Token("symbol", ",", 0), *formula.tokens)):
        if before.text == "," and token.text in _COMPARISONS:
            tokens.append(Token("name", name, token.at))
        tokens.append(token)
    DomainReader(Formula(text, tuple(tokens), formula.partner), draft).domain()
    return draft.tensors[name].interval, called
