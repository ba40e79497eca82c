"""Array expressions as trees of Python, in the vocabulary of NumPy."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import ClassVar

from ..errors import UnsupportedError
from ..expr import ONE, ZERO, Expr
from ..expr.sizes import never_negative
from ..ir import Dtype
from ..later import np
from ..ops import OPS, Op, takes_arrays
from ..ops.primitive import Primitive
from ..plan.arrays import tree as arrays
from ..plan.arrays.below import below, children, not_zero, plain_number
from ..plan.arrays.tree import ALL, Array, Copy, Elementwise, Item, Num, Real, Reduce, SizeOf, Slice, Take, Var
from ..source import python as py
from ..source.python import (
    NONE,
    Attribute,
    Cut,
    Element,
    Expression,
    Name,
    Operation,
    Several,
    Word,
    call,
    integer,
    method,
)
from . import primitives
from .python_sizes import axis, number, of_numbers, shape, size

PRODUCTS = 4  # the largest power that is written as products
OPERATORS: Mapping[str, str] = {
    "or": "bitor", "and": "bitand", "not": "invert",
    **{op: op for op in "lt le gt ge eq ne add sub neg mul div floordiv mod".split()},
}  # fmt: skip
TRUE = Word("True")
DTYPE = Word("dtype")  # that of the inputs
Child = Callable[[Array], Expression]


class Matrix:
    """How a function of whole matrices is called: its word, the options behind the arguments, the result that is
    taken."""

    def __init__(self, function: str, result: int | None = None, **options: Expression) -> None:
        self.function, self.result, self.options = function, result, options

    def __call__(self, arguments: Sequence[Expression], module: str) -> Expression:
        found = call(self.function.replace("np.", f"{module}."), *arguments, **self.options)
        return found if self.result is None else Element(found, (integer(self.result),))


MATRICES: Mapping[str, Matrix] = {
    # the whole of a call with several results
    "slogdet": Matrix("np.linalg.slogdet"),
    "qr": Matrix("np.linalg.qr"),
    "eigh": Matrix("np.linalg.eigh"),
    "svd": Matrix("np.linalg.svd", full_matrices=Word("False")),
    # one result
    "inv": Matrix("np.linalg.inv"),
    "solve": Matrix("np.linalg.solve"),
    "solve_lower": Matrix("linalg.solve_triangular", lower=TRUE),
    "solve_upper": Matrix("linalg.solve_triangular"),
    "det": Matrix("np.linalg.det"),
    "slogdet_sign": Matrix("np.linalg.slogdet", 0),
    "slogdet_log": Matrix("np.linalg.slogdet", 1),
    "cholesky": Matrix("np.linalg.cholesky"),
    "qr_q": Matrix("np.linalg.qr", 0),
    "qr_r": Matrix("np.linalg.qr", mode=py.text("r")),
    "eigh_values": Matrix("np.linalg.eigvalsh"),
    "eigh_vectors": Matrix("np.linalg.eigh", 1),
    "svd_u": Matrix("np.linalg.svd", 0, full_matrices=Word("False")),
    "svd_values": Matrix("np.linalg.svd", compute_uv=Word("False")),
    "svd_vh": Matrix("np.linalg.svd", 2, full_matrices=Word("False")),
    "pinv": Matrix("np.linalg.pinv"),
    "expm": Matrix("linalg.expm"),
    "argsort": Matrix("np.argsort", axis=integer(-1), kind=py.text("stable")),
}


def _sliding(node: arrays.Convolution) -> dict[str, Expression]:
    """How a weight slides: one number where it is the same along all axes."""
    ways = {"stride": (node.stride, ONE), "padding": (node.padding, ZERO), "dilation": (node.dilation, ONE)}
    found = {}
    for word, (each, usual) in ways.items():
        if any(value is not usual for value in each):
            found[word] = size(each[0]) if len({*each}) == 1 else Several(tuple(map(size, each)))
    return found | given(node.groups is not ONE, groups=size(node.groups))


def given(condition: object, **options: Expression) -> dict[str, Expression]:
    """Arguments by name, if something holds."""
    return options if condition else {}


CONVOLUTIONS = {"result": "_conv", "input": "_conv_input", "weight": "_conv_weight", "transpose": "_conv_transpose"}


class Expressions:
    """Array expressions in the vocabulary of NumPy.

    dtype    the inputs' type
    options  the names of numbers that whoever calls the code gives, and that may be negative
    needs    what the code has checked before
    """

    target = "numpy"
    module = "np"
    slow_from = 3  # the least power that is slower than products: 30 times, of 100,000 numbers
    refuses_nothing: ClassVar[bool] = True  # the maximum over a whole axis of no elements
    matrices: ClassVar[Mapping[str, Matrix]] = MATRICES
    library: ClassVar[Mapping[str, int]] = {}
    cast = "astype"  # the method that changes the type of an array
    moves = "moveaxis"  # the function that moves axes past any number of others

    def __init__(self, dtype: Expression, options: Collection[str] = (), needs: Collection[Expr] = ()) -> None:
        self.dtype = dtype
        self.options = options
        self.needs = needs

    def __call__(self, array: Array) -> Expression:
        """The tree of `array`."""
        done: dict[int, Expression] = {}
        stack: list[tuple[Array, bool]] = [(array, False)]
        while stack:
            node, ready = stack.pop()
            if id(node) in done:
                continue
            if ready:
                done[id(node)] = self._node(node, lambda a: done[id(a)])
            else:
                stack.append((node, True))
                stack.extend((child, False) for child in children(node))
        return done[id(array)]

    def own(self, function: str, *arguments: Expression, **options: Expression) -> py.Call:
        """A function of the module."""
        return call(f"{self.module}.{function}", *arguments, **options)

    def _node(self, node: Array, tree: Child) -> Expression:
        own = self.own
        match node:
            case Var(name):
                return Name(name)
            case Num(value):
                return number(value)
            case SizeOf(value):
                return size(value)
            case Elementwise("oo", ()):
                return Word(f"{self.module}.inf")
            case Elementwise(op, args):
                return self._elementwise(op, args, tree)
            case Take(Take(base, items), outer) if (kept := self._kept_along(base, items, outer, tree)) is not None:
                return kept
            case Take(base, items) if (found := self._taken_along(tree(base), items, tree)) is not None:
                places = along(items)
                return self._first_along(found, places.axis) if places is not None and places.lacks else found
            case Take(base, items):
                return Element(tree(base), tuple(self._item(i, tree) for i in items))
            case arrays.Along(base) | arrays.Single(base):
                return tree(base)
            case arrays.Permute(base, axes, int(pack)):
                return own(self.moves, tree(base), *map(_place, _moves_around(axes, pack)))
            case arrays.Permute(base, axes) if axes[0] < 0 and not last_two(axes):  # behind a pack
                return own(self.moves, tree(base), *map(_place, _moves(axes)))
            case arrays.Permute(base, axes):
                return _permuted(tree(base), axes)
            case Reduce():
                return self._reduced(node, tree(node.base))
            case arrays.Scan(op, base, place, reverse):
                return self._scan(op, tree(base), place, reverse)
            case arrays.Eye(extent):
                return own("eye", size(extent), dtype=self.dtype)
            case arrays.MatrixCall(kind, args):
                return self.matrices[kind]([tree(a) for a in args], self.module)
            case arrays.MatMul(left, right):
                return Operation("matmul", (tree(left), tree(right)))
            case arrays.Einsum(subscripts, operands):
                return own("einsum", py.text(subscripts), *map(tree, operands), optimize=TRUE)
            case arrays.Convolution(kind, left, right, extents):
                given_to = [tree(left), tree(right)]
                if kind == "input":
                    given_to = [shape(extents), *reversed(given_to)]
                elif kind == "weight":
                    given_to.insert(1, shape(extents))
                return call(CONVOLUTIONS[kind], *given_to, **_sliding(node))
            case arrays.Reshape(base, _, _, rows) as reshaped:
                entries = [integer(-1) if e is None else size(e) if e is rows else axis(e) for e in reshaped.told]
                return method(tree(base), "reshape", *entries)
            case arrays.Range(extent, real):
                return own("arange", size(extent), **given(real, dtype=self.dtype))
            case arrays.Stack(items_, place):
                return own("stack", _list(map(tree, items_)), axis=integer(place))
            case arrays.Concatenate(items_, place):
                return own("concatenate", _list(map(tree, items_)), **given(place, axis=integer(place)))
            case arrays.Windows(base, place, length, step, dilation):
                rest = given(step is not ONE, step=size(step)) | given(dilation is not ONE, dilation=size(dilation))
                return call("_windows", tree(base), integer(place), size(length), **rest)
            case arrays.Pad(base, widths, fill, pack):
                pairs: list[Expression] = [Several((axis(first), axis(last))) for first, last in widths]
                if pack:  # how many axes it stands for
                    several = Operation("sub", (Attribute(tree(base), "ndim"), integer(len(pairs) - 1)))
                    none = Several((Several((integer(0), integer(0))),), "[")
                    pairs[0] = py.Splat(Operation("mul", (none, several)))
                option = given(not is_zero(fill), constant_values=tree(fill))
                return own("pad", tree(base), pairs[0] if len(pairs) == 1 else Several(tuple(pairs)), **option)
            case arrays.Places(item):
                bounds = (item.start, item.stop, item.step)
                return call("slice", *(Word("None") if e is None else size(e) for e in bounds))
            case arrays.PackPlaces(extents, after):
                return py.Splat(all_but(own("indices", shape(extents), sparse=TRUE), after))
            case arrays.Roll(base, shift, place):
                return own("roll", tree(base), size(shift), axis=integer(place))
            case arrays.Triangle(base, lower, offset):
                return own("tril" if lower else "triu", tree(base), *([integer(offset)] if offset else []))
            case arrays.Diagonal(base, first, second):
                option = given((first, second) != (0, 1), axis1=integer(first), axis2=integer(second))
                return method(tree(base), "diagonal", **option)
            case arrays.BroadcastTo(base, extents):
                return own("broadcast_to", tree(base), shape(extents))
            case arrays.Full(value, extents, kind):
                dtype = self.dtype if kind == Dtype.REAL else Word(kind.value)
                if is_zero(value) or is_one(value):
                    return own("zeros" if is_zero(value) else "ones", shape(extents), dtype=dtype)
                return own("full", shape(extents), tree(value), dtype=dtype)
            case Real(base=base) if plain_number(base):
                return call("float", tree(base))
            case Real(base=base):
                return method(tree(base), "astype", self.dtype)
            case Copy(base):
                return method(tree(base), "copy")
            case arrays.Wide(base):
                return call("_float32", tree(base))
            case arrays.Narrow(base):
                return method(tree(base), self.cast, DTYPE)

    def _taken_along(self, base: Expression, items: Sequence[Item], tree: Child) -> Expression | None:
        """`base[items]`, the axis along which it is taken kept, if there is a function for that which reads better."""
        places = along(items)
        if places is None or not any(isinstance(i, arrays.PackPlaces) for i in items):
            return None
        return self.own("take_along_axis", base, beside(places, tree(places.base)), axis=integer(places.axis))

    def _first_along(self, found: Expression, axis: int) -> Expression:
        """The only element along an axis."""
        return Element(found, at_axis(axis, integer(0)))

    def _kept_along(self, base: Array, items: Sequence[Item], outer: Sequence[Item], tree: Child) -> Expression | None:
        """`base[items][outer]` if that is `base[items]` with the axis kept along which it is taken."""
        places = along(items)
        if places is None or not places.lacks or axis_at(outer) != places.axis:
            return None
        return self._taken_along(tree(base), items, tree)

    def _reduced(self, node: Reduce, base: Expression) -> Expression:
        axes = () if node.axes is None else node.axes
        options = given(node.axes is not None, axis=axes_of(axes)) | given(node.keepdims, keepdims=TRUE)
        kind = node.kind
        if kind == "supremum":
            kind = "max"
            if node.partial or not self.refuses_nothing:  # of nothing it is to be -inf
                options["initial"] = Operation("neg", (Word(f"{self.module}.inf"),))
        return method(base, kind, **options)

    def _scan(self, op: str, base: Expression, axis: int | None, reverse: bool) -> Expression:
        word = {"add": "cumsum", "mul": "cumprod"}.get(op, f"{op}.accumulate")
        option = given(axis is not None, axis=integer(axis or 0))
        if not reverse:
            return self.own(word, base, **option)
        place = axis or 0
        turned = Cut(step=integer(-1))
        items: list[Expression] = [*[Cut()] * place, turned]
        if place < 0:
            items = [Word("..."), turned, *[Cut()] * (-1 - place)]
        return Element(self.own(word, Element(base, tuple(items)), **option), tuple(items))

    def _elementwise(self, op: str, args: Sequence[Array], tree: Child) -> Expression:
        if op == "add" and isinstance(args[1], Elementwise) and args[1].op == "neg":
            op, args = "sub", (args[0], args[1].args[0])
        inner = [tree(a) for a in args]
        if op == "ne" and args[0] == args[1]:
            return self.own("isnan", inner[0])
        if op in ("div", "pow") and all(map(plain_number, args)) and not self._finite(op, args):
            word = "divide" if op == "div" else "float_power"  # Python's own raise where there is no finite number
            return self._called(f"{self.module}.{word}", inner)
        if op == "pow":
            base, exponent = inner
            power = int(exponent.text) if isinstance(exponent, py.Number) and exponent.text.isdecimal() else 0
            if isinstance(base, Name) and self.slow_from <= power <= PRODUCTS:
                return _product(base, power)
            return Operation("pow", (base, exponent))
        if op == "not" and plain_number(args[0]):  # of a condition on numbers: ~True is -2
            match args[0]:
                case Elementwise("eq", compared):
                    return self._elementwise("ne", compared, tree)
                case _:
                    return Operation("not", (tree(args[0]),))
        if op in OPERATORS:
            return Operation(OPERATORS[op], tuple(inner))
        if all(map(plain_number, args)):
            # of plain numbers: Python's own results, unlike NumPy's, do not widen float32
            return self._plain(op, args, inner)
        if op == "select":
            return self.own("where", *inner)
        word = self.word(op)
        inner = [self.typed(op, word, k, t) if plain_number(args[k]) else t for k, t in enumerate(inner)]
        return self.owned(spelled(word, inner)) if isinstance(op, Primitive) else spelled(word, inner)

    def word(self, op: str) -> str:
        """How an operator is called, or a template of calls: as its row says, or as NumPy calls it."""
        if isinstance(op, Primitive):
            return primitives.word(op, self.target)
        word, name = OPS[op].word(self.target), "where" if op == "select" else op
        if word is None and not hasattr(np, name):
            raise UnsupportedError(
                f"{self.target} has no function {op}. Print another language, or say in the row of {op} in symgrad/ops "
                f"what {self.target} calls it (spell) or how it is written in other operators (expand)."
            )
        if word is not None and "{" in word and not _is_template(word):
            said = f"the row of {op} in symgrad/ops spells it {word!r} for {self.target}"
            raise UnsupportedError(f"{said}: a template has calls, numbers and places alone. Say the rest by `expand`.")
        return word or f"{self.module}.{name}"

    def _plain(self, op: str, args: Sequence[Array], inner: Sequence[Expression]) -> Expression:
        word = self.word(op)
        if any(map(self.traced, inner)):
            return self._called(word, inner)
        if op == "select":
            return Operation(op, tuple(inner))
        python = of_numbers(op)
        if python is None and hasattr(math, op) and OPS[op].smooth and (_anywhere(OPS[op]) or self._finite(op, args)):
            python = f"math.{op}"
        return self._called(word, inner) if python is None else spelled(python, inner)

    def typed(self, op: str, word: str, place: int, number: Expression) -> Expression:
        """A plain number as an argument of a function that would widen float32 by it; those of the file call others."""
        widens = takes_arrays(op, place) or word.startswith("special.") or (word == "np.clip" and place == 0)
        return call("np.asarray", number, dtype=self.dtype) if widens and self.target == "numpy" else number

    def owned(self, value: Expression) -> Expression:
        """What a function of the user's returned, as an array of the type that is computed in."""
        return call("np.asarray", value, dtype=self.dtype)

    def traced(self, number: Expression) -> bool:
        """Whether a plain number is one that Python's own functions refuse."""
        return False

    def _called(self, word: str, arguments: Sequence[Expression]) -> Expression:
        """A function of the language, called with plain numbers where Python's own would raise."""
        return call("float", spelled(word, arguments))

    def items(self, items: Sequence[Item]) -> tuple[Expression, ...]:
        """What stands in the brackets of an index."""
        return tuple(self._item(i, self) for i in items)

    def _finite(self, op: str, args: Sequence[Array]) -> bool:
        return _finite(Elementwise(op, tuple(args)), self.options, self.needs)

    def _item(self, item: Item, tree: Child) -> Expression:
        if isinstance(item, Slice):
            return Cut(*(None if e is None else size(e) for e in (item.start, item.stop, item.step)))
        if item is None:
            return Word("None")
        if isinstance(item, str):
            return Word(item) if item == "..." else Name(item)
        if isinstance(item, Expr):
            return size(item)
        assert isinstance(item, arrays.ArrayNode)
        return tree(item)


