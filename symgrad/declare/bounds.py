"""What must hold of the sizes so that no equation reads or writes outside of a tensor.

A subscript is linear in its indices, so it is smallest and largest at the ends of the box. What follows from the way
the extents were inferred is proved here; the rest becomes a condition that the printed code checks before it starts.
What stands in a branch of a `where` is its author's: it is evaluated only where its condition holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..errors import ShapeError, UnsupportedError
from ..expr import ZERO, Apply, Const, Expr, Index, Ref, apply, indices, is_exact, ref, refs, show, transform, value_of
from ..expr import substitute as put
from ..expr.sizes import coefficient, terms, tidy
from ..ir import Equation, Tensor, show_element, unguarded


def bounds(name: str, equations: Sequence[Equation], tensors: Mapping[str, Tensor]) -> tuple[Expr, ...]:
    """Return the conditions on sizes and options, in order of appearance.

    Raises ShapeError for a subscript that is always outside, UnsupportedError for one that is computed from data and
    cannot be checked beforehand.
    """
    found: dict[Expr, None] = {}
    for e in equations:
        if e.where is not None:
            continue
        extents = dict(e.box)
        for element in (ref(e.target, *e.subscripts), *unguarded(e.body)):
            tensor = tensors.get(element.name)
            if tensor is not None:
                for axis, s in enumerate(element.subscripts):
                    data = [r.name for r in refs(s) if r.name in tensors]
                    if data:
                        _check_data(name, element, s, data[0])
                        continue
                    for condition in _conditions(name, element, s, tensor.shape[axis], extents):
                        found.setdefault(condition, None)
    return tuple(found)


def _check_data(name: str, element: Ref, s: Expr, data: str) -> None:
    """Refuse a subscript that is computed from `data`, and is not its element itself."""
    if not isinstance(s, Ref):
        raise UnsupportedError(
            f"{name}: the subscript {show(s)} of {show_element(element.name, element.subscripts)} is computed from "
            f"{data}; only {data} itself can be checked to stay inside. Compute the index before, "
            f"and pass it as an integer tensor."
        )


def _conditions(
    name: str, element: Ref, s: Expr, extent: Expr, extents: Mapping[Index, Expr]
) -> Iterable[Expr]:
    low, high = (_end(s, extents, last) for last in (False, True))
    if low is None or high is None:
        return
    for inside, condition in (
        (low, apply("ge", low, ZERO)),
        (tidy(extent - 1 - high), apply("le", tidy(high + 1), extent)),
    ):
        known = _sign(inside)
        if known is False:
            where = show_element(element.name, element.subscripts)
            raise ShapeError(
                f"{name}: {where} is outside of {element.name}: the subscript {show(s)} runs from {show(tidy(low))} to "
                f"{show(tidy(high))} over an axis of {show(extent)}. Give the index a range in which it stays inside."
            )
        if known is None:
            yield condition


def _end(s: Expr, extents: Mapping[Index, Expr], last: bool) -> Expr | None:
    """The largest (or smallest) value of the subscript `s`; None if it is not linear."""
    ends: dict[Expr, Expr] = {}
    for i in indices(s):
        step = coefficient(s, i)
        if step is None or i not in extents:
            return None
        falling = is_exact(step) and value_of(step) < 0
        ends[i] = ZERO if falling == last else tidy(extents[i] - 1)
    return transform(tidy(put(s, ends)), _whole_steps)


def _whole_steps(node: Expr) -> Expr:
    """S * (a // S) is at most a."""
    if isinstance(node, Apply) and node.op == "mul":
        for step, quotient in (node.args, tuple(reversed(node.args))):
            if isinstance(quotient, Apply) and quotient.op == "floordiv" and quotient.args[1].key is step.key:
                return quotient.args[0]
    return node


def _sign(value: Expr) -> bool | None:
    """Whether `value` is at least 0 for all sizes; None if that depends on them."""
    collected = terms(value)
    if collected is None:
        return None
    if all(c >= 0 for c in collected.values()):
        return True
    if all(isinstance(a, Const) for m in collected for a in m) and sum(collected.values()) < 0:
        return False
    return None
