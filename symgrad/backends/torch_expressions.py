"""Array expressions in the vocabulary of torch."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import ClassVar

from ..expr import ONE, Expr, is_exact, value_of
from ..expr.sizes import count
from ..ir import Dtype
from ..ops import OPS, takes_arrays
from ..plan.arrays import tree as arrays
from ..plan.arrays.below import plain_number
from ..plan.arrays.elements import trimmed_items
from ..plan.arrays.tree import (
    ALL,
    BACK,
    Array,
    ArrayNode,
    BroadcastTo,
    Concatenate,
    Copy,
    Diagonal,
    Einsum,
    Item,
    Single,
    SizeOf,
    Slice,
    Take,
)
from ..source import python as py
from ..source.python import NONE, Attribute, Call, Element, Expression, Name, Several, Word, call, integer, method, text
from .python_expressions import (
    MATRICES,
    OPERATORS,
    TRUE,
    Child,
    Expressions,
    Matrix,
    all_but,
    along,
    at_axis,
    axes_of,
    beside,
    dtype_of,
    given,
    is_one,
    is_zero,
    last_two,
    spelled,
)
from .python_sizes import axis, shape, size

SCANS = {
    "add": "cumsum",
    "mul": "cumprod",
    "maximum": "cummax",
    "minimum": "cummin",
    "logaddexp": "logcumsumexp",
}
DTYPES = {Dtype.INT: Word("torch.int64"), Dtype.BOOL: Word("torch.bool")}  # of subscripts and of masks
REDUCED = {"max": "amax", "min": "amin"}


class TorchExpressions(Expressions):
    """`like` is a tensor whose type and device new tensors have."""

    target = "torch"
    slow_from = 4  # torch knows x**2 and x**3
    module = "torch"
    cast = "to"
    moves = "movedim"  # moveaxis is not known to torch.vmap
    library: ClassVar[Mapping[str, int]] = {"convolution": 3}
    matrices: ClassVar[Mapping[str, Matrix]] = {
        **MATRICES,
        "solve_lower": Matrix("_solve_triangular", upper=Word("False")),
        "solve_upper": Matrix("_solve_triangular", upper=TRUE),
        "qr_r": Matrix("np.linalg.qr", 1),
        "svd_values": Matrix("np.linalg.svdvals"),
        "expm": Matrix("np.linalg.matrix_exp"),
        "argsort": Matrix("np.argsort", dim=integer(-1), stable=TRUE),
    }

    def __init__(self, like: str, options: Collection[str] = (), needs: Collection[Expr] = ()) -> None:
        super().__init__(dtype_of(like), options, needs)
        self.like = Name(like)
        self.device = Attribute(self.like, "device")
        self.rows: dict[str, Word] = {}  # tensors that are lists of rows at the moment, with the names of the lists

    def _node(self, node: Array, tree: Child) -> Expression:
        like, own = self.like, self.own
        match node:
            case Take(arrays.Var(name), (first, *rest)) if name in self.rows:
                return self._part(Element(self.rows[name], (self._item(first, tree),)), rest, tree)
            case Take(base, items) if BACK in items or any(isinstance(i, Single) or may_take_all(i) for i in items):
                found, left = self.cut(tree(base), items)
                if BACK in left:
                    found = method(found, "flip", *map(integer, backward_axes(left)))
                    left = tuple(ALL if i == BACK else i for i in left)
                return self._part(found, left, tree)
            case arrays.Permute(base, axes, None) if tuple(axes) != (1, 0) and (axes[0] >= 0 or last_two(axes)):
                if last_two(axes):
                    return Attribute(tree(base), "mT")
                return method(tree(base), "permute", *map(integer, axes))
            case arrays.Reduce("sum") if (counted := _condition(node.base)) is not None:  # of bytes, and exact
                return method(self._reduced(node, tree(counted)), "to", self.dtype)
            case arrays.Eye(extent):
                return own("eye", size(extent), dtype=self.dtype, device=self.device)
            case arrays.MatrixCall():
                return super()._node(node, tree)
            case Einsum(subscripts, operands):
                return call("_einsum", text(subscripts), *map(tree, operands))
            case arrays.Range(extent, real):
                end = size(count(extent))  # torch refuses a negative one, which elsewhere is a range of nothing
                return own("arange", end, **given(real, dtype=self.dtype), device=self.device)
            case arrays.Stack(items_, place):
                inner = Several(tuple(self._tensor(i, tree) for i in items_), "[")
                return own("stack", inner, **given(place, dim=integer(place)))
            case Concatenate(items_, place):
                inner = Several(tuple(self._tensor(i, tree) for i in items_), "[")
                return own("cat", inner, **given(place, dim=integer(place)))
            case arrays.Pad(base, widths, fill):
                pairs = [w for pair in reversed(widths) for w in pair]  # torch counts from the last axis
                while len(pairs) > 2 and all(is_exact(w) and not value_of(w) for w in pairs[-2:]):
                    pairs = pairs[:-2]
                option = given(not is_zero(fill), value=tree(fill))
                return own("nn.functional.pad", tree(base), Several(tuple(map(axis, pairs))), **option)
            case BroadcastTo(base, extents):
                found = tree(base)
                if plain_number(base) and not self.traced(found):
                    return method(like, "new_full", shape(extents), found)
                return method(found, "expand", shape(extents))
            case arrays.PackPlaces(extents, after):
                return py.Splat(all_but(call("_places", shape(extents), self.device), after))
            case arrays.Roll(base, shift, place):
                return own("roll", tree(base), size(shift), dims=integer(place))
            case Diagonal(base, first, second):
                option = given((first, second) != (0, 1), dim1=integer(first), dim2=integer(second))
                return method(tree(base), "diagonal", **option)
            case arrays.Full(value, extents, kind):
                option = given(kind != Dtype.REAL, dtype=DTYPES.get(kind, self.dtype))
                if is_zero(value):
                    return method(like, "new_zeros", shape(extents), **option)
                found = tree(value)
                if self.traced(found):
                    return method(method(found, "expand", shape(extents)), "clone")
                return method(like, "new_full", shape(extents), found, **option)
            case arrays.Real(base=base) if not plain_number(base):
                counts = isinstance(base, arrays.Reduce) and base.kind == "sum" and _condition(base.base) is not None
                return tree(base) if counts else method(tree(base), "to", self.dtype)
            case Copy(base):
                return method(tree(base), "clone")
        return super()._node(node, tree)

    def _taken_along(self, base: Expression, items: Sequence[Item], tree: Child) -> Expression | None:
        places = along(items)
        if places is None:
            return None
        return method(base, "gather", integer(places.axis), beside(places, tree(places.base)))

    def _first_along(self, found: Expression, axis: int) -> Expression:
        return method(found, "squeeze", integer(axis))

    def _part(self, found: Expression, items: Sequence[Item], tree: Child) -> Expression:
        """`found[items]`, or all of it."""
        if is_all(items):
            return found
        found = Element(found, tuple(self._item(i, tree) for i in items))
        axis = single_axis(items)
        return found if axis is None else Element(found, at_axis(axis, integer(0)))

    def _item(self, item: Item, tree: Child) -> Expression:
        """What stands in an index; one number of data as an array of one element, as torch waits for that of none."""
        found = super()._item(item, tree)
        if not isinstance(item, Single):
            return found
        return Element(found.array, (*found.items, NONE)) if isinstance(found, Element) else Element(found, (NONE,))

    def cut(self, base: Expression, items: Sequence[Item]) -> tuple[Expression, tuple[Item, ...]]:
        """`base` cut along the axes where an index may be all that there is, and the rest of the index."""
        if not any(map(may_take_all, items)):
            return base, tuple(items)
        own = [i for i in items if i is not None]
        cuts = []
        for k, item in enumerate(own):
            if may_take_all(item):
                place = integer(k - len(own) if "..." in own[:k] else k)
                cuts.append(Several((place, slice_of(item) if isinstance(item, Slice) else Name(str(item)))))
        return call("_cut", base, *cuts), tuple(ALL if may_take_all(i) else i for i in items)

    def _scan(self, op: str, base: Expression, axis: int | None, reverse: bool) -> Expression:
        place = integer(axis or 0)
        whole = method(base, "flip", place) if reverse else base
        found: Expression = self.own(SCANS[op], whole, dim=place)
        found = Attribute(found, "values") if op in ("maximum", "minimum") else found
        return method(found, "flip", place) if reverse else found

    def _reduced(self, node: arrays.Reduce, base: Expression) -> Expression:
        word = REDUCED.get(node.kind, node.kind)
        axes = node.axes or ()
        keep = given(node.keepdims, keepdim=TRUE)
        dim = given(node.axes is not None, dim=axes_of(axes))
        if node.kind == "supremum":
            return call("_amax", base, **dim, **given(dim, **keep))
        if node.kind == "prod" and node.axes is not None:  # one axis at a time, such that the others keep their numbers
            for axis in sorted(axes, reverse=min(axes, default=0) >= 0):
                base = method(base, "prod", dim=integer(axis), **keep)
            return base
        return method(base, word, **dim, **given(dim, **keep))

    def _of_tensors(self, op: str, place: int) -> bool:
        """Whether the word takes no number at a place; torch's own take one in some places only."""
        row = OPS[op]
        return row.kind == "function" and row.arity > 1 and (row.helper is None or takes_arrays(op, place))

    def _elementwise(self, op: str, args: Sequence[Array], tree: Child) -> Expression:
        plain = [plain_number(a) for a in args]
        if op in OPERATORS or op == "pow" or not any(plain) or all(plain):
            return super()._elementwise(op, args, tree)
        if op in ("maximum", "minimum"):
            number, array = sorted(args, key=plain_number, reverse=True)
            return self.own("clamp", tree(array), **{"min" if op == "maximum" else "max": tree(number)})
        if op == "clip" and plain == [False, True, True]:
            return super()._elementwise(op, args, tree)
        if op == "select" and not plain[0] and is_one(args[1]) and is_zero(args[2]):
            return method(tree(args[0]), "to", self.dtype)
        if op == "select" and plain[0]:
            condition = self.own("tensor", tree(args[0]), device=self.device)
            return self.own("where", condition, tree(args[1]), tree(args[2]))
        of_numbers = op == "select" and plain[1:] == [True, True]
        asked = (a for k, a in enumerate(args) if self._of_tensors(op, k) or (of_numbers and k))
        named = {id(a): self._tensor(a, tree) for a in asked}
        return super()._elementwise(op, args, lambda a: named.get(id(a)) or tree(a))

    def traced(self, number: Expression) -> bool:
        """What torch computes is no number, even of numbers: on a device it would have to be waited for."""
        return any(w == "torch" or w.startswith("torch.") or w.startswith("_") for w in py.words_in(number))

    def owned(self, value: Expression) -> Expression:
        return value

    def _called(self, word: str, arguments: Sequence[Expression]) -> Expression:
        return spelled(word, [self._number(a) for a in arguments])

    def as_tensor(self, array: Array) -> Expression:
        """`array`, also a plain number, as a tensor."""
        return self._tensor(array, self)

    def _tensor(self, array: Array, tree: Child) -> Expression:
        """`array`, also a plain number, as a tensor."""
        return self._number(tree(array)) if plain_number(array) else tree(array)

    def _number(self, number: Expression) -> Call:
        return self.own("as_tensor", number, dtype=self.dtype, device=self.device)


