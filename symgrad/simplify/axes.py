"""What is the same all along an axis has no such axis: grad_total = grad_output / n, and not grad_total[i]."""

from __future__ import annotations

from dataclasses import replace

from ..expr import Expr, Ref, indices, ref, transform
from ..ir import Derivative, Equation, Function
from .rewriting import is_sum


def without_idle_axes(derivative: Derivative) -> Derivative:
    """The derivative, its own intermediate gradients without the axes along which they do not vary."""
    function = derivative.function
    while idle := _idle(derivative, function):
        function = _dropped(function, idle)
    return replace(derivative, function=function)


def _idle(derivative: Derivative, function: Function) -> dict[str, tuple[int, ...]]:
    """The axes along which intermediate gradients do not vary, those apart that functions of matrices read."""
    own = {e.target for e in derivative.equations} - {gradient for _, gradient in derivative.gradients}
    own -= {r.name for e in function.statements if e.matrix is not None for r in e.reads}
    found: dict[str, tuple[int, ...]] = {}
    for name in own:
        e, *others = function.writers[name]
        if others or e.reduce not in ("none", "sum") or not is_sum(e, function.table[name]):
            continue
        axes = tuple(k for k, s in enumerate(e.subscripts) if not set(indices(s)) & set(indices(e.body)))
        if axes:
            found[name] = axes
    return found


def _dropped(function: Function, idle: dict[str, tuple[int, ...]]) -> Function:
    def rewrite(node: Expr) -> Expr:
        if isinstance(node, Ref) and node.name in idle:
            return ref(node.name, *_kept(node.subscripts, idle[node.name]))
        return node

    def put(e: Equation) -> Equation:
        where = None if e.where is None else transform(e.where, rewrite)
        e = replace(e, body=transform(e.body, rewrite), where=where)
        if e.target not in idle:
            return e
        subscripts = _kept(e.subscripts, idle[e.target])
        gone = {*e.subscripts} - {*subscripts}
        return replace(e, subscripts=subscripts, box=tuple((i, extent) for i, extent in e.box if i not in gone))

    tensors = tuple(
        replace(t, shape=_kept(t.shape, idle[t.name])) if t.name in idle else t for t in function.tensors
    )
    return replace(function, tensors=tensors, statements=tuple(map(put, function.statements)))


def _kept(items: tuple[Expr, ...], dropped: tuple[int, ...]) -> tuple[Expr, ...]:
    return tuple(x for k, x in enumerate(items) if k not in dropped)
