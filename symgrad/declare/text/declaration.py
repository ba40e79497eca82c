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
    apply,
    conjunction,
    const,
    index,
    indices,
    is_exact,
    product,
    ref,
    refs,
    substitute,
    value_of,
)
from ...ir import Function, When, accumulating, distinct
from ...ops import NAMES
from ...ops.matrices import MATRICES
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
    partial: bool  # `where` or `when` says where it counts


class DeclarationReader(DomainReader):
    """Reads a whole declaration."""

    def __init__(self, formula: Formula, draft: Draft | None = None) -> None:
        super().__init__(formula, draft or Draft(ALONE))
        self._written: dict[str, list[tuple[tuple[Expr, ...], bool]]] = {}
        self._writers: dict[str, int] = {}
        self._requirements: list[int] = []  # the places of `require(...)`
        self._partial: dict[str, Token] = {}  # results that are defined by `=` with a condition

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
        function = self.draft.finish(outputs, tidy(whole, "\n    ", "\n    "), tidy(whole))
        self._check_partial(function)
        return function

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
        behind = self.here
        for place in self._requirements:
            self.here = place
            self._require()
        self.here = behind
        if not statements:
            raise self.unexpected("the statements are missing")
        for s in statements:
            self._announce(s)
        for s in statements:
            self._statement(s)
        for token in listed:
            if token.text not in self._writers:
                said = f"no statement says what {token.text} is"
                raise self.error(token, f"{said}; there is {', '.join(self._writers)}. Write {token.text} = ...")
            if [t.text for t in listed].count(token.text) > 1:
                raise self.error(token, f"{token.text} is listed twice.")
        return [t.text for t in listed] or [statements[-1].name.text]

    def _require(self) -> None:
        """Read `require(n % 2 == 0, k >= 1)`: conditions on sizes and options."""
        self.next()
        self.next()
        for condition in self.listed(self.expression):
            for r in refs(condition):
                if r.name not in self.numbers():
                    raise self.error(self.token, f"{r.name} is no size or option, which require(...) asks for.")
            self.draft.require(conditions=[condition])
        self.expect(")", "behind the conditions")

    def _statements(self) -> list[_Statement]:
        """Find the statements, so that a name may be read before it is defined."""
        found: list[_Statement] = []
        tokens, here = self.formula.tokens, self.here
        while tokens[here].kind != "end":
            if tokens[here].text == ";" or tokens[here].kind == "newline":
                here += 1
                continue
            if tokens[here].text == "require" and tokens[here + 1].text == "(":
                self._requirements.append(here)
                here = self.formula.partner[here + 1] + 1
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
            adds, partial = tokens[here].text == "+=", False
            while tokens[here].kind not in ("end", "newline") and tokens[here].text != ";":
                here = self.formula.partner.get(here, here) + 1
                partial |= self.is_condition(here)
            found.append(_Statement(tokens[start], start, body, adds, axes + depth, partial))
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
        return self.ends(self.formula.partner[here + 1] + 1)

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
        if self._is_matrix_call_at(s, subscripts):
            self._check_written(s.name.text, subscripts, s.accumulates, s.name)
            self.matrix_call(s.name.text, indices(*subscripts))
            self.subscripts(s.name)
        else:
            if s.partial and not s.accumulates:
                self._partial[s.name.text] = s.name
            self._define(s.name.text, subscripts, s.accumulates or s.partial, s.name)
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
        if self.token.text in MATRICES and self.peek(3).text == ":" and self.token.text not in self.axes:
            self._matrix_equation(name, subscripts)
            return
        if self._is_shape(name, subscripts, accumulates):
            return
        given = dict(self.extents)
        body, where, kind = self._body(name, given)
        where = conjunction([where, *self.written_where, *self._where(indices(body))])
        when = self._when(body)
        self.check_constants(token, body)
        if PACK in subscripts:
            given[PACK] = ref("...")
        with self.at(token):
            self.draft.define(name, subscripts, body, given, where, reduce=kind, when=when)

    def _where(self, mentioned: Sequence[Index]) -> list[Expr]:
        """`where 0 <= i < n, x[i] > 0` behind a body: the conditions on its indices under which it counts."""
        if not self.accept("where"):
            return []
        self.bound = {i.name: i for i in mentioned} | self.bound
        return self.listed(self.expression)

    def _when(self, body: Expr) -> When:
        """`when bias is given`, `when weight is given and bias is absent` behind a body."""
        found: list[tuple[str, bool]] = []
        while self.accept("and" if found else "when"):
            name = self.expect_name("an optional input")
            tensor = self.draft.tensors.get(name.text)
            if tensor is None or not tensor.optional:
                raise self.error(name, "`when` asks for an optional input, declared as bias[n]?.")
            if not (self.accept("is") and self.token.text in ("given", "absent")):
                raise self.unexpected(f"`when {name.text} is given` or `when {name.text} is absent`")
            found.append((name.text, self.next().text == "given"))
            if not found[-1][1] and any(r.name == name.text for r in refs(body)):
                raise self.error(name, f"{name.text} is read here, and is absent.")
        return tuple(found)

    def _matrix_equation(self, name: str, subscripts: tuple[Expr, ...]) -> None:
        """`solve[k:n,l:n](A[l,k], b[k])[i]`: a function of matrices, by the elements of its operands."""
        token = self.next()
        row = MATRICES[token.text]
        self.next()
        over: list[Index] = []

        def bound() -> None:
            over.append(self.bind(self.expect_name("an index")))
            self.expect(":", f"behind {over[-1].name}, and how far it runs")
            self.extent(over[-1])

        self.listed(bound)
        self.expect("]", f"behind the indices of {token.text}")
        self.expect("(", f"before the elements that {token.text} takes")
        operands = self.listed(self.expression)
        self.expect(")", f"behind the elements that {token.text} takes")
        shown = self.subscripts(token) if self.token.text == "[" else ()
        counts = len(over), len(operands), len(shown)
        free = [i for i in indices(*subscripts) if i not in indices(*operands)]
        if counts != (len(row.axes.split()), len(row.operands), row.rank) or [*shown] != free[len(free) - row.rank :]:
            axes = ",".join(f"{i}:{n}" for i, n in zip("ijkl", row.axes.split(), strict=False))
            raise self.error(
                token,
                f"{token.text} is written as {token.text}[{axes}](...), of {len(row.operands)} elements, "
                f"and has {row.rank} subscripts of its own behind it, which are the last on the left.",
            )
        body = apply("pair", *operands) if len(operands) == 2 else operands[0]
        self.draft.define(name, subscripts, body, self.extents, reduce=token.text)

    def _is_shape(self, name: str, subscripts: tuple[Expr, ...], accumulates: bool) -> bool:
        """Whether this is `out[i:n,j:m] = 0` beside other statements, which says how long the axes are."""
        several = (
            self._writers.get(name, 1) > 1 and not accumulates and self.token.text == "0" and self.ends(self.here + 1)
        )
        if not several or not subscripts or any(s not in self.extents for s in subscripts):
            return False
        self.next()
        self._written[name].pop()  # what is not written is 0 as it is
        self.draft.shape(name, [self.extents[i] for i in indices(*subscripts)])
        return True

    def is_condition(self, here: int) -> bool:
        """Whether `where` or `when` at `here` says where what stands before it counts."""
        return self.formula.tokens[here].text in ("where", "when") and self.formula.ended_before(here)

    def ends(self, here: int) -> bool:
        """Whether a body ends before the place `here`."""
        token = self.formula.tokens[here]
        return token.kind in ("end", "newline") or token.text in (";", ",", ")", "]") or self.is_condition(here)

    def _is_matrix_call_at(self, s: _Statement, subscripts: tuple[Expr, ...]) -> bool:
        """Whether the statement is `factor[i,j] = cholesky(A)[i,j]`: the function by the indices of the result."""
        tokens, partner = self.formula.tokens, self.formula.partner
        called = tokens[s.body].text in MATRIX_FUNCTIONS and tokens[s.body + 1].text == "("
        first, second = s.start + 1, partner[s.body + 1] + 1 if called else 0
        if not called or first not in partner or tokens[second].text != "[" or not distinct(subscripts):
            return False
        left, right = ([t.text for t in tokens[at : partner[at]]] for at in (first, second))
        return left == right and len(indices(*subscripts)) == len(subscripts) and self.ends(partner[second] + 1)

    def _check_partial(self, function: Function) -> None:
        """Refuse `=` for elements that another statement defines, too."""
        for name, token in self._partial.items():
            equations = [e for e in function.statements if e.target == name]
            if not any(e.when for e in equations) and any(accumulating(equations, function.facts)):
                raise self.error(token, f"{name} is defined twice where conditions meet. `+=` adds to it.")

    def _body(self, name: str, extents: dict[Index, Expr]) -> tuple[Expr, Expr, str]:
        """The body with its condition and reduction: one that is the whole body needs no equation of its own."""
        behind = self.reduction_ends()
        whole = behind is not None and self.ends(behind)
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
                begun = [s for s, t in zip(subscripts, other, strict=True) if t is ZERO and isinstance(s, Index)]
                instead = "`+=` adds to it; a name is defined once."
                if begun:
                    instead = f"A recurrence says the next element by the last one: {name}[{begun[0]}+1] = ..."
                raise self.error(token, f"{name} is defined twice at this place. {instead}")
        self._written.setdefault(name, []).append((place, accumulates))


def _overlap(a: tuple[Expr, ...], b: tuple[Expr, ...]) -> bool:
    """Whether two targets certainly share an element: on each axis the same place, or an index and an index or 0."""
    first = [(s, t) for s, t in zip(a, b, strict=True) if s is not t]
    return all(x is ZERO or isinstance(x, Index) for pair in first for x in pair)
