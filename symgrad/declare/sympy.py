"""The SymPy front end: expressions and matrices to a Function, and scalar expressions back to SymPy.

Nothing is evaluated or reordered on the way in: operands keep the order of SymPy's `args`, and are only written as
people write them, `x - y` for `Add(x, Mul(-1, y))` and `a/b` for `Mul(a, Pow(b, -1))`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from fractions import Fraction
from functools import cache, partial, reduce
from typing import Any, TypeAlias

from ..errors import DeclarationError, UnsupportedError
from ..expr import ONE, ZERO, Apply, Const, Expr, Index, Ref, apply, const, index, postorder, product, ref, select, show
from ..expr.names import is_pack
from ..ir import REALS, Function, Interval
from ..later import sympy
from ..ops import OPS, ROWS
from ..ops.limits import INFINITY
from ..ops.primitive import Primitive as Operator
from ..ops.primitive import declared
from ..records import replace
from .composed import OF_RECIPROCAL, RECIPROCALS
from .draft import Draft
from .names import output_names
from .primitive import Primitive, operators
from .python.formula import Line, formula

Input: TypeAlias = "sympy.Symbol | sympy.Function | sympy.Derivative | sympy.MatrixBase | sympy.MatrixSymbol"
Output: TypeAlias = "sympy.Basic | sympy.MatrixBase | int | float"

_BESSEL = ("besseli", "besselj", "besselk", "bessely")
TERMS = 256  # a Sum or Product of more is no formula that anybody reads
_SIGNS = {"positive": "gt", "negative": "lt", "nonnegative": "ge", "nonpositive": "le"}  # what says more first
_SIZES = ' Sizes with names are declared as text, sg.parse("f(A[n,m], v[m])[i] = sum[j](A[i,j]*v[j])"), or in Python.'
LONG = 2**12  # places, what is shared counted each time, as SymPy walks it: about what is longer nothing is asked
_PACK = index("...")


def from_sympy(
    name: str,
    inputs: Sequence[Input] | Mapping[str, Input],
    outputs: Sequence[Output] | Mapping[str, Output] | Output,
    primitives: Sequence[Primitive] = (),
) -> Function:
    """Return the Function of SymPy expressions.

    inputs   symbols, MatrixSymbols of literal shape, or (by name, in a mapping) matrices of symbols. Symbols alone make
             a function of scalars or of arrays of one equal shape; beside a matrix a symbol is a scalar. What SymPy
             assumes of them (positive, nonnegative, ...) is the domain; of a matrix what it assumes of all. q(t), as of
             mechanics' dynamicsymbols, is the input q, its derivative by t the input qd, and the next qdd
    outputs  expressions (out0, out1, ...; out for one), or a mapping from names to expressions. A matrix is one output
             of its shape; a column is a vector
    primitives  functions of `sg.primitive` that undefined functions of their names stand for, besides those that have a
             name of their own

    Raises DeclarationError for a symbol that is no input, UnsupportedError for what has no real value everywhere or is
    no elementary operation; both name it.
    """
    draft = Draft(name)
    inputs, moving = _at_one_time(name, inputs)
    known = _declare(draft, inputs)
    bare = all(isinstance(e, sympy.Symbol) for e in (inputs.values() if isinstance(inputs, Mapping) else inputs))
    front = (_PACK,) if bare else ()
    lines: list[Line] = []
    named = _named(outputs)
    for target, expression in named.items():
        check = isinstance(outputs, Mapping)
        for place, shape, entry in _entries(expression):
            body = _Reader(name, known, operators(primitives)).read(_in_place(name, entry, moving))
            subscripts = (*front, *map(const, place))
            whole = (*(ref("...") for _ in front), *map(const, shape))
            draft.define(target, subscripts, body, dict.fromkeys(front, ref("...")), shape=whole, named=check)
            lines.append(Line(target, subscripts, "none", (), body))
    short = list(named) == output_names(len(named))
    text = formula(name, tuple(draft.tensors.values()), tuple(named), lines, bare, short)
    symbols = tuple((_text_of(place), symbol) for symbol, place in known.items())
    function = replace(draft.finish(tuple(named), text), symbols=symbols)
    if text.startswith(f"{name}("):
        return function.with_source(text)
    header = f"{name}({', '.join(draft.tensors) if bare else function.header}) -> {', '.join(named)}"
    statements = [line for line in text.splitlines() if not line.startswith("for ")]
    domain = f" for {function.domain}" if function.domain else ""
    return function.with_source(f"{header}: {'; '.join(statements)}{domain}")


def _at_one_time(
    name: str, inputs: Sequence[Input] | Mapping[str, Input]
) -> tuple[Sequence[Input] | Mapping[str, Input], dict[Any, Any]]:
    """The inputs with a symbol for each function of time and each derivative of one, and these symbols."""
    given = [*(inputs.values() if isinstance(inputs, Mapping) else inputs)]
    moving = {x: sympy.Symbol(word, **x.assumptions0) for x in given if (word := _of_time(x))}
    if not moving:
        return inputs, {}
    if isinstance(inputs, Mapping):
        return {n: moving.get(x, x) for n, x in inputs.items()}, moving
    return [moving.get(x, x) for x in inputs], moving


def _of_time(x: Any) -> str:
    """What q(t) and its derivatives are called: q, qd, qdd; empty for anything else."""
    base, order = (x.expr, x.derivative_count) if isinstance(x, sympy.Derivative) else (x, 0)
    is_one = isinstance(base, sympy.core.function.AppliedUndef) and len(base.args) == 1
    return str(base.func) + "d" * int(order) if is_one else ""


def _in_place(name: str, expression: Any, moving: Mapping[Any, Any]) -> Any:
    """The expression with these symbols in their places."""
    if not moving:
        return expression
    for x in sympy.sympify(expression).atoms(sympy.Derivative):
        if _of_time(x) and x not in moving:
            raise DeclarationError(f"{name}: {x} is no input. Put it among the inputs, where it is {_of_time(x)}.")
    return sympy.sympify(expression).xreplace(moving)


def _declare(draft: Draft, inputs: Sequence[Input] | Mapping[str, Input]) -> dict[sympy.Basic, Expr]:
    """Declare the inputs; return what stands for each symbol or element."""
    pairs = list(inputs.items()) if isinstance(inputs, Mapping) else [(_name_of(draft, x), x) for x in inputs]
    if not pairs:
        raise DeclarationError(f"{draft.name} has no inputs; a declared function has at least one.")
    bare = all(isinstance(x, sympy.Symbol) for _, x in pairs)
    known: dict[sympy.Basic, Expr] = {}
    for name, x in pairs:
        if isinstance(x, sympy.Symbol):
            if x in known:
                raise DeclarationError(f"{draft.name}: {x} is an input twice.")
            draft.input(name, [draft.dim("...")] if bare else [])
            draft.restrict(name, _assumed(x))
            known[x] = ref(name, _PACK) if bare else ref(name)
        elif isinstance(x, (sympy.MatrixBase, sympy.MatrixSymbol)):
            shape = _literal_shape(draft.name, name, x)
            draft.input(name, [const(n) for n in shape])
            intervals = []
            for place in itertools.product(*map(range, shape)):
                row, column = (*place, 0)[:2]
                entry = x[row, column]
                if not (isinstance(entry, sympy.Symbol) or _is_element(entry)) or entry in known:
                    raise DeclarationError(
                        f"{draft.name}: {name} is an input, and its element {entry} is no symbol of its own."
                    )
                known[entry] = ref(name, *place)
                intervals.append(_assumed(entry))
            draft.restrict(name, reduce(Interval.hull, intervals))
        else:
            raise DeclarationError(
                f"{draft.name}: the input {x} is neither a symbol nor a matrix of symbols.{_SIZES * _has_sizes(x)}"
            )
    return known


def _has_sizes(x: Any) -> bool:
    return isinstance(x, (sympy.IndexedBase, sympy.MatrixExpr))


def _assumed(x: Any) -> Interval:
    """What SymPy assumes of the sign of a symbol; of anything else nothing."""
    for assumption, op in _SIGNS.items():
        if getattr(x, f"is_{assumption}", None):
            return Interval.of(op, const(0))
    return REALS


def _name_of(draft: Draft, x: Input) -> str:
    if isinstance(x, sympy.MatrixBase):
        raise DeclarationError(f"{draft.name}: a matrix of symbols has no name; pass the inputs as {{'p': {x}}}.")
    return str(getattr(x, "name", x))


def _literal_shape(function: str, name: str, x: Any) -> tuple[int, ...]:
    """(r,) for a column, else (r, c)."""
    rows, columns = x.shape
    if not (isinstance(rows, (int, sympy.Integer)) and isinstance(columns, (int, sympy.Integer))):
        raise DeclarationError(
            f"{function}: {name} has the shape {x.shape}; SymPy's matrices need numbers here.{_SIZES}"
        )
    return (int(rows),) if int(columns) == 1 else (int(rows), int(columns))


def _named(outputs: Any) -> dict[str, Any]:
    if isinstance(outputs, Mapping):
        return dict(outputs)
    several = list(outputs) if isinstance(outputs, (list, tuple, sympy.Tuple)) else [outputs]
    return dict(zip(output_names(len(several)), several, strict=True))


def _entries(expression: Any) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], Any]]:
    """Place, shape and expression of every element of an output."""
    if isinstance(expression, sympy.MatrixExpr):
        expression = expression.as_explicit()
    if not isinstance(expression, sympy.MatrixBase):
        yield (), (), expression
        return
    shape = _literal_shape("", "the output", expression)
    for place in itertools.product(*map(range, shape)):
        row, column = (*place, 0)[:2]
        yield place, shape, expression[row, column]


@cache
def _classes() -> Mapping[type, str]:
    """The operators by their classes in SymPy."""
    return {row.twin: row.name for row in ROWS if isinstance(row.twin, type)}


@cache
def _reciprocals() -> Mapping[type, str]:
    """The functions of which SymPy has the reciprocals, by the classes of those."""
    return {getattr(sympy, name): of for name, of in RECIPROCALS.items()}


def _quotient_of_gammas(x: Expr, y: Expr) -> Expr:
    return apply("tgamma", x) * apply("tgamma", y) / apply("tgamma", x + y)


@cache
def _composed() -> Mapping[type, Callable[..., Expr]]:
    """The functions of SymPy that are written in several operators, by their classes."""
    return {
        **{getattr(sympy, name): partial(_of_reciprocal, of) for name, of in OF_RECIPROCAL.items()},
        sympy.sinc: lambda x: apply("sinc", x / apply("pi")),  # sin(x)/x, where ours and NumPy's is sin(pi*x)/(pi*x)
        sympy.beta: _quotient_of_gammas,
        sympy.factorial: lambda x: apply("tgamma", x + 1),
        sympy.lowergamma: lambda a, x: apply("gammainc", a, x) * apply("tgamma", a),
        sympy.uppergamma: lambda a, x: apply("gammaincc", a, x) * apply("tgamma", a),
        sympy.zeta: lambda s, x=ONE: apply("hurwitz", s, x),
        sympy.frac: lambda x: x - apply("floor", x),
        **dict.fromkeys((sympy.re, sympy.conjugate), lambda x: x),  # inputs are real, whatever SymPy assumes
        sympy.im: lambda x: ZERO,
    }


def _of_reciprocal(op: str, x: Expr) -> Expr:
    return apply(op, 1 / x)


def _is_element(node: Any) -> bool:
    """Whether it is an element of a MatrixSymbol."""
    return isinstance(node, sympy.matrices.expressions.matexpr.MatrixElement)


class _Reader:
    """Reads SymPy expressions of one function."""

    def __init__(self, name: str, known: Mapping[sympy.Basic, Expr], primitives: Mapping[str, Operator]) -> None:
        self.name = name
        self.known = known
        self.primitives = primitives
        self.terms: dict[Any, tuple[Any, ...]] = {}  # of each Sum and Product, kept: nodes are known by their identity

    def read(self, root: Any) -> Expr:
        """`root` as an expression; a loop, because SymPy's trees are as deep as people's formulas are long."""
        if isinstance(root, (bool, int, float, Fraction)):
            return const(int(root) if isinstance(root, bool) else root)
        done: dict[int, Expr] = {}
        stack: list[Any] = [root]
        while stack:
            node = stack[-1]
            if id(node) in done:
                stack.pop()
                continue
            below = self._below(node)
            waiting = [a for a in below if id(a) not in done]
            if waiting:
                stack.extend(reversed(waiting))
                continue
            stack.pop()
            done[id(node)] = self._node(node, [done[id(a)] for a in below])
        return done[id(root)]

    def _below(self, node: Any) -> tuple[Any, ...]:
        """The expressions that `node` is computed from; those of a Piecewise in turn."""
        if _is_element(node) or not isinstance(node, sympy.Basic):
            return ()
        if isinstance(node, sympy.Piecewise):
            return tuple(part for pair in node.args for part in pair.args)
        if isinstance(node, (sympy.Sum, sympy.Product)):
            if node not in self.terms:
                self.terms[node] = self._terms(node)
            return self.terms[node]
        self._refuse(node)
        return tuple(node.args)

    def _terms(self, node: Any) -> tuple[Any, ...]:
        """What a Sum or Product adds or multiplies, written out."""
        parts = [node.function]
        for symbol, *bounds in node.limits:
            first, last = self._bounds(node, bounds)
            parts = [part.subs(symbol, k) for part in parts for k in range(first, last + 1)]
        return tuple(parts)

    def _bounds(self, node: Any, bounds: Sequence[Any]) -> tuple[int, int]:
        kind = type(node).__name__
        if not (len(bounds) == 2 and all(b.is_Integer for b in bounds)):
            raise UnsupportedError(
                f"{self.name}: {node} has bounds that are no numbers. Put numbers in their place, or write the {kind} "
                f"over a size with sg.parse: {'sum' if kind == 'Sum' else 'prod'}[i](...)."
            )
        first, last = map(int, bounds)
        if not -1 <= last - first < TERMS:
            raise UnsupportedError(
                f"{self.name}: {node} has {last - first + 1} terms, and from 0 to {TERMS} are written out. Write it "
                f"over an index with sg.parse: {'sum' if kind == 'Sum' else 'prod'}[i](...)."
            )
        return first, last

    def _refuse(self, node: Any) -> None:
        unreal = (sympy.I, sympy.zoo, sympy.nan)
        if node in unreal:
            apart = " Of symbols with real=True, .as_real_imag() takes an expression apart." * (node is sympy.I)
            raise UnsupportedError(f"{self.name}: {node} is no real number; a formula is made of real numbers.{apart}")
        if isinstance(node, sympy.core.function.AppliedUndef) and self._primitive(node) is None:
            raise DeclarationError(
                f"{self.name}: {node} is a function without a definition; put its formula in its place, or declare "
                f"{node.func}: sg.primitive({str(node.func)!r}, ...)."
            )
        binders = (sympy.Derivative, sympy.Integral, sympy.Limit, sympy.Subs)
        if isinstance(node, binders):
            said = f"{type(node).__name__} stands for a computation: {node}; call .doit() first."
            raise UnsupportedError(f"{self.name}: {said}")

    def _node(self, node: Any, args: list[Expr]) -> Expr:
        if isinstance(node, sympy.Symbol) or _is_element(node):
            return self._symbol(node)
        if node is sympy.true or node is sympy.false:
            return const(int(node is sympy.true))
        if isinstance(node, (sympy.Number, sympy.NumberSymbol)):
            return self._number(node)
        if isinstance(node, sympy.Add):
            return _sum(args)
        if isinstance(node, sympy.Mul):
            return _quotient(node.args, args)
        if isinstance(node, sympy.Pow):
            return _power(node.base, node.exp, *args)
        if isinstance(node, sympy.Piecewise):
            return self._piecewise(node, args)
        if isinstance(node, sympy.UnevaluatedExpr):
            return args[0]
        if isinstance(node, (sympy.Sum, sympy.Product)):
            return _sum(args or [ZERO]) if isinstance(node, sympy.Sum) else product(args)
        kind = type(node)
        if kind in _reciprocals():
            return 1 / apply(_reciprocals()[kind], *args)
        if kind in _composed():
            return _composed()[kind](*args)
        if kind.__name__ in _BESSEL:
            if node.args[0] not in (0, 1):
                raise UnsupportedError(
                    f"{self.name}: {node} is of order {node.args[0]}; symgrad knows the orders 0 and 1. Write it by "
                    f"their recurrence, or declare a function with its derivative in its place: sg.primitive."
                )
            return apply(f"bessel_{kind.__name__[-1]}{node.args[0]}", args[1])
        op = _classes().get(kind) or self._primitive(node)
        if op is None:
            raise UnsupportedError(
                f"{self.name}: symgrad knows no {kind.__name__}, which stands in {node}. Write it in other functions "
                f"(.rewrite), or declare a function with its derivative in its place: sg.primitive."
            )
        if OPS[op].associative:
            return reduce(partial(apply, op), args)
        if len(args) != OPS[op].arity:
            raise UnsupportedError(f"{self.name}: {node} has {len(args)} arguments; {op} takes {OPS[op].arity}.")
        return apply(op, *args)

    def _primitive(self, node: Any) -> Operator | None:
        """The user's function that `node` is a call of."""
        name = str(node.func)
        if isinstance(node, sympy.core.function.AppliedUndef):
            return self.primitives.get(name) or declared(name)
        own = getattr(node.func, "primitive", None)  # of a class of SymPy's that is a method
        return own if isinstance(own, Operator) else None

    def _symbol(self, node: Any) -> Expr:
        found = self.known.get(node)
        if found is not None:
            return found
        same = [str(s) for s in self.known if str(s) == str(node)]
        if same:
            raise DeclarationError(
                f"{self.name}: two symbols are called {node}, with different assumptions; use one for both."
            )
        listed = ", ".join(str(s) for s in self.known)
        raise DeclarationError(f"{self.name}: {node} is no input. Inputs: {listed}.")

    def _number(self, node: Any) -> Expr:
        if isinstance(node, sympy.Rational):
            return const(_fraction(node))
        if isinstance(node, sympy.Float):
            return const(float(node))
        if node in (sympy.oo, -sympy.oo):
            return INFINITY if node is sympy.oo else -INFINITY
        if node is sympy.pi:
            return apply("pi")
        if node is sympy.E:
            return apply("exp", 1)
        raise UnsupportedError(f"{self.name}: the constant {node} has no name in the printed languages; use its value.")

    def _piecewise(self, node: Any, args: list[Expr]) -> Expr:
        if node.args[-1].args[1] != sympy.true:
            raise UnsupportedError(
                f"{self.name}: {node} has no value where no condition holds; end it with (..., True)."
            )
        result = args[-2]
        for k in range(len(args) - 4, -1, -2):
            result = select(args[k + 1], args[k], result)
        return result


