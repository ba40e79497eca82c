"""Arrays that assignments fill: `out = sg.tensor.new("n m")`, then `out[0] = x`, `out[i, 2*j] += y[i, j]`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd
from typing import Any

from ...errors import DeclarationError
from ...expr import ZERO, Expr, Index, indices, is_exact, substitute, value_of
from ...expr.sizes import coefficient, largest, never_negative, tidy
from .arithmetic import elementwise, fitted
from .arrays import Array
from .closing import Term, close
from .graph import Piece, Pieces, axes_of, gather, is_loop
from .scope import extents_of, inside
from .subscripts import Place, at, select_axes
from .values import Traced, traced


class _Added:
    """What `out[key] += x` hands back to be stored."""

    __slots__ = ("term",)

    def __init__(self, term: Traced) -> None:
        self.term = term


class _Element(Array):
    """`out[key]` of an array that is being built: it can be read, and it takes `+=` and `-=`."""

    __slots__ = ()

    def __iadd__(self, other: Any) -> _Added:  # type: ignore[override, misc]  # only __setitem__ sees the result
        return _Added(traced(other))

    def __isub__(self, other: Any) -> _Added:  # type: ignore[override, misc]  # as above
        return _Added(elementwise("neg", other))


class Building(Array):
    """An array that assignments fill; what none of them writes is 0."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> Array:
        found = at(self, select_axes(self, key))
        return _Element(found._node, found._lead)

    def __setitem__(self, key: Any, x: Any) -> None:
        place = select_axes(self, key)
        if isinstance(x, _Added):
            self._write(place, x.term, adds=True)
        else:
            self._write(place, traced(x), adds=False)

    def _write(self, place: Place, x: Traced, adds: bool) -> None:
        node = self._node
        assert isinstance(node, Pieces)
        scope = inside("an assignment to an element")
        body, subscripts = fitted(x, place.shape, place.lead, "the assignment"), place.subscripts
        named = any(is_loop(i) for i in indices(*subscripts))
        if not adds and any(_may_meet(p, subscripts, place.shape, named) for p in node.pieces):
            raise DeclarationError(
                "an element is assigned twice; to add to it write +=. Of np.zeros(...) the last assignment counts."
            )
        shown = {i for i in indices(*place.subscripts) if is_loop(i)}
        loose = [i.name for i in x._node.free if i not in shown]
        if loose and not adds:
            raise DeclarationError(f"the value has the index {loose[0]}, which the element on the left does not show.")
        nodes = (x._node, *place.nodes)
        _, given = gather(nodes)
        box: dict[Index, Any] = dict(zip(axes_of(place.shape), place.shape, strict=True))
        if shown or x._node.free:
            known = extents_of(given, scope)
            mine = {i: e for i, e in known.items() if i in shown or i in x._node.free}
            term = close(scope, Term(body, subscripts, nodes, box | mine, node.shape), known)
            body, subscripts, nodes, box = term.body, term.subscripts, term.nodes, dict(term.extents)
        node.write(subscripts, body, box, nodes, adds)


def _may_meet(piece: Piece, places: Sequence[Expr], shape: Sequence[Expr], named: bool) -> bool:
    """Whether an assignment may reach what another piece has; of indices by name only the same is told."""
    if named or any(map(is_loop, piece.box)):
        return piece.subscripts == tuple(places)
    box = dict(zip(axes_of(shape), shape, strict=True))
    return not any(_apart(a, piece.box, b, box) for a, b in zip(piece.subscripts, places, strict=True))


def _apart(a: Expr, a_box: Mapping[Index, Expr], b: Expr, b_box: Mapping[Index, Expr]) -> bool:
    """Whether two subscripts are never the same: one ends before the other, or they are in steps between each other."""
    ends = [(substitute(s, dict.fromkeys(box, ZERO)), largest(s, box)) for s, box in ((a, a_box), (b, b_box))]
    (low, high), (first, last) = ends
    orders = ((first, high), (low, last))
    if any(end is not None and never_negative(tidy(start - end - 1)) for start, end in orders):
        return True
    steps = [c for s in (a, b) for i in indices(s) if (c := coefficient(s, i)) is not None and is_exact(c)]
    distance = tidy(first - low)
    if not steps or len(steps) != len(indices(a)) + len(indices(b)) or not is_exact(distance):
        return False
    return bool(value_of(distance) % gcd(*(int(value_of(c)) for c in steps)))
