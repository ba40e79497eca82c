"""What is 0 nowhere, as a function has no value where it is."""

from __future__ import annotations

from functools import cached_property

from ..expr import Expr, Ref, factors, operator, ref, values
from .data import Function
from .reads import unconditional


class Divided:
    """Tells whether each result of a function that is computed of something divides by it, in whatever branch.

    It is asked of what stands in equations of numbers, or of elements at one place.
    """

    def __init__(self, function: Function) -> None:
        self.function = function

    @cached_property
    def results(self) -> list[tuple[set[Expr], set[Expr]]]:
        """Of each result, what it is computed of, and what it divides by in any case."""
        bodies: dict[Expr, Expr] = {ref(e.target, *e.subscripts): e.body for e in self.function.elementwise.values()}
        found = []
        for root in (r for r in bodies if isinstance(r, Ref) and r.name in self.function.outputs):
            sure = unconditional(root, bodies=bodies)
            divisors = {d for n in sure if operator(n) == "div" for d in factors(n.args[1])[0]}
            found.append(({*values(root, bodies=bodies)}, divisors | {bodies[d] for d in divisors if d in bodies}))
        return found

    def __call__(self, u: Expr) -> bool:
        mine = [divisors for parts, divisors in self.results if u in parts]
        return bool(mine) and all(u in divisors for divisors in mine)
