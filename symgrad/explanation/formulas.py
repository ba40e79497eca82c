"""Equations as formulas of a document: text and LaTeX from one place."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..expr import Expr, Index, Ref, ref, show, transformer
from ..ir import Equation, Function, Tensor, latex_equations, latex_of, show_element, show_equations, single
from ..records import replace
from .document import Formula

Key = Callable[[Equation], str]


def equations(some: Sequence[Equation], of: Function, key: Key = lambda e: "") -> tuple[Formula, ...]:
    """One formula for each."""
    texts, latex = show_equations(some, of.facts), latex_equations(some, of.facts)
    return tuple(Formula(t, line.replace("&", "", 1), key(e)) for e, t, line in zip(some, texts, latex, strict=True))


def slope(above: Ref, below: Ref, body: Expr) -> Formula:
    """`d out[i] / d x[j] = body`."""
    return Formula(f"{quotient(above, below)} = {show(body)}", rf"{latex_quotient(above, below)} = {latex_of(body)}")


def slope_in(e: Equation, above: Ref, below: Ref, body: Expr) -> Formula:
    """The same at each point of an equation, with the conditions under which it counts."""
    own = replace(e, subscripts=tuple(i for i, _ in e.box), reduce="none", body=body)
    (text,) = show_equations([own], left=lambda _: quotient(above, below))
    (line,) = latex_equations([own], left=lambda _: latex_quotient(above, below))
    return Formula(text, line.replace("&", "", 1))


def quotient(above: Ref, below: Ref) -> str:
    """`d out[i] / d x[j]`."""
    first, second = (show_element(r.name, r.subscripts) for r in (above, below))
    return f"d {first} / d {second}"


def latex_quotient(above: Ref, below: Ref) -> str:
    """The same in LaTeX."""
    return rf"\frac{{\partial {latex_of(above)}}}{{\partial {latex_of(below)}}}"


class AtPoint:
    """Equations of a function of many points as those of one: without the axes that only count the points."""

    def __init__(self, function: Function) -> None:
        self.packs = {*function.packs} - {*single(function).packs}
        self.expression = transformer(self._element) if self.packs else _same

    def _counts(self, s: Expr) -> bool:
        return isinstance(s, (Index, Ref)) and s.name in self.packs

    def _element(self, node: Expr) -> Expr:
        if isinstance(node, Ref) and node.subscripts and self._counts(node.subscripts[0]):
            return ref(node.name, *node.subscripts[1:])
        return node

    def equation(self, e: Equation) -> Equation:
        """An equation at one of the points."""
        if not self.packs:
            return e
        at = e.subscripts[1:] if e.subscripts and self._counts(e.subscripts[0]) else e.subscripts
        box = tuple((i, extent) for i, extent in e.box if not self._counts(extent))
        return replace(e.mapped(self.expression), subscripts=at, box=box)

    def tensor(self, t: Tensor) -> Tensor:
        """A tensor of one of the points."""
        return replace(t, shape=t.shape[1:]) if t.shape and self._counts(t.shape[0]) else t


def _same(e: Expr) -> Expr:
    return e