def spelled(word: str, arguments: Sequence[Expression]) -> Expression:
    """What a row of `ops` says of a language: the word of a function or of a number, or a template of calls."""
    if "{" not in word:
        return call(word, *arguments) if arguments else Word(word)
    places = {f"_{k}": argument for k, argument in enumerate(arguments)}
    return _parsed(ast.parse(word.format(*places), mode="eval").body, places)


def _is_template(word: str) -> bool:
    try:
        nodes = [*ast.walk(ast.parse(word.format(*["_"] * 9), mode="eval"))]
    except (SyntaxError, ValueError, LookupError):
        return False
    own = (ast.Expression, ast.Call, ast.Name, ast.Attribute, ast.Constant, ast.Load)
    return all(isinstance(n, own) for n in nodes)


def _parsed(node: ast.expr, places: Mapping[str, Expression]) -> Expression:
    if isinstance(node, ast.Call):
        return call(ast.unparse(node.func), *(_parsed(a, places) for a in node.args))
    return py.Number(ast.unparse(node)) if isinstance(node, ast.Constant) else places[ast.unparse(node)]


def along(items: Sequence[Item]) -> arrays.Along | None:
    """The places along an axis that an index has, if all else are the ranges of the other axes."""
    return next((i for i in items if isinstance(i, arrays.Along)), None)


