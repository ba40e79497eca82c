"""Operands: numbers, brackets, reductions and calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce

from ...errors import FormulaError
from ...expr import ONE, Expr, Index, Ref, apply, conjunction, const, indices, product, ref
from ...expr.names import is_pack
from ...ops import NAMES, OPS
from ...ops.primitive import declared_names
from ...records import dataclass
from ..composed import COMPOSED
from ..draft import Draft
from ..matrix_functions import MATRIX_FUNCTIONS, Named, arity, define_matrix_function
from .cursor import HINTS
from .names import CONSTANTS, REDUCTIONS, Names
from .tokenizer import Formula, Token


@dataclass(frozen=True, slots=True)
class Reduction:
    """A reduction as read, before it is an equation."""

    kind: str
    over: tuple[Index, ...]
    body: Expr
    extents: Mapping[Index, Expr]
    where: Expr


class ExpressionReader(Names):
    """Reads expressions, and hands their reductions to a Draft."""

    def __init__(self, formula: Formula, draft: Draft) -> None:
        super().__init__(formula, draft)
        self._matrix_calls: dict[tuple[str, tuple[Named, ...]], Named] = {}

    def operand(self) -> Expr:
        token = self.token
        if token.kind == "number":
            self.next()
            return const(int(token.text)) if token.text.isdigit() else const(plain_decimal(token.text))
        if self.binding and token.text == "(" and self.peek().kind == "name" and self.peek(2).text == ":":
            self.next()
            i = self.ranging()
            self.expect(")", f"behind how far {i.name} runs")
            return i
        if token.text == "(":
            behind = self.formula.tokens[self.formula.partner[self.here] + 1]
            return self.element_of_array() if behind.text == "[" else self._group()
        if token.text == "[":
            raise self.error(
                token, "a stack [a, b] is a whole result. Give it a name of its own, and read its elements."
            )
        if token.text in ("...", "*"):
            raise self.error(token, f"{token.text!r} is no operand; an operand is a number, a name or a bracket.")
        if token.kind != "name" or token.text in HINTS:
            raise self.unexpected("an operand is missing")
        after = self.peek()
        if after.text == "[" and token.text in REDUCTIONS and self._is_reduction():
            return self.hoisted()
        if after.text == "(":
            matrix = token.text in MATRIX_FUNCTIONS and token.text not in NAMES
            return self._element_of_matrix_function() if matrix else self._call()
        return self.value()

    def _group(self) -> Expr:
        self.next()
        with self.deeper():
            value = self.expression()
        if self.token.text == ",":
            raise self.error(self.token, "several results stand only behind the `=` of name(inputs) = a, b.")
        self.expect(")", "at the end of the bracket")
        return value

    # reductions

    def _is_reduction(self) -> bool:
        """Whether `sum[` here is a reduction, and not the element of a tensor of that name."""
        closing = self.formula.tokens[self.formula.partner[self.here + 1] + 1]
        return closing.text == "(" or self.token.text not in self.axes

    def reduction_ends(self) -> int | None:
        """The place behind the reduction that starts here; None if none does."""
        if self.token.text not in REDUCTIONS or self.peek().text != "[":
            return None
        bracket = self.formula.partner[self.here + 1] + 1
        return None if bracket not in self.formula.partner else self.formula.partner[bracket] + 1

    def reduction(self) -> Reduction:
        """Read `sum[i, j:n](body)`."""
        first = self.next()
        self.next()
        outer, given = dict(self.bound), dict(self.extents)
        over: dict[Index, Token] = {}
        conditions: dict[Index, Expr] = {}

        def bound() -> None:
            token = self.pack_name() if self.at_pack() else self.expect_name("an index to reduce over")
            i = self.bind(token)
            over[i] = token
            if self.accept(":"):
                conditions.update((i, condition) for condition in self.extent(i))

        self.listed(bound)
        self.expect("]", f"behind the indices and extents of {first.text}[i, j:n]")
        self.expect("(", f"behind the indices of {first.text}, around what is reduced")
        with self.deeper():
            body = self.expression()
        if self.token.text == ",":
            raise self.error(
                self.token, f"{first.text} reduces one expression. A condition is where(c, a, b) inside it."
            )
        self.expect(")", f"at the end of {first.text}")
        extents = {i: self.extents[i] for i in over if i in self.extents}
        self.bound, self.extents = outer, given
        self.check_constants(first, body)
        kind = first.text
        if conditions and kind == "mean":
            counts = (conditions[i].args[1] if i in conditions else self.draft.extent(i) for i in over)
            kind, body = "sum", body / product(counts)
        where = conjunction(conditions.values())
        mentioned = indices(body, where)
        for i, token in over.items():
            if i not in mentioned and i not in extents:
                raise self.error(
                    token, f"what {first.text} reduces does not mention {i.name}. Say how far: {i.name}:n."
                )
        return Reduction(kind, tuple(over), body, extents, where)

    def hoisted(self) -> Expr:
        """Read a reduction, make it an equation of its own, and return the reference to it."""
        token = self.token
        r = self.reduction()
        with self.at(token):
            return self.draft.reduce(r.kind, r.over, r.body, {**self.extents, **r.extents}, r.where)

    # functions of whole arrays

    def _element_of_matrix_function(self) -> Expr:
        """`inv(A)[i,j]`: the function gets an equation of its own."""
        token = self.token
        found = self.matrix_call()
        given = self.subscripts(token) if self.token.text == "[" else ()
        if len(given) != found.rank:
            example = ",".join("ijklpqrs"[: found.rank])
            raise self.error(
                token,
                f"{token.text}(...) has {found.rank} axes here. Write {found.rank} subscripts: "
                f"{token.text}(...)[{example}]; or name it whole in a statement: x = {token.text}(...)."
                if found.rank
                else f"{token.text}(...) is a number, and is read without subscripts.",
            )
        return ref(found.name, *given)

    def matrix_call(self, target: str | None = None, at: Sequence[Index] = ()) -> Named:
        """Read `solve(A, b)` with names of arrays (or functions of such) between the brackets, and define it; `at` are
        the indices of the result, if it has any of its own."""
        token = self.next()
        self.next()
        operands = self.listed(self._array)
        self.expect(")", f"behind the arrays of {token.text}")
        if len(operands) != arity(token.text):
            many = "1 array" if arity(token.text) == 1 else f"{arity(token.text)} arrays"
            raise self.error(token, f"{token.text} takes {many}, not {len(operands)}.")
        known = (token.text, tuple(operands))
        if target is None and known in self._matrix_calls:
            return self._matrix_calls[known]
        with self.at(token):
            found = define_matrix_function(self.draft, token.text, operands, target, at)
        self.axes[found.name] = found.rank
        self._matrix_calls[known] = found
        return found

    def _array(self) -> Named:
        """The name of an array, or a function of whole arrays."""
        token = self.token
        if token.kind != "name":
            raise self.unexpected("the name of an array is missing")
        if self.peek().text == "(" and token.text in MATRIX_FUNCTIONS:
            return self.matrix_call()
        self.next()
        tensor = self.draft.tensors.get(token.text)
        subscripts = self.draft.targets.get(token.text)
        if self.token.text == "[":
            said = f"a function of whole arrays takes {token.text} by its name, without subscripts."
            raise self.error(self.token, said)
        if tensor is not None:
            subscripts = tensor.shape
        if subscripts is None:
            if token.text in self.axes:
                raise self.error(token, f"{token.text} is defined behind this place. Define it before.")
            raise self.unknown(token, [*self.draft.tensors, *self.draft.targets])
        packs = [s.name for s in subscripts[:1] if isinstance(s, (Index, Ref)) and is_pack(s)]
        return Named(token.text, len(subscripts), *packs)

    # calls

    def _call(self) -> Expr:
        token = self.token
        name = token.text
        if name == "Piecewise":
            return self._piecewise()
        if name == "given":
            return self._given()
        if name == "size" and self.peek(2).text in ("...", "*"):
            return self._size_of_pack()
        op = NAMES.get(name) or self.primitive(token)
        composed = None if op is not None or self.has_a_value(name) else COMPOSED.get(name)
        if composed is None and (op is None or OPS[op].arity == 0):
            return self.element_of_array()
        self.next()
        args = self._arguments()
        if composed is not None:
            with self.at(token):
                return self.composition(token, composed, args)
        assert op is not None
        if op == "log" and len(args) == 2:  # SymPy's logarithm to a base
            return self.build(token, "div", *(self.build(token, "log", a) for a in args))
        arity = OPS[op].arity
        if OPS[op].associative and len(args) >= 2:
            return reduce(partial(self.build, token, op), args)
        if len(args) != arity:
            takes = f"{arity} argument{'s' if arity > 1 else ''}" if not OPS[op].associative else "at least 2 arguments"
            raise self.error(token, f"{name} takes {takes}, not {len(args)}.")
        return self.build(token, op, *args)

    def composition(self, token: Token, formula: Callable[..., Expr], args: Sequence[Expr]) -> Expr:
        """A function that is a formula of others."""
        try:
            return formula(*args)
        except TypeError:
            raise self.error(token, f"{token.text} does not take {len(args)} arguments.") from None

    def element_of_array(self) -> Expr:
        """`softmax(x)[i]`, `(A @ x)[i]`: for a reader of whole arrays."""
        token = self.token
        if token.text == "(":
            raise self.error(token, "an expression in brackets has no elements. Name it in a statement of its own.")
        raise self.no_function(token)

    def has_a_value(self, name: str) -> bool:
        """Whether the declaration uses the name for a value."""
        return name in self.axes or name in self.bound or name in self.numbers()

    def no_function(self, token: Token) -> FormulaError:
        name = token.text
        if self.has_a_value(name) or name in CONSTANTS:
            return self.error(token, f"{name} is not a function. A product is {name}*(...), an element {name}[i].")
        if name in REDUCTIONS:
            return self.error(token, f"{name} needs the indices it runs over: {name}[i](...).")
        own = [*self.primitives, *declared_names(), *self.functions()]
        return self.unknown(
            token, [*NAMES, *COMPOSED, *own, *sorted(REDUCTIONS), "Piecewise", "given", *MATRIX_FUNCTIONS]
        )

    def functions(self) -> Sequence[str]:
        """The names of functions of whole arrays, for a reader of such."""
        return ()

    def _arguments(self) -> list[Expr]:
        self.next()
        with self.deeper():
            args = [] if self.token.text == ")" else self.listed(self.expression)
            self.expect(")", "behind the arguments")
        return args

    def _piecewise(self) -> Expr:
        """`Piecewise((a, c), (b, True))`: SymPy's order, the value before its condition."""
        token = self.next()
        self.next()
        with self.deeper():
            pieces = self.listed(self._piece)
        self.expect(")", "behind the pieces")
        value, last = pieces.pop()
        if last is not ONE:
            raise self.error(token, "the last piece of Piecewise has the condition True: (value, True).")
        for then, condition in reversed(pieces):
            value = self.build(token, "select", condition, then, value)
        return value

    def _piece(self) -> tuple[Expr, Expr]:
        if not self.accept("("):
            raise self.unexpected("a pair (value, condition) is missing")
        then = self.expression()
        if self.token.text == ")":
            raise self.error(self.token, "a piece is a pair (value, condition).")
        self.expect(",", "behind the value of a piece")
        condition = self.expression()
        self.expect(")", "behind the condition of a piece")
        return then, condition

    def _size_of_pack(self) -> Expr:
        """`size(...)`, `size(*batch)`: how many elements there are along these axes."""
        self.next()
        self.next()
        name = self.pack_name()
        if name.text not in self.draft.dims:
            raise self.error(name, f"no input has the axes {name.text}. Declare them: x[{name.text},n].")
        self.expect(")", "behind size(...)")
        return ref(name.text)

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
            self.subscripts(name)
        branches: list[Expr] = []
        with self.deeper():
            for _ in range(2):
                self.expect(",", f"in {token.text}(mask, then, otherwise)")
                branches.append(self.expression())
        self.expect(")", "behind given(mask, then, otherwise)")
        return self.given(token, name.text, *branches)

    def given(self, token: Token, name: str, then: Expr, otherwise: Expr) -> Expr:
        """One of the branches of an optional input."""
        return apply("given", ref(name), then, otherwise)


def plain_decimal(text: str) -> str:
    """A decimal as typed, with a digit on both sides of its point."""
    mantissa, e, exponent = text.lower().partition("e")
    mantissa = f"0{mantissa}" if mantissa.startswith(".") else mantissa
    mantissa = f"{mantissa}0" if mantissa.endswith(".") else mantissa
    return mantissa + e + exponent
