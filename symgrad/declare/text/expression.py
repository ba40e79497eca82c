"""Tokens to expressions, by precedence climbing: sums, products and signs are loops, only brackets and powers nest."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from math import inf

from ...errors import DeclarationError, FormulaError
from ...expr import (
    ONE,
    ZERO,
    Apply,
    Const,
    Expr,
    Index,
    Ref,
    apply,
    const,
    index,
    indices,
    is_exact,
    postorder,
    ref,
    refs,
    select,
    value_of,
)
from ...ir import REDUCTIONS, Dtype
from ...ops import NAMES, OPS
from ..draft import Draft, dtype_of
from ..names import check_name
from .tokenizer import MAX_DEPTH, MAX_DIGITS, Formula, Token

MAX_BITS = 4_096  # of a constant that is worked out here; 1,200 digits fit
MAX_EXPONENT = 1_000_000
PACK = index("...")
INFINITY = apply("oo")  # lives only until the reduction that it is neutral for has been read

_COMPARISON = 6
_BINARY: Mapping[str, tuple[int, str]] = {
    **{"|": (2, "or"), "or": (2, "or"), "&": (4, "and"), "and": (4, "and")},
    **{"<": (6, "lt"), "<=": (6, "le"), ">": (6, "gt"), ">=": (6, "ge"), "==": (6, "eq"), "!=": (6, "ne")},
    **{"+": (10, "add"), "-": (10, "sub")},
    **{"*": (20, "mul"), "/": (20, "div"), "//": (20, "floordiv"), "%": (20, "mod")},
}
_NOT, _SUM, _PRODUCT = 5, 10, 20
_LOGICAL = frozenset({"maximum", "minimum", "and", "or"})  # of any number of arguments
_REDUCTIONS = frozenset({"mean", *REDUCTIONS} - {"none"})
_NEUTRAL: Mapping[str, Expr] = {
    "max": apply("neg", INFINITY),
    "argmax": apply("neg", INFINITY),
    "logsumexp": apply("neg", INFINITY),
    "min": INFINITY,
}
_CONSTANTS: Mapping[str, Expr] = {"pi": apply("pi"), "True": ONE, "False": ZERO, "oo": INFINITY}
_HINTS: Mapping[str, str] = {
    "if": "Write where(condition, then, otherwise).",
    "lambda": "Write the function itself, as in f(x) = x**2.",
    "=": "`==` compares.",
    "+=": "`+=` stands once, behind the target of a statement.",
    "|": "The absolute value is abs(x).",
    "->": "`-> a, b` stands between the inputs and the colon of a header.",
}


@dataclass(frozen=True, slots=True)
class Reduction:
    """A reduction as read, before it is an equation."""

    kind: str
    over: tuple[Index, ...]
    body: Expr
    extents: Mapping[Index, Expr]
    where: Expr | None


class ExpressionReader:
    """Reads expressions from the tokens of a formula, and hands reductions and made-up inputs to a Draft.

    axes         the number of axes of every input and result, the pack included
    elementwise  every input is bare: a bare name is an element of an array of the one shape `...`
    undeclared   a formula without a header: a new name is an input
    bound        the indices of the target and of the reductions around this place, and the extents given to them
    """

    def __init__(self, formula: Formula, draft: Draft) -> None:
        self.formula = formula
        self.draft = draft
        self.here = 0
        self.axes: dict[str, int] = {}
        self.elementwise = False
        self.undeclared = False
        self.bound: dict[str, Index] = {}
        self.extents: dict[Index, Expr] = {}
        self._depth = 0
        self._binding = False
        self._conditions: list[Expr] = []
        self._presences: list[tuple[Ref, bool]] = []

    # tokens

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
        if self.here and starts and token.text not in _HINTS and (before.kind == "number" or before.text in (")", "]")):
            return self.error(token, f"{wanted}, before {token.text!r}. A product is written with `*`.")
        hint = f" {_HINTS[token.text]}" if token.text in _HINTS else ""
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
    def _deeper(self) -> Iterator[None]:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self.error(self.token, f"the formula is nested more than {MAX_DEPTH} deep. Name a part of it.")
        yield
        self._depth -= 1

    # operators

    def expression(self, least: int = 0) -> Expr:
        """Read operators that bind at least as tightly as `least`."""
        value = self._operand(least)
        waiting: list[tuple[int, Token, str, Expr]] = []
        while True:
            token = self.token
            level, op = _BINARY.get(token.text, (-1, ""))
            while waiting and waiting[-1][0] >= level:
                above, sign, waits, left = waiting.pop()
                if above == level == _COMPARISON:
                    raise self.error(token, "comparisons do not chain. Write (a < b) & (b < c).")
                value = self.build(sign, waits, left, value)
            if level < max(least, 0):
                return value
            waiting.append((level, self.next(), op, value))
            value = self._operand(level + 1)

    def _operand(self, least: int) -> Expr:
        """An operand with its signs. A minus takes in the products behind it: -2*x is -(2*x), and -x//2 is (-x)//2."""
        if self.token.kind == "name" and self.token.text == "not":
            return self._negation(least)
        negative = False
        while self.token.kind == "symbol" and self.token.text in ("-", "+"):
            negative ^= self.next().text == "-"
        left = self._factor()
        if not negative:
            return left
        while least <= _PRODUCT and self.token.text in ("*", "/"):
            token = self.next()
            left = self.build(token, _BINARY[token.text][1], left, self._operand(_PRODUCT + 1))
        return -left

    def _negation(self, least: int) -> Expr:
        first, odd = self.token, False
        while self.token.kind == "name" and self.token.text == "not":
            self.next()
            odd = not odd
        if least > _NOT:
            raise self.error(first, "`not` binds less tightly than this operator. Write (not a) in brackets, or ~a.")
        operand = self.expression(_NOT)
        return apply("not", operand) if odd else apply("not", apply("not", operand))

    def _factor(self) -> Expr:
        """Signs, an atom, and its power; a power binds more tightly than the signs before it."""
        signs: list[str] = []
        while self.token.kind == "symbol" and self.token.text in ("-", "+", "~"):
            signs.append(self.next().text)
        value = self._atom()
        if self.token.text in ("**", "^"):
            token = self.next()
            with self._deeper():
                value = self.build(token, "pow", value, self._factor())
        for sign in reversed(signs):
            value = -value if sign == "-" else apply("not", value) if sign == "~" else value
        return value

    def build(self, token: Token, op: str, *args: Expr) -> Expr:
        """Apply `op`, unless it would make a number too large to work with, or divide by nothing."""
        if op in ("div", "floordiv", "mod") and args[1] is ZERO:
            raise self.error(token, "this divides by zero.")
        if op == "pow":
            self._check_power(token, *args)
        result = apply(op, *args)
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

    # operands

    def _atom(self) -> Expr:
        token = self.token
        if token.kind == "number":
            self.next()
            return const(int(token.text)) if token.text.isdigit() else const(_plain_decimal(token.text))
        if token.text == "(":
            return self._group()
        if token.text == "[":
            raise self.error(token, "a stack [a, b] is a whole result. Give it a name of its own, and read its elements.")
        if token.text in ("...", "*"):
            raise self.error(token, f"{token.text!r} is no operand; an operand is a number, a name or a bracket.")
        if token.kind != "name" or token.text in _HINTS:
            raise self.unexpected("an operand is missing")
        after = self.peek()
        if after.text == "[" and token.text in _REDUCTIONS and self._is_reduction():
            return self.hoisted()
        if after.text == "(":
            return self._call()
        return self._value()

    def _group(self) -> Expr:
        self.next()
        with self._deeper():
            value = self.expression()
        if self.token.text == ",":
            raise self.error(self.token, "several results stand only behind the `=` of name(inputs) = a, b.")
        self.expect(")", "at the end of the bracket")
        return value

    def _value(self) -> Expr:
        """The value of a name: an index, an element, a size, an option or a constant."""
        token = self.next()
        name = token.text
        if name in self.bound:
            if self.token.text == "[":
                raise self.error(self.token, f"{name} is an index and has no axes.")
            return self.bound[name]
        if name in self.axes:
            return self._element(token)
        if name in self.draft.dims or any(o.name == name for o in self.draft.options):
            if self.token.text == "[":
                raise self.error(self.token, f"{name} is a number and has no axes.")
            return ref(name)
        if name in _CONSTANTS:
            return _CONSTANTS[name]
        if self._binding:
            return self.bind(token)
        if name in NAMES or name in _REDUCTIONS:
            usage = f"{name}[i](...)" if name in _REDUCTIONS and name not in NAMES else f"{name}(...)"
            raise self.error(token, f"{name} is a function. Write {usage}.")
        if self.undeclared and self.token.text != "[":
            with self.at(token):
                self.draft.input(name, [self.draft.dim("...", pack=True)])
            self.axes[name] = 1
            return self._element(token)
        if self.undeclared:
            raise self.error(token, f"nothing tells the shape of {name}. Declare it: f({name}[n])[i] = ...")
        raise self.unknown(token, [*self.axes, *self.bound, *self._numbers(), "pi", *NAMES])

    def unknown(self, token: Token, known: Sequence[str]) -> FormulaError:
        names = [n for n in dict.fromkeys(known) if n not in ("...", "add", "sub", "mul", "neg")]
        near = difflib.get_close_matches(token.text, names, n=1, cutoff=0.5)
        own = [n for n in names if n not in NAMES]
        advice = f"Did you mean {near[0]}?" if near else f"Known here: {', '.join(own)}." if own else "Declare it."
        return self.error(token, f"{token.text} is not known. {advice}")

    def _numbers(self) -> list[str]:
        return [*(n for n in self.draft.dims if n != "..."), *(o.name for o in self.draft.options)]

    def _element(self, token: Token) -> Expr:
        name, axes = token.text, self.axes[token.text]
        given: tuple[Expr, ...] = ()
        if self.token.text == "[":
            given = self._subscripts(token)
        if self.elementwise and PACK not in given:
            given = (PACK, *given)
        if len(given) != axes:
            shown = axes - self.elementwise
            if not shown:
                raise self.error(token, f"{name} is declared without axes, and is read without subscripts.")
            example = ",".join([*"ijklpqrs"[:shown], "..."][: shown if shown <= 8 else 9])
            raise self.error(
                token, f"{name} has {shown} {'axis' if shown == 1 else 'axes'}. Write {shown} of them: {name}[{example}]."
            )
        self._check_range(token, given)
        return ref(name, *given)

    def _check_range(self, token: Token, given: tuple[Expr, ...]) -> None:
        tensor = self.draft.tensors.get(token.text)
        for axis, s in enumerate(given):
            extent = tensor.shape[axis] if tensor else None
            if is_exact(s) and value_of(s) < 0:
                raise self.error(token, f"subscripts count from 0; the last of n is {token.text}[n-1].")
            if extent is None:
                continue
            if s is extent:
                raise self.error(
                    token, f"{extent} is the size of this axis, so {token.text}[{extent}] is past its end. Name an index."
                )
            if is_exact(s) and is_exact(extent) and value_of(s) >= value_of(extent):
                last = value_of(extent) - 1
                raise self.error(token, f"this axis of {token.text} has {extent} elements, the last is {last}.")

    # subscripts

    def _subscripts(self, owner: Token) -> tuple[Expr, ...]:
        self.expect("[", "here")
        found: list[Expr] = []
        if not self.accept("]"):
            while True:
                found.append(self.subscript())
                if self.token.text == ":":
                    raise self.error(self.token, "a subscript is one position. Name an index, and read x[i+1].")
                if not self.accept(","):
                    break
            self.expect("]", f"at the end of the subscripts of {owner.text}")
        return tuple(found)

    def subscript(self) -> Expr:
        """One position: a pack, a merged pair `(h e)`, or an integer expression."""
        token = self.token
        if self._at_pack():
            return self._pack()
        if token.text == "(" and self.peek().kind == "name" and self.peek(2).kind == "name":
            return self._merged()
        with self._deeper():
            value = self.expression()
        self.check_integer(token, value, "a subscript")
        return value

    def _at_pack(self) -> bool:
        return self.token.text in ("...", "*")

    def _pack(self) -> Index:
        name = self.pack_name()
        found = self.bound.get(name.text)
        if found is not None:
            return found
        if name.text not in self.draft.dims:
            raise self.error(name, f"no input has the axes {name.text}. Declare them: x[{name.text},n].")
        if self._binding:
            return self.bind(name)
        raise self.error(name, f"the result does not show {name.text}. Write it there: out[{name.text}], or sum[{name.text}].")

    def pack_name(self) -> Token:
        """Read `...` or `*batch` as one token."""
        token = self.next()
        if token.text == "...":
            return token
        return Token("name", f"*{self.expect_name('the name of the axes behind *').text}", token.at)

    def _merged(self) -> Expr:
        """`(h e)`: two axes as one, h*extent(e) + e."""
        self.next()
        result: Expr | None = None
        while self.token.kind == "name":
            token = self.next()
            i = self.bound.get(token.text)
            if i is None and self._binding and token.text not in self.axes and token.text not in self._numbers():
                i = self.bind(token)
            if i is None:
                raise self.error(token, f"{token.text} is no index here; (h e) merges two indices.")
            result = i if result is None else result * self.draft.extent(i) + i
        self.expect(")", "behind the merged indices")
        assert result is not None
        return result

    def check_integer(self, token: Token, value: Expr, what: str) -> None:
        """Refuse a subscript or an extent that is not an integer."""
        kinds = {t.name: t.dtype for t in self.draft.tensors.values()} | {o.name: o.dtype for o in self.draft.options}
        if any(isinstance(n, Apply) and n.op not in OPS for n in postorder(value)):
            raise self.error(token, f"{what} is made of indices, sizes and integers.")
        if dtype_of(value, kinds) == Dtype.REAL:
            raise self.error(token, f"{what} is an integer; this is a real number. `//` divides integers.")

    def extent(self) -> Expr:
        """How far an index runs: an integer made of sizes and options."""
        token = self.token
        value = self.expression(_SUM)
        self.check_integer(token, value, "an extent")
        if indices(value) or any(r.name in self.axes for r in refs(value)):
            raise self.error(token, "an extent is made of sizes, options and integers.")
        if is_exact(value) and value_of(value) < 0:
            raise self.error(token, "an extent is at least 0.")
        return value

    def bind(self, token: Token) -> Index:
        """Make `token` an index of this statement."""
        name = token.text
        if name in self.bound:
            raise self.error(token, f"the index {name} is taken already around this place. Use another letter.")
        if name in self.axes or name in self._numbers():
            what = "a size or an option" if name in self._numbers() else "a tensor"
            raise self.error(token, f"{name} is {what}, and cannot be an index as well. Use another letter.")
        if name != "..." and not name.startswith("*"):
            with self.at(token):
                check_own_name(name, "index")
        self.bound[name] = index(name)
        return self.bound[name]

    def target(self) -> tuple[tuple[Expr, ...], dict[Index, Expr]]:
        """Read `[i, j:n-1, 2*k]` behind the name of a target: its subscripts and the extents that are given."""
        extents: dict[Index, Expr] = {}
        found: list[Expr] = []
        if self.accept("["):
            self._binding = True
            while self.token.text != "]":
                if self.token.kind == "name" and self.peek().text == ":":
                    i = self.bind(self.next())
                    self.next()
                    self._binding = False
                    extents[i] = self.extent()
                    self._binding = True
                    found.append(i)
                else:
                    found.append(self.subscript())
                if not self.accept(","):
                    break
            self._binding = False
            self.expect("]", "at the end of the subscripts")
        return tuple(found), extents

    # reductions

    def _is_reduction(self) -> bool:
        """Whether `sum[` here is a reduction, and not the element of a tensor of that name."""
        closing = self.formula.tokens[self.formula.partner[self.here + 1] + 1]
        return closing.text == "(" or self.token.text not in self.axes

    def reduction_ends(self) -> Token | None:
        """The token behind the reduction that starts here; None if none does."""
        if self.token.text not in _REDUCTIONS or self.peek().text != "[":
            return None
        bracket = self.formula.partner[self.here + 1] + 1
        return None if bracket not in self.formula.partner else self.formula.tokens[self.formula.partner[bracket] + 1]

    def reduction(self) -> Reduction:
        """Read `sum[i, j:n](body)`."""
        first = self.next()
        self.next()
        outer, given = dict(self.bound), dict(self.extents)
        over: list[Index] = []
        named: list[Token] = []
        while True:
            token = self.pack_name() if self._at_pack() else self.expect_name("an index to reduce over")
            over.append(self.bind(token))
            named.append(token)
            if self.accept(":"):
                self.extents[over[-1]] = self.extent()
            if not self.accept(","):
                break
        self.expect("]", f"behind the indices of {first.text}; it has indices and extents, such as {first.text}[i, j:n]")
        self.expect("(", f"behind {first.text}[{', '.join(i.name for i in over)}]; what is reduced stands in brackets")
        with self._deeper():
            body = self.expression()
        if self.token.text == ",":
            raise self.error(self.token, f"{first.text} reduces one expression. A condition is where(c, a, b) inside it.")
        self.expect(")", f"at the end of {first.text}")
        extents = {i: self.extents[i] for i in over if i in self.extents}
        self.bound, self.extents = outer, given
        where: Expr | None = None
        if first.text in _NEUTRAL:
            body, where = _without_neutral(body, _NEUTRAL[first.text])
        if INFINITY in postorder(body):
            raise self.error(first, _NO_INFINITY)
        mentioned = indices(body, *(() if where is None else (where,)))
        for i, token in zip(over, named, strict=True):
            if i not in mentioned and i not in extents:
                raise self.error(token, f"what {first.text} reduces does not mention {i.name}. Say how far: {i.name}:n.")
        return Reduction(first.text, tuple(over), body, extents, where)

    def hoisted(self) -> Expr:
        """Read a reduction, make it an equation of its own, and return the reference to it.

        What stands in a branch of where(...) is computed only where that branch is taken.
        """
        token = self.token
        r = self.reduction()
        body = r.body
        for mask, present in self._presences:
            if mask.name in {x.name for x in refs(body)}:
                body = apply("given", mask, *((body, ZERO) if present else (ZERO, body)))
        free = set(indices(body, *(() if r.where is None else (r.where,)))) - set(r.over)
        where = r.where
        for condition in self._conditions:
            shown = set(indices(condition))
            if not shown or shown & free:
                where = condition if where is None else apply("and", where, condition)
        with self.at(token):
            return self.draft.reduce(r.kind, r.over, body, {**self.extents, **r.extents}, where)

    # calls

    def _call(self) -> Expr:
        token = self.token
        name = token.text
        if name == "Piecewise":
            return self._piecewise()
        if name == "given":
            return self._given()
        op = NAMES.get(name)
        if op == "select":
            return self._where()
        if op is None or OPS[op].arity == 0:
            raise self._no_function(token)
        self.next()
        args = self._arguments()
        arity = OPS[op].arity
        if op in _LOGICAL and len(args) >= 2:
            result = args[0]
            for arg in args[1:]:
                result = self.build(token, op, result, arg)
            return result
        if len(args) != arity:
            takes = f"{arity} argument{'s' if arity > 1 else ''}" if op not in _LOGICAL else "at least 2 arguments"
            raise self.error(token, f"{name} takes {takes}, not {len(args)}.")
        return self.build(token, op, *args)

    def _no_function(self, token: Token) -> FormulaError:
        name = token.text
        if name in self.axes or name in self.bound or name in self._numbers() or name in _CONSTANTS:
            return self.error(token, f"{name} is not a function. A product is {name}*(...), an element {name}[i].")
        if name in _REDUCTIONS:
            return self.error(token, f"{name} needs the indices it runs over: {name}[i](...).")
        return self.unknown(token, [*NAMES, *_REDUCTIONS, "Piecewise", "given"])

    def _arguments(self) -> list[Expr]:
        self.next()
        args: list[Expr] = []
        with self._deeper():
            if not self.accept(")"):
                args.append(self.expression())
                while self.accept(","):
                    args.append(self.expression())
                self.expect(")", "behind the arguments")
        return args

    @contextmanager
    def _under(self, condition: Expr) -> Iterator[None]:
        parts = [condition]
        while any(isinstance(p, Apply) and p.op == "and" for p in parts):
            parts = [a for p in parts for a in (p.args if isinstance(p, Apply) and p.op == "and" else (p,))]
        self._conditions += parts
        yield
        del self._conditions[len(self._conditions) - len(parts) :]

    def _where(self) -> Expr:
        """`where(c, a, b)`: each branch is read under its condition."""
        token = self.next()
        self.next()
        with self._deeper():
            condition = self.expression()
            self.expect(",", f"behind the condition; {token.text}(condition, then, otherwise)")
            with self._under(condition):
                then = self.expression()
            self.expect(",", f"behind the first branch; {token.text}(condition, then, otherwise)")
            with self._under(apply("not", condition)):
                otherwise = self.expression()
        self.expect(")", "behind the second branch")
        return select(condition, then, otherwise)

    def _piecewise(self) -> Expr:
        """`Piecewise((a, c), (b, True))`: SymPy's order, the value before its condition."""
        token = self.next()
        self.next()
        pieces: list[tuple[Expr, Expr]] = []
        before = len(self._conditions)
        with self._deeper():
            while True:
                if self.token.text != "(":
                    raise self.unexpected("a pair (value, condition) is missing")
                pieces.append(self._piece())
                self._conditions.append(apply("not", pieces[-1][1]))
                if not self.accept(","):
                    break
        del self._conditions[before:]
        self.expect(")", "behind the pieces")
        value, last = pieces.pop()
        if last is not ONE:
            raise self.error(token, "the last piece of Piecewise has the condition True: (value, True).")
        for then, condition in reversed(pieces):
            value = select(condition, then, value)
        return value

    def _piece(self) -> tuple[Expr, Expr]:
        """One pair. The condition is read first: the value is computed only under it."""
        start = self.here + 1
        here = start
        while self.formula.tokens[here].text not in (",", ")"):
            here = self.formula.partner.get(here, here) + 1
        if self.formula.tokens[here].text != ",":
            raise self.error(self.formula.tokens[here], "a piece is a pair (value, condition).")
        self.here = here + 1
        condition = self.expression()
        self.expect(")", "behind the condition of a piece")
        end, self.here = self.here, start
        with self._under(condition):
            value = self.expression()
        if self.here != here:
            raise self.unexpected("an operator or ',' is missing")
        self.here = end
        return value, condition

    def _given(self) -> Expr:
        """`given(mask, then, otherwise)`: what counts with and without an optional input."""
        token = self.next()
        self.next()
        name = self.token
        tensor = self.draft.tensors.get(name.text)
        if name.kind != "name" or tensor is None or not tensor.optional:
            raise self.error(name, "given(mask, then, otherwise) asks for an optional input, declared as mask[n]?.")
        self.next()
        if self.token.text == "[":
            self._subscripts(name)
        mask = ref(name.text)
        assert isinstance(mask, Ref)
        branches: list[Expr] = []
        with self._deeper():
            for present in (True, False):
                self.expect(",", f"in {token.text}(mask, then, otherwise)")
                self._presences.append((mask, present))
                branches.append(self.expression())
                self._presences.pop()
        self.expect(")", "behind given(mask, then, otherwise)")
        return apply("given", mask, *branches)

    def check_constants(self, token: Token, body: Expr) -> None:
        """Refuse what is no number in double precision."""
        for node in postorder(body):
            if node is INFINITY:
                raise self.error(token, _NO_INFINITY)
            if isinstance(node, Const) and not _is_double(node.value):
                raise self.error(token, "this holds a number beyond the range of a double, 2.3e-308 to 1.8e308.")


