"""Gradients of values that have no name of their author's, named after what those are computed for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..expr import Expr, Ref, ref, transform
from ..ir import Derivative, Equation, Function, Role, names_of


def in_the_words_of_readers(derivative: Derivative) -> Derivative:
    """`hidden = relu(sum ... + bias)`: the gradient of the sum, which has no name, is called grad_pre_hidden."""
    joint, primal = derivative.function, derivative.primal
    taken = names_of(joint)
    sources: dict[str, list[str]] = {}
    for tensor in primal.tensors:
        if tensor.role == Role.LOCAL and not tensor.named and (reader := _reader(tensor.name, primal)) is not None:
            sources.setdefault(reader, []).append(tensor.name)
    names = {
        f"grad_{few[0]}": f"grad_pre_{reader}"
        for reader, few in sources.items()
        if len(few) == 1 and reader not in few[0].split("_")
    }
    names = {old: new for old, new in names.items() if old in taken and new not in taken}
    return replace(derivative, function=_renamed(joint, names)) if names else derivative


def _reader(name: str, primal: Function) -> str | None:
    """The tensor named by the author that alone is computed from `name`, element by element."""
    while name in primal.table and primal.table[name].role == Role.LOCAL:
        tensor = primal.table[name]
        if tensor.named:
            return name
        reading = [e for e in primal.statements if any(r.name == name for r in e.reads)]
        if len({e.target for e in reading}) != 1 or not all(_elementwise(e, name) for e in reading):
            return None
        name = reading[0].target
    return None


def _elementwise(e: Equation, name: str) -> bool:
    return e.reduce == "none" and e.plain and all(r.subscripts == e.subscripts for r in e.reads if r.name == name)


def _renamed(function: Function, names: Mapping[str, str]) -> Function:
    def element(node: Expr) -> Expr:
        return ref(names[node.name], *node.subscripts) if isinstance(node, Ref) and node.name in names else node

    def equation(e: Equation) -> Equation:
        return replace(
            e,
            target=names.get(e.target, e.target),
            subscripts=tuple(transform(s, element) for s in e.subscripts),
            body=transform(e.body, element),
            where=None if e.where is None else transform(e.where, element),
        )

    tensors = tuple(replace(t, name=names.get(t.name, t.name)) for t in function.tensors)
    return replace(function, tensors=tensors, statements=tuple(map(equation, function.statements)))
