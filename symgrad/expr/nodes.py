"""Scalar expressions: immutable nodes of a shared graph.

Four kinds of node: `Const`, `Index` (a loop index as a value), `Ref` (an element of a tensor, or, with no
subscripts, a scalar, a size or an option) and `Apply` (an operator of `symgrad.ops` on arguments).

Nodes are interned: what is written the same is the same object, so `==` is identity and a dictionary of nodes is a
dictionary of formulas. `node.key` is the node with the arguments of commutative operators put in one order: two
nodes with one key are equal as mathematics. Sharing compares keys; printing keeps the order in which it was written.

The constructors apply only identities that hold at every finite real point where the parts are defined: `x + 0` is
`x`, but `x / x` stays. Every traversal is a loop: a chain of 100,000 operations neither recurses nor slows down.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import reduce
from math import inf
from typing import Any, Self, TypeVar, Union
from weakref import ref as weak

Number = Union[int, float, Fraction]
Value = Union["Expr", int, float, Fraction]
Node = TypeVar("Node", bound="Expr")

# of two arguments
COMMUTATIVE = frozenset({"add", "mul", "maximum", "minimum", "and", "or", "eq", "ne", "hypot"})



class _Entry(weak["Expr"]):
    """A node, as long as it is there, and the key that it is found by."""

    __slots__ = ("key",)
    key: tuple[object, ...]


_interned: dict[tuple[object, ...], _Entry] = {}
_serial = itertools.count()


class Expr:
    """A node. Python's operators build new nodes, so that rules read as mathematics: `1 - y**2`."""

    __slots__ = ("__weakref__", "_below", "_key", "_met", "_operators", "_refs", "indices", "serial")
    _below: tuple[Expr, ...]  # what `postorder` found below it, if that was asked
    _key: Expr | None
    _operators: tuple[str, ...] | None  # what `operators` found, if that was asked
    _refs: tuple[Ref, ...] | None  # of an Apply what `refs` found, if that was asked, or found before in it
    _met: bool  # of an Apply whether `refs` was asked of what is computed from it
    indices: tuple[Index, ...]  # the loop indices that it mentions, in order of first appearance
    serial: int
    args: tuple[Expr, ...] = ()  # the nodes this one is computed from; subscripts, for a Ref

    @property
    def key(self) -> Expr:
        """The representative of all nodes that differ from this one only in the order of commutative arguments."""
        return self if self._key is None else self._key

    def __add__(self, other: Value) -> Expr:
        return add(self, as_expr(other))

    def __radd__(self, other: Value) -> Expr:
        return add(as_expr(other), self)

    def __sub__(self, other: Value) -> Expr:
        return sub(self, as_expr(other))

    def __rsub__(self, other: Value) -> Expr:
        return sub(as_expr(other), self)

    def __mul__(self, other: Value) -> Expr:
        return mul(self, as_expr(other))

    def __rmul__(self, other: Value) -> Expr:
        return mul(as_expr(other), self)

    def __truediv__(self, other: Value) -> Expr:
        return div(self, as_expr(other))

    def __rtruediv__(self, other: Value) -> Expr:
        return div(as_expr(other), self)

    def __pow__(self, other: Value) -> Expr:
        return power(self, as_expr(other))

    def __neg__(self) -> Expr:
        return neg(self)

    def __bool__(self) -> bool:
        raise TypeError("an expression has no truth value; compare with `is`")

    def __copy__(self) -> Expr:
        return self

    def __deepcopy__(self, memo: object) -> Expr:
        return self


class Const(Expr):
    """An exact number. `text` is kept for a decimal literal: it denotes the nearest double and prints as typed."""

    __slots__ = ("text", "value")
    value: Fraction
    text: str | None


class Index(Expr):
    """A loop index as a value; the index of a pack is named like the pack (`...`, `*batch`)."""

    __slots__ = ("name",)
    name: str


class Ref(Expr):
    """An element of a tensor by name; no subscripts for a scalar, a size or an option."""

    __slots__ = ("args", "name", "subscripts")
    name: str
    args: tuple[Expr, ...]
    subscripts: tuple[Expr, ...]


