"""Why each rewrite is made, in a sentence for people: by the names that `rewritten` and `noted` are told."""

from __future__ import annotations

from collections.abc import Mapping

from .forward import SEARCHED

REASONS: Mapping[str, str] = {
    # forward, in the order of `stable`
    "without conditions that always hold": "A condition that holds at every index need not be asked.",
    "in its domain": "The inputs are declared for some numbers only, and there the formula is simpler.",
    "powers beside equalities": "Where the condition holds the other piece is 0/0; with an exponential in place of its "
    "power it has a limit there, and slopes.",
    "in common exponentials": "Equal exponentials are computed once, and hyperbolic functions beside them by these.",
    "stable form": "An equal formula, which neither overflows nor cancels where this one does.",
    "stable form in its domain": "The new formula is simpler for the numbers that the inputs are declared for.",
    "constants in place": "A value that is the same number everywhere stands where it is read.",
    "in tails": "Far out, a probability is the small difference of two numbers near 1; this form has it directly.",
    "softmax": "exp overflows beyond 709.78 in float64. With the logarithm of the sum taken off first, every exponent "
    "is at most 0, and the quotient is the same.",
    "summed first": "What has no index of the other factors is summed first, as a matrix is multiplied by a vector "
    "before another matrix is: that takes fewer operations.",
    "combined after": "The sum of linear combinations is the combination of the sums: a gradient that is asked for "
    "alone then needs no other one.",
    "sizes": "A number times its sign is its absolute value.",
    "quotients in powers": "A power of a quotient takes in what stands beside it: s/r*(s/r)**5 is (s/r)**6.",
    "equal reductions once": "A sum that stands there twice is computed once.",
    "equal gradients once": "Gradients that are equal but for their sign, as those of x - y, are computed once.",
    "removable singularities": "A quotient that is 0/0 at a point, though it has a limit there, becomes a function of "
    "its own: near that point it is computed by its Taylor series.",
    "scaled form": "The square of a large number overflows although the length does not: hypot scales first.",
    SEARCHED: "Of the equal forms that a search has tried at some hundred points, this one loses fewest bits of "
    "floating point.",
    "searched form in its domain": "What a search has found is simpler for the numbers that the inputs are declared "
    "for.",
    "roots": "A root that is read several times is computed once.",
    "copies under one name": "What is only copied is written to the copy at once.",
    "hoisted": "What does not depend on an index is computed once, and not again for each value of that index.",
    "normalised": "The slopes are simplest in the normalised values, so these get a name.",
    "without dead equations": "What nothing reads is not computed.",
    "other results of a factorisation": "The gradient speaks of another result of the same call.",
    "on demand": "A value that is asked for only under a condition is computed only there.",
    # J^T v, in the order of `simplify`
    "without idle axes": "What is the same all along an axis is computed once for the axis.",
    "quotients joined": "The two terms are the slope of a product whose divisor is its other factor: the slope of what "
    "is divided, in one function that does not cancel.",
    "powers joined": "The slope of a power u**v has one power less of u, and is multiplied by u again: that is u**v, "
    "also where u is 0 and the lower power infinite.",
    "slopes in stable form": "1 less something that is nearly 1 loses its digits; the same slope as a function of its "
    "own keeps them. A power of 1 + (u - v)/v is one of u/v.",
    "copies in place": "What is only a copy of something is read where that stands.",
    "values of forward": "Forward has computed these parts already: backward reads them, by their names.",
    "cheapest form": "Like terms are collected, common factors taken out, and what cancels is left out; of the forms "
    "that this gives, the one is taken that costs the fewest operations and reads the least memory.",
    "formulas of operators": "What a function with a Taylor series computes away from its point is simplified, too.",
    "without cancellation": "Nearly equal numbers would be subtracted here; this equal form loses fewer bits.",
    "numbers joined": "A number in front of a gradient joins those in front of what reads it: 2 * (0.5 * g) is g.",
    "products in common": "Several gradients have these factors in common: what the chain rule hands on to all that "
    "stands inside is computed once.",
    "conditions asked once": "What is 0 by a factor, or by what it asks itself, need not be asked whether it is 0.",
}
