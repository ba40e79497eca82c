"""A printed function that is a formula away from a point and the formula's Taylor series near it.

Both are the same function, but for what the series leaves out: less than a unit roundoff. So the formula gives the
exact value everywhere (near the point, where it loses digits, at as many as two computations need to agree), the series
where it takes over gives the rounding, and a series that is off by more than that is a fault.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
from mpmath import mp

from .rounding import Number, lift
from .rounding.format import INF, SHORT, now, spread
from .rounding.number import remembered, rounded
from .text import Fault

Part = Callable[[Any], Any]

NEAR = "near"  # what the texts call the condition under which the series takes over
LOST = 8  # powers of x that a formula may lose near 0
BESIDE = 12  # halvings of 1 that are tried as a distance from the point
AGAIN = 7  # times the digits are doubled
OFF = 2.0**-52  # how far a series may be from its formula, relative to it


def with_limit(name: str, near: Part, series: Part, formula: Part) -> Callable[[Any], Number]:
    """The function on Numbers.

    near     whether the series takes over at x
    series   what the text computes then
    formula  what it computes elsewhere
    """

    def at(x: Any, bits: int) -> Any:
        with mp.workprec(bits):
            return lift(formula(lift(x))).value

    def exact(x: Any) -> Any:
        if not mp.isfinite(x) or not near(lift(x)):
            return +at(x, mp.prec + 64)
        bits = mp.prec + LOST * max(0, -int(mp.mag(x))) + 64 if x else mp.prec
        found = at(x, bits)
        if not mp.isfinite(found):  # the point itself is one at which there is a number on one side of it
            with mp.workprec(2 * mp.prec):
                step = mpmath.ldexp(1, -mp.prec)
                inside = any(mp.isfinite(at(x + s, 4 * bits)) for s in (step, -step))
            return lift(series(lift(x))).value if inside else found
        for _ in range(AGAIN):
            found, less, bits = at(x, 2 * bits), found, 2 * bits
            if abs(found - less) <= mpmath.ldexp(abs(found), -mp.prec):
                return +found
        raise Fault(f"{name} has no value at {mpmath.nstr(x, 20)} that two precisions agree on")

    def compared(x: Any, truth: Any) -> Number:
        """The series at x."""
        found = lift(series(lift(x)))
        if not abs(found.value - truth) <= OFF * abs(truth):
            raise Fault(
                f"the series of {name} is {mpmath.nstr(found.value, 20)} at {mpmath.nstr(x, 8)}, "
                f"where its formula is {mpmath.nstr(truth, 20)}"
            )
        return found

    def beside(x: Any) -> None:
        """A point at which all terms but the first are nothing tells little: the series is compared farther off."""
        for side in (1, -1):
            for k in range(BESIDE):
                other = x + side * mpmath.ldexp(1, -k)
                if near(lift(other)):
                    truth = exact(other)
                    if mp.isfinite(truth):
                        compared(other, truth)
                        break

    asked: list[Any] = []

    def value(x: Number) -> Number:
        truth = exact(x.value)
        if near(lift(x.value)) and not mp.isnan(truth):  # no number: in the branch of a `where` that is not taken
            if not asked:
                beside(x.value)
                asked.append(x.value)
            found = compared(x.value, truth)
            own = found.err + abs(truth) * OFF / now.unit if now.unit else INF
        else:
            own = lift(formula(lift(x.value))).err
        moved = spread(exact, (x.value,), 0, x.err) if x.err else 0.0
        if x.err * now.unit > SHORT and not near(lift(x.value)):  # over many turns of a sine two points tell little
            moved = max(moved, lift(formula(x)).err)
        return rounded(truth, float(own) + moved, 0.0)

    return remembered(value)


class Choice:
    """`near ? series : formula` of a text: either part can be asked for."""

    def __init__(self) -> None:
        self.wanted: bool | None = None
        self.taken = False

    def __call__(self, near: Any, series: Callable[[], Any], formula: Callable[[], Any]) -> Any:
        self.taken = bool(near)
        wanted = self.taken if self.wanted is None else self.wanted
        found = series() if wanted else formula()
        return lift(found) if isinstance(found, int) else found

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