class Operator(str):
    """The name of an operator that stands in no table: it holds its row, which so travels with the formulas of it.

    word     what it is shown as, and called as a part of other names
    noun     what its value is called as such a part, where that is another word
    formula  what it stands for, and is shown as: a formula of ARGUMENT; None where it is shown by its name
    """

    row: Any
    word: str
    noun: str
    formula: Expr | None

    def __new__(cls, name: str, row: Any, word: str = "", formula: Expr | None = None, noun: str = "") -> Self:
        self = super().__new__(cls, name)
        self.row, self.word, self.formula = row, word or name, formula
        self.noun = noun or self.word
        return self


class Apply(Expr):
    """An operator on arguments, by its name; `symgrad.ops.OPS` has the row."""

    __slots__ = ("args", "op")
    op: str
    args: tuple[Expr, ...]

    @property
    def word(self) -> str:
        """The operator as a part of a name; numbers are scaled by a power of two, and an exponential of a difference is
        one."""
        (inner,) = self.args if len(self.args) == 1 else (None,)
        if self.op == "exp2" and isinstance(inner, Apply) and inner.op == "floor":
            return "scale"
        if self.op == "exp_below":
            return "exp"
        return self.op.noun if isinstance(self.op, Operator) else self.op


def _forget(found: _Entry) -> None:
    """Called when a node is gone."""
    other = _interned.pop(found.key, found)
    if other is not found:
        _interned[found.key] = other


def _remember(identity: tuple[object, ...], node: Expr) -> None:
    _interned[identity] = entry = _Entry(node, _forget)
    entry.key = identity


def _intern(identity: tuple[object, ...], make: Callable[[], Expr]) -> Expr:
    found = _interned.get(identity)
    node = None if found is None else found()
    if node is None:
        node = make()
        node.serial = next(_serial)
        _remember(identity, node)
    return node


def indices(*roots: Expr) -> tuple[Index, ...]:
    """The loop indices that `roots` mention, in order of first appearance."""
    found: tuple[Index, ...] = ()
    for root in roots:
        more = root.indices
        if more and more is not found:
            found = tuple(dict.fromkeys((*found, *more))) if found else more
    return found


def const(value: Number | str) -> Const:
    """Return an exact number: an int, a Fraction, a float, or the text of a decimal literal.

    A float that is a short binary fraction (0.5, 2.0) is that fraction; any other is kept as typed.
    """
    text: str | None = None
    if isinstance(value, (float, str)):
        text = value if isinstance(value, str) else repr(value)
        value = Fraction(float(text))
        if value.denominator <= 1024 and abs(value.numerator) < 2**53:
            text = None
    exact = value

    def make() -> Const:
        node = Const()
        node.value, node.text, node._key, node.indices, node._operators = Fraction(exact), text, None, (), ()
        return node

    node = _intern((Const, exact.numerator, exact.denominator, text), make)
    if text is not None and node._key is None:
        plain = const(exact)
        node._key = plain
    return node  # type: ignore[return-value]  # _intern returns what make made


def index(name: str) -> Index:
    """Return the loop index of that name."""

    def make() -> Index:
        node = Index()
        node.name, node._key, node.indices, node._operators = name, None, (node,), ()
        return node

    return _intern((Index, name), make)  # type: ignore[return-value]  # as above


def ref(name: str, *subscripts: Value) -> Ref:
    """Return the element of the tensor `name` at `subscripts`."""
    subs = tuple(map(as_expr, subscripts)) if subscripts else ()
    identity = (Ref, name, *subs)
    found = _interned.get(identity)
    known = None if found is None else found()
    return _element(identity, name, subs) if known is None else known  # type: ignore[return-value]  # as above


def _element(identity: tuple[object, ...], name: str, subs: tuple[Expr, ...]) -> Ref:
    """The same, which is new."""
    node = Ref()
    node.name, node.subscripts, node.args, node._key = name, subs, subs, None
    node.indices, node._operators = indices(*subs), None if subs else ()
    keys = tuple([s.key for s in subs])
    if keys != subs:
        node._key = ref(name, *keys)
    node.serial = next(_serial)
    _remember(identity, node)
    return node


