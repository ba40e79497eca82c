"""Roots of sums of squares: at 0, where a norm has no slope, it is taken as 0, as that of hypot and of abs is.

`x / sqrt(x**2 + y**2 + z**2)` is at most 1, and has no limit at 0; what is multiplied by it there, as in |v|*v, most
often is 0. Without this, 0/0 would spoil a gradient that exists. A norm that is divided by, and for nothing else, or by
everything that is computed of it, is left alone: where it is 0, there is no value either.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..expr import ONE, Apply, Const, Expr, Ref, postorder, preorder, transformer, value_of
from ..ir import Divided, Function
from ..ops import OPS
from ..ops.row import nonzero
from .chain import partials_of


class Norms:
    """Which expressions are sums of squares: where one is 0, so is the slope of each of its terms."""

    def __init__(self, function: Function) -> None:
        self._writers, self._sizes = function.writers, {d.name for d in function.dims}
        self._outputs, self._roots = function.outputs, dict[Expr, list[str]]()
        self._readers: dict[Expr | str, list[Apply]] = {}  # of a node; of what is named, too
        for e in function.statements:
            self._roots.setdefault(e.body, []).append(e.target)
        nodes = postorder(*(x for e in function.statements for x in e.expressions))
        for node in (n for n in nodes if isinstance(n, Apply)):
            for a in node.args:
                self._readers.setdefault(a.name if isinstance(a, Ref) else a, []).append(node)
        self._divided = Divided(function)
        self._told: dict[str, bool] = {}
        self._asked: dict[Expr | str, bool] = {}

    def partials(self, node: Apply) -> Sequence[Expr | None]:
        """The partial derivatives of an operation, finite where a norm is 0."""
        norm = node.op == "sqrt" and self.are_squares(node.args[0]) and not self._divides(node)
        found = (ONE / (2 * nonzero(node)),) if norm else partials_of(node)
        if not norm and not OPS[node.op].guarded:
            return found
        guarded = nonzero(node)
        own = {node, *node.args}
        parts = preorder([p for p in found if p is not None], lambda n: () if n in own else n.args)
        if guarded not in parts or not self._divided(node):
            return found
        bare = transformer(None, {a: a for a in own} | {guarded: node})
        return [None if p is None else bare(p) for p in found]

    def are_squares(self, node: Expr) -> bool:
        """Whether it is a sum of squares times what is not negative."""
        if isinstance(node, Ref):
            return self._written(node.name)
        if not isinstance(node, Apply):
            return False
        if node.op in ("add", "maximum"):
            return all(map(self.are_squares, node.args))
        if node.op == "select":
            return all(map(self.are_squares, node.args[1:]))
        if node.op == "div":
            return self.are_squares(node.args[0]) and self._is_positive(node.args[1])
        if node.op == "pow":
            return isinstance(node.args[1], Const) and value_of(node.args[1]) == 2
        if node.op == "mul":
            a, b = node.args
            return a is b or any(self.are_squares(u) and self._is_positive(v) for u, v in ((a, b), (b, a)))
        return False

    def _divides(self, node: Expr | str) -> bool:
        """Whether all that is done with a value, or with what is named, is to divide by it, in a product or not."""
        if node not in self._asked:
            self._asked[node] = False  # of a recurrence nothing is told
            names = self._roots.get(node, ()) if isinstance(node, Expr) else ()
            readers = self._readers.get(node, [])
            used = bool(names or readers) and node not in self._outputs
            below = all(self._is_below(node, n) for n in readers)
            self._asked[node] = used and below and all(map(self._divides, names))
        return self._asked[node]

    def _is_below(self, node: Expr | str, reader: Apply) -> bool:
        """Whether a reader divides by it."""
        same = [a.name == node if isinstance(a, Ref) else a is node for a in reader.args]
        return reader.op == "div" and same == [False, True] or reader.op == "mul" and self._divides(reader)

    def _is_positive(self, node: Expr) -> bool:
        return node.name in self._sizes if isinstance(node, Ref) else isinstance(node, Const) and value_of(node) > 0

    def _written(self, name: str) -> bool:
        if name not in self._told:
            self._told[name] = False  # of a recurrence nothing is told
            equations = self._writers.get(name, ())
            self._told[name] = bool(equations) and all(
                e.reduce in ("none", "sum") and e.matrix is None and self.are_squares(e.body) for e in equations
            )
        return self._told[name]
