"""From the product that the rule of differentiation writes to the one that is printed, rewrite by rewrite."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..differentiate import differentiate
from ..expr import ELIDED, Expr, Ref, is_short, ref, show, values
from ..ir import Derivative, Equation, Function, Rewrite, latex_of
from ..later import mp
from ..numerics.digits import value_of_formula
from ..precision.measure import value_at
from ..simplify.reasons import REASONS
from ..verify.accuracy import bits_lost
from .document import Block, Formula, Formulas, Paragraph, Step
from .formulas import AtPoint, equations

SAME = "(The formula stays as it is; how it is computed does not.)"
DEAD = "without dead equations"
TRIED = (800.0, -800.0, 40.0, -40.0, 1e-9, 1e9, 1e-5, 1e200)  # numbers at which formulas compute badly
BITS = 4000  # in which the truth is computed there
BADLY, WELL = 20.0, 4.0  # bits lost, at least and at most
READABLE = 120  # operations of an equation that is shown


def product_blocks(function: Function, derivative: Derivative, rewrites: Sequence[Rewrite]) -> tuple[Block, ...]:
    """The product before it is simplified, what fired, and the result."""
    shown = _Shown(function)
    of = differentiate(function)
    start = Formulas(
        shown.equations(of.equations, of.function), "J^T v, as the chain rule writes it, from the output back"
    )
    first = [r for r in rewrites if not _speaks_of_gradients(r, derivative)]
    second = [r for r in rewrites if r not in first]
    blocks: list[Block] = [start]
    forward = shown.steps(function.statements, first, function, lambda e: True)
    own = differentiate(derivative.primal)
    if forward:
        blocks.append(Paragraph("First the function itself is written in the form that loses fewest digits:"))
        blocks += forward
        blocks.append(Formulas(shown.equations(own.equations, own.function), "Of that form, the chain rule writes"))
    primal = {e.target for e in derivative.primal.statements}
    backward = shown.steps(own.equations, second, derivative.function, lambda e: e.target not in primal)
    if backward:
        blocks.append(Paragraph("Then the product is simplified:"))
        blocks += backward
    if not forward and not backward:
        blocks.append(Paragraph("No rewrite fired: nothing of it can be made simpler."))
    return (*blocks, *result_blocks(function, derivative, "The result"))


def result_blocks(function: Function, derivative: Derivative, label: str = "") -> tuple[Block, ...]:
    """The product as it is printed."""
    result = _Shown(function).equations(derivative.equations, derivative.function, lambda e: f"backward {e.target}")
    written = {e.target for e in derivative.equations}
    zero = tuple(Formula(f"{g} = 0", "") for _, g in derivative.gradients if g not in written)
    return (Formulas((*result, *zero), label),)


def _speaks_of_gradients(rewrite: Rewrite, derivative: Derivative) -> bool:
    """Whether a rewrite is of the product, and not of the function alone."""
    own = {seed for _, seed in derivative.seeds} | {g for _, g in derivative.gradients}
    return any(e.target in own or any(r.name in own for r in e.reads) for e in rewrite.after)


class _Shown:
    """How the equations of a function are shown: at one point, and of one that nobody would read only its name."""

    def __init__(self, function: Function) -> None:
        self.point = AtPoint(function)

    def equations(
        self, some: Sequence[Equation], of: Function, key: Callable[[Equation], str] = lambda e: ""
    ) -> tuple[Formula, ...]:
        short = [e if is_short(e.body, READABLE) else e.with_body(ref(ELIDED)) for e in some]
        return equations([self.point.equation(e) for e in short], of, key)

    def _some(self, every: Sequence[Equation], some: Sequence[Equation], of: Function) -> tuple[Formula, ...]:
        """Some of the equations, as they stand among all."""
        return tuple(f for e, f in zip(every, self.equations(every, of), strict=True) if e in some)

    def witness(self, before: Expr, after: Expr) -> str:
        """Where one of two equal formulas of numbers computes badly in float64, and the other well."""
        before, after = self.point.expression(before), self.point.expression(after)
        leaves = [n for n in values(before) if isinstance(n, Ref)]
        others = [n for n in values(after) if isinstance(n, Ref) and n not in leaves]
        if not leaves or others or any(r.subscripts for r in leaves):
            return ""
        for x in TRIED:
            at = {r: 1.0 if r.name.startswith("grad_") else x for r in leaves}
            with mp.workprec(BITS):
                truth = value_of_formula(before, {r: mp.mpf(v) for r, v in at.items()})
                finite = mp.isfinite(truth)
                there = dict[Expr, float](at.items())
                found = [value_at(e, there) for e in (before, after)] if finite else []
                lost = [bits_lost(v, truth) for v in found]
            if found and lost[0] >= BADLY and lost[1] <= WELL:
                where = ", ".join(f"{r.name} = {v:g}" for r, v in at.items())
                digits = next((n for n in (6, 9, 13) if f"{found[0]:.{n}g}" != f"{found[1]:.{n}g}"), 17)
                first, second = (f"{v:.{digits}g}" for v in found)
                return f"At {where} the first is {first} in float64, and the second {second}."
        return ""

    def steps(
        self, start: Sequence[Equation], rewrites: Sequence[Rewrite], of: Function, mine: Callable[[Equation], bool]
    ) -> list[Step]:
        """What each rewrite changed."""
        found, now = [], list(start)
        for r in rewrites:
            after = [e for e in r.after if mine(e)]
            gone, new = [e for e in now if e not in after], [e for e in after if e not in now]
            if not gone and not new:
                continue
            sides = self._some(now, gone, of), self._some(after, new, of)
            name = r.name if new else DEAD
            if r.identities:
                pairs = [tuple(map(self.point.expression, row[1:])) for row in r.identities]
                sides = tuple(tuple(Formula(show(e), latex_of(e)) for e in some) for some in zip(*pairs, strict=True))  # type: ignore[assignment]
                name = f"{name}: {', '.join(dict.fromkeys(row[0] for row in r.identities))}"
            reason = REASONS[r.name if new else DEAD]
            bodies = [row[1:] for row in r.identities]
            if not bodies and len(gone) == len(new) == 1 and gone[0].reduce == new[0].reduce == "none":
                bodies = [(gone[0].body, new[0].body)]
            told = [*filter(None, (self.witness(a, b) for a, b in bodies))]
            if [f.text for f in sides[0]] == [f.text for f in sides[1]]:
                told.append(SAME)
            found.append(Step(name, " ".join([reason, *told]), *sides))
            now = after
        return found