def _negated(e: Expr) -> bool:
    return isinstance(e, Apply) and e.op == "neg" or isinstance(e, Const) and e.value < 0


def _sum(terms: list[Expr]) -> Expr:
    """The terms in their order, but one that is not negated first: x - y, not -y + x."""
    first = next((k for k, t in enumerate(terms) if not _negated(t)), 0)
    result = terms[first]
    for k, t in enumerate(terms):
        if k != first:
            result = result - (-t) if _negated(t) else result + t
    return result


def _quotient(originals: Sequence[Any], factors: list[Expr]) -> Expr:
    """The factors with a number in front, over those that SymPy has with a negative exponent."""
    above: list[Expr] = []
    below: list[Expr] = []
    sign = 1
    for original, factor in zip(originals, factors, strict=True):
        if isinstance(original, sympy.Rational):
            value = _fraction(original)
            sign = -sign if value < 0 else sign
            if abs(value.numerator) != 1:
                above.insert(0, const(abs(value.numerator)))
            if value.denominator != 1:
                below.insert(0, const(value.denominator))
        elif (
            isinstance(original, sympy.Pow)
            and _falls(original.exp)
            and isinstance(factor, Apply)
            and factor.op == "div"
        ):
            below.append(factor.args[1])
        else:
            above.append(factor)
    numbers = [f for f in above if isinstance(f, Const)]
    result = product([*numbers, *(f for f in above if not isinstance(f, Const))])
    if below:
        result = result / product(below)
    return result if sign > 0 else -result


