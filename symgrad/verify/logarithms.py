"""Which inputs may be -oo, as the logarithm of 0 is.

An input is taken for a logarithm if each way from it to a result leads through an operator of logarithms (`of_logs` of
its row: exp, logaddexp, a maximum), a logsumexp or a maximum over an index; and if before that there are only branches
of a `where`, sums, and multiples that are -oo again. A difference of two such values is no number where both are -oo:
nothing is compared there. What has gone through a logaddexp may be -oo still, and is treated in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..expr import ONE, Apply, Expr, Ref, postorder, ref, refs
from ..ir import Equation, Function
from ..ops import OPS
from ..ops.limits import ENDS, INFINITY, limit

FINITE, RESULT, BARE = range(3)  # what a value is: never -oo; it may be, as a result of such an operator; as an input
NUMBER = ref("#number")


def logarithms(function: Function) -> tuple[str, ...]:
    """The real inputs that may be -oo."""
    real = (name for name in function.inputs if function.table[name].dtype == "real")
    return tuple(name for name in real if _is_logarithm(function, name))


def _is_logarithm(function: Function, name: str) -> bool:
    kinds: dict[str, int] = {name: BARE}
    sizes = {d.name: ONE for d in function.dims}
    before: dict[str, int] = {}
    while before != kinds:  # a recurrence tells of itself
        before = dict(kinds)
        for e in function.statements:
            found = _kind(e, kinds, sizes)
            if found is None:
                return False
            kinds[e.target] = max(found, kinds.get(e.target, FINITE))
    read = any(r.name == name for e in function.statements for r in e.reads)
    return read and all(kinds.get(output) != BARE for output in function.outputs)


def _kind(e: Equation, kinds: Mapping[str, int], sizes: Mapping[str, Expr]) -> int | None:
    """What the elements of an equation are; None if they may be no number, or oo."""
    asked = refs(*e.subscripts, *(() if e.where is None else (e.where,)))
    if any(kinds.get(r.name) for r in asked):
        return None
    done: dict[Expr, int | None] = {}
    for node in postorder(e.body):
        done[node] = kinds.get(node.name, FINITE) if isinstance(node, Ref) else FINITE
        if isinstance(node, Apply):
            done[node] = _applied(node, [done[a] for a in node.args], sizes)
    kind = done[e.body]
    if not kind or e.reduce in ("none", "sum"):
        return kind
    return RESULT if e.reduce in ("max", "logsumexp") else None


def _applied(node: Apply, kinds: list[int | None], sizes: Mapping[str, Expr]) -> int | None:
    """What the value of an operator is, of arguments of these kinds."""
    if None in kinds:
        return None
    given = [kind or FINITE for kind in kinds]
    if node.key is (-INFINITY).key:
        return RESULT
    if node.op == "select":
        return None if given[0] else max(given[1:])
    if not any(given):
        return FINITE
    row = OPS[node.op]
    infinite = [-INFINITY if kind else _known(a, sizes) for a, kind in zip(node.args, given, strict=True)]
    if row.of_logs:
        return RESULT if limit(node.op, *infinite) in ENDS else FINITE
    first = next(k for k, kind in enumerate(given) if kind)  # of the others, each may be a number
    alone = [a if k <= first or a not in ENDS else NUMBER for k, a in enumerate(infinite)]
    return max(given) if limit(node.op, *alone) is ENDS[1] else None


def _known(node: Expr, sizes: Mapping[str, Expr]) -> Expr:
    """A number that is written, or of the sign of a size; any other one."""
    return sizes.get(node.name, NUMBER) if isinstance(node, Ref) else NUMBER if node.args else node
