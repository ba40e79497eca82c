"""Expressions of kernels as trees of Python, in the vocabulary of triton.language.

A value is a tensor of the type in which the kernel computes, of integers or of conditions; or *plain*: a number, or an
option, which is known when the kernel is compiled. Triton takes a plain operand of an operator in the type of the
other one; the argument of a function it would round to float32, and a quotient of integers too.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Collection
from typing import Any

from ..errors import UnsupportedError
from ..expr import ONE, Apply, Const, Expr, Index, Ref, apply, const, is_exact, postorder, select, transform, value_of
from ..expr.sizes import as_integer, never_negative
from ..ir import Dtype
from ..later import mp
from ..ops import OPS, in_others
from ..ops.primitive import Primitive
from ..records import dataclass
from ..source import python as py
from ..source.python import Expression, Operation, Word, call
from .c_expressions import power
from .python_expressions import OPERATORS
from .python_sizes import number

INFINITY = call("float", py.text("inf"))
LARGE = 1e30  # float32 has numbers of that size
NAN_TOO = Word("tl.PropagateNan.ALL")


@dataclass(frozen=True, slots=True)
class Value:
    """What an expression is in a kernel: its tree, its type, whether it is plain, and whether it is a choice of plain
    numbers, which triton makes a tensor of float32."""

    tree: Expression
    dtype: Dtype
    plain: bool = False
    single: bool = False

    @property
    def is_real(self) -> bool:
        """Whether it is a tensor of the type in which the kernel computes."""
        return self.dtype == Dtype.REAL and not (self.plain or self.single)


def language(node: Expr) -> Expr:
    """`node` in operators that triton has."""
    if not isinstance(node, Apply):
        return node
    if node.op == "pow":
        return _powers(*node.args)
    if node.op == "sign":
        (x,) = node.args
        return select(apply("gt", x, 0), ONE, select(apply("lt", x, 0), -ONE, x))
    found = in_others(node, "triton")
    return node if found is None else transform(found, language)


def _powers(base: Expr, exponent: Expr) -> Expr:
    """A power in products, roots, and powers of whole numbers above 3, if it is one of whole numbers and of halves."""
    n = value_of(exponent) if is_exact(exponent) else None
    if n is None or n.denominator > 2:
        return apply("pow", base, exponent)
    if n < 0:
        return 1 / _powers(base, const(-n))
    whole = int(n)
    found = power(base, const(whole)) if whole else ONE
    return found if whole == n else found * apply("sqrt", base)


class Expressions:
    """Builds the expressions of one function.

    leaf    what an index, a size, an option or an element is
    real    the type in which real numbers are computed, in the words of the function
    signed  the names of integers that may be negative
    """

    def __init__(
        self, name: str, leaf: Callable[[Index | Ref], Value], real: Expression, signed: Collection[str] = ()
    ) -> None:
        self.name, self.leaf, self.real, self.signed = name, leaf, real, signed

    def __call__(self, root: Expr) -> Expression:
        """A value, of real numbers or conditions, as it is assigned."""
        value = self.value(root)
        return self._real(value) if value.dtype != Dtype.BOOL else value.tree

    def number(self, root: Expr) -> Expression:
        """A real number; of a condition 1 where it holds."""
        value = self.value(root)
        return self._real(self._counted(value) if value.dtype == Dtype.BOOL else value)

    def value(self, root: Expr) -> Value:
        """What an expression is; it may be plain."""
        root = transform(root, language)
        done: dict[Expr, Value] = {}
        for node in postorder(root):
            if isinstance(node, Apply):
                done[node] = self._apply(node, [done[a] for a in node.args])
            elif isinstance(node, Const):
                whole = node.value.denominator == 1 and node.text is None
                done[node] = Value(number(node), Dtype.INT if whole else Dtype.REAL, True)
            elif isinstance(node, (Index, Ref)):
                done[node] = self.leaf(node)
        return done[root]

    def condition(self, root: Expr) -> Expression:
        """A condition."""
        value = self.value(root)
        return value.tree if value.dtype == Dtype.BOOL else Operation("ne", (value.tree, py.integer(0)))

    def place(self, root: Expr) -> Expression:
        """An integer: what a pointer is moved by."""
        return self.value(root).tree

    def _real(self, value: Value) -> Expression:
        """A real number as a tensor."""
        if not value.plain:
            return value.tree if value.is_real else call("tl.cast", value.tree, self.real)
        return call("tl.full", py.Several(()), value.tree, self.real)

    def _apply(self, node: Apply, args: list[Value]) -> Value:
        row = OPS[node.op]
        if not row.arity:
            constant = float(row.value())
            return Value(INFINITY if math.isinf(constant) else py.Number(repr(constant)), Dtype.REAL, True)
        if row.result == "bool":
            compared = Operation(OPERATORS[node.op], tuple(a.tree for a in args))
            return Value(compared, Dtype.BOOL, all(a.plain for a in args))
        if node.op == "select":
            return self._selected(args)
        whole = row.of_integers and all(a.dtype == Dtype.INT for a in args)
        plain = all(a.plain for a in args)
        if plain and not whole and isinstance(node, Apply) and (folded := _folded(node)) is not None:
            return folded
        if node.op in ("floordiv", "mod") and not never_negative(node.args[0], self.signed):
            return Value(self._floored(node, *(a.tree for a in args)), Dtype.INT)
        if node.op in OPERATORS:
            if not whole:
                args = self._beside_each_other(args)
            return Value(Operation(OPERATORS[node.op], tuple(a.tree for a in args)), _kind(whole), plain)
        if node.op == "pow" and as_integer(node.args[1]) is not None:
            return Value(call("_power", self._real(args[0]), args[1].tree), Dtype.REAL)
        word = None if isinstance(node.op, Primitive) else row.word("triton")
        if word is None:
            raise UnsupportedError(
                f"{self.name}: triton has no function {node.op}, neither in triton.language nor written in others. "
                f"Print torch: --to torch."
            )
        extra = (NAN_TOO,) if node.op in ("maximum", "minimum") else ()
        inner = [self._argument(a, whole, bool(extra)) for a in args]
        return Value(call(word, *inner, *extra), _kind(whole))

    def _floored(self, node: Apply, a: Expression, b: Expression) -> Expression:
        """A quotient that is rounded down, or its remainder; triton rounds towards 0."""
        if not never_negative(node.args[1], self.signed):
            raise UnsupportedError(f"{self.name}: triton divides by what may be negative. Print torch: --to torch.")
        rest = Operation("mod", (Operation("add", (Operation("mod", (a, b)), b)), b))
        return rest if node.op == "mod" else Operation("floordiv", (Operation("sub", (a, rest)), b))

    def _beside_each_other(self, args: list[Value]) -> list[Value]:
        """Operands of an operator of real numbers: where none of them is a tensor of these, integers become such."""
        if any(a.is_real for a in args):
            return [self._counted(a) if a.dtype == Dtype.BOOL else a for a in args]
        return [a if a.plain else self._counted(a) for a in args]

    def _counted(self, value: Value) -> Value:
        return Value(self._real(Value(value.tree, Dtype.INT)), Dtype.REAL)

    def _argument(self, value: Value, whole: bool, beside: bool) -> Expression:
        if whole or (beside and value.plain and _is_short(value)):
            return value.tree
        return self._real(value)

    def _selected(self, args: list[Value]) -> Value:
        condition, *branches = args
        kinds = {b.dtype for b in branches}
        if Dtype.REAL in kinds or Dtype.INT in kinds and all(b.plain for b in branches):
            inner = [self._branch(b) for b in branches]
            single = all(b.plain and _is_short(b) for b in branches)
            return Value(call("tl.where", condition.tree, *inner), Dtype.REAL, single=single)
        kind = Dtype.INT if Dtype.INT in kinds else Dtype.BOOL
        return Value(call("tl.where", condition.tree, *(b.tree for b in branches)), kind)

    def _branch(self, value: Value) -> Expression:
        """A branch of a choice: a number that float32 holds is one of the other's type."""
        if value.plain and _is_short(value):
            return value.tree if value.dtype == Dtype.REAL else _with_point(value.tree)
        return self._real(value)