def _fraction(number: sympy.Rational) -> Fraction:
    return Fraction(int(number.p), int(number.q))


def _falls(exponent: Any) -> bool:
    return isinstance(exponent, sympy.Rational) and exponent < 0


def _power(base: Any, exponent: Any, b: Expr, e: Expr) -> Expr:
    if base is sympy.E:
        return apply("exp", e)
    if not isinstance(exponent, sympy.Rational):
        return b**e
    raised = const(abs(_fraction(exponent)))
    root = apply("sqrt", b) if exponent in (sympy.S.Half, -sympy.S.Half) else b**raised
    return 1 / root if exponent < 0 else root


def to_sympy(expr: Expr, symbols: Mapping[str, sympy.Symbol] | None = None) -> Any:
    """Return a scalar expression as SymPy's, for display and for checking.

    symbols  by the name of a tensor without subscripts (or of one shape `...`), else by its text, `p[0]`; a real symbol
             is made for what is missing
    """
    given = symbols or {}
    done: dict[Expr, Any] = {}
    lengths: dict[Expr, int] = {}
    for node in postorder(expr):
        lengths[node] = 1 + sum(map(lengths.__getitem__, node.args))
        with nullcontext() if lengths[node] < LONG else sympy.evaluate(False):
            done[node] = _twin(node, [done[a] for a in node.args], given)
    return done[expr]


