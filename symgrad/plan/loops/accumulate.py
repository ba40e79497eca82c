"""Backward that adds to what stands in the arrays of the gradients, instead of overwriting it.

A gradient that nothing else reads is added where it is computed. One that others read, or that is computed in a loop of
turns or by a call, is computed in memory of its own first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ...expr import ZERO, Ref, ref, transformer
from ...expr.names import Names
from ...ir import Equation, Role, Tensor, names_of
from ...records import replace
from ..program import Item, Procedure, Program, Step
from .data import Rewriter
from .integers import fresh_index


def accumulated(program: Program) -> Program:
    """The same program, without packs, whose backward adds to each gradient."""
    tensors, backward = adding(program, program.backward, dict.fromkeys(program.backward.returns, "add"))
    return replace(program, tensors=tensors, backward=backward)


def adding(
    program: Program,
    procedure: Procedure,
    names: Mapping[str, str],
    asked: Callable[[Equation], Equation] = lambda e: e,
    whole: bool = False,
) -> tuple[tuple[Tensor, ...], Procedure]:
    """A procedure that adds to these of its results, and the tensors of the program then.

    names  the results, and how: see `Step`
    asked  tells further conditions on which something is added
    whole  whether what is a sum is known before it is added
    """
    read = {r.name for step in procedure.steps for e in step.equations for r in e.reads}
    new = Names(program.names)
    apart = {}
    for step in procedure.steps:
        for target in step.targets:
            calls = any(e.matrix is not None for e in step.equations)  # they write a whole array
            calls |= whole and (len(step.equations) > 1 or any(e.reduce != "none" for e in step.equations))
            if target in names and (not isinstance(step, Step) or target in read or calls):
                apart[target] = new.new(f"own_{target}")
    rewrite = Rewriter(
        transformer(lambda n: ref(apart[n.name], *n.subscripts) if isinstance(n, Ref) and n.name in apart else n)
    )
    steps: list[Item] = []
    for step in procedure.steps:
        if isinstance(step, Step) and step.target in names and step.target not in apart:
            equations = tuple(asked(e) for e in step.equations if e.body is not ZERO)
            steps += [replace(step, equations=equations, how=names[step.target])] if equations else []
        else:
            steps.append(_renamed(step, apart, rewrite))
    ends = []
    for name, own in apart.items():
        end = _added(program, name, own, next(s for s in steps if own in s.targets), names[name])
        ends.append(replace(end, equations=tuple(map(asked, end.equations))))
    more = [replace(program.table[old], name=own, role=Role.LOCAL, optional=False) for old, own in apart.items()]
    return (*program.tensors, *more), replace(procedure, steps=(*steps, *ends))


def _added(program: Program, target: str, own: str, step: Item, how: str) -> Step:
    """`target` += `own`, where that is computed."""
    taken = names_of(program.derivative.function)
    box = tuple((fresh_index(taken), extent) for extent in program.table[target].shape)
    at = tuple(i for i, _ in box)
    e = Equation(target, at, "none", ref(own, *at), box)
    return Step(target, (e,), (target,) if step.serves else (), step.when, how)


def _renamed(item: Item, names: Mapping[str, str], rewrite: Rewriter) -> Item:
    """The item with other names for what it computes and reads."""

    def equation(e: Equation) -> Equation:
        return replace(rewrite.equation(e), target=names.get(e.target, e.target))

    if isinstance(item, Step):
        target = names.get(item.target, item.target)
        return replace(item, target=target, equations=tuple(map(equation, item.equations)))
    first, turn, last = (
        tuple(_unasked(_renamed(inner, names, rewrite)) for inner in some)
        for some in (item.first, item.turn, item.last)
    )
    return replace(item, first=first, turn=turn, last=last)


def _unasked(item: Item) -> Item:
    """A part of a loop, which works in memory of its own, whichever gradients are asked for."""
    return replace(item, serves=()) if isinstance(item, Step) else item