def beside(places: arrays.Along, value: Expression) -> Expression:
    """What belongs to places along an axis, with that axis."""
    return Element(value, at_axis(places.axis, NONE)) if places.lacks else value


def at_axis(axis: int, item: Expression) -> tuple[Expression, ...]:
    """An index that has `item` at an axis, counted from behind where that is below 0."""
    return (*[Cut()] * axis, item) if axis >= 0 else (Word("..."), item, *[Cut()] * (-1 - axis))


def axis_at(items: Sequence[Item]) -> int | None:
    """The axis that an index adds, counted as in `Along`, if that is all."""
    rest = [i for i in items if i is not ALL]
    if rest == [None]:
        return items.index(None)
    return items.index(None) - len(items) if rest == ["...", None] else None


def axes_of(axes: Sequence[int]) -> Expression:
    """One axis, or a tuple of them."""
    return integer(axes[0]) if len(axes) == 1 else Several(tuple(map(integer, axes)))


def all_but(value: Expression, rest: int, first: int = 0) -> Expression:
    """A tuple without the last `rest` of its members, and the `first` ones."""
    start, stop = (integer(n) if n else None for n in (first, -rest))
    return Element(value, (Cut(start, stop),)) if first or rest else value


def is_zero(a: Array) -> bool:
    """Whether it is the number 0."""
    return isinstance(a, Num) and a.value.value == 0