def _twin(node: Expr, args: list[Any], symbols: Mapping[str, sympy.Symbol]) -> Any:
    if isinstance(node, Const):
        if node.text is not None:
            return sympy.Float(node.text)
        return sympy.Rational(node.value.numerator, node.value.denominator)
    if isinstance(node, Index):
        return symbols.get(node.name, sympy.Symbol(node.name, integer=True))
    if isinstance(node, Ref):
        text = _text_of(node)
        return symbols.get(text, sympy.Symbol(text, real=True))
    assert isinstance(node, Apply)
    if node.op == "select":
        condition, then, otherwise = args
        further = otherwise.args if isinstance(otherwise, sympy.Piecewise) else [(otherwise, True)]
        return sympy.Piecewise((then, _truth(condition)), *further)
    if OPS[node.op].kind == "logic":
        args = [_truth(a) for a in args]
    return OPS[node.op].twin(*args)


def _text_of(place: Expr) -> str:
    """What the symbol of a number is called: `x`, `p[0]`, `size(...)`."""
    assert isinstance(place, Ref)
    if is_pack(place):
        return f"size({place.name})"
    return place.name if place.subscripts == (_PACK,) else show(place)


def _truth(condition: Any) -> Any:
    """A condition as SymPy wants it: a boolean tensor is 0 or 1."""
    return (
        condition
        if isinstance(condition, sympy.logic.boolalg.Boolean) and not condition.is_Symbol
        else sympy.Ne(condition, 0)
    )