def _apply(op: str, *args: Expr) -> Apply:
    identity = (Apply, op, *args)
    found = _interned.get(identity)
    node: Any = None if found is None else found()
    if node is None:  # as in _intern; most nodes are made here
        node = Apply()
        node.op, node.args, node._key, node._operators, node._refs, node._met = op, args, None, None, None, False
        loops: tuple[Index, ...] = ()
        keys = args
        for a in args:
            if a.indices is not loops:
                loops = indices(*args)
            if a._key is not None:
                keys = tuple([b if b._key is None else b._key for b in args])
        if op in COMMUTATIVE and keys[0].serial > keys[1].serial:
            keys = keys[::-1]
        node.indices = loops
        if keys is not args:
            node._key = _apply(op, *keys)
        node.serial = next(_serial)
        _interned[identity] = entry = _Entry(node, _forget)
        entry.key = identity
    return node  # type: ignore[no-any-return]


ZERO: Expr = const(0)
ONE: Expr = const(1)
TWO: Expr = const(2)
HALF: Expr = const(Fraction(1, 2))
ARGUMENT = ref("?x")  # of the formulas that operators stand for: nothing that a user can write


def as_expr(value: Value) -> Expr:
    """Return `value` as a node; numbers become constants, below 0 with their sign before them."""
    if isinstance(value, Expr):
        return value
    return neg(const(-value)) if isinstance(value, float) and value < 0 else const(value)


def is_double(value: Fraction | int) -> bool:
    """Whether a number is within the range of doubles."""
    try:
        return value == 0 or 0 < abs(float(value)) < inf
    except OverflowError:
        return False


def is_exact(node: Expr) -> bool:
    """Whether `node` is a number that may be folded into another (a decimal literal is kept as typed)."""
    return isinstance(node, Const) and node.text is None


def value_of(node: Expr) -> Fraction:
    """The value of a Const."""
    assert isinstance(node, Const)
    return node.value


def add(a: Expr, b: Expr) -> Expr:
    if a is ZERO:
        return b
    if isinstance(b, Const):
        if b is ZERO:
            return a
        if b.text is None:
            if is_exact(a) and is_double(number := value_of(a) + b.value):
                return const(number)
            if b.value < 0:
                return sub(a, const(-b.value))
    elif isinstance(b, Apply) and b.op == "neg":
        return sub(a, b.args[0])
    return _apply("add", a, b)


def sub(a: Expr, b: Expr) -> Expr:
    if b is ZERO:
        return a
    if a is ZERO:
        return neg(b)
    if a.key is b.key:
        return ZERO
    if isinstance(b, Const):
        if b.text is None and is_exact(a) and is_double(number := value_of(a) - b.value):
            return const(number)
    elif isinstance(b, Apply) and b.op == "neg":
        return add(a, b.args[0])
    return _apply("sub", a, b)


def mul(a: Expr, b: Expr) -> Expr:
    if a is ZERO or b is ZERO:
        return ZERO
    if a is ONE:
        return b
    if b is ONE:
        return a
    exact = isinstance(a, Const) and a.text is None
    if exact and is_exact(b) and is_double(number := value_of(a) * value_of(b)):
        return const(number)
    if isinstance(a, Apply) and a.op == "neg":
        return neg(mul(a.args[0], b))
    if isinstance(b, Apply) and b.op == "neg":
        return neg(mul(a, b.args[0]))
    if exact and value_of(a) < 0:
        return neg(mul(const(-value_of(a)), b))
    return _apply("mul", a, b)


def div(a: Expr, b: Expr) -> Expr:
    if b is ONE:
        return a
    if is_exact(a) and is_exact(b) and b is not ZERO and is_double(number := value_of(a) / value_of(b)):
        return const(number)
    if isinstance(a, Apply) and a.op == "neg":
        return neg(div(a.args[0], b))
    if isinstance(b, Apply) and b.op == "neg":
        return neg(div(a, b.args[0]))
    return _apply("div", a, b)


def neg(a: Expr) -> Expr:
    if isinstance(a, Const) and (a.text is None or a is ZERO):
        return const(-a.value)
    if isinstance(a, Apply) and a.op == "neg":
        return a.args[0]
    if isinstance(a, Apply) and a.op == "sub":
        return _apply("sub", a.args[1], a.args[0])
    if isinstance(a, Apply) and a.op == "select" and ZERO in a.args:
        condition, *sides = a.args
        if any(isinstance(side, Apply) and side.op == "neg" for side in sides):
            return select(condition, *map(neg, sides))
    return _apply("neg", a)