def _condition(array: Array) -> Array | None:
    """What is 1 where a condition on tensors holds and 0 elsewhere: the condition."""
    match array:
        case arrays.Elementwise("select", (condition, one, zero)) if is_one(one) and is_zero(zero):
            return None if plain_number(condition) else condition
        case arrays.Real(base, True):
            return None if plain_number(base) else base
    return None


def is_all(items: Sequence[Item]) -> bool:
    """Whether an index is all that there is."""
    return all(i in (ALL, "...") for i in items)


def slice_of(item: Slice) -> Expression:
    """A slice as a value."""
    bounds = [item.start, item.stop] if item.step is None or item.step is ONE else [item.start, item.stop, item.step]
    if bounds == [None, None]:
        return call("slice", NONE)
    return call("slice", *(NONE if b is None else size(b) for b in bounds))


def may_take_all(item: Item) -> bool:
    """Whether an entry of an index may be all that there is along an axis: some vmaps of torch refuse such an index."""
    if isinstance(item, str):
        return item != "..."
    if not isinstance(item, Slice) or item in (ALL, BACK):
        return False
    bounds = (item.start, item.stop, item.step)
    start, stop, step = (None if e is None or not is_exact(e) else value_of(e) for e in bounds)
    return not (start or (stop or 0) < 0 or (step or 1) > 1)


