"""The header, the statements, and what they tell the Draft."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from ...expr import (
    ONE,
    ZERO,
    Expr,
    Index,
    conjunction,
    const,
    index,
    indices,
    is_exact,
    product,
    ref,
    substitute,
    value_of,
)
from ...ir import Function
from ...ops import NAMES
from ...records import dataclass, replace
from ..draft import Draft
from ..matrix_functions import MATRIX_FUNCTIONS, arity, rank_of
from ..names import output_names
from .domain import DomainReader
from .names import PACK, check_own_name
from .tokenizer import Formula, Token, tidy, tokenize

ALONE = "f"  # what a formula without a header is called
_DEFINES = ("=", "+=")


def read_formula(
    text: str, primitives: Sequence[Any] = (), name: str = "", reader: type[DeclarationReader] | None = None
) -> Function:
    """The Function that a text declares, as `sg.parse` says; without whole arrays, but by a `reader` of such."""
    found = (reader or DeclarationReader)(tokenize(text), Draft(check_own_name(name or ALONE, "function")))
    found.primitives = {p.op.about.name: p.op for p in primitives}
    return found.read(name)


def is_formula_alone(text: str) -> bool:
    """Whether the text has no header, which would name the function."""
    return DeclarationReader(tokenize(text)).header() is None


def declare_inputs(draft: Draft, text: str) -> None:
    """Declare the inputs of a signature without brackets around it: `x[n,k], bias[m]?; eps=1e-5`, and their domain
    behind them: `x[n,k] for x > 0`."""
    formula = tokenize(f"({text})")
    end = next((t.at - 1 for before, t in pairwise(formula.tokens) if t.text == "for" and before.operand_ends), None)
    if end is not None:
        formula = tokenize(f"({text[:end].rstrip()}) {text[end:]}")
    reader = DeclarationReader(formula, draft)
    reader.inputs()
    if end is not None:
        reader.domain()
    if reader.token.kind != "end":
        raise reader.unexpected("the inputs end here")


@dataclass(frozen=True, slots=True)
class _Statement:
    """One `target[...] = body` of a block; `start` and `body` are places among the tokens."""

    name: Token
    start: int
    body: int
    accumulates: bool
    axes: int


class DeclarationReader(DomainReader):
    """Reads a whole declaration."""

    def __init__(self, formula: Formula, draft: Draft | None = None) -> None:
        super().__init__(formula, draft or Draft(ALONE))
        self._written: dict[str, list[tuple[tuple[Expr, ...], bool]]] = {}
        self._writers: dict[str, int] = {}

    def read(self, called: str = "") -> Function:
        """The Function; `called` is what a formula alone shall be called, if that is said."""
        if self.token.kind == "end":
            raise self.error(self.token, "there is no formula. Write one, such as squares(x, y) = x**2, x*y, y**2.")
        whole, behind = self.formula, self.domain_at()
        self.formula = whole.until(behind)
        header = self.header()
        if header is None:
            outputs = self._bare()
            self._domain(whole, behind)
            source = f"{self.draft.name}({', '.join(self.draft.tensors)}) = {tidy(whole)}"
            if self.draft.tensors:
                return self.draft.finish(outputs, source, source)
            again = type(self)(tokenize(source))
            again.primitives = self.primitives
            return again.read()
        name = self.next()
        if called:
            raise self.error(name, f"the function has a name, {name.text}. Write {called} instead of it.")
        with self.at(name):
            self.draft = Draft(check_own_name(name.text, "function"))
        self.inputs()
        outputs = self._block() if self.token.text in (":", "->") else self._single(header)
        self._domain(whole, behind)
        return self.draft.finish(outputs, tidy(whole, "\n    ", "\n    "), tidy(whole))

    def _domain(self, whole: Formula, behind: int) -> None:
        """Read the domain, which stands behind the formula."""
        self.formula, self.here = whole, behind
        if self.token.kind != "end":
            self.domain()

    def header(self) -> int | None:
        """The place behind `name(...)` if the text declares a function; None for a formula alone."""
        tokens = self.formula.tokens
        if tokens[0].kind == "name" and tokens[1].text == "(":
            behind = self.formula.partner[1] + 1
            if tokens[behind].text in ("=", "+=", ":", "->", "["):
                return behind
        depth = 0
        for here, token in enumerate(tokens):
            depth += (token.text in ("(", "[")) - (token.text in (")", "]"))
            if not depth and token.text in ("=", "+=", ":", "->"):
                what = tokens[0].text if tokens[0].kind == "name" and here else "f"
                raise self.error(
                    token, f"the inputs are missing before {token.text!r}. Write {what}(x) = ... or f(x): ..."
                )
        return None

    # one statement

    def _bare(self) -> list[str]:
        """A formula alone."""
        self.undeclared = self.elementwise = True
        self._forget_indices()
        return self._bodies((), "f(x) = ...")

    def _forget_indices(self) -> None:
        """Begin a statement: its indices are its own."""
        self.bound, self.extents = ({"...": PACK} if self.elementwise else {}), {}
        self.written_where = []

    def _single(self, behind: int) -> list[str]:
        """`name(inputs)[indices] = body`."""
        self.here = behind
        self._forget_indices()
        subscripts = self.target()
        if not self.accept("="):
            raise self.unexpected(f"'=' is missing behind {self.draft.name}(...)")
        return self._bodies(subscripts, f"{self.draft.name}(...): a = ...; b = ...")

    def _bodies(self, subscripts: tuple[Expr, ...], block: str) -> list[str]:
        """Read one or several results, define them, and return their names."""
        ends = len(self.formula.tokens) - 1
        starts, at, stop = [self.here], self.here, ends
        if self.token.text == "(" and self.formula.partner[self.here] == ends - 1:
            inside = list(self.commas(self.here + 1, ends - 1))
            if inside:
                starts, at, stop = [self.here + 1], self.here + 1, ends - 1
        commas = list(self.commas(at, stop))
        if commas and commas[-1] == stop - 1:
            stop = commas.pop()
        starts += [c + 1 for c in commas]
        names = [self.draft.name_for(name) for name in output_names(len(starts))]
        for name, start, end in zip(names, starts, [*commas, stop], strict=True):
            self.here = start
            self._writers[name] = 1
            self._define(name, subscripts, False, self.token)
            if self.here != end:
                if self.token.kind == "newline" or self.token.text == ";":
                    raise self.error(self.token, f"several statements stand in a block: {block}")
                raise self.unexpected("an operator is missing")
        return names

    def commas(self, start: int, stop: int) -> Iterator[int]:
        """The places of the commas from `start` to `stop` that stand in no bracket."""
        here = start
        while here < stop:
            if self.formula.tokens[here].text == ",":
                yield here
            here = self.formula.partner.get(here, here) + 1

    # a block

    def _block(self) -> list[str]:
        """`name(inputs) -> outputs: statement; ...`."""
        listed = self.listed(lambda: self.expect_name("the name of an output")) if self.accept("->") else []
        self.expect(":", f"before the statements of {self.draft.name}")
        statements = self._statements()
        if not statements:
            raise self.unexpected("the statements are missing")
        for s in statements:
            self._announce(s)
        for s in statements:
            self._statement(s)
        for token in listed:
            if token.text not in self._writers:
                raise self.unknown(token, list(self._writers))
            if [t.text for t in listed].count(token.text) > 1:
                raise self.error(token, f"{token.text} is listed twice.")
        return [t.text for t in listed] or [statements[-1].name.text]

    def _statements(self) -> list[_Statement]:
        """Find the statements, so that a name may be read before it is defined."""
        found: list[_Statement] = []
        tokens, here = self.formula.tokens, self.here
        while tokens[here].kind != "end":
            if tokens[here].text == ";" or tokens[here].kind == "newline":
                here += 1
                continue
            start = here
            if tokens[start].kind != "name":
                self.here = start
                raise self.unexpected("a statement is name[indices] = formula; its name is missing")
            here += 1
            axes = int(self.elementwise)
            if tokens[here].text == "[":
                close = self.formula.partner[here]
                inside = tokens[here + 1 : close]
                packed = any(t.text == "..." for t in inside)
                axes = int(self.elementwise and not packed)
                axes += len(list(self.commas(here + 1, close))) + 1 if inside else 0
                here = close + 1
            if tokens[here].text not in _DEFINES:
                self.here = here
                raise self.unexpected(f"'=' is missing behind {tokens[start].text}")
            body = here + 1
            depth = 0
            while tokens[body + depth].text == "[":
                depth += 1
            found.append(_Statement(tokens[start], start, body, tokens[here].text == "+=", axes + depth))
            while tokens[here].kind not in ("end", "newline") and tokens[here].text != ";":
                here = self.formula.partner.get(here, here) + 1
        return found

    def is_whole(self, here: int) -> bool:
        """Whether the body at `here` is written with whole arrays, for a reader of such."""
        return False

    def whole(self, name: str, subscripts: Sequence[Expr], token: Token) -> None:
        """Read a body of whole arrays, and define it; a number, where it is an element."""
        raise NotImplementedError

    def is_matrix_call(self, here: int) -> bool:
        """Whether the body at `here` is a function of whole arrays and nothing else."""
        tokens = self.formula.tokens
        if tokens[here].text not in MATRIX_FUNCTIONS or tokens[here].text in NAMES or tokens[here + 1].text != "(":
            return False
        behind = tokens[self.formula.partner[here + 1] + 1]
        return behind.kind in ("end", "newline") or behind.text in (";", ",", ")")

    def rank(self, here: int) -> int:
        """The number of axes of the array that is named, or computed from whole arrays, at `here`."""
        tokens = self.formula.tokens
        if tokens[here + 1].text != "(":
            return self.axes.get(tokens[here].text, 0)
        end = self.formula.partner[here + 1]
        starts = [here + 2, *(c + 1 for c in self.commas(here + 2, end))]
        ranks = [self.rank(start) for start in starts]
        name = tokens[here].text
        return max(0, rank_of(name, ranks)) if name in MATRIX_FUNCTIONS and len(ranks) == arity(name) else 0

    def _announce(self, s: _Statement) -> None:
        """Make the name of a result known, with its number of axes."""
        name = s.name.text
        if self.formula.tokens[s.start + 1].text == "=" and self.is_whole(s.body):
            self.draft.reserved.add(name)
            self._writers[name] = self._writers.get(name, 0) + 1
            return  # how many axes it has is known when it is read
        if self.formula.tokens[s.start + 1].text == "=" and self.is_matrix_call(s.body):
            s = replace(s, axes=self.rank(s.body))
        with self.at(s.name):
            check_own_name(name, "result")
        if name in self.draft.tensors or name in self.numbers():
            what = "an input" if name in self.draft.tensors else "a size or an option"
            raise self.error(s.name, f"{name} is {what}. Give the result a name of its own.")
        if self.axes.setdefault(name, s.axes) != s.axes:
            raise self.error(s.name, f"{name} has {s.axes} axes here, and {self.axes[name]} before.")
        self.draft.reserved.add(name)
        self._writers[name] = self._writers.get(name, 0) + 1

    def _statement(self, s: _Statement) -> None:
        self.here = s.start + 1
        self._forget_indices()
        subscripts = self.target()
        self.here = s.body
        self._define(s.name.text, subscripts, s.accumulates, s.name)
        if self.token.text == ",":
            advice = f"list them: {self.draft.name}(...) -> a, b: a = ...; b = ..."
            raise self.error(self.token, f"a statement has one result. Name several, and {advice}")
        if self.token.kind not in ("newline", "end") and self.token.text != ";":
            raise self.unexpected("an operator or ';' is missing")

    # defining

    def _define(self, name: str, shown: tuple[Expr, ...], accumulates: bool, token: Token) -> None:
        """Read the body here, a stack `[a, b]` or an expression, and define the elements of `name`."""
        subscripts = shown if not self.elementwise or PACK in shown else (PACK, *shown)
        if self.token.text != "[":
            self._define_one(name, subscripts, accumulates, token)
            return
        shape: list[int] = []
        for place in self._stack(shape, 0):
            elements = (*subscripts, *(const(k) for k in place))
            self._writers[name] += 1  # several elements: none is the whole
            self._define_one(name, elements, accumulates, token)
        if self.token.kind == "symbol" and self.token.text in ("+", "-", "*", "/", "**", "[", "%", "//"):
            raise self.error(self.token, "a stack [a, b] is a whole result. Give it a name, and use its elements.")

    def _stack(self, shape: list[int], level: int) -> Iterator[tuple[int, ...]]:
        """Step through `[a, b]` or `[[a, b], [c, d]]`, stopping before each element with its place."""
        opening = self.next()
        count = 0
        flat = False
        while True:
            if self.token.text == "[" and not flat:
                for place in self._stack(shape, level + 1):
                    yield (count, *place)
            elif self.token.text == "]":
                if not count:
                    raise self.error(self.token, "a stack has at least one element.")
                break
            else:
                if len(shape) > level + 1:
                    raise self.error(self.token, "the rows of a stack have one length.")
                flat = True
                yield (count,)
            count += 1
            if not self.accept(","):
                break
        self.expect("]", "at the end of the stack")
        while len(shape) <= level:
            shape.append(0)
        if shape[level] not in (0, count):
            raise self.error(opening, f"the rows of a stack have one length; this has {count}, not {shape[level]}.")
        shape[level] = count

    def _define_one(self, name: str, subscripts: tuple[Expr, ...], accumulates: bool, token: Token) -> None:
        self._check_written(name, subscripts, accumulates, token)
        if not accumulates and not indices(*subscripts) and self.is_whole(self.here):
            self.whole(name, subscripts, token)
            return
        if not subscripts and not accumulates and self.is_matrix_call(self.here):
            self.matrix_call(name)
            return
        given = dict(self.extents)
        body, where, kind = self._body(name, given)
        where = conjunction([where, *self.written_where])
        self.check_constants(token, body)
        if PACK in subscripts:
            given[PACK] = ref("...")
        with self.at(token):
            self.draft.define(name, subscripts, body, given, where, reduce=kind)

    def _body(self, name: str, extents: dict[Index, Expr]) -> tuple[Expr, Expr, str]:
        """The body with its condition and reduction: one that is the whole body needs no equation of its own."""
        behind = self.reduction_ends()
        whole = behind is not None and (behind.kind in ("end", "newline") or behind.text in (";", ",", "]"))
        alone = self._writers.get(name, 1) == 1 or self.token.text in ("sum", "mean")
        if not whole or not alone or self.written_where:
            return self.expression(), ONE, "sum"
        r = self.reduction()
        extents |= r.extents
        if r.kind == "mean":
            return r.body / product(self.draft.extent(i) for i in r.over), r.where, "sum"
        return r.body, r.where, r.kind

    def _check_written(self, name: str, subscripts: tuple[Expr, ...], accumulates: bool, token: Token) -> None:
        """Refuse a second `=` for the same elements."""
        for s in subscripts:
            if is_exact(s) and value_of(s) < 0:
                raise self.error(token, "subscripts count from 0.")
        renamed: dict[Expr, Expr] = {i: index(f"#{k}") for k, i in enumerate(indices(*subscripts))}
        place = tuple(substitute(s, renamed) for s in subscripts)
        for other, added in self._written.get(name, []):
            if not accumulates and not added and _overlap(place, other):
                raise self.error(
                    token, f"{name} is defined twice at this place. `+=` adds to it; a name is defined once."
                )
        self._written.setdefault(name, []).append((place, accumulates))


def _overlap(a: tuple[Expr, ...], b: tuple[Expr, ...]) -> bool:
    """Whether two targets certainly share an element: on each axis the same place, or an index and an index or 0."""
    first = [(s, t) for s, t in zip(a, b, strict=True) if s is not t]
    return all(x is ZERO or isinstance(x, Index) for pair in first for x in pair)
