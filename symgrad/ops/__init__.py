"""The operators: one row each, and nothing about an operator stands anywhere else."""

from collections.abc import Mapping

from ..expr import Apply, Expr
from .elementary import ELEMENTARY
from .normal import NORMAL
from .quotients import QUOTIENTS
from .row import Helper, Kink, Op, Partials, Polynomial
from .special import SPECIAL
from .steps import STEPS

ROWS: tuple[Op, ...] = (*ELEMENTARY, *QUOTIENTS, *STEPS, *NORMAL, *SPECIAL)
# the two operands of a function of matrices, as one body: no function of numbers, and nothing that a user writes
PAIR = Op("pair", 2, lambda a, b: (a, b), None, lambda a, b: (a, b))
_rows = {row.name: row for row in (*ROWS, PAIR)}
OPS: Mapping[str, Op] = _rows
NAMES: Mapping[str, str] = {name: row.name for row in ROWS for name in (row.name, *row.names)}


def register(row: Op) -> None:
    """Add an operator that was made of a formula; its name tells the formula, so that it means the same everywhere."""
    _rows[row.name] = row


def in_others(node: Expr, language: str, *, finer: bool = False) -> Expr | None:
    """`node` in other operators, which `language` may not have either; None where it needs none, or there are none.

    finer  where its arguments are arithmetic on inputs: the form that loses fewer bits, if the row has one
    """
    row = OPS.get(node.op) if isinstance(node, Apply) else None
    if row is None or row.expand is None or row.word(language) is not None:
        return None
    return (row.finer or row.expand if finer else row.expand)(*node.args)


__all__ = ["NAMES", "OPS", "ROWS", "Helper", "Kink", "Op", "Partials", "Polynomial", "in_others", "register"]