def is_one(a: Array) -> bool:
    """Whether it is the number 1."""
    return isinstance(a, Num) and a.value.value == 1


def dtype_of(name: str) -> Expression:
    """The type of an array."""
    return Attribute(Name(name), "dtype")


def _list(items: Sequence[Expression] | map[Expression]) -> Expression:
    return Several(tuple(items), "[")


def _finite(a: Array, options: Collection[str], needs: Collection[Expr]) -> bool:
    """Whether a number of Python's is certain to be one, whatever the sizes are: no 1/n, which raises where n is 0."""
    if not any(isinstance(b, (SizeOf, Var)) for b in below(a)):  # refused before, but 1/0 where it is not selected
        return not any(isinstance(b, Elementwise) and b.op == "div" and is_zero(b.args[1]) for b in below(a))
    match a:
        case Elementwise("div", (above, divisor)):
            constant = not any(isinstance(b, (SizeOf, Var)) for b in below(divisor))
            checked = isinstance(divisor, SizeOf) and not_zero(divisor.value) in needs
            return _finite(above, options, needs) and (constant or checked)
        case Elementwise("pow", (base, Num(exponent))):
            return _finite(base, options, needs) and exponent.value.denominator == 1 and exponent.value > 0
        case Elementwise("sqrt", (base,)):
            return _finite(base, options, needs) and _never_negative(base, options)
        case Elementwise(op, args):
            return OPS[op].total and all(_finite(x, options, needs) for x in args)
        case _:
            return isinstance(a, SizeOf)


