"""Gradients of values that have no name of their author's, named after what those are computed for."""

from __future__ import annotations

from collections.abc import Sequence

from ..expr import Apply, Ref, refs, terms_of
from ..expr.names import Names
from ..ir import Derivative, Equation, Function, Role, names_of, with_names
from ..records import replace
from .write import own_name


def in_the_words_of_readers(derivative: Derivative) -> Derivative:
    """`hidden = relu(sum ... + bias)`: the gradient of the sum, which has no name, is called grad_pre_hidden.

    So is that of several sums of which hidden is a function of the total: it is one.
    """
    joint, primal = derivative.function, derivative.primal
    taken = names_of(joint)
    gradients = taken - primal.table.keys()
    sources: dict[str, list[str]] = {}
    for tensor in primal.tensors:
        if tensor.role == Role.LOCAL and not tensor.named and (reader := _reader(tensor.name, primal)) is not None:
            sources.setdefault(reader, []).append(tensor.name)
    names: dict[str, str] = {}
    for reader, few in sources.items():
        added = _addends(few, primal.writers[reader], primal)
        left = [f"grad_{name}" for name in added if f"grad_{name}" in gradients]
        plain = not any(reader in name.split("_") for name in added)
        wish = f"grad_pre_{reader}"
        if len(left) == 1 and plain and wish not in taken:
            names[left[0]] = wish
    joint = with_names(joint, names)
    return replace(derivative, function=with_names(joint, _contributions(joint, primal)))


def _contributions(joint: Function, primal: Function) -> dict[str, str]:
    """Sums that have no words of their own, and that are added to a gradient: `grad_x_from_update`, after the gradient
    that they come from."""
    taken = Names(names_of(joint))
    writers = joint.writers
    names: dict[str, str] = {}
    for e in joint.statements:
        if e.target in primal.table or e.reduce != "none":
            continue
        for term in (t for t, _ in terms_of(e.body) if isinstance(t, Ref) and t.subscripts == e.subscripts):
            (total, *others) = writers.get(term.name, (e,))
            if others or total.reduce != "sum" or term.name in names or joint.table[term.name].role != Role.LOCAL:
                continue
            source = next((r.name for r in refs(total.body) if r.name not in primal.table and r.subscripts), None)
            if source is not None and not _speaks_of(term.name, total):
                word = source.removeprefix("grad_").removeprefix("pre_")
                names[term.name] = taken.new(f"{e.target}_from_{word}")
    return names


def _speaks_of(name: str, total: Equation) -> bool:
    """Whether a sum is called after what it is of."""
    own = own_name("sum", total.body).removeprefix("sum")
    return bool(own) and own in name


def _reader(name: str, primal: Function) -> str | None:
    """The output, or tensor named by its author, that alone is computed from `name`, element by element."""
    reading = primal.readers.get(name, ())
    readers = {e.target for e in reading}
    if len(readers) != 1 or not all(_elementwise(e, name) for e in reading):
        return None
    (reader,) = readers
    return reader if primal.table[reader].named or primal.table[reader].role != Role.LOCAL else None


def _addends(names: Sequence[str], equations: Sequence[Equation], primal: Function) -> list[str]:
    """Those of the names that are addends of one sum, of which alone the equation is a function."""
    if len(equations) != 1:
        return []
    body = equations[0].body
    while isinstance(body, Apply) and body.op not in ("add", "sub"):
        moving = [a for a in body.args if any(r.name in primal.table for r in refs(a))]
        if len(moving) != 1:
            return []
        (body,) = moving
    mine = [a.name for a, sign in terms_of(body) if sign > 0 and isinstance(a, Ref)]
    return [name for name in names if mine.count(name) == 1]


def _elementwise(e: Equation, name: str) -> bool:
    return e.reduce == "none" and e.plain and all(r.subscripts == e.subscripts for r in e.reads if r.name == name)
