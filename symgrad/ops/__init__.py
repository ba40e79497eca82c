"""The operators: one row each, and nothing about an operator stands anywhere else."""

from collections.abc import Iterable, Mapping

from ..expr import Apply, Expr, Operator, operators, refs, values
from ..later import mp, sympy
from .activations import ACTIVATIONS
from .arithmetic import ARITHMETIC, ISQRT
from .elementary import ELEMENTARY
from .kinks import KINKS
from .normal import NORMAL
from .powers import POWERS
from .quotients import QUOTIENTS
from .row import Helper, Op, Polynomial
from .special import SPECIAL, UNKNOWN_SLOPE
from .steps import STEPS

ROWS: tuple[Op, ...] = (*ARITHMETIC, *ELEMENTARY, *POWERS, *ACTIVATIONS, *KINKS, *QUOTIENTS, *STEPS, *NORMAL, *SPECIAL)
# the two operands of a function of matrices, as one body: no function of numbers, and nothing that a user writes
PAIR = Op("pair", 2, lambda a, b: (a, b), None, lambda a, b: (a, b), series=False)
# a branch of a `where` may be infinite, and a maximum of nothing is; what operators are there: `limits`
INFINITY = Op("oo", 0, lambda: mp.inf, None, lambda: sympy.oo, kind="number", cost=0)


class _Rows(dict[str, Op]):
    """The rows by name; an operator that stands in no table holds its own."""

    def __missing__(self, name: str) -> Op:
        if isinstance(name, Operator):
            return name.row  # type: ignore[no-any-return]  # `expr` does not know what a row is
        raise KeyError(name)


def named(rows: Iterable[Op]) -> dict[str, str]:
    """All names of operators, each with the first name of its row; two rows have none in common."""
    found: dict[str, Op] = {}
    for row in rows:
        for name in (row.name, *row.names):
            assert found.setdefault(name, row) is row, f"two operators are called {name}: see docs/operators.md"
    return {name: row.name for name, row in found.items()}


OPS: Mapping[str, Op] = _Rows({row.name: row for row in (*ROWS, ISQRT, UNKNOWN_SLOPE, PAIR, INFINITY)})
KERNELS = ("triton", "pallas")  # languages of kernels: they have the functions for which a row has a word
COMPARISONS = frozenset(row.name for row in ROWS if row.kind == "comparison")
NAMES: Mapping[str, str] = named(ROWS)


def is_call(node: Expr) -> bool:
    """Whether `node` is a function of its arguments, neither arithmetic on them nor a power."""
    return isinstance(node, Apply) and OPS[node.op].called


def calls(root: Expr) -> bool:
    """Whether such a function is called in a formula."""
    return any(OPS[op].called for op in operators(root))


def takes_arrays(op: str, place: int) -> bool:
    """Whether a function of the printed file calls others of one argument alone: a language of arrays gives it as an
    array, then, and no plain number. Of other operators nothing is said."""
    helper = OPS[op].helper
    if helper is None:
        return False
    alone = {helper.arguments[place]}
    for name, line in helper.lines:
        if not isinstance(line, Expr):
            continue
        for node in values(line):
            kind = OPS[node.op].kind if isinstance(node, Apply) else "number"
            if not isinstance(node, Apply) or kind in ("number", "arithmetic", "power"):
                continue
            given = [{r.name for r in refs(a)} for a in node.args]
            mixed = kind in ("choice", "logic", "comparison")  # which take numbers beside arrays
            if set().union(*given) <= alone if mixed else any(own and own <= alone for own in given):
                return True
        if {r.name for r in refs(line)} <= alone:
            alone |= {name}
    return False


def lacks(op: str, language: str) -> bool:
    """Whether a language has no word for an operator that is written in others there."""
    row = OPS[op]
    return row.expand is not None and row.word(language) is None


def in_others(node: Expr, language: str, *, finer: bool = False) -> Expr | None:
    """`node` in other operators, which `language` may not have either; None where it needs none, or there are none.

    finer  where its arguments are arithmetic on inputs: the form that loses fewer bits, if the row has one; so is that
           where the language does not have what the other one is written in
    """
    row = OPS[node.op] if isinstance(node, Apply) and lacks(node.op, language) else None
    if row is None or row.expand is None:
        return None
    found = row.expand(*node.args)
    if row.finer is not None and (finer or not _is_known(found, language)):
        return row.finer(*node.args)
    return found


def _is_known(root: Expr, language: str) -> bool:
    """Whether a language has the functions of a formula, or these are written in others."""
    if language not in KERNELS:
        return True
    rows = (OPS[op] for op in operators(root))
    return all(r.kind != "function" or r.expand is not None or r.word(language) is not None for r in rows)