def single_axis(items: Sequence[Item]) -> int | None:
    """The axis of one element that an index has which says one place of others, counted as in `at_axis`; None if it has
    none, or says several places."""
    left = [i for i in items if i is None or not isinstance(i, (Expr, SizeOf))]  # a number leaves no axis
    places = [k for k, i in enumerate(left) if isinstance(i, ArrayNode)]
    if not places or not all(isinstance(left[k], Single) for k in places):
        return None
    first, last = places[0], places[-1]
    if len(places) <= last - first:  # a slice between two: torch puts their axis first
        return 0
    return last - len(left) if "..." in left[:first] else first


def single_axes(items: Sequence[Item]) -> tuple[int, ...]:
    """The axes with one place of data that is written to, where others stand before them: what is written has no axis
    of one element there."""
    places = [k for k, i in enumerate(items) if isinstance(i, Single)]
    if single_axis(items) is None or all(isinstance(i, Single) for i in items[: len(places)]):
        return ()
    return tuple(k - len(items) if "..." in items[:k] else k for k in places)


def in_front(items: Sequence[Item], axes: Sequence[int]) -> tuple[Item, ...]:
    """An index with these axes first, without the whole axes at its end."""
    return trimmed_items([*(items[k] for k in axes), *(i for i in items if not (axes and isinstance(i, Single)))])


def in_front_of(tensor: Expression, axes: Sequence[int]) -> Expression:
    """A tensor with these axes first."""
    return _moved(tensor, axes, range(len(axes))) if axes else tensor


def moved_back(tensor: Expression, axes: Sequence[int]) -> Expression:
    """The tensor of which this is `in_front_of`."""
    return _moved(tensor, range(len(axes)), axes) if axes else tensor


def _moved(tensor: Expression, axes: Sequence[int], to: Sequence[int]) -> Expression:
    return method(tensor, "movedim", axes_of(axes), axes_of(to))


def backward_axes(items: Sequence[Item]) -> list[int]:
    """The axes that an index reads from behind."""
    own = [i for i in items if i is not None]
    return [k - len(own) if "..." in own[:k] else k for k, i in enumerate(own) if i == BACK]
