"""Expressions as source trees of C: every node is written as what its place asks for.

A place asks for one of four kinds: `real` (double), `size` (size_t, arithmetic modulo 2^64: subscripts), `int`
(ptrdiff_t) or `bool`. Sizes and loop indices are size_t, integer tensors and options are signed; a difference of sizes
is signed wherever its sign matters.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from ..errors import UnsupportedError
from ..expr import (
    HALF,
    ONE,
    ZERO,
    Apply,
    Const,
    Expr,
    Index,
    Ref,
    apply,
    const,
    folded,
    index,
    is_exact,
    operator,
    postorder,
    refs,
    select,
    substitute,
    transform,
    value_of,
)
from ..expr.sizes import never_negative
from ..expr.text import decimal
from ..ir import Dtype
from ..numerics.removable import Filled
from ..ops import OPS, Helper, Op, in_others
from ..ops.primitive import Primitive
from ..plan.loops import FULL_AXIS
from ..plan.loops.integers import sides
from ..source.tree import BOOL, INT, REAL, SIZE, Call, Cast, Element, Expression, Name, Number, Operation, Type
from . import c_special, c_vector
from .c_print import DOUBLE, INFIX, LIBM, PREFIX


def language(node: Expr) -> Expr:
    """`node` in operators that C has. maximum and minimum let a NaN through, which fmax and fmin do not."""
    if not isinstance(node, Apply):
        return node
    if node.op == "pow":
        return power(*node.args)
    if node.op in ("maximum", "minimum"):
        a, b = node.args
        if isinstance(a, Const) and not isinstance(b, Const):
            a, b = b, a
        if isinstance(b, Const):
            return select(apply("lt" if node.op == "maximum" else "gt", a, b), b, a)
        wins = apply("ge" if node.op == "maximum" else "le", a, b)
        # in this order: GCC 12 vectorises `a >= b || isnan(a)` wrongly for AVX-512, where a loop has conditions
        return select(apply("or", apply("ne", a, a), wins), a, b)
    if node.op == "sign":
        (x,) = node.args
        return select(apply("gt", x, 0), ONE, select(apply("lt", x, 0), -ONE, x))
    found = in_others(node, "c")
    return node if found is None else transform(found, language)


def helper_in(row: Op) -> Helper | None:
    """The function of the file that stands for an operator; None where the C library has one."""
    return None if row.spell.get("c") in LIBM else row.helper


def operators_in(op: str) -> list[Op]:
    """The operators of which a function of the file is made that stands for one; none for another operator."""
    helper = helper_in(OPS[op])
    parts = [op.formula] if isinstance(op, Filled) else [e for _, e in helper.lines] if helper is not None else []
    every = postorder(*(transform(e, language) for e in parts if isinstance(e, Expr)))
    return [OPS[n.op] for n in every if isinstance(n, Apply)]


def vectors_in(op: str) -> str | None:
    """How the functions for vectors are spelled that such a function calls: those of loops, or of batches alone."""
    own = operators_in(op)
    return next((key for key in (c_vector.LOOPS, c_vector.BATCHES) if any(key in row.spell for row in own)), None)


def power(base: Expr, exponent: Expr) -> Expr:
    if not is_exact(exponent):
        return apply("pow", base, exponent)
    n = value_of(exponent)
    if n == 2:
        return base * base
    if n == 3:
        return base * base * base
    if n == value_of(HALF):
        return apply("sqrt", base)
    if n < 0 and -n in (1, 2, 3, value_of(HALF)):
        return 1 / power(base, const(-n))
    return apply("pow", base, exponent)


class Expressions:
    """Builds the expressions of one function.

    kinds     what every tensor, option and scalar is
    shapes    the axes of every array; a name with none is a scalar
    pointers  scalars that are given by pointer
    extents   computed extents -> the name they have: 0 where the number itself would be negative
    negative  options that are below 0 as they are declared: no size_t until they have been added to something
    named     what a tensor, size, option or index of the nest is called in print
    local     what a function of the file is called that stands for an operator, or for what C lacks
    vector    the spellings in a loop that shall become vectors: c_vector.py
    """

    def __init__(
        self,
        kinds: Mapping[str, Dtype],
        shapes: Mapping[str, tuple[Expr, ...]],
        pointers: frozenset[str] = frozenset(),
        extents: Mapping[Expr, str] | None = None,
        negative: Collection[str] = (),
        named: Callable[[Index | Ref], str] = lambda node: node.name,
        local: Callable[[str], str] = str,
        vector: Sequence[str] = (),
    ) -> None:
        self._kinds = kinds
        self._shapes = shapes
        self._pointers = pointers
        self._extents = extents or {}
        self._negative = negative
        self._named = named
        self._local = local
        self._vector = vector
        self._types: dict[Expr, str] = {}
        self._done: dict[tuple[Expr, str], Expression] = {}
        self._rows: dict[Ref, tuple[str, Expr]] = {}

    # what a node is

    def type_of(self, root: Expr) -> str:
        """REAL, SIZE, INT or BOOL."""
        return self._types.get(root) or folded(root, self._types, self._type)

    def _type(self, node: Expr) -> str:
        longer = isinstance(node, Apply) and node.op in ("maximum", "minimum")  # of two axes: how long one is
        if node.key in self._extents and (longer or never_negative(node, self._kinds)):
            return SIZE
        if isinstance(node, Const):
            whole = is_exact(node) and node.value.denominator == 1
            return (SIZE if node.value >= 0 else INT) if whole else REAL
        if isinstance(node, Index):
            return SIZE
        if isinstance(node, Ref):
            found = self._kinds.get(node.name)
            return SIZE if found is None else str(found)
        assert isinstance(node, Apply)
        below = [self._types[a] for a in (node.args[1:] if node.op == "select" else node.args)]
        row = OPS[node.op]
        if row.result == "bool":
            return BOOL
        if node.op in ("maximum", "minimum") and REAL not in below:  # a count: of a shape, or a limit of a loop
            return SIZE
        if not row.of_integers or REAL in below:
            return REAL
        signed = node.op in ("sub", "neg") or any(b != SIZE for b in below)
        return INT if signed else SIZE

    # building

    def __call__(self, root: Expr) -> Expression:
        return self.as_kind(root, REAL)

    def as_kind(self, root: Expr, kind: str) -> Expression:
        """`root` as a value of that kind."""
        done, asked = self._done, (root, kind)
        stack = [] if asked in done else [(asked, self._needs(root, kind))]
        while stack:
            one, needs = stack[-1]
            for other in needs:
                if other not in done:
                    stack.append((other, self._needs(*other)))
                    break
            else:
                done[one] = self._build(*one, needs, tuple([done[n] for n in needs]))
                del stack[-1]
        return done[asked]

    def _needs(self, node: Expr, kind: str) -> list[tuple[Expr, str]]:
        """The nodes, as what kinds, that are needed for `node`."""
        if kind == SIZE and node.key in self._extents:
            return []
        if isinstance(node, Ref):
            return [(self.flat(node), SIZE)] if node.subscripts else []
        if not isinstance(node, Apply):
            return []
        own = self.type_of(node)
        if kind == SIZE and own == INT and self._may_be_negative(node):
            return [(node, INT)]
        if node.op == "select":
            inside = kind if kind != BOOL else own
            return [(node.args[0], BOOL), *((a, inside) for a in node.args[1:])]
        if own == BOOL:
            if OPS[node.op].kind == "logic":
                return [(a, BOOL) for a in node.args]
            if node.op == "ne" and node.args[0] is node.args[1]:
                return [(node.args[0], REAL)]
            return self._compared(node)
        if kind == BOOL:
            return [(node, own)]
        if own == REAL:
            return [(a, REAL) for a in node.args] if kind == REAL else [(node, REAL)]
        if own == SIZE and kind in (REAL, INT):
            return [(node, SIZE)]
        if own == SIZE and node.op in ("maximum", "minimum"):
            above = [a for a in node.args if a is not ZERO]
            return [(a, SIZE if len(above) == 2 or a.key in self._extents else INT) for a in above]
        if node.op in ("floordiv", "mod", "abs", "isqrt"):
            if own == SIZE:
                return [(a, SIZE) for a in node.args]
            return [(a, INT) for a in node.args] if kind == INT else [(node, INT)]
        return [(a, kind) for a in node.args]

    def _may_be_negative(self, node: Apply) -> bool:
        """Whether a part of what is certainly a size is negative beside more than what wraps around: an option, the
        quotient in (n - 2)//2 + 1, or what is given before it is kept inside."""
        if any(operator(n) == "select" and any(r.name in self._shapes for r in refs(n)) for n in postorder(node)):
            return True
        quotient, *more = node.args
        rounded = isinstance(quotient, Apply) and quotient.op == "floordiv" and self.type_of(quotient) == INT
        return any(r.name in self._negative for r in refs(node)) or rounded and more == [ONE]

    def _compared(self, node: Apply) -> list[tuple[Expr, str]]:
        """Both sides of a comparison: sizes without a minus sign where that can be, else signed."""
        a, b = node.args
        types = {self.type_of(a), self.type_of(b)}
        if REAL in types:
            return [(a, REAL), (b, REAL)]
        if types == {SIZE}:
            return [(a, SIZE), (b, SIZE)]
        moved = sides(a - b)
        if moved is not None and all(self.type_of(s) == SIZE for s in moved):
            return [(moved[0], SIZE), (moved[1], SIZE)]
        return [(a, INT), (b, INT)]

    def _build(self, node: Expr, kind: str, needs: list[tuple[Expr, str]], parts: tuple[Expression, ...]) -> Expression:
        if kind == SIZE and node.key in self._extents:
            return Name(self._extents[node.key])
        if isinstance(node, Const):
            return number_of(node, kind)
        own = self.type_of(node)
        if not isinstance(node, Apply):
            return converted(self._leaf(node, parts), own, kind)
        if node.op == "select" and len(parts) > 1:
            return Operation("select", parts)
        if own == BOOL:
            found = self._condition(node, parts)
            return found if kind == BOOL else _chosen(found, kind)
        if kind == BOOL:
            return Operation("ne", (parts[0], Number("0")))
        if needs in ([(node, SIZE)], [(node, INT)], [(node, REAL)]):
            return converted(parts[0], own, kind)
        return self._operator(node, own, parts)

    def _operator(self, node: Apply, own: str, parts: tuple[Expression, ...]) -> Expression:
        if own == SIZE and node.op in ("maximum", "minimum"):
            if len(parts) == 2:
                return Call(self._local("larger" if node.op == "maximum" else "smaller"), parts)
            named = any(a.key in self._extents for a in node.args)
            return parts[0] if named else Call(self._local("extent"), parts)
        if own == INT and node.op in ("floordiv", "mod"):
            return self._floored("floor_div" if node.op == "floordiv" else "floor_mod", parts)
        if own in (INT, SIZE) and node.op == "abs":
            return parts[0] if own == SIZE else Call(self._local("absolute"), parts)
        if node.op in INFIX or node.op in PREFIX:
            return Operation(node.op, parts)
        if node.op == "isqrt":
            return Cast(Type(own), Call("sqrt", (Cast(DOUBLE, parts[0]),)))
        if node.op == "pi":
            return Name(self._local("PI"))
        if node.op == "oo":
            return Name("INFINITY")
        row = OPS[node.op]
        if isinstance(node.op, Primitive):
            return Call(self._local(node.op), parts)
        of_vectors = next((row.spell[key] for key in self._vector if key in row.spell), None)
        if of_vectors is not None and refs(node):
            return Call(self._local(of_vectors), parts)
        word = row.spell.get("c", node.op)
        if isinstance(node.op, Filled) or helper_in(row) is not None:
            prefix = c_vector.PREFIX * (vectors_in(node.op) in self._vector)
            return Call(self._local(prefix + word), parts)
        if word in c_special.TEXTS:
            return Call(self._local(word), parts)
        if word not in LIBM:
            raise UnsupportedError(
                f"C99 has no function {word}, which {node.op} needs. Print another language, or say in the row of "
                f"{node.op} in symgrad/ops what C calls it (spell) or how it is written in other operators (expand)."
            )
        return Call(word, parts)

    def _floored(self, function: str, parts: tuple[Expression, ...]) -> Expression:
        """A quotient of integers, or what is left over, as of numbers that are rounded down."""
        return Call(self._local(function), parts)

    def _condition(self, node: Apply, parts: tuple[Expression, ...]) -> Expression:
        if node.op == "ne" and node.args[0] is node.args[1]:
            return Call("isnan", parts)
        return Operation(node.op, parts)

    def _leaf(self, node: Expr, parts: tuple[Expression, ...]) -> Expression:
        assert isinstance(node, (Index, Ref))
        name = Name(self._named(node))
        if isinstance(node, Ref) and parts:
            return Element(name, parts)
        return Operation("at", (name,)) if isinstance(node, Ref) and node.name in self._pointers else name

    def element(self, element: Ref) -> Expression:
        """The element as the target of a store."""
        return self._leaf(element, (self.as_kind(self.flat(element), SIZE),) if element.subscripts else ())

    def place(self, element: Ref) -> Expression:
        """Where the row or matrix begins whose element at FULL_AXIS this is; the place of a number."""
        whole: dict[Expr, Expr] = {FULL_AXIS: ZERO}
        first = substitute(element, whole)
        assert isinstance(first, Ref)
        name = Name(self._named(first))
        if not first.subscripts:
            return name if first.name in self._pointers else Operation("place", (name,))
        offset = self.flat(first)
        if offset is ZERO:
            return name
        place = self.as_kind(offset, SIZE)
        if isinstance(offset, Apply) and offset.op in ("add", "sub"):
            return Operation("place", (Element(name, (place,)),))
        return Operation("add", (name, place))

    def start_rows(self, rows: Mapping[Ref, tuple[str, Expr]]) -> None:
        """From here on, the rows of these elements have a name: the place of the first element of the row."""
        self._rows = dict(rows)
        self._done.clear()

    def flat(self, element: Ref, last: bool = True) -> Expr:
        """The one subscript of a row-major array; that of the first element of the row if not `last`."""
        if last and element in self._rows:
            return _plus(index(self._rows[element][0]), element.subscripts[-1])
        subscripts = element.subscripts if last else (*element.subscripts[:-1], ZERO)
        place: Expr = ZERO
        for s, extent in zip(subscripts, self._shapes[element.name], strict=True):
            place = _plus(place * extent, s)
        return place


