"""Function -> the equations of J v: tangents carried forward, by the same partial derivatives.

The tangent of a function of matrices comes from its rule for J^T g: a rule of matrices.py gives the cotangents of the
operands, and they are linear in the cotangent g of the result: their derivative with respect to g, transposed and
applied to the tangents v of the operands, is J v. So one rule serves both: J^T g of Y = inv(A) is -Y^T g Y^T, and its
transpose -Y v Y. `TANGENTS` has the rules that are shorter when written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..expr import ONE, ZERO, Expr, Index, Ref, indices, ref, refs, select, total
from ..ir import Box, Derivative, Equation, Function, Role, alive, with_names
from ..records import replace
from .chain import condition_of, everywhere, reverse, times
from .joint import Joint
from .matrices import TANGENTS, Rule, cotangents
from .rule import Sweep


def tangent(function: Function, inputs: Sequence[str] = ()) -> Derivative:
    """Return the joint equations of `function` and of J v: the tangent of each output for tangents of the inputs.

    inputs  those that move; all of them, if none is named

    The seeds are `tangent_<input>` for the real inputs. With p the partial derivatives of the body, by element:

        tangent_out[f] = reduce{ sum over x[h] of p * tangent_x[h] }    (weights as in the table of rule.py)

    Those of functions of matrices are what `push` makes of their rules.
    """
    sweep = Sweep(function, inputs)
    function = sweep.function
    names: dict[str, str] = {}
    seeds, results = [], []
    for tensor in function.tensors:
        if tensor.name not in sweep.active:
            continue
        role = {Role.INPUT: Role.SEED, Role.OUTPUT: Role.GRADIENT}.get(tensor.role, Role.LOCAL)
        names[tensor.name] = sweep.new(f"tangent_{tensor.name}", tensor.name, role)
        if tensor.role == Role.INPUT:
            seeds.append((tensor.name, names[tensor.name]))
        elif tensor.role == Role.OUTPUT:
            results.append((tensor.name, names[tensor.name]))
    for output in function.outputs:
        if output not in names:  # constant: its tangent is zero
            results.append((output, sweep.new(f"tangent_{output}", output, Role.GRADIENT)))

    def moved(body: Expr, weight: Expr = ONE) -> list[Expr]:
        partials = reverse([(body, weight)], partials=sweep.norms.partials)
        return [_tangent(ref(names[r.name], *r.subscripts), p) for r, p in partials if r.name in names]

    for e in function.statements:
        if e.target in names and e.matrix is not None:
            push(sweep, e, names[e.target], lambda body: total(moved(body)))
        elif e.target in names:
            terms = moved(sweep.bodies[e], sweep.weight(e))
            reduce = "sum" if e.reduced else "none"
            # a product of matrices is the sum of two, and not the sum of what would be as large as the whole box
            for body in terms if _contracts(e) else [total(terms)]:
                sweep.statements.append(Equation(names[e.target], e.subscripts, reduce, body, e.box, e.where, e.when))
    inputs, outputs = (*function.inputs, *(s for _, s in seeds)), (*function.outputs, *(r for _, r in results))
    joint = sweep.joined(sweep.statements, sweep.tensors, inputs, outputs)
    order = {name: place for place, name in enumerate(function.outputs)}
    results.sort(key=lambda pair: order[pair[0]])
    return Derivative(sweep.primal, joint, tuple(seeds), tuple(results), kind="jvp")


def _contracts(e: Equation) -> bool:
    """Whether nothing that is read spans the box of a sum."""
    box = {i for i, _ in e.box}
    return e.reduce == "sum" and not any(box <= set(indices(r)) for r in refs(e.body))


def _tangent(element: Ref, p: Expr) -> Expr:
    """`element * p`; the element is not read where p is 0 because a branch is not selected."""
    if everywhere(element):
        return times(element, p)
    condition, p = condition_of(p)
    return select(condition, times(element, p), ZERO)


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
    read = set(indices(e.operands[which]))
    return (*(pair for pair in e.batch if pair[0] in read), *(e.reduced[k] for k in row.operands[which]))


def _places(box: Box) -> tuple[Index, ...]:
    return tuple(i for i, _ in box)
