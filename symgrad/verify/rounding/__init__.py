"""Numbers that carry a bound of the rounding error a floating-point format would have made."""

from .format import DOUBLE, REACH, SINGLE, Format, Notes, rounding
from .functions import FUNCTIONS, pi, total
from .number import Number, lift, literal, power