def converted(value: Expression, own: str, kind: str) -> Expression:
    """`value`, which is of the kind `own`, as one of another kind."""
    if own == kind or {own, kind} == {INT, BOOL} and kind == INT:
        return value
    if kind == BOOL:
        return Operation("ne", (value, Number("0")))
    twice = isinstance(value, Cast) and kind == SIZE and value.type.of == INT  # a parameter of a macro
    return Cast(Type(kind), value.value if twice and isinstance(value, Cast) else value)


def _chosen(condition: Expression, kind: str) -> Expression:
    yes, no = (Number("1.0", True), Number("0.0", True)) if kind == REAL else (Number("1"), Number("0"))
    return Operation("select", (condition, yes, no))


def number_of(node: Const, kind: str) -> Expression:
    """A literal as a value of a kind."""
    value = node.value
    if kind == BOOL:
        return Number("1" if value else "0")
    if kind != REAL:
        assert value.denominator == 1, f"{node} is no integer"
        return Number(str(value.numerator))
    text = node.text or decimal(node)
    if text is not None:
        return Number(text if set(text) & set(".e") else f"{text}.0", True)
    return Operation("div", (Number(f"{value.numerator}.0", True), Number(f"{value.denominator}.0", True)))


def _plus(a: Expr, b: Expr) -> Expr:
    """a + b without parentheses around b: what wraps around does not mind the order."""
    if isinstance(b, Apply) and b.op == "add":
        return _plus(_plus(a, b.args[0]), b.args[1])
    if isinstance(b, Apply) and b.op == "sub":
        return _plus(a, b.args[0]) - b.args[1]
    return a + b
