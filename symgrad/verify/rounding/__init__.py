"""Numbers that carry a bound of the rounding error a floating-point format would have made."""

from .functions import FUNCTIONS, maximum, minimum, pi, power, total
from .number import DOUBLE, REACH, SINGLE, Format, Notes, Number, lift, literal, rounding

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
