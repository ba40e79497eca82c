"""The oracle: does printed code compute what was declared, and its J^T v?

It shares nothing with what derives and prints: neither `differentiate`, `simplify` nor `plan`, nor the derivative
column of `ops`. See `check`.
"""

from .accuracy import Loss, Losses, losses
from .check import check
from .origin import Origin
from .report import Report, joined
from .retractions import Retraction
