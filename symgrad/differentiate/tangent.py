"""Function -> the equations of J v: tangents carried forward, by the same partial derivatives."""

from __future__ import annotations

from collections.abc import Sequence

from ..expr import ONE, ZERO, Expr, Ref, indices, ref, refs, select, total
from ..ir import Derivative, Equation, Function, Role, recorded
from .chain import condition_of, everywhere, reverse, times
from .rule import Sweep
from .transpose import push


def tangent(function: Function, inputs: Sequence[str] = ()) -> Derivative:
    """Return the joint equations of `function` and of J v: the tangent of each output for tangents of the inputs.

    inputs  those that move; all of them, if none is named

    The seeds are `tangent_<input>` for the real inputs. With p the partial derivatives of the body, by element:

        tangent_out[f] = reduce{ sum over x[h] of p * tangent_x[h] }    (weights as in the table of rule.py)

    The tangents of functions of matrices stand in transpose.py.
    """
    sweep = Sweep(function, inputs)
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
        partials = reverse([(body, weight)])
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
    joint = Function(
        name=function.name,
        dims=function.dims,
        tensors=tuple(sweep.tensors),
        statements=(*function.statements, *recorded("differentiated", (), sweep.statements)),
        inputs=(*function.inputs, *(s for _, s in seeds)),
        outputs=(*function.outputs, *(r for _, r in results)),
        options=function.options,
        constraints=function.constraints,
        formula=function.formula,
        source=function.source,
    )
    order = {name: place for place, name in enumerate(function.outputs)}
    results.sort(key=lambda pair: order[pair[0]])
    return Derivative(function, joint, tuple(seeds), tuple(results), kind="jvp")


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
