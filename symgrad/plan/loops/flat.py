"""Packs become one axis, as loops see them; or none at all, for a function of one point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ...expr import Const, Expr, Index, Ref, index, indices, ref, refs
from ...ir import Equation, Role, Tensor
from ..program import Procedure, Program, Subscript
from .data import Rewriter
from .integers import fresh_index


def size_names(program: Program) -> dict[str, str]:
    """The name that each dim is printed with, in the order of the function's dims; a pack is called `batch`."""
    primal = program.derivative.primal
    taken = {t.name for t in program.tensors} | {d.name for d in primal.dims} | {o.name for o in primal.options}
    names = {}
    for dim in primal.dims:
        name = dim.name.removeprefix("*") if dim.name != "..." else "batch"
        while dim.pack and name in taken:
            name += "_size"
        names[dim.name] = name
        taken.add(name)
    return names


def flatten(program: Program) -> Program:
    """The same program, every pack one axis under an index `b`."""
    packs = program.derivative.primal.packs
    if not packs:
        return program
    taken = {*program.names}
    renamed: dict[Expr, Expr] = {ref(name): ref(new) for name, new in size_names(program).items()}
    for pack in packs:
        renamed[index(pack)] = fresh_index(taken, "b")
    rewrite = Rewriter(lambda node: renamed.get(node, node))
    return _rebuilt(program, rewrite.equation, lambda t: replace(t, shape=tuple(rewrite(e) for e in t.shape)), rewrite)


def pointwise(program: Program) -> Program | None:
    """The function of one point of the batch, if that is all the program does: one pack leads every tensor that is
    computed, every other size is a number, and no equation reduces over the pack or counts along it."""
    packs = program.derivative.primal.packs
    if len(packs) != 1 or program.indexed or program.derivative.primal.constraints:
        return None
    if any(e.matrix is not None for e in _equations(program)):
        return None  # a call may fail, and the batch would go on
    pack, b = ref(packs[0]), index(packs[0])
    batched = {t.name for t in program.tensors if t.shape and t.shape[0] is pack}
    for t in program.tensors:
        if not all(isinstance(e, Const) for e in (t.shape[1:] if t.name in batched else t.shape)):
            return None
        if t.name not in batched and t.role not in (Role.INPUT, Role.LOCAL):
            return None
    for e in _equations(program):
        if any(r.name in batched and r.subscripts[0] is not b for r in e.reads) or pack in refs(*e.expressions):
            return None
        elsewhere = [s for r in e.reads for s in r.subscripts[r.name in batched :]]
        if b in indices(*elsewhere) or _counts_along(e, b):
            return None
        if e.target in batched and (e.subscripts[0] is not b or b in indices(*e.subscripts[1:])):
            return None
        if e.target not in batched and any(i is b for i, _ in e.box):
            return None

    def point(node: Expr) -> Expr:
        return ref(node.name, *node.subscripts[1:]) if isinstance(node, Ref) and node.name in batched else node

    rewrite = Rewriter(point)

    def equation(e: Equation) -> Equation:
        e = replace(e, box=tuple((i, extent) for i, extent in e.box if i is not b))
        e = replace(e, subscripts=e.subscripts[e.target in batched :])
        return rewrite.equation(e)

    return _rebuilt(program, equation, lambda t: replace(t, shape=t.shape[1:]) if t.name in batched else t, rewrite)


def _counts_along(e: Equation, b: Index) -> bool:
    """Whether the index stands anywhere but in a subscript."""
    stack: list[Expr] = [e.body, *(() if e.where is None else (e.where,))]
    seen: set[Expr] = set()
    while stack:
        node = stack.pop()
        if node is b:
            return True
        if node not in seen and not isinstance(node, Ref):
            seen.add(node)
            stack.extend(node.args)
    return False


def _equations(program: Program) -> list[Equation]:
    return [*program.forward.equations, *program.backward.equations]


def _rebuilt(
    program: Program,
    equation: Callable[[Equation], Equation],
    tensor: Callable[[Tensor], Tensor],
    rewrite: Rewriter,
) -> Program:
    def procedure(p: Procedure) -> Procedure:
        items = tuple(item.mapped(equation, rewrite) for item in p.steps)
        return replace(p, steps=items, turns=tuple(map(tensor, p.turns)))

    checked = []
    for s in program.indexed:
        rebuilt = rewrite(s.element)
        assert isinstance(rebuilt, Ref)
        checked.append(Subscript(rebuilt, rewrite(s.extent), None if s.where is None else rewrite(s.where)))
    return replace(
        program,
        tensors=tuple(map(tensor, program.tensors)),
        forward=procedure(program.forward),
        backward=procedure(program.backward),
        indexed=tuple(checked),
    )
