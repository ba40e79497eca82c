"""How the errors of its arguments pass through an operator: what stands in the column `error` of a row.

Sizes and errors are exponents of 2: a bound of the result's error is found from its size, and from the sizes and the
errors of the arguments. It is the mathematics of the operator alone; what rounds the result comes on top of it.
"""

from __future__ import annotations

from collections.abc import Callable

from ..later import mp

Bound = Callable[[int, list[int], list[int]], int]

EXACT, NEVER = -(10**9), 10**9  # the error of what is not rounded, and of what is not known at all


def constant(size: int, s: list[int], e: list[int]) -> int:
    """Of what does not depend on anything."""
    return EXACT


def largest(size: int, s: list[int], e: list[int]) -> int:
    """Of what changes by no more than one of its arguments does."""
    return max(e)


def summed(size: int, s: list[int], e: list[int]) -> int:
    return max(e) + 1


def multiplied(size: int, s: list[int], e: list[int]) -> int:
    return max(e[0] + s[1], e[1] + s[0], sum(e)) + 2


def divided(size: int, s: list[int], e: list[int]) -> int:
    return max(e[0], e[1] + size) - s[1] + 3 if e[1] < s[1] - 4 else NEVER


def power(size: int, s: list[int], e: list[int]) -> int:
    """Of a power with an exact exponent."""
    more = max(s[1], 0) + 2
    return e[0] - s[0] + size + more if e[1] == EXACT and e[0] < s[0] - more - 2 else NEVER


def signed(size: int, s: list[int], e: list[int]) -> int:
    return EXACT if e[0] < s[0] - 1 else NEVER


def root(size: int, s: list[int], e: list[int]) -> int:
    return e[0] - s[0] + size + 1 if e[0] < s[0] - 4 else NEVER


def logarithm(size: int, s: list[int], e: list[int]) -> int:
    return e[0] - s[0] + 2 if e[0] < s[0] - 4 else NEVER


def log_ratio(size: int, s: list[int], e: list[int]) -> int:
    return max(e[0] - s[0], e[1] - s[1], -mp.prec) + 4 if e[1] < s[1] - 4 else NEVER


def log_of_sum(size: int, s: list[int], e: list[int]) -> int:
    return int(max(*e, max(*s, 1) - mp.prec) + 1)


def by_slope(most: Callable[[int, int], int]) -> Bound:
    """Of a function whose slope, near its argument, is less than 2**most(size of the result, size of the argument)."""
    return lambda size, s, e: e[0] + most(size, s[0]) if e[0] < -max(s[0], 0) - 4 else NEVER


def of_numbers(size: int, s: list[int], e: list[int]) -> int:
    """Of a function with slopes of all sizes: it is known where its arguments are exact."""
    return EXACT if all(x == EXACT for x in e) else NEVER


flat = by_slope(lambda size, s: 1)
grows = by_slope(lambda size, s: max(size, 1) + 2)
by_size = by_slope(lambda size, s: size + 1)
