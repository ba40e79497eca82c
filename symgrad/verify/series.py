"""A printed function that is a formula away from 0 and the formula's Taylor series near it.

Both are the same function, but for what the series leaves out: less than a unit roundoff. So the formula gives the
exact value everywhere (at enough digits near 0, where it loses them), the series where it takes over gives the
rounding, and a series that is off by more than that is a fault.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
from mpmath import mp

from .rounding import Number, lift
from .rounding.functions import spread
from .rounding.number import INF, now, rounded
from .text import Fault

Part = Callable[[Any], Any]

LOST = 8  # powers of x that a formula may lose near 0
OFF = 2.0**-52  # how far a series may be from its formula, relative to it


def with_limit(name: str, near: Part, series: Part, formula: Part) -> Callable[[Any], Number]:
    """The function on Numbers.

    near     whether the series takes over at x
    series   what the text computes then
    formula  what it computes elsewhere
    """

    def exact(x: Any) -> Any:
        if not mp.isfinite(x):
            return lift(formula(lift(x))).value
        if x == 0:
            return lift(series(lift(x))).value
        with mp.workprec(mp.prec + LOST * max(0, -int(mp.mag(x))) + 64):
            found = lift(formula(lift(x))).value
        return +found

    def value(argument: Any) -> Number:
        x = lift(argument)
        truth = exact(x.value)
        if near(lift(x.value)):
            found = lift(series(lift(x.value)))
            if not abs(found.value - truth) <= OFF * abs(truth):
                raise Fault(
                    f"the series of {name} is {mpmath.nstr(found.value, 20)} at {mpmath.nstr(x.value, 8)}, "
                    f"where its formula is {mpmath.nstr(truth, 20)}"
                )
            own = found.err + abs(truth) * OFF / now.unit if now.unit else INF
        else:
            own = lift(formula(lift(x.value))).err
        moved = spread(exact, (x.value,), 0, x.err) if x.err else 0.0
        return rounded(truth, float(own) + moved, 0.0)

    return value


class Choice:
    """`near ? series : formula` of a C text: either part can be asked for."""

    def __init__(self) -> None:
        self.wanted: bool | None = None
        self.taken = False

    def __call__(self, near: Any, series: Callable[[], Any], formula: Callable[[], Any]) -> Any:
        self.taken = bool(near)
        wanted = self.taken if self.wanted is None else self.wanted
        return series() if wanted else formula()

    def parts(self, name: str, function: Part) -> Callable[[Any], Number]:
        """The function on Numbers, of one that makes the choice."""

        def asked(x: Any, wanted: bool | None) -> Any:
            self.wanted = wanted
            try:
                return function(x)
            finally:
                self.wanted = None

        def near(x: Any) -> bool:
            asked(x, False)
            return self.taken

        return with_limit(name, near, lambda x: asked(x, True), lambda x: asked(x, False))
