"""The operators: one row each, and nothing about an operator stands anywhere else."""

from collections.abc import Mapping

from .elementary import ELEMENTARY
from .row import Kink, Op, Partials
from .special import SPECIAL
from .steps import STEPS

ROWS: tuple[Op, ...] = (*ELEMENTARY, *STEPS, *SPECIAL)
OPS: Mapping[str, Op] = {row.name: row for row in ROWS}
NAMES: Mapping[str, str] = {name: row.name for row in ROWS for name in (row.name, *row.names)}

__all__ = ["NAMES", "OPS", "ROWS", "Kink", "Op", "Partials"]
