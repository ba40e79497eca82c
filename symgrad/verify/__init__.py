"""The oracle: does printed code compute what was declared, and its J^T v?

It shares nothing with what derives and prints: neither `differentiate`, `simplify` nor `plan`, nor the derivative
column of `ops`. See `check`.
"""

from .adjoint import Artefact
from .check import check
from .report import Finding, Report, Worst

__all__ = ["Artefact", "Finding", "Report", "Worst", "check"]