def _kind(whole: bool) -> Dtype:
    return Dtype.INT if whole else Dtype.REAL


def _number(tree: Expression) -> float | None:
    """The number that a tree is, if it is one."""
    match tree:
        case py.Number(text):
            return float(text)
        case _ if tree == INFINITY:
            return math.inf
        case Operation("neg", (inner,)):
            found = _number(inner)
            return None if found is None else -found
        case _:
            return None


def _is_short(value: Value) -> bool:
    """Whether it is a number of float32."""
    found = _number(value.tree)
    if found is None or math.isinf(found):
        return found is not None
    return abs(found) < LARGE and bool(struct.unpack("f", struct.pack("f", found))[0] == found)


def _with_point(tree: Expression) -> Expression:
    found = _number(tree)
    return (
        tree
        if found is None
        else py.Number(repr(found))
        if found >= 0
        else Operation("neg", (py.Number(repr(-found)),))
    )


def _folded(node: Apply) -> Value | None:
    """What is made of numbers alone as a number; None where there are options in it."""
    if node.op == "neg" or any(isinstance(n, (Ref, Index)) for n in postorder(node)):
        return None
    values: dict[Expr, Any] = {}
    with mp.workprec(120):
        for n in postorder(node):
            if isinstance(n, Const):
                values[n] = mp.mpf(n.value.numerator) / n.value.denominator
            elif isinstance(n, Apply):
                values[n] = OPS[n.op].value(*(values[a] for a in n.args))
    found = float(values[node])
    tree: Expression = py.Number(repr(abs(found)))
    return Value(tree if found >= 0 else Operation("neg", (tree,)), Dtype.REAL, True)
