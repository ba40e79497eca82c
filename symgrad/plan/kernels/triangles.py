"""Planes of which a triangle gives nothing, as beside causal attention, where scores[i, j] is -oo unless j <= i.

What gives nothing is 0 in a sum, and -oo in a maximum: exp(-oo - m[i]) is 0 then. Each row must have its first column:
in a row without any the maximum is -oo too, and exp(-oo - m[i]) is NaN, which is as well in the blocks left out.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ...expr import ZERO, Apply, Const, Expr, Index, Ref, apply, index, indices, operator, postorder, refs, terms_of
from ...ir import NEUTRAL
from ...ops.limits import ENDS, limit
from ...records import dataclass
from ..program import Step


@dataclass(frozen=True, slots=True)
class Triangle:
    """Only columns <= row + more give anything.

    columns  whether programs walk along columns, and have a tile of rows
    more     not negative
    """

    columns: bool
    more: int


def triangle(steps: Sequence[Step], planes: Collection[str], tile: Index, walked: Index) -> Triangle | None:
    """The triangle outside of which planes give nothing to what reduces them, if there is one."""
    equations = [e for s in steps for e in s.equations]
    nodes = postorder(*(e.body for e in equations if e.target in planes))
    for condition in dict.fromkeys(n.args[0] for n in nodes if operator(n) == "select"):
        for row, column in ((tile, walked), (walked, tile)):
            more = _more(condition, row, column)
            if more is None or more < 0:
                continue
            outside: dict[str, Expr] = {}
            for e in equations:
                if e.target in planes and e.reduce == "none":
                    outside[e.target] = _Outside(condition, row, column, outside)(e.body)
            sums = [e for e in equations if e.target not in planes and walked in dict(e.reduced)]
            terms = (_Outside(condition, None, column, outside)(e.body) for e in sums)
            if all(term is NEUTRAL.get(e.reduce) for e, term in zip(sums, terms, strict=True)):
                return Triangle(column is walked, more)
    return None


def _more(condition: Expr, row: Index, column: Index) -> int | None:
    """What a column may be more than its row, if that is what a condition says."""
    if not isinstance(condition, Apply) or condition.op not in ("le", "lt", "ge", "gt"):
        return None
    less, large = condition.args if condition.op in ("le", "lt") else condition.args[::-1]
    terms = terms_of(apply("sub", large, less))
    numbers = [sign * n.value for n, sign in terms if isinstance(n, Const)]
    if {*terms} - {(row, 1), (column, -1)} != {(n, sign) for n, sign in terms if isinstance(n, Const)}:
        return None
    if len(terms) != 2 + len(numbers):
        return None
    return int(sum(numbers)) - (condition.op in ("lt", "gt"))


class _Outside:
    """What expressions are where a condition does not hold: 0, -oo, or something that nobody knows.

    row  None where they are multiplied and summed: what else is there is of columns, and is no maximum of theirs
    """

    def __init__(self, condition: Expr, row: Index | None, column: Index, known: Mapping[str, Expr]) -> None:
        self.condition, self.row, self.column, self.known = condition, row, column, known

    def __call__(self, root: Expr) -> Expr:
        if isinstance(root, Ref):
            found = self.known.get(root.name, root)
            return found if found is ZERO or found in ENDS else root
        if not isinstance(root, Apply) or root in ENDS:
            return root
        if root.op == "select":
            return self._chosen(*root.args)
        args = [self(a) for a in root.args]
        if root.op == "mul" and ZERO in args or root.op in ("div", "neg") and args[0] is ZERO:
            return ZERO if self._are_rows(args) else root
        return limit(root.op, *args) if any(a in ENDS for a in args) and self._are_rows(args) else root

    def _chosen(self, condition: Expr, then: Expr, otherwise: Expr) -> Expr:
        """Where another condition decides, a row may have nothing at all."""
        found = self(otherwise)
        if condition is self.condition or found is ZERO and self(then) is ZERO:
            return found
        return index("#unknown")

    def _are_rows(self, args: Sequence[Expr]) -> bool:
        """Whether nothing beside is of a column alone, as the maximum of one is, which may have no row."""
        return self.row is None or all(self.row in indices(r) or self.column not in indices(r) for r in refs(*args))
