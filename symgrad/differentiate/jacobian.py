"""The Jacobian for people: the equations of `jacobian_of`, each as the derivative of an element by another one.

    d out[i] / d x[i + 1] = 2 * x[i + 1]  where i + 1 < n     where that function has out_by_x[i, i + 1] = ...
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..expr import ZERO, Expr, Ref, ref
from ..ir import (
    Derivative,
    Equation,
    Function,
    Tensor,
    aligned,
    latex_equations,
    latex_of,
    show_element,
    show_equations,
)
from ..records import dataclass


@dataclass(frozen=True, slots=True)
class Jacobian:
    """The Jacobian of a function of tensors as index equations; an element that is not listed is 0.

    function  what computes it: the outputs, and an array for each output and input
    pairs     the output and the input of each array
    entries   the equations of these arrays
    values    those of what has a name on the way, besides the values of forward: `out_by_h`, the derivative of out by h
    """

    name: str
    function: Function
    pairs: Mapping[str, tuple[Tensor, Tensor]]
    entries: tuple[Equation, ...]
    values: tuple[Equation, ...]

    def __str__(self) -> str:
        lines = self._lines(show_equations, lambda r: show_element(r.name, r.subscripts), "d {} / d {}")
        return "\n".join([f"Jacobian of {self.name}", *(f"    {line}" for line in lines)])

    def __repr__(self) -> str:
        return str(self)

    def latex(self) -> str:
        """A LaTeX `aligned` environment, one line per equation."""
        return aligned(self._lines(latex_equations, latex_of, r"\frac{{\partial {}}}{{\partial {}}}"))

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"

    def _lines(self, written: Callable[..., list[str]], element: Callable[[Ref], str], quotient: str) -> list[str]:
        def left(e: Equation) -> str:
            return quotient.format(*map(element, self.places(e, e.subscripts)))

        facts = self.function.facts
        return [*written(self.entries, facts, left), *written(self.values, facts)]

    def places(self, e: Equation, subscripts: Sequence[Expr]) -> tuple[Ref, Ref]:
        """The element of the output, and that of the input, at these places of the array of an equation; the packs that
        both have come first."""
        pair, packs = self.pairs[e.target], self.function.packs
        above, below = (t.shape for t in pair)
        both = [n for n in above if isinstance(n, Ref) and n.name in packs and n in below]
        shared: dict[Expr, Expr] = dict(zip(both, subscripts, strict=False))
        rest = iter(subscripts[len(both) :])
        one, other = (ref(t.name, *(shared[n] if n in shared else next(rest) for n in t.shape)) for t in pair)
        return one, other


def jacobian_equations(derivative: Derivative, found: Function) -> Jacobian:
    """d output / d input for every pair, by index; forward's named values stand by their names.

    found  what `jacobian_of` gives
    """
    primal, table = derivative.primal, derivative.primal.table
    arrays = iter(found.outputs[len(primal.outputs) :])
    pairs = {next(arrays): (table[o], table[x]) for o, _ in derivative.seeds for x, _ in derivative.gradients}
    added = [e for e in found.statements if e.target not in primal.writers]
    entries = tuple(e for e in added if e.target in pairs and e.body is not ZERO)
    return Jacobian(primal.name, found, pairs, entries, tuple(e for e in added if e.target not in pairs))