_NO_INFINITY = (
    "oo is a value only where it changes nothing: max[i](where(c, a, -oo)), min[i](where(c, a, oo)), "
    "logsumexp[i](where(c, a, -oo))."
)


def check_own_name(name: str, what: str) -> str:
    """Return `name`; raise DeclarationError for a word of the formula text or of a printed language."""
    if name in _CONSTANTS:
        raise DeclarationError(f"{what} {name!r} is a constant. Choose another name for this {what}.")
    return check_name(name, what)


def _bits(node: Expr) -> int:
    value = value_of(node)
    return max(value.numerator.bit_length(), value.denominator.bit_length())


def _is_double(value: Fraction) -> bool:
    try:
        return value == 0 or 0 < abs(float(value)) < inf
    except OverflowError:
        return False


def _plain_decimal(text: str) -> str:
    """A decimal as typed, with a digit on both sides of its point."""
    mantissa, e, exponent = text.lower().partition("e")
    mantissa = f"0{mantissa}" if mantissa.startswith(".") else mantissa
    mantissa = f"{mantissa}0" if mantissa.endswith(".") else mantissa
    return mantissa + e + exponent


def _without_neutral(body: Expr, neutral: Expr) -> tuple[Expr, Expr | None]:
    """`where(c, a, neutral)` as a and the condition c; the branches may be the other way round, and nested."""
    where: Expr | None = None
    while isinstance(body, Apply) and body.op == "select" and neutral in body.args[1:]:
        condition, then, otherwise = body.args
        condition = condition if otherwise is neutral else apply("not", condition)
        body = then if otherwise is neutral else otherwise
        where = condition if where is None else apply("and", where, condition)
    return body, where
