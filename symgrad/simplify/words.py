"""Gradients of values that have no name of their author's, named after what those are computed for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..expr import Apply, Expr, Ref, refs
from ..ir import Derivative, Equation, Function, Role, names_of, with_names


def in_the_words_of_readers(derivative: Derivative) -> Derivative:
    """`hidden = relu(sum ... + bias)`: the gradient of the sum, which has no name, is called grad_pre_hidden.

    So is that of several sums of which hidden is a function of the total: it is one.
    """
    joint, primal = derivative.function, derivative.primal
    taken = names_of(joint)
    sources: dict[str, list[str]] = {}
    for tensor in primal.tensors:
        if tensor.role == Role.LOCAL and not tensor.named and (reader := _reader(tensor.name, primal)) is not None:
            sources.setdefault(reader, []).append(tensor.name)
    names: dict[str, str] = {}
    for reader, few in sources.items():
        left = [f"grad_{name}" for name in few if f"grad_{name}" in taken]
        plain = not any(reader in name.split("_") for name in few)
        wish = f"grad_pre_{reader}"
        if len(left) == 1 and plain and wish not in taken and _added(few, primal.writers[reader], primal):
            names[left[0]] = wish
    return replace(derivative, function=with_names(joint, names)) if names else derivative


def _reader(name: str, primal: Function) -> str | None:
    """The output, or tensor named by its author, that alone is computed from `name`, element by element."""
    reading = [e for e in primal.statements if any(r.name == name for r in e.reads)]
    readers = {e.target for e in reading}
    if len(readers) != 1 or not all(_elementwise(e, name) for e in reading):
        return None
    (reader,) = readers
    return reader if primal.table[reader].named or primal.table[reader].role != Role.LOCAL else None


def _added(names: Sequence[str], equations: Sequence[Equation], primal: Function) -> bool:
    """Whether each of the names is an addend of one sum, of which alone the equation is a function."""
    if len(equations) != 1:
        return False
    body = equations[0].body
    while isinstance(body, Apply) and body.op not in ("add", "sub"):
        moving = [a for a in body.args if any(r.name in primal.table for r in refs(a))]
        if len(moving) != 1:
            return False
        (body,) = moving
    addends: list[Expr] = []
    stack = [body]
    while stack:
        node = stack.pop()
        if isinstance(node, Apply) and node.op in ("add", "sub"):
            stack.extend(node.args if node.op == "add" else node.args[:1])
        else:
            addends.append(node)
    mine = [a.name for a in addends if isinstance(a, Ref)]
    return all(mine.count(name) == 1 for name in names)


def _elementwise(e: Equation, name: str) -> bool:
    return e.reduce == "none" and e.plain and all(r.subscripts == e.subscripts for r in e.reads if r.name == name)
