"""The header: the inputs with their shapes, and the options."""

from __future__ import annotations

from itertools import pairwise

from ...expr import Expr, const, ref, refs
from ...expr.names import is_pack
from ...ir import Dtype
from ..draft import Draft
from .expression import ExpressionReader
from .names import check_own_name
from .operators import SUM
from .tokenizer import Formula, Token

MAX_OPTIONAL = 8  # every optional input doubles the equations that it stands in
_DTYPES = {"int": Dtype.INT, "bool": Dtype.BOOL, "real": Dtype.REAL, "float": Dtype.REAL}


class HeaderReader(ExpressionReader):
    """Reads what stands in the brackets behind the name of a function."""

    def __init__(self, formula: Formula, draft: Draft) -> None:
        super().__init__(formula, draft)
        self._numbers: set[str] = set()  # the options, which may be sizes before they are read
        self._lengths: list[tuple[Token, Expr, Expr]] = []  # of axes that are computed
        self._sizes = False  # whether operands are sizes at this place

    def inputs(self) -> None:
        """Read `(x[n,k], bias[m]?, t[n]: int; eps=1e-5)`."""
        end = self.formula.partner[self.here]
        tokens = self.formula.tokens[self.here + 1 : end]
        behind = next((n for n, t in enumerate(tokens) if t.text == ";"), len(tokens))
        self._numbers = {t.text for t, after in pairwise(tokens[behind:]) if after.text == "="}
        self.elementwise = bool(tokens) and tokens[0].text != ";" and not any(t.text == "[" for t in tokens)
        self.next()
        if self.token.text not in (")", ";"):
            self.listed(self._input)
        if self.accept(";"):
            self.listed(self._option)
        self._require_lengths()
        if self.here != end:
            default = "an option stands behind ';', and an input that may be absent is b[n]?"
            raise self.unexpected(default if self.token.text == "=" else "',' or ')' is missing")
        self.next()

    def _input(self) -> None:
        token = self.expect_name("the name of an input")
        shape: list[Expr] = [self.draft.dim("...")] if self.elementwise else []
        with self.at(token):
            check_own_name(token.text, "input")
        if self.token.text == "[":
            shape = self._shape(token.text)
        optional = self.accept("?")
        if optional and sum(t.optional for t in self.draft.tensors.values()) == MAX_OPTIONAL:
            raise self.error(token, f"at most {MAX_OPTIONAL} inputs are optional.")
        dtype = Dtype.REAL
        if self.accept(":"):
            kind = self.expect_name("int, bool or real")
            if kind.text not in _DTYPES:
                raise self.error(kind, f"the elements of an input are int, bool or real, not {kind.text}.")
            dtype = _DTYPES[kind.text]
        with self.at(token):
            self.draft.input(token.text, shape, dtype, optional)
        self.axes[token.text] = len(shape)

    def _shape(self, owner: str) -> list[Expr]:
        self.next()
        if self.accept("]"):
            return []
        shape = self.listed(lambda: self._size(owner))
        if self.token.text != "]":
            raise self.error(
                self.token, "an axis of an input is a name, a whole number, arithmetic of such, d*(d+1)//2, or `...`."
            )
        self.next()
        return shape

    def _size(self, owner: str) -> Expr:
        token, after = self.token, self.peek()
        computed = token.text == "(" or after.kind == "symbol" and after.text not in (",", "]")
        if not self.at_pack() and (computed or token.text in self._numbers):
            return self._length(owner)
        if token.kind == "number" and token.text.isdigit():
            return const(int(self.next().text))
        if token.kind != "name" and not self.at_pack():
            raise self.unexpected("a size is missing")
        token = self.pack_name() if self.at_pack() else self.next()
        with self.at(token):
            return self.draft.dim(token.text if is_pack(token.text) else check_own_name(token.text, "size"))

    def _length(self, owner: str) -> Expr:
        """An axis that is as long as other sizes, or an option, say: a size of its own, which the code checks."""
        token = self.token
        self._sizes = True
        value = self.expression(SUM)
        self._sizes = False
        size = self.draft.dim(self.draft.name_for(f"{owner}_length"))
        self._lengths.append((token, size, value))
        return size

    def operand(self) -> Expr:
        """An operand; in the axes of an input, a size, an option or a whole number."""
        if not self._sizes or self.token.text == "(":
            return super().operand()
        token = self.next()
        if token.kind == "name":
            return ref(token.text)
        if not token.text.isdigit():
            raise self.error(token, "a size is made of names and whole numbers.")
        return const(int(token.text))

    def _require_lengths(self) -> None:
        for token, size, value in self._lengths:
            for r in refs(value):
                if r.name not in self.numbers():
                    raise self.error(
                        token, f"nothing tells {r.name}: give it to an axis of its own, x[{r.name}], or to an option."
                    )
            self.check_integer(token, value, "an axis")
            self.draft.require(lengths=[(size, value)])

    def _option(self) -> None:
        token = self.expect_name("the name of an option")
        if self.token.text == ":":
            raise self.error(self.token, f"an option has the type of its default: {token.text}=2 is a whole number.")
        self.expect("=", f"behind the option {token.text}, for its default")
        value = self._default()
        with self.at(token):
            check_own_name(token.text, "option")
            self.draft.option(token.text, value)

    def _default(self) -> int | float:
        negative = self.accept("-")
        token = self.token
        if token.kind != "number":
            raise self.unexpected("the default of an option, a number, is missing")
        self.next()
        number: int | float = int(token.text) if token.text.isdigit() else float(token.text)
        if isinstance(number, int) and number >= 2**63:
            raise self.error(token, "an integer option is below 2**63. Write a real one with a point.")
        return -number if negative else number
