"""Operators by precedence: sums, products and signs are loops, only brackets and powers nest."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from math import log2

from ...expr import MIRRORED, ONE, ZERO, Apply, Const, Expr, apply, is_double, operator, postorder, value_of
from ...ops import OPS
from ..infinity import NO_INFINITY, has_value
from .cursor import Cursor
from .tokenizer import MAX_DIGITS, Token

MAX_BITS = 4_096  # of a constant that is worked out here; 1,200 digits fit
MAX_EXPONENT = 1_000_000
MAX_DOUBLE_EXPONENT = 1_024
SUM = 10  # how tightly + and - bind
_AND, _COMPARISON = 4, 6
_BINARY: Mapping[str, tuple[int, str]] = {
    **{"|": (2, "or"), "or": (2, "or"), "&": (_AND, "and"), "and": (_AND, "and")},
    **{"<": (6, "lt"), "<=": (6, "le"), ">": (6, "gt"), ">=": (6, "ge"), "==": (6, "eq"), "!=": (6, "ne")},
    **{"+": (10, "add"), "-": (10, "sub")},
    **{"*": (20, "mul"), "/": (20, "div"), "//": (20, "floordiv"), "%": (20, "mod"), "@": (20, "matmul")},
}
_NOT, _PRODUCT = 5, 20
EULER = apply("exp", ONE)
_BEYOND_DOUBLE = "this holds a number beyond the range of a double, 2.3e-308 to 1.8e308."


class Operators(Cursor, ABC):
    """Reads what stands between operands; a subclass reads the operands."""

    @abstractmethod
    def operand(self) -> Expr:
        """Read a number, a name, a call or a bracket."""

    def expression(self, least: int = 0) -> Expr:
        """Read operators that bind at least as tightly as `least`."""
        value = self._signed(least)
        waiting: list[tuple[int, Token, str, Expr]] = []
        while True:
            token = self.token
            level, op = _BINARY.get(token.text, (-1, ""))
            while waiting and waiting[-1][0] >= level:
                above, sign, waits, left = waiting.pop()
                if above == level == _COMPARISON:  # 0 <= i < n: what is said of i
                    waiting.append((_AND, token, "and", self.build(sign, MIRRORED.get(waits, waits), value, left)))
                    break
                value = self.build(sign, waits, left, value)
            if level < max(least, 0):
                return value
            waiting.append((level, self.next(), op, value))
            value = self._signed(level + 1)

    def _signed(self, least: int) -> Expr:
        """An operand with its signs. A minus takes in the products behind it: -2*x is -(2*x), and -x//2 is (-x)//2."""
        if self.token.kind == "name" and self.token.text == "not":
            return self._negation(least)
        negative = False
        while self.token.kind == "symbol" and self.token.text in ("-", "+"):
            negative ^= self.next().text == "-"
        left = self._factor()
        if not negative:
            return left
        while least <= _PRODUCT and self.token.text in ("*", "/", "@"):
            token = self.next()
            left = self.build(token, _BINARY[token.text][1], left, self._signed(_PRODUCT + 1))
        return -left

    def _negation(self, least: int) -> Expr:
        first, odd = self.token, False
        while self.token.kind == "name" and self.token.text == "not":
            self.next()
            odd = not odd
        if least > _NOT:
            raise self.error(first, "`not` binds less tightly than this operator. Write (not a) in brackets, or ~a.")
        operand = self.build(first, "not", self.expression(_NOT))
        return operand if odd else self.build(first, "not", operand)

    def _factor(self) -> Expr:
        """Signs, an atom, and its power; a power binds more tightly than the signs before it."""
        signs, first = [], self.token
        while self.token.kind == "symbol" and self.token.text in ("-", "+", "~"):
            signs.append(self.next().text)
        value = self.operand()
        while self.token.text == ".T":
            value = self.transposed(self.next(), value)
        if self.token.text in ("**", "^"):
            token = self.next()
            with self.deeper():
                value = self.build(token, "pow", value, self._factor())
        for sign in reversed(signs):
            value = -value if sign == "-" else self.build(first, "not", value) if sign == "~" else value
        return value

    def transposed(self, token: Token, value: Expr) -> Expr:
        """`value.T`, for a reader of whole arrays."""
        raise self.error(token, "a transpose is one of a whole array, A.T; with indices write a[j,i].")

    def build(self, token: Token, op: str, *args: Expr) -> Expr:
        """Apply `op`, unless it would make a number too large to work with, or divide by nothing."""
        if op in ("div", "floordiv", "mod") and args[1] is ZERO:
            raise self.error(token, "this divides by zero.")
        if op == "matmul":
            raise self.error(
                token, "`@` is between whole arrays, A @ x, by their names; with indices write sum[k](a[i,k]*b[k,j])."
            )
        if op == "pow":
            self._check_power(token, *args)
            if args[0] is EULER:
                return apply("exp", args[1])
        result = apply(op, *args)
        if op in ("and", "or") and operator(result) != op:
            result = apply(op, *map(_truth, args))  # of `x and 1` the number x would be left
        if isinstance(result, Const) and _bits(result) > MAX_BITS:
            raise self.error(token, f"this number has more than {MAX_DIGITS} digits. Write it as a decimal.")
        return result

    def _check_power(self, token: Token, base: Expr, exponent: Expr) -> None:
        if not isinstance(exponent, Const):
            return
        if abs(exponent.value) > MAX_EXPONENT:
            raise self.error(token, f"an exponent is at most {MAX_EXPONENT}.")
        if isinstance(base, Const):
            if base.value == 0 and exponent.value < 0:
                raise self.error(token, "this divides by zero.")
            if base.value < 0 and exponent.value.denominator != 1:
                raise self.error(token, "a root of a negative number is not real.")
            if _bits(base) * abs(exponent.value) > MAX_BITS and abs(base.value) != 1:
                raise self.error(token, f"this number has more than {MAX_DIGITS} digits. Write it as a decimal.")
            if base.value and abs(exponent.value * Fraction(_log2(base))) > MAX_DOUBLE_EXPONENT:
                raise self.error(token, _BEYOND_DOUBLE)

    def check_constants(self, token: Token, body: Expr) -> None:
        """Refuse what is no number in double precision."""
        if not has_value(body):
            raise self.error(token, NO_INFINITY)
        for node in postorder(body):
            if isinstance(node, Const) and not is_double(node.value):
                raise self.error(token, _BEYOND_DOUBLE)


def _bits(node: Expr) -> int:
    value = value_of(node)
    return max(value.numerator.bit_length(), value.denominator.bit_length())


def _truth(node: Expr) -> Expr:
    """A number as a condition, which holds where it is not 0."""
    holds = isinstance(node, Apply) and OPS[node.op].result == "bool"
    return node if holds else apply("ne", node, ZERO)


def _log2(node: Expr) -> float:
    value = abs(value_of(node))
    return log2(value.numerator) - log2(value.denominator)
