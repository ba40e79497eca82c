"""Formulas with whole arrays: `x.T @ A @ x`, `softmax(q @ k.T/sqrt(d)) @ v`, `norm(x)`, beside those of their elements.

A statement without subscripts on its left whose body has an array by its name, `@` or `.T` is read with whole arrays:
operators and functions do what they do in Python, where NumPy's rules of shapes hold. `softmax(x)[i]` and `(A @ x)[i]`
are elements of such, in any formula. Functions are NumPy's of arrays, and those of `symgrad.library`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .declare.composed import COMPOSED
from .declare.draft import Draft
from .declare.matrix_functions import MATRIX_FUNCTIONS
from .declare.python import functions as array_functions
from .declare.python import joining
from .declare.python.arithmetic import elementwise, mapped, matmul
from .declare.python.arrays import Array, as_array
from .declare.python.declared import Declared
from .declare.python.graph import Node, Value, input_of, is_loop, packs_in, places_of, reachable, read, resolve
from .declare.python.lowering import Lowering
from .declare.python.numpy_functions import FUNCTIONS, bound
from .declare.python.reshaping import swapaxes, transpose
from .declare.python.scope import Scope, entered
from .declare.python.values import Traced, traced
from .declare.text import DeclarationReader, read_formula
from .declare.text.names import REDUCTIONS
from .declare.text.operators import EULER
from .declare.text.tokenizer import Formula, Token
from .expr import Expr, Index, indices, is_exact, ref, refs, value_of
from .ir import Function
from .later import Later
from .ops import NAMES

library: Any = Later("symgrad.library")  # what calls none of it does without
_NO_CODE = compile("None", "", "eval")  # a formula is no Python function, whose file and frame would tell names
_WORDS = {"True": True, "False": False, "None": None}


def parse(text: str, primitives: Sequence[Any] = (), name: str = "") -> Function:
    """Return the Function that `text` declares.

    primitives  functions of `sg.primitive` that it may call, besides those that have a name of their own
    name        what a formula alone is called; f if nothing is said

    `text` is `name(inputs)[indices] = body`, a block `name(inputs): statement; ...`, or a formula alone, whose names
    are the inputs in order of appearance. Raises FormulaError, with the place, for what cannot be read;
    DeclarationError and ShapeError for what can be read and makes no sense.
    """
    return read_formula(text, primitives, name, _Reader)


class _Reader(DeclarationReader):
    """Reads declarations with whole arrays."""

    def __init__(self, formula: Formula, draft: Draft | None = None) -> None:
        super().__init__(formula, draft)
        self._arrays = False  # whether operands are whole arrays at this place
        self._scope: Scope | None = None

    # which statements, and which operands

    def is_whole(self, here: int) -> bool:
        """Whether an array stands by its name in the body at `here`, or `@`, or `.T`."""
        if self.elementwise or self.is_matrix_call(here):
            return False
        tokens, partner = self.formula.tokens, self.formula.partner
        first = here
        while not self.ends(here):
            token, after = tokens[here], tokens[here + 1]
            if token.text in ("@", ".T"):
                return True
            if token.text == "(":
                behind = partner[here] + 1
                if tokens[behind].text == "[":  # (A @ x)[i]
                    here = partner[behind]
                elif self._any_whole(here + 1, partner[here]):
                    return True
                else:
                    here = partner[here]
            elif token.kind == "name" and after.text == "[":
                here = partner[here + 1]
                if token.text in REDUCTIONS and here + 1 in partner:
                    here = partner[here + 1]
            elif token.kind == "name" and after.text == "(":
                behind = partner[here + 1] + 1
                if token.text in MATRIX_FUNCTIONS and token.text not in NAMES:
                    if tokens[behind].text != "[" and self.rank(here):
                        return True
                    here = partner[here + 1]
                elif self._is_function_of_arrays(token.text) and tokens[behind].text == "[":
                    here = partner[behind]
                elif self._is_function_of_arrays(token.text) and token.text not in COMPOSED:
                    return True
            elif token.kind == "name" and self.axes.get(token.text) and here >= first:
                return True
            here += 1
        return False

    def _any_whole(self, here: int, stop: int) -> bool:
        """The same of what is in brackets, between commas."""
        starts = [here, *(c + 1 for c in self.commas(here, stop))]
        return any(self.is_whole(start) for start in starts)

    def _is_function_of_arrays(self, name: str) -> bool:
        if self.has_a_value(name) or name in ("given", "Piecewise") or name in NAMES:
            return False
        if self.elementwise:  # numbers, of which there are no arrays
            return name in library.__all__
        several = name not in MATRIX_FUNCTIONS and any(m.startswith(f"{name}_") for m in MATRIX_FUNCTIONS)
        return name in ARRAYS or not several and (name in ARRAYS or name in FUNCTIONS or name in library.__all__)

    def _is_of_one_array(self, here: int) -> bool:
        """Whether one argument stands in the brackets, and what has a name."""
        stop = self.formula.partner[here]
        commas = list(self.commas(here + 1, stop))
        return not commas or self.formula.tokens[commas[0] + 2].text == "="

    def functions(self) -> Sequence[str]:
        return [*ARRAYS, *FUNCTIONS, *library.__all__]

    def operand(self) -> Any:
        """An operand; where whole arrays are read, an array or a number."""
        token, after = self.token, self.peek()
        reduces = after.text == "(" and token.text in REDUCTIONS and self._is_of_one_array(self.here + 1)  # max(x)
        if not self._arrays:
            whole = reduces and not self.elementwise and self.is_whole(self.here + 2)
            return self.element_of_array() if whole else super().operand()
        if token.text == "[":
            with self.at(token):
                return as_array(traced(self._listed("]")))
        if token.text == "(":
            self.next()
            with self.deeper():
                value = self.expression()
            self.expect(")", "at the end of the bracket")
            return self._indexed(token, value)
        if token.kind != "name" or after.text == "[":
            return self._of_elements()
        if after.text == "(":
            if not reduces and (token.text in NAMES or token.text in COMPOSED or token.text in ("Piecewise", "given")):
                return super().operand()
            return self._indexed(token, self._called())
        if self.axes.get(token.text) and not self.elementwise:
            self.next()
            return self._named(token, token.text)
        return self._of_elements()

    def _of_elements(self) -> Any:
        """An operand of index notation."""
        self._arrays = False
        try:
            return super().operand()
        finally:
            self._arrays = True

    def _indexed(self, token: Token, value: Any) -> Any:
        """`(A @ x)[i]` beside whole arrays is a number or a term."""
        if self.token.text != "[" or not isinstance(value, Array):
            return value
        return self._element_of(token, value)

    # operators

    def build(self, token: Token, op: str, *args: Any) -> Any:
        if not any(isinstance(a, Traced) for a in args):
            return super().build(token, op, *args)
        if op == "pow" and args[0] is EULER:
            op, args = "exp", args[1:]
        with self.at(token):
            operands = [self._value(a) for a in args]
            return as_array(matmul(*operands) if op == "matmul" else elementwise(op, *operands))

    def composition(self, token: Token, formula: Callable[..., Expr], args: Sequence[Any]) -> Any:
        if not any(isinstance(a, Traced) for a in args):
            return super().composition(token, formula, args)
        return as_array(mapped(formula, *map(self._value, args)))

    def given(self, token: Token, name: str, then: Any, otherwise: Any) -> Any:
        if not isinstance(then, Traced) and not isinstance(otherwise, Traced):
            return super().given(token, name, then, otherwise)
        with self.at(token):
            return as_array(joining.given(self._named(token, name), self._value(then), self._value(otherwise)))

    def transposed(self, token: Token, value: Any) -> Any:
        if not isinstance(value, Traced):
            return value if self._arrays else super().transposed(token, value)
        with self.at(token):
            return as_array(swapaxes(value, -1, -2) if value._lead else transpose(value))

    def _value(self, x: Any) -> Any:
        """An operand as a value of a trace: a number, or what index notation has read."""
        if not isinstance(x, Expr):
            return x
        free = tuple(i for i in indices(x) if is_loop(i))
        return Array(Value(shape=(), body=x, free=free, constant=all(r.name in self.numbers() for r in refs(x))))

    # arrays by name, and what is computed of them

    def _named(self, token: Token, name: str) -> Array:
        with self.at(token):
            if name in self.draft.reserved and name not in self.draft.targets:
                raise self.error(token, f"{name} is defined behind this place. Define it before.")
            shape = self.draft.shape_of(name)
        return Array(input_of(name, shape), packs_in(shape))

    def _called(self) -> Any:
        """`softmax(x, axis=0)`: what a function of arrays returns."""
        token = self.next()
        name = token.text
        if not self._is_function_of_arrays(name) and (name not in REDUCTIONS or self.elementwise):
            self.here -= 1
            raise self.no_function(token)
        self.next()
        args, kwargs = self._given_arguments()
        with self.at(token):
            if name in ARRAYS or name in FUNCTIONS:
                found = bound(name, ARRAYS.get(name) or FUNCTIONS[name], args, kwargs)
            else:
                declared: Declared = getattr(library, name)
                found = declared(*args, **kwargs)
            if isinstance(found, tuple):
                raise self.error(token, f"{name} gives {len(found)} results, and a formula reads one.")
            return as_array(traced(found))

    def _given_arguments(self) -> tuple[list[Any], dict[str, Any]]:
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        with self.deeper():
            while self.token.text != ")":
                if self.token.kind == "name" and self.peek().text == "=":
                    name = self.next().text
                    self.next()
                    kwargs[name] = self._plain(self._argument())
                else:
                    args.append(self._plain(self._argument()))
                if not self.accept(","):
                    break
            self.expect(")", "behind the arguments")
        return args, kwargs

    def _argument(self) -> Any:
        """An expression; a list of such in brackets."""
        if self.token.kind == "name" and self.token.text in _WORDS and self.peek().text in (",", ")"):
            return _WORDS[self.next().text]
        end = self.formula.partner.get(self.here, self.here)
        ends = self.formula.tokens[end + 1].text in (",", ")", "]")
        if self.token.text == "[" and ends:
            return self._listed("]")
        if self.token.text == "(" and ends and any(True for _ in self.commas(self.here + 1, end)):
            return tuple(self._listed(")"))
        return self.expression()

    def _listed(self, close: str) -> list[Any]:
        """What stands in brackets, between commas."""
        self.next()
        with self.deeper():
            found = self.listed(self._argument)
            self.expect(close, "at the end of the list")
        return [x if isinstance(x, (list, tuple)) else self._plain(x) for x in found]

    def _plain(self, x: Any) -> Any:
        """An argument as Python has it: an int for a whole number."""
        if isinstance(x, Expr) and is_exact(x):
            number = value_of(x)
            return int(number) if number.denominator == 1 else float(number)
        return self._value(x)

    # from arrays to equations

    def _entered(self) -> Any:
        if self._scope is None or self._scope.draft is not self.draft:
            sizes = {name: ref(name) for name in self.numbers()}
            self._scope = Scope(self.draft, sizes, _NO_CODE)
        return entered(self._scope)

    def _read_arrays(self, read: Callable[[], Any]) -> Any:
        before, self._arrays = self._arrays, True
        try:
            with self._entered():
                return read()
        finally:
            self._arrays = before

    def whole(self, name: str, subscripts: Sequence[Expr], token: Token) -> None:
        found = self._value(self._read_arrays(self.expression))
        if subscripts:
            body = self._element_of(token, found)
            with self.at(token):
                self.draft.define(name, subscripts, body)
            return
        with self.at(token), self._entered():
            self._define_whole(name, found)
            self.axes[name] = found._node.rank

    def _define_whole(self, name: str, x: Array) -> None:
        """The equations of an array under this name."""
        scope, node = self._scope, x._node
        assert scope is not None
        loose = [i.name for i in node.free]
        if loose:
            raise self.error(self.token, f"the index {loose[0]} stands beside whole arrays. Name it on the left.")
        if node.declared or node.constant:
            node = Value(shape=node.shape, body=read(node, places_of(node.shape)), operands={node.key: node})
        self.draft.reserved.discard(name)
        Lowering(self.draft, [node], {**scope.names, node.serial: name}, scope.calls, scope.within).run()

    def element_of_array(self) -> Expr:
        """`softmax(x)[i]`, `(A @ x)[i]`, `norm(x)`."""
        token = self.token
        if token.text == "(":
            self.next()
            value = self._read_arrays(self.expression)
            self.expect(")", "at the end of the bracket")
            if not isinstance(value, Array):
                raise self.error(token, "an expression in brackets has no elements; an array has, (A @ x)[i].")
        else:
            value = self._read_arrays(self._called)
        return self._element_of(token, value)

    def _element_of(self, token: Token, value: Array) -> Expr:
        before, self._arrays = self._arrays, False
        try:
            given = self.subscripts(token) if self.token.text == "[" else ()
        finally:
            self._arrays = before
        node = value._node
        if len(given) != node.rank:
            example = ",".join("ijklpqrs"[: node.rank])
            raise self.error(
                token,
                f"this has {node.rank} axes. Write {node.rank} subscripts behind it, [{example}], or name it in a "
                f"statement of its own, x = ...",
            )
        with self.at(token), self._entered():
            below = reachable([node])
            if not node.rank and all(isinstance(n, Value) and not n.over for n in below):
                return _written_out(node, below)
            if node.free:
                raise self.error(token, f"this reduces a term of {node.free[0].name}. Name the term: y[i] = ...")
            name = self.draft.name_for(token.text if token.kind == "name" else "product")
            self._define_whole(name, value)
            return ref(name, *given)


def _written_out(node: Node, below: Sequence[Node]) -> Expr:
    """The formula of a number that is computed of numbers."""
    done: dict[str, tuple[tuple[Index, ...], Expr]] = {}
    for n in below:
        assert isinstance(n, Value)
        done[n.key] = (n.formals, resolve(n.body, done))
    return done[node.key][1]


# what functions of matrices are called that are no method or function of NumPy's by that name
ARRAYS: dict[str, Callable[..., Any]] = {
    name: getattr(array_functions, name)
    for name in "solve_triangular logdet expm trace norm eye topk logsumexp".split()
    if hasattr(array_functions, name)
}
