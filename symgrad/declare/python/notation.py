"""Index notation in Python: indices, tensor, merge, and reductions such as sum."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from ...errors import DeclarationError, ShapeError
from ...expr import ZERO, Const, Expr, Index, index, refs, show
from ...expr import indices as indices_of
from ...expr.names import is_pack
from ...ir import NEUTRAL
from ..names import check_name
from .arithmetic import elementwise, reduced
from .arrays import Array, as_array
from .building import Building
from .closing import closed
from .graph import Given, Pieces, Written, axes_of, constant, packs_in, read, value
from .scope import Scope, extents_of, inside, plain
from .sizes import read_size, split_sizes
from .values import Axis, Traced, size_of, traced

# indices


class IndexValue(Array):
    """A loop index; `sg.indices` makes them."""

    __slots__ = ()

    def __iter__(self) -> NoReturn:
        raise DeclarationError('an index has no parts: sg.indices of one name is the index, as in i = sg.indices("i").')


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


def require(condition: Any, said: str = "") -> None:
    """Require a condition on sizes and options: printed code refuses what does not meet it.

    said  what is required, and what is given, for a condition on options that are fixed

    Raises ShapeError where these do not meet it, DeclarationError for a condition on anything else.
    """
    draft = inside("sg.require(...)").draft
    node = traced(condition)._node
    body = read(node, ()) if not node.rank else None
    known = {*draft.dims, *(o.name for o in draft.options)}
    if body is None or indices_of(body) or any(r.name not in known for r in refs(body)):
        raise DeclarationError(f"{draft.name}: sg.require takes a condition on sizes and options, and no tensor.")
    if isinstance(body, Const):
        if body is ZERO or body.value == 0:
            raise ShapeError(f"{draft.name}: needs {said or 'what sg.require asks of its fixed options'}.")
    elif body not in draft.conditions:
        draft.conditions.append(body)


def _index(name: str, extent: int | str | Array | None) -> IndexValue:
    i = index(check_name(name, "index"))
    given: Given = {} if extent is None else {i: _extent(extent)}
    return IndexValue(constant(i, given))


def _extent(extent: Any) -> Expr | Written:
    if isinstance(extent, str):
        return Written(read_size(extent))
    return size_of(extent, "an extent")


def _named(key: Any, what: str) -> tuple[list[Expr | None], dict[Index, Expr | Written]]:
    """The indices in brackets, None for `...`, and the extents that came with them: `sum[r:2, s]`; the places of a
    tensor may be expressions of indices."""
    found: list[Expr | None] = []
    given: dict[Index, Expr | Written] = {}
    for k in key if isinstance(key, tuple) else (key,):
        if k is Ellipsis:
            found.append(None)
            continue
        i = k.start if isinstance(k, slice) else k
        place = what == "tensor" and i is k and isinstance(i, Array) and not (i._node.rank or i._node.operands)
        if not place and not isinstance(i, IndexValue):
            raise DeclarationError(f"{what}[...] takes indices of sg.indices, not {i!r}.")
        body = read(i._node, ())
        given.update(i._node.given)
        if isinstance(k, slice):
            assert isinstance(body, Index)
            given[body] = _extent(k.stop)
        found.append(body)
    if len(set(found)) < len(found):
        raise DeclarationError(f"{what}[...] names an index twice.")
    return found, given


def _as_far_as(
    term: Traced, bound: Sequence[Expr | None], known: dict[Index, Expr], scope: Scope, otherwise: Expr
) -> Traced:
    """The term where the indices of `bound` are before extents that follow other indices, and `otherwise` behind them;
    `known` has then the largest of these."""
    for i in bound:
        if isinstance(i, Index) and i in known:
            known[i], condition = scope.draft.box_and_condition(i, known[i])
            if condition is not None:
                term = elementwise("select", Array(constant(condition)), term, Array(constant(otherwise)))
    return term


class Reducing:
    """A reduction, used as NumPy's function `sg.sum(x, axis=-1)` and as index notation `sg.sum[l](x[i, l])`."""

    __slots__ = ("kind",)

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __call__(self, x: Any, axis: Axis = None, keepdims: bool = False) -> Any:
        numerical = plain(self.kind)
        if numerical is not None:
            return numerical(x, axis=axis, keepdims=keepdims)
        return as_array(reduced(self.kind, x, axis, keepdims))

    def __getitem__(self, key: Any) -> Callable[[Any], Array]:
        over, given = _named(key, self.kind)
        if None in over:
            raise DeclarationError(f"{self.kind}[...] takes indices; for the axes write axis=.")
        bound = [i for i in over if isinstance(i, Index)]

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
            node = value(shape, body, [term._node], kind=kind, over={i: known.get(i) for i in bound})
            return Array(node if node.free else closed(scope, node, (), (), {}), term._lead)

        return of

    def __repr__(self) -> str:
        return f"sg.{self.kind}"


sum, mean, max, min = Reducing("sum"), Reducing("mean"), Reducing("max"), Reducing("min")  # NumPy's names
prod, logsumexp, argmax = Reducing("prod"), Reducing("logsumexp"), Reducing("argmax")


class _Tensor:
    """`sg.tensor[i, j](term)` is the array with those elements; `sg.tensor.new("n m")` one to be written."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> Callable[[Any], Array]:
        order, given = _named(key, "tensor")
        at = order.index(None) if None in order else len(order)
        before, after = ([s for s in part if s is not None] for part in (order[:at], order[at:]))

        def of(x: Any) -> Array:
            scope = inside("sg.tensor[...]")
            term = traced(x)
            if term._node.shape and None not in order:
                raise ShapeError(f"{term!r} has axes besides the indices; write tensor[..., i](x).")
            if term._lead and order[0] is not None:
                raise DeclarationError("`...` comes first: tensor[..., i].")
            mine = indices_of(*before, *after)
            left = [i.name for i in term._node.free if i not in mine]
            if left:
                shown = ", ".join("..." if s is None else show(s) for s in order)
                raise DeclarationError(
                    f"the term has the index {left[0]}, which tensor[{shown}] does not show. "
                    f"Reduce it: sg.sum[{left[0]}](...)."
                )
            known = extents_of(given, scope)
            term = _as_far_as(term, order, known, scope, ZERO)
            return Array(closed(scope, term._node, before, after, known), term._lead)

        return of

    def __call__(self, *given: Any) -> Array:
        raise DeclarationError("sg.tensor has its indices in brackets: sg.tensor[i](term), or sg.tensor.new(shape).")

    def new(self, shape: str | Sequence[Any], name: str | None = None) -> Building:
        """Return an array of zeros that assignments fill: `out[...] += x`, `out[0] = y`.

        shape  as in `"n o 2*h"`, or the extents, as in `(*x.shape, 2 * h)`
        """
        scope = inside("sg.tensor.new")
        extents: list[Expr] = []
        if not isinstance(shape, str):
            extents = [size_of(e, "a shape") for e in shape]
            return Building(Pieces(shape=tuple(extents), wish=name or "built"), packs_in(extents))
        for part in split_sizes(shape):
            if is_pack(part) and (part not in scope.sizes or extents):
                raise DeclarationError(f"{part} is no pack of this declaration, or not in front.")
            extents.append(scope.sizes[part] if is_pack(part) else scope.resolve(Written(read_size(part))))
        return Building(Pieces(shape=tuple(extents), wish=name or "built"), packs_in(extents))

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
