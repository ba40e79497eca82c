"""The tangent of a function of matrices, from its rule for J^T g.

A rule of matrices.py gives the cotangents of the operands, and they are linear in the cotangent g of the result: their
derivative with respect to g, transposed and applied to the tangents v of the operands, is J v. So one rule serves both:
J^T g of Y = inv(A) is -Y^T g Y^T, and its transpose -Y v Y. `TANGENTS` has the rules that are shorter when written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from ..expr import ZERO, Expr, Index, indices
from ..ir import Box, Equation, Role, alive, with_names
from .joint import Joint
from .matrices import TANGENTS, Rule, cotangents
from .rule import Sweep


def push(joint: Joint, e: Equation, tangent: str, move: Callable[[Expr], Expr]) -> None:
    """Add the equations of `tangent`, that of the result of `e`, to those of `joint`.

    move  an operand -> its tangent, at the same indices
    """
    moved: dict[int, str] = {}
    for which, operand in enumerate(e.operands):
        body = move(operand)
        if body is not ZERO:
            box = _box(e, which)
            moved[which] = joint.local("moved", box)
            joint.statements.append(Equation(moved[which], _places(box), "none", body, box, None, e.when))
    found: list[Equation]
    if e.reduce in TANGENTS:
        rule = Rule(joint, e)
        body = TANGENTS[e.reduce](rule, rule.of(moved[0], _box(e, 0))).at(*(i for i, _ in e.result))
        found = [Equation(tangent, e.subscripts, "none", body, e.shown, None, e.when)]
    else:
        found = _transposed(joint, e, tangent, moved)
    zero = Equation(tangent, e.subscripts, "none", ZERO, e.shown, None, e.when)
    joint.statements += found or [zero]


def _transposed(joint: Joint, e: Equation, tangent: str, moved: Mapping[int, str]) -> list[Equation]:
    """The rule for J^T g, transposed: `moved` are the tangents of the operands, by their numbers."""
    pull = Joint(joint.function)
    pull.taken = set(joint.taken)
    given = pull.new("cotangent", e.target, Role.INPUT)
    pull.cotangent[e.target] = given
    pulled: dict[int, str] = {}
    for which, operand, term in cotangents(pull, e):
        if which in moved:
            box = _box(e, which)
            if which not in pulled:
                pulled[which] = pull.local("pulled", box)
            read = set(indices(term.body, operand))
            rest = tuple(pair for pair in e.shown if pair[0] in read and pair not in box)
            whole = (*box, *rest, *term.over)
            kind = "sum" if len(whole) > len(box) else "none"
            pull.statements.append(Equation(pulled[which], _places(box), kind, term.body, whole, None, e.when))
    if not pulled:
        return []
    function = joint.function
    rule = replace(
        function,
        tensors=tuple(replace(t, role=Role.OUTPUT) if t.name in pulled.values() else t for t in pull.tensors),
        statements=tuple(pull.statements),
        inputs=(*function.inputs, given),
        outputs=tuple(pulled.values()),
    )
    back = Sweep(rule, [given])
    back.taken = pull.taken
    derivative = back.derivative()
    ((_, result),) = derivative.gradients
    equations = alive(derivative.function.statements, [result])
    written = {x.target for x in equations}
    names = {result: tangent} | {seed: moved[k] for k, (_, seed) in zip(pulled, derivative.seeds, strict=True)}
    # what the rule has in between is no longer there: what is in its place has its name, and a solution its own word
    wishes = {new: old for old, new in back.cotangent.items()}
    wishes |= {x.target: x.matrix.word for x in equations if x.matrix is not None}
    for t in derivative.function.tensors:
        if t.name in written and t.name != result:
            names[t.name] = joint.name(wishes.get(t.name, t.name).removeprefix("grad_"))
            joint.tensors.append(replace(t, name=names[t.name]))
    return list(with_names(replace(derivative.function, statements=equations), names).statements)


def _box(e: Equation, which: int) -> Box:
    """The indices of one operand of `e`, those of its batch first."""
    row = e.matrix
    assert row is not None
    read, result = set(indices(e.operands[which])), {i for i, _ in e.result}
    batch = (pair for pair in e.shown if pair[0] in read and pair[0] not in result)
    return (*batch, *(e.reduced[k] for k in row.operands[which]))


def _places(box: Box) -> tuple[Index, ...]:
    return tuple(i for i, _ in box)
