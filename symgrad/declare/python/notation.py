"""Index notation in Python: indices, tensor, merge, and reductions such as sum."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...errors import DeclarationError, ShapeError
from ...expr import ZERO, Expr, Index, index, ref, show
from ...expr import indices as indices_of
from ...expr.sizes import largest, tidy
from ...ir import NEUTRAL
from ..names import check_name
from .arithmetic import elementwise, reduced
from .arrays import Array, as_array
from .building import Building
from .closing import Term, close, closed
from .graph import (
    Given,
    Pieces,
    Written,
    axes_of,
    constant,
    is_pack,
    read,
    reduction,
)
from .scope import Scope, extents_of, inside
from .sizes import read_size, split_sizes
from .values import Axis, Traced, size_of, traced

# indices


class IndexValue(Array):
    """A loop index; `sg.indices` makes them."""

    __slots__ = ()


def indices(names: str, **extents: int | str | Array) -> Any:
    """Return loop indices by their names: `i, j = sg.indices("i j")`; a single one for a single name.

    extents  how far an index runs, where no subscript tells: `sg.indices("i", i="n-1")`
    """
    wanted = split_sizes(names)
    unknown = [name for name in extents if name not in wanted]
    if unknown or not wanted:
        raise DeclarationError(f"sg.indices({names!r}) makes no index {unknown[0] if unknown else ''}".rstrip() + ".")
    made = tuple(_index(name, extents.get(name)) for name in wanted)
    return made if len(made) > 1 else made[0]


def _index(name: str, extent: int | str | Array | None) -> IndexValue:
    i = index(check_name(name, "index"))
    given: Given = {} if extent is None else {i: _extent(extent)}
    return IndexValue(constant(i, given))


def _extent(extent: Any) -> Expr | Written:
    if isinstance(extent, str):
        return Written(read_size(extent))
    return size_of(extent, "an extent")


def _named(key: Any, what: str) -> tuple[list[Index | None], dict[Index, Expr | Written]]:
    """The indices in brackets, None for `...`, and the extents that came with them: `sum[r:2, s]`."""
    found: list[Index | None] = []
    given: dict[Index, Expr | Written] = {}
    for k in key if isinstance(key, tuple) else (key,):
        if k is Ellipsis:
            found.append(None)
            continue
        i = k.start if isinstance(k, slice) else k
        if not isinstance(i, IndexValue):
            raise DeclarationError(f"{what}[...] takes indices of sg.indices, not {i!r}.")
        body = read(i._node, ())
        assert isinstance(body, Index)
        given.update(i._node.given)
        if isinstance(k, slice):
            given[body] = _extent(k.stop)
        found.append(body)
    if len(set(found)) < len(found):
        raise DeclarationError(f"{what}[...] names an index twice.")
    return found, given


def _as_far_as(
    term: Traced, bound: Sequence[Index | None], known: dict[Index, Expr], scope: Scope, otherwise: Expr
) -> Traced:
    """The term where the indices of `bound` are before extents that follow other indices, and `otherwise` behind them;
    `known` has then the largest of these."""
    for i in bound:
        if i is not None and i in known:
            known[i], condition = scope.draft.box_and_condition(i, known[i])
            if condition is not None:
                term = elementwise("select", Array(constant(condition)), term, Array(constant(otherwise)))
    return term


class Reducing:
    """A reduction, used as NumPy's function `sg.sum(x, axis=-1)` and as index notation `sg.sum[l](x[i, l])`."""

    __slots__ = ("kind",)

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __call__(self, x: Any, axis: Axis = None, keepdims: bool = False) -> Array:
        return as_array(reduced(self.kind, x, axis, keepdims))

    def __getitem__(self, key: Any) -> Callable[[Any], Array]:
        over, given = _named(key, self.kind)
        if None in over:
            raise DeclarationError(f"{self.kind}[...] takes indices; for the axes write axis=.")
        bound = [i for i in over if i is not None]

        def of(x: Any) -> Array:
            scope = inside(f"sg.{self.kind}[...]")
            term = traced(x)
            shape = term._node.shape
            known = extents_of({**term._node.given, **given}, scope)
            missing = [i for i in bound if i not in term._node.free and i not in known]
            if missing:
                raise DeclarationError(f"{self.kind}[{missing[0].name}] of a term that has no index {missing[0].name}.")
            kind = self.kind
            if kind == "mean" and any(i in known and indices_of(known[i]) for i in bound):
                kind = "sum"
                for i in bound:
                    term = elementwise("div", term, Array(constant(known.get(i, scope.draft.extent(i)))))
            term = _as_far_as(term, bound, known, scope, NEUTRAL.get(kind, ZERO))
            body = read(term._node, axes_of(shape))
            node = reduction(kind, {i: known.get(i) for i in bound}, shape, body, [term._node])
            result = Array(node, term._lead)
            return result if node.free else Array(closed(scope, result._node, (), {}), term._lead)

        return of

    def __repr__(self) -> str:
        return f"sg.{self.kind}"


