"""Arrays that assignments fill: `out = sg.tensor.new("n m")`, then `out[0] = x`, `out[i, 2*j] += y[i, j]`."""

from __future__ import annotations

from typing import Any

from ...errors import DeclarationError
from ...expr import Index, indices
from .arithmetic import elementwise, fitted
from .arrays import Array
from .closing import Term, close
from .graph import Pieces, axes_of, gather, is_loop
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
        if not adds and any(earlier.subscripts == place.subscripts for earlier in node.pieces):
            raise DeclarationError("an element is assigned twice; to add to it write +=.")
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
