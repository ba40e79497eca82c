"""Names: what they stand for, their subscripts, and the indices that a target or a reduction binds."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence

from ...errors import DeclarationError, FormulaError
from ...expr import ONE, ZERO, Apply, Expr, Index, Ref, apply, index, indices, is_exact, postorder, ref, refs, value_of
from ...expr.names import is_pack
from ...ir import REDUCTIONS as KINDS
from ...ir import Dtype, dtype_of, show_element
from ...ops import NAMES, OPS
from ...ops.limits import INFINITY
from ...ops.primitive import Primitive, declared
from ..draft import Draft
from ..matrix_functions import MATRIX_FUNCTIONS
from ..names import check_name
from .operators import EULER, SUM, Operators
from .tokenizer import Formula, Token

PACK = index("...")
REDUCTIONS = frozenset({"mean", *KINDS} - {"none"})
CONSTANTS: Mapping[str, Expr] = {"pi": apply("pi"), "True": ONE, "False": ZERO, "oo": INFINITY}
FUNCTIONS_KNOWN = "Functions have the names of NumPy and SymPy, and those of sg.library."
DERIVED = "A formula is what is differentiated: gradients, Jacobian and Hessian are made of it."
ELSEWHERE: Mapping[str, str] = {  # what other notations have, and what stands for it here
    **dict.fromkeys(("inf", "infinity", "Infinity", "Inf"), "Did you mean oo?"),
    **dict.fromkeys(("nan", "NaN"), "No number stands for none: where(condition, then, otherwise) has two that are."),
    **dict.fromkeys(("derivative", "Derivative", "grad", "gradient", "jacobian", "hessian"), DERIVED),
    **dict.fromkeys(("normcdf", "norm_cdf", "Phi"), "Did you mean ndtr, the normal distribution function?"),
    **dict.fromkeys(("normpdf", "norm_pdf"), "The normal density is exp(-x**2/2)/sqrt(2*pi)."),
    **dict.fromkeys(("saturate", "sat", "bound"), "Did you mean clip(x, low, high)?"),
    **dict.fromkeys(("std", "var"), "Of an index there is a mean: mean[i]((x[i] - m)**2) with m = mean[i](x[i])."),
    **dict.fromkeys(("integrate", "integral", "quad"), "There are no integrals; a sum is sum[i](...)."),
}
LETTERS: Mapping[str, Expr] = {"e": EULER, "E": EULER}  # constants where nothing else has the name


class Names(Operators):
    """Knows the names of the declaration.

    axes         the number of axes of every input and result, the pack included
    elementwise  every input is bare: a bare name is an element of an array of the one shape `...`
    undeclared   a formula without a header: a new name is an input
    bound        the indices of the target and of the reductions around this place, and the extents given to them
    primitives   functions of the user's that may be called, besides those that are declared by name
    written_where   the conditions that an extent of the target is, where it follows another index
    """

    def __init__(self, formula: Formula, draft: Draft) -> None:
        super().__init__(formula)
        self.draft = draft
        self.axes: dict[str, int] = {}
        self.elementwise = False
        self.undeclared = False
        self.bound: dict[str, Index] = {}
        self.extents: dict[Index, Expr] = {}
        self.written_where: list[Expr] = []
        self.primitives: Mapping[str, Primitive] = {}
        self.binding = False

    def primitive(self, token: Token) -> Primitive | None:
        """The user's function of that name, if nothing else here has it."""
        name = token.text
        if name in self.axes or name in self.bound or name in self.numbers():
            return None
        with self.at(token):
            return self.primitives.get(name) or declared(name)

    def value(self) -> Expr:
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
        if name in CONSTANTS:
            return CONSTANTS[name]
        if self.binding:
            return self.bind(token)
        if name in LETTERS and self.token.text != "[":
            return LETTERS[name]
        if name in MATRIX_FUNCTIONS and name not in NAMES:
            raise self.error(token, f"{name} is a function of whole arrays. Write {name}(A), with the names of arrays.")
        if name in NAMES or name in REDUCTIONS:
            usage = f"{name}[i](...)" if name in REDUCTIONS and name not in NAMES else f"{name}(...)"
            raise self.error(token, f"{name} is a function. Write {usage}.")
        if self.primitive(token) is not None:
            raise self.error(token, f"{name} is a function. Write {name}(...).")
        if self.undeclared and self.token.text != "[":
            with self.at(token):
                self.draft.input(name, [self.draft.dim("...")])
            self.axes[name] = 1
            return self._element(token)
        if self.undeclared:
            raise self.error(token, f"nothing tells the shape of {name}. Declare it: f({name}[n])[i] = ...")
        raise self.unknown(token, [*self.axes, *self.bound, *self.numbers(), "pi", *NAMES, *MATRIX_FUNCTIONS])

    def unknown(self, token: Token, known: Sequence[str]) -> FormulaError:
        if token.text in self.draft.reserved and token.text not in self.axes:
            return self.error(token, f"{token.text} is defined behind this place. Define it before.")
        names = [n for n in dict.fromkeys(known) if n != "..." and not (n in OPS and OPS[n].kind == "arithmetic")]
        here = self._known_here()
        if token.text in ELSEWHERE:
            return self.error(token, f"{token.text} is not known. {ELSEWHERE[token.text]}")
        called = (self.peek() if self.token is token else self.token).text == "("
        if len(token.text) == 1 and not called:
            letter = token.text
            return self.error(
                token,
                f"{letter} is not known. {here} An input stands in the header; an index is named on the "
                f"left, f(x[n])[{letter}] = ..., or is summed, sum[{letter}](...).",
            )
        results = [n for n in names if n.startswith(f"{token.text}_")]  # qr: qr_q, qr_r
        close = difflib.get_close_matches(token.text, names, n=1, cutoff=0.6) if len(token.text) > 1 else []
        near = [" or ".join(results)] if results else close
        advice = f"Did you mean {near[0]}?" if near else here
        if not near and called:
            advice = f"{FUNCTIONS_KNOWN} {here}"
        return self.error(token, f"{token.text} is not known. {advice}")

    def _known_here(self) -> str:
        """What a name may stand for at this place, by what it is."""
        results = [n for n in self.axes if n not in self.draft.tensors]
        topics = {"inputs": [*self.draft.tensors], "results": results, "sizes and options": self.numbers()}
        topics["indices"] = [n for n in self.bound if n != "..."]
        said = "; ".join(f"{what} {', '.join(own)}" for what, own in topics.items() if own)
        return f"Known here: {said or 'nothing'}."

    def numbers(self) -> list[str]:
        return [*(n for n in self.draft.dims if n != "..."), *(o.name for o in self.draft.options)]

    def _element(self, token: Token) -> Expr:
        name, axes = token.text, self.axes[token.text]
        given: tuple[Expr, ...] = ()
        if self.token.text == "[":
            given = self.subscripts(token)
        if self.elementwise and PACK not in given:
            given = (PACK, *given)
        if len(given) != axes:
            shown = axes - self.elementwise
            if not shown:
                raise self.error(token, f"{name} is declared without axes, and is read without subscripts.")
            example = ",".join([*"ijklpqrs"[:shown], "..."][: shown if shown <= 8 else 9])
            raise self.error(
                token,
                f"{name} has {shown} {'axis' if shown == 1 else 'axes'}. Write {shown} of them: {name}[{example}].",
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
            if s is extent and not is_exact(s):
                raise self.error(
                    token,
                    f"{extent} is the size of this axis, so {token.text}[{extent}] is past its end. Name an index.",
                )
            if is_exact(s) and is_exact(extent) and value_of(s) >= value_of(extent):
                last = value_of(extent) - 1
                raise self.error(token, f"this axis of {token.text} has {extent} elements, the last is {last}.")

    # subscripts

    def subscripts(self, owner: Token) -> tuple[Expr, ...]:
        self.expect("[", "here")
        found = [] if self.token.text == "]" else self.listed(self.subscript)
        if self.token.text == ":":
            raise self.error(self.token, "a subscript is one position. Name an index, and read x[i+1].")
        self.expect("]", f"at the end of the subscripts of {owner.text}")
        return tuple(found)

    def subscript(self) -> Expr:
        """One position: a pack, a merged pair `(h e)`, or an integer expression."""
        token = self.token
        if self.at_pack():
            return self._pack()
        if token.text == "(" and self.peek().kind == "name" and self.peek(2).kind == "name":
            return self._merged()
        with self.deeper():
            value = self.expression()
        self.check_integer(token, value, "a subscript")
        return value

    def at_pack(self) -> bool:
        return self.token.text in ("...", "*")

    def _pack(self) -> Index:
        name = self.pack_name()
        found = self.bound.get(name.text)
        if found is not None:
            return found
        if name.text not in self.draft.dims:
            raise self.error(name, f"no input has the axes {name.text}. Declare them: x[{name.text},n].")
        if self.binding:
            return self.bind(name)
        raise self.error(
            name, f"the result does not show `{name.text}`. Write it behind its name, or sum[{name.text}](...)."
        )

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
            if i is None and self.binding and token.text not in self.axes and token.text not in self.numbers():
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
        if any(isinstance(n, Apply) and n.op == "oo" for n in postorder(value)):
            raise self.error(token, f"{what} is made of indices, sizes and integers.")
        if dtype_of(value, kinds) == Dtype.REAL:
            tensor = self.draft.tensors.get(value.name) if isinstance(value, Ref) else None
            advice = "`//` divides integers."
            if tensor is not None:
                advice = f"An array of integers is declared as {show_element(tensor.name, tensor.shape)}: int."
            raise self.error(token, f"{what} is an integer; this is a real number. {advice}")

    def extent(self, i: Index) -> list[Expr]:
        """Read how far the index `i` runs: an integer made of sizes, options and the indices around; return the
        condition that there is where it follows one of these."""
        token = self.token
        value = self.expression(SUM)
        self.check_integer(token, value, "an extent")
        if any(r.name in self.axes for r in refs(value)):
            raise self.error(token, "an extent is made of sizes, options, integers and the indices around it.")
        if i in indices(value):
            raise self.error(token, f"{i.name} cannot say how far it runs itself.")
        if is_exact(value) and value_of(value) < 0:
            raise self.error(token, "an extent is at least 0.")
        with self.at(token):
            self.extents[i], condition = self.draft.box_and_condition(i, value)
        return [] if condition is None else [condition]

    def bind(self, token: Token) -> Index:
        """Make `token` an index of this statement."""
        name = token.text
        if name in self.bound:
            raise self.error(token, f"the index {name} is taken already around this place. Use another letter.")
        pack = is_pack(name)
        if not pack and (name in self.axes or name in self.numbers()):
            what = "a size or an option" if name in self.numbers() else "a tensor"
            raise self.error(token, f"{name} is {what}, and cannot be an index as well. Use another letter.")
        if not pack:
            with self.at(token):
                check_own_name(name, "index")
        self.bound[name] = index(name)
        return self.bound[name]

    def ranging(self) -> Index:
        """Read `j:n-1` in a target: an index, and how far it runs."""
        i = self.bind(self.next())
        self.next()
        self.binding = False
        self.written_where += self.extent(i)
        self.binding = True
        return i

    def target(self) -> tuple[Expr, ...]:
        """Read `[i, j:n-1, 2*k, (r:m)*n + l]` behind the name of a target: its subscripts."""
        found: list[Expr] = []
        if self.accept("["):
            self.binding = True
            while self.token.text != "]":
                ranges = self.token.kind == "name" and self.peek().text == ":"
                found.append(self.ranging() if ranges else self.subscript())
                if not self.accept(","):
                    break
            self.binding = False
            self.expect("]", "at the end of the subscripts")
        return tuple(found)


def check_own_name(name: str, what: str) -> str:
    """Return `name`; raise DeclarationError for a word of the formula text or of a printed language."""
    if name in CONSTANTS:
        raise DeclarationError(f"{what} {name!r} is a constant. Choose another name for this {what}.")
    return check_name(name, what)