sum, mean, max, min = Reducing("sum"), Reducing("mean"), Reducing("max"), Reducing("min")  # NumPy's names
prod, logsumexp, argmax = Reducing("prod"), Reducing("logsumexp"), Reducing("argmax")


def _shown_term(x: Any, order: Sequence[Expr | None]) -> tuple[Scope, Traced]:
    """The term that `sg.tensor[...]` is called with; `order` are its subscripts, None for `...`."""
    scope = inside("sg.tensor[...]")
    term = traced(x)
    if term._node.shape and None not in order:
        raise ShapeError(f"{term!r} has axes besides the indices; write tensor[..., i](x).")
    if term._lead and order[0] is not None:
        raise DeclarationError("`...` comes first: tensor[..., i].")
    mine = indices_of(*(s for s in order if s is not None))
    left = [i.name for i in term._node.free if i not in mine]
    if left:
        shown = ", ".join("..." if s is None else show(s) for s in order)
        raise DeclarationError(
            f"the term has the index {left[0]}, which tensor[{shown}] does not show. Reduce it: sg.sum[{left[0]}](...)."
        )
    return scope, term


def _at_places(keys: Sequence[Any]) -> Callable[[Any], Array]:
    """The array whose elements stand at expressions of indices: `sg.tensor[c, sg.merge(h, r)](term)`.

    It is as long as the largest of them says; what no index reaches is 0.
    """
    order: list[Expr | None] = []
    given: dict[Index, Expr | Written] = {}
    for k in keys:
        if isinstance(k, Array) and not (k._node.rank or k._node.operands):
            order.append(read(k._node, ()))
            given.update(k._node.given)
        else:
            (found,), more = _named(k, "tensor")
            order.append(found)
            given.update(more)

    def of(x: Any) -> Array:
        scope, term = _shown_term(x, order)
        shape = term._node.shape
        at = order.index(None) if None in order else len(order)
        before, after = ([s for s in part if s is not None] for part in (order[:at], order[at:]))
        subscripts = (*before, *axes_of(shape), *after)
        known = extents_of({**term._node.given, **given}, scope)
        shown = indices_of(*subscripts)
        fixed = dict(zip(axes_of(shape), shape, strict=True)) | {i: e for i, e in known.items() if i in shown}
        found = close(scope, Term(read(term._node, axes_of(shape)), subscripts, (term._node,), fixed), known)
        ends = [largest(s, found.extents) for s in found.subscripts[: len(before)]]
        behind = [largest(s, found.extents) for s in found.subscripts[len(before) + len(shape) :]]
        made = Pieces(shape=(*map(_length, ends), *shape, *map(_length, behind)), wish="merged")
        made.log.write(found.subscripts, found.body, found.extents, found.nodes, adds=False)
        return Array(made, term._lead)

    return of


def _length(end: Expr | None) -> Expr:
    if end is None:
        raise ShapeError("nothing tells how far a subscript of tensor[...] ends; use tensor.new.")
    return inside("sg.tensor[...]").draft.settled(tidy(end + 1))


class _Tensor:
    """`sg.tensor[i, j](term)` is the array with those elements; `sg.tensor.new("n m")` one to be written."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> Callable[[Any], Array]:
        keys = key if isinstance(key, tuple) else (key,)
        if any(isinstance(k, Array) and not isinstance(k, IndexValue) for k in keys):
            return _at_places(keys)
        order, given = _named(key, "tensor")

        def of(x: Any) -> Array:
            scope, term = _shown_term(x, order)
            known = extents_of(given, scope)
            term = _as_far_as(term, order, known, scope, ZERO)
            at = order.index(None) if None in order else len(order)
            before = tuple(i for i in order[:at] if i is not None)
            after = tuple(i for i in order[at:] if i is not None)
            return Array(closed(scope, term._node, (*before, *after), known, len(before)), term._lead)

        return of

    def new(self, shape: str, name: str | None = None) -> Building:
        """Return an array of zeros that assignments fill: `out[...] += x`, `out[0] = y`; sizes as in `"n o 2*h"`."""
        scope = inside("sg.tensor.new")
        extents: list[Expr] = []
        for part in split_sizes(shape):
            pack = part if part == "..." else part if part.startswith("*") else None
            found = ref(pack) if pack else scope.resolve(Written(read_size(part)))
            if pack and (pack not in scope.sizes or extents):
                raise DeclarationError(f"{part} is no pack of this declaration, or not in front.")
            extents.append(scope.sizes[pack] if pack else found)
        lead = int(bool(extents) and is_pack(extents[0]))
        return Building(Pieces(shape=tuple(extents), wish=name or "built"), lead)

    def __repr__(self) -> str:
        return "sg.tensor"


tensor = _Tensor()


def merge(outer: Array, inner: Array) -> Array:
    """The subscript of two indices merged into one axis: `outer*extent(inner) + inner`."""
    body = read(traced(inner)._node, ())
    if not isinstance(inner, IndexValue) or not isinstance(body, Index):
        raise DeclarationError("the inner part of sg.merge is an index of sg.indices.")
    extent = inside("sg.merge").draft.extent(body)
    return outer * Array(constant(extent, inner._node.given)) + inner