def power(a: Expr, b: Expr) -> Expr:
    if b is ONE or a is ONE:
        return a
    if b is ZERO:
        return ONE
    if is_exact(a) and is_exact(b) and value_of(b).denominator == 1 and abs(value_of(b)) <= 64:
        exponent = int(value_of(b))
        if (exponent > 0 or a is not ZERO) and is_double(number := value_of(a) ** exponent):
            return const(number)
    if isinstance(a, Apply) and a.op == "neg" and is_exact(b) and value_of(b) % 2 == 0:
        return power(a.args[0], b)
    return _apply("pow", a, b)


def select(condition: Expr, then: Expr, otherwise: Expr) -> Expr:
    if isinstance(condition, Const):
        return then if condition.value else otherwise
    if then is otherwise:
        return then
    while isinstance(condition, Apply) and condition.op == "not":
        condition, then, otherwise = condition.args[0], otherwise, then
    return _apply("select", condition, then, otherwise)


COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
}
OPPOSITE = {"gt": "le", "ge": "lt", "lt": "ge", "le": "gt", "eq": "ne", "ne": "eq"}  # holds where it does not
MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}  # holds with its operands exchanged


def _comparison(op: str, a: Expr, b: Expr) -> Expr:
    if isinstance(a, Const) and isinstance(b, Const):
        return const(int(COMPARE[op](a.value, b.value)))
    return _apply(op, a, b)


def _connective(op: str, neutral: Expr, decisive: Expr) -> Callable[[Expr, Expr], Expr]:
    """`and` or `or`, of which one truth value changes nothing, and the other decides."""

    def connected(a: Expr, b: Expr) -> Expr:
        if a is neutral:
            return b
        if b is neutral or a.key is b.key:
            return a
        return decisive if a is decisive or b is decisive else _apply(op, a, b)

    return connected


_both = _connective("and", ONE, ZERO)


def _negation(a: Expr) -> Expr:
    if isinstance(a, Const):
        return const(int(not a.value))
    return _apply("not", a)


