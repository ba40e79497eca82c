"""Numbers that carry a bound of the rounding error a floating-point format would have made."""

from .format import DOUBLE, REACH, SINGLE, Format, Notes, rounding
from .functions import FUNCTIONS, maximum, minimum, pi, total
from .number import Number, lift, literal, power

__all__ = [
    "DOUBLE",
    "FUNCTIONS",
    "REACH",
    "SINGLE",
    "Format",
    "Notes",
    "Number",
    "lift",
    "literal",
    "maximum",
    "minimum",
    "pi",
    "power",
    "rounding",
    "total",
]