def _anywhere(row: Op) -> bool:
    """Whether Python's `math` has a value of it for infinities too: it has a limit there."""
    return row.total and (bool(row.monotone) or not row.arity)


def _never_negative(a: Array, options: Collection[str]) -> bool:
    match a:
        case Num(value):
            return value.value >= 0
        case SizeOf(value):
            return never_negative(value, options)
        case Elementwise("add" | "mul" | "div" | "sqrt", args):
            return all(_never_negative(x, options) for x in args)
        case Elementwise(op, _):
            return op == "pi"
        case _:
            return False


def _permuted(base: Expression, axes: Sequence[int]) -> Expression:
    if tuple(axes) == (1, 0):
        return Attribute(base, "T")
    if last_two(axes):
        return method(base, "swapaxes", integer(-1), integer(-2))
    return method(base, "transpose", *map(integer, axes))


def _moves(axes: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
    """From where to where axes, counted from behind, are moved: one of them, if that is all."""
    places = range(-len(axes), 0)
    for source in places:
        for destination in places:
            order = [k for k in places if k != source]
            order.insert(destination + len(axes), source)
            if order == list(axes):
                return (source,), (destination,)
    return axes, places


def _moves_around(axes: Sequence[int], pack: int) -> tuple[Sequence[int], Sequence[int]]:
    """From where to where axes are moved, where one of them stands for any number: those behind it count from the
    end."""
    others = [k for k in axes if k != pack]
    for source in others:
        left = [k for k in sorted(axes) if k != source]
        left.insert(axes.index(source), source)
        if left == list(axes):
            others = [source]
            break
    here, rank = axes.index(pack), len(axes)
    places = [axes.index(k) for k in others]
    return [k - rank if k > pack else k for k in others], [k - rank if k > here else k for k in places]


def _place(axes: Sequence[int]) -> Expression:
    return integer(axes[0]) if len(axes) == 1 else py.Several(tuple(map(integer, axes)))


def last_two(axes: Sequence[int]) -> bool:
    """Whether only the last two axes change places."""
    rank = len(axes)
    return tuple(axes) == (-1, -2) or tuple(axes) == (*range(rank - 2), rank - 1, rank - 2)


def _product(base: Expression, exponent: int) -> Expression:
    """A power as squares and products, none of which is beyond it: `x**2 * x`, `(x**2) ** 2`."""
    if exponent == 2:
        return Operation("pow", (base, integer(2)))
    if exponent % 2:
        return Operation("mul", (_product(base, exponent - 1), base))
    return Operation("pow", (_product(base, exponent // 2), integer(2)))