def _floordiv(a: Expr, b: Expr) -> Expr:
    if is_exact(a) and is_exact(b) and b is not ZERO:
        return const(value_of(a) // value_of(b))
    return _apply("floordiv", a, b)


def _mod(a: Expr, b: Expr) -> Expr:
    if is_exact(a) and is_exact(b) and b is not ZERO:
        return const(value_of(a) % value_of(b))
    return _apply("mod", a, b)


_CONSTRUCT: dict[str, Callable[..., Expr]] = {
    "add": add,
    "sub": sub,
    "mul": mul,
    "div": div,
    "neg": neg,
    "pow": power,
    "select": select,
    "and": _both,
    "or": _connective("or", ZERO, ONE),
    "not": _negation,
    "floordiv": _floordiv,
    "mod": _mod,
    **{op: (lambda a, b, op=op: _comparison(op, a, b)) for op in COMPARE},
}


def apply(op: str, *args: Value) -> Expr:
    """Return the operator `op` on `args`, after the identities above."""
    return constructed(op, map(as_expr, args))


def constructed(op: str, args: Iterable[Expr]) -> Expr:
    """The same of nodes."""
    construct = _CONSTRUCT.get(op)
    return construct(*args) if construct else _apply(op, *args)


def total(terms: Iterable[Expr]) -> Expr:
    """The sum of `terms`, in their order; 0 for none."""
    return reduce(add, terms, ZERO)


def product(factors: Iterable[Expr]) -> Expr:
    """The product of `factors`, in their order; 1 for none."""
    return reduce(mul, factors, ONE)


def fraction(above: Iterable[Expr], below: Iterable[Expr]) -> Expr:
    """The product of `above` over that of `below`."""
    return div(product(above), product(below))


def without_number(above: Iterable[Expr], below: Iterable[Expr]) -> tuple[Fraction, list[Expr], list[Expr]]:
    """The number in a fraction, and its other factors above and below the line."""
    number, rest = Fraction(1), ([], [])  # type: tuple[Fraction, tuple[list[Expr], list[Expr]]]
    for side, others, way in ((above, rest[0], 1), (below, rest[1], -1)):
        for f in side:
            if is_exact(f) and value_of(f):
                number *= value_of(f) ** way
            else:
                others.append(f)
    return number, *rest


def one_fraction(node: Expr) -> Expr:
    """a * (b / c) as a * b / c: one fraction reads better than two."""
    if isinstance(node, Apply) and node.op == "mul":
        a, b = node.args
        if isinstance(b, Apply) and b.op == "div" and b.args[0] is not ONE:
            return one_fraction(a * b.args[0]) / b.args[1]
    return node


def signed_total(terms: Iterable[tuple[Expr, int]]) -> Expr:
    """The sum of terms with their signs, as `terms_of` takes it apart."""
    return total(neg(term) if sign < 0 else term for term, sign in terms)


def base_of(node: Expr) -> tuple[Expr, Expr]:
    """Base and exponent of a power; what is none is its own first."""
    return (node.args[0], node.args[1]) if isinstance(node, Apply) and node.op == "pow" else (node, ONE)


def without_sign(node: Expr) -> tuple[Expr, bool]:
    """`node` without a minus before it, and whether there was one."""
    return (node.args[0], True) if isinstance(node, Apply) and node.op == "neg" else (node, False)


def operator(node: Expr) -> str:
    """The name of an operator; empty for what is none."""
    return node.op if isinstance(node, Apply) else ""


def conjunction(conditions: Iterable[Expr]) -> Expr:
    """The condition that all of these hold, in their order; 1 for none."""
    return reduce(_both, conditions, ONE)


def conjuncts(condition: Expr) -> list[Expr]:
    """The conditions that must hold together for `condition` to hold, in order."""
    return [node for node, _ in _taken_apart(condition, ("and",))]


def bound_of(condition: Expr, holds: bool = True) -> tuple[Expr, str, Const] | None:
    """What lies below or above a number where a condition holds, or where it does not, with the comparison and the
    number; None where it compares nothing with a number."""
    if operator(condition) == "not":
        return bound_of(condition.args[0], not holds)
    op = operator(condition) if holds else OPPOSITE.get(operator(condition), "")
    if op not in MIRRORED:
        return None
    a, b = condition.args
    if isinstance(b, Const):
        return a, op, b
    return (b, MIRRORED[op], a) if isinstance(a, Const) else None


def factors(node: Expr) -> tuple[list[Expr], list[Expr]]:
    """The factors above and below the line of a product, in order; a product that stands in it twice is one."""
    parts = _taken_apart(node, ("mul", "div"), ("div",))
    return [n for n, under in parts if not under], [n for n, under in parts if under]


def _taken_apart(root: Expr, ops: tuple[str, ...], turning: tuple[str, ...] = ()) -> list[tuple[Expr, bool]]:
    """What these operators, one inside of the other, are applied to, in order; and whether it is the last operand of an
    odd number of those `turning`. An operation that several of them read is not taken apart: x**(2**64), written as 64
    squares, has two factors."""
    if operator(root) not in ops:
        return [(root, False)]
    whole: set[Expr] = set()
    while True:
        found: list[tuple[Expr, bool]] = []
        met: set[Expr] = set()
        again: set[Expr] = set()
        stack = [(root, False)]
        while stack:
            node, turned = stack[-1]
            del stack[-1]
            if not (isinstance(node, Apply) and node.op in ops) or node in whole:
                found += ((node, turned),)
            elif node in met:
                again |= {node}
            else:
                met |= {node}
                *first, last = node.args
                stack += ((last, turned != (node.op in turning)),)
                if first:
                    stack += ((first[0], turned),)
        if not again:
            return found
        whole |= again


def signed_factors(node: Expr) -> tuple[list[Expr], list[Expr], int]:
    """The factors above and below the line but for 1, and the sign: there is none inside of a product."""
    bare, negative = without_sign(node)
    above, below = factors(bare)
    return [f for f in above if f is not ONE], below, -1 if negative else 1


def terms_of(root: Expr) -> list[tuple[Expr, int]]:
    """The terms of a sum, each with its sign, in order; a sum that stands in it twice is one."""
    return [(n, -1 if minus else 1) for n, minus in _taken_apart(root, ("add", "sub", "neg"), ("sub", "neg"))]
